//! The search for a toolchain: places, preferences, and the error if there is none.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use kernel_build::Builder;
use kernel_build::toolchain::{Need, Origin, Search, Toolchain};
use test_skip::{Lack, skip};

use crate::support::{script, toolchain};

/// A search without any places.
fn nowhere() -> Search {
    Search {
        clang: None,
        hip_path: None,
        rocm: Vec::new(),
        path: Vec::new(),
        system: Vec::new(),
        prefix: Some("/no/prefix".into()),
        clang_args: Vec::new(),
        setup: None,
    }
}

fn link(to: &Path, at: PathBuf) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(to, at).unwrap();
}

/// The folder that holds `bin/clang`.
fn llvm(toolchain: &Toolchain) -> PathBuf {
    fs::canonicalize(&toolchain.clang).unwrap().parent().unwrap().parent().unwrap().to_owned()
}

#[test]
fn nothing_found_tells_every_place_and_what_to_do() {
    let search = Search { rocm: vec!["/no/rocm".into(), "/usr".into()], ..nowhere() };
    let text = search.find().unwrap_err().to_string();
    for part in [
        "ROCm: /no/rocm: no such folder",
        "clang: /usr: no llvm/bin/clang in this folder",
        "clang: PATH: no clang or clang-N",
        "clang: /no/prefix: set-up has installed no clang there",
        "run `ferrocm setup` (`cargo install ferrocm` provides it), or install ROCm",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("xtask"), "{text}");
    let survey = search.survey();
    let build: Vec<_> = survey.iter().filter(|f| f.need == Need::Build).collect();
    assert_eq!(build.len(), 5);
    assert!(build.iter().all(|f| f.problem.is_some() && f.remedy.is_some() && f.path.is_none()));
}

#[test]
fn messages_name_the_command_that_is_there() {
    let search = Search { setup: Some("cargo xtask setup".into()), ..nowhere() };
    let text = search.find().unwrap_err().to_string();
    assert!(text.contains("To get one, run `cargo xtask setup`, or install ROCm"), "{text}");
    assert!(!text.contains("ferrocm setup"), "{text}");
    // Installing would not help if a variable names something else.
    let text = Search { clang: Some("/no/clang".into()), ..search }.find().unwrap_err().to_string();
    assert!(
        text.ends_with("To get one, correct FERROCM_CLANG, or unset it and run `cargo xtask setup`."),
        "{text}"
    );
}

#[test]
fn an_explicit_clang_is_binding() {
    let folder = tempfile::tempdir().unwrap();
    let find = |clang: PathBuf| Search { clang: Some(clang), ..Search::from_env() }.find().unwrap_err();
    let error = find("/no/clang".into());
    assert_eq!(error.attempts.len(), 1);
    assert!(error.to_string().contains("clang: /no/clang: no such file"), "{error}");
    let error = find(script(folder.path(), "echo hello >&2")).to_string();
    assert!(error.contains("it is not clang: `hello`"), "{error}");
    let error = find(script(folder.path(), "echo broken library >&2; exit 127")).to_string();
    assert!(error.contains("it fails (exit status: 127): broken library"), "{error}");
}

#[test]
fn an_old_clang_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "echo 'Debian clang version 14.0.6' >&2");
    let error = Search { path: vec![folder.path().into()], ..nowhere() }.find().unwrap_err().to_string();
    assert!(error.contains("version 14.0.6, 22 or later is needed"), "{error}");
}

#[test]
fn rocm_is_preferred_and_complete_in_itself() {
    let Some(real) = toolchain() else { return };
    if matches!(real.origin, Origin::Prefix(_)) {
        skip(
            Lack::Machine,
            "the prefix's clang needs the prefix's libraries, so it cannot stand in for a ROCm's",
        );
        return;
    }
    let rocm = tempfile::tempdir().unwrap();
    let root = rocm.path();
    let path = real.clang.parent().unwrap().to_owned();
    let search = Search { rocm: vec![root.into()], path: vec![path], ..Search::from_env() };

    link(&llvm(&real), root.join("llvm"));
    let found = search.find().unwrap();
    assert!(!matches!(found.origin, Origin::Rocm(_)), "a ROCm without headers is passed over");
    link(&real.hip_path.join("include/hip"), root.join("include/hip"));
    link(&real.device_libs, root.join("amdgcn/bitcode"));
    let found = search.find().unwrap();
    assert_eq!(found.origin, Origin::Rocm(root.into()));
    assert_eq!((found.hip_path.as_path(), found.device_libs), (root, root.join("amdgcn/bitcode")));

    // Without share/hip/version, the version must come from the headers, or maths functions are missing.
    let kernels = tempfile::tempdir().unwrap();
    fs::write(kernels.path().join("a.cu"), "__global__ void k(float *x) { *x = expf(*x); }").unwrap();
    let build = Builder::new(kernels.path()).toolchain(search.find().unwrap()).cache(root.join("cache"));
    assert_eq!(build.targets(["gfx1030"]).build().unwrap().modules[0].kernels, ["_Z1kPf"]);
}

#[test]
fn headers_too_old_for_the_compiler_are_refused() {
    let Some(real) = toolchain().filter(|real| real.version.major >= 22) else { return };
    let hip = tempfile::tempdir().unwrap();
    fs::create_dir_all(hip.path().join("include/hip")).unwrap();
    fs::write(hip.path().join("include/hip/hip_runtime.h"), "").unwrap();
    let search =
        Search { clang: Some(real.clang.clone()), hip_path: Some(hip.path().into()), ..Search::from_env() };
    let error = search.find().unwrap_err().to_string();
    assert!(error.contains("the version is in neither"), "{error}");
    let version =
        "#define HIP_VERSION_MAJOR 5\n#define HIP_VERSION_MINOR 2\n#define HIP_VERSION_PATCH 21153\n";
    fs::write(hip.path().join("include/hip/hip_version.h"), version).unwrap();
    let error = search.find().unwrap_err().to_string();
    assert!(error.contains("HIP 5.2.21153 headers are too old for clang"), "{error}");
}

