//! Modules and functions: code objects loaded on a device, and what a launch has to know about each kernel.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use code_object::CodeObject;
use hip_sys::{
    hipDeviceptr_t, hipError_t, hipFuncAttribute, hipFuncAttributes, hipFuncCache_t, hipFunction_attribute,
    hipFunction_t, hipJitOption, hipModule_t, hipSharedMemConfig,
};
use hsa_sys::*;

use crate::caller;
use crate::device::{Device, current_device};
use crate::error::{Result, check, entry};
use crate::image;
use crate::kernarg::Layout;
use crate::memory::memory;
use crate::memory::{Allocation, Origin};
use crate::print_buffer::{self, Formats};
use crate::registry::{Kind, Registry};
use crate::runtime::{Runtime, active};
use crate::stub;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// A loaded code object. Unloaded when the last function lets go of it and the device is idle.
pub(crate) struct Code {
    runtime: &'static Runtime,
    pub(crate) device: &'static Device,
    executable: hsa_executable_t,
    reader: Option<hsa_code_object_reader_t>,
    object: CodeObject,
    /// What its kernels print into buffers.
    pub(crate) formats: Formats,
    /// HSA reads it as long as the reader lives.
    _bytes: Box<[u8]>,
}

/// All modules by their handles.
pub(crate) fn modules(_started: &Runtime) -> &'static Registry<Module> {
    static MODULES: Registry<Module> = Registry::new(Kind::Module);
    &MODULES
}

/// The kernels of all modules by their handles.
pub(crate) fn functions(_started: &Runtime) -> &'static Registry<Function> {
    static FUNCTIONS: Registry<Function> = Registry::new(Kind::Function);
    &FUNCTIONS
}

/// A module of a program.
pub(crate) struct Module {
    code: Arc<Code>,
    functions: Mutex<HashMap<String, usize>>,
    globals: Mutex<Vec<usize>>,
}

/// A kernel of a module.
pub(crate) struct Function {
    /// As programs name it.
    pub(crate) name: CString,
    pub(crate) code: Arc<Code>,
    /// HSA's handle, for dispatch packets.
    pub(crate) object: u64,
    /// Static LDS of a workgroup, bytes.
    pub(crate) group_bytes: u32,
    /// Scratch of a work-item, bytes, as far as the compiler knew.
    private_bytes: u32,
    /// The kernel may need more: recursion, indirect calls, `alloca`.
    dynamic_stack: bool,
    pub(crate) layout: Layout,
    pub(crate) max_block: u32,
    pub(crate) required_block: Option<[u32; 3]>,
    /// All its workgroups have the same size.
    pub(crate) is_uniform: bool,
    pub(crate) wave_size: u32,
    pub(crate) vgprs: u32,
    pub(crate) sgprs: u32,
    /// Kernels may use pairs of compute units.
    pub(crate) wgp_mode: bool,
    /// What the program set as limit of dynamic LDS.
    max_dynamic_lds: AtomicU32,
}

