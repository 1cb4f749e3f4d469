//! The sums and products of the component `sample`, for slices.

use std::ffi::c_int;

unsafe extern "C" {
    fn sample_scale(values: *mut f32, count: c_int, factor: f32) -> c_int;
    fn sample_sum(values: *const f32, count: c_int, sum: *mut f32) -> c_int;
}

/// The error code of a failed HIP call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed(pub c_int);

fn count(values: &[f32]) -> Result<c_int, Failed> {
    // The library's error for an invalid size.
    c_int::try_from(values.len()).map_err(|_| Failed(1))
}

/// Multiplies each element by a factor.
pub fn scale(values: &mut [f32], factor: f32) -> Result<(), Failed> {
    let count = count(values)?;
    // SAFETY: the library reads and writes `count` elements.
    match unsafe { sample_scale(values.as_mut_ptr(), count, factor) } {
        0 => Ok(()),
        code => Err(Failed(code)),
    }
}

/// The sum of the elements.
pub fn sum(values: &[f32]) -> Result<f32, Failed> {
    let (count, mut sum) = (count(values)?, 0.0);
    // SAFETY: the library reads `count` elements, and writes one number.
    match unsafe { sample_sum(values.as_ptr(), count, &mut sum) } {
        0 => Ok(sum),
        code => Err(Failed(code)),
    }
}
