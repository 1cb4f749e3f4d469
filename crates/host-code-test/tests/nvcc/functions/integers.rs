//! The models of functions of integers, of words of bytes and halves, and of bits: in integers of 128 bits.

use super::{Function, Want, halves};
use crate::model::range;

/// An argument as an integer.
fn whole(name: &str, bits: u64) -> i128 {
    let name = match name {
        "il" => "i64",
        "ul" => "u64",
        "c4" | "s2" | "f32" => "i32",
        "uc4" | "us2" => "u32",
        "f64" => "u64",
        name => name,
    };
    let (low, _, size) = range(name);
    let value = i128::from(bits & (u64::MAX >> (64 - size)));
    if low < 0 && value >> (size - 1) & 1 == 1 { value - (1 << size) } else { value }
}

/// The parts of a word, the lowest first.
fn parts(word: i128, bits: u32, signed: bool) -> Vec<i128> {
    (0..32 / bits)
        .map(|at| {
            let part = word >> (at * bits) & ((1 << bits) - 1);
            if signed && part >> (bits - 1) == 1 { part - (1 << bits) } else { part }
        })
        .collect()
}

fn join(parts: impl IntoIterator<Item = i128>, bits: u32) -> u64 {
    parts
        .into_iter()
        .enumerate()
        .fold(0, |word, (at, part)| word | ((part & ((1 << bits) - 1)) as u64) << (at as u32 * bits))
}

/// `__vadd2` and the like: the operation, then `s` or `u`, then the number of parts.
fn simd(model: &str, x: &[i128]) -> Option<u64> {
    let count = model.as_bytes().last()? - b'0';
    let bits = match (model.starts_with('v') && !model.starts_with("vi"), count) {
        (true, 2) => 16,
        (true, 4) => 8,
        _ => return None,
    };
    let op = &model[1..model.len() - 1];
    let (op, signed) = match op {
        "add" | "sub" | "cmpeq" | "cmpne" | "seteq" | "setne" => (op, false),
        "abs" | "neg" | "absss" | "negss" | "addss" | "subss" => (op.strip_suffix("ss").unwrap_or(op), true),
        "addus" | "subus" => (op.strip_suffix("us")?, false),
        _ => match op.split_at(op.len() - 1) {
            (op, "s") => (op, true),
            (op, _) => (op, false),
        },
    };
    let saturates = model.contains("ss") && !model.starts_with("vsub")
        || model[1..].contains("subss")
        || model.contains("us");
    let (low, high) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let words: Vec<Vec<i128>> = x.iter().map(|word| parts(*word & 0xffff_ffff, bits, signed)).collect();
    let each: Vec<i128> = (0..words[0].len())
        .map(|at| {
            let a = words[0][at];
            let b = words.get(1).map_or(0, |word| word[at]);
            let result = match op {
                "add" => a + b,
                "sub" => a - b,
                "avg" if signed => (a + b + i128::from(a + b >= 0)) >> 1,
                "avg" => (a + b + 1) >> 1,
                "hadd" => (a + b) >> 1,
                "max" => a.max(b),
                "min" => a.min(b),
                "absdiff" | "sad" => (a - b).abs(),
                "abs" => a.abs(),
                "neg" => -a,
                _ => {
                    let truth = match &op[3..] {
                        "eq" => a == b,
                        "ne" => a != b,
                        "ge" => a >= b,
                        "gt" => a > b,
                        "le" => a <= b,
                        "lt" => a < b,
                        _ => panic!("{model}"),
                    };
                    if op.starts_with("cmp") { -i128::from(truth) } else { i128::from(truth) }
                }
            };
            if saturates { result.clamp(low, high) } else { result }
        })
        .collect();
    Some(if op == "sad" { (each.iter().sum::<i128>() & 0xffff_ffff) as u64 } else { join(each, bits) })
}

/// DPX: the largest or smallest of numbers and sums, in words or halves.
fn dpx(model: &str, x: &[i128]) -> Option<u64> {
    let name = model.strip_prefix("vi")?;
    let bits = if name.contains("16x2") { 16 } else { 32 };
    let signed = name.contains("_s");
    let largest = name.contains("max");
    let (low, high) =
        if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1_i128 << bits) - 1) };
    let words: Vec<Vec<i128>> = x.iter().map(|word| parts(*word & 0xffff_ffff, bits, signed)).collect();
    let choose = |a: i128, b: i128| if largest { a.max(b) } else { a.min(b) };
    let wrap = |value: i128| {
        let value = value & ((1 << bits) - 1);
        if signed && value > high { value + 2 * low } else { value }
    };
    let each: Vec<i128> = (0..words[0].len())
        .map(|at| {
            let all: Vec<i128> = words.iter().map(|word| word[at]).collect();
            let result = if name.starts_with("add") {
                choose(wrap(all[0] + all[1]), all[2])
            } else {
                all.iter().copied().reduce(choose).unwrap()
            };
            if name.ends_with("relu") { result.max(0) } else { result }
        })
        .collect();
    Some(match name.rsplit('_').next()? {
        "first" | "lower" => u64::from(each[0] == words[0][0]),
        "upper" => u64::from(each[1] == words[0][1]),
        _ => join(each, bits),
    })
}

