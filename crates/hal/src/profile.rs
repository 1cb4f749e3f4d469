//! Profiles: when submissions and their kernels ran.
//!
//! In a profile, each kernel has a completion signal of its own, and each submission one more packet. HSA
//! keeps with a signal when its packet ran.

mod counters;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpu_report::Counters;
use hsa::raw::{ClockDifference, SCOPE_SYSTEM, SignalPool, barrier_packet, signal_end};
use hsa_sys::{COUNTED_DISPATCHES, hsa_agent_t, hsa_queue_t, hsa_signal_t};
use timeline::{Lanes, Layer, Slice, Track, Value};

use crate::block::Submission;
use crate::error::{Calls, Result};
use crate::options::Options;

/// Tracks of a queue in a timeline for kernels that run at the same time.
const LANES: usize = 16;

/// What a device has done, since the last profile was taken.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Profile {
    /// The submissions, in the order in which they were seen to have ended: those of a queue in its order.
    pub submissions: Vec<SubmissionProfile>,
    /// Older submissions for which there was no more room.
    pub lost: u64,
}

/// A submission to a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubmissionProfile {
    /// The number of the queue.
    pub queue: u64,
    /// The number of the submission on its queue; the first one has 1.
    pub number: u64,
    /// When its packets were written, in nanoseconds of the host's monotonic clock, as all times here.
    pub submitted: u64,
    /// From the beginning of its first packet to the end of its last one. `None` if it did not end, because
    /// its queue has stopped.
    pub times: Option<Times>,
    /// Its kernels, in the order in which they were recorded.
    pub dispatches: Vec<DispatchProfile>,
}

/// A kernel that ran in a submission.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DispatchProfile {
    /// Its name, as its code object has it. Copies, fills and the like are kernels of the device library.
    pub kernel: Arc<str>,
    /// Work-items by dimension; `None` if they were in memory when it began.
    pub grid: Option<[u32; 3]>,
    /// Work-items of a workgroup by dimension.
    pub workgroup: [u32; 3],
    /// When it ran. `None` if it did not end.
    pub times: Option<Times>,
    /// What it did, with [`Options::counters`](crate::Options::counters) on an HSA implementation that counts.
    /// `None` also if it did not end, or if too many kernels ended at once.
    pub counters: Option<Arc<Counters>>,
}

/// A beginning and an end, in nanoseconds of the host's monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Times {
    /// The beginning.
    pub start: u64,
    /// The end.
    pub end: u64,
}

/// A kernel among recorded packets.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) packet: usize,
    pub(crate) kernel: Arc<str>,
    pub(crate) grid: Option<[u32; 3]>,
    pub(crate) workgroup: [u32; 3],
}

/// The profile of a device.
#[derive(Debug)]
pub(crate) struct Profiler {
    calls: Calls,
    clock: ClockDifference,
    signals: SignalPool,
    /// The most submissions that are kept.
    most: usize,
    has_counters: bool,
    profile: Mutex<(VecDeque<SubmissionProfile>, u64)>,
}

impl Profiler {
    pub(crate) fn new(calls: Calls, options: &Options) -> Arc<Self> {
        Arc::new(Self {
            calls,
            clock: ClockDifference::new(calls, timeline::now),
            signals: SignalPool::keeping(options.signals),
            most: options.profile,
            has_counters: options.counters,
            profile: Mutex::default(),
        })
    }

    pub(crate) fn take(&self) -> Profile {
        let mut profile = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        let (submissions, lost) = std::mem::take(&mut *profile);
        Profile { submissions: submissions.into(), lost }
    }

    fn add(&self, submission: SubmissionProfile) {
        let mut profile = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        if profile.0.len() == self.most {
            profile.0.pop_front();
            profile.1 += 1;
        }
        profile.0.push_back(submission);
    }

    fn signal(self: &Arc<Self>) -> Result<Signal> {
        Ok(Signal { raw: self.signals.take(self.calls, 1)?, of: self.clone() })
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // SAFETY: each signal that was taken held the profiler, so all are back, and nothing uses them.
        unsafe { self.signals.clear(self.calls) };
    }
}

/// A signal that one packet decrements. It is dropped when the packet has ended, or never will.
#[derive(Debug)]
struct Signal {
    raw: hsa_signal_t,
    of: Arc<Profiler>,
}

