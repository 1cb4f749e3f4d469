//! SMEM instructions.

use super::*;

#[test]
fn scalar_loads_fill_slots() {
    let mut bench = Bench::new(32);
    let base = bench.memory.allocate(64, 1, MemoryKind::Kernarg, None).unwrap();
    for i in 0..16u64 {
        // SAFETY: the allocation holds 16 dwords.
        unsafe { ((base + 4 * i) as *mut u32).write(10 + i as u32) };
    }
    (bench.wave.sgpr[0], bench.wave.sgpr[1]) = (base as u32, (base >> 32) as u32);
    bench.wave.sgpr[2] = 8;
    let sources = |offset| [Operand::None, Operand::None, Operand::Sgpr(0), offset];
    let load = inst(Op::SLoadB128, Operand::Sgpr(8), sources(Operand::Sgpr(2)), 4);
    assert_eq!(bench.run(&load, Level::Baseline), Flow::Next);
    assert_eq!(bench.wave.sgpr[8..12], [13, 14, 15, 16]);
    let null = inst(Op::SLoadB64, Operand::Sgpr(scalar::NULL), sources(Operand::None), 0);
    assert_eq!(bench.run(&null, Level::Baseline), Flow::Next);
    assert_eq!(bench.wave.sgpr[usize::from(scalar::NULL)], 0);
    let beyond = inst(Op::SLoadB512, Operand::Sgpr(16), sources(Operand::None), 4);
    assert_eq!(bench.run(&beyond, Level::Baseline), Flow::Fault);
    let (kind, lane) = bench.fault();
    assert!(matches!(kind, FaultKind::OutOfBounds { size: 64, .. }) && lane.is_none(), "{kind:?}");
    // A buffer of 20 bytes: anything beyond reads zero.
    (bench.wave.sgpr[4], bench.wave.sgpr[5]) = (base as u32, (base >> 32) as u32);
    bench.wave.sgpr[6] = 20;
    let buffer = inst(
        Op::SBufferLoadB128,
        Operand::Sgpr(8),
        [Operand::None, Operand::None, Operand::Sgpr(4), Operand::None],
        12,
    );
    assert_eq!(bench.run(&buffer, Level::Baseline), Flow::Next);
    assert_eq!(bench.wave.sgpr[8..12], [13, 14, 0, 0]);
    // A tuple that would run over NULL is refused.
    let over = inst(Op::SLoadB512, Operand::Sgpr(112), sources(Operand::None), 0);
    assert_eq!(bench.run(&over, Level::Baseline), Flow::Fault);
    assert!(matches!(bench.fault().0, FaultKind::Unsupported { .. }));
}

/// A wave with 64 bytes of memory, holding 0, 1, 2… as dwords, and the address in s[0:1].
fn with_words() -> (Bench, u64) {
    let mut bench = Bench::new(64);
    let base = bench.memory.allocate(64, 1, MemoryKind::Coarse, None).unwrap();
    for i in 0..16u64 {
        // SAFETY: the allocation holds 16 dwords.
        unsafe { ((base + 4 * i) as *mut u32).write(i as u32) };
    }
    (bench.wave.sgpr[0], bench.wave.sgpr[1]) = (base as u32, (base >> 32) as u32);
    (bench.wave.sgpr[2], bench.wave.sgpr[3]) = (20, 0);
    (bench, base)
}

fn smem(name: &str, dst: Operand, data: Operand, base: u8, register: Operand, offset: i32) -> Inst {
    inst(op(name), dst, [Operand::None, data, Operand::Sgpr(base), register], offset)
}

