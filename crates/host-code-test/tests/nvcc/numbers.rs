//! CUDA's conversions and arithmetic with a rounding, on the device and in host code, against a model. The
//! rows of `kernels/*.inc` drive the kernels and these tests.

use std::collections::BTreeMap;
use std::ffi::c_int;

use hip::DeviceBuffer;
use host_code_test as code;

use crate::devices;
use crate::model::{Format, Number, Row, decode, format, model, range, rows, same};

/// Numbers of a type: the ends of all formats, ties, and what lies beside them; as bits.
fn samples(name: &str) -> Vec<u64> {
    let Some(Format { bits, fraction, .. }) = format(name) else {
        let (low, high, _) = range(name);
        let mut all: Vec<i128> = vec![low, low + 1, high, high - 1, 0, 1, 2, 3, -1, -7];
        for power in [7, 8, 10, 11, 15, 16, 23, 24, 25, 31, 32, 52, 53, 54, 60, 62] {
            for beside in [-1, 0, 1, 3] {
                all.extend([(1 << power) + beside, -(1 << power) + beside, (3 << power) + beside]);
            }
        }
        all.extend([
            65503,
            65504,
            65519,
            65520,
            65535,
            0x1234_5678_9abc,
            0x7fff_ffff_ffff_fbff,
            0x7fff_fe00_0000_0001,
        ]);
        return all
            .into_iter()
            .filter(|value| (low..=high).contains(value))
            .map(|value| value as u64)
            .collect();
    };
    if bits == 16 {
        return (0..1 << 16)
            .step_by(7)
            .chain([0x7c00, 0xfc00, 0x7e00, 0x8000, 0x7bff, 1, 0x8001, 0x7f80, 0xff80, 0x7fc0])
            .collect();
    }
    let top = ((1_u64 << (bits - 1 - fraction)) - 1) << fraction;
    let mut all = vec![0, 1, 2, top - 1, top, top | 1 << (fraction - 1), 1 << fraction, (1 << fraction) - 1];
    let bias = (1 << (bits - 2 - fraction)) - 1;
    for exponent in (-160..=130_i64).filter(|exponent| bits == 64 || exponent.abs() < bias) {
        for low in [
            0,
            1,
            1 << (fraction - 1),
            0x5555_5555_5555_5555,
            (1 << fraction) - 1,
            1 << (fraction - 11),
            3 << (fraction - 8),
        ] {
            all.push(((exponent + bias) as u64) << fraction | (low & ((1 << fraction) - 1)));
        }
    }
    let negative: Vec<u64> = all.iter().map(|bits_of| bits_of | 1 << (bits - 1)).collect();
    all.extend(negative);
    all
}

