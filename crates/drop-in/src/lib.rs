//! Code shared by the drop-in libraries.
//!
//! | module | |
//! |---|---|
//! | [`link`] | links a crate's static library into a shared one with a vendor's name and symbol versions |
//! | [`log`] | messages of such a library on standard error |
#![warn(missing_docs)]

pub mod link;
pub mod log;
