//! Prebuilt code in a published package, for machines without a GPU compiler.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use code_object::TargetId;
use device_compiler::files::write_atomically;

use crate::builder::switch;
use crate::embed::exit_with;
use crate::{Build, Builder, CudaArch, Error, nvidia, targets};

/// Lists the targets of the code beside it, one per line.
const LIST: &str = "targets.txt";
/// The folder below it for builds with code for NVIDIA GPUs: what they have besides, and instead.
const NVIDIA: &str = "nvidia";
/// In that folder: the hash of the Rust file that its own one replaces.
const BESIDE: &str = "beside.txt";

impl Build {
    /// Writes the input of [`embed_prebuilt`](Builder::embed_prebuilt) to an existing folder: the output of
    /// [`write_rust`](Self::write_rust) with these arguments, and a list of the targets. Code for NVIDIA
    /// GPUs, if there is any, is in a folder of its own below it, `nvidia`, for the builds that ask for it; a
    /// [package of its own](Builder::prebuilt_nvidia) may have that.
    ///
    /// # Errors
    /// [`CompilerError::Io`](crate::CompilerError::Io) names the file.
    pub fn write_prebuilt(&self, folder: &Path, name: &str, types: &str) -> Result<(), Error> {
        let rust = self.for_amd_only().write_rust(folder, name, types)?;
        write_list(folder, &self.targets)?;
        if self.cuda_archs.is_empty() {
            return Ok(());
        }
        let nvidia = folder.join(NVIDIA);
        fs::create_dir_all(&nvidia).map_err(|error| Error::io("make", &nvidia, error))?;
        self.write_images(&nvidia)?;
        self.write_rust_file(&nvidia, name, types)?;
        write_atomically(&nvidia.join(BESIDE), hash_of(&rust)?.as_bytes())?;
        write_list(&nvidia, &self.cuda_archs)
    }
}

/// The hash of a file in hexadecimal.
fn hash_of(path: &Path) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(|error| Error::io("read", path, error))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

fn write_list(folder: &Path, targets: &[impl Display]) -> Result<(), Error> {
    let list: String = targets.iter().map(|target| format!("{target}\n")).collect();
    Ok(write_atomically(&folder.join(LIST), list.as_bytes())?)
}

impl Builder {
    /// For build scripts of packages that are published with compiled kernels. If this folder of the package
    /// exists, embeds what [`write_prebuilt`](Build::write_prebuilt) wrote there, without sources or a
    /// compiler. Otherwise it builds and [embeds](Self::embed).
    ///
    /// Prebuilt code is embedded for all targets that it has; the result is then `None`. Code for NVIDIA GPUs
    /// is among it if this builder [builds for them](Self::nvidia); if the package has none, the build says
    /// so, and fails if a variable names architectures.
    ///
    /// `FERROCM_PREBUILT` names a folder with such a folder for each crate, called as the crate's own, which
    /// takes the place of the package's.
    ///
    /// # Errors
    /// As for [`embed`](Self::embed); [`Error::Prebuilt`] if the folder is incomplete, lacks a target that
    /// `FERROCM_TARGETS` or `FERROCM_CUDA_ARCHS` names, or if kernels should count what they do
    /// (`FERROCM_KERNEL_METRICS`).
    pub fn embed_prebuilt(self, folder: impl AsRef<Path>) -> Result<Option<Build>, Error> {
        println!("cargo::rerun-if-env-changed={}", variables::PREBUILT.name);
        let all = variables::PREBUILT.path();
        let given = all.map(|all| own_folder().map(|own| all.join(own))).transpose()?;
        let (folder, nvidia) = match &given {
            Some(given) if !given.is_dir() => {
                let reason = format!("is missing; {} names the folder above", variables::PREBUILT.name);
                return Err(Error::Prebuilt { folder: given.clone(), reason });
            }
            Some(given) => (given.as_path(), given.join(NVIDIA)),
            None => {
                let folder = folder.as_ref();
                let of_package = self.prebuilt_nvidia.clone();
                (folder, of_package.unwrap_or_else(|| folder.join(NVIDIA)))
            }
        };
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
        if self.asks_for_nvidia() {
            println!("cargo::rerun-if-changed={}", nvidia.display());
            let asked = nvidia::named()?;
            if !take_for_nvidia([folder, &nvidia], Path::new(&out), &self.output, &asked)? {
                println!(
                    "cargo::warning=there is no code for NVIDIA GPUs in this build: the package has none"
                );
            }
        }
        Ok(None)
    }

