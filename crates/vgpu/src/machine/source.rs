//! Source lines: what the debug information of a code object says about an instruction.
//!
//! It is read only when a fault is reported. Like the code, it comes from outside. Any error in it only makes
//! the lines [`Unreadable`](SourceLines::Unreadable).

use std::borrow::Cow;
use std::fmt;

use addr2line::{Context, FrameIter};
use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use gpu_report::{SourceFrame, SourceLines, demangle};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

/// The maximum unpacked size of a section of debug information.
const LARGEST: u64 = 1 << 30;
/// The maximum number of inlined calls that are reported for an instruction.
const DEEPEST: usize = 64;

/// What the debug information in the code object `file` says about the instruction at `offset`. `symbol`
/// names the function if the debug information does not.
pub(super) fn find(file: &[u8], offset: u64, symbol: Option<&str>) -> SourceLines {
    match look_up(file, offset) {
        Ok(mut frames) if frames.len() == 1 && frames[0].function.is_none() => {
            // Line tables omit functions into which nothing was inlined.
            frames[0].function = symbol.map(demangle);
            SourceLines::Found(frames)
        }
        Ok(frames) if frames.is_empty() => SourceLines::NotCovered,
        Ok(frames) => SourceLines::Found(frames),
        Err(why) => SourceLines::Unreadable(why),
    }
}

/// The function that contains an offset, and the offset in it, according to the full symbol table of `file`,
/// not only the dynamic one.
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
