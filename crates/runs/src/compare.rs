//! Compares runs: which one is faster, by how much, with what certainty, at what cost, and whether they are
//! comparable at all.
//!
//! Everything here is computed from the steps that count ([`Warmup`]), with one rule for all runs, not from
//! the statistics that records state. Those are shown in addition.

pub mod assumptions;
mod comparable;
pub mod figures;
pub mod interval;
mod loss;
mod run;
mod scaling;
mod steps;

use serde::Serialize;

pub use self::assumptions::Assumption;
pub use self::comparable::Warning;
pub use self::interval::{Center, Estimate};
pub use self::loss::{Distance, Losses, Point};
pub use self::run::{Measured, MemoryKind, Run};
pub use self::scaling::{Scaling, Step};
pub use self::steps::{Stability, Steps, Warmup};
use crate::peaks::Type;
use crate::record::Record;

/// The options of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The index of the run that others are compared with.
    pub baseline: usize,
    /// The value that represents all steps of a run.
    pub center: Center,
    /// Which steps are left out.
    pub warmup: Warmup,
    /// The model whose operations are counted, by name; by default the record's.
    pub model: Option<String>,
    /// The type whose peak MFU refers to; by default the record's.
    pub precision: Option<Type>,
    /// USD per GPU and hour: for all runs, or for the run with a label.
    pub prices: Vec<(Option<String>, f64)>,
    /// Watts of a GPU: for all runs, or for the run with a label. By default the measured power, otherwise
    /// the board's limit.
    pub watts: Vec<(Option<String>, f64)>,
    /// Power of the site divided by power of its machines.
    pub pue: Assumption,
    /// Grams of CO₂ equivalent per kWh.
    pub carbon: Assumption,
    /// GPUs of a node; by default those of the run, at most 8.
    pub gpus_per_node: Option<u64>,
    /// The number of resamples for an interval.
    pub resamples: usize,
    /// The seed of the resampling.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            baseline: 0,
            center: Center::default(),
            warmup: Warmup::default(),
            model: None,
            precision: None,
            prices: Vec::new(),
            watts: Vec::new(),
            pue: assumptions::pue(),
            carbon: assumptions::carbon(),
            gpus_per_node: None,
            resamples: 2000,
            seed: 22,
        }
    }
}

impl Options {
    fn price_of(&self, label: &str) -> Option<Assumption> {
        of_label(&self.prices, label)
    }

    fn watts_of(&self, label: &str) -> Option<Assumption> {
        of_label(&self.watts, label)
    }
}

/// The value for a label, otherwise the value for all.
fn of_label(given: &[(Option<String>, f64)], label: &str) -> Option<Assumption> {
    let own = given.iter().find(|(name, _)| name.as_deref() == Some(label));
    own.or_else(|| given.iter().find(|(name, _)| name.is_none())).map(|(_, value)| Assumption::given(*value))
}

/// Why runs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no run.
    #[error("there is nothing to compare")]
    Nothing,
    /// The baseline is not one of the runs.
    #[error("the baseline is run {0}, but the number of runs is {1}")]
    Baseline(usize, usize),
    /// Two runs have one label.
    #[error("two runs are called `{0}`")]
    Label(String),
    /// A price or a power is given for a run that does not exist.
    #[error("no run is called `{0}`; the runs are {1}")]
    NoSuchRun(String, String),
    /// A price, a power or another number is not positive.
    #[error("{0} must be a positive number, not {1}")]
    NotPositive(&'static str, String),
    /// No model has this name.
    #[error("no model is called `{0}`; known models are {list}", list = crate::flops::names().collect::<Vec<_>>().join(", "))]
    Model(String),
}

/// The speed-up of a run over the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Speedup {
    /// The run.
    pub label: String,
    /// Tokens/s of a GPU divided by the baseline's.
    pub per_gpu: Option<Estimate>,
    /// Tokens/s of a node divided by the baseline's.
    pub per_node: Option<Estimate>,
    /// Seconds of a step of the baseline divided by this run's.
    pub step: Option<Estimate>,
}

impl Speedup {
    /// The speed-up to judge by: per GPU if tokens are known, otherwise of a step.
    pub fn main(&self) -> Option<Estimate> {
        self.per_gpu.or(self.step)
    }

    /// The verdict of the interval.
    pub fn verdict(&self) -> Verdict {
        match self.main() {
            Some(Estimate { low: Some(low), .. }) if low > 1.0 => Verdict::Faster,
            Some(Estimate { high: Some(high), .. }) if high < 1.0 => Verdict::Slower,
            Some(Estimate { low: Some(_), .. }) => Verdict::Same,
            _ => Verdict::Unknown,
        }
    }
}

/// The verdict of a speed-up's interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is above 1.
    Faster,
    /// The whole interval is below 1.
    Slower,
    /// It contains 1: the difference is within the noise.
    Same,
    /// There is no interval.
    Unknown,
}

/// A measurement that several runs share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Matched {
    /// Its group.
    pub group: String,
    /// Its name.
    pub name: String,
    /// The measurement of each run, in order.
    pub runs: Vec<Option<Measured>>,
    /// Seconds of the baseline divided by each run's.
    pub speedups: Vec<Option<Estimate>>,
}

