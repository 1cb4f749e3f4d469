use std::collections::HashMap;
use std::ops::Range;

use object::LittleEndian as LE;
use object::elf;
use object::read::elf::{FileHeader as _, ProgramHeader as _, Rela as _, SectionHeader as _, Sym as _};

use crate::bounds;
use crate::metadata::{KernelMetadata, Metadata};
use crate::{
    Binding, Error, Feature, Kernel, KernelDescriptor, Processor, Relocation, RelocationKind, Segment,
    Symbol, SymbolKind, TargetId,
};

const OSABI_AMDGPU_HSA: u8 = 64;
const NT_AMDGPU_METADATA: u32 = 32;

pub(crate) type Header = elf::FileHeader64<LE>;

/// A parsed code object. It owns its data; the file's bytes are needed again only to load segments.
#[derive(Clone, Debug)]
pub struct CodeObject {
    target: TargetId,
    version: u8,
    flags: u32,
    kernels: Vec<Kernel>,
    kernel_index: HashMap<String, usize>,
    segments: Vec<Segment>,
    symbols: Vec<Symbol>,
    symbol_index: HashMap<String, usize>,
    relocations: Vec<Relocation>,
    debug_info: bool,
    printf: Vec<String>,
}

impl CodeObject {
    /// Reads a code object and checks it. The bytes need not be trusted.
    ///
    /// # Errors
    /// [`Error`] names the first part at fault.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let (header, version) = check_header(bytes)?;
        bounds::check(header, bytes)?;
        let segments = read_segments(header, bytes)?;
        let metadata = metadata(header, bytes)?;
        let flags = header.e_flags(LE);
        let target = target(flags, metadata.target.as_deref())?;
        let (symbols, relocations) = read_symbols(header, bytes, &segments)?;
        let mut symbol_index = HashMap::with_capacity(symbols.len());
        for (i, symbol) in symbols.iter().enumerate() {
            symbol_index.entry(symbol.name.clone()).or_insert(i);
        }
        let mut object = Self {
            target,
            version,
            flags,
            kernels: Vec::with_capacity(metadata.kernels.len()),
            kernel_index: HashMap::with_capacity(metadata.kernels.len()),
            segments,
            symbols,
            symbol_index,
            relocations,
            debug_info: has_debug_info(header, bytes),
            printf: metadata.printf,
        };
        for (position, kernel) in metadata.kernels.into_iter().enumerate() {
            let kernel = object.check_kernel(bytes, kernel, position)?;
            if object.kernel_index.insert(kernel.name.clone(), object.kernels.len()).is_some() {
                return Err(Error::DuplicateKernel { kernel: kernel.name });
            }
            object.kernels.push(kernel);
        }
        Ok(object)
    }

    /// What the code was compiled for.
    #[must_use]
    pub fn target(&self) -> &TargetId {
        &self.target
    }

    /// Code object version: 4, 5 or 6.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The ELF header's flags as stored.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// Version of the generic processor's definition (only in version 6 code for `gfx…-generic`).
    #[must_use]
    pub fn generic_version(&self) -> Option<u8> {
        match (self.flags >> 24) as u8 {
            0 => None,
            version => Some(version),
        }
    }

    /// All kernels, in the order of the metadata.
    #[must_use]
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Formats of the `printf` calls whose output goes to a buffer, each as `id:arguments[:size…]:text`
    /// (`amdhsa.printf`).
    #[must_use]
    pub fn printf_formats(&self) -> &[String] {
        &self.printf
    }

    /// Finds a kernel by its name, without `.kd`.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernel_index.get(name).map(|&i| &self.kernels[i])
    }

    /// The parts to map, by ascending address; they do not overlap.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The dynamic symbol table, without its null entry.
    #[must_use]
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Finds a symbol by its name, as in the file.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbol_index.get(name).map(|&i| &self.symbols[i])
    }

    /// The dynamic relocations.
    #[must_use]
    pub fn relocations(&self) -> &[Relocation] {
        &self.relocations
    }

    /// Whether the file has sections of debug information (DWARF), valid or not.
    #[must_use]
    pub fn has_debug_info(&self) -> bool {
        self.debug_info
    }

    /// Bytes of address space from the load base to the end of the last segment.
    ///
    /// Taken from the file, so it can be anything up to `u64::MAX`; a loader's allocation may fail.
    #[must_use]
    pub fn load_size(&self) -> u64 {
        self.segments.last().map_or(0, Segment::end)
    }

    /// The file range of the `len` bytes at `vaddr`, if one segment has all of them in the file.
    #[must_use]
    pub fn file_range(&self, vaddr: u64, len: u64) -> Option<Range<usize>> {
        self.segments.iter().find_map(|segment| segment.file_range_of(vaddr, len))
    }

    fn check_kernel(&self, bytes: &[u8], meta: KernelMetadata, position: usize) -> Result<Kernel, Error> {
        let name = meta
            .name
            .ok_or_else(|| Error::MissingField { kernel: format!("#{position}"), field: ".name" })?;
        let missing = |field| Error::MissingField { kernel: name.clone(), field };
        let bad = |field: &str, value: u32, reason: &str| Error::BadField {
            kernel: name.clone(),
            field: field.to_owned(),
            value: value.to_string(),
            reason: reason.to_owned(),
        };

        let symbol = meta.symbol.ok_or_else(|| missing(".symbol"))?;
        let descriptor_vaddr = match self.symbol(&symbol) {
            Some(found) if !found.undefined && !found.absolute => found.value,
            _ => return Err(Error::MissingDescriptor { kernel: name, symbol }),
        };
        let descriptor = self
            .file_range(descriptor_vaddr, KernelDescriptor::SIZE as u64)
            .and_then(|range| bytes.get(range)?.first_chunk())
            .map(KernelDescriptor::from_bytes)
            .ok_or_else(|| Error::DescriptorOutOfRange { kernel: name.clone(), vaddr: descriptor_vaddr })?;
        let entry_vaddr = descriptor_vaddr.wrapping_add_signed(descriptor.kernel_code_entry_byte_offset);
        // Four bytes: the shortest instruction.
        if !self.segments.iter().any(|s| s.executable && s.file_range_of(entry_vaddr, 4).is_some()) {
            return Err(Error::EntryOutOfRange { kernel: name, vaddr: entry_vaddr });
        }

        let kernarg_size = meta.kernarg_segment_size.ok_or_else(|| missing(".kernarg_segment_size"))?;
        let kernarg_align = meta.kernarg_segment_align.ok_or_else(|| missing(".kernarg_segment_align"))?;
        if !kernarg_align.is_power_of_two() {
            return Err(bad(".kernarg_segment_align", kernarg_align, "it must be a power of two"));
        }
        let wavefront_size = meta.wavefront_size.ok_or_else(|| missing(".wavefront_size"))?;
        if wavefront_size != descriptor.wavefront_size() {
            let reason = format!("the kernel descriptor says {}", descriptor.wavefront_size());
            return Err(bad(".wavefront_size", wavefront_size, &reason));
        }
        let max_flat_workgroup_size =
            meta.max_flat_workgroup_size.ok_or_else(|| missing(".max_flat_workgroup_size"))?;
        if max_flat_workgroup_size == 0 {
            return Err(bad(".max_flat_workgroup_size", 0, "no workgroup could be launched"));
        }
        if let Some(&zero) = meta.reqd_workgroup_size.iter().flatten().find(|&&size| size == 0) {
            return Err(bad(".reqd_workgroup_size", zero, "no workgroup could be launched"));
        }
        let args = meta
            .args
            .into_iter()
            .enumerate()
            .map(|(i, arg)| arg.check(&name, i, kernarg_size))
            .collect::<Result<_, _>>()?;
        Ok(Kernel {
            args,
            kernarg_size,
            kernarg_align,
            group_segment_size: meta
                .group_segment_fixed_size
                .ok_or_else(|| missing(".group_segment_fixed_size"))?,
            private_segment_size: meta
                .private_segment_fixed_size
                .ok_or_else(|| missing(".private_segment_fixed_size"))?,
            wavefront_size,
            max_flat_workgroup_size,
            required_workgroup_size: meta.reqd_workgroup_size,
            sgpr_count: meta.sgpr_count,
            vgpr_count: meta.vgpr_count,
            agpr_count: meta.agpr_count,
            sgpr_spills: meta.sgpr_spill_count,
            vgpr_spills: meta.vgpr_spill_count,
            uses_dynamic_stack: meta.uses_dynamic_stack.into(),
            uniform_workgroup_size: meta.uniform_work_group_size.into(),
            symbol,
            descriptor,
            descriptor_vaddr,
            entry_vaddr,
            name,
        })
    }
}

