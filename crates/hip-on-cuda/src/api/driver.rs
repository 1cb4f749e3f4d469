//! Functions of the driver that HIP has no counterparts of, and that programs written for CUDA call.
#![allow(clippy::too_many_arguments, reason = "the driver's functions have as many")]

use std::ffi::{c_int, c_uint, c_void};

use cuda_sys::{
    CUdevice_attribute, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapIm2ColWideMode,
    CUtensorMapInterleave, CUtensorMapL2promotion, CUtensorMapSwizzle,
};
use hip_sys::{DriverCalls, hipError_t};

use crate::call::{same, steps};
use crate::runtime::{check, device};

pub(crate) const DRIVER_CALLS: DriverCalls =
    DriverCalls { attribute, encode_tiled, encode_im2col, encode_im2col_wide, replace_address };

unsafe extern "C" fn attribute(value: *mut c_int, which: c_uint, ordinal: c_int) -> hipError_t {
    // SAFETY: the caller passes a place.
    steps(|cuda| unsafe {
        check((cuda.cuDeviceGetAttribute)(value, CUdevice_attribute(which), device(cuda, ordinal)?))
    })
}

same! {
    encode_tiled(
        map: *mut c_void,
        data_type: c_uint,
        rank: c_uint,
        address: *mut c_void,
        dimensions: *const u64,
        strides: *const u64,
        tile: *const c_uint,
        element_strides: *const c_uint,
        interleave: c_uint,
        swizzle: c_uint,
        l2_promotion: c_uint,
        fill: c_uint,
    ) => cuTensorMapEncodeTiled(
        map.cast(), CUtensorMapDataType(data_type), rank, address, dimensions, strides, tile,
        element_strides, CUtensorMapInterleave(interleave), CUtensorMapSwizzle(swizzle),
        CUtensorMapL2promotion(l2_promotion), CUtensorMapFloatOOBfill(fill),
    );
    encode_im2col(
        map: *mut c_void,
        data_type: c_uint,
        rank: c_uint,
        address: *mut c_void,
        dimensions: *const u64,
        strides: *const u64,
        lower_corner: *const c_int,
        upper_corner: *const c_int,
        channels: c_uint,
        pixels: c_uint,
        element_strides: *const c_uint,
        interleave: c_uint,
        swizzle: c_uint,
        l2_promotion: c_uint,
        fill: c_uint,
    ) => cuTensorMapEncodeIm2col(
        map.cast(), CUtensorMapDataType(data_type), rank, address, dimensions, strides, lower_corner,
        upper_corner, channels, pixels, element_strides, CUtensorMapInterleave(interleave),
        CUtensorMapSwizzle(swizzle), CUtensorMapL2promotion(l2_promotion), CUtensorMapFloatOOBfill(fill),
    );
    encode_im2col_wide(
        map: *mut c_void,
        data_type: c_uint,
        rank: c_uint,
        address: *mut c_void,
        dimensions: *const u64,
        strides: *const u64,
        lower_corner: c_int,
        upper_corner: c_int,
        channels: c_uint,
        pixels: c_uint,
        element_strides: *const c_uint,
        interleave: c_uint,
        mode: c_uint,
        swizzle: c_uint,
        l2_promotion: c_uint,
        fill: c_uint,
    ) => cuTensorMapEncodeIm2colWide(
        map.cast(), CUtensorMapDataType(data_type), rank, address, dimensions, strides, lower_corner,
        upper_corner, channels, pixels, element_strides, CUtensorMapInterleave(interleave),
        CUtensorMapIm2ColWideMode(mode), CUtensorMapSwizzle(swizzle), CUtensorMapL2promotion(l2_promotion),
        CUtensorMapFloatOOBfill(fill),
    );
    replace_address(map: *mut c_void, address: *mut c_void)
        => cuTensorMapReplaceAddress(map.cast(), address);
}
