//! The memory that an instruction accesses, from its operands and the registers before it.
//!
//! This follows the rules of addresses by itself, and asks no handler: so observers cost nothing where there are none, and a
//! test holds the two against each other.

use std::sync::LazyLock;

use crate::exec::{View, Wave, buffer_flags};
use crate::isa::{Format, Inst, Op, Operand, scalar};
use crate::machine::fault::{AccessKind, FaultKind, Space, WaveFault};
use crate::machine::{Generation, PRIVATE_APERTURE, SHARED_APERTURE};

/// The same kind of access by some lanes of a wave.
#[derive(Clone, Debug)]
pub(crate) struct LaneAccess {
    pub space: Space,
    pub kind: AccessKind,
    /// One access by the wave, through the scalar cache, as if by lane 0.
    pub scalar: bool,
    /// Bytes, per lane.
    pub bytes: u32,
    /// The lanes; not zero.
    pub mask: u64,
    /// First byte, of the lanes in the mask: an address of global memory, or an offset into the workgroup's LDS or the lane's
    /// scratch memory. What is out of bounds is here too; the instruction will fault.
    pub address: [u64; 64],
    /// The first register that is loaded into, or that the old value is returned to: a vector register, 256 and on for ACC, or a
    /// scalar slot where `scalar` is set.
    pub loaded: Option<u16>,
    /// The first register that is stored from, numbered alike.
    pub stored: Option<u16>,
}

impl LaneAccess {
    /// The lanes and where they access.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        lanes(self.mask).map(|lane| (lane, self.address[lane]))
    }
}

/// The lanes of a mask in rising order.
fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| mask >> lane & 1 != 0)
}

/// What one instruction accesses.
#[derive(Default, Debug)]
pub(crate) struct Accesses(Vec<LaneAccess>);

impl std::ops::Deref for Accesses {
    type Target = [LaneAccess];

    fn deref(&self) -> &[LaneAccess] {
        &self.0
    }
}

/// What an operation does with memory, apart from where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// Nothing: cache control, exchange between lanes.
    None,
    /// One access of that many bytes per lane, or per wave.
    One(AccessKind, u32),
    /// Two, at two offsets that count so many bytes.
    Two(AccessKind, u32, u32),
    /// LDS at M0 plus four bytes per lane.
    ByLane(AccessKind),
    /// The counter in LDS at M0.
    Counter,
    /// No rule is known.
    Unknown,
}

/// The shape of an operation, from its name: what it does and the type of its elements.
fn shape(op: Op) -> Shape {
    let name = op.name();
    let parts: Vec<&str> = name.split('_').collect();
    let has = |part: &str| parts.contains(&part);
    let nothing =
        ["inv", "wb", "wbinv", "nop", "gws", "permute", "bpermute", "swizzle", "probe", "prefetch", "dcache"];
    if nothing.iter().any(|part| has(part))
        || ["buffer_gl", "buffer_inv", "buffer_wb", "s_gl1", "s_memtime", "s_memrealtime"]
            .iter()
            .any(|start| name.starts_with(start))
    {
        return Shape::None;
    }
    let unknown =
        ["format", "lds", "tr", "block", "scratch", "bvh", "gs", "ordered", "discard", "condxchg32"];
    if unknown.iter().any(|part| parts[1..].contains(part)) {
        return Shape::Unknown;
    }
    if matches!(op, Op::DsAppend | Op::DsConsume) {
        return Shape::Counter;
    }
    let kind = if has("load") {
        AccessKind::Read
    } else if has("store") {
        AccessKind::Write
    } else if has("atomic") || parts[0] == "ds" {
        AccessKind::Atomic
    } else {
        return Shape::Unknown;
    };
    if has("addtid") {
        return Shape::ByLane(kind);
    }
    let element = parts[1..].iter().find_map(|part| {
        let digits = part.trim_start_matches(['b', 'u', 'i', 'f']);
        (digits.len() != part.len()).then_some(digits)?.parse::<u32>().ok()
    });
    let Some(bits) = element else { return Shape::Unknown };
    let bytes = bits / 8 * if has("pk") { 2 } else { 1 };
    match (has("2addr"), has("stride64")) {
        (true, far) => Shape::Two(kind, bytes, bytes * if far { 64 } else { 1 }),
        (false, _) => Shape::One(kind, bytes),
    }
}

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| Op::ALL.iter().map(|&op| shape(op)).collect());

