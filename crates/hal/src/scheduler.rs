//! Scheduling on the device: work that waits for what nobody has promised yet is put into a list in memory, and
//! a kernel issues it when its semaphores have the values.
//!
//! Each GPU has a control queue. A run of the kernel `hal_schedule` looks at the list, copies the packets of what
//! is ready into their queues, and rings their doorbells; then it puts two packets into the control queue: one
//! that waits until the signal `kicks` has changed, and the next run. The host changes that signal, and so does
//! the last packet of all that is scheduled. The device reads semaphores in [`Cell`]s.
//!
//! Work that is scheduled has a signal of its own for its end, so a queue's fences are those of the host's
//! submissions. Packets in queues only ever wait for what was put into queues before them, scheduled work for
//! nothing at all, so that queues move on whatever the list has.

mod cell;
mod entry;
mod layout;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use hsa::raw::{Dispatch, ProgressSignal, completing_packet};
use hsa::raw::{NO_SIGNAL, Packet, SCOPE_NONE, SCOPE_SYSTEM, barrier_less_packet, barrier_packet};
use hsa_sys::hsa_signal_t;

pub(crate) use self::cell::{Cell, Scheduled};
pub(crate) use self::entry::Entry;
use self::entry::Work;
use self::layout::{Condition, Content, Control, Patch, Raise, Ring, Slot};
use crate::block::Submission;
use crate::context::Context;
use crate::core::{Core, Kept, Point};
use crate::error::{Calls, Codes, Error, Result};
use crate::events;
use crate::executable::Executable;
use crate::memory::pool::{Piece, Pool};
use crate::semaphore::{NeedOnDevice, Semaphore, When};

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

/// Something that ends when a queue fails.
pub(crate) trait Dependant: Send + Sync {
    /// The queue has failed.
    fn queue_failed(self: Arc<Self>, error: &Error);
}

/// What ends when a queue fails.
#[derive(Default)]
pub(crate) struct Dependants {
    list: Mutex<Vec<Weak<dyn Dependant>>>,
}

impl Dependants {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn Dependant>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, dependant: Weak<dyn Dependant>) {
        let mut list = self.lock();
        if list.len() == list.capacity() {
            list.retain(|known| known.strong_count() != 0);
        }
        list.push(dependant);
    }

    /// The queue has failed. This may be HSA's own thread.
    pub(crate) fn fail(&self, error: &Error) {
        let list = std::mem::take(&mut *self.lock());
        for dependant in list.iter().filter_map(Weak::upgrade) {
            dependant.clone().queue_failed(error);
            events::let_go(dependant);
        }
    }
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
    /// The list, its [`Control`] first.
    memory: Piece,
    capacity: u64,
    list: Mutex<List>,
    scheduled: AtomicU64,
    kept: AtomicU64,
    _library: Executable,
}

struct List {
    head: u64,
    /// Those from `head` on.
    places: VecDeque<Place>,
    /// The queues, in the order of their rings.
    queues: Vec<Arc<Core>>,
    /// Signals of work that has ended.
    signals: Vec<hsa_signal_t>,
    /// The device is closed: nothing new comes.
    is_closing: bool,
}

enum Place {
    /// Somebody is writing it.
    Reserved,
    Taken(Arc<Entry>),
    Gone,
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
    address as *mut T
}

