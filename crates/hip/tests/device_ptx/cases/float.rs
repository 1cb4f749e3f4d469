//! Floating-point arithmetic, comparisons and choices.

use super::{Case, Compare, Form, Kind, Ty, Values, each, predicate, simple, statement};
use crate::number::{self, F16, F32, Format, Rounding};

/// An operation on the codes of one format.
type Operation = Box<dyn Fn(Format, &[u64]) -> u64>;

pub(super) fn case(form: &Form<'_>) -> Option<Case> {
    match form.first {
        "setp" => return comparison(form),
        "set" => return set(form),
        "testp" => return test(form),
        "slct" => {
            let [ty, by] = form.types()[..] else { return None };
            return Some(simple(form, ty, &[ty, ty, by], move |o| {
                let first = match by.kind {
                    Kind::Float(format, _) => format.value(o[2]) >= 0.0,
                    _ => by.read(o[2]) >= 0,
                };
                if first { o[0] } else { o[1] }
            }));
        }
        "mov" => {
            let ty = *form.types().first()?;
            return Some(simple(form, ty, &[ty], |o| o[0]));
        }
        "selp" => {
            let ty = *form.types().first()?;
            let letter = ty.letter();
            let text = format!("{{ .reg .pred p; setp.ne.u32 p, %3, 0; {} %0, %1, %2, p; }}", form.name);
            return Some(Case {
                body: statement(&text, &[letter], &[letter, letter, 'r']),
                operands: vec![ty.values(), ty.values(), Values::Of(vec![0, 1, 2])],
                results: vec![ty.compare()],
                model: each(move |o| vec![if o[2] != 0 { o[0] } else { o[1] }]),
            });
        }
        _ => {}
    }
    let [ty] = form.types()[..] else { return None };
    if ty.kind == Kind::F64 {
        return double(form, ty);
    }
    let Kind::Float(format, count) = ty.kind else { return None };
    let (count_of, operation) = operation(form)?;
    let flush = form.has("ftz") && (format == F32 || format == F16);
    let approximate = form.has("approx") || form.has("full");
    let (relu, sat) = (form.has("relu"), form.has("sat"));
    let mut case = simple(form, ty, &vec![ty; count_of], move |o| {
        let width = format.bits();
        (0..count).fold(0, |all, part| {
            let parts: Vec<u64> = o
                .iter()
                .map(|x| x >> (part * width) & (u64::MAX >> (64 - width)))
                .map(|x| if flush { format.flushed(x) } else { x })
                .collect();
            let mut result = operation(format, &parts);
            let value = format.value(result);
            if relu && value < 0.0 || sat && (value <= 0.0 || value.is_nan()) {
                result = 0;
            } else if sat && value > 1.0 {
                result = format.code(1.0, Rounding::Nearest);
            }
            all | if flush { format.flushed(result) } else { result } << (part * width)
        })
    });
    if approximate || matches!(form.first, "tanh" | "ex2") {
        let (relative, absolute) = match (form.first, format.mantissa) {
            ("sin" | "cos", _) => (0.0, 2e-6),
            ("tanh", 23) => (6e-4, 1e-9),
            (_, 23) => (1e-6, 1.5e-38),
            (_, 10) => (2e-3, 7e-8),
            _ => (1e-2, 1e-38),
        };
        case.results = vec![if count == 1 {
            Compare::Near(format, 1, relative, absolute)
        } else {
            Compare::Format(format, count)
        }];
        if count > 1 {
            // Two halves are compared exactly, which they are to one step: of numbers with exact results.
            let codes: Vec<u64> = [0.0, 1.0, 2.0, -3.0, 4.0, -1.0]
                .map(|x| if form.first == "tanh" { 0.0 * x } else { x })
                .map(|x| format.code(x, Rounding::Nearest))
                .to_vec();
            case.operands = vec![Values::Of(
                codes.iter().flat_map(|a| codes.iter().map(move |b| a | b << format.bits())).collect(),
            )];
        } else if matches!(form.first, "sin" | "cos") {
            case.operands = vec![Values::Of(
                (-400..400).map(|i| format.code(f64::from(i) / 128.0, Rounding::Nearest)).collect(),
            )];
        }
    }
    Some(case)
}

