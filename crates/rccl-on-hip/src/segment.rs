//! The memory that all ranks of a communicator share, and how they wait for each other in it.
//!
//! It is one sealed piece of memory. Ranks find it through a [`door`](crate::door), and each maps it, even if
//! they share a process. It has a header, a *control block* for each rank, two *slots* for each rank, and a
//! *ring* for each ordered pair of ranks. A rank writes to its own control block, its own slots, and its side
//! of the rings; the others read. Whatever values they read there, they never access memory outside the
//! segment.
//!
//! # Waiting
//! Each rank has a *bell*, a number that others increment when they have done something it may wait for. A
//! waiting rank reads the bell, checks for what it waits for, and sleeps on a futex while the bell is
//! unchanged.
//!
//! # Death
//! Each rank locks one byte of the memory's file through its own descriptor. The system releases the lock
//! when the process dies, for whatever reason, so a rank whose byte is unlocked will do nothing more. A rank
//! that has waited for a while checks the locks. Locks need no process ids, which may differ between
//! containers.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rccl_sys::ncclResult_t;

use crate::door::{self, Deadline, Entry, Role, Wanted};
use crate::error::{Failure, Result};

/// The most ranks of a communicator: a set of ranks is the bits of a word.
pub(crate) const MOST_RANKS: usize = 64;

/// A set of ranks.
pub(crate) type Ranks = u64;

/// How long a rank sleeps at a time.
const NAP: Duration = Duration::from_millis(50);
/// How often a rank polls before it sleeps.
const LOOKS: u32 = 50;

/// Each layout has its own.
const MAGIC: u64 = 0x4c43_4352_4f52_5247;
const HEADER: usize = 4096;
const CONTROL: usize = 512;
const RING_CONTROL: usize = 128;

/// The beginning of the memory.
#[repr(C)]
struct Header {
    magic: u64,
    ranks: u64,
    slot_bytes: u64,
    ring_bytes: u64,
    /// The number of ranks that have joined.
    joined: AtomicU32,
    /// Why the communicator has failed: 0, or a [`Reason`] and the rank that set it.
    broken: AtomicU32,
    /// How often ranks have reached meeting points, summed over all ranks.
    met: AtomicU64,
}

/// A rank's announcement of an operation. There are two, used in turn: one is written while the other may
/// still be read.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Notice {
    /// Words that must be equal on all ranks.
    pub(crate) same: [AtomicU64; 6],
    /// The rank's own words.
    pub(crate) own: [AtomicU64; 2],
}

/// The words of one rank.
#[repr(C)]
pub(crate) struct Control {
    bell: AtomicU32,
    /// Whether it sleeps, or is about to.
    sleeps: AtomicU32,
    /// 0, or 1 once it has joined.
    joined: AtomicU32,
    /// Whether it has ended normally, and does nothing more.
    left: AtomicU32,
    /// How often it has reached a meeting point.
    step: AtomicU64,
    pub(crate) notices: [Notice; 2],
}

const _: () = assert!(size_of::<Header>() <= HEADER && size_of::<Control>() <= CONTROL);

/// The ring from one rank to another: how many bytes were ever written and read.
#[repr(C)]
pub(crate) struct RingControl {
    pub(crate) written: AtomicU64,
    _apart: [u64; 7],
    pub(crate) read: AtomicU64,
}

const _: () = assert!(size_of::<RingControl>() <= RING_CONTROL);

/// Why a communicator has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Reason {
    /// The rank's program has aborted it.
    Aborted = 1,
    /// The rank's process is gone.
    Died = 2,
    /// The rank's device, or the system under it, has failed.
    Failed = 3,
    /// The rank has found that ranks call different operations.
    Disagree = 4,
    /// Not all ranks have joined in time.
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
            _ if word == 0 => return None,
            // A correct rank never writes this.
            _ => Self::Failed,
        };
        Some((reason, (word >> 8) as usize))
    }

    /// The failure as the other ranks see it.
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
                format!("rank {rank} has waited too long for other ranks to join"),
            ),
        }
    }
}

