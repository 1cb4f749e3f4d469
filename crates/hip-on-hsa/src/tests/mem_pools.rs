//! Memory pools: when freed memory is reused, and when it is returned.

use std::ffi::c_void;
use std::ptr::{from_mut, null_mut};

use hip_sys::{
    hipMemAccessDesc, hipMemAccessFlags, hipMemAllocationHandleType, hipMemAllocationType, hipMemLocation,
    hipMemLocationType, hipMemPool_t, hipMemPoolAttr as A, hipMemPoolProps, hipStreamNonBlocking,
};

use super::*;

const SIZE: usize = 12_345;

impl Hip {
    fn default_pool(&self) -> hipMemPool_t {
        let mut pool = null_mut();
        assert_eq!(hip!(self, hipDeviceGetDefaultMemPool(&mut pool, 0)), OK);
        pool
    }

    fn create_pool(&self, max_size: usize) -> hipMemPool_t {
        let (mut pool, mut properties) = (null_mut(), properties());
        properties.maxSize = max_size;
        assert_eq!(hip!(self, hipMemPoolCreate(&mut pool, &properties)), OK);
        pool
    }

    fn allocate(&self, size: usize, stream: hipStream_t) -> *mut c_void {
        let mut memory = null_mut();
        assert_eq!(hip!(self, hipMallocAsync(&mut memory, size, stream)), OK);
        assert!(!memory.is_null());
        memory
    }

    fn free_async(&self, memory: *mut c_void, stream: hipStream_t) {
        assert_eq!(hip!(self, hipFreeAsync(memory, stream)), OK);
    }

    fn bytes(&self, pool: hipMemPool_t, which: A) -> u64 {
        let mut value = u64::MAX;
        assert_eq!(hip!(self, hipMemPoolGetAttribute(pool, which, from_mut(&mut value).cast())), OK);
        value
    }

    fn set_bytes(&self, pool: hipMemPool_t, which: A, mut value: u64) -> E {
        hip!(self, hipMemPoolSetAttribute(pool, which, from_mut(&mut value).cast()))
    }

    fn set_flag(&self, pool: hipMemPool_t, which: A, mut value: i32) {
        assert_eq!(hip!(self, hipMemPoolSetAttribute(pool, which, from_mut(&mut value).cast())), OK);
    }
}

fn location(id: i32) -> hipMemLocation {
    hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeDevice, id }
}

fn properties() -> hipMemPoolProps {
    hipMemPoolProps {
        allocType: hipMemAllocationType::hipMemAllocationTypePinned,
        handleTypes: hipMemAllocationHandleType::hipMemHandleTypeNone,
        location: location(0),
        ..hipMemPoolProps::default()
    }
}

