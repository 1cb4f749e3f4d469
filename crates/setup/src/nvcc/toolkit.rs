//! A folder laid out like CUDA's toolkit: `bin/nvcc`, the headers, and the libraries that programs are linked
//! with.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use device_compiler::nvcc::CUDA_VERSION;

use super::{Error, archive, io_error, libraries};
use crate::hipcc::folder::{self, Item};
use crate::hipcc::{HIP_LIBRARY, Parts};

/// The header that nvcc's driver reads after CUDA's runtime header.
pub(super) const DRIVER_HEADER: &str = "ferrocm_nvcc.h";
/// Its text.
const DRIVER_HEADER_TEXT: &str = include_str!("driver.h");
/// Where the libraries are.
pub(super) const LIBRARIES: &str = "lib64";
/// Where CUDA's headers are.
pub(super) const HEADERS: &str = "include";
/// Where those of CUDA's headers are that come from this folder only, for the driver's own compilations: they
/// find the others where they are written, and no second time behind them, where `__has_include_next` would
/// take them for another library's.
pub(super) const OWN_HEADERS: &str = "include-nvcc";
/// Headers that CUDA's toolkit does not have: compilers of plain C and C++ have their own.
const NOT_CUDAS: [&str; 1] = ["omp.h"];
/// Where CUDA has its device library.
pub(super) const DEVICE_LIBRARIES: &str = "nvvm/libdevice";
/// Libraries without anything in them: all of it is in the headers, the runtime, or device code. Build files
/// name NVML's also for programs that only use it if there is its header, which is missing.
const EMPTY: [&str; 4] = ["libcudadevrt.a", "libculibos.a", "libnvToolsExt.a", "libnvidia-ml.a"];
/// The HIP library by CUDA's names.
const SHARED: [&str; 4] = ["libcudart.so", "libcuda.so", "stubs/libcuda.so", "stubs/libamdhip64.so.7"];
/// Headers that C programs include, too.
const FOR_C: [&str; 17] = [
    "builtin_types.h",
    "channel_descriptor.h",
    "cuda.h",
    "cudaProfiler.h",
    "cuda_device_runtime_api.h",
    "cuda_profiler_api.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_types.h",
    "driver_functions.h",
    "driver_types.h",
    "host_defines.h",
    "library_types.h",
    "surface_types.h",
    "texture_types.h",
    "vector_functions.h",
    "vector_types.h",
];
/// Programs of CUDA's that build systems only ask for their places.
const PLACES: [&str; 3] = ["fatbinary", "nvlink", "ptxas"];

/// Creates the folder below `cache`, unless it exists. `headers` has CUDA's headers.
pub(super) fn make(cache: &Path, parts: &Parts<'_>, headers: &Path) -> Result<PathBuf, Error> {
    let items = items(parts, headers)?;
    let Parts { toolchain, library, .. } = *parts;
    let mut salt = libraries::salt();
    if let Some(library) = library {
        let changed = fs::metadata(library).and_then(|file| file.modified());
        salt.push_str(&format!("{changed:?} {}", toolchain.version_text));
    }
    let place = folder::place(&cache.join("cuda"), &items, &salt, |tree| match library {
        None => Ok(()),
        Some(library) => libraries::make(toolchain, library, headers, &tree.join(LIBRARIES))
            .map_err(|reason| crate::hipcc::Error::Runtime { library: library.to_owned(), reason }),
    })?;
    Ok(place)
}

/// A word of a command line in which a folder that [`make`] made earlier is replaced by `toolkit`; `None` if
/// it has none. Build systems remember paths, and headers of two toolkits do not go together.
pub(super) fn in_toolkit(word: &OsStr, toolkit: &Path) -> Option<OsString> {
    let (all, current) = (toolkit.parent()?, toolkit.file_name()?.as_bytes());
    let word = word.as_bytes();
    let beginning = [all.as_os_str().as_bytes(), b"/"].concat();
    let start = word.windows(beginning.len()).position(|part| part == beginning)? + beginning.len();
    let (name, rest) = word[start..].split_at_checked(current.len())?;
    let is_toolkit = name.iter().all(u8::is_ascii_hexdigit) && matches!(rest, [] | [b'/', ..]);
    (is_toolkit && name != current).then(|| OsString::from_vec([&word[..start], current, rest].concat()))
}

