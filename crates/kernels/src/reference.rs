//! The same operations on the CPU in f64, and comparisons within a bound derived from the arithmetic.
//!
//! Every expected value comes with the largest error that a correct kernel may have: rounding to the element
//! type, plus what f32 arithmetic loses. A comparison therefore needs no tuned tolerance.

use crate::Element;

/// Half a unit in the last place of f32, relative: one rounding of the kernels' arithmetic.
const U32: f64 = f32::UNIT_ROUNDOFF;

/// An expected value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The value in f64.
    pub value: f64,
    /// The largest error that f32 arithmetic may cause, before rounding to the element type.
    pub slack: f64,
}

/// How a result compares with what was expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The largest absolute error.
    pub max_error: f64,
    /// The largest error as a fraction of what its element allows; at most 1 is correct.
    pub worst: f64,
    /// The element with the worst fraction.
    pub at: usize,
}

impl Comparison {
    /// Whether every element is within its bound.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.worst <= 1.0
    }
}

/// Half the distance between the numbers of an element type around a value: the largest error of rounding to
/// it.
fn half_step<T: Element>(value: f64) -> f64 {
    let exponent_only = f64::from_bits(value.to_bits() & 0x7ff0_0000_0000_0000);
    (T::UNIT_ROUNDOFF * exponent_only).max(T::UNDERFLOW)
}

/// Compares a result with what was expected. A NaN where a number was expected, a missing or a surplus
/// element count as an infinite error.
pub fn compare<T: Element>(got: &[T], expected: impl IntoIterator<Item = Expected>) -> Comparison {
    let mut comparison = Comparison { max_error: 0.0, worst: 0.0, at: 0 };
    let mut judge = |at: usize, error: f64, allowed: f64| {
        let fraction = match error / allowed {
            _ if error == 0.0 => 0.0,
            // nothing is allowed where NaN was expected
            fraction if fraction.is_nan() => f64::INFINITY,
            fraction => fraction,
        };
        if error > comparison.max_error {
            comparison.max_error = error;
        }
        if fraction > comparison.worst {
            comparison = Comparison { worst: fraction, at, ..comparison };
        }
    };
    let mut count = 0;
    for (at, expected) in expected.into_iter().enumerate() {
        count = at + 1;
        let Some(got) = got.get(at).map(|x| x.to_f64()) else {
            judge(at, f64::INFINITY, 1.0);
            break;
        };
        let error = match (got.is_nan(), expected.value.is_nan()) {
            (true, true) => 0.0,
            (false, false) if got == expected.value => 0.0,
            (false, false) => (got - expected.value).abs(),
            _ => f64::INFINITY,
        };
        let rounding = half_step::<T>(expected.value.abs() + expected.slack);
        judge(at, error, rounding + expected.slack);
    }
    if got.len() > count {
        judge(count, f64::INFINITY, 1.0);
    }
    comparison
}

/// `a * x + y` for each element: one product and one sum in f32, fused or not.
pub fn axpy<'a, T: Element>(a: f32, x: &'a [T], y: &'a [T]) -> impl Iterator<Item = Expected> + 'a {
    x.iter().zip(y).map(move |(x, y)| {
        let product = f64::from(a) * x.to_f64();
        let value = product + y.to_f64();
        Expected { value, slack: U32 * (product.abs() + value.abs()) }
    })
}

/// Softmax of each row of `columns` elements.
///
/// # Panics
/// If `columns` is zero.
pub fn softmax<T: Element>(x: &[T], columns: usize) -> Vec<Expected> {
    let mut expected = Vec::with_capacity(x.len());
    for row in x.chunks(columns) {
        let max = row.iter().map(|x| x.to_f64()).fold(f64::NEG_INFINITY, f64::max);
        let exps: Vec<f64> = row.iter().map(|x| (x.to_f64() - max).exp()).collect();
        let sum: f64 = exps.iter().sum();
        for (x, exp) in row.iter().zip(exps) {
            let value = exp / sum;
            // the subtraction's rounding is an error of the exponent; two expf and the sum of positive terms
            // err by a few units each, the tree of partial sums by one per level
            let levels = (columns as f64).log2().ceil() + 1.0;
            let relative = U32 * ((max - x.to_f64()).abs() + levels + 8.0);
            expected.push(Expected { value, slack: relative * value });
        }
    }
    expected
}

