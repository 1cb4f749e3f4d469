//! Conversions of gfx950 between floats of 4 to 32 bits, with scaling by a power of two.

use vgpu_isa::Op::{self, *};

use super::cross::word;
use crate::float::small::{Small, scale};
use crate::level::{Body, scalar_handler};
use crate::lower::Context;
use crate::memory::Bits;
use crate::{Code, Flow, Handler, Wave};

/// A conversion.
struct Conversion {
    op: Op,
    from: Small,
    to: Small,
    /// The number of converted values.
    count: usize,
    /// The number of sources that hold them, evenly split.
    sources: usize,
    /// The source with the random bits for stochastic rounding.
    noise: Option<usize>,
    /// The source whose exponent is the scale. Small formats are multiplied by it; other numbers are divided
    /// by it before they become small ones.
    scale: Option<usize>,
}

const fn pair(op: Op, from: Small, to: Small, count: usize) -> Conversion {
    Conversion { op, from, to, count, sources: 1, noise: None, scale: Some(1) }
}

/// Values in two sources.
const fn two(op: Op, to: Small, count: usize) -> Conversion {
    Conversion { sources: 2, scale: Some(2), ..pair(op, F32, to, count) }
}

const fn noisy(op: Op, from: Small, to: Small, count: usize) -> Conversion {
    Conversion { noise: Some(1), scale: Some(2), ..pair(op, from, to, count) }
}

const fn unscaled(op: Op, to: Small) -> Conversion {
    Conversion { scale: None, ..noisy(op, F32, to, 1) }
}

const F32: Small = Small::F32;
const F16: Small = Small::F16;
const BF16: Small = Small::BF16;
const FP8: Small = Small::FP8;
const BF8: Small = Small::BF8;
const FP6: Small = Small::FP6;
const BF6: Small = Small::BF6;
const FP4: Small = Small::FP4;

#[rustfmt::skip]
const CONVERSIONS: &[Conversion] = &[
    two(VCvtScalef32PkFp8F32, FP8, 2),
    two(VCvtScalef32PkBf8F32, BF8, 2),
    two(VCvtScalef32PkFp4F32, FP4, 2),
    two(VCvtScalef32_2xpk16Fp6F32, FP6, 32),
    two(VCvtScalef32_2xpk16Bf6F32, BF6, 32),
    noisy(VCvtScalef32SrFp8F32, F32, FP8, 1),
    noisy(VCvtScalef32SrBf8F32, F32, BF8, 1),
    noisy(VCvtScalef32SrFp8F16, F16, FP8, 1),
    noisy(VCvtScalef32SrBf8F16, F16, BF8, 1),
    noisy(VCvtScalef32SrFp8Bf16, BF16, FP8, 1),
    noisy(VCvtScalef32SrBf8Bf16, BF16, BF8, 1),
    noisy(VCvtScalef32SrPkFp4F32, F32, FP4, 2),
    noisy(VCvtScalef32SrPkFp4F16, F16, FP4, 2),
    noisy(VCvtScalef32SrPkFp4Bf16, BF16, FP4, 2),
    noisy(VCvtScalef32SrPk32Fp6F32, F32, FP6, 32),
    noisy(VCvtScalef32SrPk32Bf6F32, F32, BF6, 32),
    noisy(VCvtScalef32SrPk32Fp6F16, F16, FP6, 32),
    noisy(VCvtScalef32SrPk32Bf6F16, F16, BF6, 32),
    noisy(VCvtScalef32SrPk32Fp6Bf16, BF16, FP6, 32),
    noisy(VCvtScalef32SrPk32Bf6Bf16, BF16, BF6, 32),
    unscaled(VCvtSrF16F32, F16),
    unscaled(VCvtSrBf16F32, BF16),
    pair(VCvtScalef32PkFp8F16, F16, FP8, 2),
    pair(VCvtScalef32PkBf8F16, F16, BF8, 2),
    pair(VCvtScalef32PkFp8Bf16, BF16, FP8, 2),
    pair(VCvtScalef32PkBf8Bf16, BF16, BF8, 2),
    pair(VCvtScalef32PkFp4F16, F16, FP4, 2),
    pair(VCvtScalef32PkFp4Bf16, BF16, FP4, 2),
    pair(VCvtScalef32Pk32Fp6F16, F16, FP6, 32),
    pair(VCvtScalef32Pk32Bf6F16, F16, BF6, 32),
    pair(VCvtScalef32Pk32Fp6Bf16, BF16, FP6, 32),
    pair(VCvtScalef32Pk32Bf6Bf16, BF16, BF6, 32),
    pair(VCvtScalef32F32Fp8, FP8, F32, 1),
    pair(VCvtScalef32F32Bf8, BF8, F32, 1),
    pair(VCvtScalef32F16Fp8, FP8, F16, 1),
    pair(VCvtScalef32F16Bf8, BF8, F16, 1),
    pair(VCvtScalef32PkF32Fp8, FP8, F32, 2),
    pair(VCvtScalef32PkF32Bf8, BF8, F32, 2),
    pair(VCvtScalef32PkF32Fp4, FP4, F32, 2),
    pair(VCvtScalef32PkF16Fp8, FP8, F16, 2),
    pair(VCvtScalef32PkF16Bf8, BF8, F16, 2),
    pair(VCvtScalef32PkF16Fp4, FP4, F16, 2),
    pair(VCvtScalef32PkBf16Fp8, FP8, BF16, 2),
    pair(VCvtScalef32PkBf16Bf8, BF8, BF16, 2),
    pair(VCvtScalef32PkBf16Fp4, FP4, BF16, 2),
    pair(VCvtScalef32Pk32F32Fp6, FP6, F32, 32),
    pair(VCvtScalef32Pk32F32Bf6, BF6, F32, 32),
    pair(VCvtScalef32Pk32F16Fp6, FP6, F16, 32),
    pair(VCvtScalef32Pk32F16Bf6, BF6, F16, 32),
    pair(VCvtScalef32Pk32Bf16Fp6, FP6, BF16, 32),
    pair(VCvtScalef32Pk32Bf16Bf6, BF6, BF16, 32),
];

