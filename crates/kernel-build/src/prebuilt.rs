//! Prebuilt code in a published package, for machines without a GPU compiler.

use std::fs;
use std::path::Path;

use code_object::TargetId;
use device_compiler::files::write_atomically;

use crate::builder::switch;
use crate::embed::exit_with;
use crate::{Build, Builder, Error, targets};

/// Lists the targets of the code beside it, one per line.
const LIST: &str = "targets.txt";

impl Build {
    /// Writes the input of [`embed_prebuilt`](Builder::embed_prebuilt) to an existing folder: the output of
    /// [`write_rust`](Self::write_rust) with these arguments, and a list of the targets.
    ///
    /// # Errors
    /// [`CompilerError::Io`](crate::CompilerError::Io) names the file.
    pub fn write_prebuilt(&self, folder: &Path, name: &str, types: &str) -> Result<(), Error> {
        self.write_rust(folder, name, types)?;
        let list: String = self.targets.iter().map(|target| format!("{target}\n")).collect();
        Ok(write_atomically(&folder.join(LIST), list.as_bytes())?)
    }
}

impl Builder {
    /// For build scripts of packages that are published with compiled kernels. If this folder of the package
    /// exists, embeds what [`write_prebuilt`](Build::write_prebuilt) wrote there, without sources or a
    /// compiler. Otherwise it builds and [embeds](Self::embed).
    ///
    /// Prebuilt code is embedded for all targets that it has; the result is then `None`.
    ///
    /// # Errors
    /// As for [`embed`](Self::embed); [`Error::Prebuilt`] if the folder is incomplete, lacks a target that
    /// `FERROCM_TARGETS` names, or if kernels should count what they do (`FERROCM_KERNEL_METRICS`).
    pub fn embed_prebuilt(self, folder: impl AsRef<Path>) -> Result<Option<Build>, Error> {
        let folder = folder.as_ref();
        if !folder.is_dir() {
            return self.embed().map(Some);
        }
        self.tell_variables();
        println!("cargo::rerun-if-changed={}", folder.display());
        let out = std::env::var_os("OUT_DIR").ok_or(Error::NotABuildScript { name: "OUT_DIR" })?;
        let asked = match variables::TARGETS.text()? {
            Some(_) => targets::targets_from_env()?,
            None => Vec::new(),
        };
        let metrics = switch(self.metrics, &variables::KERNEL_METRICS)?.unwrap_or(false);
        take(folder, Path::new(&out), &self.output, &asked, metrics)?;
        if self.asks_for_nvidia() && !has_nvidia(folder) {
            println!("cargo::warning=there is no code for NVIDIA GPUs in this build: the package has none");
        }
        Ok(None)
    }

    /// Like [`embed_prebuilt`](Self::embed_prebuilt), but an error is passed to Cargo, line by line, and ends
    /// the process with status 1.
    pub fn embed_prebuilt_or_exit(self, folder: impl AsRef<Path>) -> Option<Build> {
        self.embed_prebuilt(folder).unwrap_or_else(|error| exit_with(&error))
    }
}

/// Whether there is code for NVIDIA GPUs.
fn has_nvidia(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|path| path.extension().is_some_and(|extension| extension == "ptx" || extension == "cubin"))
}

/// Copies the files, if they satisfy the request.
fn take(folder: &Path, out: &Path, name: &str, asked: &[TargetId], metrics: bool) -> Result<(), Error> {
    let refuse = |reason: String| Error::Prebuilt { folder: folder.to_owned(), reason };
    if metrics {
        return Err(refuse("does not count what kernels do, as FERROCM_KERNEL_METRICS requires".to_owned()));
    }
    for needed in [LIST, name] {
        if !folder.join(needed).is_file() {
            return Err(refuse(format!("is incomplete: {needed} is missing")));
        }
    }
    let list = folder.join(LIST);
    let text = fs::read_to_string(&list).map_err(|error| Error::io("read", &list, error))?;
    let there = targets::parse(LIST, text.lines())?;
    for target in asked {
        if !there.iter().any(|one| one.fit(target).is_some()) {
            let there = text.lines().collect::<Vec<_>>().join(", ");
            return Err(refuse(format!(
                "has nothing for {target}, which FERROCM_TARGETS names; it is for {there}"
            )));
        }
    }
    let entries = fs::read_dir(folder).map_err(|error| Error::io("read", folder, error))?;
    for entry in entries {
        let path = entry.map_err(|error| Error::io("read", folder, error))?.path();
        let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
        if let Some(name) = path.file_name() {
            write_atomically(&out.join(name), &bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str) -> TargetId {
        name.parse().expect("a target")
    }

    #[test]
    fn a_folder_is_taken_as_it_is_or_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("folder");
        let (from, out) = (folder.path().join("prebuilt"), folder.path().join("out"));
        fs::create_dir(&from).expect("folder");
        fs::create_dir(&out).expect("folder");
        let refused = |asked: &[TargetId], metrics| {
            let error = take(&from, &out, "kernels.rs", asked, metrics).expect_err("refused").to_string();
            assert!(error.contains(&*from.to_string_lossy()), "{error}");
            error
        };
        assert!(refused(&[], false).contains("targets.txt is missing"));
        fs::write(from.join(LIST), "gfx90a\ngfx1100\n").expect("write");
        assert!(refused(&[], false).contains("kernels.rs is missing"));
        fs::write(from.join("kernels.rs"), "// code\n").expect("write");
        fs::write(from.join("fill.hipfb"), [1, 2, 3]).expect("write");
        take(&from, &out, "kernels.rs", &[], false).expect("taken");
        assert_eq!(fs::read(out.join("fill.hipfb")).expect("copied"), [1, 2, 3]);
        take(&from, &out, "kernels.rs", &[target("gfx1100"), target("gfx90a:xnack-")], false).expect("taken");
        assert!(!has_nvidia(&from) && !has_nvidia(&from.join("none")));
        fs::write(from.join("fill.sm_80.ptx"), ".version 9.0").expect("write");
        assert!(has_nvidia(&from));
        let error = refused(&[target("gfx1100"), target("gfx1036")], false);
        assert!(error.contains("gfx1036") && error.contains("gfx90a, gfx1100"), "{error}");
        assert!(refused(&[], true).contains("FERROCM_KERNEL_METRICS"));
        fs::write(from.join(LIST), "gfx90a\nnonsense\n").expect("write");
        assert!(take(&from, &out, "kernels.rs", &[], false).is_err());
    }
}