pub(crate) fn malformed(what: impl Into<String>, reason: impl ToString) -> Error {
    Error::MalformedElf { what: what.into(), reason: reason.to_string() }
}

fn check_header(bytes: &[u8]) -> Result<(&Header, u8), Error> {
    if bytes.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") || bytes.starts_with(b"CCOB") {
        return Err(Error::OffloadBundle);
    }
    let magic = &bytes[..bytes.len().min(4)];
    if bytes.is_empty() || !elf::ELFMAG.starts_with(magic) {
        return Err(Error::NotElf { found: magic.to_vec() });
    }
    let size = size_of::<Header>();
    check_range(bytes, "the ELF header", 0, size as u64)?;
    let expect = |field, found: u32, expected: u32| {
        if found == expected { Ok(()) } else { Err(Error::NotAmdgpu { field, found, expected }) }
    };
    expect("EI_CLASS", bytes[4].into(), elf::ELFCLASS64.into())?;
    expect("EI_DATA", bytes[5].into(), elf::ELFDATA2LSB.into())?;
    let header = Header::parse(bytes).map_err(|e| malformed("ELF header", e))?;
    expect("e_machine", header.e_machine(LE).into(), elf::EM_AMDGPU.into())?;
    expect("EI_OSABI", header.e_ident.os_abi.into(), OSABI_AMDGPU_HSA.into())?;
    let version = match header.e_ident.abi_version {
        abi @ 2..=4 => abi + 2,
        abi_version => return Err(Error::UnsupportedVersion { abi_version }),
    };
    match header.e_type(LE) {
        elf::ET_DYN => Ok((header, version)),
        found => Err(Error::NotLinked { found }),
    }
}

