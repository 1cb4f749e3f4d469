//! The command line of `ferrocm bench run`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hip::DeviceUri;
use hip::uri::DEVICE_VARIABLE;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use runs::Record;
use runs::record::{Measurement, Platform, Sample};
use setup::table::{Align, Table};

use crate::error::{Error, Result};
use crate::model::ModelName;
use crate::options::{Choices, Options, Size, Suite};
use crate::run::{NO_GPU, Progress, run};
use crate::statistics::{drift, interval, median};
use crate::telemetry::change;

/// The end of the help.
pub const EXAMPLES: &str = "\
Examples:
  ferrocm bench run                                    everything, on this machine's GPU
  ferrocm bench run --suite bandwidth,gemm --runs 3    two groups, three times, with a pause between
  ferrocm bench run --device 'vgpu:gfx90a?count=2' --suite collective
                                                       between two virtual GPUs: that it works, not how fast it is
  ferrocm bench run --model llama --size full --layers 32 --output mi300x.json
                                                       a whole model's prefill and decode, as JSON for `ferrocm bench compare`

Every result is checked against f64 on the CPU; docs/use/bench-run.md says what is measured, what bytes and operations are counted, and how.

Exit status: 0 if everything was measured or there is no GPU, 1 if a result was wrong or something failed, 2 for a malformed command line
or device URI.";

/// Measures a GPU: bandwidth, products, attention, collectives, training, inference; checks each result
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The device [default: the variable FERROCM_DEVICE, otherwise `auto`]. All devices in the URI take part
    /// in transfers and collectives
    #[arg(long, value_name = "URI")]
    device: Option<DeviceUri>,
    /// What to measure, separated by commas: bandwidth, gemm, latency, attention, quantised, collective,
    /// block, training, inference
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = suites)]
    suite: Choices<Suite>,
    /// Shapes of models for `inference`: llama, mistral, qwen
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = models)]
    model: Choices<ModelName>,
    /// Size of the cases: tiny, small or full [default: full; on a virtual GPU tiny]
    #[arg(long, value_name = "SIZE")]
    size: Option<Size>,
    /// Number of blocks of models and in training [default: by size, at most 4; in training 1]
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
    /// Number of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,
    /// Seconds of rest before each run except the first
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    cool_down: f64,
    /// Repetitions of each operation [default: by size]
    #[arg(long, value_name = "N")]
    repetitions: Option<usize>,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
    /// Write the record as JSON to a file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn suites(text: &str) -> Result<Choices<Suite>> {
    Choices::parse(text, Suite::ALL)
}

fn models(text: &str) -> Result<Choices<ModelName>> {
    Choices::parse(text, ModelName::ALL)
}

impl Arguments {
    fn options(&self) -> Result<Options> {
        let cool_down = Duration::try_from_secs_f64(self.cool_down)
            .map_err(|error| Error::Option { option: "--cool-down", problem: error.to_string() })?;
        Ok(Options {
            device: self.device.clone().map_or_else(default_device, Ok)?,
            suites: self.suite.0.clone(),
            models: self.model.0.clone(),
            size: self.size,
            layers: self.layers,
            runs: self.runs,
            cool_down,
            repetitions: self.repetitions,
        })
    }
}

/// The device that the environment names, otherwise `auto`.
fn default_device() -> Result<DeviceUri> {
    let problem = |problem| hip::Error::Environment { variable: DEVICE_VARIABLE, problem };
    match variables::DEVICE.text().map_err(hip::Error::from)? {
        Some(text) => Ok(text.parse().map_err(|error: hip::UriError| problem(error.to_string()))?),
        None => Ok(DeviceUri::Auto),
    }
}

/// Measures, shows progress on standard error if that is a terminal, and returns the text to print: a table,
/// or JSON.
///
/// # Errors
/// As [`run`], [`hip::Error::Environment`] for a malformed variable, and [`Error::Output`] if the file cannot
/// be written.
pub fn execute(arguments: &Arguments) -> Result<String> {
    let options = arguments.options()?;
    // Fail before measuring if the file cannot be written. Its old content stays until there is a new record.
    let mut file = match &arguments.output {
        Some(path) => {
            let opened = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
            Some((opened.map_err(|error| unwritten(path, &error))?, path))
        }
        None => None,
    };
    let bar = bar();
    let record = run(&options, &mut |progress: Progress<'_>| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.what.to_owned());
    });
    bar.finish_and_clear();
    let record = record?;
    let json = || serde_json::to_string_pretty(&record).map(|text| text + "\n").unwrap_or_default();
    if let Some((file, path)) = &mut file {
        let written = file.set_len(0).and_then(|()| file.write_all(json().as_bytes()));
        written.map_err(|error| unwritten(path, &error))?;
    }
    Ok(if arguments.json { json() } else { text(&record) })
}

