//! Checks addresses that C programs pass before accessing them, so that a bad address is an error of the call
//! and does not end the process.
//!
//! An address is refused if it is null, misaligned for what should be there, in the first 64 KiB or in the
//! kernel's half. An address on the calling thread's own stack, such as most places for results, needs no
//! further check. All others are probed page by page with system calls that read or write a word (`futex`)
//! and are always permitted. A call takes a tenth of a microsecond and changes nothing: it writes the value
//! that was there.
//!
//! This finds addresses that are bad when the call begins. It does not find memory that another thread unmaps
//! during the call, or readable addresses of something else; functions of the program that HIP is to call
//! cannot be checked at all.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::sync::atomic::AtomicU32;

use hip_sys::hipError_t;

use crate::error::Result;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The unit in which the kernel maps memory.
pub(crate) const PAGE: usize = 4096;
/// Linux maps nothing for programs below this.
const LOWEST: usize = 64 << 10;
/// The first address above user space with four levels of page tables; programs get five levels only on
/// request.
const END: usize = 1 << 47;
/// For ranges larger than this, only the ends are probed, and whether everything in between is mapped.
const WHOLE: usize = 16 * PAGE;

/// How memory is to be accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A thread's stack, as created by the system.
#[derive(Clone, Copy)]
struct Stack {
    start: usize,
    end: usize,
    /// The deepest call seen so far. From there to the end the stack is mapped; below, it may not be.
    deepest: usize,
}

impl Stack {
    /// Records how deep a call is, and returns whether a range is in the mapped part. Calls on another stack
    /// that the program switched to are ignored.
    fn holds(&mut self, here: usize, start: usize, end: usize) -> bool {
        if (self.start..self.deepest).contains(&here) {
            self.deepest = here;
        }
        start >= self.deepest && end <= self.end
    }
}

thread_local! {
    static STACK: Cell<Option<Stack>> = const { Cell::new(None) };
}

/// The calling thread's stack; empty if unknown.
fn own_stack() -> Stack {
    // SAFETY: the functions fill the places that they get, and the attributes are destroyed.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return Stack { start: 0, end: 0, deepest: 0 };
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        let found = libc::pthread_attr_getstack(&attributes, &mut start, &mut size) == 0;
        libc::pthread_attr_destroy(&mut attributes);
        let start = start as usize;
        let end = if found { start + size } else { start };
        Stack { start, end, deepest: end }
    }
}

/// Whether a range lies on the calling thread's stack, in calls that have not returned.
fn is_on_stack(start: usize, end: usize) -> bool {
    let here = &raw const start as usize;
    STACK
        .try_with(|known| {
            let mut stack = known.get().unwrap_or_else(own_stack);
            let held = stack.holds(here, start, end);
            known.set(Some(stack));
            held
        })
        .unwrap_or(false)
}

/// Lets the kernel access the word that contains an address.
fn touch(address: usize, access: Access) -> bool {
    static NOBODY: AtomicU32 = AtomicU32::new(0);
    let word = (address & !3) as *mut u32;
    let failed = match access {
        // Compares the word, and waits with a timeout of zero if it is equal.
        // SAFETY: the kernel checks the address.
        Access::Read => unsafe {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::syscall(
                libc::SYS_futex,
                word,
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                0u32,
                &raw const now,
            ) == -1
        },
        // Atomically combines the word with 0 by "or", and wakes waiters of another word.
        // SAFETY: as above.
        Access::Write => unsafe {
            const OR_ZERO: i32 = libc::FUTEX_OP_OR << 28;
            libc::syscall(
                libc::SYS_futex,
                NOBODY.as_ptr(),
                libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG,
                0u32,
                0usize,
                word,
                OR_ZERO,
            ) == -1
        },
    };
    !(failed && std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT))
}

/// Whether a range of addresses can be accessed in this way.
pub(crate) fn is_accessible(start: usize, size: usize, access: Access) -> bool {
    if size == 0 {
        return true;
    }
    let Some(end) = start.checked_add(size).filter(|&end| start >= LOWEST && end <= END) else {
        return false;
    };
    if is_on_stack(start, end) {
        return true;
    }
    let pages = |from: usize, to: usize| (from & !(PAGE - 1)..to).step_by(PAGE);
    if size <= WHOLE {
        return pages(start, end).all(|page| touch(page.max(start), access));
    }
    if !touch(start, access) || !touch(end - 1, access) {
        return false;
    }
    let first = start & !(PAGE - 1);
    // SAFETY: the call writes nothing; it fails where something is not mapped.
    unsafe { libc::msync(first as *mut libc::c_void, end - first, libc::MS_ASYNC) == 0 }
}

/// Whether an address is in user space. Does not check whether there is memory.
pub(crate) fn is_plausible(address: usize) -> bool {
    (LOWEST..END).contains(&address)
}

