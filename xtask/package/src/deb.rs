//! Debian's package format: an `ar` archive with two tar archives, one of metadata and one of files.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use crate::about::{About, DESCRIPTION, LICENSE_FILES, NAME, SYNOPSIS};
use crate::archive::{gzip, tar};
use crate::needs::SystemNeeds;
use crate::tree::{Entry, Tree};

/// The packaging revision at the end of Debian versions.
const REVISION: &str = "1";
/// Debian's name of x86-64.
const ARCHITECTURE: &str = "amd64";
/// Debian's folder for zsh completions, which differs from other systems.
const ZSH: (&str, &str) = ("share/zsh/site-functions/", "share/zsh/vendor-completions/");

/// The file's name.
pub(crate) fn file_name(about: &About) -> String {
    format!("{NAME}_{}-{REVISION}_{ARCHITECTURE}.deb", version(about))
}

/// In Debian's order of versions, `~` sorts before the end: 1.0~rc1 precedes 1.0.
fn version(about: &About) -> String {
    about.version.replacen('-', "~", 1)
}

/// The package with the files of a tree that is laid out like `/usr`.
pub(crate) fn deb(tree: &Tree, about: &About) -> Result<Vec<u8>> {
    let mut files = Tree::default();
    for (path, entry) in tree.iter() {
        let path = match path.strip_prefix(ZSH.0) {
            Some(rest) => format!("{}{rest}", ZSH.1),
            None => path.to_owned(),
        };
        // The licences are in `copyright`.
        if !LICENSE_FILES.iter().any(|name| path.ends_with(name)) {
            files.add(path, entry.clone())?;
        }
    }
    let documents = format!("share/doc/{NAME}");
    files.add(format!("{documents}/copyright"), Entry::data(copyright(tree, about)?))?;
    let changelog = gzip(changelog(about)?.as_bytes(), 0)?;
    files.add(format!("{documents}/changelog.Debian.gz"), Entry::data(changelog))?;
    let files = files.below("usr");

    let mut control = Tree::default();
    control.add("control", Entry::data(self::control(&files, about)?))?;
    let parts = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(&control, "./", about.seconds)?, about.seconds)?),
        ("data.tar.gz", gzip(&tar(&files, "./", about.seconds)?, about.seconds)?),
    ];
    ar(&parts, about.seconds)
}

/// An `ar` archive: a header of 60 characters for each part, and parts of even length.
fn ar(parts: &[(&str, Vec<u8>)], seconds: u64) -> Result<Vec<u8>> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, bytes) in parts {
        let header = format!("{name:<16}{seconds:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 100_644, bytes.len());
        if header.len() != 60 {
            bail!("`{name}`, of {} bytes, does not fit into an archive of ar", bytes.len());
        }
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    Ok(out)
}

fn control(files: &Tree, about: &About) -> Result<String> {
    let depends = SystemNeeds::of(files)?.depends();
    let mut text = format!(
        "Package: {NAME}\nVersion: {}-{REVISION}\nArchitecture: {ARCHITECTURE}\nMaintainer: {}\nInstalled-Size: {}\n",
        version(about),
        about.maintainer,
        files.size().div_ceil(1024)
    );
    if !depends.is_empty() {
        let _ = writeln!(text, "Depends: {depends}");
    }
    let _ = write!(
        text,
        "Section: devel\nPriority: optional\nHomepage: {}\nDescription: {SYNOPSIS}\n",
        about.homepage
    );
    for (number, paragraph) in DESCRIPTION.iter().enumerate() {
        if number > 0 {
            text.push_str(" .\n");
        }
        for line in wrapped(paragraph, 76) {
            let _ = writeln!(text, " {line}");
        }
    }
    Ok(text)
}

/// The words in lines of at most this many characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `copyright` in machine-readable form, with the licences' texts.
fn copyright(tree: &Tree, about: &About) -> Result<String> {
    let mut text = format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: {NAME}\nSource: {}\n\n\
         Files: *\nCopyright: The {NAME} authors\nLicense: Apache-2.0 or Expat\nComment: The crates that the programs are linked with, and \
         their licences, are in\n /usr/share/doc/{NAME}/third-party.txt.gz and /usr/share/doc/{NAME}/{NAME}.cdx.json.gz.\n",
        about.homepage
    );
    for (name, file) in ["Apache-2.0", "Expat"].iter().zip(LICENSE_FILES) {
        let path = format!("share/doc/{NAME}/{file}");
        let bytes = tree.get(&path).with_context(|| format!("the package lacks {path}"))?.bytes();
        let _ = writeln!(text, "\nLicense: {name}");
        for line in std::str::from_utf8(bytes).with_context(|| format!("{file} is not UTF-8"))?.lines() {
            // An empty line would end the paragraph.
            let _ = writeln!(text, " {}", if line.trim().is_empty() { "." } else { line.trim_end() });
        }
    }
    Ok(text)
}

