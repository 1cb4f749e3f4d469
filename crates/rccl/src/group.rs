//! Operations, alone and in groups.

use std::ffi::c_void;
use std::fmt;
use std::time::Duration;

use hip::hip_sys::{hipError_t, hipStreamCaptureStatus};
use hip::{DeviceAddress, DeviceSlice, DeviceSliceMut, Stream};
use rccl_sys::{Table, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclSimInfo_t};

use crate::communicator::{Communicator, Inner, in_group, in_group_ended_by};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::operator::Reduction;

/// Operations that begin together: those of several ranks that one thread serves, or sends and receives that
/// wait for each other (`ncclGroupStart`, `ncclGroupEnd`).
///
/// Each operation's method checks it and records it, with its memory borrowed; [`launch`](Self::launch)
/// enqueues all of them. A group that is not launched does nothing. Sends and receives of a group progress
/// together, in any order. Collectives of one communicator run in the order of their calls.
///
/// ```
/// use hip::{Device, DeviceBuffer, DeviceUri};
/// use rccl::{Communicator, Group, Op};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let devices = Device::open_all(&"vgpu:gfx1100?cus=1&memory=64MiB&count=2".parse::<DeviceUri>()?)?;
/// let ranks = Communicator::all(&devices)?;
/// let streams = devices.iter().map(Device::stream).collect::<hip::Result<Vec<_>>>()?;
/// let mut buffers = Vec::new();
/// for (rank, stream) in streams.iter().enumerate() {
///     buffers.push(DeviceBuffer::from_slice(stream, &[rank as f32 + 1.0, 10.0])?);
/// }
/// let mut group = Group::new();
/// for ((rank, stream), buffer) in ranks.iter().zip(&streams).zip(&mut buffers) {
///     group.all_reduce_in_place(rank, stream, buffer, Op::Sum)?;
/// }
/// group.launch()?;
/// assert_eq!(buffers[1].to_vec(&streams[1])?, [3.0, 20.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "a group does nothing until it is launched"]
pub struct Group<'a> {
    calls: Vec<Call<'a>>,
}

/// One operation, with the memory that it borrows.
struct Call<'a> {
    communicator: &'a Communicator,
    stream: &'a Stream,
    name: &'static str,
    send: Option<DeviceSlice<'a, u8>>,
    receive: Option<DeviceSliceMut<'a, u8>>,
    bias: Option<DeviceSlice<'a, u8>>,
    what: What,
}

/// The addresses of a call's memory.
#[derive(Clone, Copy)]
struct Addresses {
    send: *const c_void,
    receive: *mut c_void,
    bias: *const c_void,
}

/// The arguments of the library call, besides memory.
#[derive(Clone, Debug)]
struct What {
    kind: Kind,
    count: usize,
    element: ncclDataType_t,
    op: ncclRedOp_t,
    /// Root or peer.
    rank: usize,
}

#[derive(Clone, Debug)]
enum Kind {
    AllReduce,
    AllReduceWithBias,
    Reduce,
    ReduceScatter,
    Broadcast,
    AllGather,
    AllToAll,
    /// Counts and offsets of the sent elements, and of the received ones.
    AllToAllV([Vec<usize>; 4]),
    Gather,
    Scatter,
    Send,
    Receive,
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::AllReduce => "ncclAllReduce",
            Self::AllReduceWithBias => "ncclAllReduceWithBias",
            Self::Reduce => "ncclReduce",
            Self::ReduceScatter => "ncclReduceScatter",
            Self::Broadcast => "ncclBroadcast",
            Self::AllGather => "ncclAllGather",
            Self::AllToAll => "ncclAllToAll",
            Self::AllToAllV(_) => "ncclAllToAllv",
            Self::Gather => "ncclGather",
            Self::Scatter => "ncclScatter",
            Self::Send => "ncclSend",
            Self::Receive => "ncclRecv",
        }
    }
}

/// The data for checking an operation.
struct Check {
    operation: &'static str,
    rank: usize,
    size: usize,
}

