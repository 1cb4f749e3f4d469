//! Any bytes in the buffer that device code prints to: the length of their text is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| hip_on_hsa::fuzzing::print_buffer(bytes));
