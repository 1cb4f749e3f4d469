//! What queues, copies and waits write to the [timeline], if there is one.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gpu_report::demangle;
use hsa_sys::{hsa_packet_type_t, hsa_status_t as S};
use timeline::{Layer, Slice, Span, Track, Value, function_around, is_on, now};

use super::event::lock;
use super::machine;
use super::queue::{PLACES, Queue};
use crate::machine::{Device, Dispatch};

/// Whether each HSA call is a slice of its own.
static CALLS: AtomicBool = AtomicBool::new(false);

/// Makes each HSA call a slice. Libraries that implement another API on HSA write slices of that API instead.
pub(super) fn show_calls() {
    CALLS.store(true, Ordering::Relaxed);
}

/// A call of a function whose body has the type `F`.
pub(super) fn call<F>() -> Option<Span> {
    (is_on() && CALLS.load(Ordering::Relaxed)).then(|| Span::enter("hsa", function_around::<F>()))
}

/// The number of a queue's track. Concurrent kernels of the queue are on separate tracks.
fn number(queue: &Queue, place: u32) -> u32 {
    (queue.id() * PLACES as u64 + u64::from(place)) as u32 % COPIES
}

/// The number of the copy engine's track.
const COPIES: u32 = 1 << 21;

fn on_device(device: &Device, number: u32, name: impl FnOnce() -> String) -> Track {
    let device_name = || format!("virtual GPU {} ({})", device.index(), device.target().name);
    Track::of_device(Layer::VirtualGpu, device.index() as u32, device_name, number, name)
}

/// A processed packet, and its place in the queue.
#[derive(Clone, Copy)]
pub(super) struct Processed<'a> {
    pub(super) queue: &'a Queue,
    pub(super) id: u64,
    pub(super) kind: hsa_packet_type_t,
    /// Its place among concurrent packets.
    pub(super) place: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    /// The error, if it failed.
    pub(super) problem: Option<S>,
}

impl Processed<'_> {
    /// Writes the slice of a kernel or barrier, and the arrow to it.
    pub(super) fn write(&self, dispatch: Option<&Dispatch>) {
        let Self { queue, id, start, end, .. } = *self;
        let track = on_device(&queue.device, number(queue, self.place), || match self.place {
            0 => format!("queue {}", queue.id()),
            beside => format!("queue {}, beside ({beside})", queue.id()),
        });
        let problem = self.problem.map(|status| status.name().unwrap_or("an error"));
        let problem = problem.map(|status| ("error", Value::Text(status)));
        let Some(dispatch) = dispatch else {
            let name = match self.kind {
                hsa_packet_type_t::HSA_PACKET_TYPE_BARRIER_OR => "barrier (any)",
                hsa_packet_type_t::HSA_PACKET_TYPE_BARRIER_AND => "barrier",
                _ => "barrier (value)",
            };
            let values: Vec<_> = [("packet", Value::Number(id))].into_iter().chain(problem).collect();
            timeline::slice(&Slice { track, category: "wait", name, start, end, values: &values });
            return;
        };
        let code = machine().code_at(dispatch.kernel_object);
        let mangled = code.as_ref().and_then(|code| code.kernel_name(dispatch.kernel_object));
        let mangled = mangled.unwrap_or("unknown kernel");
        let name = demangle(mangled);
        let size = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join("x");
        let groups =
            std::array::from_fn(|axis| dispatch.grid[axis].div_ceil(dispatch.workgroup[axis].max(1)));
        let (grid, groups, block) = (size(dispatch.grid), size(groups), size(dispatch.workgroup));
        let values: Vec<_> = [
            ("workgroups", Value::Text(&groups)),
            ("workgroup size", Value::Text(&block)),
            ("work-items", Value::Text(&grid)),
            ("LDS bytes", Value::Number(dispatch.group_segment_size.into())),
            ("scratch bytes per work-item", Value::Number(dispatch.private_segment_size.into())),
            ("symbol", Value::Text(mangled)),
            ("packet", Value::Number(id)),
        ]
        .into_iter()
        .chain(problem)
        .collect();
        timeline::slice(&Slice { track, category: "kernel", name: &name, start, end, values: &values });
        queue.arrows().begun(arrow(queue, id), id, Place { track, start, end });
    }
}

/// The number of the arrow to a packet; arrows to copies have higher numbers.
fn arrow(queue: &Queue, id: u64) -> u64 {
    (queue.id() & 0xf_ffff) << 32 | id & 0xffff_ffff
}

/// The parts of a slice that an arrow needs.
#[derive(Clone, Copy)]
struct Place {
    track: Track,
    start: u64,
    end: u64,
}

impl Place {
    /// A time that is in this slice and not in an earlier one.
    fn inside(self) -> u64 {
        self.start + (self.end.saturating_sub(self.start) / 2).min(1000)
    }
}

