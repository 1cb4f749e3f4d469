//! Graphs on a device, compared with the same computation in plain Rust.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hip_sys::{
    dim3, hipExtent, hipGraph_t, hipGraphExec_t, hipGraphExecUpdateResult, hipKernelNodeParams,
    hipLaunchAttributeID, hipLaunchAttributeValue, hipMemcpy3DParms, hipMemcpyKind, hipPitchedPtr, hipPos,
    hipStream_t, hipStreamCaptureMode,
};
use test_skip::{Lack, skip};

use crate::support::{
    E, Event, Kernels, Memory, OK, Printed, Stream, arguments, hip, is_virtual, launch, properties, turn,
};

const NON_BLOCKING: u32 = hip_sys::hipStreamNonBlocking;

/// Captures what `work` submits to the stream.
fn capture(stream: &Stream, work: impl FnOnce()) -> hipGraph_t {
    let mode = hipStreamCaptureMode::hipStreamCaptureModeGlobal;
    assert_eq!(hip!(hipStreamBeginCapture(stream.0, mode)), OK);
    work();
    let mut graph = null_mut();
    assert_eq!(hip!(hipStreamEndCapture(stream.0, &mut graph)), OK);
    graph
}

fn instantiate(graph: hipGraph_t) -> hipGraphExec_t {
    let mut exec = null_mut();
    assert_eq!(hip!(hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0)), OK);
    exec
}

fn run(exec: hipGraphExec_t, stream: &Stream) {
    assert_eq!(hip!(hipGraphLaunch(exec, stream.0)), OK);
    assert_eq!(stream.wait(), OK);
}

fn end(graph: hipGraph_t, exec: hipGraphExec_t) {
    assert_eq!(hip!(hipGraphExecDestroy(exec)), OK);
    assert_eq!(hip!(hipGraphDestroy(graph)), OK);
}

/// Enqueues `y += a * x`.
fn saxpy(kernels: &Kernels, a: f32, x: *mut c_void, y: *mut c_void, count: u32, stream: hipStream_t) {
    let (mut a, mut x, mut y, mut n) = (a, x, y, count);
    let blocks = [count.div_ceil(128), 1, 1];
    let function = kernels.get("saxpy");
    assert_eq!(launch(function, blocks, [128, 1, 1], 0, stream, arguments![a, x, y, n]), OK);
}

#[test]
fn a_captured_pipeline_computes_the_same_with_each_launch() {
    let _turn = turn();
    let kernels = Kernels::load();
    let stream = Stream::new(NON_BLOCKING);
    const COUNT: usize = 5000;
    let mut input: Vec<f32> = (0..COUNT).map(|i| i as f32).collect();
    let mut output = vec![0f32; COUNT];
    let (x, y) = (Memory::new(4 * COUNT), Memory::new(4 * COUNT));
    let (from, to) = (input.as_mut_ptr(), output.as_mut_ptr());
    let graph = capture(&stream, || {
        let (kind, bytes) = (hipMemcpyKind::hipMemcpyDefault, 4 * COUNT);
        assert_eq!(hip!(hipMemcpyAsync(x.pointer, from.cast(), bytes, kind, stream.0)), OK);
        assert_eq!(hip!(hipMemsetD32Async(y.pointer, 1f32.to_bits() as i32, COUNT, stream.0)), OK);
        for a in [2.0, 3.0, 4.0] {
            saxpy(&kernels, a, x.pointer, y.pointer, COUNT as u32, stream.0);
        }
        assert_eq!(hip!(hipMemcpyAsync(to.cast(), y.pointer, bytes, kind, stream.0)), OK);
    });
    let exec = instantiate(graph);
    for round in 1..=4 {
        for (i, value) in input.iter_mut().enumerate() {
            *value = (i * round) as f32;
        }
        run(exec, &stream);
        for (i, value) in output.iter().enumerate() {
            assert_eq!(*value, 1.0 + 9.0 * (i * round) as f32, "element {i} of round {round}");
        }
    }
    end(graph, exec);
}

