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
there; they do not count in the share. *Right* are programs that were linked and run on a virtual GPU and say so. The date is that
of the last run, of the whole tree or of its programs only.

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
        self.line_with(&self.sources(), &self.right())
    }

    /// The cells about sources.
    fn sources(&self) -> String {
        let all = self.compiled + self.lacking + self.refused();
        let cells = match all {
            0 => ["", "", "", ""].map(str::to_owned),
            _ => {
                let share = format!("{:.1} %", 100.0 * self.share());
                [all.to_string(), self.compiled.to_string(), self.lacking.to_string(), share]
            }
        };
        cells.join(" | ")
    }

    /// The cell about programs.
    fn right(&self) -> String {
        match self.programs {
            0 => String::new(),
            programs => format!("{} of {programs}", self.right),
        }
    }

    fn line_with(&self, sources: &str, right: &str) -> String {
        format!("| {} | {} | {} | {sources} | {right} | {} |", self.tree, self.commit, self.target, self.date)
    }
}

/// The outcome of a program that does not give its result.
pub(super) const DOES_NOT_RUN: &str = "does not run";

/// The page with a run's rows replaced. A run of programs only replaces what is said about programs, and one
/// of a tree whose table has no programs what is said about sources.
pub(super) fn with(page: &str, run: &Run, only_programs: bool) -> String {
    let (before, after) = page.split_once(FAILURES).unwrap_or((page, ""));
    let mut results: BTreeMap<[String; 2], String> = BTreeMap::new();
    for row in before.lines() {
        if let Some(cells) = cells(row, "tree", 9) {
            results.insert([cells[0].clone(), cells[2].clone()], row.to_owned());
        }
    }
    let place = [run.tree.clone(), run.target.clone()];
    let before = results.remove(&place).and_then(|row| cells(&row, "tree", 9));
    // Of the same commit.
    let before = before.filter(|cells| cells[1] == run.commit);
    let (keeps_sources, keeps_programs) = match before {
        Some(_) => (only_programs, run.programs == 0),
        None => (false, false),
    };
    let is_kept = |cells: &[String]| {
        let is_program = cells[3] == DOES_NOT_RUN;
        cells[..2] != place || if is_program { keeps_programs } else { keeps_sources }
    };
    let others = after.lines().filter_map(|row| Some((cells(row, "tree", 5)?, row)));
    let mut failures: Vec<([String; 2], String)> = others
        .filter(|(cells, _)| is_kept(cells))
        .map(|(cells, row)| ([cells[0].clone(), cells[1].clone()], row.to_owned()))
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
    let before = before.unwrap_or_default();
    let sources = if keeps_sources { before[3..7].join(" | ") } else { run.sources() };
    let right = if keeps_programs { before[7].clone() } else { run.right() };
    let line = run.line_with(&sources, &right);
    results.insert(place.clone(), line);
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
        let with = |page: &str, run: &Run| with(page, run, false);
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

    #[test]
    fn a_run_of_programs_keeps_what_is_said_about_sources() {
        let run = |commit: &str, compiled: usize, failures: &[(&str, &'static str)]| Run {
            tree: "a".to_owned(),
            commit: commit.to_owned(),
            target: "gfx1100".to_owned(),
            programs: 2,
            compiled,
            lacking: 0,
            right: 2 - failures.len(),
            wrong: 0,
            failures: failures
                .iter()
                .map(|(what, outcome)| Failure { what: (*what).to_owned(), outcome, why: "b".to_owned() })
                .collect(),
            date: "1 May 2030".to_owned(),
        };
        let page = with("", &run("abc", 3, &[("x.cu", "does not compile"), ("y.cu", DOES_NOT_RUN)]), false);
        let after = with(&page, &run("abc", 0, &[("z.cu", DOES_NOT_RUN)]), true);
        assert!(
            after.contains("| a | abc | gfx1100 | 4 | 3 | 0 | 75.0 % | 1 of 2 | 1 May 2030 |\n"),
            "{after}"
        );
        assert!(after.contains("`x.cu`") && !after.contains("`y.cu`") && after.contains("`z.cu`"), "{after}");
        // A table without programs says nothing about them.
        let mut none = run("abc", 4, &[]);
        none.programs = 0;
        let kept = with(&after, &none, false);
        assert!(kept.contains("| 4 | 4 | 0 | 100.0 % | 1 of 2 |") && kept.contains("`z.cu`"), "{kept}");
        assert!(!kept.contains("`x.cu`"), "{kept}");
        // What is said about another commit's sources does not hold.
        let after = with(&after, &run("def", 0, &[]), true);
        assert!(after.contains("| a | def | gfx1100 |  |  |  |  | 2 of 2 | 1 May 2030 |\n"), "{after}");
        assert_eq!(with(&after, &run("def", 0, &[]), true), after);
    }
}