/// The parameters that determine the size of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    ranks: usize,
    slot_bytes: usize,
    ring_bytes: usize,
}

impl Layout {
    fn new(ranks: usize) -> Self {
        // Containers have 64 MiB there, which larger slots for many ranks would fill.
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

    /// The first bytes of the memory. The rest of the header, and of the memory, is zeros.
    fn head(self) -> [u8; 32] {
        let words = [MAGIC, self.ranks as u64, self.slot_bytes as u64, self.ring_bytes as u64];
        let mut head = [0; 32];
        for (to, word) in head.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        head
    }

    /// Fails unless another rank's memory, with this size and beginning, is what this rank would have made.
    fn check(self, rank: usize, head: &[u8; 32], bytes: u64) -> Result {
        let word = |at: usize| head[8 * at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        if word(0) == MAGIC && word(1) != self.ranks as u64 {
            return Err(Failure::argument(format!(
                "rank {rank} expects {} ranks, another rank {}",
                self.ranks,
                word(1)
            )));
        }
        match *head == self.head() && bytes == self.bytes() as u64 {
            true => Ok(()),
            false => Err(Failure::new(
                ncclResult_t::ncclSystemError,
                "another rank uses another version of this library",
            )),
        }
    }
}

/// A mapping of a file, unmapped on drop.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is only memory; each access has its own justification.
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
        // SAFETY: this value owns the mapping, and everything that points into it borrows this value.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The shared memory as one rank sees it.
pub(crate) struct Segment {
    mapping: Mapping,
    layout: Layout,
    /// Holds the lock that shows that the rank is alive.
    file: File,
    pub(crate) rank: usize,
    /// Like the header's, but for this rank's own finding: it gives up even if others overwrite the header.
    broken: AtomicU32,
    /// How often this rank has reached a meeting point. The word in shared memory is only for the others.
    step: AtomicU64,
    /// How long the rank sleeps before it checks that the ranks it waits for are alive.
    nap: Duration,
}

impl Segment {
    /// Finds the segment of that name or makes it, and takes the rank's place in it. The returned role is
    /// passed to [`wait_for_all`](Self::wait_for_all).
    pub(crate) fn open(
        name: &str,
        rank: usize,
        ranks: usize,
        deadline: Deadline,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<(Self, Role)> {
        use std::os::unix::fs::FileExt as _;
        let failed = |what: &str, error| Failure::system(format!("{what} the ranks' memory"), error);
        let layout = Layout::new(ranks);
        let wanted = Wanted { name, head: &layout.head(), bytes: layout.bytes(), user: door::own_user() };
        let Entry { memory: file, role } = door::enter(wanted, deadline, gives_up)?;
        let mut head = [0; 32];
        file.read_exact_at(&mut head, 0).map_err(|error| failed("cannot read", error))?;
        let bytes = file.metadata().map_err(|error| failed("cannot measure", error))?.len();
        layout.check(rank, &head, bytes)?;
        let mapping = Mapping::new(&file, layout.bytes()).map_err(|error| failed("cannot map", error))?;
        let (broken, step) = (AtomicU32::new(0), AtomicU64::new(0));
        let segment = Self { mapping, layout, file, rank, broken, step, nap: NAP };
        lock(&segment.file, rank).map_err(|error| match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Failure::usage(format!("rank {rank} is taken already")),
            _ => failed("cannot lock", error),
        })?;
        let joined = &segment.control(rank).joined;
        if joined.swap(1, Ordering::AcqRel) != 0 {
            return Err(Failure::usage(format!("rank {rank} was taken before")));
        }
        segment.header().joined.fetch_add(1, Ordering::AcqRel);
        segment.ring_all();
        Ok((segment, role))
    }

    /// Waits until all ranks have joined.
    pub(crate) fn wait_for_all(&self, role: Role, deadline: Deadline) -> Result {
        let mut host = match role {
            Role::Host(door) => Some(door),
            Role::Guest(stream) => {
                // This tells the host that this rank has taken its place.
                drop(stream);
                None
            }
        };
        let ranks = self.layout.ranks;
        let absent = || (0..ranks).filter(|&rank| self.control(rank).joined.load(Ordering::Acquire) == 0);
        let mut waiting = Waiting::default();
        loop {
            let bell = self.bell();
            if self.header().joined.load(Ordering::Acquire) as usize == ranks {
                return Ok(());
            }
            if deadline.is_over() {
                let absent: Vec<_> = absent().collect();
                self.break_up(Reason::Late, self.rank);
                let limit = deadline.limit;
                let text = format!("after {limit:?}, these of {ranks} ranks have not joined: {absent:?}");
                return Err(Failure::new(ncclResult_t::ncclSystemError, text));
            }
            let here = all(ranks) & !set(absent());
            match &mut host {
                Some(door) => waiting.sleep_by(self, here, true, || door.serve(self.nap))?,
                None => waiting.sleep(self, bell, here, true)?,
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
        // SAFETY: all offsets are from the layout, and the mapping has its size.
        unsafe { self.mapping.start.add(offset) }
    }

    /// All of the memory, for pinning.
    pub(crate) fn memory(&self) -> (NonNull<u8>, usize) {
        (self.mapping.start, self.mapping.bytes)
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping begins with it and is aligned, and everything that changes in it is atomic.
        unsafe { self.mapping.start.cast().as_ref() }
    }

    /// The words of a rank.
    pub(crate) fn control(&self, rank: usize) -> &Control {
        assert!(rank < self.layout.ranks);
        // SAFETY: the layout places it there, aligned, and all of it is atomic.
        unsafe { self.at(self.layout.control(rank)).cast().as_ref() }
    }

    /// A slot of a rank: `slot_bytes` bytes, aligned at least to a cache line.
    pub(crate) fn slot(&self, rank: usize, turn: usize) -> *mut u8 {
        assert!(rank < self.layout.ranks && turn < 2);
        self.at(self.layout.slot(rank, turn)).as_ptr()
    }

    /// The ring from one rank to another: the counts, and `ring_bytes` bytes.
    pub(crate) fn ring(&self, from: usize, to: usize) -> (&RingControl, *mut u8) {
        assert!(from < self.layout.ranks && to < self.layout.ranks);
        let start = self.at(self.layout.ring(from, to));
        // SAFETY: the layout has the words there, aligned, and all of them are atomic; the bytes follow.
        unsafe { (start.cast().as_ref(), start.as_ptr().add(RING_CONTROL)) }
    }

    /// The current value of this rank's bell.
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

    /// Ends the communicator for all ranks, unless it has ended already.
    pub(crate) fn break_up(&self, reason: Reason, rank: usize) {
        let word = reason as u32 | (rank as u32) << 8;
        for place in [&self.header().broken, &self.broken] {
            let _ = place.compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire);
        }
        self.ring_all();
    }

    /// The failure that has ended the communicator.
    pub(crate) fn broken(&self) -> Option<Failure> {
        let word = |place: &AtomicU32| Reason::of(place.load(Ordering::Acquire));
        let (reason, rank) = word(&self.header().broken).or_else(|| word(&self.broken))?;
        Some(reason.failure(rank))
    }

    /// Records that this rank ends normally.
    pub(crate) fn leave(&self) {
        self.control(self.rank).left.store(1, Ordering::Release);
        self.ring_all();
    }

    /// Meets the other ranks: waits until all of them get here.
    pub(crate) fn meet(&self) -> Result {
        let step = self.step.fetch_add(1, Ordering::Relaxed) + 1;
        self.control(self.rank).step.store(step, Ordering::Release);
        // Only the last rank wakes the others; earlier wake-ups would be wasted. The count may be anything
        // that others wrote there.
        if self.header().met.fetch_add(1, Ordering::AcqRel).wrapping_add(1) == step * self.layout.ranks as u64
        {
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

    /// Whether a rank will do nothing more, because its process is gone or it has left.
    fn is_gone(&self, rank: usize) -> Option<Gone> {
        let control = self.control(rank);
        if control.left.load(Ordering::Acquire) != 0 {
            return Some(Gone::Left);
        }
        // A rank takes the lock before it marks itself as joined.
        let joined = control.joined.load(Ordering::Acquire) != 0;
        match is_locked(&self.file, rank) {
            Ok(false) if joined && rank != self.rank => Some(Gone::Died),
            _ => None,
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl Segment {
    /// The first rank of two. The second is gone, and the first checks for it soon.
    pub(crate) fn alone_of_two() -> Result<Self> {
        let name = crate::id::Id::fresh()?.socket()?;
        let open = |rank| Segment::open(&name, rank, 2, Deadline::after(Duration::from_secs(60)), &|| false);
        let (mut first, role) = open(0)?;
        std::thread::scope(|scope| {
            let second = scope.spawn(|| open(1).map(drop));
            first.wait_for_all(role, Deadline::after(Duration::from_secs(60)))?;
            second.join().unwrap_or_else(|_| Err(Failure::panic()))
        })?;
        first.nap = Duration::from_micros(50);
        Ok(first)
    }

    /// Writes anywhere, as any rank could.
    pub(crate) fn scribble(&self, at: usize, bytes: &[u8]) {
        for (at, byte) in (at..self.mapping.bytes).zip(bytes) {
            // SAFETY: the byte is in the mapping, which only this rank reads, byte by byte or through
            // atomics.
            unsafe { self.at(at).as_ptr().write_volatile(*byte) };
        }
    }

    /// Restores the state from before anything was overwritten.
    pub(crate) fn mend(&self) {
        let words = self.layout.slot(0, 0);
        self.scribble(0, &vec![0; words]);
        for (from, to) in [(0, 1), (1, 0)] {
            self.scribble(self.layout.ring(from, to), &[0; RING_CONTROL]);
        }
        self.scribble(0, &self.layout.head());
        self.header().joined.store(2, Ordering::SeqCst);
        (0..2).for_each(|rank| self.control(rank).joined.store(1, Ordering::SeqCst));
        self.broken.store(0, Ordering::SeqCst);
        self.step.store(0, Ordering::SeqCst);
    }

    /// The offsets of the parts that others write to: the header, both control blocks, and both rings.
    pub(crate) fn parts(&self) -> [usize; 7] {
        let [first, second] = [0, 1].map(|rank| self.layout.control(rank));
        let (slot, out, back) = (self.layout.slot(1, 0), self.layout.ring(0, 1), self.layout.ring(1, 0));
        [0, first, second, slot, out, back, back + RING_CONTROL]
    }
}

/// How a rank ended.
#[derive(Debug, Clone, Copy)]
enum Gone {
    Left,
    Died,
}

/// One wait for other ranks.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Ranks that were found to be gone. The next poll sees what they did before that.
    gone: Ranks,
}

impl Waiting {
    /// Sleeps while the bell is `bell`, or for a while, and then checks whether any of `ranks` is gone. A
    /// rank that was gone at the previous check already ends the communicator, except that during the
    /// rendezvous a rank may have left.
    pub(crate) fn sleep(&mut self, segment: &Segment, bell: u32, ranks: Ranks, rendezvous: bool) -> Result {
        self.sleep_by(segment, ranks, rendezvous, || {
            let control = segment.control(segment.rank);
            control.sleeps.store(1, Ordering::SeqCst);
            let woken = futex_wait(&control.bell, bell, segment.nap);
            control.sleeps.store(0, Ordering::SeqCst);
            woken
        })
    }

    /// Like [`sleep`](Self::sleep), but sleeps with `sleep`, which returns whether anything happened.
    fn sleep_by(
        &mut self,
        segment: &Segment,
        ranks: Ranks,
        rendezvous: bool,
        sleep: impl FnOnce() -> bool,
    ) -> Result {
        if let Some(failure) = segment.broken() {
            return Err(failure);
        }
        let lost = self.gone & ranks;
        if lost != 0 {
            let rank = lost.trailing_zeros() as usize;
            return Err(match segment.is_gone(rank) {
                Some(Gone::Left) => {
                    segment.break_up(Reason::Failed, segment.rank);
                    Failure::remote(format!("rank {rank} has ended, and takes no further part"))
                }
                _ => {
                    segment.break_up(Reason::Died, rank);
                    Reason::Died.failure(rank)
                }
            });
        }
        if !sleep() {
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

fn byte_lock(rank: usize) -> libc::flock {
    // SAFETY: all fields are numbers.
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

/// Whether another descriptor holds the lock on a rank's byte.
fn is_locked(file: &File, rank: usize) -> io::Result<bool> {
    let mut lock = byte_lock(rank);
    // SAFETY: the descriptor is the file's, and the lock is valid for writes.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(lock.l_type != libc::F_UNLCK as libc::c_short),
    }
}

/// Sleeps while the word is `value`, for at most `limit`. False if it was not woken.
fn futex_wait(word: &AtomicU32, value: u32, limit: Duration) -> bool {
    let limit = libc::timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
    // SAFETY: the word and the time are valid during the call.
    let code = unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const limit, 0, 0)
    };
    code == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word is valid.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX, 0, 0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    const LIMIT: Duration = Duration::from_secs(20);

    fn name() -> String {
        Id::fresh().unwrap().socket().unwrap()
    }

    fn open(name: &str, rank: usize, ranks: usize) -> Result<(Segment, Role)> {
        Segment::open(name, rank, ranks, Deadline::after(LIMIT), &|| false)
    }

    /// All ranks of a new segment, in one process.
    fn ranks(count: usize) -> Vec<Segment> {
        let name = name();
        let join = |rank| {
            let name = name.clone();
            std::thread::spawn(move || {
                let (segment, role) = open(&name, rank, count).unwrap();
                segment.wait_for_all(role, Deadline::after(LIMIT)).unwrap();
                segment
            })
        };
        let segments: Vec<_> = (0..count).map(join).collect();
        segments.into_iter().map(|segment| segment.join().unwrap()).collect()
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
        drop(segments.pop());
        let failure = segments[0].meet().unwrap_err();
        assert_eq!(failure.code, ncclResult_t::ncclRemoteError);
        assert_eq!(failure.text, "the process of rank 2 has ended");
        assert_eq!(segments[1].meet().unwrap_err(), failure, "the others know it from the first");
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
    fn who_does_not_come_is_named_and_the_name_is_free_again() {
        let name = name();
        for _ in 0..2 {
            let (segment, role) = open(&name, 1, 3).unwrap();
            let failure =
                segment.wait_for_all(role, Deadline::after(Duration::from_millis(120))).unwrap_err();
            assert_eq!(failure.code, ncclResult_t::ncclSystemError);
            assert!(failure.text.contains("[0, 2]"), "{}", failure.text);
        }
    }

    #[test]
    fn a_rank_comes_once_and_all_say_how_many_there_are() {
        let name = name();
        let (first, role) = open(&name, 0, 3).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(move || first.wait_for_all(role, Deadline::after(LIMIT)));
            let again = open(&name, 0, 3).err().unwrap();
            assert_eq!(again.code, ncclResult_t::ncclInvalidUsage);
            let other = open(&name, 1, 2).err().unwrap();
            assert_eq!(other.code, ncclResult_t::ncclInvalidArgument);
            let (second, _role) = open(&name, 1, 3).unwrap();
            drop(second);
            let later = open(&name, 1, 3);
            // The first rank may have noticed by now, and may accept no more ranks.
            if let Err(later) = later {
                assert_eq!(later.code, ncclResult_t::ncclInvalidUsage, "also if that rank is gone");
            }
            assert!(waits.join().unwrap().unwrap_err().text.contains("rank 1 has ended"));
        });
    }

    #[test]
    fn memory_of_another_kind_is_refused() {
        let layout = Layout::new(2);
        let bytes = layout.bytes() as u64;
        layout.check(0, &layout.head(), bytes).unwrap();
        assert!(layout.check(0, &layout.head(), bytes - 1).is_err());
        for at in 0..32 {
            let mut head = layout.head();
            head[at] ^= 1;
            assert!(layout.check(0, &head, bytes).is_err(), "{at}");
        }
    }
}
