//! Managed memory: advice, prefetches and queries.

use std::ffi::c_void;
use std::ptr::{from_mut, null_mut};

use hip_sys::{
    hipMemLocation, hipMemLocationType, hipMemRangeAttribute as A, hipMemRangeCoherencyMode as Mode,
    hipMemoryAdvise as Advice,
};

use super::*;

const SIZE: usize = 1 << 16;
const CPU: i32 = -1;
const NOWHERE: i32 = -2;

impl Hip {
    fn managed(&self) -> *mut c_void {
        let mut memory = null_mut();
        assert_eq!(hip!(self, hipMallocManaged(&mut memory, SIZE, hip_sys::hipMemAttachGlobal)), OK);
        memory
    }

    fn range(&self, which: A, start: *mut c_void, size: usize) -> i32 {
        let mut value = 99i32;
        assert_eq!(
            hip!(self, hipMemRangeGetAttribute(from_mut(&mut value).cast(), 4, which, start, size)),
            OK
        );
        value
    }
}

#[test]
fn advice_is_kept_for_the_range_that_it_was_given_for() {
    let hip = start();
    let memory = hip.managed();
    let half = memory.wrapping_byte_add(SIZE / 2);
    assert_eq!(hip.range(A::hipMemRangeAttributeReadMostly, memory, SIZE), 0);
    assert_eq!(hip.range(A::hipMemRangeAttributePreferredLocation, memory, SIZE), NOWHERE);
    let advise = |start, size, advice, device| hip!(hip, hipMemAdvise(start, size, advice, device));
    assert_eq!(advise(half, SIZE / 2, Advice::hipMemAdviseSetReadMostly, 0), OK);
    assert_eq!(hip.range(A::hipMemRangeAttributeReadMostly, half, 4096), 1);
    assert_eq!(hip.range(A::hipMemRangeAttributeReadMostly, memory, SIZE), 0, "not all of it");
    assert_eq!(advise(memory, SIZE, Advice::hipMemAdviseSetPreferredLocation, CPU), OK);
    assert_eq!(hip.range(A::hipMemRangeAttributePreferredLocation, memory, SIZE), CPU);
    assert_eq!(advise(memory, 4096, Advice::hipMemAdviseSetPreferredLocation, 0), OK);
    assert_eq!(hip.range(A::hipMemRangeAttributePreferredLocation, memory, 4096), 0);
    assert_eq!(hip.range(A::hipMemRangeAttributePreferredLocation, memory, SIZE), NOWHERE, "not the same");

    assert_eq!(advise(memory, SIZE, Advice::hipMemAdviseSetAccessedBy, 0), OK);
    assert_eq!(advise(memory, 4096, Advice::hipMemAdviseSetAccessedBy, CPU), OK);
    let mut places = [99i32; 3];
    let by = A::hipMemRangeAttributeAccessedBy;
    assert_eq!(hip!(hip, hipMemRangeGetAttribute(from_mut(&mut places).cast(), 12, by, memory, 4096)), OK);
    assert_eq!(places, [CPU, 0, NOWHERE]);
    assert_eq!(hip!(hip, hipMemRangeGetAttribute(from_mut(&mut places).cast(), 12, by, memory, SIZE)), OK);
    assert_eq!(places, [0, NOWHERE, NOWHERE]);

    let mode = |value: Mode| value.0 as i32;
    let coherency = A::hipMemRangeAttributeCoherencyMode;
    assert_eq!(hip.range(coherency, memory, SIZE), mode(Mode::hipMemRangeCoherencyModeFineGrain));
    assert_eq!(advise(half, 4096, Advice::hipMemAdviseSetCoarseGrain, 0), OK);
    assert_eq!(hip.range(coherency, half, 4096), mode(Mode::hipMemRangeCoherencyModeCoarseGrain));
    assert_eq!(hip.range(coherency, memory, SIZE), mode(Mode::hipMemRangeCoherencyModeIndeterminate));

    assert_eq!(hip!(hip, hipMemPrefetchAsync(memory, SIZE, 0, NULL)), OK);
    let host = hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeHost, id: 0 };
    assert_eq!(hip!(hip, hipMemPrefetchAsync_v2(half, SIZE / 2, host, 0, NULL)), OK);
    let (mut last, mut mostly) = (0i32, 0i32);
    let mut data = [from_mut(&mut last).cast::<c_void>(), from_mut(&mut mostly).cast()];
    let mut which = [A::hipMemRangeAttributeLastPrefetchLocation, A::hipMemRangeAttributeReadMostly];
    let all = hip!(
        hip,
        hipMemRangeGetAttributes(
            data.as_mut_ptr(),
            [4usize, 4].as_mut_ptr(),
            which.as_mut_ptr(),
            2,
            half,
            SIZE / 2
        )
    );
    assert_eq!((all, last, mostly), (OK, CPU, 1));
    assert_eq!(hip.range(A::hipMemRangeAttributeLastPrefetchLocation, memory, 4096), 0);

    // The next allocation there starts without advice.
    hip.free(memory);
    assert_eq!(
        hip!(hip, hipMemAdvise(memory, 1, Advice::hipMemAdviseSetReadMostly, 0)),
        E::hipErrorInvalidValue
    );
    let (again, mut others) = (hip.managed(), Vec::new());
    assert_eq!(hip.range(A::hipMemRangeAttributePreferredLocation, again, SIZE), NOWHERE);
    others.push(again);
    others.into_iter().for_each(|memory| hip.free(memory));
}

#[test]
fn advice_about_other_memory_and_unknown_places_is_refused() {
    let hip = start();
    let invalid = E::hipErrorInvalidValue;
    let (managed, device) = (hip.managed(), hip.malloc(4096));
    let mostly = Advice::hipMemAdviseSetReadMostly;
    assert_eq!(hip!(hip, hipMemAdvise(device, 4096, mostly, 0)), invalid);
    assert_eq!(hip!(hip, hipMemAdvise(managed, SIZE + 1, mostly, 0)), invalid);
    assert_eq!(hip!(hip, hipMemAdvise(managed, 0, mostly, 0)), invalid);
    assert_eq!(hip!(hip, hipMemAdvise(managed, SIZE, Advice(55), 0)), invalid);
    let by = Advice::hipMemAdviseSetAccessedBy;
    assert_eq!(hip!(hip, hipMemAdvise(managed, SIZE, by, 7)), E::hipErrorInvalidDevice);
    assert_eq!(hip!(hip, hipMemPrefetchAsync(managed, SIZE, 7, NULL)), E::hipErrorInvalidDevice);
    assert_eq!(hip!(hip, hipMemPrefetchAsync(device, 4096, 0, NULL)), invalid);
    let mut value = 0i32;
    let place = from_mut(&mut value).cast();
    assert_eq!(
        hip!(hip, hipMemRangeGetAttribute(place, 3, A::hipMemRangeAttributeReadMostly, managed, 1)),
        invalid
    );
    assert_eq!(hip!(hip, hipMemRangeGetAttribute(place, 4, A(50), managed, 1)), invalid);
    let single = hip_sys::hipMemAttachSingle;
    assert_eq!(hip!(hip, hipStreamAttachMemAsync(NULL, managed, 0, single)), OK);
    assert_eq!(hip!(hip, hipStreamAttachMemAsync(NULL, device, 0, single)), invalid);
    assert_eq!(hip!(hip, hipStreamAttachMemAsync(NULL, managed, 0, 9)), invalid);
    hip.free(managed);
    hip.free(device);
}
