//! The results, as text and for files.

use std::fmt;

use serde::Serialize;

/// All results.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// First line of `clang --version`.
    pub(crate) toolchain: String,
    pub(crate) targets: Vec<String>,
    /// The added target.
    pub(crate) more: String,
    pub(crate) sources: usize,
    /// The edited source.
    pub(crate) source: String,
    /// The edited header.
    pub(crate) header: Option<String>,
    /// Compilers at once.
    pub(crate) jobs: usize,
    /// The machine's load after the last measurement, over one, five and fifteen minutes, as the system
    /// reports it.
    pub(crate) load: Option<String>,
    pub(crate) cases: Vec<Row>,
}

/// A case and its times.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) case: &'static str,
    /// Compiled objects.
    pub(crate) compiled: usize,
    pub(crate) seconds: Vec<f64>,
    /// Processor time of all processes together, if the system reports it. Other work on the machine hardly
    /// changes it.
    pub(crate) processor_seconds: Vec<f64>,
}

impl Row {
    pub(crate) fn new(case: &'static str) -> Self {
        Self { case, compiled: 0, seconds: Vec::new(), processor_seconds: Vec::new() }
    }
}

/// The median, the shortest and the longest of several times.
fn summary(seconds: &[f64]) -> Option<(f64, f64, f64)> {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let median =
        if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
    Some((median, first, last))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { toolchain, targets, more, sources, source, header, jobs, load, cases } = self;
        writeln!(f, "{toolchain}; {sources} sources for {}", targets.join(", "))?;
        writeln!(
            f,
            "builds run {jobs} compilers at once, the loop one; load {}",
            load.as_deref().unwrap_or("not known")
        )?;
        writeln!(
            f,
            "edited: {source}, {}; one target more: {more}\n",
            header.as_deref().unwrap_or("no header")
        )?;
        writeln!(
            f,
            "{:18} {:>8} {:>10} {:>11} {:>11} {:>5} {:>8}  {:>11} {:>8}",
            "", "compiled", "median", "shortest", "longest", "times", "of loop", "processor", "of loop"
        )?;
        let plain = cases.first();
        let part = |of: Option<f64>, all: Option<&[f64]>| match (of, all.and_then(summary)) {
            (Some(of), Some((all, ..))) => format!("{:.4}", of / all),
            _ => "-".to_owned(),
        };
        for row in cases {
            let Some((median, shortest, longest)) = summary(&row.seconds) else { continue };
            let share = part(Some(median), plain.map(|row| &*row.seconds));
            let processor = summary(&row.processor_seconds).map(|(median, ..)| median);
            let processor_share = part(processor, plain.map(|row| &*row.processor_seconds));
            let processor = processor.map_or_else(|| "-".to_owned(), |time| format!("{time:.2} s"));
            writeln!(
                f,
                "{:18} {:>8} {median:>8.3} s {shortest:>9.3} s {longest:>9.3} s {:>5} {share:>8}  {processor:>11} {processor_share:>8}",
                row.case,
                row.compiled,
                row.seconds.len()
            )?;
        }
        Ok(())
    }
}

/// Processor time of the ended child processes, in seconds, if the system reports it.
pub(crate) fn processor_seconds() -> Option<f64> {
    children(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// The sum of `cutime` and `cstime` in a text of `/proc/PID/stat`, in hundredths of a second.
fn children(stat: &str) -> Option<f64> {
    // The name of the program comes before, in brackets, and may have spaces. The state follows, the third of
    // all fields.
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    Some((field(16)? + field(17)?) / 100.0)
}

/// The load of the machine, if the system reports it.
pub(crate) fn load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    Some(text.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_two() {
        assert_eq!(summary(&[3.0, 1.0, 2.0]), Some((2.0, 1.0, 3.0)));
        assert_eq!(summary(&[4.0, 1.0, 2.0, 3.0]), Some((2.5, 1.0, 4.0)));
        assert_eq!(summary(&[]), None);
    }

    #[test]
    fn processor_time_is_that_of_children() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 100 200 0 0 11 12 250 50 20 0 1 0 99";
        assert_eq!(children(stat), Some(3.0));
        assert_eq!(children("7 (a) S 1"), None);
    }

    #[test]
    fn each_case_is_compared_with_the_loop() {
        let row = |case, seconds: &[f64], processor: &[f64]| Row {
            case,
            compiled: 8,
            seconds: seconds.to_vec(),
            processor_seconds: processor.to_vec(),
        };
        let mut report = Report {
            toolchain: "clang version 22".into(),
            targets: vec!["gfx1100".into(), "gfx90a".into()],
            more: "gfx1101".into(),
            sources: 4,
            source: "a.cu".into(),
            header: Some("a.cuh".into()),
            jobs: 2,
            load: None,
            cases: vec![
                row("plain loop", &[10.0], &[5.0]),
                row("warm", &[0.25, 0.5, 0.125], &[0.5]),
                row("cold", &[], &[]),
            ],
        };
        let text = report.to_string();
        assert!(
            text.contains("4 sources for gfx1100, gfx90a\n") && text.contains("edited: a.cu, a.cuh;"),
            "{text}"
        );
        let words = |case: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.starts_with(case)).unwrap();
            line[case.len()..].split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(
            words("warm"),
            ["8", "0.250", "s", "0.125", "s", "0.500", "s", "3", "0.0250", "0.50", "s", "0.1000"]
        );
        assert!(!text.contains("\ncold"), "{text}");
        report.cases[0] = row("plain loop", &[], &[]);
        let text = report.to_string();
        assert_eq!(
            text.lines().find(|line| line.starts_with("warm")).unwrap().matches(" -").count(),
            2,
            "{text}"
        );
    }
}
