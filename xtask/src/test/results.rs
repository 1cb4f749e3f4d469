//! `docs/generated/kernels-checked.md`: the kernels that have run on each virtual GPU, and the largest error
//! of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::tools;

/// Passes the folder for results to the tests.
pub(super) const FOLDER_VARIABLE: &str = "FERROCM_KERNEL_RESULTS";
/// The page, below the workspace.
const PAGE: &str = "docs/generated/kernels-checked.md";
/// candle's names, below the workspace: modules in brackets, then their kernels.
const NAMES: &str = "crates/kernels/tests/candle-0.11.txt";

/// The tests' word for a kernel that has run without a comparison of its results.
const NOT_COMPARED: &str = "ran";
/// The extension of files that list the kernels of a target: one per line, with module, kernel and target.
const LISTING: &str = "names";

/// The tests' result for a kernel on a target.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Ran,
    /// The largest error.
    Compared(f64),
}

/// The tests' results.
#[derive(Debug, Default)]
struct Found {
    /// By kernel and target.
    results: BTreeMap<String, BTreeMap<String, Outcome>>,
    /// The existing kernels, by module and name, with the targets that they are compiled for.
    kernels: BTreeMap<(String, String), BTreeSet<String>>,
}

/// The folder for the tests, emptied.
pub(super) fn folder() -> Result<PathBuf> {
    let folder = tools::target_folder().join("kernel-results");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| folder.display().to_string());
        }
        _ => {}
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// Writes the page from the tests' results. Fails if a kernel has not run, or has not been compared, on one
/// of the targets.
pub(super) fn write_page(folder: &Path, targets: &[&str]) -> Result<PathBuf> {
    let mut found = Found::default();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let text = fs::read_to_string(&path)?;
        let is_listing = path.extension().is_some_and(|extension| extension == LISTING);
        let read = if is_listing { Found::read_kernels } else { Found::read_results };
        read(&mut found, &text).with_context(|| path.display().to_string())?;
    }
    let names = fs::read_to_string(tools::workspace().join(NAMES)).context(NAMES)?;
    let page = page(&candle(&names)?, &found, targets).with_context(|| format!("{PAGE} is as it was"))?;
    let path = tools::workspace().join(PAGE);
    fs::write(&path, page).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// The three parts of a line.
fn parts(line: &str) -> Result<[&str; 3]> {
    let parts: Vec<&str> = line.split('\t').collect();
    let [a, b, c] = parts[..] else { bail!("`{line}` does not have three parts") };
    Ok([a, b, c])
}

impl Found {
    fn read_results(&mut self, text: &str) -> Result<()> {
        for line in text.lines() {
            let [kernel, target, difference] = parts(line)?;
            let by_target = self.results.entry(kernel.to_owned()).or_default();
            let largest = by_target.entry(target.to_owned()).or_insert(Outcome::Ran);
            if difference != NOT_COMPARED {
                let difference: f64 = difference.parse().with_context(|| format!("`{line}`"))?;
                *largest = Outcome::Compared(match *largest {
                    Outcome::Ran => difference,
                    Outcome::Compared(largest) => largest.max(difference),
                });
            }
        }
        Ok(())
    }

    fn read_kernels(&mut self, text: &str) -> Result<()> {
        for line in text.lines() {
            let [module, kernel, target] = parts(line)?;
            let targets = self.kernels.entry((module.to_owned(), kernel.to_owned())).or_default();
            targets.insert(target.to_owned());
        }
        Ok(())
    }

    fn of(&self, kernel: &str, target: &str) -> Option<Outcome> {
        self.results.get(kernel)?.get(target).copied()
    }
}

/// candle's names, with their modules.
fn candle(names: &str) -> Result<BTreeSet<(String, String)>> {
    let mut module = None;
    let mut all = BTreeSet::new();
    for line in names.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => module = Some(name),
            None => {
                let module = module.with_context(|| format!("`{line}` is in no module"))?;
                all.insert((module.to_owned(), line.to_owned()));
            }
        }
    }
    Ok(all)
}

/// The page, if all kernels of all modules have run and been compared on all their targets, and candle's are
/// compiled for all targets.
fn page(candle: &BTreeSet<(String, String)>, found: &Found, targets: &[&str]) -> Result<String> {
    let mut missing = Vec::new();
    let mut tell = |kernel: &str, what: &str, targets: Vec<&str>| {
        if !targets.is_empty() {
            missing.push(format!("{kernel} {what} on {}", targets.join(", ")));
        }
    };
    let none = BTreeSet::new();
    let compiled = |kernel: &(String, String)| found.kernels.get(kernel).unwrap_or(&none);
    let all: BTreeSet<&(String, String)> = candle.iter().chain(found.kernels.keys()).collect();
    for &kernel in &all {
        let is_there = |target: &&str| compiled(kernel).contains(*target);
        let (there, absent): (Vec<&str>, Vec<&str>) = targets.iter().copied().partition(is_there);
        if candle.contains(kernel) {
            tell(&kernel.1, "is not there", absent);
        }
        let only =
            |outcome| there.iter().copied().filter(|target| found.of(&kernel.1, target) == outcome).collect();
        tell(&kernel.1, "has not run", only(None));
        tell(&kernel.1, "has run, and its results have not been compared,", only(Some(Outcome::Ran)));
    }
    for &target in targets.iter().filter(|&&target| !found.kernels.values().any(|all| all.contains(target))) {
        missing.push(format!("no kernels are known for {target}"));
    }
    if !missing.is_empty() {
        bail!("{} kernels are not proven everywhere:\n{}", missing.len(), missing.join("\n"));
    }
    let own = all.len() - candle.len();
    let mut page = format!(
        "# Kernels that have run, and how far off they were\n\n\
         `cargo xtask test kernels` writes this page, and fails if a kernel is missing: all {} entry points of the modules that the crate\n\
         `kernels` embeds, {} of them with names and arguments of candle 0.11. Each has run on a virtual GPU of each target with\n\
         [all checks](../use/faults.md) on (`FERROCM_VGPU_CHECK=all`), against candle's CPU backend, f64 arithmetic or a model in Rust.\n\n\
         The figure is the largest difference of any result from the expected number: absolute, or relative to that number where it is larger\n\
         than 1. 0 is exact. Where a result is the work of several kernels, as of one that quantises and one that multiplies, it counts for each.\n\
         So do rounding to the type of the result, half a unit in the last place, and large sums of large numbers. The bounds stand in the\n\
         tests (`examples/candle-kernels`, `crates/kernels/tests/device`). A dash is a kernel that is not compiled for the target.\n",
        all.len(),
        candle.len(),
    );
    let chosen =
        |is_candle: bool| all.iter().copied().filter(move |&kernel| candle.contains(kernel) == is_candle);
    let _ = write!(page, "\n## {} kernels of candle's names\n", candle.len());
    tables(&mut page, chosen(true), found, targets);
    let _ = write!(page, "\n## {own} kernels of this project\n");
    tables(&mut page, chosen(false), found, targets);
    Ok(page)
}

