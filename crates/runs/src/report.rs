//! Comparisons as reports: for a terminal, as Markdown, HTML, CSV and JSON, and their charts as SVG.
//!
//! All formats show the same document. Names come from other people's files, so each format escapes them: a
//! name cannot add an element to a page, a column to a table or a colour to a terminal.

mod charts;
mod document;
mod html;
mod style;
mod text;

pub use self::charts::{Chart, Error, charts};
use crate::compare::Comparison;

/// The texts of a page in addition to its comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its heading.
    pub title: String,
    /// A sentence below it, such as the machine and the time.
    pub note: Option<String>,
    /// The command that created it.
    pub command: Option<String>,
}

impl Page {
    /// A page with a heading that names the runs.
    pub fn of(comparison: &Comparison) -> Self {
        let labels: Vec<&str> = comparison.runs.iter().map(|run| run.label.as_str()).collect();
        let title = match labels.as_slice() {
            [one] => format!("Benchmark of {one}"),
            [first, second] => format!("{first} against {second}"),
            _ => format!("{} runs compared", labels.len()),
        };
        Self { title, note: None, command: None }
    }
}

/// Text for a terminal.
pub fn terminal(comparison: &Comparison) -> String {
    text::terminal(&document::document(comparison))
}

/// Markdown, as shown by code hosts.
pub fn markdown(comparison: &Comparison, page: &Page) -> String {
    text::markdown(&document::document(comparison), &page.title)
}

/// A self-contained page: charts are embedded, and a browser loads nothing else.
///
/// # Errors
///
/// [`Error`] if a chart cannot be drawn.
pub fn html(comparison: &Comparison, page: &Page) -> Result<String, Error> {
    Ok(html::html(&document::document(comparison), comparison, &charts(comparison)?, page))
}

/// One line for each run and figure: `run,figure,value,low,high`. Values are in the units of JSON: seconds,
/// shares, GB.
pub fn csv(comparison: &Comparison) -> String {
    text::csv(comparison)
}

#[cfg(test)]
mod tests;
