use cudarc::cublaslt::sys::cublasStatus_t;
use cudarc::cublaslt::{Activation, CudaBlasLT, Matmul, MatmulConfig};
use cudarc::driver::DeviceRepr;
use half::{bf16, f16};

use crate::blas::{numbers, place};
use crate::device;

const CONFIG: MatmulConfig = MatmulConfig {
    transa: false,
    transb: false,
    transc: false,
    m: 9,
    n: 7,
    k: 5,
    alpha: 0.5,
    lda: 10,
    ldb: 6,
    beta: 0.0,
    ldc: 11,
    stride_a: None,
    stride_b: None,
    stride_c: None,
    stride_bias: None,
    batch_size: None,
};

/// The tanh approximation, as in cuBLASLt's documentation.
fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (std::f64::consts::FRAC_2_PI.sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
}

fn products<E>(from: fn(f64) -> E, to: fn(E) -> f64, precision: f64)
where
    E: DeviceRepr + Copy + std::fmt::Debug,
    CudaBlasLT: Matmul<E>,
{
    let (_, stream) = device();
    let lt = CudaBlasLT::new(stream.clone()).unwrap();
    let upload =
        |values: &[f64]| stream.clone_htod(&values.iter().copied().map(from).collect::<Vec<E>>()).unwrap();
    let (m, n, k) = (CONFIG.m as usize, CONFIG.n as usize, CONFIG.k as usize);
    for (transa, transb) in [(false, false), (true, false), (false, true), (true, true)] {
        for (batch, activation, has_bias) in [
            (1, None, false),
            (1, None, true),
            (3, Some(Activation::Relu), true),
            (2, Some(Activation::Gelu), false),
        ] {
            let (lda, ldb, ldc) = (10, 8, 11);
            let (a, b) = (numbers(lda * 10 * batch, 1), numbers(ldb * 8 * batch, 2));
            let (c, bias) = (numbers(ldc * n * batch, 3), numbers(m * batch, 4));
            let (beta, strides) = (if batch == 2 { 1.0 } else { 0.0 }, (lda * 10, ldb * 8, ldc * n));
            let mut expected = c.clone();
            for item in 0..batch {
                for row in 0..m {
                    for column in 0..n {
                        let product = |depth| {
                            a[item * strides.0 + place(row, depth, lda, transa)]
                                * b[item * strides.1 + place(depth, column, ldb, transb)]
                        };
                        let place = &mut expected[item * strides.2 + column * ldc + row];
                        let mut value = 0.5 * (0..k).map(product).sum::<f64>() + beta * *place;
                        value += if has_bias { bias[item * m + row] } else { 0.0 };
                        *place = match activation {
                            None => value,
                            Some(Activation::Relu) => value.max(0.0),
                            Some(Activation::Gelu) => gelu(value),
                        };
                    }
                }
            }
            let stride = |stride: usize| (batch > 1).then_some(stride as i64);
            let config = MatmulConfig {
                transa,
                transb,
                lda: lda as i64,
                ldb: ldb as i64,
                ldc: ldc as i64,
                beta: beta as f32,
                stride_a: stride(strides.0),
                stride_b: stride(strides.1),
                stride_c: stride(strides.2),
                stride_bias: stride(m),
                batch_size: (batch > 1).then_some(batch as i32),
                ..CONFIG
            };
            let (a, b, mut c, bias) = (upload(&a), upload(&b), upload(&c), upload(&bias));
            let bias = has_bias.then_some(&bias);
            // SAFETY: the matrices are as large as the arguments say.
            unsafe { lt.matmul(config, &a, &b, &mut c, bias, activation.as_ref()) }.unwrap();
            for (got, expected) in stream.clone_dtoh(&c).unwrap().into_iter().map(to).zip(&expected) {
                let close = (got - expected).abs() <= precision * expected.abs().max(1.0);
                assert!(close, "{transa} {transb} {activation:?} {has_bias}: {got} for {expected}");
            }
        }
    }
}

#[test]
fn products_with_what_follows_are_those_of_a_model() {
    products::<f32>(|number| number as f32, f64::from, 2e-6);
    products::<f16>(f16::from_f64, f16::to_f64, 2e-3);
    products::<bf16>(bf16::from_f64, bf16::to_f64, 1.6e-2);
}

#[test]
fn what_cannot_be_multiplied_is_an_error() {
    let (_, stream) = device();
    let lt = CudaBlasLT::new(stream.clone()).unwrap();
    let a = stream.alloc_zeros::<f32>(256).unwrap();
    let mut c = stream.alloc_zeros::<f32>(256).unwrap();
    let mut multiply = |config| {
        // SAFETY: the matrices are as large as the arguments say, or nothing is read or written.
        unsafe { lt.matmul(config, &a, &a, &mut c, None, None) }.map_err(|error| error.0)
    };
    multiply(CONFIG).unwrap();
    let invalid = Err(cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE);
    assert_eq!(multiply(MatmulConfig { lda: 8, ..CONFIG }), invalid);
    assert_eq!(multiply(MatmulConfig { n: 1 << 40, ..CONFIG }), invalid);
    let one = MatmulConfig { batch_size: Some(2), stride_a: Some(50), ..CONFIG };
    assert_eq!(multiply(one), invalid, "the others are no batch");
    let transposed = MatmulConfig { transc: true, ..CONFIG };
    assert_eq!(multiply(transposed), Err(cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED));
}
