//! The step numbers of a log in ascending order. In most logs they are consecutive, and then only the first
//! one is kept.

use std::ops::Range;

/// Numbers, each larger than the one before.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    Consecutive(Range<u64>),
    Any(Vec<u64>),
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::Consecutive(0..0)
    }
}

impl Numbers {
    pub(super) fn len(&self) -> usize {
        match self {
            // There are as many as rows in memory.
            Numbers::Consecutive(range) => (range.end - range.start) as usize,
            Numbers::Any(list) => list.len(),
        }
    }

    /// The number at an existing place.
    pub(super) fn get(&self, place: usize) -> u64 {
        match self {
            Numbers::Consecutive(range) => range.start + place as u64,
            Numbers::Any(list) => list[place],
        }
    }

    pub(super) fn first(&self) -> Option<u64> {
        (self.len() > 0).then(|| self.get(0))
    }

    pub(super) fn last(&self) -> Option<u64> {
        Some(self.get(self.len().checked_sub(1)?))
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator {
        (0..self.len()).map(|place| self.get(place))
    }

    /// The place of a number, or where it belongs.
    pub(super) fn find(&self, number: u64) -> Result<usize, usize> {
        match self {
            Numbers::Consecutive(range) if range.contains(&number) => Ok((number - range.start) as usize),
            Numbers::Consecutive(range) => Err(if number < range.start { 0 } else { self.len() }),
            Numbers::Any(list) => list.binary_search(&number),
        }
    }

    pub(super) fn insert(&mut self, place: usize, number: u64) {
        match self {
            Numbers::Consecutive(range) if range.is_empty() && number < u64::MAX => {
                *range = number..number + 1
            }
            Numbers::Consecutive(range) if number == range.end && number < u64::MAX => range.end += 1,
            _ => self.change(|list| list.insert(place, number)),
        }
    }

    pub(super) fn retain(&mut self, keep: &[bool]) {
        let mut keep = keep.iter();
        self.change(|list| list.retain(|_| keep.next().is_some_and(|keep| *keep)));
    }

    /// The distances between neighbours, and how many in a row are equal.
    pub(super) fn intervals(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        match self {
            Numbers::Consecutive(_) => runs.extend(self.len().checked_sub(1).map(|count| (1, count as u64))),
            Numbers::Any(list) => {
                for pair in list.windows(2) {
                    let interval = pair[1] - pair[0];
                    match runs.last_mut() {
                        Some((same, count)) if *same == interval => *count += 1,
                        _ => runs.push((interval, 1)),
                    }
                }
            }
        }
        runs
    }

    /// Changes the numbers as a list, and keeps them as one.
    fn change(&mut self, change: impl FnOnce(&mut Vec<u64>)) {
        let mut list = match std::mem::take(self) {
            Numbers::Consecutive(range) => range.collect(),
            Numbers::Any(list) => list,
        };
        change(&mut list);
        *self = Numbers::Any(list);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_a_sorted_list(
            changes in proptest::collection::vec((0..12_u8, prop_oneof![0..12_u64, u64::MAX - 2..=u64::MAX]), 0..40),
        ) {
            let mut list: Vec<u64> = Vec::new();
            let mut numbers = Numbers::default();
            for (what, number) in changes {
                let number = if what < 6 { list.last().map_or(number, |last| last.saturating_add(1)) } else { number };
                prop_assert_eq!(numbers.find(number), list.binary_search(&number));
                if what == 11 {
                    let keep: Vec<bool> = list.iter().map(|known| known % 3 != number % 3).collect();
                    numbers.retain(&keep);
                    list.retain(|known| known % 3 != number % 3);
                } else if let Err(place) = list.binary_search(&number) {
                    list.insert(place, number);
                    numbers.insert(place, number);
                }
                prop_assert_eq!(numbers.iter().collect::<Vec<_>>(), &list[..]);
                prop_assert_eq!((numbers.first(), numbers.last()), (list.first().copied(), list.last().copied()));
                let each = numbers.intervals().into_iter().flat_map(|(interval, count)| (0..count).map(move |_| interval));
                prop_assert!(each.eq(list.windows(2).map(|pair| pair[1] - pair[0])));
            }
        }
    }
}
