//! The HSA table with kernels: loading, symbols, dispatches, times, and faults that end only one queue.
//!
//! The kernels are compiled when the tests run. This requires a device toolchain, which `cargo xtask test`
//! ensures.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use crate::common::*;
use hsa_sys::*;

pub(crate) const TARGETS: [&str; 2] = ["gfx1100", "gfx90a"];

/// The compiled kernels of a source for a target.
fn code(source: &str, target: &str) -> &'static [u8] {
    static CODE: OnceLock<HashMap<(String, String), Vec<u8>>> = OnceLock::new();
    let all = CODE.get_or_init(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hsa");
        let build = kernel_build::Builder::new(folder).targets(TARGETS).build();
        let build = build.unwrap_or_else(|error| panic!("compiling the test's kernels: {error}"));
        let named = |(module, object): (&kernel_build::BuiltModule, &kernel_build::BuiltObject)| {
            ((module.name.clone(), object.target.processor.clone()), object.bytes.clone())
        };
        build.objects().map(named).collect()
    });
    &all[&(source.to_owned(), target.to_owned())]
}

/// An executable with the test's kernels.
pub(crate) struct Program {
    pub(crate) executable: hsa_executable_t,
    agent: hsa_agent_t,
}

impl Program {
    pub(crate) fn load(agent: hsa_agent_t, target: &str) -> Program {
        Program::of("probe", agent, target)
    }

    /// The kernels of a source in this folder.
    pub(crate) fn of(source: &str, agent: hsa_agent_t, target: &str) -> Program {
        let bytes = code(source, target);
        let mut executable = hsa_executable_t { handle: 0 };
        ok!(hsa_executable_create_alt(
            hsa_profile_t::HSA_PROFILE_BASE,
            hsa_default_float_rounding_mode_t::HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
            null(),
            &mut executable
        ));
        let mut reader = hsa_code_object_reader_t { handle: 0 };
        ok!(hsa_code_object_reader_create_from_memory(bytes.as_ptr().cast(), bytes.len(), &mut reader));
        ok!(hsa_executable_load_agent_code_object(executable, agent, reader, null(), null_mut()));
        ok!(hsa_executable_freeze(executable, null()));
        ok!(hsa_code_object_reader_destroy(reader));
        Program { executable, agent }
    }

    pub(crate) fn symbol(&self, name: &str) -> Result<hsa_executable_symbol_t, S> {
        let name = CString::new(name).unwrap();
        let mut symbol = hsa_executable_symbol_t { handle: 0 };
        match hsa!(hsa_executable_get_symbol_by_name(
            self.executable,
            name.as_ptr(),
            &self.agent,
            &mut symbol
        )) {
            S::HSA_STATUS_SUCCESS => Ok(symbol),
            status => Err(status),
        }
    }

    pub(crate) fn info<T: Copy>(&self, name: &str, attribute: hsa_executable_symbol_info_t, zero: T) -> T {
        let mut value = zero;
        ok!(hsa_executable_symbol_get_info(self.symbol(name).unwrap(), attribute, (&raw mut value).cast()));
        value
    }

    /// A dispatch of one-dimensional workgroups of 64, with its arguments in separate memory.
    pub(crate) fn packet(
        &self,
        kernel: &str,
        groups: u32,
        arguments: &[u64],
    ) -> hsa_kernel_dispatch_packet_t {
        use hsa_executable_symbol_info_t as I;
        let name = format!("{kernel}.kd");
        let size = self.info(&name, I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, 0u32) as usize;
        let kernarg = allocate(pool(host(), KERNARG), size.max(arguments.len() * 8).max(8));
        slice::<u64>(kernarg, arguments.len()).copy_from_slice(arguments);
        hsa_kernel_dispatch_packet_t {
            workgroup_size_x: 64,
            workgroup_size_y: 1,
            workgroup_size_z: 1,
            grid_size_x: groups * 64,
            grid_size_y: 1,
            grid_size_z: 1,
            private_segment_size: self.info(
                &name,
                I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                0u32,
            ),
            group_segment_size: self.info(
                &name,
                I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                0u32,
            ),
            kernel_object: self.info(&name, I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, 0u64),
            kernarg_address: kernarg,
            completion_signal: signal(1),
            ..Default::default()
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        ok!(hsa_executable_destroy(self.executable));
    }
}

/// Dispatches and waits for the end.
pub(crate) fn run(queue: &Queue, packet: hsa_kernel_dispatch_packet_t) {
    queue.submit(DISPATCH, 1, packet);
    queue.finish(packet.completion_signal);
}

/// Waits until the queue's callback receives an error.
pub(crate) fn error_of(queue: &Queue) -> S {
    let begin = Instant::now();
    while queue.errors.lock().unwrap().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(20), "no error was reported");
        std::thread::yield_now();
    }
    let errors = queue.errors.lock().unwrap();
    assert_eq!(errors.len(), 1);
    errors[0]
}

