//! The length of a file of which only the first bytes are known.

use super::{ENTRY_HEAD, LARGEST, MAGIC, bad, compressed, count, size_at, u64_at};
use crate::Error;

/// What the beginning of a file says about its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The file has so many bytes.
    Bytes(usize),
    /// The file has at least so many bytes, more than were given. Give these to learn its length.
    AtLeast(usize),
}

const ELF_MAGIC: &[u8] = b"\x7fELF";
const ELF_HEADER: usize = 64;

/// The length of a code object or bundle, from its beginning. Give 4 bytes at first, then as many as
/// the answer asks for, until it is [`Extent::Bytes`]. It never asks for bytes behind the file's end.
///
/// # Errors
/// The bytes begin neither, the headers contradict each other, or the format lacks the length (compressed
/// bundles of version 1).
pub fn extent(beginning: &[u8]) -> Result<Extent, Error> {
    if beginning.starts_with(ELF_MAGIC) {
        elf(beginning)
    } else if beginning.starts_with(compressed::COMPRESSED_MAGIC) {
        compressed::extent(beginning)
    } else if beginning.starts_with(MAGIC) {
        bundle(beginning)
    } else if MAGIC.starts_with(beginning) {
        Ok(Extent::AtLeast(if beginning.len() < 4 { 4 } else { MAGIC.len() }))
    } else if beginning.len() < 4 {
        Ok(Extent::AtLeast(4))
    } else {
        Err(Error::NotElf { found: beginning[..4].to_vec() })
    }
}

/// The end of the last table, segment or section.
fn elf(file: &[u8]) -> Result<Extent, Error> {
    let impossible = || bad("an ELF header that cannot be");
    if file.len() < ELF_HEADER {
        return Ok(Extent::AtLeast(ELF_HEADER));
    }
    if file[4] != 2 || file[5] != 1 {
        return Err(bad("an ELF file that is not 64-bit little-endian"));
    }
    let half = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let table = |offset: usize, size: usize, count: usize| -> Option<(usize, usize, usize)> {
        let (start, size, count) = (size_at(file, offset)?, half(size), half(count));
        if start == 0 || count == 0 {
            return Some((0, ELF_HEADER, 0));
        }
        (size >= 40).then_some((start, size, count))
    };
    let segments = table(32, 54, 56).ok_or_else(impossible)?;
    let sections = table(40, 58, 60).ok_or_else(impossible)?;
    let tables_end = [segments, sections]
        .map(|(start, size, count)| start.saturating_add(size * count))
        .into_iter()
        .fold(ELF_HEADER, usize::max);
    if file.len() < tables_end {
        return Ok(Extent::AtLeast(tables_end));
    }
    let mut end = tables_end;
    // Positions of offset, size and type in an entry, and the type that takes no room in the file.
    for ((start, size, count), (offset_at, size_at, type_at, no_bits)) in
        [(segments, (8, 32, 0, u32::MAX)), (sections, (24, 32, 4, 8))]
    {
        for entry in file[start..].chunks_exact(size).take(count) {
            let kind = entry[type_at..].first_chunk().copied().map_or(0, u32::from_le_bytes);
            if kind == no_bits {
                continue;
            }
            let (offset, length) = (u64_at(entry, offset_at), u64_at(entry, size_at));
            let entry_end = offset.zip(length).and_then(|(offset, length)| offset.checked_add(length));
            let entry_end = entry_end.filter(|&end| end <= LARGEST).ok_or_else(impossible)?;
            end = end.max(usize::try_from(entry_end).map_err(|_| impossible())?);
        }
    }
    Ok(Extent::Bytes(end))
}

/// The end of the last entry.
fn bundle(file: &[u8]) -> Result<Extent, Error> {
    let mut at = MAGIC.len() + 8;
    if file.len() < at {
        return Ok(Extent::AtLeast(at));
    }
    let impossible = || bad("an offload bundle whose sizes cannot be");
    let mut end = at;
    for _ in 0..count(file)? {
        let name = at + ENTRY_HEAD;
        if file.len() < name {
            return Ok(Extent::AtLeast(name));
        }
        let [offset, size, length] = [0, 8, 16].map(|field| size_at(file, at + field).ok_or_else(impossible));
        at = name.saturating_add(length?);
        end = end.max(at).max(offset?.saturating_add(size?));
        if end as u64 > LARGEST {
            return Err(impossible());
        }
    }
    Ok(Extent::Bytes(end))
}

#[cfg(test)]
mod tests {
    use super::super::tests::bundle;
    use super::*;

    /// Asks like a reader that has only the file's address, and checks that it is never asked for more than
    /// there is.
    fn ask(file: &[u8]) -> Result<usize, Error> {
        let mut known = 4;
        loop {
            match extent(&file[..known])? {
                Extent::Bytes(length) => return Ok(length),
                Extent::AtLeast(more) => {
                    assert!(more > known, "{more} > {known}");
                    known = more;
                }
            }
        }
    }

    /// An ELF header with one segment and two sections, the last of which takes no room.
    fn elf() -> Vec<u8> {
        let mut file = vec![0u8; 64 + 56 + 2 * 64 + 100];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[40] = 64 + 56;
        for (at, value) in [(54, 56), (56, 1), (58, 64), (60, 2)] {
            file[at] = value;
        }
        let set =
            |file: &mut [u8], at: usize, value: u64| file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let length = file.len() as u64;
        set(&mut file, 64 + 8, 200);
        set(&mut file, 64 + 32, length - 200);
        let no_bits = 64 + 56 + 64;
        file[no_bits + 4] = 8;
        set(&mut file, no_bits + 24, 200);
        set(&mut file, no_bits + 32, 1 << 20);
        file
    }

    #[test]
    fn the_length_follows_from_the_headers() {
        let file = elf();
        assert_eq!(ask(&file).unwrap(), file.len());
        let file = bundle(&[
            ("hipv4-amdgcn-amd-amdhsa--gfx1100", b"exact"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", b""),
        ]);
        assert_eq!(ask(&file).unwrap(), file.len());
        for version in [2, 3] {
            let file = compressed::tests::file(version, b"bundle bundle");
            assert_eq!(ask(&file).unwrap(), file.len(), "{version}");
        }
        let error = ask(&compressed::tests::file(1, b"bundle bundle")).unwrap_err();
        assert!(error.to_string().contains("does not say its length"), "{error}");
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        assert!(matches!(ask(&[7; 64]), Err(Error::NotElf { .. })));
        assert!(ask(b"__CLANG_NOTHING________________________").is_err());
        let whole = elf();
        for at in [32, 40, 64 + 8, 64 + 32] {
            let mut file = whole.clone();
            file[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
            assert!(ask(&file).is_err(), "{at}");
        }
        let mut file = whole.clone();
        file[4] = 1;
        assert!(ask(&file).is_err());
    }
}
