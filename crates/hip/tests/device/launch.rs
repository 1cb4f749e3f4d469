//! Launches on a device, right and wrong ones.

use hip::{Device, DeviceAddress, DeviceBuffer, Error, Launch, LaunchConfig, LaunchError, Module};
use test_skip::{Lack, skip};

use crate::common;

/// Enqueues a launch of one of the test kernels.
fn run(launch: Launch<'_>) -> hip::Result<()> {
    // SAFETY: every test passes as many elements as its kernel accesses.
    unsafe { launch.enqueue() }
}

fn refused(launch: Launch<'_>) -> LaunchError {
    match run(launch) {
        Err(Error::Launch(error)) => *error,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn saxpy_is_right_at_every_size() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let saxpy = common::module(&device).function("saxpy").unwrap();
    for n in [1, 31, 64, 65, 1000, 100_000_usize] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let x = DeviceBuffer::from_slice(&stream, &x).unwrap();
        let mut y = DeviceBuffer::uninit(&device, n).unwrap();
        y.fill(&stream, 0.5).unwrap();
        run(saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(2.0_f32).arg(&x).arg(&mut y)).unwrap();
        let y = y.to_vec(&stream).unwrap();
        assert!(y.iter().enumerate().all(|(i, y)| *y == 2.0 * i as f32 + 0.5), "{n}");
    }
}

#[test]
fn values_of_every_size_arrive() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Pair {
        first: f32,
        second: [u16; 2],
    }
    // SAFETY: four, two and two bytes of numbers, with no padding between or after them.
    unsafe impl hip::DeviceCopy for Pair {}
    let device = common::device();
    let stream = device.stream().unwrap();
    let mixed = common::module(&device).function("mixed").unwrap();
    let mut out = DeviceBuffer::<f64>::zeroed(&stream, 7).unwrap();
    let pair = Pair { first: 1.5, second: [7, 65535] };
    let launch = mixed.launch(&stream).grid(1).block(1);
    let launch = launch.arg(-3_i8).arg(0.1_f64).arg(9_u16).arg(pair).arg(1_u64 << 40).arg(&mut out);
    run(launch).unwrap();
    assert_eq!(out.to_vec(&stream).unwrap(), [-3.0, 0.1, 9.0, 1.5, 7.0, 65535.0, (1_u64 << 40) as f64]);
}

#[test]
fn grids_and_blocks_of_three_dimensions_cover_everything_once() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let places = common::module(&device).function("places").unwrap();
    let (grid, block) = ((3, 2, 4), (5, 3, 2));
    let mut out = DeviceBuffer::uninit(&device, 24 * 30).unwrap();
    out.fill(&stream, u32::MAX).unwrap();
    run(places.launch(&stream).config(LaunchConfig::new(grid, block)).arg(&mut out)).unwrap();
    let out = out.to_vec(&stream).unwrap();
    assert!(out.iter().enumerate().all(|(i, place)| *place as usize == i / 30 * 1000 + i % 30), "{out:?}");
}

#[test]
fn dynamic_lds_is_there() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let reverse = common::module(&device).function("reverse").unwrap();
    let mut data = DeviceBuffer::from_slice(&stream, &(0..256_u32).collect::<Vec<_>>()).unwrap();
    run(reverse.launch(&stream).grid(1).block(256).dynamic_lds(1024).arg(&mut data)).unwrap();
    assert!(data.to_vec(&stream).unwrap().into_iter().eq((0..256).rev()));
}

#[test]
fn a_prepared_launch_runs_again_and_takes_new_arguments() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = common::module(&device);
    let saxpy = module.function("saxpy").unwrap();
    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32; 64]).unwrap();
    let other = DeviceBuffer::from_slice(&stream, &[100.0_f32; 64]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    let launch = saxpy.launch(&stream).elements(64, 64).arg(64_u32).arg(1.0_f32).arg(&x).arg(&mut y);
    let mut prepared = launch.prepare().unwrap();
    for _ in 0..3 {
        // SAFETY: all buffers have 64 elements.
        unsafe { prepared.enqueue().unwrap() };
    }
    prepared.set(1, 2.0_f32).unwrap();
    prepared.set(2, &other).unwrap();
    assert!(matches!(prepared.set(1, 2.0_f64), Err(Error::Launch(_))));
    assert!(matches!(prepared.set(4, 2.0_f32), Err(Error::Launch(_))));
    // SAFETY: as above.
    unsafe { prepared.enqueue().unwrap() };
    assert_eq!(y.to_vec(&stream).unwrap(), [203.0; 64]);
}

