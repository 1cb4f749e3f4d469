//! What an implementation knows about an address.

use std::ffi::c_void;

use hsa_sys::*;

use super::{Answer, Calls, Errors, Kind};

impl<E: Errors> Calls<E> {
    /// `hsa_amd_pointer_info`: first byte and size of the allocation around an address, as agents see it;
    /// `None` if there is none.
    pub fn allocation_at(self, address: usize) -> Answer<E, Option<(usize, usize)>> {
        let known = self.pointer_info(address)?;
        Ok(known.map(|info| (info.agentBaseAddress as usize, info.sizeInBytes)))
    }

    /// `hsa_amd_pointer_info`: the agent whose memory has an address; `None` if there is no allocation.
    pub fn owner_of(self, address: usize) -> Answer<E, Option<hsa_agent_t>> {
        Ok(self.pointer_info(address)?.map(|info| info.agentOwner))
    }

    fn pointer_info(self, address: usize) -> Answer<E, Option<hsa_amd_pointer_info_t>> {
        let mut info = hsa_amd_pointer_info_t {
            size: size_of::<hsa_amd_pointer_info_t>() as u32,
            type_: hsa_amd_pointer_type_t::HSA_EXT_POINTER_TYPE_UNKNOWN,
            ..Default::default()
        };
        // SAFETY: the implementation looks the address up and does not access it; the structure has the size
        // that it says, and no list of agents is wanted.
        let status = unsafe {
            (self.table.hsa_amd_pointer_info)(
                address as *mut c_void,
                &mut info,
                None,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        self.check("hsa_amd_pointer_info", Kind::Memory, true, status)?;
        let is_known = info.type_ != hsa_amd_pointer_type_t::HSA_EXT_POINTER_TYPE_UNKNOWN;
        Ok(is_known.then_some(info))
    }
}
