//! Two ways to do one thing, timed in turn.

use std::time::{Duration, Instant};

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) repeats: usize,
    /// Operations between two readings of the clock.
    pub(crate) batch: usize,
}

/// One side of a comparison: does an operation the given number of times.
pub(crate) type Side<'a> = &'a mut dyn FnMut(usize) -> anyhow::Result<()>;

/// Times both sides in turn, `batch` operations at once, and prints the medians of one operation and of the
/// ratio. `settle` runs after each batch, outside of the timed section.
pub(crate) fn compare(
    plan: &Plan,
    name: &str,
    batch: usize,
    raw: Side<'_>,
    ours: Side<'_>,
    settle: &mut dyn FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut time = |side: &mut dyn FnMut(usize) -> anyhow::Result<()>| -> anyhow::Result<Duration> {
        let start = Instant::now();
        side(batch)?;
        let elapsed = start.elapsed();
        settle()?;
        Ok(elapsed)
    };
    // The first round does the one-time initialisation.
    time(raw)?;
    time(ours)?;
    let (mut of_raw, mut of_ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..plan.repeats {
        // The sides take turns to go first.
        let (a, b) = if round % 2 == 0 {
            let a = time(raw)?;
            (a, time(ours)?)
        } else {
            let b = time(ours)?;
            (time(raw)?, b)
        };
        ratios.push(b.as_secs_f64() / a.as_secs_f64());
        of_raw.push(a.as_secs_f64());
        of_ours.push(b.as_secs_f64());
    }
    let each = |seconds: f64| format!("{:.0} ns", seconds / batch as f64 * 1e9);
    println!(
        "{name:<34} {:>11} {:>11} {:>8.3} x",
        each(median(&mut of_raw)),
        each(median(&mut of_ours)),
        median(&mut ratios)
    );
    Ok(())
}

/// Prints the header of the table, with the names of both sides.
pub(crate) fn print_head(raw: &str, ours: &str) {
    println!("{:<34} {raw:>11} {ours:>11} {:>10}", "operation", "ratio");
    println!("{}", "-".repeat(69));
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
