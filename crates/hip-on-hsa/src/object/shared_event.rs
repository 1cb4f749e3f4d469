//! Events of several processes: `hipIpcGetEventHandle` and similar functions.
//!
//! All processes map one page, which contains the number of records and the last completed record. The
//! stream's thread of the recording process writes the completion; waiting threads poll the page.
//!
//! If a process ends before its stream reaches the record, nothing completes the record. So each recording
//! process locks a byte of the page's file, and the record names that byte. The lock ends with the process.
//! Waiting threads also check the lock: a record whose byte is no longer locked is lost, and waiting for it
//! is an error.

use std::ffi::c_char;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hip_sys::{hipError_t, hipIpcEventHandle_t};

use crate::devices::stream::Stream;
use crate::error::Result;
use crate::patience::wait_until;
use crate::runtime::Runtime;

const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;
const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const OUT_OF_MEMORY: hipError_t = hipError_t::hipErrorOutOfMemory;
const PAGE: usize = 4096;
/// Begins every handle.
const MAGIC: u32 = 0x6576_7432;

/// How often a waiting thread checks that there still is a process that can complete the record.
const LOOK_AFTER: Duration = Duration::from_millis(20);

/// Waiting for a record whose process has ended.
const LOST: hipError_t = hipError_t::hipErrorIllegalState;
/// The same in a stream's report.
const LOST_REPORT: &str =
    "a stream waited for an event of another process, which ended before it had completed its record";

/// Bits of a record's name for the recorder's byte; the number is above them.
const BYTE_BITS: u32 = 24;
/// Bytes that processes may lock.
const BYTES: u64 = 1 << BYTE_BITS;

/// The start of the page.
#[repr(C)]
struct Counts {
    /// The name of the last record.
    recorded: AtomicU64,
    /// The number of the last completed record.
    completed: AtomicU64,
}

/// A record of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Record {
    /// Counted from 1; 0 if the event was never recorded.
    number: u64,
    /// The byte that its process has locked.
    byte: u64,
}

impl Record {
    fn from_name(name: u64) -> Self {
        Self { number: name >> BYTE_BITS, byte: name % BYTES }
    }

    fn name(self) -> u64 {
        self.number << BYTE_BITS | self.byte
    }
}

/// The part of an event that is shared by several processes.
pub(crate) struct SharedEvent {
    counts: NonNull<Counts>,
    file: File,
    /// The byte of the file that this process has locked, once it has recorded the event.
    byte: OnceLock<u64>,
}

// SAFETY: the page is mapped as long as the object lives, and only used by atomic accesses.
unsafe impl Send for SharedEvent {}
// SAFETY: as above.
unsafe impl Sync for SharedEvent {}

