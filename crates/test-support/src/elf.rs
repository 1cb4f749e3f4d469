//! The exports of a shared library, and the contents of a version script.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use object::elf::{DT_NEEDED, DT_SONAME, FileHeader64, SHT_DYNSYM};
use object::read::elf::{Dyn as _, FileHeader as _, Sym as _};
use object::{LittleEndian, SymbolIndex};

/// Symbols with their versions.
pub type Symbols = BTreeMap<String, String>;

/// The dynamic section of a shared library.
#[derive(Debug, Default)]
pub struct Shared {
    /// Its name.
    pub soname: String,
    /// The names of its dependencies.
    pub needed: Vec<String>,
    /// Its functions and their versions; an empty text if a symbol has none.
    pub functions: Symbols,
    /// Each version and its predecessor.
    pub versions: BTreeMap<String, Option<String>>,
}

impl Shared {
    /// Reads a file.
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let bytes = bytes.as_slice();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let end = LittleEndian;
        let header = FileHeader64::<LittleEndian>::parse(bytes).expect("an ELF file");
        let sections = header.sections(end, bytes).expect("sections");
        let mut shared = Self::default();
        let (entries, names) = sections.dynamic(end, bytes).expect("dynamic").expect("a shared library");
        let strings = sections.strings(end, bytes, names).expect("strings");
        for entry in entries {
            let name = |entry: &object::elf::Dyn64<LittleEndian>| {
                text(entry.string(end, strings).expect("a string"))
            };
            match entry.tag32(end) {
                Some(DT_SONAME) => shared.soname = name(entry),
                Some(DT_NEEDED) => shared.needed.push(name(entry)),
                _ => {}
            }
        }
        let symbols = sections.symbols(end, bytes, SHT_DYNSYM).expect("dynamic symbols");
        let versions = sections.versions(end, bytes).expect("versions");
        for (index, symbol) in symbols.enumerate() {
            if symbol.is_undefined(end) || symbol.st_type() != object::elf::STT_FUNC {
                continue;
            }
            let name = text(symbol.name(end, symbols.strings()).expect("a name"));
            let version = versions.as_ref().and_then(|versions| {
                let version = versions.version_index(end, SymbolIndex(index.0));
                versions.version(version).ok().flatten().map(|version| text(version.name()))
            });
            shared.functions.insert(name, version.unwrap_or_default());
        }
        if let Some((mut definitions, names)) = sections.gnu_verdef(end, bytes).expect("versions") {
            let strings = sections.strings(end, bytes, names).expect("strings");
            while let Some((_, mut parts)) = definitions.next().expect("a version") {
                let mut part = || {
                    let part = parts.next().expect("a name of a version");
                    part.map(|part| text(part.name(end, strings).expect("a name")))
                };
                let name = part().expect("a version has a name");
                // The first one is the library's own name.
                if name != shared.soname {
                    shared.versions.insert(name, part());
                }
            }
        }
        shared
    }
}

/// The functions and versions of a version script.
pub fn script(path: &Path) -> (Symbols, BTreeMap<String, Option<String>>) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut symbols, mut versions) = (Symbols::new(), BTreeMap::new());
    let mut version = String::new();
    let mut seen = BTreeSet::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_suffix(" {") {
            version = name.to_owned();
        } else if let Some(parent) = line.strip_prefix('}') {
            let parent = parent.trim_end_matches(';').trim();
            versions.insert(version.clone(), (!parent.is_empty()).then(|| parent.to_owned()));
        } else if let Some(name) = line.strip_suffix(';').filter(|name| *name != "*") {
            assert!(seen.insert(name.to_owned()), "{name} is listed twice");
            symbols.insert(name.to_owned(), version.clone());
        }
    }
    (symbols, versions)
}
