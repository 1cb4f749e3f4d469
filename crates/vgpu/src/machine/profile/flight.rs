//! Loads in flight: what a wave has requested from global memory at the waits at which it really has to wait.
//!
//! Requests that are made together arrive together. So a wait for a request that was made before the wave
//! last waited takes no time, and a wave's time in memory latencies is the number of its other waits.

use std::collections::VecDeque;

use crate::isa::{Class, Counter, Generation, Inst, waits};
use crate::machine::observe::LaneAccess;
use gpu_report::{AccessKind, InFlight, Space};

/// Where a request goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Latency {
    /// Vector loads from global memory.
    Memory,
    /// Scalar loads.
    Scalar,
    /// Everything that counts with them but is nearer, or that nobody waits for: LDS, scratch memory, stores.
    Other,
}

/// A request that is counted.
#[derive(Clone, Copy, Debug)]
struct Request {
    latency: Latency,
    /// How often the wave had waited before the request: for memory, and for either.
    after: [u64; 2],
}

/// The requests of one wave.
#[derive(Clone, Default, Debug)]
pub(super) struct Flight {
    /// Those of each counter, the oldest first.
    requests: [VecDeque<Request>; 4],
    /// Bytes that vector loads have requested since the wave last waited for one.
    bytes: u64,
    /// The wave's waits: for memory, and for either.
    waited: [u64; 2],
}

impl Flight {
    /// The wave executes an instruction. What it waits for is added to `sum`.
    pub(super) fn step(
        &mut self,
        inst: &Inst,
        generation: Generation,
        accesses: &[LaneAccess],
        sum: &mut InFlight,
    ) {
        match inst.op.class() {
            Class::Hint => self.wait(waits(inst, generation), sum),
            Class::Branch => {}
            _ => self.request(inst, generation, accesses),
        }
    }

    fn request(&mut self, inst: &Inst, generation: Generation, accesses: &[LaneAccess]) {
        for &counter in Counter::of(inst, generation) {
            let loads = |access: &&LaneAccess| {
                access.space == Space::Global && access.kind != AccessKind::Write && counter == Counter::Loads
            };
            let bytes: u64 = accesses
                .iter()
                .filter(loads)
                .map(|access| u64::from(access.bytes) * u64::from(access.mask.count_ones()))
                .sum();
            self.bytes += bytes;
            let is_scalar = accesses.iter().any(|access| access.scalar && access.kind == AccessKind::Read);
            let latency = match bytes {
                1.. => Latency::Memory,
                0 if is_scalar => Latency::Scalar,
                0 => Latency::Other,
            };
            self.requests[counter as usize].push_back(Request { latency, after: self.waited });
        }
    }

    fn wait(&mut self, waits: [Option<u16>; 4], sum: &mut InFlight) {
        let [mut memory, mut scalar] = [false; 2];
        for (requests, left) in self.requests.iter_mut().zip(waits) {
            let Some(left) = left else { continue };
            while requests.len() > usize::from(left)
                && let Some(request) = requests.pop_front()
            {
                memory |= request.latency == Latency::Memory && request.after[0] == self.waited[0];
                scalar |= request.latency == Latency::Scalar && request.after[1] == self.waited[1];
            }
        }
        // Memory takes longer: a scalar load that was requested as late arrives meanwhile.
        if memory {
            sum.waits += 1;
            sum.bytes += self.bytes;
            self.bytes = 0;
            self.waited[0] += 1;
        } else if scalar {
            sum.scalar_waits += 1;
        }
        self.waited[1] += u64::from(memory || scalar);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Isa, decode};

    /// `global_load_dword v0, v[2:3], off`, `s_load_dword s0, s[0:1], 0x0` and `s_waitcnt` on gfx90a.
    const LOAD: [u8; 8] = [0x00, 0x80, 0x50, 0xdc, 0x02, 0x00, 0x7f, 0x00];
    const SCALAR: [u8; 8] = [0x00, 0x00, 0x02, 0xc0, 0x00, 0x00, 0x00, 0x00];

    fn vmcnt(left: u8) -> [u8; 4] {
        [0x70 | left, 0x0f, 0x8c, 0xbf]
    }

    const LGKMCNT: [u8; 4] = [0x7f, 0xc0, 0x8c, 0xbf];

    fn access(scalar: bool) -> LaneAccess {
        LaneAccess {
            space: Space::Global,
            kind: AccessKind::Read,
            scalar,
            bytes: 4,
            mask: if scalar { 1 } else { u64::MAX },
            address: [0; 64],
            loaded: None,
            stored: None,
            moved: crate::machine::observe::Moved::Plain,
        }
    }

    fn count(code: &[&[u8]]) -> InFlight {
        let (mut flight, mut sum) = (Flight::default(), InFlight::default());
        for bytes in code {
            let inst = decode(Isa::Gfx90a, bytes).expect("an instruction");
            let accesses = match inst.op.class() {
                Class::VmemLoad => vec![access(false)],
                Class::Smem => vec![access(true)],
                _ => Vec::new(),
            };
            flight.step(&inst, Isa::Gfx90a.generation(), &accesses, &mut sum);
        }
        sum
    }

    #[test]
    fn loads_that_are_requested_together_are_waited_for_once() {
        let together = count(&[&LOAD, &LOAD, &vmcnt(1), &vmcnt(0)]);
        assert_eq!(together, InFlight { waits: 1, bytes: 512, scalar_waits: 0 });
        let one_by_one = count(&[&LOAD, &vmcnt(0), &LOAD, &vmcnt(0)]);
        assert_eq!(one_by_one, InFlight { waits: 2, bytes: 512, scalar_waits: 0 });
    }

    #[test]
    fn a_loop_that_loads_ahead_has_both_loads_in_flight() {
        let ahead: [&[u8]; 8] = [&LOAD, &LOAD, &vmcnt(1), &LOAD, &vmcnt(1), &LOAD, &vmcnt(1), &vmcnt(0)];
        assert_eq!(count(&ahead), InFlight { waits: 2, bytes: 1024, scalar_waits: 0 });
    }

    #[test]
    fn scalar_loads_are_counted_apart() {
        let both = count(&[&SCALAR, &LGKMCNT, &LOAD, &SCALAR, &vmcnt(0), &LGKMCNT]);
        assert_eq!(both, InFlight { waits: 1, bytes: 256, scalar_waits: 1 });
    }

    #[test]
    fn a_wait_for_nothing_is_none() {
        assert_eq!(count(&[&vmcnt(0), &LGKMCNT, &LOAD, &vmcnt(3)]), InFlight::default());
    }
}
