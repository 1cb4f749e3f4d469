//! Every function of the table with invalid arguments: null, freed, of the wrong kind, absurd, combined with
//! valid ones. Each function is called in a separate process, which must not crash, hang or panic, and whose
//! runtime must work afterwards.
//!
//! Errors that a C interface cannot detect are left out: pointers that the program declares to be its own
//! memory are null or valid.

use std::any::type_name;
use std::io::Read;
use std::process::{Command, Stdio};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use crate::common::*;
use hsa_sys::*;

const CHILD: &str = "FERROCM_TEST_SPOILED_FUNCTION";
/// The number of calls of each function.
const CALLS: u32 = 300;
/// Bytes of the program's memory for arguments to point to.
const SCRATCH: usize = 1 << 20;
/// Bytes of device memory for arguments to point to.
const DEVICE: usize = 1 << 16;

/// The source of arguments.
struct Spoiler {
    state: u64,
    name: &'static str,
    agent: hsa_agent_t,
    /// The program's own memory.
    scratch: u64,
    signals: [u64; 3],
    queues: [u64; 2],
    /// Addresses that the runtime knows or has known.
    memory: [u64; 6],
    executables: [u64; 2],
    reader: u64,
    pool: u64,
    handles: [u64; 2],
}

/// A callback of any kind that does nothing.
unsafe extern "C" fn nothing() -> usize {
    0
}

impl Spoiler {
    fn new(name: &'static str) -> Spoiler {
        let agent = gpu("gfx1100");
        let scratch = vec![0x0707_0707_0707_0707u64; SCRATCH / 8].leak();
        // Texts are terminated.
        scratch[SCRATCH / 8 - 1] = 0;
        let create_queue = || {
            let mut queue = null_mut();
            let all = u32::MAX;
            ok!(hsa_queue_create(agent, 64, 0, None, null_mut(), all, all, &mut queue));
            queue
        };
        let (queue, gone) = (create_queue(), create_queue());
        // SAFETY: the queue was just made.
        let doorbell = unsafe { (*queue).doorbell_signal };
        ok!(hsa_queue_destroy(gone));
        let destroyed = signal(1);
        ok!(hsa_signal_destroy(destroyed));
        let (live, freed) = (allocate(pool(agent, COARSE), DEVICE), allocate(pool(agent, COARSE), DEVICE));
        free(freed);
        let mut reserved = null_mut();
        ok!(hsa_amd_vmem_address_reserve(&mut reserved, DEVICE, 0, 0));
        let profile = hsa_profile_t::HSA_PROFILE_BASE;
        let executables = [(); 2].map(|()| {
            let mut executable = hsa_executable_t { handle: 0 };
            let rounding = hsa_default_float_rounding_mode_t::HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT;
            ok!(hsa_executable_create_alt(profile, rounding, null(), &mut executable));
            executable
        });
        ok!(hsa_executable_destroy(executables[1]));
        let mut reader = hsa_code_object_reader_t { handle: 0 };
        ok!(hsa_code_object_reader_create_from_memory(scratch.as_ptr().cast(), 4096, &mut reader));
        let mut handle = hsa_amd_vmem_alloc_handle_t::default();
        let coarse = pool(agent, COARSE);
        let pinned = hsa_amd_memory_type_t::MEMORY_TYPE_PINNED;
        ok!(hsa_amd_vmem_handle_create(coarse, DEVICE, pinned, 0, &mut handle));
        let state = name.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Spoiler {
            state,
            name,
            agent,
            scratch: scratch.as_ptr() as u64,
            signals: [signal(1).handle, destroyed.handle, doorbell.handle],
            queues: [queue as u64, gone as u64],
            memory: [live as u64, live as u64 + 4096, freed as u64, reserved as u64, queue as u64, 8],
            executables: executables.map(|executable| executable.handle),
            reader: reader.handle,
            pool: coarse.handle,
            handles: [handle.handle, handle.handle + 1],
        }
    }

