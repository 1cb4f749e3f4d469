//! Conversions.

use super::{Case, Compare, Form, Kind, Ty, Values, each, simple, statement};
use crate::number::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, Format, Rounding};

fn narrow(name: &str) -> Option<Format> {
    Some(match name {
        "e4m3x2" => E4M3,
        "e5m2x2" => E5M2,
        "e2m3x2" => E2M3,
        "e3m2x2" => E3M2,
        "e2m1x2" => E2M1,
        _ => return None,
    })
}

/// The bits that a number has in a register of two.
fn width(format: Format) -> u32 {
    if format == E2M1 { 4 } else { 8 }
}

/// A number's code with what the modes say about negative numbers and infinity.
fn finished(format: Format, x: f64, rounding: Rounding, relu: bool, finite: bool) -> u64 {
    if relu && x < 0.0 {
        return 0;
    }
    let code = format.code(x, rounding);
    if finite && format.value(code).is_infinite() { code & format.sign() | format.largest } else { code }
}

/// The value of a power of two's code.
fn power(code: u64) -> f64 {
    if code == 0xff { f64::NAN } else { crate::number::exp2(code as i32 - 127) }
}

fn power_code(x: f64, up: bool) -> u64 {
    let code = F32.code(x, Rounding::Nearest) & 0x7fff_ffff;
    if F32.is_nan(code) {
        return 0xff;
    }
    let (exponent, rest) = (code >> 23, code & 0x7f_ffff);
    let up = up && rest != 0 && (exponent != 0 || rest > 0x40_0000);
    (exponent + u64::from(up)).min(0xfe)
}

pub(super) fn case(form: &Form<'_>) -> Option<Case> {
    if form.first != "cvt" {
        return None;
    }
    if form.has("pack") {
        return pack(form);
    }
    let last = form.parts.len().checked_sub(2)?;
    let [to, from] = form.parts[last..] else { return None };
    let (rounding, relu, finite, flush) =
        (form.rounding(), form.has("relu"), form.has("satfinite"), form.has("ftz"));
    if to == "tf32" {
        let f32 = Ty::of("f32")?;
        return Some(simple(form, Ty::of("b32")?, &[f32], move |o| {
            let x = F32.value(o[0]);
            if x.is_nan() {
                return 0x7fff_ffff;
            }
            if relu && x < 0.0 {
                return 0;
            }
            let half = match rounding {
                Rounding::Away => 0x1000,
                Rounding::Nearest => 0xfff + (o[0] >> 13 & 1),
                _ => 0,
            };
            if x.is_infinite() { o[0] } else { (o[0] + half) & 0xffff_e000 }
        }));
    }
    if to == "ue8m0x2" {
        let up = rounding == Rounding::Up;
        return pair(form, "h", from, move |x| power_code(x, up), 8);
    }
    if let Some(format) = narrow(to) {
        let letter = if format == E2M1 { "b" } else { "h" };
        return pair(
            form,
            letter,
            from,
            move |x| {
                if x.is_nan() { format.nan } else { finished(format, x, Rounding::Nearest, relu, true) }
            },
            width(format),
        );
    }
    if narrow(from).is_some() || from == "ue8m0x2" {
        let format = narrow(from);
        let half = if to == "f16x2" { F16 } else { BF16 };
        let width = format.map_or(8, width);
        let text = if width == 4 {
            format!("{{ .reg .b8 x; cvt.u8.u16 x, %1; {} %0, x; }}", form.name)
        } else {
            format!("{} %0, %1;", form.name)
        };
        return Some(Case {
            body: statement(&text, &['r'], &['h']),
            operands: vec![Values::Of(
                (0..0x1_0000)
                    .step_by(37)
                    .chain(0..256)
                    .map(|x| x & if width == 4 { 0xff } else { 0xffff })
                    .collect(),
            )],
            results: vec![Compare::Format(half, 2)],
            model: each(move |o| {
                let of = |code: u64| {
                    let code = code & ((1 << width) - 1);
                    let x = format
                        .map_or_else(|| power(code), |format| format.value(code & (2 * format.sign() - 1)));
                    finished(half, x, Rounding::Nearest, relu, false)
                };
                vec![of(o[0]) | of(o[0] >> width) << 16]
            }),
        });
    }
    if matches!(to, "f16x2" | "bf16x2") {
        let format = if to == "f16x2" { F16 } else { BF16 };
        return pair(form, "r", from, move |x| finished(format, x, rounding, relu, finite), 16);
    }
    let (to, from) = (Ty::of(to)?, Ty::of(from)?);
    let sat = form.has("sat");
    let integral = form.parts.iter().any(|part| matches!(*part, "rni" | "rzi" | "rmi" | "rpi"));
    let mut case = simple(form, to, &[from], move |o| match (to.kind, from.kind) {
        (Kind::Float(format, _), Kind::Float(of, _)) => {
            let bits = if flush && of == F32 { of.flushed(o[0]) } else { o[0] };
            let mut x = of.value(bits);
            if integral {
                x = rounding.whole(x);
            }
            if sat {
                x = if x > 0.0 { x.min(1.0) } else { 0.0 };
            }
            let code = finished(format, x, rounding, relu, finite);
            if flush && format == F32 { format.flushed(code) } else { code }
        }
        (Kind::Float(format, _), Kind::F64) => {
            let x = f64::from_bits(o[0]);
            let x = if sat { if x > 0.0 { x.min(1.0) } else { 0.0 } } else { x };
            let code = format.code(x, rounding);
            if flush && format == F32 { format.flushed(code) } else { code }
        }
        (Kind::F64, Kind::Float(of, _)) => {
            let x = of.value(if flush && of == F32 { of.flushed(o[0]) } else { o[0] });
            if sat { if x > 0.0 { x.min(1.0) } else { 0.0 } } else { x }.to_bits()
        }
        (Kind::F64, Kind::F64) => {
            let x = rounding.whole(f64::from_bits(o[0]));
            if sat { if x > 0.0 { x.min(1.0) } else { 0.0 } } else { x }.to_bits()
        }
        (Kind::Float(format, _), _) => {
            let n = from.read(o[0]);
            format.code(if sat { n.clamp(0, 1) as f64 } else { odd(n) }, rounding)
        }
        (Kind::F64, _) => whole_to_double(from.read(o[0]), rounding).to_bits(),
        (_, Kind::Float(of, _)) => {
            whole(to, of.value(if flush && of == F32 { of.flushed(o[0]) } else { o[0] }), rounding, false)
        }
        (_, Kind::F64) => whole(to, f64::from_bits(o[0]), rounding, true),
        _ => to.write(if sat { to.clamp(from.read(o[0])) } else { from.read(o[0]) }),
    });
    // A register is wider than a byte.
    if to.bits == 8 {
        case.body = case.body.replace("o[0] = r0;", "o[0] = r0 & 0xff;");
    }
    Some(case)
}

