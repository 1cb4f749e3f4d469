//! Any bytes as messages from a rank to rank 0 of its job, and from rank 0 to a rank: messages without the
//! job's key are rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| rccl::fuzzing::greeting(bytes));
