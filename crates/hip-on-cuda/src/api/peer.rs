//! Devices that use each other's memory.

use std::ffi::{c_int, c_uint};

use cuda_sys::CUdevice_P2PAttribute as Attribute;
use hip_sys::{hipDeviceP2PAttr, hipError_t};

use crate::call::{failed, same, steps};
use crate::runtime::{check, context};

/// `hipDeviceEnablePeerAccess`: of the current device, to another one's memory.
pub(crate) unsafe extern "C" fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> hipError_t {
    steps(|cuda| {
        let peer = context(cuda, peer)?;
        // SAFETY: the context is a primary one.
        check(unsafe { (cuda.cuCtxEnablePeerAccess)(peer, flags) })
    })
}

/// `hipDeviceDisablePeerAccess`.
pub(crate) unsafe extern "C" fn hipDeviceDisablePeerAccess(peer: c_int) -> hipError_t {
    steps(|cuda| {
        let peer = context(cuda, peer)?;
        // SAFETY: the context is a primary one.
        check(unsafe { (cuda.cuCtxDisablePeerAccess)(peer) })
    })
}

/// `hipDeviceGetP2PAttribute`.
pub(crate) unsafe extern "C" fn hipDeviceGetP2PAttribute(
    value: *mut c_int,
    which: hipDeviceP2PAttr,
    from: c_int,
    to: c_int,
) -> hipError_t {
    use hipDeviceP2PAttr as Hip;
    let which = match which {
        Hip::hipDevP2PAttrPerformanceRank => Attribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
        Hip::hipDevP2PAttrAccessSupported => Attribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
        Hip::hipDevP2PAttrNativeAtomicSupported => Attribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
        Hip::hipDevP2PAttrHipArrayAccessSupported => {
            Attribute::CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED
        }
        _ => return failed(hipError_t::hipErrorInvalidValue),
    };
    // SAFETY: the caller passes a place.
    steps(|cuda| check(unsafe { (cuda.cuDeviceGetP2PAttribute)(value, which, from, to) }))
}

same! {
    hipDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) => cuDeviceCanAccessPeer(can, device, peer);
}
