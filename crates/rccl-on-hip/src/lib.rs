//! The RCCL function table implemented over any HIP function table, for GPUs of one host.
//!
//! [`table`] takes a HIP implementation, such as `hip-on-hsa` over the virtual GPU, and returns RCCL on top
//! of it: communicators within a process and across the processes of a host, collectives, transfers and
//! groups. [`FUNCTIONS`] lists the implemented functions. Every other function of the table returns
//! `ncclInternalError`; `Table::has` tells which kind a function is.
//!
//! ```
//! # fn run(hip: &'static hip_sys::Table) -> Result<(), rccl_on_hip::Error> {
//! let rccl = rccl_on_hip::table(hip)?;
//! let mut id = rccl_sys::ncclUniqueId::default();
//! // SAFETY: the id is valid for writes.
//! let status = unsafe { (rccl.ncclGetUniqueId)(&mut id) };
//! assert_eq!(status, rccl_sys::ncclResult_t::ncclSuccess);
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//! | RCCL | here |
//! |---|---|
//! | unique id | the host, the network namespace, and a random number |
//! | shared memory | a sealed memfd, made by the first rank and sent to the others over an abstract Unix socket; the socket's name is derived from the id |
//! | rank | a thread, a stream for copies, two *slots* in that memory, and a *ring* for each other rank |
//! | operation on a stream | a callback that notifies the rank's thread, then a wait for a word in memory (`hipStreamWaitValue64`); the thread raises the word when the operation is done |
//! | operation in a graph | each time that the graph runs: a host function that starts the operation on the rank's thread, then a wait for another word |
//! | collective | piece by piece: copy from the device to the slot, meet the other ranks, copy from all slots to the device |
//! | reduction | done by the host in rank order, so the result is the same on every run |
//! | send and receive | messages through the ring of the pair; those of a group all progress at once, those of one pair in order |
//!
//! # Deadlock freedom
//! No thread of HIP or of the program waits for another rank. Callbacks only notify, streams wait for a word
//! in memory, and only the rank's own thread waits for other ranks. So ranks may share a process, a thread or
//! a device, and operations of different communicators may be enqueued in any order. A rank that ends tells
//! the others first. If operations of other communicators are pending, HIP releases its memory in the
//! background. As with AMD's RCCL, the program itself can still block. If a thread enqueues an operation of
//! one rank, and blocks until it is done before it enqueues the other rank's, it blocks for ever, unless both
//! are in a group. `hipFree` counts as blocking if it waits until the device is idle. The crate `rccl` keeps
//! memory until its operations are done, so dropping a buffer does not block.
//!
//! Within a communicator, operations run in the order in which they were enqueued, on whatever streams. All
//! ranks must use the same order. Ranks that call mismatched collectives get `ncclInvalidUsage`, where AMD's
//! RCCL hangs or mixes data.
//!
//! # Graphs
//! Streams may be captured: the operation then runs each time that the graph runs, on all ranks. A
//! communicator may mix captured, launched and enqueued operations, if all ranks do so in the same order.
//! Only HIP knows when a graph is launched. So from the first captured operation on, an event orders
//! everything that is enqueued or launched, on any stream. In a group, either all streams of a communicator
//! are captured into one graph, or none.
//!
//! `ncclCommDestroy`, `ncclCommFinalize` and `ncclCommSplit` wait for graphs launched before them. If a graph
//! runs after its communicator has ended or failed, it skips the communicator's operations. If a rank's
//! stream fails before it reaches an operation in a graph, the other ranks are not told, and wait for it.
//!
//! # Failures
//! If a rank's process ends, the system releases its lock on the memory, and the others notice within a
//! fraction of a second: their operations end, and `ncclCommGetAsyncError` returns `ncclRemoteError`. The
//! same happens for a rank that aborts, whose stream has failed, or that has destroyed its communicator.
//! Streams continue in all cases; the received values are unspecified. If the ranks do not all join within 60
//! s (or `FERROCM_RCCL_TIMEOUT`), they get `ncclSystemError`. `ncclGetLastError` has details.
//!
//! # Access to the memory
//! The memory is open to processes of the same user that know the id, and to processes that may inspect a
//! rank's process. Both ends of the socket ask the system for the peer's user, so ranks of several users
//! cannot form a communicator. The memory has no name in any file system, and its size is sealed, so nothing
//! done to it can kill a rank's process. A rank checks what it reads there. If a rank writes garbage, the
//! others get an error, or wrong data.
//!
//! # Differences from AMD's RCCL
//! * Ranks are on one host, in one network namespace (containers of a pod share one), and belong to one user.
//!   There are at most 64. Any number of them may share a device.
//! * Halves and 8-bit floats are summed as `f32` and rounded once; RCCL rounds after each addition. The
//!   average of floats is their sum, divided.
//! * 8-bit floats use the device's format: the one without a negative zero on gfx942, OCP's elsewhere. Values
//!   too large become the largest.
//! * `ncclAllReduceWithBias` works on all devices and for a single rank, and combines each rank's result, as
//!   rounded, with its own bias.
//! * `ncclGroupSimulateEnd` estimates from the number of operations and of bytes.
//! * Only `blocking` of `ncclConfig_t` is used. Registering memory has no effect.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the functions of the table have their C names")]

#[cfg(not(target_os = "linux"))]
compile_error!("this crate needs Linux: ranks share memory, locks and futexes");

#[cfg(any(test, feature = "fuzzing"))]
mod any_input;
mod api;
mod batch;
mod captured;
mod collective;
mod comm;
mod device;
mod door;
mod error;
mod group;
mod id;
mod number;
mod order;
mod segment;
mod transfer;

/// Entry points for the fuzz targets.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    /// See `any_input`.
    pub fn id(bytes: &[u8]) {
        crate::any_input::id(bytes);
    }

    /// See `any_input`.
    pub fn segment(hip: &'static hip_sys::Table, bytes: &[u8]) {
        crate::any_input::segment(hip, bytes);
    }
}

pub use api::table::FUNCTIONS;

/// The HIP functions that the table needs.
const NEEDED: &[&str] = &[
    "hipGetDevice",
    "hipGetDeviceCount",
    "hipGetDevicePropertiesR0600",
    "hipHostFree",
    "hipHostMalloc",
    "hipMemcpyWithStream",
    "hipSetDevice",
    "hipStreamAddCallback",
    "hipStreamCreateWithFlags",
    "hipStreamDestroy",
    "hipStreamGetDevice",
    "hipStreamIsCapturing",
    "hipStreamSynchronize",
    "hipStreamWaitValue64",
];

/// Why the table cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process already runs RCCL over another HIP table.
    #[error("RCCL already runs over another HIP implementation in this process; there can be only one")]
    OtherTable,
    /// The HIP table lacks required functions.
    #[error("the HIP implementation lacks {}", .0.join(", "))]
    MissingFunctions(
        /// Their names.
        Vec<&'static str>,
    ),
}

/// The RCCL table over a HIP table. Later calls with the same table return the same result.
///
/// # Errors
/// See [`Error`]. A second, different HIP table is an error.
pub fn table(hip: &'static hip_sys::Table) -> Result<&'static rccl_sys::Table, Error> {
    let missing: Vec<_> = NEEDED.iter().copied().filter(|name| !hip.has(name)).collect();
    if !missing.is_empty() {
        return Err(Error::MissingFunctions(missing));
    }
    if !std::ptr::eq(*api::HIP.get_or_init(|| hip), hip) {
        return Err(Error::OtherTable);
    }
    Ok(api::table::table())
}
