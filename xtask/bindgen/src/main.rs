//! Generates the checked-in files of the `-sys` crates, and their reports, from the headers of several
//! versions.

mod aliases;
mod api;
mod bindings;
mod comments;
mod compare;
mod coverage;
mod exports;
mod layouts;
mod legacy;
mod library;
mod merge;
mod output;
mod report;
mod run;
mod table;
mod unexported;

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

use anyhow::{Context, Result};
use clap::Parser;

use crate::aliases::Aliases;
use crate::api::Api;
use crate::library::{LIBRARIES, Library, Vendor, Version};
use crate::merge::Merged;
use crate::output::Output;

/// Generates the checked-in bindings, function tables and reports of the `-sys` crates.
#[derive(Parser)]
#[command(name = "cargo xtask bindgen")]
struct Arguments {
    /// Folder with a folder per ROCm release (`5.2`, `5.7`, `6.4`, `7.2`), each with the headers in
    /// `usr/include`.
    #[arg(long, value_name = "DIR", required_unless_present = "cuda_headers")]
    headers: Option<PathBuf>,
    /// Folder with a folder per CUDA version (`12.0`, `12.4`, `12.9`, `13.0`, `13.5`), each with the headers
    /// in `usr/include`.
    #[arg(long, value_name = "DIR")]
    cuda_headers: Option<PathBuf>,
    /// Change nothing; fail if a checked-in file differs from what would be generated.
    #[arg(long)]
    check: bool,
}

/// The release whose hipify knows the most names.
const NEWEST_RELEASE: &str = "7.2";

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the workspace root")?;
    let mut output = Output::new(root, arguments.check);
    if let Some(headers) = &arguments.headers {
        let newest = headers.join(NEWEST_RELEASE);
        let mut aliases = Aliases::from_hipify(&newest.join("usr/bin/hipify-perl"))?;
        for folder in ["hip", "rocblas", "rccl"] {
            aliases.add_macros(&newest.join("usr/include"), folder)?;
        }
        generate_all(Vendor::Amd, headers, &aliases, &mut output)?;
    }
    if let Some(headers) = &arguments.cuda_headers {
        generate_all(Vendor::Nvidia, headers, &Aliases::default(), &mut output)?;
    }
    if !arguments.check {
        output.write("docs/generated/coverage.md", &coverage::generate(root)?)?;
        return Ok(());
    }
    // The report reads the tables; if these differ from the checked-in ones, it would only repeat the
    // difference.
    if output.differs() {
        return output.finish();
    }
    output.write("docs/generated/coverage.md", &coverage::generate(root)?)?;
    output.finish()
}

/// Writes the files of all libraries of one vendor.
fn generate_all(vendor: Vendor, headers: &Path, aliases: &Aliases, output: &mut Output) -> Result<()> {
    let libraries: Vec<_> = LIBRARIES.iter().filter(|library| library.vendor == vendor).collect();
    for (library, texts) in libraries.iter().zip(read_all(&libraries, headers)) {
        generate(library, texts, headers, aliases, output)
            .with_context(|| format!("generating the bindings of {}", library.what))?;
    }
    Ok(())
}

/// What bindgen makes of each version of each library, in their order. Reading headers takes most of the
/// time, HIP's above all, so each version has a thread.
fn read_all(libraries: &[&'static Library], headers: &Path) -> Vec<Vec<Result<String>>> {
    let read = |library: &'static Library, version: &'static Version| {
        run::bindgen(library, version, &headers.join(version.release).join("usr/include"))
    };
    let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
    std::thread::scope(|scope| {
        let start = |library: &&'static Library| -> Vec<_> {
            let library: &'static Library = library;
            library.versions.iter().map(|version| scope.spawn(move || read(library, version))).collect()
        };
        let threads: Vec<_> = libraries.iter().map(start).collect();
        threads.into_iter().map(|versions| versions.into_iter().map(join).collect()).collect()
    })
}

fn generate(
    library: &'static Library,
    texts: Vec<Result<String>>,
    headers: &Path,
    aliases: &Aliases,
    output: &mut Output,
) -> Result<()> {
    let versions = library.versions.iter().zip(texts);
    let apis: Result<Vec<Api>> = versions
        .map(|(version, text)| {
            Api::parse(&text?, library).with_context(|| format!("{} {}", library.what, version.version))
        })
        .collect();
    let merged = Merged::new(library, apis?);
    let folder = format!("{}/{}", library.crate_folder, library.folder);
    output.write(&format!("{folder}/bindings.rs"), &bindings::generate(&merged, aliases)?)?;
    output.write(&format!("{folder}/table.rs"), &table::generate(&merged, aliases)?)?;
    for &drop_in in library.drop_ins {
        let exports = exports::generate(&merged, drop_in)?;
        output.write(&format!("{}/src/exports.rs", drop_in.crate_folder), &exports.functions)?;
        if let Some(text) = exports.other_names {
            output.write(&format!("{}/src/other_names.rs", drop_in.crate_folder), &text)?;
        }
    }
    let legacy = format!("{folder}/legacy.rs");
    match legacy::generate(&merged) {
        Some(text) => output.write(&legacy, &text)?,
        None => output.remove(&legacy)?,
    }
    if library.vendor == Vendor::Amd {
        let tests = format!("{}/tests/layouts/{}.rs", library.crate_folder, library.report);
        output.write(&tests, &layouts::generate(&merged, headers)?)?;
    }
    output.write(&format!("docs/generated/abi/{}.md", library.report), &report::generate(&merged))
}
