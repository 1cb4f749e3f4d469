//! Lowered code: units of reachable instructions, which are found and lowered when a wave first reaches them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use gpu_report::FaultKind;
use vgpu_isa::{Generation, Inst, Isa, Op, Operand, Registers};

use super::compiled::{self, Compiled, Left, What};
use super::lower::{self, Context};
use super::native::Compile;
use super::settle::{self, Settling};
use super::simd::opaque;
use super::wave::Row;
use super::{Code, Flow, Level, Unwatched, Watch, Wave, memory, valu};
use crate::WaveFault;

/// In [`Unit::memory`], for instructions without such a code. No unit has as many.
const NO_CODE: u32 = u32::MAX;

/// The maximum number of instructions of a function in one unit. A longer one continues in another unit.
const LONGEST: usize = 1 << 20;

/// The contents of an address.
#[derive(Clone, PartialEq, Debug)]
pub enum Fetched {
    /// An instruction.
    Inst(Inst),
    /// Bytes that are not an instruction of the generation.
    Illegal(Vec<u8>),
    /// The address is outside the code.
    Outside,
}

type Fetch = Box<dyn Fn(u64) -> Fetched + Send + Sync>;

/// Everything that is reachable from one address through direct jumps, lowered for one wave size.
#[derive(Debug)]
pub struct Unit {
    /// Lowered instructions. Every path ends in one that does not continue with the next.
    pub codes: Vec<Code>,
    /// The decoded instructions that they came from.
    pub insts: Vec<Inst>,
    /// The address of each decoded instruction.
    pub pcs: Vec<u64>,
    /// The registers of each decoded instruction, in code for observers.
    pub registers: Vec<Registers>,
    /// The index of the code that accesses memory, or [`NO_CODE`], for decoded instructions up to the last
    /// one that has such a code, in code for observers.
    memory: Vec<u32>,
    /// Constants of vector instructions, each repeated sixteen times.
    pub pool: Pool,
    /// The index in `codes` of each address.
    index: HashMap<u64, u32>,
    form: Form,
    /// There is no code at its start address.
    outside: bool,
    /// How often waves have entered it, until it is compiled.
    pub(super) entered: AtomicU32,
    /// Its native code; none if it could not be compiled.
    pub(super) compiled: OnceLock<Option<Compiled>>,
}

/// MODE bits of gfx9: vector registers are relative to M0; vector instructions are skipped.
pub(super) const INDEXED: u32 = 1 << 27;
pub(super) const SKIP: u32 = 1 << 28;
/// The MODE bits that determine the [`Form`].
pub const FORM_MODES: u32 = INDEXED | SKIP;

/// The form of lowered code. Some MODE bits change all vector instructions; waves then run different code, so
/// the normal case costs nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Form {
    /// Lanes of the wave, 32 or 64.
    pub lanes: u8,
    /// Every instruction has a code of its own, including hints, so that observers see it.
    pub watched: bool,
    /// gfx9: vector instructions determine their registers when they are executed.
    pub indexed: bool,
    /// gfx9: vector instructions do nothing.
    pub skips: bool,
}

impl Form {
    /// The initial form of code for waves with this many lanes.
    pub fn new(lanes: u8, watched: bool) -> Form {
        Form { lanes, watched, indexed: false, skips: false }
    }

    /// The form of code that a wave must run.
    fn of(wave: &Wave, program: &Program, watched: bool) -> Form {
        let asks = |bit| program.generation.is_cdna() && wave.mode & bit != 0;
        Form { indexed: asks(INDEXED), skips: asks(SKIP), ..Form::new(wave.lanes, watched) }
    }
}

/// An index in a unit's lowered code.
pub type Place = (Arc<Unit>, u32);

/// Sixteen lanes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Chunk([u32; 16]);

/// Constants; each has a row for its low half and one for its high half.
#[derive(Debug)]
pub struct Pool {
    rows: Vec<[Chunk; 2]>,
    index: HashMap<u64, u32>,
}

impl Default for Pool {
    fn default() -> Self {
        Pool::new()
    }
}

impl Pool {
    pub fn new() -> Self {
        Pool { rows: vec![[Chunk([0; 16]); 2]], index: HashMap::from([(0, 0)]) }
    }

