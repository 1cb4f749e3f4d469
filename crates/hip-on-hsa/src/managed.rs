//! Managed memory: what programs advise about it. It is host memory that all devices reach, and stays where it is; advice and
//! prefetches are kept for those who ask, and change nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_sys::{
    hipError_t, hipMemLocation, hipMemLocationType, hipMemRangeAttribute, hipMemRangeCoherencyMode,
    hipMemoryAdvise, hipStream_t,
};

use crate::caller;
use crate::device::by_ordinal;
use crate::error::{Result, entry};
use crate::memory::memory;
use crate::memory::{Allocation, Origin};
use crate::runtime::{Runtime, active};
use crate::stream::resolve;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipCpuDeviceId` and `hipInvalidDeviceId`.
const CPU: i32 = -1;
const NOWHERE: i32 = -2;

/// What has been said about a range.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hints {
    read_mostly: bool,
    preferred: i32,
    accessed_by: BTreeSet<i32>,
    prefetched: i32,
    coarse: bool,
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

/// Ranges about which something has been said: start, end and that.
#[derive(Default)]
pub(crate) struct Managed {
    ranges: Mutex<Ranges>,
}

#[derive(Default)]
struct Ranges(BTreeMap<usize, (usize, Hints)>);

impl Ranges {
    /// Makes an address the border of two ranges if it lies within one.
    fn split(&mut self, at: usize) {
        let within = self.0.range_mut(..at).next_back().filter(|(_, (end, _))| *end > at);
        if let Some((_, (end, hints))) = within {
            let rest = (std::mem::replace(end, at), hints.clone());
            self.0.insert(at, rest);
        }
    }

    fn update(&mut self, start: usize, end: usize, change: impl Fn(&mut Hints)) {
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

    /// What has been said about each part of a range.
    fn of(&self, start: usize, end: usize) -> Vec<Hints> {
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
    fn lock(&self) -> MutexGuard<'_, Ranges> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was said about memory that is freed.
    pub(crate) fn forget(&self, allocation: &Allocation) {
        self.lock().forget(allocation.base, allocation.base + allocation.size);
    }
}

/// A range of managed memory, from its first byte to the one behind its last.
fn range(runtime: &Runtime, pointer: *const c_void, count: usize) -> Result<(usize, usize)> {
    let start = pointer as usize;
    let (found, offset) = memory(runtime).find(start).ok_or(INVALID_VALUE)?;
    if found.origin != Origin::Managed || count == 0 || count > found.size - offset {
        return Err(INVALID_VALUE);
    }
    Ok((start, start + count))
}

/// A device's ordinal, or the host's number.
fn place(device: i32) -> Result<i32> {
    if device == CPU { Ok(CPU) } else { Ok(by_ordinal(device)?.ordinal) }
}

fn place_at(location: hipMemLocation) -> Result<i32> {
    match location.type_ {
        hipMemLocationType::hipMemLocationTypeDevice => Ok(by_ordinal(location.id)?.ordinal),
        hipMemLocationType::hipMemLocationTypeHost
        | hipMemLocationType::hipMemLocationTypeHostNuma
        | hipMemLocationType::hipMemLocationTypeHostNumaCurrent => Ok(CPU),
        _ => Err(INVALID_VALUE),
    }
}

/// `place` is asked only by the advice that names one.
fn advise(
    pointer: *const c_void,
    count: usize,
    advice: hipMemoryAdvise,
    place: impl FnOnce() -> Result<i32>,
) -> Result {
    type A = hipMemoryAdvise;
    let runtime = active()?;
    let (start, end) = range(runtime, pointer, count)?;
    let mut ranges = managed(runtime).lock();
    match advice {
        A::hipMemAdviseSetReadMostly => ranges.update(start, end, |hints| hints.read_mostly = true),
        A::hipMemAdviseUnsetReadMostly => ranges.update(start, end, |hints| hints.read_mostly = false),
        A::hipMemAdviseSetPreferredLocation => {
            let place = place()?;
            ranges.update(start, end, |hints| hints.preferred = place);
        }
        A::hipMemAdviseUnsetPreferredLocation => {
            ranges.update(start, end, |hints| hints.preferred = NOWHERE);
        }
        A::hipMemAdviseSetAccessedBy => {
            let place = place()?;
            ranges.update(start, end, |hints| {
                hints.accessed_by.insert(place);
            });
        }
        A::hipMemAdviseUnsetAccessedBy => {
            let place = place()?;
            ranges.update(start, end, |hints| {
                hints.accessed_by.remove(&place);
            });
        }
        A::hipMemAdviseSetCoarseGrain => ranges.update(start, end, |hints| hints.coarse = true),
        A::hipMemAdviseUnsetCoarseGrain => ranges.update(start, end, |hints| hints.coarse = false),
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}

/// `hipMemAdvise`: of managed memory.
pub(crate) unsafe extern "C" fn hipMemAdvise(
    pointer: *const c_void,
    count: usize,
    advice: hipMemoryAdvise,
    device: i32,
) -> hipError_t {
    entry(|| advise(pointer, count, advice, || place(device)))
}

/// `hipMemAdvise_v2`: the location has to be one even where the advice names none.
pub(crate) unsafe extern "C" fn hipMemAdvise_v2(
    pointer: *const c_void,
    count: usize,
    advice: hipMemoryAdvise,
    location: hipMemLocation,
) -> hipError_t {
    entry(|| {
        let place = place_at(location)?;
        advise(pointer, count, advice, || Ok(place))
    })
}

fn prefetch(pointer: *const c_void, count: usize, place: i32, stream: hipStream_t) -> Result {
    let runtime = active()?;
    resolve(runtime, stream)?.failure().map_or(Ok(()), Err)?;
    if !pointer.is_null() && count > 0 && memory(runtime).find(pointer as usize).is_none() {
        return Err(hipError_t::hipErrorNotSupported);
    }
    let (start, end) = range(runtime, pointer, count)?;
    managed(runtime).lock().update(start, end, |hints| hints.prefetched = place);
    Ok(())
}

/// `hipMemPrefetchAsync`: of managed memory; `hipErrorNotSupported` for memory that HIP does not know.
pub(crate) unsafe extern "C" fn hipMemPrefetchAsync(
    pointer: *const c_void,
    count: usize,
    device: i32,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| prefetch(pointer, count, place(device)?, stream))
}

/// `hipMemPrefetchAsync_v2`.
pub(crate) unsafe extern "C" fn hipMemPrefetchAsync_v2(
    pointer: *const c_void,
    count: usize,
    location: hipMemLocation,
    flags: u32,
    stream: hipStream_t,
) -> hipError_t {
    entry(
        || {
            if flags == 0 {
                prefetch(pointer, count, place_at(location)?, stream)
            } else {
                Err(INVALID_VALUE)
            }
        },
    )
}

/// The one value of all parts, or else another.
fn common<T: PartialEq + Copy>(hints: &[Hints], of: impl Fn(&Hints) -> T, otherwise: T) -> T {
    let first = hints.first().map_or(otherwise, &of);
    if hints.iter().all(|hints| of(hints) == first) { first } else { otherwise }
}

/// An attribute as the numbers that it is, `room` at most.
fn attribute(hints: &[Hints], which: hipMemRangeAttribute, room: usize) -> Result<Vec<i32>> {
    type A = hipMemRangeAttribute;
    type Mode = hipMemRangeCoherencyMode;
    let one = |value: i32| if room == 1 { Ok(vec![value]) } else { Err(INVALID_VALUE) };
    match which {
        A::hipMemRangeAttributeReadMostly => one(common(hints, |hints| hints.read_mostly.into(), 0)),
        A::hipMemRangeAttributePreferredLocation => one(common(hints, |hints| hints.preferred, NOWHERE)),
        A::hipMemRangeAttributeLastPrefetchLocation => one(common(hints, |hints| hints.prefetched, NOWHERE)),
        A::hipMemRangeAttributeCoherencyMode => {
            let mode = |hints: &Hints| match hints.coarse {
                true => Mode::hipMemRangeCoherencyModeCoarseGrain,
                false => Mode::hipMemRangeCoherencyModeFineGrain,
            };
            one(common(hints, mode, Mode::hipMemRangeCoherencyModeIndeterminate).0 as i32)
        }
        A::hipMemRangeAttributeAccessedBy => {
            let mut all = hints.first().map(|hints| hints.accessed_by.clone()).unwrap_or_default();
            all.retain(|device| hints.iter().all(|hints| hints.accessed_by.contains(device)));
            let places = all.into_iter().chain(std::iter::repeat(NOWHERE));
            if room == 0 { Err(INVALID_VALUE) } else { Ok(places.take(room).collect()) }
        }
        _ => Err(INVALID_VALUE),
    }
}

/// # Safety
/// `data` is null or valid for `size` bytes.
unsafe fn range_attribute(
    data: *mut c_void,
    size: usize,
    which: hipMemRangeAttribute,
    hints: &[Hints],
) -> Result {
    if data.is_null() || !size.is_multiple_of(size_of::<i32>()) {
        return Err(INVALID_VALUE);
    }
    for (index, value) in attribute(hints, which, size / size_of::<i32>())?.into_iter().enumerate() {
        // SAFETY: as this function's contract; there are no more values than the place has room for.
        unsafe { caller::put(data.cast::<i32>().wrapping_add(index).cast(), value) }?;
    }
    Ok(())
}

/// `hipMemRangeGetAttribute`: of managed memory.
pub(crate) unsafe extern "C" fn hipMemRangeGetAttribute(
    data: *mut c_void,
    size: usize,
    which: hipMemRangeAttribute,
    pointer: *const c_void,
    count: usize,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (start, end) = range(runtime, pointer, count)?;
        let hints = managed(runtime).lock().of(start, end);
        // SAFETY: the caller's place has that many bytes.
        unsafe { range_attribute(data, size, which, &hints) }
    })
}

/// `hipMemRangeGetAttributes`.
pub(crate) unsafe extern "C" fn hipMemRangeGetAttributes(
    data: *mut *mut c_void,
    sizes: *mut usize,
    attributes: *mut hipMemRangeAttribute,
    attribute_count: usize,
    pointer: *const c_void,
    count: usize,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if data.is_null() || sizes.is_null() || attributes.is_null() || attribute_count == 0 {
            return Err(INVALID_VALUE);
        }
        let (start, end) = range(runtime, pointer, count)?;
        let hints = managed(runtime).lock().of(start, end);
        // SAFETY: the caller's lists have that many entries.
        let (data, sizes, attributes) = unsafe {
            (
                caller::list(data, attribute_count)?,
                caller::list(sizes, attribute_count)?,
                caller::list(attributes, attribute_count)?,
            )
        };
        for ((&data, &size), &attribute) in data.iter().zip(sizes).zip(attributes) {
            // SAFETY: each place has its size.
            unsafe { range_attribute(data, size, attribute, &hints) }?;
        }
        Ok(())
    })
}

/// `hipStreamAttachMemAsync`: changes nothing, as every stream may use managed memory at any time.
pub(crate) unsafe extern "C" fn hipStreamAttachMemAsync(
    stream: hipStream_t,
    pointer: *mut c_void,
    length: usize,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        resolve(runtime, stream)?;
        let (found, offset) = memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?;
        let known = [hip_sys::hipMemAttachGlobal, hip_sys::hipMemAttachHost, hip_sys::hipMemAttachSingle];
        // A length of 0 stands for all of it, which is to be named by its start.
        let whole = length == 0 && offset == 0 || length == found.size - offset;
        if found.memory_of().is_some() || !known.contains(&flags) || !whole {
            return Err(INVALID_VALUE);
        }
        Ok(())
    })
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