/// What a function of integers or bits gives, or None for other functions.
pub(super) fn want(function: &Function<'_>, arguments: &[u64]) -> Option<Want> {
    let model = function.model;
    if model.contains(':') {
        return None;
    }
    if let Some(op) = model.strip_prefix("lanes_") {
        let lanes = [0, 32].map(|at| {
            float_op(op, &arguments.iter().map(|bits| bits >> at & 0xffff_ffff).collect::<Vec<_>>())
        });
        return Some(Want::Bits(lanes[0] | lanes[1] << 32));
    }
    if model.starts_with("fma_") {
        return Some(Want::Bits(float_op(model, arguments)));
    }
    let x: Vec<i128> = arguments
        .iter()
        .zip(&function.parameters)
        .map(|(bits, name)| if *name == "mode" { 0 } else { whole(name, *bits) })
        .collect();
    let size = super::bits_of(function.result);
    let of = |value: i128| Some(Want::Bits((value as u64) & (u64::MAX >> (64 - size))));
    if let Some(result) = simd(model, &x).or_else(|| dpx(model, &x)) {
        return Some(Want::Bits(result));
    }
    let a = x[0];
    let word = |value: i128| value & 0xffff_ffff;
    let signed = |value: i128, bits: u32| {
        let value = value & ((1 << bits) - 1);
        if value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
    };
    let reversed = |bits: u32| (0..bits).fold(0, |all, at| all | (a >> at & 1) << (bits - 1 - at));
    let zeros =
        |bits: u32| i128::from((0..bits).take_while(|at| a >> (bits - 1 - at) & 1 == 0).count() as u32);
    let found = |bits: u32| (0..bits).find(|at| a >> at & 1 == 1).map_or(0, |at| i128::from(at) + 1);
    let swapped =
        |bytes: u32| (0..bytes).fold(0, |all, at| all | (a >> (8 * at) & 0xff) << (8 * (bytes - 1 - at)));
    let shifted = |left: bool, clamped: bool| {
        let by = if clamped { x[2].min(32) } else { x[2] & 31 } as u32;
        let both = x[1] << 32 | a;
        if left { word(both << by >> 32) } else { word(both >> by) }
    };
    let dots = |bits_a: u32, at: usize| {
        let signed = function.result == "i32";
        let (first, second) = (parts(word(a), bits_a, signed), parts(word(x[1]), 8, signed));
        x[2] + first.iter().zip(&second[at..]).map(|(a, b)| a * b).sum::<i128>()
    };
    of(match model {
        "one" => 1,
        "popc" | "popcll" => i128::from((arguments[0]).count_ones()),
        "clz" => zeros(32),
        "clzll" => zeros(64),
        "ffs" => found(32),
        "ffsll" => found(64),
        "brev" => reversed(32),
        "brevll" => reversed(64),
        "nv_bswap16" => swapped(2),
        "nv_bswap32" => swapped(4),
        "nv_bswap64" => swapped(8),
        "byte_perm" => {
            let both = x[1] << 32 | a;
            (0..4).fold(0, |all, at| all | (both >> (8 * (x[2] >> (4 * at) & 7)) & 0xff) << (8 * at))
        }
        "funnelshift_l" => shifted(true, false),
        "funnelshift_lc" => shifted(true, true),
        "funnelshift_r" => shifted(false, false),
        "funnelshift_rc" => shifted(false, true),
        "hadd" | "uhadd" => (a + x[1]) >> 1,
        "rhadd" | "urhadd" => (a + x[1] + 1) >> 1,
        "mulhi" | "umulhi" => (a * x[1]) >> 32,
        "mul64hi" => (a * x[1]) >> 64,
        "umul64hi" => ((a as u128 * x[1] as u128) >> 64) as i128,
        "mul24" => signed(a, 24) * signed(x[1], 24),
        "umul24" => (a & 0xff_ffff) * (x[1] & 0xff_ffff),
        "sad" | "usad" => (a - x[1]).abs() + x[2],
        "dp4a" => dots(8, 0),
        "dp2a_lo" => dots(16, 0),
        "dp2a_hi" => dots(16, 2),
        "abs" | "labs" | "llabs" => a.abs(),
        // The type of the result is the one to which both arguments convert.
        "min" | "umin" | "llmin" | "ullmin" | "max" | "umax" | "llmax" | "ullmax" => {
            let [a, b] = [0, 1].map(|at| whole(function.result, x[at] as u64));
            if model.contains("min") { a.min(b) } else { a.max(b) }
        }
        "int_as_float" | "uint_as_float" | "float_as_int" | "float_as_uint" | "double_as_longlong"
        | "longlong_as_double" => return Some(Want::Bits(arguments[0])),
        "double2hiint" => i128::from(arguments[0] >> 32),
        "double2loint" => i128::from(arguments[0] & 0xffff_ffff),
        "hiloint2double" => return Some(Want::Bits(arguments[0] << 32 | arguments[1])),
        "saturatef" => {
            let value = f32::from_bits(arguments[0] as u32);
            return Some(Want::Bits(u64::from((if value > 0.0 { value.min(1.0) } else { 0.0 }).to_bits())));
        }
        _ => return None,
    })
}

/// A float's sum, product or fused sum with a rounding, as bits.
fn float_op(op: &str, arguments: &[u64]) -> u64 {
    let x: Vec<f64> = arguments.iter().map(|bits| f64::from(f32::from_bits(*bits as u32))).collect();
    let (op, mode) = op.split_once('_').unwrap();
    let (terms, exact) = match op {
        "add" => ([x[0], x[1]], halves::sum(x[0], x[1])),
        "mul" => ([x[0] * x[1], x[0] * x[1]], x[0] * x[1]),
        _ => ([x[0] * x[1], x[2]], halves::sum(x[0] * x[1], x[2])),
    };
    // Numbers that cancel give -0 if results are rounded down.
    if exact == 0.0
        && mode == "rd"
        && (terms[0] != 0.0 || terms[0].is_sign_negative() != terms[1].is_sign_negative())
    {
        return 1 << 31;
    }
    halves::rounded("f32", exact, mode)
}
