//! The models of mathematics: functions of doubles, with the bounds that CUDA's programming guide publishes
//! for results in units in the last place. Special values are those of the C library's Annex F.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, PI, SQRT_2};

use super::{Function, Want, halves};
use crate::model::{Number, decode};

/// sin(pi x): what is left of x after whole half turns is exact.
fn sinpi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    if x == x.trunc() {
        return 0.0_f64.copysign(x);
    }
    let turns = (2.0 * x).round_ties_even();
    let rest = (x - turns / 2.0) * PI;
    match turns.rem_euclid(4.0) as u8 {
        0 => rest.sin(),
        1 => rest.cos(),
        2 => -rest.sin(),
        _ => -rest.cos(),
    }
}

fn cospi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    // Even numbers.
    if x.abs() >= 2_f64.powi(53) {
        return 1.0;
    }
    let turns = (2.0 * x).round_ties_even();
    let rest = (x - turns / 2.0) * PI;
    let result = match turns.rem_euclid(4.0) as u8 {
        0 => rest.cos(),
        1 => -rest.sin(),
        2 => -rest.cos(),
        _ => rest.sin(),
    };
    if result == 0.0 { 0.0 } else { result }
}

/// The length of a vector, or its inverse; infinite if an element is.
fn norm(x: &[f64], inverse: bool) -> f64 {
    if x.iter().any(|x| x.is_infinite()) {
        return if inverse { 0.0 } else { f64::INFINITY };
    }
    let largest = x.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if x.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    if largest == 0.0 {
        return if inverse { f64::INFINITY } else { 0.0 };
    }
    // A power of two that brings the largest element near 1.
    let scale = f64::from_bits((2046_u64 - (largest.to_bits() >> 52).clamp(1, 2045)) << 52);
    let squares = x.iter().fold(0.0, |squares, x| (x * scale).mul_add(x * scale, squares));
    if inverse { 1.0 / squares.sqrt() * scale } else { squares.sqrt() / scale }
}

