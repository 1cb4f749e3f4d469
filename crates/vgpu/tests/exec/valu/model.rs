//! Every vector operation that works lane by lane, compared with a model of one lane that follows the
//! vendor's pseudo-code in plain integers. It is tested in every generation that has it, at every level, in
//! waves of both sizes, with disabled lanes, with modifiers, and in several arithmetic modes.

mod compare;
mod exact;
mod float;
mod integer;
mod packed;
mod rules;
mod scalar;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use self::exact::{BF16, F16, F32, F64, FLUSH, Format as Float, LOUD};
use self::rules::*;
use super::{Case, doubles, halves, numbers};
use crate::coverage;
use vgpu::exec::Level;
use vgpu::isa::{Elem, Format, Modifiers, Op};
use vgpu::machine::Generation;

/// The inputs of an operation in one lane: sources after modifiers, with subnormal numbers flushed if MODE
/// requires it.
struct In {
    op: Op,
    s: [u64; 4],
    /// The bits of each source.
    bits: [u32; 4],
    /// The lane's bit of a source mask.
    mask: bool,
    /// The old value of the destination.
    old: u64,
    lane: u32,
    mode: u32,
    generation: Generation,
    /// The format of the first floating-point source, or otherwise of the result.
    format: Float,
    clamp: bool,
    neg: u8,
    /// Subnormal results are zero.
    flush_out: bool,
}

impl In {
    fn u(&self, k: usize) -> u32 {
        self.s[k] as u32
    }

    /// A source as an unsigned number.
    fn n(&self, k: usize) -> i128 {
        i128::from(self.s[k])
    }

    /// A 32-bit source as a signed number.
    fn z(&self, k: usize) -> i128 {
        i128::from(self.s[k] as i32)
    }

    /// A 16-bit source as a signed number.
    fn h(&self, k: usize) -> i128 {
        i128::from(self.s[k] as i16)
    }

    fn ieee(&self) -> bool {
        !self.is_gfx12() && self.mode & 0x200 != 0
    }

    fn is_cdna(&self) -> bool {
        self.generation.is_cdna()
    }

    fn is_gfx12(&self) -> bool {
        self.generation == Generation::Gfx12
    }

    /// The rounding mode of MODE for the operation's format.
    fn round(&self) -> u32 {
        if self.format == F32 { self.mode & 3 } else { self.mode >> 2 & 3 }
    }

    /// A rounding mode, combined with the treatment of subnormal results.
    fn results(&self, round: u32) -> u32 {
        let loud = is_loud(self.op) && loud(self.generation, self.mode);
        round & 3 | if self.flush_out { FLUSH } else { 0 } | if loud { LOUD } else { 0 }
    }

    /// The first NaN among sources.
    fn nan_of(&self, sources: &[u64]) -> Option<u64> {
        self.format.nan_of(sources, self.rounding())
    }

    /// The same for the operation's format.
    fn rounding(&self) -> u32 {
        self.results(self.round())
    }
}

/// The result.
#[derive(Clone, Copy)]
enum Out {
    /// These bits.
    Bits(u64),
    /// An integer that is truncated or saturated to the result's width; whether it is signed.
    Sat(i128, bool),
    /// The same, with a mask bit.
    SatFlag(i128, bool, bool),
    /// Bits and a mask bit.
    Flag(u64, bool),
    /// A mask bit.
    Mask(bool),
    /// A number that hardware approximates: correct within one unit in the last place.
    Near(f64),
}

impl Out {
    fn plus(self, other: u64) -> Out {
        match self {
            Out::Bits(bits) => Out::Bits(u64::from((bits as u32).wrapping_add(other as u32))),
            out => out,
        }
    }
}

type Model = fn(&In) -> Out;

fn model(op: Op) -> Option<Model> {
    integer::model(op).or_else(|| compare::model(op)).or_else(|| float::model(op))
}

