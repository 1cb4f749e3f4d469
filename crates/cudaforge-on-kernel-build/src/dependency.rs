//! Headers from elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::io;
use crate::{Error, Result};

/// The name of the dependency on CUTLASS.
const CUTLASS: &str = "cutlass";
/// The commit that cudaforge takes if the script names none.
const CUTLASS_COMMIT: &str = "7127592069c2fe01b041e174ba4345ef9b279671";

/// A git repository with headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalDependency {
    /// Its name.
    pub name: String,
    /// Its address.
    pub repo_url: String,
    /// The commit, with all 40 digits: servers do not accept fewer.
    pub commit: String,
    /// Folders with headers in it.
    pub include_paths: Vec<String>,
    /// Further paths that scripts need from it.
    pub extra_paths: Vec<String>,
    /// Whether to fetch its submodules.
    pub recurse_submodules: bool,
}

impl ExternalDependency {
    /// CUTLASS. Its products up to those of Ada GPUs compile for AMD GPUs, as functions of CUDA's headers for
    /// them; those of Hopper and later GPUs do not.
    #[must_use]
    pub fn cutlass(commit: Option<&str>) -> Self {
        Self::git(
            CUTLASS,
            "https://github.com/NVIDIA/cutlass.git",
            commit.unwrap_or(CUTLASS_COMMIT),
            vec!["include", "tools/util/include"],
            vec![],
            false,
        )
    }

    /// A repository.
    #[must_use]
    pub fn git(
        name: &str,
        repo_url: &str,
        commit: &str,
        include_paths: Vec<&str>,
        extra_paths: Vec<&str>,
        recurse_submodules: bool,
    ) -> Self {
        let owned = |paths: Vec<&str>| paths.into_iter().map(str::to_owned).collect();
        Self {
            name: name.to_owned(),
            repo_url: repo_url.to_owned(),
            commit: commit.to_owned(),
            include_paths: owned(include_paths),
            extra_paths: owned(extra_paths),
            recurse_submodules,
        }
    }

    /// Fetches the commit to a folder below `out_dir`, unless it is already there, and returns the folder.
    ///
    /// # Errors
    /// [`Error::GitOperationFailed`] contains git's message. Nothing is left that a later call would mistake
    /// for the repository.
    pub fn fetch(&self, out_dir: &Path) -> Result<PathBuf> {
        let folder = out_dir.join(format!("{}-{}", self.name, self.commit));
        if folder.is_dir() {
            return Ok(folder);
        }
        std::fs::create_dir_all(out_dir).map_err(|error| io("make the folder", out_dir, &error))?;
        let work = out_dir.join(format!("{}-{}.{}", self.name, self.commit, std::process::id()));
        let result = self.fetch_into(&work).and_then(|()| match std::fs::rename(&work, &folder) {
            // Another process was faster.
            Err(_) if folder.is_dir() => Ok(()),
            other => other.map_err(|error| io("make the folder", &folder, &error)),
        });
        if work.exists() {
            std::fs::remove_dir_all(&work).map_err(|error| io("remove the folder", &work, &error))?;
        }
        result.map(|()| folder)
    }

    fn fetch_into(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(|error| io("make the folder", folder, &error))?;
        git(folder, &["init", "--quiet"])?;
        git(folder, &["fetch", "--quiet", "--depth", "1", "--", &self.repo_url, &self.commit])?;
        git(folder, &["checkout", "--quiet", "--detach", "FETCH_HEAD"])?;
        if self.recurse_submodules {
            git(folder, &["submodule", "update", "--quiet", "--init", "--recursive", "--depth", "1"])?;
        }
        Ok(())
    }

    /// The compiler's options for its headers.
    #[must_use]
    pub fn include_args(&self, base_dir: &Path) -> Vec<String> {
        self.folders(base_dir).map(|folder| format!("-I{}", folder.display())).collect()
    }

    /// The repository's own folder, and those in it.
    fn folders(&self, base: &Path) -> impl Iterator<Item = PathBuf> {
        let inner = self.include_paths.iter().map(|path| base.join(path));
        std::iter::once(base.to_owned()).chain(inner)
    }
}

