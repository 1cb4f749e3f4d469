//! Data races in LDS: unordered accesses of two waves to the same byte, at least one of them a write.
//!
//! Accesses are ordered by the barrier of the workgroup, by global wave sync, and by atomic instructions on
//! the same address, as in locks and counters. Accesses of one wave are always ordered, whatever their lanes,
//! but lanes of one instruction race if they write different values to the same byte. Atomic accesses do not
//! race with each other. Writing the value that a byte already holds is not a race.

use std::collections::HashMap;
use std::sync::Arc;

use crate::exec::Wave;
use crate::isa::{Fact, Op, Operand, scalar};
use crate::machine::launch::Launch;
use crate::machine::observe::{LaneAccess, Step, Verdict};
use gpu_report::{AccessKind, FaultKind, Space};
use vgpu_exec::{Elsewhere, WaveFault};

/// A vector clock: the progress of each wave of the workgroup, by its own count.
type Clock = Vec<u32>;

fn join(clock: &mut Clock, other: &[u32]) {
    clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

/// An access to a byte.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The address of the instruction.
    address: u64,
    /// The wave's own count.
    time: u32,
    wave: u16,
    lane: u8,
    kind: AccessKind,
}

/// A byte of LDS.
#[derive(Clone, Default, Debug)]
struct Byte {
    /// The last write, plain or atomic.
    write: Option<Mark>,
    /// Each wave's last plain read since the last plain write.
    reads: Vec<Mark>,
}

/// A barrier that the same waves use round after round.
#[derive(Default)]
struct Rounds {
    /// The joint knowledge of the waves that arrived in a round, by its number.
    known: HashMap<u64, Clock>,
    /// How often each wave has arrived and continued.
    arrived: Vec<u64>,
    passed: Vec<u64>,
    /// Ended waves: how often each had arrived, and its clock. They count as arrived in all later rounds.
    ended: Vec<(u64, Clock)>,
}

impl Rounds {
    fn new(waves: usize) -> Rounds {
        Rounds { arrived: vec![0; waves], passed: vec![0; waves], ..Rounds::default() }
    }

    /// A wave with this clock arrives.
    fn arrive(&mut self, wave: usize, clock: &[u32]) {
        self.arrived[wave] += 1;
        let known = self.known.entry(self.arrived[wave]).or_insert_with(|| vec![0; clock.len()]);
        join(known, clock);
        // No wave waits for older rounds any more.
        let oldest = self.passed.iter().copied().min().unwrap_or(0);
        self.known.retain(|round, _| *round > oldest);
    }

    /// A wave continues after its next round and learns what the others knew.
    fn pass(&mut self, wave: usize, clock: &mut Clock) {
        self.passed[wave] += 1;
        let round = self.passed[wave];
        let before = self.ended.iter().filter(|(arrivals, _)| *arrivals < round).map(|(_, known)| known);
        self.known.get(&round).into_iter().chain(before).for_each(|known| join(clock, known));
    }

    fn end(&mut self, wave: usize, clock: &[u32]) {
        self.ended.push((self.arrived[wave], clock.to_vec()));
        self.passed[wave] = u64::MAX;
    }
}

/// A workgroup.
pub(super) struct Races {
    bytes: Vec<Byte>,
    /// What each wave knows about the others.
    clocks: Vec<Clock>,
    /// The workgroup's barrier.
    barrier: Rounds,
    /// The resources of global wave sync in use, and the resource at which each wave waits.
    resources: HashMap<u32, Rounds>,
    waits: Vec<Option<u32>>,
    /// What the next access to an atomic variable learns.
    variables: HashMap<(Space, u64), Arc<Clock>>,
}

/// The access that the current step makes.
#[derive(Clone, Copy)]
struct Now {
    mark: Mark,
    /// The byte in LDS.
    at: u64,
    /// Whether it writes the value that the byte already holds.
    silent: bool,
}

