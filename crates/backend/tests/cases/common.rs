//! Shared by all cases: the backend under test, numbers to try, comparisons.

use std::sync::Arc;

use backend::{DType, KernelBackend, Tensor};

/// The types of activations, with half the distance between 1 and the next larger number.
pub(crate) const FLOATS: [(DType, f64); 3] =
    [(DType::F32, 6e-8), (DType::F16, 4.9e-4), (DType::BF16, 3.91e-3)];

pub(crate) struct Bench {
    pub(crate) backend: Arc<dyn KernelBackend>,
}

/// Pseudo-random numbers in `-range..range`.
pub(crate) fn random(count: usize, seed: u64, range: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 24) as f32
    };
    (0..count).map(|_| (next() * 2.0 - 1.0) * range).collect()
}

/// Numbers as a type has them.
pub(crate) fn rounded(dtype: DType, numbers: &[f32]) -> Vec<f64> {
    let one = |x: &f32| match dtype {
        DType::F16 => half::f16::from_f32(*x).to_f64(),
        DType::BF16 => half::bf16::from_f32(*x).to_f64(),
        _ => f64::from(*x),
    };
    numbers.iter().map(one).collect()
}

impl Bench {
    pub(crate) fn open() -> Self {
        Self { backend: crate::backend() }
    }

    /// A tensor of pseudo-random numbers, and those numbers.
    pub(crate) fn random(&self, dtype: DType, shape: &[usize], seed: u64, range: f32) -> (Tensor, Vec<f64>) {
        let numbers = random(shape.iter().product(), seed, range);
        (self.tensor(dtype, shape, &numbers), rounded(dtype, &numbers))
    }

    pub(crate) fn tensor(&self, dtype: DType, shape: &[usize], numbers: &[f32]) -> Tensor {
        self.backend.tensor(dtype, shape, numbers).unwrap()
    }

    pub(crate) fn empty(&self, dtype: DType, shape: &[usize]) -> Tensor {
        self.backend.empty(dtype, shape).unwrap()
    }

    pub(crate) fn u32(&self, shape: &[usize], numbers: &[u32]) -> Tensor {
        self.backend.tensor_u32(shape, numbers).unwrap()
    }

    /// Compares a tensor with what it should be: `slack` has what f32 arithmetic may lose, and rounding to
    /// the tensor's type comes on top.
    #[track_caller]
    pub(crate) fn is_near(&self, got: &Tensor, expected: &[f64], slack: impl Fn(usize) -> f64, what: &str) {
        let roundoff = FLOATS.iter().find(|(dtype, _)| *dtype == got.dtype()).map_or(0.0, |row| row.1);
        let numbers = self.backend.to_f32(got).unwrap();
        assert_eq!(numbers.len(), expected.len(), "{what}");
        for (i, (got_number, expected)) in numbers.iter().zip(expected).enumerate() {
            let bound = slack(i) + roundoff * expected.abs() + 1e-7;
            let difference = (f64::from(*got_number) - expected).abs();
            assert!(
                difference <= bound,
                "{what} {}: {i}: {got_number}, not {expected} ± {bound}",
                got.dtype()
            );
        }
    }
}
