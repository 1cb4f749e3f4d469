//! Libraries compiled from C for tests to open.

use std::path::{Path, PathBuf};
use std::process::Command;

use test_skip::{Lack, skip};

/// A temporary folder and a C compiler that makes libraries in it.
pub(crate) struct Workshop {
    folder: tempfile::TempDir,
}

impl Workshop {
    /// `None`, with the reason printed, on a machine without a C compiler.
    pub(crate) fn open() -> Option<Workshop> {
        if cfg!(miri) {
            skip(Lack::Machine, "Miri cannot open libraries");
            return None;
        }
        if !cfg!(all(target_os = "linux", target_env = "gnu")) {
            skip(Lack::Machine, "the libraries and messages of this test are those of Linux with glibc");
            return None;
        }
        if let Err(error) = Command::new("cc").arg("--version").output() {
            skip(Lack::Tool, format_args!("no C compiler: cc: {error}"));
            return None;
        }
        // Its real path, because that is what a library reports.
        let folder = tempfile::tempdir_in(std::env::temp_dir().canonicalize().expect("a temporary folder"));
        Some(Workshop { folder: folder.expect("a temporary folder can be made") })
    }

    /// A path in the folder.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Compiles a library and creates its folders.
    pub(crate) fn library(&self, relative: &str, source: &str) -> PathBuf {
        self.library_with(relative, source, &[])
    }

    /// Like `library`, with more arguments for the compiler.
    pub(crate) fn library_with(&self, relative: &str, source: &str, arguments: &[&str]) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
        let text = self.path("source.c");
        std::fs::write(&text, source).expect("the source can be written");
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", "-nostdlib", "-o"])
            .arg(&path)
            .args(arguments)
            .arg(&text)
            .output()
            .expect("cc runs");
        assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
        path
    }

    /// Makes a link and creates its folders.
    pub(crate) fn link(&self, relative: &str, target: impl AsRef<Path>) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().expect("a link is in a folder")).expect("folders can be made");
        std::os::unix::fs::symlink(target, &path).expect("a link can be made");
        path
    }
}
