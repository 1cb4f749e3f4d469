//! Checks the licences, crates and sources of dependencies against `[workspace.metadata.dependencies]` in
//! `Cargo.toml`.
//!
//! It examines only Cargo's metadata: the licence that a crate declares, not the files in it.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use setup::run;
use spdx::{Expression, LicenseReq, ParseMode};

use crate::{package, tools};

/// The allowed source of crates, besides this workspace.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The relevant output of `cargo metadata`.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    metadata: Option<WorkspaceMetadata>,
}

#[derive(Debug, Deserialize)]
struct WorkspaceMetadata {
    dependencies: Option<Policy>,
}

/// The allowed dependencies.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Policy {
    /// Names of licences in SPDX.
    licenses: Vec<String>,
    /// Banned crates, each with the reason.
    banned: BTreeMap<String, String>,
    /// Crates that may depend on banned ones all the same.
    #[serde(default)]
    exceptions: BTreeMap<String, Exception>,
}

/// A banned crate below one other crate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    /// The only crate that may depend on it.
    below: String,
    /// Why.
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// `None` for a crate in a folder.
    source: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    req: String,
    source: Option<String>,
    /// `None` for dependencies of the crate itself; `dev` or `build`.
    kind: Option<String>,
}

/// Cargo's metadata of a workspace, with all features.
fn metadata(manifest: &str) -> Result<Metadata> {
    let mut command: Command = tools::cargo();
    command.args(["metadata", "--locked", "--quiet", "--all-features", "--format-version", "1"]);
    let text = run::capture(command.args(["--manifest-path", manifest]).current_dir(tools::workspace()))?;
    serde_json::from_str(&text).context("what `cargo metadata` prints")
}

/// Checks all dependencies of the workspace with all features, and those of the packaging program.
pub(crate) fn check() -> Result<()> {
    let metadata = self::metadata("Cargo.toml")?;
    let policy = metadata.metadata.and_then(|metadata| metadata.dependencies);
    let policy = policy.context("Cargo.toml has no [workspace.metadata.dependencies]")?;
    let mut found = objections(&metadata.packages, &policy)?;
    found.extend(objections(&self::metadata(package::PROGRAM)?.packages, &policy)?);
    found.sort();
    found.dedup();
    if !found.is_empty() {
        bail!(
            "dependencies that [workspace.metadata.dependencies] in Cargo.toml does not allow:\n{}",
            found.join("\n")
        );
    }
    println!("{} packages, all with allowed licences and sources", metadata.packages.len());
    Ok(())
}

/// The objections to these packages; empty if all is well.
fn objections(packages: &[Package], policy: &Policy) -> Result<Vec<String>> {
    for license in &policy.licenses {
        spdx::license_id(license).with_context(|| format!("`{license}` is not an SPDX licence"))?;
    }
    let mut found = Vec::new();
    for package in packages {
        let name = format!("{} {}", package.name, package.version);
        if let Some(reason) = policy.banned.get(&package.name) {
            let exception = policy.exceptions.get(&package.name);
            if exception.is_none_or(|exception| exception.reason.is_empty()) {
                found.push(format!("{name} is banned: {reason}"));
            }
        }
        let banned = package.dependencies.iter().filter(|one| is_there(packages, &one.name));
        for one in banned.filter(|one| policy.banned.contains_key(&one.name)) {
            // Tests of other crates are not built here.
            let is_test = one.kind.as_deref() == Some("dev") && package.source.is_some();
            let exception = policy.exceptions.get(&one.name);
            if !is_test && exception.is_some_and(|exception| exception.below != package.name) {
                found.push(format!(
                    "{name} depends on {}, which only {} may",
                    one.name,
                    exception.map_or("", |one| &one.below)
                ));
            }
        }
        match package.license.as_deref().map(|text| Expression::parse_mode(text, ParseMode::LAX)) {
            None => found.push(format!("{name} declares no licence")),
            Some(Err(error)) => found.push(format!("{name} has a licence that cannot be read: {error}")),
            Some(Ok(license)) if !license.evaluate(|term| is_allowed(term, policy)) => {
                found.push(format!("{name} has the licence {license}"));
            }
            Some(Ok(_)) => {}
        }
        match package.source.as_deref() {
            Some(REGISTRY) => {}
            Some(other) => found.push(format!("{name} comes from {other}")),
            None => {
                let any = |dependency: &&Dependency| dependency.req == "*" && dependency.source.is_some();
                let wildcards = package.dependencies.iter().filter(any);
                found.extend(wildcards.map(|one| format!("{name} takes any version of {}", one.name)));
            }
        }
    }
    Ok(found)
}

fn is_there(packages: &[Package], name: &str) -> bool {
    packages.iter().any(|package| package.name == name)
}

/// A licence with an exception allows more than without it.
fn is_allowed(term: &LicenseReq, policy: &Policy) -> bool {
    let id = term.license.id();
    id.is_some_and(|id| policy.licenses.iter().any(|allowed| allowed == id.name))
}