#[test]
fn a_kernel_runs_and_its_time_is_known() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let queue = Queue::new(agent, 64);
        let out = allocate(pool(agent, COARSE), 4 * 1000 * 64);
        let packet = program.packet("number", 1000, &[out as u64, 5]);
        run(&queue, packet);
        assert!(
            slice::<u32>(out, 64_000).iter().zip(5..).all(|(&value, expected)| value == expected),
            "{target}"
        );
        let mut time = hsa_amd_profiling_dispatch_time_t::default();
        ok!(hsa_amd_profiling_get_dispatch_time(agent, packet.completion_signal, &mut time));
        assert!(time.end > time.start && time.start > 0);
        free(out);
    }
}

#[test]
fn packets_see_what_earlier_ones_did() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let queue = Queue::new(agent, 64);
        let out = allocate(pool(agent, COARSE), 4 * 64);
        let none = hsa_signal_t { handle: 0 };
        let first = program.packet("number", 1, &[out as u64, 0]);
        queue.submit(DISPATCH, 1, hsa_kernel_dispatch_packet_t { completion_signal: none, ..first });
        let second = program.packet("use_variables", 1, &[out as u64]);
        queue.submit(DISPATCH, 1, hsa_kernel_dispatch_packet_t { completion_signal: none, ..second });
        queue.finish(queue.barrier(BARRIER_AND, &[]));
        assert!(slice::<u32>(out, 64).iter().enumerate().all(|(index, &value)| value == index as u32 * 6));

        // Variables can be found and changed.
        use hsa_executable_symbol_info_t as I;
        let address = program.info("scale", I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, 0u64);
        assert_eq!(program.info("scale", I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, 0u32), 4);
        let ten = 10u32;
        ok!(hsa_memory_copy(address as *mut c_void, (&raw const ten).cast(), 4));
        run(&queue, program.packet("number", 1, &[out as u64, 0]));
        run(&queue, program.packet("use_variables", 1, &[out as u64]));
        assert_eq!(slice::<u32>(out, 64)[3], 60);
        free(out);
    }
}

#[test]
fn kernels_change_signals_and_waiters_see_it() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let queue = Queue::new(agent, 64);
        let watched = signal(1);
        let mut value = null_mut();
        ok!(hsa_amd_signal_value_pointer(watched, &mut value));
        queue.submit(DISPATCH, 1, program.packet("count_down", 1, &[value as u64]));
        queue.finish(watched);
    }
}

#[test]
fn an_access_outside_ends_its_queue_with_a_report_and_no_other() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let (queue, other) = (Queue::new(agent, 64), Queue::new(agent, 64));
        let out = allocate(pool(agent, COARSE), 4 * 64);
        let bad = program.packet("write_at", 1, &[out as u64, 1 << 30]);
        queue.submit(DISPATCH, 1, bad);
        assert_eq!(error_of(&queue), S::HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
        let report = queue.report();
        for part in ["write_at", "lane", "pc", "write of 4 bytes", target] {
            assert!(report.contains(part), "{part} in {report}");
        }
        assert_eq!(hsa!(hsa_signal_load_relaxed(bad.completion_signal)), 1);
        run(&other, program.packet("number", 1, &[out as u64, 1]));
        run(&Queue::new(agent, 64), program.packet("number", 1, &[out as u64, 2]));
        assert_eq!(slice::<u32>(out, 64)[0], 2);
        assert_eq!(other.report(), "");
        free(out);
    }
}

