//! Compares the bindings with a C compiler's view of the headers of every version.

#[rustfmt::skip]
#[allow(unused_imports, unused_macros, clippy::all, reason = "generated")]
#[path = "layouts/rccl.rs"]
mod rccl;

#[test]
fn rccl_is_laid_out_and_numbered_as_in_c() {
    test_support::layout::check(&rccl::TABLE);
}
