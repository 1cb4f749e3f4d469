//! Every example runs to its end and prints the expected output.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The example's program, which cargo builds with the tests.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    // target/debug/deps/host-… beside target/debug/examples/…
    let folder = test.parent().and_then(Path::parent).expect("a folder of build results");
    folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// Runs an example and compares its standard output with the lines: `{}` matches anything within a line,
/// `...` any number of lines.
fn run(name: &str, expected: &str) {
    let program = program(name);
    assert!(program.exists(), "{} is not there: `cargo build --examples` makes it", program.display());
    let output = Command::new(&program).output().expect("the example starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}\n{out}\n{err}", output.status);
    assert!(are(&lines(&out), &lines(expected)), "{name} printed\n{out}\nand not\n{expected}");
}

/// The non-empty lines, without regard to column widths.
fn lines(text: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).filter(|line| !line.is_empty()).collect()
}

fn are(lines: &[String], expected: &[String]) -> bool {
    match (lines, expected) {
        (lines, []) => lines.is_empty(),
        (_, [any, rest @ ..]) if any == "..." => {
            (0..=lines.len()).any(|skipped| are(&lines[skipped..], rest))
        }
        ([line, lines @ ..], [first, rest @ ..]) => is(line, first) && are(lines, rest),
        ([], _) => false,
    }
}

fn is(line: &str, expected: &str) -> bool {
    match expected.split_once("{}") {
        None => line == expected,
        Some((start, rest)) => {
            let places = line.strip_prefix(start);
            places
                .is_some_and(|line| line.char_indices().any(|(at, _)| is(&line[at..], rest)) || is("", rest))
        }
    }
}

#[test]
fn lines_are_compared() {
    assert!(is("took 5 ms", "took {} ms") && is("a: b", "{}: b") && is("ab", "ab{}") && is("", "{}"));
    assert!(!is("took 5 s", "took {} ms") && !is("7.0", "7") && !is("x: 7.5", "{}: 7"));
    let are = |text, expected| are(&lines(text), &lines(expected));
    assert!(are("a  1\n\nb\nc", "a 1\n...\nc") && are("a", "...\na\n..."));
    assert!(!are("a\nb", "a") && !are("a", "a\nb") && !are("b", "...\na\n...") && !are("12", "1 2"));
}

macro_rules! examples {
    ($($name:ident $expected:literal)*) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name), $expected);
            }
        )*

        #[test]
        fn none_is_forgotten() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
            let mut files: Vec<String> = std::fs::read_dir(folder)
                .expect("the folder of examples")
                .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
                .collect();
            files.sort();
            let mut tested = vec![$(stringify!($name).to_owned()),*];
            tested.sort();
            assert_eq!(files, tested);
        }
    };
}

examples! {
    compile "
        first time: {}
        second time: {}
        `program.hip` does not compile for gfx{}:
        ...
        {}error: use of undeclared identifier 'y'
        ...
    "
    copies "8 chunks of 65536 elements, sum 2097152"
    counters "
        saxpy on gfx90a
        grid 10240x1x1, workgroups of 256x1x1: 40 workgroups, 160 waves of 64
        ...
        memory  loads  stores  atomics  bytes read  bytes written
        global    314     157        0       80000          40000
        ...
    "
    devices "
        ...
        target         {}
        compute units  {} with waves of {}
        memory         {} of {} MiB free
        LDS            {} KiB for a workgroup
        PCI            {}
        UUID           {}
        stack limit    {} bytes for a work-item
        ...
    "
    futures "[2, 4, 6]"
    graphs "
        one by one: {} of the host's time
        as a graph of 51 nodes: {}
    "
    host_memory "
        1000 particles went there and back: Particle { position: [1.0, 2.0, 3.0], mass: 4.0 }
        1000 elements of managed memory, all 7
    "
    ipc "2 elements of u32 from another process"
    memory "
        {} allocates {}
        cache: MemoryStats { allocated: 0, peak_allocated: 400384, {}
        given back: 2097152 bytes
        ...
    "
    peers "2 members: [{}, {}]"
    prepared "
        refused: kernel `saxpy` takes 4 arguments, got 1; its parameters are {}
        100 launches enqueued in {}
    "
    reduction "
        partial_sums({}): {}
        {} workgroups: 799967
    "
    saxpy "{}: [5.0, 5.0, 5.0, 5.0] …"
    typed "
        [12.0, 24.0, 36.0]
        refused: x has 4 elements, and y 3
    "
    views "range 5..9 is outside of a buffer of 8 elements"
}
