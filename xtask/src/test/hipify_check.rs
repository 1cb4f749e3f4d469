//! `cargo xtask test hipify-check FOLDER`: `hipify --check` against AMD's compiler, on programs for CUDA.
//!
//! Each folder in FOLDER is a program. A unit is a `.cu` file that no other source includes: it counts as
//! refused by `--check` if there is an error in it or in what it includes, and as refused by the compiler if
//! its translation does not compile for the device or for the host.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use hipify::command::{self, Format, Streams};
use kernel_build::toolchain::Toolchain;

use crate::tools;

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// A folder with a folder for each program
    #[arg(value_name = "FOLDER")]
    tree: PathBuf,
    /// Only programs whose folders have names that end so
    #[arg(long, value_name = "TEXT", default_value = "")]
    ending: String,
    /// Only one of so many programs
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    every: usize,
    /// The number of the first program
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    from: usize,
    /// The most units of a program
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    units: usize,
    /// Folders of headers, such as those of AMD's libraries
    #[arg(long, value_name = "FOLDER", value_delimiter = ',')]
    include: Vec<PathBuf>,
    /// The target of the compilations
    #[arg(long, default_value = "gfx1100")]
    target: String,
    /// Fails below this precision or recall
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    least: f64,
}

/// What the compiler says of a unit.
pub(super) enum Verdict {
    Compiles,
    /// With the first errors.
    Refused(String),
    /// The machine lacks one of its headers, with its name.
    Lacks(String),
}

struct Unit {
    program: PathBuf,
    path: PathBuf,
}

/// Translates, checks and compiles, and prints the figures.
pub(super) fn run(options: &Options) -> Result<()> {
    tools::install_toolchain(true)?;
    let toolchain = kernel_build::toolchain::find()?;
    let work = tempfile::tempdir().context("cannot make a folder")?;
    let programs = programs(options)?;
    let mut units = Vec::new();
    let mut errors: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for program in &programs {
        let name = program.file_name().unwrap_or_default();
        let Some(found) = check(program)? else { continue };
        errors.extend(found);
        translate(program, &work.path().join(name))?;
        let sources = sources(program)?;
        let included: BTreeSet<PathBuf> =
            sources.iter().flat_map(|source| included(source, program, options)).collect();
        let own = sources.into_iter().filter(|source| source.extension().is_some_and(|kind| kind == "cu"));
        let own: Vec<_> = own.filter(|source| !included.contains(source)).collect();
        // What the Makefile names, if it names any, is what belongs to the program.
        let makefile = fs::read_to_string(program.join("Makefile")).unwrap_or_default();
        let names = |source: &PathBuf| {
            source.file_name().is_some_and(|name| makefile.contains(&*name.to_string_lossy()))
        };
        let any = own.iter().any(names);
        let own = own.into_iter().filter(|source| !any || names(source)).take(options.units);
        units.extend(own.map(|path| Unit { program: program.clone(), path }));
    }
    let verdicts = side_by_side(&units, |unit| compile(options, &toolchain, unit, work.path()));

    let (mut both, mut only_check, mut only_compiler, mut neither) = (0, 0, 0, 0);
    let mut unjudged: BTreeMap<String, usize> = BTreeMap::new();
    for (unit, verdict) in units.iter().zip(verdicts) {
        let found: Vec<&String> =
            closure(unit, options).iter().filter_map(|path| errors.get(path)).flatten().collect();
        let name = unit.path.strip_prefix(&options.tree).unwrap_or(&unit.path).display();
        match (verdict?, found.first()) {
            (Verdict::Lacks(header), _) => *unjudged.entry(header).or_default() += 1,
            (Verdict::Compiles, None) => neither += 1,
            (Verdict::Refused(_), Some(_)) => both += 1,
            (Verdict::Compiles, Some(first)) => {
                only_check += 1;
                println!("{name}: compiles, and --check says: {first}");
            }
            (Verdict::Refused(message), None) => {
                only_compiler += 1;
                println!("{name}: --check says nothing, and the compiler: {message}");
            }
        }
    }
    let share =
        |part: usize, other: usize| if other == 0 { 1.0 } else { part as f64 / (part + other) as f64 };
    let (precision, recall) = (share(both, only_check), share(both, only_compiler));
    let judged = both + only_check + only_compiler + neither;
    println!("{} programs, {} units, {judged} of them judged", programs.len(), units.len());
    for (header, count) in unjudged {
        println!("  {count} not judged, since {header} is not there");
    }
    println!(
        "{both} refused by both, {only_check} by --check only, {only_compiler} by the compiler only, {neither} by none"
    );
    println!("precision {precision:.3}, recall {recall:.3}");
    if precision < options.least || recall < options.least {
        bail!("below {}", options.least);
    }
    Ok(())
}