impl Code {
    fn load(runtime: &'static Runtime, device: &'static Device, bytes: &[u8]) -> Result<Self> {
        let object = CodeObject::parse(bytes).map_err(|error| {
            tracing::error!(%error, "a code object was refused");
            hipError_t::hipErrorInvalidImage
        })?;
        if !object.target().runs_on(&device.info.target) {
            tracing::error!(code = %object.target(), device = %device.info.arch, "a code object is for another target");
            return Err(hipError_t::hipErrorNoBinaryForGpu);
        }
        let table = runtime.hsa.table;
        let other = hipError_t::hipErrorInvalidImage;
        let bytes: Box<[u8]> = bytes.into();
        let mut executable = hsa_executable_t { handle: 0 };
        // SAFETY: the out pointer is valid; no options.
        let status = unsafe {
            (table.hsa_executable_create_alt)(
                hsa_profile_t::HSA_PROFILE_FULL,
                hsa_default_float_rounding_mode_t::HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR,
                std::ptr::null(),
                &mut executable,
            )
        };
        check(status, hipError_t::hipErrorRuntimeOther)?;
        let formats = print_buffer::formats(&object);
        let mut code = Self { runtime, device, executable, reader: None, object, formats, _bytes: bytes };
        let mut reader = hsa_code_object_reader_t { handle: 0 };
        // SAFETY: the bytes live as long as the reader; handles come from the calls before.
        unsafe {
            let (start, length) = (code._bytes.as_ptr().cast::<c_void>(), code._bytes.len());
            check((table.hsa_code_object_reader_create_from_memory)(start, length, &mut reader), other)?;
            code.reader = Some(reader);
            check(
                (table.hsa_executable_load_agent_code_object)(
                    executable,
                    device.agent,
                    reader,
                    std::ptr::null(),
                    std::ptr::null_mut(),
                ),
                other,
            )?;
            check((table.hsa_executable_freeze)(executable, std::ptr::null()), other)?;
        }
        Ok(code)
    }

    fn symbol(&self, name: &str) -> Result<hsa_executable_symbol_t> {
        let name = CString::new(name).map_err(|_| hipError_t::hipErrorNotFound)?;
        let mut symbol = hsa_executable_symbol_t { handle: 0 };
        // SAFETY: the executable is live; name and out pointer are valid.
        let status = unsafe {
            (self.runtime.hsa.table.hsa_executable_get_symbol_by_name)(
                self.executable,
                name.as_ptr(),
                &self.device.agent,
                &mut symbol,
            )
        };
        check(status, hipError_t::hipErrorNotFound)?;
        Ok(symbol)
    }

    /// # Safety
    /// `T` is the attribute's type in the headers.
    unsafe fn symbol_info<T: Copy>(
        &self,
        symbol: hsa_executable_symbol_t,
        attribute: hsa_executable_symbol_info_t,
        zero: T,
    ) -> Result<T> {
        let mut value = zero;
        // SAFETY: as this function's contract.
        let status = unsafe {
            (self.runtime.hsa.table.hsa_executable_symbol_get_info)(
                symbol,
                attribute,
                (&raw mut value).cast(),
            )
        };
        check(status, hipError_t::hipErrorInvalidImage)?;
        Ok(value)
    }

    fn function(self: &Arc<Self>, name: &str) -> Result<Function> {
        type Info = hsa_executable_symbol_info_t;
        let kernel = self.object.kernel(name).ok_or(hipError_t::hipErrorNotFound)?;
        let symbol = self.symbol(&kernel.symbol)?;
        // SAFETY: the types are the headers' for these attributes.
        let (object, group_bytes, private_bytes) = unsafe {
            (
                self.symbol_info(symbol, Info::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, 0u64)?,
                self.symbol_info(symbol, Info::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, 0u32)?,
                self.symbol_info(symbol, Info::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, 0u32)?,
            )
        };
        Ok(Function {
            code: self.clone(),
            name: CString::new(name).map_err(|_| hipError_t::hipErrorNotFound)?,
            object,
            group_bytes: group_bytes.max(kernel.group_segment_size),
            private_bytes: private_bytes.max(kernel.private_segment_size),
            dynamic_stack: kernel.uses_dynamic_stack,
            layout: Layout::of(kernel),
            max_block: match kernel.max_flat_workgroup_size {
                0 => self.device.info.max_block,
                size => size,
            },
            required_block: kernel.required_workgroup_size,
            is_uniform: kernel.uniform_workgroup_size,
            wave_size: if kernel.wavefront_size == 32 { 32 } else { 64 },
            vgprs: kernel.vgpr_count,
            sgprs: kernel.sgpr_count,
            wgp_mode: self.device.info.gfx[0] >= 10 && kernel.descriptor.compute_pgm_rsrc1 & 1 << 29 != 0,
            max_dynamic_lds: AtomicU32::new(self.device.info.lds_bytes.saturating_sub(group_bytes)),
        })
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // Kernels of this code may still be running on any stream.
        self.device.quiesce_for_release(self.runtime);
        let table = self.runtime.hsa.table;
        // SAFETY: nothing runs the code any more, and this is the owner of both handles.
        unsafe {
            let destroyed = (table.hsa_executable_destroy)(self.executable);
            if destroyed != hsa_status_t::HSA_STATUS_SUCCESS {
                tracing::warn!(?destroyed, "an executable could not be destroyed");
            }
            if let Some(reader) = self.reader {
                let destroyed = (table.hsa_code_object_reader_destroy)(reader);
                if destroyed != hsa_status_t::HSA_STATUS_SUCCESS {
                    tracing::warn!(?destroyed, "a code object reader could not be destroyed");
                }
            }
        }
    }
}

