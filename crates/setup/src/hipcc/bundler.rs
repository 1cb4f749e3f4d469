//! The functions of `clang-offload-bundler` that clang uses: bundling the outputs for host and devices into
//! one file.
//!
//! Debian has that program in a separate package of 40 MB. This module does everything that clang needs for
//! HIP, except relocatable device code (`-fgpu-rdc`), whose bundles are sections of the host's object files.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use code_object::bundle::{self, Entry};

/// The name under which clang calls the program.
pub const NAME: &str = "clang-offload-bundler";
/// Text types, and their comment markers.
const TEXTS: [(&str, &str); 7] =
    [("cui", "//"), ("d", "#"), ("hipi", "//"), ("i", "//"), ("ii", "//"), ("ll", ";"), ("s", "#")];
/// File types that are bundled unchanged.
const BINARY: [&str; 4] = ["ast", "bc", "gch", "o"];

/// Why nothing was bundled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Only LLVM's own program can do this.
    #[error("{what} takes LLVM's own {NAME}, of Debian's package clang-tools-22 or of ROCm, beside clang")]
    NotHere {
        /// The requested operation.
        what: String,
    },
    /// The command line is not from clang.
    #[error("{0}")]
    Arguments(String),
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The bundle cannot be compressed.
    #[error(transparent)]
    Compress(#[from] code_object::Error),
}

/// A parsed command line.
#[derive(Debug, Default)]
struct Request {
    kind: String,
    targets: Vec<String>,
    inputs: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
    is_compressed: bool,
}

impl Request {
    fn parse(arguments: &[OsString]) -> Result<Self, Error> {
        let not_here = |what: &str| Err(Error::NotHere { what: what.to_owned() });
        let mut request = Self::default();
        for argument in arguments {
            let bytes = argument.as_bytes();
            let start = bytes.iter().take_while(|byte| **byte == b'-').count();
            let bytes = bytes.get(start..).unwrap_or_default();
            let end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
            let value = bytes.get(end + 1..).unwrap_or_default();
            let path = || PathBuf::from(OsStr::from_bytes(value));
            let text = || String::from_utf8_lossy(value).into_owned();
            match bytes.get(..end).unwrap_or_default() {
                b"type" => request.kind = text(),
                b"targets" => request.targets = text().split(',').map(str::to_owned).collect(),
                b"input" => request.inputs.push(path()),
                b"output" => request.outputs.push(path()),
                b"compress" => request.is_compressed = value.is_empty() || value == b"1" || value == b"true",
                // The compression level is chosen here, and entries are always aligned for every loader.
                b"compression-level" | b"bundle-align" | b"verbose" => {}
                b"unbundle" => return not_here("taking a bundle apart"),
                b"list" => return not_here("listing a bundle"),
                _ => return not_here(&format!("the option {}", argument.to_string_lossy())),
            }
        }
        Ok(request)
    }
}

/// Executes a command line of clang.
///
/// # Errors
/// See [`Error`].
pub fn run(arguments: &[OsString]) -> Result<(), Error> {
    let request = Request::parse(arguments)?;
    let [output] = request.outputs.as_slice() else {
        return Err(Error::Arguments(format!("{} outputs, where one is expected", request.outputs.len())));
    };
    if request.targets.len() != request.inputs.len() {
        let (targets, inputs) = (request.targets.len(), request.inputs.len());
        return Err(Error::Arguments(format!("{targets} targets, but {inputs} inputs")));
    }
    let io = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source }
    };
    let mut parts = Vec::new();
    for (target, input) in request.targets.iter().zip(&request.inputs) {
        let bytes = fs::read(input).map_err(io("read", input))?;
        if request.kind == "o" && target.starts_with("host-") && !bytes.is_empty() {
            return Err(Error::NotHere { what: "relocatable device code (-fgpu-rdc)".to_owned() });
        }
        parts.push((entry_id(target), bytes));
    }
    let file = match TEXTS.iter().find(|(kind, _)| *kind == request.kind) {
        Some((_, comment)) => text(&parts, comment),
        None if BINARY.contains(&request.kind.as_str()) => {
            let entries: Vec<Entry<'_>> = parts.iter().map(|(id, bytes)| Entry { id, bytes }).collect();
            let bundle = bundle::bundle(&entries);
            if request.is_compressed { bundle::compressed(&bundle)? } else { bundle }
        }
        None => return Err(Error::NotHere { what: format!("a bundle of type \"{}\"", request.kind) }),
    };
    match output.as_os_str() == "-" {
        true => io::Write::write_all(&mut io::stdout(), &file).map_err(io("write", output)),
        false => fs::write(output, file).map_err(io("write", output)),
    }
}

/// The bundle's name for a target of the command line, such as `hip-amdgcn-amd-amdhsa-unknown-gfx90a:xnack-`:
/// kind, the four parts of a triple, the last of which may be empty, and the target id, separated by hyphens.
fn entry_id(target: &str) -> String {
    let mut parts: Vec<&str> = target.splitn(6, '-').collect();
    parts.resize(6, "");
    if parts[4] == "unknown" {
        parts[4] = "";
    }
    parts.join("-")
}

