//! Memory and events shared by two processes: the test starts itself again as the other process.

use std::ffi::c_void;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use hip_sys::{hipIpcMemHandle_t, hipMemcpyKind as Kind};
use test_skip::{Lack, skip};

use crate::support::{self, E, Kernels, Memory, NULL, OK, Stream, arguments, hip, launch, turn};

const EVENT: &str = "FERROCM_TEST_IPC_EVENT";
const HANDLE: &str = "FERROCM_TEST_IPC_HANDLE";
const LAZY: u32 = hip_sys::hipIpcMemLazyEnablePeerAccess;
const COUNT: usize = 50_001;

fn handle_of(memory: *mut c_void) -> hipIpcMemHandle_t {
    let mut handle = hipIpcMemHandle_t { reserved: [0; 64] };
    assert_eq!(hip!(hipIpcGetMemHandle(&mut handle, memory)), OK);
    handle
}

#[test]
fn what_one_process_writes_the_other_reads() {
    let _turn = turn();
    let first: Vec<f32> = (0..COUNT).map(|index| index as f32).collect();
    let memory = Memory::of(&first);
    let handle = handle_of(memory.pointer);
    assert_eq!(handle.reserved, handle_of(memory.pointer).reserved, "a second query returns the same");
    let text = to_text(handle.reserved);
    let mut other = Command::new(std::env::current_exe().unwrap());
    other.args(["--exact", "ipc::the_other_process", "--include-ignored", "--nocapture"]).env(HANDLE, text);
    let output = other.output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    let expected: Vec<f32> = first.iter().map(|value| value + 3.0).collect();
    assert!(memory.read::<f32>(COUNT) == expected);
}

#[test]
fn any_bytes_as_a_handle_are_refused_or_open_what_is_there() {
    if !support::is_virtual() {
        return skip(Lack::Device, "AMD's HSA has its own handles, and trusts them");
    }
    let _turn = turn();
    let run = |input: &[u8]| crate::any_handle::run(support::table(), input);
    run(&[0, 1, 2, 3]);
    // The same memory twice: with its exact size and in whole pages.
    let size = |at: u8, byte: u8| [32 + at, byte];
    let pages = [&[2 | 2 << 2][..], &size(0, 0), &size(1, 0x20)].concat();
    run(&[&[2], &pages[..], &[2]].concat());
    // The largest numbers.
    let largest = |places: std::ops::Range<u8>| {
        let how = 2 | (places.len() as u8) << 2;
        [how].into_iter().chain(places.flat_map(|at| [at, 255])).collect::<Vec<_>>()
    };
    (0..64).step_by(4).for_each(|at| run(&largest(at..at + 4)));
    run(&largest(20..40));
    let mut seed = 1_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    for _ in 0..300 {
        let count = random() % 5;
        let how = 2 | random() & 1 | count << 2;
        run(&[how].into_iter().chain((0..2 * count).map(|_| random())).collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "runs in the process that the test above starts"]
fn the_other_process() {
    let handle = hipIpcMemHandle_t { reserved: from_text(&std::env::var(HANDLE).unwrap()) };
    let (mut shared, mut again) = (null_mut(), null_mut());
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut shared, handle, 0)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut shared, handle, LAZY)), OK);
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut again, handle, LAZY)), OK);
    assert_eq!(shared, again);
    let mut words = vec![0f32; COUNT];
    let to = words.as_mut_ptr().cast();
    assert_eq!(hip!(hipMemcpy(to, shared, 4 * COUNT, Kind::hipMemcpyDeviceToHost)), OK);
    assert!(words.iter().enumerate().all(|(index, &value)| value == index as f32));
    let beyond = hip!(hipMemcpy(to, shared, 4 * COUNT + 1, Kind::hipMemcpyDeviceToHost));
    assert_eq!(beyond, E::hipErrorInvalidValue, "its bounds are those of the other process");

    let kernels = Kernels::load();
    let ones = Memory::of(&vec![1.0f32; COUNT]);
    let (mut a, mut x, mut y, mut n) = (3.0f32, ones.pointer, shared, COUNT as u32);
    let blocks = [n.div_ceil(256), 1, 1];
    assert_eq!(launch(kernels.get("saxpy"), blocks, [256, 1, 1], 0, NULL, arguments![a, x, y, n]), OK);
    assert_eq!(hip!(hipDeviceSynchronize()), OK);
    assert_eq!(hip!(hipFree(shared)), E::hipErrorInvalidValue, "it is closed, not freed");
    assert_eq!(hip!(hipIpcCloseMemHandle(shared)), OK);
    assert_eq!(hip!(hipIpcCloseMemHandle(shared)), OK);
    assert_eq!(hip!(hipIpcCloseMemHandle(shared)), E::hipErrorInvalidValue);
    let gone = hip!(hipMemcpy(to, shared, 4, Kind::hipMemcpyDeviceToHost));
    assert_eq!(gone, E::hipErrorInvalidValue);
}

