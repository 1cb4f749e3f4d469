//! One workgroup being executed: its waves, LDS and scratch memory.

use std::sync::Arc;

use super::LoadedCode;
use super::initial::Position;
use super::launch::Launch;
use super::memory::{Mapping, Memory, MemoryError, Reader};
use super::observe::Observers;
use crate::exec::{self, Access, Barrier, Elsewhere, Flow, Wave, WaveFault};
use gpu_report::{Fault, FaultKind, Site};

/// The number of times that a wave may yield before another workgroup gets a turn, times [`SETTLED`].
const TURN: u32 = 16 * SETTLED;
/// The number of time slices between two looks at whether the workgroup shall stop, if waves end or wait
/// before their time is up.
const LOOK_EVERY: u32 = 8;
/// A stop that waits for other waves to reach the same point is short: this many count as one time slice.
const SETTLED: u32 = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ready,
    /// At a barrier.
    Waiting,
    Ended,
}

/// The outcome of a workgroup's turn.
pub(super) enum Turn {
    /// All waves ended.
    Done,
    /// Its waves only yielded; other workgroups should run.
    Parked,
    /// A wave faulted.
    Fault(Box<Fault>),
}

/// A buffer that grows. Its pages are allocated when they are first touched.
#[derive(Default)]
struct Buffer {
    mapping: Option<Mapping>,
    start: u64,
    size: usize,
}

impl Buffer {
    /// Ensures a size of at least `size` bytes, aligned to a page. Growing loses the contents.
    fn reserve(&mut self, size: usize) -> Result<*mut u8, MemoryError> {
        if size > self.size {
            self.mapping = None;
            self.size = 0;
            let (mapping, start) = Mapping::new(size as u64, 4096)?;
            (self.mapping, self.start, self.size) = (Some(mapping), start, size);
        }
        Ok(self.start as *mut u8)
    }
}

/// A workgroup's state, reused for the next one.
pub(super) struct Group {
    memory: Arc<Memory>,
    waves: Vec<Wave>,
    states: Vec<State>,
    /// The code object that each wave is in, if it is not the kernel's own.
    away: Vec<Option<Arc<LoadedCode>>>,
    /// Boxed, because waves point to it.
    barrier: Box<Barrier>,
    registers: Buffer,
    lds: Buffer,
    scratch: Buffer,
    id: [u32; 3],
    size: [u32; 3],
    /// The observers of its waves.
    observers: Observers,
}

impl Group {
    pub(super) fn new(memory: &Arc<Memory>) -> Self {
        Group {
            memory: Arc::clone(memory),
            waves: Vec::new(),
            states: Vec::new(),
            away: Vec::new(),
            barrier: Box::default(),
            registers: Buffer::default(),
            lds: Buffer::default(),
            scratch: Buffer::default(),
            id: [0; 3],
            size: [0; 3],
            observers: Observers::default(),
        }
    }

    /// Resets everything for the start of workgroup `number`.
    pub(super) fn begin(&mut self, launch: &Launch, number: u64) -> Result<(), MemoryError> {
        self.id = launch.group_at(number);
        self.size = launch.group_size(self.id);
        let waves = (self.size.iter().product::<u32>() as usize).div_ceil(launch.lanes);
        let dwords = launch.vgpr_dwords();
        let registers = self.registers.reserve(launch.waves() * dwords * 4)?.cast::<u32>();
        let lds = self.lds.reserve(launch.lds_limit as usize)?;
        let wave_scratch = launch.wave_scratch();
        let scratch = self.scratch.reserve(launch.waves() * wave_scratch)?;
        if launch.lds_limit != 0 {
            // SAFETY: the buffer holds at least this many bytes.
            unsafe { lds.write_bytes(0, launch.lds_limit as usize) };
        }
        while self.waves.len() < waves {
            // SAFETY: the group makes each wave point to the group's own buffers before it runs, and keeps
            // them as long.
            self.waves.push(unsafe { Wave::new(Access::new(Arc::clone(&self.memory))) });
        }
        self.states.clear();
        self.states.resize(waves, State::Ready);
        self.away.clear();
        self.away.resize(waves, None);
        *self.barrier = Barrier::new(waves as u32);
        let barrier = &raw mut *self.barrier;
        self.observers.begin(launch, self.id, self.size);
        let watched = !self.observers.is_empty();
        let (unit, next) = launch.entry(watched);
        let mut position = Position {
            group: self.id,
            size: self.size,
            waves: waves as u32,
            index: 0,
            item: [0; 3],
            scratch,
            wave_scratch,
            unit: launch.unit_of(self.id),
        };
        for (index, wave) in self.waves[..waves].iter_mut().enumerate() {
            // SAFETY: the buffer holds the files of all waves of a full workgroup in sequence.
            wave.vgpr = unsafe { registers.add(index * dwords) };
            wave.lanes = launch.lanes as u8;
            wave.access.lds = lds;
            wave.access.lds_size = launch.lds_limit;
            wave.access.strict_lds = launch.checks.bounds;
            // SAFETY: as for the registers.
            wave.access.scratch = unsafe { scratch.add(index * wave_scratch) };
            wave.access.scratch_size = launch.scratch;
            wave.access.sync = &raw const launch.sync;
            wave.access.set_arguments(launch.arguments);
            wave.access.set_code(launch.image.clone());
            wave.barrier = barrier;
            wave.passed = 0;
            wave.since = exec::Since::default();
            wave.stored = false;
            wave.fault = None;
            position.index = index;
            position.item = launch.start(wave, &position);
            wave.watched = watched;
            // Counting references would make all threads write to one cache line.
            if !wave.unit.as_ref().is_some_and(|current| Arc::ptr_eq(current, unit)) {
                wave.unit = Some(Arc::clone(unit));
            }
            wave.next = *next;
        }
        Ok(())
    }