impl Module {
    fn new(code: Code) -> Self {
        Self { code: Arc::new(code), functions: Mutex::default(), globals: Mutex::default() }
    }

    /// The handle of a kernel; the same name gives the same one.
    /// The names of all kernels, as programs use them.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.code.object.kernels().iter().map(|kernel| kernel.name.as_str())
    }

    /// Whether a handle of a function is one that this module has given.
    pub(crate) fn has_function(&self, handle: usize) -> bool {
        let functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        functions.values().any(|&known| known == handle)
    }

    pub(crate) fn function(&self, runtime: &Runtime, name: &str) -> Result<hipFunction_t> {
        let mut known = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&function) = known.get(name) {
            return Ok(function as hipFunction_t);
        }
        let function = Arc::new(self.code.function(name)?);
        let function = functions(runtime).insert(function).ok_or(hipError_t::hipErrorOutOfMemory)?;
        known.insert(name.to_owned(), function);
        Ok(function as hipFunction_t)
    }

    /// Address and size of a variable. From now on it counts as an allocation.
    pub(crate) fn variable(&self, runtime: &Runtime, name: &str) -> Result<(usize, usize)> {
        type Info = hsa_executable_symbol_info_t;
        let code = &self.code;
        let symbol = code.symbol(name)?;
        // SAFETY: the types are the headers' for these attributes.
        let (kind, start, size) = unsafe {
            (
                code.symbol_info(symbol, Info::HSA_EXECUTABLE_SYMBOL_INFO_TYPE, hsa_symbol_kind_t(u32::MAX))?,
                code.symbol_info(symbol, Info::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, 0u64),
                code.symbol_info(symbol, Info::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, 0u32),
            )
        };
        if kind != hsa_symbol_kind_t::HSA_SYMBOL_KIND_VARIABLE {
            return Err(hipError_t::hipErrorNotFound);
        }
        let (start, size) = (start? as usize, size? as usize);
        let mut globals = self.globals.lock().unwrap_or_else(PoisonError::into_inner);
        if size != 0 && !globals.contains(&start) {
            memory(runtime).insert(Allocation {
                base: start,
                size,
                origin: Origin::Global,
                device: code.device,
                device_base: start,
                flags: 0,
                pool: None,
                serial: 0,
                access: None,
            });
            globals.push(start);
        }
        Ok((start, size))
    }

    /// Ends the handles of its functions and the addresses of its variables.
    pub(crate) fn unload(&self, runtime: &Runtime) {
        for (_, function) in self.functions.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            functions(runtime).remove(function);
        }
        for address in self.globals.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            memory(runtime).remove(address, &[Origin::Global]);
        }
    }
}

impl Function {
    /// Work-items of a workgroup that are possible at most.
    pub(crate) fn block_limit(&self) -> u32 {
        self.max_block.min(self.code.device.info.max_block)
    }

    /// Scratch of a work-item in a launch, bytes. The stack of which the compiler does not know the size gets what
    /// `hipLimitStackSize` says, as with AMD's runtime, the known part included.
    pub(crate) fn scratch(&self) -> u32 {
        let stack = if self.dynamic_stack { self.code.device.limits.stack() } else { 0 };
        self.private_bytes.max(stack)
    }
}

