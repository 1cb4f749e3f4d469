//! Code objects as programs pass them: plain, in an offload bundle, compressed or not, or behind a fat binary's header.
//!
//! HIP passes images by address alone, so that their headers say how long they are. Every length is taken from the part
//! that has been read already; nothing behind the end that the headers announce is touched.

use std::borrow::Cow;
use std::ffi::c_void;
use std::slice;

use code_object::TargetId;
use code_object::bundle::{self, COMPRESSED_MAGIC};
use hip_sys::hipError_t;

use crate::error::Result;

const INVALID_IMAGE: hipError_t = hipError_t::hipErrorInvalidImage;

const ELF_MAGIC: &[u8] = b"\x7fELF";
const BUNDLE_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// First word of the structure that clang emits for `__hipRegisterFatBinary`.
const FAT_BINARY_MAGIC: u32 = 0x4849_5046;

/// More than any code object has.
const MAX_BYTES: usize = 4 << 30;
const MAX_ENTRIES: u64 = 4096;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The image at an address: an ELF file, or the entry of a bundle that fits the device best.
///
/// # Safety
/// At the address is an image, complete as its own headers describe it.
pub(crate) unsafe fn at_address<'a>(image: *const c_void, device: &TargetId) -> Result<Cow<'a, [u8]>> {
    let mut start = image.cast::<u8>();
    // SAFETY: the caller passes an image, every form of which has at least these bytes.
    if unsafe { start.cast::<u32>().read_unaligned() } == FAT_BINARY_MAGIC {
        // SAFETY: the structure is magic, version, pointer to the image, and a pointer that is not used.
        start = unsafe { start.add(8).cast::<*const u8>().read_unaligned() };
        if start.is_null() {
            return Err(INVALID_IMAGE);
        }
    }
    // SAFETY: as above; longer prefixes are read only once the shorter one has matched.
    unsafe {
        if slice::from_raw_parts(start, 4) == ELF_MAGIC {
            return Ok(slice::from_raw_parts(start, elf_length(start)?).into());
        }
        if slice::from_raw_parts(start, 4) == &COMPRESSED_MAGIC[..] {
            // The shortest header, then all of it where the version says that there is more.
            let version = start.add(4).cast::<u16>().read_unaligned();
            let header = slice::from_raw_parts(start, if version < 3 { 20 } else { bundle::HEADER });
            let length = bundle::compressed_length(header).map_err(refused)?;
            return in_bytes(slice::from_raw_parts(start, length), device);
        }
        if slice::from_raw_parts(start, BUNDLE_MAGIC.len()) == BUNDLE_MAGIC {
            return best_entry(slice::from_raw_parts(start, bundle_length(start)?), device).map(Cow::from);
        }
    }
    Err(INVALID_IMAGE)
}

/// As [`at_address`] for an image whose length is known.
pub(crate) fn in_bytes<'a>(bytes: &'a [u8], device: &TargetId) -> Result<Cow<'a, [u8]>> {
    if bytes.starts_with(COMPRESSED_MAGIC) {
        let bundle = bundle::uncompressed(bytes).map_err(refused)?;
        return best_entry(&bundle, device).map(|entry| entry.to_vec().into());
    }
    if bytes.starts_with(BUNDLE_MAGIC) {
        return best_entry(bytes, device).map(Cow::from);
    }
    Ok(bytes.into())
}

/// A compressed bundle that cannot be read.
fn refused(error: code_object::Error) -> hipError_t {
    tracing::error!("an image is refused: {error}");
    INVALID_IMAGE
}

