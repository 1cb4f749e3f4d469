//! Memory of other processes: `hipIpcGetMemHandle` and similar functions.

use std::ffi::c_void;

use hip_sys::{hipError_t, hipIpcMemHandle_t};
use hsa_sys::hsa_amd_ipc_memory_t;

use crate::caller;
use crate::devices::device::current_device;
use crate::error::entry;
use crate::graph;
use crate::memory::allocation::{Allocation, Origin, accessors, memory, quiesce_for_release, quiesce_users};
use crate::memory::imports::{Import, Shared, imports};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// `hipIpcGetMemHandle`: of memory of a device, for other processes. Waits until the devices are idle. Memory
/// of pools has no handles.
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

/// `hipIpcOpenMemHandle`: memory of another process, for the current device and those that may access its
/// memory. Opening the same memory again gives the same address.
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
        if let Some(import) = open.get_mut(&shared.memory) {
            if import.size != shared.size {
                return Err(INVALID_HANDLE);
            }
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

/// `hipIpcCloseMemHandle`: once for each time that the memory was opened. The last one waits until the
/// devices are idle.
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
            // The lock is not held during the wait for the devices, because their work may need it. Another
            // thread that opens the memory meanwhile may use it.
            idle_since = Some(import.openings);
            drop(open);
            quiesce_for_release(runtime, &found);
        };
        let known = memory(runtime).remove(found.base, &[Origin::Imported]);
        // SAFETY: the memory was attached here, the program has closed it, and no device uses it.
        if let Err(code) = unsafe { runtime.hsa.detach(found.base as *mut c_void) } {
            // It is still mapped, and open.
            if let Some(known) = known {
                memory(runtime).insert((*known).clone());
            }
            return Err(code);
        }
        open.remove(&key);
        Ok(())
    })
}
