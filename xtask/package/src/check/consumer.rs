//! Builds a program in a fresh folder that uses the packed crates, without a GPU compiler.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Checks, DEVICE, Seen, succeeds};
use crate::about::{NAME, cargo};
use crate::crates::ORDER;

/// A program that uses the prebuilt kernels.
const PROGRAM: &str = r#"use hip::{Device, DeviceBuffer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let kernels = kernels::Kernels::new(&device);
    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
    let mut y = DeviceBuffer::from_slice(&stream, &[10.0_f32, 20.0, 30.0])?;
    kernels.axpy(&stream, 2.0, &x, &mut y)?;
    println!("{device}: {:?}", y.to_vec(&stream)?);
    let mut archs = Vec::new();
    for image in kernels::modules::ALL.iter().flat_map(|module| module.cuda) {
        image.code()?;
        if !archs.contains(&image.arch) {
            archs.push(image.arch);
        }
    }
    println!("NVIDIA: {}", archs.join(", "));
    Ok(())
}
"#;
/// Its expected output.
const RESULT: &str = "[12.0, 24.0, 36.0]";
/// The package of kernels, its feature for NVIDIA GPUs, and the package with their code.
const KERNELS: &str = "ferrocm-kernels";
const NVIDIA: &str = "nvidia";
const NVIDIA_KERNELS: &str = "ferrocm-kernels-nvidia";
/// An architecture of NVIDIA GPUs with code, and an older one without.
const ARCHS: [&str; 2] = ["sm_80", "sm_75"];
/// A missing compiler.
const NO_COMPILER: &str = "/no/such/clang";

/// Unpacks all crates, builds a program that depends on all of them, runs it, and checks the program of the
/// project.
pub(super) fn crates(place: &Checks) -> Seen {
    let packed = place.out.join("crates");
    let order = packed.join(ORDER);
    let order = fs::read_to_string(&order).with_context(|| format!("cannot read {}", order.display()))?;
    let folder = place.fresh("crates")?;
    let version = &place.about.version;
    let mut patches = "[patch.crates-io]\n".to_owned();
    let mut dependencies = String::new();
    for name in order.lines() {
        let file = packed.join(format!("{name}-{version}.crate"));
        succeeds(
            Command::new("tar")
                .arg("--extract")
                .arg("--gzip")
                .arg("--file")
                .arg(&file)
                .arg("--directory")
                .arg(&folder),
        )?;
        let path = folder.join(format!("{name}-{version}"));
        for license in crate::about::LICENSE_FILES {
            if !path.join(license).is_file() {
                bail!("{} has no {license}", file.display());
            }
        }
        let _ = writeln!(patches, "{name} = {{ path = {:?} }}", path.display().to_string());
        if name != NAME {
            let _ = writeln!(dependencies, "{name} = \"={version}\"");
        }
    }
    write(&folder.join(".cargo/config.toml"), &patches)?;
    let program = folder.join("program");
    let manifest = format!(
        "[package]\nname = \"program\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[dependencies]\n{dependencies}\n\
         [features]\n{NVIDIA} = [\"{KERNELS}/{NVIDIA}\"]\n\n[workspace]\n"
    );
    write(&program.join("Cargo.toml"), &manifest)?;
    write(&program.join("src/main.rs"), PROGRAM)?;
    let target = folder.join("target");
    let build = |arguments: &[&str], at: &Path| -> Command {
        let mut command = cargo();
        command.args(arguments).arg("--quiet").current_dir(at).env("CARGO_TARGET_DIR", &target);
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("FERROCM_CLANG", NO_COMPILER);
        for name in [
            "FERROCM_TARGETS",
            "FERROCM_CUDA_ARCHS",
            "FERROCM_KERNEL_METRICS",
            "RUSTFLAGS",
            "CARGO_INCREMENTAL",
        ] {
            command.env_remove(name);
        }
        command
    };
    succeeds(&mut build(&["build"], &program))?;
    let run = || -> Result<String> {
        let text = succeeds(Command::new(target.join("debug/program")).env("FERROCM_DEVICE", DEVICE))?;
        if !text.contains(RESULT) {
            bail!("the program printed {text}");
        }
        Ok(text)
    };
    let text = run()?;
    let has_nvidia = folder.join(format!("{NVIDIA_KERNELS}-{version}/prebuilt")).is_dir();
    let nvidia = for_nvidia(has_nvidia, &program, &build, &run)?;
    let own = folder.join(format!("{NAME}-{version}"));
    // Below this workspace's target folder, Cargo would treat it as a member of this workspace.
    let manifest = own.join("Cargo.toml");
    let packed_manifest =
        fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    write(&manifest, &format!("{packed_manifest}\n[workspace]\n"))?;
    succeeds(&mut build(&["check", "--all-features"], &own))?;
    Ok(vec![
        format!("{} packages unpacked, each with its licences", order.lines().count()),
        format!(
            "a program that depends on all libraries was built without a compiler for GPUs, and printed: {}",
            text.lines().next().unwrap_or_default()
        ),
        nvidia,
        format!("the program {NAME}, with all features, compiles from its package"),
    ])
}

/// Asks for code for NVIDIA GPUs: without the feature, for an architecture that is there, and for another.
fn for_nvidia(
    has_code: bool,
    program: &Path,
    build: &dyn Fn(&[&str], &Path) -> Command,
    run: &dyn Fn() -> Result<String>,
) -> Result<String> {
    let [there, older] = ARCHS;
    let refused = |arguments: &[&str], arch: &str, reason: &str| -> Result<()> {
        let output = build(arguments, program).env("FERROCM_CUDA_ARCHS", arch).output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        if output.status.success() || !told.contains(reason) {
            bail!("a build for {arch} ended with {}, {told}", output.status);
        }
        Ok(())
    };
    refused(&["check"], there, "has no code for NVIDIA GPUs")?;
    let with = ["build", "--features", NVIDIA];
    if !has_code {
        refused(&with, there, "has no code for NVIDIA GPUs")?;
        return Ok(format!(
            "{NVIDIA_KERNELS} has no code, because there was no nvcc; a build for {there} says so"
        ));
    }
    refused(&with, older, &format!("has nothing for {older}"))?;
    succeeds(build(&with, program).env("FERROCM_CUDA_ARCHS", there))?;
    let text = run()?;
    let archs = text.lines().find_map(|line| line.strip_prefix("NVIDIA: ")).unwrap_or_default();
    if !archs.split(", ").any(|arch| arch == there) {
        bail!("the program with code for NVIDIA GPUs printed {text}");
    }
    Ok(format!(
        "with the feature {NVIDIA}, {KERNELS} has code for {archs}, all of which unpacks; a build for {older} says \
         that there is none"
    ))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let told = || format!("cannot write {}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).with_context(told)?;
    fs::write(path, text).with_context(told)
}
