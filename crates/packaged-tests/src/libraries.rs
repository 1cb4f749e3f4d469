//! NVIDIA's libraries that tests need besides the driver. The tests' own crates find them
//! (`docs/use/loading.md`); this says which, and where.

use std::path::Path;

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