/// `alpha * A * B + beta * C`, row-major: `a` is m×k, `b` k×n, `c` and the result m×n. `c` is not read where
/// `beta` is zero.
///
/// # Panics
/// If a slice is shorter than its matrix.
#[expect(clippy::too_many_arguments, reason = "the signature of GEMM has this many")]
pub fn gemm<T: Element>(
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: &[T],
    b: &[T],
    beta: f32,
    c: &[T],
) -> Vec<Expected> {
    let b: Vec<f64> = b[..k * n].iter().map(|x| x.to_f64()).collect();
    let mut expected = Vec::with_capacity(m * n);
    let (mut sums, mut magnitudes) = (vec![0.0; n], vec![0.0; n]);
    for row in 0..m {
        sums.fill(0.0);
        magnitudes.fill(0.0);
        for (depth, x) in a[row * k..][..k].iter().enumerate() {
            let x = x.to_f64();
            for ((sum, magnitude), y) in sums.iter_mut().zip(&mut magnitudes).zip(&b[depth * n..][..n]) {
                *sum += x * y;
                *magnitude += (x * y).abs();
            }
        }
        for column in 0..n {
            let product = f64::from(alpha) * sums[column];
            let added = if beta == 0.0 { 0.0 } else { f64::from(beta) * c[row * n + column].to_f64() };
            // k roundings, each with an error of at most U32 of the partial sum. They are independent, so
            // their sum grows with √k; a correct kernel never reaches four times that
            let accumulated = 4.0 * (k as f64).sqrt() * U32 * f64::from(alpha).abs() * magnitudes[column];
            let slack = accumulated + 3.0 * U32 * (product.abs() + added.abs());
            expected.push(Expected { value: product + added, slack });
        }
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn exactly(value: f64) -> Expected {
        Expected { value, slack: 0.0 }
    }

    #[test]
    fn a_rounded_value_passes_and_the_next_one_fails() {
        let third = f16::from_f64(1.0 / 3.0);
        let next = f16::from_bits(third.to_bits() + 1);
        assert!(compare(&[third], [exactly(1.0 / 3.0)]).passed());
        assert!(!compare(&[next], [exactly(1.0 / 3.0)]).passed());
    }

    #[test]
    fn nan_missing_and_surplus_elements_fail() {
        assert!(!compare(&[f32::NAN], [exactly(1.0)]).passed());
        assert!(!compare(&[1.0f32], [exactly(f64::NAN)]).passed());
        assert!(compare(&[f32::NAN], [exactly(f64::NAN)]).passed());
        assert!(!compare(&[1.0f32], [exactly(1.0), exactly(1.0)]).passed());
        assert!(!compare(&[1.0f32, 1.0], [exactly(1.0)]).passed());
    }

    #[test]
    fn the_worst_element_is_named() {
        let comparison = compare(&[1.0f32, 2.5, 3.0], [exactly(1.0), exactly(2.0), exactly(3.0)]);
        assert_eq!((comparison.at, comparison.max_error), (1, 0.5));
    }

    #[test]
    fn softmax_rows_sum_to_one() {
        let x: Vec<f32> = (0..12).map(|i| i as f32 * 0.3).collect();
        for row in softmax(&x, 4).chunks(4) {
            assert!((row.iter().map(|e| e.value).sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn gemm_multiplies_rows_by_columns() {
        let a = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [7.0f32, 8.0, 9.0, 10.0, 11.0, 12.0];
        let c = [1.0f32; 4];
        let values: Vec<f64> = gemm(2, 2, 3, 2.0, &a, &b, 1.0, &c).iter().map(|e| e.value).collect();
        assert_eq!(values, [117.0, 129.0, 279.0, 309.0]);
        let ignored = [f32::NAN; 4];
        assert_eq!(gemm(2, 2, 3, 1.0, &a, &b, 0.0, &ignored)[3].value, 154.0);
    }
}