#[test]
fn forked_branches_are_joined_before_what_follows() {
    let _turn = turn();
    let kernels = Kernels::load();
    let (stream, side) = (Stream::new(NON_BLOCKING), Stream::new(NON_BLOCKING));
    const COUNT: usize = 1000;
    let x = Memory::of(&vec![1f32; COUNT]);
    let [a, b, c] = [0, 1, 2].map(|_| Memory::of(&vec![0f32; COUNT]));
    let (fork, join) = (Event::new(), Event::new());
    let n = COUNT as u32;
    let graph = capture(&stream, || {
        saxpy(&kernels, 1.0, x.pointer, a.pointer, n, stream.0);
        fork.record(&stream);
        assert_eq!(hip!(hipStreamWaitEvent(side.0, fork.0, 0)), OK);
        saxpy(&kernels, 2.0, a.pointer, b.pointer, n, side.0);
        saxpy(&kernels, 3.0, a.pointer, c.pointer, n, stream.0);
        join.record(&side);
        assert_eq!(hip!(hipStreamWaitEvent(stream.0, join.0, 0)), OK);
        saxpy(&kernels, 10.0, b.pointer, c.pointer, n, stream.0);
    });
    let exec = instantiate(graph);
    let (mut ha, mut hb, mut hc) = (0f32, 0f32, 0f32);
    for _ in 0..10 {
        assert_eq!(hip!(hipGraphLaunch(exec, stream.0)), OK);
        ha += 1.0;
        hb += 2.0 * ha;
        hc += 3.0 * ha;
        hc += 10.0 * hb;
    }
    assert_eq!(stream.wait(), OK);
    assert_eq!(a.read::<f32>(COUNT), vec![ha; COUNT]);
    assert_eq!(b.read::<f32>(COUNT), vec![hb; COUNT]);
    assert_eq!(c.read::<f32>(COUNT), vec![hc; COUNT]);
    end(graph, exec);
}

#[test]
fn a_graph_of_many_kernels_runs_thousands_of_them() {
    let _turn = turn();
    let kernels = Kernels::load();
    let stream = Stream::new(NON_BLOCKING);
    let (x, y) = (Memory::of(&[1f32; 64]), Memory::of(&[0f32; 64]));
    let graph = capture(&stream, || {
        for _ in 0..300 {
            saxpy(&kernels, 1.0, x.pointer, y.pointer, 64, stream.0);
        }
    });
    let exec = instantiate(graph);
    for _ in 0..10 {
        assert_eq!(hip!(hipGraphLaunch(exec, stream.0)), OK);
    }
    assert_eq!(stream.wait(), OK);
    assert_eq!(y.read::<f32>(64), [3000.0; 64]);
    end(graph, exec);
}

#[test]
fn an_updated_graph_runs_the_new_arguments() {
    let _turn = turn();
    let kernels = Kernels::load();
    let stream = Stream::new(NON_BLOCKING);
    const COUNT: u32 = 256;
    let x = Memory::of(&[1f32; COUNT as usize]);
    let y = Memory::of(&[0f32; COUNT as usize]);
    let with = |a: f32| capture(&stream, || saxpy(&kernels, a, x.pointer, y.pointer, COUNT, stream.0));
    let graph = with(1.0);
    let exec = instantiate(graph);
    let mut expected = 0f32;
    for a in [2.0f32, 4.0, 8.0] {
        let other = with(a);
        let mut outcome = hipGraphExecUpdateResult::hipGraphExecUpdateError;
        let mut node = null_mut();
        assert_eq!(hip!(hipGraphExecUpdate(exec, other, &mut node, &mut outcome)), OK);
        assert_eq!(hip!(hipGraphDestroy(other)), OK);
        for _ in 0..3 {
            assert_eq!(hip!(hipGraphLaunch(exec, stream.0)), OK);
            expected += a;
        }
    }
    assert_eq!(stream.wait(), OK);
    assert_eq!(y.read::<f32>(COUNT as usize), [expected; COUNT as usize]);
    end(graph, exec);
}

/// Host memory that the device can access, as atomic words of 0.
struct Words(*mut c_void, usize);

