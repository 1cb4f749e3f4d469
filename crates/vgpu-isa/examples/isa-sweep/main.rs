//! Compares the decoder and the disassembler with LLVM's on generated encodings of every instruction.
//!
//! It needs `llvm-mc-22` on `PATH`. For each encoding family and opcode, every field is swept over its values
//! while the others are typical, then several or all fields are random. Texts, sizes and what is illegal are
//! compared; differences are printed in groups, with one encoding of each.
//!
//! ```text
//! cargo run --release -p ferrocm-vgpu-isa --example isa-sweep -- [OPTION]...
//!     --target NAME,...      instruction sets by the processors that they are named after (all)
//!     --family NAME,...      SOP1, VOP3, DS... (all)
//!     --count N              random encodings of each opcode (40)
//!     --seed N               where the random numbers start (1)
//!     --every N              compare only every N-th encoding (1)
//!     --wave64               print lane masks of waves of 64
//!     --exhaust              all values of immediates that are bit fields
//!     --show N               how many groups of differences are printed (20)
//!     --only WHAT,...        only these differences: text, unknown, illegal, shorter, marked
//!     --filetests FOLDER     add lines to FOLDER/<target>.txt for forms that those there do not show
//! ```
//!
//! Some differences are LLVM's: what `is_marked` tells counts as illegal, and what `misread` knows is counted
//! apart. Where llvm-mc crashes, there is no text.

mod families;
mod field;
mod generate;
mod llvm;
mod misread;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use families::families;
use generate::{Encoding, Random};
use llvm::Answer;
use vgpu_isa::{Dpp, Generation, Inst, Isa, Op, decode, decode_wave64};

/// The code of a literal as an operand.
const LITERAL: u32 = 255;

struct Options {
    targets: Vec<Isa>,
    families: Vec<String>,
    count: usize,
    seed: u64,
    every: usize,
    show: usize,
    wave64: bool,
    exhaust: bool,
    only: Vec<String>,
    filetests: Option<std::path::PathBuf>,
}

fn main() {
    let mut options = Options {
        targets: Isa::ALL.to_vec(),
        families: vec![],
        count: 40,
        seed: 1,
        every: 1,
        show: 20,
        wave64: false,
        exhaust: false,
        only: vec![],
        filetests: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().expect("a value");
        match arg.as_str() {
            "--target" => {
                options.targets = value().split(',').map(|n| Isa::by_name(n).expect("a target")).collect()
            }
            "--family" => options.families = value().split(',').map(str::to_owned).collect(),
            "--count" => options.count = value().parse().expect("a number"),
            "--seed" => options.seed = value().parse().expect("a number"),
            "--every" => options.every = value().parse().expect("a number"),
            "--show" => options.show = value().parse().expect("a number"),
            "--filetests" => options.filetests = Some(value().into()),
            "--only" => options.only = value().split(',').map(str::to_owned).collect(),
            "--wave64" => options.wave64 = true,
            "--exhaust" => options.exhaust = true,
            _ => panic!("{arg}"),
        }
    }
    let total: usize = options.targets.iter().map(|&isa| target(isa, &options)).sum();
    println!("== {total} encodings compared");
}

/// What is typical of each opcode that LLVM or the decoder knows: the first candidate that LLVM takes.
fn typical(isa: Isa, wave64: bool, family: &families::Family, random: &mut Random) -> Vec<Option<Vec<u32>>> {
    let candidates = family.candidates();
    let mut typical = vec![None; family.opcodes() as usize];
    let mut all = Vec::new();
    for opcode in 0..family.opcodes() {
        for (index, candidate) in candidates.iter().enumerate() {
            let mut encoding = family.build(opcode, candidate, random);
            let known = trim(isa, wave64, &mut encoding).is_some();
            if known && typical[opcode as usize].is_none() {
                typical[opcode as usize] = Some((usize::MAX, candidate.clone()));
            }
            all.push((opcode, index, encoding.bytes));
        }
    }
    let list: Vec<&[u8]> = all.iter().map(|(_, _, b)| &b[..]).collect();
    for ((opcode, index, _), answer) in all.iter().zip(llvm::ask("llvm-mc-22", isa, wave64, &list)) {
        let entry = &mut typical[*opcode as usize];
        let valid = matches!(&answer, Answer::Text(t) | Answer::Shorter(t) if !t.contains("/*"));
        if valid && entry.as_ref().is_none_or(|(old, _)| *old == usize::MAX) {
            *entry = Some((*index, candidates[*index].clone()));
        }
    }
    typical.into_iter().map(|e| e.map(|(_, set)| set)).collect()
}

