//! Errors of starting the runtime.

use hsa_sys::hsa_status_t;

/// Why the runtime could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process already runs HIP over another HSA table.
    #[error("HIP already runs over another HSA implementation in this process; there can be only one")]
    OtherTable,
    /// The HSA table lacks required functions.
    #[error("the HSA implementation lacks {}", .0.join(", "))]
    MissingFunctions(
        /// Their names.
        Vec<&'static str>,
    ),
    /// An HSA call failed.
    #[error("{call}: {status:?}")]
    Hsa {
        /// The function.
        call: &'static str,
        /// Its result.
        status: hsa_status_t,
    },
    /// HSA could not list its agents or their memory.
    #[error("HSA cannot list its agents and memory pools")]
    Enumeration,
    /// HSA shows no CPU agent, whose memory the runtime needs.
    #[error("HSA shows no CPU agent")]
    NoCpuAgent,
    /// The CPU agent has no memory pool of a kind.
    #[error("the CPU agent has no memory pool for {0}")]
    NoHostPool(
        /// What the pool is for.
        &'static str,
    ),
}
