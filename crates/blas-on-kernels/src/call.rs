//! A call of a function: its handle, and the work that it enqueues.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{MutexGuard, PoisonError};

use code_object::embedded;
use hip_sys::hipMemcpyKind;
use rocblas_sys::{rocblas_handle, rocblas_pointer_mode, rocblas_status};

use crate::args::{Args, Form, Operand, Scalar, Type};
use crate::gpu::{Gpu, INTERNAL, check};
use crate::handle::{self, ALIGNMENT, State};

pub(crate) type Result<T = ()> = std::result::Result<T, rocblas_status>;

pub(crate) const INVALID_SIZE: rocblas_status = rocblas_status::rocblas_status_invalid_size;
pub(crate) const INVALID_VALUE: rocblas_status = rocblas_status::rocblas_status_invalid_value;
pub(crate) const INVALID_POINTER: rocblas_status = rocblas_status::rocblas_status_invalid_pointer;
pub(crate) const NOT_IMPLEMENTED: rocblas_status = rocblas_status::rocblas_status_not_implemented;

/// A call in progress. The handle's state is locked, so that calls from several threads run one after
/// another.
pub(crate) struct Call<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) state: MutexGuard<'a, State>,
    /// Bytes of the workspace that the call already uses.
    pub(crate) taken: usize,
    /// If the caller only asks for it: how much memory the call needs.
    queried: usize,
}

/// An implementation of a function.
pub(crate) type Body = fn(&mut Call<'_>, &Args) -> Result;

/// Runs a function. No panic reaches C.
///
/// # Safety
/// The caller must keep the function's contract: pointers are valid for the given sizes.
pub(crate) unsafe fn run(handle: rocblas_handle, body: Body, args: &Args) -> rocblas_status {
    entry(|| with(handle, |call| call.finish(|call| body(call, args))))
}

/// Runs an entry point. No panic reaches C.
pub(crate) fn entry(work: impl FnOnce() -> Result) -> rocblas_status {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => rocblas_status::rocblas_status_success,
        Ok(Err(status)) => status,
        Err(_) => INTERNAL,
    }
}

/// Runs `work` with the handle's state while its device is current.
pub(crate) fn with<T>(handle: rocblas_handle, work: impl FnOnce(&mut Call<'_>) -> Result<T>) -> Result<T> {
    let handle = handle::find(handle)?;
    let state = handle.state.lock().unwrap_or_else(PoisonError::into_inner);
    let mut call = Call { gpu: &handle.gpu, state, taken: 0, queried: 0 };
    let hip = handle.gpu.hip;
    let mut current: c_int = -1;
    // SAFETY: there is room for the number.
    check(unsafe { (hip.hipGetDevice)(&mut current) })?;
    if current == handle.gpu.device {
        return work(&mut call);
    }
    // SAFETY: the device exists.
    check(unsafe { (hip.hipSetDevice)(handle.gpu.device) })?;
    let result = work(&mut call);
    // SAFETY: the device was the current one.
    check(unsafe { (hip.hipSetDevice)(current) })?;
    result
}

/// `Factor` of `kernels/blas/number.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factor {
    at: *const c_void,
    re: f64,
    im: f64,
    kind: u32,
    conjugate: u32,
}

impl Factor {
    pub(crate) const fn of(re: f64) -> Self {
        Self { at: std::ptr::null(), re, im: 0.0, kind: Type::F64 as u32, conjugate: 0 }
    }

    /// The value, if the host knows it.
    pub(crate) fn known(&self) -> Option<(f64, f64)> {
        let im = if self.conjugate == 0 { self.im } else { -self.im };
        self.at.is_null().then_some((self.re, im))
    }

    /// Whether the host knows that it is this real number.
    pub(crate) fn is(&self, value: f64) -> bool {
        self.known() == Some((value, 0.0))
    }

    pub(crate) fn conjugate(self) -> Self {
        Self { conjugate: 1 - self.conjugate, ..self }
    }
}

/// `Memory` of `kernels/blas/number.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceOperand {
    pub(crate) at: *const c_void,
    pub(crate) stride: i64,
    /// The first element.
    pub(crate) first: i64,
    pub(crate) indirect: u32,
    pub(crate) kind: u32,
}

impl DeviceOperand {
    pub(crate) const NONE: Self = Self { at: std::ptr::null(), stride: 0, first: 0, indirect: 0, kind: 0 };

    pub(crate) fn new(operand: &Operand, form: Form) -> Result<Self> {
        let kind = operand.kind.ok_or(INVALID_VALUE)? as u32;
        let indirect = (form == Form::Batched).into();
        Ok(Self { at: operand.at, stride: operand.stride, first: 0, indirect, kind })
    }

    /// Memory with products one after the other.
    pub(crate) fn dense(at: *const c_void, stride: i64, kind: Type) -> Self {
        Self { at, stride, first: 0, indirect: 0, kind: kind as u32 }
    }
}

