//! Vectors that change.

use crate::args::{Args, Form, Scalar, Type};
use crate::call::{Call, DeviceOperand, Factor, INVALID_POINTER, INVALID_VALUE, NOT_IMPLEMENTED, Result};
use crate::checks::are_there;
use crate::modules;
use crate::vector::{THREADS, Vector, batches, grid, kernel};

/// `Change` of `kernels/blas/level1.cu`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Axpy,
    Scal,
    Copy,
    Swap,
    Rot,
    Rotm,
}

/// `Changed` in that file.
#[repr(C)]
struct Changed {
    n: i64,
    x: Vector,
    y: Vector,
    alpha: Factor,
    beta: Factor,
    parameters: DeviceOperand,
    matrix: [f64; 5],
    change: Change,
    batches: u32,
}

impl Changed {
    fn enqueue(&self, call: &mut Call<'_>, compute: Type) -> Result {
        let workgroups = (self.n - 1) / i64::from(THREADS) + 1;
        let grid = grid(workgroups.min(4096), self.batches);
        call.launch(&modules::BLAS_LEVEL1, kernel!("change", compute)?, grid, THREADS, self)
    }
}

/// The compute type for vectors and factors of these types.
pub(crate) fn compute(args: &Args, kinds: &[Option<Type>]) -> Result<Type> {
    let compute = args.compute.ok_or(INVALID_VALUE)?.compute();
    for kind in kinds {
        if kind.ok_or(INVALID_VALUE)?.compute() != compute {
            return Err(NOT_IMPLEMENTED);
        }
    }
    Ok(compute)
}

/// The type of a factor is that of the vectors, or the corresponding real type.
fn check_factor(kind: Option<Type>, compute: Type) -> Result {
    let kind = kind.ok_or(INVALID_VALUE)?.compute();
    if kind == compute || kind == compute.real() { Ok(()) } else { Err(NOT_IMPLEMENTED) }
}

fn enqueue(
    call: &mut Call<'_>,
    args: &Args,
    compute: Type,
    change: Change,
    [alpha, beta]: [Factor; 2],
) -> Result {
    let n = args.n;
    let y = if change == Change::Scal { Vector::NONE } else { Vector::new(&args.y, args.form, n)? };
    let x = Vector::new(&args.x, args.form, n)?;
    let mut changed = Changed {
        n,
        x,
        y,
        alpha,
        beta,
        parameters: DeviceOperand::NONE,
        matrix: [0.0; 5],
        change,
        batches: batches(args)?,
    };
    if change == Change::Rotm {
        if args.form == Form::Plain && call.on_host() {
            let kind = args.c.kind.ok_or(INVALID_VALUE)?;
            let at = args.c.at;
            for (index, number) in changed.matrix.iter_mut().enumerate() {
                // SAFETY: the caller's five parameters are in host memory.
                *number = unsafe {
                    if kind == Type::F64 {
                        at.cast::<f64>().add(index).read_unaligned()
                    } else {
                        at.cast::<f32>().add(index).read_unaligned().into()
                    }
                };
            }
        } else {
            changed.parameters = DeviceOperand::new(&args.c, args.form)?;
        }
    }
    changed.enqueue(call, compute)
}

const NO_FACTORS: [Factor; 2] = [Factor::of(0.0); 2];

pub(crate) fn axpy(call: &mut Call<'_>, args: &Args) -> Result {
    let compute = compute(args, &[args.x.kind, args.y.kind])?;
    check_factor(args.alpha.kind, compute)?;
    if args.n <= 0 || args.batch <= 0 {
        return Ok(());
    }
    let alpha = call.factor(args.alpha)?;
    if alpha.is(0.0) {
        return Ok(());
    }
    let all = !args.x.at.is_null() && !args.y.at.is_null();
    call.operands([alpha, Factor::of(1.0)], |factors| are_there(factors, all, all))?;
    enqueue(call, args, compute, Change::Axpy, [alpha, Factor::of(0.0)])
}

pub(crate) fn scal(call: &mut Call<'_>, args: &Args) -> Result {
    let compute = compute(args, &[args.x.kind])?;
    check_factor(args.alpha.kind, compute)?;
    if args.n <= 0 || args.x.step <= 0 || args.batch <= 0 {
        return Ok(());
    }
    let alpha = call.factor(args.alpha)?;
    if args.x.at.is_null() {
        return Err(INVALID_POINTER);
    }
    if alpha.is(1.0) {
        return Ok(());
    }
    enqueue(call, args, compute, Change::Scal, [alpha, Factor::of(0.0)])
}

fn move_vectors(call: &mut Call<'_>, args: &Args, change: Change) -> Result {
    let compute = compute(args, &[args.x.kind, args.y.kind])?;
    if args.n <= 0 || args.batch <= 0 {
        return Ok(());
    }
    if args.x.at.is_null() || args.y.at.is_null() {
        return Err(INVALID_POINTER);
    }
    enqueue(call, args, compute, change, NO_FACTORS)
}

pub(crate) fn copy(call: &mut Call<'_>, args: &Args) -> Result {
    move_vectors(call, args, Change::Copy)
}

pub(crate) fn swap(call: &mut Call<'_>, args: &Args) -> Result {
    move_vectors(call, args, Change::Swap)
}

pub(crate) fn rot(call: &mut Call<'_>, args: &Args) -> Result {
    let compute = compute(args, &[args.x.kind, args.y.kind])?;
    check_factor(args.alpha.kind, compute)?;
    check_factor(args.beta.kind, compute)?;
    if args.n <= 0 || args.batch <= 0 {
        return Ok(());
    }
    // A cosine is real: if it is complex, only the real part counts, which comes first.
    let cosine = Scalar { kind: args.alpha.kind.map(Type::real), ..args.alpha };
    let factors = [call.factor(cosine)?, call.factor(args.beta)?];
    if args.x.at.is_null() || args.y.at.is_null() {
        return Err(INVALID_POINTER);
    }
    if factors[0].is(1.0) && factors[1].is(0.0) {
        return Ok(());
    }
    enqueue(call, args, compute, Change::Rot, factors)
}

pub(crate) fn rotm(call: &mut Call<'_>, args: &Args) -> Result {
    let compute = compute(args, &[args.x.kind, args.y.kind])?;
    if args.n <= 0 || args.batch <= 0 {
        return Ok(());
    }
    if args.x.at.is_null() || args.y.at.is_null() || args.c.at.is_null() {
        return Err(INVALID_POINTER);
    }
    enqueue(call, args, compute, Change::Rotm, NO_FACTORS)
}

/// Copies a vector for each product of a batch to another place.
pub(crate) fn copy_to(call: &mut Call<'_>, [x, y]: [Vector; 2], n: i64, batches: u32, kind: Type) -> Result {
    let [alpha, beta] = NO_FACTORS;
    let (parameters, matrix) = (DeviceOperand::NONE, [0.0; 5]);
    let changed = Changed { n, x, y, alpha, beta, parameters, matrix, change: Change::Copy, batches };
    changed.enqueue(call, kind)
}
