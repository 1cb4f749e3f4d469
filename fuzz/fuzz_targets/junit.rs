//! Any text as a JUnit report: it is refused, or written again with the same tests.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/fleet/tests/any_input/mod.rs"]
mod any_input;

fuzz_target!(|text: &str| any_input::junit(text));
