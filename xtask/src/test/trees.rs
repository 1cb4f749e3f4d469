//! `cargo xtask test trees TABLE [NAME…]`: trees of CUDA sources that know nothing of AMD, through `nvcc`, as
//! they are.
//!
//! The table is the caller's, a file in JSON: where each tree is, which sources count, and how they are
//! compiled and run. `docs/contribute/testing.md` describes it.

mod build;
mod page;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use self::page::{Failure, Run};
use self::table::{Program, Tree};
use super::hipify_check::{Verdict, makefile_options, side_by_side, verdict};
use crate::{dropin, tools};

/// The page with the results, in the workspace.
const PAGE: &str = "docs/generated/trees.md";

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The table of trees, in JSON
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The trees to compile [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Target to compile for and to run on; may be repeated
    #[arg(long = "target", value_name = "TARGET", value_delimiter = ',', default_value = "gfx1100")]
    targets: Vec<String>,
    /// The folder of the trees [default: that of the table]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Only sources whose paths contain this; does not change the page
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Only checks syntax and types of device code, which takes a fraction of the time; does not change the
    /// page
    #[arg(long, conflicts_with = "programs")]
    check: bool,
    /// Only links and runs programs; the page keeps what it says about single sources. With `--filter`, only
    /// programs whose first sources' paths contain the text
    #[arg(long)]
    programs: bool,
    /// A folder for linked programs. What is there already is run, not linked again
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// A program `ferrocm` that is there, such as an installed one, with its libraries [default: built like
    /// the tests]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// What compiles and runs.
struct Place {
    nvcc: PathBuf,
    /// The folder of the HIP library, if the program does not find it itself.
    libraries: Option<PathBuf>,
    work: tempfile::TempDir,
    /// Where linked programs stay, if they do.
    keep: Option<PathBuf>,
}

impl Place {
    /// The folder of programs.
    fn kept(&self) -> &Path {
        self.keep.as_deref().unwrap_or(self.work.path())
    }
}

/// Compiles and runs, and writes the page. The error names the trees of which too little compiles.
pub(super) fn run(options: &Options) -> Result<()> {
    let trees = table::read(&options.table)?;
    if let Some(name) = options.names.iter().find(|name| trees.iter().all(|tree| tree.name != **name)) {
        bail!("{} has no tree \"{name}\"", options.table.display());
    }
    let beside = options.table.parent().unwrap_or(Path::new("")).to_owned();
    let root = fs::canonicalize(options.folder.as_ref().unwrap_or(&beside))
        .with_context(|| beside.display().to_string())?;
    let (libraries, nvcc) = match &options.program {
        Some(program) => (None, std::path::absolute(program)?),
        None => {
            tools::install_toolchain(true)?;
            let (libraries, nvcc) = dropin::libraries_and_program()?;
            (Some(libraries), nvcc)
        }
    };
    let keep = options.keep.as_ref().map(std::path::absolute).transpose()?;
    if let Some(folder) = &keep {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let work = tempfile::tempdir().context("cannot make a folder")?;
    let place = Place { nvcc, libraries, work, keep };
    let mut short = Vec::new();
    for tree in trees.iter().filter(|tree| options.names.is_empty() || options.names.contains(&tree.name)) {
        let folder = table::folder(tree, &root)?;
        for target in &options.targets {
            let run = one(tree, &folder, target, &place, options)?;
            println!("{}", run.line());
            if run.share() < tree.least || run.wrong > 0 {
                short.push(format!("{} {target}", tree.name));
            }
            if options.filter.is_none() && !options.check {
                let path = tools::workspace().join(PAGE);
                let page = page::with(&fs::read_to_string(&path).unwrap_or_default(), &run, options.programs);
                fs::write(&path, page).with_context(|| path.display().to_string())?;
            }
        }
    }
    match short.is_empty() {
        true => Ok(()),
        false => bail!("below what the table asks for, or a wrong result: {}", short.join(", ")),
    }
}

fn one(tree: &Tree, folder: &Path, target: &str, place: &Place, options: &Options) -> Result<Run> {
    let is_chosen = |path: &str| options.filter.as_ref().is_none_or(|text| path.contains(text));
    let mut sources = if options.programs { Vec::new() } else { table::sources(tree, folder)? };
    sources.retain(|path| is_chosen(&path.to_string_lossy()));
    let is_run = !options.check && (options.filter.is_none() || options.programs);
    let programs = tree.programs.iter().filter(|program| is_run && is_chosen(program.name()));
    let programs: Vec<&Program> = programs.collect();
    let own = build::Build::new(tree, folder, target, place)?;
    let is_built = match options.programs {
        true => programs.iter().any(|program| program.binary.is_some()),
        false => is_run,
    };
    let built = if is_built { own.run()? } else { Ok(()) };
    if let Err(why) = &built {
        println!("  {why}");
    }
    // Its own build says of most sources that they compile; the others are compiled alone.
    let by_build = if is_built { own.compiled()? } else { Default::default() };
    let verdicts = side_by_side(&sources, |source| -> Result<Verdict> {
        if fs::canonicalize(folder.join(source)).is_ok_and(|path| by_build.contains(&path)) {
            return Ok(Verdict::Compiles);
        }
        let mut command = nvcc(tree, folder, source, target, place);
        if options.check {
            command.arg("-fdevice-syntax-only");
        }
        let object = place.work.path().join(format!("{}.o", blank(source)));
        let output = command.arg("-c").arg(folder.join(source)).arg("-o").arg(&object).output()?;
        let _ = fs::remove_file(&object);
        Ok(match output.status.success() {
            true => Verdict::Compiles,
            false => verdict(&String::from_utf8_lossy(&output.stderr)),
        })
    });
    let mut run = Run::new(tree, target);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (source, verdict) in sources.iter().zip(verdicts) {
        let (why, is_lacking) = match verdict.with_context(|| source.display().to_string())? {
            Verdict::Compiles => {
                run.compiled += 1;
                continue;
            }
            Verdict::Lacks(header) => (format!("{header} is not there"), true),
            Verdict::Refused(message) => (message, false),
        };
        *kinds.entry(why.clone()).or_default() += 1;
        let name = source.to_string_lossy().into_owned();
        match tree.known(&name) {
            // What needs another library is no failure of these headers.
            None if is_lacking => run.lacking += 1,
            known => run.failures.push(Failure {
                why: known.map_or(why, str::to_owned),
                what: name,
                outcome: "does not compile",
            }),
        }
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds.iter().for_each(|(why, count)| println!("  {count} {why}"));
    let results = side_by_side(&programs, |program| {
        let binary = match (&program.binary, &built) {
            (Some(_), Err(why)) => Ok(Err(why.clone())),
            (Some(path), Ok(())) => Ok(Ok(own.folder.join(path))),
            (None, _) => link(tree, folder, program, target, place),
        };
        let result = binary.and_then(|binary| match binary {
            Ok(binary) => execute(&own, program, &binary),
            Err(why) => Ok(Err(why)),
        });
        if let Ok(Err(why)) = &result {
            println!("  {} {}: {why}", program.name(), program.arguments.join(" "));
        }
        result
    });
    for (program, result) in programs.into_iter().zip(results) {
        match result.with_context(|| program.name().to_owned())? {
            Ok(()) => run.right += 1,
            Err(why) => {
                let known = tree.known(program.name());
                run.wrong += usize::from(known.is_none());
                run.failures.push(Failure {
                    what: program.name().to_owned(),
                    outcome: page::DOES_NOT_RUN,
                    why: known.map_or(why, str::to_owned),
                });
            }
        }
    }
    Ok(run)
}

/// A name without separators.
fn blank(path: &Path) -> String {
    path.to_string_lossy().replace(['/', '.'], "_")
}

/// Options of a table for a source, with the names of folders.
fn filled(options: &[String], folder: &Path, source: &Path) -> Vec<String> {
    let beside = folder.join(source).parent().map(Path::to_owned).unwrap_or_default();
    with_places(options, &[("{tree}", folder), ("{beside}", beside.as_path())])
}

/// Texts in which marks stand for paths.
fn with_places(texts: &[String], places: &[(&str, &Path)]) -> Vec<String> {
    let fill = |text: &String| {
        places
            .iter()
            .fold(text.clone(), |text, (mark, place)| text.replace(mark, &place.display().to_string()))
    };
    texts.iter().map(fill).collect()
}

/// Why nvcc failed, if it did.
fn failure(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    // A crash of the compiler begins with its arguments, which may contain the word.
    let error =
        |mark: &str| text.lines().find(|line| line.contains(mark) && !line.contains("Program arguments"));
    let line = error("error: ").or_else(|| error("error")).unwrap_or(&text).to_owned();
    (!output.status.success()).then_some(line)
}

/// nvcc with a tree's options for a source.
fn nvcc(tree: &Tree, folder: &Path, source: &Path, target: &str, place: &Place) -> Command {
    let beside = folder.join(source).parent().map(Path::to_owned).unwrap_or_default();
    let mut command = Command::new(&place.nvcc);
    command.arg("nvcc").arg(format!("-arch={target}")).current_dir(&beside);
    if let Some(folder) = &place.libraries {
        command.env(setup::hipcc::LIBRARIES_VARIABLE, folder);
    }
    command.args(filled(&tree.options, folder, source));
    if tree.makefiles {
        command.args(makefile_options(&beside));
    }
    command
}

/// Links a program with nvcc. The inner error says why that fails.
fn link(
    tree: &Tree,
    folder: &Path,
    program: &Program,
    target: &str,
    place: &Place,
) -> Result<Result<PathBuf, String>> {
    let first = Path::new(&program.sources[0]);
    let name = format!("{}-{}", blank(first), blank(Path::new(target)));
    let binary = place.kept().join(name);
    for options in &program.before {
        let mut command = nvcc(tree, folder, first, target, place);
        if let Some(why) = failure(&command.args(options).output()?) {
            return Ok(Err(why));
        }
    }
    if place.keep.is_none() || !binary.exists() {
        let mut command = nvcc(tree, folder, first, target, place);
        command.args(program.sources.iter().map(|source| folder.join(source)));
        command.args(filled(&program.options, folder, first)).arg("-o").arg(&binary);
        if let Some(why) = failure(&command.output()?) {
            return Ok(Err(why));
        }
    }
    Ok(Ok(binary))
}

/// Runs a program, in the folder of its first source or of its build. The inner error says what is wrong with
/// it.
fn execute(own: &build::Build<'_>, program: &Program, binary: &Path) -> Result<Result<(), String>> {
    let beside = program.sources.first().and_then(|source| Path::new(source).parent());
    let output = own
        .command("timeout")
        .arg(program.seconds.to_string())
        .arg(binary)
        .args(own.filled(&program.arguments))
        .current_dir(beside.map_or_else(|| own.folder.clone(), |beside| own.tree.join(beside)))
        .output()
        .context("cannot start `timeout`")?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Ok(match output.status.code() {
        Some(0) if text.contains(&program.says) => Ok(()),
        Some(124) => Err(format!("not done after {} s", program.seconds)),
        Some(0) => Err(format!("does not say \"{}\"", program.says)),
        _ => Err(format!("{}: {}", output.status, text.lines().last().unwrap_or_default())),
    })
}
