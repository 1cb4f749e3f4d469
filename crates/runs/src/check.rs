//! Finds values of a record that contradict each other. It corrects nothing: a finding has both figures, and
//! the record keeps its own.
//!
//! Figures in files are rounded. Two figures contradict each other only if no values that would be printed
//! like them agree.

mod rounding;

use crate::peaks::{self, Peak};
use crate::record::{Finding, Memory, Parallelism, Platform, Record};
use crate::statistics::{self, Interval, Statistics};

use rounding::{agrees, around, half_unit, half_unit_of_series};

/// The tolerance between a rate that a program prints per step and tokens ÷ time: programs round, smooth, and
/// leave out parts of a step.
const PRINTED_RATE: f64 = 0.02;

/// All findings about a record, without those stored in it.
///
/// | kind | contradiction |
/// |---|---|
/// | `tokens-contradict-batch` | tokens per second, against global batch × sequence length ÷ time of a step |
/// | `tokens-per-gpu-contradict-total` | tokens per second of one GPU, against those of all ÷ GPUs |
/// | `steps-per-second-contradict-mean` | steps per second, against 1 ÷ mean |
/// | `mean-contradicts-steps`, `min-contradicts-steps`, `max-contradicts-steps` | against the times of the steps after warm-up |
/// | `total-exceeds-steps`, `total-below-steps` | the total time, against the sum of all steps |
/// | `mean-includes-warmup` | the mean after warm-up, against the mean from where the times are steady |
/// | `step-count-contradicts-steps` | the number of steps, against the times of steps |
/// | `series-lengths-differ` | losses, learning rates or norms, against the times of steps |
/// | `throughput-per-core-contradicts-cores` | throughput per core, against steps per second ÷ cores |
/// | `cores-contradict-device`, `compute-units-contradict-device` | the cores of a GPU, or its compute units, against its name |
/// | `memory-contradicts-device`, `architecture-contradicts-device` | the memory of a GPU, or its architecture, against its name |
/// | `cores-contradict-compute-units` | the cores of a GPU, against its compute units × 64 or 128 |
/// | `device-name-ambiguous` | a name shared by GPUs of different sizes, while the record does not give the number of cores |
/// | `batch-contradicts-parallelism` | the global batch, against micro-batch × accumulation × replicas |
/// | `gpus-contradict-parallelism` | the number of GPUs, against tensor × pipeline × context × data parallel |
/// | `strategy-contradicts-parallelism` | a name such as `TP1_PP2`, against the sizes |
/// | `gpu-counts-differ` | the configuration's number of GPUs is not a multiple of the device's |
/// | `tflops-contradict-tokens` | TFLOP/s of a GPU, against 6 × parameters × its tokens per second |
/// | `memory-contradicts-itself` | an average above the peak, tensors above what the allocator holds, either above the GPU's memory |
/// | `time-is-no-time` | times of steps that are missing, not finite or not positive |
/// | `loss-is-no-number` | steps without a loss, among others that have one |
///
/// ```
/// let record = runs::Record::read(br#"{"raw_step_times": [30.0, 10.0, 10.0], "gpu_info": {"device_name": "AMD Instinct MI300X"},
///     "training_config": {"global_batch_size": 128, "sequence_length": 2048},
///     "performance_metrics": {"tokens_per_second": 104857.6}}"#)?;
/// let findings = runs::check::findings(&record);
/// assert_eq!(findings.len(), 1);
/// assert_eq!((findings[0].kind.as_str(), findings[0].derived), ("tokens-contradict-batch", Some(26214.4)));
/// assert!(findings[0].text.contains("a sequence length of 8192 would fit"), "{}", findings[0].text);
/// # Ok::<(), runs::record::ReadError>(())
/// ```
#[must_use]
pub fn findings(record: &Record) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_series(record, &mut findings);
    let statistics = Statistics::of(record);
    if let Some(statistics) = &statistics {
        let times = Times::of(record, statistics);
        check_times(record, statistics, &times, &mut findings);
        check_tokens(record, statistics.mean, times.mean, &mut findings);
        check_per_gpu(record, &mut findings);
        check_per_core(record, statistics, &times, &mut findings);
        check_warmup(record, statistics, &mut findings);
    } else {
        // The record has no times except the mean.
        if let Some(mean) = record.performance_metrics.avg_step_time_seconds.filter(|mean| *mean > 0.0) {
            check_tokens(record, mean, around(mean, half_unit(mean)), &mut findings);
        }
        check_per_gpu(record, &mut findings);
    }
    check_gpu(record, &mut findings);
    check_parallelism(record, &mut findings);
    check_flops(record, &mut findings);
    if let Some(memory) = &record.memory_metrics {
        check_memory(memory, record.gpu_info.total_memory_gb, &mut findings);
    }
    findings
}

