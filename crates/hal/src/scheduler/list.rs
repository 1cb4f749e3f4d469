//! The host's side of the list that host and device change at the same time, and the order of the accesses.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::layout::{CANCELLED, FREE, ISSUING, READY, WAITING};

/// A word of memory that host and device access at the same time.
pub(super) trait Word<T> {
    /// What was written before the value is seen.
    fn get(&self) -> T;
    /// Who sees the value sees what was written before.
    fn set(&self, value: T);
    /// Changes one value to another. Returns false if it has a third one.
    fn exchange(&self, from: T, to: T) -> bool;
}

macro_rules! words {
    ($($word:ty: $number:ty, $ordering:ty;)*) => {$(
        impl $crate::scheduler::list::Word<$number> for $word {
            fn get(&self) -> $number {
                self.load(<$ordering>::Acquire)
            }

            fn set(&self, value: $number) {
                self.store(value, <$ordering>::Release);
            }

            fn exchange(&self, from: $number, to: $number) -> bool {
                self.compare_exchange(from, to, <$ordering>::AcqRel, <$ordering>::Acquire).is_ok()
            }
        }
    )*};
}
#[cfg(test)]
pub(super) use words;

words! {
    AtomicU32: u32, Ordering;
    AtomicU64: u64, Ordering;
}

/// The list's words in memory.
pub(super) trait Words {
    type State: Word<u32>;
    type Number: Word<u64>;
    /// The state in a slot.
    fn state(&self, slot: u64) -> &Self::State;
    /// The number of the first entry.
    fn head(&self) -> &Self::Number;
    /// The number behind the last one.
    fn tail(&self) -> &Self::Number;
}

/// The list as the host has it. An entry has a number of its own, and the slot of its number modulo the
/// capacity.
pub(super) struct List<W, E> {
    words: W,
    capacity: u64,
    head: u64,
    /// Those from `head` on.
    places: VecDeque<Place<E>>,
    /// Nothing new comes.
    is_closed: bool,
}

enum Place<E> {
    /// Somebody is writing it.
    Reserved,
    Taken(E),
    Gone,
}

impl<W: Words, E: Clone> List<W, E> {
    pub(super) fn new(words: W, capacity: u64) -> Self {
        Self { words, capacity, head: 0, places: VecDeque::new(), is_closed: false }
    }

    pub(super) fn len(&self) -> u64 {
        self.places.len() as u64
    }

    /// The number of the next entry.
    pub(super) fn next(&self) -> u64 {
        self.head + self.len()
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    fn state(&self, number: u64) -> &W::State {
        self.words.state(number % self.capacity)
    }

    fn place(&self, number: u64) -> Option<&Place<E>> {
        self.places.get(usize::try_from(number.wrapping_sub(self.head)).ok()?)
    }

    fn place_mut(&mut self, number: u64) -> Option<&mut Place<E>> {
        self.places.get_mut(usize::try_from(number.wrapping_sub(self.head)).ok()?)
    }

    /// Takes the next place, unless the list is full or closed.
    pub(super) fn reserve(&mut self) -> Option<u64> {
        if self.len() == self.capacity || self.is_closed {
            return None;
        }
        let number = self.next();
        // The slot is free, so the device passes over it.
        self.places.push_back(Place::Reserved);
        self.words.tail().set(number + 1);
        Some(number)
    }

    /// Gives a reserved place back.
    pub(super) fn give_up(&mut self, number: u64) {
        if let Some(place) = self.place_mut(number) {
            *place = Place::Gone;
        }
    }

    /// Lets the device have an entry, whose slot is written but for the state.
    pub(super) fn publish(&mut self, number: u64, entry: E) {
        if let Some(place) = self.place_mut(number) {
            *place = Place::Taken(entry);
            self.state(number).set(WAITING);
        }
    }

    /// Takes an entry from the device. Returns false if the device has taken it, or is done with it. A device
    /// that has stopped issues nothing that is ready.
    pub(super) fn withdraw(&self, number: u64, has_stopped: bool) -> bool {
        let is_there = matches!(self.place(number), Some(Place::Taken(_)));
        let take = |from| self.state(number).exchange(from, CANCELLED);
        is_there && (take(WAITING) || has_stopped && take(READY))
    }

    /// Whether the device has an entry.
    pub(super) fn has(&self, number: u64) -> bool {
        matches!(self.place(number), Some(Place::Taken(_))) && self.state(number).get() != FREE
    }

    /// Whether the device has begun to put an entry into its queue, and not ended.
    pub(super) fn is_issuing(&self, number: u64) -> bool {
        self.state(number).get() == ISSUING
    }

    /// Takes entries out that the device is done with, or that have ended anyway: from the beginning, or all.
    pub(super) fn sweep(&mut self, all: bool, has_ended: impl Fn(&E) -> bool) -> Vec<E> {
        let mut done = Vec::new();
        let mut is_front = true;
        for (index, place) in self.places.iter_mut().enumerate() {
            let state = self.words.state((self.head + index as u64) % self.capacity);
            if let Place::Taken(entry) = place
                && (state.get() == FREE || has_ended(entry))
                && let Place::Taken(entry) = std::mem::replace(place, Place::Gone)
            {
                done.push(entry);
            }
            is_front &= matches!(place, Place::Gone);
            if !is_front && !all {
                break;
            }
        }
        while let Some(Place::Gone) = self.places.front() {
            self.places.pop_front();
            self.head += 1;
        }
        self.words.head().set(self.head);
        done
    }

    /// The entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = &E> {
        self.places.iter().filter_map(|place| match place {
            Place::Taken(entry) => Some(entry),
            _ => None,
        })
    }

    /// Whether somebody is writing an entry.
    pub(super) fn is_reserved(&self) -> bool {
        self.places.iter().any(|place| matches!(place, Place::Reserved))
    }

    /// Takes everything out, when the device has ended.
    pub(super) fn clear(&mut self) -> impl Sized + use<W, E> {
        std::mem::take(&mut self.places)
    }
}

/// The host knows a value of a semaphore, which has one word that the host writes, and one of the device.
/// Only one thread of the host calls this at a time.
pub(super) fn raise(host: &impl Word<u64>, device: &impl Word<u64>, value: u64, kick: impl FnOnce()) {
    if host.get() < value {
        host.set(value);
        // If the device knows it, there is nothing to look at.
        if device.get() < value {
            kick();
        }
    }
}
