//! Typed buffers: MTBUF, and MUBUF with the format of the descriptor.

use gpu_report::AccessKind;
use half::f16;
use vgpu_isa::{BufferFormat, Fact, Footprint, Format, Generation, Inst, NumberFormat};

use super::buffer::{View, address_registers};
use super::lanes::{Bits, EXTRA_SHIFT};
use super::spaces::fail;
use super::{single, to_lds};
use crate::float::convert::f32_to_f16_toward_zero;
use crate::{Code, Flow, Src, Wave};

/// In [`Code::imm`]: the format code of MTBUF, in the place of the operation of read-modify-writes.
const FORMAT_SHIFT: u32 = 32;
/// In [`Code::imm`], above the flags of all buffer instructions: registers hold 16 bits of each channel.
const D16: i64 = 16 << EXTRA_SHIFT;
/// The only channel is in the high half.
const HIGH: i64 = 32 << EXTRA_SHIFT;
/// The format is in the instruction, not in the descriptor.
const IN_INSTRUCTION: i64 = 64 << EXTRA_SHIFT;
/// Data go to LDS.
pub(super) const TO_LDS: i64 = 128 << EXTRA_SHIFT;
/// The number of channels minus one.
const CHANNELS_SHIFT: u32 = EXTRA_SHIFT + 8;
/// Stores repeat the first channel in channels that the instruction lacks.
const REPEATS: i64 = 4096 << EXTRA_SHIFT;

/// What [`load`] and [`store`] expect in [`Code::imm`] besides the offset; none if the instruction has no
/// format.
pub(super) fn flags(inst: &Inst, generation: Generation) -> Option<i64> {
    let Footprint::Typed(_, channels) = inst.op.footprint() else { return None };
    let mut flags = (i64::from(channels) - 1) << CHANNELS_SHIFT;
    if inst.op.has(Fact::D16) {
        flags |= D16;
    }
    if inst.op.has(Fact::HIGH) {
        flags |= HIGH;
    }
    if inst.mem.lds {
        flags |= TO_LDS;
    }
    if generation >= Generation::Gfx12 {
        flags |= REPEATS;
    }
    if inst.format == Format::Mtbuf {
        flags |= IN_INSTRUCTION | i64::from(inst.mem.format) << FORMAT_SHIFT;
    }
    Some(flags)
}

/// The size in bytes of the elements that a formatted instruction accesses through a descriptor; none if it
/// accesses nothing.
pub(super) fn element_bytes(view: &View, code: &Code) -> Option<usize> {
    Shape::new(view, code.generation, code.imm).format.map(|format| format.bytes())
}

/// The conversion of an access to elements with a format.
pub(super) struct Shape {
    /// None for meaningless codes, and if the descriptor's own format is the one that binds no buffer, even
    /// if the instruction has another. Such buffers behave as if out of bounds.
    format: Option<BufferFormat>,
    /// The source of each result: the constants 0 or 1, or 4 and up for a channel of memory.
    selection: [u32; 4],
    channels: usize,
    d16: bool,
    high: bool,
    repeats: bool,
}

impl Shape {
    fn new(view: &View, generation: Generation, flags: i64) -> Shape {
        let in_instruction = flags & IN_INSTRUCTION != 0;
        let word = view.format_word;
        // The descriptor's format, encoded as in instructions, and which of its bits are 0 if there is none.
        let (own, kind) = match generation {
            Generation::Gfx9 | Generation::Gfx940 => (word >> 15 & 15 | (word >> 12 & 7) << 4, 15),
            Generation::Gfx10 => (word >> 12 & 0x7f, 0x7f),
            _ => (word >> 12 & 0x3f, 0x3f),
        };
        let is_bound = own & kind != 0;
        let code = if in_instruction { (flags >> FORMAT_SHIFT & 0x7f) as u8 } else { own as u8 };
        let selection = match in_instruction {
            true => [4, 5, 6, 7],
            false => crate::rows::from_fn(|i| word >> (3 * i) & 7),
        };
        Shape {
            format: BufferFormat::by_code(generation, code).filter(|_| is_bound),
            selection,
            channels: (flags >> CHANNELS_SHIFT & 3) as usize + 1,
            d16: flags & D16 != 0,
            high: flags & HIGH != 0,
            repeats: flags & REPEATS != 0,
        }
    }