#[test]
fn a_stream_uses_what_it_has_freed_at_once_at_exactly_that_size() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let stream = hip.stream(hipStreamNonBlocking);
    let first = hip.allocate(SIZE, stream);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, stream), OK);
    hip.free_async(first, stream);
    assert_eq!(
        hip!(hip, hipFreeAsync(first, stream)),
        E::hipErrorInvalidValue,
        "the program no longer owns it"
    );
    let smaller = hip.allocate(SIZE - 1, stream);
    assert_ne!(smaller, first);
    let second = hip.allocate(SIZE, stream);
    assert_eq!(second, first);
    let mut byte = 0u8;
    let beyond = second.wrapping_byte_add(SIZE - 1);
    let copy = hip!(
        hip,
        hipMemcpyWithStream(
            (&raw mut byte).cast(),
            beyond,
            2,
            hip_sys::hipMemcpyKind::hipMemcpyDefault,
            NULL
        )
    );
    assert_eq!(copy, E::hipErrorInvalidValue, "its bounds are exact");
    drop(hold);
    hip.free_async(second, stream);
    hip.free_async(smaller, stream);
    let held = fake::live().0;
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(fake::live().0, held - 2, "nothing is kept by default");
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn another_stream_uses_freed_memory_when_the_free_has_completed() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let (first, second) = (hip.stream(hipStreamNonBlocking), hip.stream(hipStreamNonBlocking));
    let memory = hip.allocate(SIZE, first);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, first), OK);
    hip.free_async(memory, first);
    let other = hip.allocate(SIZE, second);
    assert_ne!(other, memory, "the kernel may still use it");
    drop(hold);
    while hip!(hip, hipStreamQuery(first)) != OK {}
    let again = hip.allocate(SIZE, second);
    assert_eq!(again, memory);
    hip.free_async(again, second);
    hip.free_async(other, second);

    // Without opportunistic reuse, only memory that the program has synchronised with is reused.
    let pool = hip.default_pool();
    assert_eq!(hip.set_bytes(pool, A::hipMemPoolAttrReleaseThreshold, u64::MAX), OK);
    hip.set_flag(pool, A::hipMemPoolReuseAllowOpportunistic, 0);
    while hip!(hip, hipStreamQuery(second)) != OK {}
    let fresh = hip.allocate(SIZE, first);
    assert!(fresh != memory && fresh != other);
    assert_eq!(hip!(hip, hipStreamSynchronize(second)), OK);
    let known = hip.allocate(SIZE, first);
    assert!(known == memory || known == other);
    hip.free_async(fresh, first);
    hip.free_async(known, first);
    hip.set_flag(pool, A::hipMemPoolReuseAllowOpportunistic, 1);
    assert_eq!(hip.set_bytes(pool, A::hipMemPoolAttrReleaseThreshold, 0), OK);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn events_order_an_allocation_behind_a_free_only_if_recorded_after_it() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let streams: Vec<_> = (0..3).map(|_| hip.stream(hipStreamNonBlocking)).collect();
    let (early, late, relay) = (hip.event(), hip.event(), hip.event());
    let memory = hip.allocate(SIZE, streams[0]);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, streams[0]), OK);
    assert_eq!(hip!(hip, hipEventRecord(early, streams[0])), OK);
    assert_eq!(hip.launch(work, streams[0]), OK);
    hip.free_async(memory, streams[0]);
    assert_eq!(hip!(hip, hipEventRecord(late, streams[0])), OK);

    assert_eq!(hip!(hip, hipStreamWaitEvent(streams[1], early, 0)), OK);
    let other = hip.allocate(SIZE, streams[1]);
    assert_ne!(other, memory, "the event was recorded before the free");
    // The order holds over a third stream too.
    assert_eq!(hip!(hip, hipStreamWaitEvent(streams[1], late, 0)), OK);
    assert_eq!(hip!(hip, hipEventRecord(relay, streams[1])), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(streams[2], relay, 0)), OK);
    let pool = hip.default_pool();
    hip.set_flag(pool, A::hipMemPoolReuseFollowEventDependencies, 0);
    let fresh = hip.allocate(SIZE, streams[2]);
    assert_ne!(fresh, memory);
    hip.set_flag(pool, A::hipMemPoolReuseFollowEventDependencies, 1);
    assert_eq!(hip.allocate(SIZE, streams[2]), memory);
    drop(hold);
    for memory in [memory, other, fresh] {
        hip.free_async(memory, streams[2]);
    }
    for event in [early, late, relay] {
        assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    }
    for stream in streams {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn the_null_stream_orders_blocking_streams() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let blocking = hip.stream(0);
    let memory = hip.allocate(SIZE, NULL);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, NULL), OK);
    hip.free_async(memory, NULL);
    assert_eq!(hip.allocate(SIZE, blocking), memory, "a blocking stream is behind the null stream");
    drop(hold);
    hip.free_async(memory, blocking);
    assert_eq!(hip!(hip, hipStreamDestroy(blocking)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_pool_keeps_what_its_threshold_says_and_trims_to_what_it_is_told() {
    let hip = start();
    let pool = hip.create_pool(0);
    let stream = hip.stream(hipStreamNonBlocking);
    assert_eq!(hip.set_bytes(pool, A::hipMemPoolAttrReleaseThreshold, 2 * SIZE as u64), OK);
    let blocks: Vec<_> = (0..4)
        .map(|_| {
            let mut memory = null_mut();
            assert_eq!(hip!(hip, hipMallocFromPoolAsync(&mut memory, SIZE, pool, stream)), OK);
            memory
        })
        .collect();
    let four = 4 * SIZE as u64;
    for which in [
        A::hipMemPoolAttrReservedMemCurrent,
        A::hipMemPoolAttrReservedMemHigh,
        A::hipMemPoolAttrUsedMemCurrent,
        A::hipMemPoolAttrUsedMemHigh,
    ] {
        assert_eq!(hip.bytes(pool, which), four, "{which:?}");
    }
    for &memory in &blocks {
        hip.free_async(memory, stream);
    }
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), four);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrUsedMemCurrent), 0);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), four / 2);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemHigh), four);
    assert_eq!(hip.set_bytes(pool, A::hipMemPoolAttrReservedMemHigh, 0), OK);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemHigh), four / 2);
    assert_eq!(hip!(hip, hipMemPoolTrimTo(pool, SIZE)), OK);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), four / 4);
    assert_eq!(hip!(hip, hipMemPoolDestroy(pool)), OK);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn memory_is_trimmed_only_when_its_free_has_completed() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let (pool, stream) = (hip.default_pool(), hip.stream(hipStreamNonBlocking));
    let memory = hip.allocate(SIZE, stream);
    let reserved = hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, stream), OK);
    hip.free_async(memory, stream);
    assert_eq!(hip!(hip, hipMemPoolTrimTo(pool, 0)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), reserved);
    drop(hold);
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), reserved - SIZE as u64);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn where_nothing_else_is_left_an_allocation_waits_for_a_free() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let pool = hip.create_pool(SIZE);
    let (first, second) = (hip.stream(hipStreamNonBlocking), hip.stream(hipStreamNonBlocking));
    let (mut memory, mut again) = (null_mut(), null_mut());
    assert_eq!(hip!(hip, hipMallocFromPoolAsync(&mut memory, SIZE, pool, first)), OK);
    let full = hip!(hip, hipMallocFromPoolAsync(&mut again, SIZE, pool, first));
    assert_eq!((full, again), (E::hipErrorOutOfMemory, null_mut()));
    let hold = Hold::new();
    assert_eq!(hip.launch(work, first), OK);
    hip.free_async(memory, first);
    assert_eq!(hip!(hip, hipMallocFromPoolAsync(&mut again, SIZE, pool, second)), OK);
    assert_eq!(again, memory);
    assert_eq!(hip.launch(empty, second), OK);
    assert!(fake::take_dispatched().is_empty(), "the second stream waits for the first one");
    drop(hold);
    assert_eq!(hip!(hip, hipStreamSynchronize(second)), OK);
    let order: Vec<_> = fake::take_dispatched().into_iter().map(|seen| seen.kernel).collect();
    assert_eq!(order, ["work", "empty"]);

    // A block of another size is returned first, and the program waits for that.
    hip.free_async(again, second);
    assert_eq!(hip!(hip, hipMallocFromPoolAsync(&mut again, SIZE - 5, pool, first)), OK);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), SIZE as u64 - 5);

    // A destroyed pool lives until its memory is freed.
    assert_eq!(hip!(hip, hipMemPoolDestroy(pool)), OK);
    let fails = hip!(hip, hipMallocFromPoolAsync(&mut memory, 1, pool, first));
    assert_eq!(fails, E::hipErrorInvalidValue);
    hip.upload(again, &[1, 2, 3]);
    let live = fake::live().0;
    hip.free_async(again, first);
    assert_eq!(hip!(hip, hipStreamSynchronize(first)), OK);
    assert_eq!(fake::live().0, live - 1);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn plain_allocations_get_the_memory_that_pools_hold_without_need() {
    let hip = start();
    let pool = hip.default_pool();
    assert_eq!(hip.set_bytes(pool, A::hipMemPoolAttrReleaseThreshold, u64::MAX), OK);
    let memory = hip.allocate(SIZE, NULL);
    // `hipFree` also frees memory of pools, and waits for the device.
    hip.free(memory);
    assert_eq!(hip!(hip, hipFree(memory)), E::hipErrorInvalidValue);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), SIZE as u64);
    fake::FAIL_ALLOCATIONS.store(1, std::sync::atomic::Ordering::Release);
    let plain = hip.malloc(64);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), 0);
    hip.free(plain);
    assert_eq!(hip.set_bytes(pool, A::hipMemPoolAttrReleaseThreshold, 0), OK);
}

