//! The callback thread: signal handlers, and functions to be called soon.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use hsa_sys::*;

use super::event::lock;
use super::signal::{Condition, Signal, wait_as_service, wait_for_signals};
use super::waiters::{self, Waits};
use super::{S, call};

enum Task {
    /// Called when the signal's value meets the condition, and again each time it returns true.
    Handler {
        signal: Signal,
        condition: Condition,
        function: unsafe extern "C" fn(hsa_signal_value_t, *mut c_void) -> bool,
    },
    /// Called once.
    Function(unsafe extern "C" fn(*mut c_void)),
}

struct Entry {
    task: Task,
    /// The callback's data, as a number, because only the callback knows what it points to.
    argument: usize,
}

impl Entry {
    /// The signal that it waits for.
    fn signal(&self) -> Option<Signal> {
        match &self.task {
            Task::Handler { signal, .. } => Some(*signal),
            Task::Function(_) => None,
        }
    }
}

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// How many entries there have been.
static PUSHED: AtomicU64 = AtomicU64::new(0);
static THREAD: Once = Once::new();
/// A callback is running. It is set before its entry is removed, so that whoever finds no entry due sees it.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// How long the end of the process waits for callbacks.
const LAST_CALLS: Duration = Duration::from_secs(1);

thread_local! {
    /// Whether this is the callback thread.
    static CALLS: Cell<bool> = const { Cell::new(false) };
}

fn push(entry: Entry) {
    lock(&ENTRIES).push(entry);
    PUSHED.fetch_add(1, Ordering::SeqCst);
}

fn add(entry: Entry) -> Result<(), S> {
    push(entry);
    let mut started = true;
    THREAD.call_once(|| {
        started = std::thread::Builder::new().name("vgpu-handlers".to_owned()).spawn(serve).is_ok();
        // SAFETY: the function may be called at any time. Functions that were registered before the first
        // handler, such as destructors of a library's statics, run after it.
        if unsafe { libc::atexit(finish) } != 0 {
            tracing::debug!("callbacks that are due when the process ends may run late");
        }
    });
    waiters::notify();
    if started { Ok(()) } else { Err(S::HSA_STATUS_ERROR_OUT_OF_RESOURCES) }
}

/// Removes the handlers of a signal that is being destroyed.
pub(super) fn forget(gone: Signal) {
    lock(&ENTRIES).retain(|entry| !matches!(&entry.task, Task::Handler { signal, .. } if *signal == gone));
}

/// The index of the first entry that is due, and its signal's value.
fn find_due(entries: &[Entry]) -> Option<(usize, i64)> {
    entries.iter().enumerate().find_map(|(index, entry)| match &entry.task {
        Task::Handler { signal, condition, .. } => {
            let value = signal.load();
            condition.holds(value).then_some((index, value))
        }
        Task::Function(_) => Some((index, 0)),
    })
}

/// Removes the first entry that is due.
fn take_due() -> Option<(Entry, i64)> {
    let mut entries = lock(&ENTRIES);
    let (index, value) = find_due(&entries)?;
    RUNNING.store(true, Ordering::SeqCst);
    Some((entries.remove(index), value))
}

/// Runs callbacks that are due before the process exits and destructors invalidate what they use.
extern "C" fn finish() {
    if CALLS.try_with(Cell::get).unwrap_or(true) {
        return;
    }
    // A forked child has no callback thread, and the lock may be held for ever.
    let is_idle = || {
        ENTRIES
            .try_lock()
            .is_ok_and(|entries| find_due(&entries).is_none() && !RUNNING.load(Ordering::SeqCst))
    };
    wait_for_signals([], Some(Instant::now() + LAST_CALLS), is_idle);
}

fn serve() {
    CALLS.set(true);
    loop {
        let mut due = None;
        let pushed = PUSHED.load(Ordering::SeqCst);
        let signals: Vec<Signal> = lock(&ENTRIES).iter().filter_map(Entry::signal).collect();
        // Ends when there is another entry, whose signal is to be waited for, too.
        wait_as_service(Waits::AsHandler, &signals, || {
            due = take_due();
            due.is_some() || PUSHED.load(Ordering::SeqCst) != pushed
        });
        let Some((entry, value)) = due else { continue };
        let argument = entry.argument as *mut c_void;
        // The lock is not held here, because callbacks call HSA functions, including these.
        match entry.task {
            Task::Handler { signal, function, .. } => {
                // SAFETY: whoever registered the handler allowed this call from another thread.
                let again = unsafe { function(value, argument) };
                // The callback may have destroyed the signal.
                if again && Signal::from_handle(signal.handle()).is_some() {
                    push(entry);
                }
            }
            // SAFETY: whoever passed the function allowed this call from another thread.
            Task::Function(function) => unsafe { function(argument) },
        }
        RUNNING.store(false, Ordering::SeqCst);
    }
}

unsafe extern "C" fn signal_async_handler(
    signal: hsa_signal_t,
    condition: hsa_signal_condition_t,
    value: hsa_signal_value_t,
    handler: hsa_amd_signal_handler,
    argument: *mut c_void,
) -> S {
    call(|| {
        let function = handler.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let signal = Signal::required(signal)?;
        let condition = Condition::new(condition, value).ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        add(Entry { task: Task::Handler { signal, condition, function }, argument: argument as usize })
    })
}

unsafe extern "C" fn async_function(
    callback: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> S {
    call(|| {
        let function = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        add(Entry { task: Task::Function(function), argument: argument as usize })
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_signal_async_handler(signal_async_handler).hsa_amd_async_function(async_function);
}