/// Operations without a model here, and why.
const ELSEWHERE: &[(&str, &[Op])] = &[
    ("do nothing", &[Op::VNop, Op::VPipeflush, Op::VClrexcp]),
    ("illegal by definition", &[Op::VIllegal]),
    ("graphics", &[Op::VScreenPartition4seB32]),
    (
        "across lanes or registers: tests/lanes.rs",
        &[
            Op::VReadfirstlaneB32,
            Op::VReadlaneB32,
            Op::VWritelaneB32,
            Op::VSwapB32,
            Op::VSwapB16,
            Op::VSwaprelB32,
            Op::VPermlane64B32,
            Op::VPermlane16B32,
            Op::VPermlanex16B32,
            Op::VPermlane16VarB32,
            Op::VPermlanex16VarB32,
            Op::VMovrelsB32,
            Op::VMovreldB32,
            Op::VMovrelsdB32,
            Op::VMovrelsd2B32,
            Op::VPkMovB32,
            Op::VPermlane16SwapB32,
            Op::VPermlane32SwapB32,
        ],
    ),
    (
        "tables of bits, halves of the destination, 8-bit floats: cases in filetests/exec/gfx950.txt",
        &[
            Op::VBitop3B16,
            Op::VBitop3B32,
            Op::VAshrPkI8I32,
            Op::VAshrPkU8I32,
            Op::VCvtF32Bf16,
            Op::VCvtPkF16F32,
            Op::VCvtPkBf16F32,
            Op::VCvtF32Bf8Gfx950,
            Op::VCvtF32Fp8Gfx950,
            Op::VCvtPkBf8F32Gfx950,
            Op::VCvtPkF32Bf8Gfx950,
            Op::VCvtPkF32Fp8Gfx950,
            Op::VCvtPkFp8F32Gfx950,
            Op::VCvtSrBf16F32,
            Op::VCvtSrBf8F32Gfx950,
            Op::VCvtSrF16F32,
            Op::VCvtSrFp8F32Gfx950,
        ],
    ),
    (
        "numbers that a scale multiplies: float/small.rs of the executor, and filetests/exec/gfx950.txt",
        &[
            Op::VCvtScalef32_2xpk16Bf6F32,
            Op::VCvtScalef32_2xpk16Fp6F32,
            Op::VCvtScalef32F16Bf8,
            Op::VCvtScalef32F16Fp8,
            Op::VCvtScalef32F32Bf8,
            Op::VCvtScalef32F32Fp8,
            Op::VCvtScalef32Pk32Bf16Bf6,
            Op::VCvtScalef32Pk32Bf16Fp6,
            Op::VCvtScalef32Pk32Bf6Bf16,
            Op::VCvtScalef32Pk32Bf6F16,
            Op::VCvtScalef32Pk32F16Bf6,
            Op::VCvtScalef32Pk32F16Fp6,
            Op::VCvtScalef32Pk32F32Bf6,
            Op::VCvtScalef32Pk32F32Fp6,
            Op::VCvtScalef32Pk32Fp6Bf16,
            Op::VCvtScalef32Pk32Fp6F16,
            Op::VCvtScalef32PkBf16Bf8,
            Op::VCvtScalef32PkBf16Fp4,
            Op::VCvtScalef32PkBf16Fp8,
            Op::VCvtScalef32PkBf8Bf16,
            Op::VCvtScalef32PkBf8F16,
            Op::VCvtScalef32PkBf8F32,
            Op::VCvtScalef32PkF16Bf8,
            Op::VCvtScalef32PkF16Fp4,
            Op::VCvtScalef32PkF16Fp8,
            Op::VCvtScalef32PkF32Bf8,
            Op::VCvtScalef32PkF32Fp4,
            Op::VCvtScalef32PkF32Fp8,
            Op::VCvtScalef32PkFp4Bf16,
            Op::VCvtScalef32PkFp4F16,
            Op::VCvtScalef32PkFp4F32,
            Op::VCvtScalef32PkFp8Bf16,
            Op::VCvtScalef32PkFp8F16,
            Op::VCvtScalef32PkFp8F32,
            Op::VCvtScalef32SrBf8Bf16,
            Op::VCvtScalef32SrBf8F16,
            Op::VCvtScalef32SrBf8F32,
            Op::VCvtScalef32SrFp8Bf16,
            Op::VCvtScalef32SrFp8F16,
            Op::VCvtScalef32SrFp8F32,
            Op::VCvtScalef32SrPk32Bf6Bf16,
            Op::VCvtScalef32SrPk32Bf6F16,
            Op::VCvtScalef32SrPk32Bf6F32,
            Op::VCvtScalef32SrPk32Fp6Bf16,
            Op::VCvtScalef32SrPk32Fp6F16,
            Op::VCvtScalef32SrPk32Fp6F32,
            Op::VCvtScalef32SrPkFp4Bf16,
            Op::VCvtScalef32SrPkFp4F16,
            Op::VCvtScalef32SrPkFp4F32,
        ],
    ),
    ("results of four registers: below", &[Op::VMqsadU32U8]),
    ("formats chosen per source: packed.rs", &[Op::VFmaMixF32, Op::VFmaMixloF16, Op::VFmaMixhiF16]),
    ("a table of digits: tests/floats.rs", &[Op::VTrigPreopF64]),
    ("bytes of the destination, noise: below", &[Op::VCvtSrFp8F32, Op::VCvtSrBf8F32]),
    (
        "both halves or registers by the operation on one: packed.rs",
        &[
            Op::VPkAddF16,
            Op::VPkMulF16,
            Op::VPkFmaF16,
            Op::VPkFmacF16,
            Op::VPkMinF16,
            Op::VPkMaxF16,
            Op::VPkMinimumF16,
            Op::VPkMaximumF16,
            Op::VPkMinimum3F16,
            Op::VPkMaximum3F16,
            Op::VPkAddU16,
            Op::VPkSubU16,
            Op::VPkAddI16,
            Op::VPkSubI16,
            Op::VPkMulLoU16,
            Op::VPkMadU16,
            Op::VPkMadI16,
            Op::VPkMinU16,
            Op::VPkMaxU16,
            Op::VPkMinI16,
            Op::VPkMaxI16,
            Op::VPkLshlrevB16,
            Op::VPkLshrrevB16,
            Op::VPkAshrrevI16,
            Op::VPkAddF32,
            Op::VPkMulF32,
            Op::VPkFmaF32,
        ],
    ),
];

