//! Programs that check tests' results and that no toolchain needs: LLVM's assembler and disassembler, clang's
//! bundler, Khronos's validator. They are Debian's, with all dependencies down to the C library and its
//! loader, in a separate tree.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use setup::debian::tested::Tested;
use setup::debian::{self, Reach};
use setup::toolchain;

use super::scripts;
use super::tree::{self, LIBRARIES, LOADER, Packages};
use super::{RELEASES, Suite};

/// The requested packages, as they were tested, from the machine's own suites.
static PACKAGES: [Tested; 3] = [
    (
        "libclang-cpp22",
        "1:22.1.8-1~deb12u1",
        "662a8497190dd6cebaee2ac9421ed9d91cb1199eeabd154eafc4b5c1ac01d4b3",
    ),
    ("llvm-22", "1:22.1.8-1~deb12u1", "fcde579693b3f1cf1da596694c1add8a961ab1e1bd22744d4bff165d4f865add"),
    ("spirv-tools", "2023.1-2", "51b1e7352dc84471623d7be38547009bd7b71ffaa1900e512060f8a22503f2dd"),
];
/// This package depends on a second clang and on Python, which its bundler does not need.
static ALONE: [Tested; 1] = [(
    "clang-tools-22",
    "1:22.1.8-1~deb12u1",
    "4aa071cf2a72270f7ed8ea637e902e3857c450c73c2e6eeb4b8e96406582798a",
)];

/// The programs, by the names that tests use, and their paths in the tree.
const PROGRAMS: [(&str, &str); 4] = [
    ("clang-offload-bundler-22", "usr/lib/llvm-22/bin/clang-offload-bundler"),
    ("llvm-mc-22", "usr/lib/llvm-22/bin/llvm-mc"),
    ("llvm-objdump-22", "usr/lib/llvm-22/bin/llvm-objdump"),
    ("spirv-val", "usr/bin/spirv-val"),
];

/// Why they are unavailable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Cache(#[from] toolchain::CacheError),
    #[error("the tools of the tests cannot be fetched: {0}")]
    Fetch(#[source] debian::Error),
    #[error("the packages of the tests' tools lack {}", .0.display())]
    Incomplete(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// The expected reason for missing tools; other errors are real faults.
    pub(crate) fn reach(&self) -> Option<Reach> {
        match self {
            Self::Fetch(source) => source.reach(),
            _ => None,
        }
    }
}

/// A folder of the programs, fetched into the cache if missing.
pub(crate) fn folder() -> Result<PathBuf, Error> {
    let cache = toolchain::cache_folder()?.join("tools");
    let release = RELEASES.iter().find(|release| release.suite == Suite::Machine);
    let packages = Packages {
        release: release.ok_or_else(|| Error::Incomplete(cache.clone()))?,
        title: "Tools of the tests".to_owned(),
        place: "debian".to_owned(),
        size: 480_000_000,
        packages: &PACKAGES,
        alone: &ALONE,
        had: Vec::new(),
    };
    let complete = || packages.complete(&cache);
    for line in tree::make(&packages, &cache, complete).map_err(Error::Fetch)?.unwrap_or_default() {
        eprintln!("note: not the tested package: {line}");
    }
    let tree = cache.join(&packages.place);
    let programs = PROGRAMS.map(|(_, program)| tree.join(program));
    let needed =
        programs.iter().chain([&tree.join(LIBRARIES).join(LOADER)]).find(|file| !file.exists()).cloned();
    if let Some(missing) = needed {
        return Err(Error::Incomplete(missing));
    }
    // Not `bin`, which links into the packages' own files.
    let folder = tree.join("by-own-loader");
    for ((name, _), program) in PROGRAMS.iter().zip(&programs) {
        let path = folder.join(name);
        let script = format!(
            "#!/bin/sh\n# Made by `cargo xtask`.\n{}",
            scripts::run_by_own_loader(&tree, program, name)
        );
        scripts::write_script(&path, &script).map_err(|source| Error::Write { path, source })?;
    }
    Ok(folder)
}

/// Adds a folder of programs at the end of `PATH`.
pub(crate) fn offer(command: &mut Command, folder: &Path) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([folder.to_owned()]);
    // A folder that cannot be in the list does not suit tests, either; they report what is missing.
    if let Ok(path) = std::env::join_paths(folders) {
        command.env("PATH", path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_sorted_and_their_hashes_are_whole() {
        assert!(PACKAGES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(PACKAGES.iter().chain(&ALONE).all(|(_, _, hash)| hash.len() == 64));
    }

    #[test]
    fn the_machine_s_own_programs_come_first() {
        let mut command = Command::new("true");
        offer(&mut command, Path::new("/the/tools"));
        let (_, path) = command.get_envs().find(|(name, _)| *name == "PATH").expect("PATH is set");
        let folders: Vec<_> = std::env::split_paths(path.expect("a value")).collect();
        assert_eq!(folders.last().map(PathBuf::as_path), Some(Path::new("/the/tools")));
        assert!(folders.len() > 1);
    }
}
