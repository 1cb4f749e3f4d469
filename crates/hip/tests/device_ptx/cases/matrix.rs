//! Matrices in fragments, by the manual's layouts.

use super::{Case, Compare, Form, Values, statement, warps};
use crate::number::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, Format, Rounding};

pub(super) fn case(form: &Form<'_>) -> Option<Case> {
    match form.first {
        "mma" if form.has("m8n8k4") && form.has("f16") => quads(form),
        "mma" => product(form),
        "ldmatrix" | "stmatrix" => memory(form),
        "movmatrix" => Some(Case {
            body: statement(&format!("{} %0, %1;", form.name), &['r'], &['r']),
            operands: vec![Values::Whole(32)],
            results: vec![Compare::Bits],
            model: warps(|warp| {
                let half =
                    |row: usize, column: usize| warp[row * 4 + column / 2][0] >> (column % 2 * 16) & 0xffff;
                (0..32)
                    .map(|lane| vec![half(lane % 4 * 2, lane / 4) | half(lane % 4 * 2 + 1, lane / 4) << 16])
                    .collect()
            }),
        }),
        _ => None,
    }
}

/// Each lane's 16 bytes in shared memory are a row of a matrix.
fn memory(form: &Form<'_>) -> Option<Case> {
    let count: usize = form.parts.iter().find_map(|part| part.strip_prefix('x')?.parse().ok())?;
    if !form.has("m8n8") || !form.has("b16") {
        return None;
    }
    let transposed = form.has("trans");
    let generic = !form.has("shared");
    let registers: Vec<String> = (0..count).map(|i| format!("%{i}")).collect();
    let place = if generic {
        "\"l\"(&all[threadIdx.x][0])"
    } else {
        "\"r\"((unsigned)__cvta_generic_to_shared(&all[threadIdx.x][0]))"
    };
    let mut body = "__shared__ alignas(16) unsigned all[64][4]; for (int i = 0; i < 4; i++) all[threadIdx.x][i] = (unsigned)a[i]; __syncthreads(); unsigned r[4] = {}; ".to_owned();
    let loads = form.first == "ldmatrix";
    if loads {
        let outputs: Vec<String> = (0..count).map(|i| format!("\"=r\"(r[{i}])")).collect();
        body += &format!(
            "asm volatile(\"{} {{{}}}, [%{count}];\" : {} : {place} : \"memory\"); ",
            form.name,
            registers.join(", "),
            outputs.join(", ")
        );
    } else {
        let inputs: Vec<String> = (0..count).map(|i| format!("\"r\"((unsigned)a[{}])", 4 + i)).collect();
        body += &format!(
            "asm volatile(\"{} [%{count}], {{{}}};\" :: {}, {place} : \"memory\"); __syncthreads(); for (int i = 0; i < 4; i++) r[i] = all[threadIdx.x][i]; ",
            form.name,
            registers.join(", "),
            inputs.join(", ")
        );
    }
    body += "for (int i = 0; i < 4; i++) o[i] = r[i]; ";
    Some(Case {
        body,
        operands: vec![Values::Whole(32); if loads { 4 } else { 8 }],
        results: vec![Compare::Bits; 4],
        model: warps(move |warp| {
            let place = |row: usize, column: usize| if transposed { (column, row) } else { (row, column) };
            if loads {
                // The row of a matrix is in the memory of the lane with its address.
                let half = |matrix: usize, row: usize, column: usize| {
                    let (row, column) = place(row, column);
                    warp[matrix * 8 + row][column / 2] >> (column % 2 * 16) & 0xffff
                };
                return (0..32)
                    .map(|lane| {
                        let word = |i: usize| {
                            half(i, lane / 4, lane % 4 * 2) | half(i, lane / 4, lane % 4 * 2 + 1) << 16
                        };
                        (0..4).map(|i| if i < count { word(i) } else { 0 }).collect()
                    })
                    .collect();
            }
            let mut memory: Vec<[u64; 4]> = warp.iter().map(|o| [o[0], o[1], o[2], o[3]]).collect();
            for (lane, o) in warp.iter().enumerate() {
                for matrix in 0..count {
                    for i in 0..2 {
                        let (row, column) = place(lane / 4, lane % 4 * 2 + i);
                        let word = &mut memory[matrix * 8 + row][column / 2];
                        let shift = column % 2 * 16;
                        *word = *word & !(0xffff << shift) | (o[4 + matrix] >> (16 * i) & 0xffff) << shift;
                    }
                }
            }
            memory.into_iter().map(|words| words.to_vec()).collect()
        }),
    })
}

