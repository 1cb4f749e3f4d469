//! Which vector register of the host holds which value.

use crate::asm::{Arg, Asm, FILE, WAVE, at, broadcast};
use iced_x86::Code;

/// A value that a host register can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    /// Sixteen lanes of a vector register.
    Vector { register: u16, chunk: u8 },
    /// A constant in all lanes.
    Literal(u32),
    /// A scalar register in all lanes.
    Scalar(u8),
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: Option<Key>,
    /// Not yet in the register file.
    dirty: bool,
    /// In use by the current instruction.
    pinned: bool,
    /// When it was last used.
    used: u32,
}

/// How many vector registers the host has.
const COUNT: usize = 32;

/// The contents of the host's vector registers.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    slots: [Slot; COUNT],
    /// Lanes of the wave.
    lanes: usize,
    /// Offset of the scalar registers in the wave.
    scalars: i32,
    clock: u32,
    /// For each vector register, the steps of the block that read or write it, in order.
    uses: Vec<Vec<u32>>,
    /// The current step.
    step: u32,
    /// No value may be written to the register file by an eviction.
    frozen: bool,
    /// It happened nevertheless.
    broken: bool,
}

impl Values {
    pub(crate) fn new(lanes: usize, scalars: i32) -> Self {
        Values {
            slots: [Slot::default(); COUNT],
            lanes,
            scalars,
            clock: 0,
            uses: Vec::new(),
            step: 0,
            frozen: false,
            broken: false,
        }
    }

    /// Begins a block, in which the registers are used at these steps.
    pub(crate) fn begin(&mut self, uses: Vec<Vec<u32>>) {
        self.forget();
        self.uses = uses;
    }

    /// Begins a step.
    pub(crate) fn step(&mut self, step: u32) {
        self.step = step;
        self.unpin();
    }

