//! Products with a bias and an activation.

use blas_on_kernels::{Activation, FusedGemm, FusedMatrix};
use half::{bf16, f16};
use rocblas_sys::{rocblas_datatype, rocblas_status};

use crate::common::{BETWEEN, Blas, Form, N, NAN, Random, SUCCESS, T, op};
use crate::model::{Element, Matrix, Sum, ZERO, z};

const F32: rocblas_datatype = rocblas_datatype::rocblas_datatype_f32_r;
const F16: rocblas_datatype = rocblas_datatype::rocblas_datatype_f16_r;
const BF16: rocblas_datatype = rocblas_datatype::rocblas_datatype_bf16_r;

fn activated(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Relu => x.max(0.0),
        Activation::Gelu => {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        _ => x,
    }
}

/// The maximum slope of an activation.
const STEEPEST: f64 = 1.2;

fn cases<A: Element, D: Element, B: Element>([from, to, bias_kind]: [rocblas_datatype; 3]) {
    let blas = Blas::new();
    let mut random = Random::new(50);
    let activations =
        [Activation::None, Activation::Relu, Activation::Gelu, Activation::Silu, Activation::Sigmoid];
    // Whole and partial tiles; a shared depth.
    for (number, [m, n, k]) in
        [[64, 16, 32], [70, 33, 40], [5, 3, 0], [128, 65, 19], [64, 2, 600], [3, 1, 700]]
            .into_iter()
            .enumerate()
    {
        for activation in activations {
            let form = if number % 2 == 0 { Form::Plain } else { Form::Strided };
            let batch = form.batch();
            let on_device = activation == Activation::Silu;
            let [trans_a, trans_b] = [random.one_of(&[N, T]), random.one_of(&[N, T])];
            let mut side = |trans, rows, columns| {
                let (rows, columns) = if trans == N { (rows, columns) } else { (columns, rows) };
                random.matrices::<A>(batch, rows, columns)
            };
            let (a, b) = (side(trans_a, m, k), side(trans_b, k, n));
            let (alpha, beta) = (z(0.5), if number % 3 == 0 { ZERO } else { z(-1.5) });
            let mut c = random.matrices::<D>(batch, m, n);
            if beta == ZERO {
                c.iter_mut().for_each(|c| (0..m * n).for_each(|at| c.set(at % m, at / m, NAN)));
            }
            let d: Vec<_> = c.iter().map(|c| Matrix::<D>::new(m, n, c.leading, BETWEEN)).collect();
            let bias: Vec<B> = (0..m).map(|_| B::of(random.z())).collect();
            let with_bias = activation != Activation::Relu;
            let on_bias = blas.upload(&bias);
            let [on_a, on_b] = [&a, &b].map(|matrices| blas.matrices(form, matrices));
            let [on_c, on_d] = [&c, &d].map(|matrices| blas.matrices(form, matrices));
            let [on_alpha, on_beta] = [alpha, beta].map(|x| blas.scalar::<f32>(x, on_device));
            blas.on_device(on_device);
            let matrix =
                |at, kind, leading: usize, stride| FusedMatrix { at, kind, leading: leading as i64, stride };
            let fused = FusedGemm {
                trans_a,
                trans_b,
                m: m as i64,
                n: n as i64,
                k: k as i64,
                alpha: on_alpha.pointer().cast(),
                a: matrix(on_a.pointer(), from, a[0].leading, on_a.stride),
                b: matrix(on_b.pointer(), from, b[0].leading, on_b.stride),
                beta: on_beta.pointer().cast(),
                c: matrix(on_c.pointer(), to, c[0].leading, on_c.stride),
                d: matrix(on_d.pointer(), to, d[0].leading, on_d.stride),
                bias: if with_bias { crate::common::pointer(&on_bias) } else { std::ptr::null_mut() },
                bias_kind,
                activation,
                batch: batch as i64,
            };
            // SAFETY: the operands have as many elements as the sizes say.
            assert_eq!(unsafe { fused.enqueue(blas.handle) }, SUCCESS);
            for (index, got) in on_d.read(&blas).iter().enumerate() {
                for j in 0..n {
                    for i in 0..m {
                        let mut sum = Sum::of(
                            (0..k).map(|d| (op(&a[index], trans_a, i, d), op(&b[index], trans_b, d, j))),
                        );
                        sum = sum.times(alpha);
                        if beta != ZERO {
                            sum = sum.plus(beta, c[index].at(i, j));
                        }
                        if with_bias {
                            sum = sum.plus(z(1.0), bias[i].z());
                        }
                        let want = activated(activation, sum.value.re);
                        let bound = 6e-8 * (sum.size + 1.0) * (8 + 2 * sum.terms) as f64 * STEEPEST
                            + 2.0 * D::ROUNDING * want.abs();
                        let got = got[i + j * d[index].leading].z().re;
                        assert!(
                            (got - want).abs() <= bound,
                            "{activation:?} {:?} at {i}, {j}: {got}, not {want}",
                            [m, n, k]
                        );
                    }
                    for i in m..d[index].leading {
                        assert_eq!(got[i + j * d[index].leading], D::of(BETWEEN), "between columns");
                    }
                }
            }
        }
    }
}

#[test]
fn fused_products_of_f16_are_right() {
    cases::<f16, f16, f32>([F16, F16, F32]);
    cases::<f16, f32, f16>([F16, F32, F16]);
}

#[test]
fn fused_products_of_f32_and_bf16_are_right() {
    cases::<f32, f32, f32>([F32, F32, F32]);
    cases::<bf16, bf16, bf16>([BF16, BF16, BF16]);
}

#[test]
fn what_is_not_fused_is_told() {
    let blas = Blas::new();
    let memory = blas.upload(&[0.0_f64; 64]);
    let at = crate::common::pointer(&memory);
    let (one, zero) = (1.0_f32, 0.0_f32);
    let matrix = |kind, leading| FusedMatrix { at, kind, leading, stride: 0 };
    let good = FusedGemm {
        trans_a: N,
        trans_b: N,
        m: 2,
        n: 2,
        k: 2,
        alpha: &one,
        a: matrix(F32, 2),
        b: matrix(F32, 2),
        beta: &zero,
        c: matrix(F32, 2),
        d: matrix(F32, 2),
        bias: at,
        bias_kind: F32,
        activation: Activation::Relu,
        batch: 1,
    };
    let f64 = rocblas_datatype::rocblas_datatype_f64_r;
    let not_implemented = rocblas_status::rocblas_status_not_implemented;
    for (case, want) in [
        (good, SUCCESS),
        (
            FusedGemm { a: matrix(f64, 2), b: matrix(f64, 2), c: matrix(f64, 2), d: matrix(f64, 2), ..good },
            not_implemented,
        ),
        (FusedGemm { a: matrix(F16, 2), ..good }, not_implemented),
        (FusedGemm { bias_kind: f64, ..good }, not_implemented),
        (FusedGemm { b: matrix(F32, 1 << 22), ..good }, not_implemented),
        (FusedGemm { m: 0, ..good }, SUCCESS),
        (FusedGemm { a: matrix(F32, 1), ..good }, rocblas_status::rocblas_status_invalid_size),
        (FusedGemm { n: -1, ..good }, rocblas_status::rocblas_status_invalid_size),
        (
            FusedGemm { d: FusedMatrix { at: std::ptr::null(), ..good.d }, ..good },
            rocblas_status::rocblas_status_invalid_pointer,
        ),
    ] {
        // SAFETY: there are as many elements as the sizes say, or the call is refused.
        assert_eq!(unsafe { case.enqueue(blas.handle) }, want, "{case:?}");
    }
}
