//! Descriptions of tensors for the tensor memory accelerator of NVIDIA's GPUs, which the driver writes. No
//! AMD GPU has one: there, each function returns `CUDA_ERROR_NOT_SUPPORTED`, and the device attribute
//! `TENSOR_MAP_ACCESS_SUPPORTED` is 0.

use std::ffi::{c_int, c_void};

use hip_sys::DriverCalls;

use super::{CUresult, cuuint32_t, cuuint64_t, functions};
use crate::backend::{Outcome, backend, check};
use crate::codes::codes;

pub const CU_TENSOR_MAP_NUM_QWORDS: u32 = 16;

#[repr(C, align(64))]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct CUtensorMap_st {
    pub opaque: [cuuint64_t; CU_TENSOR_MAP_NUM_QWORDS as usize],
}
pub type CUtensorMap = CUtensorMap_st;

codes! {
    u32 CUtensorMapDataType_enum = CUtensorMapDataType;
    CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
    CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
    CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
    CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
    CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
    CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ = 10,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ = 12,
    CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B = 13,
    CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B = 14,
    CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B = 15,
}

codes! {
    u32 CUtensorMapFloatOOBfill_enum = CUtensorMapFloatOOBfill;
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA = 1,
}

codes! {
    u32 CUtensorMapIm2ColWideMode_enum = CUtensorMapIm2ColWideMode;
    CU_TENSOR_MAP_IM2COL_WIDE_MODE_W = 0,
    CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 = 1,
}

codes! {
    u32 CUtensorMapInterleave_enum = CUtensorMapInterleave;
    CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
    CU_TENSOR_MAP_INTERLEAVE_16B = 1,
    CU_TENSOR_MAP_INTERLEAVE_32B = 2,
}

codes! {
    u32 CUtensorMapL2promotion_enum = CUtensorMapL2promotion;
    CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
    CU_TENSOR_MAP_L2_PROMOTION_L2_64B = 1,
    CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
    CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
}

codes! {
    u32 CUtensorMapSwizzle_enum = CUtensorMapSwizzle;
    CU_TENSOR_MAP_SWIZZLE_NONE = 0,
    CU_TENSOR_MAP_SWIZZLE_32B = 1,
    CU_TENSOR_MAP_SWIZZLE_64B = 2,
    CU_TENSOR_MAP_SWIZZLE_128B = 3,
    CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B = 4,
    CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B = 5,
    CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B = 6,
}

/// What writes them.
fn driver() -> Outcome<DriverCalls> {
    backend()?.table.ext.driver_calls.ok_or(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

functions! {
    fn cuTensorMapEncodeTiled(
        tensorMap: *mut CUtensorMap,
        tensorDataType: CUtensorMapDataType,
        tensorRank: cuuint32_t,
        globalAddress: *mut c_void,
        globalDim: *const cuuint64_t,
        globalStrides: *const cuuint64_t,
        boxDim: *const cuuint32_t,
        elementStrides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        l2Promotion: CUtensorMapL2promotion,
        oobFill: CUtensorMapFloatOOBfill,
    ) {
        check((driver()?.encode_tiled)(
            tensorMap.cast(), tensorDataType as u32, tensorRank, globalAddress, globalDim, globalStrides,
            boxDim, elementStrides, interleave as u32, swizzle as u32, l2Promotion as u32, oobFill as u32,
        ))
    }

    fn cuTensorMapEncodeIm2col(
        tensorMap: *mut CUtensorMap,
        tensorDataType: CUtensorMapDataType,
        tensorRank: cuuint32_t,
        globalAddress: *mut c_void,
        globalDim: *const cuuint64_t,
        globalStrides: *const cuuint64_t,
        pixelBoxLowerCorner: *const c_int,
        pixelBoxUpperCorner: *const c_int,
        channelsPerPixel: cuuint32_t,
        pixelsPerColumn: cuuint32_t,
        elementStrides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        l2Promotion: CUtensorMapL2promotion,
        oobFill: CUtensorMapFloatOOBfill,
    ) {
        check((driver()?.encode_im2col)(
            tensorMap.cast(), tensorDataType as u32, tensorRank, globalAddress, globalDim, globalStrides,
            pixelBoxLowerCorner, pixelBoxUpperCorner, channelsPerPixel, pixelsPerColumn, elementStrides,
            interleave as u32, swizzle as u32, l2Promotion as u32, oobFill as u32,
        ))
    }

    fn cuTensorMapEncodeIm2colWide(
        tensorMap: *mut CUtensorMap,
        tensorDataType: CUtensorMapDataType,
        tensorRank: cuuint32_t,
        globalAddress: *mut c_void,
        globalDim: *const cuuint64_t,
        globalStrides: *const cuuint64_t,
        pixelBoxLowerCornerWidth: c_int,
        pixelBoxUpperCornerWidth: c_int,
        channelsPerPixel: cuuint32_t,
        pixelsPerColumn: cuuint32_t,
        elementStrides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        mode: CUtensorMapIm2ColWideMode,
        swizzle: CUtensorMapSwizzle,
        l2Promotion: CUtensorMapL2promotion,
        oobFill: CUtensorMapFloatOOBfill,
    ) {
        check((driver()?.encode_im2col_wide)(
            tensorMap.cast(), tensorDataType as u32, tensorRank, globalAddress, globalDim, globalStrides,
            pixelBoxLowerCornerWidth, pixelBoxUpperCornerWidth, channelsPerPixel, pixelsPerColumn,
            elementStrides, interleave as u32, mode as u32, swizzle as u32, l2Promotion as u32, oobFill as u32,
        ))
    }

    fn cuTensorMapReplaceAddress(tensorMap: *mut CUtensorMap, globalAddress: *mut c_void) {
        check((driver()?.replace_address)(tensorMap.cast(), globalAddress))
    }
}
