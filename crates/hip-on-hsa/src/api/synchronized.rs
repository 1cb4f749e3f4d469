//! What a call does for memory besides, once it has waited for work.

use crate::graph;
use crate::memory::pool::pools;
use crate::runtime::Runtime;

/// Pools go down to their release thresholds, and what graphs have freed is no longer reserved.
pub(crate) fn synchronized(runtime: &Runtime) {
    graph::synchronized(runtime);
    pools(runtime).synchronized(runtime);
}
