//! What a sequence of vector instructions computes from the registers, as values without names.
//!
//! No instruction of a region depends on other lanes, so code for it handles some lanes from its start to its
//! end, and then the next ones. Registers are written at the end, after the check for NaNs.

use std::collections::HashMap;

use vgpu_isa::scalar;

use crate::host::{Host, V};

/// The number of a value.
pub(crate) type Id = u16;

/// How a value is computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    /// A vector register, as it was before the region.
    Register(u16),
    /// A scalar register in all lanes.
    Scalar(u8),
    /// A constant in all lanes.
    Literal(u32),
    /// Zero in even lanes, ones in odd ones.
    OddLanes,
    /// The number of each lane.
    LaneNumbers,
    /// The lane mask in a scalar register.
    Lanes(u8),
    /// An operation on as many values as it has sources, and its immediate.
    Op(V, [Id; 3], u8),
    /// Not a value: the two must not be NaN.
    Check(Id, Id),
}

impl Node {
    /// The values it is computed from.
    pub(crate) fn sources(&self) -> &[Id] {
        match self {
            Node::Op(v, ids, _) => &ids[..v.row().sources],
            _ => &[],
        }
    }

    /// Whether it can be read again at any place of the region.
    pub(crate) fn is_leaf(&self) -> bool {
        !matches!(self, Node::Op(..) | Node::Check(..))
    }
}

/// A mask that a region writes to scalar registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaskResult {
    pub(crate) slot: u8,
    pub(crate) id: Id,
    /// Whether the opposite is written.
    pub(crate) inverted: bool,
}

/// Nodes after which a region ends, so that they have numbers and compile in little memory.
const NODES: usize = 512;
/// Masks that a region can write.
pub(crate) const MASKS: usize = 3;

/// A region.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) host: Host,
    wide: bool,
    pub(crate) nodes: Vec<Node>,
    known: HashMap<Node, Id>,
    /// Whether a value may be a NaN with other bits than the reference's.
    doubtful: Vec<bool>,
    /// The vector registers that it writes, in order, and their values.
    pub(crate) registers: Vec<(u16, Id)>,
    /// The masks that it writes.
    pub(crate) masks: Vec<MaskResult>,
    /// The steps it consists of.
    pub(crate) steps: Vec<u32>,
    /// Scalar registers that it reads and writes, a bit each.
    reads: u128,
    writes: u128,
}

/// The bits of one or two scalar registers.
pub(crate) fn slots(slot: u8, wide: bool) -> u128 {
    match slot {
        scalar::NULL | 128.. => 0,
        _ => (if wide { 3 } else { 1 }) << slot,
    }
}

