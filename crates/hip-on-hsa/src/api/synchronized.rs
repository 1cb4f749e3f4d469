//! Memory housekeeping after a call has waited for work.

use crate::graph;
use crate::memory::pool::pools;
use crate::runtime::Runtime;

/// Pools shrink to their release thresholds, and memory freed by graphs is no longer reserved.
pub(crate) fn synchronized(runtime: &Runtime) {
    graph::synchronized(runtime);
    pools(runtime).synchronized(runtime);
}