impl Call<'_> {
    /// Runs an operation, or reports how much memory it needs if the caller only asks for that.
    pub(crate) fn finish(&mut self, body: impl FnOnce(&mut Self) -> Result) -> Result {
        let Some(most) = self.state.query else { return body(self) };
        match body(self) {
            Ok(()) | Err(rocblas_status::rocblas_status_continue) => {}
            Err(status) => return Err(status),
        }
        let needed = self.queried;
        self.state.query = Some(most.max(needed));
        Err(if needed > most {
            rocblas_status::rocblas_status_size_increased
        } else {
            rocblas_status::rocblas_status_size_unchanged
        })
    }

    /// Whether the caller's numbers and results are in host memory.
    pub(crate) fn on_host(&self) -> bool {
        self.state.pointer_mode == rocblas_pointer_mode::rocblas_pointer_mode_host
    }

    /// An error unless all operands exist that the factors `alpha` and `beta` require. Only if one is
    /// missing, this waits for factors in device memory, and returns them.
    pub(crate) fn operands(
        &mut self,
        factors: [Factor; 2],
        are_there: impl Fn([Factor; 2]) -> bool,
    ) -> Result<[Factor; 2]> {
        if are_there(factors) {
            return Ok(factors);
        }
        let [alpha, beta] = factors;
        let known = [self.wait_for(alpha)?, self.wait_for(beta)?];
        if are_there(known) { Ok(known) } else { Err(INVALID_POINTER) }
    }

    /// A factor with its value, read to the host.
    fn wait_for(&mut self, factor: Factor) -> Result<Factor> {
        if factor.at.is_null() {
            return Ok(factor);
        }
        let kind = Type::ALL.into_iter().find(|kind| *kind as u32 == factor.kind).ok_or(INVALID_VALUE)?;
        let mut bytes = [0_u8; 16];
        self.fetch(factor.at, bytes.as_mut_ptr().cast(), kind.size())?;
        // SAFETY: there are enough bytes for a number of any type.
        let (re, im) =
            unsafe { Scalar::new(bytes.as_ptr().cast(), Some(kind)).read() }.ok_or(INVALID_VALUE)?;
        Ok(Factor { at: std::ptr::null(), re, im, ..factor })
    }

    /// A number from the caller: its value, if it is in host memory.
    ///
    /// # Errors
    /// `rocblas_status_invalid_pointer` if there is none.
    pub(crate) fn factor(&self, scalar: Scalar) -> Result<Factor> {
        let kind = scalar.kind.ok_or(INVALID_VALUE)?;
        if scalar.at.is_null() {
            return Err(INVALID_POINTER);
        }
        if !self.on_host() {
            return Ok(Factor { at: scalar.at, re: 0.0, im: 0.0, kind: kind as u32, conjugate: 0 });
        }
        // SAFETY: the function's caller guarantees that it exists.
        let (re, im) = unsafe { scalar.read() }.ok_or(INVALID_VALUE)?;
        Ok(Factor { at: std::ptr::null(), re, im, kind: kind as u32, conjugate: 0 })
    }

    /// Device memory for intermediate results, until the end of the call, in blocks of the given bytes.
    ///
    /// # Errors
    /// `rocblas_status_memory_error`; `rocblas_status_continue` if the caller only asks how much is needed.
    pub(crate) fn workspace<const BLOCKS: usize>(
        &mut self,
        bytes: [usize; BLOCKS],
    ) -> Result<[*mut c_void; BLOCKS]> {
        const TOO_MUCH: rocblas_status = rocblas_status::rocblas_status_memory_error;
        let mut offsets = [0; BLOCKS];
        let mut all = self.taken;
        for (offset, bytes) in offsets.iter_mut().zip(bytes) {
            *offset = all;
            let bytes = bytes.checked_next_multiple_of(ALIGNMENT).ok_or(TOO_MUCH)?;
            all = all.checked_add(bytes).ok_or(TOO_MUCH)?;
        }
        if self.state.query.is_some() {
            self.queried = self.queried.max(all);
            return Err(rocblas_status::rocblas_status_continue);
        }
        let hip = self.gpu.hip;
        let at = self.state.workspace.get(hip, all)?;
        self.taken = all;
        Ok(offsets.map(|offset| at.wrapping_byte_add(offset)))
    }

    /// Enqueues a kernel whose only argument this is.
    pub(crate) fn launch<P>(
        &mut self,
        module: &'static embedded::Module,
        kernel: &'static str,
        grid: [u32; 3],
        block: u32,
        parameters: &P,
    ) -> Result {
        let parameters = std::ptr::from_ref(parameters).cast_mut().cast();
        self.launch_with(module, kernel, grid, block, &mut [parameters])
    }

    /// Enqueues a kernel with pointers to its arguments.
    pub(crate) fn launch_with(
        &mut self,
        module: &'static embedded::Module,
        kernel: &'static str,
        [x, y, z]: [u32; 3],
        block: u32,
        parameters: &mut [*mut c_void],
    ) -> Result {
        if self.state.query.is_some() {
            return Ok(());
        }
        let function = self.gpu.function(module, kernel)?.raw();
        let none = std::ptr::null_mut();
        let (stream, parameters) = (self.state.stream, parameters.as_mut_ptr());
        // SAFETY: the pointers lead to the kernel's arguments, with the right number and types. The
        // function's caller is responsible for what the kernel reads and writes.
        check(unsafe {
            (self.gpu.hip.hipModuleLaunchKernel)(function, x, y, z, block, 1, 1, 0, stream, parameters, none)
        })
    }

    /// Copies results to the host and waits for them.
    pub(crate) fn fetch(&mut self, from: *const c_void, to: *mut c_void, bytes: usize) -> Result {
        if self.state.query.is_some() {
            return Ok(());
        }
        let (hip, stream) = (self.gpu.hip, self.state.stream);
        let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
        // SAFETY: `from` is memory of the handle, and the function's caller has given room for its results.
        unsafe {
            check((hip.hipMemcpyAsync)(to, from, bytes, kind, stream))?;
            check((hip.hipStreamSynchronize)(stream))
        }
    }
}
