//! `cargo xtask setup`: finds the device toolchain, or installs it from Debian's suites into a private prefix.

mod apt;
mod index;
pub(crate) mod os;
pub(crate) mod prefix;
mod sources;
mod tested;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use self::apt::PrivateApt;
use self::index::{Candidate, PackageFile, Wanted};
use self::prefix::{Manifest, ManifestPackage, Toolchains};
use self::sources::Mirrors;
use crate::run;
use crate::table::{Align, Table, bytes};
use crate::toolchain::{self, Found};
use kernel_build::toolchain::{NotFound, Origin, Search};

/// The compiler's package, whose version names the toolchain.
const CLANG: &str = "clang-22";
/// Installed with their dependencies from the stable release's suites.
const COMPILER_ROOTS: [&str; 3] = [CLANG, "lld-22", "libclang1-22"];
/// The C++ headers alone, for a machine with a compiler but without them.
const HEADER_ROOTS: [&str; 1] = ["libstdc++-12-dev"];
const DEVICE_LIBS: Wanted = Wanted { name: "rocm-device-libs-22", min_major: 7 };
/// Unpacked without dependencies: headers, bitcode and a script. Their libraries would need a newer libc.
const ROCM_PACKAGES: [Wanted; 4] = [
    DEVICE_LIBS,
    Wanted { name: "hipify-perl", min_major: 7 },
    Wanted { name: "libamdhip64-dev", min_major: 7 },
    Wanted { name: "libhsa-runtime-dev", min_major: 7 },
];
/// Where those are looked for, in this order.
const ROCM_SUITES: [&str; 3] = ["experimental", "sid", "trixie"];
/// How much larger the packages are when unpacked (measured: 4.8).
const UNPACKED_PER_PACKED: u64 = 5;
/// Inside a prefix: the shared libraries, the compiler and the device libraries.
pub(crate) const LIBRARY_FOLDER: &str = "usr/lib/x86_64-linux-gnu";
pub(crate) const CLANG_IN_PREFIX: &str = "usr/lib/llvm-22/bin/clang-22";

/// Dependencies of the compiler's packages that compiling for a GPU does not touch, or that have to be the machine's own
/// (the C and C++ runtimes, which belong together with its dynamic loader).
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

/// Why there is no toolchain now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the device toolchain cannot be installed here: {reason}.\n\n{}", os::requirements())]
    Unsupported { reason: String },
    #[error("none of this machine's apt sources serves Debian 12's main archive (read: {})", files.join(", "))]
    NoMirror { files: Vec<String> },
    #[error("nothing was installed: the answer was no")]
    Declined,
    #[error(
        "a variable (FERROCM_CLANG or FERROCM_HIP_PATH) names a part of the toolchain that will not do, and set-up does \
         not override it: {0}"
    )]
    Bound(NotFound),
    #[error("what was fetched does not make a complete toolchain, so it was not installed: {0}")]
    Incomplete(NotFound),
    #[error(transparent)]
    Cache(#[from] toolchain::CacheError),
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "no room left in {}: the packages and indexes take 120 MB in the temporary folder (TMPDIR) and the toolchain \
         400 MB in the cache (FERROCM_CACHE)",
        folder.display()
    )]
    DiskFull { folder: PathBuf },
    #[error("the package indexes could not be fetched and verified: {source}")]
    Index {
        #[source]
        source: run::Error,
    },
    #[error("apt cannot resolve the packages: {source}")]
    Resolve {
        #[source]
        source: run::Error,
    },
    #[error("apt's answer is not understood: {0}")]
    UnknownAptAnswer(String),
    #[error("not found in {}: {}", suites.join(", "), packages.join(", "))]
    NotFound { packages: Vec<String>, suites: Vec<String> },
    #[error("the download failed: {source}")]
    Download {
        #[source]
        source: run::Error,
    },
    #[error("{file} is not the file that the signed index names (SHA-256 {found}, expected {expected})")]
    Hash { file: String, expected: String, found: String },
    #[error("{file} cannot be unpacked: {source}")]
    Unpack {
        file: String,
        #[source]
        source: run::Error,
    },
    #[error("the toolchain cannot compile a kernel for {target}, so it was not installed: {source}")]
    Probe {
        target: &'static str,
        #[source]
        source: run::Error,
    },
    #[error("{} compiled a kernel for {target} without an error, but wrote no code object", clang.display())]
    ProbeOutput { target: &'static str, clang: PathBuf },
}

