//! Whole numbers and bits.

use super::{Case, Compare, Form, Kind, Ty, Values, each, predicate, simple, statement};

const U32: Ty = Ty { bits: 32, kind: Kind::Unsigned };
const S32: Ty = Ty { bits: 32, kind: Kind::Signed };
const U64: Ty = Ty { bits: 64, kind: Kind::Unsigned };

pub(super) fn case(form: &Form<'_>) -> Option<Case> {
    let types = form.types();
    let whole = |ty: &Ty| ty.is_whole() || matches!(ty.kind, Kind::Parts(..));
    if !types.iter().all(whole) {
        return None;
    }
    if matches!(form.name, "mov.pred" | "not.pred") {
        let not = form.first == "not";
        let text =
            format!("{{ .reg .pred p, q; setp.ne.u32 p, %1, 0; {} q, p; selp.u32 %0, 1, 0, q; }}", form.name);
        return Some(Case {
            body: statement(&text, &['r'], &['r']),
            operands: vec![Values::Of(vec![0, 1])],
            results: vec![Compare::Bits],
            model: each(move |o| vec![o[0] ^ u64::from(not)]),
        });
    }
    if form.name == "mov.b128" {
        let text = "{ .reg .b128 x, y; mov.b128 x, {%2, %3}; mov.b128 y, x; mov.b128 {%0, %1}, y; }";
        return Some(Case {
            body: statement(text, &['l', 'l'], &['l', 'l']),
            operands: vec![Values::Whole(64); 2],
            results: vec![Compare::Bits; 2],
            model: each(<[u64]>::to_vec),
        });
    }
    if let Some(case) = bits(form).or_else(|| carries(form)) {
        return Some(case);
    }
    let ty = *types.first()?;
    if let Kind::Parts(signed, bits) = ty.kind {
        return parts(form, ty, signed, bits);
    }
    let has = |part: &str| form.has(part);
    let two = |wide: fn(i128, i128) -> i128| {
        Some(simple(form, ty, &[ty, ty], move |o| ty.write(wide(ty.read(o[0]), ty.read(o[1])))))
    };
    let clamped = |wide: fn(i128, i128) -> i128| {
        Some(simple(form, ty, &[ty, ty], move |o| ty.write(ty.clamp(wide(ty.read(o[0]), ty.read(o[1]))))))
    };
    let three = |wide: fn(i128, i128, i128, u32) -> i128| {
        Some(simple(form, ty, &[ty, ty, ty], move |o| {
            ty.write(wide(ty.read(o[0]), ty.read(o[1]), ty.read(o[2]), ty.bits))
        }))
    };
    // The lower 24 bits of each.
    let part24 = move |x: u64| Ty { bits: 24, kind: ty.kind }.read(x);
    let product24 = move |o: &[u64]| part24(o[0]) * part24(o[1]);
    match form.first {
        "add" if has("sat") => clamped(|a, b| a + b),
        "sub" if has("sat") => clamped(|a, b| a - b),
        "add" => two(|a, b| a + b),
        "sub" => two(|a, b| a - b),
        "min" if has("relu") => two(|a, b| a.min(b).max(0)),
        "max" if has("relu") => two(|a, b| a.max(b).max(0)),
        "min" => two(i128::min),
        "max" => two(i128::max),
        "and" => two(|a, b| a & b),
        "or" => two(|a, b| a | b),
        "xor" => two(|a, b| a ^ b),
        // By zero, and of the least number by -1, there is no result.
        "div" | "rem" => {
            let is_div = form.first == "div";
            let mut case = two(if is_div { |a, b| a / b } else { |a, b| a % b })?;
            case.operands[1] = Values::Of(
                [1, 2, 3, 7, 10, 255, 0x7f_fffe, 0x7fff_fffd].map(|x| x & ty.mask() >> 1).to_vec(),
            );
            Some(case)
        }
        "mul" if has("lo") => two(|a, b| a.wrapping_mul(b)),
        "mul" if has("hi") => Some(simple(form, ty, &[ty, ty], move |o| {
            ty.write(ty.read(o[0]).wrapping_mul(ty.read(o[1])) >> ty.bits)
        })),
        "mul" if has("wide") => {
            let wide = Ty { bits: 2 * ty.bits, kind: ty.kind };
            Some(simple(form, wide, &[ty, ty], move |o| wide.write(ty.read(o[0]) * ty.read(o[1]))))
        }
        "mul24" if has("lo") => Some(simple(form, ty, &[ty, ty], move |o| ty.write(product24(o)))),
        "mul24" if has("hi") => Some(simple(form, ty, &[ty, ty], move |o| ty.write(product24(o) >> 16))),
        "mad24" if has("lo") => {
            Some(simple(form, ty, &[ty, ty, ty], move |o| ty.write(product24(o) + ty.read(o[2]))))
        }
        "mad24" if has("hi") && has("sat") => Some(simple(form, ty, &[ty, ty, ty], move |o| {
            ty.write(ty.clamp((product24(o) >> 16) + ty.read(o[2])))
        })),
        "mad24" if has("hi") => {
            Some(simple(form, ty, &[ty, ty, ty], move |o| ty.write((product24(o) >> 16) + ty.read(o[2]))))
        }
        "mad" if has("wide") => {
            let wide = Ty { bits: 2 * ty.bits, kind: ty.kind };
            Some(simple(form, wide, &[ty, ty, wide], move |o| {
                wide.write(ty.read(o[0]) * ty.read(o[1]) + wide.read(o[2]))
            }))
        }
        "mad" if has("hi") && has("sat") => Some(simple(form, ty, &[ty, ty, ty], move |o| {
            ty.write(ty.clamp(((ty.read(o[0]) * ty.read(o[1])) >> ty.bits) + ty.read(o[2])))
        })),
        "mad" if has("hi") => three(|a, b, c, bits| (a.wrapping_mul(b) >> bits) + c),
        "mad" if has("lo") => three(|a, b, c, _| a.wrapping_mul(b).wrapping_add(c)),
        // The difference as it is, however large.
        "sad" => three(|a, b, c, _| c + a.max(b) - a.min(b)),
        "abs" => Some(simple(form, ty, &[ty], move |o| ty.write(ty.read(o[0]).abs()))),
        "neg" => Some(simple(form, ty, &[ty], move |o| ty.write(-ty.read(o[0])))),
        "not" => Some(simple(form, ty, &[ty], move |o| !o[0] & ty.mask())),
        "cnot" => Some(simple(form, ty, &[ty], move |o| u64::from(o[0] & ty.mask() == 0))),
        "mov" => Some(simple(form, ty, &[ty], move |o| o[0] & ty.mask())),
        "selp" => {
            let letter = ty.letter();
            let text = format!("{{ .reg .pred p; setp.ne.u32 p, %3, 0; {} %0, %1, %2, p; }}", form.name);
            Some(Case {
                body: statement(&text, &[letter], &[letter, letter, 'r']),
                operands: vec![ty.values(), ty.values(), Values::Of(vec![0, 1, 2])],
                results: vec![Compare::Bits],
                model: each(move |o| vec![(if o[2] != 0 { o[0] } else { o[1] }) & ty.mask()]),
            })
        }
        "slct" => {
            let by = *types.get(1)?;
            Some(simple(form, ty, &[ty, ty, by], move |o| {
                (if by.read(o[2]) >= 0 { o[0] } else { o[1] }) & ty.mask()
            }))
        }
        "dp4a" | "dp2a" => {
            let [a, b] = types[..] else { return None };
            let (first, high) = (form.first == "dp4a", has("hi"));
            Some(simple(form, S32, &[a, b, S32], move |o| {
                let part = |ty: Ty, x: u64, at: u32, bits| Ty { bits, kind: ty.kind }.read(x >> at);
                let sum: i128 = if first {
                    (0..4).map(|i| part(a, o[0], 8 * i, 8) * part(b, o[1], 8 * i, 8)).sum()
                } else {
                    let base = if high { 16 } else { 0 };
                    (0..2).map(|i| part(a, o[0], 16 * i, 16) * part(b, o[1], base + 8 * i, 8)).sum()
                };
                S32.write(sum + S32.read(o[2]))
            }))
        }
        "setp" => {
            let test = comparison(form)?;
            Some(predicate(form, &[ty, ty], move |o| test(ty.read(o[0]).cmp(&ty.read(o[1])))))
        }
        "cvta" => Some(simple(form, ty, &[ty], |o| o[0])),
        _ => None,
    }
}

