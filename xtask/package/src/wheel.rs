//! The Python wheel: the program, its libraries, and a command that starts it.

use std::fmt::Write as _;
use std::io::{Cursor, Write};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::about::{About, DESCRIPTION, LICENSE, LICENSE_FILES, NAME, SYNOPSIS};
use crate::needs::SystemNeeds;
use crate::tree::{Entry, Tree};

/// The Python part.
const MODULE: &str = include_str!("wheel/init.py");
/// What `python -m ferrocm` runs.
const MAIN: &str = "from ferrocm import main\n\nmain()\n";

/// A wheel.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The file's name, with the platform.
    pub(crate) name: String,
    /// The file.
    pub(crate) bytes: Vec<u8>,
}

/// Makes the wheel from a tree that is laid out like `/usr`, without files for system packages. `stubs` are
/// libraries that replace links, which wheels do not support.
pub(crate) fn wheel(tree: &Tree, stubs: &Tree, sbom: &[u8], about: &About) -> Result<Wheel> {
    let mut files = Tree::default();
    for (path, entry) in tree.iter().filter(|(path, _)| path.starts_with("bin/") || path.starts_with("lib/"))
    {
        match entry {
            Entry::File { .. } => files.add(format!("{NAME}/{path}"), entry.clone())?,
            Entry::Link(_) => {
                let stub =
                    stubs.get(path).with_context(|| format!("there is nothing for the link {path}"))?;
                files.add(format!("{NAME}/{path}"), stub.clone())?;
            }
        }
    }
    let platform = SystemNeeds::of(&files)?.manylinux()?;
    let tag = format!("py3-none-{platform}");
    files.add(format!("{NAME}/__init__.py"), Entry::data(MODULE.replace("@VERSION@", &version(about))))?;
    files.add(format!("{NAME}/__main__.py"), Entry::data(MAIN))?;
    files.add(format!("{NAME}/py.typed"), Entry::data(""))?;
    let info = format!("{NAME}-{}.dist-info", version(about));
    files.add(format!("{info}/METADATA"), Entry::data(metadata(about)))?;
    let wheel = format!("Wheel-Version: 1.0\nGenerator: {NAME} xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    files.add(format!("{info}/WHEEL"), Entry::data(wheel))?;
    files.add(
        format!("{info}/entry_points.txt"),
        Entry::data(format!("[console_scripts]\n{NAME} = {NAME}:main\n")),
    )?;
    files.add(format!("{info}/sboms/{NAME}.cdx.json"), Entry::data(sbom))?;
    for file in LICENSE_FILES.into_iter().chain(["third-party.txt"]) {
        let path = format!("share/doc/{NAME}/{file}");
        let entry = tree.get(&path).with_context(|| format!("the package lacks {path}"))?;
        files.add(format!("{info}/licenses/{file}"), entry.clone())?;
    }
    let record = record(&files, &info);
    files.add(format!("{info}/RECORD"), Entry::data(record))?;
    Ok(Wheel { name: format!("{NAME}-{}-{tag}.whl", version(about)), bytes: zip(&files, &info, about)? })
}

/// The version in the form of PEP 440: 1.0.0-rc.1 is 1.0.0rc1.
fn version(about: &About) -> String {
    match about.version.split_once('-') {
        Some((release, before)) => {
            format!("{release}{}", before.replacen("alpha", "a", 1).replacen("beta", "b", 1).replace('.', ""))
        }
        None => about.version.clone(),
    }
}

fn metadata(about: &About) -> String {
    let mut text = format!(
        "Metadata-Version: 2.4\nName: {NAME}\nVersion: {}\nSummary: {SYNOPSIS}\nHome-page: {}\nLicense-Expression: {LICENSE}\n",
        version(about),
        about.homepage
    );
    for file in LICENSE_FILES.into_iter().chain(["third-party.txt"]) {
        let _ = writeln!(text, "License-File: {file}");
    }
    text.push_str("Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n# ferrocm\n");
    for paragraph in DESCRIPTION {
        let _ = write!(text, "\n{paragraph}\n");
    }
    text.push_str(
        "\n```console\n$ pip install ferrocm\n$ ferrocm run --device vgpu:gfx1100 -- ./saxpy\n```\n",
    );
    text
}

/// Each file with its hash, except the list itself.
fn record(files: &Tree, info: &str) -> String {
    let mut text = String::new();
    for (path, entry) in files.iter() {
        let hash = base64_url(&Sha256::digest(entry.bytes()));
        let _ = writeln!(text, "{path},sha256={hash},{}", entry.bytes().len());
    }
    let _ = writeln!(text, "{info}/RECORD,,");
    text
}

/// URL-safe Base64 without padding.
fn base64_url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().enumerate().fold(0_u32, |word, (at, byte)| word | u32::from(*byte) << (16 - 8 * at));
        for digit in 0..=chunk.len() {
            text.push(char::from(DIGITS[(word >> (18 - 6 * digit)) as usize & 63]));
        }
    }
    text
}

