//! Memory for code, which is never writable and executable at once.

use std::ptr::NonNull;

use crate::Error;
use crate::asm::Finished;

/// Code in executable memory.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: the memory is not changed after it was made.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Copies code into new pages.
    pub(crate) fn new(finished: &mut Finished) -> Result<Pages, Error> {
        let size = finished.bytes.len().next_multiple_of(4096);
        // SAFETY: new anonymous memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(Error::Memory(std::io::Error::last_os_error()));
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(Error::TooLarge)?;
        let pages = Pages { start, size };
        let literals = start.as_ptr() as u64 + finished.literals as u64;
        let at = finished.literals_at;
        finished.bytes[at..at + 8].copy_from_slice(&literals.to_le_bytes());
        // SAFETY: the memory is new, as large, and writable until the next call.
        unsafe {
            std::ptr::copy_nonoverlapping(finished.bytes.as_ptr(), start.as_ptr(), finished.bytes.len());
            if libc::mprotect(start.as_ptr().cast(), size, libc::PROT_READ | libc::PROT_EXEC) != 0 {
                return Err(Error::Memory(std::io::Error::last_os_error()));
            }
        }
        Ok(pages)
    }

    /// The address of a byte.
    pub(crate) fn address(&self, offset: usize) -> *const u8 {
        self.start.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size; nobody runs code of a value that is dropped.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}
