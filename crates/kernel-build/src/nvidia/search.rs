//! Finds nvcc.

use std::path::{Path, PathBuf};
use std::process::Command;

use device_compiler::toolchain::{Attempt, NotFound};

/// The variable that names the only nvcc to use.
pub(super) const NVCC: &str = "NVCC";
/// Variables that name a CUDA toolkit's folder.
pub(super) const ROOTS: &[&str] = &["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];
/// Where toolkits are installed.
const SYSTEM: &[&str] = &["/usr/local/cuda", "/opt/cuda"];

/// NVIDIA's compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    /// The program.
    pub path: PathBuf,
    /// What `nvcc --version` prints.
    pub version_text: String,
}

/// Where to look for nvcc.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// The only place, and what names it.
    named: Option<(&'static str, PathBuf)>,
    /// Folders of toolkits, and what names each.
    roots: Vec<(&'static str, PathBuf)>,
    path: Vec<PathBuf>,
    system: Vec<PathBuf>,
}

impl Search {
    /// The search that the caller, or else the environment, describes.
    pub(crate) fn new(named: Option<PathBuf>) -> Self {
        let value = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            named: named.map(|path| ("the caller", path)).or_else(|| value(NVCC).map(|path| (NVCC, path))),
            roots: ROOTS.iter().filter_map(|name| Some((*name, value(name)?))).collect(),
            path: std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default(),
            system: SYSTEM.iter().map(PathBuf::from).collect(),
        }
    }

    /// Finds the first nvcc that works. `feature` is the one that requires it.
    pub(crate) fn find(&self, feature: Option<&str>) -> Result<Nvcc, NotFound> {
        let mut attempts = Vec::new();
        let mut attempt = |origin: &str, path: &Path| {
            let found = probe(path);
            found
                .map_err(|reason| {
                    let place = format!("{origin}: {}", path.display());
                    attempts.push(Attempt { what: "nvcc", place, reason });
                })
                .ok()
        };
        if let Some((origin, path)) = &self.named {
            if let Some(nvcc) = attempt(origin, path) {
                return Ok(nvcc);
            }
            return Err(not_found(attempts, Some(origin), feature));
        }
        for (origin, root) in &self.roots {
            if let Some(nvcc) = attempt(origin, &root.join("bin/nvcc")) {
                return Ok(nvcc);
            }
        }
        let on_path: Vec<PathBuf> =
            self.path.iter().map(|dir| dir.join("nvcc")).filter(|path| path.is_file()).collect();
        for path in &on_path {
            if let Some(nvcc) = attempt("PATH", path) {
                return Ok(nvcc);
            }
        }
        for root in &self.system {
            if let Some(nvcc) = attempt("this machine", &root.join("bin/nvcc")) {
                return Ok(nvcc);
            }
        }
        if on_path.is_empty() {
            attempts.push(Attempt { what: "nvcc", place: "PATH".into(), reason: "no nvcc".into() });
        }
        Err(not_found(attempts, None, feature))
    }
}

fn not_found(attempts: Vec<Attempt>, named: Option<&str>, feature: Option<&str>) -> NotFound {
    let mut remedy = match named {
        Some(NVCC) => format!("correct {NVCC}, or unset it and install NVIDIA's CUDA toolkit"),
        Some(origin) => format!("correct what {origin} names, or install NVIDIA's CUDA toolkit"),
        None => format!(
            "install NVIDIA's CUDA toolkit, or set {NVCC} to an nvcc or {} to a folder with bin/nvcc",
            ROOTS[0]
        ),
    };
    if let Some(feature) = feature {
        remedy.push_str(&format!(", or build without the feature `{feature}`"));
    }
    NotFound { what: "nvcc", attempts, remedy }
}

fn probe(path: &Path) -> Result<Nvcc, String> {
    let output = Command::new(path).arg("--version").env("LC_ALL", "C").output().map_err(|e| {
        if e.kind() == std::io::ErrorKind::NotFound { "no such file".into() } else { e.to_string() }
    })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.lines().chain(std::str::from_utf8(&output.stderr).unwrap_or_default().lines());
    let said = said.map(str::trim).find(|line| !line.is_empty()).unwrap_or("no message").to_owned();
    if !output.status.success() {
        return Err(format!("it fails ({}): {said}", output.status));
    }
    if !text.contains("Cuda compilation tools, release ") {
        return Err(format!("it is not nvcc: `{said}`"));
    }
    Ok(Nvcc { path: path.to_owned(), version_text: text })
}

impl Nvcc {
    /// The number in its [text](Self::version_text): `13.0, V13.0.88`.
    #[must_use]
    pub fn version(&self) -> &str {
        let line = self.version_text.lines().find_map(|line| line.split_once(", release "));
        line.map_or("", |(_, version)| version.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere() -> Search {
        Search { named: None, roots: Vec::new(), path: Vec::new(), system: vec!["/no/system".into()] }
    }

    fn script(folder: &Path, body: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.join("nvcc");
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    const VERSION: &str =
        "echo 'nvcc: NVIDIA (R) Cuda compiler driver'; echo 'Cuda compilation tools, release 13.0, V13.0.88'";

    #[test]
    fn without_nvcc_every_place_is_told_and_what_to_do() {
        let search = Search { roots: vec![("CUDA_HOME", "/no/cuda".into())], ..nowhere() };
        assert_eq!(
            search.find(None).unwrap_err().to_string(),
            "no nvcc was found; tried\n  nvcc: CUDA_HOME: /no/cuda/bin/nvcc: no such file\n  \
             nvcc: this machine: /no/system/bin/nvcc: no such file\n  nvcc: PATH: no nvcc\n\
             To get one, install NVIDIA's CUDA toolkit, or set NVCC to an nvcc or CUDA_HOME to a folder with bin/nvcc."
        );
        let error = search.find(Some("cuda")).unwrap_err().to_string();
        assert!(error.ends_with("bin/nvcc, or build without the feature `cuda`."), "{error}");
    }

    #[test]
    fn a_named_nvcc_is_binding() {
        let folder = tempfile::tempdir().unwrap();
        script(&folder.path().join("bin"), VERSION);
        let roots = vec![("CUDA_HOME", folder.path().to_owned())];
        let search = Search { named: Some((NVCC, "/no/nvcc".into())), roots, ..nowhere() };
        let error = search.find(None).unwrap_err();
        assert_eq!(error.attempts.len(), 1);
        assert_eq!(error.remedy, "correct NVCC, or unset it and install NVIDIA's CUDA toolkit");
        let found = Search { named: None, ..search }.find(None).unwrap();
        assert_eq!((found.path, found.version_text.lines().count()), (folder.path().join("bin/nvcc"), 2));
    }

    #[test]
    fn what_does_not_work_is_passed_over_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let [broken, other, good] = ["broken", "other", "good"].map(|name| folder.path().join(name));
        script(&broken, "echo no libraries >&2; exit 127");
        script(&other, "echo hello");
        script(&good, VERSION);
        let mut search = Search { path: vec![broken, other, good.clone()], ..nowhere() };
        let found = search.find(None).unwrap();
        assert_eq!((found.path.parent(), found.version()), (Some(&*good), "13.0, V13.0.88"));
        search.path.pop();
        let error = search.find(None).unwrap_err().to_string();
        assert!(error.contains("it fails (exit status: 127): no libraries"), "{error}");
        assert!(error.contains("it is not nvcc: `hello`"), "{error}");
    }
}
