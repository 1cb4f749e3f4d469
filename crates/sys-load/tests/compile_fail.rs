//! Code that must not compile. Each file says which promise it would break.

/// The same flags for dependencies and programs, as in `compile-fail-test`, which shares the dependencies.
const FLAGS: &str = "--cfg\u{1f}trybuild\u{1f}--verbose\u{1f}-Adead_code\u{1f}--diagnostic-width=140";

#[test]
#[cfg_attr(miri, ignore = "starts the compiler")]
fn promises_are_kept_by_the_compiler() {
    // SAFETY: no other thread reads or writes the environment: there is no other test.
    unsafe { std::env::set_var("CARGO_ENCODED_RUSTFLAGS", FLAGS) };
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
