//! Precompiled headers: those that every source reads first.
//!
//! Reading the runtime headers of HIP and CUDA takes clang over a second, for most kernels four fifths of the
//! whole compilation. Every source begins with the same headers (`-include`). So they are read once for each
//! target and its options, and kept as a precompiled header (PCH) in the [cache](device_compiler::cache). It
//! replaces the same text, so the code is the same with and without it.
//!
//! Making one takes as long as compiling a source without one, and some 12 MB. It is made for a build of
//! several sources, and for a single source when it is compiled a second time with the same options.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use code_object::TargetId;
use device_compiler::cache::{Cache, Entry};
use device_compiler::cuda::Dialect;
use device_compiler::reads::list_of_files;

use crate::Error;
use crate::compile::{Context, Plan};

/// An empty source: only the headers before it are compiled.
const NO_SOURCE: &str = "/dev/null";

/// The precompiled headers of a build.
#[derive(Debug)]
pub(crate) struct Prefixes {
    /// Hash of everything that determines the headers, except target and dialect.
    base: blake3::Hash,
    /// They name the headers that they read, so that a copy of these headers is another one.
    cache: Cache,
    found: Mutex<HashMap<String, Arc<OnceLock<Option<Prefix>>>>>,
}

/// The headers of a dialect for a target, precompiled.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    file: PathBuf,
    /// Removes the file.
    _folder: Arc<tempfile::TempDir>,
}

impl Prefixes {
    pub(crate) fn new(base: blake3::Hash, cache: Cache) -> Self {
        Self { base, cache, found: Mutex::default() }
    }
}

impl Prefix {
    /// The options that make clang read it first.
    ///
    /// clang would compare times and options with those at the header's creation. The checks are turned off:
    /// times may differ for equal files, and the key covers options and files.
    pub(crate) fn options(&self) -> Vec<OsString> {
        let file = self.file.clone().into_os_string();
        let options = ["-include-pch".into(), file, "-fno-validate-pch".into()];
        options.into_iter().flat_map(|option| ["-Xclang".into(), option]).collect()
    }
}

impl Context<'_> {
    /// The precompiled headers for a source of this dialect and a target. `None` if they are not worthwhile
    /// or do not compile; in that case the source's compilation reports why.
    pub(crate) fn prefix(
        &self,
        plan: &Plan<'_>,
        dialect: Dialect,
        target: &TargetId,
        version: u8,
    ) -> Result<Option<Prefix>, Error> {
        if !self.language.runtime_header {
            return Ok(None);
        }
        let mut key = blake3::Hasher::new();
        key.update(self.prefixes.base.as_bytes());
        key.update(format!("prefix {target} {version} {dialect}").as_bytes());
        plan.add_options(&mut key);
        let key = key.finalize().to_hex().to_string();

        let cell = {
            let mut found = self.prefixes.found.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(found.entry(key.clone()).or_default())
        };
        let mut trouble = None;
        let found = cell.get_or_init(|| {
            let found = self.find_prefix(&key, plan, dialect, target, version);
            found.unwrap_or_else(|error| {
                trouble = Some(error);
                None
            })
        });
        trouble.map_or_else(|| Ok(found.clone()), Err)
    }

    fn find_prefix(
        &self,
        key: &str,
        plan: &Plan<'_>,
        dialect: Dialect,
        target: &TargetId,
        version: u8,
    ) -> Result<Option<Prefix>, Error> {
        let folder = self.prefixes.cache.work_folder()?;
        let file = folder.path().join("prefix.pch");
        // An empty entry means that a source was compiled without one.
        let mut is_known = false;
        let mut look_up = || {
            let (entry, bytes) = self.prefixes.cache.lookup(key, |path| self.hash(path))?;
            is_known = true;
            (!bytes.is_empty() && self.prefixes.cache.link(&entry.object, &file).is_ok()).then_some(())
        };
        let mut is_there = look_up().is_some();
        let _turn = if is_there { None } else { Some(self.prefixes.cache.turn(key)) };
        is_there = is_there || look_up().is_some();
        if !is_there {
            if !is_known && !plan.shares_options {
                let none = Entry { object: blake3::hash(b"").to_hex().to_string(), ..Entry::default() };
                self.prefixes.cache.store(key, none, b"")?;
                return Ok(None);
            }
            is_there = self.make_prefix(key, plan, dialect, target, version, &file)?;
        }
        Ok(is_there.then(|| Prefix { file, _folder: Arc::new(folder) }))
    }

    /// Writes the file; returns whether the compiler could.
    fn make_prefix(
        &self,
        key: &str,
        plan: &Plan<'_>,
        dialect: Dialect,
        target: &TargetId,
        version: u8,
        file: &Path,
    ) -> Result<bool, Error> {
        let deps = file.with_extension("d");
        let mut command = self.toolchain.command();
        command.args(self.device_options(plan, target, version)).args(self.folder_options(dialect));
        command.args(list_of_files(&deps));
        // The last option counts: no IR.
        command.args(["-S", "-emit-llvm", "-Xclang", "-emit-pch"]);
        command.arg(NO_SOURCE).arg("-o").arg(file);
        if let Some(folder) = file.parent() {
            command.env("TMPDIR", folder);
        }
        let program = || self.toolchain.clang.clone();
        let output = command.output().map_err(|e| Error::program(program(), e))?;
        if !output.status.success() {
            return Ok(false);
        }
        let bytes = std::fs::read(file).map_err(|e| Error::io("read", file, e))?;
        // The caller's folders are part of the key, with the names of all headers in them.
        if let Some(inputs) = self.listed(&deps, Path::new(NO_SOURCE))? {
            let object = blake3::hash(&bytes).to_hex().to_string();
            self.prefixes.cache.store(key, Entry { inputs, object, ..Entry::default() }, &bytes)?;
        }
        Ok(true)
    }
}
