//! Installs NVIDIA's compiler from Python packages into a private prefix.
//!
//! pip fetches the packages, from the index that it is configured with; versions and hashes are fixed here.
//! pip only downloads: nothing is installed into a Python environment, and pip's cache is not used.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use device_compiler::nvcc::{NVCC, Nvcc, PREFIXES, Search};
use device_compiler::toolchain::NotFound;

use crate::debian::io_error;
use crate::debian::package::{self, ManifestPackage};
use crate::install::confirmed;
use crate::pip::{self, Pip};
use crate::prefix::{Manifest, Toolchains};
use crate::table::{Align, Table};
use crate::{Options, Program, debian, progress, run, toolchain};

/// The version of the compiler, which names the prefix.
const VERSION: &str = "13.0.88";

/// A package: its name, its version, and the SHA-256 of its wheels for x86-64 and for 64-bit Arm, both for
/// Linux.
type Wheel = (&'static str, &'static str, [&'static str; 2]);

const WHEELS: [Wheel; 5] = [
    (
        "nvidia-cuda-cccl",
        "13.0.85",
        [
            "e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649",
            "6f0203e29fed809ee2b7fe9b1344df66ecab990c37d6a2e0e189b26d6c97ed7c",
        ],
    ),
    (
        "nvidia-cuda-crt",
        VERSION,
        [
            "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
            "ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003",
        ],
    ),
    (
        "nvidia-cuda-nvcc",
        VERSION,
        [
            "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
            "c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f",
        ],
    ),
    (
        "nvidia-cuda-runtime",
        "13.0.96",
        [
            "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
            "ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55",
        ],
    ),
    (
        "nvidia-nvvm",
        VERSION,
        [
            "c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0",
            "c4376a291d72d22a315d9d2f69bdae8f8cd83a627f75bad395cee49a0fe65dc1",
        ],
    ),
];

/// Download and disk use in bytes (measured: 104 and 284 million).
const SIZES: [u64; 2] = [110_000_000, 300_000_000];
/// The toolkit's folder inside the packages.
const TOOLKIT: &str = "nvidia/cu13";
/// Folders of programs in the toolkit.
const PROGRAMS: [&str; 2] = ["bin", "nvvm/bin"];
/// What the manifest has in place of a suite.
const SUITE: &str = "pip";

/// Uses every part of the compiler.
const PROBE_SOURCE: &str = include_str!("probe.cu");
const PROBE_ARCHS: [&str; 3] = ["sm_80", "sm_90a", "sm_100"];

/// Why NVIDIA's compiler was not installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// NVIDIA has no packages for this system.
    #[error(
        "NVIDIA's compiler cannot be installed here: NVIDIA's packages are for Linux on x86-64 and 64-bit Arm. Install \
         NVIDIA's CUDA toolkit, and set {NVCC} to its nvcc if that is not on PATH."
    )]
    Unsupported,
    /// The user declined.
    #[error("nothing was installed: the answer was no")]
    Declined,
    /// A variable names an unusable nvcc, so an installation would not be used.
    #[error("{NVCC} names an unusable nvcc, and set-up does not override it; tried\n{}\nCorrect it or unset it.", .0.places())]
    Bound(NotFound),
    /// There is no folder to install into.
    #[error(transparent)]
    Cache(#[from] toolchain::CacheError),
    /// A file system is full.
    #[error(
        "no room left in {}: the packages take 110 MB in the temporary folder (TMPDIR) and the compiler 300 MB in the \
         cache (FERROCM_CACHE)", folder.display()
    )]
    DiskFull {
        /// A folder on it.
        folder: PathBuf,
    },
    /// Python or pip is missing.
    #[error(
        "pip, which fetches NVIDIA's packages, cannot be run: {0}\nNothing was installed. Install Python 3 with pip (on \
         Debian: apt-get install python3-pip), or NVIDIA's CUDA toolkit."
    )]
    NoPip(run::Error),
    /// pip could not fetch a package, or its hash is wrong.
    #[error(
        "NVIDIA's packages could not be fetched: {0}\nNothing was installed. pip uses its own configuration (`python3 \
         -m pip config list`): if this machine reaches the network through a proxy or has an index of its own, set it \
         there, or https_proxy, and try again."
    )]
    Fetch(run::Error),
    /// A file is not the one that this version of the program knows.
    #[error("{} is not the package that it should be (its SHA-256 is wrong). Nothing was installed.", .0.display())]
    Hash(PathBuf),
    /// A package cannot be unpacked.
    #[error("a package cannot be unpacked: {0}\nNothing was installed.")]
    Unpack(run::Error),
    /// A file or folder cannot be read or written.
    #[error("{0}\nNothing was installed.")]
    Files(debian::Error),
    /// The compiler does not start.
    #[error("the fetched packages do not make a compiler, so nothing was installed; tried\n{}", .0.places())]
    Incomplete(NotFound),
    /// The compiler does not work.
    #[error(
        "NVIDIA's compiler cannot compile a kernel for {arch}, so it was not installed (it needs a C++ compiler: gcc 6 \
         to 15, as `gcc` on PATH or in NVCC_CCBIN): {source}"
    )]
    Probe {
        /// The architecture.
        arch: &'static str,
        /// The compiler's message.
        #[source]
        source: run::Error,
    },
}

