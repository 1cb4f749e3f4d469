//! Products on a stream.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::result::{self, CublasError};
use super::sys::{self, cublasComputeType_t, cudaDataType};
use crate::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError};

/// Matrix products computed on a stream.
#[derive(Debug)]
pub struct CudaBlasLT {
    handle: sys::cublasLtHandle_t,
    workspace: Workspace,
    stream: Arc<CudaStream>,
}

// SAFETY: the handle lets one thread submit at a time.
unsafe impl Send for CudaBlasLT {}
// SAFETY: as above.
unsafe impl Sync for CudaBlasLT {}

impl CudaBlasLT {
    /// Products for a stream and its device.
    ///
    /// # Panics
    /// If there is no memory for the workspace.
    pub fn new(stream: Arc<CudaStream>) -> Result<Self, CublasError> {
        let context = stream.context();
        context.record_err(context.bind_to_thread());
        let workspace = Workspace::new(stream.clone()).expect("memory for a workspace");
        Ok(Self { handle: result::create_handle()?, workspace, stream })
    }
}

impl Drop for CudaBlasLT {
    fn drop(&mut self) {
        // SAFETY: the handle was created for this object, and is destroyed once.
        if let Err(error) = unsafe { result::destroy_handle(self.handle) } {
            tracing::error!(%error, "a handle of cuBLASLt did not end");
        }
    }
}

/// Memory for intermediate results. It is small because the only algorithm needs none.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(crate) buffer: CudaSlice<u8>,
    pub(crate) size: usize,
}

impl Workspace {
    /// Allocates it.
    pub fn new(stream: Arc<CudaStream>) -> Result<Self, DriverError> {
        const SIZE: usize = 256;
        stream.context().bind_to_thread()?;
        // SAFETY: nothing reads it.
        Ok(Self { buffer: unsafe { stream.alloc(SIZE) }?, size: SIZE })
    }
}

/// The function applied to each element of the result.
#[derive(Debug, Clone)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// GELU, approximated with tanh.
    Gelu,
}

/// The common parts of products of all types.
pub trait MatmulShared {
    /// cuBLASLt's handle.
    fn handle(&self) -> &sys::cublasLtHandle_t;

    /// Memory for intermediate results.
    fn workspace(&self) -> &Workspace;

    /// The stream that work is submitted to.
    fn stream(&self) -> &Arc<CudaStream>;
}

/// A product: `c = act(alpha * op(a) * op(b) + beta * c + bias)`, column by column.
#[derive(Debug, Copy, Clone)]
pub struct MatmulConfig {
    /// Whether `a` is transposed.
    pub transa: bool,
    /// Whether `b` is transposed.
    pub transb: bool,
    /// Whether `c` is transposed, which is not supported.
    pub transc: bool,
    /// Rows of `op(a)` and of `c`.
    pub m: u64,
    /// Columns of `op(b)` and of `c`.
    pub n: u64,
    /// Columns of `op(a)` and rows of `op(b)`.
    pub k: u64,
    /// The factor of the product.
    pub alpha: f32,
    /// The distance from one column of `a` to the next.
    pub lda: i64,
    /// The distance from one column of `b` to the next.
    pub ldb: i64,
    /// The factor of the old `c`.
    pub beta: f32,
    /// The distance from one column of `c` to the next.
    pub ldc: i64,
    /// The distance from one `a` to the next.
    pub stride_a: Option<i64>,
    /// The distance from one `b` to the next.
    pub stride_b: Option<i64>,
    /// The distance from one `c` to the next.
    pub stride_c: Option<i64>,
    /// The distance from one bias to the next.
    pub stride_bias: Option<i64>,
    /// The number of products.
    pub batch_size: Option<c_int>,
}

/// Layouts, descriptions and preferences, destroyed on drop.
struct Owned<T: Copy>(T, unsafe fn(T) -> Result<(), CublasError>);

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: it was created for this object, and is destroyed once.
        if let Err(error) = unsafe { (self.1)(self.0) } {
            tracing::error!(%error, "an object of cuBLASLt did not end");
        }
    }
}

/// An attribute's value and its size.
fn value<T>(value: &T) -> (*const c_void, usize) {
    (std::ptr::from_ref(value).cast(), size_of::<T>())
}

fn layout(
    datatype: cudaDataType,
    (rows, columns): (u64, u64),
    leading: i64,
    batch: Option<(c_int, i64)>,
) -> Result<Owned<sys::cublasLtMatrixLayout_t>, CublasError> {
    use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
    let layout = result::create_matrix_layout(datatype, rows, columns, leading)?;
    let layout = Owned(layout, result::destroy_matrix_layout);
    if let Some((count, distance)) = batch {
        let (count, distance) = (value(&count), value(&distance));
        // SAFETY: the layout lives, and the values are as large as the arguments say.
        unsafe {
            let of_count = Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
            result::set_matrix_layout_attribute(layout.0, of_count, count.0, count.1)?;
            let of_distance = Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
            result::set_matrix_layout_attribute(layout.0, of_distance, distance.0, distance.1)?;
        }
    }
    Ok(layout)
}

