//! Every operation of a stream, by host or device, comes after the work that the null stream's rules require,
//! and nothing else.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::sleep;
use std::time::Duration;

use hip_sys::{
    HIP_MEMCPY3D, hip_Memcpy2D, hipChannelFormatDesc, hipChannelFormatKind, hipExtent, hipMemcpy3DBatchOp,
    hipMemcpy3DOperandType, hipMemcpy3DParms, hipMemcpy3DPeerParms, hipMemcpyAttributes, hipMemcpyKind,
    hipMemoryType, hipMemsetParams, hipPitchedPtr, hipStreamBatchMemOpParams, hipStreamBatchMemOpType,
};

use super::*;

const LARGE: usize = 256 << 10;
const PER_THREAD: usize = 2;

/// Places with `LARGE` bytes each, by address: the sources have sevens.
#[derive(Clone, Copy)]
struct Places {
    device: [usize; 2],
    pinned: [usize; 2],
    pageable: [usize; 2],
    /// Handles of arrays with 4 rows of 64 bytes, and where their memory starts.
    arrays: [usize; 2],
    in_arrays: [usize; 2],
}

/// Does something on a stream that sets the first byte of a place to 7; returns the place.
type Operation = fn(Calls, Places, hipStream_t) -> usize;

fn copy(hip: Calls, to: usize, from: usize, size: usize, stream: hipStream_t) -> usize {
    let kind = hipMemcpyKind::hipMemcpyDefault;
    assert_eq!(hip!(hip, hipMemcpyAsync(to as _, from as _, size, kind, stream)), OK);
    to
}

fn rectangle(hip: Calls, to: usize, from: usize, stream: hipStream_t) -> usize {
    let kind = hipMemcpyKind::hipMemcpyDefault;
    assert_eq!(hip!(hip, hipMemcpy2DAsync(to as _, 64, from as _, 48, 16, 3, kind, stream)), OK);
    to
}

unsafe extern "C" fn write_seven(place: *mut c_void) {
    // SAFETY: the place is one of the test's.
    unsafe { AtomicU8::from_ptr(place.cast()) }.store(7, Ordering::Release);
}

unsafe extern "C" fn call_back(_: hipStream_t, _: E, place: *mut c_void) {
    // SAFETY: as of the function.
    unsafe { write_seven(place) };
}

/// Launches a graph of one node.
fn graph(
    hip: Calls,
    stream: hipStream_t,
    add: impl FnOnce(hip_sys::hipGraph_t, &mut hip_sys::hipGraphNode_t) -> E,
) {
    let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
    assert_eq!(hip!(hip, hipGraphCreate(&mut graph, 0)), OK);
    assert_eq!(add(graph, &mut node), OK);
    assert_eq!(hip!(hip, hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0)), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
}

fn graph_copy(hip: Calls, to: usize, from: usize, stream: hipStream_t) -> usize {
    graph(hip, stream, |graph, node| {
        let kind = hipMemcpyKind::hipMemcpyDefault;
        hip!(hip, hipGraphAddMemcpyNode1D(node, graph, null_mut(), 0, to as _, from as _, 4, kind))
    });
    to
}

/// Launches a graph whose copy was changed after it was instantiated.
fn changed_graph_copy(hip: Calls, to: usize, from: usize, stream: hipStream_t) -> usize {
    let kind = hipMemcpyKind::hipMemcpyDefault;
    let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
    assert_eq!(hip!(hip, hipGraphCreate(&mut graph, 0)), OK);
    let place = |address: usize| hipPitchedPtr { ptr: address as _, pitch: 16, xsize: 16, ysize: 1 };
    let extent = hipExtent { width: 4, height: 1, depth: 1 };
    let other = from + 64;
    let mut parameters =
        hipMemcpy3DParms { srcPtr: place(other), dstPtr: place(to + 64), extent, kind, ..Default::default() };
    let added = hip!(hip, hipGraphAddMemcpyNode(&mut node, graph, null_mut(), 0, &parameters));
    assert_eq!(added, OK);
    assert_eq!(hip!(hip, hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0)), OK);
    (parameters.srcPtr, parameters.dstPtr) = (place(from), place(to));
    assert_eq!(hip!(hip, hipGraphExecMemcpyNodeSetParams(exec, node, &mut parameters)), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    to
}

