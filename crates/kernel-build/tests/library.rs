//! Static libraries of host code: what is in them, that they do not depend on where they are made, and what is wrong.

mod support;

use std::fs;
use std::path::Path;

use code_object::bundle;
use kernel_build::{Builder, Error, Translate};
use support::{Folder, toolchain};

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

/// Where something is in a file.
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
    // The same compressed.
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
    // No object file has a symbol that another one has.
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
            // The lines of translated sources name their folder.
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

#[test]
fn the_path_has_to_be_that_of_a_library() {
    for path in ["launchers.a", "liblaunchers.so", "lib.a", "/"] {
        let error = Builder::new("kernels").build_lib(Path::new(path)).unwrap_err();
        assert!(matches!(error, Error::Library { .. }), "{path}: {error:?}");
        assert!(error.to_string().contains("libNAME.a"), "{path}: {error}");
    }
}
