//! Replaces the crates through which a Rust program uses CUDA by this project's.
//!
//! The stand-ins have the names, versions and APIs of the originals, so Cargo's `[patch]` suffices.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use serde::Deserialize;
use setup::run;
use toml_edit::{DocumentMut, InlineTable, Item, Table};

/// The stand-in crates: the name, shared with the original, and the folder below the workspace.
const STAND_INS: [(&str, &str); 3] = [
    ("cudarc", "crates/cudarc-on-hip"),
    ("cudaforge", "crates/cudaforge-on-kernel-build"),
    ("bindgen_cuda", "crates/bindgen-cuda-on-kernel-build"),
];
/// The table of the manifest.
const PATCH: [&str; 2] = ["patch", "crates-io"];
const MANIFEST: &str = "Cargo.toml";
const LOCK: &str = "Cargo.lock";

/// The program to change.
#[derive(Debug, Args)]
pub struct Options {
    /// A package or workspace
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Remove the lines again
    #[arg(long)]
    remove: bool,
}

/// What `cargo metadata` says of a program.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    /// `None` for a folder.
    source: Option<String>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    req: String,
}

/// Which package uses which.
#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    #[serde(default)]
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
}

/// The cargo that runs this program, or the one in `PATH`.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Replaces the program's crates by those of the workspace `stand_ins`, a checkout of this project, or leaves
/// everything unchanged. Returns lines to print.
///
/// # Errors
/// The program depends on none of them or on other versions, a file cannot be accessed, or Cargo fails. All
/// files are then unchanged.
pub fn patch(options: &Options, stand_ins: &Path) -> Result<Vec<String>> {
    let root = root(&options.folder)?;
    let before = Before::of(&root)?;
    patched(options, &root, stand_ins).map_err(|error| anyhow!("{error:#}\n{}", before.restore()))
}

/// The original manifest and lock file of a program. Cargo writes a lock file even if it is only queried.
#[derive(Debug)]
struct Before {
    /// None if there was no such file.
    files: [(PathBuf, Option<Vec<u8>>); 2],
}

impl Before {
    fn of(root: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = root.join(name);
            match fs::read(&path) {
                Ok(bytes) => Ok((path, Some(bytes))),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok((path, None)),
                Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
            }
        };
        Ok(Self { files: [read(MANIFEST)?, read(LOCK)?] })
    }

    /// Restores both files and says so.
    fn restore(&self) -> String {
        let mut failures = Vec::new();
        for (path, before) in &self.files {
            let now = fs::read(path).ok();
            let result = match before {
                _ if now == *before => Ok(()),
                Some(bytes) => fs::write(path, bytes),
                None => fs::remove_file(path),
            };
            if let Err(error) = result {
                failures.push(format!("{} could not be made as it was: {error}", path.display()));
            }
        }
        match failures.is_empty() {
            true => format!("nothing is changed: {MANIFEST} and {LOCK} are as they were"),
            false => failures.join("\n"),
        }
    }
}

/// The folder of a package's workspace. Unlike `cargo metadata`, this writes no lock file.
fn root(folder: &Path) -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["locate-project", "--workspace", "--message-format", "plain"]).current_dir(folder);
    let manifest = PathBuf::from(run::capture(&mut command)?.trim_end_matches('\n'));
    manifest.parent().map(Path::to_owned).with_context(|| format!("{} is in no folder", manifest.display()))
}

