//! Any text as the name of a library's file and as the version that a library reports: it is read without a
//! panic, and writing and reading it again gives the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sys_load::{Version, is_library_name};

fuzz_target!(|text: &str| {
    if let Ok(version) = text.parse::<Version>() {
        assert_eq!(version.to_string().parse(), Ok(version));
        assert_eq!(Version::at_start_of(text), Some(version));
    }
    if let Some(version) = Version::at_start_of(text) {
        let name = format!("libfuzz.so.{version}");
        assert_eq!(Version::in_file_name(&name), Some(version));
        assert!(is_library_name(&name, "libfuzz"));
    }
    _ = Version::in_file_name(text);
    let (stem, name) = text.split_once('\n').unwrap_or(("libfuzz", text));
    if is_library_name(name, stem) {
        assert!(name.starts_with(stem) && name.contains(".so"));
    }
});
