//! `cargo xtask build-kernels`: compiles `kernels/` and shows what came out.

use std::collections::BTreeSet;
use std::fs;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kernel_build::{Build, Builder, Event, KernelUse};
use setup::table::{Align, Table, bytes, thousands};

use crate::tools;

/// What to build and how much to say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Targets; none means those of the environment or the default ones.
    pub(crate) targets: Vec<String>,
    /// The folder of the sources, if it is not the workspace's own.
    pub(crate) source: Option<PathBuf>,
    /// Patterns of sources to leave out.
    pub(crate) exclude: Vec<String>,
    /// Folders of headers.
    pub(crate) include: Vec<PathBuf>,
    /// Further options of the compiler, clang's or nvcc's.
    pub(crate) flags: Vec<String>,
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

/// Builds every module for every target, from the cache where nothing changed.
pub(crate) fn build(options: &Options) -> Result<()> {
    let folder = options.source.clone().unwrap_or_else(|| tools::workspace().join("kernels"));
    // The same folders and options as in the build script of the `kernels` crate, which then finds all of it cached.
    let mut builder = Builder::new(&folder);
    if !options.targets.is_empty() {
        builder = builder.targets(&options.targets);
    }
    builder = options.exclude.iter().fold(builder, Builder::exclude);
    builder = options.include.iter().fold(builder, Builder::include);
    builder = options.flags.iter().fold(builder, Builder::flag);
    let started = Instant::now();
    let progress = Progress::new(options.detail == Detail::Modules);
    let listener = progress.clone();
    let result = builder.on_event(move |event| listener.tell(event)).build();
    progress.bar.finish_and_clear();
    let build = result?;
    for warning in build.warnings() {
        eprintln!("{warning}");
    }
    let line = closing_line(&build, started.elapsed());
    match options.detail {
        Detail::Line => println!("{line}"),
        Detail::Modules => {
            let path = tools::target_folder().join("kernels.txt");
            fs::write(&path, figures_of(&build)).with_context(|| path.display().to_string())?;
            print!("{}", module_table(&build.kernel_uses().collect::<Vec<_>>()));
            println!("{line}\nRegisters, LDS and wave size of each kernel: {}", path.display());
        }
        Detail::Kernels => println!("{}\n{line}", figures_of(&build)),
    }
    if build.modules.is_empty() {
        bail!("no kernel sources in {}", folder.display());
    }
    Ok(())
}

fn closing_line(build: &Build, elapsed: Duration) -> String {
    let objects: Vec<_> = build.objects().map(|(_, object)| object).collect();
    let cached = objects.iter().filter(|object| object.cached).count();
    let size: usize = objects.iter().map(|object| object.bytes.len()).sum();
    format!(
        "{} modules for {} targets: {} code objects, {}; {} compiled, {cached} from the cache, in {:.1} s.",
        build.modules.len(),
        build.targets.len(),
        objects.len(),
        bytes(size as u64),
        objects.len() - cached,
        elapsed.as_secs_f64()
    )
}

/// A bar on a terminal. Elsewhere a line per compiled code object, unless that is too much.
#[derive(Debug, Clone)]
struct Progress {
    bar: ProgressBar,
    /// Whether finished jobs get no line.
    quiet: bool,
}

impl Progress {
    fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = if terminal { ProgressBar::new(0) } else { ProgressBar::hidden() };
        // The template is a constant; without it the bar has indicatif's own look.
        if let Ok(style) = ProgressStyle::with_template("Compiling    {wide_bar} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Self { bar, quiet: quiet || terminal }
    }

    fn tell(&self, event: Event<'_>) {
        match event {
            Event::Planned { jobs } => self.bar.set_length(jobs as u64),
            Event::Started { module, target } => self.bar.set_message(format!("{module} {target}")),
            Event::Finished { module, target, cached, duration } => {
                self.bar.inc(1);
                if !self.quiet && !cached {
                    println!("compiled {module} for {target} in {:.1} s", duration.as_secs_f64());
                }
            }
            Event::Failed { module, target } => {
                self.bar.inc(1);
                if !self.quiet {
                    println!("FAILED {module} for {target}");
                }
            }
            _ => {}
        }
    }
}

/// One row per module: how many kernels it has, for which targets, and what of them is slow without a sign elsewhere.
fn module_table(uses: &[KernelUse]) -> String {
    let mut table = Table::new(&[
        ("module", Align::Left),
        ("kernels", Align::Right),
        ("targets", Align::Right),
        ("code", Align::Right),
        ("most VGPRs", Align::Right),
        ("spills", Align::Left),
    ]);
    let mut modules: Vec<&str> = uses.iter().map(|used| used.module.as_str()).collect();
    modules.dedup();
    for module in modules {
        let uses: Vec<&KernelUse> = uses.iter().filter(|used| used.module == module).collect();
        let distinct =
            |of: fn(&KernelUse) -> &str| uses.iter().map(|used| of(used)).collect::<BTreeSet<_>>().len();
        let spilled = uses.iter().filter(|used| spills(used)).count();
        table.row([
            module.to_owned(),
            distinct(|used| &used.kernel).to_string(),
            distinct(|used| &used.target).to_string(),
            bytes(uses.iter().map(|used| used.code_bytes).sum()),
            uses.iter().map(|used| used.vgprs).max().unwrap_or(0).to_string(),
            if spilled == 0 { "none".to_owned() } else { format!("in {spilled} of {}", uses.len()) },
        ]);
    }
    table.render()
}

