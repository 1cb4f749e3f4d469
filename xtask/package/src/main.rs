//! Makes the packages of a release from the output of `cargo xtask package`, and checks them.
//!
//! It is a separate program because of its extra dependencies: xtask is compiled before everything else.

mod about;
mod archive;
mod check;
mod compress;
mod container;
mod crates;
mod deb;
mod metadata;
mod needs;
mod notes;
mod sbom;
mod sign;
mod stage;
mod third_party;
mod tree;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};

use crate::about::{About, NAME, Subject};
use crate::archive::{gzip, tar};
use crate::metadata::Metadata;
use crate::sign::Key;
use crate::stage::{Inputs, Stage};

#[derive(Debug, Parser)]
#[command(about, bin_name = "xtask-package")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Packs the bundles of compiled kernels below a folder again, as tightly as possible
    Compress {
        /// Folder with a folder for each package
        folder: PathBuf,
    },
    /// Makes packages from the build output
    Make {
        /// Folder with `bin`, `lib`, `kernels` and `prebuilt`
        #[arg(long)]
        inputs: PathBuf,
        /// Folder for the packages
        #[arg(long)]
        out: PathBuf,
        /// Who maintains them: `Name <address>`
        #[arg(long)]
        maintainer: Option<String>,
        /// File with a secret key of minisign
        #[arg(long)]
        key: Option<PathBuf>,
        /// Which ones
        #[arg(required = true)]
        what: Vec<Kind>,
    },
    /// Installs the packages as users do, and runs their programs
    Check {
        /// Folder with the packages
        #[arg(long)]
        out: PathBuf,
        /// Which ones
        #[arg(required = true)]
        what: Vec<Kind>,
    },
    /// Checksums of the files of a fleet's component, its bill of materials, and signatures if
    /// FERROCM_SIGNING_KEY has a key
    Component {
        /// Folder of the files
        #[arg(long)]
        out: PathBuf,
        /// Its name
        #[arg(long)]
        name: String,
        /// The commit
        #[arg(long)]
        version: String,
        /// Its Cargo workspace, if it has one, for the bill of materials
        #[arg(long)]
        workspace: Option<PathBuf>,
    },
    /// Checks whether everything is ready for a release, and writes the notes
    Release {
        /// Folder for the notes
        #[arg(long)]
        out: PathBuf,
    },
}

/// A kind of package.
// NEW-PACKAGE: a variant, and what makes it, below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Kind {
    /// For the registry
    Crates,
    /// An archive to unpack anywhere
    Tar,
    /// For Debian 12 and later
    Deb,
    /// For pip
    Wheel,
    /// An image, and a recipe for one
    Container,
    /// The bill of materials
    Sbom,
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Make { inputs, out, maintainer, key, what } => {
            make(&Inputs(&inputs), &out, maintainer, key.as_deref(), &what)
        }
        Task::Compress { folder } => compress::bundles(&folder),
        Task::Check { out, what } => check::check(&out, &what),
        Task::Component { out, name, version, workspace } => {
            component(&name, &version, workspace.as_deref(), &out)
        }
        Task::Release { out } => notes::release(&out),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The archive's name, and the folder in it.
fn archive_name(about: &About) -> String {
    format!("{NAME}-{}-x86_64-linux", about.version)
}

fn make(
    inputs: &Inputs<'_>,
    out: &Path,
    maintainer: Option<String>,
    key: Option<&Path>,
    what: &[Kind],
) -> Result<()> {
    let about = About::of_workspace(maintainer)?;
    // Before anything slow.
    let key = Key::find(key)?;
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    if what.contains(&Kind::Crates) {
        crates::crates(&inputs.prebuilt(), out)?;
    }
    if what.iter().any(|kind| *kind != Kind::Crates) {
        let stage = Stage::new(inputs, &about)?;
        for kind in what {
            make_of(&stage, *kind, out, &about)?;
        }
    }
    sign::seal(out, key.as_ref(), &about.subject())
}

/// Writes the bill of materials of a component that is a Cargo workspace, unless it exists, then the
/// checksums, and the signatures if the environment has a key.
fn component(name: &str, version: &str, workspace: Option<&Path>, out: &Path) -> Result<()> {
    let subject = Subject::build(name.to_owned(), version.to_owned())?;
    let key = Key::find(None)?;
    let bill = sbom::file_name(name);
    if let Some(workspace) = workspace.filter(|_| !out.join(&bill).exists()) {
        let metadata = Metadata::of_component(workspace)?;
        write(out, &bill, &sbom::sbom(&metadata, &metadata.members(), &subject)?)?;
    }
    sign::seal(out, key.as_ref(), &subject)
}

fn make_of(stage: &Stage, kind: Kind, out: &Path, about: &About) -> Result<()> {
    match kind {
        Kind::Crates => Ok(()),
        Kind::Sbom => write(out, &sbom::file_name(NAME), &stage.sbom),
        Kind::Tar => {
            let name = archive_name(about);
            let archive = gzip(&tar(&stage.tree.below(&name), "", about.seconds)?, about.seconds)?;
            write(out, &format!("{name}.tar.gz"), &archive)
        }
        Kind::Deb => write(out, &deb::file_name(about), &deb::deb(&stage.tree, about)?),
        Kind::Wheel => {
            let wheel = wheel::wheel(&stage.tree, &stage.stubs, &stage.sbom, about)?;
            write(out, &wheel.name, &wheel.bytes)
        }
        Kind::Container => {
            write(out, "Containerfile", container::containerfile(about).as_bytes())?;
            let image = container::image(&[container::base()?, stage.tree.below("usr")], about)?;
            let archive = tar(&image, "", about.seconds)?;
            write(out, &format!("{NAME}-{}.oci.tar", about.version), &archive)
        }
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{:>9} bytes  {name}", bytes.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
