//! Semaphores as a scheduler has them, and the scheduler as a semaphore has it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::{Entry, Kicks, Scheduler, list};
use crate::core::{Point, PointState};
use crate::error::{Error, Result};
use crate::memory::pool::Piece;

/// The value of a semaphore in memory of a scheduler: the host writes one word, the device the other. It is
/// there as long as an entry waits for the semaphore or will signal it.
pub(crate) struct Cell {
    scheduler: Weak<Scheduler>,
    kicks: Arc<Kicks>,
    memory: Piece,
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cell at {:#x}", self.memory.address)
    }
}

impl Cell {
    fn new(scheduler: &Arc<Scheduler>, value: u64) -> Result<Arc<Self>> {
        let cell = Self {
            scheduler: Arc::downgrade(scheduler),
            kicks: scheduler.kicks.clone(),
            memory: scheduler.pool.take(16)?,
        };
        cell.word(0).store(value, Ordering::Relaxed);
        cell.word(1).store(value, Ordering::Relaxed);
        Ok(Arc::new(cell))
    }

    fn word(&self, index: u64) -> &AtomicU64 {
        // SAFETY: the memory has two aligned words, every access to which is atomic, as long as the piece.
        unsafe { AtomicU64::from_ptr((self.memory.address + 8 * index) as *mut u64) }
    }

    /// Where its words are, the host's first.
    pub(super) fn address(&self) -> u64 {
        self.memory.address
    }

    /// The word that only the device writes.
    pub(super) fn device_word(&self) -> u64 {
        self.memory.address + 8
    }

    fn belongs_to(&self, scheduler: &Arc<Scheduler>) -> bool {
        std::ptr::eq(self.scheduler.as_ptr(), Arc::as_ptr(scheduler))
    }

    /// The host knows a value. Only the holder of the semaphore's lock calls this.
    fn raise(&self, value: u64) {
        list::raise(self.word(0), self.word(1), value, || self.kicks.kick());
    }

    /// Work that the host has issued will signal a value. Returns false if the list is full.
    pub(crate) fn promised(self: &Arc<Self>, value: u64, point: &Point) -> Result<bool> {
        match self.scheduler.upgrade() {
            Some(scheduler) => scheduler.promise(self, value, point),
            None => Ok(true),
        }
    }
}

/// What schedulers have to do with a semaphore.
#[derive(Default, Debug)]
pub(crate) struct Scheduled {
    /// Values that scheduled work will signal, in no order.
    expected: Vec<Expected>,
    cells: Vec<Weak<Cell>>,
    /// To be dropped without the semaphore's lock.
    gone: Vec<Arc<Entry>>,
}

#[derive(Debug)]
struct Expected {
    value: u64,
    entry: Arc<Entry>,
    is_armed: bool,
}

impl Scheduled {
    /// Takes over what the device has done. Work that ends after the semaphore has passed its value changes
    /// nothing: whether it was late cannot be known from the host.
    pub(crate) fn poll(&mut self, value: &mut u64) -> Option<Error> {
        let (mut failure, mut index) = (None, 0);
        while let Some(expected) = self.expected.get(index) {
            match expected.entry.state() {
                PointState::Pending => {
                    index += 1;
                    continue;
                }
                PointState::Done => *value = expected.value.max(*value),
                PointState::Failed(error) => failure = Some(error),
            }
            self.gone.push(self.expected.swap_remove(index).entry);
        }
        failure
    }

    /// Tells the device a value that the host knows.
    pub(crate) fn raise(&mut self, value: u64) {
        if !self.cells.is_empty() {
            self.cells().iter().for_each(|cell| cell.raise(value));
        }
    }

    /// The cells that are in use.
    pub(crate) fn cells(&mut self) -> Vec<Arc<Cell>> {
        self.cells.retain(|cell| cell.strong_count() != 0);
        self.cells.iter().filter_map(Weak::upgrade).collect()
    }

    /// The semaphore in memory of a scheduler.
    pub(crate) fn cell(&mut self, scheduler: &Arc<Scheduler>, value: u64) -> Result<Arc<Cell>> {
        if let Some(known) = self.cells().into_iter().find(|cell| cell.belongs_to(scheduler)) {
            return Ok(known);
        }
        let cell = Cell::new(scheduler, value)?;
        self.cells.push(Arc::downgrade(&cell));
        Ok(cell)
    }

    /// Scheduled work will signal a value.
    pub(crate) fn expect(&mut self, value: u64, entry: Arc<Entry>) {
        self.expected.push(Expected { value, entry, is_armed: false });
    }

    /// Whether the host has to tell a scheduler what work of another one does.
    pub(crate) fn has_others(&mut self) -> bool {
        let cells = self.cells();
        let others =
            |expected: &Expected| cells.iter().any(|cell| !cell.belongs_to(&expected.entry.scheduler));
        self.expected.iter().any(others)
    }

    /// The work that will signal this value, or one just above it.
    pub(crate) fn entry_of(&self, value: u64) -> Option<Arc<Entry>> {
        let fitting = self.expected.iter().filter(|expected| expected.value >= value);
        fitting.min_by_key(|expected| expected.value).map(|expected| expected.entry.clone())
    }

    /// The entries that nobody has asked to tell when they have ended, of those that will signal a value.
    pub(crate) fn arm(&mut self, value: u64) -> Vec<Arc<Entry>> {
        let fitting = self.expected.iter_mut().filter(|expected| expected.value >= value);
        let new = fitting.filter_map(|expected| {
            (!std::mem::replace(&mut expected.is_armed, true)).then(|| expected.entry.clone())
        });
        new.collect()
    }

    /// The semaphore has failed: nothing is expected.
    pub(crate) fn clear(&mut self) {
        self.gone.extend(self.expected.drain(..).map(|expected| expected.entry));
    }

    /// What has to be dropped without the semaphore's lock.
    pub(crate) fn gone(&mut self) -> Vec<Arc<Entry>> {
        std::mem::take(&mut self.gone)
    }
}
