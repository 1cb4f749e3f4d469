//! Graphs on a device: capturing, building, launching and changing them, and what they keep alive.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hip::graph::{Node, NodeWork};
use hip::{
    Device, DeviceAddress, DeviceBuffer, DeviceSlice, DeviceSliceMut, Error, Event, Function, Graph,
    GraphError, HostBuffer, Launch, SharedHostBuffer, Stream,
};
use test_skip::{Lack, skip};

use crate::common;

const N: usize = 1000;

fn saxpy<'a>(
    function: &'a Function,
    stream: &'a Stream,
    a: f32,
    x: impl Into<DeviceSlice<'a, f32>>,
    y: impl Into<DeviceSliceMut<'a, f32>>,
) -> Launch<'a> {
    function.launch(stream).elements(N, 256).arg(N as u32).arg(a).arg(x.into()).arg(y.into())
}

fn buffers(stream: &Stream) -> (DeviceBuffer<f32>, DeviceBuffer<f32>) {
    (DeviceBuffer::zeroed(stream, N).unwrap(), DeviceBuffer::zeroed(stream, N).unwrap())
}

fn graph_error(result: hip::Result<()>) -> GraphError {
    match result {
        Err(Error::Graph(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_captured_runs_each_time_it_is_launched_and_not_before() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (mut x, mut y) = buffers(&stream);
    let graph = device
        .capture(|stream| {
            x.fill(stream, 2.0)?;
            // SAFETY: both buffers have as many elements as the kernel accesses.
            unsafe { saxpy(&function, stream, 3.0, &x, &mut y).enqueue() }
        })
        .unwrap();
    assert_eq!(graph.len(), 2);
    assert_eq!(y.to_vec(&stream).unwrap(), [0.0; N]);
    let exec = graph.instantiate().unwrap();
    drop(graph);
    for launches in 1..=3 {
        exec.launch(&stream).unwrap();
        assert_eq!(y.to_vec(&stream).unwrap(), [6.0 * launches as f32; N]);
    }
    assert_eq!(x.to_vec(&stream).unwrap(), [2.0; N]);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn buffers_and_modules_live_as_long_as_a_graph_uses_them() {
    let device = common::device();
    let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
    let mut result = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    let exec = {
        let function = common::module(&device).function("saxpy").unwrap();
        let (mut x, mut y) = buffers(&stream);
        let graph = device.capture(|stream| {
            x.fill(stream, 1.0)?;
            y.fill(stream, 0.5)?;
            // SAFETY: both buffers have as many elements as the kernel accesses.
            unsafe { saxpy(&function, stream, 2.0, &x, &mut y).enqueue()? };
            result.copy_from(stream, &y)
        });
        graph.unwrap().instantiate().unwrap()
    };
    // If the graph did not keep its memory, these buffers would reuse it.
    let others: Vec<_> = (0..8).map(|_| DeviceBuffer::<f32>::zeroed(&other, N).unwrap()).collect();
    for stream in [&stream, &other] {
        result.fill(stream, 0.0).unwrap();
        exec.launch(stream).unwrap();
        assert_eq!(result.to_vec(stream).unwrap(), [2.5; N]);
    }
    drop(exec);
    for buffer in others {
        assert_eq!(buffer.to_vec(&other).unwrap(), [0.0; N]);
    }
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn streams_are_ordered_with_graphs_by_the_buffers_that_they_share() {
    let device = common::device();
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let module = common::module(&device);
    let (slow, add_one) = (module.function("slow").unwrap(), module.function("add_one").unwrap());
    let mut data = DeviceBuffer::<u32>::zeroed(&a, 64).unwrap();
    let one = |stream: &Stream, data: &mut DeviceBuffer<u32>| {
        // SAFETY: the buffer has as many elements as the kernel accesses.
        unsafe { add_one.launch(stream).grid(1).block(64).arg(64_u32).arg(data).enqueue() }
    };
    let exec = device.capture(|stream| one(stream, &mut data)).unwrap().instantiate().unwrap();
    // Sets the elements to their indices, late.
    let launch = slow.launch(&a).grid(1).block(64).arg(20_000_u32).arg(&mut data);
    // SAFETY: as above.
    unsafe { launch.enqueue().unwrap() };
    data.fill(&a, 5).unwrap();
    for _ in 0..10 {
        exec.launch(&b).unwrap();
        one(&a, &mut data).unwrap();
        exec.launch(&a).unwrap();
    }
    assert_eq!(data.to_vec(&b).unwrap(), [35; 64]);
}

#[test]
fn nodes_that_share_memory_run_in_the_order_they_were_added() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (mut x, mut y) = buffers(&stream);
    let mut copy = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    assert!(graph.is_empty());
    graph.add_fill(&mut x, 1.5, &[]).unwrap();
    graph.add_fill(&mut y, 1.0, &[]).unwrap();
    // SAFETY: both buffers have as many elements as the kernel accesses.
    let kernel = unsafe { graph.add_kernel(saxpy(&function, &stream, 2.0, &x, &mut y), &[]).unwrap() };
    graph.add_copy(&mut copy, &y, &[]).unwrap();
    graph.add_fill(&mut y, 0.0, &[]).unwrap();
    let join = graph.add_empty(&[kernel]).unwrap();
    assert_eq!(graph.len(), 6);
    let dot = graph.to_dot().unwrap();
    assert_eq!((dot.matches("label=").count(), dot.matches("->").count()), (6, 5), "{dot}");
    assert!(dot.contains("Kernel") && dot.contains("Memcpy") && dot.contains("Memset"), "{dot}");
    let first = graph.add_empty(&[]).unwrap();
    graph.add_dependency(first, join).unwrap();
    assert_eq!(graph.to_dot().unwrap().matches("->").count(), 6);
    let exec = graph.instantiate().unwrap();
    for _ in 0..2 {
        exec.launch(&stream).unwrap();
        assert_eq!(copy.to_vec(&stream).unwrap(), [4.0; N]);
        assert_eq!(y.to_vec(&stream).unwrap(), [0.0; N]);
    }
}

#[test]
fn forks_run_in_order_where_they_conflict_and_are_joined() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (mut x, mut y) = buffers(&stream);
    let mut z = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    let graph = device.capture(|origin| {
        let (left, right) = (origin.fork()?, origin.fork()?);
        x.fill(&left, 1.0)?;
        y.fill(&right, 2.0)?;
        z.fill(origin, 3.0)?;
        // SAFETY: all buffers have as many elements as the kernel accesses.
        unsafe {
            // Reads memory that the left fork has written, and writes memory that the right one has written.
            saxpy(&function, origin, 10.0, &x, &mut y).enqueue()?;
            saxpy(&function, &right, 1.0, &y, &mut z).enqueue()?;
        }
        // Only the end of the capture waits for this.
        x.fill(&left, 4.0)
    });
    let exec = graph.unwrap().instantiate().unwrap();
    for _ in 0..3 {
        exec.launch(&stream).unwrap();
        assert_eq!(z.to_vec(&stream).unwrap(), [15.0; N]);
        assert_eq!(x.to_vec(&stream).unwrap(), [4.0; N]);
    }
}

#[test]
fn what_cannot_be_captured_is_refused_and_leaves_the_capture_whole() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let (mut x, mut y) = buffers(&stream);
    let event = Event::new(&device).unwrap();
    let host = || HostBuffer::<f32>::zeroed(&device, N).unwrap();
    let mut leaked = None;
    let graph = device
        .capture(|captured| {
            x.fill(captured, 1.0)?;
            for refused in [
                captured.synchronize(),
                captured.is_done().map(drop),
                captured.record().map(drop),
                captured.wait_event(&event),
                event.record(captured),
                captured.host_function(|| ()),
                x.to_vec(captured).map(drop),
                y.copy_from_host(captured, &[0.0; N]),
                y.upload(captured, host()).map(drop),
                x.download(captured, host()).map(drop),
                captured.set_counters(true),
            ] {
                assert!(
                    matches!(
                        refused,
                        Err(Error::Graph(GraphError::NotCapturable)
                            | Error::Hip { code: hip::hip_sys::hipError_t::hipErrorNotSupported, .. })
                    ),
                    "{refused:?}"
                );
            }
            for refused in
                [captured.wait_stream(&stream), stream.wait_stream(captured), stream.fork().map(drop)]
            {
                assert_eq!(graph_error(refused), GraphError::OtherStream);
            }
            std::thread::scope(|scope| {
                let fill = || y.fill(captured, 9.0);
                assert_eq!(graph_error(scope.spawn(fill).join().unwrap()), GraphError::OtherThread);
            });
            // Other streams work as usual.
            y.fill(&stream, 7.0)?;
            assert_eq!(y.to_vec(&stream)?, [7.0; N]);
            assert!(matches!(captured.completion(), _));
            leaked = Some(captured.fork()?);
            x.fill(captured, 2.0)
        })
        .unwrap();
    let leaked = leaked.unwrap();
    assert_eq!(graph_error(y.fill(&leaked, 1.0)), GraphError::CaptureOver);
    assert_eq!(graph_error(leaked.fork().map(drop)), GraphError::CaptureOver);
    assert_eq!(graph_error(leaked.synchronize()), GraphError::NotCapturable);
    graph.instantiate().unwrap().launch(&stream).unwrap();
    assert_eq!(x.to_vec(&stream).unwrap(), [2.0; N]);
    assert_eq!(y.to_vec(&stream).unwrap(), [7.0; N]);
    drop(leaked);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn captures_that_fail_or_panic_end_and_leave_nothing_behind() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let (mut x, _) = buffers(&stream);
    let failed = device.capture(|stream| {
        x.fill(stream, 1.0)?;
        Err(Error::HostFunction)
    });
    assert!(matches!(failed, Err(Error::HostFunction)));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        device.capture(|stream| {
            let fork = stream.fork()?;
            x.fill(&fork, 1.0)?;
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err());
    let empty = device.capture(|_| Ok(())).unwrap();
    assert!(empty.is_empty());
    empty.instantiate().unwrap().launch(&stream).unwrap();
    x.fill(&stream, 3.0).unwrap();
    assert_eq!(x.to_vec(&stream).unwrap(), [3.0; N]);
    device.synchronize().unwrap();
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn memory_of_the_host_is_shared_with_a_graph_between_its_runs() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (mut x, mut y) = buffers(&stream);
    let input = SharedHostBuffer::new(HostBuffer::<f32>::zeroed(&device, N).unwrap());
    let output = SharedHostBuffer::new(HostBuffer::<f32>::zeroed(&device, N).unwrap());
    let mut graph = Graph::new(&device).unwrap();
    graph.add_upload(&mut x, &input, &[]).unwrap();
    graph.add_fill(&mut y, 1.0, &[]).unwrap();
    // SAFETY: both buffers have as many elements as the kernel accesses.
    unsafe { graph.add_kernel(saxpy(&function, &stream, 2.0, &x, &mut y), &[]).unwrap() };
    graph.add_download(&output, &y, &[]).unwrap();
    let exec = graph.instantiate().unwrap();
    for step in 0..5 {
        input.lock(|elements| elements.fill(step as f32)).unwrap();
        exec.launch(&stream).unwrap();
        output.lock(|elements| assert_eq!(*elements, [2.0 * step as f32 + 1.0; N])).unwrap();
    }
    input.lock(|_| assert_eq!(graph_error(exec.launch(&stream)), GraphError::HostBufferLocked)).unwrap();
    exec.launch(&stream).unwrap();
    // The graph keeps objects that the program drops, until its launches are done.
    drop((input, output.clone(), x, y, graph, exec));
    output.lock(|elements| assert_eq!(*elements, [9.0; N])).unwrap();
    let short = SharedHostBuffer::new(HostBuffer::<f32>::zeroed(&device, 3).unwrap());
    let mut buffer = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    assert!(matches!(graph.add_upload(&mut buffer, &short, &[]), Err(Error::LengthMismatch { .. })));
}

#[test]
fn host_functions_of_graphs_are_called_each_time_in_their_order() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let (calls, order) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let count = |calls: &Arc<AtomicU32>| {
        let calls = calls.clone();
        move || {
            calls.fetch_add(1, Ordering::SeqCst);
        }
    };
    let mut graph = device
        .capture(|stream| {
            let order = order.clone();
            stream.capture_host_function(move || order.store(1, Ordering::SeqCst))?;
            stream.fork()?.capture_host_function(count(&calls))
        })
        .unwrap();
    // Comes after everything that was captured.
    let seen = order.clone();
    graph
        .add_host_function(
            move || {
                seen.compare_exchange(1, 2, Ordering::SeqCst, Ordering::SeqCst).unwrap();
            },
            &[],
        )
        .unwrap();
    graph.add_host_function(count(&calls), &[]).unwrap();
    let exec = graph.instantiate().unwrap();
    for launches in 1..=3 {
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 2 * launches);
        assert_eq!(order.load(Ordering::SeqCst), 2);
    }
    assert_eq!(hip::host_function_failures(), 0);
    drop((graph, exec));
    assert_eq!(Arc::strong_count(&calls), 1);
}

#[test]
fn events_are_recorded_and_waited_for_in_graphs() {
    let device = common::device();
    let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
    let (mut x, mut y) = buffers(&stream);
    let (start, end) = (Event::new(&device).unwrap(), Event::new(&device).unwrap());
    let mut graph = Graph::new(&device).unwrap();
    let first = graph.add_event_record(&start, &[]).unwrap();
    let fill = graph.add_fill(&mut x, 1.0, &[first]).unwrap();
    graph.add_event_record(&end, &[fill]).unwrap();
    let exec = graph.instantiate().unwrap();
    assert!(matches!(end.elapsed_since(&start), Err(Error::EventNotRecorded { .. })));
    exec.launch(&stream).unwrap();
    end.elapsed_since(&start).unwrap();
    let mut waiting = Graph::new(&device).unwrap();
    let wait = waiting.add_event_wait(&end, &[]).unwrap();
    waiting.add_fill(&mut y, 2.0, &[wait]).unwrap();
    waiting.instantiate().unwrap().launch(&other).unwrap();
    assert_eq!(y.to_vec(&other).unwrap(), [2.0; N]);
}

#[test]
fn graphs_contain_graphs_and_are_cloned() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (x, mut y) = {
        let (mut x, y) = buffers(&stream);
        x.fill(&stream, 1.0).unwrap();
        (x, y)
    };
    let child = device.capture(|stream| {
        // SAFETY: both buffers have as many elements as the kernel accesses.
        unsafe { saxpy(&function, stream, 1.0, &x, &mut y).enqueue() }
    });
    let child = child.unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let first = graph.add_child(&child, &[]).unwrap();
    graph.add_child(&child, &[first]).unwrap();
    // After the children, which write memory that this reads.
    let mut copy = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    graph.add_copy(&mut copy, &y, &[]).unwrap();
    let mut clone = graph.try_clone().unwrap();
    let node = clone.add_empty(&[first]).unwrap();
    assert!(matches!(graph.add_empty(&[node]), Err(Error::Graph(GraphError::OtherGraph))));
    assert_eq!((graph.len(), clone.len()), (3, 4));
    drop(child);
    for (graph, expected) in [(&graph, 2.0), (&clone, 4.0)] {
        graph.instantiate().unwrap().launch(&stream).unwrap();
        assert_eq!(copy.to_vec(&stream).unwrap(), [expected; N]);
    }
}