/// Bytes of which only the beginning is checked, as [`list`].
///
/// # Safety
/// As [`value`], of all bytes.
pub(crate) unsafe fn bytes<'a>(address: usize, size: usize) -> Result<&'a [u8]> {
    // SAFETY: as this function's contract.
    unsafe { list(address as *const u8, size) }
}

/// Writes a text that ends with NUL, cut to the room.
///
/// # Safety
/// Nothing else uses the room during the call.
pub(crate) unsafe fn put_text(address: *mut c_char, room: usize, text: &str) -> Result {
    // Room that is not written need not be accessible.
    let length = text.len().min(room.checked_sub(1).ok_or(INVALID_VALUE)?);
    // SAFETY: as this function's contract.
    let place = unsafe { places(address.cast::<u8>(), length + 1) }?;
    place[..length].copy_from_slice(&text.as_bytes()[..length]);
    place[length] = 0;
    Ok(())
}

/// Writes a value of a few bytes, at any alignment.
///
/// # Safety
/// Nothing else uses the place during the call.
pub(crate) unsafe fn put<T>(address: *mut std::ffi::c_void, value: T) -> Result {
    if !is_accessible(address as usize, size_of::<T>(), Access::Write) {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the address is accessible, the rest is the caller's contract.
    unsafe { address.cast::<T>().write_unaligned(value) };
    Ok(())
}

/// Whether there can be a value of a type at an address.
fn holds<T>(address: *const T, count: usize, access: Access) -> bool {
    let size = size_of::<T>().checked_mul(count);
    address.is_aligned() && size.is_some_and(|size| is_accessible(address as usize, size, access))
}

/// A place for a result, or a structure to change.
///
/// # Safety
/// At the address is a value of the type, nothing else uses it during the call, and it lives until the call
/// ends.
pub(crate) unsafe fn place<'a, T>(address: *mut T) -> Result<&'a mut T> {
    if !holds(address, 1, Access::Write) {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the address is accessible and aligned, the rest is the caller's contract.
    Ok(unsafe { &mut *address })
}

/// As [`place`], for optional results: null omits them.
///
/// # Safety
/// As [`place`].
pub(crate) unsafe fn optional_place<'a, T>(address: *mut T) -> Result<Option<&'a mut T>> {
    // SAFETY: as this function's contract.
    if address.is_null() { Ok(None) } else { unsafe { place(address) }.map(Some) }
}

/// Writes a result, unless the address is null.
///
/// # Safety
/// As [`place`].
pub(crate) unsafe fn store_optional<T>(address: *mut T, value: T) -> Result {
    // SAFETY: as this function's contract.
    if let Some(place) = unsafe { optional_place(address) }? {
        *place = value;
    }
    Ok(())
}

/// A structure to read.
///
/// # Safety
/// At the address is a value of the type, nothing changes it during the call, and it lives until the call
/// ends.
pub(crate) unsafe fn value<'a, T>(address: *const T) -> Result<&'a T> {
    if !holds(address, 1, Access::Read) {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the address is accessible and aligned, the rest is the caller's contract.
    Ok(unsafe { &*address })
}

/// A list to read. Null is allowed for an empty list.
///
/// # Safety
/// As [`value`], of all entries.
pub(crate) unsafe fn list<'a, T>(address: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if !holds(address, count, Access::Read) {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the addresses are accessible and aligned, the rest is the caller's contract.
    Ok(unsafe { std::slice::from_raw_parts(address, count) })
}

/// A list to write.
///
/// # Safety
/// As [`place`], of all entries.
pub(crate) unsafe fn places<'a, T>(address: *mut T, count: usize) -> Result<&'a mut [T]> {
    if count == 0 {
        return Ok(&mut []);
    }
    if !holds(address, count, Access::Write) {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the addresses are accessible and aligned, the rest is the caller's contract.
    Ok(unsafe { std::slice::from_raw_parts_mut(address, count) })
}

/// A text that ends with NUL.
///
/// # Safety
/// Nothing changes it during the call, and it lives until the call ends.
pub(crate) unsafe fn text<'a>(address: *const c_char) -> Result<&'a CStr> {
    let mut length = 0;
    loop {
        let at = (address as usize).checked_add(length).ok_or(INVALID_VALUE)?;
        let rest = PAGE - at % PAGE;
        if !is_accessible(at, 1, Access::Read) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the page is readable.
        let part = unsafe { std::slice::from_raw_parts(at as *const u8, rest) };
        if part.contains(&0) {
            // SAFETY: everything up to the NUL was found to be readable.
            return Ok(unsafe { CStr::from_ptr(address) });
        }
        length += rest;
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut, without_provenance_mut};

    use super::*;

    /// Two pages, the second of which has the given protection.
    fn pages(second: i32) -> usize {
        // SAFETY: new mappings touch nothing that is there.
        unsafe {
            let both = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(null_mut(), 2 * PAGE, both, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(PAGE), PAGE, second), 0);
            start as usize
        }
    }

    #[test]
    fn addresses_at_which_nothing_can_be_are_refused() {
        let bad =
            [0, 1, 0x10, 0x1001, LOWEST - 8, END, END - 4, 0xffff_8000_0000_1000, usize::MAX, usize::MAX - 7];
        for address in bad {
            // SAFETY: nothing is done with what is refused.
            unsafe {
                assert!(place(without_provenance_mut::<u64>(address)).is_err(), "{address:#x}");
                assert!(value(without_provenance_mut::<u8>(address)).is_err() || address == END - 4);
                assert!(text(without_provenance_mut(address)).is_err() || address == END - 4, "{address:#x}");
            }
        }
        // SAFETY: as above.
        unsafe {
            assert!(list(null::<u64>(), 0).unwrap().is_empty());
            assert!(list(null::<u64>(), 1).is_err());
            assert!(optional_place(null_mut::<u64>()).unwrap().is_none());
            assert!(optional_place(without_provenance_mut::<u64>(8)).is_err());
        }
    }

    #[test]
    fn protection_and_ends_of_mappings_are_found() {
        for (second, readable, writable) in
            [(libc::PROT_NONE, false, false), (libc::PROT_READ, true, false), (3, true, true)]
        {
            let start = pages(second);
            let at = start + PAGE;
            assert_eq!(is_accessible(at, 1, Access::Read), readable);
            assert_eq!(is_accessible(at, PAGE, Access::Write), writable);
            assert!(is_accessible(at - 8, 8, Access::Write));
            assert_eq!(is_accessible(at - 8, 9, Access::Read), readable);
            assert_eq!(is_accessible(at - 1, 4, Access::Write), writable);
            // SAFETY: nothing is done with what is refused.
            assert_eq!(unsafe { value((at - 8) as *const [u64; 2]) }.is_ok(), readable);
            // SAFETY: the mapping is this test's own.
            unsafe { libc::munmap(start as *mut _, 2 * PAGE) };
            assert!(!is_accessible(start, 1, Access::Read));
        }
    }

    #[test]
    fn nothing_is_changed_and_lists_have_an_end() {
        let mut values = vec![0x1234_5678_9abc_def0_u64; 3 * WHOLE / 8];
        let (start, size) = (values.as_mut_ptr() as usize, values.len() * 8);
        assert!(is_accessible(start, size, Access::Write) && is_accessible(start, size, Access::Read));
        assert!(!is_accessible(start, END - start, Access::Read));
        assert!(values.iter().all(|&value| value == 0x1234_5678_9abc_def0));
        // SAFETY: nothing is done with what is refused.
        unsafe {
            assert!(list(values.as_ptr(), usize::MAX).is_err());
            assert!(list(values.as_ptr(), usize::MAX / 8).is_err());
            assert!(list(values.as_ptr().byte_add(1), 1).is_err());
        }
    }

    #[test]
    fn the_stack_of_any_thread_is_known_and_read_only_memory_is_no_place() {
        let here = || {
            let mut local = 7u64;
            let far = [1u8; 3 * PAGE];
            // SAFETY: the variables live on.
            unsafe {
                assert_eq!(*place(&mut local).unwrap(), 7);
                assert_eq!(list(far.as_ptr(), far.len()).unwrap().len(), far.len());
            }
        };
        here();
        std::thread::spawn(here).join().unwrap();
        static FIXED: u64 = 5;
        // SAFETY: nothing is done with what is refused.
        assert!(unsafe { place((&raw const FIXED).cast_mut()) }.is_err());
    }

    #[test]
    fn a_stack_that_the_program_made_says_nothing_of_the_threads_own() {
        let mut stack = Stack { start: 0x1000, end: 0x9000, deepest: 0x9000 };
        // From a stack below it, and one above it.
        assert!(!stack.holds(0x800, 0x810, 0x820) && !stack.holds(0xa000, 0x8ff0, 0x9000));
        assert!(!stack.holds(0x800, 0x8ff0, 0x9000));
        // From its own stack, whose mapped part stays mapped.
        assert!(stack.holds(0x8000, 0x8010, 0x9000) && !stack.holds(0x8000, 0x7ff0, 0x8010));
        assert!(!stack.holds(0x8800, 0x8ff0, 0x9008));
        assert!(stack.holds(0x800, 0x8000, 0x8008) && stack.holds(0x8800, 0x8000, 0x8008));
    }

    #[test]
    fn texts_end_within_readable_memory() {
        let start = pages(libc::PROT_NONE);
        let text_at = |at: usize| {
            // SAFETY: the mapping lives on.
            unsafe { text(at as *const c_char) }.map(|text| text.to_bytes().len())
        };
        // SAFETY: the page is this test's own.
        unsafe { (start as *mut u8).write_bytes(b'x', PAGE) };
        assert_eq!(text_at(start), Err(INVALID_VALUE));
        // SAFETY: as above.
        unsafe { ((start + PAGE - 1) as *mut u8).write(0) };
        assert_eq!(text_at(start), Ok(PAGE - 1));
        assert_eq!(text_at(start + PAGE - 1), Ok(0));
    }
}
