//! Kernels and variables that programs identify by a host address: registration, and the functions that take
//! such addresses.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use hip_sys::{HostCode, hipError_t, hipFunction_t, hipMemcpyKind, hipStream_t};

use crate::api::copy::{hipMemcpy, hipMemcpyAsync};
use crate::api::memory::{hipFree, hipMallocManaged};
use crate::caller;
use crate::devices::device::current_device;
use crate::devices::stream::resolve;
use crate::error::{Result, entry, succeed};
use crate::object::module::function;
use crate::object::symbols::{FatBinary, Kind, Managed, change, kernel, part, register, variable};
use crate::runtime::{active, runtime};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
/// Minimum alignment of HSA's allocations.
const PAGE: usize = 4096;

/// Registers a fat binary, and returns the handle for registering its kernels and variables; null if there is
/// no binary.
///
/// `__hipRegisterFatBinary`.
///
/// # Safety
/// `header` is null, or a fat binary's header that is valid, together with its image, until the handle is
/// unregistered.
pub(crate) unsafe fn register_fat_binary(header: *const c_void) -> *mut *mut c_void {
    if header.is_null() {
        return std::ptr::null_mut();
    }
    change(|registered| {
        registered.last += 1;
        registered.binaries.insert(registered.last, Arc::new(FatBinary::new(header as usize)));
        registered.last as *mut *mut c_void
    })
}

/// Unregisters a fat binary and everything registered with it: waits for the devices that have loaded it, and
/// unloads it. Ignores unknown handles.
///
/// `__hipUnregisterFatBinary`.
pub(crate) fn unregister_fat_binary(handle: *mut *mut c_void) {
    let removed = change(|registered| {
        let binary = registered.binaries.remove(&(handle as usize))?;
        registered.symbols.retain(|_, symbol| !Arc::ptr_eq(&symbol.binary, &binary));
        Some(binary)
    });
    let (Some(binary), Some(runtime)) = (removed, runtime()) else { return };
    for (_, module) in binary.modules().drain() {
        module.unload(runtime);
    }
    for managed in binary.managed.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // SAFETY: the memory was allocated for the variable, which is unloaded together with the code that
        // uses it.
        let freed = unsafe { hipFree(managed.address as *mut c_void) };
        if freed != hipError_t::hipSuccess {
            tracing::warn!(?freed, name = managed.name, "a managed variable was not freed");
        }
    }
}

/// Registers the kernel of a host address.
///
/// `__hipRegisterFunction`.
///
/// # Safety
/// `name` is null or NUL-terminated.
pub(crate) unsafe fn register_function(handle: *mut *mut c_void, stub: *const c_void, name: *const c_char) {
    // SAFETY: as this function's contract.
    unsafe { register(handle, stub, name, Kind::Kernel(Mutex::default())) };
}

/// Registers the variable of a host address.
///
/// `__hipRegisterVar`.
///
/// # Safety
/// `name` is null or NUL-terminated.
pub(crate) unsafe fn register_variable(
    handle: *mut *mut c_void,
    variable: *const c_void,
    name: *const c_char,
) {
    // SAFETY: as this function's contract.
    unsafe { register(handle, variable, name, Kind::Variable) };
}

/// Allocates a managed variable, sets its initial value and the host's pointer to it.
///
/// `__hipRegisterManagedVar`. Unlike the others it starts the devices, because the host may use the variable
/// at any time.
///
/// # Errors
/// The memory could not be allocated; the host's pointer is then null.
///
/// # Safety
/// `pointer` is valid for writing and `first` for reading `size` bytes; `name` is null or NUL-terminated.
pub(crate) unsafe fn register_managed_variable(
    handle: *mut *mut c_void,
    pointer: *mut *mut c_void,
    first: *const c_void,
    name: *const c_char,
    size: usize,
    align: usize,
) -> hipError_t {
    entry(|| {
        // Allocations begin at pages.
        if pointer.is_null() || (first.is_null() && size != 0) || align > PAGE {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller is responsible for the place, the first value and the name; the memory is as
        // large as the value.
        unsafe {
            pointer.write(std::ptr::null_mut());
            let mut memory = std::ptr::null_mut();
            succeed(hipMallocManaged(&mut memory, size.max(1), hip_sys::hipMemAttachGlobal))?;
            memory.cast::<u8>().copy_from_nonoverlapping(first.cast(), size);
            pointer.write(memory);
            let kind = Kind::Managed(memory as usize, size);
            if let Some(binary) = register(handle, pointer.cast(), name, kind) {
                let name = CStr::from_ptr(name).to_string_lossy().into_owned();
                let mut managed = binary.managed.lock().unwrap_or_else(PoisonError::into_inner);
                managed.push(Managed { name, address: memory as usize });
            }
        }
        Ok(())
    })
}

/// The registration functions, as called by compiled host code.
pub const HOST_CODE: HostCode = HostCode {
    register_fat_binary: __hipRegisterFatBinary,
    unregister_fat_binary: __hipUnregisterFatBinary,
    register_function: __hipRegisterFunction,
    register_variable: __hipRegisterVar,
    register_managed_variable: __hipRegisterManagedVar,
};

unsafe extern "C" fn __hipRegisterFatBinary(header: *const c_void) -> *mut *mut c_void {
    // SAFETY: the caller passes a header that stays until it unregisters it.
    unsafe { register_fat_binary(header) }
}

unsafe extern "C" fn __hipUnregisterFatBinary(binary: *mut *mut c_void) {
    unregister_fat_binary(binary);
}

unsafe extern "C" fn __hipRegisterFunction(
    binary: *mut *mut c_void,
    stub: *const c_void,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: c_uint,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut c_void,
    _grid_size: *mut c_void,
    _wave_size: *mut c_int,
) {
    // SAFETY: the caller passes a name that ends in a NUL.
    unsafe { register_function(binary, stub, name) };
}

unsafe extern "C" fn __hipRegisterVar(
    binary: *mut *mut c_void,
    variable: *mut c_void,
    _host_name: *mut c_char,
    name: *mut c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: the caller passes a name that ends in a NUL.
    unsafe { register_variable(binary, variable, name) };
}

unsafe extern "C" fn __hipRegisterManagedVar(
    binary: *mut c_void,
    pointer: *mut *mut c_void,
    first: *mut c_void,
    name: *const c_char,
    size: usize,
    align: c_uint,
) {
    let align = align as usize;
    // SAFETY: the caller passes its pointer, the first value and a name that ends in a NUL.
    let code = unsafe { register_managed_variable(binary.cast(), pointer, first, name, size, align) };
    if code != hipError_t::hipSuccess {
        tracing::error!(?code, "a managed variable could not be allocated");
    }
}

/// `hipGetFuncBySymbol`: the function of the current device.
pub(crate) unsafe extern "C" fn hipGetFuncBySymbol(
    out: *mut hipFunction_t,
    stub: *const c_void,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = kernel(runtime, stub, current_device(runtime)?)?;
        Ok(())
    })
}

