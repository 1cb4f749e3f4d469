//! The memory that all ranks of a communicator share, and how they wait for each other in it.
//!
//! It is one file, mapped by every rank, also by ranks of one process. It has a header, a *control block* for each rank, two *slots* for
//! each rank, and a *ring* for each ordered pair of ranks. A rank writes to its own control block, its own slots, and its side of rings;
//! the others read.
//!
//! # Waiting
//! Each rank has a *bell*, a number that others count up when they have done something it may wait for. A rank that waits looks at the bell,
//! looks whether what it waits for is there, and sleeps by a futex as long as the bell is what it was.
//!
//! # Death
//! Each rank locks one byte of the file through its own descriptor. The system releases the lock when the process dies, whatever it dies
//! of, so a rank whose byte is free will do nothing more. It is looked at whenever a wait has lasted a while. Locks need no process ids,
//! which containers that share the folder may not agree on.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rccl_sys::ncclResult_t;

use crate::error::{Failure, Result};

/// Ranks of a communicator, at most: a set of them is the bits of a word.
pub(crate) const MOST_RANKS: usize = 64;

/// A set of ranks.
pub(crate) type Ranks = u64;

/// How long a rank sleeps before it looks whether those that it waits for are alive.
const NAP: Duration = Duration::from_millis(50);
/// Looks before a rank goes to sleep.
const LOOKS: u32 = 50;

/// Another one for each layout.
const MAGIC: u64 = 0x4c43_4352_4f52_5247;
const HEADER: usize = 4096;
const CONTROL: usize = 512;
const RING_CONTROL: usize = 128;

/// The beginning of the file.
#[repr(C)]
struct Header {
    magic: u64,
    ranks: u64,
    slot_bytes: u64,
    ring_bytes: u64,
    /// Ranks that have come.
    joined: AtomicU32,
    /// Why the communicator is of no more use: 0, or a [`Reason`] and who gave it.
    broken: AtomicU32,
    /// How often ranks have come to points where all meet, all ranks together.
    met: AtomicU64,
}

/// What a rank tells of an operation. There are two, for operations in turn: one is written while the other may still be read.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Notice {
    /// What all ranks have to agree on.
    pub(crate) same: [AtomicU64; 6],
    /// What each rank has of its own.
    pub(crate) own: [AtomicU64; 2],
}

/// The words of one rank.
#[repr(C)]
pub(crate) struct Control {
    bell: AtomicU32,
    /// It sleeps, or is about to.
    sleeps: AtomicU32,
    /// 0, or 1 once it is there.
    joined: AtomicU32,
    /// It has ended in good order, and does nothing more.
    left: AtomicU32,
    /// How often it has come to a point where all ranks meet.
    step: AtomicU64,
    pub(crate) notices: [Notice; 2],
}

const _: () = assert!(size_of::<Header>() <= HEADER && size_of::<Control>() <= CONTROL);

/// Bytes that one rank sends another: how many were ever written and read.
#[repr(C)]
pub(crate) struct RingControl {
    pub(crate) written: AtomicU64,
    _apart: [u64; 7],
    pub(crate) read: AtomicU64,
}

const _: () = assert!(size_of::<RingControl>() <= RING_CONTROL);

/// Why a communicator is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Reason {
    /// The rank's program has given it up.
    Aborted = 1,
    /// The rank's process is gone.
    Died = 2,
    /// The rank's device, or the system under it, has failed.
    Failed = 3,
    /// The rank has found that ranks do not do the same.
    Disagree = 4,
    /// Not all ranks have come in time.
    Late = 5,
}

impl Reason {
    fn of(word: u32) -> Option<(Self, usize)> {
        let reason = match word & 0xff {
            1 => Self::Aborted,
            2 => Self::Died,
            3 => Self::Failed,
            4 => Self::Disagree,
            5 => Self::Late,
            _ => return None,
        };
        Some((reason, (word >> 8) as usize))
    }

    /// As the others see it.
    fn failure(self, rank: usize) -> Failure {
        match self {
            Self::Aborted => Failure::remote(format!("rank {rank} has aborted the communicator")),
            Self::Died => Failure::remote(format!("the process of rank {rank} has ended")),
            Self::Failed => Failure::remote(format!("rank {rank} has failed")),
            Self::Disagree => Failure::usage(format!(
                "rank {rank} has found that ranks do not call the same operations with the same arguments"
            )),
            Self::Late => Failure::new(
                ncclResult_t::ncclSystemError,
                format!("rank {rank} has waited in vain for other ranks to come"),
            ),
        }
    }
}

