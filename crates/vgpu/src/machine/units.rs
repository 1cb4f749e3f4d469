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

    /// The numbers of the units in ascending order.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let words = (0..).zip(self.0).filter(|(_, bits)| *bits != 0);
        words.flat_map(|(word, bits)| {
            (0..32).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| 32 * word + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_the_units_of_their_bits() {
        let all = UnitMask::first(40);
        assert_eq!(all.words()[..3], [u32::MAX, 0xff, 0]);
        assert!(all.numbers().eq(0..40));
        let some = all.and(&[0x8000_0001, 0x180]);
        assert_eq!(some.numbers().collect::<Vec<_>>(), [0, 31, 39]);
        assert!(!some.is_empty() && some.and(&[2]).is_empty() && some.and(&[]).is_empty());
        assert_eq!(UnitMask::first(MAX_COMPUTE_UNITS).numbers().count(), MAX_COMPUTE_UNITS as usize);
    }
}