/// The doorbell rings of a queue and the packets that were processed before their ring. The packet processor
/// polls, so it does not wait for the doorbell.
#[derive(Default)]
pub(super) struct Arrows(Mutex<Ends>);

#[derive(Default)]
struct Ends {
    /// All packets below this number have been announced.
    announced: u64,
    /// First packet, end, and place of the ring.
    rung: VecDeque<(u64, u64, Place)>,
    /// Kernels that have started, by the number of their arrow.
    begun: HashMap<u64, (u64, Place)>,
}

/// How many entries are kept of each.
const REMEMBERED: usize = 1 << 12;

impl Arrows {
    /// Forgets everything, because the doorbell is reused for another queue.
    pub(super) fn clear(&self) {
        *lock(&self.0) = Ends::default();
    }

    /// Writes a slice for a doorbell ring that announces all packets up to `last`. `ring` does the ringing.
    pub(super) fn ring(&self, last: u64, ring: impl FnOnce()) {
        if !is_on() {
            return ring();
        }
        let (track, start) = (Track::host(), now());
        ring();
        let from = Place { track, start, end: now() };
        let mut ends = lock(&self.0);
        let first = ends.announced;
        // The value can be arbitrary.
        let count = last.wrapping_add(1).wrapping_sub(first);
        if count == 0 || count > u64::from(u32::MAX) {
            return;
        }
        let values = [("packets", Value::Number(count)), ("first", Value::Number(first))];
        let (category, name) = ("hsa", "doorbell");
        timeline::slice(&Slice { track, category, name, start, end: from.end, values: &values });
        ends.announced = first + count;
        let is_announced = |id: &u64, _: &mut (u64, Place)| (first..first + count).contains(id);
        let begun: Vec<_> = ends.begun.extract_if(is_announced).collect();
        for (_, (arrow, to)) in begun {
            connect(arrow, from, to);
        }
        if ends.rung.len() == REMEMBERED {
            ends.rung.pop_front();
        }
        ends.rung.push_back((first, first + count, from));
    }

    fn begun(&self, arrow: u64, id: u64, to: Place) {
        let mut ends = lock(&self.0);
        // Concurrent packets can lag behind by at most the number of threads.
        while ends.rung.front().is_some_and(|(_, end, _)| end + 2 * PLACES as u64 <= id) {
            ends.rung.pop_front();
        }
        match ends.rung.iter().find(|(first, end, _)| (*first..*end).contains(&id)) {
            Some((_, _, from)) => connect(arrow, *from, to),
            None if id >= ends.announced && ends.begun.len() < REMEMBERED => {
                ends.begun.insert(id, (arrow, to));
            }
            None => {}
        }
    }
}

/// An arrow cannot go back in time. A kernel that started before its doorbell was rung was enqueued, at the
/// latest, when it started.
fn connect(arrow: u64, from: Place, to: Place) {
    let enqueued = from.inside().min(to.start);
    timeline::flow(arrow, (from.track, enqueued), (to.track, to.inside()));
}

/// A copy for the copy engine.
#[derive(Clone, Copy)]
pub(super) struct Enqueued {
    arrow: u64,
    track: Track,
    time: u64,
}

impl Enqueued {
    /// Requested by the calling thread, now; none if no timeline is written.
    pub(super) fn now() -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        is_on().then(|| {
            let arrow = 1 << 52 | NEXT.fetch_add(1, Ordering::Relaxed) & ((1 << 52) - 1);
            Enqueued { arrow, track: Track::host(), time: now() }
        })
    }

    /// Writes the finished copy. `ends` are the devices of destination and source; none is the host.
    pub(super) fn done(
        self,
        ends: [Option<&Device>; 2],
        bytes: u64,
        start: u64,
        end: u64,
        status: Option<S>,
    ) {
        let Some(device) = ends[0].or(ends[1]) else { return };
        let track = on_device(device, COPIES, || "copies".to_owned());
        let name = match ends.map(|end| end.is_some()) {
            [true, true] => "copy device to device",
            [true, false] => "copy host to device",
            _ => "copy device to host",
        };
        let mut values = copied(bytes, start, end);
        values.extend(status.map(|status| ("error", Value::Text(status.name().unwrap_or("an error")))));
        timeline::slice(&Slice { track, category: "copy", name, start, end, values: &values });
        let to = Place { track, start, end };
        timeline::flow(self.arrow, (self.track, self.time.min(start)), (track, to.inside()));
    }
}

/// The values of a copy's slice.
fn copied(bytes: u64, start: u64, end: u64) -> Vec<(&'static str, Value<'static>)> {
    // Bytes per nanosecond are GB per second.
    let speed = bytes as f64 / end.saturating_sub(start) as f64;
    vec![("bytes", Value::Number(bytes)), ("GB/s", Value::Real(speed))]
}

/// A copy or fill that the calling thread performs.
pub(super) fn by_host(name: &'static str, bytes: u64) -> Span {
    let mut span = Span::enter("copy", name);
    span.number("bytes", bytes);
    span
}
