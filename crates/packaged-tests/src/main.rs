//! `run-tests`, in the archives of `cargo xtask package-tests`: runs the archive's tests on this machine's
//! GPU with cargo-nextest, which lies beside it, and writes `junit.xml` and `index.html`. Nothing else is
//! needed: no Rust, no compiler, no network.

mod libraries;
mod list;
mod page;
mod results;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use serde::{Deserialize, Serialize};
use test_skip::devices::{Exception, Where};

use crate::list::Programs;
use crate::results::Run;

/// Runs the tests of this archive on a GPU of this machine, and writes junit.xml and a page.
#[derive(Debug, Parser)]
#[command(name = "run-tests", version)]
struct Options {
    /// Device, such as cuda:0 or amdgpu:1 [default: the first AMD GPU, else the first NVIDIA one]
    #[arg(long, value_name = "URI")]
    device: Option<String>,
    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Tests at a time [default: the number of processors, at most 16]
    #[arg(long, short = 'j', value_name = "N")]
    jobs: Option<usize>,
    /// Tests to run, as an expression of cargo-nextest, such as 'package(ferrocm-kernels)' or 'test(gemm)'
    #[arg(long, short = 'E', value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Minutes after which all tests still running are stopped
    #[arg(long, value_name = "MINUTES", default_value_t = 10)]
    limit: u64,
    /// Only list the tests, and which of them the device cannot run
    #[arg(long)]
    list: bool,
}

/// What `cargo xtask package-tests` says of the archive.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct Archive {
    /// The commit, with a mark if files differed from it.
    commit: String,
    /// The AMD targets and NVIDIA architectures that there is code for.
    targets: Vec<String>,
    /// Whether the programs contain the virtual GPU.
    has_virtual: bool,
    /// The compiler.
    rustc: String,
    /// The tests that do not run on every device.
    left_out: Vec<Row>,
    /// The tests of the programs that belong to the archive, if not all, as an expression of cargo-nextest.
    #[serde(default)]
    filter: Option<String>,
}

/// Tests that do not run somewhere.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct Row {
    package: String,
    test: String,
    at: String,
    reason: String,
}

impl Archive {
    /// The tests that do not run on a GPU.
    fn exceptions(&self, device: &str) -> Result<Vec<Exception<'_>>> {
        let mut rows = Vec::new();
        for Row { package, test, at, reason } in &self.left_out {
            let at = Where::of_name(at).with_context(|| format!("archive.json: `{at}` is no place"))?;
            rows.push(Exception { package, test, at, reason });
        }
        rows.retain(|row| row.holds(device, self.has_virtual));
        Ok(rows)
    }
}

fn main() -> ExitCode {
    let result =
        Options::try_parse().map_err(|error| error.exit()).and_then(|options: Options| run(&options));
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            // A failed test is another thing than tests that did not run.
            ExitCode::from(2)
        }
    }
}

/// The GPU, by its URI and in words.
fn device(wanted: Option<&str>, archive: &Archive) -> Result<(String, String)> {
    let open = |uri: &str| -> Result<(String, String), String> {
        // The virtual GPU is in the tests, and not in this program.
        if uri.starts_with("vgpu") {
            let has = archive.has_virtual;
            return if has {
                Ok((uri.to_owned(), uri.to_owned()))
            } else {
                Err("the programs of this archive contain no virtual GPU".to_owned())
            };
        }
        let device = hip::Device::open(uri).map_err(|error| error.to_string())?;
        let properties = device.properties();
        let words = format!(
            "{} ({}, {} compute units, {} GiB)",
            properties.name,
            device.target(),
            properties.compute_units,
            properties.memory >> 30
        );
        Ok((uri.to_owned(), words))
    };
    if let Some(uri) = wanted {
        return open(uri).map_err(|reason| anyhow::anyhow!("{uri} cannot be opened: {reason}"));
    }
    let mut reasons = Vec::new();
    for uri in ["amdgpu:0", "cuda:0"] {
        match open(uri) {
            Ok(found) => return Ok(found),
            Err(reason) => reasons.push(format!("  {uri}: {reason}")),
        }
    }
    bail!("this machine has no GPU that can be used:\n{}", reasons.join("\n"))
}

