//! MUBUF instructions: memory through a buffer descriptor.

use super::lanes::{Bits, EXTRA_SHIFT, Registers, offset, register, scalar32};
use super::moves::Move;
use super::spaces::{fail, linear, scratch};
use crate::exec::{Code, Flow, Src, Wave};
use crate::machine::{AccessKind, FaultKind};

/// In [`Code::imm`] from `EXTRA_SHIFT` on: the address has an offset register.
pub(super) const OFFEN: i64 = 1 << EXTRA_SHIFT;
/// The address has an index register.
pub(super) const IDXEN: i64 = 2 << EXTRA_SHIFT;
/// gfx10 and later: the descriptor says how bounds are checked.
pub(super) const OOB_SELECT: i64 = 4 << EXTRA_SHIFT;
/// gfx11 and later: swizzling has two bits.
pub(super) const WIDE_SWIZZLE: i64 = 8 << EXTRA_SHIFT;

/// The parts of a descriptor that matter here.
struct Descriptor {
    base: u64,
    stride: u32,
    swizzled: bool,
    records: u32,
    add_lane: bool,
    index_stride: usize,
    oob_select: u32,
}

impl Descriptor {
    #[inline(always)]
    fn new(wave: &Wave, slot: u8, flags: i64) -> Descriptor {
        let word = |i: usize| wave.sgpr[usize::from(slot) + i];
        let swizzle_bits = if flags & WIDE_SWIZZLE != 0 { word(1) >> 30 } else { word(1) >> 31 };
        Descriptor {
            base: u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32,
            stride: word(1) >> 16 & 0x3fff,
            swizzled: swizzle_bits != 0,
            records: word(2),
            add_lane: word(3) >> 23 & 1 != 0,
            index_stride: 8 << (word(3) >> 21 & 3),
            oob_select: word(3) >> 28 & 3,
        }
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
    let flags = code.imm;
    let descriptor = Descriptor::new(wave, slot, flags);
    let scalar_offset = scalar32(wave, code.src[3]);
    // SAFETY: operands were lowered for this wave's file.
    let (index, row) = unsafe {
        match code.src[0] {
            Src::Vector(first) => match (flags & IDXEN != 0, flags & OFFEN != 0) {
                (true, true) => (register::<L>(wave, first), register::<L>(wave, first + L as u32)),
                (true, false) => (register::<L>(wave, first), [0; L]),
                (false, true) => ([0; L], register::<L>(wave, first)),
                (false, false) => ([0; L], [0; L]),
            },
            _ => ([0; L], [0; L]),
        }
    };
    let registers = Registers::of::<L>(code);
    if descriptor.swizzled {
        // The one swizzled buffer that compilers use is scratch memory: dword by dword, lane after lane.
        let start =
            descriptor.base.wrapping_add(u64::from(scalar_offset)).wrapping_sub(wave.access.scratch as u64);
        let rows = 4 * L as u64;
        let is_scratch = descriptor.add_lane
            && descriptor.stride == 0
            && descriptor.index_stride == L
            && flags & IDXEN == 0
            && start.is_multiple_of(rows)
            && start / L as u64 <= u64::from(wave.access.scratch_size);
        if is_scratch {
            // SAFETY: as above.
            return unsafe {
                scratch::<M, L>(wave, registers, &row, offset(code) + (start / L as u64) as i64, mask)
            };
        }
        let what = "a swizzled buffer that is not the wave's scratch memory".to_owned();
        return fail(wave, Box::new(FaultKind::Unsupported { what }.into()));
    }
    // SAFETY: as above.
    unsafe { plain::<M, L>(wave, registers, &descriptor, flags, (&index, &row), scalar_offset, mask) }
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the parts of one address")]
unsafe fn plain<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    descriptor: &Descriptor,
    flags: i64,
    (index, row): (&[u32; L], &[u32; L]),
    scalar_offset: u32,
    mask: u64,
) -> Flow {
    let immediate = flags as i32 as u32;
    let bytes = M::BYTES as u64;
    let (records, stride) = (u64::from(descriptor.records), u64::from(descriptor.stride));
    let structured = flags & IDXEN != 0 || descriptor.add_lane;
    let mut offsets = [0u64; L];
    let (mut inside, mut partly) = (0u64, 0u64);
    let mut fits = true;
    for lane in 0..L {
        let index = u64::from(index[lane]) + if descriptor.add_lane { lane as u64 } else { 0 };
        let within = u64::from(row[lane]) + u64::from(immediate);
        offsets[lane] = index.wrapping_mul(stride).wrapping_add(within);
        fits &= offsets[lane] <= u64::from(u32::MAX);
        let (good, part) = if flags & OOB_SELECT != 0 {
            let good = match descriptor.oob_select {
                0 => index < records && (stride == 0 || within + bytes <= stride),
                1 => index < records,
                2 => records != 0,
                _ => offsets[lane].saturating_add(bytes) <= records,
            };
            (good, false)
        } else if structured && stride != 0 {
            (index < records, false)
        } else {
            // Each dword is checked by itself.
            let limit = records.saturating_sub(u64::from(scalar_offset));
            (within + bytes <= limit, within < limit)
        };
        inside |= u64::from(good) << lane;
        partly |= u64::from(!good && part) << lane;
    }
    inside &= mask;
    partly &= mask;
    let base = descriptor.base.wrapping_add(u64::from(scalar_offset));
    for lane in Bits(mask & !inside) {
        // SAFETY: `outside` touches only what it checks.
        let flow = unsafe {
            outside::<M, L>(
                wave,
                registers,
                base,
                descriptor,
                offsets[lane],
                scalar_offset,
                lane,
                partly >> lane & 1 != 0,
            )
        };
        if flow != Flow::Next {
            return flow;
        }
    }
    if inside == 0 {
        return Flow::Next;
    }
    let (base, narrow) = if fits {
        (base, offsets.map(|offset| offset as u32))
    } else {
        // Structures beyond 4 GiB: count from the lowest.
        let lowest = Bits(inside).map(|lane| offsets[lane]).min().unwrap_or(0);
        (
            base.wrapping_add(lowest),
            offsets.map(|offset| u32::try_from(offset.wrapping_sub(lowest)).unwrap_or(u32::MAX)),
        )
    };
    // SAFETY: operands were lowered for this wave's file.
    unsafe { linear::<M, L>(wave, registers, base, &narrow, inside) }
}

/// A lane whose access is out of the buffer's bounds, all of it or some of its dwords: those read zero and are not written.
#[cold]
#[inline(never)]
#[allow(clippy::too_many_arguments, reason = "the parts of one address")]
unsafe fn outside<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    base: u64,
    descriptor: &Descriptor,
    start: u64,
    scalar_offset: u32,
    lane: usize,
    partly: bool,
) -> Flow {
    let mut local = [0u32; 4];
    let limit = u64::from(descriptor.records).saturating_sub(u64::from(scalar_offset));
    let good =
        if partly && M::DWORDS != 0 { ((limit - start) / 4).min(M::DWORDS as u64) as usize } else { 0 };
    let address = base.wrapping_add(start);
    let bytes = 4 * good as u64;
    if good != 0 && !wave.access.permits(M::ACCESS, address, bytes) {
        let fault = wave.access.refused(M::ACCESS, address, bytes, Some(lane));
        return fail(wave, fault);
    }
    // SAFETY: `local` holds every lane's data; the `good` dwords at `address` lie in a live allocation.
    unsafe {
        if M::ACCESS == AccessKind::Read {
            std::ptr::copy_nonoverlapping(address as *const u8, local.as_mut_ptr().cast(), bytes as usize);
        }
        M::one::<L>(wave, registers, local.as_mut_ptr().cast(), lane, false);
        if M::ACCESS == AccessKind::Write {
            std::ptr::copy_nonoverlapping(local.as_ptr().cast(), address as *mut u8, bytes as usize);
        }
    }
    Flow::Next
}
