//! Counts of translated names.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::tables::{Family, Kind, Tables};

/// A translated name and its count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Count {
    /// The name in CUDA.
    pub name: &'static str,
    /// The name in HIP.
    pub to: &'static str,
    /// Its family.
    pub family: Family,
    /// Its kind.
    pub kind: Kind,
    /// How often it was translated.
    pub count: usize,
}

/// The translations in one or several files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Files.
    pub files: usize,
    /// Lines.
    pub lines: usize,
    /// Names, sorted. Names that are the same in HIP count, too.
    pub names: Vec<Count>,
    /// Launches with `<<<…>>>`, translated or kept.
    pub launches: usize,
    /// Namespaces: `cub::`, `thrust::cuda`.
    pub namespaces: usize,
    /// Findings that are errors.
    pub errors: usize,
    /// Findings that are warnings.
    pub warnings: usize,
    /// Findings that are notes.
    pub notes: usize,
}

impl Stats {
    /// How often names were translated.
    #[must_use]
    pub fn converted(&self) -> usize {
        self.names.iter().map(|count| count.count).sum::<usize>() + self.namespaces
    }

    /// How often names of each family were translated.
    #[must_use]
    pub fn by_family(&self) -> BTreeMap<&'static str, usize> {
        let mut families = BTreeMap::new();
        for count in &self.names {
            *families.entry(count.family.name()).or_default() += count.count;
        }
        families
    }

    /// How often names of each kind were translated.
    #[must_use]
    pub fn by_kind(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for count in &self.names {
            *kinds.entry(count.kind.name()).or_default() += count.count;
        }
        for (kind, count) in [(Kind::KERNEL_LAUNCH, self.launches), (Kind::NAMESPACE, self.namespaces)] {
            if count > 0 {
                kinds.insert(kind.name(), count);
            }
        }
        kinds
    }

    /// Adds the counts of another file.
    pub fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.lines += other.lines;
        self.launches += other.launches;
        self.namespaces += other.namespaces;
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.notes += other.notes;
        for count in &other.names {
            match self.names.binary_search_by(|known| known.name.cmp(count.name)) {
                Ok(at) => self.names[at].count += count.count,
                Err(at) => self.names.insert(at, count.clone()),
            }
        }
    }
}

/// Counts by row of the tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(Vec<(u16, &'static str)>);

impl Counter {
    pub(crate) fn add(&mut self, row: u16, to: &'static str) {
        self.0.push((row, to));
    }

    pub(crate) fn into_counts(mut self, tables: &Tables) -> Vec<Count> {
        self.0.sort_unstable();
        let mut counts: Vec<Count> = Vec::new();
        for (number, to) in self.0 {
            let row = tables.numbered(number);
            match counts.last_mut() {
                Some(last) if last.name == row.name && last.to == to => last.count += 1,
                _ => counts.push(Count { name: row.name, to, family: row.family, kind: row.kind, count: 1 }),
            }
        }
        counts.sort_by_key(|count| count.name);
        counts
    }
}
