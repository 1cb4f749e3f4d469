//! Which register of the host holds which value of a region, and when.
//!
//! The value whose next use is the furthest away gives way. Values that can be read again are dropped; others
//! go to the stack.

use std::collections::VecDeque;

use crate::Error;
use crate::host::{FIRST_MASK, Host, V};
use crate::region::{Id, Node, Region};

/// Where the last source of an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Register(u8),
    /// What a leaf stands for, in memory.
    Leaf(Node),
}

/// An instruction on registers of the host; masks of AVX-512 have registers of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inst {
    /// Reads a leaf.
    Load(u8, Node),
    /// Copies a vector register.
    Copy(u8, u8),
    /// To the stack: place, register, whether it is a mask register.
    Spill(u16, u8, bool),
    /// From the stack.
    Reload(u8, u16, bool),
    /// An operation: destination, first sources, last source, immediate. If there are three sources, the
    /// first one or the second one is a mask, or the destination.
    Op(V, u8, u8, u8, Place, u8),
    /// `to = a * to + c`
    FmaOver(u8, u8, Place),
    /// Notes whether one is a NaN.
    Check(u8, Place),
}

/// The instructions for some lanes of a region.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// What is computed, and checked.
    pub(crate) body: Vec<Inst>,
    /// Whether anything is checked.
    pub(crate) checks: bool,
    /// After the check: values that are loaded again, and registers that are written.
    pub(crate) results: Vec<(u16, Vec<Inst>, u8)>,
    /// The masks, in the order of the region's.
    pub(crate) masks: Vec<(Vec<Inst>, u8)>,
    /// Places on the stack.
    pub(crate) places: u16,
}

/// Where a value is.
#[derive(Clone, Copy, Default, Debug)]
struct Where {
    register: Option<u8>,
    place: Option<u16>,
}

struct Allocator<'r> {
    region: &'r Region,
    host: Host,
    /// For each value, the positions at which it is still used.
    uses: Vec<VecDeque<u32>>,
    wheres: Vec<Where>,
    /// The values in vector registers and in mask registers.
    held: [Vec<Option<Id>>; 2],
    out: Vec<Inst>,
    free_places: Vec<u16>,
    places: u16,
}

/// Allocates a region's values to registers.
///
/// # Errors
/// If an instruction needs more registers than there are.
pub(crate) fn allocate(region: &Region) -> Result<Plan, Error> {
    let count = region.nodes.len();
    // Which values matter.
    let mut live = vec![false; count];
    let results = region.registers.iter().map(|(_, id)| *id);
    let outputs: Vec<Id> = results.chain(region.masks.iter().map(|mask| mask.id)).collect();
    for &id in &outputs {
        live[usize::from(id)] = true;
    }
    for (i, node) in region.nodes.iter().enumerate().rev() {
        if let Node::Check(a, b) = *node {
            live[i] = true;
            live[usize::from(a)] = true;
            live[usize::from(b)] = true;
        } else if live[i] {
            node.sources().iter().for_each(|id| live[usize::from(*id)] = true);
        }
    }
    let mut uses = vec![VecDeque::new(); count];
    for (at, node) in region.nodes.iter().enumerate() {
        match *node {
            _ if !live[at] => {}
            Node::Check(a, b) => [a, b].iter().for_each(|id| uses[usize::from(*id)].push_back(at as u32)),
            _ => node.sources().iter().for_each(|id| uses[usize::from(*id)].push_back(at as u32)),
        }
    }
    // Results are checked, and later written.
    let doubtful: Vec<Id> =
        region.registers.iter().map(|(_, id)| *id).filter(|id| region.is_doubtful(*id)).collect();
    let (check, end) = (count as u32, count as u32 + 1);
    doubtful.iter().for_each(|id| uses[usize::from(*id)].push_back(check));
    outputs.iter().for_each(|id| uses[usize::from(*id)].push_back(end));

    let host = region.host;
    let mut allocator = Allocator {
        region,
        host,
        uses,
        wheres: vec![Where::default(); count],
        held: [vec![None; host.registers().into()], vec![None; host.masks().into()]],
        out: Vec::new(),
        free_places: Vec::new(),
        places: 0,
    };
    let mut plan = Plan::default();
    for (at, node) in region.nodes.iter().enumerate() {
        if !live[at] {
            continue;
        }
        match *node {
            Node::Op(v, ids, immediate) => allocator.operation(at as Id, v, ids, immediate)?,
            Node::Check(a, b) => {
                allocator.check(a, Some(b))?;
                plan.checks = true;
            }
            _ => {}
        }
    }
    for pair in doubtful.chunks(2) {
        allocator.check(pair[0], pair.get(1).copied())?;
        plan.checks = true;
    }
    plan.body = std::mem::take(&mut allocator.out);
    for &(register, id) in &region.registers {
        let from = allocator.register(id, &[])?;
        allocator.used(id);
        plan.results.push((register, std::mem::take(&mut allocator.out), from));
    }
    for mask in &region.masks {
        let from = allocator.register(mask.id, &[])?;
        allocator.used(mask.id);
        plan.masks.push((std::mem::take(&mut allocator.out), from));
    }
    plan.places = allocator.places;
    Ok(plan)
}