#[test]
fn a_device_allocates_from_the_pool_it_was_given() {
    let hip = start();
    let (default, own) = (hip.default_pool(), hip.create_pool(0));
    let mut current = null_mut();
    assert_eq!(hip!(hip, hipDeviceGetMemPool(&mut current, 0)), OK);
    assert_eq!(current, default);
    assert_eq!(hip!(hip, hipDeviceSetMemPool(0, own)), OK);
    assert_eq!(hip!(hip, hipDeviceGetMemPool(&mut current, 0)), OK);
    assert_eq!(current, own);
    let memory = hip.allocate(SIZE, NULL);
    assert_eq!(hip.bytes(own, A::hipMemPoolAttrUsedMemCurrent), SIZE as u64);
    let live = fake::live().0;
    hip.free_async(memory, NULL);
    assert_eq!(hip!(hip, hipMemPoolDestroy(own)), OK);
    assert_eq!(hip!(hip, hipDeviceGetMemPool(&mut current, 0)), OK);
    assert_eq!(current, default, "destroying the current pool goes back to the default");
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
    assert!(fake::live().0 < live);
}

#[test]
fn wrong_uses_of_pools_are_errors() {
    let hip = start();
    let (pool, invalid) = (hip.default_pool(), E::hipErrorInvalidValue);
    let mut out = null_mut();
    let mut properties = properties();
    assert_eq!(hip!(hip, hipMemPoolDestroy(pool)), invalid, "the default pool stays");
    assert_eq!(hip!(hip, hipMemPoolDestroy(null_mut())), invalid);
    assert_eq!(hip!(hip, hipMemPoolTrimTo(8 as hipMemPool_t, 0)), invalid);
    assert_eq!(hip!(hip, hipDeviceSetMemPool(0, null_mut())), invalid);
    assert_eq!(hip!(hip, hipDeviceGetDefaultMemPool(&mut out, 1)), E::hipErrorInvalidDevice);
    assert_eq!(hip!(hip, hipMemPoolCreate(null_mut(), &properties)), invalid);
    properties.location = location(1);
    assert_eq!(hip!(hip, hipMemPoolCreate(&mut out, &properties)), invalid);
    properties.location = location(0);
    properties.handleTypes = hipMemAllocationHandleType::hipMemHandleTypePosixFileDescriptor;
    assert_eq!(hip!(hip, hipMemPoolCreate(&mut out, &properties)), E::hipErrorNotSupported);
    assert_eq!(hip.set_bytes(pool, A::hipMemPoolAttrUsedMemHigh, 5), invalid);
    assert_eq!(hip.set_bytes(pool, A::hipMemPoolAttrUsedMemCurrent, 0), invalid);
    assert_eq!(hip.set_bytes(pool, A(99), 0), invalid);
    assert_eq!(hip!(hip, hipMemPoolGetAttribute(pool, A::hipMemPoolAttrUsedMemHigh, null_mut())), invalid);
    let mut memory = null_mut();
    assert_eq!(hip!(hip, hipMallocAsync(&mut memory, fake::DEVICE_BYTES + 1, NULL)), E::hipErrorOutOfMemory);
    assert_eq!(hip!(hip, hipMallocAsync(&mut memory, 0, NULL)), OK);
    assert!(memory.is_null());
    assert_eq!(hip!(hip, hipMallocAsync(&mut memory, 8, 8 as hipStream_t)), E::hipErrorContextIsDestroyed);

    let mut flags = hipMemAccessFlags::hipMemAccessFlagsProtNone;
    let mut place = location(0);
    assert_eq!(hip!(hip, hipMemPoolGetAccess(&mut flags, pool, &mut place)), OK);
    assert_eq!(flags, hipMemAccessFlags::hipMemAccessFlagsProtReadWrite);
    let mut access = hipMemAccessDesc { location: place, flags };
    assert_eq!(hip!(hip, hipMemPoolSetAccess(pool, &access, 1)), OK);
    access.flags = hipMemAccessFlags::hipMemAccessFlagsProtNone;
    assert_eq!(hip!(hip, hipMemPoolSetAccess(pool, &access, 1)), invalid, "the owner keeps its access");
    access.flags = hipMemAccessFlags::hipMemAccessFlagsProtRead;
    assert_eq!(hip!(hip, hipMemPoolSetAccess(pool, &access, 1)), E::hipErrorNotSupported);
    assert_eq!(hip!(hip, hipMemPoolSetAccess(pool, &access, 2)), E::hipErrorInvalidDevice);
}