/// `hipKernelNameRefByPtr`: null if the pointer is not a kernel of the stream's device.
pub(crate) unsafe extern "C" fn hipKernelNameRefByPtr(
    stub: *const c_void,
    stream: hipStream_t,
) -> *const c_char {
    let found = active().and_then(|runtime| {
        let handle = kernel(runtime, stub, resolve(runtime, stream)?.device)?;
        function(runtime, handle)
    });
    // The handle keeps the function and its name until the fat binary is unregistered.
    found.map_or(std::ptr::null(), |function| function.name.as_ptr())
}

/// `hipGetSymbolAddress`: on the current device.
pub(crate) unsafe extern "C" fn hipGetSymbolAddress(
    out: *mut *mut c_void,
    symbol: *const c_void,
) -> hipError_t {
    entry(|| {
        let (address, _) = variable(active()?, symbol)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = address as *mut c_void;
        Ok(())
    })
}

/// `hipGetSymbolSize`.
pub(crate) unsafe extern "C" fn hipGetSymbolSize(out: *mut usize, symbol: *const c_void) -> hipError_t {
    entry(|| {
        let (_, size) = variable(active()?, symbol)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = size;
        Ok(())
    })
}

/// Refuses impossible directions of a copy to or from a variable; also `hipMemcpyDefault`, as AMD's runtime
/// does.
fn check_direction(kind: hipMemcpyKind, other: hipMemcpyKind) -> Result {
    match kind == other || kind == hipMemcpyKind::hipMemcpyDeviceToDevice {
        true => Ok(()),
        false => Err(hipError_t::hipErrorInvalidMemcpyDirection),
    }
}

/// `hipMemcpyToSymbol`: to a variable of the current device.
pub(crate) unsafe extern "C" fn hipMemcpyToSymbol(
    symbol: *const c_void,
    src: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        check_direction(kind, hipMemcpyKind::hipMemcpyHostToDevice)?;
        let dst = part(symbol, offset, size)? as *mut c_void;
        // SAFETY: the part is the variable's; the caller is responsible for the source.
        succeed(unsafe { hipMemcpy(dst, src, size, kind) })
    })
}

/// `hipMemcpyFromSymbol`: from a variable of the current device.
pub(crate) unsafe extern "C" fn hipMemcpyFromSymbol(
    dst: *mut c_void,
    symbol: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        check_direction(kind, hipMemcpyKind::hipMemcpyDeviceToHost)?;
        let src = part(symbol, offset, size)? as *const c_void;
        // SAFETY: the part is the variable's; the caller is responsible for the destination.
        succeed(unsafe { hipMemcpy(dst, src, size, kind) })
    })
}

/// `hipMemcpyToSymbolAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyToSymbolAsync(
    symbol: *const c_void,
    src: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| {
        check_direction(kind, hipMemcpyKind::hipMemcpyHostToDevice)?;
        let dst = part(symbol, offset, size)? as *mut c_void;
        // SAFETY: the part is the variable's; the caller is responsible for the source.
        succeed(unsafe { hipMemcpyAsync(dst, src, size, kind, stream) })
    })
}

/// `hipMemcpyFromSymbolAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyFromSymbolAsync(
    dst: *mut c_void,
    symbol: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| {
        check_direction(kind, hipMemcpyKind::hipMemcpyDeviceToHost)?;
        let src = part(symbol, offset, size)? as *const c_void;
        // SAFETY: the part is the variable's; the caller is responsible for the destination.
        succeed(unsafe { hipMemcpyAsync(dst, src, size, kind, stream) })
    })
}
