use super::*;
use crate::{DeviceBuffer, fake};

const MIB: usize = 1 << 20;

fn bytes(stream: &Stream, len: usize) -> DeviceBuffer<u8> {
    DeviceBuffer::uninit_on(stream, len).unwrap()
}

#[test]
fn a_dropped_buffers_memory_is_used_again_and_nothing_waits() {
    let device = fake::caching_device();
    let stream = device.stream().unwrap();
    let first = DeviceBuffer::<u8>::zeroed(&stream, 1000).unwrap();
    let address = first.allocation().address();
    drop(first);
    let second = DeviceBuffer::<u8>::zeroed(&stream, 900).unwrap();
    assert_eq!(second.allocation().address(), address);
    assert_eq!(fake::calls(&stream), ["set8", "set8"]);
    let stats = device.memory_stats();
    assert_eq!((stats.hits, stats.misses, stats.allocations), (1, 1, 1));
    assert_eq!((stats.allocated, stats.reserved), (1024, 2 * MIB));
    assert_eq!(fake::allocations(&device), 1);
}

#[test]
fn another_stream_waits_on_the_device() {
    let device = fake::caching_device();
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let buffer = DeviceBuffer::<u8>::zeroed(&a, 2 * MIB).unwrap();
    let address = buffer.allocation().address();
    fake::set_busy(&a, true);
    drop(buffer);
    fake::calls(&a);
    // The rest of the segment, without that buffer's block, is taken.
    let _rest = bytes(&b, 16 * MIB);
    let _rest = bytes(&b, 14 * MIB);
    let mut buffer = bytes(&b, 2 * MIB);
    assert_eq!(buffer.allocation().address(), address);
    buffer.fill(&b, 1).unwrap();
    assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["record"], vec!["wait", "set8"]));
    assert_eq!(device.memory_stats().misses, 1);
}

#[test]
fn own_memory_comes_before_idle_memory_and_that_before_others() {
    let device = fake::caching_device();
    let (a, b, c) = (device.stream().unwrap(), device.stream().unwrap(), device.stream().unwrap());
    let used_on = |stream: &Stream, len: usize| {
        let buffer = DeviceBuffer::<u8>::zeroed(stream, len).unwrap();
        let address = buffer.allocation().address();
        (buffer, address)
    };
    // Whole segments, so that no block can be divided. Each is smaller than the one before.
    let (of_a, at_a) = used_on(&a, 20 * MIB);
    let (of_b, at_b) = used_on(&b, 20 * MIB - 1);
    let (idle, at_idle) = used_on(&c, 20 * MIB - 2);
    for stream in [&a, &b] {
        fake::set_busy(stream, true);
    }
    drop((of_a, of_b, idle));
    let take = |stream| bytes(stream, 20 * MIB - 3);
    let mine = take(&a);
    assert_eq!(mine.allocation().address(), at_a);
    let next = take(&a);
    assert_eq!(next.allocation().address(), at_idle);
    let last = take(&a);
    assert_eq!(last.allocation().address(), at_b);
    assert_eq!(device.memory_stats().hits, 3);
}

#[test]
fn an_address_that_leaves_the_crate_is_nobody_elses() {
    let device = fake::caching_device();
    let stream = device.stream().unwrap();
    drop(DeviceBuffer::<u8>::zeroed(&stream, 1000).unwrap());
    fake::calls(&stream);
    let mut buffer = bytes(&stream, 1000);
    let on_stream = buffer.as_mut_slice().address_on(&stream).unwrap();
    assert!(fake::calls(&stream).is_empty());
    assert_eq!(buffer.address(), on_stream);
    assert!(fake::calls(&stream).is_empty(), "work of the new owner was ordered after that of the former");
    drop(buffer);
    let buffer = bytes(&stream, 1000);
    assert_eq!((buffer.address(), fake::calls(&stream)), (on_stream, vec!["synchronize"]));
}

#[test]
fn too_little_memory_gives_the_cache_back_and_then_says_who_holds_it() {
    let device = fake::caching_device();
    let stream = device.stream().unwrap();
    let kept = bytes(&stream, 20 * MIB);
    drop(DeviceBuffer::<u8>::zeroed(&stream, 40 * MIB).unwrap());
    assert_eq!(device.memory_stats().reserved, 60 * MIB);
    fake::calls(&stream);
    let large = bytes(&stream, 58 * MIB);
    assert_eq!(fake::calls(&stream), ["synchronize"], "what used the memory ended before it was freed");
    // Two more MiB: too little for a usual segment, but enough for the block alone.
    let medium = bytes(&stream, 2 * MIB);
    assert_eq!(device.memory_stats().reserved, 80 * MIB);
    let error = DeviceBuffer::<u8>::uninit(&device, 1).unwrap_err();
    assert!(
        matches!(error, Error::OutOfMemory { requested: 1, allocated, reserved, .. }
            if allocated == 80 * MIB && reserved == 80 * MIB),
        "{error}"
    );
    drop((kept, large, medium));
    assert_eq!(device.memory_stats().unused(), 80 * MIB);
    assert_eq!(device.trim_memory(30 * MIB).unwrap(), 78 * MIB);
    assert_eq!(device.trim_memory(0).unwrap(), 2 * MIB);
    assert_eq!(fake::allocations(&device), 0);
    let stats = device.memory_stats();
    assert_eq!((stats.reserved, stats.peak_reserved, stats.segments_released), (0, 80 * MIB, 4));
}

