//! `ferrocm bench extract`.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use runs::extract::{self, ExtractError, Extraction, Format, Options, RankRule, Warmup};
use runs::record::{Finding, Platform, Shape};
use runs::{Record, Statistics};

use crate::output;

const EXAMPLES: &str = "\
Examples:
  ferrocm bench extract train.log              print a table of the log's figures
  ferrocm bench extract --json train.log.zst   the record as JSON; gzip, zstd, xz and bzip2 are detected
  ferrocm bench extract --model llama3_8b logs --output llama.json
                                               write the record of that model's newest log in the folder to a file
  ferrocm bench extract --one-run rank*.log    the logs of all ranks of one run as one record
  kubectl logs job/train | ferrocm bench extract -
                                               from standard input";

/// What `--help` ends with.
fn after_help() -> String {
    format!(
        "{EXAMPLES}\n\nFormats: {}.\n\n\
         Exit status: 0 if every log gave a record, 1 if one cannot be read or has no training steps, 2 for a malformed command line.",
        Format::names()
    )
}

/// Extracts a record from each log of a training program
///
/// Detects which program wrote the log, collects the steps and the configuration, and reports values that
/// contradict each other. Truncated, malformed or ambiguous values are left out, counted, and listed with
/// --ignored.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(crate) struct Arguments {
    /// Logs; folders, whose newest log is read; - for standard input
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,

    /// The format, instead of detecting it
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// The model's name, for the record and to choose among the logs of a folder
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Steps at the beginning that the statistics leave out; `steady` leaves out all steps before times
    /// become steady
    #[arg(long, value_name = "STEPS", default_value = "1", value_parser = warmup)]
    warmup: Warmup,
    /// The logs are from the ranks or the parts of one run
    #[arg(long)]
    one_run: bool,
    /// For several ranks, take the mean instead of the slowest
    #[arg(long)]
    mean_of_ranks: bool,
    /// The GPU's name, if the log does not say it
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Number of GPUs, if the log does not say it
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    gpus: Option<u64>,
    /// Tokens per sequence, if the log does not say it
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    sequence_length: Option<u64>,
    /// Sequences per step, if the log does not say it
    #[arg(long, value_name = "SEQUENCES", value_parser = clap::value_parser!(u64).range(1..))]
    global_batch_size: Option<u64>,

    /// Print JSON: the record, or a list of them for several logs
    #[arg(long)]
    json: bool,
    /// Write the record to a file; for several logs, to a folder, each as NAME.json
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// JSON as the seed benchmarks write it
    #[arg(long)]
    seed_format: bool,
    /// List the values that were left out
    #[arg(long, conflicts_with = "json")]
    ignored: bool,
}

fn warmup(text: &str) -> Result<Warmup, String> {
    match text {
        "steady" => Ok(Warmup::Steady),
        _ => text.parse().map(Warmup::First).map_err(|_| "expected a number of steps or `steady`".to_owned()),
    }
}

/// Extracts, and prints or writes.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    let options = Options {
        format: arguments.format,
        warmup: arguments.warmup,
        ranks: if arguments.mean_of_ranks { RankRule::Mean } else { RankRule::Slowest },
        model: arguments.model.clone(),
        device: arguments.device.clone(),
        gpus: arguments.gpus,
        sequence_length: arguments.sequence_length,
        global_batch_size: arguments.global_batch_size,
    };
    let standard_input = Path::new("-");
    let logs: Vec<PathBuf> = arguments
        .logs
        .iter()
        .map(|log| resolve(log, arguments.model.as_deref()))
        .collect::<anyhow::Result<_>>()?;
    let results: Vec<(PathBuf, Result<Extraction, ExtractError>)> =
        if logs.iter().any(|log| log == standard_input) {
            if logs.len() > 1 {
                bail!("standard input (-) is read alone, not with other logs");
            }
            vec![(logs[0].clone(), extract::from_reader(io::stdin(), &options))]
        } else {
            let read = AtomicU64::new(0);
            let results = with_progress(&logs, &read, || {
                if arguments.one_run {
                    vec![extract::one_run(&logs, &options, &read)]
                } else {
                    extract::from_paths(&logs, &options, &read)
                }
            });
            logs.into_iter().zip(results).collect()
        };

    let shape = if arguments.seed_format { Shape::Seed } else { Shape::Full };
    let mut failed = None;
    let mut good = Vec::new();
    for (log, result) in results {
        match result.with_context(|| log.display().to_string()) {
            Ok(extraction) => good.push((log, extraction)),
            Err(error) => {
                if let Some(before) = failed.replace(error) {
                    output::tell_error(&before);
                }
            }
        }
    }
    if let Some(path) = &arguments.output {
        write(path, &good, shape, arguments.logs.len() > 1 && !arguments.one_run)?;
    }
    if arguments.json || arguments.seed_format && arguments.output.is_none() {
        output::print(&json(&good, shape, arguments.logs.len() > 1 && !arguments.one_run))?;
    } else {
        let mut text = String::new();
        for (log, extraction) in &good {
            table(&mut text, log, extraction, arguments.ignored);
        }
        output::print(&text)?;
    }
    failed.map_or(Ok(()), Err)
}

