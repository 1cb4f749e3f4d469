//! The correct figures of a record, computed from the time of each step and the configuration.
//!
//! Warm-up steps are left out of everything except the total. The record gives their number (`warmup_steps`);
//! by default it is one, as the seed benchmarks leave out the first step.
//!
//! # The confidence interval
//! The times of consecutive steps depend on each other: a hot GPU stays hot. An interval from the plain
//! standard error is therefore too narrow. [`mean_interval`] uses the means of 20 batches of consecutive
//! steps, which are nearly independent, and Student's t distribution with 19 degrees of freedom (the method
//! of batch means). With fewer than 40 steps, every step is a separate batch.

mod steady;
mod student;

pub use steady::{steady_from, warmup_until_steady};
pub use student::quantile as student_quantile;

use std::borrow::Cow;

use crate::Record;

/// The number of batches for the mean's interval.
const BATCHES: usize = 20;

/// The default number of steps that the statistics of a record leave out: the first one.
pub const DEFAULT_WARMUP: usize = 1;

/// An interval that contains a value with a certain confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether the value is within the interval, up to the rounding of `f64`.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        let slack = 1e-12 * value.abs().max(self.low.abs()).max(self.high.abs());
        (self.low - slack..=self.high + slack).contains(&value)
    }
}

/// The statistics of a record's steps. Times are seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Steps with a time, including warm-up.
    pub steps: usize,
    /// Steps at the beginning that count only for the total.
    pub warmup_steps: usize,
    /// The sum of all steps, warm-up included.
    pub total: f64,
    /// The mean after warm-up.
    pub mean: f64,
    /// The shortest step after warm-up.
    pub min: f64,
    /// The longest step after warm-up.
    pub max: f64,
    /// The median after warm-up; for an even number of steps, the mean of the middle two.
    pub median: f64,
    /// The standard deviation of the sample after warm-up; 0 for a single step.
    pub standard_deviation: f64,
    /// The standard deviation divided by the mean.
    pub coefficient_of_variation: f64,
    /// The 95 % confidence interval of the mean; `None` with fewer than two steps.
    pub mean_interval: Option<Interval>,
    /// One divided by the mean.
    pub steps_per_second: f64,
    /// Global batch × sequence length ÷ mean, if the record has both.
    pub tokens_per_second: Option<f64>,
    /// The same divided by the number of GPUs.
    pub tokens_per_second_per_gpu: Option<f64>,
    /// Steps per second divided by the cores of one GPU.
    pub throughput_per_gpu_core: Option<f64>,
}

impl Statistics {
    /// The statistics of a record; `None` if it has no time of a step after warm-up.
    ///
    /// Times that are not finite and positive are left out.
    ///
    /// ```
    /// use runs::{Record, Statistics};
    ///
    /// let record = Record::read(br#"{"raw_step_times": [9.0, 2.0, 4.0],
    ///     "training_config": {"global_batch_size": 8, "sequence_length": 1024, "num_gpus": 4}}"#)?;
    /// let statistics = Statistics::of(&record).expect("steps");
    /// assert_eq!((statistics.total, statistics.mean, statistics.min), (15.0, 3.0, 2.0));
    /// assert_eq!(statistics.tokens_per_second_per_gpu, Some(8.0 * 1024.0 / 3.0 / 4.0));
    /// # Ok::<(), runs::record::ReadError>(())
    /// ```
    #[must_use]
    pub fn of(record: &Record) -> Option<Statistics> {
        let warmup = warmup_steps(record);
        let valid = |seconds: &&f64| is_time(**seconds);
        let total: f64 = record.step_times.iter().filter(valid).sum();
        let steps = record.step_times.iter().filter(valid).count();
        let after = record.step_times.get(warmup..).unwrap_or_default();
        // A log may have millions of steps, and usually none is left out.
        let measured: Cow<'_, [f64]> = if steps == record.step_times.len() {
            Cow::Borrowed(after)
        } else {
            Cow::Owned(after.iter().filter(valid).copied().collect())
        };
        let mean = mean(&measured)?;
        let deviation = standard_deviation(&measured);
        let tokens = tokens_per_step(record);
        let gpus = gpus(record);
        let tokens_per_second = tokens.map(|tokens| tokens / mean);
        Some(Statistics {
            steps,
            warmup_steps: warmup,
            total,
            mean,
            min: measured.iter().copied().fold(f64::INFINITY, f64::min),
            max: measured.iter().copied().fold(0.0, f64::max),
            median: median(&measured)?,
            standard_deviation: deviation,
            coefficient_of_variation: deviation / mean,
            mean_interval: mean_interval(&measured, 0.95),
            steps_per_second: 1.0 / mean,
            tokens_per_second,
            tokens_per_second_per_gpu: tokens_per_second.zip(gpus).map(|(tokens, gpus)| tokens / gpus),
            throughput_per_gpu_core: record
                .gpu_info
                .gpu_cores
                .filter(|&cores| cores > 0)
                .map(|cores| 1.0 / mean / cores as f64),
        })
    }

    /// Writes the statistics into the record, with the total as the sum of the steps. Figures that do not
    /// follow from the configuration are unchanged.
    pub fn write_to(&self, record: &mut Record) {
        let performance = &mut record.performance_metrics;
        performance.total_time_seconds = Some(self.total);
        performance.avg_step_time_seconds = Some(self.mean);
        performance.min_step_time_seconds = Some(self.min);
        performance.max_step_time_seconds = Some(self.max);
        performance.steps_per_second = Some(self.steps_per_second);
        performance.warmup_steps = Some(self.warmup_steps as u64);
        for (field, value) in [
            (&mut performance.tokens_per_second, self.tokens_per_second),
            (&mut performance.tokens_per_second_per_gpu, self.tokens_per_second_per_gpu),
            (&mut performance.throughput_per_gpu_core, self.throughput_per_gpu_core),
        ] {
            *field = value.or(*field);
        }
    }
}

