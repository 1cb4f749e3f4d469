//! NCCL's functions, each with a `Result`.
#![allow(clippy::missing_safety_doc, reason = "the contract is the one of NCCL's function of that name")]
#![allow(clippy::too_many_arguments, reason = "the arguments are NCCL's")]

use std::ffi::{c_int, c_void};
use std::fmt;

use super::sys::{self, ncclResult_t};

/// An NCCL status that is an error.
#[derive(Clone, PartialEq, Eq)]
pub struct NcclError(pub ncclResult_t);

impl fmt::Debug for NcclError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NcclError").field(&self.0).finish()
    }
}

/// An NCCL status that is not an error.
#[derive(Clone, PartialEq, Eq)]
pub enum NcclStatus {
    /// Done, or submitted.
    Success,
    /// A non-blocking communicator is not ready yet.
    InProgress,
    /// The number of statuses.
    NumResults,
}

impl ncclResult_t {
    /// Whether this is an error.
    pub fn result(self) -> Result<NcclStatus, NcclError> {
        match self {
            Self::ncclSuccess => Ok(NcclStatus::Success),
            Self::ncclInProgress => Ok(NcclStatus::InProgress),
            Self::ncclNumResults => Ok(NcclStatus::NumResults),
            other => Err(NcclError(other)),
        }
    }
}

/// The version of RCCL (`ncclGetVersion`).
pub fn get_nccl_version() -> Result<c_int, NcclError> {
    let mut version = 0;
    // SAFETY: the result is writable.
    unsafe { sys::ncclGetVersion(&raw mut version) }.result()?;
    Ok(version)
}

/// The id by which the ranks of a new communicator find each other (`ncclGetUniqueId`).
pub fn get_uniqueid() -> Result<sys::ncclUniqueId, NcclError> {
    let mut id = sys::ncclUniqueId { internal: [0; 128] };
    // SAFETY: the result is writable.
    unsafe { sys::ncclGetUniqueId(&raw mut id) }.result()?;
    Ok(id)
}

/// Starts a group: later calls on this thread are submitted together (`ncclGroupStart`).
pub fn group_start() -> Result<NcclStatus, NcclError> {
    // SAFETY: the call takes no arguments.
    unsafe { sys::ncclGroupStart() }.result()
}

/// Submits all calls since [`group_start`] (`ncclGroupEnd`).
pub fn group_end() -> Result<NcclStatus, NcclError> {
    // SAFETY: the call takes no arguments.
    unsafe { sys::ncclGroupEnd() }.result()
}

/// A number of a communicator.
macro_rules! numbers {
    ($($(#[$attribute:meta])* fn $name:ident = $function:ident;)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name(comm: sys::ncclComm_t) -> Result<c_int, NcclError> {
                let mut number = 0;
                // SAFETY: the result is writable; the caller vouches for the communicator.
                unsafe { sys::$function(comm, &raw mut number) }.result()?;
                Ok(number)
            }
        )+
    };
}

numbers! {
    /// The number of ranks (`ncclCommCount`).
    fn comm_count = ncclCommCount;

    /// The ordinal of the rank's device (`ncclCommCuDevice`).
    fn comm_cu_device = ncclCommCuDevice;

    /// The number of this rank (`ncclCommUserRank`).
    fn comm_user_rank = ncclCommUserRank;
}

macro_rules! calls {
    ($($(#[$attribute:meta])* fn $name:ident = $function:ident($($argument:ident: $type:ty),* $(,)?);)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> Result<NcclStatus, NcclError> {
                // SAFETY: the caller vouches for the arguments.
                unsafe { sys::$function($($argument),*) }.result()
            }
        )+
    };
}

calls! {
    /// Finalises a communicator (`ncclCommFinalize`).
    fn comm_finalize = ncclCommFinalize(comm: sys::ncclComm_t);

    /// Destroys a communicator (`ncclCommDestroy`).
    fn comm_destroy = ncclCommDestroy(comm: sys::ncclComm_t);

    /// Aborts a communicator and its operations (`ncclCommAbort`).
    fn comm_abort = ncclCommAbort(comm: sys::ncclComm_t);

    /// Joins a communicator with the calling thread's device (`ncclCommInitRank`).
    fn comm_init_rank = ncclCommInitRank(
        comm: *mut sys::ncclComm_t,
        nranks: c_int,
        comm_id: sys::ncclUniqueId,
        rank: c_int,
    );

    /// Creates a communicator for each of several devices (`ncclCommInitAll`).
    fn comm_init_all = ncclCommInitAll(comm: *mut sys::ncclComm_t, ndev: c_int, devlist: *const c_int);

    /// Combines the data of all ranks, for one of them (`ncclReduce`).
    fn reduce = ncclReduce(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        count: usize,
        datatype: sys::ncclDataType_t,
        op: sys::ncclRedOp_t,
        root: c_int,
        comm: sys::ncclComm_t,
        stream: sys::cudaStream_t,
    );

    /// Sends the data of one rank to all (`ncclBroadcast`).
    fn broadcast = ncclBroadcast(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        count: usize,
        datatype: sys::ncclDataType_t,
        root: c_int,
        comm: sys::ncclComm_t,
        stream: sys::cudaStream_t,
    );

    /// Combines the data of all ranks, for all of them (`ncclAllReduce`).
    fn all_reduce = ncclAllReduce(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        count: usize,
        datatype: sys::ncclDataType_t,
        op: sys::ncclRedOp_t,
        comm: sys::ncclComm_t,
        stream: sys::cudaStream_t,
    );

    /// Combines the data of all ranks; each receives a part (`ncclReduceScatter`).
    fn reduce_scatter = ncclReduceScatter(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        recvcount: usize,
        datatype: sys::ncclDataType_t,
        op: sys::ncclRedOp_t,
        comm: sys::ncclComm_t,
        stream: sys::cudaStream_t,
    );

    /// Sends the data of each rank to all, one after the other (`ncclAllGather`).
    fn all_gather = ncclAllGather(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        sendcount: usize,
        datatype: sys::ncclDataType_t,
        comm: sys::ncclComm_t,
        stream: sys::cudaStream_t,
    );

    /// Sends to a rank (`ncclSend`).
    fn send = ncclSend(
        sendbuff: *const c_void,
        count: usize,
        datatype: sys::ncclDataType_t,
        peer: c_int,
        comm: sys::ncclComm_t,
        stream: sys::cudaStream_t,
    );

    /// Receives from a rank (`ncclRecv`).
    fn recv = ncclRecv(
        recvbuff: *mut c_void,
        count: usize,
        datatype: sys::ncclDataType_t,
        peer: c_int,
        comm: sys::ncclComm_t,
        stream: sys::cudaStream_t,
    );
}