/// A comparison of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The index of the run that others are compared with.
    pub baseline: usize,
    /// The value that represents all steps of a run.
    pub center: Center,
    /// The runs, as they were given.
    pub runs: Vec<Run>,
    /// The speed-up of each run over the baseline; the baseline is left out.
    pub speedups: Vec<Speedup>,
    /// The aspects in which the runs are not comparable.
    pub warnings: Vec<Warning>,
    /// Scaling with the number of GPUs.
    pub scaling: Vec<Scaling>,
    /// Losses after equal tokens.
    pub losses: Option<Losses>,
    /// Measurements other than steps.
    pub measurements: Vec<Matched>,
    /// Power of the site divided by power of its machines.
    pub pue: Assumption,
    /// Grams of CO₂ equivalent per kWh.
    pub carbon: Assumption,
}

/// Compares records, each with a label.
///
/// # Errors
///
/// [`Error`] if there is no record, if a label occurs twice, or if an option names something that does not
/// exist.
pub fn compare(records: &[(String, Record)], options: &Options) -> Result<Comparison, Error> {
    check(records, options)?;
    let mut runs = records
        .iter()
        .enumerate()
        .map(|(i, (label, record))| Run::new(label.clone(), record, i, options))
        .collect::<Result<Vec<_>, _>>()?;
    loss::put_final(&mut runs);
    put_memory_share(records, &mut runs);
    let base = &runs[options.baseline];
    let speedups = runs
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != options.baseline)
        .map(|(_, run)| speedup(run, base))
        .collect();
    let pairs: Vec<(&Record, &Run)> = records.iter().map(|(_, record)| record).zip(&runs).collect();
    Ok(Comparison {
        baseline: options.baseline,
        center: options.center,
        speedups,
        warnings: comparable::warnings(&pairs),
        scaling: scaling::scaling(&runs),
        losses: loss::compare(&runs, options.baseline),
        measurements: matched(&runs, options.baseline),
        pue: options.pue.clone(),
        carbon: options.carbon.clone(),
        runs,
    })
}

/// Sets shares of memory of one kind for all runs that have memory figures; if they have no kind in common,
/// each run's own kind.
fn put_memory_share(records: &[(String, Record)], runs: &mut [Run]) {
    let common = MemoryKind::common(runs.iter());
    for (run, (_, record)) in runs.iter_mut().zip(records) {
        if let Some(kind) = common.or(run.memory.first().copied()) {
            run.memory_share(record, kind);
        }
    }
}

fn check(records: &[(String, Record)], options: &Options) -> Result<(), Error> {
    if records.is_empty() {
        return Err(Error::Nothing);
    }
    if options.baseline >= records.len() {
        return Err(Error::Baseline(options.baseline + 1, records.len()));
    }
    for (i, (label, _)) in records.iter().enumerate() {
        if records[..i].iter().any(|(other, _)| other == label) {
            return Err(Error::Label(label.clone()));
        }
    }
    for (what, given) in [("a price", &options.prices), ("a power", &options.watts)] {
        for (label, value) in given {
            positive(what, *value)?;
            if let Some(label) = label
                && !records.iter().any(|(other, _)| other == label)
            {
                let labels: Vec<&str> = records.iter().map(|(label, _)| label.as_str()).collect();
                return Err(Error::NoSuchRun(label.clone(), labels.join(", ")));
            }
        }
    }
    positive("PUE", options.pue.value)?;
    if options.carbon.value < 0.0 || !options.carbon.value.is_finite() {
        return Err(Error::NotPositive("the carbon intensity", options.carbon.value.to_string()));
    }
    Ok(())
}

fn positive(what: &'static str, value: f64) -> Result<(), Error> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::NotPositive(what, value.to_string())),
    }
}

fn speedup(run: &Run, base: &Run) -> Speedup {
    // Both figures are a constant divided by the seconds of a step, so the resampled ratio of seconds is
    // theirs up to a factor.
    let step = run.figure("step_seconds").zip(base.figure("step_seconds"));
    let step = step
        .map(|(ours, theirs)| interval::ratio(theirs.value / ours.value, &base.resampled, &run.resampled));
    let by = |key: &str| {
        let factor = run.figure(key)?.value / base.figure(key)?.value;
        step.map(|step| step.map(|ratio| ratio * factor / step.value))
    };
    Speedup {
        label: run.label.clone(),
        per_gpu: by("tokens_per_second_per_gpu"),
        per_node: by("tokens_per_second_per_node"),
        step,
    }
}

fn matched(runs: &[Run], baseline: usize) -> Vec<Matched> {
    let mut names: Vec<&(String, String)> = Vec::new();
    for one in runs.iter().flat_map(|run| &run.measurements) {
        if !names.contains(&&one.name) {
            names.push(&one.name);
        }
    }
    names
        .into_iter()
        .map(|name| {
            let all: Vec<Option<&Measured>> =
                runs.iter().map(|run| run.measurements.iter().find(|one| one.name == *name)).collect();
            let base = all[baseline];
            let speedups = all
                .iter()
                .map(|one| {
                    let (one, base) = ((*one)?, base?);
                    Some(interval::ratio(
                        base.seconds.value / one.seconds.value,
                        &base.resampled,
                        &one.resampled,
                    ))
                })
                .collect();
            Matched {
                group: name.0.clone(),
                name: name.1.clone(),
                runs: all.into_iter().map(Option::<&_>::cloned).collect(),
                speedups,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
