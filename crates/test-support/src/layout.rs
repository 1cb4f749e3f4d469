//! Compares bindings with what a C compiler makes of the vendor's headers: the size and alignment of every
//! type, the offset of every field, and the value of every constant, for each version of a library.
//!
//! A `-sys` crate's generator writes a [`Table`] of the layouts of its Rust types. [`check`] writes a C
//! program that prints the same facts from the headers, compiles and runs it, and fails with all differences
//! at once. The headers are below the folder that `FERROCM_ROCM_HEADERS` names (`<release>/usr/include`;
//! `cargo xtask test` fetches them and sets it). Without them, or without a C compiler, the test skips
//! itself.

mod compare;
mod headers;
mod program;

use test_skip::{Lack, skip};

pub use compare::{Difference, Error, Item, Property, compare};
pub use headers::{Compiler, FOLDER_VARIABLE, include_folder};

/// The claims of a library's bindings about each version.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The library's name, for people.
    pub library: &'static str,
    /// The Debian package of its headers, which the folder's `manifest.json` lists with its version.
    pub package: &'static str,
    /// C text that includes the headers.
    pub headers: &'static str,
    /// The versions, oldest first.
    pub versions: &'static [Version],
}

/// The claims of the bindings about one version of a library.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// The library's own version, such as `6.1.2`.
    pub version: &'static str,
    /// The ROCm release whose folder holds its headers, such as `5.7`.
    pub release: &'static str,
    /// Arguments for the C compiler, such as `-D__HIP_PLATFORM_AMD__`.
    pub arguments: &'static [&'static str],
    /// Structs and unions.
    pub layouts: &'static [Layout],
    /// Enumerators and macros, with their values.
    pub constants: &'static [(&'static str, i128)],
}

/// The layout of one struct or union.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The type in C syntax, such as `struct hipArray` or `hipDeviceProp_t`.
    pub c_name: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
    /// Each field in C syntax (`a.b` for a nested one), and its offset in bytes. Bit-fields are left out: C
    /// has no offset for them.
    pub fields: &'static [(&'static str, usize)],
}

/// Compares every version whose headers are available, and prints the others.
///
/// # Panics
/// If anything differs, with a line for each difference; if the available headers do not compile.
pub fn check(table: &Table) {
    let library = table.library;
    let skipped = |lack, reason: &str| skip(lack, format_args!("the layouts of {library}: {reason}"));
    if cfg!(miri) {
        return skipped(Lack::Machine, "Miri starts no compilers");
    }
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) else {
        return skipped(Lack::Tool, &format!("{FOLDER_VARIABLE} is not set"));
    };
    let Some(compiler) = Compiler::find() else {
        return skipped(Lack::Tool, "there is no C compiler (cc, gcc or clang)");
    };
    let mut report = String::new();
    for version in table.versions {
        let Version { version: number, release, .. } = version;
        let include = match include_folder(folder.as_ref(), table, version) {
            Ok(include) => include,
            Err(reason) => {
                skip(Lack::Tool, format_args!("the layouts of {library} {number}: {reason}"));
                continue;
            }
        };
        match compare(&compiler, &include, table.headers, version) {
            Ok(differences) if differences.is_empty() => println!(
                "{library} {number} (ROCm {release}): {} types and {} constants are what {} makes of the headers",
                version.layouts.len(),
                version.constants.len(),
                compiler.name()
            ),
            Ok(differences) => {
                report.push_str(&format!("\n{library} {number} (ROCm {release}):\n"));
                report.extend(differences.iter().map(|difference| format!("  {difference}\n")));
            }
            Err(error) => report.push_str(&format!("\n{library} {number} (ROCm {release}): {error}\n")),
        }
    }
    assert!(report.is_empty(), "bindings and headers differ:\n{report}");
}
