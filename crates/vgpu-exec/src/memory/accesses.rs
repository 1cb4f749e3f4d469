//! The memory that an instruction accesses, for observers: the addresses that its handler will use, computed
//! from the same lowered code by the same functions before the instruction runs.

use gpu_report::{AccessKind, Space};
use vgpu_isa::{Fact, Footprint, Format, Inst, Op, Operand, Special};

use super::address;
use super::block::{TILE_ELEMENTS, TILE_LANES};
use super::buffer::{self, View};
use super::lanes::Bits;
use super::{image, scalar, typed};
use crate::{Code, Src, Unit, Wave};

/// Accesses of the same kind by some lanes of a wave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneAccess {
    /// The memory that is accessed.
    pub space: Space,
    /// What is done to it.
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
        Bits(self.mask).map(|lane| (lane, self.address[lane]))
    }
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

/// Whether instructions of this encoding access memory.
pub fn is_memory(format: Format) -> bool {
    matches!(
        format,
        Format::Smem
            | Format::Ds
            | Format::LdsDir
            | Format::Flat
            | Format::Global
            | Format::Scratch
            | Format::Mubuf
            | Format::Mtbuf
            | Format::Mimg
    )
}

/// Whether an instruction loads to LDS instead of registers.
fn is_to_lds(inst: &Inst) -> bool {
    inst.mem.lds || inst.op.has(Fact::TO_LDS)
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

/// The number of a scalar register in the numbering of [`LaneAccess`].
fn scalar_slot(operand: Operand) -> Option<u16> {
    match operand {
        Operand::Sgpr(slot) => Some(u16::from(slot)),
        _ => None,
    }
}

impl Accesses {
    /// Finds the accesses of instruction `number` of a unit of watched code, which the wave is about to
    /// execute; none if it does not access memory or is not executed.
    ///
    /// # Safety
    /// The wave must be set up for the program that the unit belongs to.
    pub unsafe fn find(&mut self, unit: &Unit, number: usize, wave: &Wave) {
        self.0.clear();
        let Some(inst) = unit.insts.get(number) else { return };
        if inst.format.is_vector_arithmetic() {
            let is_direct = inst.src.contains(&Operand::Special(Special::LdsDirect));
            if is_direct && let Some(access) = direct(inst, wave) {
                self.0.push(access);
            }
            return;
        }
        let Some(code) = unit.memory_code(number) else { return };
        if let Some(op) = inst.image() {
            // SAFETY: the caller's promise.
            unsafe { image::accesses(op, wave, code.generation, &mut self.0) };
            return;
        }
        let exec = wave.active();
        let footprint = inst.op.footprint();
        let (kind, bytes) = match footprint {
            Footprint::None | Footprint::Unknown => return,
            Footprint::One(kind, bytes) | Footprint::Two(kind, bytes, _) => (kind, bytes),
            Footprint::ByLane(kind) | Footprint::Block(kind) => (kind, 4),
            Footprint::Counter => (AccessKind::Atomic, 4),
            // The format determines the size.
            Footprint::Typed(kind, _) => (kind, 0),
            Footprint::Tile(bits) => (AccessKind::Read, tile_bytes(inst, bits)),
            Footprint::Direct => {
                self.0.extend(direct(inst, wave));
                return;
            }
        };
        let mut finder = Finder { inst, code, wave, kind, bytes, exec, found: &mut self.0 };
        // SAFETY: the caller's promise.
        unsafe {
            match inst.format {
                Format::Smem => finder.scalar(),
                _ if exec == 0 => {}
                Format::Ds => finder.lds(footprint),
                Format::Flat => finder.flat(),
                Format::Global => finder.global(footprint),
                Format::Scratch => finder.scratch(footprint),
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

/// One element of LDS for all lanes.
fn direct(inst: &Inst, wave: &Wave) -> Option<LaneAccess> {
    let (mask, (at, bytes, _)) = (wave.active(), address::direct(wave)?);
    (mask != 0).then_some(LaneAccess {
        space: Space::Lds,
        kind: AccessKind::Read,
        scalar: false,
        bytes: bytes as u32,
        mask,
        address: [at; 64],
        loaded: vector(inst.dst).filter(|_| inst.format == Format::LdsDir),
        stored: None,
        moved: Moved::Plain,
    })
}

/// Finds the accesses of one instruction.
struct Finder<'a> {
    inst: &'a Inst,
    code: &'a Code,
    wave: &'a Wave,
    kind: AccessKind,
    bytes: u32,
    exec: u64,
    found: &'a mut Vec<LaneAccess>,
}

impl Finder<'_> {
    /// The lanes of a register of lowered code; zeros if there is none.
    ///
    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn row(&self, first: Option<u32>) -> [u32; 64] {
        let lanes = u32::from(self.wave.lanes);
        // SAFETY: the caller's promise.
        first.map_or([0; 64], |first| unsafe { self.wave.vector((first / lanes) as u16) })
    }

    /// The lanes of the vector operand that holds addresses; zeros if there is none.
    ///
    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn addresses(&self) -> [u32; 64] {
        let first = if let Src::Vector(first) = self.code.src[0] { Some(first) } else { None };
        // SAFETY: the caller's promise.
        unsafe { self.row(first) }
    }

    fn push(&mut self, space: Space, mask: u64, address: impl Fn(usize) -> u64) {
        if mask == 0 {
            return;
        }
        let loads = self.kind == AccessKind::Read;
        let mut addresses = [0; 64];
        Bits(mask).for_each(|lane| addresses[lane] = address(lane));
        self.found.push(LaneAccess {
            space,
            kind: self.kind,
            scalar: false,
            bytes: self.bytes,
            mask,
            address: addresses,
            loaded: vector(self.inst.dst),
            stored: vector(self.inst.src[1]).filter(|_| !loads),
            moved: Moved::Plain,
        });
    }

    /// One access to consecutive bytes, or the part of them that is within a buffer. In the wave's scratch
    /// memory, each dword belongs to another lane.
    fn scalar(&mut self) {
        let granule = self.bytes.min(4);
        let op = self.inst.op;
        let (wave, code, align) = (self.wave, self.code, u64::from(granule));
        let location = if op.has(Fact::BUFFER) {
            scalar::locate::<{ scalar::BUFFER }>(wave, code, align)
        } else if op.has(Fact::SCRATCH) {
            scalar::locate::<{ scalar::SCRATCH }>(wave, code, align)
        } else {
            scalar::locate::<{ scalar::MEMORY }>(wave, code, align)
        };
        let Some(location) = location else { return };
        // Moves are checked dword by dword, read-modify-writes as a whole.
        let step = if self.kind == AccessKind::Atomic { self.bytes } else { granule };
        let mut at = 0;
        while at < self.bytes {
            let Some(address) = location.address(at.into(), step.into()) else {
                at += step;
                continue;
            };
            let first = at;
            while at < self.bytes && location.address(at.into(), step.into()).is_some() {
                at += step;
            }
            self.scalar_part(address, first, at - first);
        }
    }

    /// Bytes of a scalar access, `after` its first.
    fn scalar_part(&mut self, address: u64, after: u32, bytes: u32) {
        let further = |register: u16| register + (after / 4) as u16;
        let access = LaneAccess {
            space: Space::Global,
            kind: self.kind,
            scalar: true,
            bytes,
            mask: 1,
            address: std::array::from_fn(|lane| if lane == 0 { address } else { 0 }),
            loaded: scalar_slot(self.inst.dst).filter(|_| self.kind != AccessKind::Write).map(further),
            stored: scalar_slot(self.inst.src[1]).filter(|_| self.kind != AccessKind::Read).map(further),
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
            let dword = at / 4 + u64::from(i);
            let lane = (dword % lanes) as usize;
            let mut address = [0; 64];
            address[lane] = dword / lanes * 4;
            self.found.push(LaneAccess {
                space: Space::Scratch,
                bytes: 4,
                mask: 1 << lane,
                address,
                loaded: access.loaded.map(|first| first + i as u16),
                stored: access.stored.map(|first| first + i as u16),
                ..access
            });
        }
    }

    /// One dword of LDS per lane, or as many as a lane moves, consecutively from M0 on.
    fn lane_after_lane(&mut self, kind: AccessKind) {
        let start = address::moved(self.wave, self.code);
        self.kind = kind;
        self.bytes = address::moved_bytes(self.bytes as usize);
        let width = self.bytes;
        self.push(Space::Lds, self.exec, |lane| address::moved_to(start, width, lane));
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
        if let Some(access) = self.found[loaded..].last_mut() {
            access.stored = None;
            access.moved = Moved::Copied(0);
        }
    }

    /// Registers selected by M0, one after the other; registers that are not selected leave holes. `address`
    /// is that of a lane's register with a number.
    fn block(&mut self, space: Space, address: impl Fn(u32, usize) -> u64) {
        for i in Bits(address::selected(self.wave)) {
            self.push(space, self.exec, |lane| address(i as u32, lane));
            if let Some(access) = self.found.last_mut().filter(|_| self.exec != 0) {
                access.loaded = access.loaded.map(|register| register + i as u16);
                access.stored = access.stored.map(|register| register + i as u16);
            }
        }
    }

    /// Marks the last access as that of a matrix that the load transposes.
    fn transpose(&mut self, bits: u8) {
        if let Some(access) = self.found.last_mut() {
            access.moved = Moved::Transposed(bits);
        }
    }

    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn lds(&mut self, footprint: Footprint) {
        // SAFETY: the caller's promise.
        let row = unsafe { self.addresses() };
        let (wave, code) = (self.wave, self.code);
        let at = |shift: u32| move |lane: usize| u64::from(address::shifted(row[lane], shift));
        match footprint {
            Footprint::Two(_, bytes, _) => {
                let [first, second] = address::shifts(code, bytes as usize);
                self.push(Space::Lds, self.exec, at(first));
                self.push(Space::Lds, self.exec, at(second));
                if let Some(second) = self.found.last_mut() {
                    second.loaded = second.loaded.map(|first| first + (bytes / 4) as u16);
                    second.stored = second.stored.and(vector(self.inst.src[3]));
                }
            }
            Footprint::ByLane(_) => {
                let shift = address::shift_by_lane(wave, code);
                let at = |lane| u64::from(address::shifted(address::by_lane(lane), shift));
                self.push(Space::Lds, self.exec, at);
                // The data operand is where other instructions have the address.
                if let Some(access) = self.found.last_mut()
                    && self.kind == AccessKind::Write
                {
                    access.stored = vector(self.inst.src[1]);
                }
            }
            Footprint::Counter => {
                let first = self.exec & self.exec.wrapping_neg();
                self.push(Space::Lds, first, |_| address::counter(wave, code));
            }
            // All lanes read what they exchange.
            Footprint::Tile(bits) => {
                self.push(Space::Lds, u64::MAX >> (64 - wave.lanes), at(address::shift(code)));
                self.transpose(bits);
            }
            _ if self.inst.op == Op::DsCondxchg32RtnB64 => {
                self.push(Space::Lds, self.exec, |lane| u64::from(address::exchanged(row[lane], code)));
            }
            _ => self.push(Space::Lds, self.exec, at(address::shift(code))),
        }
    }

    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn flat(&mut self) {
        let parts = address::Global::of(self.wave, self.code, self.wave.lanes.into());
        // SAFETY: the caller's promise.
        let (low, high) = unsafe { (self.row(parts.low), self.row(parts.high)) };
        let within = |space: Space| {
            let inside = |lane: &usize| address::space(high[*lane]) == space;
            Bits(self.exec).filter(inside).fold(0u64, |mask, lane| mask | 1 << lane)
        };
        let (shared, private) = (within(Space::Lds), within(Space::Scratch));
        let shift = address::shift(self.code);
        let scratch_shift = address::scratch_shift(self.wave, self.code);
        self.push(Space::Lds, shared, |lane| u64::from(address::shifted(low[lane], shift)));
        self.push(Space::Scratch, private, |lane| u64::from(address::shifted(low[lane], scratch_shift)));
        let global = self.exec & !shared & !private;
        self.push(Space::Global, global, |lane| address::wide(parts.base, low[lane], high[lane]));
    }

    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn global(&mut self, footprint: Footprint) {
        let address::Global { base, low, high } =
            address::Global::of(self.wave, self.code, self.wave.lanes.into());
        // SAFETY: the caller's promise.
        let (low, high) = unsafe { (self.row(low), self.row(high)) };
        let at = |lane: usize| address::wide(base, low[lane], high[lane]);
        match footprint {
            Footprint::ByLane(_) => {
                self.push(Space::Global, self.exec, |lane| address::wide(base, address::by_lane(lane), 0));
            }
            Footprint::Block(_) => {
                let after = |i, lane: usize| {
                    address::wide(address::wide(base, address::in_block(i), 0), low[lane], high[lane])
                };
                self.block(Space::Global, after);
            }
            // Parts of a matrix, read by the first lanes, whatever EXEC is.
            Footprint::Tile(bits) => {
                self.push(Space::Global, u64::MAX >> (64 - TILE_LANES), at);
                self.transpose(bits);
            }
            _ => self.push(Space::Global, self.exec, at),
        }
    }

    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn scratch(&mut self, footprint: Footprint) {
        // SAFETY: the caller's promise.
        let row = unsafe { self.addresses() };
        let shift = address::scratch_shift(self.wave, self.code);
        match footprint {
            Footprint::Block(_) => self.block(Space::Scratch, |i, lane| {
                u64::from(address::shifted(row[lane], address::shifted(address::in_block(i), shift)))
            }),
            _ => self.push(Space::Scratch, self.exec, |lane| u64::from(address::shifted(row[lane], shift))),
        }
    }

    /// Through a buffer descriptor: out-of-bounds lanes access nothing, or less.
    ///
    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn buffer(&mut self) {
        let Src::Scalar(descriptor) = self.code.src[2] else { return };
        let (wave, code) = (self.wave, self.code);
        let view = View::new(wave, code, descriptor);
        let [index, offset] = buffer::address_operands(code, wave.lanes.into());
        // SAFETY: the caller's promise.
        let (index, row) = unsafe { (self.row(index), self.row(offset)) };
        let immediate = address::shift(code);
        let is_typed = matches!(self.inst.op.footprint(), Footprint::Typed(..));
        if is_typed {
            // An element with a format is in bounds as a whole, or not at all.
            let Some(bytes) = typed::element_bytes(&view, code) else { return };
            self.bytes = bytes as u32;
        } else if view.is_swizzled()
            && let Some(start) = view.scratch_start(wave)
        {
            let shift = address::shifted(immediate, start);
            return self
                .push(Space::Scratch, self.exec, |lane| u64::from(address::shifted(row[lane], shift)));
        }
        let place = |lane: usize| (view.index(index[lane], lane), view.within(row[lane], immediate));
        let all = self.bytes;
        // Moves of whole registers may be split into dwords.
        let splits = self.kind != AccessKind::Atomic && all > 4 && !is_to_lds(self.inst);
        let mut whole = [None; 64];
        let mut parts = vec![[None; 64]; if splits { all.div_ceil(4) as usize } else { 1 }];
        for lane in Bits(self.exec) {
            let (index, within) = place(lane);
            let complete = view.address(index, within, all.into());
            if complete.is_some() && !(splits && view.is_swizzled()) {
                whole[lane] = complete;
                continue;
            }
            if is_typed && complete.is_some() {
                for (at, _, address) in typed::places(&view, index, within, all as usize) {
                    parts[at / 4][lane] = Some(address);
                }
            } else if !is_typed && splits {
                for (i, part) in parts.iter_mut().enumerate() {
                    part[lane] = view.address(index, within + 4 * i as u64, 4);
                }
            }
        }
        self.push_some(&whole);
        for (i, part) in parts.iter().enumerate() {
            let before = self.found.len();
            self.bytes = if splits { (all - 4 * i as u32).min(4) } else { all };
            self.push_some(part);
            if let Some(access) = self.found[before..].last_mut().filter(|_| !is_typed) {
                access.loaded = access.loaded.map(|first| first + i as u16);
                access.stored = access.stored.map(|first| first + i as u16);
            }
        }
        self.bytes = all;
        if is_typed {
            self.found.iter_mut().for_each(|access| access.moved = Moved::Converted);
        }
    }

    /// The lanes that have an address.
    fn push_some(&mut self, addresses: &[Option<u64>; 64]) {
        let lanes = addresses.iter().enumerate().filter(|(_, address)| address.is_some());
        let mask = lanes.fold(0, |mask, (lane, _)| mask | 1 << lane);
        self.push(Space::Global, mask, |lane| addresses[lane].unwrap_or(0));
    }
}

/// Whether there is a rule for an instruction. All executed instructions have one.
pub fn is_known(inst: &Inst) -> bool {
    match inst.op.footprint() {
        Footprint::None => true,
        // Compute queues have no global data share.
        footprint => footprint != Footprint::Unknown && !inst.mem.gds,
    }
}
