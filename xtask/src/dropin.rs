//! `cargo xtask dropin`: builds `hip-on-hsa` as the shared library that HIP C++ programs load.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use drop_in::DropIn;

use crate::{run, tools};

/// The package whose static library it is made of, and that library's name.
const PACKAGE: &str = "ferrocm-amdhip64";
const ARCHIVE: &str = "libamdhip64.a";
const SCRIPT: &str = "crates/amdhip64/symbols.map";
const SONAME: &str = "libamdhip64.so.7";

/// What is to be built, and where it goes.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The folder for the library; `dropin` in the target folder without one.
    pub(crate) out: Option<PathBuf>,
    /// With the tests' build profile instead of the release one.
    pub(crate) dev: bool,
}

/// Builds and links the library, and says how to use it.
pub(crate) fn dropin(options: &Options) -> Result<()> {
    run::run(&mut build(options.dev))?;
    let target = tools::target_folder();
    let archive = target.join(if options.dev { "debug" } else { "release" }).join(ARCHIVE);
    let script = tools::workspace().join(SCRIPT);
    let folder = options.out.clone().unwrap_or_else(|| target.join("dropin"));
    let drop_in = DropIn { archive: &archive, script: &script, soname: SONAME, strip: !options.dev };
    let library = drop_in.link(&folder)?;
    println!("{}", library.display());
    println!("\nTo run a HIP program on it:\n  {}", usage(&folder));
    Ok(())
}

fn build(dev: bool) -> Command {
    let mut command = tools::cargo();
    command.args(["build", "--package", PACKAGE]);
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
        assert!(run::describe(&build(false)).ends_with("build --package ferrocm-amdhip64 --release"));
        assert!(run::describe(&build(true)).ends_with("build --package ferrocm-amdhip64"));
        assert!(Options::default().out.is_none() && !Options::default().dev);
    }

    #[test]
    fn what_is_linked_is_where_the_crate_has_it() {
        assert!(tools::workspace().join(SCRIPT).is_file());
        assert!(usage(Path::new("/a/b")).starts_with("LD_LIBRARY_PATH=/a/b "));
    }
}
