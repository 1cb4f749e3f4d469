//! Level 1: rotations. A trait for each routine, a row for each type that it supports.

use num_complex::{Complex32, Complex64};

routine! {
    /// Applies a plane rotation.
    pub trait Rot: six rot(int n, at x, at y, ptr c, ptr s, batch);
    f32: rocblas_srot rocblas_srot_64 rocblas_srot_batched rocblas_srot_batched_64 rocblas_srot_strided_batched rocblas_srot_strided_batched_64;
    f64: rocblas_drot rocblas_drot_64 rocblas_drot_batched rocblas_drot_batched_64 rocblas_drot_strided_batched rocblas_drot_strided_batched_64;
    Complex32: rocblas_crot rocblas_crot_64 rocblas_crot_batched rocblas_crot_batched_64 rocblas_crot_strided_batched rocblas_crot_strided_batched_64;
    Complex64: rocblas_zrot rocblas_zrot_64 rocblas_zrot_batched rocblas_zrot_batched_64 rocblas_zrot_strided_batched rocblas_zrot_strided_batched_64;
}

routine! {
    /// Applies a plane rotation with a real sine.
    pub trait RotReal: six rot_real(int n, at x, at y, ptr c, ptr s, batch);
    Complex32: rocblas_csrot rocblas_csrot_64 rocblas_csrot_batched rocblas_csrot_batched_64 rocblas_csrot_strided_batched rocblas_csrot_strided_batched_64;
    Complex64: rocblas_zdrot rocblas_zdrot_64 rocblas_zdrot_batched rocblas_zdrot_batched_64 rocblas_zdrot_strided_batched rocblas_zdrot_strided_batched_64;
}

routine! {
    /// Makes a plane rotation.
    pub trait Rotg: six rotg(packed a, packed b, packed c, packed s, batch);
    f32: rocblas_srotg rocblas_srotg_64 rocblas_srotg_batched rocblas_srotg_batched_64 rocblas_srotg_strided_batched rocblas_srotg_strided_batched_64;
    f64: rocblas_drotg rocblas_drotg_64 rocblas_drotg_batched rocblas_drotg_batched_64 rocblas_drotg_strided_batched rocblas_drotg_strided_batched_64;
    Complex32: rocblas_crotg rocblas_crotg_64 rocblas_crotg_batched rocblas_crotg_batched_64 rocblas_crotg_strided_batched rocblas_crotg_strided_batched_64;
    Complex64: rocblas_zrotg rocblas_zrotg_64 rocblas_zrotg_batched rocblas_zrotg_batched_64 rocblas_zrotg_strided_batched rocblas_zrotg_strided_batched_64;
}

routine! {
    /// Applies a modified rotation.
    pub trait Rotm: six rotm(int n, at x, at y, packed param, batch);
    f32: rocblas_srotm rocblas_srotm_64 rocblas_srotm_batched rocblas_srotm_batched_64 rocblas_srotm_strided_batched rocblas_srotm_strided_batched_64;
    f64: rocblas_drotm rocblas_drotm_64 rocblas_drotm_batched rocblas_drotm_batched_64 rocblas_drotm_strided_batched rocblas_drotm_strided_batched_64;
}

routine! {
    /// Makes a modified rotation.
    pub trait Rotmg: six rotmg(packed d1, packed d2, packed x1, packed y1, packed param, batch);
    f32: rocblas_srotmg rocblas_srotmg_64 rocblas_srotmg_batched rocblas_srotmg_batched_64 rocblas_srotmg_strided_batched rocblas_srotmg_strided_batched_64;
    f64: rocblas_drotmg rocblas_drotmg_64 rocblas_drotmg_batched rocblas_drotmg_batched_64 rocblas_drotmg_strided_batched rocblas_drotmg_strided_batched_64;
}
