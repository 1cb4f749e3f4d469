//! Texture objects over linear memory; and functions that destroy arrays and surfaces, which do not exist.

use hip_sys::{
    hipArray_t, hipChannelFormatDesc, hipChannelFormatKind, hipError_t, hipMipmappedArray_t, hipResourceDesc,
    hipResourceViewDesc, hipSurfaceObject_t, hipTextureDesc, hipTextureObject_t,
};
use hsa_sys::*;

use crate::caller;
use crate::devices::device::{by_ordinal, current_device};
use crate::error::{Result, entry};
use crate::graph;
use crate::object::texture::{
    Element, Texture, check_resource, descriptors, make_image, make_sampler, release, textures,
};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const NOT_SUPPORTED: hipError_t = hipError_t::hipErrorNotSupported;
/// AMD's error for missing descriptions, and for linear memory that is empty or too large.
const BAD_DESCRIPTION: hipError_t = hipError_t::hipErrorInvalidChannelDescriptor;

/// Destroys an array; there are none.
fn end_array(is_null: bool) -> Result {
    graph::permit()?;
    Err(if is_null { INVALID_VALUE } else { hipError_t::hipErrorContextIsDestroyed })
}

/// `hipFreeArray`: there are no arrays, so every handle is that of a destroyed one.
pub(crate) unsafe extern "C" fn hipFreeArray(array: hipArray_t) -> hipError_t {
    entry(|| end_array(array.is_null()))
}

/// `hipArrayDestroy`, as [`hipFreeArray`].
pub(crate) unsafe extern "C" fn hipArrayDestroy(array: hipArray_t) -> hipError_t {
    entry(|| end_array(array.is_null()))
}

/// `hipFreeMipmappedArray`, as [`hipFreeArray`].
pub(crate) unsafe extern "C" fn hipFreeMipmappedArray(array: hipMipmappedArray_t) -> hipError_t {
    entry(|| end_array(array.is_null()))
}

/// `hipMipmappedArrayDestroy`, as [`hipFreeArray`].
pub(crate) unsafe extern "C" fn hipMipmappedArrayDestroy(array: hipMipmappedArray_t) -> hipError_t {
    entry(|| end_array(array.is_null()))
}

/// `hipDestroySurfaceObject`: there are no surfaces; null is allowed.
pub(crate) unsafe extern "C" fn hipDestroySurfaceObject(surface: hipSurfaceObject_t) -> hipError_t {
    entry(|| if surface.is_null() { Ok(()) } else { Err(INVALID_VALUE) })
}

/// `hipCreateTextureObject`: for linear memory only, which is read by the index of its elements. Filter and
/// addressing modes are ignored, as HIP says for such textures.
pub(crate) unsafe extern "C" fn hipCreateTextureObject(
    out: *mut hipTextureObject_t,
    resource: *const hipResourceDesc,
    description: *const hipTextureDesc,
    view: *const hipResourceViewDesc,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let device = current_device(runtime)?;
        if device.info.max_texels == 0 {
            return Err(NOT_SUPPORTED);
        }
        // SAFETY: the caller passes null or valid addresses.
        let given = unsafe {
            (caller::place(out), caller::value(resource).copied(), caller::value(description).copied())
        };
        let (Ok(out), Ok(resource), Ok(description)) = given else { return Err(BAD_DESCRIPTION) };
        check_resource(device, &resource, !view.is_null())?;
        // AMD's runtime ignores the limits of levels, too.
        if description.maxAnisotropy != 0 || description.mipmapLevelBias != 0.0 {
            return Err(NOT_SUPPORTED);
        }
        let mut texture = Texture {
            device,
            resource,
            description,
            image: make_image(runtime, device, &resource, &description)?,
            sampler: hsa_ext_sampler_t { handle: 0 },
        };
        let made = make_sampler(runtime, device, &description).and_then(|sampler| {
            texture.sampler = sampler;
            descriptors(runtime, &texture)
        });
        match made {
            Ok(handle) => {
                textures(runtime).lock().insert(handle, texture);
                *out = handle as hipTextureObject_t;
                Ok(())
            }
            Err(code) => {
                release(runtime, 0, &texture);
                Err(code)
            }
        }
    })
}

/// `hipDestroyTextureObject`: waits for the device, whose kernels may read it. Null is allowed.
pub(crate) unsafe extern "C" fn hipDestroyTextureObject(handle: hipTextureObject_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if handle.is_null() {
            return Ok(());
        }
        let texture = textures(runtime).lock().remove(&(handle as usize)).ok_or(INVALID_VALUE)?;
        texture.device.quiesce_for_release(runtime);
        release(runtime, handle as usize, &texture);
        Ok(())
    })
}

/// Writes the description of a texture object.
///
/// # Safety
/// `out` is null or valid for a write.
unsafe fn describe<T>(
    out: *mut T,
    handle: hipTextureObject_t,
    what: impl FnOnce(&Texture) -> Result<T>,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: as this function's contract.
        let out = unsafe { caller::place(out) }?;
        *out = what(textures(runtime).lock().get(&(handle as usize)).ok_or(INVALID_VALUE)?)?;
        Ok(())
    })
}

/// `hipGetTextureObjectResourceDesc`.
pub(crate) unsafe extern "C" fn hipGetTextureObjectResourceDesc(
    out: *mut hipResourceDesc,
    handle: hipTextureObject_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { describe(out, handle, |texture| Ok(texture.resource)) }
}

/// `hipGetTextureObjectResourceViewDesc`: zeros, as only textures over arrays have views.
pub(crate) unsafe extern "C" fn hipGetTextureObjectResourceViewDesc(
    out: *mut hipResourceViewDesc,
    handle: hipTextureObject_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { describe(out, handle, |_| Ok(hipResourceViewDesc::default())) }
}

/// `hipGetTextureObjectTextureDesc`.
pub(crate) unsafe extern "C" fn hipGetTextureObjectTextureDesc(
    out: *mut hipTextureDesc,
    handle: hipTextureObject_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { describe(out, handle, |texture| Ok(texture.description)) }
}

/// `hipCreateChannelDesc`.
pub(crate) unsafe extern "C" fn hipCreateChannelDesc(
    x: i32,
    y: i32,
    z: i32,
    w: i32,
    f: hipChannelFormatKind,
) -> hipChannelFormatDesc {
    hipChannelFormatDesc { x, y, z, w, f }
}

/// `hipDeviceGetTexture1DLinearMaxWidth`: the maximum number of elements of a format in a texture over linear
/// memory.
pub(crate) unsafe extern "C" fn hipDeviceGetTexture1DLinearMaxWidth(
    out: *mut usize,
    format: *const hipChannelFormatDesc,
    ordinal: i32,
) -> hipError_t {
    entry(|| {
        let device = by_ordinal(ordinal)?;
        // SAFETY: the caller passes null or valid addresses.
        let (out, format) = unsafe { (caller::place(out)?, caller::value(format)?) };
        *out = device.info.max_linear_texture() / Element::of(format)?.bytes();
        Ok(())
    })
}
