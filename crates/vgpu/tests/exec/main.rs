//! The executor's operations, one instruction or a few at a time, against models of their own.
//!
//! They are no unit tests of the library, which would be compiled a second time for them: that takes minutes. The library has
//! its internal modules public, but hidden, for them.

#![allow(clippy::precedence, reason = "shifts beside masks are what bit fields look like")]

mod bench;
mod coverage;
mod dots;
mod filetests;
mod hardware;
mod matrix;
mod memory;
mod observe;
mod program;
mod valu;
