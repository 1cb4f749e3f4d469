//! Measures recorded work of `hal` against streams and graphs of `hip` on the same virtual GPU, and of AMD's
//! library on another one: empty kernels in a chain, independent ones, and a fan-out; recording; and a
//! semaphore's way from queue to queue.
//!
//! `cargo xtask bench hal` runs it; docs/contribute/benchmarks.md says what the figures mean.

mod hip_side;
mod recorded;

use std::time::{Duration, Instant};

use clap::Parser;

/// The compiled kernel.
#[allow(unreachable_pub, dead_code, reason = "generated for libraries, which publish it")]
mod modules {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// Measures recorded work of `hal` against streams and graphs of `hip`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench hal")]
struct Arguments {
    /// The virtual GPU: its target and parameters
    #[arg(long, value_name = "URI", default_value = "vgpu:gfx1100?cus=2")]
    device: String,
    /// A device of another HIP library, such as AMD's, to compare with, too
    #[arg(long, value_name = "URI")]
    against: Option<String>,
    /// Kernels of a list
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    kernels: u32,
    /// How often to measure each case
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
}

/// How the kernels of a list depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// Each on the one before it.
    Chain,
    /// None on another.
    Independent,
    /// All but the last on the first, and the last on all.
    FanOut,
}

impl Shape {
    const ALL: [Self; 3] = [Self::Chain, Self::Independent, Self::FanOut];

    fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Independent => "independent",
            Self::FanOut => "fan-out",
        }
    }
}

/// One way to run a list of kernels.
trait Side {
    fn name(&self) -> &'static str;
    /// Hands the list over.
    fn submit(&mut self) -> anyhow::Result<()>;
    /// Waits until everything is done.
    fn wait(&mut self) -> anyhow::Result<()>;
}

/// The length of the list whose submission has a bar of its own.
const LONG: u32 = 5000;

/// Kernels of a step of a model.
const STEP: u32 = 500;

