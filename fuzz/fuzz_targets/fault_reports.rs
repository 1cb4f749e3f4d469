//! Any text as the output of a program: the reports of virtual GPUs found in it are parts of it.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/fleet/tests/any_input/mod.rs"]
mod any_input;

fuzz_target!(|text: &str| any_input::fault_reports(text));