/// What the sizes of a file depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    ranks: usize,
    slot_bytes: usize,
    ring_bytes: usize,
}

impl Layout {
    fn new(ranks: usize) -> Self {
        // Much memory for many ranks would fill the 64 MiB that containers have there.
        let slot_bytes = ((4 << 20) / ranks).next_power_of_two().clamp(64 << 10, 256 << 10);
        let ring_bytes = ((4 << 20) / (ranks * ranks)).next_power_of_two().clamp(4 << 10, 256 << 10);
        Self { ranks, slot_bytes, ring_bytes }
    }

    fn control(self, rank: usize) -> usize {
        HEADER + rank * CONTROL
    }

    fn slot(self, rank: usize, turn: usize) -> usize {
        let start = (HEADER + self.ranks * CONTROL).next_multiple_of(4096);
        start + (2 * rank + turn) * self.slot_bytes
    }

    fn ring(self, from: usize, to: usize) -> usize {
        self.slot(self.ranks, 0) + (from * self.ranks + to) * (RING_CONTROL + self.ring_bytes)
    }

    fn bytes(self) -> usize {
        self.ring(self.ranks, 0)
    }
}

/// A mapping of a file, undone on drop.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is memory; whoever reaches into it says how.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &File, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the system picks.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and everything that points into it borrows this.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The shared memory as one rank sees it.
pub(crate) struct Segment {
    mapping: Mapping,
    layout: Layout,
    /// Holds the lock that says that the rank lives.
    file: File,
    path: PathBuf,
    pub(crate) rank: usize,
}