/// The other findings stored in a record, and [`findings`]. An extracted record has findings of both kinds.
/// Those that [`findings`] can find are computed again, so that none is reported twice or after it no longer
/// holds.
#[must_use]
pub fn all_findings(record: &Record) -> Vec<Finding> {
    let mut all: Vec<Finding> =
        record.findings.iter().filter(|finding| !KINDS.contains(&finding.kind.as_str())).cloned().collect();
    all.extend(findings(record));
    all
}

/// The kinds of findings from [`findings`].
const KINDS: &[&str] = &[
    "architecture-contradicts-device",
    "batch-contradicts-parallelism",
    "compute-units-contradict-device",
    "cores-contradict-compute-units",
    "cores-contradict-device",
    "device-name-ambiguous",
    "gpu-counts-differ",
    "gpus-contradict-parallelism",
    "loss-is-no-number",
    "max-contradicts-steps",
    "mean-contradicts-steps",
    "mean-includes-warmup",
    "memory-contradicts-device",
    "memory-contradicts-itself",
    "min-contradicts-steps",
    "series-lengths-differ",
    "step-count-contradicts-steps",
    "steps-per-second-contradict-mean",
    "strategy-contradicts-parallelism",
    "tflops-contradict-tokens",
    "throughput-per-core-contradicts-cores",
    "time-is-no-time",
    "tokens-contradict-batch",
    "tokens-per-gpu-contradict-total",
    "total-below-steps",
    "total-exceeds-steps",
];

/// A finding with both figures.
pub(crate) fn finding(kind: &str, stated: f64, derived: f64, text: String) -> Finding {
    Finding { kind: kind.to_owned(), text, stated: Some(stated), derived: Some(derived) }
}

/// The possible times of the steps, given that they are rounded.
struct Times {
    mean: Interval,
    total: Interval,
    /// Whether each time is the mean of several steps, as in programs that do not print every step.
    averaged: bool,
}

impl Times {
    fn of(record: &Record, statistics: &Statistics) -> Times {
        let half = half_unit_of_series(&record.step_times);
        Times {
            mean: around(statistics.mean, half),
            total: around(statistics.total, half * statistics.steps as f64),
            averaged: statistics::steps_per_row(record) > 1,
        }
    }
}

fn check_series(record: &Record, findings: &mut Vec<Finding>) {
    let steps = record.step_times.len();
    let bad = record.step_times.iter().filter(|seconds| !statistics::is_time(**seconds)).count();
    if bad > 0 {
        findings.push(Finding::remark(
            "time-is-no-time",
            format!("{bad} of {steps} times of steps are missing, not finite or not positive"),
        ));
    }
    let nan = record.loss_values.iter().filter(|loss| !loss.is_finite()).count();
    if nan > 0 {
        let all = record.loss_values.len();
        findings.push(Finding::remark(
            "loss-is-no-number",
            format!("{nan} of {all} losses are missing or not finite"),
        ));
    }
    for (name, length) in [
        ("loss_values", record.loss_values.len()),
        ("learning_rates", record.learning_rates.len()),
        ("grad_norms", record.grad_norms.len()),
    ] {
        if length != 0 && steps != 0 && length != steps {
            let text = format!(
                "{name} has {length} values, and step_times {steps}: they cannot be paired one by one"
            );
            findings.push(finding("series-lengths-differ", length as f64, steps as f64, text));
        }
    }
}