/// A byte that a lane stores: byte `i` of the data of `access`.
fn stored(step: &Step<'_>, wave: &Wave, access: &LaneAccess, lane: usize, i: usize) -> Option<u8> {
    let first = access.stored.filter(|_| access.kind == AccessKind::Write)?;
    let high = if step.resolved.op.has(Fact::HIGH) { 16 } else { 0 };
    let register = usize::from(first) + i / 4;
    // SAFETY: instructions of the wave's program name only registers of its file.
    let value = unsafe { wave.vgpr.add(register * usize::from(wave.lanes) + lane).read() };
    Some((value >> (8 * (i % 4) + high)) as u8)
}

impl Races {
    pub(super) fn new(launch: &Launch, waves: usize) -> Races {
        let clock = |wave: usize| {
            let mut clock = vec![0; waves];
            clock[wave] = 1;
            clock
        };
        Races {
            bytes: vec![Byte::default(); launch.lds_limit as usize],
            clocks: (0..waves).map(clock).collect(),
            barrier: Rounds::new(waves),
            resources: HashMap::new(),
            waits: vec![None; waves],
            variables: HashMap::new(),
        }
    }

    /// A wave continues after the workgroup's barrier.
    pub(super) fn released(&mut self, wave: u32) {
        if let Some(clock) = self.clocks.get_mut(wave as usize) {
            self.barrier.pass(wave as usize, clock);
        }
    }

    fn arrives(&mut self, wave: usize) {
        self.barrier.arrive(wave, &self.clocks[wave]);
        self.clocks[wave][wave] += 1;
    }

    /// A wave waits at a resource of global wave sync. It executes the instruction again until all waves are
    /// there.
    fn waits_at(&mut self, wave: usize, resource: u32) {
        if self.waits[wave].replace(resource).is_none() {
            let waves = self.clocks.len();
            let rounds = self.resources.entry(resource).or_insert_with(|| Rounds::new(waves));
            rounds.arrive(wave, &self.clocks[wave]);
            self.clocks[wave][wave] += 1;
        }
    }

    /// A wave has executed an instruction.
    pub(super) fn done(&mut self, step: &Step<'_>) {
        let wave = step.wave as usize;
        if let Some(resource) = self.waits.get_mut(wave).and_then(Option::take)
            && let Some(rounds) = self.resources.get_mut(&resource)
        {
            rounds.pass(wave, &mut self.clocks[wave]);
        }
    }

    /// A wave reaches an instruction.
    pub(super) fn step(&mut self, step: &Step<'_>, wave: &Wave) -> Verdict {
        let index = step.wave as usize;
        if index >= self.clocks.len() {
            return Ok(());
        }
        match step.resolved.op {
            Op::SBarrier => self.arrives(index),
            // Signals to other barriers do not count as arrivals.
            Op::SBarrierSignal | Op::SBarrierSignalIsfirst if step.inst.src[0] == Operand::Int(-1) => {
                self.arrives(index);
            }
            Op::DsGwsBarrier => {
                let m0 = wave.sgpr[usize::from(scalar::M0)];
                self.waits_at(index, (m0 >> 16).wrapping_add(step.inst.mem.offset as u32) & 0x3f);
            }
            Op::SEndpgm | Op::SEndpgmSaved | Op::SEndpgmOrderedPsDone => {
                self.barrier.end(index, &self.clocks[index]);
            }
            _ => {}
        }
        let mut atomic = false;
        for access in step.accesses.iter() {
            if access.kind == AccessKind::Atomic {
                atomic = true;
                self.synchronise(index, access);
            }
            if access.space == Space::Lds {
                self.conflicting_lanes(step, wave, access)?;
                for (lane, at) in access.lanes() {
                    let mark = Mark {
                        address: step.address,
                        time: self.clocks[index][index],
                        wave: step.wave as u16,
                        lane: lane as u8,
                        kind: access.kind,
                    };
                    for i in 0..access.bytes as usize {
                        let at = at.wrapping_add(i as u64);
                        let silent = (at as usize) < self.bytes.len() && {
                            // SAFETY: the byte lies in the workgroup's LDS, which only this thread uses.
                            let held = unsafe { wave.access.lds.add(at as usize).read() };
                            stored(step, wave, access, lane, i) == Some(held)
                        };
                        self.look(Now { mark, at, silent })?;
                    }
                }
            }
        }
        if atomic {
            self.clocks[index][index] += 1;
        }
        Ok(())
    }

