//! Executable graphs: put in order once, launched many times.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hal::block::{Block, Draft};
use hip_sys::{hipError_t, hipGraphExec_t, hipGraphInstantiateFlags as Flags, hipGraphInstantiateResult};

use crate::devices::device::Device;
use crate::devices::stream::Stream;
use crate::error::Result;
use crate::graph::lanes::Lanes;
use crate::graph::memory::memory_at;
use crate::graph::op::{KernelOp, Op};
use crate::graph::plan::{LaneDevice, Plan, devices_of, is_packet, is_silent};
use crate::graph::steps::{Refusal, Step, failed, flatten, rebuild};
use crate::graph::structure::{Graph, NodeId};
use crate::graph::user_object::Objects;
use crate::queue::arguments::KernargBlock;
use crate::queue::marker::Marker;
use crate::registry::{Kind, Registry};
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Flags that `hipGraphInstantiateWithFlags` accepts.
pub(crate) const AUTO_FREE: u64 = Flags::hipGraphInstantiateFlagAutoFreeOnLaunch.bits() as u64;
pub(crate) const UPLOAD: u64 = Flags::hipGraphInstantiateFlagUpload.bits() as u64;
const DEVICE_LAUNCH: u64 = Flags::hipGraphInstantiateFlagDeviceLaunch.bits() as u64;
pub(crate) const NODE_PRIORITY: u64 = Flags::hipGraphInstantiateFlagUseNodePriority.bits() as u64;

/// Argument blocks kept for the next change.
const SPARE_BLOCKS: usize = 2;

/// All executable graphs by their handles.
pub(crate) fn graph_execs(_started: &Runtime) -> &'static Registry<Exec> {
    static EXECS: Registry<Exec> = Registry::new(Kind::GraphExec);
    &EXECS
}

/// A graph that can be launched.
pub(crate) struct Exec {
    runtime: &'static Runtime,
    pub(crate) flags: u64,
    state: Mutex<State>,
    /// The user objects that it keeps.
    pub(crate) objects: Objects,
    /// Its right to the graph's memory nodes.
    _token: Arc<()>,
}

impl Drop for Exec {
    fn drop(&mut self) {
        if self.objects.is_empty() {
            return;
        }
        // Memory that launches in flight use is released after them.
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = state.last.upgrade() {
            last.drain(self.runtime);
        }
        // The stream of the last launch may have failed before it waited for these.
        for end in state.earlier.drain(..) {
            let _ = end.wait(self.runtime);
        }
    }
}

pub(crate) struct State {
    /// In the order of the nodes' creation; the steps of a child graph follow the child's own step.
    pub(crate) steps: Vec<Step>,
    pub(crate) places: HashMap<NodeId, usize>,
    /// The steps in execution order.
    order: Vec<usize>,
    /// Prepared at the first launch after a change.
    program: Option<Program>,
    spare: Vec<Arc<KernargBlock>>,
    /// The kernels' devices.
    devices: Vec<&'static Device>,
    /// The stream of the last launch.
    last: Weak<Stream>,
    /// The ends of launches on streams other than the last one, the newest of each stream: if the last stream
    /// fails, waiting for only that stream does not wait for them.
    earlier: Vec<Arc<Marker>>,
    lanes: Lanes,
}

/// The actions of a launch.
struct Program {
    kernels: Block,
    actions: Vec<Action>,
    arguments: Arc<KernargBlock>,
    lanes: Vec<LaneDevice>,
    /// The number of recorded points of lanes; the first is the beginning of the launch.
    points: usize,
    /// Steps that take or free memory.
    memory: Vec<usize>,
}

/// The first of a program's points.
const START: usize = 0;

enum Action {
    Packets {
        lane: usize,
        range: Range<usize>,
    },
    /// Enqueues the operation of a step.
    Enqueue {
        lane: usize,
        step: usize,
    },
    /// Records a lane's current point.
    Note {
        lane: usize,
        point: usize,
    },
    /// Makes later work on a lane wait for a point.
    Wait {
        lane: usize,
        point: usize,
    },
}

