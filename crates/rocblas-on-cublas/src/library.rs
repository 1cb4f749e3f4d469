//! The cuBLAS of the process.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use cuda_sys::cublas::{Table, cublasHandle_t, cublasPointerMode_t, cublasStatus_t};
use rocblas_sys::{rocblas_handle, rocblas_status};

use crate::convert::To;

/// [`table`](crate::table) was called with another cuBLAS before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherLibrary;

impl fmt::Display for OtherLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rocBLAS is already on top of another cuBLAS")
    }
}

impl std::error::Error for OtherLibrary {}

static CUBLAS: OnceLock<&'static Table> = OnceLock::new();

/// Says which cuBLAS there is.
pub(crate) fn start(cublas: &'static Table) -> Result<(), OtherLibrary> {
    if std::ptr::eq(*CUBLAS.get_or_init(|| cublas), cublas) { Ok(()) } else { Err(OtherLibrary) }
}

/// cuBLAS, once [`start`] has named it.
pub(crate) fn cublas() -> Option<&'static Table> {
    CUBLAS.get().copied()
}

/// Calls cuBLAS with a handle. An argument that it has nothing for ends the call before.
pub(crate) fn call(
    handle: rocblas_handle,
    work: impl FnOnce(&Table, cublasHandle_t) -> Result<cublasStatus_t, rocblas_status>,
) -> rocblas_status {
    let Some(cublas) = cublas() else { return rocblas_status::rocblas_status_internal_error };
    if handle.is_null() {
        return rocblas_status::rocblas_status_invalid_handle;
    }
    work(cublas, handle.cast()).and_then(To::to).unwrap_or_else(|status| status)
}

/// The pointer mode of a handle; unknown if cuBLAS does not tell.
pub(crate) fn pointer_mode(cublas: &Table, handle: cublasHandle_t) -> Option<cublasPointerMode_t> {
    let mut mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
    // SAFETY: the handle is the caller's, and the mode a place to write to.
    let status = unsafe { (cublas.cublasGetPointerMode_v2)(handle, &raw mut mode) };
    (status == cublasStatus_t::CUBLAS_STATUS_SUCCESS).then_some(mode)
}

/// The bytes of a complex number of two `f64`, aligned as CUDA aligns it.
#[repr(align(16))]
struct Aligned(UnsafeCell<MaybeUninit<[u8; 16]>>);

/// A factor or result where cuBLAS can use it. It reads and writes a complex number of two `f64` on the host
/// with instructions that need an address divisible by 16; rocBLAS takes any that is divisible by 8.
pub(crate) struct Scalar {
    original: *mut c_void,
    copy: Option<Aligned>,
}

impl Scalar {
    /// A scalar at an address. Copies it if need be.
    ///
    /// # Safety
    /// The scalar is where the pointer mode says, with 16 bytes if it `is_double_complex`.
    pub(crate) unsafe fn new(
        cublas: &Table,
        handle: cublasHandle_t,
        original: *const c_void,
        is_double_complex: bool,
    ) -> Self {
        let original = original.cast_mut();
        let fits = !is_double_complex || original.addr().is_multiple_of(align_of::<Aligned>());
        let copied =
            !fits && pointer_mode(cublas, handle) == Some(cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST);
        let copy = copied.then(|| {
            // SAFETY: the caller's promise. A place for a result need not be initialised.
            let value = unsafe { original.cast::<MaybeUninit<[u8; 16]>>().read_unaligned() };
            Aligned(UnsafeCell::new(value))
        });
        Self { original, copy }
    }

    /// The address for cuBLAS.
    pub(crate) fn address<T>(&self) -> *mut T {
        self.copy.as_ref().map_or(self.original, |copy| copy.0.get().cast()).cast()
    }

    /// Writes a result to where the caller wants it.
    ///
    /// # Safety
    /// The caller's address may be written to.
    pub(crate) unsafe fn give_back(self) {
        if let Some(Aligned(value)) = self.copy {
            // SAFETY: the caller's promise.
            unsafe { self.original.cast::<MaybeUninit<[u8; 16]>>().write_unaligned(value.into_inner()) };
        }
    }
}
