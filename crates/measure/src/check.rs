//! Comparison of results with f64.

use kernels::Element;

/// The error of a result, and the largest error of a correct one.
///
/// For results compared element by element, both belong to the element closest to its bound, or farthest
/// beyond it. For results compared as a whole, they are relative: the length of the difference divided by
/// that of the expected vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Check {
    pub(crate) error: f64,
    pub(crate) bound: f64,
}

impl Check {
    /// Nothing has been compared: the check fails.
    fn none() -> Self {
        Self { error: 0.0, bound: f64::MIN_POSITIVE }
    }

    /// The error as a fraction of the bound; at most 1 is correct. A NaN is wrong.
    fn part(&self) -> f64 {
        let part = self.error / self.bound;
        if part.is_nan() { f64::INFINITY } else { part }
    }

    /// Whether the result is correct.
    pub(crate) fn passed(&self) -> bool {
        self.part() <= 1.0
    }

    /// The worse of the two.
    pub(crate) fn worse(self, other: Self) -> Self {
        if other.part() > self.part() { other } else { self }
    }

    /// Compares elements of a type with numbers in f64, each with the error that arithmetic may cause;
    /// rounding to the type is added.
    pub(crate) fn elements<T: Element>(
        got: impl IntoIterator<Item = T>,
        expected: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let mut worst = Self::none();
        let mut got = got.into_iter();
        let mut compared = 0_usize;
        for (value, slack) in expected {
            let rounding = T::UNIT_ROUNDOFF * (value.abs() + slack) + T::UNDERFLOW;
            // A missing element counts as an infinite error.
            let error = got.next().map_or(f64::INFINITY, |got| (got.to_f64() - value).abs());
            worst = worst.worse(Self { error, bound: (rounding + slack).max(f64::MIN_POSITIVE) });
            compared += 1;
        }
        if compared == 0 || got.next().is_some() {
            return Self { error: f64::INFINITY, bound: 0.0 };
        }
        worst
    }

    /// Compares two results bit by bit: the error is the number of differences, and the bound is zero.
    pub(crate) fn same<T: PartialEq>(got: &[T], expected: &[T]) -> Self {
        if got.len() != expected.len() || got.is_empty() {
            return Self { error: f64::INFINITY, bound: 0.0 };
        }
        let different = got.iter().zip(expected).filter(|(got, expected)| got != expected).count();
        Self { error: different as f64, bound: 0.5 }
    }

    /// Compares vectors as a whole: the length of the difference divided by that of the expected vector.
    pub(crate) fn whole(got: impl IntoIterator<Item = f64>, expected: &[f64], bound: f64) -> Self {
        let (mut difference, mut count) = (0.0, 0);
        for (got, expected) in got.into_iter().zip(expected) {
            difference += (got - expected) * (got - expected);
            count += 1;
        }
        let length: f64 = expected.iter().map(|x| x * x).sum();
        let complete = count == expected.len() && length > 0.0;
        Self { error: if complete { (difference / length).sqrt() } else { f64::INFINITY }, bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounded_result_passes_and_a_wrong_or_missing_one_does_not() {
        let third = half::f16::from_f64(1.0 / 3.0);
        assert!(Check::elements([third], [(1.0 / 3.0, 0.0)]).passed());
        assert!(!Check::elements([half::f16::from_bits(third.to_bits() + 2)], [(1.0 / 3.0, 0.0)]).passed());
        assert!(!Check::elements([f32::NAN], [(1.0, 0.1)]).passed());
        assert!(!Check::elements::<f32>([], [(1.0, 0.1)]).passed());
        assert!(!Check::elements([1.0_f32, 2.0], [(1.0, 0.1)]).passed());
        assert!(!Check::elements::<f32>([], []).passed(), "nothing compared is nothing checked");
        assert!(Check::elements([0.0_f32], [(0.0, 0.0)]).passed());
    }

    #[test]
    fn the_worst_element_counts() {
        let check = Check::elements([1.0_f32, 2.5], [(1.0, 0.1), (2.0, 1.0)]);
        assert!(check.passed() && check.error == 0.5 && (check.bound - 1.0).abs() < 1e-6, "{check:?}");
        let worse = check.worse(Check { error: f64::NAN, bound: 1.0 });
        assert!(!worse.passed());
    }

    #[test]
    fn whole_results_are_relative_and_complete() {
        assert!(Check::whole([3.0, 4.0], &[3.0, 4.0], 1e-9).passed());
        let off = Check::whole([3.0, 4.5], &[3.0, 4.0], 0.2);
        assert!(off.passed() && (off.error - 0.1).abs() < 1e-12, "{off:?}");
        assert!(!Check::whole([3.0], &[3.0, 4.0], 0.2).passed());
        assert!(!Check::whole([0.0], &[0.0], 0.2).passed());
        assert!(!Check::whole([f64::NAN, 4.0], &[3.0, 4.0], 0.2).passed());
        assert!(Check::same(&[1, 2], &[1, 2]).passed() && !Check::same(&[1, 2], &[1, 3]).passed());
        assert!(!Check::same::<u8>(&[], &[]).passed());
    }
}
