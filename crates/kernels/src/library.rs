//! The kernels of one device, loaded when they are first used and looked up once.

use std::sync::OnceLock;

use code_object::embedded;
use hip::{Device, Function, Module};

use crate::{Element, modules};

/// The embedded kernels on one device.
///
/// Every operation checks its arguments' lengths against each other before it enqueues, so that it is safe; it does not
/// wait for the device. Work on the same buffers is ordered as it was enqueued. An operation on no elements does nothing.
///
/// Elements are contiguous. The kernels themselves also take strides: see `kernels/*.cu`, and
/// [`modules`] for launching them through [`hip`].
#[derive(Debug)]
pub struct Kernels {
    device: Device,
    modules: Vec<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    module: OnceLock<Module>,
    functions: Vec<OnceLock<Function>>,
}

/// A kernel's names for every element type, in the order of [`Element::INDEX`].
pub(crate) type Names = [&'static str; 3];

/// The [`Names`] of a kernel by the part before the element type.
macro_rules! names {
    ($prefix:literal) => {
        [concat!($prefix, "_f32"), concat!($prefix, "_f16"), concat!($prefix, "_bf16")]
    };
}
pub(crate) use names;

impl Kernels {
    /// The kernels on a device. Nothing is loaded yet.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        let empty = |module: &embedded::Module| Loaded {
            module: OnceLock::new(),
            functions: module.kernels.iter().map(|_| OnceLock::new()).collect(),
        };
        Self { device: device.clone(), modules: modules::ALL.iter().map(|module| empty(module)).collect() }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A kernel by module and name, loaded and looked up at its first use.
    ///
    /// # Errors
    /// [`hip::Error::WrongTarget`] if nothing was compiled for this device, [`hip::Error::KernelNotFound`] if the module
    /// has no such kernel.
    pub fn function(&self, module: &'static embedded::Module, name: &str) -> hip::Result<&Function> {
        let slot = self.modules.get(module.id);
        let (Some(slot), Some(id)) = (slot, module.kernel_id(name)) else {
            // the error with the names that come near is made where names are looked up
            return match Module::load_embedded(&self.device, module)?.function(name) {
                Ok(_) => unreachable!("`{name}` is not in the module's own list of kernels"),
                Err(error) => Err(error),
            };
        };
        if let Some(function) = slot.functions[id].get() {
            return Ok(function);
        }
        let loaded = match slot.module.get() {
            Some(loaded) => loaded,
            None => {
                let loaded = Module::load_embedded(&self.device, module)?;
                slot.module.get_or_init(|| loaded)
            }
        };
        let function = loaded.function(name)?;
        Ok(slot.functions[id].get_or_init(|| function))
    }

    /// The kernel for an element type.
    pub(crate) fn of<T: Element>(
        &self,
        module: &'static embedded::Module,
        names: &Names,
    ) -> hip::Result<&Function> {
        self.function(module, names[T::INDEX])
    }
}
