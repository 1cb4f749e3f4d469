//! `docs/kernels-checked.md`: which kernels have run on which virtual GPUs, and the largest difference of each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::tools;

/// Tells tests in which folder to leave what they found.
pub(crate) const FOLDER_VARIABLE: &str = "FERROCM_KERNEL_RESULTS";
/// The page, below the workspace.
const PAGE: &str = "docs/kernels-checked.md";
/// The names that there have to be, below the workspace: modules in brackets, then their kernels.
const NAMES: &str = "crates/kernels/tests/candle-0.11.txt";

/// What tests say of a kernel that has run within their bounds, without a figure.
const CHECKED: &str = "checked";

/// The largest difference by kernel and target, if a test has told one.
type Found = BTreeMap<String, BTreeMap<String, Option<f64>>>;

/// The folder for the tests, emptied.
pub(crate) fn folder() -> Result<PathBuf> {
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

/// Writes the page from what the tests have left; an error if a kernel has not run on one of the targets.
pub(crate) fn write_page(folder: &Path, targets: &[&str]) -> Result<PathBuf> {
    let mut found = Found::new();
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let text = fs::read_to_string(file.path())?;
        read(&text, &mut found).with_context(|| file.path().display().to_string())?;
    }
    let names = fs::read_to_string(tools::workspace().join(NAMES)).context(NAMES)?;
    let (page, missing) = page(&names, &found, targets);
    let path = tools::workspace().join(PAGE);
    if !missing.is_empty() {
        bail!(
            "{} kernels have not run everywhere, {PAGE} is as it was:\n{}",
            missing.len(),
            missing.join("\n")
        );
    }
    fs::write(&path, page).with_context(|| path.display().to_string())?;
    Ok(path)
}

fn read(text: &str, found: &mut Found) -> Result<()> {
    for line in text.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [kernel, target, difference] = parts[..] else { bail!("`{line}` is no result") };
        let largest = found.entry(kernel.to_owned()).or_default().entry(target.to_owned()).or_insert(None);
        if difference != CHECKED {
            let difference: f64 = difference.parse().with_context(|| format!("`{line}`"))?;
            *largest = Some(largest.map_or(difference, |largest| largest.max(difference)));
        }
    }
    Ok(())
}

/// The page, and what has not run.
fn page(names: &str, found: &Found, targets: &[&str]) -> (String, Vec<String>) {
    let mut page = String::from(
        "# Kernels that have run, and how far off they were\n\n\
         `cargo xtask test --kernels` writes this page. Each kernel has run on a virtual GPU of each target, with the arguments and launch\n\
         dimensions that candle 0.11 gives it, against candle's CPU backend or a model in Rust. The figure is the largest difference in any test:\n\
         absolute, or relative to the expected number where that is larger than 1. 0 is exact. `within` says that a test has compared the\n\
         kernel's results within its bounds, and tells no figure. The bounds stand in the tests (`examples/candle-kernels`,\n\
         `crates/kernels/tests/device`).\n",
    );
    let mut missing = Vec::new();
    for line in names.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(module) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let _ = write!(page, "\n## `{module}`\n\n| kernel |");
            targets.iter().for_each(|target| page += &format!(" {target} |"));
            page += "\n|---|";
            targets.iter().for_each(|_| page += "---:|");
            page += "\n";
            continue;
        }
        let _ = write!(page, "| `{line}` |");
        for target in targets {
            match found.get(line).and_then(|by_target| by_target.get(*target)) {
                Some(Some(0.0)) => page += " 0 |",
                Some(None) => page += " within |",
                Some(Some(difference)) => page += &format!(" {difference:.1e} |"),
                None => {
                    missing.push(format!("{line} on {target}"));
                    page += " |";
                }
            }
        }
        page += "\n";
    }
    (page, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_difference_counts_and_what_is_missing_is_told() {
        let mut found = Found::new();
        read("a_f32\tgfx1100\t1e-7\nb_f32\tgfx1100\t0e0\n", &mut found).unwrap();
        read("a_f32\tgfx1100\t2.5e-6\na_f32\tgfx90a\t1e-9\na_f32\tgfx90a\tchecked\n", &mut found).unwrap();
        read("c_f32\tgfx90a\tchecked\nc_f32\tgfx1100\t0\n", &mut found).unwrap();
        assert!(read("a_f32 gfx1100 1e-7", &mut found).is_err());
        assert!(read("a\tb\tmuch", &mut found).is_err());
        let (page, missing) = page("# Names\n\n[m]\na_f32\nb_f32\nc_f32\n", &found, &["gfx1100", "gfx90a"]);
        assert_eq!(missing, ["b_f32 on gfx90a"]);
        let expected = "## `m`\n\n| kernel | gfx1100 | gfx90a |\n|---|---:|---:|\n| `a_f32` | 2.5e-6 | 1.0e-9 |\n| `b_f32` | 0 | |\n| `c_f32` | 0 | within |\n";
        assert!(page.ends_with(expected), "{page}");
    }
}
