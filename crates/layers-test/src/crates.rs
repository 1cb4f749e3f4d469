//! The crates of this workspace and their dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use toml::{Table, Value};

/// The crates by folder, lowest row first. Crates of one row do not depend on each other. All build
/// dependencies of a crate, with any features, are in lower rows. Test dependencies do not count.
pub const CRATES: &[&[&str]] = &[
    // Crates without dependencies here.
    &[
        "code-object",
        "compile-fail-test",
        "cpp-lexer",
        "fleet",
        "float8",
        "hip-derive",
        "kernels-nvidia",
        "layers-test",
        "runs",
        "sys-load",
        "test-skip",
        "timeline-test",
        "variables",
        "vulkan-test",
        "workspace-hack",
    ],
    &["cuda-sys", "device-compiler", "drop-in", "gpu-report", "hip-sys", "hsa-sys", "timeline"],
    &[
        "hip-on-cuda",
        "hiprtc-on-clang",
        "hiprtc-on-nvrtc",
        "hsa",
        "rccl-sys",
        "rocblas-sys",
        "test-support",
        "vgpu-isa",
    ],
    &["hal", "rccl-on-hip", "rccl-on-nccl", "rocblas-on-cublas", "vgpu-exec"],
    &["vgpu-jit"],
    &["hip-on-hsa", "vgpu"],
    // The API for programs, and the shared libraries that replace AMD's.
    &["hip", "libamdhip64", "libhiprtc", "libhsa-runtime64", "librccl", "librocm-smi"],
    &["hip-host", "packaged-tests", "rccl"],
    // Build tools: nothing that programs call needs them.
    &["hipify", "setup"],
    &["fleet-images", "kernel-build", "shared-commands"],
    &[
        "blas-on-kernels",
        "cuda-trees-test",
        "cudaforge-on-kernel-build",
        "hal-library",
        "host-code-test",
        "kernels",
    ],
    &["bindgen-cuda-on-kernel-build", "librocblas", "rocblas"],
    &["backend", "cudarc-on-hip", "measure"],
    &["llm"],
    &["llm-server"],
    &["ferrocm"],
    &[
        "benches/build",
        "benches/hal",
        "benches/hip",
        "benches/hipify",
        "benches/kernels",
        "benches/sys-call",
        "benches/vgpu",
        "examples",
        "hipcc-test",
        "xtask/bindgen",
    ],
    &["xtask"],
];

/// The dependencies of a workspace's crates, by folder, without the prefix `crates/`.
#[derive(Debug, Default)]
pub struct Manifests {
    /// Each dependency with whether it is optional.
    dependencies: BTreeMap<String, BTreeMap<String, bool>>,
}

impl Manifests {
    /// Reads the manifests of the workspace in a folder.
    ///
    /// # Panics
    /// If one cannot be read.
    #[must_use]
    pub fn of_workspace(root: &Path) -> Self {
        let workspace = manifest(root);
        let workspace = workspace["workspace"].as_table().expect("a workspace");
        let mut found = Self::default();
        for member in workspace["members"].as_array().expect("members").iter().filter_map(Value::as_str) {
            let folders = match member.strip_suffix("/*") {
                Some(above) => folders(&root.join(above)),
                // `example[s]` is a pattern for one folder.
                None => vec![root.join(member.replace(['[', ']'], ""))],
            };
            for folder in folders {
                let manifest = manifest(&folder);
                let name = name(root, &folder);
                let own = found.dependencies.entry(name).or_default();
                for (key, dependency) in dependencies(&manifest) {
                    let is_optional = dependency.get("optional").and_then(Value::as_bool) == Some(true);
                    let (path, from) = match dependency.get("path").and_then(Value::as_str) {
                        Some(path) => (Some(path), folder.as_path()),
                        None => (
                            workspace["dependencies"]
                                .get(key)
                                .and_then(|of_all| of_all.get("path")?.as_str()),
                            root,
                        ),
                    };
                    if let Some(path) = path {
                        *own.entry(self::name(root, &from.join(path))).or_insert(true) &= is_optional;
                    }
                }
            }
        }
        found
    }

    /// All transitive dependencies of a crate, `with_optional` with every feature, else with none.
    #[must_use]
    pub fn all_of<'a>(&'a self, name: &'a str, with_optional: bool) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut open = vec![name];
        while let Some((_, own)) = open.pop().and_then(|name| self.dependencies.get_key_value(name)) {
            let needed = own.iter().filter(|(_, is_optional)| with_optional || !**is_optional);
            open.extend(needed.map(|(name, _)| name.as_str()).filter(|name| found.insert(*name)));
        }
        found
    }

    /// The violations of a table, one per line.
    #[must_use]
    pub fn wrong(&self, table: &[&[&str]]) -> Vec<String> {
        let row = |name: &str| table.iter().position(|row| row.contains(&name));
        let mut wrong = Vec::new();
        let known = table.iter().copied().flatten().filter(|name| !self.dependencies.contains_key(**name));
        wrong.extend(known.map(|name| format!("{name} is in the table but not a member of the workspace")));
        for (name, dependencies) in &self.dependencies {
            let Some(own) = row(name) else {
                wrong.push(format!("{name} is in no row"));
                continue;
            };
            let higher = dependencies.keys().filter(|other| row(other).is_none_or(|row| row >= own));
            wrong.extend(
                higher.map(|other| format!("{name} depends on {other}, which is in no row below it")),
            );
        }
        wrong
    }
}