#[test]
fn arguments_of_kernels_are_replaced_in_executable_graphs() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (mut x, mut y) = buffers(&stream);
    x.fill(&stream, 1.0).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&mut y, 0.0, &[]).unwrap();
    // SAFETY: both buffers have as many elements as the kernel accesses, here and below.
    let kernel = unsafe { graph.add_kernel(saxpy(&function, &stream, 2.0, &x, &mut y), &[]).unwrap() };
    let mut exec = graph.instantiate().unwrap();
    let mut z = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    // SAFETY: as above.
    unsafe { exec.set_kernel(kernel, saxpy(&function, &stream, 5.0, &x, &mut z)).unwrap() };
    exec.upload(&stream).unwrap();
    exec.launch(&stream).unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(y.to_vec(&stream).unwrap(), [0.0; N]);
    assert_eq!(z.to_vec(&stream).unwrap(), [10.0; N]);
    let launch = || function.launch(&stream).grid(1).block(1);
    let null = DeviceAddress::NULL;
    let full = || launch().arg(0_u32).arg(0_f32).arg(null).arg(null);
    // SAFETY: all of these are refused.
    unsafe {
        assert!(matches!(exec.set_kernel(kernel, launch()), Err(Error::Launch(_))));
        assert_eq!(graph_error(exec.set_kernel(fill, full())), GraphError::NotAKernel);
        let cooperative = graph_error(exec.set_kernel(kernel, full().cooperative()));
        assert_eq!(cooperative, GraphError::Cooperative { kernel: "saxpy".to_owned() });
        let other: Node = Graph::new(&device).unwrap().add_empty(&[]).unwrap();
        assert_eq!(graph_error(exec.set_kernel(other, full())), GraphError::OtherGraph);
    }
    exec.launch(&stream).unwrap();
    assert_eq!(z.to_vec(&stream).unwrap(), [15.0; N]);
}

