//! The NVRTC of the process.

use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cuda_sys::nvrtc::{Table, nvrtcResult};

use crate::error::OtherCompiler;

static NVRTC: OnceLock<&'static Table> = OnceLock::new();

/// Says which NVRTC there is.
pub(crate) fn start(nvrtc: &'static Table) -> Result<(), OtherCompiler> {
    if std::ptr::eq(*NVRTC.get_or_init(|| nvrtc), nvrtc) { Ok(()) } else { Err(OtherCompiler) }
}

/// NVRTC, once [`start`] has named it.
pub(crate) fn nvrtc() -> Option<&'static Table> {
    NVRTC.get().copied()
}

/// The numbers of the architectures that NVRTC compiles for, in rising order; empty if it does not tell.
pub(crate) fn architectures(nvrtc: &Table) -> Vec<c_int> {
    let mut count = 0;
    // SAFETY: the function writes the one number.
    let status = unsafe { (nvrtc.nvrtcGetNumSupportedArchs)(&raw mut count) };
    let mut all = vec![0; usize::try_from(count).unwrap_or(0)];
    if status != nvrtcResult::NVRTC_SUCCESS || all.is_empty() {
        return Vec::new();
    }
    // SAFETY: there is room for as many numbers as NVRTC says it has.
    let status = unsafe { (nvrtc.nvrtcGetSupportedArchs)(all.as_mut_ptr()) };
    if status == nvrtcResult::NVRTC_SUCCESS { all } else { Vec::new() }
}

/// The folders of CUDA's headers that belong to NVRTC's file: of a toolkit, or of NVIDIA's Python packages.
pub(crate) fn include_folders(nvrtc: &Table) -> Vec<PathBuf> {
    let library = nvrtc.path().and_then(|path| path.canonicalize().ok());
    let folder = library.as_deref().and_then(Path::parent);
    folder.map(|folder| headers(folder, &cuda_sys::installations())).unwrap_or_default()
}

/// The folders of the headers that belong to NVRTC in a folder. Those of CCCL, `nv/target`, `cuda/std` and
/// others, which CUDA's own headers include, may be missing beside them, as they are a package of their own:
/// then they are those of a toolkit, of which these are the library folders.
fn headers(folder: &Path, toolkits: &[PathBuf]) -> Vec<PathBuf> {
    // A toolkit has `lib64`, which may be a link to `targets/…/lib`; the packages for CUDA 12 have a folder
    // each.
    let found = ["../include", "../../cuda_runtime/include"]
        .into_iter()
        .map(|place| folder.join(place))
        .find(|place| place.join("cuda_fp16.h").is_file());
    let Some(own) = found else { return Vec::new() };
    // Since CUDA 13, they are in a folder of their own.
    let others = toolkits.iter().map(|libraries| libraries.join("../include"));
    let cccl = [own.clone(), folder.join("../../cuda_cccl/include")]
        .into_iter()
        .chain(others)
        .flat_map(|place| [place.join("cccl"), place])
        .find(|place| place.join("nv/target").is_file());
    cccl.into_iter().filter(|place| *place != own).chain([own.clone()]).collect()
}

/// A text that differs for any two compilers whose output may differ.
pub(crate) fn identity(nvrtc: &Table) -> String {
    let path = nvrtc.path().map(PathBuf::from);
    let file = path.as_ref().and_then(|path| std::fs::metadata(path).ok());
    // A different build of the same version has another file or another time.
    let file = file.map(|file| (file.len(), file.modified().ok()));
    format!("nvrtc {:?} {path:?} {file:?}", nvrtc.version())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Makes files, and returns the folder of NVRTC's library.
    fn tree(root: &Path, library: &str, files: &[&str]) -> PathBuf {
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        fs::create_dir_all(root.join(library)).expect("a folder");
        root.join(library)
    }

    fn found(root: &Path, folder: &Path, toolkits: &[PathBuf]) -> Vec<PathBuf> {
        let root = root.canonicalize().expect("a folder");
        let whole = |place: PathBuf| place.canonicalize().expect("it exists");
        let within = |place: PathBuf| place.strip_prefix(&root).expect("below the root").to_owned();
        headers(folder, toolkits).into_iter().map(whole).map(within).collect()
    }

    #[test]
    fn headers_are_those_beside_the_compiler() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        let other = tree(root, "other/lib64", &["other/include/cuda_fp16.h", "other/include/cccl/nv/target"]);
        let others = [root.join("none/lib64"), other];
        // CUDA 13's toolkit, CUDA 12's, and CUDA 12's packages.
        let new = tree(root, "new/lib64", &["new/include/cuda_fp16.h", "new/include/cccl/nv/target"]);
        assert_eq!(found(root, &new, &others), [Path::new("new/include/cccl"), Path::new("new/include")]);
        let old = tree(root, "old/lib64", &["old/include/cuda_fp16.h", "old/include/nv/target"]);
        assert_eq!(found(root, &old, &others), [Path::new("old/include")]);
        let files = ["py/cuda_runtime/include/cuda_fp16.h", "py/cuda_cccl/include/nv/target"];
        let packages = tree(root, "py/cuda_nvrtc/lib", &files);
        let expected = [Path::new("py/cuda_cccl/include"), Path::new("py/cuda_runtime/include")];
        assert_eq!(found(root, &packages, &others), expected);
    }

    #[test]
    fn headers_of_cccl_may_be_those_of_a_toolkit() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        let packages = tree(root, "py/cu13/lib", &["py/cu13/include/cuda_fp16.h"]);
        let toolkit = tree(root, "cuda/lib64", &["cuda/include/cuda_fp16.h", "cuda/include/cccl/nv/target"]);
        let expected = [Path::new("cuda/include/cccl"), Path::new("py/cu13/include")];
        assert_eq!(found(root, &packages, &[root.join("none/lib64"), toolkit]), expected);
        assert_eq!(found(root, &packages, &[]), [Path::new("py/cu13/include")]);
        assert!(headers(&root.join("nowhere"), &[]).is_empty());
    }
}
