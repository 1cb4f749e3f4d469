//! Functions that cuBLAS has with the same arguments in the same order, and strided batches of them.

use rocblas_sys::*;

use crate::calls::functions;
use crate::factors::without_product;
use crate::library::Scalar;

functions! {
    (int n, scalar alpha, mut x(incx)[stride_x]) {
        s: rocblas_sscal cublasSscal_v2 rocblas_sscal_strided_batched, rocblas_sscal_64 cublasSscal_v2_64 rocblas_sscal_strided_batched_64;
        d: rocblas_dscal cublasDscal_v2 rocblas_dscal_strided_batched, rocblas_dscal_64 cublasDscal_v2_64 rocblas_dscal_strided_batched_64;
        c: rocblas_cscal cublasCscal_v2 rocblas_cscal_strided_batched, rocblas_cscal_64 cublasCscal_v2_64 rocblas_cscal_strided_batched_64;
        z: rocblas_zscal cublasZscal_v2 rocblas_zscal_strided_batched, rocblas_zscal_64 cublasZscal_v2_64 rocblas_zscal_strided_batched_64;
    }
    (int n, real_const alpha, mut x(incx)[stride_x]) {
        c: rocblas_csscal cublasCsscal_v2 rocblas_csscal_strided_batched, rocblas_csscal_64 cublasCsscal_v2_64 rocblas_csscal_strided_batched_64;
        z: rocblas_zdscal cublasZdscal_v2 rocblas_zdscal_strided_batched, rocblas_zdscal_64 cublasZdscal_v2_64 rocblas_zdscal_strided_batched_64;
    }
    (int n, const x(incx)[stride_x], mut y(incy)[stride_y]) {
        s: rocblas_scopy cublasScopy_v2 rocblas_scopy_strided_batched, rocblas_scopy_64 cublasScopy_v2_64 rocblas_scopy_strided_batched_64;
        d: rocblas_dcopy cublasDcopy_v2 rocblas_dcopy_strided_batched, rocblas_dcopy_64 cublasDcopy_v2_64 rocblas_dcopy_strided_batched_64;
        c: rocblas_ccopy cublasCcopy_v2 rocblas_ccopy_strided_batched, rocblas_ccopy_64 cublasCcopy_v2_64 rocblas_ccopy_strided_batched_64;
        z: rocblas_zcopy cublasZcopy_v2 rocblas_zcopy_strided_batched, rocblas_zcopy_64 cublasZcopy_v2_64 rocblas_zcopy_strided_batched_64;
    }
    (int n, const x(incx)[stride_x], const y(incy)[stride_y]; result result) {
        s: rocblas_sdot cublasSdot_v2 rocblas_sdot_strided_batched, rocblas_sdot_64 cublasSdot_v2_64 rocblas_sdot_strided_batched_64;
        d: rocblas_ddot cublasDdot_v2 rocblas_ddot_strided_batched, rocblas_ddot_64 cublasDdot_v2_64 rocblas_ddot_strided_batched_64;
        c: rocblas_cdotu cublasCdotu_v2 rocblas_cdotu_strided_batched, rocblas_cdotu_64 cublasCdotu_v2_64 rocblas_cdotu_strided_batched_64;
        z: rocblas_zdotu cublasZdotu_v2 rocblas_zdotu_strided_batched, rocblas_zdotu_64 cublasZdotu_v2_64 rocblas_zdotu_strided_batched_64;
        c: rocblas_cdotc cublasCdotc_v2 rocblas_cdotc_strided_batched, rocblas_cdotc_64 cublasCdotc_v2_64 rocblas_cdotc_strided_batched_64;
        z: rocblas_zdotc cublasZdotc_v2 rocblas_zdotc_strided_batched, rocblas_zdotc_64 cublasZdotc_v2_64 rocblas_zdotc_strided_batched_64;
    }
    (int n, mut x(incx)[stride_x], mut y(incy)[stride_y]) {
        s: rocblas_sswap cublasSswap_v2 rocblas_sswap_strided_batched, rocblas_sswap_64 cublasSswap_v2_64 rocblas_sswap_strided_batched_64;
        d: rocblas_dswap cublasDswap_v2 rocblas_dswap_strided_batched, rocblas_dswap_64 cublasDswap_v2_64 rocblas_dswap_strided_batched_64;
        c: rocblas_cswap cublasCswap_v2 rocblas_cswap_strided_batched, rocblas_cswap_64 cublasCswap_v2_64 rocblas_cswap_strided_batched_64;
        z: rocblas_zswap cublasZswap_v2 rocblas_zswap_strided_batched, rocblas_zswap_64 cublasZswap_v2_64 rocblas_zswap_strided_batched_64;
    }
    (int n, scalar alpha, const x(incx)[stride_x], mut y(incy)[stride_y]) {
        s: rocblas_saxpy cublasSaxpy_v2 rocblas_saxpy_strided_batched, rocblas_saxpy_64 cublasSaxpy_v2_64 rocblas_saxpy_strided_batched_64;
        d: rocblas_daxpy cublasDaxpy_v2 rocblas_daxpy_strided_batched, rocblas_daxpy_64 cublasDaxpy_v2_64 rocblas_daxpy_strided_batched_64;
        c: rocblas_caxpy cublasCaxpy_v2 rocblas_caxpy_strided_batched, rocblas_caxpy_64 cublasCaxpy_v2_64 rocblas_caxpy_strided_batched_64;
        z: rocblas_zaxpy cublasZaxpy_v2 rocblas_zaxpy_strided_batched, rocblas_zaxpy_64 cublasZaxpy_v2_64 rocblas_zaxpy_strided_batched_64;
    }
    (int n, const x(incx)[stride_x]; result result) {
        s: rocblas_sasum cublasSasum_v2 rocblas_sasum_strided_batched, rocblas_sasum_64 cublasSasum_v2_64 rocblas_sasum_strided_batched_64;
        d: rocblas_dasum cublasDasum_v2 rocblas_dasum_strided_batched, rocblas_dasum_64 cublasDasum_v2_64 rocblas_dasum_strided_batched_64;
        s: rocblas_snrm2 cublasSnrm2_v2 rocblas_snrm2_strided_batched, rocblas_snrm2_64 cublasSnrm2_v2_64 rocblas_snrm2_strided_batched_64;
        d: rocblas_dnrm2 cublasDnrm2_v2 rocblas_dnrm2_strided_batched, rocblas_dnrm2_64 cublasDnrm2_v2_64 rocblas_dnrm2_strided_batched_64;
    }
    (int n, const x(incx)[stride_x]; real_mut result) {
        c: rocblas_scasum cublasScasum_v2 rocblas_scasum_strided_batched, rocblas_scasum_64 cublasScasum_v2_64 rocblas_scasum_strided_batched_64;
        z: rocblas_dzasum cublasDzasum_v2 rocblas_dzasum_strided_batched, rocblas_dzasum_64 cublasDzasum_v2_64 rocblas_dzasum_strided_batched_64;
        c: rocblas_scnrm2 cublasScnrm2_v2 rocblas_scnrm2_strided_batched, rocblas_scnrm2_64 cublasScnrm2_v2_64 rocblas_scnrm2_strided_batched_64;
        z: rocblas_dznrm2 cublasDznrm2_v2 rocblas_dznrm2_strided_batched, rocblas_dznrm2_64 cublasDznrm2_v2_64 rocblas_dznrm2_strided_batched_64;
    }
    (int n, const x(incx)[stride_x]; index result) {
        s: rocblas_isamax cublasIsamax_v2 rocblas_isamax_strided_batched, rocblas_isamax_64 cublasIsamax_v2_64 rocblas_isamax_strided_batched_64;
        d: rocblas_idamax cublasIdamax_v2 rocblas_idamax_strided_batched, rocblas_idamax_64 cublasIdamax_v2_64 rocblas_idamax_strided_batched_64;
        c: rocblas_icamax cublasIcamax_v2 rocblas_icamax_strided_batched, rocblas_icamax_64 cublasIcamax_v2_64 rocblas_icamax_strided_batched_64;
        z: rocblas_izamax cublasIzamax_v2 rocblas_izamax_strided_batched, rocblas_izamax_64 cublasIzamax_v2_64 rocblas_izamax_strided_batched_64;
        s: rocblas_isamin cublasIsamin_v2 rocblas_isamin_strided_batched, rocblas_isamin_64 cublasIsamin_v2_64 rocblas_isamin_strided_batched_64;
        d: rocblas_idamin cublasIdamin_v2 rocblas_idamin_strided_batched, rocblas_idamin_64 cublasIdamin_v2_64 rocblas_idamin_strided_batched_64;
        c: rocblas_icamin cublasIcamin_v2 rocblas_icamin_strided_batched, rocblas_icamin_64 cublasIcamin_v2_64 rocblas_icamin_strided_batched_64;
        z: rocblas_izamin cublasIzamin_v2 rocblas_izamin_strided_batched, rocblas_izamin_64 cublasIzamin_v2_64 rocblas_izamin_strided_batched_64;
    }
    (int n, mut x(incx)[stride_x], mut y(incy)[stride_y], const c, scalar s) {
        s: rocblas_srot cublasSrot_v2 rocblas_srot_strided_batched, rocblas_srot_64 cublasSrot_v2_64 rocblas_srot_strided_batched_64;
        d: rocblas_drot cublasDrot_v2 rocblas_drot_strided_batched, rocblas_drot_64 cublasDrot_v2_64 rocblas_drot_strided_batched_64;
    }
    (int n, mut x(incx)[stride_x], mut y(incy)[stride_y], real_const c, scalar s) {
        c: rocblas_crot cublasCrot_v2 rocblas_crot_strided_batched, rocblas_crot_64 cublasCrot_v2_64 rocblas_crot_strided_batched_64;
        z: rocblas_zrot cublasZrot_v2 rocblas_zrot_strided_batched, rocblas_zrot_64 cublasZrot_v2_64 rocblas_zrot_strided_batched_64;
    }
    (int n, mut x(incx)[stride_x], mut y(incy)[stride_y], real_const c, real_const s) {
        c: rocblas_csrot cublasCsrot_v2 rocblas_csrot_strided_batched, rocblas_csrot_64 cublasCsrot_v2_64 rocblas_csrot_strided_batched_64;
        z: rocblas_zdrot cublasZdrot_v2 rocblas_zdrot_strided_batched, rocblas_zdrot_64 cublasZdrot_v2_64 rocblas_zdrot_strided_batched_64;
    }
    (int n, mut x(incx)[stride_x], mut y(incy)[stride_y], const param[stride_param]) {
        s: rocblas_srotm cublasSrotm_v2 rocblas_srotm_strided_batched, rocblas_srotm_64 cublasSrotm_v2_64 rocblas_srotm_strided_batched_64;
        d: rocblas_drotm cublasDrotm_v2 rocblas_drotm_strided_batched, rocblas_drotm_64 cublasDrotm_v2_64 rocblas_drotm_strided_batched_64;
    }
    (op trans, int m, int n, int kl, int ku, scalar alpha, const A(lda)[stride_A], const x(incx)[stride_x], scalar beta, mut y(incy)[stride_y]) {
        s: rocblas_sgbmv cublasSgbmv_v2 rocblas_sgbmv_strided_batched, rocblas_sgbmv_64 cublasSgbmv_v2_64 rocblas_sgbmv_strided_batched_64;
        d: rocblas_dgbmv cublasDgbmv_v2 rocblas_dgbmv_strided_batched, rocblas_dgbmv_64 cublasDgbmv_v2_64 rocblas_dgbmv_strided_batched_64;
        c: rocblas_cgbmv cublasCgbmv_v2 rocblas_cgbmv_strided_batched, rocblas_cgbmv_64 cublasCgbmv_v2_64 rocblas_cgbmv_strided_batched_64;
        z: rocblas_zgbmv cublasZgbmv_v2 rocblas_zgbmv_strided_batched, rocblas_zgbmv_64 cublasZgbmv_v2_64 rocblas_zgbmv_strided_batched_64;
    }
    (op trans, int m, int n, scalar alpha, const A, int lda, const x, int incx, scalar beta, mut y, int incy) {
        s: rocblas_sgemv cublasSgemv_v2, rocblas_sgemv_64 cublasSgemv_v2_64;
        d: rocblas_dgemv cublasDgemv_v2, rocblas_dgemv_64 cublasDgemv_v2_64;
        c: rocblas_cgemv cublasCgemv_v2, rocblas_cgemv_64 cublasCgemv_v2_64;
        z: rocblas_zgemv cublasZgemv_v2, rocblas_zgemv_64 cublasZgemv_v2_64;
    }
    (op trans, int m, int n, scalar alpha, consts A, int lda, consts x, int incx, scalar beta, muts y, int incy, int batch_count) {
        s: rocblas_sgemv_batched cublasSgemvBatched, rocblas_sgemv_batched_64 cublasSgemvBatched_64;
        d: rocblas_dgemv_batched cublasDgemvBatched, rocblas_dgemv_batched_64 cublasDgemvBatched_64;
        c: rocblas_cgemv_batched cublasCgemvBatched, rocblas_cgemv_batched_64 cublasCgemvBatched_64;
        z: rocblas_zgemv_batched cublasZgemvBatched, rocblas_zgemv_batched_64 cublasZgemvBatched_64;
    }
    (op transA, int m, int n, scalar alpha, const A, int lda, stride strideA, const x, int incx, stride stridex, scalar beta, mut y, int incy, stride stridey, int batch_count) {
        s: rocblas_sgemv_strided_batched cublasSgemvStridedBatched, rocblas_sgemv_strided_batched_64 cublasSgemvStridedBatched_64;
        d: rocblas_dgemv_strided_batched cublasDgemvStridedBatched, rocblas_dgemv_strided_batched_64 cublasDgemvStridedBatched_64;
        c: rocblas_cgemv_strided_batched cublasCgemvStridedBatched, rocblas_cgemv_strided_batched_64 cublasCgemvStridedBatched_64;
        z: rocblas_zgemv_strided_batched cublasZgemvStridedBatched, rocblas_zgemv_strided_batched_64 cublasZgemvStridedBatched_64;
    }
    (fill uplo, int n, int k, scalar alpha, const A(lda)[stride_A], const x(incx)[stride_x], scalar beta, mut y(incy)[stride_y]) {
        c: rocblas_chbmv cublasChbmv_v2 rocblas_chbmv_strided_batched, rocblas_chbmv_64 cublasChbmv_v2_64 rocblas_chbmv_strided_batched_64;
        z: rocblas_zhbmv cublasZhbmv_v2 rocblas_zhbmv_strided_batched, rocblas_zhbmv_64 cublasZhbmv_v2_64 rocblas_zhbmv_strided_batched_64;
        s: rocblas_ssbmv cublasSsbmv_v2 rocblas_ssbmv_strided_batched, rocblas_ssbmv_64 cublasSsbmv_v2_64 rocblas_ssbmv_strided_batched_64;
        d: rocblas_dsbmv cublasDsbmv_v2 rocblas_dsbmv_strided_batched, rocblas_dsbmv_64 cublasDsbmv_v2_64 rocblas_dsbmv_strided_batched_64;
    }
    (fill uplo, int n, scalar alpha, const A(lda)[stride_A], const x(incx)[stride_x], scalar beta, mut y(incy)[stride_y]) {
        c: rocblas_chemv cublasChemv_v2 rocblas_chemv_strided_batched, rocblas_chemv_64 cublasChemv_v2_64 rocblas_chemv_strided_batched_64;
        z: rocblas_zhemv cublasZhemv_v2 rocblas_zhemv_strided_batched, rocblas_zhemv_64 cublasZhemv_v2_64 rocblas_zhemv_strided_batched_64;
        s: rocblas_ssymv cublasSsymv_v2 rocblas_ssymv_strided_batched, rocblas_ssymv_64 cublasSsymv_v2_64 rocblas_ssymv_strided_batched_64;
        d: rocblas_dsymv cublasDsymv_v2 rocblas_dsymv_strided_batched, rocblas_dsymv_64 cublasDsymv_v2_64 rocblas_dsymv_strided_batched_64;
        c: rocblas_csymv cublasCsymv_v2 rocblas_csymv_strided_batched, rocblas_csymv_64 cublasCsymv_v2_64 rocblas_csymv_strided_batched_64;
        z: rocblas_zsymv cublasZsymv_v2 rocblas_zsymv_strided_batched, rocblas_zsymv_64 cublasZsymv_v2_64 rocblas_zsymv_strided_batched_64;
    }
    (fill uplo, int n, real_const alpha, const x(incx)[stride_x], mut A(lda)[stride_A]) {
        c: rocblas_cher cublasCher_v2 rocblas_cher_strided_batched, rocblas_cher_64 cublasCher_v2_64 rocblas_cher_strided_batched_64;
        z: rocblas_zher cublasZher_v2 rocblas_zher_strided_batched, rocblas_zher_64 cublasZher_v2_64 rocblas_zher_strided_batched_64;
    }
    (fill uplo, int n, scalar alpha, const x(incx)[stride_x], const y(incy)[stride_y], mut A(lda)[stride_A]) {
        c: rocblas_cher2 cublasCher2_v2 rocblas_cher2_strided_batched, rocblas_cher2_64 cublasCher2_v2_64 rocblas_cher2_strided_batched_64;
        z: rocblas_zher2 cublasZher2_v2 rocblas_zher2_strided_batched, rocblas_zher2_64 cublasZher2_v2_64 rocblas_zher2_strided_batched_64;
        s: rocblas_ssyr2 cublasSsyr2_v2 rocblas_ssyr2_strided_batched, rocblas_ssyr2_64 cublasSsyr2_v2_64 rocblas_ssyr2_strided_batched_64;
        d: rocblas_dsyr2 cublasDsyr2_v2 rocblas_dsyr2_strided_batched, rocblas_dsyr2_64 cublasDsyr2_v2_64 rocblas_dsyr2_strided_batched_64;
        c: rocblas_csyr2 cublasCsyr2_v2 rocblas_csyr2_strided_batched, rocblas_csyr2_64 cublasCsyr2_v2_64 rocblas_csyr2_strided_batched_64;
        z: rocblas_zsyr2 cublasZsyr2_v2 rocblas_zsyr2_strided_batched, rocblas_zsyr2_64 cublasZsyr2_v2_64 rocblas_zsyr2_strided_batched_64;
    }
    (fill uplo, int n, scalar alpha, const AP[stride_AP], const x(incx)[stride_x], scalar beta, mut y(incy)[stride_y]) {
        c: rocblas_chpmv cublasChpmv_v2 rocblas_chpmv_strided_batched, rocblas_chpmv_64 cublasChpmv_v2_64 rocblas_chpmv_strided_batched_64;
        z: rocblas_zhpmv cublasZhpmv_v2 rocblas_zhpmv_strided_batched, rocblas_zhpmv_64 cublasZhpmv_v2_64 rocblas_zhpmv_strided_batched_64;
        s: rocblas_sspmv cublasSspmv_v2 rocblas_sspmv_strided_batched, rocblas_sspmv_64 cublasSspmv_v2_64 rocblas_sspmv_strided_batched_64;
        d: rocblas_dspmv cublasDspmv_v2 rocblas_dspmv_strided_batched, rocblas_dspmv_64 cublasDspmv_v2_64 rocblas_dspmv_strided_batched_64;
    }
    (fill uplo, int n, real_const alpha, const x(incx)[stride_x], mut AP[stride_AP]) {
        c: rocblas_chpr cublasChpr_v2 rocblas_chpr_strided_batched, rocblas_chpr_64 cublasChpr_v2_64 rocblas_chpr_strided_batched_64;
        z: rocblas_zhpr cublasZhpr_v2 rocblas_zhpr_strided_batched, rocblas_zhpr_64 cublasZhpr_v2_64 rocblas_zhpr_strided_batched_64;
    }
    (fill uplo, int n, scalar alpha, const x(incx)[stride_x], const y(incy)[stride_y], mut AP[stride_AP]) {
        c: rocblas_chpr2 cublasChpr2_v2 rocblas_chpr2_strided_batched, rocblas_chpr2_64 cublasChpr2_v2_64 rocblas_chpr2_strided_batched_64;
        z: rocblas_zhpr2 cublasZhpr2_v2 rocblas_zhpr2_strided_batched, rocblas_zhpr2_64 cublasZhpr2_v2_64 rocblas_zhpr2_strided_batched_64;
        s: rocblas_sspr2 cublasSspr2_v2 rocblas_sspr2_strided_batched, rocblas_sspr2_64 cublasSspr2_v2_64 rocblas_sspr2_strided_batched_64;
        d: rocblas_dspr2 cublasDspr2_v2 rocblas_dspr2_strided_batched, rocblas_dspr2_64 cublasDspr2_v2_64 rocblas_dspr2_strided_batched_64;
    }
    (fill uplo, op transA, diag diag, int n, const A(lda)[stride_A], mut x(incx)[stride_x]) {
        s: rocblas_strmv cublasStrmv_v2 rocblas_strmv_strided_batched, rocblas_strmv_64 cublasStrmv_v2_64 rocblas_strmv_strided_batched_64;
        d: rocblas_dtrmv cublasDtrmv_v2 rocblas_dtrmv_strided_batched, rocblas_dtrmv_64 cublasDtrmv_v2_64 rocblas_dtrmv_strided_batched_64;
        c: rocblas_ctrmv cublasCtrmv_v2 rocblas_ctrmv_strided_batched, rocblas_ctrmv_64 cublasCtrmv_v2_64 rocblas_ctrmv_strided_batched_64;
        z: rocblas_ztrmv cublasZtrmv_v2 rocblas_ztrmv_strided_batched, rocblas_ztrmv_64 cublasZtrmv_v2_64 rocblas_ztrmv_strided_batched_64;
        s: rocblas_strsv cublasStrsv_v2 rocblas_strsv_strided_batched, rocblas_strsv_64 cublasStrsv_v2_64 rocblas_strsv_strided_batched_64;
        d: rocblas_dtrsv cublasDtrsv_v2 rocblas_dtrsv_strided_batched, rocblas_dtrsv_64 cublasDtrsv_v2_64 rocblas_dtrsv_strided_batched_64;
        c: rocblas_ctrsv cublasCtrsv_v2 rocblas_ctrsv_strided_batched, rocblas_ctrsv_64 cublasCtrsv_v2_64 rocblas_ctrsv_strided_batched_64;
        z: rocblas_ztrsv cublasZtrsv_v2 rocblas_ztrsv_strided_batched, rocblas_ztrsv_64 cublasZtrsv_v2_64 rocblas_ztrsv_strided_batched_64;
    }
    (fill uplo, op transA, diag diag, int n, const A[stride_A], mut x(incx)[stride_x]) {
        s: rocblas_stpmv cublasStpmv_v2 rocblas_stpmv_strided_batched, rocblas_stpmv_64 cublasStpmv_v2_64 rocblas_stpmv_strided_batched_64;
        d: rocblas_dtpmv cublasDtpmv_v2 rocblas_dtpmv_strided_batched, rocblas_dtpmv_64 cublasDtpmv_v2_64 rocblas_dtpmv_strided_batched_64;
        c: rocblas_ctpmv cublasCtpmv_v2 rocblas_ctpmv_strided_batched, rocblas_ctpmv_64 cublasCtpmv_v2_64 rocblas_ctpmv_strided_batched_64;
        z: rocblas_ztpmv cublasZtpmv_v2 rocblas_ztpmv_strided_batched, rocblas_ztpmv_64 cublasZtpmv_v2_64 rocblas_ztpmv_strided_batched_64;
        s: rocblas_stpsv cublasStpsv_v2 rocblas_stpsv_strided_batched, rocblas_stpsv_64 cublasStpsv_v2_64 rocblas_stpsv_strided_batched_64;
        d: rocblas_dtpsv cublasDtpsv_v2 rocblas_dtpsv_strided_batched, rocblas_dtpsv_64 cublasDtpsv_v2_64 rocblas_dtpsv_strided_batched_64;
        c: rocblas_ctpsv cublasCtpsv_v2 rocblas_ctpsv_strided_batched, rocblas_ctpsv_64 cublasCtpsv_v2_64 rocblas_ctpsv_strided_batched_64;
        z: rocblas_ztpsv cublasZtpsv_v2 rocblas_ztpsv_strided_batched, rocblas_ztpsv_64 cublasZtpsv_v2_64 rocblas_ztpsv_strided_batched_64;
    }
    (fill uplo, op trans, diag diag, int n, int k, const A(lda)[stride_A], mut x(incx)[stride_x]) {
        s: rocblas_stbmv cublasStbmv_v2 rocblas_stbmv_strided_batched, rocblas_stbmv_64 cublasStbmv_v2_64 rocblas_stbmv_strided_batched_64;
        d: rocblas_dtbmv cublasDtbmv_v2 rocblas_dtbmv_strided_batched, rocblas_dtbmv_64 cublasDtbmv_v2_64 rocblas_dtbmv_strided_batched_64;
        c: rocblas_ctbmv cublasCtbmv_v2 rocblas_ctbmv_strided_batched, rocblas_ctbmv_64 cublasCtbmv_v2_64 rocblas_ctbmv_strided_batched_64;
        z: rocblas_ztbmv cublasZtbmv_v2 rocblas_ztbmv_strided_batched, rocblas_ztbmv_64 cublasZtbmv_v2_64 rocblas_ztbmv_strided_batched_64;
        s: rocblas_stbsv cublasStbsv_v2 rocblas_stbsv_strided_batched, rocblas_stbsv_64 cublasStbsv_v2_64 rocblas_stbsv_strided_batched_64;
        d: rocblas_dtbsv cublasDtbsv_v2 rocblas_dtbsv_strided_batched, rocblas_dtbsv_64 cublasDtbsv_v2_64 rocblas_dtbsv_strided_batched_64;
        c: rocblas_ctbsv cublasCtbsv_v2 rocblas_ctbsv_strided_batched, rocblas_ctbsv_64 cublasCtbsv_v2_64 rocblas_ctbsv_strided_batched_64;
        z: rocblas_ztbsv cublasZtbsv_v2 rocblas_ztbsv_strided_batched, rocblas_ztbsv_64 cublasZtbsv_v2_64 rocblas_ztbsv_strided_batched_64;
    }
    (int m, int n, scalar alpha, const x(incx)[stride_x], const y(incy)[stride_y], mut A(lda)[stride_A]) {
        s: rocblas_sger cublasSger_v2 rocblas_sger_strided_batched, rocblas_sger_64 cublasSger_v2_64 rocblas_sger_strided_batched_64;
        d: rocblas_dger cublasDger_v2 rocblas_dger_strided_batched, rocblas_dger_64 cublasDger_v2_64 rocblas_dger_strided_batched_64;
        c: rocblas_cgeru cublasCgeru_v2 rocblas_cgeru_strided_batched, rocblas_cgeru_64 cublasCgeru_v2_64 rocblas_cgeru_strided_batched_64;
        z: rocblas_zgeru cublasZgeru_v2 rocblas_zgeru_strided_batched, rocblas_zgeru_64 cublasZgeru_v2_64 rocblas_zgeru_strided_batched_64;
        c: rocblas_cgerc cublasCgerc_v2 rocblas_cgerc_strided_batched, rocblas_cgerc_64 cublasCgerc_v2_64 rocblas_cgerc_strided_batched_64;
        z: rocblas_zgerc cublasZgerc_v2 rocblas_zgerc_strided_batched, rocblas_zgerc_64 cublasZgerc_v2_64 rocblas_zgerc_strided_batched_64;
    }
    (fill uplo, int n, scalar alpha, const x(incx)[stride_x], mut AP[stride_AP]) {
        s: rocblas_sspr cublasSspr_v2 rocblas_sspr_strided_batched, rocblas_sspr_64 cublasSspr_v2_64 rocblas_sspr_strided_batched_64;
        d: rocblas_dspr cublasDspr_v2 rocblas_dspr_strided_batched, rocblas_dspr_64 cublasDspr_v2_64 rocblas_dspr_strided_batched_64;
    }
    (fill uplo, int n, scalar alpha, const x(incx)[stride_x], mut A(lda)[stride_A]) {
        s: rocblas_ssyr cublasSsyr_v2 rocblas_ssyr_strided_batched, rocblas_ssyr_64 cublasSsyr_v2_64 rocblas_ssyr_strided_batched_64;
        d: rocblas_dsyr cublasDsyr_v2 rocblas_dsyr_strided_batched, rocblas_dsyr_64 cublasDsyr_v2_64 rocblas_dsyr_strided_batched_64;
        c: rocblas_csyr cublasCsyr_v2 rocblas_csyr_strided_batched, rocblas_csyr_64 cublasCsyr_v2_64 rocblas_csyr_strided_batched_64;
        z: rocblas_zsyr cublasZsyr_v2 rocblas_zsyr_strided_batched, rocblas_zsyr_64 cublasZsyr_v2_64 rocblas_zsyr_strided_batched_64;
    }
    (side side, fill uplo, int m, int n, scalar alpha, const A(lda)[stride_A], const B(ldb)[stride_B], scalar beta, mut C(ldc)[stride_C])
    => without_product(alpha, (m, n), beta, C, ldc) else (side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc) {
        c: rocblas_chemm cublasChemm_v2 rocblas_chemm_strided_batched, rocblas_chemm_64 cublasChemm_v2_64 rocblas_chemm_strided_batched_64;
        z: rocblas_zhemm cublasZhemm_v2 rocblas_zhemm_strided_batched, rocblas_zhemm_64 cublasZhemm_v2_64 rocblas_zhemm_strided_batched_64;
        s: rocblas_ssymm cublasSsymm_v2 rocblas_ssymm_strided_batched, rocblas_ssymm_64 cublasSsymm_v2_64 rocblas_ssymm_strided_batched_64;
        d: rocblas_dsymm cublasDsymm_v2 rocblas_dsymm_strided_batched, rocblas_dsymm_64 cublasDsymm_v2_64 rocblas_dsymm_strided_batched_64;
        c: rocblas_csymm cublasCsymm_v2 rocblas_csymm_strided_batched, rocblas_csymm_64 cublasCsymm_v2_64 rocblas_csymm_strided_batched_64;
        z: rocblas_zsymm cublasZsymm_v2 rocblas_zsymm_strided_batched, rocblas_zsymm_64 cublasZsymm_v2_64 rocblas_zsymm_strided_batched_64;
    }
    (fill uplo, op transA, int n, [depth_of alpha] k, real_scalar alpha, const A(lda)[stride_A], real_const beta, mut C(ldc)[stride_C]) {
        c: rocblas_cherk cublasCherk_v2 rocblas_cherk_strided_batched, rocblas_cherk_64 cublasCherk_v2_64 rocblas_cherk_strided_batched_64;
        z: rocblas_zherk cublasZherk_v2 rocblas_zherk_strided_batched, rocblas_zherk_64 cublasZherk_v2_64 rocblas_zherk_strided_batched_64;
    }
    (fill uplo, op trans, int n, [depth_of alpha] k, scalar alpha, const A(lda)[stride_A], const B(ldb)[stride_B], real_const beta, mut C(ldc)[stride_C]) {
        c: rocblas_cher2k cublasCher2k_v2 rocblas_cher2k_strided_batched, rocblas_cher2k_64 cublasCher2k_v2_64 rocblas_cher2k_strided_batched_64;
        z: rocblas_zher2k cublasZher2k_v2 rocblas_zher2k_strided_batched, rocblas_zher2k_64 cublasZher2k_v2_64 rocblas_zher2k_strided_batched_64;
        c: rocblas_cherkx cublasCherkx rocblas_cherkx_strided_batched, rocblas_cherkx_64 cublasCherkx_64 rocblas_cherkx_strided_batched_64;
        z: rocblas_zherkx cublasZherkx rocblas_zherkx_strided_batched, rocblas_zherkx_64 cublasZherkx_64 rocblas_zherkx_strided_batched_64;
    }
    (fill uplo, op transA, int n, [depth_of alpha] k, scalar alpha, const A(lda)[stride_A], scalar beta, mut C(ldc)[stride_C]) {
        s: rocblas_ssyrk cublasSsyrk_v2 rocblas_ssyrk_strided_batched, rocblas_ssyrk_64 cublasSsyrk_v2_64 rocblas_ssyrk_strided_batched_64;
        d: rocblas_dsyrk cublasDsyrk_v2 rocblas_dsyrk_strided_batched, rocblas_dsyrk_64 cublasDsyrk_v2_64 rocblas_dsyrk_strided_batched_64;
        c: rocblas_csyrk cublasCsyrk_v2 rocblas_csyrk_strided_batched, rocblas_csyrk_64 cublasCsyrk_v2_64 rocblas_csyrk_strided_batched_64;
        z: rocblas_zsyrk cublasZsyrk_v2 rocblas_zsyrk_strided_batched, rocblas_zsyrk_64 cublasZsyrk_v2_64 rocblas_zsyrk_strided_batched_64;
    }
    (fill uplo, op trans, int n, [depth_of alpha] k, scalar alpha, const A(lda)[stride_A], const B(ldb)[stride_B], scalar beta, mut C(ldc)[stride_C]) {
        s: rocblas_ssyr2k cublasSsyr2k_v2 rocblas_ssyr2k_strided_batched, rocblas_ssyr2k_64 cublasSsyr2k_v2_64 rocblas_ssyr2k_strided_batched_64;
        d: rocblas_dsyr2k cublasDsyr2k_v2 rocblas_dsyr2k_strided_batched, rocblas_dsyr2k_64 cublasDsyr2k_v2_64 rocblas_dsyr2k_strided_batched_64;
        c: rocblas_csyr2k cublasCsyr2k_v2 rocblas_csyr2k_strided_batched, rocblas_csyr2k_64 cublasCsyr2k_v2_64 rocblas_csyr2k_strided_batched_64;
        z: rocblas_zsyr2k cublasZsyr2k_v2 rocblas_zsyr2k_strided_batched, rocblas_zsyr2k_64 cublasZsyr2k_v2_64 rocblas_zsyr2k_strided_batched_64;
        s: rocblas_ssyrkx cublasSsyrkx rocblas_ssyrkx_strided_batched, rocblas_ssyrkx_64 cublasSsyrkx_64 rocblas_ssyrkx_strided_batched_64;
        d: rocblas_dsyrkx cublasDsyrkx rocblas_dsyrkx_strided_batched, rocblas_dsyrkx_64 cublasDsyrkx_64 rocblas_dsyrkx_strided_batched_64;
        c: rocblas_csyrkx cublasCsyrkx rocblas_csyrkx_strided_batched, rocblas_csyrkx_64 cublasCsyrkx_64 rocblas_csyrkx_strided_batched_64;
        z: rocblas_zsyrkx cublasZsyrkx rocblas_zsyrkx_strided_batched, rocblas_zsyrkx_64 cublasZsyrkx_64 rocblas_zsyrkx_strided_batched_64;
    }
    (side side, fill uplo, op transA, diag diag, int m, int n, scalar alpha, const A(lda)[stride_A], const B(ldb)[stride_B], mut C(ldc)[stride_C])
    => without_product(alpha, (m, n), alpha, C, ldc) else (side, uplo, transA, diag, m, n, alpha, A, lda, B, ldb, C, ldc) {
        s: rocblas_strmm cublasStrmm_v2 rocblas_strmm_strided_batched, rocblas_strmm_64 cublasStrmm_v2_64 rocblas_strmm_strided_batched_64;
        d: rocblas_dtrmm cublasDtrmm_v2 rocblas_dtrmm_strided_batched, rocblas_dtrmm_64 cublasDtrmm_v2_64 rocblas_dtrmm_strided_batched_64;
        c: rocblas_ctrmm cublasCtrmm_v2 rocblas_ctrmm_strided_batched, rocblas_ctrmm_64 cublasCtrmm_v2_64 rocblas_ctrmm_strided_batched_64;
        z: rocblas_ztrmm cublasZtrmm_v2 rocblas_ztrmm_strided_batched, rocblas_ztrmm_64 cublasZtrmm_v2_64 rocblas_ztrmm_strided_batched_64;
    }
    (side side, fill uplo, op transA, diag diag, int m, int n, scalar alpha, const A(lda)[stride_A], mut B(ldb)[stride_B])
    => without_product(alpha, (m, n), alpha, B, ldb) else (side, uplo, transA, diag, m, n, alpha, A, lda, B, ldb) {
        s: rocblas_strsm cublasStrsm_v2 rocblas_strsm_strided_batched, rocblas_strsm_64 cublasStrsm_v2_64 rocblas_strsm_strided_batched_64;
        d: rocblas_dtrsm cublasDtrsm_v2 rocblas_dtrsm_strided_batched, rocblas_dtrsm_64 cublasDtrsm_v2_64 rocblas_dtrsm_strided_batched_64;
        c: rocblas_ctrsm cublasCtrsm_v2 rocblas_ctrsm_strided_batched, rocblas_ctrsm_64 cublasCtrsm_v2_64 rocblas_ctrsm_strided_batched_64;
        z: rocblas_ztrsm cublasZtrsm_v2 rocblas_ztrsm_strided_batched, rocblas_ztrsm_64 cublasZtrsm_v2_64 rocblas_ztrsm_strided_batched_64;
    }
    (side side, fill uplo, op transA, diag diag, int m, int n, scalar alpha, consts A, int lda, muts B, int ldb, int batch_count) {
        s: rocblas_strsm_batched cublasStrsmBatched, rocblas_strsm_batched_64 cublasStrsmBatched_64;
        d: rocblas_dtrsm_batched cublasDtrsmBatched, rocblas_dtrsm_batched_64 cublasDtrsmBatched_64;
        c: rocblas_ctrsm_batched cublasCtrsmBatched, rocblas_ctrsm_batched_64 cublasCtrsmBatched_64;
        z: rocblas_ztrsm_batched cublasZtrsmBatched, rocblas_ztrsm_batched_64 cublasZtrsmBatched_64;
    }
    (op transA, op transB, int m, int n, [depth_of alpha] k, scalar alpha, const A, int lda, const B, int ldb, scalar beta, mut C, int ldc) {
        s: rocblas_sgemm cublasSgemm_v2, rocblas_sgemm_64 cublasSgemm_v2_64;
        d: rocblas_dgemm cublasDgemm_v2, rocblas_dgemm_64 cublasDgemm_v2_64;
        c: rocblas_cgemm cublasCgemm_v2, rocblas_cgemm_64 cublasCgemm_v2_64;
        z: rocblas_zgemm cublasZgemm_v2, rocblas_zgemm_64 cublasZgemm_v2_64;
    }
    (op transA, op transB, int m, int n, [depth_of alpha] k, scalar alpha, consts A, int lda, consts B, int ldb, scalar beta, muts C, int ldc, int batch_count) {
        s: rocblas_sgemm_batched cublasSgemmBatched, rocblas_sgemm_batched_64 cublasSgemmBatched_64;
        d: rocblas_dgemm_batched cublasDgemmBatched, rocblas_dgemm_batched_64 cublasDgemmBatched_64;
        c: rocblas_cgemm_batched cublasCgemmBatched, rocblas_cgemm_batched_64 cublasCgemmBatched_64;
        z: rocblas_zgemm_batched cublasZgemmBatched, rocblas_zgemm_batched_64 cublasZgemmBatched_64;
    }
    (op transA, op transB, int m, int n, [depth_of alpha] k, scalar alpha, const A, int lda, stride stride_a, const B, int ldb, stride stride_b, scalar beta, mut C, int ldc, stride stride_c, int batch_count) {
        s: rocblas_sgemm_strided_batched cublasSgemmStridedBatched, rocblas_sgemm_strided_batched_64 cublasSgemmStridedBatched_64;
        d: rocblas_dgemm_strided_batched cublasDgemmStridedBatched, rocblas_dgemm_strided_batched_64 cublasDgemmStridedBatched_64;
        c: rocblas_cgemm_strided_batched cublasCgemmStridedBatched, rocblas_cgemm_strided_batched_64 cublasCgemmStridedBatched_64;
        z: rocblas_zgemm_strided_batched cublasZgemmStridedBatched, rocblas_zgemm_strided_batched_64 cublasZgemmStridedBatched_64;
    }
    (side side, int m, int n, const A(lda)[stride_A], const x(incx)[stride_x], mut C(ldc)[stride_C]) {
        s: rocblas_sdgmm cublasSdgmm rocblas_sdgmm_strided_batched, rocblas_sdgmm_64 cublasSdgmm_64 rocblas_sdgmm_strided_batched_64;
        d: rocblas_ddgmm cublasDdgmm rocblas_ddgmm_strided_batched, rocblas_ddgmm_64 cublasDdgmm_64 rocblas_ddgmm_strided_batched_64;
        c: rocblas_cdgmm cublasCdgmm rocblas_cdgmm_strided_batched, rocblas_cdgmm_64 cublasCdgmm_64 rocblas_cdgmm_strided_batched_64;
        z: rocblas_zdgmm cublasZdgmm rocblas_zdgmm_strided_batched, rocblas_zdgmm_64 cublasZdgmm_64 rocblas_zdgmm_strided_batched_64;
    }
    (op transA, op transB, int m, int n, scalar alpha, const A(lda)[stride_A], scalar beta, const B(ldb)[stride_B], mut C(ldc)[stride_C]) {
        s: rocblas_sgeam cublasSgeam rocblas_sgeam_strided_batched, rocblas_sgeam_64 cublasSgeam_64 rocblas_sgeam_strided_batched_64;
        d: rocblas_dgeam cublasDgeam rocblas_dgeam_strided_batched, rocblas_dgeam_64 cublasDgeam_64 rocblas_dgeam_strided_batched_64;
        c: rocblas_cgeam cublasCgeam rocblas_cgeam_strided_batched, rocblas_cgeam_64 cublasCgeam_64 rocblas_cgeam_strided_batched_64;
        z: rocblas_zgeam cublasZgeam rocblas_zgeam_strided_batched, rocblas_zgeam_64 cublasZgeam_64 rocblas_zgeam_strided_batched_64;
    }
    (int n, [scalar_of alpha_type] alpha, datatype alpha_type, any x, datatype x_type, int incx, any_mut y, datatype y_type, int incy, datatype execution_type) {
        s: rocblas_axpy_ex cublasAxpyEx, rocblas_axpy_ex_64 cublasAxpyEx_64;
    }
    (int n, any x, datatype x_type, int incx, any y, datatype y_type, int incy, [result_of result_type] result, datatype result_type, datatype execution_type) {
        s: rocblas_dot_ex cublasDotEx, rocblas_dot_ex_64 cublasDotEx_64;
        s: rocblas_dotc_ex cublasDotcEx, rocblas_dotc_ex_64 cublasDotcEx_64;
    }
    (int n, any x, datatype x_type, int incx, [result_of result_type] results, datatype result_type, datatype execution_type) {
        s: rocblas_nrm2_ex cublasNrm2Ex, rocblas_nrm2_ex_64 cublasNrm2Ex_64;
    }
    (int n, any_mut x, datatype x_type, int incx, any_mut y, datatype y_type, int incy, [scalar_of cs_type] c, [scalar_of cs_type] s, datatype cs_type, datatype execution_type) {
        s: rocblas_rot_ex cublasRotEx, rocblas_rot_ex_64 cublasRotEx_64;
    }
    (int n, [scalar_of alpha_type] alpha, datatype alpha_type, any_mut x, datatype x_type, int incx, datatype execution_type) {
        s: rocblas_scal_ex cublasScalEx, rocblas_scal_ex_64 cublasScalEx_64;
    }
    (result a[stride_a], result b[stride_b], result c[stride_c], result s[stride_s]) {
        s: rocblas_srotg cublasSrotg_v2 rocblas_srotg_strided_batched, rocblas_srotg_64 cublasSrotg_v2 rocblas_srotg_strided_batched_64;
        d: rocblas_drotg cublasDrotg_v2 rocblas_drotg_strided_batched, rocblas_drotg_64 cublasDrotg_v2 rocblas_drotg_strided_batched_64;
    }
    (result a[stride_a], result b[stride_b], real_mut c[stride_c], result s[stride_s]) {
        c: rocblas_crotg cublasCrotg_v2 rocblas_crotg_strided_batched, rocblas_crotg_64 cublasCrotg_v2 rocblas_crotg_strided_batched_64;
        z: rocblas_zrotg cublasZrotg_v2 rocblas_zrotg_strided_batched, rocblas_zrotg_64 cublasZrotg_v2 rocblas_zrotg_strided_batched_64;
    }
    (mut d1[stride_d1], mut d2[stride_d2], mut x1[stride_x1], const y1[stride_y1], mut param[stride_param]) {
        s: rocblas_srotmg cublasSrotmg_v2 rocblas_srotmg_strided_batched, rocblas_srotmg_64 cublasSrotmg_v2 rocblas_srotmg_strided_batched_64;
        d: rocblas_drotmg cublasDrotmg_v2 rocblas_drotmg_strided_batched, rocblas_drotmg_64 cublasDrotmg_v2 rocblas_drotmg_strided_batched_64;
    }
}
