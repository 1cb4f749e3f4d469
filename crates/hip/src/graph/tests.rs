use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{DeviceBuffer, Error, Graph, GraphError, GraphResource, HostBuffer, SharedHostBuffer, fake};

/// The fake counts graphs of the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_launch_is_ordered_with_other_uses_and_so_are_those_with_it() {
    let _alone = alone();
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let mut read = DeviceBuffer::from_slice(&a, &[1_u32, 2]).unwrap();
    let mut written = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
    let exec = device.capture(|stream| written.copy_from(stream, &read)).unwrap().instantiate().unwrap();
    fake::calls(&a);
    exec.launch(&b).unwrap();
    // One for the memory that it reads and one for the memory that it writes.
    assert_eq!(fake::calls(&a), ["record", "record"]);
    assert_eq!(fake::calls(&b), ["wait", "wait", "graph"]);
    exec.launch(&b).unwrap();
    assert_eq!(fake::calls(&b), ["graph"]);
    assert_eq!(written.to_vec(&a).unwrap(), [1, 2]);
    assert_eq!(fake::calls(&a), ["wait", "copy", "synchronize"]);
    // Reads do not conflict.
    assert_eq!(read.to_vec(&a).unwrap(), [1, 2]);
    assert_eq!(fake::calls(&a), ["copy", "synchronize"]);
    fake::calls(&b);
    read.fill(&a, 5).unwrap();
    assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["wait", "set32"], vec!["record"]));
    exec.launch(&b).unwrap();
    assert_eq!(written.to_vec(&b).unwrap(), [5, 5]);
}

#[test]
fn launches_of_one_executable_graph_follow_each_other() {
    let _alone = alone();
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let exec = device.capture(|_| Ok(())).unwrap().instantiate().unwrap();
    exec.launch(&a).unwrap();
    exec.launch(&b).unwrap();
    assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["graph", "record"], vec!["wait", "graph"]));
    // It is not destroyed while the last one runs.
    drop(exec);
    assert_eq!(fake::calls(&b), ["synchronize"]);
}

#[test]
fn memory_is_freed_with_the_last_graph_that_uses_it() {
    let _alone = alone();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap();
    let address = buffer.address();
    let graph = device.capture(|stream| buffer.fill(stream, 1)).unwrap();
    drop(buffer);
    let exec = graph.instantiate().unwrap();
    drop(graph);
    assert!(fake::is_allocated(address));
    exec.launch(&stream).unwrap();
    fake::calls(&stream);
    drop(exec);
    assert!(fake::calls(&stream).contains(&"synchronize"));
    assert!(!fake::is_allocated(address));
}

