//! The rows of tables, and what conversions give: numbers of every type as integers of 128 bits or doubles.

/// A row of a table: the macro, the name of the function, and the columns behind it.
pub(crate) struct Row<'a> {
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) columns: Vec<&'a str>,
}

pub(crate) fn rows(table: &str) -> Vec<Row<'_>> {
    let rows: Vec<Row<'_>> = table
        .lines()
        .filter(|line| !line.starts_with("//"))
        .map(|line| {
            let (kind, columns) = line.strip_suffix(')').unwrap().split_once('(').unwrap();
            let mut columns = columns.split(", ");
            Row { kind, name: columns.next().unwrap(), columns: columns.collect() }
        })
        .collect();
    assert!(rows.len() > 50);
    rows
}

/// A number as the model has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Whole(i128),
    Float(f64),
}

/// A floating-point format: all its bits, those behind the leading one, and the exponent of its least number.
pub(crate) struct Format {
    pub(crate) bits: u32,
    pub(crate) fraction: u32,
    pub(crate) least: i32,
}

pub(crate) fn format(name: &str) -> Option<Format> {
    let (bits, fraction, least) = match name {
        "f16" => (16, 10, -24),
        "b16" => (16, 7, -133),
        "f32" => (32, 23, -149),
        "f64" => (64, 52, -1074),
        _ => return None,
    };
    Some(Format { bits, fraction, least })
}

/// The lowest and the highest number of an integer type, and its bits.
pub(crate) fn range(name: &str) -> (i128, i128, u32) {
    let bits: u32 = name[1..].parse().unwrap();
    if name.starts_with('i') {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits)
    } else {
        (0, (1 << bits) - 1, bits)
    }
}

/// The number that bits stand for.
pub(crate) fn decode(name: &str, bits: u64) -> Number {
    let Some(Format { bits: size, fraction, least }) = format(name) else {
        let (low, _, size) = range(name);
        let value = i128::from(bits & (u64::MAX >> (64 - size)));
        return Number::Whole(if low < 0 && value >> (size - 1) == 1 { value - (1 << size) } else { value });
    };
    let sign = if bits >> (size - 1) & 1 == 1 { -1.0 } else { 1.0 };
    let top = (1_u64 << (size - 1 - fraction)) - 1;
    let (exponent, low) = (bits >> fraction & top, bits & ((1 << fraction) - 1));
    let power = |n: i32| 2_f64.powi(n / 2) * 2_f64.powi(n - n / 2);
    Number::Float(match exponent {
        0 => sign * low as f64 * power(least),
        _ if exponent == top => {
            if low == 0 {
                sign * f64::INFINITY
            } else {
                f64::NAN
            }
        }
        _ => {
            let shift = least + i32::try_from(exponent).unwrap() - 1;
            sign * ((low | 1 << fraction) as f64 * power(shift.max(-1000))) * power(shift - shift.max(-1000))
        }
    })
}

/// A whole number of steps, from an exact quotient and whether and how much is left over.
pub(crate) fn step(whole: u128, rest: u128, half: u128, negative: bool, mode: &str) -> u128 {
    let up = match mode {
        "rn" => rest > half || (rest == half && rest != 0 && whole & 1 == 1),
        "rz" => false,
        "rd" => rest != 0 && negative,
        _ => rest != 0 && !negative,
    };
    whole + u128::from(up)
}

/// Parts of an exact number: sign, digits, exponent.
pub(crate) fn parts(number: Number) -> (bool, u128, i32) {
    match number {
        Number::Whole(value) => (value < 0, value.unsigned_abs(), 0),
        Number::Float(value) => {
            let bits = value.to_bits();
            let (exponent, low) = (i32::try_from(bits >> 52 & 0x7ff).unwrap(), bits & ((1 << 52) - 1));
            let digits = if exponent == 0 { low } else { low | 1 << 52 };
            (value.is_sign_negative(), u128::from(digits), exponent.max(1) - 1075)
        }
    }
}

/// Digits and exponent in steps of 2^q.
pub(crate) fn in_steps(digits: u128, exponent: i32, q: i32, negative: bool, mode: &str) -> u128 {
    if q <= exponent {
        return digits << (exponent - q);
    }
    match u32::try_from(q - exponent).unwrap() {
        shift @ 0..=126 => {
            step(digits >> shift, digits & ((1 << shift) - 1), 1 << (shift - 1), negative, mode)
        }
        _ => step(0, u128::from(digits != 0), 2, negative, mode),
    }
}

/// What a conversion gives.
pub(crate) fn model(from: &str, number: Number, to: &str, mode: &str) -> Number {
    let special = matches!(number, Number::Float(value) if !value.is_finite());
    let Some(Format { bits: size, fraction, least }) = format(to) else {
        let (low, high, bits) = range(to);
        if let Number::Float(value) = number
            && special
        {
            let nan = if bits == 64 || (bits == 32 && from == "f64") {
                if low < 0 { low } else { 1 << (bits - 1) }
            } else {
                0
            };
            return Number::Whole(if value.is_nan() {
                nan
            } else if value > 0.0 {
                high
            } else {
                low
            });
        }
        let (negative, digits, exponent) = parts(number);
        if exponent > 20 {
            return Number::Whole(if negative { low } else { high });
        }
        let size = i128::try_from(in_steps(digits, exponent, 0, negative, mode)).unwrap();
        return Number::Whole((if negative { -size } else { size }).clamp(low, high));
    };
    if special {
        return number;
    }
    let (negative, digits, exponent) = parts(number);
    let length = i32::try_from(128 - digits.leading_zeros()).unwrap();
    let q = (exponent + length - 1 - i32::try_from(fraction).unwrap()).max(least);
    let steps = in_steps(digits, exponent, q, negative, mode);
    // The largest number: all digits 1, at the highest exponent.
    let highest = least + i32::try_from((1_u32 << (size - 1 - fraction)) - 3).unwrap();
    let most = (2_u128 << fraction) - 1;
    let (steps, q) = if steps > most { (steps >> 1, q + 1) } else { (steps, q) };
    let power = |n: i32| 2_f64.powi(n / 2) * 2_f64.powi(n - n / 2);
    let value = if q > highest {
        let stays = match mode {
            "rz" => true,
            "rd" => !negative,
            "ru" => negative,
            _ => false,
        };
        if stays { most as f64 * power(highest) } else { f64::INFINITY }
    } else {
        let first = q.max(-1000);
        steps as f64 * power(first) * power(q - first)
    };
    Number::Float(if negative { -value } else { value })
}

/// The same number, with the sign of zero; all NaNs are the same.
pub(crate) fn same(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Float(a), Number::Float(b)) => (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}
