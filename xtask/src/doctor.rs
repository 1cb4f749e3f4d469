//! `cargo xtask doctor`: one table of every tool and library, with advice for missing ones.

use anyhow::Result;
use setup::doctor::{Row, report};
use setup::toolchain;

use crate::bindgen::find_libclang;
use crate::rocm::{RELEASES, headers};
use crate::tools::{NEXTEST, PROGRAM, Tool};

/// Prints the table. Fails if something is missing that every build needs.
pub(crate) fn doctor() -> Result<()> {
    let report = report(&PROGRAM, rows());
    print!("{}", report.render());
    report.check()?;
    println!("\nEverything that is required is here.");
    Ok(())
}

/// Rows for things that only a checkout needs.
fn rows() -> Vec<Row> {
    let cache = toolchain::cache_folder();
    let mut rows = vec![rocm_headers()];
    rows.push(match find_libclang() {
        Some(libclang) => Row::new("libclang", "", Some(libclang.folder())),
        None => Row::missing(
            "libclang",
            false,
            "not found (for `cargo xtask bindgen`)",
            "cargo xtask setup, or LIBCLANG_PATH",
        ),
    });
    let tool = NEXTEST;
    rows.push(match tool.find(cache.as_deref().ok()) {
        Some(path) => Row::new(tool.name, Tool::version_of(&path).unwrap_or_default(), Some(path)),
        None => Row::missing(tool.name, false, "not found (for `cargo xtask test`)", tool.install_hint()),
    });
    rows
}

/// The headers for generating bindings, which are not part of the device toolchain.
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