#[test]
fn freed_memory_is_told_from_memory_that_never_was() {
    let agent = gpu("gfx1100");
    let program = Program::load(agent, "gfx1100");
    let queue = Queue::new(agent, 64);
    let out = allocate(pool(agent, COARSE), 4 * 64);
    free(out);
    queue.submit(DISPATCH, 1, program.packet("number", 1, &[out as u64, 0]));
    assert_eq!(error_of(&queue), S::HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
    assert!(queue.report().contains("after free"), "{}", queue.report());
}

#[test]
fn a_trap_and_bad_sizes_have_codes_of_their_own() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let trap = program.packet("give_up", 1, &[]);
        let number = program.packet("number", 1, &[0, 0]);
        for (packet, setup, status) in [
            (trap, 1, S::HSA_STATUS_ERROR_EXCEPTION),
            (
                hsa_kernel_dispatch_packet_t { grid_size_x: 0, ..number },
                1,
                S::HSA_STATUS_ERROR_INVALID_ARGUMENT,
            ),
            (
                hsa_kernel_dispatch_packet_t { workgroup_size_x: 2048, ..number },
                1,
                S::HSA_STATUS_ERROR_INVALID_ARGUMENT,
            ),
            (
                hsa_kernel_dispatch_packet_t { group_segment_size: 1 << 20, ..number },
                1,
                S::HSA_STATUS_ERROR_INVALID_ALLOCATION,
            ),
            (
                hsa_kernel_dispatch_packet_t { kernel_object: number.kernel_object + 8, ..number },
                1,
                S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
            ),
            (number, 0, S::HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS),
            (number, 4, S::HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS),
        ] {
            let queue = Queue::new(agent, 64);
            queue.submit(DISPATCH, setup, packet);
            assert_eq!(error_of(&queue), status, "{}", queue.report());
        }
    }
}

#[test]
fn code_for_another_target_is_refused() {
    let agent = gpu("gfx1100");
    let bytes = code("probe", "gfx90a");
    let mut executable = hsa_executable_t { handle: 0 };
    ok!(hsa_executable_create_alt(
        hsa_profile_t::HSA_PROFILE_BASE,
        hsa_default_float_rounding_mode_t::HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
        null(),
        &mut executable
    ));
    let mut reader = hsa_code_object_reader_t { handle: 0 };
    ok!(hsa_code_object_reader_create_from_memory(bytes.as_ptr().cast(), bytes.len(), &mut reader));
    assert_eq!(
        hsa!(hsa_executable_load_agent_code_object(executable, agent, reader, null(), null_mut())),
        S::HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS
    );
    ok!(hsa_code_object_reader_destroy(reader));
    ok!(hsa_executable_destroy(executable));
}

