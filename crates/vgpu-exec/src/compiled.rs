//! Native code of units: when they are compiled, and what the compiler is told about lowered code.

use std::mem::offset_of;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SendError, Sender, channel};
use std::sync::{Arc, OnceLock};

use vgpu_isa::{Inst, Op, Register, scalar};

use super::access::RANGES;
use super::native::{Compile, Condition, Exit, Input, Kind, Layout, Native, Ranges, Source, Step, Why};
use super::program::{Program, Unit};
use super::settle::Since;
use super::valu::INVERT;
use super::{Access, Code, Flow, Src, Wave, memory};

/// What a code of a unit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// One of the codes of an instruction.
    Part { part: usize, parts: usize },
    /// A code that records what the wave has done to LDS.
    Note,
    /// A code at which the wave stops for others if it has done something to LDS.
    Stop,
    /// Anything else.
    Other,
}

/// How native code was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Left {
    /// The code at an index returned this.
    Flow(Flow, usize),
    /// The code at an index is next, and not yet executed.
    Resume(usize),
    /// The time slice ended before the code at an index.
    Slice(usize),
}

/// The rounding and denormal fields of MODE, and FP16_OVFL, in nearly all code.
const USUAL: u32 = 0xf0;
const FIELDS: u32 = 0xff | 1 << 23;

/// A unit's native code.
#[derive(Debug)]
pub(super) struct Compiled {
    native: Box<dyn Native>,
    /// The codes whose handlers it calls. They have the indices of the unit's codes.
    _codes: Box<[Code]>,
}

impl Compiled {
    /// Bytes of native code.
    pub(super) fn size(&self) -> usize {
        self.native.size()
    }
}

/// Runs a wave in native code from a code of its unit on, if there is any.
///
/// # Safety
/// The wave must have been set up for the unit, and the index be one of its codes.
#[inline]
pub(super) unsafe fn run(unit: &Unit, wave: &mut Wave, program: &Program, at: usize) -> Option<Left> {
    let compiled = of(unit, wave, program)?;
    if !compiled.native.enters(at, wave.mode) {
        return None;
    }
    // SAFETY: the caller's promise; the unit was compiled for waves like this one.
    let Exit { at, why } = unsafe { compiled.native.run(std::ptr::from_mut(wave).cast(), at) };
    let at = at as usize;
    Some(match why {
        Why::Resume => Left::Resume(at),
        Why::Slice => Left::Slice(at),
        Why::Handler(number) => Left::Flow(flow(number), at),
    })
}

/// The unit's native code. When a number of waves have entered a unit, it is given to the compiler's thread,
/// for the MODE of the last; handlers execute it until native code is there. If that number is zero, the
/// first wave waits for native code.
#[inline]
fn of<'a>(unit: &'a Unit, wave: &Wave, program: &Program) -> Option<&'a Compiled> {
    if let Some(compiled) = unit.compiled.get() {
        return compiled.as_ref();
    }
    // Native code rounds to nearest, and keeps subnormal numbers and infinities.
    if wave.mode & FIELDS != USUAL {
        return None;
    }
    let entered = unit.entered.fetch_add(1, Ordering::Relaxed);
    if entered != program.warm && program.warm != 0 {
        return None;
    }
    begin(unit, wave, program);
    unit.compiled.get()?.as_ref()
}

/// Has a unit compiled.
#[cold]
fn begin(unit: &Unit, wave: &Wave, program: &Program) {
    if program.warm == 0 {
        unit.compiled.get_or_init(|| Described::new(unit, wave, program)?.compile());
    } else if let (Some(described), Some(unit)) = (Described::new(unit, wave, program), &wave.unit) {
        compile_later(Arc::clone(unit), described);
    }
}

/// A unit and its description.
type Job = (Arc<Unit>, Described);

/// Compiles a unit on the thread for that, or here if there is none.
fn compile_later(unit: Arc<Unit>, described: Described) {
    static QUEUE: OnceLock<Option<Sender<Job>>> = OnceLock::new();
    fn compile((unit, described): Job) {
        // Nobody else compiles it.
        let _ = unit.compiled.set(described.compile());
    }
    let queue = QUEUE.get_or_init(|| {
        let (queue, jobs) = channel();
        let thread = std::thread::Builder::new().name("vgpu-compiler".into());
        thread.spawn(move || jobs.into_iter().for_each(compile)).ok().map(|_| queue)
    });
    let job = (unit, described);
    let refused = match queue {
        Some(queue) => queue.send(job).err().map(|SendError(job)| job),
        None => Some(job),
    };
    if let Some(job) = refused {
        compile(job);
    }
}

