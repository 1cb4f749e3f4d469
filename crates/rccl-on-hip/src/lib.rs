//! The RCCL function table implemented over any HIP function table, for GPUs of one host.
//!
//! [`table`] takes a HIP implementation, such as `hip-on-hsa`'s over the virtual GPU, and gives RCCL on top of it: communicators within a
//! process and across the processes of a host, collectives, transfers, groups. [`FUNCTIONS`] lists what is there; every other function of the
//! table returns `ncclInternalError`, and `Table::has` tells the two apart.
//!
//! ```
//! # fn run(hip: &'static hip_sys::Table) -> Result<(), rccl_on_hip::Error> {
//! let rccl = rccl_on_hip::table(hip)?;
//! let mut id = rccl_sys::ncclUniqueId::default();
//! // SAFETY: the id is a place to write to.
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
//! | shared memory | a sealed memfd, which the first rank makes and gives to the others over an abstract Unix socket; the socket's name follows from the id |
//! | rank | a thread, a stream for copies, two *slots* in that memory, and a *ring* for each other rank |
//! | operation on a stream | a callback that tells the rank's thread that it is its turn, and a wait for a word in memory (`hipStreamWaitValue64`) that the thread raises when the operation is done |
//! | operation in a graph | a host function that starts a run of it on the rank's thread, and a wait for another word, each time that the graph runs |
//! | collective | piece by piece: from the device to the slot, all ranks meet, and from the slots of all to the device |
//! | reduction | by the host, in the order of ranks: the result is the same on every run |
//! | send and receive | messages through the ring of the pair; all of a group at once, those of one pair in order |
//!
//! # Why it does not deadlock
//! No thread of HIP's and no thread of the program's waits for another rank: a callback only tells, a stream waits for a word in memory, and
//! whoever waits for others is the rank's own thread. So ranks may share a process, a thread, or a device, and operations of different
//! communicators may be enqueued in any order. A rank that ends tells the others first, and HIP releases its memory behind the program's
//! back if operations of other communicators are pending. What does wait, as with AMD's RCCL, is the program: who enqueues an operation of one rank and
//! then blocks until it is done, before the same thread enqueues that of the other, blocks for ever, unless both are in a group. `hipFree` of
//! memory that blocks until the device is idle counts; the crate `rccl` keeps memory until its operations are done, so that dropping a
//! buffer does not.
//!
//! Within a communicator, operations run in the order in which they were enqueued, whatever their streams, and it has to be the same for
//! all ranks. Ranks that call collectives which do not fit together are told so (`ncclInvalidUsage`), where AMD's RCCL hangs or mixes data.
//!
//! # Graphs
//! Streams may be captured: the operation is done each time that the graph runs, on all ranks. Operations that are captured, launched and
//! enqueued on one communicator may be mixed; all ranks do so in the same order. Nothing but HIP knows when a graph is launched, so from the
//! first captured operation on an event orders what is enqueued and launched, on whatever streams. Of the streams of one communicator in a
//! group, all are captured into one graph, or none is.
//!
//! Graphs that have been launched before `ncclCommDestroy`, `ncclCommFinalize` and `ncclCommSplit` run first. A graph that runs after its
//! communicator has ended or failed does nothing of its operations. If a rank's stream has failed before it comes to an operation in a
//! graph, the others are not told, and wait for it.
//!
//! # What fails
//! A rank whose process ends is noticed by the others within a fraction of a second, because the system then releases its lock on the memory:
//! their operations end, and `ncclCommGetAsyncError` is `ncclRemoteError`. So it is for a rank that aborts, whose stream has failed, or that
//! has destroyed its communicator. Streams go on in all cases; what was to be received is of unspecified value. Ranks that do not come
//! together within 60 s, or as `FERROCM_RCCL_TIMEOUT` says, are `ncclSystemError`. `ncclGetLastError` says more than the code.
//!
//! # Who can get at the memory
//! Processes of the same user that know the id, and those that may look into a rank's process. Both ends of the socket ask the system for the
//! other one's user, so ranks of several users cannot form a communicator. The memory has no name in any file system, and its size is
//! sealed: nothing that happens to it ends a rank's process. What a rank reads there is checked, so that a rank that writes nonsense is an
//! error, or wrong data, of the others.
//!
//! # What differs from AMD's RCCL
//! * Ranks are on one host, in one network namespace (containers of a pod share one) and of one user, 64 at most. Any number of them may
//!   share a device.
//! * Halves and 8-bit floats are added up as `f32` and rounded once; RCCL rounds after each addition. The average of floats is their sum, divided.
//! * 8-bit floats are the device's: those without a negative zero on gfx942, OCP's elsewhere. Values beyond the largest are that one.
//! * `ncclAllReduceWithBias` works on all devices and for a single rank, and combines each rank's result, as rounded, with its own bias.
//! * `ncclGroupSimulateEnd` guesses by the number of operations and of bytes.
//! * Of `ncclConfig_t`, `blocking` counts. Registering memory changes nothing.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the functions of the table have their C names")]

#[cfg(not(target_os = "linux"))]
compile_error!("ranks share memory, locks and futexes as Linux has them");

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

/// What the fuzz targets call.
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

/// What the table is made of.
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

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process already runs RCCL over another HIP table.
    #[error("RCCL already runs over another HIP implementation in this process; there can be only one")]
    OtherTable,
    /// The HIP table lacks functions that nothing works without.
    #[error("the HIP implementation lacks {}", .0.join(", "))]
    MissingFunctions(
        /// Their names.
        Vec<&'static str>,
    ),
}

/// The RCCL table over a HIP table. Later calls with the same table return the same result.
///
/// # Errors
/// See [`Error`]; a second, different HIP table is one.
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