/// The file that an argument stands for.
fn resolve(log: &Path, model: Option<&str>) -> anyhow::Result<PathBuf> {
    if log.is_dir() {
        extract::newest_log(log, model).context("cannot find a log")
    } else {
        Ok(log.to_owned())
    }
}

/// Smaller logs are read before a progress bar would be visible.
const LARGE: u64 = 256 << 20;

/// Does the work, with a progress bar on a terminal if it takes long enough.
fn with_progress<T: Send>(logs: &[PathBuf], read: &AtomicU64, work: impl FnOnce() -> T + Send) -> T {
    let total: u64 = logs.iter().filter_map(|log| log.metadata().ok()).map(|metadata| metadata.len()).sum();
    if total < LARGE || !io::stderr().is_terminal() {
        return work();
    }
    let bar = ProgressBar::new(total);
    if let Ok(style) =
        ProgressStyle::with_template("reading {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
    {
        bar.set_style(style);
    }
    let (sender, done) = std::sync::mpsc::channel::<()>();
    let result = std::thread::scope(|scope| {
        let bar = &bar;
        scope.spawn(move || {
            // Ends when the sender is dropped.
            while done.recv_timeout(Duration::from_millis(100))
                == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                bar.set_position(read.load(Ordering::Relaxed));
            }
        });
        let result = work();
        drop(sender);
        result
    });
    bar.finish_and_clear();
    result
}

fn write(path: &Path, good: &[(PathBuf, Extraction)], shape: Shape, several: bool) -> anyhow::Result<()> {
    if !several {
        let Some((_, extraction)) = good.first() else { return Ok(()) };
        return extraction
            .record
            .write(path, shape)
            .with_context(|| format!("cannot write {}", path.display()));
    }
    if !path.is_dir() {
        bail!("{} is not a folder; the records of several logs need one", path.display());
    }
    let mut written = Vec::new();
    for (log, extraction) in good {
        let file = path.join(log.file_name().unwrap_or_default()).with_extension("json");
        if written.contains(&file) {
            bail!("two logs would be written to {}", file.display());
        }
        extraction.record.write(&file, shape).with_context(|| format!("cannot write {}", file.display()))?;
        written.push(file);
    }
    Ok(())
}

fn json(good: &[(PathBuf, Extraction)], shape: Shape, several: bool) -> String {
    let records: Vec<String> = good.iter().map(|(_, extraction)| extraction.record.to_json(shape)).collect();
    if several {
        format!("[\n{}\n]\n", records.iter().map(|record| record.trim_end()).collect::<Vec<_>>().join(",\n"))
    } else {
        records.concat()
    }
}

