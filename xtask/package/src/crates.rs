//! The packages for the registry, in the order of publishing, with compiled kernels instead of their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use setup::run;

use crate::about::{LICENSE_FILES, cargo, target_folder, workspace};
use crate::metadata::{Metadata, Package};

/// The place of compiled kernels in a package's folder.
const PREBUILT: &str = "prebuilt";
/// The folder of those for NVIDIA GPUs, and the end of the name of the package that has them.
const NVIDIA: &str = "nvidia";
/// The registry's size limit, compressed.
const LARGEST: u64 = 10 << 20;
/// The folder for packing a copy of the workspace, below the target folder.
const STAGE: &str = "package-crates";
/// The file with the packages' names, in the order of publishing.
pub(crate) const ORDER: &str = "order.txt";

/// Packs all published packages into a folder; returns their files in the order of publishing.
pub(crate) fn crates(prebuilt: &Path, out: &Path) -> Result<Vec<PathBuf>> {
    let stage = stage(prebuilt)?;
    let metadata = Metadata::of_members(&stage)?;
    let order = order(&metadata.packages)?;
    let target = target_folder().join(STAGE).join("target");
    // All at once, so that Cargo substitutes the other packages for those not yet in the registry, in the
    // right order. The check builds them from their packed form, without a GPU compiler.
    let mut publish = cargo();
    publish.args(["publish", "--dry-run", "--workspace", "--no-verify", "--allow-dirty", "--quiet"]);
    publish.current_dir(&stage).env("CARGO_TARGET_DIR", &target);
    run::run(&mut publish)?;
    let folder = out.join("crates");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot empty {}", folder.display()));
        }
        _ => fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?,
    }
    let mut files = Vec::new();
    let mut list = String::new();
    for package in &order {
        let name = format!("{}-{}.crate", package.name, package.version);
        let (from, to) = (packed(&target, &name)?, folder.join(&name));
        let size = fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        if size > LARGEST {
            bail!("{name} has {size} bytes; the registry takes {LARGEST}");
        }
        list.push_str(&format!("{}\n", package.name));
        println!("{:>9} bytes  {name}", size);
        files.push(to);
    }
    let path = folder.join(ORDER);
    fs::write(&path, list).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(files)
}

/// The file of a package: its folder depends on Cargo's version.
fn packed(target: &Path, name: &str) -> Result<PathBuf> {
    let folders = ["package", "package/tmp-crate", "package/tmp-registry"];
    let found = folders.iter().map(|folder| target.join(folder).join(name)).find(|path| path.is_file());
    found.with_context(|| format!("Cargo has packed no {name} into {}", target.join("package").display()))
}

/// A copy of the workspace with everything that packages need: licences and compiled kernels.
fn stage(prebuilt: &Path) -> Result<PathBuf> {
    let stage = target_folder().join(STAGE).join("workspace");
    if stage.exists() {
        fs::remove_dir_all(&stage).with_context(|| format!("cannot empty {}", stage.display()))?;
    }
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(workspace());
    for path in run::capture(&mut list)?.split('\0').filter(|path| !path.is_empty()) {
        // Deleted but uncommitted files are listed, too.
        let from = workspace().join(path);
        if from.symlink_metadata().is_ok() {
            copy(&from, &stage.join(path))?;
        }
    }
    without_hack(&stage)?;
    for package in Metadata::of_members(&stage)?.packages.iter().filter(|package| package.is_published()) {
        for license in LICENSE_FILES {
            copy(&workspace().join(license), &package.folder().join(license))?;
        }
    }
    place_kernels(prebuilt, &stage.join("crates"))?;
    Ok(stage)
}

/// Copies compiled kernels into the packages. There is a folder for each, called as its own. Those for NVIDIA
/// GPUs in it are for another package.
fn place_kernels(prebuilt: &Path, crates: &Path) -> Result<()> {
    let told = || format!("cannot read {}", prebuilt.display());
    for entry in fs::read_dir(prebuilt).with_context(told)? {
        let from = entry.with_context(told)?.path();
        let name = from.file_name().and_then(|name| name.to_str()).with_context(told)?;
        let to = crates.join(name).join(PREBUILT);
        copy_folder(&from, &to)?;
        let (nvidia, package) = (to.join(NVIDIA), crates.join(format!("{name}-{NVIDIA}")));
        if nvidia.is_dir() {
            if !package.join("Cargo.toml").is_file() {
                bail!("{} is no package, and {} is for it", package.display(), nvidia.display());
            }
            let to = package.join(PREBUILT);
            fs::rename(&nvidia, &to).with_context(|| format!("cannot move {}", nvidia.display()))?;
        }
    }
    Ok(())
}

/// Takes this workspace's choice of features for its own builds out of what is published.
fn without_hack(stage: &Path) -> Result<()> {
    const LINE: &str = "workspace-hack.workspace = true\n";
    let path = stage.join("crates/vgpu-exec/Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let Some((before, after)) = text.split_once(LINE) else {
        bail!("{} has no line `{}`", path.display(), LINE.trim_end());
    };
    fs::write(&path, format!("{before}{after}")).with_context(|| format!("cannot write {}", path.display()))
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let entries = fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", from.display()))?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copy_folder(&path, &to)? } else { copy(&path, &to)? }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let told = || format!("cannot copy {} to {}", from.display(), to.display());
    fs::create_dir_all(to.parent().unwrap_or(to)).with_context(told)?;
    match fs::read_link(from) {
        Ok(link) => symlink(link, to).with_context(told),
        Err(_) => fs::copy(from, to).map(|_| ()).with_context(told),
    }
}

