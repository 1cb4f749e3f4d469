//! Extracts records from the logs of training programs.
//!
//! [`from_path`] and [`from_reader`] read a log as a stream: plain, or compressed by gzip, zstd, xz or bzip2.
//! They detect which program wrote it ([`Format`]), gather what it says about each step and the
//! configuration, and return a [`Record`] with findings. [`from_paths`] reads several logs in parallel;
//! [`one_run`] reads logs of several ranks, or parts, of one run.
//!
//! ```
//! use runs::extract::{self, Format, Options};
//!
//! let log = b"\
//! completed step: 0, seconds: 9.001, TFLOP/s/device: 59.7, Tokens/s/device: 3640.5, total_weights: 262144, loss: 12.038
//! completed step: 1, seconds: 5.020, TFLOP/s/device: 107.1, Tokens/s/device: 6527.1, total_weights: 262144, loss: 11.950
//! completed step: 2, seconds: 5.016, TFLOP/s/device: 107.2, Tokens/s/device: 6532.3, total_weights: 262144, loss: 11.873
//! ";
//! let extraction = extract::from_reader(&log[..], &Options::default())?;
//! assert_eq!(extraction.format, Format::MaxText);
//! assert_eq!(extraction.record.step_times, [9.001, 5.020, 5.016]);
//! assert_eq!(extraction.record.performance_metrics.warmup_rule.as_deref(), Some("first 1"));
//! assert_eq!(extraction.record.performance_metrics.avg_step_time_seconds, Some((5.020 + 5.016) / 2.0));
//! # Ok::<(), extract::ExtractError>(())
//! ```
//!
//! # No guessing
//! A value that is cut, malformed or ambiguous is counted and listed ([`Extraction::ignored`]), not guessed.
//! A figure that a log lacks is absent from the record. If the time of a step follows from other values of
//! its line, a finding marks it as derived. Contradicting values are kept unchanged, with a finding.
//!
//! # Ranks
//! Lines of several ranks about one step become one row. A synchronous step ends when its slowest rank ends,
//! so by default the longest time and the lowest rate count ([`RankRule`]); memory is that of the fullest
//! GPU. A rank whose step numbers go back was resumed, and the steps that it writes again replace the earlier
//! ones.

mod column;
mod finish;
mod formats;
mod input;
mod layout;
mod numbers;
mod row;
mod scan;
mod settings;
mod steps;
mod summary;
mod table;
mod text;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::Record;

pub use input::newest_log;
pub use row::Ignored;

use formats::SPECS;
use scan::Scanner;

/// The program that wrote a log.
// NEW-LOG-FORMAT: a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// AMD's Primus: Megatron-LM's lines with current and average values, and memory.
    Primus,
    /// Megatron-LM, and programs that print its lines.
    Megatron,
    /// NeMo on Lightning.
    Nemo,
    /// torchtitan.
    Torchtitan,
    /// torchtune.
    Torchtune,
    /// MaxText.
    MaxText,
    /// DeepSpeed's own lines.
    DeepSpeed,
    /// Hugging Face's Trainer.
    HuggingFace,
    /// llm.c and its Python counterpart.
    LlmC,
    /// Lines such as `step 10 loss 3.21 time 0.5s`.
    Plain,
}

impl Format {
    /// All formats, in the order of messages.
    pub fn all() -> impl Iterator<Item = Format> {
        std::iter::once(Format::Primus).chain(SPECS.iter().map(|spec| spec.format))
    }

    /// The name: `primus`, `hugging-face`, `llm.c`.
    #[must_use]
    pub fn name(self) -> &'static str {
        // It shares the lines of another format, so it has no row there.
        if self == Format::Primus {
            return "primus";
        }
        SPECS.iter().find(|spec| spec.format == self).map_or("", |spec| spec.name)
    }

    /// The names of all formats as text: `primus, megatron, …`.
    #[must_use]
    pub fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// The name, with only letters and underscores.
    fn identifier(self) -> String {
        self.name().replace('.', "").replace('-', "_")
    }

    /// The format that defines the lines: Primus prints Megatron-LM's.
    fn lines_of(self) -> Format {
        if self == Format::Primus { Format::Megatron } else { self }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.name())
    }
}

/// A name that no format has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a format; the formats are {}", Format::names())]
pub struct UnknownFormat {
    name: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        Self::all()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

/// Which steps at the beginning the statistics leave out. The record names the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// This many steps.
    First(usize),
    /// The steps before the times become steady, and at least one
    /// ([`warmup_until_steady`](crate::statistics::warmup_until_steady)).
    Steady,
}

impl Default for Warmup {
    /// The first step, as in the seed benchmarks.
    fn default() -> Warmup {
        Warmup::First(crate::statistics::DEFAULT_WARMUP)
    }
}

/// What counts if several ranks write about one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RankRule {
    /// The slowest: the longest time, the lowest rate; the first loss.
    #[default]
    Slowest,
    /// The mean of times, rates, losses and norms.
    Mean,
}

