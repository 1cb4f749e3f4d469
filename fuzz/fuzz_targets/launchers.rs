//! Any text as the variables of launchers: they give an error that names one, or this process's rank.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/rccl/tests/any_input/mod.rs"]
mod any_input;

fuzz_target!(|text: &str| any_input::variables(text));