/// Words of a handle's bytes as text, and back.
fn to_text(bytes: [std::ffi::c_char; 64]) -> String {
    bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect()
}

fn from_text(text: &str) -> [std::ffi::c_char; 64] {
    std::array::from_fn(|index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap() as _)
}

/// An interprocess event and its handle.
fn shared_event() -> (hip_sys::hipEvent_t, hip_sys::hipIpcEventHandle_t) {
    let flags = hip_sys::hipEventInterprocess | hip_sys::hipEventDisableTiming;
    let mut event = null_mut();
    assert_eq!(hip!(hipEventCreateWithFlags(&mut event, flags)), OK);
    let mut handle = hip_sys::hipIpcEventHandle_t { reserved: [0; 64] };
    assert_eq!(hip!(hipIpcGetEventHandle(&mut handle, event)), OK);
    (event, handle)
}

/// Blocks a stream until the returned word in memory becomes 1.
fn hold(stream: &Stream) -> *mut c_void {
    let mut word = null_mut();
    assert_eq!(hip!(hipExtMallocWithFlags(&mut word, 8, hip_sys::hipMallocSignalMemory)), OK);
    let equal = hip_sys::hipStreamWaitValueEq;
    assert_eq!(hip!(hipStreamWaitValue64(stream.0, word, 1, equal, u64::MAX)), OK);
    word
}

#[test]
fn a_stream_of_one_process_waits_for_an_event_of_the_other() {
    let _turn = turn();
    let (mut none, mut other) = (null_mut(), null_mut());
    let timed = hip!(hipEventCreateWithFlags(&mut none, hip_sys::hipEventInterprocess));
    assert_eq!(timed, E::hipErrorInvalidValue, "such events have no times");
    let (event, handle) = shared_event();
    assert_eq!(hip!(hipIpcOpenEventHandle(&mut other, handle)), E::hipErrorInvalidContext);
    let plain = support::Event::new();
    let mut none = handle;
    assert_eq!(hip!(hipIpcGetEventHandle(&mut none, plain.0)), E::hipErrorInvalidConfiguration);
    assert_eq!(hip!(hipEventQuery(event)), OK, "never recorded");

    // A word in memory blocks the stream until the other process has seen that the event is not yet complete.
    let stream = Stream::new(hip_sys::hipStreamNonBlocking);
    let word = hold(&stream);
    assert_eq!(hip!(hipEventRecord(event, stream.0)), OK);
    assert_eq!(hip!(hipEventQuery(event)), E::hipErrorNotReady);

    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ipc::the_process_that_waits", "--include-ignored", "--nocapture"])
        .env(EVENT, to_text(handle.reserved))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("it waits")));
    // SAFETY: the memory is 8 bytes of the host's, and used by atomic accesses only.
    unsafe { AtomicU64::from_ptr(word.cast()) }.store(1, Ordering::Release);
    let rest: Vec<String> = lines.collect();
    assert!(process.wait().unwrap().success(), "{rest:?}");
    assert_eq!(hip!(hipEventSynchronize(event)), OK, "the other process has recorded it again");
    assert_eq!(stream.wait(), OK);
    assert_eq!(hip!(hipFree(word)), OK);
    assert_eq!(hip!(hipEventDestroy(event)), OK);
    let gone = hip!(hipIpcOpenEventHandle(&mut other, hip_sys::hipIpcEventHandle_t { reserved: [0; 64] }));
    assert_eq!(gone, E::hipErrorInvalidValue);
}