/// The x with erfc(x) = y, for y up to 1: Newton's steps on the logarithm.
fn erfcinv(y: f64) -> f64 {
    if y > 1.0 {
        return -erfcinv(2.0 - y);
    }
    if y <= 0.0 || y.is_nan() {
        return if y == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    if y > 0.5 {
        return newton(1.0 - y);
    }
    // On the logarithm: that of erfc(x) is that of erfcx(x) less x x.
    let mut x = (-y.ln()).sqrt();
    for _ in 0..60 {
        let scaled = erfcx(x);
        x += (scaled.ln() - x * x - y.ln()) * scaled / FRAC_2_SQRT_PI;
    }
    x
}

/// The x with erf(x) = y, for small y.
fn newton(y: f64) -> f64 {
    let mut x = y / FRAC_2_SQRT_PI;
    for _ in 0..30 {
        x -= (libm::erf(x) - y) / (FRAC_2_SQRT_PI * (-x * x).exp());
    }
    x
}

fn erfinv(y: f64) -> f64 {
    match y.abs() {
        size if size > 1.0 || size.is_nan() => f64::NAN,
        size if size <= 0.5 => {
            if y == 0.0 {
                y
            } else {
                newton(y)
            }
        }
        size => erfcinv(1.0 - size).copysign(y),
    }
}

/// exp(x x) erfc(x): a continued fraction for large x.
fn erfcx(x: f64) -> f64 {
    if x < -30.0 {
        return f64::INFINITY;
    }
    if x < 2.0 {
        let square = x * x;
        let rest = x.mul_add(x, -square);
        return square.exp() * (1.0 + rest) * libm::erfc(x);
    }
    let fraction = (1..=200).rev().fold(x, |below, k| x + f64::from(k) / 2.0 / below);
    1.0 / fraction / PI.sqrt()
}

fn normcdf(x: f64) -> f64 {
    // What rounding x / sqrt(2) loses.
    let t = -x * FRAC_1_SQRT_2;
    let rest = (-x).mul_add(FRAC_1_SQRT_2, -t) - x * -4.833_646_656_726_457e-17;
    let slope = if t.is_finite() { FRAC_2_SQRT_PI * (-t * t).exp() } else { 0.0 };
    0.5 * (libm::erfc(t) - if slope == 0.0 { 0.0 } else { slope * rest })
}

/// Modified Bessel functions: a series of positive terms, or the expansion for large numbers.
fn bessel_i(n: u32, x: f64) -> f64 {
    let size = x.abs();
    let order = f64::from(n);
    let (mut sum, mut term) = (1.0, 1.0);
    let result = if x.is_nan() || x.is_infinite() {
        size
    } else if size < 30.0 {
        for k in (1..200).map(f64::from) {
            term *= size * size / 4.0 / k / (k + order);
            sum += term;
        }
        sum * (size / 2.0).powf(order)
    } else {
        for k in (1..30).map(f64::from) {
            term *= ((2.0 * k - 1.0).powi(2) - 4.0 * order * order) / (8.0 * size * k);
            sum += term;
        }
        (size / 2.0).exp() / (2.0 * PI).sqrt() / size.sqrt() * sum * (size / 2.0).exp()
    };
    if n == 1 { result.copysign(x) } else { result }
}

/// 10^x
fn exp10(x: f64) -> f64 {
    if x == x.trunc() && x.abs() < 300.0 {
        return format!("1e{x}").parse().unwrap();
    }
    10_f64.powf(x)
}

/// The value of a function that CUDA computes approximately. None: it is none of these.
fn approximate(op: &str, x: &[f64]) -> Option<f64> {
    let a = x[0];
    Some(match op {
        "rsqrt" => 1.0 / a.sqrt(),
        "sqrt" => a.sqrt(),
        "cbrt" => a.cbrt(),
        "rcbrt" => 1.0 / a.cbrt(),
        "hypot" => norm(x, false),
        "rhypot" | "rnorm3d" | "rnorm4d" => norm(x, true),
        "norm3d" | "norm4d" => norm(x, false),
        "exp" => a.exp(),
        "exp2" => a.exp2(),
        "exp10" => exp10(a),
        "expm1" => a.exp_m1(),
        "log" => a.ln(),
        "log2" => a.log2(),
        "log10" => a.log10(),
        "log1p" => a.ln_1p(),
        "sin" => a.sin(),
        "cos" => a.cos(),
        "tan" => a.tan(),
        "sinpi" => sinpi(a),
        "cospi" => cospi(a),
        "asin" => a.asin(),
        "acos" => a.acos(),
        "atan" => a.atan(),
        "atan2" => a.atan2(x[1]),
        "sinh" => a.sinh(),
        "cosh" => a.cosh(),
        "tanh" => a.tanh(),
        "asinh" => libm::asinh(a),
        "acosh" if a < 1.0 => f64::NAN,
        "acosh" => libm::acosh(a),
        "atanh" => libm::atanh(a),
        "pow" => a.powf(x[1]),
        "erf" => libm::erf(a),
        "erfc" => libm::erfc(a),
        "erfinv" => erfinv(a),
        "erfcinv" => erfcinv(a),
        "erfcx" => erfcx(a),
        "normcdf" => normcdf(a),
        "normcdfinv" => -SQRT_2 * erfcinv(2.0 * a),
        "lgamma" => libm::lgamma(a),
        "tgamma" => libm::tgamma(a),
        "j0" => libm::j0(a),
        "j1" => libm::j1(a),
        "y0" => libm::y0(a),
        "y1" => libm::y1(a),
        "cyl_bessel_i0" => bessel_i(0, a),
        "cyl_bessel_i1" => bessel_i(1, a),
        "fdivide" => a / x[1],
        _ => return None,
    })
}

/// An argument as a double.
fn value(name: &str, bits: u64) -> f64 {
    let name = match name {
        "il" => "i64",
        "ul" => "u64",
        name => name,
    };
    match decode(name, bits) {
        Number::Float(value) => value,
        Number::Whole(value) => value as f64,
    }
}

/// x 2^n, rounded once.
fn times_power(x: f64, n: f64) -> f64 {
    libm::scalbn(x, n.clamp(-5000.0, 5000.0) as i32)
}

/// The three lowest bits of the whole number nearest to x / y, with the sign.
fn quotient(x: f64, y: f64) -> i64 {
    let (size, by) = (x.abs(), y.abs());
    let rest = size % (8.0 * by);
    let near = ((rest - libm::remainder(rest, by)) / by).round() as i64 & 7;
    if x.is_sign_negative() == y.is_sign_negative() { near } else { -near }
}

/// What an exact function gives.
fn exact(function: &Function<'_>, op: &str, arguments: &[u64], x: &[f64]) -> Option<Want> {
    let result = function.result;
    let narrow = function.parameters.contains(&"f32") && !function.parameters.contains(&"f64");
    let a = x[0];
    let of = |value: f64| Some(Want::Bits(halves::bits(result, value)));
    let whole = |value: f64| {
        // Documented for results that fit.
        let fits = value.is_finite() && value.abs() < if result == "i32" { 2_147_483_648.0 } else { 9.2e18 };
        Some(if fits {
            Want::Bits((value as i64) as u64 & (u64::MAX >> (64 - super::bits_of(result))))
        } else {
            Want::Anything
        })
    };
    let integer = |value: i32| Some(Want::Bits(u64::from(value as u32)));
    match op {
        "fabs" => of(a.abs()),
        "floor" => of(a.floor()),
        "ceil" => of(a.ceil()),
        "trunc" => of(a.trunc()),
        "round" => of(a.round()),
        "rint" | "nearbyint" => of(a.round_ties_even()),
        "lrint" | "llrint" => whole(a.round_ties_even()),
        "lround" | "llround" => whole(a.round()),
        "fmod" => of(a % x[1]),
        "remainder" => of(libm::remainder(a, x[1])),
        "fdim" => of(if a.is_nan() || x[1].is_nan() {
            f64::NAN
        } else if a > x[1] {
            if narrow { halves::sum(a, -x[1]) } else { a - x[1] }
        } else {
            0.0
        }),
        // The sign of zeros is open.
        "fmax" | "fmin" if a == 0.0 && x[1] == 0.0 => Some(Want::Absolute(0.0, 0.0)),
        "fmax" => of(a.max(x[1])),
        "fmin" => of(a.min(x[1])),
        "fma" if narrow => of(halves::sum(a * x[1], x[2])),
        "fma" => of(a.mul_add(x[1], x[2])),
        "copysign" => {
            let size = super::bits_of(function.parameters[1]);
            of(if arguments[1] >> (size - 1) == 1 { -a.abs() } else { a.abs() })
        }
        "nextafter" => {
            let next = |up: bool| match (narrow, up) {
                (true, true) => f64::from((a as f32).next_up()),
                (true, false) => f64::from((a as f32).next_down()),
                (false, true) => a.next_up(),
                (false, false) => a.next_down(),
            };
            of(if a.is_nan() || x[1].is_nan() {
                f64::NAN
            } else if a == x[1] {
                x[1]
            } else {
                next(a < x[1])
            })
        }
        "ldexp" | "scalbn" | "scalbln" => of(times_power(a, x[1])),
        "logb" => of(if a == 0.0 {
            f64::NEG_INFINITY
        } else if a.is_infinite() {
            f64::INFINITY
        } else if a.is_nan() {
            a
        } else {
            f64::from(libm::ilogb(a))
        }),
        "ilogb" => integer(if a == 0.0 || a.is_nan() {
            i32::MIN
        } else if a.is_infinite() {
            i32::MAX
        } else {
            libm::ilogb(a)
        }),
        "isnan" => Some(Want::Truth(a.is_nan())),
        "isinf" => Some(Want::Truth(a.is_infinite())),
        "isfinite" => Some(Want::Truth(a.is_finite())),
        "signbit" => Some(Want::Truth(arguments[0] >> (super::bits_of(function.parameters[0]) - 1) == 1)),
        "nan" => of(f64::NAN),
        "frexp_fraction" => of(if a.is_finite() { libm::frexp(a).0 } else { a }),
        "frexp_exponent" => integer(if a.is_finite() { libm::frexp(a).1 } else { 0 }),
        "modf_fraction" => {
            of(if a.is_infinite() { 0.0_f64.copysign(a) } else { (a - a.trunc()).copysign(a) })
        }
        "remquo" => {
            let defined = a.is_finite() && !x[1].is_nan() && x[1] != 0.0 && (8.0 * x[1]).is_finite();
            if x[1].is_infinite() && a.is_finite() {
                return integer(0);
            }
            if !defined {
                Some(if a.is_finite() && x[1] != 0.0 && !x[1].is_nan() {
                    Want::Anything
                } else {
                    Want::Bits(0)
                })
            } else {
                integer(quotient(a, x[1]) as i32)
            }
        }
        _ => None,
    }
}

/// Bounds of the fast functions of floats.
fn fast(op: &str, x: &[f64]) -> Want {
    let a = x[0];
    let absolute = |value: f64, power: f64| Want::Absolute(value, power.exp2());
    // A number that is not normal may count as zero.
    let ulps = |value: f64, ulps: f64| {
        let least = f64::from(f32::MIN_POSITIVE);
        if value.abs() < least {
            Want::Absolute(value, least)
        } else if value > f64::from(f32::MAX) {
            Want::Anything
        } else {
            Want::Ulps(value, ulps as u64)
        }
    };
    if x.iter().any(|x| !x.is_finite() || (*x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE))) {
        return Want::Anything;
    }
    match op {
        "sin" if a.abs() <= PI => absolute(a.sin(), -21.41),
        "cos" if a.abs() <= PI => absolute(a.cos(), -21.19),
        // The quotient of these two.
        "tan" if a.abs() <= 1.0 => absolute(a.tan(), -18.8),
        "tanh" => Want::Absolute(a.tanh(), a.tanh().abs() * (-10.987_f64).exp2()),
        "exp" if a.abs() < 88.0 => ulps(a.exp(), 2.0 + (1.173 * a).abs().floor()),
        "exp10" if a.abs() < 38.0 => ulps(exp10(a), 2.0 + (2.97 * a).abs().floor()),
        "log" | "log2" | "log10" if a > 0.0 => {
            let (value, power, far) = match op {
                "log" => (a.ln(), -21.41, 3.0),
                "log2" => (a.log2(), -22.0, 2.0),
                _ => (a.log10(), -24.0, 3.0),
            };
            if (0.5..=2.0).contains(&a) { absolute(value, power) } else { ulps(value, far) }
        }
        // 2^(y log2 x), by the bounds of both.
        "pow" if a > 0.0 => {
            let exponent = x[1] * a.log2();
            let value = exponent.exp2();
            let part =
                LN_2 * (x[1].abs() * (-22_f64).exp2() + exponent.abs() * (-22_f64).exp2()) + (-21_f64).exp2();
            if exponent.abs() < 125.0 { Want::Absolute(value, value * part) } else { Want::Anything }
        }
        "fdivide" if (-126_f64).exp2() <= x[1].abs() && x[1].abs() <= 126_f64.exp2() => ulps(a / x[1], 2.0),
        _ => Want::Anything,
    }
}

