//! Kernels on a device.

use crate::support::{E, Event, Kernels, Memory, NULL, OK, Stream, arguments, hip, launch, properties, turn};

#[repr(C)]
struct Mixed {
    a: i8,
    b: f64,
}

#[test]
fn saxpy_is_right_in_the_middle_and_at_the_end() {
    let _turn = turn();
    let kernels = Kernels::load();
    let saxpy = kernels.get("saxpy");
    for count in [1u32, 63, 64, 65, 1000, 100_003] {
        let x: Vec<f32> = (0..count).map(|i| i as f32 * 0.5).collect();
        let y: Vec<f32> = (0..count).map(|i| 1.0 - i as f32).collect();
        let (dx, dy) = (Memory::of(&x), Memory::of(&y));
        let (mut a, mut px, mut py, mut n) = (2.0f32, dx.pointer, dy.pointer, count);
        let blocks = [count.div_ceil(256), 1, 1];
        assert_eq!(launch(saxpy, blocks, [256, 1, 1], 0, NULL, arguments![a, px, py, n]), OK);
        let out = dy.read::<f32>(count as usize);
        for (index, value) in out.iter().enumerate() {
            assert_eq!(*value, y[index] + 2.0 * x[index], "element {index} of {count}");
        }
    }
}

#[test]
fn kernels_of_every_version_see_their_geometry() {
    let _turn = turn();
    for version in [4, 5, 6] {
        let kernels = Kernels::of_version(version);
        let out = Memory::of(&[0u32; 6]);
        let mut pointer = out.pointer;
        let launched = launch(kernels.get("geometry"), [3, 2, 5], [16, 4, 2], 0, NULL, arguments![pointer]);
        assert_eq!(launched, OK);
        assert_eq!(out.read::<u32>(6), [3, 2, 5, 16, 4, 2], "code object version {version}");
    }
}

#[test]
fn arguments_of_all_sizes_arrive() {
    let _turn = turn();
    let kernels = Kernels::load();
    let out = Memory::of(&[0f64; 6]);
    let (mut a, mut b, mut c, mut d) = (-3i8, -300i16, 70_000i32, -5_000_000_000i64);
    let (mut e, mut pointer) = (Mixed { a: 9, b: 2.5 }, out.pointer);
    let mixed = kernels.get("mixed");
    assert_eq!(launch(mixed, [1; 3], [1; 3], 0, NULL, arguments![a, b, c, d, e, pointer]), OK);
    assert_eq!(out.read::<f64>(6), [-3.0, -300.0, 70_000.0, -5e9, 9.0, 2.5]);
}

#[test]
fn dynamic_lds_is_there_and_barriers_hold() {
    let _turn = turn();
    let kernels = Kernels::load();
    for count in [1usize, 33, 256, 1024] {
        let input: Vec<i32> = (0..count as i32).collect();
        let (from, to) = (Memory::of(&input), Memory::new(4 * count));
        let (mut pf, mut pt) = (from.pointer, to.pointer);
        let block = [count as u32, 1, 1];
        let launched =
            launch(kernels.get("reverse"), [1; 3], block, 4 * count as u32, NULL, arguments![pf, pt]);
        assert_eq!(launched, OK);
        let reversed: Vec<i32> = input.into_iter().rev().collect();
        assert_eq!(to.read::<i32>(count), reversed);
    }
}

#[test]
fn variables_of_a_module_start_initialised_and_keep_their_value() {
    let _turn = turn();
    let kernels = Kernels::load();
    let (mut address, mut size) = (std::ptr::null_mut(), 0);
    let name = c"counter".as_ptr();
    assert_eq!(hip!(hipModuleGetGlobal(&mut address, &mut size, kernels.module, name)), OK);
    assert_eq!(size, 4);
    let read = || {
        let mut value = 0u32;
        assert_eq!(hip!(hipMemcpyDtoH((&raw mut value).cast(), address, 4)), OK);
        value
    };
    assert_eq!(read(), 7);
    let bump = kernels.get("bump");
    assert_eq!(launch(bump, [100, 1, 1], [64, 1, 1], 0, NULL, &mut []), OK);
    assert_eq!(read(), 107);
    let start = 1000u32;
    assert_eq!(hip!(hipMemcpyHtoD(address, (&raw const start).cast(), 4)), OK);
    assert_eq!(launch(bump, [1; 3], [64, 1, 1], 0, NULL, &mut []), OK);
    assert_eq!(read(), 1001);
}

