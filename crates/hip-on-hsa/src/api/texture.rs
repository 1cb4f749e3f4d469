//! Texture objects, in the form of HIP's runtime and in that of its driver.

use hip_sys::{
    HIP_RESOURCE_DESC, HIP_RESOURCE_VIEW_DESC, HIP_TEXTURE_DESC, HIP_TRSF_NORMALIZED_COORDINATES,
    HIP_TRSF_READ_AS_INTEGER, HIP_TRSF_SRGB, HIPaddress_mode, HIPfilter_mode, HIPresourceViewFormat,
    HIPresourcetype, hipChannelFormatDesc, hipChannelFormatKind, hipError_t, hipResourceDesc,
    hipResourceType, hipResourceViewDesc, hipResourceViewFormat, hipTextureAddressMode, hipTextureDesc,
    hipTextureFilterMode, hipTextureObject_t, hipTextureReadMode,
};

use crate::caller;
use crate::devices::device::{by_ordinal, current_device};
use crate::error::{Result, entry};
use crate::object::element::Element;
use crate::object::texture::{Description, Texture, textures};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const NOT_SUPPORTED: hipError_t = hipError_t::hipErrorNotSupported;
/// AMD's error for missing descriptions.
const BAD_DESCRIPTION: hipError_t = hipError_t::hipErrorInvalidChannelDescriptor;

/// Refuses calls for a current device without images.
fn need_images() -> Result {
    let device = current_device(active()?)?;
    if device.info.images.exist() { Ok(()) } else { Err(NOT_SUPPORTED) }
}

fn create(description: Description) -> Result<hipTextureObject_t> {
    let runtime = active()?;
    let (handle, texture) = Texture::new(runtime, current_device(runtime)?, description)?;
    textures(runtime).lock().insert(handle, texture);
    Ok(handle as hipTextureObject_t)
}

/// `hipCreateTextureObject`: over linear memory, pitched memory or an array. For linear memory, filter and
/// addressing modes are ignored, as HIP says.
pub(crate) unsafe extern "C" fn hipCreateTextureObject(
    out: *mut hipTextureObject_t,
    resource: *const hipResourceDesc,
    texture: *const hipTextureDesc,
    view: *const hipResourceViewDesc,
) -> hipError_t {
    entry(|| {
        need_images()?;
        // SAFETY: the caller passes null or valid addresses.
        let given = unsafe {
            (caller::place(out), caller::value(resource).copied(), caller::value(texture).copied())
        };
        let (Ok(out), Ok(resource), Ok(texture)) = given else { return Err(BAD_DESCRIPTION) };
        // SAFETY: as above.
        let view = unsafe { optional(view) }?;
        *out = create(Description { resource, texture, view })?;
        Ok(())
    })
}

/// A value that may be missing.
///
/// # Safety
/// The pointer is null or valid for reading.
unsafe fn optional<T: Copy>(value: *const T) -> Result<Option<T>> {
    if value.is_null() {
        return Ok(None);
    }
    // SAFETY: as this function's contract.
    unsafe { caller::value(value) }.map(|value| Some(*value))
}

fn destroy(handle: hipTextureObject_t) -> Result {
    let runtime = active()?;
    if handle.is_null() {
        return Ok(());
    }
    let texture = textures(runtime).lock().remove(&(handle as usize)).ok_or(INVALID_VALUE)?;
    texture.device.quiesce_for_release(runtime);
    // SAFETY: the device is idle, or the caller promises that it does not use the texture.
    unsafe { texture.release(runtime, handle as usize) };
    Ok(())
}

/// `hipDestroyTextureObject`: waits for the device, whose kernels may read it. Null is allowed.
pub(crate) unsafe extern "C" fn hipDestroyTextureObject(handle: hipTextureObject_t) -> hipError_t {
    entry(|| destroy(handle))
}

