//! `ferrocm bench compare`: compares runs with each other and with earlier ones.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::SystemTime;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use runs::compare::figures::{grouped, of_key};
use runs::compare::{Assumption, Center, Comparison, Error, Options, Warmup, assumptions, compare};
use runs::history::{self, Entry, Judgement, Outcome};
use runs::peaks::Type;
use runs::record::timestamp;
use runs::{Record, report, statistics};
use serde_json::json;

use crate::output;

const EXAMPLES: &str = "\
Examples:
  ferrocm bench compare h100.json mi300x.json
                                     tables for a terminal; the others are compared with the first file
  ferrocm bench compare --model llama-3.1-8b --format html --output report.html h100.json mi300x.json
                                     a page with charts, and MFU from that model's operations
  ferrocm bench compare --price h100=2.50 --price mi300x=2.00 --carbon 56 h100.json mi300x.json
                                     with your own prices, and the carbon intensity of France
  ferrocm bench compare --history runs.jsonl --against runs.jsonl --threshold 5% nightly.json
                                     for CI: fails if the run is worse than earlier ones, otherwise keeps it
  ferrocm bench compare --charts charts a.json b.json
                                     the charts as SVG files

Exit status: 0 if all is well, 1 if --against finds a regressed or missing figure, 2 if a file cannot be read or written,
or for a malformed command line.";

/// Compares runs: speed-up with its confidence interval, MFU, cost, energy, stability, memory, loss
///
/// A run is a JSON file with step times, as training benchmarks of both vendors write it. Warns where runs
/// are not comparable.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files of runs; a run is named after its file, without the extension
    #[arg(value_name = "RUN", required = true)]
    files: Vec<PathBuf>,
    /// The run to compare the others with: its name, or its position, counted from 1
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write the charts as SVG files to a folder
    #[arg(long, value_name = "FOLDER")]
    charts: Option<PathBuf>,
    /// The model whose operations are counted, such as llama-3.1-8b [default: from the runs]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The type whose peak performance MFU is relative to, such as bf16 or fp8 [default: from the runs]
    #[arg(long, value_name = "TYPE")]
    precision: Option<String>,
    /// USD per GPU-hour, for all runs or for one; may be repeated
    #[arg(long, value_name = "[RUN=]USD")]
    price: Vec<ForRun>,
    /// Watts per GPU, for all runs or for one [default: as measured, else the board's limit, else its TDP]
    #[arg(long, value_name = "[RUN=]WATTS")]
    power: Vec<ForRun>,
    /// Power usage effectiveness: power of the site divided by power of its machines
    #[arg(long, value_name = "RATIO")]
    pue: Option<f64>,
    /// Grams of CO₂ equivalent per kWh
    #[arg(long, value_name = "GRAMS")]
    carbon: Option<f64>,
    /// The statistic that stands for all steps of a run
    #[arg(long, value_enum, default_value_t)]
    center: CenterArgument,
    /// Steps to leave out at the beginning: `steady` detects them, `recorded` uses the number in the run; or
    /// a number
    #[arg(long, value_name = "RULE", default_value = "steady", value_parser = warmup)]
    warmup: Warmup,
    /// GPUs per node [default: those of the run, at most 8]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    gpus_per_node: Option<u64>,
    /// Heading of the page
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A sentence below the heading of the page
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Add the runs to a file of JSON lines, unless --against fails
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Judge the runs against a history, or against the file of a run
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// How much worse a figure may get
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    threshold: f64,
    /// Key that identifies the runs in the history [default: GPU, number of GPUs, model, lengths and
    /// precision]
    #[arg(long, value_name = "TEXT")]
    key: Option<String>,
    /// The commit that was run, for the history [default: GITHUB_SHA or CI_COMMIT_SHA]
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// Date of the entries added to the history, as ISO 8601 [default: now]
    #[arg(long, value_name = "DATE")]
    date: Option<String>,
}

/// Output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables for a terminal
    #[default]
    Table,
    /// Markdown, as code hosts show it
    Markdown,
    /// A self-contained page with charts
    Html,
    /// One line per run and figure
    Csv,
    /// Everything, for other programs
    Json,
}

/// The statistic that stands for all steps of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum CenterArgument {
    /// Not affected by single slow steps
    #[default]
    Median,
    /// Reflects the cost of a long run
    Mean,
}

