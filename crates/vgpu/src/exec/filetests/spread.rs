//! Cases of instructions that work lane by lane, in all lanes of a wave: each lane holds what some lane of the case holds, so
//! that no part of a wave goes untested because the case is short.

use super::file::{Case, Content, End, Place, Value};
use crate::isa::{Elem, Format, Inst, Op, Operand, scalar};

/// The enabled lanes of one of the two runs; all lanes are enabled in the other.
const SOME: u64 = 0x5a5a_1234_f00f_8421;

/// Lanes of a block that the engine works on at once.
const LANES: usize = 16;

/// The case in all lanes of a wave, with all lanes and with some enabled; nothing if lanes are not independent, or no list says
/// what is in them.
pub(super) fn spread(case: &Case, inst: &Inst, lanes: usize) -> Option<[Case; 2]> {
    if !is_lane_by_lane(inst) || case.end != End::Next {
        return None;
    }
    let lists = || case.inputs.iter().filter(|(place, _)| place.has_lanes());
    let mask = |values: &[(usize, Value)]| values.iter().fold(0u64, |mask, (lane, _)| mask | 1 << lane);
    let listed = lists().filter_map(|(_, content)| match content {
        Content::List(values) => Some(mask(values)),
        Content::One(_) => None,
    });
    let (all, any) = listed.fold((u64::MAX, 0), |(all, any), mask| (all & mask, any | mask));
    let exec = case.inputs.iter().find_map(|(place, content)| match (place, content) {
        (Place::Scalar(first, _), Content::One(Value::Bytes(bytes)))
            if *first == usize::from(scalar::EXEC) =>
        {
            Some(number(bytes))
        }
        _ => None,
    });
    let exec = exec.unwrap_or(any) & (u64::MAX >> (64 - lanes));
    if exec == 0 || any == 0 || exec & !all != 0 {
        return None;
    }
    let order: Vec<usize> = (0..lanes).filter(|lane| exec >> lane & 1 != 0).collect();
    // Blocks begin with different lanes of the case.
    let from = |lane: usize| order[(lane % LANES + lane / LANES * ((order.len() + 3) / 5)) % order.len()];
    Some([u64::MAX, SOME].map(|mask| wide(case, inst, lanes, mask & (u64::MAX >> (64 - lanes)), &from)))
}

fn wide(case: &Case, inst: &Inst, lanes: usize, exec: u64, from: &dyn Fn(usize) -> usize) -> Case {
    let masks = masks(inst);
    let is_exec =
        |place: Place| matches!(place, Place::Scalar(first, _) if first == usize::from(scalar::EXEC));
    let change = |place: Place, content: &Content, enabled: u64| match (place, content) {
        (_, Content::List(values)) if place.has_lanes() => Content::List(
            (0..lanes)
                .filter(|lane| enabled >> lane & 1 != 0)
                .flat_map(|lane| {
                    let of = values.iter().filter(move |(other, _)| *other == from(lane));
                    of.map(move |(_, value)| (lane, value.clone()))
                })
                .collect(),
        ),
        (Place::Scalar(first, _), Content::One(Value::Bytes(bytes))) if masks.contains(&first) => {
            let old = number(bytes);
            let bits = (0..lanes).filter(|lane| (old & enabled_bit(enabled, *lane, from(*lane))) != 0);
            let new = bits.fold(old & !(u64::MAX >> (64 - lanes)), |new, lane| new | 1 << lane);
            Content::One(Value::Bytes(new.to_le_bytes()[..bytes.len()].to_vec()))
        }
        (_, content) => content.clone(),
    };
    let mut inputs: Vec<_> = case
        .inputs
        .iter()
        .filter(|(place, _)| !is_exec(*place))
        .map(|(place, content)| (*place, change(*place, content, u64::MAX)))
        .collect();
    let words = if lanes == 64 { 2 } else { 1 };
    let mask = Value::Bytes(exec.to_le_bytes()[..4 * words].to_vec());
    inputs.push((Place::Scalar(usize::from(scalar::EXEC), words), Content::One(mask)));
    let outputs =
        case.outputs.iter().map(|(place, content)| (*place, change(*place, content, exec))).collect();
    Case { inputs, outputs, end: case.end.clone(), line: case.line }
}

/// The bit of the case's lane `from`, if `lane` is enabled.
fn enabled_bit(enabled: u64, lane: usize, from: usize) -> u64 {
    (enabled >> lane & 1) << from
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Whether a lane's results depend on that lane's sources only.
fn is_lane_by_lane(inst: &Inst) -> bool {
    let vector = matches!(
        inst.format,
        Format::Vop1
            | Format::Vop2
            | Format::Vop3
            | Format::Vop3Sd
            | Format::Vop3p
            | Format::Vopc
            | Format::Vopd
    );
    let name = inst.op.name();
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
    vector && inst.dpp.is_none() && !across.iter().any(|start| name.starts_with(start))
}

/// Scalar registers with a bit for each lane.
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