/// Changes the manifest and the lock file of the program in `root`.
fn patched(options: &Options, root: &Path, stand_ins: &Path) -> Result<Vec<String>> {
    let manifest = root.join(MANIFEST);
    let text = fs::read_to_string(&manifest).with_context(|| format!("read {}", manifest.display()))?;
    let write =
        |new: &str| fs::write(&manifest, new).with_context(|| format!("write {}", manifest.display()));
    if options.remove {
        let new = without(&text)?;
        if new == text {
            return Ok(vec![format!("{} stays as it is", manifest.display())]);
        }
        write(&new)?;
        return Ok(vec![format!("{}: the lines are removed", manifest.display())]);
    }
    let names = named(&metadata(root)?);
    if names.is_empty() {
        bail!(
            "nothing in {} depends on {}, with whatever features",
            root.display(),
            STAND_INS.map(|(name, _)| name).join(", ")
        );
    }
    let new = with(&text, &names, stand_ins)?;
    if new != text {
        write(&new)?;
    }
    update(root, &names, stand_ins)?;
    let now = metadata(root)?;
    let mut lines = Vec::new();
    let mut not_used = Vec::new();
    for name in &names {
        let version = version(name, stand_ins)?;
        let others = elsewhere(&now, name);
        let told = others.iter().map(|other| match api(&other.version) == api(&version) {
            true => format!("{other}, and Cargo does not take the version here, {version}, for it"),
            false => format!("{other}, and the version here is {version}"),
        });
        match now.packages.iter().any(|package| package.name == *name && package.source.is_none()) {
            false => not_used.extend(told),
            true => {
                lines.push(format!(
                    "{}: {name} {version} is now that of {}",
                    manifest.display(),
                    stand_ins.display()
                ));
                for (other, told) in others.iter().zip(told) {
                    let is_compiled = match is_compiled(root, other)? {
                        true => "a build that compiles it, such as one with all features, calls CUDA there",
                        false => "no feature of this program compiles it",
                    };
                    lines.push(format!("note: {told}: it stays as it is; {is_compiled}"));
                }
            }
        }
    }
    if !not_used.is_empty() {
        bail!("{}", not_used.join("\n"));
    }
    lines.push(
        "FERROCM_DEVICE says which GPU the program runs on, FERROCM_TARGETS for which its kernels are compiled: docs/use/engines.md"
            .to_owned(),
    );
    Ok(lines)
}

fn metadata(folder: &Path) -> Result<Metadata> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--quiet", "--all-features"]).current_dir(folder);
    serde_json::from_str(&run::capture(&mut command)?).context("read what `cargo metadata` says")
}

/// The crates of the program that have stand-ins.
fn named(metadata: &Metadata) -> BTreeSet<&'static str> {
    let is_there = |name: &&str| metadata.packages.iter().any(|package| package.name == *name);
    STAND_INS.map(|(name, _)| name).into_iter().filter(is_there).collect()
}

/// Makes the lock file use the stand-ins: a patch does not apply if the file has another version of the same
/// API. Versions of other APIs stay.
fn update(root: &Path, names: &BTreeSet<&str>, stand_ins: &Path) -> Result<()> {
    let lock = root.join(LOCK);
    let text = fs::read_to_string(&lock).with_context(|| format!("read {}", lock.display()))?;
    let document: DocumentMut = text.parse().with_context(|| format!("read {}", lock.display()))?;
    let packages = document.get("package").and_then(Item::as_array_of_tables);
    for package in packages.into_iter().flatten() {
        let field = |name: &str| package.get(name).and_then(Item::as_str);
        let (Some(name), Some(locked), Some(_)) = (field("name"), field("version"), field("source")) else {
            continue;
        };
        if names.contains(name) && api(locked) == api(&version(name, stand_ins)?) {
            let mut update = cargo();
            update.args(["update", "--quiet", "--package", &format!("{name}@{locked}")]).current_dir(root);
            run::capture(&mut update)?;
        }
    }
    Ok(())
}

/// The part of a version that identifies its API to Cargo: the numbers up to the first that is not 0.
fn api(version: &str) -> &str {
    let end = version.find(|digit| !['0', '.'].contains(&digit)).unwrap_or(0);
    let rest = &version[end..];
    &version[..end + rest.find(['.', '-', '+']).unwrap_or(rest.len())]
}

/// The version of a stand-in.
fn version(name: &str, stand_ins: &Path) -> Result<String> {
    let folder = STAND_INS.iter().find(|(stand_in, _)| *stand_in == name).map(|(_, folder)| *folder);
    let manifest =
        stand_ins.join(folder.with_context(|| format!("there is no stand-in for {name}"))?).join(MANIFEST);
    let text = fs::read_to_string(&manifest).with_context(|| format!("read {}", manifest.display()))?;
    let document: DocumentMut = text.parse().with_context(|| format!("read {}", manifest.display()))?;
    let version = document.get("package").and_then(|package| package.get("version")).and_then(Item::as_str);
    version.map(str::to_owned).with_context(|| format!("{} has no version", manifest.display()))
}

