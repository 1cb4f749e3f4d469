//! HIP gets the address of a file without its length. Tested with the virtual GPU's library, because AMD's
//! may run out of memory on files that no compiler writes.

use hip::Device;
use hip::code_object::CodeObject;
use hip::hip_sys::hipError_t;

use crate::common;

/// Bytes that end right before an unreadable page.
struct Guarded {
    pages: *mut u8,
    length: usize,
    end: usize,
}

impl Guarded {
    fn new(room: usize) -> Guarded {
        let page = 65536;
        let end = room.next_multiple_of(page);
        let length = end + page;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new pages, at an address of the system's choice.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        assert_ne!(pages, libc::MAP_FAILED);
        // SAFETY: the last page is one of those.
        assert_eq!(unsafe { libc::mprotect(pages.byte_add(end), page, libc::PROT_NONE) }, 0);
        Guarded { pages: pages.cast(), length, end }
    }

    /// Copies the bytes so that their last one is the last readable byte, and returns their address.
    fn put(&mut self, bytes: &[u8]) -> *const u8 {
        assert!(bytes.len() <= self.end);
        // SAFETY: the pages have room for the bytes before their end, and are borrowed exclusively.
        unsafe {
            let start = self.pages.add(self.end - bytes.len());
            start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            start
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the pages were mapped by `new`, and a library that got their address has unloaded its
        // modules.
        unsafe { libc::munmap(self.pages.cast(), self.length) };
    }
}

/// This crate only passes files to a library that `CodeObject::parse` accepts. For every such file, the
/// library, which gets no length, reads nothing after its end.
#[test]
fn a_library_reads_no_accepted_file_beyond_its_end() {
    common::check_leaks();
    let device = Device::open("vgpu:gfx1100").unwrap();
    let code = common::compile("gfx1100");
    let mut guarded = Guarded::new(code.len());
    let table = device.table();
    let mut load = |bytes: &[u8]| {
        let mut handle = std::ptr::null_mut();
        let address = guarded.put(bytes);
        // SAFETY: a read after the bytes ends this test; the module is unloaded before the bytes change.
        unsafe {
            let loaded = (table.hipModuleLoadData)(&raw mut handle, address.cast());
            if loaded == hipError_t::hipSuccess {
                assert_eq!((table.hipModuleUnload)(handle), hipError_t::hipSuccess);
            }
            loaded
        }
    };
    // SAFETY: the device is open.
    assert_eq!(unsafe { (table.hipSetDevice)(device.ordinal().try_into().unwrap()) }, hipError_t::hipSuccess);
    assert_eq!(load(&code), hipError_t::hipSuccess);
    let mut accepted = 0;
    let mut try_with = |at: usize, byte: u8| {
        let mut changed = code.clone();
        changed[at] = byte;
        if CodeObject::parse(&changed).is_ok() {
            accepted += 1;
            // It may be loaded or refused, but nothing after the bytes may be read.
            let _ = load(&changed);
        }
    };
    let tables =
        common::elf_tables(&code).into_iter().flat_map(|(start, size, count)| start..start + size * count);
    for at in (0..64).chain(tables) {
        for byte in [0, 1, 0x7f, 0xff] {
            try_with(at, byte);
        }
    }
    assert!(accepted > 100, "most changes do not matter: {accepted}");
}
