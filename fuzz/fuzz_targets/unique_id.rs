//! Any bytes as the id of a communicator: they are refused, or the id has exactly these bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| rccl_on_hip::fuzzing::id(bytes));
