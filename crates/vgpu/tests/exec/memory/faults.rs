//! Accesses that fault, and the contents of the faults.

use super::*;

#[test]
fn faults_name_lane_and_address() {
    for &level in Level::available() {
        let mut bench = Bench::new(64);
        let base = bench.memory.allocate(1000, 1, MemoryKind::Coarse, None).unwrap();
        let offsets: Vec<u32> = (0..64).map(|lane| lane * 16).collect();
        let [address, _] = aim(&mut bench, Place::Global, base, &offsets);
        bench.exec(u64::MAX);
        let sources = [address, Operand::Vgpr(8), Operand::None, Operand::None];
        let load = inst(Op::GlobalLoadB128, Operand::Vgpr(8), sources, 0);
        assert_eq!(bench.run(&load, level), Flow::Fault);
        let (kind, lane) = bench.fault();
        assert_eq!(lane, Some(62));
        let FaultKind::OutOfBounds { access: AccessKind::Read, address, size: 16, nearest: Some(near) } =
            kind
        else {
            panic!("{kind:?}")
        };
        assert_eq!((address, near.start, near.size), (base + 62 * 16, base, 1000));
        // The lane beyond the end is disabled, so there is no fault.
        bench.exec(u64::MAX >> 2);
        assert_eq!(bench.run(&load, level), Flow::Next);

        let freed = bench.memory.allocate(64, 1, MemoryKind::Coarse, None).unwrap();
        // SAFETY: nobody else knows the address.
        unsafe { bench.memory.free(freed) }.unwrap();
        aim(&mut bench, Place::Global, freed, &[0; 64]);
        bench.wave.access.begin_slice(bench.memory.enter(&bench.reader));
        bench.exec(1 << 9);
        let sources = [Operand::Vgpr(2), Operand::Vgpr(8), Operand::None, Operand::None];
        let store = inst(Op::GlobalStoreB8, Operand::None, sources, 3);
        assert_eq!(bench.run(&store, level), Flow::Fault);
        let (kind, lane) = bench.fault();
        assert!(
            matches!(kind, FaultKind::UseAfterFree { access: AccessKind::Write, size: 1, .. }),
            "{kind:?}"
        );
        assert_eq!(lane, Some(9));

        aim(&mut bench, Place::Global, base, &[2; 64]);
        let atomic = inst(Op::GlobalAtomicAddU32, Operand::None, sources, 0);
        assert_eq!(bench.run(&atomic, level), Flow::Fault);
        let (kind, _) = bench.fault();
        assert!(matches!(kind, FaultKind::Misaligned { space: Space::Global, required: 4, .. }), "{kind:?}");

        for lane in 0..64 {
            bench.set(2, lane, LDS as u32 - 4 * lane as u32);
        }
        bench.exec(u64::MAX);
        let lds = inst(Op::DsLoadB32, Operand::Vgpr(8), sources, 4);
        assert_eq!(bench.run(&lds, level), Flow::Fault);
        let (kind, lane) = bench.fault();
        assert_eq!(lane, Some(0));
        assert!(
            matches!(kind, FaultKind::BeyondLimit { space: Space::Lds, address: 4100, limit: 4096, .. }),
            "{kind:?}"
        );
        let scratch = inst(Op::ScratchStoreB32, Operand::None, sources, 0);
        assert_eq!(bench.run(&scratch, level), Flow::Fault);
        assert!(matches!(bench.fault().0, FaultKind::BeyondLimit { space: Space::Scratch, .. }));
    }
}
