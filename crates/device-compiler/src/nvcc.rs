//! Finds nvcc, NVIDIA's compiler, and knows its [options] and [response files](response).

pub mod options;
pub mod response;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::toolchain::{Attempt, NotFound, cache_root};

/// The version of CUDA whose tools and headers these are: major, minor, build of nvcc.
pub const CUDA_VERSION: (u32, u32, u32) = (12, 8, 93);
/// NVIDIA's architectures that CUDA 12.8 lists. All are accepted, and none is compiled for.
pub const ARCHITECTURES: [u32; 17] = [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120];
/// The variable that names the only nvcc to use.
pub const NVCC: &str = "NVCC";
/// Variables that name a CUDA toolkit's folder.
pub const ROOTS: &[&str] = &["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];
/// Where toolkits are installed.
const SYSTEM: &[&str] = &["/usr/local/cuda", "/opt/cuda"];
/// The folder with the toolkits that `ferrocm setup --cuda` installs, in the cache folder.
pub const PREFIXES: &str = "toolchain/cuda";
/// The option of set-up that installs one.
pub const SETUP_OPTION: &str = "--cuda";

/// The beginning of a line in the answer to `--version` of this project's own nvcc, which compiles for AMD
/// GPUs and is not searched for.
pub const OWN: &str = "This is ferrocm's nvcc";

/// NVIDIA's compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    /// The program.
    pub path: PathBuf,
    /// What `nvcc --version` prints.
    pub version_text: String,
}