/// What the compiler is told about a unit.
struct Described {
    compiler: &'static dyn Compile,
    /// Steps, which point to the codes.
    steps: Vec<Step>,
    codes: Box<[Code]>,
    entries: Vec<u32>,
    lanes: usize,
    mode: u32,
    register_ecc: bool,
}

// SAFETY: the steps' pointers lead to its own codes, which are not changed.
unsafe impl Send for Described {}

impl Described {
    /// Describes a unit for waves like this one; none if they cannot have native code.
    fn new(unit: &Unit, wave: &Wave, program: &Program) -> Option<Described> {
        let form = unit.form();
        if form.indexed || form.skips {
            return None;
        }
        let entry = *unit.pcs.first()?;
        let (lowered, what) = program.lowered(entry, form);
        let codes = lowered.codes.into_boxed_slice();
        let mut entries = Vec::new();
        let mut steps = Vec::with_capacity(codes.len());
        for (i, (code, &what)) in codes.iter().zip(&what).enumerate() {
            let inst = lowered.insts.get(code.inst as usize);
            let kind = match (what, inst) {
                (What::Note, _) => Kind::Note(code.imm as u8),
                (What::Stop, _) => Kind::Stop(code.imm as u8),
                (What::Part { part, parts }, Some(inst)) => kind(inst, code, part, parts),
                _ => Kind::Handler,
            };
            if inst.is_some_and(|inst| matches!(inst.op, Op::SSwappcB64 | Op::SCallB64)) {
                entries.push(i as u32 + 1);
            }
            let part = inst.filter(|_| matches!(what, What::Part { .. }));
            let quiet = part.is_some_and(|inst| is_quiet(inst, form.lanes));
            let written = part.map_or([0; 2], |inst| written(inst, form.lanes));
            steps.push(Step { quiet, written, ..step(kind, code, form.lanes.into()) });
        }
        Some(Described {
            compiler: program.compiler()?,
            steps,
            codes,
            entries,
            lanes: form.lanes.into(),
            mode: wave.mode,
            register_ecc: program.has_register_ecc(),
        })
    }

    fn compile(self) -> Option<Compiled> {
        let native = self.compiler.compile(&Input {
            steps: &self.steps,
            entries: &self.entries,
            lanes: self.lanes,
            mode: self.mode,
            register_ecc: self.register_ecc,
            layout: LAYOUT,
        })?;
        Some(Compiled { native, _codes: self.codes })
    }
}

/// What one of the codes of an instruction is.
fn kind(inst: &Inst, code: &Code, part: usize, parts: usize) -> Kind {
    let condition = match inst.op {
        Op::SBranch => Some(Condition::Always),
        Op::SCbranchScc0 => Some(Condition::Scc0),
        Op::SCbranchScc1 => Some(Condition::Scc1),
        Op::SCbranchVccz => Some(Condition::VccZero),
        Op::SCbranchVccnz => Some(Condition::VccNonzero),
        Op::SCbranchExecz => Some(Condition::ExecZero),
        Op::SCbranchExecnz => Some(Condition::ExecNonzero),
        _ => None,
    };
    if let Some(condition) = condition {
        return Kind::Jump(condition, code.imm as u32);
    }
    let changes_mode = matches!(
        inst.op,
        Op::SSetregB32
            | Op::SSetregImm32B32
            | Op::SRoundMode
            | Op::SDenormMode
            | Op::SSetGprIdxOn
            | Op::SSetGprIdxOff
            | Op::SSetGprIdxMode
            | Op::SSetvskip
            | Op::SCbranchGFork
            | Op::SCbranchIFork
            | Op::SCbranchJoin
    );
    if changes_mode {
        return Kind::Leaves;
    }
    if inst.dpp.is_some() || inst.sdwa.is_some() {
        return Kind::Handler;
    }
    match (inst.dual, parts) {
        (Some((second, ..)), 2) => Kind::Operation(if part == 0 { inst.op } else { second }),
        (None, 1) => Kind::Operation(inst.op),
        _ => Kind::Handler,
    }
}

