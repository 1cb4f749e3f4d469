//! Functions of NVIDIA's driver that HIP has no counterparts of.

use std::ffi::{c_int, c_uint, c_void};

use crate::hipError_t;

/// What NVIDIA's driver does and HIP has no functions for. Numbers are those of CUDA's enumerations. A tensor
/// map is the 128 bytes of a `CUtensorMap`, at an address that is a multiple of 64.
#[derive(Debug, Clone, Copy)]
pub struct DriverCalls {
    /// `cuDeviceGetAttribute`: writes a device's value of a `CUdevice_attribute`. The device is HIP's
    /// ordinal.
    pub attribute: unsafe extern "C" fn(value: *mut c_int, attribute: c_uint, device: c_int) -> hipError_t,
    /// `cuTensorMapEncodeTiled`.
    pub encode_tiled: EncodeTiled,
    /// `cuTensorMapEncodeIm2col`.
    pub encode_im2col: EncodeIm2col,
    /// `cuTensorMapEncodeIm2colWide`, since CUDA 12.9.
    pub encode_im2col_wide: EncodeIm2colWide,
    /// `cuTensorMapReplaceAddress`.
    pub replace_address: unsafe extern "C" fn(map: *mut c_void, address: *mut c_void) -> hipError_t,
}

/// The arguments of `cuTensorMapEncodeTiled`.
pub type EncodeTiled = unsafe extern "C" fn(
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
) -> hipError_t;

/// The arguments of `cuTensorMapEncodeIm2col`.
pub type EncodeIm2col = unsafe extern "C" fn(
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
) -> hipError_t;

/// The arguments of `cuTensorMapEncodeIm2colWide`.
pub type EncodeIm2colWide = unsafe extern "C" fn(
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
) -> hipError_t;
