//! Any text as the variables of launchers: they are an error that names one, or say which rank this is.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/rccl/tests/any_input/mod.rs"]
mod any_input;

fuzz_target!(|text: &str| any_input::variables(text));