#[test]
fn symbols_are_found_listed_and_gone_with_their_executable() {
    let agent = gpu("gfx90a");
    let program = Program::load(agent, "gfx90a");
    assert_eq!(program.symbol("no_such_kernel.kd"), Err(S::HSA_STATUS_ERROR_INVALID_SYMBOL_NAME));
    // A kernel's code is not an HSA symbol. Programs that try it first then look up the kernel.
    assert_eq!(program.symbol("number"), Err(S::HSA_STATUS_ERROR_INVALID_SYMBOL_NAME));
    let number = program.symbol("number.kd").unwrap();
    assert_eq!(program.symbol("number.kd").unwrap(), number);

    unsafe extern "C" fn collect(
        _: hsa_executable_t,
        symbol: hsa_executable_symbol_t,
        list: *mut c_void,
    ) -> S {
        // SAFETY: the list is the one passed below.
        unsafe { &mut *list.cast::<Vec<hsa_executable_symbol_t>>() }.push(symbol);
        S::HSA_STATUS_SUCCESS
    }
    let mut list: Vec<hsa_executable_symbol_t> = Vec::new();
    ok!(hsa_executable_iterate_symbols(program.executable, Some(collect), (&raw mut list).cast()));
    assert!(list.contains(&number));
    let name = |symbol| {
        use hsa_executable_symbol_info_t as I;
        let mut length = 0u32;
        let place: *mut c_void = (&raw mut length).cast();
        ok!(hsa_executable_symbol_get_info(symbol, I::HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, place));
        let mut bytes = vec![0u8; length as usize];
        let place: *mut c_void = bytes.as_mut_ptr().cast();
        ok!(hsa_executable_symbol_get_info(symbol, I::HSA_EXECUTABLE_SYMBOL_INFO_NAME, place));
        String::from_utf8(bytes).unwrap()
    };
    let names: Vec<String> = list.iter().map(|&symbol| name(symbol)).collect();
    for expected in ["number.kd", "write_at.kd", "give_up.kd", "scale", "shift_by"] {
        assert!(names.iter().any(|name| name == expected), "{expected} in {names:?}");
    }
    let object = program.packet("number", 1, &[0, 0]).kernel_object;
    let mut host = null();
    ok!(hsa_ven_amd_loader_query_host_address(object as *const c_void, &mut host));
    assert_eq!(host as u64, object);
    let mut found = hsa_executable_t { handle: 0 };
    ok!(hsa_ven_amd_loader_query_executable(object as *const c_void, &mut found));
    assert_eq!(found, program.executable);
    drop(program);
    let mut kind = 0u32;
    let status = hsa!(hsa_executable_symbol_get_info(
        number,
        hsa_executable_symbol_info_t::HSA_EXECUTABLE_SYMBOL_INFO_TYPE,
        (&raw mut kind).cast()
    ));
    assert_eq!(status, S::HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
    assert!(
        hsa!(hsa_ven_amd_loader_query_executable(object as *const c_void, &mut found))
            != S::HSA_STATUS_SUCCESS
    );
}

/// A grid of short workgroups ends at the time limit, and so does waiting for its queue to be destroyed.
#[test]
fn destroying_a_queue_waits_no_longer_than_a_dispatch_may_run() {
    let agent = gpu("gfx1100");
    let program = Program::load(agent, "gfx1100");
    let out = allocate(pool(agent, COARSE), 64);
    let packet = program.packet("count_down", 1 << 25, &[out as u64]);
    let machine = vgpu::machine::Machine::global();
    // Other tests in the process take less time.
    machine.set_timeout(Some(Duration::from_secs(2)));
    let queue = Queue::new(agent, 64);
    queue.submit(DISPATCH, 1, packet);
    let began = Instant::now();
    drop(queue);
    machine.set_timeout(None);
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    assert_eq!(hsa!(hsa_signal_load_scacquire(packet.completion_signal)), 1, "it did not complete");
    free(out);
}

/// A word that kernels change.
fn word(memory: *mut c_void) -> i64 {
    // SAFETY: the tests allocate as much, and everybody accesses the word atomically.
    unsafe { AtomicI64::from_ptr(memory.cast()) }.load(Ordering::Acquire)
}

/// Waits until kernels change the word, which is initially 0.
fn wait_for_change(memory: *mut c_void) {
    let end = Instant::now() + Duration::from_secs(20);
    while word(memory) == 0 {
        assert!(Instant::now() < end, "the kernel does not begin");
        std::thread::yield_now();
    }
}

fn assert_still(memory: *mut c_void) {
    let seen = word(memory);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(word(memory), seen, "a kernel goes on");
}

#[test]
fn nothing_of_an_inactive_queue_runs() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let out = allocate(pool(agent, COARSE), 64);
        let packet = program.packet("count_down", 1 << 25, &[out as u64]);
        let queue = Queue::new(agent, 64);
        queue.submit(DISPATCH, 1, packet);
        let behind = queue.barrier(BARRIER_AND, &[]);
        wait_for_change(out);
        let began = Instant::now();
        ok!(hsa_queue_inactivate(queue.raw));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert_still(out);
        for signal in [packet.completion_signal, behind] {
            assert_eq!(hsa!(hsa_signal_load_scacquire(signal)), 1, "it did not complete");
        }
        assert!(queue.errors.lock().unwrap().is_empty(), "the program asked for it");
        // Calling it again is harmless.
        ok!(hsa_queue_inactivate(queue.raw));
        drop(queue);
        free(out);
    }
}