fn check_times(record: &Record, statistics: &Statistics, times: &Times, findings: &mut Vec<Finding>) {
    let performance = &record.performance_metrics;
    let half = half_unit_of_series(&record.step_times);
    let warmup = statistics.warmup_steps;
    for (kind, field, stated, derived) in [
        (
            "mean-contradicts-steps",
            "avg_step_time_seconds",
            performance.avg_step_time_seconds,
            statistics.mean,
        ),
        ("min-contradicts-steps", "min_step_time_seconds", performance.min_step_time_seconds, statistics.min),
        ("max-contradicts-steps", "max_step_time_seconds", performance.max_step_time_seconds, statistics.max),
    ] {
        let Some(stated) = stated.filter(|stated| !agrees(*stated, around(derived, half))) else { continue };
        let text = format!(
            "{field} states {stated} s; the steps without the first {warmup} give {} s",
            figure(derived)
        );
        findings.push(finding(kind, stated, derived, text));
    }
    if let Some(stated) = performance.total_time_seconds
        && !times.averaged
        && !agrees(stated, times.total)
    {
        let sum = f64::midpoint(times.total.low, times.total.high);
        let difference = stated - sum;
        let (kind, text) = if difference > 0.0 {
            let share = 100.0 * difference / stated;
            let text = format!(
                "total_time_seconds states {stated} s and the steps sum to {} s: {} s ({share:.2} %) are not in steps, as in a run's \
                     wall clock",
                figure(sum),
                figure(difference)
            );
            ("total-exceeds-steps", text)
        } else {
            (
                "total-below-steps",
                format!(
                    "total_time_seconds states {stated} s, less than the sum of the steps, {} s",
                    figure(sum)
                ),
            )
        };
        findings.push(finding(kind, stated, sum, text));
    }
    if let Some(stated) = performance.total_steps {
        let rows = record.step_times.len() as f64;
        if !times.averaged && stated as f64 != rows {
            let text = format!("total_steps states {stated}, but there are times of {rows} steps");
            findings.push(finding("step-count-contradicts-steps", stated as f64, rows, text));
        }
    }
    if let Some(stated) = performance.steps_per_second {
        let possible = Interval { low: 1.0 / times.mean.high, high: 1.0 / times.mean.low };
        if times.mean.low > 0.0 && !agrees(stated, possible) {
            let derived = statistics.steps_per_second;
            let text = format!(
                "steps_per_second states {stated}; one divided by the mean of the steps, {} s, is {}",
                figure(statistics.mean),
                figure(derived)
            );
            findings.push(finding("steps-per-second-contradict-mean", stated, derived, text));
        }
    }
}

/// Slow steps at the beginning that are not left out. A difference below a hundredth of the mean is not
/// reported.
fn check_warmup(record: &Record, statistics: &Statistics, findings: &mut Vec<Finding>) {
    let times = &record.step_times;
    if times.len() < 10 || !times.iter().all(|seconds| statistics::is_time(*seconds)) {
        return;
    }
    let Some(steady) = statistics::steady_from(times).filter(|steady| *steady > statistics.warmup_steps)
    else {
        return;
    };
    let Some(mean) = statistics::mean(&times[steady..]) else { return };
    if statistics.mean / mean > 1.01 {
        let text = format!(
            "the mean of {} s leaves out {}; the times are steady after {steady}, and from there the mean is {} s",
            figure(statistics.mean),
            if statistics.warmup_steps == 1 {
                "1 step".to_owned()
            } else {
                format!("{} steps", statistics.warmup_steps)
            },
            figure(mean)
        );
        findings.push(finding("mean-includes-warmup", statistics.mean, mean, text));
    }
}

/// Tokens per second, against the tokens and the time of a step: the mean, and its possible values.
fn check_tokens(record: &Record, mean: f64, times: Interval, findings: &mut Vec<Finding>) {
    let performance = &record.performance_metrics;
    let config = &record.training_config;
    if let (Some(stated), Some(tokens), Some(batch), Some(length)) = (
        performance.tokens_per_second,
        statistics::tokens_per_step(record),
        config.global_batch_size,
        config.sequence_length,
    ) && times.low > 0.0
    {
        let possible = Interval { low: tokens / times.high, high: tokens / times.low };
        let derived = tokens / mean;
        // A rate printed by a program is the mean of its rates per step, not the rate of the mean step.
        let printed = performance.other.contains_key("tokens_per_second_source");
        let near = (stated / derived - 1.0).abs() <= PRINTED_RATE;
        if !(agrees(stated, possible) || printed && near) {
            let mut text = format!(
                "tokens_per_second states {stated}, and {batch} × {length} ÷ {} s is {}",
                figure(mean),
                figure(derived)
            );
            let fitting = stated * mean / batch as f64;
            // Only name a length that the figures give nearly exactly.
            if (fitting - fitting.round()).abs() <= (fitting * (times.high - mean) / mean).max(1e-3 * fitting)
            {
                text.push_str(&format!("; a sequence length of {} would fit", nearest_length(fitting)));
            } else {
                text.push_str(&format!("; a sequence length of {} would fit", figure(fitting)));
            }
            findings.push(finding("tokens-contradict-batch", stated, derived, text));
        }
    }
}

