//! A ring of memory for the arguments of kernels.

/// The number of parts of the ring, and the bytes of each. A part is reused once its last kernel has
/// completed.
const SEGMENTS: usize = 8;
const SEGMENT_BYTES: usize = 64 << 10;
/// Arguments take whole cache lines, so that no two launches share one.
const LINE: usize = 64;
/// The largest possible alignment, which is that of the memory.
const PAGE: usize = 4096;

/// Whether there is room for arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// At this address.
    At(*mut u8),
    /// In the next part, once the fence [`ArgumentRing::awaited`] has completed and [`ArgumentRing::leave`]
    /// has been called.
    Next,
    /// Never: they are too large, or need more alignment than the memory has.
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

// SAFETY: the memory at the address is not tied to a thread.
unsafe impl Send for ArgumentRing {}

impl ArgumentRing {
    /// The size of a ring in bytes.
    pub const BYTES: usize = SEGMENTS * SEGMENT_BYTES;

    /// Makes a ring in memory that begins at a page and has [`BYTES`](Self::BYTES).
    ///
    /// # Safety
    /// The memory exists as long as the ring is used, and nothing else writes it.
    pub unsafe fn new(start: *mut u8) -> Self {
        Self { start, segment: 0, cursor: 0, fences: [0; SEGMENTS] }
    }

    /// The start of the ring.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Whether arguments of this size and alignment can ever fit.
    #[inline]
    pub fn takes(size: usize, align: usize) -> bool {
        size <= SEGMENT_BYTES && align <= PAGE
    }

    /// Takes room for arguments of `size` bytes, at least one.
    #[inline]
    pub fn take(&mut self, size: usize, align: usize) -> Room {
        let align = align.max(LINE);
        if !Self::takes(size, align) {
            return Room::Never;
        }
        let offset = match align {
            // Written with the constant to avoid a division.
            LINE => self.cursor.next_multiple_of(LINE),
            align => self.cursor.next_multiple_of(align),
        };
        if offset + size > SEGMENT_BYTES {
            return Room::Next;
        }
        self.cursor = offset + size;
        // SAFETY: the offset is within the ring.
        Room::At(unsafe { self.start.add(self.segment * SEGMENT_BYTES + offset) })
    }

    /// The fence that must complete before the next part is reused; 0 if that part was never used.
    pub fn awaited(&self) -> u64 {
        self.fences[(self.segment + 1) % SEGMENTS]
    }

    /// Moves on to the next part, whose fence has completed. `fence` comes after all uses of the present
    /// part.
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
        // SAFETY: the memory has enough bytes from its first page on, and nothing else uses it.
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
        // The first part comes again; its last fence was the first one.
        assert_eq!(ring.awaited(), 1);
    }
}