const OPERATIONS: &[(&str, Operation)] = &[
    ("few bytes to a device", |hip, at, s| copy(hip, at.device[1], at.pinned[0], 4, s)),
    ("many bytes to a device", |hip, at, s| copy(hip, at.device[1], at.pinned[0], LARGE, s)),
    ("few bytes of pageable memory to a device", |hip, at, s| copy(hip, at.device[1], at.pageable[0], 4, s)),
    ("many bytes of pageable memory", |hip, at, s| copy(hip, at.device[1], at.pageable[0], LARGE, s)),
    ("few bytes from a device", |hip, at, s| copy(hip, at.pinned[1], at.device[0], 4, s)),
    ("many bytes from a device", |hip, at, s| copy(hip, at.pinned[1], at.device[0], LARGE, s)),
    ("few bytes to pageable memory", |hip, at, s| copy(hip, at.pageable[1], at.device[0], 4, s)),
    ("many bytes to pageable memory", |hip, at, s| copy(hip, at.pageable[1], at.device[0], LARGE, s)),
    ("few bytes on a device", |hip, at, s| copy(hip, at.device[1], at.device[0], 4, s)),
    ("many bytes on a device", |hip, at, s| copy(hip, at.device[1], at.device[0], LARGE, s)),
    ("between pinned memory", |hip, at, s| copy(hip, at.pinned[1], at.pinned[0], 4, s)),
    ("between pageable memory", |hip, at, s| copy(hip, at.pageable[1], at.pageable[0], 4, s)),
    ("pinned to pageable memory", |hip, at, s| copy(hip, at.pageable[1], at.pinned[0], 4, s)),
    ("a rectangle to a device", |hip, at, s| rectangle(hip, at.device[1], at.pinned[0], s)),
    ("a rectangle from a device", |hip, at, s| rectangle(hip, at.pinned[1], at.device[0], s)),
    ("a rectangle to pageable memory", |hip, at, s| rectangle(hip, at.pageable[1], at.device[0], s)),
    ("a rectangle to an array", |hip, at, s| {
        let kind = hipMemcpyKind::hipMemcpyDefault;
        let (to, from) = (at.arrays[1] as _, at.pinned[0] as _);
        assert_eq!(hip!(hip, hipMemcpy2DToArrayAsync(to, 0, 0, from, 48, 16, 3, kind, s)), OK);
        at.in_arrays[1]
    }),
    ("a rectangle from an array", |hip, at, s| {
        let kind = hipMemcpyKind::hipMemcpyDefault;
        let (to, from) = (at.pinned[1] as _, at.arrays[0] as _);
        assert_eq!(hip!(hip, hipMemcpy2DFromArrayAsync(to, 48, from, 0, 0, 16, 3, kind, s)), OK);
        at.pinned[1]
    }),
    ("bytes to an array", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemcpyHtoAAsync(at.arrays[1] as _, 0, at.pageable[0] as _, 4, s)), OK);
        at.in_arrays[1]
    }),
    ("bytes from an array", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemcpyAtoHAsync(at.pageable[1] as _, at.arrays[0] as _, 0, 4, s)), OK);
        at.pageable[1]
    }),
    ("a described rectangle", |hip, at, s| {
        let parameters = hip_Memcpy2D {
            srcMemoryType: hipMemoryType::hipMemoryTypeDevice,
            srcDevice: at.device[0] as _,
            dstMemoryType: hipMemoryType::hipMemoryTypeHost,
            dstHost: at.pinned[1] as _,
            WidthInBytes: 4,
            Height: 2,
            ..Default::default()
        };
        assert_eq!(hip!(hip, hipMemcpyParam2DAsync(&parameters, s)), OK);
        at.pinned[1]
    }),
    ("a box", |hip, at, s| {
        let place = |address: usize| hipPitchedPtr { ptr: address as _, pitch: 16, xsize: 16, ysize: 2 };
        let parameters = hipMemcpy3DParms {
            srcPtr: place(at.pinned[0]),
            dstPtr: place(at.device[1]),
            extent: hipExtent { width: 4, height: 2, depth: 2 },
            kind: hipMemcpyKind::hipMemcpyHostToDevice,
            ..Default::default()
        };
        assert_eq!(hip!(hip, hipMemcpy3DAsync(&parameters, s)), OK);
        at.device[1]
    }),
    ("a described box", |hip, at, s| {
        let parameters = HIP_MEMCPY3D {
            srcMemoryType: hipMemoryType::hipMemoryTypeDevice,
            srcDevice: at.device[0] as _,
            dstMemoryType: hipMemoryType::hipMemoryTypeDevice,
            dstDevice: at.device[1] as _,
            WidthInBytes: 4,
            Height: 2,
            Depth: 2,
            ..Default::default()
        };
        assert_eq!(hip!(hip, hipDrvMemcpy3DAsync(&parameters, s)), OK);
        at.device[1]
    }),
    ("a box between devices", |hip, at, s| {
        let place = |address: usize| hipPitchedPtr { ptr: address as _, pitch: 16, xsize: 16, ysize: 2 };
        let mut parameters = hipMemcpy3DPeerParms {
            srcPtr: place(at.device[0]),
            dstPtr: place(at.device[1]),
            extent: hipExtent { width: 4, height: 2, depth: 2 },
            ..Default::default()
        };
        assert_eq!(hip!(hip, hipMemcpy3DPeerAsync(&mut parameters, s)), OK);
        at.device[1]
    }),
    ("a copy between devices", |hip, at, s| {
        let (to, from) = (at.device[1], at.device[0]);
        assert_eq!(hip!(hip, hipMemcpyPeerAsync(to as _, 0, from as _, 0, 4, s)), OK);
        to
    }),
    ("a copy to a device", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemcpyHtoDAsync(at.device[1] as _, at.pinned[0] as _, 4, s)), OK);
        at.device[1]
    }),
    ("a copy from a device", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemcpyDtoHAsync(at.pinned[1] as _, at.device[0] as _, 4, s)), OK);
        at.pinned[1]
    }),
    ("a copy on a device", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemcpyDtoDAsync(at.device[1] as _, at.device[0] as _, 4, s)), OK);
        at.device[1]
    }),
    ("a batch of copies", |hip, at, s| {
        let (mut to, mut from) = ([at.device[1] as *mut c_void], [at.pinned[0] as *mut c_void]);
        let (mut size, mut first, mut failed) = ([4], [0], 0);
        let mut attributes = [hipMemcpyAttributes::default()];
        let (to, from, size) = (to.as_mut_ptr(), from.as_mut_ptr(), size.as_mut_ptr());
        let (attributes, first) = (attributes.as_mut_ptr(), first.as_mut_ptr());
        let code = hip!(hip, hipMemcpyBatchAsync(to, from, size, 1, attributes, first, 1, &mut failed, s));
        assert_eq!(code, OK);
        at.device[1]
    }),
    ("a batch of boxes", |hip, at, s| {
        let extent = hipExtent { width: 4, height: 2, depth: 1 };
        let mut op = hipMemcpy3DBatchOp { extent, ..Default::default() };
        op.src.type_ = hipMemcpy3DOperandType::hipMemcpyOperandTypePointer;
        op.src.op.ptr.ptr = at.device[0] as _;
        op.dst.type_ = hipMemcpy3DOperandType::hipMemcpyOperandTypePointer;
        op.dst.op.ptr.ptr = at.pinned[1] as _;
        let mut failed = 0;
        assert_eq!(hip!(hip, hipMemcpy3DBatchAsync(1, &mut op, &mut failed, 0, s)), OK);
        at.pinned[1]
    }),
    ("a copy that is waited for", |hip, at, s| {
        let (to, from, kind) = (at.pinned[1], at.device[0], hipMemcpyKind::hipMemcpyDeviceToHost);
        assert_eq!(hip!(hip, hipMemcpyWithStream(to as _, from as _, 4, kind, s)), OK);
        to
    }),
    ("a fill of few bytes", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemsetAsync(at.device[1] as _, 7, 4, s)), OK);
        at.device[1]
    }),
    ("a fill of words", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemsetD32Async(at.device[1] as _, 7, 1 << 16, s)), OK);
        at.device[1]
    }),
    ("a fill of host memory", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemsetAsync(at.pinned[1] as _, 7, 4, s)), OK);
        at.pinned[1]
    }),
    ("a fill of a rectangle", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemset2DAsync(at.device[1] as _, 64, 7, 16, 3, s)), OK);
        at.device[1]
    }),
    ("a fill of a box", |hip, at, s| {
        let place = hipPitchedPtr { ptr: at.device[1] as _, pitch: 16, xsize: 16, ysize: 2 };
        let extent = hipExtent { width: 4, height: 2, depth: 2 };
        assert_eq!(hip!(hip, hipMemset3DAsync(place, 7, extent, s)), OK);
        at.device[1]
    }),
    ("a fill of bytes", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemsetD8Async(at.device[1] as _, 7, 5, s)), OK);
        at.device[1]
    }),
    ("a fill of halves", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemsetD16Async(at.device[1] as _, 7, 5, s)), OK);
        at.device[1]
    }),
    ("a fill of rows of bytes", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemsetD2D8Async(at.device[1] as _, 64, 7, 16, 3, s)), OK);
        at.device[1]
    }),
    ("a fill of rows of halves", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemsetD2D16Async(at.device[1] as _, 64, 7, 16, 3, s)), OK);
        at.device[1]
    }),
    ("a fill of rows of words", |hip, at, s| {
        assert_eq!(hip!(hip, hipMemsetD2D32Async(at.device[1] as _, 64, 7, 16, 3, s)), OK);
        at.device[1]
    }),
    ("a host function", |hip, at, s| {
        assert_eq!(hip!(hip, hipLaunchHostFunc(s, Some(write_seven), at.pageable[1] as _)), OK);
        at.pageable[1]
    }),
    ("a callback", |hip, at, s| {
        assert_eq!(hip!(hip, hipStreamAddCallback(s, Some(call_back), at.pageable[1] as _, 0)), OK);
        at.pageable[1]
    }),
    ("a value", |hip, at, s| {
        assert_eq!(hip!(hip, hipStreamWriteValue32(s, at.pinned[1] as _, 7, 0)), OK);
        at.pinned[1]
    }),
    ("a long value", |hip, at, s| {
        assert_eq!(hip!(hip, hipStreamWriteValue64(s, at.pinned[1] as _, 7, 0)), OK);
        at.pinned[1]
    }),
    ("a batch of values", |hip, at, s| {
        let mut params = hipStreamBatchMemOpParams::default();
        params.writeValue.operation = hipStreamBatchMemOpType::hipStreamMemOpWriteValue32;
        params.writeValue.address = at.pinned[1] as _;
        params.writeValue.__bindgen_anon_1.value = 7;
        assert_eq!(hip!(hip, hipStreamBatchMemOp(s, 1, &mut params, 0)), OK);
        at.pinned[1]
    }),
    ("a changed copy of a graph", |hip, at, s| changed_graph_copy(hip, at.device[1], at.device[0], s)),
    ("a changed copy of a graph from pinned memory", |hip, at, s| {
        changed_graph_copy(hip, at.device[1], at.pinned[0], s)
    }),
    ("a changed copy of a graph to pinned memory", |hip, at, s| {
        changed_graph_copy(hip, at.pinned[1], at.device[0], s)
    }),
    ("a graph's copy", |hip, at, s| graph_copy(hip, at.device[1], at.device[0], s)),
    ("a graph's copy from pageable memory", |hip, at, s| graph_copy(hip, at.device[1], at.pageable[0], s)),
    ("a graph's copy to pageable memory", |hip, at, s| graph_copy(hip, at.pageable[1], at.device[0], s)),
    ("a graph's copy between pinned memory", |hip, at, s| graph_copy(hip, at.pinned[1], at.pinned[0], s)),
    ("a graph's fill", |hip, at, s| {
        graph(hip, s, |graph, node| {
            let parameters = hipMemsetParams {
                dst: at.device[1] as _,
                elementSize: 1,
                height: 1,
                pitch: 4,
                value: 7,
                width: 4,
            };
            hip!(hip, hipGraphAddMemsetNode(node, graph, null_mut(), 0, &parameters))
        });
        at.device[1]
    }),
    ("a graph's host function", |hip, at, s| {
        graph(hip, s, |graph, node| {
            let parameters =
                hip_sys::hipHostNodeParams { fn_: Some(write_seven), userData: at.pageable[1] as _ };
            hip!(hip, hipGraphAddHostNode(node, graph, null_mut(), 0, &parameters))
        });
        at.pageable[1]
    }),
];