fn check_per_gpu(record: &Record, findings: &mut Vec<Finding>) {
    let performance = &record.performance_metrics;
    if let (Some(stated), Some(total), Some(gpus)) =
        (performance.tokens_per_second_per_gpu, performance.tokens_per_second, statistics::gpus(record))
    {
        let possible = around(total / gpus, half_unit(total) / gpus);
        if !agrees(stated, possible) {
            let derived = total / gpus;
            let text = format!(
                "tokens_per_second_per_gpu states {stated}, and {total} ÷ {gpus} GPUs is {}",
                figure(derived)
            );
            findings.push(finding("tokens-per-gpu-contradict-total", stated, derived, text));
        }
    }
}

fn check_per_core(record: &Record, statistics: &Statistics, times: &Times, findings: &mut Vec<Finding>) {
    if let (Some(stated), Some(derived), Some(cores)) = (
        record.performance_metrics.throughput_per_gpu_core,
        statistics.throughput_per_gpu_core,
        record.gpu_info.gpu_cores,
    ) && times.mean.low > 0.0
    {
        let cores = cores as f64;
        let possible = Interval { low: 1.0 / times.mean.high / cores, high: 1.0 / times.mean.low / cores };
        if !agrees(stated, possible) {
            let text = format!(
                "throughput_per_gpu_core states {stated}, and {} steps per second ÷ {cores} cores is {}",
                figure(statistics.steps_per_second),
                figure(derived)
            );
            findings.push(finding("throughput-per-core-contradicts-cores", stated, derived, text));
        }
    }
}

/// The power of two nearest to a length if it is close, otherwise the nearest whole number.
fn nearest_length(length: f64) -> u64 {
    let power = length.log2().round().exp2();
    (if (length / power - 1.0).abs() < 1e-3 { power } else { length.round() }) as u64
}

fn check_gpu(record: &Record, findings: &mut Vec<Finding>) {
    let gpu = &record.gpu_info;
    let rows = gpu.device_name.as_deref().map(peaks::of_name).unwrap_or_default();
    // A virtual GPU has the name of the GPU that it represents, and arbitrary other properties.
    if !rows.is_empty() && record.platform != Platform::Virtual {
        check_product(record, &rows, findings);
    }
    if let (Some(stated), Some(units)) = (gpu.gpu_cores, gpu.compute_units)
        && ![units.saturating_mul(64), units.saturating_mul(128)].contains(&stated)
    {
        let text = format!(
            "gpu_cores states {stated}, and {units} compute units have {} or {} lanes",
            units.saturating_mul(64),
            units.saturating_mul(128)
        );
        findings.push(finding("cores-contradict-compute-units", stated as f64, units as f64 * 64.0, text));
    }
    if let (Some(gpus), Some(devices)) = (record.training_config.num_gpus, gpu.device_count)
        && devices > 0
        && gpus % devices != 0
    {
        let text = format!(
            "num_gpus states {gpus}, and device_count {devices}: neither the GPUs of the run nor those of a node"
        );
        findings.push(finding("gpu-counts-differ", gpus as f64, devices as f64, text));
    }
}