/// Writes the description of a texture object.
///
/// # Safety
/// `out` is null or valid for a write.
unsafe fn describe<T>(
    out: *mut T,
    handle: hipTextureObject_t,
    what: impl FnOnce(&Description) -> Result<T>,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: as this function's contract.
        let out = unsafe { caller::place(out) }?;
        let textures = textures(runtime).lock();
        *out = what(&textures.get(&(handle as usize)).ok_or(INVALID_VALUE)?.description)?;
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

/// `hipGetTextureObjectResourceViewDesc`: zeros without a view.
pub(crate) unsafe extern "C" fn hipGetTextureObjectResourceViewDesc(
    out: *mut hipResourceViewDesc,
    handle: hipTextureObject_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { describe(out, handle, |texture| Ok(texture.view.unwrap_or_default())) }
}

/// `hipGetTextureObjectTextureDesc`.
pub(crate) unsafe extern "C" fn hipGetTextureObjectTextureDesc(
    out: *mut hipTextureDesc,
    handle: hipTextureObject_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { describe(out, handle, |texture| Ok(texture.texture)) }
}

/// A resource in the runtime's form. The numbers of the two forms' types are the same.
fn resource_of_driver(given: &HIP_RESOURCE_DESC) -> Result<hipResourceDesc> {
    type R = hipResourceType;
    let mut resource =
        hipResourceDesc { resType: hipResourceType(given.resType.0), ..hipResourceDesc::default() };
    // SAFETY: the type says which member there is; all are plain data.
    unsafe {
        match resource.resType {
            R::hipResourceTypeArray => resource.res.array.array = given.res.array.hArray,
            R::hipResourceTypeMipmappedArray => {
                resource.res.mipmap.mipmap = given.res.mipmap.hMipmappedArray;
            }
            R::hipResourceTypeLinear => {
                let from = &given.res.linear;
                let to = &mut resource.res.linear;
                to.devPtr = from.devPtr;
                to.desc = Element::of_array(from.format, from.numChannels)?.description();
                to.sizeInBytes = from.sizeInBytes;
            }
            R::hipResourceTypePitch2D => {
                let from = &given.res.pitch2D;
                let to = &mut resource.res.pitch2D;
                to.devPtr = from.devPtr;
                to.desc = Element::of_array(from.format, from.numChannels)?.description();
                to.width = from.width;
                to.height = from.height;
                to.pitchInBytes = from.pitchInBytes;
            }
            _ => return Err(INVALID_VALUE),
        }
    }
    Ok(resource)
}

/// A resource in the driver's form.
fn resource_for_driver(given: &hipResourceDesc) -> Result<HIP_RESOURCE_DESC> {
    type R = hipResourceType;
    let mut resource =
        HIP_RESOURCE_DESC { resType: HIPresourcetype(given.resType.0), ..HIP_RESOURCE_DESC::default() };
    // SAFETY: the type says which member there is; all are plain data.
    unsafe {
        match given.resType {
            R::hipResourceTypeArray => resource.res.array.hArray = given.res.array.array,
            R::hipResourceTypeLinear => {
                let from = &given.res.linear;
                let element = Element::of(&from.desc)?;
                let to = &mut resource.res.linear;
                to.devPtr = from.devPtr;
                to.format = element.array_format();
                to.numChannels = element.channels();
                to.sizeInBytes = from.sizeInBytes;
            }
            R::hipResourceTypePitch2D => {
                let from = &given.res.pitch2D;
                let element = Element::of(&from.desc)?;
                let to = &mut resource.res.pitch2D;
                to.devPtr = from.devPtr;
                to.format = element.array_format();
                to.numChannels = element.channels();
                to.width = from.width;
                to.height = from.height;
                to.pitchInBytes = from.pitchInBytes;
            }
            // There are no other textures.
            _ => return Err(INVALID_VALUE),
        }
    }
    Ok(resource)
}

/// A texture in the runtime's form.
fn texture_of_driver(given: &HIP_TEXTURE_DESC) -> hipTextureDesc {
    let has = |flag: u32| given.flags & flag != 0;
    hipTextureDesc {
        addressMode: given.addressMode.map(|mode| hipTextureAddressMode(mode.0)),
        filterMode: hipTextureFilterMode(given.filterMode.0),
        readMode: match has(HIP_TRSF_READ_AS_INTEGER) {
            true => hipTextureReadMode::hipReadModeElementType,
            false => hipTextureReadMode::hipReadModeNormalizedFloat,
        },
        sRGB: has(HIP_TRSF_SRGB).into(),
        borderColor: given.borderColor,
        normalizedCoords: has(HIP_TRSF_NORMALIZED_COORDINATES).into(),
        maxAnisotropy: given.maxAnisotropy,
        mipmapFilterMode: hipTextureFilterMode(given.mipmapFilterMode.0),
        mipmapLevelBias: given.mipmapLevelBias,
        minMipmapLevelClamp: given.minMipmapLevelClamp,
        maxMipmapLevelClamp: given.maxMipmapLevelClamp,
    }
}

/// A texture in the driver's form.
fn texture_for_driver(given: &hipTextureDesc) -> HIP_TEXTURE_DESC {
    let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    HIP_TEXTURE_DESC {
        addressMode: given.addressMode.map(|mode| HIPaddress_mode(mode.0)),
        filterMode: HIPfilter_mode(given.filterMode.0),
        flags: flag(given.readMode == hipTextureReadMode::hipReadModeElementType, HIP_TRSF_READ_AS_INTEGER)
            | flag(given.sRGB != 0, HIP_TRSF_SRGB)
            | flag(given.normalizedCoords != 0, HIP_TRSF_NORMALIZED_COORDINATES),
        maxAnisotropy: given.maxAnisotropy,
        mipmapFilterMode: HIPfilter_mode(given.mipmapFilterMode.0),
        mipmapLevelBias: given.mipmapLevelBias,
        minMipmapLevelClamp: given.minMipmapLevelClamp,
        maxMipmapLevelClamp: given.maxMipmapLevelClamp,
        borderColor: given.borderColor,
        ..HIP_TEXTURE_DESC::default()
    }
}

/// A view in the runtime's form.
fn view_of_driver(given: &HIP_RESOURCE_VIEW_DESC) -> hipResourceViewDesc {
    hipResourceViewDesc {
        format: hipResourceViewFormat(given.format.0),
        width: given.width,
        height: given.height,
        depth: given.depth,
        firstMipmapLevel: given.firstMipmapLevel,
        lastMipmapLevel: given.lastMipmapLevel,
        firstLayer: given.firstLayer,
        lastLayer: given.lastLayer,
    }
}

/// A view in the driver's form.
fn view_for_driver(given: &hipResourceViewDesc) -> HIP_RESOURCE_VIEW_DESC {
    HIP_RESOURCE_VIEW_DESC {
        format: HIPresourceViewFormat(given.format.0),
        width: given.width,
        height: given.height,
        depth: given.depth,
        firstMipmapLevel: given.firstMipmapLevel,
        lastMipmapLevel: given.lastMipmapLevel,
        firstLayer: given.firstLayer,
        lastLayer: given.lastLayer,
        ..HIP_RESOURCE_VIEW_DESC::default()
    }
}

/// `hipTexObjectCreate`: as [`hipCreateTextureObject`].
pub(crate) unsafe extern "C" fn hipTexObjectCreate(
    out: *mut hipTextureObject_t,
    resource: *const HIP_RESOURCE_DESC,
    texture: *const HIP_TEXTURE_DESC,
    view: *const HIP_RESOURCE_VIEW_DESC,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid addresses.
        let (out, resource, texture, view) = unsafe {
            (caller::place(out)?, caller::value(resource)?, caller::value(texture)?, optional(view)?)
        };
        need_images()?;
        *out = create(Description {
            resource: resource_of_driver(resource)?,
            texture: texture_of_driver(texture),
            view: view.as_ref().map(view_of_driver),
        })?;
        Ok(())
    })
}

