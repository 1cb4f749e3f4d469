//! What must not compile with `hip` is in `tests/compile_fail`: each file says which promise it would break.
//!
//! It is a package of its own for the sake of `hip`'s features: trybuild builds what a package depends on once more.
