//! Medians, means and their confidence intervals.
//!
//! Steps of a run are not independent: a slow network stays slow for a while. Intervals that assume
//! independence are too narrow. The ones here come from a moving-block bootstrap (Künsch 1989): a resample
//! consists of blocks of consecutive steps, drawn with replacement, so that dependent neighbours stay
//! together. Blocks have `⌈(3/2)^⅓ · (2ρ/(1 − ρ²))^⅔ · n^⅓⌉` steps, where `ρ` is the correlation of
//! neighbouring steps: the best length for the variance of a mean if `ρ` describes the dependence completely
//! (Carlstein 1986, with the factor for overlapping blocks). They have at most a third of the run. If
//! neighbours are independent, a block is one step.
//!
//! For a run of more than 2048 steps, a resample has 2048, and its difference from the figure is divided by
//! the square root of the ratio of the two counts (the m out of n bootstrap: Bickel, Götze and van Zwet
//! 1997). So a run of a million steps costs no more than one of two thousand.
//!
//! An interval holds the middle 95 % of the resamples' values. It tells how much the figure would vary if
//! *this run* continued, not how much a run on another day would differ.

use serde::Serialize;

use crate::statistics::{mean, median_of_mut, quantile};

/// A figure with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The interval's lower end; `None` if there are too few repetitions, or if the figure does not vary.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
}

impl Estimate {
    /// A figure without an interval.
    pub fn exact(value: f64) -> Self {
        Self { value, low: None, high: None }
    }

    /// The figure computed from this one by a monotonic function.
    pub fn map(self, function: impl Fn(f64) -> f64) -> Self {
        let ends = [self.low, self.high].map(|end| end.map(&function));
        let (low, high) = match ends {
            [Some(a), Some(b)] => (Some(a.min(b)), Some(a.max(b))),
            _ => (None, None),
        };
        Self { value: function(self.value), low, high }
    }
}

/// The value that represents all steps of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Center {
    /// The median, which single slow steps do not change.
    #[default]
    Median,
    /// The mean, which determines the cost of a long run.
    Mean,
}

impl Center {
    /// The value for numbers, which may be reordered; NaN without numbers.
    pub fn of(self, numbers: &mut [f64]) -> f64 {
        match self {
            Self::Median => median_of_mut(numbers),
            Self::Mean => mean(numbers),
        }
        .unwrap_or(f64::NAN)
    }
}

/// The correlation of each number with the next one; 0 if it is not meaningful.
pub fn neighbour_correlation(numbers: &[f64]) -> f64 {
    let Some(mean) = mean(numbers) else { return 0.0 };
    let variance: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let together: f64 = numbers.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if variance > 0.0 { together / variance } else { 0.0 }
}

/// The steps of a block in resamples of `drawn` steps.
fn block_length(numbers: &[f64], drawn: usize) -> usize {
    let correlation = neighbour_correlation(numbers).clamp(0.0, 0.97);
    let best = 1.5_f64.cbrt() * (2.0 * correlation / (1.0 - correlation * correlation)).powf(2.0 / 3.0);
    let length = (best * (drawn as f64).cbrt()).ceil() as usize;
    length.clamp(1, (drawn / 3).max(1))
}

/// The minimum number of values for an interval.
pub const FEWEST: usize = 5;

/// The maximum number of values in a resample.
pub const MOST: usize = 2048;

/// Values of `center` for resamples of the numbers, unordered; empty for fewer than [`FEWEST`] numbers. Each
/// resample has as many numbers as the original, at most [`MOST`].
///
/// The same numbers and seed give the same values on every machine.
pub fn resamples(numbers: &[f64], center: Center, count: usize, seed: u64) -> Vec<f64> {
    let length = numbers.len();
    if length < FEWEST {
        return Vec::new();
    }
    let size = length.min(MOST);
    let block = block_length(numbers, size);
    // How much less a figure of all numbers varies than one of this few.
    let narrower = (size as f64 / length as f64).sqrt();
    let value = if size < length { center.of(&mut numbers.to_vec()) } else { 0.0 };
    let mut random = SplitMix(seed);
    let mut drawn = Vec::with_capacity(size + block);
    (0..count)
        .map(|_| {
            drawn.clear();
            while drawn.len() < size {
                let start = random.below((length - block + 1) as u64) as usize;
                drawn.extend_from_slice(&numbers[start..start + block]);
            }
            drawn.truncate(size);
            let resampled = center.of(&mut drawn);
            if size < length { value + (resampled - value) * narrower } else { resampled }
        })
        .collect()
}

/// The middle 95 % of resampled values around the figure itself.
pub fn interval(value: f64, mut resampled: Vec<f64>) -> Estimate {
    resampled.retain(|value| value.is_finite());
    if resampled.is_empty() {
        return Estimate::exact(value);
    }
    resampled.sort_unstable_by(f64::total_cmp);
    // A bootstrap of few numbers may exclude the figure itself by rounding.
    let low = quantile(&resampled, 0.025).map(|low| low.min(value));
    let high = quantile(&resampled, 0.975).map(|high| high.max(value));
    Estimate { value, low, high }
}