/// The header of a kernel without the barrier bit: it may begin while earlier ones run.
const BESIDE: u16 = DISPATCH & !(1 << 8);

#[test]
fn sixteen_kernels_of_a_queue_can_wait_for_each_other() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let begun = allocate(pool(agent, COARSE), 64);
        let queue = Queue::new(agent, 64);
        // Twice, so that threads of the first time are used again.
        for round in 1..=2 {
            let packets: Vec<_> =
                (0..16).map(|_| program.packet("meet", 1, &[begun as u64, 16 * round])).collect();
            for packet in &packets {
                queue.submit(BESIDE, 1, *packet);
            }
            for packet in packets {
                queue.finish(packet.completion_signal);
            }
        }
        drop(queue);
        free(begun);
    }
}

#[test]
fn kernels_begin_in_order_and_after_everything_before_a_barrier_bit() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let memory = allocate(pool(agent, COARSE), 4096);
        let queue = Queue::new(agent, 64);
        for _ in 0..40 {
            let times = slice::<i64>(memory, 512);
            times.fill(-1);
            times[0] = 0;
            let mut packets = Vec::new();
            for index in 0..1 + random(24) {
                // One slice, some, and more than it takes to start a thread.
                let turns = [0, 3_000, 60_000][random(3) as usize];
                let times = memory as u64 + 16 + 16 * index;
                let packet = program.packet("stay", 1, &[memory as u64, times, turns]);
                let header = if random(4) == 0 { DISPATCH } else { BESIDE };
                packets.push((header, packet));
            }
            for (header, packet) in &packets {
                queue.submit(*header, 1, *packet);
            }
            for (_, packet) in &packets {
                queue.finish(packet.completion_signal);
            }
            let times: Vec<[i64; 2]> =
                (0..packets.len()).map(|index| [times[2 + 2 * index], times[3 + 2 * index]]).collect();
            for (index, (header, _)) in packets.iter().enumerate() {
                let [begin, end] = times[index];
                assert!(0 <= begin && begin < end, "{times:?}");
                for earlier in &times[..index] {
                    let after = if *header == DISPATCH { earlier[1] } else { earlier[0] };
                    assert!(begin > after, "kernel {index} of {times:?}, header {header:#x}");
                }
            }
        }
        drop(queue);
        free(memory);
    }
}

#[test]
fn whoever_is_told_of_a_fault_finds_nothing_of_the_queue_running() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let out = allocate(pool(agent, COARSE), 64);
        let gate = signal(1);
        // The trapping kernel is the last one, which the packet processor runs, or another.
        for order in
            [["count_down", "give_up_after", "count_down"], ["count_down", "count_down", "give_up_after"]]
        {
            slice::<i64>(out, 1)[0] = 0;
            hsa!(hsa_signal_store_screlease(gate, 1));
            let queue = Queue::new(agent, 64);
            queue.barrier(BARRIER_AND, &[gate]);
            let packets = order.map(|kernel| program.packet(kernel, 1 << 24, &[out as u64]));
            for packet in packets {
                queue.submit(BESIDE, 1, packet);
            }
            hsa!(hsa_signal_store_screlease(gate, 0));
            assert_eq!(error_of(&queue), S::HSA_STATUS_ERROR_EXCEPTION);
            assert_still(out);
            for packet in packets {
                assert_eq!(hsa!(hsa_signal_load_scacquire(packet.completion_signal)), 1);
            }
        }
        free(out);
    }
}

