//! Comparisons: one row per predicate and type.
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::double_comparisons,
    reason = "each predicate says what it means for NaN"
)]

use super::super::Handler;
use super::Engine;
use super::maps::compare;
use super::numbers::Half;
use crate::isa::Op;

/// The handler of a comparison.
pub(super) fn handler(op: Op, engine: Engine) -> Option<Handler> {
    use Op::*;
    macro_rules! rows {
        ($($($name:ident)|+, $type:ty, $a:pat, $b:pat => $predicate:expr;)*) => {
            Some(match op {
                $($($name)|+ => compare(engine, |$a: $type, $b: $type| $predicate),)*
                _ => return None,
            })
        };
    }
    rows! {
        VCmpFF16 | VCmpxFF16, Half, _, _ => false;
        VCmpLtF16 | VCmpxLtF16, Half, a, b => a < b;
        VCmpEqF16 | VCmpxEqF16, Half, a, b => a == b;
        VCmpLeF16 | VCmpxLeF16, Half, a, b => a <= b;
        VCmpGtF16 | VCmpxGtF16, Half, a, b => a > b;
        VCmpLgF16 | VCmpxLgF16, Half, a, b => a < b || a > b;
        VCmpGeF16 | VCmpxGeF16, Half, a, b => a >= b;
        VCmpOF16 | VCmpxOF16, Half, a, b => !a.0.is_nan() && !b.0.is_nan();
        VCmpUF16 | VCmpxUF16, Half, a, b => a.0.is_nan() || b.0.is_nan();
        VCmpNgeF16 | VCmpxNgeF16, Half, a, b => !(a >= b);
        VCmpNlgF16 | VCmpxNlgF16, Half, a, b => !(a < b || a > b);
        VCmpNgtF16 | VCmpxNgtF16, Half, a, b => !(a > b);
        VCmpNleF16 | VCmpxNleF16, Half, a, b => !(a <= b);
        VCmpNeqF16 | VCmpxNeqF16, Half, a, b => a != b;
        VCmpNltF16 | VCmpxNltF16, Half, a, b => !(a < b);
        VCmpTF16 | VCmpxTF16, Half, _, _ => true;
        VCmpFF32 | VCmpxFF32, f32, _, _ => false;
        VCmpLtF32 | VCmpxLtF32, f32, a, b => a < b;
        VCmpEqF32 | VCmpxEqF32, f32, a, b => a == b;
        VCmpLeF32 | VCmpxLeF32, f32, a, b => a <= b;
        VCmpGtF32 | VCmpxGtF32, f32, a, b => a > b;
        VCmpLgF32 | VCmpxLgF32, f32, a, b => a < b || a > b;
        VCmpGeF32 | VCmpxGeF32, f32, a, b => a >= b;
        VCmpOF32 | VCmpxOF32, f32, a, b => !a.is_nan() && !b.is_nan();
        VCmpUF32 | VCmpxUF32, f32, a, b => a.is_nan() || b.is_nan();
        VCmpNgeF32 | VCmpxNgeF32, f32, a, b => !(a >= b);
        VCmpNlgF32 | VCmpxNlgF32, f32, a, b => !(a < b || a > b);
        VCmpNgtF32 | VCmpxNgtF32, f32, a, b => !(a > b);
        VCmpNleF32 | VCmpxNleF32, f32, a, b => !(a <= b);
        VCmpNeqF32 | VCmpxNeqF32, f32, a, b => a != b;
        VCmpNltF32 | VCmpxNltF32, f32, a, b => !(a < b);
        VCmpTF32 | VCmpxTF32, f32, _, _ => true;
        VCmpFF64 | VCmpxFF64, f64, _, _ => false;
        VCmpLtF64 | VCmpxLtF64, f64, a, b => a < b;
        VCmpEqF64 | VCmpxEqF64, f64, a, b => a == b;
        VCmpLeF64 | VCmpxLeF64, f64, a, b => a <= b;
        VCmpGtF64 | VCmpxGtF64, f64, a, b => a > b;
        VCmpLgF64 | VCmpxLgF64, f64, a, b => a < b || a > b;
        VCmpGeF64 | VCmpxGeF64, f64, a, b => a >= b;
        VCmpOF64 | VCmpxOF64, f64, a, b => !a.is_nan() && !b.is_nan();
        VCmpUF64 | VCmpxUF64, f64, a, b => a.is_nan() || b.is_nan();
        VCmpNgeF64 | VCmpxNgeF64, f64, a, b => !(a >= b);
        VCmpNlgF64 | VCmpxNlgF64, f64, a, b => !(a < b || a > b);
        VCmpNgtF64 | VCmpxNgtF64, f64, a, b => !(a > b);
        VCmpNleF64 | VCmpxNleF64, f64, a, b => !(a <= b);
        VCmpNeqF64 | VCmpxNeqF64, f64, a, b => a != b;
        VCmpNltF64 | VCmpxNltF64, f64, a, b => !(a < b);
        VCmpTF64 | VCmpxTF64, f64, _, _ => true;
        VCmpFI16 | VCmpxFI16, i16, _, _ => false;
        VCmpLtI16 | VCmpxLtI16, i16, a, b => a < b;
        VCmpEqI16 | VCmpxEqI16, i16, a, b => a == b;
        VCmpLeI16 | VCmpxLeI16, i16, a, b => a <= b;
        VCmpGtI16 | VCmpxGtI16, i16, a, b => a > b;
        VCmpNeI16 | VCmpxNeI16, i16, a, b => a != b;
        VCmpGeI16 | VCmpxGeI16, i16, a, b => a >= b;
        VCmpTI16 | VCmpxTI16, i16, _, _ => true;
        VCmpFU16 | VCmpxFU16, u16, _, _ => false;
        VCmpLtU16 | VCmpxLtU16, u16, a, b => a < b;
        VCmpEqU16 | VCmpxEqU16, u16, a, b => a == b;
        VCmpLeU16 | VCmpxLeU16, u16, a, b => a <= b;
        VCmpGtU16 | VCmpxGtU16, u16, a, b => a > b;
        VCmpNeU16 | VCmpxNeU16, u16, a, b => a != b;
        VCmpGeU16 | VCmpxGeU16, u16, a, b => a >= b;
        VCmpTU16 | VCmpxTU16, u16, _, _ => true;
        VCmpFI32 | VCmpxFI32, i32, _, _ => false;
        VCmpLtI32 | VCmpxLtI32, i32, a, b => a < b;
        VCmpEqI32 | VCmpxEqI32, i32, a, b => a == b;
        VCmpLeI32 | VCmpxLeI32, i32, a, b => a <= b;
        VCmpGtI32 | VCmpxGtI32, i32, a, b => a > b;
        VCmpNeI32 | VCmpxNeI32, i32, a, b => a != b;
        VCmpGeI32 | VCmpxGeI32, i32, a, b => a >= b;
        VCmpTI32 | VCmpxTI32, i32, _, _ => true;
        VCmpFU32 | VCmpxFU32, u32, _, _ => false;
        VCmpLtU32 | VCmpxLtU32, u32, a, b => a < b;
        VCmpEqU32 | VCmpxEqU32, u32, a, b => a == b;
        VCmpLeU32 | VCmpxLeU32, u32, a, b => a <= b;
        VCmpGtU32 | VCmpxGtU32, u32, a, b => a > b;
        VCmpNeU32 | VCmpxNeU32, u32, a, b => a != b;
        VCmpGeU32 | VCmpxGeU32, u32, a, b => a >= b;
        VCmpTU32 | VCmpxTU32, u32, _, _ => true;
        VCmpFI64 | VCmpxFI64, i64, _, _ => false;
        VCmpLtI64 | VCmpxLtI64, i64, a, b => a < b;
        VCmpEqI64 | VCmpxEqI64, i64, a, b => a == b;
        VCmpLeI64 | VCmpxLeI64, i64, a, b => a <= b;
        VCmpGtI64 | VCmpxGtI64, i64, a, b => a > b;
        VCmpNeI64 | VCmpxNeI64, i64, a, b => a != b;
        VCmpGeI64 | VCmpxGeI64, i64, a, b => a >= b;
        VCmpTI64 | VCmpxTI64, i64, _, _ => true;
        VCmpFU64 | VCmpxFU64, u64, _, _ => false;
        VCmpLtU64 | VCmpxLtU64, u64, a, b => a < b;
        VCmpEqU64 | VCmpxEqU64, u64, a, b => a == b;
        VCmpLeU64 | VCmpxLeU64, u64, a, b => a <= b;
        VCmpGtU64 | VCmpxGtU64, u64, a, b => a > b;
        VCmpNeU64 | VCmpxNeU64, u64, a, b => a != b;
        VCmpGeU64 | VCmpxGeU64, u64, a, b => a >= b;
        VCmpTU64 | VCmpxTU64, u64, _, _ => true;
    }
}
