//! The compute units that a queue's kernels run on.

use hsa_sys::*;

use super::event::lock;
use super::queue::{Queue, find_or};
use super::{S, call};
use crate::machine::{Generation, UnitMask};

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;

/// All units of a device.
fn all(queue: &Queue) -> UnitMask {
    UnitMask::first(queue.device.compute_units())
}

unsafe extern "C" fn set(queue: *const hsa_queue_t, bits: u32, mask: *const u32) -> S {
    call(|| {
        let found = find_or(queue, S::HSA_STATUS_ERROR_INVALID_QUEUE)?;
        if !bits.is_multiple_of(32) || (bits > 0 && mask.is_null()) {
            return Err(INVALID);
        }
        let mut chosen = all(&found);
        if bits > 0 {
            let given = (bits as usize / 32).min(chosen.words().len());
            // SAFETY: the caller's mask has that many bits.
            let words: Vec<u32> = (0..given).map(|word| unsafe { mask.add(word).read_unaligned() }).collect();
            chosen = chosen.and(&words);
            // From gfx10 on, two units are one workgroup processor.
            let alone = matches!(found.device.target().generation, Generation::Gfx9 | Generation::Gfx940);
            let paired =
                alone || chosen.words().iter().all(|word| word & 0x5555_5555 == word >> 1 & 0x5555_5555);
            if !paired || chosen.is_empty() {
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
        let units = lock(&found.units).unwrap_or_else(|| all(&found));
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
