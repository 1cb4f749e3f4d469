//! Plans where and in which order the nodes of an executable graph run.
//!
//! A graph with only kernels of one device takes one *lane*, in the order of levels: the kernels of a level
//! are consecutive packets of which only the first waits for earlier work, so they may run concurrently. Any
//! other graph has as many lanes as nodes can overlap, up to [`MOST_LANES`] on a device. A lane is a stream.
//! A node runs on the lane of one of its direct or indirect predecessors, and waits for points of other
//! lanes. Only if there are not enough lanes does a node wait for one that it does not depend on.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::devices::device::Device;
use crate::graph::op::Op;
use crate::graph::steps::Step;

/// Maximum lanes of one graph on one device.
pub(crate) const MOST_LANES: usize = 16;

/// The device of a lane; `None` for that of the launch's stream.
pub(crate) type LaneDevice = Option<&'static Device>;

/// The plan of a graph.
pub(crate) struct Plan {
    /// The first one is the launch's own stream, if that belongs to this device.
    pub(crate) lanes: Vec<LaneDevice>,
    /// In an order in which they can be enqueued.
    pub(crate) units: Vec<Unit>,
}

/// Nodes that run concurrently: several kernels, or one node of any kind.
pub(crate) struct Unit {
    pub(crate) lane: usize,
    /// As indices of steps.
    pub(crate) steps: Vec<usize>,
    /// Units of other lanes that it waits for.
    pub(crate) after: Vec<usize>,
    /// Whether a unit of another lane waits for it.
    pub(crate) is_awaited: bool,
    /// Whether it follows the beginning of the launch: it is the first on its lane and waits for nothing.
    pub(crate) is_first: bool,
}

/// The device that a step has to run on, if any.
fn device_of(step: &Step) -> LaneDevice {
    match &step.op {
        Op::Kernel(kernel) => Some(kernel.launch.function.code.device),
        Op::Record(record) => record.event.device_of_records(),
        _ => None,
    }
}

/// Whether a step is a kernel whose packet can be prepared.
pub(crate) fn is_packet(step: &Step) -> bool {
    matches!(&step.op, Op::Kernel(kernel) if kernel.launch.is_portable())
}

/// Whether a step does nothing on a stream: the host does memory nodes at once.
pub(crate) fn is_silent(step: &Step) -> bool {
    matches!(step.op, Op::Empty | Op::Child(_) | Op::Allocate(_) | Op::Free(_))
}

/// The devices of the kernels, each once, in the order of their steps.
pub(crate) fn devices_of(steps: &[Step]) -> Vec<&'static Device> {
    let mut found: Vec<&'static Device> = Vec::new();
    for device in steps.iter().filter_map(device_of) {
        if !found.iter().any(|known| std::ptr::eq(*known, device)) {
            found.push(device);
        }
    }
    found
}

impl Plan {
    pub(crate) fn new(steps: &[Step], order: &[usize]) -> Self {
        let devices = devices_of(steps);
        if devices.len() < 2 && steps.iter().all(|step| is_packet(step) || is_silent(step)) {
            Self { lanes: vec![devices.first().copied()], units: by_level(steps, order) }
        } else {
            by_dependency(steps, order, devices.first().copied())
        }
    }

    /// The units in an order in which units of a lane are consecutive where possible.
    pub(crate) fn enqueued(&self) -> Vec<usize> {
        let mut left: Vec<VecDeque<usize>> = vec![VecDeque::new(); self.lanes.len()];
        for (index, unit) in self.units.iter().enumerate() {
            left[unit.lane].push_back(index);
        }
        let mut found = Vec::with_capacity(self.units.len());
        let mut is_found = vec![false; self.units.len()];
        while found.len() < self.units.len() {
            for lane in &mut left {
                while let Some(&index) = lane.front()
                    && self.units[index].after.iter().all(|&before| is_found[before])
                {
                    lane.pop_front();
                    is_found[index] = true;
                    found.push(index);
                }
            }
        }
        found
    }
}

/// Units of one lane: steps of the same level.
fn by_level(steps: &[Step], order: &[usize]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for &place in order {
        match units.last_mut() {
            Some(unit) if steps[unit.steps[0]].level == steps[place].level => unit.steps.push(place),
            _ => units.push(Unit {
                lane: 0,
                steps: vec![place],
                after: Vec::new(),
                is_awaited: false,
                is_first: units.is_empty(),
            }),
        }
    }
    units
}

/// The predecessors of each step. Steps after a child wait for its last nodes, and the first nodes of a child
/// wait for the child's own step.
fn predecessors(steps: &[Step]) -> Vec<Vec<usize>> {
    /// The steps that have to complete before a step is complete.
    fn ends(steps: &[Step], place: usize, found: &mut Vec<usize>) {
        let range = place + 1..place + 1 + steps[place].inner;
        if range.is_empty() {
            found.push(place);
            return;
        }
        let mut last: Vec<usize> = top(steps, range.clone()).collect();
        for inner in top(steps, range) {
            for distance in &steps[inner].after {
                last.retain(|&place| inner.checked_add_signed(*distance) != Some(place));
            }
        }
        for place in last {
            ends(steps, place, found);
        }
    }
    /// The nodes of one graph, without its children's.
    fn top(steps: &[Step], range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let (start, end) = (range.start, range.end);
        let within = move |place: &usize| *place < end;
        std::iter::successors(Some(start).filter(within), move |place| {
            Some(place + 1 + steps[*place].inner).filter(within)
        })
    }
    fn fill(steps: &[Step], range: Range<usize>, parent: Option<usize>, all: &mut [Vec<usize>]) {
        for place in top(steps, range) {
            let step = &steps[place];
            let mut found = Vec::new();
            for distance in &step.after {
                if let Some(before) = place.checked_add_signed(*distance) {
                    ends(steps, before, &mut found);
                }
            }
            found.extend(parent.filter(|_| step.after.is_empty()));
            found.sort_unstable();
            found.dedup();
            all[place] = found;
            fill(steps, place + 1..place + 1 + step.inner, Some(place), all);
        }
    }
    let mut all = vec![Vec::new(); steps.len()];
    fill(steps, 0..steps.len(), None, &mut all);
    all
}

