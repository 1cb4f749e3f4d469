//! The HSA table takes any pointer.
#![forbid(unsafe_code)]

fn main() {
    let table = vgpu::hsa::table();
    (table.hsa_init)();
    (table.hsa_memory_free)(std::ptr::null_mut());
}
