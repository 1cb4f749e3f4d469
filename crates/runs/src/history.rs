//! Figures of earlier runs, and whether a run is worse than these.
//!
//! A history is a file of JSON lines, one for each run; new runs are appended:
//!
//! ```json
//! {"key":"MI300X x8 llama-3.1-8b s2048 b64 bf16","date":"2026-11-25T22:00:00Z","commit":"81078ac","label":"nightly",
//!  "figures":{"tokens_per_second_per_gpu":{"value":6942.1,"low":6925.0,"high":6960.2}}}
//! ```
//!
//! (on one line). Entries with the same key are compared. A figure has *regressed* if both hold:
//!
//! 1. it is worse by more than the threshold, and
//! 2. the difference is outside of the noise.
//!
//! With five or more earlier values, of which at most the last [`MOST`] count, the noise is the variation
//! from run to run: the new value is compared with `exp(m)`, and is outside of the noise if it lies outside
//! of the 95 % prediction interval of the logarithms, `m ± t·s·√(1 + 1/n)`. With fewer values, it is compared
//! with the last one, and the noise comes from the intervals of both runs: the logarithm of the ratio must
//! exceed `1.96·√(σ₁² + σ₂²)`, where `σ` is the width of a run's 95 % interval in logarithms, divided by
//! 3.92. That interval does not cover differences between runs of different days, so the threshold must. A
//! figure without an interval, such as a peak of memory, is judged by the threshold alone.
//!
//! A figure that earlier runs had and this one lacks is reported, and counts as a regression.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compare::figures::{Better, FIGURES, of_key};
use crate::compare::{Estimate, Run};
use crate::statistics;

/// The maximum number of earlier values used.
pub const MOST: usize = 20;

/// The number of earlier values from which the noise from run to run is known.
const ENOUGH: usize = 5;

/// One run of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What was run, and on what. Entries with the same key are compared.
    pub key: String,
    /// The time, as ISO 8601; empty if it is not known.
    #[serde(default)]
    pub date: String,
    /// The commit that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The name of the run.
    #[serde(default)]
    pub label: String,
    /// Its figures by key, in the units of JSON.
    pub figures: BTreeMap<String, Kept>,
}

/// A figure of a history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The figure.
    pub value: f64,
    /// The lower end of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl From<Estimate> for Kept {
    fn from(Estimate { value, low, high }: Estimate) -> Self {
        Self { value, low, high }
    }
}

/// An invalid line of a history.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is not an entry of a history: {error}")]
pub struct Error {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    #[source]
    pub error: serde_json::Error,
}

/// Reads a history. Empty lines are skipped.
///
/// # Errors
///
/// [`Error`] with the number of the first invalid line.
pub fn parse(text: &str) -> Result<Vec<Entry>, Error> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(i, line)| serde_json::from_str(line).map_err(|error| Error { line: i + 1, error }))
        .collect()
}

impl Entry {
    /// The entry of a run: all its figures, and its measurements as `group: name` in seconds.
    pub fn of(run: &Run, key: Option<&str>, date: &str, commit: Option<&str>) -> Self {
        let own =
            FIGURES.iter().filter_map(|figure| Some((figure.key.to_owned(), run.figure(figure.key)?.into())));
        let measured = run.measurements.iter().filter(|one| one.seconds.value.is_finite());
        let measured = measured.map(|one| (format!("{}: {}", one.name.0, one.name.1), one.seconds.into()));
        Self {
            key: key.map_or_else(|| self::key(run), str::to_owned),
            date: date.to_owned(),
            commit: commit.map(str::to_owned),
            label: run.label.clone(),
            figures: own.chain(measured).collect(),
        }
    }

