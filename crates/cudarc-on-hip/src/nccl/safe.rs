//! Ranks and their collective operations.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use super::result::{self, NcclError, NcclStatus};
use super::sys::{self, ncclDataType_t, ncclResult_t};
use crate::driver::sys::CUdeviceptr;
use crate::driver::{CudaContext, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, SyncOnDrop};

pub use result::{group_end, group_start};

/// One rank of a group of devices.
#[derive(Debug)]
pub struct Comm {
    handle: sys::ncclComm_t,
    stream: Arc<CudaStream>,
    rank: usize,
    world_size: usize,
}

/// The id by which the ranks of a new group find each other.
#[derive(Debug, Clone, Copy)]
pub struct Id {
    id: sys::ncclUniqueId,
}

impl Id {
    /// A new id, which one rank passes to the others.
    pub fn new() -> Result<Self, NcclError> {
        Ok(Self { id: result::get_uniqueid()? })
    }

    /// An id from another rank.
    pub fn uninit(internal: [c_char; 128]) -> Self {
        Self { id: sys::ncclUniqueId { internal } }
    }

    /// The bytes to pass to other ranks.
    pub fn internal(&self) -> &[c_char; 128] {
        &self.id.internal
    }
}

/// How the numbers of all ranks are combined.
pub enum ReduceOp {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Their mean.
    Avg,
}

impl ReduceOp {
    fn of_nccl(&self) -> sys::ncclRedOp_t {
        match self {
            Self::Sum => sys::ncclRedOp_t::ncclSum,
            Self::Prod => sys::ncclRedOp_t::ncclProd,
            Self::Max => sys::ncclRedOp_t::ncclMax,
            Self::Min => sys::ncclRedOp_t::ncclMin,
            Self::Avg => sys::ncclRedOp_t::ncclAvg,
        }
    }
}

/// Types that ranks exchange.
pub trait NcclType {
    /// NCCL's name for it.
    fn as_nccl_type() -> ncclDataType_t;
}

