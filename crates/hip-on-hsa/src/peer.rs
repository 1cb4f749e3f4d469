//! Access of devices to each other's memory.

use std::sync::PoisonError;

use hip_sys::{hipDevice_t, hipDeviceP2PAttr, hipError_t};

use crate::device::{by_ordinal, current_device};
use crate::error::entry;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipDeviceCanAccessPeer`.
pub(crate) unsafe extern "C" fn hipDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) -> hipError_t {
    entry(|| {
        let (device, peer) = (by_ordinal(device)?, by_ordinal(peer)?);
        let runtime = active()?;
        let able = !std::ptr::eq(device, peer) && runtime.hsa.can_access(device.agent, peer.pool);
        // SAFETY: the caller passes null or a valid place.
        *unsafe { can.as_mut() }.ok_or(INVALID_VALUE)? = i32::from(able);
        Ok(())
    })
}

/// `hipDeviceEnablePeerAccess`: the current device may access all memory of the peer, present and future.
pub(crate) unsafe extern "C" fn hipDeviceEnablePeerAccess(peer: i32, flags: u32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (device, peer) = (current_device(runtime)?, by_ordinal(peer)?);
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if std::ptr::eq(device, peer) {
            return Err(hipError_t::hipErrorInvalidDevice);
        }
        if !runtime.hsa.can_access(device.agent, peer.pool) {
            return Err(hipError_t::hipErrorPeerAccessUnsupported);
        }
        let mut peers = device.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.contains(&peer.ordinal) {
            return Err(hipError_t::hipErrorPeerAccessAlreadyEnabled);
        }
        peers.push(peer.ordinal);
        drop(peers);
        runtime.pools.access_changed();
        runtime.memory.share_device_memory(runtime, peer)
    })
}

/// `hipDeviceDisablePeerAccess`.
pub(crate) unsafe extern "C" fn hipDeviceDisablePeerAccess(peer: i32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (device, peer) = (current_device(runtime)?, by_ordinal(peer)?);
        device.quiesce(runtime);
        let mut peers = device.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = peers.iter().position(|&ordinal| ordinal == peer.ordinal) else {
            return Err(hipError_t::hipErrorPeerAccessNotEnabled);
        };
        peers.swap_remove(index);
        drop(peers);
        runtime.pools.access_changed();
        runtime.memory.share_device_memory(runtime, peer)
    })
}

/// `hipDeviceGetP2PAttribute`.
pub(crate) unsafe extern "C" fn hipDeviceGetP2PAttribute(
    value: *mut i32,
    which: hipDeviceP2PAttr,
    from: hipDevice_t,
    to: hipDevice_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (from, to) = (by_ordinal(from)?, by_ordinal(to)?);
        // SAFETY: the caller passes null or a valid place.
        let value = unsafe { value.as_mut() }.ok_or(INVALID_VALUE)?;
        if std::ptr::eq(from, to) {
            return Err(hipError_t::hipErrorInvalidDevice);
        }
        let access = runtime.hsa.can_access(from.agent, to.pool);
        *value = match which {
            hipDeviceP2PAttr::hipDevP2PAttrPerformanceRank => i32::from(!access),
            hipDeviceP2PAttr::hipDevP2PAttrAccessSupported
            | hipDeviceP2PAttr::hipDevP2PAttrNativeAtomicSupported => i32::from(access),
            hipDeviceP2PAttr::hipDevP2PAttrHipArrayAccessSupported => 0,
            _ => return Err(INVALID_VALUE),
        };
        Ok(())
    })
}
