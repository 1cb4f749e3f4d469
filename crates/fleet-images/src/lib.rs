//! Generates the images of a pool's machines and of its jobs' containers from one table,
//! `ci/images/images.toml`: cloud-init's user data and the Dockerfiles.
//!
//! [`files`] generates the checked-in files. Keys that sign packages are not part of the project: the
//! checked-in user data has a placeholder for each, and [`Keys`] inserts the keys that
//! [`fetch.sh`](../../../ci/images/keys/fetch.sh) has fetched and checked.

mod cloud_init;
mod docker;
mod keys;
mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use docker::run_steps;
pub use keys::Keys;
pub use table::{Key, Source, Table};

/// The table's file, in the project's folder.
pub const TABLE: &str = "ci/images/images.toml";

/// The checked-in user data, without keys.
pub const USER_DATA: &str = "ci/images/cloud-init/user-data.yaml";

/// Why images cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The table is not valid TOML.
    #[error("{TABLE}: {0}")]
    Syntax(#[from] toml_edit::TomlError),
    /// The table lacks something or has an invalid value.
    #[error("{TABLE}: {place}: {problem}")]
    Table {
        /// Where in the table.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// A script for the user data has a line that a YAML block would not preserve.
    #[error("{script}: line {line} cannot be in the user data: {problem}")]
    Script {
        /// The script.
        script: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// A file is not a key, or the wrong one.
    #[error("{}: {problem}", path.display())]
    Key {
        /// The key's file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A program failed.
    #[error(transparent)]
    Run(#[from] setup::run::Error),
}

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A file generated from the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its path in the project's folder.
    pub path: &'static str,
    /// Its contents.
    pub text: String,
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

/// The table in a project's folder.
///
/// # Errors
/// [`Error::File`], [`Error::Syntax`] and [`Error::Table`].
pub fn table(project: &Path) -> Result<Table> {
    Table::parse(&read(&project.join(TABLE))?)
}

/// All files generated from the table and the scripts in a project's folder. The oldest supported compiler is
/// that of the project's manifest.
///
/// # Errors
/// As [`table`], and errors about scripts.
pub fn files(project: &Path) -> Result<Vec<Made>> {
    let table = table(project)?;
    let manifest: toml_edit::DocumentMut =
        read(&project.join("Cargo.toml"))?.parse().map_err(|error: toml_edit::TomlError| Error::Table {
            place: "Cargo.toml".to_owned(),
            problem: error.to_string(),
        })?;
    let rust = manifest
        .get("workspace")
        .and_then(|item| item.get("package"))
        .and_then(|item| item.get("rust-version"))
        .and_then(|item| item.as_str())
        .ok_or_else(|| Error::Table {
            place: "Cargo.toml".to_owned(),
            problem: "workspace.package.rust-version is missing".to_owned(),
        })?;
    Ok(vec![
        Made { path: USER_DATA, text: cloud_init::user_data(&table, project)? },
        Made { path: "ci/images/build/Dockerfile", text: docker::build(&table, rust) },
        Made { path: "ci/images/test/Dockerfile", text: docker::test(&table) },
    ])
}

/// The paths of generated files that are out of date.
///
/// # Errors
/// As [`files`].
pub fn differences(project: &Path) -> Result<Vec<&'static str>> {
    let made = files(project)?;
    let differs =
        |made: &&Made| fs::read_to_string(project.join(made.path)).ok().as_deref() != Some(&made.text);
    Ok(made.iter().filter(differs).map(|made| made.path).collect())
}

/// Regenerates all files and returns the paths of those that changed.
///
/// # Errors
/// As [`files`], and [`Error::File`].
pub fn write(project: &Path) -> Result<Vec<&'static str>> {
    let changed = differences(project)?;
    for Made { path, text } in files(project)?.into_iter().filter(|made| changed.contains(&made.path)) {
        let path = project.join(path);
        let folder = path.parent().unwrap_or(project);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|source| Error::File { path: path.clone(), source })?;
    }
    Ok(changed)
}
