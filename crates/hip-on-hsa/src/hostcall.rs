//! Calls from device code to the host: `printf`, `assert`, `malloc` and functions of the program.
//!
//! The layouts and the protocol are those of AMD's device libraries (ROCm 5.2 to 7.2). Each queue has a buffer of packets,
//! one for each wave that the device can hold, in two lists: free ones and those ready for the host. A wave takes a free
//! packet, fills in a row of eight words for each enabled lane, puts it on the ready list, adds one to the doorbell signal and
//! spins until the host has cleared the packet's ready flag. The host's answer is in the first two words of each row.
//! Heads of the lists are a packet's index and, above it, a tag that changes with each use.

use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::{align_of, offset_of, size_of};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use hip_sys::hipError_t;
use hsa_sys::hsa_signal_t;

use crate::device::Device;
use crate::error::Result;
use crate::output::{self, Channel};
use crate::printf;
use crate::progress::Progress;
use crate::runtime::{Runtime, runtime};

/// Numbers of the services that device code can ask for.
const FUNCTION_CALL: u32 = 1;
const PRINTF: u32 = 2;
const DEVICE_MEMORY: u32 = 3;

/// The bit of a packet's control word that its wave waits for.
const READY: u32 = 1;

/// A message's descriptor: begins, ends, words that follow (three bits), number of the message.
const BEGIN: u64 = 1 << 0;
const END: u64 = 1 << 1;
const LENGTH_SHIFT: u32 = 5;
const LENGTH_MASK: u64 = 7;
const NUMBER_SHIFT: u32 = 8;

/// The head of a packet.
#[repr(C)]
struct Header {
    next: AtomicU64,
    /// Lanes that ask.
    active: AtomicU64,
    service: AtomicU32,
    control: AtomicU32,
}

/// A packet's rows, by lane.
type Payload = [[AtomicU64; 8]; 64];

/// What `hidden_hostcall_buffer` points to.
#[repr(C)]
struct Head {
    headers: u64,
    payloads: u64,
    doorbell: hsa_signal_t,
    free: AtomicU64,
    ready: AtomicU64,
    /// The bits of a list's head that are an index.
    mask: u64,
}

/// A function of the program as device code calls it: it gets seven words and returns two.
type HostFunction = unsafe extern "C" fn(output: *mut u64, input: *const u64);

/// The packets of one queue.
pub(crate) struct Hostcalls {
    runtime: &'static Runtime,
    device: &'static Device,
    progress: Arc<Progress>,
    /// The [`Head`], then headers, then payloads.
    memory: usize,
    packets: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// No queue uses the packets any more, and their memory is gone.
    closed: bool,
    /// Messages of which the end is still to come.
    messages: HashMap<u64, Vec<u64>>,
    last_message: u64,
}

/// Where headers and payloads begin, and the size of it all.
fn layout(packets: u64) -> (u64, u64, u64) {
    let headers = (size_of::<Head>() as u64).next_multiple_of(align_of::<Header>() as u64);
    let payloads = (headers + packets * size_of::<Header>() as u64).next_multiple_of(64);
    (headers, payloads, payloads + packets * size_of::<Payload>() as u64)
}

