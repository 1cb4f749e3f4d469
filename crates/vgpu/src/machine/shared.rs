//! Memory in files, which several processes can map, at several addresses.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

use super::memory::MemoryError;

fn last_error(size: u64) -> MemoryError {
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOMEM);
    MemoryError::Host { size, errno }
}

/// An anonymous memory file of `size` zero bytes. It vanishes when nothing has it open or mapped. Its size is
/// sealed, because a process that accesses a mapping beyond the end of a shrunk file would crash.
pub(crate) fn memory_file(name: &CStr, size: u64) -> Result<File, MemoryError> {
    // SAFETY: the name is NUL-terminated; the returned file descriptor has no other owner.
    let file = unsafe {
        let descriptor = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        if descriptor < 0 {
            return Err(last_error(size));
        }
        File::from_raw_fd(descriptor)
    };
    let failed = |error: std::io::Error| MemoryError::Host {
        size,
        errno: error.raw_os_error().unwrap_or(libc::ENOMEM),
    };
    file.set_len(size).map_err(failed)?;
    // SAFETY: an operation on an open file, without pointers.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SIZE_SEALS) } != 0 {
        return Err(last_error(size));
    }
    Ok(file)
}

/// Seals that prevent changes of the file's size and of these seals.
const SIZE_SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// Whether nobody can shrink a file that another process provided.
pub(crate) fn keeps_its_size(file: &File) -> bool {
    // SAFETY: an operation on an open file, without pointers.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    seals >= 0 && seals & libc::F_SEAL_SHRINK != 0
}

/// Replaces the mapping at `address` by pages of a file, from an offset on, or by empty pages.
///
/// # Safety
/// The range, up to the end of its last page, belongs to the caller and is not in use.
pub(crate) unsafe fn map_fixed(
    address: u64,
    size: u64,
    protection: i32,
    file: Option<(&File, u64)>,
) -> Result<(), MemoryError> {
    let place = address as *mut libc::c_void;
    // SAFETY: the caller's promise.
    let mapped = unsafe {
        match file {
            Some((file, offset)) => libc::mmap(
                place,
                size as usize,
                protection,
                libc::MAP_SHARED | libc::MAP_FIXED,
                file.as_raw_fd(),
                offset as libc::off_t,
            ),
            None => libc::mmap(
                place,
                size as usize,
                protection,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
                -1,
                0,
            ),
        }
    };
    if mapped == libc::MAP_FAILED { Err(last_error(size)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_size() {
        let file = memory_file(c"vgpu-test", 4096).unwrap();
        assert!(keeps_its_size(&file));
        for size in [0, 4095, 8192] {
            assert!(file.set_len(size).is_err(), "{size} bytes");
        }
        assert_eq!(file.metadata().unwrap().len(), 4096);
    }
}
