//! Scalar operations on values: arithmetic, bits, comparisons, selections.

use vgpu_isa::{Op, scalar};

use super::{read32, read64};
use crate::{Code, Flow, Handler, Wave};

/// A scalar operand type.
trait Value: Copy {
    fn read(wave: &Wave, src: crate::Src) -> Self;
    fn load(wave: &Wave, slot: u32) -> Self;
    fn store(self, wave: &mut Wave, slot: u32);
}

macro_rules! values {
    ($($type:ty: $read:ident, $wide:literal;)*) => {$(
        impl Value for $type {
            #[inline(always)]
            fn read(wave: &Wave, src: crate::Src) -> Self {
                $read(wave, src) as $type
            }
            #[inline(always)]
            fn load(wave: &Wave, slot: u32) -> Self {
                if $wide { wave.scalar64(slot as u8) as $type } else { wave.sgpr[slot as usize & 127] as $type }
            }
            #[inline(always)]
            fn store(self, wave: &mut Wave, slot: u32) {
                if $wide { wave.set_scalar64(slot as u8, self as u64) } else { wave.set_scalar(slot as u8, self as u32) }
            }
        }
    )*};
}

values! {
    u32: read32, false;
    i32: read32, false;
    u64: read64, true;
    i64: read64, true;
}

/// Defines the handler of each operation. The forms are: `(a: A, b: B) -> D` writes a result; `=> D` also
/// sets SCC if the result is not zero; `-> D, scc` returns both in a tuple; `? scc` only sets SCC. `old` is
/// the previous value of the destination, `scc` the condition code.
macro_rules! operations {
    ($($($op:ident)|+: $kind:ident |$wave:ident, $old:ident: $d:ty, $a:ident: $at:ty, $b:ident: $bt:ty| $body:expr;)*) => {
        /// The handler of a scalar operation on values.
        pub(super) fn handler(op: Op) -> Option<Handler> {
            match op {
                $($(Op::$op)|+ => {
                    unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
                        let $wave = &*wave;
                        let $old = <$d>::load($wave, code.dst);
                        let $a = <$at>::read($wave, code.src[0]);
                        let $b = <$bt>::read($wave, code.src[1]);
                        let _ = ($old, $a, $b);
                        finish!($kind, $d, wave, code, $body);
                        Flow::Next
                    }
                    Some(run)
                })*
                _ => None,
            }
        }
    };
}

macro_rules! finish {
    (value, $d:ty, $wave:ident, $code:ident, $body:expr) => {{
        let value: $d = $body;
        value.store($wave, $code.dst);
    }};
    (nonzero, $d:ty, $wave:ident, $code:ident, $body:expr) => {{
        let value: $d = $body;
        value.store($wave, $code.dst);
        $wave.scc = value != 0;
    }};
    (both, $d:ty, $wave:ident, $code:ident, $body:expr) => {{
        let (value, scc): ($d, bool) = $body;
        value.store($wave, $code.dst);
        $wave.scc = scc;
    }};
    (test, $d:ty, $wave:ident, $code:ident, $body:expr) => {{
        let scc: bool = $body;
        $wave.scc = scc;
    }};
    // The destination gets the old EXEC, and EXEC gets the result.
    (save, $d:ty, $wave:ident, $code:ident, $body:expr) => {{
        let exec = <$d>::load($wave, u32::from(scalar::EXEC));
        let value: $d = $body;
        exec.store($wave, $code.dst);
        value.store($wave, u32::from(scalar::EXEC));
        $wave.scc = value != 0;
    }};
    // The destination and EXEC get the result.
    (write, $d:ty, $wave:ident, $code:ident, $body:expr) => {{
        let value: $d = $body;
        value.store($wave, $code.dst);
        value.store($wave, u32::from(scalar::EXEC));
        $wave.scc = value != 0;
    }};
}

fn exec32(wave: &Wave) -> u32 {
    wave.sgpr[usize::from(scalar::EXEC)]
}

fn exec64(wave: &Wave) -> u64 {
    wave.scalar64(scalar::EXEC)
}

