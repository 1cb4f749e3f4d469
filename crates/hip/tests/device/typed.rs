//! Typed wrappers of kernels on the device under test.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hip::{Device, DeviceAddress, DeviceBuffer, Error, LaunchConfig, LaunchError, Stream};

use crate::common;

hip::kernels! {
    /// Some of the test kernels.
    #[derive(Clone, Debug)]
    struct Test {
        /// `y[i] += a * x[i]` for `i < n`.
        unsafe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
        unsafe fn nothing();
        unsafe fn values(a: i8, b: f64, c: u16, d: [u16; 4], e: u64, out: &mut [f64]) = "mixed";
        unsafe fn reverse(data: DeviceAddress,);
        unsafe fn biased(n: u32, bias: Option<&[f32]>, y: &mut [f32], count: Option<&mut [u32]>);
    }
}

/// Counts allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: forwards everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Fixture {
    device: Device,
    stream: Stream,
    test: Test,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
}

const N: usize = 1000;

fn fixture() -> Fixture {
    let device = common::device();
    let stream = device.stream().unwrap();
    let test = Test::load(&common::module(&device)).unwrap();
    let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let x = DeviceBuffer::from_slice(&stream, &x).unwrap();
    let y = DeviceBuffer::zeroed(&stream, N).unwrap();
    Fixture { device, stream, test, x, y }
}

#[test]
fn kernels_are_called_as_functions() {
    let Fixture { device, stream, test, x, mut y } = fixture();
    let config = LaunchConfig::for_elements(N, 256);
    // SAFETY: both have N elements, and the halves half of them.
    unsafe {
        test.saxpy(&stream, config, N as u32, 2.0, &x, &mut y).unwrap();
        test.nothing(&stream, config).unwrap();
        let half = x.slice(N / 2..).unwrap();
        let mut rest = y.slice_mut(N / 2..).unwrap();
        test.saxpy(&stream, config, N as u32 / 2, 1.0, half, &mut rest).unwrap();
        test.saxpy(&stream, config, N as u32 / 2, 1.0, half, rest).unwrap();
    }
    let expected: Vec<f32> = (0..N).map(|i| i as f32 * if i < N / 2 { 2.0 } else { 4.0 }).collect();
    assert_eq!(y.to_vec(&stream).unwrap(), expected);

    let mut out = DeviceBuffer::<f64>::zeroed(&stream, 7).unwrap();
    let first = 1.5_f32.to_bits();
    let pair = [first as u16, (first >> 16) as u16, 7, 65535];
    // SAFETY: the kernel writes seven elements; the pair's bytes are a float and two numbers.
    unsafe { test.values(&stream, LaunchConfig::new(1, 1), -3, 0.1, 9, pair, 1 << 40, &mut out).unwrap() };
    assert_eq!(out.to_vec(&stream).unwrap(), [-3.0, 0.1, 9.0, 1.5, 7.0, 65535.0, (1_u64 << 40) as f64]);

    let mut data = DeviceBuffer::from_slice(&stream, &[1_u32, 2, 3, 4]).unwrap();
    let config = LaunchConfig { dynamic_lds: 16, ..LaunchConfig::new(1, 4) };
    let address = data.as_mut_slice().address();
    // SAFETY: four work-items reverse four elements.
    unsafe { test.reverse(&stream, config, address).unwrap() };
    assert_eq!(data.to_vec(&stream).unwrap(), [4, 3, 2, 1]);
    assert_eq!(&device, test.clone().saxpy_device());
}

#[test]
fn memory_that_is_not_there_is_a_null_pointer() {
    let Fixture { device, stream, test, x, mut y } = fixture();
    let other = device.stream().unwrap();
    let config = LaunchConfig::for_elements(N, 256);
    let mut count = DeviceBuffer::<u32>::zeroed(&stream, 1).unwrap();
    // SAFETY: all buffers of floats have N elements.
    unsafe {
        test.biased(&stream, config, N as u32, None, &mut y, None).unwrap();
        test.biased(&stream, config, N as u32, Some(x.as_slice()), &mut y, None).unwrap();
        // Ordered after work on another stream that uses the same memory.
        test.biased(&other, config, N as u32, None, &mut y, Some(count.as_mut_slice())).unwrap();
    }
    let expected: Vec<f32> = (0..N).map(|i| i as f32 + 2.0).collect();
    assert_eq!(y.to_vec(&stream).unwrap(), expected);
    assert_eq!(count.to_vec(&stream).unwrap(), [N.next_multiple_of(256) as u32]);
}

impl Test {
    fn saxpy_device(&self) -> &Device {
        self.saxpy.function().device()
    }
}

#[test]
fn calls_are_ordered_among_streams() {
    let Fixture { device, stream, test, mut x, mut y } = fixture();
    let other = device.stream().unwrap();
    let config = LaunchConfig::for_elements(N, 256);
    for round in 0..4 {
        x.fill(&stream, round as f32).unwrap();
        // SAFETY: both have N elements.
        unsafe { test.saxpy(&other, config, N as u32, 1.0, &x, &mut y).unwrap() };
    }
    assert_eq!(y.to_vec(&stream).unwrap(), [6.0; N]);
}

