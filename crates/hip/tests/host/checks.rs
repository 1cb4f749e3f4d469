//! The virtual GPU's check for uninitialised values sees copies and fills, even those that the host does
//! directly.

use hip::{Device, DeviceBuffer};

use crate::common;

/// Control flow depends on every number.
const COUNT: &str = r#"
extern "C" __global__ void count(const unsigned long* x, unsigned* zeros) {
    if (x[threadIdx.x] == 0) atomicAdd(zeros, 1u);
}
"#;

#[test]
fn what_the_host_copies_and_fills_is_written() {
    common::check_leaks();
    let device = Device::open("vgpu:gfx1100?check=uninitialised").unwrap();
    let stream = device.stream().unwrap();
    let (_folder, compiler) = common::compiler();
    let module = compiler.compile(&COUNT.into(), device.target()).unwrap().load(&device).unwrap();
    let kernel = module.function("count").unwrap();
    let count = |numbers: &DeviceBuffer<u64>| {
        let mut zeros = DeviceBuffer::<u32>::zeroed(&stream, 1)?;
        let launch = kernel.launch(&stream).grid(1).block(numbers.len() as u32).arg(numbers).arg(&mut zeros);
        // SAFETY: the kernel reads one number for each work-item, and adds to one.
        unsafe { launch.enqueue()? };
        zeros.to_vec(&stream)
    };
    // Most bytes of both are zero, like bytes of unwritten memory.
    let copied = DeviceBuffer::from_slice(&stream, &[0, 1, 0, 2, 0, 0, 3, 0_u64]).unwrap();
    assert_eq!(count(&copied).unwrap(), [5]);
    let filled = DeviceBuffer::zeroed(&stream, 8).unwrap();
    assert_eq!(count(&filled).unwrap(), [8]);
    // The check still works.
    let unwritten = DeviceBuffer::uninit(&device, 8).unwrap();
    let error = count(&unwritten).unwrap_err().to_string();
    assert!(error.contains("a value that nobody wrote"), "{error}");
}
