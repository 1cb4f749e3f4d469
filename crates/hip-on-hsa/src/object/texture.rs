//! Texture objects: images of HSA with samplers. Linear memory is read by the index of its elements
//! (`tex1Dfetch`); pitched memory and arrays are read by position.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::{
    hipError_t, hipResourceDesc, hipResourceType, hipResourceViewDesc, hipTextureAddressMode, hipTextureDesc,
    hipTextureFilterMode,
};
use hsa_sys::*;

use crate::devices::device::Device;
use crate::error::{Result, check};
use crate::memory::allocation::{Use, memory};
use crate::object::array::{Array, arrays};
use crate::object::element::Element;
use crate::object::linear_image::{IMAGE_WORDS, LinearImage, destroy, free_descriptors, write_descriptors};
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const NOT_SUPPORTED: hipError_t = hipError_t::hipErrorNotSupported;
/// AMD's error for missing descriptions, and for linear memory that is empty or too large.
const BAD_DESCRIPTION: hipError_t = hipError_t::hipErrorInvalidChannelDescriptor;

/// Alignment of textures' addresses and pitches.
pub(crate) const ALIGNMENT: usize = 256;

/// Words of a sampler's descriptor, which follow those of the image.
const SAMPLER_WORDS: usize = 8;

/// What a program describes a texture by.
#[derive(Clone, Copy)]
pub(crate) struct Description {
    pub(crate) resource: hipResourceDesc,
    pub(crate) texture: hipTextureDesc,
    pub(crate) view: Option<hipResourceViewDesc>,
}

// SAFETY: the pointers in the descriptions are only ever given back to the program.
unsafe impl Send for Description {}

/// A texture object. Its handle is the address of its descriptors, for kernels.
pub(crate) struct Texture {
    pub(crate) device: &'static Device,
    pub(crate) description: Description,
    image: hsa_ext_image_t,
    sampler: hsa_ext_sampler_t,
}

impl Texture {
    /// Makes a texture for a device, and returns its handle. The checks are those of AMD's runtime, in its
    /// order.
    pub(crate) fn new(
        runtime: &Runtime,
        device: &'static Device,
        description: Description,
    ) -> Result<(usize, Self)> {
        check_resource(runtime, device, &description)?;
        let texture = &description.texture;
        // AMD's runtime ignores the limits of levels, too.
        if texture.maxAnisotropy != 0 || texture.mipmapLevelBias != 0.0 {
            return Err(NOT_SUPPORTED);
        }
        let sampling = sampling(&description)?;
        let image = image(runtime, device, &description)?;
        // SAFETY: the memory was found, and is as large; that it lives as long as the texture is the
        // program's duty.
        let image = unsafe { image.create(runtime, device) }?;
        let sampler =
            make_sampler(runtime, device, &sampling).inspect_err(|_| destroy(runtime, device, image))?;
        let made = Self { device, description, image, sampler };
        // SAFETY: both were just made.
        let handle = unsafe {
            write_descriptors(
                runtime,
                device,
                &[(image.handle, IMAGE_WORDS), (sampler.handle, SAMPLER_WORDS)],
            )
        };
        match handle {
            Ok(handle) => Ok((handle, made)),
            Err(code) => {
                made.destroy_parts(runtime);
                Err(code)
            }
        }
    }

    fn destroy_parts(self, runtime: &Runtime) {
        destroy(runtime, self.device, self.image);
        // SAFETY: the sampler was made for this texture, which ends.
        let _ = unsafe { (runtime.hsa.table.hsa_ext_sampler_destroy)(self.device.agent, self.sampler) };
    }

    /// Frees the parts of a texture.
    ///
    /// # Safety
    /// No kernel uses it, and its handle is not used again.
    pub(crate) unsafe fn release(self, runtime: &Runtime, handle: usize) {
        self.destroy_parts(runtime);
        // SAFETY: as this function's contract.
        unsafe { free_descriptors(runtime, handle) };
    }
}

