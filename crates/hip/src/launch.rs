//! Checked launches.
//!
//! # What the check promises
//! A launch that passes has exactly the arguments that the kernel's code object declares: their number, the size of
//! every value, pointers where there are pointers, memory of the right device. Where the code object says what a parameter
//! is, as those of `kernel-build` and of run-time compilation on this machine's clang do, memory and values hold
//! [numbers](crate::DeviceCopy::NUMBER) of the kind that the kernel takes, and memory that it writes is borrowed exclusively;
//! [`Function::parameters`] tells what is known. Its block, grid and LDS are within the limits of the kernel and the device.
//! Memory that it uses is ordered after earlier work on it and is not freed before the kernel has ended, and neither is
//! the kernel's code.
//!
//! # What it cannot promise
//! A kernel is foreign code. No metadata says how many elements it touches for given arguments, or what it does with pointers
//! inside of structures and memory; code objects of other compilers, such as hipcc, do not even say what type it takes the
//! bytes for, or whether it writes through a pointer. Therefore
//! [`Launch::enqueue`] is `unsafe`, like any call of foreign code, and who calls it promises just that. A function that
//! knows its kernel, and checks its arguments' lengths, is a safe wrapper of it: crates of kernels are made of those.
//! [`kernels!`](crate::kernels) makes typed functions from signatures, which are checked against the code object once.
//!
//! On a virtual GPU a kernel that leaves its allocations ends with [`Error::Fault`](crate::Error::Fault) and
//! harms nothing else; real hardware notices only some such accesses.

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

/// A launch in the making: made by [`Function::launch`], completed by sizes and arguments.
///
/// What is wrong with it is reported by [`enqueue`](Self::enqueue) or [`prepare`](Self::prepare), the first thing first.
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

    /// How many blocks (workgroups) there are.
    #[inline]
    pub fn grid(mut self, blocks: impl Into<Dim3>) -> Self {
        self.grid = Some(blocks.into());
        self
    }

    /// How many work-items a block has.
    #[inline]
    pub fn block(mut self, work_items: impl Into<Dim3>) -> Self {
        self.block = Some(work_items.into());
        self
    }

    /// As many blocks of `block` work-items as it takes for one work-item per element.
    #[inline]
    pub fn elements(self, elements: usize, block: u32) -> Self {
        self.config(LaunchConfig::for_elements(elements, block))
    }

    /// LDS of a block besides what the kernel declares, bytes (`extern __shared__`).
    #[inline]
    pub fn dynamic_lds(mut self, bytes: u32) -> Self {
        self.dynamic_lds = bytes;
        self
    }

    /// All blocks are to run at once, so that they may wait for each other, as `cooperative_groups::this_grid().sync()`
    /// does (`hipModuleLaunchCooperativeKernel`). More blocks than the device can hold are
    /// [`LaunchError::CooperativeTooLarge`]; [`Function::suggest_block`] tells how many fit.
    #[doc(alias = "hipModuleLaunchCooperativeKernel")]
    #[doc(alias = "hipLaunchCooperativeKernel")]
    #[doc(alias = "cuLaunchCooperativeKernel")]
    #[doc(alias = "cudaLaunchCooperativeKernel")]
    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// Everything but the arguments at once.
    #[inline]
    pub fn config(mut self, config: LaunchConfig) -> Self {
        self.grid = Some(config.grid);
        self.block = Some(config.block);
        self.dynamic_lds = config.dynamic_lds;
        self.cooperative = config.cooperative;
        self
    }

    /// The kernel's next argument: see [`KernelArg`] for what may be passed.
    #[inline]
    pub fn arg(mut self, argument: impl KernelArg<'a>) -> Self {
        self.arguments.push(argument, &self.function.check());
        self
    }

    /// Checks everything and keeps the result, for launching more than once.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) names the first thing that does not fit.
    pub fn prepare(mut self) -> Result<PreparedLaunch<'a>> {
        let config = self.finish()?;
        Ok(PreparedLaunch::new(self.function, self.stream, config, self.arguments))
    }

    /// Checks everything and enqueues the kernel (`hipModuleLaunchKernel`); does not wait for it.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) names the first thing that does not fit, and nothing was enqueued;
    /// [`Error::Fault`](crate::Error::Fault) if the stream has faulted, else [`Error::Hip`](crate::Error::Hip). A fault of
    /// this kernel is reported by the next call that waits for the stream.
    ///
    /// # Safety
    /// With these arguments the kernel
    /// - accesses only memory that was passed to it: elements of the buffers and views, and what a [`DeviceAddress`]
    ///   or an address inside a value lets it reach;
    /// - writes only through what was passed as `&mut` or a [`DeviceSliceMut`], or through such an address;
    /// - takes each value's bytes for a type they are valid for.
    ///
    /// Memory that it reaches through addresses is neither freed nor used by anything else until the kernel has ended.
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

    /// Checks everything and gives the parts.
    pub(crate) fn into_parts(mut self) -> Result<(&'a Function, LaunchConfig, Arguments<'a>)> {
        let config = self.finish()?;
        Ok((self.function, config, self.arguments))
    }

    /// Everything that can be checked.
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
