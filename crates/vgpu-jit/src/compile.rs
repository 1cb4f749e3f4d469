//! Blocks of steps, jumps between them, calls of handlers and exits.

use std::collections::BTreeMap;

use iced_x86::{Code, Register};
use vgpu_isa::scalar;

use crate::asm::{Asm, FILE, Label, WAVE, When, at};
use crate::dump::{self, Listing};
use crate::functions::Functions;
use crate::host::Host;
use crate::region::{Region, slots};
use crate::shapes::Shapes;
use crate::{Error, constant, emit, lanes, matrix, memory, pages, scalar as salu, vector};
use vgpu_exec::native::{Condition, Input, Kind, Layout, Source, Step};

/// What native code returns if the reference engine is to execute the step.
pub(crate) const RESUME: u8 = 0xff;
/// What native code returns if the time slice ended.
pub(crate) const SLICE: u8 = 0xfe;

/// The registers that native code uses and its callers expect unchanged.
const SAVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];
/// Bytes of the stack for values, besides records of shapes. With the saved registers and the return address,
/// calls find the stack aligned.
const FRAME: i32 = emit::STACK + 8;

/// A version of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Version {
    /// All lanes are enabled.
    Full,
    /// Any lanes are enabled.
    Masked,
}

/// A handler that is called where a native form does not apply.
struct Slow {
    label: Label,
    /// Where native code continues.
    back: Label,
    at: u32,
}

/// The state of a compilation.
pub(crate) struct Compiler<'a> {
    pub(crate) asm: Asm,
    pub(crate) input: Input<'a>,
    pub(crate) version: Version,
    /// The number of the current step.
    pub(crate) at: u32,
    /// For each block: where its kind is chosen, and its versions.
    blocks: BTreeMap<u32, [Label; 3]>,
    /// Vector instructions that have not been emitted yet.
    region: Region,
    pub(crate) redone: Vec<emit::Redone>,
    slow: Vec<Slow>,
    /// Subroutines that check ranges of memory, for reads and for writes.
    pub(crate) checks: [Option<Label>; 2],
    /// Subroutines that multiply matrices.
    pub(crate) products: Vec<matrix::Subroutine>,
    /// The end: the result is in RAX.
    end: Label,
    /// Exits after handlers, by step: the flow is in AL.
    exits: Vec<(Label, u32)>,
    /// Whether EXEC changed in the current block, so that `version` is not known at its end.
    pub(crate) exec_changed: bool,
    listing: Listing,
    pub(crate) shapes: Shapes,
    pub(crate) others: Vec<memory::Other>,
    pub(crate) functions: Functions,
}

