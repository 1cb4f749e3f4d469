//! Files that are written atomically.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::Error;

/// Whether a compiler finds no file at a path. A folder does not count as a file.
pub(crate) fn is_absent(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |found| found.is_dir())
}

/// Writes all bytes and flushes them to disk. `path` is for the error.
pub(crate) fn fill(file: &mut File, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|e| Error::io("write", path, e))
}

/// Writes a file atomically, and does not touch it if it already has these bytes.
///
/// # Errors
/// [`Error::Io`] names the file.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|old| old == bytes) { Ok(()) } else { replace(path, bytes) }
}

/// Writes a file atomically, whatever is there.
///
/// # Errors
/// [`Error::Io`] names the file.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file =
        tempfile::NamedTempFile::new_in(folder).map_err(|e| Error::io("make a file in", folder, e))?;
    fill(file.as_file_mut(), path, bytes)?;
    file.persist(path).map_err(|e| Error::io("write", path, e.error))?;
    Ok(())
}
