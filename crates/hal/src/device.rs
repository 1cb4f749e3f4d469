//! Devices.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::command::{Recorder, Usage};
use crate::context::Context;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::executable::{CodeObjects, Executable};
use crate::memory::import::{Foreign, Locked, Memory};
use crate::memory::pool::Pool;
use crate::memory::{Buffer, MemoryKind, Statistics};
use crate::profile::Profile;
use crate::queue::Queue;
use crate::replay::Replay;
use crate::scheduler::{Scheduler, Scheduling};
use crate::spans::within;
use crate::worker::{Job, Worker};

/// Which queues of a device may run something: a bit for each, the queues of the first GPU first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Affinity(pub u64);

impl Affinity {
    /// Any queue.
    pub const ANY: Self = Self(u64::MAX);
}

/// One GPU, or several that work as one. Clones are the same device.
#[derive(Clone, Debug)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    context: Arc<Context>,
    /// The execution queues of each GPU, made when first used.
    queues: Vec<OnceLock<Arc<Core>>>,
    /// Held while a queue is made.
    making: Mutex<()>,
    /// Loaded code.
    executables: Mutex<Vec<(CodeObjects, Executable)>>,
    library: Option<Executable>,
    /// One for each GPU, or none.
    schedulers: Vec<Arc<Scheduler>>,
    /// Runs host calls.
    host: Worker,
    /// Reads and writes files, which host calls may wait for.
    files: Worker,
    next: std::sync::atomic::AtomicUsize,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.context)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.schedulers.iter().for_each(Scheduler::close);
    }
}

impl Device {
    pub(crate) fn new(context: Arc<Context>) -> Result<Self> {
        let library = match &context.options.library {
            Some(code) => {
                let what = "the device library";
                if let Some(log) = &context.log {
                    log.library(&code.for_target(what, &context.members[0].target)?);
                }
                Some(Executable::load(&context, what, code)?)
            }
            None => None,
        };
        let schedulers = match context.options.scheduler as u64 {
            0 => Vec::new(),
            capacity => (0..context.members.len())
                .map(|member| Scheduler::new(&context, member, capacity, library.as_ref()))
                .collect::<Result<_>>()?,
        };
        let queues = (0..context.members.len() * context.options.queues).map(|_| OnceLock::new()).collect();
        Ok(Self {
            inner: Arc::new(Inner {
                context,
                queues,
                making: Mutex::default(),
                executables: Mutex::default(),
                library,
                schedulers,
                host: Worker::new("hal host calls"),
                files: Worker::new("hal files"),
                next: std::sync::atomic::AtomicUsize::new(0),
            }),
        })
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.inner.context
    }

    /// The number of its GPUs.
    #[must_use]
    pub fn members(&self) -> usize {
        self.inner.context.members.len()
    }

    /// The target id of its GPUs.
    #[must_use]
    pub fn target(&self) -> &code_object::TargetId {
        &self.inner.context.members[0].target
    }

    /// The HSA agent of a GPU.
    #[must_use]
    pub fn agent(&self, member: usize) -> Option<&hsa::Agent> {
        self.inner.context.members.get(member).map(|member| &member.agent)
    }

    /// One of the queues in a set: each in turn.
    ///
    /// # Errors
    /// The set has none of the device's queues, or HSA cannot make one.
    pub fn queue(&self, affinity: Affinity) -> Result<Queue> {
        let count = self.inner.queues.len();
        let is_in = |index: &usize| affinity.0 >> (*index).min(63) & 1 != 0;
        let fitting: Vec<usize> = (0..count).filter(is_in).collect();
        if fitting.is_empty() {
            let most = (1u128 << count.min(64)) - 1;
            return Err(Error::Option {
                name: "affinity",
                value: affinity.0,
                least: 1,
                most: u64::try_from(most).unwrap_or(u64::MAX),
            });
        }
        let turn = self.inner.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let index = fitting[turn % fitting.len()];
        let member = index / self.inner.context.options.queues;
        Ok(Queue { device: self.clone(), member, core: self.core(index, member)? })
    }

