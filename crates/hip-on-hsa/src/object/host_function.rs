//! Functions of the program that run in stream order.

use std::ffi::c_void;

use crate::devices::stream::Stream;
use crate::devices::turn::Turn;
use crate::error::Result;
use crate::runtime::Runtime;

/// The `void*` of a program's callback, passed on untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserData(pub(crate) *mut c_void);

// SAFETY: the program handed the pointer over for use on whichever thread runs the callback.
unsafe impl Send for UserData {}
// SAFETY: as above; nothing here follows the pointer.
unsafe impl Sync for UserData {}

impl UserData {
    pub(crate) fn get(&self) -> *mut c_void {
        self.0
    }
}

/// A function of the program that runs in stream order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostFunction {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) data: UserData,
}

impl HostFunction {
    /// Enqueues the function. It does not run if the stream has failed by then.
    pub(crate) fn enqueue(self, runtime: &'static Runtime, stream: &Stream) -> Result {
        stream.run_on_host(runtime, true, move |turn| {
            if let Ok(turn) = turn {
                self.call(turn);
            }
        })
    }

    fn call(self, _turn: Turn) {
        // SAFETY: the program passed the function to be called with this data.
        unsafe { (self.function)(self.data.get()) };
    }
}
