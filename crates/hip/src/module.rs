//! Modules: code objects loaded on a device, and their kernels.

use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::Arc;

use code_object::CodeObject;
use hip_sys::{hipFunction_t, hipModule_t};

use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::{Error, Result, near_names};
use crate::launch::{Arguments, Check, Launch, LaunchConfig, Limits, Parameter};
use crate::live::{Counted, Kind};
use crate::stream::{Stream, release};
use crate::usage::Usage;

/// A code object, loaded on a device.
///
/// Cheap to clone. Unloaded when the last handle of it and of its [`Function`]s is dropped, after waiting for kernels
/// of it that still run.
#[doc(alias = "hipModule_t")]
#[doc(alias = "CudaModule")]
#[derive(Clone)]
pub struct Module(Arc<ModuleInner>);

struct ModuleInner {
    device: Device,
    name: String,
    handle: ModuleHandle,
    object: CodeObject,
    /// HIP may refer to the bytes as long as the module is loaded.
    image: Box<[u8]>,
    usage: Usage,
    _counted: Counted,
}

/// What HIP knows the module by.
#[derive(Clone, Copy)]
struct ModuleHandle(hipModule_t);

// SAFETY: HIP's module handles may be used by any thread.
unsafe impl Send for ModuleHandle {}
// SAFETY: the only call on a shared module is `hipModuleGetFunction`, which several threads may make at once.
unsafe impl Sync for ModuleHandle {}

impl ModuleHandle {
    fn get(self) -> hipModule_t {
        self.0
    }
}

const UNNAMED: &str = "<bytes>";

impl Module {
    /// Loads a code object, an ELF file for one AMD target (`hipModuleLoadData`).
    ///
    /// # Errors
    /// [`Error::CodeObject`] if the bytes cannot be read, [`Error::WrongTarget`] if they are code for another
    /// device, else [`Error::Hip`].
    #[doc(alias = "hipModuleLoadData")]
    pub fn load(device: &Device, bytes: &[u8]) -> Result<Self> {
        Self::load_named(device, UNNAMED, bytes)
    }

    /// Loads what fits the device best from a module that was embedded at build time: code for its exact target id,
    /// else for its processor, else for a generic processor that covers it.
    ///
    /// # Errors
    /// [`Error::WrongTarget`] if nothing fits, which lists what the module has; else as [`load`](Self::load).
    pub fn load_embedded(device: &Device, module: &code_object::embedded::Module) -> Result<Self> {
        match module.for_device(device.target()) {
            Some(object) => Self::load_named(device, module.name, object.bytes),
            None => Err(Error::WrongTarget {
                module: module.name.to_owned(),
                device: device.target().to_string(),
                available: module.targets().map(str::to_owned).collect(),
            }),
        }
    }

    fn load_named(device: &Device, name: &str, bytes: &[u8]) -> Result<Self> {
        let object = CodeObject::parse(bytes)
            .map_err(|source| Error::CodeObject { module: name.to_owned(), source })?;
        if !object.target().runs_on(device.target()) {
            return Err(Error::WrongTarget {
                module: name.to_owned(),
                device: device.target().to_string(),
                available: vec![object.target().to_string()],
            });
        }
        let image: Box<[u8]> = bytes.into();
        let mut handle: hipModule_t = std::ptr::null_mut();
        device.make_current()?;
        // SAFETY: the image is a code object for this device, was parsed in full, and lives as long as the module.
        unsafe { call!(device.table(), hipModuleLoadData(&raw mut handle, image.as_ptr().cast()))? };
        tracing::debug!(module = name, target = %object.target(), %device, "loaded a module");
        Ok(Self(Arc::new(ModuleInner {
            device: device.clone(),
            name: name.to_owned(),
            handle: ModuleHandle(handle),
            object,
            image,
            usage: Usage::default(),
            _counted: Counted::new(Kind::Module),
        })))
    }

    /// The module's name; `<bytes>` for one that was loaded from bytes.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The device that it is loaded on.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// What its code object says: target, kernels, arguments, resource use.
    pub fn code_object(&self) -> &CodeObject {
        &self.0.object
    }

