//! Memory behind handles, for callers that access it.

use std::num::NonZero;
use std::ptr::null_mut;

/// The memory of each handle: a page, which is larger than AMD's handles.
const STEP: NonZero<usize> = NonZero::new(4096).unwrap();
/// The address space of all handles of a process. Addresses are not reused. Untouched pages take no memory.
const WHOLE: usize = 1 << 36;

/// Makes handles addresses of memory. If there is not enough address space, they stay numbers.
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
