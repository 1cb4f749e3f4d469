//! Embedded modules that are loaded on first use.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use code_object::embedded;

use crate::device::Device;
use crate::error::Result;
use crate::function::Function;
use crate::module::Module;

/// A module that is embedded at build time and loaded on each device on first use.
///
/// Use it in a `static`; `kernel-build` generates `modules`:
///
/// ```
/// # mod modules {
/// #     use hip::code_object::embedded::Module;
/// #     pub static GEMM: Module = Module { id: 0, name: "gemm", source: "gemm.cu", kernels: &[], code_objects: &[], cuda: &[] };
/// # }
/// use hip::{Device, Function, LazyModule};
///
/// static GEMM: LazyModule = LazyModule::new(&modules::GEMM);
///
/// fn gemm(device: &Device) -> hip::Result<&'static Function> {
///     GEMM.function(device, "gemm_f32")
/// }
/// ```
///
/// A module is loaded at most once per device, and each kernel is looked up at most once, even if many
/// threads ask at the same time. A failure is retried at the next use. The module stays loaded until the
/// `LazyModule` is dropped; a `static` never is.
pub struct LazyModule {
    embedded: &'static embedded::Module,
    /// An append-only list: reading it takes no lock.
    first: OnceLock<Box<Loaded>>,
    loading: Mutex<()>,
}

struct Loaded {
    module: Module,
    /// By kernel id.
    functions: Box<[OnceLock<Function>]>,
    next: OnceLock<Box<Loaded>>,
}

impl LazyModule {
    /// Makes a lazy module, without loading anything.
    #[must_use]
    pub const fn new(module: &'static embedded::Module) -> Self {
        Self { embedded: module, first: OnceLock::new(), loading: Mutex::new(()) }
    }

    /// The embedded module.
    pub fn embedded(&self) -> &'static embedded::Module {
        self.embedded
    }

    /// The module on a device.
    ///
    /// # Errors
    /// As [`Module::load_embedded`].
    pub fn module(&self, device: &Device) -> Result<&Module> {
        Ok(&self.loaded(device)?.module)
    }

    /// A kernel on a device, by its name.
    ///
    /// # Errors
    /// As [`Module::load_embedded`] and [`Module::function`].
    pub fn function(&self, device: &Device, name: &str) -> Result<&Function> {
        let loaded = self.loaded(device)?;
        match self.embedded.kernel_id(name).and_then(|id| loaded.functions.get(id)) {
            Some(slot) => match slot.get() {
                Some(function) => Ok(function),
                None => {
                    let function = loaded.module.function(name)?;
                    Ok(slot.get_or_init(|| function))
                }
            },
            // No target has such a kernel, so the module makes the error.
            None => Err(loaded.module.missing(name)),
        }
    }

    fn loaded(&self, device: &Device) -> Result<&Loaded> {
        match self.find(device) {
            Ok(loaded) => Ok(loaded),
            Err(_) => self.load(device),
        }
    }

    /// The module loaded on a device, or the end of the list.
    fn find(&self, device: &Device) -> Result<&Loaded, &OnceLock<Box<Loaded>>> {
        let mut place = &self.first;
        while let Some(loaded) = place.get() {
            if loaded.module.device() == device {
                return Ok(loaded);
            }
            place = &loaded.next;
        }
        Err(place)
    }

    #[cold]
    fn load(&self, device: &Device) -> Result<&Loaded> {
        // A panic in between leaves nothing half done.
        let _one_at_a_time = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        match self.find(device) {
            Ok(loaded) => Ok(loaded),
            Err(end) => {
                let module = Module::load_embedded(device, self.embedded)?;
                let functions = self.embedded.kernels.iter().map(|_| OnceLock::new()).collect();
                Ok(end.get_or_init(|| Box::new(Loaded { module, functions, next: OnceLock::new() })))
            }
        }
    }
}

impl fmt::Debug for LazyModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut loaded = Vec::new();
        let mut place = &self.first;
        while let Some(on) = place.get() {
            loaded.push(on.module.device());
            place = &on.next;
        }
        f.debug_struct("LazyModule").field("module", &self.embedded.name).field("loaded", &loaded).finish()
    }
}
