//! Allocation on a device, by each allocator.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::{Allocator, CacheLimits, Device, DeviceBuffer, Error, GrowableBuffer, MemoryPool, PoolReuse};
use test_skip::{Lack, skip};

use crate::common;

/// The device with an allocator, for one test at a time.
fn with(allocator: Allocator) -> (Device, MutexGuard<'static, ()>) {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = common::device();
    device.set_allocator(allocator).unwrap();
    device.set_cache_limits(CacheLimits::default());
    device.trim_memory(0).unwrap();
    device.reset_memory_stats();
    (device, guard)
}

/// Streams reuse each other's memory while work of its former owners still runs, and each reads its own data.
fn memory_changes_hands_between_streams(allocator: Allocator) {
    let (device, _guard) = with(allocator);
    let streams: Vec<_> = (0..3).map(|_| device.stream().unwrap()).collect();
    let len = 300_000;
    let mut results = Vec::new();
    for round in 0..30_u32 {
        let stream = &streams[round as usize % 3];
        let mut buffer = DeviceBuffer::<u32>::uninit_on(stream, len).unwrap();
        buffer.fill(stream, round).unwrap();
        let mut copy = DeviceBuffer::<u32>::uninit_on(stream, len).unwrap();
        copy.copy_from(stream, &buffer).unwrap();
        // While the copy runs, its source gets a new owner.
        drop(buffer);
        results.push(copy);
        if results.len() == 3 {
            for (index, result) in results.drain(..).enumerate() {
                let expected = round - 2 + index as u32;
                let values = result.to_vec(&streams[index]).unwrap();
                assert!(values.iter().all(|value| *value == expected), "round {round}, {allocator}");
            }
        }
    }
    assert_eq!(device.memory_stats().allocations, 0);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn cached_memory_changes_hands_between_streams() {
    memory_changes_hands_between_streams(Allocator::Caching);
}

#[test]
fn direct_memory_changes_hands_between_streams() {
    memory_changes_hands_between_streams(Allocator::Direct);
}

#[test]
fn stream_ordered_memory_changes_hands_between_streams() {
    // If the library is known to hand out memory that is in use, the allocator is refused.
    if let Err(error @ Error::KnownFault { .. }) = common::device().set_allocator(Allocator::StreamOrdered) {
        return skip(Lack::Tool, error);
    }
    memory_changes_hands_between_streams(Allocator::StreamOrdered);
}

#[test]
fn the_cache_takes_from_the_device_once() {
    let (device, _guard) = with(Allocator::Caching);
    let stream = device.stream().unwrap();
    for round in 0..50 {
        let small = DeviceBuffer::from_slice(&stream, &[round; 100]).unwrap();
        let large = DeviceBuffer::<u8>::zeroed(&stream, 20 << 20).unwrap();
        assert_eq!(small.to_vec(&stream).unwrap(), [round; 100]);
        assert_eq!(large.slice(..10).unwrap().to_vec(&stream).unwrap(), [0; 10]);
    }
    let stats = device.memory_stats();
    assert_eq!((stats.misses, stats.hits, stats.reserved), (2, 98, 22 << 20), "{stats:?}");
    let before = device.memory_info().unwrap().free;
    assert_eq!(device.trim_memory(0).unwrap(), 22 << 20);
    assert!(device.memory_info().unwrap().free > before);
}

#[test]
fn the_cache_keeps_its_limit_and_gives_back_what_is_unused_before_it_refuses() {
    let (device, _guard) = with(Allocator::Caching);
    let most = 200 << 20;
    device.set_cache_limits(CacheLimits { reserved: Some(most), unused: None });
    let take = |len| DeviceBuffer::<u8>::uninit(&device, len);
    drop(take(most / 4 * 3).unwrap());
    let half = take(most / 2).unwrap();
    assert_eq!(device.memory_stats().segments_released, 1);
    let error = take(most / 4 * 3).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { allocated, .. } if allocated >= half.len()), "{error}");
    drop(half);
    drop(take(most / 4 * 3).unwrap());
    device.trim_memory(0).unwrap();
}

/// Without the order between the streams, the kernel's late write would be read.
#[test]
fn a_kernel_that_still_writes_memory_is_waited_for_by_its_next_owner() {
    let (device, _guard) = with(Allocator::Caching);
    let slow = common::module(&device).function("slow").unwrap();
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    for round in 0..5_u32 {
        let mut buffer = DeviceBuffer::<u32>::uninit_on(&a, 64).unwrap();
        let launch = slow.launch(&a).grid(1).block(64).arg(200_000_u32).arg(&mut buffer);
        // SAFETY: `slow` writes at most one element for each of its 64 work-items.
        unsafe { launch.enqueue().unwrap() };
        drop(buffer);
        let mut next = DeviceBuffer::<u32>::uninit_on(&b, 64).unwrap();
        next.fill(&b, round).unwrap();
        assert_eq!(next.to_vec(&b).unwrap(), [round; 64]);
    }
    assert_eq!(device.memory_stats().misses, 1);
}

