//! User objects, and which graphs hold them.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{hipError_t, hipGraph_t, hipHostFn_t, hipUserObject_t, hipUserObjectFlags};

use crate::caller;
use crate::error::entry;
use crate::graph::structure::graph;
use crate::graph::user_object::{MOST, UserObject, release, user_objects};
use crate::object::host_function::{HostFunction, UserData};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipUserObjectCreate`: the flags are `hipUserObjectNoDestructorSync`.
pub(crate) unsafe extern "C" fn hipUserObjectCreate(
    out: *mut hipUserObject_t,
    pointer: *mut c_void,
    destroy: hipHostFn_t,
    references: u32,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        if !(1..=MOST).contains(&references)
            || flags != hipUserObjectFlags::hipUserObjectNoDestructorSync.bits()
        {
            return Err(INVALID_VALUE);
        }
        let destroy = HostFunction { function: destroy.ok_or(INVALID_VALUE)?, data: UserData(pointer) };
        let object = UserObject::new(destroy, references);
        let handle = user_objects(runtime).insert(Arc::new(object)).ok_or(hipError_t::hipErrorOutOfMemory)?;
        *out = handle as hipUserObject_t;
        Ok(())
    })
}

/// `hipUserObjectRetain`.
pub(crate) unsafe extern "C" fn hipUserObjectRetain(object: hipUserObject_t, count: u32) -> hipError_t {
    entry(|| user_objects(active()?).get(object as usize).ok_or(INVALID_VALUE)?.retain(count))
}

/// `hipUserObjectRelease`: the last reference calls the program's function before it returns.
pub(crate) unsafe extern "C" fn hipUserObjectRelease(object: hipUserObject_t, count: u32) -> hipError_t {
    entry(|| release(active()?, object as usize, count))
}

/// `hipGraphRetainUserObject`: with `hipGraphUserObjectMove`, the caller's references become the graph's.
pub(crate) unsafe extern "C" fn hipGraphRetainUserObject(
    handle: hipGraph_t,
    object: hipUserObject_t,
    count: u32,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let graph = graph(runtime, handle)?;
        let found = user_objects(runtime).get(object as usize).ok_or(INVALID_VALUE)?;
        match flags {
            0 => found.retain(count)?,
            flags
                if flags == hip_sys::hipUserObjectRetainFlags::hipGraphUserObjectMove.bits()
                    && count != 0 => {}
            _ => return Err(INVALID_VALUE),
        }
        *graph.objects.lock().entry(object as usize).or_insert(0) += count;
        Ok(())
    })
}

/// `hipGraphReleaseUserObject`: no more references than the graph has.
pub(crate) unsafe extern "C" fn hipGraphReleaseUserObject(
    handle: hipGraph_t,
    object: hipUserObject_t,
    count: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let graph = graph(runtime, handle)?;
        let mut objects = graph.objects.lock();
        let held = objects.get_mut(&(object as usize)).ok_or(INVALID_VALUE)?;
        *held = held.checked_sub(count).filter(|_| count != 0).ok_or(INVALID_VALUE)?;
        if *held == 0 {
            objects.remove(&(object as usize));
        }
        drop(objects);
        release(runtime, object as usize, count)
    })
}
