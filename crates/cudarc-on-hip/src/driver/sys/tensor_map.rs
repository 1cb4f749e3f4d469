//! Descriptions of tensors for NVIDIA's tensor memory accelerator, which no AMD GPU has. The types exist for
//! programs that name them; each function returns `CUDA_ERROR_NOT_SUPPORTED`, and the device attribute
//! `TENSOR_MAP_ACCESS_SUPPORTED` is 0.

use std::ffi::{c_int, c_void};

use super::{CUresult, cuuint32_t, cuuint64_t, functions};
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

functions! {
    fn cuTensorMapEncodeTiled(
        _tensorMap: *mut CUtensorMap,
        _tensorDataType: CUtensorMapDataType,
        _tensorRank: cuuint32_t,
        _globalAddress: *mut c_void,
        _globalDim: *const cuuint64_t,
        _globalStrides: *const cuuint64_t,
        _boxDim: *const cuuint32_t,
        _elementStrides: *const cuuint32_t,
        _interleave: CUtensorMapInterleave,
        _swizzle: CUtensorMapSwizzle,
        _l2Promotion: CUtensorMapL2promotion,
        _oobFill: CUtensorMapFloatOOBfill,
    ) {
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }

    fn cuTensorMapEncodeIm2col(
        _tensorMap: *mut CUtensorMap,
        _tensorDataType: CUtensorMapDataType,
        _tensorRank: cuuint32_t,
        _globalAddress: *mut c_void,
        _globalDim: *const cuuint64_t,
        _globalStrides: *const cuuint64_t,
        _pixelBoxLowerCorner: *const c_int,
        _pixelBoxUpperCorner: *const c_int,
        _channelsPerPixel: cuuint32_t,
        _pixelsPerColumn: cuuint32_t,
        _elementStrides: *const cuuint32_t,
        _interleave: CUtensorMapInterleave,
        _swizzle: CUtensorMapSwizzle,
        _l2Promotion: CUtensorMapL2promotion,
        _oobFill: CUtensorMapFloatOOBfill,
    ) {
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }

    fn cuTensorMapEncodeIm2colWide(
        _tensorMap: *mut CUtensorMap,
        _tensorDataType: CUtensorMapDataType,
        _tensorRank: cuuint32_t,
        _globalAddress: *mut c_void,
        _globalDim: *const cuuint64_t,
        _globalStrides: *const cuuint64_t,
        _pixelBoxLowerCornerWidth: c_int,
        _pixelBoxUpperCornerWidth: c_int,
        _channelsPerPixel: cuuint32_t,
        _pixelsPerColumn: cuuint32_t,
        _elementStrides: *const cuuint32_t,
        _interleave: CUtensorMapInterleave,
        _mode: CUtensorMapIm2ColWideMode,
        _swizzle: CUtensorMapSwizzle,
        _l2Promotion: CUtensorMapL2promotion,
        _oobFill: CUtensorMapFloatOOBfill,
    ) {
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }

    fn cuTensorMapReplaceAddress(_tensorMap: *mut CUtensorMap, _globalAddress: *mut c_void) {
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }
}