#[test]
fn values_of_any_size_fill_memory_in_graphs_and_captures() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let value = [1.5_f64, -2.0, 1.5];
    let mut graph = Graph::new(&device).unwrap();
    let mut built = DeviceBuffer::<[f64; 3]>::zeroed(&stream, N).unwrap();
    let mut captured = DeviceBuffer::<[u8; 7]>::zeroed(&stream, N).unwrap();
    let mut copy = DeviceBuffer::<[f64; 3]>::zeroed(&stream, N - 10).unwrap();
    graph.add_fill(built.slice_mut(5..N - 5).unwrap(), value, &[]).unwrap();
    graph.add_copy(&mut copy, built.slice(5..N - 5).unwrap(), &[]).unwrap();
    let capture =
        device.capture(|stream| captured.slice_mut(1..)?.fill(stream, [1, 2, 3, 4, 5, 6, 7])).unwrap();
    graph.add_child(&capture, &[]).unwrap();
    graph.instantiate().unwrap().launch(&stream).unwrap();
    assert_eq!(copy.to_vec(&stream).unwrap(), [value; N - 10]);
    let expected = |index| if (5..N - 5).contains(&index) { value } else { [0.0; 3] };
    assert_eq!(built.to_vec(&stream).unwrap(), std::array::from_fn::<_, N, _>(expected));
    let captured = captured.to_vec(&stream).unwrap();
    assert_eq!(captured[0], [0; 7]);
    assert_eq!(captured[1..], [[1, 2, 3, 4, 5, 6, 7]; N - 1]);
}

