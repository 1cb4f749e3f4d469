//! Archives that are equal for equal files: sorted, with fixed times, owners and modes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use crate::Error;

/// A file for an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its path in the archive.
    pub name: String,
    /// Its path on disk.
    pub path: PathBuf,
}

/// The files below a folder, sorted by name. A link to a file below the folder counts as that file. Other
/// links, sockets and the like are refused, because their targets are not in the archive.
///
/// # Errors
/// The folder cannot be read, or contains something that is not a file.
pub fn items(folder: &Path) -> Result<Vec<Item>, Error> {
    let root = folder.canonicalize().map_err(Error::io("read", folder))?;
    let mut found = Vec::new();
    collect(folder, &root, "", &mut found)?;
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn collect(folder: &Path, root: &Path, prefix: &str, found: &mut Vec<Item>) -> Result<(), Error> {
    for entry in std::fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let path = entry.path();
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(Error::input(&path, "its name is not UTF-8, as archives require"));
        };
        let name = format!("{prefix}{name}");
        let kind = entry.file_type().map_err(Error::io("read", &path))?;
        if kind.is_dir() {
            collect(&path, root, &format!("{name}/"), found)?;
        } else if kind.is_file() || (kind.is_symlink() && leads_to_file(&path, root)) {
            found.push(Item { name, path });
        } else {
            return Err(Error::input(&path, "is neither a file nor a folder, so it cannot be archived"));
        }
    }
    Ok(())
}

/// Whether a link leads to a file below a folder.
fn leads_to_file(link: &Path, root: &Path) -> bool {
    link.canonicalize().is_ok_and(|path| path.starts_with(root) && path.is_file())
}

/// Writes a `.tar.gz` of files, below one folder of this name. Equal files give equal archives, regardless of
/// user and time.
///
/// # Errors
/// A file cannot be read, or the archive cannot be written.
pub fn write(archive: &Path, top: &str, items: &[Item], time: u64) -> Result<(), Error> {
    let mut sorted: Vec<&Item> = items.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let unfinished = archive.with_extension("unfinished");
    let file = File::create(&unfinished).map_err(Error::io("write", &unfinished))?;
    // It contains neither the time nor the packing system.
    let gzip =
        GzBuilder::new().mtime(0).operating_system(255).write(io::BufWriter::new(file), Compression::new(9));
    let mut tar = Builder::new(gzip);
    for item in sorted {
        let mut source = File::open(&item.path).map_err(Error::io("read", &item.path))?;
        let metadata = source.metadata().map_err(Error::io("read", &item.path))?;
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(metadata.len());
        header.set_mode(if is_program(&metadata) { 0o755 } else { 0o644 });
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(time);
        tar.append_data(&mut header, format!("{top}/{}", item.name), &mut source)
            .map_err(Error::io("pack", &item.path))?;
    }
    let mut gzip = tar.into_inner().map_err(Error::io("write", &unfinished))?;
    gzip.try_finish().map_err(Error::io("write", &unfinished))?;
    gzip.get_mut().flush().map_err(Error::io("write", &unfinished))?;
    drop(gzip);
    std::fs::rename(&unfinished, archive).map_err(Error::io("write", archive))
}

#[cfg(unix)]
fn is_program(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o100 != 0
}

#[cfg(not(unix))]
fn is_program(_: &std::fs::Metadata) -> bool {
    false
}

/// Unpacks an archive into a folder. Names that lead out of it, and links, are refused.
///
/// # Errors
/// The archive cannot be read, or has unexpected contents.
pub fn unpack(archive: &Path, folder: &Path) -> Result<(), Error> {
    let file = File::open(archive).map_err(Error::io("read", archive))?;
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(io::BufReader::new(file)));
    for entry in tar.entries().map_err(Error::io("read", archive))? {
        let mut entry = entry.map_err(Error::io("read", archive))?;
        let name = entry.path().map_err(Error::io("read", archive))?.into_owned();
        let inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !inside || entry.header().entry_type() != EntryType::Regular {
            return Err(Error::input(
                archive,
                format!("holds `{}`, which no archive of `package` does", name.display()),
            ));
        }
        let path = folder.join(&name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(Error::io("make the folder", parent))?;
        entry.unpack(&path).map_err(Error::io("write", &path))?;
    }
    Ok(())
}

