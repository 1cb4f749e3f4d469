//! Checks the metadata of published packages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use setup::run;

use crate::tools;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    description: Option<String>,
    license: Option<String>,
    repository: Option<String>,
    documentation: Option<String>,
    readme: Option<String>,
    manifest_path: PathBuf,
    /// Empty for a package that is not published.
    publish: Option<Vec<String>>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
    /// Whether a test program is built for it.
    test: bool,
}

/// The packages of the workspace.
fn packages() -> Vec<Package> {
    let mut command = tools::cargo();
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let text = run::capture(command.current_dir(tools::workspace())).expect("the workspace's metadata");
    let metadata: Metadata = serde_json::from_str(&text).expect("cargo's JSON");
    metadata.packages
}

/// The published ones.
fn published() -> Vec<Package> {
    packages().into_iter().filter(|package| package.publish.as_ref() != Some(&Vec::new())).collect()
}

/// Whether a source below the folder has unit tests.
fn has_tests(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).expect("a folder with sources");
    entries.map(|entry| entry.expect("an entry of it").path()).any(|path| {
        if path.is_dir() {
            return has_tests(&path);
        }
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        is_source
            && std::fs::read_to_string(&path).expect("a source").lines().any(|line| line.trim() == "#[test]")
    })
}

#[test]
fn a_test_program_is_linked_for_each_library_that_has_tests_and_for_no_other() {
    let mut libraries = 0;
    for package in packages() {
        let is_library = |target: &&Target| target.kind.iter().any(|kind| kind == "lib" || kind == "rlib");
        for library in package.targets.iter().filter(is_library) {
            let folder = library.src_path.parent().expect("the folder of a source");
            assert_eq!(library.test, has_tests(folder), "`test` below [lib] of {}", package.name);
            libraries += 1;
        }
    }
    assert!(libraries > 30, "{libraries}");
}

#[test]
fn published_packages_lead_to_their_repository_and_documentation() {
    let packages = published();
    assert!(packages.len() > 10);
    let repositories: BTreeSet<_> = packages.iter().map(|package| package.repository.as_deref()).collect();
    assert_eq!(repositories.len(), 1, "one repository: {repositories:?}");
    for Package { name, description, license, repository, documentation, readme, .. } in &packages {
        assert!(description.is_some() && license.is_some() && repository.is_some(), "{name}");
        assert_eq!(documentation.as_deref(), Some(&*format!("https://docs.rs/{name}")), "{name}");
        assert!(readme.is_some(), "{name}");
    }
}

/// Examples are built as by outside users.
#[test]
fn crates_in_folders_of_examples_are_not_part_of_the_workspace() {
    let members: Vec<_> = packages().into_iter().map(|package| package.manifest_path).collect();
    for folder in ["own-crate", "candle", "candle-kernels"] {
        let manifest = tools::workspace().join("examples").join(folder).join("Cargo.toml");
        let mut command = tools::cargo();
        command.args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"]);
        run::capture(command.arg(&manifest)).expect("a workspace of its own");
        assert!(!members.contains(&manifest), "{}", manifest.display());
    }
}

#[test]
fn every_published_package_has_a_short_readme_of_its_own() {
    for Package { name, readme, manifest_path, .. } in published() {
        assert_eq!(readme.as_deref(), Some("README.md"), "{name}: of its own folder");
        let file = manifest_path.with_file_name("README.md");
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(text.starts_with(&format!("# {name}\n")), "{name}: its README begins with its name");
        assert!(text.lines().count() <= 16, "{name}: pages about it belong to docs");
        assert!(text.contains("/docs/"), "{name}: its README leads to a page about it");
    }
}

#[test]
fn the_page_about_packaging_lists_every_package() {
    let page = std::fs::read_to_string(tools::workspace().join("docs/contribute/packaging.md")).unwrap();
    let listed: BTreeSet<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.rsplit('`').nth(1))
        .filter(|name| name.split('-').next() == Some("ferrocm"))
        .map(str::to_owned)
        .collect();
    let published: BTreeSet<_> = published().into_iter().map(|package| package.name).collect();
    assert_eq!(listed, published);
}

#[test]
fn the_pages_of_the_documentation_are_in_the_package() {
    let mut command = tools::cargo();
    command.args(["package", "-p", "ferrocm-hip", "--list", "--allow-dirty", "--offline"]);
    let files = run::capture(command.current_dir(tools::workspace())).expect("the package's files");
    let pages = ["guide", "devices", "faults"].map(|page| format!("docs/{page}.md"));
    for page in std::iter::once("README.md").chain(pages.iter().map(String::as_str)) {
        assert!(files.lines().any(|file| file == page), "{page} is not in {files}");
    }
    let address = published().into_iter().find_map(|package| package.repository).expect("an address");
    let docs = std::fs::read_to_string(tools::workspace().join("crates/hip/src/docs.rs")).unwrap();
    for link in docs.split("https://").skip(1).filter(|link| link.contains("github.com")) {
        assert!(format!("https://{link}").starts_with(&address), "a page is linked elsewhere: {link}");
    }
}
