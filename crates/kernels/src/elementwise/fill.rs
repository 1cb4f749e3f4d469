//! Constants.

use hip::Stream;

use super::info::{Info, check_devices, operand};
use super::run;
use crate::error::Result;
use crate::library::{Kernels, names};
use crate::view::ViewMut;
use crate::{Element, modules};

impl Kernels {
    /// Writes `value` to every element of a tensor of any strides.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn fill<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        value: T,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let out = out.into().carried()?;
        check_devices("fill", self.device(), stream, &[("out", out.slice.device())])?;
        let elements = out.elements();
        // SAFETY: both are plain data of the same size.
        let value = unsafe { std::mem::transmute_copy::<T, T::Carrier>(&value) };
        let kernel = self.of::<T::Carrier>(&modules::FILL, &names!("const_set"))?;
        let all = out.layout;
        let info = Info::new(stream, &all, &[operand!(out)])?;
        let launch = info.pass(kernel.launch(stream).arg(elements as u64)).arg(value).arg(out.into_memory()?);
        // SAFETY: const_set writes the elements of out that `info` describes, which exist.
        unsafe { run(info.items(elements, size_of::<T>()), launch) }
    }
}
