//! Any bytes as a file with code for some targets: what comes out lies inside, and a file that is asked for its length
//! names one that is asked for no more than it has.
#![no_main]

use code_object::bundle::{self, Extent};
use libfuzzer_sys::fuzz_target;

const DEVICES: [&str; 3] = ["gfx1100", "gfx90a:sramecc+:xnack-", "gfx1399"];

fuzz_target!(|bytes: &[u8]| {
    if let Ok(entries) = bundle::entries(bytes) {
        let inside = bytes.as_ptr_range();
        for entry in &entries {
            let range = entry.bytes.as_ptr_range();
            assert!(inside.start <= range.start && range.end <= inside.end);
        }
        assert_eq!(bundle::extent(bytes).ok().map(|extent| matches!(extent, Extent::Bytes(_))), Some(true));
    }
    for device in DEVICES {
        let device = device.parse().expect("a target");
        if let Err(error) = bundle::code_for(bytes, &device) {
            assert!(!error.to_string().is_empty());
        }
    }
    let mut known = bytes.len().min(4);
    while let Ok(Extent::AtLeast(more)) = bundle::extent(&bytes[..known]) {
        assert!(more > known);
        if more > bytes.len() {
            break;
        }
        known = more;
    }
});
