//! Surface objects over arrays.

use hip_sys::{
    hipArrayDefault, hipArraySurfaceLoadStore, hipError_t, hipResourceDesc, hipResourceType,
    hipSurfaceObject_t,
};

use crate::caller;
use crate::devices::device::current_device;
use crate::error::entry;
use crate::graph;
use crate::object::array::arrays;
use crate::object::surface::{Surface, surfaces};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipCreateSurfaceObject`: of an array without flags, or one made for surfaces.
pub(crate) unsafe extern "C" fn hipCreateSurfaceObject(
    out: *mut hipSurfaceObject_t,
    resource: *const hipResourceDesc,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let device = current_device(runtime)?;
        if !device.info.images.exist() {
            return Err(hipError_t::hipErrorNotSupported);
        }
        // SAFETY: the caller passes null or valid addresses.
        let (out, resource) = unsafe { (caller::place(out)?, caller::value(resource)?) };
        if resource.resType != hipResourceType::hipResourceTypeArray {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the type says that it is an array.
        let array = arrays(runtime).get(unsafe { resource.res.array.array }).ok_or(INVALID_VALUE)?;
        if array.flags != hipArrayDefault && array.flags & hipArraySurfaceLoadStore == 0 {
            return Err(INVALID_VALUE);
        }
        graph::permit()?;
        let (handle, surface) = Surface::new(runtime, device, &array)?;
        surfaces(runtime).lock().insert(handle, surface);
        *out = handle as hipSurfaceObject_t;
        Ok(())
    })
}

/// `hipDestroySurfaceObject`: waits for the device, whose kernels may use it. Null is allowed.
pub(crate) unsafe extern "C" fn hipDestroySurfaceObject(handle: hipSurfaceObject_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if handle.is_null() {
            return Ok(());
        }
        graph::permit()?;
        let surface = surfaces(runtime).lock().remove(&(handle as usize)).ok_or(INVALID_VALUE)?;
        surface.device.quiesce_for_release(runtime);
        // SAFETY: the device is idle, or the caller promises that it does not use the surface.
        unsafe { surface.release(runtime, handle as usize) };
        Ok(())
    })
}
