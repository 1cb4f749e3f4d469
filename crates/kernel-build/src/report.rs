//! The resources of each kernel of a build as a file, and comparisons between two builds or between a build
//! and its limits.
//!
//! ```no_run
//! use kernel_build::Builder;
//! use kernel_build::report::{Limits, Report};
//!
//! let before = Report::read("kernels.json".as_ref())?;
//! let report = Report::new(&Builder::new("kernels").build()?);
//! for change in report.changes_since(&before).worse {
//!     println!("{} on {}: {} {} -> {}", change.kernel, change.target, change.figure, change.before, change.after);
//! }
//! for excess in Limits::parse(["spills=0", "gemm_*:vgprs=128"])?.check(&report)? {
//!     println!("{} on {}: {} {}, limit {}", excess.kernel, excess.target, excess.figure, excess.found, excess.limit);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod changes;
mod limits;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Build, KernelUse};

pub use changes::{Change, Changes, KernelName};
pub use limits::{Excess, Limits};

/// The resources of every kernel of a build. Equal builds give equal reports, which contain no times and no
/// paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// [`Report::SCHEMA`] of the version that wrote it.
    pub schema: u32,
    /// The compiler and the HIP headers; empty if nothing was built for AMD GPUs.
    pub toolchain: String,
    /// One per kernel and target, sorted by module, kernel and target.
    pub kernels: Vec<KernelUse>,
}

/// Why a report cannot be read or written, or a limit cannot be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not a report.
    #[error("{} is not a report of `build-kernels --json`: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A report is from another version of this crate.
    #[error("{} has schema {found}, but this version reads schema {}: write the file again", path.display(), Report::SCHEMA)]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u64,
    },
    /// A limit is not of the form `[KERNEL-GLOB:]figure=number[,…]`, or no kernel's name matches its pattern.
    #[error("the limit `{text}`: {reason}")]
    Limit {
        /// The limit.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Report {
    /// The version of the file format. It changes when an older version would misread the files.
    pub const SCHEMA: u32 = 1;

    /// The report of a build.
    #[must_use]
    pub fn new(build: &Build) -> Self {
        let toolchain = build.toolchain.as_ref();
        let toolchain =
            toolchain.map_or_else(String::new, |it| format!("{}; HIP {}", it.version_text, it.hip_version));
        Self::of(toolchain, build.kernel_uses().collect())
    }

    fn of(toolchain: String, mut kernels: Vec<KernelUse>) -> Self {
        fn key(used: &KernelUse) -> (&str, &str, &str) {
            (&used.module, &used.kernel, &used.target)
        }
        kernels.sort_by(|a, b| key(a).cmp(&key(b)));
        Self { schema: Self::SCHEMA, toolchain, kernels }
    }

    /// Reads a report that [`write`](Report::write) wrote.
    ///
    /// # Errors
    /// [`ReportError`] if the file is missing, is not a report, or has another schema.
    pub fn read(path: &Path) -> Result<Self, ReportError> {
        #[derive(Deserialize)]
        struct Head {
            schema: u64,
        }
        let io = |source| ReportError::Io { action: "read", path: path.to_owned(), source };
        let corrupt = |error: serde_json::Error| ReportError::Corrupt {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let bytes = fs::read(path).map_err(io)?;
        // The schema is checked first: a report with another one may lack fields.
        let Head { schema } = serde_json::from_slice(&bytes).map_err(corrupt)?;
        if schema != u64::from(Self::SCHEMA) {
            return Err(ReportError::Schema { path: path.to_owned(), found: schema });
        }
        serde_json::from_slice(&bytes).map_err(corrupt)
    }

    /// The report as JSON, with a line break at its end.
    ///
    /// # Errors
    /// An error of the serializer; there is no known cause of one.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Writes the report to a file and creates its folder if needed.
    ///
    /// # Errors
    /// [`ReportError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        let io = |source| ReportError::Io { action: "write", path: path.to_owned(), source };
        let text = self.to_json().map_err(|error| io(error.into()))?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io)?;
        }
        fs::write(path, text).map_err(io)
    }

    /// The changes since an earlier report.
    #[must_use]
    pub fn changes_since(&self, before: &Report) -> Changes {
        changes::between(before, self)
    }
}

/// A number of a kernel, for comparisons and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// Bytes of machine code.
    Code,
    /// Vector registers.
    Vgprs,
    /// Scalar registers.
    Sgprs,
    /// Accumulation registers.
    Agprs,
    /// Bytes of static LDS.
    Lds,
    /// Bytes of scratch.
    Scratch,
    /// Registers that did not fit, vector and scalar ones together.
    Spills,
    /// Waves per SIMD unit: the only figure where more is better.
    Occupancy,
}

impl Figure {
    /// All figures, in display order.
    pub const ALL: [Figure; 8] = [
        Figure::Code,
        Figure::Vgprs,
        Figure::Sgprs,
        Figure::Agprs,
        Figure::Lds,
        Figure::Scratch,
        Figure::Spills,
        Figure::Occupancy,
    ];

