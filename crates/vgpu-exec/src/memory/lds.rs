//! DS instructions: LDS accesses, and data exchanged between lanes.

use gpu_report::{AccessKind, FaultKind, Space};
use vgpu_isa::scalar;

use super::address;
use super::atomic::Word;
use super::lanes::{Bits, EXTRA_SHIFT, Registers, offset, register};
use super::moves::{Move, splat};
use super::spaces::{fail, lds};
use crate::WaveFault;
use crate::{Code, Flow, Src, Wave};

/// One access per lane.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn single<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    let Src::Vector(first) = code.src[0] else { return Flow::Next };
    if mask == 0 {
        return Flow::Next;
    }
    // SAFETY: operands were lowered for this wave's file.
    unsafe {
        let row = register::<L>(wave, first);
        lds::<M, L>(wave, Registers::of::<L>(code), &row, address::shift(code), mask)
    }
}

/// Two accesses per lane; the offsets count elements, or 64 elements.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn double<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    let Src::Vector(first) = code.src[0] else { return Flow::Next };
    if mask == 0 {
        return Flow::Next;
    }
    let shifts = address::shifts(code, M::BYTES);
    let registers = Registers::of::<L>(code);
    let second =
        Registers { dst: registers.dst + (M::BYTES / 4 * L) as u32, data: registers.data2, ..registers };
    // SAFETY: operands were lowered for this wave's file. The address was copied before the first half is
    // written.
    unsafe {
        let row = register::<L>(wave, first);
        let flow = lds::<M, L>(wave, registers, &row, shifts[0], mask);
        if flow != Flow::Next {
            return flow;
        }
        lds::<M, L>(wave, second, &row, shifts[1], mask)
    }
}

/// `ds_load_addtid_b32`, `ds_store_addtid_b32`: consecutive lanes access consecutive dwords, starting at M0.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn by_lane<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    if mask == 0 {
        return Flow::Next;
    }
    let row = crate::rows::from_fn(address::by_lane);
    let shift = address::shift_by_lane(wave, code);
    // SAFETY: operands were lowered for this wave's file.
    unsafe { lds::<M, L>(wave, Registers::of::<L>(code), &row, shift, mask) }
}

/// Reads from other lanes into `dst`: lane `l` takes the value of `data` in lane `from(l)`, or zero if that
/// lane is not `readable`.
///
/// # Safety
/// As for handlers.
#[inline(always)]
unsafe fn pull<const L: usize>(
    wave: &mut Wave,
    dst: u32,
    data: [u32; L],
    readable: u64,
    from: impl Fn(usize) -> usize,
) {
    let mask = wave.exec::<L>();
    let mut masked = data;
    for (lane, value) in masked.iter_mut().enumerate() {
        *value &= ((readable >> lane) as u32 & 1).wrapping_neg();
    }
    let mut result = [0u32; L];
    for (lane, value) in result.iter_mut().enumerate() {
        *value = masked[from(lane) % L];
    }
    // SAFETY: `dst` is a register of the wave's file.
    unsafe { put(wave, dst, result, mask) };
}

/// Writes the enabled lanes of a register.
///
/// # Safety
/// `dst` must be a register of the wave's file.
#[inline(always)]
unsafe fn put<const L: usize>(wave: &mut Wave, dst: u32, value: [u32; L], mask: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let at = wave.vgpr.add(dst as usize).cast::<[u32; L]>();
        let mut result = at.read();
        for lane in 0..L {
            let on = ((mask >> lane) as u32 & 1).wrapping_neg();
            result[lane] = value[lane] & on | result[lane] & !on;
        }
        at.write(result);
    }
}

/// The number of lanes that exchange data: gfx10 and gfx11 treat the halves of a wave of 64 separately.
#[inline(always)]
fn span<const L: usize>(code: &Code) -> usize {
    if code.imm >> EXTRA_SHIFT & 1 != 0 { 32 } else { L }
}