impl Segment {
    /// Opens the file, or makes it, and takes the rank's place in it.
    pub(crate) fn open(path: &Path, rank: usize, ranks: usize) -> Result<Self> {
        let layout = Layout::new(ranks);
        let failed = |what: &str, error| Failure::system(format!("{what} {}", path.display()), error);
        let file = open_or_make(path, layout).map_err(|error| failed("cannot make", error))?;
        let size = file.metadata().map_err(|error| failed("cannot measure", error))?.len();
        if size < HEADER as u64 {
            return Err(failed("cannot use", io::Error::other("it is another program's file")));
        }
        {
            let head = Mapping::new(&file, HEADER).map_err(|error| failed("cannot map", error))?;
            // SAFETY: the file has a header, which does not change but for its atomics once the file has its name.
            let head = unsafe { head.start.cast::<Header>().as_ref() };
            if head.magic != MAGIC {
                return Err(failed("cannot use", io::Error::other("it is another version's file")));
            }
            if head.ranks != ranks as u64 {
                let there = head.ranks;
                return Err(Failure::argument(format!(
                    "rank {rank} says that there are {ranks} ranks, another one that there are {there}"
                )));
            }
            if (head.slot_bytes, head.ring_bytes) != (layout.slot_bytes as u64, layout.ring_bytes as u64)
                || size != layout.bytes() as u64
            {
                return Err(failed("cannot use", io::Error::other("it is another version's file")));
            }
        }
        let mapping = Mapping::new(&file, layout.bytes()).map_err(|error| failed("cannot map", error))?;
        let segment = Self { mapping, layout, file, path: path.to_owned(), rank };
        lock(&segment.file, rank).map_err(|error| match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Failure::usage(format!("there is a rank {rank} already")),
            _ => failed("cannot lock", error),
        })?;
        let joined = &segment.control(rank).joined;
        if joined.swap(1, Ordering::AcqRel) != 0 {
            return Err(Failure::usage(format!("there was a rank {rank} already")));
        }
        if segment.header().joined.fetch_add(1, Ordering::AcqRel) + 1 == ranks as u32 {
            // Nobody else will look for it.
            segment.unlink();
        }
        segment.ring_all();
        Ok(segment)
    }

    fn unlink(&self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "cannot remove {}", self.path.display());
        }
    }

    /// Waits until all ranks have come.
    pub(crate) fn wait_for_all(&self, limit: Duration) -> Result {
        let ranks = self.layout.ranks;
        let until = Instant::now() + limit;
        let absent = || (0..ranks).filter(|&rank| self.control(rank).joined.load(Ordering::Acquire) == 0);
        let mut waiting = Waiting::default();
        loop {
            let bell = self.bell();
            if self.header().joined.load(Ordering::Acquire) as usize == ranks {
                return Ok(());
            }
            if Instant::now() >= until {
                let absent: Vec<_> = absent().collect();
                self.break_up(Reason::Late, self.rank);
                self.unlink();
                let text = format!("after {limit:?}, of {ranks} ranks these have not come: {absent:?}");
                return Err(Failure::new(ncclResult_t::ncclSystemError, text));
            }
            let here = all(ranks) & !set(absent());
            if let Err(failure) = waiting.sleep(self, bell, here, true) {
                self.unlink();
                return Err(failure);
            }
        }
    }

    pub(crate) fn ranks(&self) -> usize {
        self.layout.ranks
    }

    pub(crate) fn slot_bytes(&self) -> usize {
        self.layout.slot_bytes
    }

    pub(crate) fn ring_bytes(&self) -> usize {
        self.layout.ring_bytes
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset < self.mapping.bytes);
        // SAFETY: all offsets are those of the layout, which the mapping has the size of.
        unsafe { self.mapping.start.add(offset) }
    }

    /// All of it, for whom it may help to know it.
    pub(crate) fn memory(&self) -> (NonNull<u8>, usize) {
        (self.mapping.start, self.mapping.bytes)
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping begins with it, is aligned, and what changes in it is atomic.
        unsafe { self.mapping.start.cast().as_ref() }
    }

    /// The words of a rank.
    pub(crate) fn control(&self, rank: usize) -> &Control {
        assert!(rank < self.layout.ranks);
        // SAFETY: the layout has it there, aligned, and all of it is atomic.
        unsafe { self.at(self.layout.control(rank)).cast().as_ref() }
    }

    /// A slot of a rank: `slot_bytes` bytes, aligned to a cache line at least.
    pub(crate) fn slot(&self, rank: usize, turn: usize) -> *mut u8 {
        assert!(rank < self.layout.ranks && turn < 2);
        self.at(self.layout.slot(rank, turn)).as_ptr()
    }

    /// What one rank sends another: the counts, and `ring_bytes` bytes.
    pub(crate) fn ring(&self, from: usize, to: usize) -> (&RingControl, *mut u8) {
        assert!(from < self.layout.ranks && to < self.layout.ranks);
        let start = self.at(self.layout.ring(from, to));
        // SAFETY: the layout has the words there, aligned, and all of them are atomic; the bytes follow.
        unsafe { (start.cast().as_ref(), start.as_ptr().add(RING_CONTROL)) }
    }

    /// What this rank's bell says now.
    pub(crate) fn bell(&self) -> u32 {
        self.control(self.rank).bell.load(Ordering::SeqCst)
    }

    /// Wakes a rank if it sleeps.
    pub(crate) fn ring_bell(&self, rank: usize) {
        let control = self.control(rank);
        control.bell.fetch_add(1, Ordering::SeqCst);
        if control.sleeps.load(Ordering::SeqCst) != 0 {
            futex_wake(&control.bell);
        }
    }

    pub(crate) fn ring_all(&self) {
        (0..self.layout.ranks).for_each(|rank| self.ring_bell(rank));
    }

    /// Ends the communicator for all ranks, unless somebody has done so before.
    pub(crate) fn break_up(&self, reason: Reason, rank: usize) {
        let word = reason as u32 | (rank as u32) << 8;
        let _ = self.header().broken.compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire);
        self.ring_all();
    }

    /// The failure that has ended the communicator.
    pub(crate) fn broken(&self) -> Option<Failure> {
        let (reason, rank) = Reason::of(self.header().broken.load(Ordering::Acquire))?;
        Some(reason.failure(rank))
    }

    /// This rank ends in good order.
    pub(crate) fn leave(&self) {
        self.control(self.rank).left.store(1, Ordering::Release);
        self.ring_all();
    }

    /// Comes to a point where all ranks meet, and waits for the others.
    pub(crate) fn meet(&self) -> Result {
        let step = self.control(self.rank).step.load(Ordering::Relaxed) + 1;
        self.control(self.rank).step.store(step, Ordering::Release);
        // Only the last one wakes the others, each of which would look in vain before.
        if self.header().met.fetch_add(1, Ordering::AcqRel) + 1 == step * self.layout.ranks as u64 {
            (0..self.layout.ranks).filter(|&rank| rank != self.rank).for_each(|rank| self.ring_bell(rank));
        }
        let missing = || {
            let behind = |&rank: &usize| self.control(rank).step.load(Ordering::Acquire) < step;
            set((0..self.layout.ranks).filter(behind))
        };
        for _ in 0..LOOKS {
            if missing() == 0 {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let mut waiting = Waiting::default();
        loop {
            let bell = self.bell();
            match missing() {
                0 => return Ok(()),
                missing => waiting.sleep(self, bell, missing, false)?,
            }
        }
    }

    /// Whether a rank will do nothing more: its process is gone, or it has left.
    fn is_gone(&self, rank: usize) -> Option<Gone> {
        let control = self.control(rank);
        if control.left.load(Ordering::Acquire) != 0 {
            return Some(Gone::Left);
        }
        // A rank holds the lock before it says that it has joined.
        let joined = control.joined.load(Ordering::Acquire) != 0;
        match is_locked(&self.file, rank) {
            Ok(false) if joined && rank != self.rank => Some(Gone::Died),
            _ => None,
        }
    }
}

/// What has become of a rank.
#[derive(Debug, Clone, Copy)]
enum Gone {
    Left,
    Died,
}

/// One wait for other ranks.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Those that were found to be gone. What they did before is seen by the next look at what is waited for.
    gone: Ranks,
}

