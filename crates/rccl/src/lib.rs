//! Safe RCCL for Rust: collectives between GPUs, AMD's and virtual ones, in one process and across processes.
//!
//! A [`Communicator`] is one rank of a group of GPUs. Its operations, such as [`all_reduce`](Communicator::all_reduce), take a stream of its
//! device and typed buffers of the crate `hip`, and return at once; a [`Group`] enqueues those of several ranks, or several sends and receives,
//! together.
//!
//! ```
#![doc = include_str!("../examples/all_reduce.rs")]
//! ```
//!
//! # From where the ranks come
//! | ranks | made by |
//! |---|---|
//! | GPUs of one process | [`Communicator::all`] |
//! | processes of `mpirun`, `srun`, `torchrun` | [`Launch::from_env`], [`Launch::communicator`] |
//! | processes and threads that have their own way to talk | a [`UniqueId`] of one rank, [`Communicator::new`] |
//! | parts of a communicator | [`Communicator::split`] |
//!
//! # NCCL, RCCL, and this crate
//! | NCCL | `rccl` |
//! |---|---|
//! | `ncclCommInitAll`, `ncclCommInitRank`, `ncclCommInitRankConfig` | [`Communicator::all`], [`Communicator::new`], [`Communicator::with`] |
//! | `ncclCommInitRankMulti` | [`Options::virtual_id`] |
//! | `ncclCommSplit` | [`Communicator::split`], [`Communicator::split_all`] |
//! | `ncclCommGetAsyncError` | [`Communicator::check`], [`Communicator::wait`] |
//! | `ncclCommAbort` | [`Communicator::abort`], and drop where operations do not end |
//! | `ncclGroupStart`, `ncclGroupEnd`, `ncclGroupSimulateEnd` | [`Group`], [`Group::estimate`] |
//! | `ncclAllReduce`, `ncclReduce`, `ncclReduceScatter` | [`Communicator::all_reduce`], [`reduce`](Communicator::reduce), [`reduce_scatter`](Communicator::reduce_scatter), with an [`Op`] |
//! | `ncclAllReduceWithBias` | [`Communicator::all_reduce_with_bias`] |
//! | `ncclRedOpCreatePreMulSum` | [`Communicator::scaled_sum`] |
//! | `ncclBroadcast`, `ncclAllGather`, `ncclGather`, `ncclScatter` | [`Communicator::broadcast`], [`all_gather`](Communicator::all_gather), [`gather`](Communicator::gather), [`scatter`](Communicator::scatter) |
//! | `ncclAllToAll`, `ncclAllToAllv` | [`Communicator::all_to_all`], [`Communicator::all_to_all_v`] |
//! | `ncclSend`, `ncclRecv` | [`Communicator::send`], [`Communicator::receive`] |
//! | `ncclCommRegister`, `ncclMemAlloc` | [`Communicator::register`], [`allocate`] |
//!
//! # Who does it
//! AMD's `librccl.so.1`, opened when the program runs, serves AMD's GPUs. Where there is none, and for virtual GPUs, the crate `rccl-on-hip` does
//! (feature `on-hip`): over HIP alone, between the processes of one host. [`Communicator::implementation`] tells.
//!
//! # What is promised
//! - **Nothing panics** for what a caller passes, and nothing of a call that is refused is enqueued: lengths, ranks, devices, streams and
//!   operators are checked before.
//! - **Memory** of an operation lives, and is ordered with other work on it, until the operation is done.
//! - **A rank that dies** is an [`Error::Failed`] or [`Error::TimedOut`] of [`Communicator::wait`] on the others, and drop never hangs.
//!
//! # Features
//! | feature | by default | brings |
//! |---|---|---|
//! | `on-hip` | on | collectives of our own, where AMD's library is not |
//! | `virtual` | on | the virtual GPU of `hip`, and `on-hip` for it |
//!
//! # Graphs
//! Operations on a stream of [`hip::Device::capture`] become part of the graph, and are done each time that it runs. All ranks launch
//! their graphs, and enqueue other operations of the communicator, in the same order; with AMD's RCCL on streams that wait for each other.
//! A graph keeps the buffers and the communicators of its operations, also when the program has dropped them. [`Communicator::wait`] waits
//! for a stream that runs a graph as for any other. Dropping an executable graph waits for its launches, and aborts the communicator if the
//! other ranks do not launch theirs within [`Options::limit`].
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

/// What the fuzz targets call.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    /// See `launch::greeting`: how many bytes of a whole conversation are kept, how long its pieces are, and what follows.
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
