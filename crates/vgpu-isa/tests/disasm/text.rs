//! The disassembler prints what LLVM prints.
//!
//! `filetests/<target>.txt` and `filetests/gfx1201-true16.txt` have lines `bytes ; text`, at least one per
//! mnemonic, with the texts of LLVM's disassembler, and `bytes ; illegal` for what it does not take for an
//! instruction. Where llvm-mc is installed, the texts are checked against it, and `FERROCM_BLESS=1` writes
//! them anew.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use test_skip::{Lack, skip};
use vgpu_isa::{DecodeErrorKind, Fact, Generation, Inst, Isa, Op, Register, Span, decode, decode_wave64};

use crate::objdump::{llvm_objdump, llvm_tool};

/// The text of bytes that are not an instruction.
pub(crate) const ILLEGAL: &str = "illegal";

pub(crate) struct Case {
    file: &'static str,
    line: usize,
    bytes: Vec<u8>,
    pub(crate) text: String,
}

/// The cases of a processor.
struct Corpus {
    isa: Isa,
    /// The processor that LLVM disassembles for.
    processor: &'static str,
    /// Their files. If bytes are in several, the last one counts.
    files: Vec<&'static str>,
    /// The attributes with which LLVM prints these texts.
    attributes: &'static str,
}

/// The instructions of every set, and those of gfx1201 that LLVM knows only with an attribute.
fn corpora() -> Vec<Corpus> {
    let usual =
        Isa::ALL.iter().map(|&isa| Corpus { isa, processor: isa.name(), files: files(isa), attributes: "" });
    let halves = Corpus {
        isa: Isa::Gfx1201,
        processor: "gfx1201",
        files: vec!["gfx1201-true16"],
        attributes: "+real-true16",
    };
    usual.chain([halves]).collect()
}

/// The file of an instruction set holds only the differences from the first one of its generation.
fn files(isa: Isa) -> Vec<&'static str> {
    let mut files = vec![isa.generation().isa().name(), isa.name()];
    files.dedup();
    files
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests").join(format!("{file}.txt"))
}

/// The cases of an instruction set.
pub(crate) fn cases(isa: Isa) -> Vec<Case> {
    cases_of(&files(isa))
}

fn cases_of(files: &[&'static str]) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut places = HashMap::new();
    for &file in files {
        let path = path(file);
        let content = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for (index, line) in content.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let (bytes, text) =
                line.split_once(" ; ").unwrap_or_else(|| panic!("{file}:{}: no ` ; `", index + 1));
            let bytes: Vec<u8> = bytes
                .split(' ')
                .map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal bytes"))
                .collect();
            let case = Case { file, line: index + 1, bytes: bytes.clone(), text: text.to_owned() };
            let place = *places.entry(bytes).or_insert(cases.len());
            match cases.get_mut(place) {
                Some(earlier) if earlier.file != file => *earlier = case,
                _ => cases.push(case),
            }
        }
    }
    cases
}

