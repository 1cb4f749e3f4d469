//! The places to search for libraries: environment variables, installations, Python wheels.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::stack::{Layout, Package};
use crate::{Source, Stack, version};

/// The environment of a search: variables, and the folder that contains `/opt` and `/usr/local`.
///
/// [`Places::of_process`] is the real one; [`Places::within`] makes others, for tests and for sysroots.
#[derive(Debug, Clone)]
pub struct Places {
    /// `None`: the variables of the process.
    variables: Option<BTreeMap<String, OsString>>,
    root: PathBuf,
}

impl Places {
    /// The variables of this process and the real file system.
    pub fn of_process() -> Places {
        Places { variables: None, root: PathBuf::from("/") }
    }

    /// No variables; `/opt` and `/usr/local` are taken inside `root`.
    pub fn within(root: impl Into<PathBuf>) -> Places {
        Places { variables: Some(BTreeMap::new()), root: root.into() }
    }

    /// Sets a variable. On [`Places::of_process`], all others become unset. The process's own variables do
    /// not change.
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Places {
        self.variables.get_or_insert_default().insert(name.to_owned(), value.into());
        self
    }

    /// The value of a variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let value = match &self.variables {
            Some(variables) => variables.get(name).cloned(),
            None => std::env::var_os(name),
        };
        value.filter(|value| !value.is_empty())
    }

    /// The library folders of a stack's installations, in the order in which libraries are looked for there.
    pub fn installed(&self, stack: Stack) -> Vec<PathBuf> {
        let folders = stack.layout().map(|layout| self.installations(layout)).unwrap_or_default();
        folders.into_iter().map(|(folder, _)| folder).collect()
    }

    /// The library folders of a stack's installations, in the order to try: those that its variables name,
    /// the machine's choice, as `/opt/rocm`, and all others, newest first.
    pub(crate) fn installations(&self, layout: &Layout) -> Vec<(PathBuf, Source)> {
        let mut folders = Vec::new();
        let mut add = |root: &Path, origin| {
            let roots = library_folders(root, layout);
            folders.extend(roots.into_iter().map(|folder| (folder, Source::Installation(origin))));
        };
        for variable in layout.variables {
            if let Some(root) = self.variable(variable) {
                add(Path::new(&root), variable);
            }
        }
        if cfg!(unix) {
            let usual = self.root.join(layout.usual.path);
            let all = layout.versions.iter().flat_map(|(below, prefix)| entries(&usual.join(below), prefix));
            let mut versions: Vec<_> = all.collect();
            versions.sort_by_key(|path| std::cmp::Reverse(version::numbers(&name_of(path))));
            for root in std::iter::once(usual.join(layout.chosen)).chain(versions) {
                add(&root, layout.usual.name);
            }
        }
        folders
    }

    /// The library folders of Python packages that contain parts of the stack, in the order to try, and
    /// package folders without any, with the reason.
    pub(crate) fn wheels(&self, stack: Stack) -> Vec<(PathBuf, Source, Option<String>)> {
        let Some(layout) = stack.layout() else { return Vec::new() };
        let mut found = Vec::new();
        for (site, origin) in self.python_sites() {
            let source = Source::Wheel(origin);
            if !site.is_dir() {
                found.push((site, source, Some("no such folder".to_owned())));
                continue;
            }
            let mut folders: Vec<PathBuf> =
                layout.packages.iter().flat_map(|package| self.package_folders(&site, package)).collect();
            folders.retain(|folder| folder.is_dir());
            if folders.is_empty() {
                found.push((site, source, Some(format!("no package with {} libraries", stack.name()))));
            }
            found.extend(folders.into_iter().map(|folder| (folder, source, None)));
        }
        found
    }

    /// The library folders of a package in a folder of packages.
    fn package_folders(&self, site: &Path, package: &Package) -> Vec<PathBuf> {
        let own = if cfg!(windows) { "bin" } else { "lib" };
        match package {
            Package::Variants { name, chosen_by } => {
                let chosen = chosen_by.and_then(|variable| self.variable(variable)).map(|variant| {
                    // A package's folder is its name with underscores.
                    format!("{name}_{}", variant.to_string_lossy().replace('-', "_"))
                });
                let mut found = packages(site, name);
                found.sort_by_key(|path| Some(name_of(path)) != chosen);
                found.into_iter().map(|folder| folder.join(own)).collect()
            }
            Package::Within(name) => {
                let mut found = entries(&site.join(name), "");
                found.sort();
                found.into_iter().map(|folder| folder.join(own)).collect()
            }
            Package::Named(name) => vec![site.join(name).join("lib")],
        }
    }

    /// The folders that Python packages are installed in, each with its origin, in Python's own order:
    /// `PYTHONPATH`, the active environment (`VIRTUAL_ENV`, `CONDA_PREFIX`), the user's packages, the
    /// machine's: those of pip, of the system, and of the container images with conda.
    fn python_sites(&self) -> Vec<(PathBuf, &'static str)> {
        let mut sites: Vec<(PathBuf, &'static str)> = Vec::new();
        if let Some(paths) = self.variable("PYTHONPATH") {
            sites.extend(
                std::env::split_paths(&paths)
                    .filter(|path| !path.as_os_str().is_empty())
                    .map(|path| (path, "PYTHONPATH")),
            );
        }
        for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
            if let Some(prefix) = self.variable(variable) {
                let mut of_prefix = sites_of(Path::new(&prefix));
                if of_prefix.is_empty() {
                    // The searched folder, so that the error can report it as missing.
                    of_prefix.push(Path::new(&prefix).join("lib/python3*/site-packages"));
                }
                sites.extend(of_prefix.into_iter().map(|site| (site, variable)));
            }
        }
        if let Some(base) = self.variable("PYTHONUSERBASE") {
            sites.extend(sites_of(Path::new(&base)).into_iter().map(|site| (site, "PYTHONUSERBASE")));
        } else if let Some(home) = self.variable("HOME") {
            let base = Path::new(&home).join(".local");
            sites.extend(sites_of(&base).into_iter().map(|site| (site, "the user's packages")));
        }
        if cfg!(unix) {
            for prefix in ["usr/local", "usr", "opt/conda"] {
                let machine = sites_of(&self.root.join(prefix));
                sites.extend(machine.into_iter().map(|site| (site, "the machine's packages")));
            }
        }
        sites
    }
}

