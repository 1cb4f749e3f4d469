//! Code objects as programs pass them: plain, in an offload bundle, compressed or not, behind a fat binary's
//! header, or as text, where programs expect PTX.
//!
//! HIP passes images only by address, so their headers determine their length; nothing beyond the end that
//! the headers state is read.

use std::borrow::Cow;
use std::ffi::{c_char, c_void};

use code_object::TargetId;
use code_object::bundle::{self, Extent};
use code_object::text;
use hip_sys::hipError_t;

use crate::caller;
use crate::error::Result;

const INVALID_IMAGE: hipError_t = hipError_t::hipErrorInvalidImage;

/// First word of the structure that clang emits for `__hipRegisterFatBinary`.
const FAT_BINARY_MAGIC: u32 = 0x4849_5046;

/// The first bytes of code as text.
const TEXT: [u8; 4] = *b"// A";

/// The image at an address: an ELF file, or the entry of a bundle that fits the device best.
///
/// # Safety
/// At the address is an image, complete as its own headers describe it.
pub(crate) unsafe fn at_address<'a>(image: *const c_void, device: &TargetId) -> Result<Cow<'a, [u8]>> {
    let mut start = image as usize;
    // SAFETY: the caller passes an image.
    let bytes = |start: usize, size: usize| unsafe { caller::bytes(start, size) };
    if bytes(start, 4)? == FAT_BINARY_MAGIC.to_le_bytes() {
        // Magic, version, pointer to the image, and an unused pointer.
        let mut address = [0; 8];
        address.copy_from_slice(&bytes(start, 16)?[8..]);
        start = usize::from_le_bytes(address);
        if start == 0 {
            return Err(INVALID_IMAGE);
        }
    }
    if bytes(start, 4)? == TEXT {
        // SAFETY: like PTX, a text ends with a NUL.
        let text = unsafe { caller::text(start as *const c_char) }?;
        return in_bytes(text.to_bytes(), device);
    }
    let mut known = 4;
    loop {
        let beginning = bytes(start, known)?;
        match bundle::extent(beginning).map_err(refused)? {
            Extent::AtLeast(more) => known = more,
            Extent::Bytes(length) => return in_bytes(bytes(start, length)?, device),
        }
    }
}

/// As [`at_address`] for an image whose length is known.
pub(crate) fn in_bytes<'a>(bytes: &'a [u8], device: &TargetId) -> Result<Cow<'a, [u8]>> {
    if !text::is_code(bytes) {
        return bundle::code_for(bytes, device).map_err(refused);
    }
    let bytes = text::decode(bytes).map_err(|error| {
        tracing::error!("an image is refused: {error}");
        INVALID_IMAGE
    })?;
    Ok(Cow::Owned(bundle::code_for(&bytes, device).map_err(refused)?.into_owned()))
}

/// The image cannot be read, or has no code for the device.
fn refused(error: code_object::Error) -> hipError_t {
    tracing::error!("an image is refused: {error}");
    match error {
        code_object::Error::NoCode { .. } => hipError_t::hipErrorNoBinaryForGpu,
        _ => INVALID_IMAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bundle with one entry.
    fn bundle(id: &str, code: &[u8]) -> Vec<u8> {
        let mut bytes = bundle::MAGIC.to_vec();
        let start = bytes.len() + 4 * 8 + id.len();
        for word in [1, start, code.len(), id.len()] {
            bytes.extend((word as u64).to_le_bytes());
        }
        bytes.extend(id.as_bytes());
        bytes.extend(code);
        bytes
    }

    fn device(text: &str) -> TargetId {
        text.parse().unwrap()
    }

    #[test]
    fn a_bundle_at_an_address_is_read_to_its_end() {
        let bytes = bundle("hipv4-amdgcn-amd-amdhsa--gfx1100", b"exact");
        // SAFETY: the bundle is complete.
        let found = |name| unsafe { at_address(bytes.as_ptr().cast(), &device(name)) };
        assert_eq!(found("gfx1100"), Ok(b"exact"[..].into()));
        assert_eq!(found("gfx1030"), Err(hipError_t::hipErrorNoBinaryForGpu));
        assert_eq!(in_bytes(&bytes[..40], &device("gfx1100")), Err(INVALID_IMAGE));
    }

    #[test]
    fn a_fat_binary_leads_to_its_image() {
        let bytes = bundle("hipv4-amdgcn-amd-amdhsa--gfx1100", b"exact");
        let mut wrapper = [0u64; 3];
        wrapper[0] = u64::from(FAT_BINARY_MAGIC) | 1 << 32;
        wrapper[1] = bytes.as_ptr() as u64;
        // SAFETY: the structure points to a complete bundle.
        let found = unsafe { at_address(wrapper.as_ptr().cast(), &device("gfx1100")) };
        assert_eq!(found, Ok(b"exact"[..].into()));
    }

    #[test]
    fn an_image_may_be_text() {
        let mut text = text::encode(&bundle("hipv4-amdgcn-amd-amdhsa--gfx1100", b"exact"));
        assert_eq!(in_bytes(text.as_bytes(), &device("gfx1100")), Ok(b"exact"[..].into()));
        text.push('\0');
        // SAFETY: the text ends with a NUL.
        let found = |name| unsafe { at_address(text.as_ptr().cast(), &device(name)) };
        assert_eq!(found("gfx1100"), Ok(b"exact"[..].into()));
        assert_eq!(found("gfx90a"), Err(hipError_t::hipErrorNoBinaryForGpu));
        assert_eq!(in_bytes(b"// AMDGPU code objects in base64\n?", &device("gfx1100")), Err(INVALID_IMAGE));
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let bytes = [7u8; 64];
        // SAFETY: there are enough bytes to see that this is none of the forms.
        assert_eq!(unsafe { at_address(bytes.as_ptr().cast(), &device("gfx1100")) }, Err(INVALID_IMAGE));
    }
}
