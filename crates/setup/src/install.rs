//! Finds the device toolchain, or installs it from Debian's suites into a private prefix.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::debian::apt::{self, PrivateApt};
use crate::debian::index::{self, PackageFile, Resolved, Wanted, with_suites};
use crate::debian::package::{self, ManifestPackage};
use crate::debian::sources::{self, Mirrors};
use crate::prefix::{self, Manifest, Toolchains};
use crate::table::{Align, Table, bytes};
use crate::toolchain::{self, Found};
use crate::{Program, cuda, debian, progress, run, tested};
use device_compiler::toolchain::{NotFound, Origin, Search};

/// The compiler's package, whose version names the toolchain.
pub(crate) const CLANG: &str = "clang-22";
/// Installed with their dependencies from the stable release's suites.
const COMPILER_ROOTS: [&str; 3] = [CLANG, "lld-22", "libclang1-22"];
/// Only the C++ headers, for a machine with a compiler but without them.
const HEADER_ROOTS: [&str; 1] = ["libstdc++-12-dev"];
pub(crate) const DEVICE_LIBS: Wanted = Wanted { name: "rocm-device-libs-22", min_major: 7 };
/// Unpacked without dependencies: headers, bitcode and a script. Their libraries would need a newer libc.
const ROCM_PACKAGES: [Wanted; 6] = [
    DEVICE_LIBS,
    Wanted { name: "hipify-perl", min_major: 7 },
    Wanted { name: "libamdhip64-dev", min_major: 7 },
    // CUB and Thrust for CUDA programs.
    Wanted { name: "libhipcub-dev", min_major: 7 },
    Wanted { name: "librocprim-dev", min_major: 7 },
    Wanted { name: "librocthrust-dev", min_major: 7 },
];
/// The suites to search for them, in this order.
const ROCM_SUITES: [&str; 3] = ["experimental", "sid", "trixie"];
/// How much larger the packages are when unpacked (measured: 4.8).
const UNPACKED_PER_PACKED: u64 = 5;
/// The folder inside a prefix that holds the shared libraries.
pub const LIBRARY_FOLDER: &str = "usr/lib/x86_64-linux-gnu";
/// The compiler inside a prefix.
const CLANG_IN_PREFIX: &str = "usr/lib/llvm-22/bin/clang-22";

/// Dependencies of the compiler's packages that are not needed for GPU code, or that must be the machine's
/// own (the C and C++ runtimes, which belong to its dynamic loader).
fn is_left_out(name: &str) -> bool {
    const NAMES: [&str; 26] = [
        "gcc-12-base",
        "libasan8",
        "libatomic1",
        "libbinutils",
        "libc-dev-bin",
        "libc6",
        "libcom-err2",
        "libcrypt1",
        "libgcc-s1",
        "libgc1",
        "libgomp1",
        "libgprofng0",
        "libitm1",
        "libjansson4",
        "libk5crypto3",
        "libkeyutils1",
        "liblsan0",
        "libquadmath0",
        "libssl3",
        "libstdc++6",
        "libtsan2",
        "libubsan1",
        "libobjc4",
        "libobjc-12-dev",
        "rpcsvc-proto",
        "libgssapi-krb5-2",
    ];
    const STARTS: [&str; 5] = ["binutils", "libctf", "libkrb5", "libnsl", "libtirpc"];
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

/// Why there is no toolchain now. Nothing was installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Packages for this system are not known.
    #[error("the device toolchain cannot be installed here: {reason}.\n\n{requirements}")]
    Unsupported {
        /// The kind of system.
        reason: String,
        /// What the user must provide.
        requirements: String,
    },
    /// NVIDIA's compiler cannot be installed.
    #[error(transparent)]
    Cuda(#[from] cuda::Error),
    /// The user declined.
    #[error("nothing was installed: the answer was no")]
    Declined,
    /// A variable names an unusable part, so an installation would not be used.
    #[error(
        "a variable (FERROCM_CLANG or FERROCM_HIP_PATH) names an unusable part of the toolchain, and set-up does \
         not override it; tried\n{}\nCorrect it or unset it.", .0.places()
    )]
    Bound(NotFound),
    /// The packages lack something.
    #[error(
        "the fetched packages do not make a complete toolchain, so nothing was installed; tried\n{}", .0.places()
    )]
    Incomplete(NotFound),
    /// There is no folder to install into.
    #[error(transparent)]
    Cache(#[from] toolchain::CacheError),
    /// A file system is full.
    #[error(
        "no room left in {}: the packages and indexes take 120 MB in the temporary folder (TMPDIR) and the toolchain \
         400 MB in the cache (FERROCM_CACHE)",
        folder.display()
    )]
    DiskFull {
        /// A folder on it.
        folder: PathBuf,
    },
    /// The mirror cannot be reached, or its indexes do not verify.
    #[error(
        "{source}\nNothing was installed. If this machine reaches the network through a proxy, set http_proxy and \
         https_proxy, or Acquire::http::Proxy in apt's configuration, and try again."
    )]
    Fetch {
        /// apt's message.
        source: debian::Error,
    },
    /// The packages cannot be fetched or used.
    #[error("{0}\nNothing was installed.")]
    Packages(debian::Error),
    /// The toolchain does not work.
    #[error("the toolchain cannot compile a kernel for {target}, so it was not installed: {source}")]
    Probe {
        /// The target.
        target: &'static str,
        /// The compiler's message.
        #[source]
        source: run::Error,
    },
    /// The toolchain seems to work but does not.
    #[error(
        "{} compiled a kernel for {target} without an error, but wrote no code object, so it was not installed",
        clang.display()
    )]
    ProbeOutput {
        /// The target.
        target: &'static str,
        /// The compiler.
        clang: PathBuf,
    },
}

