//! `ferrocm replay`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;
use hal::{Device, Driver, Replay};
use hip::DeviceUri;

use crate::output;

const EXAMPLES: &str = "\
Examples:
  ferrocm replay run.replay                         on an AMD GPU, else on a virtual one of the same target
  ferrocm replay --device amdgpu:1 run.replay       on this GPU
  ferrocm replay --device 'vgpu?cus=4' run.replay   on a virtual GPU of the target in the file
  ferrocm replay --look-in weights run.replay       with the files that the run read, which are in this folder now

Exit status: 0 if all buffers end as they did in the captured run, 1 if one differs or something failed, 2 for a malformed command line or \
device URI.";

/// Runs what a program did on a GPU again, and compares the results
///
/// The file is one that `hal::Device::capture` has made. It holds the code, data and commands of a run, and
/// what its buffers had at the end. Its kernels are run: trust it as you would trust a program.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to run on: an AMD GPU or a virtual one [default: FERROCM_DEVICE, else an AMD GPU, else a virtual
    /// one]
    #[arg(long, value_name = "URI")]
    device: Option<DeviceUri>,
    /// Folder in which files that the captured run read are looked for, by their names, before their paths; may be
    /// repeated [default: FERROCM_REPLAY_FOLDERS]
    #[arg(long, value_name = "DIR")]
    look_in: Vec<PathBuf>,
    /// The replay file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Replays the file, and prints what differs. Fails if something does.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut replay = Replay::load(&arguments.file)?;
    for folder in folders(&arguments.look_in) {
        if !folder.is_dir() {
            bail!("{}: there is no such folder to look in", folder.display());
        }
        replay.look_in(folder);
    }
    let device = match &arguments.device {
        Some(uri) => open(&replay, uri)?,
        None => open(&replay, &default_uri()?)?,
    };
    let (submissions, compared) = (replay.submissions(), replay.compared());
    output::print(&format!("{submissions} submissions on {}\n", device.target()))?;
    let differences = run_trusted(&replay, &device)?;
    for difference in &differences {
        output::print(&format!("{difference}\n"))?;
    }
    match differences.len() {
        0 => output::print(&format!("{compared} buffers end as in the captured run\n")),
        count => bail!("{count} of {compared} buffers differ"),
    }
}

/// The URI that `FERROCM_DEVICE` holds.
fn default_uri() -> hip::Result<DeviceUri> {
    match variables::DEVICE.text()? {
        None => Ok(DeviceUri::Auto),
        Some(text) => text.parse().map_err(|error: hip::uri::UriError| hip::Error::Environment {
            variable: hip::uri::DEVICE_VARIABLE,
            problem: error.to_string(),
        }),
    }
}

/// The folders to look in: those given, else those named in the environment.
fn folders(given: &[PathBuf]) -> Vec<PathBuf> {
    match variables::REPLAY_FOLDERS.path() {
        // An empty one is a separator too many, not the current folder.
        Some(named) if given.is_empty() => {
            std::env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty()).collect()
        }
        _ => given.to_vec(),
    }
}

#[expect(
    unsafe_code,
    reason = "whoever names the file trusts its kernels, as those of a program that they start"
)]
fn run_trusted(replay: &Replay, device: &Device) -> hal::Result<Vec<hal::Difference>> {
    // SAFETY: the user has named the file to run it, which the help says.
    unsafe { replay.run(device) }
}

fn open(replay: &Replay, uri: &DeviceUri) -> anyhow::Result<Device> {
    match uri {
        DeviceUri::Auto => match amd(replay, "amdgpu:0") {
            Ok(device) => Ok(device),
            Err(error) => virtual_gpu(replay, &hip::uri::VirtualGpu::default())
                .with_context(|| format!("there is no AMD GPU for it either: {error}")),
        },
        DeviceUri::Amd(_) => amd(replay, &uri.to_string()),
        DeviceUri::Virtual(gpu) => virtual_gpu(replay, gpu),
        DeviceUri::Cuda(_) => bail!("{uri}: replay files have code for AMD's GPUs"),
    }
}

fn amd(replay: &Replay, uri: &str) -> anyhow::Result<Device> {
    Ok(Driver::load()?.open(&uri.parse()?, replay.options()?)?)
}

/// A virtual GPU, by default one of the target in the file.
#[cfg(feature = "virtual")]
fn virtual_gpu(replay: &Replay, gpu: &hip::uri::VirtualGpu) -> anyhow::Result<Device> {
    let mut config: vgpu::DeviceConfig = gpu.to_string().trim_start_matches(':').parse()?;
    if gpu.target.is_none() {
        config.target = replay.target().parse().context("the target in the file")?;
    }
    let config = config.without_features();
    let first = vgpu::attach(&config)?;
    let all: Vec<String> = (first..first + config.count as usize).map(|index| index.to_string()).collect();
    let driver = Driver::over(vgpu::hsa::table())?;
    Ok(driver.open(&format!("amdgpu://{}", all.join(",")).parse()?, replay.options()?)?)
}

#[cfg(not(feature = "virtual"))]
fn virtual_gpu(_: &Replay, gpu: &hip::uri::VirtualGpu) -> anyhow::Result<Device> {
    bail!("vgpu{gpu}: this program was built without the virtual GPU")
}
