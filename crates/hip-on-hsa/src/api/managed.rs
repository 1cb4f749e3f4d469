//! Advice about managed memory, and queries.

use std::ffi::c_void;

use hip_sys::{
    hipError_t, hipMemLocation, hipMemLocationType, hipMemRangeAttribute, hipMemRangeCoherencyMode,
    hipMemoryAdvise, hipStream_t,
};

use crate::caller;
use crate::devices::device::by_ordinal;
use crate::devices::stream::resolve;
use crate::error::{Result, entry};
use crate::memory::allocation::memory;
use crate::memory::managed::{Hints, NOWHERE, managed, range};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipCpuDeviceId` and `hipInvalidDeviceId`.
const CPU: i32 = -1;

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

/// `place` is called only for advice that names a location.
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

/// `hipMemAdvise_v2`: the location must be valid even if the advice does not use it.
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

/// The common value of all parts, or else a default.
fn common<T: PartialEq + Copy>(hints: &[Hints], of: impl Fn(&Hints) -> T, otherwise: T) -> T {
    let first = hints.first().map_or(otherwise, &of);
    if hints.iter().all(|hints| of(hints) == first) { first } else { otherwise }
}

/// An attribute as numbers, at most `room`.
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

/// `hipStreamAttachMemAsync`: has no effect, because every stream may use managed memory at any time.
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
        // A length of 0 means all of it; the address must then be its start.
        let whole = length == 0 && offset == 0 || length == found.size - offset;
        if found.memory_of().is_some() || !known.contains(&flags) || !whole {
            return Err(INVALID_VALUE);
        }
        Ok(())
    })
}
