//! The packets of a queue: memory that kernels and the host share, and kernels may fill with anything.

use std::mem::{align_of, offset_of, size_of};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hsa_sys::hsa_signal_t;

use crate::queue::hostcall::message::{Messages, Text};

/// Numbers of the services that device code can request.
const FUNCTION_CALL: u32 = 1;
const PRINTF: u32 = 2;
const DEVICE_MEMORY: u32 = 3;

/// The bit of a packet's control word on which its wave waits.
const READY: u32 = 1;

/// The head of a packet.
#[repr(C)]
struct Header {
    next: AtomicU64,
    /// The requesting lanes.
    active: AtomicU64,
    service: AtomicU32,
    control: AtomicU32,
}

/// A packet's rows, by lane.
type Payload = [[AtomicU64; 8]; 64];

/// The structure at the start of the buffer in `hidden_hostcall_buffer`.
#[repr(C)]
struct Head {
    headers: u64,
    payloads: u64,
    doorbell: hsa_signal_t,
    free: AtomicU64,
    ready: AtomicU64,
    /// The index bits of a list's head.
    mask: u64,
}

/// The code that answers packets.
pub(crate) trait Host {
    /// Allocates memory for the device's `malloc`, or frees it.
    fn device_memory(&self, address: u64, size: u64) -> u64;
    /// Calls a function of the program: its address, and seven words for it.
    fn function(&self, words: &[u64; 8]) -> Result<[u64; 2], String>;
    /// Passes on printed text.
    fn print(&self, text: Text);
}

/// The result of serving ready packets.
pub(crate) struct Served {
    /// There may be more by now.
    pub(crate) more: bool,
    /// A request for an unknown service, or an error in the packets.
    pub(crate) trouble: Option<String>,
    /// Packets with failed requests. Their waves wait until [`Packets::release`]; the caller records the
    /// trouble first. Otherwise the kernel might complete, and its waiters would see no error.
    pub(crate) refused: Vec<usize>,
}

/// The packets of one queue.
pub(crate) struct Packets {
    /// The [`Head`], then headers, then payloads.
    memory: usize,
    /// The number of packets; a power of two.
    count: u64,
}

/// Offsets of headers and payloads, and the total size.
fn layout(count: u64) -> (u64, u64, u64) {
    let headers = (size_of::<Head>() as u64).next_multiple_of(align_of::<Header>() as u64);
    let payloads = (headers + count * size_of::<Header>() as u64).next_multiple_of(64);
    (headers, payloads, payloads + count * size_of::<Payload>() as u64)
}

/// Bytes that packets need.
pub(crate) fn size(count: u64) -> u64 {
    layout(count).2
}

impl Packets {
    /// Puts packets into memory, all of them on the free list.
    ///
    /// # Safety
    /// The memory is aligned to 64 bytes and has [`size`] bytes, which nothing else uses yet and which stay
    /// allocated, with only atomic accesses, as long as packets are served. The count is a power of two.
    pub(crate) unsafe fn new(memory: usize, count: u64, doorbell: hsa_signal_t) -> Self {
        let (headers, payloads, _) = layout(count);
        let base = memory as u64;
        // SAFETY: `layout` has room for the head and all headers in the memory, which is the caller's to
        // give.
        unsafe {
            (memory as *mut u8).write_bytes(0, payloads as usize);
            (memory as *mut Head).write(Head {
                headers: base + headers,
                payloads: base + payloads,
                doorbell,
                free: AtomicU64::new(count - 1),
                ready: AtomicU64::new(0),
                mask: count - 1,
            });
            let first = (base + headers) as *mut Header;
            for index in 1..count {
                // Zero ends a list, so index 0 has a tag from the start.
                let next = if index == 1 { count } else { index - 1 };
                (*first.add(index as usize)).next = AtomicU64::new(next);
            }
        }
        Self { memory, count }
    }

    /// The value of `hidden_hostcall_buffer`.
    pub(crate) fn address(&self) -> u64 {
        self.memory as u64
    }

    /// How many lanes can make requests at once.
    pub(crate) fn lanes(&self) -> usize {
        self.count as usize * 64
    }

    /// The head of the ready list.
    fn ready(&self) -> &AtomicU64 {
        // SAFETY: the head is at the start of the memory, which is there as `new` was promised. Device and
        // host access the word atomically only.
        unsafe { &*((self.memory + offset_of!(Head, ready)) as *const AtomicU64) }
    }

    /// A packet's index, from any number.
    fn index(&self, number: u64) -> usize {
        (number & (self.count - 1)) as usize
    }

    fn packet(&self, index: usize) -> (&Header, &Payload) {
        let (headers, payloads, _) = layout(self.count);
        let header = self.memory + headers as usize + index * size_of::<Header>();
        let payload = self.memory + payloads as usize + index * size_of::<Payload>();
        // SAFETY: both lie in the memory, as `index` is less than the number of packets; they consist of
        // atomic words.
        unsafe { (&*(header as *const Header), &*(payload as *const Payload)) }
    }

