//! The steps of a run that count: those after warm-up.

use serde::Serialize;

use super::interval;
use crate::record::Record;
use crate::statistics::{self, median, quantile};

/// Which steps at the beginning are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Warmup {
    /// The steps before the times become steady, and at least one ([`statistics::warmup_until_steady`]). The
    /// rule is the same for every run, whatever its record says.
    #[default]
    Steady,
    /// As many as the record says, or one if it says nothing.
    Recorded,
    /// This many.
    Steps(usize),
}

impl Warmup {
    /// The steps to leave out, and the rule as text.
    fn of(self, record: &Record, seconds: &[f64]) -> (usize, String) {
        let most = seconds.len().saturating_sub(1);
        match self {
            Self::Steps(steps) => (steps.min(most), format!("{steps} given")),
            Self::Recorded => {
                let recorded = record.performance_metrics.warmup_steps;
                let steps = recorded.unwrap_or(1).try_into().unwrap_or(usize::MAX).min(most);
                let rule = record.performance_metrics.warmup_rule.as_deref().unwrap_or("no rule named");
                match recorded {
                    Some(steps) => (
                        steps.try_into().unwrap_or(usize::MAX).min(most),
                        format!("{steps} recorded ({rule})"),
                    ),
                    None => (steps, "the first step: the record names none".to_owned()),
                }
            }
            Self::Steady => {
                let (steps, rule) = statistics::warmup_until_steady(seconds);
                (steps, rule.to_owned())
            }
        }
    }
}

/// A run's steps, classified.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Steps {
    /// Steps with times in the record.
    pub recorded: usize,
    /// Steps whose time is not a positive number.
    pub without_time: usize,
    /// Steps left out as warm-up.
    pub warmup: usize,
    /// The rule for that.
    pub warmup_rule: String,
    /// Seconds of the steps that count, in order.
    #[serde(skip)]
    pub seconds: Vec<f64>,
    /// Seconds of all steps with a time, in order.
    #[serde(skip)]
    pub all: Vec<f64>,
}

impl Steps {
    /// The steps of a record.
    pub fn of(record: &Record, warmup: Warmup) -> Self {
        let all: Vec<f64> =
            record.step_times.iter().copied().filter(|step| statistics::is_time(*step)).collect();
        let (left_out, warmup_rule) = warmup.of(record, &all);
        Self {
            recorded: record.step_times.len(),
            without_time: record.step_times.len() - all.len(),
            warmup: left_out,
            warmup_rule,
            seconds: all[left_out.min(all.len())..].to_vec(),
            all,
        }
    }
}

/// How uniform steps are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stability {
    /// Standard deviation divided by mean.
    pub variation: f64,
    /// Seconds that 95 % of the steps do not exceed.
    pub p95: f64,
    /// Seconds that 99 % of the steps do not exceed.
    pub p99: f64,
    /// Stragglers: steps that exceed the median by a tenth of it and by five robust standard deviations
    /// (1.4826 times the median distance from the median).
    pub stragglers: usize,
    /// Spikes: steps that take more than twice the median.
    pub spikes: usize,
    /// The share of the time that would have been saved if each straggler had taken the median.
    pub lost_to_stragglers: f64,
    /// The median of the last quarter divided by that of the first one, less one: positive if the run became
    /// slower.
    pub drift: f64,
    /// The correlation of each step's time with that of the next.
    pub correlation: f64,
}

impl Stability {
    /// The uniformity of steps; `None` for fewer than [`interval::FEWEST`].
    pub fn of(seconds: &[f64]) -> Option<Self> {
        if seconds.len() < interval::FEWEST {
            return None;
        }
        let middle = median(seconds)?;
        let distances: Vec<f64> = seconds.iter().map(|step| (step - middle).abs()).collect();
        let robust = 1.4826 * median(&distances)?;
        let limit = middle + (0.1 * middle).max(5.0 * robust);
        let mut sorted = seconds.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let quarter = (seconds.len() / 4).max(1);
        // An empty sum is -0.
        let lost =
            seconds.iter().filter(|step| **step > limit).fold(0.0, |lost, step| lost + (step - middle));
        let (first, last) = (median(&seconds[..quarter])?, median(&seconds[seconds.len() - quarter..])?);
        Some(Self {
            variation: statistics::standard_deviation(seconds) / statistics::mean(seconds)?,
            p95: quantile(&sorted, 0.95)?,
            p99: quantile(&sorted, 0.99)?,
            stragglers: seconds.iter().filter(|step| **step > limit).count(),
            spikes: seconds.iter().filter(|step| **step > 2.0 * middle).count(),
            lost_to_stragglers: lost / seconds.iter().sum::<f64>(),
            drift: last / first - 1.0,
            correlation: interval::neighbour_correlation(seconds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Performance;

    fn record(step_times: Vec<f64>) -> Record {
        Record { step_times, ..Record::default() }
    }

    #[test]
    fn other_rules_leave_out_what_they_say() {
        let mut run = record(vec![1.0; 10]);
        assert_eq!(Steps::of(&run, Warmup::Steps(4)).seconds.len(), 6);
        assert_eq!(Steps::of(&run, Warmup::Steps(99)).seconds.len(), 1);
        assert_eq!(Steps::of(&run, Warmup::Recorded).warmup, 1);
        run.performance_metrics = Performance { warmup_steps: Some(3), ..Performance::default() };
        let steps = Steps::of(&run, Warmup::Recorded);
        assert_eq!((steps.warmup, steps.warmup_rule.as_str()), (3, "3 recorded (no rule named)"));
    }

    #[test]
    fn times_that_are_no_numbers_are_counted_and_left_out() {
        let steps =
            Steps::of(&record(vec![2.0, f64::NAN, 1.0, 0.0, -1.0, f64::INFINITY, 1.0]), Warmup::Steps(1));
        assert_eq!((steps.recorded, steps.without_time, steps.seconds), (7, 4, vec![1.0, 1.0]));
    }

    #[test]
    fn stragglers_and_spikes_are_counted() {
        let mut seconds: Vec<f64> = (0..100).map(|i| 1.0 + 0.01 * f64::from(i % 2)).collect();
        seconds[10] = 1.3;
        seconds[50] = 2.6;
        let stability = Stability::of(&seconds).expect("enough steps");
        assert_eq!((stability.stragglers, stability.spikes), (2, 1));
        let lost = (1.3 + 2.6 - 2.0 * median(&seconds).expect("a median")) / seconds.iter().sum::<f64>();
        assert!((stability.lost_to_stragglers - lost).abs() < 1e-12);
        assert_eq!(Stability::of(&[1.0; 4]), None);
        let slower = Stability::of(&[1.0, 1.0, 1.1, 1.1, 1.1, 1.1, 1.2, 1.2]).expect("enough steps");
        assert!((slower.drift - 0.2).abs() < 1e-12);
    }
}
