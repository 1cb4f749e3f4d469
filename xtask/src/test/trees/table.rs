//! The table of trees.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// A tree of sources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tree {
    pub(super) name: String,
    /// What git fetches into the cache if the folder is not there.
    repository: Option<String>,
    /// The commit, for the page and for git.
    pub(super) commit: String,
    /// Paths of files and folders in the tree. All their `.cu` files count.
    sources: Vec<String>,
    /// Those among them that do not count.
    #[serde(default)]
    without: Vec<String>,
    /// nvcc's options; `{tree}` is the tree's folder, `{beside}` that of the source.
    #[serde(default)]
    pub(super) options: Vec<String>,
    /// Whether `-D` and `-I` in the Makefile beside a source count, too.
    #[serde(default)]
    pub(super) makefiles: bool,
    /// The share that must compile, without sources that lack another library's header.
    pub(super) least: f64,
    /// Commands of the tree's own build system, in order. `{build}` is the folder in which they run, with the
    /// toolkit of nvcc as CUDA's: in `PATH`, `CUDACXX` and `CUDA_HOME`.
    #[serde(default)]
    pub(super) build: Vec<Vec<String>>,
    /// What is also run, linked by nvcc or by `build`.
    #[serde(default)]
    pub(super) programs: Vec<Program>,
    /// Failures that stay: the beginning of paths, and the reason.
    #[serde(default)]
    known: Vec<(String, String)>,
}

/// A program of a tree.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    /// What nvcc links.
    #[serde(default)]
    pub(super) sources: Vec<String>,
    /// Or its path in the folder of the tree's own build.
    #[serde(default)]
    pub(super) binary: Option<String>,
    /// nvcc's further options, such as libraries.
    #[serde(default)]
    pub(super) options: Vec<String>,
    /// nvcc's options for what it reads when it runs, such as `-fatbin kernel.cu -o kernel.fatbin`: each in
    /// the folder of the first source.
    #[serde(default)]
    pub(super) before: Vec<Vec<String>>,
    /// Its arguments; `{tree}` and `{build}` are folders.
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    /// What it prints if its result is right. Its exit status is 0, too.
    pub(super) says: String,
    /// How long it may run.
    pub(super) seconds: u64,
}

impl Program {
    /// The path that names it: of the binary, or of the first source.
    pub(super) fn name(&self) -> &str {
        self.binary.as_deref().unwrap_or_else(|| &self.sources[0])
    }
}

impl Tree {
    /// Why a source or a program fails.
    pub(super) fn known(&self, path: &str) -> Option<&str> {
        let found = self.known.iter().find(|(beginning, _)| path.starts_with(beginning.as_str()));
        found.map(|(_, reason)| reason.as_str())
    }
}

/// Reads a table.
pub(super) fn read(path: &Path) -> Result<Vec<Tree>> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let trees: Vec<Tree> = serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
    for tree in &trees {
        let is_nameless = |program: &Program| program.sources.is_empty() == program.binary.is_none();
        let wrong = if tree.sources.is_empty() || tree.programs.iter().any(is_nameless) {
            "has no sources, or a program without them and without a binary, or with both"
        } else if tree.build.is_empty() && tree.programs.iter().any(|program| program.binary.is_some()) {
            "has a binary and no build"
        } else if tree.build.iter().any(Vec::is_empty) {
            "has an empty command"
        } else {
            continue;
        };
        bail!("{}: {} {wrong}", path.display(), tree.name);
    }
    Ok(trees)
}

/// The folder of a tree: below `root`, else in the cache, fetched if it is not there.
pub(super) fn folder(tree: &Tree, root: &Path) -> Result<PathBuf> {
    let given = root.join(&tree.name);
    if given.is_dir() {
        return Ok(given);
    }
    let repository = tree.repository.as_ref().with_context(|| format!("{} is not there", given.display()))?;
    let cache = kernel_build::toolchain::cache_root().context("there is no cache folder")?;
    let place = cache.join("trees").join(format!("{}-{}", tree.name, tree.commit));
    if !place.is_dir() {
        let part = place.with_extension("part");
        fs::create_dir_all(&part).with_context(|| part.display().to_string())?;
        let fetch = ["fetch", "--quiet", "--depth=1", repository, &tree.commit];
        for arguments in [&["init", "--quiet"][..], &fetch, &["checkout", "--quiet", "FETCH_HEAD"]] {
            setup::run::run(Command::new("git").arg("-C").arg(&part).args(arguments))?;
        }
        fs::rename(&part, &place).with_context(|| place.display().to_string())?;
    }
    Ok(place)
}

