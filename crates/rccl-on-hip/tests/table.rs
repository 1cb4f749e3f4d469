//! The table as C sees it: its contents, results of bad calls, and functions that the safe crate does not
//! call.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use hip::{Device, DeviceBuffer, Stream};
use rccl_sys::{
    Table, ncclComm_t, ncclConfig_t, ncclDataType_t as Type, ncclRedOp_t as Op, ncclResult_t as Status,
    ncclScalarResidence_t as Residence, ncclSimInfo_t, ncclUniqueId,
};

fn devices() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let uri = "vgpu:gfx1100?cus=1&memory=64MiB&count=3".parse().unwrap();
        Device::open_all(&uri).unwrap()
    })
}

fn table() -> &'static Table {
    rccl_on_hip::table(devices()[0].table()).unwrap()
}

/// Calls a function of the table.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: what these tests pass is valid, or is to be refused before it is used.
        unsafe { (table().$function)($($argument),*) }
    };
}

const OK: Status = Status::ncclSuccess;
const ARGUMENT: Status = Status::ncclInvalidArgument;
const USAGE: Status = Status::ncclInvalidUsage;

fn last_error(comm: ncclComm_t) -> String {
    let text = call!(ncclGetLastError(comm));
    // SAFETY: the text lives until the next call on this thread.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
}

/// A communicator of several devices, each with a stream and memory for 16 floats.
struct Ranks {
    comms: Vec<ncclComm_t>,
    streams: Vec<Stream>,
    memory: Vec<DeviceBuffer<f32>>,
}

impl Ranks {
    fn new(count: usize) -> Self {
        let mut comms = vec![null_mut(); count];
        let ordinals: Vec<c_int> =
            devices()[..count].iter().map(|device| device.ordinal() as c_int).collect();
        assert_eq!(call!(ncclCommInitAll(comms.as_mut_ptr(), count as c_int, ordinals.as_ptr())), OK);
        let streams: Vec<_> = devices()[..count].iter().map(|device| device.stream().unwrap()).collect();
        let memory =
            streams.iter().map(|stream| DeviceBuffer::from_slice(stream, &[1.5; 16]).unwrap()).collect();
        Self { comms, streams, memory }
    }

    fn address(&self, rank: usize) -> *mut c_void {
        self.memory[rank].address().0 as *mut c_void
    }

    fn all_reduce(&self, rank: usize) -> Status {
        let (memory, stream) = (self.address(rank), self.streams[rank].as_raw());
        call!(ncclAllReduce(memory, memory, 16, Type::ncclFloat, Op::ncclSum, self.comms[rank], stream))
    }

    fn status(&self, rank: usize) -> Status {
        let mut status = OK;
        assert_eq!(call!(ncclCommGetAsyncError(self.comms[rank], &mut status)), OK);
        status
    }

    fn values(&self, rank: usize) -> f32 {
        self.streams[rank].synchronize().unwrap();
        self.memory[rank].to_vec(&self.streams[rank]).unwrap()[15]
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for comm in &self.comms {
            assert_eq!(call!(ncclCommDestroy(*comm)), OK);
        }
    }
}

#[test]
fn the_table_has_what_it_says_and_stubs_for_the_rest() {
    let table = table();
    assert_eq!(table.implementation(), Some("rccl-on-hip"));
    for name in Table::symbols() {
        assert_eq!(table.has(name), rccl_on_hip::FUNCTIONS.contains(&name), "{name}");
    }
    assert!(!table.has("mscclLoadAlgo"));
    assert_eq!(call!(mscclUnloadAlgo(rccl_sys::mscclAlgoHandle_t::default())), Status::ncclInternalError);
    let mut version = 0;
    assert_eq!(call!(ncclGetVersion(&mut version)), OK);
    assert_eq!(version, 22_707, "of the newest headers that the bindings are made from");
    assert_eq!(call!(ncclGetVersion(null_mut())), ARGUMENT);
    let texts = (0..10).map(|code| call!(ncclGetErrorString(Status(code))));
    // SAFETY: the texts live as long as the program.
    let texts: Vec<_> = texts.map(|text| unsafe { CStr::from_ptr(text) }).collect();
    assert!(texts[..8].iter().enumerate().all(|(index, text)| !texts[..index].contains(text)), "{texts:?}");
    assert_eq!(texts[9], c"unknown result code");
}

