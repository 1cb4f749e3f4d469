//! Modules: code objects loaded on a device.

mod cuda;
#[cfg(feature = "rtc")]
mod ptx;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use code_object::metrics::Table;
use code_object::{CodeObject, bundle};
use hip_sys::{DriverCode, hipError_t, hipFunction_t, hipModule_t};

use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::{Error, Result, near_names};
use crate::function::{Function, Kernel};
use crate::global::Globals;
use crate::kernel_info::{DriverInfo, KernelInfo};
use crate::live::{Counted, Kind};
use crate::stream::{Stream, release};
use crate::usage::Usage;

/// A code object loaded on a device. On an NVIDIA GPU, a cubin, a fatbin or PTX.
///
/// Cheap to clone. Dropping the last handle of it and of its [`Function`]s waits for its running kernels,
/// then unloads it.
#[doc(alias = "hipModule_t")]
#[doc(alias = "CudaModule")]
#[derive(Clone)]
pub struct Module(Arc<ModuleInner>);

struct ModuleInner {
    device: Device,
    name: String,
    handle: ModuleHandle,
    code: Code,
    /// What the caller has given.
    image: Box<[u8]>,
    /// What the driver has compiled it to, if that was loaded instead. HIP may refer to the bytes that it has
    /// loaded as long as the module is loaded.
    compiled: Option<Box<[u8]>>,
    usage: Usage,
    /// `None` for a module of other code.
    owned: Option<Counted>,
    /// The kernels that have been looked up, by name.
    kernels: Mutex<HashMap<Box<str>, Arc<Kernel>>>,
    globals: Globals,
}

/// What is known of a module's code.
enum Code {
    /// A code object for AMD GPUs.
    Amd(Box<AmdCode>),
    /// What the driver has loaded, and the names of its kernels, as far as it tells them.
    Driver { code: DriverCode, kernels: Vec<String> },
}

struct AmdCode {
    object: CodeObject,
    /// Which of its counters counts what.
    counters: Option<Table>,
}

impl Code {
    fn kernels(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Amd(code) => Box::new(code.object.kernels().iter().map(|kernel| kernel.name.as_str())),
            Self::Driver { kernels, .. } => Box::new(kernels.iter().map(String::as_str)),
        }
    }
}

/// HIP's handle of the module.
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

/// The error for unreadable bytes of a module.
fn unreadable(module: &str, source: code_object::Error) -> Error {
    let module = module.to_owned();
    match source {
        code_object::Error::NoCode { device, available } => Error::WrongTarget { module, device, available },
        source => Error::CodeObject { module, source },
    }
}

impl Module {
    /// Loads a code object, which is an ELF file for one AMD target, or the best code in an offload bundle
    /// (`.hipfb`, `.co`, also compressed): for the device's exact target id, else for its processor, else for
    /// a generic one (`hipModuleLoadData`).
    ///
    /// On an NVIDIA GPU, the bytes are a cubin, a fatbin, or PTX, which the driver compiles, or an offload
    /// bundle with [entries for NVIDIA GPUs](code_object::bundle::cuda_id). With the feature
    /// `rtc`, compiled PTX is kept in the folder `ptx` of the cache folder, for the same driver and
    /// architecture. Launches are checked against the parameters that the driver reports.
    ///
    /// # Errors
    /// [`Error::CodeObject`] if the bytes cannot be read, [`Error::WrongTarget`] if they hold no code for the
    /// device, with a list of their targets, [`Error::Unsupported`] with the message of the driver's compiler
    /// if it refuses them, else [`Error::Hip`].
    #[doc(alias = "hipModuleLoadData")]
    #[doc(alias = "cuModuleLoadData")]
    pub fn load(device: &Device, bytes: &[u8]) -> Result<Self> {
        Self::load_named(device, UNNAMED, bytes)
    }

    /// Reads a file and loads it as [`load`](Self::load) does (`hipModuleLoad`).
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, else as there.
    #[doc(alias = "hipModuleLoad")]
    #[doc(alias = "cuModuleLoad")]
    pub fn load_file(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        Self::load_named(device, &path.to_string_lossy(), &bytes)
    }