#[test]
fn a_capture_ends_however_its_work_does() {
    let _alone = alone();
    let device = fake::device(0);
    let before = fake::graph_counts();
    let mut buffer = DeviceBuffer::<u32>::uninit(&device, 2).unwrap();
    let failed = device.capture(|stream| {
        buffer.fill(&stream.fork()?, 1)?;
        Err(Error::HostFunction)
    });
    assert!(matches!(failed, Err(Error::HostFunction)));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        device.capture(|stream| {
            buffer.fill(&stream.fork()?, 1)?;
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(fake::graph_counts(), before);
    drop(device.capture(|stream| buffer.fill(stream, 1)).unwrap().instantiate().unwrap());
    assert_eq!(fake::graph_counts(), before);
}

#[test]
fn captured_streams_are_ordered_by_what_they_use_and_joined() {
    let _alone = alone();
    let device = fake::device(0);
    let (mut x, mut y) =
        (DeviceBuffer::<u32>::uninit(&device, 2).unwrap(), DeviceBuffer::uninit(&device, 2).unwrap());
    let mut calls = Vec::new();
    let graph = device.capture(|origin| {
        let fork = origin.fork()?;
        assert_eq!((fake::calls(origin), fake::calls(&fork)), (vec!["record"], vec!["wait"]));
        x.fill(&fork, 1)?;
        y.fill(origin, 2)?;
        assert_eq!((fake::calls(origin), fake::calls(&fork)), (vec!["set32"], vec!["set32"]));
        y.copy_from(origin, &x)?;
        assert_eq!((fake::calls(origin), fake::calls(&fork)), (vec!["wait", "copy"], vec!["record"]));
        x.fill(&fork, 3)?;
        calls = vec![origin.clone(), fork];
        Ok(())
    });
    assert_eq!(graph.unwrap().len(), 4);
    assert_eq!(
        (fake::calls(&calls[0]), fake::calls(&calls[1])),
        (vec!["record", "wait"], vec!["wait", "set32", "record"])
    );
}

#[test]
fn only_what_a_graph_can_keep_is_captured() {
    let _alone = alone();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap();
    let graph = device.capture(|captured| {
        let refused = |result: crate::Result<()>, expected: GraphError| match result {
            Err(Error::Graph(error)) => assert_eq!(error, expected),
            other => panic!("{other:?}"),
        };
        refused(buffer.copy_from_host(captured, &[1, 2]), GraphError::NotCapturable);
        refused(buffer.to_vec(captured).map(drop), GraphError::NotCapturable);
        refused(buffer.fill(captured, 1).and_then(|()| captured.synchronize()), GraphError::NotCapturable);
        refused(stream.wait_stream(captured), GraphError::OtherStream);
        refused(captured.wait_stream(&stream), GraphError::OtherStream);
        std::thread::scope(|scope| {
            let result = scope.spawn(|| buffer.fill(captured, 2)).join().unwrap();
            refused(result, GraphError::OtherThread);
        });
        assert_eq!(fake::calls(captured), ["set32"]);
        Ok(())
    });
    assert_eq!(graph.unwrap().len(), 1);
}

#[test]
fn nodes_wait_for_those_that_use_the_same_memory() {
    let _alone = alone();
    let device = fake::device(0);
    let new = || DeviceBuffer::<u32>::uninit(&device, 2).unwrap();
    let (mut a, mut b, mut c) = (new(), new(), new());
    let mut graph = Graph::new(&device).unwrap();
    let first = graph.add_fill(&mut a, 1, &[]).unwrap();
    graph.add_copy(&mut b, &a, &[]).unwrap();
    graph.add_copy(&mut c, &a, &[]).unwrap();
    graph.add_fill(&mut a, 2, &[]).unwrap();
    graph.add_copy(&mut c, &b, &[first]).unwrap();
    graph.add_empty(&[]).unwrap();
    let expected: [&[usize]; 6] = [&[], &[0], &[0], &[1, 2], &[0, 1, 2], &[]];
    assert_eq!(fake::dependencies(&graph), expected);
    let stream = device.stream().unwrap();
    graph.instantiate().unwrap().launch(&stream).unwrap();
    assert_eq!((a.to_vec(&stream).unwrap(), c.to_vec(&stream).unwrap()), (vec![2, 2], vec![1, 1]));
    // Captured work comes first.
    let mut captured = device.capture(|stream| a.fill(stream, 3).and_then(|()| b.fill(stream, 3))).unwrap();
    captured.add_fill(&mut c, 4, &[]).unwrap();
    assert_eq!(fake::dependencies(&captured)[2], [0, 1]);
    assert!(matches!(captured.add_empty(&[first]), Err(Error::Graph(GraphError::OtherGraph))));
    graph.add_fill(&mut new(), 0x0102_0304, &[]).unwrap();
}

#[test]
fn a_fill_of_several_nodes_is_one() {
    let _alone = alone();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut wide = DeviceBuffer::<u64>::zeroed(&stream, 5).unwrap();
    let mut copy = DeviceBuffer::<u64>::zeroed(&stream, 5).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let first = graph.add_empty(&[]).unwrap();
    let fill = graph.add_fill(&mut wide, 0x0102_0304_0506_0708, &[]).unwrap();
    graph.add_copy(&mut copy, &wide, &[]).unwrap();
    // Two words, then copies of 1, 2 and 1 elements. Predecessors come before all of them, and successors
    // after all.
    let expected: [&[usize]; 7] = [&[], &[], &[1], &[2], &[3], &[4], &[5]];
    assert_eq!(fake::dependencies(&graph), expected);
    assert_eq!(graph.len(), 3);
    let after = graph.add_empty(&[first, fill]).unwrap();
    assert_eq!(fake::dependencies(&graph)[7], [0, 5]);
    let mut exec = graph.instantiate().unwrap();
    exec.set_enabled(fill, false).unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(copy.to_vec(&stream).unwrap(), [0; 5]);
    assert!(!exec.is_enabled(fill).unwrap());
    exec.set_enabled(fill, true).unwrap();
    exec.launch(&stream).unwrap();
    assert!(exec.is_enabled(fill).unwrap());
    assert_eq!(copy.to_vec(&stream).unwrap(), [0x0102_0304_0506_0708; 5]);
    assert!(matches!(exec.set_enabled(after, false), Err(Error::Graph(GraphError::NotSwitchable))));
    assert!(matches!(exec.is_enabled(after), Err(Error::Graph(GraphError::NotSwitchable))));
    let nothing = graph.add_fill(wide.slice_mut(..0).unwrap(), 1, &[]).unwrap();
    let mut exec = graph.instantiate().unwrap();
    exec.set_enabled(nothing, false).unwrap();
    assert!(exec.is_enabled(nothing).unwrap());
}

#[test]
fn a_node_that_cannot_be_added_whole_is_not_added() {
    let _alone = alone();
    let device = fake::device(0);
    let mut wide = DeviceBuffer::<u64>::uninit(&device, 5).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    fake::fail_after_nodes(3);
    let failed = graph.add_fill(&mut wide, 1 << 40, &[]);
    fake::fail_after_nodes(usize::MAX);
    assert!(matches!(failed, Err(Error::Hip { .. })), "{failed:?}");
    assert!(graph.is_empty() && fake::dependencies(&graph).is_empty());
    graph.add_fill(&mut wide, 1 << 40, &[]).unwrap();
    assert!(fake::dependencies(&graph)[0].is_empty());
}

#[test]
fn memory_of_a_graph_is_there_between_its_allocation_and_its_free() {
    let _alone = alone();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let input = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
    let mut output = DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap();
    let mut other = DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let (_, mut scratch) = graph.add_allocation::<u32>(2, &[]).unwrap();
    let address = scratch.as_slice().address();
    graph.add_copy(&mut scratch, &input, &[]).unwrap();
    graph.add_copy(&mut output, &scratch, &[]).unwrap();
    graph.add_copy(&mut other, &scratch, &[]).unwrap();
    assert!(matches!(graph.instantiate(), Err(Error::Graph(GraphError::NotFreed { count: 1 }))));
    graph.add_free(scratch, &[]).unwrap();
    let expected: [&[usize]; 5] = [&[], &[0], &[1], &[1], &[2, 3]];
    assert_eq!(fake::dependencies(&graph), expected);
    let mut exec = graph.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(output.to_vec(&stream).unwrap(), [1, 2]);
    // The memory has one owner at a time.
    let mut plain = Graph::new(&device).unwrap();
    for result in [
        graph.instantiate().map(drop),
        graph.try_clone().map(drop),
        plain.add_child(&graph, &[]).map(drop),
        exec.update(&plain),
        plain.instantiate().unwrap().update(&graph),
    ] {
        assert!(matches!(result, Err(Error::Graph(GraphError::HasMemory { .. }))), "{result:?}");
    }
    drop(exec);
    let exec = graph.instantiate().unwrap();
    drop(graph);
    exec.launch(&stream).unwrap();
    assert!(fake::is_allocated(address));
    drop(exec);
    assert!(!fake::is_allocated(address));
}

#[test]
fn memory_of_a_graph_is_that_of_its_nodes_alone() {
    let _alone = alone();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut output = DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let (_, mut scratch) = graph.add_allocation::<u32>(2, &[]).unwrap();
    let mut other = Graph::new(&device).unwrap();
    fake::calls(&stream);
    for result in [
        output.copy_from(&stream, &scratch),
        scratch.as_mut_slice().fill(&stream, 1),
        scratch.as_slice().to_vec(&stream).map(drop),
        scratch.as_mut_slice().address_on(&stream).map(drop),
        device.capture(|stream| output.copy_from(stream, &scratch)).map(drop),
        other.add_fill(&mut scratch, 1, &[]).map(drop),
        other.add_free(scratch, &[]).map(drop),
    ] {
        assert!(matches!(result, Err(Error::Graph(GraphError::MemoryOfGraph))), "{result:?}");
    }
    assert!(fake::calls(&stream).is_empty());
    assert!(other.is_empty());
    // The memory is also unusable once the graph is gone.
    let (_, scratch) = other.add_allocation::<u32>(2, &[]).unwrap();
    drop(other);
    let result = output.copy_from(&stream, &scratch);
    assert!(matches!(result, Err(Error::Graph(GraphError::MemoryOfGraph))), "{result:?}");
    let (_, nothing) = graph.add_allocation::<u32>(0, &[]).unwrap();
    assert!(nothing.is_empty());
    graph.add_free(nothing, &[]).unwrap();
}

#[test]
fn shared_memory_of_the_host_is_the_programs_or_the_graphs() {
    let _alone = alone();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap();
    let shared = SharedHostBuffer::new(HostBuffer::<u32>::zeroed(&device, 2).unwrap());
    let mut graph = Graph::new(&device).unwrap();
    graph.add_upload(&mut buffer, &shared, &[]).unwrap();
    let exec = graph.instantiate().unwrap();
    shared
        .lock(|elements| {
            elements.copy_from_slice(&[7, 8]);
            assert!(matches!(exec.launch(&stream), Err(Error::Graph(GraphError::HostBufferLocked))));
            // The thread would wait for itself.
            let again = shared.clone().lock(|_| panic!("they are lent once"));
            assert!(matches!(again, Err(Error::Graph(GraphError::HostBufferLocked))), "{again:?}");
        })
        .unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| shared.lock(|_| panic!())));
    assert!(panicked.is_err());
    fake::calls(&stream);
    exec.launch(&stream).unwrap();
    assert_eq!(fake::calls(&stream), ["graph"]);
    assert_eq!(shared.lock(|elements| elements.to_vec()).unwrap(), [7, 8]);
    assert_eq!(fake::calls(&stream), ["synchronize"]);
    assert_eq!(buffer.to_vec(&stream).unwrap(), [7, 8]);
    // The graph keeps a clone.
    let clone = shared.clone();
    drop((shared, graph));
    clone.lock(|elements| elements.fill(9)).unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap(), [9, 9]);
}

