//! Crates from the registry whose sources the tests use.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use setup::run;
use tempfile::TempDir;

use crate::tools;

/// The packages in `cargo metadata`'s output.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
}

/// Makes Cargo fetch a crate, without building it; returns its folder.
pub(crate) fn fetch(name: &str, version: &str) -> Result<PathBuf> {
    let folder = TempDir::new().context("a folder for a package")?;
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    };
    write("lib.rs", "")?;
    write("Cargo.toml", &manifest(name, version))?;
    let mut command = tools::cargo();
    command.args(["metadata", "--format-version", "1", "--quiet"]).current_dir(folder.path());
    source_folder(&run::capture(&mut command)?, name, version)
}

/// The manifest of a package that depends on the crate and is never built.
fn manifest(name: &str, version: &str) -> String {
    format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n\
         [dependencies]\n{name} = \"={version}\"\n\n[workspace]\n"
    )
}

fn source_folder(metadata: &str, name: &str, version: &str) -> Result<PathBuf> {
    let metadata: Metadata = serde_json::from_str(metadata).context("read what `cargo metadata` says")?;
    let is_crate = |package: &&Package| package.name == name && package.version == version;
    let found = metadata.packages.iter().find(is_crate);
    let found = found.with_context(|| format!("`cargo metadata` says nothing of {name} {version}"))?;
    let folder = found.manifest_path.parent();
    folder.map(Path::to_path_buf).with_context(|| format!("{} has no folder", found.manifest_path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_that_of_the_manifest() {
        let text = r#"{"packages": [
            {"name": "candle-kernels", "version": "0.9.0", "manifest_path": "/a/Cargo.toml", "targets": []},
            {"name": "candle-kernels", "version": "0.11.1", "manifest_path": "/b/Cargo.toml", "targets": []}
        ]}"#;
        assert_eq!(source_folder(text, "candle-kernels", "0.11.1").unwrap(), Path::new("/b"));
        assert!(
            source_folder(r#"{"packages": []}"#, "candle-kernels", "0.11.1")
                .unwrap_err()
                .to_string()
                .contains("candle-kernels 0.11.1")
        );
    }
}
