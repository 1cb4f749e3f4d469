//! `librocm_smi64.so.7`: devices are numbers from 0.

use std::ffi::{CStr, c_char, c_void};

use crate::devices::{self, BUILD, Failure, VENDOR, VENDOR_ID, all, link, one, write, write_text};

/// `rsmi_status_t`.
type Status = u32;
const SUCCESS: Status = 0;

/// The meanings of the codes, from 0.
const STATUS_TEXTS: [&CStr; 23] = [
    c"RSMI_STATUS_SUCCESS: the call succeeded",
    c"RSMI_STATUS_INVALID_ARGS: an argument is not valid",
    c"RSMI_STATUS_NOT_SUPPORTED: a virtual GPU does not have this",
    c"RSMI_STATUS_FILE_ERROR: a file cannot be used",
    c"RSMI_STATUS_PERMISSION: permission denied",
    c"RSMI_STATUS_OUT_OF_RESOURCES: memory or another resource ran out",
    c"RSMI_STATUS_INTERNAL_EXCEPTION: an exception inside the library",
    c"RSMI_STATUS_INPUT_OUT_OF_BOUNDS: an argument is out of its range",
    c"RSMI_STATUS_INIT_ERROR: the library cannot start",
    c"RSMI_STATUS_NOT_YET_IMPLEMENTED: not implemented yet",
    c"RSMI_STATUS_NOT_FOUND: not found",
    c"RSMI_STATUS_INSUFFICIENT_SIZE: the buffer is too small",
    c"RSMI_STATUS_INTERRUPT: interrupted",
    c"RSMI_STATUS_UNEXPECTED_SIZE: an unexpected amount of data",
    c"RSMI_STATUS_NO_DATA: there is no data",
    c"RSMI_STATUS_UNEXPECTED_DATA: unexpected data",
    c"RSMI_STATUS_BUSY: busy",
    c"RSMI_STATUS_REFCOUNT_OVERFLOW: too many references",
    c"RSMI_STATUS_SETTING_UNAVAILABLE: the setting is not available",
    c"RSMI_STATUS_AMDGPU_RESTART_ERR: the driver cannot be restarted",
    c"RSMI_STATUS_DRM_ERROR: an error of the DRM library",
    c"RSMI_STATUS_FAIL_LOAD_MODULE: a library cannot be loaded",
    c"RSMI_STATUS_FAIL_LOAD_SYMBOL: a symbol is missing",
];

/// `rsmi_version_t`.
#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
    patch: u32,
    build: *const c_char,
}

fn status(done: Result<(), Failure>) -> Status {
    match done {
        Ok(()) => SUCCESS,
        Err(Failure::Argument) => 1,
        Err(Failure::Unsupported) => 2,
        Err(Failure::Start) => 8,
        Err(Failure::Size) => 11,
    }
}