    fn below(&mut self, count: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 20) as usize % count
    }

    fn of(&mut self, values: &[u64]) -> u64 {
        values[self.below(values.len())]
    }

    /// A handle that exists, or one that does not.
    fn handle(&mut self, values: &[u64]) -> u64 {
        let others = [0, 7, u64::MAX, self.signals[0], self.scratch];
        if self.below(3) == 0 { self.of(&others) } else { self.of(values) }
    }

    /// Whether the function's untyped pointers are addresses for the runtime to look up, not destinations of
    /// results.
    fn takes_addresses(&self) -> bool {
        [
            "free",
            "memory_copy",
            "memory_fill",
            "async_copy",
            "lock",
            "memory_register",
            "memory_deregister",
            "pointer_info",
            "ipc_memory",
            "vmem",
            "dmabuf",
            "interop",
            "allow_access",
            "deallocation",
            "query_host",
            "query_executable",
            "variable_define",
        ]
        .iter()
        .any(|part| self.name.contains(part))
    }

    /// An argument of some type.
    fn value<T>(&mut self) -> T {
        let kind = type_name::<T>();
        let kind = kind.rsplit("::").next().unwrap_or(kind).to_owned()
            + if kind.starts_with("*mut *") { "**" } else { &kind[..usize::from(kind.starts_with('*'))] };
        let bits = match kind.as_str() {
            "bool" => self.of(&[0, 1]),
            "c_void*" if self.takes_addresses() => {
                let (memory, scratch) = (self.memory, self.scratch);
                if self.below(2) == 0 { self.of(&memory) } else { self.of(&[0, scratch]) }
            }
            "hsa_queue_t*" => {
                let queues = self.queues;
                self.of(&[0, queues[0], queues[0], queues[1], self.scratch])
            }
            kind if kind.ends_with('*') || size_of::<T>() > 8 => {
                // A list that starts with a valid element.
                let first = [0x0707_0707_0707_0707, self.agent.handle, self.signals[0]];
                let first = self.of(&first);
                // SAFETY: the memory is the test's, aligned, and threads of the runtime only write to it.
                unsafe { (self.scratch as *mut u64).write_volatile(first) };
                self.of(&[0, self.scratch, self.scratch, self.scratch])
            }
            "hsa_agent_t" => self.handle(&[self.agent.handle, self.agent.handle, host().handle]),
            "hsa_signal_t" => self.handle(&{ self.signals }),
            "hsa_executable_t" => self.handle(&{ self.executables }),
            "hsa_code_object_reader_t" => self.handle(&[self.reader]),
            "hsa_amd_memory_pool_t" => self.handle(&[self.pool]),
            "hsa_amd_vmem_alloc_handle_t" => self.handle(&{ self.handles }),
            "u64" if self.name.contains("wait") => self.of(&[0, 1, 1000, 50_000]),
            "usize" | "u64" => self.of(&[0, 1, 8, 4096, DEVICE as u64, u64::MAX]),
            "i64" => self.of(&[0, 1, i64::MAX as u64, i64::MIN as u64]),
            // A callback, or none.
            _ if size_of::<T>() == 8 && type_name::<T>().contains("Option<") => {
                self.of(&[0, nothing as *const () as u64])
            }
            _ if size_of::<T>() == 8 => self.handle(&[1, 32, 64]),
            _ => self.of(&[0, 1, 2, 3, 4, 64, 0x201, 9999, 0xA001, 0xffff_ffff]),
        };
        let mut bytes = [0u64; 64];
        bytes[0] = bits;
        assert!(size_of::<T>() <= size_of_val(&bytes));
        // SAFETY: every argument is a number, a pointer, a structure of such or a callback, for which these
        // bits are valid; whoever calls back passes more than the callback looks at.
        unsafe { std::mem::transmute_copy(&bytes) }
    }
}

/// A function of the table.
trait Entry {
    /// # Safety
    /// The function must accept what [`Spoiler::value`] returns.
    unsafe fn call(self, spoiler: &mut Spoiler);
}

macro_rules! entries {
    ($($argument:ident)*) => {
        impl<R $(, $argument)*> Entry for unsafe extern "C" fn($($argument),*) -> R {
            unsafe fn call(self, _spoiler: &mut Spoiler) {
                // SAFETY: the caller's promise.
                unsafe { self($(_spoiler.value::<$argument>()),*) };
            }
        }
        entries!(@next $($argument)*);
    };
    (@next) => {};
    (@next $first:ident $($argument:ident)*) => { entries!($($argument)*); };
}
entries!(A B C D E F G H I J);

