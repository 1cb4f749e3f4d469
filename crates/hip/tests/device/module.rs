//! Modules and functions on the device under test: sources of code, resources of kernels, and occupancy.

use std::sync::Barrier;
use std::sync::atomic::Ordering;

use hip::code_object::embedded;
use hip::hip_sys::{hipError_t, hipFunction_attribute};
use hip::{Backend, DeviceAddress, Error, LaunchError, LazyModule, Module};

use crate::common;

/// The test kernels, as a build script embeds them, for the device's processor and another one.
fn embedded(device: &hip::Device) -> &'static embedded::Module {
    let processor: &'static str = device.target().processor.clone().leak();
    let code: &'static [u8] = common::compile(processor).leak();
    let loaded = Module::load(device, code).unwrap();
    let mut kernels: Vec<&'static str> = loaded.kernels().map(|name| &*name.to_owned().leak()).collect();
    kernels.sort_unstable();
    let other = embedded::CodeObject { target: "gfx803", bytes: &[], hash: "" };
    let (code_objects, cuda) = match device.backend() {
        Backend::Cuda => {
            let image = embedded::CudaImage {
                arch: processor,
                kind: embedded::CudaKind::Cubin,
                bytes: code,
                hash: "",
            };
            (vec![other], vec![image])
        }
        _ => (vec![other, embedded::CodeObject { target: processor, bytes: code, hash: "" }], Vec::new()),
    };
    Box::leak(Box::new(embedded::Module {
        id: 0,
        name: "test",
        source: "test.cu",
        kernels: kernels.leak(),
        code_objects: code_objects.leak(),
        cuda: cuda.leak(),
    }))
}

#[test]
fn a_file_is_loaded_and_named() {
    let device = common::device();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.hsaco");
    std::fs::write(&path, common::compile(&device.target().processor)).unwrap();
    let module = Module::load_file(&device, &path).unwrap();
    assert_eq!(module.name(), path.to_str().unwrap());
    module.function("saxpy").unwrap();

    let missing = folder.path().join("no such file");
    let error = Module::load_file(&device, &missing).unwrap_err();
    assert!(matches!(&error, Error::File { path, .. } if *path == missing), "{error}");
    assert!(error.to_string().contains("no such file"), "{error}");
    std::fs::write(&path, b"hello").unwrap();
    let error = Module::load_file(&device, &path).unwrap_err();
    assert!(matches!(&error, Error::CodeObject { module, .. } if module.ends_with("test.hsaco")), "{error}");
}

/// An offload bundle as clang-offload-bundler writes it.
fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut head = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    head.extend((entries.len() as u64).to_le_bytes());
    let mut body = Vec::new();
    // The code begins at a page, as in clang's bundles.
    for (id, code) in entries {
        body.resize(body.len().next_multiple_of(4096), 0);
        for word in [4096 + body.len(), code.len(), id.len()] {
            head.extend((word as u64).to_le_bytes());
        }
        head.extend(id.as_bytes());
        body.extend(*code);
    }
    head.resize(4096, 0);
    head.extend(body);
    head
}

/// A compressed bundle of version 2 around packed bytes: 0 for zlib, 1 for Zstandard.
fn compressed(method: u16, packed: &[u8], length: usize) -> Vec<u8> {
    let mut file = b"CCOB".to_vec();
    file.extend(2_u16.to_le_bytes());
    file.extend(method.to_le_bytes());
    file.extend((24 + packed.len() as u32).to_le_bytes());
    file.extend((length as u32).to_le_bytes());
    file.extend([0; 8]);
    file.extend(packed);
    file
}

/// zlib's format with stored blocks (RFC 1950, 1951).
fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(65535).peekable();
    while let Some(block) = blocks.next() {
        out.push(u8::from(blocks.peek().is_none()));
        out.extend((block.len() as u16).to_le_bytes());
        out.extend((!(block.len() as u16)).to_le_bytes());
        out.extend(block);
    }
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    });
    out.extend((b << 16 | a).to_be_bytes());
    out
}

/// Zstandard's format with raw blocks (RFC 8878): one segment, its size in four bytes, no checksum.
fn zstandard(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    out.extend((bytes.len() as u32).to_le_bytes());
    let mut blocks = bytes.chunks(100_000).peekable();
    while let Some(block) = blocks.next() {
        let header = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        out.extend(&header.to_le_bytes()[..3]);
        out.extend(block);
    }
    out
}

