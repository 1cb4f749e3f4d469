//! Any text as code in text form, and any bytes as code: a readable text gives the bytes that it was written
//! from, and no other text does.
#![no_main]

use code_object::text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let written = text::encode(bytes);
    assert_eq!(text::decode(&written).expect("what was written"), bytes);
    let Ok(given) = std::str::from_utf8(bytes) else { return };
    assert!(text::decode(given).is_err() || text::is_code(given));
    // Also after the header, which a fuzzer does not find by itself.
    let (head, _) = written.split_once('\n').expect("a line");
    if let Ok(found) = text::decode(&format!("{head}\n{given}")) {
        assert_eq!(
            text::encode(&found).split_once('\n').expect("a line").1.trim_end(),
            given.split('\0').next().expect("a part").trim_end()
        );
    }
});