#[test]
fn a_guarded_queue_and_signal_are_read_only_to_kernels() {
    let ext = &vgpu::hsa::table().ext;
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let mut guarded = hsa_signal_t { handle: 0 };
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { ext.signal_create_guarded.unwrap()(1, &mut guarded) }, S::HSA_STATUS_SUCCESS);
        let open = Queue::new(agent, 64);
        // SAFETY: the queue exists.
        let ring = |queue: &Queue| unsafe { (*queue.raw).base_address as u64 };
        // Elsewhere, kernels may submit packets, as HSA allows: this one writes where there is no packet yet.
        run(&open, program.packet("write_at", 1, &[ring(&open), 40 * 16]));
        let queue = Queue::new(agent, 64);
        // SAFETY: the queue exists.
        assert_eq!(unsafe { ext.queue_guard.unwrap()(queue.raw) }, S::HSA_STATUS_SUCCESS);
        run(
            &queue,
            hsa_kernel_dispatch_packet_t {
                completion_signal: guarded,
                ..program.packet("count_down", 1, &[allocate(pool(agent, COARSE), 64) as u64])
            },
        );
        for address in [ring(&queue), queue.raw as u64, guarded.handle + 8] {
            let victim = Queue::new(agent, 64);
            victim.submit(DISPATCH, 1, program.packet("write_at", 1, &[address, 0]));
            assert_eq!(error_of(&victim), S::HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
            let report = victim.report();
            assert!(report.contains("queues and signals of the runtime"), "{report}");
        }
        // The attacked queue continues.
        queue.finish(queue.barrier(BARRIER_AND, &[]));
        ok!(hsa_signal_destroy(guarded));
    }
}

#[test]
fn a_kernel_rings_the_doorbell_of_a_queue() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let (queue, other) = (Queue::new(agent, 64), Queue::new(agent, 64));
        // SAFETY: the queue exists.
        let doorbell = unsafe { (*other.raw).doorbell_signal };
        // SAFETY: as above; a doorbell's signal has the address that kernels ring.
        let address = unsafe {
            let signal = &*(doorbell.handle as *const amd_signal_t);
            assert_eq!(signal.kind, i64::from(amd_signal_kind_t::AMD_SIGNAL_KIND_DOORBELL.0));
            signal.__bindgen_anon_1.hardware_doorbell_ptr as u64
        };
        // Unlike that of a GPU, the word is memory, and -1 as long as nobody has rung.
        run(&queue, program.packet("count_down", 1, &[address]));
        assert_eq!(hsa!(hsa_signal_load_scacquire(doorbell)), -2);
        // As when the host rings, the queue goes on.
        other.finish(other.barrier(BARRIER_AND, &[]));
    }
}

#[test]
fn a_queue_says_which_packet_it_waits_for() {
    let agent = gpu("gfx1100");
    let queue = Queue::new(agent, 64);
    // SAFETY: the queue exists, or does not exist any more.
    let missing = |raw| unsafe { vgpu::hsa::table().ext.queue_missing_packet.unwrap()(raw) };
    let settles = |expected| {
        let end = Instant::now() + Duration::from_secs(10);
        while missing(queue.raw) != expected {
            assert!(Instant::now() < end, "{} instead of {expected}", missing(queue.raw));
            std::thread::yield_now();
        }
    };
    settles(0);
    let gate = signal(1);
    let done = queue.barrier(BARRIER_AND, &[gate]);
    settles(u64::MAX);
    for _ in 0..20 {
        assert_eq!(missing(queue.raw), u64::MAX, "it waits for a signal");
        std::thread::sleep(Duration::from_millis(1));
    }
    hsa!(hsa_signal_store_screlease(gate, 0));
    queue.finish(done);
    settles(1);
    // A packet that is announced but missing, as if it had been overwritten.
    hsa!(hsa_queue_add_write_index_scacq_screl(queue.raw, 1));
    settles(1);
    let raw = queue.raw;
    drop(queue);
    assert_eq!(missing(raw), u64::MAX);
}

#[test]
fn the_host_may_touch_what_is_its_own_and_what_lives() {
    let agent = gpu("gfx1100");
    // SAFETY: nothing is read.
    let may = |pointer: *const c_void, size| unsafe {
        vgpu::hsa::table().ext.host_can_access.unwrap()(pointer, size)
    };
    let own = [0u8; 100];
    assert!(may(own.as_ptr().cast(), own.len()));
    let memory = allocate(pool(agent, COARSE), 4096);
    assert!(may(memory, 4096) && !may(memory, 4097));
    free(memory);
    assert!(!may(memory, 1) && !may(memory.wrapping_byte_add(100), 16));
    let mut reserved = null_mut();
    ok!(hsa_amd_vmem_address_reserve(&mut reserved, 1 << 20, 0, 0));
    assert!(!may(reserved, 1));
    ok!(hsa_amd_vmem_address_free(reserved, 1 << 20));
}
