//! NVIDIA's libraries where the system's loader does not look: in the toolkit's folder and in Python's
//! packages. The tests get those that are found by their variables (`docs/use/loading.md`).

use std::path::{Path, PathBuf};

/// A library, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Library {
    /// The variable that names it to the tests.
    pub(crate) variable: &'static str,
    /// Its file.
    pub(crate) found: Option<PathBuf>,
}

/// The variables, and the files' names, best first.
const LIBRARIES: [(&str, &[&str]); 3] = [
    ("FERROCM_NVRTC_LIBRARY", &["libnvrtc.so.13", "libnvrtc.so.12"]),
    ("FERROCM_CUBLAS_LIBRARY", &["libcublas.so.13", "libcublas.so.12"]),
    ("FERROCM_NCCL_LIBRARY", &["libnccl.so.2"]),
];

/// All of them, on a machine whose GPU is NVIDIA's.
pub(crate) fn find(is_nvidia: bool) -> Vec<Library> {
    if !is_nvidia {
        return Vec::new();
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE"].iter().filter_map(|name| variable(name));
    let home = std::env::home_dir().map(|home| home.join(".local"));
    let usual = ["/usr/local", "/usr", "/opt/conda"].map(PathBuf::from);
    let folders = folders(Path::new("/usr/local/cuda"), prefixes.chain(home).chain(usual));
    let library = |&(name, files): &(&'static str, &[&str])| Library {
        variable: name,
        found: variable(name).or_else(|| {
            files
                .iter()
                .find_map(|file| folders.iter().map(|folder| folder.join(file)).find(|path| path.is_file()))
        }),
    };
    LIBRARIES.iter().map(library).collect()
}

/// The folders to look in: the toolkit's, then those of NVIDIA's Python packages below each prefix.
fn folders(toolkit: &Path, prefixes: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found = vec![toolkit.join("lib64"), toolkit.join("targets/x86_64-linux/lib")];
    for prefix in prefixes {
        for python in entries(&prefix.join("lib")).filter(|path| name_of(path).starts_with("python3")) {
            for site in ["site-packages", "dist-packages"] {
                found.extend(entries(&python.join(site).join("nvidia")).map(|package| package.join("lib")));
            }
        }
    }
    found.retain(|folder| folder.is_dir());
    found
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let mut all: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    // Newest first.
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.into_iter()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
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
    fn the_toolkit_and_packages_of_python_are_looked_in() {
        let root = tempfile::tempdir().unwrap();
        let below = |path: &str| root.path().join(path);
        for folder in
            ["cuda/lib64", "v/lib/python3.12/site-packages/nvidia/nccl/lib", "v/lib/other/site-packages"]
        {
            std::fs::create_dir_all(below(folder)).unwrap();
        }
        let found = folders(&below("cuda"), [below("v"), below("none")].into_iter());
        assert_eq!(found, [below("cuda/lib64"), below("v/lib/python3.12/site-packages/nvidia/nccl/lib")]);
    }

    #[test]
    fn other_gpus_need_none_of_them() {
        assert_eq!(find(false), []);
        assert_eq!(find(true).len(), LIBRARIES.len());
    }
}
