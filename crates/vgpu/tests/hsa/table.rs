//! The HSA table without kernels: agents, pools, copies, signals, queues, and the errors of each.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::common::*;
use hsa_sys::*;
use vgpu::machine::TARGETS;

#[test]
fn nothing_works_before_init_and_counts_are_kept() {
    // Other tests may have initialised the runtime in this process, so only the count is checked.
    ok!(hsa_init());
    ok!(hsa_init());
    ok!(hsa_shut_down());
    ok!(hsa_shut_down());
}

#[test]
fn the_table_says_what_it_has() {
    let table = vgpu::hsa::table();
    assert!(table.has("hsa_init") && table.has("hsa_queue_create") && !table.has("hsa_ext_image_clear"));
    assert_eq!(table.implementation(), Some("virtual GPU"));
    ok!(hsa_init());
    assert!(vgpu::hsa::is_behind(table) && !vgpu::hsa::is_behind(Table::unsupported()));
    ok!(hsa_shut_down());
    let (image, nobody) = (hsa_ext_image_t { handle: 0 }, hsa_agent_t { handle: 0 });
    let cleared = hsa!(hsa_ext_image_clear(nobody, image, std::ptr::null(), std::ptr::null()));
    assert_eq!(cleared, S::HSA_STATUS_ERROR_NOT_SUPPORTED);
}