    /// Loads the best code from a module that was embedded at build time: for the device's exact target id,
    /// else for its processor, else for a generic processor that covers it. A
    /// [compressed](code_object::embedded#compressed-modules) module is unpacked, and code for other targets
    /// is dropped.
    ///
    /// # Errors
    /// [`Error::WrongTarget`] if nothing fits, with a list of the module's targets; else as
    /// [`load`](Self::load).
    pub fn load_embedded(device: &Device, module: &code_object::embedded::Module) -> Result<Self> {
        let wrong_target = || Error::WrongTarget {
            module: module.name.to_owned(),
            device: device.target().to_string(),
            available: cuda::available(module),
        };
        if let Some(driver) = device.table().ext.driver_code {
            let image = module.for_cuda_device(&device.target().processor).ok_or_else(wrong_target)?;
            let code = image.code().map_err(|source| unreadable(module.name, source))?;
            return Self::load_by_driver(device, module.name, code, driver);
        }
        let object = module.for_device(device.target()).ok_or_else(wrong_target)?;
        let code = object.code().map_err(|source| unreadable(module.name, source))?;
        Self::load_code(device, module.name, code.into_owned())
    }

    pub(crate) fn load_named(device: &Device, name: &str, bytes: &[u8]) -> Result<Self> {
        if let Some(driver) = device.table().ext.driver_code {
            let code = bundle::cuda_code_for(bytes, &device.target().processor);
            let code = code.map_err(|source| unreadable(name, source))?;
            return Self::load_by_driver(device, name, code, driver);
        }
        let code = bundle::code_for(bytes, device.target()).map_err(|source| unreadable(name, source))?;
        Self::load_code(device, name, code.into_owned())
    }

    /// Loads an ELF file.
    fn load_code(device: &Device, name: &str, code: Vec<u8>) -> Result<Self> {
        let object = CodeObject::parse(&code)
            .map_err(|source| Error::CodeObject { module: name.to_owned(), source })?;
        if !object.target().runs_on(device.target()) {
            return Err(Error::WrongTarget {
                module: name.to_owned(),
                device: device.target().to_string(),
                available: vec![object.target().to_string()],
            });
        }
        let image: Box<[u8]> = code.into();
        let counters = Table::of(&object, &image).map_err(|source| unreadable(name, source))?;
        let mut handle: hipModule_t = std::ptr::null_mut();
        device.make_current()?;
        // SAFETY: the image is a code object for this device, was parsed in full, and lives as long as the
        // module. HIP gets no length, but in an image that the parser accepts, no header refers outside it.
        unsafe { call!(device.table(), hipModuleLoadData(&raw mut handle, image.as_ptr().cast()))? };
        tracing::debug!(module = name, target = %object.target(), %device, "loaded a module");
        let owned = Some(Counted::new(Kind::Module));
        let code = Code::Amd(Box::new(AmdCode { object, counters }));
        Ok(Self::new(device, name, handle, code, (image, None), owned))
    }

    /// Has the driver load what only it reads.
    fn load_by_driver(device: &Device, name: &str, code: Cow<'_, [u8]>, driver: DriverCode) -> Result<Self> {
        let image = cuda::image(device, name, code)?;
        let mut handle: hipModule_t = std::ptr::null_mut();
        device.make_current()?;
        // SAFETY: the image ends where its own headers say, or in a NUL, and lives as long as the module.
        let mut load = |image: &[u8]| unsafe {
            call!(device.table(), hipModuleLoadData(&raw mut handle, image.as_ptr().cast()))
        };
        let compiled = cuda::compiled(device, &image).filter(|code| load(code).is_ok());
        if compiled.is_none() {
            load(&image).map_err(|error| cuda::explain(error, device, name, &driver))?;
        }
        // SAFETY: the module is loaded.
        let kernels = unsafe { cuda::kernels(handle, &driver) };
        tracing::debug!(module = name, %device, "loaded a module");
        let (code, owned) = (Code::Driver { code: driver, kernels }, Some(Counted::new(Kind::Module)));
        Ok(Self::new(device, name, handle, code, (image, compiled), owned))
    }

