//! The program as a person runs it: what it prints, and its exit status.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use test_skip::{Lack, skip};

#[path = "cli/bench_compare.rs"]
mod bench_compare;
#[cfg(feature = "models")]
#[path = "cli/language_models.rs"]
mod language_models;
#[cfg(feature = "virtual")]
#[path = "cli/replay.rs"]
mod replay;

/// All targets of virtual GPUs, with the work-items of a wave on such hardware.
#[cfg(feature = "virtual")]
fn virtual_targets() -> impl Iterator<Item = (&'static str, u64)> {
    let executed = code_object::PROCESSORS.iter().filter(|processor| processor.instructions.is_some());
    executed.map(|row| (row.name, if row.name.starts_with("gfx9") { 64 } else { 32 }))
}

/// A missing library, so that no test depends on this machine's libraries.
const NO_LIBRARY: &str = "/no/such/libamdhip64.so";

/// The program, in an environment without GPUs and without the user's settings.
fn ferrocm(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrocm"));
    command.args(arguments).stdin(Stdio::null()).env("FERROCM_HIP_LIBRARY", NO_LIBRARY);
    for variable in [
        "FERROCM_DEVICE",
        "FERROCM_HSA_DEVICE",
        "FERROCM_CLANG",
        "FERROCM_HIP_PATH",
        "FERROCM_SETUP",
        "FERROCM_REPLAY_FOLDERS",
        "ROCM_PATH",
        "HIP_PATH",
    ] {
        command.env_remove(variable);
    }
    command
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn run(command: &mut Command) -> Ran {
    let output = command.output().expect("starts");
    let text = |bytes| String::from_utf8(bytes).expect("prints UTF-8");
    let ran = Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
    // Users who installed the program have no checkout.
    assert!(!ran.out.contains("xtask") && !ran.err.contains("xtask"), "{}{}", ran.out, ran.err);
    ran
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The row of a table with this first cell, and its continuation lines.
fn row<'a>(text: &'a str, first: &str) -> &'a str {
    let is_first = |line: &str| line.split("  ").next() == Some(first);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if is_first(line.trim_end()) {
            let rest = &text[start + line.len()..];
            let below: usize =
                rest.split_inclusive('\n').take_while(|line| line.starts_with("    ")).map(str::len).sum();
            return text[start..start + line.len() + below].trim_end();
        }
        start += line.len();
    }
    panic!("no row {first} in {text}")
}

