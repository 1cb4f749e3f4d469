//! Code shared by the tests of several crates.
//!
//! | module | |
//! |---|---|
//! | [`elf`] | what a shared library exports |
//! | [`layout`] | compares bindings with what a C compiler makes of the vendor's headers |
//! | [`program`] | HIP C++ programs, compiled and run on drop-in libraries |
//! | [`sysroot`] | AMD's own libraries, which `cargo xtask test rocm` installs |
#![warn(missing_docs)]

pub mod elf;
pub mod layout;
pub mod program;
pub mod sysroot;
