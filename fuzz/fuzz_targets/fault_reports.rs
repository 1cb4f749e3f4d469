//! Any text as what a program wrote: reports of virtual GPUs in it are parts of it.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/fleet/tests/any_input/mod.rs"]
mod any_input;

fuzz_target!(|text: &str| any_input::fault_reports(text));
