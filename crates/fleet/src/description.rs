//! `ci/fleet.toml`: the components, their dependencies, and what they are built and tested for.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::read;
use crate::rows::Rows;
use crate::stages::Each;

/// The whole description. Unknown keys are refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Description {
    /// Settings of all components.
    pub fleet: Fleet,
    /// Operating systems. Jobs that run once use the first.
    pub os: Vec<Os>,
    /// Releases of ROCm.
    pub rocm: Vec<Rocm>,
    /// Targets.
    pub target: Vec<Target>,
    /// Pools of machines with GPUs.
    #[serde(default)]
    pub pool: Vec<Pool>,
    /// Components.
    pub component: Vec<Component>,
}

/// Settings of all components.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fleet {
    /// The repository with the templates and the steps, `owner/name`, on all three systems.
    pub repository: String,
    /// Its branch or tag, for stubs.
    pub r#ref: String,
    /// When nightly builds start: five fields as in crontab, in UTC.
    pub nightly: String,
    /// Where `publish` puts archives and `dependencies` looks for them: a folder, or an address that supports
    /// PUT and GET.
    pub store: String,
    /// The time limit of a job in minutes, unless the component sets one.
    pub timeout: u32,
    /// The maximum size in MiB of a failed job's container to keep; 0 keeps none.
    #[serde(default)]
    pub container_limit: u32,
    /// The name of Azure's service connection to the repository with the templates; `None` if both are in one
    /// organisation.
    #[serde(default)]
    pub azure_endpoint: Option<String>,
}

/// How much of the matrix a build runs. Each tier includes the rows of the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Pull requests.
    Quick,
    /// Pushes to the main branch.
    Standard,
    /// Nightly builds and tags.
    Full,
}

impl Tier {
    /// All tiers, in order.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Full];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }

    /// The tier with a name.
    ///
    /// # Errors
    /// There is no such tier; the error lists them.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|tier| tier.name() == name);
        found.ok_or_else(|| Error::unknown("tier", name, Self::ALL.map(Self::name)))
    }
}

/// An operating system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Os {
    /// Its name, such as `debian-13`.
    pub name: String,
    /// Its package manager.
    pub package_manager: PackageManager,
    /// The container image.
    pub image: String,
    /// The lowest tier that builds for it.
    pub tier: Tier,
    /// The machine for the container.
    pub runner: Runner,
}

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackageManager {
    /// Debian, Ubuntu.
    Apt,
    /// Fedora, RHEL and relatives.
    Dnf,
    /// SUSE.
    Zypper,
}

impl PackageManager {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Apt => "apt",
            Self::Dnf => "dnf",
            Self::Zypper => "zypper",
        }
    }
}

/// How each system finds a machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Runner {
    /// Labels.
    pub github: Vec<String>,
    /// A pool's name, or the image of a hosted machine after `vmImage:`.
    pub azure: String,
    /// Tags.
    pub gitlab: Vec<String>,
}

/// A release of ROCm.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rocm {
    /// Its number, such as `7.2`.
    pub release: String,
    /// The lowest tier that builds with it.
    pub tier: Tier,
}

/// A target, and how it is tested.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Target {
    /// Its name, such as `gfx942`.
    pub name: String,
    /// The lowest tier that builds for it.
    pub tier: Tier,
    /// Whether tests run on a virtual GPU of it.
    #[serde(default = "yes")]
    pub vgpu: bool,
    /// Whether tests run on pools of it.
    #[serde(default = "yes")]
    pub gpu: bool,
}

/// Machines with GPUs of one target.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// The target of its GPUs.
    pub target: String,
    /// Numbers of GPUs for the tests; one job for each number.
    pub gpus: Vec<u32>,
    /// The lowest tier that runs on it.
    pub tier: Tier,
    /// Whether jobs are sent there.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How each system finds its machines.
    pub runner: Runner,
}

