//! The figures of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::assumptions::{self, Assumption};
use super::interval::{self, Estimate};
use super::steps::{Stability, Steps};
use super::{Error, Options};
use crate::check;
use crate::flops::{self, Mask, Shape};
use crate::peaks::{self, Found, Type};
use crate::record::{Finding, Measurement, Memory, Platform, Record, Sample};
use crate::statistics;

/// One run, as a comparison shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// The name of the run: that of its file.
    pub label: String,
    /// The GPU as the record names it.
    pub gpu: String,
    /// GPUs of the run.
    pub gpus: Option<u64>,
    /// When the run ended, according to the record.
    pub timestamp: String,
    /// ROCm, CUDA, PyTorch and their versions.
    pub software: String,
    /// The GPU's row of peaks.
    pub peak: Option<Found>,
    /// The type whose peak MFU refers to.
    pub precision: Option<Type>,
    /// The shape that operations are counted from.
    pub shape: Option<Shape>,
    /// Tokens of a sequence.
    pub sequence_length: Option<u64>,
    /// Tokens of a step.
    pub tokens_per_step: Option<f64>,
    /// Which steps count.
    pub steps: Steps,
    /// How uniform they are.
    pub stability: Option<Stability>,
    /// The price of a GPU per hour in USD.
    pub price: Option<Assumption>,
    /// Watts of a GPU.
    pub watts: Option<Assumption>,
    /// The figures by their keys ([`super::figures`]).
    pub figures: BTreeMap<&'static str, Estimate>,
    /// Measurements other than steps.
    pub measurements: Vec<Measured>,
    /// Notes on assumptions and missing data.
    pub notes: Vec<String>,
    /// Values of the record that contradict each other.
    pub findings: Vec<Finding>,
    /// The number of steps that each time and each loss covers.
    pub steps_per_row: u64,
    /// What the times of steps were derived from; `None` if they were measured.
    pub step_time_source: Option<String>,
    /// Which memory the record has a peak of.
    pub memory: Vec<MemoryKind>,
    /// Losses by step; NaN if a step has none.
    #[serde(skip)]
    pub losses: Vec<f64>,
    /// Resampled seconds of a step.
    #[serde(skip)]
    pub(super) resampled: Vec<f64>,
}

/// A separate measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Its group and its name.
    pub name: (String, String),
    /// Seconds of a repetition.
    pub seconds: Estimate,
    /// TFLOP/s.
    pub tflops: Option<Estimate>,
    /// GB/s.
    pub gb_per_second: Option<Estimate>,
    /// Operations for each byte that must be moved.
    pub intensity: Option<f64>,
    /// Resampled seconds.
    #[serde(skip)]
    pub(super) resampled: Vec<f64>,
}

impl Run {
    /// The figure of a key.
    pub fn figure(&self, key: &str) -> Option<Estimate> {
        self.figures.get(key).copied()
    }

    /// Tokens between a time, or a loss, and the next.
    pub(crate) fn tokens_per_row(&self) -> Option<f64> {
        Some(self.tokens_per_step? * self.steps_per_row as f64)
    }