macro_rules! functions {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Calls the function with this name once.
        unsafe fn call(spoiler: &mut Spoiler) {
            let table = vgpu::hsa::table();
            match spoiler.name {
                // SAFETY: the caller's promise.
                $(stringify!($name) => unsafe { table.$name.call(spoiler) },)*
                other => panic!("no function {other}"),
            }
        }
    };
}

functions! {
    hsa_status_string hsa_init hsa_shut_down hsa_system_get_info hsa_extension_get_name
    hsa_system_extension_supported hsa_system_major_extension_supported
    hsa_system_get_extension_table hsa_system_get_major_extension_table hsa_agent_get_info
    hsa_iterate_agents hsa_agent_get_exception_policies hsa_cache_get_info
    hsa_agent_iterate_caches hsa_agent_extension_supported hsa_agent_major_extension_supported
    hsa_signal_create hsa_signal_destroy hsa_signal_load_scacquire hsa_signal_load_relaxed
    hsa_signal_load_acquire hsa_signal_store_relaxed hsa_signal_store_screlease
    hsa_signal_store_release hsa_signal_silent_store_relaxed hsa_signal_silent_store_screlease
    hsa_signal_exchange_scacq_screl hsa_signal_exchange_acq_rel hsa_signal_exchange_scacquire
    hsa_signal_exchange_acquire hsa_signal_exchange_relaxed hsa_signal_exchange_screlease
    hsa_signal_exchange_release hsa_signal_cas_scacq_screl hsa_signal_cas_acq_rel
    hsa_signal_cas_scacquire hsa_signal_cas_acquire hsa_signal_cas_relaxed
    hsa_signal_cas_screlease hsa_signal_cas_release hsa_signal_add_scacq_screl
    hsa_signal_add_acq_rel hsa_signal_add_scacquire hsa_signal_add_acquire
    hsa_signal_add_relaxed hsa_signal_add_screlease hsa_signal_add_release
    hsa_signal_subtract_scacq_screl hsa_signal_subtract_acq_rel hsa_signal_subtract_scacquire
    hsa_signal_subtract_acquire hsa_signal_subtract_relaxed hsa_signal_subtract_screlease
    hsa_signal_subtract_release hsa_signal_and_scacq_screl hsa_signal_and_acq_rel
    hsa_signal_and_scacquire hsa_signal_and_acquire hsa_signal_and_relaxed
    hsa_signal_and_screlease hsa_signal_and_release hsa_signal_or_scacq_screl
    hsa_signal_or_acq_rel hsa_signal_or_scacquire hsa_signal_or_acquire hsa_signal_or_relaxed
    hsa_signal_or_screlease hsa_signal_or_release hsa_signal_xor_scacq_screl
    hsa_signal_xor_acq_rel hsa_signal_xor_scacquire hsa_signal_xor_acquire
    hsa_signal_xor_relaxed hsa_signal_xor_screlease hsa_signal_xor_release
    hsa_signal_wait_scacquire hsa_signal_wait_relaxed hsa_signal_wait_acquire
    hsa_signal_group_create hsa_signal_group_destroy hsa_signal_group_wait_any_scacquire
    hsa_signal_group_wait_any_relaxed hsa_queue_create hsa_soft_queue_create hsa_queue_destroy
    hsa_queue_inactivate hsa_queue_load_read_index_acquire hsa_queue_load_read_index_scacquire
    hsa_queue_load_read_index_relaxed hsa_queue_load_write_index_acquire
    hsa_queue_load_write_index_scacquire hsa_queue_load_write_index_relaxed
    hsa_queue_store_write_index_relaxed hsa_queue_store_write_index_release
    hsa_queue_store_write_index_screlease hsa_queue_cas_write_index_acq_rel
    hsa_queue_cas_write_index_scacq_screl hsa_queue_cas_write_index_acquire
    hsa_queue_cas_write_index_scacquire hsa_queue_cas_write_index_relaxed
    hsa_queue_cas_write_index_release hsa_queue_cas_write_index_screlease
    hsa_queue_add_write_index_acq_rel hsa_queue_add_write_index_scacq_screl
    hsa_queue_add_write_index_acquire hsa_queue_add_write_index_scacquire
    hsa_queue_add_write_index_relaxed hsa_queue_add_write_index_release
    hsa_queue_add_write_index_screlease hsa_queue_store_read_index_relaxed
    hsa_queue_store_read_index_release hsa_queue_store_read_index_screlease hsa_region_get_info
    hsa_agent_iterate_regions hsa_memory_allocate hsa_memory_free hsa_memory_copy
    hsa_memory_assign_agent hsa_memory_register hsa_memory_deregister hsa_isa_from_name
    hsa_agent_iterate_isas hsa_isa_get_info hsa_isa_get_info_alt hsa_isa_get_exception_policies
    hsa_isa_get_round_method hsa_wavefront_get_info hsa_isa_iterate_wavefronts
    hsa_isa_compatible hsa_code_object_reader_create_from_file
    hsa_code_object_reader_create_from_memory hsa_code_object_reader_destroy
    hsa_executable_create hsa_executable_create_alt hsa_executable_destroy
    hsa_executable_load_program_code_object hsa_executable_load_agent_code_object
    hsa_executable_freeze hsa_executable_get_info hsa_executable_global_variable_define
    hsa_executable_agent_global_variable_define hsa_executable_readonly_variable_define
    hsa_executable_validate hsa_executable_validate_alt hsa_executable_get_symbol
    hsa_executable_get_symbol_by_name hsa_executable_symbol_get_info
    hsa_executable_iterate_symbols hsa_executable_iterate_agent_symbols
    hsa_executable_iterate_program_symbols hsa_code_object_serialize hsa_code_object_deserialize
    hsa_code_object_destroy hsa_code_object_get_info hsa_executable_load_code_object
    hsa_code_object_get_symbol hsa_code_object_get_symbol_from_name hsa_code_symbol_get_info
    hsa_code_object_iterate_symbols hsa_ext_image_get_capability
    hsa_ext_image_get_capability_with_layout hsa_ext_image_data_get_info
    hsa_ext_image_data_get_info_with_layout hsa_ext_image_create
    hsa_ext_image_create_with_layout hsa_ext_image_destroy hsa_ext_image_copy
    hsa_ext_image_import hsa_ext_image_export hsa_ext_image_clear hsa_ext_sampler_create
    hsa_ext_sampler_create_v2 hsa_ext_sampler_destroy hsa_ven_amd_pcs_iterate_configuration
    hsa_ven_amd_pcs_create hsa_ven_amd_pcs_create_from_id hsa_ven_amd_pcs_destroy
    hsa_ven_amd_pcs_start hsa_ven_amd_pcs_stop hsa_ven_amd_pcs_flush hsa_amd_coherency_get_type
    hsa_amd_coherency_set_type hsa_amd_profiling_set_profiler_enabled
    hsa_amd_profiling_async_copy_enable hsa_amd_profiling_get_dispatch_time
    hsa_amd_profiling_get_async_copy_time hsa_amd_profiling_convert_tick_to_system_domain
    hsa_amd_signal_create hsa_amd_signal_value_pointer hsa_amd_signal_async_handler
    hsa_amd_signal_wait_all hsa_amd_signal_wait_any hsa_amd_async_function hsa_amd_image_create
    hsa_amd_image_get_info_max_dim hsa_amd_queue_cu_set_mask hsa_amd_queue_cu_get_mask
    hsa_amd_memory_pool_get_info hsa_amd_agent_iterate_memory_pools hsa_amd_memory_pool_allocate
    hsa_amd_memory_pool_free hsa_amd_memory_async_copy hsa_amd_memory_async_copy_on_engine
    hsa_amd_memory_copy_engine_status hsa_amd_memory_get_preferred_copy_engine
    hsa_amd_memory_async_copy_rect hsa_amd_agent_memory_pool_get_info
    hsa_amd_agents_allow_access hsa_amd_memory_pool_can_migrate hsa_amd_memory_migrate
    hsa_amd_memory_lock hsa_amd_memory_lock_to_pool hsa_amd_memory_unlock hsa_amd_memory_fill
    hsa_amd_interop_map_buffer hsa_amd_interop_unmap_buffer hsa_amd_pointer_info
    hsa_amd_pointer_info_set_userdata hsa_amd_ipc_memory_create hsa_amd_ipc_memory_attach
    hsa_amd_ipc_memory_detach hsa_amd_ipc_signal_create hsa_amd_ipc_signal_attach
    hsa_amd_register_system_event_handler hsa_amd_queue_set_priority
    hsa_amd_register_deallocation_callback hsa_amd_deregister_deallocation_callback
    hsa_amd_svm_attributes_set hsa_amd_svm_attributes_get hsa_amd_svm_prefetch_async
    hsa_amd_spm_acquire hsa_amd_spm_release hsa_amd_spm_set_dest_buffer
    hsa_amd_portable_export_dmabuf hsa_amd_portable_export_dmabuf_v2
    hsa_amd_portable_close_dmabuf hsa_amd_vmem_address_reserve
    hsa_amd_vmem_address_reserve_align hsa_amd_vmem_address_free hsa_amd_vmem_handle_create
    hsa_amd_vmem_handle_release hsa_amd_vmem_map hsa_amd_vmem_unmap hsa_amd_vmem_set_access
    hsa_amd_vmem_get_access hsa_amd_vmem_export_shareable_handle
    hsa_amd_vmem_import_shareable_handle hsa_amd_vmem_retain_alloc_handle
    hsa_amd_vmem_get_alloc_properties_from_handle hsa_amd_agent_set_async_scratch_limit
    hsa_amd_queue_get_info hsa_amd_ais_file_write hsa_amd_ais_file_read hsa_amd_enable_logging
    hsa_ext_program_create hsa_ext_program_destroy hsa_ext_program_add_module
    hsa_ext_program_iterate_modules hsa_ext_program_get_info hsa_ext_program_finalize
    hsa_ven_amd_loader_query_host_address hsa_ven_amd_loader_query_segment_descriptors
    hsa_ven_amd_loader_query_executable
    hsa_ven_amd_loader_executable_iterate_loaded_code_objects
    hsa_ven_amd_loader_loaded_code_object_get_info
    hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size
    hsa_ven_amd_loader_iterate_executables
}

