//! `cargo xtask dropin`: builds `hip-on-hsa` and `vgpu` as the shared libraries that programs load in the place of AMD's.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use drop_in::DropIn;
use setup::run;

use crate::tools;

/// A library that takes the place of AMD's.
#[derive(Debug)]
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
    run::run(&mut build(&[HIP, HSA], options.dev))?;
    let folder = options.out.clone().unwrap_or_else(folder);
    for library in [HIP, HSA] {
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

/// Builds the virtual GPU's HSA below a folder; returns its own.
pub(crate) fn hsa(folder: &Path, dev: bool) -> Result<PathBuf> {
    run::run(&mut build(&[HSA], dev))?;
    let folder = folder.join(HSA.folder);
    HSA.link(&folder, dev)?;
    Ok(folder)
}

impl Library {
    fn link(&self, folder: &Path, dev: bool) -> Result<PathBuf> {
        let archive = tools::target_folder().join(if dev { "debug" } else { "release" }).join(self.archive);
        let script = tools::workspace().join(self.script);
        let drop_in = DropIn { archive: &archive, script: &script, soname: self.soname, strip: !dev };
        Ok(drop_in.link(folder)?)
    }
}

fn build(libraries: &[Library], dev: bool) -> Command {
    let mut command = tools::cargo();
    command.arg("build");
    for library in libraries {
        command.args(["--package", library.package]);
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
        assert!(run::describe(&build(&[HIP], false)).ends_with("build --package ferrocm-amdhip64 --release"));
        assert!(run::describe(&build(&[HSA], true)).ends_with("build --package ferrocm-hsa-runtime64"));
        assert!(Options::default().out.is_none() && !Options::default().dev);
    }

    #[test]
    fn what_is_linked_is_where_the_crates_have_it() {
        for library in [HIP, HSA] {
            assert!(tools::workspace().join(library.script).is_file(), "{}", library.script);
        }
        assert!(usage(Path::new("/a/b")).starts_with("LD_LIBRARY_PATH=/a/b "));
    }
}
