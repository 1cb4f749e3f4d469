//! Graphs: creating and destroying.

use hip_sys::{hipError_t, hipGraph_t};

use crate::caller;
use crate::error::entry;
use crate::graph::structure::{Graph, graphs};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipGraphCreate`.
pub(crate) unsafe extern "C" fn hipGraphCreate(out: *mut hipGraph_t, flags: u32) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        *out = Graph::new().publish(runtime)?;
        Ok(())
    })
}

/// `hipGraphDestroy`: executable graphs created from it stay. The graph of a node ends only with the node;
/// one that has ended gives `hipErrorIllegalState`.
pub(crate) unsafe extern "C" fn hipGraphDestroy(handle: hipGraph_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if handle.is_null() {
            return Err(INVALID_VALUE);
        }
        let name = graphs(runtime).get(handle as usize).ok_or(hipError_t::hipErrorIllegalState)?;
        name.owned.as_ref().ok_or(INVALID_VALUE)?.unpublish(runtime)
    })
}