impl From<debian::Error> for Error {
    fn from(error: debian::Error) -> Self {
        match error {
            debian::Error::DiskFull { folder } => Self::DiskFull { folder },
            source @ (debian::Error::Index { .. } | debian::Error::Download { .. }) => Self::Fetch { source },
            other => Self::Packages(other),
        }
    }
}

/// Options of [`install`]. The fields are also command-line options, with these texts as their help.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// Install without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Show what would be installed, with versions and sizes, and install nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Install the whole toolchain, even if the machine has one
    #[arg(long)]
    pub prefix_only: bool,
    /// Resolve again and install newer versions, if the toolchain in use was installed by set-up
    #[arg(long)]
    pub update: bool,
    /// Find or install NVIDIA's compiler (nvcc) instead of AMD's device toolchain
    #[arg(long)]
    pub cuda: bool,
}

/// What to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Plan {
    /// Everything.
    Whole,
    /// Only what the machine's own clang lacks.
    Pieces { cpp_headers: bool },
}

impl Plan {
    fn roots(&self) -> &'static [&'static str] {
        match self {
            Self::Whole => &COMPILER_ROOTS,
            Self::Pieces { cpp_headers: true } => &HEADER_ROOTS,
            Self::Pieces { cpp_headers: false } => &[],
        }
    }

    /// Approximate download and disk use for the question, before any index is known.
    fn rough_size(&self) -> &'static str {
        match self {
            Self::Whole => "about 95 MB to download, 400 MB on disk",
            Self::Pieces { cpp_headers: true } => "about 21 MB to download, 95 MB on disk",
            Self::Pieces { cpp_headers: false } => "about 3 MB to download, 30 MB on disk",
        }
    }

    fn contents(&self) -> &'static str {
        match self {
            Self::Whole => {
                "clang 22, lld and libclang, C++ headers, ROCm device libraries, headers of HIP, hipCUB, rocPRIM and \
                 rocThrust, hipify-perl"
            }
            Self::Pieces { cpp_headers: true } => {
                "C++ headers, ROCm device libraries, headers of HIP, hipCUB, rocPRIM and rocThrust, hipify-perl"
            }
            Self::Pieces { cpp_headers: false } => {
                "ROCm device libraries, headers of HIP, hipCUB, rocPRIM and rocThrust, hipify-perl"
            }
        }
    }
}

