//! Signals: real `amd_signal_t` structs in memory that kernels can access, with their operations and waits.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use hsa_sys::*;

use super::event::{Event, POLL, lock};
use super::pool::status_of;
use super::timeline::Arrows;
use super::waiters::{self, Waits};
use super::{S, Status, call, handler, machine, write};
use crate::machine::{MemoryKind, map_fixed, memory_file, on_interrupt};

/// The maximum number of signals of each sort. Their address space is reserved when the first one is made.
const CAPACITY: u64 = 1 << 20;
const SIZE: u64 = size_of::<amd_signal_t>() as u64;

/// The maximum number of signals that are shared with other processes. Each occupies a page.
const SHARED_CAPACITY: u64 = 1 << 14;
const PAGE: u64 = 4096;

/// Ordinary HSA signals, which kernels can change.
static OPEN: Slab = Slab::new(MemoryKind::Host, SIZE, &OPEN_KINDS);
static OPEN_KINDS: [AtomicU8; CAPACITY as usize] = [const { AtomicU8::new(0) }; CAPACITY as usize];
/// Signals that kernels can only read.
static GUARDED: Slab = Slab::new(MemoryKind::Guarded, SIZE, &GUARDED_KINDS);
static GUARDED_KINDS: [AtomicU8; CAPACITY as usize] = [const { AtomicU8::new(0) }; CAPACITY as usize];
/// Signals shared with other processes. A change in another process sends no notification here, so waiters
/// poll.
static SHARED: Slab = Slab::new(MemoryKind::Host, PAGE, &SHARED_KINDS);
static SHARED_KINDS: [AtomicU8; SHARED_CAPACITY as usize] =
    [const { AtomicU8::new(0) }; SHARED_CAPACITY as usize];
/// The memory of shared signals, by address.
static FILES: LazyLock<Mutex<HashMap<u64, Arc<File>>>> = LazyLock::new(Mutex::default);

struct Slots {
    used: u64,
    free: Vec<u64>,
}

/// The memory of all signals of a sort.
struct Slab {
    memory: MemoryKind,
    /// The distance between slots.
    stride: u64,
    /// Its start address; 0 before the first signal.
    base: AtomicU64,
    slots: Mutex<Slots>,
    /// The [`Kind`] of each slot. Kernels can overwrite the kind field in memory.
    kinds: &'static [AtomicU8],
}

/// The contents of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Kind {
    /// The initial state of slots.
    Nothing = 0,
    User,
    Doorbell,
}

impl Slab {
    const fn new(memory: MemoryKind, stride: u64, kinds: &'static [AtomicU8]) -> Slab {
        Slab {
            memory,
            stride,
            base: AtomicU64::new(0),
            slots: Mutex::new(Slots { used: 0, free: Vec::new() }),
            kinds,
        }
    }

    const fn capacity(&self) -> u64 {
        self.kinds.len() as u64
    }

    /// Takes a free slot and fills it with zeros.
    fn take(&self) -> Result<Signal, S> {
        let mut slots = lock(&self.slots);
        let mut base = self.base.load(Ordering::Acquire);
        if base == 0 {
            base = machine()
                .memory()
                .allocate(self.capacity() * self.stride, PAGE, self.memory, None)
                .map_err(|_| S::HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
            self.base.store(base, Ordering::Release);
            // The first slot is the mailbox, not a signal.
            slots.used = 1;
            on_interrupt(interrupted);
        }
        let address = match slots.free.pop() {
            Some(address) => address,
            None if slots.used == self.capacity() => return Err(S::HSA_STATUS_ERROR_OUT_OF_RESOURCES),
            None => {
                slots.used += 1;
                base + (slots.used - 1) * self.stride
            }
        };
        let signal = Signal(address);
        // SAFETY: the slot is in the signals' memory and was free, so nobody else uses it.
        unsafe { signal.raw().write(std::mem::zeroed()) };
        Ok(signal)
    }

    /// Where the kind of a signal of this slab is stored; none if the address is not a slot.
    fn kind(&self, address: u64) -> Option<&AtomicU8> {
        let base = self.base.load(Ordering::Acquire);
        let offset = address.checked_sub(base)?;
        if base == 0 || offset == 0 || !offset.is_multiple_of(self.stride) {
            return None;
        }
        self.kinds.get((offset / self.stride) as usize)
    }
}

/// The doorbells of doorbell signals. Kernels can overwrite the signals' memory, so the host does not use the
/// pointer in it, which leads to the word that kernels ring.
static DOORBELLS: LazyLock<RwLock<HashMap<u64, &'static Doorbell>>> = LazyLock::new(RwLock::default);

/// What the host does to a queue's doorbell signal: the last index that was rung, and the event to notify.
#[derive(Default)]
pub(super) struct Doorbell {
    pub(super) index: AtomicU64,
    pub(super) event: Event,
    pub(super) arrows: Arrows,
}

/// A signal that exists or existed: its memory is never released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Signal(u64);

impl Signal {
    /// Makes a signal that anyone may wait for.
    pub(super) fn new(value: i64) -> Result<Signal, S> {
        let signal = OPEN.take()?;
        signal.value().store(value, Ordering::Relaxed);
        signal.set_mailbox();
        signal.set_kind(Kind::User);
        Ok(signal)
    }

