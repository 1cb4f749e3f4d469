//! Counts the instructions that dispatches execute, on request.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::dispatch::DispatchStats;
use super::launch::Launch;
use super::observe::{DispatchObserver, GroupObserver, Instrument, Step, Verdict};
use crate::exec::Wave;
use crate::isa::Class;

/// Instructions that waves executed. Each counts once per wave, whatever EXEC is. Both instructions of a VOPD
/// pair count. Waits and hints do not count, because they do nothing here.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Executed {
    /// Instructions, each once per wave.
    pub instructions: u64,
    /// Each instruction, counted once per lane of its wave, active or not.
    pub lane_instructions: u64,
}

/// What all dispatches executed while counting was on.
#[derive(Default, Debug)]
pub(super) struct Counter {
    on: AtomicBool,
    total: Arc<Mutex<Executed>>,
}

impl Counter {
    pub(super) fn switch(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    pub(super) fn total(&self) -> Executed {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instrument for Counter {
    fn begin(&self, _: &Launch) -> Option<Box<dyn DispatchObserver>> {
        let on = self.on.load(Ordering::Relaxed);
        on.then(|| Box::new(Counted { total: Arc::clone(&self.total), instructions: Arc::default() }) as _)
    }
}

/// One dispatch.
#[derive(Debug)]
struct Counted {
    total: Arc<Mutex<Executed>>,
    instructions: Arc<AtomicU64>,
}

impl DispatchObserver for Counted {
    fn group(&self, _: &Launch, _: [u32; 3], _: [u32; 3]) -> Option<Box<dyn GroupObserver>> {
        Some(Box::new(CountedGroup { instructions: 0, total: Arc::clone(&self.instructions) }))
    }

    fn end(&self, launch: &Launch, stats: Option<&mut DispatchStats>) {
        let instructions = self.instructions.load(Ordering::Relaxed);
        let executed = Executed { instructions, lane_instructions: instructions * launch.lanes as u64 };
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        total.instructions += executed.instructions;
        total.lane_instructions += executed.lane_instructions;
        if let Some(stats) = stats {
            stats.executed = Some(executed);
        }
    }
}

/// One workgroup.
struct CountedGroup {
    instructions: u64,
    total: Arc<AtomicU64>,
}

impl GroupObserver for CountedGroup {
    fn before(&mut self, step: &Step<'_>, _: &Wave) -> Verdict {
        if step.inst.op.class() != Class::Hint {
            self.instructions += 1 + u64::from(step.inst.dual.is_some());
        }
        Ok(())
    }

    fn end(&mut self) {
        self.total.fetch_add(self.instructions, Ordering::Relaxed);
    }
}
