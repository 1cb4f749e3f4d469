//! Access of devices to each other's memory.

use std::sync::{MutexGuard, PoisonError};

use hip_sys::{hipDevice_t, hipDeviceP2PAttr, hipError_t};
use hsa_sys::hsa_amd_link_info_type_t;

use crate::caller;
use crate::devices::device::{Device, by_ordinal, current_device};
use crate::error::{Result, entry};
use crate::memory::allocation::memory;
use crate::memory::pool::pools;
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipDeviceCanAccessPeer`.
pub(crate) unsafe extern "C" fn hipDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) -> hipError_t {
    entry(|| {
        let (device, peer) = (by_ordinal(device)?, by_ordinal(peer)?);
        let runtime = active()?;
        let able = !std::ptr::eq(device, peer) && runtime.hsa.can_access(device.agent, peer.pool);
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(can) }? = i32::from(able);
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
        let mut peers = peers_of(device);
        if peers.contains(&peer.ordinal) {
            return Err(hipError_t::hipErrorPeerAccessAlreadyEnabled);
        }
        peers.push(peer.ordinal);
        drop(peers);
        apply_or_undo(|| share(runtime, peer), || peers_of(device).retain(|&ordinal| ordinal != peer.ordinal))
    })
}

/// `hipDeviceDisablePeerAccess`.
pub(crate) unsafe extern "C" fn hipDeviceDisablePeerAccess(peer: i32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (device, peer) = (current_device(runtime)?, by_ordinal(peer)?);
        if std::ptr::eq(device, peer) {
            return Err(hipError_t::hipErrorInvalidDevice);
        }
        device.quiesce(runtime);
        let mut peers = peers_of(device);
        let Some(index) = peers.iter().position(|&ordinal| ordinal == peer.ordinal) else {
            return Err(hipError_t::hipErrorPeerAccessNotEnabled);
        };
        peers.swap_remove(index);
        drop(peers);
        apply_or_undo(|| share(runtime, peer), || peers_of(device).push(peer.ordinal))
    })
}

/// The devices whose memory a device may access.
fn peers_of(device: &Device) -> MutexGuard<'_, Vec<i32>> {
    device.peers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Applies access that was changed in a table. If HSA refuses some of it, the table and the changes that HSA
/// has accepted are reverted.
pub(crate) fn apply_or_undo(apply: impl Fn() -> Result, undo: impl FnOnce()) -> Result {
    let applied = apply();
    if applied.is_err() {
        undo();
        if let Err(code) = apply() {
            tracing::warn!(?code, "a change of access was refused, and could not be fully reverted");
        }
    }
    applied
}

/// Applies the current access to all memory of a device.
fn share(runtime: &Runtime, owner: &Device) -> Result {
    pools(runtime).access_changed();
    memory(runtime).share_device_memory(runtime, owner)
}

/// The path from a device to the memory of another one.
struct Link {
    /// HSA's number for the kind of the first hop.
    kind: u32,
    hops: u32,
    atomics: bool,
}

impl Link {
    /// HSA's answer, or `None` if the memory is inaccessible.
    fn between(runtime: &Runtime, from: &Device, to: &Device) -> Option<Self> {
        let links = runtime.hsa.links(from.agent, to.pool);
        let first = links.first()?;
        // HSA reports one hop between any two devices, and a distance, which grows by this much with each
        // hop.
        let of_one =
            if first.link_type == hsa_amd_link_info_type_t::HSA_AMD_LINK_INFO_TYPE_XGMI { 13 } else { 20 };
        Some(Self {
            kind: first.link_type.0,
            hops: links.iter().fold(0u32, |sum, link| sum.saturating_add(link.numa_distance)) / of_one,
            atomics: first.atomic_support_32bit || first.atomic_support_64bit,
        })
    }
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
        let value = unsafe { caller::place(value) }?;
        if std::ptr::eq(from, to) {
            return Err(hipError_t::hipErrorInvalidDevice);
        }
        let access = runtime.hsa.can_access(from.agent, to.pool);
        *value = match which {
            hipDeviceP2PAttr::hipDevP2PAttrPerformanceRank => i32::from(!access),
            hipDeviceP2PAttr::hipDevP2PAttrAccessSupported => i32::from(access),
            hipDeviceP2PAttr::hipDevP2PAttrNativeAtomicSupported => {
                i32::from(access && Link::between(runtime, from, to).is_some_and(|link| link.atomics))
            }
            hipDeviceP2PAttr::hipDevP2PAttrHipArrayAccessSupported => 0,
            _ => return Err(INVALID_VALUE),
        };
        Ok(())
    })
}

/// `hipExtGetLinkTypeAndHopCount`: the kind of link is HSA's `hsa_amd_link_info_type_t`.
pub(crate) unsafe extern "C" fn hipExtGetLinkTypeAndHopCount(
    from: i32,
    to: i32,
    kind: *mut u32,
    hops: *mut u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            caller::place(kind)?;
            caller::place(hops)?;
        }
        if from == to || from < 0 || to < 0 {
            return Err(INVALID_VALUE);
        }
        let (from, to) = (by_ordinal(from)?, by_ordinal(to)?);
        let link = Link::between(runtime, from, to).ok_or(hipError_t::hipErrorInvalidHandle)?;
        // SAFETY: as above; they may be the same.
        unsafe {
            *caller::place(kind)? = link.kind;
            *caller::place(hops)? = link.hops;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[test]
    fn access_that_is_refused_half_way_is_taken_back_and_can_be_given_later() {
        // Allocations as shared by HSA, from the table's list of peers; one of them refuses a second agent
        // for a while.
        let (table, shared) = (RefCell::new(vec![0]), RefCell::new([vec![0], vec![0], vec![0]]));
        let refuses = Cell::new(true);
        let apply = || {
            let mut done = Ok(());
            for (index, agents) in shared.borrow_mut().iter_mut().enumerate() {
                if index == 1 && refuses.get() && table.borrow().len() > 1 {
                    done = done.and(Err(hipError_t::hipErrorOutOfMemory));
                } else {
                    agents.clone_from(&table.borrow());
                }
            }
            done
        };
        let enable = || {
            table.borrow_mut().push(1);
            apply_or_undo(apply, || table.borrow_mut().retain(|&agent| agent != 1))
        };
        assert_eq!(enable(), Err(hipError_t::hipErrorOutOfMemory));
        assert_eq!(*table.borrow(), [0]);
        assert_eq!(*shared.borrow(), [[0], [0], [0]]);
        refuses.set(false);
        assert_eq!(enable(), Ok(()));
        assert_eq!(*shared.borrow(), [[0, 1], [0, 1], [0, 1]]);
    }
}