/// The output of `cargo tree` for a selection, one package per line; repeated ones end with ` (*)`.
pub(crate) fn tree(selection: &[&str]) -> Result<String> {
    let mut tree = tools::cargo();
    tree.args(["tree", "--locked", "--prefix", "none"]).args(selection);
    Ok(run::capture(tree.current_dir(tools::workspace()))?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    /// Every package in a selection's build, with its features.
    fn resolved(selection: &[&str]) -> BTreeSet<String> {
        let tree = tree(&[&["--format", "{p} [{f}]"], selection].concat()).unwrap();
        tree.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    }

    /// With different features, nearly all dependencies of this program would be compiled a second time for
    /// whatever it builds.
    #[test]
    fn this_program_has_the_features_of_the_workspace() {
        let own = resolved(&["--edges", "normal,build", "--package", "xtask"]);
        let all = resolved(&[&["--edges", "normal,build,dev"], &tools::WHOLE[..]].concat());
        let missing: Vec<_> = own.difference(&all).collect();
        assert!(
            own.len() > 50 && missing.is_empty(),
            "crates/workspace-hack/Cargo.toml lacks features: {missing:#?}"
        );
    }

    /// A step that selected the workspace without its features would compile all that is above a dependency
    /// with other features, once more.
    #[test]
    fn commands_for_the_whole_workspace_have_its_features() {
        const OTHERS: [(&str, &str); 3] = [
            ("package.rs", "an option of another program"),
            ("test/engines.rs", "the workspace of the engines"),
            ("test/everything.rs", "the lock file of another workspace"),
        ];
        // Not in one piece, for this file.
        let quoted = format!("\"--{}\"", "workspace");
        let root = tools::workspace().join("xtask/src");
        let mut folders = vec![root.clone()];
        let mut found = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if fs::read_to_string(&path).unwrap().contains(&quoted) {
                    found.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        let expected = OTHERS.iter().map(|(file, _)| *file).chain(["tools.rs"]);
        assert_eq!(found, expected.map(str::to_owned).collect(), "`tools::WHOLE` is for this workspace");
    }

    /// The executor takes minutes to compile. Whichever package is built, what it is made from has the same
    /// features.
    #[test]
    fn the_executor_is_the_same_in_a_build_of_one_package() {
        let executor = resolved(&["--edges", "normal,build", "--package", "ferrocm-vgpu-exec"]);
        let name = |line: &str| line.split(" [").next().unwrap_or_default().to_owned();
        let of_executor: BTreeSet<String> = executor.iter().map(|line| name(line)).collect();
        let among = |all: BTreeSet<String>| -> BTreeSet<String> {
            all.into_iter().filter(|line| of_executor.contains(&name(line))).collect()
        };
        let all = among(resolved(&[&["--edges", "normal,build,dev"], &tools::WHOLE[..]].concat()));
        for package in ["ferrocm-vgpu-exec", "ferrocm-vgpu", "ferrocm-hip", "ferrocm-kernels", "ferrocm"] {
            // Build scripts may have others as well.
            let own = among(resolved(&["--edges", "normal,build", "--package", package]));
            let missing: Vec<_> = all.difference(&own).collect();
            assert!(
                missing.is_empty(),
                "{package}: crates/workspace-hack/Cargo.toml lacks features: {missing:#?}"
            );
        }
    }

    fn package(license: Option<&str>, source: Option<&str>) -> Package {
        Package {
            name: "some".to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
            dependencies: vec![
                Dependency {
                    name: "fixed".to_owned(),
                    req: "^1".to_owned(),
                    source: Some(REGISTRY.to_owned()),
                    kind: None,
                },
                Dependency { name: "beside".to_owned(), req: "*".to_owned(), source: None, kind: None },
            ],
        }
    }

    fn policy() -> Policy {
        let banned = BTreeMap::from([("bad".to_owned(), "unmaintained".to_owned())]);
        Policy { licenses: vec!["MIT".to_owned(), "Apache-2.0".to_owned()], banned, ..Policy::default() }
    }

    fn found(package: Package) -> Vec<String> {
        objections(&[package], &policy()).unwrap()
    }

    #[test]
    fn licences_are_expressions() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT AND Apache-2.0) OR ISC",
        ] {
            assert_eq!(found(package(Some(good), Some(REGISTRY))), [""; 0], "{good}");
        }
        for bad in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "LicenseRef-own"] {
            assert_eq!(found(package(Some(bad), Some(REGISTRY))).len(), 1, "{bad}");
        }
        assert_eq!(found(package(None, None)), ["some 1.0.0 declares no licence"]);
        assert!(found(package(Some("nonsense"), None))[0].contains("cannot be read"));
        let policy = Policy { licenses: vec!["MTI".to_owned()], ..Policy::default() };
        assert!(objections(&[], &policy).unwrap_err().to_string().contains("`MTI`"));
    }

    #[test]
    fn a_banned_crate_may_be_below_one_other() {
        let exception = Exception { below: "some".to_owned(), reason: "needed".to_owned() };
        let policy = Policy { exceptions: BTreeMap::from([("bad".to_owned(), exception)]), ..policy() };
        let above = |name: &str, kind: Option<&str>| {
            let mut above = package(Some("MIT"), Some(REGISTRY));
            above.name = name.to_owned();
            (above.dependencies[0].name, above.dependencies[0].kind) =
                ("bad".to_owned(), kind.map(str::to_owned));
            let mut bad = package(Some("MIT"), Some(REGISTRY));
            bad.name = "bad".to_owned();
            objections(&[above, bad], &policy).unwrap()
        };
        assert_eq!(above("some", None), [""; 0]);
        assert_eq!(above("other", None), ["other 1.0.0 depends on bad, which only some may"]);
        assert_eq!(above("other", Some("dev")), [""; 0]);
    }

    #[test]
    fn sources_names_and_versions_are_looked_at() {
        let git = "git+https://example.org/some#0123";
        assert_eq!(found(package(Some("MIT"), Some(git))), [format!("some 1.0.0 comes from {git}")]);
        let mut banned = package(Some("MIT"), Some(REGISTRY));
        banned.name = "bad".to_owned();
        assert_eq!(found(banned), ["bad 1.0.0 is banned: unmaintained"]);
        let mut own = package(Some("MIT"), None);
        assert_eq!(objections(&[own], &policy()).unwrap(), [""; 0]);
        own = package(Some("MIT"), None);
        own.dependencies[0].req = "*".to_owned();
        assert_eq!(found(own), ["some 1.0.0 takes any version of fixed"]);
    }
}
