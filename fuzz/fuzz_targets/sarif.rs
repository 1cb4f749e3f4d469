//! Any text as SARIF: it is refused, or each finding is a line, an entry of GitLab's report and a cell of the
//! comment.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/fleet/tests/any_input/mod.rs"]
mod any_input;

fuzz_target!(|text: &str| any_input::sarif(text));
