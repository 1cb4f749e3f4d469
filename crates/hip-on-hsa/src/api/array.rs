//! Arrays: allocating them, freeing them, and what they are.

use hip_sys::{
    HIP_ARRAY_DESCRIPTOR, HIP_ARRAY3D_DESCRIPTOR, hipArray_const_t, hipArray_t, hipArrayDefault,
    hipChannelFormatDesc, hipError_t, hipExtent, hipMipmappedArray_t,
};

use crate::caller;
use crate::devices::device::current_device;
use crate::error::{Result, entry};
use crate::graph;
use crate::object::array::{Array, arrays, end};
use crate::object::element::Element;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// Allocates an array of the current device.
fn create(wanted: &HIP_ARRAY3D_DESCRIPTOR) -> Result<hipArray_t> {
    let runtime = active()?;
    let array = Array::new(runtime, current_device(runtime)?, wanted)?;
    arrays(runtime).insert(runtime, array)
}

/// # Safety
/// The pointers are null or valid.
unsafe fn create_of_format(
    out: *mut hipArray_t,
    format: *const hipChannelFormatDesc,
    extent: hipExtent,
    flags: u32,
) -> Result {
    // SAFETY: as this function's contract.
    let (out, format) = unsafe { (caller::place(out)?, caller::value(format)?) };
    graph::permit()?;
    let element = Element::of(format)?;
    *out = create(&HIP_ARRAY3D_DESCRIPTOR {
        Width: extent.width,
        Height: extent.height,
        Depth: extent.depth,
        Format: element.array_format(),
        NumChannels: element.channels(),
        Flags: flags,
    })?;
    Ok(())
}

/// `hipMallocArray`: of one dimension if the height is 0, else of two.
pub(crate) unsafe extern "C" fn hipMallocArray(
    out: *mut hipArray_t,
    format: *const hipChannelFormatDesc,
    width: usize,
    height: usize,
    flags: u32,
) -> hipError_t {
    let extent = hipExtent { width, height, depth: 0 };
    // SAFETY: the caller passes null or valid pointers.
    entry(|| unsafe { create_of_format(out, format, extent, flags) })
}

/// `hipMalloc3DArray`: lengths of 0 are dimensions that do not exist; the depth of a layered array is the
/// number of its layers.
pub(crate) unsafe extern "C" fn hipMalloc3DArray(
    out: *mut hipArray_t,
    format: *const hipChannelFormatDesc,
    extent: hipExtent,
    flags: u32,
) -> hipError_t {
    // SAFETY: the caller passes null or valid pointers.
    entry(|| unsafe { create_of_format(out, format, extent, flags) })
}

/// `hipArrayCreate`.
pub(crate) unsafe extern "C" fn hipArrayCreate(
    out: *mut hipArray_t,
    wanted: *const HIP_ARRAY_DESCRIPTOR,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid pointers.
        let (wanted, out) = unsafe { (caller::value(wanted)?, caller::place(out)?) };
        graph::permit()?;
        *out = create(&HIP_ARRAY3D_DESCRIPTOR {
            Width: wanted.Width,
            Height: wanted.Height,
            Depth: 0,
            Format: wanted.Format,
            NumChannels: wanted.NumChannels,
            Flags: hipArrayDefault,
        })?;
        Ok(())
    })
}

/// `hipArray3DCreate`.
pub(crate) unsafe extern "C" fn hipArray3DCreate(
    out: *mut hipArray_t,
    wanted: *const HIP_ARRAY3D_DESCRIPTOR,
) -> hipError_t {
    entry(|| {
        graph::permit()?;
        // SAFETY: the caller passes null or valid pointers.
        let (wanted, out) = unsafe { (caller::value(wanted)?, caller::place(out)?) };
        *out = create(wanted)?;
        Ok(())
    })
}

fn destroy(array: hipArray_t) -> Result {
    graph::permit()?;
    if array.is_null() { Err(INVALID_VALUE) } else { end(active()?, array) }
}

/// `hipFreeArray`: waits until the device is idle first.
pub(crate) unsafe extern "C" fn hipFreeArray(array: hipArray_t) -> hipError_t {
    entry(|| destroy(array))
}

/// `hipArrayDestroy`, as [`hipFreeArray`].
pub(crate) unsafe extern "C" fn hipArrayDestroy(array: hipArray_t) -> hipError_t {
    entry(|| destroy(array))
}

/// Destroys an array of several levels; there are none.
fn destroy_levels(is_null: bool) -> Result {
    graph::permit()?;
    Err(if is_null { INVALID_VALUE } else { hipError_t::hipErrorContextIsDestroyed })
}

/// `hipFreeMipmappedArray`: there are none, so every handle is that of a destroyed one.
pub(crate) unsafe extern "C" fn hipFreeMipmappedArray(array: hipMipmappedArray_t) -> hipError_t {
    entry(|| destroy_levels(array.is_null()))
}

/// `hipMipmappedArrayDestroy`, as [`hipFreeMipmappedArray`].
pub(crate) unsafe extern "C" fn hipMipmappedArrayDestroy(array: hipMipmappedArray_t) -> hipError_t {
    entry(|| destroy_levels(array.is_null()))
}

/// `hipArrayGetInfo`: every place may be null.
pub(crate) unsafe extern "C" fn hipArrayGetInfo(
    format: *mut hipChannelFormatDesc,
    extent: *mut hipExtent,
    flags: *mut u32,
    array: hipArray_t,
) -> hipError_t {
    entry(|| {
        graph::permit()?;
        let array = arrays(active()?).get(array).ok_or(INVALID_HANDLE)?;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            caller::store_optional(format, array.element.description())?;
            caller::store_optional(extent, array.extent)?;
            caller::store_optional(flags, array.flags)
        }
    })
}

/// Writes a description of an array.
///
/// # Safety
/// `out` is null or valid for writing.
unsafe fn describe<T>(
    out: *mut T,
    array: hipArray_t,
    what: impl FnOnce(HIP_ARRAY3D_DESCRIPTOR) -> T,
) -> Result {
    graph::permit()?;
    let found = arrays(active()?).get(array);
    if array.is_null() {
        return Err(INVALID_HANDLE);
    }
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    *out = what(found.ok_or(INVALID_HANDLE)?.description());
    Ok(())
}

/// `hipArrayGetDescriptor`.
pub(crate) unsafe extern "C" fn hipArrayGetDescriptor(
    out: *mut HIP_ARRAY_DESCRIPTOR,
    array: hipArray_t,
) -> hipError_t {
    let plane = |whole: HIP_ARRAY3D_DESCRIPTOR| HIP_ARRAY_DESCRIPTOR {
        Width: whole.Width,
        Height: whole.Height,
        Format: whole.Format,
        NumChannels: whole.NumChannels,
    };
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { describe(out, array, plane) })
}

/// `hipArray3DGetDescriptor`.
pub(crate) unsafe extern "C" fn hipArray3DGetDescriptor(
    out: *mut HIP_ARRAY3D_DESCRIPTOR,
    array: hipArray_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { describe(out, array, |whole| whole) })
}

/// `hipGetChannelDesc`.
pub(crate) unsafe extern "C" fn hipGetChannelDesc(
    out: *mut hipChannelFormatDesc,
    array: hipArray_const_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = arrays(runtime).get(array).ok_or(INVALID_HANDLE)?.element.description();
        Ok(())
    })
}
