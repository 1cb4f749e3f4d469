//! User objects: things of the program that graphs keep.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use hip_sys::{hipError_t, hipGraph_t, hipHostFn_t, hipUserObject_t, hipUserObjectFlags};

use super::structure::graph;
use crate::caller;
use crate::error::{Result, entry};
use crate::host_op::{HostFunction, UserData};
use crate::registry::{Kind, Registry};
use crate::runtime::{Runtime, active, runtime};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
/// The largest number of references at a time.
const MOST: u32 = i32::MAX as u32;

/// All user objects by their handles.
fn user_objects(_started: &Runtime) -> &'static Registry<UserObject> {
    static OBJECTS: Registry<UserObject> = Registry::new(Kind::UserObject);
    &OBJECTS
}

/// A thing of the program, with a function that ends it.
pub(crate) struct UserObject {
    destroy: HostFunction,
    references: Mutex<u32>,
}

impl UserObject {
    fn retain(&self, count: u32) -> Result {
        let mut references = self.references.lock().unwrap_or_else(PoisonError::into_inner);
        let more = references.checked_add(count).filter(|&more| count != 0 && more <= MOST);
        *references = more.ok_or(INVALID_VALUE)?;
        Ok(())
    }
}

/// Gives references back; the last one ends the thing and its handle.
fn release(runtime: &Runtime, handle: usize, count: u32) -> Result {
    let object = user_objects(runtime).get(handle).ok_or(INVALID_VALUE)?;
    let mut references = object.references.lock().unwrap_or_else(PoisonError::into_inner);
    let left = references.checked_sub(count).filter(|_| count != 0).ok_or(INVALID_VALUE)?;
    *references = left;
    drop(references);
    if left == 0 && user_objects(runtime).remove(handle).is_some() {
        let HostFunction { function, data } = object.destroy;
        // SAFETY: the program passed the function to be called once with this data.
        unsafe { function(data.get()) };
    }
    Ok(())
}

/// References that a graph has, by handle. They are given back when it ends.
#[derive(Default)]
pub(crate) struct Objects(Mutex<HashMap<usize, u32>>);

impl Objects {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<usize, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same references once more.
    pub(crate) fn duplicate(&self, runtime: &Runtime) -> Result<Self> {
        let copy = Self::default();
        for (&handle, &count) in self.lock().iter() {
            user_objects(runtime).get(handle).ok_or(INVALID_VALUE)?.retain(count)?;
            copy.lock().insert(handle, count);
        }
        Ok(copy)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let Some(runtime) = runtime() else { return };
        for (handle, count) in std::mem::take(&mut *self.lock()) {
            let _ = release(runtime, handle, count);
        }
    }
}

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
        let object = UserObject { destroy, references: Mutex::new(references) };
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