impl Words {
    fn new(count: usize) -> Self {
        let mut pointer = null_mut();
        assert_eq!(hip!(hipHostMalloc(&mut pointer, 4 * count, 0)), OK);
        let words = Self(pointer, count);
        words.get().iter().for_each(|word| word.store(0, Ordering::Release));
        words
    }

    fn get(&self) -> &[AtomicU32] {
        // SAFETY: the memory has as many words, and everybody uses them atomically.
        unsafe { std::slice::from_raw_parts(self.0.cast(), self.1) }
    }

    fn at(&self, index: usize) -> *mut c_void {
        (&raw const self.get()[index]).cast_mut().cast()
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        assert_eq!(hip!(hipHostFree(self.0)), OK);
    }
}

/// A node with the kernel `meet`.
fn meet(graph: hipGraph_t, kernels: &Kernels, places: [*mut c_void; 3]) {
    let [mut here, mut there, mut met] = places;
    let list: &mut [*mut c_void] = arguments![here, there, met];
    let one = dim3 { x: 1, y: 1, z: 1 };
    let params = hipKernelNodeParams {
        blockDim: one,
        func: kernels.get("meet").cast(),
        gridDim: one,
        kernelParams: list.as_mut_ptr(),
        ..hipKernelNodeParams::default()
    };
    let mut node = null_mut();
    assert_eq!(hip!(hipGraphAddKernelNode(&mut node, graph, null(), 0, &params)), OK);
}

#[test]
fn a_kernel_and_a_host_function_of_one_level_can_wait_for_each_other() {
    let _turn = turn();
    unsafe extern "C" fn answer(data: *mut c_void) {
        // SAFETY: the data are the words, which live until the graph has run.
        let words = unsafe { &*data.cast::<Words>() }.get();
        let end = Instant::now() + Duration::from_secs(10);
        while words[0].load(Ordering::Acquire) == 0 && Instant::now() < end {
            std::thread::yield_now();
        }
        words[3].store(words[0].load(Ordering::Acquire), Ordering::Release);
        words[1].store(1, Ordering::Release);
    }
    let kernels = Kernels::load();
    let stream = Stream::new(NON_BLOCKING);
    let words = Words::new(4);
    let (mut graph, mut node) = (null_mut(), null_mut());
    assert_eq!(hip!(hipGraphCreate(&mut graph, 0)), OK);
    let params =
        hip_sys::hipHostNodeParams { fn_: Some(answer), userData: (&raw const words).cast_mut().cast() };
    assert_eq!(hip!(hipGraphAddHostNode(&mut node, graph, null(), 0, &params)), OK);
    meet(graph, &kernels, [words.at(0), words.at(1), words.at(2)]);
    let exec = instantiate(graph);
    run(exec, &stream);
    let seen: Vec<u32> = words.get().iter().map(|word| word.load(Ordering::Acquire)).collect();
    assert_eq!(seen, [1; 4]);
    end(graph, exec);
}

#[test]
fn kernels_of_one_level_can_wait_for_each_other() {
    let _turn = turn();
    let kernels = Kernels::load();
    let stream = Stream::new(NON_BLOCKING);
    // In a ring: each waits for the next.
    const COUNT: usize = 4;
    let words = Words::new(2 * COUNT);
    let mut graph = null_mut();
    assert_eq!(hip!(hipGraphCreate(&mut graph, 0)), OK);
    for index in 0..COUNT {
        let next = (index + 1) % COUNT;
        meet(graph, &kernels, [words.at(index), words.at(next), words.at(COUNT + index)]);
    }
    let exec = instantiate(graph);
    for _ in 0..3 {
        words.get().iter().for_each(|word| word.store(0, Ordering::Release));
        run(exec, &stream);
        let seen: Vec<u32> = words.get().iter().map(|word| word.load(Ordering::Acquire)).collect();
        assert_eq!(seen, [1; 2 * COUNT]);
    }
    end(graph, exec);
}

