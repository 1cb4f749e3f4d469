//! What the safe API costs over raw calls of the same library: launches, copies, allocations, events, graphs.
//!
//! `cargo xtask bench hip` runs it; docs/benchmarks.md says what the figures mean.

mod cases;
mod measure;
mod raw;

use clap::Parser;

/// Measures the safe API against raw calls.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench hip")]
struct Arguments {
    /// The device; FERROCM_DEVICE, else `auto`, unless given
    #[arg(long, value_name = "URI")]
    device: Option<String>,
    /// How often each case is measured
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// Operations between two readings of the clock
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Only cases whose name has this in it
    #[arg(long = "case", value_name = "TEXT")]
    case: Option<String>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let device = match &arguments.device {
        Some(uri) => hip::Device::open(uri)?,
        None => hip::Device::open_default()?,
    };
    println!("device  {device}");
    println!(
        "times   of one operation, host side; medians of {} batches of {}, both sides in turn",
        arguments.repeat, arguments.batch
    );
    println!();
    let plan = measure::Plan { repeats: arguments.repeat.into(), batch: arguments.batch.into() };
    cases::run(&device, &plan, arguments.case.as_deref())
}