/// A comparison of ordered values.
pub(super) fn comparison(form: &Form<'_>) -> Option<fn(std::cmp::Ordering) -> bool> {
    use std::cmp::Ordering;
    form.parts.iter().find_map(|part| {
        Some(match part.trim_end_matches('u') {
            "eq" => (|o| o == Ordering::Equal) as fn(Ordering) -> bool,
            "ne" => |o| o != Ordering::Equal,
            "lt" | "lo" => |o| o == Ordering::Less,
            "le" | "ls" => |o| o != Ordering::Greater,
            "gt" | "hi" => |o| o == Ordering::Greater,
            "ge" | "hs" => |o| o != Ordering::Less,
            _ => return None,
        })
    })
}

/// Several whole numbers in a word.
fn parts(form: &Form<'_>, ty: Ty, signed: bool, bits: u32) -> Option<Case> {
    let part = Ty { bits, kind: if signed { Kind::Signed } else { Kind::Unsigned } };
    let (saturated, relu) = (form.has("sat"), form.has("relu"));
    let operation: fn(i128, i128) -> i128 = match form.first {
        "add" => |a, b| a + b,
        "sub" => |a, b| a - b,
        "min" => i128::min,
        "max" => i128::max,
        _ => return None,
    };
    Some(simple(form, ty, &[ty, ty], move |o| {
        let of = |at: u32| {
            let result = operation(part.read(o[0] >> at), part.read(o[1] >> at));
            let result = if relu { result.max(0) } else { result };
            part.write(if saturated { part.clamp(result) } else { result }) << at
        };
        (0..32 / bits).fold(0, |all, i| all | of(i * bits))
    }))
}