impl Scheduler {
    /// The scheduler of a GPU, with a list of `capacity` entries.
    ///
    /// # Errors
    /// There is no device library, GPU and host have no atomic operations on each other's memory, kernels cannot
    /// ring doorbells, or HSA's error.
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
        let slots = (size_of::<Control>() as u64).next_multiple_of(64);
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
        let scheduler = Arc::new(Self {
            calls,
            pool,
            kicks,
            memory,
            capacity,
            list: Mutex::new(List {
                head: 0,
                places: VecDeque::new(),
                queues: Vec::new(),
                signals: Vec::new(),
                is_closing: false,
            }),
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

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it has done.
    pub(crate) fn counts(&self) -> Scheduling {
        Scheduling {
            scheduled: self.scheduled.load(Ordering::Relaxed),
            kept: self.kept.load(Ordering::Relaxed),
        }
    }

    fn slot(&self, number: u64) -> u64 {
        let slots = (size_of::<Control>() as u64).next_multiple_of(64);
        self.memory.address + slots + number % self.capacity * size_of::<Slot>() as u64
    }

    fn state(&self, number: u64) -> &AtomicU32 {
        // SAFETY: the slot begins with its state, every access to which is atomic.
        unsafe { AtomicU32::from_ptr(at(self.slot(number))) }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is that of a field of 8 bytes, every access to which is atomic from now on.
        unsafe { AtomicU64::from_ptr(at(self.memory.address + offset as u64)) }
    }

    /// Takes the next place of the list, unless it is full.
    fn reserve(&self, list: &mut List) -> Option<u64> {
        let number = list.head + list.places.len() as u64;
        if list.places.len() as u64 == self.capacity || list.is_closing {
            return None;
        }
        // The slot is free, so the device passes over it.
        list.places.push_back(Place::Reserved);
        self.word(std::mem::offset_of!(Control, tail)).store(number + 1, Ordering::Release);
        Some(number)
    }

    /// Takes entries out of the list that the device is done with: from its beginning, or all.
    fn sweep(&self, list: &mut List, all: bool) -> Vec<Arc<Entry>> {
        let mut done = Vec::new();
        let mut is_front = true;
        let has_stopped = self.control.failure().is_some();
        for (index, place) in list.places.iter_mut().enumerate() {
            let number = list.head + index as u64;
            if let Place::Taken(entry) = place
                && (self.state(number).load(Ordering::Acquire) == layout::FREE
                    || has_stopped && !matches!(entry.state(), crate::core::PointState::Pending))
                && let Place::Taken(entry) = std::mem::replace(place, Place::Gone)
            {
                done.push(entry);
            }
            is_front &= matches!(place, Place::Gone);
            if !is_front && !all {
                break;
            }
        }
        while let Some(Place::Gone) = list.places.front() {
            list.places.pop_front();
            list.head += 1;
        }
        self.word(std::mem::offset_of!(Control, head)).store(list.head, Ordering::Release);
        done
    }

    /// Lets go of what the device is done with.
    pub(crate) fn trim(&self) {
        let done = self.sweep(&mut self.lock(), true);
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
        let mut list = self.lock();
        let rings =
            (size_of::<Control>() as u64).next_multiple_of(64) + self.capacity * size_of::<Slot>() as u64;
        let address = |index: usize| self.memory.address + rings + (index * size_of::<Ring>()) as u64;
        if let Some(index) = list.queues.iter().position(|known| Arc::ptr_eq(known, core)) {
            return Ok((index as u32, address(index)));
        }
        // SAFETY: the queue is live.
        let ring = unsafe { Ring::of(core.raw()) }?;
        let index = list.queues.len();
        // SAFETY: a GPU has at most so many queues, and no entry refers to this place yet.
        unsafe { at::<Ring>(address(index)).write(ring) };
        list.queues.push(core.clone());
        // The kick behind an entry may come when the scheduler is gone.
        core.keep(Box::new(self.kicks.clone()));
        Ok((index as u32, address(index)))
    }

    /// Puts work for a queue into the list. `packets` is how many there are; `prepare` makes them. Returns false
    /// if the host has to keep it.
    ///
    /// # Errors
    /// A semaphore that it waits for has failed, one that it signals is beyond the value, a queue has stopped, or
    /// there is no memory.
    ///
    /// # Safety
    /// Everything that the packets name is valid as long as what `prepare` returns with them is kept.
    pub(crate) unsafe fn schedule(
        self: &Arc<Self>,
        core: &Arc<Core>,
        waits: &[(Semaphore, u64)],
        signals: &[(Semaphore, u64)],
        packets: usize,
        prepare: impl FnOnce(&Finish<'_>) -> Result<(Packets, Kept)>,
    ) -> Result<bool> {
        if let Some(error) = self.control.failure().or_else(|| core.failure()) {
            return Err(error);
        }
        // One for the end, if the last kernel does not say it, and one for the kick.
        let fits = packets as u64 + 2 <= core.capacity;
        let mut list = self.lock();
        let all =
            list.places.len() as u64 > MANY && (list.head + list.places.len() as u64).is_multiple_of(MANY);
        let done = self.sweep(&mut list, all);
        let number = if fits { self.reserve(&mut list) } else { None };
        drop(list);
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
                self.give_up(number);
                Err(error)
            }
        }
    }

    fn give_up(&self, number: u64) {
        let mut list = self.lock();
        let index = (number - list.head) as usize;
        list.places[index] = Place::Gone;
    }

    fn fill(
        self: &Arc<Self>,
        number: u64,
        core: &Arc<Core>,
        waits: &[(Semaphore, u64)],
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
                _waits: waits.iter().map(|(semaphore, _)| semaphore.clone()).collect(),
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
        // SAFETY: the piece has room for all, one behind the other, and nothing else uses it; its beginning is
        // aligned for packets, whose size is a multiple of what the others need.
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
        let mut list = self.lock();
        // SAFETY: the slot is this entry's, and the device does not read it as long as it is free.
        unsafe { at::<Content>(self.slot(number) + 4).write(content) };
        let index = (number - list.head) as usize;
        list.places[index] = Place::Taken(entry.clone());
        self.state(number).store(layout::WAITING, Ordering::Release);
        drop(list);
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
    fn watch(entry: &Arc<Entry>, waits: &[(Semaphore, u64)]) {
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

    /// A cell's semaphore will have a value when a queue has done something. Returns false if the list is full.
    fn promise(self: &Arc<Self>, cell: &Arc<Cell>, value: u64, point: &Point) -> Result<bool> {
        let mut list = self.lock();
        let done = self.sweep(&mut list, false);
        let number = self.reserve(&mut list);
        drop(list);
        self.let_go(done);
        let Some(number) = number else { return Ok(false) };
        let entry = self.passed(point).and_then(|condition| {
            let raise = Raise { at: cell.device_word(), value };
            let parts = Parts { conditions: &[condition], raises: &[raise], patches: &[], packets: &[] };
            self.write(number, point.core(), None, &parts, vec![cell.clone()])
        });
        if let Err(error) = entry {
            self.give_up(number);
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
    fn withdraw(&self, entry: &Arc<Entry>) -> bool {
        let list = self.lock();
        let index = entry.number.wrapping_sub(list.head);
        let place = usize::try_from(index).ok().and_then(|index| list.places.get(index));
        let is_there = matches!(place, Some(Place::Taken(known)) if Arc::ptr_eq(known, entry));
        let state = self.state(entry.number);
        let take = |from| {
            state.compare_exchange(from, layout::CANCELLED, Ordering::AcqRel, Ordering::Acquire).is_ok()
        };
        // What the kernel has taken stays there if it has stopped.
        is_there && (take(layout::WAITING) || self.control.failure().is_some() && take(layout::READY))
    }

    /// The device is closed: nothing new comes, and the scheduler ends when the last work has.
    pub(crate) fn close(self: &Arc<Self>) {
        let mut list = self.lock();
        list.is_closing = true;
        let is_taken = |place: &Place| match place {
            Place::Taken(entry) if entry.work.is_some() => Some(entry.clone()),
            _ => None,
        };
        let working: Vec<Arc<Entry>> = list.places.iter().filter_map(is_taken).collect();
        drop(list);
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
        while self.state_of(entry) && self.control.failure().is_none() {
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        self.trim();
        self.end_if_idle();
    }

    /// Whether the device still has an entry.
    fn state_of(&self, entry: &Arc<Entry>) -> bool {
        let list = self.lock();
        let index = entry.number.wrapping_sub(list.head);
        let place = usize::try_from(index).ok().and_then(|index| list.places.get(index));
        matches!(place, Some(Place::Taken(known)) if Arc::ptr_eq(known, entry))
            && self.state(entry.number).load(Ordering::Acquire) != layout::FREE
    }

    /// Stops the kernel of a closed device that has no more work.
    fn end_if_idle(&self) {
        let is_work = |place: &Place| match place {
            Place::Taken(entry) => entry.work.is_some(),
            Place::Reserved => true,
            Place::Gone => false,
        };
        let mut list = self.lock();
        if list.places.iter().any(is_work) {
            return;
        }
        let promises = std::mem::take(&mut list.places);
        drop(list);
        self.calls.inactivate(self.control.raw());
        // The kernel, which is gone, may have read them until now.
        drop(promises);
    }
}

impl Dependant for Scheduler {
    fn queue_failed(self: Arc<Self>, error: &Error) {
        let list = self.lock();
        let taken = |place: &Place| match place {
            Place::Taken(entry) => Some(entry.clone()),
            _ => None,
        };
        let entries: Vec<Arc<Entry>> = list.places.iter().filter_map(taken).collect();
        drop(list);
        for entry in entries {
            if self.state(entry.number).load(Ordering::Acquire) == layout::ISSUING {
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
