//! The disassembler against LLVM's.

mod listing;
#[path = "../objdump/mod.rs"]
mod objdump;
mod siblings;
mod text;