/// The generations that have each operation.
static GENERATIONS: LazyLock<BTreeMap<Op, Vec<Generation>>> = LazyLock::new(|| {
    let mut all = BTreeMap::<Op, Vec<Generation>>::new();
    for sample in coverage::corpus() {
        let generations = all.entry(sample.inst.op).or_default();
        if !generations.contains(&sample.generation) {
            generations.push(sample.generation);
        }
    }
    all
});

fn is_lane_operation(op: Op) -> bool {
    let name = op.name();
    let matrix = ["v_mfma", "v_smfmac", "v_wmma", "v_swmmac"].iter().any(|prefix| name.starts_with(prefix));
    name.starts_with("v_") && !name.starts_with("v_s_") && !matrix
}

/// One run of an operation.
struct Setting {
    generation: Generation,
    mods: Modifiers,
    mode: u32,
    seed: u64,
}

fn settings(op: Op, generation: Generation) -> Vec<Setting> {
    let signature = op.signature();
    let floats = signature.src.iter().enumerate().filter(|(_, ty)| float_of(**ty).is_some() && ty.count == 1);
    let signs = floats.fold(0u8, |all, (i, _)| all | 1 << i);
    let halves = (0..3).filter(|i| signature.src[*i].is_half()).fold(0u8, |all, i| all | 1 << i);
    let halves = halves | if signature.dst.is_half() { 8 } else { 0 };
    // This encoding has another field in the place of abs.
    let packs = op.name().starts_with("v_dot");
    let pairs = has_modified_pairs(op);
    let paired = has_paired_signs(op);
    let signs = if paired { 7 } else { signs };
    let mut modes = vec![0x1f0, 0x100, 0x1d0, 0x130];
    // gfx12 has neither of these bits, whatever is written to them.
    modes.extend(if generation == Generation::Gfx12 { [0x2f0, 0x0f0] } else { [0x3f0, 0x0f0] });
    if rounds(op) {
        modes.extend([0x1f5, 0x1fa, 0x1ff, 0x10f]);
    }
    if signature.dst.elem == Elem::F16 || op.name().contains("_pk_fp8") || op.name().contains("_pk_bf8") {
        modes.push(0x80_01f0);
    }
    let mut all = Vec::new();
    for (number, mode) in modes.into_iter().enumerate() {
        for variant in 0..4u8 {
            let iu = op.name().ends_with("iu8") || op.name().ends_with("iu4");
            let neg = if iu { variant & 3 } else { [0, 5, 2, 7][usize::from(variant)] & signs };
            let is_float = float_of(signature.dst).is_some()
                && signature.dst.count == 1
                && signature.dst.elem != Elem::Bf16;
            let mods = Modifiers {
                neg: if packs && !iu && !paired {
                    neg & 4 | if pairs { [0, 1, 2, 3][usize::from(variant)] } else { 0 }
                } else {
                    neg
                },
                neg_hi: if pairs { [0, 2, 3, 1][usize::from(variant)] } else { 0 },
                abs: if packs && !paired { 0 } else { [0, 2, 5, 3][usize::from(variant)] & signs },
                op_sel: if pairs {
                    [0, 1, 3, 2][usize::from(variant)]
                } else {
                    [0, 9, 6, 12][usize::from(variant)] & halves
                },
                op_sel_hi: if pairs {
                    [7, 6, 4, 5][usize::from(variant)]
                } else if packs {
                    7
                } else {
                    0
                },
                omod: if is_float && !packs {
                    [0, 0, 1 + number as u8 % 3, 0][usize::from(variant)]
                } else {
                    0
                },
                clamp: variant == 3,
                ..Modifiers::default()
            };
            all.push(Setting {
                generation,
                mods,
                mode,
                seed: op as u64 * 64 + 4 * number as u64 + u64::from(variant),
            });
        }
    }
    all
}

