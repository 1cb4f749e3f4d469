//! HIP C++ programs, compiled with the project's clang and linked with the drop-in, run on it over virtual
//! GPUs. Each compares its results with values computed on the host, and reports mismatches.

use test_support::program::Program;

use crate::support::{DROP_IN, PLACE, compile, source};

const GFX1100: &[&str] = &["gfx1100"];
/// Two wave sizes in one fat binary.
const BOTH: &[&str] = &["gfx1100", "gfx90a"];

#[test]
fn launches_compute_and_their_errors_are_told() {
    let program = compile("saxpy", BOTH, &[]);
    program.succeeds("vgpu:gfx1100");
    program.succeeds("vgpu:gfx90a");
}

#[test]
fn variables_are_found_by_their_host_side() {
    compile("symbols", GFX1100, &[]).succeeds("vgpu:gfx1100");
}

#[test]
fn streams_events_and_callbacks_keep_order() {
    compile("streams", GFX1100, &[]).succeeds("vgpu:gfx1100");
}

/// Programs of a few dozen operations each. An operation that fails to wait for an earlier one runs too early
/// on any machine.
#[test]
fn random_programs_compute_what_the_order_of_streams_says() {
    let program = compile("order", GFX1100, &[]);
    program.arguments(["1", "150", "alone", "host"]).succeeds("vgpu:gfx1100");
    program.arguments(["2", "50"]).succeeds("vgpu:gfx1100?count=2&memory=64MiB");
}

#[test]
fn the_default_stream_can_be_each_threads_own() {
    let options = ["-fgpu-default-stream=per-thread"];
    compile("streams", GFX1100, &options).succeeds("vgpu:gfx1100");
}

#[test]
fn what_devices_and_host_print_is_in_order() {
    let printed = compile("printing", GFX1100, &[]).succeeds("vgpu:gfx1100");
    let device = |number: u32| format!("device {number} of four: {:5.2}\n", f64::from(number) / 4.0);
    let expected = format!("host before\n{}host between\n{}host after\n{}", device(1), device(2), device(3));
    assert_eq!(printed.output, expected);
    assert_eq!(printed.error, "");
}

#[test]
fn grids_synchronise_and_functions_tell_what_they_use() {
    let program = compile("cooperative", BOTH, &[]);
    program.succeeds("vgpu:gfx1100");
    program.succeeds("vgpu:gfx90a");
}

#[test]
fn all_kinds_of_memory_are_there() {
    compile("memory", GFX1100, &[]).succeeds("vgpu:gfx1100");
}

#[test]
fn devices_have_code_and_variables_of_their_own() {
    let program = compile("devices", BOTH, &[]);
    program.arguments(["2"]).succeeds("vgpu:gfx1100?count=2&memory=64MiB");
}

#[test]
fn copies_to_and_from_another_devices_memory_are_in_order_with_its_null_stream() {
    compile("other_device", GFX1100, &[]).succeeds("vgpu:gfx1100?count=2&memory=64MiB");
}

#[test]
fn a_stream_decides_where_a_kernel_runs() {
    compile("foreign_stream", GFX1100, &[]).succeeds("vgpu:gfx1100?count=2&memory=64MiB");
}

#[test]
fn the_environment_chooses_and_orders_devices() {
    let program = compile("devices", GFX1100, &[]);
    let device = "vgpu:gfx1100?count=3&memory=64MiB";
    let seen = |variables: &[(&str, &str)], count: &str| {
        let program =
            variables.iter().fold(program.arguments([count]), |p, (name, value)| p.variable(name, value));
        program.succeeds(device);
    };
    seen(&[], "3");
    seen(&[("HIP_VISIBLE_DEVICES", "2,0")], "2");
    seen(&[("ROCR_VISIBLE_DEVICES", "1,2"), ("HIP_VISIBLE_DEVICES", "1,0,2")], "2");
    seen(&[("CUDA_VISIBLE_DEVICES", "1")], "1");
    seen(&[("HIP_VISIBLE_DEVICES", "-1")], "0");
}

