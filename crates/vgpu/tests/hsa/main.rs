//! The virtual GPU through its HSA table.

mod arguments;
mod common;
mod exported_memory;
mod fatal;
mod images;
mod kernels;
mod mask;
mod queue_memory;
mod release;
mod share;
mod small_gpu;
mod spoiled;
mod table;
mod vmem;