    /// An atomic access orders everything before it with everything after the next atomic access to the same
    /// address.
    fn synchronise(&mut self, wave: usize, access: &LaneAccess) {
        let mut addresses: Vec<u64> = access.lanes().map(|(_, address)| address).collect();
        addresses.dedup();
        for address in addresses {
            let variable = (access.space, address);
            if let Some(known) = self.variables.get(&variable) {
                join(&mut self.clocks[wave], known);
            }
            let known = Arc::new(self.clocks[wave].clone());
            self.variables.insert(variable, known);
        }
    }

    /// Whether an access is ordered before everything that the wave does from now on.
    fn is_before(&self, earlier: &Mark, wave: u16) -> bool {
        let known = self.clocks[usize::from(wave)].get(usize::from(earlier.wave)).copied().unwrap_or(0);
        earlier.wave == wave || known >= earlier.time
    }

    fn look(&mut self, mut now: Now) -> Verdict {
        let mark = now.mark;
        let Some(byte) = self.bytes.get(now.at as usize) else {
            // There is no LDS at this address.
            return Ok(());
        };
        // Programs must not rely on LDS being zero at the start of the workgroup.
        now.silent &= byte.write.is_some();
        if let Some(write) = byte.write
            && !self.is_before(&write, mark.wave)
        {
            match (write.kind, mark.kind) {
                (AccessKind::Atomic, AccessKind::Atomic) => {}
                (AccessKind::Atomic, AccessKind::Read) => {
                    // Atomic loads are plain loads: this one reads a value that another wave published.
                    let word = now.at & !3;
                    let variables = [now.at, word, word & !7].map(|at| (Space::Lds, at));
                    let known = variables.iter().find_map(|variable| self.variables.get(variable)).cloned();
                    if let Some(known) = known {
                        join(&mut self.clocks[usize::from(mark.wave)], &known);
                    }
                }
                _ if now.silent => {}
                _ => return race(now, &write),
            }
        }
        if now.silent {
            // The first write of the value still counts.
            return Ok(());
        }
        let reads = &self.bytes[now.at as usize].reads;
        if mark.kind == AccessKind::Write
            && let Some(read) = reads.iter().find(|read| !self.is_before(read, mark.wave))
        {
            return race(now, read);
        }
        let byte = &mut self.bytes[now.at as usize];
        match mark.kind {
            AccessKind::Read => match byte.reads.iter_mut().find(|read| read.wave == mark.wave) {
                Some(read) => *read = mark,
                None => byte.reads.push(mark),
            },
            kind => {
                byte.write = Some(mark);
                if kind == AccessKind::Write {
                    byte.reads.clear();
                }
            }
        }
        Ok(())
    }

    /// Lanes of one instruction that write different values to the same byte.
    fn conflicting_lanes(&self, step: &Step<'_>, wave: &Wave, access: &LaneAccess) -> Verdict {
        let mut written: HashMap<u64, (usize, u8)> = HashMap::new();
        for (lane, at) in access.lanes() {
            for i in 0..access.bytes as usize {
                let Some(value) = stored(step, wave, access, lane, i) else { return Ok(()) };
                let at = at.wrapping_add(i as u64);
                match written.insert(at, (lane, value)) {
                    Some((earlier, other)) if other != value => {
                        let mark = |lane: usize| Mark {
                            address: step.address,
                            time: 0,
                            wave: step.wave as u16,
                            lane: lane as u8,
                            kind: AccessKind::Write,
                        };
                        return race(Now { mark: mark(lane), at, silent: false }, &mark(earlier));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

#[cold]
fn race(now: Now, earlier: &Mark) -> Verdict {
    let kind = FaultKind::Race { address: now.at, access: now.mark.kind, other: earlier.kind };
    let other = Elsewhere {
        what: "the other access",
        address: earlier.address,
        wave: u32::from(earlier.wave),
        lane: Some(earlier.lane),
    };
    Err(Box::new(WaveFault { kind, lane: Some(now.mark.lane), other: Some(other) }))
}
