//! Tracks: where an event is shown.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::{event, write};

/// A row of the timeline: a thread of the host, or a queue or stream of a device.
///
/// The format only has processes and threads. A device appears as a process of its own, with a number above
/// all process ids of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Track {
    pub(crate) process: u32,
    pub(crate) thread: u32,
}

/// The layer that observes what a device runs and writes it. Each layer numbers its devices separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The virtual GPU.
    VirtualGpu,
    /// HIP over AMD's HSA.
    HipOnHsa,
    /// `hip` over AMD's HIP.
    Hip,
    /// `hal`, if a program asks for profiles.
    Hal,
}

/// Linux's process ids are below this.
const PROCESSES: u32 = 1 << 22;
/// The first number for devices and their queues.
const DEVICE: u32 = 2 * PROCESSES;
/// The number of devices that are distinguished per layer.
const DEVICES: u32 = 60;

impl Track {
    /// The calling thread.
    #[must_use]
    pub fn host() -> Track {
        thread_local! {
            static THREAD: Cell<u32> = const { Cell::new(0) };
        }
        let process = std::process::id();
        let track = |thread| Track { process, thread };
        match THREAD.get() {
            0 => {
                let thread = thread_id();
                THREAD.set(thread);
                let name = thread_name(thread);
                write(&event::name("thread_name", track(thread), &name, &[]));
                track(thread)
            }
            thread => track(thread),
        }
    }

    /// Names a thread of this process, by the system's id of it.
    pub fn name_thread(thread: u32, name: &str) {
        if crate::is_on() {
            // The calling thread's own name is written first, and so replaced.
            let _ = Track::host();
            let track = Track { process: std::process::id(), thread };
            write(&event::name("thread_name", track, name, &[]));
        }
    }

    /// A queue or stream of a device. Its number must be below 2²² and unique within the device.
    ///
    /// The names are shown in the viewer; the first ones given are kept.
    #[must_use]
    pub fn of_device(
        layer: Layer,
        device: u32,
        device_name: impl FnOnce() -> String,
        queue: u32,
        queue_name: impl FnOnce() -> String,
    ) -> Track {
        static NAMED: LazyLock<Mutex<HashSet<Track>>> = LazyLock::new(Mutex::default);
        let first = layer as u32 * DEVICES;
        let process = (first + device.min(DEVICES - 1) + 1) * DEVICE + std::process::id() % PROCESSES;
        let track = Track { process, thread: process + 1 + queue % (PROCESSES - 1) };
        let whole = Track { process, thread: process };
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        if named.insert(track) {
            if named.insert(whole) {
                write(&event::name("process_name", whole, &device_name(), &[]));
            }
            write(&event::name("thread_name", track, &queue_name(), &[]));
        }
        track
    }
}

/// The system's id of the calling thread.
fn thread_id() -> u32 {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call takes nothing and cannot fail.
        unsafe { libc::gettid() as u32 }
    }
    #[cfg(not(target_os = "linux"))]
    {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }
}

/// The thread's name. If Rust did not start the thread, only the system knows its name.
fn thread_name(thread: u32) -> String {
    if let Some(name) = std::thread::current().name() {
        return name.to_owned();
    }
    let name = std::fs::read_to_string(format!("/proc/self/task/{thread}/comm"));
    name.map_or_else(|_| format!("thread {thread}"), |name| name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_queues_have_numbers_of_their_own() {
        let mut seen = HashSet::new();
        for layer in [Layer::VirtualGpu, Layer::HipOnHsa, Layer::Hip, Layer::Hal] {
            for device in [0, 1, DEVICES - 1] {
                for queue in [0, 1, PROCESSES - 2] {
                    let track = Track::of_device(layer, device, String::new, queue, String::new);
                    assert!(seen.insert(track.thread) && track.process < track.thread);
                    assert!(track.process > PROCESSES && track.thread < 1 << 31);
                    assert_eq!(track.process / DEVICE, track.thread / DEVICE);
                }
            }
        }
        // Devices beyond the limit share the last number.
        let last = |device| Track::of_device(Layer::Hip, device, String::new, 0, String::new);
        assert_eq!(last(DEVICES - 1), last(u32::MAX));
    }
}
