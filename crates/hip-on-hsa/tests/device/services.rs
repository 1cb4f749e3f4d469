//! Kernels that need the host while they run: printf, assert, malloc, calls; and cooperative launches.

use hip_sys::hipLimit_t;
use test_skip::{Lack, skip};

use crate::support::{
    self, E, Kernels, Memory, NULL, OK, Printed, Stream, arguments, hip, is_virtual, launch,
    launch_cooperative, properties, turn,
};

fn wait() {
    assert_eq!(hip!(hipStreamSynchronize(NULL)), OK);
}

const CONVERSIONS: &str = "\
-7 7 3000000000 10 ff FF c %
-81985529216486896 fedcba9876543210 -5 -2 -1
[    1|2    |00003|+4|    6|2.50]
2.500000 2.500e+00 2.5   2.5
0x123456|a text that needs more than one packet, as it has more than fifty-six bytes|     right|left      |cu|
no arguments
";

#[test]
fn printf_prints_what_the_host_would() {
    let _turn = turn();
    for (version, options) in [(4, &[][..]), (5, &[]), (6, &[]), (5, &["-mprintf-kind=buffered"])] {
        let kernels = Kernels::services(version, options);
        let (output, error) = Printed::by(|| {
            let (mut n, mut wide, mut d, mut pointer) =
                (7i32, -0x0123_4567_89ab_cdf0i64, 2.5f64, 0x12_3456u64);
            let conversions = kernels.get("conversions");
            assert_eq!(launch(conversions, [1; 3], [64, 1, 1], 0, NULL, arguments![n, wide, d, pointer]), OK);
            wait();
        });
        assert_eq!(output, CONVERSIONS, "version {version} {options:?}");
        assert_eq!(error, "");
    }
}

#[test]
fn printf_returns_the_number_of_bytes() {
    let _turn = turn();
    let kernels = Kernels::services(5, &[]);
    let out = Memory::of(&[0i32; 64]);
    let (output, _) = Printed::by(|| {
        let mut pointer = out.pointer;
        assert_eq!(launch(kernels.get("returned"), [1; 3], [64, 1, 1], 0, NULL, arguments![pointer]), OK);
        wait();
    });
    assert_eq!(output, "even\nodd\n".repeat(32));
    assert!(
        out.read::<i32>(64)
            .iter()
            .enumerate()
            .all(|(lane, &bytes)| bytes == if lane % 2 == 1 { 4 } else { 5 })
    );
}

/// Every line once, in any order.
fn check_crowd(output: &str, blocks: usize, block: usize) {
    let mut lines: Vec<&str> = output.lines().collect();
    let mut expected: Vec<String> =
        (0..blocks * block).map(|item| format!("item {item} of block {}", item / block)).collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines.len(), expected.len());
    assert!(lines.iter().zip(&expected).all(|(line, expected)| line == expected));
}

#[test]
fn thousands_of_work_items_on_two_streams_print_without_loss() {
    let _turn = turn();
    let kernels = Kernels::services(5, &[]);
    let (first, second) = (Stream::new(1), Stream::new(1));
    let crowd = kernels.get("crowd");
    let (output, _) = Printed::by(|| {
        assert_eq!(launch(crowd, [40, 1, 1], [96, 1, 1], 0, first.0, &mut []), OK);
        assert_eq!(first.wait(), OK);
    });
    check_crowd(&output, 40, 96);
    let (output, _) = Printed::by(|| {
        for stream in [&first, &second] {
            assert_eq!(launch(crowd, [10, 1, 1], [64, 1, 1], 0, stream.0, &mut []), OK);
        }
        assert_eq!((first.wait(), second.wait()), (OK, OK));
    });
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert!(lines.chunks(2).all(|pair| pair[0] == pair[1]));
    lines.dedup();
    check_crowd(&lines.join("\n"), 10, 64);
}

#[test]
fn a_buffer_that_is_full_keeps_what_it_holds() {
    let _turn = turn();
    let kernels = Kernels::services(5, &["-mprintf-kind=buffered"]);
    let crowd = kernels.get("crowd");
    let (output, _) = Printed::by(|| {
        assert_eq!(launch(crowd, [100, 1, 1], [64, 1, 1], 0, NULL, &mut []), OK);
        wait();
    });
    check_crowd(&output, 100, 64);
    // A record has 28 bytes, so these exceed 4 MiB.
    let (blocks, block) = (700, 256);
    let (output, _) = Printed::by(|| {
        assert_eq!(launch(crowd, [blocks, 1, 1], [block, 1, 1], 0, NULL, &mut []), OK);
        wait();
    });
    let lines = output.lines().count();
    assert!(lines < (blocks * block) as usize && lines > (4 << 20) / 32, "{lines} lines");
    assert!(output.lines().all(|line| {
        let mut numbers = line.split(' ').filter_map(|word| word.parse::<u32>().ok());
        numbers.next().map(|item| item / block) == numbers.next()
    }));
}

