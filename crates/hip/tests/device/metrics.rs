//! Kernels with counters, compared with counts by hand.

use hip::code_object::metrics::{Access, Counts, Space};
use hip::{Device, DeviceBuffer, Error, Module};

use crate::common;

fn module(device: &Device) -> Module {
    let code = common::code("metrics", "count.cu", &device.target().processor, true);
    Module::load(device, &code).unwrap()
}

fn of<'a>(all: &'a [Counts], name: &str) -> &'a Counts {
    all.iter().find(|counts| counts.name.contains(name)).unwrap_or_else(|| panic!("no {name} in {all:?}"))
}

/// Bytes loaded from or stored to global memory, whether the compiler knows the address space or not: the
/// kernels use no other memory through generic pointers.
fn global(counts: &Counts, access: Access) -> u64 {
    counts.bytes(Space::Global, access) + counts.bytes(Space::Flat, access)
}

#[test]
fn kernels_count_work_items_waves_and_bytes() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = module(&device);
    let fresh = module.metrics(&stream).unwrap();
    assert!(fresh.iter().all(|counts| counts.work_items == 0 && counts.bytes.is_empty()), "{fresh:?}");

    let (n, threads) = (1000_usize, 1024_u64);
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n]).unwrap();
    let mut y = DeviceBuffer::from_slice(&stream, &vec![0.5_f32; n]).unwrap();
    let saxpy = module.function("saxpy").unwrap();
    for _ in 0..3 {
        let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(2.0_f32).arg(&x).arg(&mut y);
        // SAFETY: the kernel reads x[0..n], and reads and writes y[0..n].
        unsafe { launch.enqueue().unwrap() };
    }
    // Counting does not change results.
    assert!(y.to_vec(&stream).unwrap().iter().all(|y| *y == 6.5));
    let all = module.metrics(&stream).unwrap();
    let counts = of(&all, "saxpy");
    let wave = u64::from(device.properties().wave_size);
    assert_eq!(counts.work_items, 3 * threads);
    assert_eq!(global(counts, Access::Load), 3 * 4 * 2 * n as u64);
    assert_eq!(global(counts, Access::Store), 3 * 4 * n as u64);
    // Every work-item writes its element of LDS, and reads its neighbour's if that is in range.
    assert_eq!(counts.bytes(Space::Lds, Access::Store), 3 * 4 * threads);
    assert_eq!(counts.bytes(Space::Lds, Access::Load), 3 * 4 * n as u64);
    let waves = counts.waves.unwrap();
    assert_eq!(waves.count, 3 * threads / wave);
    assert!(waves.cycles.is_none_or(|cycles| cycles >= waves.count), "{waves:?}");
    assert_eq!(of(&all, "triangle").work_items, 0);

    module.reset_metrics(&stream).unwrap();
    assert_eq!(module.metrics(&stream).unwrap(), fresh);
}

#[test]
fn loops_calls_and_early_ends_count_as_often_as_they_happen() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = module(&device);
    let n = 100_usize;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; 4 * n]).unwrap();
    let z = DeviceBuffer::from_slice(&stream, &vec![3.0_f32; n]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, n).unwrap();
    let mut sum = DeviceBuffer::<f64>::zeroed(&stream, 1).unwrap();
    let triangle = module.function("triangle").unwrap();
    let launch =
        triangle.launch(&stream).elements(n, 64).arg(n as u32).arg(&x).arg(&z).arg(&mut y).arg(&mut sum);
    // SAFETY: the kernel reads n vectors of x and z[0..n], writes y[0..n] and adds to one sum.
    unsafe { launch.enqueue().unwrap() };
    let expected: Vec<f32> = (0..n).map(|i| 4.0 * (i + 1) as f32 + 9.0).collect();
    assert_eq!(y.to_vec(&stream).unwrap(), expected);
    assert_eq!(sum.to_vec(&stream).unwrap(), [n as f64]);

    let all = module.metrics(&stream).unwrap();
    let (counts, called) = (of(&all, "triangle"), of(&all, "squared"));
    let n = n as u64;
    assert_eq!((counts.work_items, called.work_items), (128, n));
    assert_eq!((called.waves, global(called, Access::Load)), (None, 4 * n));
    // Sixteen bytes for each step of each loop.
    assert_eq!(global(counts, Access::Load), 16 * n * (n + 1) / 2);
    assert_eq!(global(counts, Access::Store), 4 * n);
    assert_eq!(global(counts, Access::Atomic), 8 * n);
    assert_eq!(counts.waves.map(|waves| waves.count), Some(128 / u64::from(device.properties().wave_size)));
}

#[test]
fn code_that_does_not_count_says_what_to_do() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = common::module(&device);
    for error in [module.metrics(&stream).unwrap_err(), module.reset_metrics(&stream).unwrap_err()] {
        assert!(matches!(error, Error::NoMetrics { .. }), "{error}");
        assert!(error.to_string().contains("Builder::metrics"), "{error}");
    }
}
