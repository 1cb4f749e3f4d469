//! Device sources in a folder, and the names that they get.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::select::Pattern;

/// A device source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Absolute path.
    pub(crate) path: PathBuf,
    /// Path below the kernels' folder with `/` between parts.
    pub(crate) relative: String,
    /// The relative path without extension.
    pub(crate) name: String,
    /// The name as a Rust identifier, lower case.
    pub(crate) ident: String,
}

/// What is compiled.
const EXTENSION: &str = "cu";
/// What no module can be called: `ALL` and `ALL_IDS` are the lists of all of them, and the others cannot be written `r#self`.
const RESERVED: [&str; 5] = ["all", "all_ids", "crate", "self", "super"];
/// What a source may include.
const HEADERS: &[&str] = &["h", "hh", "hpp", "hxx", "cuh", "inc", "inl", "def"];

/// Finds the device sources in a folder and below, sorted by relative path. What is hidden and folders behind links
/// are left out, and so is what does not fit `only`, if that names anything, or fits `excluded`.
pub(crate) fn sources(folder: &Path, only: &[Pattern], excluded: &[Pattern]) -> Result<Vec<Source>, Error> {
    let mut found = Vec::new();
    walk(folder, &mut |path| {
        if path.extension().is_some_and(|e| e == EXTENSION) && !path.is_dir() {
            found.push(path.to_owned());
        }
    })?;
    let mut sources = found.into_iter().map(|path| source(folder, path)).collect::<Result<Vec<_>, _>>()?;
    sources.sort_by(|a, b| a.relative.cmp(&b.relative));
    for pattern in only.iter().chain(excluded) {
        pattern.check(&sources)?;
    }
    let fits = |patterns: &[Pattern], source: &Source| patterns.iter().any(|pattern| pattern.matches(source));
    sources.retain(|source| (only.is_empty() || fits(only, source)) && !fits(excluded, source));
    for (i, source) in sources.iter().enumerate() {
        if !source.path.is_file() {
            let reason = "it is no file, and no link to one".to_owned();
            return Err(Error::SourceName { source_file: source.path.clone(), reason });
        }
        if let Some(other) = sources[..i].iter().find(|other| other.ident == source.ident) {
            let reason =
                format!("in generated code it would have the name of {}: {}", other.relative, source.ident);
            return Err(Error::SourceName { source_file: source.path.clone(), reason });
        }
    }
    if sources.is_empty() {
        return Err(Error::NoSources { folder: folder.to_owned() });
    }
    Ok(sources)
}

/// The headers in a folder and below, as paths relative to it, sorted.
pub(crate) fn headers(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    walk(folder, &mut |path| {
        let extension = path.extension().and_then(|e| e.to_str());
        if extension.is_some_and(|e| HEADERS.contains(&e)) && path.is_file() {
            found.push(path.strip_prefix(folder).unwrap_or(path).to_owned());
        }
    })?;
    found.sort();
    Ok(found)
}

fn source(folder: &Path, path: PathBuf) -> Result<Source, Error> {
    let bad = |reason: &str| Error::SourceName { source_file: path.clone(), reason: reason.to_owned() };
    let below = path.strip_prefix(folder).unwrap_or(&path);
    let relative = below.to_str().ok_or_else(|| bad("its name is not UTF-8"))?.replace('\\', "/");
    if relative.contains(char::is_control) {
        return Err(bad("its name has a control character"));
    }
    let name = relative.strip_suffix(".cu").unwrap_or(&relative).to_owned();
    let mut ident: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if !ident.contains(|c: char| c.is_ascii_alphanumeric()) {
        return Err(bad("its name has no letter or digit"));
    }
    if !ident.starts_with(|c: char| c.is_ascii_alphabetic()) {
        ident.insert(0, 'k');
    }
    if RESERVED.contains(&ident.as_str()) {
        ident.push('_');
    }
    Ok(Source { path, relative, name, ident })
}