    /// The conversion of an image's elements.
    pub(super) fn of(format: BufferFormat, selection: [u32; 4], channels: usize, d16: bool) -> Shape {
        Shape { format: Some(format), selection, channels, d16, high: false, repeats: false }
    }

    fn is_integer(&self) -> bool {
        matches!(self.format, Some(BufferFormat { number: NumberFormat::Uint | NumberFormat::Sint, .. }))
    }

    /// The number one in a register's format.
    fn one(&self) -> u32 {
        match (self.is_integer(), self.d16) {
            (true, _) => 1,
            (false, true) => 0x3c00,
            (false, false) => 0x3f80_0000,
        }
    }

    /// The results of a load from the bytes of an element; none if they are out of bounds.
    pub(super) fn load(&self, element: Option<u128>) -> [u32; 4] {
        let mut memory = [0; 4];
        if let (Some(format), Some(element)) = (self.format, element) {
            let mut at = 0;
            for (value, &bits) in memory.iter_mut().zip(format.bits()) {
                let raw = (element >> at) as u32 & (u32::MAX >> (32 - bits));
                *value = if self.d16 {
                    half_from_memory(format.number, bits, raw)
                } else {
                    from_memory(format.number, bits, raw)
                };
                at += u32::from(bits);
            }
        }
        self.selected(memory)
    }

    /// The results for channels with these values instead of those of an element.
    pub(super) fn constant(&self, channels: [f32; 4]) -> [u32; 4] {
        self.selected(crate::rows::map(channels, |value| match (self.is_integer(), self.d16) {
            (true, _) => value as u32,
            (false, true) => u32::from(f16::from_f32(value).to_bits()),
            (false, false) => value.to_bits(),
        }))
    }

    fn selected(&self, channels: [u32; 4]) -> [u32; 4] {
        crate::rows::map(self.selection, |selection| match selection {
            0 => 0,
            1 => self.one(),
            channel => channels[(channel & 3) as usize],
        })
    }

    /// The element that a store writes, given the instruction's channels. The selection of loads applies in
    /// reverse.
    pub(super) fn store(&self, format: &BufferFormat, channels: &[u32]) -> u128 {
        let (mut element, mut bits) = (0u128, 0u32);
        for (place, &width) in (4..).zip(format.bits()) {
            let source = self.selection.iter().position(|&selection| selection == place);
            let missing = if self.repeats { channels[0] } else { 0 };
            let value = source.map_or(0, |source| channels.get(source).copied().unwrap_or(missing));
            element |= u128::from(to_memory(format.number, width, value, self.d16)) << bits;
            bits += u32::from(width);
        }
        element
    }
}

/// The number that a channel's bits represent.
fn number(number: NumberFormat, bits: u8, raw: u32) -> f64 {
    let signed = f64::from((raw << (32 - bits)) as i32 >> (32 - bits));
    match number {
        NumberFormat::Unorm => f64::from(raw) / f64::from(u32::MAX >> (32 - bits)),
        NumberFormat::Snorm => (signed / f64::from((1u32 << (bits - 1)) - 1)).max(-1.0),
        NumberFormat::Uscaled | NumberFormat::Uint => f64::from(raw),
        NumberFormat::Sscaled | NumberFormat::Sint => signed,
        NumberFormat::Float => match bits {
            32 => f64::from(f32::from_bits(raw)),
            16 => f16::from_bits(raw as u16).to_f64(),
            // These have no sign and fewer fraction bits.
            bits => f16::from_bits((raw << (15 - bits)) as u16).to_f64(),
        },
    }
}

/// A channel in a register of 32 bits.
fn from_memory(format: NumberFormat, bits: u8, raw: u32) -> u32 {
    match format {
        NumberFormat::Uint => raw,
        NumberFormat::Sint => ((raw << (32 - bits)) as i32 >> (32 - bits)) as u32,
        NumberFormat::Float if bits == 32 => raw,
        _ => (number(format, bits, raw) as f32).to_bits(),
    }
}