/// f32, often with exponents near each other.
fn singles(seed: u64) -> impl Fn(usize, usize) -> u32 {
    let numbers = numbers(seed);
    move |register, lane| {
        let random = numbers(register, lane);
        match lane % 4 {
            0 => (random & 0x83ff_ffff) + 0x3e00_0000,
            1 => random & 0x807f_ffff | (random >> 9 & 0x1ff_ffff) % 3 << 23,
            _ => random,
        }
    }
}

/// Register contents that suit an operation.
fn contents(op: Op, seed: u64) -> Box<dyn Fn(usize, usize) -> u32> {
    let signature = op.signature();
    let has = |elem: &[Elem]| signature.src.iter().any(|ty| elem.contains(&ty.elem));
    let name = op.name();
    if name.starts_with("v_dot4_f32") {
        // Addends of about the same size as the products.
        let numbers = numbers(seed);
        Box::new(move |register, lane| {
            let random = numbers(register, lane);
            if register == 8 && lane % 4 != 0 { (random & 0x8fff_ffff) + 0x3800_0000 } else { random }
        })
    } else if name.contains("_f32_fp8") || name.contains("_f32_bf8") || name.contains("_i32_i16") {
        Box::new(numbers(seed))
    } else if has(&[Elem::F64]) {
        Box::new(doubles(seed))
    } else if has(&[Elem::F16]) {
        Box::new(halves(seed))
    } else if has(&[Elem::F32]) {
        Box::new(singles(seed))
    } else {
        Box::new(numbers(seed))
    }
}

/// Output modifiers of a result in its format.
fn modified(op: Op, setting: &Setting, format: Float, bits: u64) -> u64 {
    let (mode, mods) = (setting.mode, &setting.mods);
    let gfx12 = setting.generation == Generation::Gfx12;
    let flushes = flushes(format, mode)[1] || always_multiplies(op, setting.generation);
    let allowed = gfx12 || mode & 0x200 == 0 && flushes;
    let mut bits = bits;
    if mods.omod != 0 && allowed && !format.is_nan(bits) && !format.is_infinite(bits) {
        let power = [0, 1, 2, -1][usize::from(mods.omod)];
        bits = if bits & format.infinity() == 0 {
            0
        } else {
            let round = match format {
                _ if is_transcendental(op) => 0,
                F32 => mode & 3,
                _ => mode >> 2 & 3,
            };
            let scaled = format.round(&format.value(bits).scaled(power), round | FLUSH);
            if format.is_infinite(scaled) && format == F16 && mode >> 23 & 1 != 0 {
                scaled - 1
            } else {
                scaled
            }
        };
    }
    if mods.clamp {
        let one = format.infinity() >> 1 & format.infinity();
        if format.is_nan(bits) {
            bits = if gfx12 || mode & 0x100 != 0 { 0 } else { bits };
        } else if bits & format.sign() != 0 {
            bits = 0;
        } else if bits > one {
            bits = one;
        }
    }
    bits
}