fn unwritten(path: &std::path::Path, error: &io::Error) -> Error {
    Error::Output { path: path.to_owned(), problem: error.to_string() }
}

/// The command that makes a record of a log.
const EXTRACT: &str = "`ferrocm bench extract LOG…`";

fn bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let bar = ProgressBar::new(1);
    match ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The record as text.
#[must_use]
pub fn text(record: &Record) -> String {
    let mut text = String::new();
    if record.findings.iter().any(|finding| finding.kind == NO_GPU) {
        if record.gpu_info.device_name.is_some() {
            text.push_str(&device(record));
        }
        for finding in &record.findings {
            text.push_str(&finding.text);
            text.push('\n');
        }
        text.push_str(&format!("mode: log. Results come from the logs of training programs: {EXTRACT}\n"));
        return text;
    }
    text.push_str(&device(record));
    if !record.measurements.is_empty() {
        text.push('\n');
        text.push_str(&table(&record.measurements));
        text.push_str(
            "\nmedian, and an interval of order statistics that encloses it with at least 95 %; drift: the last third divided by the first; \
             error: of the result, as a fraction of the largest error of a correct one\n",
        );
    }
    text.push_str(&sampled(record));
    for finding in &record.findings {
        text.push_str(&format!("{}: {}\n", finding.kind, finding.text));
    }
    text
}

/// A line about the device, and a line about the times if they are not the device's own.
fn device(record: &Record) -> String {
    let gpu = &record.gpu_info;
    let mut facts = vec![gpu.device_name.clone().unwrap_or_default()];
    let mut fact = |text: Option<String>| facts.extend(text);
    fact(gpu.architecture.clone());
    fact(gpu.device_count.filter(|count| *count > 1).map(|count| format!("{count} of them")));
    fact(gpu.compute_units.map(|units| format!("{units} compute units")));
    fact(gpu.gpu_cores.map(|cores| format!("{cores} lanes")));
    fact(gpu.total_memory_gb.map(|memory| format!("{memory:.1} GB")));
    fact(gpu.clock_mhz.map(|clock| format!("{clock:.0} MHz")));
    fact(gpu.power_limit_watts.map(|limit| format!("{limit:.0} W")));
    fact(gpu.driver_version.clone().map(|version| format!("driver {version}")));
    let software = if record.platform == Platform::Nvidia { "CUDA" } else { "ROCm" };
    fact(gpu.software_version.clone().map(|version| format!("{software} {version}")));
    let mut line = facts.join(", ") + "\n";
    if record.platform == Platform::Virtual {
        line.push_str("times are those of the CPU that executes a virtual GPU\n");
    }
    line
}

/// Seconds in a fitting unit.
fn seconds(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 1.0 => format!("{seconds:.3} s"),
        _ if seconds >= 1e-3 => format!("{:.3} ms", seconds * 1e3),
        _ => format!("{:.2} us", seconds * 1e6),
    }
}

/// The rate of a measurement per second: operations, otherwise bytes, otherwise tokens.
fn rates(measurement: &Measurement, median: f64) -> String {
    if median <= 0.0 {
        return String::new();
    }
    let rate = |amount: Option<f64>| amount.map(|amount| amount / median);
    let mut parts = Vec::new();
    match rate(measurement.flops) {
        Some(flops) if flops >= 1e11 => parts.push(format!("{:.2} TFLOP/s", flops / 1e12)),
        Some(flops) => parts.push(format!("{:.3} GFLOP/s", flops / 1e9)),
        None => {}
    }
    let is_bound_by_memory = matches!(measurement.group.as_str(), "bandwidth" | "quantised" | "collective");
    if let Some(bytes) = rate(measurement.bytes).filter(|_| is_bound_by_memory) {
        parts.push(format!("{:.2} GB/s", bytes / 1e9));
    }
    if let Some(tokens) = rate(measurement.tokens)
        .filter(|_| matches!(measurement.group.as_str(), "training" | "inference" | "block"))
    {
        parts.push(format!("{tokens:.1} tokens/s"));
    }
    parts.join(", ")
}

fn table(measurements: &[Measurement]) -> String {
    let mut table = Table::new(&[
        ("group", Align::Left),
        ("measurement", Align::Left),
        ("median", Align::Right),
        ("95 % interval", Align::Left),
        ("rate", Align::Left),
        ("drift", Align::Right),
        ("error", Align::Right),
    ]);
    for measurement in measurements {
        let median = median(&measurement.seconds).unwrap_or(f64::NAN);
        let range = interval(&measurement.seconds)
            .map(|range| format!("{} to {}", seconds(range.low), seconds(range.high)))
            .unwrap_or_default();
        let drift = drift(&measurement.seconds).map(|drift| format!("{:+.1} %", (drift - 1.0) * 100.0));
        let error = measurement
            .max_error
            .zip(measurement.error_bound)
            .map(|(error, bound)| format!("{:.2}", error / bound));
        table.row([
            measurement.group.clone(),
            measurement.name.clone(),
            seconds(median),
            range,
            rates(measurement, median),
            drift.unwrap_or_default(),
            error.unwrap_or_default(),
        ]);
    }
    table.render()
}