/// How to read a log, and facts that it may lack.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format; `None` to detect it.
    pub format: Option<Format>,
    /// Steps that the statistics leave out.
    pub warmup: Warmup,
    /// What counts if several ranks write about one step.
    pub ranks: RankRule,
    /// The model's name, for the record.
    pub model: Option<String>,
    /// The GPU's name, overriding the log.
    pub device: Option<String>,
    /// GPUs of the run, overriding the log.
    pub gpus: Option<u64>,
    /// Tokens of a sequence, overriding the log.
    pub sequence_length: Option<u64>,
    /// Sequences of a step, overriding the log.
    pub global_batch_size: Option<u64>,
}

/// The result of reading a log.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// The record, with findings.
    pub record: Record,
    /// The program that wrote the log.
    pub format: Format,
    /// Lines of the log.
    pub lines: u64,
    /// Bytes of the log, decompressed.
    pub bytes: u64,
    /// Lines about steps in this format.
    pub matched: u64,
    /// The number of values left out because they are malformed, cut, not finite or ambiguous.
    pub ignored_count: u64,
    /// The first hundred of them.
    pub ignored: Vec<Ignored>,
}

/// Why a log gave no record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The log cannot be read, or its compressed data is bad.
    #[error("cannot read {}: {cause}", path.as_deref().map_or("the log".into(), Path::to_string_lossy))]
    Read {
        /// The file, if it is one.
        path: Option<PathBuf>,
        /// The error of the system or the decoder.
        #[source]
        cause: io::Error,
    },
    /// No line describes a training step.
    #[error("{}", no_steps(*lines, *format))]
    NoSteps {
        /// Lines of the log.
        lines: u64,
        /// The requested format.
        format: Option<Format>,
    },
}

fn no_steps(lines: u64, format: Option<Format>) -> String {
    match format {
        Some(format) => format!(
            "none of {lines} lines is about a step of training in the format {format}; leave out the format to detect it"
        ),
        None => format!(
            "none of {lines} lines is about a step of training; known formats are {}",
            Format::names()
        ),
    }
}

impl ExtractError {
    fn of_file(self, file: &Path) -> ExtractError {
        match self {
            ExtractError::Read { path: None, cause } => {
                ExtractError::Read { path: Some(file.to_owned()), cause }
            }
            other => other,
        }
    }
}

fn read_error(cause: io::Error) -> ExtractError {
    ExtractError::Read { path: None, cause }
}

/// Reads a log to its end.
///
/// # Errors
/// [`ExtractError`].
pub fn from_reader(log: impl Read + Send, options: &Options) -> Result<Extraction, ExtractError> {
    from_reader_counted(log, options, &AtomicU64::new(0))
}

/// The same, and also counts bytes as they are read, before decompression.
///
/// # Errors
/// [`ExtractError`].
pub fn from_reader_counted(
    log: impl Read + Send,
    options: &Options,
    read: &AtomicU64,
) -> Result<Extraction, ExtractError> {
    finish::finish(scan(log, options, read)?, options)
}

/// Reads the log in a file.
///
/// # Errors
/// [`ExtractError`].
pub fn from_path(path: impl AsRef<Path>, options: &Options) -> Result<Extraction, ExtractError> {
    let path = path.as_ref();
    let collected = scan_file(path, options, &AtomicU64::new(0))?;
    finish::finish(collected, options)
}

/// Reads logs of several runs, as many at once as the machine has processors. The results are in the order of
/// the paths. Bytes are counted as they are read, before decompression.
pub fn from_paths(
    paths: &[PathBuf],
    options: &Options,
    read: &AtomicU64,
) -> Vec<Result<Extraction, ExtractError>> {
    in_parallel(paths, |path| finish::finish(scan_file(path, options, read)?, options))
}

/// Reads logs of one run: those of its ranks, or its parts one after the other. Lines about the same step
/// count as those of several ranks, whatever the lines say; continued step numbers belong to the next part.
///
/// # Errors
/// The error of the first failing log, in the order of the paths; [`ExtractError::NoSteps`] for all together.
pub fn one_run(paths: &[PathBuf], options: &Options, read: &AtomicU64) -> Result<Extraction, ExtractError> {
    let mut parts = in_parallel(paths, |path| scan_file(path, options, read)).into_iter();
    let mut whole = match parts.next() {
        Some(first) => first?,
        None => Scanner::new(options).collected,
    };
    for part in parts {
        whole.append(part?, options);
    }
    finish::finish(whole, options)
}

fn scan(log: impl Read + Send, options: &Options, read: &AtomicU64) -> Result<scan::Collected, ExtractError> {
    let log = input::decompressed(log, read).map_err(read_error)?;
    let mut scanner = Scanner::new(options);
    scanner.read(log).map_err(read_error)?;
    Ok(scanner.collected)
}

fn scan_file(path: &Path, options: &Options, read: &AtomicU64) -> Result<scan::Collected, ExtractError> {
    let file =
        input::open(path).map_err(|cause| ExtractError::Read { path: Some(path.to_owned()), cause })?;
    scan(file, options, read).map_err(|error| error.of_file(path))
}

/// Calls a function for each path, on as many threads as there are processors. The results are in the order
/// of the paths.
fn in_parallel<T: Send>(paths: &[PathBuf], work: impl Fn(&Path) -> T + Sync) -> Vec<T> {
    let results: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(paths.len()));
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(paths.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((place, path)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|place| Some((place, paths.get(place)?)))
                {
                    let result = work(path);
                    // A panicked thread leaves the list unchanged.
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((place, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}