fn changelog(about: &About) -> Result<String> {
    Ok(format!(
        "{NAME} ({}-{REVISION}) unstable; urgency=medium\n\n  * Release {}.\n\n -- {}  {}\n",
        version(about),
        about.version,
        about.maintainer,
        about.rfc2822()?
    ))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use test_skip::{Lack, skip};

    use super::*;
    use crate::about::example;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        let program = std::fs::read("/bin/true").expect("a program");
        tree.add("bin/ferrocm", Entry::program(program)).expect("added");
        tree.add("lib/ferrocm/libx.so", Entry::Link("libx.so.1".to_owned())).expect("added");
        tree.add("share/zsh/site-functions/_ferrocm", Entry::data("#compdef ferrocm\n")).expect("added");
        for file in LICENSE_FILES {
            tree.add(format!("share/doc/ferrocm/{file}"), Entry::data("A licence.\n\nMore.\n"))
                .expect("added");
        }
        tree
    }

    /// The output of Debian's own tool.
    fn dpkg_deb(arguments: &[&str], file: &std::path::Path) -> Option<String> {
        let done = Command::new("dpkg-deb").args(arguments).arg(file).output();
        let Ok(done) = done else {
            skip(Lack::Judge, "no dpkg-deb on this machine");
            return None;
        };
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Some(String::from_utf8(done.stdout).expect("UTF-8"))
    }

    #[test]
    fn debians_own_tool_reads_the_package() {
        let package = deb(&tree(), &example()).expect("package");
        assert_eq!(
            package,
            deb(&tree(), &example()).expect("again"),
            "two packages of the same files are equal"
        );
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join(file_name(&example()));
        std::fs::write(&file, package).expect("write");
        let Some(fields) = dpkg_deb(&["--field"], &file) else { return };
        for line in [
            "Package: ferrocm",
            "Version: 1.2.3-1",
            "Architecture: amd64",
            "Section: devel",
            "Homepage: https://example.org/ferrocm",
            "Description: ROCm for Rust and HIP programs, with a virtual AMD GPU included",
        ] {
            assert!(fields.lines().any(|found| found == line), "{line} in {fields}");
        }
        assert!(fields.contains("\nDepends: libc6 (>= 2."), "{fields}");
        assert!(fields.lines().all(|line| line.len() <= 80), "{fields}");
        let files = dpkg_deb(&["--contents"], &file).expect("files");
        for part in [
            "-rwxr-xr-x root/root",
            "./usr/bin/ferrocm\n",
            "./usr/lib/ferrocm/libx.so -> libx.so.1\n",
            "./usr/share/zsh/vendor-completions/_ferrocm\n",
            "./usr/share/doc/ferrocm/copyright\n",
            "./usr/share/doc/ferrocm/changelog.Debian.gz\n",
        ] {
            assert!(files.contains(part), "{part} in {files}");
        }
        assert!(!files.contains("LICENSE") && !files.contains("site-functions"), "{files}");
        // Repacking with Debian's own tool gives the same control file.
        let out = folder.path().join("unpacked");
        let done =
            Command::new("dpkg-deb").arg("--raw-extract").arg(&file).arg(&out).status().expect("dpkg-deb");
        assert!(done.success());
        let copyright =
            std::fs::read_to_string(out.join("usr/share/doc/ferrocm/copyright")).expect("copyright");
        assert!(copyright.contains("\nLicense: Expat\n A licence.\n .\n More.\n"), "{copyright}");
    }

    #[test]
    fn versions_before_a_release_come_before_it() {
        let about = About { version: "1.0.0-rc.1".to_owned(), ..example() };
        assert_eq!(file_name(&about), "ferrocm_1.0.0~rc.1-1_amd64.deb");
        let earlier =
            Command::new("dpkg").args(["--compare-versions", &version(&about), "lt", "1.0.0"]).status();
        match earlier {
            Ok(status) => assert!(status.success()),
            Err(_) => skip(Lack::Judge, "no dpkg on this machine"),
        }
    }
}
