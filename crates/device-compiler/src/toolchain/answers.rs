//! The answers of the private prefix's compiler about itself, stored beside it.
//!
//! Asking a clang takes four processes, some 0.1 s of processor time, in every build script and every program
//! that compiles kernels. The prefix made by set-up never changes: a new toolchain gets a new folder. Other
//! compilers are always asked, because they may change unnoticed.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::probe::Clang;

/// Changes with the questions.
const SCHEMA: u32 = 1;

/// A clang and its options that affect the answers.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    schema: u32,
    clang: PathBuf,
    length: u64,
    modified: SystemTime,
    library_path: Vec<PathBuf>,
    args: Vec<OsString>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    asked: Asked,
    answers: Clang,
}

impl Asked {
    /// `None` if the file cannot be examined.
    pub(super) fn new(clang: &Path, library_path: &[PathBuf], args: &[OsString]) -> Option<Self> {
        let file = fs::metadata(clang).ok()?;
        Some(Self {
            schema: SCHEMA,
            clang: fs::canonicalize(clang).ok()?,
            length: file.len(),
            modified: file.modified().ok()?,
            library_path: library_path.to_vec(),
            args: args.to_vec(),
        })
    }

    /// The file below the prefix: one for each set of options.
    fn file(&self, prefix: &Path) -> PathBuf {
        let mut key = blake3::Hasher::new();
        key.update(self.clang.as_os_str().as_encoded_bytes());
        for part in
            self.library_path.iter().map(|path| path.as_os_str()).chain(self.args.iter().map(|arg| &**arg))
        {
            key.update(b"\0").update(part.as_encoded_bytes());
        }
        prefix.join(format!("answers-{}.json", &key.finalize().to_hex()[..16]))
    }

    /// The stored answers, if everything in them still exists.
    pub(super) fn kept(&self, prefix: &Path) -> Option<Clang> {
        let kept: Kept = serde_json::from_slice(&fs::read(self.file(prefix)).ok()?).ok()?;
        let answers = kept.answers;
        let linker = answers.linker.as_ref()?;
        let is_there = kept.asked == *self
            && linker.is_file()
            && answers.resource_dir.is_dir()
            && answers.include_dirs.iter().all(|folder| folder.is_dir());
        is_there.then_some(answers)
    }

    /// Stores the answers, if they concern only the prefix and it is writable; otherwise the compiler is
    /// asked again.
    pub(super) fn keep(self, prefix: &Path, answers: &Clang) {
        let Ok(real) = fs::canonicalize(prefix) else { return };
        let is_below = |path: &Path| fs::canonicalize(path).is_ok_and(|path| path.starts_with(&real));
        if !is_below(&self.clang) || !answers.linker.as_deref().is_some_and(is_below) {
            return;
        }
        let file = self.file(prefix);
        let Ok(text) = serde_json::to_vec(&Kept { asked: self, answers: answers.clone() }) else { return };
        let Ok(mut written) = tempfile::NamedTempFile::new_in(prefix) else { return };
        if written.write_all(&text).is_ok() {
            let _ = written.persist(file);
        }
    }
}
