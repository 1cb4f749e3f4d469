//! What any implementation of this layer has to do, on virtual GPUs with waves of 32 and of 64.
//!
//! A case runs in both modes where it records commands: *direct*, each command in a command buffer of its own
//! with a semaphore behind it, and *recorded*, all in one with barriers, replayed.

mod buffers;
mod commands;
mod common;
mod devices;
mod failures;
mod files;
mod imports;
mod profiles;
mod replays;
mod rings;
mod scheduling;
mod semaphores;
mod spans;
mod stress;
mod travel;
