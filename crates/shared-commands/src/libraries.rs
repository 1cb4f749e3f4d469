//! The shared libraries that replace AMD's, as packages and `cargo xtask dropin` lay them out in a folder.

use std::path::{Path, PathBuf};

use setup::hipcc::HIP_LIBRARY;

/// A library that replaces one of AMD's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Library {
    /// Its `SONAME`, which is also the file's name.
    pub soname: &'static str,
    /// Its place inside the common folder; empty for that folder itself. In a single folder, HIP would find
    /// the HSA library and take it for AMD's.
    folder: &'static str,
}

/// HIP over any HSA.
pub const HIP: Library = Library { soname: HIP_LIBRARY, folder: "" };
/// HIP's run-time compiler over this machine's device compiler, for programs on any HIP.
pub const HIPRTC: Library = Library { soname: "libhiprtc.so.7", folder: "hiprtc" };
/// rocBLAS on this project's kernels, for programs on any HIP.
pub const ROCBLAS: Library = Library { soname: "librocblas.so.5", folder: "rocblas" };
/// RCCL over HIP alone, for programs on any HIP.
pub const RCCL: Library = Library { soname: "librccl.so.1", folder: "rccl" };
/// The virtual GPU's HSA, for AMD's HIP.
pub const HSA: Library = Library { soname: "libhsa-runtime64.so.1", folder: "hsa" };
/// Reports the virtual GPUs to RCCL and rocm-smi.
pub const ROCM_SMI: Library = Library { soname: "librocm_smi64.so.7", folder: "hsa" };
/// Reports them to the tests of the HSA runtime.
pub const AMD_SMI: Library = Library { soname: "libamd_smi.so.26", folder: "hsa" };
/// Imitates the files of AMD's driver.
pub const DRIVER: Library = Library { soname: "libferrocm-driver.so.1", folder: "hsa" };

/// HIP, and the libraries for programs on any HIP: all but those of the virtual GPU.
pub const FOR_PROGRAMS: [Library; 4] = [HIP, HIPRTC, ROCBLAS, RCCL];
/// The libraries of the virtual GPU, for AMD's own.
pub const VIRTUAL: [Library; 4] = [HSA, ROCM_SMI, AMD_SMI, DRIVER];

impl Library {
    /// Its folder, below the common one.
    pub fn folder_in(&self, all: &Path) -> PathBuf {
        if self.folder.is_empty() { all.to_owned() } else { all.join(self.folder) }
    }

    /// Its file, below the common folder.
    pub fn file_in(&self, all: &Path) -> PathBuf {
        self.folder_in(all).join(self.soname)
    }
}

/// Which of this project's libraries replace AMD's, in addition to the virtual GPU's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub struct Own {
    /// Use this project's HIP, libamdhip64.so.7, instead of AMD's of release 7.2
    #[arg(long = "own-hip")]
    pub hip: bool,
    /// Use this project's rocBLAS, librocblas.so.5, instead of AMD's of release 7.2
    #[arg(long = "own-blas")]
    pub blas: bool,
    /// Use this project's RCCL, librccl.so.1, instead of AMD's of release 7.2
    #[arg(long = "own-rccl")]
    pub rccl: bool,
    /// Use this project's run-time compiler, libhiprtc.so.7, instead of AMD's of release 7.2
    #[arg(long = "own-hiprtc")]
    pub hiprtc: bool,
}

impl Own {
    /// AMD's alone.
    pub const NONE: Own = Own { hip: false, blas: false, rccl: false, hiprtc: false };

    /// The libraries that are this project's.
    pub fn libraries(self) -> impl Iterator<Item = Library> {
        let libraries = [(HIP, self.hip), (ROCBLAS, self.blas), (RCCL, self.rccl), (HIPRTC, self.hiprtc)];
        libraries.into_iter().filter_map(|(library, wanted)| wanted.then_some(library))
    }

    /// Whether all of this project's libraries in `other` are also in `self`.
    pub fn has(self, other: Own) -> bool {
        other.libraries().all(|library| self.libraries().any(|own| own == library))
    }

    /// Whose HIP a program uses, and which other libraries are this project's.
    pub fn name(self) -> String {
        let mut name = if self.hip { "hip-on-hsa" } else { "AMD's" }.to_owned();
        let others =
            [(self.blas, "blas-on-kernels"), (self.rccl, "rccl-on-hip"), (self.hiprtc, "hiprtc-on-clang")];
        for (_, other) in others.iter().filter(|(own, _)| *own) {
            name.push_str(", ");
            name.push_str(other);
        }
        name
    }
}

/// Libraries that a program loads before AMD's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct First {
    /// Folders of libraries, in search order.
    pub folders: Vec<PathBuf>,
    /// [`DRIVER`], which is loaded before all others.
    pub driver: PathBuf,
    /// Further preloaded libraries.
    pub preloaded: Vec<PathBuf>,
}

/// Why the libraries are unavailable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder lacks one.
    #[error("there is no {soname} in {}", .folder.display())]
    Missing {
        /// The library.
        soname: &'static str,
        /// Where it should be.
        folder: PathBuf,
    },
}

impl First {
    /// The libraries of the virtual GPU and the others that replace AMD's, in the common folder.
    ///
    /// # Errors
    /// A library is missing.
    pub fn in_folder(all: &Path, own: Own) -> Result<First, Error> {
        if let Some(missing) =
            VIRTUAL.into_iter().chain(own.libraries()).find(|library| !library.file_in(all).is_file())
        {
            return Err(Error::Missing { soname: missing.soname, folder: missing.folder_in(all) });
        }
        let mut folders: Vec<PathBuf> = own.libraries().map(|library| library.folder_in(all)).collect();
        folders.push(HSA.folder_in(all));
        Ok(First { folders, driver: DRIVER.file_in(all), preloaded: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn own_libraries_are_had_where_no_wanted_one_is_amds() {
        let [hip, both] = [Own { hip: true, ..Own::NONE }, Own { hip: true, blas: true, ..Own::NONE }];
        assert!(both.has(hip) && both.has(both) && both.has(Own::NONE) && Own::NONE.has(Own::NONE));
        assert!(!hip.has(both) && !Own::NONE.has(hip));
        assert!(!both.has(Own { rccl: true, ..Own::NONE }));
    }

    #[test]
    fn own_libraries_come_before_the_virtual_gpus_and_all_have_to_be_there() {
        let folder = tempfile::tempdir().expect("folder");
        let all = folder.path();
        for library in VIRTUAL.into_iter().chain([HIP, RCCL]) {
            fs::create_dir_all(library.folder_in(all)).expect("folder");
            fs::write(library.file_in(all), "").expect("file");
        }
        let own = Own { hip: true, rccl: true, ..Own::NONE };
        let first = First::in_folder(all, own).expect("all are there");
        assert_eq!(first.folders, [all.to_owned(), all.join("rccl"), all.join("hsa")]);
        assert_eq!(first.driver, all.join("hsa/libferrocm-driver.so.1"));
        let error = First::in_folder(all, Own { blas: true, ..own }).expect_err("no rocBLAS").to_string();
        assert_eq!(error, format!("there is no librocblas.so.5 in {}", all.join("rocblas").display()));
    }
}
