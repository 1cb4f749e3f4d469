//! Operations element by element.

use half::{bf16, f16};
use kernels::F8E4M3;
use rayon::prelude::*;

use super::{CpuBackend, Session, same, unsupported};
use crate::error::Result;
use crate::ops::{Activation, Gate};
use crate::{DType, Tensor, check};

/// Elements from which an operation uses all threads.
pub(super) const PARALLEL: usize = 16 * 1024;

impl CpuBackend {
    /// Calls `f` for each row of `out`, with all threads if there is enough to do.
    pub(super) fn for_rows(&self, out: &mut [f32], columns: usize, f: impl Fn(usize, &mut [f32]) + Sync) {
        let columns = columns.max(1);
        if out.len() < PARALLEL || self.info.compute_units == 1 {
            out.chunks_mut(columns).enumerate().for_each(|(row, out)| f(row, out));
        } else {
            self.pool.install(|| out.par_chunks_mut(columns).enumerate().for_each(|(row, out)| f(row, out)));
        }
    }

    /// `out = f(x)`.
    pub(super) fn map(
        &self,
        operation: &'static str,
        x: &Tensor,
        out: &Tensor,
        f: impl Fn(f32) -> f32 + Sync,
    ) -> Result<()> {
        same(operation, x, out)?;
        let mut session = self.session();
        let mut values = session.floats(operation, x)?.into_owned();
        self.for_rows(&mut values, 4096, |_, row| row.iter_mut().for_each(|x| *x = f(*x)));
        session.write(operation, out, &values)
    }

    /// `out = f(a, b)`; `b` has the last dimensions of `a`.
    pub(super) fn combine(
        &self,
        operation: &'static str,
        a: &Tensor,
        b: &Tensor,
        out: &Tensor,
        f: impl Fn(f32, f32) -> f32 + Sync,
    ) -> Result<()> {
        same(operation, a, out)?;
        if b.dtype() != a.dtype() {
            return Err(unsupported(operation, &[a, b]));
        }
        check::repeats(operation, a, b)?;
        let mut session = self.session();
        let mut values = session.floats(operation, a)?.into_owned();
        let others = session.floats(operation, b)?;
        let period = others.len().max(1);
        // Chunks begin at a multiple of the period, or within one period.
        let chunk = if period <= 4096 { 4096 / period * period } else { 4096 };
        self.for_rows(&mut values, chunk, |row, values| {
            let mut at = row * chunk % period;
            for x in values {
                *x = f(*x, others[at]);
                at += 1;
                if at == period {
                    at = 0;
                }
            }
        });
        drop(others);
        session.write(operation, out, &values)
    }
}

/// A function of one number.
pub(super) fn function(f: Activation) -> fn(f32) -> f32 {
    match f {
        Activation::Silu => |x| x / (1.0 + (-x).exp()),
        Activation::Gelu => gelu,
        Activation::GeluErf => gelu_erf,
        Activation::Relu2 => relu2,
        Activation::Sigmoid => |x| 1.0 / (1.0 + (-x).exp()),
        Activation::Tanh => f32::tanh,
        Activation::Exp => f32::exp,
        Activation::Softplus => |x| x.max(0.0) + (-x.abs()).exp().ln_1p(),
    }
}

/// What combines a gate with the other factor.
pub(super) fn gate(gate: Gate) -> impl Fn(f32, f32) -> f32 + Sync {
    move |x, up| match gate {
        Gate::Silu => x / (1.0 + (-x).exp()) * up,
        Gate::Gelu => gelu(x) * up,
        Gate::GeluErf => gelu_erf(x) * up,
        Gate::Relu2 => relu2(x) * up,
        Gate::SwigluOai { alpha, limit } => {
            let (x, up) = (x.min(limit), up.clamp(-limit, limit));
            x / (1.0 + (-alpha * x).exp()) * (up + 1.0)
        }
    }
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + (0.797_884_6 * x * (1.0 + 0.044_715 * x * x)).tanh())
}

fn gelu_erf(x: f32) -> f32 {
    let x = f64::from(x);
    (0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)) as f32
}

fn relu2(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x * x }
}

/// Copies elements of any type.
pub(super) fn copy(session: &mut Session<'_>, x: &Tensor, out: &Tensor) -> Result<()> {
    same("copy", x, out)?;
    macro_rules! copied {
        ($type:ty) => {{
            let values = session.elements::<$type>("copy", x)?.into_owned();
            session.store("copy", out, values)
        }};
    }
    match x.dtype() {
        DType::F32 => copied!(f32),
        DType::F16 => copied!(f16),
        DType::BF16 => copied!(bf16),
        DType::F8 => copied!(F8E4M3),
        DType::I8 => copied!(i8),
        DType::U32 => copied!(u32),
        DType::I64 => copied!(i64),
        DType::Quant(_) => {
            let bytes = session.bytes("copy", x)?.to_vec();
            session.upload(&bytes, out)
        }
    }
}