    /// The figures of a record. `index` is its place among the compared records: it seeds the resampling, so
    /// that no two runs share a seed.
    pub(super) fn new(
        label: String,
        record: &Record,
        index: usize,
        options: &Options,
    ) -> Result<Self, Error> {
        let mut notes = Vec::new();
        let info = &record.gpu_info;
        let found = match record.platform {
            // Its times are those of the CPU that runs it.
            Platform::Virtual => Err("a virtual GPU has no peak".to_owned()),
            _ => peaks::find(info).map_err(|error| error.to_string()),
        };
        let peak = match found {
            Ok(found) => {
                if let Some(assumed) = &found.assumed {
                    notes.push(format!("its peak is that of {}: {assumed}", found.peak.product));
                }
                Some(found)
            }
            Err(error) => {
                notes.push(format!("no MFU: {error}"));
                None
            }
        };
        let gpus = record.training_config.num_gpus.or(info.device_count).filter(|gpus| *gpus > 0);
        let steps = Steps::of(record, options.warmup);
        if steps.without_time > 0 {
            notes.push(format!("{} steps have no time and are left out", steps.without_time));
        }
        let seed = options.seed.wrapping_add((index as u64).wrapping_mul(0xD1B5_4A32_D192_ED03));
        let mut run = Self {
            gpu: info.device_name.clone().unwrap_or_else(|| "unknown GPU".to_owned()),
            gpus,
            timestamp: record.timestamp.clone(),
            software: software(record),
            precision: None,
            shape: shape(record, options)?,
            sequence_length: record.training_config.sequence_length,
            tokens_per_step: None,
            stability: Stability::of(&steps.seconds),
            price: None,
            watts: None,
            figures: BTreeMap::new(),
            measurements: Vec::new(),
            findings: check::all_findings(record),
            steps_per_row: statistics::steps_per_row(record),
            step_time_source: text_of(record, "step_time_source"),
            memory: Vec::new(),
            losses: record.loss_values.clone(),
            resampled: interval::resamples(&steps.seconds, options.center, options.resamples, seed),
            label,
            peak,
            steps,
            notes,
        };
        let is_training =
            !run.steps.seconds.is_empty() || record.performance_metrics.avg_step_time_seconds.is_some();
        if is_training {
            run.tokens(record);
            run.speed(record, options);
            run.efficiency(record, options);
            run.costs(record, options);
        }
        run.memory(record);
        run.measurements = record
            .measurements
            .iter()
            .enumerate()
            .map(|(i, one)| measured(one, seed ^ i as u64, options))
            .collect();
        Ok(run)
    }

    fn put(&mut self, key: &'static str, estimate: Estimate) {
        let finite = |end: Option<f64>| end.is_none_or(f64::is_finite);
        if estimate.value.is_finite() && finite(estimate.low) && finite(estimate.high) {
            self.figures.insert(key, estimate);
        }
    }

    /// The tokens of a step, and the sources of tokens and times.
    fn tokens(&mut self, record: &Record) {
        let stated = &record.performance_metrics;
        let by_batch = statistics::tokens_per_step(record);
        let by_rate =
            stated.tokens_per_second.zip(stated.avg_step_time_seconds).map(|(rate, step)| rate * step);
        self.tokens_per_step = by_batch.or(by_rate).filter(|tokens| tokens.is_finite() && *tokens > 0.0);
        let has = |kind: &str| self.findings.iter().any(|finding| finding.kind == kind);
        let mut notes = Vec::new();
        match (by_batch, self.tokens_per_step) {
            (Some(_), _) if has("tokens-contradict-batch") => notes.push(
                "what is compared follows from batch, length and time, not from the recorded tokens/s"
                    .to_owned(),
            ),
            (None, Some(_)) => {
                let whose = match text_of(record, "tokens_per_second_source") {
                    Some(source) => format!("tokens/s that the record has ({source})"),
                    None => "recorded tokens/s".to_owned(),
                };
                notes.push(format!(
                    "tokens of a step follow from the {whose}: it has no batch or sequence length"
                ));
            }
            (None, None) => {
                notes.push(
                    "no tokens/s: the record has neither batch and sequence length nor tokens/s".to_owned(),
                );
            }
            _ => {}
        }
        // Extraction reports the same as a finding.
        if let Some(source) = self.step_time_source.as_ref().filter(|_| !has("step-times-derived")) {
            notes.push(format!("its step times were not measured: they are {source}"));
        }
        if self.steps_per_row > 1 && !has("step-times-averaged") {
            notes.push(format!(
                "each of its times is the mean of {} steps, so its spread, its stragglers and its longest step are those of means",
                self.steps_per_row
            ));
        }
        self.notes.extend(notes);
    }