#[test]
fn the_list_has_every_function() {
    let known: Vec<&str> = SYMBOLS.iter().filter_map(|symbol| symbol.name.to_str().ok()).collect();
    let missing: Vec<_> = known.iter().filter(|name| !NAMES.contains(name)).collect();
    assert!(missing.is_empty() && NAMES.len() == known.len(), "{missing:?}");
}

/// The child's work.
fn spoil(name: &'static str) {
    let mut spoiler = Spoiler::new(name);
    for _ in 0..CALLS {
        // SAFETY: the values are what the functions must tell from good ones.
        unsafe { call(&mut spoiler) };
    }
    // The tested function may have been `hsa_shut_down`.
    ok!(hsa_init());
    let queue = Queue::new(spoiler.agent, 64);
    assert_eq!(wait(queue.barrier(BARRIER_AND, &[])), 0, "packets are processed");
    free(allocate(pool(spoiler.agent, COARSE), DEVICE));
    drop(queue);
    println!("still works");
}

/// Runs the child for a function; returns the problem, if any.
fn try_function(name: &str) -> Option<String> {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "spoiled::no_function_falls_over_wrong_arguments", "--nocapture"])
        .env(CHILD, name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let (mut output, mut errors) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        errors.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let end = Instant::now() + Duration::from_secs(60);
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None if Instant::now() > end => {
                child.kill().expect("a child that runs");
                return Some(format!("{name} hangs"));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let mut said = String::new();
    let read = output.read_to_string(&mut said);
    let errors = errors.join().expect("the reader ends").unwrap_or_default();
    let well =
        status.success() && read.is_ok() && said.contains("still works") && !errors.contains("panicked");
    (!well).then(|| format!("{name}: {status:?}: {}", errors.chars().take(1500).collect::<String>()))
}

#[test]
fn no_function_falls_over_wrong_arguments() {
    if let Ok(name) = std::env::var(CHILD) {
        spoil(NAMES.iter().find(|known| **known == name).expect("a function"));
        return;
    }
    let wrong = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || {
                let names = NAMES.iter().enumerate().filter(|(index, _)| index % 2 == half);
                names.filter_map(|(_, name)| try_function(name)).collect::<Vec<_>>()
            })
        });
        halves.map(|half| half.join().expect("no panic")).concat()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