    fn new(
        device: &Device,
        name: &str,
        handle: hipModule_t,
        code: Code,
        (image, compiled): (Box<[u8]>, Option<Box<[u8]>>),
        owned: Option<Counted>,
    ) -> Self {
        Self(Arc::new(ModuleInner {
            device: device.clone(),
            name: name.to_owned(),
            handle: ModuleHandle(handle),
            code,
            image,
            compiled,
            usage: Usage::default(),
            owned,
            kernels: Mutex::default(),
            globals: Globals::default(),
        }))
    }

    /// Wraps a module of other code without owning it: dropping the result does not unload the module.
    /// Launches of its kernels are checked against `code`, the code object that it was loaded from. On an
    /// NVIDIA GPU they are checked against what the driver reports, and `code` is not read.
    ///
    /// # Errors
    /// [`Error::CodeObject`] if the code cannot be read.
    ///
    /// # Safety
    /// The handle belongs to a module of this device, which the library behind [`Device::table`] loaded from
    /// `code`. The module is not unloaded before the last clone of the result, and of its functions, has been
    /// dropped.
    pub unsafe fn from_raw(device: &Device, handle: hipModule_t, code: &[u8]) -> Result<Self> {
        let name = UNNAMED;
        if let Some(driver) = device.table().ext.driver_code {
            device.make_current()?;
            // SAFETY: the module is loaded.
            let kernels = unsafe { cuda::kernels(handle, &driver) };
            let code = Code::Driver { code: driver, kernels };
            return Ok(Self::new(device, name, handle, code, Default::default(), None));
        }
        let object = CodeObject::parse(code)
            .map_err(|source| Error::CodeObject { module: name.to_owned(), source })?;
        let counters = Table::of(&object, code).map_err(|source| unreadable(name, source))?;
        Ok(Self::new(
            device,
            name,
            handle,
            Code::Amd(Box::new(AmdCode { object, counters })),
            Default::default(),
            None,
        ))
    }

    /// The raw handle, for calls that this crate does not wrap; valid as long as this module.
    pub fn as_raw(&self) -> hipModule_t {
        self.0.handle.get()
    }

    /// The module's name: the path of a file, or `<bytes>` if it was loaded from bytes.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The device that it is loaded on.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Its code object: target, kernels, arguments, resource use. None on an NVIDIA GPU.
    pub fn code_object(&self) -> Option<&CodeObject> {
        match &self.0.code {
            Code::Amd(code) => Some(&code.object),
            Code::Driver { .. } => None,
        }
    }

    /// The bytes of its code object, as they were loaded. None on an NVIDIA GPU, and for a module of other
    /// code.
    pub fn code(&self) -> Option<&[u8]> {
        match &self.0.code {
            Code::Amd(_) => (!self.0.image.is_empty()).then_some(&*self.0.image),
            Code::Driver { .. } => None,
        }
    }

