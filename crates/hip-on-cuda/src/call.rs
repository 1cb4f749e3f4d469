//! How HIP's functions call the driver.

use std::cell::Cell;

use cuda_sys::{CUresult, Table};
use hip_sys::hipError_t;

use crate::error::hip_error;
use crate::runtime;

thread_local! {
    /// What `hipGetLastError` returns.
    static LAST: Cell<hipError_t> = const { Cell::new(hipError_t::hipSuccess) };
}

/// Calls the driver; on a thread that has no context yet, that of its device is made current, and the call
/// made again.
#[inline]
pub(crate) fn call(run: impl Fn(&'static Table) -> CUresult) -> hipError_t {
    let Some(cuda) = runtime::cuda() else { return failed(hipError_t::hipErrorNotInitialized) };
    let status = run(cuda);
    if status == CUresult::CUDA_SUCCESS { hipError_t::hipSuccess } else { again(cuda, status, &run) }
}

#[cold]
fn again(cuda: &'static Table, mut status: CUresult, run: &dyn Fn(&'static Table) -> CUresult) -> hipError_t {
    // A driver that was just initialised may say next that there is no context.
    for _ in 0..2 {
        if let Err(other) = runtime::prepare(cuda, status) {
            status = other;
            break;
        }
        status = run(cuda);
        if status == CUresult::CUDA_SUCCESS {
            return hipError_t::hipSuccess;
        }
    }
    failed(hip_error(status))
}

/// As [`call`], for what takes several calls.
pub(crate) fn steps(run: impl Fn(&'static Table) -> Result<(), CUresult>) -> hipError_t {
    call(|cuda| run(cuda).err().unwrap_or(CUresult::CUDA_SUCCESS))
}

/// The status, which `hipGetLastError` returns once.
pub(crate) fn failed(status: hipError_t) -> hipError_t {
    // Work that is not done is no failure.
    if status != hipError_t::hipErrorNotReady {
        LAST.set(status);
    }
    status
}

/// The thread's last failure, kept or forgotten.
pub(crate) fn last(keep: bool) -> hipError_t {
    if keep { LAST.get() } else { LAST.replace(hipError_t::hipSuccess) }
}

/// Functions that CUDA has with the same arguments, under another name. Handles are the driver's own, and
/// pointers to handles and to numbers are passed on.
macro_rules! same {
    ($($hip:ident($($argument:ident: $ty:ty),* $(,)?) => $cuda:ident($($passed:expr),* $(,)?);)+) => {
        $(
            pub(crate) unsafe extern "C" fn $hip($($argument: $ty),*) -> ::hip_sys::hipError_t {
                // SAFETY: the caller keeps HIP's contract, which is CUDA's for this function: what is passed
                // is a handle of the driver's, a number, or a pointer to as much as CUDA reads or writes.
                $crate::call::call(|cuda| unsafe { (cuda.$cuda)($($passed),*) })
            }
        )+
    };
}

pub(crate) use same;