/// The position of `bits` bits in a register, selected by `op_sel`; a whole register has only one.
fn place(bits: u32, op_sel: u8) -> u32 {
    if bits < 32 { u32::from(op_sel) % (32 / bits) * bits } else { 0 }
}

struct Convert;

impl Body for Convert {
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        let Some(row) = CONVERSIONS.get(code.imm as usize) else { return Flow::Next };
        let mods = &code.mods;
        let (from, to) = (row.from.bits(), row.to.bits());
        let each = row.count / row.sources;
        // Values that do not fill a register are in a part of one.
        let first = place(from * each as u32, mods.op_sel & 3);
        let result = to * row.count as u32;
        let kept = place(result, if result == 16 { mods.op_sel >> 3 } else { mods.op_sel >> 2 });
        // FP16_OVFL of MODE.
        let saturates = wave.mode >> 23 & 1 != 0;
        for lane in Bits(wave.exec::<W>()) {
            // SAFETY: operands were lowered for this wave, with as many registers as their types require.
            unsafe {
                let read = |i: usize, register: u32| word::<W>(wave, code.src[i & 3], register, lane);
                let noise = row.noise.map(|i| read(i, 0));
                let factor = row.scale.map_or(1.0, |i| scale(read(i, 0) >> 23));
                let mut words = [0u32; 32];
                if result < 32 {
                    let old = wave.vgpr.add(code.dst as usize + lane).read();
                    words[0] = old & !(((1 << result) - 1) << kept);
                }
                for i in 0..row.count {
                    let source = i / each;
                    let at = first + (i % each) as u32 * from;
                    let (register, shift) = (at / 32, at % 32);
                    let mut bits = read(source, register) >> shift;
                    if shift + from > 32 {
                        bits |= read(source, register + 1) << (32 - shift);
                    }
                    let mut value = row.from.decode(bits & (u32::MAX >> (32 - from)));
                    if from >= 16 {
                        value = if mods.abs >> source & 1 != 0 { value.abs() } else { value };
                        value = if mods.neg >> source & 1 != 0 { -value } else { value };
                    }
                    let value = if to < 16 { value / factor } else { value * factor };
                    let saturate = saturates && (to < 16 || to == 16 && row.to == F16 && value.is_finite());
                    let number = row.to.encode(value, noise, saturate);
                    let at = kept + i as u32 * to;
                    let (register, shift) = ((at / 32) as usize, at % 32);
                    words[register] |= number << shift;
                    if shift + to > 32 {
                        words[register + 1] |= number >> (32 - shift);
                    }
                }
                for (i, word) in words.iter().take(result.div_ceil(32) as usize).enumerate() {
                    wave.vgpr.add(code.dst as usize + i * W + lane).write(*word);
                }
            }
        }
        Flow::Next
    }
}

/// The handler of a conversion, and its number.
pub(super) fn handler(op: Op, context: &Context) -> Option<(Handler, i64)> {
    let index = CONVERSIONS.iter().position(|row| row.op == op)?;
    Some((scalar_handler::<Convert>(context.lanes), index as i64))
}
