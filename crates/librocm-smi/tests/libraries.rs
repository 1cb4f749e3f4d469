//! The exports and dependencies of the two libraries, and what they report about the virtual GPUs.

use std::collections::BTreeSet;
use std::path::Path;

use test_support::elf::Shared;
use test_support::program::{DropIn, Place, Program};
use test_support::sysroot::Sysroot;

const PLACE: Place = Place { krate: env!("CARGO_MANIFEST_DIR"), scratch: env!("CARGO_TARGET_TMPDIR") };
const ROCM_SMI: DropIn =
    DropIn { place: PLACE, archive: "rocm_smi", soname: "librocm_smi64.so.7", script: "rocm_smi64.map" };
const AMD_SMI: DropIn =
    DropIn { place: PLACE, archive: "rocm_smi", soname: "libamd_smi.so.26", script: "amd_smi.map" };

/// The functions that the tests of the HSA runtime import.
const OF_ROCRTST: [&str; 13] = [
    "amdsmi_get_clk_freq",
    "amdsmi_get_gpu_board_info",
    "amdsmi_get_gpu_fan_speed",
    "amdsmi_get_gpu_fan_speed_max",
    "amdsmi_get_gpu_id",
    "amdsmi_get_gpu_overdrive_level",
    "amdsmi_get_gpu_perf_level",
    "amdsmi_get_processor_handles",
    "amdsmi_get_processor_type",
    "amdsmi_get_socket_handles",
    "amdsmi_get_temp_metric",
    "amdsmi_init",
    "amdsmi_shut_down",
];

#[test]
fn each_library_exports_its_own_functions_alone() {
    for (library, start, least) in [(ROCM_SMI, "rsmi_", 118), (AMD_SMI, "amdsmi_", 184)] {
        let shared = Shared::read(&library.library());
        assert!(shared.functions.keys().all(|name| name.starts_with(start)), "{:?}", shared.functions);
        assert_eq!(shared.functions.len(), least, "{start}");
        assert_eq!(shared.soname, library.soname);
        let system =
            ["libc.", "libm.", "libgcc_s.", "libdl.", "libpthread.", "librt.", "libutil.", "ld-linux"];
        let foreign = |name: &&String| !system.iter().any(|system| name.starts_with(system));
        assert_eq!(shared.needed.iter().filter(foreign).collect::<Vec<_>>(), Vec::<&String>::new());
    }
    let exported = Shared::read(&AMD_SMI.library()).functions;
    assert!(OF_ROCRTST.iter().all(|name| exported.contains_key(*name)));
}

/// `cargo xtask test rocm 7.2` has AMD's library.
#[test]
fn every_function_of_amds_library_is_there() {
    let Some(sysroot) = Sysroot::find() else { return };
    let Some(soname) = sysroot.pick("rocm_smi of version 7", &[("7.2", ROCM_SMI.soname)]) else { return };
    let original = Shared::read(&sysroot.folder.join("usr/lib/x86_64-linux-gnu").join(soname));
    let functions = |shared: &Shared| -> BTreeSet<String> {
        shared.functions.keys().filter(|name| name.starts_with("rsmi_")).cloned().collect()
    };
    assert_eq!(functions(&original), functions(&Shared::read(&ROCM_SMI.library())));
}

fn says(source: &str, library: DropIn, device: &str, expected: &str) {
    let source = Path::new(PLACE.krate).join("tests").join(source);
    let program = Program::link_c(&source, PLACE, &[&library.library()], library.library());
    let run = program.variable("FERROCM_HSA_DEVICE", device).succeeds(device);
    assert_eq!((run.output.as_str(), run.error.as_str()), (expected, ""));
}

#[test]
fn rocm_smi_tells_of_the_devices_that_hsa_has() {
    let expected = "\
2 devices
0: at 100, id 740c, vendor 1002 AMD, gfx90a, 33554432 bytes, node 1, ferrocm Virtual GPU (gfx90a)
1: at 200, id 740c, vendor 1002 AMD, gfx90a, 33554432 bytes, node 2, ferrocm Virtual GPU (gfx90a)
link of kind 1, 2 hops, weight 40, access 1
fan: 2, no device: 1, null: 1, short text: 11 \"ferr\"
";
    says("rocm_smi.c", ROCM_SMI, "vgpu:gfx90a?count=2&memory=32MiB", expected);
}

#[test]
fn amd_smi_tells_of_the_devices_that_hsa_has() {
    let expected = "\
2 sockets
0: 1 processors of type 1, at 100, id 744c, 33554432 bytes
1: 1 processors of type 1, at 200, id 744c, 33554432 bytes
one of them: 1
found by its place: 1, nowhere: 1
fan: 2, no handle: 1, null: 1
";
    says("amd_smi.c", AMD_SMI, "vgpu:gfx1100?count=2&memory=32MiB", expected);
}

const DRIVER: DropIn =
    DropIn { place: PLACE, archive: "rocm_smi", soname: "libferrocm-driver.so.1", script: "driver.map" };

/// A program with the preloaded library sees the imitated driver. All other files are unchanged.
#[test]
fn the_driver_seems_to_be_there() {
    let script = "cat /sys/module/amdgpu/initstate; test -e /sys/module/amdgpu && echo folder; \
                  test -e /sys/module/amdgpu/nothing || echo nothing; (exec 3<>/dev/kfd) && echo device; test -e /etc/passwd && echo file";
    let run =
        std::process::Command::new("bash").args(["-c", script]).env("LD_PRELOAD", DRIVER.library()).output();
    let run = run.expect("bash");
    assert_eq!(String::from_utf8_lossy(&run.stdout), "live\nfolder\nnothing\ndevice\nfile\n", "{run:?}");
}

/// A program started through a loader, with another folder before `/usr`.
#[test]
fn a_program_finds_itself_and_its_files() {
    const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
    let tree = tempfile::tempdir().expect("folder");
    let files = tree.path().join("usr/share/ferrocm-files");
    std::fs::create_dir_all(&files).expect("folder");
    std::fs::write(files.join("text"), "a text\n").expect("file");
    let source = Path::new(PLACE.krate).join("tests/files.c");
    let program = Program::link_c(&source, PLACE, &[], DRIVER.library());
    let path = Path::new(program.path()).canonicalize().expect("exists");
    let mut command = std::process::Command::new(LOADER);
    command.arg("--preload").arg(DRIVER.library()).args(["--argv0", "other", program.path()]);
    command.env("FERROCM_ROCM_RUN", format!("/nowhere:{}\n{LOADER}", tree.path().display()));
    let run = command.output().expect("runs");
    let path = path.display();
    let expected = format!("{path}\n{path}\n1, -1, 0\na text\nnothing\n0, -1\n");
    assert_eq!(String::from_utf8_lossy(&run.stdout), expected, "{run:?}");
}

#[test]
fn a_bad_variable_is_an_error_of_the_start() {
    for (source, library) in [("rocm_smi.c", ROCM_SMI), ("amd_smi.c", AMD_SMI)] {
        let source = Path::new(PLACE.krate).join("tests").join(source);
        let program = Program::link_c(&source, PLACE, &[&library.library()], library.library());
        let run = program.variable("FERROCM_HSA_DEVICE", "vgpu:gfx90a?cores=1").run("vgpu");
        assert!(run.output.starts_with("no start: "), "{}", run.output);
        assert!(run.error.contains("`cores`"), "{}", run.error);
    }
}
