//! Operations and groups.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hip_sys::hipStream_t;
use rccl_sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclSimInfo_t};

use crate::batch::{Address, Collective, Kind, Operation, Scale, Transfer};
use crate::comm::{Comm, Place};
use crate::error::{Failure, Result, plain};
use crate::group::{self, Submission};
use crate::number::{Reduction, Type};

/// `ncclGroupStart`.
pub(crate) unsafe extern "C" fn ncclGroupStart() -> ncclResult_t {
    group::start();
    ncclResult_t::ncclSuccess
}

/// `ncclGroupEnd`.
pub(crate) unsafe extern "C" fn ncclGroupEnd() -> ncclResult_t {
    crate::error::entry(group::end)
}

/// The value of `magic` in `NCCL_SIM_INFO_INITIALIZER`.
const SIM_INFO_MAGIC: u32 = 0x7468_5283;

/// `ncclGroupSimulateEnd`: an estimate in microseconds, from the bytes that go through shared memory.
/// Enqueues nothing of the group.
pub(crate) unsafe extern "C" fn ncclGroupSimulateEnd(info: *mut ncclSimInfo_t) -> ncclResult_t {
    crate::error::entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let info = unsafe { super::place(info, "simInfo") }?;
        if info.magic != SIM_INFO_MAGIC || info.size < size_of::<ncclSimInfo_t>() {
            return Err(Failure::argument("simInfo was not made by NCCL_SIM_INFO_INITIALIZER"));
        }
        group::simulate_end(&mut info.estimatedTime)
    })
}

/// What every operation needs.
struct Call {
    comm: Arc<Comm>,
    place: Place,
    element: Type,
    stream: hipStream_t,
}

impl Call {
    fn new(comm: ncclComm_t, element: ncclDataType_t, stream: hipStream_t) -> Result<Self> {
        let comm = Comm::of(comm)?;
        let place = comm.check()?.clone();
        let element = Type::of(element, comm.fnuz)?;
        Ok(Self { comm, place, element, stream })
    }

    /// Checks a rank given by the program.
    fn rank(&self, rank: c_int, name: &str) -> Result<usize> {
        let found = usize::try_from(rank).ok().filter(|rank| *rank < self.place.ranks);
        found.ok_or_else(|| Failure::argument(format!("{name} {rank} of {} ranks", self.place.ranks)))
    }

    fn reduction(&self, raw: ncclRedOp_t) -> Result<(Reduction, Scale)> {
        if let Some(reduction) = Reduction::built_in(raw) {
            return Ok((reduction, Scale::None));
        }
        let index = raw.0.checked_sub(ncclRedOp_t::ncclNumOps.0);
        let scaled = index.and_then(|index| self.comm.scaled(index as usize));
        match scaled {
            Some(scaled) if scaled.element == self.element => Ok((Reduction::ScaledSum, scaled.scale)),
            Some(_) => Err(Failure::argument("the operator was made for another element type")),
            None => Err(Failure::argument(format!("there is no operator {}", raw.0))),
        }
    }

    /// Checks memory of `blocks` blocks of `count` elements.
    fn address(&self, pointer: usize, count: usize, blocks: usize, name: &str) -> Result<Address> {
        let bytes = count.checked_mul(blocks).and_then(|count| count.checked_mul(self.element.size()));
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(Failure::argument(format!("{count} elements do not fit into the address space")));
        }
        if pointer == 0 && count != 0 {
            return Err(Failure::argument(format!("{name} is null")));
        }
        Ok(Address(pointer))
    }

    fn submit(self, operation: Operation) -> Result {
        let Self { comm, stream, .. } = self;
        group::submit(Submission { comm, stream, operation })
    }
}

/// The arguments of a collective operation.
struct Arguments {
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    op: ncclRedOp_t,
    root: c_int,
    comm: ncclComm_t,
    stream: hipStream_t,
    /// `None` except for [`Kind::AllReduceWithBias`].
    bias: Option<*const c_void>,
}

fn collective(kind: Kind, arguments: Arguments) -> ncclResult_t {
    plain(|| group::note(submit(kind, arguments)))
}

fn submit(kind: Kind, arguments: Arguments) -> Result {
    let Arguments { send, receive, count, element, op, root, comm, stream, bias } = arguments;
    let call = Call::new(comm, element, stream)?;
    let root = call.rank(root, "root")?;
    let (reduction, scale) = call.reduction(op)?;
    let (is_root, ranks) = (call.place.rank == root, call.place.ranks);
    let (sent, received) = kind.blocks(is_root, ranks);
    let address = |pointer: usize, blocks: usize, name| match blocks {
        0 => Ok(Address(0)),
        _ => call.address(pointer, count, blocks, name),
    };
    let (send, receive) =
        (address(send as usize, sent, "sendbuff")?, address(receive as usize, received, "recvbuff")?);
    let bias = match bias {
        None => Address(0),
        Some(bias) => call.address(bias as usize, count, 1, "acc")?,
    };
    let element = call.element;
    let what = Collective { kind, send, receive, count, element, reduction, scale, root, bias };
    call.submit(Operation::Collective(what))
}

/// `ncclAllReduce`.
pub(crate) unsafe extern "C" fn ncclAllReduce(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    op: ncclRedOp_t,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    collective(
        Kind::AllReduce,
        Arguments { send, receive, count, element, op, root: 0, comm, stream, bias: None },
    )
}

