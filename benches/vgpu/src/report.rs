//! Figures computed from times, and their output.

use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;
use vgpu::machine::{Executed, Machine};

use crate::opencl::Pocl;
use crate::workload::{Kernel, Workload};

/// All measurements.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) host: Host,
    pub(crate) repeats: u16,
    pub(crate) results: Vec<Measured>,
}

/// The machine that it was measured on.
#[derive(Debug, Serialize)]
pub(crate) struct Host {
    architecture: &'static str,
    /// Cores available to this process.
    cores: usize,
    /// The width of the vectors that the virtual GPU uses.
    vectors: &'static str,
    /// PoCL's version, or why it is missing.
    pocl: Result<String, String>,
}

impl Host {
    pub(crate) fn new(pocl: &Result<Pocl, String>) -> Host {
        Host {
            architecture: std::env::consts::ARCH,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            vectors: Machine::global().vectors(),
            pocl: pocl.as_ref().map(|pocl| pocl.version.clone()).map_err(Clone::clone),
        }
    }
}

/// The device that a kernel ran on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Device {
    /// A virtual GPU of this target.
    Virtual(String),
    Pocl,
}

impl Device {
    fn name(&self) -> &str {
        match self {
            Device::Virtual(target) => target,
            Device::Pocl => "PoCL",
        }
    }
}

/// One kernel on one device with one number of threads.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measured {
    #[serde(serialize_with = "serialize_name")]
    kernel: Kernel,
    device: Device,
    threads: usize,
    /// The median time of a launch.
    seconds: f64,
    /// The shortest time: far below the median if other programs used the cores.
    best_seconds: f64,
    /// All times, in the order of measurement.
    times: Vec<f64>,
    rate: f64,
    unit: &'static str,
    /// Figures of one launch.
    instructions: Option<u64>,
    lane_instructions: Option<u64>,
    lane_instructions_per_second: Option<f64>,
    /// How many times faster than with one thread.
    scaling: Option<f64>,
    /// How many times faster than PoCL with as many threads.
    to_pocl: Option<f64>,
}

impl Measured {
    pub(crate) fn new(
        workload: &Workload,
        device: Device,
        threads: usize,
        times: Vec<Duration>,
        executed: Option<Executed>,
    ) -> Measured {
        let times: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
        let seconds = median(times.clone());
        let lane_instructions = executed.map(|executed| executed.lane_instructions);
        Measured {
            kernel: workload.kernel,
            device,
            threads,
            seconds,
            best_seconds: times.iter().copied().fold(f64::INFINITY, f64::min),
            times,
            rate: workload.work / seconds,
            unit: workload.unit,
            instructions: executed.map(|executed| executed.instructions),
            lane_instructions,
            lane_instructions_per_second: lane_instructions.map(|count| count as f64 / seconds),
            scaling: None,
            to_pocl: None,
        }
    }
}

/// A kernel's name on the command line.
pub(crate) fn name(kernel: Kernel) -> String {
    kernel.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn serialize_name<S: serde::Serializer>(kernel: &Kernel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&name(*kernel))
}

/// The middle one of an odd number of values, the mean of the two middle ones of an even number; zero without
/// values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// Compares the results of one kernel with each other.
pub(crate) fn relate(results: &mut [Measured]) {
    let all = results.to_vec();
    let seconds = |device: &Device, threads: usize| {
        all.iter()
            .find(|other| other.device == *device && other.threads == threads)
            .map(|other| other.seconds)
    };
    for result in results {
        result.scaling =
            seconds(&result.device, 1).filter(|_| result.threads > 1).map(|one| one / result.seconds);
        result.to_pocl = seconds(&Device::Pocl, result.threads)
            .filter(|_| result.device != Device::Pocl)
            .map(|pocl| pocl / result.seconds);
    }
}

