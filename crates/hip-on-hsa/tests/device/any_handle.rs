//! Any bytes as handles of memory and events of other processes. The fuzz target `ipc_handles` uses this file
//! too.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

use hip_sys::{Table, hipError_t, hipIpcEventHandle_t, hipIpcMemHandle_t, hipMemcpyKind};

const OK: hipError_t = hipError_t::hipSuccess;
/// Not a multiple of a page.
const BYTES: usize = 5000;
/// The position of the creating process in a memory handle.
const PROCESS: usize = 48;

/// This process's own handles, as bytes.
fn handles(table: &'static Table) -> &'static [[u8; 64]; 2] {
    static HANDLES: OnceLock<[[u8; 64]; 2]> = OnceLock::new();
    HANDLES.get_or_init(|| {
        let (mut memory, mut event) = (null_mut(), null_mut());
        let (mut of_memory, mut of_event) = (hipIpcMemHandle_t::default(), hipIpcEventHandle_t::default());
        let flags = hip_sys::hipEventInterprocess | hip_sys::hipEventDisableTiming;
        // SAFETY: all pointers are places to write to. What is made is never freed.
        unsafe {
            assert_eq!((table.hipMalloc)(&raw mut memory, BYTES), OK);
            assert_eq!((table.hipMemset)(memory, 77, BYTES), OK);
            assert_eq!((table.hipIpcGetMemHandle)(&raw mut of_memory, memory), OK);
            assert_eq!((table.hipEventCreateWithFlags)(&raw mut event, flags), OK);
            assert_eq!((table.hipIpcGetEventHandle)(&raw mut of_event, event), OK);
        }
        [of_memory.reserved.map(|byte| byte as u8), of_event.reserved.map(|byte| byte as u8)]
    })
}

/// Handles, each by its length, with a flag for those that start as real ones (of another process, as far as
/// HIP can tell), and changes: a position and a byte. They are refused, or they open memory that is
/// accessible to its end and can be closed as often as it was opened.
pub(crate) fn run(table: &'static Table, mut bytes: &[u8]) {
    let [memory, event] = *handles(table);
    let mut opened = Vec::new();
    while let Some((&[how], rest)) = bytes.split_first_chunk() {
        let (changes, rest) = rest.split_at((2 * usize::from(how >> 2)).min(rest.len()));
        bytes = rest;
        let is_event = how & 1 != 0;
        let mut handle = match how & 2 {
            0 => [0; 64],
            _ if is_event => event,
            _ => memory,
        };
        if !is_event {
            handle[PROCESS] ^= 1;
        }
        for change in changes.chunks_exact(2) {
            handle[usize::from(change[0]) % 64] = change[1];
        }
        let reserved = handle.map(|byte| byte as _);
        if is_event {
            let mut event = null_mut();
            // SAFETY: the result is a place to write to. What is opened is an event, which is destroyed once.
            unsafe {
                if (table.hipIpcOpenEventHandle)(&raw mut event, hipIpcEventHandle_t { reserved }) == OK {
                    assert_eq!((table.hipEventDestroy)(event), OK);
                }
            }
            continue;
        }
        let mut start = null_mut();
        let lazy = hip_sys::hipIpcMemLazyEnablePeerAccess;
        // SAFETY: the result is a place to write to.
        if unsafe { (table.hipIpcOpenMemHandle)(&raw mut start, hipIpcMemHandle_t { reserved }, lazy) } == OK
        {
            check(table, start);
            opened.push(start);
        }
    }
    for start in opened {
        // SAFETY: it was opened once for this.
        assert_eq!(unsafe { (table.hipIpcCloseMemHandle)(start) }, OK);
    }
}

/// Reads the whole allocation around an address.
fn check(table: &'static Table, start: *mut c_void) {
    let (mut base, mut size) = (null_mut(), 0);
    // SAFETY: both are places to write to.
    assert_eq!(unsafe { (table.hipMemGetAddressRange)(&raw mut base, &raw mut size, start) }, OK);
    let mut read = vec![0_u8; size];
    let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
    // SAFETY: both sides hold so many bytes.
    assert_eq!(unsafe { (table.hipMemcpy)(read.as_mut_ptr().cast(), base, size, kind) }, OK);
    assert!(read.iter().take(BYTES).all(|byte| *byte == 77));
}
