//! Spreads cases of instructions that work lane by lane, or in rows of sixteen lanes, over all lanes of a
//! wave. Each lane gets the values of some lane of the case, so no part of a wave is untested because the
//! case is short.

use super::file::{Case, Content, End, Place, Value};
use vgpu::isa::{Dpp, Elem, Format, Inst, Op, Operand, scalar};

/// The lanes enabled in one of the two runs; in the other, all lanes are enabled.
const SOME: u64 = 0x5a5a_1234_f00f_8421;

/// The lanes of a row, which the executor processes at once.
const ROW: usize = 16;

/// The case spread over all lanes of a wave, once with all lanes enabled and once with some, or with rows
/// shuffled. None if lanes depend on others in a different way, or if no list gives their values.
pub(super) fn spread(case: &Case, inst: &Inst, lanes: usize) -> Vec<Case> {
    let reach = reach(inst);
    if reach == Reach::Wave || case.end != End::Next {
        return Vec::new();
    }
    let lists = case.inputs.iter().filter_map(|(place, content)| match content {
        Content::List(values) if place.has_lanes() => {
            Some(values.iter().fold(0u64, |mask, (lane, _)| mask | 1 << lane))
        }
        _ => None,
    });
    let (all, any) = lists.fold((u64::MAX, 0), |(all, any), mask| (all & mask, any | mask));
    let exec = case.inputs.iter().find_map(|(place, content)| match content {
        Content::One(Value::Bytes(bytes)) if is_exec(*place) => Some(number(bytes)),
        _ => None,
    });
    let whole = u64::MAX >> (64 - lanes);
    let exec = exec.unwrap_or(any) & whole;
    if exec == 0 || any == 0 || exec & !all != 0 {
        return Vec::new();
    }
    if reach == Reach::Row {
        // Rows must be complete, because lanes also read disabled lanes.
        let rows = any.trailing_ones() as usize / ROW;
        if rows == 0 || any != all || any != u64::MAX >> (64 - rows * ROW) {
            return Vec::new();
        }
        let from = |lane: usize| lane % ROW + (lane / ROW + lane / ROW / rows + 1) % rows * ROW;
        let enabled = (0..lanes).filter(|lane| exec >> from(*lane) & 1 != 0);
        return vec![wide(case, inst, lanes, enabled.fold(0, |mask, lane| mask | 1 << lane), &from)];
    }
    let order: Vec<usize> = (0..lanes).filter(|lane| exec >> lane & 1 != 0).collect();
    // Each row starts with a different lane of the case.
    let from = |lane: usize| order[(lane % ROW + lane / ROW * ((order.len() + 3) / 5)) % order.len()];
    [whole, SOME & whole].map(|mask| wide(case, inst, lanes, mask, &from)).into()
}

/// The case with `exec` enabled; each lane is a copy of the one that `from` returns.
fn wide(case: &Case, inst: &Inst, lanes: usize, exec: u64, from: &dyn Fn(usize) -> usize) -> Case {
    let masks = masks(inst);
    let change = |place: Place, content: &Content, enabled: u64| match (place, content) {
        (_, Content::List(values)) if place.has_lanes() => Content::List(
            (0..lanes)
                .filter(|lane| enabled >> lane & 1 != 0)
                .filter_map(|lane| {
                    let (_, value) = values.iter().find(|(other, _)| *other == from(lane))?;
                    Some((lane, value.clone()))
                })
                .collect(),
        ),
        (Place::Scalar(first, _), Content::One(Value::Bytes(bytes))) if masks.contains(&first) => {
            let old = number(bytes);
            let set = (0..lanes).filter(|lane| enabled >> lane & old >> from(*lane) & 1 != 0);
            let new = set.fold(old & !(u64::MAX >> (64 - lanes)), |new, lane| new | 1 << lane);
            Content::One(Value::Bytes(new.to_le_bytes()[..bytes.len()].to_vec()))
        }
        (_, content) => content.clone(),
    };
    let inputs = case.inputs.iter().filter(|(place, _)| !is_exec(*place));
    let mut inputs: Vec<_> =
        inputs.map(|(place, content)| (*place, change(*place, content, u64::MAX))).collect();
    let words = lanes / 32;
    let mask = Value::Bytes(exec.to_le_bytes()[..4 * words].to_vec());
    inputs.push((Place::Scalar(usize::from(scalar::EXEC), words), Content::One(mask)));
    let outputs = case.outputs.iter();
    let outputs = outputs.map(|(place, content)| (*place, change(*place, content, exec))).collect();
    Case { inputs, outputs, end: case.end.clone(), line: case.line }
}

fn is_exec(place: Place) -> bool {
    matches!(place, Place::Scalar(first, _) if first == usize::from(scalar::EXEC))
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The lanes on which a lane's results depend.
#[derive(PartialEq)]
enum Reach {
    Lane,
    Row,
    Wave,
}

fn reach(inst: &Inst) -> Reach {
    use Format::{Vop1, Vop2, Vop3, Vop3Sd, Vop3p, Vopc, Vopd};
    let across = [
        "v_read",
        "v_writelane",
        "v_permlane",
        "v_mbcnt",
        "v_mfma",
        "v_smfmac",
        "v_wmma",
        "v_swmmac",
        "v_s_",
    ];
    let vector = matches!(inst.format, Vop1 | Vop2 | Vop3 | Vop3Sd | Vop3p | Vopc | Vopd);
    if !vector || across.iter().any(|start| inst.op.name().starts_with(start)) {
        return Reach::Wave;
    }
    match inst.dpp {
        None => Reach::Lane,
        Some(Dpp::Eight { .. }) => Reach::Row,
        // Shifts of the whole wave, and broadcasts to other rows.
        Some(Dpp::Row { ctrl: 0x130..=0x13f | 0x142 | 0x143, .. }) => Reach::Wave,
        Some(Dpp::Row { row_mask, .. }) => {
            if row_mask == 15 {
                Reach::Row
            } else {
                Reach::Wave
            }
        }
    }
}

/// Scalar registers with one bit per lane.
fn masks(inst: &Inst) -> Vec<usize> {
    let of = |op: Op, dst: Operand, sdst: Operand, src: &[Operand]| {
        let signature = op.signature();
        let types = [signature.dst, signature.sdst].into_iter().chain(signature.src);
        let operands = [dst, sdst].into_iter().chain(src.iter().copied());
        let masks = types.zip(operands).filter(|(ty, _)| ty.elem == Elem::Mask);
        masks.map(|(_, operand)| if let Operand::Sgpr(slot) = operand { slot } else { scalar::VCC }).collect()
    };
    let mut masks: Vec<u8> = of(inst.op, inst.dst, inst.sdst, &inst.src);
    if let Some((op, dst, src)) = inst.dual {
        masks.extend(of(op, dst, Operand::None, &src));
    }
    if inst.op.is_compare_exec() {
        masks.push(scalar::EXEC);
    }
    masks.into_iter().map(usize::from).collect()
}