/// Compares the results of all rows, of those that count, with the model.
fn check(
    place: &str,
    type_name: &str,
    numbers: &[u64],
    results: &[u64],
    all: &[Row<'_>],
    counts: impl Fn(&Row<'_>) -> bool,
) {
    for (row, results) in all.iter().zip(results.chunks(numbers.len())) {
        let [from, to, mode] = row.columns[..] else { panic!("{}", row.name) };
        if from != type_name || !counts(row) {
            continue;
        }
        for (bits, result) in numbers.iter().zip(results) {
            let number = decode(from, *bits);
            // An integer has no negative zero.
            let expected = match model(from, number, to, mode) {
                Number::Float(0.0) if matches!(number, Number::Whole(_)) => Number::Float(0.0),
                expected => expected,
            };
            let got = decode(to, *result);
            assert!(same(got, expected), "{place}: {}({number:?}) is {got:?}, not {expected:?}", row.name);
        }
    }
}

#[test]
fn conversions_round_and_saturate_as_cudas() {
    let all = rows(include_str!("../../kernels/conversions.inc"));
    let types = ["f16", "b16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64"];
    let samples: BTreeMap<&str, Vec<u64>> = types.map(|name| (name, samples(name))).into();
    for (name, numbers) in &samples {
        let n = c_int::try_from(numbers.len()).unwrap();
        let mut results = vec![0; numbers.len() * all.len()];
        // SAFETY: there are n numbers, and room for n results of each row.
        unsafe { code::convert_on_host(numbers.as_ptr(), n, results.as_mut_ptr()) };
        check("host", name, numbers, &results, &all, |row| row.kind == "BOTH");
    }
    for device in devices() {
        device.make_current().unwrap();
        let stream = device.stream().unwrap();
        for (name, numbers) in &samples {
            let from = DeviceBuffer::from_slice(&stream, numbers).unwrap();
            let mut to = DeviceBuffer::<u64>::zeroed(&stream, numbers.len() * all.len()).unwrap();
            let n = c_int::try_from(numbers.len()).unwrap();
            let from =
                std::ptr::with_exposed_provenance(from.as_slice().address_on(&stream).unwrap().0 as usize);
            let into = std::ptr::with_exposed_provenance_mut(
                to.as_mut_slice().address_on(&stream).unwrap().0 as usize,
            );
            // SAFETY: as above, and the stream is that of the copies.
            assert_eq!(unsafe { code::launch_conversions(from, n, into, stream.as_raw()) }, 0);
            check(&device.to_string(), name, numbers, &to.to_vec(&stream).unwrap(), &all, |_| true);
        }
    }
}

/// The sign of an exact result less x.
fn above(op: &str, [a, b, c]: [f64; 3], x: f64) -> f64 {
    let two_sum = |a: f64, b: f64| {
        let sum = a + b;
        let of_b = sum - a;
        (sum, (a - (sum - of_b)) + (b - of_b))
    };
    match op {
        "add" | "sub" => {
            let (sum, rest) = two_sum(a, if op == "add" { b } else { -b });
            (sum - x) + rest
        }
        "mul" => a.mul_add(b, -x),
        "div" => (-x).mul_add(b, a) * b.signum(),
        "rcp" => (-x).mul_add(a, 1.0) * a.signum(),
        "sqrt" => (-x).mul_add(x, a),
        _ => {
            let product = a * b;
            let (sum, low) = two_sum(product, c);
            let (rest, least) = two_sum(low, a.mul_add(b, -product));
            let difference = (sum - x) + rest;
            if difference == 0.0 { least } else { difference }
        }
    }
}

#[test]
fn arithmetic_rounds_as_its_name_says() {
    let all = rows(include_str!("../../kernels/arithmetic.inc"));
    let some = [
        1.0,
        3.0,
        1.0 / 3.0,
        0.1,
        1e-9,
        12345.678,
        7.5e9,
        f64::from(f32::MIN_POSITIVE) * 1e20,
        2.0 - f64::EPSILON,
        1.5,
    ];
    let mut triples = Vec::new();
    for (i, &a) in some.iter().enumerate() {
        for (k, &b) in some.iter().enumerate() {
            let c = some[(i + 3 * k) % some.len()];
            triples.extend([[a, b, c], [-a, b, c], [a, -b, -c], [-a, -b, c]]);
        }
    }
    let n = triples.len();
    // Sums and products that overflow; quotients that underflow.
    triples.extend([[f64::MAX, f64::MAX, 0.0], [5e-324, 3.0, 0.0], [-5e-324, 3.0, 0.0]]);
    for device in devices() {
        device.make_current().unwrap();
        let stream = device.stream().unwrap();
        let column = |index: usize| triples.iter().map(|triple| triple[index].to_bits()).collect::<Vec<_>>();
        let inputs = [0, 1, 2].map(|index| DeviceBuffer::from_slice(&stream, &column(index)).unwrap());
        let mut to = DeviceBuffer::<u64>::zeroed(&stream, triples.len() * all.len()).unwrap();
        let [a, b, c] = inputs.each_ref().map(|input| {
            std::ptr::with_exposed_provenance(input.as_slice().address_on(&stream).unwrap().0 as usize)
        });
        let into =
            std::ptr::with_exposed_provenance_mut(to.as_mut_slice().address_on(&stream).unwrap().0 as usize);
        let count = c_int::try_from(triples.len()).unwrap();
        // SAFETY: there are so many triples, room for so many results of each row, and the stream is that of
        // the copies.
        assert_eq!(unsafe { code::launch_arithmetic(a, b, c, count, into, stream.as_raw()) }, 0);
        let results = to.to_vec(&stream).unwrap();
        for (row, results) in all.iter().zip(results.chunks(triples.len())) {
            let [kind, op, mode] = row.columns[..] else { panic!("{}", row.name) };
            let narrow = kind == "f32";
            for (triple, result) in triples[..n].iter().zip(results) {
                let [a, b, c] = triple.map(|x| if narrow { f64::from(x as f32) } else { x });
                let Number::Float(got) = decode(kind, *result) else { unreachable!("a float") };
                if op == "sqrt" && a < 0.0 {
                    assert!(got.is_nan(), "{device}: {}({a}) is {got}", row.name);
                    continue;
                }
                let next = |up: bool| match (narrow, up) {
                    (true, true) => f64::from((got as f32).next_up()),
                    (true, false) => f64::from((got as f32).next_down()),
                    (false, true) => got.next_up(),
                    (false, false) => got.next_down(),
                };
                let sign = |x: f64| above(op, [a, b, c], x);
                let down = || sign(got) >= 0.0 && sign(next(true)) < 0.0;
                let up = || sign(got) <= 0.0 && sign(next(false)) > 0.0;
                let is_right = match mode {
                    "rd" => down(),
                    "ru" => up(),
                    "rz" if sign(0.0) > 0.0 => down(),
                    "rz" if sign(0.0) < 0.0 => up(),
                    "rz" => got == 0.0,
                    // Nearer than both neighbours' middles, or a tie.
                    _ => {
                        let middle = |x: f64| got / 2.0 + x / 2.0;
                        if narrow {
                            sign(middle(next(true))) <= 0.0 && sign(middle(next(false))) >= 0.0
                        } else {
                            down() || up()
                        }
                    }
                };
                assert!(is_right, "{device}: {}({a}, {b}, {c}) is {got}", row.name);
            }
            if narrow {
                continue;
            }
            let special: Vec<f64> = results[n..].iter().map(|bits| f64::from_bits(*bits)).collect();
            let grows = if matches!(mode, "rn" | "ru") { f64::INFINITY } else { f64::MAX };
            match op {
                "add" | "mul" => assert_eq!(special[0], grows, "{device}: {}", row.name),
                "div" => {
                    let (up, down) = (f64::from(u8::from(mode == "ru")), f64::from(u8::from(mode == "rd")));
                    assert_eq!(special[1..], [5e-324 * up, -5e-324 * down], "{device}: {}", row.name);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn mathematics_and_functions_of_integers_have_their_values() {
    let table: Vec<&str> =
        include_str!("../../kernels/values.inc").lines().filter(|line| !line.starts_with("//")).collect();
    let check = |place: &str, got: &[f64], counts: &dyn Fn(&str) -> bool| {
        for (row, got) in table.iter().zip(got).filter(|(row, _)| counts(row)) {
            let (expression, value) = row.strip_suffix(')').unwrap().rsplit_once(", ").unwrap();
            let value: f64 = value.parse().unwrap();
            let part = if expression.contains("0f") { 1e-6 } else { 2e-14 };
            assert!((got - value).abs() <= part * value.abs(), "{place}: {expression} is {got}, not {value}");
        }
    };
    let mut host = vec![0.0; table.len()];
    // SAFETY: there is room for a value of each row.
    unsafe { code::values_on_host(host.as_mut_ptr()) };
    check("host", &host, &|row| row.starts_with("BOTH"));
    for device in devices() {
        device.make_current().unwrap();
        let stream = device.stream().unwrap();
        let mut to = DeviceBuffer::<f64>::zeroed(&stream, table.len()).unwrap();
        let into =
            std::ptr::with_exposed_provenance_mut(to.as_mut_slice().address_on(&stream).unwrap().0 as usize);
        // SAFETY: there is room for a value of each row, and the stream is that of the copy.
        assert_eq!(unsafe { code::launch_values(into, stream.as_raw()) }, 0);
        check(&device.to_string(), &to.to_vec(&stream).unwrap(), &|_| true);
    }
}
