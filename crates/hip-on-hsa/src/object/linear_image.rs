//! Images of HSA over linear memory, and memory in which kernels find descriptors.

use std::ffi::c_void;

use hip_sys::hipError_t;
use hsa_sys::*;

use crate::devices::device::Device;
use crate::error::{Result, check};
use crate::runtime::Runtime;

/// Words of an image's descriptor.
pub(crate) const IMAGE_WORDS: usize = 12;

/// An image in linear memory. Pitches of 0 are those without gaps.
pub(crate) struct LinearImage {
    pub(crate) address: usize,
    pub(crate) descriptor: hsa_ext_image_descriptor_t,
    pub(crate) row_pitch: usize,
    pub(crate) slice_pitch: usize,
}

impl LinearImage {
    /// Makes the image for a device.
    ///
    /// # Safety
    /// The memory is there, and is as large as the description says, for as long as the image is used.
    pub(crate) unsafe fn create(&self, runtime: &Runtime, device: &Device) -> Result<hsa_ext_image_t> {
        let mut made = hsa_ext_image_t { handle: 0 };
        // SAFETY: as this function's contract; the description is complete.
        let status = unsafe {
            (runtime.hsa.table.hsa_ext_image_create_with_layout)(
                device.agent,
                &self.descriptor,
                self.address as *const c_void,
                hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW,
                hsa_ext_image_data_layout_t::HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR,
                self.row_pitch,
                self.slice_pitch,
                &mut made,
            )
        };
        check(status, hipError_t::hipErrorInvalidValue).map(|()| made)
    }
}

/// Destroys an image.
pub(crate) fn destroy(runtime: &Runtime, device: &Device, image: hsa_ext_image_t) {
    // SAFETY: images are made by `create`, and have one owner.
    let _ = unsafe { (runtime.hsa.table.hsa_ext_image_destroy)(device.agent, image) };
}

/// Copies the words of descriptors, behind each other, to memory where kernels read them.
///
/// # Safety
/// Each handle is that of an image or sampler with so many words: HSA's handles are their addresses.
pub(crate) unsafe fn write_descriptors(
    runtime: &Runtime,
    device: &Device,
    descriptors: &[(u64, usize)],
) -> Result<usize> {
    let words: usize = descriptors.iter().map(|(_, words)| words).sum();
    let memory = runtime.allocate_shared(device.agent, words * size_of::<u32>())?.cast::<u32>();
    let mut at = memory;
    for &(handle, words) in descriptors {
        // SAFETY: as this function's contract; the memory has room for all words.
        unsafe {
            at.copy_from_nonoverlapping(handle as *const u32, words);
            at = at.add(words);
        }
    }
    Ok(memory as usize)
}

/// Frees what [`write_descriptors`] has returned.
///
/// # Safety
/// No kernel uses it, and it is not used again.
pub(crate) unsafe fn free_descriptors(runtime: &Runtime, memory: usize) {
    // SAFETY: as this function's contract.
    let _ = unsafe { runtime.hsa.free(memory as *mut c_void) };
}