    pub fn start(&self) -> *const u8 {
        self.rows.as_ptr().cast()
    }

    /// The row of a constant.
    pub fn row(&mut self, value: u64) -> Row {
        let next = self.rows.len() as u32;
        let index = *self.index.entry(value).or_insert(next);
        if index == next {
            self.rows.push([Chunk([value as u32; 16]), Chunk([(value >> 32) as u32; 16])]);
        }
        Row { offset: index * size_of::<[Chunk; 2]>() as u32, high: size_of::<Chunk>() as u16, ..Row::NONE }
    }
}

/// The code of a code object. It is lowered piece by piece as waves reach it.
pub struct Program {
    isa: Isa,
    generation: Generation,
    level: Level,
    fetch: Fetch,
    /// What makes native code of units, if they are compiled.
    compiler: Option<&'static dyn Compile>,
    /// How often waves enter a unit before it is compiled.
    pub(super) warm: u32,
    places: RwLock<HashMap<(u64, Form), Place>>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("Program")
            .field("isa", &self.isa)
            .field("level", &self.level)
            .field("places", &places.len())
            .finish_non_exhaustive()
    }
}

impl Program {
    /// The program in memory at the given addresses.
    ///
    /// # Safety
    /// The memory must stay mapped and unchanged while the program exists.
    pub unsafe fn in_memory(isa: Isa, text: Vec<Range<u64>>) -> Program {
        let fetch = move |pc: u64| {
            let Some(range) = text.iter().find(|range| range.contains(&pc)) else { return Fetched::Outside };
            // The longest instructions have 24 bytes.
            let size = (range.end - pc).min(24) as usize;
            // SAFETY: the bytes lie in the text, which the caller promised to keep.
            let bytes = unsafe { std::slice::from_raw_parts(pc as *const u8, size) };
            match lower::decode(isa, bytes) {
                Some(inst) => Fetched::Inst(inst),
                None => Fetched::Illegal(bytes[..bytes.len().min(8)].to_vec()),
            }
        };
        Program::new(isa, Level::detect(), Box::new(fetch))
    }

    /// A program whose instructions come from a function.
    pub fn new(isa: Isa, level: Level, fetch: Fetch) -> Program {
        Program {
            isa,
            generation: isa.generation(),
            level,
            fetch,
            compiler: None,
            warm: 0,
            places: RwLock::default(),
        }
    }

    /// The same program, of which `compiler` makes native code: of each unit, when so many waves have entered
    /// it. The reference engine runs everything else.
    #[must_use]
    pub fn compiled_by(self, compiler: &'static dyn Compile, warm: u32) -> Program {
        Program { compiler: Some(compiler), warm, ..self }
    }

