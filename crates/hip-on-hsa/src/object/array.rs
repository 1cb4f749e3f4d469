//! Arrays: memory of a device with a shape and a format of elements, for textures, surfaces and copies.
//!
//! An array is linear memory: rows start at multiples of the pitch alignment, and slices follow each other
//! without a gap. So a copy of a part of an array is a copy of a box of memory.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::{
    HIP_ARRAY3D_DESCRIPTOR, hipArray_const_t, hipArray_t, hipArrayDefault, hipArrayLayered,
    hipArraySurfaceLoadStore, hipArrayTextureGather, hipError_t, hipExtent,
};
use hsa_sys::{hsa_ext_image_descriptor_t, hsa_ext_image_format_t, hsa_ext_image_geometry_t};

use crate::devices::device::Device;
use crate::error::Result;
use crate::gpu::ImageLimits;
use crate::memory::allocation::{Allocation, Origin, allocate_array, memory, quiesce_for_release, release};
use crate::memory::rect::Rows;
use crate::object::element::Element;
use crate::object::linear_image::LinearImage;
use crate::registry::{Kind, Registry};
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Rows of arrays start at multiples of this, as the rows of linear images must.
const PITCH_ALIGNMENT: usize = 256;

/// Flags that arrays can have. As with AMD's runtime, cubes are not among them.
const FLAGS: u32 = hipArrayDefault | hipArrayLayered | hipArraySurfaceLoadStore | hipArrayTextureGather;

type Geometry = hsa_ext_image_geometry_t;

/// What a shape of an array is to HSA; none for shapes that do not exist. Lengths of 0 say which dimensions
/// there are.
fn geometry(extent: hipExtent, flags: u32) -> Option<Geometry> {
    let is_layered = flags & hipArrayLayered != 0;
    match (extent.width != 0, extent.height != 0, extent.depth != 0, is_layered) {
        (true, false, false, false) => Some(Geometry::HSA_EXT_IMAGE_GEOMETRY_1D),
        (true, true, false, false) => Some(Geometry::HSA_EXT_IMAGE_GEOMETRY_2D),
        (true, true, true, false) => Some(Geometry::HSA_EXT_IMAGE_GEOMETRY_3D),
        (true, false, true, true) => Some(Geometry::HSA_EXT_IMAGE_GEOMETRY_1DA),
        (true, true, true, true) => Some(Geometry::HSA_EXT_IMAGE_GEOMETRY_2DA),
        _ => None,
    }
}

/// Whether a device has images so large.
fn fits(limits: &ImageLimits, extent: hipExtent, geometry: Geometry) -> bool {
    let most = match geometry {
        Geometry::HSA_EXT_IMAGE_GEOMETRY_1D => [limits.width_1d, 0, 0],
        Geometry::HSA_EXT_IMAGE_GEOMETRY_2D => [limits.size_2d[0], limits.size_2d[1], 0],
        Geometry::HSA_EXT_IMAGE_GEOMETRY_3D => limits.size_3d,
        Geometry::HSA_EXT_IMAGE_GEOMETRY_1DA => [limits.width_1d_layered, 0, limits.layers],
        _ => [limits.size_2d_layered[0], limits.size_2d_layered[1], limits.layers],
    };
    let lengths = [extent.width, extent.height, extent.depth];
    lengths.into_iter().zip(most).all(|(length, most)| length <= most as usize)
}

/// An array.
pub(crate) struct Array {
    pub(crate) element: Element,
    /// In elements, as the program gave it: 0 for dimensions that do not exist.
    pub(crate) extent: hipExtent,
    pub(crate) flags: u32,
    base: usize,
    pitch: usize,
    geometry: Geometry,
}