/// A number for all runs, or for one.
#[derive(Debug, Clone, PartialEq)]
struct ForRun(Option<String>, f64);

impl FromStr for ForRun {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (run, number) = text.rsplit_once('=').map_or((None, text), |(run, number)| (Some(run), number));
        let number = number.trim().parse().map_err(|_| format!("`{number}` is no number"))?;
        Ok(Self(run.map(str::to_owned), number))
    }
}

fn warmup(text: &str) -> Result<Warmup, String> {
    match text {
        "steady" => Ok(Warmup::Steady),
        "recorded" => Ok(Warmup::Recorded),
        number => number
            .parse()
            .map(Warmup::Steps)
            .map_err(|_| "expected `steady`, `recorded` or a number".to_owned()),
    }
}

/// `5%` and `5` are 0.05.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent / 100.0),
        _ => Err("expected a percentage such as 5%".to_owned()),
    }
}

/// Compares, writes and judges.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let records = read_all(&arguments.files)?;
    let options = options(arguments, &records)?;
    let comparison = compare(&records, &options)?;
    if let Some(folder) = &arguments.charts {
        write_charts(folder, &comparison)?;
    }
    let judged = judge(arguments, &options, &comparison)?;
    let text = text(arguments, &comparison, judged.as_deref())?;
    match &arguments.output {
        Some(file) => fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?,
        None => output::print(&text)?,
    }
    let failed =
        judged.as_ref().is_some_and(|judged| judged.iter().any(|(_, judgements)| history::fails(judgements)));
    if let Some(judged) = &judged {
        eprint!("{}", verdicts(judged, arguments.threshold));
    }
    if let Some(file) = arguments.history.as_deref().filter(|_| !failed) {
        append(file, &entries(arguments, &comparison))?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The records of files, each named after its file, or by its path if two files have the same name.
fn read_all(files: &[PathBuf]) -> anyhow::Result<Vec<(String, Record)>> {
    let mut known: Vec<PathBuf> = Vec::new();
    for file in files {
        // A missing file is reported when it is read.
        let Ok(path) = file.canonicalize() else { continue };
        if known.contains(&path) {
            bail!("{} is given twice", file.display());
        }
        known.push(path);
    }
    let stem = |file: &Path| file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let mut seen = HashSet::new();
    let twice: HashSet<String> =
        files.iter().map(|file| stem(file)).filter(|name| !seen.insert(name.clone())).collect();
    files
        .iter()
        .map(|file| {
            let name = stem(file);
            let label = if twice.contains(&name) { file.to_string_lossy().into_owned() } else { name };
            Ok((label, read(file)?))
        })
        .collect()
}

fn read(file: &Path) -> anyhow::Result<Record> {
    let record = Record::from_path(file)?;
    if !is_run(&record) {
        bail!("{} has no positive step time, no mean step time, no loss and no measurement", file.display());
    }
    Ok(record)
}

/// Whether there is any finite number to compare.
fn is_run(record: &Record) -> bool {
    let is_time = |seconds: &f64| statistics::is_time(*seconds);
    record.step_times.iter().any(is_time)
        || record.performance_metrics.avg_step_time_seconds.as_ref().is_some_and(is_time)
        || record.measurements.iter().any(|one| one.seconds.iter().any(is_time))
        || record.loss_values.iter().any(|loss| loss.is_finite())
}

fn options(arguments: &Arguments, records: &[(String, Record)]) -> anyhow::Result<Options> {
    let baseline = match &arguments.baseline {
        None => 0,
        Some(text) => {
            let by_name = records.iter().position(|(label, _)| label == text);
            let by_place = || text.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
            match by_name.or_else(by_place) {
                Some(place) if place < records.len() => place,
                Some(place) => bail!(Error::Baseline(place + 1, records.len())),
                None => {
                    let labels: Vec<&str> = records.iter().map(|(label, _)| label.as_str()).collect();
                    bail!(Error::NoSuchRun(text.clone(), labels.join(", ")))
                }
            }
        }
    };
    let precision = match &arguments.precision {
        None => None,
        Some(text) => Some(
            Type::of_precision(text).with_context(|| format!("`{text}` is not the name of a number type"))?,
        ),
    };
    let pairs = |given: &[ForRun]| given.iter().map(|ForRun(run, number)| (run.clone(), *number)).collect();
    Ok(Options {
        baseline,
        center: match arguments.center {
            CenterArgument::Median => Center::Median,
            CenterArgument::Mean => Center::Mean,
        },
        warmup: arguments.warmup,
        model: arguments.model.clone(),
        precision,
        prices: pairs(&arguments.price),
        watts: pairs(&arguments.power),
        pue: arguments.pue.map_or_else(assumptions::pue, Assumption::given),
        carbon: arguments.carbon.map_or_else(assumptions::carbon, Assumption::given),
        gpus_per_node: arguments.gpus_per_node,
        ..Options::default()
    })
}

type Judged = Vec<(String, Vec<Judgement>)>;

fn text(
    arguments: &Arguments,
    comparison: &Comparison,
    judged: Option<&[(String, Vec<Judgement>)]>,
) -> anyhow::Result<String> {
    let mut page = report::Page::of(comparison);
    page.note.clone_from(&arguments.note);
    page.command =
        Some(command(std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned())));
    if let Some(title) = &arguments.title {
        page.title.clone_from(title);
    }
    Ok(match arguments.format {
        Format::Table => report::terminal(comparison),
        Format::Markdown => report::markdown(comparison, &page),
        Format::Html => report::html(comparison, &page)?,
        Format::Csv => report::csv(comparison),
        Format::Json => {
            let mut value = serde_json::to_value(comparison)?;
            if let Some(judged) = judged {
                value["against"] = judged
                    .iter()
                    .map(|(run, judgements)| json!({ "run": run, "threshold": arguments.threshold, "figures": judgements }))
                    .collect();
            }
            format!("{value:#}\n")
        }
    })
}