impl Waiting {
    /// Sleeps until the bell is not `bell` any more, or for a while, and then looks whether any of `ranks` is gone: if one was gone
    /// before the last look, that ends the communicator. In the rendezvous, one that has left does not.
    pub(crate) fn sleep(&mut self, segment: &Segment, bell: u32, ranks: Ranks, rendezvous: bool) -> Result {
        if let Some(failure) = segment.broken() {
            return Err(failure);
        }
        let lost = self.gone & ranks;
        if lost != 0 {
            let rank = lost.trailing_zeros() as usize;
            return Err(match segment.is_gone(rank) {
                Some(Gone::Left) => {
                    segment.break_up(Reason::Failed, segment.rank);
                    Failure::remote(format!("rank {rank} has ended, and does not take part any more"))
                }
                _ => {
                    segment.break_up(Reason::Died, rank);
                    Reason::Died.failure(rank)
                }
            });
        }
        let control = segment.control(segment.rank);
        control.sleeps.store(1, Ordering::SeqCst);
        let woken = futex_wait(&control.bell, bell, NAP);
        control.sleeps.store(0, Ordering::SeqCst);
        if !woken {
            let suspects = (0..segment.ranks()).filter(|&rank| ranks & 1 << rank != 0);
            let gone = suspects.filter(|&rank| match segment.is_gone(rank) {
                Some(Gone::Left) => !rendezvous,
                Some(Gone::Died) => true,
                None => false,
            });
            self.gone = set(gone);
        }
        Ok(())
    }
}

pub(crate) fn set(ranks: impl Iterator<Item = usize>) -> Ranks {
    ranks.fold(0, |set, rank| set | 1 << rank)
}

fn all(ranks: usize) -> Ranks {
    set(0..ranks)
}

/// The file, which appears under its name when its header is complete.
fn open_or_make(path: &Path, layout: Layout) -> io::Result<File> {
    let open = || OpenOptions::new().read(true).write(true).open(path);
    for _ in 0..10 {
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result,
        }
        match make(path, layout) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result,
        }
    }
    open()
}

fn make(path: &Path, layout: Layout) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("{}-{count}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&draft)?;
    let named = fill(&file, layout).and_then(|()| std::fs::hard_link(&draft, path));
    let _ = std::fs::remove_file(&draft);
    named.map(|()| file)
}

fn fill(file: &File, layout: Layout) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    // All of it is taken now: a file system that is full would otherwise end the process at the first access.
    let bytes = libc::off_t::try_from(layout.bytes()).map_err(io::Error::other)?;
    // SAFETY: the descriptor is the file's.
    let code = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes) };
    if code != 0 {
        return Err(io::Error::from_raw_os_error(code));
    }
    let words = [MAGIC, layout.ranks as u64, layout.slot_bytes as u64, layout.ring_bytes as u64];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    file.write_all_at(&bytes, 0)
}

fn byte_lock(rank: usize) -> libc::flock {
    // SAFETY: all of it are numbers.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = rank as libc::off_t;
    lock.l_len = 1;
    lock
}

/// Locks a rank's byte for as long as the descriptor is open.
fn lock(file: &File, rank: usize) -> io::Result<()> {
    let lock = byte_lock(rank);
    // SAFETY: the descriptor is the file's, and the lock is read only.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whether another descriptor has locked a rank's byte.
fn is_locked(file: &File, rank: usize) -> io::Result<bool> {
    let mut lock = byte_lock(rank);
    // SAFETY: the descriptor is the file's, and the lock is a place to write to.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(lock.l_type != libc::F_UNLCK as libc::c_short),
    }
}

