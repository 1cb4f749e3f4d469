//! The memory accesses reported to observers, compared with the bytes that handlers touch.

use super::model;
use super::*;
use vgpu::exec::{Accesses, LaneAccess, Moved, is_known};
use vgpu::isa::Operand;
use vgpu::machine::{AccessKind, Space};
use vgpu::machine::{MemoryKind, Reader};

const GLOBAL: usize = 16 << 10;
const LDS: usize = 8 << 10;
/// Bytes of each lane.
const SCRATCH: usize = 4 << 10;
/// The initial value of all memory. In data, no byte has its highest bit set.
const FILL: u8 = 0xaa;

/// All memory that a wave can access, concatenated.
struct Memories {
    memory: Arc<Memory>,
    reader: Arc<Reader>,
    global: u64,
    lds: Vec<u64>,
    scratch: Vec<u64>,
    lanes: usize,
}

impl Memories {
    fn new(lanes: usize) -> Memories {
        let memory = Arc::new(Memory::new());
        let global = memory.allocate(GLOBAL as u64, 4096, MemoryKind::Fine, None).expect("memory");
        let (lds, scratch) = (vec![0; LDS / 8], vec![0; SCRATCH * lanes / 8]);
        Memories { reader: memory.reader(), memory, global, lds, scratch, lanes }
    }

    /// A wave that can access this memory, and faults beyond it.
    fn bench(&mut self) -> Bench {
        let mut bench = Bench::new(self.lanes);
        bench.wave.access = Access::new(Arc::clone(&self.memory));
        bench.wave.access.begin_slice(self.memory.enter(&self.reader));
        bench.wave.access.lds = self.lds.as_mut_ptr().cast();
        bench.wave.access.lds_size = LDS as u32;
        bench.wave.access.strict_lds = true;
        bench.wave.access.scratch = self.scratch.as_mut_ptr().cast();
        bench.wave.access.scratch_size = SCRATCH as u32;
        bench
    }

    fn parts(&mut self) -> [(*mut u8, usize); 3] {
        [
            (self.global as *mut u8, GLOBAL),
            (self.lds.as_mut_ptr().cast(), LDS),
            (self.scratch.as_mut_ptr().cast(), SCRATCH * self.lanes),
        ]
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut from = 0;
        for (to, size) in self.parts() {
            // SAFETY: the three parts have these sizes, and nothing else uses them.
            unsafe { std::ptr::copy_nonoverlapping(bytes[from..from + size].as_ptr(), to, size) };
            from += size;
        }
    }

    fn read(&mut self) -> Vec<u8> {
        let parts = self.parts();
        // SAFETY: as above.
        parts
            .iter()
            .flat_map(|&(from, size)| unsafe { std::slice::from_raw_parts(from, size) }.to_vec())
            .collect()
    }

    /// The position of an accessed byte in [`Memories::read`]; none if out of bounds.
    fn place(&self, space: Space, address: u64, lane: usize) -> Option<usize> {
        let at = |start: usize, offset: u64, size: usize| {
            let offset = usize::try_from(offset).ok()?;
            (offset < size).then_some(start + offset)
        };
        match space {
            Space::Global => at(0, address.wrapping_sub(self.global), GLOBAL),
            Space::Lds => at(GLOBAL, address, LDS),
            Space::Scratch => {
                let byte = usize::try_from(address).ok().filter(|byte| *byte < SCRATCH)?;
                Some(GLOBAL + LDS + (byte / 4 * self.lanes + lane) * 4 + byte % 4)
            }
        }
    }
}

/// The reported access to a byte.
const READ: u8 = 1;
const WRITTEN: u8 = 2;
/// Accessed by an atomic operation, which may leave it unchanged.
const UPDATED: u8 = 4;

impl Memories {
    /// The reported access to each byte of [`Memories::read`]; none if one is out of bounds.
    fn touched(&self, accesses: &[LaneAccess]) -> Option<Vec<u8>> {
        let mut touched = vec![0; GLOBAL + LDS + SCRATCH * self.lanes];
        for access in accesses {
            let what = match access.kind {
                AccessKind::Read => READ,
                AccessKind::Write => WRITTEN,
                AccessKind::Atomic => UPDATED,
            };
            for (lane, first) in access.lanes() {
                for byte in 0..u64::from(access.bytes) {
                    touched[self.place(access.space, first + byte, lane)?] |= what;
                }
            }
        }
        Some(touched)
    }
}

