//! Generated programs, compiled by the same compiler for the CPU and for every target, must leave the same
//! bytes in memory.
//!
//! `FERROCM_DIFFERENTIAL_SEEDS=1000..1200` runs other programs than the default ones, on all targets; the
//! default ones run on one target of each generation.

mod generate;
mod host;

use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use generate::{INPUT_WORDS, ITEM_BYTES, Kind, Program, SHARED_WORDS};

use super::common::{Arg, Gpu, Random, TARGETS};
use test_skip::{Lack, skip};
use vgpu::machine::Checks;

/// The variable that selects the programs to run.
const SEEDS: &str = "FERROCM_DIFFERENTIAL_SEEDS";

/// The number of programs in one source file.
const PER_FILE: u64 = 2;

/// The memory after a program has run.
#[derive(PartialEq, Eq)]
struct Left {
    out: Vec<u8>,
    shared: Vec<u64>,
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var(SEEDS) else { return 0..PER_FILE };
    let range = text.split_once("..").and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    range.unwrap_or_else(|| panic!("FERROCM_DIFFERENTIAL_SEEDS is `{text}`, not a range such as `0..100`"))
}

/// Writes programs to a folder that no other test uses, several to a file.
fn write(name: &str, files: &[Vec<Program>]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("differential-{name}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (index, programs) in files.iter().enumerate() {
        let mut source = include_str!("differential/prelude.h").to_owned();
        for program in programs {
            let _ = write!(source, "\n{}", program.source);
        }
        let path = folder.join(format!("programs_{index}.cu"));
        // An existing file was generated from the same seeds.
        if std::fs::read_to_string(&path).is_ok_and(|there| there == source) {
            continue;
        }
        std::fs::write(path, source).expect("a source file");
    }
    folder
}

/// The input words, the same for every program: special values of all formats, then arbitrary ones.
fn input() -> Vec<u32> {
    let corners = [
        0,
        1,
        u32::MAX,
        i32::MAX as u32,
        1 << 31,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f80_0001,
        0x0080_0000,
        0x007f_ffff,
        0x8000_0001,
        0x3f80_0000,
        0x7bff_7c00,
        0x7e00_fc01,
        0x0001_03ff,
    ];
    let mut random = Random(7);
    let mut words = corners.to_vec();
    words.extend((corners.len()..INPUT_WORDS).map(|i| {
        let word = (random.next() >> 32) as u32;
        if i % 3 == 0 { word >> (word % 31) } else { word }
    }));
    words
}

