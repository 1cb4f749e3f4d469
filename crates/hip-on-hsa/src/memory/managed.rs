//! Advice about managed memory. Managed memory is host memory that all devices access, and never moves;
//! advice and prefetches are stored for queries and have no other effect.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_sys::hipError_t;

use crate::error::Result;
use crate::memory::allocation::{Allocation, Origin, memory};
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
pub(crate) const NOWHERE: i32 = -2;

/// The advice for a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hints {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: i32,
    pub(crate) accessed_by: BTreeSet<i32>,
    pub(crate) prefetched: i32,
    pub(crate) coarse: bool,
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            read_mostly: false,
            preferred: NOWHERE,
            accessed_by: BTreeSet::new(),
            prefetched: NOWHERE,
            coarse: false,
        }
    }
}

/// All managed memory.
pub(crate) fn managed(_started: &Runtime) -> &'static Managed {
    static MANAGED: Managed = Managed { ranges: Mutex::new(Ranges(BTreeMap::new())) };
    &MANAGED
}

/// Ranges with advice: start, end, advice.
#[derive(Default)]
pub(crate) struct Managed {
    ranges: Mutex<Ranges>,
}

#[derive(Default)]
pub(crate) struct Ranges(BTreeMap<usize, (usize, Hints)>);

impl Ranges {
    /// Splits the range that contains an address at that address.
    fn split(&mut self, at: usize) {
        let within = self.0.range_mut(..at).next_back().filter(|(_, (end, _))| *end > at);
        if let Some((_, (end, hints))) = within {
            let rest = (std::mem::replace(end, at), hints.clone());
            self.0.insert(at, rest);
        }
    }

    pub(crate) fn update(&mut self, start: usize, end: usize, change: impl Fn(&mut Hints)) {
        self.split(start);
        self.split(end);
        let mut next = start;
        let known: Vec<(usize, usize)> =
            self.0.range(start..end).map(|(&start, &(end, _))| (start, end)).collect();
        for (start, end) in known {
            if next < start {
                self.0.insert(next, (start, Hints::default()));
            }
            next = end;
        }
        if next < end {
            self.0.insert(next, (end, Hints::default()));
        }
        self.0.range_mut(start..end).for_each(|(_, (_, hints))| change(hints));
    }

    /// The advice for each part of a range.
    pub(crate) fn of(&self, start: usize, end: usize) -> Vec<Hints> {
        let mut found = Vec::new();
        let first = self.0.range(..=start).next_back().filter(|(_, (end, _))| *end > start);
        let first = first.map_or(start, |(&start, _)| start);
        let mut next = start;
        for (&from, (to, hints)) in self.0.range(first..end) {
            if from > next {
                found.push(Hints::default());
            }
            found.push(hints.clone());
            next = *to;
        }
        if next < end {
            found.push(Hints::default());
        }
        found
    }

    fn forget(&mut self, start: usize, end: usize) {
        self.split(start);
        self.split(end);
        self.0.retain(|from, _| !(start..end).contains(from));
    }
}

impl Managed {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Ranges> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the advice for freed memory.
    pub(crate) fn forget(&self, allocation: &Allocation) {
        self.lock().forget(allocation.base, allocation.base + allocation.size);
    }
}

/// A range of managed memory, from its first byte to the one behind its last.
pub(crate) fn range(runtime: &Runtime, pointer: *const c_void, count: usize) -> Result<(usize, usize)> {
    let start = pointer as usize;
    let (found, offset) = memory(runtime).find(start).ok_or(INVALID_VALUE)?;
    if found.origin != Origin::Managed || count == 0 || count > found.size - offset {
        return Err(INVALID_VALUE);
    }
    Ok((start, start + count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_split_where_what_is_said_differs() {
        let mut ranges = Ranges::default();
        let preferred = |ranges: &Ranges, start, end| -> Vec<i32> {
            ranges.of(start, end).into_iter().map(|hints| hints.preferred).collect()
        };
        assert_eq!(preferred(&ranges, 0, 100), [NOWHERE]);
        ranges.update(10, 50, |hints| hints.preferred = 1);
        ranges.update(30, 70, |hints| hints.preferred = 2);
        ranges.update(80, 90, |hints| hints.preferred = 3);
        assert_eq!(preferred(&ranges, 0, 100), [NOWHERE, 1, 2, 2, NOWHERE, 3, NOWHERE]);
        assert_eq!(preferred(&ranges, 12, 25), [1]);
        assert_eq!(preferred(&ranges, 29, 31), [1, 2]);
        assert_eq!(preferred(&ranges, 75, 80), [NOWHERE]);
        ranges.forget(20, 85);
        assert_eq!(preferred(&ranges, 0, 100), [NOWHERE, 1, NOWHERE, 3, NOWHERE]);
    }
}
