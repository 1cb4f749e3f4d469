//! CUDA's headers for AMD targets, and the detection of CUDA sources.
//!
//! The headers are part of this crate. They have CUDA's file names (`cuda_runtime.h`, `cuda_fp16.h`,
//! `cooperative_groups.h` …) and map CUDA's names to HIP's. Builds and run-time compilation put them on every
//! compiler's include path, so that a `.cu` written for nvcc compiles unmodified.
//!
//! # Dialects
//! In [`Dialect::Cuda`], a source reads `cuda_runtime.h` first, as with nvcc, and a warp has 32 lanes on
//! every target: `warpSize` is 32, masks and ballots have 32 bits, and the functions of warps
//! (`__shfl_down_sync`, `__ballot_sync`, `__activemask`, `__match_any_sync`, `__reduce_add_sync` …) stay
//! within 32 lanes. On a target with waves of 64 lanes, each half is a warp. In [`Dialect::Hip`], a source
//! reads `hip/hip_runtime.h` first; waves, `warpSize` and 64-bit masks are those of HIP.
//!
//! A source is HIP if it includes a HIP header (`hip/…`) as CUDA, directly or through its own headers.
//! Conditions and macros count, with the compiler's options: an `#include` in a branch that is not taken
//! counts for nothing. Every other source is CUDA. The caller's choice comes before this.
//!
//! In the CUDA dialect, none of `__HIP__`, `__HIPCC__` and `__HIP_PLATFORM_AMD__` is visible to a program,
//! and what nvcc includes and defines by itself is there. Warps have 32 lanes and the compute capability is
//! 8.9, for device code as for what host code is told. `CUDART_VERSION` is 12080 unless an option sets it.
//!
//! # What differs from NVIDIA's compiler
//! * Lanes do not wait for each other at a mask; the lanes in the mask must arrive together.
//! * `__CUDACC__` is defined, and in code for the device `__CUDA_ARCH__` is 890, so that guards keep kernels
//!   for bf16 and fp8. [Inline PTX](crate::ptx) becomes C++.
//! * A `CUdeviceptr` is a pointer, as in HIP.
//! * Host code is compiled for its messages only, and kernels are launched from Rust, unless
//!   [`build_lib`](https://docs.rs/ferrocm-kernel-build/latest/kernel_build/struct.Builder.html#method.build_lib)
//!   makes a library of it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use cpp_lexer::{Kind, tokens};

use crate::Error;
use crate::files::replace;
use crate::private::{self, Owner};

mod dialect;

/// The language of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// CUDA: warps of 32 lanes.
    Cuda,
    /// HIP: waves of the target's size.
    Hip,
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cuda => "CUDA",
            Self::Hip => "HIP",
        })
    }
}

/// The compiler option that tells the headers that a source is CUDA.
pub const DIALECT_OPTION: &str = "-D__FERROCM_CUDA__=1";
/// The header that a CUDA source reads first.
pub const RUNTIME_HEADER: &str = "cuda_runtime.h";
/// The header that a HIP source reads first.
pub const HIP_RUNTIME_HEADER: &str = "hip/hip_runtime.h";

macro_rules! headers {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../cuda/", $name)))),*] };
}

