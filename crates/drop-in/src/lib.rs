//! What drop-in libraries have in common.
//!
//! | module | |
//! |---|---|
//! | [`link`] | makes a shared library with a vendor's name and symbol versions of a crate's static one |
//! | [`log`] | what such a library writes to standard error |
#![warn(missing_docs)]

pub mod link;
pub mod log;
