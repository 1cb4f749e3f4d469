//! Programs that run on the drop-in, over virtual GPUs.

mod calls;
mod programs;
#[path = "../support/mod.rs"]
mod support;
mod timeline;