/// The sources that count, relative to the tree's folder, sorted: without those that others include by name.
pub(super) fn sources(tree: &Tree, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut included = HashSet::new();
    let mut waiting: Vec<PathBuf> = tree.sources.iter().map(|path| folder.join(path)).collect();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).with_context(|| path.display().to_string())?;
            for entry in entries {
                let entry = entry?;
                if !entry.file_type()?.is_symlink() {
                    waiting.push(entry.path());
                }
            }
            continue;
        }
        let kind = path.extension().unwrap_or_default();
        if ["c", "cc", "cpp", "cu", "cuh", "h", "hpp"].iter().any(|known| kind == *known) {
            included.extend(included_sources(&path));
        }
        if kind == "cu" {
            found.push(path.strip_prefix(folder)?.to_owned());
        }
    }
    found.retain(|path| {
        let is_part = fs::canonicalize(folder.join(path)).is_ok_and(|path| included.contains(&path));
        !is_part && !tree.without.iter().any(|out| path.starts_with(out))
    });
    found.sort();
    found.dedup();
    match found.is_empty() {
        true => bail!("{} has none of the sources in {}", tree.name, folder.display()),
        false => Ok(found),
    }
}

/// The `.cu` files that a file includes, beside it.
fn included_sources(path: &Path) -> Vec<PathBuf> {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let names = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        rest.strip_prefix('"')?.split('"').next().filter(|name| name.ends_with(".cu"))
    });
    let beside = path.parent().unwrap_or(path);
    names.filter_map(|name| fs::canonicalize(beside.join(name)).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_those_of_the_folders_without_others() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["a/x.cu", "a/y.cuh", "a/deep/z.cu", "a/deep/out/w.cu", "b.cu", "c.cu"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(folder.path().join("a/part.cu"), "// A part of y.cuh.").unwrap();
        fs::write(folder.path().join("a/y.cuh"), " # include \"../a/part.cu\"\n#include \"no.cu\"\n")
            .unwrap();
        let table = folder.path().join("table.json");
        let text = r#"[{"name": "t", "commit": "1", "sources": ["a", "b.cu"], "without": ["a/deep/out"],
            "least": 0.5, "known": [["a/deep", "reason"]]}]"#;
        fs::write(&table, text).unwrap();
        let tree = &read(&table).unwrap()[0];
        let found = sources(tree, folder.path()).unwrap();
        assert_eq!(found, ["a/deep/z.cu", "a/x.cu", "b.cu"].map(PathBuf::from));
        assert_eq!((tree.known("a/deep/z.cu"), tree.known("b.cu")), (Some("reason"), None));
        assert!(self::folder(tree, folder.path()).unwrap_err().to_string().ends_with("/t is not there"));
        fs::write(&table, text.replace("sources", "files")).unwrap();
        assert!(format!("{:#}", read(&table).unwrap_err()).contains("unknown field `files`"));
    }

    #[test]
    fn a_program_has_sources_or_a_binary_of_the_trees_own_build() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("table.json");
        let read = |build: &str, program: &str| {
            let text = format!(
                r#"[{{"name": "t", "commit": "1", "sources": ["a"], "least": 0.5, "build": {build},
                    "programs": [{{{program} "says": "ok", "seconds": 1}}]}}]"#
            );
            fs::write(&table, text).unwrap();
            self::read(&table).map_err(|error| format!("{error:#}"))
        };
        let name = |program: &str| read(r#"[["make"]]"#, program).unwrap()[0].programs[0].name().to_owned();
        assert_eq!(name(r#""binary": "bin/check","#), "bin/check");
        assert_eq!(name(r#""sources": ["x/a.cu", "x/b.cu"],"#), "x/a.cu");
        let neither = read("[]", "").unwrap_err();
        assert!(neither.contains("t has no sources, or a program without them"), "{neither}");
        let both = read(r#"[["make"]]"#, r#""binary": "a", "sources": ["a.cu"],"#).unwrap_err();
        assert_eq!(both, neither);
        let unbuilt = read("[]", r#""binary": "a","#).unwrap_err();
        assert!(unbuilt.contains("t has a binary and no build"), "{unbuilt}");
        let empty = read(r#"[["make"], []]"#, r#""binary": "a","#).unwrap_err();
        assert!(empty.contains("t has an empty command"), "{empty}");
    }
}
