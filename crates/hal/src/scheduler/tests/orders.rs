//! Every order of the accesses of host and device, by loom.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use loom::thread;

use super::super::layout::FREE;
use super::super::list::{List, Word as _, Words, raise, words};
use super::kernel::{Entries, run};

words! {
    AtomicU32: u32, Ordering;
    AtomicU64: u64, Ordering;
}

/// An entry waits for a value of the semaphore, and raises the device's word of it to another one.
#[derive(Clone, Copy)]
struct Content {
    wait: u64,
    signal: u64,
}

struct Memory<const SLOTS: usize> {
    states: [AtomicU32; SLOTS],
    head: AtomicU64,
    tail: AtomicU64,
    contents: [UnsafeCell<Content>; SLOTS],
    /// The semaphore: the host's word, and the device's.
    cell: [AtomicU64; 2],
    kicks: AtomicI64,
    /// How often entries were issued, by what they signal.
    issued: [AtomicU32; 4],
}

// SAFETY: loom checks all accesses.
unsafe impl<const SLOTS: usize> Send for Memory<SLOTS> {}
// SAFETY: as above.
unsafe impl<const SLOTS: usize> Sync for Memory<SLOTS> {}

impl<const SLOTS: usize> Memory<SLOTS> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            states: std::array::from_fn(|_| AtomicU32::new(FREE)),
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            contents: std::array::from_fn(|_| UnsafeCell::new(Content { wait: 0, signal: 0 })),
            cell: std::array::from_fn(|_| AtomicU64::new(0)),
            kicks: AtomicI64::new(0),
            issued: std::array::from_fn(|_| AtomicU32::new(0)),
        })
    }

    fn content(&self, slot: u64) -> Content {
        // SAFETY: loom checks that nobody writes it.
        self.contents[slot as usize].with(|content| unsafe { *content })
    }

    fn kick(&self) {
        self.kicks.fetch_sub(1, Ordering::Release);
    }

    /// The host raises the semaphore, with its lock held.
    fn host_raises(&self, value: u64) {
        raise(&self.cell[0], &self.cell[1], value, || self.kick());
    }

    /// A run, and the kicks that the next one begins behind.
    fn run(self: &Arc<Self>) -> i64 {
        let kicks = self.kicks.load(Ordering::Acquire);
        run(&self.clone());
        kicks
    }

    /// Runs as long as the packet in front of the next run lets it begin.
    fn finish(self: &Arc<Self>, mut kicks: i64) {
        while self.kicks.load(Ordering::Acquire) != kicks {
            kicks = self.run();
        }
    }

    fn issued(&self, signal: u64) -> u32 {
        self.issued[signal as usize].load(Ordering::Acquire)
    }
}

impl<const SLOTS: usize> Words for Arc<Memory<SLOTS>> {
    type State = AtomicU32;
    type Number = AtomicU64;

    fn state(&self, slot: u64) -> &AtomicU32 {
        &self.states[slot as usize]
    }

    fn head(&self) -> &AtomicU64 {
        &self.head
    }

    fn tail(&self) -> &AtomicU64 {
        &self.tail
    }
}

/// Work ends at once, and its end is a kick.
impl<const SLOTS: usize> Entries for Arc<Memory<SLOTS>> {
    fn capacity(&self) -> u64 {
        SLOTS as u64
    }

    fn is_ready(&self, slot: u64) -> bool {
        let wait = self.content(slot).wait;
        self.cell.iter().any(|word| word.get() >= wait)
    }

    fn raise(&self, slot: u64) {
        let value = self.content(slot).signal;
        if self.cell[1].get() < value {
            self.cell[1].set(value);
        }
    }

    fn issue(&self, slot: u64) {
        self.issued[self.content(slot).signal as usize].fetch_add(1, Ordering::AcqRel);
        self.kick();
    }

    fn end(&self, slot: u64) -> i64 {
        i64::from(self.issued(self.content(slot).signal) == 0)
    }
}

type Host<const SLOTS: usize> = Mutex<List<Arc<Memory<SLOTS>>, ()>>;

/// A list and its memory.
fn list<const SLOTS: usize>() -> (Arc<Memory<SLOTS>>, Arc<Host<SLOTS>>) {
    let memory = Memory::new();
    let list = Arc::new(Mutex::new(List::new(memory.clone(), SLOTS as u64)));
    (memory, list)
}

/// Puts an entry into the list. Returns its number, or `None` if the list is full.
fn add<const SLOTS: usize>(memory: &Memory<SLOTS>, list: &Host<SLOTS>, content: Content) -> Option<u64> {
    let number = list.lock().unwrap().reserve()?;
    // SAFETY: the slot is reserved; loom checks that nobody else uses it.
    memory.contents[number as usize % SLOTS].with_mut(|place| unsafe { *place = content });
    list.lock().unwrap().publish(number, ());
    memory.kick();
    Some(number)
}

/// Checks something in every order with at most so many preemptions.
fn in_every_order(preemptions: usize, check: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(check);
}

#[test]
fn an_entry_is_issued_or_withdrawn() {
    in_every_order(3, || {
        let (memory, list) = list::<1>();
        let number = add(&memory, &list, Content { wait: 0, signal: 1 }).unwrap();
        let device = thread::spawn({
            let memory = memory.clone();
            move || memory.run()
        });
        let is_withdrawn = list.lock().unwrap().withdraw(number, false);
        if is_withdrawn {
            memory.kick();
        }
        memory.finish(device.join().unwrap());
        assert_eq!(memory.issued(1) + u32::from(is_withdrawn), 1);
        assert_eq!(memory.cell[1].get(), u64::from(!is_withdrawn));
        assert_eq!(list.lock().unwrap().sweep(true, |()| false).len(), 1);
        assert_eq!(list.lock().unwrap().len(), 0);
    });
}

#[test]
fn a_slot_is_written_again_when_the_device_is_done_with_it() {
    in_every_order(3, || {
        let (memory, list) = list::<1>();
        add(&memory, &list, Content { wait: 0, signal: 1 }).unwrap();
        let device = thread::spawn({
            let memory = memory.clone();
            move || {
                memory.run();
                memory.run()
            }
        });
        list.lock().unwrap().sweep(false, |()| false);
        let second = add(&memory, &list, Content { wait: 0, signal: 2 });
        memory.finish(device.join().unwrap());
        assert_eq!((memory.issued(1), memory.issued(2)), (1, u32::from(second.is_some())));
    });
}

#[test]
fn a_value_from_the_host_is_seen_by_an_entry_that_comes_at_the_same_time() {
    in_every_order(2, || {
        let (memory, list) = list::<1>();
        let host = thread::spawn({
            let memory = memory.clone();
            move || memory.host_raises(1)
        });
        let device = thread::spawn({
            let memory = memory.clone();
            move || memory.run()
        });
        add(&memory, &list, Content { wait: 1, signal: 2 }).unwrap();
        host.join().unwrap();
        memory.finish(device.join().unwrap());
        assert_eq!(memory.issued(2), 1);
    });
}

#[test]
fn a_value_that_host_and_device_have_at_the_same_time_is_seen() {
    in_every_order(3, || {
        let (memory, list) = list::<2>();
        add(&memory, &list, Content { wait: 0, signal: 1 }).unwrap();
        add(&memory, &list, Content { wait: 1, signal: 2 }).unwrap();
        let device = thread::spawn({
            let memory = memory.clone();
            move || memory.run()
        });
        memory.host_raises(1);
        memory.finish(device.join().unwrap());
        assert_eq!((memory.issued(1), memory.issued(2)), (1, 1));
    });
}
