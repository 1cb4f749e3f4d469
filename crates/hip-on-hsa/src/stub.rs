//! Kernels and variables that programs name by an address on the host, as the code that compilers write does.
//!
//! Before `main`, each object file hands over a fat binary and says which address of the host stands for which kernel or
//! variable in it. That needs no runtime, and nothing is loaded: a fat binary becomes a module of a device when something
//! in it is first asked for there.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use hip_sys::{hipError_t, hipFunction_t, hipMemcpyKind, hipStream_t};

use crate::caller;
use crate::copy::{hipMemcpy, hipMemcpyAsync, upload};
use crate::device::{Device, current_device};
use crate::error::{Result, entry, succeed};
use crate::memory::{hipFree, hipMallocManaged};
use crate::module::functions;
use crate::module::{Module, function, load};
use crate::runtime::{Runtime, active, runtime};
use crate::stream::resolve;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
/// What every allocation of HSA is aligned to at least.
const PAGE: usize = 4096;

const INVALID_SYMBOL: hipError_t = hipError_t::hipErrorInvalidSymbol;

/// What compilers pass for one object file or program.
struct FatBinary {
    /// Address of the header that leads to the image.
    header: usize,
    /// Its modules by the ordinal of their device.
    modules: Mutex<HashMap<i32, Arc<Module>>>,
    managed: Mutex<Vec<Managed>>,
}

/// A managed variable: device code finds its address in a pointer of the variable's name.
struct Managed {
    name: String,
    address: usize,
}

/// What an address on the host stands for.
struct Symbol {
    binary: Arc<FatBinary>,
    /// The name in device code.
    name: String,
    kind: Kind,
}

enum Kind {
    /// With the handles of the function on devices, by ordinal.
    Kernel(Mutex<Vec<(i32, usize)>>),
    Variable,
    /// The variable is at this address, on every device and on the host, and has so many bytes.
    Managed(usize, usize),
}

#[derive(Default)]
struct Registered {
    binaries: HashMap<usize, Arc<FatBinary>>,
    symbols: HashMap<usize, Arc<Symbol>>,
    last: usize,
}

static REGISTERED: RwLock<Option<Registered>> = RwLock::new(None);

fn change<T>(how: impl FnOnce(&mut Registered) -> T) -> T {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    how(registered.get_or_insert_default())
}

fn symbol(address: *const c_void) -> Option<Arc<Symbol>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.as_ref()?.symbols.get(&(address as usize)).cloned()
}

impl FatBinary {
    fn modules(&self) -> MutexGuard<'_, HashMap<i32, Arc<Module>>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The module on a device, loaded if it has not been.
    fn module(&self, runtime: &'static Runtime, device: &'static Device) -> Result<Arc<Module>> {
        let mut modules = self.modules();
        if let Some(module) = modules.get(&device.ordinal) {
            return Ok(module.clone());
        }
        // SAFETY: who registered it said that a complete fat binary is there until it is unregistered.
        let module = Arc::new(unsafe { load(runtime, device, self.header as *const c_void) }?);
        for managed in self.managed.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let (pointer, size) = match module.variable(runtime, &managed.name) {
                // Device code that does not use it does not have it.
                Err(hipError_t::hipErrorNotFound) => continue,
                found => found?,
            };
            if size != size_of::<usize>() {
                return Err(hipError_t::hipErrorInvalidImage);
            }
            upload(runtime, device, pointer, &managed.address.to_ne_bytes())?;
        }
        modules.insert(device.ordinal, module.clone());
        Ok(module)
    }
}

/// The function on a device that a pointer means: a host stub's address, or the handle of a function.
pub(crate) fn kernel(
    runtime: &'static Runtime,
    pointer: *const c_void,
    device: &'static Device,
) -> Result<hipFunction_t> {
    let Some(symbol) = symbol(pointer) else {
        return match functions(runtime).get(pointer as usize) {
            Some(_) => Ok(pointer.cast_mut().cast()),
            None => Err(hipError_t::hipErrorInvalidDeviceFunction),
        };
    };
    let Kind::Kernel(handles) = &symbol.kind else {
        return Err(hipError_t::hipErrorInvalidDeviceFunction);
    };
    let mut handles = handles.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, handle)) = handles.iter().find(|(ordinal, _)| *ordinal == device.ordinal) {
        return Ok(*handle as hipFunction_t);
    }
    let handle = symbol.binary.module(runtime, device)?.function(runtime, &symbol.name);
    let handle = handle.map_err(|code| match code {
        hipError_t::hipErrorNotFound => hipError_t::hipErrorInvalidDeviceFunction,
        other => other,
    })?;
    handles.push((device.ordinal, handle as usize));
    Ok(handle)
}

/// Address and size of the current device's variable that an address on the host stands for.
fn variable(runtime: &'static Runtime, address: *const c_void) -> Result<(usize, usize)> {
    let symbol = symbol(address).ok_or(INVALID_SYMBOL)?;
    match symbol.kind {
        Kind::Variable => {
            let module = symbol.binary.module(runtime, current_device(runtime)?)?;
            module.variable(runtime, &symbol.name).map_err(|code| match code {
                hipError_t::hipErrorNotFound => INVALID_SYMBOL,
                other => other,
            })
        }
        Kind::Managed(address, size) => Ok((address, size)),
        Kind::Kernel(_) => Err(INVALID_SYMBOL),
    }
}

