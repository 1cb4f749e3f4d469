//! The differences between two builds.

use std::collections::BTreeMap;
use std::fmt;

use super::{Figure, Report};
use crate::KernelUse;

/// The differences between two [`Report`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Figures that rose, and occupancy that fell, by module, kernel, target and figure.
    pub worse: Vec<Change>,
    /// How many figures fell, and how many occupancies rose.
    pub better: usize,
    /// New kernels.
    pub new: Vec<KernelName>,
    /// Removed kernels.
    pub gone: Vec<KernelName>,
    /// The toolchain before and after, if it changed.
    pub toolchains: Option<(String, String)>,
}

/// A figure of a kernel that got worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Module name.
    pub module: String,
    /// Kernel name.
    pub kernel: String,
    /// Target id.
    pub target: String,
    /// Which figure.
    pub figure: Figure,
    /// The old value.
    pub before: u64,
    /// The new value.
    pub after: u64,
}

/// A kernel with its targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelName {
    /// Module name.
    pub module: String,
    /// Kernel name.
    pub kernel: String,
    /// Target ids.
    pub targets: Vec<String>,
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} for {}", self.kernel, self.module, self.targets.join(", "))
    }
}

type Kernels<'a> = BTreeMap<(&'a str, &'a str, &'a str), &'a KernelUse>;

pub(super) fn between(before: &Report, after: &Report) -> Changes {
    let (old, new) = (by_name(before), by_name(after));
    let mut changes = Changes { new: only_in(&new, &old), gone: only_in(&old, &new), ..Changes::default() };
    if before.toolchain != after.toolchain {
        changes.toolchains = Some((before.toolchain.clone(), after.toolchain.clone()));
    }
    for (name, new) in &new {
        let Some(old) = old.get(name) else { continue };
        for figure in Figure::ALL {
            let (Some(before), Some(after)) = (figure.of(old), figure.of(new)) else { continue };
            if figure.is_worse(before, after) {
                let (module, kernel, target) = (new.module.clone(), new.kernel.clone(), new.target.clone());
                changes.worse.push(Change { module, kernel, target, figure, before, after });
            } else if figure.is_worse(after, before) {
                changes.better += 1;
            }
        }
    }
    changes
}

fn by_name(report: &Report) -> Kernels<'_> {
    let named = report.kernels.iter().map(|used| ((&*used.module, &*used.kernel, &*used.target), used));
    named.collect()
}

fn only_in(these: &Kernels<'_>, others: &Kernels<'_>) -> Vec<KernelName> {
    let mut names: Vec<KernelName> = Vec::new();
    for &(module, kernel, target) in these.keys().filter(|name| !others.contains_key(*name)) {
        match names.last_mut() {
            Some(last) if last.module == module && last.kernel == kernel => {
                last.targets.push(target.to_owned())
            }
            _ => names.push(KernelName {
                module: module.to_owned(),
                kernel: kernel.to_owned(),
                targets: vec![target.to_owned()],
            }),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::tests::{report, used};
    use super::*;

    #[test]
    fn a_report_does_not_differ_from_itself() {
        let same = report(vec![used("a", "k", "gfx1100"), used("a", "k", "gfx90a")]);
        assert_eq!(same.changes_since(&same), Changes::default());
    }

    #[test]
    fn what_rose_has_a_row_and_what_fell_is_counted() {
        let before = report(vec![used("a", "k", "gfx1100"), used("a", "k", "gfx90a")]);
        let mut after = before.clone();
        let changed = &mut after.kernels[1];
        (changed.vgprs, changed.sgprs, changed.lds, changed.scratch) = (50, 10, 0, 16);
        (changed.sgpr_spills, changed.code_bytes, changed.occupancy, changed.agprs) = (2, 2000, Some(8), 4);
        let changes = after.changes_since(&before);
        let rows: Vec<_> = changes.worse.iter().map(|c| (c.figure.name(), c.before, c.after)).collect();
        assert_eq!(
            rows,
            [
                ("code", 1000, 2000),
                ("vgprs", 40, 50),
                ("agprs", 0, 4),
                ("scratch", 0, 16),
                ("spills", 0, 2),
                ("occupancy", 16, 8)
            ]
        );
        assert!(changes.worse.iter().all(|c| (&*c.module, &*c.kernel, &*c.target) == ("a", "k", "gfx90a")));
        assert_eq!((changes.better, changes.new.len(), changes.gone.len()), (2, 0, 0));
        let back = before.changes_since(&after);
        assert_eq!((back.worse.len(), back.better), (2, 6));
    }

    #[test]
    fn unknown_figures_are_not_compared() {
        let mut before = report(vec![used("a", "k", "gfx1100")]);
        let after = before.clone();
        (before.kernels[0].occupancy, before.kernels[0].code_bytes) = (None, 0);
        assert_eq!(after.changes_since(&before), Changes::default());
        assert_eq!(before.changes_since(&after), Changes::default());
    }

    #[test]
    fn new_and_gone_kernels_are_named_once() {
        let before =
            report(vec![used("a", "k", "gfx1100"), used("a", "k", "gfx90a"), used("a", "l", "gfx90a")]);
        let mut after = report(vec![used("a", "l", "gfx90a"), used("b", "k", "gfx90a")]);
        after.toolchain = "another".to_owned();
        let changes = after.changes_since(&before);
        let names = |names: &[KernelName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&changes.new), ["k of b for gfx90a"]);
        assert_eq!(names(&changes.gone), ["k of a for gfx1100, gfx90a"]);
        assert_eq!(changes.toolchains, Some(("clang; HIP".to_owned(), "another".to_owned())));
        assert!(changes.worse.is_empty());
    }
}
