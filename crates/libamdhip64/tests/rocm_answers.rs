//! Compares this HIP with AMD's, both over the virtual GPU: results of bad calls, and of random programs. Run
//! by `cargo xtask test rocm 7.2`.
//!
//! Each function is called with one spoiled argument at a time, using values that AMD's survives
//! ([`support::calls`]). Where the results differ, a row of `differences.txt` gives the reason.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use support::calls::{Answer, Answers, answers, program};
use support::{DROP_IN, HSA_DROP_IN, PLACE, source};
use test_support::program::Program;
use test_support::sysroot::Sysroot;

/// A row's reason begins with this if AMD's result varies from run to run.
const VARIES: &str = "Varies";

/// The result of functions that are not implemented.
const NOT_THERE: &str = "801 last 0";

/// A kind of call with different results.
struct Difference {
    /// Function, number of the argument, the spoiled value, AMD's result and ours; each may have `*` for
    /// anything.
    call: [&'static str; 5],
    reason: &'static str,
}

/// The rows of the table: five fields separated by tabs, below a line with the reason.
fn differences() -> Vec<Difference> {
    let mut reason = "";
    let mut rows = Vec::new();
    for line in include_str!("support/differences.txt").lines() {
        match line.strip_prefix("## ") {
            Some(next) => reason = next,
            None if line.is_empty() || line.starts_with('#') => {}
            None => {
                let mut fields = line.split('\t');
                let call = std::array::from_fn(|_| fields.next().expect("five fields"));
                assert!(fields.next().is_none() && !reason.is_empty(), "{line}");
                rows.push(Difference { call, reason });
            }
        }
    }
    rows
}

/// Whether a text matches a pattern, in which `*` stands for anything and `|` separates alternatives.
fn is_of(form: &str, text: &str) -> bool {
    form.split('|').any(|form| {
        let mut parts = form.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let mut is_last = !form.contains('*');
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = if part.is_empty() { "" } else { &rest[at + part.len()..] };
            is_last = true;
        }
        is_last && rest.is_empty()
    })
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Returned(code) => code.clone(),
        Answer::Died(_) => "died".to_owned(),
    }
}

/// Writes lines to a file, for comparing them by eye.
fn keep(name: &str, lines: &str) {
    fs::write(Path::new(PLACE.scratch).join(name), lines).expect("a file of answers");
}

/// The calls as lines.
fn lines(all: &Answers) -> String {
    let lines = all.iter().flat_map(|(function, calls)| {
        calls
            .iter()
            .map(move |((place, spoiled), answer)| format!("{function}\t{place}\t{spoiled}\t{answer:?}\n"))
    });
    lines.collect()
}

/// The folder of AMD's libraries, if they are of the release that the drop-in replaces.
fn originals() -> Option<PathBuf> {
    let sysroot = Sysroot::find()?;
    sysroot.pick("the library that the drop-in stands for", &[("7.2", ())])?;
    Some(sysroot.folder.join("usr/lib/x86_64-linux-gnu"))
}

/// Lets AMD's HIP cache what it compiles at start-up, which takes longer than many programs.
fn with_cache(program: Program) -> Program {
    let cache = Path::new(PLACE.scratch).join("comgr-7.2");
    let cache = cache.to_str().expect("a path in UTF-8");
    program.variable("AMD_COMGR_CACHE", "1").variable("AMD_COMGR_CACHE_DIR", cache)
}

#[test]
fn random_programs_compute_the_same() {
    let Some(folder) = originals() else { return };
    let original = folder.join(DROP_IN.soname);
    let link = |library| Program::link(&source("order.hip"), PLACE, &["gfx1100"], &[], &original, library);
    let amds = with_cache(link(HSA_DROP_IN.library()).with_loader_of(&folder));
    let ours = link(DROP_IN.library());
    for (arguments, device) in [
        (["1", "200", "gentle"], "vgpu:gfx1100"),
        (["2", "50", "gentle"], "vgpu:gfx1100?count=2&memory=64MiB"),
    ] {
        let [amds, ours] = [&amds, &ours].map(|program| program.arguments(arguments).succeeds(device).output);
        assert_eq!(amds, ours, "{arguments:?}");
    }
}

#[test]
fn bad_calls_get_the_answers_of_amds_hip() {
    let Some(folder) = originals() else { return };
    let original = folder.join(DROP_IN.soname);
    let gentle = |program: test_support::program::Program| {
        answers(&program.variable("GENTLE", "1").variable("FERROCM_LOG", "off"))
    };
    let hsa = HSA_DROP_IN.library();
    // AMD's library looks functions up by name in a file name that only development packages have.
    let link = hsa.parent().expect("a folder").join("libamdhip64.so");
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(&original, &link).expect("a link");
    let amds = gentle(with_cache(program(&original, &hsa).with_loader_of(&folder)));
    let ours = gentle(program(&original, &DROP_IN.library()));
    keep("answers-amd.tsv", &lines(&amds));
    keep("answers-own.tsv", &lines(&ours));

    let rows = differences();
    let mut used = vec![0; rows.len()];
    let (mut wrong, mut count) = (String::new(), 0);
    for (function, calls) in &amds {
        let ours: BTreeMap<_, _> = ours[function].iter().map(|(call, answer)| (call, answer)).collect();
        for (call, theirs) in calls {
            // The call that ended AMD's process may be the one before.
            let Some(own) = ours.get(call) else { continue };
            count += 1;
            let (theirs, own) = (shown(theirs), shown(own));
            // Functions that this HIP does not have are not compared.
            let is_there = hip_on_hsa::FUNCTIONS.contains(&function.as_str());
            if theirs == own || theirs == "died" || (own == NOT_THERE && !is_there) {
                continue;
            }
            let place = call.0.to_string();
            let fields = [function.as_str(), &place, &call.1, &theirs, &own];
            let row =
                rows.iter().position(|row| row.call.iter().zip(fields).all(|(form, text)| is_of(form, text)));
            match row {
                Some(row) => used[row] += 1,
                None => wrong.push_str(&format!("{}\n", fields.join("\t"))),
            }
        }
    }
    keep("answers-differ.tsv", &wrong);
    for (row, used) in rows.iter().zip(used) {
        if used == 0 && !row.reason.starts_with(VARIES) {
            wrong.push_str(&format!("no call is as row {:?} says ({})\n", row.call, row.reason));
        }
    }
    let count_of_wrong = wrong.lines().count();
    let first: Vec<&str> = wrong.lines().take(40).collect();
    assert!(
        wrong.is_empty(),
        "{count_of_wrong} of {count} calls, all in answers-differ.tsv:\n{}",
        first.join("\n")
    );
    assert!(count > 8_000, "{count} calls");
}

#[test]
fn forms_stand_for_texts() {
    for (form, text, expected) in [
        ("*", "", true),
        ("*", "x", true),
        ("hipMem*", "hipMemcpy", true),
        ("hipMem*", "hipFree", false),
        ("hip*Async", "hipMemcpyAsync", true),
        ("hip*Async", "hipMemcpyAsync_spt", false),
        ("1|2", "2", true),
        ("1|2", "12", false),
        ("null", "nullx", false),
    ] {
        assert_eq!(is_of(form, text), expected, "{form} {text}");
    }
}
