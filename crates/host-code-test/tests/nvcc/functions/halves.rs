//! The models of functions of half and bfloat16 numbers: exact in doubles, with one rounding.

use super::{Function, Want};
use crate::model::{Number, decode, format, model};

/// A number as the bits of a format, rounded to the nearest.
pub(super) fn bits(name: &str, value: f64) -> u64 {
    rounded(name, value, "rn")
}

/// The same with another rounding.
pub(super) fn rounded(name: &str, value: f64, mode: &str) -> u64 {
    let value = match name {
        "f64" => return value.to_bits(),
        _ => match model("f64", Number::Float(value), name, mode) {
            Number::Float(value) => value,
            Number::Whole(_) => unreachable!("a float"),
        },
    };
    let format = format(name).unwrap();
    let top = (1_u64 << (format.bits - 1 - format.fraction)) - 1;
    let sign = u64::from(value.is_sign_negative()) << (format.bits - 1);
    if value.is_nan() {
        return sign | top << format.fraction | 1 << (format.fraction - 1);
    }
    if value.is_infinite() {
        return sign | top << format.fraction;
    }
    let size = value.abs();
    // The exponent of the last bit.
    let last =
        (i32::try_from(size.to_bits() >> 52).unwrap() - 1023 - i32::try_from(format.fraction).unwrap())
            .max(format.least);
    let digits = scaled(size, -last) as u64;
    sign | if digits >> format.fraction == 0 {
        digits
    } else {
        u64::try_from(last - format.least + 1).unwrap() << format.fraction
            | (digits & ((1 << format.fraction) - 1))
    }
}

/// x 2^n
fn scaled(x: f64, n: i32) -> f64 {
    x * 2_f64.powi(n / 2) * 2_f64.powi(n - n / 2)
}

/// The unit in the last place of a format's numbers near a value.
pub(super) fn unit(name: &str, value: f64) -> f64 {
    let format = format(name).unwrap();
    let exponent = i32::try_from(value.abs().to_bits() >> 52).unwrap() - 1023;
    scaled(1.0, (exponent - i32::try_from(format.fraction).unwrap()).max(format.least))
}

/// The sum of two doubles, whose last bit stands for all lower ones.
pub(super) fn sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let of_b = sum - a;
    let rest = (a - (sum - of_b)) + (b - of_b);
    let bits = sum.to_bits();
    if !sum.is_finite() || rest == 0.0 || bits & 1 == 1 {
        return sum;
    }
    f64::from_bits(if (rest > 0.0) == (sum > 0.0) { bits + 1 } else { bits - 1 })
}

fn value(name: &str, bits: u64) -> f64 {
    match decode(name, bits) {
        Number::Float(value) => value,
        Number::Whole(_) => unreachable!("a float"),
    }
}

/// The result of an operation on numbers of a format.
fn one(name: &str, op: &str, arguments: &[u64]) -> Option<Want> {
    let x: Vec<f64> = arguments.iter().map(|argument| value(name, *argument)).collect();
    let one = bits(name, 1.0);
    let of = |value: f64| Some(Want::Bits(bits(name, value)));
    let truth = |truth: bool| Some(Want::Bits(u64::from(truth)));
    if let Some(op) = op.strip_prefix("near(").and_then(|op| op.strip_suffix(')')) {
        let x = x[0];
        let exact = match op {
            "rcp" => 1.0 / x,
            "sqrt" => x.sqrt(),
            "rsqrt" => 1.0 / x.sqrt(),
            "sin" => x.sin(),
            "cos" => x.cos(),
            "tanh" => x.tanh(),
            "exp" => x.exp(),
            "exp2" => x.exp2(),
            "exp10" => 10_f64.powf(x),
            "log" => x.ln(),
            "log2" => x.log2(),
            "log10" => x.log10(),
            _ => return None,
        };
        return Some(Want::Part(exact, 0.51));
    }
    if let Some(op) = op.strip_prefix("sat(").and_then(|op| op.strip_suffix(')')) {
        let Some(Want::Bits(result)) = self::one(name, op, arguments) else { return None };
        let result = value(name, result);
        return of(if result > 0.0 { result.min(1.0) } else { 0.0 });
    }
    if let Some(op) = op.strip_prefix("relu(").and_then(|op| op.strip_suffix(')')) {
        let Some(Want::Bits(result)) = self::one(name, op, arguments) else { return None };
        let result = value(name, result);
        return of(if result <= 0.0 { 0.0 } else { result });
    }
    if let Some(op) = op.strip_prefix("each(").and_then(|op| op.strip_suffix(')')) {
        let Some(Want::Bits(result)) = self::one(name, op, arguments) else { return None };
        return Some(Want::Bits(if result == 0 { 0 } else { one }));
    }
    // A NaN counts for nothing, and -0 is less than 0.
    let less = |a: f64, b: f64| a < b || (a == b && a.is_sign_negative() && b.is_sign_positive());
    let unordered = x.iter().take(2).any(|x| x.is_nan());
    match op {
        "add" => of(sum(x[0], x[1])),
        "sub" => of(sum(x[0], -x[1])),
        "mul" => of(x[0] * x[1]),
        "div" => of(x[0] / x[1]),
        "fma" => of(sum(x[0] * x[1], x[2])),
        "next" => of(sum(x[0], 1.0)),
        "previous" => of(sum(x[0], -1.0)),
        "neg" => of(-x[0]),
        "abs" => of(x[0].abs()),
        "same" => Some(Want::Bits(arguments[0])),
        "ceil" => of(x[0].ceil()),
        "floor" => of(x[0].floor()),
        "trunc" => of(x[0].trunc()),
        "rint" => of(x[0].round_ties_even()),
        "max" | "min" | "max_nan" | "min_nan" => {
            let larger = op.starts_with("max");
            let nan = op.ends_with("nan");
            of(match (x[0].is_nan(), x[1].is_nan()) {
                (true, true) => f64::NAN,
                (true, false) if !nan => x[1],
                (false, true) if !nan => x[0],
                (true, _) | (_, true) => f64::NAN,
                _ if less(x[0], x[1]) == larger => x[1],
                _ => x[0],
            })
        }
        "eq" => truth(x[0] == x[1]),
        "ne" => truth(x[0] != x[1] && !unordered),
        "lt" => truth(x[0] < x[1]),
        "le" => truth(x[0] <= x[1]),
        "gt" => truth(x[0] > x[1]),
        "ge" => truth(x[0] >= x[1]),
        "equ" => truth(x[0] == x[1] || unordered),
        "neu" => truth(x[0] != x[1]),
        "ltu" => truth(x[0] < x[1] || unordered),
        "leu" => truth(x[0] <= x[1] || unordered),
        "gtu" => truth(x[0] > x[1] || unordered),
        "geu" => truth(x[0] >= x[1] || unordered),
        "isnan" => truth(x[0].is_nan()),
        "isinf" => Some(Want::Bits(if x[0].is_finite() || x[0].is_nan() {
            0
        } else if x[0] > 0.0 {
            1
        } else {
            0xffff_ffff
        })),
        _ => None,
    }
}