/// The headers: the name that sources include, and the text.
pub const HEADERS: &[(&str, &str)] = headers! {
    "builtin_types.h"
    "channel_descriptor.h"
    "common_functions.h"
    "cooperative_groups/memcpy_async.h"
    "cooperative_groups/reduce.h"
    "cooperative_groups/scan.h"
    "cooperative_groups.h"
    "crt/device_double_functions.h"
    "crt/device_functions.h"
    "crt/host_defines.h"
    "crt/math_functions.h"
    "crt/mma.h"
    "cuComplex.h"
    "cub/block/block_adjacent_difference.cuh"
    "cub/block/block_discontinuity.cuh"
    "cub/block/block_exchange.cuh"
    "cub/block/block_histogram.cuh"
    "cub/block/block_load.cuh"
    "cub/block/block_merge_sort.cuh"
    "cub/block/block_radix_sort.cuh"
    "cub/block/block_reduce.cuh"
    "cub/block/block_run_length_decode.cuh"
    "cub/block/block_scan.cuh"
    "cub/block/block_shuffle.cuh"
    "cub/block/block_store.cuh"
    "cub/config.cuh"
    "cub/cub.cuh"
    "cub/device/device_adjacent_difference.cuh"
    "cub/device/device_copy.cuh"
    "cub/device/device_for.cuh"
    "cub/device/device_histogram.cuh"
    "cub/device/device_memcpy.cuh"
    "cub/device/device_merge.cuh"
    "cub/device/device_merge_sort.cuh"
    "cub/device/device_partition.cuh"
    "cub/device/device_radix_sort.cuh"
    "cub/device/device_reduce.cuh"
    "cub/device/device_run_length_encode.cuh"
    "cub/device/device_scan.cuh"
    "cub/device/device_segmented_radix_sort.cuh"
    "cub/device/device_segmented_reduce.cuh"
    "cub/device/device_segmented_sort.cuh"
    "cub/device/device_select.cuh"
    "cub/device/device_spmv.cuh"
    "cub/device/device_transform.cuh"
    "cub/iterator/arg_index_input_iterator.cuh"
    "cub/iterator/cache_modified_input_iterator.cuh"
    "cub/iterator/cache_modified_output_iterator.cuh"
    "cub/iterator/constant_input_iterator.cuh"
    "cub/iterator/counting_input_iterator.cuh"
    "cub/iterator/discard_output_iterator.cuh"
    "cub/iterator/transform_input_iterator.cuh"
    "cub/thread/thread_load.cuh"
    "cub/thread/thread_operators.cuh"
    "cub/thread/thread_reduce.cuh"
    "cub/thread/thread_scan.cuh"
    "cub/thread/thread_search.cuh"
    "cub/thread/thread_sort.cuh"
    "cub/thread/thread_store.cuh"
    "cub/util_allocator.cuh"
    "cub/util_arch.cuh"
    "cub/util_debug.cuh"
    "cub/util_macro.cuh"
    "cub/util_math.cuh"
    "cub/util_ptx.cuh"
    "cub/util_type.cuh"
    "cub/version.cuh"
    "cub/warp/warp_exchange.cuh"
    "cub/warp/warp_load.cuh"
    "cub/warp/warp_merge_sort.cuh"
    "cub/warp/warp_reduce.cuh"
    "cub/warp/warp_scan.cuh"
    "cub/warp/warp_store.cuh"
    "cuda/access_property"
    "cuda/annotated_ptr"
    "cuda/atomic"
    "cuda/barrier"
    "cuda/cmath"
    "cuda/discard_memory"
    "cuda/functional"
    "cuda/latch"
    "cuda/pipeline"
    "cuda/semaphore"
    "cuda/std/__ferrocm_std.h"
    "cuda/std/algorithm"
    "cuda/std/array"
    "cuda/std/atomic"
    "cuda/std/barrier"
    "cuda/std/bit"
    "cuda/std/cassert"
    "cuda/std/ccomplex"
    "cuda/std/cctype"
    "cuda/std/cfloat"
    "cuda/std/chrono"
    "cuda/std/climits"
    "cuda/std/cmath"
    "cuda/std/complex"
    "cuda/std/concepts"
    "cuda/std/cstddef"
    "cuda/std/cstdint"
    "cuda/std/cstdlib"
    "cuda/std/cstring"
    "cuda/std/ctime"
    "cuda/std/functional"
    "cuda/std/initializer_list"
    "cuda/std/iterator"
    "cuda/std/latch"
    "cuda/std/limits"
    "cuda/std/memory"
    "cuda/std/new"
    "cuda/std/numeric"
    "cuda/std/optional"
    "cuda/std/ratio"
    "cuda/std/semaphore"
    "cuda/std/span"
    "cuda/std/string_view"
    "cuda/std/tuple"
    "cuda/std/type_traits"
    "cuda/std/utility"
    "cuda/std/variant"
    "cuda/std/version"
    "cuda/stream_ref"
    "cuda/type_traits"
    "cuda/utility"
    "cuda/version"
    "cuda.h"
    "cudaEGL.h"
    "cudaGL.h"
    "cudaProfiler.h"
    "cudaTypedefs.h"
    "cudaVDPAU.h"
    "cuda_awbarrier.h"
    "cuda_awbarrier_primitives.h"
    "cuda_bf16.h"
    "cuda_bf16.hpp"
    "cuda_device_runtime_api.h"
    "cuda_egl_interop.h"
    "cuda_fp16.h"
    "cuda_fp16.hpp"
    "cuda_fp4.h"
    "cuda_fp8.h"
    "cuda_fp8.hpp"
    "cuda_gl_interop.h"
    "cuda_pipeline.h"
    "cuda_pipeline_primitives.h"
    "cuda_profiler_api.h"
    "cuda_runtime.h"
    "cuda_runtime_api.h"
    "cuda_surface_types.h"
    "cuda_texture_types.h"
    "cuda_vdpau_interop.h"
    "curand.h"
    "curand_kernel.h"
    "curand_philox4x32_x.h"
    "device_atomic_functions.h"
    "device_double_functions.h"
    "device_functions.h"
    "device_launch_parameters.h"
    "device_types.h"
    "driver_functions.h"
    "driver_types.h"
    "ferrocm_aligned_vectors.h"
    "ferrocm_arch.h"
    "ferrocm_c.h"
    "ferrocm_convert.h"
    "ferrocm_corrected.h"
    "ferrocm_device.h"
    "ferrocm_driver_addresses.h"
    "ferrocm_driver_composed.h"
    "ferrocm_driver_refused.h"
    "ferrocm_driver_table.h"
    "ferrocm_driver_types.h"
    "ferrocm_entries.h"
    "ferrocm_gl_driver.h"
    "ferrocm_gl_runtime.h"
    "ferrocm_guards.h"
    "ferrocm_half.h"
    "ferrocm_half_class.h"
    "ferrocm_half_functions.h"
    "ferrocm_hip_api.h"
    "ferrocm_hip_begin.h"
    "ferrocm_hip_end.h"
    "ferrocm_hip_names.h"
    "ferrocm_host_math.h"
    "ferrocm_launch.h"
    "ferrocm_letters_begin.h"
    "ferrocm_letters_end.h"
    "ferrocm_library_names.h"
    "ferrocm_math.h"
    "ferrocm_minmax.h"
    "ferrocm_mrg.h"
    "ferrocm_ptx.h"
    "ferrocm_ptx_bits.h"
    "ferrocm_ptx_convert.h"
    "ferrocm_ptx_matrix.h"
    "ferrocm_ptx_memory.h"
    "ferrocm_ptx_warp.h"
    "ferrocm_rocm_begin.h"
    "ferrocm_round_mode.h"
    "ferrocm_rows.h"
    "ferrocm_runtime_composed.h"
    "ferrocm_runtime_functions.h"
    "ferrocm_runtime_names.h"
    "ferrocm_runtime_refused.h"
    "ferrocm_runtime_table.h"
    "ferrocm_runtime_types.h"
    "ferrocm_scoped_atomics.h"
    "ferrocm_simd.h"
    "ferrocm_surfaces.h"
    "ferrocm_values_begin.h"
    "ferrocm_values_end.h"
    "ferrocm_vectors.h"
    "ferrocm_warp.h"
    "ferrocm_warp_names.h"
    "ferrocm_wrapped.h"
    "ferrocm_xorwow.h"
    "host_defines.h"
    "library_types.h"
    "math_constants.h"
    "math_functions.h"
    "mma.h"
    "nv/target"
    "nvToolsExt.h"
    "nvToolsExtCuda.h"
    "nvToolsExtCudaRt.h"
    "nvtx3/ferrocm_nvtx_start.h"
    "nvtx3/nvToolsExt.h"
    "nvtx3/nvToolsExtCuda.h"
    "nvtx3/nvToolsExtCudaRt.h"
    "nvtx3/nvToolsExtSync.h"
    "nvtx3/nvtx3.hpp"
    "omp.h"
    "sm_20_atomic_functions.h"
    "sm_20_intrinsics.h"
    "sm_30_intrinsics.h"
    "sm_32_atomic_functions.h"
    "sm_32_intrinsics.h"
    "sm_35_intrinsics.h"
    "sm_60_atomic_functions.h"
    "sm_61_intrinsics.h"
    "surface_functions.h"
    "surface_indirect_functions.h"
    "surface_types.h"
    "texture_fetch_functions.h"
    "texture_indirect_functions.h"
    "texture_types.h"
    "thrust/binary_search.h"
    "thrust/complex.h"
    "thrust/copy.h"
    "thrust/count.h"
    "thrust/detail/config.h"
    "thrust/detail/ferrocm.h"
    "thrust/device_free.h"
    "thrust/device_malloc.h"
    "thrust/device_ptr.h"
    "thrust/device_reference.h"
    "thrust/device_vector.h"
    "thrust/execution_policy.h"
    "thrust/extrema.h"
    "thrust/fill.h"
    "thrust/for_each.h"
    "thrust/functional.h"
    "thrust/gather.h"
    "thrust/host_vector.h"
    "thrust/inner_product.h"
    "thrust/iterator/constant_iterator.h"
    "thrust/iterator/counting_iterator.h"
    "thrust/iterator/transform_iterator.h"
    "thrust/memory.h"
    "thrust/pair.h"
    "thrust/random/detail/erfcinv.h"
    "thrust/reduce.h"
    "thrust/replace.h"
    "thrust/scan.h"
    "thrust/scatter.h"
    "thrust/sequence.h"
    "thrust/sort.h"
    "thrust/swap.h"
    "thrust/system/cuda/config.h"
    "thrust/system/cuda/error.h"
    "thrust/system/cuda/execution_policy.h"
    "thrust/system/cuda/future.h"
    "thrust/system/cuda/memory.h"
    "thrust/system/cuda/memory_resource.h"
    "thrust/system/cuda/pointer.h"
    "thrust/system/cuda/vector.h"
    "thrust/system_error.h"
    "thrust/tabulate.h"
    "thrust/transform.h"
    "thrust/transform_reduce.h"
    "thrust/tuple.h"
    "thrust/uninitialized_fill.h"
    "thrust/version.h"
    "vector_functions.h"
    "vector_types.h"
};