    /// Makes a signal that only the host and packets change.
    fn guarded(value: i64) -> Result<Signal, S> {
        let signal = GUARDED.take()?;
        signal.value().store(value, Ordering::Relaxed);
        signal.set_kind(Kind::User);
        Ok(signal)
    }

    /// Makes a signal that other processes can attach.
    fn shared(value: i64) -> Result<Signal, S> {
        let file = memory_file(c"vgpu-signal", PAGE).map_err(|error| status_of(&error))?;
        let signal = Signal::attach(file)?;
        signal.value().store(value, Ordering::Relaxed);
        signal.set_kind(Kind::User);
        Ok(signal)
    }

    /// Makes a signal from another process's file, whose single page is the signal's memory.
    pub(super) fn attach(file: File) -> Result<Signal, S> {
        let signal = SHARED.take()?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the page belongs to the slot, which was free, and it stays mapped throughout.
        let mapped = unsafe { map_fixed(signal.0, PAGE, protection, Some((&file, 0))) };
        if let Err(error) = mapped {
            lock(&SHARED.slots).free.push(signal.0);
            return Err(status_of(&error));
        }
        lock(&FILES).insert(signal.0, Arc::new(file));
        if let Some((_, place)) = signal.place() {
            place.store(Kind::User as u8, Ordering::Release);
        }
        Ok(signal)
    }

    /// The memory of a signal that other processes can attach.
    pub(super) fn file(self) -> Option<Arc<File>> {
        lock(&FILES).get(&self.0).cloned()
    }

    /// Makes kernels send an interrupt when they change the value, so that waiters need not poll. They store
    /// the event's number in the mailbox, which nobody reads, and send it.
    fn set_mailbox(self) {
        // SAFETY: only the fields' addresses are formed.
        let (mailbox, event) =
            unsafe { (&raw mut (*self.raw()).event_mailbox_ptr, &raw mut (*self.raw()).event_id) };
        self.word(mailbox).store(OPEN.base.load(Ordering::Acquire) as i64, Ordering::Relaxed);
        // SAFETY: the slot is in the signals' memory, and nobody else knows the signal yet.
        unsafe { event.write(self.bucket() as u32) };
    }

    /// Makes the doorbell signal of a queue. `rung` is the address of the word to which kernels store
    /// instead.
    pub(super) fn doorbell(doorbell: &'static Doorbell, rung: u64) -> Result<Signal, S> {
        let signal = OPEN.take()?;
        signal.value().store(rung as i64, Ordering::Relaxed);
        DOORBELLS.write().unwrap_or_else(PoisonError::into_inner).insert(signal.0, doorbell);
        signal.set_kind(Kind::Doorbell);
        Ok(signal)
    }

    /// The signal with this handle, if it exists.
    pub(super) fn from_handle(handle: hsa_signal_t) -> Option<Signal> {
        let signal = Signal(handle.handle);
        (signal.kind() != Kind::Nothing).then_some(signal)
    }