#[test]
fn launches_of_two_graphs_wait_for_each_other_where_they_share_memory_of_the_host() {
    let _alone = alone();
    let device = fake::device(0);
    let shared = SharedHostBuffer::new(HostBuffer::<u32>::zeroed(&device, 2).unwrap());
    let launch = || {
        let stream = device.stream().unwrap();
        let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap();
        let mut graph = Graph::new(&device).unwrap();
        graph.add_upload(&mut buffer, &shared, &[]).unwrap();
        let exec = graph.instantiate().unwrap();
        (0..if cfg!(miri) { 10 } else { 1000 }).try_for_each(|_| exec.launch(&stream))
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(launch), scope.spawn(launch)];
        threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    });
    // A host function does not wait.
    shared
        .lock(|_| {
            std::thread::scope(|scope| {
                let function = || assert!(matches!(shared.lock(|_| ()), Err(Error::HostFunction)));
                scope.spawn(move || crate::stream::run_host_function(function)).join().unwrap();
            });
        })
        .unwrap();
    // Another thread's lock is waited for.
    let (begun, seen) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            shared.lock(|elements| {
                begun.send(()).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(10));
                elements.fill(3);
            })
        });
        seen.recv().unwrap();
        assert_eq!(shared.lock(|elements| elements.to_vec()).unwrap(), [3, 3]);
    });
}