/// The function that a program's handle names.
#[inline]
pub(crate) fn function(runtime: &Runtime, handle: hipFunction_t) -> Result<Arc<Function>> {
    functions(runtime).get(handle as usize).ok_or(INVALID_HANDLE)
}

fn module(runtime: &Runtime, handle: hipModule_t) -> Result<Arc<Module>> {
    modules(runtime).get(handle as usize).ok_or_else(|| no_module(handle))
}

/// What AMD's runtime says of handles that are no module's: none is another error than an unknown one.
fn no_module(handle: hipModule_t) -> hipError_t {
    if handle.is_null() { INVALID_HANDLE } else { hipError_t::hipErrorNotFound }
}

/// Loads the part of an image that is for a device.
///
/// # Safety
/// `image` is an image, complete as its headers describe it.
pub(crate) unsafe fn load(
    runtime: &'static Runtime,
    device: &'static Device,
    image: *const c_void,
) -> Result<Module> {
    // SAFETY: as this function's contract.
    let bytes = unsafe { image::at_address(image, &device.info.target) }?;
    Ok(Module::new(Code::load(runtime, device, &bytes)?))
}

/// # Safety
/// `out` is null or valid for writing; `image` is null or an image, complete as its headers describe it.
unsafe fn load_data(out: *mut hipModule_t, image: *const c_void) -> Result {
    let runtime = active()?;
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    // SAFETY: as this function's contract.
    *out = insert(runtime, unsafe { load(runtime, current_device(runtime)?, image) }?)?;
    Ok(())
}

fn insert(runtime: &'static Runtime, module: Module) -> Result<hipModule_t> {
    let handle = modules(runtime).insert(Arc::new(module)).ok_or(hipError_t::hipErrorOutOfMemory)?;
    Ok(handle as hipModule_t)
}

/// `hipModuleLoad`: a file with a code object or an offload bundle.
pub(crate) unsafe extern "C" fn hipModuleLoad(out: *mut hipModule_t, name: *const c_char) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        // SAFETY: the caller passes a NUL-terminated path.
        let path = unsafe { caller::text(name) }?;
        if path.is_empty() {
            return Err(INVALID_VALUE);
        }
        let path = std::path::Path::new(std::ffi::OsStr::new(path.to_str().map_err(|_| INVALID_VALUE)?));
        let device = current_device(runtime)?;
        let bytes = std::fs::read(path).map_err(|error| {
            tracing::error!(%error, path = %path.display(), "a module cannot be read");
            hipError_t::hipErrorFileNotFound
        })?;
        let bytes = image::in_bytes(&bytes, &device.info.target)?;
        *out = insert(runtime, Module::new(Code::load(runtime, device, &bytes)?))?;
        Ok(())
    })
}

/// `hipModuleLoadData`.
pub(crate) unsafe extern "C" fn hipModuleLoadData(out: *mut hipModule_t, image: *const c_void) -> hipError_t {
    // SAFETY: the caller passes a valid place and a complete image.
    entry(|| unsafe { load_data(out, image) })
}

/// `hipModuleLoadDataEx`: the options are for compilers of intermediate code and change nothing here.
pub(crate) unsafe extern "C" fn hipModuleLoadDataEx(
    out: *mut hipModule_t,
    image: *const c_void,
    _count: u32,
    _options: *mut hipJitOption,
    _values: *mut *mut c_void,
) -> hipError_t {
    // SAFETY: the caller passes a valid place and a complete image.
    entry(|| unsafe { load_data(out, image) })
}

/// `hipModuleLoadFatBinary`.
pub(crate) unsafe extern "C" fn hipModuleLoadFatBinary(
    out: *mut hipModule_t,
    image: *const c_void,
) -> hipError_t {
    // SAFETY: the caller passes a valid place and a complete image.
    entry(|| unsafe { load_data(out, image) })
}