    /// What makes native code of its units.
    pub(super) fn compiler(&self) -> Option<&'static dyn Compile> {
        self.compiler
    }

    /// Bytes of native code.
    pub fn native_bytes(&self) -> usize {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        let mut units: Vec<_> = places.values().map(|(unit, _)| unit).collect();
        units.sort_by_key(|unit| Arc::as_ptr(unit));
        units.dedup_by_key(|unit| Arc::as_ptr(unit));
        units.iter().filter_map(|unit| unit.compiled.get()?.as_ref()).map(Compiled::size).sum()
    }

    /// The text of the instruction at an address, for reports; empty if there is none.
    pub fn text_at(&self, pc: u64, lanes: u8) -> String {
        match (self.fetch)(pc) {
            Fetched::Inst(inst) => lower::text(&inst, self.isa, lanes),
            _ => String::new(),
        }
    }

    /// The position of an address in lowered code, which is built if needed.
    pub fn place(&self, pc: u64, form: Form) -> Place {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(&(pc, form)) {
            return place.clone();
        }
        drop(places);
        let unit = Arc::new(self.build(pc, form));
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        // Calls return to the instruction after them.
        for (inst, pc) in unit.insts.iter().zip(&unit.pcs) {
            if matches!(inst.op, Op::SSwappcB64 | Op::SCallB64) {
                let back = pc + u64::from(inst.size);
                if let Some(&index) = unit.index.get(&back) {
                    places.entry((back, form)).or_insert_with(|| (Arc::clone(&unit), index));
                }
            }
        }
        let index = unit.index.get(&pc).copied().unwrap_or(0);
        places.entry((pc, form)).or_insert((unit, index)).clone()
    }

    /// The instruction at an address. Skipped ones become `s_nop`, for observers too.
    fn fetch(&self, pc: u64, form: Form) -> Fetched {
        match (self.fetch)(pc) {
            Fetched::Inst(inst) if form.skips && inst.format.is_vector() => Fetched::Inst(Inst {
                op: Op::SNop,
                size: inst.size,
                src: [Operand::Imm(0), Operand::None, Operand::None, Operand::None],
                ..lower::no_inst()
            }),
            fetched => fetched,
        }
    }

    /// Everything that is reachable from `entry` through direct jumps, in the order in which it is lowered.
    fn reach(&self, entry: u64, form: Form) -> Reached {
        let mut reached = Reached { steps: Vec::new(), targets: HashSet::from([entry]) };
        let (mut seen, mut insts) = (HashSet::new(), 0);
        let mut todo = BTreeSet::from([entry]);
        while let Some(start) = todo.pop_first() {
            if seen.contains(&start) {
                continue;
            }
            let mut pc = start;
            loop {
                if !seen.insert(pc) {
                    reached.targets.insert(pc);
                    reached.steps.push((pc, Next::Seen));
                    break;
                }
                let fetched = if insts < LONGEST { Next::Here(self.fetch(pc, form)) } else { Next::TooLong };
                insts += 1;
                let inst = match &fetched {
                    Next::Here(Fetched::Inst(inst)) => *inst,
                    _ => {
                        reached.steps.push((pc, fetched));
                        break;
                    }
                };
                reached.steps.push((pc, fetched));
                let next = after(pc, &inst);
                if let Some(target) = direct_target(&inst, next) {
                    reached.targets.insert(target);
                    todo.insert(target);
                }
                if ends(&inst) {
                    break;
                }
                pc = next;
            }
        }
        reached
    }

    /// Lowers everything that is reachable from `entry` through direct jumps, for the reference engine.
    fn build(&self, entry: u64, form: Form) -> Unit {
        let (mut unit, _) = self.lowered(entry, form);
        if !form.watched {
            let lanes = usize::from(form.lanes);
            let context = Context { generation: self.generation, level: self.level, lanes };
            find_runs(&mut unit.codes);
            find_wide_additions(&mut unit.codes, &context);
        }
        unit
    }

    /// Whether loads into halves of registers clear the others.
    pub(super) fn has_register_ecc(&self) -> bool {
        self.generation.has_register_ecc()
    }

    /// Lowers everything that is reachable from `entry` through direct jumps, and says what each code is.
    pub(super) fn lowered(&self, entry: u64, form: Form) -> (Unit, Vec<What>) {
        let lanes = usize::from(form.lanes);
        let context = Context { generation: self.generation, level: self.level, lanes };
        let mut unit = Unit {
            codes: Vec::new(),
            insts: Vec::new(),
            pcs: Vec::new(),
            registers: Vec::new(),
            memory: Vec::new(),
            pool: Pool::new(),
            index: HashMap::new(),
            form,
            outside: false,
            entered: AtomicU32::new(0),
            compiled: OnceLock::new(),
        };
        let mut what = Vec::new();
        let mut jumps: Vec<(u32, u64)> = Vec::new();
        let Reached { steps, targets } = self.reach(entry, form);
        let mut settling = Settling::default();
        for (pc, next) in steps {
            let number = unit.insts.len() as u32;
            if !matches!(next, Next::Seen) {
                unit.index.insert(pc, unit.codes.len() as u32);
            }
            let inst = match next {
                Next::Here(Fetched::Inst(inst)) => inst,
                Next::Seen => {
                    jumps.push((unit.codes.len() as u32, pc));
                    unit.codes.push(lower::goto(number.saturating_sub(1)));
                    continue;
                }
                other => {
                    unit.codes.push(match other {
                        Next::Here(Fetched::Illegal(bytes)) => lower::illegal(&bytes, number),
                        Next::TooLong => lower::leave(pc, number),
                        _ => {
                            unit.outside |= pc == entry;
                            lower::outside(pc, number)
                        }
                    });
                    unit.note(lower::no_inst(), pc);
                    continue;
                }
            };
            unit.note(inst, pc);
            let around = settling.pass(&inst, targets.contains(&pc));
            if around.stop != 0 {
                unit.codes.push(settle::stop(around.stop, number));
                what.resize(unit.codes.len() - 1, What::Other);
                what.push(What::Stop);
            }
            what.resize(unit.codes.len(), What::Other);
            let here = unit.codes.len() as u32;
            if let Some(target) = direct_target(&inst, after(pc, &inst)) {
                jumps.push((here, target));
            }
            if form.indexed && inst.format.is_vector_arithmetic() {
                unit.codes.push(lower::indexed(&context, number));
                unit.registers.last_mut().into_iter().for_each(|registers| registers.indirect = true);
            } else {
                let executed = lower::lower(&inst, pc, number, &context, &mut unit.pool, &mut unit.codes);
                if form.watched && executed && memory::is_memory(inst.format) {
                    let end = unit.codes.len() as u32 - u32::from(memory::has_status(&inst));
                    unit.memory.resize(number as usize, NO_CODE);
                    unit.memory.push(end - 1);
                }
            }
            let parts = unit.codes.len() - what.len();
            what.extend((0..parts).map(|part| What::Part { part, parts }));
            if around.note != 0 {
                unit.codes.push(settle::note(around.note, number));
                what.push(What::Note);
            }
            if form.watched && unit.codes.len() == here as usize {
                unit.codes.push(lower::hint(number));
            }
        }
        for (code, target) in jumps {
            let index = unit.index.get(&target).copied().unwrap_or(0);
            unit.codes[code as usize].imm = i64::from(index);
        }
        what.resize(unit.codes.len(), What::Other);
        (unit, what)
    }
}