/// `ds_bpermute_b32`: every lane reads from the lane that it selects. `ds_bpermute_fi_b32`: from `ALL` lanes,
/// including disabled ones.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn backward_permute<const ALL: bool, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let (Src::Vector(address), Src::Vector(data)) = (code.src[0], code.src[1]) else { return Flow::Next };
    let (offset, span) = (offset(code) as u32, span::<L>(code));
    // SAFETY: operands were lowered for this wave's file.
    unsafe {
        let from = register::<L>(wave, address);
        let data = register::<L>(wave, data);
        let lanes = if ALL { u64::MAX } else { wave.exec::<L>() };
        pull::<L>(wave, code.dst, data, lanes, |lane| {
            (from[lane].wrapping_add(offset) / 4) as usize % span + lane / span * span
        });
    }
    Flow::Next
}

/// `ds_permute_b32`: every lane writes to the lane that it selects; if several select the same, the highest
/// wins.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn forward_permute<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let (Src::Vector(address), Src::Vector(data)) = (code.src[0], code.src[1]) else { return Flow::Next };
    let (offset, span, mask) = (offset(code) as u32, span::<L>(code), wave.exec::<L>());
    // SAFETY: operands were lowered for this wave's file.
    unsafe {
        let to = register::<L>(wave, address);
        let data = register::<L>(wave, data);
        let mut result = [0u32; L];
        for lane in Bits(mask) {
            result[(to[lane].wrapping_add(offset) / 4) as usize % span + lane / span * span] = data[lane];
        }
        put::<L>(wave, code.dst, result, mask);
    }
    Flow::Next
}

/// `ds_swizzle_b32`: a fixed exchange within groups of 32 lanes, encoded in the offset.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn swizzle<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Vector(first) = code.src[0] else { return Flow::Next };
    let pattern = offset(code) as u32 & 0xffff;
    let from = |lane: usize| {
        let (group, lane) = (lane & !31, lane as u32 & 31);
        let source = if pattern >= 0xe000 {
            let mask = pattern & 0x1f;
            (lane.reverse_bits() >> 27) >> mask.count_ones() | lane & mask
        } else if pattern >= 0xc000 {
            let (mask, amount) = (pattern & 0x1f, pattern >> 5 & 0x1f);
            let moved = if pattern >> 10 & 1 != 0 { lane.wrapping_sub(amount) } else { lane + amount };
            lane & mask | moved & !mask & 0x1f
        } else if pattern >= 0x8000 {
            lane & !3 | pattern >> (2 * (lane & 3)) & 3
        } else {
            (lane & pattern | pattern >> 5) & 0x1f ^ pattern >> 10 & 0x1f
        };
        group + source as usize
    };
    // SAFETY: operands were lowered for this wave's file.
    unsafe {
        let data = register::<L>(wave, first);
        let enabled = wave.exec::<L>();
        pull::<L>(wave, code.dst, data, enabled, from);
    }
    Flow::Next
}

/// `ds_append`, `ds_consume`: adds or subtracts the number of enabled lanes to or from a counter in LDS.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn count<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    if mask == 0 {
        return Flow::Next;
    }
    let lane = mask.trailing_zeros() as usize;
    let word = match word_at(wave, address::counter(wave, code), 4, lane) {
        Ok(word) => word.cast::<u32>(),
        Err(fault) => return fail(wave, fault),
    };
    // SAFETY: the word is in the workgroup's LDS, which only this thread uses, or in the place of dropped
    // accesses; `dst` is in the wave's file.
    unsafe {
        let old = word.read();
        let lanes = mask.count_ones();
        let up = code.imm >> EXTRA_SHIFT & 1 == 0;
        word.write(if up { old.wrapping_add(lanes) } else { old.wrapping_sub(lanes) });
        splat::<L>(wave.vgpr.add(code.dst as usize), old, mask);
    }
    Flow::Next
}

/// `ds_storexchg_2addr_rtn_b32` and similar: both words are read before either is written.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn exchange_two<W: Word, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Vector(first) = code.src[0] else { return Flow::Next };
    let registers = Registers::of::<L>(code);
    let shifts = address::shifts(code, W::BYTES);
    // SAFETY: operands were lowered for this wave's file; the words have been checked to be in the
    // workgroup's LDS.
    unsafe {
        let row = register::<L>(wave, first);
        for lane in Bits(wave.exec::<L>()) {
            let mut words = [std::ptr::null_mut::<W>(); 2];
            for (word, &shift) in words.iter_mut().zip(&shifts) {
                let address = u64::from(address::shifted(row[lane], shift));
                match word_at(wave, address, W::BYTES as u64, lane) {
                    Ok(at) => *word = at.cast(),
                    Err(fault) => return fail(wave, fault),
                }
            }
            let old = crate::rows::map(words, |word| word.read());
            words[0].write(W::get::<L>(wave.vgpr.add(registers.data as usize + lane)));
            words[1].write(W::get::<L>(wave.vgpr.add(registers.data2 as usize + lane)));
            let dst = wave.vgpr.add(code.dst as usize + lane);
            W::put::<L>(dst, old[0]);
            W::put::<L>(dst.add(W::BYTES / 4 * L), old[1]);
        }
    }
    Flow::Next
}