    /// Ends the current instruction's use of registers.
    pub(crate) fn unpin(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.pinned = false);
    }

    /// Ends the use of registers for one group of lanes, except of its results.
    pub(crate) fn unpin_except(&mut self, low: &[u8], high: &[u8]) {
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let number = number as u8;
            slot.pinned = low.contains(&number) || high.contains(&number);
        }
    }

    /// Forgets everything. What is dirty must have been written.
    pub(crate) fn forget(&mut self) {
        self.slots = [Slot::default(); COUNT];
    }

    /// Forgets a scalar register that was written.
    pub(crate) fn forget_scalars(&mut self, which: impl Fn(u8) -> bool) {
        for slot in &mut self.slots {
            if matches!(slot.key, Some(Key::Scalar(register)) if which(register)) {
                *slot = Slot { pinned: slot.pinned, ..Slot::default() };
            }
        }
    }

    /// The place of a vector register's lanes in the register file.
    pub(crate) fn place(&self, register: u16, chunk: u8) -> i32 {
        (usize::from(register) * self.lanes * 4 + usize::from(chunk) * 64) as i32
    }

    fn find(&self, key: Key) -> Option<u8> {
        self.slots.iter().position(|slot| slot.key == Some(key)).map(|slot| slot as u8)
    }

    /// The next step at which a value is used.
    fn next_use(&self, key: Key) -> u32 {
        match key {
            Key::Vector { register, .. } => {
                let uses = self.uses.get(usize::from(register)).map_or(&[][..], Vec::as_slice);
                uses.get(uses.partition_point(|step| *step <= self.step)).copied().unwrap_or(u32::MAX)
            }
            // Broadcasts from memory are cheap.
            Key::Literal(_) | Key::Scalar(_) => self.step.saturating_add(6),
        }
    }

    fn touch(&mut self, slot: u8) {
        self.clock += 1;
        let slot = &mut self.slots[usize::from(slot)];
        slot.used = self.clock;
        slot.pinned = true;
    }

    /// A host register without contents, for the current instruction.
    pub(crate) fn temp(&mut self, asm: &mut Asm) -> u8 {
        let free = self.slots.iter().position(|slot| slot.key.is_none() && !slot.pinned);
        let slot = free.unwrap_or_else(|| {
            let candidates = (0..COUNT).filter(|slot| !self.slots[*slot].pinned);
            // The value that is needed last; among those that are not needed, one that need not be written.
            let worst = candidates.max_by_key(|&slot| {
                let slot = &self.slots[slot];
                let next = slot.key.map_or(u32::MAX, |key| self.next_use(key));
                (next.saturating_sub(u32::from(slot.dirty) * 2), u32::MAX - slot.used)
            });
            worst.unwrap_or(COUNT - 1)
        });
        self.evict(asm, slot);
        self.slots[slot] = Slot { pinned: true, ..Slot::default() };
        slot as u8
    }

    /// Frees so many registers, and from now on keeps every value that is not in the register file where it
    /// is.
    pub(crate) fn freeze(&mut self, asm: &mut Asm, count: usize) {
        let mut free = Vec::new();
        while free.len() < count.min(COUNT) {
            free.push(self.temp(asm));
        }
        for slot in free {
            self.slots[usize::from(slot)] = Slot::default();
        }
        self.frozen = true;
    }

    /// Ends what [`Values::freeze`] began.
    pub(crate) fn thaw(&mut self) {
        self.frozen = false;
    }

    /// Whether a value was moved that had to stay.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    fn evict(&mut self, asm: &mut Asm, slot: usize) {
        self.broken |= self.frozen && self.slots[slot].dirty;
        if let Slot { key: Some(Key::Vector { register, chunk }), dirty: true, .. } = self.slots[slot] {
            asm.store(at(FILE, self.place(register, chunk)), slot as u8, 0);
        }
    }

    /// A value in a host register.
    pub(crate) fn register(&mut self, asm: &mut Asm, key: Key) -> u8 {
        if let Some(slot) = self.find(key) {
            self.touch(slot);
            return slot;
        }
        let slot = self.temp(asm);
        self.load(asm, slot, key);
        self.slots[usize::from(slot)].key = Some(key);
        self.touch(slot);
        slot
    }

    /// Loads a value, which the register file has, into a host register.
    pub(crate) fn load(&self, asm: &mut Asm, slot: u8, key: Key) {
        match key {
            Key::Vector { register, chunk } => {
                let from = Arg::Memory(at(FILE, self.place(register, chunk)));
                asm.vector2(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, slot, from, 0);
            }
            Key::Literal(0) => {
                asm.vector3(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, slot, slot, Arg::Zmm(slot), 0);
            }
            Key::Literal(value) => {
                let from = asm.literal(value);
                asm.vector2(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, slot, Arg::Memory(plain(from)), 0);
            }
            Key::Scalar(register) => {
                let from = at(WAVE, self.scalars + 4 * i32::from(register));
                asm.vector2(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, slot, Arg::Memory(from), 0);
            }
        }
    }

    /// Everything that host registers hold.
    pub(crate) fn held(&self) -> Vec<(u8, Key)> {
        let all = self.slots.iter().enumerate();
        all.filter_map(|(number, slot)| Some((number as u8, slot.key?))).collect()
    }

    /// A value in a host register or in memory.
    pub(crate) fn arg(&mut self, asm: &mut Asm, key: Key) -> Arg {
        if let Some(slot) = self.find(key) {
            self.touch(slot);
            return Arg::Zmm(slot);
        }
        match key {
            // What is used again soon is worth a register.
            Key::Vector { .. } if self.next_use(key) != u32::MAX => Arg::Zmm(self.register(asm, key)),
            Key::Vector { register, chunk } => Arg::Memory(at(FILE, self.place(register, chunk))),
            Key::Literal(value) => Arg::Memory(asm.literal(value)),
            Key::Scalar(register) => Arg::Memory(broadcast(WAVE, self.scalars + 4 * i32::from(register))),
        }
    }

    /// A vector register's lanes are now in a host register, which [`Values::temp`] gave.
    pub(crate) fn set(&mut self, register: u16, chunk: u8, slot: u8) {
        let key = Key::Vector { register, chunk };
        if let Some(old) = self.find(key) {
            self.slots[usize::from(old)] = Slot::default();
        }
        self.clock += 1;
        self.slots[usize::from(slot)] = Slot { key: Some(key), dirty: true, pinned: true, used: self.clock };
    }

    /// Marks a value that was changed in its host register.
    pub(crate) fn changed(&mut self, slot: u8) {
        self.slots[usize::from(slot)].dirty = true;
    }

    /// The values that are not in the register file.
    pub(crate) fn dirty(&self) -> Vec<(u8, i32)> {
        let mut all = Vec::new();
        for (number, slot) in self.slots.iter().enumerate() {
            if let Slot { key: Some(Key::Vector { register, chunk }), dirty: true, .. } = slot {
                all.push((number as u8, self.place(*register, *chunk)));
            }
        }
        all
    }

    /// Writes what is not in the register file.
    pub(crate) fn write_back(&mut self, asm: &mut Asm) {
        for (slot, place) in self.dirty() {
            asm.store(at(FILE, place), slot, 0);
            self.slots[usize::from(slot)].dirty = false;
        }
    }
}

/// The memory of a broadcast, for instructions that broadcast by themselves.
fn plain(mut memory: iced_x86::MemoryOperand) -> iced_x86::MemoryOperand {
    memory.is_broadcast = false;
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that have never been written stay where they are while they may not move, and others make room.
    #[test]
    fn frozen_values_do_not_move() {
        let mut asm = Asm::new();
        let mut values = Values::new(32, 0);
        values.begin(vec![vec![9]; 40]);
        for register in 0..40 {
            let slot = values.temp(&mut asm);
            values.set(register, 0, slot);
            values.unpin();
        }
        assert_eq!(values.dirty().len(), COUNT);
        values.freeze(&mut asm, 6);
        let before = values.dirty();
        assert_eq!(before.len(), COUNT - 6);
        for _ in 0..6 {
            values.temp(&mut asm);
        }
        assert_eq!(values.dirty(), before);
        assert!(!values.is_broken());
        values.temp(&mut asm);
        assert!(values.is_broken());
    }

    /// The value that is needed last gives way.
    #[test]
    fn what_is_needed_last_gives_way() {
        let mut asm = Asm::new();
        let mut values = Values::new(32, 0);
        let uses = (0..33).map(|register| vec![if register == 7 { 90 } else { 5 }]).collect();
        values.begin(uses);
        values.step(1);
        let slots: Vec<u8> = (0..COUNT as u16)
            .map(|register| values.register(&mut asm, Key::Vector { register, chunk: 0 }))
            .collect();
        values.step(2);
        assert_eq!(values.temp(&mut asm), slots[7]);
        assert!(matches!(values.arg(&mut asm, Key::Vector { register: 8, chunk: 0 }), Arg::Zmm(_)));
    }
}
