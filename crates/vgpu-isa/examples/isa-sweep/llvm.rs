//! LLVM's disassembler, fed with many encodings at a time.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use vgpu_isa::Isa;

/// What llvm-mc makes of the bytes of one case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// One instruction that takes all bytes.
    Text(String),
    /// The bytes start with this instruction, but it is shorter.
    Shorter(String),
    /// No instruction.
    Illegal,
    /// llvm-mc itself crashes.
    Crash,
}

/// Between cases stands an instruction that no case is, so that each text finds its case.
const SEPARATOR: (&str, [u8; 4]) = ("s_nop 0x5aa5", [0xa5, 0x5a, 0x80, 0xbf]);

/// The answers for `cases`, in order. Where llvm-mc crashes, the rest is asked again without the case at
/// fault.
pub(crate) fn ask(tool: &str, isa: Isa, wave64: bool, cases: &[&[u8]]) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(cases.len());
    let mut batch = cases.len();
    while answers.len() < cases.len() {
        let rest = &cases[answers.len()..];
        let count = batch.min(rest.len());
        match run(tool, isa, wave64, &rest[..count]) {
            Some(more) => {
                answers.extend(more);
                batch = (batch * 4).min(cases.len());
            }
            None if count == 1 => {
                answers.push(Answer::Crash);
                batch = 16;
            }
            None => batch = count.div_ceil(4),
        }
    }
    answers
}

fn run(tool: &str, isa: Isa, wave64: bool, cases: &[&[u8]]) -> Option<Vec<Answer>> {
    let mut input = String::new();
    for case in cases {
        for bytes in [*case, &SEPARATOR.1] {
            input.push('[');
            for byte in bytes {
                let _ = write!(input, "{byte:#04x},");
            }
            input.pop();
            input.push_str("]\n");
        }
    }
    let mut command = Command::new(tool);
    command.args(["-disassemble", "-triple=amdgcn", &format!("-mcpu={}", isa.name())]);
    if wave64 {
        command.arg("-mattr=+wavefrontsize64");
    }
    // A crash is expected now and then; its report takes longer than everything else.
    command.env("LLVM_DISABLE_CRASH_REPORT", "1").env("LLVM_DISABLE_SYMBOLIZATION", "1");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{tool}: {e}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("llvm-mc ends");
    // It fails when llvm-mc crashes, which its status says, too.
    let _ = writer.join().expect("the writer ends");
    // Without a code, a signal ended it.
    output.status.code()?;
    let mut invalid = vec![false; cases.len()];
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Some(rest) = line.strip_prefix("<stdin>:") else { continue };
        if rest.ends_with("invalid instruction encoding") {
            let number: usize = rest.split(':').next()?.parse().ok()?;
            invalid[(number - 1) / 2] = true;
        }
    }
    let mut answers: Vec<Answer> = Vec::with_capacity(cases.len());
    let mut texts: Vec<String> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.starts_with('\t')) {
        if line.trim_start().starts_with(".amdgcn_target") {
            continue;
        }
        let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if text != SEPARATOR.0 {
            texts.push(text);
            continue;
        }
        let first = (!texts.is_empty()).then(|| texts.swap_remove(0));
        let shorter = !texts.is_empty() || *invalid.get(answers.len())?;
        texts.clear();
        answers.push(match first {
            None => Answer::Illegal,
            Some(text) if shorter => Answer::Shorter(text),
            Some(text) => Answer::Text(text),
        });
    }
    (answers.len() == cases.len()).then_some(answers)
}