    /// The signal with this handle; the error names an invalid handle.
    pub(super) fn required(handle: hsa_signal_t) -> Result<Signal, S> {
        Signal::from_handle(handle).ok_or(S::HSA_STATUS_ERROR_INVALID_SIGNAL)
    }

    /// `None` for the null handle, which packets and copies may carry.
    pub(super) fn optional(handle: hsa_signal_t) -> Result<Option<Signal>, S> {
        if handle.handle == 0 { Ok(None) } else { Signal::required(handle).map(Some) }
    }

    pub(super) fn handle(self) -> hsa_signal_t {
        hsa_signal_t { handle: self.0 }
    }

    /// Destroys the signal; its memory will be reused.
    pub(super) fn destroy(self) {
        if self.as_doorbell().is_some() {
            DOORBELLS.write().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
        }
        handler::forget(self);
        let Some((slab, place)) = self.place() else { return };
        let mut unmapped = Ok(());
        if lock(&FILES).remove(&self.0).is_some() {
            // Other processes still have it, so only this process's page is replaced, by a private one.
            place.store(Kind::Nothing as u8, Ordering::Release);
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the page belongs to the slot, and stays mapped for late readers.
            unmapped = unsafe { map_fixed(self.0, PAGE, protection, None) };
        } else {
            self.set_kind(Kind::Nothing);
        }
        match unmapped {
            Ok(()) => lock(&slab.slots).free.push(self.0),
            Err(error) => tracing::error!(%error, "cannot replace the page of a shared signal"),
        }
        self.changed();
    }

    fn raw(self) -> *mut amd_signal_t {
        self.0 as *mut amd_signal_t
    }

    fn word<T>(self, field: *mut T) -> &'static AtomicI64 {
        const { assert!(size_of::<T>() == 8) };
        // SAFETY: the field is 8 aligned bytes of the signals' memory, which is never unmapped, and every
        // access by the host is atomic.
        unsafe { AtomicI64::from_ptr(field.cast()) }
    }

    /// The slab that contains it, and where its kind is stored.
    fn place(self) -> Option<(&'static Slab, &'static AtomicU8)> {
        [&OPEN, &GUARDED, &SHARED].into_iter().find_map(|slab| Some((slab, slab.kind(self.0)?)))
    }

    fn kind(self) -> Kind {
        match self.place().map(|(_, kind)| kind.load(Ordering::Acquire)) {
            Some(kind) if kind == Kind::User as u8 => Kind::User,
            Some(kind) if kind == Kind::Doorbell as u8 => Kind::Doorbell,
            _ => Kind::Nothing,
        }
    }

    /// Sets its kind: for the host, and in memory for device libraries.
    fn set_kind(self, kind: Kind) {
        let in_memory = match kind {
            Kind::Nothing => amd_signal_kind_t::AMD_SIGNAL_KIND_INVALID,
            Kind::User => amd_signal_kind_t::AMD_SIGNAL_KIND_USER,
            Kind::Doorbell => amd_signal_kind_t::AMD_SIGNAL_KIND_DOORBELL,
        };
        // SAFETY: only the field's address is formed.
        let field = unsafe { &raw mut (*self.raw()).kind };
        self.word(field).store(i64::from(in_memory.0), Ordering::Release);
        if let Some((_, place)) = self.place() {
            place.store(kind as u8, Ordering::Release);
        }
    }

