//! Refuses leftovers of an unfinished merge in tracked files.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Lines that `git merge` writes around the two sides and their base. The line between the sides, seven `=`,
/// is left out: it also underlines headings and never occurs alone.
const MARKERS: &str = "^(<{7}|[|]{7}|>{7})( |$)";

/// The places of conflict markers in the tracked files of the git checkout at `folder`, as `file:line:text`;
/// `None` outside a checkout.
///
/// # Errors
/// git cannot be started, or fails.
pub(crate) fn find(folder: &Path) -> Result<Option<Vec<String>>> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(folder).args(arguments).stdin(Stdio::null());
        command.output().context("cannot start git")
    };
    if !git(&["rev-parse", "--is-inside-work-tree"])?.status.success() {
        return Ok(None);
    }
    let output = git(&["grep", "--line-number", "-I", "--extended-regexp", "-e", MARKERS, "--", "."])?;
    match output.status.code() {
        // git exits with 1 if nothing matches.
        Some(0 | 1) => Ok(Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())),
        _ => bail!("git grep failed: {}", String::from_utf8_lossy(&output.stderr).trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let status = Command::new("git").current_dir(folder).args(arguments).status().expect("git starts");
        assert!(status.success(), "git {arguments:?}");
    }

    #[test]
    fn markers_are_found_at_the_start_of_lines_of_tracked_files() {
        let folder = tempfile::tempdir().expect("temp folder");
        let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).expect("write");
        assert_eq!(find(folder.path()).expect("git works"), None);
        git(folder.path(), &["init", "-q"]);
        let [ours, base, between, theirs] = ["<", "|", "=", ">"].map(|sign| sign.repeat(7));
        write("merged.txt", format!("a\n{ours} HEAD\nb\n{base}\nc\n{between}\nd\n{theirs} 1234567 (what)\n"));
        write("heading.txt", format!("Heading\n{between}\n  {ours} HEAD\n{theirs}> more\n"));
        write("untracked.txt", format!("{ours} HEAD\n"));
        git(folder.path(), &["add", "merged.txt", "heading.txt"]);
        let found = find(folder.path()).expect("git works").expect("a checkout");
        assert_eq!(
            found,
            [
                format!("merged.txt:2:{ours} HEAD"),
                format!("merged.txt:4:{base}"),
                format!("merged.txt:8:{theirs} 1234567 (what)"),
            ]
        );
    }
}
