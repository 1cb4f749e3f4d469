//! Which table the functions call.

use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use hip::Device;
use hip_sys::Table;

use crate::registered;

/// What the program has chosen; null if nothing.
static CHOSEN: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());
/// The table that knows everything that is registered; null if none does.
static READY: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());
/// The process exits, or the library that this code is part of is closed.
static ENDED: AtomicBool = AtomicBool::new(false);
/// Why there is no default device, or its table.
static DEFAULT: OnceLock<Result<&'static Table, String>> = OnceLock::new();

thread_local! {
    /// A table is being opened or told on this thread. What that calls finds no other.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Has all host code of the process call this table from now on, whatever devices are open.
///
/// Memory, streams and the like belong to the table that made them.
pub fn set_table(table: &'static Table) {
    CHOSEN.store(ptr::from_ref(table).cast_mut(), Ordering::Release);
}

/// Why functions find no device: what [`Device::open_default`] said when they needed one. None if it has not failed.
pub fn failure() -> Option<&'static str> {
    DEFAULT.get()?.as_ref().err().map(String::as_str)
}

/// The table in use. It knows everything that is registered.
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
    // SAFETY: null, or of a reference that is valid as long as the process lives.
    unsafe { CHOSEN.load(Ordering::Acquire).as_ref() }
}

/// The table of the default device, which is opened once.
fn default() -> Option<&'static Table> {
    // What opening it calls must not wait for itself.
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

/// Notes who knows everything that is registered. Only under the lock of that.
pub(crate) fn ready(table: Option<&'static Table>) {
    READY.store(table.map_or(ptr::null_mut(), |table| ptr::from_ref(table).cast_mut()), Ordering::Release);
}

/// Does something unless this thread is at it already.
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

/// Has everything unregistered when the process exits, or this code is unloaded.
///
/// Host code unregisters itself then, but later: it began before the table's library was loaded, which ends first. Whoever comes
/// last ends first, so this is called when the table is there.
fn end_with_process() {
    extern "C" fn end() {
        if !ENDED.swap(true, Ordering::AcqRel) {
            registered::forget_all();
        }
    }
    // SAFETY: the function may be called at any time. Where there is no room for it, host code unregisters itself.
    unsafe { libc::atexit(end) };
}
