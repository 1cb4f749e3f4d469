//! What must not compile: safe programs do not get at the machine's memory.

#[test]
fn promises_are_kept_by_the_compiler() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
