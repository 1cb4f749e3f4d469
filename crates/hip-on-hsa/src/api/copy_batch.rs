//! Many copies with one call. They are done one after the other, but programs must not rely on that.

use std::ffi::c_void;

use hip_sys::{
    hipError_t, hipExtent, hipMemcpy3DBatchOp, hipMemcpy3DOperand, hipMemcpy3DOperandType,
    hipMemcpyAttributes, hipMemcpyKind, hipStream_t,
};

use crate::api::copy::copy;
use crate::api::copy_param::box_at;
use crate::caller;
use crate::error::{Result, entry};
use crate::memory::copy::Transfer;
use crate::memory::rect::{Rect, Rows};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const KIND: hipMemcpyKind = hipMemcpyKind::hipMemcpyDefault;

/// Checks all copies, then enqueues them. `failed` gets the number of an invalid copy; then none of the
/// others is done.
///
/// # Safety
/// `failed` is null or valid for writing.
unsafe fn enqueue(
    count: usize,
    transfer: impl Fn(usize) -> Result<Transfer>,
    failed: *mut usize,
    stream: hipStream_t,
) -> Result {
    let runtime = active()?;
    // SAFETY: as this function's contract.
    let failed = std::cell::RefCell::new(unsafe { caller::optional_place(failed) }?);
    let note = |index: usize| {
        if let Some(failed) = failed.borrow_mut().as_mut() {
            **failed = index;
        }
    };
    // The value for errors that concern no particular copy.
    note(usize::MAX);
    if count == 0 {
        return Err(INVALID_VALUE);
    }
    let mut transfers = Vec::with_capacity(count.min(1024));
    for index in 0..count {
        let checked = transfer(index).and_then(|transfer| transfer.check(runtime, None).map(|()| transfer));
        transfers.push(checked.inspect_err(|_| note(index))?);
    }
    for (index, Transfer { rect, kind }) in transfers.into_iter().enumerate() {
        copy(rect, kind, stream, false).inspect_err(|_| note(index))?;
    }
    Ok(())
}

/// Checks which attributes belong to which copies. They are hints, or an order of accesses to the source that
/// all copies of this runtime satisfy, so they have no effect.
///
/// # Safety
/// Both lists are null or have as many readable entries.
unsafe fn check_attributes(
    attributes: *const hipMemcpyAttributes,
    first: *const usize,
    count: usize,
    copies: usize,
) -> Result {
    if count == 0 {
        return Ok(());
    }
    if attributes.is_null() || first.is_null() || count > copies {
        return Err(INVALID_VALUE);
    }
    // SAFETY: as this function's contract.
    let first = unsafe { caller::list(first, count) }?;
    let in_order = first.windows(2).all(|pair| pair[0] < pair[1]);
    if first[0] == 0 && in_order && first[count - 1] < copies { Ok(()) } else { Err(INVALID_VALUE) }
}

/// `hipMemcpyBatchAsync`: copies between any two places. All are checked before the first is enqueued.
pub(crate) unsafe extern "C" fn hipMemcpyBatchAsync(
    dsts: *mut *mut c_void,
    srcs: *mut *mut c_void,
    sizes: *mut usize,
    count: usize,
    attributes: *mut hipMemcpyAttributes,
    attribute_firsts: *mut usize,
    attribute_count: usize,
    failed: *mut usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller's lists have as many entries as it says.
        unsafe {
            check_attributes(attributes, attribute_firsts, attribute_count, count)?;
            let (dsts, srcs) = (caller::list(dsts, count)?, caller::list(srcs, count)?);
            let sizes = caller::list(sizes, count)?;
            let transfer = |index: usize| Ok(Transfer::plain(dsts[index], srcs[index], sizes[index], KIND));
            enqueue(count, transfer, failed, stream)
        }
    })
}

/// One end of a copy of a box. Arrays are not supported.
fn end(operand: &hipMemcpy3DOperand, extent: hipExtent) -> Result<Rows> {
    match operand.type_ {
        hipMemcpy3DOperandType::hipMemcpyOperandTypePointer => {}
        hipMemcpy3DOperandType::hipMemcpyOperandTypeArray => return Err(hipError_t::hipErrorNotSupported),
        _ => return Err(INVALID_VALUE),
    }
    // SAFETY: the type says which member is valid.
    let place = unsafe { operand.op.ptr };
    // 0 means rows and layers without gaps.
    let or = |length: usize, tight: usize| if length == 0 { tight } else { length };
    let (pitch, rows) = (or(place.rowLength, extent.width), or(place.layerHeight, extent.height));
    box_at(place.ptr as usize, pitch, rows, [0; 3], extent)
}

/// `hipMemcpy3DBatchAsync`: boxes of linear memory, lengths in bytes. All are checked before the first is
/// enqueued.
pub(crate) unsafe extern "C" fn hipMemcpy3DBatchAsync(
    count: usize,
    list: *mut hipMemcpy3DBatchOp,
    failed: *mut usize,
    flags: u64,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's list has as many entries as it says.
        let list = unsafe { caller::list(list, count) }?;
        let transfer = |index: usize| {
            let op = &list[index];
            let rect = Rect { dst: end(&op.dst, op.extent)?, src: end(&op.src, op.extent)? };
            Ok(Transfer { rect, kind: KIND })
        };
        // SAFETY: the caller passes null or a valid place.
        unsafe { enqueue(count, transfer, failed, stream) }
    })
}
