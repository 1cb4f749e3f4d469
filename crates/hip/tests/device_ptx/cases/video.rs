//! Video instructions, by the manual's functions.

use super::{Case, Compare, Form, Kind, Ty, Values, each, statement};

const S32: Ty = Ty { bits: 32, kind: Kind::Signed };
const U32: Ty = Ty { bits: 32, kind: Kind::Unsigned };

pub(super) fn case(form: &Form<'_>) -> Option<Case> {
    if !form.first.starts_with('v') || form.first == "vote" {
        return None;
    }
    let lanes = match form.first.as_bytes().last()? {
        b'2' => 2,
        b'4' => 4,
        _ => 1,
    };
    let name = form.first.trim_end_matches(['2', '4']);
    let types = form.types();
    let [d, a, b] = if name == "vset" { [U32, types[0], types[1]] } else { [types[0], types[1], types[2]] };
    let (saturated, wrap) = (form.has("sat"), form.has("wrap"));
    let amount = move |b: i128| if wrap { b & 31 } else { b.min(32) };
    let order = super::integer::comparison(form);
    let operation = name.to_owned();
    let apply = move |a: i128, b: i128| -> i128 {
        match operation.as_str() {
            "vadd" => a + b,
            "vsub" => a - b,
            "vabsdiff" => (a - b).abs(),
            "vmin" => a.min(b),
            "vmax" => a.max(b),
            "vavrg" => (a + b + i128::from(a + b >= 0)) >> 1,
            "vset" => i128::from(order.is_some_and(|test| test(a.cmp(&b)))),
            "vshl" => a << amount(b),
            _ => a >> amount(b),
        }
    };
    if name == "vmad" {
        return multiply(form, [d, a, b]);
    }
    let second = if name == "vmin" || name == "vmax" {
        None
    } else {
        form.parts.iter().copied().find(|part| matches!(*part, "add" | "min" | "max"))
    };
    let second = second
        .or_else(|| form.parts.last().copied().filter(|part| matches!(*part, "add" | "min" | "max")))
        .map(str::to_owned);
    if lanes > 1 {
        let width = 32 / lanes;
        let add = second.is_some();
        return Some(Case {
            body: statement(&format!("{} %0, %1, %2, %3;", form.name), &['r'], &['r'; 3]),
            operands: vec![Values::Whole(32); 3],
            results: vec![Compare::Bits],
            model: each(move |o| {
                let part = |ty: Ty, x: u64, at: u32| Ty { bits: width, kind: ty.kind }.read(x >> at);
                let results = (0..lanes).map(|i| i * width).map(|at| {
                    let result = apply(part(a, o[0], at), part(b, o[1], at));
                    (at, if saturated { Ty { bits: width, kind: d.kind }.clamp(result) } else { result })
                });
                let mask = u64::MAX >> (64 - width);
                vec![if add {
                    U32.write(i128::from(o[2]) + results.map(|(_, result)| result).sum::<i128>())
                } else {
                    results.fold(0, |all, (at, result)| all | (result as u64 & mask) << at)
                }]
            }),
        });
    }
    // With all of a register, with parts of them, and with a part of the result.
    let parts: Vec<(&str, u32, u32)> =
        vec![("", 0, 32), (".b2", 16, 8), (".h1", 16, 16), (".b0", 0, 8), (".h0", 0, 16)];
    let shifts = matches!(name, "vshl" | "vshr");
    let (mut text, mut results) = (String::new(), Vec::new());
    let mut shown = Vec::new();
    for (i, (part_a, ..)) in parts.iter().enumerate() {
        let part_b = parts[(i + 2) % parts.len()].0;
        let third = if second.is_some() { ", %7" } else { "" };
        text += &format!("{} %{i}, %5{part_a}, %6{part_b}{third}; ", form.name);
        results.push('r');
        shown.push(Compare::Bits);
    }
    let merged = second.is_none();
    if merged {
        text = text.replace(
            &format!("{} %4, %5.h0, %6.b2; ", form.name),
            &format!("{} %4.b1, %5, %6, %7; ", form.name),
        );
    }
    let list: Vec<(u32, u32)> = parts.iter().map(|(_, at, width)| (*at, *width)).collect();
    let of_b = if shifts {
        Values::Of([0, 1, 7, 31, 32, 33, 64, 0x0102_0304, 0xffff_ffff, 0x0020_001f].to_vec())
    } else {
        Values::Whole(32)
    };
    Some(Case {
        body: statement(&text, &results, &['r'; 3]),
        operands: vec![Values::Whole(32), of_b, Values::Whole(32)],
        results: shown,
        model: each(move |o| {
            let part = |ty: Ty, x: u64, (at, bits): (u32, u32)| Ty { bits, kind: ty.kind }.read(x >> at);
            (0..5)
                .map(|i| {
                    let merges = merged && i == 4;
                    let (of_a, of_b) = if merges { (list[0], list[0]) } else { (list[i], list[(i + 2) % 5]) };
                    let result = apply(part(a, o[0], of_a), part(b, o[1], of_b));
                    let width = if merges { 8 } else { 32 };
                    let result =
                        if saturated { Ty { bits: width, kind: d.kind }.clamp(result) } else { result };
                    if merges {
                        return o[2] & !0xff00 | (result as u64 & 0xff) << 8;
                    }
                    let kept = d.read(U32.write(result));
                    U32.write(match second.as_deref() {
                        Some("add") => kept + d.read(o[2]),
                        Some("min") => kept.min(d.read(o[2])),
                        Some("max") => kept.max(d.read(o[2])),
                        _ => kept,
                    })
                })
                .collect()
        }),
    })
}

fn multiply(form: &Form<'_>, [_, a, b]: [Ty; 3]) -> Option<Case> {
    let shift = if form.has("shr7") {
        7
    } else if form.has("shr15") {
        15
    } else {
        0
    };
    let (one, saturated) = (form.has("po"), form.has("sat"));
    let text = format!("{0} %0, %2.h1, %3.b1, %4; {0} %1, -%2, %3, %4;", form.name);
    let text = if one { text.replace("-%2", "%2") } else { text };
    Some(Case {
        body: statement(&text, &['r', 'r'], &['r'; 3]),
        operands: vec![Values::Whole(32); 3],
        results: vec![Compare::Bits; 2],
        model: each(move |o| {
            let of = |a_part: i128, b_part: i128, minus: bool| {
                let signed = a.signed() || b.signed() || minus;
                let ty = if signed { S32 } else { U32 };
                let product = if minus { -(a_part * b_part) } else { a_part * b_part };
                let sum = (product + ty.read(o[2]) + i128::from(one)) >> shift;
                U32.write(if saturated { ty.clamp(sum) } else { sum })
            };
            let part = |ty: Ty, x: u64, bits| Ty { bits, kind: ty.kind }.read(x);
            vec![
                of(part(a, o[0] >> 16, 16), part(b, o[1] >> 8, 8), false),
                of(a.read(o[0]), b.read(o[1]), !one),
            ]
        }),
    })
}