/// The figures of every code object and of every kernel.
fn figures_of(build: &Build) -> String {
    format!("{}\n{}", object_table(build), kernel_table(&build.kernel_uses().collect::<Vec<_>>()))
}

/// One row per code object.
fn object_table(build: &Build) -> String {
    let mut table = Table::new(&[
        ("module", Align::Left),
        ("target", Align::Left),
        ("kernels", Align::Right),
        ("bytes", Align::Right),
        ("wave", Align::Right),
        ("from", Align::Left),
    ]);
    for (module, object) in build.objects() {
        let kernels = object.code_object.kernels();
        let waves: BTreeSet<u32> = kernels.iter().map(|kernel| kernel.wavefront_size).collect();
        let waves: Vec<String> = waves.iter().map(u32::to_string).collect();
        table.row([
            module.name.clone(),
            object.target.to_string(),
            kernels.len().to_string(),
            thousands(object.bytes.len() as u64),
            waves.join("/"),
            if object.cached {
                "cache".to_owned()
            } else {
                format!("clang, {:.1} s", object.duration.as_secs_f64())
            },
        ]);
    }
    table.render()
}

/// One row per kernel of a module, with the figures of each target beside each other.
fn kernel_table(uses: &[KernelUse]) -> String {
    let mut targets: Vec<&str> = Vec::new();
    let mut kernels: Vec<(&str, &str)> = Vec::new();
    for used in uses {
        if !targets.contains(&used.target.as_str()) {
            targets.push(&used.target);
        }
        if !kernels.contains(&(&used.module, &used.kernel)) {
            kernels.push((&used.module, &used.kernel));
        }
    }
    let headings: Vec<String> =
        targets.iter().map(|target| format!("{target}: VGPRs SGPRs   LDS wave")).collect();
    let mut columns = vec![("module", Align::Left), ("kernel", Align::Left)];
    columns.extend(headings.iter().map(|heading| (heading.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    for (module, kernel) in kernels {
        let mut row = vec![module.to_owned(), kernel.to_owned()];
        for target in &targets {
            let found = uses.iter().find(|u| u.module == module && u.kernel == kernel && u.target == *target);
            row.push(found.map_or_else(|| "-".to_owned(), figures));
        }
        table.row(row);
    }
    table.render()
}

fn spills(used: &KernelUse) -> bool {
    used.vgpr_spills + used.sgpr_spills > 0
}

fn figures(used: &KernelUse) -> String {
    let mut text = format!("{:>5} {:>5} {:>5} {:>4}", used.vgprs, used.sgprs, used.lds, used.wave);
    // Spills and scratch are what makes a kernel slow without a sign elsewhere.
    if spills(used) {
        text = format!("{}v+{}s spilled {text}", used.vgpr_spills, used.sgpr_spills);
    } else if used.scratch > 0 {
        text = format!("scratch {} {text}", used.scratch);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(target: &str, kernel: &str, wave: u32) -> KernelUse {
        KernelUse {
            module: "fill".to_owned(),
            target: target.to_owned(),
            kernel: kernel.to_owned(),
            vgprs: 5,
            agprs: 0,
            sgprs: 16,
            lds: 0,
            scratch: 0,
            wave,
            vgpr_spills: 0,
            sgpr_spills: 0,
            code_bytes: 100,
        }
    }

    #[test]
    fn modules_have_one_row_that_tells_of_spills() {
        let mut spilled = used("gfx90a", "b", 64);
        (spilled.sgpr_spills, spilled.vgprs) = (1, 70);
        let uses = [used("gfx1100", "a", 32), used("gfx90a", "a", 64), used("gfx1100", "b", 32), spilled];
        let text = module_table(&uses);
        let rows: Vec<Vec<&str>> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows, [["fill", "2", "2", "400", "B", "70", "in", "1", "of", "4"]], "{text}");
        assert!(module_table(&uses[..2]).lines().last().expect("a row").ends_with("none"));
    }

    #[test]
    fn kernels_have_one_row_and_targets_a_column_each() {
        let mut spilled = used("gfx90a", "b", 64);
        spilled.vgpr_spills = 3;
        let text = kernel_table(&[used("gfx1100", "a", 32), used("gfx90a", "a", 64), spilled]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(
            lines[0].contains("gfx1100: VGPRs SGPRs   LDS wave") && lines[0].contains("gfx90a: "),
            "{text}"
        );
        assert!(lines[2].starts_with("fill    a ") && lines[2].contains("    5    16     0   32"), "{text}");
        assert!(
            lines[3].contains(" -  ") && lines[3].ends_with("3v+0s spilled     5    16     0   64"),
            "{text}"
        );
    }
}
