//! Reports as plain text, Markdown and CSV.

use std::fmt::Write as _;

use super::document::{Cell, Document, Table};
use crate::compare::figures::FIGURES;
use crate::compare::{Comparison, Estimate};

/// For a terminal.
pub(super) fn terminal(document: &Document) -> String {
    let mut out = String::new();
    for answer in &document.answers {
        let _ = writeln!(out, "{}", clean(&answer.text()));
    }
    for warning in &document.warnings {
        let _ = writeln!(out, "warning: {}", clean(warning));
    }
    for table in &document.tables {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&aligned(table));
    }
    out.push('\n');
    for note in &document.notes {
        let _ = writeln!(out, "note: {}", clean(note));
    }
    out
}

/// A name from a file must not move the cursor or change colours.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Columns as wide as their widest cell: text is left-aligned, everything else right-aligned.
fn aligned(table: &Table) -> String {
    let text = |cell: &Cell| match &cell.change {
        Some(change) => clean(&format!("{}  {change}", cell.text)),
        None => clean(&cell.text),
    };
    let header: Vec<String> = table.columns.iter().map(|column| clean(column)).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|i| {
            let cells = rows.iter().map(|row| row.get(i).map_or(0, |cell| cell.chars().count()));
            cells.chain([header[i].chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let mut out = format!("{}\n", clean(&table.title));
    for row in std::iter::once(&header).chain(&rows) {
        let mut line = String::from(" ");
        for (i, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[i].saturating_sub(cell.chars().count()));
            let _ = if i == 0 { write!(line, " {cell}{pad}") } else { write!(line, "   {pad}{cell}") };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// For a page on a code host.
pub(super) fn markdown(document: &Document, title: &str) -> String {
    let mut out = format!("# {}\n", markdown_text(title));
    if !document.answers.is_empty() {
        out.push('\n');
    }
    for answer in &document.answers {
        let _ = writeln!(out, "- **{}**", markdown_text(&answer.text()));
    }
    if !document.warnings.is_empty() {
        out.push_str("\n> [!WARNING]\n");
        for warning in &document.warnings {
            let _ = writeln!(out, "> - {}", markdown_text(warning));
        }
    }
    for table in &document.tables {
        let _ = writeln!(out, "\n## {}\n", markdown_text(&table.title));
        if !table.about.is_empty() {
            let _ = writeln!(out, "{}\n", markdown_text(&table.about));
        }
        let _ = writeln!(
            out,
            "| {} |",
            table.columns.iter().map(|text| markdown_text(text)).collect::<Vec<_>>().join(" | ")
        );
        let _ = writeln!(out, "|---|{}", "---:|".repeat(table.columns.len() - 1));
        for row in &table.rows {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| match &cell.change {
                    Some(change) => markdown_text(&format!("{} ({change})", cell.text)),
                    None => markdown_text(&cell.text),
                })
                .collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
    out.push_str("\n## Notes\n\n");
    for note in &document.notes {
        let _ = writeln!(out, "- {}", markdown_text(note));
    }
    out
}

/// Text that Markdown shows unchanged.
fn markdown_text(text: &str) -> String {
    let mut out = String::new();
    for c in clean(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '!' | '~' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// One line for each run and figure, in the units of JSON.
pub(super) fn csv(comparison: &Comparison) -> String {
    let mut out = String::from("run,figure,value,low,high\n");
    let mut line = |run: &str, figure: &str, estimate: Estimate| {
        let end = |end: Option<f64>| end.map_or(String::new(), |end| end.to_string());
        let _ = writeln!(
            out,
            "{},{},{},{},{}",
            csv_text(run),
            csv_text(figure),
            estimate.value,
            end(estimate.low),
            end(estimate.high)
        );
    };
    for run in &comparison.runs {
        for figure in FIGURES {
            if let Some(estimate) = run.figure(figure.key) {
                line(&run.label, figure.key, estimate);
            }
        }
        for one in &run.measurements {
            let name = format!("{}: {}", one.name.0, one.name.1);
            line(&run.label, &format!("{name} (s)"), one.seconds);
            if let Some(tflops) = one.tflops {
                line(&run.label, &format!("{name} (TFLOP/s)"), tflops);
            }
            if let Some(gb) = one.gb_per_second {
                line(&run.label, &format!("{name} (GB/s)"), gb);
            }
        }
    }
    for speedup in &comparison.speedups {
        for (name, estimate) in [
            ("speedup_per_gpu", speedup.per_gpu),
            ("speedup_per_node", speedup.per_node),
            ("speedup_step", speedup.step),
        ] {
            if let Some(estimate) = estimate {
                line(&speedup.label, name, estimate);
            }
        }
    }
    out
}

/// A field of RFC 4180. A spreadsheet treats text beginning with `=` or the like as a formula, so it gets an
/// apostrophe.
fn csv_text(text: &str) -> String {
    let text = clean(text);
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text };
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}