/// All texture objects.
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

/// Refuses what is not suitable for a texture.
fn check_resource(runtime: &Runtime, device: &Device, description: &Description) -> Result {
    type R = hipResourceType;
    let resource = &description.resource;
    if description.view.is_some()
        && !matches!(resource.resType, R::hipResourceTypeArray | R::hipResourceTypeMipmappedArray)
    {
        return Err(hipError_t::hipErrorUnknown);
    }
    let is_aligned = |address: usize| address != 0 && address.is_multiple_of(ALIGNMENT);
    let limits = &device.info.images;
    // SAFETY: the type says which member there is; all are plain data.
    unsafe {
        match resource.resType {
            R::hipResourceTypeLinear => {
                let linear = &resource.res.linear;
                let most = (limits.linear as usize).saturating_mul(Element::of(&linear.desc)?.bytes());
                if !is_aligned(linear.devPtr as usize) || linear.sizeInBytes >= most {
                    return Err(BAD_DESCRIPTION);
                }
                Ok(())
            }
            R::hipResourceTypeArray => {
                let array = arrays(runtime).get(resource.res.array.array).ok_or(INVALID_VALUE)?;
                // This processor cannot filter between slices.
                let is_linear = description.texture.filterMode == hipTextureFilterMode::hipFilterModeLinear;
                if array.extent.depth != 0 && is_linear && device.info.target.processor == "gfx90a" {
                    return Err(NOT_SUPPORTED);
                }
                Ok(())
            }
            R::hipResourceTypePitch2D => {
                let plane = &resource.res.pitch2D;
                let [width, height] = limits.size_2d.map(|length| length as usize);
                if !is_aligned(plane.devPtr as usize)
                    || plane.width > width
                    || plane.height > height
                    || !plane.pitchInBytes.is_multiple_of(ALIGNMENT)
                {
                    return Err(INVALID_VALUE);
                }
                Ok(())
            }
            R::hipResourceTypeMipmappedArray => Err(NOT_SUPPORTED),
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The image of a resource that was found suitable.
fn image(runtime: &Runtime, device: &'static Device, description: &Description) -> Result<LinearImage> {
    type R = hipResourceType;
    let (resource, texture) = (&description.resource, &description.texture);
    let format = |element: Element| element.image_format(texture.readMode, texture.sRGB != 0);
    let holds = |address: usize, bytes: usize| {
        let (found, offset) = memory(runtime).find(address).ok_or(INVALID_VALUE)?;
        let what = Use { writes: false, device: Some(device) };
        if memory(runtime).holds(&found, offset, bytes, what) { Ok(()) } else { Err(INVALID_VALUE) }
    };
    // SAFETY: the type says which member there is; all are plain data.
    unsafe {
        match resource.resType {
            R::hipResourceTypeLinear => {
                let linear = &resource.res.linear;
                let element = Element::of(&linear.desc)?;
                holds(linear.devPtr as usize, linear.sizeInBytes)?;
                Ok(LinearImage {
                    address: linear.devPtr as usize,
                    descriptor: hsa_ext_image_descriptor_t {
                        geometry: hsa_ext_image_geometry_t::HSA_EXT_IMAGE_GEOMETRY_1DB,
                        width: linear.sizeInBytes / element.bytes(),
                        height: 0,
                        depth: 0,
                        array_size: 0,
                        format: format(element)?,
                    },
                    row_pitch: 0,
                    slice_pitch: 0,
                })
            }
            R::hipResourceTypePitch2D => {
                let plane = &resource.res.pitch2D;
                let element = Element::of(&plane.desc)?;
                // Both lengths are within the limits of images.
                let row = plane.width * element.bytes();
                let above = plane.height.checked_sub(1).ok_or(INVALID_VALUE)?.checked_mul(plane.pitchInBytes);
                let size = above.and_then(|above| above.checked_add(row)).ok_or(INVALID_VALUE)?;
                if row == 0 || plane.pitchInBytes < row {
                    return Err(INVALID_VALUE);
                }
                holds(plane.devPtr as usize, size)?;
                Ok(LinearImage {
                    address: plane.devPtr as usize,
                    descriptor: hsa_ext_image_descriptor_t {
                        geometry: hsa_ext_image_geometry_t::HSA_EXT_IMAGE_GEOMETRY_2D,
                        width: plane.width,
                        height: plane.height,
                        depth: 0,
                        array_size: 0,
                        format: format(element)?,
                    },
                    row_pitch: plane.pitchInBytes,
                    slice_pitch: 0,
                })
            }
            R::hipResourceTypeArray => {
                let array = arrays(runtime).get(resource.res.array.array).ok_or(INVALID_VALUE)?;
                Ok(array.image(format(viewed(&array, description.view.as_ref())?)?))
            }
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The elements as which an array is read. As in AMD's runtime, a view changes nothing else.
fn viewed(array: &Array, view: Option<&hipResourceViewDesc>) -> Result<Element> {
    let Some(view) = view else { return Ok(array.element) };
    let element = Element::of_view(view.format)?;
    if element.bytes() == array.element.bytes() { Ok(element) } else { Err(INVALID_VALUE) }
}

/// How a texture is sampled, in HSA's words. Border colours are always zero, as in AMD's runtime.
fn sampling(description: &Description) -> Result<hsa_ext_sampler_descriptor_v2_t> {
    use hsa_ext_sampler_addressing_mode_t as A;
    use hsa_ext_sampler_coordinate_mode_t as C;
    use hsa_ext_sampler_filter_mode_t as F;
    type Address = hipTextureAddressMode;
    let texture = &description.texture;
    let is_normalized = texture.normalizedCoords != 0;
    let coordinates = match is_normalized {
        true => C::HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED,
        false => C::HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED,
    };
    // Linear memory is read by index, without a filter.
    if description.resource.resType == hipResourceType::hipResourceTypeLinear {
        return Ok(hsa_ext_sampler_descriptor_v2_t {
            coordinate_mode: coordinates.0,
            filter_mode: F::HSA_EXT_SAMPLER_FILTER_MODE_NEAREST.0,
            address_modes: [A::HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED.0; 3],
        });
    }
    let filter = match texture.filterMode {
        hipTextureFilterMode::hipFilterModePoint => F::HSA_EXT_SAMPLER_FILTER_MODE_NEAREST,
        hipTextureFilterMode::hipFilterModeLinear => F::HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
        _ => return Err(INVALID_VALUE),
    };
    let mut address_modes = [A::HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED.0; 3];
    for (mode, wanted) in address_modes.iter_mut().zip(texture.addressMode) {
        *mode = match wanted {
            Address::hipAddressModeClamp => A::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE,
            Address::hipAddressModeBorder => A::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER,
            // Only coordinates between 0 and 1 are repeated.
            Address::hipAddressModeWrap | Address::hipAddressModeMirror if !is_normalized => {
                A::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE
            }
            Address::hipAddressModeWrap => A::HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT,
            Address::hipAddressModeMirror => A::HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT,
            _ => return Err(INVALID_VALUE),
        }
        .0;
    }
    Ok(hsa_ext_sampler_descriptor_v2_t {
        coordinate_mode: coordinates.0,
        filter_mode: filter.0,
        address_modes,
    })
}

fn make_sampler(
    runtime: &Runtime,
    device: &Device,
    sampling: &hsa_ext_sampler_descriptor_v2_t,
) -> Result<hsa_ext_sampler_t> {
    let mut made = hsa_ext_sampler_t { handle: 0 };
    // SAFETY: the description is complete.
    let status = unsafe { (runtime.hsa.table.hsa_ext_sampler_create_v2)(device.agent, sampling, &mut made) };
    check(status, hipError_t::hipErrorOutOfMemory).map(|()| made)
}