#[test]
fn another_hip_table_is_refused() {
    table();
    let other = rccl_on_hip::table(hip::hip_sys::Table::unsupported());
    assert!(
        matches!(other, Err(rccl_on_hip::Error::MissingFunctions(names)) if names.contains(&"hipSetDevice"))
    );
}

#[test]
fn foreign_and_stale_handles_are_errors() {
    let ranks = Ranks::new(1);
    let memory = ranks.address(0);
    let gone = {
        let other = Ranks::new(1);
        other.comms[0]
    };
    let mut number = 0;
    let mut new = null_mut();
    for comm in [null_mut(), gone, 1 as ncclComm_t, usize::MAX as ncclComm_t] {
        assert_eq!(call!(ncclCommCount(comm, &mut number)), ARGUMENT);
        assert_eq!(call!(ncclCommUserRank(comm, &mut number)), ARGUMENT);
        assert_eq!(call!(ncclCommCuDevice(comm, &mut number)), ARGUMENT);
        assert_eq!(call!(ncclCommDestroy(comm)), ARGUMENT);
        assert_eq!(call!(ncclCommAbort(comm)), ARGUMENT);
        assert_eq!(call!(ncclCommFinalize(comm)), ARGUMENT);
        assert_eq!(call!(ncclCommSplit(comm, 0, 0, &mut new, null_mut())), ARGUMENT);
        assert_eq!(call!(ncclSend(memory, 1, Type::ncclInt8, 0, comm, null_mut())), ARGUMENT);
        assert!(last_error(comm).contains("no such communicator"));
    }
    let (comm, stream) = (ranks.comms[0], ranks.streams[0].as_raw());
    assert_eq!(call!(ncclCommCount(comm, null_mut())), ARGUMENT);
    let reduce = |memory: *mut c_void, count, element, op| {
        call!(ncclAllReduce(memory, memory, count, element, op, comm, stream))
    };
    assert_eq!(reduce(memory, 1, Type::ncclNumTypes, Op::ncclSum), ARGUMENT);
    assert_eq!(reduce(memory, 1, Type::ncclInt, Op::ncclNumOps), ARGUMENT);
    assert_eq!(reduce(memory, 1, Type::ncclInt, Op::ncclMaxRedOp), ARGUMENT);
    assert_eq!(reduce(null_mut(), 1, Type::ncclInt, Op::ncclSum), ARGUMENT);
    assert_eq!(reduce(memory, usize::MAX, Type::ncclInt, Op::ncclSum), ARGUMENT);
    assert_eq!(call!(ncclBroadcast(memory, memory, 1, Type::ncclInt, 1, comm, stream)), ARGUMENT);
    assert_eq!(call!(ncclBroadcast(memory, memory, 1, Type::ncclInt, -1, comm, stream)), ARGUMENT);
    assert_eq!(call!(ncclRecv(memory, 1, Type::ncclInt, 0, comm, stream)), USAGE, "nobody sends it");
    let absurd = 0x1234 as hip::hip_sys::hipStream_t;
    assert_eq!(call!(ncclAllReduce(memory, memory, 1, Type::ncclInt, Op::ncclSum, comm, absurd)), ARGUMENT);
    assert_eq!(reduce(null_mut(), 0, Type::ncclInt, Op::ncclSum), OK);
    assert_eq!(call!(ncclGroupEnd()), USAGE);
    // It still works after that.
    assert_eq!(ranks.all_reduce(0), OK);
    assert_eq!(ranks.values(0), 1.5);
}