/// Compiles a unit.
///
/// # Errors
/// If there is no memory for it, or it is too large.
pub(crate) fn compile(input: &Input<'_>, host: Host) -> Result<crate::Code, Error> {
    let mut asm = Asm::new(host);
    let end = asm.label();
    let mut compiler = Compiler {
        asm,
        input: *input,
        version: Version::Full,
        at: 0,
        blocks: BTreeMap::new(),
        region: Region::new(host, input.lanes == 64),
        redone: Vec::new(),
        slow: Vec::new(),
        checks: [None; 2],
        products: Vec::new(),
        end,
        exits: Vec::new(),
        exec_changed: false,
        listing: Listing::new(),
        shapes: Shapes::default(),
        others: Vec::new(),
        functions: Functions::default(),
    };
    compiler.find_blocks();
    compiler.shapes = Shapes::new(input, compiler.blocks.keys().copied());
    compiler.prologue();
    let starts: Vec<u32> = compiler.blocks.keys().copied().collect();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(input.steps.len() as u32);
        compiler.block(start, end)?;
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
        self.asm.imm(Code::Sub_rm64_imm32, Register::RSP, FRAME + self.shapes.size());
        self.asm.two(Code::Mov_r64_rm64, WAVE, Register::RDI);
        self.asm.load(Code::Mov_r64_rm64, FILE, at(WAVE, self.input.layout.file));
        self.asm.point_to_literals();
        self.clear_records();
        self.asm.one(Code::Jmp_rm64, Register::RSI);
    }

    fn epilogue(&mut self) {
        self.asm.bare(Code::VEX_Vzeroupper);
        self.asm.imm(Code::Add_rm64_imm32, Register::RSP, FRAME + self.shapes.size());
        for register in SAVED.into_iter().rev() {
            self.asm.one(Code::Pop_r64, register);
        }
        self.asm.bare(Code::Retnq);
    }

    /// The number of groups of lanes that fill a register of the host.
    pub(crate) fn chunks(&self) -> u8 {
        (self.input.lanes / self.asm.host.lanes()) as u8
    }

    /// The place of a group of lanes in the register file.
    pub(crate) fn register_place(&self, register: u16, chunk: u8) -> i32 {
        let lanes = usize::from(register) * self.input.lanes + usize::from(chunk) * self.asm.host.lanes();
        4 * lanes as i32
    }

    /// A block in both versions.
    fn block(&mut self, start: u32, end: u32) -> Result<(), Error> {
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
            self.steps(start, end, false)?;
            self.asm.place(masked);
            self.version = Version::Masked;
            self.steps(start, end, false)
        } else {
            // Nothing depends on EXEC.
            self.asm.place(full);
            self.asm.place(masked);
            self.version = Version::Masked;
            self.steps(start, end, true)
        }
    }

    /// The steps of a block in the current version. If EXEC is `unknown`, the next block asks for it.
    fn steps(&mut self, start: u32, end: u32, unknown: bool) -> Result<(), Error> {
        self.exec_changed = unknown;
        let version = self.version;
        self.list(|| format!("block {start}, {version:?}"));
        let mut continues = true;
        for at in start..end {
            self.at = at;
            let step = self.input.steps[at as usize];
            continues = self.step(&step)?;
            self.remove_records(&step);
        }
        self.end_region()?;
        if continues {
            self.go_on(end);
        }
        Ok(())
    }

    /// Emits the vector instructions before the current step.
    fn end_region(&mut self) -> Result<(), Error> {
        if self.region.is_empty() {
            return Ok(());
        }
        let region = std::mem::replace(&mut self.region, Region::new(self.asm.host, self.input.lanes == 64));
        self.list(|| "a region:".into());
        for &step in &region.steps {
            self.list_step(step);
        }
        emit::emit(self, &region)
    }

    /// Says in the listing what follows.
    fn list(&mut self, line: impl FnOnce() -> String) {
        self.listing.add(self.asm.size(), line);
    }

    fn list_step(&mut self, step: u32) {
        let steps = self.input.steps;
        self.list(|| dump::line(step, &steps[step as usize]));
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

    /// The subroutine that checks a range of memory; see [`memory::subroutines`].
    pub(crate) fn check(&mut self, store: bool) -> Label {
        *self.checks[usize::from(store)].get_or_insert_with(|| self.asm.label())
    }

    /// The place of a scalar register.
    pub(crate) fn slot(&self, register: u8) -> i32 {
        self.input.layout.scalars + 4 * i32::from(register)
    }

    /// Compiles a step; returns whether the next one can follow.
    fn step(&mut self, step: &Step) -> Result<bool, Error> {
        if let Kind::Operation(op) = step.kind {
            if let Some(entry) = vector::find_for(op, step) {
                if !vector::fits(&self.region, &entry, step) {
                    self.end_region()?;
                }
                vector::build(&mut self.region, &entry, step);
                self.region.steps.push(self.at);
                return Ok(true);
            }
            if salu::is_native(op, step) {
                // It runs before the vector instructions, if these do not matter to it.
                let (reads, writes) = scalars(op, step);
                if self.region.conflicts(reads, writes) {
                    self.end_region()?;
                }
                self.list_step(self.at);
                salu::emit(self, op, step);
                return Ok(true);
            }
        }
        self.end_region()?;
        self.list_step(self.at);
        match step.kind {
            Kind::Operation(op) => Ok(memory::emit(self, op, step)
                || constant::emit(self, op, step)
                || lanes::emit(self, op, step)
                || matrix::emit(self, op, step)
                || self.handler(step, false)),
            Kind::Stop(spoils) => {
                self.stop(spoils);
                Ok(true)
            }
            Kind::Note(bits) => {
                let since = at(WAVE, self.input.layout.since);
                self.asm.memory_imm(Code::Or_rm8_imm8, since, i32::from(bits));
                Ok(true)
            }
            Kind::Handler => Ok(self.handler(step, false)),
            Kind::Leaves => Ok(self.handler(step, true)),
            Kind::Jump(condition, to) => {
                self.jump(condition, to);
                Ok(condition != Condition::Always)
            }
        }
    }

    /// Calls the handler of a step.
    pub(crate) fn call_handler(&mut self, step: u32) {
        let code = self.input.steps[step as usize].code as u64;
        self.asm.bare(Code::VEX_Vzeroupper);
        self.asm.two(Code::Mov_r64_rm64, Register::RDI, WAVE);
        self.asm.constant(Register::RSI, code);
        self.asm.constant(Register::RAX, self.input.layout.call as usize as u64);
        self.asm.one(Code::Call_rm64, Register::RAX);
    }

    /// Calls the handler of the current step, and leaves if it returns anything but to continue.
    fn call(&mut self) {
        self.call_handler(self.at);
        let exit = self.asm.label();
        self.exits.push((exit, self.at));
        self.asm.two(Code::Test_rm8_r8, Register::AL, Register::AL);
        self.asm.jump_if(When::NotEqual, exit);
    }

    /// Executes a step with its handler.
    fn handler(&mut self, step: &Step, leaves: bool) -> bool {
        self.call();
        self.exec_changed |= !step.quiet;
        if leaves {
            let next = self.at + 1;
            self.exit(RESUME, next);
        }
        !leaves
    }

    /// Lets the others of the workgroup catch up, if the wave did any of this to LDS since a barrier.
    fn stop(&mut self, spoils: u8) {
        let Layout { since, together, settle, .. } = self.input.layout;
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

    /// Continues here after the handler of the current step, which is called at the label.
    pub(crate) fn slow(&mut self, label: Label) {
        let back = self.asm.label();
        self.asm.place(back);
        self.slow.push(Slow { label, back, at: self.at });
    }

    /// A jump to another step of the unit.
    fn jump(&mut self, condition: Condition, to: u32) {
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

    fn finish(mut self) -> Result<crate::Code, Error> {
        let end = self.end;
        self.list(|| "loads of other shapes:".into());
        memory::others(&mut self);
        self.list(|| "handlers called out of line:".into());
        for Slow { label, back, at } in std::mem::take(&mut self.slow) {
            self.asm.place(label);
            self.at = at;
            self.list_step(at);
            self.call();
            self.asm.jump(back);
        }
        self.list(|| "regions with NaNs:".into());
        for redone in std::mem::take(&mut self.redone) {
            emit::redo(&mut self, &redone);
        }
        self.list(|| "subroutines and exits:".into());
        self.record_makers();
        self.emit_functions();
        memory::subroutines(&mut self);
        matrix::subroutines(&mut self);
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
        let host = self.asm.host;
        let mut finished = self.asm.finish()?;
        let size = finished.code;
        let pages = pages::Pages::new(&mut finished)?;
        let title = format!("{} steps, waves of {}, {host:?}", self.input.steps.len(), self.input.lanes);
        self.listing.write(&title, &finished.bytes[..size], pages.address(0));
        Ok(crate::Code { pages, starts, mode: self.input.mode, size })
    }
}

/// The scalar registers that a scalar operation may read and write.
fn scalars(op: vgpu_isa::Op, step: &Step) -> (u128, u128) {
    let mut reads = 0;
    for source in step.src {
        if let Source::Scalar(slot) = source {
            reads |= slots(slot, true);
        }
    }
    let exec = if salu::writes_exec(op, step) { slots(scalar::EXEC, true) } else { 0 };
    (reads | exec, slots(step.scalar, true) | exec)
}

/// Whether a step works on lanes, so that its code depends on EXEC.
fn is_vector(step: &Step) -> bool {
    matches!(step.kind, Kind::Operation(op) if vector::is_native(op, step)
        || memory::is_native(op, step)
        || lanes::is_native(op, step)
        || matrix::is_native(op, step))
}

/// Whether a step has a native form.
fn is_native(step: &Step) -> bool {
    matches!(step.kind, Kind::Operation(op) if vector::is_native(op, step)
        || salu::is_native(op, step)
        || memory::is_native(op, step)
        || constant::is_native(op, step))
}

/// Whether an operation with a native form writes EXEC.
fn writes_exec(step: &Step) -> bool {
    let Kind::Operation(op) = step.kind else { return false };
    salu::writes_exec(op, step) || vector::writes_exec(op, step)
}

fn opposite(when: When) -> When {
    match when {
        When::Overflow | When::Negative => when,
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
