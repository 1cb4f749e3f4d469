//! `cargo xtask dropin`: builds `hip-on-hsa`, `vgpu` and what tells of virtual GPUs as the shared libraries that programs load in the
//! place of AMD's.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use drop_in::DropIn;
use setup::run;

use crate::tools;

/// A library that takes the place of AMD's.
#[derive(Debug, Clone, Copy)]
struct Library {
    /// The package whose static library it is made of, and that library's name.
    package: &'static str,
    archive: &'static str,
    script: &'static str,
    soname: &'static str,
    /// Where it goes inside the folder. One folder for both would have the first find the second and take it for AMD's.
    folder: &'static str,
}

/// HIP over any HSA.
const HIP: Library = Library {
    package: "ferrocm-amdhip64",
    archive: "libamdhip64.a",
    script: "crates/amdhip64/symbols.map",
    soname: "libamdhip64.so.7",
    folder: "",
};

/// The virtual GPU's HSA, for AMD's HIP.
const HSA: Library = Library {
    package: "ferrocm-hsa-runtime64",
    archive: "libhsa_runtime64.a",
    script: "crates/hsa-runtime64/symbols.map",
    soname: "libhsa-runtime64.so.1",
    folder: "hsa",
};

/// What RCCL and rocm-smi ask for the virtual GPUs.
const ROCM_SMI: Library = Library {
    package: "ferrocm-smi",
    archive: "libsmi.a",
    script: "crates/smi/rocm_smi64.map",
    soname: "librocm_smi64.so.7",
    folder: "hsa",
};

/// What the tests of the HSA runtime ask for them.
const AMD_SMI: Library = Library {
    package: "ferrocm-smi",
    archive: "libsmi.a",
    script: "crates/smi/amd_smi.map",
    soname: "libamd_smi.so.26",
    folder: "hsa",
};

/// What stands for the traces of AMD's driver.
const DRIVER: Library = Library {
    package: "ferrocm-smi",
    archive: "libsmi.a",
    script: "crates/smi/driver.map",
    soname: "libferrocm-driver.so.1",
    folder: "hsa",
};

/// The libraries of the virtual GPU, for AMD's own.
const VIRTUAL: [Library; 4] = [HSA, ROCM_SMI, AMD_SMI, DRIVER];
/// All of them.
const ALL: [Library; 5] = [HIP, HSA, ROCM_SMI, AMD_SMI, DRIVER];

/// What is to be built, and where it goes.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The folder for the libraries; `dropin` in the target folder without one.
    pub(crate) out: Option<PathBuf>,
    /// With the tests' build profile instead of the release one.
    pub(crate) dev: bool,
}

/// Builds and links the libraries, and says how to use them.
pub(crate) fn dropin(options: &Options) -> Result<()> {
    run::run(&mut build(options.dev))?;
    let folder = options.out.clone().unwrap_or_else(folder);
    for library in ALL {
        println!("{}", library.link(&folder.join(library.folder), options.dev)?.display());
    }
    println!("\nTo run a HIP program on the first one:\n  {}", usage(&folder.join(HIP.folder)));
    println!("\nTo run one on AMD's own HIP over the second one:\n  {}", usage(&folder.join(HSA.folder)));
    Ok(())
}

/// Name of the environment variable with the virtual GPUs of the HSA library.
pub(crate) const HSA_DEVICE_VARIABLE: &str = "FERROCM_HSA_DEVICE";

/// Where the libraries go unless told otherwise.
pub(crate) fn folder() -> PathBuf {
    tools::target_folder().join("dropin")
}

/// Builds the libraries of the virtual GPU below a folder; returns their own.
pub(crate) fn hsa(folder: &Path, dev: bool) -> Result<PathBuf> {
    run::run(&mut build(dev))?;
    let folder = folder.join(HSA.folder);
    for library in VIRTUAL {
        library.link(&folder, dev)?;
    }
    Ok(folder)
}

/// What a program on AMD's libraries loads before them.
#[derive(Debug, Clone)]
pub(crate) struct First {
    /// Folders of libraries, in the order in which they are to be looked at.
    pub(crate) folders: Vec<PathBuf>,
    /// The library that is loaded before all others.
    pub(crate) driver: PathBuf,
}

/// Builds the virtual GPU's libraries, and this project's HIP in the place of AMD's if that is meant.
pub(crate) fn before_amds(folder: &Path, dev: bool, own_hip: bool) -> Result<First> {
    let libraries: Vec<Library> = own_hip.then_some(HIP).into_iter().chain(VIRTUAL).collect();
    run::run(build(dev).arg("--quiet"))?;
    let mut folders = Vec::new();
    for library in &libraries {
        let folder = folder.join(library.folder);
        library.link(&folder, dev)?;
        folders.push(folder);
    }
    folders.dedup();
    let driver = folder.join(DRIVER.folder).join(DRIVER.soname);
    Ok(First { folders, driver })
}

impl Library {
    fn link(&self, folder: &Path, dev: bool) -> Result<PathBuf> {
        let archive = tools::target_folder().join(if dev { "debug" } else { "release" }).join(self.archive);
        let script = tools::workspace().join(self.script);
        let drop_in = DropIn { archive: &archive, script: &script, soname: self.soname, strip: !dev };
        Ok(drop_in.link(folder)?)
    }
}

/// Builds all of them, whichever are wanted: together they share one virtual GPU, alone each would have it compiled with other features.
fn build(dev: bool) -> Command {
    let mut command = tools::cargo();
    command.arg("build");
    let mut packages: Vec<&str> = ALL.iter().map(|library| library.package).collect();
    packages.dedup();
    for package in packages {
        command.args(["--package", package]);
    }
    if !dev {
        command.arg("--release");
    }
    command.current_dir(tools::workspace());
    command
}

fn usage(folder: &Path) -> String {
    format!("LD_LIBRARY_PATH={} FERROCM_DEVICE=vgpu:gfx1100 ./program", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_the_release_one_unless_said_otherwise() {
        let all = "build --package ferrocm-amdhip64 --package ferrocm-hsa-runtime64 --package ferrocm-smi";
        assert!(run::describe(&build(false)).ends_with(&format!("{all} --release")));
        assert!(run::describe(&build(true)).ends_with(all));
        assert!(Options::default().out.is_none() && !Options::default().dev);
    }

    #[test]
    fn what_is_linked_is_where_the_crates_have_it() {
        for library in ALL {
            assert!(tools::workspace().join(library.script).is_file(), "{}", library.script);
        }
        assert!(usage(Path::new("/a/b")).starts_with("LD_LIBRARY_PATH=/a/b "));
    }
}
