//! Every function of CUDA's mathematics API, on the device and in host code, against a model: functions of
//! integers and 16-bit numbers bit for bit, mathematics within the bounds that CUDA publishes. The rows of
//! `kernels/functions.inc` and `kernels/mathematics.inc` drive the kernels and these tests.

mod halves;
mod integers;
mod mathematics;
mod names;

use std::ffi::c_int;

use hip::DeviceBuffer;
use host_code_test as code;

use crate::devices;
use crate::model::{Number, decode, same};

/// The types of samples, by their place. `kernels/functions.cu` has the same list.
const TYPES: [&str; 14] =
    ["f16", "b16", "h2", "b2", "f32", "f64", "f2", "i16", "u16", "i32", "u32", "i64", "u64", "mode"];
/// How many arguments a function has at most.
const POSITIONS: usize = 4;
/// Samples of each type and position. In the first half, special values meet.
const SAMPLES: usize = 2048;

/// A function as a table has it.
struct Function<'a> {
    both: bool,
    name: &'a str,
    call: &'a str,
    result: &'a str,
    model: &'a str,
    parameters: Vec<&'a str>,
}

/// What a model says of a result.
#[derive(Clone, Copy, Debug)]
enum Want {
    /// These bits; for a number that is NaN, any NaN.
    Bits(u64),
    /// At most so many units in the last place away from the rounded number.
    Ulps(f64, u64),
    /// Off by at most so much: part of the unit in the last place of an exact number.
    Part(f64, f64),
    /// Off by at most so much.
    Absolute(f64, f64),
    /// 0 if false, else anything.
    Truth(bool),
    /// CUDA's documentation says nothing of it.
    Anything,
}

fn functions(table: &str) -> Vec<Function<'_>> {
    let functions: Vec<Function<'_>> = table
        .lines()
        .filter(|line| !line.starts_with("//"))
        .map(|line| {
            let (kind, columns) = line.strip_suffix(')').unwrap().split_once('(').unwrap();
            let columns: Vec<&str> = columns.split(", ").collect();
            let [name, call, result, model, ref parameters @ ..] = columns[..] else { panic!("{line}") };
            Function { both: kind == "BOTH", name, call, result, model, parameters: parameters.to_vec() }
        })
        .collect();
    assert!(functions.len() > 100);
    functions
}

fn tables() -> [Vec<Function<'static>>; 2] {
    [
        functions(include_str!("../../kernels/functions.inc")),
        functions(include_str!("../../kernels/mathematics.inc")),
    ]
}

/// Where the samples of a type are.
fn place(name: &str) -> usize {
    let name = match name {
        "il" => "i64",
        "ul" => "u64",
        "c4" | "uc4" | "s2" | "us2" => "u32",
        name => name,
    };
    TYPES.iter().position(|each| *each == name).unwrap_or_else(|| panic!("{name}"))
}

