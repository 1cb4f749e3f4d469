//! Compares the bindings with a C compiler's view of the headers of every version.

#[rustfmt::skip]
#[allow(unused_imports, unused_macros, clippy::all, reason = "generated")]
#[path = "layouts/rocblas.rs"]
mod rocblas;

#[test]
fn rocblas_is_laid_out_and_numbered_as_in_c() {
    test_support::layout::check(&rocblas::TABLE);
}
