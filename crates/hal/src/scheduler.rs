//! Scheduling on the device: work that waits for what nobody has promised yet is put into a list in memory,
//! and a kernel issues it when its semaphores have the values.
//!
//! Each GPU has a control queue. A run of the kernel `hal_schedule` looks at the list, copies the packets of
//! what is ready into their queues, and rings their doorbells; then it puts two packets into the control
//! queue: one that waits until the signal `kicks` has changed, and the next run. The host changes that
//! signal, and so does the last packet of all that is scheduled. The device reads semaphores in [`Cell`]s.
//!
//! Work that is scheduled has a signal of its own for its end, so a queue's fences are those of the host's
//! submissions. Packets in queues only ever wait for what was put into queues before them, scheduled work for
//! nothing at all, so that queues move on whatever the list has.

mod cell;
mod entry;
mod layout;
mod list;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use hsa::raw::{Dispatch, ProgressSignal, completing_packet};
use hsa::raw::{NO_SIGNAL, Packet, SCOPE_NONE, SCOPE_SYSTEM, barrier_less_packet, barrier_packet};
use hsa_sys::hsa_signal_t;

pub(crate) use self::cell::{Cell, Scheduled};
pub(crate) use self::entry::Entry;
use self::entry::Work;
use self::layout::{Condition, Content, Control, ListMemory, Patch, Raise, Ring, Slot};
use self::list::List;
use crate::block::Submission;
use crate::context::Context;
use crate::core::{Core, Kept, Point};
use crate::dependants::Dependant;
use crate::error::{Calls, Codes, Error, Result};
use crate::events;
use crate::executable::Executable;
use crate::memory::pool::{Piece, Pool};
use crate::semaphore::{Awaited, NeedOnDevice, Semaphore, When};

/// Packets of the control queue: those of two runs, and more than any queue needs at least.
const CONTROL_PACKETS: u32 = 64;
const PAGE: u64 = 4096;
/// Queues of a GPU, at most.
const RINGS: usize = 32;
/// Entries after which those in the middle of the list are looked at, too.
const MANY: u64 = 64;

/// What has become of submissions that waited for values that nobody had promised.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Scheduling {
    /// The device has them, or had.
    pub scheduled: u64,
    /// The host kept them, as without a scheduler: the list was full, or their packets fit into no queue.
    pub kept: u64,
}

/// The signal that goes down when the device should look at its list.
pub(crate) struct Kicks {
    calls: Calls,
    signal: ProgressSignal<Codes>,
}

impl std::fmt::Debug for Kicks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.signal)
    }
}

impl Kicks {
    pub(crate) fn kick(&self) {
        // SAFETY: the signal lives as long as this object.
        unsafe { (self.calls.table.hsa_signal_subtract_screlease)(self.signal.raw(), 1) };
    }
}

/// The list of a GPU and what runs it.
pub(crate) struct Scheduler {
    calls: Calls,
    /// Destroyed before what its packets name.
    control: Arc<Core>,
    kicks: Arc<Kicks>,
    /// Memory that has no other users.
    pool: Arc<Pool>,
    /// The memory of the list.
    _memory: Piece,
    place: ListMemory,
    state: Mutex<State>,
    scheduled: AtomicU64,
    kept: AtomicU64,
    _library: Executable,
}

struct State {
    list: List<ListMemory, Arc<Entry>>,
    /// The queues, in the order of their rings.
    queues: Vec<Arc<Core>>,
    /// Signals of work that has ended.
    signals: Vec<hsa_signal_t>,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "scheduler on {:?}", self.control)
    }
}

/// Packets in their final form, and which of their addresses are written where when they are issued.
pub(crate) type Packets = (Vec<Packet>, Vec<(u64, usize)>);

/// Adds to a submission what the scheduler needs.
pub(crate) type Finish<'a> = dyn Fn(Submission<'_>) -> Packets + 'a;

/// What the slot of an entry leads to.
struct Parts<'a> {
    conditions: &'a [Condition],
    raises: &'a [Raise],
    patches: &'a [Patch],
    packets: &'a [Packet],
}

/// The part of memory that begins at an address.
fn at<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

