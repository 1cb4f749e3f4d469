//! Whether functions that release something wait for the device first.

use std::cell::Cell;

thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(true) };
}

/// Whether the calling thread has not promised that nothing uses the objects that it releases.
pub(crate) fn waits() -> bool {
    WAITS.get()
}

/// The extension `set_release_waits`.
pub(crate) unsafe extern "C" fn set_release_waits(waits: bool) -> bool {
    WAITS.replace(waits)
}
