//! The safe layer on virtual GPUs.

mod launch;
mod objects;
