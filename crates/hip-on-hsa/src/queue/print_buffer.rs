//! The buffer that kernels compiled with `-mprintf-kind=buffered` print into, which the host reads when they
//! have ended.
//!
//! The buffer begins with two 32-bit words: the bytes used and the bytes available. Records follow: a 32-bit
//! word with the size in bytes above two flags, then 64-bit words, the format or its hash first. A record
//! that does not fit is lost.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use code_object::CodeObject;

use crate::error::Result;
use crate::gpu::Gpu;
use crate::output;
use crate::output::Channel;
use crate::queue::printf;
use crate::runtime::Runtime;

/// Bytes of a buffer.
const SIZE: usize = 4 << 20;
/// Maximum bytes of text printed from one buffer: a record of twelve bytes may specify a width of a megabyte.
const MOST: usize = 64 << 20;
/// Bytes of text that are collected before they are passed on.
const AT_ONCE: usize = 1 << 20;
/// Bytes before the first record.
const HEAD: usize = 8;

/// Flags of a record: to standard error; the format is named by its hash.
const TO_ERROR: u32 = 1;
const HASHED: u32 = 2;

/// The formats of a code object, by their hashes.
pub(crate) type Formats = HashMap<u64, Box<[u8]>>;

/// Reads the formats of a code object, each `0:0:hash,text`.
pub(crate) fn formats(object: &CodeObject) -> Formats {
    let read = |entry: &String| {
        let rest = entry.strip_prefix("0:0:")?;
        let (hash, text) = rest.split_once(',')?;
        Some((u64::from_str_radix(hash, 16).ok()?, text.as_bytes().into()))
    };
    object.printf_formats().iter().filter_map(read).collect()
}

/// A queue's buffer.
pub(crate) struct PrintBuffer {
    runtime: &'static Runtime,
    memory: usize,
    /// The formats of all kernels that may have printed.
    formats: Mutex<Formats>,
    /// Whether dropped text has been reported.
    said: AtomicBool,
}

impl PrintBuffer {
    pub(crate) fn new(runtime: &'static Runtime, gpu: &Gpu) -> Result<Arc<Self>> {
        let memory = runtime.allocate_shared(gpu.agent, SIZE)?;
        // SAFETY: the memory was just allocated and is not shared yet.
        unsafe { memory.cast::<[u32; 2]>().write([0, (SIZE - HEAD) as u32]) };
        Ok(Arc::new(Self {
            runtime,
            memory: memory as usize,
            formats: Mutex::default(),
            said: AtomicBool::new(false),
        }))
    }

    /// The value of `hidden_printf_buffer`.
    pub(crate) fn address(&self) -> u64 {
        self.memory as u64
    }

    fn lock(&self) -> MutexGuard<'_, Formats> {
        self.formats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers formats that kernels may refer to from now on.
    pub(crate) fn know(&self, formats: &Formats) {
        let mut known = self.lock();
        for (hash, text) in formats {
            known.entry(*hash).or_insert_with(|| text.clone());
        }
    }

    /// Prints all records and empties the buffer. No kernel that prints into it runs.
    pub(crate) fn drain(&self) {
        let formats = self.lock();
        // SAFETY: the word is the buffer's first; kernels access it atomically.
        let used = unsafe { &*(self.memory as *const AtomicU32) };
        let length = (used.load(Ordering::Acquire) as usize).min(SIZE - HEAD);
        // SAFETY: the bytes lie in the buffer, and no kernel writes them now.
        let records = unsafe { std::slice::from_raw_parts((self.memory + HEAD) as *const u8, length) };
        let whole = print(records, &formats, &mut output::write);
        if !whole && !self.said.swap(true, Ordering::Relaxed) {
            output::write(Channel::Error, output::DROPPED.as_bytes());
        }
        used.store(0, Ordering::Release);
    }
}

impl Drop for PrintBuffer {
    fn drop(&mut self) {
        // SAFETY: the queue and the code that drained the buffer have released it.
        let _ = unsafe { self.runtime.hsa.free(self.memory as *mut c_void) };
    }
}