/// A whole number as f64; the odd neighbour if it does not fit.
fn odd(n: i128) -> f64 {
    let near = n as f64;
    let rest = n - near as i128;
    crate::number::add(near, rest as f64)
}

fn whole_to_double(n: i128, rounding: Rounding) -> f64 {
    let near = n as f64;
    let rest = n - near as i128;
    match rounding {
        Rounding::Zero if rest != 0 && (rest < 0) == (n > 0) => f64::from_bits(near.to_bits() - 1),
        Rounding::Down if rest < 0 => near.next_down(),
        Rounding::Up if rest > 0 => near.next_up(),
        _ => near,
    }
}

/// A number as a whole one: clamped, and for a NaN what the manual's table says.
fn whole(to: Ty, x: f64, rounding: Rounding, from_f64: bool) -> u64 {
    if x.is_nan() {
        return if from_f64 || to.bits == 64 { 1 << (to.bits - 1) } else { 0 };
    }
    to.write(to.clamp(rounding.whole(x).clamp(-1e30, 1e30) as i128))
}

/// Two numbers, of two registers or of one with two halves, in one.
fn pair(
    form: &Form<'_>,
    letter: &str,
    from: &str,
    code: impl Fn(f64) -> u64 + 'static,
    width: u32,
) -> Option<Case> {
    let result = if letter == "r" { 'r' } else { 'h' };
    let two = match from {
        "f32" => None,
        "f16x2" => Some(F16),
        "bf16x2" => Some(BF16),
        _ => return None,
    };
    let operands = if two.is_some() { "%1" } else { "%1, %2" };
    let text = if letter == "b" {
        format!("{{ .reg .b8 x; {} x, {operands}; cvt.u16.u8 %0, x; }}", form.name)
    } else {
        format!("{} %0, {operands};", form.name)
    };
    let compare = match (width, form.has("f16x2")) {
        (16, true) => Compare::Format(F16, 2),
        (16, false) => Compare::Format(BF16, 2),
        _ => Compare::Bits,
    };
    Some(match two {
        Some(half) => Case {
            body: statement(&text, &[result], &['r']),
            operands: vec![Values::Numbers(half, 2)],
            results: vec![compare],
            model: each(move |o| {
                vec![code(half.value(o[0] & 0xffff)) | code(half.value(o[0] >> 16 & 0xffff)) << width]
            }),
        },
        None => Case {
            body: statement(&text, &[result], &['f', 'f']),
            operands: vec![Values::Numbers(F32, 1); 2],
            results: vec![compare],
            model: each(move |o| vec![code(F32.value(o[1])) | code(F32.value(o[0])) << width]),
        },
    })
}

fn pack(form: &Form<'_>) -> Option<Case> {
    let kind = form.parts.get(2)?;
    let bits: u32 = kind.get(1..)?.parse().ok()?;
    let to = Ty { bits, kind: if kind.starts_with('s') { Kind::Signed } else { Kind::Unsigned } };
    let s32 = Ty::of("s32")?;
    let of = move |x: u64| to.write(to.clamp(s32.read(x)));
    let third = form.has("b32");
    let operands = if third { vec![s32; 3] } else { vec![s32; 2] };
    Some(simple(form, Ty::of("b32")?, &operands, move |o| {
        let rest = if third { o[2] << (2 * bits) } else { 0 };
        (rest | of(o[0]) << bits | of(o[1])) & 0xffff_ffff
    }))
}
