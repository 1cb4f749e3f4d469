//! The compute units that a queue's kernels are for.
//!
//! The host's threads do the work, whatever compute units it is for: a mask is checked and kept, and changes nothing else.

use hsa_sys::*;

use super::event::lock;
use super::queue::{Queue, find_or};
use super::{S, call};
use crate::machine::Generation;

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;

/// All units of a device.
fn all(queue: &Queue) -> Vec<u32> {
    let units = queue.device.compute_units();
    (0..units.div_ceil(32)).map(|word| word_of_units(units, word)).collect()
}

/// The bits of one word of a mask that are units.
fn word_of_units(units: u32, word: u32) -> u32 {
    let left = units.saturating_sub(word * 32);
    if left >= 32 { u32::MAX } else { (1 << left) - 1 }
}

unsafe extern "C" fn set(queue: *const hsa_queue_t, bits: u32, mask: *const u32) -> S {
    call(|| {
        let found = find_or(queue, S::HSA_STATUS_ERROR_INVALID_QUEUE)?;
        if !bits.is_multiple_of(32) || (bits > 0 && mask.is_null()) {
            return Err(INVALID);
        }
        let mut chosen = all(&found);
        if bits > 0 {
            for (index, word) in chosen.iter_mut().enumerate() {
                let given = index < (bits / 32) as usize;
                // SAFETY: the caller's mask has that many bits.
                *word &= if given { unsafe { mask.add(index).read_unaligned() } } else { 0 };
            }
            // From gfx10 on, two units are one workgroup processor.
            let alone = matches!(found.device.target().generation, Generation::Gfx9 | Generation::Gfx940);
            let paired = alone || chosen.iter().all(|word| word & 0x5555_5555 == word >> 1 & 0x5555_5555);
            if !paired || chosen.iter().all(|&word| word == 0) {
                return Err(INVALID);
            }
        }
        *lock(&found.units) = Some(chosen);
        Ok(())
    })
}

unsafe extern "C" fn get(queue: *const hsa_queue_t, bits: u32, mask: *mut u32) -> S {
    call(|| {
        let found = find_or(queue, S::HSA_STATUS_ERROR_INVALID_QUEUE)?;
        if bits == 0 || !bits.is_multiple_of(32) || mask.is_null() {
            return Err(INVALID);
        }
        let units = lock(&found.units).clone().unwrap_or_else(|| all(&found));
        for index in 0..(bits / 32) as usize {
            // SAFETY: the caller's mask has room for that many bits.
            unsafe { mask.add(index).write_unaligned(units.get(index).copied().unwrap_or(0)) };
        }
        Ok(())
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_queue_cu_set_mask(set).hsa_amd_queue_cu_get_mask(get);
}