/// The shape of an instruction.
fn shape_of(inst: &Inst) -> Shape {
    match SHAPES[inst.op as usize] {
        Shape::None => Shape::None,
        _ if inst.mem.lds || inst.mem.tfe || inst.mem.gds => Shape::Unknown,
        shape => shape,
    }
}

/// Whether there is a rule for an instruction. The others are not executed while observers watch.
#[cfg(test)]
pub(super) fn is_known(inst: &Inst) -> bool {
    shape_of(inst) != Shape::Unknown
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
    /// What `inst` accesses; nothing if it is no memory instruction.
    ///
    /// # Safety
    /// The wave must be set up for the program that `inst` comes from.
    pub(super) unsafe fn find(
        &mut self,
        inst: &Inst,
        wave: &Wave,
        generation: Generation,
    ) -> Result<(), Box<WaveFault>> {
        self.0.clear();
        if !super::is_memory(inst.format) {
            return Ok(());
        }
        let shape = shape_of(inst);
        let (kind, bytes) = match shape {
            Shape::None => return Ok(()),
            Shape::One(kind, bytes) | Shape::Two(kind, bytes, _) => (kind, bytes),
            Shape::ByLane(kind) => (kind, 4),
            Shape::Counter => (AccessKind::Atomic, 4),
            Shape::Unknown => {
                let what = format!("{} while observers watch", inst.op.name());
                return Err(Box::new(FaultKind::Unsupported { what }.into()));
            }
        };
        let exec = wave.active();
        let mut finder = Finder { inst, wave, generation, kind, bytes, exec, found: &mut self.0 };
        // SAFETY: the caller's promise.
        unsafe {
            match inst.format {
                Format::Smem => finder.scalar(),
                _ if exec == 0 => {}
                Format::Ds => finder.lds(shape),
                Format::Flat => finder.flat(),
                Format::Global if matches!(shape, Shape::ByLane(_)) => finder.global_by_lane(),
                Format::Global => finder.global(),
                Format::Scratch => finder.scratch(),
                _ => finder.buffer(),
            }
        }
        Ok(())
    }
}

/// The number of a vector register as [`LaneAccess`] counts them.
fn vector(operand: Operand) -> Option<u16> {
    match operand {
        Operand::Vgpr(register) => Some(u16::from(register)),
        Operand::Agpr(register) => Some(256 + u16::from(register)),
        _ => None,
    }
}

