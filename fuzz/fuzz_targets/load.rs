//! Any bytes as a code object for a virtual GPU: it is loaded, and its kernels are started, or it is refused. The first byte
//! chooses the device; bytes that do not begin an ELF file change a valid one, three for each change.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use vgpu::DeviceConfig;
use vgpu::machine::{Dispatch, Machine};

#[path = "../../crates/code-object/tests/support/mod.rs"]
mod synthetic;

const DEVICES: [&str; 5] = ["gfx1100", "gfx90a", "gfx942", "gfx1030", "gfx1201"];

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let config: DeviceConfig = DEVICES[usize::from(first) % DEVICES.len()].parse().expect("a target");
    let machine = Machine::global();
    // One device of each kind is enough for ever.
    let known = machine.devices().into_iter().find(|device| device.target().name == config.target.processor);
    let device = known.unwrap_or_else(|| {
        let index = machine.attach(&config).expect("a device");
        machine.device(index).expect("the device")
    });
    let file = if rest.starts_with(b"\x7fELF") {
        rest.to_vec()
    } else {
        let mut file = synthetic::Synthetic::default().build();
        for change in rest.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
            file[at] = change[2];
        }
        file
    };
    let Ok(code) = device.load(&file, &mut |name| (name.len() % 2 == 0).then_some(0x1000)) else { return };
    for kernel in code.object().kernels() {
        let Some(kernel_object) = code.kernel_object(&kernel.name) else { continue };
        let workgroup = kernel.required_workgroup_size.unwrap_or([64, 1, 1]);
        let dispatch = Dispatch {
            kernel_object,
            grid: workgroup,
            workgroup,
            group_segment_size: kernel.group_segment_size,
            private_segment_size: kernel.private_segment_size,
            timeout: Some(Duration::from_millis(20)),
            ..Dispatch::default()
        };
        // SAFETY: nothing on the host refers to memory that the machine knows.
        let result = unsafe { device.dispatch(&dispatch) };
        if let Err(error) = result {
            assert!(!error.to_string().is_empty());
        }
    }
});
