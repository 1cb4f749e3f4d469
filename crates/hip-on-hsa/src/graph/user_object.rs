//! User objects: objects of the program that graphs keep alive.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use hip_sys::hipError_t;

use crate::error::Result;
use crate::object::host_function::HostFunction;
use crate::registry::{Kind, Registry};
use crate::runtime::{Runtime, runtime};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The maximum number of references at a time.
pub(crate) const MOST: u32 = i32::MAX as u32;

/// All user objects by their handles.
pub(crate) fn user_objects(_started: &Runtime) -> &'static Registry<UserObject> {
    static OBJECTS: Registry<UserObject> = Registry::new(Kind::UserObject);
    &OBJECTS
}

/// An object of the program, with its destructor.
pub(crate) struct UserObject {
    destroy: HostFunction,
    references: Mutex<u32>,
}

impl UserObject {
    pub(crate) fn new(destroy: HostFunction, references: u32) -> Self {
        Self { destroy, references: Mutex::new(references) }
    }

    pub(crate) fn retain(&self, count: u32) -> Result {
        let mut references = self.references.lock().unwrap_or_else(PoisonError::into_inner);
        let more = references.checked_add(count).filter(|&more| count != 0 && more <= MOST);
        *references = more.ok_or(INVALID_VALUE)?;
        Ok(())
    }
}

/// Releases references; the last one destroys the object and ends its handle.
pub(crate) fn release(runtime: &Runtime, handle: usize, count: u32) -> Result {
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

/// References that a graph holds, by handle. They are released when it ends.
#[derive(Default)]
pub(crate) struct Objects(Mutex<HashMap<usize, u32>>);

impl Objects {
    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<usize, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same references again.
    pub(crate) fn duplicate(&self, runtime: &Runtime) -> Result<Self> {
        let copy = Self::default();
        for (&handle, &count) in self.lock().iter() {
            user_objects(runtime).get(handle).ok_or(INVALID_VALUE)?.retain(count)?;
            copy.lock().insert(handle, count);
        }
        Ok(copy)
    }

    /// Replaces the references and returns the old ones.
    pub(crate) fn replace(&self, new: Self) -> Self {
        let new = std::mem::take(&mut *new.lock());
        Self(Mutex::new(std::mem::replace(&mut *self.lock(), new)))
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
