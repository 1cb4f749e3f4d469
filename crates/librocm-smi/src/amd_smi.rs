//! `libamd_smi.so.26`: each device is a socket with one processor. Both handles are the device's number plus
//! one.

use std::ffi::{CStr, c_char, c_void};

use crate::devices::{BUILD, Failure, VENDOR, all, link, one, write, write_text};
use vgpu::Identity;

/// `amdsmi_status_t`.
type Status = u32;
/// `amdsmi_socket_handle`, `amdsmi_processor_handle`.
type Handle = *mut c_void;
const SUCCESS: Status = 0;

/// `amdsmi_version_t`.
#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
    release: u32,
    build: *const c_char,
}

fn status(done: Result<(), Failure>) -> Status {
    match done {
        Ok(()) => SUCCESS,
        Err(Failure::Argument) => 1,
        Err(Failure::Unsupported) => 2,
        Err(Failure::Start) => 18,
        Err(Failure::Size) => 41,
    }
}

fn handle(device: &Identity) -> Handle {
    std::ptr::without_provenance_mut(device.index + 1)
}

fn of(handle: Handle) -> Result<&'static Identity, Failure> {
    handle.addr().checked_sub(1).ok_or(Failure::Argument).and_then(one)
}

/// The device at a `amdsmi_bdf_t`, whose lowest 16 bits (bus, device and function) are the same as HSA's.
fn at(location: u64) -> Result<&'static Identity, Failure> {
    all()?.iter().find(|device| u64::from(device.location) == location).ok_or(Failure::Argument)
}

