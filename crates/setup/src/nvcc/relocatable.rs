//! Relocatable device code: LLVM's bitcode for each target, in a section of the host's object files.
//!
//! clang puts whatever file it is told to into the section [`SECTION`], which linkers drop from programs. A
//! frame around each source's code keeps them apart after `ld -r`. Objects refer to their kernels and variables
//! by entries in a table that the linker puts together, and the linked code registers those that it has.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use code_object::bundle::{self, Entry};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use super::archive;

/// The section in which clang embeds a file.
const SECTION: &[u8] = b".llvm.offloading";
/// The section of linked device code that names the sources in it.
const LINKED: &[u8] = b".ferrocm_linked";
/// Begins a source's code.
const MAGIC: &[u8; 16] = b"ferrocm rdc code";
/// The name of the symbol that clang makes for each source, before its number.
const ID: &str = "__hip_cuid_";
/// The first clang whose table of entries the registration knows.
pub(super) const LEAST_CLANG: u32 = 21;

/// A frame around the code of a source: a bundle of each target's.
pub(super) fn frame(bundle: &[u8]) -> Vec<u8> {
    let mut framed = MAGIC.to_vec();
    framed.extend((bundle.len() as u64).to_le_bytes());
    framed.extend(bundle);
    framed.resize(framed.len().next_multiple_of(8), 0);
    framed
}

/// The framed bundles in a section. Linkers put zeros between them.
fn framed(section: &[u8]) -> Result<Vec<&[u8]>, String> {
    let mut found = Vec::new();
    let mut rest = section;
    loop {
        let begin = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
        rest = &rest[begin..];
        if rest.is_empty() {
            return Ok(found);
        }
        let body = rest.strip_prefix(MAGIC).ok_or("its device code was compiled by another compiler")?;
        let (size, behind) = body.split_first_chunk::<8>().ok_or("its device code is cut off")?;
        let size = usize::try_from(u64::from_le_bytes(*size)).map_err(|_| "its device code is damaged")?;
        found.push(behind.get(..size).ok_or("its device code is cut off")?);
        rest = &behind[size..];
    }
}

/// The relocatable device code in a file, and the sources that other code in it has already linked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Code {
    /// For each source: the names of its objects' symbols, and the code by target.
    pub(super) sources: Vec<Source>,
    pub(super) linked: BTreeSet<String>,
}

/// The code of a source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) ids: Vec<String>,
    pub(super) file: PathBuf,
    pub(super) targets: Vec<(String, Vec<u8>)>,
}

/// Reads an object file or a static library. Other files have none.
pub(super) fn read(path: &Path, file: &[u8]) -> Result<Code, String> {
    let mut code = Code::default();
    for member in archive::members(file)?.unwrap_or_default() {
        let Ok(object) = object::File::parse(member) else { continue };
        if object.kind() != object::ObjectKind::Relocatable {
            continue;
        }
        if let Some(section) = object.section_by_name_bytes(LINKED) {
            let names = section.data().map_err(|error| error.to_string())?;
            let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            code.linked.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
        }
        let Some(section) = object.section_by_name_bytes(SECTION) else { continue };
        let ids = object.symbols().filter(|symbol| symbol.is_definition());
        let ids: Vec<String> = ids
            .filter_map(|symbol| symbol.name().ok().filter(|name| name.starts_with(ID)).map(str::to_owned))
            .collect();
        for bundle in framed(section.data().map_err(|error| error.to_string())?)? {
            let entries = bundle::entries(bundle).map_err(|error| error.to_string())?;
            let targets = entries.iter().map(|entry| (entry.id.to_owned(), entry.bytes.to_vec())).collect();
            code.sources.push(Source { ids: ids.clone(), file: path.to_owned(), targets });
        }
    }
    Ok(code)
}

/// The names that linked code defines, and the sources in it.
pub(super) fn names(code_object: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
    let file = object::File::parse(code_object).map_err(|error| error.to_string())?;
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let all = defined.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    Ok(all.partition(|name| !name.starts_with(ID)))
}

/// A bundle of the linked code, as the HIP library loads it.
pub(super) fn fat_binary(code: &[(String, Vec<u8>)]) -> Vec<u8> {
    let ids: Vec<String> =
        code.iter().map(|(target, _)| format!("hipv4-amdgcn-amd-amdhsa--{target}")).collect();
    let mut entries = vec![Entry { id: "host-x86_64-unknown-linux-gnu-", bytes: b"" }];
    entries.extend(ids.iter().zip(code).map(|(id, (_, bytes))| Entry { id, bytes }));
    bundle::bundle(&entries)
}

/// A text as a C string literal.
fn literal(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            _ => {
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    quoted.push('"');
    quoted
}

/// The C source that registers the linked code in `binary` before `main`.
pub(super) fn registration(binary: &Path, names: &[String], ids: &[String]) -> String {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    let names: String = sorted.iter().map(|name| format!("    {},\n", literal(name))).collect();
    let ids: String = ids.iter().map(|id| format!("    \".asciz \\\"{id}\\\"\\n\"\n")).collect();
    let path = literal(&literal(&binary.to_string_lossy()));
    include_str!("registration.c")
        .replace("@BINARY@", &path[1..path.len() - 1])
        .replace("    @NAMES@,\n", &names)
        .replace("    @IDS@\n", &ids)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_are_kept_apart() {
        let mut section = frame(b"first");
        section.extend([0; 24]);
        section.extend(frame(b"second code"));
        assert_eq!(framed(&section), Ok(vec![&b"first"[..], b"second code"]));
        assert_eq!(framed(&[0; 16]), Ok(Vec::new()));
        assert!(framed(&section[..20]).is_err() && framed(b"other").is_err());
    }

    #[test]
    fn names_and_sources_are_in_the_registration() {
        let text = registration(
            Path::new("/a b/\"c\".hipfb"),
            &["_Z1kPi".to_owned(), "_Z1jv".to_owned()],
            &["__hip_cuid_12".to_owned()],
        );
        assert!(text.contains("    \"_Z1jv\",\n    \"_Z1kPi\",\n"), "{text}");
        assert!(text.contains(".asciz \\\"__hip_cuid_12\\\"") && !text.contains('@'), "{text}");
        assert!(text.contains(r#".incbin \"/a b/\\\"c\\\".hipfb\""#), "{text}");
    }

    proptest! {
        #[test]
        fn no_section_is_read_outside_itself(section: Vec<u8>, file: Vec<u8>) {
            let _ = framed(&section);
            let _ = read(Path::new("x.o"), &file);
            let mut begun = frame(&section);
            begun.truncate(begun.len().saturating_sub(9));
            let _ = framed(&begun);
        }
    }
}
