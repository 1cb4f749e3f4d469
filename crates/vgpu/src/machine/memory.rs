//! Memory of the virtual machine: every allocation that kernels may access, with exact bounds.
//!
//! A device address *is* the host address. Kernels reach an allocation only through this registry. So an
//! out-of-bounds access, or an access to freed memory, is a [`FaultKind`](super::FaultKind) and never touches
//! the host process.
//!
//! Kernels and host threads may access the same bytes at the same time, as on hardware. Rust code holds no
//! references to this memory. The executor accesses it through raw pointers, at most 64 bytes at a time, and
//! never splits naturally aligned elements of up to 8 bytes. Atomic instructions are atomic operations of the
//! host.
//!
//! Memory can be freed safely while dispatches run. A worker checks addresses against ranges that it
//! remembers from earlier lookups. It compares epochs at the end of each time slice of a wave, and forgets
//! the ranges when the registry's epoch has changed. [`Memory::free`] removes the allocation, starts a new
//! epoch, waits until every worker has seen it, and then unmaps the memory.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use gpu_report::{AccessKind, Allocation, FaultKind, MemoryKind};
use vgpu_exec::GlobalMemory;

use super::observe::Instruments;
use super::shared::{map_fixed, memory_file};

/// How many freed allocations are remembered. Their addresses are not reused.
const QUARANTINE_ENTRIES: usize = 4096;
/// The maximum address space that they may occupy. Their pages are released at once, so they use no memory.
const QUARANTINE_BYTES: u64 = 1 << 40;
const PAGE: u64 = 4096;
/// Unused addresses after each allocation, so that an access beyond its end does not hit the next allocation.
const RED_ZONE: u64 = PAGE;
const HUGE_PAGE: u64 = 2 << 20;

/// Why memory could not be allocated, freed or registered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The size is zero.
    #[error("an allocation of zero bytes")]
    ZeroSize,
    /// The alignment is not a power of two.
    #[error("alignment {0} is not a power of two")]
    BadAlignment(u64),
    /// The device does not have that much memory left.
    #[error("device {device} has {available} bytes of memory left, but {size} were requested")]
    OutOfMemory {
        /// Index of the device.
        device: usize,
        /// Bytes requested.
        size: u64,
        /// Bytes left.
        available: u64,
    },
    /// The host's operating system did not provide the memory.
    #[error("the host could not provide {size} bytes of memory (error {errno})")]
    Host {
        /// Bytes requested.
        size: u64,
        /// The system's error number.
        errno: i32,
    },
    /// No allocation starts at the address.
    #[error("no allocation starts at {0:#x}")]
    NotAllocated(u64),
    /// The allocation was already freed.
    #[error("the allocation at {0:#x} was already freed")]
    FreedTwice(u64),
    /// The range overlaps memory that is allocated or registered.
    #[error("{size} bytes at {address:#x} overlap memory that is allocated or registered")]
    Overlap {
        /// First byte.
        address: u64,
        /// Size in bytes.
        size: u64,
    },
    /// Kernels do not stop using the memory.
    #[error("kernels keep using the memory at {0:#x}")]
    InUse(u64),
    /// No device has that index.
    #[error("no device {0}")]
    NoDevice(usize),
}

/// Pages of memory, released on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: u64,
    length: u64,
    /// The file behind the pages, if other processes can map them.
    file: Option<Arc<File>>,
    /// Whether the pages are part of other code's file, which is not passed on.
    part: bool,
}

struct Entry {
    allocation: Allocation,
    /// None for registered memory and for parts of a code object.
    mapping: Option<Mapping>,
    /// Whether it is counted against its device. Memory of another process is counted in that process.
    charged: bool,
    /// Whether an access may go on in the next allocation, as one of mapped virtual memory may.
    joins: bool,
    /// The variables among constants (declared with `__constant__`), sorted by address. A runtime's own copy
    /// kernels may write them.
    variables: Box<[Range<u64>]>,
}

#[derive(Clone, Copy, Default)]
struct Account {
    limit: u64,
    used: u64,
}

#[derive(Default)]
struct State {
    live: BTreeMap<u64, Entry>,
    /// Allocations that are being freed: lookups no longer find them, but they may still be in use.
    leaving: Vec<Allocation>,
    freed: VecDeque<Entry>,
    freed_bytes: u64,
    accounts: Vec<Account>,
    serial: u64,
}

