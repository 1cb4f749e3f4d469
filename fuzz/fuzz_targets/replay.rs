//! Any bytes as a replay file, and as the contents of one whose header is correct: they are refused, or
//! written again as they were.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/hal/tests/any_replay/mod.rs"]
mod any_replay;

fuzz_target!(|bytes: &[u8]| {
    any_replay::run(bytes);
    any_replay::run_contents(bytes);
    any_replay::run(&any_replay::sealed(bytes));
});
