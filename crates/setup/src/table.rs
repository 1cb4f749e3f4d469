//! Plain text tables.

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// To the left: text.
    Left,
    /// To the right: numbers.
    Right,
}

/// Rows under a header, every column as wide as its widest cell.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and no rows.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        Self {
            columns: columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty, surplus ones are dropped.
    pub fn row<I, S>(&mut self, cells: I)
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// The table as text, one line per row, no trailing blanks.
    pub fn render(&self) -> String {
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|i| {
                std::iter::once(&header)
                    .chain(&self.rows)
                    .map(|row| row[i].chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        let mut text = String::new();
        for row in [&header, &rule].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for (i, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[i] - cell.chars().count());
                match self.columns[i].1 {
                    Align::Left => line.extend([cell.as_str(), &pad]),
                    Align::Right => line.extend([pad.as_str(), cell]),
                }
                line.push_str("  ");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A number of bytes for people: `812 B`, `79.9 MB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A number with its thousands set apart: `16,777,216`.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
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
    fn columns_line_up_and_lines_have_no_trailing_blanks() {
        let mut table = Table::new(&[("name", Align::Left), ("bytes", Align::Right), ("note", Align::Left)]);
        table.row(["gemm", "12", ""]);
        table.row(["softmax·f16", "1,234", "x"]);
        table.row(["short"]);
        let expected = "\
name         bytes  note
-----------  -----  ----
gemm            12
softmax·f16  1,234  x
short
";
        assert_eq!(table.render(), expected);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            [bytes(0), bytes(999), bytes(1000), bytes(81_800_000)],
            ["0 B", "999 B", "1.0 kB", "81.8 MB"]
        );
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(
            [thousands(0), thousands(999), thousands(1000), thousands(16_777_216)],
            ["0", "999", "1,000", "16,777,216"]
        );
    }
}
