//! Reports as text and JSON.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use crate::{Finding, Stats};

/// A file and its findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileReport {
    /// The path as given.
    pub path: String,
    /// What does not translate.
    pub findings: Vec<Finding>,
    /// What was translated.
    pub stats: Stats,
}

impl FileReport {
    /// The report on a file.
    #[must_use]
    pub fn new(path: &Path, findings: Vec<Finding>, stats: Stats) -> Self {
        Self { path: path.display().to_string(), findings, stats }
    }
}

/// A whole report, for JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    files: &'a [FileReport],
    summary: Summary,
}

#[derive(Debug, Serialize)]
struct Summary {
    files: usize,
    lines: usize,
    converted: usize,
    launches: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    by_family: std::collections::BTreeMap<&'static str, usize>,
    by_kind: std::collections::BTreeMap<&'static str, usize>,
}

/// The counts of several files together.
#[must_use]
pub fn total(files: &[FileReport]) -> Stats {
    files.iter().fold(Stats::default(), |mut total, file| {
        total.add(&file.stats);
        total
    })
}

/// Findings in the format of compiler messages, each followed by its advice.
#[must_use]
pub fn findings(file: &FileReport) -> String {
    let mut text = String::new();
    for Finding { line, column, rule, severity, message, advice, .. } in &file.findings {
        let _ = writeln!(text, "{}:{line}:{column}: {severity}: {message} [{rule}]", file.path);
        let _ = writeln!(text, "    {advice}");
    }
    text
}

/// The number of findings, in one line.
#[must_use]
pub fn conclusion(total: &Stats) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!(
        "{} in {} ({}): {}, {}, {}\n",
        counted(total.converted(), "name"),
        counted(total.files, "file"),
        counted(total.lines, "line"),
        counted(total.errors, "error"),
        counted(total.warnings, "warning"),
        counted(total.notes, "note"),
    )
}

/// Counts by family, kind and name, like hipify-perl's `-examine`.
#[must_use]
pub fn statistics(what: &str, stats: &Stats) -> String {
    let mut text = format!("{what}:\n");
    let mut table = |title: &str, rows: &mut dyn Iterator<Item = (String, usize)>| {
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(text, "  {title}");
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, count) in rows {
            let _ = writeln!(text, "    {name:width$} {count:>6}");
        }
    };
    let owned = |(name, count): (&str, usize)| (name.to_owned(), count);
    let rows = [
        ("lines", stats.lines),
        ("names translated", stats.converted()),
        ("launches", stats.launches),
        ("errors", stats.errors),
        ("warnings", stats.warnings),
        ("notes", stats.notes),
    ];
    table("in all", &mut rows.into_iter().map(owned));
    table("by family", &mut stats.by_family().into_iter().map(owned));
    table("by kind", &mut stats.by_kind().into_iter().map(owned));
    table(
        "by name",
        &mut stats.names.iter().map(|count| {
            let to = if count.to.is_empty() { "(left out)" } else { count.to };
            (format!("{} => {to}", count.name), count.count)
        }),
    );
    text
}

/// The report as JSON: files with their findings and counts, and a summary.
///
/// # Errors
/// None known: all types can be serialised.
pub fn json(files: &[FileReport]) -> serde_json::Result<String> {
    let total = total(files);
    let summary = Summary {
        files: total.files,
        lines: total.lines,
        converted: total.converted(),
        launches: total.launches,
        errors: total.errors,
        warnings: total.warnings,
        notes: total.notes,
        by_family: total.by_family(),
        by_kind: total.by_kind(),
    };
    serde_json::to_string_pretty(&Report { files, summary }).map(|text| text + "\n")
}
