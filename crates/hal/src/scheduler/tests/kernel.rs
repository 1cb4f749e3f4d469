//! A model of the kernel `hal_schedule`, in crates/hal-library/device/schedule.cuh.

use super::super::layout::{CANCELLED, FREE, ISSUING, READY, WAITING};
use super::super::list::{Word as _, Words};

/// The packets of an entry are in its queue.
pub(super) const ISSUED: u32 = 2;

/// What the kernel finds in slots.
pub(super) trait Entries: Words {
    fn capacity(&self) -> u64;
    /// Whether all that the entry waits for has come.
    fn is_ready(&self, slot: u64) -> bool;
    /// Raises the semaphores that the entry signals.
    fn raise(&self, slot: u64);
    /// Puts its packets into its queue.
    fn issue(&self, slot: u64);
    /// The signal of its end.
    fn end(&self, slot: u64) -> i64;
}

/// A run of the kernel.
pub(super) fn run(entries: &impl Entries) {
    let (head, tail) = (entries.head().get(), entries.tail().get());
    let slots = || (head..tail).map(|number| number % entries.capacity());
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for slot in slots() {
            has_changed |= examine(entries, slot);
        }
    }
    for slot in slots() {
        let state = entries.state(slot);
        if state.get() == READY {
            state.set(ISSUING);
            entries.issue(slot);
            state.set(ISSUED);
        }
    }
}

fn examine(entries: &impl Entries, slot: u64) -> bool {
    let state = entries.state(slot);
    match state.get() {
        ISSUED | READY => {
            let end = entries.end(slot);
            if end == 0 {
                entries.raise(slot);
            }
            if end <= 0 {
                state.set(FREE);
            }
            end == 0
        }
        CANCELLED => {
            state.set(FREE);
            false
        }
        WAITING => entries.is_ready(slot) && state.exchange(WAITING, READY),
        _ => false,
    }
}
