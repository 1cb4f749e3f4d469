//! The kernels of one device, loaded on first use and looked up once.

use std::sync::LazyLock;

use code_object::embedded;
use hip::{Device, Function, LazyModule};

use crate::{Element, modules};

/// The embedded kernels on one device.
///
/// Every operation is safe: it checks the lengths of its arguments before it enqueues. It does not wait for
/// the device. Work on the same buffers runs in the order in which it was enqueued. An operation on no
/// elements does nothing.
///
/// Where an operation takes a [`View`](crate::View), a slice or a buffer counts as contiguous. Outputs must
/// be contiguous unless the operation says otherwise. The kernels themselves are in [`modules`], for
/// launching them through [`hip`].
#[derive(Debug)]
pub struct Kernels {
    device: Device,
}

/// By module id.
static MODULES: LazyLock<Box<[LazyModule]>> =
    LazyLock::new(|| modules::ALL.iter().map(|module| LazyModule::new(module)).collect());

/// A kernel's names for every element type, in the order of [`Element::INDEX`]. Some may not exist: the
/// bounds of the operation say which types have a kernel.
pub(crate) type Names = [&'static str; 10];

/// The [`Names`] of a kernel, from the part before the element type, and the name of
/// [`F8E4M3`](crate::F8E4M3) if it differs.
macro_rules! names {
    ($prefix:literal) => {
        names!($prefix, "f8_e4m3")
    };
    ($prefix:literal, $f8:literal) => {
        [
            concat!($prefix, "_f32"),
            concat!($prefix, "_f16"),
            concat!($prefix, "_bf16"),
            concat!($prefix, "_f64"),
            concat!($prefix, "_", $f8),
            concat!($prefix, "_u8"),
            concat!($prefix, "_u32"),
            concat!($prefix, "_i64"),
            concat!($prefix, "_i16"),
            concat!($prefix, "_i32"),
        ]
    };
}
pub(crate) use names;

impl Kernels {
    /// The kernels on a device. Each module is loaded on its first use, by anyone, and stays loaded.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        Self { device: device.clone() }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A kernel by module and name, loaded and looked up on first use.
    ///
    /// # Errors
    /// [`hip::Error::WrongTarget`] if nothing was compiled for this device, [`hip::Error::KernelNotFound`] if
    /// the module has no such kernel, [`hip::Error::Unsupported`] for a module that is not in [`modules`].
    pub fn function(&self, module: &'static embedded::Module, name: &str) -> hip::Result<&'static Function> {
        match MODULES.get(module.id).filter(|lazy| std::ptr::eq(lazy.embedded(), module)) {
            Some(lazy) => lazy.function(&self.device, name),
            None => Err(hip::Error::Unsupported {
                what: format!("the module `{}` of another crate", module.name),
                instead: "make a hip::LazyModule of it".to_owned(),
            }),
        }
    }

    /// The kernel for an element type.
    pub(crate) fn of<T: Element>(
        &self,
        module: &'static embedded::Module,
        names: &Names,
    ) -> hip::Result<&'static Function> {
        self.function(module, names[T::INDEX])
    }
}
