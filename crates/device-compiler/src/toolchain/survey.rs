use std::path::{Path, PathBuf};
use std::process::Command;

use super::search::Parts;
use super::{Attempt, Search, cache_root};

/// What a [`Finding`] is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// Kernels cannot be built without it.
    Build,
    /// This optional task needs it.
    Optional(&'static str),
}

/// One line of [`survey`](super::survey): a tool or library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub name: &'static str,
    /// What it is needed for.
    pub need: Need,
    /// Where it is.
    pub path: Option<PathBuf>,
    /// Its version, or its own description.
    pub version: Option<String>,
    /// What is wrong, one line per place that was tried; `None` if all is well.
    pub problem: Option<String>,
    /// What to do about the problem.
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(name: &'static str, need: Need, path: PathBuf, version: impl Into<Option<String>>) -> Self {
        Self { name, need, path: Some(path), version: version.into(), problem: None, remedy: None }
    }

    fn bad(name: &'static str, need: Need, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (problem, remedy) = (Some(problem.into()), Some(remedy.into()));
        Self { name, need, path: None, version: None, problem, remedy }
    }
}

/// The loader's library folders on common systems, besides `LD_LIBRARY_PATH` and ROCm.
const LIBRARY_FOLDERS: &[&str] = &["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// Libraries of a GPU's driver stack: name, sonames (newest first), and what needs it.
const LIBRARIES: &[(&str, &[&str], &str)] = &[
    ("HSA runtime", &["libhsa-runtime64.so.1"], "AMD GPUs"),
    ("HIP runtime", &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"], "AMD GPUs"),
    ("CUDA driver", &["libcuda.so.1"], "NVIDIA GPUs"),
];

impl Search {
    /// Lists each tool and library: its place, its version, what is wrong and what to do.
    #[must_use]
    pub fn survey(&self) -> Vec<Finding> {
        let mut findings = self.survey_compiler();
        findings.push(self.survey_hipify());
        for &(name, sonames, without) in LIBRARIES {
            findings.push(self.survey_library(name, sonames, without));
        }
        findings.push(survey_cache());
        findings
    }

    /// The toolchain that [`find`](Self::find) finds, or else the first working compiler and its missing
    /// parts.
    fn survey_compiler(&self) -> Vec<Finding> {
        let mut attempts = Vec::new();
        let mut shown = None;
        for candidate in self.candidates(&mut attempts) {
            let mut lacks = Vec::new();
            let parts = self.parts(&candidate, &mut lacks);
            let complete = parts.clang.as_ref().is_some_and(|clang| clang.linker.is_some())
                && parts.hip.is_some()
                && parts.device_libs.is_some()
                && parts.cxx_headers.is_some();
            if complete || (shown.is_none() && parts.clang.is_some()) {
                shown = Some((candidate, parts));
            }
            attempts.extend(lacks);
            if complete {
                break;
            }
        }
        let (candidate, parts) = match shown {
            Some((candidate, parts)) => (Some(candidate), parts),
            None => (None, Parts::default()),
        };
        let tell = |name: &'static str, found: Option<(PathBuf, Option<String>)>| match found {
            Some((path, version)) => Finding::ok(name, Need::Build, path, version),
            None => {
                let about =
                    |attempt: &&Attempt| attempt.what == name || (name == "clang" && attempt.what == "ROCm");
                let mut reasons: Vec<String> = Vec::new();
                for Attempt { place, reason, .. } in attempts.iter().filter(about) {
                    let line = format!("{place}: {reason}");
                    if !reasons.contains(&line) {
                        reasons.push(line);
                    }
                }
                if reasons.is_empty() {
                    reasons.push("not looked for without a clang".into());
                }
                Finding::bad(name, Need::Build, reasons.join("\n"), self.remedy())
            }
        };
        let clang = candidate.zip(parts.clang.as_ref()).map(|(candidate, clang)| {
            (candidate.clang, Some(format!("{} ({})", clang.version_text, candidate.origin)))
        });
        vec![
            tell("clang", clang),
            tell("lld", parts.clang.and_then(|clang| clang.linker).map(|lld| (lld, None))),
            tell("HIP headers", parts.hip.map(|(root, v)| (root.join("include/hip"), Some(v.to_string())))),
            tell("device libraries", parts.device_libs.map(|folder| (folder, None))),
            tell("C++ headers", parts.cxx_headers.map(|(_, folder)| (folder, None))),
        ]
    }

    fn survey_hipify(&self) -> Finding {
        let need = Need::Optional("the comparison of hipify with hipify-perl");
        let Some(path) = self.hipify() else {
            return Finding::bad("hipify-perl", need, "not found", self.remedy());
        };
        let perl = Command::new("perl").args(["-e", "printf '%vd', $^V"]).output();
        match perl {
            Ok(output) if output.status.success() => {
                let version = format!("perl {}", String::from_utf8_lossy(&output.stdout));
                Finding::ok("hipify-perl", need, path, version)
            }
            _ => Finding {
                path: Some(path),
                ..Finding::bad("hipify-perl", need, "perl cannot be run", "install perl")
            },
        }
    }

    fn survey_library(&self, name: &'static str, sonames: &[&str], without: &'static str) -> Finding {
        let loader = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&loader)
            .filter(|path| !path.as_os_str().is_empty())
            .chain(self.rocm.iter().map(|root| root.join("lib")))
            .chain(LIBRARY_FOLDERS.iter().map(PathBuf::from))
            .collect();
        let found = sonames
            .iter()
            .find_map(|soname| folders.iter().map(|folder| folder.join(soname)).find(|path| path.exists()));
        match found {
            Some(path) => {
                let version = library_version(&path);
                Finding::ok(name, Need::Optional(without), path, version)
            }
            None => {
                let remedy =
                    format!("none needed without such a GPU; else install its driver's {}", sonames[0]);
                Finding::bad(name, Need::Optional(without), "not found", remedy)
            }
        }
    }
}

/// The digits after `.so.` in the name of the file that a soname links to.
fn library_version(path: &Path) -> Option<String> {
    let real = std::fs::canonicalize(path).ok()?;
    let name = real.file_name()?.to_str()?;
    name.split_once(".so.").map(|(_, version)| version.to_owned())
}

fn survey_cache() -> Finding {
    let (name, need) = ("kernel cache", Need::Optional("quick rebuilds"));
    let Some(root) = cache_root() else {
        return Finding::bad(name, need, "no folder is named", "set FERROCM_CACHE, XDG_CACHE_HOME or HOME");
    };
    let folder = root.join("kernels");
    // A query must not create folders.
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(&folder);
    match tempfile::tempfile_in(existing) {
        Ok(_) => Finding::ok(name, need, folder, None),
        Err(error) => {
            let problem = format!("cannot write to {}: {error}", existing.display());
            let remedy = "make it writable, or set FERROCM_CACHE to a folder that is";
            Finding { path: Some(folder), ..Finding::bad(name, need, problem, remedy) }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::toolchain::Version;

    #[test]
    fn versions_are_read_from_the_start_of_a_text() {
        let version = |major, minor, patch| Some(Version { major, minor, patch });
        assert_eq!(Version::parse("22.1.8 (1~deb12u1)"), version(22, 1, 8));
        assert_eq!(Version::parse("19.0.0git"), version(19, 0, 0));
        assert_eq!(Version::parse("22"), version(22, 0, 0));
        assert_eq!(Version::parse("git"), None);
    }
}