/// Whether all tests passed.
fn run(options: &Options) -> Result<bool> {
    let started = Instant::now();
    let program = std::env::current_exe().context("the path of this program")?;
    let base = program.parent().context("the folder of this program")?;
    let text = base.join("archive.json");
    let text =
        fs::read_to_string(&text).with_context(|| format!("{} belongs to an archive", text.display()))?;
    let archive: Archive = serde_json::from_str(&text).context("archive.json")?;
    let (uri, device) = device(options.device.as_deref(), &archive)?;
    println!("{uri}: {device}");

    fs::create_dir_all(&options.out).with_context(|| options.out.display().to_string())?;
    let out = options.out.canonicalize()?;
    let libraries = libraries::find(uri.starts_with("cuda"));
    for library in &libraries {
        println!("{}: {}", library.what, library.place);
    }
    let skips = out.join("skipped.tsv");
    fs::write(&skips, "").with_context(|| skips.display().to_string())?;
    let configuration = configuration(base, &out, options.limit)?;
    let is_named = std::env::var_os(libraries::TOOLKIT_VARIABLE).is_some();
    let toolkit = libraries::toolkit(uri.starts_with("cuda")).filter(|_| !is_named);
    let nextest = |verb: &str| {
        let mut command = Command::new(base.join("cargo-nextest"));
        command.args(["nextest", verb, "--workspace-remap"]).arg(base.join("workspace"));
        command.arg("--config-file").arg(&configuration);
        command.env("FERROCM_DEVICE", &uri).env("FERROCM_TEST_KERNELS", base.join("kernels"));
        command.env(test_skip::LIST_VARIABLE, &skips).env("RUST_BACKTRACE", "1").env("NO_COLOR", "1");
        if let Some(toolkit) = &toolkit {
            command.env(libraries::TOOLKIT_VARIABLE, toolkit);
        }
        command
    };

    let programs = Programs::list(&base.join("programs"), nextest("list"), archive.filter.as_deref())?;
    let left_out = programs.left_out(archive.exceptions(&uri)?);
    if options.list {
        print!("{}", programs.text(&left_out));
        return Ok(true);
    }
    let mut command = nextest("run");
    programs.name(&mut command);
    let jobs =
        options.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from).min(16));
    command.args(["--test-threads", &jobs.to_string(), "--no-fail-fast", "--no-tests", "warn"]);
    command.arg("--filterset").arg(left_out.filter(both(&archive, options).as_deref()));
    let status = command.status().context("cargo-nextest, which belongs to the archive")?;
    let wall = started.elapsed();

    let junit = out.join("nextest/default/junit.xml");
    let mut run = Run::read(&junit, &skips, &programs, &left_out, options.filter.is_none())?;
    run.name = format!("{device}, {uri}");
    // cargo-nextest ends with 100 if tests have failed; any other failure is its own.
    match status.code() {
        Some(0 | 100) => {}
        _ => run.problem(&format!("cargo-nextest ended with {status}")),
    }
    let (xml, html) = (out.join("junit.xml"), out.join("index.html"));
    fs::write(&xml, run.suite().to_xml()).with_context(|| xml.display().to_string())?;
    let about = about(&archive, &uri, &device, &libraries, jobs, wall);
    fs::write(&html, page::page(&run, &about)).with_context(|| html.display().to_string())?;
    println!("\n{}", run.summary());
    println!("{} s; {} and {}", wall.as_secs(), xml.display(), html.display());
    Ok(run.has_passed())
}

/// The tests that both the archive and the user want.
fn both(archive: &Archive, options: &Options) -> Option<String> {
    match (&archive.filter, &options.filter) {
        (Some(archive), Some(user)) => Some(format!("({archive}) & ({user})")),
        (one, other) => one.clone().or_else(|| other.clone()),
    }
}

/// cargo-nextest's settings, with where its files go.
fn configuration(base: &Path, out: &Path, minutes: u64) -> Result<PathBuf> {
    let settings = base.join("nextest.toml");
    let settings = fs::read_to_string(&settings).with_context(|| settings.display().to_string())?;
    let path = out.join("nextest.toml");
    let store = serde_json::to_string(&out.join("nextest")).context("the folder's name")?;
    // Its strings are those of JSON.
    let text =
        format!("[store]\ndir = {store}\n\n{}", settings.replace("LIMIT", &format!("{}s", minutes * 60)));
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// What the page says of a run, by name.
fn about(
    archive: &Archive,
    uri: &str,
    device: &str,
    libraries: &[libraries::Library],
    jobs: usize,
    wall: Duration,
) -> Vec<(String, String)> {
    let row = |name: &str, text: String| (name.to_owned(), text);
    let mut rows = vec![
        row("device", format!("{uri}: {device}")),
        row("driver", libraries::driver()),
        row("machine", fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()),
        row("commit", archive.commit.clone()),
        row("code for", archive.targets.join(", ")),
        row("compiler", archive.rustc.clone()),
        row("tests at a time", jobs.to_string()),
        row("seconds", format!("{:.1}", wall.as_secs_f64())),
    ];
    rows.extend(libraries.iter().map(|library| row(library.what, library.place.clone())));
    rows
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn a_machine_without_the_named_gpu_is_an_error_that_says_why() {
        let archive = Archive::default();
        let error = device(Some("vgpu:gfx1100"), &archive).unwrap_err().to_string();
        assert_eq!(
            error,
            "vgpu:gfx1100 cannot be opened: the programs of this archive contain no virtual GPU"
        );
        let error = device(Some("amdgpu:77"), &archive).unwrap_err().to_string();
        assert!(error.starts_with("amdgpu:77 cannot be opened: "), "{error}");
        let with = Archive { has_virtual: true, ..Archive::default() };
        assert_eq!(device(Some("vgpu"), &with).unwrap().0, "vgpu");
    }

    #[test]
    fn what_the_archive_has_and_what_the_user_wants_are_both_asked_for() {
        let filter = |archive: Option<&str>, user: &[&str]| {
            let archive = Archive { filter: archive.map(str::to_owned), ..Archive::default() };
            let options = Options::parse_from([&["run-tests"], user].concat());
            both(&archive, &options)
        };
        assert_eq!(filter(None, &[]), None);
        assert_eq!(filter(None, &["-E", "test(a)"]).as_deref(), Some("test(a)"));
        assert_eq!(filter(Some("test(a) | test(b)"), &[]).as_deref(), Some("test(a) | test(b)"));
        let all = filter(Some("test(a) | test(b)"), &["-E", "test(c)"]);
        assert_eq!(all.as_deref(), Some("(test(a) | test(b)) & (test(c))"));
    }

    #[test]
    fn results_go_where_they_are_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("nextest.toml"), "[profile.default]\nglobal-timeout = \"LIMIT\"\n")
            .unwrap();
        let out = folder.path().join("a \"b\"");
        fs::create_dir(&out).unwrap();
        let path = configuration(folder.path(), &out, 3).unwrap();
        let text = fs::read_to_string(path).unwrap();
        assert!(text.starts_with("[store]\ndir = \"") && text.contains("a \\\"b\\\"/nextest\""), "{text}");
        assert!(text.ends_with("global-timeout = \"180s\"\n"), "{text}");
    }
}
