//! Copies in the background.

use std::sync::Arc;

use hsa_sys::hsa_signal_t;

use crate::error::Result;
use crate::queue::Held;
use crate::{Allocation, Completion, Signal};

/// Copies `len` bytes in the background, once all of the signals are 0 (`hsa_amd_memory_async_copy`). The
/// result holds both allocations until the copy has ended.
///
/// # Errors
/// A range is outside its allocation, the allocations belong to different runtimes, or the runtime's error.
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
    // SAFETY: both ranges are inside their allocations. The completion holds the allocations and the signals
    // until the copy has ended.
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
