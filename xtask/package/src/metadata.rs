//! Cargo's metadata about the workspace and its dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use setup::run;

use crate::about::cargo;

/// The packages whose programs and libraries are part of a release.
pub(crate) const LINKED: [&str; 7] = [
    "ferrocm",
    "ferrocm-libamdhip64",
    "ferrocm-libhsa-runtime64",
    "ferrocm-libhiprtc",
    "ferrocm-librccl",
    "ferrocm-librocblas",
    "ferrocm-librocm-smi",
];
/// The features of the program `ferrocm`.
pub(crate) const FEATURES: &str = "ferrocm/measure,ferrocm/models";
/// The Cargo target.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The relevant output of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// All packages.
    pub(crate) packages: Vec<Package>,
    /// Cargo's names of the packages of the workspace.
    workspace_members: Vec<String>,
    /// The dependency graph.
    resolve: Option<Resolve>,
}

/// A package.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Package {
    /// Cargo's name for exactly this one.
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Its licence.
    pub(crate) license: Option<String>,
    /// Its description.
    pub(crate) description: Option<String>,
    /// Its repository.
    pub(crate) repository: Option<String>,
    /// `None` for members of this workspace.
    pub(crate) source: Option<String>,
    /// Its manifest.
    pub(crate) manifest_path: PathBuf,
    /// Empty if it is not published.
    publish: Option<Vec<String>>,
    /// Its dependencies.
    pub(crate) dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

/// A dependency in a manifest.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Dependency {
    /// The package.
    pub(crate) name: String,
    /// Its versions.
    pub(crate) req: String,
    /// `None`, `dev` or `build`.
    pub(crate) kind: Option<String>,
    /// The folder, for members of this workspace.
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Clone, Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Debug, Deserialize)]
struct Kind {
    kind: Option<String>,
}

impl Package {
    /// Whether it is published to the registry.
    pub(crate) fn is_published(&self) -> bool {
        self.source.is_none() && self.publish.as_ref() != Some(&Vec::new())
    }

    /// Whether it is a procedural macro, which is not linked.
    fn is_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }
}

impl Metadata {
    /// Queries Cargo about the workspace in a folder, with everything in the lock file.
    pub(crate) fn of(workspace: &Path) -> Result<Self> {
        Self::read(workspace, &["--locked", "--features", FEATURES, "--filter-platform", TARGET])
    }

    /// Queries Cargo about a fleet component's workspace, with everything in its lock file.
    pub(crate) fn of_component(workspace: &Path) -> Result<Self> {
        Self::read(workspace, &["--locked", "--filter-platform", TARGET])
    }

    /// Queries Cargo about the members only.
    pub(crate) fn of_members(workspace: &Path) -> Result<Self> {
        Self::read(workspace, &["--no-deps"])
    }

    fn read(workspace: &Path, more: &[&str]) -> Result<Self> {
        let mut command = cargo();
        command.args(["metadata", "--quiet", "--format-version", "1"]).args(more);
        let text = run::capture(command.current_dir(workspace))?;
        serde_json::from_str(&text).context("what `cargo metadata` prints")
    }

    /// The packages whose programs and libraries are released.
    pub(crate) fn released(&self) -> Result<Vec<&Package>> {
        let own = |name| self.packages.iter().find(|one| one.source.is_none() && one.name == name);
        let found =
            LINKED.map(|name| own(name).with_context(|| format!("the workspace has no package {name}")));
        found.into_iter().collect()
    }

    /// The packages of the workspace.
    pub(crate) fn members(&self) -> Vec<&Package> {
        self.packages.iter().filter(|one| self.workspace_members.contains(&one.id)).collect()
    }

    /// The packages linked into programs and libraries of some packages, by name and version, each with its
    /// dependencies.
    pub(crate) fn linked<'a>(
        &'a self,
        roots: &[&'a Package],
    ) -> Result<Vec<(&'a Package, Vec<&'a Package>)>> {
        let by_id: BTreeMap<&str, &Package> =
            self.packages.iter().map(|one| (one.id.as_str(), one)).collect();
        let nodes = &self.resolve.as_ref().context("`cargo metadata` prints no dependencies")?.nodes;
        let edges: BTreeMap<&str, &Vec<Edge>> =
            nodes.iter().map(|node| (node.id.as_str(), &node.deps)).collect();
        let used = |id: &str| -> Vec<&Package> {
            let edges = edges.get(id).into_iter().flat_map(|edges| edges.iter());
            let linked = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            let mut used: Vec<&Package> = linked
                .filter_map(|edge| by_id.get(edge.pkg.as_str()).copied())
                .filter(|one| !one.is_macro())
                .collect();
            used.sort_by_key(|one| (&one.name, &one.version));
            used
        };
        let mut next = roots.to_vec();
        let mut found: BTreeMap<(&str, &str, &str), (&Package, Vec<&Package>)> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        while let Some(package) = next.pop() {
            if seen.insert(&package.id) {
                let used = used(&package.id);
                next.extend(used.iter().copied());
                found.insert((&package.name, &package.version, &package.id), (package, used));
            }
        }
        Ok(found.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::about::workspace;

    #[test]
    fn what_is_linked_is_neither_for_tests_nor_for_the_compiler() {
        let metadata = Metadata::of(workspace()).expect("metadata");
        let linked = metadata.linked(&metadata.released().expect("packages")).expect("linked");
        let has = |name: &str| linked.iter().any(|(package, _)| package.name == name);
        for name in LINKED.into_iter().chain(["ferrocm-vgpu-exec", "ferrocm-kernels", "clap", "half"]) {
            assert!(has(name), "{name}");
        }
        for name in ["syn", "serde_derive", "proptest", "trybuild", "xtask", "cyclonedx-bom", "test-support"]
        {
            assert!(!has(name), "{name}");
        }
    }
}