#[test]
fn memory_of_a_graph_is_there_for_its_kernels() {
    let _turn = turn();
    let kernels = Kernels::load();
    let stream = Stream::new(NON_BLOCKING);
    const COUNT: usize = 3000;
    let values: Vec<f32> = (0..COUNT).map(|i| i as f32).collect();
    let (x, y) = (Memory::of(&values), Memory::of(&[0f32; COUNT]));
    let graph = capture(&stream, || {
        let mut middle = null_mut();
        assert_eq!(hip!(hipMallocAsync(&mut middle, 4 * COUNT, stream.0)), OK);
        assert_eq!(hip!(hipMemsetAsync(middle, 0, 4 * COUNT, stream.0)), OK);
        saxpy(&kernels, 2.0, x.pointer, middle, COUNT as u32, stream.0);
        saxpy(&kernels, 3.0, middle, y.pointer, COUNT as u32, stream.0);
        assert_eq!(hip!(hipFreeAsync(middle, stream.0)), OK);
    });
    let exec = instantiate(graph);
    for _ in 0..3 {
        run(exec, &stream);
    }
    let expected: Vec<f32> = values.iter().map(|value| 18.0 * value).collect();
    assert_eq!(y.read::<f32>(COUNT), expected);
    end(graph, exec);
}

#[test]
fn a_box_is_copied_between_pitched_places() {
    let _turn = turn();
    let stream = Stream::new(NON_BLOCKING);
    // 4 x 3 x 2 bytes out of 8 x 5 x 3 at (1, 2, 1), into 6 x 4 x 2 at the start.
    let source: Vec<u8> = (0..8 * 5 * 3).map(|i| i as u8).collect();
    let (from, to) = (Memory::of(&source), Memory::of(&[0xffu8; 6 * 4 * 2]));
    let params = hipMemcpy3DParms {
        srcPos: hipPos { x: 1, y: 2, z: 1 },
        srcPtr: hipPitchedPtr { ptr: from.pointer, pitch: 8, xsize: 8, ysize: 5 },
        dstPtr: hipPitchedPtr { ptr: to.pointer, pitch: 6, xsize: 6, ysize: 4 },
        extent: hipExtent { width: 4, height: 3, depth: 2 },
        kind: hipMemcpyKind::hipMemcpyDeviceToDevice,
        ..hipMemcpy3DParms::default()
    };
    let (mut graph, mut node) = (null_mut(), null_mut());
    assert_eq!(hip!(hipGraphCreate(&mut graph, 0)), OK);
    assert_eq!(hip!(hipGraphAddMemcpyNode(&mut node, graph, null(), 0, &params)), OK);
    let exec = instantiate(graph);
    run(exec, &stream);
    let mut expected = [0xffu8; 6 * 4 * 2];
    for z in 0..2 {
        for y in 0..3 {
            for x in 0..4 {
                expected[(z * 4 + y) * 6 + x] = source[((z + 1) * 5 + y + 2) * 8 + x + 1];
            }
        }
    }
    assert_eq!(to.read::<u8>(expected.len()), expected);
    end(graph, exec);
}

#[test]
fn kernels_of_a_graph_have_the_services_of_their_stream() {
    let _turn = turn();
    let kernels = Kernels::services(5, &[]);
    let (stream, other) = (Stream::new(NON_BLOCKING), Stream::new(NON_BLOCKING));
    let out = Memory::of(&[0i32; 2]);
    let mut pointer = out.pointer;
    let graph = capture(&stream, || {
        let function = kernels.get("returned");
        assert_eq!(launch(function, [1; 3], [2, 1, 1], 0, stream.0, arguments![pointer]), OK);
    });
    let exec = instantiate(graph);
    let (printed, _) = Printed::by(|| {
        run(exec, &stream);
        run(exec, &other);
    });
    let mut lines: Vec<_> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["even", "even", "odd", "odd"]);
    end(graph, exec);
}