/// `ncclAllReduceWithBias`: each rank's result, combined with `acc` of its own by the same operation; for
/// averages and scaled sums, `acc` is added.
pub(crate) unsafe extern "C" fn ncclAllReduceWithBias(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    op: ncclRedOp_t,
    comm: ncclComm_t,
    stream: hipStream_t,
    acc: *const c_void,
) -> ncclResult_t {
    let bias = Some(acc);
    let arguments = Arguments { send, receive, count, element, op, root: 0, comm, stream, bias };
    collective(Kind::AllReduceWithBias, arguments)
}

/// `ncclReduce`.
pub(crate) unsafe extern "C" fn ncclReduce(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    op: ncclRedOp_t,
    root: c_int,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    collective(Kind::Reduce, Arguments { send, receive, count, element, op, root, comm, stream, bias: None })
}

/// `ncclReduceScatter`.
pub(crate) unsafe extern "C" fn ncclReduceScatter(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    op: ncclRedOp_t,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    collective(
        Kind::ReduceScatter,
        Arguments { send, receive, count, element, op, root: 0, comm, stream, bias: None },
    )
}

/// The operator of operations that reduce nothing.
const NO_OP: ncclRedOp_t = ncclRedOp_t::ncclSum;

/// `ncclBroadcast`.
pub(crate) unsafe extern "C" fn ncclBroadcast(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    root: c_int,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    collective(
        Kind::Broadcast,
        Arguments { send, receive, count, element, op: NO_OP, root, comm, stream, bias: None },
    )
}

/// `ncclBcast`: in place.
pub(crate) unsafe extern "C" fn ncclBcast(
    buffer: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    root: c_int,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    // SAFETY: the caller's promise, of the same memory.
    unsafe { ncclBroadcast(buffer, buffer, count, element, root, comm, stream) }
}

/// `ncclAllGather`.
pub(crate) unsafe extern "C" fn ncclAllGather(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    collective(
        Kind::AllGather,
        Arguments { send, receive, count, element, op: NO_OP, root: 0, comm, stream, bias: None },
    )
}

/// `ncclAllToAll`.
pub(crate) unsafe extern "C" fn ncclAllToAll(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    collective(
        Kind::AllToAll,
        Arguments { send, receive, count, element, op: NO_OP, root: 0, comm, stream, bias: None },
    )
}

/// `ncclGather`.
pub(crate) unsafe extern "C" fn ncclGather(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    root: c_int,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    collective(
        Kind::Gather,
        Arguments { send, receive, count, element, op: NO_OP, root, comm, stream, bias: None },
    )
}

/// `ncclScatter`.
pub(crate) unsafe extern "C" fn ncclScatter(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    root: c_int,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    collective(
        Kind::Scatter,
        Arguments { send, receive, count, element, op: NO_OP, root, comm, stream, bias: None },
    )
}

fn transfer(
    sends: bool,
    pointer: usize,
    count: usize,
    element: ncclDataType_t,
    peer: c_int,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> Result {
    let call = Call::new(comm, element, stream)?;
    let peer = call.rank(peer, "peer")?;
    let address = call.address(pointer, count, 1, if sends { "sendbuff" } else { "recvbuff" })?;
    let element = call.element;
    call.submit(Operation::Transfer(Transfer { sends, peer, address, count, element }))
}

/// `ncclSend`.
pub(crate) unsafe extern "C" fn ncclSend(
    send: *const c_void,
    count: usize,
    element: ncclDataType_t,
    peer: c_int,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    plain(|| group::note(transfer(true, send as usize, count, element, peer, comm, stream)))
}

/// `ncclRecv`.
pub(crate) unsafe extern "C" fn ncclRecv(
    receive: *mut c_void,
    count: usize,
    element: ncclDataType_t,
    peer: c_int,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    plain(|| group::note(transfer(false, receive as usize, count, element, peer, comm, stream)))
}

/// `ncclAllToAllv`: transfers between all pairs, as one group.
pub(crate) unsafe extern "C" fn ncclAllToAllv(
    send: *const c_void,
    send_counts: *const usize,
    send_offsets: *const usize,
    receive: *mut c_void,
    receive_counts: *const usize,
    receive_offsets: *const usize,
    element: ncclDataType_t,
    comm: ncclComm_t,
    stream: hipStream_t,
) -> ncclResult_t {
    plain(|| {
        group::note((|| {
            let call = Call::new(comm, element, stream)?;
            let (ranks, size) = (call.place.ranks, call.element.size());
            let list = |pointer: *const usize, name: &str| {
                if pointer.is_null() {
                    return Err(Failure::argument(format!("{name} is null")));
                }
                // SAFETY: the caller's list has a number for each rank.
                Ok(unsafe { std::slice::from_raw_parts(pointer, ranks) })
            };
            let sides = [
                (true, send as usize, list(send_counts, "sendcounts")?, list(send_offsets, "sdispls")?),
                (
                    false,
                    receive as usize,
                    list(receive_counts, "recvcounts")?,
                    list(receive_offsets, "rdispls")?,
                ),
            ];
            let mut operations = Vec::new();
            for (sends, pointer, counts, offsets) in sides {
                for (peer, (&count, &offset)) in counts.iter().zip(offsets).enumerate() {
                    let end = count.saturating_add(offset);
                    let name = if sends { "sendbuff" } else { "recvbuff" };
                    let Address(start) = call.address(pointer, end, 1, name)?;
                    let address = Address(start.wrapping_add(offset * size));
                    let element = call.element;
                    operations.push(Operation::Transfer(Transfer { sends, peer, address, count, element }));
                }
            }
            group::start();
            for operation in operations {
                let comm = call.comm.clone();
                group::submit(Submission { comm, stream, operation })?;
            }
            group::end().map(drop)
        })())
    })
}
