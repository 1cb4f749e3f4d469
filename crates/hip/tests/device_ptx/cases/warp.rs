//! Exchanges among the lanes of a warp.

use super::{Case, Compare, Form, Values, statement, warps};

pub(super) fn case(form: &Form<'_>) -> Option<Case> {
    match form.first {
        "shfl" => shuffle(form),
        "vote" => vote(form),
        "match" => same(form),
        "redux" => reduce(form),
        "elect" => Some(Case {
            body: statement(
                &format!("{{ .reg .pred p; {} %0|p, 0xfffffff0; selp.u32 %1, 1, 0, p; }}", form.name),
                &['r', 'r'],
                &[],
            ),
            operands: vec![Values::Whole(32)],
            results: vec![Compare::Bits; 2],
            model: warps(|_| (0..32).map(|lane| vec![4, u64::from(lane == 4)]).collect()),
        }),
        "activemask" => Some(Case {
            body: "if (a[0] != 0) { ".to_owned()
                + &statement(&format!("{} %0;", form.name), &['r'], &[])
                + "} ",
            operands: vec![Values::Of(vec![0, 1])],
            results: vec![Compare::Bits],
            model: warps(|warp| {
                let mask = (0..32).fold(0, |all, i| all | u64::from(warp[i][0] != 0) << i);
                warp.iter().map(|o| vec![if o[0] != 0 { mask } else { 0 }]).collect()
            }),
        }),
        _ => None,
    }
}

/// The manual's text, with the control word of several widths.
fn shuffle(form: &Form<'_>) -> Option<Case> {
    let mode = (*form.parts.iter().find(|part| matches!(**part, "up" | "down" | "bfly" | "idx"))?).to_owned();
    let clamp = if mode == "up" { 0 } else { 31 };
    let controls: Vec<u64> = [0_u64, 16, 24, 28, 30].map(|segment| segment << 8 | clamp).to_vec();
    let (mut text, mut results) = (String::from("{ .reg .pred p; "), Vec::new());
    for (i, control) in controls.iter().enumerate() {
        text += &format!(
            "{0} %{1}|p, %10, %11, {control}, 0xffffffff; selp.u32 %{2}, 1, 0, p; ",
            form.name,
            2 * i,
            2 * i + 1
        );
        results.extend(['r', 'r']);
    }
    text += "}";
    Some(Case {
        body: statement(&text, &results, &['r', 'r']),
        operands: vec![Values::Whole(32), Values::Of((0..40).collect())],
        results: vec![Compare::Bits; 10],
        model: warps(move |warp| {
            (0..32_i64)
                .map(|lane| {
                    let mut out = Vec::new();
                    for control in &controls {
                        let segment = (control >> 8 & 31) as i64;
                        let clamp = (control & 31) as i64;
                        let by = (warp[lane as usize][1] & 31) as i64;
                        let most = lane & segment | clamp & !segment;
                        let least = lane & segment;
                        let (from, inside) = match mode.as_str() {
                            "up" => (lane - by, lane - by >= most),
                            "down" => (lane + by, lane + by <= most),
                            "bfly" => (lane ^ by, lane ^ by <= most),
                            _ => {
                                let from = least | by & !segment;
                                (from, from <= most)
                            }
                        };
                        let from = if inside { from } else { lane };
                        out.extend([warp[from as usize][0], u64::from(inside)]);
                    }
                    out
                })
                .collect()
        }),
    })
}

fn vote(form: &Form<'_>) -> Option<Case> {
    let mask = 0xffff_ffff_u64;
    let mode =
        (*form.parts.iter().find(|part| matches!(**part, "ballot" | "any" | "all" | "uni"))?).to_owned();
    let text = if mode == "ballot" {
        format!("{{ .reg .pred p; setp.ne.u32 p, %1, 0; {} %0, p, 0xffffffff; }}", form.name)
    } else {
        format!(
            "{{ .reg .pred p, q; setp.ne.u32 p, %1, 0; {} q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }}",
            form.name
        )
    };
    // Warps that agree, and warps that do not.
    let mut values = vec![u64::from(mode != "any"); 40];
    values.push(u64::from(mode == "any"));
    if mode == "ballot" {
        values = vec![0, 1];
    }
    Some(Case {
        body: statement(&text, &['r'], &['r']),
        operands: vec![Values::Of(values)],
        results: vec![Compare::Bits],
        model: warps(move |warp| {
            let ballot = (0..32).fold(0, |all, i| all | u64::from(warp[i][0] != 0) << i);
            let result = match mode.as_str() {
                "ballot" => ballot,
                "any" => u64::from(ballot != 0),
                "all" => u64::from(ballot == mask),
                _ => u64::from(ballot == mask || ballot == 0),
            };
            vec![vec![result]; 32]
        }),
    })
}

fn same(form: &Form<'_>) -> Option<Case> {
    let ty = *form.types().first()?;
    let letter = ty.letter();
    let all = form.has("all");
    let text = if all {
        format!("{{ .reg .pred p; {} %0|p, %2, 0xffffffff; selp.u32 %1, 1, 0, p; }}", form.name)
    } else {
        format!("{} %0, %1, 0xffffffff;", form.name)
    };
    let results: &[char] = if all { &['r', 'r'] } else { &['r'] };
    let values = if all {
        vec![5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6]
    } else {
        vec![0, 1, 1 << (ty.bits - 1), 7]
    };
    Some(Case {
        body: statement(&text, results, &[letter]),
        operands: vec![Values::Of(values)],
        results: vec![Compare::Bits; results.len()],
        model: warps(move |warp| {
            warp.iter()
                .map(|o| {
                    let mask = (0..32).fold(0, |mask, i| mask | u64::from(warp[i][0] == o[0]) << i);
                    if all {
                        let whole = mask == 0xffff_ffff;
                        vec![if whole { mask } else { 0 }, u64::from(whole)]
                    } else {
                        vec![mask]
                    }
                })
                .collect()
        }),
    })
}

fn reduce(form: &Form<'_>) -> Option<Case> {
    let ty = *form.types().first()?;
    if !ty.is_whole() {
        return None;
    }
    let operation =
        (*form.parts.iter().find(|part| matches!(**part, "add" | "min" | "max" | "and" | "or" | "xor"))?)
            .to_owned();
    Some(Case {
        body: statement(&format!("{} %0, %1, 0xffffffff;", form.name), &['r'], &['r']),
        operands: vec![ty.values()],
        results: vec![Compare::Bits],
        model: warps(move |warp| {
            let numbers = warp.iter().map(|o| ty.read(o[0]));
            let all = match operation.as_str() {
                "add" => numbers.sum(),
                "min" => numbers.min().unwrap_or_default(),
                "max" => numbers.max().unwrap_or_default(),
                "and" => numbers.fold(-1, |a, b| a & b),
                "or" => numbers.fold(0, |a, b| a | b),
                _ => numbers.fold(0, |a, b| a ^ b),
            };
            vec![vec![ty.write(all)]; 32]
        }),
    })
}
