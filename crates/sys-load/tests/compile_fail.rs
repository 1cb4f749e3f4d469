//! Code that must not compile. Each file says which promise it would break.

#[test]
fn promises_are_kept_by_the_compiler() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
