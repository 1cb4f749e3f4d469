//! Counting.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use code_object::occupancy::Occupancy;

use super::Sink;
use super::banks::{cache_lines, lds_cycles};
use super::flight::Flight;
use crate::exec::Wave;
use crate::isa::{Class, Generation, Op, scalar};
use crate::machine::dispatch::DispatchStats;
use crate::machine::launch::Launch;
use crate::machine::observe::{DispatchObserver, GroupObserver, Instrument, Step, Verdict};
use gpu_report::CounterFormat;
use gpu_report::{AccessKind, Space};
use gpu_report::{Branches, CacheLines, Counters, InFlight, Instructions, Lanes, LdsBanks, Traffic};

/// Counts dispatches that ask for it, or all of them if it is switched on.
#[derive(Default, Debug)]
pub(in crate::machine) struct Profiler {
    on: AtomicBool,
    output: Option<Arc<(CounterFormat, Sink)>>,
}

impl Profiler {
    /// Always on, and writes the counters of each dispatch.
    pub(super) fn writing(format: CounterFormat, sink: Sink) -> Profiler {
        Profiler { on: AtomicBool::new(true), output: Some(Arc::new((format, sink))) }
    }

    pub(in crate::machine) fn switch(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }
}

impl Instrument for Profiler {
    fn begin(&self, launch: &Launch) -> Option<Box<dyn DispatchObserver>> {
        // The device's format applies once, in the instrument that has no format of its own.
        let format = launch.counters.filter(|_| self.output.is_none());
        let output = self.output.clone().or_else(|| Some(Arc::new((format?, Sink::default()))));
        let wanted = self.on.load(Ordering::Relaxed) || launch.counts || format.is_some();
        wanted.then(|| Box::new(Profiled { sum: Arc::default(), output }) as _)
    }
}

/// The sums.
#[derive(Clone, Copy, Default, Debug)]
struct Sum {
    workgroups: u64,
    waves: u64,
    instructions: Instructions,
    dual: u64,
    lanes: Lanes,
    global: Traffic,
    constant: Traffic,
    lds: Traffic,
    scratch: Traffic,
    cache_lines: CacheLines,
    in_flight: InFlight,
    lds_banks: LdsBanks,
    branches: Branches,
    barriers: u64,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.workgroups += other.workgroups;
        self.waves += other.waves;
        self.instructions += other.instructions;
        self.dual += other.dual;
        self.lanes += other.lanes;
        self.global += other.global;
        self.constant += other.constant;
        self.lds += other.lds;
        self.scratch += other.scratch;
        self.cache_lines += other.cache_lines;
        self.in_flight += other.in_flight;
        self.lds_banks += other.lds_banks;
        self.branches += other.branches;
        self.barriers += other.barriers;
    }
}

/// One dispatch.
#[derive(Debug)]
struct Profiled {
    sum: Arc<Mutex<Sum>>,
    output: Option<Arc<(CounterFormat, Sink)>>,
}

impl DispatchObserver for Profiled {
    fn group(&self, launch: &Launch, _: [u32; 3], size: [u32; 3]) -> Option<Box<dyn GroupObserver>> {
        let waves = (size.iter().product::<u32>() as usize).div_ceil(launch.lanes);
        Some(Box::new(ProfiledGroup {
            sum: Sum { workgroups: 1, waves: waves as u64, ..Sum::default() },
            total: Arc::clone(&self.sum),
            cache_line: u64::from(launch.code.target().limits.cache_line),
            generation: launch.isa.generation(),
            initial: vec![None; waves],
            flights: vec![Flight::default(); waves],
            exec: 0,
        }))
    }

    fn end(&self, launch: &Launch, stats: Option<&mut DispatchStats>) {
        let sum = *self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        let target = launch.code.target();
        let counters = Counters {
            kernel: String::from(&*launch.kernel.name),
            target: target.name.to_owned(),
            complete: stats.is_some(),
            grid: launch.grid,
            workgroup: launch.workgroup,
            wave_size: launch.lanes as u32,
            workgroups: sum.workgroups,
            waves: sum.waves,
            instructions: sum.instructions,
            dual: sum.dual,
            lanes: sum.lanes,
            global: sum.global,
            constant: sum.constant,
            lds: sum.lds,
            scratch: sum.scratch,
            cache_line: target.limits.cache_line,
            cache_lines: sum.cache_lines,
            in_flight: sum.in_flight,
            lds_banks: sum.lds_banks,
            branches: sum.branches,
            barriers: sum.barriers,
            occupancy: Occupancy::new(&target.limits.unit, launch.resources),
        };
        if let Some(output) = &self.output {
            let (format, sink) = &**output;
            sink.write(&match format {
                CounterFormat::Table => format!("{counters}\n"),
                CounterFormat::Json => counters.to_json() + "\n",
            });
        }
        if let Some(stats) = stats {
            stats.counters = Some(Arc::new(counters));
        }
    }
}

