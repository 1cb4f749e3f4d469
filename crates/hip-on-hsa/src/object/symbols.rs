//! Kernels and variables that programs identify by a host address, as compiler-generated code does.
//!
//! Before `main`, each object file registers a fat binary and the host addresses of the kernels and variables
//! in it. That needs no runtime and loads nothing: a fat binary becomes a module of a device when something
//! in it is first used there.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use hip_sys::{hipError_t, hipFunction_t};

use crate::devices::device::{Device, current_device};
use crate::error::Result;
use crate::memory::copy::upload;
use crate::object::module::{Function, Module, function, functions, load};
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_SYMBOL: hipError_t = hipError_t::hipErrorInvalidSymbol;

/// The fat binary of one object file or program.
pub(crate) struct FatBinary {
    /// Address of the header that points to the image.
    header: usize,
    /// Its modules by the ordinal of their device.
    modules: Mutex<HashMap<i32, Arc<Module>>>,
    pub(crate) managed: Mutex<Vec<Managed>>,
}

/// A managed variable: device code finds its address in a pointer with the variable's name.
pub(crate) struct Managed {
    pub(crate) name: String,
    pub(crate) address: usize,
}

/// The object that a host address identifies.
pub(crate) struct Symbol {
    pub(crate) binary: Arc<FatBinary>,
    /// The name in device code.
    name: String,
    kind: Kind,
}

pub(crate) enum Kind {
    /// A kernel, with the handles of the function on devices, by ordinal.
    Kernel(Mutex<Vec<(i32, usize)>>),
    Variable,
    /// The variable's address, the same on every device and on the host, and its size.
    Managed(usize, usize),
}

#[derive(Default)]
pub(crate) struct Registered {
    pub(crate) binaries: HashMap<usize, Arc<FatBinary>>,
    pub(crate) symbols: HashMap<usize, Arc<Symbol>>,
    pub(crate) last: usize,
}

static REGISTERED: RwLock<Option<Registered>> = RwLock::new(None);

pub(crate) fn change<T>(how: impl FnOnce(&mut Registered) -> T) -> T {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    how(registered.get_or_insert_default())
}

pub(crate) fn symbol(address: *const c_void) -> Option<Arc<Symbol>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.as_ref()?.symbols.get(&(address as usize)).cloned()
}

impl Symbol {
    /// The name in device code.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl FatBinary {
    pub(crate) fn new(header: usize) -> Self {
        Self { header, modules: Mutex::default(), managed: Mutex::default() }
    }

    pub(crate) fn modules(&self) -> MutexGuard<'_, HashMap<i32, Arc<Module>>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The module on a device, loaded if necessary.
    fn module(&self, runtime: &'static Runtime, device: &'static Device) -> Result<Arc<Module>> {
        let mut modules = self.modules();
        if let Some(module) = modules.get(&device.ordinal) {
            return Ok(module.clone());
        }
        // SAFETY: who registered it said that a complete fat binary is there until it is unregistered.
        let module = Arc::new(unsafe { load(runtime, device, self.header as *const c_void) }?);
        for managed in self.managed.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let (pointer, size) = match module.variable(runtime, &managed.name) {
                // Device code that does not use the variable does not contain it.
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

/// The function on a device that a pointer refers to: a host stub's address, or the handle of a function.
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

/// The function that a pointer refers to on the current device: a host stub's address or the handle of a
/// function.
pub(crate) fn by_pointer(pointer: *const c_void) -> Result<Arc<Function>> {
    let runtime = active()?;
    function(runtime, kernel(runtime, pointer, current_device(runtime)?)?)
}

/// Address and size of the current device's variable for a host address.
pub(crate) fn variable(runtime: &'static Runtime, address: *const c_void) -> Result<(usize, usize)> {
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

/// Records the object of an address. An object without a known fat binary or name is left out, and its uses
/// fail.
///
/// # Safety
/// `name` is null or NUL-terminated.
pub(crate) unsafe fn register(
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

/// The address of a part of the current device's variable.
pub(crate) fn part(symbol: *const c_void, offset: usize, size: usize) -> Result<usize> {
    let (address, whole) = variable(active()?, symbol)?;
    match offset.checked_add(size) {
        Some(end) if end <= whole => Ok(address + offset),
        _ => Err(INVALID_VALUE),
    }
}
