//! How throughput grows with the number of GPUs.

use serde::Serialize;

use super::interval::Estimate;
use super::run::Run;

/// Runs on different numbers of one kind of GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scaling {
    /// The GPU.
    pub gpu: String,
    /// `strong` if all runs have the same global batch, `weak` if it grows with the GPUs, `mixed` otherwise.
    pub kind: &'static str,
    /// The runs, the one with the fewest GPUs first.
    pub steps: Vec<Step>,
}

/// A run with some number of GPUs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The run.
    pub label: String,
    /// GPUs.
    pub gpus: u64,
    /// Tokens/s of all GPUs.
    pub tokens_per_second: Estimate,
    /// Tokens/s of a GPU divided by those of a GPU of the smallest run: 1 if twice the GPUs are twice as
    /// fast.
    pub efficiency: f64,
}

/// The groups of runs that have the same GPU and sequence length, and different numbers of GPUs.
pub(super) fn scaling(runs: &[Run]) -> Vec<Scaling> {
    let mut groups: Vec<(&str, Option<u64>, Vec<&Run>)> = Vec::new();
    for run in runs.iter().filter(|run| run.gpus.is_some() && run.figure("tokens_per_second").is_some()) {
        match groups.iter_mut().find(|(gpu, length, _)| *gpu == run.gpu && *length == run.sequence_length) {
            Some((_, _, group)) => group.push(run),
            None => groups.push((&run.gpu, run.sequence_length, vec![run])),
        }
    }
    groups
        .into_iter()
        .filter_map(|(gpu, _, mut group)| {
            group.sort_by_key(|run| run.gpus);
            let smallest = *group.first()?;
            if group.last()?.gpus == smallest.gpus {
                return None;
            }
            let base = smallest.figure("tokens_per_second_per_gpu")?.value;
            let steps = group
                .iter()
                .filter_map(|run| {
                    Some(Step {
                        label: run.label.clone(),
                        gpus: run.gpus?,
                        tokens_per_second: run.figure("tokens_per_second")?,
                        efficiency: run.figure("tokens_per_second_per_gpu")?.value / base,
                    })
                })
                .collect();
            let same = |value: fn(&Run) -> f64| {
                group.iter().all(|run| (value(run) / value(smallest) - 1.0).abs() < 1e-9)
            };
            let kind = if same(|run| run.tokens_per_step.unwrap_or(f64::NAN)) {
                "strong"
            } else if same(|run| run.tokens_per_step.unwrap_or(f64::NAN) / run.gpus.unwrap_or(1) as f64) {
                "weak"
            } else {
                "mixed"
            };
            Some(Scaling { gpu: gpu.to_owned(), kind, steps })
        })
        .collect()
}