    /// Answers ready packets, each at most once.
    pub(crate) fn serve(&self, messages: &mut Messages, host: &dyn Host) -> Served {
        let mut served = Served { more: false, trouble: None, refused: Vec::new() };
        let mut seen = vec![false; self.count as usize];
        // The list starts with the newest packet.
        let mut waiting = Vec::new();
        let mut next = self.ready().swap(0, Ordering::Acquire);
        while next != 0 {
            served.more = true;
            let index = self.index(next);
            if std::mem::replace(&mut seen[index], true) {
                served.trouble = Some("device code made an endless list of calls to the host".to_owned());
                break;
            }
            waiting.push(index);
            next = self.packet(index).0.next.load(Ordering::Relaxed);
        }
        for index in waiting.into_iter().rev() {
            let (header, payload) = self.packet(index);
            match answer(header, payload, messages, host) {
                Ok(()) => self.release(index),
                Err(what) => {
                    served.trouble = Some(what);
                    served.refused.push(index);
                }
            }
        }
        served
    }

    /// Lets a packet's wave go on.
    pub(crate) fn release(&self, index: usize) {
        self.packet(index).0.control.fetch_and(!READY, Ordering::Release);
    }
}

/// Answers one packet, lane by lane; an error names the request that could not be fulfilled.
fn answer(
    header: &Header,
    payload: &Payload,
    messages: &mut Messages,
    host: &dyn Host,
) -> Result<(), String> {
    let service = header.service.load(Ordering::Relaxed);
    let mut text = Text::default();
    let mut result = Ok(());
    let mut lanes = header.active.load(Ordering::Relaxed);
    while lanes != 0 {
        let row = &payload[lanes.trailing_zeros() as usize];
        lanes &= lanes - 1;
        let words: [u64; 8] = std::array::from_fn(|index| row[index].load(Ordering::Relaxed));
        let answered = match service {
            PRINTF => messages.take(words, &mut text),
            DEVICE_MEMORY => Ok([host.device_memory(words[0], words[1]), words[1]]),
            FUNCTION_CALL => host.function(&words),
            _ => Err(format!("device code asked the host for service {service}, which does not exist")),
        };
        let answer = answered.unwrap_or_else(|what| {
            result = Err(what);
            [u64::MAX; 2]
        });
        row[0].store(answer[0], Ordering::Relaxed);
        row[1].store(answer[1], Ordering::Relaxed);
        if text.len() > AT_ONCE {
            host.print(std::mem::take(&mut text));
        }
    }
    host.print(text);
    result
}

/// Bytes of text that are collected before they are passed on.
const AT_ONCE: usize = 1 << 20;

