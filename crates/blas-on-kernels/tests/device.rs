//! The table on a device, against models in f64. `FERROCM_DEVICE` says on which.

#[path = "common/mod.rs"]
mod common;

use common::{Blas, Random};
use rocblas_sys::*;

#[test]
fn a_small_product_is_right() {
    let blas = Blas::new();
    let (m, n, k) = (70, 67, 33);
    let mut random = Random::new(1);
    let mut floats = |count| random.numbers(count).iter().map(|x| *x as f32).collect::<Vec<f32>>();
    let (a, b) = (floats(m * k), floats(k * n));
    let (on_a, on_b) = (blas.upload(&a), blas.upload(&b));
    let on_c = blas.upload(&vec![f32::NAN; m * n]);
    let none = rocblas_operation::rocblas_operation_none;
    // SAFETY: the buffers have as many elements.
    let status = unsafe {
        (blas.table.rocblas_sgemm)(
            blas.handle, none, none, m as i32, n as i32, k as i32, &2.0, on_a.pointer(), m as i32, on_b.pointer(), k as i32,
            &0.0, on_c.pointer(), m as i32,
        )
    };
    assert_eq!(status, rocblas_status::rocblas_status_success);
    let got: Vec<f32> = on_c.read();
    for j in 0..n {
        for i in 0..m {
            let want: f64 = (0..k).map(|d| f64::from(a[i + d * m]) * f64::from(b[d + j * k])).sum();
            assert!((f64::from(got[i + j * m]) - 2.0 * want).abs() < 1e-4, "{i} {j}");
        }
    }
}