#[test]
fn help_shows_examples_of_every_command() {
    let help = run(&mut ferrocm(&["--help"]));
    assert_eq!(help.code, Some(0), "{}", help.err);
    for command in [
        "setup",
        "doctor",
        "devices",
        "run",
        "rocm",
        "hipcc",
        "hipconfig",
        "hipify",
        "nvcc",
        "patch",
        "replay",
        "bench",
        "completions",
        "man",
    ] {
        assert!(help.out.contains(&format!("\n  {command} ")), "{command} in {}", help.out);
        let help = run(&mut ferrocm(&[command, "--help"]));
        assert_eq!(help.code, Some(0));
        let example = format!("Examples:\n  ferrocm {command}");
        assert!(help.out.contains(&example), "{example} in {}", help.out);
    }
    let help = run(&mut ferrocm(&["setup", "--help"]));
    for part in ["No root is needed", "400 MB on disk", "--dry-run", "--yes", "--cuda"] {
        assert!(help.out.contains(part), "{part} in {}", help.out);
    }
    let version = run(&mut ferrocm(&["--version"]));
    assert_eq!((version.code, version.out), (Some(0), format!("ferrocm {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_malformed_command_line_is_told_and_ends_with_2() {
    for (arguments, told) in [
        (&[][..], "Usage: ferrocm"),
        (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (&["devices", "--frobnicate"], "unexpected argument '--frobnicate'"),
        (&["doctor", "extra"], "unexpected argument 'extra'"),
        (&["hipify"], "<FILE|DIR>"),
        (&["bench", "extract"], "<LOG>"),
        (
            &["bench", "extract", "--format", "x", "a.log"],
            "`x` is not a format; the formats are primus, megatron, nemo,",
        ),
        (&["bench", "extract", "--warmup", "some", "a.log"], "expected a number of steps or `steady`"),
        (&["bench", "extract", "--gpus", "0", "a.log"], "0 is not in 1.."),
        (&["hipify", "--check", "--in-place", "a.cu"], "cannot be used with"),
        (&["bench"], "Usage: ferrocm bench"),
        (&["bench", "compare"], "<RUN>"),
        (&["bench", "compare", "--threshold", "much", "a.json"], "expected a percentage"),
        (&["devices", "--device", "vgpu:gfx1100?cu=4"], "`cu` is not a parameter; expected `cus`"),
        (&["run"], "<PROGRAM>"),
        (&["run", "--device", "gpu", "--", "true"], "expected `auto`, `amdgpu`, `cuda` or `vgpu`"),
        (&["patch", "."], "--checkout <DIR>"),
        (&["replay"], "<FILE>"),
        (&["replay", "--device", "gpu", "a.replay"], "expected `auto`, `amdgpu`, `cuda` or `vgpu`"),
        (&["rocm", "./saxpy"], "unexpected argument './saxpy' found"),
        (&["completions", "tcsh"], "[possible values: bash,"),
        (&["devices", "--device", "gpu"], "expected `auto`, `amdgpu`, `cuda` or `vgpu`"),
    ] {
        let ran = run(&mut ferrocm(arguments));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(told), "{told} in {}", ran.err);
    }
}

#[test]
fn run_becomes_the_program_with_the_libraries_first() {
    let folder = tempfile::tempdir().expect("folder");
    let libraries = folder.path().canonicalize().expect("path");
    let path = libraries.to_str().expect("UTF-8");
    let none = run(&mut ferrocm(&["run", "--libraries", path, "env"]));
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""), "{}", none.err);
    assert!(none.err.contains(&format!("there is no libamdhip64.so.7 in {path}")), "{}", none.err);
    // The programs of this test never load these files.
    fs::write(libraries.join("libamdhip64.so.7"), "").expect("write");
    let with = |arguments: &[&str]| {
        let mut command = ferrocm(&["run"]);
        command.args(arguments).env("FERROCM_LIBRARIES", path).env("LD_LIBRARY_PATH", "/before");
        run(&mut command)
    };
    // Only these variables: the rest belongs to whoever runs the tests.
    let shown = "for name in LD_LIBRARY_PATH FERROCM_DEVICE FERROCM_HSA_DEVICE; do eval \"echo $name=\\$$name\"; done";
    let ran = with(&["--device", "vgpu:gfx90a", "--", "sh", "-c", shown]);
    let expected = format!("LD_LIBRARY_PATH={path}:{path}/hiprtc:{path}/rocblas:{path}/rccl:/before");
    for line in [&*expected, "FERROCM_DEVICE=vgpu:gfx90a", "FERROCM_HSA_DEVICE="] {
        assert!(ran.out.lines().any(|found| found == line), "{line} in {}", ran.out);
    }
    let ran = with(&["--amd-hip", "--device", "vgpu:gfx90a", "sh", "-c", shown]);
    let expected = format!("LD_LIBRARY_PATH={path}/hsa:/before");
    for line in [&*expected, "FERROCM_DEVICE=", "FERROCM_HSA_DEVICE=vgpu:gfx90a"] {
        assert!(ran.out.lines().any(|found| found == line), "{line} in {}", ran.out);
    }
    // Options after the program's name belong to the program.
    let ran = with(&["sh", "-c", "echo $1; exit 7", "--device", "--device"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(7), "--device\n"), "{}", ran.err);
    let ran = with(&["--", "no-such-program"]);
    assert_eq!(ran.code, Some(127));
    assert!(ran.err.contains("cannot start no-such-program"), "{}", ran.err);
    assert_eq!(with(&["--", path]).code, Some(126));
}

#[test]
fn rocm_fetches_nothing_without_the_libraries_of_the_virtual_gpu() {
    let folder = tempfile::tempdir().expect("folder");
    let here = folder.path();
    let [libraries, fetched] = ["libraries", "fetched"].map(|name| here.join(name));
    fs::create_dir(&libraries).expect("folder");
    let rocm = |more: &[&str]| {
        let mut command = ferrocm(&["rocm", "--libraries"]);
        let ran = run(command.arg(&libraries).arg("--folder").arg(&fetched).args(more));
        assert_eq!((ran.code, ran.out.as_str(), fetched.exists()), (Some(1), "", false), "{}", ran.err);
        ran.err
    };
    let error = rocm(&["--", "rocminfo"]);
    assert!(error.contains(&format!("there is no libamdhip64.so.7 in {}", libraries.display())), "{error}");
    fs::write(libraries.join("libamdhip64.so.7"), "").expect("file");
    let error = rocm(&["--", "rocminfo"]);
    assert!(error.contains("there is no libhsa-runtime64.so.1 in ") && error.contains("/hsa"), "{error}");
    for (arguments, told) in [
        (&["--version", "6.0"][..], "\"6.0\" is not a known ROCm release: 5.2, 5.7, 6.4, 7.2"),
        (&["--version", "6.4", "--own-hip"], "need --version 7.2"),
        (&["--with", "cublas"], "\"cublas\" is not a known addition to ROCm 7.2"),
    ] {
        let error = rocm(arguments);
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn patch_changes_nothing_where_nothing_depends_on_cuda() {
    let folder = tempfile::tempdir().expect("folder");
    let program = folder.path().join("program");
    fs::create_dir_all(program.join("src")).expect("folder");
    fs::write(program.join("src/lib.rs"), "").expect("file");
    let manifest = "[package]\nname = \"program\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(program.join("Cargo.toml"), manifest).expect("file");
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (checkout, told) in [
        (checkout.as_path(), "depends on cudarc, cudaforge, bindgen_cuda"),
        (Path::new("/no/such/checkout"), "cannot find /no/such/checkout"),
    ] {
        let ran = run(ferrocm(&["patch", "--checkout"]).arg(checkout).arg(&program));
        assert!(ran.code == Some(1) && ran.err.contains(told), "{}", ran.err);
        assert_eq!(fs::read_to_string(program.join("Cargo.toml")).expect("file"), manifest);
        assert!(!program.join("Cargo.lock").exists());
    }
}

#[test]
fn manual_pages_and_completions_know_every_command() {
    let folder = tempfile::tempdir().expect("folder");
    let pages = folder.path().join("man1");
    let ran = run(&mut ferrocm(&["man", pages.to_str().expect("UTF-8")]));
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""));
    for page in ["ferrocm.1", "ferrocm-run.1", "ferrocm-devices.1", "ferrocm-bench-run.1"] {
        let text = fs::read_to_string(pages.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.contains(".TH ") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    // Let the shell itself judge the completions.
    let ran = run(&mut ferrocm(&["completions", "bash"]));
    let script = format!(
        "{}\nCOMP_WORDS=(ferrocm de); COMP_CWORD=1; _ferrocm ferrocm de ferrocm; echo \"${{COMPREPLY[@]}}\"",
        ran.out
    );
    match Command::new("bash").args(["-c", &script]).output() {
        Ok(done) => assert_eq!(
            String::from_utf8_lossy(&done.stdout),
            "devices\n",
            "{}",
            String::from_utf8_lossy(&done.stderr)
        ),
        Err(_) => skip(Lack::Machine, "no bash on this machine"),
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let ran = run(&mut ferrocm(&["completions", shell]));
        assert!(ran.code == Some(0) && ran.out.contains("devices"), "{shell}: {}", ran.err);
    }
}

#[test]
fn hipify_translates_reports_and_says_so_in_its_status() {
    let folder = tempfile::tempdir().expect("folder");
    let source = folder.path().join("a.cu");
    fs::write(&source, "#include <cuda_runtime.h>\nvoid f() { cudaFree(0); }\n").expect("write");
    let path = source.to_str().expect("UTF-8");

    let hip = "#include <hip/hip_runtime.h>\nvoid f() { hipFree(0); }\n";
    let ran = run(&mut ferrocm(&["hipify", path]));
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), hip, ""));
    let ran = run(&mut ferrocm(&["hipify", "--check", path]));
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let ran = run(&mut ferrocm(&["hipify", "--in-place", path]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    assert_eq!(fs::read_to_string(&source).expect("read"), hip);

    fs::write(&source, "\n  cuMulticastCreate(a, b);\n").expect("write");
    let ran = run(&mut ferrocm(&["hipify", "--check", path]));
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("a.cu:2:3: error: "), "{}", ran.out);
    let ran = run(&mut ferrocm(&["hipify", "--check", "--format", "sarif", path]));
    assert_eq!((ran.code, json(&ran.out)["version"].as_str()), (Some(1), Some("2.1.0")));
    let ran = run(&mut ferrocm(&["hipify", "--examine", "--format", "json", path]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(json(&ran.out)["summary"].is_object(), "{}", ran.out);

    let ran = run(&mut ferrocm(&["hipify", "--check", "/no/such/file.cu"]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.starts_with("error: ") && ran.err.contains("/no/such/file.cu"), "{}", ran.err);
}

#[cfg(feature = "virtual")]
#[test]
fn devices_lists_virtual_gpus_and_why_each_vendor_is_skipped() {
    let ran = run(&mut ferrocm(&["devices"]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    for (target, wave) in virtual_targets() {
        let row = row(&ran.out, &format!("vgpu:{target}"));
        assert!(row.contains(&format!("  {wave}  ")), "{row}");
    }
    assert!(ran.out.contains("\ndefault  vgpu:gfx1100 (auto)\n"), "{}", ran.out);
    let reason = ran.out.split_once("skipped  amdgpu: ").expect("AMD's library is skipped").1;
    assert!(reason.contains(NO_LIBRARY), "{reason}");
    assert!(ran.out.contains("\nskipped  cuda: "), "{}", ran.out);
}

#[cfg(feature = "virtual")]
#[test]
fn json_says_what_the_table_says() {
    let ran = run(&mut ferrocm(&["devices", "--json"]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    let listing = json(&ran.out);
    let devices = listing["devices"].as_array().expect("a list");
    for (target, wave) in virtual_targets() {
        let uri = format!("vgpu:{target}");
        let device = devices.iter().find(|device| device["uri"] == *uri).expect("listed");
        assert_eq!((&device["backend"], &device["wave_size"]), (&Value::from("vgpu"), &Value::from(wave)));
        assert!(device["target"].as_str().is_some_and(|text| text.starts_with(target)), "{device}");
        assert!(device["memory"].as_u64().is_some_and(|bytes| bytes >= 1 << 30), "{device}");
        assert!(device["compute_units"].as_u64().is_some_and(|units| units > 0), "{device}");
    }
    assert_eq!(listing["default"], json(r#"{ "uri": "vgpu:gfx1100", "from": "auto" }"#));
    let skipped = listing["skipped"].as_array().expect("a list");
    let reason = |backend: &str| {
        let found = skipped.iter().find(|skipped| skipped["backend"] == backend);
        found.and_then(|skipped| skipped["reason"].as_str()).unwrap_or_default().to_owned()
    };
    assert!(reason("amdgpu").contains(NO_LIBRARY), "{listing}");
    assert!(!reason("cuda").is_empty() && reason("vgpu").is_empty(), "{listing}");
}

#[cfg(feature = "virtual")]
#[test]
fn one_device_is_shown_with_all_that_is_known() {
    let uri = "vgpu:gfx90a?cus=3&memory=1GiB&count=2";
    let ran = run(&mut ferrocm(&["devices", "--device", uri]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let headings = ran.out.lines().filter(|line| line.starts_with("vgpu:gfx90a?cus=3&memory=1GiB"));
    assert_eq!(headings.count(), 2, "{}", ran.out);
    assert!(row(&ran.out, "compute units").ends_with("  3"), "{}", ran.out);
    assert!(row(&ran.out, "memory").ends_with("  1 GiB"), "{}", ran.out);
    assert!(row(&ran.out, "work-items of a wave").ends_with("  64"), "{}", ran.out);

    let ran = run(&mut ferrocm(&["devices", "--json", "--device", uri, "--device", "vgpu:gfx1030"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let listing = json(&ran.out);
    let devices = listing["devices"].as_array().expect("a list");
    assert_eq!(devices.len(), 3, "{listing}");
    let first = (&devices[0]["compute_units"], &devices[0]["memory"]);
    assert_eq!(first, (&Value::from(3), &Value::from(1 << 30)));
    assert_eq!(devices[2]["wave_size"], 32);
}

#[cfg(not(feature = "virtual"))]
#[test]
fn without_the_virtual_gpu_and_another_one_there_is_no_device() {
    let ran = run(&mut ferrocm(&["devices"]));
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.out.contains("\nskipped  vgpu: ") && ran.out.contains("feature `virtual`"), "{}", ran.out);
    assert!(!ran.out.contains("default  "), "{}", ran.out);
    let ran = run(&mut ferrocm(&["devices", "--json"]));
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    let listing = json(&ran.out);
    assert_eq!(listing["devices"], Value::Array(Vec::new()));
    let backends: Vec<_> = listing["skipped"].as_array().expect("a list").iter().collect();
    assert_eq!(backends.len(), 3, "{listing}");
    assert!(listing["default"]["error"].as_str().is_some_and(|text| text.contains("auto")), "{listing}");
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let unsupported = if cfg!(feature = "virtual") { "gfx90a" } else { "feature `virtual`" };
    for (uri, told) in [("vgpu:gfx803", unsupported), ("amdgpu:0", NO_LIBRARY), ("cuda", "NVIDIA")] {
        let ran = run(&mut ferrocm(&["devices", "--device", uri]));
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{uri}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains(told), "{told} in {}", ran.err);
    }
}

#[cfg(feature = "virtual")]
#[test]
fn the_variable_names_the_default_device() {
    let ran = run(ferrocm(&["devices"]).env("FERROCM_DEVICE", "vgpu:gfx90a"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("\ndefault  vgpu:gfx90a (FERROCM_DEVICE)\n"), "{}", ran.out);
}

#[cfg(feature = "virtual")]
#[test]
fn a_bad_variable_is_an_error_that_names_it_and_the_bad_part() {
    for command in [&["devices"][..], &["devices", "--json"]] {
        let ran = run(ferrocm(command).env("FERROCM_DEVICE", "vgpu:gfx1100?cu=4"));
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        for part in ["FERROCM_DEVICE", "vgpu:gfx1100?cu=4", "`cu` is not a parameter"] {
            assert!(ran.err.contains(part), "{part} in {}", ran.err);
        }
        // The available devices are still shown.
        assert!(ran.out.contains("vgpu:gfx1201"), "{}", ran.out);
        if command.len() == 2 {
            let default = json(&ran.out)["default"].clone();
            assert!(default["error"].as_str().is_some_and(|text| text.contains("`cu`")), "{default}");
        }
    }
    let ran = run(ferrocm(&["doctor"]).env("FERROCM_DEVICE", "gpu"));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("correct or unset FERROCM_DEVICE"), "{}", ran.out);
}

#[cfg(feature = "virtual")]
#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut command = ferrocm(&["devices"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

/// Empty folders: `bin`, `cache`, `tmp`.
struct Empty(tempfile::TempDir);

impl Empty {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temp folder");
        for name in ["bin", "cache", "tmp"] {
            fs::create_dir(folder.path().join(name)).expect("folder");
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program with this cache and temporary folder.
    fn ferrocm(&self, arguments: &[&str]) -> Command {
        let mut command = ferrocm(arguments);
        command.env("FERROCM_CACHE", self.path("cache")).env("TMPDIR", self.path("tmp"));
        command
    }
}

/// All names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("folder").flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn doctor_says_what_is_missing_and_what_to_do() {
    if Path::new("/opt/rocm").exists() {
        skip(Lack::Machine, "this machine has a ROCm, which no variable hides");
        return;
    }
    let empty = Empty::new();
    let ran = run(empty.ferrocm(&["doctor"]).env("PATH", empty.path("bin")));
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    for part in ["clang", "lld", "HIP headers", "device libraries", "C++ headers"] {
        let row = row(&ran.out, part);
        assert!(row.contains("  MISSING  ") && row.contains("ferrocm setup"), "{row}");
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    assert!(ran.err.starts_with("error: required, but not in order: "), "{}", ran.err);
    // Every place searched, and what was found there.
    let prefix = empty.path("cache/toolchain/current").display().to_string();
    assert!(ran.out.contains(&format!("\n  {prefix}: set-up has installed no clang there\n")), "{}", ran.out);
    let device = if cfg!(feature = "virtual") { "vgpu:gfx1100" } else { "MISSING" };
    assert!(row(&ran.out, "default device").contains(device), "{}", ran.out);
    assert!(row(&ran.out, "installed by setup").contains("nothing"), "{}", ran.out);
    assert_eq!(names(&empty.path("cache")), [""; 0], "only asking makes no folders");
}

#[cfg(feature = "virtual")]
#[test]
fn setup_installs_nothing_over_a_complete_toolchain() {
    let doctor = run(&mut ferrocm(&["doctor"]));
    if doctor.code != Some(0) {
        skip(Lack::Tool, format_args!("this machine has no device toolchain\n{}", doctor.err));
        return;
    }
    assert!(doctor.out.ends_with("\nEverything that is required is here.\n"), "{}", doctor.out);
    assert!(row(&doctor.out, "clang").contains("  ok"), "{}", doctor.out);
    let setup = run(&mut ferrocm(&["setup"]));
    assert_eq!((setup.code, setup.err.as_str()), (Some(0), ""), "{}", setup.out);
    assert_eq!(setup.out.lines().count(), 1, "{}", setup.out);
    assert!(setup.out.starts_with("Device toolchain: clang "), "{}", setup.out);
}

#[test]
fn a_variable_that_names_a_bad_compiler_is_blamed() {
    let empty = Empty::new();
    let ran = run(empty.ferrocm(&["doctor"]).env("FERROCM_CLANG", "/no/such/clang"));
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    let advice = "correct FERROCM_CLANG, or unset it and run `ferrocm setup`";
    assert!(row(&ran.out, "clang").contains(advice), "{}", ran.out);

    let ran = run(empty.ferrocm(&["setup", "--yes"]).env("FERROCM_CLANG", "/no/such/clang"));
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    for part in ["clang: /no/such/clang: no such file", "Correct it or unset it."] {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    assert_eq!(names(&empty.path("cache")), [""; 0]);
}

#[test]
fn setup_without_a_network_says_so_and_leaves_nothing_behind() {
    let empty = Empty::new();
    let apt = empty.path("apt");
    fs::create_dir(&apt).expect("folder");
    // Nothing listens on this local port.
    fs::write(apt.join("sources.list"), "deb http://127.0.0.1:1/debian bookworm main\n").expect("write");
    // The previous installation stays in use.
    let toolchains = empty.path("cache/toolchain");
    fs::create_dir_all(toolchains.join("old")).expect("folder");
    symlink("old", toolchains.join("current")).expect("link");

    let mut command = empty.ferrocm(&["setup", "--yes", "--prefix-only", "--update"]);
    command.env("FERROCM_APT_SOURCES", &apt);
    for proxy in ["http_proxy", "https_proxy", "all_proxy"] {
        command.env_remove(proxy).env_remove(proxy.to_uppercase());
    }
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert_eq!(fs::read_link(toolchains.join("current")).expect("link"), Path::new("old"));
    assert_eq!(names(&empty.path("tmp")), [""; 0]);
    if ran.err.contains("cannot be installed here") {
        assert!(ran.err.contains("`ferrocm doctor` shows what was found"), "{}", ran.err);
        return skip(Lack::Machine, "set-up installs nothing on this system");
    }
    for part in ["indexes could not be fetched", "127.0.0.1", "Nothing was installed", "http_proxy"] {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    assert!(ran.out.contains(&toolchains.display().to_string()), "says where to: {}", ran.out);
    assert_eq!(names(&toolchains), [".lock", "current", "old"]);
}

#[test]
fn setup_without_a_mirror_names_what_it_read() {
    let empty = Empty::new();
    let mut command = empty.ferrocm(&["setup", "--yes", "--prefix-only"]);
    let ran = run(command.env("FERROCM_APT_SOURCES", empty.path("no-apt")));
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    if !ran.err.contains("cannot be installed here") {
        assert!(ran.err.contains("no apt source serves") && ran.err.contains("no-apt"), "{}", ran.err);
    }
    assert_eq!(names(&empty.path("cache")), [""; 0]);
}

/// A log of MaxText: four steps, the last of which has no loss.
const LOG: &str = "Num_devices: 8\nConfig param global_batch_size_to_train_on: 16\nConfig param max_target_length: 2048\n\
    completed step: 0, seconds: 20.000, TFLOP/s/device: 10.000, Tokens/s/device: 204.800, total_weights: 32768, loss: 12.000\n\
    completed step: 1, seconds: 2.000, TFLOP/s/device: 100.000, Tokens/s/device: 2048.000, total_weights: 32768, loss: 11.900\n\
    completed step: 2, seconds: 2.000, TFLOP/s/device: 100.000, Tokens/s/device: 2048.000, total_weights: 32768, loss: 11.800\n\
    completed step: 3, seconds: 2.000, TFLOP/s/device: 100.000, Tokens/s/device: 2048.000, total_weights: 32768, loss: nan\n";

#[test]
fn bench_extract_prints_a_table_json_and_the_seed_format() {
    let folder = tempfile::tempdir().expect("folder");
    let log = folder.path().join("train_llama3_8b.log");
    fs::write(&log, LOG).expect("write");
    let path = log.to_str().expect("UTF-8");

    let ran = run(&mut ferrocm(&["bench", "extract", path, "--ignored"]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    for line in [
        "  format           maxtext (4 of 7 lines are about steps)",
        "  GPUs             8 × unknown",
        "  training         16 sequences a step, 2048 tokens a sequence",
        "  steps            4, 26.000 s, without warm-up: first 1",
        "  step time        mean 2.0000 s (95 %: 2.0000 to 2.0000), median 2.0000 s",
        "  throughput       16384.0 tokens/s, 2048.0 tokens/s/GPU, 100.0 TFLOP/s/GPU",
        "  loss             12 to 11.8",
        "  finding          1 of 4 losses are missing or not finite [loss-is-no-number]",
        "  ignored          line 7: loss is not finite: `nan`",
    ] {
        assert!(ran.out.lines().any(|found| found == line), "{line:?} in {}", ran.out);
    }

    let ran =
        run(&mut ferrocm(&["bench", "extract", "--json", "--warmup", "2", "--model", "llama3_8b", path]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let record = json(&ran.out);
    assert_eq!(record["step_times"], serde_json::json!([20.0, 2.0, 2.0, 2.0]));
    assert_eq!(record["loss_values"], serde_json::json!([12.0, 11.9, 11.8, null]));
    assert_eq!(
        (&record["performance_metrics"]["warmup_rule"], &record["model_info"]["name"]),
        (&"first 2".into(), &"llama3_8b".into())
    );

    let ran = run(&mut ferrocm(&["bench", "extract", "--seed-format", path]));
    assert!(ran.out.contains("\"raw_step_times\": [\n    20.000,\n    2.000,"), "{}", ran.out);

    // The newest log of a folder, into a file.
    let output = folder.path().join("record.json");
    let arguments =
        ["bench", "extract", folder.path().to_str().expect("UTF-8"), "--model", "llama-3-8b", "--output"];
    let ran = run(ferrocm(&arguments).arg(&output));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(json(&fs::read_to_string(&output).expect("written"))["source"], "maxtext_log_extraction");
}

#[test]
fn bench_extract_reads_several_logs_and_standard_input() {
    let folder = tempfile::tempdir().expect("folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (first, second, bad) = (at("a.log"), at("b.log"), at("c.log"));
    fs::write(&first, LOG).expect("write");
    fs::write(&second, LOG.replace("seconds: 2.000", "seconds: 4.000")).expect("write");
    fs::write(&bad, "nothing\n").expect("write");

    let ran = run(&mut ferrocm(&["bench", "extract", "--json", &first, &second]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(json(&ran.out)[1]["step_times"], serde_json::json!([20.0, 4.0, 4.0, 4.0]));
    let ran = run(&mut ferrocm(&["bench", "extract", "--json", "--one-run", &first, &second]));
    assert_eq!(json(&ran.out)["step_times"], serde_json::json!([20.0, 4.0, 4.0, 4.0]));

    let records = at("records");
    fs::create_dir(&records).expect("folder");
    let ran = run(&mut ferrocm(&["bench", "extract", &first, &second, "--output", &records]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let written = fs::read_to_string(folder.path().join("records/b.json")).expect("written");
    assert_eq!(json(&written)["performance_metrics"]["avg_step_time_seconds"], 4.0);

    // Failures are reported; the others are printed.
    let ran = run(&mut ferrocm(&["bench", "extract", &first, &bad, &at("none.log")]));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("a.log\n  format           maxtext"), "{}", ran.out);
    for told in ["none of 1 lines is about a step of training", "cannot read ", "none.log"] {
        assert!(ran.err.contains(told), "{told} in {}", ran.err);
    }

    let mut child = ferrocm(&["bench", "extract", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), LOG.as_bytes()).expect("write");
    let output = child.wait_with_output().expect("ends");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success() && out.starts_with("-\n  format           maxtext"), "{out}");
    let ran = run(&mut ferrocm(&["bench", "extract", "-", &first]));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("standard input (-) is read alone"), "{}", ran.err);
}

/// Whoever installs the program to get the compiler cannot build the measuring code yet.
#[cfg(not(feature = "measure"))]
#[test]
fn bench_run_says_how_to_build_what_measures() {
    let ran = run(&mut ferrocm(&["bench", "run", "--suite", "gemm", "--json"]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
    for part in ["ferrocm setup", "cargo install ferrocm --features measure", "ferrocm bench extract"] {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
}

#[cfg(all(feature = "measure", feature = "virtual"))]
#[test]
fn bench_run_measures_and_prints_what_was_asked_for() {
    let arguments = ["bench", "run", "--device", "vgpu:gfx1100", "--suite", "latency", "--size", "tiny"];
    let table = run(&mut ferrocm(&arguments));
    assert_eq!(table.code, Some(0), "{}", table.err);
    assert!(
        table.out.contains("times are those of the CPU") && table.out.contains("latency"),
        "{}",
        table.out
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.json");
    let both = [&arguments[..], &["--json", "--output", file.to_str().unwrap()]].concat();
    let record = run(&mut ferrocm(&both));
    assert_eq!(
        (record.code, json(&record.out)["platform"].as_str()),
        (Some(0), Some("virtual")),
        "{}",
        record.err
    );
    assert_eq!(fs::read_to_string(file).unwrap(), record.out);
    for (wrong, code) in [("gpu", 2), ("cuda", 1)] {
        assert_eq!(run(&mut ferrocm(&["bench", "run", "--device", wrong])).code, Some(code), "{wrong}");
    }
    let nowhere = [&arguments[..], &["--output", "/no/such/folder/x.json"]].concat();
    assert_eq!(run(&mut ferrocm(&nowhere)).code, Some(1));
}

#[cfg(all(feature = "measure", not(feature = "virtual")))]
#[test]
fn bench_run_without_a_gpu_points_to_logs() {
    let ran = run(&mut ferrocm(&["bench", "run"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("mode: log") && ran.out.contains("ferrocm bench extract"), "{}", ran.out);
    let named = run(ferrocm(&["bench", "run"]).env("FERROCM_NVML_LIBRARY", "/no/such/file.so"));
    assert!(named.code == Some(0) && named.out.contains("NVML (/no/such/file.so)"), "{}", named.out);
}