#[test]
fn memory_that_a_graph_allocates_serves_its_nodes() {
    let device = common::device();
    if !device.table().has("hipGraphAddMemAllocNode") {
        skip(Lack::Device, format_args!("graphs of {device} allocate no memory"));
        return;
    }
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (mut x, mut y) = buffers(&stream);
    x.fill(&stream, 3.0).unwrap();
    device.trim_graph_memory().unwrap();
    device.reset_graph_memory_peaks().unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let (_, mut scratch) = graph.add_allocation::<f32>(N, &[]).unwrap();
    graph.add_fill(&mut scratch, 1.0, &[]).unwrap();
    // SAFETY: all of them have as many elements as the kernel accesses.
    let first = unsafe { graph.add_kernel(saxpy(&function, &stream, 2.0, &x, &mut scratch), &[]).unwrap() };
    // SAFETY: as above.
    unsafe { graph.add_kernel(saxpy(&function, &stream, 1.0, &scratch, &mut y), &[]).unwrap() };
    // SAFETY: nothing is launched.
    let outside = unsafe { saxpy(&function, &stream, 1.0, &scratch, &mut y).enqueue() };
    assert_eq!(graph_error(outside), GraphError::MemoryOfGraph);
    let (_, mut unused) = graph.add_allocation::<f32>(N, &[]).unwrap();
    graph.add_fill(&mut unused, 1.0, &[]).unwrap();
    let mut other = Graph::new(&device).unwrap();
    let (_, stranger) = other.add_allocation::<f32>(N, &[]).unwrap();
    assert_eq!(graph_error(graph.add_copy(&mut unused, &stranger, &[]).map(drop)), GraphError::MemoryOfGraph);
    assert_eq!(graph_error(graph.instantiate().map(drop)), GraphError::NotFreed { count: 2 });
    graph.add_free(scratch, &[]).unwrap();
    graph.add_free(unused, &[]).unwrap();
    let mut exec = graph.instantiate().unwrap();
    drop(graph);
    for launches in 1..=3 {
        exec.launch(&stream).unwrap();
        assert_eq!(y.to_vec(&stream).unwrap(), [7.0 * launches as f32; N]);
    }
    let memory = device.graph_memory().unwrap();
    assert!(memory.peak_used >= 4 * N as u64 && memory.reserved >= memory.used, "{memory:?}");
    // SAFETY: refused.
    let later = unsafe { exec.set_kernel(first, saxpy(&function, &stream, 1.0, &stranger, &mut y)) };
    assert_eq!(graph_error(later), GraphError::MemoryOfGraph);
    drop((exec, other, stranger));
    stream.synchronize().unwrap();
    // NVIDIA's driver counts it beyond the end of the last graph.
    if device.backend() != hip::Backend::Cuda {
        assert_eq!(device.graph_memory().unwrap().used, 0);
    }
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn nodes_of_executable_graphs_are_left_out_while_they_are_disabled() {
    let device = common::device();
    if !device.table().has("hipGraphNodeSetEnabled") {
        skip(Lack::Device, format_args!("graphs of {device} disable no nodes"));
        return;
    }
    let refused = common::has_known_fault(&device, "hipGraphNodeSetEnabled");
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (mut x, mut y) = buffers(&stream);
    let mut copy = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&mut x, 1.0, &[]).unwrap();
    // SAFETY: both buffers have as many elements as the kernel accesses.
    let kernel = unsafe { graph.add_kernel(saxpy(&function, &stream, 2.0, &x, &mut y), &[]).unwrap() };
    let copied = graph.add_copy(&mut copy, &y, &[]).unwrap();
    let empty = graph.add_empty(&[]).unwrap();
    let mut exec = graph.instantiate().unwrap();
    assert_eq!(graph_error(exec.set_enabled(empty, false)), GraphError::NotSwitchable);
    if refused {
        assert!(matches!(exec.set_enabled(kernel, false), Err(Error::KnownFault { .. })));
        return;
    }
    let expect = |exec: &hip::GraphExec, expected: [f32; 3]| {
        exec.launch(&stream).unwrap();
        let first = |buffer: &DeviceBuffer<f32>| buffer.to_vec(&stream).unwrap()[N - 1];
        assert_eq!([first(&x), first(&y), first(&copy)], expected);
    };
    for node in [fill, kernel, copied] {
        assert!(exec.is_enabled(node).unwrap());
        exec.set_enabled(node, false).unwrap();
        assert!(!exec.is_enabled(node).unwrap());
    }
    expect(&exec, [0.0, 0.0, 0.0]);
    exec.set_enabled(kernel, true).unwrap();
    expect(&exec, [0.0, 0.0, 0.0]);
    exec.set_enabled(fill, true).unwrap();
    expect(&exec, [1.0, 2.0, 0.0]);
    exec.set_enabled(copied, true).unwrap();
    exec.set_enabled(kernel, false).unwrap();
    expect(&exec, [1.0, 2.0, 2.0]);
    // The original graph is unchanged.
    expect(&graph.instantiate().unwrap(), [1.0, 4.0, 4.0]);
}

