//! Modules and functions: code objects loaded on a device, and the data about each kernel that a launch
//! needs.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

use code_object::CodeObject;
use hip_sys::{hipError_t, hipFunction_t};
use hsa_sys::*;

use crate::devices::device::Device;
use crate::error::{Result, check};
use crate::memory::allocation::{Allocation, Origin, memory};
use crate::object::image;
use crate::queue::arguments::Layout;
use crate::queue::print_buffer;
use crate::queue::print_buffer::Formats;
use crate::registry::{Kind, Registry};
use crate::runtime::Runtime;

const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// A loaded code object. Unloaded when the last function has released it and the device is idle.
pub(crate) struct Code {
    runtime: &'static Runtime,
    pub(crate) device: &'static Device,
    executable: hsa_executable_t,
    reader: Option<hsa_code_object_reader_t>,
    pub(crate) object: CodeObject,
    /// The formats of its kernels' buffered `printf`.
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
    pub(crate) code: Arc<Code>,
    functions: Mutex<HashMap<String, usize>>,
    globals: Mutex<Vec<usize>>,
}

/// A kernel of a module.
pub(crate) struct Function {
    /// Its name for programs.
    pub(crate) name: CString,
    pub(crate) code: Arc<Code>,
    /// HSA's handle, for dispatch packets.
    pub(crate) object: u64,
    /// Static LDS of a workgroup, bytes.
    pub(crate) group_bytes: u32,
    /// Scratch of a work-item, bytes, as far as the compiler knows.
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
    /// The limit of dynamic LDS set by the program.
    pub(crate) max_dynamic_lds: AtomicU32,
}

impl Code {
    pub(crate) fn load(runtime: &'static Runtime, device: &'static Device, bytes: &[u8]) -> Result<Self> {
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
    pub(crate) fn new(code: Code) -> Self {
        Self { code: Arc::new(code), functions: Mutex::default(), globals: Mutex::default() }
    }

    /// The handle of a kernel; the same name gives the same one. The names of all kernels, in the form that
    /// programs use.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.code.object.kernels().iter().map(|kernel| kernel.name.as_str())
    }

    /// Whether a function's handle came from this module.
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
    /// Maximum work-items of a workgroup.
    pub(crate) fn block_limit(&self) -> u32 {
        self.max_block.min(self.code.device.info.max_block)
    }

    /// Scratch of a work-item in a launch, bytes. If the compiler does not know the size of the stack, it
    /// gets `hipLimitStackSize`, including the known part, as with AMD's runtime.
    pub(crate) fn scratch(&self) -> u32 {
        let stack = if self.dynamic_stack { self.code.device.limits.stack() } else { 0 };
        self.private_bytes.max(stack)
    }
}

/// The function of a program's handle.
#[inline]
pub(crate) fn function(runtime: &Runtime, handle: hipFunction_t) -> Result<Arc<Function>> {
    functions(runtime).get(handle as usize).ok_or(INVALID_HANDLE)
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