/// A number that depends on all of these, evenly spread.
fn random(of: [usize; 3]) -> u64 {
    let [a, b, c] = of.map(|x| x as u64);
    let mut x = (a << 40 ^ b << 20 ^ c).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Values of a type that functions treat in their own way.
fn special(name: &str) -> Vec<u64> {
    let float = |bits: u32, fraction: u32| {
        let top = ((1_u64 << (bits - 1 - fraction)) - 1) << fraction;
        let one = (top >> 1) & !((1 << fraction) - 1);
        let step = 1 << fraction;
        let all = [
            0,
            1,
            2,
            step - 1,
            step,
            step + 1,
            one,
            one - 1,
            one + 1,
            one + step,
            one + step + step / 2,
            one - step,
            top - 1,
            top - step,
            top,
            top | step >> 1,
        ];
        all.into_iter().flat_map(|x| [x, x | 1 << (bits - 1)]).collect::<Vec<_>>()
    };
    match name {
        "f16" => float(16, 10),
        "b16" => float(16, 7),
        "f32" => float(32, 23),
        "f64" => float(64, 52),
        "h2" | "b2" => {
            let one = special(if name == "h2" { "f16" } else { "b16" });
            (0..32).map(|i| one[i] | one[(i * 13 + 5) % 32] << 16).collect()
        }
        "f2" => {
            let one = special("f32");
            (0..32).map(|i| one[i] | one[(i * 13 + 5) % 32] << 32).collect()
        }
        "mode" => vec![0, 1, 2, 3],
        _ => [
            0_u64,
            1,
            2,
            3,
            5,
            8,
            24,
            31,
            32,
            33,
            63,
            64,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x7f80_ff01,
            0x8000_7fff,
            0x7fff_8000,
            0x8080_8080,
            0x7fff_ffff,
            0x8000_0000,
            0x8000_0001,
            0xffff_ffff,
            0x0080_0000,
            0x00ff_ffff,
            0x7fff_ffff_ffff_ffff,
            0x8000_0000_0000_0000,
            0xffff_ffff_ffff_ffff,
            0x5555_aaaa_3333_cccc,
        ]
        .to_vec(),
    }
}

/// A sample of a type: its bits.
fn sample(position: usize, at: usize, index: usize) -> u64 {
    let name = TYPES[at];
    let all = special(name);
    if index < SAMPLES / 2 {
        let which = [index, index / 32, index * 11 + index / 32, index * 5 + index / 8][position];
        return all[which % 32 % all.len()];
    }
    let raw = random([position, at, index]);
    // Three of four numbers are not far from 1.
    let moderate = |raw: u64| {
        let scale = [1.0, 4.0, 30.0][(raw % 4).min(2) as usize];
        ((raw >> 11) as f64 / (1_u64 << 52) as f64 - 1.0) * scale
    };
    let near = !raw.is_multiple_of(4);
    let half = |raw: u64, bits: u64| {
        if raw & 3 == 0 {
            return bits & 0xffff;
        }
        let value = moderate(raw) as f32;
        if name == "b2" || name == "b16" {
            u64::from(value.to_bits() >> 16)
        } else {
            halves::bits("f16", f64::from(value))
        }
    };
    match name {
        "f16" | "b16" => half(raw, raw >> 16),
        "h2" | "b2" => half(raw, raw >> 16) | half(raw >> 7, raw >> 40) << 16,
        "f32" if near => u64::from((moderate(raw) as f32).to_bits()),
        "f64" if near => moderate(raw).to_bits(),
        "f2" if near => {
            u64::from((moderate(raw) as f32).to_bits())
                | u64::from((moderate(raw >> 5) as f32).to_bits()) << 32
        }
        "mode" => raw & 3,
        // Small integers, too.
        "i32" | "u32" | "i64" | "u64" if raw & 3 == 3 => raw >> 58,
        _ => raw,
    }
}

fn samples() -> Vec<u64> {
    let mut all = Vec::with_capacity(POSITIONS * TYPES.len() * SAMPLES);
    for position in 0..POSITIONS {
        for at in 0..TYPES.len() {
            all.extend((0..SAMPLES).map(|index| sample(position, at, index)));
        }
    }
    all
}

/// The lowest bits that a type has.
fn bits_of(name: &str) -> u32 {
    match name {
        "f16" | "b16" | "i16" | "u16" => 16,
        "i8" | "u8" => 8,
        "f64" | "f2" | "i64" | "u64" | "il" | "ul" => 64,
        _ => 32,
    }
}

/// A float as an integer in the same order; both zeros are 0.
fn order(name: &str, bits: u64) -> i128 {
    let size = bits_of(name);
    let low = i128::from(bits & !(1 << (size - 1)));
    if bits >> (size - 1) & 1 == 1 { -low } else { low }
}

/// Whether a result is what the model wants.
fn is_right(name: &str, got: u64, want: Want) -> bool {
    let got = got & (u64::MAX >> (64 - bits_of(name)));
    let float = matches!(name, "f16" | "b16" | "f32" | "f64");
    let number = |bits: u64| match decode(name, bits) {
        Number::Float(value) => value,
        Number::Whole(_) => unreachable!("a float"),
    };
    match want {
        Want::Anything => true,
        Want::Truth(truth) => (got != 0) == truth,
        Want::Bits(bits) => {
            let lanes: Option<(&str, u32)> = match name {
                "h2" => Some(("f16", 16)),
                "b2" => Some(("b16", 16)),
                "f2" => Some(("f32", 32)),
                _ => None,
            };
            if let Some((one, size)) = lanes {
                let each = |bits: u64, at: u32| decode(one, bits >> at & (u64::MAX >> (64 - size)));
                return same(each(got, 0), each(bits, 0)) && same(each(got, size), each(bits, size));
            }
            if float { same(decode(name, got), decode(name, bits)) } else { got == bits }
        }
        Want::Ulps(value, ulps) => {
            let rounded = halves::bits(name, value);
            if value.is_nan() || number(got).is_nan() {
                return value.is_nan() && number(got).is_nan();
            }
            if ulps == 0 || value == 0.0 && ulps < 4 {
                return got == rounded;
            }
            (order(name, got) - order(name, rounded)).unsigned_abs() <= u128::from(ulps)
        }
        Want::Part(value, part) => {
            if value.is_nan() || value.is_infinite() || value == 0.0 || number(got).is_infinite() {
                return same(Number::Float(number(got)), decode(name, halves::bits(name, value)));
            }
            (number(got) - value).abs() <= part * halves::unit(name, value)
        }
        Want::Absolute(value, off) => {
            let rounded = number(halves::bits(name, value));
            (value.is_nan() && number(got).is_nan())
                || (number(got) - value).abs() <= off
                || number(got) == rounded
        }
    }
}

/// Compares the results of a table with its models; names each function that is wrong, with its first case.
fn compare(
    place_name: &str,
    table: &[Function<'_>],
    samples: &[u64],
    results: &[u64],
    host: bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (function, results) in
        table.iter().zip(results.chunks(SAMPLES)).filter(|(function, _)| function.both || !host)
    {
        let parameters = &function.parameters;
        let mut failed = 0;
        let mut first = String::new();
        for (index, &got) in results.iter().enumerate() {
            let arguments: Vec<u64> = parameters
                .iter()
                .enumerate()
                .map(|(position, name)| {
                    let bits = samples[(position * TYPES.len() + place(name)) * SAMPLES + index];
                    bits & (u64::MAX >> (64 - bits_of(name)))
                })
                .collect();
            if let Some([low, high]) = halves::near_pair(function, arguments[0]) {
                let one = if function.result == "h2" { "f16" } else { "b16" };
                if !is_right(one, got & 0xffff, low) || !is_right(one, got >> 16, high) {
                    if failed == 0 {
                        first = format!("{arguments:x?} is {got:#x}, not {low:x?}, {high:x?}");
                    }
                    failed += 1;
                }
                continue;
            }
            let want = halves::want(function, &arguments)
                .or_else(|| integers::want(function, &arguments))
                .unwrap_or_else(|| mathematics::want(function, &arguments, host));
            if !is_right(function.result, got, want) {
                if failed == 0 {
                    first = format!("{arguments:x?} is {got:#x}, not {want:x?}");
                }
                failed += 1;
            }
        }
        if failed > 0 {
            let Function { name, call, .. } = function;
            wrong.push(format!("{place_name}: {name} ({call}) of {parameters:?}: {failed} wrong; {first}"));
        }
    }
    wrong
}

#[test]
fn functions_of_host_code_are_cudas() {
    let [functions, mathematics] = tables();
    let all = samples();
    let mut results = vec![0; functions.len() * SAMPLES];
    let mut of_mathematics = vec![0; mathematics.len() * SAMPLES];
    let n = c_int::try_from(SAMPLES).unwrap();
    // SAFETY: there are n samples of each type and position, and room for n results of each row.
    unsafe { code::functions_on_host(all.as_ptr(), n, results.as_mut_ptr(), of_mathematics.as_mut_ptr()) };
    let mut wrong = compare("host", &functions, &all, &results, true);
    wrong.extend(compare("host", &mathematics, &all, &of_mathematics, true));
    assert!(wrong.is_empty(), "{}\n{} functions", wrong.join("\n"), wrong.len());
}

#[test]
fn functions_of_device_code_are_cudas() {
    let [functions, mathematics] = tables();
    let all = samples();
    // Compiled for the first target only.
    let device = devices().remove(0);
    device.make_current().unwrap();
    let stream = device.stream().unwrap();
    let from = DeviceBuffer::from_slice(&stream, &all).unwrap();
    let [mut results, mut of_mathematics] = [&functions, &mathematics]
        .map(|table| DeviceBuffer::<u64>::zeroed(&stream, table.len() * SAMPLES).unwrap());
    let samples = std::ptr::with_exposed_provenance(from.as_slice().address_on(&stream).unwrap().0 as usize);
    let [to, to_mathematics] = [&mut results, &mut of_mathematics].map(|buffer| {
        std::ptr::with_exposed_provenance_mut(buffer.as_mut_slice().address_on(&stream).unwrap().0 as usize)
    });
    let n = c_int::try_from(SAMPLES).unwrap();
    // SAFETY: there are n samples of each type and position, and room for n results of each row; the stream
    // is that of the copies.
    assert_eq!(unsafe { code::launch_functions(samples, n, to, to_mathematics, stream.as_raw()) }, 0);
    let place = device.to_string();
    let mut wrong = compare(&place, &functions, &all, &results.to_vec(&stream).unwrap(), false);
    wrong.extend(compare(&place, &mathematics, &all, &of_mathematics.to_vec(&stream).unwrap(), false));
    assert!(wrong.is_empty(), "{}\n{} functions", wrong.join("\n"), wrong.len());
}
