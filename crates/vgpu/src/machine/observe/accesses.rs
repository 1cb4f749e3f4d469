//! The memory that an instruction accesses, computed from its operands and the registers before it runs.
//!
//! This implements the addressing rules separately and does not call the handlers, so observers cost nothing
//! when there are none. A test compares the two implementations.

use crate::exec::{TILE_ELEMENTS, TILE_LANES, View, Wave, buffer_flags, element_bytes};
use crate::isa::{Fact, Footprint, Format, Inst, Op, Operand, Special, scalar};
use crate::machine::{Generation, PRIVATE_APERTURE, SHARED_APERTURE};
use gpu_report::{AccessKind, Space};

/// Accesses of the same kind by some lanes of a wave.
#[derive(Clone, Debug)]
pub struct LaneAccess {
    pub space: Space,
    pub kind: AccessKind,
    /// Whether it is one access by the whole wave through the scalar cache. It is recorded as lane 0's, or as
    /// that of the lane whose scratch memory it accesses.
    pub scalar: bool,
    /// Bytes, per lane.
    pub bytes: u32,
    /// The lanes; never empty.
    pub mask: u64,
    /// The first byte for each lane in the mask: an address in global memory, or an offset into the
    /// workgroup's LDS or the lane's scratch memory. Out-of-bounds accesses are included; the instruction
    /// will fault.
    pub address: [u64; 64],
    /// The first register that is loaded, or that receives the old value: a vector register (from 256 on, ACC
    /// registers), or a scalar slot if `scalar` is set.
    pub loaded: Option<u16>,
    /// The first register that is stored, numbered in the same way.
    pub stored: Option<u16>,
    /// How the bytes correspond to the registers.
    pub moved: Moved,
}

/// How memory contents and register contents correspond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// Bytes are copied, and extended if there are fewer than a register holds.
    Plain,
    /// Converted by a buffer's format: every channel depends on the element.
    Converted,
    /// A matrix of elements with this many bits; lanes select its rows and receive its columns.
    Transposed(u8),
    /// Copied into or out of LDS, from the access with that number.
    Copied(u8),
}

impl LaneAccess {
    /// The lanes and their addresses.
    pub fn lanes(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        lanes(self.mask).map(|lane| (lane, self.address[lane]))
    }
}

/// The lanes of a mask in ascending order.
fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| mask >> lane & 1 != 0)
}

/// The accesses of one instruction.
#[derive(Default, Debug)]
pub struct Accesses(Vec<LaneAccess>);

impl std::ops::Deref for Accesses {
    type Target = [LaneAccess];

    fn deref(&self) -> &[LaneAccess] {
        &self.0
    }
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

/// Whether there is a rule for an instruction. All executed instructions have one.
pub fn is_known(inst: &Inst) -> bool {
    footprint_of(inst) != Footprint::Unknown
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

impl Accesses {
    /// The accesses of `inst`; empty if it does not access memory or is not executed.
    ///
    /// # Safety
    /// The wave must be set up for the program that `inst` comes from.
    pub unsafe fn find(&mut self, inst: &Inst, wave: &Wave, generation: Generation) {
        self.0.clear();
        let in_lds = || inst.src.contains(&Operand::Special(Special::LdsDirect));
        let footprint = match inst.format {
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3Sd if in_lds() => {
                Footprint::Direct
            }
            format if super::is_memory(format) => footprint_of(inst),
            _ => return,
        };
        let (kind, bytes) = match footprint {
            Footprint::None | Footprint::Unknown => return,
            Footprint::One(kind, bytes) | Footprint::Two(kind, bytes, _) => (kind, bytes),
            Footprint::ByLane(kind) | Footprint::Block(kind) => (kind, 4),
            Footprint::Counter => (AccessKind::Atomic, 4),
            // The format determines the size.
            Footprint::Typed(kind, _) => (kind, 0),
            Footprint::Tile(element) => (AccessKind::Read, tile_bytes(inst, element)),
            Footprint::Direct => (AccessKind::Read, 0),
        };
        let exec = wave.active();
        let mut finder = Finder { inst, wave, generation, kind, bytes, exec, found: &mut self.0 };
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
    }
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
    /// See [`Accesses::find`].
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
    /// See [`Accesses::find`].
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
            address: first.address.map(|address| address.wrapping_add(4 * i as u64)),
            loaded: first.loaded.map(|register| register + i as u16),
            stored: first.stored.map(|register| register + i as u16),
            ..first.clone()
        }));
    }

    /// Parts of a matrix, read by the first lanes, whatever EXEC is.
    ///
    /// # Safety
    /// See [`Accesses::find`].
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
    /// See [`Accesses::find`].
    unsafe fn lds_tile(&mut self) {
        // SAFETY: the caller's promise.
        let row = unsafe { self.row(self.inst.src[0], 0) };
        let offset = self.inst.mem.offset as u32;
        self.push(Space::Lds, u64::MAX, row.map(|address| u64::from(address.wrapping_add(offset))));
    }

    /// # Safety
    /// See [`Accesses::find`].
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
    /// See [`Accesses::find`].
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
        self.push(Space::Lds, shared, low.map(|low| u64::from(low).wrapping_add_signed(offset)));
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
    /// See [`Accesses::find`].
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
    /// See [`Accesses::find`].
    unsafe fn scratch(&mut self) {
        let offset = (self.inst.mem.offset as u32).wrapping_add(self.scalar32(self.inst.src[2]));
        // SAFETY: the caller's promise.
        let row = unsafe { self.row(self.inst.src[0], 0) };
        self.push(Space::Scratch, self.exec, row.map(|start| u64::from(start.wrapping_add(offset))));
    }

    /// Through a buffer descriptor: out-of-bounds lanes access nothing, or less.
    ///
    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn buffer(&mut self) {
        let Operand::Sgpr(slot) = self.inst.src[2] else { return };
        let scalar_offset = self.scalar32(self.inst.src[3]);
        let view = View::through(
            self.wave,
            slot,
            scalar_offset,
            self.generation,
            buffer_flags(self.inst, self.generation),
        );
        // An element with a format is in bounds as a whole, or not at all.
        let mut element = None;
        if let Footprint::Typed(..) = footprint_of(self.inst) {
            let Some(bytes) = element_bytes(self.inst, self.generation, &view) else { return };
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
        if view.is_swizzled()
            && element.is_none()
            && let Some(start) = view.scratch_start(self.wave)
        {
            let start = immediate.wrapping_add(start as u32);
            return self.push(Space::Scratch, self.exec, row.map(|row| u64::from(row.wrapping_add(start))));
        }
        // Bounds and swizzling of wide accesses may apply to each dword, except for accesses that go to LDS.
        let all = u64::from(self.bytes);
        let dwords = self.kind != AccessKind::Atomic && self.bytes > 4 && !is_to_lds(self.inst);
        let mut whole = 0u64;
        let mut address = [0; 64];
        let mut parts = vec![(0u64, [0; 64]); if dwords { all.div_ceil(4) as usize } else { 1 }];
        for lane in lanes(self.exec) {
            let (index, within) = (view.index(index[lane], lane), view.within(row[lane], immediate));
            let at = |within| view.base.wrapping_add(view.place(index, within));
            let inside = view.inside(index, within, element.unwrap_or(all));
            if inside && !(dwords && view.is_swizzled()) {
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
