//! Tells waves that wait for others, by looking at memory again and again, from waves that work.

use std::sync::Arc;

use super::Wave;

/// Loops end a wave's time slice after this many jumps backward. Loops of which each round has few of them are at the same one
/// whenever a slice ends.
const SLICE: u32 = 2520;
/// The same for a wave that has been standing still.
const SHORT: u32 = 12;
/// The same for a wave of which it is not known yet: that it waits from its beginning shows before it has spent much time on it.
pub(super) const FIRST: u32 = 120;

/// What a wave's registers were when its last time slice ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stillness {
    scalars: u64,
    /// Not known if the scalar ones had changed.
    vectors: Option<u64>,
}

/// A number that is most likely another one for other words.
fn digest(words: &[u32], seed: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sums = [seed, 1, 2, 3];
    let (chunks, rest) = words.as_chunks::<8>();
    for chunk in chunks {
        // Adaptors of iterators are functions that may be compiled apart from this one, and then are called.
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
    /// Says at the end of a time slice whether the wave is where it was at the end of the one before, with all registers the
    /// same: then it goes round a loop until others change memory. Such a wave gets short slices until it goes on.
    ///
    /// `vectors` are its vector registers. Being wrong, which is next to impossible, costs time and nothing else.
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

    /// Forgets what it was, for another wave to begin.
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
        // Nothing is known, then nothing of the vector registers.
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
