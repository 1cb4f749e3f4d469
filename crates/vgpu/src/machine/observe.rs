//! Observers of dispatches, instruction by instruction. Traces, counters and checks are built on them.
//!
//! | trait | lives as long as | observes |
//! |---|---|---|
//! | `Instrument` | the machine | allocations, frees, writes by the host, dispatches |
//! | `DispatchObserver` | a dispatch | its workgroups, its end |
//! | `GroupObserver` | a workgroup | every instruction of its waves, before and after, with the memory it accesses; barriers |
//!
//! A workgroup with observers runs in the watched run loop, on code that records the position of every
//! instruction. All others run in the plain loop, which has no knowledge of observers. A workgroup stays on
//! one thread, so its observer needs no locks; the observer of a dispatch does.

use std::sync::{Arc, OnceLock};

use super::WaveFault;
use super::dispatch::DispatchStats;
use super::launch::Launch;
pub use crate::exec::{Accesses, LaneAccess, Moved, is_memory};
use crate::exec::{Code, Unit, Watch, Wave, resolved};
use crate::isa::{Inst, Register, Registers, Span, scalar};
use gpu_report::Allocation;
use gpu_report::FaultKind;

/// Observes a machine.
pub(crate) trait Instrument: Send + Sync + std::fmt::Debug {
    /// A dispatch has passed its checks and begins. Returns none if it is of no interest.
    fn begin(&self, launch: &Launch) -> Option<Box<dyn DispatchObserver>>;

    /// Memory becomes known to kernels: it was allocated or registered.
    fn allocated(&self, _allocation: &Allocation) {}

    /// Memory is no longer known to kernels.
    fn freed(&self, _allocation: &Allocation) {}

    /// The host wrote memory through a function of the API. Plain stores are not observed.
    fn written(&self, _address: u64, _size: u64) {}
}

/// Observes one dispatch, from all threads that run its workgroups.
pub(crate) trait DispatchObserver: Send + Sync + std::fmt::Debug {
    /// A workgroup begins. Returns none if it is of no interest.
    fn group(&self, launch: &Launch, id: [u32; 3], size: [u32; 3]) -> Option<Box<dyn GroupObserver>>;

    /// All workgroups are done, or one faulted; after a fault there are no statistics.
    fn end(&self, _launch: &Launch, _stats: Option<&mut DispatchStats>) {}
}

/// An observer's verdict on an instruction; a fault ends the dispatch.
pub(crate) type Verdict = Result<(), Box<WaveFault>>;

/// Observes one workgroup.
pub(crate) trait GroupObserver: Send {
    /// A wave reaches an instruction. Registers and memory are as they are before it.
    fn before(&mut self, _step: &Step<'_>, _wave: &Wave) -> Verdict {
        Ok(())
    }

    /// The wave has executed the instruction without a fault. `step` is unchanged, so its addresses are those
    /// that were accessed. The results of `s_get_barrier_state` and `s_barrier_signal_isfirst` are written
    /// after this call.
    fn after(&mut self, _step: &Step<'_>, _wave: &Wave) -> Verdict {
        Ok(())
    }

    /// The wave continues after a barrier at which all waves had arrived. The calls for the waves that one
    /// arrival releases follow each other.
    fn released(&mut self, _wave: u32) {}

    /// The workgroup is done, or was stopped by a fault.
    fn end(&mut self) {}
}

/// An instruction that a wave executes.
pub(crate) struct Step<'a> {
    /// Number of the wave in its workgroup.
    pub wave: u32,
    /// Address of the instruction, in memory.
    pub address: u64,
    pub inst: &'a Inst,
    /// The same instruction, or the one with the registers that M0 selects.
    pub resolved: &'a Inst,
    /// The registers that it reads and writes.
    pub registers: &'a Registers,
    /// The memory that it accesses.
    pub accesses: &'a Accesses,
}

/// All instruments of a machine, which it has from its start.
#[derive(Default, Debug)]
pub(crate) struct Instruments(OnceLock<Vec<Arc<dyn Instrument>>>);

impl Instruments {
    /// The machine's instruments; further calls change nothing.
    pub(super) fn set(&self, all: Vec<Arc<dyn Instrument>>) {
        self.0.get_or_init(|| all);
    }