fn shared() -> Vec<u64> {
    (0..SHARED_WORDS as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

fn on_device(gpu: &Gpu, program: &Program, checks: Option<Checks>) -> Left {
    let items = (program.groups * program.group_size) as usize;
    let (input, shared) = (gpu.upload(&input()), gpu.upload(&shared()));
    let out = gpu.upload(&vec![0u8; items * ITEM_BYTES]);
    let args = [Arg::Pointer(input), Arg::Pointer(out), Arg::Pointer(shared)];
    let (grid, group) = ([program.groups * program.group_size, 1, 1], [program.group_size, 1, 1]);
    let mut dispatch = gpu.prepare(&program.name, grid, group, 0, &args);
    dispatch.checks = checks;
    if let Err(error) = gpu.dispatch(&dispatch) {
        panic!("{} on {}: {error}", program.name, gpu.device.target().name);
    }
    Left { out: gpu.download(out, items * ITEM_BYTES), shared: gpu.download(shared, SHARED_WORDS) }
}

/// The first difference, or none.
fn difference(expected: &Left, found: &Left) -> Option<String> {
    let bytes = expected.out.iter().zip(&found.out).position(|(a, b)| a != b);
    if let Some(at) = bytes {
        let start = at & !7;
        let word = |left: &Left| u64::from_le_bytes(std::array::from_fn(|i| left.out[start + i]));
        return Some(format!(
            "work-item {}, byte {}: {:#018x} on the CPU, {:#018x} on the device",
            start / ITEM_BYTES,
            start % ITEM_BYTES,
            word(expected),
            word(found)
        ));
    }
    let at = expected.shared.iter().zip(&found.shared).position(|(a, b)| a != b)?;
    Some(format!(
        "atomic variable {at}: {:#018x} on the CPU, {:#018x} on the device",
        expected.shared[at], found.shared[at]
    ))
}

/// How programs are compiled and run.
#[derive(Clone, Copy)]
struct How {
    targets: &'static [&'static str],
    /// An additional compiler flag.
    flag: Option<&'static str>,
    /// The checks to run with, one run for each.
    checks: &'static [Option<Checks>],
}

/// The usual way. No program has a race or uses uninitialised values; device memory counts as written here.
fn usual() -> How {
    let targets = if std::env::var_os(SEEDS).is_some() { TARGETS } else { ONE_OF_EACH };
    How { targets, flag: None, checks: &[None, Some(Checks::ALL)] }
}

/// One target of each generation.
const ONE_OF_EACH: &[&str] = &["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"];

/// Compares all programs of a kind.
fn compare(kind: Kind) {
    let seeds = seeds();
    let name = format!("{kind:?}-{}-{}", seeds.start, seeds.end).to_lowercase();
    let programs =
        |first| (first..seeds.end.min(first + PER_FILE)).map(|seed| generate::program(kind, seed)).collect();
    let files: Vec<_> = seeds.clone().step_by(PER_FILE as usize).map(programs).collect();
    compare_as(&name, &files, usual());
}

/// Compares the first program of every kind, all in one file.
fn compare_first(flag: &'static str, targets: &'static [&'static str]) {
    let first = seeds().start;
    let programs = Kind::ALL.map(|kind| generate::program(kind, first));
    let how = How { targets, flag: Some(flag), checks: &[None] };
    compare_as(&format!("first-{first}{flag}").to_lowercase(), &[programs.into()], how);
}

fn compare_as(name: &str, files: &[Vec<Program>], how: How) {
    let folder = write(name, files);
    let programs: Vec<&Program> = files.iter().flatten().collect();
    let builder = how.flag.into_iter().fold(kernel_build::Builder::new(&folder), kernel_build::Builder::flag);
    let builder = builder
        .targets(how.targets)
        .jobs(2)
        .flag("-ffp-contract=off")
        .flag("-fwrapv")
        .flag("-fno-strict-aliasing")
        .flag("-w");
    let build = match builder.build() {
        Ok(build) => build,
        Err(error) => {
            let why = error.to_string();
            assert!(!why.contains("error:"), "{why}");
            skip(Lack::Tool, why);
            return;
        }
    };
    let host = match host::Host::build(build.toolchain.as_ref().expect("what compiled it"), &folder) {
        Ok(host) => host,
        Err(why) => {
            skip(Lack::Tool, why);
            return;
        }
    };
    let mut wrong = String::new();
    let expected: Vec<_> = programs.iter().map(|program| host.run(program)).collect();
    for target in how.targets {
        for module in &build.modules {
            let object = module.objects.iter().find(|object| object.target.processor == *target);
            let gpu = Gpu::load(target, &object.expect("code for the target").bytes);
            for (program, expected) in programs.iter().zip(&expected) {
                if !module.kernels.contains(&program.name) {
                    continue;
                }
                for &checks in how.checks {
                    if let Some(difference) = difference(expected, &on_device(&gpu, program, checks)) {
                        let _ = writeln!(wrong, "{} on {target} {:?}: {difference}", program.name, how.flag);
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "sources are in {}\n{wrong}", folder.display());
}

#[test]
fn integers_are_those_of_the_cpu() {
    compare(Kind::Integers);
}

#[test]
fn floats_are_those_of_the_cpu() {
    compare(Kind::Floats);
}

#[test]
fn branches_go_where_the_cpu_goes() {
    compare(Kind::Branches);
}

#[test]
fn lds_holds_what_the_cpu_holds() {
    compare(Kind::Lds);
}

#[test]
fn atomics_add_up_as_on_the_cpu() {
    compare(Kind::Atomics);
}

#[test]
fn calls_return_what_they_return_on_the_cpu() {
    compare(Kind::Calls);
}

#[test]
fn code_that_is_not_optimised_does_the_same() {
    compare_first("-O0", ONE_OF_EACH);
}

#[test]
fn code_that_is_little_optimised_does_the_same() {
    compare_first("-O1", ONE_OF_EACH);
}

/// CDNA only has waves of 64; waves of the other targets usually have 32 lanes.
#[test]
fn waves_of_64_do_the_same() {
    compare_first("-mwavefrontsize64", &["gfx1030", "gfx1100", "gfx1201"]);
}

#[test]
fn every_kind_has_a_test_and_programs_differ() {
    let sources: std::collections::BTreeSet<_> =
        Kind::ALL.iter().flat_map(|kind| (0..4).map(|seed| generate::program(*kind, seed).source)).collect();
    assert_eq!(sources.len(), 4 * Kind::ALL.len());
}
