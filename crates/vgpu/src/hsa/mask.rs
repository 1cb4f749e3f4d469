//! The compute units that a queue's kernels run on: those that `HSA_CU_MASK` allows, narrowed down to the
//! program's own selection.
//!
//! `HSA_CU_MASK` is a list of sets `GPUs:units`, separated by `;`. Both sides are lists of numbers and
//! ranges, as in `0-1:0-3,6`; the units can also be a hexadecimal mask, as in `2:0xf0`. GPUs that it does not
//! name have all of their units.

use std::ops::RangeInclusive;

use hsa_sys::*;

use super::event::lock;
use super::queue::find_or;
use super::{S, call};
use crate::MAX_COMPUTE_UNITS;
use crate::machine::{Device, Generation, UnitMask};

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
const VARIABLE: &str = "HSA_CU_MASK";

/// The compute units of a queue.
#[derive(Debug)]
pub(super) struct Units {
    present: UnitMask,
    /// The units that the environment allows.
    possible: UnitMask,
    chosen: UnitMask,
}

impl Units {
    /// All units of the device that the environment allows.
    pub(super) fn of(device: &Device) -> Result<Units, S> {
        let present = UnitMask::first(device.compute_units());
        let text = std::env::var(VARIABLE).unwrap_or_default();
        let words = words_for(device.index() as u64, &text).map_err(|part| {
            tracing::error!(
                "{VARIABLE}: \"{part}\" is not of the form GPUs:units, such as 0-1:0-3,6 or 2:0xf0"
            );
            INVALID
        })?;
        let possible = words.map_or(present, |words| present.and(&words));
        check(device, &possible)?;
        Ok(Units { present, possible, chosen: possible })
    }

    /// The units of a kernel; none if it may run on all that the device has.
    pub(super) fn selected(&self) -> Option<UnitMask> {
        (self.chosen != self.present).then_some(self.chosen)
    }
}

/// Refuses masks that a queue cannot have.
fn check(device: &Device, units: &UnitMask) -> Result<(), S> {
    // From gfx10 on, two units form a workgroup processor. The last one of a device may have a single unit.
    let alone = matches!(device.target().generation(), Generation::Gfx9 | Generation::Gfx940);
    let present = UnitMask::first(device.compute_units());
    let paired = alone
        || units.words().iter().zip(present.words()).all(|(word, present)| {
            let processors = (word | word >> 1) & 0x5555_5555;
            (processors | processors << 1) & present == *word
        });
    if paired && !units.is_empty() { Ok(()) } else { Err(INVALID) }
}

/// The words of a GPU's mask in a text, if there is one. The error is the part that cannot be parsed.
fn words_for(gpu: u64, text: &str) -> Result<Option<Vec<u32>>, String> {
    let mut found: Option<Vec<u32>> = None;
    for set in text.split(';').map(str::trim).filter(|set| !set.is_empty()) {
        let bad = || set.to_owned();
        let (gpus, units) = set.split_once(':').ok_or_else(bad)?;
        let gpus = ranges(gpus).ok_or_else(bad)?;
        let units = match units.trim().strip_prefix("0x") {
            Some(digits) => of_digits(digits),
            None => ranges(units).map(|units| of_ranges(&units)),
        };
        let units = units.ok_or_else(bad)?;
        if gpus.iter().any(|range| range.contains(&gpu)) {
            found
                .get_or_insert_with(|| vec![0; units.len()])
                .iter_mut()
                .zip(units)
                .for_each(|(to, word)| *to |= word);
        }
    }
    Ok(found)
}

/// Parses ranges such as `0-3, 6`.
fn ranges(text: &str) -> Option<Vec<RangeInclusive<u64>>> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let range = |text: &str| match text.split_once('-') {
        Some((first, last)) => Some(number(first)?..=number(last)?).filter(|range| !range.is_empty()),
        None => number(text).map(|one| one..=one),
    };
    text.split(',').map(range).collect()
}

const WORDS: usize = MAX_COMPUTE_UNITS as usize / 32;

/// The mask of some units. Numbers of nonexistent units are ignored.
fn of_ranges(ranges: &[RangeInclusive<u64>]) -> Vec<u32> {
    let chosen = |unit: usize| ranges.iter().any(|range| range.contains(&(unit as u64)));
    (0..WORDS)
        .map(|word| (0..32).fold(0, |bits, bit| bits | u32::from(chosen(32 * word + bit)) << bit))
        .collect()
}

/// Parses a hexadecimal mask, highest digit first.
fn of_digits(digits: &str) -> Option<Vec<u32>> {
    let digits: Option<Vec<u32>> = digits.chars().rev().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| !digits.is_empty())?;
    let word =
        |digits: &[u32]| digits.iter().enumerate().fold(0, |word, (at, digit)| word | digit << (4 * at));
    let mut words: Vec<u32> = digits.chunks(8).map(word).collect();
    words.resize(WORDS, 0);
    Some(words)
}

unsafe extern "C" fn set(queue: *const hsa_queue_t, bits: u32, mask: *const u32) -> S {
    call(|| {
        let found = find_or(queue, S::HSA_STATUS_ERROR_INVALID_QUEUE)?;
        if !bits.is_multiple_of(32) || (bits > 0 && mask.is_null()) {
            return Err(INVALID);
        }
        let mut units = lock(&found.units);
        if bits == 0 {
            units.chosen = units.possible;
            return Ok(());
        }
        let given = (bits as usize / 32).min(units.present.words().len());
        // SAFETY: the caller's mask has that many bits.
        let words: Vec<u32> = (0..given).map(|word| unsafe { mask.add(word).read_unaligned() }).collect();
        let chosen = units.possible.and(&words);
        check(&found.device, &chosen)?;
        units.chosen = chosen;
        if chosen == units.present.and(&words) { Ok(()) } else { Err(S::HSA_STATUS_CU_MASK_REDUCED) }
    })
}

unsafe extern "C" fn get(queue: *const hsa_queue_t, bits: u32, mask: *mut u32) -> S {
    call(|| {
        let found = find_or(queue, S::HSA_STATUS_ERROR_INVALID_QUEUE)?;
        if bits == 0 || !bits.is_multiple_of(32) || mask.is_null() {
            return Err(INVALID);
        }
        let units = lock(&found.units).chosen;
        for index in 0..(bits / 32) as usize {
            // SAFETY: the caller's mask has room for that many bits.
            unsafe { mask.add(index).write_unaligned(units.words().get(index).copied().unwrap_or(0)) };
        }
        Ok(())
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_queue_cu_set_mask(set).hsa_amd_queue_cu_get_mask(get);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(gpu: u64, text: &str) -> Option<[u32; 2]> {
        words_for(gpu, text).unwrap().map(|words| [words[0], words[1]])
    }

    #[test]
    fn the_variable_names_units_by_ranges_and_digits() {
        assert_eq!(words(0, ""), None);
        assert_eq!(words(0, "0:0-3, 6 ,33"), Some([0x4f, 2]));
        assert_eq!(words(1, "0:0-3"), None);
        assert_eq!(words(3, "0:0-3; 1-2, 3 : 0x1F0000000a"), Some([10, 0x1f]));
        assert_eq!(words(0, "0:1;0:4;"), Some([0x12, 0]), "sets of one GPU add up");
        assert_eq!(words(0, "0:5000"), Some([0, 0]));
        for text in
            ["0", "x:1", "0:", "0:1-", "0:3-1", "0:0x", "0:0xg", "0:0xé", ":1", "0:1,", "0:-1", "0-:2"]
        {
            assert_eq!(words_for(0, &format!("0:1;{text}")), Err(text.to_owned()));
        }
    }
}