#[test]
fn communicators_are_not_made_of_nonsense() {
    let mut comm = 1 as ncclComm_t;
    let mut id = ncclUniqueId::default();
    assert_eq!(call!(ncclCommInitRank(&mut comm, 1, id, 0)), ARGUMENT, "no id");
    assert_eq!(call!(ncclGetUniqueId(&mut id)), OK);
    assert_eq!(call!(ncclCommInitRank(null_mut(), 1, id, 0)), ARGUMENT);
    for (ranks, rank) in [(0, 0), (-1, 0), (1, 1), (2, -1), (65, 0)] {
        assert_eq!(call!(ncclCommInitRank(&mut comm, ranks, id, rank)), ARGUMENT, "{rank} of {ranks}");
        assert!(comm.is_null());
    }
    let mut config = ncclConfig_t { size: size_of::<ncclConfig_t>(), ..ncclConfig_t::default() };
    assert_eq!(call!(ncclCommInitRankConfig(&mut comm, 1, id, 0, &mut config)), ARGUMENT, "no magic");
    (config.magic, config.blocking) = (0xcafe_beef, 7);
    assert_eq!(call!(ncclCommInitRankConfig(&mut comm, 1, id, 0, &mut config)), ARGUMENT);
    assert_eq!(call!(ncclCommInitRankScalable(&mut comm, 1, 0, 0, &mut id, null_mut())), ARGUMENT);
    let twice = [0, 0];
    let mut comms = [null_mut(); 2];
    assert_eq!(call!(ncclCommInitAll(comms.as_mut_ptr(), 2, twice.as_ptr())), USAGE);
    assert_eq!(call!(ncclCommInitAll(comms.as_mut_ptr(), 0, null())), ARGUMENT);
    assert_eq!(call!(ncclCommInitAll(comms.as_mut_ptr(), 100, null())), ARGUMENT);
    assert_eq!(call!(ncclCommInitRankScalable(&mut comm, 1, 0, 1, &mut id, null_mut())), OK);
    assert_eq!(call!(ncclCommDestroy(comm)), OK);
}

#[test]
fn a_group_with_a_refused_call_does_nothing() {
    let ranks = Ranks::new(2);
    assert_eq!(call!(ncclGroupStart()), OK);
    assert_eq!(call!(ncclGroupStart()), OK);
    assert_eq!(ranks.all_reduce(0), OK);
    assert_eq!(call!(ncclSend(null(), 3, Type::ncclInt, 0, ranks.comms[0], null_mut())), ARGUMENT);
    assert_eq!(call!(ncclGroupEnd()), OK);
    assert_eq!(call!(ncclGroupEnd()), ARGUMENT);
    assert_eq!(call!(ncclGroupStart()), OK);
    assert_eq!((ranks.all_reduce(0), ranks.all_reduce(1)), (OK, OK));
    assert_eq!(call!(ncclGroupEnd()), OK);
    assert_eq!((ranks.values(0), ranks.values(1)), (3.0, 3.0));
}

#[test]
fn memory_that_there_is_not_fails_the_communicator_on_all_ranks() {
    let ranks = Ranks::new(2);
    let (comm, stream) = (ranks.comms[0], ranks.streams[0].as_raw());
    let beyond = (ranks.address(0) as usize + 40) as *mut c_void;
    assert_eq!(call!(ncclGroupStart()), OK);
    let code = call!(ncclAllReduce(beyond, beyond, 16, Type::ncclFloat, Op::ncclSum, comm, stream));
    assert_eq!(code, OK, "only the copy finds it");
    assert_eq!(ranks.all_reduce(1), OK);
    assert_eq!(call!(ncclGroupEnd()), OK);
    ranks.streams.iter().for_each(|stream| stream.synchronize().unwrap());
    assert_eq!(ranks.status(0), Status::ncclUnhandledCudaError);
    assert!(last_error(comm).starts_with("hipMemcpyWithStream: "), "{}", last_error(comm));
    assert_eq!(ranks.status(1), Status::ncclRemoteError);
    assert_eq!(last_error(ranks.comms[1]), "rank 0 has failed");
    assert_eq!(ranks.all_reduce(1), Status::ncclRemoteError);
}

