//! Kernels and variables of compiled host code, which it names by host addresses.
//!
//! Host code registers its fat binaries before `main` and with them the addresses of its kernels' stubs and
//! of its variables. A fat binary is loaded on a device with the first use of anything in it there.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use code_object::bundle::{self, Extent};
use cuda_sys::{CUdevice_attribute, CUdeviceptr, CUfunc_st, CUfunction, CUmodule, CUresult, Table};

use crate::names;
use crate::runtime::{MOST, check, device};

/// The header of a fat binary, as clang writes it for HIP.
#[repr(C)]
struct Header {
    magic: u32,
    version: u32,
    image: *const u8,
    unused: *const c_void,
}

/// `HIPF`.
const MAGIC: u32 = 0x4849_5046;

/// A fat binary of host code.
pub(crate) struct Binary {
    /// Of its header.
    header: usize,
    /// The addresses of the loaded modules, by the ordinal of the device.
    modules: Mutex<HashMap<i32, usize>>,
}

/// A kernel or a variable.
struct Symbol {
    binary: Arc<Binary>,
    name: CString,
    /// The kernel's functions, by the ordinal of the device; null where it has not been looked up.
    functions: [AtomicPtr<CUfunc_st>; MOST],
}

#[derive(Default)]
struct Registered {
    binaries: HashMap<usize, Arc<Binary>>,
    symbols: HashMap<usize, Arc<Symbol>>,
    last: usize,
}

static REGISTERED: RwLock<Option<Registered>> = RwLock::new(None);

fn change<T>(with: impl FnOnce(&mut Registered) -> T) -> T {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    with(registered.get_or_insert_default())
}

/// Registers a fat binary by its header's address, and returns its number.
pub(crate) fn add(header: usize) -> usize {
    change(|registered| {
        registered.last += 1;
        let binary = Binary { header, modules: Mutex::default() };
        registered.binaries.insert(registered.last, Arc::new(binary));
        registered.last
    })
}

/// Registers a kernel or a variable of a fat binary by its host address. An unknown number is ignored.
pub(crate) fn add_symbol(number: usize, address: usize, name: &CStr) {
    change(|registered| {
        let Some(binary) = registered.binaries.get(&number).cloned() else { return };
        let functions = [const { AtomicPtr::new(null_mut()) }; MOST];
        let symbol = Symbol { binary, name: name.to_owned(), functions };
        registered.symbols.insert(address, Arc::new(symbol));
    });
}

/// Forgets a fat binary with all that belongs to it, and unloads it. An unknown number is ignored.
pub(crate) fn forget(cuda: Option<&'static Table>, number: usize) {
    let removed = change(|registered| {
        let binary = registered.binaries.remove(&number)?;
        registered.symbols.retain(|_, symbol| !Arc::ptr_eq(&symbol.binary, &binary));
        Some(binary)
    });
    let (Some(binary), Some(cuda)) = (removed, cuda) else { return };
    for (_, module) in binary.modules.lock().unwrap_or_else(PoisonError::into_inner).drain() {
        // SAFETY: the module was loaded here, and nothing finds it any more.
        let unloaded = unsafe { (cuda.cuModuleUnload)(std::ptr::with_exposed_provenance_mut(module)) };
        // At the end of the process the driver may be gone, and the module with it.
        if !matches!(unloaded, CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_DEINITIALIZED) {
            tracing::warn!(?unloaded, "a fat binary was not unloaded");
        }
    }
}

fn symbol(address: *const c_void) -> Option<Arc<Symbol>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.as_ref()?.symbols.get(&address.addr()).cloned()
}

/// The function of a kernel's stub on a device, whose context is current. None if nothing is registered at
/// this address.
pub(crate) fn function(
    cuda: &Table,
    ordinal: i32,
    stub: *const c_void,
) -> Option<Result<CUfunction, CUresult>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    let symbol = registered.as_ref()?.symbols.get(&stub.addr())?;
    let slot = usize::try_from(ordinal).ok().and_then(|at| symbol.functions.get(at))?;
    let known = slot.load(Ordering::Acquire);
    if !known.is_null() {
        return Some(Ok(known));
    }
    let symbol = Arc::clone(symbol);
    drop(registered);
    Some(symbol.look_up(cuda, ordinal))
}

/// The address and the size of a variable on a device, whose context is current.
pub(crate) fn variable(
    cuda: &Table,
    ordinal: i32,
    address: *const c_void,
) -> Result<(CUdeviceptr, usize), CUresult> {
    let symbol = symbol(address).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    let module = symbol.binary.module(cuda, ordinal)?;
    let (mut place, mut size) = (0, 0);
    for name in names::of_variable(&symbol.name) {
        // SAFETY: the module is loaded, the name ends in a NUL, and the results are places to write to.
        let found =
            unsafe { (cuda.cuModuleGetGlobal_v2)(&raw mut place, &raw mut size, module, name.as_ptr()) };
        if found != CUresult::CUDA_ERROR_NOT_FOUND {
            return check(found).map(|()| (place, size));
        }
    }
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

impl Symbol {
    /// Finds the kernel's function and keeps it.
    #[cold]
    fn look_up(&self, cuda: &Table, ordinal: i32) -> Result<CUfunction, CUresult> {
        let module = self.binary.module(cuda, ordinal)?;
        let function = function_of(cuda, module, &self.name)?;
        let slot = usize::try_from(ordinal).ok().and_then(|at| self.functions.get(at));
        slot.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)?.store(function, Ordering::Release);
        Ok(function)
    }
}

