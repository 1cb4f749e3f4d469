//! The command line: `ferrocm hipify`, and `cargo xtask hipify` in a checkout.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::files::{self, Source};
use crate::report::{self, FileReport};
use crate::tree::Tree;
use crate::{Error, Translation, diff, sarif, translate};

/// Format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Format {
    /// In the format of compiler messages.
    #[default]
    Text,
    /// JSON.
    Json,
    /// SARIF 2.1.0.
    Sarif,
}

/// The options of the command. Options shared with hipify-perl have its names.
#[derive(Clone, Debug, Default, Args)]
pub struct Options {
    /// Sources, and folders that are searched for sources
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<PathBuf>,

    /// Only report what does not translate; exit with 1 if there is an error
    #[arg(long, conflicts_with_all = ["in_place", "output", "diff"])]
    pub check: bool,
    /// With --check: treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// Output format of --check and --examine
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
    /// Show what changes, as `diff -u` does; exit with 0
    #[arg(long, conflicts_with_all = ["in_place", "output"])]
    pub diff: bool,
    /// Replace the sources; keep each original as FILE.prehip, unless that exists
    #[arg(short, long, alias = "inplace", conflicts_with = "output")]
    pub in_place: bool,
    /// The file to write; for several sources, a folder with the same layout
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Only print counts by family, kind and name
    #[arg(long, conflicts_with_all = ["in_place", "output", "diff", "check"])]
    pub examine: bool,
    /// Also print counts by family, kind and name
    #[arg(long)]
    pub print_stats: bool,
    /// Do not print what does not translate
    #[arg(long)]
    pub quiet_warnings: bool,

    /// Translate to rocBLAS, rocRAND, rocSPARSE, rocSOLVER and MIOpen rather than to hipBLAS and so on
    #[arg(long)]
    pub roc: bool,
    /// Translate cuDNN to MIOpen rather than to hipDNN
    #[arg(long)]
    pub miopen: bool,
    /// Also translate to names that are experimental in HIP
    #[arg(long)]
    pub experimental: bool,
    /// Keep launches with <<<…>>> (the default)
    #[arg(long)]
    pub cuda_kernel_execution_syntax: bool,
    /// Turn launches into calls of hipLaunchKernelGGL
    #[arg(long)]
    pub hip_kernel_execution_syntax: bool,
    /// The program's own names that look like CUDA's
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub whitelist: Vec<String>,
    /// Macros that the program's compiler is told to define; others that no source defines count as undefined
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub define: Vec<String>,
    /// Folders to leave out, by name or path
    #[arg(long, value_name = "DIRS", value_delimiter = ',')]
    pub exclude_dirs: Vec<PathBuf>,
    /// Files to leave out, by name or path
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    pub exclude_files: Vec<PathBuf>,
    /// Leave comments unchanged
    #[arg(long)]
    pub keep_comments: bool,
    /// Keep includes that are duplicates after the translation
    #[arg(long)]
    pub keep_duplicate_headers: bool,
    /// Do not add an include of HIP's header in an empty line
    #[arg(long)]
    pub no_runtime_header: bool,
}

impl Options {
    fn translation(&self) -> crate::Options {
        crate::Options {
            roc: self.roc,
            miopen: self.miopen,
            experimental: self.experimental,
            hip_launches: self.hip_kernel_execution_syntax,
            comments: !self.keep_comments,
            duplicate_headers: self.keep_duplicate_headers,
            runtime_header: !self.no_runtime_header,
            own_names: self.whitelist.clone(),
            headers: None,
            macros: None,
        }
    }

    fn excludes(&self, source: &Source) -> bool {
        let is = |path: &Path, excluded: &PathBuf| {
            path == excluded || path.file_name().is_some_and(|name| name == OsStr::new(excluded))
        };
        let folders = || source.path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        self.exclude_files.iter().any(|excluded| is(&source.path, excluded))
            || self.exclude_dirs.iter().any(|excluded| folders().any(|folder| is(folder, excluded)))
    }
}