pub(crate) fn check_range(
    bytes: &[u8],
    what: impl Into<String>,
    start: u64,
    len: u64,
) -> Result<Range<usize>, Error> {
    let end = start.saturating_add(len);
    if end > bytes.len() as u64 {
        return Err(Error::Truncated { what: what.into(), end, len: bytes.len() as u64 });
    }
    // Both fit: they are at most the length of a slice.
    Ok(start as usize..end as usize)
}

fn program_headers<'a>(header: &Header, bytes: &'a [u8]) -> Result<&'a [elf::ProgramHeader64<LE>], Error> {
    header.program_headers(LE, bytes).map_err(|e| malformed("program header table", e))
}

fn read_segments(header: &Header, bytes: &[u8]) -> Result<Vec<Segment>, Error> {
    let mut segments = Vec::new();
    for (i, ph) in program_headers(header, bytes)?.iter().enumerate() {
        if ph.p_type(LE) != elf::PT_LOAD {
            continue;
        }
        let what = || format!("segment {i}");
        let file_range = check_range(bytes, what(), ph.p_offset(LE), ph.p_filesz(LE))?;
        let (vaddr, mem_size) = (ph.p_vaddr(LE), ph.p_memsz(LE));
        if ph.p_filesz(LE) > mem_size {
            return Err(malformed(what(), "more bytes in the file than in memory"));
        }
        if vaddr.checked_add(mem_size).is_none() {
            return Err(malformed(what(), "its end is beyond the address space"));
        }
        let align = ph.p_align(LE).max(1);
        if !align.is_power_of_two() {
            return Err(malformed(what(), format!("alignment {align} is not a power of two")));
        }
        let flags = ph.p_flags(LE);
        segments.push(Segment {
            vaddr,
            mem_size,
            file_range,
            align,
            executable: flags & elf::PF_X != 0,
            writable: flags & elf::PF_W != 0,
        });
    }
    for pair in segments.windows(2) {
        // The format demands this. Loaders take the lowest address from the first segment and the highest
        // from the last.
        if pair[0].vaddr > pair[1].vaddr {
            let reason = format!("that at {:#x} comes after that at {:#x}", pair[1].vaddr, pair[0].vaddr);
            return Err(malformed("segments", reason));
        }
        if pair[0].end() > pair[1].vaddr {
            let reason = format!("those at {:#x} and {:#x} overlap", pair[0].vaddr, pair[1].vaddr);
            return Err(malformed("segments", reason));
        }
    }
    Ok(segments)
}

/// The metadata of all notes together. Compilers write one note, but the linker keeps one for each input.
/// Tensile's objects have hundreds, with one kernel each.
fn metadata(header: &Header, bytes: &[u8]) -> Result<Metadata, Error> {
    let mut all: Option<Metadata> = None;
    for (i, ph) in program_headers(header, bytes)?.iter().enumerate() {
        let what = || format!("segment {i}");
        let Some(mut notes) = ph.notes(LE, bytes).map_err(|e| malformed(what(), e))? else {
            continue;
        };
        while let Some(note) = notes.next().map_err(|e| malformed(what(), e))? {
            if note.name() == b"AMDGPU" && note.n_type(LE) == NT_AMDGPU_METADATA {
                let next = Metadata::decode(note.desc())?;
                match &mut all {
                    Some(all) => all.append(next)?,
                    None => all = Some(next),
                }
            }
        }
    }
    all.ok_or(Error::MissingMetadata)
}