/// The published packages, each after its dependencies.
///
/// # Errors
/// A cycle, or a dependency on an unpublished package.
pub(crate) fn order(packages: &[Package]) -> Result<Vec<&Package>> {
    let published: BTreeMap<&str, &Package> =
        packages.iter().filter(|one| one.is_published()).map(|one| (one.name.as_str(), one)).collect();
    let mut waiting: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, package) in &published {
        let mut before = BTreeSet::new();
        for dependency in package.dependencies.iter().filter(|one| one.path.is_some()) {
            // Cargo leaves out dependencies without a version, which are only for tests.
            let is_left_out = dependency.kind.as_deref() == Some("dev") && dependency.req == "*";
            if is_left_out {
                continue;
            }
            match published.get_key_value(dependency.name.as_str()) {
                Some((other, _)) => before.insert(*other),
                None => bail!("{name} is published and depends on {}, which is not", dependency.name),
            };
        }
        waiting.insert(name, before);
    }
    let mut order = Vec::new();
    while !waiting.is_empty() {
        let ready: Vec<&str> =
            waiting.iter().filter(|(_, before)| before.is_empty()).map(|(name, _)| *name).collect();
        if ready.is_empty() {
            let circle: Vec<String> =
                waiting.iter().map(|(name, before)| format!("{name} after {before:?}")).collect();
            bail!(
                "these packages cannot be published, since they depend on each other: {}",
                circle.join("; ")
            );
        }
        for name in ready {
            waiting.remove(name);
            waiting.values_mut().for_each(|before| {
                before.remove(name);
            });
            order.extend(published.get(name).copied());
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_for_nvidia_gpus_are_in_a_package_of_their_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let [prebuilt, crates] = ["prebuilt", "crates"].map(|name| folder.path().join(name));
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("written");
        };
        write("prebuilt/kernels/a.hipfb", "AMD");
        write("prebuilt/kernels/nvidia/a.nvidia.hipfb", "NVIDIA");
        write("prebuilt/hal-library/b.hipfb", "AMD");
        write("crates/kernels/Cargo.toml", "");
        let error = place_kernels(&prebuilt, &crates).expect_err("no package").to_string();
        assert!(error.contains("kernels-nvidia is no package"), "{error}");
        fs::remove_dir_all(&crates).expect("removed");
        write("crates/kernels-nvidia/Cargo.toml", "");
        place_kernels(&prebuilt, &crates).expect("placed");
        let mut found: Vec<String> = Vec::new();
        for name in ["hal-library", "kernels", "kernels-nvidia"] {
            for entry in fs::read_dir(crates.join(name).join(PREBUILT)).expect("a folder") {
                let file = entry.expect("an entry").file_name();
                found.push(format!("{name}/{}", file.to_str().expect("a name")));
            }
        }
        assert_eq!(found, ["hal-library/b.hipfb", "kernels/a.hipfb", "kernels-nvidia/a.nvidia.hipfb"]);
    }

    #[test]
    fn packages_come_after_all_that_they_need() {
        let mut metadata = Metadata::of_members(workspace()).expect("metadata");
        for package in &mut metadata.packages {
            package.dependencies.retain(|one| one.name != "workspace-hack");
        }
        let order = order(&metadata.packages).expect("an order");
        let at =
            |name: &str| order.iter().position(|one| one.name == name).unwrap_or_else(|| panic!("{name}"));
        for (before, after) in [
            ("ferrocm-hip-sys", "ferrocm-hip"),
            ("ferrocm-vgpu-exec", "ferrocm-vgpu"),
            ("ferrocm-kernel-build", "ferrocm-kernels"),
            ("ferrocm-hip", "ferrocm-kernels"),
            ("ferrocm-kernels-nvidia", "ferrocm-kernels"),
            ("ferrocm-setup", "ferrocm"),
        ] {
            assert!(at(before) < at(after), "{before} before {after}");
        }
        assert!(order.iter().all(|one| one.name != "xtask" && one.name != "cudarc"));
    }

    #[test]
    fn circles_and_unpublished_dependencies_are_refused() {
        let read = |text: &str| -> Vec<Package> { serde_json::from_str(text).expect("packages") };
        let one = |name: &str, needs: &str, publish: &str| {
            format!(
                r#"{{"id":"{name}","name":"{name}","version":"1.0.0","manifest_path":"/{name}/Cargo.toml","publish":{publish},"targets":[],
                "dependencies":[{{"name":"{needs}","req":"^1","kind":null,"path":"/{needs}"}}]}}"#
            )
        };
        let circle = read(&format!("[{},{}]", one("a", "b", "null"), one("b", "a", "null")));
        assert!(order(&circle).expect_err("a circle").to_string().contains("depend on each other"));
        let hidden = read(&format!("[{},{}]", one("a", "b", "null"), one("b", "a", "[]")));
        assert!(
            order(&hidden)
                .expect_err("not published")
                .to_string()
                .contains("a is published and depends on b")
        );
    }
}