#[test]
fn sizes_and_devices_are_checked_at_each_call() {
    let Fixture { stream, test, x, mut y, .. } = fixture();
    let refused = |result: hip::Result<()>| match result {
        Err(Error::Launch(error)) => *error,
        other => panic!("not refused: {other:?}"),
    };
    // SAFETY: nothing runs.
    let mut call = |config| refused(unsafe { test.saxpy(&stream, config, 0, 0.0, &x, &mut y) });
    assert!(matches!(call(LaunchConfig::new(0, 1)), LaunchError::ZeroSize { .. }));
    assert!(matches!(call(LaunchConfig::new(1, 1 << 20)), LaunchError::BlockTooLarge { .. }));

    let (first, second) =
        (Device::open("vgpu:gfx1100").unwrap(), Device::open("vgpu:gfx1100?cus=3").unwrap());
    let test = Test::load(&common::module(&first)).unwrap();
    let (here, there) = (first.stream().unwrap(), second.stream().unwrap());
    let mut y = DeviceBuffer::<f32>::zeroed(&here, 4).unwrap();
    let x = DeviceBuffer::<f32>::zeroed(&there, 4).unwrap();
    let config = LaunchConfig::new(1, 4);
    // SAFETY: nothing runs.
    unsafe {
        let error = refused(test.saxpy(&here, config, 4, 0.0, &x, &mut y));
        assert!(
            matches!(&error, LaunchError::OtherDevice { argument, .. } if argument.index == 2),
            "{error}"
        );
        let error = refused(test.nothing(&there, config));
        assert!(matches!(error, LaunchError::OtherStream { .. }), "{error}");
    }
}

#[test]
fn a_signature_that_does_not_fit_is_refused_when_it_is_loaded() {
    mod wrong {
        hip::kernels! {
            #[derive(Debug)]
            pub(super) struct Size { unsafe fn saxpy(n: u64, a: f32, x: &[f32], y: &mut [f32]); }
        }
        hip::kernels! {
            #[derive(Debug)]
            pub(super) struct Kind { unsafe fn saxpy(n: u32, a: f32, x: f64, y: &mut [f32]); }
        }
        hip::kernels! {
            #[derive(Debug)]
            pub(super) struct Count { unsafe fn saxpy(n: u32, a: f32, x: &[f32]); }
        }
        hip::kernels! {
            #[derive(Debug)]
            pub(super) struct Value { unsafe fn saxpy(n: Option<&[f32]>, a: f32, x: &[f32], y: &mut [f32]); }
        }
        hip::kernels! {
            #[derive(Debug)]
            pub(super) struct Name { unsafe fn saxpi(); }
        }
    }
    let module = common::module(&common::device());
    let launch = |error| match error {
        Error::Launch(error) => *error,
        other => panic!("{other}"),
    };
    let error = launch(wrong::Size::load(&module).unwrap_err());
    assert!(
        matches!(&error, LaunchError::ArgumentSize { kernel, argument, expected: 4, got: 8, .. }
            if kernel == "saxpy" && argument.index == 0 && argument.name.as_deref() == Some("n")),
        "{error}"
    );
    let error = launch(wrong::Kind::load(&module).unwrap_err());
    assert!(matches!(&error, LaunchError::ArgumentKind { argument, .. } if argument.index == 2), "{error}");
    let error = launch(wrong::Value::load(&module).unwrap_err());
    assert!(matches!(&error, LaunchError::ArgumentKind { argument, .. } if argument.index == 0), "{error}");
    let error = launch(wrong::Count::load(&module).unwrap_err());
    assert!(matches!(error, LaunchError::ArgumentCount { expected: 4, got: 3, .. }), "{error}");
    let error = wrong::Name::load(&module).unwrap_err();
    assert!(matches!(&error, Error::KernelNotFound { near, .. } if near[..] == ["saxpy"]), "{error}");
}

#[test]
fn neither_calls_nor_prepared_launches_allocate() {
    let Fixture { device, stream, test, x, mut y } = fixture();
    let config = LaunchConfig::for_elements(N, 256);
    let saxpy = common::module(&device).function("saxpy").unwrap();
    let count = |work: &mut dyn FnMut()| {
        // The first calls fill the caches.
        work();
        stream.synchronize().unwrap();
        let before = ALLOCATIONS.get();
        (0..20).for_each(|_| work());
        ALLOCATIONS.get() - before
    };
    // SAFETY: both have N elements.
    let calls = count(&mut || unsafe { test.saxpy(&stream, config, N as u32, 1.0, &x, &mut y).unwrap() });
    let launch = saxpy.launch(&stream).config(config).arg(N as u32).arg(1.0_f32).arg(&x).arg(&mut y);
    let mut prepared = launch.prepare().unwrap();
    // SAFETY: as above.
    let launches = count(&mut || unsafe { prepared.enqueue().unwrap() });
    assert_eq!((calls, launches), (0, 0));
    let before = ALLOCATIONS.get();
    drop(vec![1_u8]);
    assert_eq!(ALLOCATIONS.get() - before, 1, "allocations are counted");
}