/// Whether kernels of graphs have attributes.
fn has_attributes(device: &Device) -> bool {
    let has = device.table().has("hipGraphKernelNodeSetAttribute");
    if !has {
        skip(Lack::Device, format_args!("nodes of {device} have no attributes"));
    }
    has
}

#[test]
fn kernels_have_priorities() {
    let device = common::device();
    if !has_attributes(&device) {
        return;
    }
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (x, mut y) = buffers(&stream);
    let mut graph = Graph::new(&device).unwrap();
    // SAFETY: both buffers have as many elements as the kernel accesses.
    let node = unsafe { graph.add_kernel(saxpy(&function, &stream, 2.0, &x, &mut y), &[]).unwrap() };
    let empty = graph.add_empty(&[]).unwrap();
    assert_eq!(graph_error(graph.set_kernel_priority(empty, 0)), GraphError::NotAKernel);
    let set = graph.set_kernel_priority(node, -1);
    if common::has_known_fault(&device, "hipGraphKernelNodeSetAttribute") {
        assert!(matches!(set, Err(Error::Hip { .. })), "{set:?}");
        return;
    }
    set.unwrap();
    assert_eq!(graph.kernel_priority(node).unwrap(), -1);
}

#[test]
fn cooperative_kernels_are_nodes_too() {
    let device = common::device();
    if !has_attributes(&device) {
        return;
    }
    if device.backend() == hip::Backend::Amd {
        // In 6.4 and 7.2, the kernel gets a null pointer for the data that grid synchronisation needs.
        skip(Lack::Device, "AMD's HIP launches cooperative nodes as any others");
        return;
    }
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("sum_of_blocks").unwrap();
    let blocks = 4;
    let mut values = DeviceBuffer::<u32>::zeroed(&stream, blocks as usize).unwrap();
    let mut sums = DeviceBuffer::<u32>::zeroed(&stream, blocks as usize).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let launch = function.launch(&stream).grid(blocks).block(64).cooperative();
    // SAFETY: both buffers have an element for each block.
    let node = unsafe { graph.add_kernel(launch.arg(&mut values).arg(&mut sums), &[]).unwrap() };
    // One attribute does not reset another.
    graph.set_kernel_priority(node, -1).unwrap();
    assert_eq!(graph.kernel_priority(node).unwrap(), -1);
    let mut exec = graph.instantiate().unwrap();
    for _ in 0..3 {
        sums.fill(&stream, 0).unwrap();
        exec.launch(&stream).unwrap();
        assert_eq!(sums.to_vec(&stream).unwrap(), [10; 4]);
    }
    let launch = function.launch(&stream).grid(blocks).block(64);
    // SAFETY: refused.
    let changed = unsafe { exec.set_kernel(node, launch.arg(&mut values).arg(&mut sums)) };
    assert_eq!(graph_error(changed), GraphError::Cooperative { kernel: "sum_of_blocks".to_owned() });
    let too_many = function.launch(&stream).grid(1 << 20).block(64).cooperative();
    // SAFETY: refused.
    let added = unsafe { graph.add_kernel(too_many.arg(&mut values).arg(&mut sums), &[]) };
    assert!(matches!(added, Err(Error::Launch(_))), "{added:?}");
}