/// Functions that are not among [`OPERATIONS`].
const OTHERS: [(&str, &str); 8] = [
    ("hipFreeAsync", "`mem_pools`: what reuses memory comes after its free"),
    ("hipMallocAsync", "the same"),
    ("hipMallocFromPoolAsync", "the same"),
    ("hipMemPrefetchAsync", "a hint"),
    ("hipMemPrefetchAsync_v2", "a hint"),
    ("hipMemcpyFromSymbolAsync", "the random programs of libamdhip64: the copy is that of `hipMemcpyAsync`"),
    ("hipMemcpyToSymbolAsync", "the same"),
    ("hipStreamAttachMemAsync", "a hint"),
];

#[test]
fn every_function_that_does_something_on_a_stream_is_among_the_operations() {
    let of_streams = ["hipGraphLaunch", "hipLaunchHostFunc", "hipMemcpyWithStream", "hipStreamAddCallback"];
    let of_values = ["hipStreamBatchMemOp", "hipStreamWriteValue32", "hipStreamWriteValue64"];
    let source: String = include_str!("order.rs").split_whitespace().collect();
    let mut count = 0;
    for name in crate::FUNCTIONS {
        // The same functions on another stream.
        let plain = name.strip_suffix("_spt").unwrap_or(name);
        if !plain.contains("Async") && !of_streams.contains(&plain) && !of_values.contains(&plain) {
            continue;
        }
        count += 1;
        let is_called = source.contains(&format!("hip!(hip,{plain}("));
        let is_other = OTHERS.iter().any(|(other, _)| *other == plain);
        assert!(is_called != is_other, "{name}");
    }
    assert!(count > 40, "{count}");
}