/// How clocks, power and temperature changed from the first third of the run to the last.
fn sampled(record: &Record) -> String {
    type Quantity = fn(&Sample) -> Option<f64>;
    let quantities: [(&str, &str, Quantity); 4] = [
        ("clock", "MHz", |sample| sample.clock_mhz),
        ("memory clock", "MHz", |sample| sample.memory_clock_mhz),
        ("power", "W", |sample| sample.power_watts),
        ("temperature", "°C", |sample| sample.temperature_celsius),
    ];
    let mut text = String::new();
    let mut gpus: Vec<u64> = record.telemetry.iter().map(|sample| sample.gpu).collect();
    gpus.sort_unstable();
    gpus.dedup();
    for gpu in gpus {
        let changes: Vec<String> = quantities
            .iter()
            .filter_map(|(name, unit, quantity)| {
                let found = change(&record.telemetry, gpu, *quantity)?;
                Some(format!("{name} {:.0} to {:.0} {unit}", found.first, found.last))
            })
            .collect();
        if !changes.is_empty() {
            text.push_str(&format!(
                "GPU {gpu}, from the first third of the run to the last: {}\n",
                changes.join(", ")
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use runs::record::Finding;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(arguments: &[&str]) -> std::result::Result<Arguments, clap::Error> {
        let program = Program::try_parse_from([&["run"], arguments].concat())?;
        Ok(program.arguments)
    }

    #[test]
    fn arguments_become_options() {
        let arguments = parse(&[
            "--device",
            "vgpu:gfx90a",
            "--suite",
            "gemm,training",
            "--model",
            "qwen",
            "--size",
            "small",
        ]);
        let options = arguments.unwrap().options().unwrap();
        assert_eq!(
            (options.suites, options.models),
            (vec![Suite::Gemm, Suite::Training], vec![ModelName::Qwen])
        );
        assert_eq!((options.size, options.runs, options.repetitions), (Some(Size::Small), 1, None));
        let options = parse(&["--device", "auto", "--repetitions", "9", "--cool-down", "0.5"])
            .unwrap()
            .options()
            .unwrap();
        assert_eq!((options.suites.len(), options.repetitions), (9, Some(9)));
        assert_eq!(options.cool_down, Duration::from_millis(500));
    }

    #[test]
    fn malformed_arguments_say_what_would_do() {
        for (arguments, expected) in [
            (["--suite", "gem"], "not one of bandwidth, gemm"),
            (["--model", "gpt"], "not one of llama, mistral, qwen"),
            (["--size", "huge"], "not one of tiny, small, full"),
            (["--device", "gpu"], "bad device URI"),
        ] {
            let error = parse(&arguments).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(parse(&["--device", "auto", "--cool-down=-1"]).unwrap().options().is_err());
    }

    #[test]
    fn a_machine_without_a_gpu_is_told_of_logs() {
        let finding = Finding::remark(NO_GPU, "no GPU was found: x".to_owned());
        let record = Record { findings: vec![finding], ..Record::default() };
        let text = text(&record);
        assert!(
            text.starts_with("no GPU was found: x\nmode: log.") && text.contains("ferrocm bench extract"),
            "{text}"
        );
    }

    #[test]
    fn rates_are_amounts_by_the_median() {
        let of = |group: &str, flops, bytes, tokens| {
            let measurement =
                Measurement { group: group.to_owned(), flops, bytes, tokens, ..Measurement::default() };
            rates(&measurement, 0.5)
        };
        assert_eq!(of("gemm", Some(1e12), Some(1e9), None), "2.00 TFLOP/s");
        assert_eq!(of("bandwidth", None, Some(1e9), None), "2.00 GB/s");
        assert_eq!(of("training", Some(1e9), None, Some(10.0)), "2.000 GFLOP/s, 20.0 tokens/s");
        assert_eq!(of("latency", None, None, None), "");
        assert_eq!([1.5, 0.0025, 12e-6].map(seconds), ["1.500 s", "2.500 ms", "12.00 us"]);
    }

    #[test]
    fn drift_of_clocks_is_shown() {
        let sample = |i: u32| Sample { clock_mhz: Some(2100.0 - f64::from(i) * 100.0), ..Sample::default() };
        let record = Record { telemetry: (0..6).map(sample).collect(), ..Record::default() };
        assert_eq!(
            sampled(&record),
            "GPU 0, from the first third of the run to the last: clock 2050 to 1650 MHz\n"
        );
    }
}
