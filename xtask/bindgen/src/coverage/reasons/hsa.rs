//! HSA.

use super::Topic;

const fn topic(name: &'static str, reason: &'static str, patterns: &'static [&'static str]) -> Topic {
    Topic { library: "HSA", name, reason, patterns }
}

pub(super) static TOPICS: &[Topic] = &[
    topic(
        "old names",
        "deprecated in the headers for the names with `sc`, which mean the same",
        &[
            "hsa_signal_*_acquire",
            "hsa_signal_*_release",
            "hsa_signal_*_acq_rel",
            "hsa_queue_*_acquire",
            "hsa_queue_*_release",
            "hsa_queue_*_acq_rel",
        ],
    ),
    topic(
        "several signals",
        "let a packet wait for them: `hsa::Queue::barrier`, `hsa::Queue::barrier_any`",
        &["hsa_signal_group_*", "hsa_amd_signal_wait_all", "hsa_amd_signal_wait_any"],
    ),
    topic(
        "signal orders",
        "`hsa::Signal` and `hsa::UserSignal` have each operation in one memory order; bitwise operations and other orders are not wrapped",
        &[
            "hsa_signal_add_*",
            "hsa_signal_and_*",
            "hsa_signal_cas_*",
            "hsa_signal_exchange_*",
            "hsa_signal_load_*",
            "hsa_signal_or_*",
            "hsa_signal_silent_store_*",
            "hsa_signal_store_*",
            "hsa_signal_subtract_*",
            "hsa_signal_wait_*",
            "hsa_signal_xor_*",
        ],
    ),
    topic(
        "signal attributes",
        "`hsa::UserSignal::new` makes signals that every agent may wait for; other kinds are not wrapped",
        &["hsa_amd_signal_create", "hsa_amd_signal_value_pointer"],
    ),
    topic(
        "callbacks",
        "code on the runtime's own threads; wait on a thread of the program instead: `hsa::Signal::wait`",
        &[
            "hsa_amd_async_function",
            "hsa_amd_deregister_deallocation_callback",
            "hsa_amd_register_deallocation_callback",
            "hsa_amd_register_system_event_handler",
            "hsa_amd_signal_async_handler",
        ],
    ),
    topic(
        "packet protocol",
        "`hsa::Queue::dispatch` and `barrier` write the packets and keep the indices",
        &["hsa_queue_add_*", "hsa_queue_cas_*", "hsa_queue_load_*", "hsa_queue_store_*"],
    ),
    topic(
        "queue control",
        "priorities, masks of compute units and stopping a queue are not wrapped yet",
        &[
            "hsa_amd_queue_cu_get_mask",
            "hsa_amd_queue_cu_set_mask",
            "hsa_amd_queue_get_info",
            "hsa_amd_queue_set_priority",
            "hsa_queue_inactivate",
        ],
    ),
    topic("soft queues", "queues that the host serves: not planned", &["hsa_soft_queue_create"]),
    topic(
        "timing switches",
        "`hsa::Completion::times` reads the times; what turns them on for a queue or for copies is not wrapped yet",
        &[
            "hsa_amd_profiling_async_copy_enable",
            "hsa_amd_profiling_convert_tick_to_system_domain",
            "hsa_amd_profiling_set_profiler_enabled",
        ],
    ),
    topic(
        "regions",
        "superseded by AMD's memory pools: `hsa::Agent::memory_pools`, `hsa::MemoryPool::allocate`",
        &[
            "hsa_agent_iterate_regions",
            "hsa_memory_allocate",
            "hsa_memory_assign_agent",
            "hsa_memory_free",
            "hsa_region_get_info",
        ],
    ),
    topic(
        "coherency",
        "deprecated in the headers",
        &["hsa_amd_coherency_get_type", "hsa_amd_coherency_set_type"],
    ),
    topic(
        "pool relations",
        "`hsa::Allocation::allow_access` asks for access; what it would cost, and moving memory to another pool, are not wrapped",
        &["hsa_amd_agent_memory_pool_get_info", "hsa_amd_memory_migrate", "hsa_amd_memory_pool_can_migrate"],
    ),
    topic(
        "host memory",
        "making the program's own memory visible to agents is not wrapped; allocate it from `hsa::Agent::fine_pool`",
        &[
            "hsa_amd_memory_lock",
            "hsa_amd_memory_lock_to_pool",
            "hsa_amd_memory_unlock",
            "hsa_memory_deregister",
            "hsa_memory_register",
        ],
    ),
    topic("pointers", "an `hsa::Allocation` knows its pool and size itself", &["hsa_amd_pointer_info*"]),
    topic(
        "copy engines",
        "`hsa::copy_async` leaves the engine to the runtime and copies one range",
        &[
            "hsa_amd_memory_async_copy_on_engine",
            "hsa_amd_memory_async_copy_rect",
            "hsa_amd_memory_copy_engine_status",
            "hsa_amd_memory_get_preferred_copy_engine",
        ],
    ),
    topic("IPC", "sharing with other processes is not wrapped yet", &["hsa_amd_ipc_*"]),
    topic(
        "virtual memory",
        "reserving addresses and mapping memory to them is not wrapped yet",
        &["hsa_amd_vmem_*"],
    ),
    topic(
        "SVM",
        "attributes and prefetching of memory that host and agents share are not wrapped yet",
        &["hsa_amd_svm_*"],
    ),
    topic(
        "dmabuf, graphics",
        "sharing with other drivers: not planned",
        &["hsa_amd_interop_*", "hsa_amd_portable_*"],
    ),
    topic("files", "transfers between files and device memory are not wrapped", &["hsa_amd_ais_*"]),
    topic(
        "images",
        "not planned: kernels here read buffers",
        &["hsa_amd_image_*", "hsa_ext_image_*", "hsa_ext_sampler_*"],
    ),
    topic(
        "finalizer",
        "compiles HSAIL, which ROCm's compilers do not emit; load code objects: `hsa::Executable::load`",
        &["hsa_ext_program_*"],
    ),
    topic(
        "code objects, old",
        "deprecated in the headers; load the bytes: `hsa::Executable::load`, and read them with `code_object::CodeObject`",
        &[
            "hsa_code_object_deserialize",
            "hsa_code_object_destroy",
            "hsa_code_object_get_*",
            "hsa_code_object_iterate_symbols",
            "hsa_code_object_serialize",
            "hsa_code_symbol_get_info",
            "hsa_executable_create",
            "hsa_executable_get_symbol",
            "hsa_executable_iterate_symbols",
            "hsa_executable_load_code_object",
        ],
    ),
    topic(
        "executables",
        "`hsa::Executable` loads one code object from bytes for one agent; files, several code objects and validation are \
         not wrapped",
        &[
            "hsa_code_object_reader_create_from_file",
            "hsa_executable_get_info",
            "hsa_executable_global_variable_define",
            "hsa_executable_iterate_*",
            "hsa_executable_load_program_code_object",
            "hsa_executable_readonly_variable_define",
            "hsa_executable_validate*",
        ],
    ),
    topic(
        "instruction sets",
        "`hsa::Agent::isa_names` and `target` say what to compile for; limits are those of `hsa::Agent`",
        &["hsa_agent_get_exception_policies", "hsa_isa_*", "hsa_wavefront_get_info"],
    ),
    topic("caches", "not wrapped yet", &["hsa_agent_iterate_caches", "hsa_cache_get_info"]),
    topic(
        "extension tables",
        "the functions of the extensions are in the table: `hsa_sys::Table::has` tells",
        &[
            "hsa_agent_extension_supported",
            "hsa_agent_major_extension_supported",
            "hsa_extension_get_name",
            "hsa_system_extension_supported",
            "hsa_system_get_extension_table",
            "hsa_system_get_major_extension_table",
            "hsa_system_major_extension_supported",
        ],
    ),
    topic("loader", "for debuggers and profilers: not planned", &["hsa_ven_amd_loader_*"]),
    topic(
        "profilers",
        "program counter sampling and streaming performance monitors: not planned",
        &["hsa_amd_spm_*", "hsa_ven_amd_pcs_*"],
    ),
    topic(
        "tuning",
        "limits of scratch memory and the runtime's log are not wrapped",
        &["hsa_amd_agent_set_async_scratch_limit", "hsa_amd_enable_logging"],
    ),
];
