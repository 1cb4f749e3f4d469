//! Writes generated files, or compares them with the checked-in ones.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The destination of generated text.
#[derive(Debug)]
pub(crate) struct Output {
    root: PathBuf,
    check: bool,
    differing: Vec<String>,
}

impl Output {
    /// Writes below `root`, or only compares.
    pub(crate) fn new(root: &Path, check: bool) -> Self {
        Output { root: root.to_owned(), check, differing: Vec::new() }
    }

    /// Writes or compares one file, named from the root.
    pub(crate) fn write(&mut self, name: &str, text: &str) -> Result<()> {
        let path = self.root.join(name);
        if self.check {
            let current = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            if let Some(difference) = first_difference(&current, text) {
                self.differing.push(format!("{name}: {difference}"));
            }
            return Ok(());
        }
        // Rewriting an unchanged file would trigger rebuilds.
        if fs::read_to_string(&path).is_ok_and(|current| current == text) {
            return Ok(());
        }
        let folder = path.parent().context("a file is in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        println!("{name}: {} lines", text.lines().count());
        Ok(())
    }

    /// Removes a file that is no longer generated.
    pub(crate) fn remove(&mut self, name: &str) -> Result<()> {
        let path = self.root.join(name);
        if !path.exists() {
            return Ok(());
        }
        if self.check {
            self.differing.push(format!("{name}: is no longer generated, but exists"));
            return Ok(());
        }
        println!("{name}: removed");
        fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))
    }

    /// Whether a file differed so far.
    pub(crate) fn differs(&self) -> bool {
        !self.differing.is_empty()
    }

    /// Fails if a file differed.
    pub(crate) fn finish(self) -> Result<()> {
        if self.differs() {
            bail!(
                "checked-in files differ from the headers; run `cargo xtask bindgen`:\n{}",
                self.differing.join("\n")
            );
        }
        Ok(())
    }
}

/// The first difference of `new` from `old`, if any.
fn first_difference(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let line = old.lines().zip(new.lines()).take_while(|(a, b)| a == b).count();
    let shown = |text: &str| text.lines().nth(line).unwrap_or("(end of file)").trim().to_owned();
    Some(format!("line {}: checked in `{}`, generated `{}`", line + 1, shown(old), shown(new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
    }

    #[test]
    fn a_difference_names_its_line() {
        let text = first_difference("a\nb\n", "a\nc\n").unwrap();
        assert_eq!(text, "line 2: checked in `b`, generated `c`");
        assert!(first_difference("a\n", "a\nb\n").unwrap().contains("(end of file)"));
    }

    #[test]
    fn checking_changes_nothing_and_names_every_file() {
        let root = tempfile::tempdir().unwrap();
        Output::new(root.path(), false).write("a/b.md", "one\n").unwrap();
        let mut check = Output::new(root.path(), true);
        check.write("a/b.md", "one\n").unwrap();
        assert!(!check.differs());
        check.write("a/b.md", "two\n").unwrap();
        assert_eq!(fs::read_to_string(root.path().join("a/b.md")).unwrap(), "one\n");
        assert!(check.finish().unwrap_err().to_string().contains("a/b.md: line 1"));
    }
}
