//! Two-level segregated fit: which ranges of a block are free, in constant time for each change.
//!
//! Free ranges are kept in lists by size: the first level is the power of two, the second divides it in
//! sixteen. A request looks in the first list whose ranges are all large enough. Neighbouring free ranges are
//! always merged. Offsets and sizes are multiples of the granule.

/// Second-level classes of each power of two, as a power of two.
const SECOND_BITS: u32 = 4;
const SECOND: usize = 1 << SECOND_BITS;
/// First-level classes: sizes in granules up to 2^48.
const FIRST: usize = 48;
/// No range.
const NONE: u32 = u32::MAX;

/// A range of the block, free or taken.
#[derive(Clone, Copy, Debug)]
struct Range {
    /// In granules.
    start: u64,
    size: u64,
    is_free: bool,
    /// The neighbours in the block.
    before: u32,
    behind: u32,
    /// The neighbours in its list, if it is free.
    previous: u32,
    next: u32,
}

/// A taken range of a block. It is not `Clone`, so that it is given back once.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Taken {
    index: u32,
    /// Where it begins, bytes.
    pub offset: u64,
    /// Its size, at least what was asked for, bytes.
    pub size: u64,
}

/// The free and taken ranges of one block.
#[derive(Clone, Debug)]
pub struct Tlsf {
    granule: u64,
    ranges: Vec<Range>,
    /// Unused places of `ranges`.
    spare: Vec<u32>,
    first: u64,
    second: [u16; FIRST],
    lists: [[u32; SECOND]; FIRST],
    size: u64,
    free: u64,
}

/// The list of a size: ranges of one list differ by less than a sixteenth.
fn class(size: u64) -> (usize, usize) {
    if size < SECOND as u64 {
        return (0, size as usize);
    }
    let power = size.ilog2();
    let second = (size >> (power - SECOND_BITS)) as usize & (SECOND - 1);
    ((power - SECOND_BITS) as usize + 1, second)
}

/// The smallest size whose list has only ranges of at least `size`.
fn round_up(size: u64) -> u64 {
    if size < SECOND as u64 { size } else { size + (1 << (size.ilog2() - SECOND_BITS)) - 1 }
}

impl Tlsf {
    /// A block of `size` bytes, all free, whose ranges are multiples of `granule`, a power of two.
    ///
    /// # Panics
    /// If the granule is no power of two, or the block has less than one granule.
    #[must_use]
    pub fn new(size: u64, granule: u64) -> Self {
        assert!(granule.is_power_of_two(), "the granule {granule} is no power of two");
        let size = size / granule;
        assert!(size != 0, "the block has less than a granule");
        let mut block = Self {
            granule,
            ranges: Vec::new(),
            spare: Vec::new(),
            first: 0,
            second: [0; FIRST],
            lists: [[NONE; SECOND]; FIRST],
            size,
            free: size,
        };
        let all =
            Range { start: 0, size, is_free: true, before: NONE, behind: NONE, previous: NONE, next: NONE };
        block.ranges.push(all);
        block.link(0);
        block
    }