/// Sleeps as long as the word is `value`, for `limit` at most. False if nobody has woken it.
fn futex_wait(word: &AtomicU32, value: u32, limit: Duration) -> bool {
    let limit = libc::timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
    // SAFETY: the word and the time are there during the call.
    let code = unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const limit, 0, 0)
    };
    code == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word is there.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX, 0, 0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn path() -> PathBuf {
        crate::id::fresh_path_for_tests()
    }

    /// All ranks of a new segment, in one process.
    fn ranks(count: usize) -> Vec<Segment> {
        let path = path();
        let join = |rank| Segment::open(&path, rank, count).unwrap();
        let segments: Vec<_> = (0..count).map(join).collect();
        segments.iter().for_each(|segment| segment.wait_for_all(LIMIT).unwrap());
        assert!(!path.exists(), "it has no name any more when all have come");
        segments
    }

    #[test]
    fn parts_of_the_layout_do_not_overlap() {
        for ranks in 1..=MOST_RANKS {
            let layout = Layout::new(ranks);
            assert!(layout.control(ranks) <= layout.slot(0, 0));
            assert_eq!(layout.slot(0, 1) + layout.slot_bytes, layout.slot(1, 0));
            assert_eq!(layout.ring(0, ranks), layout.ring(1, 0));
            assert!(layout.slot(0, 0).is_multiple_of(64) && layout.ring(0, 0).is_multiple_of(64));
            assert!(layout.bytes() < 48 << 20, "{ranks}: {}", layout.bytes());
        }
    }

    #[test]
    fn ranks_meet_as_often_as_they_like() {
        let segments = ranks(4);
        let count = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for segment in &segments {
                let count = &count;
                scope.spawn(move || {
                    for turn in 0..200 {
                        count.fetch_add(1, Ordering::SeqCst);
                        segment.meet().unwrap();
                        assert_eq!(count.load(Ordering::SeqCst), 4 * (turn + 1));
                        segment.meet().unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn only_the_last_rank_that_meets_wakes_the_others() {
        let segments = ranks(4);
        let bells = || segments.iter().map(|segment| u64::from(segment.bell())).sum::<u64>();
        let before = bells();
        std::thread::scope(|scope| {
            for segment in &segments {
                scope.spawn(|| (0..10).for_each(|_| segment.meet().unwrap()));
            }
        });
        assert_eq!(bells() - before, 10 * 3);
    }

    #[test]
    fn a_rank_that_is_gone_is_missed() {
        let mut segments = ranks(3);
        let began = Instant::now();
        drop(segments.pop());
        let failure = segments[0].meet().unwrap_err();
        assert_eq!(failure.code, ncclResult_t::ncclRemoteError);
        assert_eq!(failure.text, "the process of rank 2 has ended");
        assert_eq!(segments[1].meet().unwrap_err(), failure, "the others know it from the first");
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn what_a_rank_did_before_it_left_counts() {
        let segments = ranks(2);
        std::thread::scope(|scope| {
            scope.spawn(|| segments[0].meet().unwrap());
            segments[1].meet().unwrap();
        });
        segments[1].leave();
        let failure = segments[0].meet().unwrap_err();
        assert!(failure.text.contains("rank 1 has ended"), "{}", failure.text);
    }

    #[test]
    fn who_does_not_come_is_named_and_the_file_goes() {
        let path = path();
        let segment = Segment::open(&path, 1, 3).unwrap();
        let failure = segment.wait_for_all(Duration::from_millis(120)).unwrap_err();
        assert_eq!(failure.code, ncclResult_t::ncclSystemError);
        assert!(failure.text.contains("[0, 2]"), "{}", failure.text);
        assert!(!path.exists());
    }

    #[test]
    fn a_rank_comes_once_and_all_say_how_many_there_are() {
        let path = path();
        let first = Segment::open(&path, 0, 3).unwrap();
        let again = Segment::open(&path, 0, 3).err().unwrap();
        assert_eq!(again.code, ncclResult_t::ncclInvalidUsage);
        let other = Segment::open(&path, 1, 2).err().unwrap();
        assert_eq!(other.code, ncclResult_t::ncclInvalidArgument);
        drop(first);
        let later = Segment::open(&path, 0, 3).err().unwrap();
        assert_eq!(later.code, ncclResult_t::ncclInvalidUsage, "also if the first one is gone");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let path = path();
        for contents in [&b"short"[..], &[7; HEADER + 1]] {
            std::fs::write(&path, contents).unwrap();
            let failure = Segment::open(&path, 0, 2).err().unwrap();
            assert_eq!(failure.code, ncclResult_t::ncclSystemError);
        }
        std::fs::remove_file(&path).unwrap();
    }
}