/// Compares what a record says about a GPU with the rows that its name may belong to.
fn check_product(record: &Record, rows: &[&'static Peak], findings: &mut Vec<Finding>) {
    let gpu = &record.gpu_info;
    let name = gpu.device_name.as_deref().unwrap_or_default();
    let known = |text: fn(&Peak) -> String| {
        let mut known: Vec<String> = Vec::new();
        for text in rows.iter().map(|row| text(row)) {
            if !known.contains(&text) {
                known.push(text);
            }
        }
        known
    };
    let sizes =
        || known(|row| format!("{} ({}: {} compute units)", row.cores, row.product, row.compute_units));
    let source = rows[0].source;
    if let Some(stated) = gpu.gpu_cores {
        if !rows.iter().any(|row| row.cores == stated) {
            let text = format!(
                "gpu_cores states {stated} for `{name}`, which has {} by {source}",
                sizes().join(" or ")
            );
            findings.push(finding("cores-contradict-device", stated as f64, rows[0].cores as f64, text));
        }
    } else if gpu.compute_units.is_none() && known(|row| row.cores.to_string()).len() > 1 {
        findings.push(Finding::remark(
            "device-name-ambiguous",
            format!("the cores of `{name}` may be {}", sizes().join(" or ")),
        ));
    }
    if let Some(stated) =
        gpu.compute_units.filter(|units| !rows.iter().any(|row| row.compute_units == *units))
    {
        let text = format!(
            "compute_units states {stated} for `{name}`, which has {} by {source}",
            known(|row| row.compute_units.to_string()).join(" or ")
        );
        findings.push(finding(
            "compute-units-contradict-device",
            stated as f64,
            rows[0].compute_units as f64,
            text,
        ));
    }
    if let Some(stated) = gpu.total_memory_gb.filter(|memory| !rows.iter().any(|row| row.has_memory(*memory)))
    {
        let text = format!(
            "total_memory_gb states {stated} for `{name}`, which has {} GB by {source}",
            known(|row| row.memory_gb.to_string()).join(" or ")
        );
        findings.push(finding("memory-contradicts-device", stated, rows[0].memory_gb, text));
    }
    if let Some(stated) = gpu.architecture.as_deref().filter(|name| !name.is_empty())
        && !rows.iter().any(|row| row.has_architecture(stated))
    {
        findings.push(Finding::remark(
            "architecture-contradicts-device",
            format!(
                "architecture states {stated} for `{name}`, which is {}",
                known(|row| row.architecture.to_owned()).join(" or ")
            ),
        ));
    }
}

fn check_parallelism(record: &Record, findings: &mut Vec<Finding>) {
    let Some(parallel) = &record.parallelism_config else { return };
    let config = &record.training_config;
    if let (Some(replicas), Some(accumulated), Some(micro), Some(stated)) = (
        parallel.data_parallel_size,
        parallel.gradient_accumulation_steps,
        config.micro_batch_size,
        config.global_batch_size,
    ) {
        let derived = replicas as f64 * accumulated as f64 * micro as f64;
        if derived != stated as f64 {
            let text = format!(
                "global_batch_size states {stated}, and a micro-batch of {micro} × {accumulated} accumulated × {replicas} replicas is \
                     {derived}"
            );
            findings.push(finding("batch-contradicts-parallelism", stated as f64, derived, text));
        }
    }
    if let (Some(tensor), Some(pipeline), Some(replicas), Some(stated)) = (
        parallel.tensor_model_parallel_size,
        parallel.pipeline_model_parallel_size,
        parallel.data_parallel_size,
        config.num_gpus.or(record.gpu_info.device_count),
    ) {
        let context = parallel.context_parallel_size.unwrap_or(1);
        let derived = tensor as f64 * pipeline as f64 * context as f64 * replicas as f64;
        if derived != stated as f64 {
            let text = format!(
                "the run has {stated} GPUs, and tensor {tensor} × pipeline {pipeline} × context {context} × data {replicas} is {derived}"
            );
            findings.push(finding("gpus-contradict-parallelism", stated as f64, derived, text));
        }
    }
    let names = [parallel.strategy_name.as_deref(), config.parallel_strategy.as_deref()];
    for name in names
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(place, name)| *place == 0 || names[0] != Some(name))
        .map(|(_, name)| name)
    {
        check_strategy(name, parallel, findings);
    }
}