/// How many operands an operation has, and what it does.
fn operation(form: &Form<'_>) -> Option<(usize, Operation)> {
    let rounding = form.rounding();
    let of = |count: usize, function: fn(&[f64], Rounding) -> f64| -> Option<(usize, Operation)> {
        Some((
            count,
            Box::new(move |format, o| {
                let values: Vec<f64> = o.iter().map(|code| format.value(*code)).collect();
                format.code(function(&values, rounding), rounding)
            }),
        ))
    };
    let (nan, xorsign) = (form.has("NaN"), form.has("xorsign"));
    match form.first {
        "add" => of(2, |o, rounding| number::sum(o[0], o[1], rounding)),
        "sub" => of(2, |o, rounding| number::sum(o[0], -o[1], rounding)),
        "mul" => of(2, |o, _| o[0] * o[1]),
        "fma" | "mad" => of(3, |o, rounding| number::sum(o[0] * o[1], o[2], rounding)),
        "div" => of(2, |o, _| number::div(o[0], o[1])),
        "rcp" => of(1, |o, _| number::div(1.0, o[0])),
        "sqrt" => of(1, |o, _| number::sqrt(o[0])),
        "rsqrt" => of(1, |o, _| 1.0 / o[0].sqrt()),
        "ex2" => of(1, |o, _| o[0].exp2()),
        "lg2" => of(1, |o, _| o[0].log2()),
        "sin" => of(1, |o, _| o[0].sin()),
        "cos" => of(1, |o, _| o[0].cos()),
        "tanh" => of(1, |o, _| o[0].tanh()),
        "neg" => Some((1, Box::new(|format, o| o[0] ^ format.sign()))),
        "abs" => Some((1, Box::new(|format, o| o[0] & !format.sign()))),
        "copysign" => Some((2, Box::new(|format, o| o[1] & !format.sign() | o[0] & format.sign()))),
        "min" | "max" => {
            let is_min = form.first == "min";
            Some((
                2,
                Box::new(move |format, o| {
                    let sign = (o[0] ^ o[1]) & format.sign();
                    let [a, b] = [0, 1].map(|i| if xorsign { o[i] & !format.sign() } else { o[i] });
                    let chosen = if format.is_nan(a) || format.is_nan(b) {
                        match (format.is_nan(a), nan) {
                            (_, true) => return format.nan,
                            (true, _) => b,
                            _ => a,
                        }
                    } else {
                        // -0 is below 0.
                        let key = |x: u64| (format.value(x), i32::from(x & format.sign() == 0));
                        let first = key(a).partial_cmp(&key(b)).is_some_and(std::cmp::Ordering::is_le);
                        if first == is_min { a } else { b }
                    };
                    if xorsign { chosen & !format.sign() | sign } else { chosen }
                }),
            ))
        }
        _ => None,
    }
}

fn double(form: &Form<'_>, ty: Ty) -> Option<Case> {
    if form.rounding() != Rounding::Nearest {
        return None;
    }
    let of = |count: usize, function: fn(&[f64]) -> f64| {
        Some(simple(form, ty, &vec![ty; count], move |o| {
            let values: Vec<f64> = o.iter().map(|bits| f64::from_bits(*bits)).collect();
            function(&values).to_bits()
        }))
    };
    match form.first {
        "add" => of(2, |o| o[0] + o[1]),
        "sub" => of(2, |o| o[0] - o[1]),
        "mul" => of(2, |o| o[0] * o[1]),
        "fma" | "mad" => of(3, |o| o[0].mul_add(o[1], o[2])),
        "div" => of(2, |o| o[0] / o[1]),
        "rcp" => of(1, |o| 1.0 / o[0]),
        "sqrt" => of(1, |o| o[0].sqrt()),
        "neg" => of(1, |o| -o[0]),
        "abs" => of(1, |o| o[0].abs()),
        "min" => of(2, |o| {
            if o[0].is_nan() || o[1].is_nan() {
                o[0].min(o[1])
            } else if o[0] < o[1] || o[0] == o[1] && o[0].is_sign_negative() {
                o[0]
            } else {
                o[1]
            }
        }),
        "max" => of(2, |o| {
            if o[0].is_nan() || o[1].is_nan() {
                o[0].max(o[1])
            } else if o[0] > o[1] || o[0] == o[1] && o[0].is_sign_positive() {
                o[0]
            } else {
                o[1]
            }
        }),
        "copysign" => of(2, |o| o[1].copysign(o[0])),
        _ => None,
    }
}

