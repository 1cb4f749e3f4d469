//! Level 1: vectors. A trait for each routine, a row for each type that it supports.

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

routine! {
    /// `y = alpha x + y`.
    pub trait Axpy: six axpy(int n, ptr alpha, at x, at y, batch);
    f32: rocblas_saxpy rocblas_saxpy_64 rocblas_saxpy_batched rocblas_saxpy_batched_64 rocblas_saxpy_strided_batched rocblas_saxpy_strided_batched_64;
    f64: rocblas_daxpy rocblas_daxpy_64 rocblas_daxpy_batched rocblas_daxpy_batched_64 rocblas_daxpy_strided_batched rocblas_daxpy_strided_batched_64;
    Complex32: rocblas_caxpy rocblas_caxpy_64 rocblas_caxpy_batched rocblas_caxpy_batched_64 rocblas_caxpy_strided_batched rocblas_caxpy_strided_batched_64;
    Complex64: rocblas_zaxpy rocblas_zaxpy_64 rocblas_zaxpy_batched rocblas_zaxpy_batched_64 rocblas_zaxpy_strided_batched rocblas_zaxpy_strided_batched_64;
    f16: rocblas_haxpy rocblas_haxpy_64 rocblas_haxpy_batched rocblas_haxpy_batched_64 rocblas_haxpy_strided_batched rocblas_haxpy_strided_batched_64;
}

routine! {
    /// `x = alpha x`.
    pub trait Scal: six scal(int n, ptr alpha, at x, batch);
    f32: rocblas_sscal rocblas_sscal_64 rocblas_sscal_batched rocblas_sscal_batched_64 rocblas_sscal_strided_batched rocblas_sscal_strided_batched_64;
    f64: rocblas_dscal rocblas_dscal_64 rocblas_dscal_batched rocblas_dscal_batched_64 rocblas_dscal_strided_batched rocblas_dscal_strided_batched_64;
    Complex32: rocblas_cscal rocblas_cscal_64 rocblas_cscal_batched rocblas_cscal_batched_64 rocblas_cscal_strided_batched rocblas_cscal_strided_batched_64;
    Complex64: rocblas_zscal rocblas_zscal_64 rocblas_zscal_batched rocblas_zscal_batched_64 rocblas_zscal_strided_batched rocblas_zscal_strided_batched_64;
}

routine! {
    /// `x = alpha x`, with a real factor.
    pub trait ScalReal: six scal_real(int n, ptr alpha, at x, batch);
    Complex32: rocblas_csscal rocblas_csscal_64 rocblas_csscal_batched rocblas_csscal_batched_64 rocblas_csscal_strided_batched rocblas_csscal_strided_batched_64;
    Complex64: rocblas_zdscal rocblas_zdscal_64 rocblas_zdscal_batched rocblas_zdscal_batched_64 rocblas_zdscal_strided_batched rocblas_zdscal_strided_batched_64;
}

routine! {
    /// `y = x`.
    pub trait Copy: six copy(int n, at x, at y, batch);
    f32: rocblas_scopy rocblas_scopy_64 rocblas_scopy_batched rocblas_scopy_batched_64 rocblas_scopy_strided_batched rocblas_scopy_strided_batched_64;
    f64: rocblas_dcopy rocblas_dcopy_64 rocblas_dcopy_batched rocblas_dcopy_batched_64 rocblas_dcopy_strided_batched rocblas_dcopy_strided_batched_64;
    Complex32: rocblas_ccopy rocblas_ccopy_64 rocblas_ccopy_batched rocblas_ccopy_batched_64 rocblas_ccopy_strided_batched rocblas_ccopy_strided_batched_64;
    Complex64: rocblas_zcopy rocblas_zcopy_64 rocblas_zcopy_batched rocblas_zcopy_batched_64 rocblas_zcopy_strided_batched rocblas_zcopy_strided_batched_64;
}

routine! {
    /// Exchanges `x` and `y`.
    pub trait Swap: six swap(int n, at x, at y, batch);
    f32: rocblas_sswap rocblas_sswap_64 rocblas_sswap_batched rocblas_sswap_batched_64 rocblas_sswap_strided_batched rocblas_sswap_strided_batched_64;
    f64: rocblas_dswap rocblas_dswap_64 rocblas_dswap_batched rocblas_dswap_batched_64 rocblas_dswap_strided_batched rocblas_dswap_strided_batched_64;
    Complex32: rocblas_cswap rocblas_cswap_64 rocblas_cswap_batched rocblas_cswap_batched_64 rocblas_cswap_strided_batched rocblas_cswap_strided_batched_64;
    Complex64: rocblas_zswap rocblas_zswap_64 rocblas_zswap_batched rocblas_zswap_batched_64 rocblas_zswap_strided_batched rocblas_zswap_strided_batched_64;
}