/// The expected result of a lane: bits of the destination, of the mask, and the tolerance.
struct Expected {
    bits: u64,
    flag: bool,
    tolerance: i64,
}

fn expect(op: Op, setting: &Setting, model: Model, i: &In, finite: bool) -> Expected {
    let dst = op.signature().dst;
    let width = dst.bits();
    let limit = |value: i128, signed: bool| {
        let (least, most) = if signed {
            (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
        } else {
            (0, (1i128 << width) - 1)
        };
        (if i.clamp { value.clamp(least, most) } else { value }) as u64 & mask_of(width)
    };
    let (bits, flag, tolerance) = match model(i) {
        Out::Bits(bits) => (bits, false, 0),
        Out::Flag(bits, flag) => (bits, flag, 0),
        Out::Sat(value, signed) => (limit(value, signed), false, 0),
        Out::SatFlag(value, signed, flag) => (limit(value, signed), flag, 0),
        Out::Mask(flag) => (0, flag, 0),
        Out::Near(value) => (F64.convert(value.to_bits(), i.format, 0), false, 1),
    };
    let untouched = ["v_div_scale", "v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_pk_", "v_pack", "v_dot2_bf16"];
    let Some(format) = float_of(dst).filter(|_| dst.count == 1) else {
        return Expected { bits: bits & mask_of(width), flag, tolerance };
    };
    let out = flushes(format, i.mode)[1] || always_flushes(op, i.generation);
    let kept = is_on_grid(op, i.generation) || keeps_result(op);
    let bits = if out && !kept && format.is_subnormal(bits) { bits & format.sign() } else { bits };
    let saturates = format == F16 && i.mode >> 23 & 1 != 0 && finite && !kept;
    let bits = if saturates && format.is_infinite(bits) { bits - 1 } else { bits };
    let bits = if untouched.iter().any(|prefix| op.name().starts_with(prefix)) {
        bits
    } else {
        modified(op, setting, format, bits)
    };
    Expected { bits, flag, tolerance }
}

/// Tests an operation in one setting; returns the first difference, if any.
fn check(op: Op, model: Model, setting: &Setting) -> Option<String> {
    let signature = op.signature();
    let fill = contents(op, setting.seed);
    let mut case = Case::new(op, Format::Vop3).mods(setting.mods);
    case.generation = setting.generation;
    let format = signature.src.iter().chain([&signature.dst]).find_map(|ty| float_of(*ty)).unwrap_or(F32);
    let carry = 0x0f1e_2d3c_4b5a_6978u64;
    let wide = |register: usize, words: usize, lane: usize| {
        let low = u64::from(fill(register, lane));
        if words == 2 { low | u64::from(fill(register + 1, lane)) << 32 } else { low }
    };
    let expected: Vec<Expected> = (0..64)
        .map(|lane| {
            let mut bits = [0; 4];
            let mut finite = true;
            let s = std::array::from_fn(|k| {
                let ty = signature.src[k];
                if !ty.exists() || ty.elem == Elem::Mask {
                    return 0;
                }
                bits[k] = ty.bits();
                let mut value = wide(4 + 2 * k, ty.dwords() as usize, lane);
                if ty.is_half() {
                    value = value >> (16 * (setting.mods.op_sel >> k & 1)) & 0xffff;
                }
                if let Some(float) = float_of(ty).filter(|_| ty.count == 2 && has_modified_pairs(op)) {
                    let half = |select: u8, negate: u8| {
                        let half = value >> (16 * (select >> k & 1)) & 0xffff;
                        if negate >> k & 1 != 0 { half ^ float.sign() } else { half }
                    };
                    let mods = &setting.mods;
                    value = half(mods.op_sel, mods.neg) | half(mods.op_sel_hi, mods.neg_hi) << 16;
                }
                if ty.count == 2 && has_paired_signs(op) {
                    let signs = 0x8000_8000;
                    value &= if setting.mods.abs >> k & 1 != 0 { !signs } else { u64::MAX };
                    value ^= if setting.mods.neg >> k & 1 != 0 { signs } else { 0 };
                }
                if let Some(float) = float_of(ty).filter(|_| ty.count == 1) {
                    if setting.mods.abs >> k & 1 != 0 {
                        value &= !float.sign();
                    }
                    if setting.mods.neg >> k & 1 != 0 {
                        value ^= float.sign();
                    }
                    let class = op.name().contains("_class_");
                    let flush = flushes(float, setting.mode)[0] && float != BF16
                        || always_flushes(op, setting.generation);
                    let kept = op.name().starts_with("v_mov")
                        || is_on_grid(op, setting.generation)
                        || keeps_source(op, k);
                    if flush && !class && !kept && float.is_subnormal(value) {
                        value &= float.sign();
                    }
                    finite &= !float.is_infinite(value);
                }
                value
            });
            let i = In {
                op,
                s,
                bits,
                mask: carry >> lane & 1 != 0,
                old: wide(0, case.words[0].min(2), lane),
                lane: lane as u32,
                mode: setting.mode,
                generation: setting.generation,
                format,
                clamp: setting.mods.clamp,
                neg: setting.mods.neg,
                flush_out: flushes_results(op, setting),
            };
            expect(op, setting, model, &i, finite)
        })
        .collect();
    let sizes: &[usize] = if setting.generation.is_cdna() { &[64] } else { &[32, 64] };
    for &lanes in sizes {
        for exec in [super::masks(lanes)[0], super::masks(lanes)[3]] {
            for &level in Level::available() {
                let bench = case.run(level, lanes, exec, setting.mode, &fill);
                for (lane, expected) in expected[..lanes].iter().enumerate() {
                    let enabled = exec >> lane & 1 != 0;
                    let words = case.words[0].min(2);
                    let old = wide(0, words, lane);
                    let low = u64::from(bench.get(0, lane));
                    let got = if words == 2 { low | u64::from(bench.get(1, lane)) << 32 } else { low };
                    let whole = if !enabled {
                        old
                    } else if signature.dst.is_half() {
                        let high = setting.mods.op_sel & 8 != 0;
                        let keeps = keeps_rest(op, setting.generation);
                        match (high, keeps) {
                            (true, _) => old & 0xffff | expected.bits << 16,
                            (false, true) => old & 0xffff_0000 | expected.bits,
                            (false, false) => expected.bits,
                        }
                    } else {
                        expected.bits
                    };
                    let close = expected.tolerance != 0 && enabled && {
                        let shift =
                            if signature.dst.is_half() && setting.mods.op_sel & 8 != 0 { 16 } else { 0 };
                        let part = |bits: u64| format.order(bits >> shift & mask_of(signature.dst.bits()));
                        (part(got) - part(whole)).abs() <= expected.tolerance
                    };
                    let writes_mask = signature.dst.elem == Elem::Mask || signature.sdst.exists();
                    let flag = bench.wave.scalar64(20) >> lane & 1 != 0;
                    let wrong_mask = writes_mask && flag != (enabled && expected.flag);
                    let wrong = words != 0 && got != whole && !close;
                    if wrong || wrong_mask {
                        let sources: Vec<String> =
                            (0..3).map(|k| format!("{:#x}", wide(4 + 2 * k, 2, lane))).collect();
                        return Some(format!(
                            "{} {:?} {level:?} wave{lanes} lane {lane} mode {:#x} {:?}: {sources:?} old {old:#x}: {got:#x} {flag}, \
                             not {whole:#x} {}",
                            op.name(),
                            setting.generation,
                            setting.mode,
                            setting.mods,
                            expected.flag
                        ));
                    }
                }
            }
        }
    }
    None
}

#[test]
fn operations_match_their_models() {
    let mut failures = Vec::new();
    let mut count = 0;
    for &op in Op::ALL.iter().filter(|op| is_lane_operation(**op)) {
        if ELSEWHERE.iter().any(|(_, ops)| ops.contains(&op)) {
            continue;
        }
        let Some(model) = model(op) else { continue };
        for &generation in GENERATIONS.get(&op).into_iter().flatten() {
            count += 1;
            failures.extend(settings(op, generation).iter().find_map(|setting| check(op, model, setting)));
        }
    }
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 1000, "only {count} operations were tried");
}

