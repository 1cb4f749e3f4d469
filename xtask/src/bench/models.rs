//! `cargo xtask bench models`: language models on the CPU and on virtual GPUs, beside llama.cpp and candle on
//! the same CPU, one after the other in one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;
use setup::run;
use setup::table::{Align, Table};

use crate::tools;

/// llama.cpp, from PyPI.
const LLAMA_CPP: &str = "llama-cpp-python==0.3.36";
const PYTHON: &str = include_str!("models/of_llama_cpp.py");
/// candle, which Cargo fetches.
const MANIFEST: &str = include_str!("models/candle.toml");
const RUST: &str = include_str!("models/candle.rs");

/// What to measure.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Options {
    /// The model, by name or as a GGUF file of the architecture Llama
    #[arg(long, value_name = "FILE|NAME", default_value = "smollm2")]
    model: String,
    /// This project's devices
    #[arg(long = "device", value_name = "URI", default_values = ["cpu", "vgpu:gfx1100"])]
    devices: Vec<String>,
    /// Threads of each program; virtual GPUs use all processors
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    threads: usize,
    /// The prompt's length
    #[arg(long, value_name = "TOKENS", default_value_t = 128)]
    pp: usize,
    /// How many tokens are generated
    #[arg(long, value_name = "TOKENS", default_value_t = 32)]
    tg: usize,
    /// How often each is measured; the table shows medians
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    repetitions: usize,
    /// Other programs to leave out: llama.cpp, candle
    #[arg(long = "without", value_name = "PROGRAM")]
    without: Vec<String>,
}

/// A program on a device.
struct Row {
    name: String,
    /// Tokens in a second.
    read: f64,
    write: f64,
    /// Seconds from the start of a process to its end, after one token.
    first: f64,
}

pub(super) fn bench(options: &Options) -> Result<()> {
    let program = build(Build::Cpu)?;
    let mut fetch = Command::new(&program);
    let model = match Path::new(&options.model).is_file() {
        true => PathBuf::from(&options.model),
        false => {
            let path = run::capture(fetch.args(["models", "fetch", &options.model]))?;
            PathBuf::from(path.trim())
        }
    };
    let others: Vec<(&str, fn(&Options) -> Result<Command>)> =
        vec![("llama.cpp", llama_cpp), ("candle", candle)];
    let others = others.into_iter().filter(|(name, _)| !options.without.iter().any(|left| left == name));
    let is_virtual = |device: &&String| device.starts_with("vgpu") || *device == "virtual";
    let with_virtual = options.devices.iter().any(|device| is_virtual(&device));
    let with_virtual = with_virtual.then(|| build(Build::Virtual)).transpose()?;
    // Everything is built before anything is measured.
    let others: Vec<_> =
        others.map(|(name, prepare)| Ok((name, prepare(options)?))).collect::<Result<_>>()?;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut rows = Vec::new();
    for (name, command) in &others {
        rows.push(other(name, command, &model, options)?);
    }
    for device in &options.devices {
        let program = with_virtual.as_ref().filter(|_| is_virtual(&device)).unwrap_or(&program);
        rows.push(ours(program, device, &model, options)?);
    }
    print(&rows, options, load.split(' ').next().unwrap_or_default());
    Ok(())
}

/// How `ferrocm` is built.
enum Build {
    /// Optimised, without the virtual GPU.
    Cpu,
    /// As for tests, which optimises the virtual GPU and the back end: they share one build.
    Virtual,
}

/// Builds `ferrocm`.
fn build(how: Build) -> Result<PathBuf> {
    let mut build = tools::cargo();
    build.args(["build", "--quiet", "--package", "ferrocm", "--features", "models"]);
    let folder = match how {
        Build::Cpu => {
            build.args(["--release", "--no-default-features"]);
            "release"
        }
        Build::Virtual => "debug",
    };
    run::run(build.current_dir(tools::workspace()))?;
    Ok(tools::target_folder().join(folder).join("ferrocm"))
}