/// `hipModuleUnload`: ends the handles of the module and its functions, and waits for the device.
pub(crate) unsafe extern "C" fn hipModuleUnload(handle: hipModule_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        modules(runtime).remove(handle as usize).ok_or_else(|| no_module(handle))?.unload(runtime);
        Ok(())
    })
}

/// # Safety
/// `name` is null or NUL-terminated.
pub(crate) unsafe fn text<'a>(name: *const c_char) -> Result<&'a str> {
    // SAFETY: as this function's contract.
    unsafe { caller::text(name) }?.to_str().map_err(|_| hipError_t::hipErrorNotFound)
}

/// As [`text`]; none is an error of its own, as with AMD's runtime.
///
/// # Safety
/// As [`text`].
unsafe fn some_text<'a>(name: *const c_char) -> Result<&'a str> {
    // SAFETY: as this function's contract.
    let name = unsafe { text(name) }?;
    if name.is_empty() { Err(INVALID_VALUE) } else { Ok(name) }
}

/// `hipModuleGetFunction`: the same name gives the same handle.
pub(crate) unsafe extern "C" fn hipModuleGetFunction(
    out: *mut hipFunction_t,
    handle: hipModule_t,
    name: *const c_char,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        let module = module(runtime, handle)?;
        // SAFETY: the caller passes null or a NUL-terminated name.
        let name = unsafe { some_text(name) }?;
        *out = module.function(runtime, name)?;
        Ok(())
    })
}

/// `hipModuleGetFunctionCount`.
pub(crate) unsafe extern "C" fn hipModuleGetFunctionCount(
    count: *mut u32,
    handle: hipModule_t,
) -> hipError_t {
    entry(|| {
        let module = module(active()?, handle)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(count) }? = module.code.object.kernels().len() as u32;
        Ok(())
    })
}

/// `hipModuleGetGlobal`: address and size of a variable; either may be null.
pub(crate) unsafe extern "C" fn hipModuleGetGlobal(
    address: *mut hipDeviceptr_t,
    bytes: *mut usize,
    handle: hipModule_t,
    name: *const c_char,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let module = module(runtime, handle)?;
        if address.is_null() && bytes.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or a NUL-terminated name.
        let name = unsafe { some_text(name) }?;
        let (start, size) = module.variable(runtime, name)?;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            caller::store_optional(address, start as hipDeviceptr_t)?;
            caller::store_optional(bytes, size)
        }
    })
}

/// `hipFuncGetAttribute`.
pub(crate) unsafe extern "C" fn hipFuncGetAttribute(
    value: *mut i32,
    attribute: hipFunction_attribute,
    handle: hipFunction_t,
) -> hipError_t {
    entry(|| {
        type A = hipFunction_attribute;
        let function = function(active()?, handle)?;
        // SAFETY: the caller passes null or a valid place.
        let value = unsafe { caller::place(value) }?;
        let found = match attribute {
            A::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => function.block_limit(),
            A::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => function.group_bytes,
            A::HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => 0,
            A::HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => function.scratch(),
            A::HIP_FUNC_ATTRIBUTE_NUM_REGS => function.vgprs,
            A::HIP_FUNC_ATTRIBUTE_PTX_VERSION | A::HIP_FUNC_ATTRIBUTE_BINARY_VERSION => {
                binary_version(&function)
            }
            A::HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA | A::HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => 0,
            A::HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                function.max_dynamic_lds.load(Ordering::Relaxed)
            }
            _ => return Err(INVALID_VALUE),
        };
        *value = i32::try_from(found).unwrap_or(i32::MAX);
        Ok(())
    })
}

/// Major and minor version of the processor as one number, as for compute capabilities.
fn binary_version(function: &Function) -> u32 {
    let [major, minor, _] = function.code.device.info.gfx;
    major * 10 + minor
}