/// The elements of a fragment's words.
#[derive(Clone, Copy)]
enum Element {
    /// Of so many bits, in places of so many bits, after so many that do not count.
    Number(Format, u32, u32),
    Whole(u32, bool),
    F64,
}

impl Element {
    fn of(name: &str, in_bytes: bool) -> Option<Self> {
        Some(match name {
            "f16" => Self::Number(F16, 16, 0),
            "bf16" => Self::Number(BF16, 16, 0),
            "tf32" => Self::Number(F32, 32, 0),
            "e4m3" => Self::Number(E4M3, 8, 0),
            "e5m2" => Self::Number(E5M2, 8, 0),
            "e2m3" if in_bytes => Self::Number(E2M3, 8, 0),
            "e3m2" if in_bytes => Self::Number(E3M2, 8, 0),
            "e2m1" if in_bytes => Self::Number(E2M1, 8, 2),
            "s8" => Self::Whole(8, true),
            "u8" => Self::Whole(8, false),
            "s4" => Self::Whole(4, true),
            "u4" => Self::Whole(4, false),
            "b1" => Self::Whole(1, false),
            "f64" => Self::F64,
            _ => return None,
        })
    }

    fn in_word(self) -> usize {
        match self {
            Self::Number(_, bits, _) | Self::Whole(bits, _) => 32 / bits as usize,
            Self::F64 => 1,
        }
    }

    fn value(self, word: u64, i: usize) -> f64 {
        match self {
            Self::Number(format, bits, skip) => {
                format.value(word >> (i as u32 * bits + skip) & (2 * format.sign() - 1))
            }
            Self::Whole(bits, signed) => {
                let part = word >> (i as u32 * bits) & ((1 << bits) - 1);
                if signed && part >> (bits - 1) == 1 {
                    part as f64 - f64::from(1_u32 << bits)
                } else {
                    part as f64
                }
            }
            Self::F64 => f64::from_bits(word),
        }
    }

    /// Words whose products and sums are exact.
    fn words(self) -> Values {
        let small = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 1.5, -3.0];
        match self {
            Self::F64 => Values::Of(small.map(f64::to_bits).to_vec()),
            Self::Whole(..) => Values::Whole(32),
            Self::Number(format, bits, skip) => {
                let codes = small.map(|x| format.code(x, Rounding::Nearest) << skip);
                let words = (0..97_usize).map(|seed| {
                    (0..self.in_word()).fold(0, |word, i| {
                        word | codes[(seed * (i + 3) + seed / 7 + i * 5) % 8] << (i as u32 * bits)
                    })
                });
                Values::Of(words.collect())
            }
        }
    }
}

