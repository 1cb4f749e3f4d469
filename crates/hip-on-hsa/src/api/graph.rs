//! Graphs: building them node by node, capturing, launching.

mod capture;
mod copy_node;
mod dot;
mod edit;
mod exec;
mod generic_node;
mod kernel_node;
mod memory;
mod memory_op_node;
mod plain_nodes;
mod structure;
mod symbol_node;
mod update;
mod user_object;

pub(crate) use capture::*;
pub(crate) use copy_node::*;
pub(crate) use dot::*;
pub(crate) use edit::*;
pub(crate) use exec::*;
pub(crate) use generic_node::*;
pub(crate) use kernel_node::*;
pub(crate) use memory::*;
pub(crate) use memory_op_node::*;
pub(crate) use plain_nodes::*;
pub(crate) use structure::*;
pub(crate) use symbol_node::*;
pub(crate) use update::*;
pub(crate) use user_object::*;