    /// Runs the waves in turn until all have ended, one has faulted, all only yield, or `stop` returns true.
    /// `stop` is called at the beginning, after each full time slice, and at every eighth of other slices.
    pub(super) fn turn(&mut self, launch: &Launch, reader: &Reader, stop: &dyn Fn() -> bool) -> Turn {
        let turn = self.run(launch, reader, stop);
        if !matches!(turn, Turn::Parked) {
            self.unwatch();
        }
        turn
    }

    /// Its observers are finished.
    pub(super) fn unwatch(&mut self) {
        self.observers.end();
    }

    fn run(&mut self, launch: &Launch, reader: &Reader, stop: &dyn Fn() -> bool) -> Turn {
        let mut rounds = 0;
        let mut unseen = 0;
        while rounds < TURN {
            let (mut ready, mut settled) = (false, false);
            let mut still = true;
            for index in 0..self.states.len() {
                if self.states[index] != State::Ready {
                    continue;
                }
                if unseen == 0 {
                    if stop() {
                        return Turn::Parked;
                    }
                    unseen = LOOK_EVERY;
                }
                unseen -= 1;
                let away = self.away[index].clone();
                let program = away.as_ref().unwrap_or(&launch.code).program();
                let wave = &mut self.waves[index];
                wave.access.begin_slice(self.memory.enter(reader));
                // SAFETY: `begin` set the wave up for this launch: its registers, LDS and scratch memory are
                // allocated for the kernel, and the program was lowered for the wave's size.
                let flow = unsafe {
                    if self.observers.is_empty() {
                        exec::run_unwatched(wave, program)
                    } else {
                        exec::run(wave, program, &mut self.observers.of_wave(index as u32))
                    }
                };
                match flow {
                    Flow::Barrier => self.states[index] = State::Waiting,
                    Flow::Settle => (ready, settled) = (true, true),
                    Flow::End => {
                        self.states[index] = State::Ended;
                        wave.leave_barrier();
                    }
                    Flow::Fault => {
                        if !self.cross(launch, index) {
                            return Turn::Fault(self.fault(launch, index));
                        }
                        ready = true;
                    }
                    _ => {
                        (ready, unseen) = (true, 0);
                        // SAFETY: `begin` set the file up for this launch, and the wave does not run
                        // meanwhile.
                        still &= wave.stands_still(unsafe { launch.vectors(wave.vgpr) });
                        continue;
                    }
                }
                still = false;
            }
            let released = self.release();
            if !released && !ready {
                if self.states.contains(&State::Waiting) {
                    // All wait for arrivals that cannot happen.
                    return Turn::Fault(self.timed_out(launch, 0));
                }
                return Turn::Done;
            }
            // All of them wait for a wave of another workgroup, or for the host.
            if still && !released {
                break;
            }
            rounds += if settled { 1 } else { SETTLED };
        }
        Turn::Parked
    }

