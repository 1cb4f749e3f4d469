//! How a stream fails, and the library's reports about it and its kernels.

use std::ffi::c_char;
use std::time::Duration;

use hip_sys::{Table, hipError_t, hipStream_t};

use super::Stream;
use crate::call::{call, is_ready};
use crate::device::Device;
use crate::error::{Error, FaultReport, HostLaunchError, Result, is_fault};

/// The handle of a stream, and its device. Does not keep the stream alive.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) device: Device,
    pub(crate) handle: hipStream_t,
}

// SAFETY: HIP's stream handles may be used by any thread.
unsafe impl Send for Queue {}
// SAFETY: HIP's functions on a stream may be called by several threads at once.
unsafe impl Sync for Queue {}

/// For how many kernels of a stream counters are kept ([`Stream::take_counters`]).
pub const COUNTED_KERNELS: usize = 1024;

/// More bytes than any text about a stream needs.
const LONGEST_TEXT: usize = 1 << 30;

/// An extension that returns a text about a stream.
type StreamText = unsafe extern "C" fn(hip_sys::hipStream_t, *mut c_char, usize) -> usize;

impl Stream {
    /// Switches counters on or off for kernels that begin on this stream from now on: instructions by class,
    /// active lanes, memory traffic, LDS bank conflicts, occupancy. With counters, kernels run much slower.
    /// [`Stream::take_counters`] returns the results.
    ///
    /// Only virtual GPUs can do this.
    ///
    /// # Errors
    /// [`Error::Hip`] with `hipErrorNotSupported` on other devices; [`Error::Fault`] if the stream has
    /// faulted.
    pub fn set_counters(&self, on: bool) -> Result<()> {
        const OPERATION: &str = "stream_set_counters";
        let not_supported = Error::Hip { operation: OPERATION, code: hipError_t::hipErrorNotSupported };
        let set = self.table().ext.stream_set_counters.ok_or(not_supported)?;
        self.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        match unsafe { set(self.handle(), on) } {
            hipError_t::hipSuccess => Ok(()),
            code => Err(self.queue().explain(OPERATION, code)),
        }
    }

    /// The counters of kernels that have ended on this stream since the last call, the oldest first. At most
    /// the last [`COUNTED_KERNELS`] are kept.
    ///
    /// # Errors
    /// [`Error::Hip`] with `hipErrorUnknown` if the library's answer cannot be read.
    pub fn take_counters(&self) -> Result<Vec<gpu_report::Counters>> {
        let Some(take) = self.table().ext.stream_take_counters else { return Ok(Vec::new()) };
        self.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        let Some(text) = (unsafe { self.queue().text(take) }) else { return Ok(Vec::new()) };
        gpu_report::Counters::read_all(&text).map_err(|error| {
            tracing::error!("counters cannot be read: {error}");
            Error::Hip { operation: "stream_take_counters", code: hipError_t::hipErrorUnknown }
        })
    }
}

