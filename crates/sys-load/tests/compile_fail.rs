//! Code that must not compile. Each file says which promise it would break.

#[test]
#[cfg_attr(miri, ignore = "starts the compiler")]
fn promises_are_kept_by_the_compiler() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