/// The byte at the place.
fn look(address: usize) -> u8 {
    // SAFETY: the place is one of the test's, and the fake's device memory is the host's.
    unsafe { AtomicU8::from_ptr(address as *mut u8) }.load(Ordering::Acquire)
}

impl Places {
    fn new(hip: &Hip) -> Self {
        let pinned = || {
            let mut pointer = null_mut();
            assert_eq!(hip!(hip, hipHostMalloc(&mut pointer, LARGE, 0)), OK);
            pointer as usize
        };
        let pageable = || Box::leak(vec![0u8; LARGE].into_boxed_slice()).as_mut_ptr() as usize;
        let array = || {
            let kind = hipChannelFormatKind::hipChannelFormatKindUnsigned;
            let format = hipChannelFormatDesc { x: 8, y: 0, z: 0, w: 0, f: kind };
            let mut array = null_mut();
            assert_eq!(hip!(hip, hipMallocArray(&mut array, &format, 64, 4, 0)), OK);
            array as usize
        };
        let arrays = [array(), array()];
        let in_arrays = arrays.map(|handle| {
            let array = crate::object::array::arrays(crate::runtime::active().unwrap()).get(handle as _);
            let whole = hipExtent { width: 64, height: 4, depth: 1 };
            array.unwrap().part([0; 3], whole).unwrap().start
        });
        let places = Self {
            arrays,
            in_arrays,
            device: [hip.malloc(LARGE) as usize, hip.malloc(LARGE) as usize],
            pinned: [pinned(), pinned()],
            pageable: [pageable(), pageable()],
        };
        for [source, target] in [places.device, places.pinned, places.pageable] {
            // SAFETY: the places have as many bytes, which nothing else uses.
            unsafe {
                (source as *mut u8).write_bytes(7, LARGE);
                (target as *mut u8).write_bytes(0, LARGE);
            }
        }
        // SAFETY: as above; rows of arrays take 256 bytes.
        unsafe { (in_arrays[0] as *mut u8).write_bytes(7, 1024) };
        places.clear();
        places
    }

