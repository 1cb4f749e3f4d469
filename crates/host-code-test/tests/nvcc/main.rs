//! CUDA sources as nvcc compiles them: what its header brings, what host code is told of the GPU, and how
//! numbers are rounded. On the device in `FERROCM_DEVICE`, else on virtual ones with both sizes of waves.

mod functions;
mod habits;
mod model;
mod numbers;

// The library calls functions of this crate.
use hip_host as _;

/// The devices, of which a test makes one after the other current.
fn devices() -> Vec<hip::Device> {
    let named = std::env::var("FERROCM_DEVICE").ok().filter(|uri| !uri.is_empty());
    let uris = named.map_or_else(|| vec!["vgpu:gfx1100".into(), "vgpu:gfx90a".into()], |uri| vec![uri]);
    uris.iter().map(|uri| hip::Device::open(uri).unwrap()).collect()
}
