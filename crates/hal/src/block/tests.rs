//! Blocks in the ring of a queue whose processor is the test.

use std::mem::offset_of;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use hsa::raw::{
    PacketRing, SCOPE_AGENT, SCOPE_SYSTEM, acquire, barrier_less_packet, complete_with, is_incomplete,
};
use hsa_sys::*;
use proptest::prelude::*;

use super::*;

/// The first word of a packet that is not written.
const INVALID: u32 = hsa_packet_type_t::HSA_PACKET_TYPE_INVALID.0;
/// The kernel that completes others.
const COMPLETER: u64 = 7 << 40;
const DONE: hsa_signal_t = hsa_signal_t { handle: 5 << 35 };

/// A queue, as HSA's begin.
#[repr(C)]
struct Fake {
    queue: hsa_queue_t,
    reserved: AtomicU64,
    read: AtomicU64,
    doorbell: AtomicI64,
}

unsafe extern "C" fn reserve(queue: *const hsa_queue_t, count: u64) -> u64 {
    // SAFETY: the tests' queues are the beginning of this structure.
    unsafe { &(*queue.cast::<Fake>()).reserved }.fetch_add(count, Ordering::AcqRel)
}

unsafe extern "C" fn read_index(queue: *const hsa_queue_t) -> u64 {
    // SAFETY: as above.
    unsafe { &(*queue.cast::<Fake>()).read }.load(Ordering::Acquire)
}

unsafe extern "C" fn ring(signal: hsa_signal_t, value: i64) {
    // SAFETY: the tests' signals are addresses of such words.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicI64>(signal.handle as usize) }
        .store(value, Ordering::Release);
}

fn table() -> &'static Table {
    static TABLE: std::sync::OnceLock<&'static Table> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| {
        let mut builder = Builder::new("rings", "0");
        builder
            .hsa_queue_add_write_index_screlease(reserve)
            .hsa_queue_load_read_index_scacquire(read_index)
            .hsa_signal_store_screlease(ring);
        // SAFETY: the functions do what a ring needs.
        unsafe { builder.finish() }
    })
}

/// A queue and its processor.
struct Queue {
    fake: *mut Fake,
    slots: *mut Packet,
    size: usize,
}

impl Queue {
    fn new(size: usize) -> Self {
        let mut slots = vec![[0; 16]; size];
        slots.iter_mut().for_each(|slot| slot[0] = INVALID);
        let slots = Box::into_raw(slots.into_boxed_slice()).cast::<Packet>();
        slots.expose_provenance();
        let fake = Box::into_raw(Box::new(Fake {
            queue: hsa_queue_t { base_address: slots.cast(), size: size as u32, ..hsa_queue_t::default() },
            reserved: AtomicU64::new(0),
            read: AtomicU64::new(0),
            doorbell: AtomicI64::new(-1),
        }));
        // SAFETY: the structure was just made.
        unsafe {
            let doorbell = (&raw mut (*fake).doorbell).expose_provenance();
            (*fake).queue.doorbell_signal = hsa_signal_t { handle: doorbell as u64 };
        }
        Self { fake, slots, size }
    }

    fn ring(&self) -> PacketRing {
        // SAFETY: the queue lives as long as the test uses the ring.
        unsafe { PacketRing::of(table(), self.fake.cast()) }.unwrap()
    }

    /// Processes a packet, even if the doorbell has not rung for it.
    fn process(&self) -> Option<Packet> {
        // SAFETY: the queue is live.
        let read = unsafe { &(*self.fake).read };
        let index = read.load(Ordering::Acquire);
        let slot = self.slots.wrapping_add(index as usize % self.size).cast::<u32>();
        // SAFETY: the slot is one of the queue's, and no other thread uses it.
        let packet = unsafe {
            let packet = slot.cast::<Packet>().read();
            if is_incomplete(&packet) {
                return None;
            }
            AtomicU32::from_ptr(slot).store(INVALID, Ordering::Release);
            packet
        };
        let word = |at: usize| u64::from(packet[at]) | u64::from(packet[at + 1]) << 32;
        if word(8) == COMPLETER {
            // SAFETY: its arguments are an address of a slot and a word.
            unsafe {
                let arguments = std::ptr::with_exposed_provenance::<u64>(word(10) as usize);
                let target =
                    std::ptr::with_exposed_provenance_mut::<u32>(arguments.read_unaligned() as usize);
                let ahead =
                    (target as usize - self.slots as usize) / 64 + self.size - index as usize % self.size;
                assert_eq!(ahead % self.size, 2);
                assert_eq!(target.read(), INVALID);
                assert_ne!(target.add(offset_of!(hsa_kernel_dispatch_packet_t, kernel_object) / 4).read(), 0);
                target.write(arguments.add(1).read_unaligned() as u32);
            }
        }
        read.store(index + 1, Ordering::Release);
        Some(packet)
    }

