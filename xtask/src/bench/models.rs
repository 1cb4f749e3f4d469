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
    /// Count the processor's time instead of the clock's: for machines that also do other work. With one
    /// thread, it is about what the clock would show on an idle machine
    #[arg(long)]
    cpu_time: bool,
    /// Other programs to leave out: llama.cpp, candle
    #[arg(long = "without", value_name = "PROGRAM")]
    without: Vec<String>,
}

/// Fetches and compiles another program.
type Prepare = fn(&Options) -> Result<Command>;

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
    let others: [(&str, Prepare); 2] = [("llama.cpp", llama_cpp), ("candle", candle)];
    let others = others.into_iter().filter(|(name, _)| !options.without.iter().any(|left| left == name));
    let is_virtual = |device: &&String| device.starts_with("vgpu") || *device == "virtual";
    let with_virtual = options.devices.iter().any(|device| is_virtual(&device));
    let with_virtual = with_virtual.then(|| build(Build::Virtual)).transpose()?;
    // Everything is built before anything is measured.
    let others: Vec<_> =
        others.map(|(name, prepare)| Ok((name, prepare(options)?))).collect::<Result<_>>()?;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut rows = Vec::new();
    let (model, threads) = (model.as_path(), options.threads);
    for (name, command) in &others {
        rows.push(measure(&Other { name, command, model, threads }, options)?);
    }
    for device in &options.devices {
        let program = with_virtual.as_ref().filter(|_| is_virtual(&device)).unwrap_or(&program);
        rows.push(measure(&Ours { program, device, model, threads }, options)?);
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

/// A program, and how its command lines look.
trait Program {
    fn name(&self) -> String;
    /// Reads and generates so many tokens, so often, after one time that does not count.
    fn run(&self, pp: usize, tg: usize, repetitions: usize) -> Command;
    /// Ends after the first token.
    fn first(&self) -> Command;
    /// The median rate that a run wrote: of generating, else of reading.
    fn rate(&self, text: &str, is_writing: bool) -> Result<f64>;
}

/// llama.cpp and candle.
struct Other<'b> {
    name: &'b str,
    command: &'b Command,
    model: &'b Path,
    threads: usize,
}

impl Other<'_> {
    fn start(&self) -> Command {
        let mut command = again(self.command);
        command.arg(self.model);
        if self.name == "llama.cpp" {
            command.arg(self.threads.to_string());
        }
        command
    }
}

impl Program for Other<'_> {
    fn name(&self) -> String {
        format!("{}, CPU", self.name)
    }

    fn run(&self, pp: usize, tg: usize, repetitions: usize) -> Command {
        let mut command = self.start();
        command.args([pp, tg, repetitions].map(|number| number.to_string()));
        command
    }

    fn first(&self) -> Command {
        let mut command = self.start();
        command.arg("first");
        command
    }

    fn rate(&self, text: &str, is_writing: bool) -> Result<f64> {
        let rates: Value =
            serde_json::from_str(text.trim()).with_context(|| format!("{} wrote {text}", self.name))?;
        let rates = rates[if is_writing { "tg" } else { "pp" }].as_array();
        let rates = rates.map(|rates| rates.iter().filter_map(Value::as_f64).collect());
        median(rates.unwrap_or_default()).with_context(|| format!("{} wrote {text}", self.name))
    }
}

/// This project.
struct Ours<'b> {
    program: &'b Path,
    device: &'b str,
    model: &'b Path,
    threads: usize,
}

impl Ours<'_> {
    fn start(&self, command: &str) -> Command {
        let uri = match self.device {
            "cpu" => format!("cpu:{}", self.threads),
            other => other.to_owned(),
        };
        let mut start = Command::new(self.program);
        start.arg(command).arg("--model").arg(self.model).args(["--device", &uri]);
        start
    }
}

impl Program for Ours<'_> {
    fn name(&self) -> String {
        format!("ferrocm, {}", self.device)
    }

    fn run(&self, pp: usize, tg: usize, repetitions: usize) -> Command {
        let [pp, tg, repetitions] = [pp, tg, repetitions].map(|number| number.to_string());
        let mut command = self.start("bench-model");
        command.args(["--pp", &pp, "--tg", &tg, "--repetitions", &repetitions, "--output", "json"]);
        command
    }

    fn first(&self) -> Command {
        let mut command = self.start("generate");
        command.args(["--prompt", "What is a wavefront?", "--max-tokens", "1", "--temperature", "0"]);
        command
    }

    fn rate(&self, text: &str, is_writing: bool) -> Result<f64> {
        let rows: Value = serde_json::from_str(text).with_context(|| format!("ferrocm wrote {text}"))?;
        let key = if is_writing { "n_gen" } else { "n_prompt" };
        let row = rows.as_array().into_iter().flatten();
        let row = row.into_iter().find(|row| row[key].as_u64().is_some_and(|count| count > 0));
        let samples = row.and_then(|row| row["samples_ts"].as_array());
        let samples = samples.map(|samples| samples.iter().filter_map(Value::as_f64).collect());
        median(samples.unwrap_or_default()).with_context(|| format!("ferrocm wrote {text}"))
    }
}

/// The rates of a program.
fn measure(program: &dyn Program, options: &Options) -> Result<Row> {
    let rate = |pp: usize, tg: usize| {
        if !options.cpu_time {
            let text = run::capture(&mut program.run(pp, tg, options.repetitions))?;
            return program.rate(&text, tg > 0);
        }
        // What the process does once does not count: the difference of two is what the repetitions take.
        let time = |repetitions: usize| -> Result<f64> {
            let before = children_time()?;
            run::capture(&mut program.run(pp, tg, repetitions))?;
            Ok(children_time()? - before)
        };
        let (one, all) = (time(1)?, time(1 + options.repetitions)?);
        Ok(((pp + tg) * options.repetitions) as f64 / (all - one).max(1e-9))
    };
    let (read, write) = (rate(options.pp, 0)?, rate(0, options.tg)?);
    let first = first(options.repetitions, options.cpu_time, || program.first())?;
    Ok(Row { name: program.name(), read, write, first })
}

/// Seconds that the processors spent on processes that this one started and that have ended.
fn children_time() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("read /proc/self/stat")?;
    // The name, in parentheses, may contain anything.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok());
    let ticks = ticks(13).zip(ticks(14)).context("/proc/self/stat has no times")?;
    // On Linux, programs see 100 ticks a second, whatever the kernel's are.
    Ok((ticks.0 + ticks.1) / 100.0)
}

/// The median time of a process; its files are in the system's cache after the first time.
fn first(repetitions: usize, cpu_time: bool, command: impl Fn() -> Command) -> Result<f64> {
    let mut times = Vec::new();
    for repetition in 0..=repetitions {
        let (begin, before) = (Instant::now(), children_time()?);
        run::capture(&mut command())?;
        let time = if cpu_time { children_time()? - before } else { begin.elapsed().as_secs_f64() };
        if repetition > 0 {
            times.push(time);
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
    let clock = if options.cpu_time { "the processors' time" } else { "the clock's time" };
    println!("{} with {} threads, {clock}; load before: {load}", options.model, options.threads);
    println!("{}", table.render());
}