/// Where to look for nvcc, in this order.
#[derive(Clone, Debug)]
pub struct Search {
    /// The only nvcc to use, and who or which variable names it.
    pub named: Option<(&'static str, PathBuf)>,
    /// Folders of toolkits, and the variable that names each.
    pub roots: Vec<(&'static str, PathBuf)>,
    /// Folders of programs.
    pub path: Vec<PathBuf>,
    /// Where toolkits are installed.
    pub system: Vec<PathBuf>,
    /// The toolkit that `ferrocm setup --cuda` installs.
    pub prefix: Option<PathBuf>,
    /// The command of set-up, for messages; without one, they name `ferrocm setup`.
    pub setup: Option<String>,
}

impl Search {
    /// The search that the environment describes.
    #[must_use]
    pub fn from_env() -> Self {
        let value = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            named: value(NVCC).map(|path| (NVCC, path)),
            roots: ROOTS.iter().filter_map(|name| Some((*name, value(name)?))).collect(),
            path: std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default(),
            system: SYSTEM.iter().map(PathBuf::from).collect(),
            prefix: cache_root().map(|root| root.join(PREFIXES).join("current")),
            // The text is only printed, so an unreadable one is ignored.
            setup: variables::SETUP.text().ok().flatten(),
        }
    }

    /// The same search, or only for this nvcc if there is one.
    #[must_use]
    pub fn or_only(self, nvcc: Option<PathBuf>) -> Self {
        match nvcc {
            Some(path) => Self { named: Some(("the caller", path)), ..self },
            None => self,
        }
    }

    /// Finds the first nvcc that works. `feature` is the one of the crate being built that requires it.
    ///
    /// # Errors
    /// [`NotFound`] lists every place.
    pub fn find(&self, feature: Option<&str>) -> Result<Nvcc, NotFound> {
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
            return Err(self.not_found(attempts, Some(origin), feature));
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
        if let Some(prefix) = &self.prefix
            && let Some(nvcc) = attempt("set-up", &prefix.join("bin/nvcc"))
        {
            return Ok(nvcc);
        }
        if on_path.is_empty() {
            attempts.push(Attempt { what: "nvcc", place: "PATH".into(), reason: "no nvcc".into() });
        }
        Err(self.not_found(attempts, None, feature))
    }

    fn not_found(&self, attempts: Vec<Attempt>, named: Option<&str>, feature: Option<&str>) -> NotFound {
        let setup = match &self.setup {
            Some(command) => format!("run `{command} {SETUP_OPTION}`"),
            None => format!("run `ferrocm setup {SETUP_OPTION}` (`cargo install ferrocm` provides it)"),
        };
        let mut remedy = match named {
            Some(NVCC) => format!("correct {NVCC}, or unset it and {setup}"),
            Some(origin) => format!("correct what {origin} names, or name none and {setup}"),
            None => format!(
                "{setup}, or install NVIDIA's CUDA toolkit, or set {NVCC} to an nvcc or {} to a folder with bin/nvcc",
                ROOTS[0]
            ),
        };
        if let Some(feature) = feature {
            remedy.push_str(&format!(", or build without the feature `{feature}`"));
        }
        NotFound { what: "nvcc", attempts, remedy }
    }
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
    if text.lines().any(|line| line.starts_with(OWN)) {
        return Err("it is ferrocm's, which compiles for AMD GPUs".to_owned());
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
        Search {
            named: None,
            roots: Vec::new(),
            path: Vec::new(),
            system: vec!["/no/system".into()],
            prefix: None,
            setup: Some("the-program setup".to_owned()),
        }
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
             To get one, run `the-program setup --cuda`, or install NVIDIA's CUDA toolkit, or set NVCC to an nvcc or \
             CUDA_HOME to a folder with bin/nvcc."
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
        assert_eq!(error.remedy, "correct NVCC, or unset it and run `the-program setup --cuda`");
        let found = Search { named: None, ..search }.find(None).unwrap();
        assert_eq!((found.path, found.version_text.lines().count()), (folder.path().join("bin/nvcc"), 2));
    }

    #[test]
    fn what_set_up_installed_comes_last() {
        let folder = tempfile::tempdir().unwrap();
        let [own, system, prefix] = ["own", "system", "prefix"].map(|name| folder.path().join(name));
        let mut search = Search { system: vec![system.clone()], prefix: Some(prefix.clone()), ..nowhere() };
        let error = search.find(None).unwrap_err().to_string();
        assert!(
            error.contains(&format!("nvcc: set-up: {}/bin/nvcc: no such file", prefix.display())),
            "{error}"
        );
        for place in [&prefix, &system, &own] {
            let nvcc = script(&place.join("bin"), VERSION);
            search.roots = vec![("CUDA_HOME", own.clone())];
            assert_eq!(search.find(None).unwrap().path, nvcc);
        }
        std::fs::write(own.join("bin/nvcc"), "#!/bin/sh\nexit 1\n").unwrap();
        search.path = vec![prefix.join("bin")];
        assert_eq!(
            search.find(None).unwrap().path,
            prefix.join("bin/nvcc"),
            "what is on PATH is before the system's"
        );
        let only = search.or_only(Some("/no/nvcc".into())).find(None).unwrap_err();
        assert_eq!((only.attempts.len(), &*only.attempts[0].place), (1, "the caller: /no/nvcc"));
    }

    #[test]
    fn what_does_not_work_is_passed_over_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let [broken, other, good] = ["broken", "other", "good"].map(|name| folder.path().join(name));
        script(&broken, "echo no libraries >&2; exit 127");
        script(&other, "echo hello");
        let own = folder.path().join("own");
        script(&own, &format!("{VERSION}; echo \"{OWN} 0.1.0\""));
        script(&good, VERSION);
        let mut search = Search { path: vec![broken, other, own, good.clone()], ..nowhere() };
        let found = search.find(None).unwrap();
        assert_eq!((found.path.parent(), found.version()), (Some(&*good), "13.0, V13.0.88"));
        search.path.pop();
        let error = search.find(None).unwrap_err().to_string();
        assert!(error.contains("it fails (exit status: 127): no libraries"), "{error}");
        assert!(error.contains("it is not nvcc: `hello`"), "{error}");
        assert!(error.contains("it is ferrocm's, which"), "{error}");
    }
}
