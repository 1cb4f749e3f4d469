//! The device under test, launches, and comparison.

use hip::{Device, DeviceBuffer, DeviceCopy, Module, Stream};
use test_skip::{Lack, skip};

/// The device, and a stream of it.
pub(crate) struct Gpu {
    pub(crate) device: Device,
    pub(crate) stream: Stream,
}

/// The device that `FERROCM_DEVICE` names, else a virtual one; `None` if the trees are not built for it.
pub(crate) fn gpu() -> Option<Gpu> {
    let named = std::env::var("FERROCM_DEVICE").ok().filter(|uri| !uri.is_empty());
    let device = Device::open(named.as_deref().unwrap_or("vgpu:gfx1100")).unwrap();
    if !matches!(device.target().processor.as_str(), "gfx1100" | "gfx90a") {
        skip(Lack::Device, format_args!("the trees are built for gfx1100 and gfx90a, and this is {device}"));
        return None;
    }
    device.make_current().unwrap();
    let stream = device.stream().unwrap();
    Some(Gpu { device, stream })
}

impl Gpu {
    pub(crate) fn upload<T: DeviceCopy>(&self, values: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_slice(&self.stream, values).unwrap()
    }

    pub(crate) fn zeroed<T: DeviceCopy>(&self, len: usize) -> DeviceBuffer<T> {
        DeviceBuffer::zeroed(&self.stream, len).unwrap()
    }

    pub(crate) fn download<T: DeviceCopy>(&self, buffer: &DeviceBuffer<T>) -> Vec<T> {
        buffer.to_vec(&self.stream).unwrap()
    }

    /// A buffer as a C pointer, ordered as for a kernel launched by `hip`.
    pub(crate) fn pointer<T: DeviceCopy>(&self, buffer: &mut DeviceBuffer<T>) -> *mut T {
        let address = buffer.as_mut_slice().address_on(&self.stream).unwrap();
        std::ptr::with_exposed_provenance_mut(address.0 as usize)
    }

    pub(crate) fn module(&self, embedded: &'static hip::code_object::embedded::Module) -> Module {
        Module::load_embedded(&self.device, embedded).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Launches a kernel of a module: `launch!(gpu, module, name, grid, block; argument, …)`.
macro_rules! launch {
    ($gpu:expr, $module:expr, $name:expr, $grid:expr, $block:expr; $($argument:expr),* $(,)?) => {{
        let name: &str = $name;
        let function = $module.function(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        let launch = function.launch(&$gpu.stream).grid($grid).block($block)$(.arg($argument))*;
        // SAFETY: the buffers are as large as the kernel's source says for so many threads.
        unsafe { launch.enqueue() }.unwrap_or_else(|error| panic!("{name}: {error}"));
    }};
}
pub(crate) use launch;

/// Bits without a pattern.
pub(crate) fn bits(count: usize, seed: u32) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) ^ 0x1234_5678;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.rotate_left(11) ^ state
    };
    (0..count).map(next).collect()
}

/// Numbers without a pattern, from -1 to 1.
pub(crate) fn noise(count: usize, seed: u32) -> Vec<f32> {
    bits(count, seed).into_iter().map(|bits| (bits >> 8) as f32 / 8_388_608.0 - 1.0).collect()
}

/// Compares numbers one by one. The allowed difference is `tolerance` times the expected magnitude, or times
/// 1 if that is smaller.
pub(crate) fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let bound = tolerance * expected.abs().max(1.0);
        let same =
            (found - expected).abs() <= bound || found == expected || found.is_nan() && expected.is_nan();
        assert!(same, "{what}, {i}: {found}, not {expected}");
    }
}