/// The command line without options that do not affect the comparison: output, title, history.
fn command(arguments: impl Iterator<Item = String>) -> String {
    const WITHOUT: [&str; 11] = [
        "--output",
        "-o",
        "--charts",
        "--title",
        "--note",
        "--history",
        "--against",
        "--threshold",
        "--key",
        "--commit",
        "--date",
    ];
    let mut out = String::from("ferrocm");
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        if WITHOUT.contains(&argument.as_str()) {
            arguments.next();
            continue;
        }
        if WITHOUT
            .iter()
            .any(|option| argument.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
        {
            continue;
        }
        let plain =
            !argument.is_empty() && argument.chars().all(|c| c.is_alphanumeric() || "-_./=:,%+@".contains(c));
        match plain {
            true => out.extend([" ", &argument]),
            false => out.push_str(&format!(" '{}'", argument.replace('\'', "'\\''"))),
        }
    }
    out
}

fn write_charts(folder: &Path, comparison: &Comparison) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for chart in report::charts(comparison)? {
        let file = folder.join(format!("{}.svg", chart.name));
        fs::write(&file, chart.svg).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn entries(arguments: &Arguments, comparison: &Comparison) -> Vec<Entry> {
    let date = arguments.date.clone().unwrap_or_else(|| timestamp(SystemTime::now()));
    let environment = || ["GITHUB_SHA", "CI_COMMIT_SHA"].iter().find_map(|name| std::env::var(name).ok());
    let commit = arguments.commit.clone().or_else(environment).filter(|commit| !commit.is_empty());
    comparison
        .runs
        .iter()
        .map(|run| Entry::of(run, arguments.key.as_deref(), &date, commit.as_deref()))
        .collect()
}

/// Judges each run against the history or record that `--against` names.
fn judge(
    arguments: &Arguments,
    options: &Options,
    comparison: &Comparison,
) -> anyhow::Result<Option<Judged>> {
    let Some(file) = &arguments.against else { return Ok(None) };
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        // The first run of a history has no predecessor.
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound && arguments.history.as_ref() == Some(file) =>
        {
            Vec::new()
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    };
    let text = std::str::from_utf8(&bytes).with_context(|| format!("{} is no text", file.display()))?;
    let entries = entries(arguments, comparison);
    let judged = |judge: &dyn Fn(&Entry) -> Vec<Judgement>| {
        entries.iter().map(|entry| (entry.label.clone(), judge(entry))).collect()
    };
    match history::parse(text) {
        Ok(earlier) => Ok(Some(judged(&|entry| history::judge(entry, &earlier, arguments.threshold)))),
        Err(error) => {
            // A run's file has no key, and its JSON rarely fits on one line.
            let record = Record::read(text.as_bytes()).ok().filter(is_run);
            let Some(record) = record else {
                return Err(error).with_context(|| {
                    format!("{} is neither a history nor a record of a run", file.display())
                });
            };
            let label = file.to_string_lossy().into_owned();
            // Prices and powers are not judged, and they name other runs.
            let options = Options { baseline: 0, prices: Vec::new(), watts: Vec::new(), ..options.clone() };
            let before = compare(&[(label, record)], &options)?;
            let before = Entry::of(&before.runs[0], None, "", None);
            Ok(Some(judged(&|entry| history::judge_one(entry, &before, arguments.threshold))))
        }
    }
}

/// The verdict on each figure, for people.
fn verdicts(judged: &Judged, threshold: f64) -> String {
    let mut out = String::new();
    for (run, judgements) in judged {
        if judgements.is_empty() {
            let _ = writeln!(out, "{run}: no earlier run has its key");
        }
        for one in judgements {
            let figure = of_key(&one.figure);
            let name = figure.map_or(one.figure.as_str(), |figure| figure.label);
            let value = |value: Option<f64>| match (value, figure) {
                (None, _) => "none".to_owned(),
                (Some(value), Some(figure)) => figure.text(value),
                (Some(value), None) => format!("{} s", grouped(value, 6)),
            };
            let outcome = match one.outcome {
                Outcome::Regressed => "REGRESSED",
                Outcome::Gone => "GONE",
                Outcome::Improved => "improved",
                Outcome::Noise => "within the noise",
                Outcome::Same => "ok",
                Outcome::New => "new",
            };
            let change = one.change.map_or(String::new(), |change| format!(", {:+.2} %", change * 100.0));
            let noise = one.noise.map_or(String::new(), |noise| format!(", noise ±{:.2} %", noise * 100.0));
            let values =
                if one.values > 1 { format!(" ({} earlier runs)", one.values) } else { String::new() };
            let line = format!(
                "{run}: {outcome}: {name}: {} → {}{change}{noise}, threshold {:.4} %{values}",
                value(one.before),
                value(one.now),
                threshold * 100.0
            );
            let clean: String = line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
            out.push_str(&clean);
            out.push('\n');
        }
    }
    out
}

/// Appends entries to a history. Other processes may append at the same time.
fn append(file: &Path, entries: &[Entry]) -> anyhow::Result<()> {
    let mut lines: String = entries.iter().map(Entry::line).collect();
    let add = || -> std::io::Result<()> {
        let mut history = File::options().read(true).append(true).create(true).open(file)?;
        history.lock()?;
        // A line truncated by a crash must not swallow the next one.
        if history.seek(SeekFrom::End(0))? > 0 {
            history.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            history.read_exact(&mut last)?;
            if last != *b"\n" {
                lines.insert(0, '\n');
            }
        }
        history.write_all(lines.as_bytes())
    };
    let mut add = add;
    add().with_context(|| format!("cannot add to {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_command_without_its_own_place() {
        let line = [
            "bench",
            "compare",
            "--output",
            "x",
            "--note=a b",
            "--model",
            "llama",
            "-o",
            "y",
            "it's.json",
            "b.json",
        ];
        assert_eq!(
            command(line.map(str::to_owned).into_iter()),
            r"ferrocm bench compare --model llama 'it'\''s.json' b.json"
        );
    }

    #[test]
    fn numbers_are_for_all_runs_or_for_one() {
        assert_eq!("2.5".parse(), Ok(ForRun(None, 2.5)));
        assert_eq!("a=b=2".parse(), Ok(ForRun(Some("a=b".to_owned()), 2.0)));
        assert_eq!("a=x".parse::<ForRun>(), Err("`x` is no number".to_owned()));
        assert_eq!(["5%", "5", " 0.5 % "].map(percent), [Ok(0.05), Ok(0.05), Ok(0.005)]);
        assert!(percent("-1%").is_err() && percent("NaN").is_err() && percent("").is_err());
        assert_eq!(warmup("12"), Ok(Warmup::Steps(12)));
        assert!(warmup("-1").is_err());
    }
}
