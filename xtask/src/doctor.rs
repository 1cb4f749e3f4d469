//! `cargo xtask doctor`: one table of every tool and library, and what to do about what is missing.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use kernel_build::toolchain::{Finding, Need, REMEDY, survey};

use crate::bindgen::find_libclang;
use crate::rocm::{RELEASES, headers};
use crate::setup::prefix::Manifest;
use crate::table::{Align, Table, bytes};
use crate::tools::Tool;
use crate::{run, test, toolchain};

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    name: String,
    required: bool,
    version: String,
    place: Option<PathBuf>,
    /// What is wrong, and what to do about it.
    problem: Option<(String, String)>,
}

impl Row {
    fn new(name: &str, version: impl Into<String>, place: Option<PathBuf>) -> Self {
        Self { name: name.to_owned(), required: false, version: version.into(), place, problem: None }
    }

    fn missing(name: &str, required: bool, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        let problem = Some((problem.into(), remedy.into()));
        Self { name: name.to_owned(), required, version: String::new(), place: None, problem }
    }

    fn of_finding(finding: Finding) -> Self {
        let required = finding.need == Need::Build;
        let problem = finding.problem.map(|problem| {
            let problem = match finding.need {
                Need::Build => problem,
                Need::Optional(what) => format!("{problem} (for {what})"),
            };
            let remedy = finding.remedy.unwrap_or_default();
            // The long form names every way; here the short one is enough.
            (problem, if remedy == REMEDY { "cargo xtask setup".to_owned() } else { remedy })
        });
        Self {
            name: finding.name.to_owned(),
            required,
            version: finding.version.unwrap_or_default(),
            place: finding.path,
            problem,
        }
    }
}

/// Prints the table; an error when something is missing without which nothing can be built.
pub(crate) fn doctor() -> Result<()> {
    let rows = rows();
    print!("{}", render(&rows));
    let missing: Vec<&str> = rows
        .iter()
        .filter(|row| row.required && row.problem.is_some())
        .map(|row| row.name.as_str())
        .collect();
    if !missing.is_empty() {
        bail!("required, but not in order: {}", missing.join(", "));
    }
    println!("\nEverything that is required is here.");
    Ok(())
}

fn rows() -> Vec<Row> {
    let cache = toolchain::cache_folder();
    let mut rows = vec![linker()];
    rows.extend(survey().into_iter().map(Row::of_finding));
    rows.push(rocm_headers());
    rows.push(match find_libclang() {
        Some(libclang) => Row::new("libclang", "", Some(libclang.folder())),
        None => Row::missing(
            "libclang",
            false,
            "not found (for `cargo xtask bindgen`)",
            "cargo xtask setup, or LIBCLANG_PATH",
        ),
    });
    for tool in test::tools() {
        rows.push(match tool.find(cache.as_deref().ok()) {
            Some(path) => Row::new(tool.name, Tool::version_of(&path).unwrap_or_default(), Some(path)),
            None => Row::missing(tool.name, false, "not found (for `cargo xtask test`)", tool.install_hint()),
        });
    }
    rows.push(Row::new("vector units", vector_units(), None));
    match cache {
        Ok(folder) => rows.extend(cache_rows(&folder)),
        Err(error) => rows.push(Row::missing("cache folder", true, error.to_string(), "set one of them")),
    }
    rows
}

fn linker() -> Row {
    match run::find_program("cc") {
        Some(path) => {
            Row::new("C linker (cc)", run::output_of("cc", &["-dumpversion"]).unwrap_or_default(), Some(path))
        }
        None => Row::missing("C linker (cc)", true, "not found (Rust links with it)", "install gcc or clang"),
    }
}