fn has_pools(device: &Device) -> bool {
    let has = device.table().has("hipMemPoolCreate");
    if !has {
        skip(Lack::Device, format_args!("the library behind {device} has no memory pools"));
    }
    has
}

#[test]
fn pools_give_buffers_in_the_order_of_streams() {
    let (device, _guard) = with(Allocator::Direct);
    if !has_pools(&device) {
        return;
    }
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let pool = MemoryPool::new(&device).unwrap();
    pool.set_release_threshold(u64::MAX).unwrap();
    for round in 0..20_u32 {
        let mut buffer = pool.allocate::<u32>(&a, 50_000).unwrap();
        buffer.fill(&a, round).unwrap();
        let values = buffer.to_vec(&b).unwrap();
        assert!(values.iter().all(|value| *value == round), "round {round}");
    }
    let buffer = pool.allocate::<u8>(&a, 1 << 20).unwrap();
    a.synchronize().unwrap();
    let stats = pool.stats().unwrap();
    assert!(
        stats.used >= 1 << 20 && stats.reserved >= stats.used && stats.peak_used >= stats.used,
        "{stats:?}"
    );
    // The buffer keeps the pool.
    drop(pool);
    assert_eq!(buffer.slice(..4).unwrap().to_vec(&a).unwrap().len(), 4);
    drop(buffer);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn pools_have_attributes_and_can_be_trimmed() {
    let (device, _guard) = with(Allocator::Direct);
    if !has_pools(&device) {
        return;
    }
    let stream = device.stream().unwrap();
    let pool = MemoryPool::new(&device).unwrap();
    assert_eq!(pool.release_threshold().unwrap(), 0);
    pool.set_release_threshold(64 << 20).unwrap();
    assert_eq!(pool.release_threshold().unwrap(), 64 << 20);
    let all = PoolReuse { follow_events: true, opportunistic: true, internal_dependencies: true };
    assert_eq!(pool.reuse().unwrap(), all);
    let less = PoolReuse { opportunistic: false, ..all };
    pool.set_reuse(less).unwrap();
    assert_eq!(pool.reuse().unwrap(), less);
    drop(pool.allocate::<u8>(&stream, 8 << 20).unwrap());
    stream.synchronize().unwrap();
    let stats = pool.stats().unwrap();
    assert!(stats.used == 0 && stats.reserved >= 8 << 20 && stats.peak_used >= 8 << 20, "{stats:?}");
    pool.trim(0).unwrap();
    assert_eq!(pool.stats().unwrap().reserved, 0);
    pool.reset_peaks().unwrap();
    assert_eq!(pool.stats().unwrap().peak_used, 0);
    let empty = pool.allocate::<u8>(&stream, 0).unwrap();
    assert!(empty.is_empty());
    let default = MemoryPool::default_of(&device).unwrap();
    assert!(default != pool && default == MemoryPool::default_of(&device).unwrap());
}

#[test]
fn a_growable_buffer_stays_where_it_is() {
    let (device, _guard) = with(Allocator::Direct);
    if !device.table().has("hipMemAddressReserve") {
        skip(Lack::Device, format_args!("the library behind {device} has no virtual memory management"));
        return;
    }
    let stream = device.stream().unwrap();
    let mut buffer = GrowableBuffer::<u32>::new(&device, 10 << 20).unwrap();
    assert_eq!((buffer.len(), buffer.memory()), (0, 0));
    buffer.grow(1000).unwrap();
    let (start, memory) = (buffer.as_slice().address(), buffer.memory());
    assert!((4000..40 << 20).contains(&memory), "{memory}");
    buffer.as_mut_slice().fill(&stream, 7).unwrap();
    // Grows while the stream fills the existing elements.
    let more = memory / 4 + 1;
    buffer.grow(more).unwrap();
    assert_eq!((buffer.len(), buffer.as_slice().address()), (more, start));
    assert!(buffer.memory() > memory);
    buffer.as_mut_slice().slice_mut(1000..).unwrap().fill(&stream, 9).unwrap();
    let values = buffer.as_slice().to_vec(&stream).unwrap();
    assert!(values[..1000].iter().all(|value| *value == 7) && values[1000..].iter().all(|value| *value == 9));
    buffer.grow(10).unwrap();
    assert_eq!(buffer.len(), more, "it never shrinks");
    let error = buffer.grow((10 << 20) + 1).unwrap_err();
    assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
    drop(buffer);
    let huge = GrowableBuffer::<u8>::new(&device, device.properties().memory + (1 << 30));
    if let Ok(mut huge) = huge {
        let error = huge.grow(huge.capacity()).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        assert_eq!((huge.len(), huge.memory()), (0, 0));
    }
    assert_eq!(hip::drop_failures(), 0);
}
