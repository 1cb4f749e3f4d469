//! Multiplication and epilogue.

use std::ffi::c_void;

use hip::Device;
use rocblas::rocblas_sys::{rocblas_datatype, rocblas_gemm_algo, rocblas_operation};

use super::objects::{Description, Layout};
use super::{INVALID, Outcome, cublasLtEpilogue_t, cublasStatus_t, cudaStream_t};
use crate::backend;
use crate::cublas::sys as blas;
use crate::kernels::{EPILOGUE, launch};

const NOT_SUPPORTED: cublasStatus_t = cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED;

/// What a `cublasLtHandle_t` points to.
pub(super) struct Lt {
    device: &'static Device,
    blas: blas::cublasHandle_t,
}

// SAFETY: handles of rocBLAS may be used on any thread.
unsafe impl Send for Lt {}

/// A product with checked parts.
pub(super) struct Product {
    m: i32,
    n: i32,
    k: i32,
    description: Description,
    a: Matrix,
    b: Matrix,
    c: Matrix,
    d: Matrix,
    batches: i32,
    compute: rocblas_datatype,
    after: Option<After>,
}

#[derive(Clone, Copy)]
struct Matrix {
    datatype: rocblas_datatype,
    leading: i32,
    distance: i64,
}

/// The epilogue of the product.
#[derive(Clone, Copy)]
struct After {
    kernel: &'static str,
    bias: u64,
    bias_distance: i64,
    activation: u32,
}

/// A cuBLAS status as a cuBLASLt status; the numbers are the same.
fn status(code: blas::cublasStatus_t) -> cublasStatus_t {
    cublasStatus_t::from_code(code as i64).unwrap_or(cublasStatus_t::CUBLAS_STATUS_INTERNAL_ERROR)
}

fn size(number: impl TryInto<i32>) -> Outcome<i32> {
    number.try_into().map_err(|_| INVALID)
}

impl Product {
    pub(super) fn of(description: &Description, [a, b, c, d]: [&Layout; 4]) -> Outcome<Self> {
        let shape = |layout: &Layout, transposed| match transposed {
            true => (layout.columns, layout.rows),
            false => (layout.rows, layout.columns),
        };
        let ((m, k), (k_of_b, n)) = (shape(a, description.transposed_a), shape(b, description.transposed_b));
        let fits = k == k_of_b && shape(c, false) == (m, n) && shape(d, false) == (m, n);
        let batches = d.batches;
        let alike = [a, b, c].iter().all(|layout| layout.batches == batches);
        let wide = |layout: &Layout| layout.leading >= 1 && layout.leading.cast_unsigned() >= layout.rows;
        if !fits || !alike || batches < 1 || ![a, b, c, d].into_iter().all(wide) {
            return Err(INVALID);
        }
        let matrix = |layout: &Layout| -> Outcome<Matrix> {
            let datatype = blas::cudaDataType::from_code(layout.datatype as i64).ok_or(NOT_SUPPORTED)?;
            let datatype = blas::datatype(datatype).map_err(status)?;
            Ok(Matrix { datatype, leading: size(layout.leading)?, distance: layout.distance })
        };
        let compute =
            blas::cublasComputeType_t::from_code(description.compute as i64).ok_or(NOT_SUPPORTED)?;
        let compute = blas::compute(compute).map_err(status)?;
        // In rocBLAS, factors have the type of the sums.
        let scale = blas::cudaDataType::from_code(description.scale as i64).ok_or(NOT_SUPPORTED)?;
        if blas::datatype(scale).map_err(status)? != compute {
            return Err(NOT_SUPPORTED);
        }
        let d = matrix(d)?;
        let after = After::of(description, d.datatype)?;
        Ok(Self {
            m: size(m)?,
            n: size(n)?,
            k: size(k)?,
            description: *description,
            a: matrix(a)?,
            b: matrix(b)?,
            c: matrix(c)?,
            d,
            batches,
            compute,
            after,
        })
    }
}

impl After {
    /// `None` without an epilogue.
    fn of(description: &Description, datatype: rocblas_datatype) -> Outcome<Option<Self>> {
        use cublasLtEpilogue_t as Epilogue;
        let (has_bias, activation) = match description.epilogue {
            Epilogue::CUBLASLT_EPILOGUE_DEFAULT => return Ok(None),
            Epilogue::CUBLASLT_EPILOGUE_BIAS => (true, 0),
            Epilogue::CUBLASLT_EPILOGUE_RELU => (false, 1),
            Epilogue::CUBLASLT_EPILOGUE_RELU_BIAS => (true, 1),
            Epilogue::CUBLASLT_EPILOGUE_GELU => (false, 2),
            Epilogue::CUBLASLT_EPILOGUE_GELU_BIAS => (true, 2),
            _ => return Err(NOT_SUPPORTED),
        };
        let kernel = match datatype {
            rocblas_datatype::rocblas_datatype_f32_r => "epilogue_f32",
            rocblas_datatype::rocblas_datatype_f16_r => "epilogue_f16",
            rocblas_datatype::rocblas_datatype_bf16_r => "epilogue_bf16",
            _ => return Err(NOT_SUPPORTED),
        };
        if has_bias && description.bias == 0 {
            return Err(INVALID);
        }
        let bias = if has_bias { description.bias } else { 0 };
        Ok(Some(Self { kernel, bias, bias_distance: description.bias_distance, activation }))
    }
}

