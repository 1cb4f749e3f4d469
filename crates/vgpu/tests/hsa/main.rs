//! The virtual GPU through its HSA table.

mod common;
mod kernels;
mod table;
mod vmem;
