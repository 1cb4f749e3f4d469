//! Memory that several processes share: `hipIpcGetMemHandle` and its kin.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::{hipError_t, hipIpcMemHandle_t};
use hsa_sys::hsa_amd_ipc_memory_t;

use crate::caller;
use crate::device::current_device;
use crate::error::entry;
use crate::graph;
use crate::memory::memory;
use crate::memory::{Allocation, Origin, accessors, quiesce_for_release, quiesce_users};
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// What the bytes of a handle are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Shared {
    memory: [u32; 8],
    /// Bytes of the allocation.
    size: u64,
    /// How far behind its start the pointer was.
    offset: u64,
    process: u32,
}

impl Shared {
    fn encode(&self) -> hipIpcMemHandle_t {
        let mut bytes = [0u8; 64];
        for (place, word) in bytes.chunks_exact_mut(4).zip(self.memory) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[32..40].copy_from_slice(&self.size.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.offset.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.process.to_le_bytes());
        hipIpcMemHandle_t { reserved: bytes.map(|byte| byte as c_char) }
    }

    fn decode(handle: &hipIpcMemHandle_t) -> Option<Self> {
        let bytes = handle.reserved.map(|byte| byte as u8);
        let word = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes);
        let long = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes);
        let mut memory = [0; 8];
        for (index, place) in memory.iter_mut().enumerate() {
            *place = word(4 * index).ok()?;
        }
        let found = Self { memory, size: long(32).ok()?, offset: long(40).ok()?, process: word(48).ok()? };
        (found.offset < found.size && bytes[52..] == [0; 12]).then_some(found)
    }
}

/// What other processes have shared with this one.
fn imports(_started: &Runtime) -> &'static Imports {
    static IMPORTS: LazyLock<Imports> = LazyLock::new(Imports::default);
    &IMPORTS
}

/// Memory of other processes that this one has opened.
#[derive(Default)]
pub(crate) struct Imports {
    open: Mutex<HashMap<[u32; 8], Import>>,
}

struct Import {
    base: usize,
    size: u64,
    /// How often the program has it open.
    opened: usize,
    /// How often it was opened.
    openings: u64,
}

impl Imports {
    fn lock(&self) -> MutexGuard<'_, HashMap<[u32; 8], Import>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `hipIpcGetMemHandle`: of memory of a device, for other processes. Waits until the devices are idle. Memory of pools has no
/// handles.
pub(crate) unsafe extern "C" fn hipIpcGetMemHandle(
    out: *mut hipIpcMemHandle_t,
    pointer: *mut c_void,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        graph::permit()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let (found, offset) = memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?;
        if found.origin != Origin::Device || found.pool.is_some() {
            return Err(INVALID_VALUE);
        }
        quiesce_users(runtime, &found);
        let memory = runtime.hsa.share(found.base as *mut c_void, found.size)?.handle;
        let process = std::process::id();
        *out = Shared { memory, size: found.size as u64, offset: offset as u64, process }.encode();
        Ok(())
    })
}

/// `hipIpcOpenMemHandle`: memory of another process, for the current device and those that may access its memory. The same memory
/// opened again has the same address.
///
/// `hipErrorInvalidContext` for memory of this process.
pub(crate) unsafe extern "C" fn hipIpcOpenMemHandle(
    out: *mut *mut c_void,
    handle: hipIpcMemHandle_t,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        graph::permit()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        if flags != hip_sys::hipIpcMemLazyEnablePeerAccess {
            return Err(INVALID_VALUE);
        }
        let shared = Shared::decode(&handle).ok_or(INVALID_HANDLE)?;
        if shared.process == std::process::id() {
            return Err(hipError_t::hipErrorInvalidContext);
        }
        let device = current_device(runtime)?;
        let mut open = imports(runtime).lock();
        if let Some(import) = open.get_mut(&shared.memory).filter(|import| import.size == shared.size) {
            import.opened += 1;
            import.openings += 1;
            *out = (import.base + shared.offset as usize) as *mut c_void;
            return Ok(());
        }
        let size = usize::try_from(shared.size).map_err(|_| INVALID_HANDLE)?;
        let theirs = hsa_amd_ipc_memory_t { handle: shared.memory };
        let base = runtime.hsa.attach(&theirs, size, &accessors(runtime, device))? as usize;
        open.insert(shared.memory, Import { base, size: shared.size, opened: 1, openings: 1 });
        memory(runtime).insert(Allocation {
            base,
            size,
            origin: Origin::Imported,
            device,
            device_base: base,
            flags: 0,
            pool: None,
            serial: 0,
            access: None,
        });
        *out = (base + shared.offset as usize) as *mut c_void;
        Ok(())
    })
}

/// `hipIpcCloseMemHandle`: once for each time that the memory was opened. The last one waits until the devices are idle.
pub(crate) unsafe extern "C" fn hipIpcCloseMemHandle(pointer: *mut c_void) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        graph::permit()?;
        let (found, _) = memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?;
        let mut idle_since = None;
        let (mut open, key) = loop {
            let mut open = imports(runtime).lock();
            let import = open.iter_mut().find(|(_, import)| import.base == found.base);
            let (&key, import) = import.ok_or(INVALID_VALUE)?;
            if import.opened > 1 {
                import.opened -= 1;
                return Ok(());
            }
            if idle_since == Some(import.openings) {
                break (open, key);
            }
            // The lock is not held while the devices come to an end: what they wait for may need it. Who opens the memory
            // meanwhile may use it.
            idle_since = Some(import.openings);
            drop(open);
            quiesce_for_release(runtime, &found);
        };
        let known = memory(runtime).remove(found.base, &[Origin::Imported]);
        // SAFETY: the memory was attached here, the program has closed it, and no device uses it.
        if let Err(code) = unsafe { runtime.hsa.detach(found.base as *mut c_void) } {
            // It is still there, and open.
            if let Some(known) = known {
                memory(runtime).insert((*known).clone());
            }
            return Err(code);
        }
        open.remove(&key);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_read_as_they_were_written_and_others_are_refused() {
        let shared =
            Shared { memory: [1, 2, 3, 4, 5, 6, 7, u32::MAX], size: 1 << 33, offset: 77, process: 9 };
        assert_eq!(Shared::decode(&shared.encode()), Some(shared));
        assert_eq!(Shared::decode(&Shared { offset: 1 << 33, ..shared }.encode()), None);
        let mut foreign = shared.encode();
        foreign.reserved[60] = 1;
        assert_eq!(Shared::decode(&foreign), None);
        assert_eq!(Shared::decode(&hipIpcMemHandle_t { reserved: [0; 64] }), None);
    }
}