#[test]
fn bundles_are_loaded_compressed_or_not() {
    let device = common::device();
    let processor = &device.target().processor;
    let (code, id) = (common::compile(processor), format!("hipv4-amdgcn-amd-amdhsa--{processor}"));
    let other = "hipv4-amdgcn-amd-amdhsa--gfx803";
    let host = ("host-x86_64-unknown-linux-gnu-", &b""[..]);
    let plain = bundle(&[host, (other, b"no code"), (&id, &code)]);
    let packed = [compressed(0, &zlib(&plain), plain.len()), compressed(1, &zstandard(&plain), plain.len())];
    for bytes in std::iter::once(&plain).chain(&packed) {
        let module = Module::load(&device, bytes).unwrap();
        assert_eq!(&module.code_object().expect("a code object").target().processor, processor);
        module.function("saxpy").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.hipfb");
    std::fs::write(&path, &packed[1]).unwrap();
    Module::load_file(&device, &path).unwrap().function("saxpy").unwrap();

    let foreign = bundle(&[host, (other, b"no code")]);
    let error = Module::load(&device, &foreign).unwrap_err();
    assert!(matches!(&error, Error::WrongTarget { available, .. } if available[..] == ["gfx803"]), "{error}");
    for damaged in [&plain[..5000], &packed[0][..1000], &packed[1][..1000]] {
        let error = Module::load(&device, damaged).unwrap_err();
        assert!(matches!(error, Error::CodeObject { .. }), "{error}");
    }
}

#[test]
fn a_function_says_what_it_needs() {
    let device = common::device();
    let module = common::module(&device);
    let (lds, small) = (module.function("much_lds").unwrap(), module.function("small_blocks").unwrap());
    let attributes = lds.attributes();
    assert_eq!((attributes.lds, attributes.scratch, attributes.dynamic_stack), (49152, 0, false));
    assert!(attributes.vgprs > 0 && attributes.argument_bytes >= 8);
    assert!([32, 64].contains(&attributes.wave_size));
    assert_eq!(small.attributes().max_block_threads, 64);
    // HIP reads it from the same code object.
    type A = hipFunction_attribute;
    assert_eq!(lds.attribute(A::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES).unwrap(), 49152);
    assert_eq!(small.attribute(A::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK).unwrap(), 64);
    let error = small.attribute(hipFunction_attribute(1000)).unwrap_err();
    assert_eq!(error.code(), Some(hipError_t::hipErrorInvalidValue));
}

#[test]
fn dynamic_lds_can_be_limited() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = common::module(&device);
    let (reverse, again) = (module.function("reverse").unwrap(), module.function("reverse").unwrap());
    let all = device.properties().lds_per_block;
    assert_eq!(reverse.max_dynamic_lds(), all);
    assert_eq!(module.function("much_lds").unwrap().max_dynamic_lds(), all - 49152);
    reverse.set_max_dynamic_lds(1024).unwrap();
    reverse.set_lds_carveout(Some(50)).unwrap();
    reverse.set_lds_carveout(None).unwrap();
    // Handles of one kernel share the limit.
    assert_eq!(again.max_dynamic_lds(), 1024);
    let launch = |bytes| {
        let launch = again.launch(&stream).grid(1).block(1).dynamic_lds(bytes).arg(DeviceAddress::NULL);
        launch.prepare().map(drop)
    };
    launch(1024).unwrap();
    match launch(1025).unwrap_err() {
        Error::Launch(error) => {
            assert!(matches!(*error, LaunchError::DynamicLdsTooLarge { dynamic: 1025, limit: 1024, .. }));
        }
        other => panic!("{other}"),
    }
    let error = reverse.set_max_dynamic_lds(all + 1).unwrap_err();
    assert!(matches!(&error, Error::Launch(error) if matches!(**error, LaunchError::LdsTooLarge { .. })));
    reverse.set_max_dynamic_lds(all).unwrap();
    launch(all).unwrap();
}

#[test]
fn occupancy_follows_from_what_a_kernel_needs() {
    let device = common::device();
    let module = common::module(&device);
    let (nothing, much_lds) = (module.function("nothing").unwrap(), module.function("much_lds").unwrap());
    let properties = device.properties();
    let (threads, unit) = (properties.threads_per_compute_unit, properties.lds_per_compute_unit);

    // A kernel without resources fills the compute unit with work-items, or reaches the limit of blocks.
    let full = nothing.max_active_blocks(256, 0).unwrap();
    assert!(full >= 1 && full * 256 <= threads, "{full} of {threads}");
    // LDS limits the number of blocks.
    let lds = much_lds.max_active_blocks(64, 0).unwrap();
    assert!(lds >= 1 && lds as usize * 49152 <= unit.max(65536) * 2, "{lds}");
    assert!(nothing.max_active_blocks(64, 32768).unwrap() < nothing.max_active_blocks(64, 0).unwrap());
    let most = properties.lds_per_block;
    assert_eq!(much_lds.max_active_blocks(64, most).unwrap(), 0, "does not fit at all");
    assert_eq!(nothing.max_active_blocks(properties.max_block_threads + 1, 0).unwrap(), 0);
    let error = nothing.max_active_blocks(0, 0).unwrap_err();
    assert_eq!(error.code(), Some(hipError_t::hipErrorInvalidValue));

    let best = nothing.suggest_block(0, None).unwrap();
    assert!(best.block >= properties.wave_size && best.block <= properties.max_block_threads, "{best:?}");
    let per_unit = nothing.max_active_blocks(best.block, 0).unwrap();
    assert_eq!(best.grid, per_unit * properties.compute_units);
    let limited = nothing.suggest_block(0, Some(properties.wave_size)).unwrap();
    assert_eq!(limited.block, properties.wave_size);
    assert_eq!(module.function("small_blocks").unwrap().suggest_block(0, None).unwrap().block, 64);
}