impl From<debian::Error> for Error {
    fn from(error: debian::Error) -> Self {
        match error {
            debian::Error::DiskFull { folder } => Self::DiskFull { folder },
            other => Self::Files(other),
        }
    }
}

impl From<pip::Error> for Error {
    fn from(error: pip::Error) -> Self {
        match error {
            pip::Error::NoPip(error) => Self::NoPip(error),
            pip::Error::Fetch(error) => Self::Fetch(error),
            pip::Error::Hash(file) => Self::Hash(file),
            pip::Error::Unpack(error) => Self::Unpack(error),
            pip::Error::DiskFull { folder } => Self::DiskFull { folder },
            pip::Error::Files(error) => Self::Files(error),
        }
    }
}

/// The search of the environment, with messages that name this program.
#[must_use]
pub fn search(program: &Program) -> Search {
    Search { setup: Some(program.command("setup")), ..Search::from_env() }
}

/// Makes sure that there is an nvcc: finds one, or installs one into the user's cache. Prints the result to
/// standard output. On a terminal, asks before it installs, unless [`Options::yes`] is set.
///
/// # Errors
/// [`Error`] says why there is none. Nothing is installed then, and existing files are unchanged.
pub fn install(program: &Program, options: Options) -> Result<(), Error> {
    let search = search(program);
    let folder = toolchain::cache_folder()?.join(PREFIXES);
    if is_there(&search, &folder, options)? {
        return Ok(());
    }
    let Some(machine) = machine() else { return Err(Error::Unsupported) };
    say!("To install: NVIDIA's nvcc {VERSION} with its headers (about 104 MB to download, 285 MB on disk).");
    say!("{}", table(machine).trim_end());
    say!("  from   the index that pip is configured with");
    say!("  into   {}, a separate folder", folder.display());
    say!("  Python's packages, pip's cache and the system's folders are not changed.");
    say!("  NVIDIA's licence for them is in the packages (CUDA Toolkit End User License Agreement).");
    if options.dry_run {
        say!("Nothing was installed (--dry-run).");
        return Ok(());
    }
    if !confirmed(options) {
        return Err(Error::Declined);
    }
    let toolchains = Toolchains::lock(&folder)?;
    // Another set-up that held the lock may have installed it.
    if is_there(&search, &folder, options)? {
        return Ok(());
    }
    let packages = Packages { wheels: &WHEELS, machine, pip: Pip::default(), archs: &PROBE_ARCHS };
    let place = packages.install(&toolchains)?;
    say!("Installed nvcc {VERSION} in {}", place.display());
    for old in toolchains.superseded() {
        say!("note: no longer used and can be removed: {}", old.display());
    }
    Ok(())
}

