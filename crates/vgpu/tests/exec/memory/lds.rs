//! DS instructions with special rules, and data exchange between lanes.

use super::*;
use vgpu::isa::Special;

#[test]
fn compare_and_swap_of_lds_takes_its_operands_in_either_order() {
    for (name, data, compare) in [("ds_cmpst_rtn_b64", 6, 4), ("ds_cmpstore_rtn_b64", 4, 6)] {
        let mut bench = Bench::new(32);
        bench.exec(1);
        bench.lds[1] = 0x1122_3344_5566_7788;
        bench.set(2, 0, 8);
        bench.set(data, 0, 1);
        bench.set(data + 1, 0, 2);
        bench.set(compare, 0, 0x5566_7788);
        bench.set(compare + 1, 0, 0x1122_3344);
        let sources = [Operand::Vgpr(2), Operand::Vgpr(4), Operand::None, Operand::Vgpr(6)];
        let inst = inst(op(name), Operand::Vgpr(10), sources, 0);
        assert_eq!(bench.run(&inst, Level::Baseline), Flow::Next);
        assert_eq!(
            (bench.lds[1], bench.get(10, 0), bench.get(11, 0)),
            (0x2_0000_0001, 0x5566_7788, 0x1122_3344)
        );
    }
}

#[test]
fn two_address_forms_count_elements() {
    let mut bench = Bench::new(64);
    bench.exec(u64::MAX);
    for (i, word) in bench.lds.iter_mut().enumerate() {
        *word = i as u64 * 3;
    }
    for lane in 0..64 {
        bench.set(2, lane, 8 * (lane as u32 % 16));
    }
    // The destination v1..=v4 covers the address v2.
    let read = inst(
        Op::DsLoad2addrStride64B64,
        Operand::Vgpr(1),
        [Operand::Vgpr(2), Operand::None, Operand::None, Operand::None],
        1 | 2 << 8,
    );
    assert_eq!(bench.run(&read, Level::detect()), Flow::Next);
    for lane in 0..64 {
        let index = lane as u32 % 16;
        let found: Vec<u32> = (1..5).map(|r| bench.get(r, lane)).collect();
        assert_eq!(found, [(index + 64) * 3, 0, (index + 128) * 3, 0]);
    }
    for lane in 0..64 {
        bench.set(2, lane, 4 * lane as u32);
        bench.set(8, lane, 100 + lane as u32);
        bench.set(9, lane, 900 + lane as u32);
    }
    let write = inst(
        Op::DsStore2addrB32,
        Operand::None,
        [Operand::Vgpr(2), Operand::Vgpr(8), Operand::None, Operand::Vgpr(9)],
        64 << 8,
    );
    assert_eq!(bench.run(&write, Level::detect()), Flow::Next);
    let words: &[u32] = dwords(&bench.lds);
    assert!((0..64).all(|i| words[i] == 100 + i as u32 && words[64 + i] == 900 + i as u32));
}

#[test]
fn lanes_exchange_data_and_read_zero_from_disabled_ones() {
    for lanes in [32usize, 64] {
        let mut bench = Bench::new(lanes);
        let mask = masks(lanes)[4];
        bench.exec(mask);
        for lane in 0..lanes {
            bench.set(2, lane, 4 * ((lane as u32 * 7 + 3) % 32) + 1024);
            bench.set(3, lane, 1000 + lane as u32);
            bench.set(4, lane, 5);
        }
        let sources = [Operand::Vgpr(2), Operand::Vgpr(3), Operand::None, Operand::None];
        let permute = inst(Op::DsBpermuteB32, Operand::Vgpr(4), sources, 8);
        assert_eq!(bench.run(&permute, Level::detect()), Flow::Next);
        for lane in 0..lanes {
            let source = (lane * 7 + 5) % 32 + lane / 32 * 32;
            let on = |lane: usize| mask >> lane & 1 != 0;
            let expected = if !on(lane) {
                5
            } else if on(source) {
                1000 + source as u32
            } else {
                0
            };
            assert_eq!(bench.get(4, lane), expected);
        }
    }
    let mut bench = Bench::new(32);
    bench.exec(0xffff_fff0);
    for lane in 0..32 {
        bench.set(2, lane, 4 * (31 - lane as u32));
        bench.set(3, lane, lane as u32);
        bench.set(4, lane, 99);
    }
    let sources = [Operand::Vgpr(2), Operand::Vgpr(3), Operand::None, Operand::None];
    assert_eq!(bench.run(&inst(Op::DsPermuteB32, Operand::Vgpr(4), sources, 0), Level::Baseline), Flow::Next);
    for lane in 0..32u32 {
        let expected = match lane {
            0..4 => 99,
            28.. => 0,
            _ => 31 - lane,
        };
        assert_eq!(bench.get(4, lane as usize), expected, "lane {lane}");
    }
    bench.exec(u64::from(u32::MAX));
    for (pattern, source) in [
        (0x041f, (|lane| lane ^ 1) as fn(u32) -> u32),
        (0x0000, |_| 0),
        (0x801b, |lane| lane & !3 | (3 - (lane & 3))),
        (0xc000 | 1 << 5, |lane| (lane + 1) & 31),
        (0xe01f, |lane| lane),
        (0xe000, |lane| lane.reverse_bits() >> 27),
    ] {
        let sources = [Operand::Vgpr(3), Operand::None, Operand::None, Operand::None];
        assert_eq!(
            bench.run(&inst(Op::DsSwizzleB32, Operand::Vgpr(4), sources, pattern), Level::Baseline),
            Flow::Next
        );
        for lane in 0..32 {
            assert_eq!(bench.get(4, lane as usize), source(lane), "pattern {pattern:#x} lane {lane}");
        }
    }
}

