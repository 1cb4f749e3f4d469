//! Surface objects: arrays that kernels read and write by position.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use hsa_sys::hsa_ext_image_t;

use crate::devices::device::Device;
use crate::error::Result;
use crate::object::array::Array;
use crate::object::linear_image::{IMAGE_WORDS, destroy, free_descriptors, write_descriptors};
use crate::runtime::Runtime;

/// A surface object. Its handle is the address of its image's descriptor, for kernels.
pub(crate) struct Surface {
    pub(crate) device: &'static Device,
    image: hsa_ext_image_t,
}

impl Surface {
    /// Makes a surface of an array for a device, and returns its handle.
    pub(crate) fn new(runtime: &Runtime, device: &'static Device, array: &Array) -> Result<(usize, Self)> {
        let format =
            array.element.image_format(hip_sys::hipTextureReadMode::hipReadModeElementType, false)?;
        // SAFETY: the array has the memory; that it lives as long as the surface is the program's duty.
        let image = unsafe { array.image(format).create(runtime, device) }?;
        // SAFETY: the image was just made.
        match unsafe { write_descriptors(runtime, device, &[(image.handle, IMAGE_WORDS)]) } {
            Ok(handle) => Ok((handle, Self { device, image })),
            Err(code) => {
                destroy(runtime, device, image);
                Err(code)
            }
        }
    }

    /// Frees the parts of a surface.
    ///
    /// # Safety
    /// No kernel uses it, and its handle is not used again.
    pub(crate) unsafe fn release(self, runtime: &Runtime, handle: usize) {
        destroy(runtime, self.device, self.image);
        // SAFETY: as this function's contract.
        unsafe { free_descriptors(runtime, handle) };
    }
}

/// All surface objects.
pub(crate) fn surfaces(_started: &Runtime) -> &'static Surfaces {
    static SURFACES: LazyLock<Surfaces> = LazyLock::new(Surfaces::default);
    &SURFACES
}

/// All surface objects, by their handles.
#[derive(Default)]
pub(crate) struct Surfaces(Mutex<HashMap<usize, Surface>>);

impl Surfaces {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<usize, Surface>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
