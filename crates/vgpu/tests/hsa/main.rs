//! The virtual GPU through its HSA table.

mod arguments;
mod common;
mod fatal;
mod images;
mod kernels;
mod mask;
mod queue_memory;
mod release;
mod share;
mod spoiled;
mod table;
mod vmem;
