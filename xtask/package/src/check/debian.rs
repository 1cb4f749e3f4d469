//! A bare Debian 12 in a folder: its essential packages, installed by its own dpkg, and the dependencies of
//! C++ programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use setup::debian::apt::{self, PrivateApt};
use setup::debian::{self, package};

use super::succeeds;

/// The essential packages of Debian 12, one that provides `awk`, and the C++ library.
const ESSENTIAL: [&str; 25] = [
    "base-files",
    "base-passwd",
    "bash",
    "bsdutils",
    "coreutils",
    "dash",
    "debianutils",
    "diffutils",
    "dpkg",
    "findutils",
    "grep",
    "gzip",
    "hostname",
    "init-system-helpers",
    "libc-bin",
    "libstdc++6",
    "login",
    "mawk",
    "ncurses-base",
    "ncurses-bin",
    "perl-base",
    "sed",
    "sysvinit-utils",
    "tar",
    "util-linux",
];
/// The file that marks the folder as complete.
const COMPLETE: &str = "ferrocm-complete";

/// Enters a folder as the root file system, with the devices and processes of this machine.
const ENTER: &str =
    "mount -t proc proc \"$0/proc\" && mount --rbind /dev \"$0/dev\" && exec chroot \"$0\" \"$@\"";

/// A system in a folder.
pub(super) struct System {
    root: PathBuf,
}

impl System {
    /// The system in this folder.
    pub(super) fn of(root: PathBuf) -> Self {
        Self { root }
    }

    /// A path in it, from outside.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Copies a file into it, with its permissions.
    pub(super) fn put(&self, from: &Path, to: &str) -> Result<()> {
        let to = self.path(to);
        let told = || format!("cannot copy {} to {}", from.display(), to.display());
        fs::create_dir_all(to.parent().unwrap_or(&to)).with_context(told)?;
        fs::copy(from, &to).map(|_| ()).with_context(told)
    }

    /// Its name and version.
    pub(super) fn name(&self) -> Result<String> {
        let version = self.path("etc/debian_version");
        let text =
            fs::read_to_string(&version).with_context(|| format!("cannot read {}", version.display()))?;
        Ok(format!("Debian {}", text.trim()))
    }

    /// A command in it.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        for folder in ["proc", "dev"] {
            // If it cannot be created, entering fails.
            let _ = fs::create_dir_all(self.path(folder));
        }
        let mut command = Command::new("unshare");
        command.args(["--mount", "--", "sh", "-c", ENTER]).arg(&self.root).args(arguments);
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.envs([("HOME", "/root"), ("LC_ALL", "C.UTF-8"), ("DEBIAN_FRONTEND", "noninteractive")]);
        command.env("DEBCONF_NONINTERACTIVE_SEEN", "true");
        command
    }
}

/// The system, created once.
pub(super) fn system(scratch: &Path) -> Result<System> {
    let system = System::of(scratch.join("debian12"));
    if system.path(COMPLETE).is_file() {
        return Ok(system);
    }
    if succeeds(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("a bare Debian 12 takes root: chroot and dpkg need it");
    }
    if system.root.exists() {
        fs::remove_dir_all(&system.root)
            .with_context(|| format!("cannot empty {}", system.root.display()))?;
    }
    let mirrors = debian::mirrors()?;
    let state = apt::temporary_folder()?;
    let suites = |mirror: &debian::sources::Mirror| -> String {
        let suites: Vec<&str> = mirror.suites.iter().map(String::as_str).collect();
        apt::stanza(mirror, &suites, mirror.check_valid_until)
    };
    let apt =
        PrivateApt::create(state.path().join("apt"), &(suites(&mirrors.main) + &suites(&mirrors.security)))?;
    apt.update()?;
    let files = apt.closure(&ESSENTIAL)?;
    println!("Debian 12: {} packages …", files.len());
    apt.download(&files, &|_| ())?;
    fs::create_dir_all(&system.root).with_context(|| format!("cannot create {}", system.root.display()))?;
    for file in &files {
        // Unpacks enough of the system to run dpkg in it, which then installs everything.
        package::unpack(file, &apt.downloads(), &system.root)?;
        system.put(&apt.downloads().join(&file.file), &format!("root/debs/{}.deb", file.name))?;
    }
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "tmp", "proc", "dev"] {
        let folder = system.path(folder);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    for file in ["var/lib/dpkg/status", "var/lib/dpkg/available"] {
        let file = system.path(file);
        fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))?;
    }
    // Package scripts need awk before its package is installed.
    let awk = system.path("usr/bin/awk");
    if awk.symlink_metadata().is_err() {
        std::os::unix::fs::symlink("mawk", &awk).with_context(|| format!("cannot make {}", awk.display()))?;
    }
    for script in [
        "dpkg --force-depends --install /root/debs/base-passwd.deb /root/debs/base-files.deb",
        "dpkg --force-depends --unpack /root/debs/*.deb",
        "dpkg --force-depends --force-configure-any --configure --pending",
        "rm -rf /root/debs && test -z \"$(dpkg --audit)\"",
    ] {
        succeeds(&mut system.command(&["sh", "-c", script])).context("Debian 12 cannot be set up")?;
    }
    let complete = system.path(COMPLETE);
    fs::write(&complete, "").with_context(|| format!("cannot write {}", complete.display()))?;
    Ok(system)
}
