//! Storage for the arguments of launches, which each thread reuses.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::memory::Allocation;

thread_local! {
    /// The storage of the thread's last launch. Usually there is one launch at a time.
    static SPARE: Cell<Option<Box<Storage>>> = const { Cell::new(None) };
}

/// A launch's data, behind one pointer, because each added argument moves the launch. It does not know the
/// lifetimes of what it refers to, so that borrows end with a launch's last use, not with its drop.
#[derive(Debug)]
pub(super) struct Room(ManuallyDrop<Box<Storage>>);

#[derive(Debug, Default)]
pub(super) struct Storage {
    /// The argument segment's explicit part. Words, so that every value is aligned as in the segment.
    pub(super) words: Vec<u64>,
    /// A pointer to each argument in the words, as HIP needs them.
    pub(super) pointers: Vec<*mut c_void>,
    pub(super) used: Vec<Used>,
}

// SAFETY: the pointers lead into the words, and what is used are shared borrows of an `Arc<Allocation>`,
// which may be sent and shared.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

/// Memory that an argument uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    /// Borrowed for as long as the owner of the room says.
    pub(super) allocation: NonNull<Arc<Allocation>>,
    pub(super) index: u32,
    /// Whether it may be written.
    pub(super) written: bool,
}

impl Room {
    /// Room for this many words, set to zero.
    #[inline]
    pub(super) fn new(words: usize) -> Self {
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        let mut storage = spare.unwrap_or_default();
        storage.words.resize(words, 0);
        Self(ManuallyDrop::new(storage))
    }

    #[inline]
    pub(super) fn get(&self) -> &Storage {
        &self.0
    }

    #[inline]
    pub(super) fn get_mut(&mut self) -> &mut Storage {
        &mut self.0
    }
}

impl Drop for Room {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it is taken out once, and not used afterwards.
        let mut storage = unsafe { ManuallyDrop::take(&mut self.0) };
        storage.words.clear();
        storage.pointers.clear();
        storage.used.clear();
        // A thread that is ending cannot keep it, and drops it.
        let _ = SPARE.try_with(|spare| spare.set(Some(storage)));
    }
}

#[cfg(test)]
mod tests {
    use super::Room;

    #[test]
    fn a_thread_uses_its_room_again_and_finds_it_empty() {
        let mut first = Room::new(3);
        first.get_mut().words.fill(7);
        let place = first.get().words.as_ptr();
        // Two launches at once have separate storage.
        let second = Room::new(3);
        assert_ne!(second.get().words.as_ptr(), place);
        drop(second);
        drop(first);
        let again = Room::new(2);
        assert_eq!((again.get().words.as_ptr(), &again.get().words[..]), (place, &[0, 0][..]));
        assert!(again.get().used.is_empty());
        // It may move to another thread and end there.
        std::thread::spawn(move || drop(again)).join().unwrap();
        assert_ne!(Room::new(2).get().words.as_ptr(), place);
    }
}