/// The library folders of an installation: `bin` on Windows, else the usual ones.
fn library_folders(root: &Path, layout: &Layout) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![root.join("bin")];
    }
    let lib = root.join("lib");
    let multiarch = lib.join(multiarch_folder());
    let mut folders = vec![lib];
    // Most trees have only the first; leaving out missing ones keeps the error short.
    folders.extend([root.join("lib64"), multiarch].into_iter().filter(|folder| folder.is_dir()));
    if layout.has_targets {
        let name = if cfg!(target_arch = "aarch64") { "sbsa" } else { std::env::consts::ARCH };
        folders.push(root.join("targets").join(format!("{name}-linux")).join("lib"));
        folders.retain(|folder| folder.is_dir());
    }
    folders
}

/// The name of Debian's folder for libraries of this architecture.
fn multiarch_folder() -> String {
    format!("{}-linux-gnu", std::env::consts::ARCH)
}

/// The package folders of a Python prefix, newest Python first.
fn sites_of(prefix: &Path) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![prefix.join("Lib").join("site-packages")];
    }
    let mut pythons = entries(&prefix.join("lib"), "python3");
    pythons.sort_by_key(|path| std::cmp::Reverse(version::numbers(&name_of(path))));
    pythons
        .iter()
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        .filter(|site| site.is_dir())
        .collect()
}

/// The folders of a package in its variants (one for each GPU family, or one for all), sorted by name.
fn packages(site: &Path, package: &str) -> Vec<PathBuf> {
    let mut found = entries(site, package);
    found.retain(|path| {
        name_of(path).strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    });
    found.sort();
    found
}

/// The entries of a folder whose names have this prefix; empty if the folder cannot be read.
fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let read = std::fs::read_dir(folder).into_iter().flatten().flatten();
    read.map(|entry| entry.path()).filter(|path| name_of(path).starts_with(prefix)).collect()
}

/// The last part of a path.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
