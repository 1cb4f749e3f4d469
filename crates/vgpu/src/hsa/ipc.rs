//! Memory and signals shared by several processes.
//!
//! A handle names a file of a process. Any process that may inspect that process can open it.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use hsa_sys::*;

use super::agent::Agent;
use super::pool::{PAGE, Pool, attached, detached, status_of};
use super::signal::Signal;
use super::{S, call, machine, write};
use crate::machine::keeps_its_size;

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
/// Stored in handles of signals in place of a pool number.
const SIGNAL: u8 = 0xff;
/// The first word of every handle.
const MAGIC: u32 = 0x7670_0000;
/// The maximum size of memory, which leaves room for rounding up.
const MOST_BYTES: u64 = isize::MAX as u64;

/// The contents of a handle.
struct Shared {
    pool: u8,
    process: u32,
    descriptor: u32,
    /// Distinguishes the file from a later one with the same number.
    inode: u64,
    size: u64,
}

impl Shared {
    /// The handle of an open file of this process.
    fn of(pool: u8, file: &File, size: u64) -> Result<Shared, S> {
        let inode = file.metadata().map_err(|_| S::HSA_STATUS_ERROR)?.ino();
        let descriptor = u32::try_from(file.as_raw_fd()).map_err(|_| S::HSA_STATUS_ERROR)?;
        Ok(Shared { pool, process: std::process::id(), descriptor, inode, size })
    }

    /// Opens the file, if it is still the same file with this many bytes.
    fn open(&self, bytes: u64) -> Result<File, S> {
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        // Opening a different kind of file may have side effects.
        let named = std::fs::metadata(&path).map_err(|_| INVALID)?;
        if named.ino() != self.inode || !named.is_file() {
            return Err(INVALID);
        }
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|_| INVALID)?;
        let found = file.metadata().map_err(|_| INVALID)?;
        let same = found.ino() == self.inode && found.len() == bytes && keeps_its_size(&file);
        if same { Ok(file) } else { Err(INVALID) }
    }

    fn encode(&self) -> [u32; 8] {
        let halves = |value: u64| (value as u32, (value >> 32) as u32);
        let ((inode, inode_high), (size, size_high)) = (halves(self.inode), halves(self.size));
        let pool = MAGIC | u32::from(self.pool);
        [pool, self.process, self.descriptor, inode, inode_high, size, size_high, !pool]
    }

    fn decode(words: [u32; 8]) -> Option<Shared> {
        let [pool, process, descriptor, inode, inode_high, size, size_high, check] = words;
        let whole = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        let size = whole(size, size_high);
        let is_size = (1..=MOST_BYTES).contains(&size);
        (pool & !0xff == MAGIC && check == !pool && is_size).then(|| Shared {
            pool: pool as u8,
            process,
            descriptor,
            inode: whole(inode, inode_high),
            size,
        })
    }
}

/// Whether the size that a caller passes is the requested one, or that rounded up to pages, which older
/// programs pass.
fn is_size(given: u64, asked: u64) -> bool {
    given == asked || given == asked.next_multiple_of(PAGE as u64)
}

unsafe extern "C" fn create(pointer: *mut c_void, size: usize, handle: *mut hsa_amd_ipc_memory_t) -> S {
    call(|| {
        if handle.is_null() {
            return Err(INVALID);
        }
        let found = machine().memory().lookup(pointer as u64).ok_or(INVALID)?;
        let (pool, asked) = super::pool::of(found.start).ok_or(INVALID)?;
        if found.start != pointer as u64 || !is_size(size as u64, asked) {
            return Err(INVALID);
        }
        let pool = pool.number().ok_or(INVALID)?;
        let (file, _) = machine().memory().share(found.start).map_err(|error| status_of(&error))?;
        let shared = Shared::of(pool, &file, asked)?;
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(handle, hsa_amd_ipc_memory_t { handle: shared.encode() }) }
    })
}

unsafe extern "C" fn attach(
    handle: *const hsa_amd_ipc_memory_t,
    size: usize,
    count: u32,
    agents: *const hsa_agent_t,
    out: *mut *mut c_void,
) -> S {
    call(|| {
        if handle.is_null() || out.is_null() || (count != 0 && agents.is_null()) {
            return Err(INVALID);
        }
        for index in 0..count as usize {
            // SAFETY: the caller's list has that many agents.
            Agent::from_handle(unsafe { agents.add(index).read_unaligned() })?;
        }
        // SAFETY: the caller's handle is valid for a read.
        let shared = Shared::decode(unsafe { handle.read_unaligned() }.handle).ok_or(INVALID)?;
        if !is_size(size as u64, shared.size) {
            return Err(INVALID);
        }
        let pool = Pool::from_number(shared.pool).ok_or(INVALID)?;
        let reach = pool.reach(shared.size);
        let file = shared.open(reach)?;
        let kind = pool.kind().ok_or(INVALID)?;
        let address = machine().memory().adopt(file, 0, reach, kind, pool.device());
        let address = address.map_err(|error| status_of(&error))?;
        machine().memory().wrote(address, reach);
        attached(address, pool, shared.size);
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(out, address as *mut c_void) }
    })
}

unsafe extern "C" fn signal_create(signal: hsa_signal_t, handle: *mut hsa_amd_ipc_signal_t) -> S {
    call(|| {
        if handle.is_null() {
            return Err(INVALID);
        }
        // A signal can be shared only if it was created for that.
        let file = Signal::required(signal)?.file().ok_or(INVALID)?;
        let shared = Shared::of(SIGNAL, &file, PAGE as u64)?;
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(handle, hsa_amd_ipc_signal_t { handle: shared.encode() }) }
    })
}

unsafe extern "C" fn signal_attach(handle: *const hsa_amd_ipc_signal_t, out: *mut hsa_signal_t) -> S {
    call(|| {
        if handle.is_null() || out.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller's handle is valid for a read.
        let shared = Shared::decode(unsafe { handle.read_unaligned() }.handle).ok_or(INVALID)?;
        if shared.pool != SIGNAL {
            return Err(INVALID);
        }
        let signal = Signal::attach(shared.open(PAGE as u64)?)?;
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(out, signal.handle()) }
    })
}

unsafe extern "C" fn detach(pointer: *mut c_void) -> S {
    call(|| {
        let address = pointer as u64;
        if !detached(address) {
            return Err(INVALID);
        }
        // SAFETY: it was attached for the caller, who declares by this call that it is unused.
        unsafe { machine().memory().free(address) }.map_err(|error| status_of(&error))
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_ipc_memory_create(create).hsa_amd_ipc_memory_attach(attach);
    builder.hsa_amd_ipc_memory_detach(detach);
    builder.hsa_amd_ipc_signal_create(signal_create).hsa_amd_ipc_signal_attach(signal_attach);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_read_as_they_were_written_and_others_are_refused() {
        let shared =
            Shared { pool: 16, process: 77, descriptor: 9, inode: u64::MAX - 5, size: 1 << 40 | 123 };
        let words = shared.encode();
        let read = Shared::decode(words).unwrap();
        assert_eq!((read.pool, read.process, read.descriptor), (16, 77, 9));
        assert_eq!((read.inode, read.size), (shared.inode, shared.size));
        assert!(Shared::decode([0; 8]).is_none());
        for size in [0, u64::MAX, MOST_BYTES + 1] {
            assert!(Shared::decode(Shared { size, ..shared }.encode()).is_none(), "{size}");
        }
        let mut broken = words;
        broken[0] ^= 1;
        assert!(Shared::decode(broken).is_none());
    }
}
