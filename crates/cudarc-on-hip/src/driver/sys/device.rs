//! Devices.

use std::ffi::{c_char, c_int, c_uint};

use hip_sys::{hipDeviceP2PAttr, hipUUID};

use super::attributes::attribute_of;
use super::{CUdevice, CUdevice_P2PAttribute, CUdevice_attribute, CUmemoryPool, CUuuid, functions};
use crate::backend::{Outcome, backend, check, give, hip_call, trusts_stream_order};

/// Lanes of a warp: CUDA sources are compiled for 32 on every target.
const WARP_SIZE: c_int = 32;
/// The compute capability of AMD's GPUs: the one that CUDA sources are compiled for, where `__CUDA_ARCH__` is
/// 890. HIP's numbers are those of AMD's instruction sets, which CUDA programs would mistake for NVIDIA GPUs
/// with other features.
const CAPABILITY: (c_int, c_int) = (8, 9);

/// The compute capability of a device: an NVIDIA GPU has one of its own.
fn capability(dev: CUdevice) -> Outcome<(c_int, c_int)> {
    let backend = backend()?;
    let ordinal = backend.device(dev)?.ordinal() as c_int;
    if !backend.takes_cuda_code() {
        return Ok(CAPABILITY);
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the results are places to write to.
    unsafe {
        hip_call!(backend.table, hipDeviceComputeCapability(&raw mut major, &raw mut minor, ordinal))?;
    }
    Ok((major, minor))
}

functions! {
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) {
        backend()?.device(ordinal)?;
        give(device, ordinal)
    }

    fn cuDeviceGetCount(count: *mut c_int) {
        give(count, backend()?.devices.len() as c_int)
    }

    fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice) {
        let ordinal = backend()?.device(dev)?.ordinal() as c_int;
        hip_call!(backend()?.table, hipDeviceGetName(name, len, ordinal))
    }

    fn cuDeviceGetUuid(uuid: *mut CUuuid, dev: CUdevice) {
        let ordinal = backend()?.device(dev)?.ordinal() as c_int;
        let mut value = hipUUID { bytes: [0; 16] };
        hip_call!(backend()?.table, hipDeviceGetUuid(&raw mut value, ordinal))?;
        give(uuid, CUuuid { bytes: value.bytes })
    }

    fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, dev: CUdevice) {
        cuDeviceGetUuid(uuid, dev).result().map_err(|error| error.0)
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice) {
        let ordinal = backend()?.device(dev)?.ordinal() as c_int;
        hip_call!(backend()?.table, hipDeviceTotalMem(bytes, ordinal))
    }

    fn cuDeviceGetAttribute(pi: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice) {
        let device = backend()?.device(dev)?;
        match attrib {
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE => return give(pi, WARP_SIZE),
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => return give(pi, capability(dev)?.0),
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => return give(pi, capability(dev)?.1),
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED if !trusts_stream_order(device) => {
                return give(pi, 0);
            }
            _ => {}
        }
        // Attributes without a HIP counterpart are specific to NVIDIA's hardware.
        let Some(attribute) = attribute_of(attrib) else {
            return match backend()?.table.ext.driver_calls {
                Some(driver) => check((driver.attribute)(pi, attrib as c_uint, device.ordinal() as c_int)),
                None => give(pi, 0),
            };
        };
        hip_call!(backend()?.table, hipDeviceGetAttribute(pi, attribute, device.ordinal() as c_int))
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, dev: CUdevice) {
        let (real_major, real_minor) = capability(dev)?;
        give(major, real_major)?;
        give(minor, real_minor)
    }

    fn cuDeviceGetPCIBusId(pciBusId: *mut c_char, len: c_int, dev: CUdevice) {
        let ordinal = backend()?.device(dev)?.ordinal() as c_int;
        hip_call!(backend()?.table, hipDeviceGetPCIBusId(pciBusId, len, ordinal))
    }

    fn cuDeviceCanAccessPeer(canAccessPeer: *mut c_int, dev: CUdevice, peerDev: CUdevice) {
        let (device, peer) = (backend()?.device(dev)?.ordinal(), backend()?.device(peerDev)?.ordinal());
        hip_call!(backend()?.table, hipDeviceCanAccessPeer(canAccessPeer, device as c_int, peer as c_int))
    }

    fn cuDeviceGetP2PAttribute(
        value: *mut c_int,
        attrib: CUdevice_P2PAttribute,
        srcDevice: CUdevice,
        dstDevice: CUdevice,
    ) {
        let attribute = match attrib {
            CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK => {
                hipDeviceP2PAttr::hipDevP2PAttrPerformanceRank
            }
            CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED => {
                hipDeviceP2PAttr::hipDevP2PAttrAccessSupported
            }
            CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED => {
                hipDeviceP2PAttr::hipDevP2PAttrNativeAtomicSupported
            }
            CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_ACCESS_SUPPORTED => {
                hipDeviceP2PAttr::hipDevP2PAttrHipArrayAccessSupported
            }
            _ => return give(value, 0),
        };
        let (from, to) = (backend()?.device(srcDevice)?.ordinal(), backend()?.device(dstDevice)?.ordinal());
        let (from, to) = (from as c_int, to as c_int);
        hip_call!(backend()?.table, hipDeviceGetP2PAttribute(value, attribute, from, to))
    }

    fn cuDeviceGetDefaultMemPool(pool_out: *mut CUmemoryPool, dev: CUdevice) {
        let ordinal = backend()?.device(dev)?.ordinal() as c_int;
        hip_call!(backend()?.table, hipDeviceGetDefaultMemPool(pool_out.cast(), ordinal))
    }

    fn cuDeviceGetMemPool(pool: *mut CUmemoryPool, dev: CUdevice) {
        let ordinal = backend()?.device(dev)?.ordinal() as c_int;
        hip_call!(backend()?.table, hipDeviceGetMemPool(pool.cast(), ordinal))
    }

    fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool) {
        let ordinal = backend()?.device(dev)?.ordinal() as c_int;
        hip_call!(backend()?.table, hipDeviceSetMemPool(ordinal, pool.cast()))
    }
}
