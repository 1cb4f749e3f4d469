//! Graphs: operations with an order among them, captured from streams or built node by node, and launched as
//! a whole.
//!
//! A program edits a [`Graph`]: nodes, each with an operation, and edges. It launches an
//! [`Exec`](exec::Exec), a copy of the graph that is put in order once: nodes that depend on each other run
//! in sequence on one stream; others run concurrently, as packets without the barrier bit or on the graph's
//! own streams.
//!
//! Kernel arguments are in memory of the [`Exec`](exec::Exec), and their packets are prepared with it; a
//! launch copies packets into the queue. Kernels whose arguments depend on the queue (calls to the host,
//! apertures, cooperative launches) are launched as by `hipModuleLaunchKernel`.

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
