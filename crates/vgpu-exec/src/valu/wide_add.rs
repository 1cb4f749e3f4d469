//! 64-bit additions: `v_add_co_u32` and a following `v_add_co_ci_u32` that uses its carries, in one call.
//! Most addresses are computed this way, and the loads that use them wait for the carries.

use vgpu_isa::scalar;

use super::integer::{AddCoCiU32, AddCoU32};
use super::lanewise::{Cx, Lanes, Op, target};
use super::operand::Args;
use super::select;
use crate::level::{SimdBody, simd_handler};
use crate::lower::Context;
use crate::simd::{LANES, Simd, U};
use crate::{Code, Flow, Handler, Src, Wave};

/// The handler of two codes that form an addition; none if they do not. It returns [`Flow::Run`] if it
/// executed both.
pub(crate) fn handler(low: &Code, high: &Code, context: &Context) -> Option<Handler> {
    let halves = std::ptr::fn_addr_eq(low.run, select::choose::<AddCoU32>(context, false))
        && std::ptr::fn_addr_eq(high.run, select::choose::<AddCoCiU32>(context, false));
    let carries = low.sdst;
    let passed = carries < scalar::EXEC && carries != scalar::NULL && high.src[2] == Src::Scalar(carries);
    // The carries are in registers when the second half begins.
    let reads = |source: &Src| matches!(source, Src::Scalar(slot) if (carries..=carries + 1).contains(slot));
    (halves && passed && !high.src[..2].iter().any(reads))
        .then(|| simd_handler::<WideAdd, WideAdd>(context.level))
}

struct WideAdd;

impl SimdBody for WideAdd {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        if !wave.is_full() {
            // The other half is then executed separately. SAFETY: the caller's promise.
            return unsafe { S::call::<Lanes<AddCoU32, false>>(wave, code) };
        }
        let lanes = usize::from(wave.lanes);
        // SAFETY: the caller's promise. The code was lowered with its other half after it. Each chunk's first
        // result is in its register before the sources of the other half are read.
        unsafe {
            let high = &*std::ptr::from_ref(code).add(1);
            let cx = Cx::new(wave.mode, code, 0, false);
            // Separate variables: arrays of these would be in memory.
            let mut low_rows = <(U<S>, U<S>)>::rows::<false>(wave, code);
            let mut high_rows = <(U<S>, U<S>)>::rows::<false>(wave, high);
            let (mut low, mut rest) = (target(wave, code, true), target(wave, high, true));
            let mut carries = [0; 2];
            for &first in &[0, 2 * LANES] {
                if first >= lanes {
                    break;
                }
                for k in 0..2 {
                    let (sum, carry) = AddCoU32::apply(&cx, <(U<S>, U<S>)>::fetch::<false>(&low_rows, k));
                    low.write(0, sum);
                    carries[0] |= u64::from(carry.bits()) << (first + k * LANES);
                    let (a, b) = <(U<S>, U<S>)>::fetch::<false>(&high_rows, k);
                    let (sum, carry) = AddCoCiU32::apply(&cx, (a, b, carry));
                    rest.write(0, sum);
                    carries[1] |= u64::from(carry.bits()) << (first + k * LANES);
                    (low, rest) = (low.second(), rest.second());
                }
                <(U<S>, U<S>)>::advance(&mut low_rows, 2);
                <(U<S>, U<S>)>::advance(&mut high_rows, 2);
            }
            wave.set_lane_mask(code.sdst, carries[0]);
            wave.set_lane_mask(high.sdst, carries[1]);
        }
        Flow::Run
    }
}
