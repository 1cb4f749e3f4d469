//! The driver of the process, and the primary contexts of its devices.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use cuda_sys::{CUcontext, CUctx_st, CUdevice, CUresult, Table};

use crate::error::OtherDriver;

static CUDA: OnceLock<&'static Table> = OnceLock::new();

/// More devices than a machine has.
pub(crate) const MOST: usize = 64;

/// The primary contexts that were retained, by ordinal.
static CONTEXTS: [AtomicPtr<CUctx_st>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

thread_local! {
    /// The device that the thread has chosen; HIP's first one until then.
    static CURRENT: Cell<i32> = const { Cell::new(0) };
}

/// Says which driver there is.
pub(crate) fn start(cuda: &'static Table) -> Result<(), OtherDriver> {
    if std::ptr::eq(*CUDA.get_or_init(|| cuda), cuda) { Ok(()) } else { Err(OtherDriver) }
}

/// The driver, if there is one.
#[inline]
pub(crate) fn cuda() -> Option<&'static Table> {
    CUDA.get().copied()
}

/// A status as a result.
pub(crate) fn check(status: CUresult) -> Result<(), CUresult> {
    if status == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(status) }
}

/// What CUDA calls the device of an ordinal.
pub(crate) fn device(cuda: &Table, ordinal: i32) -> Result<CUdevice, CUresult> {
    let mut device = 0;
    // SAFETY: the result is a place to write to.
    check(unsafe { (cuda.cuDeviceGet)(&raw mut device, ordinal) })?;
    Ok(device)
}

/// The primary context of a device. The first call retains it.
pub(crate) fn context(cuda: &Table, ordinal: i32) -> Result<CUcontext, CUresult> {
    let invalid = CUresult::CUDA_ERROR_INVALID_DEVICE;
    let slot = usize::try_from(ordinal).ok().and_then(|at| CONTEXTS.get(at)).ok_or(invalid)?;
    let known = slot.load(Ordering::Acquire);
    if !known.is_null() {
        return Ok(known);
    }
    let mut context = null_mut();
    let device = device(cuda, ordinal)?;
    // SAFETY: the result is a place to write to. Two threads may retain it twice, which keeps it just as
    // well.
    check(unsafe { (cuda.cuDevicePrimaryCtxRetain)(&raw mut context, device) })?;
    slot.store(context, Ordering::Release);
    Ok(context)
}

/// The ordinal of the device that a context belongs to, if it is a primary one that was retained here.
pub(crate) fn ordinal_of(context: CUcontext) -> Option<i32> {
    let at = CONTEXTS.iter().position(|slot| slot.load(Ordering::Acquire) == context)?;
    i32::try_from(at).ok()
}

/// Chooses the calling thread's device.
pub(crate) fn set_device(cuda: &Table, ordinal: i32) -> Result<(), CUresult> {
    let context = context(cuda, ordinal)?;
    // SAFETY: the context is a primary one, which is never released.
    check(unsafe { (cuda.cuCtxSetCurrent)(context) })?;
    CURRENT.set(ordinal);
    Ok(())
}

/// The calling thread's device: that of its context, else the one that it has chosen.
pub(crate) fn current(cuda: &Table) -> i32 {
    let mut context = null_mut();
    // SAFETY: the result is a place to write to.
    let asked = check(unsafe { (cuda.cuCtxGetCurrent)(&raw mut context) });
    let found = if asked.is_ok() && !context.is_null() { ordinal_of(context) } else { None };
    found.unwrap_or_else(|| CURRENT.get())
}

/// After a call that said there is no context, or no driver that is initialised: whether it is worth another
/// try.
#[cold]
pub(crate) fn prepare(cuda: &Table, status: CUresult) -> Result<(), CUresult> {
    match status {
        CUresult::CUDA_ERROR_NOT_INITIALIZED => {
            // SAFETY: the call takes a number.
            check(unsafe { (cuda.cuInit)(0) })
        }
        CUresult::CUDA_ERROR_INVALID_CONTEXT => {
            let mut context = null_mut();
            // SAFETY: the result is a place to write to.
            check(unsafe { (cuda.cuCtxGetCurrent)(&raw mut context) })?;
            if context.is_null() { set_device(cuda, CURRENT.get()) } else { Err(status) }
        }
        _ => Err(status),
    }
}