impl Exec {
    /// Puts a graph in order. The graph may change or be destroyed afterwards.
    pub(crate) fn new(
        runtime: &'static Runtime,
        graph: &Graph,
        flags: u64,
    ) -> std::result::Result<Self, Refusal> {
        if flags & DEVICE_LAUNCH != 0 {
            return Err(failed(hipError_t::hipErrorNotSupported));
        }
        if flags & !(AUTO_FREE | UPLOAD | NODE_PRIORITY) != 0 {
            return Err(failed(INVALID_VALUE));
        }
        let steps = flatten(graph)?;
        let devices = devices_of(&steps);
        let token = Arc::new(());
        for (place, step) in steps.iter().enumerate() {
            if let Op::Allocate(memory) = &step.op {
                memory.reserve(&token).map_err(|code| Refusal {
                    code,
                    result: hipGraphInstantiateResult::hipGraphInstantiateNodeOperationNotSupported,
                    node: Some(place),
                })?;
            }
        }
        let places = steps.iter().enumerate().map(|(place, step)| (step.id, place)).collect();
        let mut order: Vec<usize> = (0..steps.len()).collect();
        // A child's step is before those of its nodes.
        order.sort_by_key(|&place| (steps[place].level, !matches!(steps[place].op, Op::Child(_)), place));
        let state = State {
            steps,
            places,
            order,
            program: None,
            spare: Vec::new(),
            devices,
            last: Weak::new(),
            earlier: Vec::new(),
            lanes: Lanes::new(runtime),
        };
        let objects = graph.objects.duplicate(runtime).map_err(failed)?;
        let exec = Self { runtime, flags, state: Mutex::new(state), objects, _token: token };
        exec.lock().prepare(runtime).map_err(failed)?;
        Ok(exec)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues everything on a stream, behind the earlier launches. If the launch fails, its own stream
    /// waits for the work already enqueued on other streams, or fails together with them.
    pub(crate) fn launch(&self, stream: &Arc<Stream>) -> Result {
        let runtime = self.runtime;
        let mut state = self.lock();
        state.prepare(runtime)?;
        let State { steps, program: Some(program), last, earlier, lanes, .. } = &mut *state else {
            return Err(hipError_t::hipErrorUnknown);
        };
        let streams = lanes.get(stream, &program.lanes)?;
        for action in &program.actions {
            if let Action::Enqueue { lane, step } = action {
                steps[*step].op.check(runtime, &streams[*lane])?;
            }
        }
        for &place in &program.memory {
            match &steps[place].op {
                // Memory that the launch frees is immediately the program's again.
                Op::Allocate(memory) if memory.is_live() && self.flags & AUTO_FREE == 0 => {
                    return Err(INVALID_VALUE);
                }
                Op::Free(address) => {
                    let own =
                        |step: &Step| matches!(&step.op, Op::Allocate(memory) if memory.base() == *address);
                    let live = memory_at(*address).is_some_and(|memory| memory.is_live());
                    if !live && !steps.iter().any(own) {
                        return Err(INVALID_VALUE);
                    }
                }
                _ => {}
            }
        }
        if !std::ptr::eq(last.as_ptr(), Arc::as_ptr(stream)) {
            // One launch of a graph at a time: its memory is used by all.
            if let Some(end) = last.upgrade().map(|last| last.tail(runtime)).transpose()?.flatten() {
                note_end(earlier, end);
            }
            earlier.retain(|end| !end.is_done(runtime));
            if !earlier.is_empty() {
                stream.submit(runtime, |submitter| {
                    let own = submitter.point().submitter;
                    let others =
                        earlier.iter().filter(|end| end.point().is_none_or(|at| at.submitter != own));
                    others.cloned().try_for_each(|end| submitter.wait_for(end))
                })?;
            }
            *last = Arc::downgrade(stream);
        }
        let mut begun = Vec::new();
        for &place in &program.memory {
            if let Op::Allocate(memory) = &steps[place].op
                && memory.begin()
            {
                begun.push(memory);
            }
        }
        let mut done = program.enqueue(runtime, steps, stream, &streams);
        for lane in streams.iter().filter(|lane| !Arc::ptr_eq(lane, stream)) {
            let end = lane.submit(runtime, |submitter| submitter.tail());
            if let Err(code) = end.and_then(|end| stream.submit(runtime, |submitter| submitter.wait_for(end)))
            {
                // Waiting for the launch would not wait for this lane. A failed lane reports its own reason.
                if lane.failure().is_none() {
                    stream.fail(code, "a part of a graph could not be waited for");
                }
                done = done.and(Err(code));
            }
        }
        if done.is_err() {
            // The next launch may start them again.
            for memory in begun {
                let _ = memory.end();
            }
            return done;
        }
        for &place in &program.memory {
            if let Op::Free(address) = &steps[place].op {
                done = done.and(memory_at(*address).ok_or(INVALID_VALUE).and_then(|memory| memory.end()));
            }
        }
        done
    }

    /// Changes a step for later launches.
    pub(crate) fn change(&self, id: NodeId, work: impl FnOnce(&mut Step) -> Result) -> Result {
        let mut state = self.lock();
        let place = *state.places.get(&id).ok_or(INVALID_VALUE)?;
        work(&mut state.steps[place])?;
        state.changed();
        Ok(())
    }

    /// Reads a step.
    pub(crate) fn look<T>(&self, id: NodeId, work: impl FnOnce(&Step) -> Result<T>) -> Result<T> {
        let state = self.lock();
        work(&state.steps[*state.places.get(&id).ok_or(INVALID_VALUE)?])
    }

    /// A graph with the current operations, without the disabled ones.
    pub(crate) fn to_graph(&self) -> Result<Arc<Graph>> {
        let state = self.lock();
        rebuild(self.runtime, &state.steps, 0..state.steps.len())
    }
}

/// The kernel of a step whose packet is prepared.
fn prepared(step: &Step) -> Option<&KernelOp> {
    match &step.op {
        Op::Kernel(kernel) if is_packet(step) && step.enabled => Some(kernel),
        _ => None,
    }
}

/// Adds the end of a launch. It replaces earlier ends on its stream.
fn note_end(ends: &mut Vec<Arc<Marker>>, end: Arc<Marker>) {
    let same = |known: &Marker| match (known.point(), end.point()) {
        (Some(known), Some(end)) => known.is_before(end),
        _ => false,
    };
    ends.retain(|known| !same(known));
    ends.push(end);
}

impl State {
    /// A change invalidates the prepared data.
    pub(crate) fn changed(&mut self) {
        if let Some(program) = self.program.take()
            && self.spare.len() < SPARE_BLOCKS
        {
            self.spare.push(program.arguments);
        }
    }