#[test]
fn a_cooperative_node_synchronises_with_each_launch() {
    let _turn = turn();
    if properties().cooperativeLaunch == 0 {
        skip(Lack::Device, "the device has no cooperative launches");
        return;
    }
    let kernels = Kernels::services(5, &[]);
    let stream = Stream::new(NON_BLOCKING);
    let (values, failures) = (Memory::of(&[0u32; 3]), Memory::of(&[0u32]));
    let (mut rounds, mut pv, mut pf) = (2u32, values.pointer, failures.pointer);
    let one = dim3 { x: 1, y: 1, z: 1 };
    let list: &mut [*mut c_void] = arguments![rounds, pv, pf];
    let params = hipKernelNodeParams {
        blockDim: dim3 { x: 128, ..one },
        func: kernels.get("meet").cast(),
        gridDim: dim3 { x: 3, ..one },
        kernelParams: list.as_mut_ptr(),
        ..hipKernelNodeParams::default()
    };
    let (mut graph, mut node) = (null_mut(), null_mut());
    assert_eq!(hip!(hipGraphCreate(&mut graph, 0)), OK);
    assert_eq!(hip!(hipGraphAddKernelNode(&mut node, graph, null(), 0, &params)), OK);
    let value = hipLaunchAttributeValue { cooperative: 1 };
    let attribute = hipLaunchAttributeID::hipLaunchAttributeCooperative;
    assert_eq!(hip!(hipGraphKernelNodeSetAttribute(node, attribute, &value)), OK);
    let exec = instantiate(graph);
    for _ in 0..3 {
        values.write(&[0u32; 3]);
        run(exec, &stream);
        assert_eq!(failures.read::<u32>(1), [0]);
        assert_eq!(values.read::<u32>(3), [2; 3]);
    }
    end(graph, exec);
}

#[test]
fn a_fault_in_a_graph_fails_the_stream_and_names_the_kernel() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let kernels = Kernels::load();
    let (stream, other) = (Stream::new(NON_BLOCKING), Stream::new(NON_BLOCKING));
    let (x, y) = (Memory::of(&[1f32; 4]), Memory::of(&[0f32; 4]));
    let mut wild = 0x1000u64;
    let graph = capture(&stream, || {
        saxpy(&kernels, 1.0, x.pointer, y.pointer, 4, stream.0);
        assert_eq!(launch(kernels.get("poke"), [1; 3], [1; 3], 0, stream.0, arguments![wild]), OK);
        saxpy(&kernels, 1.0, x.pointer, y.pointer, 4, stream.0);
    });
    let exec = instantiate(graph);
    assert_eq!(hip!(hipGraphLaunch(exec, stream.0)), OK);
    assert_eq!(stream.wait(), E::hipErrorIllegalAddress);
    assert!(stream.report().contains("poke"), "{}", stream.report());
    assert_eq!(hip!(hipGraphLaunch(exec, stream.0)), E::hipErrorIllegalAddress);
    saxpy(&kernels, 1.0, x.pointer, y.pointer, 4, other.0);
    assert_eq!(other.wait(), OK);
    assert_eq!(y.read::<f32>(4), [2.0; 4], "one of the graph's, one of the other stream's");
    end(graph, exec);
}

#[test]
fn a_fault_of_a_kernel_beside_others_is_reported_once() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let kernels = Kernels::load();
    let (stream, side) = (Stream::new(NON_BLOCKING), Stream::new(NON_BLOCKING));
    let (x, y) = (Memory::of(&[1f32; 4]), Memory::of(&[0f32; 4]));
    let (fork, join) = (Event::new(), Event::new());
    let mut wild = 0x1000u64;
    let graph = capture(&stream, || {
        fork.record(&stream);
        assert_eq!(hip!(hipStreamWaitEvent(side.0, fork.0, 0)), OK);
        assert_eq!(launch(kernels.get("poke"), [1; 3], [1; 3], 0, side.0, arguments![wild]), OK);
        assert_eq!(launch(kernels.get("empty"), [1; 3], [1; 3], 0, stream.0, &mut []), OK);
        join.record(&side);
        assert_eq!(hip!(hipStreamWaitEvent(stream.0, join.0, 0)), OK);
        saxpy(&kernels, 1.0, x.pointer, y.pointer, 4, stream.0);
    });
    let exec = instantiate(graph);
    assert_eq!(hip!(hipGraphLaunch(exec, stream.0)), OK);
    assert_eq!(stream.wait(), E::hipErrorIllegalAddress);
    assert!(stream.report().contains("poke"), "{}", stream.report());
    assert_eq!(hip!(hipDeviceSynchronize()), OK);
    assert_eq!(y.read::<f32>(4), [0.0; 4]);
    end(graph, exec);
}
