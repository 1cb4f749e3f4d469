//! Static libraries of host code: their contents, their independence of the build folder, and errors.

use std::fs;
use std::path::Path;

use code_object::bundle;
use kernel_build::{Builder, Error, Translate};

use crate::support::{self, Folder, KERNEL, LAUNCHES, toolchain};

const LAUNCHER: &str = r#"#include <cuda_runtime.h>
#include "scale.cuh"
static __global__ void scale(float *x) { x[threadIdx.x] *= SCALE; }
extern "C" int NAME(float *x, int n, cudaStream_t stream) {
    scale<<<1, n, 0, stream>>>(x);
    return cudaGetLastError();
}
"#;

/// A folder with two sources and their header.
fn sources() -> Option<Folder> {
    let folder = Folder::new(toolchain()?);
    for (file, name) in [("one.cu", "launch_one"), ("nested/one.cu", "launch_nested")] {
        folder.write(file, &LAUNCHER.replace("NAME", name).replace("\"scale.cuh\"", "<scale.cuh>"));
    }
    folder.write("scale.cuh", "#define SCALE 2.0f\n");
    Some(folder)
}

fn builder(folder: &Folder) -> Builder {
    let builder = Builder::new(folder.kernels()).include(folder.kernels()).cache(folder.cache());
    builder.targets(["gfx1100", "gfx90a:xnack-"])
}

/// The positions of a text in a file.
fn places(file: &[u8], what: &[u8]) -> Vec<usize> {
    (0..file.len()).filter(|&at| file[at..].starts_with(what)).collect()
}

#[test]
fn a_library_has_the_launchers_and_the_code_of_every_target() {
    let Some(folder) = sources() else { return };
    let path = folder.path().join("new/liblaunchers.a");
    let build = builder(&folder).build_lib(&path).unwrap();
    assert_eq!(build.modules.len(), 2);
    let file = fs::read(&path).unwrap();
    assert!(file.starts_with(b"!<arch>\n"));
    let index = String::from_utf8_lossy(&file[..512.min(file.len())]).into_owned();
    assert!(index.contains("launch_one\0") && index.contains("launch_nested\0"), "{index:?}");

    let bundles = places(&file, bundle::MAGIC);
    assert_eq!(bundles.len(), 2);
    for (at, module) in bundles.into_iter().zip(&build.modules) {
        for object in &module.objects {
            let code = bundle::code_for(&file[at..], &object.target).unwrap();
            assert_eq!(code, object.bytes, "{} {}", module.name, object.target);
        }
    }
    // The same, compressed.
    let packed = folder.path().join("libpacked.a");
    let build = builder(&folder).offload_compress(true).build_lib(&packed).unwrap();
    let packed = fs::read(packed).unwrap();
    assert!(build.all_cached() && packed.len() < file.len() / 2, "{} of {}", packed.len(), file.len());
    let bundles = places(&packed, b"CCOB\x02\0");
    assert_eq!(bundles.len(), 2);
    for (at, module) in bundles.into_iter().zip(&build.modules) {
        for object in &module.objects {
            let code = bundle::code_for(&packed[at..], &object.target).unwrap();
            assert!(code == object.bytes, "{} {}", module.name, object.target);
        }
    }
    // No two object files share a symbol.
    let mut names: Vec<&str> = index.split('\0').filter(|name| name.starts_with("__hip_cuid_")).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 2, "{index:?}");
}

#[test]
fn equal_sources_give_equal_files_wherever_they_are() {
    let (Some(one), Some(two)) = (sources(), sources()) else { return };
    for mode in [Translate::None, Translate::Hipify] {
        let make = |folder: &Folder, name: &str| {
            let path = folder.path().join(name);
            // The lines of translated sources contain their folder.
            builder(folder).translate(mode).source_lines(mode == Translate::None).build_lib(&path).unwrap();
            fs::read(path).unwrap()
        };
        let first = make(&one, "libx.a");
        assert_eq!(make(&one, "liby.a"), first, "{mode:?}: from the cache");
        assert!(make(&two, "libx.a") == first, "{mode:?}: in another folder");
        let text = String::from_utf8_lossy(&first).into_owned();
        for folder in [one.path(), &one.kernels()] {
            assert!(!text.contains(&*folder.to_string_lossy()), "{mode:?}: no path of the machine");
        }
    }
}

#[test]
fn a_library_that_would_not_change_is_left_alone() {
    let Some(folder) = sources() else { return };
    let path = folder.path().join("liblaunchers.a");
    let make = || {
        builder(&folder).build_lib(&path).unwrap();
        (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap())
    };
    let first = make();
    assert_eq!(make(), first);
    folder.write("scale.cuh", "#define SCALE 3.0f\n#define UNUSED\n");
    assert_ne!(make().0, first.0, "a header is another one");
}

#[test]
fn host_code_that_does_not_compile_is_told_as_such() {
    let Some(folder) = sources() else { return };
    let source = folder.write(
        "one.cu",
        "#include <cuda_runtime.h>\n#ifndef __HIP_DEVICE_COMPILE__\n#error only for devices\n#endif\n",
    );
    let error = builder(&folder).build_lib(folder.path().join("libx.a")).unwrap_err();
    let text = error.to_string();
    assert!(matches!(&error, Error::HostCode { source_file, .. } if *source_file == source), "{error:?}");
    assert!(text.contains(&format!("{}:3:2: error: only for devices", source.display())), "{text}");
    assert!(!folder.path().join("libx.a").exists());
}