/// `hipFuncGetAttributes`: takes a host stub's address or the handle of a function.
pub(crate) unsafe extern "C" fn hipFuncGetAttributes(
    out: *mut hipFuncAttributes,
    handle: *const c_void,
) -> hipError_t {
    entry(|| {
        let unknown = |code| if handle.is_null() { code } else { hipError_t::hipErrorInvalidSymbol };
        let function = by_pointer(handle).map_err(unknown)?;
        let int = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = hipFuncAttributes {
            binaryVersion: int(binary_version(&function)),
            cacheModeCA: 0,
            constSizeBytes: 0,
            localSizeBytes: function.scratch() as usize,
            maxDynamicSharedSizeBytes: int(function.max_dynamic_lds.load(Ordering::Relaxed)),
            maxThreadsPerBlock: int(function.block_limit()),
            numRegs: int(function.vgprs),
            preferredShmemCarveout: 0,
            ptxVersion: int(binary_version(&function)),
            sharedSizeBytes: function.group_bytes as usize,
        };
        Ok(())
    })
}

/// The function that a pointer means for the current device: a host stub's address or the handle of a function.
pub(crate) fn by_pointer(pointer: *const c_void) -> Result<Arc<Function>> {
    let runtime = active()?;
    function(runtime, stub::kernel(runtime, pointer, current_device(runtime)?)?)
}

/// `hipKernelNameRef`: null for what is no function.
pub(crate) unsafe extern "C" fn hipKernelNameRef(handle: hipFunction_t) -> *const c_char {
    let found = active().and_then(|runtime| function(runtime, handle));
    // The handle keeps the function, and that its name, until the module is unloaded.
    found.map_or(std::ptr::null(), |function| function.name.as_ptr())
}

/// `hipFuncSetAttribute`: the limit of dynamic LDS is checked; a carve-out is only advice.
pub(crate) unsafe extern "C" fn hipFuncSetAttribute(
    handle: *const c_void,
    attribute: hipFuncAttribute,
    value: i32,
) -> hipError_t {
    entry(|| {
        let function = by_pointer(handle)?;
        match attribute {
            hipFuncAttribute::hipFuncAttributeMaxDynamicSharedMemorySize => {
                let room = function.code.device.info.lds_bytes.saturating_sub(function.group_bytes);
                let value = u32::try_from(value).ok().filter(|&value| value <= room).ok_or(INVALID_VALUE)?;
                function.max_dynamic_lds.store(value, Ordering::Relaxed);
                Ok(())
            }
            hipFuncAttribute::hipFuncAttributePreferredSharedMemoryCarveout => {
                if (-1..=100).contains(&value) { Ok(()) } else { Err(INVALID_VALUE) }
            }
            // AMD's runtime takes any other that there can be, and does nothing.
            attribute if attribute.0 <= hipFuncAttribute::hipFuncAttributeMax.0 => Ok(()),
            _ => Err(INVALID_VALUE),
        }
    })
}

/// `hipFuncSetCacheConfig`: advice that AMD's devices have no use for.
pub(crate) unsafe extern "C" fn hipFuncSetCacheConfig(
    handle: *const c_void,
    config: hipFuncCache_t,
) -> hipError_t {
    entry(|| match config.0 > hipFuncCache_t::hipFuncCachePreferEqual.0 {
        true => Err(INVALID_VALUE),
        false => by_pointer(handle).map(drop),
    })
}

/// `hipFuncSetSharedMemConfig`: advice that AMD's devices have no use for.
pub(crate) unsafe extern "C" fn hipFuncSetSharedMemConfig(
    handle: *const c_void,
    config: hipSharedMemConfig,
) -> hipError_t {
    entry(|| match config.0 > hipSharedMemConfig::hipSharedMemBankSizeEightByte.0 {
        true => Err(INVALID_VALUE),
        false => by_pointer(handle).map(drop),
    })
}
