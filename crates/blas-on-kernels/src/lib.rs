//! The rocBLAS function table over this project's own kernels and any HIP table.
//!
//! [`table`] takes a HIP implementation, AMD's own or the one over the virtual GPU, and gives BLAS on top of it, on machines where nobody has
//! installed rocBLAS. [`functions`] lists what is there; every other function of the table returns `rocblas_status_not_implemented`, and
//! `Table::has` tells the two apart. `docs/internals/blas-on-kernels.md` says which those are, and why.
//!
//! ```no_run
//! let hip = hip_sys::Table::load()?;
//! let blas = blas_on_kernels::table(hip)?;
//! let mut handle = std::ptr::null_mut();
//! // SAFETY: the pointer is valid.
//! let status = unsafe { (blas.rocblas_create_handle)(&mut handle) };
//! println!("{status:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What differs from AMD's rocBLAS
//! * Handles are checked: a destroyed or invented one is `rocblas_status_invalid_handle`. A handle may be used from several threads, whose
//!   calls then follow one another.
//! * Results do not depend on the order of threads: nothing is added by atomic operations, whatever the atomics mode is.
//! * A call on a handle of another device than the current one makes that device current meanwhile.
//! * 16-bit floats are computed in f32 and rounded once, whatever the compute type is.
//! * rocBLAS 6's products of 8-bit floats (`gemm_ex3`) are there, on every device.
//! * Logging (`ROCBLAS_LAYER`) and checks of numbers (`ROCBLAS_CHECK_NUMERICS`) are not there.
#![warn(missing_docs)]

mod api;
mod args;
mod call;
mod checks;
mod combine;
mod fused;
mod gemm;
mod gpu;
mod handle;
mod level1;
mod level2;
mod level3;
mod reduce;
mod rotations;
mod triangular;
#[doc(hidden)]
pub mod tune;
mod update;
mod vector;

use std::num::NonZero;
use std::ops::Range;
use std::sync::OnceLock;

use rocblas_sys::{Builder, Extensions, Table};

pub use fused::{FusedGemm, FusedMatrix};
pub use gemm::Activation;

/// The compiled kernels: one module per `.cu` file of `kernels/blas`.
pub mod modules {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// The functions with arguments of BLAS, from `functions.txt`.
mod entries {
    use std::ffi::c_void;

    use rocblas_sys::*;

    use crate::args::{Args, Form, Operand, Scalar, Type};
    use crate::call::run;
    use crate::{combine, gemm, level1, level2, level3, reduce, rotations, triangular, update};

    include!(concat!(env!("OUT_DIR"), "/entries.rs"));
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The HIP table lacks functions that nothing works without.
    #[error("the HIP implementation lacks {}", .0.join(", "))]
    MissingFunctions(
        /// Their names.
        Vec<&'static str>,
    ),
    /// The process already has BLAS over as many HIP tables as there may be.
    #[error("BLAS already runs over {MOST_TABLES} other HIP implementations in this process")]
    TooManyTables,
}

/// The most HIP tables of a process that BLAS runs over: AMD's, that of the virtual GPU, and two of others.
pub const MOST_TABLES: usize = 4;

/// The HIP tables, by slot. A function that gets no handle knows its slot.
static HIP: [OnceLock<&'static hip_sys::Table>; MOST_TABLES] = [const { OnceLock::new() }; MOST_TABLES];

/// The functions of HIP that are called.
const NEEDED: &[&str] = &[
    "hipEventCreateWithFlags",
    "hipEventDestroy",
    "hipEventRecord",
    "hipFree",
    "hipGetDevice",
    "hipGetDevicePropertiesR0600",
    "hipMalloc",
    "hipMemcpyAsync",
    "hipModuleGetFunction",
    "hipModuleLaunchKernel",
    "hipModuleLoadData",
    "hipPointerGetAttributes",
    "hipSetDevice",
    "hipStreamSynchronize",
    "hipStreamWaitEvent",
];

/// The rocBLAS table over a HIP table. Later calls with the same table return the same result.
///
/// No device is needed: `rocblas_create_handle` is for the current one, and fails where there is none.
///
/// # Errors
/// See [`Error`].
pub fn table(hip: &'static hip_sys::Table) -> Result<&'static Table, Error> {
    let missing: Vec<_> = NEEDED.iter().copied().filter(|name| !hip.has(name)).collect();
    if !missing.is_empty() {
        return Err(Error::MissingFunctions(missing));
    }
    let is_it = |slot: &OnceLock<&'static hip_sys::Table>| std::ptr::eq(*slot.get_or_init(|| hip), hip);
    let slot = HIP.iter().position(is_it).ok_or(Error::TooManyTables)?;
    Ok(match slot {
        0 => table_of::<0>(),
        1 => table_of::<1>(),
        2 => table_of::<2>(),
        _ => table_of::<3>(),
    })
}

/// Makes the handles of this process, from now on, numbers of a range that are so many apart. When they are used up, there is
/// `rocblas_status_memory_error`. They count from 1 otherwise.
///
/// The handles are never looked into here. C++ code that was compiled with rocBLAS' own headers does so: for it, a drop-in library gives a range
/// of addresses where there is memory.
pub fn number_handles(range: Range<usize>, step: NonZero<usize>) {
    handle::number(range, step);
}

fn table_of<const SLOT: usize>() -> &'static Table {
    static TABLES: [OnceLock<&'static Table>; MOST_TABLES] = [const { OnceLock::new() }; MOST_TABLES];
    TABLES[SLOT].get_or_init(|| {
        let mut builder = Builder::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        entries::provide(&mut builder);
        api::provide::<SLOT>(&mut builder);
        builder.extensions(Extensions::NONE);
        // SAFETY: the functions keep rocBLAS' contract: they check handles, need of the caller what is documented, may be called from any
        // thread, and live as long as the process.
        unsafe { builder.finish() }
    })
}

/// The C names of the functions that [`table`] implements, in no order. All others return `rocblas_status_not_implemented`.
pub fn functions() -> impl Iterator<Item = &'static str> {
    api::NAMES.iter().chain(entries::NAMES).copied()
}
