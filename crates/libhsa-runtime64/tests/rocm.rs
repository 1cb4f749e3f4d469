//! AMD's own HIP, and rocBLAS on it, over the virtual GPU; run by `cargo xtask test rocm 6.4,7.2`. The
//! programs are the same as for `hip-on-hsa`.

mod support;

use std::path::{Path, PathBuf};

use support::{DROP_IN, PLACE, VERSION};
use test_support::elf::Shared;
use test_support::program::{Place, Program};
use test_support::sysroot::Sysroot;
use timeline_test::Timeline;

/// Two wave sizes in one fat binary.
const TARGETS: [&str; 2] = ["gfx1100", "gfx90a"];

/// The HIP of a release, and the folder of its libraries.
struct Hip {
    folder: PathBuf,
    library: PathBuf,
}

impl Hip {
    /// The release under test, if its HIP is one of these.
    fn of(releases: &[(&str, &str)]) -> Option<Hip> {
        let sysroot = Sysroot::find()?;
        let soname = sysroot.pick("HIP that loads code objects of version 6", releases)?;
        let folder = libraries(&sysroot);
        Some(Hip { library: folder.join(soname), folder })
    }

    fn program(&self, name: &str, options: &[&str]) -> Program {
        let source = source(&format!("{name}.hip"));
        Program::link(&source, PLACE, &TARGETS, options, &self.library, DROP_IN.library())
            .with_loader_of(&self.folder)
    }

    fn runs(&self, name: &str, options: &[&str]) {
        let program = self.program(name, options);
        for target in TARGETS {
            let run = program.succeeds(&format!("vgpu:{target}"));
            assert_eq!(run.error, "", "{name} on {target}");
        }
    }
}

const SINCE_6: &[(&str, &str)] = &[("6.4", "libamdhip64.so.6"), ("7.2", "libamdhip64.so.7")];
const SINCE_7: &[(&str, &str)] = &[("7.2", "libamdhip64.so.7")];

fn libraries(sysroot: &Sysroot) -> PathBuf {
    sysroot.folder.join("usr/lib/x86_64-linux-gnu")
}

fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../libamdhip64/tests/programs").join(file)
}

#[test]
fn every_function_of_amds_library_is_there_in_its_version() {
    let Some(sysroot) = Sysroot::find() else { return };
    let original = Shared::read(&libraries(&sysroot).join(DROP_IN.soname));
    let drop_in = Shared::read(&DROP_IN.library());
    assert_eq!(original.soname, drop_in.soname);
    let hsa: Vec<_> = original.functions.iter().filter(|(name, _)| name.starts_with("hsa_")).collect();
    assert!(hsa.len() > 200, "{hsa:?}");
    for (name, version) in hsa {
        assert_eq!(version, VERSION, "{name}");
        assert_eq!(drop_in.functions.get(name), Some(version), "{name}");
    }
}

#[test]
fn launches_compute_and_their_errors_are_told() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    hip.runs("saxpy", &[]);
}

/// AMD's HIP writes no timeline, so it shows only what the virtual GPU knows.
#[test]
fn a_timeline_has_the_kernels_of_amds_hip_and_its_calls_of_hsa() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let program = hip.program("timeline", &[]).variable("FERROCM_TRACE", path.to_str().unwrap());
    assert_eq!(program.succeeds("vgpu:gfx1100").error, "");
    let timeline = Timeline::read(&path);
    let kernels = timeline.of("kernel");
    let named = |name: &str| kernels.iter().filter(|kernel| kernel.name.starts_with(name)).count();
    assert_eq!((named("void scale<float>("), named("sum_up(")), (8, 1));
    assert!(Timeline::tracks(&kernels).len() > 1);
    for kernel in &kernels {
        let ring = timeline.origin(kernel, "hsa").unwrap_or_else(|| panic!("no arrow to {kernel:?}"));
        assert_eq!(ring.name, "doorbell");
    }
    assert!(!timeline.named("hsa::queue::create").is_empty());
}

#[test]
fn textures_over_linear_memory_are_read_by_index() {
    let Some(hip) = Hip::of(SINCE_7) else { return };
    hip.runs("texture", &[]);
}

#[test]
fn fills_of_device_memory_return_before_they_have_happened() {
    let Some(hip) = Hip::of(SINCE_7) else { return };
    hip.runs("fills", &[]);
}

#[test]
fn grids_of_several_devices_wait_for_each_other() {
    let Some(hip) = Hip::of(SINCE_7) else { return };
    let program = hip.program("multi_device", &[]);
    for target in TARGETS {
        program.succeeds(&format!("vgpu:{target}?count=2&memory=64MiB"));
    }
}