impl Scheduler {
    /// The scheduler of a GPU, with a list of `capacity` entries.
    ///
    /// # Errors
    /// There is no device library, GPU and host have no atomic operations on each other's memory, kernels
    /// cannot ring doorbells, or HSA's error.
    pub(crate) fn new(
        context: &Arc<Context>,
        member: usize,
        capacity: u64,
        library: Option<&Executable>,
    ) -> Result<Arc<Self>> {
        let library = library.ok_or(Error::NoLibrary("scheduling on the device"))?.clone();
        let kernel = library.kernel("hal_schedule")?;
        let own = &context.members[member];
        let calls = context.calls();
        let links = calls.links(own.agent.raw(), context.host.raw());
        if !links.iter().all(|link| link.atomic_support_64bit) {
            return Err(Error::Scheduler(
                "GPU and host cannot change the same 64 bits atomically: a link between them has no atomic \
                 operations"
                    .into(),
            ));
        }
        let pool = context.host.like("scheduler", 256 << 10);
        let kicks = Arc::new(Kicks { calls, signal: ProgressSignal::new(calls)? });
        let control = Core::new(&own.agent, CONTROL_PACKETS.min(own.most_packets), |_| None)?;
        let slots = ListMemory::slots();
        let rings = slots + capacity * size_of::<Slot>() as u64;
        let description = kernel.description();
        let size = (description.size as u64).next_multiple_of(64);
        let memory = pool.take(rings + (RINGS * size_of::<Ring>()) as u64 + size + PAGE)?;
        // At the end of a page: what follows a kernel's arguments there is not the kernel's.
        let arguments = (memory.address + memory.size).next_multiple_of(PAGE) - PAGE - size;
        // SAFETY: the piece has the bytes, which nothing else uses yet.
        unsafe { at::<u8>(memory.address).write_bytes(0, memory.size as usize) };
        // SAFETY: the first argument is there.
        unsafe { at::<u64>(arguments).write(memory.address) };
        let dispatch = Dispatch {
            grid: [1; 3],
            block: [1; 3],
            private: description.private,
            group: description.group,
            kernel: kernel.object(member),
        };
        // No signal: who looks at the list's entries sees what a run has done.
        let again = completing_packet(&dispatch, arguments, NO_SIGNAL);
        let kicked = kicks.signal.raw();
        let first = calls.signal_load(kicked);
        let wait = barrier_less_packet(kicked, first);
        let control_block = Control {
            head: 0,
            tail: 0,
            size: capacity,
            entries: memory.address + slots,
            kicks: value_pointer(calls, kicked)?,
            // SAFETY: the queue is live.
            ring: unsafe { Ring::of(control.raw()) }?,
            wait,
            again,
        };
        // SAFETY: the piece has room for it, and nothing else uses it yet.
        unsafe { at::<Control>(memory.address).write(control_block) };
        // SAFETY: the piece has room for the list, is filled with 0 but for the control block, and is dropped
        // after the list.
        let place = unsafe { ListMemory::new(memory.address, capacity) };
        let list = List::new(place, capacity);
        let scheduler = Arc::new(Self {
            calls,
            pool,
            kicks,
            _memory: memory,
            place,
            state: Mutex::new(State { list, queues: Vec::new(), signals: Vec::new() }),
            scheduled: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            _library: library,
            control,
        });
        let dependant: Weak<dyn Dependant> = Arc::<Self>::downgrade(&scheduler);
        scheduler.control.dependants.add(dependant);
        // SAFETY: the packets name the kicks, the kernel and its list, which the scheduler has.
        unsafe { scheduler.control.begin(&[wait, again]) };
        Ok(scheduler)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the device can read the signals of a queue: not those of another HSA implementation.
    pub(crate) fn knows(&self, core: &Core) -> bool {
        self.control.knows(core)
    }

    /// What it has done.
    pub(crate) fn counts(&self) -> Scheduling {
        Scheduling {
            scheduled: self.scheduled.load(Ordering::Relaxed),
            kept: self.kept.load(Ordering::Relaxed),
        }
    }

    /// Takes entries out of the list that the device is done with: from its beginning, or all.
    fn sweep(&self, list: &mut List<ListMemory, Arc<Entry>>, all: bool) -> Vec<Arc<Entry>> {
        let has_stopped = self.control.failure().is_some();
        list.sweep(all, |entry| has_stopped && !matches!(entry.state(), crate::core::PointState::Pending))
    }

    /// Lets go of what the device is done with.
    pub(crate) fn trim(&self) {
        let done = self.sweep(&mut self.lock().list, true);
        self.let_go(done);
    }

    fn let_go(&self, done: Vec<Arc<Entry>>) {
        for entry in done {
            entry.settle();
            drop(entry);
        }
    }

    /// The number and the address of a queue's ring.
    fn ring(&self, core: &Arc<Core>) -> Result<(u32, u64)> {
        let mut state = self.lock();
        let rings = self.place.rings();
        let address = |index: usize| rings + (index * size_of::<Ring>()) as u64;
        if let Some(index) = state.queues.iter().position(|known| Arc::ptr_eq(known, core)) {
            return Ok((index as u32, address(index)));
        }
        // SAFETY: the queue is live.
        let ring = unsafe { Ring::of(core.raw()) }?;
        let index = state.queues.len();
        // SAFETY: a GPU has at most so many queues, and no entry refers to this place yet.
        unsafe { at::<Ring>(address(index)).write(ring) };
        state.queues.push(core.clone());
        // The kick behind an entry may come when the scheduler is gone.
        core.keep(Box::new(self.kicks.clone()));
        Ok((index as u32, address(index)))
    }

    /// Puts work for a queue into the list. `packets` is how many there are; `prepare` makes them. Returns
    /// false if the host has to keep it.
    ///
    /// # Errors
    /// A semaphore that it waits for has failed, one that it signals is beyond the value, a queue has
    /// stopped, or there is no memory.
    ///
    /// # Safety
    /// Everything that the packets name is valid as long as what `prepare` returns with them is kept.
    pub(crate) unsafe fn schedule(
        self: &Arc<Self>,
        core: &Arc<Core>,
        waits: &[Awaited],
        signals: &[(Semaphore, u64)],
        packets: usize,
        prepare: impl FnOnce(&Finish<'_>) -> Result<(Packets, Kept)>,
    ) -> Result<bool> {
        if let Some(error) = self.control.failure().or_else(|| core.failure()) {
            return Err(error);
        }
        // One for the end, if the last kernel does not say it, and one for the kick.
        let fits = packets as u64 + 2 <= core.capacity;
        let mut state = self.lock();
        let list = &mut state.list;
        let all = list.len() > MANY && list.next().is_multiple_of(MANY);
        let done = self.sweep(list, all);
        let number = if fits { list.reserve() } else { None };
        drop(state);
        self.let_go(done);
        let Some(number) = number else {
            self.kept.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        };
        let result = self.fill(number, core, waits, signals, prepare);
        match result {
            Ok(entry) => {
                self.scheduled.fetch_add(1, Ordering::Relaxed);
                Self::watch(&entry, waits);
                Ok(true)
            }
            Err(error) => {
                self.lock().list.give_up(number);
                Err(error)
            }
        }
    }

    fn fill(
        self: &Arc<Self>,
        number: u64,
        core: &Arc<Core>,
        waits: &[Awaited],
        signals: &[(Semaphore, u64)],
        prepare: impl FnOnce(&Finish<'_>) -> Result<(Packets, Kept)>,
    ) -> Result<Arc<Entry>> {
        let (mut conditions, mut cells, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (semaphore, value) in waits {
            match semaphore.need_on_device(*value, self)? {
                NeedOnDevice::Nothing => {}
                // What is in the queue already is before it anyway.
                NeedOnDevice::Point(point) if Arc::ptr_eq(point.core(), core) => {}
                NeedOnDevice::Point(point) => {
                    conditions.push(self.passed(&point)?);
                    others.push(point.core().clone());
                }
                NeedOnDevice::Cell(cell) => {
                    conditions.push(Condition { at: cell.address(), value: *value, kind: layout::REACHED });
                    cells.push(cell);
                }
            }
        }
        let mut raises = Vec::new();
        for (semaphore, value) in signals {
            let cell = semaphore.cell_for(*value, self)?;
            raises.push(Raise { at: cell.device_word(), value: *value });
            cells.push(cell);
        }
        let ring = self.ring(core)?;
        let end = self.end_signal()?;
        let prepared = prepare(&|mut submission| {
            submission.acquire(SCOPE_SYSTEM);
            submission.complete(end);
            submission.add_behind(barrier_packet(&[], self.kicks.signal.raw(), SCOPE_NONE));
            submission.into_packets()
        });
        let entry = prepared.and_then(|((packets, patches), kept)| {
            let patch = |&(at, packet): &(u64, usize)| Patch { at, packet: packet as u64 };
            let patches: Vec<Patch> = patches.iter().map(patch).collect();
            let work = Work {
                end,
                _waits: waits.to_vec(),
                signals: signals.to_vec(),
                kept: Mutex::new(Some(kept)),
                failure: OnceLock::new(),
            };
            let parts =
                Parts { conditions: &conditions, raises: &raises, patches: &patches, packets: &packets };
            self.write(number, core, Some((work, ring)), &parts, cells)
        });
        let entry = entry.inspect_err(|_| self.lock().signals.push(end))?;
        for core in others {
            self.kick_behind(&core);
        }
        Ok(entry)
    }

    /// The condition that a queue has done something.
    fn passed(&self, point: &Point) -> Result<Condition> {
        let (signal, value) = point.signal();
        let value = (value - 1) as u64;
        Ok(Condition { at: value_pointer(self.calls, signal)?, value, kind: layout::PASSED })
    }

    /// Writes an entry, which the device may then issue.
    fn write(
        self: &Arc<Self>,
        number: u64,
        core: &Arc<Core>,
        work: Option<(Work, (u32, u64))>,
        parts: &Parts<'_>,
        cells: Vec<Arc<Cell>>,
    ) -> Result<Arc<Entry>> {
        let Parts { conditions, raises, patches, packets } = *parts;
        let sizes =
            [size_of_val(packets), size_of_val(conditions), size_of_val(raises), size_of_val(patches)];
        let memory = self.pool.take(sizes.iter().sum::<usize>() as u64)?;
        let mut next = memory.address;
        let [packet, condition, raise, patch] = sizes.map(|bytes| {
            next += bytes as u64;
            next - bytes as u64
        });
        // SAFETY: the piece has room for all, one behind the other, and nothing else uses it; its beginning
        // is aligned for packets, whose size is a multiple of what the others need.
        unsafe {
            at::<Packet>(packet).copy_from_nonoverlapping(packets.as_ptr(), packets.len());
            at::<Condition>(condition).copy_from_nonoverlapping(conditions.as_ptr(), conditions.len());
            at::<Raise>(raise).copy_from_nonoverlapping(raises.as_ptr(), raises.len());
            at::<Patch>(patch).copy_from_nonoverlapping(patches.as_ptr(), patches.len());
        }
        let (end, (queue, ring)) = match &work {
            Some((work, ring)) => (value_pointer(self.calls, work.end)?, *ring),
            None => (0, (0, 0)),
        };
        // Nothing fails from here on.
        let entry = Arc::new(Entry {
            scheduler: self.clone(),
            number,
            core: core.clone(),
            work: work.map(|(work, _)| work),
            _cells: cells,
            _memory: memory,
        });
        let content = Content {
            queue,
            conditions: conditions.len() as u32,
            raises: raises.len() as u32,
            patches: patches.len() as u32,
            packets: packets.len() as u32,
            ring,
            condition,
            raise,
            patch,
            packet,
            end,
        };
        for (semaphore, value) in entry.work.iter().flat_map(|work| &work.signals) {
            semaphore.expect(*value, &entry);
        }
        // SAFETY: the slot is this entry's, and the device does not read it as long as it is free.
        unsafe { self.place.content(number).write(content) };
        self.lock().list.publish(number, entry.clone());
        let dependant: Weak<dyn Dependant> = Arc::<Entry>::downgrade(&entry);
        core.dependants.add(dependant);
        self.kicks.kick();
        // They may have failed before they knew of the entry.
        if let Some(error) = core.failure() {
            entry.clone().queue_failed(&error);
        } else if let Some(error) = self.control.failure() {
            entry.cancel(&error);
        }
        Ok(entry)
    }

    /// Ends the entry if something that it waits for fails.
    fn watch(entry: &Arc<Entry>, waits: &[Awaited]) {
        for (semaphore, value) in waits {
            let entry = Arc::downgrade(entry);
            semaphore.when(*value, When::Failed, move |result| {
                if let (Err(error), Some(entry)) = (result, entry.upgrade()) {
                    entry.cancel(&error);
                    events::let_go(entry);
                }
            });
        }
    }

    /// Has the device look at the list when everything in a queue is done.
    fn kick_behind(&self, core: &Arc<Core>) {
        let mut submission = Submission::of(&[]);
        submission.add_behind(barrier_packet(&[], self.kicks.signal.raw(), SCOPE_NONE));
        // SAFETY: the packet names the signal, which is kept.
        let kicked = unsafe { core.submit(&[], submission, None, Box::new(self.kicks.clone())) };
        // A queue that has stopped fails the semaphores that it has promised.
        if let Err(error) = kicked {
            tracing::debug!(%error, "no kick behind the work of a queue");
        }
    }

    /// A cell's semaphore will have a value when a queue has done something. Returns false if the host has to
    /// tell: the list is full, or the queue is of another HSA implementation.
    fn promise(self: &Arc<Self>, cell: &Arc<Cell>, value: u64, point: &Point) -> Result<bool> {
        if !self.knows(point.core()) {
            return Ok(false);
        }
        let mut state = self.lock();
        let done = self.sweep(&mut state.list, false);
        let number = state.list.reserve();
        drop(state);
        self.let_go(done);
        let Some(number) = number else { return Ok(false) };
        let entry = self.passed(point).and_then(|condition| {
            let raise = Raise { at: cell.device_word(), value };
            let parts = Parts { conditions: &[condition], raises: &[raise], patches: &[], packets: &[] };
            self.write(number, point.core(), None, &parts, vec![cell.clone()])
        });
        if let Err(error) = entry {
            self.lock().list.give_up(number);
            return Err(error);
        }
        self.kick_behind(point.core());
        Ok(true)
    }

    /// A signal with the value 1.
    fn end_signal(&self) -> Result<hsa_signal_t> {
        match self.lock().signals.pop() {
            Some(signal) => {
                self.calls.signal_store(signal, 1);
                Ok(signal)
            }
            None => self.calls.signal_create(1),
        }
    }

    /// Takes an entry from the device. Returns false if the device has taken it, or is done.
    fn withdraw(&self, entry: &Entry) -> bool {
        let has_stopped = self.control.failure().is_some();
        self.lock().list.withdraw(entry.number, has_stopped)
    }

    /// The device is closed: nothing new comes, and the scheduler ends when the last work has.
    pub(crate) fn close(self: &Arc<Self>) {
        let mut state = self.lock();
        state.list.close();
        let working: Vec<Arc<Entry>> =
            state.list.entries().filter(|entry| entry.work.is_some()).cloned().collect();
        drop(state);
        for entry in working {
            let (scheduler, held) = (self.clone(), entry.clone());
            let ended = move || events::run(Box::new(move || scheduler.finish(&held)));
            if let Err(error) = entry.when_ended(ended) {
                tracing::error!(%error, "a scheduler stays for ever");
            }
        }
        self.end_if_idle();
    }

    /// Lets go of work that has ended, of a closed device.
    fn finish(&self, entry: &Arc<Entry>) {
        // The device looks at it soon: its last packet has kicked, or whoever failed it.
        while self.lock().list.has(entry.number) && self.control.failure().is_none() {
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        self.trim();
        self.end_if_idle();
    }

    /// Stops the kernel of a closed device that has no more work.
    fn end_if_idle(&self) {
        let mut state = self.lock();
        if state.list.is_reserved() || state.list.entries().any(|entry| entry.work.is_some()) {
            return;
        }
        let promises = state.list.clear();
        drop(state);
        self.calls.inactivate(self.control.raw());
        // The kernel, which is gone, may have read them until now.
        drop(promises);
    }
}

impl Dependant for Scheduler {
    fn queue_failed(self: Arc<Self>, error: &Error) {
        let entries: Vec<Arc<Entry>> = self.lock().list.entries().cloned().collect();
        for entry in entries {
            if self.lock().list.is_issuing(entry.number) {
                // Perhaps with slots that nobody writes any more.
                entry.core.fail(error.clone());
            }
            entry.cancel(error);
            events::let_go(entry);
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        for signal in std::mem::take(&mut self.lock().signals) {
            // SAFETY: the work that used it has ended, and with it everything that waited.
            unsafe { self.calls.signal_destroy(signal) };
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            self.scheduler.lock().signals.push(work.end);
        }
    }
}

/// Where a signal's value is.
fn value_pointer(calls: Calls, signal: hsa_signal_t) -> Result<u64> {
    let mut pointer = std::ptr::null_mut();
    // SAFETY: the signal is live, and the out pointer is valid.
    let status = unsafe { (calls.table.hsa_amd_signal_value_pointer)(signal, &mut pointer) };
    if hsa::raw::is_success(status) {
        return Ok(pointer as u64);
    }
    Err(Error::Status { operation: "hsa_amd_signal_value_pointer", status })
}
