//! Executable graphs: creating, launching, destroying.

use std::ffi::c_char;
use std::sync::Arc;

use hip_sys::{
    hipError_t, hipGraph_t, hipGraphExec_t, hipGraphInstantiateParams, hipGraphInstantiateResult,
    hipGraphNode_t, hipStream_t,
};

use crate::caller;
use crate::devices::stream::resolve;
use crate::error::entry;
use crate::graph::capture::Capturing;
use crate::graph::exec::{AUTO_FREE, Exec, NODE_PRIORITY, UPLOAD, exec, graph_execs};
use crate::graph::op::Op;
use crate::graph::steps::{Refusal, failed, flatten};
use crate::graph::structure::{Graph, graph, handle_within};
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

fn instantiate(
    runtime: &'static Runtime,
    graph: &Graph,
    flags: u64,
) -> std::result::Result<hipGraphExec_t, Refusal> {
    let exec = Arc::new(Exec::new(runtime, graph, flags)?);
    match graph_execs(runtime).insert(exec) {
        Some(handle) => Ok(handle as hipGraphExec_t),
        None => Err(failed(hipError_t::hipErrorOutOfMemory)),
    }
}

/// The handle of the node that caused a refusal.
fn refused_node(graph: &Graph, refusal: &Refusal) -> hipGraphNode_t {
    let id = refusal.node.and_then(|place| Some(flatten(graph).ok()?.get(place)?.id));
    let handle = id.and_then(|id| handle_within(graph, id));
    handle.unwrap_or(0) as hipGraphNode_t
}

/// `hipGraphInstantiate`: `hipErrorInvalidValue` if there is a cycle. The log buffer gets a text.
pub(crate) unsafe extern "C" fn hipGraphInstantiate(
    out: *mut hipGraphExec_t,
    handle: hipGraph_t,
    error_node: *mut hipGraphNode_t,
    log: *mut c_char,
    size: usize,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        let graph = graph(runtime, handle)?;
        let done = instantiate(runtime, &graph, 0);
        let (node, text) = match &done {
            Ok(_) => (std::ptr::null_mut(), String::new()),
            Err(refusal) => (refused_node(&graph, refusal), format!("{:?}", refusal.result)),
        };
        // SAFETY: the caller passes null or valid places; the log has `size` bytes.
        unsafe {
            caller::store_optional(error_node, node)?;
            if !log.is_null() && size != 0 {
                caller::put_text(log, size, &text)?;
            }
        }
        *out = done?;
        Ok(())
    })
}

/// `hipGraphInstantiateWithFlags`: launches by device code are not supported; priorities of nodes have no
/// effect.
pub(crate) unsafe extern "C" fn hipGraphInstantiateWithFlags(
    out: *mut hipGraphExec_t,
    handle: hipGraph_t,
    flags: u64,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // AMD's runtime accepts the others only in the parameters of the function below.
        if flags & !(AUTO_FREE | NODE_PRIORITY) != 0 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        *out = instantiate(runtime, &*graph(runtime, handle)?, flags)?;
        Ok(())
    })
}

/// `hipGraphInstantiateWithParams`: the structure gets the reason and the node of a failure.
pub(crate) unsafe extern "C" fn hipGraphInstantiateWithParams(
    out: *mut hipGraphExec_t,
    handle: hipGraph_t,
    parameters: *mut hipGraphInstantiateParams,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (out, parameters) = unsafe { (caller::place(out)?, caller::place(parameters)?) };
        let graph = graph(runtime, handle)?;
        if parameters.flags & UPLOAD != 0 {
            resolve(runtime, parameters.uploadStream)?;
        }
        match instantiate(runtime, &graph, parameters.flags) {
            Ok(handle) => {
                parameters.result_out = hipGraphInstantiateResult::hipGraphInstantiateSuccess;
                parameters.errNode_out = std::ptr::null_mut();
                *out = handle;
                Ok(())
            }
            Err(refusal) => {
                parameters.result_out = refusal.result;
                parameters.errNode_out = refused_node(&graph, &refusal);
                Err(refusal.code)
            }
        }
    })
}

/// `hipGraphExecDestroy`: launches in flight finish.
pub(crate) unsafe extern "C" fn hipGraphExecDestroy(handle: hipGraphExec_t) -> hipError_t {
    entry(|| graph_execs(active()?).remove(handle as usize).map(drop).ok_or(INVALID_VALUE))
}

/// `hipGraphLaunch`: on a stream of any device. On a captured stream, the graph becomes a child of the
/// captured one.
pub(crate) unsafe extern "C" fn hipGraphLaunch(handle: hipGraphExec_t, stream: hipStream_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let exec = exec(runtime, handle)?;
        let stream = resolve(runtime, stream)?;
        match Capturing::of(&stream)? {
            Some(capture) => capture.add(Op::Child(exec.to_graph()?)),
            None => exec.launch(&stream),
        }
    })
}

/// `hipGraphUpload`: prepares the next launch.
pub(crate) unsafe extern "C" fn hipGraphUpload(handle: hipGraphExec_t, stream: hipStream_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let exec = exec(runtime, handle)?;
        resolve(runtime, stream)?;
        exec.lock().prepare(runtime)
    })
}

/// `hipGraphExecGetFlags`.
pub(crate) unsafe extern "C" fn hipGraphExecGetFlags(handle: hipGraphExec_t, flags: *mut u64) -> hipError_t {
    entry(|| {
        let exec = exec(active()?, handle)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(flags) }? = exec.flags;
        Ok(())
    })
}
