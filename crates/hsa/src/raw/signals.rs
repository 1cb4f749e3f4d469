//! Signals that are used again.

use std::sync::{Mutex, PoisonError};

use hsa_sys::hsa_signal_t;

use super::{Answer, Calls, Errors};

/// Signals that nobody uses at present.
///
/// Creating a signal takes a system call on real hardware.
#[derive(Default, Debug)]
pub struct SignalPool {
    free: Mutex<Vec<hsa_signal_t>>,
}

/// More signals than this are given back.
const KEEP: usize = 1024;

impl SignalPool {
    /// A pool of none.
    pub const fn new() -> Self {
        Self { free: Mutex::new(Vec::new()) }
    }

    /// A signal with a value, a new one if there is none.
    ///
    /// # Errors
    /// HSA has no signal.
    pub fn take<E: Errors>(&self, hsa: Calls<E>, value: i64) -> Answer<E, hsa_signal_t> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(signal) => {
                hsa.signal_store(signal, value);
                Ok(signal)
            }
            None => hsa.signal_create(value),
        }
    }

    /// Keeps a signal for the next one, or destroys it if there are many.
    ///
    /// # Safety
    /// The signal came from [`take`](Self::take) of this pool with the same implementation, and nothing uses it any more.
    pub unsafe fn give_back<E: Errors>(&self, hsa: Calls<E>, signal: hsa_signal_t) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEEP {
            free.push(signal);
        } else {
            drop(free);
            // SAFETY: as this function's contract.
            unsafe { hsa.signal_destroy(signal) };
        }
    }
}