impl Check {
    fn length(&self, what: &'static str, found: usize, expected: usize) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        Err(Error::Length { operation: self.operation, what, found, expected })
    }

    /// The number of elements of each rank, given the total.
    fn share(&self, what: &'static str, found: usize) -> Result<usize> {
        let Self { operation, size, .. } = *self;
        if found.is_multiple_of(size) {
            return Ok(found / size);
        }
        Err(Error::Indivisible { operation, what, found, size })
    }

    fn rank(&self, rank: usize) -> Result<usize> {
        let Self { operation, size, .. } = *self;
        if rank < size { Ok(rank) } else { Err(Error::Rank { operation, rank, size }) }
    }

    /// Checks memory that only the root passes.
    fn at_root<T>(&self, what: &'static str, root: usize, memory: Option<T>) -> Result<Option<T>> {
        let is_root = self.rank == self.rank(root)?;
        if memory.is_some() == is_root {
            return Ok(memory);
        }
        Err(Error::Root { operation: self.operation, what, is_root })
    }

    /// Returns the offset of each block. Checks that the blocks add up to the memory's length.
    fn offsets(&self, what: &'static str, counts: &[usize], length: usize) -> Result<Vec<usize>> {
        self.length(what, counts.len(), self.size)?;
        let mut end = 0_usize;
        let offsets = counts.iter().map(|count| {
            let start = end;
            end = end.saturating_add(*count);
            start
        });
        let offsets = offsets.collect();
        self.length(what, length, end)?;
        Ok(offsets)
    }
}

impl<'a> Group<'a> {
    /// An empty group.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether it has no operations.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Enqueues all operations on their streams, or captures them into the graphs of those streams. Does not
    /// block (`ncclGroupStart`, `ncclGroupEnd`).
    ///
    /// # Errors
    /// [`Error::Captured`] if only some of a communicator's streams are captured, or into several graphs,
    /// [`Error::OtherCommunicator`] if the group has communicators of two libraries, [`Error::OwnTransfer`],
    /// [`Error::NotReady`], [`Error::Failed`] and [`Error::Aborted`] if a communicator cannot be used any
    /// more, [`Error::Hip`] with the failure of memory or a stream, else [`Error::Rccl`]. Operations may then
    /// have been enqueued on some of the ranks: abort them.
    pub fn launch(mut self) -> Result<()> {
        let Some(table) = self.check_communicators()? else { return Ok(()) };
        let mut addresses = Vec::with_capacity(self.calls.len());
        for call in &mut self.calls {
            addresses.push(call.register()?);
        }
        in_group(table, || self.call_all(&addresses))?;
        self.calls.iter().try_for_each(|call| call.communicator.inner().settle(call.name))?;
        self.calls.iter().try_for_each(Call::keep)
    }

    /// An estimate of how long the operations take, by our own implementation. Runs none of them
    /// (`ncclGroupSimulateEnd`).
    ///
    /// NVIDIA's and AMD's libraries are not asked. With non-blocking communicators, which are those of this
    /// crate, `ncclGroupSimulateEnd` is `ncclGroupEnd` in NCCL, and in RCCL if the group sends or receives:
    /// the operations run, and there is no estimate.
    ///
    /// # Errors
    /// [`Error::NoEstimate`] on NVIDIA's and AMD's libraries, else as [`launch`](Self::launch).
    #[doc(alias = "ncclGroupSimulateEnd")]
    pub fn estimate(self) -> Result<Duration> {
        const NAME: &str = "ncclGroupSimulateEnd";
        let Some(table) = self.check_communicators()? else { return Ok(Duration::ZERO) };
        let Some(first) = self.calls.first() else { return Ok(Duration::ZERO) };
        if table.implementation().is_none() {
            return Err(Error::NoEstimate { library: first.communicator.implementation() });
        }
        let addresses: Vec<_> = self.calls.iter().map(Call::addresses).collect();
        // The value of `NCCL_SIM_INFO_INITIALIZER`.
        let mut info = ncclSimInfo_t {
            size: size_of::<ncclSimInfo_t>(),
            magic: 0x7468_5283,
            version: 22_707,
            estimatedTime: -1.0,
        };
        in_group_ended_by(
            table,
            NAME,
            || self.call_all(&addresses),
            || {
                // SAFETY: the information is valid for reads and writes.
                unsafe { (table.ncclGroupSimulateEnd)(&raw mut info) }
            },
        )?;
        Ok(Duration::try_from_secs_f32(info.estimatedTime / 1e6).unwrap_or_default())
    }