impl Region {
    pub(crate) fn new(host: Host, wide: bool) -> Region {
        Region {
            host,
            wide,
            nodes: Vec::new(),
            known: HashMap::new(),
            doubtful: Vec::new(),
            registers: Vec::new(),
            masks: Vec::new(),
            steps: Vec::new(),
            // Which lanes are enabled.
            reads: slots(scalar::EXEC, true),
            writes: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether it has room for an instruction that writes these registers.
    pub(crate) fn has_room(&self, written: std::ops::Range<u16>) -> bool {
        // Every result is kept until the end.
        let results = usize::from(self.host.registers()) - 4;
        let known = self.registers.iter().filter(|(register, _)| written.contains(register)).count();
        self.registers.len() - known + written.len() <= results
            && self.nodes.len() + 64 <= NODES
            && self.masks.len() + 2 <= MASKS
    }

    /// Whether an instruction that reads and writes these scalar registers must come after it.
    pub(crate) fn conflicts(&self, reads: u128, writes: u128) -> bool {
        self.writes & (reads | writes) != 0 || self.reads & writes != 0
    }

    /// Whether an instruction that uses scalar registers can be a part of it: those as numbers, and others as
    /// lane masks that it reads or writes.
    pub(crate) fn admits(&self, numbers: u128, masks: &[u8]) -> bool {
        let known = |slot: u8| self.masks.iter().any(|result| result.slot == slot);
        self.writes & numbers == 0
            && masks.iter().all(|&slot| known(slot) || self.writes & slots(slot, self.wide) == 0)
    }

    fn add(&mut self, node: Node, doubtful: bool) -> Id {
        if let Some(&id) = self.known.get(&node) {
            self.doubtful[usize::from(id)] |= doubtful;
            return id;
        }
        let id = self.nodes.len() as Id;
        self.nodes.push(node);
        self.doubtful.push(doubtful);
        self.known.insert(node, id);
        id
    }

    /// A vector register.
    pub(crate) fn register(&mut self, register: u16) -> Id {
        let written = self.registers.iter().rev().find(|(written, _)| *written == register);
        match written {
            Some((_, id)) => *id,
            None => self.add(Node::Register(register), false),
        }
    }

    /// A scalar register.
    pub(crate) fn scalar(&mut self, slot: u8) -> Id {
        self.reads |= slots(slot, false);
        self.add(Node::Scalar(slot), false)
    }

    /// A constant.
    pub(crate) fn literal(&mut self, value: u32) -> Id {
        self.add(Node::Literal(value), false)
    }

    /// Zero in even lanes, ones in odd ones.
    pub(crate) fn odd_lanes(&mut self) -> Id {
        self.add(Node::OddLanes, false)
    }

    /// The number of each lane.
    pub(crate) fn lane_numbers(&mut self) -> Id {
        self.add(Node::LaneNumbers, false)
    }

    /// The constant that a value is.
    pub(crate) fn constant(&self, id: Id) -> Option<u32> {
        match self.nodes[usize::from(id)] {
            Node::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// A lane mask in scalar registers.
    pub(crate) fn lanes(&mut self, slot: u8) -> Id {
        if let Some(&MaskResult { id, inverted, .. }) = self.masks.iter().find(|result| result.slot == slot) {
            return if inverted { self.op(V::NotMask, [id, 0, 0], 0) } else { id };
        }
        self.reads |= slots(slot, self.wide);
        self.add(Node::Lanes(slot), false)
    }

    /// An operation on integers, bits or masks.
    pub(crate) fn op(&mut self, v: V, ids: [Id; 3], immediate: u8) -> Id {
        if let Some(value) = self.folded(v, ids, immediate) {
            return self.literal(value);
        }
        let sources = v.row().sources;
        for &id in &ids[..sources] {
            // The bits of a NaN go elsewhere.
            if self.doubtful[usize::from(id)] {
                self.check(id, id);
            }
        }
        self.pure(v, ids, immediate, false)
    }

    /// The result of an operation on constants.
    fn folded(&self, v: V, ids: [Id; 3], immediate: u8) -> Option<u32> {
        let a = self.constant(ids[0])?;
        let b = if v.row().sources > 1 { self.constant(ids[1])? } else { 0 };
        Some(match v {
            V::Add => a.wrapping_add(b),
            V::Sub => a.wrapping_sub(b),
            V::And => a & b,
            V::Or => a | b,
            V::Xor => a ^ b,
            V::ShlImm => a << (immediate & 31),
            V::ShrImm => a >> (immediate & 31),
            V::SarImm => (a as i32 >> (immediate & 31)) as u32,
            _ => return None,
        })
    }

    /// An operation that only changes the sign of a number or selects one; NaNs are checked later.
    pub(crate) fn moves(&mut self, v: V, ids: [Id; 3], immediate: u8) -> Id {
        let doubtful = ids[..v.row().sources].iter().any(|id| self.doubtful[usize::from(*id)]);
        self.pure(v, ids, immediate, doubtful)
    }

    /// An operation on f32 whose result is a NaN if one of its sources is.
    pub(crate) fn float(&mut self, v: V, ids: [Id; 3], immediate: u8) -> Id {
        self.pure(v, ids, immediate, true)
    }

    /// An operation on f32 for which all NaNs are the same.
    pub(crate) fn compares(&mut self, v: V, ids: [Id; 3], immediate: u8) -> Id {
        self.pure(v, ids, immediate, false)
    }

    /// The number of a value.
    #[cfg(test)]
    pub(crate) fn find(&self, node: Node) -> Option<Id> {
        self.known.get(&node).copied()
    }

    fn pure(&mut self, v: V, mut ids: [Id; 3], immediate: u8, doubtful: bool) -> Id {
        // One name for each computation.
        ids[v.row().sources..].fill(0);
        ids = Region::in_order(v, ids);
        self.add(Node::Op(v, ids, immediate), doubtful)
    }

    /// Sources that can change places in an order that is always the same.
    pub(crate) fn in_order(v: V, [a, b, c]: [Id; 3]) -> [Id; 3] {
        if (v.row().commutes || v == V::Fma) && a > b { [b, a, c] } else { [a, b, c] }
    }

    /// Neither may be a NaN.
    pub(crate) fn check(&mut self, a: Id, b: Id) {
        self.add(Node::Check(a, b), false);
    }

    /// A vector register gets a value.
    pub(crate) fn set_register(&mut self, register: u16, mut id: Id) {
        if matches!(self.nodes[usize::from(id)], Node::Register(_)) {
            // That register may be written before this one.
            id = self.pure(V::Copy, [id, 0, 0], 0, false);
        }
        match self.registers.iter_mut().find(|(written, _)| *written == register) {
            Some(written) => written.1 = id,
            None => self.registers.push((register, id)),
        }
    }

    /// Scalar registers get a mask.
    pub(crate) fn set_mask(&mut self, slot: u8, id: Id, inverted: bool) {
        let result = MaskResult { slot, id, inverted };
        self.writes |= slots(slot, self.wide);
        match self.masks.iter_mut().find(|other| other.slot == slot) {
            Some(other) => *other = result,
            None => self.masks.push(result),
        }
    }

    /// Whether the bits of a value may differ from the reference's if it is a NaN.
    pub(crate) fn is_doubtful(&self, id: Id) -> bool {
        self.doubtful[usize::from(id)]
    }
}
