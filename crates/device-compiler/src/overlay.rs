//! Files that clang reads in a rewritten form: those with inline PTX, with spaces in a launch's brackets,
//! with calls of member templates without `template`, or with macros that stand for a pragma.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::{Error, cuda, rewrites};

/// The folders in which a quoted or bracketed name is looked up, after that of the including file.
fn include_folders<'a>(
    includes: &[PathBuf],
    mut options: impl Iterator<Item = &'a OsString>,
) -> Vec<PathBuf> {
    let mut folders = includes.to_vec();
    while let Some(option) = options.next() {
        let text = option.to_string_lossy();
        if text == "-I" || text == "-isystem" || text == "-iquote" {
            folders.extend(options.next().map(PathBuf::from));
        } else if let Some(folder) = text.strip_prefix("-I") {
            folders.push(folder.into());
        }
    }
    folders
}

/// A file in the form for clang.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The paths under which clang opens it; several if there are links to it.
    names: BTreeSet<PathBuf>,
    text: String,
}

/// The current folder as clang calls it: `PWD`, which may lead through links, if it is that folder.
fn current_folder() -> Option<PathBuf> {
    let folder = std::env::current_dir().ok()?;
    let called = std::env::var_os("PWD").map(PathBuf::from).filter(|called| called.is_absolute());
    let is_it = |called: &PathBuf| std::fs::canonicalize(called).is_ok_and(|real| real == folder);
    Some(called.filter(is_it).unwrap_or(folder))
}

/// A path as clang looks it up: joined with the folder of the file with the `#include`, dots removed, links
/// not resolved.
#[must_use]
pub fn named(path: &Path) -> PathBuf {
    let mut named = PathBuf::new();
    for part in current_folder().unwrap_or_default().join(path).components() {
        match part {
            Component::ParentDir => drop(named.pop()),
            part => named.push(part),
        }
    }
    named
}

/// The source and the headers that it reaches, if a rule changes them. Unreadable files are left for clang to
/// report.
pub fn rewritten<'a>(
    source: &Path,
    includes: &[PathBuf],
    options: impl Iterator<Item = &'a OsString>,
) -> Vec<Rewritten> {
    let options: Vec<&OsString> = options.collect();
    let folders = include_folders(includes, options.iter().copied());
    let mut seen = HashSet::from([source.to_owned()]);
    let mut files = vec![source.to_owned()];
    // By real path, so that each is a single file for clang, too, whatever its names.
    let mut found: BTreeMap<PathBuf, Rewritten> = BTreeMap::new();
    while let Some(file) = files.pop() {
        let Ok(real) = std::fs::canonicalize(&file) else { continue };
        let Ok(bytes) = std::fs::read(&real) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let beside = file.parent().unwrap_or(Path::new("."));
        for name in cuda::included(&text) {
            let places = std::iter::once(beside).chain(folders.iter().map(PathBuf::as_path));
            let place = places.map(|folder| folder.join(name)).find(|path| path.is_file());
            files.extend(place.map(|path| named(&path)).filter(|path| seen.insert(path.clone())));
        }
        let text = text.into_owned();
        found.entry(real).or_insert_with(|| Rewritten { names: BTreeSet::new(), text }).names.insert(file);
    }
    let options: Vec<_> = options.iter().map(|option| option.to_string_lossy()).collect();
    let files: Vec<Rewritten> = found.into_values().collect();
    let texts: Vec<&str> = files.iter().map(|file| file.text.as_str()).collect();
    let changed = rewrites::rewritten(&texts, options.iter().map(|option| &**option));
    let rewritten = |(file, text): (Rewritten, Option<String>)| Some(Rewritten { text: text?, ..file });
    files.into_iter().zip(changed).filter_map(rewritten).collect()
}

/// The option before an overlay's path.
const OPTION: &str = "-ivfsoverlay";

/// Writes the replacements of files to a folder; returns the options that make clang read
/// them.
///
/// # Errors
/// [`Error::Io`] names the file.
pub fn write(rewritten: &[Rewritten], work: &Path) -> Result<Vec<OsString>, Error> {
    let files = rewritten.iter().map(|Rewritten { names, text }| (names.iter(), text.as_str()));
    Ok(overlay(files, work)?.map(Vec::from).unwrap_or_default())
}

