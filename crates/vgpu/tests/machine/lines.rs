//! Debug information in all its forms, and damaged debug information.
use crate::common::{Random, TARGETS};
use code_object::CodeObject;
use test_skip::{Lack, skip};
use vgpu::machine::{LoadedCode, Machine, SourceLines};

/// `tests/lines/first.cu`, compiled with these options; none without a toolchain.
fn compile(options: &[&str], target: &str) -> Option<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lines");
    let mut builder = kernel_build::Builder::new(folder).targets([target]).jobs(1);
    for option in options {
        builder = builder.flag(option);
    }
    match builder.build() {
        Ok(build) => Some(build.modules[0].objects[0].bytes.clone()),
        Err(error) => {
            assert!(!error.to_string().contains("error:"), "{error}");
            skip(Lack::Tool, error);
            None
        }
    }
}

fn load(bytes: &[u8], target: &str) -> std::sync::Arc<LoadedCode> {
    let machine = Machine::global();
    let index = machine.attach(&target.parse().unwrap()).unwrap();
    machine.device(index).unwrap().load(bytes, &mut |_| None).unwrap()
}

/// The offsets of a kernel's instructions.
fn offsets(code: &CodeObject) -> std::ops::Range<u64> {
    let symbol = code.symbol("_Z5firstPi").unwrap();
    symbol.value..symbol.value + symbol.size
}

/// The source lines of the kernel's instructions, with function names.
fn found(code: &LoadedCode) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for offset in offsets(code.object()).step_by(4) {
        for frame in code.source_at(offset).frames() {
            if frame.file.as_deref() != Some("first.cu") {
                // A line of a header.
                continue;
            }
            let entry = (frame.function.clone().unwrap_or_default(), frame.line.unwrap_or(0));
            if !found.contains(&entry) {
                found.push(entry);
            }
        }
    }
    found
}

#[test]
fn every_form_tells_the_lines() {
    let full = [("Place<int>::set(int)", 4), ("first(int*)", 7)];
    let short = [("set", 4), ("first", 7)];
    let forms = [
        (&[][..], short),
        (&["-g", "-gz=none"], full),
        (&["-g", "-gz=zlib"], full),
        (&["-g", "-gz=zstd"], full),
        (&["-g", "-gdwarf-4"], full),
        (&["-g", "-gdwarf64"], full),
        (&["-gline-tables-only"], short),
    ];
    let all = TARGETS.iter().map(|target| (*target, forms[1]));
    for (target, (options, expected)) in all.chain(forms.iter().map(|form| ("gfx1100", *form))) {
        let Some(bytes) = compile(options, target) else { return };
        let code = load(&bytes, target);
        assert!(code.object().has_debug_info());
        let found = found(&code);
        for (function, line) in expected {
            assert!(
                found.contains(&(function.to_owned(), line)),
                "{options:?} on {target}: {function}:{line} is missing in {found:?}"
            );
        }
        assert_eq!(code.source_at(3), SourceLines::NotCovered);
    }
}

#[test]
fn code_without_debug_information_says_so() {
    let Some(bytes) = compile(&["-g0"], "gfx1100") else { return };
    let code = load(&bytes, "gfx1100");
    assert!(!code.object().has_debug_info());
    assert_eq!(code.source_at(offsets(code.object()).start), SourceLines::NoDebugInfo);
    assert!(SourceLines::NoDebugInfo.to_string().contains("no debug information"));
}

/// The position of debug sections in the file, and whether they are compressed.
fn sections(bytes: &[u8]) -> Vec<(std::ops::Range<usize>, bool)> {
    let word = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0usize, |value, byte| value << 8 | usize::from(*byte))
    };
    let (table, size, count, names) = (word(40, 8), word(58, 2), word(60, 2), word(62, 2));
    let names = word(table + size * names + 24, 8);
    let mut found = Vec::new();
    for header in (0..count).map(|index| table + size * index) {
        if bytes[names + word(header, 4)..].starts_with(b".debug_") {
            let start = word(header + 24, 8);
            found.push((start..start + word(header + 32, 8), word(header + 8, 8) & 0x800 != 0));
        }
    }
    found
}

#[test]
fn corrupt_debug_information_is_no_obstacle() {
    for options in [["-g", "-gz=none"], ["-g", "-gz=zlib"], ["-g", "-gz=zstd"]] {
        let Some(bytes) = compile(&options, "gfx1100") else { return };
        let sections = sections(&bytes);
        assert!(sections.len() >= 4, "{sections:?}");
        let compressed = options[1] != "-gz=none";
        assert_eq!(sections.iter().any(|(_, packed)| *packed), compressed, "{sections:?}");
        let sections: Vec<_> = sections.into_iter().map(|(range, _)| range).collect();
        let mut unreadable = 0;
        for (section, fill) in
            sections.iter().flat_map(|section| [0u8, 0x7f, 0xff].map(|fill| (section, fill)))
        {
            let mut bytes = bytes.clone();
            bytes[section.clone()].fill(fill);
            unreadable += read_all(&bytes);
        }
        assert!(unreadable > 0, "{options:?}: no damage was detected");
        let mut random = Random(7);
        for _ in 0..60 {
            let mut bytes = bytes.clone();
            for _ in 0..=random.next() % 8 {
                let section = &sections[random.next() as usize % sections.len()];
                let at = section.start + random.next() as usize % section.len();
                bytes[at] = random.next() as u8;
            }
            read_all(&bytes);
        }
    }
}

/// Looks up every instruction; returns how often the debug information was unreadable.
fn read_all(bytes: &[u8]) -> usize {
    let code = load(bytes, "gfx1100");
    let lines = offsets(code.object()).step_by(4).map(|offset| code.source_at(offset));
    lines.filter(|lines| matches!(lines, SourceLines::Unreadable(why) if !why.is_empty())).count()
}