/// A channel in half a register. Integers lose their upper bits, f32 its lower ones.
fn half_from_memory(format: NumberFormat, bits: u8, raw: u32) -> u32 {
    match format {
        NumberFormat::Uint | NumberFormat::Sint => from_memory(format, bits, raw) & 0xffff,
        NumberFormat::Float if bits == 16 => raw,
        NumberFormat::Float if bits == 32 => u32::from(f32_to_f16_toward_zero(raw)),
        _ => u32::from(f16::from_f64(number(format, bits, raw)).to_bits()),
    }
}

/// The bits of a channel in memory; `value` is the content of a 32-bit register, or of half of one. Values
/// that do not fit become the nearest one that does.
fn to_memory(format: NumberFormat, bits: u8, value: u32, d16: bool) -> u32 {
    let mask = u32::MAX >> (32 - bits);
    let top = i64::from(mask >> 1);
    let float = || if d16 { f16::from_bits(value as u16).to_f64() } else { f64::from(f32::from_bits(value)) };
    let signed = i64::from(if d16 { i32::from(value as i16) } else { value as i32 });
    match format {
        NumberFormat::Uint => value.min(mask),
        NumberFormat::Sint => signed.clamp(-top - 1, top) as u32 & mask,
        // NaN converts to the integer zero.
        NumberFormat::Unorm => (float().clamp(0.0, 1.0) * f64::from(mask)).round_ties_even() as u32,
        NumberFormat::Snorm => (float().clamp(-1.0, 1.0) * top as f64).round_ties_even() as i32 as u32 & mask,
        NumberFormat::Uscaled => (float().round_ties_even() as u32).min(mask),
        NumberFormat::Sscaled => (float().round_ties_even() as i64).clamp(-top - 1, top) as u32 & mask,
        NumberFormat::Float => match (bits, d16) {
            (32, false) | (16, true) => value,
            (32, true) => (float() as f32).to_bits(),
            (16, false) => u32::from(f16::from_f64(float()).to_bits()),
            _ => small_float(float(), bits),
        },
    }
}

/// An unsigned float with a 5-bit exponent and the rest of `bits` as fraction; negative numbers become zero.
/// Rounds to nearest even.
fn small_float(value: f64, bits: u8) -> u32 {
    let fraction = u32::from(bits) - 5;
    let infinity = 31 << fraction;
    if value.is_nan() {
        return infinity | 1 << (fraction - 1);
    }
    if value <= 0.0 {
        return 0;
    }
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let exponent = exponent.max(-14);
    // In units in the last place. Rounding up to the next power of two carries into the exponent.
    let units = (value * f64::from(fraction as i32 - exponent).exp2()).round_ties_even();
    if exponent > 15 {
        return infinity;
    }
    (((exponent + 14) as u32) << fraction).saturating_add(units as u32).min(infinity)
}

/// The parts of an element that may be apart: the whole element, or in a swizzled buffer every four bytes.
/// Each is its position in the element, its size and its address.
pub(super) fn places(
    view: &View,
    index: u64,
    within: u64,
    bytes: usize,
) -> impl Iterator<Item = (usize, usize, u64)> {
    let part = if view.is_swizzled() { 4 } else { bytes.max(1) };
    (0..bytes).step_by(part).map(move |at| {
        (at, (bytes - at).min(part), view.base.wrapping_add(view.place(index, within + at as u64)))
    })
}

/// `buffer_load_format_x` and similar.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn load<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    if code.imm & TO_LDS != 0 {
        // SAFETY: the caller's promise.
        return unsafe { to_lds::through::<4, L>(wave, code, AccessKind::Write, load_to::<L>) };
    }
    // SAFETY: the caller's promise.
    unsafe { load_to::<L>(wave, code) }
}