/// The figures of a record that matter to people, one per row.
fn table(text: &mut String, log: &Path, extraction: &Extraction, ignored: bool) {
    let record = &extraction.record;
    let _ = writeln!(text, "{}", log.display());
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {name:<16} {value}");
        }
    };
    row(
        "format",
        format!(
            "{} ({} of {} lines are about steps)",
            extraction.format, extraction.matched, extraction.lines
        ),
    );
    row("model", record.model_info.as_ref().and_then(|model| model.name.clone()).unwrap_or_default());
    row("GPUs", gpus(record));
    row("training", training(record));
    let performance = &record.performance_metrics;
    row("steps", steps(record));
    if let Some(statistics) = Statistics::of(record) {
        let interval = statistics.mean_interval.map_or_else(String::new, |interval| {
            format!(" (95 %: {:.4} to {:.4})", interval.low, interval.high)
        });
        row(
            "step time",
            format!("mean {:.4} s{interval}, median {:.4} s", statistics.mean, statistics.median),
        );
        row(
            "",
            format!(
                "{:.4} s to {:.4} s, coefficient of variation {:.2} %",
                statistics.min,
                statistics.max,
                100.0 * statistics.coefficient_of_variation
            ),
        );
    } else if let Some(mean) = performance.avg_step_time_seconds {
        row("step time", format!("mean {mean:.4} s"));
    }
    let rates: Vec<String> = [
        (performance.tokens_per_second, "tokens/s"),
        (performance.tokens_per_second_per_gpu, "tokens/s/GPU"),
    ]
    .into_iter()
    .filter_map(|(rate, unit)| rate.map(|rate| format!("{rate:.1} {unit}")))
    .chain(performance.tflops_per_gpu.map(|tflops| format!("{tflops:.1} TFLOP/s/GPU")))
    .collect();
    row("throughput", rates.join(", "));
    row("memory", memory(record));
    let losses: Vec<f64> = record.loss_values.iter().copied().filter(|loss| loss.is_finite()).collect();
    if let (Some(first), Some(last)) = (losses.first(), losses.last()) {
        row("loss", format!("{first} to {last}"));
    }
    for Finding { kind, text: what, .. } in &record.findings {
        row("finding", format!("{what} [{kind}]"));
    }
    if ignored {
        for value in &extraction.ignored {
            let what = if value.text.is_empty() { String::new() } else { format!(": `{}`", value.text) };
            row("ignored", format!("line {}: {} is {}{what}", value.line, value.field, value.why));
        }
        let left = extraction.ignored_count - extraction.ignored.len() as u64;
        if left > 0 {
            row("ignored", format!("and {left} more"));
        }
    }
}

fn gpus(record: &Record) -> String {
    let gpu = &record.gpu_info;
    let vendor = match record.platform {
        Platform::Amd => Some("AMD"),
        Platform::Nvidia => Some("NVIDIA"),
        Platform::Virtual => Some("virtual"),
        Platform::Unknown => None,
    };
    let name = gpu.device_name.as_deref().or(vendor).unwrap_or("unknown");
    let count = gpu.device_count.map_or_else(String::new, |count| format!("{count} × "));
    let memory = gpu.total_memory_gb.map_or_else(String::new, |memory| format!(", {memory:.1} GB each"));
    if gpu.device_count.is_none() && name == "unknown" {
        String::new()
    } else {
        format!("{count}{name}{memory}")
    }
}

fn training(record: &Record) -> String {
    let config = &record.training_config;
    let mut parts = Vec::new();
    for (value, what) in [
        (config.global_batch_size, "sequences a step"),
        (config.sequence_length, "tokens a sequence"),
        (config.micro_batch_size, "sequences a micro-batch"),
    ] {
        parts.extend(value.map(|value| format!("{value} {what}")));
    }
    parts.extend(config.precision.clone());
    parts.extend(record.parallelism_config.as_ref().and_then(|parallel| parallel.strategy_name.clone()));
    parts.join(", ")
}

fn steps(record: &Record) -> String {
    let performance = &record.performance_metrics;
    let mut parts = Vec::new();
    parts.extend(performance.total_steps.map(|steps| match record.training_config.max_steps {
        Some(most) => format!("{steps} of {most}"),
        None => steps.to_string(),
    }));
    parts.extend(performance.total_time_seconds.map(|seconds| format!("{seconds:.3} s")));
    parts.extend(performance.warmup_rule.as_ref().map(|rule| format!("without warm-up: {rule}")));
    parts.join(", ")
}

fn memory(record: &Record) -> String {
    let Some(memory) = &record.memory_metrics else { return String::new() };
    [
        (memory.peak_memory_allocated_gb, "allocated"),
        (memory.peak_memory_reserved_gb, "reserved"),
        (memory.peak_memory_used_gb, "in use on the GPU"),
    ]
    .into_iter()
    .filter_map(|(peak, what)| peak.map(|peak| format!("{peak:.2} GB {what} at most")))
    .collect::<Vec<_>>()
    .join(", ")
}
