//! A folder of quickly compiled kernels, and the toolchain of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use kernel_build::Builder;
use kernel_build::toolchain::{self, Toolchain};
use test_skip::{Lack, skip};

/// The machine's toolchain. Without one, tests skip themselves; `ferrocm doctor` says why there is none.
pub(crate) fn toolchain() -> Option<Toolchain> {
    toolchain::find().inspect_err(|error| skip(Lack::Tool, error)).ok()
}

/// A scratch folder with `kernels/` and `cache/`.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
    toolchain: Toolchain,
}

/// `extern "C" __global__` without the headers that would define it.
pub(crate) const KERNEL: &str = r#"extern "C" __attribute__((global)) void "#;
/// The functions that a kernel's host code calls, without the headers that would declare them.
pub(crate) const LAUNCHES: &str = r#"struct dim3 { unsigned x, y, z; };
extern "C" unsigned hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern "C" unsigned __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void **);
"#;

impl Folder {
    pub(crate) fn new(toolchain: Toolchain) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("kernels")).unwrap();
        Self { folder, toolchain }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn kernels(&self) -> PathBuf {
        // The path in messages.
        fs::canonicalize(self.path().join("kernels")).unwrap()
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.path().join("cache")
    }

    /// Writes a slightly older file, because files newer than a build are not cached.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.kernels().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let before = SystemTime::now() - Duration::from_secs(10);
        fs::File::open(&path).unwrap().set_modified(before).unwrap();
        path
    }

    /// A builder for one target that uses no headers.
    pub(crate) fn builder(&self) -> Builder {
        builder(self.path()).toolchain(self.toolchain.clone())
    }

    /// The only file below a folder of the cache.
    pub(crate) fn only_file(&self, kind: &str) -> PathBuf {
        let mut files = Vec::new();
        for folder in fs::read_dir(self.cache().join(kind)).unwrap() {
            files.extend(fs::read_dir(folder.unwrap().path()).unwrap().map(|file| file.unwrap().path()));
        }
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

/// Like [`Folder::builder`], for any folder, with the toolchain that it finds itself.
pub(crate) fn builder(folder: &Path) -> Builder {
    let kernels = fs::canonicalize(folder.join("kernels")).unwrap();
    let builder = Builder::new(kernels).cache(folder.join("cache")).targets(["gfx1100"]);
    builder.runtime_header(false).flag("-nogpuinc").flag("-nogpulib")
}

/// A script in place of clang.
pub(crate) fn script(folder: &Path, body: &str) -> PathBuf {
    named_script(folder, "clang", body)
}

/// A script in place of a program.
pub(crate) fn named_script(folder: &Path, name: &str, body: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The types that generated code expects, without crates that a test cannot pass to rustc.
pub(crate) const TYPES: &str = r#"
#[allow(dead_code)]
mod types {
    #[derive(Debug)]
    pub struct Module {
        pub id: usize, pub name: &'static str, pub source: &'static str,
        pub kernels: &'static [&'static str], pub code_objects: &'static [CodeObject],
        pub cuda: &'static [CudaImage],
    }
    #[derive(Debug)]
    pub struct CodeObject { pub target: &'static str, pub bytes: &'static [u8], pub hash: &'static str }
    #[derive(Debug)]
    pub struct CudaImage { pub arch: &'static str, pub kind: CudaKind, pub bytes: &'static [u8], pub hash: &'static str }
    #[derive(Debug, PartialEq)]
    pub enum CudaKind { Ptx, Cubin }
    #[repr(C, align(4096))]
    pub struct Aligned<T: ?Sized>(pub T);
}
"#;

/// Compiles and runs a program in a folder.
pub(crate) fn runs(folder: &Path, program: &str) {
    fs::write(folder.join("main.rs"), program).unwrap();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let run =
        Command::new(rustc).args(["--edition", "2024", "main.rs"]).current_dir(folder).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let run = Command::new(folder.join("main")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
