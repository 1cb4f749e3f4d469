//! Files that clang sees otherwise than they are on disk: those with inline PTX.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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

/// A file and its text as clang is to see it.
pub(crate) type Rewritten = (PathBuf, String);

/// The source and the headers that it reaches, as far as [`ptx::rewrite`] changes them. What cannot be read is clang's to report.
pub(crate) fn rewritten<'a>(
    source: &Path,
    includes: &[PathBuf],
    options: impl Iterator<Item = &'a OsString>,
) -> Vec<Rewritten> {
    let folders = include_folders(includes, options);
    let mut seen = HashSet::from([source.to_owned()]);
    let mut files = vec![source.to_owned()];
    let mut found = Vec::new();
    while let Some(file) = files.pop() {
        let Ok(bytes) = std::fs::read(&file) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let beside = file.parent().unwrap_or(Path::new("."));
        for name in cuda::included(&text) {
            let mut places = std::iter::once(beside).chain(folders.iter().map(PathBuf::as_path));
            let place = places.find_map(|folder| std::fs::canonicalize(folder.join(name)).ok());
            files.extend(place.filter(|path| path.is_file() && seen.insert(path.clone())));
        }
        if let Some(text) = ptx::rewrite(&text) {
            found.push((file, text));
        }
    }
    found.sort();
    found
}

/// Writes what clang is to read instead of files with inline PTX into a folder; returns the options that say so.
pub(crate) fn write(rewritten: &[Rewritten], work: &Path) -> Result<Vec<OsString>, Error> {
    let mut roots = Vec::new();
    for (i, (path, text)) in rewritten.iter().enumerate() {
        let contents = work.join(format!("ptx{i}"));
        std::fs::write(&contents, text).map_err(|e| Error::io("write", &contents, e))?;
        roots.push(serde_json::json!({ "type": "file", "name": path, "external-contents": contents }));
    }
    if roots.is_empty() {
        return Ok(Vec::new());
    }
    let overlay = work.join("overlay.json");
    let text = serde_json::json!({ "version": 0, "case-sensitive": "true", "use-external-names": "false", "roots": roots });
    std::fs::write(&overlay, text.to_string()).map_err(|e| Error::io("write", &overlay, e))?;
    Ok(vec!["-ivfsoverlay".into(), overlay.into()])
}