    /// Releases memory that launches so far may still use, when they are done.
    pub(crate) fn let_go(&self, runtime: &'static Runtime, objects: Objects) {
        // The stream of the last launch comes after all earlier launches.
        if let Some(last) = self.last.upgrade().filter(|_| !objects.is_empty()) {
            // If the stream does not accept it, it is dropped.
            let _ = last.run_on_host(runtime, false, move |_| drop(objects));
        }
    }

    /// Prepares arguments and packets, unless already done.
    pub(crate) fn prepare(&mut self, runtime: &'static Runtime) -> Result {
        if self.program.is_some() {
            return Ok(());
        }
        let plan = Plan::new(&self.steps, &self.order);
        let enqueued = plan.enqueued();
        let (mut draft, mut actions) = (Draft::new(), Vec::new());
        // The point after each unit that another lane waits for.
        let mut points: HashMap<usize, usize> = HashMap::new();
        for index in enqueued {
            let unit = &plan.units[index];
            let lane = unit.lane;
            if unit.is_first {
                actions.push(Action::Wait { lane, point: START });
            }
            let known = unit.after.iter().filter_map(|before| points.get(before).copied());
            actions.extend(known.map(|point| Action::Wait { lane, point }));
            draft.barrier();
            for &place in &unit.steps {
                let step = &self.steps[place];
                let Some(kernel) = prepared(step) else {
                    if step.enabled && !is_silent(step) {
                        actions.push(Action::Enqueue { lane, step: place });
                    }
                    continue;
                };
                let layout = &kernel.launch.function.layout;
                let arguments = draft.arguments(layout.size, layout.align);
                kernel.write(draft.bytes(arguments.clone()));
                draft.kernel(&kernel.launch.dispatch, arguments);
                let count = draft.len();
                match actions.last_mut() {
                    Some(Action::Packets { lane: last, range }) if *last == lane => range.end = count,
                    _ => actions.push(Action::Packets { lane, range: count - 1..count }),
                }
            }
            if unit.is_awaited {
                let point = START + 1 + points.len();
                points.insert(index, point);
                actions.push(Action::Note { lane, point });
            }
        }
        let mut kernels = draft.finish();
        let size = kernels.arguments();
        let mut arguments = match (self.spare.iter_mut())
            .position(|block| block.size() >= size && Arc::get_mut(block).is_some())
        {
            Some(index) => self.spare.swap_remove(index),
            None => {
                let agents: Vec<_> = self.devices.iter().map(|device| device.agent).collect();
                Arc::new(KernargBlock::new(runtime, &agents, size)?)
            }
        };
        kernels.place(Arc::get_mut(&mut arguments).ok_or(hipError_t::hipErrorUnknown)?.bytes());
        let is_memory = |place: &usize| matches!(self.steps[*place].op, Op::Allocate(_) | Op::Free(_));
        let memory = (0..self.steps.len()).filter(is_memory).collect();
        let points = START + 1 + points.len();
        self.program = Some(Program { kernels, actions, arguments, lanes: plan.lanes, points, memory });
        Ok(())
    }
}

impl Program {
    /// Enqueues everything on the streams of its lanes, behind the work of the launch's own stream.
    fn enqueue(
        &self,
        runtime: &'static Runtime,
        steps: &[Step],
        leader: &Arc<Stream>,
        streams: &[Arc<Stream>],
    ) -> Result {
        let mut points: Vec<Option<Arc<Marker>>> = Vec::new();
        if streams.iter().any(|lane| !Arc::ptr_eq(lane, leader)) {
            points.resize(self.points, None);
            points[START] = Some(leader.submit(runtime, |submitter| submitter.tail())?);
        }
        for action in &self.actions {
            match action {
                Action::Packets { lane, range } => {
                    let kernels = self.kernels.submission(range.clone());
                    let arguments = &self.arguments;
                    streams[*lane].submit(runtime, |submitter| submitter.replay(kernels, arguments))?;
                }
                Action::Enqueue { lane, step } => steps[*step].op.enqueue(runtime, &streams[*lane])?,
                Action::Note { lane, point } => {
                    points[*point] = Some(streams[*lane].submit(runtime, |submitter| submitter.tail())?);
                }
                // Work on the launch's own stream follows its beginning anyway.
                Action::Wait { lane, point: START } if Arc::ptr_eq(&streams[*lane], leader) => {}
                Action::Wait { lane, point } => {
                    if let Some(marker) = points[*point].clone() {
                        streams[*lane].submit(runtime, |submitter| submitter.wait_for(marker))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The executable graph of a program's handle.
pub(crate) fn exec(runtime: &Runtime, handle: hipGraphExec_t) -> Result<Arc<Exec>> {
    graph_execs(runtime).get(handle as usize).ok_or(INVALID_VALUE)
}
