//! Handles that HIP programs hold, checked on every use.
//!
//! A handle is not an address: it consists of a kind, a generation and an index, so that a stale, foreign or
//! invented one is recognised instead of being dereferenced. Real user-space addresses have 0 in the upper
//! byte, which is not a kind; HIP's special small numbers (`hipStreamLegacy`) are not handles either.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 32;
const FIRST_CHUNK: usize = 64;
const CHUNKS: usize = 18;

/// The kind of object that a handle refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Stream = 0x51,
    Event = 0x52,
    Module = 0x53,
    Function = 0x54,
    Graph = 0x55,
    GraphNode = 0x56,
    GraphExec = 0x57,
    UserObject = 0x58,
    MemPool = 0x60,
    Physical = 0x61,
    ExternalMemory = 0x62,
    Array = 0x63,
}

struct Slot<T> {
    generation: u32,
    value: Option<Arc<T>>,
}

type Chunk<T> = Box<[Mutex<Slot<T>>]>;

struct Free {
    indices: Vec<usize>,
    next: usize,
}

/// All live objects of one kind.
pub(crate) struct Registry<T> {
    kind: Kind,
    /// Chunk `n` holds `FIRST_CHUNK << n` slots; slots never move, so that a look-up takes only its slot's
    /// lock.
    chunks: [OnceLock<Chunk<T>>; CHUNKS],
    free: Mutex<Free>,
    marker: PhantomData<T>,
}

impl<T> Registry<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            chunks: [const { OnceLock::new() }; CHUNKS],
            free: Mutex::new(Free { indices: Vec::new(), next: 0 }),
            marker: PhantomData,
        }
    }

    /// Stores an object and returns its handle, or `None` when there are too many.
    pub(crate) fn insert(&self, value: Arc<T>) -> Option<usize> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let index = match free.indices.pop() {
            Some(index) => index,
            None => {
                if free.next >= FIRST_CHUNK * ((1 << CHUNKS) - 1) || free.next >= 1 << INDEX_BITS {
                    return None;
                }
                free.next += 1;
                free.next - 1
            }
        };
        drop(free);
        let (chunk, offset) = place(index);
        let slots = self.chunks[chunk].get_or_init(|| {
            (0..FIRST_CHUNK << chunk).map(|_| Mutex::new(Slot { generation: 1, value: None })).collect()
        });
        let mut slot = slots[offset].lock().unwrap_or_else(PoisonError::into_inner);
        slot.value = Some(value);
        Some(
            (self.kind as usize) << (INDEX_BITS + GENERATION_BITS)
                | (slot.generation as usize) << INDEX_BITS
                | index,
        )
    }

    fn slot(&self, handle: usize) -> Option<(&Mutex<Slot<T>>, u32, usize)> {
        if handle >> (INDEX_BITS + GENERATION_BITS) != self.kind as usize {
            return None;
        }
        let index = handle & ((1 << INDEX_BITS) - 1);
        let (chunk, offset) = place(index);
        let slot = self.chunks.get(chunk)?.get()?.get(offset)?;
        Some((slot, (handle >> INDEX_BITS) as u32, index))
    }

    /// The object behind a handle, if it is live.
    pub(crate) fn get(&self, handle: usize) -> Option<Arc<T>> {
        let (slot, generation, _) = self.slot(handle)?;
        let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.generation == generation { slot.value.clone() } else { None }
    }

    /// Ends a handle and returns its object.
    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        let (slot, generation, index) = self.slot(handle)?;
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.generation != generation {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        drop(slot);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).indices.push(index);
        Some(value)
    }
}

/// Chunk and offset of a slot.
fn place(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST_CHUNK + 1).ilog2() as usize;
    (chunk, index - FIRST_CHUNK * ((1 << chunk) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_contiguous_over_chunks() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(place(index), expected);
            expected.1 += 1;
            if expected.1 == FIRST_CHUNK << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn stale_foreign_and_invented_handles_are_refused() {
        let streams = Registry::new(Kind::Stream);
        let events = Registry::new(Kind::Event);
        let first = streams.insert(Arc::new(1)).unwrap();
        let event = events.insert(Arc::new(2)).unwrap();
        assert_eq!(streams.get(first).as_deref(), Some(&1));
        assert!(streams.get(event).is_none());
        for invented in [0, 1, 2, usize::MAX, first + 1, first ^ (1 << INDEX_BITS), &raw const first as usize]
        {
            assert!(streams.get(invented).is_none(), "{invented:#x}");
        }
        assert_eq!(streams.remove(first).as_deref(), Some(&1));
        assert!(streams.get(first).is_none() && streams.remove(first).is_none());
        let second = streams.insert(Arc::new(3)).unwrap();
        assert_ne!(first, second);
        assert!(streams.get(first).is_none());
        assert_eq!(streams.get(second).as_deref(), Some(&3));
    }

    #[test]
    fn many_handles_are_distinct_and_reused_after_removal() {
        let registry = Registry::new(Kind::Function);
        let handles: Vec<_> = (0..1000).map(|i| registry.insert(Arc::new(i)).unwrap()).collect();
        for (i, &handle) in handles.iter().enumerate() {
            assert_eq!(*registry.get(handle).unwrap(), i);
        }
        for &handle in &handles {
            registry.remove(handle).unwrap();
        }
        for i in 0..1000 {
            registry.insert(Arc::new(i)).unwrap();
        }
        assert_eq!(registry.free.lock().unwrap().next, 1000);
    }
}