/// Registers with addresses where the instruction needs them, and data elsewhere.
fn registers(inst: &Inst, memories: &Memories, seed: &mut u64) -> Option<State> {
    let lanes = memories.lanes;
    let mut state = State {
        vector: (0..512 * lanes).map(|_| random(seed) & 0x7f7f_7f7f).collect(),
        scalar: std::array::from_fn(|_| random(seed) & 0x7f7f_7f7f),
        scc: false,
    };
    let middle = memories.global + GLOBAL as u64 / 2;
    state.scalar[usize::from(scalar::NULL)] = 0;
    state.scalar[usize::from(scalar::M0)] = 256;
    state.scalar[usize::from(scalar::EXEC)] = random(seed) | 4;
    state.scalar[usize::from(scalar::EXEC) + 1] = random(seed);
    let mut scalars = |operand: Operand, values: &[u32]| match operand {
        // Registers with a special meaning are not changed.
        Operand::Sgpr(slot) if usize::from(slot) + values.len() > 100 => None,
        Operand::Sgpr(slot) => {
            state.scalar[usize::from(slot)..][..values.len()].copy_from_slice(values);
            Some(())
        }
        _ => Some(()),
    };
    let (low, high) = (middle as u32, (middle >> 32) as u32);
    let is_buffer = matches!(inst.format, Format::Mubuf | Format::Mtbuf);
    match inst.format {
        _ if is_buffer || inst.op.name().starts_with("s_buffer") => {
            let stride = [0, 16][random(seed) as usize % 2];
            let records = if stride == 0 { 4001 } else { 250 };
            scalars(inst.src[3], &[64])?;
            // Any format, channels in order, any bounds check.
            let last = random(seed) & (3 << 28 | 0x7f << 12) | 0xfac;
            scalars(inst.src[2], &[low, high & 0xffff | stride << 16, records, last])?;
        }
        Format::Smem if inst.op.name().starts_with("s_scratch") => {
            let start = memories.scratch.as_ptr() as u64;
            scalars(inst.src[3], &[32])?;
            scalars(inst.src[2], &[start as u32, (start >> 32) as u32])?;
        }
        Format::Smem => {
            scalars(inst.src[3], &[32])?;
            scalars(inst.src[2], &[low, high])?;
        }
        Format::Scratch => scalars(inst.src[2], &[16])?,
        _ => scalars(inst.src[2], &[low, high])?,
    }
    // Stored values must be data: an address may have any bits, including those of FILL.
    let number = |operand| match operand {
        Operand::Vgpr(register) | Operand::Sgpr(register) => Some(i32::from(register)),
        _ => None,
    };
    let (address, data) = match inst.format {
        Format::Smem => (number(inst.src[2]), number(inst.src[0]).or(number(inst.src[1]))),
        _ => (number(inst.src[0]), number(inst.src[1]).or(number(inst.src[3]))),
    };
    if let (Some(address), Some(data)) = (address, data)
        && (address - data).abs() < 4
    {
        return None;
    }
    let has_base = matches!(inst.src[2], Operand::Sgpr(_));
    if let Operand::Vgpr(address) = inst.src[0] {
        for lane in 0..lanes {
            let offset = u64::from(random(seed) % 120 * 16);
            let mut put = |after: usize, value: u64| {
                if let Some(place) = state.vector.get_mut((usize::from(address) + after) * lanes + lane) {
                    *place = value as u32;
                }
            };
            match inst.format {
                Format::Global | Format::Flat if !has_base => {
                    // A FLAT address may be in any memory.
                    let space = if inst.format == Format::Flat { random(seed) % 3 } else { 0 };
                    let base = [middle, vgpu::machine::SHARED_APERTURE, vgpu::machine::PRIVATE_APERTURE];
                    let address = base[space as usize] + offset % 2000;
                    let address = address & !15;
                    put(0, address);
                    put(1, address >> 32);
                }
                Format::Mubuf | Format::Mtbuf if inst.mem.idxen => {
                    put(0, u64::from(random(seed) % 260));
                    put(1, offset);
                }
                Format::Scratch => put(0, offset % 2000),
                _ => put(0, offset),
            }
        }
    }
    Some(state)
}

/// The instruction with an offset that stays within the small memory.
fn near(mut inst: Inst) -> Inst {
    inst.mem.offset =
        if inst.format == Format::Ds { inst.mem.offset & 0x303 } else { inst.mem.offset % 1024 };
    inst
}

/// What observers are told of the program's first instruction.
fn reported(program: &Program, wave: &Wave) -> Accesses {
    let (unit, _) = program.place(ENTRY, Form::new(wave.lanes, true));
    let mut accesses = Accesses::default();
    // SAFETY: the wave has a file of 512 registers.
    unsafe { accesses.find(&unit, 0, wave) };
    accesses
}

