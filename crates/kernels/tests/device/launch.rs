//! Kernels by name, as launched by engines that do their own checking.

use hip::Error;
use kernels::{KernelHandle, block_size, launch_1d, launch_2d, modules};

use crate::common::Bench;
use crate::record::assert_exact;

static FILL: KernelHandle = KernelHandle::new("fill_u32", &modules::FILL);
static COPY: KernelHandle = KernelHandle::new("copy2d_f32", &modules::FILL);
static NONE: KernelHandle = KernelHandle::new("no_such_kernel", &modules::FILL);

#[test]
fn names_lead_to_kernels() {
    let bench = Bench::open();
    let by_name = bench.kernels.get_or_load_func("fill_u32", &modules::FILL).unwrap();
    assert!(std::ptr::eq(by_name, FILL.get(&bench.kernels).unwrap()));
    assert!(std::ptr::eq(by_name, FILL.get(&bench.kernels).unwrap()), "the second time");
    assert!(matches!(NONE.get(&bench.kernels), Err(Error::KernelNotFound { .. })));
    assert!(bench.kernels.get_or_load_func("fill_u32", &modules::UNARY).is_err(), "another module");
}

#[test]
fn a_handle_knows_devices_apart() {
    // Any number of virtual devices, of a target that has code.
    let target = Bench::open().kernels.device().target().processor.clone();
    let devices = [2, 3].map(|units| hip::Device::open(format!("vgpu:{target}?cus={units}")).unwrap());
    assert_ne!(devices[0], devices[1]);
    for device in devices.iter().chain(&devices) {
        let kernels = kernels::Kernels::new(device);
        assert_eq!(FILL.get(&kernels).unwrap().device(), device);
    }
}

#[test]
fn each_element_has_a_work_item() {
    let bench = Bench::open();
    let device = bench.kernels.device();
    let wave = device.properties().wave_size;
    assert!(block_size(device, 1) == wave && block_size(device, usize::MAX).is_multiple_of(wave));
    for size in [1, 63, 64, 1000] {
        let mut out = bench.zeroed::<u32>(size + 1);
        let launch = launch_1d(FILL.get(&bench.kernels).unwrap(), &bench.stream, size);
        // SAFETY: it writes `size` elements, and there is one more.
        unsafe { launch.arg(&mut out).arg(7_u32).arg(size as u64).enqueue().unwrap() };
        let mut expected = vec![7; size];
        expected.push(0);
        assert_exact!(bench.download(&out), expected);
    }
    let (rows, columns) = (5_usize, 70_usize);
    let from: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
    let (source, mut out) = (bench.upload(&from), bench.zeroed::<f32>(rows * columns));
    let launch = launch_2d(COPY.get(&bench.kernels).unwrap(), &bench.stream, rows, columns);
    let launch = launch.arg(&source).arg(&mut out).arg(rows as u32).arg(columns as u32);
    // SAFETY: both matrices have that many rows and columns, one after the other.
    unsafe { launch.arg(columns as u32).arg(columns as u32).enqueue().unwrap() };
    assert_exact!(bench.download(&out), from);
}
