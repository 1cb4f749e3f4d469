//! Kernels through the safe layer, on virtual GPUs with waves of 32 and of 64.

use std::sync::Arc;

use hsa::{Agent, Dispatch, Error, Executable, Queue, QueueKind, Runtime};

const TARGETS: [&str; 2] = ["gfx1100", "gfx90a"];

struct Device {
    agent: Agent,
    host: Agent,
    code: Vec<u8>,
}

fn devices() -> Vec<Device> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels");
    let build = kernel_build::Builder::new(folder).targets(TARGETS).build();
    let build = build.unwrap_or_else(|error| panic!("compiling the test's kernels: {error}"));
    let runtime = Runtime::new(vgpu::hsa::table()).unwrap();
    TARGETS
        .iter()
        .map(|target| {
            let index = vgpu::attach(&format!("{target}?cus=2&memory=64MiB").parse().unwrap()).unwrap();
            let (_, object) = build
                .objects()
                .find(|(_, object)| object.target.processor == *target)
                .expect("a code object");
            Device {
                agent: runtime.gpus().unwrap().swap_remove(index),
                host: runtime.agents().unwrap().swap_remove(0),
                code: object.bytes.clone(),
            }
        })
        .collect()
}

#[test]
fn a_kernel_runs_with_its_variable() {
    for device in devices() {
        let values = device.agent.coarse_pool().unwrap().allocate(4 * 256).unwrap();
        let mut kernarg = device.host.kernarg_pool().unwrap().allocate(64).unwrap();
        kernarg.write(0, &(values.as_ptr() as u64).to_le_bytes()).unwrap();
        let kernarg = Arc::new(kernarg);
        let executable = Executable::load(&device.agent, &device.code).unwrap();
        let kernel = executable.kernel("advance").unwrap();
        assert_eq!(kernel.kernarg_size(), 8);
        let queue = Queue::new(&device.agent, 64, QueueKind::Multi).unwrap();
        let dispatch = Dispatch {
            kernel: &kernel,
            grid: [256, 1, 1],
            workgroup: [64, 1, 1],
            dynamic_lds: 0,
            kernarg: &kernarg,
        };
        // SAFETY: the kernel takes one pointer to as many values as it has work-items, which nothing else
        // uses.
        unsafe { queue.dispatch(&dispatch) }.unwrap().wait().unwrap();
        let step = executable.variable("step").unwrap();
        assert_eq!(step.size(), 4);
        step.write(0, &40i32.to_le_bytes()).unwrap();
        assert!(matches!(step.write(1, &[0; 4]), Err(Error::OutOfRange { what: "a variable", .. })));
        // The completion keeps the kernel loaded.
        drop(executable);
        // SAFETY: as above.
        let end = unsafe { queue.dispatch(&dispatch) }.unwrap();
        end.wait().unwrap();
        let times = end.times().unwrap();
        assert!(times.end > times.start);
        let mut bytes = [0; 4 * 256];
        values.read(0, &mut bytes).unwrap();
        assert!(bytes.chunks(4).all(|value| value == 42i32.to_le_bytes()));
    }
}

#[test]
fn a_fault_is_an_error_of_the_waiter_and_ends_no_other_queue() {
    for device in devices() {
        let values = device.agent.coarse_pool().unwrap().allocate(4 * 64).unwrap();
        let mut kernarg = device.host.kernarg_pool().unwrap().allocate(64).unwrap();
        kernarg.write(0, &(values.as_ptr() as u64).to_le_bytes()).unwrap();
        let kernarg = Arc::new(kernarg);
        let executable = Executable::load(&device.agent, &device.code).unwrap();
        let (stray, advance) = (executable.kernel("stray").unwrap(), executable.kernel("advance").unwrap());
        let (queue, other) = (
            Queue::new(&device.agent, 64, QueueKind::Multi).unwrap(),
            Queue::new(&device.agent, 64, QueueKind::Multi).unwrap(),
        );
        let bad = Dispatch {
            kernel: &stray,
            grid: [64, 1, 1],
            workgroup: [64, 1, 1],
            dynamic_lds: 0,
            kernarg: &kernarg,
        };
        // SAFETY: the kernel writes outside its memory, which the virtual GPU refuses.
        let error = unsafe { queue.dispatch(&bad) }.unwrap().wait().unwrap_err();
        let Error::QueueFault { report, .. } = &error else { panic!("{error}") };
        assert!(report.contains("stray") && report.contains("write of 4 bytes"), "{report}");
        assert_eq!(queue.fault(), Some(error.clone()));
        assert_eq!(queue.barrier(&[]).unwrap_err(), error);
        let good = Dispatch { kernel: &advance, ..bad };
        // SAFETY: as in the other test.
        unsafe { other.dispatch(&good) }.unwrap().wait().unwrap();
        // The faulted kernel's arguments are held until its queue is destroyed, because the device may still
        // use them.
        assert_eq!(Arc::strong_count(&kernarg), 2);
        drop(queue);
        assert_eq!(Arc::strong_count(&kernarg), 1);
    }
}

#[test]
fn bad_launches_are_errors_before_anything_runs() {
    let device = devices().remove(0);
    let executable = Executable::load(&device.agent, &device.code).unwrap();
    let kernel = executable.kernel("advance").unwrap();
    assert_eq!(
        executable.kernel("retreat").unwrap_err(),
        Error::NoSymbol { kind: "kernel", name: "retreat".to_owned() }
    );
    assert!(matches!(executable.variable("advance.kd"), Err(Error::NoSymbol { kind: "variable", .. })));
    assert!(matches!(executable.kernel("a\0b"), Err(Error::BadName(_))));
    let queue = Queue::new(&device.agent, 64, QueueKind::Multi).unwrap();
    let small = Arc::new(device.host.kernarg_pool().unwrap().allocate(4).unwrap());
    let enough = Arc::new(device.host.kernarg_pool().unwrap().allocate(8).unwrap());
    let dispatch = Dispatch {
        kernel: &kernel,
        grid: [64, 1, 1],
        workgroup: [64, 1, 1],
        dynamic_lds: 0,
        kernarg: &enough,
    };
    // SAFETY: none of these is launched.
    unsafe {
        let none = Dispatch { grid: [64, 0, 1], ..dispatch.clone() };
        assert!(matches!(queue.dispatch(&none), Err(Error::BadDispatch { what: "grid", .. })));
        let wide = Dispatch { workgroup: [70_000, 1, 1], ..dispatch.clone() };
        assert!(matches!(queue.dispatch(&wide), Err(Error::BadDispatch { what: "workgroup", .. })));
        let short = Dispatch { kernarg: &small, ..dispatch.clone() };
        assert!(matches!(queue.dispatch(&short), Err(Error::OutOfRange { len: 8, size: 4, .. })));
    }
}
