//! MUBUF instructions: memory accessed through a buffer descriptor. MTBUF uses the same addresses, bounds and
//! swizzling.

use gpu_report::{AccessKind, Space};
use vgpu_isa::{Generation, scalar};

use super::address::shifted;
use super::lanes::{Bits, EXTRA_SHIFT, Registers, row, scalar32};
use super::moves::Move;
use super::single;
use super::spaces::{fail, linear, scratch};
use crate::{Code, Flow, Src, Wave};

/// In [`Code::imm`] from `EXTRA_SHIFT` on: the address has an offset register.
pub(super) const OFFEN: i64 = 1 << EXTRA_SHIFT;
/// The address has an index register.
pub(super) const IDXEN: i64 = 2 << EXTRA_SHIFT;
/// gfx10 and later: the descriptor selects how bounds are checked.
pub(super) const OOB_SELECT: i64 = 4 << EXTRA_SHIFT;
/// gfx9: if lane numbers are added to the index, the stride has additional bits in place of the format, which
/// the instruction does not need.
pub(super) const LONG_STRIDE: i64 = 1024 << EXTRA_SHIFT;
/// gfx12: the stride has a scale.
pub(super) const SCALED_STRIDE: i64 = 2048 << EXTRA_SHIFT;

/// The relevant parts of a descriptor, and the other values that an instruction's lanes share.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// The descriptor's base and the scalar offset, which is never swizzled.
    pub(super) base: u64,
    stride: u64,
    /// Bytes of an element of a swizzled buffer; 0 if it is linear.
    element: u64,
    index_stride: u64,
    records: u64,
    add_lane: bool,
    oob_select: u32,
    scalar_offset: u32,
    flags: i64,
    /// The last word of the descriptor, with formats and channel selections.
    pub(super) format_word: u32,
}

impl View {
    #[inline(always)]
    pub(super) fn new(wave: &Wave, code: &Code, slot: u8) -> View {
        View::through(wave, slot, scalar32(wave, code.src[3]), code.generation, code.imm)
    }

    /// Reads the descriptor in a slot; `flags` are those in [`Code::imm`].
    #[inline(always)]
    fn through(wave: &Wave, slot: u8, scalar_offset: u32, generation: Generation, flags: i64) -> View {
        // NULL is a descriptor of zeros.
        let word = |i: usize| if slot == scalar::NULL { 0 } else { wave.sgpr[usize::from(slot) + i] };
        let (idxen, add_lane) = (flags & IDXEN != 0, word(3) >> 23 & 1 != 0);
        let (cdna, gfx10) = (generation.is_cdna(), generation == Generation::Gfx10);
        // Swizzling requires an index, except on gfx10. An index register replaces the lane's number, except
        // on gfx10 and in swizzled buffers of gfx9.
        let element = match word(1) >> 30 {
            bits if cdna && add_lane || gfx10 => u64::from(bits >> 1) * 4,
            size @ 1.. if !cdna && (idxen || add_lane) => 2 << size,
            _ => 0,
        };
        let add_lane = add_lane && (gfx10 || !idxen || cdna && element != 0);
        let scale = if flags & SCALED_STRIDE != 0 { [1, 4, 8, 32][(word(3) >> 18 & 3) as usize] } else { 1 };
        let high = if flags & LONG_STRIDE != 0 && add_lane { word(3) >> 15 & 15 } else { 0 };
        let base = u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32;
        View {
            base: base.wrapping_add(u64::from(scalar_offset)),
            stride: u64::from(word(1) >> 16 & 0x3fff | high << 14) * scale,
            element,
            index_stride: 8 << (word(3) >> 21 & 3),
            records: u64::from(word(2)),
            add_lane,
            oob_select: word(3) >> 28 & 3,
            scalar_offset,
            flags,
            format_word: word(3),
        }
    }

    /// The index of a lane.
    #[inline(always)]
    pub(super) fn index(&self, register: u32, lane: usize) -> u64 {
        u64::from(register) + if self.add_lane { lane as u64 } else { 0 }
    }

    /// The offset within an element: the 32-bit sum of the lane's and the instruction's offset.
    #[inline(always)]
    pub(super) fn within(&self, row: u32, immediate: u32) -> u64 {
        u64::from(row.wrapping_add(immediate))
    }

    /// The position, relative to the base, of the byte `within` bytes after the start of an element.
    #[inline(always)]
    pub(super) fn place(&self, index: u64, within: u64) -> u64 {
        if self.element == 0 {
            return self.linear(index, within);
        }
        let (row, column) = (index / self.index_stride, index % self.index_stride);
        let (element, byte) = (within / self.element, within % self.element);
        (row.wrapping_mul(self.stride).wrapping_add(element.wrapping_mul(self.element)))
            .wrapping_mul(self.index_stride)
            .wrapping_add(column * self.element)
            .wrapping_add(byte)
    }

