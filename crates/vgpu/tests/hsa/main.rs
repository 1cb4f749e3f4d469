//! The virtual GPU through its HSA table.

mod common;
mod kernels;
mod queue_memory;
mod table;
mod vmem;