/// A hash of all headers.
#[must_use]
pub fn identity() -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in HEADERS.iter().flat_map(|(name, text)| [name, text]) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize()
}

/// Writes the headers to a subfolder named by their content, unless they exist, and returns that folder.
///
/// Compilers read these files, but keys of caches only have the texts from here. So nobody but the user may
/// write to any of the folders. If others could, which older versions allowed under some umasks, what they
/// may have written is replaced or removed.
///
/// # Errors
/// [`Error::Io`] and [`Error::NotPrivate`] name the file or folder.
pub(crate) fn write_headers(root: &Path, owner: Owner) -> Result<PathBuf, Error> {
    let folder = root.join(&identity().to_hex()[..16]);
    let mut checked = HashSet::new();
    let mut was_loose = false;
    for (name, _) in HEADERS {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(&folder);
        private::make_folder(parent).map_err(|e| Error::io("make the folder", parent, e))?;
        for folder in parent.ancestors().take_while(|folder| folder.starts_with(root)) {
            if checked.insert(folder.to_owned()) {
                let failed = |e| Error::io("look at", folder, e);
                was_loose |= owner.tighten(folder).map_err(failed)?;
                owner.check(folder, &std::fs::symlink_metadata(folder).map_err(failed)?)?;
            }
        }
    }
    if was_loose {
        let known = HEADERS.iter().map(|(name, _)| folder.join(name)).chain(checked).collect();
        remove_others(&folder, &known).map_err(|e| Error::io("clean", &folder, e))?;
    }
    for (name, text) in HEADERS {
        let path = folder.join(name);
        if owner.read(&path).is_none_or(|(old, _)| old != text.as_bytes()) {
            replace(&path, text.as_bytes())?;
        }
    }
    Ok(folder)
}

