//! Every numbered example runs on a virtual GPU and prints the expected texts.

use std::path::Path;
use std::process::Command;

/// The examples, the path of each program, and texts that it prints, in order. The examples check their own
/// results.
const EXAMPLES: [(&str, &str, &[&str]); 12] = [
    (
        "01-allocate",
        env!("CARGO_BIN_EXE_01-allocate"),
        &["device: vgpu:gfx1100", "3 numbers and 1000 zeros", "1048576 sevens take 4 MiB", "refused: "],
    ),
    (
        "02-copy",
        env!("CARGO_BIN_EXE_02-copy"),
        &["[4, 5, 6, 7, 4, 5, 6, 7]", "[9, 9, 9, 9, 9, 9, 9, 9]", "refused: range 5..9 "],
    ),
    ("03-launch-kernel", env!("CARGO_BIN_EXE_03-launch-kernel"), &["[5.0, 5.0, 5.0, 5.0]", "refused: "]),
    ("04-streams", env!("CARGO_BIN_EXE_04-streams"), &["four launches took "]),
    (
        "05-device-copy",
        env!("CARGO_BIN_EXE_05-device-copy"),
        &["Particle { position: [6.0, 2.0, -2.0], mass: 4.0 }"],
    ),
    (
        "06-threading",
        env!("CARGO_BIN_EXE_06-threading"),
        &["thread 1: 1000 times 1", "thread 4: 1000 times 16"],
    ),
    ("07-build-workflow", env!("CARGO_BIN_EXE_07-build-workflow"), &["[2.5, 2.5, 2.5, 2.5]"]),
    (
        "08-fault-report",
        env!("CARGO_BIN_EXE_08-fault-report"),
        &["is outside every allocation", "count (gfx1100)", "lane 8 (work-item 232,0,0)"],
    ),
    (
        "09-constant-memory",
        env!("CARGO_BIN_EXE_09-constant-memory"),
        &["[2.0, 1.0]: [1.0, 3.0, 5.0, 7.0]", "[10.0, 0.0]: [0.0, 10.0, 20.0, 30.0]", "refused: ", "offsets"],
    ),
    (
        "10-function-attributes",
        env!("CARGO_BIN_EXE_10-function-attributes"),
        &["n: unsigned int, 4 bytes", "LDS:       1024 bytes", "waves of   32", "suggested: "],
    ),
    (
        "11-pitched-memory",
        env!("CARGO_BIN_EXE_11-pitched-memory"),
        &["rows of 100 bytes, 256 bytes from one to the next", "[11, 12, 13, 10, 14, 15, 16, 10]"],
    ),
    (
        "12-device-config",
        env!("CARGO_BIN_EXE_12-device-config"),
        &["vgpu:gfx90a", "compute units  4 with waves of 64", "1024 MiB", "Heap: ", "of block 1"],
    ),
];

/// What a program prints on a virtual gfx1100, unless it opens another device itself.
fn output(program: &str) -> String {
    let output = Command::new(program)
        .env("FERROCM_DEVICE", "vgpu:gfx1100?cus=2")
        .output()
        .expect("the example starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}

#[test]
fn every_example_runs_to_its_end_and_prints_what_is_right() {
    for (name, program, texts) in EXAMPLES {
        let printed = output(program);
        let mut rest = &*printed;
        for text in texts {
            let at =
                rest.find(text).unwrap_or_else(|| panic!("{name}: no `{text}`, in order, in\n{printed}"));
            rest = &rest[at + text.len()..];
        }
    }
}

/// The text with all addresses replaced by `0x…`.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result += "0x…";
        result += part.trim_start_matches(|character: char| character.is_ascii_hexdigit());
    }
    result
}

#[test]
fn the_readme_begins_with_the_report_that_the_example_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let shown = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a report");
    assert_eq!(without_addresses(shown), without_addresses(&output(env!("CARGO_BIN_EXE_08-fault-report"))));
}

#[test]
fn the_first_program_of_the_readme_is_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("a file of the checkout");
    let example = read("crates/kernels/examples/first.rs");
    assert!(
        read("README.md").contains(&format!("```rust\n{example}```")),
        "crates/kernels/examples/first.rs is another"
    );
}

#[test]
fn every_numbered_file_is_an_example_and_says_how_to_run_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of examples")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name != "build")
        .collect();
    files.sort();
    assert_eq!(files, EXAMPLES.map(|(name, ..)| name));
    let index = std::fs::read_to_string(folder.join("README.md")).expect("the index");
    for (number, name) in (1..).zip(&files) {
        assert!(name.starts_with(&format!("{number:02}-")), "{name}");
        let text = std::fs::read_to_string(folder.join(name).with_extension("rs")).expect("an example");
        assert!(text.contains(&format!("//! `cargo run --bin {name}`")), "{name}");
        assert!(index.contains(&format!("| [{name}]({name}.rs) |")), "examples/README.md lacks {name}");
    }
}
