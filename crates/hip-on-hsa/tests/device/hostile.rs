//! Kernels that try to harm the process that launches them, and get an error for it.
//!
//! On real hardware a fault may end the process, so these tests run only on virtual devices.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hip_sys::hipMemcpyKind as Kind;
use test_skip::{Lack, skip};

use crate::support::{
    self, E, Event, Kernels, Memory, NULL, OK, Printed, Stream, arguments, hip, is_virtual, launch, turn,
};

/// Bytes of memory that the process has at present.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

static CALLS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn count(output: *mut u64, _: *const u64) {
    CALLS.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the protocol takes two words.
    unsafe { output.write(77) };
}

#[test]
fn a_function_that_the_program_has_not_named_is_not_called() {
    let _turn = turn();
    if !is_virtual() {
        return skip(Lack::Device, "not a virtual device");
    }
    let kernels = Kernels::hostile();
    let (call, hello) = (kernels.get("call"), kernels.get("hello"));
    let out = Memory::of(&[0u64; 2]);
    let function: unsafe extern "C" fn(*mut u64, *const u64) = count;
    for address in [function as usize as u64, 0, 0x1000, libc_exit()] {
        let stream = Stream::new(1);
        let (mut address, mut pointer) = (address, out.pointer);
        assert_eq!(launch(call, [1; 3], [1; 3], 0, stream.0, arguments![address, pointer]), OK);
        assert_eq!(stream.wait(), E::hipErrorLaunchFailure, "{address:#x}");
        let report = stream.report();
        assert!(
            report.contains(&format!("{address:#x}")) && report.contains("has not registered"),
            "{report}"
        );
    }
    assert_eq!(CALLS.load(Ordering::SeqCst), 0);
    // The buffer still works for its normal purpose.
    let (output, _) = Printed::by(|| {
        assert_eq!(launch(hello, [1; 3], [1; 3], 0, NULL, &mut []), OK);
        assert_eq!(hip!(hipStreamSynchronize(NULL)), OK);
    });
    assert_eq!(output, "hello\n");
    // It is called while registered, and not afterwards.
    let name = support::table().ext.device_function.unwrap();
    let mut address = function as usize as u64;
    for named in [true, false] {
        // SAFETY: the function takes any words.
        unsafe { name(count, named) };
        let (stream, mut pointer) = (Stream::new(1), out.pointer);
        assert_eq!(launch(call, [1; 3], [1; 3], 0, stream.0, arguments![address, pointer]), OK);
        assert_eq!(stream.wait(), if named { OK } else { E::hipErrorLaunchFailure });
        assert_eq!(CALLS.load(Ordering::SeqCst), 1);
        if named {
            assert_eq!(out.read::<u64>(1), [77]);
        }
    }
}

/// The address of a function that would end the process.
fn libc_exit() -> u64 {
    let exit: fn(i32) -> ! = std::process::exit;
    exit as usize as u64
}

#[test]
fn printf_without_an_end_takes_no_memory() {
    let _turn = turn();
    if !is_virtual() {
        return skip(Lack::Device, "not a virtual device");
    }
    let kernels = Kernels::hostile();
    let hello = kernels.get("hello");
    let before = resident();
    let stream = Stream::new(1);
    let (_, error) = Printed::by(|| {
        let (mut begins, mut goes_on) = (2_000u32, 6_000u32);
        let begin = kernels.get("begin_for_ever");
        assert_eq!(launch(begin, [1; 3], [64, 1, 1], 0, stream.0, arguments![begins]), OK);
        assert_eq!(stream.wait(), OK);
        let go_on = kernels.get("go_on_for_ever");
        assert_eq!(launch(go_on, [1; 3], [64, 1, 1], 0, stream.0, arguments![goes_on]), OK);
        assert_eq!(stream.wait(), OK);
        assert!(resident() < before + (200 << 20), "{} MB", (resident() - before) >> 20);
    });
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("dropped"), "{error}");
    let (output, error) = Printed::by(|| {
        let mut width = 1_000_000i32;
        let wide = kernels.get("wide");
        assert_eq!(launch(wide, [1; 3], [64, 1, 1], 0, stream.0, arguments![width]), OK);
        assert_eq!(stream.wait(), OK);
        assert_eq!(launch(hello, [1; 3], [1; 3], 0, stream.0, &mut []), OK);
        assert_eq!(stream.wait(), OK);
    });
    // Each of 64 is cut to a megabyte, and the dropping is reported.
    assert!(output.len() <= (64 << 20) + 6 && output.ends_with("hello\n"), "{}", output.len());
    assert_eq!(error, "");
}

