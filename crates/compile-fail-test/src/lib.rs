//! `tests/compile_fail` has programs that must not compile with `hip` and `rocblas`. Each file names the
//! promise that it would break.
//!
//! It is a separate package to limit features: trybuild builds a package's dependencies once more.