#[test]
fn executable_graphs_become_others_that_are_like_them() {
    let device = common::device();
    if !device.table().has("hipGraphExecUpdate") {
        skip(Lack::Device, format_args!("{device} does not update executable graphs"));
        return;
    }
    let stream = device.stream().unwrap();
    let (mut x, mut y) = buffers(&stream);
    let mut exec = device.capture(|stream| x.fill(stream, 1.0)).unwrap().instantiate().unwrap();
    let next = device.capture(|stream| y.fill(stream, 2.0)).unwrap();
    exec.update(&next).unwrap();
    drop(next);
    exec.launch(&stream).unwrap();
    assert_eq!(x.to_vec(&stream).unwrap(), [0.0; N]);
    assert_eq!(y.to_vec(&stream).unwrap(), [2.0; N]);
    let longer = device.capture(|stream| {
        x.fill(stream, 1.0)?;
        x.fill(stream, 3.0)
    });
    let error = graph_error(exec.update(&longer.unwrap()));
    assert!(matches!(error, GraphError::Update { .. }), "{error}");
    y.fill(&stream, 0.0).unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(y.to_vec(&stream).unwrap(), [2.0; N]);
}

#[test]
fn nodes_say_what_they_do_level_by_level() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("saxpy").unwrap();
    let (mut x, mut y) = buffers(&stream);
    let mut z = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    let [x_at, y_at, z_at] = [x.address(), y.address(), z.address()];
    let graph = device.capture(|stream| {
        x.fill(stream, 2.0)?;
        let beside = stream.fork()?;
        z.fill(&beside, 1.0)?;
        // SAFETY: both buffers have as many elements as the kernel accesses.
        unsafe { saxpy(&function, stream, 3.0, &x, &mut y).enqueue()? };
        z.copy_from(stream, &y)
    });
    let nodes = graph.unwrap().describe().unwrap();
    let mut levels: Vec<usize> = nodes.iter().map(|node| node.level).collect();
    assert!(levels.is_sorted(), "{levels:?}");
    levels.dedup();
    assert_eq!(levels.len(), levels[levels.len() - 1] + 1, "none is left out: {levels:?}");
    let (mut fills, mut kernels, mut copies) = (Vec::new(), 0, 0);
    for node in &nodes {
        match &node.work {
            NodeWork::Memset { to, pattern, bytes } => {
                assert_eq!(*bytes, 4 * N);
                fills.push((*to, f32::from_le_bytes((**pattern).try_into().unwrap()), node.level));
            }
            NodeWork::Kernel { function: its, config, arguments } => {
                assert_eq!((its.name(), its.as_raw()), (function.name(), function.as_raw()));
                let blocks = N.div_ceil(256) as u32;
                assert_eq!((config.grid.0, config.block.0), ([blocks, 1, 1], [256, 1, 1]));
                assert!(!config.cooperative);
                let expected: [&[u8]; 4] = [
                    &(N as u32).to_ne_bytes(),
                    &3.0_f32.to_ne_bytes(),
                    &x_at.0.to_ne_bytes(),
                    &y_at.0.to_ne_bytes(),
                ];
                assert!(arguments.iter().map(|bytes| &**bytes).eq(expected), "{arguments:?}");
                kernels += 1;
            }
            NodeWork::Memcpy { to, from, bytes } => {
                assert_eq!((*to, *from, *bytes), (z_at, y_at, 4 * N));
                assert_eq!(node.level, levels.len() - 1, "it waits for both branches");
                copies += 1;
            }
            NodeWork::Nothing => {}
            other => panic!("{other:?}"),
        }
    }
    fills.sort_by_key(|(to, ..)| to.0);
    let mut expected = [(x_at, 2.0), (z_at, 1.0)];
    expected.sort_by_key(|(to, _)| to.0);
    assert_eq!(fills.iter().map(|(to, value, _)| (*to, *value)).collect::<Vec<_>>(), expected);
    assert_eq!((kernels, copies), (1, 1));

    let mut other = Graph::new(&device).unwrap();
    other.add_host_function(|| (), &[]).unwrap();
    let work = other.describe().unwrap().remove(0).work;
    assert!(matches!(&work, NodeWork::Other(kind) if kind == "Host"), "{work:?}");
}