#[test]
fn a_lazy_module_is_loaded_once_on_each_device() {
    let device = common::device();
    let lazy = LazyModule::new(embedded(&device));
    assert!(format!("{lazy:?}").contains("loaded: []"));
    let barrier = Barrier::new(4);
    let found: Vec<_> = std::thread::scope(|scope| {
        let look = || {
            barrier.wait();
            (lazy.module(&device).unwrap(), lazy.function(&device, "saxpy").unwrap())
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(look)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (module, function) in &found {
        assert!(std::ptr::eq(*module, found[0].0) && std::ptr::eq(*function, found[0].1));
        assert_eq!(function.name(), "saxpy");
    }
    let error = lazy.function(&device, "saxpi").unwrap_err();
    assert!(matches!(&error, Error::KernelNotFound { near, .. } if near[..] == ["saxpy"]), "{error}");
}

#[test]
fn a_lazy_module_keeps_devices_apart() {
    let (first, second) =
        (hip::Device::open("vgpu:gfx1100").unwrap(), hip::Device::open("vgpu:gfx1100?cus=3").unwrap());
    let lazy = LazyModule::new(embedded(&first));
    for device in [&first, &second, &first] {
        assert_eq!(lazy.module(device).unwrap().device(), device);
        assert_eq!(lazy.function(device, "nothing").unwrap().device(), device);
    }
    let other = hip::Device::open("vgpu:gfx90a").unwrap();
    let error = lazy.module(&other).unwrap_err();
    assert!(
        matches!(&error, Error::WrongTarget { available, .. } if available[..] == ["gfx803", "gfx1100"]),
        "{error}"
    );
}

#[test]
fn variables_of_modules_are_read_and_written() {
    let device = common::device();
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let module = common::module(&device);
    let scaled = module.function("scaled").unwrap();
    let mut factors = module.global_mut::<f32>("factors").unwrap();
    let mut launches = module.global_mut::<u32>("launches").unwrap();
    assert_eq!((factors.len(), launches.len()), (2, 3));
    assert_eq!(launches.to_vec(&a).unwrap(), [0; 3]);
    launches.fill(&b, 5).unwrap();

    // The streams take turns automatically.
    let mut data = hip::DeviceBuffer::from_slice(&a, &[1.0_f32; 64]).unwrap();
    for (index, stream) in [&a, &b, &a, &b].into_iter().enumerate() {
        let source = [2.0, index as f32];
        factors.copy_from_host(if index < 2 { &b } else { &a }, &source).unwrap();
        let launch = scaled.launch(stream).grid(1).block(64).arg(&mut data);
        // SAFETY: `scaled` reads and writes an element for each of 64 work-items, and the variables.
        unsafe { launch.enqueue().unwrap() };
    }
    let expected = (0..4).fold(1.0_f32, |value, index| value * 2.0 + index as f32);
    assert_eq!(data.to_vec(&a).unwrap(), [expected; 64]);
    assert_eq!(launches.to_vec(&b).unwrap(), [5, 9, 5]);
    let last = launches.slice(1..).unwrap();
    assert_eq!(last.to_vec(&a).unwrap(), [9, 5]);

    // A variable keeps its module.
    drop((module, scaled));
    assert_eq!(factors.to_vec(&b).unwrap(), [2.0, 3.0]);
}

#[test]
fn kernels_of_a_graph_take_turns_with_copies_of_their_variables() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = common::module(&device);
    let scaled = module.function("scaled").unwrap();
    let mut factors = module.global_mut::<f32>("factors").unwrap();
    let source = hip::DeviceBuffer::from_slice(&stream, &[2.0_f32, 1.0]).unwrap();
    let mut data = hip::DeviceBuffer::from_slice(&stream, &[1.0_f32; 64]).unwrap();
    let mut graph = hip::Graph::new(&device).unwrap();
    graph.add_copy(&mut factors, &source, &[]).unwrap();
    let launch = scaled.launch(&stream).grid(1).block(64).arg(&mut data);
    // SAFETY: `scaled` reads and writes an element for each of 64 work-items, and the variables.
    unsafe { graph.add_kernel(launch, &[]).unwrap() };
    graph.add_fill(&mut factors, 0.0, &[]).unwrap();
    assert_eq!(graph.to_dot().unwrap().matches("->").count(), 2);
    graph.instantiate().unwrap().launch(&stream).unwrap();
    assert_eq!(data.to_vec(&stream).unwrap(), [3.0; 64]);
    assert_eq!(factors.to_vec(&stream).unwrap(), [0.0; 2]);
}

#[test]
fn a_variable_has_one_handle_that_writes_or_several_that_read() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = common::module(&device);
    let in_use = |result: hip::Result<()>| {
        let error = result.unwrap_err();
        assert!(matches!(&error, Error::GlobalInUse { global, .. } if global == "factors"), "{error}");
    };
    let mut writer = module.global_mut::<f32>("factors").unwrap();
    in_use(module.global_mut::<f32>("factors").map(drop));
    in_use(module.global::<f32>("factors").map(drop));
    // Whatever the type, because the bytes count.
    in_use(module.global_mut::<u8>("factors").map(drop));
    writer.copy_from_host(&stream, &[1.0, 2.0]).unwrap();
    // Other variables, and variables of another module with the same code, are separate memory.
    let launches = module.global_mut::<u32>("launches").unwrap();
    let twin = common::module(&device).global_mut::<f32>("factors").unwrap();
    drop(writer);

    let readers = [module.global::<f32>("factors").unwrap(), module.global("factors").unwrap()];
    in_use(module.global_mut::<f32>("factors").map(drop));
    for reader in &readers {
        assert_eq!(reader.to_vec(&stream).unwrap(), [1.0, 2.0]);
    }
    let [first, second] = readers;
    drop(first);
    in_use(module.clone().global_mut::<f32>("factors").map(drop));
    drop(second);
    module.global_mut::<f32>("factors").unwrap().fill(&stream, 3.0).unwrap();
    assert_eq!(module.global::<f32>("factors").unwrap().to_vec(&stream).unwrap(), [3.0; 2]);
    drop((launches, twin));

    // Threads that take turns never see a second handle.
    let turns = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    if let Ok(mut writer) = module.global_mut::<u32>("launches") {
                        assert_eq!(turns.fetch_add(1, Ordering::SeqCst), 0);
                        let again = module.global::<u32>("launches");
                        assert!(matches!(again, Err(Error::GlobalInUse { .. })));
                        writer.fill(&stream, 1).unwrap();
                        assert_eq!(turns.fetch_sub(1, Ordering::SeqCst), 1);
                    }
                }
            });
        }
    });
}