impl Hostcalls {
    /// Makes a buffer for a queue of the device and has the listener look after it.
    pub(crate) fn register(
        runtime: &'static Runtime,
        device: &'static Device,
        progress: Arc<Progress>,
    ) -> Result<Registered> {
        let listener = Listener::get(runtime)?;
        let info = &device.info;
        // No wave may ever find the free list empty.
        let packets =
            (u64::from(info.compute_units) * u64::from(info.waves_per_cu)).max(2).next_power_of_two();
        let (headers, payloads, size) = layout(packets);
        let size = usize::try_from(size).map_err(|_| hipError_t::hipErrorOutOfMemory)?;
        let memory = runtime.allocate_shared(device.agent, size)?;
        let base = memory as u64;
        // SAFETY: the memory was just allocated, is aligned to pages, and `layout` has room for the head and all headers in
        // it. Nobody else knows it yet.
        unsafe {
            memory.cast::<u8>().write_bytes(0, payloads as usize);
            memory.cast::<Head>().write(Head {
                headers: base + headers,
                payloads: base + payloads,
                doorbell: listener.doorbell,
                free: AtomicU64::new(packets - 1),
                ready: AtomicU64::new(0),
                mask: packets - 1,
            });
            let first = (base + headers) as *mut Header;
            for index in 1..packets {
                // Zero ends a list, so index 0 has a tag from the start.
                let next = if index == 1 { packets } else { index - 1 };
                (*first.add(index as usize)).next = AtomicU64::new(next);
            }
        }
        let calls = Arc::new(Hostcalls {
            runtime,
            device,
            progress,
            memory: memory as usize,
            packets,
            state: Mutex::default(),
        });
        listener.queues.write().unwrap_or_else(PoisonError::into_inner).push(calls.clone());
        Ok(Registered(calls))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A word of the ready list's head.
    fn ready(&self) -> &AtomicU64 {
        // SAFETY: the head is at the start of the memory, which is there while the state is locked and not closed. Device
        // and host access the word atomically only.
        unsafe { &*((self.memory + offset_of!(Head, ready)) as *const AtomicU64) }
    }

    /// A packet by its index, which may be any number.
    fn packet(&self, index: u64) -> (&Header, &Payload) {
        let index = index & (self.packets - 1);
        let (headers, payloads, _) = layout(self.packets);
        let header = self.memory + (headers + index * size_of::<Header>() as u64) as usize;
        let payload = self.memory + (payloads + index * size_of::<Payload>() as u64) as usize;
        // SAFETY: both lie in the memory, as the index is less than the number of packets; they consist of atomic words.
        unsafe { (&*(header as *const Header), &*(payload as *const Payload)) }
    }

    /// Answers everything that is ready.
    fn serve(&self) {
        let mut trouble = None;
        let mut state = self.lock();
        if state.closed {
            return;
        }
        loop {
            let mut next = self.ready().swap(0, Ordering::Acquire);
            if next == 0 {
                break;
            }
            // The list has the last one first. It cannot be longer than the packets are many, unless a kernel wrote into it.
            let mut waiting = Vec::new();
            while next != 0 && waiting.len() < self.packets as usize {
                waiting.push(next);
                next = self.packet(next).0.next.load(Ordering::Relaxed);
            }
            for index in waiting.into_iter().rev() {
                let (header, payload) = self.packet(index);
                if let Err(what) = self.answer(&mut state, header, payload) {
                    trouble = Some(what);
                }
                header.control.fetch_and(!READY, Ordering::Release);
            }
        }
        drop(state);
        if let Some(what) = trouble {
            self.progress.fail_stream(hipError_t::hipErrorLaunchFailure, what);
        }
    }

    /// Answers one packet, lane by lane; an error says what the device asked for that nobody offers.
    fn answer(
        &self,
        state: &mut State,
        header: &Header,
        payload: &Payload,
    ) -> std::result::Result<(), String> {
        let service = header.service.load(Ordering::Relaxed);
        let mut text = Text::default();
        let mut result = Ok(());
        let mut lanes = header.active.load(Ordering::Relaxed);
        while lanes != 0 {
            let row = &payload[lanes.trailing_zeros() as usize];
            lanes &= lanes - 1;
            let words: [u64; 8] = std::array::from_fn(|index| row[index].load(Ordering::Relaxed));
            let answered = match service {
                PRINTF => state.message(words, &mut text),
                DEVICE_MEMORY => Ok([self.device_memory(words[0], words[1]), words[1]]),
                FUNCTION_CALL => call(words),
                _ => Err(format!("device code asked the host for service {service}, which is none")),
            };
            let answer = answered.unwrap_or_else(|what| {
                result = Err(what);
                [u64::MAX; 2]
            });
            row[0].store(answer[0], Ordering::Relaxed);
            row[1].store(answer[1], Ordering::Relaxed);
        }
        text.flush(&self.progress);
        result
    }

    /// Allocates memory for the device's `malloc`, or frees it.
    fn device_memory(&self, address: u64, size: u64) -> u64 {
        let heap = &self.device.heap;
        match (address, size) {
            (0, 0) => 0,
            (0, size) => heap.allocate(self.runtime, self.device, size),
            (address, _) => {
                heap.free(self.runtime, self.device, address);
                0
            }
        }
    }
}

/// Calls a function of the program.
fn call(words: [u64; 8]) -> std::result::Result<[u64; 2], String> {
    if words[0] == 0 {
        return Err("device code called a host function at address 0".into());
    }
    // SAFETY: an address is as large as a pointer, and this one is not null.
    let function = unsafe { std::mem::transmute::<usize, HostFunction>(words[0] as usize) };
    let mut output = [0u64; 2];
    // SAFETY: the program's device code passes the address of a host function of this type; that is its contract.
    unsafe { function(output.as_mut_ptr(), words[1..].as_ptr()) };
    Ok(output)
}

impl State {
    /// Takes a part of a message. The whole one is printed, and answered by how many bytes that were.
    fn message(&mut self, words: [u64; 8], text: &mut Text) -> std::result::Result<[u64; 2], String> {
        let mut descriptor = words[0];
        if descriptor & BEGIN != 0 {
            self.last_message = (self.last_message + 1) & (u64::MAX >> NUMBER_SHIFT);
            let low = (1 << NUMBER_SHIFT) - 1;
            descriptor = descriptor & low & !BEGIN | self.last_message << NUMBER_SHIFT;
            self.messages.insert(self.last_message, Vec::new());
        }
        let number = descriptor >> NUMBER_SHIFT;
        let message =
            self.messages.get_mut(&number).ok_or("device code continued a message that it had not begun")?;
        let length = (descriptor >> LENGTH_SHIFT & LENGTH_MASK) as usize;
        message.extend_from_slice(&words[1..=length]);
        if descriptor & END == 0 {
            return Ok([descriptor, words[1]]);
        }
        let message = self.messages.remove(&number).unwrap_or_default();
        let printed = match message.split_first() {
            Some((0, message)) => text.add(Channel::Output, &printf::format(message)),
            Some((1, message)) => text.add(Channel::Error, &printf::format(message)),
            // Versions of the message that nobody knows yet.
            _ => -1,
        };
        Ok([printed as u64, words[1]])
    }
}

/// What the lanes of a wave print at once.
#[derive(Default)]
struct Text {
    output: Vec<u8>,
    error: Vec<u8>,
}

impl Text {
    fn add(&mut self, channel: Channel, text: &[u8]) -> i64 {
        match channel {
            Channel::Output => self.output.extend_from_slice(text),
            Channel::Error => self.error.extend_from_slice(text),
        }
        text.len() as i64
    }