/// The headers that bindings are generated from, which are no part of the device toolchain.
fn rocm_headers() -> Row {
    const NAME: &str = "headers of releases";
    let Some(folder) = headers::given_folder().or_else(|| headers::cached_folder().ok()) else {
        return Row::missing(NAME, false, "no folder for the cache", "set FERROCM_ROCM_HEADERS");
    };
    let present = headers::present(&folder);
    match RELEASES.iter().filter(|release| !present.contains(&release.name)).count() {
        0 => Row::new(NAME, present.join(", "), Some(folder)),
        missing => Row::missing(
            NAME,
            false,
            format!("{missing} of {} not here (for `cargo xtask bindgen`)", RELEASES.len()),
            "`cargo xtask test` and `cargo xtask bindgen` fetch them",
        ),
    }
}

/// What the virtual GPU's fast paths can use.
fn vector_units() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let avx512 = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512vl");
        let avx2 = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
        match (avx512, avx2) {
            (true, _) => "AVX-512 and AVX2".to_owned(),
            (false, true) => "AVX2".to_owned(),
            (false, false) => "SSE2 only: the virtual GPU will be slow".to_owned(),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        format!("{}: portable code", std::env::consts::ARCH)
    }
}

fn cache_rows(folder: &Path) -> Vec<Row> {
    let used = Row::new("cache folder", bytes(size_of(folder)), Some(folder.to_owned()));
    let prefix = folder.join("toolchain/current");
    let installed = match Manifest::read(&prefix) {
        Some(manifest) => Row::new("installed by setup", manifest.id, Some(prefix)),
        None => Row::new("installed by setup", "nothing", None),
    };
    vec![used, installed]
}

/// Bytes of all files below a folder, links not followed.
fn size_of(folder: &Path) -> u64 {
    let mut total = 0;
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => pending.push(entry.path()),
                Ok(meta) => total += meta.len(),
                Err(_) => {}
            }
        }
    }
    total
}

/// The longest text that still fits beside the others; longer ones go below the table.
const LONGEST_CELL: usize = 72;

fn render(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        ("what", Align::Left),
        ("state", Align::Left),
        ("version", Align::Left),
        ("where, or what to do", Align::Left),
    ]);
    let mut details = String::new();
    for row in rows {
        let state = match (&row.problem, row.required) {
            (None, _) => "ok",
            (Some(_), true) => "MISSING",
            (Some(_), false) => "missing",
        };
        let place = row.place.as_deref().map(|place| place.display().to_string()).unwrap_or_default();
        let last = match &row.problem {
            None => place,
            Some((problem, remedy)) if problem.chars().count() <= LONGEST_CELL => {
                format!("{problem}: {remedy}")
            }
            Some((problem, remedy)) => {
                details.push_str(&format!("\n{}:\n", row.name));
                details.extend(problem.split("; ").map(|part| format!("  {part}\n")));
                format!("{remedy} (details below)")
            }
        };
        table.row([row.name.clone(), state.to_owned(), row.version.clone(), last]);
    }
    table.render() + &details
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_things_say_what_to_do() {
        let text = render(&[
            Row::new("lld", "22.1.8", Some("/usr/bin/lld".into())),
            Row::missing("clang", true, "not found", "cargo xtask setup"),
            Row::missing("libclang", false, "a: no; ".repeat(20), "cargo xtask setup"),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[2].starts_with("lld       ok ") && lines[2].ends_with("22.1.8   /usr/bin/lld"),
            "{text}"
        );
        assert!(lines[3].contains("MISSING") && lines[3].ends_with("not found: cargo xtask setup"), "{text}");
        assert!(lines[4].contains("missing") && lines[4].ends_with("(details below)"), "{text}");
        assert!(text.contains("\nlibclang:\n  a: no\n  a: no\n"), "{text}");
    }

    #[test]
    fn folders_are_measured_without_following_links() {
        let folder = tempfile::tempdir().expect("temp folder");
        std::fs::create_dir(folder.path().join("sub")).expect("folder");
        std::fs::write(folder.path().join("sub/file"), [0; 100]).expect("write");
        std::os::unix::fs::symlink("/usr", folder.path().join("link")).expect("link");
        let size = size_of(folder.path());
        assert!((100..300).contains(&size), "{size}");
        assert_eq!(size_of(Path::new("/nonexistent")), 0);
    }
}
