//! `cargo xtask cudarc`: compares `crates/cudarc-on-hip` with cudarc, item by item, and lists which items
//! exist here.
//!
//! Both are read from rustdoc's output, because macros generate many items.

mod items;
mod page;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use setup::run;

use crate::tools;

/// The version whose API the crate implements.
pub(crate) const VERSION: &str = "0.19.10";
/// The compared features: cudarc's modules that exist here, and the crate's CUDA version.
const FEATURES: &[&str] = &[
    "std",
    "cublas",
    "cublaslt",
    "cuda-12090",
    "cudnn",
    "cudnn-09021",
    "curand",
    "driver",
    "dynamic-linking",
    "nccl",
    "nccl-02030",
    "nvrtc",
    "runtime",
];
const PAGE: &str = "docs/generated/cudarc.md";
const TEST: &str = "crates/cudarc-on-hip/tests/paths.rs";

/// What to compare with, and whether to write files.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder of cudarc's package [default: Cargo's copy of it]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Change nothing; fail if a checked-in file differs
    #[arg(long)]
    check: bool,
}

/// Compares, and writes the page and the test of its paths.
///
/// # Errors
/// If there is no cudarc, rustdoc fails, or a checked file differs.
pub(crate) fn compare(options: &Options) -> Result<()> {
    let source = match &options.source {
        Some(source) => source.clone(),
        None => cargos_copy()?,
    };
    let theirs = items::read(&document_cudarc(&source)?)?;
    let ours = items::read(&document_ours()?)?;
    let compared = page::Compared::of(&theirs, &ours);
    for (file, text) in [(PAGE, compared.page()), (TEST, compared.test())] {
        let path = tools::workspace().join(file);
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        if before == text {
            continue;
        }
        if options.check {
            bail!("{file} differs from the output of `cargo xtask cudarc`");
        }
        std::fs::write(&path, text).with_context(|| format!("{file} cannot be written"))?;
        println!("wrote {file}");
    }
    println!("{}", compared.summary());
    Ok(())
}

/// Cargo's copy of cudarc, if it has fetched one.
fn cargos_copy() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let registries = home.map(|home| home.join("registry/src")).unwrap_or_default();
    let folders = std::fs::read_dir(&registries).into_iter().flatten().flatten();
    let copy =
        folders.map(|folder| folder.path().join(format!("cudarc-{VERSION}"))).find(|copy| copy.is_dir());
    copy.with_context(|| {
        format!("Cargo has no copy of cudarc {VERSION}: `cargo fetch` a package that depends on it, or use --source")
    })
}

/// Documents cudarc without its dependencies, which the features do not need.
fn document_cudarc(source: &Path) -> Result<PathBuf> {
    let out = tools::target_folder().join("cudarc-api");
    let mut command = Command::new("rustdoc");
    command.current_dir(source).args(["src/lib.rs", "--crate-name", "cudarc", "--edition", "2021"]);
    command.args(["--cap-lints", "allow", "--output"]).arg(&out);
    for feature in FEATURES {
        command.args(["--cfg", &format!("feature=\"{feature}\"")]);
    }
    run::capture(&mut command)?;
    Ok(out.join("cudarc"))
}

fn document_ours() -> Result<PathBuf> {
    let mut command = tools::cargo();
    command.current_dir(tools::workspace());
    command.args(["doc", "--quiet", "--offline", "--no-deps", "--package", "cudarc"]);
    command.env("RUSTDOCFLAGS", OsString::new());
    run::run(&mut command)?;
    Ok(tools::target_folder().join("doc/cudarc"))
}