    /// [`View::place`] in a buffer that is not swizzled.
    #[inline(always)]
    fn linear(&self, index: u64, within: u64) -> u64 {
        index.wrapping_mul(self.stride).wrapping_add(within)
    }

    /// The address of `bytes` bytes, `within` bytes after the start of an element; none if they are out of
    /// bounds.
    #[inline(always)]
    pub(super) fn address(&self, index: u64, within: u64, bytes: u64) -> Option<u64> {
        self.inside(index, within, bytes).then(|| self.base.wrapping_add(self.place(index, within)))
    }

    /// Whether `bytes` bytes, `within` bytes after the start of an element, are in bounds. Dwords of wide
    /// accesses are checked separately.
    #[inline(always)]
    pub(super) fn inside(&self, index: u64, within: u64, bytes: u64) -> bool {
        // If bounds count bytes, the index does not contribute, but the scalar offset does.
        let in_bytes = || within + bytes + u64::from(self.scalar_offset) <= self.records;
        if self.flags & OOB_SELECT == 0 {
            return match self.flags & IDXEN != 0 {
                true if self.stride != 0 => index < self.records,
                false if self.add_lane => true,
                _ => in_bytes(),
            };
        }
        let in_element = || index < self.records && within + bytes <= self.stride;
        match self.oob_select {
            0 => in_element(),
            1 => index < self.records,
            2 => self.records != 0,
            _ if self.element != 0 && self.stride != 0 => in_element(),
            _ => in_bytes(),
        }
    }

    /// Whether elements are interleaved.
    #[inline(always)]
    pub(super) fn is_swizzled(&self) -> bool {
        self.element != 0
    }

    /// The start of a swizzled buffer in the wave's scratch memory, in bytes per lane, if the buffer is that
    /// memory: dword by dword, lane after lane.
    #[inline(always)]
    pub(super) fn scratch_start(&self, wave: &Wave) -> Option<u32> {
        let lanes = u64::from(wave.lanes);
        let start = self.base.wrapping_sub(wave.access.scratch as u64);
        let is_scratch = self.add_lane
            && self.element == 4
            && self.stride == 0
            && self.index_stride == lanes
            && self.flags & IDXEN == 0
            && start.is_multiple_of(4 * lanes)
            && start / lanes <= u64::from(wave.access.scratch_size);
        is_scratch.then_some((start / lanes) as u32)
    }
}

/// The index and offset registers of all lanes; zeros if there are none.
///
/// # Safety
/// Operands must have been lowered for this wave's file.
#[inline(always)]
pub(super) unsafe fn address_registers<const L: usize>(wave: &Wave, code: &Code) -> ([u32; L], [u32; L]) {
    let [index, offset] = address_operands(code, L);
    // SAFETY: the caller's promise.
    unsafe { (row::<L>(wave, index), row::<L>(wave, offset)) }
}

/// The registers with the lanes' indices and offsets, if there are any.
#[inline(always)]
pub(super) fn address_operands(code: &Code, lanes: usize) -> [Option<u32>; 2] {
    let Src::Vector(first) = code.src[0] else { return [None; 2] };
    match (code.imm & IDXEN != 0, code.imm & OFFEN != 0) {
        (true, true) => [Some(first), Some(first + lanes as u32)],
        (true, false) => [Some(first), None],
        (false, true) => [None, Some(first)],
        (false, false) => [None, None],
    }
}

/// Loads, stores and read-modify-writes without format conversion.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn access<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    let Src::Scalar(slot) = code.src[2] else { return Flow::Next };
    if mask == 0 {
        return Flow::Next;
    }
    let view = View::new(wave, code, slot);
    // SAFETY: operands were lowered for this wave's file.
    let (index, row) = unsafe { address_registers::<L>(wave, code) };
    let registers = Registers::of::<L>(code);
    if view.is_swizzled() {
        // SAFETY: as above.
        return unsafe { swizzled::<M, L>(wave, registers, &view, &index, &row, mask) };
    }
    // SAFETY: as above.
    unsafe { plain::<M, L>(wave, registers, &view, &index, &row, mask) }
}

