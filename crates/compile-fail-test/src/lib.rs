//! What must not compile with `hip` and `rocblas` is in `tests/compile_fail`: each file says which promise it would break.
//!
//! It is a package of its own for the sake of their features: trybuild builds what a package depends on once more.
