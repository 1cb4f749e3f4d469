//! The cost of loading: a library with every function of the table, copied once for each timing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hip_sys::Table;

use crate::measure::median;

/// How often each is timed.
const REPEATS: usize = 25;

/// The result.
pub(crate) struct Load {
    /// The number of functions of the library.
    pub(crate) functions: usize,
    /// The loader's part.
    pub(crate) open: Duration,
    /// All of `Table::load_from`.
    pub(crate) table: Duration,
}

/// Times loading, each time of a file that the process has not loaded yet.
pub(crate) fn measure() -> Result<Load, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let library = compile(folder.path())?;
    let (mut open, mut table) = (Vec::new(), Vec::new());
    for repeat in 0..REPEATS {
        let file = copy(&library, &folder.path().join(format!("open{repeat}.so")))?;
        let start = Instant::now();
        // SAFETY: the library was made here and has no initialisers.
        let opened = unsafe { libloading::Library::new(&file) }.map_err(|error| error.to_string())?;
        open.push(start.elapsed().as_secs_f64());
        std::mem::forget(opened);

        let file = copy(&library, &folder.path().join(format!("table{repeat}.so.7.2.0")))?;
        let start = Instant::now();
        // SAFETY: the library was made here; nothing calls its functions.
        let loaded = unsafe { Table::load_from(&file) }.map_err(|error| error.to_string())?;
        table.push(start.elapsed().as_secs_f64());
        if let Some(missing) = Table::symbols().find(|symbol| !loaded.has(symbol)) {
            return Err(format!("the table lacks {missing}, which the library has"));
        }
    }
    Ok(Load {
        functions: Table::symbols().count(),
        open: Duration::from_secs_f64(median(open)),
        table: Duration::from_secs_f64(median(table)),
    })
}

/// A library with all functions of the table.
fn compile(folder: &Path) -> Result<PathBuf, String> {
    let mut text = String::new();
    for symbol in Table::symbols() {
        // Writing to a string does not fail.
        _ = writeln!(text, "int {symbol}(void) {{ return 0; }}");
    }
    let (source, library) = (folder.join("all.c"), folder.join("all.so"));
    std::fs::write(&source, text).map_err(|error| format!("{}: {error}", source.display()))?;
    let compiler = std::env::var_os("CC").unwrap_or("cc".into());
    let output = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .output()
        .map_err(|error| format!("no C compiler: {}: {error}", compiler.display()))?;
    match output.status.success() {
        true => Ok(library),
        false => Err(format!("{} failed: {}", compiler.display(), String::from_utf8_lossy(&output.stderr))),
    }
}

fn copy(from: &Path, to: &Path) -> Result<PathBuf, String> {
    std::fs::copy(from, to).map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(to.to_owned())
}