impl Finder<'_> {
    /// A vector operand's lanes, `after` registers on; zeros where there is no register.
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
        });
    }

    fn scalar(&mut self) {
        let Operand::Sgpr(base) = self.inst.src[2] else { return };
        let granule = u64::from(self.bytes.min(4));
        // Each part of an address is a multiple of it.
        let whole = |part: i64| part & !(granule as i64 - 1);
        let offset =
            whole(i64::from(self.inst.mem.offset)) + whole(i64::from(self.scalar32(self.inst.src[3])));
        let mut bytes = u64::from(self.bytes);
        let address = if self.inst.op.name().starts_with("s_buffer") {
            let word = |i: u8| self.wave.sgpr[usize::from(base + i) & 127];
            let stride = u64::from(word(1) >> 16 & 0x3fff).max(1);
            let first = offset as u64 & !(granule - 1);
            // What lies beyond the end is not accessed.
            let rest = (u64::from(word(2)) * stride).saturating_sub(first);
            bytes = bytes.min(rest & !(granule - 1));
            let start = u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32;
            (start & !(granule - 1)).wrapping_add(first)
        } else {
            (self.wave.scalar64(base) & !(granule - 1)).wrapping_add_signed(offset)
        };
        if bytes == 0 {
            return;
        }
        let slot = |operand| match operand {
            Operand::Sgpr(slot) => Some(u16::from(slot)),
            _ => None,
        };
        let mut lane = [0; 64];
        lane[0] = address;
        self.found.push(LaneAccess {
            space: Space::Global,
            kind: self.kind,
            scalar: true,
            bytes: bytes as u32,
            mask: 1,
            address: lane,
            loaded: slot(self.inst.dst),
            stored: slot(self.inst.src[1]),
        });
    }

    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn lds(&mut self, shape: Shape) {
        // SAFETY: the caller's promise.
        let row = unsafe { self.row(self.inst.src[0], 0) };
        let offset = self.inst.mem.offset as u32;
        let m0 = self.wave.sgpr[usize::from(scalar::M0)];
        let at = |offset: u32| row.map(|address| u64::from(address.wrapping_add(offset)));
        match shape {
            Shape::Two(_, bytes, unit) => {
                self.push(Space::Lds, self.exec, at((offset & 0xff) * unit));
                self.push(Space::Lds, self.exec, at((offset >> 8 & 0xff) * unit));
                if let Some(second) = self.found.last_mut() {
                    second.loaded = second.loaded.map(|first| first + (bytes / 4) as u16);
                    second.stored = second.stored.and(vector(self.inst.src[3]));
                }
            }
            Shape::ByLane(_) => {
                let base = u64::from(offset) + u64::from(m0 & 0xffff);
                self.push(Space::Lds, self.exec, std::array::from_fn(|lane| base + 4 * lane as u64));
                // The data is where other instructions have the address.
                if let Some(access) = self.found.last_mut()
                    && self.kind == AccessKind::Write
                {
                    access.stored = vector(self.inst.src[1]);
                }
            }
            Shape::Counter => {
                let first = self.exec & self.exec.wrapping_neg();
                self.push(Space::Lds, first, [u64::from(m0) + u64::from(offset & 0xffff); 64]);
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
            Operand::Sgpr(base) => self.wave.scalar64(base),
            _ => 0,
        };
        let start = base.wrapping_add_signed(i64::from(self.inst.mem.offset));
        self.push(Space::Global, self.exec, std::array::from_fn(|lane| start.wrapping_add(4 * lane as u64)));
    }

    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn global(&mut self) {
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
        self.push(Space::Global, self.exec, address);
    }

    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn scratch(&mut self) {
        let offset = (self.inst.mem.offset as u32).wrapping_add(self.scalar32(self.inst.src[2]));
        // SAFETY: the caller's promise.
        let row = unsafe { self.row(self.inst.src[0], 0) };
        self.push(Space::Scratch, self.exec, row.map(|start| u64::from(start.wrapping_add(offset))));
    }

    /// Through a buffer descriptor: lanes out of its bounds access nothing, or less.
    ///
    /// # Safety
    /// See [`Accesses::find`].
    unsafe fn buffer(&mut self) {
        let Operand::Sgpr(slot) = self.inst.src[2] else { return };
        let scalar_offset = self.scalar32(self.inst.src[3]);
        let view = View::through(self.wave, slot, scalar_offset, buffer_flags(self.inst, self.generation));
        let immediate = u64::from(self.inst.mem.offset as u32);
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
            && let Some(start) = view.scratch_start(self.wave)
        {
            let start = (immediate as u32).wrapping_add(start as u32);
            return self.push(Space::Scratch, self.exec, row.map(|row| u64::from(row.wrapping_add(start))));
        }
        // Wide accesses may be in bounds by dwords, and be spread by dwords.
        let all = u64::from(self.bytes);
        let dwords = self.kind != AccessKind::Atomic && self.bytes > 4;
        let mut whole = 0u64;
        let mut address = [0; 64];
        let mut parts = vec![(0u64, [0; 64]); if dwords { self.bytes as usize / 4 } else { 1 }];
        for lane in lanes(self.exec) {
            let (index, within) = (view.index(index[lane], lane), u64::from(row[lane]) + immediate);
            let at = |within| view.base.wrapping_add(view.place(index, within));
            let inside = view.inside(index, within, all);
            if inside && !(dwords && view.is_swizzled()) {
                whole |= 1 << lane;
                address[lane] = at(within);
                continue;
            }
            if !(inside || dwords && view.by_dword()) {
                continue;
            }
            for (i, (mask, address)) in parts.iter_mut().enumerate() {
                let within = within + 4 * i as u64;
                if inside && !view.by_dword() || view.inside(index, within, 4) {
                    *mask |= 1 << lane;
                    address[lane] = at(within);
                }
            }
        }
        self.push(Space::Global, whole, address);
        for (i, (mask, address)) in parts.into_iter().enumerate().filter(|(_, (mask, _))| *mask != 0) {
            self.bytes = 4;
            self.push(Space::Global, mask, address);
            if let Some(access) = self.found.last_mut() {
                access.loaded = access.loaded.map(|first| first + i as u16);
                access.stored = access.stored.map(|first| first + i as u16);
            }
        }
        self.bytes = all as u32;
    }
}