#[unsafe(no_mangle)]
extern "C" fn rsmi_init(_flags: u64) -> Status {
    status(all().map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn rsmi_shut_down() -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_num_monitor_devices(count: *mut u32) -> Status {
    // SAFETY: the caller's pointer is null or valid.
    status(all().and_then(|all| unsafe { write(count, all.len() as u32) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_status_string(code: Status, text: *mut *const c_char) -> Status {
    let meaning = STATUS_TEXTS.get(code as usize).copied().unwrap_or(c"an unknown status");
    // SAFETY: the caller's pointer is null or valid.
    status(unsafe { write(text, meaning.as_ptr()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_version_get(version: *mut c_void) -> Status {
    let value = Version { major: 7, minor: 8, patch: 0, build: BUILD.as_ptr() };
    // SAFETY: the caller's pointer is null or valid.
    status(unsafe { write(version.cast(), value) })
}

/// The only component is the driver. There is none, so the text names its replacement.
#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_version_str_get(component: u32, text: *mut c_char, size: u32) -> Status {
    let version = concat!("ferrocm ", env!("CARGO_PKG_VERSION"));
    let known = if component == 0 { Ok(()) } else { Err(Failure::Argument) };
    // SAFETY: the caller's pointer is null or valid for `size` bytes.
    status(known.and_then(|()| unsafe { write_text(text, size as usize, version) }))
}

/// Functions that write one number of a device.
macro_rules! numbers {
    ($($name:ident: $type:ty = |$device:ident| $value:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(index: u32, value: *mut $type) -> Status {
                // SAFETY: the caller's pointer is null or valid.
                status(one(index as usize).and_then(|$device| unsafe { write(value, $value) }))
            }
        )*
    };
}

numbers! {
    rsmi_dev_pci_id_get: u64 = |device| u64::from(device.location);
    rsmi_dev_id_get: u16 = |device| device.target.processor.pci_id as u16;
    rsmi_dev_revision_get: u16 = |_device| 0;
    rsmi_dev_vendor_id_get: u16 = |_device| VENDOR_ID;
    rsmi_dev_unique_id_get: u64 = |device| device.unique;
    rsmi_dev_guid_get: u64 = |device| device.unique >> 32;
    rsmi_dev_node_id_get: u32 = |device| device.index as u32 + 1;
    rsmi_dev_partition_id_get: u32 = |_device| 0;
    rsmi_dev_target_graphics_version_get: u64 = |device| graphics_version(device.target.name);
    rsmi_topo_numa_affinity_get: i32 = |_device| 0;
    rsmi_topo_get_numa_node_number: u32 = |_device| 0;
}

/// The digits after `gfx`, which are hexadecimal.
fn graphics_version(name: &str) -> u64 {
    let digits = name.strip_prefix("gfx").unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or(u64::MAX)
}

/// Functions that write one text of a device, into a buffer whose size has this type.
macro_rules! texts {
    ($($name:ident($size:ty) = |$device:ident| $value:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(index: u32, text: *mut c_char, size: $size) -> Status {
                // SAFETY: the caller's pointer is null or valid for `size` bytes.
                status(one(index as usize).and_then(|$device| unsafe { write_text(text, size as usize, $value) }))
            }
        )*
    };
}

texts! {
    rsmi_dev_name_get(usize) = |device| &*device.target.product;
    rsmi_dev_market_name_get(u32) = |device| &*device.target.product;
    rsmi_dev_brand_get(u32) = |_device| VENDOR;
    rsmi_dev_vendor_name_get(usize) = |_device| VENDOR;
}

/// Video memory (0) and its host-visible part (1) are all of the device's memory. Host memory (2) is not
/// supported.
#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_dev_memory_total_get(index: u32, kind: u32, total: *mut u64) -> Status {
    let memory = one(index as usize).and_then(|device| match kind {
        0 | 1 => Ok(device.memory),
        2 => Err(Failure::Unsupported),
        _ => Err(Failure::Argument),
    });
    // SAFETY: the caller's pointer is null or valid.
    status(memory.and_then(|memory| unsafe { write(total, memory) }))
}

/// Every block has version 1, the version of the microcode in HSA.
#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_dev_firmware_version_get(index: u32, _block: u32, version: *mut u64) -> Status {
    // SAFETY: the caller's pointer is null or valid.
    status(one(index as usize).and_then(|_| unsafe { write(version, 1) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_topo_get_link_weight(from: u32, to: u32, weight: *mut u64) -> Status {
    // SAFETY: the caller's pointer is null or valid.
    status(link(from as usize, to as usize).and_then(|link| unsafe { write(weight, link.weight) }))
}

/// `RSMI_IOLINK_TYPE_PCIEXPRESS`, as HSA says.
#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_topo_get_link_type(from: u32, to: u32, hops: *mut u64, kind: *mut u32) -> Status {
    const PCI_EXPRESS: u32 = 1;
    status(link(from as usize, to as usize).and_then(|link| {
        // SAFETY: the caller's pointers are null or valid.
        unsafe { write(hops, link.hops).and_then(|()| write(kind, PCI_EXPRESS)) }
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_is_P2P_accessible(from: u32, to: u32, accessible: *mut bool) -> Status {
    let both = one(from as usize).and_then(|_| one(to as usize));
    // SAFETY: the caller's pointer is null or valid.
    status(both.and_then(|_| unsafe { write(accessible, true) }))
}

/// Reports no processes, because virtual GPUs belong to a single process.
#[unsafe(no_mangle)]
unsafe extern "C" fn rsmi_compute_process_info_get(_processes: *mut c_void, count: *mut u32) -> Status {
    devices::start();
    // SAFETY: the caller's pointer is null or valid.
    status(unsafe { write(count, 0) })
}
