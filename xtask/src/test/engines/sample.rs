//! A sample of candle's own tests on the drop-in libraries.
//!
//! candle is built as for AMD GPUs, without the virtual GPU in its programs. As on a machine with an AMD GPU,
//! it loads HIP from `libamdhip64.so`, here this project's, which gets the GPU from `libhsa-runtime64.so`,
//! here the virtual one. So the executor is not compiled again, and the sample does not take minutes.

use std::process::Command;

use anyhow::{Context, Result};
use shared_commands::patch;
use toml_edit::{DocumentMut, Item, Table};

use crate::engines::{self, MODELS, PACKAGES, copy, write};
use crate::{dropin, registry, tools};

/// The tested package: the first of [`PACKAGES`].
const PACKAGE: usize = 0;
/// Its GPU tests.
const TESTS: &str = "test(/gpu|cuda/)";
/// Its test programs that run all tests on the CPU and on the GPU, without quantised products.
const PROGRAMS: [&str; 7] = [
    "bilinear_tests",
    "conv_tests",
    "custom_op_tests",
    "indexing_tests",
    "matmul_tests",
    "pool_tests",
    "tensor_tests",
];
/// The virtual device, the only one that candle's kernels are compiled for.
const DEVICE: &str = "vgpu:gfx1100";
/// Kernel sources of candle that are not compiled for any GPU: those of quantised products, which take nine
/// minutes of processor time.
const LEFT_OUT: &str = "mmq_*=none mmvq_*=none moe_*=none quantized.cu=none";
/// Builds programs without the virtual GPU.
const WITHOUT_VIRTUAL: &str = "--cfg ferrocm_no_virtual";

/// Fetches candle, builds the libraries, and returns the command that builds and runs the tests.
pub(in crate::test) fn command(mut nextest: Command) -> Result<Command> {
    let package = &PACKAGES[PACKAGE];
    let folder = engines::folder().join("sample");
    let workspace = folder.join("workspace");
    copy(&registry::fetch(package.name, package.version)?, &workspace.join(package.name))?;
    let manifest = workspace.join("Cargo.toml");
    write(&manifest, root(package.name)?.as_bytes())?;
    let libraries = dropin::hip_and_hsa()?;

    nextest.args(["run", "--package", package.name, "--manifest-path"]).arg(&manifest);
    nextest.arg("--target-dir").arg(folder.join("target"));
    nextest.arg("--features").arg(package.feature.context("candle has a feature for CUDA")?);
    nextest.args(PROGRAMS.iter().flat_map(|program| ["--test", program]));
    nextest.args(["--filterset", TESTS, "--config-file"]);
    nextest.arg(tools::workspace().join(MODELS).join(".config/nextest.toml"));
    nextest.env("RUSTFLAGS", WITHOUT_VIRTUAL);
    nextest.env(tools::TARGETS, DEVICE.trim_start_matches("vgpu:")).env("FERROCM_TARGETS_FOR", LEFT_OUT);
    let path = std::env::join_paths(libraries).context("a folder for a list of them")?;
    nextest.env("LD_LIBRARY_PATH", path);
    nextest.env("FERROCM_DEVICE", "amdgpu").env(variables::HSA_DEVICE.name, DEVICE);
    Ok(nextest)
}

/// The manifest of the workspace.
fn root(package: &str) -> Result<String> {
    let mut root = DocumentMut::new();
    let mut table = Table::new();
    table.insert("members", toml_edit::value(toml_edit::Array::from_iter([package])));
    table.insert("resolver", toml_edit::value("2"));
    root.insert("workspace", Item::Table(table));
    let mut dev = Table::new();
    dev.insert("debug", toml_edit::value(false));
    dev.insert("lto", toml_edit::value("off"));
    let mut profile = Table::new();
    profile.insert("dev", Item::Table(dev));
    root.insert("profile", Item::Table(profile));
    patch::with(&root.to_string(), &["cudarc", "cudaforge"].into(), tools::workspace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_candle_with_its_feature() {
        assert_eq!((PACKAGES[PACKAGE].name, PACKAGES[PACKAGE].feature), ("candle-core", Some("cuda")));
    }

    #[test]
    fn the_workspace_has_candle_and_both_stand_ins() {
        let root: DocumentMut = root("candle-core").unwrap().parse().unwrap();
        assert_eq!(root["workspace"]["members"][0].as_str(), Some("candle-core"));
        for (name, folder) in [("cudarc", "cudarc-on-hip"), ("cudaforge", "cudaforge-on-kernel-build")] {
            let path = root["patch"]["crates-io"][name]["path"].as_str().unwrap();
            assert!(path.ends_with(&format!("crates/{folder}")), "{path}");
        }
    }
}
