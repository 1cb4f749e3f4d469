//! Arbitrary bytes in a queue's memory, as a kernel may write them: packets, the queue's struct, signals. The
//! queue fails or continues, and is destroyed in the end. The fuzz target `queue` uses this file too.

use hsa_sys::*;

use super::small_gpu::gpu;

/// The number of packets in the queue.
const PACKETS: u32 = 16;

/// Calls a function of the table with arguments that its contract allows.
macro_rules! hsa {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let function = vgpu::hsa::table().$function;
        // SAFETY: as the macro says.
        unsafe { function($($argument),*) }
    }};
}

/// Performs the steps in the bytes: four bytes for each step, followed by its data.
pub(crate) fn run(bytes: &[u8]) {
    let agent = gpu();
    let mut queue: *mut hsa_queue_t = std::ptr::null_mut();
    let made =
        hsa!(hsa_queue_create(agent, PACKETS, 0, None, std::ptr::null_mut(), u32::MAX, u32::MAX, &mut queue));
    assert_eq!(made, hsa_status_t::HSA_STATUS_SUCCESS);
    let mut signal = hsa_signal_t { handle: 0 };
    assert_eq!(
        hsa!(hsa_signal_create(1, 0, std::ptr::null(), &mut signal)),
        hsa_status_t::HSA_STATUS_SUCCESS
    );
    // SAFETY: the queue was just made; kernels can write all of this.
    let (ring, doorbell) = unsafe { ((*queue).base_address as usize, (*queue).doorbell_signal) };
    let places = [
        (ring, PACKETS as usize * 64),
        (queue as usize, size_of::<amd_queue_v2_t>()),
        (signal.handle as usize, 64),
        (doorbell.handle as usize, 64),
    ];
    let mut written = 0u64;
    let mut rest = bytes;
    while let Some((&[what, low, high, length], after)) = rest.split_first_chunk::<4>() {
        let (data, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        let at = usize::from(u16::from_le_bytes([low, high]));
        let (start, size) = places[usize::from(what) % places.len()];
        for (offset, &byte) in data.iter().enumerate() {
            let place = start + (at + offset) % size;
            // SAFETY: the byte is one that kernels can write, whatever the host does with it meanwhile.
            unsafe { std::sync::atomic::AtomicU8::from_ptr(place as *mut u8) }
                .store(byte, std::sync::atomic::Ordering::SeqCst);
        }
        if what & 0x40 != 0 {
            // A packet written by the host: a barrier on the signal, with the same signal as its completion.
            let slot = ring + written as usize % PACKETS as usize * 64;
            let packet = hsa_barrier_and_packet_t {
                dep_signal: [hsa_signal_t { handle: if what & 0x20 != 0 { signal.handle } else { 0 } }; 5],
                completion_signal: signal,
                ..Default::default()
            };
            // SAFETY: the slot is one of the ring's.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    (&raw const packet).cast::<u8>().add(4),
                    (slot + 4) as *mut u8,
                    60,
                );
                std::sync::atomic::AtomicU32::from_ptr(slot as *mut u32)
                    .store(0x1503, std::sync::atomic::Ordering::Release);
            }
            written += 1;
        }
        if what & 0x80 != 0 {
            let index = hsa!(hsa_queue_add_write_index_scacq_screl(queue, 1));
            hsa!(hsa_signal_store_screlease(doorbell, index as i64));
            // The host's view does not depend on what kernels wrote.
            assert!(hsa!(hsa_queue_load_read_index_scacquire(queue)) < 1 << 20);
            hsa!(hsa_signal_wait_scacquire(
                signal,
                hsa_signal_condition_t::HSA_SIGNAL_CONDITION_LT,
                1,
                100_000,
                hsa_wait_state_t::HSA_WAIT_STATE_BLOCKED
            ));
        }
    }
    assert_eq!(hsa!(hsa_queue_destroy(queue)), hsa_status_t::HSA_STATUS_SUCCESS);
    assert_eq!(hsa!(hsa_signal_destroy(signal)), hsa_status_t::HSA_STATUS_SUCCESS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_in_a_queue_fail_it_or_let_it_go_on() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..300 {
            let mut bytes = Vec::new();
            for _ in 0..1 + next() % 12 {
                let length = next() % 24;
                bytes.extend([(next() >> 8) as u8, next() as u8 & 0x3f, 0, length as u8]);
                // Makes valid headers and handles as likely as others.
                bytes.extend((0..length).map(|_| (next() >> (next() % 60)) as u8));
            }
            run(&bytes);
        }
    }

    /// The kind of a signal is also in memory that kernels can write, but the host does not trust that copy.
    #[test]
    fn a_signal_whose_memory_says_otherwise_is_still_the_signal() {
        gpu();
        let mut signal = hsa_signal_t { handle: 0 };
        assert_eq!(
            hsa!(hsa_signal_create(7, 0, std::ptr::null(), &mut signal)),
            hsa_status_t::HSA_STATUS_SUCCESS
        );
        for kind in [0i64, -1, 5] {
            // SAFETY: the field is the first of the signal, in memory that is never unmapped.
            unsafe { std::sync::atomic::AtomicI64::from_ptr(signal.handle as *mut i64) }
                .store(kind, std::sync::atomic::Ordering::SeqCst);
            assert_eq!(hsa!(hsa_signal_load_scacquire(signal)), 7);
        }
        assert_eq!(hsa!(hsa_signal_destroy(signal)), hsa_status_t::HSA_STATUS_SUCCESS);
        assert_eq!(hsa!(hsa_signal_load_scacquire(signal)), 0);
    }
}