    /// Where the code for NVIDIA GPUs is if another package has it: the folder `nvidia` that
    /// [`write_prebuilt`](Build::write_prebuilt) wrote. [`embed_prebuilt`](Self::embed_prebuilt) takes it
    /// from there, instead of from the folder with the code for AMD GPUs. It must be of the same build.
    pub fn prebuilt_nvidia(mut self, folder: impl Into<PathBuf>) -> Self {
        self.prebuilt_nvidia = Some(folder.into());
        self
    }

    /// Like [`embed_prebuilt`](Self::embed_prebuilt), but an error is passed to Cargo, line by line, and ends
    /// the process with status 1.
    pub fn embed_prebuilt_or_exit(self, folder: impl AsRef<Path>) -> Option<Build> {
        self.embed_prebuilt(folder).unwrap_or_else(|error| exit_with(&error))
    }
}

/// Copies the files, if they satisfy the request.
fn take(folder: &Path, out: &Path, name: &str, asked: &[TargetId], metrics: bool) -> Result<(), Error> {
    if metrics {
        let reason = "does not count what kernels do, as FERROCM_KERNEL_METRICS requires".to_owned();
        return Err(Error::Prebuilt { folder: folder.to_owned(), reason });
    }
    let list = list(folder, name)?;
    let there = targets::parse(LIST, list.iter().map(String::as_str))?;
    let fits = |target: &TargetId| there.iter().any(|one| one.fit(target).is_some());
    all_are_there(folder, &list, asked, fits, variables::TARGETS.name)?;
    copy(folder, out)
}

/// The folder of the crate, by its name.
fn own_folder() -> Result<PathBuf, Error> {
    const VARIABLE: &str = "CARGO_MANIFEST_DIR";
    let folder = std::env::var_os(VARIABLE).ok_or(Error::NotABuildScript { name: VARIABLE })?;
    Ok(Path::new(&folder).file_name().map(PathBuf::from).unwrap_or_default())
}

/// Copies what a build with code for NVIDIA GPUs has besides and instead, if it satisfies the request: from
/// the second folder, which is of the same build as the first. False if there is none and none was asked for
/// by name.
fn take_for_nvidia(
    [folder, nvidia]: [&Path; 2],
    out: &Path,
    name: &str,
    asked: &[CudaArch],
) -> Result<bool, Error> {
    if !nvidia.is_dir() {
        let Some(arch) = asked.first() else { return Ok(false) };
        let variables = nvidia::naming_variables();
        let reason = format!("has no code for NVIDIA GPUs, and {variables} names {arch}");
        return Err(Error::Prebuilt { folder: folder.to_owned(), reason });
    }
    let list = list(nvidia, name)?;
    let beside = nvidia.join(BESIDE);
    let expected = fs::read_to_string(&beside).map_err(|error| Error::io("read", &beside, error))?;
    if expected != hash_of(&folder.join(name))? {
        let reason = format!("is of another build than {}", folder.display());
        return Err(Error::Prebuilt { folder: nvidia.to_owned(), reason });
    }
    let there = nvidia::parse(LIST, &list)?;
    let fits = |arch: &CudaArch| there.iter().any(|one| one.serves(arch));
    all_are_there(nvidia, &list, asked, fits, &nvidia::naming_variables())?;
    copy(nvidia, out)?;
    Ok(true)
}

