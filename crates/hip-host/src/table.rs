//! Chooses the table that the functions call.

use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use hip::Device;
use hip_sys::Table;

use crate::registered;

/// The table that the program has chosen; null if none.
static CHOSEN: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());
/// The table that knows all registrations; null if none does.
static READY: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());
/// Set when the process exits, or the library that contains this code is closed.
static ENDED: AtomicBool = AtomicBool::new(false);
/// The table of the default device, or why there is none.
static DEFAULT: OnceLock<Result<&'static Table, String>> = OnceLock::new();

thread_local! {
    /// Set while this thread opens or updates a table. Nested calls then find no table.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Makes all host code of the process call this table from now on, whatever devices are open.
///
/// Memory, streams and other objects belong to the table that made them.
pub fn set_table(table: &'static Table) {
    CHOSEN.store(ptr::from_ref(table).cast_mut(), Ordering::Release);
}

/// Why functions find no device: the error of [`Device::open_default`] when they needed one. `None` if that
/// has not failed.
pub fn failure() -> Option<&'static str> {
    DEFAULT.get()?.as_ref().err().map(String::as_str)
}

/// The table in use, with all registrations.
pub(crate) fn find() -> Option<&'static Table> {
    if ENDED.load(Ordering::Acquire) {
        return None;
    }
    let table = chosen().or_else(Device::table_in_use).or_else(default)?;
    if !ptr::eq(READY.load(Ordering::Acquire), table) {
        let told = not_again(|| registered::tell(table, || ready(Some(table))));
        if told == Some(true) {
            end_with_process();
        }
    }
    Some(table)
}

fn chosen() -> Option<&'static Table> {
    // SAFETY: the pointer is null, or comes from a reference that is valid as long as the process lives.
    unsafe { CHOSEN.load(Ordering::Acquire).as_ref() }
}

/// The table of the default device, which is opened once.
fn default() -> Option<&'static Table> {
    // Calls made while opening it must not wait for the opening.
    not_again(|| {
        let opened = DEFAULT.get_or_init(|| {
            let open = || -> hip::Result<&'static Table> {
                let device = Device::open_default()?;
                device.make_current()?;
                Ok(device.table())
            };
            open().map_err(|error| {
                tracing::error!("host code needs a device: {error}");
                error.to_string()
            })
        });
        opened.as_ref().ok().copied()
    })
    .flatten()
}

/// Records which table knows all registrations. Call it only under their lock.
pub(crate) fn ready(table: Option<&'static Table>) {
    READY.store(table.map_or(ptr::null_mut(), |table| ptr::from_ref(table).cast_mut()), Ordering::Release);
}

/// Runs something, unless this thread is already doing it.
fn not_again<T>(what: impl FnOnce() -> T) -> Option<T> {
    struct Done;
    impl Drop for Done {
        fn drop(&mut self) {
            BUSY.set(false);
        }
    }
    if BUSY.replace(true) {
        return None;
    }
    let _done = Done;
    Some(what())
}

/// Arranges that everything is unregistered when the process exits, or this code is unloaded.
///
/// Host code also unregisters itself then, but too late: exit handlers run in reverse order, and the table's
/// library was loaded after the host code's constructors ran. So call this once the table is loaded.
fn end_with_process() {
    extern "C" fn end() {
        if !ENDED.swap(true, Ordering::AcqRel) {
            registered::forget_all();
        }
    }
    // SAFETY: the function may be called at any time. If there is no room for the handler, host code
    // unregisters itself.
    unsafe { libc::atexit(end) };
}
