//! An editable copy of the sources.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};

/// The copy.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) folder: PathBuf,
}

impl Tree {
    /// Copies a folder, except hidden files.
    pub(crate) fn copy(from: &Path, to: PathBuf) -> Result<Self> {
        copy(from, &to)?;
        Ok(Self { folder: to })
    }

    /// Changes the text of a file, but not its meaning.
    pub(crate) fn edit(&self, name: &str) -> Result<()> {
        static EDITS: AtomicUsize = AtomicUsize::new(0);
        let path = self.folder.join(name);
        ensure!(path.is_file(), "{} is not a file of the sources", path.display());
        let mut file = fs::File::options()
            .append(true)
            .open(&path)
            .with_context(|| format!("open {}", path.display()))?;
        writeln!(file, "\n// edit {}", EDITS.fetch_add(1, Ordering::Relaxed))
            .with_context(|| format!("write {}", path.display()))
    }

    /// The header in the folder that most of these sources include; of several, the first. `None` if they
    /// include none.
    pub(crate) fn header(&self, sources: &[String]) -> Result<Option<String>> {
        let mut found: Vec<(String, usize)> = Vec::new();
        for source in sources {
            let path = self.folder.join(source);
            let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            let beside = Path::new(source).parent().unwrap_or(Path::new(""));
            for name in text.lines().filter_map(quoted) {
                let name = beside.join(name);
                if !self.folder.join(&name).is_file() {
                    continue;
                }
                let name = name.to_string_lossy().into_owned();
                match found.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += 1,
                    None => found.push((name, 1)),
                }
            }
        }
        let most = found.iter().map(|(_, count)| *count).max();
        Ok(found.into_iter().find(|(_, count)| Some(*count) == most).map(|(name, _)| name))
    }
}

/// The file that a line includes in quotes.
fn quoted(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split_once('"').map(|(name, _)| name)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    let read = || format!("read {}", from.display());
    for entry in fs::read_dir(from).with_context(read)? {
        let entry = entry.with_context(read)?;
        let (path, name) = (entry.path(), entry.file_name());
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            // Permissions are not copied: files in a registry's folder may be read-only.
            let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            let to = to.join(name);
            fs::write(&to, bytes).with_context(|| format!("write {}", to.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_is_edited_and_the_original_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::write(from.join("a.cu"), "#include \"a.cuh\"\n #  include \"b.cuh\"\n#include <c.cuh>\n")
            .unwrap();
        fs::write(from.join("deep/b.cu"), "#include \"b.cuh\"\n").unwrap();
        fs::write(from.join("c.cu"), "#include \"b.cuh\"\n").unwrap();
        for header in ["a.cuh", "b.cuh"] {
            fs::write(from.join(header), "// nothing\n").unwrap();
        }
        let tree = Tree::copy(&from, folder.path().join("to")).unwrap();
        let header = |sources: &[&str]| {
            tree.header(&sources.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(header(&["a.cu", "c.cu", "deep/b.cu"]).as_deref(), Some("b.cuh"));
        assert_eq!(header(&["a.cu"]).as_deref(), Some("a.cuh"));
        assert_eq!(header(&["deep/b.cu"]), None);
        let text = |folder: &Path| fs::read_to_string(folder.join("b.cuh")).unwrap();
        tree.edit("b.cuh").unwrap();
        let once = text(&tree.folder);
        tree.edit("b.cuh").unwrap();
        assert!(once.starts_with("// nothing\n") && text(&tree.folder).starts_with(&once));
        assert_ne!(text(&tree.folder), once);
        assert_eq!(text(&from), "// nothing\n");
        assert!(tree.edit("d.cuh").is_err());
    }
}
