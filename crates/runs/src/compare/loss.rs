//! Losses of runs, aligned by the tokens seen.
//!
//! Runs with different batches take different steps for the same tokens, so curves are compared at equal
//! numbers of tokens: each is interpolated linearly between its steps. A single step's loss is noisy; the
//! value at a point is the mean of the curve over a window of 2 % of the common range to each side.

use serde::Serialize;

use super::run::Run;
use crate::statistics;

/// Losses of all runs after equal numbers of tokens.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Losses {
    /// Labels of the runs that have losses; the first is the one that others are compared with.
    pub labels: Vec<String>,
    /// Tokens up to which all runs have losses.
    pub tokens: f64,
    /// The losses at some points.
    pub points: Vec<Point>,
    /// For each run except the first, how far its loss is from the first one's.
    pub distances: Vec<Distance>,
}

/// Losses after some tokens.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Tokens.
    pub tokens: f64,
    /// The loss of each run.
    pub losses: Vec<f64>,
}

/// How far one run's loss is from another's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distance {
    /// The run.
    pub label: String,
    /// The mean difference over the common tokens; positive where this run's loss is higher.
    pub mean: f64,
    /// The mean of the absolute differences.
    pub mean_absolute: f64,
    /// The largest absolute difference.
    pub largest: f64,
    /// Tokens after which it is that large.
    pub largest_at: f64,
    /// The difference at the end of the common tokens.
    pub end: f64,
}

/// A run's loss over tokens.
struct Curve {
    points: Vec<(f64, f64)>,
}

impl Curve {
    fn of(run: &Run) -> Option<Self> {
        let tokens = run.tokens_per_row()?;
        let points: Vec<(f64, f64)> = run
            .losses
            .iter()
            .enumerate()
            .filter(|(_, loss)| loss.is_finite())
            .map(|(step, loss)| ((step + 1) as f64 * tokens, *loss))
            .collect();
        (points.len() >= 2).then_some(Self { points })
    }

    fn start(&self) -> f64 {
        self.points[0].0
    }

    fn end(&self) -> f64 {
        self.points[self.points.len() - 1].0
    }

    /// By linear interpolation; beyond the ends, the value at the end.
    fn at(&self, tokens: f64) -> f64 {
        let after = self.points.partition_point(|point| point.0 < tokens);
        match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (None, Some(first)) => first.1,
            (Some(last), None) => last.1,
            (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (tokens - x0) / (x1 - x0),
            (None, None) => f64::NAN,
        }
    }

    /// The mean over a window.
    fn around(&self, tokens: f64, half: f64, start: f64, end: f64) -> f64 {
        let (from, to) = ((tokens - half).max(start), (tokens + half).min(end));
        let values: Vec<f64> =
            (0..=SAMPLES).map(|i| self.at(from + (to - from) * f64::from(i) / f64::from(SAMPLES))).collect();
        statistics::mean(&values).unwrap_or(f64::NAN)
    }
}

/// Samples of a window.
const SAMPLES: u32 = 20;
/// The number of points at which curves are compared.
const POINTS: u32 = 200;
/// The points that reports list, as shares of the common tokens.
const LISTED: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 1.0];

/// The mean loss of the last twentieth of each run's steps, with its interval.
pub(super) fn put_final(runs: &mut [Run]) {
    for run in runs {
        let losses: Vec<f64> = run.losses.iter().copied().filter(|loss| loss.is_finite()).collect();
        let last = &losses[losses.len() - (losses.len() / 20).max(1).min(losses.len())..];
        if let Some(value) = statistics::mean(last) {
            let resampled = super::interval::resamples(last, super::Center::Mean, 1000, losses.len() as u64);
            run.figures.insert("final_loss", super::interval::interval(value, resampled));
        }
    }
}

/// Compares the losses of runs; `None` if fewer than two have losses, or if they have no tokens in common.
pub(super) fn compare(runs: &[Run], baseline: usize) -> Option<Losses> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|i| *i != baseline);
    let curves: Vec<(&Run, Curve)> =
        order.iter().filter_map(|i| Some((&runs[*i], Curve::of(&runs[*i])?))).collect();
    if curves.len() < 2 {
        return None;
    }
    let start = curves.iter().map(|(_, curve)| curve.start()).fold(f64::NEG_INFINITY, f64::max);
    let end = curves.iter().map(|(_, curve)| curve.end()).fold(f64::INFINITY, f64::min);
    if end <= start {
        return None;
    }
    let half = 0.02 * (end - start);
    let value = |curve: &Curve, tokens: f64| curve.around(tokens, half, start, end);
    let points = LISTED
        .iter()
        .map(|share| {
            let tokens = start + share * (end - start);
            Point { tokens, losses: curves.iter().map(|(_, curve)| value(curve, tokens)).collect() }
        })
        .collect();
    let grid: Vec<f64> =
        (0..=POINTS).map(|i| start + (end - start) * f64::from(i) / f64::from(POINTS)).collect();
    let first: Vec<f64> = grid.iter().map(|tokens| value(&curves[0].1, *tokens)).collect();
    let distances = curves[1..]
        .iter()
        .map(|(run, curve)| {
            let differences: Vec<f64> =
                grid.iter().zip(&first).map(|(tokens, first)| value(curve, *tokens) - first).collect();
            let (at, largest) = differences
                .iter()
                .enumerate()
                .map(|(i, difference)| (i, difference.abs()))
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .unwrap_or((0, f64::NAN));
            Distance {
                label: run.label.clone(),
                mean: statistics::mean(&differences).unwrap_or(f64::NAN),
                mean_absolute: differences.iter().map(|difference| difference.abs()).sum::<f64>()
                    / differences.len() as f64,
                largest,
                largest_at: grid[at],
                end: differences[differences.len() - 1],
            }
        })
        .collect();
    Some(Losses {
        labels: curves.iter().map(|(run, _)| run.label.clone()).collect(),
        tokens: end,
        points,
        distances,
    })
}