/// Everything that AMD's HIP and rocminfo call; other functions report that they are not supported.
#[test]
fn every_function_that_hip_calls_is_there() {
    let missing: Vec<&str> = include_str!("called_by_hip.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter(|name| !vgpu::hsa::table().has(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn agents_describe_themselves() {
    for name in TARGETS.iter().map(|target| target.name) {
        let (isa, wave) = match name.starts_with("gfx9") {
            true => (format!("amdgcn-amd-amdhsa--{name}:sramecc+:xnack-"), 64u32),
            false => (format!("amdgcn-amd-amdhsa--{name}"), 32),
        };
        let agent = gpu(name);
        assert_eq!(text(&agent_info(agent, hsa_agent_info_t::HSA_AGENT_INFO_NAME.0, [1u8; 64])), name);
        assert_eq!(agent_info(agent, hsa_agent_info_t::HSA_AGENT_INFO_WAVEFRONT_SIZE.0, 0u32), wave);
        assert_eq!(agent_info(agent, hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT.0, 0u32), 2);
        let uuid = text(&agent_info(agent, hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_UUID.0, [1u8; 21]));
        assert!(uuid.len() == 20 && uuid.starts_with("GPU-"), "{uuid}");
        let handle = agent_info(agent, hsa_agent_info_t::HSA_AGENT_INFO_ISA.0, hsa_isa_t { handle: 0 });
        let mut length = 0u32;
        ok!(hsa_isa_get_info_alt(handle, hsa_isa_info_t::HSA_ISA_INFO_NAME_LENGTH, (&raw mut length).cast()));
        let mut bytes = vec![1u8; length as usize];
        ok!(hsa_isa_get_info_alt(handle, hsa_isa_info_t::HSA_ISA_INFO_NAME, bytes.as_mut_ptr().cast()));
        assert_eq!(text(&bytes), isa);
        let mut found = hsa_isa_t { handle: 0 };
        ok!(hsa_isa_from_name(bytes.as_ptr().cast(), &mut found));
        assert_eq!(found, handle);
    }
    assert_eq!(agent_info(host(), hsa_agent_info_t::HSA_AGENT_INFO_DEVICE.0, 9u32), 0);
}

/// The attributes that AMD's HIP queries from a GPU. Each must exist and leave bytes beyond its type
/// unchanged.
#[test]
fn every_attribute_that_hip_asks_for_is_there() {
    let agent = gpu("gfx1100");
    let attributes = [
        0, 4, 6, 7, 8, 14, 17, 18, 20, 21, 22, 0xA000, 0xA001, 0xA002, 0xA003, 0xA004, 0xA006, 0xA007,
        0xA008, 0xA009, 0xA00A, 0xA00B, 0xA00E, 0xA00F, 0xA010, 0xA011, 0xA012, 0xA013, 0xA014, 0xA015,
        0xA016, 0xA10A, 0xA111, 0xA114, 0xA116,
    ];
    for attribute in attributes {
        let mut value = [0x5au8; 256];
        ok!(hsa_agent_get_info(agent, hsa_agent_info_t(attribute), value.as_mut_ptr().cast()));
        assert!(value[128..].iter().all(|&byte| byte == 0x5a), "{attribute:#x}");
    }
}

#[test]
fn bad_handles_and_null_pointers_are_errors() {
    let agent = gpu("gfx1100");
    let nobody = hsa_agent_t { handle: 7 };
    let mut value = 0u64;
    let place: *mut c_void = (&raw mut value).cast();
    let invalid = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
    assert_eq!(hsa!(hsa_iterate_agents(None, null_mut())), invalid);
    assert_eq!(
        hsa!(hsa_agent_get_info(nobody, hsa_agent_info_t(0), place)),
        S::HSA_STATUS_ERROR_INVALID_AGENT
    );
    assert_eq!(hsa!(hsa_agent_get_info(agent, hsa_agent_info_t(0), null_mut())), invalid);
    assert_eq!(hsa!(hsa_agent_get_info(agent, hsa_agent_info_t(0xBEEF), place)), invalid);
    let no_pool = hsa_amd_memory_pool_t { handle: u64::MAX };
    let mut pointer = null_mut();
    assert_eq!(
        hsa!(hsa_amd_memory_pool_allocate(no_pool, 1, 0, &mut pointer)),
        S::HSA_STATUS_ERROR_INVALID_MEMORY_POOL
    );
    let coarse = pool(agent, COARSE);
    assert_eq!(hsa!(hsa_amd_memory_pool_allocate(coarse, 0, 0, &mut pointer)), invalid);
    assert_eq!(hsa!(hsa_amd_memory_pool_allocate(coarse, 8, 0, null_mut())), invalid);
    assert_eq!(
        hsa!(hsa_amd_memory_pool_allocate(coarse, usize::MAX, 0, &mut pointer)),
        S::HSA_STATUS_ERROR_INVALID_ALLOCATION
    );
    let on_stack: *mut c_void = (&raw mut value).cast();
    assert_eq!(hsa!(hsa_amd_memory_pool_free(on_stack)), S::HSA_STATUS_ERROR_INVALID_ALLOCATION);
    ok!(hsa_amd_memory_pool_free(null_mut()));
    assert_eq!(hsa!(hsa_signal_create(0, 0, null(), null_mut())), invalid);
    assert_eq!(hsa!(hsa_signal_destroy(hsa_signal_t { handle: 0 })), invalid);
    assert_eq!(hsa!(hsa_signal_destroy(hsa_signal_t { handle: 12345 })), S::HSA_STATUS_ERROR_INVALID_SIGNAL);
    assert_eq!(hsa!(hsa_signal_load_relaxed(hsa_signal_t { handle: 12345 })), 0);
    let mut queue = null_mut();
    let create = |agent, size, place| {
        hsa!(hsa_queue_create(agent, size, 0, None, null_mut(), u32::MAX, u32::MAX, place))
    };
    assert_eq!(create(agent, 100, &raw mut queue), invalid);
    assert_eq!(create(agent, 0, &raw mut queue), invalid);
    assert_eq!(create(agent, 64, null_mut()), invalid);
    assert_eq!(create(host(), 64, &raw mut queue), S::HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
    assert_eq!(hsa!(hsa_queue_destroy(null_mut())), invalid);
    assert_eq!(hsa!(hsa_queue_destroy(on_stack.cast())), S::HSA_STATUS_ERROR_INVALID_QUEUE);
    assert_eq!(hsa!(hsa_system_get_info(hsa_system_info_t(0), null_mut())), invalid);
    assert_eq!(hsa!(hsa_system_get_major_extension_table(0x201, 1, 24, null_mut())), invalid);
    assert_eq!(hsa!(hsa_system_get_major_extension_table(0x999, 1, 24, place)), invalid);
    assert_eq!(
        hsa!(hsa_executable_freeze(hsa_executable_t { handle: 3 }, null())),
        S::HSA_STATUS_ERROR_INVALID_EXECUTABLE
    );
    assert_eq!(hsa!(hsa_memory_copy(null_mut(), on_stack, 8)), invalid);
}

#[test]
fn memory_is_counted_copied_filled_and_described() {
    let agent = gpu("gfx90a");
    let available = || agent_info(agent, hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_MEMORY_AVAIL.0, 0u64);
    let before = available();
    let device = allocate(pool(agent, COARSE), 1 << 20);
    assert_eq!(available(), before - (1 << 20));
    ok!(hsa_amd_agents_allow_access(1, &host(), null(), device));
    ok!(hsa_amd_memory_fill(device, 0x0102_0304, 1 << 18));
    let mut mine = vec![0u32; 1 << 18];
    ok!(hsa_memory_copy(mine.as_mut_ptr().cast(), device, 1 << 20));
    assert!(mine.iter().all(|&word| word == 0x0102_0304));

    // A range that exceeds the allocation is refused, and nothing is written.
    let invalid = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
    assert_eq!(hsa!(hsa_memory_copy(device, mine.as_ptr().cast(), (1 << 20) + 1)), invalid);
    assert_eq!(hsa!(hsa_amd_memory_fill(device, 0, (1 << 18) + 1)), S::HSA_STATUS_ERROR_INVALID_ALLOCATION);
    assert_eq!(hsa!(hsa_amd_memory_fill(device.wrapping_byte_add(2), 0, 1)), invalid);
    assert_eq!(slice::<u32>(device, 1 << 18)[(1 << 18) - 1], 0x0102_0304);

    let mut info =
        hsa_amd_pointer_info_t { size: size_of::<hsa_amd_pointer_info_t>() as u32, ..Default::default() };
    let inside = device.wrapping_byte_add(100);
    ok!(hsa_amd_pointer_info(inside, &mut info, None, null_mut(), null_mut()));
    assert_eq!(info.type_, hsa_amd_pointer_type_t::HSA_EXT_POINTER_TYPE_HSA);
    assert_eq!((info.agentBaseAddress, info.sizeInBytes, info.agentOwner), (device, 1 << 20, agent));
    ok!(hsa_amd_pointer_info(mine.as_ptr().cast(), &mut info, None, null_mut(), null_mut()));
    assert_eq!(info.type_, hsa_amd_pointer_type_t::HSA_EXT_POINTER_TYPE_UNKNOWN);

    free(device);
    assert_eq!(available(), before);
    assert_eq!(hsa!(hsa_amd_memory_pool_free(device)), S::HSA_STATUS_ERROR_INVALID_ALLOCATION);
    assert_eq!(
        hsa!(hsa_memory_copy(mine.as_mut_ptr().cast(), device, 4)),
        S::HSA_STATUS_ERROR_INVALID_ALLOCATION
    );
}

#[test]
fn locked_memory_is_known_until_the_last_unlock() {
    let mut agent = gpu("gfx1100");
    let mut mine = vec![7u8; 5000];
    let host: *mut c_void = mine.as_mut_ptr().cast();
    let mut seen = null_mut();
    ok!(hsa_amd_memory_lock(host, 5000, &mut agent, 1, &mut seen));
    ok!(hsa_amd_memory_lock(host, 5000, &mut agent, 1, &mut seen));
    assert_eq!(seen, host);
    let kind = || {
        let mut info =
            hsa_amd_pointer_info_t { size: size_of::<hsa_amd_pointer_info_t>() as u32, ..Default::default() };
        ok!(hsa_amd_pointer_info(host, &mut info, None, null_mut(), null_mut()));
        info.type_
    };
    ok!(hsa_amd_memory_unlock(host));
    assert_eq!(kind(), hsa_amd_pointer_type_t::HSA_EXT_POINTER_TYPE_LOCKED);
    ok!(hsa_amd_memory_unlock(host));
    assert_eq!(kind(), hsa_amd_pointer_type_t::HSA_EXT_POINTER_TYPE_UNKNOWN);
    assert_eq!(hsa!(hsa_amd_memory_unlock(host)), S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_eq!(
        hsa!(hsa_amd_memory_lock(host, 0, null_mut(), 0, &mut seen)),
        S::HSA_STATUS_ERROR_INVALID_ARGUMENT
    );
}

#[test]
fn memory_that_was_locked_once_is_copied_like_any_other() {
    let agent = gpu("gfx1100");
    let device = allocate(pool(agent, COARSE), 1 << 20);
    let mut mine = vec![7u8; 1 << 20];
    let mut seen = null_mut();
    ok!(hsa_amd_memory_lock(mine.as_mut_ptr().cast(), 1 << 20, null_mut(), 0, &mut seen));
    ok!(hsa_amd_memory_unlock(mine.as_mut_ptr().cast()));
    ok!(hsa_memory_copy(device, mine.as_ptr().cast(), 1 << 20));
    assert_eq!(slice::<u8>(device, 1 << 20)[(1 << 20) - 1], 7);
    free(device);
}

#[test]
fn signals_change_and_wake() {
    ok!(hsa_init());
    let signal = signal(5);
    hsa!(hsa_signal_add_scacq_screl(signal, 3));
    hsa!(hsa_signal_subtract_relaxed(signal, 1));
    assert_eq!(hsa!(hsa_signal_cas_scacq_screl(signal, 7, 9)), 7);
    assert_eq!(hsa!(hsa_signal_cas_relaxed(signal, 7, 1)), 9);
    assert_eq!(hsa!(hsa_signal_exchange_relaxed(signal, 12)), 9);
    hsa!(hsa_signal_and_relaxed(signal, 4));
    hsa!(hsa_signal_or_relaxed(signal, 3));
    hsa!(hsa_signal_xor_relaxed(signal, 1));
    assert_eq!(hsa!(hsa_signal_load_scacquire(signal)), 6);

    let begin = Instant::now();
    assert_eq!(hsa!(hsa_signal_wait_scacquire(signal, LT, 1, 20_000_000, BLOCKED)), 6);
    assert!(begin.elapsed() >= Duration::from_millis(20));
    let waiter = std::thread::spawn(move || wait(signal));
    std::thread::sleep(Duration::from_millis(5));
    hsa!(hsa_signal_store_screlease(signal, -4));
    assert_eq!(waiter.join().unwrap(), -4);

    // The value can also be changed through memory, as kernels do.
    let mut value = null_mut();
    ok!(hsa_amd_signal_value_pointer(signal, &mut value));
    let changer = std::thread::spawn({
        let value = value as usize;
        move || {
            std::thread::sleep(Duration::from_millis(5));
            // SAFETY: the value is eight aligned bytes that live as long as the signal.
            unsafe { std::sync::atomic::AtomicI64::from_ptr(value as *mut i64) }.store(77, Ordering::SeqCst);
        }
    });
    assert_eq!(hsa!(hsa_signal_wait_relaxed(signal, EQ, 77, NEVER, BLOCKED)), 77);
    changer.join().unwrap();
    ok!(hsa_signal_destroy(signal));
    assert_eq!(hsa!(hsa_signal_destroy(signal)), S::HSA_STATUS_ERROR_INVALID_SIGNAL);
}

#[test]
fn several_signals_can_be_waited_for() {
    ok!(hsa_init());
    let mut signals = [signal(1), signal(1)];
    let mut conditions = [EQ, EQ];
    let mut values = [0i64, 0];
    let mut seen = 5i64;
    let mut waited = |timeout, seen: &mut i64, signals: &mut [hsa_signal_t; 2]| {
        hsa!(hsa_amd_signal_wait_any(
            2,
            signals.as_mut_ptr(),
            conditions.as_mut_ptr(),
            values.as_mut_ptr(),
            timeout,
            BLOCKED,
            seen
        ))
    };
    assert_eq!(waited(1_000_000, &mut seen, &mut signals), u32::MAX);
    hsa!(hsa_signal_store_relaxed(signals[1], 0));
    assert_eq!((waited(NEVER, &mut seen, &mut signals), seen), (1, 0));
}

#[test]
fn handlers_are_called_until_they_have_enough() {
    ok!(hsa_init());
    static CALLS: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn handler(value: i64, data: *mut c_void) -> bool {
        assert_eq!(data as usize, 0x1234);
        let again = CALLS.fetch_add(1, Ordering::SeqCst) == 0;
        if again {
            // A handler may call HSA: this one arms the signal again, and is called again.
            hsa!(hsa_signal_store_relaxed(hsa_signal_t { handle: SIGNAL.load(Ordering::SeqCst) }, value - 1));
        }
        again
    }
    static SIGNAL: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let signal = signal(1);
    SIGNAL.store(signal.handle, Ordering::SeqCst);
    ok!(hsa_amd_signal_async_handler(signal, LT, 1, Some(handler), 0x1234 as *mut c_void));
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(CALLS.load(Ordering::SeqCst), 0);
    hsa!(hsa_signal_store_relaxed(signal, 0));
    let begin = Instant::now();
    while CALLS.load(Ordering::SeqCst) < 2 && begin.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(CALLS.load(Ordering::SeqCst), 2);
    ok!(hsa_signal_destroy(signal));
}

#[test]
fn callbacks_that_are_due_run_before_the_process_ends() {
    const CHILD: &str = "FERROCM_TEST_ENDS_WITH_A_CALLBACK_DUE";
    unsafe extern "C" fn handler(_: i64, _: *mut c_void) -> bool {
        std::thread::sleep(Duration::from_millis(100));
        eprintln!("called back");
        false
    }
    if std::env::var_os(CHILD).is_some() {
        ok!(hsa_init());
        let signal = signal(1);
        ok!(hsa_amd_signal_async_handler(signal, LT, 1, Some(handler), null_mut()));
        hsa!(hsa_signal_store_relaxed(signal, 0));
        std::process::exit(0);
    }
    let ended = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "table::callbacks_that_are_due_run_before_the_process_ends", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("this program starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("called back"), "{:?}: {said}", ended.status);
}

#[test]
fn copies_wait_for_what_they_depend_on() {
    let agent = gpu("gfx1100");
    let (from, to) = (allocate(pool(host(), FINE), 4096), allocate(pool(agent, COARSE), 4096));
    slice::<u8>(from, 4096).fill(3);
    let (before, first, second) = (signal(1), signal(1), signal(1));
    ok!(hsa_amd_memory_async_copy(to, agent, from, host(), 4096, 1, &before, first));
    // A later copy without dependencies overtakes it.
    ok!(hsa_amd_memory_async_copy(to.wrapping_byte_add(8), agent, from, host(), 8, 0, null(), second));
    assert_eq!(wait(second), 0);
    assert_eq!(hsa!(hsa_signal_load_relaxed(first)), 1);
    assert_eq!(&slice::<u8>(to, 4096)[..17], &[0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 0]);
    hsa!(hsa_signal_store_relaxed(before, 0));
    assert_eq!(wait(first), 0);
    assert!(slice::<u8>(to, 4096).iter().all(|&byte| byte == 3));
    let mut time = hsa_amd_profiling_async_copy_time_t::default();
    ok!(hsa_amd_profiling_get_async_copy_time(first, &mut time));
    assert!(time.start > 0 && time.end >= time.start);

    let mut engines = 0;
    ok!(hsa_amd_memory_copy_engine_status(agent, host(), &mut engines));
    assert_ne!(engines, 0);
    assert_eq!(
        hsa!(hsa_amd_memory_async_copy(to, agent, from, host(), 4097, 0, null(), first)),
        S::HSA_STATUS_ERROR_INVALID_ARGUMENT
    );
    assert_eq!(
        hsa!(hsa_amd_memory_async_copy(to, agent, from, host(), 8, 0, null(), hsa_signal_t { handle: 0 })),
        S::HSA_STATUS_ERROR_INVALID_SIGNAL
    );
    free(from);
    free(to);
}

#[test]
fn copies_on_one_engine_keep_their_order() {
    let agent = gpu("gfx1100");
    let (from, to) = (allocate(pool(host(), FINE), 64), allocate(pool(agent, COARSE), 64));
    slice::<u8>(from, 64).fill(3);
    let (before, done) = (signal(1), [signal(1), signal(1), signal(1)]);
    // AMD's runtime names what precedes the first copy, and relies on the engine for the second.
    let copy = |number: usize, engine, dependencies, list| {
        let to = to.wrapping_byte_add(16 * number);
        let engine = hsa_amd_sdma_engine_id_t(engine);
        let (end, count) = (done[number], dependencies);
        ok!(hsa_amd_memory_async_copy_on_engine(
            to,
            agent,
            from,
            host(),
            16,
            count,
            list,
            end,
            engine,
            false
        ));
    };
    copy(0, 1, 1, &raw const before);
    copy(1, 1, 0, null());
    copy(2, 2, 0, null());
    assert_eq!(wait(done[2]), 0, "another engine goes on");
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(hsa!(hsa_signal_load_relaxed(done[1])), 1);
    assert_eq!(slice::<u8>(to, 64)[16..32], [0; 16]);
    hsa!(hsa_signal_store_relaxed(before, 0));
    assert_eq!([wait(done[0]), wait(done[1])], [0, 0]);
    assert!(slice::<u8>(to, 64)[..48].iter().all(|&byte| byte == 3));
    free(from);
    free(to);
}

#[test]
fn a_rectangle_is_copied_row_by_row() {
    let agent = gpu("gfx1100");
    let (from, to) = (allocate(pool(host(), FINE), 64), allocate(pool(agent, COARSE), 64));
    for (index, byte) in slice::<u8>(from, 64).iter_mut().enumerate() {
        *byte = index as u8;
    }
    let pitched = |base| hsa_pitched_ptr_t { base, pitch: 8, slice: 64 };
    let origin = hsa_dim3_t { x: 2, y: 1, z: 0 };
    let range = hsa_dim3_t { x: 3, y: 2, z: 1 };
    let done = signal(1);
    ok!(hsa_amd_memory_async_copy_rect(
        &pitched(to),
        &hsa_dim3_t::default(),
        &pitched(from),
        &origin,
        &range,
        agent,
        hsa_amd_copy_direction_t::hsaHostToDevice,
        0,
        null(),
        done
    ));
    assert_eq!(wait(done), 0);
    assert_eq!(&slice::<u8>(to, 64)[..16], &[10, 11, 12, 0, 0, 0, 0, 0, 18, 19, 20, 0, 0, 0, 0, 0]);
    free(from);
    free(to);
}

#[test]
fn barriers_wait_and_complete_in_order() {
    let agent = gpu("gfx1100");
    let queue = Queue::new(agent, 64);
    let (first, second) = (signal(1), signal(1));
    let both = queue.barrier(BARRIER_AND, &[first, second]);
    let after = queue.barrier(BARRIER_AND, &[]);
    hsa!(hsa_signal_store_relaxed(first, 0));
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(hsa!(hsa_signal_load_relaxed(both)), 1);
    assert_eq!(hsa!(hsa_signal_load_relaxed(after)), 1);
    hsa!(hsa_signal_store_relaxed(second, 0));
    assert_eq!((wait(both), wait(after)), (0, 0));

    let (never, soon) = (signal(1), signal(1));
    let either = queue.barrier(BARRIER_OR, &[never, soon]);
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(hsa!(hsa_signal_load_relaxed(either)), 1);
    hsa!(hsa_signal_store_relaxed(soon, 0));
    assert_eq!(wait(either), 0);

    let (watched, done) = (signal(0xf00), signal(1));
    queue.submit(
        VENDOR,
        2,
        hsa_amd_barrier_value_packet_t {
            signal: watched,
            value: 0xb,
            mask: 0xff,
            cond: EQ.0,
            completion_signal: done,
            ..Default::default()
        },
    );
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(hsa!(hsa_signal_load_relaxed(done)), 1);
    hsa!(hsa_signal_store_relaxed(watched, 0x70b));
    assert_eq!(wait(done), 0);
    assert!(queue.errors.lock().unwrap().is_empty());
}

#[test]
fn a_ring_is_used_many_times_over_by_many_producers() {
    let agent = gpu("gfx1100");
    let queue = Queue::new(agent, 64);
    let shared = queue.raw as usize;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let queue = std::mem::ManuallyDrop::new(Queue {
                    raw: shared as *mut hsa_queue_t,
                    errors: Box::default(),
                });
                let done: Vec<_> = (0..300).map(|_| queue.barrier(BARRIER_AND, &[])).collect();
                for signal in done {
                    assert_eq!(wait(signal), 0);
                    ok!(hsa_signal_destroy(signal));
                }
            });
        }
    });
    assert_eq!(hsa!(hsa_queue_load_write_index_relaxed(queue.raw)), 900);
    assert_eq!(hsa!(hsa_queue_load_read_index_scacquire(queue.raw)), 900);
}