/// Whether a managed variable is at an address.
pub(crate) fn is_managed(address: usize) -> bool {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.as_ref().is_some_and(|registered| {
        let mut symbols = registered.symbols.values();
        symbols.any(|symbol| matches!(symbol.kind, Kind::Managed(start, _) if start == address))
    })
}

/// Takes a fat binary, and returns the handle by which kernels and variables are registered with it; null if there is none.
///
/// `__hipRegisterFatBinary`.
///
/// # Safety
/// `header` is null, or a fat binary's header that is valid, as is what it leads to, until the handle is unregistered.
pub unsafe fn register_fat_binary(header: *const c_void) -> *mut *mut c_void {
    if header.is_null() {
        return std::ptr::null_mut();
    }
    change(|registered| {
        registered.last += 1;
        let binary =
            FatBinary { header: header as usize, modules: Mutex::default(), managed: Mutex::default() };
        registered.binaries.insert(registered.last, Arc::new(binary));
        registered.last as *mut *mut c_void
    })
}

/// Lets go of a fat binary and everything registered with it: waits for the devices that have loaded it, and unloads it.
/// An unknown handle is ignored.
///
/// `__hipUnregisterFatBinary`.
pub fn unregister_fat_binary(handle: *mut *mut c_void) {
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
        // SAFETY: the memory was allocated for the variable, which is gone with the code that names it.
        let freed = unsafe { hipFree(managed.address as *mut c_void) };
        if freed != hipError_t::hipSuccess {
            tracing::warn!(?freed, name = managed.name, "a managed variable was not freed");
        }
    }
}

/// Notes what an address stands for. What names no fat binary or has no name is left out, and its uses fail.
///
/// # Safety
/// `name` is null or NUL-terminated.
unsafe fn register(
    handle: *mut *mut c_void,
    address: *const c_void,
    name: *const c_char,
    kind: Kind,
) -> Option<Arc<FatBinary>> {
    if name.is_null() {
        return None;
    }
    // SAFETY: as this function's contract.
    let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?.to_owned();
    change(|registered| {
        let binary = registered.binaries.get(&(handle as usize))?.clone();
        let symbol = Symbol { binary: binary.clone(), name, kind };
        registered.symbols.insert(address as usize, Arc::new(symbol));
        Some(binary)
    })
}

/// Says which kernel an address on the host stands for.
///
/// `__hipRegisterFunction`.
///
/// # Safety
/// `name` is null or NUL-terminated.
pub unsafe fn register_function(handle: *mut *mut c_void, stub: *const c_void, name: *const c_char) {
    // SAFETY: as this function's contract.
    unsafe { register(handle, stub, name, Kind::Kernel(Mutex::default())) };
}

/// Says which variable an address on the host stands for.
///
/// `__hipRegisterVar`.
///
/// # Safety
/// `name` is null or NUL-terminated.
pub unsafe fn register_variable(handle: *mut *mut c_void, variable: *const c_void, name: *const c_char) {
    // SAFETY: as this function's contract.
    unsafe { register(handle, variable, name, Kind::Variable) };
}

/// Allocates a managed variable, gives it its first value and has the host's pointer point to it.
///
/// `__hipRegisterManagedVar`. Unlike the others it starts the devices, because the host may use the variable at any time.
///
/// # Errors
/// The memory cannot be had; the host's pointer is then null.
///
/// # Safety
/// `pointer` is valid for writing and `first` for reading `size` bytes; `name` is null or NUL-terminated.
pub unsafe fn register_managed_variable(
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
        // SAFETY: the caller vouches for the place, the first value and the name; the memory is as large as the value.
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

/// `hipKernelNameRefByPtr`: null for what is no kernel of the stream's device.
pub(crate) unsafe extern "C" fn hipKernelNameRefByPtr(
    stub: *const c_void,
    stream: hipStream_t,
) -> *const c_char {
    let found = active().and_then(|runtime| {
        let handle = kernel(runtime, stub, resolve(runtime, stream)?.device)?;
        function(runtime, handle)
    });
    // The handle keeps the function, and that its name, until the fat binary is unregistered.
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

/// Refuses directions that a copy to a variable, or from one, cannot have; also `hipMemcpyDefault`, as AMD's runtime does.
fn check_direction(kind: hipMemcpyKind, other: hipMemcpyKind) -> Result {
    match kind == other || kind == hipMemcpyKind::hipMemcpyDeviceToDevice {
        true => Ok(()),
        false => Err(hipError_t::hipErrorInvalidMemcpyDirection),
    }
}

/// The address of a part of the current device's variable.
pub(crate) fn part(symbol: *const c_void, offset: usize, size: usize) -> Result<usize> {
    let (address, whole) = variable(active()?, symbol)?;
    match offset.checked_add(size) {
        Some(end) if end <= whole => Ok(address + offset),
        _ => Err(INVALID_VALUE),
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
        // SAFETY: the part is the variable's; the caller vouches for the source.
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
        // SAFETY: the part is the variable's; the caller vouches for the destination.
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
        // SAFETY: the part is the variable's; the caller vouches for the source.
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
        // SAFETY: the part is the variable's; the caller vouches for the destination.
        succeed(unsafe { hipMemcpyAsync(dst, src, size, kind, stream) })
    })
}
