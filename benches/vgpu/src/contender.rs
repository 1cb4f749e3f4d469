//! Devices that can run a workload.

use std::time::Duration;

use anyhow::Result;

/// A workload with its memory, on a device that can run it.
pub(crate) trait Contender {
    /// Restores the output to its content before the first launch.
    fn reset(&mut self) -> Result<()>;

    /// Launches the kernel, waits until it is done, and returns how long both took.
    fn launch(&mut self) -> Result<Duration>;

    /// The content of the output.
    fn output(&mut self) -> Result<Vec<f32>>;
}