#[test]
fn limits_are_kept() {
    let device = fake::caching_device();
    let stream = device.stream().unwrap();
    device.set_cache_limits(CacheLimits { reserved: Some(40 * MIB), unused: None });
    drop(bytes(&stream, 30 * MIB));
    let buffer = bytes(&stream, 40 * MIB);
    assert_eq!(device.memory_stats().reserved, 40 * MIB);
    for len in [1, 2 * MIB, 60 * MIB] {
        let error = DeviceBuffer::<u8>::uninit(&device, len).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }
    device.set_cache_limits(CacheLimits { reserved: None, unused: Some(30 * MIB) });
    let other = bytes(&stream, 30 * MIB);
    drop(other);
    assert_eq!(device.memory_stats().unused(), 30 * MIB);
    drop(buffer);
    assert_eq!(
        device.memory_stats().unused(),
        0,
        "either alone would be within the limit, the older went, and the other is too large"
    );
}

#[test]
fn what_is_given_back_is_what_no_stream_works_on_any_more() {
    let device = fake::caching_device();
    let (busy, idle) = (device.stream().unwrap(), device.stream().unwrap());
    device.set_cache_limits(CacheLimits { reserved: None, unused: Some(0) });
    let mut one = bytes(&busy, 4 * MIB);
    one.fill(&busy, 1).unwrap();
    fake::set_busy(&busy, true);
    drop(one);
    assert_eq!(device.memory_stats().reserved, 32 * MIB);
    let mut two = bytes(&idle, 1);
    two.fill(&idle, 1).unwrap();
    drop(two);
    assert_eq!(device.memory_stats().reserved, 32 * MIB, "that of the stream that works");
    fake::set_busy(&busy, false);
    drop(bytes(&idle, 1));
    assert_eq!(device.memory_stats().reserved, 0);
}

#[test]
fn what_a_callers_thread_drops_is_counted_as_well() {
    let device = fake::caching_device();
    // Each takes seconds under Miri.
    let rounds = if cfg!(miri) { 2 } else { 99 };
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let device = &device;
            scope.spawn(move || {
                let stream = device.stream().unwrap();
                for round in 1..=rounds {
                    let value = (thread * 100 + round) as u32;
                    let mut buffer = DeviceBuffer::<u32>::uninit_on(&stream, round * 7).unwrap();
                    buffer.fill(&stream, value).unwrap();
                    let other = DeviceBuffer::from_slice(&stream, &[value; 1000]).unwrap();
                    assert_eq!(buffer.to_vec(&stream).unwrap(), vec![value; round * 7]);
                    drop(buffer);
                    assert_eq!(other.to_vec(&stream).unwrap(), [value; 1000]);
                }
            });
        }
    });
    let stats = device.memory_stats();
    assert_eq!(
        (stats.allocated, stats.allocations, stats.hits + stats.misses),
        (0, 0, 4 * rounds as u64 * 2)
    );
    // Threads that find no segment at the same time allocate one each.
    let segments = fake::allocations(&device);
    assert!((1..=4).contains(&segments), "{segments}");
    assert_eq!(stats.reserved, segments * 2 * MIB);
}

#[test]
fn allocators_have_names() {
    for allocator in [Allocator::Caching, Allocator::Direct, Allocator::StreamOrdered] {
        assert_eq!(allocator.to_string().parse::<Allocator>().unwrap(), allocator);
    }
    let error = "cached".parse::<Allocator>().unwrap_err().to_string();
    assert!(error.contains("FERROCM_ALLOCATOR") && error.contains("`cached`"), "{error}");
    assert_eq!(Allocator::default_of(false), Allocator::Caching);
    assert_eq!(Allocator::default_of(true), Allocator::Direct);
}

#[test]
fn memory_that_was_kept_for_work_lets_its_buffer_go_while_later_work_waits() {
    let device = fake::device(0);
    device.set_allocator(Allocator::Direct).unwrap();
    let stream = device.stream().unwrap();
    let before = fake::allocations(&device);
    let buffer = DeviceBuffer::<u8>::zeroed(&stream, 1000).unwrap();
    buffer.as_slice().address_on(&stream).unwrap();
    buffer.as_slice().keep_until_done(&stream).unwrap();
    stream.synchronize().unwrap();
    // As by a second collective, for example, which waits for this thread as well.
    let hold = fake::hold(&stream);
    drop(buffer);
    assert_eq!(fake::allocations(&device), before + 1);
    drop(hold);
    stream.synchronize().unwrap();
    let began = std::time::Instant::now();
    while fake::allocations(&device) != before {
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
        std::thread::yield_now();
    }
}

#[test]
fn memory_that_is_kept_for_work_lets_its_buffer_go_without_waiting() {
    let device = fake::device(0);
    device.set_allocator(Allocator::Direct).unwrap();
    let stream = device.stream().unwrap();
    let before = fake::allocations(&device);
    let buffer = DeviceBuffer::<u8>::zeroed(&stream, 1000).unwrap();
    let hold = fake::hold(&stream);
    buffer.as_slice().address_on(&stream).unwrap();
    buffer.as_slice().keep_until_done(&stream).unwrap();
    // Otherwise this would wait for the stream, which is held.
    drop(buffer);
    assert_eq!(fake::allocations(&device), before + 1);
    drop(hold);
    stream.synchronize().unwrap();
    // Another thread frees it.
    let began = std::time::Instant::now();
    while fake::allocations(&device) != before {
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
        std::thread::yield_now();
    }
}
