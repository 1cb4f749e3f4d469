//! Text printed by device code goes through C's standard streams, which keeps it in order with the host's
//! output.

use std::ffi::{c_char, c_int, c_void};

use libc::FILE;

unsafe extern "C" {
    static stdout: *mut FILE;
    static stderr: *mut FILE;
}

/// Makes C's library write text from now on.
pub(crate) fn through_c() {
    if let Some(redirect) = hip_on_hsa::unstarted().ext.device_output {
        // SAFETY: the function needs no data and may be called from any thread.
        unsafe { redirect(Some(write), std::ptr::null_mut()) };
    }
}

unsafe extern "C" fn write(_: *mut c_void, channel: c_int, text: *const c_char, size: usize) {
    // SAFETY: the two streams of C's library live as long as the process, and the library locks them; the
    // text has that many bytes. Failed writes are ignored, as with `printf` on the host.
    unsafe {
        let stream = if channel == 1 { stdout } else { stderr };
        libc::fwrite(text.cast(), 1, size, stream);
        libc::fflush(stream);
    }
}