    /// The names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.0.object.kernels().iter().map(|kernel| kernel.name.as_str())
    }

    /// Finds a kernel by its name, mangled for C++ kernels (`hipModuleGetFunction`). Look it up once and keep it.
    ///
    /// # Errors
    /// [`Error::KernelNotFound`] with the names that come near, else [`Error::Hip`].
    #[doc(alias = "hipModuleGetFunction")]
    pub fn function(&self, name: &str) -> Result<Function> {
        let inner = &*self.0;
        let missing = || Error::KernelNotFound {
            module: inner.name.clone(),
            kernel: name.to_owned(),
            near: near_names(name, self.kernels()),
            available: inner.object.kernels().len(),
        };
        let kernel = inner.object.kernel(name).ok_or_else(missing)?;
        let c_name = CString::new(name).map_err(|_| missing())?;
        let mut handle: hipFunction_t = std::ptr::null_mut();
        inner.device.make_current()?;
        // SAFETY: the module is loaded, the name ends in NUL, and the handle is a place to write to.
        unsafe {
            call!(
                inner.device.table(),
                hipModuleGetFunction(&raw mut handle, inner.handle.get(), c_name.as_ptr())
            )?;
        }
        let properties = inner.device.properties();
        let limits = Limits {
            kernel_threads: kernel.max_flat_workgroup_size,
            required_block: kernel.required_workgroup_size,
            kernel_lds: kernel.group_segment_size,
            kernel_wave: kernel.wavefront_size,
            device_threads: properties.max_block_threads,
            device_block: properties.max_block,
            device_grid: properties.max_grid,
            device_lds: properties.lds_per_block,
            device_wave: properties.wave_size,
        };
        Ok(Function(Arc::new(FunctionInner {
            module: self.clone(),
            handle,
            name: name.to_owned(),
            parameters: kernel.explicit_args().map(Parameter::of).collect(),
            attributes: FunctionAttributes::of(kernel),
            limits,
        })))
    }
}

impl Module {
    /// Work on `stream` runs the module's code: keeps it loaded until that is done, or in the graph that captures it.
    pub(crate) fn used_on(&self, stream: &Stream) {
        match stream.capture() {
            None => self.0.usage.note(stream),
            Some(capture) => capture.keeps(self),
        }
    }

    /// Whether this is a handle of the same module.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        let (device, handle) = (self.device.clone(), self.handle);
        let (image, mut usage) = (std::mem::take(&mut self.image), std::mem::take(&mut self.usage));
        release("module", move || {
            usage.finish();
            let unloaded = device.make_current().and_then(|()| {
                // SAFETY: the module is unloaded once; its functions hold it, so there are none, and no kernel of it runs.
                unsafe { call!(device.table(), hipModuleUnload(handle.get())) }
            });
            dropped("module", unloaded);
            drop(image);
        });
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("name", &self.0.name)
            .field("target", self.0.object.target())
            .field("kernels", &self.0.object.kernels().len())
            .field("device", &self.0.device)
            .finish()
    }
}

/// A kernel of a loaded module, which it keeps loaded.
///
/// Cheap to clone.
#[doc(alias = "hipFunction_t")]
#[doc(alias = "CudaFunction")]
#[derive(Clone)]
pub struct Function(Arc<FunctionInner>);

struct FunctionInner {
    module: Module,
    handle: hipFunction_t,
    name: String,
    parameters: Vec<Parameter>,
    attributes: FunctionAttributes,
    limits: Limits,
}

// SAFETY: HIP's function handles may be used by any thread.
unsafe impl Send for FunctionInner {}
// SAFETY: launching a function, on whatever stream, may be done by several threads at once.
unsafe impl Sync for FunctionInner {}