    /// Seconds of a step and tokens per second.
    fn speed(&mut self, record: &Record, options: &Options) {
        let seconds = self.steps.seconds.clone();
        let stated = record.performance_metrics.avg_step_time_seconds.filter(|step| *step > 0.0);
        let step = match (seconds.is_empty(), stated) {
            (false, _) => {
                let value = options.center.of(&mut seconds.clone());
                interval::interval(value, self.resampled.clone())
            }
            (true, Some(stated)) => {
                self.notes
                    .push("the record has no step times: its mean is taken, without an interval".to_owned());
                Estimate::exact(stated)
            }
            (true, None) => return,
        };
        self.put("step_seconds", step);
        if !seconds.is_empty() {
            let mut sorted = seconds;
            sorted.sort_unstable_by(f64::total_cmp);
            let finite = |value: Option<f64>| Estimate::exact(value.unwrap_or(f64::NAN));
            self.put("step_seconds_mean", finite(statistics::mean(&sorted)));
            self.put("step_seconds_median", finite(statistics::quantile(&sorted, 0.5)));
            self.put("step_seconds_min", Estimate::exact(sorted[0]));
            self.put("step_seconds_max", Estimate::exact(sorted[sorted.len() - 1]));
        }
        if let Some(stated) = stated {
            self.put("step_seconds_recorded", Estimate::exact(stated));
        }
        if let Some(stability) = self.stability {
            self.put("step_seconds_p95", Estimate::exact(stability.p95));
            self.put("step_seconds_p99", Estimate::exact(stability.p99));
            self.put("variation", Estimate::exact(stability.variation));
            self.put("stragglers", Estimate::exact(stability.stragglers as f64));
            self.put("spikes", Estimate::exact(stability.spikes as f64));
            self.put("lost_to_stragglers", Estimate::exact(stability.lost_to_stragglers));
            self.put("drift", Estimate::exact(stability.drift));
        }
        let Some(tokens) = self.tokens_per_step else { return };
        let rate = step.map(|step| tokens / step);
        self.put("tokens_per_second", rate);
        let Some(gpus) = self.gpus else {
            self.notes.push("nothing per GPU: the record has no number of GPUs".to_owned());
            return;
        };
        self.put("tokens_per_second_per_gpu", rate.map(|rate| rate / gpus as f64));
        let node = options.gpus_per_node.unwrap_or_else(|| gpus.min(GPUS_PER_NODE)).max(1);
        if options.gpus_per_node.is_none() && gpus > GPUS_PER_NODE {
            self.notes.push(format!("a node is taken to have {GPUS_PER_NODE} GPUs"));
        }
        self.put("tokens_per_second_per_node", rate.map(|rate| rate / gpus as f64 * node as f64));
    }

    /// TFLOP/s and MFU.
    fn efficiency(&mut self, record: &Record, options: &Options) {
        let stated =
            record.training_config.precision.as_deref().filter(|precision| !precision.trim().is_empty());
        self.precision = match (options.precision, stated) {
            (Some(kind), _) => Some(kind),
            (None, Some(text)) => {
                let kind = Type::of_precision(text);
                if kind.is_none() {
                    self.notes.push(format!("no MFU: precision `{text}` names no type of numbers"));
                }
                kind
            }
            (None, None) => {
                self.notes.push("MFU is by the peak of bf16: the record names no precision".to_owned());
                Some(Type::Bf16)
            }
        };
        let peak = self.precision.zip(self.peak.as_ref()).and_then(|(kind, found)| {
            let tflops = found.peak.tflops(kind);
            if tflops.is_none() {
                self.notes.push(format!("no MFU: {} has no peak of {kind}", found.peak.product));
            }
            tflops
        });
        if let Some(stated) = record.performance_metrics.tflops_per_gpu {
            self.put("tflops_per_gpu_recorded", Estimate::exact(stated));
        }
        let Some(shape) = self.shape.clone() else {
            self.notes.push(
                "no TFLOP/s and no MFU: the record has no shape of a model, and none was named".to_owned(),
            );
            return;
        };
        let (Some(rate), Some(length)) = (self.figure("tokens_per_second_per_gpu"), self.sequence_length)
        else {
            return;
        };
        for (mask, tflops_key, mfu_key) in
            [(Mask::Causal, "tflops_per_gpu", "mfu"), (Mask::Full, "tflops_per_gpu_full", "mfu_full")]
        {
            let flops = shape.per_token(length, mask).training();
            let tflops = rate.map(|rate| rate * flops / 1e12);
            self.put(tflops_key, tflops);
            if let Some(peak) = peak {
                self.put(mfu_key, tflops.map(|tflops| tflops / peak));
            }
        }
    }

