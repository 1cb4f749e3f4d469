//! A failed stream has ended only when nothing of it runs any more: not concurrently with the faulted kernel,
//! not on other lanes of its graph, and not behind the call to the host that failed it.
//!
//! On real hardware a fault may end the process, so these tests run only on virtual devices.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use hip_sys::{dim3, hipFunction_t, hipGraph_t, hipKernelNodeParams, hipMemcpyKind};
use test_skip::{Lack, skip};

use crate::support::{E, Event, Kernels, Memory, OK, Stream, arguments, hip, is_virtual, launch, turn};

const NON_BLOCKING: u32 = 1;
/// More rounds than a test waits for.
const ROUNDS: u32 = 1 << 28;

/// Waits for a stream; a hang is a failure.
fn wait(stream: &Stream) -> E {
    let (done, result) = channel();
    let number = stream.0 as usize;
    std::thread::spawn(move || done.send(hip!(hipStreamSynchronize(number as _))));
    result.recv_timeout(Duration::from_secs(30)).expect("the wait ends")
}

/// A word that kernels count in and the host reads meanwhile.
struct Count(*mut c_void);

impl Count {
    fn new() -> Self {
        let mut memory = null_mut();
        assert_eq!(hip!(hipHostMalloc(&mut memory, 4, 0)), OK);
        let count = Self(memory);
        count.word().store(0, Ordering::Release);
        count
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the memory is there until this is dropped, and everybody accesses it atomically.
        unsafe { AtomicU32::from_ptr(self.0.cast()) }
    }

    fn assert_still(&self) {
        let seen = self.word().load(Ordering::Acquire);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(self.word().load(Ordering::Acquire), seen, "a kernel of the failed stream still runs");
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        assert_eq!(hip!(hipHostFree(self.0)), OK);
    }
}

/// A node without dependencies.
fn add_kernel(graph: hipGraph_t, kernel: hipFunction_t, arguments: &mut [*mut c_void]) {
    let one = dim3 { x: 1, y: 1, z: 1 };
    let params = hipKernelNodeParams {
        blockDim: one,
        func: kernel.cast(),
        gridDim: one,
        kernelParams: arguments.as_mut_ptr(),
        ..hipKernelNodeParams::default()
    };
    let mut node = null_mut();
    assert_eq!(hip!(hipGraphAddKernelNode(&mut node, graph, null(), 0, &params)), OK);
}

/// Launches a graph with concurrent kernels: one counts, one traps. With `lanes`, there is a copy as well,
/// which needs further queues.
fn fault_beside_a_kernel(lanes: bool) {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let kernels = Kernels::load();
    let (stream, count, memory) = (Stream::new(NON_BLOCKING), Count::new(), Memory::new(8192));
    let (mut graph, mut exec) = (null_mut(), null_mut());
    assert_eq!(hip!(hipGraphCreate(&mut graph, 0)), OK);
    let (mut pointer, mut rounds) = (count.0, ROUNDS);
    add_kernel(graph, kernels.get("count_up"), arguments![pointer, rounds]);
    add_kernel(graph, kernels.get("stop_after"), arguments![pointer]);
    if lanes {
        let mut node = null_mut();
        let (to, kind) = (memory.pointer.wrapping_byte_add(4096), hipMemcpyKind::hipMemcpyDeviceToDevice);
        assert_eq!(
            hip!(hipGraphAddMemcpyNode1D(&mut node, graph, null(), 0, to, memory.pointer, 4096, kind)),
            OK
        );
    }
    assert_eq!(hip!(hipGraphInstantiateWithFlags(&mut exec, graph, 0)), OK);
    // The failure may be noticed before all is submitted.
    let launched = hip!(hipGraphLaunch(exec, stream.0));
    assert!([OK, E::hipErrorLaunchFailure].contains(&launched), "{launched:?}");
    assert_eq!(wait(&stream), E::hipErrorLaunchFailure);
    assert_ne!(count.word().load(Ordering::Acquire), 0, "both have run");
    count.assert_still();
    assert!(stream.report().contains("stop_after"), "{}", stream.report());
    assert_eq!(hip!(hipGraphExecDestroy(exec)), OK);
    assert_eq!(hip!(hipGraphDestroy(graph)), OK);
}

#[test]
fn a_kernel_beside_the_one_that_faults_has_ended() {
    fault_beside_a_kernel(false);
}

#[test]
fn a_kernel_on_another_lane_than_the_one_that_faults_has_ended() {
    fault_beside_a_kernel(true);
}

#[test]
fn kernels_behind_a_bad_call_to_the_host_do_not_run_on() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let (kernels, hostile) = (Kernels::load(), Kernels::hostile());
    let (stream, other, event) = (Stream::new(NON_BLOCKING), Stream::new(NON_BLOCKING), Event::new());
    let (count, out) = (Count::new(), Memory::of(&[0u64; 2]));
    // A function that the program has not registered.
    let (mut function, mut answer) = (0x1000u64, out.pointer);
    let (mut pointer, mut rounds) = (count.0, ROUNDS);
    assert_eq!(launch(hostile.get("call"), [1; 3], [1; 3], 0, stream.0, arguments![function, answer]), OK);
    // The failure may be noticed before all is submitted.
    let counts = launch(kernels.get("count_up"), [1; 3], [1; 3], 0, stream.0, arguments![pointer, rounds]);
    let recorded = hip!(hipEventRecord(event.0, stream.0));
    assert!([counts, recorded].iter().all(|&code| code == OK || code == E::hipErrorLaunchFailure));
    assert_eq!(hip!(hipStreamWaitEvent(other.0, event.0, 0)), OK);
    assert_eq!(launch(kernels.get("empty"), [1; 3], [1; 3], 0, other.0, &mut []), OK);
    assert_eq!(wait(&stream), E::hipErrorLaunchFailure);
    count.assert_still();
    assert_eq!(wait(&other), OK);
}