impl SharedEvent {
    /// A new page, which cannot be shrunk.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a text; the descriptor that is returned has no other owner.
        let file = unsafe {
            let descriptor = libc::memfd_create(c"hip-event".as_ptr(), flags);
            if descriptor < 0 {
                return Err(OUT_OF_MEMORY);
            }
            File::from_raw_fd(descriptor)
        };
        file.set_len(PAGE as u64).map_err(|_| OUT_OF_MEMORY)?;
        // SAFETY: the call takes plain numbers.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) } != 0 {
            return Err(OUT_OF_MEMORY);
        }
        Self::map(file, OUT_OF_MEMORY)
    }

    fn map(file: File, failure: hipError_t) -> Result<Arc<Self>> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the system's choice touches nothing that exists.
        let page = unsafe {
            libc::mmap(std::ptr::null_mut(), PAGE, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if page == libc::MAP_FAILED {
            return Err(failure);
        }
        let counts = NonNull::new(page.cast()).ok_or(failure)?;
        Ok(Arc::new(Self { counts, file, byte: OnceLock::new() }))
    }

    fn counts(&self) -> &Counts {
        // SAFETY: the page is mapped as long as this object lives, and cannot become smaller.
        unsafe { self.counts.as_ref() }
    }

    /// Records the event behind everything submitted to the stream. A failed stream also completes it.
    pub(crate) fn record(self: &Arc<Self>, runtime: &'static Runtime, stream: &Stream) -> Result {
        let byte = self.own_byte()?;
        let next = |name| Record { number: Record::from_name(name).number + 1, byte };
        let advance = |name| Some(next(name).name());
        let before = self.counts().recorded.fetch_update(Ordering::AcqRel, Ordering::Acquire, advance);
        let number = next(before.unwrap_or_else(|name| name)).number;
        let shared = self.clone();
        let recorded = stream.run_on_host(runtime, false, move |_| shared.complete(number));
        if recorded.is_err() {
            self.complete(number);
        }
        recorded
    }

    fn complete(&self, number: u64) {
        self.counts().completed.fetch_max(number, Ordering::AcqRel);
    }

    fn has_completed(&self, record: Record) -> bool {
        self.counts().completed.load(Ordering::Acquire) >= record.number
    }

    fn last(&self) -> Record {
        Record::from_name(self.counts().recorded.load(Ordering::Acquire))
    }

    /// The byte that this process has locked, for the lifetime of the process or of this object.
    fn own_byte(&self) -> Result<u64> {
        if let Some(&byte) = self.byte.get() {
            return Ok(byte);
        }
        let first = u64::from(std::process::id());
        // Processes of other containers may have the same number. Threads of this process share the
        // descriptor, and any of them may lock a byte for it again.
        let free = (first..first + BYTES).map(|byte| byte % BYTES).find(|&byte| self.lock(byte));
        let byte = free.ok_or(hipError_t::hipErrorOperatingSystem)?;
        Ok(*self.byte.get_or_init(|| byte))
    }

    /// Tries to lock a byte of the file, for this object's descriptor.
    fn lock(&self, byte: u64) -> bool {
        let mut lock = byte_lock(byte);
        // SAFETY: the descriptor is open, and the lock a valid one.
        unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) == 0 }
    }

    /// Whether there is a process that can still complete the record.
    fn has_recorder(&self, record: Record) -> bool {
        if self.byte.get() == Some(&record.byte) {
            return true;
        }
        let mut lock = byte_lock(record.byte);
        // SAFETY: the descriptor is open, and the lock a valid one, which the call overwrites with the one
        // that is in its way.
        let asked = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
        // If this cannot be determined, the record counts as not lost.
        asked != 0 || lock.l_type != libc::F_UNLCK as libc::c_short
    }

    /// Whether the record has completed; an error if its process has ended before.
    fn state_of(&self, record: Record) -> Result<bool> {
        if self.has_completed(record) {
            return Ok(true);
        }
        if self.has_recorder(record) {
            return Ok(false);
        }
        // The process may have completed its record, and ended, since the first check.
        if self.has_completed(record) { Ok(true) } else { Err(LOST) }
    }

    /// Whether the last record has completed; an event that was never recorded is complete.
    pub(crate) fn is_done(&self) -> Result<bool> {
        self.state_of(self.last())
    }

    /// Waits for the last record.
    pub(crate) fn wait(&self) -> Result {
        self.wait_for(self.last(), || true)
    }

    /// Waits for a record while `goes_on` permits.
    fn wait_for(&self, record: Record, goes_on: impl Fn() -> bool) -> Result {
        let mut looked_after = Instant::now();
        let look_after = || {
            if !goes_on() {
                return Ok(false);
            }
            if looked_after.elapsed() >= LOOK_AFTER {
                self.state_of(record)?;
                looked_after = Instant::now();
            }
            Ok(true)
        };
        wait_until(|| self.has_completed(record), look_after)
    }

    /// Makes later work of the stream wait for the last record. The stream fails if the record is lost.
    pub(crate) fn hold(self: &Arc<Self>, runtime: &'static Runtime, stream: &Stream) -> Result {
        let record = self.last();
        if self.has_completed(record) {
            return Ok(());
        }
        let shared = self.clone();
        stream.run_in_turn(runtime, true, move |turn, progress| {
            // The wait ends if the stream fails meanwhile.
            let goes_on = || progress.fault().is_none();
            if turn.is_ok()
                && let Err(code) = shared.wait_for(record, goes_on)
            {
                progress.fail_stream(code, LOST_REPORT.to_owned());
            }
        })
    }

    pub(crate) fn encode(&self) -> Option<hipIpcEventHandle_t> {
        let descriptor = u32::try_from(self.file.as_raw_fd()).ok()?;
        let mut bytes = [0u8; 64];
        for (place, word) in bytes.chunks_exact_mut(4).zip([MAGIC, std::process::id(), descriptor]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[16..24].copy_from_slice(&self.file.metadata().ok()?.ino().to_le_bytes());
        Some(hipIpcEventHandle_t { reserved: bytes.map(|byte| byte as c_char) })
    }

    /// The event of another process.
    pub(crate) fn open(handle: &hipIpcEventHandle_t) -> Result<Arc<Self>> {
        let bytes = handle.reserved.map(|byte| byte as u8);
        let word = |at: usize| {
            let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            u32::from_le_bytes(bytes)
        };
        let (process, descriptor) = (word(4), word(8));
        let inode = u64::from(word(20)) << 32 | u64::from(word(16));
        if word(0) != MAGIC || bytes[24..] != [0; 40] {
            return Err(INVALID_VALUE);
        }
        if process == std::process::id() {
            return Err(hipError_t::hipErrorInvalidContext);
        }
        let path = format!("/proc/{process}/fd/{descriptor}");
        // Opening some other kind of file may have side effects.
        let named = std::fs::metadata(&path).map_err(|_| INVALID_HANDLE)?;
        if named.ino() != inode || !named.is_file() {
            return Err(INVALID_HANDLE);
        }
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|_| INVALID_HANDLE)?;
        let found = file.metadata().map_err(|_| INVALID_HANDLE)?;
        // SAFETY: the call takes plain numbers.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        if found.ino() != inode || found.len() < PAGE as u64 || seals < 0 || seals & libc::F_SEAL_SHRINK == 0
        {
            return Err(INVALID_HANDLE);
        }
        Self::map(file, INVALID_HANDLE)
    }
}

/// A lock of one byte, for writing.
fn byte_lock(byte: u64) -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte as libc::off_t,
        l_len: 1,
        l_pid: 0,
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        // SAFETY: the page was mapped here, and nothing else unmaps it.
        unsafe { libc::munmap(self.counts.as_ptr().cast(), PAGE) };
    }
}