#[test]
fn a_bad_packet_ends_its_queue_and_no_other() {
    let agent = gpu("gfx1100");
    let queue = Queue::new(agent, 64);
    let other = Queue::new(agent, 64);
    assert_eq!(queue.report(), "");
    let number = queue.submit(0x0004, 0, hsa_barrier_and_packet_t::default());
    let late = queue.barrier(BARRIER_AND, &[]);
    let begin = Instant::now();
    while queue.errors.lock().unwrap().is_empty() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(*queue.errors.lock().unwrap(), [S::HSA_STATUS_ERROR_INVALID_PACKET_FORMAT]);
    assert!(
        queue.report().contains(&format!("packet {number} of the queue is an agent dispatch")),
        "{}",
        queue.report()
    );
    assert_eq!(wait(other.barrier(BARRIER_AND, &[])), 0);
    assert_eq!(wait(Queue::new(agent, 64).barrier(BARRIER_AND, &[])), 0);
    // The queue processes nothing any more.
    assert_eq!(hsa!(hsa_signal_load_relaxed(late)), 1);
    let mut small = [1u8; 4];
    let report = vgpu::hsa::table().ext.queue_fault_report.unwrap();
    // SAFETY: the buffer has four bytes, as is said.
    assert!(unsafe { report(queue.raw, small.as_mut_ptr().cast(), 4) } > 4);
    assert_eq!(small[3], 0);
}