/// How `setup` is to behave.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// Install without asking.
    pub(crate) yes: bool,
    /// Resolve and show, install nothing.
    pub(crate) dry_run: bool,
    /// Install the whole toolchain even if the machine has one.
    pub(crate) prefix_only: bool,
    /// Resolve again even if the prefix is complete.
    pub(crate) update: bool,
}

/// What has to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Plan {
    /// Everything.
    Whole,
    /// What the machine's own clang lacks.
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

    /// Download and disk use for the question, before any index is known.
    fn rough_size(&self) -> &'static str {
        match self {
            Self::Whole => "about 95 MB to download, 400 MB on disk",
            Self::Pieces { cpp_headers: true } => "about 20 MB to download, 75 MB on disk",
            Self::Pieces { cpp_headers: false } => "about 2 MB to download, 10 MB on disk",
        }
    }

    fn contents(&self) -> &'static str {
        match self {
            Self::Whole => {
                "clang 22, lld and libclang, C++ headers, ROCm device libraries, HIP and HSA headers, hipify-perl"
            }
            Self::Pieces { cpp_headers: true } => {
                "C++ headers, ROCm device libraries, HIP and HSA headers, hipify-perl"
            }
            Self::Pieces { cpp_headers: false } => "ROCm device libraries, HIP and HSA headers, hipify-perl",
        }
    }
}

/// Makes sure that there is a toolchain; prints what was found or done.
pub(crate) fn setup(options: Options) -> Result<(), Error> {
    let Some(plan) = plan(options, true)? else { return Ok(()) };
    if let os::Support::Unsupported(reason) = os::support_of_this_machine() {
        return Err(Error::Unsupported { reason });
    }
    let (sources, files) = sources::read_sources(Path::new("/etc/apt"));
    let mirrors = sources::debian_mirrors(&sources)
        .ok_or_else(|| Error::NoMirror { files: files.iter().map(|f| f.display().to_string()).collect() })?;
    let folder = toolchain::cache_folder()?.join("toolchain");
    announce(&plan, &mirrors, &folder);
    if !options.dry_run {
        confirm(options)?;
    }
    let toolchains = Toolchains::lock(&folder)?;
    // A set-up that held the lock until now may have installed it.
    let Some(plan) = self::plan(options, false)? else { return Ok(()) };
    match install(&plan, &mirrors, &toolchains, options.dry_run) {
        Err(Error::Incomplete(reason)) if plan != Plan::Whole => {
            println!("The machine's own compiler cannot be completed: {reason}");
            announce(&Plan::Whole, &mirrors, &folder);
            confirm(options)?;
            install(&Plan::Whole, &mirrors, &toolchains, options.dry_run)
        }
        result => result,
    }
}

/// What is missing, or `None` when nothing is.
fn plan(options: Options, say: bool) -> Result<Option<Plan>, Error> {
    if options.prefix_only {
        let prefix = toolchain::cache_folder()?.join("toolchain/current");
        return Ok(match Manifest::read(&prefix) {
            Some(manifest)
                if manifest.has_compiler && prefix.join(CLANG_IN_PREFIX).exists() && !options.update =>
            {
                println!("The private prefix is complete: {}", prefix.display());
                None
            }
            _ => Some(Plan::Whole),
        });
    }
    match toolchain::find(&Search::from_env()) {
        Found::Complete(toolchain) => {
            if options.update && matches!(toolchain.origin, Origin::Prefix(_)) {
                return Ok(Some(Plan::Whole));
            }
            println!("Device toolchain: {}", toolchain::describe(&toolchain));
            Ok(None)
        }
        Found::CompilerOnly => {
            if say {
                println!("This machine has a clang that would do, but not all that it needs.");
            }
            Ok(Some(Plan::Pieces { cpp_headers: !os::has_entries(Path::new("/usr/include/c++")) }))
        }
        Found::Nothing => {
            if say {
                println!("This machine has no ROCm and no clang 22 or later.");
            }
            Ok(Some(Plan::Whole))
        }
        Found::Bound(error) => Err(Error::Bound(error)),
    }
}

