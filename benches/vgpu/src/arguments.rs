//! The command line.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Parser;
use code_object::TargetId;
use vgpu::isa::Isa;
use vgpu::machine::TARGETS;

use crate::workload::Kernel;

/// Measures the virtual GPU on seven kernels.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench vgpu", bin_name = "cargo xtask bench vgpu")]
pub(crate) struct Arguments {
    /// Target to run on, such as gfx1100; may be repeated [default: one of each instruction set]
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    target: Vec<String>,
    /// Number of threads that run workgroups; may be repeated [default: 1, 2, 4, … up to the cores of this
    /// process]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Vec<u16>,
    /// Kernel to run; may be repeated [default: all]
    #[arg(long, value_name = "KERNEL", value_delimiter = ',')]
    kernel: Vec<Kernel>,
    /// How often to time each kernel; the median counts
    #[arg(long, value_name = "COUNT", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) repeat: u16,
    /// Write everything, including each single time, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl Arguments {
    /// The targets to run on.
    pub(crate) fn targets(&self) -> Result<Vec<String>> {
        if self.target.is_empty() {
            return Ok(Isa::ALL.iter().map(|isa| isa.name().to_owned()).collect());
        }
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        for target in &self.target {
            let id: TargetId = target.parse()?;
            if !known.contains(&id.processor.as_str()) {
                bail!("the virtual GPU cannot be a {target}; it can be {}", known.join(", "));
            }
        }
        Ok(unique(&self.target))
    }

    /// The numbers of threads, in ascending order.
    pub(crate) fn threads(&self) -> Vec<usize> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut threads: Vec<usize> = match self.threads.as_slice() {
            [] => (0..).map(|power| 1 << power).take_while(|count| *count < cores).chain([cores]).collect(),
            given => given.iter().copied().map(usize::from).collect(),
        };
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// The kernels to run.
    pub(crate) fn kernels(&self) -> Vec<Kernel> {
        if self.kernel.is_empty() { Kernel::ALL.to_vec() } else { unique(&self.kernel) }
    }
}

/// The values in the order in which each first appears.
fn unique<T: Clone + PartialEq>(values: &[T]) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(value) {
            seen.push(value.clone());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn lists_are_given_once_each() {
        let line = [
            "x",
            "--threads",
            "4,1,4",
            "--target",
            "gfx90a,gfx1100",
            "--target",
            "gfx90a",
            "--kernel",
            "alu",
        ];
        let arguments = Arguments::try_parse_from(line).unwrap();
        assert_eq!(arguments.threads(), [1, 4]);
        assert_eq!(arguments.targets().unwrap(), ["gfx90a", "gfx1100"]);
        assert_eq!(arguments.kernels(), [Kernel::Alu]);
    }

    #[test]
    fn an_unknown_target_is_named_with_the_known_ones() {
        let arguments = Arguments::try_parse_from(["x", "--target", "gfx803"]).unwrap();
        let error = arguments.targets().unwrap_err().to_string();
        assert!(error.contains("gfx803") && error.contains("gfx1100"), "{error}");
    }
}
