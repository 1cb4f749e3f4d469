//! Texture objects over linear memory, which kernels read with `tex1Dfetch`: HSA images with the geometry
//! 1DB.
//!
//! Textures over arrays or pitched rows are not supported (`hipErrorNotSupported`).

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::{
    hipChannelFormatDesc, hipChannelFormatKind, hipError_t, hipResourceDesc, hipResourceType, hipTextureDesc,
    hipTextureReadMode,
};
use hsa_sys::*;

use crate::devices::device::Device;
use crate::error::{Result, check};
use crate::memory::allocation::{Use, memory};
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const NOT_SUPPORTED: hipError_t = hipError_t::hipErrorNotSupported;
/// AMD's error for missing descriptions, and for linear memory that is empty or too large.
const BAD_DESCRIPTION: hipError_t = hipError_t::hipErrorInvalidChannelDescriptor;

/// Alignment of textures' addresses and pitches.
pub(crate) const ALIGNMENT: usize = 256;

/// Words of an image's descriptor. The sampler's words follow.
const IMAGE_WORDS: usize = 12;
const SAMPLER_WORDS: usize = 8;

/// A texture object. Its handle is the address of its descriptors, for kernels.
pub(crate) struct Texture {
    pub(crate) device: &'static Device,
    pub(crate) resource: hipResourceDesc,
    pub(crate) description: hipTextureDesc,
    pub(crate) image: hsa_ext_image_t,
    pub(crate) sampler: hsa_ext_sampler_t,
}

// SAFETY: the pointers in the descriptions are only ever given back to the program.
unsafe impl Send for Texture {}

/// All texture objects by their handles.
pub(crate) fn textures(_started: &Runtime) -> &'static Textures {
    static TEXTURES: LazyLock<Textures> = LazyLock::new(Textures::default);
    &TEXTURES
}

/// All texture objects, by their handles.
#[derive(Default)]
pub(crate) struct Textures(Mutex<HashMap<usize, Texture>>);

impl Textures {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<usize, Texture>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The format of a texture's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    channels: usize,
    /// Bits of the first channel; the others have the same.
    bits: i32,
    kind: hipChannelFormatKind,
}

impl Element {
    pub(crate) fn of(format: &hipChannelFormatDesc) -> Result<Self> {
        let bits = [format.x, format.y, format.z, format.w];
        let channels = bits.iter().filter(|&&bits| bits != 0).count();
        let element = Self { channels, bits: format.x, kind: format.f };
        if channels == 0 || bits[..channels].iter().any(|&bits| bits != format.x) || format.x % 8 != 0 {
            return Err(INVALID_VALUE);
        }
        element.channel_type(hipTextureReadMode::hipReadModeElementType)?;
        Ok(element)
    }

    pub(crate) fn bytes(self) -> usize {
        self.channels * self.bits as usize / 8
    }

    /// HSA's type of a channel. As with AMD's runtime, 32-bit integers are never normalised to numbers
    /// between 0 and 1.
    fn channel_type(self, mode: hipTextureReadMode) -> Result<hsa_ext_image_channel_type_t> {
        use hsa_ext_image_channel_type_t as T;
        let normalized = mode == hipTextureReadMode::hipReadModeNormalizedFloat;
        type K = hipChannelFormatKind;
        Ok(match (self.kind, self.bits, normalized) {
            (K::hipChannelFormatKindSigned, 8, false) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8,
            (K::hipChannelFormatKindSigned, 8, true) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8,
            (K::hipChannelFormatKindSigned, 16, false) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16,
            (K::hipChannelFormatKindSigned, 16, true) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16,
            (K::hipChannelFormatKindSigned, 32, _) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32,
            (K::hipChannelFormatKindUnsigned, 8, false) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8,
            (K::hipChannelFormatKindUnsigned, 8, true) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8,
            (K::hipChannelFormatKindUnsigned, 16, false) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16,
            (K::hipChannelFormatKindUnsigned, 16, true) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16,
            (K::hipChannelFormatKindUnsigned, 32, _) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32,
            (K::hipChannelFormatKindFloat, 16, _) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT,
            (K::hipChannelFormatKindFloat, 32, _) => T::HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
            _ => return Err(INVALID_VALUE),
        })
    }

    fn channel_order(self) -> Result<hsa_ext_image_channel_order_t> {
        use hsa_ext_image_channel_order_t as O;
        match self.channels {
            1 => Ok(O::HSA_EXT_IMAGE_CHANNEL_ORDER_R),
            2 => Ok(O::HSA_EXT_IMAGE_CHANNEL_ORDER_RG),
            4 => Ok(O::HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA),
            _ => Err(INVALID_VALUE),
        }
    }
}