/// Extracts `width` bits from `offset` on; both come from a field operand.
fn field(value: u64, control: u32, offset_bits: u32, bits: u32, signed: bool) -> u64 {
    let offset = control & ((1 << offset_bits) - 1);
    let width = (control >> 16 & 0x7f).min(bits);
    if width == 0 {
        return 0;
    }
    if signed {
        // The highest extracted bit is the sign; bits above the operand are copies of its sign.
        let value = if bits == 32 { i64::from(value as i32) } else { value as i64 };
        let moved = value >> offset;
        (moved << (64 - width) >> (64 - width)) as u64
    } else {
        let value = if bits == 32 { value & 0xffff_ffff } else { value };
        let mask = u64::MAX >> (64 - width);
        value >> offset & mask
    }
}

/// Sets each group of `4` bits if any of them was set; `whole` sets the whole group.
fn quads(value: u64, whole: bool) -> u64 {
    let mut any = value | value >> 1;
    any |= any >> 2;
    any &= 0x1111_1111_1111_1111;
    if whole {
        return any * 15;
    }
    (0..16).fold(0, |mask, i| mask | (any >> (4 * i) & 1) << i)
}

/// The number of leading bits that equal the sign bit, or -1 if all do.
fn sign_bits(value: i64, bits: u32) -> i32 {
    let shifted = value << (64 - bits);
    let count = (shifted ^ (shifted >> 63)) as u64;
    let count = count.leading_zeros();
    if count >= bits { -1 } else { count as i32 }
}

fn found(count: u32, bits: u32) -> i32 {
    if count >= bits { -1 } else { count as i32 }
}

/// The low 16 bits of `low`, with those of `high` above them.
fn pack(low: u32, high: u32) -> u32 {
    low & 0xffff | high << 16
}

/// `(a << shift) + b`, and whether the result exceeds 32 bits.
fn shift_add(a: u32, b: u32, shift: u32) -> (u32, bool) {
    let wide = (u64::from(a) << shift) + u64::from(b);
    (wide as u32, wide >> 32 != 0)
}

