//! Arbitrary bytes as a code object: it is loaded and its kernels are started, or it is refused. The first
//! byte selects the device and the meaning of the others. The fuzz target `load` uses this file too.

use std::time::Duration;

use vgpu::DeviceConfig;
use vgpu::machine::{Dispatch, DispatchError, FaultKind, Machine};

use crate::synthetic::Synthetic;

const DEVICES: [&str; 5] = ["gfx1100", "gfx90a", "gfx942", "gfx1030", "gfx1201"];
/// The target in the flags of the ELF header, for each of them.
const FLAGS: [u32; 5] = [0x41, 0x53f, 0x54c, 0x36, 0x4e];

/// The file that the bytes describe. If the highest bit of the first byte is set, they are a kernel's
/// descriptor in a valid file for the device. Otherwise, if they do not begin an ELF file, they are changes
/// to a valid one, three bytes each.
fn file(which: usize, first: u8, rest: &[u8]) -> Vec<u8> {
    if first & 0x80 != 0 {
        let mut object = Synthetic { flags: FLAGS[which], ..Synthetic::default() };
        object.metadata["amdhsa.target"] = format!("amdgcn-amd-amdhsa--{}", DEVICES[which]).into();
        object.relocations.clear();
        let kernel = object.kernel().as_object_mut().expect("a map");
        kernel.remove(".reqd_workgroup_size");
        if first & 0x40 != 0 {
            // Everything else is valid: the entry is code, and sizes are small.
            object.descriptor[40..].fill(0);
            for (place, &byte) in object.descriptor[40..].iter_mut().zip(rest) {
                *place = byte;
            }
        } else {
            for (place, &byte) in object.descriptor.iter_mut().zip(rest) {
                *place = byte;
            }
        }
        return object.build();
    }
    if rest.starts_with(b"\x7fELF") {
        return rest.to_vec();
    }
    let mut file = Synthetic::default().build();
    for change in rest.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
        file[at] = change[2];
    }
    file
}

/// Loads the object that the bytes describe, and starts its kernels.
pub(crate) fn run(bytes: &[u8]) {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let which = usize::from(first & 0x3f) % DEVICES.len();
    let config: DeviceConfig = DEVICES[which].parse().expect("a target");
    let machine = Machine::global();
    // One device of each kind is enough for the whole process.
    let known = machine.devices().into_iter().find(|device| device.target().name == config.target.processor);
    let device = known.unwrap_or_else(|| {
        let index = machine.attach(&config).expect("a device");
        machine.device(index).expect("the device")
    });
    let file = file(which, first, rest);
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
            if let DispatchError::Fault(fault) = error {
                assert!(!matches!(fault.kind, FaultKind::Internal { .. }), "{fault}");
            }
        }
    }
}
