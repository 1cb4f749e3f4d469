//! Data races in LDS: accesses of two waves to the same byte, at least one of them a write, that nothing orders.
//!
//! What orders accesses: the barriers of the workgroup, and atomic instructions on the same address, as locks and counters use
//! them. Accesses of one wave are in order, whatever their lanes, but lanes of one instruction race if they write different
//! values to the same byte. Atomic accesses do not race with each other. A write of what a byte holds already does not race.

use std::collections::HashMap;
use std::sync::Arc;

use crate::exec::Wave;
use crate::isa::Op;
use crate::machine::fault::{AccessKind, Elsewhere, FaultKind, Space, WaveFault};
use crate::machine::launch::Launch;
use crate::machine::observe::{LaneAccess, Step, Verdict};

/// How far the waves of the workgroup had come, each by its own count.
type Clock = Vec<u32>;

fn join(clock: &mut Clock, other: &[u32]) {
    clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

/// An access to a byte.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Of the instruction.
    address: u64,
    /// The wave's own count.
    time: u32,
    wave: u16,
    lane: u8,
    kind: AccessKind,
}

/// A byte of LDS.
#[derive(Clone, Copy, Default, Debug)]
struct Byte {
    /// The last write, plain or atomic.
    write: Option<Mark>,
    /// The last plain reads of two waves.
    reads: [Option<Mark>; 2],
}

/// A workgroup.
pub(super) struct Races {
    bytes: Vec<Byte>,
    /// What each wave knows of the others.
    clocks: Vec<Clock>,
    /// What a barrier's arrivals know together, by the number of the arrival.
    barriers: HashMap<u64, Clock>,
    /// How often each wave has arrived and gone on.
    arrived: Vec<u64>,
    passed: Vec<u64>,
    /// What waves knew that ended, which count as arrived.
    ended: Clock,
    /// What is known to whoever accesses an atomic variable next.
    variables: HashMap<(Space, u64), Arc<Clock>>,
}

/// The access of the step that is looked at.
#[derive(Clone, Copy)]
struct Now {
    mark: Mark,
    /// The byte in LDS.
    at: u64,
    /// Whether it writes what the byte holds already.
    silent: bool,
}

/// A byte that a lane stores: byte `i` of what `access` stores.
fn stored(step: &Step<'_>, wave: &Wave, access: &LaneAccess, lane: usize, i: usize) -> Option<u8> {
    let first = access.stored.filter(|_| access.kind == AccessKind::Write)?;
    let high = if step.resolved.op.name().contains("d16_hi") { 16 } else { 0 };
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
            bytes: vec![Byte::default(); launch.lds as usize],
            clocks: (0..waves).map(clock).collect(),
            barriers: HashMap::new(),
            arrived: vec![0; waves],
            passed: vec![0; waves],
            ended: vec![0; waves],
            variables: HashMap::new(),
        }
    }

    /// A wave goes on after a barrier.
    pub(super) fn released(&mut self, wave: u32) {
        let wave = wave as usize;
        if let Some(passed) = self.passed.get_mut(wave) {
            *passed += 1;
            if let Some(known) = self.barriers.get(passed) {
                join(&mut self.clocks[wave], known);
            }
            join(&mut self.clocks[wave], &self.ended);
        }
    }

    fn arrives(&mut self, wave: usize) {
        self.arrived[wave] += 1;
        let waves = self.clocks.len();
        let known = self.barriers.entry(self.arrived[wave]).or_insert_with(|| vec![0; waves]);
        join(known, &self.clocks[wave]);
        self.clocks[wave][wave] += 1;
        // No wave waits for older ones any more.
        let oldest = self.passed.iter().copied().min().unwrap_or(0);
        self.barriers.retain(|number, _| *number > oldest);
    }

    /// A wave comes to an instruction.
    pub(super) fn step(&mut self, step: &Step<'_>, wave: &Wave) -> Verdict {
        let index = step.wave as usize;
        if index >= self.clocks.len() {
            return Ok(());
        }
        match step.resolved.op {
            Op::SBarrier | Op::SBarrierSignal | Op::SBarrierSignalIsfirst => self.arrives(index),
            Op::SEndpgm => join(&mut self.ended, &self.clocks[index]),
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

    /// Atomic accesses order what was before one with what is after the next to the same address.
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

    /// Whether an access comes before whatever the wave does now.
    fn is_before(&self, earlier: &Mark, wave: u16) -> bool {
        let known = self.clocks[usize::from(wave)].get(usize::from(earlier.wave)).copied().unwrap_or(0);
        earlier.wave == wave || known >= earlier.time
    }

    fn look(&mut self, mut now: Now) -> Verdict {
        let mark = now.mark;
        let Some(byte) = self.bytes.get(now.at as usize).copied() else {
            // The instruction itself will fault.
            return Ok(());
        };
        // That a byte is zero when the workgroup begins is nothing that a program may count on.
        now.silent &= byte.write.is_some();
        if let Some(write) = &byte.write
            && !self.is_before(write, mark.wave)
        {
            match (write.kind, mark.kind) {
                (AccessKind::Atomic, AccessKind::Atomic) => {}
                (AccessKind::Atomic, AccessKind::Read) => {
                    // Atomic loads are plain ones: it reads what the other published.
                    let word = now.at & !3;
                    let variables = [now.at, word, word & !7].map(|at| (Space::Lds, at));
                    let known = variables.iter().find_map(|variable| self.variables.get(variable)).cloned();
                    if let Some(known) = known {
                        join(&mut self.clocks[usize::from(mark.wave)], &known);
                    }
                }
                _ if now.silent => {}
                _ => return race(now, write),
            }
        }
        if mark.kind == AccessKind::Write && !now.silent {
            let unordered = byte.reads.iter().flatten().find(|read| !self.is_before(read, mark.wave));
            if let Some(read) = unordered {
                return race(now, read);
            }
        }
        let byte = &mut self.bytes[now.at as usize];
        if now.silent {
            // Whoever wrote the value first still counts.
        } else if mark.kind == AccessKind::Read {
            let [first, second] = &mut byte.reads;
            match first {
                Some(read) if read.wave != mark.wave => {
                    *second = *first;
                    *first = Some(mark);
                }
                _ => *first = Some(mark),
            }
        } else {
            byte.write = Some(mark);
            if mark.kind == AccessKind::Write {
                byte.reads = [None; 2];
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