/// The function of a module with the name that clang gave the kernel, or the one that nvcc gives it.
fn function_of(cuda: &Table, module: CUmodule, name: &CStr) -> Result<CUfunction, CUresult> {
    let mut function = null_mut();
    for name in [Some(name.to_owned()), names::of_nvcc(name)].into_iter().flatten() {
        // SAFETY: the module is loaded, the name ends in a NUL, and the result is a place to write to.
        let found = unsafe { (cuda.cuModuleGetFunction)(&raw mut function, module, name.as_ptr()) };
        if found != CUresult::CUDA_ERROR_NOT_FOUND {
            return check(found).map(|()| function);
        }
    }
    // nvcc names some after the file, so that only a comparison finds them. It must leave no choice.
    let wanted = names::comparable(name);
    let mut count = 0;
    let mut alike = Vec::new();
    // SAFETY: the module is loaded, and the results are places to write to: as many functions as the driver
    // says there are.
    unsafe {
        check((cuda.cuModuleGetFunctionCount)(&raw mut count, module))?;
        let mut functions: Vec<CUfunction> = vec![null_mut(); count as usize];
        check((cuda.cuModuleEnumerateFunctions)(functions.as_mut_ptr(), count, module))?;
        for function in functions {
            let mut found = std::ptr::null();
            check((cuda.cuFuncGetName)(&raw mut found, function))?;
            if !found.is_null() && names::comparable(CStr::from_ptr(found)) == wanted {
                alike.push(function);
            }
        }
    }
    if let [function] = alike[..] {
        return Ok(function);
    }
    tracing::error!(?name, "the code for NVIDIA's GPUs has no such kernel");
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

impl Binary {
    /// The binary's code, loaded on a device, whose context is current.
    fn module(&self, cuda: &Table, ordinal: i32) -> Result<CUmodule, CUresult> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = modules.get(&ordinal) {
            return Ok(std::ptr::with_exposed_provenance_mut(*known));
        }
        let module = self.load(cuda, ordinal)?;
        modules.insert(ordinal, module.expose_provenance());
        Ok(module)
    }

    fn load(&self, cuda: &Table, ordinal: i32) -> Result<CUmodule, CUresult> {
        let arch = arch(cuda, ordinal)?;
        let refused = |error: code_object::Error| {
            tracing::error!(%error, "the kernels of host code cannot be loaded");
            match error {
                code_object::Error::NoCode { .. } => CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
                _ => CUresult::CUDA_ERROR_INVALID_IMAGE,
            }
        };
        // SAFETY: whoever registered the binary keeps its header and its image until it unregisters it.
        let bytes = unsafe { image(self.header) }.map_err(refused)?;
        let mut code = bundle::cuda_code_for(bytes, &arch).map_err(refused)?.into_owned();
        // PTX ends in a NUL.
        code.push(0);
        let mut module = null_mut();
        // SAFETY: the code is complete, and the result is a place to write to.
        let loaded = check(unsafe { (cuda.cuModuleLoadData)(&raw mut module, code.as_ptr().cast()) });
        loaded.inspect_err(|status| tracing::warn!(?status, arch, "kernels of host code were not loaded"))?;
        Ok(module)
    }
}

/// A device's architecture: `sm_90`.
fn arch(cuda: &Table, ordinal: i32) -> Result<String, CUresult> {
    let device = device(cuda, ordinal)?;
    let number = |attribute| {
        let mut value = 0;
        // SAFETY: the result is a place to write to.
        check(unsafe { (cuda.cuDeviceGetAttribute)(&raw mut value, attribute, device) }).map(|()| value)
    };
    let major = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(format!("sm_{major}{minor}"))
}

/// The image of a fat binary.
///
/// # Safety
/// There is a header at the address, and its image is complete.
unsafe fn image<'a>(header: usize) -> Result<&'a [u8], code_object::Error> {
    let header = std::ptr::with_exposed_provenance::<Header>(header);
    // SAFETY: the caller's promise; nothing is read beyond the end that the image's bytes tell.
    unsafe {
        let header = header.read_unaligned();
        if header.magic != MAGIC || header.image.is_null() {
            return Err(code_object::Error::Bundle { what: "a fat binary that is not HIP's".to_owned() });
        }
        let mut known = bundle::COMPRESSED_MAGIC.len();
        loop {
            match bundle::extent(std::slice::from_raw_parts(header.image, known))? {
                Extent::AtLeast(more) => known = more,
                Extent::Bytes(length) => return Ok(std::slice::from_raw_parts(header.image, length)),
            }
        }
    }
}