fn bits(form: &Form<'_>) -> Option<Case> {
    let ty = form.types().first().copied();
    let has = |part: &str| form.has(part);
    let amount = |largest: u64| {
        Values::Of((0..=largest).chain([largest + 1, 63, 64, 255, 256, 0x8000_0000, 0xffff_ffff]).collect())
    };
    let with = |mut case: Case, index: usize, values: Values| {
        case.operands[index] = values;
        Some(case)
    };
    match form.first {
        "shl" => {
            let ty = ty?;
            let case = simple(form, ty, &[ty, U32], move |o| {
                if o[1] & 0xffff_ffff >= u64::from(ty.bits) { 0 } else { o[0] << o[1] & ty.mask() }
            });
            with(case, 1, amount(66))
        }
        "shr" => {
            let ty = ty?;
            let case = simple(form, ty, &[ty, U32], move |o| {
                ty.write(ty.read(o[0]) >> (o[1] & 0xffff_ffff).min(100))
            });
            with(case, 1, amount(66))
        }
        "shf" => {
            let (left, clamp) = (has("l"), has("clamp"));
            let case = simple(form, U32, &[U32, U32, U32], move |o| {
                let by = if clamp { (o[2] & 0xffff_ffff).min(32) } else { o[2] & 31 };
                let both = u128::from(o[1]) << 32 | u128::from(o[0]);
                if left { (both << by >> 32) as u64 & 0xffff_ffff } else { (both >> by) as u64 & 0xffff_ffff }
            });
            with(case, 2, amount(34))
        }
        "lop3" => {
            let joined = has("or") || has("and");
            let is_or = has("or");
            let lut = 0xe8_u64;
            let of = move |o: &[u64]| {
                (0..32).fold(0, |all, i| {
                    let row = (o[0] >> i & 1) << 2 | (o[1] >> i & 1) << 1 | o[2] >> i & 1;
                    all | (lut >> row & 1) << i
                })
            };
            if !joined {
                let text = format!("{} %0, %1, %2, %3, 0xe8;", form.name);
                return Some(Case {
                    body: statement(&text, &['r'], &['r'; 3]),
                    operands: vec![Values::Whole(32); 3],
                    results: vec![Compare::Bits],
                    model: each(move |o| vec![of(o)]),
                });
            }
            let text = format!(
                "{{ .reg .pred p; .reg .pred q; setp.ne.u32 q, %5, 0; {} %0|p, %2, %3, %4, 0xe8, q; selp.u32 %1, 1, 0, p; }}",
                form.name
            );
            Some(Case {
                body: statement(&text, &['r', 'r'], &['r'; 4]),
                operands: vec![
                    Values::Whole(32),
                    Values::Whole(32),
                    Values::Whole(32),
                    Values::Of(vec![0, 1]),
                ],
                results: vec![Compare::Bits; 2],
                model: each(move |o| {
                    let (d, q) = (of(o), o[3] != 0);
                    vec![d, u64::from(if is_or { d != 0 || q } else { d != 0 && q })]
                }),
            })
        }
        "prmt" => {
            let mode = *form.parts.last()?;
            let index: fn(u64, u64) -> u64 = match mode {
                "f4e" => |by, i| by + i,
                "b4e" => |by, i| by.wrapping_sub(i) & 7,
                "rc8" => |by, _| by,
                "ecl" => |by, i| by.max(i),
                "ecr" => |by, i| by.min(i),
                "rc16" => |by, i| (by & 1) * 2 + (i & 1),
                "b32" => |select, i| select >> (4 * i) & 15,
                _ => return None,
            };
            let plain = mode == "b32";
            Some(simple(form, U32, &[U32, U32, U32], move |o| {
                let both = o[1] << 32 | o[0];
                (0..4).fold(0, |all, i| {
                    let at = index(if plain { o[2] } else { o[2] & 3 }, i);
                    let byte = both >> (8 * (at & 7)) & 0xff;
                    let byte = if at & 8 == 0 {
                        byte
                    } else if byte & 0x80 == 0 {
                        0
                    } else {
                        0xff
                    };
                    all | byte << (8 * i)
                })
            }))
        }
        "bfe" => {
            let ty = ty?;
            let case = simple(form, ty, &[ty, U32, U32], move |o| {
                let (at, length) = ((o[1] & 0xff) as u32, (o[2] & 0xff) as u32);
                let last = (at + length).saturating_sub(1).min(ty.bits - 1);
                let sign = if ty.signed() && length != 0 { o[0] >> last & 1 } else { 0 };
                (0..ty.bits).fold(0, |all, i| {
                    let bit = if i < length && at + i < ty.bits { o[0] >> (at + i) & 1 } else { sign };
                    all | bit << i
                })
            });
            let case = with(case, 1, amount(66))?;
            with(case, 2, amount(66))
        }
        "bfi" => {
            let ty = ty?;
            let case = simple(form, ty, &[ty, ty, U32, U32], move |o| {
                let (at, length) = ((o[2] & 0xff) as u32, (o[3] & 0xff) as u32);
                (0..length)
                    .filter(|i| at + i < ty.bits)
                    .fold(o[1] & ty.mask(), |all, i| all & !(1 << (at + i)) | (o[0] >> i & 1) << (at + i))
            });
            let case = with(case, 2, amount(66))?;
            with(case, 3, amount(66))
        }
        "bfind" => {
            let (ty, shift) = (ty?, has("shiftamt"));
            Some(simple(form, U32, &[ty], move |o| {
                let a = ty.read(o[0]);
                let a = if a < 0 { !a } else { a } as u64;
                match a.checked_ilog2() {
                    None => 0xffff_ffff,
                    Some(at) => u64::from(if shift { ty.bits - 1 - at } else { at }),
                }
            }))
        }
        "brev" => {
            let ty = ty?;
            Some(simple(form, ty, &[ty], move |o| (o[0] & ty.mask()).reverse_bits() >> (64 - ty.bits)))
        }
        "popc" => {
            let ty = ty?;
            Some(simple(form, U32, &[ty], move |o| u64::from((o[0] & ty.mask()).count_ones())))
        }
        "clz" => {
            let ty = ty?;
            Some(simple(form, U32, &[ty], move |o| {
                u64::from((o[0] & ty.mask()).leading_zeros() - (64 - ty.bits))
            }))
        }
        "bmsk" => {
            let clamp = has("clamp");
            let case = simple(form, U32, &[U32, U32], move |o| {
                let (at, length) = if clamp { (o[0].min(32), o[1].min(32)) } else { (o[0] & 31, o[1] & 31) };
                (((1_u128 << length) - 1) << at) as u64 & 0xffff_ffff
            });
            let case = with(case, 0, amount(34))?;
            with(case, 1, amount(34))
        }
        "szext" => {
            let (ty, clamp) = (ty?, has("clamp"));
            let case = simple(form, ty, &[ty, U32], move |o| {
                let length = if clamp { o[1].min(32) } else { o[1] & 31 } as u32;
                if length == 0 {
                    0
                } else {
                    Ty { bits: length, kind: ty.kind }.read(o[0]) as u64 & 0xffff_ffff
                }
            });
            with(case, 1, amount(34))
        }
        "fns" => {
            let case = simple(form, U32, &[U32, U32, S32], |o| {
                let (mask, base, offset) = (o[0], o[1], o[2] as u32 as i32);
                let set = |i: &u32| mask >> i & 1 == 1;
                let base = base as u32;
                let found = match offset {
                    0 => Some(base).filter(set),
                    1.. => (base..32).filter(set).nth(offset as usize - 1),
                    _ => (0..=base).rev().filter(set).nth(offset.unsigned_abs() as usize - 1),
                };
                found.map_or(0xffff_ffff, u64::from)
            });
            let case = with(case, 1, Values::Of((0..32).collect()))?;
            with(
                case,
                2,
                Values::Of([0_i32, 1, 2, 3, 5, 31, -1, -2, -7].map(|x| u64::from(x as u32)).to_vec()),
            )
        }
        "isspacep" => {
            let space = form.parts[0].replace("shared::cta", "shared").replace("shared::cluster", "shared");
            let is = [space == "shared", space == "local", space == "global"];
            let text = |at: &str, result: usize| {
                format!(
                    "asm volatile(\"{{ .reg .pred p; {} p, %1; selp.u32 %0, 1, 0, p; }}\" : \"=r\"(r{result}) : \"l\"({at})); ",
                    form.name
                )
            };
            let body = format!(
                "__shared__ int s; volatile int own = (int)a[0]; s = 0; unsigned r0, r1, r2; {}{}{}o[0] = r0; o[1] = r1; o[2] = r2 + own - own; ",
                text("&s", 0),
                text("(int *)&own", 1),
                text("a", 2)
            );
            Some(Case {
                body,
                operands: vec![Values::Whole(32)],
                results: vec![Compare::Bits; 3],
                model: each(move |_| is.map(u64::from).to_vec()),
            })
        }
        _ => None,
    }
}

