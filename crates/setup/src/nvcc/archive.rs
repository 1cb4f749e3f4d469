//! Static libraries: their members, and one of a single object file.

use object::{Object as _, ObjectSymbol as _};

const MAGIC: &[u8] = b"!<arch>\n";
const THIN: &[u8] = b"!<thin>\n";
const HEADER: usize = 60;

/// The object files in a static library, or the object file itself. `None` for any other file.
pub(super) fn members(file: &[u8]) -> Result<Option<Vec<&[u8]>>, String> {
    if file.starts_with(b"\x7fELF") {
        return Ok(Some(vec![file]));
    }
    if file.starts_with(THIN) {
        return Err("it is a thin archive, which only names its object files".to_owned());
    }
    let Some(mut rest) = file.strip_prefix(MAGIC) else { return Ok(None) };
    let mut found = Vec::new();
    while let Some((header, behind)) = rest.split_at_checked(HEADER) {
        let size =
            std::str::from_utf8(&header[48..58]).ok().and_then(|text| text.trim().parse::<usize>().ok());
        let size = size.filter(|_| header[58..] == *b"`\n").ok_or("it is damaged")?;
        let member = behind.get(..size).ok_or("it is cut off")?;
        // The index and the table of names are no object files.
        if member.starts_with(b"\x7fELF") {
            found.push(member);
        }
        rest = behind.get(size.next_multiple_of(2)..).unwrap_or_default();
    }
    Ok(Some(found))
}

/// A static library of one object file with an index of its symbols, as linkers expect it.
pub(super) fn of_one(name: &str, object: &[u8]) -> Result<Vec<u8>, String> {
    let file = object::File::parse(object).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    let mut count = 0_u32;
    for symbol in file.symbols().filter(|symbol| symbol.is_global() && symbol.is_definition()) {
        names.extend_from_slice(symbol.name_bytes().map_err(|error| error.to_string())?);
        names.push(0);
        count += 1;
    }
    let index = 4 + 4 * count as usize + names.len();
    let at = u32::try_from(MAGIC.len() + HEADER + index.next_multiple_of(2)).map_err(|e| e.to_string())?;
    let mut library = MAGIC.to_vec();
    library.extend(header("/", index));
    library.extend(count.to_be_bytes());
    library.extend((0..count).flat_map(|_| at.to_be_bytes()));
    library.extend(names);
    pad(&mut library);
    library.extend(header(&format!("{name}/"), object.len()));
    library.extend(object);
    pad(&mut library);
    Ok(library)
}

/// A static library without members.
pub(super) fn empty() -> Vec<u8> {
    MAGIC.to_vec()
}

fn header(name: &str, size: usize) -> Vec<u8> {
    format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
}

fn pad(library: &mut Vec<u8>) {
    if library.len() % 2 == 1 {
        library.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_those_of_ar() {
        let first = b"\x7fELF-a";
        let mut library = MAGIC.to_vec();
        for (name, bytes) in
            [("/", &b"index"[..]), ("a.o/", first), ("text/", b"no object"), ("b.o/", b"\x7fELF-bb")]
        {
            library.extend(header(name, bytes.len()));
            library.extend(bytes);
            pad(&mut library);
        }
        assert_eq!(members(&library), Ok(Some(vec![&first[..], b"\x7fELF-bb"])));
        assert_eq!(members(b"\x7fELF"), Ok(Some(vec![&b"\x7fELF"[..]])));
        assert_eq!(members(&empty()), Ok(Some(Vec::new())));
        assert_eq!(members(b"INPUT(-lc)"), Ok(None));
        assert!(members(THIN).is_err());
        let cut = &library[..library.len() - 4];
        assert_eq!(members(cut), Err("it is cut off".to_owned()));
        library[8 + 58] = 0;
        assert_eq!(members(&library), Err("it is damaged".to_owned()));
    }
}
