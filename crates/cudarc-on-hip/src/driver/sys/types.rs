//! CUDA's handles and structures.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

use super::enums::{
    CUcigDataType, CUexecAffinityType, CUlaunchAttributeID, CUmemAllocationHandleType, CUmemAllocationType,
    CUmemLocationType,
};

/// Types whose values only the implementation inspects.
macro_rules! opaque {
    ($($handle:ident = $name:ident,)+) => {
        $(
            #[repr(C)]
            #[derive(Debug, Copy, Clone)]
            pub struct $name {
                _unused: [u8; 0],
            }
            pub type $handle = *mut $name;
        )+
    };
}

opaque! {
    CUarray = CUarray_st,
    CUcontext = CUctx_st,
    CUevent = CUevent_st,
    CUexternalMemory = CUextMemory_st,
    CUfunction = CUfunc_st,
    CUgraph = CUgraph_st,
    CUgraphExec = CUgraphExec_st,
    CUgraphNode = CUgraphNode_st,
    CUmemoryPool = CUmemPoolHandle_st,
    CUmodule = CUmod_st,
    CUstream = CUstream_st,
}

pub type cuuint32_t = u32;
pub type cuuint64_t = u64;
pub type CUdevice = CUdevice_v1;
pub type CUdevice_v1 = c_int;
pub type CUdeviceptr = CUdeviceptr_v2;
pub type CUdeviceptr_v2 = c_ulonglong;
pub type CUhostFn = Option<unsafe extern "C" fn(userData: *mut c_void)>;
pub type CUoccupancyB2DSize = Option<unsafe extern "C" fn(blockSize: c_int) -> usize>;
pub type CUstreamCallback =
    Option<unsafe extern "C" fn(hStream: CUstream, status: super::enums::CUresult, userData: *mut c_void)>;

pub const CU_IPC_HANDLE_SIZE: u32 = 64;
pub const CU_MEMHOSTALLOC_DEVICEMAP: u32 = 2;
pub const CU_MEMHOSTALLOC_PORTABLE: u32 = 1;
pub const CU_MEMHOSTALLOC_WRITECOMBINED: u32 = 4;
pub const CU_MEMHOSTREGISTER_DEVICEMAP: u32 = 2;
pub const CU_MEMHOSTREGISTER_IOMEMORY: u32 = 4;
pub const CU_MEMHOSTREGISTER_PORTABLE: u32 = 1;
pub const CU_MEMHOSTREGISTER_READ_ONLY: u32 = 8;

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct CUuuid_st {
    pub bytes: [c_char; 16],
}
pub type CUuuid = CUuuid_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct CUmemLocation_st {
    pub type_: CUmemLocationType,
    pub id: c_int,
}
pub type CUmemLocation = CUmemLocation_v1;
pub type CUmemLocation_v1 = CUmemLocation_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct CUmemPoolProps_st {
    pub allocType: CUmemAllocationType,
    pub handleTypes: CUmemAllocationHandleType,
    pub location: CUmemLocation,
    pub win32SecurityAttributes: *mut c_void,
    pub maxSize: usize,
    pub usage: u16,
    pub reserved: [c_uchar; 54],
}
pub type CUmemPoolProps = CUmemPoolProps_v1;
pub type CUmemPoolProps_v1 = CUmemPoolProps_st;

#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUipcMemHandle_st {
    pub reserved: [c_char; 64],
}
pub type CUipcMemHandle = CUipcMemHandle_v1;
pub type CUipcMemHandle_v1 = CUipcMemHandle_st;

#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUipcEventHandle_st {
    pub reserved: [c_char; 64],
}
pub type CUipcEventHandle = CUipcEventHandle_v1;
pub type CUipcEventHandle_v1 = CUipcEventHandle_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct CUexecAffinitySmCount_st {
    pub val: c_uint,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUexecAffinityParam_st__bindgen_ty_1 {
    pub smCount: CUexecAffinitySmCount_st,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUexecAffinityParam_st {
    pub type_: CUexecAffinityType,
    pub param: CUexecAffinityParam_st__bindgen_ty_1,
}
pub type CUexecAffinityParam = CUexecAffinityParam_v1;
pub type CUexecAffinityParam_v1 = CUexecAffinityParam_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct CUctxCigParam_st {
    pub sharedDataType: CUcigDataType,
    pub sharedData: *mut c_void,
}
pub type CUctxCigParam = CUctxCigParam_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct CUctxCreateParams_st {
    pub execAffinityParams: *mut CUexecAffinityParam,
    pub numExecAffinityParams: c_int,
    pub cigParams: *mut CUctxCigParam,
}
pub type CUctxCreateParams = CUctxCreateParams_st;

/// The value of a launch attribute, which no function here inspects.
#[repr(C)]
#[derive(Copy, Clone)]
pub union CUlaunchAttributeValue_union {
    pub pad: [c_char; 64],
}
pub type CUlaunchAttributeValue = CUlaunchAttributeValue_union;

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUlaunchAttribute_st {
    pub id: CUlaunchAttributeID,
    pub pad: [c_char; 4],
    pub value: CUlaunchAttributeValue,
}
pub type CUlaunchAttribute = CUlaunchAttribute_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct CUlaunchConfig_st {
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub hStream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: c_uint,
}
pub type CUlaunchConfig = CUlaunchConfig_st;
