//! The current device of a thread, and the table that other code calls.

use std::cell::Cell;
use std::sync::OnceLock;

use hip_sys::Table;

thread_local! {
    /// The table and ordinal of the thread's current device.
    static CURRENT: Cell<(usize, i32)> = const { Cell::new((0, 0)) };
    /// The table of the device that was made current last.
    static LAST_TABLE: Cell<Option<&'static Table>> = const { Cell::new(None) };
}

/// The table of the first device of the process.
static FIRST_TABLE: OnceLock<&'static Table> = OnceLock::new();

fn key(table: &'static Table, ordinal: i32) -> (usize, i32) {
    (std::ptr::from_ref(table).addr(), ordinal)
}

/// Whether this device is the one that this crate last made current on the thread.
#[inline]
pub(crate) fn is(table: &'static Table, ordinal: i32) -> bool {
    CURRENT.get() == key(table, ordinal)
}

/// Records that a device is now the thread's current one.
pub(crate) fn set(table: &'static Table, ordinal: i32) {
    CURRENT.set(key(table, ordinal));
    LAST_TABLE.set(Some(table));
}

/// Makes the next call on this thread set its device again.
pub(crate) fn forget() {
    CURRENT.set((0, 0));
}

/// The ordinal of the thread's current device, if this crate has made one current.
#[cfg(any(test, feature = "trace-calls"))]
pub(crate) fn ordinal() -> Option<i32> {
    let (table, ordinal) = CURRENT.get();
    (table != 0).then_some(ordinal)
}

/// Records that a device was opened; only the first one's table is kept.
pub(crate) fn opened(table: &'static Table) {
    FIRST_TABLE.get_or_init(|| table);
}

/// The table of the device that was opened first.
pub(crate) fn first_table() -> Option<&'static Table> {
    FIRST_TABLE.get().copied()
}

/// The table of the thread's current device, else the first one's.
pub(crate) fn table_in_use() -> Option<&'static Table> {
    // A thread that is ending has lost its current device.
    LAST_TABLE.try_with(Cell::get).ok().flatten().or_else(first_table)
}
