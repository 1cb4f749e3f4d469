//! Any bytes in the packets by which device code calls the host: they are answered within bounds, and no
//! function is called.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| hip_on_hsa::fuzzing::hostcall(bytes));