fn items(parts: &Parts<'_>, headers: &Path) -> Result<Vec<(String, Item)>, Error> {
    let Parts { toolchain, library, program, .. } = *parts;
    let mut items = Vec::new();
    let mut add = |name: String, item: Item| items.push((name, item));
    let script =
        |arguments: &str| Item::Script(folder::script(program, library.and_then(Path::parent), arguments));
    add("bin/nvcc".to_owned(), script("nvcc"));
    for name in PLACES {
        let text = format!("#!/bin/sh\necho '{name}: nvcc of ferrocm does its work itself' >&2\nexit 1\n");
        add(format!("bin/{name}"), Item::Script(text.into_bytes()));
    }
    // Compilers of plain C and C++ read the headers through others that say for whom they are.
    let mut entries: Vec<PathBuf> = fs::read_dir(headers)
        .and_then(|folder| folder.map(|entry| Ok(entry?.path())).collect())
        .map_err(io_error("read", headers))?;
    entries.sort();
    for path in entries {
        let Some(name) = path.file_name().and_then(OsStr::to_str) else { continue };
        if NOT_CUDAS.contains(&name) {
            continue;
        }
        match path.is_dir() {
            true => add(format!("{HEADERS}/{name}"), Item::Link(path.clone())),
            false => add(format!("{HEADERS}/{name}"), Item::Text(wrapper(&path))),
        }
    }
    for folder in [HEADERS, OWN_HEADERS] {
        add(format!("{folder}/hip"), Item::Link(toolchain.hip_path.join("include/hip")));
        add(format!("{folder}/{DRIVER_HEADER}"), Item::Text(DRIVER_HEADER_TEXT.to_owned()));
        for (name, text) in libraries::HEADERS {
            add(format!("{folder}/{name}"), Item::Text(text.to_owned()));
        }
    }
    for name in EMPTY {
        add(format!("{LIBRARIES}/{name}"), Item::Bytes(archive::empty()));
    }
    if let Some(library) = library {
        for name in SHARED.into_iter().chain([HIP_LIBRARY, "libamdhip64.so"]) {
            add(format!("{LIBRARIES}/{name}"), Item::Link(library.to_owned()));
        }
    }
    // CMake takes the folder above this one for that of the device libraries.
    add(DEVICE_LIBRARIES.to_owned(), Item::Link(toolchain.device_libs.clone()));
    add("lib".to_owned(), Item::Link(LIBRARIES.into()));
    for (name, to) in [("include", "../../include"), ("lib", "../../lib64")] {
        add(format!("targets/x86_64-linux/{name}"), Item::Link(to.into()));
    }
    let (major, minor, build) = CUDA_VERSION;
    let version =
        format!("{{\"cuda\": {{\"name\": \"CUDA SDK\", \"version\": \"{major}.{minor}.{build}\"}}}}\n");
    add("version.json".to_owned(), Item::Text(version));
    items.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(items)
}

/// A header for compilers of plain C and C++, where programs may ignore a status.
fn wrapper(header: &Path) -> String {
    let is_for_c = header.file_name().is_some_and(|name| FOR_C.iter().any(|other| name == *other));
    let beside = |name: &str| header.with_file_name(name).display().to_string();
    // In C, there are the names of types, values and functions only.
    let for_c = match is_for_c {
        true => format!(
            "#if !defined(__cplusplus)\n#include \"{}\"\n#else\n#include \"{}\"\n",
            beside("ferrocm_c.h"),
            // Programs look for CUDA's guards.
            beside("ferrocm_guards.h")
        ),
        false => "#if 1\n".to_owned(),
    };
    let header = header.display();
    format!(
        "#if defined(__FERROCM_CUDA__) || defined(__HIPCC__) || defined(__HIP__)\n#include \"{header}\"\n#else\n\
         #if !defined(__HIP_PLATFORM_AMD__)\n#define __HIP_PLATFORM_AMD__ 1\n#endif\n{for_c}\
         #pragma push_macro(\"nodiscard\")\n#undef nodiscard\n#define nodiscard maybe_unused\n\
         #include \"{header}\"\n#pragma pop_macro(\"nodiscard\")\n#endif\n#endif\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_an_earlier_toolkit_are_those_of_this_one() {
        let toolkit = Path::new("/cache/cuda/0123456789abcdef");
        let of = |word: &str| {
            in_toolkit(OsStr::new(word), toolkit).map(|word| word.into_string().expect("is UTF-8"))
        };
        for (word, expected) in [
            ("-I/cache/cuda/fedcba9876543210/include", "-I/cache/cuda/0123456789abcdef/include"),
            ("/cache/cuda/fedcba9876543210", "/cache/cuda/0123456789abcdef"),
            (
                "/cache/cuda/fedcba9876543210/lib64/libcudart.so",
                "/cache/cuda/0123456789abcdef/lib64/libcudart.so",
            ),
        ] {
            assert_eq!(of(word).as_deref(), Some(expected));
        }
        for word in [
            "-I/cache/cuda/0123456789abcdef/include",
            "-I/cache/cuda/fedcba98765432100/include",
            "-I/cache/cuda/fedcba98765432/include",
            "-I/cache/cuda/examples-of-mine/include",
            "-I/cache/cuda",
            "-O3",
        ] {
            assert_eq!(of(word), None, "{word}");
        }
    }
}
