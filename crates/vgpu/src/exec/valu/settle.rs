//! Which NaN an operation gives.

use crate::exec::float::soft::{Env, F32, F64, Format};
use crate::exec::simd::LANES;

/// The low and high halves of sixteen numbers.
pub(super) type Raw = [[u32; LANES]; 2];

/// One of the numbers.
pub(super) fn joined(raw: &Raw, lane: usize) -> u64 {
    u64::from(raw[0][lane]) | u64::from(raw[1][lane]) << 32
}

fn settled(format: Format, quiet: u64, sources: &[Raw; 3], lane: usize) -> u64 {
    let [a, b, c] = [0, 1, 2].map(|i| joined(&sources[i], lane));
    if format.undefined_product(a, b) {
        return format.default_nan();
    }
    [a, b, c].into_iter().find(|bits| format.is_nan(*bits)).map_or(format.default_nan(), |bits| bits | quiet)
}

/// Lanes in `nan` become the first NaN of the sources, made quiet, or the default NaN.
#[cold]
#[inline(never)]
pub(super) fn settle_single(nan: u16, mut result: [u32; LANES], sources: &[Raw; 3]) -> [u32; LANES] {
    for (lane, result) in result.iter_mut().enumerate() {
        if nan >> lane & 1 != 0 {
            *result = settled(F32, 0x40_0000, sources, lane) as u32;
        }
    }
    result
}

/// See [`settle_single`].
#[cold]
#[inline(never)]
pub(super) fn settle_double(nan: u16, mut result: Raw, sources: &[Raw; 3]) -> Raw {
    for lane in 0..LANES {
        if nan >> lane & 1 != 0 {
            put(&mut result, lane, settled(F64, 1 << 51, sources, lane));
        }
    }
    result
}

/// The results in a rounding mode that the host's instructions do not have.
#[cold]
#[inline(never)]
pub(super) fn rounded(sources: &[Raw; 3], operation: fn([u64; 3], Env, Env) -> u64, mode: u32) -> Raw {
    let (single, double) = (Env::single(mode), Env::double(mode));
    let mut result = [[0; LANES]; 2];
    for lane in 0..LANES {
        let [a, b, c] = sources;
        let value = operation([joined(a, lane), joined(b, lane), joined(c, lane)], single, double);
        put(&mut result, lane, value);
    }
    result
}

/// Output modifiers of f64: the output multiplier in a rounding mode, saturation.
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
            let env = Env { round, flush_in: true, flush_out: true };
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