/// What a function of mathematics gives.
pub(super) fn want(function: &Function<'_>, arguments: &[u64], host: bool) -> Want {
    let (op, bound) = function.model.split_once(':').unwrap_or_else(|| panic!("{}", function.model));
    let x: Vec<f64> =
        arguments.iter().zip(&function.parameters).map(|(bits, name)| value(name, *bits)).collect();
    if op == "fast" {
        return fast(bound, &x);
    }
    let bound: u64 = bound.parse().unwrap();
    if bound == 0
        && let Some(want) = exact(function, op, arguments, &x)
    {
        return want;
    }
    let a = x[0];
    let narrow = function.result == "f32";
    // The C library's own functions, in host code, have bounds of their own, and so have the doubles that are
    // the model.
    let bound = match op {
        _ if bound == 0 => 0,
        _ if narrow => bound + u64::from(host),
        // A series of 60 terms.
        "cyl_bessel_i0" | "cyl_bessel_i1" => bound + 10,
        _ => bound + 2,
    };
    match op {
        // The sign of zero is documented for zero only.
        "sinpi" | "cospi" if a != 0.0 && approximate(op, &x) == Some(0.0) => Want::Absolute(0.0, 0.0),
        // Near its zeros, the logarithm has an absolute error.
        "lgamma" if a < 0.0 && a > -30.0 => Want::Absolute(
            libm::lgamma(a),
            if narrow { 4e-6 } else { 1e-13 } * libm::lgamma(a).abs().max(1.0),
        ),
        "j0" | "j1" | "y0" | "y1" | "jn" | "yn" => bessel(op, narrow, host, &x),
        _ => Want::Ulps(approximate(op, &x).unwrap_or_else(|| panic!("{op}")), bound),
    }
}

