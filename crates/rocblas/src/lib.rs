//! Safe rocBLAS for Rust: linear algebra on AMD, NVIDIA and virtual GPUs.
//!
//! A [`Blas`] belongs to a stream; its methods are the routines of BLAS under their usual names. Operands are
//! [`Vector`]s and [`Matrix`]es: layouts over buffers of [`hip`], row-major or column-major. The
//! implementation is chosen at run time: AMD's library if it is installed, else this project's own kernels,
//! which also run on virtual GPUs; on NVIDIA GPUs it is cuBLAS ([`Library`]).
//!
//! ```no_run
#![doc = include_str!("../examples/gemm.rs")]
//! ```
//! # Writing calls
//! - Operands come first, in the order of BLAS; those that are written are `&mut`. Sizes come from the views.
//! - `a.t()` is the transposed matrix and `a.h()` the conjugate transpose, so there are no arguments for
//!   that. [`Fill`] names a triangle of the view.
//! - Factors are set by name before the operation runs: `blas.gemm(&a, &b, &mut c).alpha(2.0).run()?`. By
//!   default, `alpha` is one and `beta` is zero. Factors may come from device memory.
//! - For results that are numbers, `run` waits and returns them, and `run_into` writes them to device memory.
//! - Batches are views with a [`Batch`]: at a fixed distance, or each in its own memory
//!   ([`View::from_slices`]). The same methods accept them.
//! # Guarantees
//! - **Every argument is checked** before anything is enqueued: sizes, strides, increments, overlaps,
//!   devices. Nothing panics, whatever a caller passes.
//! - **Operands** are ordered across streams and kept alive, as for kernels: see [`hip`].
//! - **Sizes beyond 32 bits** use the library's 64-bit functions. If it has none, the error is [`Error::Missing`].
//! - **Errors** name the operation, or the function with its status.
//!
//! # Row-major matrices
//! rocBLAS only supports column-major matrices. A row-major matrix is the transpose of a column-major one, so
//! this crate transposes the equation, without copying. Cases that BLAS cannot express are refused: complex
//! matrices that would have to be conjugated but not transposed ([`Error::Conjugation`]), such as a row-major
//! Hermitian one.
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `kernels` | on | this project's own kernels. Without it, only AMD's rocBLAS can be used. |
//! | `virtual` | on | the virtual GPU, as the feature of [`hip`] |
//! | `ndarray` | off | `DeviceMatrix` and `DeviceVector`: conversions from and to arrays of the crate `ndarray` |
//! # What this crate does not wrap
//! All other functions can be called through [`Blas::table`] with [`Blas::as_raw`].
#![warn(missing_docs)]
#![allow(clippy::type_complexity, reason = "builders carry the final call, whose type names its borrows")]
#![allow(clippy::should_implement_trait, reason = "routines have the names of BLAS")]

#[cfg(feature = "ndarray")]
mod arrays;
mod blas;
mod element;
mod error;
mod extensions;
#[allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "a private module, whose traits are public as bounds of public traits; BLAS defines the arguments"
)]
mod functions;
mod layout;
mod level1;
mod level2;
mod level3;
mod library;
#[allow(missing_docs, reason = "exported items are documented; the rest is public only in signatures")]
mod operation;
mod plan;
mod view;

#[cfg(feature = "ndarray")]
pub use arrays::{DeviceArray, DeviceMatrix, DeviceVector};
pub use blas::{Blas, MathMode, PerformanceMetric};
pub use element::{
    AxpyScalar, Bf8, Complex, Compute, DotScalar, Element, F8, Float8, Float8Compute, Float8Input,
    Float8Output, GemmInput, GemvInput, One, Real, Scalar,
};
pub use error::{Error, Result};
pub use extensions::Distance;
pub use layout::{BandLayout, Batch, Layout, LayoutError, MatrixLayout, Order, PackedLayout, VectorLayout};
pub use level1::{ModifiedRotation, Rotation};
pub use level3::{Gemm, GemmF8, GemmFlags};
pub use library::{Choice, Library};
pub use num_complex::{Complex32, Complex64};
pub use operation::{Reduction, Scaled, Search, Update};
pub use plan::{Diag, Fill, Side};
pub use rocblas_sys;
pub use view::{Band, Matrix, MatrixMut, Packed, PackedMut, Vector, VectorMut, View, ViewMut};