#[test]
fn what_a_failed_stream_has_freed_is_given_back_and_not_used_again() {
    let hip = start();
    let module = hip.load(5);
    let poke = hip.function(module, "poke");
    let (failing, other) = (hip.stream(hipStreamNonBlocking), hip.stream(hipStreamNonBlocking));
    let event = hip.event();
    let pool = hip.default_pool();
    let memory = hip.allocate(SIZE, failing);
    let reserved = hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent);
    let hold = Hold::new();
    assert_eq!(hip.launch(hip.function(module, "work"), failing), OK);
    assert_eq!(hip.launch(poke, failing), OK);
    hip.free_async(memory, failing);
    assert_eq!(hip!(hip, hipEventRecord(event, failing)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(other, event, 0)), OK);
    drop(hold);
    assert_eq!(hip!(hip, hipEventSynchronize(event)), E::hipErrorIllegalAddress);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), reserved - SIZE as u64);
    let fresh = hip.allocate(SIZE, other);
    assert_eq!(hip.bytes(pool, A::hipMemPoolAttrReservedMemCurrent), reserved, "it comes from HSA");
    let mut refused = null_mut();
    let failed = hip!(hip, hipMallocAsync(&mut refused, SIZE, failing));
    assert_eq!((failed, refused), (E::hipErrorIllegalAddress, null_mut()));
    assert_eq!(hip!(hip, hipFreeAsync(fresh, failing)), E::hipErrorIllegalAddress);
    hip.free_async(fresh, other);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    for stream in [failing, other] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
    let _ = hip!(hip, hipGetLastError());
}