/// Texts, one after the other, each between two comments that name its target.
fn text(parts: &[(String, Vec<u8>)], comment: &str) -> Vec<u8> {
    let mut file = Vec::new();
    for (target, bytes) in parts {
        file.extend(format!("\n{comment} __CLANG_OFFLOAD_BUNDLE____START__ {target}\n").bytes());
        file.extend(bytes);
        file.extend(format!("\n{comment} __CLANG_OFFLOAD_BUNDLE____END__ {target}\n").bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const TARGETS: &str = "-targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx1100";

    fn files() -> TempDir {
        let folder = tempfile::tempdir().expect("folder");
        fs::write(folder.path().join("host"), "int x;\n").expect("write");
        fs::write(folder.path().join("code"), [7; 100]).expect("write");
        folder
    }

    fn call(folder: &TempDir, line: &str) -> Result<Vec<u8>, String> {
        let at = |name: &str| folder.path().join(name).display().to_string();
        let line = line.replace("HOST", &at("host")).replace("CODE", &at("code")).replace("OUT", &at("out"));
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        run(&arguments).map_err(|error| error.to_string())?;
        Ok(fs::read(folder.path().join("out")).expect("the output"))
    }

    #[test]
    fn code_objects_are_bundled_as_clang_asks_for_it() {
        let folder = files();
        let line = format!("-type=o -bundle-align=4096 {TARGETS} -input=/dev/null -input=CODE -output=OUT");
        let file = call(&folder, &line).expect("bundled");
        let entries = bundle::entries(&file).expect("a bundle");
        assert_eq!(entries[0], Entry { id: "host-x86_64-unknown-linux-gnu-", bytes: b"" });
        assert_eq!(entries[1], Entry { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: &[7; 100] });
        let packed =
            call(&folder, &format!("{line} -compress -compression-level=3 -verbose")).expect("bundled");
        assert_eq!(bundle::uncompressed(&packed).expect("compressed"), file);
    }

    /// The output of LLVM 22.1.8's own program for the same files.
    #[test]
    fn texts_stand_between_comments_as_llvm_writes_them() {
        let folder = files();
        fs::write(folder.path().join("code"), "s_endpgm\n").expect("write");
        let targets = "-targets=hip-amdgcn-amd-amdhsa-unknown-gfx1100,host-x86_64-pc-linux-gnu";
        for (kind, comment) in [("hipi", "//"), ("ll", ";"), ("d", "#"), ("s", "#")] {
            let line = format!("-type={kind} {targets} -output=OUT -input=CODE -input=HOST");
            let file = call(&folder, &line).expect("bundled");
            let expected = "\n# __CLANG_OFFLOAD_BUNDLE____START__ hip-amdgcn-amd-amdhsa--gfx1100\ns_endpgm\n\
                            \n# __CLANG_OFFLOAD_BUNDLE____END__ hip-amdgcn-amd-amdhsa--gfx1100\n\
                            \n# __CLANG_OFFLOAD_BUNDLE____START__ host-x86_64-pc-linux-gnu-\nint x;\n\
                            \n# __CLANG_OFFLOAD_BUNDLE____END__ host-x86_64-pc-linux-gnu-\n";
            assert_eq!(String::from_utf8(file).expect("UTF-8"), expected.replace('#', comment));
        }
    }

    #[test]
    fn entries_have_whole_triples() {
        assert_eq!(
            entry_id("hip-amdgcn-amd-amdhsa-unknown-gfx90a:xnack-"),
            "hip-amdgcn-amd-amdhsa--gfx90a:xnack-"
        );
        assert_eq!(entry_id("hipv4-amdgcn-amd-amdhsa--gfx1100"), "hipv4-amdgcn-amd-amdhsa--gfx1100");
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let folder = files();
        for (line, expected) in [
            (format!("-type=o {TARGETS} -input=HOST -input=CODE -output=OUT"), "relocatable device code"),
            (format!("-type=o {TARGETS} -input=/dev/null -output=OUT"), "2 targets, but 1 inputs"),
            (format!("-type=zz {TARGETS} -input=HOST -input=CODE -output=OUT"), "of type \"zz\""),
            (format!("-type=o {TARGETS} -input=HOST -input=/no/such -output=OUT"), "takes LLVM's own"),
            (format!("-type=s {TARGETS} -input=HOST -input=/no/such -output=OUT"), "cannot read /no/such"),
            ("-unbundle -type=o".to_owned(), "taking a bundle apart"),
            ("--what".to_owned(), "the option --what"),
            ("-type=o".to_owned(), "0 outputs"),
        ] {
            let error = call(&folder, &line).expect_err(&line);
            assert!(error.contains(expected), "{error}");
        }
    }
}
