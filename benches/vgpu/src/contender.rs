//! What can run a workload.

use std::time::Duration;

use anyhow::Result;

/// A workload with its memory on something that can run it.
pub(crate) trait Contender {
    /// Puts the output back to what it was before the first launch.
    fn reset(&mut self) -> Result<()>;

    /// Launches the kernel and waits until it is done; how long both took.
    fn launch(&mut self) -> Result<Duration>;

    /// What is in the output.
    fn output(&mut self) -> Result<Vec<f32>>;
}
