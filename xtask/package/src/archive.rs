//! Reproducible tar archives: sorted, with a single time stamp, owned by root.

use std::io::Write;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use crate::tree::{Entry, Tree};

/// A tar archive of a tree. `prefix` precedes each path: `./` in Debian's packages, empty elsewhere.
pub(crate) fn tar(tree: &Tree, prefix: &str, seconds: u64) -> Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    let header = |kind, mode, size| {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size);
        header.set_mtime(seconds);
        header.set_uid(0);
        header.set_gid(0);
        // A header of this kind has room for these names.
        let _ = header.set_username("root").and_then(|()| header.set_groupname("root"));
        header
    };
    if !prefix.is_empty() {
        append(&mut builder, header(EntryType::Directory, 0o755, 0), prefix, &[])?;
    }
    // A folder comes before its contents, because a path sorts before its extensions.
    let mut all: Vec<(&str, Option<&Entry>)> = tree.folders().into_iter().map(|path| (path, None)).collect();
    all.extend(tree.iter().map(|(path, entry)| (path, Some(entry))));
    all.sort_by_key(|(path, _)| *path);
    for (path, entry) in all {
        let path = format!("{prefix}{path}");
        match entry {
            None => append(&mut builder, header(EntryType::Directory, 0o755, 0), &format!("{path}/"), &[])?,
            Some(entry @ Entry::File { bytes, .. }) => {
                append(
                    &mut builder,
                    header(EntryType::Regular, entry.mode(), bytes.len() as u64),
                    &path,
                    bytes,
                )?;
            }
            Some(entry @ Entry::Link(to)) => {
                let mut header = header(EntryType::Symlink, entry.mode(), 0);
                header
                    .set_link_name(to)
                    .with_context(|| format!("the link `{path}` to `{to}` in an archive"))?;
                append(&mut builder, header, &path, &[])?;
            }
        }
    }
    builder.into_inner().context("an archive in memory")
}

fn append(builder: &mut Builder<Vec<u8>>, mut header: Header, path: &str, bytes: &[u8]) -> Result<()> {
    // `append_data` drops the leading `.` of paths in Debian's packages.
    match header.as_gnu_mut() {
        Some(gnu) if path.len() < gnu.name.len() => {
            gnu.name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            builder.append(&header, bytes)
        }
        _ => builder.append_data(&mut header, path, bytes),
    }
    .with_context(|| format!("`{path}` in an archive"))
}

/// Compresses with gzip, without a name, with this time.
pub(crate) fn gzip(bytes: &[u8], seconds: u64) -> Result<Vec<u8>> {
    // The field has 32 bits.
    let time = u32::try_from(seconds).unwrap_or(0);
    let mut encoder = GzBuilder::new().mtime(time).write(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).context("gzip in memory")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn archives_are_equal_whenever_they_are_made_and_hold_the_tree() {
        let mut tree = Tree::default();
        let long = format!("{}/file", "a-long-name/".repeat(12).trim_end_matches('/'));
        tree.add("bin/x", Entry::program("program")).expect("added");
        tree.add("lib/x.so", Entry::Link("x.so.1".to_owned())).expect("added");
        tree.add(&*long, Entry::data("far away")).expect("added");
        let archive = tar(&tree, "./", 7).expect("archive");
        assert_eq!(archive, tar(&tree.clone(), "./", 7).expect("again"));
        let mut found = Tree::default();
        let mut archive = tar::Archive::new(&archive[..]);
        for entry in archive.entries().expect("entries") {
            let mut entry = entry.expect("an entry");
            assert_eq!(entry.header().mtime().expect("time"), 7);
            let path = String::from_utf8(entry.path_bytes().into_owned()).expect("UTF-8");
            let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
            match entry.header().entry_type() {
                EntryType::Symlink => {
                    let to = entry.link_name().expect("link").expect("link").display().to_string();
                    found.add(path, Entry::Link(to)).expect("added");
                }
                EntryType::Regular => {
                    let executable = entry.header().mode().expect("mode") == 0o755;
                    let mut bytes = Vec::new();
                    entry.read_to_end(&mut bytes).expect("bytes");
                    found.add(path, Entry::File { bytes, executable }).expect("added");
                }
                _ => {}
            }
        }
        assert_eq!(found, tree);
    }

    #[test]
    fn gzip_holds_no_time_but_the_given_one() {
        let bytes = gzip(b"text", 1_700_000_000).expect("gzip");
        assert_eq!(bytes[4..8], 1_700_000_000_u32.to_le_bytes());
        // No name, no comment.
        assert_eq!(bytes[3], 0);
        let mut text = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("text");
        assert_eq!(text, "text");
    }
}
