//! `cargo xtask build-kernels`: compiles `kernels/` and shows the results.

mod tables;

use std::fs;
use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kernel_build::report::{Limits, Report, ReportError};
use kernel_build::{Build, Builder, Event};
use setup::table::bytes;

use crate::tools;

/// The exit code of a build whose kernels got worse or exceed a limit; errors give 1.
const WORSE: u8 = 2;
/// The name of the last build's report for `--against`.
const LAST: &str = "last";
/// The name of the standard output for `--json`.
pub(crate) const STDOUT: &str = "-";

/// What to build, and how much to print.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Targets; empty means those of the environment or the default ones.
    pub(crate) targets: Vec<String>,
    /// The folder of the sources, if it is not the workspace's own.
    pub(crate) source: Option<PathBuf>,
    /// Patterns of sources to leave out.
    pub(crate) exclude: Vec<String>,
    /// Folders of headers.
    pub(crate) include: Vec<PathBuf>,
    /// Further options of the compiler, clang's or nvcc's.
    pub(crate) flags: Vec<String>,
    /// Whether the code objects of each source are compressed, and their sizes shown.
    pub(crate) compress: bool,
    /// Where to write the report as JSON. With [`STDOUT`], it goes to the standard output, and everything
    /// else to the standard error.
    pub(crate) json: Option<PathBuf>,
    /// The earlier report to compare with, or [`LAST`].
    pub(crate) against: Option<PathBuf>,
    /// Limits of kernels, for [`Limits::parse`].
    pub(crate) limits: Vec<String>,
    /// How much to print.
    pub(crate) detail: Detail,
}

/// How much a build prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Detail {
    /// One line.
    #[default]
    Line,
    /// A row per module. The figures of every kernel go to a file.
    Modules,
    /// A row per code object, and one per kernel.
    Kernels,
}

/// Builds every module for every target, from the cache if unchanged.
pub(crate) fn build(options: &Options) -> Result<()> {
    run(options).map(|_| ())
}

/// Builds like [`build`], and returns the exit code: [`WORSE`] if kernels got worse or exceed a limit.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    // Errors in these are reported before anything is compiled.
    let limits = Limits::parse(&options.limits)?;
    let last = tools::target_folder().join("kernels.json");
    let earlier = options.against.as_deref().map(|file| earlier(file, &last)).transpose()?;
    let to_stdout = options.json.as_deref() == Some(Path::new(STDOUT));
    let output = Output { to_stderr: to_stdout };

    let folder = options.source.clone().unwrap_or_else(|| tools::workspace().join("kernels"));
    // The same folders and options as in the build script of the `kernels` crate, which then finds everything
    // in the cache.
    let mut builder = Builder::new(&folder);
    if !options.targets.is_empty() {
        builder = builder.targets(&options.targets);
    }
    builder = options.exclude.iter().fold(builder, Builder::exclude);
    builder = options.include.iter().fold(builder, Builder::include);
    builder = options.flags.iter().fold(builder, Builder::flag).offload_compress(options.compress);
    let started = Instant::now();
    let progress = Progress::new(options.detail == Detail::Modules, output);
    let listener = progress.clone();
    let result = builder.on_event(move |event| listener.tell(event)).build();
    progress.bar.finish_and_clear();
    let build = result?;
    for warning in build.warnings() {
        eprintln!("{warning}");
    }
    for folder in &build.missing_includes {
        eprintln!("warning: the folder of headers {} does not exist", folder.display());
    }
    let line = closing_line(&build, started.elapsed());
    let uses: Vec<_> = build.kernel_uses().collect();
    match options.detail {
        Detail::Line => output.print(&format!("{line}\n")),
        Detail::Modules => {
            let path = tools::target_folder().join("kernels.txt");
            fs::write(&path, tables::figures_of(&build, &uses))
                .with_context(|| path.display().to_string())?;
            output.print(&tables::module_table(&uses));
            if let Some(sizes) = tables::bundles_of(&build) {
                output.print(&format!("\n{sizes}"));
            }
            output.print(&format!("{line}\nWhat each kernel uses: {}\n", path.display()));
        }
        Detail::Kernels if to_stdout => output.print(&format!("{line}\n")),
        Detail::Kernels => output.print(&format!("{}\n{line}\n", tables::figures_of(&build, &uses))),
    }
    if build.modules.is_empty() {
        bail!("no kernel sources in {}", folder.display());
    }

    let report = Report::new(&build);
    report.write(&last)?;
    match &options.json {
        Some(_) if to_stdout => {
            io::stdout()
                .write_all(report.to_json()?.as_bytes())
                .context("cannot write to the standard output")?;
        }
        Some(file) => report.write(file)?,
        None => {}
    }
    let mut worse = false;
    if let Some((name, earlier)) = earlier {
        let changes = report.changes_since(&earlier);
        worse |= !changes.worse.is_empty();
        output.print(&format!("\n{}", tables::changes(&changes, &name)));
    }
    if !limits.is_empty() {
        let excesses = limits.check(&report)?;
        worse |= !excesses.is_empty();
        output.print(&format!("\n{}", tables::excesses(&excesses)));
    }
    Ok(if worse { ExitCode::from(WORSE) } else { ExitCode::SUCCESS })
}