macro_rules! types {
    ($($(#[$attribute:meta])* $type:ty: $name:ident,)+) => {
        $(
            $(#[$attribute])*
            impl NcclType for $type {
                fn as_nccl_type() -> ncclDataType_t {
                    ncclDataType_t::$name
                }
            }
        )+
    };
}

types! {
    f32: ncclFloat32,
    f64: ncclFloat64,
    i8: ncclInt8,
    i32: ncclInt32,
    i64: ncclInt64,
    u8: ncclUint8,
    u32: ncclUint32,
    u64: ncclUint64,
    char: ncclUint8,
    #[cfg(feature = "f16")] half::f16: ncclFloat16,
    #[cfg(feature = "f16")] half::bf16: ncclBfloat16,
}

impl Drop for Comm {
    fn drop(&mut self) {
        // SAFETY: the rank was created for this object, and is destroyed once.
        if let Err(error) = unsafe { result::comm_abort(self.handle) } {
            tracing::error!(?error, "a rank did not end");
        }
    }
}

fn number(number: usize, what: &str) -> c_int {
    c_int::try_from(number).unwrap_or_else(|_| panic!("{what} {number} is too large"))
}

impl Comm {
    /// Creates a rank for each stream, on its device.
    pub fn from_devices(streams: Vec<Arc<CudaStream>>) -> Result<Vec<Self>, NcclError> {
        let world_size = streams.len();
        let mut handles = vec![std::ptr::null_mut(); world_size];
        let ordinals: Vec<c_int> =
            streams.iter().map(|stream| number(stream.context().ordinal(), "ordinal")).collect();
        // SAFETY: there are as many places and ordinals as devices.
        unsafe {
            result::comm_init_all(handles.as_mut_ptr(), number(world_size, "count"), ordinals.as_ptr())?;
        }
        let ranks = handles.into_iter().zip(streams).enumerate();
        Ok(ranks.map(|(rank, (handle, stream))| Self { handle, stream, rank, world_size }).collect())
    }

    /// Joins a group, and waits for all ranks.
    ///
    /// # Panics
    /// If a number does not fit into a C int.
    pub fn from_rank(
        stream: Arc<CudaStream>,
        rank: usize,
        world_size: usize,
        id: Id,
    ) -> Result<Self, NcclError> {
        stream.context().record_err(stream.context().bind_to_thread());
        let mut handle = std::ptr::null_mut();
        let (ranks, number_of_rank) = (number(world_size, "count"), number(rank, "rank"));
        // SAFETY: the result is writable.
        unsafe { result::comm_init_rank(&raw mut handle, ranks, id.id, number_of_rank)? };
        Ok(Self { handle, stream, rank, world_size })
    }

    /// The stream that work is submitted to.
    pub fn stream(&self) -> Arc<CudaStream> {
        self.stream.clone()
    }

    /// The device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// The device's ordinal.
    pub fn ordinal(&self) -> usize {
        self.stream.context().ordinal()
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    pub fn world_size(&self) -> usize {
        self.world_size
    }
}

type Status = Result<NcclStatus, NcclError>;

/// An error, unless there is room.
fn fits(count: Option<usize>, room: usize) -> Result<(), NcclError> {
    match count.is_some_and(|count| count <= room) {
        true => Ok(()),
        false => Err(NcclError(ncclResult_t::ncclInvalidArgument)),
    }
}

/// Submits operations on addresses.
///
/// # Safety
/// For each: there must be this many elements of the type at the addresses, and the stream must wait for
/// their other uses.
impl Comm {
    unsafe fn submit_send(
        &self,
        from: CUdeviceptr,
        count: usize,
        kind: ncclDataType_t,
        peer: c_int,
    ) -> Status {
        // SAFETY: the caller vouches for it.
        unsafe {
            result::send(from as *const c_void, count, kind, peer, self.handle, self.stream.cu_stream())
        }
    }

    unsafe fn submit_recv(&self, to: CUdeviceptr, count: usize, kind: ncclDataType_t, peer: c_int) -> Status {
        // SAFETY: the caller vouches for it.
        unsafe { result::recv(to as *mut c_void, count, kind, peer, self.handle, self.stream.cu_stream()) }
    }

    unsafe fn submit_broadcast(
        &self,
        (from, to): (CUdeviceptr, CUdeviceptr),
        count: usize,
        kind: ncclDataType_t,
        root: c_int,
    ) -> Status {
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: the caller vouches for it.
        unsafe { result::broadcast(from, to, count, kind, root, self.handle, self.stream.cu_stream()) }
    }

    unsafe fn submit_all_gather(
        &self,
        (from, to): (CUdeviceptr, CUdeviceptr),
        count: usize,
        kind: ncclDataType_t,
    ) -> Status {
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: the caller vouches for it.
        unsafe { result::all_gather(from, to, count, kind, self.handle, self.stream.cu_stream()) }
    }

    unsafe fn submit_all_reduce(
        &self,
        (from, to): (CUdeviceptr, CUdeviceptr),
        count: usize,
        kind: ncclDataType_t,
        op: &ReduceOp,
    ) -> Status {
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: the caller vouches for it.
        unsafe {
            result::all_reduce(from, to, count, kind, op.of_nccl(), self.handle, self.stream.cu_stream())
        }
    }

    unsafe fn submit_reduce(
        &self,
        (from, to): (CUdeviceptr, CUdeviceptr),
        count: usize,
        kind: ncclDataType_t,
        op: &ReduceOp,
        root: c_int,
    ) -> Status {
        let (from, to) = (from as *const c_void, to as *mut c_void);
        let stream = self.stream.cu_stream();
        // SAFETY: the caller vouches for it.
        unsafe { result::reduce(from, to, count, kind, op.of_nccl(), root, self.handle, stream) }
    }

    unsafe fn submit_reduce_scatter(
        &self,
        (from, to): (CUdeviceptr, CUdeviceptr),
        count: usize,
        kind: ncclDataType_t,
        op: &ReduceOp,
    ) -> Status {
        let (from, to) = (from as *const c_void, to as *mut c_void);
        let stream = self.stream.cu_stream();
        // SAFETY: the caller vouches for it.
        unsafe { result::reduce_scatter(from, to, count, kind, op.of_nccl(), self.handle, stream) }
    }

    fn is(&self, rank: c_int) -> bool {
        usize::try_from(rank) == Ok(self.rank)
    }

    /// An error, unless `given`, which the root needs.
    fn root_has(&self, root: c_int, given: bool) -> Result<(), NcclError> {
        match given || !self.is(root) {
            true => Ok(()),
            false => Err(NcclError(ncclResult_t::ncclInvalidArgument)),
        }
    }
}

/// If memory is too small for the arriving data, operations return `ncclInvalidArgument` and submit nothing.
impl Comm {
    /// Sends to a rank.
    pub fn send<S: DevicePtr<T>, T: NcclType>(&self, data: &S, peer: i32) -> Result<(), NcclError> {
        let (from, _read) = data.device_ptr(&self.stream);
        // SAFETY: there are this many elements, and the stream waits for writes to them.
        unsafe { self.submit_send(from, data.len(), T::as_nccl_type(), peer) }.map(drop)
    }

    /// Receives from a rank, which must send as many elements.
    pub fn recv<R: DevicePtrMut<T>, T: NcclType>(&self, buff: &mut R, peer: i32) -> Status {
        let count = buff.len();
        let (to, _written) = buff.device_ptr_mut(&self.stream);
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.submit_recv(to, count, T::as_nccl_type(), peer) }
    }

    /// Sends the root's data to all ranks.
    pub fn broadcast<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: Option<&S>,
        recvbuff: &mut R,
        root: i32,
    ) -> Status {
        let count = recvbuff.len();
        self.root_has(root, sendbuff.is_some_and(|sendbuff| sendbuff.len() >= count))?;
        let (from, _read) = sendbuff.map(|sendbuff| sendbuff.device_ptr(&self.stream)).unzip();
        let (to, _written) = recvbuff.device_ptr_mut(&self.stream);
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.submit_broadcast((from.unwrap_or(0), to), count, T::as_nccl_type(), root) }
    }

    /// Sends the root's data to all ranks, in the same memory.
    pub fn broadcast_in_place<R: DevicePtrMut<T>, T: NcclType>(&self, recvbuff: &mut R, root: i32) -> Status {
        let count = recvbuff.len();
        let (place, _written) = recvbuff.device_ptr_mut(&self.stream);
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.submit_broadcast((place, place), count, T::as_nccl_type(), root) }
    }

    /// Sends the data of each rank to all, one after the other.
    pub fn all_gather<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: &S,
        recvbuff: &mut R,
    ) -> Status {
        fits(sendbuff.len().checked_mul(self.world_size), recvbuff.len())?;
        let (from, _read) = sendbuff.device_ptr(&self.stream);
        let (to, _written) = recvbuff.device_ptr_mut(&self.stream);
        // SAFETY: there is room for the data of all ranks, and the stream waits for other uses of the memory.
        unsafe { self.submit_all_gather((from, to), sendbuff.len(), T::as_nccl_type()) }
    }

    /// Combines the data of all ranks, for all of them.
    pub fn all_reduce<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: &S,
        recvbuff: &mut R,
        reduce_op: &ReduceOp,
    ) -> Status {
        fits(Some(sendbuff.len()), recvbuff.len())?;
        let (from, _read) = sendbuff.device_ptr(&self.stream);
        let (to, _written) = recvbuff.device_ptr_mut(&self.stream);
        // SAFETY: there is room, and the stream waits for other uses of the memory.
        unsafe { self.submit_all_reduce((from, to), sendbuff.len(), T::as_nccl_type(), reduce_op) }
    }

    /// Combines the data of all ranks, for all of them, in the same memory.
    pub fn all_reduce_in_place<R: DevicePtrMut<T>, T: NcclType>(
        &self,
        buff: &mut R,
        reduce_op: &ReduceOp,
    ) -> Status {
        let count = buff.len();
        let (place, _written) = buff.device_ptr_mut(&self.stream);
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.submit_all_reduce((place, place), count, T::as_nccl_type(), reduce_op) }
    }

    /// Combines the data of all ranks, for the root.
    pub fn reduce<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: &S,
        recvbuff: Option<&mut R>,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Status {
        self.root_has(root, recvbuff.as_ref().is_some_and(|recvbuff| recvbuff.len() >= sendbuff.len()))?;
        let (from, _read) = sendbuff.device_ptr(&self.stream);
        let (to, _written) = recvbuff.map(|recvbuff| recvbuff.device_ptr_mut(&self.stream)).unzip();
        let places = (from, to.unwrap_or(0));
        // SAFETY: there is room at the root, and the stream waits for other uses of the memory.
        unsafe { self.submit_reduce(places, sendbuff.len(), T::as_nccl_type(), reduce_op, root) }
    }

    /// Combines the data of all ranks, for the root, in the same memory.
    pub fn reduce_in_place<R: DevicePtrMut<T>, T: NcclType>(
        &self,
        recvbuff: &mut R,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Status {
        let count = recvbuff.len();
        let (place, _written) = recvbuff.device_ptr_mut(&self.stream);
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.submit_reduce((place, place), count, T::as_nccl_type(), reduce_op, root) }
    }

    /// Combines the data of all ranks; each receives a part.
    pub fn reduce_scatter<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: &S,
        recvbuff: &mut R,
        reduce_op: &ReduceOp,
    ) -> Status {
        let count = recvbuff.len();
        fits(count.checked_mul(self.world_size), sendbuff.len())?;
        let (from, _read) = sendbuff.device_ptr(&self.stream);
        let (to, _written) = recvbuff.device_ptr_mut(&self.stream);
        // SAFETY: there is a part for each rank, and the stream waits for other uses of the memory.
        unsafe { self.submit_reduce_scatter((from, to), count, T::as_nccl_type(), reduce_op) }
    }

    /// Starts a group of operations that are submitted together when the result is dropped.
    ///
    /// # Panics
    /// If there is no RCCL; but an existing rank has found one.
    pub fn group(&self) -> Group<'_> {
        group_start().expect("the RCCL of this rank");
        Group { comm: self, syncs: Vec::new() }
    }
}

