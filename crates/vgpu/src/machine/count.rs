//! How many instructions dispatches execute, when somebody wants to know.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Instructions that waves executed. Each counts once when a wave comes to it, whatever EXEC says; waits and hints, which
/// have nothing to do here, count not at all.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Executed {
    /// Instructions, each once per wave.
    pub instructions: u64,
    /// Each as often as its wave has lanes, active or not.
    pub lane_instructions: u64,
}

/// What all dispatches executed while counting was on.
#[derive(Default, Debug)]
pub(super) struct Counter {
    on: AtomicBool,
    total: Mutex<Executed>,
}

impl Counter {
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub(super) fn switch(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    pub(super) fn add(&self, executed: Option<Executed>) {
        if let Some(executed) = executed {
            let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
            total.instructions += executed.instructions;
            total.lane_instructions += executed.lane_instructions;
        }
    }

    pub(super) fn total(&self) -> Executed {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