/// The folders of the programs.
fn programs(options: &Options) -> Result<Vec<PathBuf>> {
    let folder =
        fs::read_dir(&options.tree).with_context(|| format!("cannot read {}", options.tree.display()))?;
    let mut programs = Vec::new();
    for entry in folder {
        let path = entry?.path();
        if path.is_dir() && path.to_string_lossy().ends_with(&options.ending) {
            programs.push(path);
        }
    }
    programs.sort();
    Ok(programs.into_iter().skip(options.from).step_by(options.every.max(1)).collect())
}

/// The command's options for a program.
fn command(program: &Path) -> command::Options {
    command::Options { paths: vec![program.to_owned()], quiet_warnings: true, ..Default::default() }
}

/// The errors of `--check` in each source. None if the program has no source.
fn check(program: &Path) -> Result<Option<BTreeMap<PathBuf, Vec<String>>>> {
    let mut options = command(program);
    options.check = true;
    let macros = makefile_options(program)
        .into_iter()
        .filter_map(|option| Some(option.strip_prefix("-D")?.split('=').next()?.to_owned()));
    options.define = macros.collect();
    options.format = Format::Json;
    let mut out = Vec::new();
    match command::run(&options, &mut Streams { out: &mut out, err: &mut std::io::sink() }) {
        Err(hipify::Error::NoSources(_)) => return Ok(None),
        other => _ = other?,
    }
    let report: serde_json::Value = serde_json::from_slice(&out)?;
    let mut errors = BTreeMap::new();
    for file in report["files"].as_array().into_iter().flatten() {
        let findings = file["findings"].as_array().into_iter().flatten();
        let of_file = findings.filter(|finding| finding["severity"] == "error").map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            format!("line {}: {} [{}]", finding["line"], text("message"), text("rule"))
        });
        errors.insert(PathBuf::from(file["path"].as_str().unwrap_or_default()), of_file.collect());
    }
    Ok(Some(errors))
}

fn translate(program: &Path, to: &Path) -> Result<()> {
    let mut options = command(program);
    options.output = Some(to.to_owned());
    command::run(&options, &mut Streams { out: &mut std::io::sink(), err: &mut std::io::sink() })?;
    Ok(())
}

fn sources(program: &Path) -> Result<Vec<PathBuf>> {
    Ok(hipify::files::sources(&[program.to_owned()])?.into_iter().map(|source| source.path).collect())
}

/// What a source includes of the program and of the folders of headers.
fn included(source: &Path, program: &Path, options: &Options) -> Vec<PathBuf> {
    let text = fs::read(source).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let names = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        rest.strip_prefix(['"', '<'])?.split(['"', '>']).next()
    });
    let beside = source.parent().unwrap_or(program);
    let of_program = folders(program);
    let near = [beside, program].into_iter().chain(of_program.iter().map(PathBuf::as_path));
    let folders: Vec<&Path> = near.chain(options.include.iter().map(PathBuf::as_path)).collect();
    let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    names
        .filter_map(find)
        .filter_map(|path| fs::canonicalize(path).ok())
        .filter(|path| path.starts_with(&options.tree))
        .collect()
}

/// The folders of a program's sources.
fn folders(program: &Path) -> BTreeSet<PathBuf> {
    let sources = sources(program).unwrap_or_default();
    sources.iter().filter_map(|source| source.parent()).map(Path::to_owned).collect()
}