impl Drop for Signal {
    fn drop(&mut self) {
        // SAFETY: the signal came from the pool, and its packet has ended, or its queue is destroyed.
        unsafe { self.of.signals.give_back(self.of.calls, self.raw) };
    }
}

/// A GPU, as timelines show it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) agent: hsa_agent_t,
}

/// The part of a queue in the profile of its device.
#[derive(Debug)]
pub(crate) struct Watch {
    profiler: Arc<Profiler>,
    gpu: Shown,
    queue: u64,
    state: Mutex<State>,
}

#[derive(Default, Debug)]
struct State {
    running: VecDeque<Running>,
    /// Counters of kernels that have ended, by packet.
    counted: BTreeMap<u64, Counters>,
    /// Kernels that had not ended when counters were taken, and those that were submitted since.
    uncounted: usize,
    /// Signals of packets that never ended, until the queue is destroyed.
    unfinished: Vec<Running>,
    lanes: Lanes<LANES>,
}

/// A submission that may not have ended.
#[derive(Debug)]
pub(crate) struct Running {
    number: u64,
    /// The number of its first packet.
    first: u64,
    /// The thread that wrote its packets, and when.
    from: (Option<Track>, u64),
    described: Arc<[Described]>,
    signals: Vec<Signal>,
    end: Signal,
}

impl Running {
    /// Gives the kernels among the packets of the submission their signals, and adds one more packet, for its
    /// end.
    pub(crate) fn mark(&self, submission: &mut Submission<'_>) {
        let packets = submission.packets_mut();
        for (signal, known) in self.signals.iter().zip(self.described.iter()) {
            signal_end(&mut packets[known.packet], signal.raw);
        }
        submission.add_behind(barrier_packet(&[], self.end.raw, SCOPE_SYSTEM));
    }
}

