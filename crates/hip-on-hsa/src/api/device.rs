//! Listing and naming devices, and each thread's current one.

use std::ffi::c_char;

use hip_sys::{hipError_t, hipUUID};

use crate::caller;
use crate::devices;
use crate::devices::device::{VERSION, current_device, device, set_current, suggest_current};
use crate::error::{Result, entry};
use crate::gpu::Pci;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
/// `0000:c3:00.0` with its NUL.
const PCI_ID_BYTES: i32 = 13;

/// # Safety
/// `out` is null or valid for writing.
unsafe fn set<T>(out: *mut T, value: T) -> Result {
    // SAFETY: as this function's contract.
    *unsafe { caller::place(out) }? = value;
    Ok(())
}

/// Copies a text into a caller's buffer, NUL-terminated and cut to its length.
///
/// # Safety
/// `out` is null or valid for `length` bytes.
unsafe fn set_text(out: *mut c_char, length: i32, text: &str) -> Result {
    let room =
        usize::try_from(length).ok().filter(|&room| room != 0 && !out.is_null()).ok_or(INVALID_VALUE)?;
    // SAFETY: as this function's contract.
    unsafe { caller::put_text(out, room, text) }
}

/// `hipInit`.
pub(crate) unsafe extern "C" fn hipInit(flags: u32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        devices::refresh(runtime)?;
        if devices::count(runtime) == 0 { Err(hipError_t::hipErrorNoDevice) } else { Ok(()) }
    })
}

/// `hipDriverGetVersion`.
pub(crate) unsafe extern "C" fn hipDriverGetVersion(version: *mut i32) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { set(version, VERSION) })
}

/// `hipRuntimeGetVersion`.
pub(crate) unsafe extern "C" fn hipRuntimeGetVersion(version: *mut i32) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { set(version, VERSION) })
}

/// `hipGetDeviceCount`: finds agents that have appeared since the last call.
pub(crate) unsafe extern "C" fn hipGetDeviceCount(count: *mut i32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        devices::refresh(runtime)?;
        let found = i32::try_from(devices::count(runtime)).map_err(|_| hipError_t::hipErrorUnknown)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(count, found)? };
        if found == 0 { Err(hipError_t::hipErrorNoDevice) } else { Ok(()) }
    })
}

/// `hipSetDevice`: the thread's current device.
pub(crate) unsafe extern "C" fn hipSetDevice(ordinal: i32) -> hipError_t {
    entry(|| {
        set_current(device(ordinal)?);
        Ok(())
    })
}

/// `hipSetValidDevices`: the first of the list becomes current for a thread that has not chosen a device. An
/// empty list has no effect.
pub(crate) unsafe extern "C" fn hipSetValidDevices(list: *mut i32, count: i32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if count == 0 {
            return Ok(());
        }
        devices::refresh(runtime)?;
        let count = usize::try_from(count).map_err(|_| hipError_t::hipErrorInvalidValue)?;
        if list.is_null() || count > devices::count(runtime) {
            return Err(hipError_t::hipErrorInvalidValue);
        }
        // SAFETY: the caller's list has as many entries.
        let list = unsafe { caller::list(list, count) }?;
        let devices =
            list.iter().map(|&ordinal| devices::get(runtime, ordinal)).collect::<Result<Vec<_>>>()?;
        suggest_current(devices[0]);
        Ok(())
    })
}

/// `hipGetDevice`.
pub(crate) unsafe extern "C" fn hipGetDevice(ordinal: *mut i32) -> hipError_t {
    entry(|| {
        let current = current_device(active()?)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(ordinal, current.ordinal) }
    })
}

/// `hipDeviceGet`: the handle of a device is its ordinal.
pub(crate) unsafe extern "C" fn hipDeviceGet(out: *mut i32, ordinal: i32) -> hipError_t {
    entry(|| {
        let device = device(ordinal)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(out, device.ordinal) }
    })
}

/// `hipDeviceGetName`.
pub(crate) unsafe extern "C" fn hipDeviceGetName(name: *mut c_char, length: i32, ordinal: i32) -> hipError_t {
    entry(|| {
        let device = device(ordinal)?;
        // SAFETY: the caller's buffer has `length` bytes.
        unsafe { set_text(name, length, &device.info.name) }
    })
}