    /// Bytes of the block.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size * self.granule
    }

    /// Free bytes, in however many ranges.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.free * self.granule
    }

    /// Whether nothing is taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.free == self.size
    }

    /// Takes `size` bytes, at least a granule, at a multiple of `align`, a power of two. `None` if no free
    /// range is large enough.
    pub fn take(&mut self, size: u64, align: u64) -> Option<Taken> {
        let size = size.max(1).checked_next_multiple_of(self.granule)? / self.granule;
        let align = align.max(self.granule) / self.granule;
        debug_assert!(align.is_power_of_two(), "the alignment is no power of two");
        // With an alignment, the range may have to begin later.
        let index = self.find(size).filter(|&index| self.fits(index, size, align));
        let index = match index {
            Some(index) => index,
            None => self.find(size.checked_add(align - 1)?)?,
        };
        self.unlink(index);
        let start = self.ranges[index as usize].start.next_multiple_of(align);
        let skipped = start - self.ranges[index as usize].start;
        let index = if skipped == 0 {
            index
        } else {
            let rest = self.split(index, skipped);
            self.link(index);
            rest
        };
        if self.ranges[index as usize].size > size {
            let rest = self.split(index, size);
            self.link(rest);
        }
        let range = &mut self.ranges[index as usize];
        range.is_free = false;
        self.free -= range.size;
        Some(Taken { index, offset: range.start * self.granule, size: range.size * self.granule })
    }

    /// Gives a range back.
    ///
    /// # Panics
    /// If it is not from this block.
    pub fn give_back(&mut self, taken: Taken) {
        let range = self.ranges.get(taken.index as usize).copied();
        let is_taken = |range: &Range| !range.is_free && range.start * self.granule == taken.offset;
        let Some(range) = range.filter(is_taken) else {
            panic!("the range at {} is not from this block", taken.offset);
        };
        let mut index = taken.index;
        self.free += range.size;
        if range.before != NONE && self.ranges[range.before as usize].is_free {
            self.unlink(range.before);
            index = self.merge(range.before, index);
        }
        let behind = self.ranges[index as usize].behind;
        if behind != NONE && self.ranges[behind as usize].is_free {
            self.unlink(behind);
            index = self.merge(index, behind);
        }
        self.link(index);
    }

    /// Whether a free range has room for an aligned part.
    fn fits(&self, index: u32, size: u64, align: u64) -> bool {
        let range = &self.ranges[index as usize];
        let start = range.start.next_multiple_of(align);
        start + size <= range.start + range.size
    }

    /// A free range of at least this size.
    fn find(&self, size: u64) -> Option<u32> {
        let (first, second) = class(round_up(size));
        if first >= FIRST {
            return None;
        }
        let rest = u32::from(self.second[first]) & (u32::MAX << second);
        if rest != 0 {
            return Some(self.lists[first][rest.trailing_zeros() as usize]);
        }
        let larger = self.first & (u64::MAX << first << 1);
        if larger != 0 {
            let first = larger.trailing_zeros() as usize;
            return Some(self.lists[first][self.second[first].trailing_zeros() as usize]);
        }
        // The list of the size itself has smaller ranges, too, so it is searched last.
        let (first, second) = class(size);
        let mut index = self.lists[first][second];
        while index != NONE && self.ranges[index as usize].size < size {
            index = self.ranges[index as usize].next;
        }
        (index != NONE).then_some(index)
    }

    /// Puts a range into its list.
    fn link(&mut self, index: u32) {
        let (first, second) = class(self.ranges[index as usize].size);
        let head = std::mem::replace(&mut self.lists[first][second], index);
        let range = &mut self.ranges[index as usize];
        (range.is_free, range.previous, range.next) = (true, NONE, head);
        if head != NONE {
            self.ranges[head as usize].previous = index;
        }
        self.second[first] |= 1 << second;
        self.first |= 1 << first;
    }

    /// Takes a range out of its list.
    fn unlink(&mut self, index: u32) {
        let Range { size, previous, next, .. } = self.ranges[index as usize];
        let (first, second) = class(size);
        if next != NONE {
            self.ranges[next as usize].previous = previous;
        }
        if previous != NONE {
            self.ranges[previous as usize].next = next;
            return;
        }
        self.lists[first][second] = next;
        if next == NONE {
            self.second[first] &= !(1 << second);
            if self.second[first] == 0 {
                self.first &= !(1 << first);
            }
        }
    }

    /// Cuts a range after `size` granules, and returns the part behind.
    fn split(&mut self, index: u32, size: u64) -> u32 {
        let range = self.ranges[index as usize];
        let rest = Range {
            start: range.start + size,
            size: range.size - size,
            is_free: true,
            before: index,
            behind: range.behind,
            previous: NONE,
            next: NONE,
        };
        let new = match self.spare.pop() {
            Some(place) => {
                self.ranges[place as usize] = rest;
                place
            }
            None => {
                self.ranges.push(rest);
                self.ranges.len() as u32 - 1
            }
        };
        if range.behind != NONE {
            self.ranges[range.behind as usize].before = new;
        }
        let range = &mut self.ranges[index as usize];
        (range.size, range.behind) = (size, new);
        new
    }

    /// Makes one range of two neighbours.
    fn merge(&mut self, index: u32, behind: u32) -> u32 {
        let other = self.ranges[behind as usize];
        let range = &mut self.ranges[index as usize];
        range.size += other.size;
        range.behind = other.behind;
        if other.behind != NONE {
            self.ranges[other.behind as usize].before = index;
        }
        self.spare.push(behind);
        index
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_lists_of_sizes_grow_and_have_no_gap() {
        let mut last = (0, 0);
        for size in 1..if cfg!(miri) { 300 } else { 5000u64 } {
            let now = class(size);
            let next = if last.1 + 1 == SECOND { (last.0 + 1, 0) } else { (last.0, last.1 + 1) };
            assert!(now == last || now == next || size == 1, "{size}: {last:?}, {now:?}");
            assert!(class(round_up(size)) >= now);
            // All sizes of the list that is searched first are large enough.
            let smallest = (1..=size + size / 8 + 2).find(|&other| class(other) == class(round_up(size)));
            assert!(smallest.is_some_and(|smallest| smallest >= size), "{size}");
            last = now;
        }
    }

    #[test]
    fn a_whole_block_can_be_taken_and_comes_back() {
        for size in [64, 4096, 4096 + 64, 3 << 20] {
            let mut block = Tlsf::new(size, 64);
            let all = block.take(size, 1).expect("the whole block");
            assert_eq!((all.offset, all.size, block.free()), (0, size, 0));
            assert_eq!(block.take(1, 1), None);
            block.give_back(all);
            assert!(block.is_empty());
        }
        assert_eq!(Tlsf::new(4096, 64).take(u64::MAX, 1), None);
        assert_eq!(Tlsf::new(4096, 64).take(4096, 1 << 40).map(|taken| taken.offset), Some(0));
    }

    #[test]
    #[should_panic(expected = "not from this block")]
    fn a_range_of_another_block_is_refused() {
        let range = Tlsf::new(4096, 64).take(64, 1).expect("room");
        Tlsf::new(4096, 64).give_back(range);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]
        /// Against a list of bytes: taken ranges are inside, aligned and apart, and a request is refused only
        /// if no free range has room for it at any place.
        #[test]
        fn ranges_never_overlap_and_nothing_is_lost(
            requests in prop::collection::vec((0u64..3000, 0u32..10, any::<bool>()), 1..200),
            granule in prop::sample::select(vec![1u64, 16, 64]),
        ) {
            const SIZE: u64 = 16 << 10;
            let mut block = Tlsf::new(SIZE, granule);
            let mut taken: Vec<Taken> = Vec::new();
            for (size, align, gives) in requests {
                if gives && !taken.is_empty() {
                    block.give_back(taken.swap_remove(size as usize % taken.len()));
                } else {
                    let align = 1u64 << align;
                    match block.take(size, align) {
                        Some(range) => {
                            prop_assert!(range.size >= size.max(1) && range.size < size.max(1) + granule);
                            prop_assert!(range.offset % align == 0 && range.offset + range.size <= SIZE);
                            for other in &taken {
                                let apart = range.offset + range.size <= other.offset
                                    || other.offset + other.size <= range.offset;
                                prop_assert!(apart, "{range:?} {other:?}");
                            }
                            taken.push(range);
                        }
                        None => {
                            let need = size.max(1).next_multiple_of(granule) + align.max(granule) - granule;
                            prop_assert!(largest_gap(&taken, SIZE) < need, "refused {size} at {align}");
                        }
                    }
                }
                let used: u64 = taken.iter().map(|range| range.size).sum();
                prop_assert_eq!(block.free(), SIZE - used);
            }
            for range in taken {
                block.give_back(range);
            }
            prop_assert!(block.is_empty());
            prop_assert!(block.take(SIZE, 1).is_some());
        }
    }

    /// The largest range between taken ones.
    fn largest_gap(taken: &[Taken], size: u64) -> u64 {
        let mut sorted: Vec<(u64, u64)> = taken.iter().map(|range| (range.offset, range.size)).collect();
        sorted.sort_unstable();
        let (mut end, mut largest) = (0, 0);
        for (offset, size) in sorted {
            largest = largest.max(offset - end);
            end = offset + size;
        }
        largest.max(size - end)
    }
}