#[test]
fn every_line_decodes_and_prints_as_llvm_does() {
    let mut failures = String::new();
    for corpus in corpora() {
        let isa = corpus.isa;
        for case in cases_of(&corpus.files) {
            let got = match decode(isa, &case.bytes) {
                Ok(inst) if usize::from(inst.size) != case.bytes.len() => {
                    format!("{} (of {} bytes instead of {})", inst.text(isa), inst.size, case.bytes.len())
                }
                Ok(inst) => inst.text(isa).to_string(),
                Err(_) if case.text == ILLEGAL => continue,
                Err(error) => error.to_string(),
            };
            if got != case.text {
                let Case { file, line, text, .. } = case;
                let _ =
                    writeln!(failures, "{file}:{line}: {}\n  LLVM {text}\n  here {got}", corpus.processor);
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn truncated_instructions_are_errors() {
    for &isa in Isa::ALL {
        for case in cases(isa).into_iter().filter(|case| case.text != ILLEGAL) {
            let whole = decode(isa, &case.bytes).expect("a valid instruction");
            // The load of the scales of a matrix instruction may also be an instruction of its own.
            let least = if whole.op.has(Fact::FORMATS) { 8 } else { case.bytes.len() };
            for length in 0..least {
                let error = decode(isa, &case.bytes[..length]).expect_err(&case.text);
                assert_eq!(
                    error.kind,
                    DecodeErrorKind::Truncated,
                    "{} of {}: {length} bytes",
                    case.text,
                    isa.name()
                );
            }
        }
    }
}

#[test]
fn following_bytes_do_not_matter() {
    for &isa in Isa::ALL {
        for case in cases(isa).into_iter().filter(|case| case.text != ILLEGAL) {
            let mut bytes = case.bytes.clone();
            bytes.extend([0xff; 16]);
            let inst = decode(isa, &bytes).expect("a valid instruction");
            assert_eq!(inst.text(isa).to_string(), case.text, "{}", isa.name());
        }
    }
}

/// All registers of an instruction are in their files.
fn registers_exist(isa: Isa, inst: &Inst, lanes: u8) {
    let registers = inst.registers(lanes);
    for span in registers.read.iter().chain(&registers.written) {
        let exist = match span.first {
            Register::Vector(first) => first % 256 + u16::from(span.count) <= 256,
            Register::Scalar(first) => u16::from(first) + u16::from(span.count) <= 128,
            Register::Scc => true,
        };
        assert!(exist, "{span} of {} {inst:?}", isa.name());
    }
}

#[test]
fn any_bytes_are_an_error_or_an_instruction_within_them() {
    // xorshift: the same numbers in every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for &isa in Isa::ALL {
        let mut decoded = 0;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..3).flat_map(|_| next().to_le_bytes()).collect();
            let Ok(inst) = decode(isa, &bytes) else { continue };
            let size = usize::from(inst.size);
            assert!(size % 4 == 0 && (4..=20).contains(&size));
            assert_eq!(decode(isa, &bytes[..size]), Ok(inst));
            assert!(!inst.text(isa).wave64().to_string().is_empty());
            registers_exist(isa, &inst, if isa.is_gfx9() { 64 } else { 32 });
            if let Ok(inst) = decode_wave64(isa, &bytes) {
                registers_exist(isa, &inst, 64);
            }
            decoded += 1;
        }
        assert!(decoded > 2_000, "{decoded} of {}", isa.name());
    }
}

#[test]
fn what_is_accessed_ends_with_the_last_register_status_too() {
    // Loads and stores with `tfe`, the place of the byte that says where their data begin, and the last one
    // that has room.
    let cases: &[(Isa, &[u8], usize, u8)] = &[
        // buffer_load_dword v[254:255], off, s[0:3], s0 tfe
        (Isa::Gfx1030, &[0, 0, 0x30, 0xe0, 0, 0, 0x80, 0], 5, 254),
        // buffer_load_b32 v[254:255], off, s[0:3], s0 tfe
        (Isa::Gfx1100, &[0, 0, 0x50, 0xe0, 0, 0, 0x20, 0], 5, 254),
        // buffer_load_b128 v[251:255], off, s[0:3], s0 tfe
        (Isa::Gfx1100, &[0, 0, 0x5c, 0xe0, 0, 0, 0x20, 0], 5, 251),
        // buffer_store_b32 v[254:255], off, s[0:3], s0 tfe
        (Isa::Gfx1100, &[0, 0, 0x68, 0xe0, 0, 0, 0x20, 0], 5, 254),
        // buffer_load_d16_hi_format_x v[254:255], off, s[0:3], s0 tfe
        (Isa::Gfx1100, &[0, 0, 0x98, 0xe0, 0, 0, 0x20, 0], 5, 254),
        // buffer_load_b32 v[254:255], off, s[0:3], s0 tfe
        (Isa::Gfx1201, &[0, 0, 0x45, 0xc4, 0, 0, 0x80, 0, 0, 0, 0, 0], 4, 254),
    ];
    for &(isa, bytes, place, last) in cases {
        for first in 0..=255 {
            let mut bytes = bytes.to_vec();
            bytes[place] = first;
            let decoded = decode(isa, &bytes);
            assert_eq!(decoded.is_ok(), first <= last, "{} {bytes:02x?}: {decoded:?}", isa.name());
        }
    }
    // global_load_tr_b64 v255, v37, ttmp[14:15], which takes one register in a wave of 64, and two in one of
    // 32.
    let bytes = [0x7a, 0, 0x16, 0xee, 255, 0, 0, 0, 0x25, 0, 0, 0];
    let inst = decode_wave64(Isa::Gfx1201, &bytes).unwrap();
    assert_eq!(inst.registers(64).written, [Span { first: Register::Vector(255), count: 1 }]);
    assert!(decode(Isa::Gfx1201, &bytes).is_err());
}

#[test]
fn illegal_instructions_whose_second_word_is_one() {
    let cases: &[(Isa, &[u8])] = &[
        // A literal with SDWA.
        (Isa::Gfx90a, &[0xf9, 0xfe, 0xbd, 0x7c, 0x44, 0x70, 0x85, 0x93, 0x80, 0x3f, 0, 0]),
        (Isa::Gfx942, &[0xf9, 0xfe, 0x75, 0x7c, 0x0a, 0, 0, 0x96, 0x44, 0xb4, 0x01, 0x13]),
        // global_atomic_add_f32 that returns to an accumulation register.
        (Isa::Gfx942, &[0x9b, 0x95, 0x35, 0xdd, 0xee, 0x0c, 0xb0, 0x08]),
    ];
    for (isa, bytes) in cases {
        assert!(decode(*isa, bytes).is_err(), "{} {bytes:02x?}", isa.name());
    }
}

#[test]
fn hardware_ignores_the_fields_of_operands_that_there_are_not() {
    // LLVM decodes none of these.
    let cases: &[(Isa, &[u8], &str)] = &[
        (Isa::Gfx90a, &[0, 0, 0x1a, 0xd8, 1, 2, 0, 5], "ds_write_b32 v1, v2"),
        (Isa::Gfx1100, &[0, 0, 0x34, 0xd8, 1, 2, 3, 5], "ds_store_b32 v1, v2"),
        (Isa::Gfx1201, &[0, 0, 0x34, 0xd8, 1, 2, 3, 5], "ds_store_b32 v1, v2"),
        (Isa::Gfx1030, &[0, 0, 0xd8, 0xd8, 1, 2, 3, 5], "ds_read_b32 v5, v1"),
        (Isa::Gfx1100, &[0x80, 0, 0x02, 0x7e], "v_nop"),
        (Isa::Gfx1100, &[0x07, 0, 0xbd, 0xbf], "s_barrier"),
    ];
    for (isa, bytes, text) in cases {
        let found = decode(*isa, bytes).map(|inst| inst.text(*isa).to_string());
        assert_eq!(found.as_deref(), Ok(*text), "{} {bytes:02x?}", isa.name());
    }
}

#[test]
fn instructions_without_sources_take_the_word_about_source_0_too() {
    let with = |field: u8| [field, 0, 0, 0x7e, 0, 0, 0, 0];
    // SDWA, DPP over rows of 16 lanes, DPP over 8 lanes.
    let cases: &[(Isa, &[u8])] = &[
        (Isa::Gfx90a, &[0xf9, 0xfa]),
        (Isa::Gfx942, &[0xf9, 0xfa]),
        (Isa::Gfx1030, &[0xf9, 0xfa, 0xe9, 0xea]),
        (Isa::Gfx1100, &[0xfa, 0xe9, 0xea]),
        (Isa::Gfx1201, &[0xfa, 0xe9, 0xea]),
    ];
    for (isa, fields) in cases {
        for field in *fields {
            let inst = decode(*isa, &with(*field)).expect("v_nop");
            assert_eq!((inst.op, inst.size), (Op::VNop, 8), "{} {field:#x}", isa.name());
        }
        let inst = decode(*isa, &with(0)).expect("v_nop");
        assert_eq!((inst.op, inst.size), (Op::VNop, 4), "{}", isa.name());
    }
}

#[test]
fn sparse_products_of_waves_of_64_have_more_parts_of_the_index() {
    let code = |opcode: u32, key: u32| {
        let words = [0xcc00_4008 | opcode << 16 | key << 11, 266 | 268 << 9 | 270 << 18 | 3 << 27];
        words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect::<Vec<u8>>()
    };
    // Parts in waves of 32 and 64, as LLVM has them.
    let of_opcode = |opcode| match opcode {
        0x55 => (2, 2),
        0x56 => (1, 2),
        _ => (2, 4),
    };
    for opcode in 0x50..=0x5a {
        let (parts, parts64) = of_opcode(opcode);
        for key in 0..4 {
            let code = code(opcode, key);
            assert_eq!(decode(Isa::Gfx1201, &code).is_ok(), key < parts, "{opcode:#x} {key}");
            assert_eq!(decode_wave64(Isa::Gfx1201, &code).is_ok(), key < parts64, "{opcode:#x} {key}");
        }
    }
}

#[test]
fn errors_name_the_target_and_the_bytes() {
    let error = decode(Isa::Gfx1100, &[0xff; 12]).expect_err("no instruction starts with ones only");
    assert_eq!(error.to_string(), "unknown instruction encoding of gfx1100: ff ff ff ff ff ff ff ff");
    let error = decode(Isa::Gfx90a, &[0x00, 0xff, 0xfe, 0xbe]).expect_err("SOP1 255 is not taken");
    assert_eq!(error.to_string(), "unknown instruction Sop1 0xff of gfx90a: 00 ff fe be");
}

/// What llvm-mc prints for each case; `None` if it decodes no instruction.
fn disassemble(llvm_mc: &Path, corpus: &Corpus, cases: &[Case]) -> Vec<Option<String>> {
    // An instruction that occurs nowhere else separates the cases, so that each text finds its case.
    const SEPARATOR: &str = "s_nop 0x55";
    let mut input = String::new();
    for case in cases {
        for bytes in [&case.bytes[..], &[0x55, 0, 0x80, 0xbf]] {
            let list: Vec<_> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
            let _ = writeln!(input, "[{}]", list.join(","));
        }
    }
    let mut child = Command::new(llvm_mc)
        .args(["-disassemble", "-triple=amdgcn", &format!("-mcpu={}", corpus.processor)])
        .arg(format!("-mattr={}", corpus.attributes))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("llvm-mc starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("llvm-mc ends");
    writer.join().expect("the writer ends").expect("llvm-mc reads all");
    let mut texts = Vec::new();
    let mut current = None;
    for line in String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.starts_with('\t')) {
        let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match text.as_str() {
            text if text.starts_with(".amdgcn_target") => {}
            SEPARATOR => texts.push(current.take()),
            // LLVM itself says that these are not instructions.
            text if text.contains("/*Invalid") => current = None,
            _ => current = Some(text),
        }
    }
    assert_eq!(texts.len(), cases.len(), "llvm-mc lost instructions of {}", corpus.processor);
    texts
}

#[test]
fn llvm_prints_these_texts() {
    let Some(llvm_mc) = llvm_tool("llvm-mc") else {
        skip(Lack::Tool, "llvm-mc 22 is not installed");
        return;
    };
    let bless = std::env::var_os("FERROCM_BLESS").is_some();
    for corpus in corpora() {
        let cases = cases_of(&corpus.files);
        let texts = disassemble(&llvm_mc, &corpus, &cases);
        let own = *corpus.files.last().expect("a file");
        let old = std::fs::read_to_string(path(own)).expect("read before");
        let mut new: String =
            old.lines().filter(|line| line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
        for (case, text) in cases.iter().zip(&texts) {
            let text = text.as_deref().unwrap_or(ILLEGAL);
            if !bless {
                assert_eq!(text, case.text, "{}:{}: {}", case.file, case.line, corpus.processor);
            } else if case.file == own || text != case.text {
                let bytes: Vec<_> = case.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                let _ = writeln!(new, "{} ; {text}", bytes.join(" "));
            }
        }
        if bless {
            std::fs::write(path(own), new).expect("written");
        }
    }
}

/// The encodings that llvm-mc gives texts.
fn assemble(llvm_mc: &Path, isa: Isa, wave64: bool, halves: bool, texts: &[&str]) -> Vec<Vec<u8>> {
    let mut command = Command::new(llvm_mc);
    command.args(["-triple=amdgcn", &format!("-mcpu={}", isa.name()), "-show-encoding"]);
    let mut attributes = Vec::new();
    if !isa.is_gfx9() {
        attributes.push(if wave64 { "+wavefrontsize64" } else { "+wavefrontsize32" });
    }
    if halves {
        attributes.push("+real-true16");
    }
    command.arg(format!("-mattr={}", attributes.join(",")));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("llvm-mc starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = texts.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("llvm-mc ends");
    writer.join().expect("the writer ends").expect("llvm-mc reads all");
    assert!(output.status.success(), "{}: {}", isa.name(), String::from_utf8_lossy(&output.stderr));
    let byte = |byte: &str| u8::from_str_radix(byte.trim_start_matches("0x"), 16).expect("a byte");
    let encodings: Vec<Vec<u8>> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.split_once("encoding: ["))
        .map(|(_, bytes)| bytes.trim_end_matches(']').split(',').map(byte).collect())
        .collect();
    assert_eq!(encodings.len(), texts.len(), "llvm-mc lost instructions of {}", isa.name());
    encodings
}

/// What LLVM assembles to the instruction that it prints as `text`: it takes `v_pk_fmac_f16 v0, 1.0, v1` from
/// gfx11 on for a literal with a half of zeros, and makes the inline constant, which it prints as `1.0`, of
/// the literal with 1.0 in both halves.
fn source(isa: Isa, text: &str) -> String {
    const HALVES: [(&str, &str); 9] = [
        (" 0.5,", " 0x38003800,"),
        (" -0.5,", " 0xb800b800,"),
        (" 1.0,", " 0x3c003c00,"),
        (" -1.0,", " 0xbc00bc00,"),
        (" 2.0,", " 0x40004000,"),
        (" -2.0,", " 0xc000c000,"),
        (" 4.0,", " 0x44004400,"),
        (" -4.0,", " 0xc400c400,"),
        (" 0.15915494,", " 0x31183118,"),
    ];
    if isa.generation() < Generation::Gfx11 || !text.starts_with("v_pk_fmac_f16 ") {
        return text.to_owned();
    }
    HALVES.iter().fold(text.to_owned(), |text, (name, bits)| text.replace(name, bits))
}

#[test]
fn llvm_assembles_the_instructions_of_the_execution_tests() {
    let Some(llvm_mc) = llvm_tool("llvm-mc") else {
        skip(Lack::Tool, "llvm-mc 22 is not installed");
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vgpu/tests/filetests/exec");
    let mut files = String::new();
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            files += &std::fs::read_to_string(path).expect("a text");
        }
    }
    let mut failures = String::new();
    for &isa in Isa::ALL {
        for (wave64, halves) in [(false, false), (true, false), (false, true), (true, true)] {
            let (mut texts, mut expected) = (Vec::new(), Vec::new());
            for (head, text) in
                files.lines().filter(|line| line.starts_with("gfx")).filter_map(|l| l.split_once(" ; "))
            {
                let (targets, bytes) = head.split_once(": ").expect("targets and bytes");
                let here = targets.split(' ').filter_map(|target| {
                    let (name, size) = target.split_once('/').unwrap_or((target, ""));
                    (name == isa.name()).then_some(size == "64" || isa.is_gfx9())
                });
                // LLVM knows the halves of gfx12's registers only with an attribute.
                let names_halves = || text.contains(".h") || text.contains(".l");
                let told = isa.generation() == Generation::Gfx12 && names_halves();
                if here.into_iter().any(|wide| wide == wave64) && told == halves {
                    texts.push(text);
                    expected.push(bytes);
                }
            }
            if texts.is_empty() {
                continue;
            }
            let sources: Vec<String> = texts.iter().map(|text| source(isa, text)).collect();
            let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
            for ((text, expected), bytes) in
                texts.iter().zip(expected).zip(assemble(&llvm_mc, isa, wave64, halves, &sources))
            {
                let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                if bytes.join(" ") != expected {
                    let _ = writeln!(
                        failures,
                        "{}: {text}\n  LLVM {}\n  here {expected}",
                        isa.name(),
                        bytes.join(" ")
                    );
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// Device code with some of everything that the compiler emits.
const SOURCE: &str = include_str!("everything.hip");

/// Instructions of a code object as llvm-objdump prints them: bytes and text.
fn objdump(tool: &Path, file: &Path, wave64: bool) -> Vec<(Vec<u8>, String)> {
    let mut command = Command::new(tool);
    command.arg("-d").arg(file);
    if wave64 {
        command.arg("--mattr=+wavefrontsize64");
    }
    let output = command.output().expect("llvm-objdump runs");
    let mut instructions = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((text, rest)) = line.strip_prefix('\t').and_then(|line| line.split_once("//")) else {
            continue;
        };
        let Some((_, words)) = rest.split_once(": ") else { continue };
        let words = words.split(' ').map_while(|word| u32::from_str_radix(word, 16).ok());
        let bytes = words.flat_map(u32::to_le_bytes).collect();
        instructions.push((bytes, text.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    instructions
}

#[test]
fn compiled_kernels_print_as_llvm_does() {
    let toolchain = match kernel_build::toolchain::find() {
        Ok(toolchain) => toolchain,
        Err(why) => {
            skip(Lack::Tool, why);
            return;
        }
    };
    let Some(tool) = llvm_objdump() else {
        skip(Lack::Tool, "llvm-objdump 22 is not installed");
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join("everything.hip");
    std::fs::write(&source, SOURCE).expect("written");
    let mut failures = String::new();
    for &isa in Isa::ALL {
        for wave64 in [false, true] {
            if wave64 && isa.is_gfx9() {
                continue;
            }
            let object = folder.join(format!("everything-{}-{wave64}.hsaco", isa.name()));
            let mut command = toolchain.command();
            command.args(["--offload-device-only", "--no-gpu-bundle-output", "-O3", "-w"]);
            command.arg(format!("--offload-arch={}", isa.name()));
            if wave64 {
                command.arg("-mwavefrontsize64");
            }
            let status = command.arg("-o").arg(&object).arg(&source).status().expect("clang runs");
            assert!(status.success(), "clang fails for {}", isa.name());
            let mut seen = BTreeSet::new();
            for (bytes, text) in objdump(&tool, &object, wave64) {
                let got = match decode(isa, &bytes) {
                    Ok(inst) if wave64 => inst.text(isa).wave64().to_string(),
                    Ok(inst) => inst.text(isa).to_string(),
                    Err(error) => error.to_string(),
                };
                if got != text && seen.insert(text.clone()) {
                    let _ = writeln!(failures, "{}:\n  LLVM {text}\n  here {got}", isa.name());
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}