/// Whether nothing has to be installed; says what there is.
fn is_there(search: &Search, folder: &Path, options: Options) -> Result<bool, Error> {
    let prefix = folder.join("current");
    // Its versions are fixed, so another one is older, or of another version of this program.
    let is_current = || {
        let known = Manifest::of_nvcc(
            VERSION,
            machine().map(|machine| manifest(&WHEELS, machine)).unwrap_or_default(),
        );
        Manifest::read(&prefix).is_some_and(|manifest| manifest.id == known.id)
    };
    let found = match options.prefix_only {
        true => {
            Search { named: None, roots: Vec::new(), path: Vec::new(), system: Vec::new(), ..search.clone() }
        }
        false => search.clone(),
    };
    match found.find(None) {
        Ok(nvcc) if options.update && nvcc.path.starts_with(&prefix) && !is_current() => Ok(false),
        Ok(nvcc) => {
            say!("NVIDIA's compiler: nvcc {} ({})", nvcc.version(), nvcc.path.display());
            Ok(true)
        }
        Err(error) if found.named.is_some() => Err(Error::Bound(error)),
        Err(_) => Ok(false),
    }
}

/// The position of this machine's wheels.
fn machine() -> Option<usize> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some(0),
        ("linux", "aarch64") => Some(1),
        _ => None,
    }
}

fn table(machine: usize) -> String {
    let mut table =
        Table::new(&[("package", Align::Left), ("version", Align::Left), ("SHA-256", Align::Left)]);
    for (name, version, hashes) in WHEELS {
        table.row([name, version, hashes[machine]]);
    }
    table.render()
}

fn manifest(wheels: &[Wheel], machine: usize) -> Vec<ManifestPackage> {
    let package = |(name, version, hashes): &Wheel| ManifestPackage {
        name: (*name).to_owned(),
        version: (*version).to_owned(),
        suite: SUITE.to_owned(),
        sha256: hashes[machine].to_owned(),
        uri: String::new(),
    };
    wheels.iter().map(package).collect()
}

/// What to install.
#[derive(Debug)]
struct Packages<'a> {
    wheels: &'a [Wheel],
    machine: usize,
    pip: Pip,
    /// What the compiler must be able to compile for.
    archs: &'a [&'static str],
}

impl Packages<'_> {
    /// A package for the machine.
    fn of_machine(&self, &(name, version, hashes): &Wheel) -> pip::Wheel<'static> {
        pip::Wheel { name, version, sha256: hashes[self.machine] }
    }

    /// Fetches, verifies, unpacks, tries and publishes them.
    fn install(&self, toolchains: &Toolchains) -> Result<PathBuf, Error> {
        let staging = toolchains.stage()?;
        let work = tempfile::tempdir().map_err(io_error("create a folder in", &std::env::temp_dir()))?;
        package::ensure_room(work.path(), SIZES[0])?;
        package::ensure_room(staging.tree(), SIZES[1])?;

        let steps = progress::spinner("Fetching NVIDIA's packages");
        let list: Vec<_> = self.wheels.iter().map(|wheel| self.of_machine(wheel)).collect();
        let wheels = self.pip.fetch(work.path(), &list)?;
        steps.set_message("Unpacking");
        for wheel in wheels {
            self.pip.unpack(&wheel, staging.tree())?;
        }
        arrange(staging.tree())?;
        steps.set_message("Compiling a probe kernel");
        self.probe(staging.tree(), work.path())?;
        steps.finish_and_clear();

        let manifest = Manifest::of_nvcc(VERSION, manifest(self.wheels, self.machine));
        Ok(toolchains.publish(staging, &manifest)?)
    }

    /// Compiles the probe, with the compiler that the search finds in the prefix.
    fn probe(&self, prefix: &Path, work: &Path) -> Result<(), Error> {
        let search = Search {
            named: None,
            roots: Vec::new(),
            path: Vec::new(),
            system: Vec::new(),
            prefix: Some(prefix.to_owned()),
            setup: None,
        };
        let Nvcc { path, .. } = search.find(None).map_err(Error::Incomplete)?;
        let source = work.join("probe.cu");
        fs::write(&source, PROBE_SOURCE).map_err(io_error("write", &source))?;
        for arch in self.archs.iter().copied() {
            let mut command = Command::new(&path);
            command.env("TMPDIR", work).args(["--cubin", "-std=c++17"]).arg(format!("-arch={arch}"));
            command.arg("-o").arg(work.join(arch)).arg(&source);
            run::capture(&mut command).map_err(|source| Error::Probe { arch, source })?;
        }
        Ok(())
    }
}