    /// The word with the value, or for a doorbell, the word with the pointer to it.
    fn value(self) -> &'static AtomicI64 {
        // SAFETY: only the field's address is formed.
        let field = unsafe { &raw mut (*self.raw()).__bindgen_anon_1 };
        self.word(field)
    }

    fn as_doorbell(self) -> Option<&'static Doorbell> {
        if self.kind() != Kind::Doorbell {
            return None;
        }
        DOORBELLS.read().unwrap_or_else(PoisonError::into_inner).get(&self.0).copied()
    }

    pub(super) fn load(self) -> i64 {
        match self.as_doorbell() {
            Some(doorbell) => doorbell.index.load(Ordering::Acquire) as i64,
            None => self.value().load(Ordering::SeqCst),
        }
    }

    pub(super) fn store(self, value: i64) {
        match self.as_doorbell() {
            Some(doorbell) => doorbell.arrows.ring(value as u64, || {
                doorbell.index.store(value as u64, Ordering::SeqCst);
                doorbell.event.notify();
            }),
            None => {
                self.value().store(value, Ordering::SeqCst);
                self.changed();
            }
        }
    }

    /// Changes the value; doorbells only accept stores.
    fn update(self, change: impl FnOnce(&AtomicI64) -> i64) -> i64 {
        if self.as_doorbell().is_some() {
            return 0;
        }
        let old = change(self.value());
        self.changed();
        old
    }

    /// Updates the completion signal of a packet or copy that has ended.
    pub(super) fn complete(self, start: u64, end: u64) {
        // SAFETY: only the fields' addresses are formed.
        let (first, last) = unsafe { (&raw mut (*self.raw()).start_ts, &raw mut (*self.raw()).end_ts) };
        self.word(first).store(start as i64, Ordering::Relaxed);
        self.word(last).store(end as i64, Ordering::Relaxed);
        self.update(|value| value.fetch_sub(1, Ordering::SeqCst));
    }

    /// Marks a copy as failed.
    pub(super) fn fail(self) {
        self.update(|value| value.swap(-1, Ordering::SeqCst));
    }

    /// The start and end times of the last operation that completed with this signal.
    pub(super) fn times(self) -> (u64, u64) {
        // SAFETY: only the fields' addresses are formed.
        let (first, last) = unsafe { (&raw mut (*self.raw()).start_ts, &raw mut (*self.raw()).end_ts) };
        (self.word(first).load(Ordering::Relaxed) as u64, self.word(last).load(Ordering::Relaxed) as u64)
    }

    fn bucket(self) -> usize {
        (self.0 / SIZE) as usize % waiters::BUCKETS
    }

    fn changed(self) {
        waiters::changed(self.bucket());
    }

    /// Waits until the value meets the condition or the deadline passes; returns the last value seen.
    pub(super) fn wait(self, condition: Condition, deadline: Option<Instant>) -> i64 {
        let mut seen = self.load();
        if condition.holds(seen) {
            return seen;
        }
        // Most waits are for work that is nearly done, and going to sleep would cost more.
        for _ in 0..200 {
            std::hint::spin_loop();
            seen = self.load();
            if condition.holds(seen) {
                return seen;
            }
        }
        let _span = timeline::Span::enter("wait", "wait for a signal");
        let waits = Waits::Value(self, condition);
        waiters::wait_until([self.bucket()], waits, deadline, POLL, || {
            seen = self.load();
            condition.holds(seen)
        });
        seen
    }
}

/// A kernel has changed a signal of this bucket.
fn interrupted(event: u32) {
    waiters::changed(event as usize);
}

/// Waits until `ready` returns true (the result is true) or the deadline passes (false). It is called again
/// whenever one of the signals may have changed, or something else of which [`waiters::notify`] tells.
pub(super) fn wait_for_signals(
    signals: impl IntoIterator<Item = Signal>,
    deadline: Option<Instant>,
    ready: impl FnMut() -> bool,
) -> bool {
    let buckets = signals.into_iter().map(Signal::bucket);
    waiters::wait_until(buckets, Waits::SignalsAndEvents, deadline, POLL, ready)
}

/// Like [`wait_for_signals`], for a service thread that may have nothing to wait for.
pub(super) fn wait_as_service(waits: Waits, signals: &[Signal], ready: impl FnMut() -> bool) {
    let poll = if signals.is_empty() { POLL * 1000 } else { POLL };
    waiters::wait_until(signals.iter().map(|signal| signal.bucket()), waits, None, poll, ready);
}

/// A comparison with a fixed value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    comparison: Comparison,
    value: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtLeast,
}

impl Condition {
    pub(super) fn new(condition: hsa_signal_condition_t, value: i64) -> Option<Condition> {
        let comparison = match condition {
            hsa_signal_condition_t::HSA_SIGNAL_CONDITION_EQ => Comparison::Equal,
            hsa_signal_condition_t::HSA_SIGNAL_CONDITION_NE => Comparison::NotEqual,
            hsa_signal_condition_t::HSA_SIGNAL_CONDITION_LT => Comparison::Less,
            hsa_signal_condition_t::HSA_SIGNAL_CONDITION_GTE => Comparison::AtLeast,
            _ => return None,
        };
        Some(Condition { comparison, value })
    }