routine! {
    /// The sum of `x[i] y[i]`.
    pub trait Dot: six dot(int n, at x, at y, batch, ptr result);
    f32: rocblas_sdot rocblas_sdot_64 rocblas_sdot_batched rocblas_sdot_batched_64 rocblas_sdot_strided_batched rocblas_sdot_strided_batched_64;
    f64: rocblas_ddot rocblas_ddot_64 rocblas_ddot_batched rocblas_ddot_batched_64 rocblas_ddot_strided_batched rocblas_ddot_strided_batched_64;
    f16: rocblas_hdot rocblas_hdot_64 rocblas_hdot_batched rocblas_hdot_batched_64 rocblas_hdot_strided_batched rocblas_hdot_strided_batched_64;
    bf16: rocblas_bfdot rocblas_bfdot_64 rocblas_bfdot_batched rocblas_bfdot_batched_64 rocblas_bfdot_strided_batched rocblas_bfdot_strided_batched_64;
    Complex32: rocblas_cdotu rocblas_cdotu_64 rocblas_cdotu_batched rocblas_cdotu_batched_64 rocblas_cdotu_strided_batched rocblas_cdotu_strided_batched_64;
    Complex64: rocblas_zdotu rocblas_zdotu_64 rocblas_zdotu_batched rocblas_zdotu_batched_64 rocblas_zdotu_strided_batched rocblas_zdotu_strided_batched_64;
}

routine! {
    /// The sum of `conj(x[i]) y[i]`.
    pub trait Dotc: six dotc(int n, at x, at y, batch, ptr result);
    Complex32: rocblas_cdotc rocblas_cdotc_64 rocblas_cdotc_batched rocblas_cdotc_batched_64 rocblas_cdotc_strided_batched rocblas_cdotc_strided_batched_64;
    Complex64: rocblas_zdotc rocblas_zdotc_64 rocblas_zdotc_batched rocblas_zdotc_batched_64 rocblas_zdotc_strided_batched rocblas_zdotc_strided_batched_64;
}

routine! {
    /// The Euclidean norm.
    pub trait Nrm2: six nrm2(int n, at x, batch, ptr result);
    f32: rocblas_snrm2 rocblas_snrm2_64 rocblas_snrm2_batched rocblas_snrm2_batched_64 rocblas_snrm2_strided_batched rocblas_snrm2_strided_batched_64;
    f64: rocblas_dnrm2 rocblas_dnrm2_64 rocblas_dnrm2_batched rocblas_dnrm2_batched_64 rocblas_dnrm2_strided_batched rocblas_dnrm2_strided_batched_64;
    Complex32: rocblas_scnrm2 rocblas_scnrm2_64 rocblas_scnrm2_batched rocblas_scnrm2_batched_64 rocblas_scnrm2_strided_batched rocblas_scnrm2_strided_batched_64;
    Complex64: rocblas_dznrm2 rocblas_dznrm2_64 rocblas_dznrm2_batched rocblas_dznrm2_batched_64 rocblas_dznrm2_strided_batched rocblas_dznrm2_strided_batched_64;
}

routine! {
    /// The sum of the absolute values of all parts.
    pub trait Asum: six asum(int n, at x, batch, ptr result);
    f32: rocblas_sasum rocblas_sasum_64 rocblas_sasum_batched rocblas_sasum_batched_64 rocblas_sasum_strided_batched rocblas_sasum_strided_batched_64;
    f64: rocblas_dasum rocblas_dasum_64 rocblas_dasum_batched rocblas_dasum_batched_64 rocblas_dasum_strided_batched rocblas_dasum_strided_batched_64;
    Complex32: rocblas_scasum rocblas_scasum_64 rocblas_scasum_batched rocblas_scasum_batched_64 rocblas_scasum_strided_batched rocblas_scasum_strided_batched_64;
    Complex64: rocblas_dzasum rocblas_dzasum_64 rocblas_dzasum_batched rocblas_dzasum_batched_64 rocblas_dzasum_strided_batched rocblas_dzasum_strided_batched_64;
}

routine! {
    /// The index of the largest element, counted from 1.
    pub trait Iamax: six iamax(int n, at x, batch, ptr result);
    f32: rocblas_isamax rocblas_isamax_64 rocblas_isamax_batched rocblas_isamax_batched_64 rocblas_isamax_strided_batched rocblas_isamax_strided_batched_64;
    f64: rocblas_idamax rocblas_idamax_64 rocblas_idamax_batched rocblas_idamax_batched_64 rocblas_idamax_strided_batched rocblas_idamax_strided_batched_64;
    Complex32: rocblas_icamax rocblas_icamax_64 rocblas_icamax_batched rocblas_icamax_batched_64 rocblas_icamax_strided_batched rocblas_icamax_strided_batched_64;
    Complex64: rocblas_izamax rocblas_izamax_64 rocblas_izamax_batched rocblas_izamax_batched_64 rocblas_izamax_strided_batched rocblas_izamax_strided_batched_64;
}

routine! {
    /// The index of the smallest element, counted from 1.
    pub trait Iamin: six iamin(int n, at x, batch, ptr result);
    f32: rocblas_isamin rocblas_isamin_64 rocblas_isamin_batched rocblas_isamin_batched_64 rocblas_isamin_strided_batched rocblas_isamin_strided_batched_64;
    f64: rocblas_idamin rocblas_idamin_64 rocblas_idamin_batched rocblas_idamin_batched_64 rocblas_idamin_strided_batched rocblas_idamin_strided_batched_64;
    Complex32: rocblas_icamin rocblas_icamin_64 rocblas_icamin_batched rocblas_icamin_batched_64 rocblas_icamin_strided_batched rocblas_icamin_strided_batched_64;
    Complex64: rocblas_izamin rocblas_izamin_64 rocblas_izamin_batched rocblas_izamin_batched_64 rocblas_izamin_strided_batched rocblas_izamin_strided_batched_64;
}