/// Cuts an encoding to the size of its instruction; what cannot be decoded is followed by instructions that
/// do nothing.
fn trim(isa: Isa, wave64: bool, encoding: &mut Encoding) -> Option<Inst> {
    let decode = if wave64 { decode_wave64 } else { decode };
    if decode(isa, &encoding.bytes).is_err() {
        for word in encoding.bytes[encoding.size..].chunks_mut(4) {
            word.copy_from_slice(&[0, 0, 0x80, 0xbf]);
        }
    }
    let inst = decode(isa, &encoding.bytes).ok()?;
    encoding.bytes.truncate(inst.size.into());
    Some(inst)
}

struct Case {
    swept: Option<u32>,
    family: &'static str,
    bytes: Vec<u8>,
    ours: Option<String>,
    /// What LLVM prints if it misreads it.
    misread: Vec<String>,
    /// Whether llvm-mc may crash on it, which takes longer to find among thousands.
    crashes: bool,
}

/// Whether llvm-mc may take bytes for a literal where there is none, and crash.
fn may_crash(inst: Option<&Inst>, bytes: &[u8]) -> bool {
    let control = match inst.and_then(|inst| inst.dpp) {
        Some(Dpp::Row { ctrl, .. }) => u32::from(ctrl),
        Some(Dpp::Eight { selectors, .. }) => selectors,
        None => 0,
    };
    let long_vector = matches!(bytes[3], 0xd0..=0xd7);
    control == LITERAL || inst.is_none() && long_vector && u32::from(bytes[0]) == LITERAL
}

/// Whether LLVM itself says that its text is no instruction, or the target lacks what it names; such
/// encodings are illegal here.
fn is_marked(isa: Isa, bytes: &[u8], text: &str) -> bool {
    let first = bytes.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    // The packed mix of gfx9 at its old place.
    let old_mix = !isa.is_gfx9() && matches!(first >> 16, 0xd3a0..=0xd3a2) && text.starts_with("v_fma_mix");
    let direct_barrier =
        isa.generation() == Generation::Gfx12 && text.contains("barrier") && text.ends_with("src_lds_direct");
    text.contains("/*Invalid")
        || text.contains("/*INV")
        || text.contains("/*Missing")
        || text.contains("src_flat_scratch_base")
        || past(text)
        || old_mix
        || direct_barrier
}

