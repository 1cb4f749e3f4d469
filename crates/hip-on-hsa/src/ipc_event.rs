//! Events of several processes: `hipIpcGetEventHandle` and its kin.
//!
//! All processes map one page, which says how often the event was recorded and which record has completed. Whoever records it
//! notes the completion from the stream's thread; who waits looks at the page. If the process that has recorded the event ends
//! before its stream gets there, nobody completes it.

use std::ffi::c_char;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hip_sys::{hipError_t, hipEvent_t, hipIpcEventHandle_t};

use crate::device::current_device;
use crate::error::{Result, entry};
use crate::event::{Event, find};
use crate::runtime::{Runtime, active};
use crate::stream::Stream;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;
const OUT_OF_MEMORY: hipError_t = hipError_t::hipErrorOutOfMemory;

const PAGE: usize = 4096;
/// Begins every handle.
const MAGIC: u32 = 0x6576_7431;

/// Looks before a waiting thread sleeps between them, and how long it does then.
const SPINS: u32 = 1000;
const SLEEP: Duration = Duration::from_micros(50);

/// What the page begins with.
#[repr(C)]
struct Counts {
    recorded: AtomicU64,
    completed: AtomicU64,
}

/// The part of an event that several processes have.
pub(crate) struct SharedEvent {
    counts: NonNull<Counts>,
    file: File,
}

// SAFETY: the page is mapped as long as the object lives, and only used by atomic accesses.
unsafe impl Send for SharedEvent {}
// SAFETY: as above.
unsafe impl Sync for SharedEvent {}

impl SharedEvent {
    /// A new page, which nobody can make smaller.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a text; the descriptor that is returned belongs to nobody else.
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
        Ok(Arc::new(Self { counts, file }))
    }

    fn counts(&self) -> &Counts {
        // SAFETY: the page is mapped as long as this object lives, and cannot become smaller.
        unsafe { self.counts.as_ref() }
    }

    /// Records the event behind everything submitted to the stream. A failed stream completes it too.
    pub(crate) fn record(self: &Arc<Self>, runtime: &'static Runtime, stream: &Stream) -> Result {
        let number = self.counts().recorded.fetch_add(1, Ordering::AcqRel) + 1;
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

    fn has_completed(&self, number: u64) -> bool {
        self.counts().completed.load(Ordering::Acquire) >= number
    }

    fn last(&self) -> u64 {
        self.counts().recorded.load(Ordering::Acquire)
    }

    /// Whether the last record has completed; an event that was never recorded is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.has_completed(self.last())
    }

    /// Waits for the last record.
    pub(crate) fn wait(&self) {
        self.wait_for(self.last());
    }

    fn wait_for(&self, number: u64) {
        let mut looks = 0u32;
        while !self.has_completed(number) {
            looks = looks.saturating_add(1);
            if looks < SPINS { std::hint::spin_loop() } else { std::thread::sleep(SLEEP) }
        }
    }

    /// Lets what is submitted to the stream from now on wait for the last record.
    pub(crate) fn hold(self: &Arc<Self>, runtime: &'static Runtime, stream: &Stream) -> Result {
        let number = self.last();
        if self.has_completed(number) {
            return Ok(());
        }
        let shared = self.clone();
        stream.run_on_host(runtime, true, move |failure| {
            if failure.is_none() {
                shared.wait_for(number);
            }
        })
    }

    fn encode(&self) -> Option<hipIpcEventHandle_t> {
        let descriptor = u32::try_from(self.file.as_raw_fd()).ok()?;
        let mut bytes = [0u8; 64];
        for (place, word) in bytes.chunks_exact_mut(4).zip([MAGIC, std::process::id(), descriptor]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[16..24].copy_from_slice(&self.file.metadata().ok()?.ino().to_le_bytes());
        Some(hipIpcEventHandle_t { reserved: bytes.map(|byte| byte as c_char) })
    }

    /// The event of another process.
    fn open(handle: &hipIpcEventHandle_t) -> Result<Arc<Self>> {
        let bytes = handle.reserved.map(|byte| byte as u8);
        let word = |at: usize| {
            let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            u32::from_le_bytes(bytes)
        };
        let (process, descriptor) = (word(4), word(8));
        let inode = u64::from(word(20)) << 32 | u64::from(word(16));
        if word(0) != MAGIC || bytes[24..] != [0; 40] {
            return Err(INVALID_HANDLE);
        }
        if process == std::process::id() {
            return Err(hipError_t::hipErrorInvalidContext);
        }
        let path = format!("/proc/{process}/fd/{descriptor}");
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

impl Drop for SharedEvent {
    fn drop(&mut self) {
        // SAFETY: the page was mapped here, and nobody else unmaps it.
        unsafe { libc::munmap(self.counts.as_ptr().cast(), PAGE) };
    }
}

/// `hipIpcGetEventHandle`: of an event that was created for several processes, else `hipErrorInvalidConfiguration`.
pub(crate) unsafe extern "C" fn hipIpcGetEventHandle(
    out: *mut hipIpcEventHandle_t,
    event: hipEvent_t,
) -> hipError_t {
    entry(|| {
        let event = find(active()?, event)?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { out.as_mut() }.ok_or(INVALID_VALUE)?;
        let shared = event.shared().ok_or(hipError_t::hipErrorInvalidConfiguration)?;
        *out = shared.encode().ok_or(hipError_t::hipErrorOperatingSystem)?;
        Ok(())
    })
}

/// `hipIpcOpenEventHandle`: an event of another process, for streams of every device; `hipErrorInvalidContext` for one of this
/// process.
pub(crate) unsafe extern "C" fn hipIpcOpenEventHandle(
    out: *mut hipEvent_t,
    handle: hipIpcEventHandle_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { out.as_mut() }.ok_or(INVALID_VALUE)?;
        let event = Event::of_processes(current_device(runtime)?, SharedEvent::open(&handle)?);
        *out = runtime.events.insert(Arc::new(event)).ok_or(OUT_OF_MEMORY)? as hipEvent_t;
        Ok(())
    })
}
