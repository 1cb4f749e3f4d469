//! Which device is the current one of a thread, and whose functions code of others calls.

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

/// Whether this crate has made a device the thread's current one, and no other since.
#[inline]
pub(crate) fn is(table: &'static Table, ordinal: i32) -> bool {
    CURRENT.get() == key(table, ordinal)
}

/// A device has become the thread's current one.
pub(crate) fn set(table: &'static Table, ordinal: i32) {
    CURRENT.set(key(table, ordinal));
    LAST_TABLE.set(Some(table));
}

/// Has the next call on this thread make its device current.
pub(crate) fn forget() {
    CURRENT.set((0, 0));
}

/// The ordinal of the thread's current device, if this crate has made one current.
#[cfg(any(test, feature = "trace-calls"))]
pub(crate) fn ordinal() -> Option<i32> {
    let (table, ordinal) = CURRENT.get();
    (table != 0).then_some(ordinal)
}

/// A device was opened; the first one's table counts.
pub(crate) fn opened(table: &'static Table) {
    FIRST_TABLE.get_or_init(|| table);
}

/// The table of the device that was opened first.
pub(crate) fn first_table() -> Option<&'static Table> {
    FIRST_TABLE.get().copied()
}

/// The table of the thread's current device, else the first one's.
pub(crate) fn table_in_use() -> Option<&'static Table> {
    // A thread that is ending has no current device any more.
    LAST_TABLE.try_with(Cell::get).ok().flatten().or_else(first_table)
}
