//! A table of layers.

use std::collections::BTreeMap;

/// Rows of modules or crates, lowest first.
#[derive(Debug)]
pub struct Layers {
    rows: BTreeMap<Vec<String>, usize>,
}

impl Layers {
    /// A table. A name is a module below `src` (`memory`) or below one of those (`memory::pool`), which is
    /// then separate from its parent.
    ///
    /// # Panics
    /// If a name appears twice.
    #[must_use]
    pub fn new(table: &[&[&str]]) -> Self {
        let mut rows = BTreeMap::new();
        for (row, names) in table.iter().enumerate() {
            for name in *names {
                let path: Vec<String> = name.split("::").map(str::to_owned).collect();
                assert!(rows.insert(path, row).is_none(), "{name} appears twice in the table");
            }
        }
        Self { rows }
    }

    /// The row of a path, or of its parent.
    #[must_use]
    pub fn row(&self, path: &[String]) -> Option<usize> {
        (1..=path.len()).rev().find_map(|length| self.rows.get(&path[..length]).copied())
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &[String]> {
        self.rows.keys().map(Vec::as_slice)
    }
}
