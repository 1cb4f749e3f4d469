//! Checks that everything the headers name lies in the file.
//!
//! A library that gets an address without a length, as HIP's does, takes the file's end from the headers:
//! from the tables, the segments and the sections, even those that are never loaded. It then follows indices
//! and offsets inside. So a file is accepted only if none of these leads outside, whether this crate uses the
//! part or not.

use object::LittleEndian as LE;
use object::elf;
use object::read::elf::{ProgramHeader as _, SectionHeader as _};

use crate::Error;
use crate::parse::{Header, check_range, malformed};

type Program = elf::ProgramHeader64<LE>;
type Section = elf::SectionHeader64<LE>;
type Symbol = elf::Sym64<LE>;

/// Checks every size, offset, index and note of the headers and of the tables that they name.
pub(crate) fn check(header: &Header, bytes: &[u8]) -> Result<(), Error> {
    let programs = table::<Program>(
        bytes,
        "program header table",
        header.e_phoff.get(LE),
        (header.e_phnum.get(LE), elf::PN_XNUM),
        header.e_phentsize.get(LE),
    )?;
    let sections = table::<Section>(
        bytes,
        "section header table",
        header.e_shoff.get(LE),
        (header.e_shnum.get(LE), elf::SHN_LORESERVE),
        header.e_shentsize.get(LE),
    )?;
    for (index, program) in programs.iter().enumerate() {
        let what = || format!("segment {index}");
        check_range(bytes, what(), program.p_offset.get(LE), program.p_filesz.get(LE))?;
        if let Some(mut notes) = program.notes(LE, bytes).map_err(|error| malformed(what(), error))? {
            while notes.next().map_err(|error| malformed(what(), error))?.is_some() {}
        }
    }
    let file = File { bytes, sections };
    file.names(header.e_shstrndx.get(LE))?;
    (0..sections.len()).try_for_each(|index| file.section(index))
}

/// A table of headers. The number that means "the count is elsewhere" is refused: no code object has so many
/// headers, and not every reader knows where to look.
fn table<'a, T: object::Pod>(
    bytes: &'a [u8],
    what: &str,
    offset: u64,
    (count, elsewhere): (u16, u16),
    entry: u16,
) -> Result<&'a [T], Error> {
    if count >= elsewhere || (count == 0 && offset != 0) {
        return Err(malformed(what, format!("it has {count} entries")));
    }
    if count != 0 && usize::from(entry) != size_of::<T>() {
        return Err(malformed(what, format!("entries of {entry} bytes, not {}", size_of::<T>())));
    }
    let range = check_range(bytes, format!("the {what}"), offset, u64::from(count) * size_of::<T>() as u64)?;
    slice(bytes, range, usize::from(count)).ok_or_else(|| malformed(what, "it is not aligned"))
}

fn slice<T: object::Pod>(bytes: &[u8], range: std::ops::Range<usize>, count: usize) -> Option<&[T]> {
    object::pod::slice_from_bytes(bytes.get(range)?, count).ok().map(|(entries, _)| entries)
}

/// The bytes and their sections.
struct File<'a> {
    bytes: &'a [u8],
    sections: &'a [Section],
}

impl<'a> File<'a> {
    /// The names of sections.
    fn names(&self, table: u16) -> Result<(), Error> {
        if self.sections.is_empty() || table == 0 {
            return Ok(());
        }
        let size = self.strings("the names of sections", u32::from(table))?;
        for (index, section) in self.sections.iter().enumerate() {
            if u64::from(section.sh_name.get(LE)) >= size {
                return Err(malformed(format!("section {index}"), "its name is not in the table of names"));
            }
        }
        Ok(())
    }

    /// The bytes of a table of strings, which ends in a NUL, so that every offset in it begins a string that
    /// ends.
    fn strings(&self, of: &str, index: u32) -> Result<u64, Error> {
        let section = usize::try_from(index).ok().and_then(|index| self.sections.get(index));
        let section = section.filter(|section| section.sh_type.get(LE) == elf::SHT_STRTAB);
        let section = section.ok_or_else(|| malformed(of, format!("section {index} is no string table")))?;
        match self.data(of, section)? {
            [.., 0] => Ok(section.sh_size.get(LE)),
            _ => Err(malformed(of, "the string table does not end in a NUL")),
        }
    }

