//! Runs a HIP program on AMD's own libraries, over virtual GPUs, on a machine that has neither.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;

use anyhow::{Result, bail};

use super::additions;
use super::program::Place;
use super::sysroot;
use crate::libraries::{First, Own};

/// What `--with` can name.
fn additions_help() -> String {
    let names: Vec<_> = additions::of("7.2").map(|addition| addition.name).collect();
    format!(
        "What else to fetch, of release 7.2: AMD's tools and test programs, with the libraries that the sysroot \
        lacks ({}); may be \
         repeated",
        names.join(", ")
    )
}

/// What to run, and where.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The ROCm release whose libraries the program runs on: 5.2, 5.7, 6.4 or 7.2
    #[arg(long, value_name = "RELEASE", default_value = "7.2")]
    version: String,
    #[arg(long, value_name = "NAME", value_delimiter = ',', help = additions_help())]
    with: Vec<String>,
    /// The virtual GPUs that the program sees, such as vgpu:gfx90a?count=2 [default: FERROCM_HSA_DEVICE, else
    /// FERROCM_DEVICE if that names virtual ones, else one gfx1100]
    #[arg(long, value_name = "URI")]
    device: Option<String>,
    #[command(flatten)]
    own: Own,
    /// The program and its arguments: a path, or the name of a program in the sysroot or beside it. Without
    /// one, creates the sysroot and lists the programs
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

impl Options {
    /// Creates what is missing in the folder of the sysroots, and becomes the program, with some environment
    /// variables removed. Without a program, lists the programs and returns. `first` gives this project's
    /// libraries for a selection.
    ///
    /// # Errors
    /// Something cannot be fetched, or the program cannot be started.
    pub fn run(
        &self,
        folder: &Path,
        without: &'static [&'static str],
        first: impl FnOnce(Own) -> Result<First>,
    ) -> Result<()> {
        let &[release] = &sysroot::releases(std::slice::from_ref(&self.version))?[..] else {
            bail!("--version takes one release");
        };
        if self.own != Own::NONE && release.name != "7.2" {
            bail!(
                "this project's libraries replace libamdhip64.so.7, librocblas.so.5, librccl.so.1 and libhiprtc.so.7 of 7.2: \
                 --own-hip, --own-blas, --own-rccl and --own-hiprtc need --version 7.2"
            );
        }
        let additions = additions::named(&self.with, release.name)?;
        // Before anything is fetched.
        let first = first(self.own)?;
        let sysroot = sysroot::make(release, folder)?;
        for line in &sysroot.differences {
            eprintln!("note: not the tested package: {line}");
        }
        let beside = additions.iter().map(|addition| addition.make(&sysroot)).collect::<Result<_, _>>()?;
        let place = Place { sysroot, beside, first, without };
        let Some((program, arguments)) = self.program.split_first() else {
            println!("ROCm {} is in {}", release.name, place.sysroot.folder().display());
            for tree in &place.beside {
                println!("  and {}", tree.display());
            }
            for name in place.programs() {
                println!("  {name}");
            }
            return Ok(());
        };
        let mut command = place.command(&place.find(program)?)?;
        command.args(arguments).envs(variables(self.device.as_deref(), self.own));
        // This process is replaced, so signals and the exit code are the program's own.
        let error = command.exec();
        bail!("{} cannot be started: {error}", place.sysroot.loader().display())
    }
}

/// Environment variables that tell a program about its devices.
pub fn variables(device: Option<&str>, own: Own) -> Vec<(&'static str, String)> {
    // Without it, RCCL looks for GPUs in the files of Linux's kernel.
    let mut told = vec![("RCCL_USE_ROCM_SMI_LIB", "1".to_owned())];
    if let Some(device) = device {
        told.push((variables::HSA_DEVICE.name, device.to_owned()));
        if own.hip {
            told.push((variables::DEVICE.name, device.to_owned()));
        }
    }
    told
}
