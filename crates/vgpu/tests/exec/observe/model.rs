//! A second model of addressing: the memory that an instruction accesses, computed from its operands and the
//! registers by rules written apart from the executor's. A test compares the two.

use vgpu::exec::{LaneAccess, Moved, TILE_ELEMENTS, TILE_LANES, Wave, is_memory};
use vgpu::isa::{BufferFormat, Fact, Footprint, Format, Inst, Op, Operand, Special, scalar};
use vgpu::machine::{AccessKind, Generation, PRIVATE_APERTURE, SHARED_APERTURE, Space};

/// The lanes of a mask in ascending order.
fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| mask >> lane & 1 != 0)
}

/// The footprint of an instruction.
fn footprint_of(inst: &Inst) -> Footprint {
    match inst.op.footprint() {
        Footprint::None => Footprint::None,
        // Compute queues have no global data share.
        _ if inst.mem.gds => Footprint::Unknown,
        footprint => footprint,
    }
}

/// The bits of a floating-point inline constant used as an offset: those of an f32.
fn inline_f32(code: u8) -> u32 {
    match code {
        248 => 0x3e22_f983,
        _ => {
            let size = [0.5f32, 1.0, 2.0, 4.0][usize::from(code.saturating_sub(240) / 2 % 4)];
            size.to_bits() | u32::from(code % 2) << 31
        }
    }
}

/// Whether an instruction loads to LDS instead of registers.
fn is_to_lds(inst: &Inst) -> bool {
    inst.mem.lds || inst.op.has(Fact::TO_LDS)
}

/// Finds the accesses of one instruction.
struct Finder<'a> {
    inst: &'a Inst,
    wave: &'a Wave,
    generation: Generation,
    kind: AccessKind,
    bytes: u32,
    exec: u64,
    found: &'a mut Vec<LaneAccess>,
}

/// The accesses of `inst`; empty if it does not access memory or is not executed.
///
/// # Safety
/// The wave must have a file of 512 registers.
pub(super) unsafe fn accesses(inst: &Inst, wave: &Wave, generation: Generation) -> Vec<LaneAccess> {
    let mut found = Vec::new();
    let in_lds = || inst.src.contains(&Operand::Special(Special::LdsDirect));
    let footprint = match inst.format {
        format if format.is_vector_arithmetic() && in_lds() => Footprint::Direct,
        format if is_memory(format) => footprint_of(inst),
        _ => return found,
    };
    let (kind, bytes) = match footprint {
        Footprint::None | Footprint::Unknown => return found,
        Footprint::One(kind, bytes) | Footprint::Two(kind, bytes, _) => (kind, bytes),
        Footprint::ByLane(kind) | Footprint::Block(kind) => (kind, 4),
        Footprint::Counter => (AccessKind::Atomic, 4),
        // The format determines the size.
        Footprint::Typed(kind, _) => (kind, 0),
        Footprint::Tile(element) => (AccessKind::Read, tile_bytes(inst, element)),
        Footprint::Direct => (AccessKind::Read, 0),
    };
    let exec = wave.active();
    let mut finder = Finder { inst, wave, generation, kind, bytes, exec, found: &mut found };
    // SAFETY: the caller's promise.
    unsafe {
        match inst.format {
            Format::Smem => finder.scalar(),
            _ if exec == 0 => {}
            _ if matches!(footprint, Footprint::Tile(_)) => finder.tile(footprint),
            _ if footprint == Footprint::Direct => finder.direct(),
            _ if matches!(footprint, Footprint::Block(_)) => finder.block(),
            Format::Ds => finder.lds(footprint),
            Format::Flat => finder.flat(),
            Format::Global if matches!(footprint, Footprint::ByLane(_)) => finder.global_by_lane(),
            Format::Global => finder.global(finder.exec),
            Format::Scratch => finder.scratch(),
            _ => finder.buffer(),
        }
    }
    if inst.op == Op::BufferStoreLdsB32 {
        finder.copy_from_lds();
    } else if is_to_lds(inst) {
        finder.copy_to_lds();
    }
    found
}

/// Bytes that a lane reads from a matrix of elements with this many bits: a fixed number of elements, or,
/// from LDS, as many as fill its registers.
fn tile_bytes(inst: &Inst, bits: u8) -> u32 {
    match inst.format {
        Format::Ds => inst.op.signature().dst.bits() / 8,
        _ => TILE_ELEMENTS as u32 * u32::from(bits) / 8,
    }
}

