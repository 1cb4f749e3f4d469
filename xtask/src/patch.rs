//! `cargo xtask patch DIR`: puts this project's crates in the place of those through which a Rust program reaches CUDA.
//!
//! They have the names, versions and APIs of the crates that they stand in for, so that Cargo's `[patch]` is all that it takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;
use setup::run;
use toml_edit::{DocumentMut, InlineTable, Item, Table};

use crate::tools;

/// The crates that stand in for others: the name of both, and the folder below the workspace.
const STAND_INS: [(&str, &str); 3] = [
    ("cudarc", "crates/cudarc-on-hip"),
    ("cudaforge", "crates/cudaforge-on-kernel-build"),
    ("bindgen_cuda", "crates/bindgen-cuda-on-kernel-build"),
];
/// The table of the manifest.
const PATCH: [&str; 2] = ["patch", "crates-io"];
const MANIFEST: &str = "Cargo.toml";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A package or workspace
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Take the lines out again
    #[arg(long)]
    remove: bool,
}

/// What `cargo metadata` says of a program.
#[derive(Debug, Deserialize)]
struct Metadata {
    workspace_root: PathBuf,
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    /// None for a folder.
    source: Option<String>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    req: String,
}

pub(crate) fn patch(options: &Options) -> Result<()> {
    let before = metadata(&options.folder)?;
    let manifest = before.workspace_root.join(MANIFEST);
    let text = fs::read_to_string(&manifest).with_context(|| format!("read {}", manifest.display()))?;
    let names = if options.remove { STAND_INS.map(|(name, _)| name).into() } else { named(&before) };
    if names.is_empty() {
        bail!(
            "nothing in {} depends on {}, with whatever features",
            before.workspace_root.display(),
            STAND_INS.map(|(name, _)| name).join(", ")
        );
    }
    let new = if options.remove { without(&text)? } else { with(&text, &names, tools::workspace())? };
    if new == text {
        println!("{} stays as it is", manifest.display());
        return Ok(());
    }
    fs::write(&manifest, &new).with_context(|| format!("write {}", manifest.display()))?;
    if options.remove {
        println!("{}: the lines are out again", manifest.display());
        return Ok(());
    }
    // A lock file may have another version of the same API, to which a patch does not apply.
    for name in &names {
        let mut update = tools::cargo();
        update.args(["update", "--quiet", "--package", name]).current_dir(&before.workspace_root);
        run::capture(&mut update).with_context(|| restored(&manifest, &text))?;
    }
    let left = unused(&metadata(&options.folder).with_context(|| restored(&manifest, &text))?);
    if !left.is_empty() {
        let reason = restored(&manifest, &text);
        bail!("{}\n{reason}", left.join("\n"));
    }
    for name in names {
        println!("{}: {name} is now that of {}", manifest.display(), tools::workspace().display());
    }
    println!(
        "FERROCM_DEVICE says which GPU the program runs on, FERROCM_TARGETS for which its kernels are compiled: docs/engines.md"
    );
    Ok(())
}

/// Writes the manifest as it was, and says so.
fn restored(manifest: &Path, text: &str) -> String {
    match fs::write(manifest, text) {
        Ok(()) => format!("{} is as it was", manifest.display()),
        Err(error) => format!("{} could not be written as it was: {error}", manifest.display()),
    }
}

fn metadata(folder: &Path) -> Result<Metadata> {
    let mut command = tools::cargo();
    command.args(["metadata", "--format-version", "1", "--quiet", "--all-features"]).current_dir(folder);
    serde_json::from_str(&run::capture(&mut command)?).context("read what `cargo metadata` says")
}

/// The crates of the program that others stand in for.
fn named(metadata: &Metadata) -> BTreeSet<&'static str> {
    let is_there = |name: &&str| metadata.packages.iter().any(|package| package.name == *name);
    STAND_INS.map(|(name, _)| name).into_iter().filter(is_there).collect()
}

/// What still comes from elsewhere: a line for each version of a crate, with those that ask for it.
fn unused(metadata: &Metadata) -> Vec<String> {
    let is_elsewhere = |package: &&Package| {
        package.source.is_some() && STAND_INS.iter().any(|(name, _)| *name == package.name)
    };
    let line = |package: &Package| {
        let mut by = Vec::new();
        for user in &metadata.packages {
            let asked = user.dependencies.iter().filter(|dependency| dependency.name == package.name);
            by.extend(asked.map(|dependency| format!("{} {} ({})", user.name, user.version, dependency.req)));
        }
        format!(
            "{} {} has another API than the version here; it is asked for by {}",
            package.name,
            package.version,
            by.join(", ")
        )
    };
    metadata.packages.iter().filter(is_elsewhere).map(line).collect()
}