    fn call_all(&self, addresses: &[Addresses]) -> Result<()> {
        self.calls.iter().zip(addresses).try_for_each(|(call, addresses)| {
            // SAFETY: the addresses are those of memory with the number of elements that the checks required,
            // borrowed here. If the call is enqueued, the memory has been registered with the stream before,
            // and lives until the stream is done with it.
            call.communicator.inner().with_handle(call.name, |table, handle| unsafe {
                call.what.call(table, handle, call.stream, *addresses)
            })
        })
    }

    /// Checks what all calls must satisfy, and returns their table; `None` if there are no calls.
    fn check_communicators(&self) -> Result<Option<&'static Table>> {
        let Some(first) = self.calls.first() else { return Ok(None) };
        let table = first.communicator.inner().table;
        for call in &self.calls {
            let inner = call.communicator.inner();
            if !std::ptr::eq(inner.table, table) {
                return Err(Error::OtherCommunicator { operation: call.name, what: "a table" });
            }
            if !call.communicator.is_ready()? {
                return Err(Error::NotReady { operation: call.name });
            }
        }
        self.check_captures()?;
        self.check_own_transfers()?;
        Ok(Some(table))
    }

    /// Checks that all operations of a communicator go into one graph, or into none.
    fn check_captures(&self) -> Result<()> {
        let mut known: Vec<(*const Inner, Option<u64>)> = Vec::new();
        for call in &self.calls {
            let communicator = std::sync::Arc::as_ptr(call.communicator.inner());
            let capture = call.capture()?;
            match known.iter().find(|(other, _)| *other == communicator) {
                Some((_, other)) if *other != capture => {
                    return Err(Error::Captured { operation: call.name });
                }
                Some(_) => {}
                None => known.push((communicator, capture)),
            }
        }
        Ok(())
    }

    fn check_own_transfers(&self) -> Result<()> {
        for call in &self.calls {
            let rank = call.communicator.rank()?;
            let own = |receives: bool| {
                let communicator = std::sync::Arc::as_ptr(call.communicator.inner());
                let of_it = move |other: &&Call<'_>| {
                    std::sync::Arc::as_ptr(other.communicator.inner()) == communicator
                        && other.what.rank == rank
                        && match other.what.kind {
                            Kind::Send => !receives,
                            Kind::Receive => receives,
                            _ => false,
                        }
                };
                self.calls.iter().filter(of_it).map(|call| (call.what.count, call.what.element))
            };
            if !own(false).eq(own(true)) {
                return Err(Error::OwnTransfer { rank });
            }
        }
        Ok(())
    }

    fn check(&self, communicator: &Communicator, stream: &Stream, kind: &Kind) -> Result<Check> {
        let (operation, inner) = (kind.name(), communicator.inner());
        inner.has(operation)?;
        if stream.device() != inner.device() {
            return Err(other_device(operation, "stream", inner, stream.device()));
        }
        let (rank, size) = inner.place(operation)?;
        Ok(Check { operation, rank, size })
    }

    #[allow(clippy::too_many_arguments, reason = "each describes one part of an operation")]
    fn push(
        &mut self,
        communicator: &'a Communicator,
        stream: &'a Stream,
        send: Option<DeviceSlice<'a, u8>>,
        receive: Option<DeviceSliceMut<'a, u8>>,
        what: What,
    ) -> Result<()> {
        let (name, inner) = (what.kind.name(), communicator.inner());
        if let Some(send) = send.filter(|send| send.device() != inner.device()) {
            return Err(other_device(name, "memory to send", inner, send.device()));
        }
        if let Some(receive) = receive.as_ref().filter(|receive| receive.device() != inner.device()) {
            return Err(other_device(name, "memory to receive", inner, receive.device()));
        }
        self.calls.push(Call { communicator, stream, name, send, receive, bias: None, what });
        Ok(())
    }
}