/// A version of a crate from outside this workspace.
#[derive(Debug, PartialEq, Eq)]
struct Other {
    name: String,
    version: String,
    /// The packages that use it, with their requirements.
    users: Vec<String>,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} is what {} asks for", self.name, self.version, self.users.join(", "))
    }
}

/// The versions of a crate that still come from outside.
fn elsewhere(metadata: &Metadata, name: &str) -> Vec<Other> {
    let others = metadata.packages.iter().filter(|package| package.name == name && package.source.is_some());
    let other = |package: &Package| {
        let mut users = Vec::new();
        for user in &metadata.packages {
            let mut nodes = metadata.resolve.nodes.iter().filter(|node| node.id == user.id);
            if !nodes.any(|node| node.deps.iter().any(|edge| edge.pkg == package.id)) {
                continue;
            }
            let asked = user.dependencies.iter().filter(|dependency| dependency.name == name);
            users.extend(
                asked.map(|dependency| format!("{} {} ({})", user.name, user.version, dependency.req)),
            );
        }
        // The same requirement may appear for several platforms.
        users.dedup();
        Other { name: package.name.clone(), version: package.version.clone(), users }
    };
    others.map(other).collect()
}

/// Whether a build of the program with all features compiles a version. The lock file also lists crates that
/// no feature enables, such as the optional dependencies named with a question mark.
fn is_compiled(root: &Path, other: &Other) -> Result<bool> {
    let mut tree = cargo();
    tree.args(["tree", "--quiet", "--workspace", "--all-features", "--depth", "0", "--invert"]);
    tree.arg(format!("{}@{}", other.name, other.version)).current_dir(root);
    Ok(!run::capture(&mut tree)?.trim().is_empty())
}

/// The text of a manifest with a line for each of these crates of a workspace.
///
/// # Errors
/// The manifest cannot be read, or it already patches one of them differently.
pub fn with(text: &str, names: &BTreeSet<&str>, workspace: &Path) -> Result<String> {
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

/// The manifest without these lines.
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
        format!("`{patch}.{registry}` is not a table of the manifest; write it as [{patch}.{registry}]")
    })
}