#[test]
fn parts_of_addresses_are_whole_dwords() {
    let (mut bench, _) = with_words();
    bench.wave.sgpr[0] |= 3;
    bench.wave.sgpr[8] = 7;
    let load = smem("s_load_b32", Operand::Sgpr(10), Operand::None, 0, Operand::Sgpr(8), 11);
    assert_eq!(bench.run(&load, Level::Baseline), Flow::Next);
    assert_eq!(bench.wave.sgpr[10], 3);
    // Elements of gfx12 are also aligned.
    bench.wave.sgpr[0] &= !3;
    let load = smem("s_load_i8", Operand::Sgpr(10), Operand::None, 0, Operand::None, 5);
    let word = smem("s_load_u16", Operand::Sgpr(11), Operand::None, 0, Operand::None, 13);
    // SAFETY: the allocation holds 64 bytes.
    unsafe {
        let memory = (u64::from(bench.wave.sgpr[1]) << 32 | u64::from(bench.wave.sgpr[0])) as *mut u8;
        memory.add(5).write(0x80);
        memory.add(13).write(0x12);
    }
    for load in [load, word] {
        assert_eq!(bench.run_on(Generation::Gfx12, &load, Level::Baseline), Flow::Next);
    }
    assert_eq!(bench.wave.sgpr[10..12], [0xffff_ff80, 0x1203]);
}

#[test]
fn loads_to_null_take_nothing() {
    let (mut bench, _) = with_words();
    let null = Operand::Sgpr(scalar::NULL);
    for name in ["s_load_b128", "s_load_b512", "s_buffer_load_b256"] {
        let before = bench.wave.sgpr;
        let load = smem(name, null, Operand::None, 0, Operand::None, 0);
        assert_eq!(bench.run(&load, Level::Baseline), Flow::Next);
        assert_eq!(bench.wave.sgpr, before);
    }
}

#[test]
fn scalar_stores_write_memory_and_stop_at_the_end_of_a_buffer() {
    let (mut bench, base) = with_words();
    // SAFETY: the allocation holds 16 dwords.
    let word = |i: u64| unsafe { ((base + 4 * i) as *const u32).read() };
    for i in 0..4 {
        bench.wave.sgpr[12 + i] = 100 + i as u32;
    }
    bench.wave.sgpr[8] = 4;
    let store = smem("s_store_b64", Operand::None, Operand::Sgpr(12), 0, Operand::Sgpr(8), 20);
    assert_eq!(bench.run_on(Generation::Gfx9, &store, Level::Baseline), Flow::Next);
    assert_eq!([word(5), word(6), word(7), word(8)], [5, 100, 101, 8]);
    let store = smem("s_buffer_store_b128", Operand::None, Operand::Sgpr(12), 0, Operand::None, 12);
    assert_eq!(bench.run_on(Generation::Gfx9, &store, Level::Baseline), Flow::Next);
    assert_eq!([word(2), word(3), word(4), word(5)], [2, 100, 101, 5]);
    let store = smem("s_store_b32", Operand::None, Operand::Sgpr(12), 0, Operand::None, 64);
    assert_eq!(bench.run_on(Generation::Gfx9, &store, Level::Baseline), Flow::Fault);
    let (kind, lane) = bench.fault();
    assert!(matches!(kind, FaultKind::OutOfBounds { access: AccessKind::Write, size: 4, .. }), "{kind:?}");
    assert_eq!(lane, None);
}

#[test]
fn scalar_scratch_counts_registers_in_waves() {
    let (mut bench, _) = with_words();
    let scratch = bench.wave.access.scratch as u64;
    (bench.wave.sgpr[0], bench.wave.sgpr[1]) = (scratch as u32, (scratch >> 32) as u32);
    bench.wave.sgpr[8] = 4;
    (bench.wave.sgpr[12], bench.wave.sgpr[13]) = (7, 8);
    let store = smem("s_scratch_store_b64", Operand::None, Operand::Sgpr(12), 0, Operand::Sgpr(8), 8);
    assert_eq!(bench.run_on(Generation::Gfx9, &store, Level::Baseline), Flow::Next);
    // Four bytes for each of 64 lanes, and then eight.
    assert_eq!(bench.scratch[64 + 2..][..2], [7, 8]);
    let load = smem("s_scratch_load_b32", Operand::Sgpr(20), Operand::None, 0, Operand::None, 4 * 64 + 12);
    assert_eq!(bench.run_on(Generation::Gfx9, &load, Level::Baseline), Flow::Next);
    assert_eq!(bench.wave.sgpr[20], 8);
    // Other memory instructions cannot access it, and it has an end.
    let plain = smem("s_load_b32", Operand::Sgpr(20), Operand::None, 0, Operand::None, 0);
    let beyond =
        smem("s_scratch_load_b32", Operand::Sgpr(20), Operand::None, 0, Operand::None, 64 * SCRATCH as i32);
    for load in [plain, beyond] {
        assert_eq!(bench.run_on(Generation::Gfx9, &load, Level::Baseline), Flow::Fault);
        assert!(matches!(bench.fault().0, FaultKind::OutOfBounds { .. }));
    }
}