/// A repository, or a folder of one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Component {
    /// Its name: letters, digits and dashes.
    pub name: String,
    /// How it is built and tested.
    pub kind: Kind,
    /// Its repository, `owner/name`.
    pub repository: String,
    /// The branch for nightly and aggregate builds.
    pub branch: String,
    /// Its folder in the repository.
    #[serde(default = "here")]
    pub folder: String,
    /// Components whose archives it needs.
    #[serde(default)]
    pub depends: Vec<String>,
    /// Targets; empty means all.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Operating systems; empty means all.
    #[serde(default)]
    pub os: Vec<String>,
    /// Files whose changes start a build, as git patterns (`src/**`); empty means all.
    #[serde(default)]
    pub paths: Vec<String>,
    /// How many jobs share the tests of a target.
    #[serde(default = "one")]
    pub shards: u32,
    /// The time limit of a job, in minutes.
    #[serde(default)]
    pub timeout: Option<u32>,
}

/// How a component is built and tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// CUDA sources: hipified, compiled, and tested by programs linked with `libamdhip64`.
    Cuda,
    /// A Rust crate or workspace, tested by cargo-nextest.
    Cargo,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Cargo => "cargo",
        }
    }
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn here() -> String {
    ".".to_owned()
}

impl Description {
    /// Reads and checks a description.
    ///
    /// # Errors
    /// The file cannot be read, or a value is invalid; the error names the key and what is expected.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(&read(path)?).map_err(|reason| Error::Settings { path: path.to_owned(), reason })
    }

    /// Reads and checks the text of a description.
    ///
    /// # Errors
    /// The key, what is wrong with it, and what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let description: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        plain(&toml::from_str(text).map_err(|error| error.to_string())?)?;
        description.check()?;
        Ok(description)
    }

    /// The component with a name.
    ///
    /// # Errors
    /// There is no such component; the error lists them.
    pub fn component(&self, name: &str) -> Result<&Component, Error> {
        let found = self.component.iter().find(|component| component.name == name);
        found.ok_or_else(|| Error::unknown("component", name, self.component.iter().map(|c| c.name.as_str())))
    }

    /// The components that directly need a component's archive.
    pub fn dependents<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Component> {
        self.component.iter().filter(move |component| component.depends.iter().any(|needed| needed == name))
    }

    /// All components, each after its dependencies.
    #[must_use]
    pub fn in_order(&self) -> Vec<&Component> {
        let mut ordered: Vec<&Component> = Vec::new();
        // `check` has refused cycles, so each round places at least one.
        while ordered.len() < self.component.len() {
            let placed: BTreeSet<&str> = ordered.iter().map(|component| component.name.as_str()).collect();
            let next = self.component.iter().find(|component| {
                !placed.contains(component.name.as_str())
                    && component.depends.iter().all(|needed| placed.contains(needed.as_str()))
            });
            match next {
                Some(component) => ordered.push(component),
                None => break,
            }
        }
        ordered
    }

    fn check(&self) -> Result<(), String> {
        slug("fleet.repository", &self.fleet.repository)?;
        cron(&self.fleet.nightly)?;
        if self.fleet.timeout == 0 {
            return Err("fleet.timeout: 0 would stop each job at once; write minutes, such as 60".into());
        }
        if self.fleet.store.is_empty() {
            return Err("fleet.store: it is empty; write a folder, or an https:// address".into());
        }
        let names = |what: &'static str, names: Vec<&str>| -> Result<Vec<String>, String> {
            if names.is_empty() {
                return Err(format!("{what}: there is none; write at least one [[{what}]]"));
            }
            let mut seen = BTreeSet::new();
            for name in &names {
                word(what, name)?;
                if !seen.insert(*name) {
                    return Err(format!("{what}: `{name}` appears twice; give each a different name"));
                }
            }
            Ok(names.into_iter().map(str::to_owned).collect())
        };
        let systems = names("os", self.os.iter().map(|os| os.name.as_str()).collect())?;
        names("rocm", self.rocm.iter().map(|rocm| rocm.release.as_str()).collect())?;
        let targets = names("target", self.target.iter().map(|target| target.name.as_str()).collect())?;
        if !self.pool.is_empty() {
            names("pool", self.pool.iter().map(|pool| pool.name.as_str()).collect())?;
        }
        let components = names("component", self.component.iter().map(|c| c.name.as_str()).collect())?;
        if self.os[0].tier != Tier::Quick || self.rocm[0].tier != Tier::Quick {
            return Err("os, rocm: jobs that run once use the first of each; its tier must be `quick`".into());
        }
        for target in &self.target {
            if !target.name.starts_with("gfx") {
                return Err(format!(
                    "target.name: `{}` is not a target; write one such as `gfx942`",
                    target.name
                ));
            }
        }
        for runner in self.os.iter().map(|os| &os.runner).chain(self.pool.iter().map(|pool| &pool.runner)) {
            if runner.github.is_empty() || runner.azure.is_empty() || runner.gitlab.is_empty() {
                return Err("runner: each system needs a way to find machines: github = […], azure = \"…\", gitlab = […]".into());
            }
        }
        for pool in &self.pool {
            let at = format!("pool `{}`", pool.name);
            one_of(&format!("{at}: target"), &pool.target, &targets)?;
            if pool.gpus.is_empty() || pool.gpus.contains(&0) {
                return Err(format!("{at}: gpus: write how many GPUs a job gets, such as [1] or [1, 8]"));
            }
        }
        for component in &self.component {
            self.check_component(component, &systems, &targets, &components)?;
        }
        let ordered = self.in_order().len();
        if ordered < self.component.len() {
            let placed: BTreeSet<_> = self.in_order().iter().map(|c| c.name.clone()).collect();
            let circle: Vec<_> = components.into_iter().filter(|name| !placed.contains(name)).collect();
            return Err(format!("component.depends: {} depend on each other in a cycle", circle.join(", ")));
        }
        Ok(())
    }

    fn check_component(
        &self,
        component: &Component,
        systems: &[String],
        targets: &[String],
        components: &[String],
    ) -> Result<(), String> {
        let at = format!("component `{}`", component.name);
        slug(&format!("{at}: repository"), &component.repository)?;
        for (key, names, known) in [
            ("targets", &component.targets, targets),
            ("os", &component.os, systems),
            ("depends", &component.depends, components),
        ] {
            for name in names {
                one_of(&format!("{at}: {key}"), name, known)?;
            }
        }
        if !(1..=MOST_SHARDS).contains(&component.shards) {
            return Err(format!("{at}: shards: {} jobs; write 1 to {MOST_SHARDS}", component.shards));
        }
        if component.timeout == Some(0) {
            return Err(format!("{at}: timeout: 0 would stop each job at once; write minutes"));
        }
        let folder = Path::new(&component.folder);
        if folder.is_absolute() || folder.components().any(|part| part == std::path::Component::ParentDir) {
            return Err(format!("{at}: folder: `{}` is outside the repository", component.folder));
        }
        let lowest = |names: &[String], all: Vec<(&str, Tier)>| {
            let chosen =
                all.into_iter().filter(|(name, _)| names.is_empty() || names.iter().any(|n| n == name));
            chosen.map(|(_, tier)| tier).min()
        };
        let of_targets =
            lowest(&component.targets, self.target.iter().map(|t| (t.name.as_str(), t.tier)).collect());
        let of_systems =
            lowest(&component.os, self.os.iter().map(|os| (os.name.as_str(), os.tier)).collect());
        if of_targets.max(of_systems) > Some(Tier::Standard) {
            return Err(format!(
                "{at}: only the tier `full` builds it, so nothing checks pull requests and pushes; give it a target \
                 and an operating system of a lower tier"
            ));
        }
        let rows = Rows::of(self, component);
        for each in [Each::Build, Each::Test, Each::Pool] {
            let mut seen = BTreeSet::new();
            if let Some(row) = rows.each(each).iter().find(|row| !seen.insert(&row.id)) {
                return Err(format!(
                    "{at}: two of its jobs have the name `{}`; rename systems, releases, targets or pools",
                    row.id
                ));
            }
        }
        Ok(())
    }
}