    fn flush(self, progress: &Progress) {
        output::write(Channel::Output, &self.output);
        output::write(Channel::Error, &self.error);
        if !self.error.is_empty() {
            progress.note_error_output(&String::from_utf8_lossy(&self.error));
        }
    }
}

/// Packets that the listener looks after until this is dropped.
pub(crate) struct Registered(Arc<Hostcalls>);

impl Registered {
    /// What `hidden_hostcall_buffer` gets.
    pub(crate) fn address(&self) -> u64 {
        self.0.memory as u64
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let calls = &self.0;
        if let Some(Ok(listener)) = LISTENER.get() {
            let mut queues = listener.queues.write().unwrap_or_else(PoisonError::into_inner);
            queues.retain(|other| !Arc::ptr_eq(other, calls));
        }
        calls.lock().closed = true;
        // SAFETY: the queue is gone, and the listener does not touch the memory of closed packets.
        let _ = unsafe { calls.runtime.hsa.free(calls.memory as *mut c_void) };
    }
}

/// The thread that answers, and the signal that wakes it.
struct Listener {
    doorbell: hsa_signal_t,
    queues: RwLock<Vec<Arc<Hostcalls>>>,
}

static LISTENER: OnceLock<Result<Listener>> = OnceLock::new();

/// What the doorbell signal starts with.
const FIRST: i64 = 1;

impl Listener {
    /// The one listener, started when it is first needed.
    fn get(runtime: &'static Runtime) -> Result<&'static Listener> {
        let listener = LISTENER.get_or_init(|| {
            let doorbell = runtime.hsa.signal_create(FIRST)?;
            std::thread::Builder::new()
                .name("hip-hostcall".into())
                .spawn(listen)
                .map_err(|_| hipError_t::hipErrorOutOfMemory)?;
            Ok(Listener { doorbell, queues: RwLock::default() })
        });
        listener.as_ref().map_err(|&code| code)
    }
}

fn listen() {
    let Some(runtime) = runtime() else { return };
    let Ok(listener) = LISTENER.wait() else { return };
    let mut seen = FIRST;
    loop {
        seen = runtime.hsa.signal_wait_change(listener.doorbell, seen);
        let queues = listener.queues.read().unwrap_or_else(PoisonError::into_inner).clone();
        for calls in queues {
            if catch_unwind(AssertUnwindSafe(|| calls.serve())).is_err() {
                tracing::error!("a call from device code panicked");
            }
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
    fn messages_of_many_parts_are_put_together() {
        let mut state = State::default();
        let mut text = Text::default();
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        // Two lanes begin before either goes on. The first word says standard output or standard error.
        let first = state.message([BEGIN | 1 << LENGTH_SHIFT, 0, 9, 9, 9, 9, 9, 9], &mut text).unwrap()[0];
        let second = state.message([BEGIN | 1 << LENGTH_SHIFT, 1, 9, 9, 9, 9, 9, 9], &mut text).unwrap()[0];
        assert_ne!(first, second);
        let more = |descriptor: u64, length: u64, flags: u64| {
            descriptor & !(LENGTH_MASK << LENGTH_SHIFT) | length << LENGTH_SHIFT | flags
        };
        let format = [word(b"%d of %d"), word(b"\n\0\0\0\0\0\0\0")];
        let [a, b] = format;
        assert_eq!(
            state.message([more(first, 2, 0), a, b, 9, 9, 9, 9, 9], &mut text).unwrap()[0] >> NUMBER_SHIFT,
            first >> NUMBER_SHIFT
        );
        state.message([more(second, 2, 0), a, b, 9, 9, 9, 9, 9], &mut text).unwrap();
        let printed = state.message([more(second, 2, END), 3, 40, 9, 9, 9, 9, 9], &mut text).unwrap()[0];
        assert_eq!(printed, 8);
        let printed = state.message([more(first, 2, END), 1, 2, 9, 9, 9, 9, 9], &mut text).unwrap()[0];
        assert_eq!(printed, 7);
        assert_eq!((text.output.as_slice(), text.error.as_slice()), (&b"1 of 2\n"[..], &b"3 of 40\n"[..]));
        assert!(state.messages.is_empty());
        // Neither a message that has ended nor a version that is unknown is taken for anything else.
        assert!(state.message([more(first, 2, END), 1, 2, 9, 9, 9, 9, 9], &mut text).is_err());
        assert_eq!(
            state.message([BEGIN | END | 1 << LENGTH_SHIFT, 2, 9, 9, 9, 9, 9, 9], &mut text).unwrap()[0],
            u64::MAX
        );
    }
}