    /// Moves a wave that left its code object to its jump target, if that is in another code object: for
    /// example, when calling a function whose address the program passed, or returning from it. The code
    /// object stays loaded while the wave is in it.
    fn cross(&mut self, launch: &Launch, index: usize) -> bool {
        let wave = &mut self.waves[index];
        let Some(FaultKind::BadJump { target }) = wave.fault.as_ref().map(|fault| &fault.kind) else {
            return false;
        };
        let Some(code) = launch.code_with(*target) else { return false };
        if !exec::enter(wave, code.program(), *target) {
            return false;
        }
        wave.fault = None;
        self.away[index] = Some(code).filter(|code| !Arc::ptr_eq(code, &launch.code));
        true
    }

    /// Releases the waves at the barrier if it is complete. Returns whether there were any.
    fn release(&mut self) -> bool {
        let mut released = false;
        for (index, (state, wave)) in self.states.iter_mut().zip(&mut self.waves).enumerate() {
            if *state == State::Waiting && wave.pass_barrier() {
                *state = State::Ready;
                released = true;
                self.observers.released(index as u32);
            }
        }
        released
    }

    /// The report for a faulting wave.
    fn fault(&mut self, launch: &Launch, index: usize) -> Box<Fault> {
        let fault = self.waves[index].fault.take().map(|fault| *fault);
        let WaveFault { kind, lane, other } = fault.unwrap_or_else(|| {
            FaultKind::Internal { what: "a wave stopped without a fault".to_owned() }.into()
        });
        Box::new(Fault {
            kind,
            kernel: String::from(&*launch.kernel.name),
            target: launch.code.target().name.to_owned(),
            at: self.site(launch, index, lane),
            other: other.map(|other| {
                let Elsewhere { what, address, wave, lane } = other;
                (what.into(), Box::new(self.site_of(launch, wave as usize, address, lane)))
            }),
        })
    }

    /// The position of a wave.
    fn site(&self, launch: &Launch, index: usize, lane: Option<u8>) -> Site {
        let wave = &self.waves[index];
        let address = exec::location(wave, self.states[index] == State::Waiting);
        // If only one lane is enabled, that lane did what the wave did.
        let active = wave.active();
        let lane = lane.or_else(|| active.is_power_of_two().then(|| active.trailing_zeros() as u8));
        self.site_of(launch, index, address, lane)
    }

    /// Describes an instruction of a wave, and the work-item of the lane.
    fn site_of(&self, launch: &Launch, index: usize, address: u64, lane: Option<u8>) -> Site {
        let code = launch.code_with(address).unwrap_or_else(|| Arc::clone(&launch.code));
        let pc = address.wrapping_sub(code.base());
        let item = lane.map(|lane| {
            let number = index * launch.lanes + usize::from(lane);
            launch.work_item(self.size, number as u32)
        });
        Site {
            pc,
            function: code.function_at(pc),
            source: code.source_at(pc),
            instruction: code.program().text_at(address, launch.lanes as u8),
            workgroup: self.id,
            wave: index as u32,
            lane,
            work_item: item,
        }
    }

    /// The report for a workgroup that exceeds the time limit. If a wave waits at a barrier that others never
    /// reach, it is an endless barrier.
    pub(super) fn timed_out(&mut self, launch: &Launch, limit_ms: u64) -> Box<Fault> {
        let waiting = self.states.iter().filter(|state| **state == State::Waiting).count();
        let waves = self.states.len();
        let kind = if waiting != 0 {
            FaultKind::EndlessBarrier { waiting: waiting as u32, waves: waves as u32 }
        } else {
            FaultKind::Timeout { limit_ms }
        };
        let at = |wanted| self.states.iter().position(|state| *state == wanted);
        let (ready, waits) = (at(State::Ready), at(State::Waiting));
        let index = ready.or(waits).unwrap_or(0);
        self.waves[index].fault = Some(Box::new(kind.into()));
        let mut fault = self.fault(launch, index);
        if let (Some(_), Some(index)) = (ready, waits) {
            fault.other =
                Some(("a wave waits at the barrier".into(), Box::new(self.site(launch, index, None))));
        }
        fault
    }

    /// The report for a workgroup whose execution panicked.
    pub(super) fn panicked(&mut self, launch: &Launch, what: String) -> Box<Fault> {
        let index = self.states.iter().position(|state| *state == State::Ready).unwrap_or(0);
        self.waves[index].fault = Some(Box::new(FaultKind::Internal { what }.into()));
        self.fault(launch, index)
    }
}
