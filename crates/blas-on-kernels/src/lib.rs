//! The rocBLAS function table over this project's own kernels and any HIP table.
//!
//! [`table`] takes a HIP implementation, AMD's own or the one over the virtual GPU, and provides BLAS on top
//! of it, without an installed rocBLAS. [`functions`] lists the implemented functions. Every other function
//! of the table returns `rocblas_status_not_implemented`, and `Table::has` tells the two apart.
//! `docs/internals/blas-on-kernels.md` lists the missing functions, with reasons.
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
//! # Differences from AMD's rocBLAS
//! * Handles are checked: a destroyed or invented one is `rocblas_status_invalid_handle`. Several threads may
//!   use a handle; their calls then run one after another.
//! * Results do not depend on the order of threads: no sums use atomic operations, whatever the atomics mode
//!   is.
//! * If a handle belongs to a device other than the current one, its calls temporarily make that device
//!   current.
//! * 16-bit floats are computed in f32 and rounded once, whatever the compute type is.
//! * rocBLAS 6's products of 8-bit floats (`gemm_ex3`) work on every device.
//! * Logging (`ROCBLAS_LAYER`) and checks of numbers (`ROCBLAS_CHECK_NUMERICS`) are missing.
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

/// Why the table cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The HIP table lacks essential functions.
    #[error("the HIP implementation lacks {}", .0.join(", "))]
    MissingFunctions(
        /// Their names.
        Vec<&'static str>,
    ),
    /// The process already has BLAS over the maximum number of HIP tables.
    #[error("BLAS already runs over {MOST_TABLES} other HIP implementations in this process")]
    TooManyTables,
}

/// The maximum number of HIP tables of a process that BLAS runs over: AMD's, that of the virtual GPU, and two
/// others.
pub const MOST_TABLES: usize = 4;

/// The HIP tables, by slot. A function without a handle knows its slot.
static HIP: [OnceLock<&'static hip_sys::Table>; MOST_TABLES] = [const { OnceLock::new() }; MOST_TABLES];

/// The HIP functions that are called.
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
/// No device is needed: `rocblas_create_handle` uses the current one, and fails if there is none.
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

/// From now on, the handles of this process are numbers of a range, this far apart. Once they are used up,
/// creating a handle gives `rocblas_status_memory_error`. By default, handles count from 1.
///
/// This crate never dereferences handles, but C++ code compiled with rocBLAS' headers does: for it, a drop-in
/// library provides a range of addresses with memory.
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
        // SAFETY: the functions keep rocBLAS' contract: they check handles, require from the caller only what
        // is documented, may be called from any thread, and live as long as the process.
        unsafe { builder.finish() }
    })
}

/// The C names of the functions that [`table`] implements, in no order. All others return
/// `rocblas_status_not_implemented`.
pub fn functions() -> impl Iterator<Item = &'static str> {
    api::NAMES.iter().chain(entries::NAMES).copied()
}