/// The report to compare with, and its name in messages.
fn earlier(file: &Path, last: &Path) -> Result<(String, Report)> {
    if file != Path::new(LAST) {
        return Ok((file.display().to_string(), Report::read(file)?));
    }
    match Report::read(last) {
        Ok(report) => Ok(("the last build".to_owned(), report)),
        Err(ReportError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            bail!(
                "there is no last build to compare with: {} does not exist; build once without --against",
                last.display()
            )
        }
        Err(error) => {
            Err(anyhow::Error::new(error).context("build once without --against, which rewrites this file"))
        }
    }
}

/// The stream for human-readable texts.
#[derive(Debug, Clone, Copy)]
struct Output {
    to_stderr: bool,
}

impl Output {
    fn print(self, text: &str) {
        if self.to_stderr {
            eprint!("{text}");
        } else {
            print!("{text}");
        }
    }
}

fn closing_line(build: &Build, elapsed: Duration) -> String {
    let objects: Vec<_> = build.objects().map(|(_, object)| object).collect();
    let cached = objects.iter().filter(|object| object.cached).count();
    let size: usize = objects.iter().map(|object| object.bytes.len()).sum();
    let packed: usize = build
        .modules
        .iter()
        .filter_map(|module| module.bundle.as_ref())
        .map(|bundle| bundle.bytes.len())
        .sum();
    let compressed =
        if packed > 0 { format!(", {} compressed", bytes(packed as u64)) } else { String::new() };
    format!(
        "{} modules for {} targets: {} code objects, {}{compressed}; {} compiled, {cached} from the cache, in {:.1} s.",
        build.modules.len(),
        build.targets.len(),
        objects.len(),
        bytes(size as u64),
        objects.len() - cached,
        elapsed.as_secs_f64()
    )
}

/// A progress bar on a terminal; elsewhere, a line per compiled code object, unless there are too many.
#[derive(Debug, Clone)]
struct Progress {
    bar: ProgressBar,
    /// Whether finished jobs get no line.
    quiet: bool,
    output: Output,
}

impl Progress {
    fn new(quiet: bool, output: Output) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = if terminal { ProgressBar::new(0) } else { ProgressBar::hidden() };
        // The template is a constant; without it, the bar has indicatif's default style.
        if let Ok(style) = ProgressStyle::with_template("Compiling    {wide_bar} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Self { bar, quiet: quiet || terminal, output }
    }

    fn tell(&self, event: Event<'_>) {
        match event {
            Event::Planned { jobs } => self.bar.set_length(jobs as u64),
            Event::Started { module, target } => self.bar.set_message(format!("{module} {target}")),
            Event::Finished { module, target, cached, duration } => {
                self.bar.inc(1);
                if !self.quiet && !cached {
                    let seconds = duration.as_secs_f64();
                    self.output.print(&format!("compiled {module} for {target} in {seconds:.1} s\n"));
                }
            }
            Event::Failed { module, target } => {
                self.bar.inc(1);
                if !self.quiet {
                    self.output.print(&format!("FAILED {module} for {target}\n"));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_report_that_cannot_be_read_says_what_to_do() {
        let folder = tempfile::tempdir().expect("temp folder");
        let last = folder.path().join("kernels.json");
        let text = |file: &str| {
            let error = earlier(Path::new(file), &last).expect_err("no report");
            error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": ")
        };
        assert!(
            text(LAST).ends_with("kernels.json does not exist; build once without --against"),
            "{}",
            text(LAST)
        );
        assert!(
            text("/no/such.json").starts_with("cannot read /no/such.json: "),
            "{}",
            text("/no/such.json")
        );
        fs::write(&last, "{").expect("writes");
        let corrupt = text(LAST);
        assert!(corrupt.starts_with("build once without --against"), "{corrupt}");
        assert!(corrupt.contains("is not a report of `build-kernels --json`"), "{corrupt}");
        fs::write(&last, r#"{"schema":7}"#).expect("writes");
        assert!(text(LAST).contains("has schema 7"), "{}", text(LAST));
        fs::write(&last, r#"{"schema":1,"toolchain":"clang","kernels":[]}"#).expect("writes");
        assert_eq!(earlier(Path::new(LAST), &last).expect("a report").0, "the last build");
    }
}
