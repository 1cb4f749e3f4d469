//! Copies in the background.

use std::sync::Arc;

use hsa_sys::hsa_signal_t;

use crate::error::Result;
use crate::queue::Held;
use crate::{Allocation, Completion, Signal};

/// Begins to copy `len` bytes once all of the signals are 0; both allocations are held until the end.
/// (`hsa_amd_memory_async_copy`)
///
/// # Errors
/// A range outside its allocation, allocations of different runtimes, or what the runtime says.
#[doc(alias = "hsa_amd_memory_async_copy")]
pub fn copy_async(
    to: (&Arc<Allocation>, usize),
    from: (&Arc<Allocation>, usize),
    len: usize,
    after: &[&Signal],
) -> Result<Completion> {
    let agent = to.0.pool().agent();
    let runtime = agent.runtime();
    let from_agent = from.0.pool().agent();
    runtime.is_same(from_agent.runtime())?;
    for signal in after {
        runtime.is_same(signal.runtime())?;
    }
    let target = to.0.range(to.1, len)?;
    let source = from.0.range(from.1, len)?;
    let dependencies: Vec<hsa_signal_t> = after.iter().map(|signal| signal.raw()).collect();
    let signal = Signal::new(runtime, 1)?;
    // SAFETY: both ranges lie in their allocations, which the completion holds until the copy has ended, as it holds the
    // signals.
    unsafe {
        runtime.calls().async_copy(
            (target, agent.raw()),
            (source, from_agent.raw()),
            len,
            &dependencies,
            signal.raw(),
        )
    }?;
    let held = Held {
        signals: after.iter().map(|&signal| signal.clone()).collect(),
        memory: vec![Arc::clone(to.0), Arc::clone(from.0)],
        kernel: None,
    };
    Ok(Completion::of_copy(signal, agent.clone(), held))
}
