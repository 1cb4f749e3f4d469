//! Medians with confidence intervals, and drift.
//!
//! The interval is one of order statistics: for any distribution of times, the number of `n` independent
//! times below the true median has a binomial distribution with probability ½. The probability that the `l`th
//! smallest and the `l`th largest time enclose the median is that of this distribution without both ends; `l`
//! is the largest number for which it is at least 95 %. Fewer than six times have no interval.

/// The minimum probability that an interval encloses the median.
pub const CONFIDENCE: f64 = 0.95;

/// The median and an interval that encloses it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end, one of the times.
    pub low: f64,
    /// The upper end, one of the times.
    pub high: f64,
    /// The probability that the true median is between the two, for independent times.
    pub confidence: f64,
}

/// The times without NaN.
fn finite(times: &[f64]) -> Vec<f64> {
    times.iter().copied().filter(|time| time.is_finite()).collect()
}

/// The median: the mean of the two in the middle if their number is even. `None` without times. Values that
/// are not finite do not count.
#[must_use]
pub fn median(times: &[f64]) -> Option<f64> {
    runs::statistics::median_of_mut(&mut finite(times))
}

/// The narrowest interval of order statistics that encloses the median with [`CONFIDENCE`]. `None` for fewer
/// than six times.
#[must_use]
pub fn interval(times: &[f64]) -> Option<Interval> {
    let mut sorted = finite(times);
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // The probability of `k` times below the median, starting with none; in logarithms, because for many
    // times f64 cannot represent 2⁻ⁿ.
    let mut logarithm = -(n as f64) * std::f64::consts::LN_2;
    let (mut below, mut rank, mut confidence) = (0.0, 0, 0.0);
    for k in 0..n / 2 {
        below += logarithm.exp();
        if 1.0 - 2.0 * below < CONFIDENCE {
            break;
        }
        (rank, confidence) = (k + 1, 1.0 - 2.0 * below);
        logarithm += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    (rank > 0).then(|| Interval { low: sorted[rank - 1], high: sorted[n - rank], confidence })
}

/// The medians of the first and of the last third. `None` for fewer than six values.
pub(crate) fn thirds(values: &[f64]) -> Option<(f64, f64)> {
    let third = values.len() / 3;
    if third < 2 {
        return None;
    }
    Some((median(&values[..third])?, median(&values[values.len() - third..])?))
}

/// The median of the last third of the times divided by that of the first third: above 1, the device became
/// slower. `None` for fewer than six times.
#[must_use]
pub fn drift(times: &[f64]) -> Option<f64> {
    let (first, last) = thirds(times)?;
    (first > 0.0).then(|| last / first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_numbers() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN, 5.0]), Some(5.0));
    }

    /// Ranks and probabilities from tables of the sign test.
    #[test]
    fn ranks_are_those_of_the_sign_test() {
        let ranks = [
            (6, 1, 0.96875),
            (8, 1, 0.9921875),
            (9, 2, 0.9609375),
            (10, 2, 0.978515625),
            (15, 4, 0.96484375),
            (20, 6, 0.95861053),
        ];
        for (n, rank, confidence) in ranks {
            let times: Vec<f64> = (1..=n).map(f64::from).collect();
            let found = interval(&times).unwrap();
            assert_eq!((found.low, found.high), (f64::from(rank), f64::from(n + 1 - rank)), "{n}");
            assert!((found.confidence - confidence).abs() < 1e-7, "{n}: {found:?}");
        }
        for n in 0..6 {
            assert_eq!(interval(&vec![1.0; n]), None, "{n}");
        }
    }

    /// With many times, the ranks are n/2 ± 1.96 √n/2, and nothing underflows.
    #[test]
    fn many_times_follow_the_normal_distribution() {
        let times: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let found = interval(&times).unwrap();
        assert!((found.low - (5000.0 - 0.98 * 100.0)).abs() <= 2.0, "{found:?}");
        assert!((0.95..0.953).contains(&found.confidence), "{found:?}");
    }

    /// The interval keeps its promise for a skewed distribution, whose median is ln 2.
    #[test]
    fn the_interval_encloses_the_median_often_enough() {
        let mut random = crate::random::Random::new(11);
        let hits = (0..2000).filter(|_| {
            let times: Vec<f64> = (0..21).map(|_| -((random.number(0.5) + 0.5).max(1e-12)).ln()).collect();
            let found = interval(&times).unwrap();
            (found.low..=found.high).contains(&std::f64::consts::LN_2)
        });
        let share = hits.count() as f64 / 2000.0;
        assert!((0.945..1.0).contains(&share), "{share}");
    }

    #[test]
    fn drift_is_the_last_third_by_the_first() {
        assert_eq!(drift(&[1.0, 1.0, 5.0, 5.0, 2.0, 2.0]), Some(2.0));
        assert_eq!(drift(&[1.0; 5]), None);
        assert_eq!(drift(&[0.0; 6]), None);
    }
}
