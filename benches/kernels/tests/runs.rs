//! The program runs. `cargo xtask bench kernels` also uses this build: for this test, Cargo builds the
//! program from the same crates as all other tests.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kernels-bench")).args(arguments).output().unwrap()
}

#[test]
fn a_case_is_counted_and_timed() {
    let output = run(&["--target", "gfx1100", "--case", "gated silu f16", "--repeat", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("gfx1100 (Radeon RX 7900 XTX)"), "{text}");
    let row = text.lines().find(|line| line.contains("gated silu f16 64x2048")).unwrap();
    let numbers: Vec<&str> = row.split_whitespace().skip(4).collect();
    // it moves at least what it must: three times 64 × 2048 halves
    assert!(numbers[4].parse::<u64>().unwrap() >= 3 * 64 * 2048 * 2, "{row}");
    assert_eq!(text.matches("64x2048").count(), 1, "{text}");
}

#[test]
fn a_page_of_some_cases_is_refused() {
    let output = run(&["--case", "gated", "--page", "page.md"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be used with"));
}