/// Code before it is lowered.
struct Reached {
    steps: Vec<(u64, Next)>,
    /// Addresses that waves reach other than from the preceding instruction.
    targets: HashSet<u64>,
}

/// What to lower next.
enum Next {
    /// The contents of the address.
    Here(Fetched),
    /// Nothing: the contents of the address have already been lowered.
    Seen,
    /// A jump to another unit, because this one is long enough.
    TooLong,
}

/// The address after an instruction.
fn after(pc: u64, inst: &Inst) -> u64 {
    pc.wrapping_add(u64::from(inst.size.max(4)))
}

impl Unit {
    /// The form of its code.
    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// The index of one of the unit's codes.
    fn index_of(&self, code: &Code) -> usize {
        (std::ptr::from_ref(code) as usize - self.codes.as_ptr() as usize) / size_of::<Code>()
    }

    /// The code of instruction `number` that accesses memory, in code for observers.
    pub(super) fn memory_code(&self, number: usize) -> Option<&Code> {
        self.codes.get(*self.memory.get(number)? as usize)
    }

    fn note(&mut self, inst: Inst, pc: u64) {
        if self.form.watched {
            self.registers.push(inst.registers(self.form.lanes));
        }
        self.insts.push(inst);
        self.pcs.push(pc);
    }
}

/// Counts, for each code, the following codes of the same kind.
fn find_runs(codes: &mut [Code]) {
    for at in (1..codes.len()).rev() {
        if std::ptr::fn_addr_eq(codes[at - 1].run, codes[at].run) && codes[at - 1].plain == codes[at].plain {
            codes[at - 1].more = codes[at].more.saturating_add(1);
        }
    }
}

/// Makes a single call execute both halves of a 64-bit addition. The second half stays in place for jumps to
/// it.
fn find_wide_additions(codes: &mut [Code], context: &Context) {
    for at in 1..codes.len() {
        if let Some(run) = valu::wide_add::handler(&codes[at - 1], &codes[at], context) {
            codes[at - 1].run = run;
            codes[at - 1].more = 1;
        }
    }
}

