//! Memory behind handles, for callers that look into them.

use std::num::NonZero;
use std::ptr::null_mut;

/// What each handle has: a page, more than AMD's handles are long.
const STEP: NonZero<usize> = NonZero::new(4096).unwrap();
/// What all handles of a process have. Addresses are not used twice. Pages that nobody writes to take no memory.
const WHOLE: usize = 1 << 36;

/// Has handles be addresses of memory. Where there are not so many addresses, they stay numbers.
pub(crate) fn give_them_memory() {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory at an address that the system chooses, of no file.
    let at = unsafe { libc::mmap(null_mut(), WHOLE, access, kind, -1, 0) };
    if at == libc::MAP_FAILED {
        tracing::info!("handles have no memory: {}", std::io::Error::last_os_error());
        return;
    }
    let start = at.expose_provenance();
    blas_on_kernels::number_handles(start..start + WHOLE, STEP);
}