/// Makes what was unpacked the folder of a toolkit: `bin/nvcc`, and `lib64` for programs that link. Python's
/// module drops the permission to execute.
fn arrange(tree: &Path) -> Result<(), debian::Error> {
    let toolkit = tree.join(TOOLKIT);
    for entry in fs::read_dir(&toolkit).map_err(io_error("read", &toolkit))?.flatten() {
        let place = tree.join(entry.file_name());
        fs::rename(entry.path(), &place).map_err(io_error("move the new files to", &place))?;
    }
    for folder in [&toolkit, &tree.join("nvidia")] {
        fs::remove_dir(folder).map_err(io_error("remove", folder))?;
    }
    for folder in PROGRAMS.map(|name| tree.join(name)) {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).map_err(io_error("make a program of", &path))?;
        }
    }
    let library = tree.join("lib/libcudart.so.13");
    if library.is_file() {
        let link = tree.join("lib/libcudart.so");
        symlink("libcudart.so.13", &link).map_err(io_error("create", &link))?;
    }
    let link = tree.join("lib64");
    symlink("lib", &link).map_err(io_error("create", &link))
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};
    use test_skip::{Lack, skip};

    use super::*;
    use crate::debian::package::hex;

    /// A wheel with these files, made by Python, and its hash.
    fn wheel(folder: &Path, name: &str, files: &[(&str, &str)]) -> Option<String> {
        let tree = folder.join(name);
        let info = format!("{name}-1.0.dist-info");
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n");
        let tag = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned();
        let more = [("METADATA", metadata), ("WHEEL", tag), ("RECORD", String::new())];
        let more = more.map(|(file, text)| (format!("{info}/{file}"), text));
        let files = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
        for (file, text) in files.chain(more) {
            let path = tree.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("write");
        }
        let path = folder.join(format!("{name}-1.0-py3-none-any.whl"));
        let mut zip = Command::new("python3");
        zip.args(["-m", "zipfile", "-c"])
            .arg(&path)
            .args(fs::read_dir(&tree).expect("tree").flatten().map(|e| e.path()));
        run::capture(zip.current_dir(folder)).ok()?;
        Some(hex(&Sha256::digest(fs::read(path).expect("the wheel"))))
    }

    fn leak(text: String) -> &'static str {
        Box::leak(text.into_boxed_str())
    }

    const NVCC_SCRIPT: &str = "#!/bin/sh\n\
        if [ \"$1\" = --version ]; then echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit; fi\n\
        test -x \"$(dirname \"$0\")/../nvvm/bin/cicc\" || exit 1\n\
        case \"$*\" in *sm_1*) echo 'no such architecture' >&2; exit 1;; esac\n";

    /// Packages in a folder that pip takes instead of an index.
    fn packages(folder: &Path) -> Option<(Vec<Wheel>, Pip)> {
        let files = [("nvidia/cu13/bin/nvcc", NVCC_SCRIPT), ("nvidia/cu13/lib/libcudart.so.13", "")];
        let nvcc = wheel(folder, "fake_nvcc", &files)?;
        let nvvm = wheel(folder, "fake_nvvm", &[("nvidia/cu13/nvvm/bin/cicc", "#!/bin/sh\n")])?;
        let pip = Pip {
            variables: vec![
                ("PIP_NO_INDEX", "1".into()),
                ("PIP_FIND_LINKS", folder.as_os_str().to_owned()),
                ("PIP_CONFIG_FILE", "/dev/null".into()),
            ],
            ..Pip::default()
        };
        run::capture(pip.module("pip", folder).arg("--version")).ok()?;
        let [nvcc, nvvm] = [nvcc, nvvm].map(leak);
        Some((vec![("fake-nvcc", "1.0", [nvcc; 2]), ("fake-nvvm", "1.0", [nvvm; 2])], pip))
    }

    #[test]
    fn packages_are_published_whole_or_not_at_all() {
        let [wheels_folder, cache] = [(); 2].map(|()| tempfile::tempdir().expect("temp folder"));
        let Some((wheels, pip)) = packages(wheels_folder.path()) else {
            return skip(Lack::Machine, "no Python with pip");
        };
        let toolchains = Toolchains::lock(cache.path()).expect("lock");
        let current = cache.path().join("current");
        let set = |wheels, archs| Packages { wheels, machine: 0, pip: pip.clone(), archs };

        let error = set(&wheels, &["sm_80", "sm_100"]).install(&toolchains).expect_err("the probe fails");
        let text = error.to_string();
        assert!(text.contains("a kernel for sm_100") && text.contains("no such architecture"), "{text}");
        let wrong = [(wheels[0].0, wheels[0].1, [leak("0".repeat(64)); 2]), wheels[1]];
        let error = set(&wrong, &["sm_80"]).install(&toolchains).expect_err("another hash");
        let text = error.to_string();
        assert!(matches!(error, Error::Fetch(_)) && text.contains("pip config list"), "{text}");
        let none = [("fake-none", "1.0", wheels[0].2)];
        let error = set(&none, &["sm_80"]).install(&toolchains).expect_err("no package");
        assert!(matches!(error, Error::Fetch(_)), "{error}");
        assert!(!current.exists());

        let place = set(&wheels, &["sm_80"]).install(&toolchains).expect("installed");
        assert_eq!(current.canonicalize().expect("current"), place.canonicalize().expect("place"));
        assert!(place.join("lib64/libcudart.so").exists() && !place.join("nvidia").exists());
        assert!(place.join("fake_nvcc-1.0.dist-info/METADATA").is_file(), "licences stay");
        let manifest = Manifest::read(&current).expect("manifest");
        assert!(manifest.id.starts_with("nvcc-13.0.88-"), "{}", manifest.id);
        let search = Search {
            named: None,
            roots: Vec::new(),
            path: Vec::new(),
            system: Vec::new(),
            prefix: Some(current.clone()),
            setup: None,
        };
        assert_eq!(search.find(None).expect("found").path, current.join("bin/nvcc"));
    }

    #[test]
    fn a_machine_without_pip_is_told_what_to_install() {
        let cache = tempfile::tempdir().expect("temp folder");
        let toolchains = Toolchains::lock(cache.path()).expect("lock");
        for python in ["/no/python", "/bin/false"] {
            let pip = Pip { python: python.into(), variables: Vec::new() };
            let packages = Packages { wheels: &WHEELS, machine: 0, pip, archs: &[] };
            let text = packages.install(&toolchains).expect_err("no pip").to_string();
            assert!(text.contains("python3-pip") && text.contains("Nothing was installed"), "{text}");
        }
    }

    #[test]
    fn hashes_are_whole_and_no_two_are_the_same() {
        let mut hashes: Vec<&str> = WHEELS.iter().flat_map(|(_, _, hashes)| *hashes).collect();
        assert!(hashes.iter().all(|hash| hash.len() == 64));
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 2 * WHEELS.len());
    }

    #[test]
    fn the_real_packages_compile_for_three_architectures() {
        let Some(machine) = machine() else { return skip(Lack::Machine, "NVIDIA has no packages for it") };
        // 104 MB.
        if std::env::var_os("FERROCM_TEST_CUDA_PACKAGES").is_none() {
            return skip(Lack::Suite, "NVIDIA's packages are fetched only with FERROCM_TEST_CUDA_PACKAGES=1");
        }
        let cache = tempfile::tempdir().expect("temp folder");
        let toolchains = Toolchains::lock(cache.path()).expect("lock");
        let packages = Packages { wheels: &WHEELS, machine, pip: Pip::default(), archs: &PROBE_ARCHS };
        let place = packages.install(&toolchains).expect("installed");
        assert!(place.join("bin/ptxas").is_file());
    }
}
