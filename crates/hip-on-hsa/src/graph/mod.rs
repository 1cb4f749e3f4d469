//! Graphs: operations with an order among them, captured from streams or built node by node, and launched as a whole.
//!
//! A [`Graph`] is what a program edits: nodes, each with an operation, and edges. An [`Exec`] is what it launches: a copy of
//! the graph, put in order once: nodes that depend on each other follow each other on one stream, others run beside
//! them, as packets without the barrier bit or on streams that the graph has for itself.
//!
//! The arguments of kernels lie in memory of the [`Exec`], and their packets are made when it is; a launch copies packets into
//! the queue. Kernels whose arguments depend on the queue (calls to the host, apertures, cooperative launches) are launched as
//! by `hipModuleLaunchKernel`.

mod capture;
mod copy_node;
mod dot;
mod edit;
mod exec;
mod generic_node;
mod kernel_node;
mod lanes;
mod memory;
mod memory_op_node;
mod plain_nodes;
mod plan;
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
pub(crate) use lanes::SpareLanes;
pub(crate) use memory::*;
pub(crate) use memory_op_node::*;
pub(crate) use plain_nodes::*;
pub(crate) use structure::*;
pub(crate) use symbol_node::*;
pub(crate) use update::*;
pub(crate) use user_object::*;