/// The target of a direct jump, if `inst` is one.
fn direct_target(inst: &Inst, next: u64) -> Option<u64> {
    let jumps = matches!(
        inst.op,
        Op::SBranch
            | Op::SCbranchScc0
            | Op::SCbranchScc1
            | Op::SCbranchVccz
            | Op::SCbranchVccnz
            | Op::SCbranchExecz
            | Op::SCbranchExecnz
            | Op::SCbranchCdbgsys
            | Op::SCbranchCdbguser
            | Op::SCbranchCdbgsysOrUser
            | Op::SCbranchCdbgsysAndUser
            | Op::SSubvectorLoopBegin
            | Op::SSubvectorLoopEnd
    );
    let offset = inst.src.iter().find_map(|src| match src {
        Operand::Imm(offset) => Some(i64::from(*offset)),
        _ => None,
    })?;
    jumps.then(|| next.wrapping_add_signed(offset * 4))
}

/// Whether execution never continues with the next instruction.
fn ends(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::SBranch
            | Op::SEndpgm
            | Op::SEndpgmSaved
            | Op::SEndpgmOrderedPsDone
            | Op::SSetpcB64
            | Op::SRfeB64
            | Op::SCodeEnd
    )
}

/// Moves a wave to an address. Returns false, and does not move it, if there is no code.
pub fn enter(wave: &mut Wave, program: &Program, pc: u64) -> bool {
    let (unit, index) = program.place(pc, Form::of(wave, program, wave.watched));
    let found = !unit.outside;
    if found {
        wave.unit = Some(unit);
        wave.next = index;
    }
    found
}

/// The address of a wave's current instruction: the one that failed, the one at which it `waits`, or
/// otherwise the next one.
pub fn location(wave: &Wave, waits: bool) -> u64 {
    let index = wave.next.wrapping_sub(u32::from(waits));
    let place = wave.unit.as_ref().and_then(|unit| {
        let code = unit.codes.get(index as usize)?;
        unit.pcs.get(code.inst as usize).copied()
    });
    place.unwrap_or(0)
}

/// [`run`] without observers. Unlike `run`, it is compiled in this crate, with the executor's settings
/// instead of the caller's.
///
/// # Safety
/// See [`run`].
pub unsafe fn run_unwatched(wave: &mut Wave, program: &Program) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { run(wave, program, &mut Unwatched) }
}

