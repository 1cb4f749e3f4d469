//! Arbitrary bytes as the header of a memory file exported by Mesa's CPU drivers. The file is refused, or its
//! memory has the position and the size given in the header. The fuzz target `exported_memory` uses this file
//! too.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::FileExt as _;
use std::ptr::null_mut;

use hsa_sys::hsa_status_t;

use super::small_gpu::gpu;

/// A header contains its file's length and the offset of the memory.
const WORDS: usize = 16;

/// The first four bytes determine the size of the file, whether its length is sealed, and whether the header
/// contains the length; the others are put into the file.
pub(crate) fn run(bytes: &[u8]) {
    let Some((&[low, high, how, pages], rest)) = bytes.split_first_chunk::<4>() else { return };
    let length = u64::from(u16::from_le_bytes([low, high])) + 4096 * u64::from(pages % 4);
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a text; the descriptor that is returned belongs to nobody else.
    let file = unsafe { File::from_raw_fd(libc::memfd_create(c"llvmpipe memory fd".as_ptr(), flags)) };
    file.set_len(length).expect("a file in memory");
    let mut written = rest[..rest.len().min(length as usize)].to_vec();
    if how & 1 != 0 && written.len() >= WORDS {
        written[..8].copy_from_slice(&length.to_le_bytes());
    }
    file.write_all_at(&written, 0).expect("bytes in the file");
    let sealed = how & 2 == 0;
    if sealed {
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: an operation on an open file, without pointers.
        assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
    }

    let (mut agent, mut size, mut memory) = (gpu(), 0, null_mut::<c_void>());
    let table = vgpu::hsa::table();
    // SAFETY: the list has one agent, and the other pointers are valid or null.
    let status = unsafe {
        (table.hsa_amd_interop_map_buffer)(
            1,
            &mut agent,
            file.as_raw_fd(),
            0,
            &mut size,
            &mut memory,
            null_mut(),
            null_mut(),
        )
    };
    if status != hsa_status_t::HSA_STATUS_SUCCESS {
        assert_eq!(status, hsa_status_t::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        return;
    }
    let word = |at: usize| written[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let (said, offset) = (word(0).expect("a length"), word(8).expect("an offset"));
    assert!(sealed && said == length && offset + size as u64 == length, "{said} {offset} {size} of {length}");
    // SAFETY: the memory is mapped with that many bytes, and nobody writes to it.
    let mapped = unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), size) };
    let mut behind = vec![0; size];
    file.read_exact_at(&mut behind, offset).expect("bytes of the file");
    assert!(*mapped == *behind, "not the file's memory");
    // SAFETY: it was mapped above.
    let unmapped = unsafe { (table.hsa_amd_interop_unmap_buffer)(memory) };
    assert_eq!(unmapped, hsa_status_t::HSA_STATUS_SUCCESS);
}

#[test]
fn any_header_is_refused_or_holds() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 24
    };
    for _ in 0..2000 {
        let mut bytes = (random() as u32).to_le_bytes().to_vec();
        let offset = if random().is_multiple_of(2) { random() % 5 * 4096 } else { random() };
        bytes.extend(random().to_le_bytes().into_iter().chain(offset.to_le_bytes()));
        bytes.truncate(20 - if random().is_multiple_of(8) { random() as usize % 20 } else { 0 });
        run(&bytes);
    }
    // A page for the header, and the memory after it.
    run(&[&[16, 0x27, 1, 1][..], &[0; 8], &4096_u64.to_le_bytes()].concat());
}