/// The folder of a dependency.
fn path_of(item: &Item) -> Option<&str> {
    item.as_table_like()?.get("path")?.as_str()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const MANIFEST_TEXT: &str =
        "# An engine.\n[package]\nname = \"engine\" # its name\n\n[dependencies]\ncudarc = \"0.19\"\n";

    /// This project's.
    fn workspace() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn both() -> BTreeSet<&'static str> {
        ["cudarc", "cudaforge"].into()
    }

    #[test]
    fn the_stand_ins_are_there_under_these_names() {
        for (name, folder) in STAND_INS {
            let manifest = workspace().join(folder).join(MANIFEST);
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
            r#"{"packages": [
                {"id": "e", "name": "engine", "version": "1.0.0", "source": null,
                 "dependencies": [{"name": "cudarc", "req": "^0.19"}]},
                {"id": "u", "name": "ug", "version": "0.5.0", "source": null,
                 "dependencies": [{"name": "cudarc", "req": "^0.17"}, {"name": "cudarc", "req": "^0.17"}]},
                {"id": "c17", "name": "cudarc", "version": "0.17.8", "source": "registry+index", "dependencies": []},
                {"id": "c19", "name": "cudarc", "version": "0.19.10", "source": null, "dependencies": []},
                {"id": "f", "name": "cudaforge", "version": "0.1.6", "source": null}
            ], "resolve": {"nodes": [
                {"id": "e", "deps": [{"pkg": "c19"}, {"pkg": "u"}]}, {"id": "u", "deps": [{"pkg": "c17"}]}
            ]}}"#,
        );
        assert_eq!(named(&metadata), both());
        let others = elsewhere(&metadata, "cudarc");
        let told: Vec<String> = others.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["cudarc 0.17.8 is what ug 0.5.0 (^0.17) asks for"]);
        assert_eq!(elsewhere(&metadata, "cudaforge"), []);
    }

    #[test]
    fn an_api_is_what_cargo_takes_for_one() {
        let apis = ["1.2.3", "0.19.10", "0.0.3", "0.19.0-rc.1", "12.0.0+build", "0.0.0"].map(api);
        assert_eq!(apis, ["1", "0.19", "0.0.3", "0.19", "12", "0"]);
    }

    /// A program with a registry of its own, and a workspace with stand-ins, in a temporary folder.
    struct Trees {
        folder: TempDir,
    }

    impl Trees {
        /// `packages` are those of the registry: name, version, and lines of `[dependencies]` or
        /// `[features]`. The program has the lines `program` after its name.
        fn new(packages: &[(&str, &str, &str)], program: &str) -> Self {
            let trees = Self { folder: tempfile::tempdir().unwrap() };
            for (name, version, lines) in packages {
                let folder = format!("registry/{name}-{version}");
                trees.package(&folder, name, version, lines);
                trees.write(&format!("{folder}/.cargo-checksum.json"), r#"{"files":{},"package":null}"#);
            }
            for (name, folder) in STAND_INS {
                trees.package(&format!("workspace/{folder}"), name, &stand_in(name), "[workspace]\n");
            }
            trees.package("program", "program", "1.0.0", program);
            let source =
                "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\ndirectory = \"registry\"\n";
            trees.write(".cargo/config.toml", source);
            trees
        }

        fn package(&self, folder: &str, name: &str, version: &str, lines: &str) {
            let head = format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n");
            self.write(&format!("{folder}/{MANIFEST}"), &format!("{head}{lines}"));
            self.write(&format!("{folder}/src/lib.rs"), "");
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn program(&self) -> PathBuf {
            self.folder.path().join("program")
        }

        /// What the program has of both files.
        fn files(&self) -> [Option<Vec<u8>>; 2] {
            [MANIFEST, LOCK].map(|name| fs::read(self.program().join(name)).ok())
        }

        /// The printed lines, or the error.
        fn patch(&self) -> Result<String, String> {
            let options = Options { folder: self.program(), remove: false };
            let stand_ins = self.folder.path().join("workspace");
            patch(&options, &stand_ins).map(|lines| lines.join("\n")).map_err(|error| format!("{error:#}"))
        }

        fn lock(&self) {
            let mut command = cargo();
            run::capture(command.arg("generate-lockfile").current_dir(self.program())).unwrap();
        }

        /// The versions of cudarc in the lock file, and whether they come from the registry.
        fn locked(&self) -> Vec<(String, bool)> {
            let text = fs::read_to_string(self.program().join(LOCK)).unwrap();
            let document: DocumentMut = text.parse().unwrap();
            let packages = document["package"].as_array_of_tables().unwrap();
            let cudarc = packages.iter().filter(|package| package["name"].as_str() == Some("cudarc"));
            let entry = |package: &Table| {
                (package["version"].as_str().unwrap().to_owned(), package.contains_key("source"))
            };
            cudarc.map(entry).collect()
        }
    }

    fn stand_in(name: &str) -> String {
        version(name, &workspace()).unwrap()
    }

    /// As candle has it: a version of its own, and another one that a dependency of it may use.
    const CANDLE: &str = "[dependencies]\ncudarc = \"0.19\"\nug = { version = \"0.5\", optional = true }\n\
                          [features]\ncuda = [\"ug?/cuda\"]\nug = [\"dep:ug\"]\n";
    const UG: &str = "[dependencies]\ncudarc = { version = \"0.17\", optional = true }\n[features]\ncuda = [\"dep:cudarc\"]\n";
    const ENGINE: [(&str, &str, &str); 5] = [
        ("cudarc", "0.17.8", ""),
        ("cudarc", "0.19.4", ""),
        ("cudarc", "0.19.5", ""),
        ("candle", "0.10.0", CANDLE),
        ("ug", "0.5.0", UG),
    ];
    const PROGRAM: &str =
        "[workspace]\n[dependencies]\ncandle = { version = \"0.10\", features = [\"cuda\"] }\n";

    #[test]
    fn of_two_locked_versions_the_one_with_the_same_api_is_replaced() {
        let trees = Trees::new(&ENGINE, PROGRAM);
        trees.lock();
        let from_registry = |version: &str| (version.to_owned(), true);
        assert_eq!(trees.locked(), [from_registry("0.17.8"), from_registry("0.19.5")]);
        let told = trees.patch().unwrap();
        let ours = (stand_in("cudarc"), false);
        assert_eq!(trees.locked(), [from_registry("0.17.8"), ours.clone()], "{told}");
        let note = "note: cudarc 0.17.8 is what ug 0.5.0 (^0.17) asks for, and the version here is";
        assert!(told.contains(note) && told.contains("no feature of this program compiles it"), "{told}");
        // A second time: nothing changes, and the output is the same.
        let files = trees.files();
        assert_eq!(trees.patch(), Ok(told));
        assert_eq!(trees.files(), files);
        // A feature that compiles the other version, too.
        let both = PROGRAM.replace("\"cuda\"", "\"cuda\", \"ug\"");
        let trees = Trees::new(&ENGINE, &both);
        let told = trees.patch().unwrap();
        assert_eq!(trees.locked(), [from_registry("0.17.8"), ours]);
        assert!(told.contains("a build that compiles it"), "{told}");
    }

    #[test]
    fn what_fails_leaves_manifest_and_lock_file_byte_for_byte() {
        let old = [("cudarc", "0.17.8", "")];
        let asks = |version: &str| format!("[workspace]\n[dependencies]\ncudarc = \"{version}\"\n");
        let none = "[workspace]\n".to_owned();
        let own = format!("{}[patch.crates-io]\ncudarc = {{ path = \"../mine\" }}\n", asks("0.17"));
        let broken = "[workspace]\n[dependencies\n".to_owned();
        let cases = [
            (asks("0.17"), "cudarc 0.17.8 is what program 1.0.0 (^0.17) asks for"),
            (asks("0.18"), "failed to select a version"),
            (none, "depends on cudarc, cudaforge, bindgen_cuda"),
            (own, "a patch of `cudarc` already"),
            (broken, "unclosed"),
        ];
        for (program, expected) in cases {
            for has_lock in [false, true] {
                let trees = Trees::new(&old, &program);
                trees.package("mine", "cudarc", "0.17.9", "[workspace]\n");
                if has_lock {
                    // Not in Cargo's own format.
                    trees.write(
                        "program/Cargo.lock",
                        "# By hand.\nversion = 3\n\n[[package]]\nname = \"program\"\nversion = \"0.9.0\"\n",
                    );
                }
                let before = trees.files();
                let error = trees.patch().unwrap_err();
                assert!(error.contains(expected), "{error}");
                assert_eq!(trees.files(), before, "{program}{error}");
            }
        }
    }

    #[test]
    fn stand_ins_that_cargo_cannot_use_leave_the_program_as_it_was() {
        for (dependency, expected) in [
            (
                "no-such-crate = \"1\"",
                "cudarc 0.19.5 is what candle 0.10.0 (^0.19) asks for, and Cargo does not take",
            ),
            ("missing = { path = \"/no/such/folder\" }", "/no/such/folder"),
        ] {
            let trees = Trees::new(&ENGINE, PROGRAM);
            trees.lock();
            let lines = format!("[workspace]\n[dependencies]\n{dependency}\n");
            trees.package("workspace/crates/cudarc-on-hip", "cudarc", &stand_in("cudarc"), &lines);
            let before = trees.files();
            let error = trees.patch().unwrap_err();
            assert!(error.contains(expected) && error.contains("are as they were"), "{error}");
            assert_eq!(trees.files(), before);
        }
    }
}