#[test]
fn a_failed_assertion_says_so_and_ends_the_dispatch() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    for version in [4, 5] {
        let kernels = Kernels::services(version, &[]);
        let stream = Stream::new(0);
        let (mut fine, mut limit) = (64i32, 40i32);
        let (output, error) = Printed::by(|| {
            assert_eq!(launch(kernels.get("checked"), [1; 3], [64, 1, 1], 0, stream.0, arguments![fine]), OK);
            assert_eq!(stream.wait(), OK);
        });
        assert_eq!((output.as_str(), error.as_str()), ("", ""));
        let (output, error) = Printed::by(|| {
            assert_eq!(
                launch(kernels.get("checked"), [1; 3], [64, 1, 1], 0, stream.0, arguments![limit]),
                OK
            );
            assert_eq!(stream.wait(), E::hipErrorAssert);
        });
        assert_eq!(output, "");
        assert!(error.contains("services.cu:") && error.contains("Device-side assertion"), "{error}");
        assert!(
            error.lines().count() >= 24 && error.lines().all(|line| line.contains("small enough")),
            "{error}"
        );
        let report = stream.report();
        assert!(report.contains("s_trap 2") && report.contains("Device-side assertion"), "{report}");
    }
}

#[test]
fn abort_ends_the_dispatch() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let kernels = Kernels::services(5, &[]);
    let stream = Stream::new(0);
    assert_eq!(launch(kernels.get("aborted"), [1; 3], [64, 1, 1], 0, stream.0, &mut []), OK);
    assert_eq!(stream.wait(), E::hipErrorLaunchFailure);
    assert!(stream.report().contains("s_trap 2"), "{}", stream.report());
}

#[test]
fn malloc_works_across_kernels() {
    let _turn = turn();
    // Up to version 4 the heap is part of the code object.
    for version in [4, 5, 6] {
        let kernels = Kernels::services(version, &[]);
        let (blocks, block) = (20u32, 128u32);
        let count = (blocks * block) as usize;
        let (failures, seen) = (Memory::of(&[0u32]), Memory::of(&vec![0u32; count]));
        let (mut pf, mut ps) = (failures.pointer, seen.pointer);
        for round in 1..=2 {
            assert_eq!(
                launch(kernels.get("push"), [blocks, 1, 1], [block, 1, 1], 0, NULL, arguments![pf]),
                OK
            );
            assert_eq!(launch(kernels.get("pop_all"), [1; 3], [1; 3], 0, NULL, arguments![ps]), OK);
            wait();
            assert_eq!(failures.read::<u32>(1), [0]);
            assert!(seen.read::<u32>(count).iter().all(|&seen| seen == round), "version {version}");
        }
    }
}

#[test]
fn malloc_gives_blocks_of_all_sizes() {
    let _turn = turn();
    let kernels = Kernels::services(5, &[]);
    let failures = Memory::of(&[0u32]);
    let mut pointer = failures.pointer;
    assert_eq!(launch(kernels.get("sizes"), [4, 1, 1], [96, 1, 1], 0, NULL, arguments![pointer]), OK);
    wait();
    assert_eq!(failures.read::<u32>(1), [0]);
}

#[test]
fn objects_with_virtual_functions_are_made_and_deleted() {
    let _turn = turn();
    for version in [4, 5] {
        let kernels = Kernels::services(version, &[]);
        let out = Memory::of(&[0u32; 100]);
        let mut pointer = out.pointer;
        assert_eq!(launch(kernels.get("shapes"), [1; 3], [100, 1, 1], 0, NULL, arguments![pointer]), OK);
        wait();
        let expected: Vec<u32> = (0..100).map(|i| if i % 3 == 0 { 3 } else { i }).collect();
        assert_eq!(out.read::<u32>(100), expected);
    }
}

unsafe extern "C" fn multiply(output: *mut u64, input: *const u64) {
    // SAFETY: the protocol passes seven words and takes two.
    unsafe {
        let input = std::slice::from_raw_parts(input, 7);
        let product = input.iter().skip(1).fold(1u64, |product, word| product.wrapping_mul(*word));
        output.write(input[0].wrapping_mul(1000).wrapping_add(product));
        output.add(1).write(input[0].wrapping_add(1));
    }
}