#[test]
fn host_functions_are_kept_by_their_graph() {
    let _alone = alone();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let calls = Arc::new(AtomicU32::new(0));
    let count = calls.clone();
    let mut graph = device
        .capture(move |stream| {
            stream.capture_host_function(move || {
                count.fetch_add(1, Ordering::SeqCst);
            })
        })
        .unwrap();
    let count = calls.clone();
    graph
        .add_host_function(
            move || {
                count.fetch_add(10, Ordering::SeqCst);
            },
            &[],
        )
        .unwrap();
    let exec = graph.instantiate().unwrap();
    drop(graph);
    exec.launch(&stream).unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 22);
    drop(exec);
    assert_eq!(Arc::strong_count(&calls), 1);
}

/// A resource of another crate that a graph keeps.
struct Other {
    /// The announced waits, each with whether work was left.
    waits: Mutex<Vec<bool>>,
    /// The counts at the time of its drop.
    dropped: Arc<Mutex<Option<(usize, usize, usize)>>>,
}

impl GraphResource for Other {
    fn before_wait(&self, is_done: &dyn Fn() -> bool) {
        self.waits.lock().unwrap().push(!is_done());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        *self.dropped.lock().unwrap() = Some(fake::graph_counts());
    }
}

#[test]
fn what_other_crates_need_ends_behind_all_graphs_that_keep_it() {
    let _alone = alone();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let before = fake::graph_counts();
    let dropped = Arc::new(Mutex::new(None));
    let other = Arc::new(Other { waits: Mutex::default(), dropped: dropped.clone() });
    let refused = stream.capture_keeps(other.clone());
    assert!(matches!(refused, Err(Error::Graph(GraphError::OtherStream))), "{refused:?}");
    let graph = device.capture(|stream| {
        assert!(stream.is_captured());
        stream.capture_keeps(other.clone())?;
        stream.capture_keeps(other.clone())
    });
    let (waits, graph) = (Arc::downgrade(&other), graph.unwrap());
    drop(other);
    let (launched, exec) = (graph.instantiate().unwrap(), graph.instantiate().unwrap());
    drop(graph);
    let hold = fake::hold(&stream);
    launched.launch(&stream).unwrap();
    let dropped_meanwhile = std::thread::spawn(move || drop(launched));
    while waits.upgrade().unwrap().waits.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    drop(hold);
    dropped_meanwhile.join().unwrap();
    assert_eq!(*waits.upgrade().unwrap().waits.lock().unwrap(), [true]);
    assert_eq!(*dropped.lock().unwrap(), None);
    drop(exec);
    assert_eq!(*dropped.lock().unwrap(), Some(before), "behind the graph and the executable one");
    assert_eq!(waits.strong_count(), 0);
}