    fn rung(&self) -> i64 {
        // SAFETY: the queue is live.
        unsafe { &(*self.fake).doorbell }.load(Ordering::Acquire)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: both were made by `new`, and nothing uses them any more.
        unsafe {
            drop(Box::from_raw(self.fake));
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.slots, self.size)));
        }
    }
}

fn dispatch(kernel: u64) -> Dispatch {
    Dispatch { grid: [64, 1, 1], block: [64, 1, 1], private: 0, group: 0, kernel }
}

/// A kernel of a test.
#[derive(Clone, Copy, Debug)]
struct Item {
    arguments: usize,
    is_ordered: bool,
    is_completed: bool,
}

/// A block, and what a queue has to process with the arguments at an address.
fn block(items: &[Item]) -> (Block, impl Fn(u64) -> Vec<Packet> + use<>) {
    let (mut draft, mut expected) = (Draft::new(), Vec::new());
    let mut last = 0;
    for (index, item) in items.iter().enumerate() {
        let kernel = dispatch((1 + index as u64) << 33 | 1);
        let is_ordered = item.is_ordered || index == 0;
        if is_ordered {
            draft.barrier();
        }
        let arguments = draft.arguments(item.arguments, 8);
        assert!(arguments.start % 64 == 0 && arguments.start >= last);
        last = arguments.end;
        draft.bytes(arguments.clone()).fill(index as u8);
        let place = (!arguments.is_empty()).then_some(arguments.start);
        if item.is_completed {
            let own = draft.arguments(16, 8);
            last = own.end;
            expected.push((dispatch(COMPLETER), Some(own.start), Some(is_ordered)));
            draft.kernel(&dispatch(COMPLETER), own.clone());
            draft.completed_kernel(&kernel, arguments, [own.start, own.start + 8]);
            expected.push((kernel, None, None));
            expected.push((kernel, place, Some(true)));
        } else {
            draft.kernel(&kernel, arguments);
            expected.push((kernel, place, Some(is_ordered)));
        }
    }
    let expected = move |base: u64| {
        let packet = |&(kernel, place, is_ordered): &(Dispatch, Option<usize>, Option<bool>)| match is_ordered
        {
            Some(is_ordered) => {
                prepared_packet(&kernel, place.map_or(0, |place| base + place as u64), is_ordered)
            }
            None => barrier_packet(&[], NO_SIGNAL, SCOPE_AGENT),
        };
        expected.iter().map(packet).collect()
    };
    (draft.finish(), expected)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]
    /// The processor looks at packets at any time, and sees all, in order, and completes those that have to
    /// be.
    #[test]
    fn a_queue_processes_what_was_recorded(
        items in prop::collection::vec((0usize..100, any::<bool>(), prop::bool::weighted(0.2)), 0..30),
        is_patched in any::<bool>(),
        before in 0usize..4,
        (does_acquire, does_complete, is_marked, is_scheduled) in any::<(bool, bool, bool, bool)>(),
        steps in prop::collection::vec(1usize..9, 1..20),
        launches in 1usize..4,
    ) {
        let item = |&(arguments, is_ordered, is_completed): &(usize, bool, bool)| {
            Item { arguments, is_ordered, is_completed: is_completed && is_patched }
        };
        let (mut block, expected) = block(&items.iter().map(item).collect::<Vec<_>>());
        let queue = Queue::new(8);
        let mut ring = queue.ring();
        let mut memory = vec![0u8; block.arguments()];
        let base = memory.as_mut_ptr().expose_provenance() as u64;
        let own = block.has_patches();
        if !own {
            block.place(&mut memory);
        }
        for _ in 0..launches {
            let mut wanted = expected(base);
            let mut submission = match own {
                true => block.submission_with(&mut memory, |_| ()),
                false => block.submission(0..block.packets().len()),
            };
            if is_marked {
                for (packet, wanted) in submission.packets_mut().iter_mut().zip(&mut wanted) {
                    (packet[15], wanted[15]) = (3, 3);
                }
            }
            if does_acquire && let Some(first) = wanted.first_mut() {
                submission.acquire(SCOPE_SYSTEM);
                acquire(first, SCOPE_SYSTEM);
            }
            if does_complete {
                submission.complete(DONE);
                match wanted.last_mut() {
                    Some(last) if hsa::raw::is_dispatch(last) && hsa::raw::is_ordered(last) => {
                        complete_with(last, DONE);
                    }
                    _ => wanted.push(barrier_packet(&[], DONE, SCOPE_SYSTEM)),
                }
            }
            let waits: Vec<Packet> = (0..before).map(|n| barrier_less_packet(DONE, n as i64)).collect();
            waits.iter().for_each(|&packet| submission.add_before(packet));
            let wanted: Vec<Packet> = waits.into_iter().chain(wanted).collect();
            let (mut seen, mut steps) = (Vec::new(), steps.iter().cycle());
            if is_scheduled && submission.count() <= queue.size {
                // As the device's scheduler does it, which has room for all and writes the last one first.
                let (packets, addresses) = submission.into_packets();
                let first = ring.reserve(packets.len() as u64);
                for (at, packet) in addresses {
                    let place = std::ptr::with_exposed_provenance_mut::<u64>(at as usize);
                    // SAFETY: the place is in the arguments, which nothing else uses.
                    unsafe { place.write_unaligned(ring.slot(first + packet as u64)) };
                }
                for (index, packet) in packets.iter().enumerate().rev() {
                    prop_assert_eq!(queue.process(), None);
                    prop_assert!(ring.has_room(first, packets.len() as u64));
                    // SAFETY: the slots are reserved and have room; as below.
                    unsafe { ring.fill(first + index as u64, std::slice::from_ref(packet)) };
                }
                seen.extend(std::iter::from_fn(|| queue.process()));
                prop_assert_eq!(seen, wanted);
                continue;
            }
            // SAFETY: the packets name nothing but the arguments, which live as long.
            let mut writing = unsafe { submission.begin(&mut ring) };
            while !writing.advance(&mut ring) {
                prop_assert_eq!(queue.rung() + 1, ring.written() as i64);
                seen.extend((0..*steps.next().unwrap()).map_while(|_| queue.process()));
            }
            prop_assert_eq!(queue.rung() + 1, ring.written() as i64);
            seen.extend(std::iter::from_fn(|| queue.process()));
            prop_assert_eq!(seen, wanted);
        }
    }
}

