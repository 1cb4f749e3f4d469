//! Data that a program attaches to its streams: numbers that name them, and attributes.

use hip_sys::hipSynchronizationPolicy;

/// Attributes that are stored and have no effect.
#[derive(Clone, Copy)]
pub(crate) struct Attributes {
    pub(crate) window: Window,
    pub(crate) policy: hipSynchronizationPolicy,
}

impl Default for Attributes {
    fn default() -> Self {
        Self { window: Window::default(), policy: hipSynchronizationPolicy::hipSyncPolicyAuto }
    }
}

/// How the program would like a range of memory to be cached.
#[derive(Clone, Copy, Default)]
pub(crate) struct Window(pub(crate) hip_sys::hipAccessPolicyWindow);

// SAFETY: the pointer in it is only handed back.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}
