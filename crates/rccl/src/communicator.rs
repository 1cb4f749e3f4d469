//! Communicators.

mod parts;

use std::ffi::CStr;
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hip::{Device, Stream};
use rccl_sys::{Table, ncclComm_t, ncclConfig_t, ncclResult_t, ncclUniqueId};

use crate::current::Current;
use crate::error::{Error, Result};
use crate::table;

/// Identifies a communicator that is about to be made (`ncclUniqueId`). One rank [makes](Self::new) it and
/// gives its bytes to the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "ncclUniqueId")]
pub struct UniqueId([u8; UniqueId::SIZE]);

impl UniqueId {
    /// Its size in bytes.
    pub const SIZE: usize = size_of::<ncclUniqueId>();

    /// A new id, made by the RCCL that serves the device (`ncclGetUniqueId`).
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is none, else [`Error::Rccl`].
    #[doc(alias = "ncclGetUniqueId")]
    pub fn new(device: &Device) -> Result<Self> {
        Self::of_table(table::of(device)?)
    }

    fn of_table(table: &'static Table) -> Result<Self> {
        let mut id = ncclUniqueId::default();
        // SAFETY: the id is valid for writes.
        let code = unsafe { (table.ncclGetUniqueId)(&raw mut id) };
        check(table, null_mut(), "ncclGetUniqueId", code)?;
        Ok(Self(id.internal.map(|byte| byte as u8)))
    }

    /// Its bytes, for other processes.
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        self.0
    }

    /// An id from its bytes. Invalid bytes fail when a communicator is created with them.
    pub fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        Self(bytes)
    }

    fn raw(&self) -> ncclUniqueId {
        ncclUniqueId { internal: self.0.map(|byte| byte as _) }
    }
}

impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes are a secret of the ranks, so this shows a hash.
        write!(f, "UniqueId({}…)", &blake3::hash(&self.0).to_hex()[..16])
    }
}

/// Options for making communicators, and their time limit.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    limit: Duration,
    waits: bool,
    virtual_id: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { limit: Duration::from_secs(60), waits: true, virtual_id: None }
    }
}

impl Options {
    /// A limit of one minute; [`Communicator::new`] waits for the other ranks.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the ranks wait for each other when they come together, and at most for an operation to be
    /// accepted. A dropped communicator waits as long for its operations before it aborts them. RCCL up to
    /// 2.13 has no non-blocking calls and ignores this limit.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Tells ranks that share a GPU apart, for libraries that require it: RCCL up to 2.13
    /// (`ncclCommInitRankMulti`). Each rank of a GPU has its own number. If several ranks are made together,
    /// those of one device get consecutive numbers from this one. Our own implementation lets ranks share a
    /// GPU without it; later releases of AMD's library do not let them share at all. With this option, the
    /// library waits for the other ranks without a limit.
    #[doc(alias = "ncclCommInitRankMulti")]
    pub fn virtual_id(mut self, id: u32) -> Self {
        self.virtual_id = Some(id);
        self
    }

    /// Whether making a communicator waits for the other ranks. If not, use [`Communicator::is_ready`] to
    /// ask, or [`Communicator::wait_until_ready`] to wait.
    pub fn wait(mut self, wait: bool) -> Self {
        self.waits = wait;
        self
    }
}

/// One rank of a group of GPUs that work together (`ncclComm_t`).
///
/// This is a handle; clones are the same rank. Operations go to a [`Stream`] of its device and return at
/// once. An operation begins when everything before it on the stream is done and all ranks have reached it;
/// later work on the stream waits for it. Buffers are ordered and kept alive as for any other work of the
/// crate `hip`.
///
/// # Calling order
/// All ranks call the same operations of a communicator, in the same order. A thread that serves several
/// ranks puts the operation of all of them into one [`Group`](crate::Group), so that none waits for one that
/// comes later.
///
/// On a stream that is [captured](hip::Device::capture), an operation becomes part of the graph, which keeps
/// this communicator. It runs each time that the graph runs. The order of launches then counts as the order
/// of calls.
///
/// # Failure
/// An operation can fail after it was enqueued, if another rank dies or aborts. The stream continues; the
/// received values are unspecified. [`wait`](Self::wait) waits for a stream *and* reports such a failure,
/// with a time limit; [`check`](Self::check) asks without waiting.
///
/// # Drop
/// The last handle waits until the streams that used the communicator are done, for at most
/// [`Options::limit`]. It then aborts what is not done (`ncclCommDestroy`, `ncclCommAbort`). A graph with its
/// operations counts as a handle.
#[derive(Clone)]
#[doc(alias = "ncclComm_t")]
pub struct Communicator {
    inner: Arc<Inner>,
}