#[unsafe(no_mangle)]
extern "C" fn amdsmi_init(_flags: u64) -> Status {
    status(all().map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn amdsmi_shut_down() -> Status {
    SUCCESS
}

/// Writes the number of handles and, if there is an array, as many handles as fit.
///
/// # Safety
/// The pointers are null or valid, the second for as many handles as the first says.
unsafe fn list(devices: &[Identity], count: *mut u32, handles: *mut Handle) -> Result<(), Failure> {
    if count.is_null() {
        return Err(Failure::Argument);
    }
    if handles.is_null() {
        // SAFETY: required by this function's contract.
        return unsafe { write(count, devices.len() as u32) };
    }
    // SAFETY: required by this function's contract.
    let room = unsafe { count.read_unaligned() } as usize;
    let fitting = &devices[..devices.len().min(room)];
    for (index, device) in fitting.iter().enumerate() {
        // SAFETY: required by this function's contract; there is room.
        unsafe { write(handles.add(index), handle(device))? };
    }
    // SAFETY: required by this function's contract.
    unsafe { write(count, fitting.len() as u32) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_get_socket_handles(count: *mut u32, handles: *mut Handle) -> Status {
    // SAFETY: the caller's pointers are null or valid.
    status(all().and_then(|all| unsafe { list(all, count, handles) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_get_processor_handles(
    socket: Handle,
    count: *mut u32,
    handles: *mut Handle,
) -> Status {
    // SAFETY: the caller's pointers are null or valid.
    status(of(socket).and_then(|device| unsafe { list(std::slice::from_ref(device), count, handles) }))
}

/// The socket's name is its place on the PCI bus.
#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_get_socket_info(socket: Handle, size: usize, name: *mut c_char) -> Status {
    status(of(socket).and_then(|device| {
        let text = format!("0000:{:02x}:00", device.location >> 8);
        // SAFETY: the caller's pointer is null or valid for `size` bytes.
        unsafe { write_text(name, size, &text) }
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_get_processor_handle_from_bdf(location: u64, processor: *mut Handle) -> Status {
    // SAFETY: the caller's pointer is null or valid.
    status(at(location).and_then(|device| unsafe { write(processor, handle(device)) }))
}

/// Functions that write one number of a device.
macro_rules! numbers {
    ($($name:ident: $type:ty = |$device:ident| $value:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(processor: Handle, value: *mut $type) -> Status {
                // SAFETY: the caller's pointer is null or valid.
                status(of(processor).and_then(|$device| unsafe { write(value, $value) }))
            }
        )*
    };
}

/// `AMDSMI_PROCESSOR_TYPE_AMD_GPU`.
const GPU: u32 = 1;

numbers! {
    amdsmi_get_processor_type: u32 = |_device| GPU;
    amdsmi_get_gpu_device_bdf: u64 = |device| u64::from(device.location);
    amdsmi_get_gpu_bdf_id: u64 = |device| u64::from(device.location);
    amdsmi_get_gpu_id: u16 = |device| device.target.processor.pci_id as u16;
    amdsmi_get_gpu_revision: u16 = |_device| 0;
    amdsmi_get_gpu_topo_numa_affinity: i32 = |_device| 0;
    amdsmi_topo_get_numa_node_number: u32 = |_device| 0;
}

/// The unique number as a UUID: the first eight digits in the first group, the rest in the last.
#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_get_gpu_device_uuid(
    processor: Handle,
    size: *mut u32,
    text: *mut c_char,
) -> Status {
    status(of(processor).and_then(|device| {
        if size.is_null() {
            return Err(Failure::Argument);
        }
        let (chip, unique) = (device.target.processor.pci_id & 0xffff, device.unique);
        let uuid = format!(
            "{:02x}ff{chip:04x}-0000-1000-80{:02x}-{:012x}",
            unique >> 56,
            unique >> 48 & 0xff,
            unique & 0xffff_ffff_ffff
        );
        // SAFETY: the caller's pointers are valid, the second for as many bytes as the first says.
        unsafe {
            write_text(text, size.read_unaligned() as usize, &uuid)
                .and_then(|()| write(size, uuid.len() as u32 + 1))
        }
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_get_gpu_vendor_name(processor: Handle, text: *mut c_char, size: usize) -> Status {
    // SAFETY: the caller's pointer is null or valid for `size` bytes.
    status(of(processor).and_then(|_| unsafe { write_text(text, size, VENDOR) }))
}

/// Video memory (0) and its host-visible part (1) are all of the device's memory. Host memory (2) is not
/// supported.
#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_get_gpu_memory_total(processor: Handle, kind: u32, total: *mut u64) -> Status {
    let memory = of(processor).and_then(|device| match kind {
        0 | 1 => Ok(device.memory),
        2 => Err(Failure::Unsupported),
        _ => Err(Failure::Argument),
    });
    // SAFETY: the caller's pointer is null or valid.
    status(memory.and_then(|memory| unsafe { write(total, memory) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_get_lib_version(version: *mut c_void) -> Status {
    let value = Version { major: 26, minor: 0, release: 0, build: BUILD.as_ptr() };
    // SAFETY: the caller's pointer is null or valid.
    status(unsafe { write(version.cast(), value) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_status_code_to_string(code: Status, text: *mut *const c_char) -> Status {
    let meaning: &CStr = match code {
        0 => c"AMDSMI_STATUS_SUCCESS: the call succeeded",
        1 => c"AMDSMI_STATUS_INVAL: an argument is not valid",
        2 => c"AMDSMI_STATUS_NOT_SUPPORTED: a virtual GPU does not have this",
        18 => c"AMDSMI_STATUS_INIT_ERROR: the library cannot start",
        41 => c"AMDSMI_STATUS_INSUFFICIENT_SIZE: the buffer is too small",
        _ => c"a status that this library does not return",
    };
    // SAFETY: the caller's pointer is null or valid.
    status(unsafe { write(text, meaning.as_ptr()) })
}

fn linked(from: Handle, to: Handle) -> Result<crate::devices::Link, Failure> {
    link(of(from)?.index, of(to)?.index)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_topo_get_link_weight(from: Handle, to: Handle, weight: *mut u64) -> Status {
    // SAFETY: the caller's pointer is null or valid.
    status(linked(from, to).and_then(|link| unsafe { write(weight, link.weight) }))
}

/// `AMDSMI_LINK_TYPE_PCIE`, as HSA says.
#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_topo_get_link_type(
    from: Handle,
    to: Handle,
    hops: *mut u64,
    kind: *mut u32,
) -> Status {
    const PCIE: u32 = 1;
    status(linked(from, to).and_then(|link| {
        // SAFETY: the caller's pointers are null or valid.
        unsafe { write(hops, link.hops).and_then(|()| write(kind, PCIE)) }
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdsmi_is_P2P_accessible(from: Handle, to: Handle, accessible: *mut bool) -> Status {
    let both = of(from).and_then(|_| of(to));
    // SAFETY: the caller's pointer is null or valid.
    status(both.and_then(|_| unsafe { write(accessible, true) }))
}