/// A figure that has a limit.
struct Bar {
    what: &'static str,
    value: f64,
    most: f64,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let (count, repeat) = (arguments.kernels, usize::from(arguments.repeat));
    let with_hip = hip::Device::open(&arguments.device)?;
    let against = arguments.against.as_deref().map(hip::Device::open).transpose()?;
    let straight = recorded::open(&with_hip)?;
    println!("device  {with_hip}");
    if let Some(against) = &against {
        println!("against {against}");
    }
    println!("times   of one kernel of {count}, medians of {repeat}, the ways in turn; load {}", load());
    println!();
    println!("{:<13} {:<12} {:>12} {:>12} {:>12}", "shape", "way", "to submit", "its thread", "until done");
    println!("{}", "-".repeat(65));
    let (mut slowest, mut part): (f64, f64) = (0.0, 0.0);
    for shape in Shape::ALL {
        let mut sides: Vec<Box<dyn Side>> = vec![
            Box::new(recorded::Replay::new(&straight, shape, count)?),
            Box::new(hip_side::Graph::new("graph", &with_hip, shape, count)?),
            Box::new(hip_side::Stream::new("stream", &with_hip, count)?),
        ];
        if let Some(against) = &against {
            sides.push(Box::new(hip_side::Graph::new("graph, AMD", against, shape, count)?));
            sides.push(Box::new(hip_side::Stream::new("stream, AMD", against, count)?));
        }
        let times = in_turn(&mut sides, repeat)?;
        for (side, times) in sides.iter().zip(&times) {
            let [submit, thread, whole] =
                times.map(|time| format!("{:.0} ns", time.as_secs_f64() / f64::from(count) * 1e9));
            println!("{:<13} {:<12} {submit:>12} {thread:>12} {whole:>12}", shape.name(), side.name());
        }
        slowest = slowest.max(times[0][1].as_secs_f64() / f64::from(count) * 1e6);
        part = part.max(times[0][1].as_secs_f64() / times[2][1].as_secs_f64());
    }
    println!();
    println!("{:<42} {:>14}", "once", "time");
    println!("{}", "-".repeat(57));
    let once = |name: &str, work: &mut dyn FnMut() -> anyhow::Result<Duration>| -> anyhow::Result<f64> {
        let mut times = (0..repeat).map(|_| work()).collect::<anyhow::Result<Vec<_>>>()?;
        let time = median(&mut times).as_secs_f64() * 1e6;
        println!("{name:<42} {time:>11.1} µs");
        Ok(time)
    };
    let mut long: f64 = 0.0;
    for shape in Shape::ALL {
        let mut replay = recorded::Replay::new(&straight, shape, LONG)?;
        recorded::time_to_submit(&mut replay)?;
        let name = format!("submit {LONG} kernels, {}", shape.name());
        once(&name, &mut || Ok(recorded::time_to_submit(&mut replay)?[0]))?;
        let thread = format!("{name}, its thread");
        long = long.max(once(&thread, &mut || Ok(recorded::time_to_submit(&mut replay)?[1]))?);
    }
    let record = once("record 512 kernels", &mut || recorded::time_to_record(&straight, 512))?;
    once("build a graph of 512 kernels", &mut || hip_side::time_to_build(&with_hip, 512))?;
    let mut around = hip_side::Around::new(&with_hip)?;
    let graph = hip_side::Graph::new("graph", &with_hip, Shape::Chain, STEP)?;
    let mut step = recorded::Replay::new(&straight, Shape::Chain, STEP)?;
    once("a step between two copies, by a graph", &mut || around.graph(&graph))?;
    once("a step between two copies, by hal", &mut || around.elsewhere(&mut step))?;
    let hop = once("semaphore from queue to queue", &mut || recorded::time_of_a_hop(&straight))?;
    let event = once("event from stream to stream", &mut || hip_side::time_of_a_hop(&with_hip))?;
    let mut bars = vec![
        Bar { what: "to submit a kernel at replay, µs", value: slowest, most: 1.0 },
        Bar { what: "to submit 5000 kernels at replay, µs", value: long, most: 50.0 },
        Bar { what: "to submit, of the time of a stream", value: part, most: 0.2 },
        Bar { what: "a hop, of the time of an event", value: hop / event, most: 0.5 },
    ];
    if let Some(against) = &against {
        let build = once("build a graph of 512 kernels, AMD", &mut || hip_side::time_to_build(against, 512))?;
        once("event from stream to stream, AMD", &mut || hip_side::time_of_a_hop(against))?;
        bars.push(Bar {
            what: "to record, of the time to build AMD's graph",
            value: record / build,
            most: 0.1,
        });
    }
    println!();
    println!("{:<46} {:>8} {:>8}", "bar", "measured", "at most");
    println!("{}", "-".repeat(64));
    for Bar { what, value, most } in bars {
        println!("{what:<46} {value:>8.3} {most:>8}{}", if value <= most { "" } else { "  missed" });
    }
    Ok(())
}

/// The time to submit, the time of a processor in it, and the time until everything is done, the sides in
/// turn; the median of each.
fn in_turn(sides: &mut [Box<dyn Side>], repeat: usize) -> anyhow::Result<Vec<[Duration; 3]>> {
    let mut times = vec![[Vec::new(), Vec::new(), Vec::new()]; sides.len()];
    // The first round does what is done once.
    for round in 0..=repeat {
        for offset in 0..sides.len() {
            // Each is first once.
            let index = (round + offset) % sides.len();
            let (start, start_of_thread) = (Instant::now(), thread_time());
            sides[index].submit()?;
            let (submitted, thread) = (start.elapsed(), thread_time() - start_of_thread);
            sides[index].wait()?;
            let done = start.elapsed();
            if round != 0 {
                for (list, time) in times[index].iter_mut().zip([submitted, thread, done]) {
                    list.push(time);
                }
            }
        }
    }
    Ok(times.iter_mut().map(|lists| lists.each_mut().map(|list| median(list))).collect())
}

/// How long a processor has worked for this thread.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for a write.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The machine's load, because times depend on it.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