/// Compares the encodings of a target, and returns how many there were.
fn target(isa: Isa, options: &Options) -> usize {
    let mut random = Random::new(options.seed);
    let mut cases = Vec::new();
    for family in families(isa) {
        if !options.families.is_empty() && !options.families.iter().any(|n| n == family.name) {
            continue;
        }
        let typical = typical(isa, options.wave64, &family, &mut random);
        for opcode in 0..family.opcodes() {
            let Some(typical) = &typical[opcode as usize] else { continue };
            let mut all = family.sweep(opcode, typical, options.count, &mut random);
            if options.exhaust {
                let mut encoding = family.build(opcode, typical, &mut random);
                if let Some(inst) = trim(isa, options.wave64, &mut encoding)
                    && matches!(
                        inst.op,
                        Op::SWaitcnt
                            | Op::SWaitcntDepctr
                            | Op::SWaitAlu
                            | Op::SDelayAlu
                            | Op::SSendmsg
                            | Op::SSendmsghalt
                            | Op::SGetregB32
                            | Op::DsSwizzleB32
                            | Op::SSetGprIdxMode
                    )
                {
                    all.extend(family.exhaust(opcode, typical, &mut random));
                }
            }
            for mut encoding in all {
                let inst = trim(isa, options.wave64, &mut encoding);
                let print = |inst: &Inst| {
                    let text = inst.text(isa);
                    if options.wave64 { text.wave64().to_string() } else { text.to_string() }
                };
                let ours = inst.as_ref().map(print);
                let crashes = may_crash(inst.as_ref(), &encoding.bytes);
                let misread = inst.map_or_else(Vec::new, |inst| misread::texts(&inst, print));
                let (swept, family) = (encoding.swept, family.name);
                cases.push(Case { swept, family, bytes: encoding.bytes, ours, misread, crashes });
            }
        }
    }
    cases.sort_by(|a, b| a.bytes.cmp(&b.bytes));
    cases.dedup_by(|a, b| a.bytes == b.bytes);
    let mut index = 0;
    cases.retain(|_| {
        index += 1;
        index % options.every == 0
    });
    let next = AtomicUsize::new(0);
    cases.sort_by_key(|case| case.crashes);
    let (calm, rest) = cases.split_at(cases.partition_point(|case| !case.crashes));
    let batches: Vec<&[Case]> = calm.chunks(4000).chain(rest.chunks(4)).collect();
    let answers = Mutex::new(vec![Vec::new(); batches.len()]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(batch) = batches.get(index) else { break };
                    let bytes: Vec<&[u8]> = batch.iter().map(|c| &c.bytes[..]).collect();
                    let result = llvm::ask("llvm-mc-22", isa, options.wave64, &bytes);
                    answers.lock().expect("no thread panics")[index] = result;
                }
            });
        }
    });
    let answers: Vec<Answer> =
        answers.into_inner().expect("no thread panics").into_iter().flatten().collect();
    if let Some(folder) = &options.filetests {
        write_filetests(isa, &cases, &answers, folder);
    }
    let mut groups: BTreeMap<Group, Vec<Difference>> = BTreeMap::new();
    let (mut equal, mut illegal, mut crash, mut misread, mut other) = (0, 0, 0, 0, 0);
    for (case, answer) in cases.iter().zip(&answers) {
        let (what, theirs) = match (answer, &case.ours) {
            (Answer::Crash, _) => {
                crash += 1;
                if crash <= 10 {
                    println!("crash {} {:02x?} {:?}", case.family, case.bytes, case.ours)
                }
                continue;
            }
            (Answer::Text(t), Some(o)) if t == o => {
                equal += 1;
                continue;
            }
            (Answer::Text(t) | Answer::Shorter(t), Some(_)) if case.misread.contains(t) => {
                misread += 1;
                continue;
            }
            (Answer::Illegal, None) => {
                illegal += 1;
                continue;
            }
            (Answer::Text(t) | Answer::Shorter(t), _) if is_marked(isa, &case.bytes, t) => {
                if case.ours.is_none() {
                    illegal += 1;
                    continue;
                }
                ("marked invalid", t.clone())
            }
            (Answer::Text(t), Some(_)) => ("text", t.clone()),
            (Answer::Text(t) | Answer::Shorter(t), None) => ("unknown here", t.clone()),
            (Answer::Shorter(t), Some(_)) => ("shorter", t.clone()),
            (Answer::Illegal, Some(_)) => ("illegal", String::new()),
        };
        if !options.only.is_empty() && !options.only.iter().any(|only| what.starts_with(&only[..])) {
            other += 1;
            continue;
        }
        let ours = case.ours.clone().unwrap_or_default();
        // Texts are grouped by what differs in them, the rest by the field that was swept.
        let how = match (what, case.swept) {
            ("text", _) => diff(&theirs, &ours),
            (_, Some(bit)) => format!("bit {bit}"),
            (_, None) => "several fields".to_owned(),
        };
        let group = Group { what, family: case.family, how };
        groups.entry(group).or_default().push(Difference { bytes: case.bytes.clone(), theirs, ours });
    }
    let total: usize = groups.values().map(Vec::len).sum();
    println!(
        "== {} {}: {} cases, {equal} equal, {illegal} illegal, {misread} misread, {crash} crash, {total} different, {other} others",
        isa.name(),
        if options.wave64 { "wave64" } else { "" },
        cases.len()
    );
    let mut list: Vec<_> = groups.into_iter().collect();
    list.sort_by_key(|(_, differences)| std::cmp::Reverse(differences.len()));
    for (group, differences) in list.into_iter().take(options.show) {
        let names: BTreeSet<&str> = differences.iter().map(Difference::mnemonic).collect();
        let some: Vec<&str> = names.iter().step_by(names.len() / 4 + 1).copied().collect();
        println!(
            "-- {} {} [{}] {} of {} mnemonics: {}",
            group.what,
            group.family,
            group.how,
            differences.len(),
            names.len(),
            some.join(" ")
        );
        let Difference { bytes, theirs, ours } = &differences[differences.len() / 2];
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("     {hex}\n       LLVM {theirs}\n       here {ours}");
    }
    cases.len()
}

/// What a group of differences has in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    what: &'static str,
    family: &'static str,
    how: String,
}

/// An encoding on which LLVM and the decoder do not agree. A text is empty where the encoding is no
/// instruction.
struct Difference {
    bytes: Vec<u8>,
    theirs: String,
    ours: String,
}

impl Difference {
    fn mnemonic(&self) -> &str {
        let text = if self.theirs.is_empty() { &self.ours } else { &self.theirs };
        text.split(' ').next().unwrap_or_default()
    }
}

