//! The sysroots of this workspace: their place, and how to run tests in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use shared_commands::rocm::sysroot::{
    Error, Sysroot, forget_the_machine, make, releases, tested_packages,
};

use super::tree::LIBRARIES;
use crate::tools;

/// Tells tests the release of their libraries.
pub(crate) const RELEASE_VARIABLE: &str = "FERROCM_ROCM_RELEASE";
/// Tells tests the folder of that release's sysroot.
pub(crate) const FOLDER_VARIABLE: &str = "FERROCM_ROCM_SYSROOT";

const CONFIGURATION: &str = "cargo.toml";
const DROP_IN_CONFIGURATION: &str = "cargo-vgpu.toml";

/// The folder of all sysroots.
pub(crate) fn folder() -> PathBuf {
    tools::target_folder().join("rocm")
}

/// A file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub(crate) struct WriteError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// A Cargo configuration that runs programs in a sysroot: with its own loader and only its libraries,
/// preceded by the folder of a drop-in, and with the variables that tests need.
fn configuration(sysroot: &Sysroot, drop_in: Option<&Path>) -> String {
    let libraries = sysroot.folder().join(LIBRARIES);
    let text = |path: &Path| serde_json::Value::from(path.to_string_lossy()).to_string();
    let loader = text(&sysroot.loader());
    let libraries = match drop_in {
        Some(folder) => text(Path::new(&format!("{}:{}", folder.display(), libraries.display()))),
        None => text(&libraries),
    };
    format!(
        "\
# Made by `cargo xtask` for ROCm {release}.
[target.x86_64-unknown-linux-gnu]
runner = [{loader}, \"--inhibit-cache\", \"--library-path\", {libraries}]

[env]
{RELEASE_VARIABLE} = {{ value = \"{release}\", force = true }}
{FOLDER_VARIABLE} = {{ value = {folder}, force = true }}
# Kernels cached in the user's folder were not compiled by this release.
AMD_COMGR_CACHE = {{ value = \"0\", force = true }}
",
        release = sysroot.release.name,
        folder = text(sysroot.folder())
    )
}

/// Makes a cargo or nextest command run test programs in a sysroot, with the libraries of a folder before the
/// sysroot's.
pub(crate) fn apply(
    sysroot: &Sysroot,
    command: &mut Command,
    drop_in: Option<&Path>,
) -> Result<(), WriteError> {
    let path = sysroot.folder().join(if drop_in.is_some() { DROP_IN_CONFIGURATION } else { CONFIGURATION });
    fs::write(&path, configuration(sysroot, drop_in))
        .map_err(|source| WriteError { path: path.clone(), source })?;
    command.arg("--config").arg(path);
    forget_the_machine(command);
    Ok(())
}

#[cfg(test)]
mod tests {
    use shared_commands::rocm::tree::LOADER;

    use super::*;

    #[test]
    fn programs_run_with_the_loader_and_libraries_of_the_sysroot() {
        let folder = tempfile::tempdir().expect("temp folder");
        let root = folder.path().join("a \"folder\"");
        fs::create_dir_all(root.join("6.4")).expect("folder");
        let [release] = releases(&["6.4".to_owned()]).expect("known")[..] else { panic!("one release") };
        let sysroot = Sysroot::at(release, &root.join("6.4"));
        let mut command = Command::new("cargo");
        command.env("FERROCM_HIP_LIBRARY", "/x/libamdhip64.so");
        apply(&sysroot, &mut command, None).expect("applies");
        let file = root.join("6.4/cargo.toml");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["--config".as_ref(), file.as_os_str()]);
        let removed = command.get_envs().find(|(variable, _)| *variable == "FERROCM_HIP_LIBRARY");
        assert_eq!(removed.map(|(_, value)| value), Some(None));
        let text = fs::read_to_string(file).expect("written");
        let libraries = root.join("6.4").join(LIBRARIES).to_string_lossy().replace('"', "\\\"");
        let runner = format!(
            "runner = [\"{libraries}/{LOADER}\", \"--inhibit-cache\", \"--library-path\", \"{libraries}\"]\n"
        );
        assert!(text.contains(&runner), "{runner} in {text}");
        assert!(text.contains("FERROCM_ROCM_RELEASE = { value = \"6.4\", force = true }\n"), "{text}");
        let text = configuration(&sysroot, Some(Path::new("/drop/in")));
        assert!(text.contains(&format!("\"--library-path\", \"/drop/in:{libraries}\"]\n")), "{text}");
    }
}
