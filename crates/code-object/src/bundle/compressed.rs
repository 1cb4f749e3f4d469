//! Compressed bundles.
//!
//! A header says how long the file and its content are and how it is packed: by zlib or by Zstandard. Version 1 does not
//! have the file's length.

use std::io::Read as _;

use super::{Extent, LARGEST, bad};
use crate::Error;

/// What a compressed bundle begins with.
pub const COMPRESSED_MAGIC: &[u8; 4] = b"CCOB";

struct Header {
    /// Bytes of the file, where it says so.
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
            (Some(u64::from(file)), u64::from(content), 24)
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

/// The length of a compressed bundle by its beginning.
pub(super) fn extent(beginning: &[u8]) -> Result<Extent, Error> {
    // The version says how long the header is.
    let Some(version) = beginning.get(4..6) else { return Ok(Extent::AtLeast(6)) };
    let size = match version {
        [1, 0] => 20,
        [2, 0] => 24,
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

/// The bundle in a compressed bundle.
///
/// # Errors
/// It is none, it is damaged, or it is packed in a way that is not known.
pub fn uncompressed(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let header = header(bytes)?;
    let end = header.file.map_or(bytes.len(), |file| file as usize);
    let packed = bytes.get(header.size..end).ok_or_else(|| bad("a compressed bundle that is cut off"))?;
    let length = header.content as usize;
    let content = match header.method {
        0 => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, length)
            .map_err(|error| bad(format!("damaged zlib data: {error}")))?,
        1 => {
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
    use super::*;

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
    fn every_version_is_read() {
        for version in 1..=3 {
            let file = file(version, b"bundle bundle bundle");
            assert_eq!(uncompressed(&file).unwrap(), b"bundle bundle bundle", "{version}");
        }
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