/// Compares a name such as `TP1_PP2_SP0` with the sizes.
fn check_strategy(name: &str, parallel: &Parallelism, findings: &mut Vec<Finding>) {
    for part in name.split('_') {
        let split = part.find(|character: char| character.is_ascii_digit()).unwrap_or(part.len());
        let (letters, digits) = part.split_at(split);
        let Ok(stated) = digits.parse::<u64>() else { continue };
        let (what, size) = match letters.to_ascii_uppercase().as_str() {
            "TP" => ("tensor_model_parallel_size", parallel.tensor_model_parallel_size),
            "PP" => ("pipeline_model_parallel_size", parallel.pipeline_model_parallel_size),
            "DP" => ("data_parallel_size", parallel.data_parallel_size),
            "CP" => ("context_parallel_size", parallel.context_parallel_size),
            "EP" => ("expert_model_parallel_size", parallel.expert_model_parallel_size),
            "GA" => ("gradient_accumulation_steps", parallel.gradient_accumulation_steps),
            _ => continue,
        };
        if let Some(size) = size.filter(|size| *size != stated) {
            let text = format!("the strategy `{name}` says {letters} {stated}, and {what} is {size}");
            findings.push(finding("strategy-contradicts-parallelism", stated as f64, size as f64, text));
        }
    }
}

/// Training takes about six operations per parameter and token, and attention adds to that. The bounds are
/// half and double of that: programs count recomputation, embeddings and attention differently.
fn check_flops(record: &Record, findings: &mut Vec<Finding>) {
    let Some(model) = &record.model_info else { return };
    // In a mixture of experts, a token only uses some of the parameters.
    let experts = model.other.keys().any(|key| key.contains("expert"))
        || record
            .parallelism_config
            .as_ref()
            .and_then(|parallel| parallel.expert_model_parallel_size)
            .is_some_and(|size| size > 1);
    let performance = &record.performance_metrics;
    if let (Some(stated), Some(parameters), Some(tokens)) =
        (performance.tflops_per_gpu, model.parameters, performance.tokens_per_second_per_gpu)
        && parameters > 0.0
        && !experts
    {
        let derived = 6.0 * parameters * tokens / 1e12;
        if derived > 0.0 && !(0.5..=2.0).contains(&(stated / derived)) {
            let text = format!(
                "tflops_per_gpu states {stated}, and 6 × {parameters} parameters × {tokens} tokens per second is {} TFLOP/s: more than \
                     twice apart",
                figure(derived)
            );
            findings.push(finding("tflops-contradict-tokens", stated, derived, text));
        }
    }
}

fn check_memory(memory: &Memory, total: Option<f64>, findings: &mut Vec<Finding>) {
    let fields = [
        ("min_memory_allocated_gb", memory.min_memory_allocated_gb),
        ("avg_memory_allocated_gb", memory.avg_memory_allocated_gb),
        ("peak_memory_allocated_gb", memory.peak_memory_allocated_gb),
        ("avg_memory_reserved_gb", memory.avg_memory_reserved_gb),
        ("peak_memory_reserved_gb", memory.peak_memory_reserved_gb),
        ("avg_memory_used_gb", memory.avg_memory_used_gb),
        ("peak_memory_used_gb", memory.peak_memory_used_gb),
    ];
    let total = ("total_memory_gb", total);
    let [min, avg, peak, avg_reserved, peak_reserved, avg_used, peak_used] = fields;
    for (smaller, larger) in [
        (min, avg),
        (avg, peak),
        (avg_reserved, peak_reserved),
        (peak, peak_reserved),
        (avg, avg_reserved),
        (peak, total),
        (peak_reserved, total),
        (avg_used, peak_used),
        (peak_used, total),
    ] {
        let ((small_name, Some(small)), (large_name, Some(large))) = (smaller, larger) else { continue };
        if small - half_unit(small) > large + half_unit(large) {
            let text = format!("{small_name} states {small} GB, more than {large_name}, {large} GB");
            findings.push(finding("memory-contradicts-itself", small, large, text));
        }
    }
}

/// A figure as text, with six digits.
pub(crate) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let whole = value.abs().log10().floor() as i32 + 1;
    if !(-3..=12).contains(&whole) {
        return format!("{value:.5e}");
    }
    let text = format!("{value:.*}", usize::try_from(6 - whole).unwrap_or(0).max(usize::from(whole > 5)));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests;
