//! Stream capture: beginning, ending, querying.

use std::sync::Arc;

use hip_sys::{
    hipError_t, hipGraph_t, hipGraphEdgeData, hipGraphNode_t, hipStream_t, hipStreamCaptureMode,
    hipStreamCaptureStatus, hipStreamUpdateCaptureDependenciesFlags as UpdateFlags,
};

use crate::caller;
use crate::devices::stream::{Stream, resolve};
use crate::error::{Result, entry};
use crate::graph::capture::{Capture, THREAD_MODE, begin, discard, is_implicit, lock, remove};
use crate::graph::structure::{Graph, graph, node_list};
use crate::runtime::active;

type Mode = hipStreamCaptureMode;
type Status = hipStreamCaptureStatus;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALIDATED: hipError_t = hipError_t::hipErrorStreamCaptureInvalidated;
const IMPLICIT: hipError_t = hipError_t::hipErrorStreamCaptureImplicit;
const ILLEGAL_STATE: hipError_t = hipError_t::hipErrorIllegalState;

/// `hipStreamBeginCapture`: any stream but the null stream.
pub(crate) unsafe extern "C" fn hipStreamBeginCapture(stream: hipStream_t, mode: Mode) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        begin(runtime, stream, mode, || {
            let graph = Graph::new();
            graph.publish(runtime)?;
            Ok((graph, Vec::new(), true))
        })
    })
}

/// `hipStreamBeginCaptureToGraph`: edge data is not supported. An empty list may be null.
pub(crate) unsafe extern "C" fn hipStreamBeginCaptureToGraph(
    stream: hipStream_t,
    handle: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    data: *const hipGraphEdgeData,
    count: usize,
    mode: Mode,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if !data.is_null() {
            return Err(hipError_t::hipErrorNotSupported);
        }
        let graph = graph(runtime, handle)?;
        if dependencies.is_null() != (count == 0) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's list has as many handles.
        let tips = unsafe { node_list(runtime, &graph, dependencies, count) }?;
        begin(runtime, stream, mode, || Ok((graph, tips, false)))
    })
}

/// `hipStreamEndCapture`: null and an error if the capture is invalid, has work that the stream has not
/// joined, or lacks a failed launch without a result.
pub(crate) unsafe extern "C" fn hipStreamEndCapture(stream: hipStream_t, out: *mut hipGraph_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        let mut captures = lock();
        let index = captures.iter().position(|capture| capture.holds(&stream)).ok_or(ILLEGAL_STATE)?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        *out = std::ptr::null_mut();
        let capture = &captures[index];
        if !capture.members.first().is_some_and(|origin| origin.is(&stream)) {
            return Err(hipError_t::hipErrorStreamCaptureUnmatched);
        }
        let relaxed = capture.mode == Mode::hipStreamCaptureModeRelaxed;
        if !relaxed && capture.thread != std::thread::current().id() {
            return Err(hipError_t::hipErrorStreamCaptureWrongThread);
        }
        let capture = remove(&mut captures, index);
        drop(captures);
        let Some((origin, others)) = capture.members.split_first() else { return Err(INVALIDATED) };
        let result = if capture.invalid {
            Err(INVALIDATED)
        } else if !others.iter().all(|other| capture.graph.leads_to(&other.tips, &origin.tips)) {
            Err(hipError_t::hipErrorStreamCaptureUnjoined)
        } else {
            let handle = capture.graph.handle();
            if handle.is_null() { Err(INVALIDATED) } else { Ok(handle) }
        };
        match result.and_then(|handle| capture.unseen.report().map(|()| handle)) {
            Ok(handle) => {
                *out = handle;
                Ok(())
            }
            Err(code) => {
                discard(capture);
                Err(code)
            }
        }
    })
}

/// The answer of `hipStreamIsCapturing` and similar functions.
fn look<T>(
    stream: hipStream_t,
    found: impl FnOnce(&mut Capture, &Arc<Stream>) -> T,
    none: impl FnOnce() -> T,
) -> Result<T> {
    let runtime = active()?;
    let stream = resolve(runtime, stream)?;
    let mut captures = lock();
    if let Some(capture) = captures.iter_mut().find(|capture| capture.holds(&stream)) {
        return Ok(found(capture, &stream));
    }
    if captures.iter().any(|capture| is_implicit(capture, &stream)) {
        return Err(IMPLICIT);
    }
    Ok(none())
}

