//! The streams on which parts of a launched graph run concurrently with its own stream.
//!
//! They belong to one executable graph while it is launched on the same stream, and fail together with that
//! stream. Afterwards a device keeps them for other graphs.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hip_sys::hipError_t;

use crate::devices::device::Device;
use crate::devices::per_device::PerDevice;
use crate::devices::stream::{Role, Stream};
use crate::error::Result;
use crate::graph::plan::LaneDevice;
use crate::queue::progress::Progress;
use crate::runtime::Runtime;

/// Streams that no graph uses at present; their work may still run.
#[derive(Default)]
pub(crate) struct SpareLanes(Mutex<Vec<Arc<Stream>>>);

impl SpareLanes {
    /// The streams of a device.
    fn of(device: &Device) -> &'static Self {
        static SPARE: PerDevice<SpareLanes> = PerDevice::new();
        SPARE.of(device)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Stream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An idle stream.
    fn take(runtime: &'static Runtime, device: &'static Device, priority: i32) -> Arc<Stream> {
        let (mut found, mut ended) = (None, Vec::new());
        Self::of(device).lock().retain(|stream| match stream.query(runtime) {
            Ok(()) => {
                stream.unbind();
                let takes = found.is_none() && stream.priority == priority;
                if takes {
                    found = Some(stream.clone());
                }
                !takes
            }
            Err(hipError_t::hipErrorNotReady) => true,
            // It failed together with its leader, and none of its work is in progress.
            Err(_) => {
                ended.push(stream.clone());
                false
            }
        });
        for stream in ended {
            stream.close(runtime);
        }
        found.unwrap_or_else(|| Stream::new(device, hip_sys::hipStreamNonBlocking, priority, Role::Lane))
    }

    fn give_back(runtime: &'static Runtime, stream: Arc<Stream>) {
        if stream.failure().is_some() {
            stream.close(runtime);
            return;
        }
        if stream.query(runtime).is_ok() {
            // Later failures of its former leader do not affect it.
            stream.unbind();
        }
        Self::of(stream.device).lock().push(stream);
    }
}

/// The lanes of one executable graph.
pub(crate) struct Lanes {
    runtime: &'static Runtime,
    /// Their leader.
    leader: Weak<Stream>,
    /// The queue that they fail together with.
    bound: Weak<Progress>,
    /// `None` for a lane that is the leader itself.
    streams: Vec<Option<Arc<Stream>>>,
}

impl Lanes {
    pub(crate) fn new(runtime: &'static Runtime) -> Self {
        Self { runtime, leader: Weak::new(), bound: Weak::new(), streams: Vec::new() }
    }

    /// The streams of a launch on `leader`, on these devices.
    pub(crate) fn get<'a>(
        &mut self,
        leader: &'a Arc<Stream>,
        devices: &[LaneDevice],
    ) -> Result<Cow<'a, [Arc<Stream>]>> {
        let is_own =
            |index: usize| index == 0 && devices[0].is_none_or(|device| std::ptr::eq(device, leader.device));
        if devices.len() == 1 && is_own(0) {
            return Ok(Cow::Borrowed(std::slice::from_ref(leader)));
        }
        if !std::ptr::eq(self.leader.as_ptr(), Arc::as_ptr(leader)) {
            // Launches on another stream must not fail with this one.
            self.give_back();
            self.leader = Arc::downgrade(leader);
        }
        let progress = leader.progress(self.runtime)?;
        let is_bound = std::ptr::eq(self.bound.as_ptr(), Arc::as_ptr(&progress));
        self.bound = Arc::downgrade(&progress);
        self.streams.resize(self.streams.len().max(devices.len()), None);
        let mut found = Vec::with_capacity(devices.len());
        for (index, device) in devices.iter().enumerate() {
            if is_own(index) {
                found.push(leader.clone());
                continue;
            }
            let device = device.unwrap_or(leader.device);
            let suits = |lane: &Arc<Stream>| std::ptr::eq(lane.device, device) && lane.failure().is_none();
            let (lane, is_new) = match self.streams[index].take() {
                Some(lane) if suits(&lane) => (lane, false),
                other => {
                    if let Some(other) = other {
                        SpareLanes::give_back(self.runtime, other);
                    }
                    (SpareLanes::take(self.runtime, device, leader.priority), true)
                }
            };
            self.streams[index] = Some(lane.clone());
            if is_new || !is_bound {
                lane.progress(self.runtime)?.bind(&progress);
            }
            found.push(lane);
        }
        Ok(Cow::Owned(found))
    }

    fn give_back(&mut self) {
        for stream in self.streams.drain(..).flatten() {
            SpareLanes::give_back(self.runtime, stream);
        }
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.give_back();
    }
}
