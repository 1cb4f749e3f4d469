//! Memory shared with other processes and other drivers.

use std::ffi::c_void;

use hsa_sys::{hsa_agent_t, hsa_amd_ipc_memory_t, hsa_status_t};

use super::calls::{Answer, Calls, Errors, Kind};

#[allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "addresses come from the implementation, as promised to `Calls::new`, or the implementation looks them up"
)]
impl<E: Errors> Calls<E> {
    /// `hsa_amd_ipc_memory_create`: a handle of a whole allocation for other processes.
    pub fn share(self, pointer: *mut c_void, size: usize) -> Answer<E, hsa_amd_ipc_memory_t> {
        let mut handle = hsa_amd_ipc_memory_t { handle: [0; 8] };
        // SAFETY: the out pointer is valid; HSA refuses addresses that are not its allocations.
        let status = unsafe { (self.table.hsa_amd_ipc_memory_create)(pointer, size, &mut handle) };
        self.check_ipc("hsa_amd_ipc_memory_create", Kind::Share, status).map(|()| handle)
    }

    /// `hsa_amd_ipc_memory_attach`.
    pub fn attach(
        self,
        handle: &hsa_amd_ipc_memory_t,
        size: usize,
        agents: &[hsa_agent_t],
    ) -> Answer<E, *mut c_void> {
        let mut pointer = std::ptr::null_mut();
        // SAFETY: handle, list and out pointer are valid for the call; HSA refuses invalid handles.
        let status = unsafe {
            let count = agents.len() as u32;
            (self.table.hsa_amd_ipc_memory_attach)(handle, size, count, agents.as_ptr(), &mut pointer)
        };
        self.check_ipc("hsa_amd_ipc_memory_attach", Kind::Attach, status).map(|()| pointer)
    }

    /// `hsa_amd_ipc_memory_detach`.
    ///
    /// # Safety
    /// The memory was attached and nothing uses it any more.
    pub unsafe fn detach(self, pointer: *mut c_void) -> Answer<E> {
        // SAFETY: as this function's contract.
        let status = unsafe { (self.table.hsa_amd_ipc_memory_detach)(pointer) };
        self.check_ipc("hsa_amd_ipc_memory_detach", Kind::Share, status)
    }

    fn check_ipc(self, operation: &'static str, kind: Kind, status: hsa_status_t) -> Answer<E> {
        self.check(operation, kind, self.table.has("hsa_amd_ipc_memory_create"), status)
    }

    /// `hsa_amd_interop_map_buffer`: maps the first bytes of the memory behind another driver's file
    /// descriptor for an agent. The descriptor may be closed afterwards.
    pub fn map_descriptor(self, agent: hsa_agent_t, descriptor: i32, size: usize) -> Answer<E, *mut c_void> {
        const OPERATION: &str = "hsa_amd_interop_map_buffer";
        let mut pointer = std::ptr::null_mut();
        if let Some(map) = self.table.ext.map_descriptor {
            // SAFETY: the out pointer is valid; the implementation refuses files that are not memory.
            let status = unsafe { map(agent, descriptor, size, &mut pointer) };
            return self.check(OPERATION, Kind::Map, true, status).map(|()| pointer);
        }
        let (mut agents, mut there) = ([agent], 0);
        // SAFETY: list and out pointers are valid for the call, and the metadata is not requested; HSA
        // refuses files that are not memory.
        let status = unsafe {
            (self.table.hsa_amd_interop_map_buffer)(
                1,
                agents.as_mut_ptr(),
                descriptor,
                0,
                &mut there,
                &mut pointer,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        self.check(OPERATION, Kind::Map, self.table.has(OPERATION), status)?;
        if there < size {
            // SAFETY: the memory was just mapped, and nothing uses it.
            unsafe { self.unmap_descriptor(pointer)? };
            let status = hsa_status_t::HSA_STATUS_ERROR_INVALID_ARGUMENT;
            return Err(self.refuse(OPERATION, Kind::Map, true, status));
        }
        Ok(pointer)
    }

    /// `hsa_amd_interop_unmap_buffer`.
    ///
    /// # Safety
    /// The memory was mapped and nothing uses it any more.
    pub unsafe fn unmap_descriptor(self, pointer: *mut c_void) -> Answer<E> {
        const OPERATION: &str = "hsa_amd_interop_unmap_buffer";
        // SAFETY: as this function's contract.
        let status = unsafe { (self.table.hsa_amd_interop_unmap_buffer)(pointer) };
        self.check(OPERATION, Kind::Map, self.table.has(OPERATION), status)
    }

    /// `hsa_amd_portable_export_dmabuf`: a file descriptor of the memory, and the offset of the range in it.
    pub fn export_range(self, pointer: *const c_void, size: usize) -> Answer<E, (i32, u64)> {
        let (mut descriptor, mut offset) = (-1, 0);
        // SAFETY: the out pointers are valid; HSA refuses memory that is not its own.
        let status = unsafe {
            (self.table.hsa_amd_portable_export_dmabuf)(pointer, size, &mut descriptor, &mut offset)
        };
        self.check("hsa_amd_portable_export_dmabuf", Kind::Export, true, status)
            .map(|()| (descriptor, offset))
    }
}