/// Runs each memory instruction. Stores change exactly the bytes reported as written. The results of loads
/// depend on all bytes of all lanes reported as read, and on no others. Atomic operations change no other
/// bytes.
#[test]
fn accesses_are_those_that_handlers_make() {
    let mut failures = Vec::new();
    let mut executed = HashMap::new();
    for (isa, text) in files() {
        let sizes: &[usize] = if isa.is_gfx9() { &[64] } else { &[32, 64] };
        let all = instructions(isa, &text);
        for &lanes in sizes {
            let mut memories = Memories::new(lanes);
            let mut bench = memories.bench();
            let full = vec![FILL; GLOBAL + LDS + SCRATCH * lanes];
            let mut seed = 3;
            // Clocks never return the same value twice.
            let clock = |inst: &Inst| matches!(inst.op, Op::SMemtime | Op::SMemrealtime);
            for (text, inst) in all.iter().filter(|(_, inst)| is_memory(inst.format) && !clock(inst)) {
                let what = format!("{} in waves of {lanes}: {text}", isa.name());
                let inst = &near(*inst);
                let program = program(isa, *inst);
                let Some(before) = registers(inst, &memories, &mut seed) else { continue };
                memories.write(&full);
                let Some(after) = bench.run(&program, &before) else { continue };
                let found = memories.read();
                if !is_known(inst) {
                    failures.push(format!("{what}: its accesses are unknown"));
                    continue;
                }
                bench.load(&before);
                let accesses = reported(&program, &bench.wave);
                let Some(said) = memories.touched(&accesses) else {
                    failures.push(format!("{what}: an access out of bounds"));
                    continue;
                };
                *executed.entry(inst.format).or_insert(0usize) += 1;
                let copies_to_lds = accesses.iter().any(|access| matches!(access.moved, Moved::Copied(_)));
                let wrong = found.iter().zip(&said).position(|(byte, said)| match byte {
                    // Data copied to LDS may equal the old content.
                    &FILL => said & WRITTEN != 0 && !copies_to_lds,
                    _ => said & (WRITTEN | UPDATED) == 0,
                });
                if let Some(at) = wrong {
                    failures.push(format!("{what}: byte {at}, {}", found[at]));
                }
                // Loads: other bytes do not matter, and the bytes that are read do.
                let loads =
                    said.iter().any(|said| said & READ != 0) && inst.dst != Operand::Sgpr(scalar::NULL);
                for flips in [0, READ] {
                    let flip =
                        |said: &u8| if said & READ == flips && said & UPDATED == 0 { !FILL } else { FILL };
                    memories.write(&said.iter().map(flip).collect::<Vec<u8>>());
                    let Some(other) = bench.run(&program, &before) else { continue };
                    let stored = memories.read();
                    let copies = said
                        .iter()
                        .zip(found.iter().zip(&stored))
                        .any(|(said, (byte, other))| said & WRITTEN != 0 && byte != other);
                    let differs = copies || after.vector != other.vector || after.scalar != other.scalar;
                    if differs != (flips == READ && loads) {
                        failures.push(format!("{what}: whether other bytes change what it loads: {differs}"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    for (format, least) in [
        (Format::Smem, 100),
        (Format::Ds, 350),
        (Format::Flat, 300),
        (Format::Global, 300),
        (Format::Scratch, 200),
        (Format::Mubuf, 200),
        (Format::Mtbuf, 100),
        (Format::LdsDir, 2),
    ] {
        assert!(executed.get(&format).copied().unwrap_or(0) > least, "{format:?}: {executed:?}");
    }
}

/// What an access says of a byte: lane, memory, address, kind, registers, how it is moved, and whether it is
/// scalar.
type Byte = (usize, u8, u64, u8, [Option<u16>; 2], u16, bool);

/// Everything that accesses say of each byte, in an order that does not depend on how they are grouped.
fn bytes(accesses: &[LaneAccess]) -> Vec<Byte> {
    let mut all = Vec::new();
    for access in accesses {
        let moved = match access.moved {
            Moved::Plain => 0,
            Moved::Converted => 1,
            Moved::Transposed(bits) => 0x100 + u16::from(bits),
            Moved::Copied(from) => 0x200 + u16::from(from),
        };
        for (lane, first) in access.lanes() {
            for byte in 0..access.bytes {
                // A conversion, or a transposition, mixes the bytes of all registers.
                let after = if moved == 0 { (byte / 4) as u16 } else { 0 };
                let registers =
                    [access.loaded, access.stored].map(|register| register.map(|first| first + after));
                let address = first.wrapping_add(byte.into());
                let (space, kind) = (access.space as u8, access.kind as u8);
                all.push((lane, space, address, kind, registers, moved, access.scalar));
            }
        }
    }
    all.sort_unstable();
    all
}

/// Registers of any content. Descriptors keep the half of their bounds that often leaves something inside.
fn anything(inst: &Inst, lanes: usize, seed: &mut u64) -> State {
    let mut word = || random(seed) ^ random(seed) << 16;
    let mut state = State {
        vector: (0..512 * lanes).map(|_| word()).collect(),
        scalar: std::array::from_fn(|_| word()),
        scc: false,
    };
    // Addresses near the borders of 32 bits, small ones, and any.
    for value in &mut state.vector {
        *value = match word() % 4 {
            0 => *value % 0x200,
            1 => (*value % 0x200).wrapping_sub(0x100),
            2 => [0, 1 << 16, 2 << 16][(*value % 3) as usize],
            _ => *value,
        };
    }
    if matches!(inst.format, Format::Mubuf | Format::Mtbuf | Format::Smem)
        && let Operand::Sgpr(slot) = inst.src[2]
        && slot < 100
    {
        let records = &mut state.scalar[usize::from(slot) + 2];
        *records = if word() % 2 == 0 { *records } else { *records % 0x400 };
    }
    state.scalar[usize::from(scalar::NULL)] = 0;
    state
}

/// For every memory instruction, on registers near its memory and on registers of any content, with any EXEC,
/// the executor reports what the second model of addressing computes.
#[test]
fn accesses_are_those_of_a_second_model() {
    const ROUNDS: usize = 3;
    let (mut failures, mut wrong) = (Vec::new(), 0);
    let mut compared = HashMap::new();
    for (isa, text) in files() {
        let sizes: &[usize] = if isa.is_gfx9() { &[64] } else { &[32, 64] };
        let all = instructions(isa, &text);
        for &lanes in sizes {
            let mut memories = Memories::new(lanes);
            let mut bench = memories.bench();
            let mut seed = 11;
            let direct = Operand::Special(vgpu::isa::Special::LdsDirect);
            for (text, inst) in
                all.iter().filter(|(_, inst)| is_memory(inst.format) || inst.src.contains(&direct))
            {
                let program = program(isa, *inst);
                // A size that needs 18 bits of M0 as an offset, too.
                bench.wave.access.lds_size = [LDS as u32, 0x2_0000][random(&mut seed) as usize % 2];
                for round in 0..ROUNDS {
                    let near = (round % 2 == 0).then(|| registers(inst, &memories, &mut seed)).flatten();
                    let mut state = near.unwrap_or_else(|| anything(inst, lanes, &mut seed));
                    if round == 1 {
                        state.scalar[usize::from(scalar::EXEC)] = 0;
                        state.scalar[usize::from(scalar::EXEC) + 1] = 0;
                    }
                    bench.load(&state);
                    let found = reported(&program, &bench.wave);
                    // SAFETY: the wave has a file of 512 registers.
                    let expected = unsafe { model::accesses(inst, &bench.wave, isa.generation()) };
                    if !found.is_empty() {
                        *compared.entry(inst.format).or_insert(0usize) += 1;
                    }
                    let (found, expected) = (bytes(&found), bytes(&expected));
                    if found != expected {
                        wrong += 1;
                        let at = found.iter().zip(&expected).position(|(a, b)| a != b);
                        let at = at.unwrap_or(found.len().min(expected.len()));
                        failures.push(format!(
                            "{} in waves of {lanes}: {text}: of {} and {}, {:x?} and {:x?}",
                            isa.name(),
                            found.len(),
                            expected.len(),
                            found.get(at),
                            expected.get(at)
                        ));
                    }
                }
            }
        }
    }
    failures.truncate(60);
    assert!(failures.is_empty(), "{wrong}:\n{}", failures.join("\n"));
    for (format, least) in [
        (Format::Smem, 300),
        (Format::Ds, 1000),
        (Format::Flat, 1000),
        (Format::Global, 1000),
        (Format::Scratch, 600),
        (Format::Mubuf, 600),
        (Format::Mtbuf, 300),
        (Format::LdsDir, 4),
    ] {
        assert!(compared.get(&format).copied().unwrap_or(0) > least, "{format:?}: {compared:?}");
    }
}