impl Array {
    /// Allocates an array. The checks are those of AMD's runtime, in its order.
    pub(crate) fn new(
        runtime: &'static Runtime,
        device: &'static Device,
        wanted: &HIP_ARRAY3D_DESCRIPTOR,
    ) -> Result<Self> {
        let extent = hipExtent { width: wanted.Width, height: wanted.Height, depth: wanted.Depth };
        let flags = wanted.Flags;
        if !matches!(wanted.NumChannels, 1 | 2 | 4) || flags & !FLAGS != 0 {
            return Err(INVALID_VALUE);
        }
        // Only plain 2D arrays are gathered from.
        let is_plane = extent.width != 0 && extent.height != 0 && extent.depth == 0;
        if flags & hipArrayTextureGather != 0 && !is_plane {
            return Err(INVALID_VALUE);
        }
        let element = Element::of_array(wanted.Format, wanted.NumChannels)?;
        let geometry = geometry(extent, flags).ok_or(INVALID_VALUE)?;
        if !device.info.images.exist() {
            return Err(hipError_t::hipErrorNotSupported);
        }
        if !fits(&device.info.images, extent, geometry) {
            return Err(INVALID_VALUE);
        }
        // The limits of images are 32-bit numbers.
        let pitch = (extent.width * element.bytes()).next_multiple_of(PITCH_ALIGNMENT);
        let mut array = Self { element, extent, flags, base: 0, pitch, geometry };
        let rows = array.rows().checked_mul(array.slices());
        let size = rows.and_then(|rows| rows.checked_mul(pitch)).ok_or(hipError_t::hipErrorOutOfMemory)?;
        array.base = allocate_array(runtime, device, size, flags)?;
        Ok(array)
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.extent.width * self.element.bytes()
    }

    /// Whether it is a list of rows.
    pub(crate) fn is_layered_1d(&self) -> bool {
        self.geometry == Geometry::HSA_EXT_IMAGE_GEOMETRY_1DA
    }

    /// Rows of a slice. The layers of rows are rows, as in AMD's runtime.
    fn rows(&self) -> usize {
        if self.is_layered_1d() { self.extent.depth } else { self.extent.height.max(1) }
    }

    fn slices(&self) -> usize {
        if self.is_layered_1d() { 1 } else { self.extent.depth.max(1) }
    }

    fn slice_pitch(&self) -> usize {
        self.pitch * self.rows()
    }

    /// The memory of a part: a box at a byte of a row, a row and a slice, as wide as bytes. This is the one
    /// place where parts of arrays become memory.
    ///
    /// # Errors
    /// The box is not in the array.
    pub(crate) fn part(&self, [x, y, z]: [usize; 3], extent: hipExtent) -> Result<Rows> {
        let within = |start: usize, length: usize, room: usize| {
            start.checked_add(length).is_some_and(|end| end <= room)
        };
        let hipExtent { width, height, depth } = extent;
        if !within(x, width, self.row_bytes())
            || !within(y, height, self.rows())
            || !within(z, depth, self.slices())
        {
            return Err(INVALID_VALUE);
        }
        let slice = self.slice_pitch();
        let start = self.base + z * slice + y * self.pitch + x;
        Ok(Rows { start, pitch: self.pitch, slice, width, height, depth })
    }

    /// Byte of a row, row and slice of an address in the array.
    pub(crate) fn position(&self, address: usize) -> [usize; 3] {
        let offset = address.saturating_sub(self.base);
        let (slice, rest) = (offset / self.slice_pitch(), offset % self.slice_pitch());
        [rest % self.pitch, rest / self.pitch, slice]
    }

    /// What the program asked for.
    pub(crate) fn description(&self) -> HIP_ARRAY3D_DESCRIPTOR {
        HIP_ARRAY3D_DESCRIPTOR {
            Width: self.extent.width,
            Height: self.extent.height,
            Depth: self.extent.depth,
            Format: self.element.array_format(),
            NumChannels: self.element.channels(),
            Flags: self.flags,
        }
    }

    /// The image of all of the array.
    pub(crate) fn image(&self, format: hsa_ext_image_format_t) -> LinearImage {
        let hipExtent { width, height, depth } = self.extent;
        let is_layered = self.flags & hipArrayLayered != 0;
        LinearImage {
            address: self.base,
            descriptor: hsa_ext_image_descriptor_t {
                geometry: self.geometry,
                width,
                height,
                depth: if is_layered { 0 } else { depth },
                array_size: if is_layered { depth } else { 0 },
                format,
            },
            row_pitch: self.pitch,
            slice_pitch: match self.geometry {
                Geometry::HSA_EXT_IMAGE_GEOMETRY_1D | Geometry::HSA_EXT_IMAGE_GEOMETRY_2D => 0,
                Geometry::HSA_EXT_IMAGE_GEOMETRY_1DA => self.pitch,
                _ => self.slice_pitch(),
            },
        }
    }