/// Refuses anything but linear memory that is suitable for a texture, in the order of AMD's checks.
pub(crate) fn check_resource(device: &Device, resource: &hipResourceDesc, has_view: bool) -> Result {
    type R = hipResourceType;
    if has_view && !matches!(resource.resType, R::hipResourceTypeArray | R::hipResourceTypeMipmappedArray) {
        return Err(hipError_t::hipErrorUnknown);
    }
    // SAFETY: the type says which member there is; all are plain data.
    unsafe {
        match resource.resType {
            R::hipResourceTypeLinear => {
                let linear = &resource.res.linear;
                let most = device.info.max_texels.saturating_mul(Element::of(&linear.desc)?.bytes());
                let is_aligned = (linear.devPtr as usize).is_multiple_of(ALIGNMENT);
                if linear.devPtr.is_null() || !is_aligned || linear.sizeInBytes >= most {
                    return Err(BAD_DESCRIPTION);
                }
                Ok(())
            }
            R::hipResourceTypeArray if resource.res.array.array.is_null() => Err(INVALID_VALUE),
            R::hipResourceTypePitch2D if resource.res.pitch2D.devPtr.is_null() => Err(INVALID_VALUE),
            R::hipResourceTypeArray | R::hipResourceTypeMipmappedArray | R::hipResourceTypePitch2D => {
                Err(NOT_SUPPORTED)
            }
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The image of a linear resource.
pub(crate) fn make_image(
    runtime: &Runtime,
    device: &'static Device,
    resource: &hipResourceDesc,
    description: &hipTextureDesc,
) -> Result<hsa_ext_image_t> {
    // SAFETY: the resource was found to be linear memory.
    let linear = unsafe { &resource.res.linear };
    let element = Element::of(&linear.desc)?;
    let (found, offset) = memory(runtime).find(linear.devPtr as usize).ok_or(INVALID_VALUE)?;
    if !memory(runtime).holds(&found, offset, linear.sizeInBytes, Use { writes: false, device: Some(device) })
    {
        return Err(INVALID_VALUE);
    }
    if description.sRGB != 0 && element.channels == 4 {
        return Err(NOT_SUPPORTED);
    }
    let format = hsa_ext_image_format_t {
        channel_type: element.channel_type(description.readMode)?.0,
        channel_order: element.channel_order()?.0,
    };
    let image = hsa_ext_image_descriptor_t {
        geometry: hsa_ext_image_geometry_t::HSA_EXT_IMAGE_GEOMETRY_1DB,
        width: linear.sizeInBytes / element.bytes(),
        height: 0,
        depth: 0,
        array_size: 0,
        format,
    };
    let mut made = hsa_ext_image_t { handle: 0 };
    // SAFETY: the description is complete, and the memory is there, as was checked.
    let status = unsafe {
        (runtime.hsa.table.hsa_ext_image_create_with_layout)(
            device.agent,
            &image,
            linear.devPtr,
            hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW,
            hsa_ext_image_data_layout_t::HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR,
            0,
            0,
            &mut made,
        )
    };
    check(status, INVALID_VALUE).map(|()| made)
}

/// The sampler of all textures over linear memory, which have neither filters nor addressing modes.
pub(crate) fn make_sampler(
    runtime: &Runtime,
    device: &Device,
    description: &hipTextureDesc,
) -> Result<hsa_ext_sampler_t> {
    use hsa_ext_sampler_addressing_mode_t as A;
    use hsa_ext_sampler_coordinate_mode_t as C;
    let normalized = description.normalizedCoords != 0;
    let coordinates = if normalized {
        C::HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED
    } else {
        C::HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED
    };
    let sampler = hsa_ext_sampler_descriptor_v2_t {
        coordinate_mode: coordinates.0,
        filter_mode: hsa_ext_sampler_filter_mode_t::HSA_EXT_SAMPLER_FILTER_MODE_NEAREST.0,
        address_modes: [A::HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED.0; 3],
    };
    let mut made = hsa_ext_sampler_t { handle: 0 };
    // SAFETY: the description is complete.
    let status = unsafe { (runtime.hsa.table.hsa_ext_sampler_create_v2)(device.agent, &sampler, &mut made) };
    check(status, hipError_t::hipErrorOutOfMemory).map(|()| made)
}

/// Frees the parts of a texture object.
pub(crate) fn release(runtime: &Runtime, handle: usize, texture: &Texture) {
    // SAFETY: the objects were created here and have no other owner.
    unsafe {
        let _ = (runtime.hsa.table.hsa_ext_image_destroy)(texture.device.agent, texture.image);
        let _ = (runtime.hsa.table.hsa_ext_sampler_destroy)(texture.device.agent, texture.sampler);
        if handle != 0 {
            let _ = runtime.hsa.free(handle as *mut c_void);
        }
    }
}

/// Writes the descriptors of a texture to memory for kernels.
pub(crate) fn descriptors(runtime: &Runtime, texture: &Texture) -> Result<usize> {
    let size = (IMAGE_WORDS + SAMPLER_WORDS) * size_of::<u32>();
    let memory = runtime.allocate_shared(texture.device.agent, size)?.cast::<u32>();
    let (image, sampler) = (texture.image.handle as *const u32, texture.sampler.handle as *const u32);
    // SAFETY: HSA's handles are the addresses of descriptors of so many words, and the memory was just
    // allocated.
    unsafe {
        memory.copy_from_nonoverlapping(image, IMAGE_WORDS);
        memory.add(IMAGE_WORDS).copy_from_nonoverlapping(sampler, SAMPLER_WORDS);
    }
    Ok(memory as usize)
}