/// `hipStreamIsCapturing`.
pub(crate) unsafe extern "C" fn hipStreamIsCapturing(stream: hipStream_t, out: *mut Status) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = look(stream, |capture, _| capture.status(), || Status::hipStreamCaptureStatusNone)?;
        Ok(())
    })
}

/// `hipStreamGetCaptureInfo`: the number may be null, and is written while the stream is captured.
pub(crate) unsafe extern "C" fn hipStreamGetCaptureInfo(
    stream: hipStream_t,
    status: *mut Status,
    id: *mut u64,
) -> hipError_t {
    // SAFETY: the caller passes null or valid places.
    unsafe {
        hipStreamGetCaptureInfo_v2(
            stream,
            status,
            id,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    }
}

/// `hipStreamGetCaptureInfo_v2`: all but the status may be null. The list is valid until the next call on the
/// stream.
pub(crate) unsafe extern "C" fn hipStreamGetCaptureInfo_v2(
    stream: hipStream_t,
    status: *mut Status,
    id: *mut u64,
    graph: *mut hipGraph_t,
    dependencies: *mut *const hipGraphNode_t,
    count: *mut usize,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid places.
        let status = unsafe { caller::place(status) }?;
        // SAFETY: the caller passes null or valid places.
        let (id, graph, dependencies, count) = unsafe {
            (
                caller::optional_place(id)?,
                caller::optional_place(graph)?,
                caller::optional_place(dependencies)?,
                caller::optional_place(count)?,
            )
        };
        let found = |capture: &mut Capture, stream: &Arc<Stream>| {
            let (number, current, shown) = (capture.id, capture.status(), capture.graph.clone());
            let mut list = (std::ptr::null(), 0);
            if let Some(member) = capture.member(stream) {
                let nodes = shown.nodes();
                let handles = member.tips.iter().filter_map(|id| nodes.get(id));
                member.shown = handles.map(|node| node.handle as hipGraphNode_t).collect();
                list = (member.shown.as_ptr(), member.shown.len());
            }
            if let Some(id) = id {
                *id = number;
            }
            if let Some(graph) = graph {
                *graph = shown.handle();
            }
            if let Some(dependencies) = dependencies {
                *dependencies = list.0;
            }
            if let Some(count) = count {
                *count = list.1;
            }
            current
        };
        *status = look(stream, found, || Status::hipStreamCaptureStatusNone)?;
        Ok(())
    })
}

/// `hipStreamUpdateCaptureDependencies`: extends or replaces the nodes that the stream's next node waits for.
pub(crate) unsafe extern "C" fn hipStreamUpdateCaptureDependencies(
    stream: hipStream_t,
    dependencies: *mut hipGraphNode_t,
    count: usize,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        let mut captures = lock();
        let capture = captures.iter_mut().find(|capture| capture.holds(&stream)).ok_or(ILLEGAL_STATE)?;
        let replace = match UpdateFlags(flags) {
            UpdateFlags::hipStreamAddCaptureDependencies => false,
            UpdateFlags::hipStreamSetCaptureDependencies => true,
            _ => return Err(INVALID_VALUE),
        };
        if capture.invalid {
            return Err(INVALIDATED);
        }
        // SAFETY: the caller's list has as many handles.
        let ids = unsafe { node_list(runtime, &capture.graph, dependencies, count) }?;
        let member = capture.member(&stream).ok_or(ILLEGAL_STATE)?;
        if replace {
            member.tips.clear();
        }
        for id in ids {
            if !member.tips.contains(&id) {
                member.tips.push(id);
            }
        }
        Ok(())
    })
}

/// `hipThreadExchangeStreamCaptureMode`.
pub(crate) unsafe extern "C" fn hipThreadExchangeStreamCaptureMode(mode: *mut Mode) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let mode = unsafe { caller::place(mode) }?;
        if mode.0 > Mode::hipStreamCaptureModeRelaxed.0 {
            return Err(INVALID_VALUE);
        }
        *mode = THREAD_MODE.replace(*mode);
        Ok(())
    })
}
