//! Programs that run on the drop-in, over virtual GPUs.

mod calls;
mod programs;
mod rust;
#[path = "../support/mod.rs"]
mod support;
mod timeline;