fn target(flags: u32, metadata: Option<&str>) -> Result<TargetId, Error> {
    let mach = flags & 0xff;
    let named = metadata.map(str::parse::<TargetId>).transpose()?;
    let Some(processor) = Processor::by_mach(mach) else {
        return named.ok_or(Error::UnknownProcessor { mach });
    };
    if let Some(named) = named
        && named.processor != processor.name
    {
        return Err(Error::TargetMismatch { header: processor.name.to_owned(), metadata: named.processor });
    }
    // 0 is "not supported", 1 "any".
    let feature = |bits: u32| match bits & 3 {
        2 => Feature::Off,
        3 => Feature::On,
        _ => Feature::Any,
    };
    Ok(TargetId {
        processor: processor.name.to_owned(),
        xnack: feature(flags >> 8),
        sramecc: feature(flags >> 10),
    })
}

/// Nothing depends on debug information, so bad section names are not an error.
fn has_debug_info(header: &Header, bytes: &[u8]) -> bool {
    let Ok(sections) = header.sections(LE, bytes) else { return false };
    sections.iter().any(|section| sections.section_name(LE, section).is_ok_and(|name| name == b".debug_info"))
}

fn read_symbols(
    header: &Header,
    bytes: &[u8],
    segments: &[Segment],
) -> Result<(Vec<Symbol>, Vec<Relocation>), Error> {
    let sections = header.sections(LE, bytes).map_err(|e| malformed("section header table", e))?;
    let dynsym =
        sections.symbols(LE, bytes, elf::SHT_DYNSYM).map_err(|e| malformed("dynamic symbol table", e))?;
    let load_size = segments.last().map_or(0, Segment::end);

    let mut symbols = Vec::with_capacity(dynsym.len());
    // The first entry is the null symbol, which stands for "no symbol".
    for (index, raw) in dynsym.enumerate().skip(1) {
        let what = || format!("dynamic symbol {}", index.0);
        let name = dynsym.symbol_name(LE, raw).map_err(|e| malformed(what(), e))?;
        let name = std::str::from_utf8(name).map_err(|e| malformed(what(), e))?.to_owned();
        let (value, size) = (raw.st_value(LE), raw.st_size(LE));
        let (undefined, absolute) = (raw.is_undefined(LE), raw.is_absolute(LE));
        if !undefined && !absolute && value.checked_add(size).is_none_or(|end| end > load_size) {
            let reason =
                format!("{size} bytes at {value:#x} are beyond the last segment's end {load_size:#x}");
            return Err(malformed(format!("dynamic symbol {name}"), reason));
        }
        let kind = match raw.st_type() {
            elf::STT_FUNC => SymbolKind::Function,
            // Hand-written assembly may omit the type or size. The suffix is reserved.
            elf::STT_OBJECT | elf::STT_NOTYPE if name.ends_with(".kd") => SymbolKind::KernelDescriptor,
            elf::STT_OBJECT => SymbolKind::Object,
            _ => SymbolKind::Other,
        };
        let binding = match raw.st_bind() {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        };
        symbols.push(Symbol { name, value, size, kind, binding, undefined, absolute });
    }

    let mut relocations = Vec::new();
    for (index, section) in sections.enumerate() {
        // Only sections that the dynamic loader applies: allocated ones, against the dynamic symbols.
        if section.sh_flags(LE) & u64::from(elf::SHF_ALLOC) == 0 {
            continue;
        }
        let what = || format!("relocation section {}", index.0);
        let Some((entries, link)) = section.rela(LE, bytes).map_err(|e| malformed(what(), e))? else {
            continue;
        };
        for rela in entries {
            let (kind, offset) = (RelocationKind::from_raw(rela.r_type(LE, false)), rela.r_offset(LE));
            let symbol = match rela.r_sym(LE, false) as usize {
                0 => None,
                n if link == dynsym.section() && n <= symbols.len() => Some(n - 1),
                n => return Err(malformed(what(), format!("symbol {n} does not exist"))),
            };
            if !segments.iter().any(|segment| segment.contains(offset, kind.width())) {
                return Err(malformed(what(), format!("target {offset:#x} is not within a loaded segment")));
            }
            relocations.push(Relocation { offset, kind, symbol, addend: rela.r_addend(LE) });
        }
    }
    Ok((symbols, relocations))
}