    /// Money, energy and carbon.
    fn costs(&mut self, record: &Record, options: &Options) {
        let (Some(rate), Some(gpus)) = (self.figure("tokens_per_second"), self.gpus) else { return };
        let product = self.peak.as_ref().map(|found| found.peak.product);
        self.price = options.price_of(&self.label).or_else(|| product.and_then(assumptions::price));
        match &self.price {
            Some(price) => {
                let dollars_per_second = price.value * gpus as f64 / 3600.0;
                let million = rate.map(|rate| 1e6 * dollars_per_second / rate);
                self.put("dollars_per_million_tokens", million);
                self.put("dollars_per_trillion_tokens", million.map(|dollars| dollars * 1e6));
            }
            None => self.notes.push("no cost: no price of this GPU is known; --price gives one".to_owned()),
        }
        self.watts = options.watts_of(&self.label).or_else(|| self.power(record));
        let Some(watts) = self.watts.as_ref().map(|watts| watts.value) else {
            self.notes.push("no energy: no power of this GPU is known".to_owned());
            return;
        };
        self.put("watts_per_gpu", Estimate::exact(watts));
        let joules = rate.map(|rate| watts * gpus as f64 * options.pue.value / rate);
        self.put("joules_per_token", joules);
        let kwh = joules.map(|joules| joules * 1e6 / 3.6e6);
        self.put("kwh_per_million_tokens", kwh);
        self.put("co2_grams_per_million_tokens", kwh.map(|kwh| kwh * options.carbon.value));
    }

    /// Watts of a GPU: measured, otherwise the limit of the board.
    fn power(&self, record: &Record) -> Option<Assumption> {
        if let Some(watts) = measured_power(&record.telemetry) {
            return Some(Assumption::of(watts, "measured during the run"));
        }
        if let Some(limit) = record.gpu_info.power_limit_watts.filter(|watts| *watts > 0.0) {
            return Some(Assumption::limit(limit, "the board's power limit, which it does not exceed"));
        }
        let peak = self.peak.as_ref()?.peak;
        let source = format!("TDP, which it does not exceed for long ({})", peak.source);
        Some(Assumption::limit(peak.tdp_watts, source))
    }

    fn memory(&mut self, record: &Record) {
        let Some(memory) = &record.memory_metrics else { return };
        for kind in MemoryKind::ALL {
            if let Some(peak) = kind.peak(memory).filter(|peak| peak.is_finite()) {
                self.put(kind.key(), Estimate::exact(peak));
                self.memory.push(kind);
            }
        }
    }

    /// The peak of a kind of memory as a share of the GPU's memory.
    pub(super) fn memory_share(&mut self, record: &Record, kind: MemoryKind) {
        let total = record.gpu_info.total_memory_gb.or(self.peak.as_ref().map(|found| found.peak.memory_gb));
        if let (Some(peak), Some(total)) = (self.figure(kind.key()), total.filter(|total| *total > 0.0)) {
            self.put("memory_share", Estimate::exact(peak.value / total));
            self.notes.push(format!("its share of the GPU's memory is of the memory {kind}"));
        }
    }
}

/// Which memory a figure counts. Figures of different kinds are not comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// What the allocator holds.
    Reserved,
    /// What tensors use.
    Allocated,
    /// What all programs use on the GPU, as counted by its driver.
    Used,
}

impl MemoryKind {
    /// All kinds; of several that runs have in common, the first one is compared.
    pub const ALL: [Self; 3] = [Self::Reserved, Self::Allocated, Self::Used];

