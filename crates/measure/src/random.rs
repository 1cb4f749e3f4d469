//! Pseudo-random numbers: the same on every run, so that results can be compared bit by bit.

use kernels::Element;

/// A xorshift generator of 64 bits.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator for a seed; neighbouring seeds give unrelated sequences.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The lowest bits of a xorshift are its weakest.
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 0 to below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A number in `-range..range`.
    pub(crate) fn number(&mut self, range: f64) -> f64 {
        let unit = (self.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        (unit * 2.0 - 1.0) * range
    }
}

/// Numbers in `-range..range`, rounded to the type.
pub(crate) fn numbers<T: Element>(count: usize, seed: u64, range: f64) -> Vec<T> {
    let mut random = Random::new(seed);
    (0..count).map(|_| T::from_f64(random.number(range))).collect()
}

/// At most `most` different numbers below `count`, in order; all of them if `count` is at most `most`.
pub(crate) fn sample(count: usize, most: usize, seed: u64) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let mut random = Random::new(seed);
    // Mistakes in sizes show at the first and the last.
    let mut chosen: Vec<usize> = (2..most).map(|_| random.below(count)).chain([0, count - 1]).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fill_their_range_and_repeat() {
        let all: Vec<f64> = numbers(10_000, 7, 2.0);
        assert!(all.iter().all(|x| (-2.0..2.0).contains(x)));
        assert!((all.iter().sum::<f64>() / 10_000.0).abs() < 0.05);
        assert_eq!(all, numbers::<f64>(10_000, 7, 2.0));
        assert_ne!(all, numbers::<f64>(10_000, 8, 2.0));
    }

    #[test]
    fn samples_have_both_ends() {
        assert_eq!(sample(3, 5, 1), [0, 1, 2]);
        let some = sample(1000, 10, 1);
        assert!(some.len() <= 10 && some.len() > 5 && some[0] == 0 && some.ends_with(&[999]));
    }
}
