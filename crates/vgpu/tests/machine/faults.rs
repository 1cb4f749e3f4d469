//! Faulty kernels end with a report, and the process and the device continue.
use crate::common::{Arg, Gpu, on_all};
use gpu_report::Checks;
use vgpu::DeviceConfig;
use vgpu::machine::{AccessKind, Dispatch, DispatchError, Fault, FaultKind, LoadError, Machine, Space};

fn fault(result: Result<vgpu::machine::DispatchStats, DispatchError>) -> Fault {
    match result {
        Err(DispatchError::Fault(fault)) => *fault,
        other => panic!("no fault but {other:?}"),
    }
}

/// A correct kernel still works.
fn still_works(gpu: &Gpu) {
    let out = gpu.alloc(4 * 64);
    gpu.run("bounded", 1, 64, &[Arg::Pointer(out)]);
    assert!(gpu.download::<i32>(out, 64).iter().copied().eq(0..64));
}

#[test]
fn out_of_bounds_accesses_name_everything() {
    on_all("faults", |gpu| {
        let buffer = gpu.alloc(1000);
        let args = [Arg::Pointer(buffer), Arg::I64(250)];
        let found = fault(gpu.launch("write_at", [64, 1, 1], [64, 1, 1], 0, &args));
        let FaultKind::OutOfBounds { access: AccessKind::Write, address, size: 4, nearest: Some(near) } =
            &found.kind
        else {
            panic!("{found}")
        };
        assert_eq!((*address, near.start, near.size), (buffer + 1000, buffer, 1000));
        assert_eq!(
            (found.kernel.as_str(), found.at.lane, found.at.work_item),
            ("write_at", Some(5), Some([5, 0, 0]))
        );
        assert_eq!(found.at.function.as_ref().map(|(name, _)| name.as_str()), Some("write_at"));
        let text = found.to_string();
        for part in [
            "write of 4 bytes",
            "0 bytes after the end of 1000 bytes of device memory",
            "lane 5",
            "global_store",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        let out = gpu.alloc(4 * 512);
        let args = [Arg::Pointer(buffer), Arg::I64(200), Arg::Pointer(out)];
        let found = fault(gpu.launch("read_at", [512, 1, 1], [128, 1, 1], 0, &args));
        let wave = gpu.wave() as u32;
        assert!(matches!(found.kind, FaultKind::OutOfBounds { access: AccessKind::Read, .. }), "{found}");
        assert_eq!(
            (found.at.wave, found.at.lane.map(u32::from), found.at.workgroup),
            (50 / wave, Some(50 % wave), [0; 3])
        );
        still_works(gpu);
    });
}

#[test]
fn use_after_free_is_recognised() {
    on_all("faults", |gpu| {
        let memory = gpu.device.memory();
        let kind = vgpu::machine::MemoryKind::Coarse;
        let buffer = memory.allocate(4096, 256, kind, Some(gpu.device.index())).unwrap();
        gpu.free(buffer);
        let args = [Arg::Pointer(buffer), Arg::I64(3)];
        let found = fault(gpu.launch("write_at", [64, 1, 1], [64, 1, 1], 0, &args));
        assert!(
            matches!(&found.kind, FaultKind::UseAfterFree { freed, .. } if freed.start == buffer),
            "{found}"
        );
        still_works(gpu);
    });
}

#[test]
fn host_memory_is_out_of_reach() {
    on_all("faults", |gpu| {
        let mut host = [1i32; 64];
        let args = [Arg::Pointer(host.as_mut_ptr() as u64), Arg::I64(0)];
        let found = fault(gpu.launch("write_at", [64, 1, 1], [64, 1, 1], 0, &args));
        assert!(matches!(found.kind, FaultKind::OutOfBounds { .. }), "{found}");
        assert_eq!(host, [1; 64]);
        let args = [Arg::Pointer(0), Arg::I64(0)];
        let found = fault(gpu.launch("write_at", [64, 1, 1], [64, 1, 1], 0, &args));
        assert!(found.to_string().contains("null pointer"), "{found}");
    });
}

#[test]
fn code_is_read_only() {
    on_all("faults", |gpu| {
        let code = gpu.code.kernel_object("bounded").unwrap();
        let args = [Arg::Pointer(code), Arg::I64(0)];
        let found = fault(gpu.launch("write_at", [64, 1, 1], [64, 1, 1], 0, &args));
        assert!(matches!(found.kind, FaultKind::ReadOnly { .. }), "{found}");
        still_works(gpu);
    });
}

#[test]
fn lds_beyond_the_end_is_a_fault_where_bounds_are_checked() {
    on_all("faults", |gpu| {
        let out = gpu.alloc(4 * 128);
        let args = [Arg::I32(0), Arg::Pointer(out)];
        gpu.launch("write_lds", [128, 1, 1], [128, 1, 1], 512, &args).unwrap();
        let args = [Arg::I32(8), Arg::Pointer(out)];
        let found = fault(gpu.launch("write_lds", [128, 1, 1], [128, 1, 1], 512, &args));
        let FaultKind::BeyondLimit { space: Space::Lds, address, limit: 512, .. } = found.kind else {
            panic!("{found}")
        };
        assert_eq!((address, found.at.work_item), (512, Some([120, 0, 0])));
        still_works(gpu);

        // Without the check, a workgroup has all granules that it was given and nothing beyond them, as on
        // hardware.
        let sums = |dynamic, shift: i32| {
            let dispatch = gpu.prepare(
                "write_lds",
                [128, 1, 1],
                [128, 1, 1],
                dynamic,
                &[Arg::I32(shift), Arg::Pointer(out)],
            );
            gpu.dispatch(&Dispatch { checks: Some(Checks::NONE), ..dispatch }).unwrap();
            gpu.download::<u32>(out, 128)
        };
        let whole = sums(512, 0);
        assert_eq!(sums(300, 0), whole, "300 bytes are given as 512");
        assert_eq!(sums(512, 1 << 20), [0; 128]);
    });
}

#[test]
fn loads_beyond_the_arguments_are_faults_where_bounds_are_checked() {
    on_all("faults", |gpu| {
        let out = gpu.alloc(4 * 64);
        let size = gpu.code.object().kernel("load_arguments").unwrap().kernarg_size;
        let end = size.next_multiple_of(16) / 4;
        for vector in [0, 1] {
            let load = |at: u32, checks| {
                let args = [Arg::Pointer(out), Arg::U32(at), Arg::U32(vector)];
                let dispatch = gpu.prepare("load_arguments", [64, 1, 1], [64, 1, 1], 0, &args);
                // A page of arguments, as HSA allocates them.
                let page = gpu.alloc(4096);
                // SAFETY: both are that long, and no kernel runs.
                unsafe { std::ptr::copy(dispatch.kernarg as *const u8, page as *mut u8, size as usize) };
                gpu.device.memory().wrote(page, size.into());
                gpu.dispatch(&Dispatch { kernarg: page, checks: Some(checks), ..dispatch })
            };
            let bounds = Checks { bounds: true, ..Checks::NONE };
            load(2, bounds).unwrap();
            assert_eq!(gpu.download::<u32>(out, 64), [2; 64]);
            load(end - 1, bounds).unwrap();
            for at in [end, 1023] {
                let found = fault(load(at, bounds));
                let FaultKind::BeyondArguments { address, limit, .. } = found.kind else { panic!("{found}") };
                assert_eq!((address, limit), (4 * u64::from(at), size.into()), "{found}");
                load(at, Checks::NONE).unwrap();
            }
            // The next page belongs to another allocation.
            assert!(matches!(fault(load(1024, bounds)).kind, FaultKind::OutOfBounds { .. }));
        }
        still_works(gpu);
    });
}

#[test]
fn traps_and_illegal_instructions_end_the_dispatch() {
    on_all("faults", |gpu| {
        let found = fault(gpu.launch("trap_at", [64 * 40, 1, 1], [64, 1, 1], 0, &[Arg::I32(33)]));
        assert_eq!(
            (found.kind.clone(), found.at.workgroup),
            (FaultKind::Trap { id: 2 }, [33, 0, 0]),
            "{found}"
        );
        let found = fault(gpu.launch("illegal", [64, 1, 1], [64, 1, 1], 0, &[]));
        assert!(
            matches!(&found.kind, FaultKind::IllegalInstruction { bytes } if bytes[..4] == [0xff; 4]),
            "{found}"
        );
        still_works(gpu);
    });
}

#[test]
fn endless_kernels_end_when_time_is_up() {
    on_all("faults", |gpu| {
        let out = gpu.alloc(4 * 256);
        let mut dispatch = gpu.prepare("endless", [256, 1, 1], [256, 1, 1], 0, &[Arg::Pointer(out)]);
        dispatch.timeout = Some(std::time::Duration::from_millis(100));
        let found = fault(gpu.dispatch(&dispatch));
        let waves = 256 / gpu.wave() as u32;
        assert_eq!(found.kind, FaultKind::EndlessBarrier { waiting: waves - 1, waves }, "{found}");
        still_works(gpu);
    });
}

/// AMD's runtime copies to `__constant__` variables with a kernel of its own.
#[test]
fn kernels_of_another_code_object_may_write_constant_variables() {
    on_all("faults", |gpu| {
        let other = Gpu::open("reports", gpu.device.target().name).unwrap();
        let fixed = other.code.symbol_address("fixed").unwrap();
        gpu.run("write_at", 1, 64, &[Arg::Pointer(fixed), Arg::I64(2)]);
        // SAFETY: the variable has 64 bytes, and no kernel runs.
        assert_eq!(unsafe { (fixed as *const [i32; 16]).read() }[..4], [1, 2, 1, 0]);
        // Only the variable is writable, not the memory after it, and not the descriptors of kernels.
        for address in [fixed + 64, other.code.kernel_object("store_byte").unwrap()] {
            let args = [Arg::Pointer(address), Arg::I64(0)];
            let found = fault(gpu.launch("write_at", [64, 1, 1], [64, 1, 1], 0, &args));
            assert!(
                matches!(found.kind, FaultKind::ReadOnly { .. } | FaultKind::OutOfBounds { .. }),
                "{found}"
            );
        }
    });
}

/// Runtimes enforce the limits that a kernel was compiled for; hardware does not.
#[test]
fn a_workgroup_may_be_larger_than_the_kernel_was_compiled_for() {
    on_all("faults", |gpu| {
        let out = gpu.alloc(4 * 1024);
        gpu.launch("bounded", [1024, 1, 1], [1024, 1, 1], 0, &[Arg::Pointer(out)]).expect("it fits");
        assert!(gpu.download::<i32>(out, 1024).iter().copied().eq(0..1024));
    });
}

#[test]
fn impossible_launches_are_refused_before_anything_runs() {
    on_all("faults", |gpu| {
        let out = gpu.alloc(4 * 1024);
        let launch = |grid, workgroup, lds| gpu.launch("bounded", grid, workgroup, lds, &[Arg::Pointer(out)]);
        type E = DispatchError;
        let lds = gpu.device.target().limits.unit.lds;
        assert!(matches!(launch([0, 1, 1], [64, 1, 1], 0), Err(E::ZeroSize { what: "grid", .. })));
        assert!(matches!(launch([64, 1, 1], [64, 0, 1], 0), Err(E::ZeroSize { what: "workgroup", .. })));
        let greedy = gpu.launch("greedy", [1024, 1, 1], [1024, 1, 1], 0, &[Arg::Pointer(out)]);
        // Each of four SIMDs has registers for two waves of 64 (512 of 256), for four of 32 (gfx1030, 1024 of
        // 256), or for five (gfx11 and gfx12, 1536 of 264).
        let expected =
            if matches!(gpu.device.target().name, "gfx1100" | "gfx1151" | "gfx1201") { 640 } else { 512 };
        assert!(
            matches!(greedy, Err(E::WorkgroupTooLarge { limit, .. }) if u64::from(limit) == expected),
            "{greedy:?}"
        );
        assert!(matches!(launch([64, 1, 1], [64, 64, 64], 0), Err(E::WorkgroupTooLarge { limit: 1024, .. })));
        assert!(matches!(launch([64, 1, 1], [u32::MAX, 64, 64], 0), Err(E::WorkgroupTooLarge { .. })));
        assert!(
            matches!(launch([64, 1, 1], [64, 1, 1], lds + 1024), Err(E::LdsTooLarge { limit, .. }) if limit == lds)
        );
        assert!(gpu.download::<i32>(out, 1024).iter().all(|value| *value == 0));
        still_works(gpu);
    });
}

#[test]
fn code_for_another_target_is_refused() {
    let Ok(gpu) = Gpu::open("faults", "gfx1100") else { return };
    let Ok(other) = Gpu::open("faults", "gfx1030") else { return };
    let dispatch = vgpu::machine::Dispatch {
        kernel_object: gpu.code.kernel_object("bounded").unwrap(),
        grid: [64, 1, 1],
        workgroup: [64, 1, 1],
        ..Default::default()
    };
    let error = other.dispatch(&dispatch).unwrap_err();
    assert!(matches!(error, DispatchError::WrongDevice { .. }), "{error}");
}

#[test]
fn unsound_code_objects_are_refused() {
    let machine = Machine::global();
    let index = machine.attach(&"gfx1100".parse().unwrap()).unwrap();
    let device = machine.device(index).unwrap();
    for bytes in [&b""[..], b"\x7fELF", &[0u8; 4096]] {
        assert!(matches!(device.load(bytes, &mut |_| None), Err(LoadError::Object(_))));
    }
    let dispatch = Dispatch { kernel_object: 64, grid: [1; 3], workgroup: [1; 3], ..Dispatch::default() };
    // SAFETY: there is no kernel, so nothing runs.
    assert_eq!(unsafe { device.dispatch(&dispatch) }, Err(DispatchError::NoKernel(64)));
}

#[test]
fn attaching_an_equal_device_again_gives_the_same() {
    let machine = Machine::global();
    // No other test uses such devices.
    let config: DeviceConfig = "gfx1100?cus=3&count=2&memory=3GiB".parse().unwrap();
    let first = machine.attach(&config).unwrap();
    let other = machine.attach(&"gfx90a?cus=3&memory=3GiB".parse().unwrap()).unwrap();
    assert_ne!(other, first);
    assert_ne!(other, first + 1);
    assert_eq!(machine.attach(&config), Ok(first));
    for index in [first, first + 1] {
        let device = machine.device(index).unwrap();
        assert_eq!((device.index(), device.compute_units(), device.target().name), (index, 3, "gfx1100"));
    }
    assert_eq!(machine.device(other).unwrap().target_id().to_string(), "gfx90a:sramecc+:xnack-");
    assert!(machine.device(machine.devices().len() + 1000).is_none());
}