/// `hipDeviceGetUuid`: the sixteen digits that follow `GPU-` in the UUID's text, as AMD's runtime returns
/// them.
pub(crate) unsafe extern "C" fn hipDeviceGetUuid(uuid: *mut hipUUID, ordinal: i32) -> hipError_t {
    entry(|| {
        let device = device(ordinal)?;
        let bytes = device.info.uuid.map(|byte| byte as c_char);
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(uuid, hipUUID { bytes }) }
    })
}

/// The extension `has_exact_bounds`.
pub(crate) unsafe extern "C" fn has_exact_bounds(ordinal: i32) -> bool {
    let found = std::panic::catch_unwind(|| device(ordinal).is_ok_and(|device| device.exact_bounds));
    found.unwrap_or(false)
}

/// `hipDeviceTotalMem`.
pub(crate) unsafe extern "C" fn hipDeviceTotalMem(bytes: *mut usize, ordinal: i32) -> hipError_t {
    entry(|| {
        let device = device(ordinal)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(bytes, device.info.memory_bytes as usize) }
    })
}

/// `hipDeviceComputeCapability`.
pub(crate) unsafe extern "C" fn hipDeviceComputeCapability(
    major: *mut i32,
    minor: *mut i32,
    ordinal: i32,
) -> hipError_t {
    entry(|| {
        let [first, second, _] = device(ordinal)?.info.gfx;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            set(major, first as i32)?;
            set(minor, second as i32)
        }
    })
}

/// `hipDeviceGetPCIBusId`: `domain:bus:device.function`, hexadecimal.
pub(crate) unsafe extern "C" fn hipDeviceGetPCIBusId(
    out: *mut c_char,
    length: i32,
    ordinal: i32,
) -> hipError_t {
    entry(|| {
        let Pci { domain, bus, device: slot, function } = device(ordinal)?.info.pci;
        // SAFETY: the caller's buffer has `length` bytes.
        unsafe { set_text(out, length, &format!("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}")) }?;
        // The truncated text is left in the buffer, as by AMD's library.
        if length < PCI_ID_BYTES { Err(INVALID_VALUE) } else { Ok(()) }
    })
}

/// `hipDeviceGetByPCIBusId`.
pub(crate) unsafe extern "C" fn hipDeviceGetByPCIBusId(ordinal: *mut i32, id: *const c_char) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes a NUL-terminated text.
        let text = unsafe { caller::text(id) }?.to_str().map_err(|_| INVALID_VALUE)?;
        let wanted = parse_pci(text).ok_or(INVALID_VALUE)?;
        devices::refresh(runtime)?;
        let found = devices::all(runtime).into_iter().find(|device| {
            let pci = device.info.pci;
            Pci { function: wanted.function, ..pci } == wanted
        });
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(ordinal, found.ok_or(INVALID_VALUE)?.ordinal) }
    })
}

/// Reads `domain:bus:device.function`; domain and function are optional.
fn parse_pci(text: &str) -> Option<Pci> {
    let (place, function) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = place.rsplit(':');
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let device = hex(parts.next()?)?;
    let bus = hex(parts.next()?)?;
    let domain = parts.next().map_or(Some(0), hex)?;
    if parts.next().is_some() {
        return None;
    }
    Some(Pci { domain, bus, device, function: hex(function)? })
}

/// `hipMemGetInfo`: of the current device.
pub(crate) unsafe extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (available, size) = current_device(runtime)?.memory_info(runtime);
        // SAFETY: the caller passes null or valid places.
        unsafe {
            caller::store_optional(free, available as usize)?;
            caller::store_optional(total, size as usize)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_ids_are_read_with_and_without_a_domain() {
        let pci = |domain, bus, device, function| Some(Pci { domain, bus, device, function });
        assert_eq!(parse_pci("0000:c3:00.0"), pci(0, 0xc3, 0, 0));
        assert_eq!(parse_pci("1a:1f.7"), pci(0, 0x1a, 0x1f, 7));
        assert_eq!(parse_pci("0001:02:03"), pci(1, 2, 3, 0));
        for bad in ["", "3", "x:y", "1:2:3:4", "0:0.z"] {
            assert_eq!(parse_pci(bad), None, "{bad}");
        }
    }
}