/// Length of an ELF file: the end of its last table, segment or section.
///
/// # Safety
/// At the address is an ELF file, complete as its headers describe it.
unsafe fn elf_length(start: *const u8) -> Result<usize> {
    // SAFETY: a 64-bit ELF file begins with a header of this size.
    let header = unsafe { slice::from_raw_parts(start, 64) };
    if header[4] != 2 || header[5] != 1 {
        return Err(INVALID_IMAGE);
    }
    let table = |offset: usize, size: usize, count: usize| -> Option<(usize, usize, usize)> {
        let at = usize::try_from(u64_at(header, offset)?).ok()?;
        let (size, count) = (u16_at(header, size)?.into(), u16_at(header, count)?.into());
        Some((at, size, count))
    };
    let segments = table(32, 54, 56).ok_or(INVALID_IMAGE)?;
    let sections = table(40, 58, 60).ok_or(INVALID_IMAGE)?;
    let mut end = header.len();
    // Positions of offset, size and type in an entry, and the type that takes no room in the file.
    for ((at, size, count), (offset_at, size_at, type_at, no_bits)) in
        [(segments, (8, 32, 0, u32::MAX)), (sections, (24, 32, 4, 8u32))]
    {
        if at == 0 || count == 0 {
            continue;
        }
        let bytes = size.checked_mul(count).ok_or(INVALID_IMAGE)?;
        let table_end = at.checked_add(bytes).filter(|&end| end <= MAX_BYTES).ok_or(INVALID_IMAGE)?;
        if size < 40 {
            return Err(INVALID_IMAGE);
        }
        end = end.max(table_end);
        // SAFETY: the header says that the table is part of the file.
        let table = unsafe { slice::from_raw_parts(start.add(at), bytes) };
        for entry in table.chunks_exact(size) {
            let kind = u32::from_le_bytes([
                entry[type_at],
                entry[type_at + 1],
                entry[type_at + 2],
                entry[type_at + 3],
            ]);
            if kind == no_bits {
                continue;
            }
            let offset = u64_at(entry, offset_at).ok_or(INVALID_IMAGE)?;
            let length = u64_at(entry, size_at).ok_or(INVALID_IMAGE)?;
            let entry_end = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
            end = end.max(entry_end.filter(|&end| end <= MAX_BYTES).ok_or(INVALID_IMAGE)?);
        }
    }
    Ok(end)
}

/// Length of an offload bundle: the end of its last entry.
///
/// # Safety
/// At the address is an offload bundle, complete as its headers describe it.
unsafe fn bundle_length(start: *const u8) -> Result<usize> {
    let header = BUNDLE_MAGIC.len() + 8;
    // SAFETY: the magic number is followed by the number of entries.
    let count = u64_at(unsafe { slice::from_raw_parts(start, header) }, BUNDLE_MAGIC.len()).unwrap_or(0);
    if count > MAX_ENTRIES {
        return Err(INVALID_IMAGE);
    }
    let (mut at, mut end) = (header, header);
    for _ in 0..count {
        // SAFETY: each entry's head is three words, the last of which is the length of the text behind it.
        let entry = unsafe { slice::from_raw_parts(start.add(at), 24) };
        let word = |index: usize| u64_at(entry, 8 * index).and_then(|word| usize::try_from(word).ok());
        let (Some(offset), Some(size), Some(text)) = (word(0), word(1), word(2)) else {
            return Err(INVALID_IMAGE);
        };
        at = at.checked_add(24 + text.min(MAX_BYTES)).ok_or(INVALID_IMAGE)?;
        let entry_end = offset.checked_add(size).ok_or(INVALID_IMAGE)?;
        end = end.max(at).max(entry_end);
        if end > MAX_BYTES {
            return Err(INVALID_IMAGE);
        }
    }
    Ok(end)
}