/// Removes everything from a folder that is not known.
fn remove_others(folder: &Path, known: &HashSet<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, is_folder) = (entry.path(), entry.file_type()?.is_dir());
        match (known.contains(&path), is_folder) {
            (true, true) => remove_others(&path, known)?,
            (true, false) => {}
            (false, true) => std::fs::remove_dir_all(path)?,
            (false, false) => std::fs::remove_file(path)?,
        }
    }
    Ok(())
}

/// The dialect of a source: see the [module](self). The options are the compiler's; those that define macros
/// count. `open` resolves an `#include`: it gets the name and the identification of the including file, as
/// returned by `open` before. If the header is one of the program's own, it returns the header's
/// identification and text.
pub fn dialect<'a, F: Clone + Eq + std::hash::Hash>(
    source: F,
    text: &str,
    options: impl IntoIterator<Item = &'a OsStr>,
    open: impl FnMut(&F, &str) -> Option<(F, String)>,
) -> Dialect {
    dialect::dialect(source, text, options, open)
}

/// Whether a header that is not the program's own is one of ROCm's libraries, such as `hipcub/hipcub.hpp`.
/// They include HIP's headers.
fn is_of_rocm(name: &str) -> bool {
    name.contains('/') && (name.starts_with("hip") || name.starts_with("roc"))
}