/// Bessel functions: beyond 8, or of a higher order, with an absolute bound.
fn bessel(op: &str, narrow: bool, host: bool, x: &[f64]) -> Want {
    let off = if narrow { 2.2e-6 } else { 5e-12 };
    let (order, a) = match op {
        // The table calls them with such an order.
        "jn" | "yn" => (x[0] % 40.0, x[1]),
        "j1" | "y1" => (1.0, x[0]),
        _ => (0.0, x[0]),
    };
    if !(0.0..=128.0).contains(&order) {
        // NaN, where the C library has symmetries.
        return if host || order > 0.0 { Want::Anything } else { Want::Ulps(f64::NAN, 0) };
    }
    let n = order as i32;
    let value = match &op[..1] {
        "j" => libm::jn(n, a),
        _ if a < 0.0 => f64::NAN,
        _ => libm::yn(n, a),
    };
    if value.is_nan() || value.is_infinite() {
        return if value.is_nan() { Want::Ulps(value, 0) } else { Want::Absolute(value, 0.0) };
    }
    // Up to 8, the bound is relative, for doubles as far as those of the model go.
    if !op.ends_with('n') && a.abs() < 8.0 {
        return if narrow {
            Want::Ulps(value, 9 + u64::from(host))
        } else {
            Want::Absolute(value, value.abs() * 2e-15 + 1e-16)
        };
    }
    // A result that is large has more than that.
    let part: f64 = if narrow { 9.0 * (-23_f64).exp2() } else { 9.0 * (-52_f64).exp2() };
    Want::Absolute(
        value,
        f64::max(off, value.abs() * part * if op.ends_with('n') { 2.0 + 2.5 * order } else { 1.0 }),
    )
}
