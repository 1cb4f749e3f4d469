//! Memory files that Mesa's CPU drivers export: Vulkan's lavapipe, and llvmpipe below it.
//!
//! Such a file (`VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT`) begins with a header: its length, the offset
//! of the memory, and an id of the Mesa build. The memory extends to the end of the file, some bytes beyond
//! what the program asked for. Mesa seals the file's length. The layout is internal to Mesa and undocumented.
//! Versions 22.3 and 25.0 use it; files that do not match it are refused.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::pool::PAGE;

/// Prefix of the names of such files.
pub(super) const NAME: &str = "/memfd:llvmpipe memory fd";

/// The length, the offset, and the id of the driver's build.
const HEADER: usize = 32;

/// The offset and the size of the memory in a file of this length, if the file begins like one of Mesa's.
pub(super) fn memory_in(file: &File, length: u64) -> Option<(u64, u64)> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    part(&header, length)
}

fn part(header: &[u8; HEADER], length: u64) -> Option<(u64, u64)> {
    let word = |at: usize| header[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let (written, offset) = (word(0)?, word(8)?);
    // Vulkan's memory starts at a page boundary, so that it can be mapped.
    let fits = offset >= HEADER as u64 && offset.is_multiple_of(PAGE as u64) && offset < length;
    (written == length && fits).then(|| (offset, length - offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(length: u64, offset: u64) -> [u8; HEADER] {
        let mut bytes = [7; HEADER];
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        bytes[8..16].copy_from_slice(&offset.to_le_bytes());
        bytes
    }

    #[test]
    fn memory_is_behind_a_header_that_fits_its_file() {
        // Mesa's file for 10,000 bytes: one page for the header, which has 32 bytes, and 8 more bytes before
        // the memory.
        assert_eq!(part(&header(14_136, 4096), 14_136), Some((4096, 10_040)));
        for (written, offset, length) in [
            (14_136, 4096, 14_137),
            (14_136, 4096, 14_135),
            (14_136, 0, 14_136),
            (14_136, 8, 14_136),
            (14_136, 4097, 14_136),
            (14_136, 16_384, 14_136),
            (8192, 8192, 8192),
            (u64::MAX, 4096, 14_136),
            (14_136, u64::MAX - 4095, 14_136),
        ] {
            assert_eq!(part(&header(written, offset), length), None, "{written} {offset} {length}");
        }
    }

    /// Headers of random bytes, and of numbers near valid ones.
    #[test]
    fn what_is_found_lies_in_the_file() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        let mut found = 0;
        for _ in 0..100_000 {
            let length = random() % 20_000;
            let written = if random().is_multiple_of(2) { length } else { random() };
            let offset = if random().is_multiple_of(2) { random() % 6 * 4096 } else { random() };
            if let Some((offset, size)) = part(&header(written, offset), length) {
                found += 1;
                assert!(
                    offset >= HEADER as u64 && size > 0 && offset + size == length,
                    "{offset} {size} {length}"
                );
            }
        }
        assert!(found > 1000, "{found}");
    }

    #[test]
    fn files_without_a_header_are_no_memory() {
        let file = crate::machine::memory_file(c"vgpu-test", 16).unwrap();
        assert_eq!(memory_in(&file, 16), None);
        let file = crate::machine::memory_file(c"vgpu-test", 8192).unwrap();
        assert_eq!(memory_in(&file, 8192), None);
    }
}