    /// The name in limits.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Figure::Code => "code",
            Figure::Vgprs => "vgprs",
            Figure::Sgprs => "sgprs",
            Figure::Agprs => "agprs",
            Figure::Lds => "lds",
            Figure::Scratch => "scratch",
            Figure::Spills => "spills",
            Figure::Occupancy => "occupancy",
        }
    }

    /// The figure of a kernel, if known.
    #[must_use]
    pub fn of(self, used: &KernelUse) -> Option<u64> {
        Some(match self {
            Figure::Code => return Some(used.code_bytes).filter(|bytes| *bytes > 0),
            Figure::Vgprs => used.vgprs.into(),
            Figure::Sgprs => used.sgprs.into(),
            Figure::Agprs => used.agprs.into(),
            Figure::Lds => used.lds.into(),
            Figure::Scratch => used.scratch.into(),
            Figure::Spills => u64::from(used.vgpr_spills) + u64::from(used.sgpr_spills),
            Figure::Occupancy => return used.occupancy.map(u64::from),
        })
    }

    /// Whether a kernel got worse. Code must grow by more than 5 % and 64 bytes, because any edit causes
    /// smaller changes.
    #[must_use]
    pub fn is_worse(self, before: u64, after: u64) -> bool {
        match self {
            Figure::Occupancy => after < before,
            Figure::Code => {
                let more = after.saturating_sub(before);
                more > 64 && more > before / 20
            }
            _ => after > before,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Figure::Code => "code bytes",
            Figure::Vgprs => "VGPRs",
            Figure::Sgprs => "SGPRs",
            Figure::Agprs => "AGPRs",
            Figure::Lds => "LDS",
            Figure::Scratch => "scratch",
            Figure::Spills => "spills",
            Figure::Occupancy => "occupancy",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn used(module: &str, kernel: &str, target: &str) -> KernelUse {
        KernelUse {
            module: module.to_owned(),
            target: target.to_owned(),
            kernel: kernel.to_owned(),
            vgprs: 40,
            agprs: 0,
            sgprs: 20,
            lds: 1024,
            scratch: 0,
            wave: 32,
            vgpr_spills: 0,
            sgpr_spills: 0,
            code_bytes: 1000,
            occupancy: Some(16),
        }
    }

    pub(super) fn report(kernels: Vec<KernelUse>) -> Report {
        Report::of("clang; HIP".to_owned(), kernels)
    }

    #[test]
    fn a_file_has_what_was_written_in_an_order_that_does_not_depend_on_the_builds() {
        let rows = [
            used("b", "k", "gfx90a"),
            used("a", "l", "gfx90a"),
            used("a", "k", "gfx90a"),
            used("a", "k", "gfx1100"),
        ];
        let forward = report(rows.to_vec());
        let backward = report(rows.into_iter().rev().collect());
        let json = forward.to_json().unwrap();
        assert_eq!(json, backward.to_json().unwrap());
        assert!(
            json.starts_with("{\n  \"schema\": 1,\n  \"toolchain\": \"clang; HIP\",\n  \"kernels\": [\n"),
            "{json}"
        );
        let names: Vec<_> =
            forward.kernels.iter().map(|k| format!("{} {} {}", k.module, k.kernel, k.target)).collect();
        assert_eq!(names, ["a k gfx1100", "a k gfx90a", "a l gfx90a", "b k gfx90a"]);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/kernels.json");
        forward.write(&path).unwrap();
        assert_eq!(Report::read(&path).unwrap(), forward);
    }

    #[test]
    fn a_kernel_may_have_no_occupancy() {
        let mut unknown = used("a", "k", "gfx1250");
        unknown.occupancy = None;
        let unknown = report(vec![unknown]);
        let json = unknown.to_json().unwrap();
        assert!(json.contains("\"occupancy\": null"), "{json}");
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), unknown);
    }

    #[test]
    fn files_that_are_no_reports_say_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let error = || Report::read(&path).unwrap_err().to_string();
        assert!(error().starts_with(&format!("cannot read {}: ", path.display())));
        let good = report(vec![used("a", "k", "gfx1100")]).to_json().unwrap();
        for bad in [
            "",
            "[]",
            "{}",
            "\u{0}",
            "nonsense",
            r#"{"schema":1}"#,
            r#"{"schema":-1}"#,
            &good[..good.len() / 2],
        ] {
            fs::write(&path, bad).unwrap();
            assert!(
                error().contains("a.json is not a report of `build-kernels --json`: "),
                "{bad:?}: {}",
                error()
            );
        }
        fs::write(&path, good.replace("\"vgprs\": 40", "\"vgprs\": -40")).unwrap();
        assert!(error().contains("invalid value"), "{}", error());
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(error().contains("is not a report"), "{}", error());
        fs::write(&path, r#"{"schema":2,"all":"is different"}"#).unwrap();
        assert!(
            error().ends_with("a.json has schema 2, but this version reads schema 1: write the file again"),
            "{}",
            error()
        );
    }

    #[test]
    fn small_changes_of_the_codes_size_are_none() {
        let worse = |before, after| Figure::Code.is_worse(before, after);
        assert!(!worse(1000, 1064) && worse(1000, 1065));
        assert!(!worse(100_000, 105_000) && worse(100_000, 105_001));
        assert!(!worse(1000, 0) && worse(0, u64::MAX) && !worse(u64::MAX, u64::MAX));
        assert!(Figure::Vgprs.is_worse(40, 41) && !Figure::Vgprs.is_worse(41, 40));
        assert!(Figure::Occupancy.is_worse(16, 15) && !Figure::Occupancy.is_worse(15, 16));
    }
}
