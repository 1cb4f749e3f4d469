//! A package file: verification against its index, unpacking into a folder, and its manifest entry.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::index::Resolved;
use super::{Error, io_error};
use crate::run;

/// The manifest's entry for an unpacked package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestPackage {
    /// Its name.
    pub name: String,
    /// Its Debian version.
    pub version: String,
    /// The suite whose index names it.
    pub suite: String,
    /// Hash of its file.
    pub sha256: String,
    /// The address it was fetched from, without user and password.
    pub uri: String,
}

impl From<&Resolved> for ManifestPackage {
    fn from(Resolved { file, suite }: &Resolved) -> Self {
        Self {
            name: file.name.clone(),
            version: file.version.clone(),
            suite: suite.clone(),
            sha256: file.sha256.clone(),
            uri: file.uri.clone(),
        }
    }
}

/// The bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of a file.
pub fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

/// Checks a downloaded file against the index and unpacks it into `tree`.
pub fn unpack(package: &super::index::PackageFile, downloads: &Path, tree: &Path) -> Result<(), Error> {
    unpack_without(package, downloads, tree, &[])
}

/// The same, but only files that match these tar patterns.
pub fn unpack_only(
    package: &super::index::PackageFile,
    downloads: &Path,
    tree: &Path,
    patterns: &[&str],
) -> Result<(), Error> {
    let arguments = std::iter::once("--wildcards").chain(patterns.iter().copied());
    unpack_with(package, downloads, tree, &arguments.map(str::to_owned).collect::<Vec<_>>())
}

/// The same, without files that match these tar patterns (`./usr/share/doc/*`).
pub fn unpack_without(
    package: &super::index::PackageFile,
    downloads: &Path,
    tree: &Path,
    left_out: &[&str],
) -> Result<(), Error> {
    let arguments: Vec<String> = left_out.iter().map(|pattern| format!("--exclude={pattern}")).collect();
    unpack_with(package, downloads, tree, &arguments)
}

fn unpack_with(
    package: &super::index::PackageFile,
    downloads: &Path,
    tree: &Path,
    arguments: &[String],
) -> Result<(), Error> {
    let path = downloads.join(&package.file);
    let found = sha256_of(&path).map_err(io_error("read", &path))?;
    if found != package.sha256 {
        return Err(Error::Hash { file: package.file.clone(), expected: package.sha256.clone(), found });
    }
    merge_folders(tree)?;
    let unpack_error = |source| Error::Unpack { file: package.file.clone(), source };
    let start_error =
        |program: &str, source| unpack_error(run::Error::Start { program: program.to_owned(), source });
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| start_error("dpkg-deb", source))?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--keep-directory-symlink", "--no-same-owner", "--directory"]).arg(tree);
    tar.args(arguments);
    tar.stdin(reader.stdout.take().map_or_else(Stdio::null, Stdio::from));
    let unpacked = tar.output();
    let read = reader.wait_with_output().map_err(|source| start_error("dpkg-deb", source))?;
    let unpacked = unpacked.map_err(|source| start_error("tar", source))?;
    // A broken package makes both fail; the reader's message gives the cause.
    let (command, output) = match (read.status.success(), unpacked.status.success()) {
        (true, true) => return Ok(()),
        (false, _) => ("dpkg-deb --fsys-tarfile".to_owned(), read),
        (true, false) => (run::describe(&tar), unpacked),
    };
    let source = run::Error::Failed {
        command,
        status: output.status,
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    match source.is_disk_full() {
        true => Err(Error::DiskFull { folder: tree.to_owned() }),
        false => Err(unpack_error(source)),
    }
}

/// Older packages keep libraries in /lib. With the folders merged, one library path serves all.
fn merge_folders(tree: &Path) -> Result<(), Error> {
    for (link, target) in
        [("lib", "usr/lib"), ("lib64", "usr/lib64"), ("bin", "usr/bin"), ("sbin", "usr/sbin")]
    {
        let (link, folder) = (tree.join(link), tree.join(target));
        if link.symlink_metadata().is_err() {
            fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
            symlink(target, &link).map_err(io_error("create", &link))?;
        }
    }
    Ok(())
}

/// Fails early if the file system reports too little space. If it reports nothing, continues.
pub fn ensure_room(folder: &Path, needed: u64) -> Result<(), Error> {
    let folder_text = folder.to_string_lossy();
    let free = run::capture(Command::new("df").args(["-B1", "--output=avail", &folder_text]))
        .ok()
        .and_then(|text| text.lines().last()?.trim().parse::<u64>().ok());
    match free {
        Some(free) if free < needed => Err(Error::DiskFull { folder: folder.to_owned() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::PackageFile;
    use super::*;

    #[test]
    fn a_file_that_is_not_what_the_index_says_is_refused() {
        let folder = tempfile::tempdir().expect("temp folder");
        let tree = tempfile::tempdir().expect("temp folder");
        fs::write(folder.path().join("a_1_all.deb"), "not a package").expect("write");
        let mut package = PackageFile {
            name: "a".to_owned(),
            version: "1".to_owned(),
            file: "a_1_all.deb".to_owned(),
            uri: String::new(),
            size: 13,
            sha256: "0".repeat(64),
        };
        let error = unpack(&package, folder.path(), tree.path()).expect_err("hash differs");
        assert!(matches!(&error, Error::Hash { file, .. } if file == "a_1_all.deb"), "{error}");
        package.sha256 = sha256_of(&folder.path().join("a_1_all.deb")).expect("hash");
        if run::find_program("dpkg-deb").is_some() {
            let error = unpack(&package, folder.path(), tree.path()).expect_err("not a package");
            assert!(error.to_string().contains("a_1_all.deb"), "{error}");
        }
    }

    #[test]
    fn absurd_needs_find_no_room() {
        let folder = tempfile::tempdir().expect("temp folder");
        assert!(ensure_room(folder.path(), 0).is_ok());
        if run::find_program("df").is_some() {
            assert!(matches!(ensure_room(folder.path(), u64::MAX), Err(Error::DiskFull { .. })));
        }
    }
}