/// Whether a text names vector registers that do not exist.
fn past(t: &str) -> bool {
    t.split([':', '[', ']', ' ', ',']).any(|p| {
        p.trim_start_matches(['v', 'a', '-', '|'])
            .parse::<u32>()
            .is_ok_and(|n| (256..512).contains(&n) && t.contains(&format!(":{n}]")))
    })
}

/// The words in which two texts differ, with numbers left out.
fn diff(a: &str, b: &str) -> String {
    let norm = |s: &str| -> Vec<String> {
        s.split(' ')
            .skip(1)
            .map(|t| {
                let mut o = String::new();
                let mut d = false;
                for c in t.chars() {
                    if c.is_ascii_digit() {
                        if !d {
                            o.push('#')
                        }
                        d = true
                    } else {
                        d = false;
                        o.push(c)
                    }
                }
                o
            })
            .collect()
    };
    if a.is_empty() || b.is_empty() {
        return String::new();
    }
    let (x, y) = (norm(a), norm(b));
    let dx: Vec<_> = x.iter().filter(|t| !y.contains(t)).take(2).cloned().collect();
    let dy: Vec<_> = y.iter().filter(|t| !x.contains(t)).take(2).cloned().collect();
    format!("{} | {}", dx.join(" "), dy.join(" "))
}

/// What a line of filetests shows about an instruction: the kinds of its operands, and its modifiers.
fn features(family: &str, text: &str) -> Vec<String> {
    let (mnemonic, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut features = vec![format!("{mnemonic} {family}")];
    // Modifiers of vector instructions belong to the encoding, those of memory instructions to the mnemonic.
    let of = if family.starts_with('V') || family.starts_with("DPP") || family == "SDWA" {
        family
    } else {
        mnemonic
    };
    for (index, token) in rest.split(' ').filter(|token| !token.is_empty()).enumerate() {
        let plain = token.trim_end_matches(',');
        if let Some((name, value)) = plain.split_once(':').filter(|(name, _)| !name.contains('[')) {
            features.push(format!("{of} {name}"));
            if !name.starts_with("offset") && !name.starts_with("dpp8") {
                features.push(format!("{family} {name}:{value}"));
            }
        } else {
            let kind: String = plain.chars().filter(|c| !c.is_ascii_digit()).collect();
            features.push(format!("{family} {index} {kind} {}", plain.starts_with("0x")));
            if plain.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                features.push(format!("{of} {plain}"));
            }
        }
    }
    features
}

/// Adds lines to the filetests of a target until they show everything that the sweep has shown.
fn write_filetests(isa: Isa, cases: &[Case], answers: &[Answer], folder: &std::path::Path) {
    let path = folder.join(format!("{}.txt", isa.name()));
    let mut content = std::fs::read_to_string(&path).unwrap_or_default();
    let mut seen = std::collections::HashSet::new();
    let mut encodings = std::collections::HashSet::new();
    for line in content.lines().filter(|line| !line.starts_with('#')) {
        let Some((bytes, text)) = line.split_once(" ; ") else { continue };
        encodings.insert(bytes.replace(' ', ""));
        let mnemonic = text.split(' ').next().unwrap_or_default();
        seen.insert(format!("{mnemonic} "));
    }
    let mut illegal = std::collections::HashMap::<(&str, Vec<u8>), usize>::new();
    let mut added = 0;
    // Those with more to show come first, so that fewer are needed.
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|&index| {
        std::cmp::Reverse(cases[index].ours.as_ref().map_or(0, |text| text.matches(' ').count()))
    });
    for index in order {
        let case = &cases[index];
        let hex: String = case.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = match (&answers[index], &case.ours) {
            (Answer::Text(theirs), Some(ours)) if theirs == ours => {
                let new: Vec<String> =
                    features(case.family, ours).into_iter().filter(|f| !seen.contains(f)).collect();
                if new.is_empty() {
                    continue;
                }
                seen.extend(new);
                ours.as_str()
            }
            (Answer::Illegal, None) => {
                let count = illegal.entry((case.family, case.bytes[3..4].to_vec())).or_default();
                *count += 1;
                if *count > 2 {
                    continue;
                }
                "illegal"
            }
            _ => continue,
        };
        if !encodings.insert(hex) {
            continue;
        }
        let bytes: Vec<String> = case.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        content.push_str(&format!("{} ; {text}\n", bytes.join(" ")));
        added += 1;
    }
    std::fs::write(&path, content).expect("written");
    println!("{}: {added} lines added", path.display());
}