/// The state that all handles of a rank share.
pub(crate) struct Inner {
    pub(crate) table: &'static Table,
    device: Device,
    options: Options,
    state: Mutex<State>,
    aborts: AtomicBool,
}

struct State {
    /// None if it has been aborted.
    handle: Option<Handle>,
    /// Rank and number of ranks, once known.
    place: Option<(usize, usize)>,
    /// Streams on which operations may still run.
    streams: Vec<Stream>,
}

#[derive(Clone, Copy)]
struct Handle(ncclComm_t);

// SAFETY: RCCL's communicators are not tied to a thread, and only one call at a time uses this one.
unsafe impl Send for Handle {}

/// The intervals of a polling loop.
struct Pace(Instant, Duration);

impl Pace {
    fn new() -> Self {
        Self(Instant::now(), Duration::from_micros(20))
    }

    /// Sleeps a little longer each time. False if the time is up.
    fn go_on(&mut self, limit: Duration) -> bool {
        if self.0.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(self.1);
        self.1 = (self.1 * 3 / 2).min(Duration::from_millis(2));
        true
    }
}

/// The value of `NCCL_CONFIG_INITIALIZER`, for non-blocking calls.
fn config() -> ncclConfig_t {
    const UNDEFINED: i32 = i32::MIN;
    ncclConfig_t {
        size: size_of::<ncclConfig_t>(),
        magic: 0xcafe_beef,
        version: 22_707,
        blocking: 0,
        cgaClusterSize: UNDEFINED,
        minCTAs: UNDEFINED,
        maxCTAs: UNDEFINED,
        netName: std::ptr::null(),
        splitShare: UNDEFINED,
        trafficClass: UNDEFINED,
        commName: std::ptr::null(),
        collnetEnable: UNDEFINED,
        CTAPolicy: UNDEFINED,
        shrinkShare: UNDEFINED,
        nvlsCTAs: UNDEFINED,
    }
}

/// Turns a code into an error, unless it means "in progress".
pub(crate) fn check(
    table: &Table,
    comm: ncclComm_t,
    operation: &'static str,
    code: ncclResult_t,
) -> Result<()> {
    if matches!(code, ncclResult_t::ncclSuccess | ncclResult_t::ncclInProgress) {
        return Ok(());
    }
    Err(Error::Rccl { operation, code, text: text(table, comm, code) })
}

/// The library's text for a failure.
fn text(table: &Table, comm: ncclComm_t, code: ncclResult_t) -> String {
    // SAFETY: the function takes any handle that is live, or none, and returns a text that lives until the
    // next call on this thread.
    let last = unsafe { (table.ncclGetLastError)(comm).as_ref() }.filter(|_| table.has("ncclGetLastError"));
    // SAFETY: as above; the other text lives as long as the library.
    let text = last.map(|text| unsafe { CStr::from_ptr(text) }).filter(|text| !text.is_empty());
    // SAFETY: the function takes any code, and returns a text that lives as long as the library.
    let general = || unsafe { CStr::from_ptr((table.ncclGetErrorString)(code)) };
    text.unwrap_or_else(general).to_string_lossy().into_owned()
}

impl Communicator {
    /// Makes one rank per device, all in this process, in the order of the devices (`ncclCommInitRankConfig`
    /// in a group).
    ///
    /// # Errors
    /// [`Error::Size`] without a device, [`Error::Unavailable`], [`Error::OtherCommunicator`] if the devices
    /// belong to two libraries, [`Error::Rccl`], and [`Error::TimedOut`].
    #[doc(alias = "ncclCommInitAll")]
    pub fn all(devices: &[Device]) -> Result<Vec<Self>> {
        Self::all_with(devices, Options::default())
    }