#[test]
fn a_kernel_object_that_is_none_is_reported() {
    let agent = gpu("gfx1100");
    let queue = Queue::new(agent, 64);
    queue.submit(
        DISPATCH,
        1,
        hsa_kernel_dispatch_packet_t {
            workgroup_size_x: 64,
            grid_size_x: 64,
            kernel_object: 0x1_0000,
            ..Default::default()
        },
    );
    let begin = Instant::now();
    while queue.errors.lock().unwrap().is_empty() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(*queue.errors.lock().unwrap(), [S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT]);
    assert!(queue.report().contains("0x10000"), "{}", queue.report());
}

#[test]
fn a_waiting_queue_can_be_destroyed() {
    let agent = gpu("gfx1100");
    let queue = Queue::new(agent, 64);
    let never = signal(1);
    let done = queue.barrier(BARRIER_AND, &[never]);
    std::thread::sleep(Duration::from_millis(2));
    drop(queue);
    assert_eq!(hsa!(hsa_signal_load_relaxed(done)), 1);
}

#[test]
fn garbage_is_no_code_object() {
    let agent = gpu("gfx1100");
    let mut executable = hsa_executable_t { handle: 0 };
    ok!(hsa_executable_create_alt(
        hsa_profile_t::HSA_PROFILE_BASE,
        hsa_default_float_rounding_mode_t::HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
        null(),
        &mut executable
    ));
    let bytes = [0x7fu8; 100];
    let mut reader = hsa_code_object_reader_t { handle: 0 };
    ok!(hsa_code_object_reader_create_from_memory(bytes.as_ptr().cast(), bytes.len(), &mut reader));
    assert_eq!(
        hsa!(hsa_executable_load_agent_code_object(executable, agent, reader, null(), null_mut())),
        S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT
    );
    ok!(hsa_code_object_reader_destroy(reader));
    assert_eq!(hsa!(hsa_code_object_reader_destroy(reader)), S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
    assert_eq!(
        hsa!(hsa_executable_load_agent_code_object(executable, agent, reader, null(), null_mut())),
        S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER
    );
    ok!(hsa_executable_freeze(executable, null()));
    assert_eq!(hsa!(hsa_executable_freeze(executable, null())), S::HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
    ok!(hsa_executable_destroy(executable));
    assert_eq!(hsa!(hsa_executable_destroy(executable)), S::HSA_STATUS_ERROR_INVALID_EXECUTABLE);
}

#[test]
fn the_loader_extension_fills_as_much_as_is_asked_for() {
    ok!(hsa_init());
    let mut table = hsa_ven_amd_loader_1_03_pfn_t::default();
    ok!(hsa_system_get_major_extension_table(0x201, 1, 24, (&raw mut table).cast()));
    assert!(table.hsa_ven_amd_loader_query_executable.is_some());
    assert!(table.hsa_ven_amd_loader_executable_iterate_loaded_code_objects.is_none());
}

#[test]
fn every_status_has_a_text() {
    for status in [S::HSA_STATUS_SUCCESS, S::HSA_STATUS_ERROR_MEMORY_FAULT, S::HSA_STATUS_ERROR_NOT_SUPPORTED]
    {
        let mut text = null();
        ok!(hsa_status_string(status, &mut text));
        // SAFETY: the text is a static string.
        let text = unsafe { CStr::from_ptr(text) }.to_str().unwrap();
        assert!(text.starts_with(status.name().unwrap()), "{text}");
    }
    let mut text = null();
    assert_eq!(hsa!(hsa_status_string(S(0xdead), &mut text)), S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

/// As the headers specify for each function, and as AMD's runtime does.
#[test]
fn every_mistake_has_the_status_that_the_headers_give_it() {
    let agent = gpu("gfx1100");
    let invalid = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
    let queue = Queue::new(agent, 64);
    // SAFETY: the queue exists.
    let doorbell = unsafe { (*queue.raw).doorbell_signal };
    let mut signal = signal(1);

    // For some functions a null queue is an invalid argument, for others an invalid queue.
    assert_eq!(hsa!(hsa_queue_inactivate(null_mut())), invalid);
    assert_eq!(hsa!(hsa_amd_queue_set_priority(null_mut(), hsa_amd_queue_priority_t(1))), invalid);
    let no_queue = S::HSA_STATUS_ERROR_INVALID_QUEUE;
    assert_eq!(hsa!(hsa_amd_profiling_set_profiler_enabled(null_mut(), 1)), no_queue);
    assert_eq!(hsa!(hsa_amd_queue_cu_set_mask(null(), 0, null())), no_queue);
    assert_eq!(hsa!(hsa_amd_queue_cu_get_mask(null(), 32, [0u32].as_mut_ptr())), no_queue);
    assert_eq!(hsa!(hsa_queue_load_write_index_relaxed(null())), 0);
    assert_eq!(hsa!(hsa_queue_add_write_index_relaxed((&raw const signal).cast(), 7)), 0, "no queue");

    // Each consumer must be listed once.
    let twice = [agent, agent];
    assert_eq!(hsa!(hsa_signal_create(1, 2, twice.as_ptr(), &mut signal)), invalid);
    assert_eq!(hsa!(hsa_signal_create(1, 2, [agent, host()].as_ptr(), &mut signal)), S::HSA_STATUS_SUCCESS);
    let mut value = null_mut();
    assert_eq!(hsa!(hsa_amd_signal_value_pointer(doorbell, &mut value)), invalid);
    assert_eq!(hsa!(hsa_signal_destroy(doorbell)), S::HSA_STATUS_ERROR_INVALID_SIGNAL);
    let mut time = hsa_amd_profiling_dispatch_time_t::default();
    assert_eq!(
        hsa!(hsa_amd_profiling_get_dispatch_time(host(), signal, &mut time)),
        S::HSA_STATUS_ERROR_INVALID_AGENT
    );

    // A null range of size 0 can be registered, and anything can be deregistered.
    ok!(hsa_memory_register(null_mut(), 0));
    let mut mine = [0u64; 64];
    let place: *mut c_void = mine.as_mut_ptr().cast();
    assert_eq!(hsa!(hsa_memory_register(place, 0)), invalid);
    ok!(hsa_memory_deregister(place, 512));
    let memory = allocate(pool(agent, COARSE), 64);
    let flags = 0u32;
    assert_eq!(hsa!(hsa_amd_agents_allow_access(1, &agent, &flags, memory)), invalid);
    let rectangle = |direction| {
        let (pitched, origin) =
            (hsa_pitched_ptr_t { base: memory, pitch: 8, slice: 64 }, hsa_dim3_t::default());
        let range = hsa_dim3_t { x: 8, y: 1, z: 1 };
        hsa!(hsa_amd_memory_async_copy_rect(
            &pitched,
            &origin,
            &pitched,
            &origin,
            &range,
            agent,
            direction,
            0,
            null(),
            signal
        ))
    };
    assert_eq!(rectangle(hsa_amd_copy_direction_t::hsaHostToHost), invalid);
    assert_eq!(rectangle(hsa_amd_copy_direction_t(9)), invalid);
    assert_eq!(rectangle(hsa_amd_copy_direction_t::hsaDeviceToDevice), S::HSA_STATUS_SUCCESS);
    assert_eq!(wait(signal), 0);
    free(memory);

    let mut reader = hsa_code_object_reader_t { handle: 0 };
    for size in [usize::MAX, usize::MAX / 2 + 1] {
        assert_eq!(hsa!(hsa_code_object_reader_create_from_memory(place, size, &mut reader)), invalid);
    }
}
