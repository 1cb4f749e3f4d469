//! A device whose driver reads code itself, as NVIDIA's does: an `sm_90` that notes what it loads.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::LazyLock;

use hip_sys::*;

use super::OK;
use crate::device::Device;

thread_local! {
    static LOADED: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// What this thread has loaded since the last call: a text without its NUL, or the first eight bytes of a
/// cubin.
pub(crate) fn loaded() -> Vec<Vec<u8>> {
    LOADED.take()
}

/// The device.
pub(crate) fn device() -> Device {
    static TABLE: LazyLock<&'static Table> = LazyLock::new(|| {
        let mut builder = Builder::new("fake driver", "0");
        builder.hipInit(init).hipSetDevice(super::set_device).hipGetDevicePropertiesR0600(properties);
        builder.hipMemGetInfo(super::memory_info).hipModuleLoadData(load).hipModuleUnload(unload);
        let code = DriverCode { kernels, parameter, load_failure, overlaps, launch_overlapping };
        builder.extensions(Extensions { driver_code: Some(code), ..Extensions::NONE });
        // SAFETY: the functions do what the headers say, as far as tests of loading need.
        unsafe { builder.finish() }
    });
    // SAFETY: as above.
    unsafe { Device::of_table(&TABLE, 0) }.expect("the fake driver has a device")
}

unsafe extern "C" fn init(_flags: c_uint) -> hipError_t {
    OK
}

unsafe extern "C" fn properties(out: *mut hipDeviceProp_tR0600, ordinal: c_int) -> hipError_t {
    // SAFETY: the caller gives a place.
    let (status, out) = unsafe { (super::properties(out, ordinal), &mut *out) };
    for (place, byte) in out.gcnArchName.iter_mut().zip(*b"sm_90\0\0") {
        *place = byte as c_char;
    }
    status
}

unsafe extern "C" fn load(module: *mut hipModule_t, image: *const c_void) -> hipError_t {
    // SAFETY: the caller gives a cubin, which has more than eight bytes, or text that ends in a NUL; and a
    // place.
    let bytes = unsafe {
        *module = std::ptr::without_provenance_mut(1);
        match std::slice::from_raw_parts(image.cast::<u8>(), 4) {
            b"\x7fELF" => std::slice::from_raw_parts(image.cast::<u8>(), 8),
            _ => CStr::from_ptr(image.cast()).to_bytes(),
        }
    };
    LOADED.with_borrow_mut(|loaded| loaded.push(bytes.to_vec()));
    OK
}

unsafe extern "C" fn unload(_module: hipModule_t) -> hipError_t {
    OK
}

unsafe extern "C" fn kernels(_module: hipModule_t, _names: *mut c_char, _size: usize) -> usize {
    0
}

unsafe extern "C" fn parameter(
    _function: hipFunction_t,
    _index: usize,
    _offset: *mut usize,
    _size: *mut usize,
) -> hipError_t {
    hipError_t::hipErrorNotSupported
}

unsafe extern "C" fn load_failure(_text: *mut c_char, _size: usize) -> usize {
    0
}

unsafe extern "C" fn overlaps(_module: hipModule_t, _kernel: *const c_char) -> bool {
    false
}

unsafe extern "C" fn launch_overlapping(
    _function: hipFunction_t,
    _grid_x: c_uint,
    _grid_y: c_uint,
    _grid_z: c_uint,
    _block_x: c_uint,
    _block_y: c_uint,
    _block_z: c_uint,
    _lds: c_uint,
    _stream: hipStream_t,
    _arguments: *mut *mut c_void,
) -> hipError_t {
    hipError_t::hipErrorNotSupported
}