#[test]
fn arguments_have_their_bytes_and_addresses_of_themselves() {
    let mut draft = Draft::new();
    assert!(draft.is_empty());
    let data = draft.arguments(5, 1);
    draft.bytes(data.clone()).copy_from_slice(b"bytes");
    let arguments = draft.arguments(16, 8);
    draft.bytes(arguments.clone()).fill(9);
    draft.refer(arguments.start + 8, data.start);
    assert_eq!(draft.kernel(&dispatch(1), arguments.clone()), 0);
    let mut block = draft.finish();
    assert_eq!((block.packets().len(), arguments.start), (1, 64));
    let mut memory = vec![1u8; block.arguments() + 8];
    let base = memory.as_ptr() as u64;
    block.place(&mut memory);
    assert_eq!(&memory[..5], b"bytes");
    assert_eq!(memory[64..72], [9; 8]);
    assert_eq!(memory[72..80], base.to_le_bytes());
    // What was behind is as before.
    assert_eq!(memory[80..], [1; 8]);
    assert_eq!(block.arguments(), 0);
    assert_eq!(block.packets(), [prepared_packet(&dispatch(1), base + 64, true)]);
}

#[test]
#[should_panic(expected = "the arguments have a place")]
fn a_block_whose_arguments_have_no_place_cannot_be_submitted() {
    let mut draft = Draft::new();
    let arguments = draft.arguments(8, 8);
    draft.kernel(&dispatch(1), arguments);
    let _ = draft.finish().submission(0..1);
}