/// Python with llama.cpp, which is compiled for this machine.
fn llama_cpp(options: &Options) -> Result<Command> {
    let folder = tools::target_folder().join("bench-llama-cpp");
    let (python, installed) = (folder.join("bin/python"), folder.join("installed.txt"));
    if !fs::read_to_string(&installed).is_ok_and(|known| known == LLAMA_CPP) {
        run::capture(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        run::run(Command::new(&python).args(["-m", "pip", "install", "--quiet", LLAMA_CPP]))?;
        write(&installed, LLAMA_CPP)?;
    }
    let program = folder.join("bench.py");
    write(&program, PYTHON)?;
    let mut command = Command::new(python);
    command.arg(program).env("OMP_NUM_THREADS", options.threads.to_string());
    Ok(command)
}

/// candle's program.
fn candle(options: &Options) -> Result<Command> {
    let folder = tools::target_folder().join("bench-candle");
    fs::create_dir_all(folder.join("src")).with_context(|| format!("make {}", folder.display()))?;
    write(&folder.join("Cargo.toml"), MANIFEST)?;
    write(&folder.join("src/main.rs"), RUST)?;
    let mut build = tools::cargo();
    build.args(["build", "--quiet", "--release", "--target-dir", "target"]).current_dir(&folder);
    // As llama.cpp: for this machine.
    run::run(build.env("RUSTFLAGS", "-C target-cpu=native"))?;
    let mut command = Command::new(folder.join("target/release/candle-models-bench"));
    command.env("RAYON_NUM_THREADS", options.threads.to_string());
    Ok(command)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

/// The same command once more.
fn again(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    copy.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    copy
}

fn other(name: &str, command: &Command, model: &Path, options: &Options) -> Result<Row> {
    let has_threads = name == "llama.cpp";
    let start = || {
        let mut command = again(command);
        command.arg(model);
        if has_threads {
            command.arg(options.threads.to_string());
        }
        command
    };
    let numbers = [options.pp, options.tg, options.repetitions].map(|number| number.to_string());
    let text = run::capture(start().args(numbers))?;
    let rates: Value = serde_json::from_str(text.trim()).with_context(|| format!("{name} wrote {text}"))?;
    let median = |key: &str| {
        let rates = rates[key].as_array().map(|rates| rates.iter().filter_map(Value::as_f64).collect());
        median(rates.unwrap_or_default()).with_context(|| format!("{name} wrote {text}"))
    };
    let first = first(options.repetitions, || {
        let mut command = start();
        command.arg("first");
        command
    })?;
    Ok(Row { name: format!("{name}, CPU"), read: median("pp")?, write: median("tg")?, first })
}

fn ours(program: &Path, device: &str, model: &Path, options: &Options) -> Result<Row> {
    let uri = if device == "cpu" { format!("cpu:{}", options.threads) } else { device.to_owned() };
    let start = |command: &str| {
        let mut start = Command::new(program);
        start.arg(command).arg("--model").arg(model).args(["--device", &uri]);
        start
    };
    let [pp, tg, repetitions] =
        [options.pp, options.tg, options.repetitions].map(|number| number.to_string());
    let mut measured = start("bench-model");
    measured.args(["--pp", &pp, "--tg", &tg, "--repetitions", &repetitions, "--output", "json"]);
    let text = run::capture(&mut measured)?;
    let results: Value = serde_json::from_str(&text).with_context(|| format!("ferrocm wrote {text}"))?;
    let rate = |key: &str| {
        let rows = results.as_array().or_else(|| results["results"].as_array());
        let row = rows.into_iter().flatten().find(|row| row[key].as_u64().is_some_and(|count| count > 0));
        let samples = row.and_then(|row| row["samples_ts"].as_array());
        let samples = samples.map(|samples| samples.iter().filter_map(Value::as_f64).collect());
        median(samples.unwrap_or_default()).with_context(|| format!("ferrocm wrote {text}"))
    };
    let first = first(options.repetitions, || {
        let mut command = start("generate");
        command.args(["--prompt", "What is a wavefront?", "--max-tokens", "1", "--temperature", "0"]);
        command
    })?;
    Ok(Row { name: format!("ferrocm, {device}"), read: rate("n_prompt")?, write: rate("n_gen")?, first })
}

/// The median time of a process; its files are in the system's cache after the first time.
fn first(repetitions: usize, command: impl Fn() -> Command) -> Result<f64> {
    let mut times = Vec::new();
    for repetition in 0..=repetitions {
        let begin = Instant::now();
        run::capture(&mut command())?;
        if repetition > 0 {
            times.push(begin.elapsed().as_secs_f64());
        }
    }
    median(times).context("nothing was measured")
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}

fn print(rows: &[Row], options: &Options, load: &str) {
    let mut table = Table::new(&[
        ("program, device", Align::Left),
        (&format!("pp{} t/s", options.pp), Align::Right),
        ("ratio", Align::Right),
        (&format!("tg{} t/s", options.tg), Align::Right),
        ("ratio", Align::Right),
        ("first token, s", Align::Right),
    ]);
    for row in rows {
        table.row([
            row.name.clone(),
            format!("{:.1}", row.read),
            format!("{:.2}", row.read / rows[0].read),
            format!("{:.1}", row.write),
            format!("{:.2}", row.write / rows[0].write),
            format!("{:.2}", row.first),
        ]);
    }
    println!("{} with {} threads; load before: {load}", options.model, options.threads);
    println!("{}", table.render());
}
