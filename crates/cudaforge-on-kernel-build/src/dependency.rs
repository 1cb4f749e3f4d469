//! Headers from elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::io;
use crate::{Error, Result};

/// The name of the dependency on CUTLASS.
const CUTLASS: &str = "cutlass";

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
    /// CUTLASS, which cannot be compiled for AMD GPUs.
    #[must_use]
    pub fn cutlass(commit: Option<&str>) -> Self {
        Self::git(
            CUTLASS,
            "https://github.com/NVIDIA/cutlass.git",
            commit.unwrap_or("main"),
            vec!["include"],
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
    /// [`Error::InvalidConfig`] with CUTLASS; those of [`ExternalDependency::fetch`].
    pub fn fetch_all(&self, out_dir: &Path) -> Result<Vec<String>> {
        let folders = self.fetch_folders(out_dir)?;
        Ok(folders.into_iter().map(|folder| format!("-I{}", folder.display())).collect())
    }

    /// Fetches everything, and returns the folders of headers.
    pub(crate) fn fetch_folders(&self, out_dir: &Path) -> Result<Vec<PathBuf>> {
        let mut folders = self.includes.clone();
        for dependency in &self.dependencies {
            if dependency.name == CUTLASS {
                return Err(no_cutlass());
            }
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

fn no_cutlass() -> Error {
    let text = "the kernels need CUTLASS, which is written for NVIDIA's instructions and cannot be compiled for AMD GPUs; disable \
                the feature that needs it";
    Error::InvalidConfig(text.to_owned())
}

/// Always `None`: [CUTLASS](ExternalDependency::cutlass) would not help.
#[must_use]
pub fn resolve_cutlass_from_cargo_checkouts() -> Option<PathBuf> {
    None
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
    fn cutlass_is_refused() {
        let manager = DependencyManager::new().with_cutlass(None);
        assert!(manager.has_cutlass());
        let error = manager.fetch_all(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(error.contains("CUTLASS"), "{error}");
    }
}