fn other_device(operation: &'static str, what: &'static str, inner: &Inner, other: &hip::Device) -> Error {
    let (device, other) = inner.device().names_beside(other);
    Error::OtherDevice { operation, what, device, other }
}

/// The raw operator for elements of a type.
fn raw_op<T: Element>(
    operation: &'static str,
    communicator: &Communicator,
    op: &Reduction<'_, T>,
) -> Result<ncclRedOp_t> {
    match op.raw() {
        (_, Some(owner)) if owner != std::sync::Arc::as_ptr(communicator.inner()).addr() => {
            Err(Error::OtherCommunicator { operation, what: "an operator" })
        }
        (op, _) => Ok(op),
    }
}

impl Call<'_> {
    /// The capture that the stream takes part in.
    fn capture(&self) -> Result<Option<u64>> {
        if !self.stream.is_captured() {
            return Ok(None);
        }
        let (table, stream) = (self.stream.device().table(), self.stream.as_raw());
        let (mut status, mut id) = (hipStreamCaptureStatus::hipStreamCaptureStatusNone, 0);
        // SAFETY: the stream is live, and both are valid for writes.
        let code = unsafe { (table.hipStreamGetCaptureInfo)(stream, &raw mut status, &raw mut id) };
        match code {
            hipError_t::hipSuccess => Ok(Some(id)),
            code => Err(hip::Error::Hip { operation: "hipStreamGetCaptureInfo", code }.into()),
        }
    }

    /// The addresses of the memory.
    fn addresses(&self) -> Addresses {
        let send = self.send.as_ref().map(|send| send.address());
        let receive = self.receive.as_ref().map(|receive| receive.address());
        Addresses::of(send, receive, self.bias.as_ref().map(|bias| bias.address()))
    }

    /// Orders the operation after earlier uses of its memory, and keeps the memory alive until it is done.
    fn register(&mut self) -> Result<Addresses> {
        let of = |memory: &DeviceSlice<'_, u8>| memory.address_on(self.stream);
        let (send, bias) = (self.send.as_ref().map(of).transpose()?, self.bias.as_ref().map(of).transpose()?);
        let receive = self.receive.as_mut().map(|receive| receive.address_on(self.stream)).transpose()?;
        let inner = self.communicator.inner();
        match self.stream.is_captured() {
            true => self.stream.capture_keeps(inner.clone())?,
            false => inner.uses(self.stream),
        }
        Ok(Addresses::of(send, receive, bias))
    }

    /// Keeps the memory until the operation is done: a thread that drops it and then serves another rank must
    /// not wait.
    fn keep(&self) -> Result<()> {
        if self.stream.is_captured() {
            // The graph keeps it.
            return Ok(());
        }
        for read in self.send.iter().chain(&self.bias) {
            read.keep_until_done(self.stream)?;
        }
        if let Some(receive) = &self.receive {
            receive.keep_until_done(self.stream)?;
        }
        Ok(())
    }
}

impl Addresses {
    fn of(send: Option<DeviceAddress>, receive: Option<DeviceAddress>, bias: Option<DeviceAddress>) -> Self {
        let pointer = |address: Option<DeviceAddress>| address.unwrap_or_default().0 as *mut c_void;
        // In place, both addresses are the same.
        Self { send: pointer(send.or(receive)), receive: pointer(receive), bias: pointer(bias) }
    }
}