#[test]
fn graphs_of_two_devices_do_not_mix() {
    let (first, second) =
        (Device::open("vgpu:gfx1100").unwrap(), Device::open("vgpu:gfx1100?cus=3").unwrap());
    let (stream, other) = (first.stream().unwrap(), second.stream().unwrap());
    let (mut x, _) = buffers(&stream);
    let (mut away, _) = buffers(&other);
    let mut graph = first.capture(|stream| x.fill(stream, 1.0)).unwrap();
    let results = [
        graph.instantiate().unwrap().launch(&other),
        graph.add_fill(&mut away, 1.0, &[]).map(drop),
        graph.add_copy(&mut x, &away, &[]).map(drop),
        Graph::new(&second).unwrap().add_child(&graph, &[]).map(drop),
        first.capture(|stream| away.fill(stream, 1.0)).map(drop),
    ];
    for result in results {
        assert!(matches!(result, Err(Error::OtherDevice { .. })), "{result:?}");
    }
}

#[test]
fn a_fault_in_a_graph_is_that_of_its_stream() {
    let device = common::device();
    if !common::finds_faults(&device) {
        return;
    }
    let function = common::module(&device).function("write_at").unwrap();
    let stream = device.stream().unwrap();
    let mut data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    let graph = device.capture(|stream| {
        let launch = function.launch(stream).grid(1).block(64).arg(&mut data).arg(1_i64 << 30);
        // SAFETY: only run where an access out of bounds is an error that harms nothing.
        unsafe { launch.enqueue() }
    });
    let exec = graph.unwrap().instantiate().unwrap();
    exec.launch(&stream).unwrap();
    let error = stream.synchronize().unwrap_err();
    assert!(error.fault().is_some_and(|report| report.text().contains("write_at")), "{error}");
    assert!(matches!(exec.launch(&stream), Err(Error::Fault(_))));
    let next = device.stream().unwrap();
    assert!(matches!(data.to_vec(&next), Err(Error::Fault(_))));
    data.fill(&next, 1.0).unwrap();
    assert_eq!(data.to_vec(&next).unwrap(), [1.0; 64]);
    drop((exec, data, stream));
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn every_branch_waits_for_what_the_stream_was_given_before() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut found = vec![0.0_f32; 1 << 18];
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 1 << 18).unwrap();
    let mut copies = [(); 3].map(|()| DeviceBuffer::<f32>::zeroed(&stream, 1 << 18).unwrap());
    let mut graph = Graph::new(&device).unwrap();
    for copy in &mut copies {
        graph.add_copy(copy, &y, &[]).unwrap();
    }
    let exec = graph.instantiate().unwrap();
    for turn in 1..6 {
        let value = turn as f32;
        for _ in 0..8 {
            y.fill(&stream, 0.0).unwrap();
            y.fill(&stream, value).unwrap();
        }
        exec.launch(&stream).unwrap();
        for copy in &copies {
            copy.copy_to_host(&stream, &mut found).unwrap();
            assert!(found.iter().all(|got| *got == value), "launch {turn}");
        }
    }
}
