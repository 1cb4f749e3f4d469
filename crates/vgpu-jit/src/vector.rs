//! Vector instructions: what each operation computes from its sources.

use vgpu_exec::native::{Source, Step};
use vgpu_isa::{Op, scalar};

use crate::host::V;
use crate::region::{Id, Region, slots};
use crate::values::{Build, CHOOSE, OR3, UNORDERED, XOR3};

/// What an operation gives. Masks go to scalar registers.
#[derive(Clone, Copy)]
enum Form {
    /// A number.
    One(fn(&mut Build<'_>) -> Id),
    /// Two numbers, for two registers.
    Two(fn(&mut Build<'_>) -> [Id; 2]),
    /// A number of 16 bits, with zeros above, for a part of a register.
    Half(fn(&mut Build<'_>) -> Id),
    /// A number, and a mask for the second destination.
    Carry(fn(&mut Build<'_>) -> (Id, Id)),
    /// Two numbers and a mask.
    WideCarry(fn(&mut Build<'_>) -> ([Id; 2], Id)),
    /// A mask.
    Mask(fn(&mut Build<'_>) -> Id),
}

/// What the sources are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// 32-bit numbers, or pairs.
    Numbers,
    /// Pairs of f32, with modifiers for each half.
    Packed,
    /// Each an f32 or half of a register as f16, by the modifiers.
    Mixed,
    /// All lanes of a mask, and a number.
    AllLanes,
    /// Halves of registers, by the modifiers.
    Halves,
    /// Both halves of registers, with modifiers for each.
    BothHalves,
}

/// An operation: how its results are computed from its sources.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    form: Form,
    operands: Operands,
    /// How many of the sources are numbers.
    sources: u8,
    /// The source that is a lane mask.
    mask: Option<u8>,
}

/// An operation's entry if it has a native form with these operands.
pub(crate) fn find_for(op: Op, step: &Step) -> Option<Entry> {
    find(op).filter(|entry| accepts(entry, step))
}

/// Whether an operation has a native form with these operands.
pub(crate) fn is_native(op: Op, step: &Step) -> bool {
    find_for(op, step).is_some()
}

/// Whether an operation with a native form writes EXEC.
pub(crate) fn writes_exec(op: Op, step: &Step) -> bool {
    find(op).is_some_and(|entry| written(&entry, step).into_iter().any(|slot| slot == scalar::EXEC))
}

/// The scalar registers to which an operation writes a mask, or none.
fn written(entry: &Entry, step: &Step) -> [u8; 2] {
    match entry.form {
        Form::Mask(_) => [step.scalar, step.second],
        Form::Carry(_) | Form::WideCarry(_) => [step.second, scalar::NULL],
        Form::One(_) | Form::Two(_) | Form::Half(_) => [scalar::NULL; 2],
    }
}

fn accepts(entry: &Entry, step: &Step) -> bool {
    let mods = &step.mods;
    if mods.omod != 0 || mods.clamp || entry.operands == Operands::Numbers && mods.op_sel & 7 != 0 {
        return false;
    }
    let all = |source| matches!(source, Source::Constant(mask) if mask as u32 == u32::MAX);
    if entry.operands == Operands::AllLanes && !all(step.src[0]) {
        return false;
    }
    let reads = |i: usize| match step.src[i] {
        Source::Other => false,
        Source::Scalar(slot) if entry.mask == Some(i as u8) => is_mask(slot),
        // Which halves of constants are read differs between generations.
        Source::Constant(_) if matches!(entry.operands, Operands::Packed | Operands::BothHalves) => false,
        Source::Constant(_) if entry.operands == Operands::Halves && mods.op_sel >> i & 1 != 0 => false,
        _ => entry.mask != Some(i as u8),
    };
    let count = usize::from(entry.sources) + usize::from(entry.mask.is_some());
    let has_register = matches!(entry.form, Form::Mask(_)) || step.dst.is_some();
    has_register && (0..count).all(reads) && written(entry, step).into_iter().all(is_mask)
}

/// Whether a lane mask of any size can be in these scalar registers.
fn is_mask(slot: u8) -> bool {
    slot < scalar::M0 || slot == scalar::NULL || slot == scalar::EXEC
}

/// Whether a region can have an operation with a native form as its next.
pub(crate) fn fits(region: &Region, entry: &Entry, step: &Step) -> bool {
    let mut numbers = 0;
    let mut masks: Vec<u8> = written(entry, step).into_iter().filter(|slot| *slot != scalar::NULL).collect();
    for (i, source) in step.src.iter().enumerate() {
        match source {
            Source::Scalar(slot) if entry.mask == Some(i as u8) => masks.push(*slot),
            Source::Scalar(slot) => numbers |= slots(*slot, true),
            _ => {}
        }
    }
    let count = match entry.form {
        Form::One(_) | Form::Half(_) | Form::Carry(_) => 1,
        Form::Two(_) | Form::WideCarry(_) => 2,
        Form::Mask(_) => 0,
    };
    let first = step.dst.unwrap_or(0);
    region.admits(numbers, &masks) && region.has_room(first..first + count)
}

/// Adds an operation with a native form to a region.
pub(crate) fn build(region: &mut Region, entry: &Entry, step: &Step) {
    let mut build = Build::new(region, step);
    let (low, high, mask) = match entry.form {
        Form::One(form) => (Some(form(&mut build)), None, None),
        Form::Half(form) => {
            let half = form(&mut build);
            (Some(build.in_half(half)), None, None)
        }
        Form::Two(form) => {
            let [low, high] = form(&mut build);
            (Some(low), Some(high), None)
        }
        Form::Carry(form) => {
            let (low, mask) = form(&mut build);
            (Some(low), None, Some(mask))
        }
        Form::WideCarry(form) => {
            let ([low, high], mask) = form(&mut build);
            (Some(low), Some(high), Some(mask))
        }
        Form::Mask(form) => (None, None, Some(form(&mut build))),
    };
    for (offset, value) in [low, high].into_iter().enumerate() {
        if let (Some(register), Some(value)) = (step.dst, value) {
            region.set_register(register + offset as u16, value);
        }
    }
    if let Some(mask) = mask {
        let inverted = matches!(entry.form, Form::Mask(_)) && step.inverted;
        for slot in written(entry, step) {
            if slot != scalar::NULL {
                region.set_mask(slot, mask, inverted);
            }
        }
    }
}

/// Rows: operations, form, sources, and the source that is a mask.
macro_rules! table {
    ($($($op:ident)|+ => $form:ident |$b:ident| $body:expr, $operands:ident $sources:literal $(, mask $mask:literal)?;)*) => {
        fn find(op: Op) -> Option<Entry> {
            Some(match op {
                $($(Op::$op)|+ => Entry {
                    form: Form::$form(|$b| $body),
                    operands: Operands::$operands,
                    sources: $sources,
                    mask: { let mask: Option<u8> = None; $(let mask = { let _ = mask; Some($mask) };)? mask },
                },)*
                _ => return None,
            })
        }
    };
}

#[rustfmt::skip]
table! {
    VMovB32 | VAccvgprReadB32 | VAccvgprWriteB32 | VAccvgprMovB32 => One |b| b.float(0), Numbers 1;
    VCndmaskB32 => One |b| b.conditional(), Numbers 2, mask 2;
    VNotB32 => One |b| { let a = b.get(0); b.with(V::Xor, a, u32::MAX) }, Numbers 1;
    VAndB32 => One |b| b.binary(V::And), Numbers 2;
    VOrB32 => One |b| b.binary(V::Or), Numbers 2;
    VXorB32 => One |b| b.binary(V::Xor), Numbers 2;
    VXnorB32 => One |b| { let a = b.binary(V::Xor); b.with(V::Xor, a, u32::MAX) }, Numbers 2;
    VLshlrevB32 => One |b| b.shift(V::Shl, 1, 0), Numbers 2;
    VLshrrevB32 => One |b| b.shift(V::Shr, 1, 0), Numbers 2;
    VAshrrevI32 => One |b| b.shift(V::Sar, 1, 0), Numbers 2;
    VLshlrevB64 => Two |b| b.shift_left(), Numbers 2;
    VLshrrevB64 => Two |b| b.shift_right(V::Shr), Numbers 2;
    VAshrrevI64 => Two |b| b.shift_right(V::Sar), Numbers 2;
    VAddNcU32 | VAddNcI32 => One |b| b.binary(V::Add), Numbers 2;
    VSubNcU32 | VSubNcI32 => One |b| b.binary(V::Sub), Numbers 2;
    VSubrevNcU32 => One |b| b.reversed(V::Sub), Numbers 2;
    VAddCoU32 => Carry |b| b.add_carry(), Numbers 2;
    VSubCoU32 => Carry |b| b.sub_borrow(0, 1), Numbers 2;
    VSubrevCoU32 => Carry |b| b.sub_borrow(1, 0), Numbers 2;
    VAddCoCiU32 => Carry |b| b.add_with_carry(), Numbers 2, mask 2;
    VSubCoCiU32 => Carry |b| b.sub_with_borrow(0, 1), Numbers 2, mask 2;
    VSubrevCoCiU32 => Carry |b| b.sub_with_borrow(1, 0), Numbers 2, mask 2;
    VMinU32 => One |b| b.binary(V::MinUnsigned), Numbers 2;
    VMaxU32 => One |b| b.binary(V::MaxUnsigned), Numbers 2;
    VMinI32 => One |b| b.binary(V::MinSigned), Numbers 2;
    VMaxI32 => One |b| b.binary(V::MaxSigned), Numbers 2;
    VMin3U32 => One |b| b.chain(V::MinUnsigned, V::MinUnsigned), Numbers 3;
    VMax3U32 => One |b| b.chain(V::MaxUnsigned, V::MaxUnsigned), Numbers 3;
    VMin3I32 => One |b| b.chain(V::MinSigned, V::MinSigned), Numbers 3;
    VMax3I32 => One |b| b.chain(V::MaxSigned, V::MaxSigned), Numbers 3;
    VMed3U32 => One |b| b.median(V::MinUnsigned, V::MaxUnsigned), Numbers 3;
    VMed3I32 => One |b| b.median(V::MinSigned, V::MaxSigned), Numbers 3;
    VMulLoU32 => One |b| b.binary(V::Mul), Numbers 2;
    VMulHiU32 => One |b| { let (x, y) = (b.get(0), b.get(1)); b.mul_high(x, y, V::MulEven) }, Numbers 2;
    VMulHiI32 => One |b| { let (x, y) = (b.get(0), b.get(1)); b.mul_high(x, y, V::MulEvenSigned) }, Numbers 2;
    VMulU32U24 => One |b| b.product24(false), Numbers 2;
    VMulI32I24 => One |b| b.product24(true), Numbers 2;
    VMadU32U24 => One |b| { let (product, c) = (b.product24(false), b.get(2)); b.op(V::Add, product, c) }, Numbers 3;
    VMadI32I24 => One |b| { let (product, c) = (b.product24(true), b.get(2)); b.op(V::Add, product, c) }, Numbers 3;
    VMadU64U32 => WideCarry |b| b.mad_wide(), Numbers 3;
    VAdd3U32 => One |b| b.chain(V::Add, V::Add), Numbers 3;
    VAddLshlU32 => One |b| { let (a, by) = (b.binary(V::Add), b.count(2)); b.shifted(V::Shl, a, by) }, Numbers 3;
    VLshlAddU32 => One |b| { let (a, c) = (b.shift(V::Shl, 0, 1), b.get(2)); b.op(V::Add, a, c) }, Numbers 3;
    VLshlOrB32 => One |b| { let (a, c) = (b.shift(V::Shl, 0, 1), b.get(2)); b.op(V::Or, a, c) }, Numbers 3;
    VAndOrB32 => One |b| b.chain(V::And, V::Or), Numbers 3;
    VOr3B32 => One |b| b.bitwise(OR3), Numbers 3;
    VXor3B32 => One |b| b.bitwise(XOR3), Numbers 3;
    VBfiB32 => One |b| b.bitwise(CHOOSE), Numbers 3;
    VXadU32 => One |b| b.chain(V::Xor, V::Add), Numbers 3;
    VBfeU32 => One |b| b.bfe(V::Shr), Numbers 3;
    VBfeI32 => One |b| b.bfe(V::Sar), Numbers 3;
    VAlignbitB32 => One |b| b.align_bit(), Numbers 3;
    VAddF32 => One |b| b.float_binary(V::AddF32, 0, 1), Numbers 2;
    VSubF32 => One |b| b.float_binary(V::SubF32, 0, 1), Numbers 2;
    VSubrevF32 => One |b| b.float_binary(V::SubF32, 1, 0), Numbers 2;
    VMulF32 => One |b| b.float_binary(V::MulF32, 0, 1), Numbers 2;
    VFmaF32 | VFmacF32 | VFmamkF32 | VFmaakF32 => One |b| b.fma(), Numbers 3;
    VMovB16 => Half |b| b.word(0), Halves 1;
    VNotB16 => Half |b| { let a = b.word(0); b.with(V::Xor, a, 0xffff) }, Halves 1;
    VAndB16 => Half |b| b.words(V::And), Halves 2;
    VOrB16 => Half |b| b.words(V::Or), Halves 2;
    VXorB16 => Half |b| b.words(V::Xor), Halves 2;
    VLshlrevB16 => Half |b| b.shift_word(V::Shl), Halves 2;
    VLshrrevB16 => Half |b| b.shift_word(V::Shr), Halves 2;
    VAshrrevI16 => Half |b| b.shift_word(V::Sar), Halves 2;
    VAddNcU16 | VAddNcI16 => Half |b| b.words(V::Add), Halves 2;
    VSubNcU16 | VSubNcI16 => Half |b| b.words(V::Sub), Halves 2;
    VSubrevNcU16 => Half |b| { let (x, y) = (b.word(0), b.word(1)); b.low_word(V::Sub, y, x) }, Halves 2;
    VMulLoU16 => Half |b| b.words(V::Mul), Halves 2;
    VMadU16 => Half |b| { let (x, c) = (b.words(V::Mul), b.word(2)); b.low_word(V::Add, x, c) }, Halves 3;
    VMinU16 => Half |b| b.words(V::MinUnsigned), Halves 2;
    VMaxU16 => Half |b| b.words(V::MaxUnsigned), Halves 2;
    VMinI16 => Half |b| b.signed_words(V::MinSigned), Halves 2;
    VMaxI16 => Half |b| b.signed_words(V::MaxSigned), Halves 2;
    VAddF16 => Half |b| b.half_binary(V::AddF32, 0, 1), Halves 2;
    VSubF16 => Half |b| b.half_binary(V::SubF32, 0, 1), Halves 2;
    VSubrevF16 => Half |b| b.half_binary(V::SubF32, 1, 0), Halves 2;
    VMulF16 => Half |b| b.half_binary(V::MulF32, 0, 1), Halves 2;
    VFmaF16 | VFmacF16 | VFmamkF16 | VFmaakF16 => Half |b| b.half_fma(), Halves 3;
    VCvtF16F32 => Half |b| b.half_of_float(), Numbers 1;
    VPkAddF16 => One |b| b.both(|b| b.half_binary(V::AddF32, 0, 1)), BothHalves 2;
    VPkMulF16 => One |b| b.both(|b| b.half_binary(V::MulF32, 0, 1)), BothHalves 2;
    VPkFmaF16 => One |b| b.both(Build::half_fma), BothHalves 3;
    VPkAddU16 | VPkAddI16 => One |b| b.both(|b| b.words(V::Add)), BothHalves 2;
    VPkSubU16 | VPkSubI16 => One |b| b.both(|b| b.words(V::Sub)), BothHalves 2;
    VPkMulLoU16 => One |b| b.both(|b| b.words(V::Mul)), BothHalves 2;
    VPkMinU16 => One |b| b.both(|b| b.words(V::MinUnsigned)), BothHalves 2;
    VPkMaxU16 => One |b| b.both(|b| b.words(V::MaxUnsigned)), BothHalves 2;
    VPkMinI16 => One |b| b.both(|b| b.signed_words(V::MinSigned)), BothHalves 2;
    VPkMaxI16 => One |b| b.both(|b| b.signed_words(V::MaxSigned)), BothHalves 2;
    VPkLshlrevB16 => One |b| b.both(|b| b.shift_word(V::Shl)), BothHalves 2;
    VPkLshrrevB16 => One |b| b.both(|b| b.shift_word(V::Shr)), BothHalves 2;
    VPkAshrrevI16 => One |b| b.both(|b| b.shift_word(V::Sar)), BothHalves 2;
    VRcpF32 | VRcpIflagF32 => One |b| b.reciprocal(), Numbers 1;
    VExpF32 => One |b| b.function(V::Exp2), Numbers 1;
    VRsqF32 => One |b| b.function(V::ReciprocalRoot), Numbers 1;
    VSqrtF32 => One |b| b.root(), Numbers 1;
    VMbcntLoU32B32 => One |b| b.lanes_before(0), AllLanes 2;
    VMbcntHiU32B32 => One |b| b.lanes_before(32), AllLanes 2;
    VCvtF32F16 => One |b| b.widened(0), Numbers 1;
    VFmaMixF32 => One |b| b.mixed_fma(), Mixed 3;
    VDot4I32I8 | VDot4cI32I8 => One |b| b.dot_bytes(Some([true; 2])), Numbers 3;
    VDot4U32U8 => One |b| b.dot_bytes(Some([false; 2])), Numbers 3;
    VDot4I32Iu8 => One |b| b.dot_bytes(None), Numbers 3;
    VPkAddF32 => Two |b| b.packed_binary(V::AddF32), Packed 2;
    VPkMulF32 => Two |b| b.packed_binary(V::MulF32), Packed 2;
    VPkFmaF32 => Two |b| b.packed_fma(), Packed 3;
    VMinF32 => One |b| b.minmax(V::MinF32, V::Or), Numbers 2;
    VMaxF32 => One |b| b.minmax(V::MaxF32, V::And), Numbers 2;
    VFloorF32 => One |b| b.round(9), Numbers 1;
    VCeilF32 => One |b| b.round(10), Numbers 1;
    VTruncF32 => One |b| b.round(11), Numbers 1;
    VRndneF32 => One |b| b.round(8), Numbers 1;
    VCvtF32I32 => One |b| { let a = b.get(0); b.op(V::F32OfSigned, a, 0) }, Numbers 1;
    VCvtF32U32 => One |b| b.float_of_unsigned(), Numbers 1;
    VCvtF32Ubyte0 => One |b| b.float_of_byte(0), Numbers 1;
    VCvtF32Ubyte1 => One |b| b.float_of_byte(1), Numbers 1;
    VCvtF32Ubyte2 => One |b| b.float_of_byte(2), Numbers 1;
    VCvtF32Ubyte3 => One |b| b.float_of_byte(3), Numbers 1;
    VCvtI32F32 => One |b| b.signed_of_float(), Numbers 1;
    VCvtU32F32 => One |b| b.unsigned_of_float(), Numbers 1;
    VCmpLtF32 | VCmpxLtF32 | VCmpNltF32 | VCmpxNltF32 => Mask |b| b.compare_floats(0x11), Numbers 2;
    VCmpEqF32 | VCmpxEqF32 | VCmpNeqF32 | VCmpxNeqF32 => Mask |b| b.compare_floats(0x00), Numbers 2;
    VCmpLeF32 | VCmpxLeF32 | VCmpNleF32 | VCmpxNleF32 => Mask |b| b.compare_floats(0x12), Numbers 2;
    VCmpGtF32 | VCmpxGtF32 | VCmpNgtF32 | VCmpxNgtF32 => Mask |b| b.compare_floats(0x1e), Numbers 2;
    VCmpLgF32 | VCmpxLgF32 | VCmpNlgF32 | VCmpxNlgF32 => Mask |b| b.compare_floats(0x0c), Numbers 2;
    VCmpGeF32 | VCmpxGeF32 | VCmpNgeF32 | VCmpxNgeF32 => Mask |b| b.compare_floats(0x1d), Numbers 2;
    VCmpUF32 | VCmpxUF32 | VCmpOF32 | VCmpxOF32 => Mask |b| b.compare_floats(UNORDERED), Numbers 2;
    VCmpLtI32 | VCmpxLtI32 | VCmpGeI32 | VCmpxGeI32 => Mask |b| b.greater(1, 0, true), Numbers 2;
    VCmpGtI32 | VCmpxGtI32 | VCmpLeI32 | VCmpxLeI32 => Mask |b| b.greater(0, 1, true), Numbers 2;
    VCmpLtU32 | VCmpxLtU32 | VCmpGeU32 | VCmpxGeU32 => Mask |b| b.greater(1, 0, false), Numbers 2;
    VCmpGtU32 | VCmpxGtU32 | VCmpLeU32 | VCmpxLeU32 => Mask |b| b.greater(0, 1, false), Numbers 2;
    VCmpEqI32 | VCmpxEqI32 | VCmpEqU32 | VCmpxEqU32 | VCmpNeI32 | VCmpxNeI32 | VCmpNeU32 | VCmpxNeU32
        => Mask |b| b.binary(V::Equal), Numbers 2;
    VCmpLtI64 | VCmpxLtI64 | VCmpGeI64 | VCmpxGeI64 => Mask |b| b.greater_wide(1, 0, true), Numbers 2;
    VCmpGtI64 | VCmpxGtI64 | VCmpLeI64 | VCmpxLeI64 => Mask |b| b.greater_wide(0, 1, true), Numbers 2;
    VCmpLtU64 | VCmpxLtU64 | VCmpGeU64 | VCmpxGeU64 => Mask |b| b.greater_wide(1, 0, false), Numbers 2;
    VCmpGtU64 | VCmpxGtU64 | VCmpLeU64 | VCmpxLeU64 => Mask |b| b.greater_wide(0, 1, false), Numbers 2;
    VCmpEqI64 | VCmpxEqI64 | VCmpEqU64 | VCmpxEqU64 | VCmpNeI64 | VCmpxNeI64 | VCmpNeU64 | VCmpxNeU64
        => Mask |b| b.equal_wide(), Numbers 2;
}
