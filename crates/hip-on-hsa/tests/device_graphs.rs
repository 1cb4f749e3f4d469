//! Graphs on a device, against the same computed by plain Rust.

mod support;

use std::ffi::c_void;
use std::ptr::null_mut;

use hip_sys::{hipGraph_t, hipGraphExec_t, hipMemcpyKind, hipStream_t, hipStreamCaptureMode};
use support::{Event, Kernels, Memory, OK, Stream, arguments, hip, launch, turn};

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