#[test]
fn append_counts_enabled_lanes() {
    let mut bench = Bench::new(64);
    bench.exec(0xff0f);
    bench.wave.sgpr[usize::from(scalar::M0)] = 16;
    bench.lds[3] = 100;
    let append = inst(Op::DsAppend, Operand::Vgpr(1), [Operand::None; 4], 8);
    assert_eq!(bench.run(&append, Level::Baseline), Flow::Next);
    assert_eq!((bench.lds[3], bench.get(1, 0), bench.get(1, 4)), (112, 100, 0));
    let consume = inst(Op::DsConsume, Operand::Vgpr(1), [Operand::None; 4], 8);
    assert_eq!(bench.run(&consume, Level::Baseline), Flow::Next);
    assert_eq!((bench.lds[3], bench.get(1, 0)), (100, 112));
}

#[test]
fn two_words_are_exchanged_at_once() {
    for (name, unit, dwords_each) in [
        ("ds_storexchg_2addr_rtn_b32", 4, 1),
        ("ds_storexchg_2addr_stride64_rtn_b32", 256, 1),
        ("ds_storexchg_2addr_rtn_b64", 8, 2),
        ("ds_storexchg_2addr_stride64_rtn_b64", 512, 2),
    ] {
        let mut bench = Bench::new(32);
        for (i, word) in bench.lds.iter_mut().enumerate() {
            *word = (2 * i as u64 + 1) << 32 | 2 * i as u64;
        }
        bench.exec(0b110);
        for lane in [1, 2] {
            // The second lane's first word is the first lane's second.
            bench.set(2, lane, if lane == 1 { 0 } else { 2 * unit });
            for i in 0..2 {
                bench.set(8 + i, lane, 1000 * lane as u32 + i as u32);
                bench.set(12 + i, lane, 1000 * lane as u32 + 100 + i as u32);
            }
        }
        let sources = [Operand::Vgpr(2), Operand::Vgpr(8), Operand::None, Operand::Vgpr(12)];
        let exchange = inst(op(name), Operand::Vgpr(20), sources, 1 | 3 << 8);
        assert_eq!(bench.run(&exchange, Level::Baseline), Flow::Next);
        let first = |words: u32| words * unit / 4;
        let returned =
            |lane: usize| -> Vec<u32> { (0..2 * dwords_each).map(|r| bench.get(20 + r, lane)).collect() };
        let words = |start: u32| (0..dwords_each as u32).map(move |i| start + i);
        let expected: Vec<u32> = words(first(1)).chain(words(first(3))).collect();
        assert_eq!(returned(1), expected, "{name}");
        let expected: Vec<u32> = words(1100).chain(words(first(5))).collect();
        assert_eq!(returned(2), expected, "{name}");
        let lds = dwords(&bench.lds);
        let now: Vec<u32> = [1, 3, 5].iter().map(|&i| lds[first(i) as usize]).collect();
        assert_eq!(now, [1000, 2000, 2100], "{name}");
    }
    // Both access the same place: the second word wins, and both return the old value.
    let mut bench = Bench::new(32);
    bench.exec(1);
    bench.lds[0] = 5;
    bench.set(8, 0, 6);
    bench.set(12, 0, 7);
    let sources = [Operand::Vgpr(2), Operand::Vgpr(8), Operand::None, Operand::Vgpr(12)];
    let exchange = inst(op("ds_storexchg_2addr_rtn_b32"), Operand::Vgpr(20), sources, 0);
    assert_eq!(bench.run(&exchange, Level::Baseline), Flow::Next);
    assert_eq!((bench.lds[0], bench.get(20, 0), bench.get(21, 0)), (7, 5, 5));
}

