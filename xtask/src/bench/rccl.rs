//! `cargo xtask bench rccl`: times of collectives between virtual GPUs, by `rccl-on-hip` and by AMD's RCCL,
//! in the same program, and of a plain copy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use setup::run;
use setup::table::{Align, Table, bytes};
use shared_commands::libraries::Own;
use shared_commands::rocm::program::Place;
use shared_commands::rocm::run::variables;

use crate::dropin;
use crate::rocm::{self, sysroot};

/// The release whose RCCL ours replaces.
const RELEASE: &str = "7.2";
/// Device memory for the libraries, in addition to the buffers.
const MEMORY: &str = "1GiB";

/// What to compare, and where.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Options {
    /// The target of the virtual GPUs
    #[arg(long, value_name = "TARGET", default_value = "gfx1100")]
    target: String,
    /// Numbers of ranks, each with its own virtual GPU
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values = ["2", "4", "8"],
        value_parser = clap::value_parser!(u32).range(1..=16))]
    ranks: Vec<u32>,
    /// Sizes in bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values = ["8", "1024", "65536", "1048576", "16777216"],
        value_parser = clap::value_parser!(u64).range(1..=1 << 28))]
    sizes: Vec<u64>,
    /// How often each operation is timed
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Leave out AMD's RCCL
    #[arg(long)]
    only_own: bool,
}

/// An operation and its size.
type What = (usize, String, u64);

/// The times of one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Measured {
    /// The shortest time until all ranks were done, in seconds.
    wall: f64,
    /// The median of the total processor time, in seconds.
    processors: f64,
}

/// Parses the program's output, in order.
fn read(text: &str) -> Result<BTreeMap<What, Measured>> {
    let mut found = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(size)) = (words.next(), words.next()) else {
            bail!("no operation in \"{line}\"")
        };
        let numbers: Vec<f64> = words.map(str::parse).collect::<Result<_, _>>().context(line.to_owned())?;
        let (wall, mut processors): (Vec<f64>, Vec<f64>) =
            numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
        processors.sort_by(f64::total_cmp);
        let wall =
            wall.into_iter().min_by(f64::total_cmp).with_context(|| format!("no times in \"{line}\""))?;
        let measured = Measured { wall, processors: processors[processors.len() / 2] };
        found.insert((at, name.to_owned(), size.parse().context(line.to_owned())?), measured);
    }
    Ok(found)
}

/// The compared libraries.
fn libraries(only_own: bool) -> Vec<(&'static str, Own)> {
    let ours = Own { rccl: true, hip: true, ..Own::NONE };
    let between = Own { rccl: true, ..Own::NONE };
    let mut all = vec![("rccl-on-hip", ours), ("on AMD's HIP", between), ("AMD's RCCL", Own::NONE)];
    if only_own {
        all.truncate(1);
    }
    all
}

/// Runs every operation for every number of ranks with every library, and prints the times.
pub(crate) fn bench(options: &Options) -> Result<()> {
    let release = sysroot::releases(&[RELEASE.to_owned()])?;
    let sysroot =
        sysroot::make(release.first().context("the table of releases has it")?, &sysroot::folder())?;
    let folder = tempfile::tempdir()?;
    let program = compile(folder.path())?;
    let libraries = libraries(options.only_own);
    println!("rccl-on-hip    on hip-on-hsa and on AMD's HIP {RELEASE}; AMD's RCCL {RELEASE} on that HIP");
    println!("time           until all ranks are done, least of {}", options.repeat);
    println!("rate           the size by that time");
    println!("copies         how many copies of the same size inside a device take that time");
    println!("processors     what all threads took, median\n");
    for &ranks in &options.ranks {
        let mut all = Vec::new();
        for (name, own) in &libraries {
            let place = rocm::place(sysroot.clone(), Vec::new(), dropin::before_amds(false, *own)?);
            let measured = measure(&place, *own, &program, ranks, options);
            all.push(measured.with_context(|| format!("{ranks} ranks by {name}"))?);
        }
        println!("{ranks} ranks on {}\n{}", options.target, table(&libraries, &all)?);
    }
    Ok(())
}

fn table(libraries: &[(&str, Own)], all: &[BTreeMap<What, Measured>]) -> Result<String> {
    let mut head = vec![("operation".to_owned(), Align::Left), ("size".to_owned(), Align::Right)];
    for (name, _) in libraries {
        head.extend(
            [format!("{name}: time"), "rate".to_owned(), "copies".to_owned(), "processors".to_owned()]
                .map(|title| (title, Align::Right)),
        );
    }
    let head: Vec<(&str, Align)> = head.iter().map(|(title, align)| (title.as_str(), *align)).collect();
    let mut table = Table::new(&head);
    let first = all.first().context("no library ran")?;
    for what in first.keys() {
        let (_, name, size) = what;
        let mut row = vec![name.clone(), bytes(*size)];
        for measured in all {
            let own = measured.get(what).with_context(|| format!("{name} of {size} bytes is missing"))?;
            let copy = measured.iter().find(|((_, other, of), _)| other == "copy" && of == size);
            let (_, copy) = copy.context("the copy is missing")?;
            row.extend([
                time(own.wall),
                format!("{:.1} MB/s", *size as f64 / own.wall / 1e6),
                format!("{:.1}", own.wall / copy.wall),
                time(own.processors),
            ]);
        }
        table.row(row);
    }
    Ok(table.render())
}

fn time(seconds: f64) -> String {
    if seconds < 10e-3 { format!("{:.0} µs", seconds * 1e6) } else { format!("{:.0} ms", seconds * 1e3) }
}

fn compile(folder: &Path) -> Result<PathBuf> {
    let source = folder.join("collectives.c");
    std::fs::write(&source, include_str!("collectives.c"))?;
    let program = folder.join("collectives");
    let compiler = std::env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
    run::run(Command::new(compiler).args(["-O1", "-o"]).arg(&program).arg(source).arg("-ldl"))?;
    Ok(program)
}

fn measure(
    place: &Place,
    own: Own,
    program: &Path,
    ranks: u32,
    options: &Options,
) -> Result<BTreeMap<What, Measured>> {
    let mut command = place.command(program)?;
    command.args([ranks, options.repeat].map(|number| number.to_string()));
    command.args(options.sizes.iter().map(u64::to_string));
    let device = format!("vgpu:{}?cus=4&memory={MEMORY}&count={ranks}", options.target);
    command.envs(variables(Some(&device), own));
    read(&run::capture(&mut command)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_compared_with_copies() {
        let text = "copy 1024 0.5 0.4 0.25 0.3 0.5 0.2\nall_reduce 1024 2 9 1 8 3 7\n";
        let found = read(text).expect("reads");
        assert_eq!(
            found.values().copied().collect::<Vec<_>>(),
            [Measured { wall: 0.25, processors: 0.3 }, Measured { wall: 1.0, processors: 8.0 }]
        );
        let libraries = libraries(true);
        let table = table(&libraries, &[found]).expect("a table");
        let row = table.lines().last().expect("a row");
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>().join(" "),
            "all_reduce 1.0 kB 1000 ms 0.0 MB/s 4.0 8000 ms"
        );
        for wrong in ["copy", "copy 8", "copy 8 x y"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