#[test]
fn device_code_calls_functions_of_the_program() {
    let _turn = turn();
    let kernels = Kernels::services(5, &[]);
    let out = Memory::of(&[0u64; 128]);
    let function: unsafe extern "C" fn(*mut u64, *const u64) = multiply;
    // SAFETY: the function takes any words.
    unsafe { support::table().ext.device_function.unwrap()(multiply, true) };
    let (mut function, mut pointer) = (function as usize as u64, out.pointer);
    assert_eq!(
        launch(kernels.get("call_host"), [1; 3], [64, 1, 1], 0, NULL, arguments![function, pointer]),
        OK
    );
    wait();
    // SAFETY: as above.
    unsafe { support::table().ext.device_function.unwrap()(multiply, false) };
    let expected: Vec<u64> = (0..64).flat_map(|lane| [lane * 1000 + 5040, lane + 1]).collect();
    assert_eq!(out.read::<u64>(128), expected);
}

#[test]
fn the_workgroups_of_a_cooperative_launch_meet() {
    let _turn = turn();
    if properties().cooperativeLaunch == 0 {
        let kernels = Kernels::services(5, &[]);
        let (mut rounds, mut pv, mut pf) = (1u32, 0u64, 0u64);
        let refused = launch_cooperative(kernels.get("meet"), 1, 64, arguments![rounds, pv, pf]);
        assert_eq!(refused, E::hipErrorNotSupported);
        return;
    }
    for version in [4, 5] {
        let kernels = Kernels::services(version, &[]);
        let meet = kernels.get("meet");
        let block = 128u32;
        let mut held = 0;
        let active =
            hip!(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&mut held, meet, block as i32, 0));
        assert_eq!(active, OK);
        let most = (held * properties().multiProcessorCount) as u32;
        let (values, failures) = (Memory::of(&vec![0u32; most as usize]), Memory::of(&[0u32]));
        for blocks in [1, 3, most] {
            let (mut rounds, mut pv, mut pf) = (3u32, values.pointer, failures.pointer);
            values.write(&vec![0u32; most as usize]);
            assert_eq!(launch_cooperative(meet, blocks, block, arguments![rounds, pv, pf]), OK);
            wait();
            assert_eq!(failures.read::<u32>(1), [0]);
            assert!(values.read::<u32>(blocks as usize).iter().all(|&value| value == 3));
        }
        let (mut rounds, mut pv, mut pf) = (1u32, values.pointer, failures.pointer);
        let refused = launch_cooperative(meet, most + 1, block, arguments![rounds, pv, pf]);
        assert_eq!(refused, E::hipErrorCooperativeLaunchTooLarge);
        // A grid that was not launched cooperatively has no synchronisation data, and reports that.
        assert_eq!(launch(meet, [1; 3], [1; 3], 0, NULL, arguments![rounds, pv, pf]), OK);
        wait();
        assert_eq!(failures.read::<u32>(1), [1]);
    }
}

#[test]
fn the_limit_of_the_stack_is_what_recursion_gets() {
    let _turn = turn();
    let kernels = Kernels::services(5, &[]);
    let limit = || {
        let mut value = 0;
        assert_eq!(hip!(hipDeviceGetLimit(&mut value, hipLimit_t::hipLimitStackSize)), OK);
        value
    };
    let set = |value: usize| hip!(hipDeviceSetLimit(hipLimit_t::hipLimitStackSize, value));
    let default = limit();
    assert_eq!(default, 1024);
    assert_eq!(set(1 << 20), E::hipErrorInvalidValue);
    assert_eq!(set(64 << 10), OK);
    assert_eq!(limit(), 64 << 10);
    let out = Memory::of(&[0u32; 64]);
    let (mut m, mut pointer) = (2u32, out.pointer);
    let recursion = kernels.get("recursion");
    assert_eq!(launch(recursion, [1; 3], [64, 1, 1], 0, NULL, arguments![m, pointer]), OK);
    wait();
    assert!(out.read::<u32>(64).iter().enumerate().all(|(n, &value)| value as usize == 2 * n + 3));
    assert_eq!(set(default), OK);
    if is_virtual() {
        assert_eq!(launch(recursion, [1; 3], [64, 1, 1], 0, NULL, arguments![m, pointer]), OK);
        assert_eq!(hip!(hipStreamSynchronize(NULL)), E::hipErrorIllegalAddress);
        let report = support::report(NULL);
        assert!(report.contains("scratch memory") && report.contains("recursion"), "{report}");
    }
    let mut value = 0;
    let unsupported = E::hipErrorUnsupportedLimit;
    assert_eq!(hip!(hipDeviceGetLimit(&mut value, hipLimit_t::hipLimitPrintfFifoSize)), unsupported);
    assert_eq!(hip!(hipDeviceSetLimit(hipLimit_t::hipLimitPrintfFifoSize, 1)), unsupported);
    assert_eq!(hip!(hipDeviceSetLimit(hipLimit_t::hipLimitMallocHeapSize, 16 << 20)), OK);
    assert_eq!(hip!(hipDeviceGetLimit(&mut value, hipLimit_t::hipLimitMallocHeapSize)), OK);
    assert_eq!(value, 16 << 20);
}