/// The number of a vector register in the numbering of [`LaneAccess`].
fn vector(operand: Operand) -> Option<u16> {
    match operand {
        Operand::Vgpr(register) => Some(u16::from(register)),
        Operand::Agpr(register) => Some(256 + u16::from(register)),
        _ => None,
    }
}

impl Finder<'_> {
    /// The lanes of a vector operand, `after` registers further on; zeros if there is no register.
    ///
    /// # Safety
    /// See [`accesses`].
    unsafe fn row(&self, operand: Operand, after: u16) -> [u32; 64] {
        match vector(operand) {
            // SAFETY: the caller's promise.
            Some(register) => unsafe { self.wave.vector(register + after) },
            None => [0; 64],
        }
    }

    fn scalar32(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Sgpr(slot) => self.wave.sgpr[usize::from(slot)],
            Operand::Int(value) => i32::from(value) as u32,
            Operand::Imm(value) => value as u32,
            Operand::Literal(value) => value,
            Operand::Float(code) => inline_f32(code),
            // The apertures' bounds have their low 32 bits elsewhere.
            Operand::Special(Special::SharedBase | Special::SharedLimit) => (SHARED_APERTURE >> 32) as u32,
            Operand::Special(Special::PrivateBase | Special::PrivateLimit) => (PRIVATE_APERTURE >> 32) as u32,
            _ => 0,
        }
    }

    fn push(&mut self, space: Space, mask: u64, address: [u64; 64]) {
        if mask == 0 {
            return;
        }
        let loads = self.kind == AccessKind::Read;
        self.found.push(LaneAccess {
            space,
            kind: self.kind,
            scalar: false,
            bytes: self.bytes,
            mask,
            address,
            loaded: vector(self.inst.dst),
            stored: vector(self.inst.src[1]).filter(|_| !loads),
            moved: Moved::Plain,
        });
    }

    fn scalar(&mut self) {
        let Operand::Sgpr(base) = self.inst.src[2] else { return };
        let granule = u64::from(self.bytes.min(4));
        // Each part of an address is a multiple of the granule.
        let whole = |part: i64| part & !(granule as i64 - 1);
        let offset =
            whole(i64::from(self.inst.mem.offset)) + whole(i64::from(self.scalar32(self.inst.src[3])));
        let mut bytes = u64::from(self.bytes);
        let address = if self.inst.op.has(Fact::BUFFER) {
            // NULL is a descriptor of zeros.
            let word = |i: u8| match base {
                scalar::NULL => 0,
                _ => self.wave.sgpr[usize::from(base + i) & 127],
            };
            let stride = u64::from(word(1) >> 16 & 0x3fff).max(1);
            let first = offset as u64 & !(granule - 1);
            // Bytes beyond the end are not accessed.
            let rest = (u64::from(word(2)) * stride).saturating_sub(first);
            bytes = bytes.min(rest & !(granule - 1));
            let start = u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32;
            (start & !(granule - 1)).wrapping_add(first)
        } else if self.inst.op.has(Fact::SCRATCH) {
            let scaled = whole(i64::from(self.inst.mem.offset))
                + whole(i64::from(self.scalar32(self.inst.src[3]))) * i64::from(self.wave.lanes);
            (self.base64(base) & !(granule - 1)).wrapping_add_signed(scaled)
        } else {
            (self.base64(base) & !(granule - 1)).wrapping_add_signed(offset)
        };
        if bytes == 0 {
            return;
        }
        let slot = |operand| match operand {
            Operand::Sgpr(slot) => Some(u16::from(slot)),
            _ => None,
        };
        let access = LaneAccess {
            space: Space::Global,
            kind: self.kind,
            scalar: true,
            bytes: bytes as u32,
            mask: 1,
            address: [address; 64],
            loaded: slot(self.inst.dst).filter(|_| self.kind != AccessKind::Write),
            stored: slot(self.inst.src[1]).filter(|_| self.kind != AccessKind::Read),
            moved: Moved::Plain,
        };
        // Scratch memory is interleaved by dword: each dword of all lanes, then the next.
        let lanes = u64::from(self.wave.lanes);
        let at = address.wrapping_sub(self.wave.access.scratch as u64);
        if at >= u64::from(self.wave.access.scratch_size) * lanes {
            self.found.push(access);
            return;
        }
        for i in 0..bytes / 4 {
            let dword = at / 4 + i;
            self.found.push(LaneAccess {
                space: Space::Scratch,
                bytes: 4,
                mask: 1 << (dword % lanes),
                address: [dword / lanes * 4; 64],
                loaded: access.loaded.map(|first| first + i as u16),
                stored: access.stored.map(|first| first + i as u16),
                ..access
            });
        }
    }

    /// A base in scalar registers; NULL is zero.
    fn base64(&self, slot: u8) -> u64 {
        if slot == scalar::NULL { 0 } else { self.wave.scalar64(slot) }
    }

    /// The bits of M0 that form an offset in LDS.
    fn m0_bits(&self) -> u32 {
        if self.wave.access.lds_size > 0x1_0000 { 0x3_ffff } else { 0xffff }
    }

    /// One dword of LDS per lane, or as many as a lane moves, consecutively from M0 on.
    fn lane_after_lane(&mut self, kind: AccessKind) {
        let start = i64::from(self.wave.sgpr[usize::from(scalar::M0)] & self.m0_bits())
            + i64::from(self.inst.mem.offset);
        self.kind = kind;
        // Less than a dword is extended to a dword.
        self.bytes = self.bytes.max(4);
        let width = i64::from(self.bytes);
        self.push(Space::Lds, self.exec, std::array::from_fn(|lane| (start + width * lane as i64) as u64));
    }

    /// What a store reads from LDS comes before what it writes; lanes that write nothing read nothing.
    fn copy_from_lds(&mut self) {
        self.exec = self.found.iter().fold(0, |lanes, access| lanes | access.mask);
        if self.exec == 0 {
            return;
        }
        self.lane_after_lane(AccessKind::Read);
        self.found.rotate_right(1);
        for (number, access) in self.found.iter_mut().enumerate() {
            (access.loaded, access.stored) = (None, None);
            if number != 0 {
                access.moved = Moved::Copied(0);
            }
        }
    }

    /// The writes to LDS of everything that was loaded.
    fn copy_to_lds(&mut self) {
        let loaded = self.found.len();
        self.lane_after_lane(AccessKind::Write);
        for access in &mut self.found[..loaded] {
            access.loaded = None;
        }
        if let Some(access) = self.found.last_mut() {
            access.stored = None;
            access.moved = Moved::Copied(0);
        }
    }

    /// One element of LDS for all lanes. M0 holds its address and, above that, its type.
    fn direct(&mut self) {
        let m0 = self.wave.sgpr[usize::from(scalar::M0)];
        self.bytes = match m0 >> 16 & 7 {
            0 | 4 => 1,
            1 | 5 => 2,
            2 => 4,
            _ => return,
        };
        self.push(Space::Lds, self.exec, [u64::from(m0 & 0xffff); 64]);
        if let Some(access) = self.found.last_mut() {
            access.loaded = access.loaded.filter(|_| self.inst.format == Format::LdsDir);
        }
    }

    /// Registers selected by M0, one after the other; registers that are not selected leave holes.
    ///
    /// # Safety
    /// See [`accesses`].
    unsafe fn block(&mut self) {
        let selected = u64::from(self.wave.sgpr[usize::from(scalar::M0)]);
        // SAFETY: the caller's promise.
        unsafe {
            match self.inst.format {
                Format::Scratch => self.scratch(),
                _ => self.global(self.exec),
            }
        }
        let Some(first) = self.found.pop() else { return };
        self.found.extend(lanes(selected).map(|i| LaneAccess {
            address: first.address.map(|address| match first.space {
                Space::Scratch => u64::from((address as u32).wrapping_add(4 * i as u32)),
                _ => address.wrapping_add(4 * i as u64),
            }),
            loaded: first.loaded.map(|register| register + i as u16),
            stored: first.stored.map(|register| register + i as u16),
            ..first.clone()
        }));
    }

    /// Parts of a matrix, read by the first lanes, whatever EXEC is.
    ///
    /// # Safety
    /// See [`accesses`].
    unsafe fn tile(&mut self, footprint: Footprint) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.inst.format {
                // All lanes read what they exchange.
                Format::Ds => self.lds_tile(),
                _ => self.global(u64::MAX >> (64 - TILE_LANES)),
            }
        }
        if let (Some(access), Footprint::Tile(element)) = (self.found.last_mut(), footprint) {
            access.moved = Moved::Transposed(element);
        }
    }

    /// # Safety
    /// See [`accesses`].
    unsafe fn lds_tile(&mut self) {
        // SAFETY: the caller's promise.
        let row = unsafe { self.row(self.inst.src[0], 0) };
        let offset = self.inst.mem.offset as u32;
        self.push(Space::Lds, u64::MAX, row.map(|address| u64::from(address.wrapping_add(offset))));
    }

    /// # Safety
    /// See [`accesses`].
    unsafe fn lds(&mut self, footprint: Footprint) {
        // SAFETY: the caller's promise.
        let row = unsafe { self.row(self.inst.src[0], 0) };
        let offset = self.inst.mem.offset as u32;
        let m0 = self.wave.sgpr[usize::from(scalar::M0)];
        let at = |offset: u32| row.map(|address| u64::from(address.wrapping_add(offset)));
        match footprint {
            Footprint::Two(_, bytes, unit) => {
                self.push(Space::Lds, self.exec, at((offset & 0xff) * unit));
                self.push(Space::Lds, self.exec, at((offset >> 8 & 0xff) * unit));
                if let Some(second) = self.found.last_mut() {
                    second.loaded = second.loaded.map(|first| first + (bytes / 4) as u16);
                    second.stored = second.stored.and(vector(self.inst.src[3]));
                }
            }
            Footprint::ByLane(_) => {
                let base = u64::from(offset) + u64::from(m0 & 0xffff);
                self.push(Space::Lds, self.exec, std::array::from_fn(|lane| base + 4 * lane as u64));
                // The data operand is where other instructions have the address.
                if let Some(access) = self.found.last_mut()
                    && self.kind == AccessKind::Write
                {
                    access.stored = vector(self.inst.src[1]);
                }
            }
            Footprint::Counter => {
                let first = self.exec & self.exec.wrapping_neg();
                self.push(Space::Lds, first, [u64::from(m0) + u64::from(offset & 0xffff); 64]);
            }
            // Only 16 bits of the address count, and it is a multiple of 8.
            _ if self.inst.op == Op::DsCondxchg32RtnB64 => {
                self.push(Space::Lds, self.exec, at(offset).map(|address| address & 0xfff8));
            }
            _ => self.push(Space::Lds, self.exec, at(offset & 0xffff)),
        }
    }

    /// # Safety
    /// See [`accesses`].
    unsafe fn flat(&mut self) {
        // SAFETY: the caller's promise.
        let (low, high) = unsafe { (self.row(self.inst.src[0], 0), self.row(self.inst.src[0], 1)) };
        let offset = i64::from(self.inst.mem.offset);
        let within = |aperture: u64| {
            lanes(self.exec)
                .filter(|&lane| u64::from(high[lane]) == aperture >> 32)
                .fold(0u64, |mask, lane| mask | 1 << lane)
        };
        let (shared, private) = (within(SHARED_APERTURE), within(PRIVATE_APERTURE));
        self.push(Space::Lds, shared, low.map(|low| u64::from(low.wrapping_add(offset as u32))));
        self.push(Space::Scratch, private, low.map(|low| u64::from(low.wrapping_add(offset as u32))));
        let address = std::array::from_fn(|lane| {
            (u64::from(high[lane]) << 32 | u64::from(low[lane])).wrapping_add_signed(offset)
        });
        self.push(Space::Global, self.exec & !shared & !private, address);
    }

    fn global_by_lane(&mut self) {
        let base = match self.inst.src[2] {
            Operand::Sgpr(base) => self.base64(base),
            _ => 0,
        };
        let start = base.wrapping_add_signed(i64::from(self.inst.mem.offset));
        self.push(Space::Global, self.exec, std::array::from_fn(|lane| start.wrapping_add(4 * lane as u64)));
    }

    /// # Safety
    /// See [`accesses`].
    unsafe fn global(&mut self, mask: u64) {
        let offset = i64::from(self.inst.mem.offset);
        // SAFETY: the caller's promise.
        let low = unsafe { self.row(self.inst.src[0], 0) };
        let address = match self.inst.src[2] {
            Operand::Sgpr(base) => {
                let base = self.wave.scalar64(base).wrapping_add_signed(offset);
                low.map(|low| base.wrapping_add(u64::from(low)))
            }
            _ => {
                // SAFETY: the caller's promise.
                let high = unsafe { self.row(self.inst.src[0], 1) };
                std::array::from_fn(|lane| {
                    (u64::from(high[lane]) << 32 | u64::from(low[lane])).wrapping_add_signed(offset)
                })
            }
        };
        self.push(Space::Global, mask, address);
    }

    /// # Safety
    /// See [`accesses`].
    unsafe fn scratch(&mut self) {
        let offset = (self.inst.mem.offset as u32).wrapping_add(self.scalar32(self.inst.src[2]));
        // SAFETY: the caller's promise.
        let row = unsafe { self.row(self.inst.src[0], 0) };
        self.push(Space::Scratch, self.exec, row.map(|start| u64::from(start.wrapping_add(offset))));
    }

    /// Through a buffer descriptor: out-of-bounds lanes access nothing, or less.
    ///
    /// # Safety
    /// See [`accesses`].
    unsafe fn buffer(&mut self) {
        let Operand::Sgpr(slot) = self.inst.src[2] else { return };
        let view = Descriptor::new(self, slot);
        // An element with a format is in bounds as a whole, or not at all.
        let mut element = None;
        if let Footprint::Typed(..) = footprint_of(self.inst) {
            let Some(bytes) = view.format(self).map(|format| format.bytes()) else { return };
            element = Some(bytes as u64);
            self.bytes = bytes as u32;
        }
        let immediate = self.inst.mem.offset as u32;
        let (idxen, offen) = (self.inst.mem.idxen, self.inst.mem.offen);
        // SAFETY: the caller's promise.
        let (index, row) = unsafe {
            let none = Operand::None;
            let address = self.inst.src[0];
            (
                self.row(if idxen { address } else { none }, 0),
                self.row(if offen { address } else { none }, u16::from(idxen)),
            )
        };
        if element.is_none()
            && let Some(start) = view.scratch_start(self.wave)
        {
            let start = immediate.wrapping_add(start);
            return self.push(Space::Scratch, self.exec, row.map(|row| u64::from(row.wrapping_add(start))));
        }
        // Bounds and swizzling of wide accesses may apply to each dword, except for accesses that go to LDS.
        let all = u64::from(self.bytes);
        let dwords = self.kind != AccessKind::Atomic && self.bytes > 4 && !is_to_lds(self.inst);
        let mut whole = 0u64;
        let mut address = [0; 64];
        let mut parts = vec![(0u64, [0; 64]); if dwords { all.div_ceil(4) as usize } else { 1 }];
        for lane in lanes(self.exec) {
            let index = view.index(index[lane], lane);
            let within = u64::from(row[lane].wrapping_add(immediate));
            let at = |within| view.address(index, within);
            let inside = view.inside(index, within, element.unwrap_or(all));
            if inside && !(dwords && view.element.is_some()) {
                whole |= 1 << lane;
                address[lane] = at(within);
                continue;
            }
            if !(inside || dwords && element.is_none()) {
                continue;
            }
            for (i, (mask, address)) in parts.iter_mut().enumerate() {
                let within = within + 4 * i as u64;
                if inside && element.is_some() || view.inside(index, within, 4) {
                    *mask |= 1 << lane;
                    address[lane] = at(within);
                }
            }
        }
        self.push(Space::Global, whole, address);
        for (i, (mask, address)) in parts.into_iter().enumerate().filter(|(_, (mask, _))| *mask != 0) {
            self.bytes = (all - 4 * i as u64).min(4) as u32;
            self.push(Space::Global, mask, address);
            if let Some(access) = self.found.last_mut().filter(|_| element.is_none()) {
                access.loaded = access.loaded.map(|first| first + i as u16);
                access.stored = access.stored.map(|first| first + i as u16);
            }
        }
        self.bytes = all as u32;
        if element.is_some() {
            self.found.iter_mut().for_each(|access| access.moved = Moved::Converted);
        }
    }
}

