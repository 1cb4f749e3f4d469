//! The executor's operations, one or a few instructions at a time, compared with independent models.
//!
//! These are not unit tests of the library, because the library would be compiled a second time for them,
//! which takes minutes. For these tests, the library's internal modules are public but hidden.

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
