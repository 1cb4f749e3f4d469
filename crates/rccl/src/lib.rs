//! Safe RCCL for Rust: collectives between GPUs, AMD's and virtual ones, in one process and across processes.
//!
//! A [`Communicator`] is one rank of a group of GPUs. Its operations, such as
//! [`all_reduce`](Communicator::all_reduce), take a stream of its device and typed buffers of the crate
//! `hip`. They return at once. A [`Group`] enqueues the operations of several ranks, or several sends and
//! receives, together.
//!
//! ```
#![doc = include_str!("../examples/all_reduce.rs")]
//! ```
//!
//! # Where the ranks come from
//! | ranks | made by |
//! |---|---|
//! | GPUs of one process | [`Communicator::all`] |
//! | processes of `mpirun`, `srun`, `torchrun` | [`Launch::from_env`], [`Launch::communicator`] |
//! | processes and threads that can exchange bytes themselves | a [`UniqueId`] made by one rank, [`Communicator::new`] |
//! | parts of a communicator | [`Communicator::split`] |
//!
//! # NCCL, RCCL, and this crate
//! | NCCL | `rccl` |
//! |---|---|
//! | `ncclCommInitAll`, `ncclCommInitRank`, `ncclCommInitRankConfig` | [`Communicator::all`], [`Communicator::new`], [`Communicator::with`] |
//! | `ncclCommInitRankMulti` | [`Options::virtual_id`] |
//! | `ncclCommSplit` | [`Communicator::split`], [`Communicator::split_all`] |
//! | `ncclCommGetAsyncError` | [`Communicator::check`], [`Communicator::wait`] |
//! | `ncclCommAbort` | [`Communicator::abort`]; drop, if operations do not end |
//! | `ncclGroupStart`, `ncclGroupEnd`, `ncclGroupSimulateEnd` | [`Group`], [`Group::estimate`] |
//! | `ncclAllReduce`, `ncclReduce`, `ncclReduceScatter` | [`Communicator::all_reduce`], [`reduce`](Communicator::reduce), [`reduce_scatter`](Communicator::reduce_scatter), with an [`Op`] |
//! | `ncclAllReduceWithBias` | [`Communicator::all_reduce_with_bias`] |
//! | `ncclRedOpCreatePreMulSum` | [`Communicator::scaled_sum`] |
//! | `ncclBroadcast`, `ncclAllGather`, `ncclGather`, `ncclScatter` | [`Communicator::broadcast`], [`all_gather`](Communicator::all_gather), [`gather`](Communicator::gather), [`scatter`](Communicator::scatter) |
//! | `ncclAllToAll`, `ncclAllToAllv` | [`Communicator::all_to_all`], [`Communicator::all_to_all_v`] |
//! | `ncclSend`, `ncclRecv` | [`Communicator::send`], [`Communicator::receive`] |
//! | `ncclCommRegister`, `ncclMemAlloc` | [`Communicator::register`], [`allocate`] |
//!
//! # Implementations
//! AMD's `librccl.so.1`, opened at run time, serves AMD's GPUs. Where it is missing, and for virtual GPUs, the crate `rccl-on-hip`
//! takes over (feature `on-hip`). It needs only HIP and connects the processes of one host. [`Communicator::implementation`] tells
//! which one is in use.
//!
//! # Guarantees
//! - **Nothing panics**, whatever a caller passes. Lengths, ranks, devices, streams and operators are checked first, and a refused call
//!   enqueues nothing.
//! - **Memory** of an operation stays alive, and ordered with other work on it, until the operation is done.
//! - **A rank that dies** makes [`Communicator::wait`] return [`Error::Failed`] or [`Error::TimedOut`] on the others. Drop never hangs.
//!
//! # Features
//! | feature | by default | adds |
//! |---|---|---|
//! | `on-hip` | on | our own collectives, for machines without AMD's library |
//! | `virtual` | on | the virtual GPU of `hip`, and `on-hip` for it |
//!
//! # Graphs
//! Operations on a stream of [`hip::Device::capture`] become part of the graph, and run each time that it runs. All ranks must launch
//! their graphs, and enqueue other operations of the communicator, in the same order. With AMD's RCCL, the streams must also wait for
//! each other. A graph keeps the buffers and communicators of its operations, even after the program has dropped them.
//! [`Communicator::wait`] waits for a stream that runs a graph as for any other. Dropping an executable graph waits for its launches.
//! It aborts the communicator if the other ranks do not launch theirs within [`Options::limit`].
//!
//! ```
//! use hip::{Device, DeviceBuffer};
//! use rccl::{Communicator, Op};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open("vgpu:gfx1100?cus=1&memory=64MiB")?;
//! let (ranks, stream) = (Communicator::all(&[device.clone()])?, device.stream()?);
//! let mut gradient = DeviceBuffer::from_slice(&stream, &[1.0_f32; 100])?;
//! let mut captured = Ok(());
//! let graph = device.capture(|stream| {
//!     captured = ranks[0].all_reduce_in_place(stream, &mut gradient, Op::Average);
//!     Ok(())
//! })?;
//! captured?;
//! let step = graph.instantiate()?;
//! for _ in 0..10 {
//!     step.launch(&stream)?;
//! }
//! ranks[0].wait(&stream, std::time::Duration::from_secs(60))?;
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod communicator;
mod current;
mod element;
mod error;
mod group;
pub mod launch;
mod launcher;
#[cfg(test)]
mod layers;
mod operator;
mod registered;
mod table;

/// Entry points for the fuzz targets.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    /// See `launch::greeting`. The input says how many bytes of a whole conversation to keep, how to cut
    /// them, and what follows.
    pub fn greeting(bytes: &[u8]) {
        if let Some((&[keep, first, second], bytes)) = bytes.split_first_chunk() {
            let pieces = [first, second].map(usize::from);
            crate::launch::greeting::any_input::run(bytes, keep.into(), &pieces);
        }
    }
}

pub use communicator::{Communicator, Options, UniqueId};
pub use element::{Element, F8E4M3, F8E5M2, Op};
pub use error::{Error, LaunchError, Result};
pub use group::Group;
pub use hip;
pub use launch::Launch;
pub use launcher::Launcher;
pub use operator::{Reduction, Scaled};
pub use rccl_sys;
pub use registered::{Registered, allocate};