impl Queue {
    /// Turns an error into [`Error::Fault`], with the stream's report, if it is a fault.
    #[inline]
    pub(crate) fn check<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.explain_error(error))
    }

    #[cold]
    fn explain_error(&self, error: Error) -> Error {
        match error {
            Error::Hip { operation, code } => self.explain(operation, code),
            // It may come from an event, which does not know its stream.
            Error::Fault(report) => self.explain(report.operation, report.code),
            other => other,
        }
    }

    /// Blocks until the stream runs nothing any more, by whichever call can tell, and returns the result of
    /// waiting for the stream. The outer error means that something may still run. The device must be
    /// current.
    pub(crate) fn finish(&self) -> Result<Result<()>> {
        // SAFETY: the handle is valid.
        match self.check(unsafe { call!(self.device.table(), hipStreamSynchronize(self.handle)) }) {
            Ok(()) => Ok(Ok(())),
            // A failed stream runs nothing any more. Work that it waited for may still run.
            Err(error) if error.tells_the_end() => Ok(Err(error)),
            Err(error) => self.finish_otherwise(error),
        }
    }

    /// Called after a failed wait, which may say nothing about the work.
    #[cold]
    fn finish_otherwise(&self, error: Error) -> Result<Result<()>> {
        loop {
            // SAFETY: the handle is valid.
            let queried = unsafe { call!(self.device.table(), hipStreamQuery(self.handle)) };
            match self.check(is_ready(queried)) {
                Ok(true) => return Ok(Err(error)),
                Ok(false) => std::thread::sleep(Duration::from_millis(1)),
                Err(error) if error.tells_the_end() => return Ok(Err(error)),
                Err(_) => break,
            }
        }
        // SAFETY: the call takes no arguments.
        match unsafe { call!(self.device.table(), hipDeviceSynchronize()) } {
            Ok(()) => Ok(Err(error)),
            Err(_) => Err(error),
        }
    }

    #[cold]
    pub(crate) fn explain(&self, operation: &'static str, code: hipError_t) -> Error {
        if let Some(error) = host_launch(self.device.table(), operation, code) {
            return error;
        }
        // A queue also fails this way, but so do calls that leave the stream intact.
        let asked = is_fault(code) || code == hipError_t::hipErrorLaunchOutOfResources;
        match if asked { self.fault_text() } else { None } {
            Some(text) => {
                let details = self.fault_details();
                Error::Fault(Box::new(FaultReport { operation, code, text, contained: true, details }))
            }
            None => self.device.explain(operation, code),
        }
    }

    /// The report of the fault that ended this stream, if the implementation has one.
    fn fault_text(&self) -> Option<String> {
        // SAFETY: the handle is valid.
        let text = unsafe { self.text(self.device.table().ext.stream_fault_report?)? };
        Some(text.trim_end_matches(['\0', '\n']).to_owned())
    }

    /// Whether the implementation has a fault report. Calls nothing else.
    pub(crate) fn has_faulted(&self) -> bool {
        self.fault_text().is_some()
    }

    /// The fault report as data.
    fn fault_details(&self) -> Option<Box<gpu_report::Fault>> {
        // SAFETY: the handle is valid.
        let text = unsafe { self.text(self.device.table().ext.stream_fault_json?)? };
        match gpu_report::Fault::from_json(&text) {
            Ok(fault) => Some(Box::new(fault)),
            Err(error) => {
                tracing::error!("the report of a fault cannot be read: {error}");
                None
            }
        }
    }

    /// A text about the stream; `None` if it is empty.
    ///
    /// # Safety
    /// The function copies a text about the stream to a buffer of the given size, truncated and
    /// NUL-terminated, and returns the full length without the NUL.
    unsafe fn text(&self, read: StreamText) -> Option<String> {
        // SAFETY: the handle is valid, and the caller vouches for the function.
        unsafe { whole_text(|buffer, size| read(self.handle, buffer, size)) }
    }
}

/// The failed launch by compiled host code, if the thread's last call returned one.
#[cold]
pub(crate) fn host_launch(table: &Table, operation: &'static str, code: hipError_t) -> Option<Error> {
    let read = table.ext.launch_failure?;
    // SAFETY: the extension does what `whole_text` asks.
    let text = unsafe { whole_text(|buffer, size| read(buffer, size)) }?;
    Some(Error::HostLaunch(Box::new(HostLaunchError { operation, code, text })))
}

/// A text of the library; `None` if it is empty.
///
/// # Safety
/// The function copies a text to a buffer of the given size, truncated and NUL-terminated, and returns the
/// full length without the NUL.
unsafe fn whole_text(read: impl Fn(*mut c_char, usize) -> usize) -> Option<String> {
    let mut text = vec![0_u8; 1024];
    loop {
        let length = read(text.as_mut_ptr().cast(), text.len());
        if length == 0 {
            return None;
        }
        // If the text and its NUL do not fit, the text was truncated.
        if length < text.len() {
            text.truncate(length);
            return Some(String::from_utf8_lossy(&text).into_owned());
        }
        // Reject an impossible length.
        let enough = length.checked_add(1).filter(|enough| *enough <= LONGEST_TEXT)?;
        text.resize(enough, 0);
    }
}
