//! The list and the semaphores of a scheduler, between the host's code and a model of the kernel
//! `hal_schedule`: in memory as the kernel has it, also under Miri, and under loom in every order of
//! accesses.

mod kernel;
// loom switches stacks, which Miri does not support.
#[cfg(not(miri))]
mod orders;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use proptest::prelude::*;

use self::kernel::{Entries, run};
use super::layout::{Condition, Content, Control, ListMemory, REACHED, Raise, Slot};
use super::list::{List, Word as _, Words, raise};

/// What the slot of an entry leads to.
struct Parts {
    condition: Condition,
    raise: Raise,
    /// The signal of its end: 1, and 0 when its work has ended.
    end: AtomicI64,
}

/// The memory of a list, whose kernel is the test.
struct Memory {
    words: ListMemory,
    capacity: u64,
    /// Ends of what was issued, in the order of the queue.
    issued: mpsc::Sender<u64>,
    _bytes: Box<[u64]>,
}

// SAFETY: the memory is used through atomic words, and contents by who has an entry.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(capacity: u64, issued: mpsc::Sender<u64>) -> Self {
        let bytes = ListMemory::slots() + capacity * size_of::<Slot>() as u64;
        let mut memory = vec![0u64; bytes.div_ceil(8) as usize].into_boxed_slice();
        let address = memory.as_mut_ptr().expose_provenance() as u64;
        assert!(size_of::<Control>() as u64 <= ListMemory::slots());
        // SAFETY: the memory has room for all, and lives as long as this object.
        Self { words: unsafe { ListMemory::new(address, capacity) }, capacity, issued, _bytes: memory }
    }

    fn content(&self, slot: u64) -> Content {
        // SAFETY: the entry was published, so its content does not change until it is free.
        unsafe { self.words.content(slot).read_unaligned() }
    }
}

fn at<'a, T>(address: u64) -> &'a T {
    // SAFETY: the tests' addresses are of what lives until the kernel has ended.
    unsafe { &*std::ptr::with_exposed_provenance(address as usize) }
}

fn address_of<T>(value: &T) -> u64 {
    (&raw const *value).expose_provenance() as u64
}

impl Words for &Memory {
    type State = <ListMemory as Words>::State;
    type Number = <ListMemory as Words>::Number;

    fn state(&self, slot: u64) -> &Self::State {
        self.words.state(slot)
    }

    fn head(&self) -> &Self::Number {
        self.words.head()
    }

    fn tail(&self) -> &Self::Number {
        self.words.tail()
    }
}

impl Entries for &Memory {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn is_ready(&self, slot: u64) -> bool {
        let condition = at::<Condition>(self.content(slot).condition);
        assert_eq!(condition.kind, REACHED);
        let [host, device] = at::<[AtomicU64; 2]>(condition.at);
        host.get() >= condition.value || device.get() >= condition.value
    }

    fn raise(&self, slot: u64) {
        let raise = at::<Raise>(self.content(slot).raise);
        let device = at::<AtomicU64>(raise.at);
        if device.get() < raise.value {
            device.set(raise.value);
        }
    }

    fn issue(&self, slot: u64) {
        self.issued.send(self.content(slot).end).unwrap();
    }

    fn end(&self, slot: u64) -> i64 {
        at::<AtomicI64>(self.content(slot).end).load(Ordering::Acquire)
    }
}

/// A semaphore as a scheduler has it: the host's word, and the device's.
#[derive(Default)]
struct Cell([AtomicU64; 2]);

impl Cell {
    fn value(&self) -> u64 {
        self.0[0].get().max(self.0[1].get())
    }
}

type Host<'a> = Mutex<List<&'a Memory, Arc<Parts>>>;

/// Puts an entry into the list; `None` if it is full.
fn add(
    list: &Host<'_>,
    memory: &Memory,
    wait: (&Cell, u64),
    signal: (&Cell, u64),
) -> Option<(u64, Arc<Parts>)> {
    let number = list.lock().unwrap().reserve()?;
    let condition = Condition { at: address_of(&wait.0.0), value: wait.1, kind: REACHED };
    let raise = Raise { at: address_of(&signal.0.0[1]), value: signal.1 };
    let parts = Arc::new(Parts { condition, raise, end: AtomicI64::new(1) });
    let content = Content {
        packets: 1,
        condition: address_of(&parts.condition),
        raise: address_of(&parts.raise),
        end: address_of(&parts.end),
        ..Content::default()
    };
    // SAFETY: the slot is reserved.
    unsafe { memory.words.content(number).write(content) };
    list.lock().unwrap().publish(number, parts.clone());
    Some((number, parts))
}

#[derive(Clone, Debug)]
enum Step {
    /// Adds an entry that waits for a value of the first semaphore.
    Add(u64),
    /// Withdraws one of the entries so far.
    Withdraw(usize),
    /// Raises the first semaphore to a value.
    Raise(u64),
    /// Runs the kernel.
    Run,
    /// Ends the first issued entry that has not ended.
    End,
    Sweep(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..6u64).prop_map(Step::Add),
        1 => any::<usize>().prop_map(Step::Withdraw),
        1 => (0..6u64).prop_map(Step::Raise),
        2 => Just(Step::Run),
        2 => Just(Step::End),
        1 => any::<bool>().prop_map(Step::Sweep),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

