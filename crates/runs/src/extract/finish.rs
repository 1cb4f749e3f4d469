//! Makes a record of what was found in a log.

use serde_json::Value;

use super::row::Field;
use super::scan::Collected;
use super::settings::{Setting, Settings};
use super::steps::Steps;
use super::summary::Summary;
use super::{ExtractError, Extraction, Format, Ignored, Options, RankRule, Warmup};
use crate::check::{self, figure, finding};
use crate::record::{Finding, GpuInfo, Memory, ModelInfo, Parallelism, Platform, Record, TrainingConfig};
use crate::statistics::{Statistics, warmup_until_steady};

use super::formats::SPECS;

/// The record for the format of the log.
pub(super) fn finish(mut collected: Collected, options: &Options) -> Result<Extraction, ExtractError> {
    let place =
        best(&collected).ok_or(ExtractError::NoSteps { lines: collected.lines, format: options.format })?;
    let mut others: Vec<Finding> = (0..SPECS.len())
        .filter(|other| *other != place && collected.steps[*other].timed > 0)
        .map(|other| {
            let text = format!(
                "the log also has {} of {} about steps, which are left out; choose the format to read them",
                counted(collected.steps[other].lines, "line"),
                SPECS[other].format.name()
            );
            Finding::remark("several-formats", text)
        })
        .collect();
    for error in &collected.cut {
        others.push(Finding::remark(
            "log-cut",
            format!("the compressed log ends in the middle ({error}); everything before is read"),
        ));
    }
    let mut steps = std::mem::take(&mut collected.steps[place]);
    let summary = std::mem::take(&mut collected.summaries[place]);
    let mut notes = std::mem::take(&mut collected.notes[place]);
    for (line, field) in steps.remove_cut(SPECS[place].fixed_decimals) {
        notes.line = line;
        notes.ignore(format!("{field:?}").as_bytes(), "cut at the end of the line", b"");
    }
    if steps.rows.is_empty() && summary.runtime.is_none() {
        return Err(ExtractError::NoSteps { lines: collected.lines, format: options.format });
    }
    let format = match SPECS[place].format {
        Format::Megatron if summary.vendor_lines > 0 || options.format == Some(Format::Primus) => {
            Format::Primus
        }
        format => format,
    };
    let run = Run { format, steps, summary, settings: &collected.settings, options, findings: others };
    let timestamp = collected.last_line[place].timestamp().unwrap_or_default();
    let record = run.record(collected.world, timestamp, notes.count);
    let matched = record.1;
    let (count, first): (u64, Vec<Ignored>) = (notes.count, notes.first);
    Ok(Extraction {
        record: record.0,
        format,
        lines: collected.lines,
        bytes: collected.bytes,
        matched,
        ignored_count: count,
        ignored: first,
    })
}

/// The format with the most step times; of equal ones, that with the most other figures of speed, then that
/// with the most lines, then the first.
fn best(collected: &Collected) -> Option<usize> {
    let score = |place: usize| {
        let (steps, summary) = (&collected.steps[place], &collected.summaries[place]);
        (
            steps.measured,
            steps.timed + u64::from(summary.runtime.is_some()),
            steps.lines,
            std::cmp::Reverse(place),
        )
    };
    let found =
        |place: &usize| collected.steps[*place].lines > 0 || collected.summaries[*place].runtime.is_some();
    (0..SPECS.len()).filter(found).max_by_key(|place| score(*place))
}

struct Run<'r> {
    format: Format,
    steps: Steps,
    summary: Summary,
    settings: &'r Settings,
    options: &'r Options,
    findings: Vec<Finding>,
}

