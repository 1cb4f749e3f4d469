//! Safe rocBLAS for Rust: linear algebra on AMD and virtual GPUs.
//!
//! A [`Blas`] belongs to a stream; its methods are the routines of BLAS by their own names. Operands are [`Vector`]s and [`Matrix`]es: layouts over
//! buffers of [`hip`], row-major or column-major. Whose rocBLAS computes is found out at run time: AMD's library where it is
//! installed, else this project's own kernels, which also run on virtual GPUs ([`Library`]).
//!
//! ```no_run
#![doc = include_str!("../examples/gemm.rs")]
//! ```
//!
//! # How a call reads
//! - Operands come first, in the order of BLAS; what is written is `&mut`. Sizes are those of the views.
//! - `a.t()` is the transposed matrix, `a.h()` the conjugate transpose: there are no arguments for that. [`Fill`] names the triangle that the view
//!   shows.
//! - Factors are set by name before the operation runs: `blas.gemm(&a, &b, &mut c).alpha(2.0).run()?`. `alpha` is one and `beta` is zero
//!   otherwise. Factors may come from device memory.
//! - Results that are numbers are waited for by `run`, or go to device memory by `run_into`.
//! - Batches are views with a [`Batch`]: at a fixed distance, or each in memory of its own ([`View::from_slices`]). The same methods take
//!   them.
//!
//! # What is promised
//! - **Every argument is checked** before anything is enqueued: sizes, strides, increments, overlaps, devices. Nothing panics for what a
//!   caller passes.
//! - **Operands** are ordered over streams and kept alive as they are for kernels: see [`hip`].
//! - **Sizes beyond 32 bits** call the functions for 64 bits, if the library has them; else the error is [`Error::Missing`].
//! - **Errors** name the operation, or the function with its status.
//!
//! # Row-major matrices
//! rocBLAS knows column-major matrices alone. A row-major one is computed as the transposed matrix that it is, without copying, by
//! writing the equation for it. What BLAS has no form for is refused: with complex numbers a matrix that would have to be conjugated and not transposed
//! ([`Error::Conjugation`]), such as a row-major Hermitian one.
//!
//! # Features
//! | feature | by default | brings |
//! |---|---|---|
//! | `kernels` | on | this project's own kernels. Without it, only AMD's rocBLAS serves. |
//! | `virtual` | on | the virtual GPU, as the feature of [`hip`] |
//! | `ndarray` | off | `DeviceMatrix` and `DeviceVector`: conversions from and to arrays of the crate `ndarray` |
//!
//! # What it does not do
//! Functions that this crate has not can be called through [`Blas::table`] with [`Blas::as_raw`].
#![warn(missing_docs)]
#![allow(
    clippy::type_complexity,
    reason = "builders carry the call that they end with, whose type says what it borrows"
)]
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
    reason = "a private module, whose traits are public as bounds of public ones; the arguments are those of BLAS"
)]
mod functions;
mod layout;
mod level1;
mod level2;
mod level3;
mod library;
#[allow(missing_docs, reason = "what is documented is exported; the rest is public in signatures alone")]
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
