//! Kernel faults on queues created without an error callback.

use std::ffi::c_void;
use std::os::unix::process::ExitStatusExt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::*;
use crate::kernels::{Program, TARGETS};
use hsa_sys::*;

const CHILD: &str = "FERROCM_TEST_FAULTS_WITHOUT_A_CALLBACK";

/// A queue without an error callback.
fn queue(agent: hsa_agent_t) -> Queue {
    let mut raw = null_mut();
    ok!(hsa_queue_create(agent, 64, 0, None, null_mut(), u32::MAX, u32::MAX, &mut raw));
    Queue { raw, errors: Box::default() }
}

/// Runs a faulting kernel and waits for its signal, as programs do.
fn fault(target: &str, kernel: &str, arguments: &[u64]) -> i64 {
    let agent = gpu(target);
    let program = Program::load(agent, target);
    let queue = queue(agent);
    let packet = program.packet(kernel, 1, arguments);
    queue.submit(DISPATCH, 1, packet);
    hsa!(hsa_signal_wait_scacquire(packet.completion_signal, LT, 1, 20_000_000_000, BLOCKED))
}

#[test]
fn a_fault_that_nobody_hears_of_ends_the_process_with_its_report() {
    if let Ok(kernel) = std::env::var(CHILD) {
        for target in TARGETS {
            fault(target, &kernel, &[64, 0]);
        }
        unreachable!("the process goes on");
    }
    for (kernel, said) in [("number", "outside every allocation"), ("give_up", "trap")] {
        let name = "fatal::a_fault_that_nobody_hears_of_ends_the_process_with_its_report";
        let (status, error) = in_child(name, CHILD, kernel);
        assert_eq!(status.signal(), Some(libc::SIGABRT), "{status:?}: {error}");
        for part in [said, kernel, "instruction", "without an error callback"] {
            assert!(error.contains(part), "`{part}` in {error}");
        }
    }
}

/// A handler handles a fault by returning success. The queue then behaves as if its callback had returned.
#[test]
fn a_handler_of_system_events_may_deal_with_it() {
    static EVENTS: AtomicU64 = AtomicU64::new(0);
    static ADDRESS: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C" fn refuse(_: *const hsa_amd_event_t, _: *mut c_void) -> S {
        S::HSA_STATUS_ERROR
    }
    unsafe extern "C" fn hear(event: *const hsa_amd_event_t, data: *mut c_void) -> S {
        assert_eq!(data as usize, 0x77);
        // SAFETY: the runtime gives an event, whose type says which member is there.
        let (kind, address) =
            unsafe { ((*event).event_type, (*event).__bindgen_anon_1.memory_fault.virtual_address) };
        if kind == hsa_amd_event_type_t::HSA_AMD_GPU_MEMORY_FAULT_EVENT {
            ADDRESS.store(address, Ordering::SeqCst);
        }
        EVENTS.fetch_add(1, Ordering::SeqCst);
        S::HSA_STATUS_SUCCESS
    }
    if std::env::var_os(CHILD).is_some() {
        ok!(hsa_init());
        assert_eq!(
            hsa!(hsa_amd_register_system_event_handler(None, null_mut())),
            S::HSA_STATUS_ERROR_INVALID_ARGUMENT
        );
        ok!(hsa_amd_register_system_event_handler(Some(refuse), null_mut()));
        ok!(hsa_amd_register_system_event_handler(Some(hear), 0x77 as *mut c_void));
        let agent = gpu("gfx1100");
        let program = Program::load(agent, "gfx1100");
        for (count, kernel) in [(1, "number"), (2, "give_up")] {
            let queue = queue(agent);
            let packet = program.packet(kernel, 1, &[0x40, 0]);
            queue.submit(DISPATCH, 1, packet);
            while EVENTS.load(Ordering::SeqCst) < count {
                std::thread::yield_now();
            }
            assert_eq!(hsa!(hsa_signal_load_scacquire(packet.completion_signal)), 1);
        }
        assert_eq!(ADDRESS.load(Ordering::SeqCst), 0x40);
        eprintln!("went on");
        return;
    }
    let name = "fatal::a_handler_of_system_events_may_deal_with_it";
    let (status, error) = in_child(name, CHILD, "1");
    assert!(status.success() && error.contains("went on"), "{status:?}: {error}");
}

/// As with AMD's runtime: nothing ran, so the process continues, and the queue is inactive.
#[test]
fn a_packet_that_is_none_ends_the_queue_only() {
    let agent = gpu("gfx1100");
    let queue = queue(agent);
    let first = queue.submit(VENDOR, 99, hsa_barrier_and_packet_t::default());
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !queue.report().contains("unknown format") {
        assert!(std::time::Instant::now() < end, "packet {first} is not reported");
        std::thread::yield_now();
    }
}