/// What a kernel needs, as its code object says.
#[doc(alias = "hipFuncGetAttribute")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionAttributes {
    /// Vector registers of a work-item.
    pub vgprs: u32,
    /// Accumulation registers of a work-item.
    pub agprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers that the compiler spilled.
    pub vgpr_spills: u32,
    /// Scalar registers that the compiler spilled.
    pub sgpr_spills: u32,
    /// LDS of a block that the kernel declares itself, bytes.
    pub lds: u32,
    /// Scratch of a work-item, bytes.
    pub scratch: u32,
    /// Work-items of a wave: 32 or 64.
    pub wave_size: u32,
    /// Most work-items that a block may have.
    pub max_block_threads: u32,
    /// The block that a launch must have, if the source fixes it.
    pub required_block: Option<[u32; 3]>,
}

impl FunctionAttributes {
    fn of(kernel: &code_object::Kernel) -> Self {
        Self {
            vgprs: kernel.vgpr_count,
            agprs: kernel.agpr_count,
            sgprs: kernel.sgpr_count,
            vgpr_spills: kernel.vgpr_spills,
            sgpr_spills: kernel.sgpr_spills,
            lds: kernel.group_segment_size,
            scratch: kernel.private_segment_size,
            wave_size: kernel.wavefront_size,
            max_block_threads: kernel.max_flat_workgroup_size,
            required_block: kernel.required_workgroup_size,
        }
    }
}

impl Function {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The module that it belongs to.
    pub fn module(&self) -> &Module {
        &self.0.module
    }

    /// The device that it is loaded on.
    pub fn device(&self) -> &Device {
        self.0.module.device()
    }

    /// What it takes, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.0.parameters
    }

    /// What it needs: registers, LDS, scratch, wave size, block limits.
    pub fn attributes(&self) -> FunctionAttributes {
        self.0.attributes
    }

    /// Starts a launch on `stream`; [`Launch`] completes it.
    pub fn launch<'a>(&'a self, stream: &'a Stream) -> Launch<'a> {
        Launch::new(self, stream)
    }

    /// Enqueues the kernel with no check of ours (`hipModuleLaunchKernel`).
    ///
    /// For callers that have checked already and count nanoseconds. It knows nothing of buffers: it orders no streams and
    /// keeps no memory alive.
    ///
    /// # Errors
    /// [`Error::Fault`] if the stream has faulted, else [`Error::Hip`].
    ///
    /// # Safety
    /// The stream belongs to the function's device. `arguments` holds one pointer to a readable value for each of the
    /// kernel's [`parameters`](Self::parameters), of the size that it has there. Everything that [`Launch::enqueue`] asks
    /// for holds, for all memory that the kernel reaches. The sizes are within the limits of kernel and device.
    pub unsafe fn launch_unchecked(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        stream.make_current_or_capture()?;
        self.0.module.used_on(stream);
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid.0, config.block.0);
        // SAFETY: the function is loaded, the stream valid, and the caller vouches for the rest.
        stream.check(unsafe {
            call!(
                stream.table(),
                hipModuleLaunchKernel(
                    self.0.handle,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    config.dynamic_lds,
                    stream.handle(),
                    arguments.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            )
        })
    }

    /// Orders the stream after earlier work on the arguments' memory, and enqueues the kernel.
    ///
    /// # Safety
    /// Arguments and sizes were checked for this function, and [`Launch::enqueue`]'s conditions hold.
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        arguments: &mut Arguments<'_>,
    ) -> Result<()> {
        for (allocation, written) in arguments.used() {
            if written { allocation.update_on(stream)? } else { allocation.read_on(stream)? }
        }
        let mut pointers = arguments.pointers(&self.0.parameters);
        // SAFETY: there is a pointer for each parameter, into storage of its size; the caller vouches for the rest.
        unsafe { self.launch_unchecked(stream, config, &mut pointers) }
    }

    pub(crate) fn handle(&self) -> hipFunction_t {
        self.0.handle
    }

    pub(crate) fn check(&self) -> Check<'_> {
        Check { kernel: &self.0.name, device: self.device(), parameters: &self.0.parameters }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }
}

/// The kernel's name and what it takes.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), crate::launch::signature(self.parameters()))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.0.name)
            .field("parameters", &self.0.parameters)
            .field("attributes", &self.0.attributes)
            .field("module", &self.0.module)
            .finish()
    }
}