/// The same for texts by the names under which clang opens them.
pub(crate) fn write_texts<'a>(
    texts: impl Iterator<Item = (&'a PathBuf, &'a str)>,
    work: &Path,
) -> Result<[OsString; 2], Error> {
    let options = overlay(texts.map(|(name, text)| (std::iter::once(name), text)), work)?;
    options.ok_or_else(|| Error::io("write", work, std::io::ErrorKind::InvalidInput.into()))
}

fn overlay<'a, N: Iterator<Item = &'a PathBuf>>(
    files: impl Iterator<Item = (N, &'a str)>,
    work: &Path,
) -> Result<Option<[OsString; 2]>, Error> {
    let mut roots = Vec::new();
    for (i, (names, text)) in files.enumerate() {
        let contents = work.join(format!("ptx{i}"));
        std::fs::write(&contents, text).map_err(|e| Error::io("write", &contents, e))?;
        let root = |name| serde_json::json!({ "type": "file", "name": name, "external-contents": contents });
        roots.extend(names.map(root));
    }
    if roots.is_empty() {
        return Ok(None);
    }
    let overlay = work.join("overlay.json");
    let text = serde_json::json!({ "version": 0, "case-sensitive": "true", "use-external-names": "false", "roots": roots });
    std::fs::write(&overlay, text.to_string()).map_err(|e| Error::io("write", &overlay, e))?;
    Ok(Some([OPTION.into(), overlay.into()]))
}

/// The files that a compilation with these arguments reads instead of others, by the others' names. Overlays
/// that are not there are left for clang to report.
pub(crate) fn replaced<'a>(arguments: impl Iterator<Item = &'a OsStr>) -> BTreeMap<PathBuf, PathBuf> {
    #[derive(serde::Deserialize)]
    struct Overlay {
        roots: Vec<Root>,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Root {
        name: PathBuf,
        external_contents: PathBuf,
    }
    let mut found = BTreeMap::new();
    let mut is_next = false;
    for argument in arguments {
        if is_next
            && let Ok(text) = std::fs::read(argument)
            && let Ok(overlay) = serde_json::from_slice::<Overlay>(&text)
        {
            found.extend(overlay.roots.into_iter().map(|root| (root.name, root.external_contents)));
        }
        is_next = argument == OPTION;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "asm(\"mov.b32 %0, 7;\" : \"=r\"(x));\n";

    #[test]
    fn a_file_has_the_names_under_which_it_is_included() {
        use std::os::unix::fs::symlink;
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        for folder in ["kernels/deep", "elsewhere"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let write = |name: &str, text: String| std::fs::write(root.join(name), text).unwrap();
        // Each includes the other through its folder, again and again.
        write(
            "kernels/a.cu",
            "#include \"deep/b.cuh\"\n#include \"link.cuh\"\n#include \"plain.cuh\"\n".to_owned(),
        );
        write("kernels/deep/b.cuh", format!("#include \"../deep/b.cuh\"\n#include \"../plain.cuh\"\n{PTX}"));
        write("kernels/plain.cuh", "#include \"deep/../deep/b.cuh\"\n#include \"missing.cuh\"\n".to_owned());
        write("elsewhere/real.cuh", format!("#include \"deep/other.cuh\"\n{PTX}"));
        symlink(root.join("elsewhere/real.cuh"), root.join("kernels/link.cuh")).unwrap();
        symlink(root.join("elsewhere/real.cuh"), root.join("kernels/deep/other.cuh")).unwrap();
        let found = rewritten(&root.join("kernels/a.cu"), &[], std::iter::empty());
        let names: Vec<Vec<&str>> = found
            .iter()
            .map(|file| {
                file.names.iter().map(|name| name.strip_prefix(&root).unwrap().to_str().unwrap()).collect()
            })
            .collect();
        assert_eq!(
            names,
            [vec!["kernels/deep/other.cuh", "kernels/link.cuh"], vec!["kernels/deep/b.cuh"]],
            "beside a link, and no folder twice"
        );
        assert!(found.iter().all(|file| file.text.contains("__cuda_ptx")), "{found:?}");
    }
}