    pub(super) fn holds(self, value: i64) -> bool {
        match self.comparison {
            Comparison::Equal => value == self.value,
            Comparison::NotEqual => value != self.value,
            Comparison::Less => value < self.value,
            Comparison::AtLeast => value >= self.value,
        }
    }
}

/// When a timeout in ticks (nanoseconds) ends; `None` if never.
fn deadline(timeout: u64) -> Option<Instant> {
    if timeout == u64::MAX { None } else { Instant::now().checked_add(Duration::from_nanos(timeout)) }
}

unsafe extern "C" fn create(
    value: i64,
    num_consumers: u32,
    consumers: *const hsa_agent_t,
    signal: *mut hsa_signal_t,
) -> S {
    // SAFETY: as this function's contract.
    unsafe { amd_create(value, num_consumers, consumers, 0, signal) }
}

unsafe extern "C" fn amd_create(
    value: i64,
    num_consumers: u32,
    consumers: *const hsa_agent_t,
    attributes: u64,
    signal: *mut hsa_signal_t,
) -> S {
    call(|| {
        if signal.is_null() || (num_consumers > 0 && consumers.is_null()) {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let mut seen = HashSet::new();
        for index in 0..num_consumers as usize {
            // SAFETY: the caller's list has that many agents.
            let consumer = unsafe { consumers.add(index).read_unaligned() };
            super::agent::Agent::from_handle(consumer)?;
            if !seen.insert(consumer.handle) {
                return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
            }
        }
        let shared = attributes & u64::from(hsa_amd_signal_attribute_t::HSA_AMD_SIGNAL_IPC.0) != 0;
        let made = if shared { Signal::shared(value)? } else { Signal::new(value)? };
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(signal, made.handle()) }
    })
}

/// Makes a signal that kernels cannot change; see [`Extensions::signal_create_guarded`].
pub(super) unsafe extern "C" fn create_guarded(value: i64, signal: *mut hsa_signal_t) -> S {
    call(|| {
        if signal.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let made = Signal::guarded(value)?;
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(signal, made.handle()) }
    })
}

