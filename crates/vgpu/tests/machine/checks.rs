//! Checks that are off by default: uninitialised values, data races in LDS, and barriers that not all waves
//! reach.
use std::sync::{Mutex, PoisonError};

use crate::common::{Arg, Gpu, on_all};
use vgpu::machine::{
    AccessKind, Checks, DispatchError, Fault, FaultKind, Machine, MemoryKind, Origin, Site, Space, Use,
};

const SOURCE: &str = include_str!("../device/checks.cu");

/// The number of the source line marked with a name.
fn line(name: &str) -> u32 {
    let mark = format!("// HERE {name}");
    let at = SOURCE.lines().position(|line| line.ends_with(&mark));
    at.unwrap_or_else(|| panic!("no line is marked {name}")) as u32 + 1
}

/// The line in the test's source, whatever was inlined into it.
fn line_of(site: &Site) -> Option<u32> {
    let here = site.source.frames().iter().find(|frame| frame.file.as_deref() == Some("checks.cu"));
    here.and_then(|frame| frame.line)
}

/// Runs one workgroup of 256 work-items with checks.
fn run(gpu: &Gpu, kernel: &str, checks: Checks, args: &[Arg<'_>]) -> Result<(), Box<Fault>> {
    let mut dispatch = gpu.prepare(kernel, [256, 1, 1], [256, 1, 1], 0, args);
    dispatch.checks = Some(checks);
    match gpu.dispatch(&dispatch) {
        Ok(_) => Ok(()),
        Err(DispatchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{kernel} on {}: {error}", gpu.device.target().name),
    }
}

/// A dispatch without these checks makes all values count as written, in the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const VALUES: Checks = Checks { uninitialised: true, ..Checks::NONE };
const RACES: Checks = Checks { races: true, ..Checks::NONE };
const OUTPUTS: Checks = Checks { outputs: true, ..Checks::NONE };
const BARRIERS: Checks = Checks { barriers: true, ..Checks::NONE };

/// Expects that nothing is wrong with a kernel.
fn is_right(gpu: &Gpu, kernel: &str, checks: Checks, args: &[Arg<'_>]) {
    if let Err(fault) = run(gpu, kernel, checks, args) {
        panic!("{kernel} on {}: {fault}", gpu.device.target().name);
    }
}

/// Expects that a kernel uses an uninitialised value: for what, at which line, and where the value was
/// loaded.
fn is_unwritten(gpu: &Gpu, kernel: &str, args: &[Arg<'_>], expected: (Use, &str), loaded: &str) -> Origin {
    let target = gpu.device.target().name;
    // Without the check, it runs.
    is_right(gpu, kernel, RACES, args);
    let fault = run(gpu, kernel, VALUES, args).expect_err(kernel);
    let FaultKind::Uninitialised { used, origin } = &fault.kind else {
        panic!("{kernel} on {target}: {fault}")
    };
    assert_eq!(
        (*used, line_of(&fault.at)),
        (expected.0, Some(line(expected.1))),
        "{kernel} on {target}: {fault}"
    );
    if !loaded.is_empty() {
        let (what, site) = fault.other.as_ref().unwrap_or_else(|| panic!("{kernel} on {target}: {fault}"));
        assert_eq!(
            (&**what, line_of(site)),
            ("the value was loaded here", Some(line(loaded))),
            "{target}: {fault}"
        );
    }
    origin.clone()
}

/// Device memory is checked if it was allocated while the check was on, which applies to the whole process.
/// So a single test does all of these, and the others do not depend on it.
#[test]
fn values_that_nobody_wrote() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    Machine::global().set_checks(VALUES);
    on_all("checks", |gpu| {
        let fresh = || Arg::Pointer(gpu.alloc(1024));
        let zeros = Arg::Pointer(gpu.upload(&[0i32; 256]));
        let out = zeros;

        // Written by the host, also with zeros; by a kernel; by a copy.
        is_right(gpu, "branch_on_memory", VALUES, &[zeros, out]);
        let filled = fresh();
        is_right(gpu, "fill", VALUES, &[filled, Arg::I32(0)]);
        is_right(gpu, "branch_on_memory", VALUES, &[filled, out]);
        let copied = fresh();
        is_right(gpu, "copy", VALUES, &[filled, copied]);
        is_right(gpu, "branch_on_memory", VALUES, &[copied, out]);

        let flow = |name| (Use::ControlFlow, name);
        let Arg::Pointer(address) = fresh() else { unreachable!() };
        // Writes of an unchecked dispatch are not tracked, so everything counts as written after it.
        let args = [Arg::Pointer(address), out];
        let fault = run(gpu, "branch_on_memory", VALUES, &args).expect_err("branch_on_memory");
        let text = fault.to_string();
        let FaultKind::Uninitialised {
            used: Use::ControlFlow,
            origin: Origin::Memory { space, size, allocation, .. },
        } = &fault.kind
        else {
            panic!("{text}")
        };
        assert_eq!((*space, *size), (Space::Global, 4), "{text}");
        assert_eq!(
            allocation.as_ref().map(|found| (found.start, found.size)),
            Some((address, 1024)),
            "{text}"
        );
        assert_eq!(line_of(&fault.at), Some(line("branch")), "{text}");
        let (_, loaded) = fault.other.as_ref().expect("the load");
        assert_eq!(line_of(loaded), Some(line("load")), "{text}");
        assert!(text.contains("control flow depends on a value that nobody wrote"), "{text}");
        assert!(text.contains("bytes into 1024 bytes of device memory"), "{text}");

        // Moving is not a use.
        let moved = fresh();
        is_right(gpu, "copy", VALUES, &[Arg::Pointer(address), moved]);
        let fault = run(gpu, "branch_on_memory", VALUES, &[moved, out]).expect_err("what was moved");
        assert_eq!(line_of(&fault.at), Some(line("branch")), "{fault}");
        is_right(gpu, "copy_padded", VALUES, &[Arg::Pointer(gpu.alloc(2048)), Arg::Pointer(gpu.alloc(2048))]);

        // Parts of a word.
        let Arg::Pointer(words) = fresh() else { unreachable!() };
        for word in 0..256 {
            gpu.device.memory().wrote(words + 4 * word, 1);
        }
        is_right(gpu, "masked", VALUES, &[Arg::Pointer(words), out]);
        let fault = run(gpu, "shifted", VALUES, &[Arg::Pointer(words), out]).expect_err("shifted");
        assert!(matches!(fault.kind, FaultKind::Uninitialised { used: Use::ControlFlow, .. }), "{fault}");
        assert!(run(gpu, "branch_on_memory", VALUES, &[Arg::Pointer(words), out]).is_err());

        let fault = run(gpu, "uniform_branch", VALUES, &[fresh(), out]).expect_err("uniform_branch");
        assert_eq!(line_of(&fault.at), Some(line("uniform")), "{fault}");
        let fault =
            run(gpu, "address_from_memory", VALUES, &[fresh(), out]).expect_err("address_from_memory");
        assert!(matches!(fault.kind, FaultKind::Uninitialised { used: Use::Address, .. }), "{fault}");
        assert_eq!(line_of(&fault.at), Some(line("indexed")), "{fault}");
        let fault = run(gpu, "counted", VALUES, &[fresh(), out]).expect_err("counted");
        assert_eq!(line_of(&fault.at), Some(line("atomic branch")), "{fault}");
        is_right(gpu, "counted", VALUES, &[Arg::Pointer(gpu.upload(&[0i32; 8])), out]);

        // Lanes that read other lanes.
        let numbers = Arg::Pointer(gpu.upload(&[0i32; 256]));
        for (kernel, branch, load) in [
            ("through_permute", "permute", "permuted load"),
            ("through_dpp", "dpp", "dpp load"),
            ("through_matrix", "matrix", "matrix load"),
        ] {
            is_right(gpu, kernel, VALUES, &[numbers, out]);
            let fault = run(gpu, kernel, VALUES, &[fresh(), out]).expect_err(kernel);
            let target = gpu.device.target().name;
            assert_eq!(line_of(&fault.at), Some(line(branch)), "{kernel} on {target}: {fault}");
            let (_, loaded) = fault.other.as_ref().unwrap_or_else(|| panic!("{kernel}: {fault}"));
            assert_eq!(line_of(loaded), Some(line(load)), "{kernel} on {target}: {fault}");
        }
        is_right(gpu, "dpp_of_known", VALUES, &[fresh(), out]);
        is_right(gpu, "byte_to_float", VALUES, &[Arg::Pointer(words), out]);
        assert!(run(gpu, "byte_to_float", VALUES, &[fresh(), out]).is_err());
        is_right(gpu, "mixed_halves", VALUES, &[numbers, out]);
        assert!(run(gpu, "mixed_halves", VALUES, &[fresh(), out]).is_err());
        for half in ["mixed_half", "other_mixed_half"] {
            let fault = run(gpu, half, VALUES, &[numbers, out]).expect_err(half);
            assert!(matches!(fault.kind, FaultKind::Uninitialised { used: Use::ControlFlow, .. }), "{fault}");
        }

        // LDS, scratch memory and registers.
        is_right(gpu, "lds_unwritten", VALUES, &[out, Arg::I32(256)]);
        let origin =
            is_unwritten(gpu, "lds_unwritten", &[out, Arg::I32(255)], flow("lds branch"), "lds load");
        assert!(matches!(origin, Origin::Memory { space: Space::Lds, address: 1020, .. }), "{origin}");
        is_right(gpu, "scratch_unwritten", VALUES, &[out, Arg::I32(8), Arg::I32(7)]);
        let args = [out, Arg::I32(8), Arg::I32(9)];
        let origin = is_unwritten(gpu, "scratch_unwritten", &args, flow("scratch branch"), "scratch load");
        assert!(matches!(origin, Origin::Memory { space: Space::Scratch, .. }), "{origin}");
        let origin = is_unwritten(gpu, "register_unwritten", &[out], flow("register"), "");
        assert_eq!(origin, Origin::Register { name: "v77".to_owned() });

        // If several waves load, the report names the one that uses the loaded value, with the word that it
        // loaded.
        let wave = gpu.wave() as u64;
        let named = |fault: &Fault, branch: &str, load: &str, at: u64| {
            assert_eq!(line_of(&fault.at), Some(line(branch)), "{fault}");
            let (_, loaded) = fault.other.as_ref().expect("the load");
            assert_eq!(line_of(loaded), Some(line(load)), "{fault}");
            assert_eq!((loaded.wave, loaded.lane), (fault.at.wave, fault.at.lane), "{fault}");
            let item = u64::from(fault.at.wave) * wave + u64::from(fault.at.lane.expect("a lane"));
            assert_eq!(fault.kind.address(), Some(at + 4 * (255 - item)), "{fault}");
            item
        };
        let fault = run(gpu, "lds_used_after_barrier", VALUES, &[out, Arg::I32(0)]).expect_err("LDS");
        assert_eq!(named(&fault, "many lds branch", "many lds load", 0), 0, "{fault}");
        for missing in [3u64, 100, 255] {
            let Arg::Pointer(words) = fresh() else { unreachable!() };
            let rest = 255 - missing;
            gpu.device.memory().wrote(words, 4 * rest);
            gpu.device.memory().wrote(words + 4 * rest + 4, 4 * missing);
            let args = [Arg::Pointer(words), out];
            let fault = run(gpu, "used_after_barrier", VALUES, &args).expect_err("memory");
            assert_eq!(named(&fault, "many branch", "many load", words), missing, "{fault}");
        }
        is_right(gpu, "reduce", Checks::ALL, &[Arg::Pointer(gpu.upload(&[0i32; 256])), out]);
    });
    Machine::global().set_checks(Checks::NONE);
}

#[test]
fn data_races_in_lds() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    on_all("checks", |gpu| {
        let out = Arg::Pointer(gpu.alloc(1024));
        let race = |kernel: &str, arg, kinds: (AccessKind, AccessKind), lines: (&str, &str)| {
            let target = gpu.device.target().name;
            let args = [out, Arg::I32(arg)];
            let fault = run(gpu, kernel, RACES, &args).expect_err(kernel);
            let FaultKind::Race { access, other, .. } = fault.kind else {
                panic!("{kernel} on {target}: {fault}")
            };
            assert_eq!((access, other), kinds, "{kernel} on {target}: {fault}");
            let (what, site) = fault.other.as_ref().expect("the other access");
            assert_eq!(*what, "the other access");
            let found = (line_of(&fault.at), line_of(site));
            assert_eq!(found, (Some(line(lines.0)), Some(line(lines.1))), "{kernel} on {target}: {fault}");
            // The report names both work-items, and they differ.
            assert!(fault.at.work_item.is_some() && site.work_item.is_some(), "{fault}");
            assert_ne!(fault.at.work_item, site.work_item, "{fault}");
            assert!(fault.to_string().contains("data race: "), "{fault}");
        };
        let right = |kernel: &str, arg| is_right(gpu, kernel, RACES, &[out, Arg::I32(arg)]);
        let (read, write) = (AccessKind::Read, AccessKind::Write);
        right("neighbours", 1);
        // Waves run one after another: the first reads before the others write.
        race("neighbours", 0, (write, read), ("write", "read"));
        right("rounds", 1);
        race("rounds", 0, (write, read), ("next write", "last read"));
        race("same_byte", 0, (write, write), ("same", "same"));
        right("counted_in_lds", 1);
        // All waves read before one of them writes.
        race("counted_in_lds", 0, (write, read), ("count", "count"));
        right("locked", 1);
        race("locked", 0, (write, read), ("guarded", "guarded"));
        let numbers = Arg::Pointer(gpu.upload(&[1i32; 256]));
        is_right(gpu, "reduce", RACES, &[numbers, out]);
        right("read_by_many", 1);
        race("read_by_many", 0, (write, read), ("after many", "one of many"));
        if ["gfx90a", "gfx1030"].contains(&gpu.device.target().name) {
            right("met_by_wave_sync", 3);
        }
        if gpu.device.target().name == "gfx1201" {
            race("late_at_barrier", 20, (read, write), ("late", "past the barrier"));
            right("other_barrier", 0);
        }
    });
}

/// Expects a kernel with a barrier that not all waves reach: how many do, at which line, and where another
/// wave is.
fn diverges(gpu: &Gpu, kernel: &str, args: &[Arg<'_>]) -> (u32, Option<u32>, String, Option<u32>) {
    let target = gpu.device.target().name;
    // Without the check, it runs.
    is_right(gpu, kernel, Checks::NONE, args);
    let fault = run(gpu, kernel, BARRIERS, args).expect_err(kernel);
    let FaultKind::DivergentBarrier { arrived, waves } = fault.kind else {
        panic!("{kernel} on {target}: {fault}")
    };
    assert_eq!(waves as usize, 256 / gpu.wave(), "{fault}");
    assert!(fault.to_string().contains("divergent barrier: "), "{fault}");
    let (what, site) = fault.other.as_ref().unwrap_or_else(|| panic!("{kernel} on {target}: {fault}"));
    assert_ne!(site.wave, fault.at.wave, "{fault}");
    (arrived, line_of(&fault.at), what.to_string(), line_of(site))
}

#[test]
fn barriers_that_not_all_waves_come_to() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    on_all("checks", |gpu| {
        let out = Arg::Pointer(gpu.alloc(1024));
        let waves = 256 / gpu.wave() as u32;
        for (kernel, arg) in [("early_end", 0), ("two_barriers", 0), ("unequal_rounds", 0), ("rounds", 1)] {
            is_right(gpu, kernel, BARRIERS, &[out, Arg::I32(arg)]);
        }
        is_right(gpu, "locked", BARRIERS, &[out, Arg::I32(1)]);
        let numbers = Arg::Pointer(gpu.upload(&[1i32; 256]));
        is_right(gpu, "reduce", BARRIERS, &[numbers, out]);

        let (arrived, _, what, other) = diverges(gpu, "early_end", &[out, Arg::I32(1)]);
        assert_eq!(
            (arrived, &*what, other),
            (waves - 64 / gpu.wave() as u32, "a wave waits at the barrier", Some(line("barrier of some")),)
        );
        let (arrived, at, what, other) = diverges(gpu, "two_barriers", &[out, Arg::I32(1)]);
        let places = (Some(line("another barrier")), Some(line("one barrier")));
        assert_eq!((arrived, &*what, (at, other)), (waves / 2 + 1, "a wave reached another barrier", places));
        let (_, at, what, _) = diverges(gpu, "unequal_rounds", &[out, Arg::I32(1)]);
        assert_eq!((at, &*what), (Some(line("unequal")), "a wave ended without reaching it"));
    });
}

#[test]
fn barriers_that_not_all_lanes_come_to() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    on_all("checks", |gpu| {
        let (out, target) = (Arg::Pointer(gpu.alloc(1024)), gpu.device.target().name);
        for kernel in ["odd_lanes", "both_ways", "lanes_leave"] {
            is_right(gpu, kernel, BARRIERS, &[out, Arg::I32(0)]);
        }
        // Lanes that have returned are not reported. A workgroup may end with a part of a wave.
        is_right(gpu, "lanes_return", BARRIERS, &[out, Arg::I32(0)]);
        for size in [1, 100, 200] {
            let mut dispatch = gpu.prepare("odd_lanes", [size, 1, 1], [size, 1, 1], 0, &[out, Arg::I32(0)]);
            dispatch.checks = Some(BARRIERS);
            gpu.dispatch(&dispatch).unwrap_or_else(|error| panic!("{size} on {target}: {error}"));
        }
        let half = gpu.wave() as u32 / 2;
        for (kernel, places, arrived) in [
            ("odd_lanes", ("after odd barrier", "odd barrier"), half),
            ("lanes_leave", ("after loop", "left barrier"), half / 2 * 3),
        ] {
            let args = [out, Arg::I32(1)];
            is_right(gpu, kernel, Checks::NONE, &args);
            let fault = run(gpu, kernel, BARRIERS, &args).expect_err(kernel);
            let FaultKind::DivergentLanes { arrived: found, lanes } = fault.kind else {
                panic!("{kernel} on {target}: {fault}")
            };
            assert_eq!((found, lanes as usize), (arrived, gpu.wave()), "{kernel} on {target}: {fault}");
            assert_eq!(fault.at.lane, Some(0), "{kernel} on {target}: {fault}");
            let (what, site) = fault.other.as_ref().expect("the barrier");
            assert_eq!(*what, "other lanes reached this barrier without it");
            let found = (line_of(&fault.at), line_of(site));
            assert_eq!(found, (Some(line(places.0)), Some(line(places.1))), "{kernel} on {target}: {fault}");
        }
        // Which way comes first is the compiler's choice.
        is_right(gpu, "both_ways", Checks::NONE, &[out, Arg::I32(1)]);
        let fault = run(gpu, "both_ways", BARRIERS, &[out, Arg::I32(1)]).expect_err("both_ways");
        assert!(
            matches!(fault.kind, FaultKind::DivergentLanes { arrived, .. } if arrived == half),
            "{fault}"
        );
        let (_, site) = fault.other.as_ref().expect("the barrier");
        let mut ways = [line_of(&fault.at), line_of(site)];
        ways.sort();
        assert_eq!(ways, [Some(line("one way")), Some(line("other way"))], "{target}: {fault}");
        assert!(fault.to_string().contains("lanes of a wave reached it, and others go on"), "{fault}");
    });
}

#[test]
fn values_that_nobody_wrote_and_a_kernel_stores() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    Machine::global().set_checks(OUTPUTS);
    on_all("checks", |gpu| {
        let target = gpu.device.target().name;
        let fresh = || gpu.alloc(2048);
        let out = Arg::Pointer(gpu.upload(&[0i32; 512]));
        let zeros = Arg::Pointer(gpu.upload(&[0i32; 256]));
        let filled = Arg::Pointer(fresh());
        is_right(gpu, "fill", OUTPUTS, &[filled, Arg::I32(0)]);
        for kernel in ["doubled", "copied", "through_lds", "selected"] {
            is_right(gpu, kernel, OUTPUTS, &[zeros, out]);
            is_right(gpu, kernel, OUTPUTS, &[filled, out]);
        }
        // Each of the two checks ignores what the other finds.
        is_right(gpu, "branch_on_memory", OUTPUTS, &[Arg::Pointer(fresh()), out]);
        is_right(gpu, "doubled", VALUES, &[Arg::Pointer(fresh()), Arg::Pointer(fresh())]);

        for (kernel, store, load) in [
            ("doubled", "doubled store", "doubled load"),
            ("copied", "copied store", "copied load"),
            ("through_lds", "passed store", "passed load"),
        ] {
            // All words but one were written.
            for missing in [0u64, 99, 255] {
                let from = fresh();
                gpu.device.memory().wrote(from, 4 * missing);
                gpu.device.memory().wrote(from + 4 * missing + 4, 4 * (255 - missing));
                let fault = run(gpu, kernel, OUTPUTS, &[Arg::Pointer(from), out]).expect_err(kernel);
                let FaultKind::Uninitialised { used: Use::Output, origin: Origin::Memory { address, .. } } =
                    fault.kind
                else {
                    panic!("{kernel} on {target}: {fault}")
                };
                let item = if kernel == "through_lds" { 255 - missing } else { missing };
                let word = if kernel == "through_lds" { 4 * missing } else { from + 4 * missing };
                assert_eq!(address, word, "{kernel} on {target}: {fault}");
                assert_eq!(fault.at.work_item, Some([item as u32, 0, 0]), "{kernel} on {target}: {fault}");
                assert_eq!(line_of(&fault.at), Some(line(store)), "{kernel} on {target}: {fault}");
                let (_, loaded) = fault.other.as_ref().expect("the load");
                assert_eq!(line_of(loaded), Some(line(load)), "{kernel} on {target}: {fault}");
                assert!(
                    fault.to_string().contains("what is stored depends on a value that nobody wrote"),
                    "{fault}"
                );
            }
        }
        let part = fresh();
        gpu.device.memory().wrote(part, 400);
        is_right(gpu, "selected", OUTPUTS, &[Arg::Pointer(part), out]);
        let fault = run(gpu, "counts", OUTPUTS, &[Arg::Pointer(fresh())]).expect_err("counts");
        assert_eq!(line_of(&fault.at), Some(line("counts")), "{fault}");

        // Padding may be copied; memory without any fields may not.
        let padded = fresh();
        for at in 0..256 {
            gpu.device.memory().wrote(padded + 8 * at, 1);
            gpu.device.memory().wrote(padded + 8 * at + 4, 4);
        }
        is_right(gpu, "copy_padded", OUTPUTS, &[Arg::Pointer(padded), out]);
        assert!(run(gpu, "copy_padded", OUTPUTS, &[Arg::Pointer(fresh()), out]).is_err());

        // Reused memory counts as uninitialised.
        let memory = gpu.device.memory();
        let allocate = || memory.allocate(1024, 256, MemoryKind::Coarse, Some(gpu.device.index())).unwrap();
        let first = allocate();
        is_right(gpu, "fill", OUTPUTS, &[Arg::Pointer(first), Arg::I32(1)]);
        is_right(gpu, "copied", OUTPUTS, &[Arg::Pointer(first), out]);
        gpu.free(first);
        let again = allocate();
        assert!(run(gpu, "copied", OUTPUTS, &[Arg::Pointer(again), out]).is_err());
        gpu.free(again);
    });
    Machine::global().set_checks(Checks::NONE);
}