#[test]
fn thousands_of_launches_in_a_row_are_all_executed() {
    let _turn = turn();
    let kernels = Kernels::load();
    let saxpy = kernels.get("saxpy");
    let stream = Stream::new(0);
    let (x, y) = (Memory::of(&[1f32; 64]), Memory::of(&[0f32; 64]));
    for _ in 0..10_000 {
        let (mut a, mut px, mut py, mut n) = (1.0f32, x.pointer, y.pointer, 64u32);
        assert_eq!(launch(saxpy, [1; 3], [64, 1, 1], 0, stream.0, arguments![a, px, py, n]), OK);
    }
    assert_eq!(stream.wait(), OK);
    assert_eq!(y.read::<f32>(64), [10_000.0; 64]);
}

#[test]
fn streams_wait_for_events_of_other_streams() {
    let _turn = turn();
    let kernels = Kernels::load();
    let (work, saxpy) = (kernels.get("work"), kernels.get("saxpy"));
    let (first, second) = (Stream::new(1), Stream::new(1));
    for _ in 0..20 {
        let (out, y) = (Memory::of(&[0u32; 2]), Memory::of(&[0f32; 1]));
        let (mut rounds, mut po) = (20_000u32, out.pointer);
        let event = Event::new();
        assert_eq!(launch(work, [1; 3], [64, 1, 1], 0, first.0, arguments![rounds, po]), OK);
        event.record(&first);
        assert_eq!(hip!(hipStreamWaitEvent(second.0, event.0, 0)), OK);
        // Reads the result of `work`: an integer one, which is the smallest float above 0.
        let (mut a, mut px, mut py, mut n) = (1.0f32, out.pointer, y.pointer, 1u32);
        assert_eq!(launch(saxpy, [1; 3], [32, 1, 1], 0, second.0, arguments![a, px, py, n]), OK);
        assert_eq!(second.wait(), OK);
        assert_eq!(y.read::<f32>(1)[0].to_bits(), 1);
    }
}

#[test]
fn event_times_grow_with_the_work_between_them() {
    let _turn = turn();
    let kernels = Kernels::load();
    let work = kernels.get("work");
    let stream = Stream::new(0);
    let out = Memory::new(8);
    let time = |rounds: u32| {
        let (start, stop) = (Event::new(), Event::new());
        let (mut rounds, mut po) = (rounds, out.pointer);
        start.record(&stream);
        assert_eq!(launch(work, [1; 3], [32, 1, 1], 0, stream.0, arguments![rounds, po]), OK);
        stop.record(&stream);
        assert_eq!(hip!(hipEventSynchronize(stop.0)), OK);
        let mut time = -1.0;
        assert_eq!(hip!(hipEventElapsedTime(&mut time, start.0, stop.0)), OK);
        time
    };
    time(1);
    let (short, long) = (time(1000), time(1_000_000));
    assert!(short >= 0.0 && long > short, "{short} ms and {long} ms");
}

#[test]
fn device_limits_are_enforced_before_the_launch() {
    let _turn = turn();
    let kernels = Kernels::load();
    let (narrow, work) = (kernels.get("narrow"), kernels.get("work"));
    let out = Memory::new(8);
    let (mut rounds, mut po) = (1u32, out.pointer);
    let invalid = E::hipErrorInvalidValue;
    assert_eq!(launch(narrow, [1; 3], [65, 1, 1], 0, NULL, arguments![po]), invalid);
    assert_eq!(launch(work, [0, 1, 1], [1; 3], 0, NULL, arguments![rounds, po]), invalid);
    assert_eq!(launch(work, [1; 3], [1025, 1, 1], 0, NULL, arguments![rounds, po]), invalid);
    assert_eq!(launch(work, [1; 3], [1; 3], 65537, NULL, arguments![rounds, po]), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipStreamSynchronize(NULL)), OK);
}

#[test]
fn occupancy_is_that_of_the_architecture() {
    let _turn = turn();
    let kernels = Kernels::load();
    let work = kernels.get("work");
    let properties = properties();
    let mut blocks = 0;
    let active =
        hip!(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, work, properties.warpSize, 0));
    assert_eq!(active, OK);
    // A kernel with few registers fills every wave slot.
    assert_eq!(blocks * properties.warpSize, properties.maxThreadsPerMultiProcessor);
}
