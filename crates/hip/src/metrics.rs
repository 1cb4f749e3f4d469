//! Counters of kernels compiled with metrics.

use code_object::metrics::{COUNTERS, Counts};

use crate::error::{Error, Result};
use crate::module::Module;
use crate::stream::Stream;

impl Module {
    /// What the kernels of this module have counted since it was loaded, or since
    /// [`reset_metrics`](Self::reset_metrics): work-items, waves, cycles, and bytes by memory and kind of
    /// access. Functions that were not inlined are listed beside the kernels, under their own symbols.
    ///
    /// Only code that `kernel-build` compiled with `Builder::metrics` counts. It works on every device,
    /// because the kernels do the counting. This waits for running kernels of the module, and for the stream.
    ///
    /// ```no_run
    /// use hip::code_object::metrics::{Access, Space};
    ///
    /// # fn main() -> hip::Result<()> {
    /// # let device = hip::Device::open("auto")?;
    /// # let stream = device.stream()?;
    /// # let module = hip::Module::load(&device, &[])?;
    /// for kernel in module.metrics(&stream)?.iter().filter(|one| one.waves.is_some()) {
    ///     let loaded = kernel.bytes(Space::Global, Access::Load);
    ///     println!("{}: {} work-items, {loaded} bytes loaded", kernel.name, kernel.work_items);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoMetrics`] if the code does not count; else as [`global`](Self::global).
    pub fn metrics(&self, stream: &Stream) -> Result<Vec<Counts>> {
        let table = self.counters().ok_or_else(|| self.counts_nothing())?;
        let counters = self.global::<u64>(COUNTERS)?.to_vec(stream)?;
        Ok(table.functions.iter().map(|function| function.counts(&counters)).collect())
    }

    /// Resets the counters of [`metrics`](Self::metrics) to zero.
    ///
    /// # Errors
    /// As there, and [`Error::GlobalInUse`] if another thread is reading them right now.
    pub fn reset_metrics(&self, stream: &Stream) -> Result<()> {
        self.counters().ok_or_else(|| self.counts_nothing())?;
        self.global_mut::<u64>(COUNTERS)?.fill(stream, 0)?;
        stream.synchronize()
    }

    fn counts_nothing(&self) -> Error {
        Error::NoMetrics { module: self.name().to_owned() }
    }
}