#[test]
#[ignore = "runs in the process that the test above starts"]
fn the_process_that_waits() {
    let reserved = from_text(&std::env::var(EVENT).unwrap());
    let mut event = null_mut();
    assert_eq!(hip!(hipIpcOpenEventHandle(&mut event, hip_sys::hipIpcEventHandle_t { reserved })), OK);
    assert_eq!(hip!(hipEventQuery(event)), E::hipErrorNotReady);
    let (stream, memory) = (Stream::new(hip_sys::hipStreamNonBlocking), Memory::of(&[1u8; 64]));
    assert_eq!(hip!(hipStreamWaitEvent(stream.0, event, 0)), OK);
    assert_eq!(hip!(hipMemsetAsync(memory.pointer, 2, 64, stream.0)), OK);
    assert_eq!(hip!(hipStreamQuery(stream.0)), E::hipErrorNotReady);
    assert_eq!(memory.read::<u8>(64), [1; 64]);
    println!("it waits");
    assert_eq!(stream.wait(), OK);
    assert_eq!(hip!(hipEventQuery(event)), OK);
    assert_eq!(memory.read::<u8>(64), [2; 64]);
    assert_eq!(hip!(hipEventRecord(event, stream.0)), OK);
    assert_eq!(hip!(hipEventSynchronize(event)), OK);
    assert_eq!(hip!(hipEventDestroy(event)), OK);
}

#[test]
fn a_record_whose_process_has_ended_is_an_error_for_who_waits() {
    let _turn = turn();
    let (event, handle) = shared_event();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ipc::the_process_that_ends_before_its_stream", "--include-ignored", "--nocapture"])
        .env(EVENT, to_text(handle.reserved))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("it has recorded")));
    assert_eq!(hip!(hipEventQuery(event)), E::hipErrorNotReady, "the other process is alive");
    let stream = Stream::new(hip_sys::hipStreamNonBlocking);
    let other = Stream::new(hip_sys::hipStreamNonBlocking);
    let kernels = Kernels::load();
    let (ones, memory) = (Memory::of(&[1.0f32; 64]), Memory::of(&[1.0f32; 64]));
    let (mut a, mut x, mut y, mut n) = (3.0f32, ones.pointer, memory.pointer, 64u32);
    assert_eq!(hip!(hipStreamWaitEvent(stream.0, event, 0)), OK);
    assert_eq!(launch(kernels.get("saxpy"), [1, 1, 1], [64, 1, 1], 0, stream.0, arguments![a, x, y, n]), OK);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(
        hip!(hipStreamQuery(stream.0)),
        E::hipErrorNotReady,
        "it waits as long as the other process lives"
    );
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(stream.wait(), E::hipErrorIllegalState);
    assert_eq!(memory.read::<f32>(64), [1.0; 64], "later work did not run");
    assert_eq!(hip!(hipEventSynchronize(event)), E::hipErrorIllegalState);
    assert_eq!(hip!(hipEventQuery(event)), E::hipErrorIllegalState);
    // A record by a live process makes the event usable again.
    assert_eq!(hip!(hipEventRecord(event, other.0)), OK);
    assert_eq!(hip!(hipEventSynchronize(event)), OK);
    assert_eq!(hip!(hipEventQuery(event)), OK);
    assert_eq!(hip!(hipEventDestroy(event)), OK);
}

#[test]
#[ignore = "runs in the process that the test above starts"]
fn the_process_that_ends_before_its_stream() {
    let reserved = from_text(&std::env::var(EVENT).unwrap());
    let mut event = null_mut();
    assert_eq!(hip!(hipIpcOpenEventHandle(&mut event, hip_sys::hipIpcEventHandle_t { reserved })), OK);
    let stream = Stream::new(hip_sys::hipStreamNonBlocking);
    hold(&stream);
    assert_eq!(hip!(hipEventRecord(event, stream.0)), OK);
    println!("it has recorded");
    // The test above kills this process; if that test has ended itself, so does this.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn only_device_memory_is_shared_and_only_with_others() {
    let _turn = turn();
    let memory = Memory::new(100);
    let handle = handle_of(memory.pointer);
    let (mut pointer, mut out) = (null_mut(), handle);
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut pointer, handle, LAZY)), E::hipErrorInvalidContext);
    let nothing = hipIpcMemHandle_t { reserved: [0; 64] };
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut pointer, nothing, LAZY)), E::hipErrorInvalidHandle);
    assert_eq!(hip!(hipIpcCloseMemHandle(memory.pointer)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipIpcGetMemHandle(&mut out, null_mut())), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipHostMalloc(&mut pointer, 64, 0)), OK);
    assert_eq!(hip!(hipIpcGetMemHandle(&mut out, pointer)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipHostFree(pointer)), OK);
    // Shared memory works like any other.
    memory.write(&[7u8; 100]);
    assert_eq!(memory.read::<u8>(100), [7; 100]);
}