/// A unit and all of the tree that it includes.
fn closure(unit: &Unit, options: &Options) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    let mut waiting = vec![unit.path.clone()];
    while let Some(path) = waiting.pop() {
        if all.insert(path.clone()) {
            waiting.extend(included(&path, &unit.program, options));
        }
    }
    all
}

/// Options of the compiler in a program's Makefile, outside conditions: macros and folders.
pub(super) fn makefile_options(program: &Path) -> Vec<String> {
    let text = fs::read_to_string(program.join("Makefile")).unwrap_or_default().replace("\\\n", " ");
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("if") {
            depth += 1;
        } else if line.starts_with("endif") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 {
            let words = line.split_whitespace().filter(|word| !word.contains('$'));
            found.extend(
                words.filter(|word| word.starts_with("-D") || word.starts_with("-I")).map(str::to_owned),
            );
        }
    }
    found.retain(|word| word.len() > 2);
    found
}

/// Calls a function for all, several at a time. The results have the order of the arguments.
pub(super) fn side_by_side<T: Sync, R: Send>(all: &[T], call: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, R>> = Mutex::default();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(argument) = all.get(number) else { break };
                    let result = call(argument);
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(number, result);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_values().collect()
}

fn compile(options: &Options, toolchain: &Toolchain, unit: &Unit, work: &Path) -> Result<Verdict> {
    let folder = work.join(unit.program.file_name().unwrap_or_default());
    let source = folder.join(unit.path.strip_prefix(&unit.program)?);
    // Only the back end refuses assembly.
    let assembly = fs::read_dir(&folder)?
        .flatten()
        .any(|entry| fs::read(entry.path()).is_ok_and(|text| text.windows(3).any(|word| word == b"asm")));
    let device: &[&str] = if assembly { &["-O1", "-S", "-o", "/dev/null"] } else { &["-fsyntax-only"] };
    for (side, how) in [("--offload-device-only", device), ("--offload-host-only", &["-fsyntax-only"])] {
        let mut command = toolchain.command();
        command.arg(format!("--offload-arch={}", options.target)).arg(side).args(how);
        command.args(["-std=c++17", "-w", "-fno-color-diagnostics", "-ferror-limit=3", "-I."]);
        for option in makefile_options(&unit.program) {
            // A folder of another program is not among the translations.
            let other = option.strip_prefix("-I").map(|other| (folder.join(other), unit.program.join(other)));
            match other {
                Some((here, there)) if !here.is_dir() => command.arg("-I").arg(there),
                _ => command.arg(option),
            };
        }
        for other in folders(&unit.program) {
            command.arg("-I").arg(folder.join(other.strip_prefix(&unit.program)?));
        }
        for folder in &options.include {
            command.arg("-isystem").arg(folder);
        }
        let output =
            command.arg(&source).current_dir(&folder).output().context("cannot start the compiler")?;
        if !output.status.success() {
            return Ok(verdict(&String::from_utf8_lossy(&output.stderr)));
        }
    }
    Ok(Verdict::Compiles)
}

/// The verdict of a compiler that failed.
pub(super) fn verdict(text: &str) -> Verdict {
    const CUDA: [&str; 9] =
        ["cooperative_groups/", "cub/", "cuda", "cute/", "cutlass/", "mma.h", "nv/", "nvml", "thrust/"];
    let missing = text.split_once("fatal error: '").and_then(|(_, rest)| rest.split_once("' file not found"));
    if let Some((header, _)) = missing
        && !CUDA.iter().any(|beginning| header.starts_with(beginning))
    {
        return Verdict::Lacks(header.to_owned());
    }
    let first = text.lines().find(|line| line.contains("error:")).unwrap_or(text);
    Verdict::Refused(first.split_once("error: ").map_or(first, |(_, message)| message).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_header_of_the_program_is_no_verdict() {
        assert!(
            matches!(verdict("a.cu:1:10: fatal error: 'mpi.h' file not found\n"), Verdict::Lacks(h) if h == "mpi.h")
        );
        assert!(matches!(verdict("a.cu:1:10: fatal error: 'mma.h' file not found\n"), Verdict::Refused(_)));
        assert!(matches!(verdict("a.cu:1:1: error: no\n1 error"), Verdict::Refused(m) if m == "no"));
    }
}
