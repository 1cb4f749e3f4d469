//! Files that clang sees otherwise than they are on disk: those with inline PTX.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::{Error, cuda, ptx};

/// The folders in which a quoted or bracketed name is looked up, behind that of the file that includes it.
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

/// A file as clang is to see it.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The paths under which clang opens it: several where links lead to it.
    names: BTreeSet<PathBuf>,
    text: String,
}

/// A path as clang looks it up: as it is put together from the folder of the file with the `#include`, without dots, links as they are.
#[must_use]
pub fn named(path: &Path) -> PathBuf {
    let mut named = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => drop(named.pop()),
            part => named.push(part),
        }
    }
    named
}

/// The source and the headers that it reaches, as far as [`ptx::rewrite`] changes them. What cannot be read is clang's to report.
pub fn rewritten<'a>(
    source: &Path,
    includes: &[PathBuf],
    options: impl Iterator<Item = &'a OsString>,
) -> Vec<Rewritten> {
    let folders = include_folders(includes, options);
    let mut seen = HashSet::from([source.to_owned()]);
    let mut files = vec![source.to_owned()];
    // By where they really are, so that each is one file for clang, too, whatever names it has.
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
        if let Some(known) = found.get_mut(&real) {
            known.names.insert(file);
        } else if let Some(text) = ptx::rewrite(&text) {
            found.insert(real, Rewritten { names: BTreeSet::from([file]), text });
        }
    }
    found.into_values().collect()
}

/// Writes what clang is to read instead of files with inline PTX into a folder; returns the options that say so.
///
/// # Errors
/// [`Error::Io`] names the file.
pub fn write(rewritten: &[Rewritten], work: &Path) -> Result<Vec<OsString>, Error> {
    let mut roots = Vec::new();
    for (i, Rewritten { names, text }) in rewritten.iter().enumerate() {
        let contents = work.join(format!("ptx{i}"));
        std::fs::write(&contents, text).map_err(|e| Error::io("write", &contents, e))?;
        let root = |name| serde_json::json!({ "type": "file", "name": name, "external-contents": contents });
        roots.extend(names.iter().map(root));
    }
    if roots.is_empty() {
        return Ok(Vec::new());
    }
    let overlay = work.join("overlay.json");
    let text = serde_json::json!({ "version": 0, "case-sensitive": "true", "use-external-names": "false", "roots": roots });
    std::fs::write(&overlay, text.to_string()).map_err(|e| Error::io("write", &overlay, e))?;
    Ok(vec!["-ivfsoverlay".into(), overlay.into()])
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
        // Each includes the other by way of its folder, again and again.
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
