//! A virtual GPU for tests and for fuzz targets.

use std::ffi::c_void;

use hsa_sys::{hsa_agent_t, hsa_status_t};

/// The agent of a GPU with two units and 256 MiB.
pub(crate) fn gpu() -> hsa_agent_t {
    unsafe extern "C" fn collect(agent: hsa_agent_t, list: *mut c_void) -> hsa_status_t {
        // SAFETY: the list is the one passed below.
        unsafe { &mut *list.cast::<Vec<hsa_agent_t>>() }.push(agent);
        hsa_status_t::HSA_STATUS_SUCCESS
    }
    let table = vgpu::hsa::table();
    // SAFETY: it has no arguments.
    assert_eq!(unsafe { (table.hsa_init)() }, hsa_status_t::HSA_STATUS_SUCCESS);
    let config = "gfx1100?cus=2&memory=256MiB".parse().expect("a device");
    let index = vgpu::attach(&config).expect("the device");
    let mut agents: Vec<hsa_agent_t> = Vec::new();
    // SAFETY: the list outlives the call, and the function takes it as what it is.
    let listed = unsafe { (table.hsa_iterate_agents)(Some(collect), (&raw mut agents).cast()) };
    assert_eq!(listed, hsa_status_t::HSA_STATUS_SUCCESS);
    agents[1 + index]
}