#[test]
fn a_rank_that_has_ended_is_missed() {
    let mut ranks = Ranks::new(2);
    assert_eq!(call!(ncclCommFinalize(ranks.comms[1])), OK);
    assert_eq!(ranks.all_reduce(1), USAGE);
    assert_eq!(call!(ncclCommDestroy(ranks.comms.pop().unwrap())), OK);
    let began = Instant::now();
    assert_eq!(ranks.all_reduce(0), OK);
    ranks.streams[0].synchronize().unwrap();
    assert_eq!(ranks.status(0), Status::ncclRemoteError);
    assert!(last_error(ranks.comms[0]).contains("rank 1 has ended"));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn the_rest_of_a_communicator_goes_on_without_a_rank() {
    let ranks = Ranks::new(3);
    assert_eq!(call!(ncclCommAbort(ranks.comms[1])), OK);
    let mut excluded = [1];
    let mut shrunk = [null_mut(); 2];
    let shrink = |comm, new: &mut ncclComm_t, list: *mut c_int, flags| {
        call!(ncclCommShrink(comm, list, 1, new, null_mut(), flags))
    };
    let list = excluded.as_mut_ptr();
    assert_eq!(shrink(ranks.comms[0], &mut shrunk[0], list, 5), ARGUMENT);
    assert_eq!(shrink(ranks.comms[0], &mut shrunk[0], null_mut(), 0), ARGUMENT);
    assert_eq!(shrink(ranks.comms[0], &mut shrunk[0], [0].as_mut_ptr(), 1), USAGE);
    assert_eq!(call!(ncclGroupStart()), OK);
    let abort = rccl_sys::NCCL_SHRINK_ABORT as c_int;
    assert_eq!(shrink(ranks.comms[0], &mut shrunk[0], list, abort), OK);
    assert_eq!(shrink(ranks.comms[2], &mut shrunk[1], list, abort), OK);
    assert_eq!(call!(ncclGroupEnd()), OK);
    for (index, comm) in shrunk.into_iter().enumerate() {
        let (mut rank, mut count) = (-1, -1);
        assert_eq!(call!(ncclCommUserRank(comm, &mut rank)), OK);
        assert_eq!(call!(ncclCommCount(comm, &mut count)), OK);
        assert_eq!((rank, count), (index as c_int, 2));
    }
    for (comm, at) in shrunk.into_iter().zip([0, 2]) {
        let (memory, stream) = (ranks.address(at), ranks.streams[at].as_raw());
        let code = call!(ncclAllReduce(memory, memory, 16, Type::ncclFloat, Op::ncclSum, comm, stream));
        assert_eq!(code, OK);
    }
    assert_eq!((ranks.values(0), ranks.values(2)), (3.0, 3.0));
    shrunk.into_iter().for_each(|comm| assert_eq!(call!(ncclCommDestroy(comm)), OK));
    let mut ranks = ranks;
    ranks.comms.remove(1);
}

#[test]
fn a_scale_may_be_on_the_device_and_is_read_when_the_operation_runs() {
    let ranks = Ranks::new(1);
    let (comm, stream) = (ranks.comms[0], &ranks.streams[0]);
    let mut scale = DeviceBuffer::from_slice(stream, &[0.0_f32]).unwrap();
    let mut op = Op::ncclSum;
    let at = scale.address().0 as *mut c_void;
    let make = |op: *mut Op, at, element, residence| {
        call!(ncclRedOpCreatePreMulSum(op, at, element, residence, comm))
    };
    assert_eq!(make(&mut op, null_mut(), Type::ncclFloat, Residence::ncclScalarDevice), ARGUMENT);
    assert_eq!(make(&mut op, at, Type::ncclFloat, Residence(2)), ARGUMENT);
    assert_eq!(make(&mut op, at, Type::ncclFloat, Residence::ncclScalarDevice), OK);
    scale.fill(stream, 4.0).unwrap();
    let memory = ranks.address(0);
    let reduce = |element, op| call!(ncclAllReduce(memory, memory, 16, element, op, comm, stream.as_raw()));
    assert_eq!(reduce(Type::ncclInt, op), ARGUMENT, "made for another type");
    assert_eq!(reduce(Type::ncclFloat, op), OK);
    assert_eq!(call!(ncclRedOpDestroy(op, comm)), OK);
    assert_eq!(call!(ncclRedOpDestroy(op, comm)), ARGUMENT);
    assert_eq!(reduce(Type::ncclFloat, op), ARGUMENT);
    assert_eq!(ranks.values(0), 6.0);
}

#[test]
fn registrations_are_given_back_once() {
    let ranks = Ranks::new(1);
    let (comm, memory) = (ranks.comms[0], ranks.address(0));
    let mut handles = [null_mut(); 2];
    assert_eq!(call!(ncclCommRegister(comm, null_mut(), 4, &mut handles[0])), ARGUMENT);
    assert_eq!(call!(ncclCommRegister(comm, memory, 4, &mut handles[0])), OK);
    assert_eq!(call!(ncclCommRegister(comm, memory, 8, &mut handles[1])), OK);
    for handle in handles {
        assert_eq!(call!(ncclCommDeregister(comm, handle)), OK);
        assert_eq!(call!(ncclCommDeregister(comm, handle)), ARGUMENT);
    }
    let mut window = null_mut();
    assert_eq!(call!(ncclCommWindowRegister(comm, memory, 64, &mut window, 2)), ARGUMENT);
    assert_eq!(call!(ncclCommWindowRegister(comm, memory, 0, &mut window, 1)), ARGUMENT);
    assert_eq!(call!(ncclCommWindowRegister(comm, memory, 64, &mut window, 1)), OK);
    assert_eq!(call!(ncclCommDeregister(comm, window.cast())), ARGUMENT, "a window is no buffer");
    assert_eq!(call!(ncclCommWindowDeregister(comm, window)), OK);
    assert_eq!(call!(ncclCommWindowDeregister(comm, window)), ARGUMENT);
}

#[test]
fn ranks_that_are_made_in_a_group_begin_at_its_end() {
    let mut id = ncclUniqueId::default();
    assert_eq!(call!(ncclGetUniqueId(&mut id)), OK);
    let mut comms = [null_mut(); 2];
    let ask = |comm: ncclComm_t| {
        let mut status = Status::ncclInternalError;
        assert_eq!(call!(ncclCommGetAsyncError(comm, &mut status)), OK);
        status
    };
    assert_eq!(call!(ncclGroupStart()), OK);
    for (rank, (device, comm)) in devices().iter().zip(&mut comms).enumerate() {
        device.make_current().unwrap();
        let mut config = ncclConfig_t { size: size_of::<ncclConfig_t>(), ..ncclConfig_t::default() };
        (config.magic, config.blocking) = (0xcafe_beef, 0);
        assert_eq!(call!(ncclCommInitRankConfig(comm, 2, id, rank as c_int, &mut config)), OK);
        // A program may wait for this communicator before it makes the next. It must not wait for ever.
        assert_eq!(ask(*comm), OK);
        assert_eq!(call!(ncclCommCount(*comm, &mut 0)), USAGE);
    }
    assert_eq!(call!(ncclGroupEnd()), Status::ncclInProgress);
    let began = Instant::now();
    while comms.iter().any(|comm| ask(*comm) == Status::ncclInProgress) {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    for comm in comms {
        let mut count = 0;
        assert_eq!((ask(comm), call!(ncclCommCount(comm, &mut count)), count), (OK, OK, 2));
    }
    for comm in comms {
        assert_eq!(call!(ncclCommDestroy(comm)), OK);
    }
}

#[test]
fn a_simulated_group_is_estimated_and_ends() {
    let ranks = Ranks::new(2);
    let mut info = ncclSimInfo_t { size: size_of::<ncclSimInfo_t>(), ..ncclSimInfo_t::default() };
    (info.magic, info.estimatedTime) = (0x7468_5283, -1.0);
    assert_eq!(call!(ncclGroupSimulateEnd(&mut info)), USAGE, "no group");
    assert_eq!(call!(ncclGroupStart()), OK);
    assert_eq!(call!(ncclGroupSimulateEnd(null_mut())), ARGUMENT);
    assert_eq!(call!(ncclGroupSimulateEnd(&mut ncclSimInfo_t::default())), ARGUMENT, "no magic");
    assert_eq!((ranks.all_reduce(0), ranks.all_reduce(1)), (OK, OK));
    assert_eq!(call!(ncclGroupStart()), OK);
    assert_eq!(call!(ncclGroupSimulateEnd(&mut info)), OK);
    assert_eq!(info.estimatedTime, -1.0, "within another group nothing is told");
    assert_eq!(call!(ncclGroupSimulateEnd(&mut info)), OK);
    assert!(info.estimatedTime > 0.0);
    assert_eq!(call!(ncclGroupEnd()), USAGE, "it has ended");
    assert_eq!((ranks.values(0), ranks.values(1)), (1.5, 1.5));
    // The same arguments are refused in a group, and the group ends.
    assert_eq!(call!(ncclGroupStart()), OK);
    assert_eq!(call!(ncclSend(null(), 3, Type::ncclInt, 0, ranks.comms[0], null_mut())), ARGUMENT);
    assert_eq!(call!(ncclGroupSimulateEnd(&mut info)), ARGUMENT);
    assert_eq!(call!(ncclGroupEnd()), USAGE);
    assert_eq!((ranks.all_reduce(0), ranks.all_reduce(1)), (OK, OK));
    assert_eq!((ranks.values(0), ranks.values(1)), (3.0, 3.0));
}

#[test]
fn a_bias_is_asked_for_and_all_ranks_have_one() {
    let ranks = Ranks::new(2);
    let with_bias = |rank: usize, bias: *const c_void| {
        let (memory, comm, stream) = (ranks.address(rank), ranks.comms[rank], ranks.streams[rank].as_raw());
        call!(ncclAllReduceWithBias(memory, memory, 8, Type::ncclFloat, Op::ncclSum, comm, stream, bias))
    };
    assert_eq!(with_bias(0, null()), ARGUMENT);
    // The memory to receive may also be the bias.
    let own = [0, 1].map(|rank| ranks.address(rank).cast_const());
    assert_eq!((with_bias(0, own[0]), with_bias(1, own[1])), (OK, OK));
    for rank in [0, 1] {
        ranks.streams[rank].synchronize().unwrap();
        let values = ranks.memory[rank].to_vec(&ranks.streams[rank]).unwrap();
        assert_eq!((values[7], values[8]), (4.5, 1.5));
    }
    // The other one calls a sum without a bias.
    assert_eq!(with_bias(0, own[0]), OK);
    let (memory, comm, stream) = (ranks.address(1), ranks.comms[1], ranks.streams[1].as_raw());
    let plain = call!(ncclAllReduce(memory, memory, 8, Type::ncclFloat, Op::ncclSum, comm, stream));
    assert!(matches!(plain, OK | USAGE), "{plain:?}");
    ranks.streams.iter().for_each(|stream| stream.synchronize().unwrap());
    assert_eq!((ranks.status(0), ranks.status(1)), (USAGE, USAGE));
}

#[test]
fn a_virtual_id_is_a_number() {
    let (mut id, mut comm) = (ncclUniqueId::default(), null_mut());
    assert_eq!(call!(ncclGetUniqueId(&mut id)), OK);
    assert_eq!(call!(ncclCommInitRankMulti(&mut comm, 1, id, 0, -1)), ARGUMENT);
    assert_eq!(call!(ncclCommInitRankMulti(&mut comm, 1, id, 1, 0)), ARGUMENT);
    assert_eq!(call!(ncclCommInitRankMulti(&mut comm, 1, id, 0, 7)), OK);
    assert_eq!(call!(ncclCommDestroy(comm)), OK);
}