#[test]
fn conditional_exchange_replaces_words_whose_data_have_bit_31() {
    let mut bench = Bench::new(64);
    bench.exec(0b11);
    bench.lds[2] = 0x2222_2222_1111_1111;
    for (lane, data) in [(0, [0x8000_0005, 6]), (1, [7, 0xffff_ffff])] {
        // The address has 16 bits, of which the lowest three are ignored.
        bench.set(2, lane, 0xabcd_0008 + 3);
        bench.set(8, lane, data[0]);
        bench.set(9, lane, data[1]);
    }
    let sources = [Operand::Vgpr(2), Operand::Vgpr(8), Operand::None, Operand::None];
    let exchange = inst(op("ds_condxchg32_rtn_b64"), Operand::Vgpr(20), sources, 8);
    assert_eq!(bench.run(&exchange, Level::Baseline), Flow::Next);
    let returned = |lane| [bench.get(20, lane), bench.get(21, lane)];
    assert_eq!((returned(0), returned(1)), ([0x1111_1111, 0x2222_2222], [5, 0x2222_2222]));
    assert_eq!(bench.lds[2], 0x7fff_ffff_0000_0005);
}

#[test]
fn direct_loads_read_the_element_that_m0_names() {
    let mut bench = Bench::new(32);
    bench.exec(0xff);
    bench.lds[1] = 0x1122_3344_dead_87f6;
    let sources = [Operand::None; 4];
    for (m0, value) in [
        (8, 0xf6),
        (8 | 4 << 16, 0xffff_fff6),
        (8 | 1 << 16, 0x87f6),
        (8 | 5 << 16, 0xffff_87f6),
        (8 | 2 << 16, 0xdead_87f6),
    ] {
        bench.wave.sgpr[usize::from(scalar::M0)] = m0;
        let load = inst(op("lds_direct_load"), Operand::Vgpr(4), sources, 0);
        assert_eq!(bench.run(&load, Level::Baseline), Flow::Next);
        assert_eq!((bench.get(4, 0), bench.get(4, 7), bench.get(4, 8)), (value, value, 0));
        // As a source of a gfx9 vector instruction.
        let mut add = inst(op("v_add_nc_u32"), Operand::Vgpr(5), sources, 0);
        (add.src[0], add.src[1]) = (Operand::Special(Special::LdsDirect), Operand::Int(1));
        assert_eq!(bench.run_on(Generation::Gfx10, &add, Level::Baseline), Flow::Next);
        assert_eq!(bench.get(5, 3), value.wrapping_add(1));
    }
    bench.wave.sgpr[usize::from(scalar::M0)] = LDS as u32 - 2 | 2 << 16;
    let load = inst(op("lds_direct_load"), Operand::Vgpr(4), sources, 0);
    assert_eq!(bench.run(&load, Level::Baseline), Flow::Fault);
    assert!(matches!(bench.fault().0, FaultKind::BeyondLimit { space: Space::Lds, .. }));
}

#[test]
fn the_global_data_share_is_not_there() {
    let mut bench = Bench::new(64);
    let sources = [Operand::Vgpr(2), Operand::Vgpr(8), Operand::None, Operand::None];
    let mut add = inst(op("ds_add_u32"), Operand::None, sources, 0);
    add.mem.gds = true;
    assert_eq!(bench.run_on(Generation::Gfx9, &add, Level::Baseline), Flow::Fault);
    assert!(matches!(bench.fault().0, FaultKind::Unsupported { .. }));
}

