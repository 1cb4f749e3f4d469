//! Skipped tests: tests write their reasons to a list, which is summarised at the end of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use setup::table::{Align, Table};
use test_skip::{LIST_VARIABLE, Lack, REQUIRED_VARIABLE, Skipped};

use crate::tools;

/// The list of one run.
#[derive(Debug)]
pub(super) struct Skips {
    list: PathBuf,
}

impl Skips {
    /// An empty list in the target folder.
    pub(super) fn new() -> Result<Self> {
        Self::at(tools::target_folder().join("skipped-tests.tsv"))
    }

    /// An empty list in a file.
    pub(super) fn at(list: PathBuf) -> Result<Self> {
        let folder = list.parent().unwrap_or(&list);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&list, ""))
            .with_context(|| format!("cannot write {}", list.display()))?;
        Ok(Self { list })
    }

    /// Makes the tests of a command write to the list.
    pub(super) fn collect(&self, command: &mut Command) {
        command.env(LIST_VARIABLE, &self.list);
    }

    /// The list as a table by reason; `None` if it is empty.
    pub(super) fn summary(&self) -> Result<Option<String>> {
        let text =
            fs::read_to_string(&self.list).with_context(|| format!("cannot read {}", self.list.display()))?;
        Ok(summary(&text).map(|table| format!("{table}\nTheir names are in {}.", self.list.display())))
    }
}

/// Makes tests fail that would skip themselves because they lack these.
pub(super) fn require(command: &mut Command, lacks: &[Lack]) {
    let names: Vec<_> = lacks.iter().map(|lack| lack.name()).collect();
    command.env(REQUIRED_VARIABLE, names.join(","));
}

fn summary(list: &str) -> Option<String> {
    let mut counts = BTreeMap::<(Lack, String), usize>::new();
    // A test that was killed while writing leaves a malformed line.
    for skipped in list.lines().filter_map(Skipped::parse) {
        *counts.entry((skipped.lack, skipped.reason)).or_default() += 1;
    }
    let total: usize = counts.values().sum();
    let mut table = Table::new(&[("count", Align::Right), ("lack", Align::Left), ("reason", Align::Left)]);
    for ((lack, reason), count) in &counts {
        table.row([count.to_string(), lack.to_string(), reason.clone()]);
    }
    (total > 0)
        .then(|| format!("Tests that skipped themselves, whole or in part: {total}\n{}", table.render()))
}

/// The sources in a folder and below.
#[cfg(test)]
pub(super) fn sources(folder: &std::path::Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_by_what_is_lacking() {
        let of = |lack, test: &str, reason: &str| {
            Skipped { lack, test: test.to_owned(), reason: reason.to_owned() }.line() + "\n"
        };
        let list = [
            of(Lack::Device, "a", "one device only"),
            of(Lack::Tool, "b", "no perl"),
            of(Lack::Device, "c", "one device only"),
        ];
        let text = summary(&list.concat()).expect("three");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "Tests that skipped themselves, whole or in part: 3");
        assert_eq!(lines[3..], ["    1  tool    no perl", "    2  device  one device only"], "{text}");
        assert_eq!(summary(""), None);
    }

    /// Merely printed messages are not counted.
    #[test]
    fn no_test_skips_itself_in_another_way() {
        let mut files = Vec::new();
        for folder in ["crates", "benches", "examples", "xtask"] {
            sources(&tools::workspace().join(folder), &mut files);
        }
        assert!(files.len() > 500, "only {} sources were found", files.len());
        let printing = ["println!(\"skip", "print!(\"skip"];
        // A message after which the test returns.
        let gives_up = |text: &str| {
            let mut messages = text.split("eprintln!(\"").skip(1).map(|rest| rest.split(';'));
            messages.any(|mut rest| rest.next().is_some() && rest.next() == Some("return"))
        };
        let others: Vec<_> = files
            .iter()
            .filter(|file| {
                let text = fs::read_to_string(file).unwrap_or_default();
                let text: String = text.split_whitespace().collect();
                let is_test = file.components().any(|part| part.as_os_str() == "tests");
                printing.iter().any(|printing| text.contains(printing)) || (is_test && gives_up(&text))
            })
            .filter_map(|file| file.strip_prefix(tools::workspace()).ok()?.to_str())
            .filter(|file| !MAY_PRINT.contains(file))
            .collect();
        assert_eq!(others, [""; 0], "call `test_skip::skip`");
    }

    /// Files that may print such messages, and what they are about.
    const MAY_PRINT: [&str; 6] = [
        "crates/hip/examples/devices.rs",
        "crates/test-skip/src/lib.rs",
        "crates/vgpu/tests/hsa/fatal.rs",
        "crates/vgpu/tests/hsa/images.rs",
        "xtask/src/ci.rs",
        "xtask/src/test/skips.rs",
    ];
}
