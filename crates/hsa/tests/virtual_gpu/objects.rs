//! The safe layer on the virtual GPU, without kernels.

use std::sync::Arc;
use std::time::Duration;

use hsa::{
    Agent, AgentKind, Condition, Error, Executable, Queue, QueueKind, Runtime, UserSignal, WaitHint,
    copy_async,
};

fn gpu() -> Agent {
    let index = vgpu::attach(&"gfx1100?cus=3&memory=128MiB".parse().unwrap()).unwrap();
    Runtime::new(vgpu::hsa::table()).unwrap().gpus().unwrap().swap_remove(index)
}

fn host(runtime: &Runtime) -> Agent {
    runtime.agents().unwrap().into_iter().find(|agent| agent.kind() == AgentKind::Cpu).unwrap()
}

#[test]
fn agents_describe_themselves() {
    let gpu = gpu();
    assert_eq!(gpu.name().unwrap(), "gfx1100");
    assert_eq!(gpu.target().unwrap().to_string(), "gfx1100");
    assert_eq!((gpu.compute_units().unwrap(), gpu.wavefront_size().unwrap()), (3, 32));
    assert_eq!(gpu.workgroup_max_dim().unwrap(), [gpu.workgroup_max_size().unwrap() as u16; 3]);
    assert!(gpu.uuid().unwrap().starts_with("GPU-"));
    let host = host(gpu.runtime());
    assert!(matches!(host.target(), Err(Error::BadIsa(_))));
    assert!(matches!(gpu.kernarg_pool(), Err(Error::NoPool { pool: "kernel argument", .. })));
    assert!(host.kernarg_pool().is_ok() && gpu.fine_pool().is_ok());
    assert_ne!(gpu, host);
}

#[test]
fn memory_is_bounded_and_given_back() {
    let gpu = gpu();
    let pool = gpu.coarse_pool().unwrap();
    let before = gpu.memory_available().unwrap();
    let mut memory = pool.allocate(1000).unwrap();
    assert!(gpu.memory_available().unwrap() < before);
    memory.fill(0x0101_0101).unwrap();
    memory.write(990, b"0123456789").unwrap();
    let mut bytes = [0; 11];
    memory.read(989, &mut bytes).unwrap();
    assert_eq!(&bytes, b"\x010123456789");
    let outside = Error::OutOfRange { what: "an allocation", offset: 990, len: 11, size: 1000 };
    assert_eq!(memory.read(990, &mut bytes), Err(outside));
    assert!(memory.write(usize::MAX, &bytes).is_err());
    memory.allow_access(&[&host(gpu.runtime())]).unwrap();
    drop(memory);
    assert!(matches!(pool.allocate(0), Err(Error::Status { operation: "hsa_amd_memory_pool_allocate", .. })));
    let error = pool.allocate(1 << 40).unwrap_err().to_string();
    assert!(error.contains("INVALID_ALLOCATION"), "{error}");
}

#[test]
fn signals_wait_and_time_out() {
    let gpu = gpu();
    let signal = UserSignal::new(gpu.runtime(), 4).unwrap();
    let soon = Some(Duration::from_millis(3));
    assert_eq!(signal.wait(Condition::Less(1), soon, WaitHint::Active), None);
    assert_eq!(signal.wait(Condition::AtLeast(4), None, WaitHint::Blocked), Some(4));
    let other = signal.clone();
    let thread = std::thread::spawn(move || other.wait(Condition::Equal(-2), None, WaitHint::Blocked));
    signal.add(1);
    signal.subtract(7);
    assert_eq!(thread.join().unwrap(), Some(-2));
    assert_eq!((signal.compare_exchange(-2, 9), signal.exchange(1), signal.load()), (-2, 9, 1));
}

#[test]
fn barriers_complete_when_their_signals_are_zero() {
    let gpu = gpu();
    let queue = Queue::new(&gpu, 64, QueueKind::Multi).unwrap();
    let (first, second) =
        (UserSignal::new(gpu.runtime(), 1).unwrap(), UserSignal::new(gpu.runtime(), 1).unwrap());
    let both = queue.barrier(&[&first, &second]).unwrap();
    let any = queue.barrier_any(&[&first, &second]).unwrap();
    first.store(0);
    assert!(!both.is_done() && !any.is_done());
    // The packet holds its signals, and the queue.
    drop((first, queue));
    second.store(0);
    both.wait().unwrap();
    any.wait().unwrap();
    let times = any.times().unwrap();
    assert!(times.start <= times.end && times.start > 0);
}

#[test]
fn a_ring_takes_more_packets_than_it_has_slots() {
    let gpu = gpu();
    let queue = Queue::new(&gpu, 64, QueueKind::Multi).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let ends: Vec<_> = (0..200).map(|_| queue.barrier(&[]).unwrap()).collect();
                ends.iter().for_each(|end| end.wait().unwrap());
            });
        }
    });
}

#[test]
fn copies_hold_their_memory_and_wait_for_signals() {
    let gpu = gpu();
    let mut from = host(gpu.runtime()).fine_pool().unwrap().allocate(64).unwrap();
    from.write(0, &[7; 64]).unwrap();
    let (from, to) = (Arc::new(from), Arc::new(gpu.coarse_pool().unwrap().allocate(64).unwrap()));
    let before = UserSignal::new(gpu.runtime(), 1).unwrap();
    let copy = copy_async((&to, 32), (&from, 0), 32, &[&before]).unwrap();
    drop(from);
    assert!(!copy.is_done());
    before.store(0);
    copy.wait().unwrap();
    let mut bytes = [0; 64];
    to.read(0, &mut bytes).unwrap();
    assert_eq!((bytes[31], bytes[32], bytes[63]), (0, 7, 7));
    assert!(matches!(copy_async((&to, 33), (&to, 0), 32, &[]), Err(Error::OutOfRange { .. })));
}

#[test]
fn bad_queues_and_code_objects_are_errors() {
    let gpu = gpu();
    assert!(matches!(
        Queue::new(&gpu, 63, QueueKind::Multi),
        Err(Error::Status { operation: "hsa_queue_create", .. })
    ));
    let error = Executable::load(&gpu, b"not an ELF file").unwrap_err();
    assert!(error.to_string().contains("INVALID_CODE_OBJECT"), "{error}");
    let queue = Queue::new(&gpu, 64, QueueKind::Cooperative).unwrap();
    let signal = UserSignal::new(gpu.runtime(), 0).unwrap();
    assert!(matches!(queue.barrier(&[&*signal; 6]), Err(Error::TooManyDependencies(6))));
}

#[test]
fn a_table_without_functions_says_so() {
    let error = Runtime::new(hsa_sys::Table::unsupported()).unwrap_err();
    assert!(error.to_string().contains("hsa_init") && error.to_string().contains("NOT_SUPPORTED"), "{error}");
}