/// The archive, with the wheel's metadata at the end, as the format recommends.
fn zip(files: &Tree, info: &str, about: &About) -> Result<Vec<u8>> {
    let time = about.time()?;
    let year = u16::try_from(time.year()).context("the time of the wheel")?;
    let time = DateTime::from_date_and_time(
        // The format's earliest year.
        year.max(1980),
        time.month().into(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
    );
    let time = time.context("the time of the wheel")?;
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(time);
    let (about_it, of_it): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| path.starts_with(info));
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, entry) in of_it.into_iter().chain(about_it) {
        let written = writer.start_file(path, options.unix_permissions(entry.mode()));
        written.with_context(|| format!("{path} in the wheel"))?;
        writer.write_all(entry.bytes()).with_context(|| format!("{path} in the wheel"))?;
    }
    Ok(writer.finish().context("the wheel")?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use test_skip::{Lack, skip};

    use super::*;
    use crate::about::example;

    #[test]
    fn versions_are_pythons() {
        for (ours, theirs) in [("1.2.3", "1.2.3"), ("1.0.0-rc.1", "1.0.0rc1"), ("1.0.0-alpha.2", "1.0.0a2")] {
            assert_eq!(version(&About { version: ours.to_owned(), ..example() }), theirs);
        }
    }

    #[test]
    fn hashes_are_written_as_the_format_says() {
        // The values of RFC 4648, without padding.
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")]
        {
            assert_eq!(base64_url(bytes.as_bytes()), text);
        }
        assert_eq!(base64_url(&[0xfb, 0xff, 0xfe]), "-__-");
    }

    #[test]
    fn python_installs_the_wheel_and_its_command_starts_the_program() {
        let mut tree = Tree::default();
        // A program that needs glibc and prints how it was started.
        let folder = tempfile::tempdir().expect("folder");
        let (source, program) = (folder.path().join("a.c"), folder.path().join("a"));
        std::fs::write(
            &source,
            "#include <stdio.h>\nint main(int n, char **a) { return printf(\"%s %d\\n\", a[1], n) < 0; }\n",
        )
        .expect("write");
        assert!(Command::new("cc").arg(&source).arg("-o").arg(&program).status().expect("cc").success());
        tree.add("bin/ferrocm", Entry::program(std::fs::read(&program).expect("read"))).expect("added");
        tree.add("lib/ferrocm/libx.so", Entry::Link("libx.so.1".to_owned())).expect("added");
        for file in [LICENSE_FILES[0], LICENSE_FILES[1], "third-party.txt"] {
            tree.add(format!("share/doc/ferrocm/{file}"), Entry::data(file)).expect("added");
        }
        let mut stubs = Tree::default();
        stubs.add("lib/ferrocm/libx.so", Entry::data("stub")).expect("added");
        let made = wheel(&tree, &stubs, b"{}", &example()).expect("wheel");
        assert_eq!(
            made.bytes,
            wheel(&tree, &stubs, b"{}", &example()).expect("again").bytes,
            "two wheels are equal"
        );
        assert!(made.name.starts_with("ferrocm-1.2.3-py3-none-manylinux_2_"), "{}", made.name);
        let file = folder.path().join(&made.name);
        std::fs::write(&file, &made.bytes).expect("write");
        let site = folder.path().join("site");
        let pip = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"])
            .arg(&site)
            .arg(&file)
            .output();
        match pip {
            Ok(done) if String::from_utf8_lossy(&done.stderr).contains("No module named pip") => {
                return skip(Lack::Judge, "Python has no pip here");
            }
            Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
            Err(_) => return skip(Lack::Judge, "no Python on this machine"),
        }
        let ran = Command::new("python3")
            .args(["-m", "ferrocm", "word"])
            .env("PYTHONPATH", &site)
            .output()
            .expect("runs");
        assert_eq!(
            String::from_utf8_lossy(&ran.stdout),
            "word 2\n",
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let script = "import ferrocm; print(ferrocm.__version__, ferrocm.libraries(), ferrocm.environment('vgpu', {'LD_LIBRARY_PATH': '/x'}))";
        let ran =
            Command::new("python3").args(["-c", script]).env("PYTHONPATH", &site).output().expect("runs");
        let text = String::from_utf8_lossy(&ran.stdout);
        let libraries = site.join("ferrocm/lib/ferrocm");
        let libraries = libraries.display();
        let path = format!(
            "'LD_LIBRARY_PATH': '{libraries}:{libraries}/rocblas:{libraries}/rccl:/x', 'FERROCM_DEVICE': 'vgpu'"
        );
        assert!(
            text.starts_with(&format!("1.2.3 {libraries} ")) && text.contains(&path),
            "{text}{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
}