/// Makes sure that there is a toolchain: finds one, or installs one into the user's cache. Prints the result
/// to standard output. On a terminal, asks before it installs, unless [`Options::yes`] is set.
///
/// # Errors
/// [`Error`] says why there is none. Nothing is installed then, and existing files are unchanged.
pub fn install(program: &Program, options: Options) -> Result<(), Error> {
    if options.cuda {
        return Ok(cuda::install(program, options)?);
    }
    let search = program.search();
    let Some(plan) = plan(&search, options, true)? else { return Ok(()) };
    let mirrors = match debian::mirrors() {
        Err(debian::Error::Unsupported { reason }) => {
            return Err(Error::Unsupported { reason, requirements: requirements(program) });
        }
        mirrors => mirrors?,
    };
    let folder = toolchain::cache_folder()?.join("toolchain");
    announce(&plan, &mirrors, &folder);
    if !options.dry_run && !confirmed(options) {
        return Err(Error::Declined);
    }
    let toolchains = Toolchains::lock(&folder)?;
    // Another set-up that held the lock may have installed it.
    let Some(plan) = self::plan(&search, options, false)? else { return Ok(()) };
    match fetch(&plan, &search, &mirrors, &toolchains, options.dry_run) {
        Err(Error::Incomplete(reason)) if plan != Plan::Whole => {
            say!("The machine's own compiler cannot be completed; tried\n{}", reason.places());
            announce(&Plan::Whole, &mirrors, &folder);
            if !confirmed(options) {
                return Err(Error::Declined);
            }
            fetch(&Plan::Whole, &search, &mirrors, &toolchains, options.dry_run)
        }
        result => result,
    }
}

/// What is missing, or `None` when nothing is.
fn plan(search: &Search, options: Options, say: bool) -> Result<Option<Plan>, Error> {
    if options.prefix_only {
        let prefix = toolchain::cache_folder()?.join("toolchain/current");
        return Ok(match Manifest::read(&prefix) {
            Some(manifest)
                if manifest.has_compiler
                    && prefix.join(CLANG_IN_PREFIX).exists()
                    && !options.update
                    && !lacks_packages(&prefix) =>
            {
                say!("The private prefix is complete: {}", prefix.display());
                None
            }
            _ => Some(Plan::Whole),
        });
    }
    match toolchain::find(search) {
        Found::Complete(toolchain) => {
            if let Origin::Prefix(prefix) = &toolchain.origin
                && (options.update || lacks_packages(prefix))
            {
                return Ok(Some(Plan::Whole));
            }
            say!("Device toolchain: {}", toolchain::describe(&toolchain));
            Ok(None)
        }
        Found::CompilerOnly => {
            if say {
                say!("This machine has a suitable clang, but lacks other parts.");
            }
            Ok(Some(Plan::Pieces { cpp_headers: !has_entries(Path::new("/usr/include/c++")) }))
        }
        Found::Nothing => {
            if say {
                say!("This machine has no ROCm and no clang 22 or later.");
            }
            Ok(Some(Plan::Whole))
        }
        Found::Bound(error) => Err(Error::Bound(error)),
    }
}

/// Whether a prefix is that of an older version, which knew fewer packages.
fn lacks_packages(prefix: &Path) -> bool {
    let has = |manifest: &Manifest, name| manifest.packages.iter().any(|package| package.name == name);
    Manifest::read(prefix)
        .is_some_and(|manifest| ROCM_PACKAGES.iter().any(|wanted| !has(&manifest, wanted.name)))
}

fn announce(plan: &Plan, mirrors: &Mirrors, folder: &Path) {
    say!("To install: {} ({}).", plan.contents(), plan.rough_size());
    let main = sources::without_credentials(&mirrors.main.uri);
    if plan.roots().is_empty() {
        say!("  from   {main}, the mirror of {}", debian::sources_owner());
    } else {
        let security = sources::without_credentials(&mirrors.security.uri);
        say!("  from   {main} and {security}, the mirrors of {}", debian::sources_owner());
        if mirrors.security_derived {
            say!(
                "         (its sources name no security archive: that address is derived from the main one)"
            );
        }
    }
    say!("  into   {}, a separate folder", folder.display());
    say!("  apt's configuration, the package database and the system's folders are not changed.");
}

/// Whether to go on: asks on a terminal, unless [`Options::yes`] is set.
pub(crate) fn confirmed(options: Options) -> bool {
    if options.yes {
        return true;
    }
    if !io::stdin().is_terminal() {
        say!("No terminal to ask on: continuing.");
        return true;
    }
    // Without a line break, so that the answer is beside the question.
    let mut out = io::stdout();
    let _ = out.write_all(b"Go on? [Y/n] ").and_then(|()| out.flush());
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer).unwrap_or(0);
    match answer.trim().to_ascii_lowercase().as_str() {
        "" => read > 0,
        answer => matches!(answer, "y" | "yes"),
    }
}

