//! Reusable signals.

use std::sync::{Mutex, PoisonError};

use hsa_sys::hsa_signal_t;

use super::{Answer, Calls, Errors};

/// A pool of unused signals.
///
/// On real hardware, creating a signal takes a system call.
#[derive(Debug)]
pub struct SignalPool {
    free: Mutex<Vec<hsa_signal_t>>,
    keep: usize,
}

/// A pool keeps at most this many signals, unless it is told otherwise.
const KEEP: usize = 1024;

impl Default for SignalPool {
    fn default() -> Self {
        Self::new()
    }
}

impl SignalPool {
    /// Makes an empty pool.
    pub const fn new() -> Self {
        Self::keeping(KEEP)
    }

    /// Makes an empty pool that keeps at most so many signals.
    pub const fn keeping(keep: usize) -> Self {
        Self { free: Mutex::new(Vec::new()), keep }
    }

    /// Takes a signal and sets its value; makes a new one if the pool is empty.
    ///
    /// # Errors
    /// HSA cannot make a signal.
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

    /// Destroys the signals that are in the pool.
    ///
    /// # Safety
    /// They came from the same implementation.
    pub unsafe fn clear<E: Errors>(&self, hsa: Calls<E>) {
        let free = std::mem::take(&mut *self.free.lock().unwrap_or_else(PoisonError::into_inner));
        for signal in free {
            // SAFETY: nothing uses signals that were given back.
            unsafe { hsa.signal_destroy(signal) };
        }
    }

    /// Returns a signal to the pool, or destroys it if the pool is full.
    ///
    /// # Safety
    /// The signal came from [`take`](Self::take) of this pool with the same implementation, and nothing uses
    /// it any more.
    pub unsafe fn give_back<E: Errors>(&self, hsa: Calls<E>, signal: hsa_signal_t) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < self.keep {
            free.push(signal);
        } else {
            drop(free);
            // SAFETY: as this function's contract.
            unsafe { hsa.signal_destroy(signal) };
        }
    }
}
