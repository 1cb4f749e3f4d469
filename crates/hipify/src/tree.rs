//! Which sources of a tree belong together: those that include each other share the names that they declare.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::{declared_names, files, includes};

/// A source's text and where it is.
#[derive(Debug)]
struct Unit {
    path: PathBuf,
    includes: Vec<String>,
    names: Vec<String>,
}

/// The names that sources declare for each other.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    names: HashMap<PathBuf, Vec<String>>,
}

impl Tree {
    /// Reads the sources at `paths`, and what they include that lies beside them.
    pub(crate) fn read(paths: impl Iterator<Item = PathBuf>) -> Self {
        let mut units: Vec<Unit> = Vec::new();
        let mut known = HashSet::new();
        let mut waiting: Vec<PathBuf> = paths.collect();
        while let Some(path) = waiting.pop() {
            let path = plain(&path);
            if !known.insert(path.clone()) {
                continue;
            }
            // A header that is not there is the compiler's affair.
            let Ok(text) = files::read(&path) else { continue };
            let includes = includes::quoted(&text);
            waiting.extend(includes.iter().map(|name| path.with_file_name("").join(name)).filter(|path| path.is_file()));
            units.push(Unit { path, includes, names: declared_names(&text) });
        }
        let groups = groups(&units);
        let mut of_group: HashMap<usize, BTreeSet<&str>> = HashMap::new();
        for (unit, &group) in units.iter().zip(&groups) {
            of_group.entry(group).or_default().extend(unit.names.iter().map(String::as_str));
        }
        let names = |group: &usize| of_group[group].iter().map(|&name| name.to_owned()).collect();
        Self { names: units.iter().zip(&groups).map(|(unit, group)| (unit.path.clone(), names(group))).collect() }
    }

    /// The names that a source sees.
    pub(crate) fn names(&self, path: &Path) -> &[String] {
        self.names.get(&plain(path)).map_or(&[], Vec::as_slice)
    }
}

/// The group of each source, by the number of one in it.
fn groups(units: &[Unit]) -> Vec<usize> {
    let mut by_name: HashMap<&OsStr, Vec<usize>> = HashMap::new();
    for (number, unit) in units.iter().enumerate() {
        if let Some(name) = unit.path.file_name() {
            by_name.entry(name).or_default().push(number);
        }
    }
    let mut groups: Vec<usize> = (0..units.len()).collect();
    let root = |groups: &[usize], mut number: usize| {
        while groups[number] != number {
            number = groups[number];
        }
        number
    };
    for (number, unit) in units.iter().enumerate() {
        for include in &unit.includes {
            let Some(name) = Path::new(include).file_name() else { continue };
            let candidates = by_name.get(name).map_or(&[][..], Vec::as_slice);
            let beside = plain(&unit.path.with_file_name("").join(include));
            // One beside the source, or else one that some option for folders may name.
            let found = candidates.iter().find(|&&other| units[other].path == beside).or_else(|| {
                let relative = plain(Path::new(include));
                let mut fitting = candidates.iter().filter(|&&other| units[other].path.ends_with(&relative));
                let first = fitting.next();
                first.filter(|_| fitting.next().is_none())
            });
            if let Some(&other) = found {
                let (one, other) = (root(&groups, number), root(&groups, other));
                groups[one] = other;
            }
        }
    }
    (0..units.len()).map(|number| root(&groups, number)).collect()
}

/// A path without `.` and `x/..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