fn manifest(folder: &Path) -> Table {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn folders(above: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(above).unwrap_or_else(|error| panic!("{}: {error}", above.display()));
    entries
        .map(|entry| entry.expect("a folder").path())
        .filter(|path| path.join("Cargo.toml").is_file())
        .collect()
}

/// The folder relative to the root, without dots and without `crates`.
fn name(root: &Path, folder: &Path) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.strip_prefix(root).unwrap_or(folder).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.to_str().expect("a name of UTF-8")),
            _ => {}
        }
    }
    let name = parts.join("/");
    name.strip_prefix("crates/").unwrap_or(&name).to_owned()
}

/// A package's build dependencies, on any target.
fn dependencies(manifest: &Table) -> Vec<(&String, &Value)> {
    const KINDS: [&str; 2] = ["dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|all| all.values());
    let places = targets.filter_map(Value::as_table).chain([manifest]);
    let tables = places.flat_map(|place| KINDS.iter().filter_map(|kind| place.get(*kind)?.as_table()));
    tables.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Manifests {
        Manifests::of_workspace(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))
    }

    #[test]
    fn no_crate_depends_on_a_higher_one() {
        let wrong = workspace().wrong(CRATES);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// The architecture page describes every folder of the workspace and nothing else.
    #[test]
    fn the_architecture_lists_every_crate_and_folder() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let page = fs::read_to_string(root.join("docs/internals/architecture.md")).unwrap();
        let first_cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let named = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let named: BTreeSet<&str> = named.map(|name| name.trim_end_matches('/')).collect();
        let crates = CRATES
            .concat()
            .into_iter()
            .filter(|name| !name.contains('/') && root.join("crates").join(name).exists());
        let mut missing: Vec<String> = crates.map(|name| format!("crates/{name}")).collect();
        let in_root = fs::read_dir(root).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir());
        let in_root = in_root.map(|entry| entry.file_name().into_string().unwrap());
        missing.extend(in_root.filter(|name| !name.starts_with('.') && name != "target" && name != "crates"));
        missing.retain(|name| !named.contains(name.as_str()));
        assert!(missing.is_empty(), "docs/internals/architecture.md has no row for {missing:?}");
        let gone: Vec<_> = named.iter().filter(|name| !root.join(name).exists()).collect();
        assert!(gone.is_empty(), "docs/internals/architecture.md has rows for {gone:?}");
    }

    #[test]
    fn programs_that_run_have_no_build_tool_in_them() {
        let workspace = workspace();
        for name in ["hip", "rccl", "hip-on-hsa", "vgpu", "hiprtc-on-clang"] {
            let all = workspace.all_of(name, true);
            assert!(
                ["kernel-build", "hipify", "setup"].iter().all(|tool| !all.contains(tool)),
                "{name}: {all:?}"
            );
        }
        let bare = workspace.all_of("hip", false);
        assert!(bare.contains("hip-sys"));
        for optional in ["hiprtc-on-clang", "device-compiler", "cpp-lexer", "hip-on-hsa", "vgpu"] {
            assert!(!bare.contains(optional), "{bare:?}");
        }
        assert!(workspace.all_of("hip", true).contains("device-compiler"));
    }

    #[test]
    fn wrong_directions_and_forgotten_crates_are_named() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name).join("Cargo.toml");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "",
            "[workspace]\nmembers = [\"crates/*\", \"tool\"]\n[workspace.dependencies]\nlow = { path = \"crates/low\" }\n",
        );
        write(
            "crates/low",
            "[build-dependencies]\nhigh = { path = \"../high\", optional = true }\nserde = \"1\"\n",
        );
        write(
            "crates/high",
            "[target.'cfg(unix)'.dependencies]\nlow.workspace = true\n[dev-dependencies]\ntool = { path = \"../../tool\" }\n",
        );
        write("tool", "[dependencies]\nhigh = { path = \"../crates/high\" }\n");
        let found = Manifests::of_workspace(root.path());
        assert_eq!(
            found.wrong(&[&["low"], &["high"], &["tool"]]),
            ["low depends on high, which is in no row below it"]
        );
        assert_eq!(
            found.wrong(&[&["high", "low", "gone"]]),
            [
                "gone is in the table but not a member of the workspace",
                "high depends on low, which is in no row below it",
                "low depends on high, which is in no row below it",
                "tool is in no row"
            ]
        );
        assert_eq!(found.all_of("low", false).len(), 0);
        assert_eq!(found.all_of("low", true), BTreeSet::from(["high", "low"]));
    }
}
