//! `docs/generated/trees.md`: the latest results of each tree. The page stores its own data: a run replaces
//! its rows and keeps the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use super::table::Tree;
use crate::test::rows::{cell, cells};

const INTRODUCTION: &str = "\
# Trees of CUDA sources

Written by `cargo xtask test trees`; edits are lost. Each source is compiled as it is, with `nvcc`, for device and host
([nvcc.md](../use/nvcc.md), [testing.md](../contribute/testing.md#foreign-trees)). *Lacking* are sources that include a header of a library that is not
there; they do not count in the share. *Right* are programs that were linked and run on a virtual GPU and say so.

";
const HEAD: &str = "| tree | commit | target | sources | compile | lacking | share | right | date |\n|---|---|---|---|---|---|---|---|---|\n";
const FAILURES: &str = "\n## What fails\n\n";
const FAILURE_HEAD: &str = "| tree | target | source | outcome | why |\n|---|---|---|---|---|\n";

/// The results of a tree for a target.
#[derive(Debug)]
pub(super) struct Run {
    tree: String,
    commit: String,
    target: String,
    programs: usize,
    pub(super) compiled: usize,
    /// Sources that lack a header of another library.
    pub(super) lacking: usize,
    /// Programs whose result is right.
    pub(super) right: usize,
    /// Programs that fail without a known reason.
    pub(super) wrong: usize,
    pub(super) failures: Vec<Failure>,
    date: String,
}

/// A source that does not compile, or a program that does not run.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) what: String,
    pub(super) outcome: &'static str,
    pub(super) why: String,
}

impl Run {
    pub(super) fn new(tree: &Tree, target: &str) -> Self {
        let date = setup::run::capture(Command::new("date").arg("+%-d %B %Y")).unwrap_or_default();
        Self {
            tree: tree.name.clone(),
            commit: tree.commit.chars().take(12).collect(),
            target: target.to_owned(),
            programs: tree.programs.len(),
            compiled: 0,
            lacking: 0,
            right: 0,
            wrong: 0,
            failures: Vec::new(),
            date: date.trim().to_owned(),
        }
    }

    fn refused(&self) -> usize {
        self.failures.iter().filter(|failure| failure.outcome == "does not compile").count()
    }

    /// The share of sources that compile.
    pub(super) fn share(&self) -> f64 {
        match self.compiled + self.refused() {
            0 => 1.0,
            judged => self.compiled as f64 / judged as f64,
        }
    }

    /// The row of the page.
    pub(super) fn line(&self) -> String {
        let all = self.compiled + self.lacking + self.refused();
        let right = match self.programs {
            0 => String::new(),
            programs => format!("{} of {programs}", self.right),
        };
        format!(
            "| {} | {} | {} | {all} | {} | {} | {:.1} % | {right} | {} |",
            self.tree,
            self.commit,
            self.target,
            self.compiled,
            self.lacking,
            100.0 * self.share(),
            self.date
        )
    }
}

/// The page with a run's rows replaced.
pub(super) fn with(page: &str, run: &Run) -> String {
    let (before, after) = page.split_once(FAILURES).unwrap_or((page, ""));
    let mut results: BTreeMap<[String; 2], String> = BTreeMap::new();
    for row in before.lines() {
        if let Some(cells) = cells(row, "tree", 9) {
            results.insert([cells[0].clone(), cells[2].clone()], row.to_owned());
        }
    }
    let place = [run.tree.clone(), run.target.clone()];
    let others = after.lines().filter_map(|row| Some((cells(row, "tree", 5)?, row)));
    let mut failures: Vec<([String; 2], String)> = others
        .map(|(cells, row)| ([cells[0].clone(), cells[1].clone()], row.to_owned()))
        .filter(|(other, _)| *other != place)
        .collect();
    for Failure { what, outcome, why } in &run.failures {
        let row = format!(
            "| {} | {} | `{}` | {outcome} | {} |",
            run.tree,
            run.target,
            cell(what),
            cell(&setup::run::headline(why))
        );
        failures.push((place.clone(), row));
    }
    results.insert(place, run.line());
    failures.sort();
    let mut text = format!("{INTRODUCTION}{HEAD}");
    for row in results.values() {
        let _ = writeln!(text, "{row}");
    }
    let _ = write!(text, "{FAILURES}{FAILURE_HEAD}");
    for (_, row) in failures {
        let _ = writeln!(text, "{row}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_replaces_its_rows_and_leaves_the_others() {
        let run = |tree: &str, target: &str, compiled: usize, failures: &[&str]| Run {
            tree: tree.to_owned(),
            commit: "abc".to_owned(),
            target: target.to_owned(),
            programs: 2,
            compiled,
            lacking: 3,
            right: 1,
            wrong: 0,
            failures: failures
                .iter()
                .map(|what| Failure {
                    what: (*what).to_owned(),
                    outcome: "does not compile",
                    why: "a | b".to_owned(),
                })
                .collect(),
            date: "1 May 2030".to_owned(),
        };
        let page = with("", &run("b", "gfx1100", 3, &["x.cu"]));
        assert!(
            page.contains("| b | abc | gfx1100 | 7 | 3 | 3 | 75.0 % | 1 of 2 | 1 May 2030 |\n"),
            "{page}"
        );
        assert!(page.contains("| b | gfx1100 | `x.cu` | does not compile | a \\| b |\n"), "{page}");
        let page = with(&page, &run("a", "gfx1100", 1, &["y.cu"]));
        let page = with(&page, &run("b", "gfx90a", 4, &["z.cu"]));
        assert!(page.find("| a | abc |").unwrap() < page.find("| b | abc |").unwrap());
        let page = with(&page, &run("b", "gfx1100", 4, &[]));
        assert!(!page.contains("`x.cu`") && page.contains("`y.cu`") && page.contains("`z.cu`"), "{page}");
        assert_eq!(with(&page, &run("b", "gfx1100", 4, &[])), page);
    }
}