impl What {
    /// # Safety
    /// The addresses have as many elements as the operation needs, until the stream is done with it; the
    /// handle is live.
    unsafe fn call(
        &self,
        table: &Table,
        comm: ncclComm_t,
        stream: &Stream,
        Addresses { send, receive, bias }: Addresses,
    ) -> ncclResult_t {
        let Self { kind, count, element, op, rank } = self;
        let (count, element, op, rank, stream) = (*count, *element, *op, *rank as i32, stream.as_raw());
        // SAFETY: the caller's promise.
        unsafe {
            match kind {
                Kind::AllReduce => (table.ncclAllReduce)(send, receive, count, element, op, comm, stream),
                Kind::AllReduceWithBias => {
                    (table.ncclAllReduceWithBias)(send, receive, count, element, op, comm, stream, bias)
                }
                Kind::Reduce => (table.ncclReduce)(send, receive, count, element, op, rank, comm, stream),
                Kind::ReduceScatter => {
                    (table.ncclReduceScatter)(send, receive, count, element, op, comm, stream)
                }
                Kind::Broadcast => (table.ncclBroadcast)(send, receive, count, element, rank, comm, stream),
                Kind::AllGather => (table.ncclAllGather)(send, receive, count, element, comm, stream),
                Kind::AllToAll => (table.ncclAllToAll)(send, receive, count, element, comm, stream),
                Kind::AllToAllV([sent, sent_at, received, received_at]) => (table.ncclAllToAllv)(
                    send,
                    sent.as_ptr(),
                    sent_at.as_ptr(),
                    receive,
                    received.as_ptr(),
                    received_at.as_ptr(),
                    element,
                    comm,
                    stream,
                ),
                Kind::Gather => (table.ncclGather)(send, receive, count, element, rank, comm, stream),
                Kind::Scatter => (table.ncclScatter)(send, receive, count, element, rank, comm, stream),
                Kind::Send => (table.ncclSend)(send, count, element, rank, comm, stream),
                Kind::Receive => (table.ncclRecv)(receive, count, element, rank, comm, stream),
            }
        }
    }
}

/// Defines each operation twice: as a method of a group, which records it, and of a communicator, which
/// enqueues it at once.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $name:ident<$type:ident>($($argument:ident: $kind:ty),*) |$group:ident, $communicator:ident, $stream:ident| $body:block
    )+) => {
        impl<'a> Group<'a> {
            $(
                $(#[$doc])*
                pub fn $name<$type: Element>(
                    &mut self,
                    communicator: &'a Communicator,
                    stream: &'a Stream,
                    $($argument: $kind),*
                ) -> Result<()> {
                    let ($group, $communicator, $stream) = (self, communicator, stream);
                    $body
                }
            )+
        }

        impl Communicator {
            $(
                $(#[$doc])*
                pub fn $name<'a, $type: Element>(&'a self, stream: &'a Stream, $($argument: $kind),*) -> Result<()> {
                    let mut group = Group::new();
                    group.$name(self, stream, $($argument),*)?;
                    group.launch()
                }
            )+
        }
    };
}

