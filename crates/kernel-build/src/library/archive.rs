//! Static libraries in GNU's format, as `ar rcsD` writes them: equal members give equal bytes.

use object::{Object as _, ObjectSymbol as _, SymbolFlags, elf};

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;
/// Longer names are stored in a table.
const LONGEST_NAME: usize = 15;

/// An object file of a library.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// The symbols of an object file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Symbols {
    /// Symbols visible to other files.
    pub(crate) defined: Vec<Vec<u8>>,
    /// The visible ones that no other object file may define: all but templates and inline functions.
    pub(crate) unique: Vec<Vec<u8>>,
    /// Undefined symbols.
    pub(crate) wanted: Vec<Vec<u8>>,
}

impl Symbols {
    /// The symbols of an object file.
    ///
    /// # Errors
    /// The bytes are not an object file.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, String> {
        let file = object::read::File::parse(bytes).map_err(|error| error.to_string())?;
        let mut symbols = Self::default();
        for symbol in file.symbols().filter(|symbol| symbol.is_global()) {
            let name = symbol.name_bytes().map_err(|error| error.to_string())?.to_vec();
            if symbol.is_undefined() {
                symbols.wanted.push(name);
            } else {
                let binding = match symbol.flags() {
                    SymbolFlags::Elf { st_info, .. } => st_info >> 4,
                    _ => 0,
                };
                if binding == elf::STB_GLOBAL && !symbol.is_common() {
                    symbols.unique.push(name.clone());
                }
                symbols.defined.push(name);
            }
        }
        Ok(symbols)
    }
}

/// A static library of these object files with these symbols.
///
/// # Errors
/// The library would be larger than the format allows.
pub(crate) fn write(members: &[(Member, Symbols)]) -> Result<Vec<u8>, String> {
    let mut names = Vec::new();
    let mut headers = Vec::new();
    for (Member { name, bytes }, _) in members {
        let short = if name.len() <= LONGEST_NAME {
            format!("{name}/")
        } else {
            let at = names.len();
            names.extend_from_slice(name.as_bytes());
            names.extend_from_slice(b"/\n");
            format!("/{at}")
        };
        headers.push(header(&short, bytes.len()));
    }

    // The index comes first and holds the members' offsets, which depend on its own length.
    let defined = || members.iter().flat_map(|(_, symbols)| &symbols.defined);
    let index_size = 4 + defined().map(|name| 4 + name.len() + 1).sum::<usize>();
    let mut at = MAGIC.len() + HEADER + even(index_size);
    if !names.is_empty() {
        at += HEADER + even(names.len());
    }
    let big = |number: usize| {
        u32::try_from(number).map(u32::to_be_bytes).map_err(|_| "it has more than 4 GiB".to_owned())
    };
    let mut index = big(defined().count())?.to_vec();
    for (member, symbols) in members {
        for _ in &symbols.defined {
            index.extend(big(at)?);
        }
        at += HEADER + even(member.bytes.len());
    }
    for name in defined() {
        index.extend_from_slice(name);
        index.push(0);
    }

    let mut file = MAGIC.to_vec();
    add(&mut file, &header("/", index.len()), &index);
    if !names.is_empty() {
        // This header has spaces instead of numbers.
        add(&mut file, &format!("{:<48}{:<10}`\n", "//", names.len()), &names);
    }
    for ((member, _), header) in members.iter().zip(headers) {
        add(&mut file, &header, &member.bytes);
    }
    Ok(file)
}

fn even(size: usize) -> usize {
    size.next_multiple_of(2)
}

/// Name, time, owner, group, mode and size. Time, owner and group are zero.
fn header(name: &str, size: usize) -> String {
    let mode = if name == "/" { "0" } else { "644" };
    format!("{name:<16}{:<12}{:<6}{:<6}{mode:<8}{size:<10}`\n", 0, 0, 0)
}

fn add(file: &mut Vec<u8>, header: &str, bytes: &[u8]) {
    debug_assert_eq!(header.len(), HEADER);
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(bytes);
    if bytes.len() % 2 == 1 {
        file.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, bytes: &[u8], defined: &[&str]) -> (Member, Symbols) {
        let defined = defined.iter().map(|name| name.as_bytes().to_vec()).collect();
        (Member { name: name.into(), bytes: bytes.to_vec() }, Symbols { defined, ..Symbols::default() })
    }

    #[test]
    fn the_index_says_where_each_symbols_member_begins() {
        let long = "a_name_that_is_long.o";
        let file = write(&[member("a.o", b"first", &["f", "g"]), member(long, b"second", &["h"])]).unwrap();
        let index = &file[MAGIC.len() + HEADER..];
        let number = |at: usize| u32::from_be_bytes(index[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(number(0), 3);
        assert_eq!(&index[16..22], b"f\0g\0h\0");
        let at = |which: usize| std::str::from_utf8(&file[number(4 + 4 * which)..]).unwrap();
        assert!(at(0).starts_with("a.o/ ") && at(0)[HEADER..].starts_with("first\n"));
        assert_eq!(number(4), number(8));
        assert!(at(2).starts_with("/0 ") && &at(2)[HEADER..] == "second");
        let text = String::from_utf8_lossy(&file);
        assert!(text.contains(&format!("`\n{long}/\n")));
        assert_eq!(text.matches("`\n").count(), 4);
    }

    #[test]
    fn every_part_begins_at_an_even_place() {
        let file = write(&[member("a.o", b"1", &["odd"]), member("b.o", b"2", &[])]).unwrap();
        let text = std::str::from_utf8(&file).unwrap();
        for name in ["a.o/", "b.o/"] {
            assert_eq!(text.find(name).unwrap() % 2, 0, "{name}");
        }
        assert_eq!(write(&[]).unwrap().len(), MAGIC.len() + HEADER + 4);
    }

    #[test]
    fn what_is_no_object_file_is_an_error() {
        assert!(Symbols::of(b"hello").is_err());
        assert!(Symbols::of(b"\x7fELF").is_err());
    }
}