/// Fetches, unpacks, tries and publishes the missing parts.
fn fetch(
    plan: &Plan,
    search: &Search,
    mirrors: &Mirrors,
    toolchains: &Toolchains,
    dry_run: bool,
) -> Result<(), Error> {
    let staging = toolchains.stage()?;
    let state = apt::temporary_folder()?;
    staging.note_apt_state(state.path())?;

    let steps = progress::spinner("Fetching and verifying package indexes");
    let mut states: Vec<(PrivateApt, Vec<Resolved>)> = Vec::new();
    if !plan.roots().is_empty() {
        states.push(resolve_base(plan, mirrors, state.path().join("base"))?);
    }
    resolve_rocm(mirrors, state.path(), &mut states)?;
    steps.finish_and_clear();

    let all: Vec<&Resolved> = states.iter().flat_map(|(_, packages)| packages).collect();
    let total: u64 = all.iter().map(|package| package.file.size).sum();
    say!("{} packages, {} to download.", all.len(), bytes(total));
    if dry_run {
        say!("{}Nothing was installed (--dry-run).", package_table(&all));
        return Ok(());
    }

    package::ensure_room(state.path(), total)?;
    package::ensure_room(staging.tree(), total * UNPACKED_PER_PACKED)?;
    let bar = progress::bar(total, "Downloading", "{bytes}/{total_bytes}");
    let mut done = 0;
    for (apt, packages) in &states {
        let files: Vec<PackageFile> = packages.iter().map(|package| package.file.clone()).collect();
        apt.download(&files, &|here| bar.set_position(done + here))?;
        done += files.iter().map(|file| file.size).sum::<u64>();
    }
    bar.finish_and_clear();

    let bar = progress::bar(all.len() as u64, "Unpacking", "{pos}/{len}");
    for (apt, packages) in &states {
        for Resolved { file, .. } in packages {
            package::unpack(file, &apt.downloads(), staging.tree())?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();

    let manifest = Manifest::new(*plan == Plan::Whole, all.into_iter().map(ManifestPackage::from).collect());
    let steps = progress::spinner("Compiling a probe kernel");
    // The same search as in every build must find the new parts.
    let environment = Search { prefix: Some(staging.tree().to_owned()), ..search.clone() };
    let search = match plan {
        Plan::Whole => Search {
            clang: None,
            hip_path: None,
            rocm: Vec::new(),
            path: Vec::new(),
            system: Vec::new(),
            ..environment
        },
        Plan::Pieces { .. } => environment,
    };
    prefix::probe(&search.find().map_err(Error::Incomplete)?)?;
    steps.finish_and_clear();

    let place = toolchains.publish(staging, &manifest)?;
    report(&manifest, &place, toolchains);
    Ok(())
}

fn report(manifest: &Manifest, place: &Path, toolchains: &Toolchains) {
    say!("Installed {} in {}", manifest.id, place.display());
    let differences = debian::tested::differences(&manifest.packages, tested::TESTED);
    if differences.is_empty() {
        say!("Every package is the one this version was tested with; the probe compiles for three targets.");
    } else {
        say!("note: not the packages this version was tested with (but the probe compiles):");
        for line in differences {
            say!("  {line}");
        }
    }
    for old in toolchains.superseded() {
        say!("note: no longer used and can be removed: {}", old.display());
    }
}

/// The compiler and its dependencies, from the suites of the stable release.
fn resolve_base(plan: &Plan, mirrors: &Mirrors, root: PathBuf) -> Result<(PrivateApt, Vec<Resolved>), Error> {
    let apt = PrivateApt::create(root, &apt::own_stanzas(mirrors))?;
    apt.update()?;
    let roots = plan.roots();
    let offered = apt.candidates(roots)?;
    let missing: Vec<String> = roots
        .iter()
        .filter(|root| !offered.iter().any(|c| c.name == **root))
        .map(|root| (*root).to_owned())
        .collect();
    if !missing.is_empty() {
        let suites = mirrors.main.suites.iter().chain(&mirrors.security.suites).cloned().collect();
        return Err(debian::Error::NotFound { packages: missing, suites }.into());
    }
    let mut files = apt.closure(roots)?;
    files.retain(|file| !is_left_out(&file.name));
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let candidates = apt.candidates(&names)?;
    Ok((apt, with_suites(files, &candidates)))
}

/// The ROCm pieces, each from the first suite that has it. A suite's index is fetched only when needed.
fn resolve_rocm(
    mirrors: &Mirrors,
    state: &Path,
    states: &mut Vec<(PrivateApt, Vec<Resolved>)>,
) -> Result<(), Error> {
    let mut wanted = ROCM_PACKAGES.to_vec();
    let mut tried = Vec::new();
    for suite in ROCM_SUITES {
        if wanted.is_empty() {
            break;
        }
        tried.push(suite.to_owned());
        // Mirrors and snapshots keep these suites past their Valid-Until; their signatures still have to
        // verify.
        let apt = PrivateApt::create(state.join(suite), &apt::stanza(&mirrors.main, &[suite], Some(false)))?;
        apt.update()?;
        let names: Vec<&str> = wanted.iter().map(|want| want.name).collect();
        let (found, missing) = index::resolve(&wanted, &apt.candidates(&names)?);
        let files = apt.files(&found)?;
        states.push((apt, with_suites(files, &found)));
        wanted = missing;
    }
    match wanted.is_empty() {
        true => Ok(()),
        false => Err(debian::Error::NotFound {
            packages: wanted
                .iter()
                .map(|w| format!("{} (version {} or newer)", w.name, w.min_major))
                .collect(),
            suites: tried,
        }
        .into()),
    }
}

fn package_table(packages: &[&Resolved]) -> String {
    let mut table = Table::new(&[
        ("package", Align::Left),
        ("version", Align::Left),
        ("suite", Align::Left),
        ("bytes", Align::Right),
    ]);
    for Resolved { file, suite } in packages {
        table.row([file.name.clone(), file.version.clone(), suite.clone(), bytes(file.size)]);
    }
    table.render()
}

/// What the user must provide on a system without packages.
fn requirements(program: &Program) -> String {
    let also: String = program.also_needs.iter().map(|line| format!("\n  - {line}")).collect();
    let doctor = program.command("doctor");
    format!(
        "\
The device toolchain needs:
  - clang 22 or newer with the AMDGPU target, as `clang-<version>` or `clang` in PATH, and lld of the same version
  - the ROCm device libraries for that clang (ocml.bc, ockl.bc, …: package rocm-device-libs)
  - the HIP headers, version 7 or newer (hip/hip_runtime.h and share/hip/version)
  - C++ standard library headers and C headers (libstdc++-dev, libc6-dev, or your distribution's names){also}
A ROCm 7 installation has all of it: install it under /opt/rocm, or set ROCM_PATH (or HIP_PATH) to where it is.
Single parts elsewhere can be named by FERROCM_CLANG (a clang) and FERROCM_HIP_PATH (a folder with include/hip).
`{doctor}` shows what was found."
    )
}

/// Whether a path exists and is a directory with something in it.
fn has_entries(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_keeps_its_runtimes_and_the_compiler_its_libraries() {
        for name in
            ["libc6", "libstdc++6", "libgcc-s1", "binutils-x86-64-linux-gnu", "libkrb5-3", "libtirpc-dev"]
        {
            assert!(is_left_out(name), "{name}");
        }
        for name in [
            "libllvm22",
            "libz3-4",
            "libc6-dev",
            "libgcc-12-dev",
            "libstdc++-12-dev",
            "linux-libc-dev",
            "zlib1g",
        ] {
            assert!(!is_left_out(name), "{name}");
        }
    }

    #[test]
    fn an_unsupported_system_is_told_what_to_provide() {
        let program = Program { name: "the-program", also_needs: &["a thing of its own"] };
        let reason = "this is Arch Linux, not Debian 12".to_owned();
        let text = Error::Unsupported { reason, requirements: requirements(&program) }.to_string();
        for part in [
            "Arch Linux",
            "clang 22",
            "device libraries",
            "HIP headers",
            "\n  - a thing of its own\n",
            "ROCM_PATH",
            "`the-program doctor` shows what was found",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("xtask") && !text.contains("ferrocm "), "{text}");
    }
}
