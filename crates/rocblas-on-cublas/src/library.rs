//! The cuBLAS of the process.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use cuda_sys::CUstream;
use cuda_sys::cublas::{Table, cublasHandle_t, cublasPointerMode_t, cublasStatus_t};
use rocblas_sys::{rocblas_datatype, rocblas_half, rocblas_handle, rocblas_status};

use crate::convert::To;
use crate::device;

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

/// A 16-bit factor on the host, as cuBLAS takes it.
///
/// # Safety
/// The factor is where the pointer mode says.
pub(crate) unsafe fn widened(
    cublas: &Table,
    handle: cublasHandle_t,
    factor: *const rocblas_half,
) -> Result<f32, rocblas_status> {
    if !is_on_host(cublas, handle) {
        return Err(rocblas_status::rocblas_status_not_implemented);
    }
    if factor.is_null() {
        return Err(rocblas_status::rocblas_status_invalid_pointer);
    }
    // SAFETY: the factor is on the host.
    Ok(half::f16::from_bits(unsafe { factor.read_unaligned() }.data).to_f32())
}

/// Calls a function for each member of a batch, until one fails.
pub(crate) fn each(members: impl Into<i64>, mut call: impl FnMut(usize) -> rocblas_status) -> rocblas_status {
    let Ok(members) = usize::try_from(members.into()) else {
        return rocblas_status::rocblas_status_invalid_size;
    };
    let mut statuses = (0..members).map(&mut call);
    let failed = statuses.find(|status| *status != rocblas_status::rocblas_status_success);
    failed.unwrap_or(rocblas_status::rocblas_status_success)
}

/// Whether scalars are on the host.
pub(crate) fn is_on_host(cublas: &Table, handle: cublasHandle_t) -> bool {
    pointer_mode(cublas, handle) == Some(cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST)
}

/// The pointer mode of a handle; unknown if cuBLAS does not tell.
pub(crate) fn pointer_mode(cublas: &Table, handle: cublasHandle_t) -> Option<cublasPointerMode_t> {
    let mut mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
    // SAFETY: the handle is the caller's, and the mode a place to write to.
    let status = unsafe { (cublas.cublasGetPointerMode_v2)(handle, &raw mut mode) };
    (status == cublasStatus_t::CUBLAS_STATUS_SUCCESS).then_some(mode)
}

/// The stream of a handle.
pub(crate) fn stream(cublas: &Table, handle: cublasHandle_t) -> Option<CUstream> {
    let mut stream = std::ptr::null_mut();
    // SAFETY: the handle is the caller's, and the stream a place to write to.
    let status = unsafe { (cublas.cublasGetStream_v2)(handle, &raw mut stream) };
    (status == cublasStatus_t::CUBLAS_STATUS_SUCCESS).then_some(stream.cast())
}

/// The bytes of an element of a type, at most 16, if it is one that products have.
pub(crate) fn size_of_element(datatype: rocblas_datatype) -> Option<usize> {
    match datatype {
        rocblas_datatype::rocblas_datatype_i8_r => Some(1),
        rocblas_datatype::rocblas_datatype_f16_r | rocblas_datatype::rocblas_datatype_bf16_r => Some(2),
        rocblas_datatype::rocblas_datatype_f32_r | rocblas_datatype::rocblas_datatype_i32_r => Some(4),
        rocblas_datatype::rocblas_datatype_f64_r | rocblas_datatype::rocblas_datatype_f32_c => Some(8),
        rocblas_datatype::rocblas_datatype_f64_c => Some(16),
        _ => None,
    }
}

/// Whether the bytes of a number are a zero of either sign.
fn is_zero(datatype: rocblas_datatype, bytes: &[u8]) -> bool {
    let part = match datatype {
        rocblas_datatype::rocblas_datatype_f32_c => 4,
        rocblas_datatype::rocblas_datatype_f64_c => 8,
        _ => bytes.len(),
    };
    let is_signed_integer = matches!(
        datatype,
        rocblas_datatype::rocblas_datatype_i8_r | rocblas_datatype::rocblas_datatype_i32_r
    );
    // The sign is the highest bit of the last byte: CUDA's machines are little-endian.
    let sign = if is_signed_integer { 0 } else { 0x80 };
    bytes.chunks(part).all(|number| {
        let (last, others) = number.split_last().unwrap_or((&0, &[]));
        last & !sign == 0 && others.iter().all(|byte| *byte == 0)
    })
}

/// The bytes of a complex number of two `f64`, aligned as CUDA aligns it.
#[repr(align(16))]
struct Aligned(UnsafeCell<MaybeUninit<[u8; 16]>>);

/// A factor or result where cuBLAS can use it. It reads and writes a complex number of two `f64` on the host
/// with instructions that need an address divisible by 16; rocBLAS takes any that is divisible by 8.
pub(crate) struct Scalar {
    original: *mut c_void,
    datatype: rocblas_datatype,
    copy: Option<Aligned>,
}

impl Scalar {
    /// A scalar of a type at an address. Copies it if need be.
    ///
    /// # Safety
    /// The scalar is where the pointer mode says, and has that type.
    pub(crate) unsafe fn new(
        cublas: &Table,
        handle: cublasHandle_t,
        original: *const c_void,
        datatype: rocblas_datatype,
    ) -> Self {
        let original = original.cast_mut();
        let fits = datatype != rocblas_datatype::rocblas_datatype_f64_c
            || original.addr().is_multiple_of(align_of::<Aligned>());
        let copied = !fits && is_on_host(cublas, handle);
        let copy = copied.then(|| {
            // SAFETY: the caller's promise. A place for a result need not be initialised.
            let value = unsafe { original.cast::<MaybeUninit<[u8; 16]>>().read_unaligned() };
            Aligned(UnsafeCell::new(value))
        });
        Self { original, datatype, copy }
    }

    /// Whether it is a zero. For one in device memory, this waits for the stream, as AMD's rocBLAS does in
    /// `gemm`; while the stream is captured, nothing can wait for it, and the answer is no.
    ///
    /// # Safety
    /// It has a value, and the handle's context is the current one.
    pub(crate) unsafe fn is_zero(&self, cublas: &Table, handle: cublasHandle_t) -> bool {
        let Some(size) = size_of_element(self.datatype) else { return false };
        if self.original.is_null() {
            return false;
        }
        let mut bytes = [0; 16];
        if is_on_host(cublas, handle) {
            // SAFETY: the scalar is on the host, and has that type, none of which is larger.
            unsafe { self.original.cast::<u8>().copy_to_nonoverlapping(bytes.as_mut_ptr(), size) };
        } else {
            let known = stream(cublas, handle)
                // SAFETY: the scalar is in device memory, and has that type.
                .is_some_and(|stream| unsafe { device::read(stream, self.original, &mut bytes[..size]) });
            if !known {
                return false;
            }
        }
        is_zero(self.datatype, &bytes[..size])
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
