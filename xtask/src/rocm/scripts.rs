//! Scripts that run programs from a tree of packages.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::tree::{LIBRARIES, LOADER};

/// A path as a word of a shell script.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// The last line of a script that runs a program of a tree under a name, with the tree's own loader and
/// libraries.
pub(super) fn run_by_own_loader(tree: &Path, program: &Path, name: &str) -> String {
    let libraries = tree.join(LIBRARIES);
    format!(
        "exec {} --inhibit-cache --library-path {} --argv0 {name} {} \"$@\"\n",
        quoted(&libraries.join(LOADER)),
        quoted(&libraries),
        quoted(program)
    )
}

/// Writes an executable script and creates its folder. An identical existing script is not touched, because
/// it may be running.
pub(super) fn write_script(path: &Path, text: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}