impl Watch {
    pub(crate) fn new(profiler: Arc<Profiler>, gpu: Shown, queue: u64) -> Self {
        Self { profiler, gpu, queue, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the signals of a submission.
    ///
    /// # Errors
    /// HSA has no more signals.
    pub(crate) fn prepare(&self, number: u64, described: Option<&Arc<[Described]>>) -> Result<Running> {
        let described = described.cloned().unwrap_or_else(|| Arc::new([]));
        let signals = described.iter().map(|_| self.profiler.signal()).collect::<Result<_>>()?;
        let end = self.profiler.signal()?;
        let from = (timeline::is_on().then(Track::host), timeline::now());
        Ok(Running { number, first: 0, from, described, signals, end })
    }

    /// Has a new queue count, if counters are wanted.
    pub(crate) fn begin(&self, queue: *const hsa_queue_t) {
        if self.profiler.has_counters {
            counters::switch_on(self.profiler.calls, queue);
        }
    }

    /// Remembers a submission, whose packets are written next, under the same lock of the queue: the block's
    /// from `first` on. Returns whether counters should be taken before they are lost.
    pub(crate) fn submitted(&self, mut running: Running, first: u64) -> bool {
        running.first = first;
        let mut state = self.state();
        state.uncounted += running.described.len();
        state.running.push_back(running);
        self.profiler.has_counters && state.uncounted >= COUNTED_DISPATCHES / 2
    }

    /// Takes over submissions that have ended, those up to a number. If the queue has stopped, no other one
    /// ever will.
    pub(crate) fn collect(&self, queue: *const hsa_queue_t, completed: u64, has_stopped: bool) {
        let mut state = self.state();
        if self.profiler.has_counters {
            let mut new = counters::take(self.profiler.calls, queue);
            state.counted.append(&mut new);
            let unfinished = state.running.iter().filter(|running| running.number > completed);
            state.uncounted = unfinished.map(|running| running.described.len()).sum();
        }
        while let Some(first) = state.running.front() {
            let has_ended = first.number <= completed;
            if !has_ended && !has_stopped {
                return;
            }
            let Some(running) = state.running.pop_front() else { return };
            // Those before it were never asked for.
            let mut counted = state.counted.split_off(&running.first);
            let profile = self.profile_of(&running, &mut counted);
            state.counted = counted;
            if timeline::is_on() {
                self.show(&running, &profile, &mut state.lanes);
            }
            self.profiler.add(profile);
            if !has_ended {
                state.unfinished.push(running);
            }
        }
    }

    /// Keeps all signals for ever, because the queue could not be destroyed.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        std::mem::forget(std::mem::take(&mut state.running));
        std::mem::forget(std::mem::take(&mut state.unfinished));
    }

    fn times(&self, signal: &Signal) -> Option<Times> {
        let calls = self.profiler.calls;
        if calls.signal_load(signal.raw) > 0 {
            return None;
        }
        let (start, end) = calls.packet_time(self.gpu.agent, signal.raw)?;
        let [start, end] = [start, end].map(|ticks| self.profiler.clock.nanoseconds(ticks));
        Some(Times { start, end })
    }

    fn profile_of(&self, running: &Running, counted: &mut BTreeMap<u64, Counters>) -> SubmissionProfile {
        let dispatches: Vec<DispatchProfile> = running
            .described
            .iter()
            .zip(&running.signals)
            .map(|(known, signal)| DispatchProfile {
                kernel: known.kernel.clone(),
                grid: known.grid,
                workgroup: known.workgroup,
                times: self.times(signal),
                counters: counted.remove(&(running.first + known.packet as u64)).map(Arc::new),
            })
            .collect();
        let end = self.times(&running.end);
        let starts = dispatches.iter().filter_map(|one| one.times).chain(end).map(|times| times.start);
        let times = starts.min().zip(end).map(|(start, end)| Times { start, end: end.end });
        let (queue, number, submitted) = (self.queue, running.number, running.from.1);
        SubmissionProfile { queue, number, submitted, times, dispatches }
    }

    /// The queue's track for submissions, or one of those for kernels.
    fn track(&self, lane: Option<usize>) -> Track {
        let queue = self.queue;
        Track::of_device(
            Layer::Hal,
            self.gpu.number,
            || self.gpu.name.clone(),
            (queue * (LANES as u64 + 1) + lane.map_or(0, |lane| 1 + lane as u64)) as u32,
            || match lane {
                None => format!("queue {queue}, submissions"),
                Some(0) => format!("queue {queue}, kernels"),
                Some(lane) => format!("queue {queue}, kernels beside ({lane})"),
            },
        )
    }

    /// Writes a submission to the timeline.
    fn show(&self, running: &Running, profile: &SubmissionProfile, lanes: &mut Lanes<LANES>) {
        if let Some(Times { start, end }) = profile.times {
            let name = format!("submission {}", profile.number);
            let values = [
                ("kernels", Value::Number(profile.dispatches.len() as u64)),
                (
                    "nanoseconds from submission to start",
                    Value::Number(start.saturating_sub(profile.submitted)),
                ),
            ];
            let track = self.track(None);
            let (category, name) = ("submission", name.as_str());
            timeline::slice(&Slice { track, category, name, start, end, values: &values });
            if let (Some(thread), time) = running.from {
                static ARROWS: AtomicU64 = AtomicU64::new(0);
                // HIP's and the virtual GPU's arrows have other bits.
                let arrow = 1 << 50 | ARROWS.fetch_add(1, Ordering::Relaxed);
                timeline::flow(
                    arrow,
                    (thread, time.min(start)),
                    (track, start + (end - start).min(1000) / 2),
                );
            }
        }
        for dispatch in &profile.dispatches {
            let Some(Times { start, end }) = dispatch.times else { continue };
            let Some(lane) = lanes.take(start, end) else { continue };
            let size = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join("x");
            let grid = dispatch.grid.map_or_else(|| "from memory".to_owned(), size);
            let workgroup = size(dispatch.workgroup);
            let mut values = vec![
                ("work-items", Value::Text(&grid)),
                ("workgroup size", Value::Text(&workgroup)),
                ("submission", Value::Number(profile.number)),
            ];
            if let Some(counters) = &dispatch.counters {
                values.extend([
                    ("waves", Value::Number(counters.waves)),
                    ("instructions", Value::Number(counters.instructions.total())),
                    ("bytes read from global memory", Value::Number(counters.global.read_bytes)),
                    ("bytes written to global memory", Value::Number(counters.global.written_bytes)),
                ]);
            }
            let (track, category) = (self.track(Some(lane)), "kernel");
            let name = &gpu_report::demangle(&dispatch.kernel);
            timeline::slice(&Slice { track, category, name, start, end, values: &values });
        }
    }
}
