//! Debian's Open MPI with all dependencies down to the C library and its loader, in a separate tree, for
//! tests started by `mpirun`.

use std::io;
use std::path::{Path, PathBuf};

use setup::debian;
use setup::debian::tested::Tested;

use super::scripts::{self, quoted};
use super::tree::{self, LIBRARIES, LOADER, Packages};
use super::{RELEASES, Suite};

/// The requested package, as it was tested, from the machine's own suite.
static PACKAGES: [Tested; 1] =
    [("openmpi-bin", "4.1.4-3+b1", "555300f03e3c3b02d13dc1c44ece592728b790b71a0d138ebe695d4e267bf8bb")];

/// Why it is unavailable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("Open MPI cannot be fetched: {0}")]
    Fetch(#[source] debian::Error),
    #[error("the packages of Open MPI lack {}", .0.display())]
    Incomplete(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn packages() -> Option<Packages> {
    let release = RELEASES.iter().find(|release| release.suite == Suite::Machine)?;
    Some(Packages {
        release,
        title: "Open MPI".to_owned(),
        place: "openmpi".to_owned(),
        size: 250_000_000,
        packages: &PACKAGES,
        alone: &[],
        had: Vec::new(),
    })
}

/// A program that works like `mpirun`, fetched into `folder` if missing.
pub(crate) fn mpirun(folder: &Path) -> Result<PathBuf, Error> {
    let Some(packages) = packages() else { return Err(Error::Incomplete(folder.to_owned())) };
    let complete = || packages.complete(folder);
    for line in tree::make(&packages, folder, complete).map_err(Error::Fetch)?.unwrap_or_default() {
        eprintln!("note: not the tested package: {line}");
    }
    let tree = folder.join(&packages.place);
    let program = tree.join("usr/bin/orterun");
    if let Some(missing) =
        [&program, &tree.join(LIBRARIES).join(LOADER)].into_iter().find(|file| !file.exists())
    {
        return Err(Error::Incomplete(missing.clone()));
    }
    let path = tree.join("mpirun");
    scripts::write_script(&path, &script(&tree, &program))
        .map_err(|source| Error::Write { path: path.clone(), source })?;
    Ok(path)
}

/// Runs `orterun`, which is `mpirun`, with its own loader and plugins, invisibly to the programs that it
/// starts.
fn script(tree: &Path, program: &Path) -> String {
    let libraries = tree.join(LIBRARIES);
    format!(
        "\
#!/bin/sh
# Made by `cargo xtask`.
export OPAL_PREFIX={prefix} OMPI_MCA_mca_base_component_path={plugins}
export PMIX_INSTALL_PREFIX={pmix} PMIX_MCA_mca_base_component_path={pmix_plugins}
export PMIX_MCA_pcompress_base_silence_warning=1
# In a container tests are root, and there are fewer processors than ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
{run}",
        prefix = quoted(&tree.join("usr")),
        plugins = quoted(&libraries.join("openmpi/lib/openmpi3")),
        pmix = quoted(&libraries.join("pmix2")),
        pmix_plugins = quoted(&libraries.join("pmix2/lib/pmix")),
        run = scripts::run_by_own_loader(tree, program, "mpirun"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_quotes_what_it_names() {
        let text = script(Path::new("/it's/here"), Path::new("/it's/here/usr/bin/orterun"));
        assert!(text.contains(r"'/it'\''s/here/usr/bin/orterun' "), "{text}");
        assert!(packages().is_some());
        assert_eq!(PACKAGES[0].2.len(), 64);
    }
}
