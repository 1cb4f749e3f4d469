//! Device sources in a folder, and their names.

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

/// The sources of a build.
#[derive(Debug)]
pub(crate) struct Sources {
    /// The folder that their names are relative to, absolute.
    pub(crate) folder: PathBuf,
    /// Sorted by relative path.
    pub(crate) list: Vec<Source>,
    /// Where their headers may be, besides the caller's folders.
    pub(crate) beside: Vec<Searched>,
}

/// A folder with headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Searched {
    /// Absolute.
    pub(crate) path: PathBuf,
    /// Whether folders below it count.
    pub(crate) below: bool,
}

impl Searched {
    /// The headers in it, as paths relative to it, sorted.
    pub(crate) fn headers(&self) -> Result<Vec<PathBuf>, Error> {
        if self.below {
            return headers(&self.path);
        }
        let read = |e| Error::io("read the folder", &self.path, e);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(read)? {
            let name = PathBuf::from(entry.map_err(read)?.file_name());
            if !name.as_os_str().as_encoded_bytes().starts_with(b".") && is_header(&self.path.join(&name)) {
                found.push(name);
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The extension of sources.
const EXTENSION: &str = "cu";
/// Reserved module names: `ALL` and `ALL_IDS` are lists of all modules, and the others cannot be raw
/// identifiers.
const RESERVED: [&str; 5] = ["all", "all_ids", "crate", "self", "super"];
/// Extensions of headers.
const HEADERS: &[&str] = &["h", "hh", "hpp", "hxx", "cuh", "inc", "inl", "def"];

/// Finds the device sources in a folder and below. Hidden entries and linked folders are left out.
pub(crate) fn in_folder(folder: &Path) -> Result<Sources, Error> {
    let folder = absolute(folder)?;
    let mut found = Vec::new();
    walk(&folder, &mut |path| {
        if path.extension().is_some_and(|e| e == EXTENSION) && !path.is_dir() {
            found.push(path.to_owned());
        }
    })?;
    let list = found.into_iter().map(|path| source(&folder, path)).collect::<Result<Vec<_>, _>>()?;
    let beside = vec![Searched { path: folder.clone(), below: true }];
    Ok(Sources { folder, list, beside })
}

/// Names files as if they had been found in their innermost common folder. A file that is given twice counts
/// once.
pub(crate) fn of_files(files: &[PathBuf]) -> Result<Sources, Error> {
    let mut found = Vec::new();
    for file in files {
        let bad = || Error::SourceName { source_file: file.clone(), reason: "it names no file".to_owned() };
        let name = file.file_name().ok_or_else(bad)?;
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        found.push((absolute(parent.unwrap_or(Path::new(".")))?, name));
    }
    let Some((first, _)) = found.first() else {
        return Err(Error::NoFiles);
    };
    let common = |folder: PathBuf, (other, _): &(PathBuf, _)| {
        folder
            .components()
            .zip(other.components())
            .take_while(|(a, b)| a == b)
            .map(|(part, _)| part)
            .collect()
    };
    let folder: PathBuf = found.iter().fold(first.clone(), common);
    let mut list = Vec::new();
    let mut beside: Vec<Searched> = Vec::new();
    for (parent, name) in &found {
        let source = source(&folder, parent.join(name))?;
        if !list.contains(&source) {
            list.push(source);
        }
        let searched = Searched { path: parent.clone(), below: false };
        if !beside.contains(&searched) {
            beside.push(searched);
        }
    }
    Ok(Sources { folder, list, beside })
}

impl Sources {
    /// Keeps the sources that match `only`, if that is not empty, and do not match `excluded`. Sorts them and
    /// checks their names.
    pub(crate) fn select(mut self, only: &[Pattern], excluded: &[Pattern]) -> Result<Self, Error> {
        let sources = &mut self.list;
        sources.sort_by(|a, b| a.relative.cmp(&b.relative));
        for pattern in only.iter().chain(excluded) {
            pattern.check(sources.iter().map(|source| source.relative.as_str()))?;
        }
        let fits = |patterns: &[Pattern], source: &Source| {
            patterns.iter().any(|pattern| pattern.matches(&source.relative))
        };
        sources.retain(|source| (only.is_empty() || fits(only, source)) && !fits(excluded, source));
        for (i, source) in sources.iter().enumerate() {
            if !source.path.is_file() {
                let reason = "it is neither a file nor a link to one".to_owned();
                return Err(Error::SourceName { source_file: source.path.clone(), reason });
            }
            if let Some(other) = sources[..i].iter().find(|other| other.ident == source.ident) {
                let reason = format!(
                    "in generated code it would have the name of {}: {}",
                    other.relative, source.ident
                );
                return Err(Error::SourceName { source_file: source.path.clone(), reason });
            }
        }
        if sources.is_empty() {
            return Err(Error::NoSources { folder: self.folder });
        }
        Ok(self)
    }

    /// The inputs of a build: folders with everything below, and files.
    pub(crate) fn read(&self) -> Result<Vec<PathBuf>, Error> {
        let mut paths = Vec::new();
        for folder in &self.beside {
            if folder.below {
                paths.push(folder.path.clone());
            } else {
                paths.extend(folder.headers()?.into_iter().map(|name| folder.path.join(name)));
            }
        }
        let found = |path: &PathBuf| self.beside.iter().any(|dir| dir.below && path.starts_with(&dir.path));
        let files = self.list.iter().map(|source| source.path.clone());
        paths.extend(files.filter(|path| !found(path)).collect::<Vec<_>>());
        Ok(paths)
    }
}

/// A folder's absolute path, links resolved.
pub(crate) fn absolute(folder: &Path) -> Result<PathBuf, Error> {
    let found = std::fs::canonicalize(folder).map_err(|e| Error::io("find the folder", folder, e))?;
    if found.is_dir() {
        return Ok(found);
    }
    Err(Error::io("use as a folder", folder, std::io::ErrorKind::NotADirectory.into()))
}

fn is_header(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| HEADERS.contains(&e)) && path.is_file()
}

/// The headers in a folder and below, as paths relative to it, sorted.
fn headers(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    walk(folder, &mut |path| {
        if is_header(path) {
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

/// Calls `visit` for every entry in a folder and below that is not a folder, except hidden ones and those in
/// linked folders.
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
    use device_compiler::Error as CompilerError;

    use super::*;

    fn sources(folder: &Path, only: &[Pattern], excluded: &[Pattern]) -> Result<Vec<Source>, Error> {
        Ok(in_folder(folder)?.select(only, excluded)?.list)
    }

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
        assert!(error.ends_with("/broken.cu: it is neither a file nor a link to one"), "{error}");
        let without = Pattern::new("broken.cu").unwrap();
        assert_eq!(sources(folder.path(), &[], &[without]).unwrap().len(), 2);
    }

    #[test]
    fn a_folder_without_sources_is_an_error() {
        let empty = folder(&["a.h"]);
        assert!(matches!(sources(empty.path(), &[], &[]), Err(Error::NoSources { .. })));
        assert!(matches!(
            sources(&empty.path().join("no"), &[], &[]),
            Err(Error::Compiler(CompilerError::Io { .. }))
        ));
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

    #[test]
    fn files_are_named_by_the_folder_that_they_share() {
        let folder = folder(&["src/moe/a.cu", "src/b.cu", "src/b.cuh", "src/moe/x/y.cuh", "src/c.cu"]);
        let root = absolute(folder.path()).unwrap();
        let files = ["src/moe/a.cu", "src/b.cu", "src/moe/../b.cu"].map(|file| folder.path().join(file));
        let found = of_files(&files).unwrap().select(&[], &[]).unwrap();
        assert_eq!(found.folder, root.join("src"));
        let names: Vec<_> = found.list.iter().map(|source| source.relative.as_str()).collect();
        assert_eq!(names, ["b.cu", "moe/a.cu"]);
        // Neither files from elsewhere nor everything in a folder.
        let read = ["src/b.cuh", "src/b.cu", "src/moe/a.cu"].map(|file| root.join(file));
        assert_eq!(found.read().unwrap(), read);

        let one = of_files(&files[1..2]).unwrap().select(&[], &[]).unwrap();
        assert_eq!((one.folder, one.list[0].name.as_str()), (root.join("src"), "b"));
    }

    #[test]
    fn files_that_are_none_are_named() {
        let folder = folder(&["a.cu"]);
        assert!(matches!(of_files(&[]), Err(Error::NoFiles)));
        assert!(matches!(of_files(&["..".into()]), Err(Error::SourceName { .. })));
        assert!(matches!(
            of_files(&[folder.path().join("no/b.cu")]),
            Err(Error::Compiler(CompilerError::Io { .. }))
        ));
        let missing = of_files(&[folder.path().join("b.cu")]).unwrap().select(&[], &[]);
        assert!(missing.unwrap_err().to_string().ends_with("b.cu: it is neither a file nor a link to one"));
    }
}