impl Lt {
    /// A handle for the calling thread's device.
    pub(super) fn create() -> Outcome<Self> {
        let (device, _) = backend::current().map_err(|_| cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle is writable.
        match unsafe { blas::cublasCreate_v2(&raw mut handle) } {
            blas::cublasStatus_t::CUBLAS_STATUS_SUCCESS => Ok(Self { device, blas: handle }),
            code => Err(status(code)),
        }
    }

    /// Submits a product and its epilogue.
    ///
    /// # Safety
    /// Factors must have the scale type, matrices and bias must be as large as the product says, and the
    /// stream must belong to the device.
    pub(super) unsafe fn multiply(
        &self,
        product: &Product,
        (alpha, beta): (*const c_void, *const c_void),
        (a, b, c, d): (*const c_void, *const c_void, *const c_void, *mut c_void),
        stream: cudaStream_t,
    ) -> Outcome {
        let Product { m, n, k, description, batches, compute, .. } = *product;
        let operation = |transposed| match transposed {
            true => rocblas_operation::rocblas_operation_transpose,
            false => rocblas_operation::rocblas_operation_none,
        };
        let (op_a, op_b) = (operation(description.transposed_a), operation(description.transposed_b));
        let (layout_a, layout_b, layout_c, layout_d) = (product.a, product.b, product.c, product.d);
        // SAFETY: the handle lives as long as this; the caller vouches for the rest.
        unsafe {
            let rocblas = blas::inner(self.blas).map_err(status)?;
            rocblas.set_stream(stream.cast()).map_err(status)?;
            let code = (rocblas.table.rocblas_gemm_strided_batched_ex)(
                rocblas.handle,
                op_a,
                op_b,
                m,
                n,
                k,
                alpha,
                a,
                layout_a.datatype,
                layout_a.leading,
                layout_a.distance,
                b,
                layout_b.datatype,
                layout_b.leading,
                layout_b.distance,
                beta,
                c,
                layout_c.datatype,
                layout_c.leading,
                layout_c.distance,
                d,
                layout_d.datatype,
                layout_d.leading,
                layout_d.distance,
                batches,
                compute,
                rocblas_gemm_algo::rocblas_gemm_algo_standard,
                0,
                0,
            );
            blas::check(code).map_err(status)?;
            match product.after {
                Some(after) => self.finish(product, after, d, stream),
                None => Ok(()),
            }
        }
    }

    /// # Safety
    /// As [`multiply`](Self::multiply).
    unsafe fn finish(
        &self,
        product: &Product,
        after: After,
        d: *mut c_void,
        stream: cudaStream_t,
    ) -> Outcome {
        let number = |number: i32| u64::from(number.unsigned_abs());
        let (rows, columns, leading) = (number(product.m), number(product.n), number(product.d.leading));
        let (batches, distance) = (number(product.batches), product.d.distance);
        let elements = rows * columns * batches;
        if elements == 0 {
            return Ok(());
        }
        let mut arguments: [*mut c_void; 9] = [
            (&raw const d).cast_mut().cast(),
            (&raw const after.bias).cast_mut().cast(),
            (&raw const rows).cast_mut().cast(),
            (&raw const columns).cast_mut().cast(),
            (&raw const leading).cast_mut().cast(),
            (&raw const batches).cast_mut().cast(),
            (&raw const distance).cast_mut().cast(),
            (&raw const after.bias_distance).cast_mut().cast(),
            (&raw const after.activation).cast_mut().cast(),
        ];
        // SAFETY: these are the kernel's arguments; the caller vouches for the rest.
        let launched =
            unsafe { launch(self.device, &EPILOGUE, after.kernel, elements, stream.cast(), &mut arguments) };
        launched.map_err(|_| cublasStatus_t::CUBLAS_STATUS_EXECUTION_FAILED)
    }
}

impl Drop for Lt {
    fn drop(&mut self) {
        // SAFETY: the handle was created for this object, and is destroyed once.
        let code = unsafe { blas::cublasDestroy_v2(self.blas) };
        if code != blas::cublasStatus_t::CUBLAS_STATUS_SUCCESS {
            tracing::error!(?code, "a handle of cuBLAS did not end");
        }
    }
}