/// Calls `visit` with everything in a folder and below that is no folder, but for what is hidden or in a folder behind a link.
pub(crate) fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) -> Result<(), Error> {
    let read = |e| Error::io("read the folder", folder, e);
    for entry in std::fs::read_dir(folder).map_err(read)? {
        let entry = entry.map_err(read)?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        if entry.file_type().map_err(read)?.is_dir() {
            walk(&path, visit)?;
        } else {
            visit(&path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn sources_are_found_below_and_sorted() {
        let folder =
            folder(&["b.cu", "a-b.cu", "quant/q4.cu", ".git/x.cu", "a.cuh", "2d.cu", "cu.cu", "all_ids.cu"]);
        let found = sources(folder.path(), &[], &[]).unwrap();
        let names: Vec<_> = found.iter().map(|s| (s.name.as_str(), s.ident.as_str())).collect();
        assert_eq!(
            names,
            [
                ("2d", "k2d"),
                ("a-b", "a_b"),
                ("all_ids", "all_ids_"),
                ("b", "b"),
                ("cu", "cu"),
                ("quant/q4", "quant_q4")
            ]
        );
        assert_eq!(headers(folder.path()).unwrap(), [PathBuf::from("a.cuh")]);
    }

    #[test]
    fn names_that_clash_or_say_nothing_are_errors() {
        let error = |files: &[&str]| sources(folder(files).path(), &[], &[]).unwrap_err().to_string();
        for (files, ident) in [
            (["a-b.cu", "a_b.cu"], "a_b"),
            (["a/b.cu", "a_b.cu"], "a_b"),
            (["A.cu", "a.cu"], "a"),
            (["2d.cu", "k2d.cu"], "k2d"),
            (["self.cu", "self_.cu"], "self_"),
        ] {
            let text = error(&files);
            let expected =
                format!("{}: in generated code it would have the name of {}: {ident}", files[1], files[0]);
            assert!(text.ends_with(&expected), "{text}");
        }
        assert!(error(&["_.cu"]).ends_with("_.cu: its name has no letter or digit"));
        assert!(error(&["a\nb.cu"]).ends_with("b.cu: its name has a control character"));
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_an_error() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = folder(&["a.cu"]);
        std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.cu")), "").unwrap();
        let error = sources(folder.path(), &[], &[]).unwrap_err().to_string();
        assert!(error.ends_with("\u{fffd}.cu: its name is not UTF-8"), "{error}");
    }

    #[test]
    fn links_are_followed_to_files_and_not_to_folders() {
        use std::os::unix::fs::symlink;
        let (elsewhere, folder) = (folder(&["a.cu", "deep/b.cu"]), folder(&["c.cu/d.cu"]));
        symlink(elsewhere.path().join("a.cu"), folder.path().join("link.cu")).unwrap();
        symlink(elsewhere.path().join("deep"), folder.path().join("deep")).unwrap();
        symlink(elsewhere.path().join("deep"), folder.path().join("folder.cu")).unwrap();
        symlink("nowhere.h", folder.path().join("nowhere.h")).unwrap();
        let found = || {
            let found = sources(folder.path(), &[], &[]);
            found.map(|found| found.into_iter().map(|source| source.relative).collect::<Vec<_>>())
        };
        assert_eq!(found().unwrap(), ["c.cu/d.cu", "link.cu"]);
        assert!(headers(folder.path()).unwrap().is_empty());

        symlink("nowhere.cu", folder.path().join("broken.cu")).unwrap();
        let error = found().unwrap_err().to_string();
        assert!(error.ends_with("/broken.cu: it is no file, and no link to one"), "{error}");
        let without = Pattern::new("broken.cu").unwrap();
        assert_eq!(sources(folder.path(), &[], &[without]).unwrap().len(), 2);
    }

    #[test]
    fn a_folder_without_sources_is_an_error() {
        let empty = folder(&["a.h"]);
        assert!(matches!(sources(empty.path(), &[], &[]), Err(Error::NoSources { .. })));
        assert!(matches!(sources(&empty.path().join("no"), &[], &[]), Err(Error::Io { .. })));
    }

    #[test]
    fn patterns_choose_sources_before_names_can_clash() {
        let folder = folder(&["a-b.cu", "a_b.cu", "quant/q4.cu", "quant/q8.cu"]);
        let names = |only: &[&str], excluded: &[&str]| {
            let of =
                |texts: &[&str]| texts.iter().map(|text| Pattern::new(text).unwrap()).collect::<Vec<_>>();
            let found = sources(folder.path(), &of(only), &of(excluded));
            found.map(|found| found.into_iter().map(|source| source.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[], &["a_b.cu"]).unwrap(), ["a-b", "quant/q4", "quant/q8"]);
        assert_eq!(names(&["quant/*.cu"], &["q8.*"]).unwrap(), ["quant/q4"]);
        assert!(matches!(names(&["quant/*.cu"], &["*.cu"]), Err(Error::NoSources { .. })));
        let error = names(&[], &["a_b.cu", "q5.cu"]).unwrap_err().to_string();
        assert_eq!(error, "the pattern `q5.cu`: no source has a name of this form");
    }
}