    /// The first kind that all runs with any kind have.
    pub(super) fn common<'r>(runs: impl Iterator<Item = &'r Run> + Clone) -> Option<Self> {
        let has = |run: &Run, kind: &Self| run.memory.is_empty() || run.memory.contains(kind);
        Self::ALL.into_iter().find(|kind| runs.clone().all(|run| has(run, kind)))
    }

    /// The key of its figure.
    pub fn key(self) -> &'static str {
        match self {
            Self::Reserved => "memory_reserved_gb",
            Self::Allocated => "memory_allocated_gb",
            Self::Used => "memory_used_gb",
        }
    }

    fn peak(self, memory: &Memory) -> Option<f64> {
        match self {
            Self::Reserved => memory.peak_memory_reserved_gb,
            Self::Allocated => memory.peak_memory_allocated_gb,
            Self::Used => memory.peak_memory_used_gb,
        }
    }
}

impl std::fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reserved => "that the allocator reserved",
            Self::Allocated => "that tensors used",
            Self::Used => "in use on the GPU by all programs",
        })
    }
}

/// A text that extraction stores with the figures.
fn text_of(record: &Record, key: &str) -> Option<String> {
    record.performance_metrics.other.get(key).and_then(serde_json::Value::as_str).map(str::to_owned)
}

/// The default number of GPUs of a node: that of the usual servers of both vendors.
const GPUS_PER_NODE: u64 = 8;

/// The named shape, otherwise that of the record, otherwise that of the record's model name.
fn shape(record: &Record, options: &Options) -> Result<Option<Shape>, Error> {
    if let Some(name) = &options.model {
        return flops::known(name).map(Some).ok_or_else(|| Error::Model(name.clone()));
    }
    let Some(model) = &record.model_info else { return Ok(None) };
    Ok(Shape::of_record(model).or_else(|| flops::known(model.name.as_deref()?)))
}

fn software(record: &Record) -> String {
    let info = &record.gpu_info;
    let part = |name: &str, version: &Option<String>| {
        version.as_deref().filter(|version| !version.is_empty()).map(|version| format!("{name}{version}"))
    };
    let parts = [
        part("", &info.software_stack),
        part("", &info.software_version),
        part("PyTorch ", &info.pytorch_version),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The mean over GPUs of their mean power, weighted by the time between samples.
fn measured_power(samples: &[Sample]) -> Option<f64> {
    let mut by_gpu: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for sample in samples {
        if let Some(watts) = sample.power_watts.filter(|watts| watts.is_finite()) {
            by_gpu.entry(sample.gpu).or_default().push((sample.seconds, watts));
        }
    }
    let means: Vec<f64> = by_gpu
        .into_values()
        .map(|mut samples| {
            samples.sort_by(|a, b| a.0.total_cmp(&b.0));
            let span = samples[samples.len() - 1].0 - samples[0].0;
            let area: f64 =
                samples.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0).sum();
            if span > 0.0 {
                area / span
            } else {
                samples.iter().map(|sample| sample.1).sum::<f64>() / samples.len() as f64
            }
        })
        .collect();
    statistics::mean(&means)
}

fn measured(one: &Measurement, seed: u64, options: &Options) -> Measured {
    let mut seconds: Vec<f64> =
        one.seconds.iter().copied().filter(|second| statistics::is_time(*second)).collect();
    let resampled = interval::resamples(&seconds, options.center, options.resamples, seed);
    let value = options.center.of(&mut seconds);
    let estimate = interval::interval(value, resampled.clone());
    let rate =
        |amount: Option<f64>, unit: f64| amount.map(|amount| estimate.map(|seconds| amount / seconds / unit));
    Measured {
        name: (one.group.clone(), one.name.clone()),
        seconds: estimate,
        tflops: rate(one.flops, 1e12),
        gb_per_second: rate(one.bytes, 1e9),
        intensity: one.flops.zip(one.bytes.filter(|bytes| *bytes > 0.0)).map(|(flops, bytes)| flops / bytes),
        resampled,
    }
}