/// The output streams of the command.
pub struct Streams<'a> {
    /// Translations and reports.
    pub out: &'a mut dyn Write,
    /// Other messages.
    pub err: &'a mut dyn Write,
}

/// Runs the command on the standard streams. The exit code is 1 if `--check` has findings, and 2 if a file
/// cannot be read or written, with a message on standard error.
#[must_use]
pub fn run_program(options: &Options) -> ExitCode {
    let (out, err) = (io::stdout(), io::stderr());
    let ran = run(options, &mut Streams { out: &mut out.lock(), err: &mut err.lock() });
    ran.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "error: {error}");
        ExitCode::from(2)
    })
}

/// Runs the command. The exit code is 1 if `--check` has findings.
///
/// # Errors
/// [`Error`] names the file.
pub fn run(options: &Options, streams: &mut Streams<'_>) -> Result<ExitCode, Error> {
    let mut sources = files::sources(&options.paths)?;
    sources.retain(|source| !options.excludes(source));
    let report_only = options.check || options.examine;
    let to_stdout = !(report_only || options.diff || options.in_place || options.output.is_some());
    if to_stdout && sources.len() > 1 {
        return Err(Error::SeveralSources(sources.len()));
    }
    let into_folder = sources.len() > 1 || options.paths.iter().any(|path| path.is_dir());

    let base = options.translation();
    let tree = Tree::read(sources.iter().map(|source| source.path.clone()));
    let mut reports = Vec::with_capacity(sources.len());
    for source in &sources {
        let text = files::read(&source.path)?;
        let mut translation_options = base.clone();
        translation_options.own_names.extend_from_slice(tree.names(&source.path));
        let macros = tree.macros(&source.path).map(|macros| [macros, &options.define].concat());
        translation_options.macros = macros;
        translation_options.headers = tree.headers(&source.path).map(<[String]>::to_vec);
        let Translation { text: translated, findings, stats } = translate(&text, &translation_options);
        let report = FileReport::new(&source.path, findings, stats);
        if to_stdout {
            print(streams.out, &translated)?;
        } else if options.diff {
            print(streams.out, &diff::unified(&source.path, &text, &translated))?;
        } else if options.in_place && text != translated {
            files::replace(&source.path, &text, &translated)?;
        } else if let Some(output) = &options.output {
            let path =
                if into_folder || output.is_dir() { output.join(&source.relative) } else { output.clone() };
            files::write(&path, &translated)?;
        }
        if !report_only && !options.quiet_warnings {
            print(streams.err, report::findings(&report).as_bytes())?;
        }
        reports.push(report);
    }
    let total = report::total(&reports);
    if report_only {
        print(streams.out, written(options, &reports)?.as_bytes())?;
    }
    if options.print_stats && !options.examine {
        print(streams.err, statistics(&reports).as_bytes())?;
    }
    let found = total.errors > 0 || options.strict && total.warnings > 0;
    Ok(if options.check && found { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The report of `--check` or `--examine`.
fn written(options: &Options, reports: &[FileReport]) -> Result<String, Error> {
    Ok(match options.format {
        Format::Json => report::json(reports)?,
        Format::Sarif => sarif::sarif(reports)?,
        Format::Text if options.examine => statistics(reports),
        Format::Text => {
            let findings = reports.iter().map(report::findings);
            let findings: String = if options.quiet_warnings { String::new() } else { findings.collect() };
            findings + &report::conclusion(&report::total(reports))
        }
    })
}

fn statistics(reports: &[FileReport]) -> String {
    let mut text: String = reports.iter().map(|file| report::statistics(&file.path, &file.stats)).collect();
    if reports.len() > 1 {
        text += &report::statistics("all files", &report::total(reports));
    }
    text
}

/// Writes to a stream. A closed pipe is not an error: the reader has seen enough.
fn print(stream: &mut dyn Write, text: &[u8]) -> Result<(), Error> {
    match stream.write_all(text).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("write", Path::new("the standard streams"), error))
        }
        _ => Ok(()),
    }
}
