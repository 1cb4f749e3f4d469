//! The functions of NCCL that this crate has.
#![allow(missing_docs, reason = "names and contracts are those of NCCL's header")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the one in NCCL's documentation")]
#![allow(clippy::too_many_arguments, reason = "the arguments are NCCL's")]
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "the names are NCCL's")]

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use hip::Backend;
use rccl_sys as rccl;

use crate::backend;
use crate::codes::codes;

pub use crate::driver::sys::CUstream_st;

codes! {
    u32 ncclResult_t;
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclNumResults = 8,
}

codes! {
    u32 ncclDataType_t;
    ncclInt8 = 0,
    ncclUint8 = 1,
    ncclInt32 = 2,
    ncclUint32 = 3,
    ncclInt64 = 4,
    ncclUint64 = 5,
    ncclFloat16 = 6,
    ncclFloat32 = 7,
    ncclFloat64 = 8,
    ncclBfloat16 = 9,
    ncclFloat8e4m3 = 10,
    ncclFloat8e5m2 = 11,
    ncclNumTypes = 12,
    ;
    ncclChar = ncclInt8,
    ncclInt = ncclInt32,
    ncclHalf = ncclFloat16,
    ncclFloat = ncclFloat32,
    ncclDouble = ncclFloat64,
}

codes! {
    u32 ncclRedOp_t;
    ncclSum = 0,
    ncclProd = 1,
    ncclMax = 2,
    ncclMin = 3,
    ncclAvg = 4,
    ncclNumOps = 5,
    ncclMaxRedOp = 2147483647,
}

#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ncclComm {
    _unused: [u8; 0],
}
pub type ncclComm_t = *mut ncclComm;
pub type cudaStream_t = *mut CUstream_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct ncclUniqueId {
    pub internal: [c_char; 128],
}

type Outcome<T = ()> = Result<T, ncclResult_t>;

/// The RCCL for the devices.
fn table() -> Outcome<&'static rccl::Table> {
    static TABLE: OnceLock<Result<&'static rccl::Table, String>> = OnceLock::new();
    let found = TABLE.get_or_init(|| {
        let backend = backend::backend().map_err(|code| format!("{code:?}"))?;
        let own = || rccl_on_hip::table(backend.table).map_err(|error| error.to_string());
        if backend.takes_cuda_code() {
            return rccl_on_nccl::table().or_else(|error| own().map_err(|own| format!("{error}; {own}")));
        }
        match backend.devices[0].backend() {
            Backend::Amd => {
                rccl::Table::load().or_else(|error| own().map_err(|own| format!("{error}; {own}")))
            }
            _ => own(),
        }
    });
    found.as_ref().copied().map_err(|reason| {
        tracing::error!(reason, "there is no RCCL");
        ncclResult_t::ncclSystemError
    })
}

/// The same, with the calling thread's device current in HIP.
fn current_table() -> Outcome<&'static rccl::Table> {
    backend::current().map_err(|_| ncclResult_t::ncclUnhandledCudaError)?;
    table()
}

fn check(code: rccl::ncclResult_t) -> Outcome {
    match ncclResult_t::from_code(i64::from(code.0)) {
        Some(ncclResult_t::ncclSuccess) => Ok(()),
        other => Err(other.unwrap_or(ncclResult_t::ncclInternalError)),
    }
}

fn datatype(datatype: ncclDataType_t) -> rccl::ncclDataType_t {
    rccl::ncclDataType_t(datatype as _)
}

fn operator(operator: ncclRedOp_t) -> rccl::ncclRedOp_t {
    rccl::ncclRedOp_t(operator as _)
}

/// NCCL functions, whose bodies end in an outcome.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> ncclResult_t {
                // SAFETY: the caller keeps the contract in NCCL's documentation of this function, and RCCL's
                // is the same: communicators are from `ncclCommInit…`, and pointers are as documented.
                let run = move || -> Outcome { unsafe { $body } };
                run().err().unwrap_or(ncclResult_t::ncclSuccess)
            }
        )+
    };
}