impl State {
    fn at(&self, address: u64) -> Option<&Entry> {
        self.live.range(..=address).next_back().map(|(_, entry)| entry)
    }

    fn overlaps(&self, address: u64, size: u64) -> bool {
        let end = address.saturating_add(size);
        self.live.range(..end).next_back().is_some_and(|(_, entry)| entry.allocation.end() > address)
    }

    /// Allocations that are being freed or were freed, most recent first.
    fn gone(&self) -> impl Iterator<Item = &Allocation> {
        self.leaving.iter().rev().chain(self.freed.iter().rev().map(|entry| &entry.allocation))
    }

    fn insert(&mut self, allocation: Allocation, mapping: Option<Mapping>, charged: bool) {
        let variables = Box::default();
        self.live.insert(allocation.start, Entry { allocation, mapping, charged, joins: false, variables });
    }

    /// Mappings of virtual memory that follow each other and contain all `size` bytes at an address, as one
    /// range.
    #[cold]
    fn joined(&self, address: u64, size: u64) -> Option<(u64, u64, bool)> {
        let wanted = address.checked_add(size)?;
        let first = self.at(address).filter(|first| first.joins && first.allocation.covers(address, 1))?;
        let (mut end, mut writable) = (first.allocation.end(), first.allocation.kind.writable());
        while end < wanted {
            let next = &self.live.get(&end).filter(|next| next.joins)?.allocation;
            (end, writable) = (next.end(), writable && next.kind.writable());
        }
        Some((first.allocation.start, end, writable))
    }

    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }
}

/// A worker's view of the epoch: 0 while it runs nothing, otherwise the epoch whose ranges it may still use.
#[derive(Default, Debug)]
pub struct Reader {
    seen: AtomicU64,
}

impl Reader {
    /// Declares that the worker uses no remembered range.
    pub fn leave(&self) {
        self.seen.store(0, Ordering::Release);
    }
}

/// All memory of the machine, of every device and the host.
pub struct Memory {
    state: RwLock<State>,
    epoch: AtomicU64,
    readers: Mutex<Vec<Arc<Reader>>>,
    /// The observers of allocations, frees and writes.
    instruments: Instruments,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.read();
        f.debug_struct("Memory").field("live", &state.live.len()).field("freed", &state.freed.len()).finish()
    }
}

impl Memory {
    #[doc(hidden)]
    pub fn new() -> Self {
        Memory {
            state: RwLock::default(),
            epoch: AtomicU64::new(1),
            readers: Mutex::default(),
            instruments: Instruments::default(),
        }
    }

    /// The observers of this memory, and of the dispatches that use it.
    pub(super) fn instruments(&self) -> &Instruments {
        &self.instruments
    }