/// Passes on the texts of records, joining consecutive ones for the same channel. Returns whether nothing was
/// dropped.
fn print(mut records: &[u8], formats: &Formats, write: &mut dyn FnMut(Channel, &[u8])) -> bool {
    let (mut channel, mut text) = (Channel::Output, Vec::new());
    let mut left = MOST;
    let mut whole = true;
    while let Some((control, _)) = records.split_first_chunk::<4>() {
        let control = u32::from_le_bytes(*control);
        let size = (control >> 2) as usize;
        // An impossible size, from a wild write: the start of the next record is unknown.
        let Some(body) = records.get(4..size) else { break };
        let mut words: Vec<u64> = body
            .chunks_exact(8)
            .filter_map(|chunk| Some(u64::from_le_bytes(chunk.try_into().ok()?)))
            .collect();
        if control & HASHED != 0 {
            let hash = if words.is_empty() { 0 } else { words.remove(0) };
            let mut format = match formats.get(&hash) {
                Some(text) => text.to_vec(),
                None => format!("(unknown printf format {hash:016x})\n").into_bytes(),
            };
            format.resize((format.len() + 1).next_multiple_of(8), 0);
            let format =
                format.chunks_exact(8).filter_map(|chunk| Some(u64::from_le_bytes(chunk.try_into().ok()?)));
            words.splice(0..0, format);
        }
        let to = if control & TO_ERROR != 0 { Channel::Error } else { Channel::Output };
        let printed = printf::format(&words);
        whole &= !printed.cut;
        if to != channel || text.len() + printed.text.len() > AT_ONCE {
            write(channel, &std::mem::take(&mut text));
            channel = to;
        }
        let Some(rest) = left.checked_sub(printed.text.len()) else {
            whole = false;
            break;
        };
        left = rest;
        text.extend_from_slice(&printed.text);
        records = &records[size..];
    }
    write(channel, &text);
    whole
}

/// Any bytes that a kernel may write to a buffer are printed, up to a limit.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(bytes: &[u8]) {
    let formats = Formats::from([
        (0, b"%d items of %s\n"[..].into()),
        (1, b"%1000000d%-999999s"[..].into()),
        (2, b"%*.*f %c %p %n %hhx %"[..].into()),
    ]);
    let mut printed = 0;
    let whole = print(bytes, &formats, &mut |_, text| {
        assert!(text.len() <= AT_ONCE.max(printf::LONGEST));
        printed += text.len();
    });
    assert!(printed <= MOST && (whole || printed > 0));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(flags: u32, words: &[u64]) -> Vec<u8> {
        let mut bytes = ((4 + 8 * words.len() as u32) << 2 | flags).to_le_bytes().to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    #[test]
    fn records_name_their_format_or_bring_it() {
        let formats = Formats::from([(7, b"%d items of %s\n"[..].into())]);
        let text = |text: &[u8; 8]| u64::from_le_bytes(*text);
        let mut records = record(HASHED, &[7, 3, text(b"a kind\0\0")]);
        records.extend(record(0, &[text(b"x = %x\n\0"), 255]));
        records.extend(record(TO_ERROR, &[text(b"oops %c\0"), 33]));
        records.extend(record(HASHED, &[8]));
        let expected = [
            (Channel::Output, "3 items of a kind\nx = ff\n"),
            (Channel::Error, "oops !"),
            (Channel::Output, "(unknown printf format 0000000000000008)\n"),
        ];
        let texts = |records: &[u8]| {
            let mut found = Vec::new();
            let whole = super::print(records, &formats, &mut |channel, text| {
                if !text.is_empty() {
                    found.push((channel, String::from_utf8(text.to_vec()).unwrap()));
                }
            });
            assert!(whole);
            found
        };
        let found = texts(&records);
        assert_eq!(found.len(), expected.len());
        for ((channel, text), expected) in found.iter().zip(expected) {
            assert_eq!((*channel, text.as_str()), expected);
        }
        // Truncated or invalid records end the reading.
        assert_eq!(texts(&records[..records.len() - 1]).len(), 2);
        assert_eq!(texts(&[0; 64]).len(), 0);
    }

    #[test]
    fn a_buffer_of_wide_records_has_a_bound() {
        let formats = Formats::from([(1, b"%1000000d"[..].into())]);
        let records = record(HASHED, &[1, 7]).repeat(1000);
        let mut printed = 0;
        let whole = super::print(&records, &formats, &mut |_, text| {
            assert!(text.len() <= AT_ONCE);
            printed += text.len();
        });
        assert!(!whole && printed <= MOST && printed > MOST - (1 << 20), "{printed}");
    }

    #[test]
    fn any_bytes_are_printed_or_end_the_reading() {
        let mut next = crate::tests::random();
        for round in 0..300 {
            let mut bytes = Vec::new();
            for _ in 0..round % 20 {
                let words: Vec<u64> = (0..next() % 8).map(|_| next() >> (next() % 64)).collect();
                bytes.extend(record((next() % 4) as u32, &words));
            }
            if round % 3 == 0 {
                bytes.extend(next().to_le_bytes());
            }
            fuzz(&bytes);
        }
    }
}
