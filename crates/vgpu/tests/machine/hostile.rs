//! Kernels that try to break out of the machine only get a fault.

use std::time::{Duration, Instant};

use vgpu::isa::{Isa, Op, decode};
use vgpu::machine::{DispatchError, FaultKind};

use super::common::{Arg, Random, on_all};
use super::{corrupt_object, random_program};

/// The number of each instruction set in [`random_program`].
fn all() -> impl Iterator<Item = (u8, Isa)> {
    (0..).zip(Isa::ALL.iter().copied())
}

/// The same for the targets with gfx9.
fn gfx9() -> impl Iterator<Item = (u8, Isa)> {
    all().filter(|(_, isa)| isa.is_gfx9())
}

/// Runs instructions of up to eight bytes each, followed by the end of the program. The first two scalar
/// registers hold the address of a buffer.
fn run(target: u8, instructions: &[u64]) -> Result<(), DispatchError> {
    let mut bytes = vec![target, 0, 16, 64, 31, 0, 0, 63];
    for instruction in instructions {
        bytes.push(0);
        bytes.extend(instruction.to_le_bytes());
        bytes.extend([0; 4]);
    }
    random_program::run(&bytes).expect("enough bytes")
}

/// A scalar instruction with one source, by operation.
fn sop1(isa: Isa, op: Op, dst: u64, src: u64) -> u64 {
    let word = |code: u64| 0xbe80_0000 | dst << 16 | code << 8 | src;
    (0..256)
        .map(word)
        .find(|word| decode(isa, &word.to_le_bytes()).is_ok_and(|inst| inst.op == op))
        .unwrap_or_else(|| panic!("{op:?} of {isa:?}"))
}

/// The outcome of a program; internal errors of the executor are failures.
fn outcome(result: Result<(), DispatchError>, what: &str) -> Option<FaultKind> {
    match result {
        Ok(()) => None,
        Err(DispatchError::Fault(fault)) => {
            assert!(!matches!(fault.kind, FaultKind::Internal { .. }), "{what}: {fault}");
            Some(fault.kind)
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn moves_to_registers_past_the_last_one_are_faults() {
    for (target, isa) in all() {
        // M0 is a different register from gfx11 on; 193 stands for -1, 129 for 1.
        let m0 = if matches!(isa, Isa::Gfx1100 | Isa::Gfx1151 | Isa::Gfx1201) { 125 } else { 124 };
        for op in [Op::SMovreldB32, Op::SMovreldB64, Op::SMovrelsB32, Op::SMovrelsB64] {
            for (slot, beyond) in [(0, 193), (2, 193), (104, 128 + 2), (104, 128 + 22), (100, 128 + 27)] {
                let (dst, src) =
                    if matches!(op, Op::SMovreldB32 | Op::SMovreldB64) { (slot, 0) } else { (0, slot) };
                let program = [sop1(isa, Op::SMovB32, m0, beyond), sop1(isa, op, dst, src)];
                let found = outcome(run(target, &program), "a move");
                let found = format!("{found:?}");
                assert!(found.contains("Unsupported"), "{op:?} of {isa:?}, {slot} and {beyond}: {found}");
            }
        }
    }
}

/// Every scalar memory instruction of gfx9, the only generation whose scalar instructions write memory, with
/// data in each of the last registers.
#[test]
fn scalar_accesses_do_not_reach_past_the_last_register() {
    for (target, isa) in gfx9() {
        let mut stores = 0;
        for opcode in 0..256u64 {
            for data in (96..128u64).chain([0]) {
                let instruction = 0xc000_0000 | 1 << 17 | opcode << 18 | data << 6;
                let Ok(inst) = decode(isa, &instruction.to_le_bytes()) else { continue };
                stores += usize::from(inst.op.name().contains("store"));
                outcome(run(target, &[instruction]), &format!("{inst:?}"));
            }
        }
        assert!(isa != Isa::Gfx90a || stores > 100, "{stores}");
    }
}

/// A grid of very short workgroups ends at its time limit, like a grid whose workgroups wait.
#[test]
fn many_short_workgroups_end_when_time_is_up() {
    on_all("faults", |gpu| {
        let mut dispatch = gpu.prepare("trap_at", [1 << 31, 1, 1], [64, 1, 1], 0, &[Arg::I32(-1)]);
        dispatch.timeout = Some(Duration::from_millis(200));
        let began = Instant::now();
        let error = gpu.dispatch(&dispatch).expect_err("33 million workgroups take longer");
        let took = began.elapsed();
        let DispatchError::Fault(fault) = error else { panic!("{error}") };
        assert_eq!(fault.kind, FaultKind::Timeout { limit_ms: 200 }, "{fault}");
        assert!(took < Duration::from_secs(3), "{took:?}");
    });
}

#[test]
fn corrupt_code_objects_are_refused_or_run_to_an_end() {
    let mut random = Random(0xc0de);
    for _ in 0..2000 {
        let length = 1 + random.next() as usize % 90;
        let mut bytes: Vec<u8> = (0..=length).map(|_| (random.next() >> 40) as u8).collect();
        // In half of the cases, only the descriptor is corrupt.
        bytes[0] ^= (random.next() as u8) & 0x80;
        corrupt_object::run(&bytes);
    }
}