/// One workgroup.
struct ProfiledGroup {
    sum: Sum,
    total: Arc<Mutex<Sum>>,
    cache_line: u64,
    generation: Generation,
    /// The requests of each wave.
    flights: Vec<Flight>,
    /// The lanes enabled at the start of each wave.
    initial: Vec<Option<u64>>,
    /// The lanes enabled before the current instruction.
    exec: u64,
}

/// Whether a conditional branch is taken; none for other instructions.
fn taken(op: Op, wave: &Wave) -> Option<bool> {
    let vcc = || wave.lane_mask(scalar::VCC);
    Some(match op {
        Op::SCbranchScc0 => !wave.scc,
        Op::SCbranchScc1 => wave.scc,
        Op::SCbranchVccz => vcc() == 0,
        Op::SCbranchVccnz => vcc() != 0,
        Op::SCbranchExecz => wave.active() == 0,
        Op::SCbranchExecnz => wave.active() != 0,
        Op::SCbranchCdbgsys
        | Op::SCbranchCdbguser
        | Op::SCbranchCdbgsysOrUser
        | Op::SCbranchCdbgsysAndUser => false,
        _ => return None,
    })
}

impl GroupObserver for ProfiledGroup {
    fn before(&mut self, step: &Step<'_>, wave: &Wave) -> Verdict {
        let sum = &mut self.sum;
        let class = step.inst.op.class();
        let exec = wave.active();
        self.exec = exec;
        let initial =
            self.initial.get_mut(step.wave as usize).map_or(exec, |lanes| *lanes.get_or_insert(exec));
        sum.instructions[class] += 1;
        sum.dual += u64::from(step.inst.dual.is_some());
        match class {
            Class::Valu
            | Class::Transcendental
            | Class::VmemLoad
            | Class::VmemStore
            | Class::VmemAtomic
            | Class::Flat
            | Class::Scratch
            | Class::Lds => {
                sum.lanes.active += u64::from(exec.count_ones());
                sum.lanes.possible += u64::from(wave.lanes);
            }
            Class::Branch => {
                if let Some(taken) = taken(step.inst.op, wave) {
                    sum.branches.conditional += 1;
                    sum.branches.taken += u64::from(taken);
                    sum.branches.partial_exec += u64::from(exec != 0 && exec != initial);
                }
            }
            Class::Barrier => {
                sum.barriers += u64::from(matches!(step.inst.op, Op::SBarrier | Op::SBarrierWait));
            }
            _ => {}
        }
        if let Some(flight) = self.flights.get_mut(step.wave as usize) {
            flight.step(step.inst, self.generation, step.accesses, &mut sum.in_flight);
        }
        for access in step.accesses.iter() {
            let traffic = match access.space {
                Space::Global if access.scalar => &mut sum.constant,
                Space::Global => &mut sum.global,
                Space::Lds => &mut sum.lds,
                Space::Scratch => &mut sum.scratch,
            };
            let bytes = u64::from(access.bytes) * u64::from(access.mask.count_ones());
            match access.kind {
                AccessKind::Read => traffic.loads += 1,
                AccessKind::Write => traffic.stores += 1,
                AccessKind::Atomic => traffic.atomics += 1,
            }
            traffic.read_bytes += if access.kind == AccessKind::Write { 0 } else { bytes };
            traffic.written_bytes += if access.kind == AccessKind::Read { 0 } else { bytes };
            match access.space {
                Space::Global if !access.scalar => {
                    sum.cache_lines.accesses += 1;
                    sum.cache_lines.lines += cache_lines(access, self.cache_line);
                }
                Space::Lds => {
                    let (passes, cycles) = lds_cycles(access);
                    sum.lds_banks += LdsBanks { passes, cycles };
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn after(&mut self, _: &Step<'_>, wave: &Wave) -> Verdict {
        let exec = wave.active();
        let split = exec != 0 && exec != self.exec && exec & !self.exec == 0;
        self.sum.branches.splits += u64::from(split);
        Ok(())
    }

    fn end(&mut self) {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) += self.sum;
    }
}