    /// Like [`all`](Self::all), with options.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn all_with(devices: &[Device], options: Options) -> Result<Vec<Self>> {
        let Some(first) = devices.first() else {
            return Err(Error::Size { operation: "Communicator::all", size: 0 });
        };
        let id = UniqueId::new(first)?;
        let ranks: Vec<_> = devices.iter().zip(0..).collect();
        Self::start_all(&ranks, &id, devices.len(), options)
    }

    /// Makes rank `rank` of `size` on a device. Every other rank is made elsewhere with the same id
    /// (`ncclCommInitRankConfig`). Blocks until all ranks have joined.
    ///
    /// To make several ranks on one thread, use [`some`](Self::some) or [`Options::wait`].
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Size`], [`Error::Unavailable`], [`Error::Rccl`], [`Error::Failed`] if the
    /// ranks disagree, and [`Error::TimedOut`].
    #[doc(alias = "ncclCommInitRank")]
    #[doc(alias = "ncclCommInitRankConfig")]
    pub fn new(device: &Device, id: &UniqueId, rank: usize, size: usize) -> Result<Self> {
        Self::with(device, id, rank, size, Options::default())
    }

    /// Like [`new`](Self::new), with options.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with(device: &Device, id: &UniqueId, rank: usize, size: usize, options: Options) -> Result<Self> {
        let mut ranks = Self::start_all(&[(device, rank)], id, size, options)?;
        ranks.pop().ok_or(Error::Size { operation: "Communicator::new", size: 0 })
    }

    /// Makes those ranks of a communicator of `size` ranks that this thread serves, each on its device.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn some(
        ranks: &[(&Device, usize)],
        id: &UniqueId,
        size: usize,
        options: Options,
    ) -> Result<Vec<Self>> {
        Self::start_all(ranks, id, size, options)
    }

    fn start_all(
        ranks: &[(&Device, usize)],
        id: &UniqueId,
        size: usize,
        options: Options,
    ) -> Result<Vec<Self>> {
        const OPERATION: &str = "Communicator::new";
        let count = i32::try_from(size).ok().filter(|size| *size > 0);
        let Some(count) = count else { return Err(Error::Size { operation: OPERATION, size }) };
        if let Some((_, rank)) = ranks.iter().find(|(_, rank)| *rank >= size) {
            return Err(Error::Rank { operation: OPERATION, rank: *rank, size });
        }
        let Some((first, _)) = ranks.first() else { return Ok(Vec::new()) };
        let table = table::of(first)?;
        for (device, _) in ranks {
            if !std::ptr::eq(table::of(device)?, table) {
                return Err(Error::OtherCommunicator { operation: OPERATION, what: "a device" });
            }
        }
        const MULTI: &str = "ncclCommInitRankMulti";
        if options.virtual_id.is_some() && !table.has(MULTI) {
            return Err(Error::Unsupported { function: MULTI });
        }
        let start = |at: usize, handle: &mut ncclComm_t| {
            let (device, rank) = &ranks[at];
            let _current = Current::set(device)?;
            if let Some(first) = options.virtual_id {
                let before = ranks[..at].iter().filter(|(other, _)| other == device).count();
                let virtual_id = i32::try_from(u64::from(first) + before as u64);
                let virtual_id =
                    virtual_id.map_err(|_| Error::Size { operation: MULTI, size: first as usize })?;
                // SAFETY: the handle is valid for writes.
                let code = unsafe {
                    (table.ncclCommInitRankMulti)(handle, count, id.raw(), *rank as i32, virtual_id)
                };
                check(table, null_mut(), MULTI, code)
            } else if table.has("ncclCommInitRankConfig") {
                let mut config = config();
                // SAFETY: all pointers are places; the configuration is read during the call.
                let code = unsafe {
                    (table.ncclCommInitRankConfig)(handle, count, id.raw(), *rank as i32, &raw mut config)
                };
                check(table, null_mut(), "ncclCommInitRankConfig", code)
            } else {
                // SAFETY: the handle is valid for writes.
                let code = unsafe { (table.ncclCommInitRank)(handle, count, id.raw(), *rank as i32) };
                check(table, null_mut(), "ncclCommInitRank", code)
            }
        };
        // Use a group even for one rank: RCCL then blocks only at the end of the group.
        let mut handles: Vec<ncclComm_t> = vec![null_mut(); ranks.len()];
        let started =
            in_group(table, || handles.iter_mut().enumerate().try_for_each(|(at, handle)| start(at, handle)));
        let made = ranks.iter().zip(handles).filter(|(_, handle)| !handle.is_null());
        let made: Vec<_> = made
            .map(|((device, rank), handle)| Self::of(table, device, options, handle, Some((*rank, size))))
            .collect();
        started?;
        if options.waits {
            made.iter().try_for_each(Self::wait_until_ready)?;
        }
        Ok(made)
    }

    fn of(
        table: &'static Table,
        device: &Device,
        options: Options,
        handle: ncclComm_t,
        place: Option<(usize, usize)>,
    ) -> Self {
        let state = State { handle: Some(Handle(handle)), place, streams: Vec::new() };
        let (device, aborts) = (device.clone(), AtomicBool::new(false));
        Self { inner: Arc::new(Inner { table, device, options, state: Mutex::new(state), aborts }) }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// The device whose streams and memory it uses.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The RCCL in use: the name and version of the implementation, or the path of the library.
    pub fn implementation(&self) -> String {
        let table = self.inner.table;
        match (table.implementation(), table.path()) {
            (Some(name), _) => format!("{name} {}", table.implementation_version().unwrap_or_default()),
            (None, Some(path)) => path.display().to_string(),
            (None, None) => String::new(),
        }
    }

    /// This rank (`ncclCommUserRank`).
    ///
    /// # Errors
    /// [`Error::NotReady`] for a part of a communicator that is not ready.
    #[doc(alias = "ncclCommUserRank")]
    pub fn rank(&self) -> Result<usize> {
        Ok(self.inner.place("ncclCommUserRank")?.0)
    }

    /// How many ranks there are (`ncclCommCount`).
    ///
    /// # Errors
    /// As [`rank`](Self::rank).
    #[doc(alias = "ncclCommCount")]
    pub fn size(&self) -> Result<usize> {
        Ok(self.inner.place("ncclCommCount")?.1)
    }

    /// Whether all ranks have joined, without waiting.
    ///
    /// # Errors
    /// [`Error::Failed`] if they never will, [`Error::Aborted`].
    pub fn is_ready(&self) -> Result<bool> {
        self.inner.is_settled(&mut self.inner.lock(), "is_ready")
    }

    /// Blocks until all ranks have joined, for at most [`Options::limit`].
    ///
    /// # Errors
    /// [`Error::Failed`] if they never will, [`Error::TimedOut`], [`Error::Aborted`].
    pub fn wait_until_ready(&self) -> Result<()> {
        self.inner.settle("wait_until_ready")
    }

    /// Checks that the communicator still works. Fails if another rank is gone, or something else has ended
    /// it (`ncclCommGetAsyncError`).
    ///
    /// # Errors
    /// [`Error::Failed`], [`Error::Aborted`].
    #[doc(alias = "ncclCommGetAsyncError")]
    #[doc(alias = "get_async_error")]
    pub fn check(&self) -> Result<()> {
        self.is_ready().map(drop)
    }

    /// Blocks until everything on a stream is done and the communicator is known to have succeeded. If it has
    /// failed, or the stream is not done within `limit`, the communicator is aborted, so that the stream
    /// continues.
    ///
    /// # Errors
    /// [`Error::Failed`], [`Error::TimedOut`], [`Error::Aborted`], [`Error::Hip`] with the failure of the
    /// stream.
    pub fn wait(&self, stream: &Stream, limit: Duration) -> Result<()> {
        let mut pace = Pace::new();
        loop {
            let done = stream.is_done()?;
            if let Err(error) = self.check() {
                if matches!(error, Error::Failed { .. }) {
                    self.abort()?;
                }
                return Err(error);
            }
            if done {
                return Ok(());
            }
            if !pace.go_on(limit) {
                self.abort()?;
                return Err(Error::TimedOut { operation: "wait", limit });
            }
        }
    }

    /// Drops all enqueued operations that are not done, on all ranks, and ends the communicator
    /// (`ncclCommAbort`). Streams continue. Calling it twice is not an error.
    ///
    /// # Errors
    /// [`Error::Rccl`].
    #[doc(alias = "ncclCommAbort")]
    pub fn abort(&self) -> Result<()> {
        // Calls waiting on other threads see this and return.
        self.inner.aborts.store(true, Ordering::Release);
        self.inner.abort(&mut self.inner.lock())
    }
}

/// Runs calls in an RCCL group, and ends the group even if they fail.
pub(crate) fn in_group(table: &Table, calls: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: the function takes nothing, and the group was started on this thread.
    in_group_ended_by(table, "ncclGroupEnd", calls, || unsafe { (table.ncclGroupEnd)() })
}

/// Like [`in_group`], but ends the group with another function than `ncclGroupEnd`.
pub(crate) fn in_group_ended_by(
    table: &Table,
    operation: &'static str,
    calls: impl FnOnce() -> Result<()>,
    end: impl FnOnce() -> ncclResult_t,
) -> Result<()> {
    // SAFETY: the function takes nothing.
    let code = unsafe { (table.ncclGroupStart)() };
    check(table, null_mut(), "ncclGroupStart", code)?;
    let called = calls();
    called.and(check(table, null_mut(), operation, end()))
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error if the library lacks a function.
    pub(crate) fn has(&self, function: &'static str) -> Result<()> {
        if self.table.has(function) { Ok(()) } else { Err(Error::Unsupported { function }) }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Calls RCCL with the handle, one call at a time.
    pub(crate) fn with_handle(
        &self,
        operation: &'static str,
        call: impl FnOnce(&'static Table, ncclComm_t) -> ncclResult_t,
    ) -> Result<()> {
        let state = self.lock();
        let Some(Handle(handle)) = state.handle else { return Err(Error::Aborted { operation }) };
        check(self.table, handle, operation, call(self.table, handle))
    }

    /// Rank and number of ranks.
    pub(crate) fn place(&self, operation: &'static str) -> Result<(usize, usize)> {
        let mut state = self.lock();
        if let Some(place) = state.place {
            return Ok(place);
        }
        let Some(Handle(handle)) = state.handle else { return Err(Error::Aborted { operation }) };
        if !self.is_settled(&mut state, operation)? {
            return Err(Error::NotReady { operation });
        }
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the handle is live, and the numbers are valid for writes.
        unsafe {
            let code = (self.table.ncclCommUserRank)(handle, &raw mut rank);
            check(self.table, handle, "ncclCommUserRank", code)?;
            let code = (self.table.ncclCommCount)(handle, &raw mut size);
            check(self.table, handle, "ncclCommCount", code)?;
        }
        let place = (rank.unsigned_abs() as usize, size.unsigned_abs() as usize);
        state.place = Some(place);
        Ok(place)
    }

    /// Whether nothing is in progress any more. An asynchronous failure is the error.
    fn is_settled(&self, state: &mut State, operation: &'static str) -> Result<bool> {
        let Some(Handle(handle)) = state.handle else { return Err(Error::Aborted { operation }) };
        let mut status = ncclResult_t::ncclSuccess;
        // SAFETY: the handle is live, and the status is valid for writes.
        let code = unsafe { (self.table.ncclCommGetAsyncError)(handle, &raw mut status) };
        check(self.table, handle, "ncclCommGetAsyncError", code)?;
        match status {
            ncclResult_t::ncclSuccess => Ok(true),
            ncclResult_t::ncclInProgress => Ok(false),
            code => {
                let (rank, size) = state.place.unwrap_or_default();
                Err(Error::Failed { rank, size, code, text: text(self.table, handle, code) })
            }
        }
    }

    /// Waits until nothing is in progress.
    pub(crate) fn settle(&self, operation: &'static str) -> Result<()> {
        let mut pace = Pace::new();
        loop {
            // Do not hold the lock while sleeping: another thread may abort.
            if self.is_settled(&mut self.lock(), operation)? {
                return Ok(());
            }
            if self.aborts.load(Ordering::Acquire) {
                return Err(Error::Aborted { operation });
            }
            let limit = self.options.limit;
            if !pace.go_on(limit) {
                self.abort(&mut self.lock())?;
                return Err(Error::TimedOut { operation, limit });
            }
        }
    }

    /// Records that operations may run on a stream.
    pub(crate) fn uses(&self, stream: &Stream) {
        let mut state = self.lock();
        if state.streams.contains(stream) {
            return;
        }
        if state.streams.len() >= 8 {
            state.streams.retain(|stream| !matches!(stream.is_done(), Ok(true)));
        }
        state.streams.push(stream.clone());
    }

    fn abort(&self, state: &mut State) -> Result<()> {
        let Some(Handle(handle)) = state.handle.take() else { return Ok(()) };
        let _current = Current::set(&self.device)?;
        // SAFETY: the handle was live, and nothing else uses it.
        let code = unsafe { (self.table.ncclCommAbort)(handle) };
        check(self.table, null_mut(), "ncclCommAbort", code)
    }

    /// Waits for its operations and ends it, or aborts them.
    fn close(&self, mut state: State) -> Result<()> {
        let mut pace = Pace::new();
        let is_done = |stream: &Stream| stream.is_done().unwrap_or(true);
        while state.handle.is_some() {
            match self.is_settled(&mut state, "drop") {
                Err(_) => return self.abort(&mut state),
                // Its ranks have not joined, and nobody waits for that any more.
                Ok(false) if state.streams.is_empty() => return self.abort(&mut state),
                Ok(true) if state.streams.iter().all(is_done) => break,
                Ok(_) if !pace.go_on(self.options.limit) => {
                    tracing::warn!(
                        "a communicator was dropped before its operations were done: they are aborted"
                    );
                    return self.abort(&mut state);
                }
                Ok(_) => {}
            }
        }
        let Some(Handle(handle)) = state.handle.take() else { return Ok(()) };
        let _current = Current::set(&self.device)?;
        // SAFETY: the handle was live, and nothing else uses it.
        let code = unsafe { (self.table.ncclCommDestroy)(handle) };
        check(self.table, null_mut(), "ncclCommDestroy", code)
    }
}

impl hip::GraphResource for Inner {
    /// A launch waits for the other ranks' launches for at most [`Options::limit`].
    fn before_wait(&self, is_done: &dyn Fn() -> bool) {
        let mut pace = Pace::new();
        while !is_done() {
            let failed = {
                let mut state = self.lock();
                if state.handle.is_none() {
                    return;
                }
                self.is_settled(&mut state, "drop").is_err()
            };
            // Do not hold the lock while sleeping: another thread may abort.
            if failed || !pace.go_on(self.options.limit) {
                tracing::warn!("a graph was dropped before its collectives were done: they are aborted");
                if let Err(error) = self.abort(&mut self.lock()) {
                    tracing::error!(%error, "aborting a communicator failed");
                }
                return;
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let empty = State { handle: None, place: None, streams: Vec::new() };
        let state = std::mem::replace(&mut *self.lock(), empty);
        if state.handle.is_none() {
            return;
        }
        let first = state.streams.first().map(Stream::is_done);
        if matches!(first, Some(Err(hip::Error::HostFunction))) {
            // Nothing may wait here, least of all for the stream that runs this function.
            let (device, options, aborts) = (self.device.clone(), self.options, AtomicBool::new(false));
            let rest = Self { table: self.table, device, options, state: Mutex::new(state), aborts };
            std::thread::spawn(move || drop(rest));
            return;
        }
        if let Err(error) = self.close(state) {
            tracing::error!(%error, "ending a communicator failed");
        }
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.inner.lock().place;
        f.debug_struct("Communicator")
            .field("rank", &place.map(|place| place.0))
            .field("size", &place.map(|place| place.1))
            .field("device", &self.inner.device)
            .finish()
    }
}
