//! Calls from device code to the host: `printf`, `assert`, `malloc` and functions of the program.
//!
//! The layouts and the protocol are those of AMD's device libraries (ROCm 5.2 to 7.2). Each queue has a
//! buffer of packets, one for each wave that the device can hold, in two lists: free ones and those ready for
//! the host. A wave takes a free packet, fills in a row of eight words for each enabled lane, puts it on the
//! ready list, adds one to the doorbell signal and spins until the host has cleared the packet's ready flag.
//! The host's answer is in the first two words of each row. Heads of the lists are a packet's index and,
//! above it, a tag that changes with each use.
//!
//! A kernel can write anything to all of this memory, so the host trusts none of it: indices are masked to
//! existing packets, lists end where they repeat, messages are limited, and only functions that the program
//! has registered are called ([`functions`]).

mod functions;
mod message;
mod packets;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

pub(crate) use functions::device_function;
use hip_sys::hipError_t;
use hsa_sys::hsa_signal_t;
use message::{Messages, Text};
#[cfg(feature = "fuzzing")]
pub(crate) use packets::fuzz;
use packets::{Host, Packets, Served};

use crate::error::Result;
use crate::gpu::Gpu;
use crate::queue::progress::Progress;
use crate::runtime::{Runtime, runtime};

/// The calls of one queue's kernels.
pub(crate) struct Hostcalls {
    runtime: &'static Runtime,
    gpu: &'static Gpu,
    progress: Arc<Progress>,
    packets: Packets,
    state: Mutex<State>,
}

struct State {
    /// No queue uses the packets any more, and their memory is freed.
    closed: bool,
    messages: Messages,
}

impl Host for Hostcalls {
    fn device_memory(&self, address: u64, size: u64) -> u64 {
        let heap = &self.gpu.heap;
        match (address, size) {
            (0, 0) => 0,
            (0, size) => heap.allocate(self.runtime, self.gpu, size),
            (address, _) => {
                heap.free(self.runtime, self.gpu, address);
                0
            }
        }
    }

    fn function(&self, words: &[u64; 8]) -> std::result::Result<[u64; 2], String> {
        functions::call(words)
    }

    fn print(&self, text: Text) {
        text.write(&self.progress);
    }
}

impl Hostcalls {
    /// Creates a buffer for a queue of the device and registers it with the listener.
    pub(crate) fn register(
        runtime: &'static Runtime,
        gpu: &'static Gpu,
        progress: Arc<Progress>,
    ) -> Result<Registered> {
        let listener = Listener::get(runtime)?;
        let info = &gpu.info;
        // The free list must never be empty for a wave.
        let count = (u64::from(info.compute_units) * u64::from(info.waves_per_cu)).max(2).next_power_of_two();
        let size = usize::try_from(packets::size(count)).map_err(|_| hipError_t::hipErrorOutOfMemory)?;
        let memory = runtime.allocate_shared(gpu.agent, size)?;
        // SAFETY: the memory was just allocated, is aligned to pages and has that size. It is freed when the
        // state is closed, under the lock that users of the packets hold.
        let packets = unsafe { Packets::new(memory as usize, count, listener.doorbell) };
        let state = State { closed: false, messages: Messages::new(packets.lanes()) };
        let calls = Arc::new(Hostcalls { runtime, gpu, progress, packets, state: Mutex::new(state) });
        listener.queues.write().unwrap_or_else(PoisonError::into_inner).push(calls.clone());
        Ok(Registered(calls))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the ready packets once, and returns whether there may be more, so that kernels with endless
    /// calls do not delay others.
    fn serve(&self) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        let Served { more, trouble, refused } = self.packets.serve(&mut state.messages, self);
        // A failing stream may drop its queue, which takes the lock.
        drop(state);
        if let Some(what) = trouble {
            self.progress.fail_stream(hipError_t::hipErrorLaunchFailure, what);
        }
        // Release the waves only now: the kernel may complete at once, and its stream must have failed by
        // then.
        if !refused.is_empty() {
            let state = self.lock();
            if !state.closed {
                refused.into_iter().for_each(|index| self.packets.release(index));
            }
        }
        more
    }
}

/// Packets that the listener serves until this is dropped.
pub(crate) struct Registered(Arc<Hostcalls>);

impl Registered {
    /// The value of `hidden_hostcall_buffer`.
    pub(crate) fn address(&self) -> u64 {
        self.0.packets.address()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let calls = &self.0;
        if let Some(Ok(listener)) = LISTENER.get() {
            let mut queues = listener.queues.write().unwrap_or_else(PoisonError::into_inner);
            queues.retain(|other| !Arc::ptr_eq(other, calls));
        }
        calls.lock().closed = true;
        // SAFETY: the queue is gone, and the listener does not touch the memory of closed packets.
        let _ = unsafe { calls.runtime.hsa.free(calls.packets.address() as *mut c_void) };
    }
}

/// The thread that answers, and the signal that wakes it.
struct Listener {
    doorbell: hsa_signal_t,
    queues: RwLock<Vec<Arc<Hostcalls>>>,
}

static LISTENER: OnceLock<Result<Listener>> = OnceLock::new();

/// How long the listener waits for the doorbell before it checks the packets anyway.
const LOOK_AT_LEAST: Duration = Duration::from_millis(100);

/// The initial value of the doorbell signal.
const FIRST: i64 = 1;

impl Listener {
    /// The only listener, started on first use.
    fn get(runtime: &'static Runtime) -> Result<&'static Listener> {
        let listener = LISTENER.get_or_init(|| {
            let doorbell = runtime.hsa.signal_create_open(FIRST)?;
            std::thread::Builder::new()
                .name("hip-hostcall".into())
                .spawn(listen)
                .map_err(|_| hipError_t::hipErrorOutOfMemory)?;
            Ok(Listener { doorbell, queues: RwLock::default() })
        });
        listener.as_ref().map_err(|&code| code)
    }
}

fn listen() {
    let Some(runtime) = runtime() else { return };
    let Ok(listener) = LISTENER.wait() else { return };
    let (mut seen, mut more) = (FIRST, false);
    loop {
        // Kernels can overwrite the doorbell, so calls that do not ring it are found a little later.
        let patience = if more { Duration::ZERO } else { LOOK_AT_LEAST };
        seen = runtime.hsa.signal_wait_change(listener.doorbell, seen, runtime.ticks(patience));
        let queues = listener.queues.read().unwrap_or_else(PoisonError::into_inner).clone();
        more = false;
        for calls in queues {
            match catch_unwind(AssertUnwindSafe(|| calls.serve())) {
                Ok(again) => more |= again,
                Err(_) => tracing::error!("a call from device code panicked"),
            }
        }
    }
}