#[test]
fn the_prefix_supplies_what_the_machine_lacks() {
    let Some(real) = toolchain() else { return };
    if !Path::new("/usr/include/stdlib.h").exists() || !Path::new("/usr/include/c++").exists() {
        skip(Lack::Machine, "this machine has no C++ headers in /usr/include to stand in for the prefix's");
        return;
    }
    // An empty system root hides the C and C++ headers from clang.
    let machine = tempfile::tempdir().unwrap();
    let mut sysroot = std::ffi::OsString::from("--sysroot=");
    sysroot.push(machine.path());
    let prefix = tempfile::tempdir().unwrap();
    let search = Search {
        hip_path: Some(real.hip_path.clone()),
        prefix: Some(prefix.path().into()),
        clang_args: vec![sysroot],
        ..nowhere()
    };
    link(&llvm(&real), prefix.path().join(format!("usr/lib/llvm-{}", real.version.major)));
    if let (Origin::Prefix(_), [libraries, ..]) = (&real.origin, real.library_path.as_slice()) {
        // The libraries of the prefix's clang are not beside it.
        link(libraries, prefix.path().join("usr/lib/x86_64-linux-gnu"));
    }
    let libs = "lib/clang/0/amdgcn/bitcode";
    let other = prefix.path().join("usr/lib/llvm-1");
    link(&real.device_libs, other.join(libs));
    let error = search.find().unwrap_err().to_string();
    assert!(
        error.contains("C++ headers:") && error.contains("cmath is in none of clang's folders"),
        "{error}"
    );

    link(Path::new("/usr/include"), prefix.path().join("usr/include"));
    let found = search.find().unwrap();
    assert_eq!(found.origin, Origin::Prefix(prefix.path().into()));
    assert_eq!(found.library_path[0], prefix.path().join("usr/lib/x86_64-linux-gnu"));
    let kernels = tempfile::tempdir().unwrap();
    let source = "#include <cmath>\n#include <cstdint>\n#include <type_traits>\n\
                  __global__ void k(float *x, std::int64_t n) { x[n] = std::sqrt(*x) + expf(*x); }";
    fs::write(kernels.path().join("a.cu"), source).unwrap();
    let build = Builder::new(kernels.path()).toolchain(found).cache(machine.path().join("cache"));
    assert_eq!(build.targets(["gfx1100"]).build().unwrap().modules[0].kernels, ["_Z1kPfl"]);
}

#[test]
fn the_compiler_of_the_prefix_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = fs::canonicalize(folder.path()).unwrap();
    let write = |name: &str, text: &str| {
        let path = prefix.join("usr").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    write("include/hip/hip_runtime.h", "");
    let version = "#define HIP_VERSION_MAJOR 7\n#define HIP_VERSION_MINOR 1\n#define HIP_VERSION_PATCH 2\n";
    write("include/hip/hip_version.h", version);
    for name in ["ocml.bc", "ockl.bc", "oclc_isa_version_1100.bc"] {
        write(&format!("lib/clang/22/amdgcn/bitcode/{name}"), "");
    }
    let linker = write("lib/llvm-22/bin/lld", "");
    let (asked, usr) = (prefix.join("asked"), prefix.join("usr").display().to_string());
    // Each of the four questions is a line in `asked`.
    let answer = |patch: u32| {
        let text = format!(
            "echo \"$@\" >> {}\ncase \"$*\" in\n*resource-dir) echo {usr}/lib/clang/22 ;;\n*prog-name=lld) echo {} ;;\n\
             *-E*) printf 'clang version 22.1.{patch}\\n#include <...>\\n {usr}/include/c++\\nEnd\\n' >&2 ;;\nesac",
            asked.display(),
            linker.display()
        );
        script(&prefix.join("usr/lib/llvm-22/bin"), &text)
    };
    let questions = || fs::read_to_string(&asked).map_or(0, |text| text.lines().count());
    let search = Search { prefix: Some(prefix.clone()), ..nowhere() };

    answer(1);
    // It is not a toolchain yet, so it is asked again each time.
    for expected in [4, 8] {
        assert!(search.find().unwrap_err().to_string().contains("cmath is in none"));
        assert_eq!(questions(), expected);
    }
    write("include/c++/cmath", "");
    write("include/c++/stdlib.h", "");
    // The missing part has appeared; this takes no new questions.
    let found = search.find().unwrap();
    assert_eq!((found.version.patch, &found.linker, questions()), (1, &linker, 8));

    // A compiler with other options, or one that replaces it, is asked anew.
    let other = Search { clang_args: vec!["-DA".into()], ..search.clone() };
    assert_eq!((other.find().unwrap().version.patch, questions()), (1, 12));
    assert_eq!((other.find().unwrap().version.patch, questions()), (1, 12));
    answer(22);
    assert_eq!((search.find().unwrap().version.patch, questions()), (22, 16));
    assert_eq!((search.find().unwrap().version.patch, questions()), (22, 16));

    // A damaged answer does not count, nor does one that names missing files.
    for entry in fs::read_dir(&prefix).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.file_name().unwrap().to_str().unwrap().starts_with("answers-") {
            fs::write(entry, "{\"asked\":").unwrap();
        }
    }
    assert_eq!((search.find().unwrap().version.patch, questions()), (22, 20));
    fs::remove_file(&linker).unwrap();
    assert!(search.find().unwrap_err().to_string().contains("finds no lld"));
    assert_eq!(questions(), 24);
}
