//! Distinguishes waves that poll memory, waiting for others, from waves that do work.

use std::sync::Arc;

use super::Wave;

/// A wave's time slice ends after this many backward jumps. A loop with few backward jumps per round is then
/// at the same jump whenever a slice ends.
const SLICE: u32 = 2520;
/// The limit for a wave that stands still.
const SHORT: u32 = 12;
/// The limit for a wave that is not yet classified, so that a wave that waits from its start is recognised
/// before it has wasted much time.
pub(super) const FIRST: u32 = 120;

/// The state of a wave's registers at the end of its last time slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stillness {
    scalars: u64,
    /// Unknown if the scalar registers had changed.
    vectors: Option<u64>,
}

/// A hash that most likely differs for different words.
fn digest(words: &[u32], seed: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sums = [seed, 1, 2, 3];
    let (chunks, rest) = words.as_chunks::<8>();
    for chunk in chunks {
        // Iterator adaptors are functions that may be compiled separately from this one and then called.
        for i in 0..4 {
            let pair = u64::from(chunk[2 * i]) | u64::from(chunk[2 * i + 1]) << 32;
            sums[i] = (sums[i].rotate_left(23) ^ pair).wrapping_mul(FACTOR);
        }
    }
    let sum =
        rest.iter().fold(sums[0], |sum, word| (sum.rotate_left(23) ^ u64::from(*word)).wrapping_mul(FACTOR));
    sums[1..].iter().fold(sum, |sum, other| (sum.rotate_left(23) ^ other).wrapping_mul(FACTOR))
}

impl Wave {
    /// Determines, at the end of a time slice, whether the wave is at the same place as at the end of the
    /// previous one, with identical registers. Then it loops until others change memory. Such a wave gets
    /// short slices until it moves on.
    ///
    /// `vectors` are its vector registers. A hash collision is extremely unlikely and only costs time.
    pub fn stands_still(&mut self, vectors: [&[u32]; 2]) -> bool {
        let unit = self.unit.as_ref().map_or(0, |unit| Arc::as_ptr(unit) as u64);
        let place = unit ^ u64::from(self.next) << 1 ^ u64::from(self.scc) ^ self.round << 40;
        let scalars = digest(&self.sgpr, place);
        let before = self.stillness.replace(Stillness { scalars, vectors: None });
        self.slice = match before {
            None => FIRST,
            Some(before) if before.scalars != scalars => SLICE,
            Some(before) => {
                let vectors = digest(vectors[1], digest(vectors[0], 0));
                self.stillness = Some(Stillness { scalars, vectors: Some(vectors) });
                match before.vectors {
                    None => FIRST,
                    Some(before) if before != vectors => SLICE,
                    Some(_) => SHORT,
                }
            }
        };
        self.slice == SHORT
    }

    /// Resets the state for a new wave.
    pub fn begin_moving(&mut self) {
        self.stillness = None;
        self.slice = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;
    use crate::access::NoMemory;

    #[test]
    fn a_wave_stands_still_when_nothing_has_changed_twice() {
        // SAFETY: it stays without registers.
        let mut wave = unsafe { Wave::new(Access::new(Arc::new(NoMemory))) };
        let mut vectors = vec![7u32; 96];
        assert_eq!(wave.slice, FIRST);
        let step = |wave: &mut Wave, vectors: &[u32]| (wave.stands_still([vectors, &[]]), wave.slice);
        // First nothing is known, then nothing about the vector registers.
        for _ in 0..2 {
            assert_eq!(step(&mut wave, &vectors), (false, FIRST));
        }
        assert_eq!(step(&mut wave, &vectors), (true, SHORT));
        for index in [0, 33, 95] {
            vectors[index] += 1;
            assert_eq!(step(&mut wave, &vectors), (false, SLICE), "vector register word {index}");
            assert_eq!(step(&mut wave, &vectors), (true, SHORT));
        }
        wave.sgpr[5] = 1;
        assert_eq!(step(&mut wave, &vectors), (false, SLICE));
        assert_eq!(step(&mut wave, &vectors), (false, FIRST));
        assert_eq!(step(&mut wave, &vectors), (true, SHORT));
        wave.next = 3;
        assert_eq!(step(&mut wave, &vectors), (false, SLICE));
        wave.begin_moving();
        assert_eq!(wave.slice, FIRST);
    }
}