    /// The entry as a line of a history, including the line end.
    pub fn line(&self) -> String {
        // Finite numbers and text are always valid JSON; a number that is not finite becomes null, which
        // `parse` refuses.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// What a run measures: GPU, number of GPUs, model, sequence length, batch, precision.
pub fn key(run: &Run) -> String {
    let mut parts =
        vec![run.peak.as_ref().map_or_else(|| run.gpu.clone(), |found| found.peak.product.to_owned())];
    parts.extend(run.gpus.map(|gpus| format!("x{gpus}")));
    parts.extend(run.shape.as_ref().map(|shape| shape.name.clone()));
    parts.extend(run.sequence_length.map(|length| format!("s{length}")));
    let batch = run.tokens_per_step.zip(run.sequence_length.filter(|length| *length > 0));
    parts.extend(batch.map(|(tokens, length)| format!("b{}", tokens / length as f64)));
    parts.extend(run.precision.map(|kind| kind.to_string()));
    parts.join(" ")
}

/// How a figure changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Worse by more than the threshold, and outside of the noise.
    Regressed,
    /// Better by more than the threshold, and outside of the noise.
    Improved,
    /// Beyond the threshold, but within the noise.
    Noise,
    /// Within the threshold.
    Same,
    /// Earlier runs had it, this one does not.
    Gone,
    /// No earlier run has it.
    New,
}

/// A figure compared with its history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The figure's key.
    pub figure: String,
    /// How it changed.
    pub outcome: Outcome,
    /// Its earlier value: the last one, or the geometric mean of several.
    pub before: Option<f64>,
    /// Its value now.
    pub now: Option<f64>,
    /// Its growth, as a share.
    pub change: Option<f64>,
    /// The growth or shrinkage explained by noise, as a share; `None` without an interval.
    pub noise: Option<f64>,
    /// The number of earlier values that it was compared with.
    pub values: usize,
}

/// Which direction is better for a judged figure. For seconds of a measurement, lower is better.
fn judged(key: &str) -> Option<Better> {
    match of_key(key) {
        Some(figure) => figure.judged.then_some(figure.better),
        None => Some(Better::Lower),
    }
}

/// Judges a run by earlier ones with its key, the earliest first. `threshold` is a share: 0.05 for 5 %.
pub fn judge(now: &Entry, earlier: &[Entry], threshold: f64) -> Vec<Judgement> {
    let same: Vec<&Entry> = earlier.iter().filter(|entry| entry.key == now.key).collect();
    judge_entries(now, &same, threshold)
}

/// Judges a run by one run, which may have another key.
pub fn judge_one(now: &Entry, before: &Entry, threshold: f64) -> Vec<Judgement> {
    judge_entries(now, &[before], threshold)
}