#[test]
fn what_a_graph_reads_must_have_been_written() {
    let _alone = alone();
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let source = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
    let mut target = DeviceBuffer::<u32>::zeroed(&b, 2).unwrap();
    let copy = device.capture(|stream| target.copy_from(stream, &source)).unwrap().instantiate().unwrap();
    let fill = device.capture(|stream| target.fill(stream, 1)).unwrap().instantiate().unwrap();
    fake::fault(&a, "kernel `k`");
    assert!(matches!(copy.launch(&b), Err(Error::Fault(report)) if report.text() == "kernel `k`"));
    fill.launch(&b).unwrap();
    assert_eq!(target.to_vec(&b).unwrap(), [1, 1]);
}

#[test]
fn graphs_cross_threads() {
    fn sendable<T: Send + Sync + 'static>() {}
    sendable::<Graph>();
    sendable::<crate::GraphExec>();
    sendable::<SharedHostBuffer<f32>>();
    sendable::<crate::graph::Node>();
    sendable::<crate::Completion>();
    sendable::<crate::PendingFuture<HostBuffer<f32>>>();
}

#[test]
fn what_a_capture_refuses_is_no_use_of_its_graph() {
    let _alone = alone();
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut kept = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let mut refused = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let elsewhere = DeviceBuffer::<u32>::zeroed(&fake::device(1).stream().unwrap(), 4).unwrap();
    let mut other = Graph::new(&device).unwrap();
    let (_, mut of_graph) = other.add_allocation::<u32>(4, &[]).unwrap();
    let host = || HostBuffer::<u32>::zeroed(&device, 4).unwrap();
    let graph = device
        .capture(|stream| {
            let results = [
                refused.copy_to_host(stream, &mut [0; 4]),
                refused.copy_from_host(stream, &[0; 4]),
                refused.to_vec(stream).map(drop),
                refused.upload(stream, host()).map(drop),
                refused.download(stream, host()).map(drop),
                refused.copy_from(stream, &elsewhere),
                of_graph.as_mut_slice().copy_from(stream, &refused),
            ];
            for result in results {
                assert!(matches!(result, Err(Error::Graph(_))), "{result:?}");
            }
            kept.fill(stream, 1)
        })
        .unwrap();
    let uses = graph.uses();
    assert!(uses.uses_memory(kept.allocation()));
    for allocation in [refused.allocation(), elsewhere.allocation()] {
        assert!(!uses.uses_memory(allocation));
        assert_eq!(Arc::strong_count(allocation), 1);
    }
}
