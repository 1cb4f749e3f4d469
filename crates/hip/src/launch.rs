//! Checked launches.
//! # What the checks guarantee
//! A launch that passes has exactly the arguments that the kernel's code object declares: their number, the
//! size of every value, pointers where the kernel takes pointers, memory of the right device. Code objects
//! from `kernel-build`, and from run-time compilation with this machine's clang, also record the types of
//! parameters. Memory and values then hold [numbers](crate::DeviceCopy::NUMBER) of the kind that the kernel
//! takes, and memory that it writes is borrowed exclusively; [`Function::parameters`] says what is recorded.
//! Block, grid and LDS are within the limits of the kernel and the device. The launch runs after earlier work
//! on the memory that it uses. Neither that memory nor the kernel's code is freed before the kernel has
//! ended.
//! # What they cannot guarantee
//! A kernel is foreign code. No metadata says how many elements it accesses for given arguments, or how it
//! uses pointers inside structures and memory. Code objects of other compilers, such as hipcc, do not even
//! record the types of parameters, or whether the kernel writes through a pointer. Therefore
//! [`Launch::enqueue`] is `unsafe`, like any call of foreign code, and its caller vouches for these things. A
//! function that knows its kernel and checks the lengths of the arguments is a safe wrapper; crates of
//! kernels consist of these. [`kernels!`](crate::kernels) makes typed functions from signatures, which are
//! checked against the code object once.
//!
//! On a virtual GPU, an access outside an allocation ends the kernel with
//! [`Error::Fault`](crate::Error::Fault) and harms nothing else. Real hardware catches only some such
//! accesses.

mod args;
mod config;
mod prepared;
mod room;
#[doc(hidden)]
pub mod typed;
mod types;

pub use crate::error::{Argument, LaunchError};
pub use args::{KernelArg, Parameter, ParameterKind};
pub use config::{Dim3, LaunchConfig};
pub use prepared::PreparedLaunch;

pub(crate) use args::sealed::Pass;
pub(crate) use args::{Arguments, Check, Given, Layout, Memory, signature};
pub(crate) use config::Limits;

use crate::error::Result;
use crate::function::Function;
use crate::stream::Stream;

/// A launch under construction. [`Function::launch`] starts it; sizes and arguments complete it.
///
/// [`enqueue`](Self::enqueue) or [`prepare`](Self::prepare) reports the first mistake.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// # let module = hip::Module::load(&device, &[])?;
/// let n = 1_000_u32;
/// let x = hip::DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n as usize])?;
/// let mut y = hip::DeviceBuffer::<f32>::zeroed(&stream, n as usize)?;
/// let saxpy = module.function("saxpy")?; // __global__ void saxpy(unsigned n, float a, const float* x, float* y)
/// let launch = saxpy.launch(&stream).elements(n as usize, 256).arg(n).arg(2.0_f32).arg(&x).arg(&mut y);
/// // SAFETY: `saxpy` reads x[0..n] and reads and writes y[0..n], and both have n elements.
/// unsafe { launch.enqueue()? };
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a launch does nothing until it is enqueued"]
pub struct Launch<'a> {
    function: &'a Function,
    stream: &'a Stream,
    grid: Option<Dim3>,
    block: Option<Dim3>,
    dynamic_lds: u32,
    cooperative: bool,
    arguments: Arguments<'a>,
}

impl<'a> Launch<'a> {
    #[inline]
    pub(crate) fn new(function: &'a Function, stream: &'a Stream) -> Self {
        let arguments = Arguments::new(function.layout());
        Self { function, stream, grid: None, block: None, dynamic_lds: 0, cooperative: false, arguments }
    }

    /// Sets the number of blocks (workgroups).
    #[inline]
    pub fn grid(mut self, blocks: impl Into<Dim3>) -> Self {
        self.grid = Some(blocks.into());
        self
    }

    /// Sets the number of work-items of a block.
    #[inline]
    pub fn block(mut self, work_items: impl Into<Dim3>) -> Self {
        self.block = Some(work_items.into());
        self
    }

    /// Sets blocks of `block` work-items, and as many of them as one work-item per element needs.
    #[inline]
    pub fn elements(self, elements: usize, block: u32) -> Self {
        self.config(LaunchConfig::for_elements(elements, block))
    }

