//! Source lines: what a code object's debug information says about an instruction.
//!
//! It is read when a fault is reported, and never before. It comes from outside like the code: whatever is wrong with it makes
//! the lines [`Unreadable`](SourceLines::Unreadable), and nothing else.

use std::borrow::Cow;
use std::fmt;

use addr2line::{Context, FrameIter};
use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use gpu_report::{SourceFrame, SourceLines, demangle};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

/// No section of debug information that is larger once it is unpacked is read.
const LARGEST: u64 = 1 << 30;
/// No more inlined calls around an instruction are told.
const DEEPEST: usize = 64;

/// What the debug information in `file`, a code object, says about the instruction at `offset`. Where only `symbol` says
/// which function that is in, it does.
pub(super) fn find(file: &[u8], offset: u64, symbol: Option<&str>) -> SourceLines {
    match look_up(file, offset) {
        Ok(mut frames) if frames.len() == 1 && frames[0].function.is_none() => {
            // Line tables leave out functions into which nothing was inlined.
            frames[0].function = symbol.map(demangle);
            SourceLines::Found(frames)
        }
        Ok(frames) if frames.is_empty() => SourceLines::NotCovered,
        Ok(frames) => SourceLines::Found(frames),
        Err(why) => SourceLines::Unreadable(why),
    }
}

/// The function that the symbol table of `file`, not only the dynamic one, says holds an offset, and the offset in it.
pub(super) fn function_at(file: &[u8], offset: u64) -> Option<(String, u64)> {
    let elf = object::File::parse(file).ok()?;
    let functions =
        elf.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let inside = |symbol: &object::Symbol<'_, '_>| offset.checked_sub(symbol.address()) < Some(symbol.size());
    let found = functions.filter(|symbol| symbol.address() <= offset).find(inside)?;
    Some((found.name().ok()?.to_owned(), offset - found.address()))
}

fn look_up(file: &[u8], offset: u64) -> Result<Vec<SourceFrame>, String> {
    let text = |error: &dyn fmt::Display| error.to_string();
    let elf = object::File::parse(file).map_err(|error| text(&error))?;
    let section = |id: SectionId| -> Result<Cow<'_, [u8]>, String> {
        let Some(section) = elf.section_by_name(id.name()) else { return Ok(Cow::Borrowed(&[])) };
        let data = section.compressed_data().map_err(|error| text(&error))?;
        if data.uncompressed_size > LARGEST {
            return Err(format!("{} has {} bytes", id.name(), data.uncompressed_size));
        }
        data.decompress().map_err(|error| text(&error))
    };
    let sections = gimli::DwarfSections::load(section)?;
    let dwarf: Dwarf<_> = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let context = Context::from_dwarf(dwarf).map_err(|error| text(&error))?;
    let frames: FrameIter<'_, _> =
        context.find_frames(offset).skip_all_loads().map_err(|error| text(&error))?;
    read_frames(frames).map_err(|error| text(&error))
}

fn read_frames<R: gimli::Reader>(mut frames: FrameIter<'_, R>) -> Result<Vec<SourceFrame>, gimli::Error> {
    let mut found = Vec::new();
    while let Some(frame) = frames.next()? {
        if found.len() == DEEPEST {
            break;
        }
        let function = match &frame.function {
            Some(name) => Some(name.demangle()?.into_owned()),
            None => None,
        };
        let location = frame.location;
        found.push(SourceFrame {
            function,
            file: location
                .as_ref()
                .and_then(|at| at.file)
                .map(|file| file.trim_start_matches("./").to_owned()),
            line: location.as_ref().and_then(|at| at.line).filter(|line| *line != 0),
            column: location.as_ref().and_then(|at| at.column).filter(|column| *column != 0),
        });
    }
    Ok(found)
}
