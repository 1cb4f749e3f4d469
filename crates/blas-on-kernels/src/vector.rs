//! Vectors as kernels see them.

use crate::args::{Args, Form, Operand, Type};
use crate::call::{DeviceOperand, INVALID_SIZE, Result};

/// `Vector` of `kernels/blas/vector.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector {
    pub(crate) operand: DeviceOperand,
    pub(crate) step: i64,
}

impl Vector {
    pub(crate) const NONE: Self = Self { operand: DeviceOperand::NONE, step: 0 };

    /// A vector of `n` elements. If the increment is negative, the pointer leads to the last one.
    pub(crate) fn new(operand: &Operand, form: Form, n: i64) -> Result<Self> {
        let step = operand.step;
        let first = if step < 0 { (1 - n).checked_mul(step).ok_or(INVALID_SIZE)? } else { 0 };
        Ok(Self { operand: DeviceOperand { first, ..DeviceOperand::new(operand, form)? }, step })
    }

    /// Vectors one after the other in memory of the handle.
    pub(crate) fn dense(at: *const std::ffi::c_void, n: i64, kind: Type) -> Self {
        Self { operand: DeviceOperand::dense(at, n, kind), step: 1 }
    }
}

/// Work-items of a workgroup: `THREADS` of `kernels/blas/vector.cuh`.
pub(crate) const THREADS: u32 = 256;
/// The maximum number of workgroups in the first and in the second dimension of a grid. Each goes on by the
/// grid's size.
pub(crate) const MOST: [i64; 2] = [1 << 20, 4096];

/// A grid of this many workgroups for each product of a batch.
pub(crate) fn grid(workgroups: i64, batches: u32) -> [u32; 3] {
    [workgroups.clamp(1, MOST[0]) as u32, i64::from(batches).clamp(1, MOST[1]) as u32, 1]
}

/// The number of products of a batch, as kernels count them.
pub(crate) fn batches(args: &Args) -> Result<u32> {
    u32::try_from(args.batch).map_err(|_| INVALID_SIZE)
}

/// The name of an operation's kernel for a compute type: f32, f64, c32 or c64.
macro_rules! kernel {
    ($name:literal, $compute:expr) => {
        match $compute {
            $crate::args::Type::F32 => Ok(concat!("blas_", $name, "_f32")),
            $crate::args::Type::F64 => Ok(concat!("blas_", $name, "_f64")),
            $crate::args::Type::C32 => Ok(concat!("blas_", $name, "_c32")),
            $crate::args::Type::C64 => Ok(concat!("blas_", $name, "_c64")),
            _ => Err($crate::call::NOT_IMPLEMENTED),
        }
    };
}
pub(crate) use kernel;
