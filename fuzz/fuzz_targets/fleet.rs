//! Any text as the description of a fleet and as a component's settings: it is refused, or all files and
//! answers exist.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/fleet/tests/any_input/mod.rs"]
mod any_input;

fuzz_target!(|text: &str| {
    any_input::description(text);
    any_input::settings(text);
});
