//! Copies of vectors and matrices between host and device.

use std::ffi::c_void;

use hip_sys::{hipMemcpyKind, hipStream_t};
use rocblas_sys::{rocblas_int, rocblas_status};

use super::hip;
use crate::call::{INVALID_POINTER, INVALID_SIZE, Result, entry};
use crate::gpu::check;

/// `columns` pieces of `rows` elements.
struct Block {
    rows: i64,
    columns: i64,
    element: i64,
    from: *const c_void,
    from_step: i64,
    to: *mut c_void,
    to_step: i64,
    kind: hipMemcpyKind,
}

/// # Safety
/// Both sides must be valid for this many elements with these steps.
unsafe fn copy<const SLOT: usize>(block: &Block, stream: Option<hipStream_t>) -> Result {
    let &Block { rows, columns, element, from, from_step, to, to_step, kind } = block;
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    if rows < 0 || columns < 0 || element <= 0 || from_step <= 0 || to_step <= 0 {
        return Err(INVALID_SIZE);
    }
    if from_step < rows || to_step < rows {
        return Err(INVALID_SIZE);
    }
    if from.is_null() || to.is_null() {
        return Err(INVALID_POINTER);
    }
    let bytes = |count: i64| {
        count.checked_mul(element).and_then(|bytes| usize::try_from(bytes).ok()).ok_or(INVALID_SIZE)
    };
    let (width, height) = (bytes(rows)?, usize::try_from(columns).map_err(|_| INVALID_SIZE)?);
    let (from_pitch, to_pitch) = (bytes(from_step)?, bytes(to_step)?);
    let hip = hip::<SLOT>()?;
    // SAFETY: as this function's contract.
    unsafe {
        let stream_or_default = stream.unwrap_or(std::ptr::null_mut());
        let enqueued = if height == 1 || from_pitch == width && to_pitch == width {
            (hip.hipMemcpyAsync)(to, from, width * height, kind, stream_or_default)
        } else {
            (hip.hipMemcpy2DAsync)(to, to_pitch, from, from_pitch, width, height, kind, stream_or_default)
        };
        check(enqueued)?;
        if stream.is_none() {
            check((hip.hipStreamSynchronize)(stream_or_default))?;
        }
    }
    Ok(())
}

macro_rules! copies {
    ($($vector:ident $vector_async:ident $matrix:ident $matrix_async:ident $int:ident $kind:ident;)+) => {$(
        pub(super) unsafe extern "C" fn $vector<const SLOT: usize>(
            n: $int, elem_size: $int, from: *const c_void, incx: $int, to: *mut c_void, incy: $int,
        ) -> rocblas_status {
            let block = vector(n.into(), elem_size.into(), (from, incx.into()), (to, incy.into()), hipMemcpyKind::$kind);
            // SAFETY: the caller's vectors have this many elements.
            entry(|| unsafe { copy::<SLOT>(&block, None) })
        }

        pub(super) unsafe extern "C" fn $vector_async<const SLOT: usize>(
            n: $int, elem_size: $int, from: *const c_void, incx: $int, to: *mut c_void, incy: $int, stream: hipStream_t,
        ) -> rocblas_status {
            let block = vector(n.into(), elem_size.into(), (from, incx.into()), (to, incy.into()), hipMemcpyKind::$kind);
            // SAFETY: the caller's vectors have this many elements.
            entry(|| unsafe { copy::<SLOT>(&block, Some(stream)) })
        }

        pub(super) unsafe extern "C" fn $matrix<const SLOT: usize>(
            rows: $int, cols: $int, elem_size: $int, from: *const c_void, lda: $int, to: *mut c_void, ldb: $int,
        ) -> rocblas_status {
            let block = Block {
                rows: rows.into(), columns: cols.into(), element: elem_size.into(), from, from_step: lda.into(), to,
                to_step: ldb.into(), kind: hipMemcpyKind::$kind,
            };
            // SAFETY: the caller's matrices have this many elements.
            entry(|| unsafe { copy::<SLOT>(&block, None) })
        }

        pub(super) unsafe extern "C" fn $matrix_async<const SLOT: usize>(
            rows: $int, cols: $int, elem_size: $int, from: *const c_void, lda: $int, to: *mut c_void, ldb: $int,
            stream: hipStream_t,
        ) -> rocblas_status {
            let block = Block {
                rows: rows.into(), columns: cols.into(), element: elem_size.into(), from, from_step: lda.into(), to,
                to_step: ldb.into(), kind: hipMemcpyKind::$kind,
            };
            // SAFETY: the caller's matrices have this many elements.
            entry(|| unsafe { copy::<SLOT>(&block, Some(stream)) })
        }
    )+};
}
copies! {
    rocblas_set_vector rocblas_set_vector_async rocblas_set_matrix rocblas_set_matrix_async
        rocblas_int hipMemcpyHostToDevice;
    rocblas_set_vector_64 rocblas_set_vector_async_64 rocblas_set_matrix_64 rocblas_set_matrix_async_64
        i64 hipMemcpyHostToDevice;
    rocblas_get_vector rocblas_get_vector_async rocblas_get_matrix rocblas_get_matrix_async
        rocblas_int hipMemcpyDeviceToHost;
    rocblas_get_vector_64 rocblas_get_vector_async_64 rocblas_get_matrix_64 rocblas_get_matrix_async_64
        i64 hipMemcpyDeviceToHost;
}

/// A vector as a matrix of one row.
fn vector(
    n: i64,
    element: i64,
    (from, incx): (*const c_void, i64),
    (to, incy): (*mut c_void, i64),
    kind: hipMemcpyKind,
) -> Block {
    if incx == 1 && incy == 1 {
        let step = n.max(1);
        return Block { rows: n, columns: 1, element, from, from_step: step, to, to_step: step, kind };
    }
    Block { rows: n.min(1), columns: n, element, from, from_step: incx, to, to_step: incy, kind }
}
