//! Compressed bundles.
//!
//! The header has the length of the file, the length of the content, and the method: zlib or Zstandard.
//! Version 1 lacks the length of the file.

use std::io::Read as _;

use super::{Extent, LARGEST, MAGIC, bad, md5};
use crate::Error;

/// What a compressed bundle begins with.
pub const COMPRESSED_MAGIC: &[u8; 4] = b"CCOB";

/// The version that is written. Later ones only allow larger files, and older libraries cannot read them.
const VERSION: u16 = 2;
/// The length of its header: magic, version, method, length of the file and of the content, and the content's
/// hash.
const HEADER: usize = 24;
const ZLIB: u16 = 0;
const ZSTANDARD: u16 = 1;
/// How hard [`compressed`] tries, of 10.
const LEVEL: u8 = 6;

struct Header {
    /// Bytes of the file, if the header has them.
    file: Option<u64>,
    content: u64,
    method: u16,
    size: usize,
}

fn header(bytes: &[u8]) -> Result<Header, Error> {
    let short = || bad("a header that is cut off");
    let u16_at =
        |at: usize| bytes.get(at..at + 2).and_then(|b| b.first_chunk()).copied().map(u16::from_le_bytes);
    let u32_at =
        |at: usize| bytes.get(at..at + 4).and_then(|b| b.first_chunk()).copied().map(u32::from_le_bytes);
    let u64_at =
        |at: usize| bytes.get(at..at + 8).and_then(|b| b.first_chunk()).copied().map(u64::from_le_bytes);
    if !bytes.starts_with(COMPRESSED_MAGIC) {
        return Err(bad("no compressed bundle"));
    }
    let (version, method) = u16_at(4).zip(u16_at(6)).ok_or_else(short)?;
    // The hash of the content follows, in 8 bytes.
    let (file, content, size) = match version {
        1 => (None, u64::from(u32_at(8).ok_or_else(short)?), 20),
        2 => {
            let (file, content) = u32_at(8).zip(u32_at(12)).ok_or_else(short)?;
            (Some(u64::from(file)), u64::from(content), HEADER)
        }
        3 => {
            let (file, content) = u64_at(8).zip(u64_at(16)).ok_or_else(short)?;
            (Some(file), content, 32)
        }
        version => return Err(bad(format!("version {version} of compressed bundles, which is not known"))),
    };
    if content > LARGEST || file.is_some_and(|file| file > LARGEST || file < size as u64) {
        return Err(bad("a length that cannot be"));
    }
    Ok(Header { file, content, method, size })
}

/// The length of a compressed bundle, read from its beginning.
pub(super) fn extent(beginning: &[u8]) -> Result<Extent, Error> {
    // The length of the header depends on the version.
    let Some(version) = beginning.get(4..6) else { return Ok(Extent::AtLeast(6)) };
    let size = match version {
        [1, 0] => 20,
        [2, 0] => HEADER,
        [3, 0] => 32,
        _ => 8,
    };
    if beginning.len() < size {
        return Ok(Extent::AtLeast(size));
    }
    let length =
        header(beginning)?.file.ok_or_else(|| bad("a compressed bundle that does not say its length"))?;
    usize::try_from(length).map(Extent::Bytes).map_err(|_| bad("a length that cannot be"))
}

/// Packs a bundle by zlib. The format is version 2 of what clang-offload-bundler writes with `-compress`;
/// every ROCm that reads compressed bundles reads it. [`uncompressed`] is the inverse. Equal bundles give
/// equal bytes.
///
/// ```
/// use code_object::bundle::{Entry, bundle, code_for, compressed};
///
/// let code = Entry { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: &[7; 10_000] };
/// let packed = compressed(&bundle(&[code]))?;
/// assert!(packed.len() < 1_000);
/// assert_eq!(code_for(&packed, &"gfx1100".parse()?)?, code.bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Bundle`] if this is not a bundle, or has 4 GiB or more, which the format cannot express.
pub fn compressed(bundle: &[u8]) -> Result<Vec<u8>, Error> {
    with_header(bundle, ZLIB, || miniz_oxide::deflate::compress_to_vec_zlib(bundle, LEVEL))
}