impl Allocator<'_> {
    fn node(&self, id: Id) -> Node {
        self.region.nodes[usize::from(id)]
    }

    /// Whether a value is in a mask register.
    fn is_mask(&self, id: Id) -> bool {
        self.host == Host::Avx512
            && match self.node(id) {
                Node::Op(v, ..) => v.is_mask(),
                Node::Lanes(_) => true,
                _ => false,
            }
    }

    fn next_use(&self, id: Id) -> u32 {
        self.uses[usize::from(id)].front().copied().unwrap_or(u32::MAX)
    }

    /// Whether the current instruction is the last that uses a value, and uses it once.
    fn dies(&self, id: Id) -> bool {
        self.uses[usize::from(id)].len() == 1
    }

    /// The current instruction has used a value once.
    fn used(&mut self, id: Id) {
        let uses = &mut self.uses[usize::from(id)];
        uses.pop_front();
        if uses.is_empty() {
            let at = std::mem::take(&mut self.wheres[usize::from(id)]);
            if let Some(register) = at.register {
                self.release(register, self.is_mask(id));
            }
            self.free_places.extend(at.place);
        }
    }

    fn index(register: u8, mask: bool) -> usize {
        usize::from(if mask { register - FIRST_MASK } else { register })
    }

    fn release(&mut self, register: u8, mask: bool) {
        self.held[usize::from(mask)][Self::index(register, mask)] = None;
    }

    /// A register without contents. Those of the values in `keep` stay.
    fn take(&mut self, mask: bool, keep: &[Id]) -> Result<u8, Error> {
        let held = &self.held[usize::from(mask)];
        let index = match held.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                let given = |index: &usize| held[*index].is_some_and(|id| !keep.contains(&id));
                let last = (0..held.len()).filter(given);
                // The furthest; among equals one that need not be written.
                let last = last.max_by_key(|index| {
                    let id = held[*index].unwrap_or(0);
                    let cheap = self.node(id).is_leaf() || self.wheres[usize::from(id)].place.is_some();
                    (self.next_use(id), cheap)
                });
                last.ok_or(Error::Registers)?
            }
        };
        let register = index as u8 + if mask { FIRST_MASK } else { 0 };
        if let Some(id) = self.held[usize::from(mask)][index].take() {
            self.wheres[usize::from(id)].register = None;
            if !self.node(id).is_leaf() && self.wheres[usize::from(id)].place.is_none() {
                let place = self.free_places.pop().unwrap_or_else(|| {
                    self.places += 1;
                    self.places - 1
                });
                self.wheres[usize::from(id)].place = Some(place);
                self.out.push(Inst::Spill(place, register, mask));
            }
        }
        Ok(register)
    }

    /// A value now is in a register that [`Allocator::take`] gave.
    fn put(&mut self, id: Id, register: u8) {
        let mask = self.is_mask(id);
        self.held[usize::from(mask)][Self::index(register, mask)] = Some(id);
        self.wheres[usize::from(id)].register = Some(register);
    }

    /// The register of a value.
    fn register(&mut self, id: Id, keep: &[Id]) -> Result<u8, Error> {
        let at = self.wheres[usize::from(id)];
        if let Some(register) = at.register {
            return Ok(register);
        }
        let mask = self.is_mask(id);
        let register = self.take(mask, keep)?;
        self.fill(register, id, mask);
        self.put(id, register);
        Ok(register)
    }

    /// Loads a value that is in no register.
    fn fill(&mut self, register: u8, id: Id, mask: bool) {
        let node = self.node(id);
        self.out.push(match self.wheres[usize::from(id)].place {
            _ if node.is_leaf() => Inst::Load(register, node),
            place => Inst::Reload(register, place.unwrap_or(0), mask),
        });
    }

    /// Whether a value is best read from memory by the current instruction, its last user.
    fn folds(&self, id: Id, memory: [bool; 2]) -> bool {
        self.wheres[usize::from(id)].register.is_none()
            && self.dies(id)
            && match (self.node(id), self.host) {
                (Node::Register(_) | Node::Literal(_), Host::Avx2) => memory[1],
                (Node::Register(_), Host::Avx512) => memory[1],
                (Node::Literal(_) | Node::Scalar(_), Host::Avx512) => memory[0],
                _ => false,
            }
    }

    /// A source in a register or in memory.
    fn place(&mut self, id: Id, memory: [bool; 2], keep: &[Id]) -> Result<Place, Error> {
        if self.folds(id, memory) {
            return Ok(Place::Leaf(self.node(id)));
        }
        Ok(Place::Register(self.register(id, keep)?))
    }

    /// Checks one or two values.
    fn check(&mut self, a: Id, b: Option<Id>) -> Result<(), Error> {
        let first = self.register(a, &[a])?;
        let second = match b {
            Some(b) if b != a => self.place(b, [true; 2], &[a, b])?,
            _ => Place::Register(first),
        };
        self.out.push(Inst::Check(first, second));
        self.used(a);
        b.into_iter().for_each(|b| self.used(b));
        Ok(())
    }

    fn operation(&mut self, id: Id, v: V, mut ids: [Id; 3], immediate: u8) -> Result<(), Error> {
        let row = v.row();
        let memory = row.memory;
        if row.commutes && self.folds(ids[0], memory) && !self.folds(ids[1], memory) {
            ids.swap(0, 1);
        }
        let sources = &ids[..row.sources];
        if v == V::Fma {
            return self.fma(id, ids);
        }
        let mut places = [Place::Register(0); 3];
        for (i, &source) in sources.iter().enumerate() {
            let can_fold = i + 1 == row.sources && !sources[..i].contains(&source);
            let memory = if can_fold { memory } else { [false; 2] };
            places[i] = self.place(source, memory, sources)?;
        }
        let first = |place: Place| if let Place::Register(register) = place { register } else { 0 };
        let (a, b, last) = match row.sources {
            1 => (0, 0, places[0]),
            2 => (first(places[0]), 0, places[1]),
            _ => (first(places[0]), first(places[1]), places[2]),
        };
        if v == V::Ternary {
            // The destination is the first source.
            let to = self.over(id, ids[0], &ids)?;
            self.used(ids[1]);
            self.used(ids[2]);
            self.out.push(Inst::Op(v, to, a, b, last, immediate));
            return Ok(());
        }
        sources.iter().for_each(|source| self.used(*source));
        let to = self.take(self.is_mask(id), &[])?;
        self.put(id, to);
        self.out.push(Inst::Op(v, to, a, b, last, immediate));
        Ok(())
    }

    /// A register for a result that begins as a copy of a source, which is used by that.
    fn over(&mut self, id: Id, source: Id, keep: &[Id]) -> Result<u8, Error> {
        let from = self.register(source, keep)?;
        let to = if self.dies(source) {
            self.used(source);
            from
        } else {
            let to = self.take(false, keep)?;
            self.out.push(Inst::Copy(to, from));
            self.used(source);
            to
        };
        self.put(id, to);
        Ok(to)
    }

    fn fma(&mut self, id: Id, [mut a, mut b, c]: [Id; 3]) -> Result<(), Error> {
        let ids = [a, b, c];
        let is_held = |this: &Self, id: Id| this.wheres[usize::from(id)].register.is_some();
        let distinct = a != b && a != c && b != c;
        let gives_way = |this: &Self, id: Id| is_held(this, id) && this.dies(id);
        // `a = a * b + c`
        if distinct && !gives_way(self, c) && (gives_way(self, a) || gives_way(self, b)) {
            if !gives_way(self, a) {
                std::mem::swap(&mut a, &mut b);
            }
            let to = self.register(a, &ids)?;
            let factor = self.register(b, &ids)?;
            let addend = self.place(c, [true; 2], &ids)?;
            ids.iter().for_each(|id| self.used(*id));
            self.put(id, to);
            self.out.push(Inst::FmaOver(to, factor, addend));
            return Ok(());
        }
        if self.folds(a, [true; 2]) && !self.folds(b, [true; 2]) {
            std::mem::swap(&mut a, &mut b);
        }
        let first = self.register(a, &ids)?;
        let second = if a == b || b == c {
            Place::Register(self.register(b, &ids)?)
        } else {
            self.place(b, [true; 2], &ids)?
        };
        let to = if !is_held(self, c) && self.dies(c) && distinct {
            let to = self.take(false, &ids)?;
            self.fill(to, c, false);
            self.used(c);
            self.put(id, to);
            to
        } else {
            self.over(id, c, &ids)?
        };
        self.used(a);
        self.used(b);
        self.out.push(Inst::Op(V::Fma, to, first, 0, second, 0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A generator of numbers.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }
    }

    fn random_region(host: Host, random: &mut Random) -> Region {
        let mut region = Region::new(host, false);
        let (mut numbers, mut masks) = (Vec::new(), Vec::new());
        for register in 0..6 {
            numbers.push(region.register(register));
        }
        numbers.push(region.scalar(3));
        numbers.push(region.literal(7));
        numbers.push(region.odd_lanes());
        masks.push(region.lanes(20));
        let count = 1 + random.below(120);
        for _ in 0..count {
            let ids = [0, 1, 2].map(|_| numbers[random.below(numbers.len())]);
            let mask = masks[random.below(masks.len())];
            match random.below(10) {
                0 => masks.push(region.op(V::Equal, ids, 0)),
                1 => masks.push(region.op(V::EitherMask, [mask, masks[random.below(masks.len())], 0], 0)),
                2 => masks.push(region.op(V::NotMask, [mask, 0, 0], 0)),
                3 => numbers.push(region.moves(V::Select, [mask, ids[0], ids[1]], 0)),
                4 if host == Host::Avx512 => numbers.push(region.op(V::Ternary, ids, 3)),
                5 => numbers.push(region.op(V::ShlImm, ids, 4)),
                6 => numbers.push(region.op(V::Sub, ids, 0)),
                7 => numbers.push(region.float(V::AddF32, ids, 0)),
                8 => numbers.push(region.op(V::MulEven, ids, 0)),
                _ => numbers.push(region.float(V::Fma, ids, 0)),
            }
        }
        for register in 0..6 {
            region.set_register(register, numbers[random.below(numbers.len())]);
        }
        region.set_mask(30, masks[random.below(masks.len())], false);
        region
    }

    /// What is in registers and on the stack, by the names of values.
    struct Machine<'r> {
        region: &'r Region,
        registers: HashMap<(bool, u8), Id>,
        stack: HashMap<(bool, u16), Id>,
    }

    impl Machine<'_> {
        fn is_mask(&self, v: V) -> bool {
            self.region.host == Host::Avx512 && v.is_mask()
        }

        fn get(&self, mask: bool, place: Place) -> Id {
            match place {
                Place::Register(register) => self.registers[&(mask, register)],
                Place::Leaf(node) => self.region.find(node).unwrap(),
            }
        }

        fn run(&mut self, inst: &Inst) {
            let (mask, to, id) = match *inst {
                Inst::Load(to, node) => {
                    let mask = self.region.host == Host::Avx512 && matches!(node, Node::Lanes(_));
                    (mask, to, self.region.find(node).unwrap())
                }
                Inst::Copy(to, from) => (false, to, self.registers[&(false, from)]),
                Inst::Spill(place, from, mask) => {
                    self.stack.insert((mask, place), self.registers[&(mask, from)]);
                    return;
                }
                Inst::Reload(to, place, mask) => (mask, to, self.stack[&(mask, place)]),
                Inst::Check(..) => return,
                Inst::FmaOver(to, factor, addend) => {
                    let ids = [
                        self.registers[&(false, to)],
                        self.registers[&(false, factor)],
                        self.get(false, addend),
                    ];
                    (false, to, self.named(V::Fma, ids, 0))
                }
                Inst::Op(v, to, a, b, last, immediate) => {
                    let of_masks = self.is_mask(v) && matches!(v, V::EitherMask | V::BothMasks | V::NotMask);
                    let last = self.get(of_masks, last);
                    let own = |register| self.registers[&(of_masks, register)];
                    let ids = match (v, v.row().sources) {
                        (V::Fma, _) => [own(a), last, own(to)],
                        (V::Ternary, _) => [own(to), own(b), last],
                        (V::Select, _) => {
                            [self.registers[&(self.region.host == Host::Avx512, a)], own(b), last]
                        }
                        (_, 1) => [last, 0, 0],
                        _ => [own(a), last, 0],
                    };
                    (self.is_mask(v), to, self.named(v, ids, immediate))
                }
            };
            self.registers.insert((mask, to), id);
        }

        /// The value of an operation; it must be one of the region.
        fn named(&self, v: V, ids: [Id; 3], immediate: u8) -> Id {
            let node = Node::Op(v, Region::in_order(v, ids), immediate);
            self.region.find(node).expect("a value of the region")
        }
    }

    /// Whatever is moved, each instruction finds its values.
    #[test]
    fn values_are_where_instructions_look() {
        let mut spilled = 0;
        for host in [Host::Avx2, Host::Avx512] {
            for seed in 0..2000 {
                let region = random_region(host, &mut Random(seed));
                let plan = allocate(&region).unwrap();
                spilled += plan.places;
                let mut machine =
                    Machine { region: &region, registers: HashMap::new(), stack: HashMap::new() };
                plan.body.iter().for_each(|inst| machine.run(inst));
                for ((register, id), (other, before, from)) in region.registers.iter().zip(&plan.results) {
                    before.iter().for_each(|inst| machine.run(inst));
                    assert_eq!((*register, *id), (*other, machine.registers[&(false, *from)]), "seed {seed}");
                }
                for (mask, (before, from)) in region.masks.iter().zip(&plan.masks) {
                    before.iter().for_each(|inst| machine.run(inst));
                    assert_eq!(mask.id, machine.registers[&(host == Host::Avx512, *from)], "seed {seed}");
                }
            }
        }
        assert!(spilled > 100);
    }
}
