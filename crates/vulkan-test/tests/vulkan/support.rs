//! The two devices, and HIP's part of the work.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use hip::{Backend, Device, DeviceBuffer, Error, ExternalMemory, Function, Module, Stream};
use test_skip::{Lack, skip};
use vulkan_test::{Buffer, Choice, Vulkan};

/// Turns a missing Vulkan into an error.
const REQUIRED: &str = "FERROCM_TEST_VULKAN";

/// A HIP device, the Vulkan device that shares memory with it, and kernels.
pub(crate) struct Both {
    pub(crate) hip: Device,
    pub(crate) vulkan: Arc<Vulkan>,
    module: Module,
}

/// Both devices. Returns none, and prints why, if there is no suitable Vulkan.
pub(crate) fn both() -> Option<Both> {
    let uri = std::env::var(hip::uri::DEVICE_VARIABLE).ok().filter(|uri| !uri.is_empty());
    let hip =
        Device::open(uri.as_deref().unwrap_or("vgpu:gfx1100")).unwrap_or_else(|error| panic!("{error}"));
    // The virtual GPU's memory is host memory, like that of Vulkan devices on the CPU.
    let choice = match hip.backend() {
        Backend::Virtual => Choice::Cpu,
        _ if std::env::var_os("FERROCM_HSA_DEVICE").is_some() => Choice::Cpu,
        _ => {
            let place = hip.properties().pci;
            Choice::Pci(place.domain, place.bus, place.device)
        }
    };
    let vulkan = match Vulkan::open(choice) {
        Ok(vulkan) => vulkan,
        Err(error) if std::env::var(REQUIRED).is_ok_and(|value| value == "1") => panic!("{error}"),
        Err(error) => {
            skip(Lack::Suite, format_args!("no Vulkan: {error}"));
            return None;
        }
    };
    eprintln!("{hip} and {}", vulkan.name());
    let module = Module::load(&hip, code(&hip.target().processor)).unwrap_or_else(|error| panic!("{error}"));
    Some(Both { hip, vulkan, module })
}

/// The kernels' code object for a processor, compiled once in this process.
fn code(processor: &str) -> &'static [u8] {
    static CODE: OnceLock<Vec<u8>> = OnceLock::new();
    CODE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
        let build = kernel_build::Builder::new(folder).targets([processor]).build();
        build.unwrap_or_else(|error| panic!("{error}")).modules[0].objects[0].bytes.clone()
    })
}

/// A buffer of Vulkan with room for this many numbers, and the same memory in HIP.
pub(crate) struct Shared {
    pub(crate) vulkan: Arc<Buffer>,
    pub(crate) memory: ExternalMemory,
    pub(crate) hip: DeviceBuffer<u32>,
}

impl Both {
    pub(crate) fn function(&self, name: &str) -> Function {
        self.module.function(name).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Memory that Vulkan allocates and exports, and that HIP imports.
    pub(crate) fn shared(&self, len: usize) -> Shared {
        let vulkan = Arc::new(Buffer::exportable(&self.vulkan, 4 * len).unwrap());
        let descriptor = vulkan.export().unwrap();
        // SAFETY: the descriptor refers to this much memory of Vulkan; the tests keep the two from using it
        // at the same time.
        let memory = unsafe { ExternalMemory::import_dedicated(&self.hip, descriptor, vulkan.allocated()) };
        let memory = memory.unwrap_or_else(|error| panic!("{error}"));
        let hip = memory.buffer::<u32>(0, len).unwrap();
        Shared { vulkan, memory, hip }
    }

    /// Enqueues `to[i] = from[i] * factor + offset`.
    pub(crate) fn affine(
        &self,
        stream: &Stream,
        (factor, offset): (u32, u32),
        from: &DeviceBuffer<u32>,
        to: &mut DeviceBuffer<u32>,
    ) {
        let (function, n) = (self.function("affine"), from.len().min(to.len()));
        let launch = function.launch(stream).elements(n, 128);
        let launch = launch.arg(n as u32).arg(factor).arg(offset).arg(from).arg(to);
        // SAFETY: the kernel reads n elements of one buffer and writes as many of the other.
        unsafe { launch.enqueue().unwrap_or_else(|error| panic!("{error}")) };
    }
}

/// Distinct numbers that use all their bits.
pub(crate) fn numbers(len: usize) -> Vec<u32> {
    (0..len as u32).map(|index| index.wrapping_mul(2_654_435_761).wrapping_add(12_345)).collect()
}

/// The result of `affine` for a number.
pub(crate) fn affine(value: u32, (factor, offset): (u32, u32)) -> u32 {
    value.wrapping_mul(factor).wrapping_add(offset)
}

/// The factor and offset of Vulkan's shaders.
pub(crate) const SHADER: (u32, u32) = (3, 1);

/// The failed function and code of a HIP call.
pub(crate) fn refusal<T>(result: hip::Result<T>) -> Option<(&'static str, &'static str)> {
    match result {
        Err(error @ Error::Hip { operation, .. }) => Some((operation, error.code_name().unwrap_or("?"))),
        _ => None,
    }
}
