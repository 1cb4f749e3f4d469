//! Apt with a private state. Indexes, downloads and settings live in one temporary folder. The machine's apt
//! configuration, lists, caches and package database are neither read for resolving nor written. Only the
//! machine's transport settings (proxies and the like) still apply.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::index::{self, Candidate, PackageFile};
use super::sources::{ARCHIVE_KEYRING, Mirror, Mirrors, SignedBy};
use super::{Error, io_error};
use crate::run;

/// Name prefix of temporary apt states; nothing else is ever removed from the temporary folder.
pub const STATE_PREFIX: &str = "ferrocm-apt-";

/// A temporary folder for apt states that apt's unprivileged download user can access.
pub fn temporary_folder() -> Result<tempfile::TempDir, Error> {
    let base = std::env::temp_dir();
    tempfile::Builder::new()
        .prefix(STATE_PREFIX)
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir_in(&base)
        .map_err(io_error("create a folder in", &base))
}

/// One private apt state over a fixed set of sources.
#[derive(Debug)]
pub struct PrivateApt {
    root: PathBuf,
    config: PathBuf,
}

/// The text of a deb822 stanza for one mirror.
pub fn stanza(mirror: &Mirror, suites: &[&str], check_valid_until: Option<bool>) -> String {
    let mut text =
        format!("Types: deb\nURIs: {}\nSuites: {}\nComponents: main\n", mirror.uri, suites.join(" "));
    // Only package lists: plug-ins of the machine's apt may ask for icons, file lists and translations.
    text.push_str("Targets: Packages\n");
    if let Some(check) = check_valid_until {
        text.push_str(if check { "Check-Valid-Until: yes\n" } else { "Check-Valid-Until: no\n" });
    }
    match &mirror.signed_by {
        Some(SignedBy::Named(names)) => text.push_str(&format!("Signed-By: {names}\n")),
        Some(SignedBy::Inline(lines)) => {
            text.push_str("Signed-By:\n");
            text.extend(lines.iter().map(|line| format!(" {line}\n")));
        }
        // Without the field apt would accept every key that the machine trusts.
        None if Path::new(ARCHIVE_KEYRING).exists() => {
            text.push_str(&format!("Signed-By: {ARCHIVE_KEYRING}\n"))
        }
        None => {}
    }
    text.push('\n');
    text
}

/// The stanzas of the machine's own suites: of the main archive and of the security one.
pub fn own_stanzas(mirrors: &Mirrors) -> String {
    [&mirrors.main, &mirrors.security]
        .map(|mirror| {
            let suites: Vec<&str> = mirror.suites.iter().map(String::as_str).collect();
            stanza(mirror, &suites, mirror.check_valid_until)
        })
        .concat()
}