    /// Takes the memory out of the map, so that nobody else frees it.
    fn take_memory(&self, runtime: &Runtime) -> Option<Arc<Allocation>> {
        memory(runtime).remove(self.base, &[Origin::Array])
    }
}

/// All arrays.
pub(crate) fn arrays(_started: &Runtime) -> &'static Arrays {
    static ARRAYS: LazyLock<Arrays> =
        LazyLock::new(|| Arrays { registry: Registry::new(Kind::Array), by_address: Mutex::default() });
    &ARRAYS
}

/// All arrays, by their handles and by their addresses.
pub(crate) struct Arrays {
    registry: Registry<Array>,
    by_address: Mutex<HashMap<usize, usize>>,
}

impl Arrays {
    fn by_address(&self) -> MutexGuard<'_, HashMap<usize, usize>> {
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an array and returns its handle.
    pub(crate) fn insert(&self, runtime: &Runtime, array: Array) -> Result<hipArray_t> {
        let array = Arc::new(array);
        let Some(handle) = self.registry.insert(array.clone()) else {
            if let Some(memory) = array.take_memory(runtime) {
                release(runtime, &memory)?;
            }
            return Err(hipError_t::hipErrorOutOfMemory);
        };
        self.by_address().insert(array.base, handle);
        Ok(handle as hipArray_t)
    }

    /// The array behind a handle, if it is live.
    pub(crate) fn get(&self, handle: hipArray_const_t) -> Option<Arc<Array>> {
        self.registry.get(handle as usize)
    }

    /// The live array whose memory contains an address, and its handle.
    pub(crate) fn at(&self, runtime: &Runtime, address: usize) -> Option<(hipArray_t, Arc<Array>)> {
        let (found, _) = memory(runtime).find(address)?;
        let handle = *self.by_address().get(&found.base)?;
        Some((handle as hipArray_t, self.registry.get(handle)?))
    }

    /// Ends a handle. The memory stays.
    fn remove(&self, handle: usize) -> Option<Arc<Array>> {
        let array = self.registry.remove(handle)?;
        self.by_address().remove(&array.base);
        Some(array)
    }

    /// Ends the handle of the array whose memory starts at an address. The memory stays.
    pub(crate) fn forget_at(&self, base: usize) {
        let handle = self.by_address().get(&base).copied();
        handle.and_then(|handle| self.remove(handle));
    }
}

/// Ends an array: waits for the devices that may be using it, and frees its memory.
///
/// # Errors
/// The handle is not that of a live array.
pub(crate) fn end(runtime: &'static Runtime, handle: hipArray_t) -> Result {
    let array = arrays(runtime).remove(handle as usize).ok_or(hipError_t::hipErrorContextIsDestroyed)?;
    let Some(memory) = array.take_memory(runtime) else { return Ok(()) };
    quiesce_for_release(runtime, &memory);
    release(runtime, &memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_told_by_the_lengths_that_are_zero() {
        let shape = |width, height, depth, flags| {
            geometry(hipExtent { width, height, depth }, flags).map(|geometry| geometry.0)
        };
        let is = |geometry: Geometry| Some(geometry.0);
        assert_eq!(shape(8, 0, 0, 0), is(Geometry::HSA_EXT_IMAGE_GEOMETRY_1D));
        assert_eq!(shape(8, 4, 0, hipArraySurfaceLoadStore), is(Geometry::HSA_EXT_IMAGE_GEOMETRY_2D));
        assert_eq!(shape(8, 4, 2, 0), is(Geometry::HSA_EXT_IMAGE_GEOMETRY_3D));
        assert_eq!(shape(8, 0, 2, hipArrayLayered), is(Geometry::HSA_EXT_IMAGE_GEOMETRY_1DA));
        assert_eq!(shape(8, 4, 2, hipArrayLayered), is(Geometry::HSA_EXT_IMAGE_GEOMETRY_2DA));
        for flags in [0, hipArrayLayered] {
            assert_eq!(shape(0, 4, 2, flags), None);
            assert_eq!(shape(0, 0, 0, flags), None);
        }
        assert_eq!(shape(8, 0, 2, 0), None);
        assert_eq!(shape(8, 4, 0, hipArrayLayered), None);
        assert_eq!(shape(8, 0, 0, hipArrayLayered), None);
    }
}
