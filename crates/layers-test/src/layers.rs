//! A table of layers.

use std::collections::BTreeMap;

/// Rows of modules or crates, the lowest first.
#[derive(Debug)]
pub struct Layers {
    rows: BTreeMap<Vec<String>, usize>,
}

impl Layers {
    /// A table. A name is that of a module below `src` (`memory`) or below one of those (`memory::pool`), which then stands apart from it.
    ///
    /// # Panics
    /// If a name stands twice.
    #[must_use]
    pub fn new(table: &[&[&str]]) -> Self {
        let mut rows = BTreeMap::new();
        for (row, names) in table.iter().enumerate() {
            for name in *names {
                let path: Vec<String> = name.split("::").map(str::to_owned).collect();
                assert!(rows.insert(path, row).is_none(), "{name} stands twice in the table");
            }
        }
        Self { rows }
    }

    /// The row of a path, or of what it is in.
    #[must_use]
    pub fn row(&self, path: &[String]) -> Option<usize> {
        (1..=path.len()).rev().find_map(|length| self.rows.get(&path[..length]).copied())
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &[String]> {
        self.rows.keys().map(Vec::as_slice)
    }
}