/// The lines of the list in a folder, which is complete.
fn list(folder: &Path, name: &str) -> Result<Vec<String>, Error> {
    if let Some(missing) = [LIST, name].into_iter().find(|needed| !folder.join(needed).is_file()) {
        let reason = format!("is incomplete: {missing} is missing");
        return Err(Error::Prebuilt { folder: folder.to_owned(), reason });
    }
    let path = folder.join(LIST);
    let text = fs::read_to_string(&path).map_err(|error| Error::io("read", &path, error))?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn all_are_there<T: Display>(
    folder: &Path,
    list: &[String],
    asked: &[T],
    fits: impl Fn(&T) -> bool,
    variable: &str,
) -> Result<(), Error> {
    let Some(target) = asked.iter().find(|target| !fits(target)) else { return Ok(()) };
    let reason = format!("has nothing for {target}, which {variable} names; it is for {}", list.join(", "));
    Err(Error::Prebuilt { folder: folder.to_owned(), reason })
}

/// Copies all files of a folder.
fn copy(folder: &Path, out: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(folder).map_err(|error| Error::io("read", folder, error))?;
    for entry in entries {
        let path = entry.map_err(|error| Error::io("read", folder, error))?.path();
        let Some(name) = path.file_name().filter(|_| path.is_file()) else { continue };
        let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
        write_atomically(&out.join(name), &bytes)?;
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
        let error = refused(&[target("gfx1100"), target("gfx1036")], false);
        assert!(error.contains("gfx1036") && error.contains("gfx90a, gfx1100"), "{error}");
        assert!(refused(&[], true).contains("FERROCM_KERNEL_METRICS"));
        fs::write(from.join(LIST), "gfx90a\nnonsense\n").expect("write");
        assert!(take(&from, &out, "kernels.rs", &[], false).is_err());
    }

    #[test]
    fn code_for_nvidia_gpus_lies_over_that_for_amd_gpus() {
        let folder = tempfile::tempdir().expect("folder");
        let (from, out) = (folder.path().join("prebuilt"), folder.path().join("out"));
        let nvidia = from.join(NVIDIA);
        fs::create_dir_all(&nvidia).expect("folder");
        fs::create_dir(&out).expect("folder");
        let write =
            |folder: &Path, name: &str, text: &str| fs::write(folder.join(name), text).expect("write");
        write(&from, LIST, "gfx90a\n");
        write(&from, "kernels.rs", "// AMD\n");
        write(&from, "fill.hipfb", "code");
        write(&nvidia, LIST, "sm_80\nsm_90a\n");
        write(&nvidia, "kernels.rs", "// both\n");
        write(&nvidia, BESIDE, blake3::hash(b"// AMD\n").to_hex().as_str());
        write(&nvidia, "fill.sm_80.ptx", ".version 9.0");
        take(&from, &out, "kernels.rs", &[], false).expect("taken");
        assert!(!out.join("fill.sm_80.ptx").exists(), "only builds that ask for it have NVIDIA's code");
        let arch = |name: &str| name.parse::<CudaArch>().expect("an architecture");
        let served = ["sm_80", "sm_86", "sm_90", "sm_90a", "sm_120a"].map(arch);
        let take_for_nvidia =
            |asked: &[CudaArch]| take_for_nvidia([&from, &nvidia], &out, "kernels.rs", asked);
        assert!(take_for_nvidia(&served).expect("taken"));
        let read = |name: &str| fs::read_to_string(out.join(name)).expect("copied");
        assert_eq!(
            ["kernels.rs", "fill.hipfb", "fill.sm_80.ptx"].map(read),
            ["// both\n", "code", ".version 9.0"]
        );
        let refused = |asked: &str| take_for_nvidia(&[arch(asked)]).expect_err("refused").to_string();
        let error = refused("sm_75");
        assert!(error.contains("nothing for sm_75, which FERROCM_CUDA_ARCHS or"), "{error}");
        assert!(error.contains("it is for sm_80, sm_90a"), "{error}");
        write(&nvidia, LIST, "sm_90a\n");
        assert!(refused("sm_100").contains("sm_100"), "code of sm_90a runs nowhere else");
        write(&from, "kernels.rs", "// AMD, compiled again\n");
        let error = refused("sm_90a");
        assert!(error.contains("is of another build than") && error.contains("/nvidia"), "{error}");
        fs::remove_file(nvidia.join("kernels.rs")).expect("remove");
        assert!(take_for_nvidia(&[]).is_err(), "incomplete");
        fs::remove_dir_all(&nvidia).expect("remove");
        assert!(!take_for_nvidia(&[]).expect("nothing was named"));
        let error = refused("sm_80");
        assert!(error.contains("no code for NVIDIA GPUs") && error.contains("names sm_80"), "{error}");
    }
}
