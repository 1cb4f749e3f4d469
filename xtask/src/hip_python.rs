//! `cargo xtask hip-python`: AMD's Python package for HIP, and its examples, on this project's HIP and
//! run-time compiler.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use setup::run;

use crate::{dropin, tools};

/// Installed in every environment besides hip-python.
const NUMPY: &str = "numpy==2.4.6";
/// The newest release. Its functions differ from what the examples expect, so it runs a program of this
/// project.
const NEWEST: &str = "10.0.0.0.1.2";
/// The last release that the examples for compiling and launching kernels were written for, and the last one
/// with the names of hiprtc's linker that the other examples use.
const LAUNCHING: &str = "7.2.2.562.43";
const LINKING: &str = "6.3.3.540.31";
/// The repository of the examples, which no package contains, and the commit.
const REPOSITORY: &str = "https://github.com/ROCm/hip-python";
const COMMIT: &str = "ddd90aca6a48c9d6af4034ed6ea1f2e28e1dc295";
/// The program for [`NEWEST`], in the workspace.
const PROGRAM: &str = "xtask/src/hip_python/program.py";
/// The time limit of an example.
const LIMIT: Duration = Duration::from_secs(300);

/// How to treat an example.
#[derive(Debug, PartialEq, Eq)]
enum Run {
    /// It must pass with this release of hip-python.
    With(&'static str),
    /// It needs something besides HIP and hiprtc.
    Needs(&'static str),
}

use Run::{Needs, With};

/// All examples, by their paths below `examples`.
const EXAMPLES: &[(&str, Run)] = &[
    ("0_Basic_Usage/hip_deviceattributes.py", With(LAUNCHING)),
    ("0_Basic_Usage/hip_deviceproperties.py", With(LAUNCHING)),
    ("0_Basic_Usage/hip_stream.py", With(LAUNCHING)),
    ("0_Basic_Usage/hiprtc_launch_kernel_args.py", With(LAUNCHING)),
    ("0_Basic_Usage/hiprtc_launch_kernel_no_args.py", With(LAUNCHING)),
    ("2_Advanced/hip_jacobi.py", With(LAUNCHING)),
    ("2_Advanced/hiprtc_linking_device_functions.py", With(LINKING)),
    ("2_Advanced/hiprtc_linking_llvm_ir.py", With(LINKING)),
    ("2_Advanced/hiprtc_jit_with_llvm_ir.py", With(LINKING)),
    ("0_Basic_Usage/hip_python_device_array.py", Needs("hipBLAS")),
    ("0_Basic_Usage/hipblas_with_numpy.py", Needs("hipBLAS")),
    ("0_Basic_Usage/hipfft.py", Needs("hipFFT")),
    ("0_Basic_Usage/hiprand_monte_carlo_pi.py", Needs("hipRAND")),
    ("0_Basic_Usage/rccl_comminitall_bcast.py", Needs("RCCL")),
    ("1_CUDA_Interop/cuda_error_hallucinate_enums.py", Needs("hip-python-as-cuda")),
    ("1_CUDA_Interop/cuda_stream.py", Needs("hip-python-as-cuda")),
];

/// What to run, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The virtual GPUs that the examples see
    #[arg(long, value_name = "URI", default_value = "vgpu:gfx90a")]
    device: String,
    /// A checkout of hip-python, instead of fetching one with git
    #[arg(long, value_name = "DIR")]
    checkout: Option<PathBuf>,
    /// Run only programs whose path contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
}

/// Installs missing parts, and runs the examples. The error names those that failed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = tools::target_folder().join("hip-python");
    let checkout = match &options.checkout {
        Some(checkout) => checkout.clone(),
        None => fetch(&folder.join("checkout"))?,
    };
    let examples = checkout.join("examples");
    let [hip, hiprtc] = dropin::hip_and_hiprtc()?;
    let path = std::env::join_paths([hip, hiprtc])?;
    let mut programs = vec![(PROGRAM, tools::workspace().join(PROGRAM), NEWEST)];
    for (name, run) in EXAMPLES {
        match run {
            With(version) => programs.push((name, examples.join(name), version)),
            Needs(what) => println!("left out  {name}: needs {what}"),
        }
    }
    let mut failed = Vec::new();
    let mut passed = 0;
    for (name, program, version) in programs {
        if !name.contains(&options.filter) {
            continue;
        }
        let mut command = Command::new(install(&folder, version)?);
        command.arg(program).current_dir(&folder);
        command.env("LD_LIBRARY_PATH", &path).env("FERROCM_DEVICE", &options.device);
        command.env_remove("ROCM_PATH").env_remove("ROCM_HOME");
        match finish(&mut command) {
            Ok(()) => {
                passed += 1;
                println!("passes    {name} (hip-python {version})");
            }
            Err(reason) => {
                println!("fails     {name} (hip-python {version}):\n{reason}");
                failed.push(name);
            }
        }
    }
    println!("{passed} programs pass on {}", options.device);
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("failed: {}", failed.join(", ")),
    }
}

/// Creates a Python environment with a release of hip-python; returns its Python.
fn install(folder: &Path, version: &str) -> Result<PathBuf> {
    let environment = folder.join(version);
    let python = environment.join("bin/python3");
    let done = environment.join("installed");
    if done.is_file() {
        return Ok(python);
    }
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    run::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))
        .context("Python's module venv is needed (Debian: python3-venv)")?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    run::run(pip.arg(format!("hip-python=={version}")).arg(NUMPY))?;
    std::fs::write(&done, "").with_context(|| done.display().to_string())?;
    Ok(python)
}

/// Fetches the examples at the known commit; returns the checkout.
fn fetch(folder: &Path) -> Result<PathBuf> {
    let git = |arguments: &[&str]| run::run(Command::new("git").arg("-C").arg(folder).args(arguments));
    if folder.join("examples").is_dir() {
        return Ok(folder.to_owned());
    }
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    git(&["init", "--quiet"])?;
    git(&["fetch", "--quiet", "--depth", "1", REPOSITORY, COMMIT])?;
    git(&["checkout", "--quiet", "FETCH_HEAD"])?;
    Ok(folder.to_owned())
}

/// Runs a program that must succeed; otherwise returns its output.
fn finish(command: &mut Command) -> Result<(), String> {
    let (mut output, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let other = writer.try_clone().map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).stdout(writer).stderr(other);
    let child = command.spawn();
    // The command holds write ends of the pipe.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.map_err(|error| error.to_string())?;
    let (send, receive) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = output.read_to_end(&mut text);
        let _ = send.send(());
        String::from_utf8_lossy(&text).into_owned()
    });
    let in_time = receive.recv_timeout(LIMIT).is_ok();
    if !in_time {
        // It may have ended in the meantime.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let text = reader.join().unwrap_or_default();
    match (in_time, status.success()) {
        (true, true) => Ok(()),
        (true, false) => Err(format!("{text}\n{status}")),
        (false, _) => Err(format!("{text}\nafter {LIMIT:?} it was not done")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_that_fails_or_takes_too_long_is_told_with_what_it_printed() {
        let sh = |script: &str| finish(Command::new("sh").args(["-c", script]));
        assert_eq!(sh("echo fine"), Ok(()));
        let error = sh("echo out; echo err >&2; exit 3").unwrap_err();
        assert!(error.contains("out\nerr") && error.contains('3'), "{error}");
    }

    #[test]
    fn examples_are_listed_once() {
        let paths: std::collections::BTreeSet<_> = EXAMPLES.iter().map(|(path, _)| path).collect();
        assert_eq!(paths.len(), EXAMPLES.len());
    }
}