/// The SHA-256 of a file, as hexadecimal digits, and its size.
///
/// # Errors
/// The file cannot be read.
pub fn sha256(path: &Path) -> Result<(String, u64), Error> {
    let mut file = File::open(path).map_err(Error::io("read", path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut size = 0;
    loop {
        match file.read(&mut buffer).map_err(Error::io("read", path))? {
            0 => break,
            read => {
                size += read as u64;
                hash.update(&buffer[..read]);
            }
        }
    }
    Ok((hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), size))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn equal_files_give_equal_archives_whenever_they_were_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let tree = |name: &str, order: &[&str]| {
            let root = folder.path().join(name);
            fs::create_dir_all(root.join("lib")).expect("a folder");
            for file in order {
                fs::write(root.join(file), format!("of {file}")).expect("a file");
            }
            let archive = folder.path().join(format!("{name}.tar.gz"));
            write(&archive, "top", &items(&root).expect("items"), 86_400).expect("an archive");
            (archive.clone(), fs::read(archive).expect("bytes"))
        };
        let long = format!("lib/{}", "x".repeat(180));
        let (_, first) = tree("a", &["b", "lib/a.so", &long, "a"]);
        let (second_path, second) = tree("b", &["a", &long, "lib/a.so", "b"]);
        assert_eq!(first, second);
        // The reader is a foreign program.
        let listed = Command::new("tar").args(["--utc", "-tvzf"]).arg(&second_path).output().expect("tar");
        let listed = String::from_utf8(listed.stdout).expect("UTF-8");
        assert_eq!(listed.lines().count(), 4, "{listed}");
        assert!(
            listed.lines().all(|line| line.starts_with("-rw-r--r-- 0/0") && line.contains("1970-01-02")),
            "{listed}"
        );

        let out = folder.path().join("out");
        unpack(&second_path, &out).expect("unpacks");
        assert_eq!(fs::read_to_string(out.join("top").join(&long)).expect("a file"), format!("of {long}"));
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("tree");
        fs::create_dir(&root).expect("a folder");
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).expect("a link");
        assert!(items(&root).expect_err("a link").to_string().contains("neither a file nor a folder"));
        fs::remove_file(root.join("link")).expect("a link");
        fs::create_dir(root.join("pages")).expect("a folder");
        fs::write(root.join("pages/text.md"), "text").expect("a file");
        std::os::unix::fs::symlink("../pages/text.md", root.join("pages/again.md")).expect("a link");
        let names: Vec<_> = items(&root).expect("files").into_iter().map(|item| item.name).collect();
        assert_eq!(names, ["pages/again.md", "pages/text.md"]);
        for to in ["pages/none.md", "pages", "/etc/passwd"] {
            let _ = fs::remove_file(root.join("link"));
            std::os::unix::fs::symlink(to, root.join("link")).expect("a link");
            assert!(items(&root).is_err(), "{to}");
        }

        let archive = folder.path().join("bad.tar.gz");
        let output = Command::new("tar")
            .arg("-czf")
            .arg(&archive)
            .arg("-C")
            .arg(&root)
            .arg("link")
            .output()
            .expect("tar");
        assert!(output.status.success());
        let told = unpack(&archive, folder.path()).expect_err("a link").to_string();
        assert!(told.contains("holds `link`"), "{told}");
    }

    #[test]
    fn hashes_are_those_of_sha256sum() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("abc");
        fs::write(&path, "abc").expect("a file");
        let (hash, size) = sha256(&path).expect("a hash");
        // FIPS 180-2, appendix B.1.
        assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(size, 3);
    }
}