/// GitHub allows at most 256 jobs per matrix, and each shard has a row for each target.
const MOST_SHARDS: u32 = 64;

/// Refuses texts with line breaks and other control characters: each becomes part of a line in some file.
fn plain(value: &toml::Value) -> Result<(), String> {
    match value {
        toml::Value::String(text) if text.contains(char::is_control) => {
            Err(format!("{text:?} has a control character; write text of one line"))
        }
        toml::Value::Array(values) => values.iter().try_for_each(plain),
        toml::Value::Table(table) => table.iter().try_for_each(|(_, value)| plain(value)),
        _ => Ok(()),
    }
}

/// Letters, digits, dots and dashes: the characters allowed in job names on all systems.
fn word(what: &str, name: &str) -> Result<(), String> {
    let good = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
        && name.as_bytes()[0].is_ascii_alphanumeric();
    if good {
        return Ok(());
    }
    Err(format!(
        "{what}: `{name}` is not a valid name; write letters, digits, dots and dashes, such as `debian-13`"
    ))
}

fn slug(key: &str, name: &str) -> Result<(), String> {
    let parts: Vec<&str> = name.split('/').collect();
    let good = |part: &&str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    if parts.len() == 2 && parts.iter().all(good) {
        return Ok(());
    }
    Err(format!("{key}: `{name}` is not a repository; write owner and name, such as `vision/reduce`"))
}

