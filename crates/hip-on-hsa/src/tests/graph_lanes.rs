//! Graphs: independent nodes overlap, and all others keep their order.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hip_sys::{hipGraph_t, hipGraphNode_t, hipHostNodeParams, hipMemcpyKind};

use super::*;

const NON_BLOCKING: u32 = hip_sys::hipStreamNonBlocking;

/// Waits for something that another node does at the same time; false if it does not.
pub(super) fn comes(what: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while !what() {
        if Instant::now() > end {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

type Work = Box<dyn Fn() + Sync>;

unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the data is a function that lives until the graph has run.
    (unsafe { &*data.cast::<Work>() })();
}

impl Hip {
    fn host(&self, graph: hipGraph_t, after: &[hipGraphNode_t], work: &Work) -> hipGraphNode_t {
        let mut node = null_mut();
        let params = hipHostNodeParams { fn_: Some(call), userData: (&raw const *work).cast_mut().cast() };
        let added = hip!(self, hipGraphAddHostNode(&mut node, graph, after.as_ptr(), after.len(), &params));
        assert_eq!(added, OK);
        node
    }

    /// A kernel whose arguments are all 0.
    fn kernel_of_zeros(
        &self,
        graph: hipGraph_t,
        after: &[hipGraphNode_t],
        function: hipFunction_t,
    ) -> hipGraphNode_t {
        let (mut node, mut zero) = (null_mut(), 0u64);
        let mut list = [(&raw mut zero).cast::<c_void>(); 8];
        let one = hip_sys::dim3 { x: 1, y: 1, z: 1 };
        let params = hip_sys::hipKernelNodeParams {
            blockDim: one,
            gridDim: one,
            func: function.cast(),
            kernelParams: list.as_mut_ptr(),
            ..Default::default()
        };
        let added = hip!(self, hipGraphAddKernelNode(&mut node, graph, after.as_ptr(), after.len(), &params));
        assert_eq!(added, OK);
        node
    }

    fn run_once(&self, graph: hipGraph_t) -> E {
        let (stream, exec) = (self.stream(NON_BLOCKING), self.instantiate(graph));
        let launched = hip!(self, hipGraphLaunch(exec, stream));
        let code = if launched == OK { hip!(self, hipStreamSynchronize(stream)) } else { launched };
        self.end_all(graph, exec, stream);
        code
    }
}

#[test]
fn host_functions_of_one_level_can_wait_for_each_other() {
    const COUNT: u32 = 16;
    let hip = start();
    let (graph, here, met) = (hip.graph(), AtomicU32::new(0), AtomicU32::new(0));
    let meet = || {
        here.fetch_add(1, Ordering::AcqRel);
        met.fetch_add(u32::from(comes(|| here.load(Ordering::Acquire) == COUNT)), Ordering::AcqRel);
    };
    with_works([&meet], |works| {
        for _ in 0..COUNT {
            hip.host(graph, &[], &works[0]);
        }
        assert_eq!(hip.run_once(graph), OK);
    });
    assert_eq!(met.into_inner(), COUNT);
}

/// Lends functions of a test to a graph that ends before this returns.
fn with_works<const N: usize>(functions: [&(dyn Fn() + Sync); N], run: impl FnOnce(&[Work])) {
    let works = functions.map(|function| -> Work {
        // SAFETY: the boxes end before the functions do; only the lifetime is left out.
        let function: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(function) };
        Box::new(function)
    });
    run(&works);
}

#[test]
fn a_host_function_can_wait_for_a_kernel_a_copy_and_a_fill_of_its_level_and_they_for_it() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let mut pinned = null_mut();
    assert_eq!(hip!(hip, hipHostMalloc(&mut pinned, 8, 0)), OK);
    let memory = hip.malloc(4);
    // SAFETY: the memory has 8 bytes, and everybody uses it as two atomic words.
    let words = unsafe { std::slice::from_raw_parts(pinned.cast::<AtomicU32>(), 2) };
    let (saw, graph) = (AtomicBool::new(false), hip.graph());
    let look = || {
        // Neither has a successor, except that the second copy follows the first one.
        let seen = comes(|| words[1].load(Ordering::Acquire) == 0x0707_0707);
        saw.store(seen, Ordering::Release);
        // Now the kernel of the same level may end.
        fake::HOLD.store(false, Ordering::Release);
    };
    with_works([&look], |works| {
        let hold = Hold::new();
        hip.kernel_of_zeros(graph, &[], work);
        hip.host(graph, &[], &works[0]);
        let mut node = null_mut();
        let fill =
            hip_sys::hipMemsetParams { dst: memory, elementSize: 1, height: 1, pitch: 4, value: 7, width: 4 };
        assert_eq!(hip!(hip, hipGraphAddMemsetNode(&mut node, graph, null(), 0, &fill)), OK);
        let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
        let mut copy = null_mut();
        // SAFETY: the place lies within the memory.
        let second = unsafe { pinned.byte_add(4) };
        let added = hip!(hip, hipGraphAddMemcpyNode1D(&mut copy, graph, &node, 1, second, memory, 4, kind));
        assert_eq!(added, OK);
        assert_eq!(hip.run_once(graph), OK);
        drop(hold);
    });
    assert!(saw.into_inner(), "the copy did not overlap the host function");
    hip.free(memory);
    assert_eq!(hip!(hip, hipHostFree(pinned)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn more_nodes_than_lanes_all_run() {
    let hip = start();
    let (graph, count) = (hip.graph(), AtomicU32::new(0));
    let bump = || {
        count.fetch_add(1, Ordering::AcqRel);
    };
    with_works([&bump], |works| {
        for _ in 0..100 {
            hip.host(graph, &[], &works[0]);
        }
        assert_eq!(hip.run_once(graph), OK);
    });
    assert_eq!(count.into_inner(), 100);
}

/// One node of a random graph: how much of it has been done, and by which launch.
struct Node {
    /// Its direct and indirect predecessors.
    before: Vec<usize>,
    done: AtomicU32,
}

#[test]
fn nodes_of_random_graphs_run_behind_everything_that_they_depend_on() {
    const NODES: usize = 40;
    const ROUNDS: u32 = 3;
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    let mut random = |below: u64| {
        // Marsaglia's xorshift.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for shape in 0..16 {
        // Wide graphs, and narrow ones.
        let most = 1 + shape % 4;
        let mut nodes: Vec<Node> = Vec::new();
        let mut direct: Vec<Vec<usize>> = Vec::new();
        for index in 0..NODES {
            let count = if index == 0 { 0 } else { random(most + 1) };
            let mut edges: Vec<usize> = (0..count).map(|_| random(index as u64) as usize).collect();
            edges.sort_unstable();
            edges.dedup();
            let mut before = edges.clone();
            before.extend(edges.iter().flat_map(|&edge| nodes[edge].before.iter().copied()));
            before.sort_unstable();
            before.dedup();
            nodes.push(Node { before, done: AtomicU32::new(0) });
            direct.push(edges);
        }
        // Kinds: a host function, a child of two of them, a kernel and an empty node that do nothing.
        let kinds: Vec<u64> = (0..NODES).map(|_| random(6)).collect();
        let wrong = AtomicU32::new(0);
        let hosted = |index: usize| kinds[index] < 4;
        let each = |kind: u64| if kind == 3 { 2 } else { 1 };
        let works: Vec<Box<dyn Fn() + Sync>> = (0..NODES)
            .map(|index| -> Box<dyn Fn() + Sync + '_> {
                let (nodes, wrong, kinds) = (&nodes, &wrong, &kinds);
                Box::new(move || {
                    let step = each(kinds[index]);
                    let round = nodes[index].done.load(Ordering::Acquire) / step;
                    for &before in nodes[index].before.iter().filter(|&&before| kinds[before] < 4) {
                        let done = nodes[before].done.load(Ordering::Acquire);
                        if done != (round + 1) * each(kinds[before]) {
                            wrong.fetch_add(1, Ordering::AcqRel);
                        }
                    }
                    nodes[index].done.fetch_add(1, Ordering::AcqRel);
                })
            })
            // SAFETY: the graphs that use the functions end before they do; only the lifetime is left out.
            .map(|work| unsafe { std::mem::transmute::<Box<dyn Fn() + Sync + '_>, Work>(work) })
            .collect();
        let graph = hip.graph();
        let mut made: Vec<hipGraphNode_t> = Vec::new();
        for index in 0..NODES {
            let after: Vec<hipGraphNode_t> = direct[index].iter().map(|&edge| made[edge]).collect();
            made.push(match kinds[index] {
                0..3 => hip.host(graph, &after, &works[index]),
                3 => {
                    let (child, mut node) = (hip.graph(), null_mut());
                    hip.host(child, &[], &works[index]);
                    hip.host(child, &[], &works[index]);
                    let list = (after.as_ptr(), after.len());
                    let added = hip!(hip, hipGraphAddChildGraphNode(&mut node, graph, list.0, list.1, child));
                    assert_eq!(added, OK);
                    assert_eq!(hip!(hip, hipGraphDestroy(child)), OK);
                    node
                }
                4 => hip.kernel(graph, &after, empty, 32),
                _ => hip.empty(graph, &after),
            });
        }
        let exec = hip.instantiate(graph);
        let streams = [hip.stream(NON_BLOCKING), hip.stream(0)];
        for round in 0..ROUNDS as usize {
            assert_eq!(hip!(hip, hipGraphLaunch(exec, streams[round % 2])), OK);
        }
        for stream in streams {
            assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
        }
        for index in (0..NODES).filter(|&index| hosted(index)) {
            let done = nodes[index].done.load(Ordering::Acquire);
            assert_eq!(done, ROUNDS * each(kinds[index]), "node {index} of graph {shape}");
        }
        assert_eq!(wrong.load(Ordering::Acquire), 0, "graph {shape}");
        assert_eq!(hip!(hip, hipStreamDestroy(streams[1])), OK);
        hip.end_all(graph, exec, streams[0]);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_fault_on_one_lane_stops_what_follows_on_all_of_them() {
    let hip = start();
    let module = hip.load(5);
    let (poke, work) = (hip.function(module, "poke"), hip.function(module, "work"));
    let (graph, ran, never) = (hip.graph(), AtomicU32::new(0), AtomicU32::new(0));
    let beside = || {
        ran.fetch_add(1, Ordering::AcqRel);
    };
    let behind = || {
        never.fetch_add(1, Ordering::AcqRel);
    };
    with_works([&beside, &behind], |works| {
        let first = hip.kernel_of_zeros(graph, &[], work);
        let fault = hip.kernel_of_zeros(graph, &[first], poke);
        let other = hip.host(graph, &[], &works[0]);
        let after = hip.host(graph, &[fault, other], &works[1]);
        hip.host(graph, &[fault], &works[1]);
        hip.host(graph, &[after], &works[1]);
        let (exec, stream, second) =
            (hip.instantiate(graph), hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
        let hold = Hold::new();
        assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
        assert!(comes(|| ran.load(Ordering::Acquire) == 1));
        drop(hold);
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), E::hipErrorIllegalAddress);
        assert_eq!(hip!(hip, hipDeviceSynchronize()), OK, "the failure has been returned");
        assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), E::hipErrorIllegalAddress);
        assert_eq!(never.load(Ordering::Acquire), 0);

        // On another stream the graph has other lanes.
        assert_eq!(hip!(hip, hipGraphNodeSetEnabled(exec, fault, 0)), OK);
        assert_eq!(hip!(hip, hipGraphLaunch(exec, second)), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(second)), OK);
        assert_eq!((ran.load(Ordering::Acquire), never.load(Ordering::Acquire)), (2, 3));
        assert_eq!(hip!(hip, hipStreamDestroy(second)), OK);
        hip.end_all(graph, exec, stream);
    });
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

impl Hip {
    /// Uses up the runtime's spare signals while the events live.
    fn take_spare_signals(&self, stream: hipStream_t, function: hipFunction_t) -> Vec<hipEvent_t> {
        let (mut events, mut fresh) = (Vec::new(), 0);
        while fresh < 3 {
            let before = fake::live().1;
            assert_eq!(self.launch(function, stream), OK);
            let event = self.event();
            assert_eq!(hip!(self, hipEventRecord(event, stream)), OK);
            events.push(event);
            fresh = if fake::live().1 > before { fresh + 1 } else { 0 };
        }
        assert_eq!(hip!(self, hipStreamSynchronize(stream)), OK);
        events
    }
}

#[test]
fn a_launch_that_runs_out_of_signals_leaves_nothing_that_nobody_waits_for() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let (begun, ended) = (AtomicU32::new(0), AtomicU32::new(0));
    let run = |milliseconds| {
        begun.fetch_add(1, Ordering::AcqRel);
        std::thread::sleep(Duration::from_millis(milliseconds));
        ended.fetch_add(1, Ordering::AcqRel);
    };
    // The work of the launch's own stream, the first, ends long before the others.
    with_works([&|| run(1), &|| run(60), &|| run(60)], |works| {
        let graph = hip.graph();
        let mut parameters = hip_sys::hipMemAllocNodeParams { bytesize: 4096, ..Default::default() };
        parameters.poolProps.allocType = hip_sys::hipMemAllocationType::hipMemAllocationTypePinned;
        parameters.poolProps.location.type_ = hip_sys::hipMemLocationType::hipMemLocationTypeDevice;
        let (mut taken, mut freed) = (null_mut(), null_mut());
        let added = hip!(hip, hipGraphAddMemAllocNode(&mut taken, graph, null(), 0, &mut parameters));
        assert_eq!(added, OK);
        let added = hip!(hip, hipGraphAddMemFreeNode(&mut freed, graph, &taken, 1, parameters.dptr));
        assert_eq!(added, OK);
        for work in works {
            hip.host(graph, &[], work);
        }
        let exec = hip.instantiate(graph);
        // A launch that fails does not create the lanes' queues.
        let first = hip.stream(NON_BLOCKING);
        assert_eq!(hip!(hip, hipGraphLaunch(exec, first)), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(first)), OK);
        let mut refused = 0;
        for left in 0.. {
            assert!(left < 100, "a launch does not take as many signals");
            let stream = hip.stream(NON_BLOCKING);
            let events = hip.take_spare_signals(stream, empty);
            fake::SIGNALS_LEFT.store(left, Ordering::Release);
            let launched = hip!(hip, hipGraphLaunch(exec, stream));
            fake::SIGNALS_LEFT.store(u64::MAX, Ordering::Release);
            let waited = hip!(hip, hipStreamSynchronize(stream));
            let seen = begun.load(Ordering::Acquire);
            assert_eq!(ended.load(Ordering::Acquire), seen, "{left}: something runs still");
            std::thread::sleep(Duration::from_millis(10));
            assert_eq!(begun.load(Ordering::Acquire), seen, "{left}: something began behind the wait");
            assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
            for event in events {
                assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
            }
            if launched == OK {
                assert_eq!(waited, OK);
                break;
            }
            // Neither the graph's memory nor its lanes block the next launch.
            assert_ne!(launched, E::hipErrorInvalidValue, "{left}");
            refused += 1;
        }
        assert!(refused > 2, "{refused} launches were refused");
        hip.end_all(graph, exec, first);
    });
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

unsafe extern "C" fn set(data: *mut c_void) {
    // SAFETY: the test passes a flag that outlives the graph.
    unsafe { &*data.cast::<AtomicBool>() }.store(true, Ordering::Release);
}

#[test]
fn earlier_launches_are_waited_for_even_if_the_stream_of_the_last_one_fails() {
    let hip = start();
    let module = hip.load(5);
    let poke = hip.function(module, "poke");
    for again in [true, false] {
        let (entered, open, gate, gone) =
            (AtomicU32::new(0), AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        let inside = || {
            entered.fetch_add(1, Ordering::AcqRel);
            comes(|| open.load(Ordering::Acquire));
        };
        let before = || {
            comes(|| gate.load(Ordering::Acquire));
        };
        with_works([&inside, &before], |works| {
            let (graph, mut object) = (hip.graph(), null_mut());
            hip.host(graph, &[], &works[0]);
            let flag = (&raw const gone).cast_mut().cast();
            assert_eq!(hip!(hip, hipUserObjectCreate(&mut object, flag, Some(set), 1, 1)), OK);
            assert_eq!(hip!(hip, hipGraphRetainUserObject(graph, object, 1, 1)), OK);
            let exec = hip.instantiate(graph);
            assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
            let [one, two, three] = [(); 3].map(|()| hip.stream(NON_BLOCKING));
            assert_eq!(hip!(hip, hipGraphLaunch(exec, one)), OK);
            assert!(comes(|| entered.load(Ordering::Acquire) == 1));
            // The second launch is enqueued behind a kernel that fails before the first one ends.
            let data = (&raw const works[1]).cast_mut().cast();
            assert_eq!(hip!(hip, hipLaunchHostFunc(two, Some(call), data)), OK);
            assert_eq!(hip.launch(poke, two), OK);
            assert_eq!(hip!(hip, hipGraphLaunch(exec, two)), OK);
            gate.store(true, Ordering::Release);
            assert_eq!(hip!(hip, hipStreamSynchronize(two)), E::hipErrorIllegalAddress);
            if again {
                assert_eq!(hip!(hip, hipGraphLaunch(exec, three)), OK);
            }
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(entered.load(Ordering::Acquire), 1, "two launches run at once");
            let (table, exec) = (hip.table, exec as usize);
            std::thread::scope(|scope| {
                // SAFETY: the handle is the test's, and nothing uses it any more.
                let end = scope.spawn(move || unsafe { (table.hipGraphExecDestroy)(exec as _) });
                std::thread::sleep(Duration::from_millis(50));
                let early = gone.load(Ordering::Acquire);
                open.store(true, Ordering::Release);
                assert!(!early, "the graph's user object ended during a launch");
                assert!(comes(|| end.is_finished()), "the graph does not end");
                assert_eq!(end.join().unwrap(), OK);
            });
            assert!(gone.load(Ordering::Acquire));
            for stream in [one, three] {
                assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
            }
            assert_eq!(entered.load(Ordering::Acquire), 1 + u32::from(again));
            for stream in [one, two, three] {
                assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
            }
        });
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn idle_lanes_do_not_fail_with_the_stream_that_they_were_for() {
    let hip = start();
    let module = hip.load(5);
    let poke = hip.function(module, "poke");
    let nothing = || {};
    with_works([&nothing], |works| {
        let mut most = 0;
        for round in 0..12 {
            let (graph, stream) = (hip.graph(), hip.stream(NON_BLOCKING));
            for _ in 0..3 {
                hip.host(graph, &[], &works[0]);
            }
            let exec = hip.instantiate(graph);
            assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
            assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
            assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
            assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
            assert_eq!(hip.launch(poke, stream), OK);
            assert_eq!(hip!(hip, hipStreamSynchronize(stream)), E::hipErrorIllegalAddress);
            assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
            if round == 0 {
                most = fake::queues();
            }
            assert!(fake::queues() <= most, "round {round}: {} queues, not {most}", fake::queues());
        }
    });
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

/// The segments' sizes are no multiples of a cache line, so that their total depends on which comes last.
#[test]
fn segments_of_kernels_fit_in_whatever_order_they_were_made() {
    let hip = start();
    let module = hip.load(5);
    let functions = ["empty", "saxpy", "geometry", "mixed", "reverse"].map(|name| hip.function(module, name));
    let mut next = random();
    for _ in 0..50 {
        let graph = hip.graph();
        let nodes: Vec<_> = (0..12)
            .map(|_| hip.kernel_of_zeros(graph, &[], functions[next() as usize % functions.len()]))
            .collect();
        // An order of execution that is not the order of creation.
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        for left in (1..order.len()).rev() {
            order.swap(left, next() as usize % (left + 1));
        }
        for pair in order.windows(2) {
            let (from, to) = (nodes[pair[0]], nodes[pair[1]]);
            assert_eq!(hip!(hip, hipGraphAddDependencies(graph, &from, &to, 1)), OK);
        }
        assert_eq!(hip.run_once(graph), OK);
        assert_eq!(fake::take_dispatched().len(), nodes.len());
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}
