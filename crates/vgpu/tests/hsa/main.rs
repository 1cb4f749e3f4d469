//! The virtual GPU through its HSA table.

mod arguments;
mod common;
mod fatal;
mod kernels;
mod queue_memory;
mod table;
mod vmem;
