//! What was measured, as text and for files.

use std::fmt;

use serde::Serialize;

/// Everything.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// First line of `clang --version`.
    pub(crate) toolchain: String,
    pub(crate) targets: Vec<String>,
    /// The target that is added.
    pub(crate) more: String,
    pub(crate) sources: usize,
    /// The source that is edited.
    pub(crate) source: String,
    /// The header that is edited.
    pub(crate) header: Option<String>,
    /// Compilers at once.
    pub(crate) jobs: usize,
    /// The machine's load after the last measurement, over one, five and fifteen minutes, as the system says it.
    pub(crate) load: Option<String>,
    pub(crate) cases: Vec<Row>,
}

/// A case and its times.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) case: &'static str,
    /// Objects that are compiled.
    pub(crate) compiled: usize,
    pub(crate) seconds: Vec<f64>,
}

impl Row {
    pub(crate) fn new(case: &'static str) -> Self {
        Self { case, compiled: 0, seconds: Vec::new() }
    }

    /// The median, the shortest and the longest time.
    fn summary(&self) -> Option<(f64, f64, f64)> {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Some((median, first, last))
    }
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
            "{:20} {:>8} {:>10} {:>10} {:>10} {:>5} {:>9}",
            "", "compiled", "median", "shortest", "longest", "times", "of loop"
        )?;
        let all = cases.first().and_then(Row::summary);
        for row in cases {
            let Some((median, shortest, longest)) = row.summary() else { continue };
            let share = all.map_or_else(|| "-".to_owned(), |(all, ..)| format!("{:.3}", median / all));
            writeln!(
                f,
                "{:20} {:>8} {median:>8.3} s {shortest:>8.3} s {longest:>8.3} s {:>5} {share:>9}",
                row.case,
                row.compiled,
                row.seconds.len()
            )?;
        }
        Ok(())
    }
}

/// The load of the machine, where the system says it.
pub(crate) fn load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    Some(text.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_two() {
        let of = |seconds: &[f64]| Row { seconds: seconds.to_vec(), ..Row::new("x") }.summary();
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some((2.0, 1.0, 3.0)));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some((2.5, 1.0, 4.0)));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn each_case_is_compared_with_the_loop() {
        let row = |case, seconds: &[f64]| Row { case, compiled: 8, seconds: seconds.to_vec() };
        let mut report = Report {
            toolchain: "clang version 22".into(),
            targets: vec!["gfx1100".into(), "gfx90a".into()],
            more: "gfx1101".into(),
            sources: 4,
            source: "a.cu".into(),
            header: Some("a.cuh".into()),
            jobs: 2,
            load: None,
            cases: vec![row("plain loop", &[10.0]), row("warm", &[0.25, 0.5, 0.125]), row("cold", &[])],
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
        assert_eq!(words("warm"), ["8", "0.250", "s", "0.125", "s", "0.500", "s", "3", "0.025"]);
        assert!(!text.contains("\ncold"), "{text}");
        report.cases[0].seconds.clear();
        assert!(report.to_string().lines().any(|line| line.starts_with("warm") && line.ends_with(" -")));
    }
}