/// `hipTexObjectDestroy`: as [`hipDestroyTextureObject`].
pub(crate) unsafe extern "C" fn hipTexObjectDestroy(handle: hipTextureObject_t) -> hipError_t {
    entry(|| destroy(handle))
}

/// `hipTexObjectGetResourceDesc`.
pub(crate) unsafe extern "C" fn hipTexObjectGetResourceDesc(
    out: *mut HIP_RESOURCE_DESC,
    handle: hipTextureObject_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { describe(out, handle, |texture| resource_for_driver(&texture.resource)) }
}

/// `hipTexObjectGetResourceViewDesc`: zeros without a view.
pub(crate) unsafe extern "C" fn hipTexObjectGetResourceViewDesc(
    out: *mut HIP_RESOURCE_VIEW_DESC,
    handle: hipTextureObject_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { describe(out, handle, |texture| Ok(view_for_driver(&texture.view.unwrap_or_default()))) }
}

/// `hipTexObjectGetTextureDesc`.
pub(crate) unsafe extern "C" fn hipTexObjectGetTextureDesc(
    out: *mut HIP_TEXTURE_DESC,
    handle: hipTextureObject_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { describe(out, handle, |texture| Ok(texture_for_driver(&texture.texture))) }
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
        *out = device.info.images.linear_bytes() / Element::of(format)?.bytes();
        Ok(())
    })
}
