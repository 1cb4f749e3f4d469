//! Measures the overhead of the safe API over raw calls of the same library, or of one library over another:
//! launches, copies, allocations, events, graphs.
//!
//! `cargo xtask bench hip` and `cargo xtask bench hip-on-hsa` run it; docs/contribute/benchmarks.md says what
//! the figures mean.

mod cases;
mod measure;
mod raw;

use clap::Parser;

/// The compiled kernels.
#[allow(unreachable_pub, dead_code, reason = "generated for libraries, which publish it")]
mod modules {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// Measures the safe API against raw calls, or raw calls on two devices against each other.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench hip")]
struct Arguments {
    /// The device [default: FERROCM_DEVICE, otherwise `auto`]
    #[arg(long, value_name = "URI")]
    device: Option<String>,
    /// Compare raw calls on the device with raw calls on this one, instead of the safe API with raw calls
    #[arg(long, value_name = "URI")]
    against: Option<String>,
    /// How often to measure each case
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// Operations between two readings of the clock
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Only cases whose name contains this
    #[arg(long = "case", value_name = "TEXT")]
    case: Option<String>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let device = match &arguments.device {
        Some(uri) => hip::Device::open(uri)?,
        None => hip::Device::open_default()?,
    };
    let against = arguments.against.as_deref().map(hip::Device::open).transpose()?;
    println!("device  {device}");
    if let Some(against) = &against {
        println!("against {against}");
    }
    println!(
        "times   of one operation, host side; medians of {} batches of {}, both sides in turn",
        arguments.repeat, arguments.batch
    );
    println!();
    let plan = measure::Plan { repeats: arguments.repeat.into(), batch: arguments.batch.into() };
    let selection = cases::Selection { plan: &plan, only: arguments.case.as_deref() };
    match &against {
        Some(against) => cases::libraries(selection, &device, against),
        None => cases::safe_api(selection, &device),
    }
}
