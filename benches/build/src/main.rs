//! Measures how long a build script takes to compile CUDA sources: with an empty cache, with a full one, and
//! after edits, compared with a plain loop of the same compiler over the same sources and targets.
//!
//! `cargo xtask bench build` runs it; docs/contribute/benchmarks.md has figures.

mod arguments;
mod plain;
mod report;
mod script;
mod tree;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use code_object::TargetId;
use kernel_build::Dialect;
use kernel_build::toolchain::{self, Toolchain};

use arguments::Arguments;
use report::{Report, Row};
use script::{Done, Script};
use tree::Tree;

/// The measurements, in the order of the table.
const CASES: [&str; 6] =
    ["plain loop", "cold", "warm", "one source edited", "one header edited", "one target more"];
const LOOP: usize = 0;
const COLD: usize = 1;
const WARM: usize = 2;
const SOURCE: usize = 3;
const HEADER: usize = 4;
const TARGET: usize = 5;

fn main() -> ExitCode {
    let result = match std::env::var_os(script::VARIABLE) {
        Some(file) => script::run(&PathBuf::from(file)),
        None => measure(&Arguments::parse()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The common parameters of all measurements.
struct Bench<'a> {
    arguments: &'a Arguments,
    toolchain: Toolchain,
    targets: Vec<TargetId>,
    more: TargetId,
    rows: Vec<Row>,
}

/// The results of one round.
struct Round {
    sources: usize,
    /// The edited source.
    source: String,
    /// The edited header.
    header: Option<String>,
}

fn measure(arguments: &Arguments) -> Result<()> {
    let toolchain = toolchain::find()?;
    let targets = arguments.targets()?;
    let more = arguments.more(&targets)?;
    let rows = CASES.iter().map(|&case| Row::new(case)).collect();
    let mut bench = Bench { arguments, toolchain, targets, more, rows };
    let mut last = None;
    for round in 1..=arguments.repeat.max(1) {
        eprintln!("round {round} of {}", arguments.repeat.max(1));
        last = Some(bench.round()?);
    }
    let Round { sources, source, header } = last.context("nothing was measured")?;
    let report = Report {
        toolchain: bench.toolchain.version_text,
        targets: bench.targets.iter().map(ToString::to_string).collect(),
        more: bench.more.to_string(),
        sources,
        source,
        header,
        jobs: arguments.jobs(),
        load: report::load(),
        cases: bench.rows,
    };
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        fs::write(file, text).with_context(|| format!("write {}", file.display()))?;
    }
    print!("{report}");
    Ok(())
}

impl Bench<'_> {
    /// Measures everything once, in a fresh copy of the sources. Returns their number and the edited files.
    fn round(&mut self) -> Result<Round> {
        let arguments = self.arguments;
        let folder = tempfile::tempdir().context("a folder for the copy")?;
        let make = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir(&path).with_context(|| format!("make {}", path.display()))?;
            Ok::<_, anyhow::Error>(path)
        };
        let tree = Tree::copy(&arguments.source, folder.path().join("sources"))?;
        let (out, plain) = (make("out")?, make("plain")?);
        let mut script = Script {
            folder: tree.folder.clone(),
            only: arguments.only.clone(),
            includes: arguments.includes()?,
            flags: arguments.flags.clone(),
            targets: self.targets.iter().map(ToString::to_string).collect(),
            hip: arguments.dialect() == Dialect::Hip,
            cache: folder.path().join("cache"),
        };

        let (time, Done { sources, compiled }) = timed(|| script.start(&out, arguments.jobs()))?;
        let all = sources.len() * self.targets.len();
        ensure!(compiled == all, "compiled {compiled} objects instead of {all}");
        self.add(COLD, time, compiled);
        if !arguments.no_loop {
            let compile =
                || plain::compile(&self.toolchain, arguments, &tree, &sources, &self.targets, &plain);
            let (time, ()) = timed(|| Ok((compile()?, ())))?;
            self.add(LOOP, time, all);
        }

        let more = self.more.to_string();
        let mut run = |case: usize, script: &Script, expected: Option<usize>| -> Result<()> {
            let (time, Done { compiled, .. }) = timed(|| script.start(&out, arguments.jobs()))?;
            let expected = expected.unwrap_or(compiled);
            ensure!(
                compiled == expected,
                "{}: compiled {compiled} objects instead of {expected}",
                CASES[case]
            );
            self.add(case, time, compiled);
            Ok(())
        };
        for _ in 0..arguments.warm.max(1) {
            run(WARM, &script, Some(0))?;
        }
        let source = arguments.edited(&sources)?;
        tree.edit(&source)?;
        run(SOURCE, &script, Some(script.targets.len()))?;
        let header = arguments.header.clone().map_or_else(|| tree.header(&sources), |name| Ok(Some(name)))?;
        if let Some(header) = &header {
            tree.edit(header)?;
            run(HEADER, &script, None)?;
        }
        script.targets.push(more);
        run(TARGET, &script, Some(sources.len()))?;
        Ok(Round { sources: sources.len(), source, header })
    }

    fn add(&mut self, case: usize, time: Time, compiled: usize) {
        let row = &mut self.rows[case];
        row.seconds.push(time.wall.as_secs_f64());
        row.processor_seconds.extend(time.processor);
        row.compiled = compiled;
        eprintln!("  {}: {:.3} s", row.case, time.wall.as_secs_f64());
    }
}

/// How long something took.
struct Time {
    wall: Duration,
    /// Processor time of all of its processes, in seconds.
    processor: Option<f64>,
}

/// Adds the processor time to a measurement.
fn timed<T>(measured: impl FnOnce() -> Result<(Duration, T)>) -> Result<(Time, T)> {
    let before = report::processor_seconds();
    let (wall, given) = measured()?;
    let processor = before.zip(report::processor_seconds()).map(|(before, after)| after - before);
    Ok((Time { wall, processor }, given))
}