    /// The names of its kernels; none where the driver does not tell them, as NVIDIA's does since CUDA 12.4.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.0.code.kernels()
    }

    /// Finds a kernel by its name, mangled for C++ kernels (`hipModuleGetFunction`). Results are cached, so
    /// HIP is called once for each name.
    ///
    /// # Errors
    /// [`Error::KernelNotFound`] with similar names, else [`Error::Hip`].
    #[doc(alias = "hipModuleGetFunction")]
    #[doc(alias = "cuModuleGetFunction")]
    pub fn function(&self, name: &str) -> Result<Function> {
        let mut kernels = self.0.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = match kernels.get(name) {
            Some(kernel) => kernel.clone(),
            None => {
                let kernel = Arc::new(self.find(name)?);
                kernels.insert(name.into(), kernel.clone());
                kernel
            }
        };
        Ok(Function::new(self.clone(), kernel))
    }

    /// The kernel of a handle, if it is one that [`function`](Self::function) has found.
    pub(crate) fn function_of(&self, handle: hipFunction_t) -> Option<Function> {
        let kernels = self.0.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = kernels.values().find(|kernel| kernel.handle() == handle)?;
        Some(Function::new(self.clone(), kernel.clone()))
    }

    fn find(&self, name: &str) -> Result<Kernel> {
        let inner = &*self.0;
        let c_name = CString::new(name).map_err(|_| self.missing(name))?;
        let known = match &inner.code {
            Code::Amd(code) => Some(code.object.kernel(name).ok_or_else(|| self.missing(name))?),
            Code::Driver { .. } => None,
        };
        let mut handle: hipFunction_t = std::ptr::null_mut();
        inner.device.make_current()?;
        // SAFETY: the module is loaded, the name ends in NUL, and the handle is a place to write to.
        let found = unsafe {
            call!(
                inner.device.table(),
                hipModuleGetFunction(&raw mut handle, inner.handle.get(), c_name.as_ptr())
            )
        };
        let properties = inner.device.properties();
        let mut overlapping = None;
        let info: KernelInfo = match (&inner.code, known) {
            (Code::Driver { code, .. }, _) => {
                found.map_err(|error| match error.code() {
                    Some(hipError_t::hipErrorNotFound) => self.missing(name),
                    // CUDA refuses it before it looks.
                    _ if name.is_empty() => self.missing(name),
                    _ => error,
                })?;
                // SAFETY: the module is loaded, and the name ends in a NUL.
                let overlaps = unsafe { (code.overlaps)(inner.handle.get(), c_name.as_ptr()) };
                overlapping = overlaps.then_some(code.launch_overlapping);
                let (table, wave_size) = (inner.device.table(), properties.wave_size);
                DriverInfo { table, code: *code, name, function: handle, wave_size, image: &inner.image }
                    .read()?
            }
            (Code::Amd(_), Some(kernel)) => {
                found?;
                kernel.into()
            }
            (Code::Amd(_), None) => return Err(self.missing(name)),
        };
        Ok(Kernel::new(info, handle, overlapping, properties))
    }

    /// The error for a kernel that is not in the module.
    #[cold]
    pub(crate) fn missing(&self, kernel: &str) -> Error {
        Error::KernelNotFound {
            module: self.0.name.clone(),
            kernel: kernel.to_owned(),
            near: near_names(kernel, self.kernels()),
            available: self.kernels().count(),
        }
    }
}

impl Module {
    /// Called before work on `stream` runs the module's code. Keeps the module loaded until that work is
    /// done, or in the graph that captures it, and orders it with other work on the module's variables.
    #[inline]
    pub(crate) fn used_on(&self, stream: &Stream) -> Result<()> {
        if !self.0.usage.is_only(stream) {
            self.keep_for(stream);
        }
        self.globals_used_on(stream)
    }

    /// The slow path: other streams run the code, or this stream has not run it yet. A captured stream always
    /// takes this path.
    #[inline(never)]
    fn keep_for(&self, stream: &Stream) {
        match stream.capture() {
            None => self.0.usage.note(stream),
            Some(capture) => capture.keeps(self),
        }
    }

    /// The meanings of the module's counters, if its kernels count.
    pub(crate) fn counters(&self) -> Option<&Table> {
        match &self.0.code {
            Code::Amd(code) => code.counters.as_ref(),
            Code::Driver { .. } => None,
        }
    }

    /// The record of the module's variables.
    pub(crate) fn globals(&self) -> &Globals {
        &self.0.globals
    }

    /// Blocks until no stream runs the module's code.
    pub(crate) fn wait(&self) -> Result<()> {
        self.0.usage.wait()
    }

    /// Whether this is a handle of the same module.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        let (device, handle) = (self.device.clone(), self.handle);
        let image = (std::mem::take(&mut self.image), self.compiled.take());
        let mut usage = std::mem::take(&mut self.usage);
        let owned = self.owned.take();
        release("module", move || {
            usage.finish("module", (image, owned), |(image, owned)| {
                let Some(counted) = owned else { return };
                // SAFETY: the module is unloaded once. Its functions and graphs hold it, so none exist, and
                // none of its kernels runs, however their streams have ended.
                let unloaded =
                    unsafe { device.release(|| call!(device.table(), hipModuleUnload(handle.get()))) };
                dropped("module", unloaded);
                drop((image, counted));
            });
        });
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("name", &self.0.name)
            .field("target", &self.code_object().map(CodeObject::target))
            .field("kernels", &self.kernels().count())
            .field("device", &self.0.device)
            .finish()
    }
}
