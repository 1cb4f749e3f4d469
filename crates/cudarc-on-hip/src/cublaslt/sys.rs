//! The functions of cuBLASLt that this crate has.
//!
//! | of | attributes |
//! |---|---|
//! | layouts | type, rows, columns, leading dimension, batch count, strided batch offset; the order, only by columns |
//! | products | compute and scale type, transpositions of A and B, epilogue (bias, ReLU, GELU and their combinations), bias pointer and batch stride; the pointer mode, only that of the host |
//! | preferences | all; they have no effect, because there is one algorithm, which needs no workspace |
//!
//! Other attributes give `CUBLAS_STATUS_NOT_SUPPORTED`.
#![allow(missing_docs, reason = "names and contracts are those of cuBLASLt's header")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the one in cuBLASLt's documentation")]
#![allow(clippy::too_many_arguments, reason = "the arguments are cuBLASLt's")]
#![allow(non_camel_case_types, non_snake_case, reason = "the names are cuBLASLt's")]

mod enums;
mod matmul;
mod objects;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;

pub use crate::driver::sys::CUstream_st;
pub use enums::*;
use matmul::{Lt, Product};
use objects::{Description, Layout};

/// Types whose values only the implementation inspects.
macro_rules! opaque {
    ($($handle:ident = $name:ident,)+) => {
        $(
            #[repr(C)]
            #[derive(Debug, Copy, Clone)]
            pub struct $name {
                _unused: [u8; 0],
            }
            pub type $handle = *mut $name;
        )+
    };
}

opaque! {
    cublasLtHandle_t = cublasLtContext,
    cublasLtMatmulDesc_t = cublasLtMatmulDescOpaque_t,
    cublasLtMatmulPreference_t = cublasLtMatmulPreferenceOpaque_t,
    cublasLtMatrixLayout_t = cublasLtMatrixLayoutOpaque_t,
}
pub type cudaStream_t = *mut CUstream_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct cublasLtMatmulAlgo_t {
    pub data: [u64; 8],
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialOrd, PartialEq)]
pub struct cublasLtMatmulHeuristicResult_t {
    pub algo: cublasLtMatmulAlgo_t,
    pub workspaceSize: usize,
    pub state: cublasStatus_t,
    pub wavesCount: f32,
    pub reserved: [c_int; 4],
}

type Outcome<T = ()> = Result<T, cublasStatus_t>;
const INVALID: cublasStatus_t = cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE;

/// cuBLASLt functions, whose bodies end in an outcome.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> cublasStatus_t {
                #[allow(unused_unsafe, reason = "some only look at numbers")]
                // SAFETY: the caller keeps the contract in cuBLASLt's documentation of this function: handles
                // are from its functions, and pointers are as documented.
                let run = move || -> Outcome { unsafe { $body } };
                run().err().unwrap_or(cublasStatus_t::CUBLAS_STATUS_SUCCESS)
            }
        )+
    };
}

