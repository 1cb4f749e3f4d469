//! What the runtime knows about an address, and callbacks when its memory is freed.

use std::ffi::c_void;

use hsa_sys::*;

use super::agent::Agent;
use super::pool::{self, Pool};
use super::{S, call, machine, vmem, write};
use crate::machine::{Allocation, MemoryKind};

type Released = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// A callback for the end of an allocation.
pub(super) struct Notifier {
    callback: Released,
    /// The address that it was registered with, and its data. Both are numbers, because only the program
    /// knows what they point to.
    pointer: usize,
    user_data: usize,
}

impl Notifier {
    /// Announces that the memory is about to be freed. No lock may be held, because callbacks call HSA
    /// functions.
    pub(super) fn tell(self) {
        // SAFETY: whoever registered the callback allowed this call.
        unsafe { (self.callback)(self.pointer as *mut c_void, self.user_data as *mut c_void) };
    }
}

unsafe extern "C" fn register_release(
    pointer: *mut c_void,
    callback: hsa_amd_deallocation_callback_t,
    user_data: *mut c_void,
) -> S {
    call(|| {
        let callback = callback.filter(|_| !pointer.is_null()).ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let invalid = S::HSA_STATUS_ERROR_INVALID_ALLOCATION;
        let found = machine().memory().lookup(pointer as u64).ok_or(invalid)?;
        let mut state = pool::state();
        let known = state.allocated.get_mut(&found.start).ok_or(invalid)?;
        let notifier = Notifier { callback, pointer: pointer as usize, user_data: user_data as usize };
        known.notifiers.push(notifier);
        Ok(())
    })
}

unsafe extern "C" fn deregister_release(
    pointer: *mut c_void,
    callback: hsa_amd_deallocation_callback_t,
) -> S {
    call(|| {
        let invalid = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
        let callback = callback.filter(|_| !pointer.is_null()).ok_or(invalid)?;
        let found = machine().memory().lookup(pointer as u64).ok_or(invalid)?;
        let mut state = pool::state();
        let known = state.allocated.get_mut(&found.start).ok_or(invalid)?;
        let is_it = |notifier: &Notifier| {
            notifier.pointer == pointer as usize && std::ptr::fn_addr_eq(notifier.callback, callback)
        };
        let index = known.notifiers.iter().position(is_it).ok_or(invalid)?;
        known.notifiers.remove(index);
        Ok(())
    })
}

unsafe extern "C" fn pointer_info(
    pointer: *const c_void,
    info: *mut hsa_amd_pointer_info_t,
    allocate: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    num_agents: *mut u32,
    accessible: *mut *mut hsa_agent_t,
) -> S {
    call(|| {
        if pointer.is_null() || info.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: every version of the structure begins with its size.
        let given = unsafe { info.cast::<u32>().read_unaligned() } as usize;
        if given < std::mem::offset_of!(hsa_amd_pointer_info_t, agentBaseAddress) {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let size = given.min(size_of::<hsa_amd_pointer_info_t>());
        let (known, agents) = describe(pointer as u64);
        let answer = hsa_amd_pointer_info_t { size: size as u32, ..known };
        // SAFETY: the caller's structure has `given` bytes, and `size` is no more than that.
        unsafe { std::ptr::copy_nonoverlapping((&raw const answer).cast::<u8>(), info.cast(), size) };
        let (Some(allocate), false, false) = (allocate, num_agents.is_null(), accessible.is_null()) else {
            return Ok(());
        };
        let mut list: *mut hsa_agent_t = std::ptr::null_mut();
        if !agents.is_empty() {
            // SAFETY: the caller's allocator gives that many bytes, or null.
            list = unsafe { allocate(size_of_val(agents.as_slice())) }.cast();
            if list.is_null() {
                return Err(S::HSA_STATUS_ERROR_OUT_OF_RESOURCES);
            }
            // SAFETY: the list was allocated with this size.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    agents.as_ptr().cast::<u8>(),
                    list.cast(),
                    size_of_val(agents.as_slice()),
                );
            }
        }
        // SAFETY: checked for null above; the caller's pointers are valid for writes.
        unsafe {
            write(num_agents, agents.len() as u32)?;
            write(accessible, list)
        }
    })
}

/// Information about an address, and the agents that may access it.
fn describe(address: u64) -> (hsa_amd_pointer_info_t, Vec<hsa_agent_t>) {
    use hsa_amd_pointer_type_t as T;
    if let Some(reserved) = vmem::describe(address) {
        return reserved;
    }
    match machine().memory().lookup(address) {
        Some(found) => {
            let devices = (0..machine().devices().len()).map(Agent::device_handle);
            (describe_allocation(&found), std::iter::once(Agent::host_handle()).chain(devices).collect())
        }
        None => {
            let unknown = T::HSA_EXT_POINTER_TYPE_UNKNOWN;
            (hsa_amd_pointer_info_t { type_: unknown, ..Default::default() }, Vec::new())
        }
    }
}

fn describe_allocation(found: &Allocation) -> hsa_amd_pointer_info_t {
    use hsa_amd_pointer_type_t as T;
    let state = pool::state();
    let base = found.start as *mut c_void;
    let (type_, size, user_data, global_flags) = if found.kind == MemoryKind::Registered {
        let user_data = state.locked.get(&found.start).map_or(0, |locked| locked.user_data);
        (T::HSA_EXT_POINTER_TYPE_LOCKED, found.size, user_data, Pool::HostFine.flags())
    } else {
        let known = state.allocated.get(&found.start);
        let of_device = found.device.and_then(|index| machine().device(index)).map(Pool::DeviceCoarse);
        let pool = known.map(|known| known.pool.clone()).or(of_device).unwrap_or(Pool::HostFine);
        let flags = pool.flags();
        let (size, user_data) = known.map_or((found.size, 0), |known| (known.size, known.user_data));
        let type_ = match known {
            Some(known) if known.attached => T::HSA_EXT_POINTER_TYPE_IPC,
            _ => T::HSA_EXT_POINTER_TYPE_HSA,
        };
        (type_, size, user_data, flags)
    };
    hsa_amd_pointer_info_t {
        size: 0,
        type_,
        agentBaseAddress: base,
        hostBaseAddress: base,
        sizeInBytes: size as usize,
        userData: user_data as *mut c_void,
        agentOwner: found.device.map_or_else(Agent::host_handle, Agent::device_handle),
        global_flags,
        registered: found.kind == MemoryKind::Registered,
    }
}

unsafe extern "C" fn set_user_data(pointer: *const c_void, user_data: *mut c_void) -> S {
    call(|| {
        let found = machine().memory().lookup(pointer as u64).ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let mut state = pool::state();
        if let Some(known) = state.allocated.get_mut(&found.start) {
            known.user_data = user_data as usize;
        } else if let Some(locked) = state.locked.get_mut(&found.start) {
            locked.user_data = user_data as usize;
        } else {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        Ok(())
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_pointer_info(pointer_info).hsa_amd_pointer_info_set_userdata(set_user_data);
    builder.hsa_amd_register_deallocation_callback(register_release);
    builder.hsa_amd_deregister_deallocation_callback(deregister_release);
}
