//! A ring of memory for the arguments of kernels.

/// Parts of the ring, and bytes of each; a part is used again when its last kernel has completed.
const SEGMENTS: usize = 8;
const SEGMENT_BYTES: usize = 64 << 10;
/// Whole cache lines, so that no two launches share one.
const LINE: usize = 64;
/// The largest alignment: that of the memory itself.
const PAGE: usize = 4096;

/// Whether there is room for arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// At this address.
    At(*mut u8),
    /// In the next part, once [`ArgumentRing::leave`] has been called and what it returns has completed.
    Next,
    /// Never: they are too large, or aligned to more than memory is.
    Never,
}

/// Memory for the arguments of one queue's kernels, which are written in order.
#[derive(Debug)]
pub struct ArgumentRing {
    start: *mut u8,
    segment: usize,
    cursor: usize,
    /// The last fence over each part.
    fences: [u64; SEGMENTS],
}

// SAFETY: the address is one of memory that is tied to no thread.
unsafe impl Send for ArgumentRing {}

impl ArgumentRing {
    /// Bytes of a ring.
    pub const BYTES: usize = SEGMENTS * SEGMENT_BYTES;

    /// The ring in memory that begins at a page and has [`BYTES`](Self::BYTES).
    ///
    /// # Safety
    /// The memory is there as long as the ring is used, and nobody else writes it.
    pub unsafe fn new(start: *mut u8) -> Self {
        Self { start, segment: 0, cursor: 0, fences: [0; SEGMENTS] }
    }

    /// Where it begins.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Whether arguments could ever have room.
    #[inline]
    pub fn takes(size: usize, align: usize) -> bool {
        size <= SEGMENT_BYTES && align <= PAGE
    }

    /// Takes room for arguments of so many bytes, at least one.
    #[inline]
    pub fn take(&mut self, size: usize, align: usize) -> Room {
        let align = align.max(LINE);
        if !Self::takes(size, align) {
            return Room::Never;
        }
        let offset = match align {
            // A division where it is not a constant.
            LINE => self.cursor.next_multiple_of(LINE),
            align => self.cursor.next_multiple_of(align),
        };
        if offset + size > SEGMENT_BYTES {
            return Room::Next;
        }
        self.cursor = offset + size;
        // SAFETY: the offset lies within the ring.
        Room::At(unsafe { self.start.add(self.segment * SEGMENT_BYTES + offset) })
    }

    /// The fence that has to complete before the next part is used again; 0 for one that was never used.
    pub fn awaited(&self) -> u64 {
        self.fences[(self.segment + 1) % SEGMENTS]
    }

    /// Goes on to the next part, whose fence has completed. `fence` is one behind everything that used this part.
    pub fn leave(&mut self, fence: u64) {
        self.fences[self.segment] = fence;
        self.segment = (self.segment + 1) % SEGMENTS;
        self.cursor = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_used_in_turn_and_wait_for_their_last_fence() {
        let mut memory = vec![0u8; ArgumentRing::BYTES + PAGE];
        let first = memory.as_mut_ptr();
        let first = first.wrapping_add(first.align_offset(PAGE));
        // SAFETY: the memory has as many bytes behind its first page, and nobody else uses it.
        let mut ring = unsafe { ArgumentRing::new(first) };
        assert_eq!(ring.take(8, 8), Room::At(first));
        assert_eq!(ring.take(8, 8), Room::At(first.wrapping_add(64)));
        assert_eq!(ring.take(8, 4096), Room::At(first.wrapping_add(4096)));
        assert_eq!((ring.take(SEGMENT_BYTES + 1, 8), ring.take(8, 8192)), (Room::Never, Room::Never));
        for part in 1..SEGMENTS {
            assert_eq!(ring.take(SEGMENT_BYTES, 8), Room::Next);
            assert_eq!(ring.awaited(), 0);
            ring.leave(part as u64);
            assert_eq!(ring.take(SEGMENT_BYTES, 8), Room::At(first.wrapping_add(part * SEGMENT_BYTES)));
        }
        // The first part again, whose last fence was the first one.
        assert_eq!(ring.awaited(), 1);
    }
}