    fn data(&self, what: &str, section: &Section) -> Result<&'a [u8], Error> {
        let range = check_range(self.bytes, what, section.sh_offset.get(LE), section.sh_size.get(LE))?;
        Ok(&self.bytes[range])
    }

    fn entries<T: object::Pod>(&self, what: &str, section: &Section) -> Result<&'a [T], Error> {
        let size = size_of::<T>();
        let data = self.data(what, section)?;
        if section.sh_entsize.get(LE) != size as u64 || !data.len().is_multiple_of(size) {
            return Err(malformed(what, format!("its entries do not have {size} bytes")));
        }
        let entries = object::pod::slice_from_all_bytes(data);
        entries.map_err(|()| malformed(what, "its entries are not aligned"))
    }

    fn section(&self, index: usize) -> Result<(), Error> {
        let section = &self.sections[index];
        let what = &format!("section {index}");
        match section.sh_type.get(LE) {
            // It takes no space, but HIP's runtime counts up to its beginning.
            elf::SHT_NOBITS => check_range(self.bytes, what, section.sh_offset.get(LE), 0).map(|_| ()),
            elf::SHT_SYMTAB | elf::SHT_DYNSYM => self.symbols(what, section),
            elf::SHT_RELA => {
                let entries = self.entries::<elf::Rela64<LE>>(what, section)?;
                self.relocations(what, section, entries.iter().map(|entry| entry.r_info.get(LE) >> 32))
            }
            elf::SHT_REL => {
                let entries = self.entries::<elf::Rel64<LE>>(what, section)?;
                self.relocations(what, section, entries.iter().map(|entry| entry.r_info.get(LE) >> 32))
            }
            elf::SHT_NOTE => {
                self.data(what, section)?;
                let notes = section.notes(LE, self.bytes).map_err(|error| malformed(what, error))?;
                let Some(mut notes) = notes else { return Ok(()) };
                while notes.next().map_err(|error| malformed(what, error))?.is_some() {}
                Ok(())
            }
            _ => self.data(what, section).map(|_| ()),
        }
    }

    fn symbols(&self, what: &str, section: &Section) -> Result<(), Error> {
        let symbols = self.entries::<Symbol>(what, section)?;
        if symbols.is_empty() {
            return Ok(());
        }
        let strings = self.strings(what, section.sh_link.get(LE))?;
        for (index, symbol) in symbols.iter().enumerate() {
            let reason = if u64::from(symbol.st_name.get(LE)) >= strings {
                "its name is not in the string table"
            } else {
                match symbol.st_shndx.get(LE) {
                    elf::SHN_XINDEX => "its section's number is elsewhere",
                    index if index < elf::SHN_LORESERVE && usize::from(index) >= self.sections.len() => {
                        "its section does not exist"
                    }
                    _ => continue,
                }
            };
            return Err(malformed(format!("symbol {index} of {what}"), reason));
        }
        Ok(())
    }

    /// Checks the symbols that relocations name, and the section that they change.
    fn relocations(
        &self,
        what: &str,
        section: &Section,
        mut symbols: impl Iterator<Item = u64>,
    ) -> Result<(), Error> {
        let at = |index: u32| usize::try_from(index).ok().and_then(|index| self.sections.get(index));
        let target = section.sh_info.get(LE);
        if at(target).is_none() {
            return Err(malformed(what, format!("it changes section {target}, which does not exist")));
        }
        let count = match at(section.sh_link.get(LE)) {
            Some(table) if matches!(table.sh_type.get(LE), elf::SHT_SYMTAB | elf::SHT_DYNSYM) => {
                self.entries::<Symbol>(what, table)?.len() as u64
            }
            // No table of symbols: only "no symbol" can be meant.
            _ => 1,
        };
        match symbols.find(|symbol| *symbol >= count.max(1)) {
            Some(symbol) => Err(malformed(what, format!("symbol {symbol} does not exist"))),
            None => Ok(()),
        }
    }
}
