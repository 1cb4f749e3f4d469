//! The reader of code objects: what it finds in files, real and made here, and what it makes of wrong ones.

mod bounds;
mod mutations;
mod real;
#[path = "../support/mod.rs"]
mod support;
mod synthetic;