functions! {
    /// For the calling thread's device.
    fn cublasLtCreate(lightHandle: *mut cublasLtHandle_t) {
        give(lightHandle, Box::into_raw(Box::new(Mutex::new(Lt::create()?))).cast())
    }

    fn cublasLtDestroy(lightHandle: cublasLtHandle_t) {
        destroy::<Mutex<Lt>>(lightHandle.cast())
    }

    fn cublasLtMatrixLayoutCreate(
        matLayout: *mut cublasLtMatrixLayout_t,
        type_: cudaDataType,
        rows: u64,
        cols: u64,
        ld: i64,
    ) {
        give(matLayout, Box::into_raw(Box::new(Layout::new(type_, rows, cols, ld))).cast())
    }

    fn cublasLtMatrixLayoutDestroy(matLayout: cublasLtMatrixLayout_t) {
        destroy::<Layout>(matLayout.cast())
    }

    fn cublasLtMatrixLayoutSetAttribute(
        matLayout: cublasLtMatrixLayout_t,
        attr: cublasLtMatrixLayoutAttribute_t,
        buf: *const c_void,
        sizeInBytes: usize,
    ) {
        matLayout.cast::<Layout>().as_mut().ok_or(INVALID)?.set(attr, bytes(buf, sizeInBytes)?)
    }

    fn cublasLtMatmulDescCreate(
        matmulDesc: *mut cublasLtMatmulDesc_t,
        computeType: cublasComputeType_t,
        scaleType: cudaDataType_t,
    ) {
        give(matmulDesc, Box::into_raw(Box::new(Description::new(computeType, scaleType))).cast())
    }

    fn cublasLtMatmulDescDestroy(matmulDesc: cublasLtMatmulDesc_t) {
        destroy::<Description>(matmulDesc.cast())
    }

    fn cublasLtMatmulDescSetAttribute(
        matmulDesc: cublasLtMatmulDesc_t,
        attr: cublasLtMatmulDescAttributes_t,
        buf: *const c_void,
        sizeInBytes: usize,
    ) {
        matmulDesc.cast::<Description>().as_mut().ok_or(INVALID)?.set(attr, bytes(buf, sizeInBytes)?)
    }

    fn cublasLtMatmulPreferenceCreate(pref: *mut cublasLtMatmulPreference_t) {
        give(pref, Box::into_raw(Box::new(Preference)).cast())
    }

    fn cublasLtMatmulPreferenceDestroy(pref: cublasLtMatmulPreference_t) {
        destroy::<Preference>(pref.cast())
    }

    fn cublasLtMatmulPreferenceSetAttribute(
        pref: cublasLtMatmulPreference_t,
        _attr: cublasLtMatmulPreferenceAttributes_t,
        buf: *const c_void,
        sizeInBytes: usize,
    ) {
        bytes(buf, sizeInBytes)?;
        if pref.is_null() { Err(INVALID) } else { Ok(()) }
    }

    /// Logging only uses `tracing`, whatever the level.
    fn cublasLtLoggerSetLevel(level: c_int) {
        if (0..=5).contains(&level) { Ok(()) } else { Err(INVALID) }
    }

    /// The file stays empty.
    fn cublasLtLoggerOpenFile(logFile: *const c_char) {
        if logFile.is_null() {
            return Err(INVALID);
        }
        let name = CStr::from_ptr(logFile).to_str().map_err(|_| INVALID)?;
        std::fs::File::create(name).map(drop).map_err(|_| INVALID)
    }

    /// The one algorithm, if it can multiply these.
    fn cublasLtMatmulAlgoGetHeuristic(
        lightHandle: cublasLtHandle_t,
        operationDesc: cublasLtMatmulDesc_t,
        Adesc: cublasLtMatrixLayout_t,
        Bdesc: cublasLtMatrixLayout_t,
        Cdesc: cublasLtMatrixLayout_t,
        Ddesc: cublasLtMatrixLayout_t,
        _preference: cublasLtMatmulPreference_t,
        requestedAlgoCount: c_int,
        heuristicResultsArray: *mut cublasLtMatmulHeuristicResult_t,
        returnAlgoCount: *mut c_int,
    ) {
        if lightHandle.is_null() {
            return Err(cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED);
        }
        if requestedAlgoCount < 1 {
            return Err(INVALID);
        }
        give(returnAlgoCount, 0)?;
        product(operationDesc, [Adesc, Bdesc, Cdesc, Ddesc])?;
        give(heuristicResultsArray, cublasLtMatmulHeuristicResult_t {
            algo: cublasLtMatmulAlgo_t { data: [0; 8] },
            workspaceSize: 0,
            state: cublasStatus_t::CUBLAS_STATUS_SUCCESS,
            wavesCount: 1.0,
            reserved: [0; 4],
        })?;
        give(returnAlgoCount, 1)
    }

    fn cublasLtMatmul(
        lightHandle: cublasLtHandle_t,
        computeDesc: cublasLtMatmulDesc_t,
        alpha: *const c_void,
        A: *const c_void,
        Adesc: cublasLtMatrixLayout_t,
        B: *const c_void,
        Bdesc: cublasLtMatrixLayout_t,
        beta: *const c_void,
        C: *const c_void,
        Cdesc: cublasLtMatrixLayout_t,
        D: *mut c_void,
        Ddesc: cublasLtMatrixLayout_t,
        _algo: *const cublasLtMatmulAlgo_t,
        _workspace: *mut c_void,
        _workspaceSizeInBytes: usize,
        stream: cudaStream_t,
    ) {
        let lt = lightHandle.cast::<Mutex<Lt>>().as_ref();
        let lt = lt.ok_or(cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED)?;
        let product = product(computeDesc, [Adesc, Bdesc, Cdesc, Ddesc])?;
        // The handle uses the stream while it submits.
        let lt = lt.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lt.multiply(&product, (alpha, beta), (A, B, C, D), stream)
    }
}

/// cuBLASLt's preferences; there is nothing to choose.
struct Preference;

/// # Safety
/// Each must be null or live.
unsafe fn product(
    description: cublasLtMatmulDesc_t,
    layouts: [cublasLtMatrixLayout_t; 4],
) -> Outcome<Product> {
    // SAFETY: the caller vouches for it.
    unsafe {
        let description = description.cast::<Description>().as_ref().ok_or(INVALID)?;
        let layout = |index: usize| layouts[index].cast::<Layout>().as_ref().ok_or(INVALID);
        Product::of(description, [layout(0)?, layout(1)?, layout(2)?, layout(3)?])
    }
}

/// # Safety
/// The pointer must be null or writable.
unsafe fn give<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(INVALID);
    }
    // SAFETY: the caller vouches for it.
    unsafe { place.write(value) };
    Ok(())
}

/// # Safety
/// The handle must be null, or of this type and destroyed only once.
unsafe fn destroy<T>(handle: *mut T) -> Outcome {
    if handle.is_null() {
        return Err(INVALID);
    }
    // SAFETY: the caller vouches for it.
    drop(unsafe { Box::from_raw(handle) });
    Ok(())
}

/// # Safety
/// There must be this many bytes.
unsafe fn bytes<'a>(place: *const c_void, size: usize) -> Outcome<&'a [u8]> {
    if place.is_null() {
        return Err(INVALID);
    }
    // SAFETY: the caller vouches for it.
    Ok(unsafe { std::slice::from_raw_parts(place.cast(), size) })
}
