//! The reader of code objects: what it finds in real and synthetic files, and what it says about wrong ones.

mod bounds;
mod mutations;
mod real;
#[path = "../support/mod.rs"]
mod support;
mod synthetic;
