//! Rows of the tables in generated pages that keep the results of earlier runs.

/// The cells of a row with at least so many, unless it is the head, whose first cell is `head`.
pub(super) fn cells(row: &str, head: &str, least: usize) -> Option<Vec<String>> {
    let row = row.strip_prefix("| ")?.strip_suffix(" |")?;
    let cells: Vec<String> = row.split(" | ").map(|cell| cell.trim().to_owned()).collect();
    (cells.len() >= least && cells[0] != head).then_some(cells)
}

/// A text escaped for a cell.
pub(super) fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
