//! Fills.

use std::ffi::{c_int, c_uchar, c_ushort, c_void};

use cuda_sys::CUdeviceptr;
use hip_sys::{hipError_t, hipExtent, hipPitchedPtr, hipStream_t};

use super::convert::address;
use crate::call::{same, steps};
use crate::runtime::check;

/// `hipMemset3DAsync`: a rectangle for each layer.
pub(crate) unsafe extern "C" fn hipMemset3DAsync(
    place: hipPitchedPtr,
    value: c_int,
    extent: hipExtent,
    stream: hipStream_t,
) -> hipError_t {
    let layer = place.pitch as CUdeviceptr * place.ysize as CUdeviceptr;
    steps(|cuda| {
        (0..extent.depth as CUdeviceptr).try_for_each(|at| {
            let start = address(place.ptr) + at * layer;
            let (width, height) = (extent.width, extent.height);
            // SAFETY: the caller vouches for memory and stream.
            check(unsafe {
                (cuda.cuMemsetD2D8Async)(start, place.pitch, value as u8, width, height, stream.cast())
            })
        })
    })
}

same! {
    hipMemset(to: *mut c_void, value: c_int, bytes: usize) => cuMemsetD8_v2(address(to), value as u8, bytes);
    hipMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, stream: hipStream_t)
        => cuMemsetD8Async(address(to), value as u8, bytes, stream.cast());
    hipMemsetD8(to: *mut c_void, value: c_uchar, count: usize) => cuMemsetD8_v2(address(to), value, count);
    hipMemsetD16(to: *mut c_void, value: c_ushort, count: usize) => cuMemsetD16_v2(address(to), value, count);
    hipMemsetD32(to: *mut c_void, value: c_int, count: usize) => cuMemsetD32_v2(address(to), value.cast_unsigned(), count);
    hipMemsetD8Async(to: *mut c_void, value: c_uchar, count: usize, stream: hipStream_t)
        => cuMemsetD8Async(address(to), value, count, stream.cast());
    hipMemsetD16Async(to: *mut c_void, value: c_ushort, count: usize, stream: hipStream_t)
        => cuMemsetD16Async(address(to), value, count, stream.cast());
    hipMemsetD32Async(to: *mut c_void, value: c_int, count: usize, stream: hipStream_t)
        => cuMemsetD32Async(address(to), value.cast_unsigned(), count, stream.cast());
    hipMemset2DAsync(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: hipStream_t)
        => cuMemsetD2D8Async(address(to), pitch, value as u8, width, height, stream.cast());
}
