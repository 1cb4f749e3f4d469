//! The device tests that do not run on every device: one row for each, with the reason. `cargo xtask test
//! --gpu` and the archives of `cargo xtask package-tests` leave them out by this table, and say so.

use test_skip::devices::{Exception, Where};

/// Why the tests of the virtual GPU and those with several devices do not run without one.
const VIRTUAL: &str = "opens virtual GPUs by name";
/// Why tests of what AMD's compiler records do not run on NVIDIA's GPUs.
const FACTS: &str = "about what only code objects for AMD GPUs tell of kernels' arguments";
const BUNDLES: &str = "about bundles and lists of code objects for AMD GPUs";
const CONTAINED: &str = "needs faults that end one stream only; on hardware the process loses its GPU";
const METRICS: &str = "kernels for NVIDIA GPUs are not compiled with counters";
const HEADERS: &str = "about the headers and the list of code objects for AMD GPUs";
const COUNTERS: &str = "only virtual GPUs count bank conflicts and bytes";

const fn without_virtual(package: &'static str, test: &'static str) -> Exception<'static> {
    Exception { package, test, at: Where::WithoutVirtual, reason: VIRTUAL }
}

const fn hardware(package: &'static str, test: &'static str, reason: &'static str) -> Exception<'static> {
    Exception { package, test, at: Where::Hardware, reason }
}

const fn nvidia(package: &'static str, test: &'static str, reason: &'static str) -> Exception<'static> {
    Exception { package, test, at: Where::Nvidia, reason }
}

/// All of them.
pub(crate) const EXCEPTIONS: &[Exception<'static>] = &[
    without_virtual("ferrocm-hip", "all_memory::a_clone_is_of_the_streams_device_and_in_its_order"),
    without_virtual("ferrocm-hip", "graphs::graphs_of_two_devices_do_not_mix"),
    without_virtual("ferrocm-hip", "launch::two_devices_do_not_mix"),
    without_virtual("ferrocm-hip", "launch::virtual_devices_have_what_their_uri_says"),
    without_virtual("ferrocm-hip", "module::a_lazy_module_keeps_devices_apart"),
    without_virtual("ferrocm-hip", "order::"),
    without_virtual("ferrocm-hip", "streams::streams_wait_for_events_and_streams_of_other_devices"),
    without_virtual("ferrocm-hip", "typed::sizes_and_devices_are_checked_at_each_call"),
    without_virtual("ferrocm-kernels", "launch::a_handle_knows_devices_apart"),
    without_virtual("ferrocm-kernels", "moe_gate::bad_gates_are_refused"),
    without_virtual("ferrocm-kernels", "moe_permute::bad_shapes_are_refused"),
    without_virtual("ferrocm-kernels", "refusals::memory_and_streams_of_other_devices"),
    without_virtual("ferrocm-llm", "recorded::a_fault_in_a_step_by_hal_is_the_error_of_its_logits"),
    hardware("ferrocm-kernels", "gemm::vectors_by_columns_have_no_bank_conflicts", COUNTERS),
    hardware("ferrocm-kernels", "moe_gate::judging_groups_has_no_bank_conflicts", COUNTERS),
    hardware("ferrocm-kernels", "quant_matmul::one_product_reads_the_matrix_once", COUNTERS),
    nvidia("ferrocm-hip", "arguments::", FACTS),
    nvidia("ferrocm-hip", "cuda::sources_of_hips_keep_waves_and_their_masks", "a source with HIP's headers"),
    nvidia("ferrocm-hip", "launch::code_for_another_target_is_refused_and_says_what_it_is_for", BUNDLES),
    nvidia("ferrocm-hip", "launch::embedded_modules_are_chosen_by_target", BUNDLES),
    nvidia("ferrocm-hip", "launch::wrong_arguments_are_refused_by_name", FACTS),
    nvidia("ferrocm-hip", "metrics::", METRICS),
    nvidia("ferrocm-hip", "module::headers_that_lead_out_of_the_bytes_are_refused", HEADERS),
    nvidia("ferrocm-hip", "typed::a_signature_that_does_not_fit_is_refused_when_it_is_loaded", FACTS),
    nvidia("ferrocm-kernels", "record::every_kernel_has_a_name_of_its_own", HEADERS),
    nvidia(
        "ferrocm-rccl",
        "graphs::random_programs_of_graphs_and_other_operations_do_what_their_order_says",
        "NCCL has no ncclAllToAll, which the programs call",
    ),
    nvidia(
        "ferrocm-rccl",
        "reductions::a_bias_is_combined_with_the_result",
        "NCCL has no ncclAllReduceWithBias",
    ),
    nvidia("ferrocm-rocblas", "streams::a_fault_inside_a_call_is_an_error_of_what_follows", CONTAINED),
    nvidia("ferrocm-rocblas", "streams::a_stream_that_has_failed_can_be_left", CONTAINED),
    nvidia("ferrocm-hip", "module::bundles_are_loaded_compressed_or_not", BUNDLES),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_reason_and_is_there_once() {
        for (at, row) in EXCEPTIONS.iter().enumerate() {
            assert!(!row.reason.is_empty() && row.reason.len() < 120, "{row:?}");
            let key = |row: &Exception<'static>| (row.package, row.test, row.at);
            assert_eq!(EXCEPTIONS[..at].iter().find(|other| key(other) == key(row)), None);
        }
    }
}
