//! NVIDIA's libraries that tests need besides the driver. The tests' own crates find them
//! (`docs/use/loading.md`); this says which, and where.

use std::path::{Path, PathBuf};

/// A library, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Library {
    /// Its common name.
    pub(crate) what: &'static str,
    /// Its file, or that it was not found.
    pub(crate) place: String,
}

/// All of them, on a machine whose GPU is NVIDIA's.
pub(crate) fn find(is_nvidia: bool) -> Vec<Library> {
    if !is_nvidia {
        return Vec::new();
    }
    use cuda_sys::{cublas, nccl, nvrtc};
    [
        ("NVRTC", nvrtc::Table::load().map(nvrtc::Table::path)),
        ("cuBLAS", cublas::Table::load().map(cublas::Table::path)),
        ("NCCL", nccl::Table::load().map(nccl::Table::path)),
    ]
    .map(|(what, found)| Library { what, place: place(found) })
    .into()
}

/// The variable by which programs that compile at run time find CUDA's headers, such as cubecl's tests, which
/// end without it.
pub(crate) const TOOLKIT_VARIABLE: &str = "CUDA_PATH";

/// The toolkit with CUDA's headers that belongs to NVRTC, on a machine whose GPU is NVIDIA's.
pub(crate) fn toolkit(is_nvidia: bool) -> Option<PathBuf> {
    let nvrtc = is_nvidia.then(|| cuda_sys::nvrtc::Table::load().ok()?.path()?.canonicalize().ok());
    toolkit_of(&nvrtc??)
}

fn toolkit_of(nvrtc: &Path) -> Option<PathBuf> {
    let root = nvrtc.parent()?.parent()?;
    // NVIDIA's Python packages for CUDA 12 have a folder each.
    let places = [root.to_owned(), root.with_file_name("cuda_runtime")];
    places.into_iter().find(|place| place.join("include/cuda_fp16.h").is_file())
}

/// A table's file, or why there is none, in one line.
fn place(found: Result<Option<&Path>, sys_load::LoadError>) -> String {
    match found {
        Ok(path) => path.map_or("in this program".into(), |path| path.display().to_string()),
        Err(error) => {
            let tried: Vec<_> = error.attempts.iter().map(|attempt| attempt.place.as_str()).collect();
            format!("not found; set {} to name its file; tried {}", error.variable, tried.join(", "))
        }
    }
}

/// The driver's own words about itself, or nothing.
pub(crate) fn driver() -> String {
    let files = ["/proc/driver/nvidia/version", "/sys/module/amdgpu/version"];
    let text = files.iter().find_map(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_gpus_need_none_of_them() {
        assert_eq!(find(false), []);
    }

    #[test]
    fn the_toolkit_of_a_compiler_is_the_one_with_the_headers() {
        let folder = tempfile::tempdir().unwrap();
        let make = |place: &str| {
            let path = folder.path().join(place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let (new, old) = (make("cu13/lib/libnvrtc.so.13"), make("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"));
        assert_eq!(toolkit_of(&new), None);
        make("cu13/include/cuda_fp16.h");
        make("nvidia/cuda_runtime/include/cuda_fp16.h");
        assert_eq!(toolkit_of(&new), Some(folder.path().join("cu13")));
        assert_eq!(toolkit_of(&old), Some(folder.path().join("nvidia/cuda_runtime")));
        assert_eq!(toolkit(false), None);
    }

    #[test]
    fn a_library_that_is_not_there_tells_where_it_was_looked_for() {
        let attempt = sys_load::Attempt {
            place: "/usr/local/cuda/lib64".into(),
            source: sys_load::Source::Installation("/usr/local"),
            reason: "has none of libnvrtc.so.13".into(),
        };
        let error =
            sys_load::LoadError { what: "NVRTC", variable: "FERROCM_NVRTC_LIBRARY", attempts: vec![attempt] };
        let expected = "not found; set FERROCM_NVRTC_LIBRARY to name its file; tried /usr/local/cuda/lib64";
        assert_eq!(place(Err(error)), expected);
        assert_eq!(place(Ok(Some(Path::new("/a/libnvrtc.so.13")))), "/a/libnvrtc.so.13");
    }
}