#[test]
fn grids_in_work_items_may_end_with_a_smaller_workgroup() {
    let Some(hip) = Hip::of(SINCE_7) else { return };
    hip.runs("partial", &["-fno-offload-uniform-block"]);
}

#[test]
fn variables_are_found_by_their_host_side() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    hip.runs("symbols", &[]);
}

#[test]
fn streams_events_and_callbacks_keep_order() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    hip.runs("streams", &[]);
    hip.runs("streams", &["-fgpu-default-stream=per-thread"]);
}

#[test]
fn what_devices_and_host_print_is_in_order() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    let device = |number: u32| format!("device {number} of four: {:5.2}\n", f64::from(number) / 4.0);
    let expected = format!("host before\n{}host between\n{}host after\n{}", device(1), device(2), device(3));
    let program = hip.program("printing", &[]);
    for target in TARGETS {
        let printed = program.succeeds(&format!("vgpu:{target}"));
        assert_eq!(printed.output, expected, "{target}");
        assert_eq!(printed.error, "", "{target}");
    }
}

#[test]
fn all_kinds_of_memory_are_there() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    hip.runs("memory", &[]);
}

#[test]
fn threads_use_everything_at_the_same_time() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    hip.runs("threads", &[]);
}

#[test]
fn graphs_take_launches_and_host_sides() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    hip.runs("graphs", &[]);
}

#[test]
fn properties_have_the_layout_of_the_function_that_is_called() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    hip.runs("properties", &[]);
}

#[test]
fn grids_synchronise_and_functions_tell_what_they_use() {
    let Some(hip) = Hip::of(SINCE_7) else { return };
    hip.runs("cooperative", &[]);
}

#[test]
fn every_way_to_launch_launches() {
    let Some(hip) = Hip::of(SINCE_7) else { return };
    hip.runs("launches", &[]);
}

#[test]
fn devices_have_code_and_variables_of_their_own() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    let program = hip.program("devices", &[]);
    program.arguments(["2"]).succeeds("vgpu:gfx1100?count=2&memory=64MiB");
    let three = program.arguments(["2"]).variable("HIP_VISIBLE_DEVICES", "2,0");
    three.succeeds("vgpu:gfx1100?count=3&memory=64MiB");
}

#[test]
fn copies_to_and_from_another_devices_memory_are_in_order_with_its_null_stream() {
    let Some(hip) = Hip::of(SINCE_7) else { return };
    hip.program("other_device", &[]).succeeds("vgpu:gfx1100?count=2&memory=64MiB");
}

#[test]
fn wrong_parameters_have_the_codes_that_amds_tests_ask_for() {
    let Some(hip) = Hip::of(SINCE_7) else { return };
    hip.program("refusals", &[]).succeeds("vgpu:gfx1100?count=2&memory=64MiB");
}

#[test]
fn libraries_with_device_code_come_and_go() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    let plugin = Program::plugin(&source("plugin.hip"), PLACE, &TARGETS, hip.library.clone());
    hip.program("plugins", &[]).arguments([plugin.path()]).succeeds("vgpu:gfx1100");
}

#[test]
fn a_bad_device_is_told_and_there_is_none() {
    let Some(hip) = Hip::of(SINCE_6) else { return };
    let run = hip.program("devices", &[]).arguments(["0"]).run("vgpu:gfx1100?cores=4");
    for part in ["libhsa-runtime64: error", "`cores`"] {
        assert!(run.error.contains(part), "`{part}` is not in:\n{}", run.error);
    }
}

/// rocBLAS has the kernels of levels 1 and 2 in its fat binary, and those of matrix products in files.
#[test]
fn amds_rocblas_computes_on_amds_hip() {
    rocblas_runs("rocblas.c");
}

#[test]
fn amds_rocblas_multiplies_matrices_on_amds_hip() {
    rocblas_runs("rocblas_gemm.c");
}

fn rocblas_runs(file: &str) {
    let Some(hip) = Hip::of(SINCE_7) else { return };
    let place: Place = PLACE;
    let rocblas = hip.folder.join("librocblas.so.5");
    let program = Program::link_c(&source(file), place, &[&rocblas, &hip.library], DROP_IN.library());
    // Some rocBLAS kernels read LDS beyond their allocation, and get 0, as on hardware.
    let program = program.variable("FERROCM_VGPU_CHECK", "");
    for target in ["gfx1100", "gfx90a", "gfx942", "gfx1030", "gfx1201"] {
        let run = program.with_loader_of(&hip.folder).succeeds(&format!("vgpu:{target}"));
        assert_eq!(run.error, "", "{target}");
    }
}