unsafe fn load_to<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Scalar(slot) = code.src[2] else { return Flow::Next };
    let view = View::new(wave, code, slot);
    let shape = Shape::new(&view, code.generation, code.imm);
    // SAFETY: operands were lowered for this wave's file.
    let (index, row) = unsafe { address_registers::<L>(wave, code) };
    for lane in Bits(wave.exec::<L>()) {
        let (index, within) = (view.index(index[lane], lane), view.within(row[lane], code.imm as u32));
        let bytes = shape.format.map_or(0, |format| format.bytes());
        let inside = bytes != 0 && view.inside(index, within, bytes as u64);
        let mut element = 0u128;
        if inside {
            for (at, size, address) in places(&view, index, within, bytes) {
                if !wave.access.permits(AccessKind::Read, address, size as u64) {
                    let fault = wave.access.refused(AccessKind::Read, address, size as u64, Some(lane));
                    return fail(wave, fault);
                }
                // SAFETY: the bytes lie in a live allocation, and `element` has room for them.
                unsafe {
                    let to = (&raw mut element).cast::<u8>().add(at);
                    single::copy_in::<false>(address as *const u8, to, size);
                }
            }
        }
        let result = shape.load(inside.then_some(element));
        // SAFETY: the destination is in the wave's file; LDS was checked.
        unsafe {
            if code.imm & TO_LDS != 0 {
                to_lds::place(wave, code.dst, lane, 4).cast::<u32>().write_unaligned(result[0]);
                continue;
            }
            let at = wave.vgpr.add(code.dst as usize + lane);
            // Registers with ECC are written whole.
            let other = |at: *mut u32, mask| {
                if code.generation.is_cdna() { 0 } else { at.read() & mask }
            };
            match (shape.d16, shape.high) {
                (false, _) => {
                    for (i, value) in result.iter().take(shape.channels).enumerate() {
                        at.add(i * L).write(*value);
                    }
                }
                (true, true) => at.write(other(at, 0xffff) | result[0] << 16),
                (true, false) => {
                    for i in (0..shape.channels).step_by(2) {
                        let at = at.add(i / 2 * L);
                        let high = match i + 1 < shape.channels {
                            true => result[i + 1] << 16,
                            false => other(at, 0xffff_0000),
                        };
                        at.write(result[i] | high);
                    }
                }
            }
        }
    }
    Flow::Next
}

/// `buffer_store_format_x` and similar. Elements are written whole.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn store<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let (Src::Scalar(slot), Src::Vector(data)) = (code.src[2], code.src[1]) else { return Flow::Next };
    let view = View::new(wave, code, slot);
    let shape = Shape::new(&view, code.generation, code.imm);
    let Some(format) = shape.format else { return Flow::Next };
    // SAFETY: operands were lowered for this wave's file.
    let (index, row) = unsafe { address_registers::<L>(wave, code) };
    let bytes = format.bytes();
    for lane in Bits(wave.exec::<L>()) {
        let (index, within) = (view.index(index[lane], lane), view.within(row[lane], code.imm as u32));
        if !view.inside(index, within, bytes as u64) {
            continue;
        }
        let mut channels = [0; 4];
        for (channel, value) in channels.iter_mut().enumerate().take(shape.channels) {
            // SAFETY: the data are in the wave's file.
            *value = unsafe {
                let at = wave.vgpr.add(data as usize + lane);
                match (shape.d16, shape.high) {
                    (false, _) => at.add(channel * L).read(),
                    (true, true) => at.read() >> 16,
                    (true, false) => at.add(channel / 2 * L).read() >> (channel % 2 * 16) & 0xffff,
                }
            };
        }
        let element = shape.store(&format, &channels[..shape.channels]);
        for (_, size, address) in places(&view, index, within, bytes) {
            if !wave.access.permits(AccessKind::Write, address, size as u64) {
                let fault = wave.access.refused(AccessKind::Write, address, size as u64, Some(lane));
                return fail(wave, fault);
            }
        }
        wave.stored = true;
        for (at, size, address) in places(&view, index, within, bytes) {
            // SAFETY: the bytes lie in a live allocation, and `element` holds them.
            unsafe {
                let from = (&raw const element).cast::<u8>().add(at);
                single::copy_out::<false>(from, address as *mut u8, size);
            }
        }
    }
    Flow::Next
}