    fn each(&self, tell: impl FnMut(&dyn Instrument)) {
        self.0.get().into_iter().flatten().map(|instrument| &**instrument).for_each(tell);
    }

    pub(super) fn begin(&self, launch: &Launch) -> Vec<Box<dyn DispatchObserver>> {
        let mut observers = Vec::new();
        self.each(|instrument| observers.extend(instrument.begin(launch)));
        observers
    }

    pub(super) fn allocated(&self, allocation: &Allocation) {
        self.each(|instrument| instrument.allocated(allocation));
    }

    pub(super) fn freed(&self, allocation: &Allocation) {
        self.each(|instrument| instrument.freed(allocation));
    }

    pub(super) fn written(&self, address: u64, size: u64) {
        self.each(|instrument| instrument.written(address, size));
    }
}

/// The observers of a workgroup.
#[derive(Default)]
pub(super) struct Observers {
    each: Vec<Box<dyn GroupObserver>>,
    accesses: Accesses,
    /// The instruction with the registers that M0 selected, if it uses M0.
    resolved: Option<(Inst, Registers)>,
}

impl Observers {
    /// Collects the observers of the workgroup that begins.
    pub(super) fn begin(&mut self, launch: &Launch, id: [u32; 3], size: [u32; 3]) {
        self.each.clear();
        self.each.extend(launch.observers.iter().filter_map(|observer| observer.group(launch, id, size)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    pub(super) fn released(&mut self, wave: u32) {
        self.each.iter_mut().for_each(|observer| observer.released(wave));
    }

    pub(super) fn end(&mut self) {
        self.each.drain(..).for_each(|mut observer| observer.end());
    }

    /// The observers as the run loop sees them while a wave runs.
    pub(super) fn of_wave(&mut self, wave: u32) -> Watched<'_> {
        Watched { observers: self, wave }
    }
}

/// The observers of a workgroup, while one of its waves runs.
pub(super) struct Watched<'a> {
    observers: &'a mut Observers,
    wave: u32,
}

impl Watched<'_> {
    fn tell(
        &mut self,
        wave: &Wave,
        unit: &Unit,
        code: &Code,
        tell: impl Fn(&mut dyn GroupObserver, &Step<'_>, &Wave) -> Verdict,
    ) -> Verdict {
        let number = code.inst as usize;
        let (Some(inst), Some(registers), Some(&address)) =
            (unit.insts.get(number), unit.registers.get(number), unit.pcs.get(number))
        else {
            let what = "lowered code without an instruction".to_owned();
            return Err(Box::new(FaultKind::Internal { what }.into()));
        };
        let chosen = self.observers.resolved.as_ref();
        let (resolved, registers) = chosen.map_or((inst, registers), |(inst, registers)| (inst, registers));
        let accesses = &self.observers.accesses;
        let step = Step { wave: self.wave, address, inst, resolved, registers, accesses };
        self.observers.each.iter_mut().try_for_each(|observer| tell(&mut **observer, &step, wave))
    }
}

impl Watch for Watched<'_> {
    const ON: bool = true;

    fn before(&mut self, wave: &Wave, unit: &Unit, code: &Code) -> Verdict {
        let number = code.inst as usize;
        self.observers.resolved = None;
        if unit.registers.get(number).is_some_and(|registers| registers.indirect) {
            let resolved = unit.insts.get(number).and_then(|inst| resolved(inst, wave));
            self.observers.resolved = resolved.map(|inst| {
                let mut registers = inst.registers(wave.lanes);
                let m0 = Span { first: Register::Scalar(scalar::M0), count: 1 };
                registers.read.push(m0);
                (inst, registers)
            });
        }
        // SAFETY: the wave runs the unit's program, which it was set up for.
        unsafe { self.observers.accesses.find(unit, number, wave) };
        self.tell(wave, unit, code, |observer, step, wave| observer.before(step, wave))
    }

    fn after(&mut self, wave: &Wave, unit: &Unit, code: &Code) -> Verdict {
        self.tell(wave, unit, code, |observer, step, wave| observer.after(step, wave))
    }
}
