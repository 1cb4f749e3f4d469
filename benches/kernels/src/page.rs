//! `docs/generated/kernels-bench.md`.

use std::fmt::Write as _;

use crate::measure::Measured;
use crate::peaks::Gpu;
use crate::report;

/// From this fraction, the page says that the machine was busy.
const BUSY: f64 = 0.05;

/// The page with all cases on all targets. `others` is the fraction of the machine's processor time that
/// other processes used.
pub(crate) fn write(targets: &[&str], measured: &[Measured], repeat: u16, others: Option<f64>) -> String {
    let mut page = String::from(
        "# What the kernels execute and move\n\n\
         `cargo xtask bench kernels --page docs/generated/kernels-bench.md` writes this page; [benchmarks.md](../contribute/benchmarks.md#kernels) says what the columns\n\
         mean. Counts do not depend on the machine that they are made on.\n\n",
    );
    let _ =
        writeln!(page, "Times are those of virtual GPUs, medians of {repeat} runs, {}.\n", report::machine());
    page += &match others {
        Some(part) if part >= BUSY => format!(
            "**The machine was busy**: other processes had {:.0} % of its processor time meanwhile. Times are longer for that.\n",
            100.0 * part
        ),
        Some(part) => {
            format!("Other processes had {:.0} % of the machine's processor time meanwhile.\n", 100.0 * part)
        }
        None => "How busy the machine was is not known.\n".to_owned(),
    };
    page += "\nThe column *estimate* is for the real GPU that the heading names, from its data sheet: its peak arithmetic or memory, whichever is\n\
             slower, for what the operation has to compute and move. Nothing here has run on one, and no kernel is as fast. *In flight* are bytes of vector\n\
             loads on the way in a compute unit that holds as many waves as fit; *latency* is the bandwidth that they allow if each request takes the\n\
             latency that the heading names, and *part* what this is of the estimate's rate: below 1, waits for memory take longer than the estimate.\n";
    compared(&mut page, targets, measured);
    for target in targets {
        let name = Gpu::of(target).map_or("no GPU is known for it", |gpu| gpu.name);
        let _ = write!(
            page,
            "\n## {target} ({name})\n\n{}.\n\n\
             | case | instructions | matrix | lane instr. | FLOP each | moved | has to | times | conflicts | waves | time, virtual | estimate, real | in flight | latency | part |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
            capital(&report::latency_source(target))
        );
        for row in on(measured, target) {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {:.2} | {} | {} | {:.2} | {:.1} % | {}/{} | {:.2} ms | {} | {} | {} | {} |",
                row.case,
                grouped(row.instructions),
                grouped(row.matrix_instructions),
                grouped(row.lane_instructions),
                row.flops_each(),
                grouped(row.bytes),
                grouped(row.needed_bytes),
                row.times_moved(),
                100.0 * row.lds_conflicts,
                row.occupancy.0,
                row.occupancy.1,
                row.seconds * 1e3,
                report::estimate(row),
                grouped(row.bytes_in_flight.round() as u64),
                report::latency_bandwidth(row),
                report::latency_part(row),
            );
        }
    }
    page
}

/// The cases of a target.
fn on<'a>(measured: &'a [Measured], target: &'a str) -> impl Iterator<Item = &'a Measured> {
    measured.iter().filter(move |row| row.target == target)
}

/// The targets side by side.
fn compared(page: &mut String, targets: &[&str], measured: &[Measured]) {
    *page += "\n## All targets\n\nFLOP by lane instruction, and how many times the bytes that it has to each case moves.\n\n| case |";
    targets.iter().for_each(|target| *page += &format!(" {target} | |"));
    *page += "\n|---|";
    targets.iter().for_each(|_| *page += "---:|---:|");
    *page += "\n";
    for first in targets.first().into_iter().flat_map(|target| on(measured, target)) {
        let _ = write!(page, "| {} |", first.case);
        for row in targets.iter().flat_map(|target| on(measured, target).find(|row| row.case == first.case)) {
            let _ = write!(page, " {:.2} | {:.2} × |", row.flops_each(), row.times_moved());
        }
        *page += "\n";
    }
}

/// With a capital letter in front.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// With a comma between every three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_groups_of_three() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (6_504_448, "6,504,448")]
        {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn every_case_has_a_row_for_each_target() {
        let measured = |case: &str, target: &str| Measured {
            case: case.to_owned(),
            target: target.to_owned(),
            kernels: Vec::new(),
            instructions: 1000,
            matrix_instructions: 4,
            lane_instructions: 200,
            flops: 100,
            bytes: 3000,
            needed_bytes: 1000,
            lds_conflicts: 0.125,
            occupancy: (8, 16),
            seconds: 0.0015,
            roofline_seconds: Some(2.5e-6),
            bytes_in_flight: 32768.4,
            latency_seconds: Some(1e-6),
        };
        let all = ["gfx90a", "gfx1100"].map(|target| ["a", "b"].map(|case| measured(case, target)));
        let page = write(&["gfx90a", "gfx1100"], &all.concat(), 3, Some(0.25));
        assert!(
            page.contains("had 25 % of its processor time") && page.contains("medians of 3 runs"),
            "{page}"
        );
        assert!(page.contains("| case | gfx90a | | gfx1100 | |\n|---|---:|---:|---:|---:|\n| a | 0.50 | 3.00 × | 0.50 | 3.00 × |\n| b |"));
        let row = "| b | 1,000 | 4 | 200 | 0.50 | 3,000 | 1,000 | 3.00 | 12.5 % | 8/16 | 1.50 ms | 2.50 us | 32,768 | 1 GB/s | 2.50 |\n";
        assert_eq!(page.matches(row).count(), 2, "{page}");
        assert!(page.contains("## gfx90a (Instinct MI210)") && page.ends_with(row));
        assert!(
            !write(&[], &[], 3, Some(0.01)).contains("busy**")
                && write(&[], &[], 3, None).contains("not known")
        );
    }
}