fn git(folder: &Path, args: &[&str]) -> Result<()> {
    let bad = |reason: String| Error::GitOperationFailed(format!("git {}: {reason}", args.join(" ")));
    let output = Command::new("git").arg("-C").arg(folder).args(args).output();
    let output = output.map_err(|error| bad(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(bad(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()))
}

/// Everything that a build takes headers from.
#[derive(Clone, Debug, Default)]
pub struct DependencyManager {
    dependencies: Vec<ExternalDependency>,
    includes: Vec<PathBuf>,
}

impl DependencyManager {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds [CUTLASS](ExternalDependency::cutlass).
    #[must_use]
    pub fn with_cutlass(mut self, commit: Option<&str>) -> Self {
        self.dependencies.push(ExternalDependency::cutlass(commit));
        self
    }

    /// Adds a repository.
    #[must_use]
    pub fn with_git_dependency(
        mut self,
        name: &str,
        repo: &str,
        commit: &str,
        include_paths: Vec<&str>,
        extra_paths: Vec<&str>,
        recurse_submodules: bool,
    ) -> Self {
        let dependency =
            ExternalDependency::git(name, repo, commit, include_paths, extra_paths, recurse_submodules);
        self.dependencies.push(dependency);
        self
    }

    /// Adds a folder of headers.
    #[must_use]
    pub fn with_local_include<P: Into<PathBuf>>(mut self, path: P) -> Self {
        self.includes.push(path.into());
        self
    }

    /// Fetches everything and returns the compiler's options for the headers.
    ///
    /// # Errors
    /// Those of [`ExternalDependency::fetch`].
    pub fn fetch_all(&self, out_dir: &Path) -> Result<Vec<String>> {
        let folders = self.fetch_folders(out_dir)?;
        Ok(folders.into_iter().map(|folder| format!("-I{}", folder.display())).collect())
    }

    /// Fetches everything, and returns the folders of headers.
    pub(crate) fn fetch_folders(&self, out_dir: &Path) -> Result<Vec<PathBuf>> {
        let mut folders = self.includes.clone();
        for dependency in &self.dependencies {
            folders.extend(dependency.folders(&dependency.fetch(out_dir)?));
        }
        Ok(folders)
    }

    /// Fetches one of the repositories, and returns its folder.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if there is no repository of this name; those of
    /// [`ExternalDependency::fetch`].
    pub fn fetch_dependency(&self, name: &str, out_dir: &Path) -> Result<PathBuf> {
        let found = self.dependencies.iter().find(|dependency| dependency.name == name);
        let missing = || Error::InvalidConfig(format!("there is no git dependency `{name}`"));
        found.ok_or_else(missing)?.fetch(out_dir)
    }

    /// Whether CUTLASS is among them.
    #[must_use]
    pub fn has_cutlass(&self) -> bool {
        self.dependencies.iter().any(|dependency| dependency.name == CUTLASS)
    }
}

/// A checkout of CUTLASS that Cargo has made for a git dependency, if there is one.
#[must_use]
pub fn resolve_cutlass_from_cargo_checkouts() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    cutlass_below(&home.join("git/checkouts"))
}

/// A folder of headers named CUTLASS in a folder that has one for each repository, with one for each commit.
fn cutlass_below(checkouts: &Path) -> Option<PathBuf> {
    let inner = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{CUTLASS}-")))
    };
    let commits = inner(checkouts).into_iter().filter(named).flat_map(|repository| inner(&repository));
    commits.into_iter().find(|commit| commit.join("include").is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        git(path, &["init", "--quiet"]).unwrap();
        std::fs::create_dir(path.join("include")).unwrap();
        std::fs::write(path.join("include/a.h"), "#define A 1\n").unwrap();
        git(path, &["add", "."]).unwrap();
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        git(path, &[&identity[..], &["commit", "--quiet", "-m", "a"]].concat()).unwrap();
        git(path, &["config", "uploadpack.allowAnySHA1InWant", "true"]).unwrap();
        let output = Command::new("git").arg("-C").arg(path).args(["rev-parse", "HEAD"]).output().unwrap();
        (folder, String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    #[test]
    fn a_commit_is_fetched_once() {
        let (repository, commit) = repository();
        let url = format!("file://{}", repository.path().display());
        let out = tempfile::tempdir().unwrap();
        let manager = DependencyManager::new().with_local_include("/own").with_git_dependency(
            "a",
            &url,
            &commit,
            vec!["include"],
            vec![],
            false,
        );
        let args = manager.fetch_all(out.path()).unwrap();
        let folder = out.path().join(format!("a-{commit}"));
        let expected = [PathBuf::from("/own"), folder.clone(), folder.join("include")];
        assert_eq!(args, expected.map(|folder| format!("-I{}", folder.display())));
        assert_eq!(std::fs::read_to_string(folder.join("include/a.h")).unwrap(), "#define A 1\n");
        drop(repository);
        assert_eq!(manager.fetch_dependency("a", out.path()).unwrap(), folder);
    }

    #[test]
    fn what_cannot_be_fetched_leaves_nothing() {
        let (repository, _) = repository();
        let url = format!("file://{}", repository.path().display());
        let out = tempfile::tempdir().unwrap();
        let manager =
            DependencyManager::new().with_git_dependency("a", &url, &"0".repeat(40), vec![], vec![], false);
        let error = manager.fetch_all(out.path()).unwrap_err();
        assert!(
            matches!(&error, Error::GitOperationFailed(text) if text.starts_with("git fetch")),
            "{error}"
        );
        assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
        assert!(manager.fetch_dependency("b", out.path()).unwrap_err().to_string().contains("`b`"));
    }

    #[test]
    fn cutlass_is_a_repository_with_two_folders_of_headers() {
        let manager = DependencyManager::new().with_cutlass(Some("0123"));
        assert!(manager.has_cutlass() && !DependencyManager::new().has_cutlass());
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join("cutlass-0123");
        // It is there already.
        std::fs::create_dir(&folder).unwrap();
        let expected = [folder.clone(), folder.join("include"), folder.join("tools/util/include")];
        assert_eq!(manager.fetch_folders(out.path()).unwrap(), expected);
        assert_eq!(ExternalDependency::cutlass(None).commit, CUTLASS_COMMIT);
    }

    #[test]
    fn cargos_checkout_of_cutlass_is_found() {
        let checkouts = tempfile::tempdir().unwrap();
        assert_eq!(cutlass_below(checkouts.path()), None);
        for path in ["candle-1/2/include", "cutlass-a/1/docs", "cutlass-a/2/include", "cutlass/3/include"] {
            std::fs::create_dir_all(checkouts.path().join(path)).unwrap();
        }
        assert_eq!(cutlass_below(checkouts.path()), Some(checkouts.path().join("cutlass-a/2")));
        assert_eq!(cutlass_below(&checkouts.path().join("gone")), None);
    }
}
