//! Operations of gfx12 on floats in scalar registers: the vector operations applied to one lane.

use std::marker::PhantomData;

use super::lanewise::{Cx, INVERT, MaskTo, Op, evaluate, inexact};
use super::operand::Args;
use super::result::{Ret, Target};
use super::select::choose_body;
use super::{compare, convert, half, single};
use crate::level::{SimdBody, at_lowest_level};
use crate::lower::Context;
use crate::simd::{LANES, Simd};
use crate::{Code, Flow, Handler, TEMPS, Wave};

/// The row that first receives the result; no broadcast source uses it.
const RESULT: usize = TEMPS - 1;

/// An operation on scalars, whatever EXEC is. A mask becomes SCC.
struct Uniform<O>(PhantomData<O>);

impl<O: Op> SimdBody for Uniform<O> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        if inexact::<O, S>(wave) {
            // SAFETY: the caller's promise.
            return unsafe { at_lowest_level::<Self>(wave, code) };
        }
        let cx = Cx::new(wave.mode, code, O::FLUSH, O::MODS);
        let result = wave.temp[RESULT].as_mut_ptr();
        let target = Target { low: result, lanes: LANES, bits: 1, full: false };
        // SAFETY: operands were lowered for this wave; they are constants and rows of `temp`. A row of `temp`
        // is larger than a result, which has at most two registers of sixteen lanes.
        let (mask, value) = unsafe {
            let mut rows = O::Args::<S>::rows::<false>(wave, code);
            O::Args::<S>::modify::<true>(&mut rows, &code.mods);
            let args = O::Args::<S>::fetch::<true>(&rows, 0);
            let mask = evaluate::<O, S, true>(&cx, args).store(&target, &cx);
            (mask, result.read())
        };
        if O::MASK == MaskTo::Nowhere {
            wave.set_scalar(code.dst as u8, value);
        } else {
            wave.scc = (mask & 1 != 0) != (code.imm as u8 & INVERT != 0);
        }
        Flow::Next
    }
}

/// Defines the operations; those after `not` return the opposite.
macro_rules! operations {
    ($($($op:ident)|+ => $type:ty $(, not $($not:ident)|+)?;)*) => {
        /// Whether an operation is one of these.
        pub fn is_uniform(op: vgpu_isa::Op) -> bool {
            matches!(op, $($(vgpu_isa::Op::$op)|+ $(| $(vgpu_isa::Op::$not)|+)?)|*)
        }

        /// The handler of an operation and the low bits of its `imm`.
        pub(super) fn handler(op: vgpu_isa::Op, context: &Context) -> Option<(Handler, u8)> {
            match op {
                $(
                    $(vgpu_isa::Op::$op)|+ => Some((choose_body::<Uniform<$type>>(context), 0)),
                    $($(vgpu_isa::Op::$not)|+ => Some((choose_body::<Uniform<$type>>(context), INVERT)),)?
                )*
                _ => None,
            }
        }
    };
}

operations! {
    SAddF32 => single::Add;
    SSubF32 => single::Sub;
    SMulF32 => single::Mul;
    SFmacF32 | SFmamkF32 | SFmaakF32 => single::Fma;
    SMinNumF32 => single::Min;
    SMaxNumF32 => single::Max;
    SMinimumF32 => single::Minimum;
    SMaximumF32 => single::Maximum;
    SCeilF32 => single::Ceil;
    SFloorF32 => single::Floor;
    STruncF32 => single::Trunc;
    SRndneF32 => single::Rndne;
    SAddF16 => half::Add;
    SSubF16 => half::Sub;
    SMulF16 => half::Mul;
    SFmacF16 => half::Fma;
    SMinNumF16 => half::Min;
    SMaxNumF16 => half::Max;
    SMinimumF16 => half::Minimum;
    SMaximumF16 => half::Maximum;
    SCeilF16 => half::Ceil;
    SFloorF16 => half::Floor;
    STruncF16 => half::Trunc;
    SRndneF16 => half::Rndne;
    SCvtF32I32 => convert::F32I32;
    SCvtF32U32 => convert::F32U32;
    SCvtI32F32 => convert::I32F32;
    SCvtU32F32 => convert::U32F32;
    SCvtF16F32 => convert::F16F32;
    SCvtF32F16 | SCvtHiF32F16 => convert::F32F16;
    SCvtPkRtzF16F32 => convert::PkRtzF16F32;
    SCmpLtF32 => compare::LtF32, not SCmpNltF32;
    SCmpEqF32 => compare::EqF32, not SCmpNeqF32;
    SCmpLeF32 => compare::LeF32, not SCmpNleF32;
    SCmpGtF32 => compare::GtF32, not SCmpNgtF32;
    SCmpLgF32 => compare::LgF32, not SCmpNlgF32;
    SCmpGeF32 => compare::GeF32, not SCmpNgeF32;
    SCmpUF32 => compare::UF32, not SCmpOF32;
    SCmpLtF16 => compare::LtF16, not SCmpNltF16;
    SCmpEqF16 => compare::EqF16, not SCmpNeqF16;
    SCmpLeF16 => compare::LeF16, not SCmpNleF16;
    SCmpGtF16 => compare::GtF16, not SCmpNgtF16;
    SCmpLgF16 => compare::LgF16, not SCmpNlgF16;
    SCmpGeF16 => compare::GeF16, not SCmpNgeF16;
    SCmpUF16 => compare::UF16, not SCmpOF16;
    VSExpF32 => single::Exp;
    VSLogF32 => single::Log;
    VSRcpF32 => single::Rcp;
    VSRsqF32 => single::Rsq;
    VSSqrtF32 => single::Sqrt;
    VSExpF16 => half::Exp;
    VSLogF16 => half::Log;
    VSRcpF16 => half::Rcp;
    VSRsqF16 => half::Rsq;
    VSSqrtF16 => half::Sqrt;
}
