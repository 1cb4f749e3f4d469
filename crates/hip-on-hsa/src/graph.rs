//! Graphs: operations with an order among them, captured from streams or built node by node, and launched as a whole.
//!
//! A [`Graph`] is what a program edits: nodes, each with an operation, and edges. An [`Exec`](exec::Exec) is what it launches: a copy of
//! the graph, put in order once: nodes that depend on each other follow each other on one stream, others run beside
//! them, as packets without the barrier bit or on streams that the graph has for itself.
//!
//! The arguments of kernels lie in memory of the [`Exec`](exec::Exec), and their packets are made when it is; a launch copies packets into
//! the queue. Kernels whose arguments depend on the queue (calls to the host, apertures, cooperative launches) are launched as
//! by `hipModuleLaunchKernel`.

pub(crate) mod attributes;
pub(crate) mod capture;
pub(crate) mod exec;
pub(crate) mod lanes;
pub(crate) mod memory;
pub(crate) mod op;
pub(crate) mod plan;
pub(crate) mod steps;
pub(crate) mod structure;
pub(crate) mod user_object;

pub(crate) use attributes::*;
pub(crate) use capture::*;
pub(crate) use memory::*;
pub(crate) use structure::*;
