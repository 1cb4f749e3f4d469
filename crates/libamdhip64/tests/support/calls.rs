//! Calls every function of HIP with every argument spoiled: runs `programs/calls.hip` on a library, one
//! process per function.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use test_support::program::Program;

use super::PLACE;

/// Functions that the program does not call. Those that return errors are called after each call anyway, the
/// first one returns nothing, and today's headers use the last two names for other functions.
const LEFT_OUT: [&str; 6] = [
    "__hipGetPCH",
    "hipGetLastError",
    "hipPeekAtLastError",
    "hipExtGetLastError",
    "hipChooseDevice",
    "hipGetDeviceProperties",
];

/// A C declaration: name, result, arguments.
type Declaration = (String, String, Vec<String>);

/// Converts a type of the bindings to C.
fn in_c(text: &str) -> String {
    let text = text.trim().trim_end_matches(',');
    if let Some(of) = text.strip_prefix("*mut ") {
        return format!("{} *", in_c(of));
    }
    if let Some(of) = text.strip_prefix("*const ") {
        return format!("{} const *", in_c(of));
    }
    let name = match text.strip_prefix("::std::ffi::c_").unwrap_or(text) {
        "uint" => "unsigned int",
        "uchar" => "unsigned char",
        "ushort" => "unsigned short",
        "ulonglong" => "unsigned long long",
        "usize" => "size_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "f32" => "float",
        other => other,
    };
    name.to_owned()
}

/// The functions that the library exports, from the generated file.
fn declarations() -> Vec<Declaration> {
    let source = include_str!("../../src/exports.rs");
    let mut found = Vec::new();
    for function in source.split("\n    fn ").skip(1) {
        let (name, rest) = function.split_once('(').expect("a function has arguments");
        let (arguments, rest) = rest.split_once(')').expect("arguments end");
        let result = rest.split_once(';').expect("a function ends").0.trim();
        let result = result.strip_prefix("->").map_or_else(|| "void".to_owned(), in_c);
        let types = arguments.split(',').filter_map(|argument| Some(in_c(argument.split_once(':')?.1)));
        found.push((name.to_owned(), result, types.collect()));
    }
    found.retain(|(name, ..)| !LEFT_OUT.contains(&name.as_str()));
    found.sort();
    assert!(found.len() > 480, "{} functions", found.len());
    found
}

/// A call: the number of the spoiled argument, 0 for none, and the value.
pub type Call = (usize, String);

/// The result of a call, or how the process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The code, and the result of `hipGetLastError` after it.
    Returned(String),
    /// The call did not return.
    Died(String),
}

/// The results of a library, by function.
pub type Answers = BTreeMap<String, Vec<(Call, Answer)>>;

/// Compiles the program, linked with one library and run on another.
pub fn program(linked: &Path, library: &Path) -> Program {
    let folder = tempfile::Builder::new().prefix("functions").tempdir_in(PLACE.scratch).expect("a folder");
    let lines: Vec<String> = declarations()
        .iter()
        .map(|(name, result, types)| {
            let types: String = types.iter().map(|name| format!(", {name}")).collect();
            format!("FUNCTION({name}, {result}{types})\n")
        })
        .collect();
    std::fs::write(folder.path().join("functions.inc"), lines.concat()).expect("the list of functions");
    let include = format!("-I{}", folder.path().display());
    let source = super::source("calls.hip");
    // Five hundred functions with a call for each kind of argument: optimising them takes minutes.
    Program::link(&source, PLACE, &["gfx1100"], &["-O0", &include], linked, library.to_owned())
}

/// `hipErrorIllegalAddress`: a kernel has faulted, in this call or an earlier one. AMD's library cannot do
/// any more work in that process.
const FAULTED: &str = "700 ";

/// How often to start a process that ends before its first call, which tells nothing about calls.
const STARTS: u32 = 3;

/// All calls of one function, in as many processes as needed.
fn answers_of(program: &Program, name: &str) -> Vec<(Call, Answer)> {
    let (mut found, mut first) = (Vec::new(), 0);
    let mut starts = 0;
    loop {
        let run = program.arguments([name, &first.to_string()]).run("vgpu:gfx1100");
        let mut next = first;
        let mut unfinished = None;
        let mut faulted = false;
        for line in run.output.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [number, place, spoiled, answer] = fields[..] else { continue };
            let number: usize = number.parse().expect("the number of a call");
            let call = (place.parse().expect("the number of an argument"), spoiled.to_owned());
            faulted = answer.starts_with(FAULTED);
            if faulted && number > first {
                // Another process repeats this call.
                next = number;
                break;
            }
            next = number + 1;
            match answer {
                "" => unfinished = Some(call),
                answer => found.push((call, Answer::Returned(answer.to_owned()))),
            }
            if faulted {
                break;
            }
        }
        if faulted {
            first = next;
            continue;
        }
        if run.output.ends_with("end\n") {
            return found;
        }
        starts = if next > first { 0 } else { starts + 1 };
        if starts > 0 && starts < STARTS {
            continue;
        }
        let how = format!("ended with {:?} {}", run.code, run.error.lines().next().unwrap_or_default());
        let between = (0, format!("behind call {next}"));
        found.push((unfinished.unwrap_or(between), Answer::Died(how)));
        assert!(next > first, "{name}: {:?} {}", run.code, run.error);
        first = next;
    }
}

/// A library's results of all calls.
pub fn answers(program: &Program) -> Answers {
    let all = declarations();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Answers::new()));
    let workers = std::thread::available_parallelism().map_or(2, |count| count.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((name, ..)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let answers = answers_of(program, name);
                    found.lock().expect("no worker panics").insert(name.clone(), answers);
                }
            });
        }
    });
    found.into_inner().expect("no worker panics")
}