/// The entry of a bundle that fits the device best.
fn best_entry<'a>(bundle: &'a [u8], device: &TargetId) -> Result<&'a [u8]> {
    let count =
        u64_at(bundle, BUNDLE_MAGIC.len()).filter(|&count| count <= MAX_ENTRIES).ok_or(INVALID_IMAGE)?;
    let mut at = BUNDLE_MAGIC.len() + 8;
    let mut best = None;
    for _ in 0..count {
        let word = |index: usize| {
            u64_at(bundle, at + 8 * index).and_then(|word| usize::try_from(word).ok()).ok_or(INVALID_IMAGE)
        };
        let (offset, size, length) = (word(0)?, word(1)?, word(2)?);
        let text_end = (at + 24).checked_add(length).ok_or(INVALID_IMAGE)?;
        let text = bundle.get(at + 24..text_end).ok_or(INVALID_IMAGE)?;
        at = text_end;
        // `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`; the host's entry has another triple.
        let target = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.strip_prefix("hipv4-").or_else(|| text.strip_prefix("hip-")))
            .and_then(|text| text.parse::<TargetId>().ok());
        let Some(fit) = target.and_then(|target| target.fit(device)) else { continue };
        let end = offset.checked_add(size).ok_or(INVALID_IMAGE)?;
        let bytes = bundle.get(offset..end).ok_or(INVALID_IMAGE)?;
        if best.is_none_or(|(found, _)| fit > found) {
            best = Some((fit, bytes));
        }
    }
    best.map(|(_, bytes)| bytes).ok_or(hipError_t::hipErrorNoBinaryForGpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut head = BUNDLE_MAGIC.to_vec();
        head.extend((entries.len() as u64).to_le_bytes());
        let mut at = head.len() + entries.iter().map(|(name, _)| 24 + name.len()).sum::<usize>();
        let mut body: Vec<u8> = Vec::new();
        for (name, bytes) in entries {
            head.extend((at as u64).to_le_bytes());
            head.extend((bytes.len() as u64).to_le_bytes());
            head.extend((name.len() as u64).to_le_bytes());
            head.extend(name.as_bytes());
            body.extend(*bytes);
            at += bytes.len();
        }
        head.extend(body);
        head
    }

    fn device(text: &str) -> TargetId {
        text.parse().unwrap()
    }

    #[test]
    fn the_best_fitting_entry_of_a_bundle_is_taken() {
        let bytes = bundle(&[
            ("host-x86_64-unknown-linux-gnu-", b""),
            ("hipv4-amdgcn-amd-amdhsa--gfx11-generic", b"generic"),
            ("hipv4-amdgcn-amd-amdhsa--gfx1100", b"exact"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"other"),
        ]);
        assert_eq!(in_bytes(&bytes, &device("gfx1100")), Ok(b"exact"[..].into()));
        assert_eq!(in_bytes(&bytes, &device("gfx1101")), Ok(b"generic"[..].into()));
        assert_eq!(in_bytes(&bytes, &device("gfx90a:sramecc+:xnack-")), Ok(b"other"[..].into()));
        assert_eq!(in_bytes(&bytes, &device("gfx1030")), Err(hipError_t::hipErrorNoBinaryForGpu));
        // SAFETY: the bundle is complete.
        let found = unsafe { at_address(bytes.as_ptr().cast(), &device("gfx1100")) };
        assert_eq!(found, Ok(b"exact"[..].into()));
    }

    #[test]
    fn a_truncated_bundle_is_an_error_at_every_length() {
        let bytes = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx1100", b"exact")]);
        for length in BUNDLE_MAGIC.len()..bytes.len() {
            assert!(in_bytes(&bytes[..length], &device("gfx1100")).is_err(), "{length}");
        }
    }

    #[test]
    fn a_fat_binary_leads_to_its_image() {
        let bytes = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx1100", b"exact")]);
        let mut wrapper = [0u64; 3];
        wrapper[0] = u64::from(FAT_BINARY_MAGIC) | 1 << 32;
        wrapper[1] = bytes.as_ptr() as u64;
        // SAFETY: the structure points to a complete bundle.
        let found = unsafe { at_address(wrapper.as_ptr().cast(), &device("gfx1100")) };
        assert_eq!(found, Ok(b"exact"[..].into()));
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let bytes = [7u8; 64];
        // SAFETY: there are enough bytes to see that this is none of the forms.
        assert_eq!(unsafe { at_address(bytes.as_ptr().cast(), &device("gfx1100")) }, Err(INVALID_IMAGE));
    }
}