fn step(kind: Kind, code: &Code, lanes: u32) -> Step {
    let source = |src: Src| match src {
        Src::Vector(index) => Source::Vector((index / lanes) as u16),
        Src::Scalar(slot) => Source::Scalar(slot),
        Src::Const(value) => Source::Constant(value),
        Src::Temp(_) => Source::Other,
    };
    // The register of a vector result. Others are scalar slots, which have smaller numbers than any use of
    // it.
    let dst = match kind {
        Kind::Operation(op) if writes_vector(op) => u16::try_from(code.dst / lanes).ok(),
        _ => None,
    };
    Step {
        kind,
        src: code.src.map(source),
        dst,
        scalar: code.dst as u8 & 127,
        second: code.sdst & 127,
        mods: code.mods,
        inverted: code.imm as u8 & INVERT != 0,
        offset: code.imm as i32,
        offsets: match kind {
            Kind::Operation(op) => memory::pair_offsets(op, code),
            _ => [0; 2],
        },
        quiet: false,
        written: [0; 2],
        code: std::ptr::from_ref(code).cast(),
    }
}

/// Whether the handlers of an instruction leave EXEC and MODE alone, and the wave always continues after it.
fn is_quiet(inst: &Inst, lanes: u8) -> bool {
    let memory = memory::is_memory(inst.format);
    if !(memory || inst.format.is_vector_arithmetic() && inst.dpp.is_none()) || inst.op.is_compare_exec() {
        return false;
    }
    let registers = inst.registers(lanes);
    let writes_exec = |register| matches!(register, Register::Scalar(slot) if slot >= scalar::EXEC);
    !registers.indirect && !registers.written.iter().any(|span| span.registers().any(writes_exec))
}

/// The first vector register that an instruction may write, and the one after the last.
fn written(inst: &Inst, lanes: u8) -> [u16; 2] {
    let registers = inst.registers(lanes);
    if registers.indirect {
        return [0, u16::MAX];
    }
    let spans = registers.written.iter().filter_map(|span| match span.first {
        Register::Vector(first) => Some([first, first + u16::from(span.count)]),
        _ => None,
    });
    spans.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]).unwrap_or([0; 2])
}

/// Whether an operation's result is in vector registers.
fn writes_vector(op: Op) -> bool {
    let signature = op.signature();
    signature.dst.exists() && signature.dst.elem != vgpu_isa::Elem::Mask
}

/// The flow with a number.
fn flow(number: u8) -> Flow {
    const ALL: [Flow; 10] = [
        Flow::Next,
        Flow::Run,
        Flow::Jump,
        Flow::Leave,
        Flow::Barrier,
        Flow::Yield,
        Flow::Settle,
        Flow::Retry,
        Flow::End,
        Flow::Fault,
    ];
    ALL.get(usize::from(number)).copied().unwrap_or(Flow::Fault)
}

/// Calls a handler for native code.
extern "C" fn call(wave: *mut u8, code: *const u8) -> u8 {
    // SAFETY: native code passes the wave that it was given and the code of one of its steps; the code was
    // lowered for waves like it.
    unsafe {
        let code = &*code.cast::<Code>();
        (code.run)(&mut *wave.cast::<Wave>(), code) as u8
    }
}

const LAYOUT: Layout = Layout {
    scalars: offset_of!(Wave, sgpr) as i32,
    file: offset_of!(Wave, vgpr) as i32,
    scc: offset_of!(Wave, scc) as i32,
    budget: offset_of!(Wave, budget) as i32,
    since: offset_of!(Wave, since) as i32,
    together: Since::TOGETHER,
    settle: Flow::Settle as u8,
    stored: offset_of!(Wave, stored) as i32,
    lds: (offset_of!(Wave, access) + offset_of!(Access, lds)) as i32,
    lds_size: (offset_of!(Wave, access) + offset_of!(Access, lds_size)) as i32,
    ranges: Ranges { first: offset_of!(Wave, access) as i32 + RANGES.first, ..RANGES },
    call,
};
