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
/// Begins a source's code.
const MAGIC: &[u8; 16] = b"ferrocm rdc code";
/// The symbol that linked code defines for each source in it, and that the source's object file refers to,
/// before the source's id.
pub(super) const SOURCE: &str = "ferrocm_source_";
/// The symbol that clang makes for each source.
const CLANGS: &str = "__hip_cuid_";
/// The entry of a bundle that has the source's id.
const ID: &str = "source";
/// The first clang whose table of entries the registration knows.
pub(super) const LEAST_CLANG: u32 = 21;

/// The code of a source for each target, as its object file keeps it.
pub(super) fn pack(id: &str, code: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut entries = vec![Entry { id: ID, bytes: id.as_bytes() }];
    entries.extend(code.iter().map(|(target, bytes)| Entry { id: target, bytes }));
    frame(&bundle::bundle(&entries))
}

/// A frame around a bundle.
fn frame(bundle: &[u8]) -> Vec<u8> {
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
    pub(super) sources: Vec<Source>,
    /// The ids of the latter.
    pub(super) linked: BTreeSet<String>,
}

/// The code of a source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) id: String,
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
        let defined = object.symbols().filter(|symbol| symbol.is_definition());
        let ids = defined.filter_map(|symbol| symbol.name().ok()?.strip_prefix(SOURCE).map(str::to_owned));
        code.linked.extend(ids);
        let Some(section) = object.section_by_name_bytes(SECTION) else { continue };
        for bundle in framed(section.data().map_err(|error| error.to_string())?)? {
            let mut source = Source { id: String::new(), file: path.to_owned(), targets: Vec::new() };
            for Entry { id, bytes } in bundle::entries(bundle).map_err(|error| error.to_string())? {
                match id {
                    ID => source.id = String::from_utf8_lossy(bytes).into_owned(),
                    target => source.targets.push((target.to_owned(), bytes.to_vec())),
                }
            }
            if source.id.is_empty() || !source.id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err("its device code is damaged".to_owned());
            }
            code.sources.push(source);
        }
    }
    Ok(code)
}

/// The section with the entries of an object file's kernels and variables.
const ENTRIES: &[u8] = b"llvm_offload_entries";
/// The flag of sections that linkers keep although nothing refers to them (`--gc-sections`), and the ABI in
/// whose objects it has that meaning.
const RETAIN: u64 = 0x20_0000;
const GNU_ABI: u8 = 3;

/// Marks an object file's entries as needed: linked code finds them between two symbols of the linker.
pub(super) fn retain(object: &mut [u8]) -> Result<(), String> {
    let damaged = || "it is not an object file of this compiler".to_owned();
    let number = |object: &[u8], at: usize, size: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(object.get(at..at.checked_add(size)?)?);
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let field = |object: &[u8], at, size| number(object, at, size).ok_or_else(damaged);
    if !object.starts_with(b"\x7fELF\x02\x01") {
        return Err(damaged());
    }
    let (table, size) = (field(object, 0x28, 8)?, field(object, 0x3a, 2)?);
    let (count, names) = (field(object, 0x3c, 2)?, field(object, 0x3e, 2)?);
    let header = |i: usize| i.checked_mul(size).and_then(|at| at.checked_add(table)).ok_or_else(damaged);
    let text = field(object, header(names)?.saturating_add(0x18), 8)?;
    for i in 0..count {
        let at = header(i)?;
        let name = text.saturating_add(field(object, at, 4)?);
        let found = object.get(name..).unwrap_or_default();
        if found.starts_with(ENTRIES) && found.get(ENTRIES.len()) == Some(&0) {
            let flags = object.get_mut(at.saturating_add(8)..).and_then(|rest| rest.first_chunk_mut::<8>());
            let flags = flags.ok_or_else(damaged)?;
            *flags = (u64::from_le_bytes(*flags) | RETAIN).to_le_bytes();
        }
    }
    object[7] = GNU_ABI;
    Ok(())
}

/// The names that linked code defines.
pub(super) fn names(code_object: &[u8]) -> Result<Vec<String>, String> {
    let file = object::File::parse(code_object).map_err(|error| error.to_string())?;
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let all = defined.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    Ok(all.filter(|name| !name.starts_with(CLANGS)).collect())
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

/// The C source that registers the linked code of these sources in `binary` before `main`.
pub(super) fn registration(binary: &Path, names: &[String], ids: &[&str]) -> String {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    let names: String = sorted.iter().map(|name| format!("    {},\n", literal(name))).collect();
    let hidden = "__attribute__((visibility(\"hidden\")))";
    let sources: String = ids.iter().map(|id| format!("{hidden} const char {SOURCE}{id} = 1;\n")).collect();
    let path = literal(&literal(&binary.to_string_lossy()));
    include_str!("registration.c")
        .replace("@BINARY@", &path[1..path.len() - 1])
        .replace("    @NAMES@,\n", &names)
        .replace("@SOURCES@\n", &sources)
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
            &["12ab"],
        );
        assert!(text.contains("    \"_Z1jv\",\n    \"_Z1kPi\",\n"), "{text}");
        assert!(text.contains("const char ferrocm_source_12ab = 1;\n") && !text.contains('@'), "{text}");
        assert!(text.contains(r#".incbin \"/a b/\\\"c\\\".hipfb\""#), "{text}");
    }

    proptest! {
        #[test]
        fn no_section_is_read_outside_itself(section: Vec<u8>, file: Vec<u8>) {
            let _ = framed(&section);
            let _ = read(Path::new("x.o"), &file);
            let mut object = b"\x7fELF\x02\x01".to_vec();
            object.extend(&file);
            let _ = retain(&mut object);
            let mut begun = frame(&section);
            begun.truncate(begun.len().saturating_sub(9));
            let _ = framed(&begun);
        }
    }
}
