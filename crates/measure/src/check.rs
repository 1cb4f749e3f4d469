//! Results against f64.

use kernels::Element;

/// How far off a result is, and how far a right one may be.
///
/// Of results that are compared element by element, both are those of the element that is closest to its bound, or farthest beyond it. Of
/// results that are compared as a whole, they are relative: the length of the difference by that of the expected vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Check {
    pub(crate) error: f64,
    pub(crate) bound: f64,
}

impl Check {
    /// Nothing has been compared: everything fails that is compared with it.
    fn none() -> Self {
        Self { error: 0.0, bound: f64::MIN_POSITIVE }
    }

    /// What part of the bound the error is; at most 1 is right. A NaN is not right.
    fn part(&self) -> f64 {
        let part = self.error / self.bound;
        if part.is_nan() { f64::INFINITY } else { part }
    }

    /// Whether the result is right.
    pub(crate) fn passed(&self) -> bool {
        self.part() <= 1.0
    }

    /// The one that is farther off.
    pub(crate) fn worse(self, other: Self) -> Self {
        if other.part() > self.part() { other } else { self }
    }

    /// Elements of a type with numbers in f64, each with what arithmetic on the way may lose; rounding to the type comes on top.
    pub(crate) fn elements<T: Element>(
        got: impl IntoIterator<Item = T>,
        expected: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let mut worst = Self::none();
        let mut got = got.into_iter();
        let mut compared = 0_usize;
        for (value, slack) in expected {
            let rounding = T::UNIT_ROUNDOFF * (value.abs() + slack) + T::UNDERFLOW;
            // A missing element is as wrong as can be.
            let error = got.next().map_or(f64::INFINITY, |got| (got.to_f64() - value).abs());
            worst = worst.worse(Self { error, bound: (rounding + slack).max(f64::MIN_POSITIVE) });
            compared += 1;
        }
        if compared == 0 || got.next().is_some() {
            return Self { error: f64::INFINITY, bound: 0.0 };
        }
        worst
    }

    /// Whether two results are the same bit for bit, in numbers: how many differ, and none may.
    pub(crate) fn same<T: PartialEq>(got: &[T], expected: &[T]) -> Self {
        if got.len() != expected.len() || got.is_empty() {
            return Self { error: f64::INFINITY, bound: 0.0 };
        }
        let different = got.iter().zip(expected).filter(|(got, expected)| got != expected).count();
        Self { error: different as f64, bound: 0.5 }
    }

    /// Vectors as a whole: the length of the difference by that of the expected one.
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