/// Runs a wave until it ends, faults, waits or has used up its time slice. `watch` is called once for every
/// instruction, however many codes it became.
///
/// # Safety
/// The wave must have been set up for this program by [`enter`], with a register file of its size: 256
/// registers, another 256 if the generation has ACC registers, and slack for tuples that start at the last
/// register.
pub unsafe fn run<W: Watch>(wave: &mut Wave, program: &Program, watch: &mut W) -> Flow {
    wave.budget = wave.slice;
    let compiles = !W::ON && program.compiler.is_some();
    loop {
        let form = Form::of(wave, program, W::ON);
        let Some(unit) = wave.unit.as_ref().filter(|unit| unit.form == form).map(Arc::as_ptr) else {
            return wave.fail(FaultKind::Internal { what: "a wave was run before it was set up".to_owned() });
        };
        // SAFETY: the wave keeps the unit alive. No handler changes `wave.unit`; only `enter` below does,
        // after the last use. Counting references here would make all threads write to one cache line.
        let unit = unsafe { &*unit };
        let codes = unit.codes.as_slice();
        wave.set_bases(&unit.pool);
        let mut next = wave.next as usize;
        if next >= codes.len() {
            return wave.fail(FaultKind::Internal { what: "a wave left its code".to_owned() });
        }
        // SAFETY: the wave was set up for the unit, and `next` is in range.
        let mut left = if compiles { unsafe { compiled::run(unit, wave, program, next) } } else { None };
        // SAFETY: in range, as has just been seen.
        let mut code = unsafe { codes.as_ptr().add(next) };
        loop {
            // The next flow that is not to the next code, and the code that returned it.
            let flow = match left.take() {
                None => {
                    // SAFETY: `code` is in range; every path through a unit ends in an instruction that does
                    // not return `Next`, and jumps were resolved to indices in range. The caller's promise.
                    let (flow, this) = match unsafe { interpret(wave, unit, code, watch) } {
                        Ok(stopped) => stopped,
                        Err((at, fault)) => return stop(wave, at, fault),
                    };
                    next = unit.index_of(this);
                    flow
                }
                Some(Left::Resume(at)) => {
                    // SAFETY: a code of the unit.
                    code = unsafe { codes.as_ptr().add(at) };
                    continue;
                }
                Some(Left::Slice(at)) => {
                    wave.next = at as u32;
                    return Flow::Yield;
                }
                Some(Left::Flow(flow, at)) => {
                    next = at;
                    flow
                }
            };
            match flow {
                // Neither engine returns these.
                Flow::Next | Flow::Run => {}
                Flow::Jump => {
                    let to = wave.next as usize;
                    if to <= next {
                        wave.budget -= 1;
                        if wave.budget == 0 {
                            return Flow::Yield;
                        }
                    }
                    if compiles {
                        // SAFETY: as above.
                        left = unsafe { compiled::run(unit, wave, program, to) };
                    }
                    // SAFETY: as above.
                    code = unsafe { codes.as_ptr().add(to) };
                }
                Flow::Leave => {
                    wave.next = next as u32;
                    if !enter(wave, program, wave.target) {
                        return wave.fail(FaultKind::BadJump { target: wave.target });
                    }
                    wave.budget -= 1;
                    if wave.budget == 0 {
                        return Flow::Yield;
                    }
                    break;
                }
                Flow::Fault => {
                    wave.next = next as u32;
                    return Flow::Fault;
                }
                Flow::Retry => {
                    wave.next = next as u32;
                    return Flow::Yield;
                }
                flow @ (Flow::Barrier | Flow::Yield | Flow::Settle | Flow::End) => {
                    wave.next = next as u32 + u32::from(flow != Flow::End);
                    return flow;
                }
            }
        }
    }
}

/// Runs handlers until one returns another flow than to the next code; returns that and its code. The error
/// is what an observer rejects, and where.
///
/// # Safety
/// As for [`run`]; the code is one of the unit that the wave is in.
#[inline(always)]
unsafe fn interpret<'a, W: Watch>(
    wave: &mut Wave,
    unit: &'a Unit,
    mut code: *const Code,
    watch: &mut W,
) -> Result<(Flow, &'a Code), (usize, Box<WaveFault>)> {
    // Whether the previous code belongs to the same instruction.
    let mut inside = false;
    loop {
        // SAFETY: the caller's promise, and see `run`.
        let this = unsafe { &*code };
        // Observers do not see codes that belong to no instruction.
        let heard = W::ON && this.sdst != Code::ASIDE;
        if heard
            && !inside
            && let Err(fault) = watch.before(wave, unit, this)
        {
            return Err((unit.index_of(this), fault));
        }
        // SAFETY: the code was lowered for this CPU and the wave's size.
        let flow = unsafe { (this.run)(wave, this) };
        if heard {
            let next = unit.index_of(this);
            inside = matches!(flow, Flow::Next | Flow::Run)
                && unit.codes.get(next + 1).is_some_and(|after| after.inst == this.inst);
            if !inside
                && !matches!(flow, Flow::Fault | Flow::Retry)
                && let Err(fault) = watch.after(wave, unit, this)
            {
                return Err((next, fault));
            }
        }
        // Nearly all instructions continue with the next one. As a separate branch, this is predicted, and
        // the next handler is found without waiting for this one's result. Together with the others in one
        // `match`, it would be a jump table.
        if flow == Flow::Next {
            // SAFETY: as above.
            code = unsafe { code.add(1) };
            continue;
        }
        if opaque(flow as usize) == Flow::Run as usize {
            // SAFETY: as above; so many follow.
            code = unsafe { code.add(1 + usize::from(this.more)) };
            continue;
        }
        return Ok((flow, this));
    }
}

/// Stops a wave at an instruction that an observer rejected.
#[cold]
fn stop(wave: &mut Wave, at: usize, fault: Box<WaveFault>) -> Flow {
    wave.next = at as u32;
    wave.fault = Some(fault);
    Flow::Fault
}