fn announce(plan: &Plan, mirrors: &Mirrors, folder: &Path) {
    println!("To install: {} ({}).", plan.contents(), plan.rough_size());
    let main = sources::without_credentials(&mirrors.main.uri);
    if plan.roots().is_empty() {
        println!("  from   {main}, the mirror of this machine's apt");
    } else {
        let security = sources::without_credentials(&mirrors.security.uri);
        println!("  from   {main} and {security}, the mirrors of this machine's apt");
        if mirrors.security_derived {
            println!(
                "         (its sources name no security archive: that address is derived from the main one)"
            );
        }
    }
    println!("  into   {}, a folder of its own", folder.display());
    println!("  apt's configuration, the package database and the system's folders stay as they are.");
}

fn confirm(options: Options) -> Result<(), Error> {
    if options.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        println!("No terminal to ask on: going on.");
        return Ok(());
    }
    print!("Go on? [Y/n] ");
    let _ = io::stdout().flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer).unwrap_or(0);
    match answer.trim().to_ascii_lowercase().as_str() {
        "" if read > 0 => Ok(()),
        "y" | "yes" => Ok(()),
        _ => Err(Error::Declined),
    }
}

/// A package file, and the suite whose index names it.
type Resolved = (PackageFile, String);

fn install(plan: &Plan, mirrors: &Mirrors, toolchains: &Toolchains, dry_run: bool) -> Result<(), Error> {
    let staging = toolchains.stage()?;
    let state = apt_state_folder()?;
    staging.note_apt_state(state.path())?;

    let steps = spinner("Fetching and verifying package indexes");
    let mut states: Vec<(PrivateApt, Vec<Resolved>)> = Vec::new();
    if !plan.roots().is_empty() {
        states.push(resolve_base(plan, mirrors, state.path().join("base"))?);
    }
    resolve_rocm(mirrors, state.path(), &mut states)?;
    steps.finish_and_clear();

    let all: Vec<&Resolved> = states.iter().flat_map(|(_, packages)| packages).collect();
    let total: u64 = all.iter().map(|(file, _)| file.size).sum();
    println!("{} packages, {} to download.", all.len(), bytes(total));
    if dry_run {
        print!("{}", package_table(&all));
        println!("Nothing was installed (--dry-run).");
        return Ok(());
    }

    ensure_room(state.path(), total)?;
    ensure_room(staging.prefix(), total * UNPACKED_PER_PACKED)?;
    let bar = bar(total, "Downloading", "{bytes}/{total_bytes}");
    let mut done = 0;
    for (apt, packages) in &states {
        let files: Vec<PackageFile> = packages.iter().map(|(file, _)| file.clone()).collect();
        apt.download(&files, &|here| bar.set_position(done + here))?;
        done += files.iter().map(|file| file.size).sum::<u64>();
    }
    bar.finish_and_clear();

    let bar = self::bar(all.len() as u64, "Unpacking", "{pos}/{len}");
    for (apt, packages) in &states {
        for (file, _) in packages {
            staging.unpack(file, &apt.downloads())?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();

    let manifest = Manifest::new(*plan == Plan::Whole, all.into_iter().map(manifest_package).collect());
    let steps = spinner("Compiling a probe kernel");
    // The search that every build makes is what has to find the new parts.
    let environment = Search { prefix: Some(staging.prefix().to_owned()), ..Search::from_env() };
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

/// Fails early where the file system says that it has too little room; one that says nothing is tried.
fn ensure_room(folder: &Path, needed: u64) -> Result<(), Error> {
    let folder_text = folder.to_string_lossy();
    let free = run::capture(std::process::Command::new("df").args(["-B1", "--output=avail", &folder_text]))
        .ok()
        .and_then(|text| text.lines().last()?.trim().parse::<u64>().ok());
    match free {
        Some(free) if free < needed => Err(Error::DiskFull { folder: folder.to_owned() }),
        _ => Ok(()),
    }
}

fn manifest_package((file, suite): &Resolved) -> ManifestPackage {
    ManifestPackage {
        name: file.name.clone(),
        version: file.version.clone(),
        suite: suite.clone(),
        sha256: file.sha256.clone(),
        uri: file.uri.clone(),
    }
}

fn report(manifest: &Manifest, place: &Path, toolchains: &Toolchains) {
    println!("Installed {} in {}", manifest.id, place.display());
    let differences = tested::differences(&manifest.packages);
    if differences.is_empty() {
        println!(
            "Every package is the one this version was tested with; the probe compiles for three targets."
        );
    } else {
        println!("note: not the packages this version was tested with (the probe compiles all the same):");
        for line in differences {
            println!("  {line}");
        }
    }
    for old in toolchains.superseded() {
        println!("note: no longer used, can be removed: {}", old.display());
    }
}

/// A temporary folder that apt's unprivileged download user can reach.
fn apt_state_folder() -> Result<tempfile::TempDir, Error> {
    use std::os::unix::fs::PermissionsExt;
    let base = std::env::temp_dir();
    tempfile::Builder::new()
        .prefix(prefix::APT_STATE_PREFIX)
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir_in(&base)
        .map_err(|source| Error::Io { action: "create a folder in", path: base, source })
}

/// The compiler and what it needs, from the suites of the stable release.
fn resolve_base(plan: &Plan, mirrors: &Mirrors, root: PathBuf) -> Result<(PrivateApt, Vec<Resolved>), Error> {
    let text: String = [&mirrors.main, &mirrors.security]
        .map(|mirror| {
            let suites: Vec<&str> = mirror.suites.iter().map(String::as_str).collect();
            apt::stanza(mirror, &suites, mirror.check_valid_until)
        })
        .concat();
    let apt = PrivateApt::create(root, &text)?;
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
        return Err(Error::NotFound { packages: missing, suites });
    }
    let mut files = apt.closure(roots)?;
    files.retain(|file| !is_left_out(&file.name));
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let candidates = apt.candidates(&names)?;
    Ok((apt, with_suites(files, &candidates)))
}

/// The ROCm pieces, each from the first suite that has it. A suite's index is fetched only when it is needed.
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
        // Mirrors and snapshots keep these suites past their Valid-Until; their signatures still have to verify.
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
        false => Err(Error::NotFound {
            packages: wanted
                .iter()
                .map(|w| format!("{} (version {} or newer)", w.name, w.min_major))
                .collect(),
            suites: tried,
        }),
    }
}