operations! {
    /// Reduces the elements of all ranks, and gives every rank the full result (`ncclAllReduce`).
    ///
    /// # Errors
    /// [`Error::Length`] if the two sides have different lengths, [`Error::OtherDevice`],
    /// [`Error::OtherCommunicator`], [`Error::NotReady`], [`Error::Aborted`]. Outside a group, also the
    /// errors of [`Group::launch`].
    #[doc(alias = "ncclAllReduce")]
    all_reduce<T>(
        send: impl Into<DeviceSlice<'a, T>>,
        receive: impl Into<DeviceSliceMut<'a, T>>,
        op: impl Into<Reduction<'a, T>>
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::AllReduce)?;
        let (send, receive) = (send.into(), receive.into());
        check.length("the memory to receive", receive.len(), send.len())?;
        let op = raw_op(check.operation, communicator, &op.into())?;
        let what = What { kind: Kind::AllReduce, count: send.len(), element: T::TYPE, op, rank: 0 };
        group.push(communicator, stream, Some(send.as_bytes()), Some(receive.into_bytes()), what)
    }

    /// Like `all_reduce`, in place.
    ///
    /// # Errors
    /// As `all_reduce`.
    #[doc(alias = "ncclAllReduce")]
    all_reduce_in_place<T>(
        buffer: impl Into<DeviceSliceMut<'a, T>>,
        op: impl Into<Reduction<'a, T>>
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::AllReduce)?;
        let buffer = buffer.into();
        let op = raw_op(check.operation, communicator, &op.into())?;
        let what = What { kind: Kind::AllReduce, count: buffer.len(), element: T::TYPE, op, rank: 0 };
        group.push(communicator, stream, None, Some(buffer.into_bytes()), what)
    }

    /// Like `all_reduce`, then combines the result with this rank's own elements by the same operation
    /// (`ncclAllReduceWithBias`). For averages and scaled sums, the bias is added. RCCL expects all ranks to
    /// pass the same bias; only some of AMD's GPUs support it.
    ///
    /// # Errors
    /// As `all_reduce`; [`Error::Unsupported`] up to RCCL 2.26, [`Error::Length`] if the bias has another
    /// length.
    #[doc(alias = "ncclAllReduceWithBias")]
    all_reduce_with_bias<T>(
        send: impl Into<DeviceSlice<'a, T>>,
        receive: impl Into<DeviceSliceMut<'a, T>>,
        bias: impl Into<DeviceSlice<'a, T>>,
        op: impl Into<Reduction<'a, T>>
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::AllReduceWithBias)?;
        let (send, receive, bias) = (send.into(), receive.into(), bias.into());
        check.length("the memory to receive", receive.len(), send.len())?;
        check.length("the bias", bias.len(), send.len())?;
        if bias.device() != communicator.device() {
            return Err(other_device(check.operation, "bias", communicator.inner(), bias.device()));
        }
        let op = raw_op(check.operation, communicator, &op.into())?;
        let what = What { kind: Kind::AllReduceWithBias, count: send.len(), element: T::TYPE, op, rank: 0 };
        group.push(communicator, stream, Some(send.as_bytes()), Some(receive.into_bytes()), what)?;
        if let Some(call) = group.calls.last_mut() {
            call.bias = Some(bias.as_bytes());
        }
        Ok(())
    }

    /// Reduces the elements of all ranks, and gives the root the results (`ncclReduce`). Only the root passes
    /// memory to receive.
    ///
    /// # Errors
    /// As `all_reduce`, [`Error::Rank`] for a root that does not exist, [`Error::Root`] if the root passes no
    /// memory to receive, or another rank does.
    #[doc(alias = "ncclReduce")]
    reduce<T>(
        send: impl Into<DeviceSlice<'a, T>>,
        receive: Option<DeviceSliceMut<'a, T>>,
        op: impl Into<Reduction<'a, T>>,
        root: usize
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::Reduce)?;
        let send = send.into();
        let receive = check.at_root("the memory to receive", root, receive)?;
        if let Some(receive) = &receive {
            check.length("the memory to receive", receive.len(), send.len())?;
        }
        let op = raw_op(check.operation, communicator, &op.into())?;
        let what = What { kind: Kind::Reduce, count: send.len(), element: T::TYPE, op, rank: root };
        let receive = receive.map(DeviceSliceMut::into_bytes);
        group.push(communicator, stream, Some(send.as_bytes()), receive, what)
    }

    /// Reduces the elements of all ranks, and splits the result among them: it has as many equal parts as
    /// there are ranks, and rank `r` gets the `r`th (`ncclReduceScatter`).
    ///
    /// # Errors
    /// As `all_reduce`; [`Error::Indivisible`] if the sent elements cannot be divided equally,
    /// [`Error::Length`] if the memory to receive is not one part long.
    #[doc(alias = "ncclReduceScatter")]
    reduce_scatter<T>(
        send: impl Into<DeviceSlice<'a, T>>,
        receive: impl Into<DeviceSliceMut<'a, T>>,
        op: impl Into<Reduction<'a, T>>
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::ReduceScatter)?;
        let (send, receive) = (send.into(), receive.into());
        let count = check.share("the memory to send", send.len())?;
        check.length("the memory to receive", receive.len(), count)?;
        let op = raw_op(check.operation, communicator, &op.into())?;
        let what = What { kind: Kind::ReduceScatter, count, element: T::TYPE, op, rank: 0 };
        group.push(communicator, stream, Some(send.as_bytes()), Some(receive.into_bytes()), what)
    }

    /// Copies the root's elements to all ranks, in place (`ncclBroadcast`).
    ///
    /// # Errors
    /// [`Error::Rank`] for a root that does not exist, else as `all_reduce`.
    #[doc(alias = "ncclBroadcast")]
    #[doc(alias = "ncclBcast")]
    broadcast<T>(buffer: impl Into<DeviceSliceMut<'a, T>>, root: usize) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::Broadcast)?;
        let (buffer, rank) = (buffer.into(), check.rank(root)?);
        let (count, op) = (buffer.len(), ncclRedOp_t::ncclSum);
        let what = What { kind: Kind::Broadcast, count, element: T::TYPE, op, rank };
        group.push(communicator, stream, None, Some(buffer.into_bytes()), what)
    }

    /// Copies the elements of all ranks to all ranks, in rank order (`ncclAllGather`).
    ///
    /// # Errors
    /// As `all_reduce`; [`Error::Length`] if the memory to receive is not as long as all sent elements
    /// together.
    #[doc(alias = "ncclAllGather")]
    all_gather<T>(
        send: impl Into<DeviceSlice<'a, T>>,
        receive: impl Into<DeviceSliceMut<'a, T>>
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::AllGather)?;
        let (send, receive) = (send.into(), receive.into());
        let count = check.share("the memory to receive", receive.len())?;
        check.length("the memory to send", send.len(), count)?;
        let what = What { kind: Kind::AllGather, count, element: T::TYPE, op: ncclRedOp_t::ncclSum, rank: 0 };
        group.push(communicator, stream, Some(send.as_bytes()), Some(receive.into_bytes()), what)
    }

    /// Each rank sends one part of its elements to each rank: the `s`th part that rank `r` receives is the
    /// `r`th part of rank `s` (`ncclAllToAll`).
    ///
    /// # Errors
    /// As `all_reduce`; [`Error::Indivisible`] if the elements cannot be divided equally.
    #[doc(alias = "ncclAllToAll")]
    all_to_all<T>(
        send: impl Into<DeviceSlice<'a, T>>,
        receive: impl Into<DeviceSliceMut<'a, T>>
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::AllToAll)?;
        let (send, receive) = (send.into(), receive.into());
        let count = check.share("the memory to send", send.len())?;
        check.length("the memory to receive", receive.len(), send.len())?;
        let what = What { kind: Kind::AllToAll, count, element: T::TYPE, op: ncclRedOp_t::ncclSum, rank: 0 };
        group.push(communicator, stream, Some(send.as_bytes()), Some(receive.into_bytes()), what)
    }

    /// Like `all_to_all`, with consecutive parts of any size: `sent` has the number of elements for each
    /// rank, `received` the number from each rank (`ncclAllToAllv`).
    ///
    /// # Errors
    /// As `all_reduce`; [`Error::Length`] if there is not one size per rank, or the sizes do not add up to
    /// the length of the memory.
    #[doc(alias = "ncclAllToAllv")]
    all_to_all_v<T>(
        send: impl Into<DeviceSlice<'a, T>>,
        sent: &[usize],
        receive: impl Into<DeviceSliceMut<'a, T>>,
        received: &[usize]
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::AllToAllV([const { Vec::new() }; 4]))?;
        let (send, receive) = (send.into(), receive.into());
        let sent_at = check.offsets("the memory to send", sent, send.len())?;
        let received_at = check.offsets("the memory to receive", received, receive.len())?;
        let kind = Kind::AllToAllV([sent.to_vec(), sent_at, received.to_vec(), received_at]);
        let what = What { kind, count: 0, element: T::TYPE, op: ncclRedOp_t::ncclSum, rank: 0 };
        group.push(communicator, stream, Some(send.as_bytes()), Some(receive.into_bytes()), what)
    }

    /// Copies the elements of all ranks to the root, in rank order (`ncclGather`). Only the root passes
    /// memory to receive.
    ///
    /// # Errors
    /// As `reduce`.
    #[doc(alias = "ncclGather")]
    gather<T>(
        send: impl Into<DeviceSlice<'a, T>>,
        receive: Option<DeviceSliceMut<'a, T>>,
        root: usize
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::Gather)?;
        let send = send.into();
        let receive = check.at_root("the memory to receive", root, receive)?;
        if let Some(receive) = &receive {
            let count = check.share("the memory to receive", receive.len())?;
            check.length("the memory to send", send.len(), count)?;
        }
        let (count, op) = (send.len(), ncclRedOp_t::ncclSum);
        let what = What { kind: Kind::Gather, count, element: T::TYPE, op, rank: root };
        let receive = receive.map(DeviceSliceMut::into_bytes);
        group.push(communicator, stream, Some(send.as_bytes()), receive, what)
    }

    /// Splits the root's elements into equal parts, one for each rank in order (`ncclScatter`). Only the root
    /// passes memory to send.
    ///
    /// # Errors
    /// As `reduce`, but for the memory to send.
    #[doc(alias = "ncclScatter")]
    scatter<T>(
        send: Option<DeviceSlice<'a, T>>,
        receive: impl Into<DeviceSliceMut<'a, T>>,
        root: usize
    ) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::Scatter)?;
        let receive = receive.into();
        let send = check.at_root("the memory to send", root, send)?;
        if let Some(send) = &send {
            let count = check.share("the memory to send", send.len())?;
            check.length("the memory to receive", receive.len(), count)?;
        }
        let (count, op) = (receive.len(), ncclRedOp_t::ncclSum);
        let what = What { kind: Kind::Scatter, count, element: T::TYPE, op, rank: root };
        let send = send.map(|send| send.as_bytes());
        group.push(communicator, stream, send, Some(receive.into_bytes()), what)
    }

    /// Sends elements to another rank, which must receive the same number (`ncclSend`). To send to itself, a
    /// rank sends and receives in one group.
    ///
    /// # Errors
    /// [`Error::Rank`] for a peer that does not exist, else as `all_reduce`.
    #[doc(alias = "ncclSend")]
    send<T>(send: impl Into<DeviceSlice<'a, T>>, peer: usize) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::Send)?;
        let (send, rank) = (send.into(), check.rank(peer)?);
        let (count, op) = (send.len(), ncclRedOp_t::ncclSum);
        let what = What { kind: Kind::Send, count, element: T::TYPE, op, rank };
        group.push(communicator, stream, Some(send.as_bytes()), None, what)
    }

    /// Receives elements from another rank, which must send the same number (`ncclRecv`).
    ///
    /// # Errors
    /// As `send`.
    #[doc(alias = "ncclRecv")]
    receive<T>(receive: impl Into<DeviceSliceMut<'a, T>>, peer: usize) |group, communicator, stream| {
        let check = group.check(communicator, stream, &Kind::Receive)?;
        let (receive, rank) = (receive.into(), check.rank(peer)?);
        let (count, op) = (receive.len(), ncclRedOp_t::ncclSum);
        let what = What { kind: Kind::Receive, count, element: T::TYPE, op, rank };
        group.push(communicator, stream, None, Some(receive.into_bytes()), what)
    }
}

impl fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.calls.iter().map(|call| &call.what)).finish()
    }
}