    fn clear(self) {
        for target in [self.device[1], self.pinned[1], self.pageable[1]] {
            // SAFETY: as above; all streams are idle.
            unsafe { (target as *mut u8).write_bytes(0, LARGE) };
        }
        // SAFETY: as above.
        unsafe { (self.in_arrays[1] as *mut u8).write_bytes(0, 1024) };
    }

    fn free(self, hip: &Hip) {
        for array in self.arrays {
            assert_eq!(hip!(hip, hipFreeArray(array as _)), OK);
        }
        for place in self.device {
            hip.free(place as _);
        }
        for place in self.pinned {
            assert_eq!(hip!(hip, hipHostFree(place as *mut c_void)), OK);
        }
        for place in self.pageable {
            let bytes = std::ptr::slice_from_raw_parts_mut(place as *mut u8, LARGE);
            // SAFETY: leaked above, as many bytes.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }
}

/// Streams by handle, newly created or not.
struct Pair {
    /// The stream with endless work.
    busy: usize,
    /// The stream with the operation.
    other: usize,
}

/// Does a named operation on one stream of a pair, while the other one is blocked.
type Check = fn(&Hip, &str, Pair, Places, Operation, Hold);

/// Does each operation on a stream while the other one of the pair is busy.
fn each(pair: fn(&Hip) -> Pair, check: Check) {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let places = Places::new(&hip);
    for &(name, operation) in OPERATIONS {
        let streams = pair(&hip);
        let ends = [streams.busy, streams.other].map(|stream| stream > PER_THREAD);
        let (first, second) = (streams.busy, streams.other);
        let hold = Hold::new();
        assert_eq!(hip.launch(work, first as _), OK);
        check(&hip, name, streams, places, operation, hold);
        for (stream, ends) in [first, second].into_iter().zip(ends) {
            assert_eq!(if ends { hip!(hip, hipStreamDestroy(stream as _)) } else { OK }, OK);
        }
        assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
        places.clear();
    }
    places.free(&hip);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

/// The operation takes effect only after the busy stream is released.
fn waits(hip: &Hip, name: &str, streams: Pair, places: Places, operation: Operation, hold: Hold) {
    let other = streams.other;
    let done = begin(hip, move |hip| {
        let place = operation(hip, places, other as _);
        assert_eq!(hip!(hip, hipStreamSynchronize(other as _)), OK);
        place
    });
    let targets = [places.device[1], places.pinned[1], places.pageable[1], places.in_arrays[1]];
    sleep(Duration::from_millis(5));
    for place in targets {
        assert_eq!(look(place), 0, "{name} is early");
    }
    drop(hold);
    let place = done.recv_timeout(Duration::from_secs(60)).expect("it ends");
    assert_eq!(look(place), 7, "{name}");
}

/// The operation ends although the busy stream does not.
fn goes_on(hip: &Hip, name: &str, streams: Pair, places: Places, operation: Operation, hold: Hold) {
    let other = streams.other;
    let place = within(hip, 60, move |hip| {
        let place = operation(hip, places, other as _);
        assert_eq!(hip!(hip, hipStreamSynchronize(other as _)), OK);
        place
    });
    assert_eq!(look(place), 7, "{name}");
    drop(hold);
}

#[test]
fn everything_on_a_blocking_stream_waits_for_the_null_stream() {
    each(|hip| Pair { busy: 0, other: hip.stream(0) as usize }, waits);
}

#[test]
fn everything_on_a_threads_own_stream_waits_for_the_null_stream() {
    each(|_| Pair { busy: 0, other: PER_THREAD }, waits);
}

#[test]
fn everything_on_the_null_stream_waits_for_blocking_streams() {
    each(|hip| Pair { busy: hip.stream(0) as usize, other: 0 }, waits);
}

#[test]
fn everything_on_the_null_stream_waits_for_threads_own_streams() {
    each(|_| Pair { busy: PER_THREAD, other: 0 }, waits);
}

#[test]
fn nothing_on_a_non_blocking_stream_waits_for_the_null_stream() {
    each(|hip| Pair { busy: 0, other: hip.stream(hip_sys::hipStreamNonBlocking) as usize }, goes_on);
}

#[test]
fn nothing_on_the_null_stream_waits_for_a_non_blocking_stream() {
    each(|hip| Pair { busy: hip.stream(hip_sys::hipStreamNonBlocking) as usize, other: 0 }, goes_on);
}

#[test]
fn nothing_on_a_blocking_stream_waits_for_another_one() {
    each(|hip| Pair { busy: hip.stream(0) as usize, other: hip.stream(0) as usize }, goes_on);
}

#[test]
fn copies_between_places_of_a_device_are_not_waited_for() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let places = Places::new(&hip);
    let [from, to] = places.device;
    let kind = hipMemcpyKind::hipMemcpyDefault;
    let rectangle = hip_Memcpy2D {
        srcMemoryType: hipMemoryType::hipMemoryTypeDevice,
        srcDevice: from as _,
        dstMemoryType: hipMemoryType::hipMemoryTypeDevice,
        dstDevice: to as _,
        WidthInBytes: 4,
        Height: 2,
        ..Default::default()
    };
    let place = |address: usize| hipPitchedPtr { ptr: address as _, pitch: 16, xsize: 16, ysize: 2 };
    let cuboid = hipMemcpy3DParms {
        srcPtr: place(from),
        dstPtr: place(to),
        extent: hipExtent { width: 4, height: 2, depth: 2 },
        kind,
        ..Default::default()
    };
    let calls: [&dyn Fn() -> E; 6] = [
        &|| hip!(hip, hipMemcpy(to as _, from as _, LARGE, kind)),
        &|| hip!(hip, hipMemcpyWithStream(to as _, from as _, 4, kind, NULL)),
        &|| hip!(hip, hipMemcpyDtoD(to as _, from as _, 4)),
        &|| hip!(hip, hipMemcpy2D(to as _, 8, from as _, 8, 4, 2, kind)),
        &|| hip!(hip, hipMemcpyParam2D(&rectangle)),
        &|| hip!(hip, hipMemcpy3D(&cuboid)),
    ];
    for (index, call) in calls.iter().enumerate() {
        let hold = Hold::new();
        assert_eq!(hip.launch(work, NULL), OK);
        assert_eq!((call(), look(to)), (OK, 0), "{index}");
        drop(hold);
        assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
        assert_eq!(look(to), 7, "{index}");
        places.clear();
    }
    places.free(&hip);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

static GATE: AtomicU8 = AtomicU8::new(0);

unsafe extern "C" fn gate(_: *mut c_void) {
    while GATE.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn what_a_failed_null_stream_was_to_wait_for_comes_before_what_the_host_does_next() {
    let hip = start();
    let module = hip.load(5);
    let (work, stop) = (hip.function(module, "work"), hip.function(module, "stop"));
    let (free, event, places) = (hip.stream(hip_sys::hipStreamNonBlocking), hip.event(), Places::new(&hip));
    GATE.store(0, Ordering::Release);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, free), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, free)), OK);
    assert_eq!(hip!(hip, hipLaunchHostFunc(NULL, Some(gate), null_mut())), OK);
    assert_eq!(hip.launch(stop, NULL), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(NULL, event, 0)), OK);
    GATE.store(1, Ordering::Release);
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), E::hipErrorLaunchFailure);
    let done = begin(&hip, move |hip| {
        copy(hip, places.pinned[1], places.device[0], 4, NULL);
        assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
    });
    sleep(Duration::from_millis(5));
    assert_eq!(look(places.pinned[1]), 0);
    drop(hold);
    done.recv_timeout(Duration::from_secs(60)).expect("it ends");
    assert_eq!(look(places.pinned[1]), 7);
    places.free(&hip);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipStreamDestroy(free)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
    let _ = hip!(hip, hipGetLastError());
}
