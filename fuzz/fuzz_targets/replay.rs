//! Any bytes as a replay file, and as the contents of one whose header is correct: they are refused, or
//! written again as they were.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/hal/tests/any_replay/mod.rs"]
mod any_replay;

fuzz_target!(|bytes: &[u8]| {
    any_replay::run(bytes);
    any_replay::run_contents(bytes);
    // Of a changed file, such as one of the seeds in `fuzz/seeds/replay`, with its header made correct again.
    any_replay::run_contents(bytes.get(any_replay::HEADER..).unwrap_or_default());
});