#[test]
fn no_operation_is_without_a_model() {
    let listed = |op: Op| ELSEWHERE.iter().any(|(_, ops)| ops.contains(&op));
    let missing: Vec<&str> = Op::ALL
        .iter()
        .filter(|op| is_lane_operation(**op) && model(**op).is_none() && !listed(**op))
        .map(|op| op.name())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn sums_of_differences_go_to_four_registers() {
    let fill = numbers(77);
    for clamp in [false, true] {
        let case = Case::new(Op::VMqsadU32U8, Format::Vop3).mods(Modifiers { clamp, ..Modifiers::default() });
        for &level in Level::available() {
            let bench = case.run(level, 64, u64::MAX, 0x1f0, &fill);
            for lane in 0..64 {
                let data = u64::from(fill(4, lane)) | u64::from(fill(5, lane)) << 32;
                for k in 0..4 {
                    let reference = fill(6, lane).to_le_bytes();
                    let sum: u64 = (0..4)
                        .filter(|n| reference[*n] != 0)
                        .map(|n| u64::from(((data >> (8 * (k + n))) as u8).abs_diff(reference[n])))
                        .sum();
                    let total = sum + u64::from(fill(8 + k, lane));
                    let total = if clamp { total.min(u64::from(u32::MAX)) } else { total };
                    assert_eq!(bench.get(k, lane), total as u32, "{level:?} lane {lane} part {k}");
                }
            }
        }
    }
}

#[test]
fn noise_decides_between_the_two_nearest_bytes() {
    for (op, decode, digits) in
        [(Op::VCvtSrFp8F32, Op::VCvtF32Fp8, 20), (Op::VCvtSrBf8F32, Op::VCvtF32Bf8, 21)]
    {
        let unpack = model(decode).unwrap_or_else(|| panic!("{decode:?} has no model"));
        for generation in [Generation::Gfx940, Generation::Gfx12] {
            let value = |code: u64| {
                let i = In {
                    op: decode,
                    s: [code, 0, 0, 0],
                    bits: [8; 4],
                    mask: false,
                    old: 0,
                    lane: 0,
                    mode: 0x1f0,
                    generation,
                    format: F32,
                    clamp: false,
                    neg: 0,
                    flush_out: false,
                };
                match unpack(&i) {
                    Out::Bits(bits) => F32.to_f64(bits),
                    _ => 0.0,
                }
            };
            for place in 0..4u8 {
                // Numbers between the smallest and the largest of the formats.
                let random = numbers(place.into());
                let fill = move |register: usize, lane: usize| match register {
                    4 => {
                        (random(4, lane) & 0x87ff_ffff) % 0x0700_0000 + 0x3a80_0000
                            | random(4, lane) & 0x8000_0000
                    }
                    _ => random(register, lane),
                };
                let mut case = Case::new(op, Format::Vop3)
                    .mods(Modifiers { op_sel: place << 2, ..Modifiers::default() });
                case.generation = generation;
                for &level in Level::available() {
                    let bench = case.run(level, 64, u64::MAX, 0x1f0, &fill);
                    for lane in 0..64 {
                        let number = F32.to_f64(u64::from(fill(4, lane)));
                        let size = number.abs();
                        let low = (0..0x7e).rev().find(|code| value(*code) <= size).unwrap_or(0);
                        let part = (size - value(low)) / (value(low + 1) - value(low));
                        let noise = f64::from(fill(6, lane) >> (32 - digits)) / f64::from(1 << digits);
                        let code = low + u64::from(part + noise >= 1.0);
                        let code = if code == 0 && generation == Generation::Gfx940 {
                            0
                        } else {
                            code | u64::from(number < 0.0) << 7
                        };
                        let old = fill(0, lane);
                        let shift = 8 * u32::from(place);
                        let wanted = old & !(0xff << shift) | (code as u32) << shift;
                        assert_eq!(bench.get(0, lane), wanted, "{op:?} {generation:?} {level:?} {number}");
                    }
                }
            }
        }
    }
}
