//! Generates `bindings.rs` and `table.rs` of the `-sys` crates from a ROCm include folder.

mod bindings;
mod comments;
mod library;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

/// Generates the checked-in bindings and function tables of the `-sys` crates.
#[derive(Parser)]
#[command(name = "cargo xtask bindgen")]
struct Arguments {
    /// Folder that holds `hsa/hsa.h` and `hip/hip_runtime_api.h`; default: `include` under ROCM_PATH, else /opt/rocm.
    #[arg(long, value_name = "DIR")]
    include: Option<PathBuf>,
    /// Change nothing; fail if a checked-in file differs from what would be generated.
    #[arg(long)]
    check: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let include = match arguments.include {
        Some(folder) => folder,
        None => {
            std::env::var_os("ROCM_PATH").map_or_else(|| "/opt/rocm".into(), PathBuf::from).join("include")
        }
    };
    for header in ["hsa/hsa.h", "hip/hip_runtime_api.h"] {
        ensure!(
            include.join(header).is_file(),
            "{} does not exist; name the folder of the ROCm headers with --include DIR",
            include.join(header).display()
        );
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the workspace root")?;
    let mut differing = Vec::new();
    for library in library::all() {
        let generated = bindings::generate(&library, &include)
            .with_context(|| format!("generating the bindings of {}", library.what))?;
        let table = table::generate(&library, &generated.functions)
            .with_context(|| format!("generating the table of {}", library.what))?;
        for (name, text) in [("bindings.rs", &generated.text), ("table.rs", &table)] {
            let path = root.join(library.folder).join(name);
            if arguments.check {
                let current =
                    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
                if let Some(difference) = first_difference(&current, text) {
                    differing.push(format!("{}: {difference}", path.display()));
                }
            } else {
                fs::create_dir_all(root.join(library.folder))?;
                fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
                println!("{}: {} functions", path.display(), generated.functions.len());
            }
        }
    }
    if !differing.is_empty() {
        bail!(
            "checked-in bindings are not what the headers give; run `cargo xtask bindgen`:\n{}",
            differing.join("\n")
        );
    }
    Ok(())
}

/// Says where `new` first departs from `old`, if it does.
fn first_difference(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let line = old.lines().zip(new.lines()).take_while(|(a, b)| a == b).count();
    let shown = |text: &str| text.lines().nth(line).unwrap_or("(end of file)").trim().to_owned();
    Some(format!("line {}: checked in `{}`, generated `{}`", line + 1, shown(old), shown(new)))
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
    }

    #[test]
    fn a_difference_names_its_line() {
        let text = first_difference("a\nb\n", "a\nc\n").unwrap();
        assert_eq!(text, "line 2: checked in `b`, generated `c`");
        assert!(first_difference("a\n", "a\nb\n").unwrap().contains("(end of file)"));
    }
}