/// Groups of steps that form one unit, in an order in which they can be enqueued, and the groups that each
/// waits for.
///
/// Kernels with the same predecessors and successors run concurrently as packets. Silent steps without
/// predecessors are left out.
fn groups(steps: &[Step], order: &[usize]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut before = predecessors(steps);
    let mut rooted = vec![false; steps.len()];
    for &place in order {
        before[place].retain(|&place| !rooted[place]);
        rooted[place] = before[place].is_empty() && is_silent(&steps[place]);
    }
    let mut behind = vec![Vec::new(); steps.len()];
    for (place, before) in before.iter().enumerate() {
        for &before in before {
            behind[before].push(place);
        }
    }
    let mut groups: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    let mut group_of = vec![usize::MAX; steps.len()];
    let mut twins: HashMap<(*const Device, &[usize], &[usize]), usize> = HashMap::new();
    for &place in order {
        if rooted[place] {
            continue;
        }
        let new = groups.len();
        let index = match device_of(&steps[place]) {
            Some(device) if is_packet(&steps[place]) => {
                *twins.entry((device, &before[place], &behind[place])).or_insert(new)
            }
            _ => new,
        };
        group_of[place] = index;
        match groups.get_mut(index) {
            Some((members, _)) => members.push(place),
            None => {
                let mut after: Vec<usize> = before[place].iter().map(|&place| group_of[place]).collect();
                after.sort_unstable();
                after.dedup();
                groups.push((vec![place], after));
            }
        }
    }
    groups
}

/// A lane during the assignment of units.
struct Lane {
    device: LaneDevice,
    units: u32,
    /// How many units of each lane are complete when the last unit of this lane is.
    behind: Vec<u32>,
}

fn by_dependency(steps: &[Step], order: &[usize], home: LaneDevice) -> Plan {
    let mut lanes: Vec<Lane> = vec![Lane { device: home, units: 0, behind: Vec::new() }];
    let mut units: Vec<Unit> = Vec::new();
    // For each unit, how many units of each lane are complete when this unit is.
    let mut behind: Vec<Vec<u32>> = Vec::new();
    let count = |clock: &[u32], lane: usize| clock.get(lane).copied().unwrap_or(0);
    let join = |clock: &mut Vec<u32>, other: &[u32]| {
        clock.resize(clock.len().max(other.len()), 0);
        clock.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
    };
    for (members, mut after) in groups(steps, order) {
        let device = members.iter().find_map(|&place| device_of(&steps[place]));
        let suits = |lane: &Lane| {
            device.is_none_or(|device| lane.device.is_some_and(|own| std::ptr::eq(own, device)))
        };
        let mut clock = Vec::new();
        for &unit in &after {
            join(&mut clock, &behind[unit]);
        }
        // A lane whose units all precede this one anyway; best is one with a direct predecessor at the end.
        let free = |&lane: &usize| suits(&lanes[lane]) && lanes[lane].units <= count(&clock, lane);
        let follows = |&lane: &usize| after.iter().any(|&unit| units[unit].lane == lane);
        let free = || (0..lanes.len()).filter(free);
        let is_new = || lanes.iter().filter(|lane| suits(lane)).count() < MOST_LANES;
        let lane = match free().find(follows).or_else(|| free().next()) {
            Some(lane) => lane,
            None if is_new() => {
                lanes.push(Lane { device: device.or(home), units: 0, behind: Vec::new() });
                lanes.len() - 1
            }
            None => (0..lanes.len())
                .filter(|&lane| suits(&lanes[lane]))
                .min_by_key(|&lane| lanes[lane].units)
                .unwrap_or(0),
        };
        let mut known = std::mem::take(&mut lanes[lane].behind);
        // The last units cover the most.
        after.sort_by_key(|&unit| std::cmp::Reverse(behind[unit].iter().sum::<u32>()));
        after.retain(|&unit| {
            let other = units[unit].lane;
            let is_known = count(&known, other) >= count(&behind[unit], other);
            join(&mut known, &behind[unit]);
            !is_known
        });
        for &unit in &after {
            units[unit].is_awaited = true;
        }
        lanes[lane].units += 1;
        known.resize(known.len().max(lane + 1), 0);
        known[lane] = lanes[lane].units;
        let is_first = lanes[lane].units == 1 && after.is_empty();
        units.push(Unit { lane, steps: members, after, is_awaited: false, is_first });
        behind.push(known.clone());
        lanes[lane].behind = known;
    }
    Plan { lanes: lanes.into_iter().map(|lane| lane.device).collect(), units }
}