/// What a function of these types gives, or None for other functions.
pub(super) fn want(function: &Function<'_>, arguments: &[u64]) -> Option<Want> {
    let (op, result) = (function.model, function.result);
    if op == "one" {
        return None;
    }
    let narrow = |name: &str| matches!(name, "f16" | "b16");
    let format = match function.parameters[0] {
        "h2" | "f16" => "f16",
        "b2" | "b16" => "b16",
        _ => match result {
            "h2" | "f16" => "f16",
            "b2" | "b16" => "b16",
            _ => return None,
        },
    };
    let (low, high) = (|bits: u64| bits & 0xffff, |bits: u64| bits >> 16 & 0xffff);
    let pair = |low: u64, high: u64| Some(Want::Bits(low | high << 16));
    let float = |bits: u64| f64::from(f32::from_bits(bits as u32));
    let from_float = |argument: u64| bits(format, float(argument));
    let a = arguments[0];
    match op {
        "bits" => return Some(Want::Bits(a)),
        "pack" => return pair(a, arguments[1]),
        "twice" => return pair(a, a),
        "swap" => return pair(high(a), low(a)),
        "low_twice" => return pair(low(a), low(a)),
        "high_twice" => return pair(high(a), high(a)),
        "lows" => return pair(low(a), low(arguments[1])),
        "highs" => return pair(high(a), high(arguments[1])),
        "low" | "high" => {
            let number = if op == "low" { low(a) } else { high(a) };
            return Some(Want::Bits(if narrow(result) {
                number
            } else {
                bits("f32", value(format, number))
            }));
        }
        "to_floats" => {
            let [low, high] = [low(a), high(a)].map(|number| bits("f32", value(format, number)));
            return Some(Want::Bits(low | high << 32));
        }
        "convert" => return Some(Want::Bits(from_float(a))),
        "from_floats" => return pair(from_float(a & 0xffff_ffff), from_float(a >> 32)),
        "pack_floats" => return pair(from_float(a), from_float(arguments[1])),
        "twice_float" => return pair(from_float(a), from_float(a)),
        _ => {}
    }
    if narrow(function.parameters[0]) {
        return one(format, op, arguments);
    }
    let lanes = [low, high].map(|lane| arguments.iter().map(|argument| lane(*argument)).collect::<Vec<_>>());
    let each = |op: &str| {
        lanes.each_ref().map(|lane| match one(format, op, lane) {
            Some(Want::Bits(bits)) => bits,
            other => panic!("{op}: {other:?}"),
        })
    };
    let inner = |kind: &str| op.strip_prefix(kind).and_then(|op| op.strip_suffix(')'));
    if let Some(op) = inner("both(") {
        return Some(Want::Bits(u64::from(each(op) == [1, 1])));
    }
    if let Some(op) = inner("mask(") {
        let [low, high] = each(op);
        return pair(low * 0xffff, high * 0xffff);
    }
    if op.starts_with("near(") {
        return None;
    }
    if op == "cmadd" {
        let fma = |a: u64, b: u64, c: u64| match one(format, "fma", &[a, b, c]) {
            Some(Want::Bits(bits)) => bits,
            _ => unreachable!("exact"),
        };
        let [[ax, bx, cx], [ay, by, cy]] =
            lanes.each_ref().map(|lane| <[u64; 3]>::try_from(lane.as_slice()).unwrap());
        return pair(fma(ay ^ 0x8000, by, fma(ax, bx, cx)), fma(ay, bx, fma(ax, by, cy)));
    }
    let [low, high] = each(op);
    pair(low, high)
}

/// Whether each number of a pair is what a function of one number wants.
pub(super) fn near_pair(function: &Function<'_>, argument: u64) -> Option<[Want; 2]> {
    let format = match function.parameters[0] {
        "h2" => "f16",
        "b2" => "b16",
        _ => return None,
    };
    function.model.starts_with("near(").then(|| {
        [argument & 0xffff, argument >> 16].map(|lane| one(format, function.model, &[lane]).unwrap())
    })
}