/// Instructions that set or take the carry, in chains.
fn carries(form: &Form<'_>) -> Option<Case> {
    let sets = form.has("cc");
    let takes = matches!(form.first, "addc" | "subc" | "madc");
    if !sets && !takes {
        return None;
    }
    let ty = *form.types().first()?;
    let bits = ty.bits;
    let letter = ty.letter();
    let unsigned = Ty { bits, kind: Kind::Unsigned };
    let is_mad = form.first.starts_with("mad");
    let subtracts = form.first.starts_with("sub");
    let high = form.has("hi");
    // One that sets the carry, the form, and one that shows it.
    let name = format!("u{bits}");
    let before = if takes {
        format!("{}.cc.{name} %0, %2, %3; ", if subtracts { "sub" } else { "add" })
    } else {
        String::new()
    };
    let after = if sets {
        format!("{}.{name} %1, 0, 0; ", if subtracts { "subc" } else { "addc" })
    } else {
        "mov.b32 %1, 0; ".replace("b32", &format!("b{bits}"))
    };
    let text = if is_mad {
        format!("{before}{} %0, %2, %3, %4; {after}", form.name)
    } else {
        format!("{before}{} %0, %3, %4; {after}", form.name)
    };
    Some(Case {
        body: statement(&text, &[letter, letter], &[letter; 3]),
        operands: vec![U64.values(), U64.values(), U64.values()]
            .into_iter()
            .map(|_| Values::Whole(bits))
            .collect(),
        results: vec![Compare::Bits; 2],
        model: each(move |o| {
            let [a, b, c] = [0, 1, 2].map(|i| unsigned.read(o[i]));
            let all = i128::from(ty.mask());
            let carry = if !takes {
                0
            } else if subtracts {
                i128::from(a < b)
            } else {
                i128::from(a + b > all)
            };
            let wide = if is_mad {
                let product = ty.read(o[0]).wrapping_mul(ty.read(o[1]));
                let part = if high { product >> bits } else { product };
                (part & all) + c + carry
            } else if subtracts {
                b - c - carry
            } else {
                b + c + carry
            };
            let out = if !sets {
                0
            } else if subtracts {
                unsigned.write(-i128::from(wide < 0))
            } else {
                u64::from(wide > all)
            };
            vec![unsigned.write(wide), out]
        }),
    })
}