/// `ds_condxchg32_rtn_b64`: each of two words is replaced by the lower 31 bits of the data if bit 31 of the
/// data is set.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn exchange_if<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Vector(first) = code.src[0] else { return Flow::Next };
    let registers = Registers::of::<L>(code);
    // SAFETY: operands were lowered for this wave's file; the words have been checked to be in the
    // workgroup's LDS.
    unsafe {
        let row = register::<L>(wave, first);
        for lane in Bits(wave.exec::<L>()) {
            let address = u64::from(address::exchanged(row[lane], code));
            let words = match word_at(wave, address, 8, lane) {
                Ok(at) => at.cast::<u32>(),
                Err(fault) => return fail(wave, fault),
            };
            let old = u64::get::<1>(words);
            let data = u64::get::<L>(wave.vgpr.add(registers.data as usize + lane));
            for i in 0..2 {
                let data = (data >> (32 * i)) as u32;
                if data >> 31 != 0 {
                    words.add(i).write(data & 0x7fff_ffff);
                }
            }
            u64::put::<L>(wave.vgpr.add(code.dst as usize + lane), old);
        }
    }
    Flow::Next
}

/// A checked pointer to a word of `bytes` bytes in LDS.
fn word_at(wave: &mut Wave, address: u64, bytes: u64, lane: usize) -> Result<*mut u8, Box<WaveFault>> {
    if !address.is_multiple_of(bytes) {
        return Err(wave.access.misaligned(Space::Lds, AccessKind::Atomic, address, bytes, lane));
    }
    wave.access.lds_place(AccessKind::Atomic, address, bytes, Some(lane))
}

/// The element of LDS that M0 selects, extended to a dword.
fn direct(wave: &mut Wave) -> Result<u32, Box<WaveFault>> {
    let Some((address, bytes, signed)) = address::direct(wave) else {
        let ty = wave.sgpr[usize::from(scalar::M0)] >> 16 & 7;
        let what = format!("a direct access to LDS of the reserved type {ty}");
        return Err(Box::new(FaultKind::Unsupported { what }.into()));
    };
    let at = wave.access.lds_place(AccessKind::Read, address, bytes, None)?;
    // SAFETY: the element is in the workgroup's LDS, or in the place of dropped accesses.
    unsafe {
        Ok(match (bytes, signed) {
            (1, false) => u32::from(at.read()),
            (1, true) => i32::from(at.cast::<i8>().read()) as u32,
            (2, false) => u32::from(at.cast::<u16>().read_unaligned()),
            (2, true) => i32::from(at.cast::<i16>().read_unaligned()) as u32,
            _ => at.cast::<u32>().read_unaligned(),
        })
    }
}

/// `lds_direct_load`: all lanes receive the element that M0 selects.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn direct_load<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    match direct(wave) {
        // SAFETY: the destination is in the wave's file.
        Ok(value) => unsafe { splat::<L>(wave.vgpr.add(code.dst as usize), value, mask) },
        Err(fault) => return fail(wave, fault),
    }
    Flow::Next
}

/// The code that reads the element selected by M0 into a temporary row, before the vector instruction that
/// uses it as a source.
///
/// # Safety
/// As for handlers; `sdst` is a row of `wave.temp`.
pub(crate) unsafe fn direct_source(wave: &mut Wave, code: &Code) -> Flow {
    match direct(wave) {
        Ok(value) => {
            let row = usize::from(code.sdst & 7);
            wave.temp[row] = [value; 64];
            wave.temp[(row + 1) & 7] = [0; 64];
            Flow::Next
        }
        Err(fault) => fail(wave, fault),
    }
}