operations! {
    SMovB32 | SMovkI32: value |_w, _old: u32, a: u32, _b: u32| a;
    SMovB64: value |_w, _old: u64, a: u64, _b: u32| a;
    SCmovB32 | SCmovkI32: value |w, old: u32, a: u32, _b: u32| if w.scc { a } else { old };
    SCmovB64: value |w, old: u64, a: u64, _b: u32| if w.scc { a } else { old };
    SNotB32: nonzero |_w, _old: u32, a: u32, _b: u32| !a;
    SNotB64: nonzero |_w, _old: u64, a: u64, _b: u32| !a;
    SWqmB32: nonzero |_w, _old: u32, a: u32, _b: u32| quads(u64::from(a), true) as u32;
    SWqmB64: nonzero |_w, _old: u64, a: u64, _b: u32| quads(a, true);
    SQuadmaskB32: nonzero |_w, _old: u32, a: u32, _b: u32| quads(u64::from(a), false) as u32;
    SQuadmaskB64: nonzero |_w, _old: u64, a: u64, _b: u32| quads(a, false);
    SBrevB32: value |_w, _old: u32, a: u32, _b: u32| a.reverse_bits();
    SBrevB64: value |_w, _old: u64, a: u64, _b: u32| a.reverse_bits();
    SBcnt0I32B32: nonzero |_w, _old: u32, a: u32, _b: u32| a.count_zeros();
    SBcnt0I32B64: nonzero |_w, _old: u32, a: u64, _b: u32| a.count_zeros();
    SBcnt1I32B32: nonzero |_w, _old: u32, a: u32, _b: u32| a.count_ones();
    SBcnt1I32B64: nonzero |_w, _old: u32, a: u64, _b: u32| a.count_ones();
    SFf0I32B32: value |_w, _old: i32, a: u32, _b: u32| found(a.trailing_ones(), 32);
    SFf0I32B64: value |_w, _old: i32, a: u64, _b: u32| found(a.trailing_ones(), 64);
    SCtzI32B32: value |_w, _old: i32, a: u32, _b: u32| found(a.trailing_zeros(), 32);
    SCtzI32B64: value |_w, _old: i32, a: u64, _b: u32| found(a.trailing_zeros(), 64);
    SClzI32U32: value |_w, _old: i32, a: u32, _b: u32| found(a.leading_zeros(), 32);
    SClzI32U64: value |_w, _old: i32, a: u64, _b: u32| found(a.leading_zeros(), 64);
    SClsI32: value |_w, _old: i32, a: i32, _b: u32| sign_bits(i64::from(a), 32);
    SClsI32I64: value |_w, _old: i32, a: i64, _b: u32| sign_bits(a, 64);
    SSextI32I8: value |_w, _old: i32, a: u32, _b: u32| i32::from(a as i8);
    SSextI32I16: value |_w, _old: i32, a: u32, _b: u32| i32::from(a as i16);
    SBitset0B32: value |_w, old: u32, a: u32, _b: u32| old & !(1 << (a & 31));
    SBitset1B32: value |_w, old: u32, a: u32, _b: u32| old | 1 << (a & 31);
    SBitset0B64: value |_w, old: u64, a: u32, _b: u32| old & !(1 << (a & 63));
    SBitset1B64: value |_w, old: u64, a: u32, _b: u32| old | 1 << (a & 63);
    SBitreplicateB64B32: value |_w, _old: u64, a: u32, _b: u32| {
        (0..32).fold(0, |all, i| all | (u64::from(a) >> i & 1) * 3 << (2 * i))
    };
    SAbsI32: nonzero |_w, _old: i32, a: i32, _b: u32| a.wrapping_abs();
    SAndSaveexecB32: save |w, _old: u32, a: u32, _b: u32| a & exec32(w);
    SAndSaveexecB64: save |w, _old: u64, a: u64, _b: u32| a & exec64(w);
    SOrSaveexecB32: save |w, _old: u32, a: u32, _b: u32| a | exec32(w);
    SOrSaveexecB64: save |w, _old: u64, a: u64, _b: u32| a | exec64(w);
    SXorSaveexecB32: save |w, _old: u32, a: u32, _b: u32| a ^ exec32(w);
    SXorSaveexecB64: save |w, _old: u64, a: u64, _b: u32| a ^ exec64(w);
    SNandSaveexecB32: save |w, _old: u32, a: u32, _b: u32| !(a & exec32(w));
    SNandSaveexecB64: save |w, _old: u64, a: u64, _b: u32| !(a & exec64(w));
    SNorSaveexecB32: save |w, _old: u32, a: u32, _b: u32| !(a | exec32(w));
    SNorSaveexecB64: save |w, _old: u64, a: u64, _b: u32| !(a | exec64(w));
    SXnorSaveexecB32: save |w, _old: u32, a: u32, _b: u32| !(a ^ exec32(w));
    SXnorSaveexecB64: save |w, _old: u64, a: u64, _b: u32| !(a ^ exec64(w));
    SAndNot0SaveexecB32: save |w, _old: u32, a: u32, _b: u32| !a & exec32(w);
    SAndNot0SaveexecB64: save |w, _old: u64, a: u64, _b: u32| !a & exec64(w);
    SOrNot0SaveexecB32: save |w, _old: u32, a: u32, _b: u32| !a | exec32(w);
    SOrNot0SaveexecB64: save |w, _old: u64, a: u64, _b: u32| !a | exec64(w);
    SAndNot1SaveexecB32: save |w, _old: u32, a: u32, _b: u32| a & !exec32(w);
    SAndNot1SaveexecB64: save |w, _old: u64, a: u64, _b: u32| a & !exec64(w);
    SOrNot1SaveexecB32: save |w, _old: u32, a: u32, _b: u32| a | !exec32(w);
    SOrNot1SaveexecB64: save |w, _old: u64, a: u64, _b: u32| a | !exec64(w);
    SAndNot0WrexecB32: write |w, _old: u32, a: u32, _b: u32| !a & exec32(w);
    SAndNot0WrexecB64: write |w, _old: u64, a: u64, _b: u32| !a & exec64(w);
    SAndNot1WrexecB32: write |w, _old: u32, a: u32, _b: u32| a & !exec32(w);
    SAndNot1WrexecB64: write |w, _old: u64, a: u64, _b: u32| a & !exec64(w);
    SAddU32: both |_w, _old: u32, a: u32, b: u32| a.overflowing_add(b);
    SSubU32: both |_w, _old: u32, a: u32, b: u32| a.overflowing_sub(b);
    SAddI32 | SAddkI32: both |_w, _old: i32, a: i32, b: i32| a.overflowing_add(b);
    SSubI32: both |_w, _old: i32, a: i32, b: i32| a.overflowing_sub(b);
    SAddcU32: both |w, _old: u32, a: u32, b: u32| {
        let sum = u64::from(a) + u64::from(b) + u64::from(w.scc);
        (sum as u32, sum >> 32 != 0)
    };
    SSubbU32: both |w, _old: u32, a: u32, b: u32| {
        let taken = u64::from(b) + u64::from(w.scc);
        (u64::from(a).wrapping_sub(taken) as u32, taken > u64::from(a))
    };
    SAddNcU64: value |_w, _old: u64, a: u64, b: u64| a.wrapping_add(b);
    SSubNcU64: value |_w, _old: u64, a: u64, b: u64| a.wrapping_sub(b);
    SMinI32: both |_w, _old: i32, a: i32, b: i32| (a.min(b), a < b);
    SMinU32: both |_w, _old: u32, a: u32, b: u32| (a.min(b), a < b);
    SMaxI32: both |_w, _old: i32, a: i32, b: i32| (a.max(b), a >= b);
    SMaxU32: both |_w, _old: u32, a: u32, b: u32| (a.max(b), a >= b);
    SCselectB32: value |w, _old: u32, a: u32, b: u32| if w.scc { a } else { b };
    SCselectB64: value |w, _old: u64, a: u64, b: u64| if w.scc { a } else { b };
    SAndB32: nonzero |_w, _old: u32, a: u32, b: u32| a & b;
    SAndB64: nonzero |_w, _old: u64, a: u64, b: u64| a & b;
    SOrB32: nonzero |_w, _old: u32, a: u32, b: u32| a | b;
    SOrB64: nonzero |_w, _old: u64, a: u64, b: u64| a | b;
    SXorB32: nonzero |_w, _old: u32, a: u32, b: u32| a ^ b;
    SXorB64: nonzero |_w, _old: u64, a: u64, b: u64| a ^ b;
    SAndNot1B32: nonzero |_w, _old: u32, a: u32, b: u32| a & !b;
    SAndNot1B64: nonzero |_w, _old: u64, a: u64, b: u64| a & !b;
    SOrNot1B32: nonzero |_w, _old: u32, a: u32, b: u32| a | !b;
    SOrNot1B64: nonzero |_w, _old: u64, a: u64, b: u64| a | !b;
    SNandB32: nonzero |_w, _old: u32, a: u32, b: u32| !(a & b);
    SNandB64: nonzero |_w, _old: u64, a: u64, b: u64| !(a & b);
    SNorB32: nonzero |_w, _old: u32, a: u32, b: u32| !(a | b);
    SNorB64: nonzero |_w, _old: u64, a: u64, b: u64| !(a | b);
    SXnorB32: nonzero |_w, _old: u32, a: u32, b: u32| !(a ^ b);
    SXnorB64: nonzero |_w, _old: u64, a: u64, b: u64| !(a ^ b);
    SLshlB32: nonzero |_w, _old: u32, a: u32, b: u32| a << (b & 31);
    SLshlB64: nonzero |_w, _old: u64, a: u64, b: u32| a << (b & 63);
    SLshrB32: nonzero |_w, _old: u32, a: u32, b: u32| a >> (b & 31);
    SLshrB64: nonzero |_w, _old: u64, a: u64, b: u32| a >> (b & 63);
    SAshrI32: nonzero |_w, _old: i32, a: i32, b: u32| a >> (b & 31);
    SAshrI64: nonzero |_w, _old: i64, a: i64, b: u32| a >> (b & 63);
    SBfmB32: value |_w, _old: u32, a: u32, b: u32| ((1 << (a & 31)) - 1) << (b & 31);
    SBfmB64: value |_w, _old: u64, a: u32, b: u32| ((1 << (a & 63)) - 1) << (b & 63);
    SMulI32 | SMulkI32: value |_w, _old: i32, a: i32, b: i32| a.wrapping_mul(b);
    SMulU64: value |_w, _old: u64, a: u64, b: u64| a.wrapping_mul(b);
    SMulHiU32: value |_w, _old: u32, a: u32, b: u32| (u64::from(a) * u64::from(b) >> 32) as u32;
    SMulHiI32: value |_w, _old: i32, a: i32, b: i32| (i64::from(a) * i64::from(b) >> 32) as i32;
    SBfeU32: nonzero |_w, _old: u32, a: u32, b: u32| field(u64::from(a), b, 5, 32, false) as u32;
    SBfeI32: nonzero |_w, _old: u32, a: u32, b: u32| field(u64::from(a), b, 5, 32, true) as u32;
    SBfeU64: nonzero |_w, _old: u64, a: u64, b: u32| field(a, b, 6, 64, false);
    SBfeI64: nonzero |_w, _old: u64, a: u64, b: u32| field(a, b, 6, 64, true);
    SAbsdiffI32: nonzero |_w, _old: i32, a: i32, b: i32| a.wrapping_sub(b).wrapping_abs();
    SLshl1AddU32: both |_w, _old: u32, a: u32, b: u32| shift_add(a, b, 1);
    SLshl2AddU32: both |_w, _old: u32, a: u32, b: u32| shift_add(a, b, 2);
    SLshl3AddU32: both |_w, _old: u32, a: u32, b: u32| shift_add(a, b, 3);
    SLshl4AddU32: both |_w, _old: u32, a: u32, b: u32| shift_add(a, b, 4);
    SPackLlB32B16: value |_w, _old: u32, a: u32, b: u32| pack(a, b);
    SPackLhB32B16: value |_w, _old: u32, a: u32, b: u32| pack(a, b >> 16);
    SPackHhB32B16: value |_w, _old: u32, a: u32, b: u32| pack(a >> 16, b >> 16);
    SPackHlB32B16: value |_w, _old: u32, a: u32, b: u32| pack(a >> 16, b);
    SCmpEqI32 | SCmpEqU32 | SCmpkEqI32: test |_w, _old: u32, a: u32, b: u32| a == b;
    SCmpLgI32 | SCmpLgU32 | SCmpkLgI32: test |_w, _old: u32, a: u32, b: u32| a != b;
    SCmpGtI32 | SCmpkGtI32: test |_w, _old: u32, a: i32, b: i32| a > b;
    SCmpGeI32 | SCmpkGeI32: test |_w, _old: u32, a: i32, b: i32| a >= b;
    SCmpLtI32 | SCmpkLtI32: test |_w, _old: u32, a: i32, b: i32| a < b;
    SCmpLeI32 | SCmpkLeI32: test |_w, _old: u32, a: i32, b: i32| a <= b;
    SCmpGtU32: test |_w, _old: u32, a: u32, b: u32| a > b;
    SCmpGeU32: test |_w, _old: u32, a: u32, b: u32| a >= b;
    SCmpLtU32: test |_w, _old: u32, a: u32, b: u32| a < b;
    SCmpLeU32: test |_w, _old: u32, a: u32, b: u32| a <= b;
    SCmpkEqU32: test |_w, _old: u32, a: u32, b: u32| a == b & 0xffff;
    SCmpkLgU32: test |_w, _old: u32, a: u32, b: u32| a != b & 0xffff;
    SCmpkGtU32: test |_w, _old: u32, a: u32, b: u32| a > b & 0xffff;
    SCmpkGeU32: test |_w, _old: u32, a: u32, b: u32| a >= b & 0xffff;
    SCmpkLtU32: test |_w, _old: u32, a: u32, b: u32| a < b & 0xffff;
    SCmpkLeU32: test |_w, _old: u32, a: u32, b: u32| a <= b & 0xffff;
    SCmpEqU64: test |_w, _old: u32, a: u64, b: u64| a == b;
    SCmpLgU64: test |_w, _old: u32, a: u64, b: u64| a != b;
    SBitcmp0B32: test |_w, _old: u32, a: u32, b: u32| a >> (b & 31) & 1 == 0;
    SBitcmp1B32: test |_w, _old: u32, a: u32, b: u32| a >> (b & 31) & 1 != 0;
    SBitcmp0B64: test |_w, _old: u32, a: u64, b: u32| a >> (b & 63) & 1 == 0;
    SBitcmp1B64: test |_w, _old: u32, a: u64, b: u32| a >> (b & 63) & 1 != 0;
}
