//! The effect of rounding: a printed figure stands for every value that is printed the same way.

use crate::statistics::Interval;

/// Half a unit of the last digit that a figure was printed with. The digits are those of its shortest form,
/// so a figure that ends with zeros counts as coarser than it is, at most by a factor of two.
pub(super) fn half_unit(figure: f64) -> f64 {
    let text = format!("{figure:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return 0.0 };
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // A value with as many digits as f64 was computed, not printed.
    if decimals >= 14 { 0.0 } else { 0.5 * 10_f64.powi((exponent - decimals as i32).min(0)) }
}

/// Half a unit of the last digit of the finest figure of a series: all of them were printed with equally many
/// decimals.
pub(super) fn half_unit_of_series(series: &[f64]) -> f64 {
    let mut finest = f64::INFINITY;
    // The factor that makes a value whole, if it has no finer digits than those before it.
    let mut scale = 0.0;
    for &value in series.iter().filter(|value| value.is_finite()) {
        if scale > 0.0 && (value * scale).round() / scale == value {
            continue;
        }
        finest = finest.min(half_unit(value));
        if finest == 0.0 {
            return 0.0;
        }
        scale = (0.5 / finest).round();
    }
    if finest.is_finite() { finest } else { 0.0 }
}

/// The possible values of a figure whose input may be off by this much.
pub(super) fn around(value: f64, reach: f64) -> Interval {
    Interval { low: value - reach, high: value + reach }
}

/// Whether a stated figure is one of these values after printing.
pub(super) fn agrees(stated: f64, values: Interval) -> bool {
    let half = half_unit(stated);
    Interval { low: values.low - half, high: values.high + half }.holds(stated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_of_the_last_digit() {
        for (figure, half) in
            [(1.602, 5e-4), (0.000037, 5e-7), (2.11532e-5, 5e-11), (121.558, 5e-4), (8.0, 0.5), (1200.0, 0.5)]
        {
            let found = half_unit(figure);
            assert!((found / half - 1.0).abs() < 1e-9, "{found} of {figure}");
        }
        assert_eq!(half_unit(1.0 / 3.0), 0.0);
        assert_eq!(half_unit_of_series(&[9.76, 9.836, 1.0, f64::NAN]), half_unit(9.836));
        assert_eq!(half_unit_of_series(&[1200.0, 9.5, 0.000_037, 9.76]), half_unit(0.000_037));
        assert_eq!(half_unit_of_series(&[9.76, 1.0 / 3.0]), 0.0);
        assert_eq!((half_unit_of_series(&[]), half_unit_of_series(&[f64::NAN])), (0.0, 0.0));
        assert!(agrees(0.624, around(0.624_306, 0.0)) && !agrees(0.624, around(0.625_306, 0.0)));
    }
}