#[test]
fn a_buffer_orders_the_streams_that_use_it() {
    let device = common::device();
    let streams = [device.stream().unwrap(), device.stream().unwrap()];
    let module = common::module(&device);
    let (slow, add_one) = (module.function("slow").unwrap(), module.function("add_one").unwrap());
    let mut data = DeviceBuffer::<u32>::zeroed(&streams[0], 64).unwrap();
    run(slow.launch(&streams[0]).grid(1).block(64).arg(0_u32).arg(&mut data)).unwrap();
    for round in 0..20 {
        let stream = &streams[round % 2];
        run(add_one.launch(stream).grid(1).block(64).arg(64_u32).arg(&mut data)).unwrap();
    }
    let expected: Vec<u32> = (0..64).map(|i| i + 20).collect();
    assert_eq!(data.to_vec(&device.stream().unwrap()).unwrap(), expected);
}

#[test]
fn functions_outlive_their_module_and_buffers_are_freed_after_their_kernels() {
    let device = common::device();
    let slow = {
        let module = common::module(&device);
        module.function("slow").unwrap()
    };
    for _ in 0..5 {
        let stream = device.stream().unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
        run(slow.launch(&stream).grid(1).block(64).arg(2000_u32).arg(&mut data)).unwrap();
        // The buffer, then the stream, are dropped while the kernel may still run.
    }
    device.synchronize().unwrap();
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn metadata_describes_the_kernel() {
    let device = common::device();
    let module = common::module(&device);
    let saxpy = module.function("saxpy").unwrap();
    let sizes: Vec<u32> = saxpy.parameters().iter().map(|parameter| parameter.size).collect();
    assert_eq!(sizes, [4, 4, 8, 8]);
    assert_eq!(module.function("much_lds").unwrap().attributes().lds, 49152);
    assert_eq!(module.function("small_blocks").unwrap().attributes().max_block_threads, 64);
    assert!(saxpy.attributes().vgprs > 0);
    assert!(module.kernels().any(|name| name == "saxpy"));
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let saxpy = common::module(&device).function("saxpy").unwrap();
    let x = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let start = || saxpy.launch(&stream).grid(1).block(1);
    let null = DeviceAddress::NULL;

    let error = refused(start().arg(1_u32));
    assert!(matches!(error, LaunchError::ArgumentCount { expected: 4, got: 1, .. }), "{error}");
    let error = refused(start().arg(1_u32).arg(1_f32).arg(null).arg(null).arg(null));
    assert!(matches!(error, LaunchError::ArgumentCount { expected: 4, got: 5, .. }), "{error}");
    let error = refused(start().arg(1_u32).arg(1_f64).arg(null).arg(null));
    assert!(
        matches!(&error, LaunchError::ArgumentSize { argument, expected: 4, got: 8, .. } if argument.index == 1)
    );
    assert!(error.to_string().contains("saxpy") && error.to_string().contains("f64"), "{error}");
    let error = refused(start().arg(1_u32).arg(1_f32).arg(&x).arg(7_u64));
    assert!(matches!(&error, LaunchError::ArgumentKind { argument, .. } if argument.index == 3), "{error}");
    let error = refused(start().arg(&x).arg(1_f32).arg(&x).arg(null));
    assert!(matches!(&error, LaunchError::ArgumentKind { argument, .. } if argument.index == 0), "{error}");
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = common::module(&device);
    let (nothing, much_lds) = (module.function("nothing").unwrap(), module.function("much_lds").unwrap());
    let small_blocks = module.function("small_blocks").unwrap();
    let limit = device.properties().max_block_threads;
    let lds = device.properties().lds_per_block;
    let null = DeviceAddress::NULL;

    let error = refused(nothing.launch(&stream));
    assert!(matches!(error, LaunchError::MissingSize { what: "grid", .. }), "{error}");
    for launch in [nothing.launch(&stream).grid(0).block(1), nothing.launch(&stream).elements(0, 256)] {
        let error = refused(launch);
        assert!(matches!(error, LaunchError::ZeroSize { what: "grid", .. }), "{error}");
    }
    let error = refused(nothing.launch(&stream).grid(1).block((1, 0, 1)));
    assert!(matches!(error, LaunchError::ZeroSize { what: "block", .. }), "{error}");
    let error = refused(nothing.launch(&stream).grid(1).block(limit + 1));
    assert!(matches!(error, LaunchError::BlockTooLarge { .. }), "{error}");
    let error = refused(small_blocks.launch(&stream).grid(1).block(65).arg(null));
    assert!(
        matches!(error, LaunchError::BlockTooLarge { limit: 64, limited_by: "the kernel", .. }),
        "{error}"
    );
    let error = refused(nothing.launch(&stream).grid([u32::MAX; 3]).block(2));
    assert!(matches!(error, LaunchError::GridTooLarge { .. } | LaunchError::GridOverflow { .. }), "{error}");
    let error = refused(much_lds.launch(&stream).grid(1).block(64).dynamic_lds(lds).arg(null));
    assert!(
        matches!(error, LaunchError::LdsTooLarge { fixed: 49152, dynamic, .. } if dynamic == lds),
        "{error}"
    );

    // Refused launches left the stream unchanged.
    run(nothing.launch(&stream).grid(2).block(limit)).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn blocks_of_a_cooperative_launch_run_at_once() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = common::module(&device);
    let sum = module.function("sum_of_blocks").unwrap();
    let fit = sum.max_active_blocks(64, 0).unwrap() * device.properties().compute_units;
    let mut values = DeviceBuffer::<u32>::zeroed(&stream, fit as usize + 1).unwrap();
    let mut sums = DeviceBuffer::<u32>::zeroed(&stream, fit as usize + 1).unwrap();

    let blocks = fit.min(40);
    let launch = sum.launch(&stream).grid(blocks).block(64).cooperative().arg(&mut values).arg(&mut sums);
    let mut prepared = launch.prepare().unwrap();
    assert!(prepared.config().cooperative);
    for _ in 0..2 {
        // SAFETY: the kernel writes one element of both for each block, and reads those of `values`.
        match unsafe { prepared.enqueue() } {
            // Hardware without support for grid synchronisation.
            Err(error) if error.code() == Some(hip::hip_sys::hipError_t::hipErrorNotSupported) => {
                skip(Lack::Device, format_args!("{device} has no cooperative launches"));
                return;
            }
            result => result.unwrap(),
        }
    }
    let all = blocks * (blocks + 1) / 2;
    let expected: Vec<u32> =
        (0..fit as usize + 1).map(|i| if i < blocks as usize { all } else { 0 }).collect();
    assert_eq!(sums.to_vec(&stream).unwrap(), expected);

    let too_many = sum.launch(&stream).grid((fit + 1, 1)).block((32, 2)).cooperative();
    let error = refused(too_many.arg(&mut values).arg(&mut sums));
    assert_eq!(
        error,
        LaunchError::CooperativeTooLarge {
            kernel: "sum_of_blocks".into(),
            blocks: u64::from(fit) + 1,
            fit: fit.into(),
            block: [32, 2, 1],
            dynamic_lds: 0,
        }
    );
    assert!(error.to_string().contains(&format!("the device holds {fit} of them")), "{error}");
}

#[test]
fn code_for_another_target_is_refused_and_says_what_it_is_for() {
    let device = common::device();
    let other = if device.target().processor == "gfx1030" { "gfx1100" } else { "gfx1030" };
    let error = Module::load(&device, &common::compile(other)).unwrap_err();
    assert!(matches!(&error, Error::WrongTarget { available, .. } if available[..] == [other]), "{error}");
    assert!(error.to_string().contains(&device.target().to_string()), "{error}");
}

#[test]
fn embedded_modules_are_chosen_by_target() {
    use hip::code_object::{bundle, embedded};
    let device = common::device();
    let processor: &'static str = device.target().processor.clone().leak();
    let code: &'static [u8] = common::compile(processor).leak();
    let good = embedded::CodeObject { target: processor, bytes: code, hash: "" };
    let other = embedded::CodeObject { target: "gfx803", bytes: &[], hash: "" };
    let module = |code_objects| embedded::Module {
        id: 0,
        name: "test",
        source: "test.cu",
        kernels: &["saxpy"],
        code_objects,
        cuda: &[],
    };
    // Also as one file: no test kernel is for gfx803.
    let ids = ["gfx803", processor].map(|target| format!("hipv4-amdgcn-amd-amdhsa--{target}"));
    let parts = [bundle::Entry { id: &ids[0], bytes: b"none" }, bundle::Entry { id: &ids[1], bytes: code }];
    let packed: &'static [u8] = bundle::compressed(&bundle::bundle(&parts)).unwrap().leak();
    let within = |bytes| {
        module(vec![embedded::CodeObject { bytes, ..other }, embedded::CodeObject { bytes, ..good }].leak())
    };
    for module in [module(vec![other, good].leak()), within(packed)] {
        let loaded = Module::load_embedded(&device, &module).unwrap();
        assert_eq!(loaded.name(), "test");
        assert_eq!(&loaded.code_object().expect("a code object").target().processor, processor);
        loaded.function("saxpy").unwrap();
    }
    let error = Module::load_embedded(&device, &within(&packed[..packed.len() / 2])).unwrap_err();
    assert!(matches!(&error, Error::CodeObject { module, .. } if module == "test"), "{error}");
    let error = Module::load_embedded(&device, &module(vec![other].leak())).unwrap_err();
    assert!(error.to_string().contains("module `test`") && error.to_string().contains("gfx803"), "{error}");
}

#[test]
fn damaged_code_is_refused() {
    let device = common::device();
    let code = common::compile(&device.target().processor);
    for bytes in [&[][..], b"hello", &code[..64], &code[..code.len() / 2]] {
        let error = Module::load(&device, bytes).unwrap_err();
        assert!(matches!(error, Error::CodeObject { .. }), "{} bytes: {error}", bytes.len());
    }
}

#[test]
fn a_missing_kernel_is_named_with_those_like_it() {
    let device = common::device();
    let module = common::module(&device);
    let error = module.function("saxpi").unwrap_err();
    assert!(matches!(&error, Error::KernelNotFound { near, .. } if near[..] == ["saxpy"]), "{error}");
    for name in ["", "nul\0inside", "a kernel nobody wrote"] {
        let error = module.function(name).unwrap_err();
        assert!(matches!(&error, Error::KernelNotFound { near, .. } if near.is_empty()), "{error}");
    }
}

#[test]
fn virtual_devices_have_what_their_uri_says() {
    common::check_leaks();
    let device = Device::open("vgpu:gfx90a?cus=4&memory=2GiB").unwrap();
    let properties = device.properties();
    assert_eq!(properties.target.processor, "gfx90a");
    assert_eq!((properties.wave_size, properties.compute_units, properties.memory), (64, 4, 2 << 30));
    for same in [device.uri().to_string().as_str(), "vgpu:gfx90a:sramecc+:xnack-?memory=2048MiB&cus=4"] {
        assert_eq!(Device::open(same).unwrap(), device);
    }
    let wave32 = Device::open("vgpu:gfx1100").unwrap();
    assert_eq!(Device::open_uri(wave32.uri()).unwrap(), wave32);
    assert_ne!(Device::open("vgpu:gfx1100?cus=5").unwrap(), wave32);
    assert!(device.skipped().is_empty());
    assert!(matches!(Device::open("vgpu:gfx803"), Err(Error::BackendUnavailable { backend: "vgpu", .. })));
    let both = Device::open_all(&"vgpu:gfx1100?count=2&cus=2".parse().unwrap()).unwrap();
    assert_eq!(both.len(), 2);
    assert_ne!(both[0], both[1]);
}

#[test]
fn auto_finds_a_device_and_says_what_it_skipped() {
    common::check_leaks();
    let device = Device::open("auto").unwrap();
    let before = match device.backend() {
        hip::Backend::Amd => 0,
        hip::Backend::Cuda => 1,
        hip::Backend::Virtual => 2,
    };
    assert_eq!(device.skipped().len(), before);
    assert!(device.skipped().iter().all(|skipped| !skipped.reason.is_empty()));
}

#[test]
fn two_devices_do_not_mix() {
    common::check_leaks();
    let (first, second) =
        (Device::open("vgpu:gfx1100").unwrap(), Device::open("vgpu:gfx1100?cus=3").unwrap());
    let stream = first.stream().unwrap();
    let saxpy = common::module(&first).function("saxpy").unwrap();
    let x = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let elsewhere = DeviceBuffer::<f32>::uninit(&second, 4).unwrap();
    let launch = saxpy.launch(&stream).grid(1).block(1).arg(4_u32).arg(1_f32);
    let error = refused(launch.arg(&elsewhere).arg(DeviceAddress::NULL));
    assert!(matches!(&error, LaunchError::OtherDevice { argument, .. } if argument.index == 2), "{error}");
    let stream = second.stream().unwrap();
    let launch =
        saxpy.launch(&stream).grid(1).block(1).arg(4_u32).arg(1_f32).arg(&x).arg(DeviceAddress::NULL);
    let error = refused(launch);
    assert!(matches!(error, LaunchError::OtherStream { .. }), "{error}");
}