/// Products of matrices of a type.
pub trait Matmul<T>: MatmulShared {
    /// The type of elements.
    fn matrix_type() -> cudaDataType;

    /// The compute type.
    fn compute_type() -> cublasComputeType_t;

    /// Multiplies. The bias has a number for each row of `c`.
    ///
    /// # Safety
    /// The memory must have this many elements.
    unsafe fn matmul<I: DevicePtr<T>, O: DevicePtrMut<T>>(
        &self,
        cfg: MatmulConfig,
        a: &I,
        b: &I,
        c: &mut O,
        bias: Option<&I>,
        act: Option<&Activation>,
    ) -> Result<(), CublasError> {
        use sys::{cublasLtEpilogue_t as Epilogue, cublasLtMatmulDescAttributes_t as Attribute};
        let stream = self.stream();
        let shape = |(rows, columns), transposed| if transposed { (columns, rows) } else { (rows, columns) };
        let batch = |distance: Option<i64>| cfg.batch_size.zip(distance);
        let datatype = Self::matrix_type();
        let of_a = layout(datatype, shape((cfg.m, cfg.k), cfg.transa), cfg.lda, batch(cfg.stride_a))?;
        let of_b = layout(datatype, shape((cfg.k, cfg.n), cfg.transb), cfg.ldb, batch(cfg.stride_b))?;
        let of_c = layout(datatype, (cfg.m, cfg.n), cfg.ldc, batch(cfg.stride_c))?;
        let description = result::create_matmul_desc(Self::compute_type(), cudaDataType::CUDA_R_32F)?;
        let description = Owned(description, result::destroy_matmul_desc);
        let set = |attribute, (place, size)| {
            // SAFETY: the description lives, and the value is as large as the arguments say.
            unsafe { result::set_matmul_desc_attribute(description.0, attribute, place, size) }
        };
        set(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, value(&i32::from(cfg.transa)))?;
        set(Attribute::CUBLASLT_MATMUL_DESC_TRANSB, value(&i32::from(cfg.transb)))?;
        set(Attribute::CUBLASLT_MATMUL_DESC_TRANSC, value(&i32::from(cfg.transc)))?;
        let (bias, _read_bias) = bias.map(|bias| bias.device_ptr(stream)).unzip();
        let epilogue = match (act, bias) {
            (None, None) => Epilogue::CUBLASLT_EPILOGUE_DEFAULT,
            (None, Some(_)) => Epilogue::CUBLASLT_EPILOGUE_BIAS,
            (Some(Activation::Relu), None) => Epilogue::CUBLASLT_EPILOGUE_RELU,
            (Some(Activation::Relu), Some(_)) => Epilogue::CUBLASLT_EPILOGUE_RELU_BIAS,
            (Some(Activation::Gelu), None) => Epilogue::CUBLASLT_EPILOGUE_GELU,
            (Some(Activation::Gelu), Some(_)) => Epilogue::CUBLASLT_EPILOGUE_GELU_BIAS,
        };
        set(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, value(&(epilogue as u32)))?;
        if let Some(bias) = bias {
            set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, value(&bias))?;
        }
        if let Some(distance) = cfg.stride_bias {
            set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, value(&distance))?;
        }
        let preference = Owned(result::create_matmul_pref()?, result::destroy_matmul_pref);
        let workspace = self.workspace();
        let (a, _read_a) = a.device_ptr(stream);
        let (b, _read_b) = b.device_ptr(stream);
        let (c, _written) = c.device_ptr_mut(stream);
        let (memory, _used) = workspace.buffer.device_ptr(stream);
        // SAFETY: all objects live, the stream waits for other uses of the memory, and the caller vouches for
        // its size.
        unsafe {
            let found = result::get_matmul_algo_heuristic(
                *self.handle(),
                description.0,
                of_a.0,
                of_b.0,
                of_c.0,
                of_c.0,
                preference.0,
            )?;
            result::matmul(
                *self.handle(),
                description.0,
                value(&cfg.alpha).0,
                value(&cfg.beta).0,
                a as *const c_void,
                of_a.0,
                b as *const c_void,
                of_b.0,
                c as *const c_void,
                of_c.0,
                c as *mut c_void,
                of_c.0,
                &raw const found.algo,
                memory as *mut c_void,
                workspace.size,
                stream.cu_stream(),
            )
        }
    }
}

impl MatmulShared for CudaBlasLT {
    fn handle(&self) -> &sys::cublasLtHandle_t {
        &self.handle
    }

    fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

macro_rules! matmul {
    ($($(#[$attribute:meta])* $type:ty: $data:ident, $compute:ident;)+) => {
        $(
            $(#[$attribute])*
            impl Matmul<$type> for CudaBlasLT {
                fn matrix_type() -> cudaDataType {
                    cudaDataType::$data
                }

                fn compute_type() -> cublasComputeType_t {
                    cublasComputeType_t::$compute
                }
            }
        )+
    };
}

matmul! {
    f32: CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32;
    #[cfg(feature = "f16")]
    half::f16: CUDA_R_16F, CUBLAS_COMPUTE_32F;
    #[cfg(feature = "f16")]
    half::bf16: CUDA_R_16BF, CUBLAS_COMPUTE_32F;
}
