//! Output of the figures.

use vgpu::machine::Machine;

use crate::measure::Measured;
use crate::peaks::Gpu;

/// Prints what is measured, and on what.
pub(crate) fn print_head(repeat: u16) {
    println!("machine     {}", machine());
    println!("time        on the virtual GPU, median of {repeat} runs");
    println!(
        "estimate    peak arithmetic or memory of the real GPU, whichever is slower; no kernel reaches it"
    );
    println!(
        "in flight   bytes of vector loads on the way in a compute unit of the real GPU with as many waves as fit"
    );
    println!(
        "latency     the bandwidth that this allows, and its part of the estimate's; below 1, latency is slower"
    );
    println!(
        "moved       bytes of global memory that all lanes read and wrote, compared with what any implementation must"
    );
    println!();
}

/// The machine that the virtual GPU runs on.
pub(crate) fn machine() -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} vectors, {threads} threads", Machine::global().vectors())
}

/// The name of the real GPU.
pub(crate) fn estimate(row: &Measured) -> String {
    row.roofline_seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{:.2} us", seconds * 1e6))
}

/// The bandwidth that latency allows.
pub(crate) fn latency_bandwidth(row: &Measured) -> String {
    row.latency_bandwidth().map_or_else(|| "-".to_owned(), |rate| format!("{:.0} GB/s", rate * 1e-9))
}

/// The part of the estimate's rate that latency allows.
pub(crate) fn latency_part(row: &Measured) -> String {
    row.latency_part().map_or_else(|| "-".to_owned(), |part| format!("{part:.2}"))
}

/// Where the latency of a target's GPU comes from.
pub(crate) fn latency_source(target: &str) -> String {
    let latency = Gpu::of(target).and_then(|gpu| gpu.latency.as_ref());
    latency.map_or_else(
        || "no latency of its memory is known".to_owned(),
        |latency| format!("latency of memory {:.0} ns, {}", latency.memory, latency.source),
    )
}

/// The cases of a target.
pub(crate) fn print(target: &str, measured: &[Measured]) {
    let name = Gpu::of(target).map_or("no GPU is known for this target", |gpu| gpu.name);
    println!("{target} ({name})");
    println!("  {}", latency_source(target));
    println!(
        "  {:<34}{:>13}{:>10}{:>15}{:>10}{:>13}{:>8}{:>10}{:>8}{:>12}{:>12}{:>11}{:>12}{:>8}",
        "case",
        "instructions",
        "matrix",
        "lane instr.",
        "FLOP each",
        "moved",
        "times",
        "conflicts",
        "waves",
        "time",
        "estimate",
        "in flight",
        "latency",
        "part"
    );
    for row in measured {
        println!(
            "  {:<34}{:>13}{:>10}{:>15}{:>10.2}{:>13}{:>8.2}{:>9.1}%{:>8}{:>9.2} ms{:>12}{:>11.0}{:>12}{:>8}",
            row.case,
            row.instructions,
            row.matrix_instructions,
            row.lane_instructions,
            row.flops_each(),
            row.bytes,
            row.times_moved(),
            100.0 * row.lds_conflicts,
            format!("{}/{}", row.occupancy.0, row.occupancy.1),
            row.seconds * 1e3,
            estimate(row),
            row.bytes_in_flight,
            latency_bandwidth(row),
            latency_part(row)
        );
    }
    println!();
}