    fn core(&self, index: usize, member: usize) -> Result<Arc<Core>> {
        let place = &self.inner.queues[index];
        let _making = self.inner.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(core) = place.get() {
            return Ok(core.clone());
        }
        let own = &self.inner.context.members[member];
        let most = own.most_packets.max(1);
        let packets = self.inner.context.options.packets.min(1 << most.ilog2());
        let context = self.context();
        let core = Core::new(&own.agent, packets, |number| context.watch(member, number))?;
        Ok(place.get_or_init(|| core).clone())
    }

    /// Loads code on all GPUs of the device, unless it already is.
    ///
    /// # Errors
    /// [`Error::NoCode`], [`Error::BadCode`] or HSA's error.
    pub fn load(&self, code: &CodeObjects) -> Result<Executable> {
        let span = tracing::debug_span!(target: "hal::device", "load", error = tracing::field::Empty);
        within(span, || {
            let mut known = self.inner.executables.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, executable)) = known.iter().find(|(other, _)| other.is_same(code)) {
                return Ok(executable.clone());
            }
            let what = "the executable";
            let executable = Executable::load(self.context(), what, code)?;
            if let Some(log) = &self.context().log {
                executable.is_number(log.code(&code.for_target(what, self.target())?));
            }
            known.push((code.clone(), executable.clone()));
            Ok(executable)
        })
    }

    /// Begins to record commands for one of its GPUs.
    ///
    /// # Errors
    /// The device has no such GPU.
    pub fn record(&self, member: usize, usage: Usage) -> Result<Recorder> {
        let count = self.members() as u64;
        if member as u64 >= count {
            return Err(Error::Option { name: "member", value: member as u64, least: 0, most: count - 1 });
        }
        Ok(Recorder::new(self.context(), member, usage, self.inner.library.clone()))
    }

    /// Allocates memory, of the first GPU or of the host.
    ///
    /// # Errors
    /// The size is 0, the pool is at its limit, or HSA has no more memory.
    pub fn allocate(&self, kind: MemoryKind, size: u64) -> Result<Buffer> {
        self.allocate_on(kind, 0, size)
    }

    /// Allocates memory of a GPU, or of the host.
    ///
    /// # Errors
    /// As for [`allocate`](Self::allocate), or the device has no such GPU.
    pub fn allocate_on(&self, kind: MemoryKind, member: usize, size: u64) -> Result<Buffer> {
        let span = tracing::trace_span!(
            target: "hal::device", "allocate", ?kind, member, size, error = tracing::field::Empty
        );
        within(span, || {
            self.check_size(size)?;
            let most = self.members() as u64 - 1;
            if member as u64 > most {
                return Err(Error::Option { name: "member", value: member as u64, least: 0, most });
            }
            let piece = self.pool(kind, member).take(size)?;
            Buffer::new(self.context(), kind, member, Memory::Piece(piece))
        })
    }

    /// Gives memory of the program to all GPUs of the device, without a copy (`hsa_amd_memory_lock`). The
    /// memory is freed when no clone of the buffer is left.
    ///
    /// # Errors
    /// The memory is empty, or [`Error::Import`]: HSA does not lock it. Then it is freed.
    pub fn import(&self, memory: Vec<u8>) -> Result<Buffer> {
        let mut memory = memory;
        let (host, size) = (memory.as_mut_ptr(), memory.len() as u64);
        // SAFETY: the vector owns the memory, and nothing uses it again but its drop.
        unsafe { self.import_host(host, size, memory) }
    }

    /// Gives memory of the host to all GPUs of the device, without a copy (`hsa_amd_memory_lock`): a mapped
    /// file, for example. The owner is dropped when no clone of the buffer is left and the memory is
    /// unlocked, or at once if this fails. Submitted work has a clone until it has ended and
    /// [`trim`](Self::trim) or a later submission has seen that.
    ///
    /// # Errors
    /// The size is 0, or [`Error::Import`]: HSA does not lock the memory.
    ///
    /// # Safety
    /// As long as the owner exists, the memory is mapped, and the program accesses it only where neither work
    /// of the device nor the buffer's methods do at the same time. If it is read-only, they only read it.
    pub unsafe fn import_host(
        &self,
        memory: *mut u8,
        size: u64,
        owner: impl Send + Sync + 'static,
    ) -> Result<Buffer> {
        self.check_size(size)?;
        // SAFETY: the caller vouches for the memory.
        let locked = unsafe { Locked::new(self.context(), memory, size, Box::new(owner)) }?;
        Buffer::new(self.context(), MemoryKind::Host, 0, Memory::Locked(locked))
    }

    /// Makes a buffer of memory that others have allocated in this process by HSA, or by something above it
    /// such as HIP. The owner is dropped when no clone of the buffer is left, as for
    /// [`import_host`](Self::import_host).
    ///
    /// # Errors
    /// The size is 0, or [`Error::Import`]: HSA knows no allocation that has the range.
    ///
    /// # Safety
    /// As long as the owner exists, the memory is allocated, all GPUs of the device may access it, and others
    /// access it only where neither work of the device nor the buffer's methods do at the same time.
    pub unsafe fn import_address(
        &self,
        address: u64,
        size: u64,
        owner: impl Send + Sync + 'static,
    ) -> Result<Buffer> {
        self.check_size(size)?;
        let foreign = Foreign::new(self.context(), address, size, Box::new(owner))?;
        Buffer::new(self.context(), MemoryKind::Device, 0, Memory::Foreign(foreign))
    }

    pub(crate) fn check_size(&self, size: u64) -> Result<()> {
        let most = i64::MAX as u64;
        let is_fine = (1..=most).contains(&size);
        if is_fine { Ok(()) } else { Err(Error::Option { name: "size", value: size, least: 1, most }) }
    }

    pub(crate) fn pool(&self, kind: MemoryKind, member: usize) -> &Arc<Pool> {
        match kind {
            MemoryKind::Device => &self.context().members[member].memory,
            MemoryKind::Host => &self.context().host,
        }
    }

    /// What the pool of a GPU, or of the host, has.
    #[must_use]
    pub fn statistics(&self, kind: MemoryKind, member: usize) -> Option<Statistics> {
        (member < self.members()).then(|| self.pool(kind, member).statistics())
    }

    /// Releases what work that has ended used. Submissions do that now and then.
    pub fn trim(&self) {
        for core in self.inner.queues.iter().filter_map(OnceLock::get) {
            core.release_finished();
        }
        self.inner.schedulers.iter().for_each(|scheduler| scheduler.trim());
    }

    /// What has become of submissions that waited for values that nobody had promised; `None` if the device was
    /// opened without [`Options::scheduler`](crate::Options::scheduler).
    #[must_use]
    pub fn scheduling(&self) -> Option<Scheduling> {
        let counts = self.inner.schedulers.iter().map(|scheduler| scheduler.counts());
        counts.reduce(|sum, next| Scheduling {
            scheduled: sum.scheduled + next.scheduled,
            kept: sum.kept + next.kept,
        })
    }

    /// The scheduler of a GPU, if there is one.
    pub(crate) fn scheduler(&self, member: usize) -> Option<&Arc<Scheduler>> {
        self.inner.schedulers.get(member)
    }

    /// Takes what has ended since the last call, with the times that HSA has for it; `None` if the device was
    /// opened without [`Options::profile`](crate::Options::profile). A submission has ended when the
    /// semaphores that it signals have their values.
    #[must_use]
    pub fn profile(&self) -> Option<Profile> {
        let profiler = self.inner.context.profiler.as_ref()?;
        self.inner.queues.iter().filter_map(OnceLock::get).for_each(|core| core.collect());
        Some(profiler.take())
    }

    /// Everything that the device has done since it was opened, with what its buffers have now. Call it when
    /// all work has ended.
    ///
    /// # Errors
    /// The device was opened without [`Options::capture`](crate::Options::capture), or HSA's error.
    pub fn capture(&self) -> Result<Replay> {
        match &self.context().log {
            Some(log) => log.contents().map(Replay::new),
            None => Err(Error::Replay("the device was opened without `Options::capture`".into())),
        }
    }

    /// Runs a job on the thread of host calls.
    pub(crate) fn on_host(&self, job: Job) {
        self.inner.host.run(job);
    }

    /// Runs a job on the thread of files.
    pub(crate) fn on_files(&self, job: Job) {
        self.inner.files.run(job);
    }
}