/// A compressed bundle of a Zstandard frame that the caller packed the bundle into, because this crate only
/// unpacks those. [`uncompressed`] is the inverse, and tells if it is not a frame of this bundle.
///
/// # Errors
/// As [`compressed`].
pub fn of_zstandard(bundle: &[u8], frame: &[u8]) -> Result<Vec<u8>, Error> {
    with_header(bundle, ZSTANDARD, || frame.to_vec())
}

/// The file of a bundle that is packed by a method.
fn with_header(bundle: &[u8], method: u16, pack: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>, Error> {
    if !bundle.starts_with(MAGIC) {
        return Err(bad("no offload bundle"));
    }
    let size = |length: usize| {
        u32::try_from(length).map_err(|_| bad("an offload bundle that is too large to be compressed"))
    };
    let content = size(bundle.len())?;
    let packed = pack();
    let total = size(HEADER + packed.len())?;
    let mut file = Vec::with_capacity(HEADER + packed.len());
    file.extend(COMPRESSED_MAGIC);
    file.extend(VERSION.to_le_bytes());
    file.extend(method.to_le_bytes());
    file.extend(total.to_le_bytes());
    file.extend(content.to_le_bytes());
    file.extend(md5::first_half(bundle));
    file.extend(packed);
    Ok(file)
}

/// The bundle in a compressed bundle. All of it is unpacked, the code for every target.
///
/// # Errors
/// The bytes are not a compressed bundle, they are damaged, or the method is unknown.
pub fn uncompressed(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let header = header(bytes)?;
    let end = header.file.map_or(bytes.len(), |file| file as usize);
    let packed = bytes.get(header.size..end).ok_or_else(|| bad("a compressed bundle that is cut off"))?;
    let length = header.content as usize;
    let content = match header.method {
        ZLIB => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, length)
            .map_err(|error| bad(format!("damaged zlib data: {error}")))?,
        ZSTANDARD => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed)
                .map_err(|error| bad(format!("damaged Zstandard data: {error}")))?;
            let mut content = Vec::new();
            let read = decoder.take(header.content + 1).read_to_end(&mut content);
            read.map_err(|error| bad(format!("damaged Zstandard data: {error}")))?;
            content
        }
        method => return Err(bad(format!("method {method} of compression, which is not known"))),
    };
    if content.len() != length {
        return Err(bad(format!("a content of {} bytes that should have {length}", content.len())));
    }
    Ok(content)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bundle::Entry;

    /// A file of a version, with this content packed by zlib.
    pub(crate) fn file(version: u16, content: &[u8]) -> Vec<u8> {
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(content, 1);
        let size = [20, 24, 32][usize::from(version) - 1];
        let mut file = COMPRESSED_MAGIC.to_vec();
        file.extend(version.to_le_bytes());
        file.extend(0u16.to_le_bytes());
        let (total, length) = ((size + packed.len()) as u64, content.len() as u64);
        match version {
            1 => file.extend((length as u32).to_le_bytes()),
            2 => {
                file.extend((total as u32).to_le_bytes());
                file.extend((length as u32).to_le_bytes());
            }
            _ => {
                file.extend(total.to_le_bytes());
                file.extend(length.to_le_bytes());
            }
        }
        file.extend([0; 8]);
        assert_eq!(file.len(), size);
        file.extend(packed);
        file
    }

    #[test]
    fn a_header_is_clangs() {
        let bundle =
            crate::bundle::bundle(&[Entry { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: b"code" }]);
        let file = compressed(&bundle).unwrap();
        assert_eq!(&file[..8], b"CCOB\x02\0\0\0");
        let number = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap()) as usize;
        assert_eq!((number(8), number(12)), (file.len(), bundle.len()));
        // The window is 32 KiB, and the last four bytes are the content's Adler-32 sum.
        assert_eq!(file[24], 0x78);
        let (a, b) = bundle.iter().fold((1_u32, 0_u32), |(a, b), &byte| {
            let a = (a + u32::from(byte)) % 65_521;
            (a, (b + a) % 65_521)
        });
        assert_eq!(file[file.len() - 4..], (b << 16 | a).to_be_bytes());
    }

    #[test]
    fn only_bundles_are_compressed() {
        for bytes in [&b""[..], b"\x7fELF", COMPRESSED_MAGIC] {
            assert_eq!(compressed(bytes).unwrap_err().to_string(), "no offload bundle");
        }
    }

    proptest! {
        #[test]
        fn what_is_compressed_is_found_again(
            parts in proptest::collection::vec(("[ -~]{0,40}", proptest::collection::vec(any::<u8>(), 0..300)), 0..5),
            repeat in 1_usize..40,
        ) {
            let parts: Vec<(String, Vec<u8>)> =
                parts.into_iter().map(|(id, bytes)| (id, bytes.repeat(repeat))).collect();
            let entries: Vec<Entry<'_>> = parts.iter().map(|(id, bytes)| Entry { id, bytes }).collect();
            let plain = crate::bundle::bundle(&entries);
            let file = compressed(&plain).unwrap();
            prop_assert_eq!(&compressed(&plain).unwrap(), &file);
            prop_assert_eq!(uncompressed(&file).unwrap(), plain);
            prop_assert_eq!(extent(&file).unwrap(), Extent::Bytes(file.len()));
        }
    }

    #[test]
    fn every_version_is_read() {
        for version in 1..=3 {
            let file = file(version, b"bundle bundle bundle");
            assert_eq!(uncompressed(&file).unwrap(), b"bundle bundle bundle", "{version}");
        }
    }

    /// A Zstandard frame of one block, not compressed.
    fn frame(content: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, content.len() as u8];
        frame.extend((1 | (content.len() as u32) << 3).to_le_bytes()[..3].iter());
        frame.extend(content);
        frame
    }

    #[test]
    fn a_zstandard_frame_of_a_bundle_is_read() {
        let plain = crate::bundle::bundle(&[Entry { id: "cuda-nvptx64-nvidia-cuda--sm_80", bytes: b"" }]);
        let file = of_zstandard(&plain, &frame(&plain)).unwrap();
        assert_eq!(uncompressed(&file).unwrap(), plain);
        assert_eq!(extent(&file).unwrap(), Extent::Bytes(file.len()));
        for length in 0..file.len() {
            assert!(uncompressed(&file[..length]).is_err(), "{length}");
        }
        // The frame of another bundle, one that ends early, and one with a wrong mark.
        for (frame, what) in [
            (frame(&plain[..plain.len() - 1]), "a content of"),
            (frame(&plain)[..20].to_vec(), "damaged Zstandard data"),
            (b"no frame".to_vec(), "damaged Zstandard data"),
        ] {
            let error = uncompressed(&of_zstandard(&plain, &frame).unwrap()).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        assert!(of_zstandard(b"\x7fELF", b"").is_err());
    }

    #[test]
    fn damage_is_an_error() {
        let whole = file(3, b"bundle bundle bundle");
        for length in 0..whole.len() {
            assert!(uncompressed(&whole[..length]).is_err(), "{length}");
        }
        for (at, value, what) in [
            (4, 9, "version 9"),
            (6, 7, "method 7"),
            (16, 3, "zlib"),
            (8, 1, "cannot be"),
            (40, 0xff, "zlib"),
        ] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            let error = uncompressed(&damaged).unwrap_err().to_string();
            assert!(error.contains(what), "{at}: {error}");
        }
    }
}
