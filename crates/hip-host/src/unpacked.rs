//! Unpacks fat binaries with compressed code objects, for libraries that cannot read them.

use std::ffi::c_void;
use std::ptr;

use hip::code_object::Error;
use hip::code_object::bundle::{self, COMPRESSED_MAGIC, Extent};
use hip::code_object::embedded::Aligned;
use hip_sys::{Table, Version};

/// The oldest release (major, minor) whose library is known to read them. The library of 5.7 crashes.
const READS_COMPRESSED: (u32, u32) = (6, 4);

/// The header that compilers pass for an object file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Header {
    magic: u32,
    version: u32,
    image: *const c_void,
    unused: *const c_void,
}

const PAGE: usize = 4096;

/// An unpacked fat binary. Its header is valid as long as this lives.
#[derive(Debug)]
pub(crate) struct Unpacked {
    header: Box<Header>,
    _image: Vec<Aligned<[u8; PAGE]>>,
}

// SAFETY: the header's pointers refer to the image, which moves with it, and to the compiler's data; nothing
// writes there.
unsafe impl Send for Unpacked {}

/// Whether the library of a table needs unpacked fat binaries.
pub(crate) fn is_wanted(table: &Table) -> bool {
    table.path().is_some() && table.version().is_none_or(is_old)
}

fn is_old(version: Version) -> bool {
    (version.major, version.minor) < READS_COMPRESSED
}

impl Unpacked {
    /// Unpacks a fat binary; `None` if it is not compressed.
    ///
    /// # Errors
    /// The compressed code is damaged.
    ///
    /// # Safety
    /// The header belongs to a complete fat binary.
    pub(crate) unsafe fn of(header: *const c_void) -> Result<Option<Self>, Error> {
        // SAFETY: as this function's contract.
        let mut header = unsafe { header.cast::<Header>().read_unaligned() };
        let image = header.image.cast::<u8>();
        // SAFETY: the image has at least these bytes.
        let bytes = |length: usize| unsafe { std::slice::from_raw_parts(image, length) };
        if image.is_null() || bytes(COMPRESSED_MAGIC.len()) != COMPRESSED_MAGIC {
            return Ok(None);
        }
        let mut known = COMPRESSED_MAGIC.len();
        let packed = loop {
            match bundle::extent(bytes(known))? {
                Extent::AtLeast(more) => known = more,
                Extent::Bytes(length) => break bytes(length),
            }
        };
        let plain = bundle::uncompressed(packed)?;
        let page = |chunk: &[u8]| {
            let mut page = Aligned([0; PAGE]);
            page.0[..chunk.len()].copy_from_slice(chunk);
            page
        };
        let pages: Vec<_> = plain.chunks(PAGE).map(page).collect();
        header.image = pages.as_ptr().cast();
        Ok(Some(Self { header: Box::new(header), _image: pages }))
    }

    /// The address of its header.
    pub(crate) fn header(&self) -> *const c_void {
        ptr::from_ref(&*self.header).cast()
    }
}

#[cfg(test)]
mod tests {
    use hip::code_object::bundle::Entry;

    use super::*;

    fn header(image: &[u8]) -> Header {
        Header { magic: 0x4849_5046, version: 1, image: image.as_ptr().cast(), unused: ptr::null() }
    }

    #[test]
    fn a_compressed_fat_binary_is_unpacked_to_pages() {
        let code = vec![7; 10_000];
        let plain = bundle::bundle(&[
            Entry { id: "host-x86_64-unknown-linux--", bytes: b"" },
            Entry { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: &code },
        ]);
        let packed = bundle::compressed(&plain).unwrap();
        let given = header(&packed);
        // SAFETY: the header refers to a complete bundle.
        let unpacked = unsafe { Unpacked::of(ptr::from_ref(&given).cast()) }.unwrap().unwrap();
        // SAFETY: the header of the unpacked binary exists.
        let found = unsafe { unpacked.header().cast::<Header>().read() };
        assert_eq!((found.magic, found.version), (given.magic, 1));
        assert_eq!(found.image.addr() % PAGE, 0);
        // SAFETY: the image has as many bytes as the bundle.
        let image = unsafe { std::slice::from_raw_parts(found.image.cast::<u8>(), plain.len()) };
        assert!(image == plain);

        // SAFETY: as above.
        assert!(unsafe { Unpacked::of(ptr::from_ref(&header(&plain)).cast()) }.unwrap().is_none());
        let mut damaged = packed;
        damaged[40..60].fill(0xff);
        // SAFETY: as above; the content is damaged, not its length.
        let error = unsafe { Unpacked::of(ptr::from_ref(&header(&damaged)).cast()) }.unwrap_err();
        assert!(matches!(error, Error::Bundle { .. }), "{error}");
    }

    #[test]
    fn only_old_libraries_want_it() {
        assert!(is_old(Version::new(5, 7, 1)) && is_old(Version::new(6, 3, 0)));
        assert!(!is_old(Version::new(6, 4, 3)) && !is_old(Version::new(7, 2, 4)));
        assert!(!is_wanted(Table::unsupported()), "implementations in this process read it");
    }
}
