//! Any bytes as a log of a training program and as a record, and the usual lines of programs with any
//! changes: nothing panics, no figure is impossible, and a record survives writing and reading.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/runs/tests/any_log/mod.rs"]
mod any_log;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    match first % 3 {
        0 => any_log::log(rest),
        1 => any_log::record(rest),
        _ => any_log::log(&any_log::damaged(rest)),
    }
});