#[test]
fn variables_that_do_not_fit_are_refused() {
    let device = common::device();
    let module = common::module(&device);
    for name in ["factor", "", "saxpy\0"] {
        assert!(matches!(module.global::<f32>(name), Err(Error::GlobalNotFound { .. })), "{name:?}");
    }
    let error = module.global::<u64>("launches").unwrap_err();
    assert!(matches!(error, Error::GlobalType { bytes: 12, size: 8, .. }), "{error}");
    assert!(module.global::<[u32; 0]>("launches").is_err());
    assert_eq!(module.global::<[u8; 6]>("launches").unwrap().len(), 2);
}

#[test]
fn headers_that_lead_out_of_the_bytes_are_refused() {
    let device = common::device();
    let code = common::compile(&device.target().processor);
    // Segment headers have the offset at 8, section headers at 24; both have the size at 32. The file's
    // header has those of the tables.
    let fields = common::elf_tables(&code).into_iter().zip([[8, 32], [24, 32]]).flat_map(
        |((start, size, count), fields)| {
            (0..count).flat_map(move |index| {
                fields.map(|field| (start + index * size + field, start + index * size))
            })
        },
    );
    let no_bits = |entry: usize| entry >= common::elf_tables(&code)[1].0 && code[entry + 4] == 8;
    let mut refused = 0;
    for (field, entry) in fields.chain([(32, 0), (40, 0)]) {
        if no_bits(entry) && field == entry + 32 {
            continue;
        }
        for value in [1_u64 << 30, u64::MAX] {
            let mut changed = code.clone();
            changed[field..field + 8].copy_from_slice(&value.to_le_bytes());
            let error = Module::load(&device, &changed).unwrap_err();
            assert!(matches!(error, Error::CodeObject { .. }), "{field}: {error}");
            refused += 1;
        }
    }
    assert!(refused > 40, "the file has segments and sections: {refused}");
}
