//! `cargo xtask rocm`: runs a HIP program on AMD's own libraries, over virtual GPUs, on a machine that has neither.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::dropin::{self, Own};
use crate::rocm::program::Place;
use crate::rocm::{additions, sysroot};

/// What `--with` can name.
fn additions_help() -> String {
    let names: Vec<_> = additions::of("7.2").map(|addition| addition.name).collect();
    format!(
        "What else is fetched, of release 7.2: AMD's tools and test programs, with the libraries that the sysroot lacks ({}); may be \
         repeated",
        names.join(", ")
    )
}

/// What is to run, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The ROCm release whose libraries the program runs on: 5.2, 5.7, 6.4 or 7.2
    #[arg(long, value_name = "RELEASE", default_value = "7.2")]
    version: String,
    #[arg(long, value_name = "NAME", value_delimiter = ',', help = additions_help())]
    with: Vec<String>,
    /// The virtual GPUs that the program sees, such as vgpu:gfx90a?count=2 [default: FERROCM_HSA_DEVICE, else FERROCM_DEVICE if that
    /// names virtual ones, else one gfx1100]
    #[arg(long, value_name = "URI")]
    device: Option<String>,
    #[command(flatten)]
    own: Own,
    /// Optimise all of the drop-in libraries, not only the virtual GPU
    #[arg(long)]
    release: bool,
    /// Folder of the sysroots [default: rocm in the target folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The program and its arguments: a path, or the name of a program in the sysroot or beside it. Without one, the sysroot is made and
    /// the programs are listed
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Makes what is missing, and becomes the program.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let &[release] = &sysroot::releases(std::slice::from_ref(&options.version))?[..] else {
        bail!("--version takes one release");
    };
    let own = options.own;
    if own != Own::default() && release.name != "7.2" {
        bail!(
            "this project's libraries take the place of libamdhip64.so.7, librocblas.so.5, librccl.so.1 and libhiprtc.so.7 of 7.2: \
             --own-hip, --own-blas, --own-rccl and --own-hiprtc need --version 7.2"
        );
    }
    let additions = additions::named(&options.with, release.name)?;
    let folder = options.folder.clone().unwrap_or_else(sysroot::folder);
    let sysroot = sysroot::make(release, &folder)?;
    for line in &sysroot.differences {
        eprintln!("note: not the package that was tried here: {line}");
    }
    let beside = additions.iter().map(|addition| addition.make(&sysroot)).collect::<Result<_, _>>()?;
    let first = dropin::before_amds(options.release, own)?;
    let place = Place { sysroot, beside, first };
    let Some((program, arguments)) = options.program.split_first() else {
        println!("ROCm {} is in {}", release.name, place.sysroot.folder().display());
        for tree in &place.beside {
            println!("  and {}", tree.display());
        }
        for name in place.programs() {
            println!("  {name}");
        }
        return Ok(ExitCode::SUCCESS);
    };
    let mut command = place.command(&place.find(program)?)?;
    command.args(arguments).envs(variables(options.device.as_deref(), own));
    // Nothing of this program is left: signals and the exit code are the program's own.
    let error = command.exec();
    bail!("{} cannot be started: {error}", place.sysroot.loader().display())
}

/// What a program is told of its devices.
pub(crate) fn variables(device: Option<&str>, own: Own) -> Vec<(&'static str, String)> {
    let mut variables = Vec::new();
    if let Some(device) = device {
        variables.push((dropin::HSA_DEVICE_VARIABLE, device.to_owned()));
        if own.hip {
            variables.push(("FERROCM_DEVICE", device.to_owned()));
        }
    }
    // Without it, RCCL looks for GPUs among the files of the kernel.
    variables.push(("RCCL_USE_ROCM_SMI_LIB", "1".to_owned()));
    variables
}
