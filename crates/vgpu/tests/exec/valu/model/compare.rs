//! Comparisons, modelled by their names.

use std::cmp::Ordering;

use super::exact::Format;
use super::{In, Model, Out};
use vgpu::isa::Op;

/// Whether a predicate holds for an ordering of two numbers.
fn holds(predicate: &str, order: Option<Ordering>) -> bool {
    let is = |wanted: &[Ordering]| order.is_some_and(|order| wanted.contains(&order));
    use Ordering::{Equal, Greater, Less};
    match predicate {
        "f" => false,
        "t" => true,
        "lt" => is(&[Less]),
        "eq" => is(&[Equal]),
        "le" => is(&[Less, Equal]),
        "gt" => is(&[Greater]),
        "lg" => is(&[Less, Greater]),
        "ne" => !is(&[Equal]),
        "ge" => is(&[Greater, Equal]),
        "o" => order.is_some(),
        "u" => order.is_none(),
        "nge" => !is(&[Greater, Equal]),
        "nlg" => !is(&[Less, Greater]),
        "ngt" => !is(&[Greater]),
        "nle" => !is(&[Less, Equal]),
        "neq" => !is(&[Equal]),
        "nlt" => !is(&[Less]),
        _ => panic!("no predicate {predicate}"),
    }
}

/// The predicate and the type in the name of a comparison.
fn parts(op: Op) -> Option<(&'static str, &'static str)> {
    let name = op.name();
    name.strip_prefix("v_cmp_").or_else(|| name.strip_prefix("v_cmpx_"))?.rsplit_once('_')
}

fn class(f: Format, bits: u64) -> u32 {
    let negative = bits & f.sign() != 0;
    if f.is_nan(bits) {
        return u32::from(bits & f.quiet() != 0);
    }
    let size = if f.is_infinite(bits) {
        3
    } else if f.is_zero(bits) {
        0
    } else if f.is_subnormal(bits) {
        1
    } else {
        2
    };
    if negative { 5 - size } else { 6 + size }
}

/// The model of a comparison.
pub(super) fn model(op: Op) -> Option<Model> {
    let (predicate, ty) = parts(op)?;
    Some(match (predicate, &ty[..1]) {
        ("class", _) => |i: &In| Out::Mask(i.s[1] >> class(i.format, i.s[0]) & 1 != 0),
        (_, "f") => |i: &In| Out::Mask(holds(i.predicate(), i.format.compare(i.s[0], i.s[1]))),
        (_, "u") => |i: &In| Out::Mask(holds(i.predicate(), Some(i.s[0].cmp(&i.s[1])))),
        _ => |i: &In| {
            let signed = |k: usize| match i.bits[k] {
                16 => i.h(k) as i64,
                32 => i.z(k) as i64,
                _ => i.s[k] as i64,
            };
            Out::Mask(holds(i.predicate(), Some(signed(0).cmp(&signed(1)))))
        },
    })
}

impl In {
    /// The predicate of a comparison.
    fn predicate(&self) -> &'static str {
        parts(self.op).map_or("", |(predicate, _)| predicate)
    }
}