/// Operations that are submitted together when this is dropped, and then count as uses of the memory.
#[derive(Debug)]
pub struct Group<'a> {
    comm: &'a Comm,
    syncs: Vec<SyncOnDrop<'a>>,
}

impl<'a> Drop for Group<'a> {
    /// # Panics
    /// If they cannot be submitted.
    fn drop(&mut self) {
        let ended = group_end();
        self.syncs.clear();
        if !std::thread::panicking() {
            ended.expect("operations that can be submitted");
        }
    }
}

impl<'g> Group<'g> {
    /// The rank.
    pub fn comm(&self) -> &'g Comm {
        self.comm
    }

    fn read<'s: 'g, T>(&mut self, view: CudaView<'s, T>) -> CUdeviceptr {
        let (place, read) = view.view_ptr(&self.comm.stream);
        self.syncs.push(read);
        place
    }

    fn write<'r: 'g, T>(&mut self, view: CudaViewMut<'r, T>) -> CUdeviceptr {
        let (place, written) = view.view_ptr_mut(&self.comm.stream);
        self.syncs.push(written);
        place
    }

    /// As [`Comm::send`].
    pub fn send<'s: 'g, T: NcclType>(&mut self, data: CudaView<'s, T>, peer: i32) -> Result<(), NcclError> {
        let (count, from) = (data.len(), self.read(data));
        // SAFETY: there are this many elements, and the stream waits for writes to them.
        unsafe { self.comm.submit_send(from, count, T::as_nccl_type(), peer) }.map(drop)
    }

    /// As [`Comm::recv`].
    pub fn recv<'r: 'g, T: NcclType>(&mut self, buff: CudaViewMut<'r, T>, peer: i32) -> Status {
        let (count, to) = (buff.len(), self.write(buff));
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.comm.submit_recv(to, count, T::as_nccl_type(), peer) }
    }

    /// As [`Comm::broadcast`].
    pub fn broadcast<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: Option<CudaView<'s, T>>,
        recvbuff: CudaViewMut<'r, T>,
        root: i32,
    ) -> Status {
        let count = recvbuff.len();
        self.comm.root_has(root, sendbuff.as_ref().is_some_and(|sendbuff| sendbuff.len() >= count))?;
        let (from, to) = (sendbuff.map_or(0, |sendbuff| self.read(sendbuff)), self.write(recvbuff));
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.comm.submit_broadcast((from, to), count, T::as_nccl_type(), root) }
    }

    /// As [`Comm::broadcast_in_place`].
    pub fn broadcast_in_place<'r: 'g, T: NcclType>(
        &mut self,
        recvbuff: CudaViewMut<'r, T>,
        root: i32,
    ) -> Status {
        let (count, place) = (recvbuff.len(), self.write(recvbuff));
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.comm.submit_broadcast((place, place), count, T::as_nccl_type(), root) }
    }

    /// As [`Comm::all_gather`].
    pub fn all_gather<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: CudaView<'s, T>,
        recvbuff: CudaViewMut<'r, T>,
    ) -> Status {
        let count = sendbuff.len();
        fits(count.checked_mul(self.comm.world_size), recvbuff.len())?;
        let places = (self.read(sendbuff), self.write(recvbuff));
        // SAFETY: there is room for the data of all ranks, and the stream waits for other uses of the memory.
        unsafe { self.comm.submit_all_gather(places, count, T::as_nccl_type()) }
    }

    /// As [`Comm::all_reduce`].
    pub fn all_reduce<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: CudaView<'s, T>,
        recvbuff: CudaViewMut<'r, T>,
        reduce_op: &ReduceOp,
    ) -> Status {
        let count = sendbuff.len();
        fits(Some(count), recvbuff.len())?;
        let places = (self.read(sendbuff), self.write(recvbuff));
        // SAFETY: there is room, and the stream waits for other uses of the memory.
        unsafe { self.comm.submit_all_reduce(places, count, T::as_nccl_type(), reduce_op) }
    }

    /// As [`Comm::all_reduce_in_place`].
    pub fn all_reduce_in_place<'r: 'g, T: NcclType>(
        &mut self,
        buff: CudaViewMut<'r, T>,
        reduce_op: &ReduceOp,
    ) -> Status {
        let (count, place) = (buff.len(), self.write(buff));
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.comm.submit_all_reduce((place, place), count, T::as_nccl_type(), reduce_op) }
    }

    /// As [`Comm::reduce`].
    pub fn reduce<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: CudaView<'s, T>,
        recvbuff: Option<CudaViewMut<'r, T>>,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Status {
        let count = sendbuff.len();
        self.comm.root_has(root, recvbuff.as_ref().is_some_and(|recvbuff| recvbuff.len() >= count))?;
        let places = (self.read(sendbuff), recvbuff.map_or(0, |recvbuff| self.write(recvbuff)));
        // SAFETY: there is room at the root, and the stream waits for other uses of the memory.
        unsafe { self.comm.submit_reduce(places, count, T::as_nccl_type(), reduce_op, root) }
    }

    /// As [`Comm::reduce_in_place`].
    pub fn reduce_in_place<'s: 'g, T: NcclType>(
        &mut self,
        recvbuff: CudaViewMut<'s, T>,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Status {
        let (count, place) = (recvbuff.len(), self.write(recvbuff));
        // SAFETY: there are this many elements, and the stream waits for their other uses.
        unsafe { self.comm.submit_reduce((place, place), count, T::as_nccl_type(), reduce_op, root) }
    }

    /// As [`Comm::reduce_scatter`].
    pub fn reduce_scatter<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: CudaView<'s, T>,
        recvbuff: CudaViewMut<'r, T>,
        reduce_op: &ReduceOp,
    ) -> Status {
        let count = recvbuff.len();
        fits(count.checked_mul(self.comm.world_size), sendbuff.len())?;
        let places = (self.read(sendbuff), self.write(recvbuff));
        // SAFETY: there is a part for each rank, and the stream waits for other uses of the memory.
        unsafe { self.comm.submit_reduce_scatter(places, count, T::as_nccl_type(), reduce_op) }
    }
}

/// Submits the operations of the block together: [`group_start`], the block, [`group_end`].
///
/// # Panics
/// If it cannot be submitted.
#[macro_export]
macro_rules! group {
    ($x:block) => {
        $crate::nccl::group_start().unwrap();
        $x
        $crate::nccl::group_end().unwrap();
    };
}
