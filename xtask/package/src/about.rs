//! Data shared by all packages of a release.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use setup::run;
use time::OffsetDateTime;
use time::format_description::well_known::{Rfc2822, Rfc3339};

/// The name of the packages.
pub(crate) const NAME: &str = "ferrocm";
/// Their description in one line.
pub(crate) const SYNOPSIS: &str = "ROCm for Rust and HIP programs, with a virtual AMD GPU included";
/// A longer description.
pub(crate) const DESCRIPTION: [&str; 3] = [
    "Runs HIP programs on the AMD GPU of this machine or, without one, on a virtual AMD GPU inside the process, which executes the same \
     machine code on the CPU.",
    "`ferrocm run PROGRAM` does that for a program that was built for ROCm 7; `ferrocm devices` lists the GPUs; `ferrocm setup` installs \
     a device compiler.",
    "The libraries are in a folder of their own and take the place of ROCm's only for programs that are started so.",
];
/// The default maintainer, with an invalid address.
pub(crate) const MAINTAINER: &str = "The ferrocm authors <maintainers@ferrocm.invalid>";
/// The licences, as an SPDX expression.
pub(crate) const LICENSE: &str = "MIT OR Apache-2.0";
/// The files of [`LICENSE`].
pub(crate) const LICENSE_FILES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// A release.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// The version of all packages.
    pub(crate) version: String,
    /// The project's website.
    pub(crate) homepage: String,
    /// Name and address.
    pub(crate) maintainer: String,
    /// The time stamp of everything in the packages.
    pub(crate) seconds: u64,
}

/// The subject of a bill of materials or a signature: a release, or a build of a fleet's component.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    /// Its name.
    pub(crate) name: String,
    /// Its version; for a build, the commit.
    pub(crate) version: String,
    /// A description in one line.
    pub(crate) description: Option<String>,
    /// The licence of the whole, as an SPDX expression.
    pub(crate) license: Option<String>,
    /// Its time.
    pub(crate) seconds: u64,
}

impl Subject {
    /// A build of a component, with the time in `SOURCE_DATE_EPOCH`.
    pub(crate) fn build(name: String, version: String) -> Result<Self> {
        Ok(Self { name, version, description: None, license: None, seconds: seconds()? })
    }

    /// `2026-11-25T12:00:00Z`.
    pub(crate) fn rfc3339(&self) -> Result<String> {
        time(self.seconds)?.format(&Rfc3339).context("the time of the packages")
    }
}

/// Seconds as a calendar date.
fn time(seconds: u64) -> Result<OffsetDateTime> {
    let seconds = i64::try_from(seconds).context("the time of the packages")?;
    OffsetDateTime::from_unix_timestamp(seconds).context("the time of the packages")
}

impl About {
    /// The subject of the bill of materials and the signatures.
    pub(crate) fn subject(&self) -> Subject {
        Subject {
            name: NAME.to_owned(),
            version: self.version.clone(),
            description: Some(SYNOPSIS.to_owned()),
            license: Some(LICENSE.to_owned()),
            seconds: self.seconds,
        }
    }

    /// Reads version and homepage from the workspace, and the time from `SOURCE_DATE_EPOCH`, else from the
    /// last commit.
    pub(crate) fn of_workspace(maintainer: Option<String>) -> Result<Self> {
        let manifest = workspace().join("Cargo.toml");
        let field = |name: &str| {
            let text = std::fs::read_to_string(&manifest)
                .with_context(|| format!("cannot read {}", manifest.display()))?;
            let mut lines = text.lines().skip_while(|line| *line != "[workspace.package]").skip(1);
            let start = format!("{name} = \"");
            let value =
                lines.find_map(|line| line.strip_prefix(&start)?.strip_suffix('"').map(str::to_owned));
            value.with_context(|| format!("{} does not say the workspace's {name}", manifest.display()))
        };
        let maintainer = maintainer.unwrap_or_else(|| MAINTAINER.to_owned());
        if !maintainer.ends_with('>') || !maintainer.contains(" <") || maintainer.contains('\n') {
            bail!("`{maintainer}` is not a maintainer: expected `Name <address>`");
        }
        Ok(Self {
            version: field("version")?,
            homepage: field("repository")?,
            maintainer,
            seconds: seconds()?,
        })
    }

    /// The time as a calendar date.
    pub(crate) fn time(&self) -> Result<OffsetDateTime> {
        time(self.seconds)
    }

    /// `Wed, 25 Nov 2026 12:00:00 +0000`.
    pub(crate) fn rfc2822(&self) -> Result<String> {
        self.time()?.format(&Rfc2822).context("the time of the packages")
    }
}

/// The time of packages, for reproducible builds.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

fn seconds() -> Result<u64> {
    if let Some(given) = std::env::var_os(EPOCH).filter(|value| !value.is_empty()) {
        let text = given.to_string_lossy();
        return text
            .parse()
            .with_context(|| format!("{EPOCH} is `{text}`, which is not a number of seconds"));
    }
    let text = run::capture(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(workspace()))
        .with_context(|| {
            format!("the time of the packages is that of the last commit; without git, set {EPOCH}")
        })?;
    text.trim().parse().context("the time of the last commit")
}

/// The workspace's folder.
pub(crate) fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// The folder that cargo builds into.
pub(crate) fn target_folder() -> PathBuf {
    workspace().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

#[cfg(test)]
pub(crate) fn example() -> About {
    About {
        version: "1.2.3".to_owned(),
        homepage: "https://example.org/ferrocm".to_owned(),
        maintainer: MAINTAINER.to_owned(),
        seconds: 1_764_072_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_says_version_and_address() {
        let about = About::of_workspace(Some("A B <a@example.org>".to_owned())).expect("the workspace");
        let metadata = crate::metadata::Metadata::of_members(workspace()).expect("metadata");
        let version =
            metadata.packages.into_iter().find(|one| one.name == NAME).expect("the program").version;
        assert_eq!(about.version, version);
        assert!(about.homepage.starts_with("https://"));
        for bad in ["", "a@example.org", "A <a@example.org>\nX: y"] {
            assert!(About::of_workspace(Some(bad.to_owned())).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_written_as_their_formats_say() {
        assert_eq!(example().subject().rfc3339().expect("time"), "2025-11-25T12:00:00Z");
        assert_eq!(example().rfc2822().expect("time"), "Tue, 25 Nov 2025 12:00:00 +0000");
    }
}