/// A buffer descriptor and what else the lanes share, as plain numbers. This follows AMD's documents of CDNA
/// 4, RDNA 3 and RDNA 4, and hardware behaviour as found by AMD's emulator rocjitsu.
struct Descriptor {
    base: u64,
    scalar_offset: u64,
    stride: u64,
    records: u64,
    /// Bytes of an element of a swizzled buffer.
    element: Option<u64>,
    index_stride: u64,
    idxen: bool,
    add_lane: bool,
    /// Whether the lane's number counts in the index.
    counts_lane: bool,
    oob_select: u32,
    generation: Generation,
    last: u32,
}

impl Descriptor {
    fn new(finder: &Finder<'_>, slot: u8) -> Descriptor {
        let generation = finder.generation;
        let (cdna, rdna2) = (generation.is_cdna(), generation == Generation::Gfx10);
        // NULL is a descriptor of zeros.
        let [first, second, records, last] = match slot {
            scalar::NULL => [0; 4],
            slot => std::array::from_fn(|i| finder.wave.sgpr[usize::from(slot) + i]),
        };
        let (idxen, add_lane) = (finder.inst.mem.idxen, last >> 23 & 1 != 0);
        let typed = matches!(footprint_of(finder.inst), Footprint::Typed(..));
        let element = if generation >= Generation::Gfx11 {
            [None, Some(4), Some(8), Some(16)][(second >> 30) as usize].filter(|_| idxen || add_lane)
        } else {
            Some(4).filter(|_| second >> 31 != 0 && (rdna2 || add_lane))
        };
        let mut stride = u64::from(second >> 16 & 0x3fff);
        // The format of buffers without conversions is a part of the stride.
        let own_lane = add_lane && (!idxen || rdna2 || cdna && element.is_some());
        if cdna && !typed && own_lane {
            stride |= u64::from(last >> 15 & 15) << 14;
        }
        if generation >= Generation::Gfx12 {
            stride *= [1, 4, 8, 32][(last >> 18 & 3) as usize];
        }
        Descriptor {
            base: u64::from(second & 0xffff) << 32 | u64::from(first),
            scalar_offset: u64::from(finder.scalar32(finder.inst.src[3])),
            stride,
            records: u64::from(records),
            element,
            index_stride: [8, 16, 32, 64][(last >> 21 & 3) as usize],
            idxen,
            add_lane,
            counts_lane: own_lane,
            oob_select: last >> 28 & 3,
            generation,
            last,
        }
    }

