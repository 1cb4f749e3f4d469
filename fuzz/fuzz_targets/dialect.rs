//! Any bytes as a CUDA source, with itself as its headers: its dialect is found, whatever the conditions.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let source = String::from_utf8_lossy(bytes);
    let open = |_: &String, name: &str| Some((name.to_owned(), source.clone().into_owned()));
    let _ = device_compiler::cuda::dialect(String::new(), &source, [], open);
});