/// The [`HEADERS`] that a compilation of these texts may read: those outside folders, those that a text
/// names, and their includes.
#[must_use]
pub fn headers_for<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<(&'static str, &'static str)> {
    let texts: Vec<&str> = texts.into_iter().collect();
    let is_named = |name: &str| texts.iter().any(|text| text.contains(name));
    let mut wanted: HashSet<&str> =
        HEADERS.iter().map(|(name, _)| *name).filter(|name| !name.contains('/') || is_named(name)).collect();
    let mut open: Vec<(&str, &str)> = HEADERS.iter().copied().filter(|(name, _)| is_named(name)).collect();
    while let Some((name, text)) = open.pop() {
        let found = included(text).into_iter().filter_map(|included| header_beside(name, included));
        open.extend(found.filter(|(name, _)| wanted.insert(*name)));
    }
    HEADERS.iter().copied().filter(|(name, _)| wanted.contains(name)).collect()
}

/// The header that another one includes by a name, relative to its folder, else to the top folder.
fn header_beside(header: &str, name: &str) -> Option<(&'static str, &'static str)> {
    let mut parts: Vec<&str> = header.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let beside = parts.join("/");
    let of = |name: &str| HEADERS.iter().copied().find(|(header, _)| *header == name);
    of(&beside).or_else(|| of(name))
}