/// Whether a number can be a duration in seconds: it is finite and positive.
#[must_use]
pub fn is_time(seconds: f64) -> bool {
    seconds.is_finite() && seconds > 0.0
}

/// The steps that a record's statistics leave out: the number in the record, otherwise [`DEFAULT_WARMUP`] if
/// other steps remain.
#[must_use]
pub fn warmup_steps(record: &Record) -> usize {
    match record.performance_metrics.warmup_steps {
        Some(steps) => usize::try_from(steps).unwrap_or(usize::MAX),
        None => DEFAULT_WARMUP.min(record.step_times.len().saturating_sub(1)),
    }
}

/// Tokens of a step: global batch × sequence length.
#[must_use]
pub fn tokens_per_step(record: &Record) -> Option<f64> {
    let config = &record.training_config;
    let tokens = config.global_batch_size? as f64 * config.sequence_length? as f64;
    (tokens > 0.0).then_some(tokens)
}

/// The number of steps that each time and each loss of the record covers: extraction writes it for programs
/// that only print, for example, every tenth step.
#[must_use]
pub fn steps_per_row(record: &Record) -> u64 {
    let stated = record.performance_metrics.other.get("steps_per_row").and_then(serde_json::Value::as_u64);
    stated.filter(|steps| *steps > 0).unwrap_or(1)
}

/// GPUs of the run: `num_gpus`, otherwise `device_count`.
#[must_use]
pub fn gpus(record: &Record) -> Option<f64> {
    record
        .training_config
        .num_gpus
        .or(record.gpu_info.device_count)
        .filter(|&gpus| gpus > 0)
        .map(|gpus| gpus as f64)
}

/// The mean; `None` without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The median; `None` without values. For an even number of values, the mean of the middle two.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    median_of_mut(&mut values.to_vec())
}

/// The median of values that may be reordered; `None` without values.
pub fn median_of_mut(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp);
    Some(lower.filter(|_| !odd).map_or(*upper, |lower| f64::midpoint(lower, *upper)))
}

/// The value below which a share of the values lies, by linear interpolation between neighbours; `None`
/// without values. The values must be sorted.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let below = (at as usize).min(last);
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64))
}

