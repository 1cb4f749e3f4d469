//! The cache lines and LDS banks that a wave's access touches.

use std::collections::HashSet;

use crate::machine::observe::LaneAccess;
use gpu_report::AccessKind;

/// Banks of LDS.
const BANKS: usize = 32;
/// Bytes that a bank transfers per cycle.
const BANK_BYTES: u64 = 4;

/// The number of cache lines of this size that the lanes touch.
pub(super) fn cache_lines(access: &LaneAccess, line: u64) -> u64 {
    let mut lines: Vec<u64> = access
        .lanes()
        .flat_map(|(_, address)| address / line..=address.saturating_add(u64::from(access.bytes) - 1) / line)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.len() as u64
}

/// The number of passes over LDS for an access, and the number of cycles: one per pass, plus conflicts.
///
/// In each pass, as many neighbouring lanes take part as make 128 bytes: 32 lanes of up to 4 bytes (half of a
/// wave of 64), 16 lanes of 8 bytes, 8 lanes of 12 or 16 bytes. In a cycle, a bank serves one dword to all
/// lanes that read or write it. Lanes that change the same dword atomically take turns.
pub(super) fn lds_cycles(access: &LaneAccess) -> (u64, u64) {
    let group = match access.bytes {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    let (mut passes, mut cycles) = (0, 0);
    for first in (0..64).step_by(group) {
        let mut used = [0u64; BANKS];
        let mut seen = HashSet::new();
        for lane in (first..first + group).filter(|lane| access.mask >> lane & 1 != 0) {
            let address = access.address[lane];
            let end = address.saturating_add(u64::from(access.bytes) - 1);
            for dword in address / BANK_BYTES..=end / BANK_BYTES {
                if seen.insert(dword) || access.kind == AccessKind::Atomic {
                    used[(dword % BANKS as u64) as usize] += 1;
                }
            }
        }
        let busiest = used.into_iter().max().unwrap_or(0);
        passes += u64::from(busiest != 0);
        cycles += busiest;
    }
    (passes, cycles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::observe::Moved;
    use gpu_report::Space;

    fn access(kind: AccessKind, bytes: u32, lanes: usize, address: impl Fn(usize) -> u64) -> LaneAccess {
        LaneAccess {
            space: Space::Lds,
            kind,
            scalar: false,
            bytes,
            mask: if lanes == 64 { u64::MAX } else { (1 << lanes) - 1 },
            address: std::array::from_fn(address),
            loaded: None,
            stored: None,
            moved: Moved::Plain,
        }
    }

    #[test]
    fn conflicts_are_those_of_32_banks_of_4_bytes() {
        let read = AccessKind::Read;
        for (bytes, stride, lanes, expected) in [
            (4, 4, 32, (1, 1)),
            (4, 4, 64, (2, 2)),
            // Every second bank, each twice.
            (4, 8, 32, (1, 2)),
            (4, 12, 32, (1, 1)),
            // All lanes in one bank, and one dword of padding that spreads them again.
            (4, 128, 32, (1, 32)),
            (4, 132, 64, (2, 2)),
            // One dword for all.
            (4, 0, 64, (2, 2)),
            (1, 1, 32, (1, 1)),
            (2, 2, 64, (2, 2)),
            (8, 8, 32, (2, 2)),
            (8, 16, 32, (2, 4)),
            (16, 16, 64, (8, 8)),
            (16, 32, 32, (4, 8)),
            (12, 12, 8, (1, 1)),
            (4, 4, 1, (1, 1)),
        ] {
            let access = access(read, bytes, lanes, |lane| stride * lane as u64);
            assert_eq!(lds_cycles(&access), expected, "{bytes} bytes every {stride} in {lanes} lanes");
        }
        let all_to_one = access(AccessKind::Atomic, 4, 32, |_| 64);
        assert_eq!(lds_cycles(&all_to_one), (1, 32));
    }

    #[test]
    fn cache_lines_are_counted_once() {
        for (bytes, start, stride, expected) in
            [(4, 0, 4, 1), (4, 2, 4, 2), (4, 0, 8, 2), (4, 0, 128, 32), (16, 0, 16, 4), (4, 126, 0, 2)]
        {
            let access = access(AccessKind::Read, bytes, 32, |lane| 4096 + start + stride * lane as u64);
            assert_eq!(cache_lines(&access, 128), expected, "{bytes} bytes at {start} every {stride}");
        }
    }
}
