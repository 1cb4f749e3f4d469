//! `cargo xtask hip-python`: AMD's Python package for HIP, and its examples, on this project's HIP and run-time compiler.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use setup::run;

use crate::{dropin, tools};

/// The packages, as pip names them. This hip-python is of ROCm 10 and loads `libamdhip64.so` and `libhiprtc.so` when they are used.
const PACKAGES: [&str; 2] = ["hip-python==10.0.0.0.1.2", "numpy==2.4.6"];
/// Where the examples are, which no package has, and which state of them.
const REPOSITORY: &str = "https://github.com/ROCm/hip-python";
const COMMIT: &str = "ddd90aca6a48c9d6af4034ed6ea1f2e28e1dc295";
/// How long an example may run.
const LIMIT: Duration = Duration::from_secs(300);

/// An example, by its path below `examples`.
struct Example {
    path: &'static str,
    /// What it needs beside HIP and hiprtc; nothing where it has to pass.
    needs: Option<&'static str>,
}

const fn passes(path: &'static str) -> Example {
    Example { path, needs: None }
}

const fn needs(path: &'static str, needs: &'static str) -> Example {
    Example { path, needs: Some(needs) }
}

/// All of them.
const EXAMPLES: &[Example] = &[
    passes("0_Basic_Usage/hip_deviceattributes.py"),
    passes("0_Basic_Usage/hip_deviceproperties.py"),
    passes("0_Basic_Usage/hip_stream.py"),
    passes("0_Basic_Usage/hiprtc_launch_kernel_args.py"),
    passes("0_Basic_Usage/hiprtc_launch_kernel_no_args.py"),
    passes("2_Advanced/hip_jacobi.py"),
    passes("2_Advanced/hiprtc_linking_device_functions.py"),
    passes("2_Advanced/hiprtc_linking_llvm_ir.py"),
    passes("2_Advanced/hiprtc_jit_with_llvm_ir.py"),
    needs("0_Basic_Usage/hip_python_device_array.py", "hipBLAS"),
    needs("0_Basic_Usage/hipblas_with_numpy.py", "hipBLAS"),
    needs("0_Basic_Usage/hipfft.py", "hipFFT"),
    needs("0_Basic_Usage/hiprand_monte_carlo_pi.py", "hipRAND"),
    needs("0_Basic_Usage/rccl_comminitall_bcast.py", "the bindings for RCCL"),
    needs("1_CUDA_Interop/cuda_error_hallucinate_enums.py", "hip-python-as-cuda"),
    needs("1_CUDA_Interop/cuda_stream.py", "hip-python-as-cuda"),
];

/// What is to run, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The virtual GPUs that the examples see
    #[arg(long, value_name = "URI", default_value = "vgpu:gfx90a")]
    device: String,
    /// A checkout of hip-python, in the place of one that is fetched with git
    #[arg(long, value_name = "DIR")]
    checkout: Option<PathBuf>,
    /// Run only examples whose path has this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
}

/// Installs what is missing, and runs the examples. An error names those that failed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = tools::target_folder().join("hip-python");
    let python = install(&folder)?;
    let checkout = match &options.checkout {
        Some(checkout) => checkout.clone(),
        None => fetch(&folder.join("checkout"))?,
    };
    let examples = checkout.join("examples");
    let [hip, hiprtc] = dropin::hip_and_hiprtc()?;
    let path = std::env::join_paths([hip, hiprtc])?;
    let mut failed = Vec::new();
    let mut passed = 0;
    for example in EXAMPLES.iter().filter(|example| example.path.contains(&options.filter)) {
        if let Some(needs) = example.needs {
            println!("left out  {}: needs {needs}", example.path);
            continue;
        }
        let mut command = Command::new(&python);
        command.arg(examples.join(example.path)).current_dir(&folder);
        command.env("LD_LIBRARY_PATH", &path).env("FERROCM_DEVICE", &options.device);
        command.env_remove("ROCM_PATH").env_remove("ROCM_HOME");
        match finish(&mut command) {
            Ok(()) => {
                passed += 1;
                println!("passes    {}", example.path);
            }
            Err(reason) => {
                println!("fails     {}:\n{reason}", example.path);
                failed.push(example.path);
            }
        }
    }
    println!("{passed} examples pass on {}", options.device);
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("failed: {}", failed.join(", ")),
    }
}

/// Makes an environment of Python's with the packages; returns its Python.
fn install(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let environment = folder.join("environment");
    let python = environment.join("bin/python3");
    let done = environment.join("installed");
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == PACKAGES.join("\n")) {
        return Ok(python);
    }
    run::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))
        .context("Python's module venv is needed (Debian: python3-venv)")?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    run::run(pip.args(PACKAGES))?;
    std::fs::write(&done, PACKAGES.join("\n")).with_context(|| done.display().to_string())?;
    Ok(python)
}

/// Fetches the state of the examples that is known here; returns the checkout.
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

/// Runs an example, which has to end well, and with `ok` where it says something at the end; else what it printed.
fn finish(command: &mut Command) -> Result<(), String> {
    let (mut output, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let other = writer.try_clone().map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).stdout(writer).stderr(other);
    let child = command.spawn();
    // The command holds ends of the pipe that are to be written to.
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
        // It may have ended meanwhile.
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
        let paths: std::collections::BTreeSet<_> = EXAMPLES.iter().map(|example| example.path).collect();
        assert_eq!(paths.len(), EXAMPLES.len());
    }
}