/// The standard deviation of a sample (divided by n − 1); 0 for fewer than two values.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> f64 {
    let Some(mean) = mean(values).filter(|_| values.len() > 1) else { return 0.0 };
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The interval of the mean of a series with the given confidence, by batch means
/// ([how](self#the-confidence-interval)). The series must be in order of time. `None` with fewer than two
/// values.
///
/// # Panics
/// If the confidence is not between 0 and 1.
#[must_use]
pub fn mean_interval(series: &[f64], confidence: f64) -> Option<Interval> {
    assert!(confidence > 0.0 && confidence < 1.0, "a confidence is between 0 and 1");
    if series.len() < 2 {
        return None;
    }
    let centre = mean(series)?;
    let batches: Vec<f64> = if series.len() < 2 * BATCHES {
        series.to_vec()
    } else {
        // Sizes differ by at most one.
        let bound = |batch: usize| batch * series.len() / BATCHES;
        (0..BATCHES).filter_map(|batch| mean(&series[bound(batch)..bound(batch + 1)])).collect()
    };
    let error = standard_deviation(&batches) / (batches.len() as f64).sqrt();
    let reach = student::quantile(f64::midpoint(confidence, 1.0), batches.len() - 1) * error;
    Some(Interval { low: centre - reach, high: centre + reach })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normally distributed numbers, the same in every run: sums of twelve numbers of a linear congruential
    /// generator.
    fn normal(state: &mut u64) -> f64 {
        let uniform = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform(state)).sum::<f64>() - 6.0
    }

    /// In how many of 500 series of this length the interval contains the true mean.
    fn coverage(length: usize, correlation: f64, interval: impl Fn(&[f64]) -> Interval) -> f64 {
        let mut state = 7;
        let held = (0..500).filter(|_| {
            let mut level = normal(&mut state) / (1.0 - correlation * correlation).sqrt();
            let series: Vec<f64> = (0..length)
                .map(|_| {
                    level = correlation * level + normal(&mut state);
                    10.0 + level
                })
                .collect();
            interval(&series).holds(10.0)
        });
        held.count() as f64 / 500.0
    }

    #[test]
    fn the_interval_holds_the_mean_as_often_as_it_says() {
        let batch_means = |series: &[f64]| mean_interval(series, 0.95).expect("an interval");
        for (length, correlation) in [(10, 0.0), (400, 0.0), (400, 0.5), (400, 0.7)] {
            let held = coverage(length, correlation, batch_means);
            assert!(
                (0.91..=0.985).contains(&held),
                "{held} with {length} steps and a correlation of {correlation}"
            );
        }
        // Its purpose: from the plain standard error, the interval of dependent steps is far too narrow.
        let plain = |series: &[f64]| {
            let reach = 1.96 * standard_deviation(series) / (series.len() as f64).sqrt();
            let centre = mean(series).expect("a mean");
            Interval { low: centre - reach, high: centre + reach }
        };
        assert!(coverage(400, 0.7, plain) < 0.7);
    }

    #[test]
    fn ten_published_values_have_their_published_statistics() {
        // NIST StRD, NumAcc1: three values whose mean and deviation are known exactly.
        let values = [10_000_001.0, 10_000_003.0, 10_000_002.0];
        assert_eq!(mean(&values), Some(10_000_002.0));
        assert_eq!(standard_deviation(&values), 1.0);
        assert_eq!(median(&values), Some(10_000_002.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[2.0, 2.0, 2.0, 2.0]), Some(2.0));
        let sorted = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(
            [0.0, 0.1, 0.5, 1.0].map(|share| quantile(&sorted, share)),
            [1.0, 1.4, 3.0, 5.0].map(Some)
        );
        assert_eq!(quantile(&[], 0.5), None);
        assert!(
            (standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) - (32.0_f64 / 7.0).sqrt()).abs()
                < 1e-12
        );
        assert_eq!(standard_deviation(&[1.0]), 0.0);
        assert_eq!((median(&[]), mean(&[])), (None, None));
        // With two degrees of freedom, t is 4.302653.
        let interval = mean_interval(&values, 0.95).expect("an interval");
        assert!((interval.high - 10_000_002.0 - 4.302_653 / 3_f64.sqrt()).abs() < 1e-5, "{interval:?}");
        assert_eq!(mean_interval(&[1.0], 0.95), None);
    }

    #[test]
    fn steps_of_warmup_and_times_that_are_none_are_left_out() {
        let mut record =
            Record { step_times: vec![30.0, 20.0, f64::NAN, 2.0, -1.0, 4.0, 0.0], ..Record::default() };
        record.performance_metrics.warmup_steps = Some(2);
        let statistics = Statistics::of(&record).expect("steps");
        assert_eq!(
            (statistics.steps, statistics.total, statistics.mean, statistics.max),
            (4, 56.0, 3.0, 4.0)
        );
        assert_eq!((statistics.min, statistics.median, statistics.tokens_per_second), (2.0, 3.0, None));
        record.performance_metrics.warmup_steps = Some(7);
        assert_eq!(Statistics::of(&record), None);
        record.performance_metrics.warmup_steps = None;
        record.step_times = vec![5.0];
        assert_eq!(Statistics::of(&record).expect("a single step is no warm-up").mean, 5.0);
    }
}
