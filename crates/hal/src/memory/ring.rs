//! Which bytes of a ring are in use.
//!
//! Ranges are taken one behind the other, and begin again at the first byte: one that reaches beyond the last
//! byte goes on there, which memory that is mapped twice in a row makes contiguous. They may be given back in
//! any order, but room is only where all ranges since the oldest one are back. This is bookkeeping only; the
//! bytes can be anywhere.

use std::collections::VecDeque;

/// A ring of bytes.
#[derive(Debug)]
pub struct Ring {
    size: u64,
    granule: u64,
    /// Bytes that were ever taken: where the next range begins.
    head: u64,
    /// Ranges that were ever taken, before those that are known.
    first: u64,
    /// Ranges from the oldest one that is not back: where each ends, and whether it is back.
    ranges: VecDeque<(u64, bool)>,
    /// Where the oldest of them begins.
    tail: u64,
}

/// A taken range.
#[derive(PartialEq, Eq, Debug)]
pub struct Taken {
    /// Its first byte. The range may reach beyond the ring, and goes on at its beginning.
    pub offset: u64,
    /// Bytes: the requested size, rounded up to a granule.
    pub size: u64,
    number: u64,
}

impl Ring {
    /// An unused ring, whose ranges begin at multiples of `granule`.
    ///
    /// # Panics
    /// If the granule is 0 or the size is no multiple of it.
    #[must_use]
    pub fn new(size: u64, granule: u64) -> Self {
        assert!(granule != 0 && size.is_multiple_of(granule), "a ring is whole granules");
        Self { size, granule, head: 0, first: 0, ranges: VecDeque::new(), tail: 0 }
    }

    /// Bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes from the oldest range that is not back to the newest, those included that are back.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.head - self.tail
    }

    /// Takes the next bytes, at least one granule. `None` if there is no room.
    pub fn take(&mut self, size: u64) -> Option<Taken> {
        let size = size.max(1).checked_next_multiple_of(self.granule)?;
        if size > self.size - self.used() {
            return None;
        }
        let (offset, number) = (self.head % self.size, self.first + self.ranges.len() as u64);
        self.head += size;
        self.ranges.push_back((self.head, false));
        Some(Taken { offset, size, number })
    }

    /// Gives a range back.
    ///
    /// # Panics
    /// If it is not from this ring.
    pub fn give_back(&mut self, taken: Taken) {
        let place = taken.number.checked_sub(self.first).map(|place| place as usize);
        let Some((_, is_back)) = place.and_then(|place| self.ranges.get_mut(place)) else {
            panic!("the range is not from this ring");
        };
        assert!(!std::mem::replace(is_back, true), "the range is not from this ring");
        while let Some((end, true)) = self.ranges.front().copied() {
            self.ranges.pop_front();
            (self.first, self.tail) = (self.first + 1, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_reaches_over_the_end() {
        let mut ring = Ring::new(1024, 64);
        let first = ring.take(700).unwrap();
        assert_eq!((first.offset, first.size, ring.used()), (0, 704, 704));
        let second = ring.take(200).unwrap();
        assert_eq!((second.offset, second.size), (704, 256));
        assert_eq!(ring.take(100), None);
        ring.give_back(second);
        assert_eq!((ring.take(100), ring.used()), (None, 960), "the first one is not back");
        ring.give_back(first);
        assert_eq!(ring.used(), 0);
        let all = ring.take(1024).unwrap();
        assert_eq!((all.offset, all.size), (960, 1024));
        assert_eq!(ring.take(0), None);
        assert_eq!(Ring::new(1024, 64).take(1025), None);
        assert_eq!(Ring::new(1024, 64).take(u64::MAX), None);
    }

    #[test]
    #[should_panic(expected = "not from this ring")]
    fn a_range_of_another_ring_is_refused() {
        let range = Ring::new(1024, 64).take(64).expect("room");
        Ring::new(1024, 64).give_back(range);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]
        /// Against a list of all bytes: who has each one.
        #[test]
        fn ranges_follow_each_other_and_never_overlap(
            requests in prop::collection::vec((0u64..900, any::<bool>()), 1..200),
            granule in prop::sample::select(vec![1u64, 16, 64]),
        ) {
            const SIZE: u64 = 2048;
            let mut ring = Ring::new(SIZE, granule);
            let mut owners: Vec<Option<u64>> = vec![None; SIZE as usize];
            // All since the oldest one that is not back, with those that are.
            let mut order: VecDeque<(u64, u64, bool)> = VecDeque::new();
            let (mut taken, mut next): (Vec<Taken>, u64) = (Vec::new(), 0);
            for (index, (size, gives)) in (0u64..).zip(requests) {
                if gives && !taken.is_empty() {
                    let range = taken.swap_remove(size as usize % taken.len());
                    let owner = owners[range.offset as usize];
                    for byte in range.offset..range.offset + range.size {
                        prop_assert_eq!(owners[(byte % SIZE) as usize].take(), owner);
                    }
                    for (name, _, is_back) in &mut order {
                        *is_back |= Some(*name) == owner;
                    }
                    ring.give_back(range);
                    while order.front().is_some_and(|(_, _, is_back)| *is_back) {
                        order.pop_front();
                    }
                } else {
                    let rounded = size.max(1).next_multiple_of(granule);
                    let used: u64 = order.iter().map(|(_, size, _)| size).sum();
                    let range = ring.take(size);
                    prop_assert_eq!(range.is_some(), used + rounded <= SIZE);
                    let Some(range) = range else { continue };
                    prop_assert_eq!((range.offset, range.size), (next, rounded));
                    next = (next + rounded) % SIZE;
                    for byte in range.offset..range.offset + range.size {
                        prop_assert_eq!(owners[(byte % SIZE) as usize].replace(index), None);
                    }
                    order.push_back((index, rounded, false));
                    taken.push(range);
                }
                let used: u64 = order.iter().map(|(_, size, _)| size).sum();
                prop_assert_eq!(ring.used(), used);
            }
            for range in taken {
                ring.give_back(range);
            }
            prop_assert_eq!(ring.used(), 0);
            prop_assert!(ring.take(SIZE).is_some());
        }
    }
}
