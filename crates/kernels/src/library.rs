//! The kernels of one device, loaded when they are first used and looked up once.

use std::sync::LazyLock;

use code_object::embedded;
use hip::{Device, Function, LazyModule};

use crate::{Element, modules};

/// The embedded kernels on one device.
///
/// Every operation checks its arguments' lengths against each other before it enqueues, so that it is safe; it does not
/// wait for the device. Work on the same buffers is ordered as it was enqueued. An operation on no elements does nothing.
///
/// Where an operation takes a [`View`](crate::View), a slice or a buffer is a contiguous one. What is written is contiguous unless the
/// operation says otherwise. The kernels themselves are in [`modules`], for launching them through [`hip`].
#[derive(Debug)]
pub struct Kernels {
    device: Device,
}

/// By module id.
static MODULES: LazyLock<Box<[LazyModule]>> =
    LazyLock::new(|| modules::ALL.iter().map(|module| LazyModule::new(module)).collect());

/// A kernel's names for every element type, in the order of [`Element::INDEX`]. Not each of them has to exist: the operation's bounds say for
/// which types it does.
pub(crate) type Names = [&'static str; 10];

/// The [`Names`] of a kernel by the part before the element type, and by the name of [`F8E4M3`](crate::F8E4M3) where it is another one.
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
    /// The kernels on a device. Each module is loaded on it when it is first used, whoever uses it, and then stays so.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        Self { device: device.clone() }
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
    /// has no such kernel, [`hip::Error::Unsupported`] for a module that is none of [`modules`].
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