/// Whether a comparison of two numbers holds.
fn holds(form: &Form<'_>) -> Option<impl Fn(f64, f64) -> bool + 'static> {
    let test = super::integer::comparison(form);
    let unordered =
        form.parts.iter().any(|part| matches!(*part, "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu"));
    let (num, nan) = (form.has("num"), form.has("nan"));
    if test.is_none() && !num && !nan {
        return None;
    }
    Some(move |a: f64, b: f64| match a.partial_cmp(&b) {
        Some(order) => num || test.is_some_and(|test| test(order)),
        None => nan || unordered,
    })
}

/// The value of a register of a type.
fn value(ty: Ty, bits: u64, flush: bool) -> f64 {
    match ty.kind {
        Kind::Float(format, _) => format.value(if flush { format.flushed(bits) } else { bits }),
        Kind::F64 => f64::from_bits(bits),
        _ => ty.read(bits) as f64,
    }
}

fn comparison(form: &Form<'_>) -> Option<Case> {
    let [ty] = form.types()[..] else { return None };
    let (flush, test) = (form.has("ftz"), holds(form)?);
    if let Kind::Float(format, 2) = ty.kind {
        let part = Ty { bits: 16, kind: Kind::Float(format, 1) };
        let text = format!(
            "{{ .reg .pred p, q; {} p|q, %2, %3; selp.u32 %0, 1, 0, p; selp.u32 %1, 1, 0, q; }}",
            form.name
        );
        return Some(Case {
            body: statement(&text, &['r', 'r'], &['r', 'r']),
            operands: vec![ty.values(); 2],
            results: vec![Compare::Bits; 2],
            model: each(move |o| {
                [0, 16]
                    .map(|at| {
                        u64::from(test(
                            value(part, o[0] >> at & 0xffff, flush),
                            value(part, o[1] >> at & 0xffff, flush),
                        ))
                    })
                    .to_vec()
            }),
        });
    }
    Some(predicate(form, &[ty, ty], move |o| test(value(ty, o[0], flush), value(ty, o[1], flush))))
}

fn set(form: &Form<'_>) -> Option<Case> {
    let [to, of] = form.types()[..] else { return None };
    let (flush, test) = (form.has("ftz"), holds(form)?);
    let one = |format: Format| format.code(1.0, Rounding::Nearest);
    if let Kind::Float(format, 2) = of.kind {
        let part = Ty { bits: 16, kind: Kind::Float(format, 1) };
        return Some(simple(form, to, &[of, of], move |o| {
            [0, 16].into_iter().fold(0, |all, at| {
                let holds =
                    test(value(part, o[0] >> at & 0xffff, flush), value(part, o[1] >> at & 0xffff, flush));
                let yes = match to.kind {
                    Kind::Float(format, _) => one(format),
                    _ => 0xffff,
                };
                all | if holds { yes << at } else { 0 }
            })
        }));
    }
    Some(simple(form, to, &[of, of], move |o| {
        let yes = match to.kind {
            Kind::Float(format, _) => one(format),
            _ => to.mask(),
        };
        if test(value(of, o[0], flush), value(of, o[1], flush)) { yes } else { 0 }
    }))
}

fn test(form: &Form<'_>) -> Option<Case> {
    let [ty] = form.types()[..] else { return None };
    let test: fn(f64, bool) -> bool = match *form.parts.first()? {
        "finite" => |x, _| x.is_finite(),
        "infinite" => |x, _| x.is_infinite(),
        "number" => |x, _| !x.is_nan(),
        "notanumber" => |x, _| x.is_nan(),
        "normal" => |x, small| x.is_finite() && x != 0.0 && !small,
        "subnormal" => |x, small| x != 0.0 && small,
        _ => return None,
    };
    Some(predicate(form, &[ty], move |o| {
        let small = match ty.kind {
            Kind::Float(format, _) => format.flushed(o[0]) != o[0] || format.value(o[0]) == 0.0,
            _ => f64::from_bits(o[0]).is_subnormal(),
        };
        test(value(ty, o[0], false), small)
    }))
}
