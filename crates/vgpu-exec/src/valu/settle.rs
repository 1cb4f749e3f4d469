//! What few instructions need: exact results, and output modifiers of f64.

use crate::float::soft::{Env, F64};
use crate::simd::LANES;

/// The low and high halves of sixteen numbers.
pub(super) type Raw = [[u32; LANES]; 2];

/// One of the numbers.
pub(super) fn joined(raw: &Raw, lane: usize) -> u64 {
    u64::from(raw[0][lane]) | u64::from(raw[1][lane]) << 32
}

/// The results where the host's instructions do not give them: in other rounding modes, and at the flushing
/// threshold.
#[cold]
#[inline(never)]
pub(super) fn rounded(
    sources: &[Raw; 3],
    operation: fn([u64; 3], Env, Env) -> u64,
    mode: u32,
    quiet: bool,
) -> Raw {
    let (single, double) = (Env { quiet, ..Env::single(mode) }, Env { quiet, ..Env::double(mode) });
    let mut result = [[0; LANES]; 2];
    for lane in 0..LANES {
        let [a, b, c] = sources;
        let value = operation([joined(a, lane), joined(b, lane), joined(c, lane)], single, double);
        put(&mut result, lane, value);
    }
    result
}

/// Output modifiers of f64: the output multiplier with a rounding mode, and saturation.
#[cold]
#[inline(never)]
pub(super) fn modify_double(mut value: Raw, factor: f32, round: u8, clamp: bool, clear_nan: bool) -> Raw {
    for lane in 0..LANES {
        let mut x = f64::from_bits(joined(&value, lane));
        if factor != 1.0 && !x.is_nan() {
            let power = if factor == 4.0 {
                2
            } else if factor == 2.0 {
                1
            } else {
                -1
            };
            let env = Env { round, ..Env::IEEE.flushing() };
            let scaled = f64::from_bits(F64.scale(x.to_bits(), power, env));
            x = if x.abs() < f64::MIN_POSITIVE { 0.0 } else { scaled };
        }
        if clamp && (clear_nan || !x.is_nan()) {
            x = if x > 0.0 { x.min(1.0) } else { 0.0 };
        }
        put(&mut value, lane, x.to_bits());
    }
    value
}

fn put(raw: &mut Raw, lane: usize, bits: u64) {
    raw[0][lane] = bits as u32;
    raw[1][lane] = (bits >> 32) as u32;
}
