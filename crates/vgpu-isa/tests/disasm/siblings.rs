//! Processors that share a row's instruction set have the same instructions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use device_compiler::toolchain;
use test_skip::{Lack, skip};
use vgpu_isa::TARGETS;

use crate::text::{ILLEGAL, cases};

/// Where an ELF header has its flags, which differ by processor.
const FLAGS: std::ops::Range<usize> = 48..52;

/// Assembles for a processor; returns clang's output, and the object file if clang succeeds.
fn assemble(source: &Path, processor: &str, folder: &Path) -> (Output, Option<Vec<u8>>) {
    let place = folder.join(format!("{processor}.o"));
    let mut clang = toolchain::find().expect("found before").command();
    clang.args([
        "--target=amdgcn-amd-amdhsa",
        &format!("-mcpu={processor}"),
        "-ferror-limit=0",
        "-x",
        "assembler",
        "-c",
    ]);
    let told = clang.arg(source).arg("-o").arg(&place).output().expect("clang starts");
    let object = told.status.success().then(|| fs::read(&place).expect("what clang has written"));
    (told, object)
}

/// Clang assembles the lines of an instruction set to the same bytes for all its processors. The assembler
/// does not accept every line of the disassembler; lines that it refuses for the processor that the set is
/// named after are left out.
#[test]
fn llvm_assembles_the_same_code_for_siblings() {
    if let Err(why) = toolchain::find() {
        return skip(Lack::Tool, why);
    }
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let source = scratch.path().join("lines.s");
    let named = TARGETS.iter().filter(|target| target.isa.name() == target.name);
    for named in named {
        let siblings = TARGETS.iter().filter(|target| target.isa == named.isa && target.name != named.name);
        let siblings: Vec<_> = siblings.map(|target| target.name).collect();
        if siblings.is_empty() {
            continue;
        }
        let lines = cases(named.isa).into_iter().map(|case| case.text).filter(|text| text != ILLEGAL);
        let lines: Vec<String> = lines.collect();
        fs::write(&source, lines.join("\n") + "\n").expect("a file");
        let (told, _) = assemble(&source, named.name, scratch.path());
        let refused: BTreeSet<usize> = String::from_utf8_lossy(&told.stderr)
            .lines()
            .filter_map(|line| line.split_once("lines.s:")?.1.split_once(':')?.0.parse().ok())
            .collect();
        let taken = (1..).zip(&lines).filter(|(number, _)| !refused.contains(number));
        let taken: Vec<&str> = taken.map(|(_, line)| &line[..]).collect();
        assert!(taken.len() > lines.len() / 2, "{}: {} of {} lines", named.name, taken.len(), lines.len());
        fs::write(&source, taken.join("\n") + "\n").expect("a file");
        let object_for = |processor: &str| {
            let (told, object) = assemble(&source, processor, scratch.path());
            let mut object =
                object.unwrap_or_else(|| panic!("{processor}: {}", String::from_utf8_lossy(&told.stderr)));
            object[FLAGS].fill(0);
            object
        };
        let expected = object_for(named.name);
        for sibling in siblings {
            assert!(object_for(sibling) == expected, "{sibling} has other code than {}", named.name);
        }
    }
}