/// The configuration that replaces the machine's state. It is read after the machine's own and overrides it.
fn configuration(root: &Path, sandbox_user: Option<&str>) -> String {
    let root = root.display();
    let mut text = format!(
        "\
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Default-Release;
#clear DPkg;
APT::Architecture \"amd64\";
APT::Architectures {{ \"amd64\"; }};
APT::Update::Error-Mode \"any\";
APT::Install-Recommends \"false\";
APT::Install-Suggests \"false\";
APT::Get::AllowUnauthenticated \"false\";
Acquire::AllowInsecureRepositories \"false\";
Acquire::AllowWeakRepositories \"false\";
Acquire::AllowDowngradeToInsecureRepositories \"false\";
Acquire::ForceHash \"sha256\";
Acquire::Languages \"none\";
Acquire::Retries \"3\";
Dir::State \"{root}\";
Dir::State::lists \"{root}/lists/\";
Dir::State::status \"{root}/dpkg/status\";
Dir::State::extended_states \"{root}/extended_states\";
Dir::Cache \"{root}/cache\";
Dir::Log \"{root}/log\";
Dir::Etc::sourcelist \"{root}/sources.sources\";
Dir::Etc::sourceparts \"/dev/null\";
Dir::Etc::preferences \"/dev/null\";
Dir::Etc::preferencesparts \"/dev/null\";
"
    );
    if let Some(user) = sandbox_user {
        text.push_str(&format!("APT::Sandbox::User \"{user}\";\n"));
    }
    text
}

impl PrivateApt {
    /// Creates the state in `root`, a folder that does not exist yet, with the given deb822 sources.
    pub fn create(root: PathBuf, sources: &str) -> Result<Self, Error> {
        let make = |folder: &str| {
            let path = root.join(folder);
            fs::create_dir_all(&path).map_err(io_error("create", &path)).map(|()| path)
        };
        let mut handed_over = true;
        for folder in ["lists/partial", "cache/archives/partial", "debs"] {
            handed_over &= hand_to_apt_user(&make(folder)?);
        }
        for folder in ["dpkg", "log"] {
            make(folder)?;
        }
        let write = |file: &str, text: &str| {
            let path = root.join(file);
            fs::write(&path, text).map_err(io_error("write", &path)).map(|()| path)
        };
        // No package counts as installed, so every machine fetches the same set.
        write("dpkg/status", "")?;
        write("sources.sources", sources)?;
        let config = write("apt.conf", &configuration(&root, (!handed_over).then_some("root")))?;
        Ok(Self { root, config })
    }

    /// Where `download` puts files.
    pub fn downloads(&self) -> PathBuf {
        self.root.join("debs")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("-q").arg("-c").arg(&self.config);
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive").current_dir(self.downloads());
        command.stdin(Stdio::null());
        command
    }

    /// Fetches the signed indexes; any suite that fails or does not verify is an error.
    pub fn update(&self) -> Result<(), Error> {
        let result = self.watched(self.command("apt-get").arg("update"), || {});
        result.map_err(|source| Self::or_disk_full(source, |source| Error::Index { source }))
    }

    /// The package files for installing `roots` on an empty system, dependencies included. A root is a name,
    /// or `name=version` for another version than apt's preferred one.
    pub fn closure<S: AsRef<OsStr>>(&self, roots: &[S]) -> Result<Vec<PackageFile>, Error> {
        let mut command = self.command("apt-get");
        command.args(["install", "--yes", "--no-install-recommends", "--print-uris"]).args(roots);
        self.print_uris(&mut command)
    }

    /// The package files of exactly these versions, without dependencies.
    pub fn files(&self, candidates: &[Candidate]) -> Result<Vec<PackageFile>, Error> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = self.command("apt-get");
        command
            .args(["download", "--print-uris"])
            .args(candidates.iter().map(|c| format!("{}={}", c.name, c.version)));
        self.print_uris(&mut command)
    }

    fn print_uris(&self, command: &mut Command) -> Result<Vec<PackageFile>, Error> {
        let text = run::capture(command).map_err(|source| Error::Resolve { source })?;
        index::parse_print_uris(&text).map_err(Error::UnknownAptAnswer)
    }

    /// All versions of these packages that the indexes offer, apt's preference first; absent packages are
    /// left out.
    pub fn candidates<S: AsRef<OsStr>>(&self, names: &[S]) -> Result<Vec<Candidate>, Error> {
        let text = run::capture(self.command("apt-cache").arg("madison").args(names))
            .map_err(|source| Error::Resolve { source })?;
        Ok(index::parse_madison(&text))
    }

    /// Downloads the files; apt checks each against the signed index. `progress` gets the number of bytes so
    /// far.
    pub fn download(&self, files: &[PackageFile], progress: &dyn Fn(u64)) -> Result<(), Error> {
        if files.is_empty() {
            return Ok(());
        }
        let mut command = self.command("apt-get");
        command.arg("download").args(files.iter().map(|file| format!("{}={}", file.name, file.version)));
        let folder = self.downloads();
        self.watched(&mut command, || progress(bytes_in(&folder)))
            .map_err(|source| Error::Download { source })?;
        progress(bytes_in(&folder));
        Ok(())
    }

    fn or_disk_full(source: run::Error, otherwise: impl FnOnce(run::Error) -> Error) -> Error {
        match source.is_disk_full() {
            true => Error::DiskFull { folder: std::env::temp_dir() },
            false => otherwise(source),
        }
    }

    /// Runs a command, keeps its output for the error, and calls `tick` while it works.
    fn watched(&self, command: &mut Command, tick: impl Fn()) -> Result<(), run::Error> {
        let described = run::describe(command);
        let started = |source| run::Error::Start { program: described.clone(), source };
        let log = self.root.join("log/output");
        let file = fs::File::create(&log).map_err(started)?;
        command.stderr(file.try_clone().map_err(started)?).stdout(file);
        let mut child = command.spawn().map_err(started)?;
        let status = loop {
            match child.try_wait().map_err(started)? {
                Some(status) => break status,
                None => {
                    tick();
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        };
        match status.success() {
            true => Ok(()),
            false => {
                let output = fs::read(&log).unwrap_or_default();
                let output = String::from_utf8_lossy(&output).into_owned();
                Err(run::Error::Failed { command: described, status, output })
            }
        }
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Gives a folder to the user that apt downloads as when started by root. Returns true if apt can use that
/// user (or does not run as root), false if it must download as root.
fn hand_to_apt_user(folder: &Path) -> bool {
    let Ok(meta) = fs::metadata(folder) else { return false };
    if meta.uid() != 0 {
        return true;
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let Some(uid) = uid_of(&passwd, "_apt") else { return false };
    chown(folder, Some(uid), None).is_ok()
        && fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).is_ok()
        && reachable_by_others(folder)
}

/// Whether any user can enter every folder of the path.
fn reachable_by_others(folder: &Path) -> bool {
    folder.ancestors().skip(1).all(|dir| fs::metadata(dir).is_ok_and(|meta| meta.mode() & 0o001 != 0))
}

fn uid_of(passwd: &str, user: &str) -> Option<u32> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(user))?;
    line.split(':').nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror(signed_by: Option<SignedBy>) -> Mirror {
        Mirror {
            uri: "http://a.example/debian".to_owned(),
            suites: vec!["bookworm".to_owned()],
            signed_by,
            check_valid_until: None,
        }
    }

    #[test]
    fn stanzas_carry_the_key_and_never_blind_trust() {
        let named =
            stanza(&mirror(Some(SignedBy::Named("/k.gpg".to_owned()))), &["experimental"], Some(false));
        assert!(
            named.contains("Signed-By: /k.gpg\n") && named.contains("Check-Valid-Until: no\n"),
            "{named}"
        );
        assert!(
            named.contains("Suites: experimental\n") && !named.to_lowercase().contains("trusted"),
            "{named}"
        );
        let inline =
            stanza(&mirror(Some(SignedBy::Inline(vec!["-----BEGIN".into(), ".".into()]))), &["sid"], None);
        assert!(
            inline.contains("Signed-By:\n -----BEGIN\n .\n\n") && !inline.contains("Check-Valid"),
            "{inline}"
        );
    }

    #[test]
    fn stanzas_read_back_as_written() {
        for signed_by in
            [SignedBy::Named("/k.gpg".into()), SignedBy::Inline(vec!["-----BEGIN PGP".into(), ".".into()])]
        {
            let text = stanza(&mirror(Some(signed_by.clone())), &["sid", "trixie"], Some(false));
            let read = crate::debian::sources::parse_deb822(&text);
            assert_eq!(read.len(), 1, "{text}");
            assert_eq!(read[0].suites, ["sid", "trixie"]);
            assert_eq!(read[0].signed_by, Some(signed_by));
            assert_eq!(read[0].check_valid_until, Some(false));
        }
    }

    #[test]
    fn the_configuration_keeps_verification_on_and_hooks_off() {
        let text = configuration(Path::new("/state"), None);
        for line in [
            "APT::Get::AllowUnauthenticated \"false\";",
            "Acquire::AllowInsecureRepositories \"false\";",
            "#clear APT::Update::Post-Invoke;",
            "Dir::State::status \"/state/dpkg/status\";",
        ] {
            assert!(text.contains(line), "{line}");
        }
        assert!(!text.contains("Sandbox"));
        assert!(configuration(Path::new("/s"), Some("root")).contains("APT::Sandbox::User \"root\";"));
    }

    #[test]
    fn the_download_user_is_read_from_passwd() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\n_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\n";
        assert_eq!(uid_of(passwd, "_apt"), Some(42));
        assert_eq!(uid_of(passwd, "apt"), None);
    }
}