fn judge_entries(now: &Entry, earlier: &[&Entry], threshold: f64) -> Vec<Judgement> {
    let Some(last) = earlier.last() else { return Vec::new() };
    let mut keys: Vec<&String> =
        last.figures.keys().chain(now.figures.keys()).filter(|key| judged(key).is_some()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter()
        .map(|key| {
            let mut before: Vec<Kept> =
                earlier.iter().filter_map(|entry| entry.figures.get(key).copied()).collect();
            before.drain(..before.len().saturating_sub(MOST));
            let better = judged(key).unwrap_or(Better::Neither);
            judgement(key, now.figures.get(key).copied(), &before, better, threshold)
        })
        .collect()
}

fn judgement(key: &str, now: Option<Kept>, before: &[Kept], better: Better, threshold: f64) -> Judgement {
    let mut judgement = Judgement {
        figure: key.to_owned(),
        outcome: Outcome::New,
        before: before.last().map(|kept| kept.value),
        now: now.map(|kept| kept.value),
        change: None,
        noise: None,
        values: before.len(),
    };
    let (Some(now), Some(last)) = (now, before.last()) else {
        judgement.outcome = if now.is_none() { Outcome::Gone } else { Outcome::New };
        return judgement;
    };
    // Ratios are judged by logarithms. A figure that may be zero or less is judged by its difference, as a
    // share of the earlier value.
    let logs: Option<Vec<f64>> = before.iter().map(|kept| positive(kept.value)).collect();
    let (growth, noise) = match (positive(now.value), logs) {
        (Some(now_log), Some(logs)) if logs.len() >= ENOUGH => {
            let mean = statistics::mean(&logs).unwrap_or(f64::NAN);
            let deviation = statistics::standard_deviation(&logs);
            judgement.before = Some(mean.exp());
            let width = statistics::student_quantile(0.975, logs.len() - 1)
                * deviation
                * (1.0 + 1.0 / logs.len() as f64).sqrt();
            (now_log - mean, Some(width))
        }
        (Some(now_log), Some(logs)) => {
            let widths = [error(now), error(*last)];
            let known = widths.iter().any(Option::is_some);
            let squares: f64 = widths.iter().flatten().map(|error| error * error).sum();
            (now_log - logs[logs.len() - 1], known.then(|| 1.96 * squares.sqrt()))
        }
        _ => {
            let share = (now.value - last.value) / last.value.abs().max(f64::MIN_POSITIVE);
            (if share > -1.0 { share.ln_1p() } else { f64::NEG_INFINITY }, None)
        }
    };
    let change = growth.exp_m1();
    judgement.change = Some(change);
    judgement.noise = noise.map(f64::exp_m1);
    let worse = match better {
        Better::Higher => -change,
        _ => change,
    };
    judgement.outcome = match growth.abs() > noise.unwrap_or(0.0) {
        _ if worse.abs() <= threshold => Outcome::Same,
        false => Outcome::Noise,
        true if worse > 0.0 => Outcome::Regressed,
        true => Outcome::Improved,
    };
    judgement
}

fn positive(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then(|| value.ln())
}

/// The standard error of a figure's logarithm, from its 95 % interval.
fn error(kept: Kept) -> Option<f64> {
    let (low, high) = (positive(kept.low?)?, positive(kept.high?)?);
    Some((high - low) / 3.92)
}

/// Whether a run fails: a figure has regressed or is missing.
pub fn fails(judgements: &[Judgement]) -> bool {
    judgements.iter().any(|judgement| matches!(judgement.outcome, Outcome::Regressed | Outcome::Gone))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(figures: &[(&str, f64, Option<f64>)]) -> Entry {
        let kept = |value: f64, half: Option<f64>| Kept {
            value,
            low: half.map(|half| value * (1.0 - half)),
            high: half.map(|half| value * (1.0 + half)),
        };
        Entry {
            key: "k".to_owned(),
            date: "2026-11-25T00:00:00Z".to_owned(),
            commit: Some("81078ac".to_owned()),
            label: "nightly".to_owned(),
            figures: figures
                .iter()
                .map(|(key, value, half)| ((*key).to_owned(), kept(*value, *half)))
                .collect(),
        }
    }

    fn outcome(now: &Entry, earlier: &[Entry], threshold: f64) -> Outcome {
        let judgements = judge(now, earlier, threshold);
        assert_eq!(judgements.len(), 1, "{judgements:?}");
        judgements[0].outcome
    }

    const RATE: &str = "tokens_per_second_per_gpu";

    #[test]
    fn a_regression_is_beyond_the_threshold_and_beyond_the_noise() {
        let before = [entry(&[(RATE, 1000.0, Some(0.01))])];
        let now = |value, half| entry(&[(RATE, value, half)]);
        for (value, half, threshold, expected) in [
            (900.0, Some(0.01), 0.05, Outcome::Regressed),
            (1100.0, Some(0.01), 0.05, Outcome::Improved),
            (970.0, Some(0.01), 0.05, Outcome::Same),
            (970.0, Some(0.01), 0.01, Outcome::Regressed),
            (900.0, Some(0.2), 0.05, Outcome::Noise),
            (1100.0, Some(0.2), 0.05, Outcome::Noise),
            (900.0, None, 0.05, Outcome::Regressed),
        ] {
            assert_eq!(
                outcome(&now(value, half), &before, threshold),
                expected,
                "{value} {half:?} {threshold}"
            );
        }
        // Seconds are worse when they grow.
        let slow = entry(&[("step_seconds", 2.2, None)]);
        assert_eq!(outcome(&slow, &[entry(&[("step_seconds", 2.0, None)])], 0.05), Outcome::Regressed);
        let measured = entry(&[("gemm: 4096 bf16", 2.2, None)]);
        assert_eq!(outcome(&measured, &[entry(&[("gemm: 4096 bf16", 2.0, None)])], 0.05), Outcome::Regressed);
    }

    /// The prediction interval of 1000, 1010, 990, 1005, 995 is 1000 ± 2.4 %, as computed by hand from t =
    /// 2.776 and s = 0.79 %.
    #[test]
    fn with_five_values_the_noise_is_that_from_run_to_run() {
        let earlier: Vec<Entry> =
            [1000.0, 1010.0, 990.0, 1005.0, 995.0].map(|value| entry(&[(RATE, value, Some(1e-6))])).into();
        let at = |value| judge(&entry(&[(RATE, value, Some(1e-6))]), &earlier, 0.01).remove(0);
        let inside = at(980.0);
        assert_eq!(inside.outcome, Outcome::Noise);
        assert!((inside.noise.expect("known") - 0.0243).abs() < 5e-4, "{inside:?}");
        assert!((inside.before.expect("known") - 1000.0).abs() < 0.1 && inside.values == 5);
        assert_eq!(at(970.0).outcome, Outcome::Regressed);
        // With four values, only the last one is used, and its own interval is narrow.
        let judged = judge(&entry(&[(RATE, 980.0, Some(1e-6))]), &earlier[1..], 0.01).remove(0);
        assert_eq!((judged.outcome, judged.before), (Outcome::Regressed, Some(995.0)));
    }

    #[test]
    fn figures_that_disappear_are_reported_and_fail() {
        let before = [entry(&[(RATE, 1000.0, None), ("memory_allocated_gb", 36.0, None)])];
        let now = entry(&[(RATE, 1000.0, None), ("final_loss", 0.1, None)]);
        let outcomes: Vec<_> =
            judge(&now, &before, 0.05).into_iter().map(|one| (one.figure, one.outcome)).collect();
        let expected =
            [("final_loss", Outcome::New), ("memory_allocated_gb", Outcome::Gone), (RATE, Outcome::Same)];
        assert_eq!(outcomes, expected.map(|(figure, outcome)| (figure.to_owned(), outcome)));
        assert!(fails(&judge(&now, &before, 0.05)));
        assert!(!fails(&judge(&before[0], &before, 0.05)));
    }

    #[test]
    fn other_keys_and_figures_that_follow_from_others_are_not_judged() {
        let now = entry(&[(RATE, 1.0, None), ("mfu", 0.1, None), ("stragglers", 50.0, None)]);
        let other = Entry { key: "other".to_owned(), ..entry(&[(RATE, 1000.0, None)]) };
        assert_eq!(judge(&now, std::slice::from_ref(&other), 0.05), Vec::new());
        assert_eq!(judge_one(&now, &other, 0.05).len(), 1);
    }

    #[test]
    fn losses_of_zero_or_less_are_judged_by_their_difference() {
        let at = |value| entry(&[("final_loss", value, None)]);
        assert_eq!(outcome(&at(-0.5), &[at(-1.0)], 0.05), Outcome::Regressed);
        assert_eq!(outcome(&at(-1.5), &[at(-1.0)], 0.05), Outcome::Improved);
        assert_eq!(outcome(&at(-5.0), &[at(-1.0)], 0.05), Outcome::Improved);
        assert_eq!(outcome(&at(0.0), &[at(0.0)], 0.05), Outcome::Same);
        assert_eq!(outcome(&at(0.1), &[at(0.0)], 0.05), Outcome::Regressed);
    }

    #[test]
    fn lines_that_are_no_entries_are_told_by_their_number() {
        let text = format!("{}\n{}{{\"key\":", entry(&[]).line(), entry(&[(RATE, 1.0, None)]).line());
        let error = parse(&text).expect_err("cut");
        assert_eq!(error.line, 4);
        assert!(
            error.to_string().starts_with("line 4 is not an entry of a history: EOF while parsing"),
            "{error}"
        );
        assert!(parse("[1]").is_err() && parse("{\"key\":\"k\"}").is_err());
        assert!(parse("{\"key\":\"k\",\"figures\":{\"a\":{\"value\":null}}}").is_err());
        assert_eq!(parse("\n \r\n").expect("empty"), Vec::new());
    }

    proptest! {
        #[test]
        fn any_text_is_a_history_or_an_error(text in "(?s).{0,200}", line in "[\\[\\]{}\":,a-z0-9.eE+-]{0,80}") {
            let _ = parse(&text);
            let _ = parse(&line);
        }

        #[test]
        fn entries_are_read_as_they_were_written(
            key in "(?s).{0,40}",
            figures in proptest::collection::btree_map("(?s).{0,20}", (any::<i32>(), proptest::option::of(any::<i32>())), 0..6),
        ) {
            let figures = figures.into_iter().map(|(key, (value, low))| {
                let low = low.map(|low| f64::from(low) / 8.0);
                (key, Kept { value: f64::from(value) / 8.0, low, high: low })
            }).collect();
            let entry = Entry { key, figures, ..entry(&[]) };
            let text = format!("{}\n{}", entry.line(), entry.line());
            prop_assert_eq!(parse(&text).expect("entries"), vec![entry.clone(), entry]);
        }

        #[test]
        fn any_figures_are_judged(values in proptest::collection::vec(proptest::num::f64::ANY, 1..9), now in proptest::num::f64::ANY) {
            let earlier: Vec<Entry> = values.iter().map(|value| entry(&[(RATE, *value, Some(0.1))])).collect();
            prop_assert_eq!(judge(&entry(&[(RATE, now, Some(0.1))]), &earlier, 0.05).len(), 1);
        }
    }
}
