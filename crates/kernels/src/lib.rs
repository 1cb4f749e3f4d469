//! Ready-made GPU kernels for AMD targets: compiled from `kernels/*.cu`, embedded, launched through typed and safe functions.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use hip::{Device, DeviceBuffer};
//! use kernels::{Gemm, Kernels};
//!
//! let device = Device::open("auto")?;
//! let stream = device.stream()?;
//! let kernels = Kernels::new(&device);
//!
//! let a = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0, 4.0])?;
//! let b = DeviceBuffer::from_slice(&stream, &[5.0_f32, 6.0, 7.0, 8.0])?;
//! let mut c = DeviceBuffer::zeroed(&stream, 4)?;
//! kernels.gemm(&stream, &Gemm::new(2, 2, 2), &a, &b, &mut c)?;
//! assert_eq!(c.to_vec(&stream)?, [19.0, 22.0, 43.0, 50.0]);
//! # Ok(())
//! # }
//! ```
//!
//! | function | kernels | types |
//! |---|---|---|
//! | [`Kernels::fill`] | `fill.cu` | f32, f16, bf16 |
//! | [`Kernels::affine`], [`Kernels::axpy`] | `affine.cu` | f32, f16, bf16 |
//! | [`Kernels::unary`] | `unary.cu` | f32, f16, bf16 |
//! | [`Kernels::binary`], [`Kernels::compare`] | `binary.cu` | f32, f16, bf16 |
//! | [`Kernels::cast`] | `cast.cu` | f32, f16, bf16, u8, u32, i64 |
//! | [`Kernels::reduce`], [`Kernels::softmax`] | `reduce.cu` | f32, f16, bf16 |
//! | [`Kernels::attention`] | `attention.cu` | f32, f16, bf16; cached keys and values also f8, i8 |
//! | [`Kernels::gemm`] | `gemm.cu`, `gemv.cu` | f32, f16, bf16, i8 |
//!
//! The crate's build script compiles the kernels with the device compiler that `kernel-build` finds, for the targets in
//! `FERROCM_TARGETS` or else gfx90a, gfx942, gfx950, gfx1030, gfx1100, gfx1151, gfx1200 and gfx1201.
//!
//! The feature `virtual`, on by default, is that of `hip`: without it, the virtual GPU is not part of the program.
#![warn(missing_docs)]

mod attention;
mod element;
mod elementwise;
mod error;
mod gemm;
mod library;
mod reduce;
pub mod reference;

pub use attention::{Attention, AttentionInputs, HeadStrides};
pub use element::Element;
pub use elementwise::{BinaryOp, CastElement, CompareOp, UnaryOp};
pub use error::{Error, Result};
pub use gemm::{Gemm, GemmElement};
pub use library::Kernels;
pub use reduce::ReduceOp;

/// The compiled kernels: one module per `.cu` file.
pub mod modules {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// The README's program is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
