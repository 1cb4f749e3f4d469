//! Where text printed by device code goes.

use std::ffi::{c_int, c_void};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use hip_sys::DeviceOutput;

/// Standard output or standard error of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Output,
    Error,
}

/// Each queue that drops output of device code prints this once, on standard error.
pub(crate) const DROPPED: &str =
    "ferrocm: device code prints more than is kept: some of its output is dropped\n";

/// A program's function for the text, and its context.
struct Receiver {
    function: DeviceOutput,
    data: *mut c_void,
}

// SAFETY: the program said that the function can be called from any thread.
unsafe impl Send for Receiver {}

static RECEIVER: Mutex<Option<Receiver>> = Mutex::new(None);

/// Passes text on. Text that cannot be written is lost, as with `printf` on the host.
pub(crate) fn write(channel: Channel, text: &[u8]) {
    if text.is_empty() {
        return;
    }
    let receiver = RECEIVER.lock().unwrap_or_else(PoisonError::into_inner);
    let written = match (&*receiver, channel) {
        (Some(Receiver { function, data }), _) => {
            let number: c_int = if channel == Channel::Output { 1 } else { 2 };
            // SAFETY: the program gave the function for such calls, which the lock lets happen one at a time.
            unsafe { function(*data, number, text.as_ptr().cast(), text.len()) };
            Ok(())
        }
        (None, Channel::Output) => {
            let mut out = std::io::stdout().lock();
            out.write_all(text).and_then(|()| out.flush())
        }
        (None, Channel::Error) => std::io::stderr().lock().write_all(text),
    };
    if let Err(error) = written {
        tracing::warn!(%error, "output of device code could not be written");
    }
}

/// The extension `device_output`.
pub(crate) unsafe extern "C" fn device_output(function: Option<DeviceOutput>, data: *mut c_void) {
    let mut receiver = RECEIVER.lock().unwrap_or_else(PoisonError::into_inner);
    *receiver = function.map(|function| Receiver { function, data });
}
