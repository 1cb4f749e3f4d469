//! Blocks of steps, jumps between them, calls of handlers and exits.

use std::collections::BTreeMap;

use iced_x86::{Code, Register};
use vgpu_isa::scalar;

use crate::asm::{Asm, Label, WAVE, When, at, mask};
use crate::values::{Key, Values};
use crate::{Error, memory, pages, scalar as salu, vector};
use vgpu_exec::native::{Condition, Input, Kind, Layout, Source, Step};

/// What native code returns if the reference engine is to execute the step.
pub(crate) const RESUME: u8 = 0xff;
/// What native code returns if the time slice ended.
pub(crate) const SLICE: u8 = 0xfe;

/// The masks of the host that hold EXEC, sixteen lanes each, in code for waves with disabled lanes.
pub(crate) const EXEC_MASKS: u8 = 1;

/// The registers that native code uses and its callers expect unchanged. Their number is odd, so that calls
/// find the stack aligned.
const SAVED: [Register; 5] = [Register::RBX, Register::RBP, Register::R12, Register::R14, Register::R15];

/// A version of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Version {
    /// All lanes are enabled.
    Full,
    /// Any lanes are enabled.
    Masked,
}

/// An exit to the reference engine at a step.
struct Leave {
    label: Label,
    at: u32,
    /// Registers to write back, and their places.
    dirty: Vec<(u8, i32)>,
}

/// A handler that is called where a native form does not apply.
struct Slow {
    label: Label,
    /// Where native code continues.
    back: Label,
    at: u32,
    /// Registers to write back before, and their places.
    dirty: Vec<(u8, i32)>,
    /// What native code expects in registers of the host after it.
    after: Vec<(u8, Key)>,
    masked: bool,
}

/// See [`Compiler::slow_label`].
pub(crate) struct SlowLabel {
    pub(crate) label: Label,
    dirty: Vec<(u8, i32)>,
}

/// The state of a compilation.
pub(crate) struct Compiler<'a> {
    pub(crate) asm: Asm,
    pub(crate) values: Values,
    pub(crate) input: Input<'a>,
    pub(crate) version: Version,
    /// The number of the current step.
    pub(crate) at: u32,
    /// For each block: where its kind is chosen, and its versions.
    blocks: BTreeMap<u32, [Label; 3]>,
    leaves: Vec<Leave>,
    slow: Vec<Slow>,
    /// Subroutines that check ranges of memory, for reads and for writes.
    pub(crate) checks: [Option<Label>; 2],
    /// The end: the result is in RAX.
    end: Label,
    /// Exits after handlers, by step: the flow is in AL.
    exits: Vec<(Label, u32)>,
    /// Whether EXEC changed in the current block, so that `version` is not known at its end.
    pub(crate) exec_changed: bool,
}

/// Compiles a unit.
///
/// # Errors
/// If there is no memory for it, or it is too large.
pub(crate) fn compile(input: &Input<'_>) -> Result<crate::Code, Error> {
    let mut asm = Asm::new();
    let end = asm.label();
    let Layout { scalars, .. } = input.layout;
    let mut compiler = Compiler {
        values: Values::new(input.lanes, scalars),
        asm,
        input: *input,
        version: Version::Full,
        at: 0,
        blocks: BTreeMap::new(),
        leaves: Vec::new(),
        slow: Vec::new(),
        checks: [None; 2],
        end,
        exits: Vec::new(),
        exec_changed: false,
    };
    compiler.find_blocks();
    compiler.prologue();
    let starts: Vec<u32> = compiler.blocks.keys().copied().collect();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(input.steps.len() as u32);
        compiler.block(start, end);
    }
    compiler.finish()
}