/// The ratio of two figures from resamples of both, which are independent.
pub fn ratio(value: f64, above: &[f64], below: &[f64]) -> Estimate {
    interval(value, above.iter().zip(below).map(|(above, below)| above / below).collect())
}

/// Steele, Lea and Flood's SplitMix64: a random generator whose state is a single number.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`. The high half of a product is practically uniform for limits far below 2⁶⁴.
    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal variate (Box-Muller).
    fn normal(random: &mut SplitMix) -> f64 {
        let unit = |random: &mut SplitMix| (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (-2.0 * (1.0 - unit(random)).ln()).sqrt() * (std::f64::consts::TAU * unit(random)).cos()
    }

    /// The generator's first values for seed 0, as published by its authors.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = SplitMix(0);
        assert_eq!([random.next(), random.next()], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }

    /// How often the interval of a ratio of centers contains the true ratio.
    fn coverage(center: Center, correlation: f64, length: usize) -> f64 {
        let mut random = SplitMix(7);
        let mut series = |scale: f64| -> Vec<f64> {
            let mut state = normal(&mut random);
            (0..length)
                .map(|_| {
                    state =
                        correlation * state + (1.0 - correlation * correlation).sqrt() * normal(&mut random);
                    scale * (1.0 + 0.05 * state)
                })
                .collect()
        };
        let trials = 200;
        let hits = (0..trials)
            .filter(|trial| {
                let (a, b) = (series(3.0), series(2.0));
                let value = center.of(&mut a.clone()) / center.of(&mut b.clone());
                let seed = 2 * trial;
                let estimate =
                    ratio(value, &resamples(&a, center, 200, seed), &resamples(&b, center, 200, seed + 1));
                estimate.low.expect("an end") <= 1.5 && 1.5 <= estimate.high.expect("an end")
            })
            .count();
        hits as f64 / trials as f64
    }

    #[test]
    fn nineteen_of_twenty_intervals_hold_the_true_ratio() {
        for center in [Center::Median, Center::Mean] {
            let share = coverage(center, 0.0, 120);
            assert!((0.91..=0.99).contains(&share), "{center:?}: {share}");
        }
    }

    /// If a resample has only a part of the steps, intervals are as wide as those of all: 1.96 standard
    /// errors of a mean, and √(π/2) times as much of a median of a normal distribution.
    #[test]
    fn intervals_of_long_runs_are_as_narrow_as_their_length_allows() {
        let mut random = SplitMix(5);
        let numbers: Vec<f64> = (0..10 * MOST).map(|_| 10.0 + normal(&mut random)).collect();
        for (center, factor) in [(Center::Mean, 1.0), (Center::Median, (std::f64::consts::PI / 2.0).sqrt())] {
            let value = center.of(&mut numbers.clone());
            let estimate = interval(value, resamples(&numbers, center, 800, 1));
            let half = factor * 1.96 / (numbers.len() as f64).sqrt();
            let [low, high] = [estimate.low, estimate.high].map(|end| end.expect("an end"));
            assert!(((high - low) / (2.0 * half) - 1.0).abs() < 0.15, "{center:?}: {estimate:?} {half}");
        }
    }

    /// Intervals that assume independent steps would contain it in about 60 % of the cases.
    #[test]
    fn intervals_hold_for_steps_that_depend_on_their_neighbours() {
        for center in [Center::Median, Center::Mean] {
            let share = coverage(center, 0.7, 250);
            assert!((0.86..=0.99).contains(&share), "{center:?}: {share}");
        }
    }

    /// If steps are independent and normal, the textbook's interval of a mean is 1.96 standard errors wide on
    /// each side.
    #[test]
    fn the_interval_of_a_mean_is_that_of_the_textbook() {
        let mut random = SplitMix(3);
        let numbers: Vec<f64> = (0..400).map(|_| 10.0 + normal(&mut random)).collect();
        let center = mean(&numbers).expect("a mean");
        let estimate = interval(center, resamples(&numbers, Center::Mean, 2000, 1));
        let half = 1.96 * crate::statistics::standard_deviation(&numbers) / 20.0;
        let [low, high] = [estimate.low, estimate.high].map(|end| end.expect("an end"));
        assert!(((center - low) / half - 1.0).abs() < 0.12, "{estimate:?} {half}");
        assert!(((high - center) / half - 1.0).abs() < 0.12, "{estimate:?} {half}");
    }

    #[test]
    fn few_or_equal_numbers_have_no_width() {
        assert_eq!(resamples(&[1.0; 4], Center::Median, 100, 0), Vec::<f64>::new());
        assert_eq!(interval(1.0, Vec::new()), Estimate::exact(1.0));
        let equal = interval(2.0, resamples(&[2.0; 9], Center::Mean, 100, 0));
        assert_eq!((equal.low, equal.high), (Some(2.0), Some(2.0)));
        let estimate = Estimate { value: 2.0, low: Some(1.0), high: Some(4.0) }.map(|x| 8.0 / x);
        assert_eq!(estimate, Estimate { value: 4.0, low: Some(2.0), high: Some(8.0) });
    }
}