/// Definitions that several sources may share.
const COMMON: &str = r#"
template <typename T> __attribute__((global)) void common(T *x) { *x = 1; }
template __attribute__((global)) void common(float *);
inline __attribute__((used)) int shared() { return 1; }
__attribute__((device)) int variable;
"#;

#[test]
fn a_name_that_two_sources_define_is_told() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let path = folder.path().join("libx.a");
    let build = |second: &str| {
        folder.write(
            "a.cu",
            &format!("{LAUNCHES}{COMMON}{KERNEL} k() {{}}\nextern \"C\" int launch_a() {{ return 0; }}\n"),
        );
        folder.write("deep/b.cu", &format!("{LAUNCHES}{COMMON}{second}\n"));
        folder.builder().build_lib(&path).map(drop).map_err(|error| error.to_string())
    };
    for (second, name) in [
        (format!("{KERNEL} k() {{}}"), "k"),
        ("extern \"C\" int launch_a() { return 1; }".to_owned(), "launch_a"),
        ("int launch_a = 1;".to_owned(), "launch_a"),
    ] {
        let text = build(&second).unwrap_err();
        let expected = format!("libx.a: `{name}` is defined in a.cu and in deep/b.cu; ");
        assert!(text.contains(&expected), "{text}");
        assert!(!path.exists(), "{second}");
    }
    // Templates, inline functions and static items may be in both, and each module has its own kernels.
    build("static __attribute__((global)) void k() {}\nstatic int launch_a() { return 1; }\nint launch_b() { return launch_a(); }")
        .unwrap();
    let file = fs::read(&path).unwrap();
    assert!(build("extern \"C\" int launch_a() { return 1; }").is_err());
    assert!(fs::read(&path).unwrap() == file, "the library of before is as it was");
}

#[test]
fn a_library_that_cannot_be_written_is_named() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let source = folder.write("a.cu", "extern \"C\" int launch() { return 0; }\n");
    let below = source.join("libx.a");
    let error = folder.builder().build_lib(&below).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot make the folder {}: ", source.display())), "{error}");
    let taken = folder.path().join("libx.a");
    fs::create_dir(&taken).unwrap();
    let error = folder.builder().build_lib(&taken).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot write {}: ", taken.display())), "{error}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        left.iter().all(|name| ["kernels", "cache", "libx.a"].iter().any(|known| name == known)),
        "{left:?}"
    );
}

#[test]
fn the_path_has_to_be_that_of_a_library() {
    for path in ["launchers.a", "liblaunchers.so", "lib.a", "/"] {
        let error = Builder::new("kernels").build_lib(Path::new(path)).unwrap_err();
        assert!(matches!(error, Error::Library { .. }), "{path}: {error:?}");
        assert!(error.to_string().contains("libNAME.a"), "{path}: {error}");
    }
}

/// Makes a child process build a library of the kernels in the named folder.
const FOLDER: &str = "KERNEL_BUILD_TEST_LIBRARY";

#[test]
fn a_variable_leaves_the_device_code_of_sources_out() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = Path::new(&folder);
        // The variable overrides the targets that the script names for a source.
        let build =
            support::builder(folder).targets_for("one.cu", ["gfx90a"]).build_lib(folder.join("libx.a"));
        let targets = |module: &kernel_build::BuiltModule| -> Vec<String> {
            module.objects.iter().map(|object| object.target.to_string()).collect()
        };
        let modules = build.unwrap().modules;
        println!(
            "{:?}",
            modules.iter().map(|module| (&*module.relative, targets(module))).collect::<Vec<_>>()
        );
        return;
    }
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    for (file, name) in [("one.cu", "one"), ("nested/two.cu", "two")] {
        folder.write(
            file,
            &format!("{LAUNCHES}\n{KERNEL} k_{name}() {{}}\nextern \"C\" void host_{name}() {{}}\n"),
        );
    }
    let built = |value: &str| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["library::a_variable_leaves_the_device_code_of_sources_out", "--exact", "--nocapture"]);
        let output = command.env(FOLDER, folder.path()).env("FERROCM_TARGETS_FOR", value).output().unwrap();
        assert!(output.status.success(), "{value}: {}", String::from_utf8_lossy(&output.stderr));
        let library = fs::read(folder.path().join("libx.a")).unwrap();
        for function in ["host_one\0", "host_two\0"] {
            assert!(!places(&library, function.as_bytes()).is_empty(), "{value}: {function}");
        }
        (String::from_utf8(output.stdout).unwrap(), places(&library, b"hipv4-amdgcn-amd-amdhsa--gfx").len())
    };
    let (told, objects) = built("");
    assert!(told.contains(r#"[("nested/two.cu", ["gfx1100"]), ("one.cu", ["gfx90a"])]"#), "{told}");
    assert_eq!(objects, 2);
    let (told, objects) = built("elsewhere*=gfx942 nested/*=none");
    assert!(told.contains(r#"[("nested/two.cu", []), ("one.cu", ["gfx90a"])]"#), "{told}");
    assert_eq!(objects, 1);
    let (told, objects) = built("*.cu=none");
    assert!(told.contains(r#"[("nested/two.cu", []), ("one.cu", [])]"#), "{told}");
    assert_eq!(objects, 0);
}
