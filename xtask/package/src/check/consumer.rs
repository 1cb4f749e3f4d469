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
    Ok(())
}
"#;
/// Its expected output.
const RESULT: &str = "[12.0, 24.0, 36.0]";
/// A package without code for NVIDIA GPUs, and one of these.
const KERNELS: &str = "ferrocm-kernels";
const NVIDIA: &str = "sm_80";
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
         [workspace]\n"
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
    let text = succeeds(Command::new(target.join("debug/program")).env("FERROCM_DEVICE", DEVICE))?;
    if !text.contains(RESULT) {
        bail!("the program printed {text}");
    }
    let nvidia = for_nvidia(&program, &build)?;
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
            text.trim()
        ),
        nvidia,
        format!("the program {NAME}, with all features, compiles from its package"),
    ])
}

/// Asks for code for NVIDIA GPUs, which the package lacks.
fn for_nvidia(program: &Path, build: &dyn Fn(&[&str], &Path) -> Command) -> Result<String> {
    let output = build(&["check"], program).env("FERROCM_CUDA_ARCHS", NVIDIA).output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !told.contains("has no code for NVIDIA GPUs") {
        bail!("a build for {NVIDIA} ended with {}, {told}", output.status);
    }
    Ok(format!("{KERNELS} has no code for NVIDIA GPUs, and a build for {NVIDIA} says so"))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let told = || format!("cannot write {}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).with_context(told)?;
    fs::write(path, text).with_context(told)
}