impl Run<'_> {
    fn record(mut self, world: Option<u64>, timestamp: String, ignored: u64) -> (Record, u64) {
        let mut record = Record {
            source: Some(format!("{}_log_extraction", self.format.identifier())),
            timestamp,
            ..Record::default()
        };
        record.gpu_info = self.gpu_info(world);
        record.platform = self.platform(&record.gpu_info);
        record.training_config = self.training_config(&record.gpu_info);
        record.parallelism_config = self.parallelism(&record.training_config);
        record.model_info = self.model();
        record.memory_metrics = self.memory();
        self.series(&mut record);
        self.performance(&mut record);
        self.tell_about_lines(&record, ignored);
        let contradictions = check::findings(&record);
        record.findings = self.findings;
        record.findings.extend(contradictions);
        (record, self.steps.lines)
    }

    fn values(&self, field: Field) -> impl Iterator<Item = f64> {
        self.steps.rows.values(field)
    }

    fn gpu_info(&self, world: Option<u64>) -> GpuInfo {
        let settings = self.settings;
        let gpus = self.options.gpus.or(settings.get(Setting::Gpus)).or(world);
        let total = self.values(Field::TotalMemory).last().or(settings.gpu_memory.map(|bytes| bytes / 1e9));
        let device_name = self.options.device.clone().or_else(|| settings.gpu_name.clone());
        let (stack, version) = match (&settings.rocm, &settings.cuda) {
            (Some(rocm), _) => (Some("rocm"), Some(rocm.clone())),
            (None, Some(cuda)) => (Some("cuda"), Some(cuda.clone())),
            (None, None) if self.summary.is_amd => (Some("rocm"), None),
            (None, None) => (None, None),
        };
        GpuInfo {
            device_count: gpus,
            device_name,
            total_memory_gb: total,
            pytorch_version: settings.pytorch.clone(),
            software_stack: stack.map(str::to_owned),
            software_version: version,
            ..GpuInfo::default()
        }
    }

    fn platform(&self, gpu: &GpuInfo) -> Platform {
        let name = gpu.device_name.as_deref().unwrap_or_default().to_ascii_lowercase();
        let stack = gpu.software_stack.as_deref();
        if self.summary.is_amd || name.contains("amd") || name.contains("instinct") || stack == Some("rocm") {
            Platform::Amd
        } else if ["nvidia", "tesla", "geforce"].iter().any(|vendor| name.contains(vendor))
            || stack == Some("cuda")
        {
            Platform::Nvidia
        } else {
            Platform::Unknown
        }
    }

    fn training_config(&mut self, gpu: &GpuInfo) -> TrainingConfig {
        let settings = self.settings;
        let sequence_length = self.options.sequence_length.or(settings.get(Setting::SequenceLength));
        let first = self.values(Field::GlobalBatch).next();
        let other = self.values(Field::GlobalBatch).find(|batch| Some(*batch) != first);
        if let (Some(first), Some(other)) = (first, other) {
            let text = format!(
                "the global batch grows or shrinks during the run: it is {first}, then {other}; the last one is recorded"
            );
            self.findings.push(finding("batch-changes", first, other, text));
        }
        let printed = self.values(Field::GlobalBatch).last();
        let printed = printed.filter(|batch| batch.fract() == 0.0).map(|batch| batch as u64);
        // llm.c's batch is counted in tokens.
        let of_tokens = settings
            .get(Setting::TokensPerStep)
            .zip(sequence_length)
            .filter(|(tokens, length)| tokens % length == 0);
        let accumulated = settings.get(Setting::Accumulation);
        TrainingConfig {
            max_steps: self.summary.max_steps.or(settings.get(Setting::MaxSteps)),
            global_batch_size: self
                .options
                .global_batch_size
                .or(printed)
                .or(settings.get(Setting::GlobalBatch))
                .or(of_tokens.map(|(tokens, length)| tokens / length)),
            micro_batch_size: settings.get(Setting::MicroBatch).or_else(|| {
                let (tokens, length) = of_tokens?;
                let sequences = gpu.device_count?.checked_mul(accumulated?)?.checked_mul(length)?;
                (sequences > 0 && tokens % sequences == 0).then(|| tokens / sequences)
            }),
            sequence_length,
            num_gpus: gpu.device_count,
            precision: settings.precision.map(str::to_owned),
            ..TrainingConfig::default()
        }
    }

    fn parallelism(&self, config: &TrainingConfig) -> Option<Parallelism> {
        let get = |setting| self.settings.get(setting);
        let mut parallel = Parallelism {
            tensor_model_parallel_size: get(Setting::Tensor),
            pipeline_model_parallel_size: get(Setting::Pipeline),
            data_parallel_size: get(Setting::Data),
            context_parallel_size: get(Setting::Context),
            expert_model_parallel_size: get(Setting::Expert),
            gradient_accumulation_steps: get(Setting::Accumulation),
            ..Parallelism::default()
        };
        if parallel == Parallelism::default() {
            return None;
        }
        if let (Some(tensor), Some(pipeline)) =
            (parallel.tensor_model_parallel_size, parallel.pipeline_model_parallel_size)
        {
            parallel.strategy_name = Some(format!("TP{tensor}_PP{pipeline}"));
        }
        // Megatron-LM prints neither, but both can be computed.
        if parallel.gradient_accumulation_steps.is_none()
            && let (Some(batch), Some(micro), Some(replicas)) =
                (config.global_batch_size, config.micro_batch_size, parallel.data_parallel_size)
            && let Some(sequences) =
                micro.checked_mul(replicas).filter(|sequences| *sequences > 0 && batch % sequences == 0)
        {
            parallel.gradient_accumulation_steps = Some(batch / sequences);
        }
        Some(parallel)
    }

    fn model(&self) -> Option<ModelInfo> {
        let get = |setting| self.settings.get(setting);
        let model = ModelInfo {
            name: self.options.model.clone(),
            parameters: get(Setting::Parameters).map(|parameters| parameters as f64),
            num_layers: get(Setting::Layers),
            hidden_size: get(Setting::Hidden),
            intermediate_size: get(Setting::FeedForward),
            num_attention_heads: get(Setting::Heads),
            num_key_value_heads: get(Setting::KvHeads),
            head_dim: get(Setting::HeadDim),
            vocab_size: get(Setting::Vocabulary),
            ..ModelInfo::default()
        };
        (model != ModelInfo::default()).then_some(model)
    }

    fn memory(&self) -> Option<Memory> {
        let peak =
            |fields: [Field; 2]| fields.into_iter().flat_map(|field| self.values(field)).reduce(f64::max);
        let average = |field| {
            let (count, sum) =
                self.values(field).fold((0_u64, 0.0), |(count, sum), value| (count + 1, sum + value));
            (count > 0).then(|| sum / count as f64)
        };
        let memory = Memory {
            avg_memory_allocated_gb: average(Field::Allocated),
            peak_memory_allocated_gb: peak([Field::PeakAllocated, Field::Allocated]),
            min_memory_allocated_gb: self.values(Field::Allocated).reduce(f64::min),
            avg_memory_reserved_gb: average(Field::Reserved),
            peak_memory_reserved_gb: peak([Field::PeakReserved, Field::Reserved]),
            avg_memory_used_gb: average(Field::Used).or(self.settings.memory_used),
            peak_memory_used_gb: self.values(Field::Used).reduce(f64::max).or(self.settings.memory_used),
            ..Memory::default()
        };
        (memory != Memory::default()).then_some(memory)
    }

    /// The time of each step, losses, rates and norms.
    fn series(&mut self, record: &mut Record) {
        let gpus = record.training_config.num_gpus.map(|gpus| gpus as f64);
        let batch = record.training_config.global_batch_size.map(|batch| batch as f64);
        let length = record.training_config.sequence_length.map(|length| length as f64);
        let mut derived = None;
        if self.values(Field::Seconds).next().is_none() {
            let rates: [(Field, &str, Option<f64>); 3] = [
                (Field::Samples, "global batch ÷ sequences per second", batch),
                (
                    Field::Tokens,
                    "global batch × sequence length ÷ tokens per second",
                    batch.zip(length).map(|(batch, length)| batch * length),
                ),
                (
                    Field::TokensPerGpu,
                    "global batch × sequence length ÷ (tokens per second of a GPU × GPUs)",
                    batch.zip(length).zip(gpus).map(|((batch, length), gpus)| batch * length / gpus),
                ),
            ];
            for (field, how, amount) in rates {
                let Some(amount) = amount.filter(|_| self.values(field).next().is_some()) else { continue };
                for place in 0..self.steps.rows.len() {
                    if let Some(rate) = self.steps.rows.get(place, field) {
                        // Both are positive.
                        self.steps.rows.set_value(place, Field::Seconds, Some(amount / rate));
                    }
                }
                derived = Some(how);
                break;
            }
        }
        if let Some(how) = derived {
            let text = format!("the log has no times of steps; they are {how}");
            self.findings.push(Finding::remark("step-times-derived", text));
            record.performance_metrics.other.insert("step_time_source".to_owned(), Value::from(how));
        }
        // Only steps with a time count; in a log without times, steps with a loss count.
        let timed = self.values(Field::Seconds).next().is_some();
        if timed {
            self.steps.rows.retain(|rows, place| rows.get(place, Field::Seconds).is_some());
            record.step_times = self.steps.rows.take(Field::Seconds);
        }
        for (field, series) in [
            (Field::Loss, &mut record.loss_values),
            (Field::LearningRate, &mut record.learning_rates),
            (Field::GradNorm, &mut record.grad_norms),
        ] {
            let rows = &mut self.steps.rows;
            if rows.values(field).next().is_some() || rows.has_not_finite(field) {
                *series = rows.take(field);
            }
        }
    }

    fn performance(&mut self, record: &mut Record) {
        let interval = self.steps.interval();
        let rows = self.steps.rows.len();
        let mut warmup = 0;
        if record.step_times.is_empty() {
            self.take_summary(record);
        } else {
            let (steps, rule) = self.warmup(&record.step_times);
            warmup = steps;
            let performance = &mut record.performance_metrics;
            performance.warmup_steps = Some(warmup as u64);
            performance.warmup_rule = Some(rule);
            performance.total_steps = Some((0..rows).map(|place| self.steps.span(place, interval)).sum());
            if interval > 1 {
                performance.other.insert("steps_per_row".to_owned(), Value::from(interval));
                let text = format!(
                    "the log has one line for every {interval} steps: each time is the mean of {interval}, so the shortest, the longest \
                     and the spread are those of means"
                );
                self.findings.push(finding(
                    "step-times-averaged",
                    rows as f64,
                    rows as f64 * interval as f64,
                    text,
                ));
            }
            if let Some(statistics) = Statistics::of(record) {
                statistics.write_to(record);
                if interval > 1 {
                    let seconds =
                        |place: usize| self.steps.span(place, interval) as f64 * record.step_times[place];
                    record.performance_metrics.total_time_seconds = Some((0..rows).map(seconds).sum());
                }
            }
        }
        let after_warmup = |field: Field| {
            let rows = &self.steps.rows;
            let measured = if rows.may_have(field) { warmup..rows.len() } else { 0..0 };
            harmonic_mean(measured.filter_map(|place| rows.get(place, field)))
        };
        let performance = &mut record.performance_metrics;
        performance.tflops_per_gpu = after_warmup(Field::Tflops);
        let gpus = record.training_config.num_gpus.map(|gpus| gpus as f64);
        let per_gpu = after_warmup(Field::TokensPerGpu);
        let all = after_warmup(Field::Tokens);
        // Rates that the times were derived from add nothing, and those of llm.c are smoothed over steps.
        let is_source = performance.other.contains_key("step_time_source");
        let smoothed = self.format == Format::LlmC && performance.tokens_per_second.is_some();
        if !is_source && !smoothed && (per_gpu.is_some() || all.is_some()) {
            performance.tokens_per_second_per_gpu = per_gpu.or(all.zip(gpus).map(|(all, gpus)| all / gpus));
            performance.tokens_per_second = all.or(per_gpu.zip(gpus).map(|(per_gpu, gpus)| per_gpu * gpus));
            performance
                .other
                .insert("tokens_per_second_source".to_owned(), Value::from("printed by the program"));
        } else if is_source && performance.tokens_per_second_per_gpu.is_none() {
            performance.tokens_per_second_per_gpu = per_gpu;
        }
        self.tell_length(record);
    }

    /// Programs that print no step times print the run's time at its end, or a progress bar.
    fn take_summary(&mut self, record: &mut Record) {
        let summary = &self.summary;
        let performance = &mut record.performance_metrics;
        performance.total_steps = summary.bar.map(|(done, _, _)| done).filter(|done| *done > 0);
        if let Some(runtime) = summary.runtime {
            performance.total_time_seconds = Some(runtime);
            performance.steps_per_second = summary.steps_per_second;
            // The program rounds steps per second to three decimals, so the runtime is the better source.
            performance.avg_step_time_seconds = performance
                .total_steps
                .map(|steps| runtime / steps as f64)
                .or(summary.steps_per_second.map(|rate| 1.0 / rate));
            self.findings.push(Finding::remark(
                "no-step-times",
                "the log has no times of steps: the mean is the run's time ÷ its steps, warm-up and evaluation included".to_owned(),
            ));
        } else if let Some((done, _, elapsed)) =
            summary.bar.filter(|(done, _, elapsed)| *done > 0 && *elapsed > 0)
        {
            performance.total_time_seconds = Some(elapsed as f64);
            performance.avg_step_time_seconds = Some(elapsed as f64 / done as f64);
            performance.steps_per_second = Some(done as f64 / elapsed as f64);
            let text = format!(
                "the log has no times of steps: the mean is {elapsed} s ÷ {done} steps of the progress bar, warm-up included"
            );
            self.findings.push(Finding::remark("no-step-times", text));
        } else {
            self.findings.push(Finding::remark(
                "no-step-times",
                "the log has no times of steps and no time of the run".to_owned(),
            ));
        }
        let of_step = crate::statistics::tokens_per_step(record);
        let performance = &mut record.performance_metrics;
        performance.tokens_per_second = summary.tokens_per_second;
        if let Some(samples) = summary.samples_per_second {
            performance.other.insert("samples_per_second".to_owned(), Value::from(samples));
        }
        let mean = performance.avg_step_time_seconds;
        if performance.tokens_per_second.is_none() {
            performance.tokens_per_second = of_step.zip(mean).map(|(tokens, mean)| tokens / mean);
        }
        performance.tokens_per_second_per_gpu = performance
            .tokens_per_second
            .zip(record.training_config.num_gpus)
            .map(|(tokens, gpus)| tokens / gpus as f64);
    }

    fn warmup(&self, times: &[f64]) -> (usize, String) {
        let most = times.len().saturating_sub(1);
        match self.options.warmup {
            Warmup::First(steps) => {
                let taken = steps.min(most);
                let rule = if taken == steps {
                    format!("first {steps}")
                } else {
                    format!("first {taken} (of {steps} that were asked for: the log has no more)")
                };
                (taken, rule)
            }
            Warmup::Steady => {
                let (steps, rule) = warmup_until_steady(times);
                (steps, rule.to_owned())
            }
        }
    }

    /// If a log has tokens per second but no sequence length, the length follows; it is reported, not
    /// recorded.
    fn tell_length(&mut self, record: &Record) {
        let config = &record.training_config;
        let performance = &record.performance_metrics;
        if let (None, Some(batch), Some(tokens), Some(mean)) = (
            config.sequence_length,
            config.global_batch_size,
            performance.tokens_per_second,
            performance.avg_step_time_seconds,
        ) {
            let length = tokens * mean / batch as f64;
            let text = format!(
                "the log does not say its sequence length; {} tokens per second × {} s ÷ {batch} is {}",
                figure(tokens),
                figure(mean),
                figure(length)
            );
            self.findings.push(Finding {
                kind: "sequence-length-unknown".to_owned(),
                text,
                stated: None,
                derived: Some(length),
            });
        }
    }

    fn tell_about_lines(&mut self, record: &Record, ignored: u64) {
        let steps = &self.steps;
        let mut tell = |kind: &str, text: String| self.findings.push(Finding::remark(kind, text));
        if ignored > 0 {
            tell(
                "values-ignored",
                format!("left out, because malformed, cut or not finite: {}", counted(ignored, "value")),
            );
        }
        if steps.duplicates > 0 {
            let rule = match self.options.ranks {
                RankRule::Slowest => "of each step, the slowest rank counts",
                RankRule::Mean => "of each step, the mean of the ranks counts",
            };
            let differ = if steps.disagreements == 0 {
                String::new()
            } else {
                format!("; the losses of {} of these lines are not those of the first", steps.disagreements)
            };
            tell(
                "several-ranks",
                format!(
                    "{} about steps that another rank wrote about: {rule}{differ}",
                    counted(steps.duplicates, "line")
                ),
            );
        }
        for (line, from, to) in steps.resumed.iter().take(10) {
            let text = format!(
                "in line {line}, the steps go back from {from} to {to}: the run was resumed, and the later lines count"
            );
            tell("resumed", text);
        }
        if steps.resumed.len() > 10 {
            tell("resumed", format!("the run was resumed {} times", steps.resumed.len()));
        }
        if steps.unnumbered > 0 {
            tell(
                "steps-unnumbered",
                format!(
                    "{} without a number of the step, in the order of the log",
                    counted(steps.unnumbered, "line")
                ),
            );
        }
        let interval = steps.interval();
        let gaps: u64 = steps
            .rows
            .numbers()
            .intervals()
            .into_iter()
            .map(|(between, count)| (between / interval).saturating_sub(1) * count)
            .sum();
        // The first line of a log is often about step 1, and the next about a multiple of the interval.
        if gaps > 0 && interval == 1 {
            tell(
                "steps-missing",
                format!("between the first and the last, there is no line about {}", counted(gaps, "step")),
            );
        }
        for change in &self.settings.changes {
            let text = format!(
                "in line {}, the {} is {}, and it was {} before; the last one counts",
                change.line, change.name, change.to, change.from
            );
            self.findings.push(finding("setting-changes", change.from as f64, change.to as f64, text));
        }
        self.tell_consumed(record);
    }

    /// Sequences since the run began, against the global batch.
    fn tell_consumed(&mut self, record: &Record) {
        let Some(batch) = record.training_config.global_batch_size.map(|batch| batch as f64) else { return };
        let rows = &self.steps.rows;
        let consumed = || {
            let numbers = rows.numbers().iter().enumerate();
            numbers.filter_map(|(place, number)| Some((number, rows.get(place, Field::ConsumedSamples)?)))
        };
        let (Some((first, from)), Some((last, to))) = (consumed().next(), consumed().next_back()) else {
            return;
        };
        // A cut number is smaller than the previous one.
        let grows = consumed().zip(consumed().skip(1)).all(|(one, next)| one.1 < next.1);
        if last > first && grows && self.values(Field::GlobalBatch).all(|printed| printed == batch) {
            let derived = (to - from) / (last - first) as f64;
            if derived != batch {
                let text = format!(
                    "the global batch is {batch}, and the samples consumed from step {first} to {last} give {} a step",
                    figure(derived)
                );
                self.findings.push(finding("consumed-samples-contradict-batch", batch, derived, text));
            }
        }
    }
}

/// The rate of all steps, from the rates of steps of equal work.
fn harmonic_mean(mut rates: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let all = rates.clone();
    let first = rates.next()?;
    if rates.all(|rate| rate == first) {
        return Some(first);
    }
    let (count, sum) = all.fold((0_u64, 0.0), |(count, sum), rate| (count + 1, sum + 1.0 / rate));
    Some(count as f64 / sum)
}

/// `1 line`, `2 lines`.
fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