    /// Every entry is issued once, when its value has come, or withdrawn before, and its slot is used again.
    #[test]
    fn an_entry_is_issued_once_or_withdrawn(steps in steps(), capacity in 1u64..5) {
        let (sender, issued) = mpsc::channel();
        let memory = Memory::new(capacity, sender);
        let list: Host<'_> = Mutex::new(List::new(&memory, capacity));
        let (go, done) = (Cell::default(), Cell::default());
        let (mut entries, mut withdrawn) = (Vec::new(), BTreeSet::new());
        let (mut queue, mut ended) = (Vec::new(), 0);
        let closing = [Step::Raise(6), Step::Run];
        let draining = std::iter::repeat_n([Step::End, Step::Run], 100).flatten();
        for step in steps.into_iter().chain(closing).chain(draining) {
            match step {
                Step::Add(value) => {
                    let is_full = list.lock().unwrap().len() == capacity;
                    let signal = (&done, entries.len() as u64 + 1);
                    match add(&list, &memory, (&go, value), signal) {
                        Some((number, parts)) => {
                            prop_assert!(!is_full && number == entries.len() as u64);
                            entries.push((value, parts));
                        }
                        None => prop_assert!(is_full),
                    }
                }
                Step::Withdraw(which) if !entries.is_empty() => {
                    let which = which % entries.len();
                    if list.lock().unwrap().withdraw(which as u64, false) {
                        prop_assert!(withdrawn.insert(which));
                    }
                }
                Step::Raise(value) => raise(&go.0[0], &go.0[1], value, || {}),
                Step::Run => {
                    run(&&memory);
                    for end in issued.try_iter() {
                        let index = entries.iter().position(|(_, parts)| address_of(&parts.end) == end).unwrap();
                        prop_assert!(entries[index].0 <= go.value() && !withdrawn.contains(&index));
                        prop_assert!(!queue.contains(&index));
                        queue.push(index);
                    }
                    // What was ready has been issued.
                    for (index, (value, _)) in entries.iter().enumerate() {
                        let is_over = queue.contains(&index) || withdrawn.contains(&index);
                        prop_assert!(is_over || *value > go.value());
                    }
                }
                Step::End if ended < queue.len() => {
                    entries[queue[ended]].1.end.store(0, Ordering::Release);
                    ended += 1;
                }
                Step::Sweep(all) => drop(list.lock().unwrap().sweep(all, |_| false)),
                _ => {}
            }
        }
        prop_assert_eq!(queue.len() + withdrawn.len(), entries.len());
        let last = queue.iter().max().map_or(0, |last| *last as u64 + 1);
        prop_assert_eq!(done.value(), last);
        list.lock().unwrap().sweep(true, |_| false);
        prop_assert_eq!(list.lock().unwrap().len(), 0);
    }
}

/// The device runs on a thread of its own, and two threads of the host add and withdraw.
#[test]
fn host_and_device_work_at_the_same_time() {
    const EACH: u64 = if cfg!(miri) { 12 } else { 2000 };
    let (sender, issued) = mpsc::channel();
    let memory = Memory::new(3, sender);
    let list: Host<'_> = Mutex::new(List::new(&memory, 3));
    let (go, dones) = (Cell::default(), [Cell::default(), Cell::default()]);
    let (is_over, kicks) = (AtomicBool::new(false), AtomicI64::new(0));
    let mut withdrawn = 0;
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let (memory, kicks, is_over) = (&memory, &kicks, &is_over);
        scope.spawn(move || {
            while !is_over.load(Ordering::Acquire) {
                let kicked = kicks.load(Ordering::Acquire);
                run(&memory);
                // The queue's processor ends what was issued.
                let mut has_ended = false;
                for end in issued.try_iter() {
                    at::<AtomicI64>(end).store(0, Ordering::Release);
                    has_ended = true;
                }
                while !has_ended
                    && kicks.load(Ordering::Acquire) == kicked
                    && !is_over.load(Ordering::Acquire)
                {
                    std::thread::yield_now();
                }
            }
        });
        let hosts: Vec<_> = dones
            .iter()
            .enumerate()
            .map(|(host, done)| {
                let (list, go) = (&list, &go);
                scope.spawn(move || {
                    let (mut kept, mut withdrawn) = (Vec::new(), 0);
                    for value in 1..=EACH {
                        let wait = if host == 0 { value } else { 1 };
                        if host == 0 {
                            // The semaphore's lock is that only one thread raises it.
                            raise(&go.0[0], &go.0[1], value, || {
                                kicks.fetch_sub(1, Ordering::Release);
                            });
                        }
                        let (number, parts) = loop {
                            match add(list, memory, (go, wait), (done, value)) {
                                Some(added) => break added,
                                None => {
                                    drop(list.lock().unwrap().sweep(true, |_| false));
                                    std::thread::yield_now();
                                }
                            }
                        };
                        kept.push(parts);
                        kicks.fetch_sub(1, Ordering::Release);
                        if host == 1 && value % 4 == 0 && list.lock().unwrap().withdraw(number, false) {
                            withdrawn += 1;
                            kicks.fetch_sub(1, Ordering::Release);
                        }
                    }
                    (kept, withdrawn)
                })
            })
            .collect();
        for host in hosts {
            let (kept, count) = host.join().unwrap();
            all.extend(kept);
            withdrawn += count;
        }
        while list.lock().unwrap().len() != 0 {
            drop(list.lock().unwrap().sweep(true, |_| false));
            std::thread::yield_now();
        }
        is_over.store(true, Ordering::Release);
    });
    let ended = all.iter().filter(|parts| parts.end.load(Ordering::Acquire) == 0).count();
    assert_eq!((all.len(), ended + withdrawn), (2 * EACH as usize, 2 * EACH as usize));
    assert_eq!(dones[0].value(), EACH);
}