    fn index(&self, register: u32, lane: usize) -> u64 {
        u64::from(register) + if self.counts_lane { lane as u64 } else { 0 }
    }

    fn address(&self, index: u64, within: u64) -> u64 {
        let [index, within, stride] = [index, within, self.stride].map(u128::from);
        let offset = match self.element.map(u128::from) {
            None => index * stride + within,
            Some(element) => {
                let rows = u128::from(self.index_stride);
                (index / rows * stride + within / element * element) * rows
                    + index % rows * element
                    + within % element
            }
        };
        (u128::from(self.base) + u128::from(self.scalar_offset) + offset) as u64
    }

    fn inside(&self, index: u64, within: u64, bytes: u64) -> bool {
        let in_bytes = within + bytes + self.scalar_offset <= self.records;
        let structured = index < self.records && within + bytes <= self.stride;
        if self.generation.is_cdna() {
            return match (self.idxen, self.stride) {
                (false, _) if self.add_lane => true,
                (true, 1..) => index < self.records,
                _ => in_bytes,
            };
        }
        match self.oob_select {
            0 => structured,
            1 => index < self.records,
            2 => self.records != 0,
            _ if self.element.is_some() && self.stride != 0 => structured,
            _ => in_bytes,
        }
    }

    /// The format that an instruction converts; none if the descriptor binds no buffer.
    fn format(&self, finder: &Finder<'_>) -> Option<BufferFormat> {
        let own = match self.generation {
            // The data format, and above it the number format.
            Generation::Gfx9 | Generation::Gfx940 => (self.last >> 15 & 15) | (self.last >> 12 & 7) << 4,
            Generation::Gfx10 => self.last >> 12 & 127,
            _ => self.last >> 12 & 63,
        };
        let is_bound = if self.generation.is_cdna() { own & 15 != 0 } else { own != 0 };
        let code = if finder.inst.format == Format::Mtbuf { finder.inst.mem.format } else { own as u8 };
        BufferFormat::by_code(self.generation, code).filter(|_| is_bound)
    }

    /// Where the buffer starts in the wave's scratch memory, in bytes of each lane, if it is that memory.
    fn scratch_start(&self, wave: &Wave) -> Option<u32> {
        let lanes = u64::from(wave.lanes);
        let is_interleaved = self.add_lane && !self.idxen && self.element == Some(4);
        let start = self.address(0, 0).wrapping_sub(wave.access.scratch as u64);
        let inside = start.is_multiple_of(4 * lanes) && start <= u64::from(wave.access.scratch_size) * lanes;
        (is_interleaved && self.stride == 0 && self.index_stride == lanes && inside)
            .then_some((start / lanes) as u32)
    }
}