unsafe extern "C" fn destroy(signal: hsa_signal_t) -> S {
    call(|| {
        if signal.handle == 0 {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let signal = Signal::required(signal)?;
        // A doorbell is destroyed with its queue.
        if signal.as_doorbell().is_some() {
            return Err(S::HSA_STATUS_ERROR_INVALID_SIGNAL);
        }
        signal.destroy();
        Ok(())
    })
}

unsafe extern "C" fn load(signal: hsa_signal_t) -> i64 {
    Signal::from_handle(signal).map_or(0, Signal::load)
}

unsafe extern "C" fn store(signal: hsa_signal_t, value: i64) {
    if let Some(signal) = Signal::from_handle(signal) {
        signal.store(value);
    }
}

unsafe extern "C" fn silent_store(signal: hsa_signal_t, value: i64) {
    if let Some(signal) = Signal::from_handle(signal)
        && signal.as_doorbell().is_none()
    {
        signal.value().store(value, Ordering::SeqCst);
    }
}

unsafe extern "C" fn exchange(signal: hsa_signal_t, value: i64) -> i64 {
    Signal::from_handle(signal).map_or(0, |signal| signal.update(|word| word.swap(value, Ordering::SeqCst)))
}

unsafe extern "C" fn cas(signal: hsa_signal_t, expected: i64, value: i64) -> i64 {
    Signal::from_handle(signal).map_or(0, |signal| {
        signal.update(|word| {
            word.compare_exchange(expected, value, Ordering::SeqCst, Ordering::SeqCst)
                .unwrap_or_else(|old| old)
        })
    })
}

/// An operation that changes the value and returns nothing.
macro_rules! operation {
    ($name:ident, $method:ident) => {
        unsafe extern "C" fn $name(signal: hsa_signal_t, value: i64) {
            if let Some(signal) = Signal::from_handle(signal) {
                signal.update(|word| word.$method(value, Ordering::SeqCst));
            }
        }
    };
}
operation!(add, fetch_add);
operation!(subtract, fetch_sub);
operation!(and, fetch_and);
operation!(or, fetch_or);
operation!(xor, fetch_xor);

unsafe extern "C" fn wait(
    signal: hsa_signal_t,
    condition: hsa_signal_condition_t,
    value: i64,
    timeout: u64,
    _hint: hsa_wait_state_t,
) -> i64 {
    let Some(signal) = Signal::from_handle(signal) else { return 0 };
    match Condition::new(condition, value) {
        Some(condition) => signal.wait(condition, deadline(timeout)),
        None => signal.load(),
    }
}

/// Signals and their conditions, from three parallel lists of the C interface.
///
/// # Safety
/// Each list that is not null has `count` entries.
unsafe fn read_lists(
    count: u32,
    signals: *const hsa_signal_t,
    conditions: *const hsa_signal_condition_t,
    values: *const i64,
) -> Option<Vec<(Option<Signal>, Condition)>> {
    // Nobody waits for more signals than can exist.
    let too_many = u64::from(count) > 2 * CAPACITY;
    if count == 0 || too_many || signals.is_null() || conditions.is_null() || values.is_null() {
        return None;
    }
    (0..count as usize)
        .map(|index| {
            // SAFETY: the caller's lists have `count` entries.
            let (signal, condition, value) = unsafe {
                (
                    signals.add(index).read_unaligned(),
                    conditions.add(index).read_unaligned(),
                    values.add(index).read_unaligned(),
                )
            };
            Some((Signal::optional(signal).ok()?, Condition::new(condition, value)?))
        })
        .collect()
}

unsafe extern "C" fn wait_for_any(
    count: u32,
    signals: *mut hsa_signal_t,
    conditions: *mut hsa_signal_condition_t,
    values: *mut i64,
    timeout: u64,
    _hint: hsa_wait_state_t,
    satisfying: *mut i64,
) -> u32 {
    // SAFETY: as this function's contract.
    let Some(list) = (unsafe { read_lists(count, signals, conditions, values) }) else { return u32::MAX };
    let mut found = None;
    let signals = list.iter().filter_map(|(signal, _)| *signal);
    wait_for_signals(signals, deadline(timeout), || {
        found = list.iter().enumerate().find_map(|(index, (signal, condition))| {
            let value = (*signal)?.load();
            condition.holds(value).then_some((index as u32, value))
        });
        found.is_some()
    });
    let Some((index, value)) = found else { return u32::MAX };
    if !satisfying.is_null() {
        // SAFETY: the caller's pointer is valid for a write.
        unsafe { satisfying.write_unaligned(value) };
    }
    index
}

unsafe extern "C" fn wait_for_all(
    count: u32,
    signals: *mut hsa_signal_t,
    conditions: *mut hsa_signal_condition_t,
    values: *mut i64,
    timeout: u64,
    _hint: hsa_wait_state_t,
    satisfying: *mut i64,
) -> u32 {
    // SAFETY: as this function's contract.
    let Some(list) = (unsafe { read_lists(count, signals, conditions, values) }) else { return u32::MAX };
    let mut seen = vec![0; list.len()];
    let signals = list.iter().filter_map(|(signal, _)| *signal);
    let reached = wait_for_signals(signals, deadline(timeout), || {
        list.iter().zip(&mut seen).all(|((signal, condition), seen)| match signal {
            Some(signal) => {
                *seen = signal.load();
                condition.holds(*seen)
            }
            None => true,
        })
    });
    if !reached {
        return u32::MAX;
    }
    if !satisfying.is_null() {
        for (index, value) in seen.into_iter().enumerate() {
            // SAFETY: the caller's list has `count` entries.
            unsafe { satisfying.add(index).write_unaligned(value) };
        }
    }
    0
}

unsafe extern "C" fn value_pointer(signal: hsa_signal_t, pointer: *mut *mut i64) -> S {
    call(|| {
        let signal = Signal::required(signal)?;
        if signal.as_doorbell().is_some() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's pointer is valid for a write if it is not null.
        unsafe { write(pointer, signal.value().as_ptr()) }
    })
}

/// The start and end times in a completion signal.
fn times(signal: hsa_signal_t) -> Result<(u64, u64), S> {
    let times = Signal::required(signal)?.times();
    if times.1 == 0 { Err(S::HSA_STATUS_ERROR) } else { Ok(times) }
}

unsafe extern "C" fn dispatch_time(
    agent: hsa_agent_t,
    signal: hsa_signal_t,
    time: *mut hsa_amd_profiling_dispatch_time_t,
) -> S {
    call(|| -> Status {
        super::agent::Agent::from_handle(agent)?.gpu()?;
        let (start, end) = times(signal)?;
        // SAFETY: the caller's pointer is valid for a write if it is not null.
        unsafe { write(time, hsa_amd_profiling_dispatch_time_t { start, end }) }
    })
}

unsafe extern "C" fn copy_time(signal: hsa_signal_t, time: *mut hsa_amd_profiling_async_copy_time_t) -> S {
    call(|| {
        let (start, end) = times(signal)?;
        // SAFETY: the caller's pointer is valid for a write if it is not null.
        unsafe { write(time, hsa_amd_profiling_async_copy_time_t { start, end }) }
    })
}

/// Uses one function for all names of an operation, which differ in the requested memory order. It has the
/// strongest order.
macro_rules! orders {
    ($builder:ident, $function:expr, $($name:ident)*) => {
        $($builder.$name($function);)*
    };
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_signal_create(create).hsa_amd_signal_create(amd_create).hsa_signal_destroy(destroy);
    builder.hsa_amd_signal_value_pointer(value_pointer);
    builder.hsa_amd_signal_wait_any(wait_for_any).hsa_amd_signal_wait_all(wait_for_all);
    builder
        .hsa_amd_profiling_get_dispatch_time(dispatch_time)
        .hsa_amd_profiling_get_async_copy_time(copy_time);
    orders!(builder, load, hsa_signal_load_relaxed hsa_signal_load_scacquire hsa_signal_load_acquire);
    orders!(builder, store, hsa_signal_store_relaxed hsa_signal_store_screlease hsa_signal_store_release);
    orders!(builder, silent_store, hsa_signal_silent_store_relaxed hsa_signal_silent_store_screlease);
    orders!(builder, wait, hsa_signal_wait_relaxed hsa_signal_wait_scacquire hsa_signal_wait_acquire);
    orders!(builder, exchange, hsa_signal_exchange_relaxed hsa_signal_exchange_scacquire hsa_signal_exchange_acquire
        hsa_signal_exchange_screlease hsa_signal_exchange_release hsa_signal_exchange_scacq_screl
        hsa_signal_exchange_acq_rel);
    orders!(builder, cas, hsa_signal_cas_relaxed hsa_signal_cas_scacquire hsa_signal_cas_acquire
        hsa_signal_cas_screlease hsa_signal_cas_release hsa_signal_cas_scacq_screl hsa_signal_cas_acq_rel);
    orders!(builder, add, hsa_signal_add_relaxed hsa_signal_add_scacquire hsa_signal_add_acquire
        hsa_signal_add_screlease hsa_signal_add_release hsa_signal_add_scacq_screl hsa_signal_add_acq_rel);
    orders!(builder, subtract, hsa_signal_subtract_relaxed hsa_signal_subtract_scacquire
        hsa_signal_subtract_acquire hsa_signal_subtract_screlease hsa_signal_subtract_release
        hsa_signal_subtract_scacq_screl hsa_signal_subtract_acq_rel);
    orders!(builder, and, hsa_signal_and_relaxed hsa_signal_and_scacquire hsa_signal_and_acquire
        hsa_signal_and_screlease hsa_signal_and_release hsa_signal_and_scacq_screl hsa_signal_and_acq_rel);
    orders!(builder, or, hsa_signal_or_relaxed hsa_signal_or_scacquire hsa_signal_or_acquire
        hsa_signal_or_screlease hsa_signal_or_release hsa_signal_or_scacq_screl hsa_signal_or_acq_rel);
    orders!(builder, xor, hsa_signal_xor_relaxed hsa_signal_xor_scacquire hsa_signal_xor_acquire
        hsa_signal_xor_screlease hsa_signal_xor_release hsa_signal_xor_scacq_screl hsa_signal_xor_acq_rel);
}