/// Any bytes that a kernel may write to the packets are answered, and have no other effect.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(bytes: &[u8]) {
    use crate::queue::hostcall::message::{LONGEST, MOST};
    use crate::queue::printf;
    use std::cell::Cell;

    /// Packets of the buffer.
    const COUNT: u64 = 4;

    #[derive(Default)]
    struct Answers {
        calls: Cell<usize>,
        printed: Cell<usize>,
    }

    impl Host for Answers {
        fn device_memory(&self, address: u64, size: u64) -> u64 {
            self.calls.set(self.calls.get() + 1);
            address ^ size
        }

        fn function(&self, words: &[u64; 8]) -> Result<[u64; 2], String> {
            self.calls.set(self.calls.get() + 1);
            super::functions::call(words)
        }

        fn print(&self, text: Text) {
            assert!(text.len() <= AT_ONCE + printf::LONGEST + 4096);
            self.printed.set(self.printed.get() + text.len());
        }
    }

    #[repr(C, align(64))]
    struct Line([u8; 64]);

    let lines = (size(COUNT) as usize).div_ceil(64);
    let mut memory: Vec<Line> = (0..lines).map(|_| Line([0; 64])).collect();
    let address = memory.as_mut_ptr() as usize;
    // SAFETY: the lines have the size and alignment, and live until the end of this function.
    let packets = unsafe { Packets::new(address, COUNT, hsa_signal_t { handle: 0 }) };
    let (headers, payloads, size) = layout(COUNT);
    let mut messages = Messages::new(packets.lanes());
    let answers = Answers::default();
    let mut rest = bytes;
    // Each round: the position, number and values of bytes to write; or the contents of the ready list.
    while let Some((&[what, low, high, length], after)) = rest.split_first_chunk::<4>() {
        let (data, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        let at = u64::from(u16::from_le_bytes([low, high]));
        let start = match what & 3 {
            // The first words of a row matter most.
            0 => payloads + at % (64 * COUNT) * 64,
            1 => headers + at % (COUNT * size_of::<Header>() as u64),
            2 => at % size,
            _ => {
                packets.ready().store(at, Ordering::Release);
                let served = packets.serve(&mut messages, &answers);
                assert!(served.more == (at != 0));
                assert!(served.refused.is_empty() || served.trouble.is_some());
                served.refused.into_iter().for_each(|index| packets.release(index));
                let (count, words) = messages.held();
                assert!(count <= packets.lanes() && words <= MOST && words <= count * LONGEST);
                continue;
            }
        };
        for (offset, &byte) in data.iter().enumerate() {
            let place = (start as usize + offset) % size as usize;
            // SAFETY: the place is in the memory, to which there are no references now.
            unsafe { ((address + place) as *mut u8).write(byte) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_of_the_device_libraries() {
        assert_eq!(
            (offset_of!(Head, headers), offset_of!(Head, payloads), offset_of!(Head, doorbell)),
            (0, 8, 16)
        );
        assert_eq!((offset_of!(Head, free), offset_of!(Head, ready), offset_of!(Head, mask)), (24, 32, 40));
        assert_eq!((offset_of!(Header, next), offset_of!(Header, active)), (0, 8));
        assert_eq!(
            (offset_of!(Header, service), offset_of!(Header, control), size_of::<Header>()),
            (16, 20, 24)
        );
        assert_eq!(size_of::<Payload>(), 64 * 64);
    }

    #[test]
    fn any_bytes_in_the_packets_are_answered() {
        let mut next = crate::tests::random();
        for round in 0..2000 {
            let mut bytes: Vec<u8> = (0..4096 + round % 512).map(|_| (next() >> 32) as u8).collect();
            // An existing service, and requesting lanes, in the header of the ready packet.
            let service = (next() % 5) as u8;
            for (index, byte) in
                [1, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, service, 0, 0, 0, 1, 0, 0, 0]
                    .into_iter()
                    .enumerate()
            {
                bytes[index] = byte;
            }
            for (index, byte) in [3, 4, 0, 0].into_iter().enumerate() {
                bytes[28 + index] = byte;
            }
            fuzz(&bytes);
        }
    }

    /// A host that accepts requests for memory and functions, but has neither.
    struct Nobody;

    impl Host for Nobody {
        fn device_memory(&self, _: u64, _: u64) -> u64 {
            0
        }
        fn function(&self, _: &[u64; 8]) -> Result<[u64; 2], String> {
            Ok([0; 2])
        }
        fn print(&self, _: Text) {}
    }

    /// Calls a function with a buffer of four packets.
    fn with_packets(body: impl FnOnce(&Packets)) {
        let mut memory = vec![0u128; size(4) as usize / 16 + 8];
        let address = (memory.as_mut_ptr() as usize).next_multiple_of(64);
        // SAFETY: the memory is larger than it has to be by what aligning it takes, and lives until the end
        // of this function.
        body(&unsafe { Packets::new(address, 4, hsa_signal_t { handle: 0 }) });
    }

    /// Puts a packet on the ready list, as a wave does.
    fn make_ready(packets: &Packets, index: u64, service: u32) {
        let header = packets.packet(index as usize).0;
        header.active.store(1, Ordering::Relaxed);
        header.service.store(service, Ordering::Relaxed);
        header.control.store(READY, Ordering::Relaxed);
        header.next.store(packets.ready().load(Ordering::Relaxed), Ordering::Relaxed);
        packets.ready().store(4 + index, Ordering::Release);
    }

    /// The waves of refused packets wait until the error has been recorded.
    #[test]
    fn waves_that_are_refused_wait_until_they_are_released() {
        with_packets(|packets| {
            make_ready(packets, 1, DEVICE_MEMORY + 1);
            make_ready(packets, 2, FUNCTION_CALL);
            make_ready(packets, 3, 77);
            let served = packets.serve(&mut Messages::new(packets.lanes()), &Nobody);
            assert_eq!(served.refused, [1, 3]);
            assert!(served.trouble.is_some_and(|what| what.contains("service 77")));
            let waits = |index| packets.packet(index).0.control.load(Ordering::Relaxed) & READY != 0;
            assert_eq!([1, 2, 3].map(waits), [true, false, true]);
            packets.release(1);
            packets.release(3);
            assert_eq!([1, 2, 3].map(waits), [false; 3]);
        });
    }

    /// A circular list is followed once.
    #[test]
    fn a_list_that_never_ends_is_trouble() {
        with_packets(|packets| {
            for index in 0..4 {
                packets.packet(index).0.next.store(4 + (index as u64 + 1) % 4, Ordering::Relaxed);
            }
            packets.ready().store(4, Ordering::Relaxed);
            let served = packets.serve(&mut Messages::new(packets.lanes()), &Nobody);
            assert!(served.trouble.is_some_and(|what| what.contains("endless")));
        });
    }
}
