//! Which sources of a tree belong together: those that include each other share the names that they declare.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::cursor::Cursor;
use crate::{conditions, declared_names, files, implicit, includes};

/// A source's text and where it is.
#[derive(Debug)]
struct Unit {
    path: PathBuf,
    includes: Vec<String>,
    names: Vec<String>,
    macros: Vec<String>,
}

/// The names that sources declare for each other.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    names: HashMap<PathBuf, Vec<String>>,
    headers: HashMap<PathBuf, Vec<String>>,
    macros: HashMap<PathBuf, Vec<String>>,
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
            let tokens = cpp_lexer::tokens(&text);
            let cursor = Cursor { source: &text, tokens: &tokens };
            let (includes, macros) = (includes::names(&cursor), conditions::defined(&cursor));
            waiting.extend(
                includes.iter().map(|name| path.with_file_name("").join(name)).filter(|path| path.is_file()),
            );
            units.push(Unit { path, includes, names: declared_names(&text), macros });
        }
        let included = included(&units);
        let groups = groups(&included);
        let names = of_groups(&units, &groups, |unit| &unit.names);
        let macros = of_groups(&units, &groups, |unit| &unit.macros);
        let mut headers: HashMap<PathBuf, Vec<String>> = HashMap::new();
        for root in roots(&included) {
            let all = closure(&included, root);
            let list: BTreeSet<&str> =
                all.iter().flat_map(|&number| headers_of(&units[number], &included[number])).collect();
            let list: Vec<String> = list.into_iter().map(str::to_owned).collect();
            for number in all {
                let known = headers.entry(units[number].path.clone()).or_insert_with(|| list.clone());
                // What lacks a header in one of several programs is refused.
                if implicit::lack(list.iter().map(String::as_str)) {
                    known.clone_from(&list);
                }
            }
        }
        Self { names, headers, macros }
    }

    /// All macros that a source's program defines in its sources.
    pub(crate) fn macros(&self, path: &Path) -> Option<&[String]> {
        self.macros.get(&plain(path)).map(Vec::as_slice)
    }

    /// All headers, except those of the tree, that are included with a source.
    pub(crate) fn headers(&self, path: &Path) -> Option<&[String]> {
        self.headers.get(&plain(path)).map(Vec::as_slice)
    }

    /// The names that a source sees.
    pub(crate) fn names(&self, path: &Path) -> &[String] {
        self.names.get(&plain(path)).map_or(&[], Vec::as_slice)
    }
}

/// The sources that each source includes, by number; `None` for those that are not in the tree.
fn included(units: &[Unit]) -> Vec<Vec<Option<usize>>> {
    let mut by_name: HashMap<&OsStr, Vec<usize>> = HashMap::new();
    for (number, unit) in units.iter().enumerate() {
        if let Some(name) = unit.path.file_name() {
            by_name.entry(name).or_default().push(number);
        }
    }
    let find = |unit: &Unit, include: &String| {
        let candidates = by_name.get(Path::new(include).file_name()?).map_or(&[][..], Vec::as_slice);
        let beside = plain(&unit.path.with_file_name("").join(include));
        // One beside the source, or else one that some option for folders may name.
        let found = candidates.iter().find(|&&other| units[other].path == beside).or_else(|| {
            let relative = plain(Path::new(include));
            let mut fitting = candidates.iter().filter(|&&other| units[other].path.ends_with(&relative));
            let first = fitting.next();
            first.filter(|_| fitting.next().is_none())
        });
        found.copied()
    };
    units.iter().map(|unit| unit.includes.iter().map(|include| find(unit, include)).collect()).collect()
}

/// The group of each source, by the number of one in it.
fn groups(included: &[Vec<Option<usize>>]) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..included.len()).collect();
    let root = |groups: &[usize], mut number: usize| {
        while groups[number] != number {
            number = groups[number];
        }
        number
    };
    for (number, others) in included.iter().enumerate() {
        for &other in others.iter().flatten() {
            let (one, other) = (root(&groups, number), root(&groups, other));
            groups[one] = other;
        }
    }
    (0..included.len()).map(|number| root(&groups, number)).collect()
}

/// What the sources of each source's group have together.
fn of_groups(
    units: &[Unit],
    groups: &[usize],
    of: impl Fn(&Unit) -> &[String],
) -> HashMap<PathBuf, Vec<String>> {
    let mut together: HashMap<usize, BTreeSet<&str>> = HashMap::new();
    for (unit, &group) in units.iter().zip(groups) {
        together.entry(group).or_default().extend(of(unit).iter().map(String::as_str));
    }
    let list = |group: &usize| together[group].iter().map(|&name| name.to_owned()).collect();
    units.iter().zip(groups).map(|(unit, group)| (unit.path.clone(), list(group))).collect()
}

/// The sources that no other one includes.
fn roots(included: &[Vec<Option<usize>>]) -> Vec<usize> {
    let inner: HashSet<usize> = included.iter().flatten().flatten().copied().collect();
    (0..included.len()).filter(|number| !inner.contains(number)).collect()
}

/// A source and all that it includes, directly or not.
fn closure(included: &[Vec<Option<usize>>], root: usize) -> HashSet<usize> {
    let mut all = HashSet::new();
    let mut waiting = vec![root];
    while let Some(number) = waiting.pop() {
        if all.insert(number) {
            waiting.extend(included[number].iter().flatten());
        }
    }
    all
}

/// The headers that a source includes and that are not in the tree.
fn headers_of<'a>(unit: &'a Unit, included: &'a [Option<usize>]) -> impl Iterator<Item = &'a str> + 'a {
    let outside = unit.includes.iter().zip(included).filter(|(_, found)| found.is_none());
    outside.map(|(include, _)| include.as_str())
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
