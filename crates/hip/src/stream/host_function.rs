//! Host functions in a stream.

use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use hip_sys::{hipError_t, hipStream_t, hipStreamCallback_t};

use super::Stream;
use crate::call::{call, leaked};
use crate::current;
use crate::error::Result;
use crate::threads;

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

static FAILURES: AtomicU64 = AtomicU64::new(0);

/// How many functions passed to [`Stream::host_function`] have panicked in this process; each was also a
/// `tracing` event of
/// level `ERROR`.
pub fn host_function_failures() -> u64 {
    FAILURES.load(Ordering::Relaxed)
}

/// Whether this thread runs a host function, and must not call HIP.
pub(crate) fn in_host_function() -> bool {
    RUNNING.get()
}

/// Releases a `what`. In a host function this happens on another thread, because a host function must not
/// call HIP, and waiting for its own stream would never end. Returns `false` if no thread can be started;
/// then the object, which may be in use, is never released.
pub(crate) fn release(what: &'static str, run: impl FnOnce() + Send + 'static) -> bool {
    if !in_host_function() {
        run();
        return true;
    }
    release_elsewhere(what, run)
}

/// As [`release`], always on another thread.
pub(crate) fn release_elsewhere(what: &'static str, run: impl FnOnce() + Send + 'static) -> bool {
    let refused = threads::run(run).err();
    if let Some(refused) = refused {
        leaked(what, &refused.keep());
        return false;
    }
    true
}

/// Runs a host function, which may panic.
pub(crate) fn run(function: impl FnOnce()) {
    RUNNING.set(true);
    // Makes the first call in the function notice that it must not use HIP.
    current::forget();
    let result = catch_unwind(AssertUnwindSafe(function));
    if let Err(panic) = result {
        FAILURES.fetch_add(1, Ordering::Relaxed);
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        tracing::error!("a host function panicked: {text}");
        // Dropping the payload of a panic may panic again.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(again);
        }
    }
    RUNNING.set(false);
}

/// HIP calls this once, with a boxed function.
unsafe extern "C" fn callback<F: FnOnce(hipError_t) + Send + 'static>(
    _stream: hipStream_t,
    status: hipError_t,
    data: *mut c_void,
) {
    // SAFETY: `enqueue` passed a boxed `F`, and HIP calls this once for it.
    let function = unsafe { Box::from_raw(data.cast::<F>()) };
    run(move || function(status));
}

impl Stream {
    /// Runs a host function when all work enqueued so far is done; work enqueued later waits for it
    /// (`hipStreamAddCallback`, which unlike `hipLaunchHostFunc` also reports a failed stream).
    ///
    /// The function runs on a thread of the library, and should be short. It must not use the device: calls
    /// of this crate that would do so return [`Error::HostFunction`](crate::Error::HostFunction). Objects
    /// that it drops (streams, buffers, modules) are released on another thread. A panic in it is caught,
    /// traced and counted by [`host_function_failures`].
    ///
    /// If the stream fails before the function's turn, the function is dropped without running.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let stream = hip::Device::open("auto")?.stream()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// // … enqueue work on the stream …
    /// stream.host_function(move || drop(sender.send("done")))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if the stream has faulted, else
    /// [`Error::Hip`](crate::Error::Hip); the function is then dropped.
    #[doc(alias = "hipLaunchHostFunc")]
    #[doc(alias = "hipStreamAddCallback")]
    #[doc(alias = "cudaLaunchHostFunc")]
    #[doc(alias = "cuLaunchHostFunc")]
    #[doc(alias = "cuStreamAddCallback")]
    #[doc(alias = "cudaStreamAddCallback")]
    pub fn host_function(&self, function: impl FnOnce() + Send + 'static) -> Result<()> {
        self.callback(move |status| {
            if status == hipError_t::hipSuccess {
                function();
            } else {
                tracing::debug!(?status, "a stream failed before a host function's turn");
            }
        })
    }