#[test]
fn buffered_printf_of_wide_numbers_takes_no_memory() {
    let _turn = turn();
    if !is_virtual() {
        return skip(Lack::Device, "not a virtual device");
    }
    let kernels = Kernels::hostile_with(&["-mprintf-kind=buffered"]);
    let (output, error) = Printed::by(|| {
        let mut width = 1_000_000i32;
        assert_eq!(launch(kernels.get("wide"), [64, 1, 1], [64, 1, 1], 0, NULL, arguments![width]), OK);
        assert_eq!(hip!(hipStreamSynchronize(NULL)), OK);
        assert_eq!(launch(kernels.get("hello"), [1; 3], [1; 3], 0, NULL, &mut []), OK);
        assert_eq!(hip!(hipStreamSynchronize(NULL)), OK);
    });
    assert!(output.len() <= (64 << 20) + 6 && output.ends_with("hello\n"), "{}", output.len());
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("dropped"), "{error}");
}

static GATE: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn wait_for_gate(_: *mut c_void) {
    while !GATE.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

#[test]
fn a_kernel_that_spoils_its_queue_is_a_fault_and_no_wait_hangs() {
    let _turn = turn();
    if !is_virtual() {
        return skip(Lack::Device, "not a virtual device");
    }
    let kernels = Kernels::hostile();
    let empty = kernels.get("hello");
    for (name, has_count) in [("erase_packets", true), ("spoil_signals", true), ("move_indices", false)] {
        GATE.store(false, Ordering::Release);
        let (stream, other) = (Stream::new(1), Stream::new(1));
        let event = Event::new();
        // The kernel runs only after everything has been submitted.
        assert_eq!(hip!(hipLaunchHostFunc(stream.0, Some(wait_for_gate), std::ptr::null_mut())), OK);
        let mut count = 64u32;
        let mut list: Vec<*mut c_void> = if has_count { vec![(&raw mut count).cast()] } else { vec![] };
        assert_eq!(launch(kernels.get(name), [1; 3], [1; 3], 0, stream.0, &mut list), OK);
        event.record(&stream);
        assert_eq!(hip!(hipStreamWaitEvent(other.0, event.0, 0)), OK);
        assert_eq!(launch(empty, [1; 3], [1; 3], 0, other.0, &mut []), OK);
        GATE.store(true, Ordering::Release);
        let began = Instant::now();
        assert_eq!(stream.wait(), E::hipErrorIllegalAddress, "{name}");
        assert_eq!(hip!(hipEventSynchronize(event.0)), E::hipErrorIllegalAddress, "{name}");
        assert_eq!(other.wait(), OK, "{name}");
        assert!(began.elapsed() < Duration::from_secs(20), "{name}");
        let report = stream.report();
        assert!(report.contains("queues and signals of the runtime"), "{report}");
    }
}

#[test]
fn copies_from_what_is_no_memory_any_more_are_errors() {
    let _turn = turn();
    if !is_virtual() {
        return skip(Lack::Device, "not a virtual device");
    }
    let mut host = [0u8; 64];
    let host = host.as_mut_ptr().cast::<c_void>();
    let live = Memory::new(4096);
    let freed = {
        let memory = Memory::new(4096);
        memory.pointer
    };
    let (mut reserved, page) = (std::ptr::null_mut(), 2 << 20);
    assert_eq!(hip!(hipMemAddressReserve(&mut reserved, page, 0, std::ptr::null_mut(), 0)), OK);
    for gone in [freed, freed.wrapping_byte_add(100), reserved] {
        let invalid = E::hipErrorInvalidValue;
        assert_eq!(hip!(hipMemcpy(host, gone, 64, Kind::hipMemcpyDefault)), invalid);
        assert_eq!(hip!(hipMemcpy(gone, host, 64, Kind::hipMemcpyDefault)), invalid);
        assert_eq!(hip!(hipMemcpy(live.pointer, gone, 64, Kind::hipMemcpyDefault)), invalid);
        assert_eq!(hip!(hipMemcpy(live.pointer, gone, 64, Kind::hipMemcpyHostToDevice)), invalid);
        assert_eq!(hip!(hipMemcpy(gone, live.pointer, 64, Kind::hipMemcpyDeviceToHost)), invalid);
        assert_eq!(hip!(hipMemcpy(gone, host, 64, Kind::hipMemcpyHostToHost)), invalid);
        assert_eq!(hip!(hipMemcpyAsync(host, gone, 64, Kind::hipMemcpyDefault, NULL)), invalid);
        assert_eq!(hip!(hipMemcpy2D(host, 8, gone, 8, 8, 8, Kind::hipMemcpyDefault)), invalid);
    }
    assert_eq!(hip!(hipMemAddressFree(reserved, page)), OK);
}