impl Compiler<'_> {
    /// Blocks begin at entries, at targets of jumps, after jumps, and after what may wait or change EXEC.
    fn find_blocks(&mut self) {
        let mut starts: Vec<u32> = self.input.entries.to_vec();
        for (i, step) in self.input.steps.iter().enumerate() {
            let next = i as u32 + 1;
            match step.kind {
                Kind::Jump(_, to) => starts.extend([to, next]),
                Kind::Leaves => starts.push(next),
                Kind::Handler if !step.quiet => starts.push(next),
                Kind::Operation(_) if !is_native(step) && !step.quiet || writes_exec(step) => {
                    starts.push(next)
                }
                // Waves that stopped come back after it.
                Kind::Stop(_) => starts.push(next),
                Kind::Operation(_) | Kind::Note(_) | Kind::Handler => {}
            }
        }
        starts.push(0);
        for start in starts {
            if (start as usize) < self.input.steps.len() {
                let labels = [self.asm.label(), self.asm.label(), self.asm.label()];
                self.blocks.entry(start).or_insert(labels);
            }
        }
    }

    fn prologue(&mut self) {
        for register in SAVED {
            self.asm.one(Code::Push_r64, register);
        }
        self.asm.two(Code::Mov_r64_rm64, WAVE, Register::RDI);
        self.asm.load(Code::Mov_r64_rm64, crate::asm::FILE, at(WAVE, self.input.layout.file));
        self.asm.point_to_literals();
        self.asm.one(Code::Jmp_rm64, Register::RSI);
    }

    fn epilogue(&mut self) {
        self.asm.bare(Code::VEX_Vzeroupper);
        for register in SAVED.into_iter().rev() {
            self.asm.one(Code::Pop_r64, register);
        }
        self.asm.bare(Code::Retnq);
    }

    /// The number of groups of sixteen lanes.
    pub(crate) fn chunks(&self) -> u8 {
        (self.input.lanes / 16) as u8
    }

    /// The mask of enabled lanes of a chunk; 0 if all are enabled.
    pub(crate) fn exec(&self, chunk: u8) -> u8 {
        if self.version == Version::Masked { EXEC_MASKS + chunk } else { 0 }
    }

    /// A block in both versions.
    fn block(&mut self, start: u32, end: u32) {
        let [choose, full, masked] = self.blocks[&start];
        let has_vectors = self.input.steps[start as usize..end as usize].iter().any(is_vector);
        self.asm.place(choose);
        if has_vectors {
            let exec = at(WAVE, self.slot(scalar::EXEC));
            let code = if self.input.lanes == 64 { Code::Cmp_rm64_imm8 } else { Code::Cmp_rm32_imm8 };
            self.asm.memory_imm(code, exec, -1);
            self.asm.jump_if(When::NotEqual, masked);
            self.asm.place(full);
            self.version = Version::Full;
            self.steps(start, end, false);
            self.asm.place(masked);
            self.version = Version::Masked;
            self.load_masks();
            self.steps(start, end, false);
        } else {
            // Nothing depends on EXEC.
            self.asm.place(full);
            self.asm.place(masked);
            self.version = Version::Masked;
            self.steps(start, end, true);
        }
    }

    /// Loads EXEC into masks of the host.
    fn load_masks(&mut self) {
        let exec = self.slot(scalar::EXEC);
        for chunk in 0..self.chunks() {
            let from = at(WAVE, exec + 2 * i32::from(chunk));
            self.asm.load(Code::VEX_Kmovw_kr_km16, mask(EXEC_MASKS + chunk), from);
        }
    }

    /// The steps of a block in the current version. If EXEC is `unknown`, the next block asks for it.
    fn steps(&mut self, start: u32, end: u32, unknown: bool) {
        self.exec_changed = unknown;
        self.values.begin(self.uses(start, end));
        let mut continues = true;
        for at in start..end {
            self.at = at;
            self.values.step(at);
            let step = self.input.steps[at as usize];
            continues = self.step(&step);
        }
        if continues {
            self.values.write_back(&mut self.asm);
            self.go_on(end);
        }
    }

    /// For each vector register, the steps that use it.
    fn uses(&self, start: u32, end: u32) -> Vec<Vec<u32>> {
        let mut uses: Vec<Vec<u32>> = Vec::new();
        let mut note = |register: u16, at: u32| {
            let register = usize::from(register);
            if uses.len() <= register {
                uses.resize(register + 1, Vec::new());
            }
            if uses[register].last() != Some(&at) {
                uses[register].push(at);
            }
        };
        for at in start..end {
            let step = &self.input.steps[at as usize];
            for source in step.src {
                if let Source::Vector(register) = source {
                    note(register, at);
                    // A second register, if the source has one.
                    note(register + 1, at);
                }
            }
            if let Some(register) = step.dst {
                note(register, at);
            }
        }
        uses
    }

    /// Continues with the block at a step, at the end of a block, if it is not the next code anyway.
    fn go_on(&mut self, to: u32) {
        match self.target(to) {
            Some(label) => self.asm.jump(label),
            None => self.exit(RESUME, to),
        }
    }

    /// The label of a block at a step, for the end of the current block.
    fn target(&self, to: u32) -> Option<Label> {
        let [choose, full, masked] = *self.blocks.get(&to)?;
        Some(match (self.exec_changed, self.version) {
            (true, _) => choose,
            (false, Version::Full) => full,
            (false, Version::Masked) => masked,
        })
    }

    /// Leaves native code at a step.
    fn exit(&mut self, why: u8, at: u32) {
        self.asm.constant(Register::RAX, u64::from(at) << 32 | u64::from(why));
        self.asm.jump(self.end);
    }

    /// A label to jump to if the reference engine must execute the current step.
    pub(crate) fn leave(&mut self) -> Label {
        let label = self.asm.label();
        let dirty = self.values.dirty();
        self.leaves.push(Leave { label, at: self.at, dirty });
        label
    }

    /// The place of a scalar register.
    pub(crate) fn slot(&self, register: u8) -> i32 {
        self.input.layout.scalars + 4 * i32::from(register)
    }

    /// Compiles a step; returns whether the next one can follow.
    fn step(&mut self, step: &Step) -> bool {
        match step.kind {
            Kind::Operation(op) => {
                if !vector::emit(self, op, step)
                    && !salu::emit(self, op, step)
                    && !memory::emit(self, op, step)
                {
                    return self.handler(step, false);
                }
                true
            }
            Kind::Stop(spoils) => {
                self.stop(spoils);
                true
            }
            Kind::Note(bits) => {
                let since = at(WAVE, self.input.layout.since);
                self.asm.memory_imm(Code::Or_rm8_imm8, since, i32::from(bits));
                true
            }
            Kind::Handler => self.handler(step, false),
            Kind::Leaves => self.handler(step, true),
            Kind::Jump(condition, to) => {
                self.jump(condition, to);
                condition != Condition::Always
            }
        }
    }

    /// Calls the handler of the current step, and leaves if it returns anything but to continue.
    fn call(&mut self, step: &Step) {
        self.asm.bare(Code::VEX_Vzeroupper);
        self.asm.two(Code::Mov_r64_rm64, Register::RDI, WAVE);
        self.asm.constant(Register::RSI, step.code as u64);
        self.asm.constant(Register::RAX, self.input.layout.call as usize as u64);
        self.asm.one(Code::Call_rm64, Register::RAX);
        let exit = self.asm.label();
        self.exits.push((exit, self.at));
        self.asm.two(Code::Test_rm8_r8, Register::AL, Register::AL);
        self.asm.jump_if(When::NotEqual, exit);
    }

    /// Executes a step with its handler.
    fn handler(&mut self, step: &Step, leaves: bool) -> bool {
        self.values.write_back(&mut self.asm);
        self.values.forget();
        self.call(step);
        // Masks of the host do not survive calls.
        if !step.quiet {
            self.exec_changed = true;
        } else if self.version == Version::Masked {
            self.load_masks();
        }
        if leaves {
            let next = self.at + 1;
            self.exit(RESUME, next);
        }
        !leaves
    }

    /// Lets the others of the workgroup catch up, if the wave did any of this to LDS since a barrier.
    fn stop(&mut self, spoils: u8) {
        let Layout { since, together, settle, .. } = self.input.layout;
        self.values.write_back(&mut self.asm);
        let on = self.asm.label();
        self.asm.load(Code::Movzx_r32_rm8, Register::EAX, at(WAVE, since));
        for bits in [together, spoils] {
            self.asm.imm(Code::Test_rm32_imm32, Register::EAX, bits.into());
            self.asm.jump_if(When::Equal, on);
        }
        self.asm.memory_imm(Code::Mov_rm8_imm8, at(WAVE, since), together.into());
        let step = self.at;
        self.exit(settle, step);
        self.asm.place(on);
    }

    /// A label to jump to if the handler must execute the current step, and the place at which native code
    /// continues. [`Compiler::slow`] completes it after the native form.
    pub(crate) fn slow_label(&mut self) -> SlowLabel {
        SlowLabel { label: self.asm.label(), dirty: self.values.dirty() }
    }

    /// Continues here after the handler, with what the registers of the host now hold.
    pub(crate) fn slow(&mut self, label: SlowLabel) {
        let back = self.asm.label();
        self.asm.place(back);
        self.slow.push(Slow {
            label: label.label,
            back,
            at: self.at,
            dirty: label.dirty,
            after: self.values.held(),
            masked: self.version == Version::Masked,
        });
    }

    /// A jump to another step of the unit.
    fn jump(&mut self, condition: Condition, to: u32) {
        self.values.write_back(&mut self.asm);
        let Some(target) = self.target(to) else {
            // Not a step of the unit; the reference engine reports it.
            let at = self.at;
            self.exit(RESUME, at);
            return;
        };
        let not_taken = self.asm.label();
        let when = self.test(condition);
        let backward = to <= self.at;
        match when {
            Some(when) if !backward => {
                self.asm.jump_if(when, target);
                return;
            }
            Some(when) => self.asm.jump_if(opposite(when), not_taken),
            None => {}
        }
        if backward {
            let budget = at(WAVE, self.input.layout.budget);
            self.asm.memory_imm(Code::Sub_rm32_imm8, budget, 1);
            let ended = self.asm.label();
            self.asm.jump_if(When::NotEqual, target);
            self.asm.place(ended);
            self.exit(SLICE, to);
        } else {
            self.asm.jump(target);
        }
        self.asm.place(not_taken);
    }

    /// Tests the condition of a jump; none if it always holds.
    fn test(&mut self, condition: Condition) -> Option<When> {
        let wide = self.input.lanes == 64;
        let zero = |compiler: &mut Self, register: u8| {
            let from = at(WAVE, compiler.slot(register));
            let code = if wide { Code::Cmp_rm64_imm8 } else { Code::Cmp_rm32_imm8 };
            compiler.asm.memory_imm(code, from, 0);
        };
        let scc = at(WAVE, self.input.layout.scc);
        Some(match condition {
            Condition::Always => return None,
            Condition::Scc0 | Condition::Scc1 => {
                self.asm.memory_imm(Code::Cmp_rm8_imm8, scc, 0);
                if condition == Condition::Scc0 { When::Equal } else { When::NotEqual }
            }
            Condition::VccZero | Condition::VccNonzero => {
                zero(self, scalar::VCC);
                if condition == Condition::VccZero { When::Equal } else { When::NotEqual }
            }
            Condition::ExecZero | Condition::ExecNonzero => {
                zero(self, scalar::EXEC);
                if condition == Condition::ExecZero { When::Equal } else { When::NotEqual }
            }
        })
    }

    fn slow_path(&mut self, slow: Slow) {
        self.asm.place(slow.label);
        for (slot, place) in slow.dirty {
            self.asm.store(at(crate::asm::FILE, place), slot, 0);
        }
        self.at = slow.at;
        self.call(&self.input.steps[slow.at as usize]);
        for (slot, key) in slow.after {
            self.values.load(&mut self.asm, slot, key);
        }
        if slow.masked {
            self.load_masks();
        }
        self.asm.jump(slow.back);
    }

    fn finish(mut self) -> Result<crate::Code, Error> {
        let end = self.end;
        for Leave { label, at: step, dirty } in std::mem::take(&mut self.leaves) {
            self.asm.place(label);
            for (slot, place) in dirty {
                self.asm.store(at(crate::asm::FILE, place), slot, 0);
            }
            self.exit(RESUME, step);
        }
        for slow in std::mem::take(&mut self.slow) {
            self.slow_path(slow);
        }
        memory::subroutines(&mut self);
        for (label, step) in std::mem::take(&mut self.exits) {
            self.asm.place(label);
            self.asm.two(Code::Movzx_r32_rm8, Register::EAX, Register::AL);
            self.asm.constant(Register::RDX, u64::from(step) << 32);
            self.asm.two(Code::Or_r64_rm64, Register::RAX, Register::RDX);
            self.asm.jump(end);
        }
        self.asm.place(end);
        self.epilogue();
        let mut starts = vec![0; self.input.steps.len()];
        for (step, [choose, ..]) in &self.blocks {
            let position = self.asm.position(*choose).ok_or(Error::Label)?;
            starts[*step as usize] = u32::try_from(position).map_err(|_| Error::TooLarge)?;
        }
        if self.values.is_broken() {
            return Err(Error::Registers);
        }
        let mut finished = self.asm.finish()?;
        let size = finished.code;
        let pages = pages::Pages::new(&mut finished)?;
        Ok(crate::Code { pages, starts, mode: self.input.mode, size })
    }
}

/// Whether a step works on lanes, so that its code depends on EXEC.
fn is_vector(step: &Step) -> bool {
    matches!(step.kind, Kind::Operation(op) if vector::is_native(op, step) || memory::is_native(op, step))
}

/// Whether a step has a native form.
fn is_native(step: &Step) -> bool {
    matches!(step.kind, Kind::Operation(op) if vector::is_native(op, step)
        || salu::is_native(op, step)
        || memory::is_native(op, step))
}

/// Whether an operation with a native form writes EXEC.
fn writes_exec(step: &Step) -> bool {
    let Kind::Operation(op) = step.kind else { return false };
    salu::writes_exec(op, step) || vector::writes_exec(op, step)
}

fn opposite(when: When) -> When {
    match when {
        When::Overflow => When::Overflow,
        When::Below => When::AboveOrEqual,
        When::AboveOrEqual => When::Below,
        When::Equal => When::NotEqual,
        When::NotEqual => When::Equal,
        When::BelowOrEqual => When::Above,
        When::Above => When::BelowOrEqual,
        When::Less => When::GreaterOrEqual,
        When::GreaterOrEqual => When::Less,
        When::LessOrEqual => When::Greater,
        When::Greater => When::LessOrEqual,
    }
}