fn product(form: &Form<'_>) -> Option<Case> {
    let shape = form.parts.iter().find(|part| part.starts_with('m') && part.contains('n'))?;
    let (m, rest) = shape.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let [m, n, k] = [m, n, k].map(|size| size.parse::<usize>().ok());
    let (m, n, k) = (m?, n?, k?);
    let in_bytes = form.has("kind::f8f6f4");
    let place = form.parts.iter().position(|part| *part == "col")?;
    let types: Vec<&str> =
        form.parts[place + 1..].iter().copied().filter(|part| *part != "satfinite").take(4).collect();
    let [d, a, b, _] = types[..] else { return None };
    let (a, b) = (Element::of(a, in_bytes)?, Element::of(b, in_bytes)?);
    if n != 8 || m % 8 != 0 {
        return None;
    }
    let groups = m / 8;
    let words = k / a.in_word() / 4;
    let is_f16 = d == "f16";
    let (count_a, count_b, count_c) = (groups * words, words, if is_f16 { groups } else { groups * 2 });
    let letter = if matches!(a, Element::F64) { 'd' } else { 'r' };
    let letter_c = match d {
        "f64" => 'd',
        "f32" => 'f',
        _ => 'r',
    };
    let list = |from: usize, count: usize| {
        let registers: Vec<String> = (from..from + count).map(|i| format!("%{i}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    let text = format!(
        "{} {}, {}, {}, {};",
        form.name,
        list(0, count_c),
        list(count_c, count_a),
        list(count_c + count_a, count_b),
        list(count_c + count_a + count_b, count_c)
    );
    let operands: Vec<char> = [vec![letter; count_a + count_b], vec![letter_c; count_c]].concat();
    let small = [0.0, 1.0, -5.0, 100.0, 0.25];
    let values_c = match d {
        "f64" => Values::Of(small.map(f64::to_bits).to_vec()),
        "f32" => Values::Of(small.map(|x| F32.code(x, Rounding::Nearest)).to_vec()),
        "f16" => Values::Of(
            small
                .map(|x| F16.code(x, Rounding::Nearest) | F16.code(x + 1.0, Rounding::Nearest) << 16)
                .to_vec(),
        ),
        _ => Values::Of(vec![0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0, 12345]),
    };
    // AMD's sum of two products of halves is not rounded as two sums are.
    let halves = matches!(a, Element::Number(F16, ..));
    let compare = match d {
        "f64" => Compare::F64,
        "f32" if halves => Compare::Near(F32, 1, 1e-6, 1e-5),
        "f16" => Compare::Near(F16, 2, 1e-3, 1e-2),
        "f32" => Compare::Format(F32, 1),
        _ => Compare::Bits,
    };
    let (xor, saturated) = (form.has("xor"), form.has("satfinite"));
    let whole = d == "s32";
    let in_word = a.in_word();
    Some(Case {
        body: statement(&text, &vec![letter_c; count_c], &operands),
        operands: [vec![a.words(); count_a], vec![b.words(); count_b], vec![values_c; count_c]].concat(),
        results: vec![compare; count_c],
        model: warps(move |warp| {
            // Element `i` of K of a row of A, and of a column of B.
            let of_a = |row: usize, i: usize| {
                let (word, lane) = (i / in_word, row % 8 * 4);
                a.value(warp[lane + word % 4][word / 4 * groups + row / 8], i % in_word)
            };
            let of_b = |column: usize, i: usize| {
                let word = i / in_word;
                b.value(warp[column * 4 + word % 4][count_a + word / 4], i % in_word)
            };
            let dot = |row: usize, column: usize| -> f64 {
                (0..k)
                    .map(|i| {
                        let (x, y) = (of_a(row, i), of_b(column, i));
                        if xor { f64::from(x != y) } else { x * y }
                    })
                    .sum()
            };
            (0..32)
                .map(|lane| {
                    let element = |i: usize| dot(lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
                    let third = |i: usize| warp[lane][count_a + count_b + i];
                    (0..count_c)
                        .map(|i| match d_kind(whole, is_f16, letter_c) {
                            0 => {
                                let sum = element(i) as i64 + i64::from(third(i) as u32 as i32);
                                let sum = if saturated {
                                    sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX))
                                } else {
                                    sum
                                };
                                u64::from(sum as u32)
                            }
                            1 => (0..2).fold(0, |all, half| {
                                let c = F16.value(third(i) >> (16 * half) & 0xffff);
                                all | F16.code(element(2 * i + half) + c, Rounding::Nearest) << (16 * half)
                            }),
                            2 => F32.code(element(i) + F32.value(third(i)), Rounding::Nearest),
                            _ => (element(i) + f64::from_bits(third(i))).to_bits(),
                        })
                        .collect()
                })
                .collect()
        }),
    })
}

/// Four products of 8 × 4 and 4 × 8 halves, of lanes 4i to 4i + 3 and 4i + 16 to 4i + 19.
fn quads(form: &Form<'_>) -> Option<Case> {
    let layouts: Vec<bool> =
        form.parts.iter().filter(|part| matches!(**part, "row" | "col")).map(|part| *part == "row").collect();
    let [a_in_rows, b_in_rows] = layouts[..] else { return None };
    let halves = form.parts.ends_with(&["f16", "f16", "f16", "f16"]);
    let (count, letter) = if halves { (4, 'r') } else { (8, 'f') };
    let list = |from: usize, count: usize| {
        let registers: Vec<String> = (from..from + count).map(|i| format!("%{i}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    let text = format!(
        "{} {}, {}, {}, {};",
        form.name,
        list(0, count),
        list(count, 2),
        list(count + 2, 2),
        list(count + 4, count)
    );
    let element = Element::Number(F16, 16, 0);
    let small = [0.0, 1.0, -5.0, 100.0, 0.25];
    let of_c = |x: f64| match halves {
        true => F16.code(x, Rounding::Nearest) | F16.code(x + 1.0, Rounding::Nearest) << 16,
        false => F32.code(x, Rounding::Nearest),
    };
    // The row and the column of element `i` of C and D.
    let place = move |lane: usize, i: usize| match halves {
        true => (lane % 4 + lane / 16 * 4, i),
        false => ((lane & 1) + (i & 2) + lane / 16 * 4, (i & 4) + (lane & 2) + (i & 1)),
    };
    Some(Case {
        body: statement(&text, &vec![letter; count], &[vec!['r'; 4], vec![letter; count]].concat()),
        operands: [vec![element.words(); 4], vec![Values::Of(small.map(of_c).to_vec()); count]].concat(),
        results: vec![
            if halves { Compare::Near(F16, 2, 1e-3, 1e-2) } else { Compare::Format(F32, 1) };
            count
        ],
        model: warps(move |warp| {
            let mut a = [[[0.0; 4]; 8]; 4];
            let mut b = [[[0.0; 8]; 4]; 4];
            for (lane, words) in warp.iter().enumerate() {
                let (quad, half) = (lane % 16 / 4, lane / 16 * 4);
                for i in 0..4 {
                    let value = |first: usize| element.value(words[first + i / 2], i % 2);
                    let (row, column) = if a_in_rows { (lane % 4 + half, i) } else { (i + half, lane % 4) };
                    a[quad][row][column] = value(0);
                    let (row, column) = if b_in_rows { (lane % 4, i + half) } else { (i, lane % 4 + half) };
                    b[quad][row][column] = value(2);
                }
            }
            (0..32)
                .map(|lane| {
                    let quad = lane % 16 / 4;
                    let sum = |i: usize, c: f64| {
                        let (row, column) = place(lane, i);
                        (0..4).map(|k| a[quad][row][k] * b[quad][k][column]).sum::<f64>() + c
                    };
                    (0..count)
                        .map(|i| {
                            let c = warp[lane][4 + i];
                            if halves {
                                (0..2).fold(0, |all, half| {
                                    let c = F16.value(c >> (16 * half) & 0xffff);
                                    let sum = sum(2 * i + half, c);
                                    all | F16.code(sum, Rounding::Nearest) << (16 * half)
                                })
                            } else {
                                F32.code(sum(i, F32.value(c)), Rounding::Nearest)
                            }
                        })
                        .collect()
                })
                .collect()
        }),
    })
}

/// The kind of the results: whole numbers, halves, f32, f64.
fn d_kind(whole: bool, is_f16: bool, letter: char) -> u32 {
    match (whole, is_f16, letter) {
        (true, ..) => 0,
        (_, true, _) => 1,
        (.., 'f') => 2,
        _ => 3,
    }
}