fn cron(text: &str) -> Result<(), String> {
    let good =
        |field: &str| field.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'*' | b'/' | b',' | b'-'));
    let fields: Vec<&str> = text.split(' ').collect();
    if fields.len() == 5 && fields.iter().all(|field| !field.is_empty() && good(field)) {
        return Ok(());
    }
    Err(format!(
        "fleet.nightly: `{text}` is not a time; write the five fields of crontab, such as `17 2 * * *`"
    ))
}

fn one_of(key: &str, name: &str, known: &[String]) -> Result<(), String> {
    if known.iter().any(|other| other == name) {
        return Ok(());
    }
    Err(format!("{key}: there is no `{name}`; there are {}", known.join(", ")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const EXAMPLE: &str = r#"
[fleet]
repository = "platform/ferrocm"
ref = "main"
nightly = "17 2 * * *"
store = "https://artifacts.example/fleet"
timeout = 60

[[os]]
name = "debian-13"
package-manager = "apt"
image = "registry.example/fleet/debian-13:7.2"
tier = "quick"
runner = { github = ["ubuntu-24.04"], azure = "vmImage:ubuntu-24.04", gitlab = ["docker"] }

[[os]]
name = "fedora-43"
package-manager = "dnf"
image = "registry.example/fleet/fedora-43:7.2"
tier = "full"
runner = { github = ["ubuntu-24.04"], azure = "vmImage:ubuntu-24.04", gitlab = ["docker"] }

[[rocm]]
release = "7.2"
tier = "quick"

[[rocm]]
release = "6.4"
tier = "full"

[[target]]
name = "gfx942"
tier = "quick"

[[target]]
name = "gfx1100"
tier = "standard"
gpu = false

[[target]]
name = "gfx1201"
tier = "standard"
vgpu = false

[[pool]]
name = "mi300x"
target = "gfx942"
gpus = [1, 8]
tier = "standard"
runner = { github = ["self-hosted", "mi300x"], azure = "gpu-mi300x", gitlab = ["mi300x"] }

[[pool]]
name = "w7900"
target = "gfx1100"
gpus = [1]
tier = "standard"
runner = { github = ["self-hosted", "w7900"], azure = "gpu-w7900", gitlab = ["w7900"] }

[[component]]
name = "reduce"
kind = "cuda"
repository = "vision/reduce"
branch = "main"
paths = ["src/**", "tests/**"]
shards = 2

[[component]]
name = "engine"
kind = "cargo"
repository = "vision/engine"
branch = "main"
depends = ["reduce"]
os = ["debian-13"]
timeout = 90
"#;

    /// The example with a text replaced by another.
    pub(crate) fn with(from: &str, to: &str) -> Result<Description, String> {
        assert!(EXAMPLE.contains(from), "`{from}` is in the example");
        Description::parse(&EXAMPLE.replacen(from, to, 1))
    }

    #[test]
    fn components_come_behind_what_they_depend_on() {
        let swapped = with("name = \"reduce\"", "name = \"later\"\ndepends = [\"engine\"]")
            .expect_err("`reduce` is gone");
        assert!(
            swapped.contains("component `engine`: depends: there is no `reduce`; there are later, engine"),
            "{swapped}"
        );
        let description = Description::parse(EXAMPLE).expect("the example");
        let names: Vec<_> = description.in_order().into_iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["reduce", "engine"]);
        let dependents: Vec<_> = description.dependents("reduce").map(|c| c.name.as_str()).collect();
        assert_eq!(dependents, ["engine"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_key_and_what_would_be_right() {
        for (from, to, parts) in [
            ("timeout = 60", "timeout = 0", ["fleet.timeout", "minutes"]),
            ("timeout = 60", "timeuot = 60", ["unknown field `timeuot`", "`timeout`"]),
            ("\"17 2 * * *\"", "\"nightly\"", ["fleet.nightly", "17 2 * * *"]),
            ("\"platform/ferrocm\"", "\"ferrocm\"", ["fleet.repository", "owner and name"]),
            ("name = \"gfx942\"", "name = \"mi300\"", ["target.name: `mi300`", "gfx942"]),
            ("target = \"gfx942\"", "target = \"gfx90a\"", ["pool `mi300x`: target", "gfx942, gfx1100"]),
            ("gpus = [1, 8]", "gpus = []", ["pool `mi300x`: gpus", "[1, 8]"]),
            (
                "name = \"fedora-43\"",
                "name = \"debian-13\"",
                ["os: `debian-13` appears twice", "a different name"],
            ),
            ("name = \"fedora-43\"", "name = \"fedora 43\"", ["os: `fedora 43`", "`debian-13`"]),
            ("kind = \"cuda\"", "kind = \"cmake\"", ["unknown variant `cmake`", "`cuda`"]),
            ("shards = 2", "shards = 0", ["component `reduce`: shards", "1 to 64"]),
            ("shards = 2", "shards = 4000000000", ["component `reduce`: shards", "1 to 64"]),
            (
                "gpus = [1, 8]",
                "gpus = [1, 1]",
                ["two of its jobs have the name `mi300x-1-gpu", "rename systems"],
            ),
            ("\"src/**\"", "\"src/**\\n\"", ["control character", "one line"]),
            ("shards = 2", "depends = [\"engine\"]", ["in a cycle", "reduce, engine"]),
            ("os = [\"debian-13\"]", "os = [\"fedora-43\"]", ["component `engine`", "lower tier"]),
            ("shards = 2", "folder = \"../x\"", ["folder: `../x`", "outside"]),
            ("azure = \"gpu-mi300x\"", "azure = \"\"", ["runner", "azure = "]),
            ("tier = \"quick\"", "tier = \"full\"", ["os, rocm", "`quick`"]),
        ] {
            let told = with(from, to).expect_err(to);
            for part in parts {
                assert!(told.contains(part), "{to}: `{part}` is not in: {told}");
            }
        }
    }

    #[test]
    fn tiers_have_names() {
        for tier in Tier::ALL {
            assert_eq!(Tier::parse(tier.name()).expect("a tier"), tier);
        }
        let told = Tier::parse("nightly").expect_err("none").to_string();
        assert_eq!(told, "no tier `nightly`; there are quick, standard, full");
    }
}