/// The names of the files that a text includes, outside comments and strings.
pub(crate) fn included(source: &str) -> Vec<&str> {
    let tokens = tokens(source.as_bytes());
    let mut code = tokens.iter().filter(|token| !token.is_trivia()).peekable();
    let mut found = Vec::new();
    while let Some(token) = code.next() {
        let directive = token.kind == Kind::Hash
            && code
                .next_if(|word| matches!(&source[word.start..word.end], "include" | "include_next"))
                .is_some();
        let Some(name) = code.peek().filter(|_| directive) else { continue };
        let name = &source[name.start..name.end];
        let quoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        found.extend(quoted.or_else(|| name.strip_prefix('<')?.strip_suffix('>')).map(str::trim));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_gets_the_headers_that_its_headers_include() {
        let names =
            |text: &str| headers_for([text]).into_iter().map(|(name, _)| name).collect::<HashSet<_>>();
        let found = names("#include <cooperative_groups/memcpy_async.h>\n");
        for name in
            ["cooperative_groups/memcpy_async.h", "cuda/barrier", "cuda/atomic", "cuda/std/__ferrocm_std.h"]
        {
            assert!(found.contains(name), "{name}");
        }
        let none = names("int x;");
        assert!(none.contains("cuda_fp16.h") && none.iter().all(|name| !name.contains('/')));
        // Whichever header a source names, it gets everything that this one includes.
        for (header, _) in HEADERS {
            let found = names(&format!("#include <{header}>"));
            let mut open = vec![*header];
            let mut seen = HashSet::new();
            while let Some(name) = open.pop() {
                if !seen.insert(name) {
                    continue;
                }
                assert!(found.contains(name), "{name} for {header}");
                let (_, text) = HEADERS.iter().find(|(header, _)| *header == name).expect("a header");
                open.extend(
                    included(text).into_iter().filter_map(|included| Some(header_beside(name, included)?.0)),
                );
            }
        }
    }

    #[test]
    fn the_table_has_every_file_of_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda");
        let mut found = Vec::new();
        // libcu++'s headers have no extension.
        let mut open = vec![folder.clone()];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                found.push(path.strip_prefix(&folder).unwrap().to_owned());
            }
        }
        found.sort();
        let mut listed: Vec<PathBuf> = HEADERS.iter().map(|(name, _)| name.into()).collect();
        listed.sort();
        assert_eq!(found, listed);
    }

    #[test]
    fn written_headers_are_repaired() {
        let root = tempfile::tempdir().unwrap();
        let owner = Owner::of_new(&tempfile::tempfile().unwrap()).unwrap();
        let write_headers = |root: &Path| write_headers(root, owner);
        let folder = write_headers(root.path()).unwrap();
        std::fs::write(folder.join("cooperative_groups/reduce.h"), "").unwrap();
        std::fs::remove_file(folder.join("cuda_fp16.h")).unwrap();
        std::fs::remove_dir_all(folder.join("cub")).unwrap();
        assert_eq!(write_headers(root.path()).unwrap(), folder);
        for (name, text) in HEADERS {
            assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), *text, "{name}");
        }

        std::fs::remove_dir_all(folder.join("cub")).unwrap();
        std::fs::write(folder.join("cub"), "").unwrap();
        let error = write_headers(root.path()).unwrap_err().to_string();
        assert!(error.contains("/cub"), "{error}");
    }

    #[test]
    fn headers_that_others_may_write_to_are_refused_or_replaced() {
        use std::os::unix::fs::PermissionsExt as _;
        let cache = tempfile::tempdir().unwrap();
        let root = cache.path().join("headers");
        let owner = Owner::of_new(&tempfile::tempfile().unwrap()).unwrap();
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = write_headers(&root, owner).unwrap();
        let inside = folder.join("cooperative_groups");
        for folder in [&root, &folder, &inside] {
            assert_eq!(mode(folder), 0o700, "whatever the umask is");
            // Older versions left the mode to the umask.
            set(folder, 0o777);
            write_headers(&root, owner).unwrap();
            assert_eq!(mode(folder), 0o755);
        }
        // What others may have put there is gone.
        let planted = [folder.join("cstdint"), inside.join("more.h"), folder.join("hip/hip_runtime.h")];
        std::fs::create_dir(folder.join("hip")).unwrap();
        planted.iter().for_each(|path| std::fs::write(path, "#error").unwrap());
        write_headers(&root, owner).unwrap();
        assert!(planted.iter().all(|path| path.exists()), "nobody else could write there");
        set(&inside, 0o775);
        write_headers(&root, owner).unwrap();
        assert!(!planted.iter().any(|path| path.exists()) && inside.join("reduce.h").exists());
        // Somebody who may write to a file can change it after it has been compared.
        let header = folder.join("cuda_fp16.h");
        set(&header, 0o666);
        write_headers(&root, owner).unwrap();
        assert_eq!(mode(&header) & 0o022, 0);
        // A link leads to a folder of somebody else.
        let moved = cache.path().join("moved");
        std::fs::rename(&inside, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &inside).unwrap();
        assert!(matches!(write_headers(&root, owner), Err(Error::NotPrivate { .. })));
    }

    #[test]
    fn every_name_that_is_cudas_is_hips_between_begin_and_end() {
        let names = |file: &str, directive: &str| -> Vec<String> {
            let text = HEADERS.iter().find(|(name, _)| *name == file).unwrap().1;
            let names = text.lines().filter_map(|line| line.strip_prefix(directive)?.split(' ').next());
            names.map(str::to_owned).collect()
        };
        let cuda = names("ferrocm_warp_names.h", "#define ");
        assert!(cuda.len() > 20);
        assert_eq!(cuda, names("ferrocm_hip_names.h", "#undef "));
    }

    /// The names that a header maps to others.
    fn definitions(file: &str) -> Vec<(&'static str, &'static str)> {
        let text = HEADERS.iter().find(|(name, _)| *name == file).unwrap().1;
        text.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' ')).collect()
    }

    #[test]
    fn names_of_the_runtime_and_the_driver_are_hipifys() {
        use hipify::tables::Family;

        /// Rows whose name is in no header of HIP 7.2, and names of neither API.
        const ABSENT: [&str; 12] = [
            "CUDAContext",
            "CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR",
            "CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID",
            "CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES",
            "CUoccupancyB2DSize",
            "__CUDACC__",
            "cudaDevAttrMaxBlocksPerMultiprocessor",
            "cudaErrorLossyQuery",
            "cudaGraphNodeTypeConditional",
            "cudaLibXtDesc",
            "cudaLibXtDesc_t",
            "cuda_stream",
        ];
        let tables = hipify::Tables::get();
        let generated =
            [definitions("ferrocm_runtime_table.h"), definitions("ferrocm_driver_table.h")].concat();
        for (cuda, hip) in &generated {
            let row = tables.row(cuda.as_bytes()).unwrap_or_else(|| panic!("hipify does not have {cuda}"));
            assert_eq!(row.hip, Some(*hip), "{cuda}");
        }
        let by_hand =
            [definitions("ferrocm_runtime_names.h"), definitions("ferrocm_library_names.h")].concat();
        let known: HashSet<&str> = generated.iter().chain(&by_hand).map(|(cuda, _)| *cuda).collect();
        assert_eq!(known.len(), generated.len() + by_hand.len(), "a name has one definition");
        let rows = tables.rows().filter(|row| matches!(row.family, Family::Runtime | Family::Driver));
        let missing: Vec<&str> = rows
            .filter(|row| row.hip.is_some_and(|hip| hip != row.name) && !row.kind.is_header())
            .map(|row| row.name)
            .filter(|name| !known.contains(name) && !ABSENT.contains(name))
            .collect();
        assert!(missing.is_empty(), "add them to the table of their header: {missing:?}");
    }

    #[test]
    fn unfinished_sources_have_no_includes() {
        for source in ["", "\"", "'", "R\"(", "/*", "#include <", "#include", "\\", "\"\\", "\"\\é", "é", "#"]
        {
            assert!(included(source).is_empty(), "{source}");
        }
    }
}