fn with_suites(files: Vec<PackageFile>, candidates: &[Candidate]) -> Vec<Resolved> {
    files
        .into_iter()
        .map(|file| {
            let suite = candidates.iter().find(|c| c.name == file.name && c.version == file.version);
            let suite = suite.map_or_else(|| "unknown".to_owned(), |candidate| candidate.suite.clone());
            (file, suite)
        })
        .collect()
}

fn package_table(packages: &[&Resolved]) -> String {
    let mut table = Table::new(&[
        ("package", Align::Left),
        ("version", Align::Left),
        ("suite", Align::Left),
        ("bytes", Align::Right),
    ]);
    for (file, suite) in packages {
        table.row([file.name.clone(), file.version.clone(), suite.clone(), bytes(file.size)]);
    }
    table.render()
}

/// A bar on a terminal; elsewhere the heading alone.
fn bar(length: u64, heading: &'static str, numbers: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        println!("{heading} …");
        return ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template(&format!("{{msg:12}} {{wide_bar}} {numbers}"));
    let bar = ProgressBar::new(length).with_message(heading);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn spinner(heading: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        println!("{heading} …");
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(heading);
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    spinner
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
    fn suites_are_matched_by_version() {
        let file = |version: &str| PackageFile {
            name: "a".to_owned(),
            version: version.to_owned(),
            file: String::new(),
            uri: String::new(),
            size: 0,
            sha256: String::new(),
        };
        let candidate = |version: &str, suite: &str| Candidate {
            name: "a".to_owned(),
            version: version.to_owned(),
            suite: suite.to_owned(),
        };
        let candidates = [candidate("2", "bookworm-security"), candidate("1", "bookworm")];
        let resolved = with_suites(vec![file("1"), file("2"), file("3")], &candidates);
        assert_eq!(
            resolved.iter().map(|(_, suite)| suite.as_str()).collect::<Vec<_>>(),
            ["bookworm", "bookworm-security", "unknown"]
        );
    }

    #[test]
    fn an_unsupported_system_is_told_what_to_provide() {
        let text = Error::Unsupported { reason: "this is Arch Linux, not Debian 12".to_owned() }.to_string();
        for part in ["Arch Linux", "clang 22", "device libraries", "HIP headers", "ROCM_PATH"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