#[inline(never)]
unsafe fn swizzled<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    view: &View,
    index: &[u32; L],
    row: &[u32; L],
    mask: u64,
) -> Flow {
    let immediate = view.flags as u32;
    if let Some(start) = view.scratch_start(wave) {
        // SAFETY: the caller's promise.
        return unsafe { scratch::<M, L>(wave, registers, row, shifted(immediate, start), mask) };
    }
    for lane in Bits(mask) {
        let (index, within) = (view.index(index[lane], lane), view.within(row[lane], immediate));
        // SAFETY: the caller's promise.
        let flow = unsafe { by_parts::<M, L>(wave, registers, view, index, within, lane) };
        if flow != Flow::Next {
            return flow;
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn plain<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    view: &View,
    index: &[u32; L],
    row: &[u32; L],
    mask: u64,
) -> Flow {
    let immediate = view.flags as u32;
    let bytes = M::BYTES as u64;
    let mut offsets = [0u64; L];
    let mut inside = 0u64;
    let mut fits = true;
    for lane in 0..L {
        let index = view.index(index[lane], lane);
        let within = view.within(row[lane], immediate);
        offsets[lane] = view.linear(index, within);
        fits &= offsets[lane] <= u64::from(u32::MAX);
        inside |= u64::from(view.inside(index, within, bytes)) << lane;
    }
    inside &= mask;
    // Stores that are partly in bounds must keep the order of lanes.
    let in_order = M::ACCESS == AccessKind::Write && M::DWORDS > 1;
    if in_order && inside != mask {
        inside = 0;
    }
    for lane in Bits(mask & !inside) {
        let (index, within) = (view.index(index[lane], lane), view.within(row[lane], immediate));
        // SAFETY: the caller's promise.
        let flow = unsafe { by_parts::<M, L>(wave, registers, view, index, within, lane) };
        if flow != Flow::Next {
            return flow;
        }
    }
    if inside == 0 {
        return Flow::Next;
    }
    let (base, narrow) = if fits {
        (view.base, crate::rows::map(offsets, |offset| offset as u32))
    } else {
        // Structures beyond 4 GiB: offsets are counted from the lowest.
        let lowest = Bits(inside).map(|lane| offsets[lane]).min().unwrap_or(0);
        (
            view.base.wrapping_add(lowest),
            crate::rows::map(offsets, |offset| {
                u32::try_from(offset.wrapping_sub(lowest)).unwrap_or(u32::MAX)
            }),
        )
    };
    // SAFETY: operands were lowered for this wave's file.
    unsafe { linear::<M, L>(wave, registers, base, &narrow, inside) }
}

/// One lane, whose access may be split over several places, all or some of which may be out of bounds: these
/// read zero and are not written.
///
/// # Safety
/// `registers` must be in the wave's file.
#[cold]
#[inline(never)]
unsafe fn by_parts<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    view: &View,
    index: u64,
    within: u64,
    lane: usize,
) -> Flow {
    let parts = M::DWORDS.max(1);
    let size = M::BYTES / parts;
    let mut local = [0u32; 4];
    let mut places = [None; 4];
    for (part, place) in places.iter_mut().enumerate().take(parts) {
        let within = within + (part * size) as u64;
        let Some(address) = view.address(index, within, size as u64) else { continue };
        if !address.is_multiple_of(M::ALIGN) {
            let fault = wave.access.misaligned(Space::Global, M::ACCESS, address, M::ALIGN, lane);
            return fail(wave, fault);
        }
        if !wave.access.permits(M::ACCESS, address, size as u64) {
            let fault = wave.access.refused(M::ACCESS, address, size as u64, Some(lane));
            return fail(wave, fault);
        }
        *place = Some(address);
    }
    let together = |first: u64| (0..parts).all(|part| places[part] == Some(first + (part * size) as u64));
    if let Some(first) = places[0]
        && together(first)
    {
        wave.stored |= M::ACCESS == AccessKind::Write;
        // SAFETY: every part lies in a live allocation, and allocations are not adjacent.
        unsafe { M::one::<L>(wave, registers, first as *mut u8, lane, true) };
        return Flow::Next;
    }
    let parts = || (0..parts).filter_map(|part| places[part].map(|address| (part * size, address)));
    // SAFETY: `local` holds every lane's data, and every place lies in a live allocation.
    unsafe {
        let bytes = local.as_mut_ptr().cast::<u8>();
        if M::ACCESS == AccessKind::Read {
            for (at, address) in parts() {
                single::copy_in::<false>(address as *const u8, bytes.add(at), size);
            }
        }
        M::one::<L>(wave, registers, bytes, lane, false);
        if M::ACCESS == AccessKind::Write {
            wave.stored = true;
            for (at, address) in parts() {
                single::copy_out::<false>(bytes.add(at), address as *mut u8, size);
            }
        }
    }
    Flow::Next
}