/// The manifest with a line for each of these crates.
pub(crate) fn with(text: &str, names: &BTreeSet<&str>, workspace: &Path) -> Result<String> {
    let mut document: DocumentMut = text.parse().context("read the manifest")?;
    let table = table(&mut document)?;
    for (name, folder) in STAND_INS.iter().filter(|(name, _)| names.contains(name)) {
        let path = workspace.join(folder);
        let path = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
        if let Some(there) = table.get(name)
            && path_of(there).is_none_or(|there| !there.ends_with(folder))
        {
            bail!("the manifest has a patch of `{name}` already: {}", there.to_string().trim());
        }
        let mut value = InlineTable::new();
        value.insert("path", path.into());
        table.insert(name, toml_edit::value(value));
    }
    Ok(document.to_string())
}

/// The manifest without them.
fn without(text: &str) -> Result<String> {
    let mut document: DocumentMut = text.parse().context("read the manifest")?;
    let patches = table(&mut document)?;
    for (name, folder) in STAND_INS {
        if patches.get(name).and_then(path_of).is_some_and(|path| path.ends_with(folder)) {
            patches.remove(name);
        }
    }
    if patches.is_empty() {
        let all = document.get_mut(PATCH[0]).and_then(Item::as_table_mut).context("a table")?;
        all.remove(PATCH[1]);
        if all.is_empty() {
            document.remove(PATCH[0]);
        }
    }
    Ok(document.to_string())
}

/// `[patch.crates-io]`, made if it is not there.
fn table(document: &mut DocumentMut) -> Result<&mut Table> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let [patch, registry] = PATCH;
    let all = document.entry(patch).or_insert_with(implicit).as_table_mut();
    let table =
        all.and_then(|all| all.entry(registry).or_insert_with(|| Item::Table(Table::new())).as_table_mut());
    table.with_context(|| {
        format!("`{patch}.{registry}` is no table of the manifest; write it as [{patch}.{registry}]")
    })
}

/// The folder of a dependency.
fn path_of(item: &Item) -> Option<&str> {
    item.as_table_like()?.get("path")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST_TEXT: &str =
        "# An engine.\n[package]\nname = \"engine\" # its name\n\n[dependencies]\ncudarc = \"0.19\"\n";

    fn both() -> BTreeSet<&'static str> {
        ["cudarc", "cudaforge"].into()
    }

    #[test]
    fn the_stand_ins_are_there_under_these_names() {
        for (name, folder) in STAND_INS {
            let manifest = tools::workspace().join(folder).join(MANIFEST);
            let text = fs::read_to_string(&manifest).unwrap();
            assert!(text.contains(&format!("\nname = \"{name}\"\n")), "{}", manifest.display());
        }
    }

    #[test]
    fn lines_are_written_once_and_taken_out_again() {
        let new = with(MANIFEST_TEXT, &both(), Path::new("/here")).unwrap();
        let lines = "\n[patch.crates-io]\ncudarc = { path = \"/here/crates/cudarc-on-hip\" }\n\
                     cudaforge = { path = \"/here/crates/cudaforge-on-kernel-build\" }\n";
        assert_eq!(new, format!("{MANIFEST_TEXT}{lines}"));
        assert_eq!(with(&new, &both(), Path::new("/here")).unwrap(), new);
        assert_eq!(without(&new).unwrap(), MANIFEST_TEXT);
        assert_eq!(without(MANIFEST_TEXT).unwrap(), MANIFEST_TEXT);
        // A checkout that has moved.
        let moved = with(&new, &both(), Path::new("/there")).unwrap();
        assert_eq!(moved, new.replace("/here/", "/there/"));
    }

    #[test]
    fn patches_of_others_stay() {
        let text = format!("{MANIFEST_TEXT}\n[patch.crates-io]\nserde = {{ path = \"../serde\" }}\n");
        let new = with(&text, &both(), Path::new("/here")).unwrap();
        assert!(new.starts_with(&text) && new.contains("cudaforge = "), "{new}");
        assert_eq!(without(&new).unwrap(), text);
        let own = text.replace("serde", "cudarc");
        let error = with(&own, &both(), Path::new("/here")).unwrap_err().to_string();
        assert!(error.contains("a patch of `cudarc` already"), "{error}");
        assert_eq!(without(&own).unwrap(), own);
        let error = with("patch = 1\n", &both(), Path::new("/here")).unwrap_err().to_string();
        assert!(error.contains("[patch.crates-io]"), "{error}");
    }

    #[test]
    fn what_a_program_depends_on_is_read_from_cargo() {
        let read = |text: &str| serde_json::from_str::<Metadata>(text).unwrap();
        let metadata = read(
            r#"{"workspace_root": "/w", "packages": [
                {"name": "engine", "version": "1.0.0", "source": null, "dependencies": [{"name": "cudarc", "req": "^0.16"}]},
                {"name": "cudarc", "version": "0.16.1", "source": "registry+index", "dependencies": []},
                {"name": "cudaforge", "version": "0.1.6", "source": null}
            ]}"#,
        );
        assert_eq!(named(&metadata), both());
        let left = unused(&metadata);
        let expected =
            "cudarc 0.16.1 has another API than the version here; it is asked for by engine 1.0.0 (^0.16)";
        assert_eq!(left, [expected]);
    }
}
