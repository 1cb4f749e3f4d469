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
    library.as_deref().and_then(Path::parent).map(headers).unwrap_or_default()
}

/// The folders of the headers that belong to NVRTC in a folder.
fn headers(folder: &Path) -> Vec<PathBuf> {
    // A toolkit has `lib64`, which may be a link to `targets/…/lib`; the packages for CUDA 12 have a folder
    // each.
    let found = ["../include", "../../cuda_runtime/include"]
        .into_iter()
        .map(|place| folder.join(place))
        .find(|place| place.join("cuda_fp16.h").is_file());
    // Since CUDA 13, `cuda/std` and others are in a folder of their own.
    found.into_iter().flat_map(|place| [place.join("cccl"), place]).filter(|place| place.is_dir()).collect()
}

/// A text that differs for any two compilers whose output may differ.
pub(crate) fn identity(nvrtc: &Table) -> String {
    let path = nvrtc.path().map(PathBuf::from);
    let file = path.as_ref().and_then(|path| std::fs::metadata(path).ok());
    // A different build of the same version has another file or another time.
    let file = file.map(|file| (file.len(), file.modified().ok()));
    format!("nvrtc {:?} {path:?} {file:?}", nvrtc.version())
}