#[test]
fn scalar_atomics_change_one_word() {
    // The name, the data, and memory afterwards (5 before). In 64-bit numbers, the upper half is 9.
    for (name, data, after) in [
        ("swap_b", 8, 8),
        ("add_u", 3, 8),
        ("sub_u", 3, 2),
        ("min_i", u64::MAX, u64::MAX),
        ("min_u", u64::MAX, 5),
        ("max_i", u64::MAX, 5),
        ("max_u", u64::MAX, u64::MAX),
        ("and_b", 4, 4),
        ("or_b", 2, 7),
        ("xor_b", 1, 4),
        ("inc_u", 5, 0),
        ("dec_u", 3, 3),
    ] {
        for bits in [32, 64] {
            for family in ["s_atomic", "s_buffer_atomic"] {
                for returns in [false, true] {
                    let (mut bench, memory) = with_words();
                    // SAFETY: the allocation holds 16 dwords.
                    let word = unsafe { &mut *((memory + 8) as *mut u64) };
                    *word = 5;
                    bench.wave.sgpr[6] = 77;
                    (bench.wave.sgpr[12], bench.wave.sgpr[13]) = (data as u32, (data >> 32) as u32);
                    let dst = if returns { Operand::Sgpr(12) } else { Operand::None };
                    let name = format!("{family}_{name}{bits}");
                    let atomic = smem(&name, dst, Operand::Sgpr(12), 0, Operand::None, 8);
                    let flow = bench.run_on(Generation::Gfx9, &atomic, Level::Baseline);
                    assert_eq!(flow, Flow::Next, "{name} {:?}", bench.wave.fault);
                    let after = if bits == 32 { after & 0xffff_ffff } else { after };
                    assert_eq!(*word, after, "{name}");
                    let expected = if !returns {
                        [data as u32, (data >> 32) as u32]
                    } else if bits == 32 {
                        [5, (data >> 32) as u32]
                    } else {
                        [5, 0]
                    };
                    assert_eq!(bench.wave.sgpr[12..14], expected, "{name}");
                }
            }
        }
    }
    let (mut bench, memory) = with_words();
    (bench.wave.sgpr[12], bench.wave.sgpr[13]) = (50, 3);
    let swap = smem("s_atomic_cmpswap_b32", Operand::Sgpr(12), Operand::Sgpr(12), 0, Operand::None, 12);
    assert_eq!(bench.run_on(Generation::Gfx9, &swap, Level::Baseline), Flow::Next);
    // SAFETY: as above.
    assert_eq!((unsafe { ((memory + 12) as *const u32).read() }, bench.wave.sgpr[12]), (50, 3));
    // Beyond the end of a buffer, nothing happens and zero is returned.
    let add = smem("s_buffer_atomic_add_u32", Operand::Sgpr(12), Operand::Sgpr(12), 0, Operand::None, 20);
    assert_eq!(bench.run_on(Generation::Gfx9, &add, Level::Baseline), Flow::Next);
    // SAFETY: as above.
    assert_eq!((unsafe { ((memory + 20) as *const u32).read() }, bench.wave.sgpr[12]), (5, 0));
    let add = smem("s_atomic_add_u64", Operand::None, Operand::Sgpr(12), 0, Operand::None, 12);
    assert_eq!(bench.run_on(Generation::Gfx9, &add, Level::Baseline), Flow::Fault);
    assert!(matches!(bench.fault().0, FaultKind::Misaligned { required: 8, .. }));
}

#[test]
fn clocks_go_on() {
    let (mut bench, _) = with_words();
    for name in ["s_memtime", "s_memrealtime"] {
        let mut read = || {
            let time = smem(name, Operand::Sgpr(20), Operand::None, 0, Operand::None, 0);
            assert_eq!(bench.run_on(Generation::Gfx9, &time, Level::Baseline), Flow::Next);
            bench.wave.scalar64(20)
        };
        let first = read();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(read() > first, "{name}");
    }
}
