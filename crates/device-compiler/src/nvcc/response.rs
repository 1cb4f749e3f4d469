//! Response files: options in a file, named by `@FILE` or `--options-file FILE`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use super::options::{self, Given, Kind};
use crate::Error;

/// The nesting limit of response files, because a cycle would never end.
const DEEPEST: usize = 20;

/// The words of a command line with those of its response files in their places. A word `@FILE` stays if there
/// is no such file.
///
/// # Errors
/// [`Error::Io`] names the file that cannot be read, or the last one of a chain without end.
pub fn expand(given: &[OsString]) -> Result<Vec<OsString>, Error> {
    let mut words = Vec::new();
    expand_into(given, &mut words, 0)?;
    Ok(words)
}

fn expand_into(given: &[OsString], words: &mut Vec<OsString>, depth: usize) -> Result<(), Error> {
    let read = |path: PathBuf, words: &mut Vec<OsString>, must_exist: bool| {
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => return Ok(false),
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        if depth == DEEPEST {
            let error = std::io::Error::other("response files name each other");
            return Err(Error::io("read", &path, error));
        }
        expand_into(&split(&text), words, depth + 1)?;
        Ok(true)
    };
    for Given { words: given, kind } in options::each(given) {
        match kind {
            Kind::Option(row, Some(files)) if row.long == "options-file" => {
                for file in options::values(&files) {
                    read(PathBuf::from(file), words, true)?;
                }
            }
            Kind::File => {
                let name = given[0].as_bytes().strip_prefix(b"@").filter(|name| !name.is_empty());
                let file = name.map(|name| PathBuf::from(OsStr::from_bytes(name)));
                if !file.map_or(Ok(false), |file| read(file, words, false))? {
                    words.extend_from_slice(given);
                }
            }
            _ => words.extend_from_slice(given),
        }
    }
    Ok(())
}

/// The words of a response file, separated by blanks. Quotes group words, and a backslash escapes the next
/// character, in quotes, too.
#[must_use]
pub fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => {
                if let Some(next) = bytes.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            (_, Some(end)) if byte == end => quote = None,
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take().map(OsString::from_vec)),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str) -> Result<Vec<OsString>, Error> {
        expand(&split(line.as_bytes()))
    }

    #[test]
    fn response_files_are_read_where_they_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(at("inner"), "-DX='a b' -O2").unwrap();
        std::fs::write(at("outer"), format!("a.cu @{}\n--options-file {}", at("inner"), at("inner")))
            .unwrap();
        let line = format!("-c @{} b.cu -optf={} @/no/such -o @x", at("outer"), at("inner"));
        assert_eq!(
            all(&line).unwrap(),
            [
                "-c",
                "a.cu",
                "-DX=a b",
                "-O2",
                "-DX=a b",
                "-O2",
                "b.cu",
                "-DX=a b",
                "-O2",
                "@/no/such",
                "-o",
                "@x"
            ]
        );
        let error = all("-optf /no/such").unwrap_err().to_string();
        assert!(error.contains("/no/such"), "{error}");
        std::fs::write(at("cycle"), format!("@{}", at("cycle"))).unwrap();
        let error = all(&format!("@{}", at("cycle"))).unwrap_err().to_string();
        assert!(error.contains("name each other"), "{error}");
    }
}
