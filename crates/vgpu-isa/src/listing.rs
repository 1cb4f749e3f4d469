//! The machine code of a whole code object as `llvm-objdump -d` lists it.

use std::fmt::Write as _;

use code_object::CodeObject;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolFlags, SymbolKind, elf};

use super::{Isa, Target, decode, decode_wave64};

/// Why there is no listing.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The file is not a code object.
    #[error(transparent)]
    CodeObject(#[from] code_object::Error),
    /// The file's tables cannot be read.
    #[error(transparent)]
    Elf(#[from] object::Error),
    /// There is no decoder for the target.
    #[error("cannot decode {target}; only {known}")]
    Target {
        /// What the object is for.
        target: String,
        /// What can be decoded.
        known: String,
    },
}

/// What a listing counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    /// Instructions.
    pub instructions: u64,
    /// Words that are not an instruction.
    pub unknown: u64,
}

/// A named address.
struct Symbol<'a> {
    address: u64,
    name: &'a str,
    data: bool,
    /// A symbol without a type, as labels in assembly are. Branches show the label in place of a distance.
    label: bool,
}

/// Lists all executable sections of the code object in `bytes`, as `llvm-objdump -d` does after its first
/// lines, which name the file. Lane masks are those of a wave of 64 if all kernels of the object have such
/// waves; llvm-objdump needs `--mattr=+wavefrontsize64` for these.
pub fn listing(bytes: &[u8], text: &mut String) -> Result<Listed, ListingError> {
    let object = CodeObject::parse(bytes)?;
    let processor = &object.target().processor;
    let isa = Isa::by_name(processor)
        .ok_or_else(|| ListingError::Target { target: processor.to_string(), known: Target::names() })?;
    let wave64 = isa.is_gfx9()
        || !object.kernels().is_empty() && object.kernels().iter().all(|kernel| kernel.wavefront_size == 64);
    let elf = object::File::parse(bytes)?;
    let mut listed = Listed::default();
    for section in elf.sections().filter(|section| section.kind() == SectionKind::Text && section.size() > 0)
    {
        let code = section.data()?;
        let start = section.address();
        let all = elf.symbols().chain(elf.dynamic_symbols().filter(|_| elf.symbols().next().is_none()));
        let mut symbols: Vec<Symbol<'_>> = all
            .filter(|symbol| symbol.section_index() == Some(section.index()))
            .filter(|symbol| !matches!(symbol.kind(), SymbolKind::Section | SymbolKind::File))
            .filter_map(|symbol| {
                let data = symbol.kind() == SymbolKind::Data;
                let label = matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info & 15 == elf::STT_NOTYPE);
                Some(Symbol { address: symbol.address(), name: symbol.name().ok()?, data, label })
            })
            .collect();
        if symbols.iter().all(|symbol| symbol.address != start) {
            symbols.push(Symbol { address: start, name: section.name()?, data: false, label: false });
        }
        symbols.sort_by_key(|symbol| (symbol.address, symbol.name));
        let _ = writeln!(text, "\nDisassembly of section {}:", section.name()?);
        let list = List { isa, wave64, code, start, symbols: &symbols };
        list.section(text, &mut listed);
    }
    Ok(listed)
}

/// One section.
struct List<'a> {
    isa: Isa,
    wave64: bool,
    code: &'a [u8],
    start: u64,
    symbols: &'a [Symbol<'a>],
}

impl List<'_> {
    fn section(&self, text: &mut String, listed: &mut Listed) {
        let end_of_section = self.start + self.code.len() as u64;
        for here in self.symbols.chunk_by(|a, b| a.address == b.address) {
            let address = here[0].address;
            let next = self.symbols.partition_point(|symbol| symbol.address <= address);
            let end =
                self.symbols.get(next).map_or(end_of_section, |symbol| symbol.address).min(end_of_section);
            if address < self.start || address >= end {
                continue;
            }
            // A function goes before data at the same address.
            let shown = here.iter().rev().find(|symbol| !symbol.data).or(here.last());
            let _ = writeln!(text, "\n{address:016x} <{}>:", shown.map_or("", |symbol| symbol.name));
            self.range((address - self.start) as usize, (end - self.start) as usize, text, listed);
        }
    }

    fn range(&self, mut at: usize, end: usize, text: &mut String, listed: &mut Listed) {
        while at < end {
            // Two or more words of zeros are left out.
            let zeros = self.code[at..end].iter().take_while(|&&byte| byte == 0).count();
            if zeros >= 8 {
                text.push_str("\t\t...\n");
                at += zeros & !3;
                continue;
            }
            let rest = &self.code[at..];
            let decoded = if self.wave64 { decode_wave64(self.isa, rest) } else { decode(self.isa, rest) };
            let address = self.start + at as u64;
            let mut target = None;
            let size = match decoded {
                Ok(inst) => {
                    listed.instructions += 1;
                    let line = inst.text(self.isa);
                    let line = if self.wave64 { line.wave64() } else { line };
                    let from = text.len();
                    let _ = write!(text, "\t{line}");
                    target = inst.branch_target(address);
                    if let Some(label) = target.and_then(|target| self.label_at(target)) {
                        // The distance is the last operand.
                        text.truncate(text.rfind(' ').map_or(text.len(), |space| space + 1));
                        text.push_str(label);
                        target = None;
                    }
                    pad(text, from, 60);
                    usize::from(inst.size)
                }
                Err(_) => {
                    listed.unknown += 1;
                    self.unknown(rest, text)
                }
            };
            let _ = write!(text, "// {address:012X}:");
            if size >= 4 {
                for word in rest[..size].chunks_exact(4) {
                    let _ = write!(text, " {:08X}", u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
                }
            } else {
                rest[..size].iter().for_each(|byte| _ = write!(text, " {byte:02X}"));
            }
            if let Some(target) = target {
                self.place(target, text);
            }
            text.push('\n');
            at += size;
        }
    }

    /// Shows bytes that are not an instruction; returns how many.
    fn unknown(&self, rest: &[u8], text: &mut String) -> usize {
        if let Some(word) = rest.first_chunk::<4>() {
            let from = text.len();
            let _ = write!(text, "\t.long 0x{:08x} ", u32::from_le_bytes(*word));
            let filled = text.len() - from;
            pad(text, from, filled + 42);
            return 4;
        }
        for (index, byte) in rest.iter().enumerate() {
            let before = if index == 0 { "\t.byte" } else { "," };
            let _ = write!(text, "{before} 0x{byte:02x}");
        }
        let from = text.len();
        pad(text, from, 55 - 6 * rest.len());
        rest.len()
    }

    /// The label of assembly at an address.
    fn label_at(&self, address: u64) -> Option<&str> {
        let first = self.symbols.partition_point(|symbol| symbol.address < address);
        let mut here = self.symbols[first..].iter().take_while(|symbol| symbol.address == address);
        Some(here.find(|symbol| symbol.label)?.name)
    }

    /// Where a branch goes, by the last symbol before it.
    fn place(&self, target: u64, text: &mut String) {
        let before = self.symbols.partition_point(|symbol| symbol.address <= target);
        let Some(symbol) = before.checked_sub(1).and_then(|index| self.symbols.get(index)) else { return };
        match target - symbol.address {
            0 => _ = write!(text, " <{}>", symbol.name),
            offset => _ = write!(text, " <{}+{offset:#x}>", symbol.name),
        }
    }
}

/// Pads what was written since `from` to a width.
fn pad(text: &mut String, from: usize, width: usize) {
    let missing = (from + width).saturating_sub(text.len());
    text.extend(std::iter::repeat_n(' ', missing));
}
