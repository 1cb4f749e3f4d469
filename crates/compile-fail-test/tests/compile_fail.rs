//! Programs that must not compile. Each file names the promise that it would break.

/// trybuild passes the width only when it compiles the programs, and Cargo compiles all dependencies once
/// more for another flag. These flags, which Cargo prefers to trybuild's, are the same both times.
const FLAGS: &str = "--cfg\u{1f}trybuild\u{1f}--verbose\u{1f}-Adead_code\u{1f}--diagnostic-width=140";

#[test]
fn promises_are_kept_by_the_compiler() {
    // SAFETY: no other thread reads or writes the environment: there is no other test.
    unsafe { std::env::set_var("CARGO_ENCODED_RUSTFLAGS", FLAGS) };
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