    /// Runs a host function with the stream's status once all work enqueued so far is done or the stream has
    /// failed.
    pub(crate) fn callback<F: FnOnce(hipError_t) + Send + 'static>(&self, function: F) -> Result<()> {
        self.make_current()?;
        let call: hipStreamCallback_t = Some(callback::<F>);
        let data = Box::into_raw(Box::new(function));
        // SAFETY: the handle is valid; the callback takes a boxed `F` and is called once for it, if the call
        // succeeds.
        let added = unsafe { call!(self.table(), hipStreamAddCallback(self.handle(), call, data.cast(), 0)) };
        if added.is_err() {
            // SAFETY: HIP has refused the pointer, so this function still owns it.
            drop(unsafe { Box::from_raw(data) });
        }
        self.check(added)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use crate::{DeviceBuffer, Error, fake};

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn a_host_function_runs_once_in_the_order_of_its_stream() {
        let stream = fake::device(0).stream().unwrap();
        let (sender, receiver) = channel();
        for value in 0..10 {
            let sender = sender.clone();
            stream.host_function(move || sender.send(value).unwrap()).unwrap();
        }
        drop(sender);
        stream.synchronize().unwrap();
        assert!(receiver.iter().eq(0..10));
    }

    #[test]
    fn a_host_function_of_a_failed_stream_is_dropped_unrun() {
        let stream = fake::device(0).stream().unwrap();
        let hold = fake::hold(&stream);
        let (sender, receiver) = channel();
        stream.host_function(move || sender.send("run").unwrap()).unwrap();
        fake::fault(&stream, "kernel `k`");
        drop(hold);
        assert_eq!(receiver.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
        let (sender, receiver) = channel();
        let refused = stream.host_function(move || sender.send("run").unwrap());
        assert!(matches!(refused, Err(Error::Fault(_))), "{refused:?}");
        assert_eq!(receiver.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
    }

    #[test]
    fn a_panic_in_a_host_function_is_counted_and_goes_nowhere() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("on purpose, twice");
            }
        }
        let stream = fake::device(0).stream().unwrap();
        let before = host_function_failures();
        stream.host_function(|| panic!("on purpose")).unwrap();
        stream.host_function(|| std::panic::panic_any(Bomb)).unwrap();
        let (sender, receiver) = channel();
        stream.host_function(move || sender.send(()).unwrap()).unwrap();
        receiver.recv_timeout(SOON).unwrap();
        assert!(host_function_failures() >= before + 2);
    }

    #[test]
    fn what_no_thread_releases_is_kept() {
        let device = fake::device(0);
        let (used, other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut buffer = DeviceBuffer::<u32>::zeroed(&used, 4).unwrap();
        let mut second = DeviceBuffer::<u32>::zeroed(&used, 4).unwrap();
        let owner = std::sync::Arc::new(());
        // SAFETY: nothing uses the memory.
        let foreign = unsafe {
            DeviceBuffer::<u32>::from_raw_parts(&device, second.address(), 4, owner.clone()).unwrap()
        };
        let address = buffer.address();
        buffer.fill(&used, 1).unwrap();
        let before = crate::drop_failures();
        run(|| {
            threads::REFUSED.set(true);
            drop((buffer, foreign, used));
            threads::REFUSED.set(false);
        });
        assert!(crate::drop_failures() >= before + 3);
        assert!(fake::is_allocated(address));
        assert_eq!(std::sync::Arc::strong_count(&owner), 2);
        // Nothing waits for a stream that has not ended.
        assert!(matches!(second.fill(&other, 1), Err(Error::Hip { .. })));
    }

    #[test]
    fn a_host_function_must_not_call_hip_and_may_drop_anything() {
        let device = fake::device(0);
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
        let address = buffer.address();
        let event = stream.record().unwrap();
        let (sender, receiver) = channel();
        let last = stream.clone();
        let hold = fake::hold(&stream);
        stream
            .host_function(move || {
                let results = [
                    last.synchronize(),
                    other.synchronize(),
                    event.synchronize(),
                    last.is_done().map(drop),
                    last.device().stream().map(drop),
                    last.device().synchronize(),
                    buffer.to_vec(&other).map(drop),
                ];
                sender.send(results).unwrap();
                drop((buffer, event, last, other));
            })
            .unwrap();
        drop(hold);
        // Dropping the other handle of the stream waits for the function.
        drop(stream);
        for result in receiver.recv_timeout(SOON).unwrap() {
            assert!(matches!(result, Err(Error::HostFunction)), "{result:?}");
        }
        let freed = (0..2000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !fake::is_allocated(address)
        });
        assert!(freed);
    }
}
