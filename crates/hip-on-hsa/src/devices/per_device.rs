//! Data that higher layers keep for each device.

use std::sync::{PoisonError, RwLock};

use crate::gpu::Gpu;

/// A value for each device, created on first use. Devices and values are never removed.
pub(crate) struct PerDevice<T: 'static>(RwLock<Vec<&'static T>>);

impl<T: Default> PerDevice<T> {
    pub(crate) const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// The device's value.
    pub(crate) fn of(&self, gpu: &Gpu) -> &'static T {
        let ordinal = gpu.ordinal as usize;
        if let Some(found) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(ordinal) {
            return found;
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        while all.len() <= ordinal {
            all.push(Box::leak(Box::default()));
        }
        all[ordinal]
    }
}
