//! Any bytes as a response file of nvcc, and as a source with launches: every word is in one option, and a
//! source keeps its length and its lines.
#![no_main]

use device_compiler::nvcc::{options, response};
use device_compiler::{launches, pragmas};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let words = response::split(bytes);
    let mut count = 0;
    for given in options::each(&words) {
        count += given.words.len();
        if let options::Kind::Option(row, value) = &given.kind {
            let _ = options::for_clang(row, value.as_deref());
            if let Some(value) = value.as_deref() {
                let _ = (options::values(value), options::words(value));
                let _ = options::architectures(&value.to_string_lossy());
            }
        }
    }
    assert_eq!(count, words.len());
    let source = String::from_utf8_lossy(bytes);
    if let Some(text) = launches::rewrite(&source) {
        assert_eq!((text.len(), text.lines().count()), (source.len(), source.lines().count()));
        assert_eq!(launches::rewrite(&text), None);
    }
    if let Some(text) = pragmas::rewrite(&source) {
        assert_eq!(text.matches('\n').count(), source.matches('\n').count());
        assert_eq!(pragmas::rewrite(&text), None);
    }
});
