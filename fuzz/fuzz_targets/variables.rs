//! Any bytes in any environment variable: a value in range, or an error that names the variable on one short
//! line.
#![no_main]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use libfuzzer_sys::fuzz_target;
use variables::{ALL, Error, Values};

fuzz_target!(|bytes: &[u8]| {
    let value = Some(OsStr::from_bytes(bytes));
    for variable in ALL {
        let check = |error: &Error| {
            let text = error.to_string();
            assert!(text.starts_with(variable.name) && !text.contains('\n') && text.len() < 2000);
        };
        let _ = variable.text_of(value).map_err(|error| check(&error));
        match variable.values {
            Values::Time { least, most } => match variable.time_of(value) {
                Ok(time) => assert!(time.is_none_or(|time| (least..=most).contains(&time))),
                Err(error) => check(&error),
            },
            Values::Count { least, most } => match variable.count_of(value) {
                Ok(count) => assert!(count.is_none_or(|count| (least..=most).contains(&count))),
                Err(error) => check(&error),
            },
            Values::Word(words) => match variable.word_of(value) {
                Ok(word) => assert!(word.is_none_or(|word| words.contains(&word))),
                Err(error) => check(&error),
            },
            Values::Switch => drop(variable.switch_of(value).map_err(|error| check(&error))),
            _ => {}
        }
    }
});
