//! Memory that several processes share: `hipIpcGetMemHandle` and similar functions.

use std::collections::HashMap;
use std::ffi::c_char;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::hipIpcMemHandle_t;

use crate::runtime::Runtime;

/// The contents of a handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shared {
    pub(crate) memory: [u32; 8],
    /// Bytes of the allocation.
    pub(crate) size: u64,
    /// Offset of the pointer in it.
    pub(crate) offset: u64,
    pub(crate) process: u32,
}

impl Shared {
    pub(crate) fn encode(&self) -> hipIpcMemHandle_t {
        let mut bytes = [0u8; 64];
        for (place, word) in bytes.chunks_exact_mut(4).zip(self.memory) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[32..40].copy_from_slice(&self.size.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.offset.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.process.to_le_bytes());
        hipIpcMemHandle_t { reserved: bytes.map(|byte| byte as c_char) }
    }

    pub(crate) fn decode(handle: &hipIpcMemHandle_t) -> Option<Self> {
        let bytes = handle.reserved.map(|byte| byte as u8);
        let word = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes);
        let long = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes);
        let mut memory = [0; 8];
        for (index, place) in memory.iter_mut().enumerate() {
            *place = word(4 * index).ok()?;
        }
        let found = Self { memory, size: long(32).ok()?, offset: long(40).ok()?, process: word(48).ok()? };
        (found.offset < found.size && bytes[52..] == [0; 12]).then_some(found)
    }
}

/// Memory that other processes have shared with this one.
pub(crate) fn imports(_started: &Runtime) -> &'static Imports {
    static IMPORTS: LazyLock<Imports> = LazyLock::new(Imports::default);
    &IMPORTS
}

/// Memory of other processes that this one has opened.
#[derive(Default)]
pub(crate) struct Imports {
    open: Mutex<HashMap<[u32; 8], Import>>,
}

pub(crate) struct Import {
    pub(crate) base: usize,
    pub(crate) size: u64,
    /// How often the program has it open.
    pub(crate) opened: usize,
    /// How often it was opened.
    pub(crate) openings: u64,
}

impl Imports {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<[u32; 8], Import>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_read_as_they_were_written_and_others_are_refused() {
        let shared =
            Shared { memory: [1, 2, 3, 4, 5, 6, 7, u32::MAX], size: 1 << 33, offset: 77, process: 9 };
        assert_eq!(Shared::decode(&shared.encode()), Some(shared));
        assert_eq!(Shared::decode(&Shared { offset: 1 << 33, ..shared }.encode()), None);
        let mut foreign = shared.encode();
        foreign.reserved[60] = 1;
        assert_eq!(Shared::decode(&foreign), None);
        assert_eq!(Shared::decode(&hipIpcMemHandle_t { reserved: [0; 64] }), None);
    }
}