/// Prints what is measured and on what, and the header of the table.
pub(crate) fn print_head(host: &Host, repeats: u16) {
    println!("host   {}, {} cores, {}", host.architecture, host.cores, host.vectors);
    match &host.pocl {
        Ok(version) => println!("PoCL   {version}"),
        Err(reason) => println!("PoCL   not compared with: {reason}"),
    }
    println!("times  medians of {repeats} launches, host side, everything in turn");
    println!();
    line(["kernel", "device", "threads", "time", "best", "rate", "lane-instr/s", "to 1 thread", "to PoCL"]);
    println!("{}", "-".repeat(WIDTHS.iter().map(|width| width + 2).sum::<usize>() - 2));
}

const WIDTHS: [usize; 9] = [13, 8, 7, 10, 10, 17, 12, 11, 8];

fn line(cells: [&str; 9]) {
    let mut text = String::new();
    for (index, (cell, width)) in cells.iter().zip(WIDTHS).enumerate() {
        text += &if index < 2 { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
    }
    println!("{}", text.trim_end());
}

fn times(factor: Option<f64>) -> String {
    factor.map_or_else(String::new, |factor| format!("{factor:.2} x"))
}

fn giga(rate: f64) -> String {
    format!("{:.2} G", rate / 1e9)
}

/// Three digits or more.
fn digits(value: f64) -> String {
    let places = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.places$}")
}

/// The lines of one kernel.
pub(crate) fn print_kernel(results: &[Measured], pocl: bool) {
    for result in results {
        let to_pocl = match (&result.device, result.to_pocl) {
            (Device::Pocl, _) => String::new(),
            (_, None) if !pocl => "no PoCL".to_owned(),
            (_, ratio) => times(ratio),
        };
        line([
            &name(result.kernel),
            result.device.name(),
            &result.threads.to_string(),
            &format!("{} ms", digits(result.seconds * 1e3)),
            &format!("{} ms", digits(result.best_seconds * 1e3)),
            &format!("{} {}", digits(result.rate), result.unit),
            &result.lane_instructions_per_second.map_or_else(String::new, giga),
            &times(result.scaling),
            &to_pocl,
        ]);
    }
    println!();
}

/// A summary of the table: the slowest kernel and the mean of the ratios, per device and number of threads.
pub(crate) fn print_summary(results: &[Measured]) {
    let mut seen: Vec<(&Device, usize)> = Vec::new();
    for result in results {
        let key = (&result.device, result.threads);
        if result.device == Device::Pocl || seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let own = || results.iter().filter(|other| (&other.device, other.threads) == key);
        let slowest =
            own().filter_map(|other| other.lane_instructions_per_second).fold(f64::INFINITY, f64::min);
        print!("{:<8}  {:>2} threads: at least {} lane-instr/s", key.0.name(), key.1, giga(slowest));
        for (what, ratios) in [
            ("1 thread", own().filter_map(|other| other.scaling).collect::<Vec<_>>()),
            ("PoCL", own().filter_map(|other| other.to_pocl).collect()),
        ] {
            if let Some(mean) = geometric_mean(&ratios) {
                print!("; {mean:.2} x {what}");
            }
        }
        println!();
    }
    println!(
        "(lane-instructions are instructions executed times lanes of the wave; ratios are geometric means)"
    );
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_means() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(Vec::new()), 0.0);
        assert_eq!(geometric_mean(&[]), None);
        assert!((geometric_mean(&[0.5, 8.0]).unwrap() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn results_relate_to_one_thread_and_to_pocl_with_as_many_threads() {
        let workload = Workload::new(Kernel::Alu);
        let of = |device: &Device, threads, seconds| {
            let times = vec![Duration::from_secs(seconds)];
            Measured::new(&workload, device.clone(), threads, times, None)
        };
        let gpu = Device::Virtual("gfx1100".to_owned());
        let mut results = [
            of(&gpu, 1, 8),
            of(&gpu, 2, 4),
            of(&gpu, 4, 2),
            of(&Device::Pocl, 1, 4),
            of(&Device::Pocl, 2, 3),
        ];
        relate(&mut results);
        let scaling = results.each_ref().map(|result| result.scaling);
        assert_eq!(scaling, [None, Some(2.0), Some(4.0), None, Some(4.0 / 3.0)]);
        let to_pocl = results.each_ref().map(|result| result.to_pocl);
        assert_eq!(to_pocl, [Some(0.5), Some(0.75), None, None, None]);
    }
}
