//! The compute units that a dispatch may run on.
//!
//! Host threads do the work, whichever units are selected. Kernels see the correct effects: the unit number
//! in a wave's hardware registers, and the number of workgroups that run at the same time.

use crate::MAX_COMPUTE_UNITS;

const WORDS: usize = MAX_COMPUTE_UNITS as usize / 32;

/// A set of a device's compute units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitMask([u32; WORDS]);

impl UnitMask {
    /// The first `count` units.
    pub fn first(count: u32) -> UnitMask {
        UnitMask(std::array::from_fn(|word| {
            let left = count.saturating_sub(32 * word as u32);
            if left >= 32 { u32::MAX } else { (1 << left) - 1 }
        }))
    }

    /// The units that are both in this set and in a mask given as words. The lowest bit of the first word is
    /// unit 0; missing words contain no units.
    #[must_use]
    pub fn and(&self, words: &[u32]) -> UnitMask {
        UnitMask(std::array::from_fn(|word| self.0[word] & words.get(word).copied().unwrap_or(0)))
    }

    /// The mask as words.
    pub fn words(&self) -> &[u32] {
        &self.0
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// How many units there are.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The number of the unit with `n` units before it, if there are as many.
    pub(super) fn nth(&self, mut n: u32) -> Option<u32> {
        for (word, mut bits) in (0..).zip(self.0) {
            let count = bits.count_ones();
            if n >= count {
                n -= count;
                continue;
            }
            if bits != u32::MAX {
                for _ in 0..n {
                    bits &= bits - 1;
                }
                n = bits.trailing_zeros();
            }
            return Some(32 * word + n);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_the_units_of_their_bits() {
        let all = UnitMask::first(40);
        assert_eq!(all.words()[..3], [u32::MAX, 0xff, 0]);
        assert_eq!(all.count(), 40);
        assert!((0..40).all(|n| all.nth(n) == Some(n)) && all.nth(40).is_none());
        let some = all.and(&[0x8000_0001, 0x180]);
        assert_eq!([0, 1, 2, 3].map(|n| some.nth(n)), [Some(0), Some(31), Some(39), None]);
        assert!(!some.is_empty() && some.and(&[2]).is_empty() && some.and(&[]).is_empty());
        assert_eq!(UnitMask::first(MAX_COMPUTE_UNITS).count(), MAX_COMPUTE_UNITS);
    }
}
