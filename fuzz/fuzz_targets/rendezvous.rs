//! Any bytes as what a rank says to rank 0 of its job, and rank 0 to a rank: nobody is believed who does not know the job's key.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| rccl::fuzzing::greeting(bytes));