    /// Sets the LDS of a block besides what the kernel declares, in bytes (`extern __shared__`).
    #[inline]
    pub fn dynamic_lds(mut self, bytes: u32) -> Self {
        self.dynamic_lds = bytes;
        self
    }

    /// Runs all blocks at once, so that they can wait for each other, as
    /// `cooperative_groups::this_grid().sync()` does (`hipModuleLaunchCooperativeKernel`). More blocks than
    /// the device can hold are [`LaunchError::CooperativeTooLarge`]; [`Function::suggest_block`] says how
    /// many fit.
    #[doc(alias = "hipModuleLaunchCooperativeKernel")]
    #[doc(alias = "hipLaunchCooperativeKernel")]
    #[doc(alias = "cuLaunchCooperativeKernel")]
    #[doc(alias = "cudaLaunchCooperativeKernel")]
    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// Sets everything except the arguments.
    #[inline]
    pub fn config(mut self, config: LaunchConfig) -> Self {
        self.grid = Some(config.grid);
        self.block = Some(config.block);
        self.dynamic_lds = config.dynamic_lds;
        self.cooperative = config.cooperative;
        self
    }

    /// Adds the kernel's next argument: see [`KernelArg`] for what can be passed.
    #[inline]
    pub fn arg(mut self, argument: impl KernelArg<'a>) -> Self {
        self.arguments.push(argument, &self.function.check());
        self
    }

    /// Checks everything once, for many launches.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) names the first mismatch.
    pub fn prepare(mut self) -> Result<PreparedLaunch<'a>> {
        let config = self.finish()?;
        Ok(PreparedLaunch::new(self.function, self.stream, config, self.arguments))
    }

    /// Checks everything and enqueues the kernel (`hipModuleLaunchKernel`); does not wait for it.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) names the first mismatch, and nothing is enqueued;
    /// [`Error::Fault`](crate::Error::Fault) if the stream has faulted, else
    /// [`Error::Hip`](crate::Error::Hip). The next call that waits for the stream reports a fault of this
    /// kernel.
    ///
    /// # Safety
    /// With these arguments the kernel
    /// - accesses only memory that was passed to it: elements of buffers and views, and memory that it
    ///   reaches through a [`DeviceAddress`] or an address inside a value;
    /// - writes only through what was passed as `&mut` or a [`DeviceSliceMut`], or through such an address;
    /// - interprets each value's bytes as a type that they are valid for.
    ///
    /// Until the kernel has ended, memory that it reaches through addresses is not freed, and nothing else
    /// uses it.
    ///
    /// [`DeviceAddress`]: crate::DeviceAddress
    /// [`DeviceSliceMut`]: crate::DeviceSliceMut
    #[doc(alias = "hipModuleLaunchKernel")]
    #[doc(alias = "hipLaunchKernel")]
    #[doc(alias = "cuLaunchKernel")]
    #[doc(alias = "cudaLaunchKernel")]
    #[inline]
    pub unsafe fn enqueue(mut self) -> Result<()> {
        let config = self.finish()?;
        self.arguments.pointers(self.function.layout());
        // SAFETY: the arguments are checked, and the caller vouches for what the kernel does with them.
        unsafe { self.arguments.enqueue(self.function, self.stream, &config) }
    }

    /// Checks everything and returns the parts.
    pub(crate) fn into_parts(mut self) -> Result<(&'a Function, LaunchConfig, Arguments<'a>)> {
        let config = self.finish()?;
        Ok((self.function, config, self.arguments))
    }

    /// Checks everything that can be checked.
    #[inline]
    fn finish(&mut self) -> Result<LaunchConfig> {
        let function = self.function;
        function.check_stream(self.stream)?;
        self.arguments.finish(&function.check())?;
        let missing = |what| missing_size(function.name(), what);
        let config = LaunchConfig {
            grid: self.grid.ok_or_else(|| missing("grid"))?,
            block: self.block.ok_or_else(|| missing("block"))?,
            dynamic_lds: self.dynamic_lds,
            cooperative: self.cooperative,
        };
        function.check_config(&config)?;
        Ok(config)
    }
}

#[cold]
fn missing_size(kernel: &str, what: &'static str) -> LaunchError {
    LaunchError::MissingSize { kernel: kernel.to_owned(), what }
}