#[test]
fn threads_use_everything_at_the_same_time() {
    compile("threads", GFX1100, &[]).succeeds("vgpu:gfx1100");
}

#[test]
fn every_way_to_launch_launches() {
    compile("launches", GFX1100, &[]).succeeds("vgpu:gfx1100");
}

#[test]
fn libraries_with_device_code_come_and_go() {
    let plugin = Program::plugin(&source("plugin.hip"), PLACE, GFX1100, DROP_IN.library());
    let program = compile("plugins", GFX1100, &[]);
    program.arguments([plugin.path()]).succeeds("vgpu:gfx1100");
}

#[test]
fn graphs_take_launches_and_host_sides() {
    compile("graphs", GFX1100, &[]).succeeds("vgpu:gfx1100");
}

/// Chains of kernels, copies and fills, whose graphs are updated, or get parameters, between launches.
#[test]
fn graphs_of_a_decoder_have_the_bits_of_plain_launches() {
    let program = compile("decode", BOTH, &[]);
    for target in BOTH {
        program.succeeds(&format!("vgpu:{target}"));
    }
}

#[test]
fn properties_have_the_layout_of_the_function_that_is_called() {
    let program = compile("properties", GFX1100, &[]);
    program.succeeds("vgpu:gfx1100");
    program.succeeds("vgpu:gfx90a");
}

/// Two ways to describe elements, and a device without image instructions.
#[test]
fn textures_over_linear_memory_are_read_by_index() {
    let targets = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"];
    let program = compile("texture", &targets, &[]);
    for target in targets {
        program.succeeds(&format!("vgpu:{target}"));
    }
}

#[test]
fn fills_of_device_memory_return_before_they_have_happened() {
    compile("fills", GFX1100, &[]).succeeds("vgpu:gfx1100");
}

#[test]
fn grids_of_several_devices_wait_for_each_other() {
    let program = compile("multi_device", BOTH, &[]);
    for target in BOTH {
        program.succeeds(&format!("vgpu:{target}?count=2&memory=64MiB"));
    }
}

#[test]
fn grids_in_work_items_may_end_with_a_smaller_workgroup() {
    let program = compile("partial", BOTH, &["-fno-offload-uniform-block"]);
    program.succeeds("vgpu:gfx1100");
    program.succeeds("vgpu:gfx90a");
}

/// Expects the codes of AMD's library, on which this runs, too.
#[test]
fn wrong_parameters_have_the_codes_that_amds_tests_ask_for() {
    compile("refusals", GFX1100, &[]).succeeds("vgpu:gfx1100?count=2&memory=64MiB");
}

#[test]
fn handles_and_addresses_of_nothing_are_errors() {
    compile("misuse", GFX1100, &[]).succeeds("vgpu:gfx1100");
}

#[test]
fn a_fault_is_a_code_and_a_report() {
    let program = compile("fault", GFX1100, &[]);
    let told = program.succeeds("vgpu:gfx1100").error;
    for part in ["libamdhip64: error: a stream has failed", "hipErrorIllegalAddress", "strays", "0x1000"] {
        assert!(told.contains(part), "`{part}` is not in:\n{told}");
    }
    assert_eq!(told.matches("outside every allocation").count(), 1, "the report is told once:\n{told}");
    let silent = program.variable("FERROCM_LOG", "off").succeeds("vgpu:gfx1100");
    assert_eq!(silent.error, "");
}

#[test]
fn a_bad_device_uri_is_told_and_calls_fail() {
    let run = compile("fault", GFX1100, &[]).run("vgpu:gfx1100?cores=4");
    assert_eq!(run.code, Some(1));
    for part in ["FERROCM_DEVICE=`vgpu:gfx1100?cores=4`", "`cores`", "hipErrorNotInitialized"] {
        assert!(run.error.contains(part), "`{part}` is not in:\n{}", run.error);
    }
}

#[test]
fn code_for_another_device_is_told() {
    let run = compile("fault", GFX1100, &[]).run("vgpu:gfx1030");
    assert_eq!(run.code, Some(1));
    assert!(run.error.contains("hipErrorNoBinaryForGpu"), "{}", run.error);
}