/// A table for each module.
fn tables<'a>(
    page: &mut String,
    kernels: impl Iterator<Item = &'a (String, String)>,
    found: &Found,
    targets: &[&str],
) {
    let mut last = "";
    for (module, kernel) in kernels {
        if module != last {
            let _ = write!(page, "\n### `{module}`\n\n| kernel |");
            targets.iter().for_each(|target| *page += &format!(" {target} |"));
            *page += "\n|---|";
            targets.iter().for_each(|_| *page += "---:|");
            *page += "\n";
            last = module;
        }
        let _ = write!(page, "| `{kernel}` |");
        for target in targets {
            match found.of(kernel, target) {
                Some(Outcome::Compared(0.0)) => *page += " 0 |",
                Some(Outcome::Compared(difference)) => *page += &format!(" {difference:.1e} |"),
                _ => *page += " – |",
            }
        }
        *page += "\n";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "# Names\n\n[m]\na_f32\nb_f32\n";
    const TARGETS: [&str; 2] = ["gfx1100", "gfx90a"];

    /// Two kernels of candle's and one for a single target.
    fn found() -> Found {
        let mut found = Found::default();
        found.read_kernels("m\ta_f32\tgfx1100\nm\tb_f32\tgfx1100\nm\tc_f32\tgfx1100\n").unwrap();
        found.read_kernels("m\ta_f32\tgfx90a\nm\tb_f32\tgfx90a\n").unwrap();
        found.read_results("a_f32\tgfx1100\t1e-7\nb_f32\tgfx1100\t0e0\nb_f32\tgfx90a\tran\n").unwrap();
        found.read_results("a_f32\tgfx1100\t2.5e-6\na_f32\tgfx90a\t1e-9\na_f32\tgfx90a\tran\n").unwrap();
        found
    }

    #[test]
    fn the_largest_difference_counts() {
        let mut found = found();
        found.read_results("b_f32\tgfx90a\t0\nc_f32\tgfx1100\t0.5\nnone\tgfx90a\tran\n").unwrap();
        let page = page(&candle(NAMES).unwrap(), &found, &TARGETS).unwrap();
        let table =
            |rows: &str| format!("\n\n### `m`\n\n| kernel | gfx1100 | gfx90a |\n|---|---:|---:|\n{rows}");
        let own = table("| `c_f32` | 5.0e-1 | – |\n");
        let candle = table("| `a_f32` | 2.5e-6 | 1.0e-9 |\n| `b_f32` | 0 | 0 |\n");
        let expected = format!("\n## 2 kernels of candle's names{candle}\n## 1 kernels of this project{own}");
        assert!(page.ends_with(&expected), "{page}");
    }

    #[test]
    fn what_is_missing_is_an_error_that_names_it() {
        let says = |found: &Found, targets: &[&str]| {
            page(&candle(NAMES).unwrap(), found, targets).unwrap_err().to_string()
        };
        assert_eq!(
            says(&found(), &TARGETS),
            "2 kernels are not proven everywhere:\n\
             b_f32 has run, and its results have not been compared, on gfx90a\n\
             c_f32 has not run on gfx1100"
        );
        let mut found = found();
        found.read_results("b_f32\tgfx90a\t0\nc_f32\tgfx1100\t0.5\n").unwrap();
        let error = says(&found, &["gfx1100", "gfx942"]);
        let expected =
            "a_f32 is not there on gfx942\nb_f32 is not there on gfx942\nno kernels are known for gfx942";
        assert!(error.ends_with(expected), "{error}");
        found.kernels.remove(&("m".to_owned(), "a_f32".to_owned()));
        assert!(says(&found, &["gfx90a"]).ends_with("a_f32 is not there on gfx90a"));
    }

    #[test]
    fn lines_that_say_nothing_are_errors() {
        let mut found = Found::default();
        assert!(found.read_results("a_f32 gfx1100 1e-7").is_err());
        assert!(found.read_results("a\tb\tmuch").is_err());
        assert!(found.read_kernels("a\tb").is_err());
        assert!(candle("a\n[m]").is_err());
    }
}