/// Memory and data of one lane: the least subnormal and normal numbers, and values between them.
#[test]
fn sums_of_floats_obey_the_mode_as_to_subnormal_numbers() {
    let [tiny, least] = [f32::from_bits(0x0040_0001), f32::MIN_POSITIVE];
    for lanes in [32, 64] {
        for (memory, data) in [(tiny, tiny), (tiny, -least), (-tiny, least), (least, 1.0), (tiny, 0.0)] {
            for mode in 0..4u32 {
                let flush = |keeps: bool, value: f32| {
                    if !keeps && value.is_subnormal() { 0.0f32.copysign(value) } else { value }
                };
                let (sources, sums) = (mode & 1 != 0, mode & 2 != 0);
                let expected = flush(sums, flush(sources, memory) + flush(sources, data));
                let mut bench = Bench::new(lanes);
                bench.wave.mode = mode << 4;
                bench.lds[2] = u64::from(memory.to_bits());
                bench.exec(1 << 3);
                bench.set(4, 3, 16);
                bench.set(5, 3, data.to_bits());
                let src = [Operand::Vgpr(4), Operand::Vgpr(5), Operand::None, Operand::None];
                let add = inst(op("ds_add_rtn_f32"), Operand::Vgpr(6), src, 0);
                assert_eq!(bench.run(&add, Level::Baseline), Flow::Next);
                assert_eq!(bench.get(6, 3), memory.to_bits());
                let found = f32::from_bits(bench.lds[2] as u32);
                assert_eq!(
                    found.to_bits(),
                    expected.to_bits(),
                    "{memory:e} + {data:e} in mode {mode}: {found:e}, not {expected:e}"
                );
            }
        }
    }
}

/// As on hardware. With strict accesses, these are faults: `faults_name_lane_and_address`.
#[test]
fn beyond_its_end_lds_reads_zero_and_keeps_nothing() {
    const FILLED: u64 = 0x0101_0101_0101_0101;
    for &level in Level::available() {
        let mut bench = Bench::new(64);
        bench.wave.access.strict_lds = false;
        let end = LDS as u32;
        let mut bench_for = |name: &str, dst: Operand, sources: [Operand; 4], offset: i32| {
            bench.lds.fill(FILLED);
            bench.exec(u64::MAX);
            for lane in 0..64 {
                // The lower lanes are inside, the others beyond the end, the last ones far beyond. Sums with
                // offsets do not wrap around to the start.
                let address = if lane < 32 { 64 * lane as u32 } else { end + 64 * (lane as u32 - 32) };
                bench.set(2, lane, if lane == 63 { 0xffff_ff00 } else { address });
                for register in 8..24 {
                    bench.set(register, lane, 0x5555_0080 + lane as u32);
                }
            }
            let instruction = inst(op(name), dst, sources, offset);
            assert_eq!(bench.run(&instruction, level), Flow::Next, "{name}");
            let read: Vec<u32> = (0..64).map(|lane| bench.get(16, lane)).collect();
            (read, bench.lds.to_vec())
        };
        let [address, data, second, none] =
            [Operand::Vgpr(2), Operand::Vgpr(8), Operand::Vgpr(12), Operand::None];
        for (name, inside) in [
            ("ds_load_u8", 0x01),
            ("ds_load_b32", 0x0101_0101),
            ("ds_load_b64", 0x0101_0101),
            ("ds_load_b96", 0x0101_0101),
            ("ds_load_b128", 0x0101_0101),
            ("ds_load_2addr_b32", 0x0101_0101),
        ] {
            let offset = if name.contains("2addr") { 1 << 8 } else { 0 };
            let (read, _) = bench_for(name, Operand::Vgpr(16), [address, none, none, none], offset);
            assert!(read[..32].iter().all(|&value| value == inside), "{name}: {read:x?}");
            assert!(read[32..].iter().all(|&value| value == 0), "{name}: {read:x?}");
        }
        for name in ["ds_add_rtn_u32", "ds_max_rtn_u64", "ds_storexchg_rtn_b32"] {
            let (read, lds) = bench_for(name, Operand::Vgpr(16), [address, data, none, none], 0);
            assert!(read[..32].iter().all(|&value| value == 0x0101_0101), "{name}: {read:x?}");
            assert!(read[32..].iter().all(|&value| value == 0), "{name}: {read:x?}");
            assert_eq!(lds.iter().filter(|&&word| word != FILLED).count(), 32, "{name}");
        }
        for (name, second) in [
            ("ds_store_b8", none),
            ("ds_store_b32", none),
            ("ds_store_b128", none),
            ("ds_store_2addr_b32", second),
        ] {
            let offset = if name.contains("2addr") { 1 << 8 } else { 0 };
            let (_, lds) = bench_for(name, none, [address, data, none, second], offset);
            let words = if name == "ds_store_b128" { 2 } else { 1 };
            assert_eq!(lds.iter().filter(|&&word| word != FILLED).count(), 32 * words, "{name}");
        }
        let (read, lds) = bench_for(
            "ds_storexchg_2addr_rtn_b32",
            Operand::Vgpr(16),
            [address, data, none, Operand::Vgpr(12)],
            1 << 8,
        );
        assert!(read[32..].iter().all(|&value| value == 0), "{read:x?}");
        assert_eq!(lds.iter().filter(|&&word| word != FILLED).count(), 32);
    }
}
