//! candle's operations on an NVIDIA GPU, by this project's cudarc and by the real one.
//!
//! Two workspaces in the target folder have the same program and the same candle. One has the lines of
//! [`patch`], the other builds candle as anybody does, which takes CUDA's toolkit. The programs run in turns.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use setup::run;
use shared_commands::patch;

use crate::engines::{self, CANDLE_VERSION, MODELS, write};
use crate::tools;

/// Runs of each program.
const RUNS: usize = 7;
/// The program, below the folder of the models.
const PROGRAM: &str = "examples/operations.rs";
/// The name of its package.
const NAME: &str = "operations";
/// How much slower an operation may be.
const LIMIT: f64 = 1.03;

/// Builds both programs, runs them in turns and prints the medians.
pub(super) fn compare(device: &str) -> Result<()> {
    let folder = engines::folder().join("compare");
    let ours = folder.join("ours");
    let theirs = folder.join("theirs");
    let root = patch::with(PROFILE, &["cudarc", "cudaforge"].into(), tools::workspace())?;
    let mut cargo = build(&ours, &root)?;
    for_cuda(&mut cargo)?;
    run::run(&mut cargo)?;
    run::run(&mut build(&theirs, PROFILE)?)?;
    let program = |workspace: &Path| Command::new(workspace.join("target/release").join(NAME));
    let mut times = [BTreeMap::new(), BTreeMap::new()];
    for _ in 0..RUNS {
        let mut with = program(&ours);
        with.env("FERROCM_DEVICE", device);
        for (mut command, times) in [with, program(&theirs)].into_iter().zip(&mut times) {
            add(&run::capture(&mut command)?, times)?;
        }
    }
    print!("{}", table(&times)?);
    Ok(())
}

/// The profile that users build candle with.
const PROFILE: &str = "[profile.release]\nstrip = true\n";

/// Writes a workspace, and returns the command that builds it.
fn build(folder: &Path, root: &str) -> Result<Command> {
    let manifest = format!(
        "[package]\nname = \"{NAME}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         candle-core = {{ version = \"={0}\", features = [\"cuda\"] }}\n\
         candle-nn = {{ version = \"={0}\", features = [\"cuda\"] }}\n\n[workspace]\n\n{root}",
        CANDLE_VERSION
    );
    let source: PathBuf = tools::workspace().join(MODELS).join(PROGRAM);
    let text = std::fs::read(&source).with_context(|| format!("read {}", source.display()))?;
    std::fs::create_dir_all(folder.join("src")).with_context(|| format!("make {}", folder.display()))?;
    write(&folder.join("src/main.rs"), &text)?;
    let path = folder.join("Cargo.toml");
    write(&path, manifest.as_bytes())?;
    let mut cargo = tools::cargo();
    cargo.args(["build", "--release", "--manifest-path"]).arg(path);
    cargo.arg("--target-dir").arg(folder.join("target"));
    Ok(cargo)
}

/// Makes a build compile kernels for the NVIDIA GPU of this machine, and for no AMD GPU, unless the variables
/// say what to compile for.
pub(super) fn for_cuda(cargo: &mut Command) -> Result<()> {
    if tools::variable(variables::CUDA_ARCHS.name).is_none() {
        let mut smi = Command::new("nvidia-smi");
        smi.args(["--query-gpu=compute_cap", "--format=csv,noheader", "--id=0"]);
        let told = run::capture(&mut smi).with_context(|| {
            format!("ask for the GPU's compute capability; {} can name it", variables::CUDA_ARCHS.name)
        })?;
        cargo.env(variables::CUDA_ARCHS.name, arch(told.trim())?);
    }
    if tools::variable(TARGETS_FOR).is_none() {
        cargo.env(TARGETS_FOR, "*=none");
    }
    Ok(())
}

/// Names targets for some sources.
const TARGETS_FOR: &str = "FERROCM_TARGETS_FOR";

/// The architecture that cudaforge compiles for on a GPU of a compute capability: `sm_90a` for 9.0, so that
/// both builds have the same kernels.
fn arch(capability: &str) -> Result<String> {
    let number: u32 = capability
        .split_once('.')
        .and_then(|(major, minor)| format!("{major}{minor}").parse().ok())
        .with_context(|| format!("`{capability}` is no compute capability"))?;
    let suffix = match number {
        ..90 => "",
        90..=120 => "a",
        _ => "f",
    };
    Ok(format!("sm_{number}{suffix}"))
}

/// Adds the times of a run: lines of a name, a tab and nanoseconds.
fn add(output: &str, times: &mut BTreeMap<String, Vec<f64>>) -> Result<()> {
    for line in output.lines() {
        let (name, time) = line.split_once('\t').with_context(|| format!("`{line}` is no time"))?;
        let time = time.parse().with_context(|| format!("`{line}` is no time"))?;
        times.entry(name.to_owned()).or_default().push(time);
    }
    Ok(())
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The medians, and how much slower ours is.
fn table([ours, theirs]: &[BTreeMap<String, Vec<f64>>; 2]) -> Result<String> {
    if ours.is_empty() || !ours.keys().eq(theirs.keys()) {
        bail!("the two programs ran different operations");
    }
    let mut text = "| operation | real cudarc | this project's | |\n|---|--:|--:|--:|\n".to_owned();
    let mut slower = 0;
    for (name, times) in ours {
        let (our, their) = (median(times), median(&theirs[name]));
        let ratio = our / their;
        slower += usize::from(ratio > LIMIT);
        let (our, their) = (our / 1e3, their / 1e3);
        text.push_str(&format!(
            "| {name} | {their:.2} µs | {our:.2} µs | {:+.1} % |\n",
            100.0 * (ratio - 1.0)
        ));
    }
    text.push_str(&format!("{slower} of {} are more than 3 % slower.\n", ours.len()));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_builds_compile_for_the_same_architecture() {
        for (capability, name) in
            [("8.0", "sm_80"), ("9.0", "sm_90a"), ("12.0", "sm_120a"), ("12.1", "sm_121f")]
        {
            assert_eq!(arch(capability).unwrap(), name);
        }
        assert!(arch("[N/A]").is_err());
    }

    #[test]
    fn medians_are_compared() {
        let mut times = [BTreeMap::new(), BTreeMap::new()];
        for (ours, theirs) in [("1030", "1000"), ("5000", "900"), ("1000", "1000")] {
            add(&format!("add\t{ours}\n"), &mut times[0]).unwrap();
            add(&format!("add\t{theirs}\n"), &mut times[1]).unwrap();
        }
        let text = table(&times).unwrap();
        assert!(text.contains("| add | 1.00 µs | 1.03 µs | +3.0 % |\n0 of 1 are"), "{text}");
        assert!(add("a panic", &mut times[0]).is_err());
        assert!(table(&[times[0].clone(), BTreeMap::new()]).is_err());
    }
}
