//! Compares the bindings with a C compiler's view of the headers of every version.

#[rustfmt::skip]
#[allow(unused_imports, unused_macros, clippy::all, reason = "generated")]
#[path = "layouts/hip.rs"]
mod hip;

#[rustfmt::skip]
#[allow(unused_imports, unused_macros, clippy::all, reason = "generated")]
#[path = "layouts/hiprtc.rs"]
mod hiprtc;

#[test]
fn hip_is_laid_out_and_numbered_as_in_c() {
    test_support::layout::check(&hip::TABLE);
}

#[test]
fn hiprtc_is_laid_out_and_numbered_as_in_c() {
    test_support::layout::check(&hiprtc::TABLE);
}
