//! A launch that is checked once and enqueued many times.

use super::{Arguments, KernelArg, LaunchConfig};
use crate::error::Result;
use crate::function::Function;
use crate::stream::Stream;

/// A launch whose checks are done. Enqueuing it costs only the call into HIP and the ordering of streams.
///
/// It borrows its arguments for as long as it lives; [`set`](Self::set) replaces one.
#[derive(Debug)]
pub struct PreparedLaunch<'a> {
    function: &'a Function,
    stream: &'a Stream,
    config: LaunchConfig,
    arguments: Arguments<'a>,
}

impl<'a> PreparedLaunch<'a> {
    pub(super) fn new(
        function: &'a Function,
        stream: &'a Stream,
        config: LaunchConfig,
        mut arguments: Arguments<'a>,
    ) -> Self {
        arguments.pointers(function.layout());
        Self { function, stream, config, arguments }
    }

    /// Grid, block and dynamic LDS.
    pub fn config(&self) -> LaunchConfig {
        self.config
    }

    /// Replaces the argument at `index`, counted from 0.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) if the kernel has no such parameter or the argument does not
    /// fit it; the old argument then remains.
    pub fn set(&mut self, index: usize, argument: impl KernelArg<'a>) -> Result<()> {
        let replaced = self.arguments.replace(index, argument, &self.function.check());
        self.arguments.pointers(self.function.layout());
        Ok(replaced?)
    }

    /// Enqueues the kernel (`hipModuleLaunchKernel`); does not wait for it.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if the stream has faulted, else
    /// [`Error::Hip`](crate::Error::Hip).
    ///
    /// # Safety
    /// As [`Launch::enqueue`](super::Launch::enqueue), with the present arguments.
    #[inline]
    pub unsafe fn enqueue(&mut self) -> Result<()> {
        // SAFETY: the arguments were checked, and the caller vouches for what the kernel does with them.
        unsafe { self.arguments.enqueue(self.function, self.stream, &self.config) }
    }
}
