//! What a pointer is.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use cuda_sys::{CUmemorytype, CUpointer_attribute as Attribute, CUresult};
use hip_sys::{hipError_t, hipMemoryType, hipPointerAttribute_t};

use super::convert::address;
use crate::call::steps;
use crate::runtime::check;

/// `hipPointerGetAttributes`. A pointer that the driver does not know is `hipErrorInvalidValue`, as with
/// AMD's.
pub(crate) unsafe extern "C" fn hipPointerGetAttributes(
    attributes: *mut hipPointerAttribute_t,
    pointer: *const c_void,
) -> hipError_t {
    steps(|cuda| {
        let (mut kind, mut device, mut managed): (c_uint, c_int, c_uint) = (0, 0, 0);
        let (mut of_device, mut of_host): (*mut c_void, *mut c_void) = (null_mut(), null_mut());
        let mut names = [
            Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
            Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER,
        ];
        let mut places: [*mut c_void; 5] = [
            (&raw mut kind).cast(),
            (&raw mut device).cast(),
            (&raw mut managed).cast(),
            (&raw mut of_device).cast(),
            (&raw mut of_host).cast(),
        ];
        let count = names.len() as c_uint;
        let (names, places) = (names.as_mut_ptr(), places.as_mut_ptr());
        // SAFETY: there is a place of its type for each attribute; any address may be asked for.
        check(unsafe { (cuda.cuPointerGetAttributes)(count, names, places, address(pointer)) })?;
        let type_ = match CUmemorytype(kind) {
            _ if managed & 0xff != 0 => hipMemoryType::hipMemoryTypeManaged,
            CUmemorytype::CU_MEMORYTYPE_HOST => hipMemoryType::hipMemoryTypeHost,
            CUmemorytype::CU_MEMORYTYPE_DEVICE => hipMemoryType::hipMemoryTypeDevice,
            _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        };
        // SAFETY: the caller passes null or a place.
        let place = unsafe { attributes.as_mut() }.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        *place = hipPointerAttribute_t {
            type_,
            device,
            devicePointer: of_device,
            hostPointer: of_host,
            isManaged: c_int::from(managed & 0xff != 0),
            allocationFlags: 0,
        };
        Ok(())
    })
}
