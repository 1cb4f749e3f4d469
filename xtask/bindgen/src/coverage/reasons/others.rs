//! rocBLAS and RCCL, which have no safe crate yet.

use super::Topic;

pub(super) static TOPICS: &[Topic] = &[
    Topic {
        library: "rocBLAS",
        name: "64-bit",
        reason: "planned with the safe crate `rocblas`; as the functions without `_64`, for sizes beyond 32 bits",
        patterns: &["rocblas_*_64"],
    },
    Topic {
        library: "rocBLAS",
        name: "BLAS",
        reason: "planned: the safe crate `rocblas`",
        patterns: &["rocblas_*"],
    },
    Topic {
        library: "RCCL",
        name: "profilers",
        reason: "second names of the functions without `p`, for tools that replace those: not planned",
        patterns: &["pmsccl*", "pnccl*"],
    },
    Topic {
        library: "RCCL",
        name: "MSCCL",
        reason: "algorithms of one's own, in files: not planned",
        patterns: &["msccl*"],
    },
    Topic {
        library: "RCCL",
        name: "collectives",
        reason: "planned: the safe crate `rccl`",
        patterns: &["nccl*"],
    },
];