functions! {
    fn ncclGetVersion(version: *mut c_int) {
        check((table()?.ncclGetVersion)(version))
    }

    fn ncclGetUniqueId(uniqueId: *mut ncclUniqueId) {
        check((table()?.ncclGetUniqueId)(uniqueId.cast()))
    }

    fn ncclCommInitRank(comm: *mut ncclComm_t, nranks: c_int, commId: ncclUniqueId, rank: c_int) {
        let id = rccl::ncclUniqueId { internal: commId.internal };
        check((current_table()?.ncclCommInitRank)(comm.cast(), nranks, id, rank))
    }

    /// The list has CUDA's ordinals; without a list, the first devices are used.
    fn ncclCommInitAll(comm: *mut ncclComm_t, ndev: c_int, devlist: *const c_int) {
        let count = usize::try_from(ndev).map_err(|_| ncclResult_t::ncclInvalidArgument)?;
        let backend = backend::backend().map_err(|_| ncclResult_t::ncclUnhandledCudaError)?;
        let ordinal = |index: usize| -> Outcome<c_int> {
            let number = if devlist.is_null() { index as c_int } else { *devlist.add(index) };
            let device = backend.device(number).map_err(|_| ncclResult_t::ncclInvalidArgument)?;
            Ok(device.ordinal() as c_int)
        };
        let ordinals = (0..count).map(ordinal).collect::<Outcome<Vec<_>>>()?;
        check((table()?.ncclCommInitAll)(comm.cast(), ndev, ordinals.as_ptr()))
    }

    fn ncclCommFinalize(comm: ncclComm_t) {
        check((table()?.ncclCommFinalize)(comm.cast()))
    }

    fn ncclCommDestroy(comm: ncclComm_t) {
        check((table()?.ncclCommDestroy)(comm.cast()))
    }

    fn ncclCommAbort(comm: ncclComm_t) {
        check((table()?.ncclCommAbort)(comm.cast()))
    }

    fn ncclCommGetAsyncError(comm: ncclComm_t, asyncError: *mut ncclResult_t) {
        let mut code = rccl::ncclResult_t(0);
        check((table()?.ncclCommGetAsyncError)(comm.cast(), &raw mut code))?;
        let place = asyncError.as_mut().ok_or(ncclResult_t::ncclInvalidArgument)?;
        *place = ncclResult_t::from_code(i64::from(code.0)).unwrap_or(ncclResult_t::ncclInternalError);
        Ok(())
    }

    fn ncclCommCount(comm: ncclComm_t, count: *mut c_int) {
        check((table()?.ncclCommCount)(comm.cast(), count))
    }

    /// CUDA's ordinal.
    fn ncclCommCuDevice(comm: ncclComm_t, device: *mut c_int) {
        let mut ordinal = 0;
        check((table()?.ncclCommCuDevice)(comm.cast(), &raw mut ordinal))?;
        let backend = backend::backend().map_err(|_| ncclResult_t::ncclUnhandledCudaError)?;
        let number = backend.devices.iter().position(|device| device.ordinal() as c_int == ordinal);
        let place = device.as_mut().ok_or(ncclResult_t::ncclInvalidArgument)?;
        *place = number.ok_or(ncclResult_t::ncclInternalError)? as c_int;
        Ok(())
    }

    fn ncclCommUserRank(comm: ncclComm_t, rank: *mut c_int) {
        check((table()?.ncclCommUserRank)(comm.cast(), rank))
    }

    fn ncclReduce(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        count: usize,
        type_: ncclDataType_t,
        op: ncclRedOp_t,
        root: c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) {
        let (table, op) = (table()?, operator(op));
        check((table.ncclReduce)(sendbuff, recvbuff, count, datatype(type_), op, root, comm.cast(), stream.cast()))
    }

    fn ncclBroadcast(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        count: usize,
        type_: ncclDataType_t,
        root: c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) {
        check((table()?.ncclBroadcast)(sendbuff, recvbuff, count, datatype(type_), root, comm.cast(), stream.cast()))
    }

    fn ncclAllReduce(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        count: usize,
        type_: ncclDataType_t,
        op: ncclRedOp_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) {
        let (table, op) = (table()?, operator(op));
        check((table.ncclAllReduce)(sendbuff, recvbuff, count, datatype(type_), op, comm.cast(), stream.cast()))
    }

    fn ncclReduceScatter(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        recvcount: usize,
        type_: ncclDataType_t,
        op: ncclRedOp_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) {
        let (table, op) = (table()?, operator(op));
        check((table.ncclReduceScatter)(
            sendbuff, recvbuff, recvcount, datatype(type_), op, comm.cast(), stream.cast(),
        ))
    }

    fn ncclAllGather(
        sendbuff: *const c_void,
        recvbuff: *mut c_void,
        sendcount: usize,
        type_: ncclDataType_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) {
        check((table()?.ncclAllGather)(sendbuff, recvbuff, sendcount, datatype(type_), comm.cast(), stream.cast()))
    }

    fn ncclSend(
        sendbuff: *const c_void,
        count: usize,
        type_: ncclDataType_t,
        peer: c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) {
        check((table()?.ncclSend)(sendbuff, count, datatype(type_), peer, comm.cast(), stream.cast()))
    }

    fn ncclRecv(
        recvbuff: *mut c_void,
        count: usize,
        type_: ncclDataType_t,
        peer: c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) {
        check((table()?.ncclRecv)(recvbuff, count, datatype(type_), peer, comm.cast(), stream.cast()))
    }

    fn ncclGroupStart() {
        check((table()?.ncclGroupStart)())
    }

    fn ncclGroupEnd() {
        check((table()?.ncclGroupEnd)())
    }
}

/// The name of a status.
pub unsafe fn ncclGetErrorString(result: ncclResult_t) -> *const c_char {
    result.c_name().as_ptr()
}