    /// Reports that the host wrote memory, for checks of uninitialised values. Functions of the HSA API that
    /// write memory report it themselves.
    pub fn wrote(&self, address: u64, size: u64) {
        self.instruments.written(address, size);
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Arc<Reader>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an account for a device and returns its index.
    #[doc(hidden)]
    pub fn add_device(&self, limit: u64) -> usize {
        let mut state = self.write();
        state.accounts.push(Account { limit, used: 0 });
        state.accounts.len() - 1
    }

    /// Allocates `size` bytes of zeroed memory, aligned to `align` (a power of two; at least a page), and
    /// counts them against `device` if given. Returns the address, which is the same for kernels and the
    /// host.
    ///
    /// # Errors
    /// The size is zero, the alignment is invalid, or the device or the host has too little memory left.
    pub fn allocate(
        &self,
        size: u64,
        align: u64,
        kind: MemoryKind,
        device: Option<usize>,
    ) -> Result<u64, MemoryError> {
        if size == 0 {
            return Err(MemoryError::ZeroSize);
        }
        if !align.is_power_of_two() {
            return Err(MemoryError::BadAlignment(align));
        }
        self.charge(size, device)?;
        let align = align.max(if size >= HUGE_PAGE { HUGE_PAGE } else { PAGE });
        let (mapping, start) = match Mapping::new(size.saturating_add(RED_ZONE), align) {
            Ok(found) => found,
            Err(error) => {
                self.refund(size, device);
                return Err(error);
            }
        };
        let mut state = self.write();
        let serial = state.next_serial();
        let allocation = Allocation { start, size, kind, device, serial };
        state.insert(allocation.clone(), Some(mapping), true);
        drop(state);
        self.instruments.allocated(&allocation);
        Ok(start)
    }

    /// Turns pages of a file, from an offset on, into an allocation of exactly `size` bytes. The memory may
    /// belong to another process too. The file must be large enough and keep its size.
    pub(crate) fn adopt(
        &self,
        file: File,
        offset: u64,
        size: u64,
        kind: MemoryKind,
        device: Option<usize>,
    ) -> Result<u64, MemoryError> {
        if size == 0 {
            return Err(MemoryError::ZeroSize);
        }
        let (mut mapping, start) = Mapping::new(size.saturating_add(RED_ZONE), PAGE)?;
        // SAFETY: the addresses belong to the mapping just made, which nobody else knows yet.
        unsafe { map_fixed(start, size, libc::PROT_READ | libc::PROT_WRITE, Some((&file, offset))) }?;
        mapping.part = offset != 0;
        mapping.file = Some(Arc::new(file));
        let mut state = self.write();
        let serial = state.next_serial();
        let allocation = Allocation { start, size, kind, device, serial };
        state.insert(allocation.clone(), Some(mapping), false);
        drop(state);
        self.instruments.allocated(&allocation);
        Ok(start)
    }

    /// Replaces the pages of an allocation from [`Memory::allocate`] by those of a file, so that other
    /// processes can map them. The contents stay the same. Waits until no kernel runs; the host must not
    /// write the memory meanwhile.
    pub(crate) fn share(&self, address: u64) -> Result<(Arc<File>, Allocation), MemoryError> {
        const PATIENCE: Duration = Duration::from_secs(10);
        let start = Instant::now();
        loop {
            let mut state = self.write();
            let not_allocated = MemoryError::NotAllocated(address);
            let Some(Entry { allocation, mapping: Some(mapping), .. }) = state.live.get_mut(&address) else {
                return Err(not_allocated);
            };
            if mapping.part {
                return Err(not_allocated);
            }
            if let Some(file) = &mapping.file {
                return Ok((Arc::clone(file), allocation.clone()));
            }
            // Whoever enters the new epoch has forgotten all ranges, and cannot look any up while the lock is
            // held.
            let epoch = self.epoch.fetch_add(1, Ordering::SeqCst) + 1;
            fence(Ordering::SeqCst);
            let idle = self.readers().iter().all(|reader| {
                let seen = reader.seen.load(Ordering::Acquire);
                seen == 0 || seen >= epoch
            });
            if idle {
                return Ok((mapping.move_to_file(allocation)?, allocation.clone()));
            }
            drop(state);
            if start.elapsed() > PATIENCE {
                return Err(MemoryError::InUse(address));
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Counts bytes against a device.
    pub(crate) fn charge(&self, size: u64, device: Option<usize>) -> Result<(), MemoryError> {
        let Some(device) = device else { return Ok(()) };
        let mut state = self.write();
        let account = state.accounts.get_mut(device).ok_or(MemoryError::NoDevice(device))?;
        let available = account.limit - account.used;
        if size > available {
            return Err(MemoryError::OutOfMemory { device, size, available });
        }
        account.used += size;
        Ok(())
    }

    /// Subtracts bytes from a device's account.
    pub(crate) fn refund(&self, size: u64, device: Option<usize>) {
        if let Some(device) = device
            && let Some(account) = self.write().accounts.get_mut(device)
        {
            account.used = account.used.saturating_sub(size);
        }
    }

    /// Frees memory from [`Memory::allocate`]. Waits until no running wave can still use it.
    ///
    /// # Errors
    /// The address is not the start of an allocation, or the allocation was already freed.
    ///
    /// # Safety
    /// The caller owns the allocation: no other code of the process considers the memory its own, and the
    /// host no longer reads or writes it. All users of a machine share its memory, including those of the HSA
    /// API.
    pub unsafe fn free(&self, address: u64) -> Result<(), MemoryError> {
        let entry = self.remove(address, true)?;
        if entry.charged {
            self.refund(entry.allocation.size, entry.allocation.device);
        }
        self.synchronize();
        self.instruments.freed(&entry.allocation);
        self.quarantine(entry);
        Ok(())
    }

    /// Makes `size` bytes of the host program's memory at `address` known to kernels. Registering the very
    /// same range twice is refused; callers count references.
    ///
    /// # Errors
    /// The size is zero, or the range overlaps memory that is already known.
    ///
    /// # Safety
    /// Until [`Memory::unregister`] returns, the memory must stay mapped, and the host may use it only as
    /// memory shared with other threads.
    pub unsafe fn register(&self, address: u64, size: u64) -> Result<(), MemoryError> {
        // SAFETY: the caller's promise.
        unsafe { self.register_as(address, size, MemoryKind::Registered, None) }
    }

    /// [`Memory::register`] with a kind of memory.
    ///
    /// # Safety
    /// As for [`Memory::register`]; memory of a kind that is not writable only needs to be readable.
    pub(crate) unsafe fn register_as(
        &self,
        address: u64,
        size: u64,
        kind: MemoryKind,
        device: Option<usize>,
    ) -> Result<(), MemoryError> {
        if size == 0 {
            return Err(MemoryError::ZeroSize);
        }
        let mut state = self.write();
        if address.checked_add(size).is_none() || state.overlaps(address, size) {
            return Err(MemoryError::Overlap { address, size });
        }
        let serial = state.next_serial();
        let allocation = Allocation { start: address, size, kind, device, serial };
        state.insert(allocation.clone(), None, false);
        drop(state);
        self.instruments.allocated(&allocation);
        Ok(())
    }

    /// [`Memory::register_as`] for a mapping of virtual memory: an access may go on in another one that follows
    /// it.
    ///
    /// # Safety
    /// As for [`Memory::register_as`].
    pub(crate) unsafe fn register_mapping(
        &self,
        address: u64,
        size: u64,
        kind: MemoryKind,
        device: Option<usize>,
    ) -> Result<(), MemoryError> {
        // SAFETY: as this function's contract.
        unsafe { self.register_as(address, size, kind, device) }?;
        if let Some(entry) = self.write().live.get_mut(&address) {
            entry.joins = true;
        }
        Ok(())
    }

    /// Takes memory registered at `address` away from kernels. Waits until no running wave can still use it.
    ///
    /// # Errors
    /// Nothing is registered at the address.
    pub fn unregister(&self, address: u64) -> Result<(), MemoryError> {
        let entry = self.remove(address, false)?;
        self.synchronize();
        self.instruments.freed(&entry.allocation);
        self.quarantine(entry);
        Ok(())
    }

    /// [`Memory::unregister`] for the parts of one image, with a single wait. Their addresses are not
    /// remembered.
    pub(crate) fn unregister_all(&self, addresses: &[u64]) {
        if addresses.is_empty() {
            return;
        }
        let removed: Vec<Entry> = {
            let mut state = self.write();
            addresses.iter().filter_map(|address| state.live.remove(address)).collect()
        };
        self.synchronize();
        removed.iter().for_each(|entry| self.instruments.freed(&entry.allocation));
    }

    /// Removes an allocation from all lookups. From then on it counts as freed; [`Memory::quarantine`] is the
    /// next step.
    fn remove(&self, address: u64, mapped: bool) -> Result<Entry, MemoryError> {
        let mut state = self.write();
        match state.live.get(&address) {
            Some(entry) if entry.mapping.is_some() == mapped => {}
            Some(_) => return Err(MemoryError::NotAllocated(address)),
            None if state.gone().any(|gone| gone.start == address) => {
                return Err(MemoryError::FreedTwice(address));
            }
            None => return Err(MemoryError::NotAllocated(address)),
        }
        let entry = state.live.remove(&address).ok_or(MemoryError::NotAllocated(address))?;
        state.leaving.push(entry.allocation.clone());
        Ok(entry)
    }

    /// Releases the pages but reserves the addresses for a while, so that late accesses are recognised.
    fn quarantine(&self, mut entry: Entry) {
        let length = |entry: &Entry| entry.mapping.as_ref().map_or(0, |mapping| mapping.length);
        if let Some(mapping) = &mut entry.mapping {
            mapping.seal();
        }
        let mut state = self.write();
        state.leaving.retain(|leaving| leaving.serial != entry.allocation.serial);
        state.freed_bytes += length(&entry);
        state.freed.push_back(entry);
        while state.freed.len() > QUARANTINE_ENTRIES || state.freed_bytes > QUARANTINE_BYTES {
            let Some(entry) = state.freed.pop_front() else { break };
            state.freed_bytes -= length(&entry);
        }
    }

    /// Makes an allocation read-only for kernels, from their next time slices on.
    ///
    /// # Errors
    /// No allocation starts at the address.
    pub(crate) fn guard(&self, address: u64) -> Result<(), MemoryError> {
        let mut state = self.write();
        let entry = state.live.get_mut(&address).ok_or(MemoryError::NotAllocated(address))?;
        entry.allocation.kind = MemoryKind::Guarded;
        drop(state);
        // No wait is needed: until its slice ends, a wave can do no more than it could when the slice began.
        self.epoch.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// The live allocation that contains the address.
    pub fn lookup(&self, address: u64) -> Option<Allocation> {
        self.read()
            .at(address)
            .map(|entry| &entry.allocation)
            .filter(|found| found.covers(address, 1))
            .cloned()
    }

    /// Whether a single live allocation contains all `size` bytes at `address`.
    pub fn contains(&self, address: u64, size: u64) -> bool {
        self.read().at(address).is_some_and(|entry| entry.allocation.covers(address, size))
    }

    /// Whether adjacent live allocations without gaps contain all `size` bytes at `address`.
    pub(crate) fn spans(&self, mut address: u64, size: u64) -> bool {
        let Some(end) = address.checked_add(size) else { return false };
        let state = self.read();
        while let Some(entry) = state.at(address).filter(|entry| entry.allocation.covers(address, 1)) {
            address = entry.allocation.end();
            if address >= end {
                return true;
            }
        }
        false
    }

    /// Forgets freed allocations within a range, because its addresses may be reused.
    pub(crate) fn forget(&self, address: u64, size: u64) {
        let within = |entry: &Entry| {
            entry.mapping.is_none()
                && entry.allocation.start >= address
                && entry.allocation.end() <= address + size
        };
        self.write().freed.retain(|entry| !within(entry));
    }

    /// Bytes of the device's memory that are free.
    pub fn available(&self, device: usize) -> u64 {
        self.read().accounts.get(device).map_or(0, |account| account.limit - account.used)
    }

    /// Bytes of memory the device has.
    pub fn capacity(&self, device: usize) -> u64 {
        self.read().accounts.get(device).map_or(0, |account| account.limit)
    }

    /// Sets the variables within constants that are registered at an address.
    pub(crate) fn set_variables(&self, address: u64, mut variables: Vec<Range<u64>>) {
        variables.sort_by_key(|range| range.start);
        if let Some(entry) = self.write().live.get_mut(&address) {
            entry.variables = variables.into();
        }
    }

    /// A new worker's reader.
    #[doc(hidden)]
    pub fn reader(&self) -> Arc<Reader> {
        let reader = Arc::new(Reader::default());
        self.readers().push(Arc::clone(&reader));
        reader
    }

    /// Returns the current epoch and marks it as seen by the reader. Ranges remembered in another epoch must
    /// be forgotten.
    #[doc(hidden)]
    #[inline]
    pub fn enter(&self, reader: &Reader) -> u64 {
        let epoch = self.epoch.load(Ordering::Acquire);
        if reader.seen.load(Ordering::Relaxed) == epoch { epoch } else { self.announce(reader, epoch) }
    }

    #[cold]
    fn announce(&self, reader: &Reader, mut epoch: u64) -> u64 {
        loop {
            reader.seen.store(epoch, Ordering::Release);
            // Either `synchronize` sees the reader in this epoch and waits, or the reader sees the new epoch
            // here.
            fence(Ordering::SeqCst);
            let now = self.epoch.load(Ordering::Acquire);
            if now == epoch {
                return epoch;
            }
            epoch = now;
        }
    }

    /// Starts a new epoch and waits until every worker has entered it or is idle.
    fn synchronize(&self) {
        let epoch = self.epoch.fetch_add(1, Ordering::SeqCst) + 1;
        fence(Ordering::SeqCst);
        let readers = {
            let mut readers = self.readers();
            readers.retain(|reader| Arc::strong_count(reader) > 1);
            readers.clone()
        };
        for reader in readers {
            let mut tries = 0u32;
            loop {
                let seen = reader.seen.load(Ordering::Acquire);
                if seen == 0 || seen >= epoch {
                    break;
                }
                tries += 1;
                if tries < 64 {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        }
    }
}

// SAFETY: a found range stays mapped, and writable if it was, until the epoch ends; `synchronize` waits until
// the wave's worker has entered the next one.
unsafe impl GlobalMemory for Memory {
    fn find(&self, address: u64, size: u64) -> Option<(u64, u64, bool)> {
        let state = self.read();
        let found = &state.at(address)?.allocation;
        if found.covers(address, size) {
            return Some((found.start, found.end(), found.kind.writable()));
        }
        state.joined(address, size)
    }

    fn find_variable(&self, address: u64, size: u64) -> Option<(u64, u64)> {
        let state = self.read();
        let variables = &state.at(address)?.variables;
        let found = variables.get(variables.partition_point(|range| range.end <= address))?;
        let end = address.checked_add(size)?;
        (found.start <= address && end <= found.end).then_some((found.start, found.end))
    }

    fn lookup(&self, address: u64) -> Option<Allocation> {
        Memory::lookup(self, address)
    }

    fn explain(&self, access: AccessKind, address: u64, size: u64) -> FaultKind {
        let state = self.read();
        if let Some(entry) = state.at(address)
            && entry.allocation.covers(address, size)
        {
            return FaultKind::ReadOnly { address, size, allocation: entry.allocation.clone() };
        }
        let below = state.at(address).map(|entry| &entry.allocation);
        let inside_live = below.is_some_and(|found| found.covers(address, 1));
        if !inside_live && let Some(freed) = state.gone().find(|gone| gone.covers(address, 1)) {
            return FaultKind::UseAfterFree { access, address, size, freed: freed.clone() };
        }
        let above = state.live.range(address..).next().map(|(_, entry)| &entry.allocation);
        let nearest = match (below, above) {
            (Some(below), Some(above)) if !inside_live => {
                if above.start - address < address.saturating_sub(below.end()) {
                    Some(above)
                } else {
                    Some(below)
                }
            }
            (Some(below), _) => Some(below),
            (None, above) => above,
        };
        FaultKind::OutOfBounds { access, address, size, nearest: nearest.cloned() }
    }
}

impl Mapping {
    /// Maps zeroed pages for `size` bytes. Returns them and their first address that is a multiple of
    /// `align`.
    pub(crate) fn new(size: u64, align: u64) -> Result<(Mapping, u64), MemoryError> {
        let no_room = || MemoryError::Host { size, errno: libc::ENOMEM };
        let slack = if align > PAGE { align } else { 0 };
        let pages = size.checked_next_multiple_of(PAGE).ok_or_else(no_room)?;
        let length = pages.checked_add(slack).ok_or_else(no_room)?;
        let bytes = usize::try_from(length).map_err(|_| no_room())?;
        // SAFETY: a new private mapping at an address chosen by the system does not affect existing ones.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOMEM);
            return Err(MemoryError::Host { size, errno });
        }
        if size >= HUGE_PAGE {
            // SAFETY: advice about the mapping just made; ignoring it is harmless.
            unsafe { libc::madvise(base, bytes, libc::MADV_HUGEPAGE) };
        }
        let base = base as u64;
        Ok((Mapping { base, length, file: None, part: false }, base.next_multiple_of(align)))
    }

    /// Replaces an allocation's pages by those of a file with the same contents.
    fn move_to_file(&mut self, allocation: &Allocation) -> Result<Arc<File>, MemoryError> {
        let (start, size) = (allocation.start, allocation.size);
        let file = memory_file(c"vgpu-ipc", size)?;
        let mut page = [0u8; PAGE as usize];
        for offset in (0..size).step_by(PAGE as usize) {
            let length = PAGE.min(size - offset) as usize;
            // SAFETY: the page belongs to a live allocation, which the caller keeps.
            unsafe {
                std::ptr::copy_nonoverlapping((start + offset) as *const u8, page.as_mut_ptr(), length)
            };
            // The file already holds zeros.
            if page[..length].iter().any(|&byte| byte != 0) {
                std::os::unix::fs::FileExt::write_all_at(&file, &page[..length], offset)
                    .map_err(|error| MemoryError::Host { size, errno: error.raw_os_error().unwrap_or(0) })?;
            }
        }
        // SAFETY: the range belongs to this mapping, no kernel uses it, and its contents are the file's.
        unsafe { map_fixed(start, size, libc::PROT_READ | libc::PROT_WRITE, Some((&file, 0))) }?;
        let file = Arc::new(file);
        self.file = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Makes the pages inaccessible.
    fn seal(&mut self) {
        self.file = None;
        // SAFETY: the mapping belongs to an entry that is no longer live and that no worker uses.
        unsafe {
            libc::mmap(
                self.base as *mut libc::c_void,
                self.length as usize,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
                -1,
                0,
            );
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, nobody else unmaps it, and its owner drops it only when it
        // is unused.
        unsafe {
            libc::munmap(self.base as *mut libc::c_void, self.length as usize);
        }
    }
}
