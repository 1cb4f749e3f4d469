//! rocBLAS and RCCL.

use super::Topic;

pub(super) static TOPICS: &[Topic] = &[
    Topic {
        library: "rocBLAS",
        name: "64-bit",
        reason: "as the functions without `_64`, for sizes beyond 32 bits",
        patterns: &["rocblas_*_64"],
    },
    Topic {
        library: "rocBLAS",
        name: "BLAS",
        reason: "not wrapped yet; `rocblas::Blas::table` and `as_raw` are there for it",
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
        name: "windows",
        reason: "`rccl::register` serves collectives, and no release of RCCL that is known here has functions for kernels: not planned",
        patterns: &["ncclCommWindow*"],
    },
    Topic {
        library: "RCCL",
        name: "other ways",
        reason: "`rccl::Communicator::all` makes ranks in a group, with a time limit; `broadcast` is in place; drop waits for what is \
                 enqueued; `Communicator::device` and `rccl_sys::Table::version` know the rest",
        patterns: &["ncclBcast", "ncclCommCuDevice", "ncclCommFinalize", "ncclCommInitAll", "ncclGetVersion"],
    },
    Topic {
        library: "RCCL",
        name: "rare",
        reason: "several ids for thousands of ranks, the settings of RCCL's log: not planned",
        patterns: &["ncclCommInitRankScalable", "ncclResetDebugInit"],
    },
];
