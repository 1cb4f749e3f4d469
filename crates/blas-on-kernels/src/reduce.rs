//! Reductions of vectors to a number.

use std::ffi::c_void;

use crate::args::{Args, Type};
use crate::call::{Call, INVALID_POINTER, INVALID_VALUE, NOT_IMPLEMENTED, Result};
use crate::level1::compute;
use crate::modules;
use crate::vector::{THREADS, Vector, batches, grid, kernel};

/// `Reduced` of `kernels/blas/level1.cu`.
#[repr(C)]
struct Reduced {
    n: i64,
    x: Vector,
    y: Vector,
    result: *const c_void,
    partial: *const c_void,
    result_kind: u32,
    batches: u32,
    parts: u32,
    second: u32,
    wide: u32,
    /// For a search: whether for the least.
    conjugate: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Dot {
        conjugate: bool,
    },
    /// For vectors of f32, in f64.
    WideDot,
    Nrm2,
    Asum,
    Search {
        least: bool,
    },
}

impl Operation {
    fn kernel(self, compute: Type) -> Result<&'static str> {
        match self {
            Self::Dot { .. } => kernel!("dot", compute),
            Self::WideDot => Ok("blas_dot_f32_f64"),
            Self::Nrm2 => kernel!("nrm2", compute),
            Self::Asum => kernel!("asum", compute),
            Self::Search { .. } => kernel!("search", compute),
        }
    }

    /// Bytes of a workgroup's result: `Part` in that file.
    fn part(self, compute: Type) -> usize {
        match self {
            Self::Dot { .. } | Self::WideDot => compute.size(),
            Self::Nrm2 if compute.real() == Type::F64 => 24,
            Self::Nrm2 => 8,
            Self::Asum => compute.real().size(),
            Self::Search { .. } => 16,
        }
    }
}

/// The minimum elements of a workgroup before others help it.
const LEAST: i64 = 4096;
/// The maximum number of workgroups for a vector.
const MOST_PARTS: i64 = 512;

fn reduce(call: &mut Call<'_>, args: &Args, operation: Operation) -> Result {
    let kinds = [args.x.kind, args.y.kind];
    let is_dot = matches!(operation, Operation::Dot { .. });
    let wide = [args.compute, args.result.kind] == [Some(Type::F64); 2] && kinds == [Some(Type::F32); 2];
    let operation = if is_dot && wide { Operation::WideDot } else { operation };
    // For the length of complex vectors, the compute type may be a real type.
    let args = match (operation, args.x.kind) {
        (Operation::Nrm2, Some(kind)) if args.compute == Some(kind.compute().real()) => {
            &Args { compute: Some(kind), ..*args }
        }
        _ => args,
    };
    let compute = match operation {
        Operation::WideDot => Type::F64,
        _ => compute(args, if is_dot { &kinds } else { &kinds[..1] })?,
    };
    let result = args.result.kind.ok_or(INVALID_VALUE)?;
    match operation {
        Operation::Search { .. } | Operation::WideDot => {}
        Operation::Dot { .. } if result.compute() == compute => {}
        Operation::Nrm2 | Operation::Asum if result.compute() == compute.real() => {}
        _ => return Err(NOT_IMPLEMENTED),
    }
    if args.batch <= 0 {
        return Ok(());
    }
    if args.result.at.is_null() {
        return Err(INVALID_POINTER);
    }
    let batches = batches(args)?;
    let size = if args.wide && matches!(operation, Operation::Search { .. }) { 8 } else { result.size() };
    let bytes = size * batches as usize;
    // Only dot products support negative increments.
    let empty = args.n <= 0 || !is_dot && args.x.step <= 0;
    if empty && call.on_host() {
        if call.state.query.is_none() {
            // SAFETY: the caller has room for a result of each product, and zero bytes are a zero of every
            // type.
            unsafe { args.result.at.cast_mut().cast::<u8>().write_bytes(0, bytes) };
        }
        return Ok(());
    }
    if !empty && (args.x.at.is_null() || is_dot && args.y.at.is_null()) {
        return Err(INVALID_POINTER);
    }
    let parts = if empty { 1 } else { ((args.n - 1) / LEAST + 1).min(MOST_PARTS) };
    let [results, partial] = match (call.on_host(), parts > 1) {
        (false, false) => [args.result.at.cast_mut(), std::ptr::null_mut()],
        (on_host, shared) => {
            let partial =
                if shared { operation.part(compute) * parts as usize * batches as usize } else { 0 };
            let [results, partials] = call.workspace([if on_host { bytes } else { 0 }, partial])?;
            [
                if on_host { results } else { args.result.at.cast_mut() },
                if shared { partials } else { std::ptr::null_mut() },
            ]
        }
    };
    let vector = |operand, wanted: bool| {
        if empty || !wanted { Ok(Vector::NONE) } else { Vector::new(operand, args.form, args.n) }
    };
    let mut reduced = Reduced {
        n: args.n.max(0) * i64::from(!empty),
        x: vector(&args.x, true)?,
        y: vector(&args.y, is_dot)?,
        result: results,
        partial,
        result_kind: result as u32,
        batches,
        parts: parts as u32,
        second: 0,
        wide: args.wide.into(),
        conjugate: match operation {
            Operation::Dot { conjugate } => conjugate.into(),
            Operation::Search { least } => least.into(),
            _ => 0,
        },
    };
    let kernel = operation.kernel(compute)?;
    call.launch(&modules::BLAS_LEVEL1, kernel, grid(parts, batches), THREADS, &reduced)?;
    if parts > 1 {
        reduced.second = 1;
        call.launch(&modules::BLAS_LEVEL1, kernel, grid(1, batches), THREADS, &reduced)?;
    }
    if call.on_host() { call.fetch(results, args.result.at.cast_mut(), bytes) } else { Ok(()) }
}

pub(crate) fn dot(call: &mut Call<'_>, args: &Args) -> Result {
    reduce(call, args, Operation::Dot { conjugate: false })
}

pub(crate) fn dotc(call: &mut Call<'_>, args: &Args) -> Result {
    reduce(call, args, Operation::Dot { conjugate: true })
}

pub(crate) fn nrm2(call: &mut Call<'_>, args: &Args) -> Result {
    reduce(call, args, Operation::Nrm2)
}

pub(crate) fn asum(call: &mut Call<'_>, args: &Args) -> Result {
    reduce(call, args, Operation::Asum)
}

pub(crate) fn amax(call: &mut Call<'_>, args: &Args) -> Result {
    reduce(call, args, Operation::Search { least: false })
}

pub(crate) fn amin(call: &mut Call<'_>, args: &Args) -> Result {
    reduce(call, args, Operation::Search { least: true })
}
