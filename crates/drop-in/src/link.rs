//! Links a crate's static library into a shared one that replaces a vendor's, with the same name, `SONAME`
//! and symbol versions.
//!
//! For a `cdylib`, rustc passes its own version script, which cannot be combined with others. So the crate is
//! built as a static library, and the C compiler that Rust links with turns it into a shared one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A shared library to link.
#[derive(Debug, Clone, Copy)]
pub struct DropIn<'a> {
    /// The static library, including Rust's standard library.
    pub archive: &'a Path,
    /// The linker's version script: what is exported, with versions.
    pub script: &'a Path,
    /// The `SONAME`, which is also the file's name: `libamdhip64.so.7`.
    pub soname: &'a str,
    /// Leave debug information out.
    pub strip: bool,
}

/// Why linking failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The C compiler cannot be run.
    #[error("cannot run the linker `{compiler}`: {source}")]
    NoCompiler {
        /// The program.
        compiler: String,
        /// Why.
        source: io::Error,
    },
    /// The linker fails.
    #[error("linking {} failed:\n{output}", .path.display())]
    Link {
        /// The library to link.
        path: PathBuf,
        /// What the linker said.
        output: String,
    },
}

/// System libraries that Rust's library needs (`rustc --print native-static-libs`).
const SYSTEM_LIBRARIES: [&str; 7] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

impl DropIn<'_> {
    /// Links the library into a folder unless it is up to date, and creates the link without a version
    /// (`libamdhip64.so`) beside it. Several processes may do this at once. Returns the library's path.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn link(&self, folder: &Path) -> Result<PathBuf, Error> {
        let library = folder.join(self.soname);
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Io { path, source }
        };
        fs::create_dir_all(folder).map_err(io(folder))?;
        let lock_path = folder.join(format!("{}.lock", self.soname));
        let lock = File::create(&lock_path).map_err(io(&lock_path))?;
        lock.lock().map_err(io(&lock_path))?;
        if !self.is_fresh(&library)? {
            let unfinished = folder.join(format!("{}.new", self.soname));
            self.run_linker(&unfinished)?;
            fs::rename(&unfinished, &library).map_err(io(&library))?;
        }
        if let Some((plain, _)) = self.soname.split_once(".so.") {
            let plain = folder.join(format!("{plain}.so"));
            if fs::read_link(&plain).is_ok_and(|to| to == Path::new(self.soname)) {
                return Ok(library);
            }
            match fs::remove_file(&plain) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(&plain)(error)),
                _ => std::os::unix::fs::symlink(self.soname, &plain).map_err(io(&plain))?,
            }
        }
        Ok(library)
    }

    fn is_fresh(&self, library: &Path) -> Result<bool, Error> {
        let time = |path: &Path| {
            let time = fs::metadata(path).and_then(|metadata| metadata.modified());
            time.map_err(|source| Error::Io { path: path.to_owned(), source })
        };
        if !library.exists() {
            return Ok(false);
        }
        let made = time(library)?;
        Ok(made > time(self.archive)? && made > time(self.script)?)
    }

    fn run_linker(&self, output: &Path) -> Result<(), Error> {
        let compiler = std::env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
        let option = |text: &str, path: &Path| {
            let mut option = OsString::from(text);
            option.push(path);
            option
        };
        let mut command = Command::new(&compiler);
        command.args(["-shared", "-o"]).arg(output);
        command.arg("-Wl,--whole-archive").arg(self.archive).arg("-Wl,--no-whole-archive");
        command.arg(option("-Wl,--version-script=", self.script)).arg(format!("-Wl,-soname,{}", self.soname));
        // Calls inside the library stay inside, even if the process has other symbols of the same name.
        command.args(["-Wl,--gc-sections", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,-z,relro,-z,now"]);
        if self.strip {
            command.arg("-Wl,--strip-debug");
        }
        command.args(SYSTEM_LIBRARIES).stdin(Stdio::null());
        let done = command.output().map_err(|source| Error::NoCompiler {
            compiler: compiler.to_string_lossy().into_owned(),
            source,
        })?;
        if done.status.success() {
            return Ok(());
        }
        let output = output.to_owned();
        Err(Error::Link { path: output, output: String::from_utf8_lossy(&done.stderr).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(folder: &Path) -> PathBuf {
        let run = |program: &str, arguments: &[&str]| {
            let done = Command::new(program).args(arguments).current_dir(folder).status().expect(program);
            assert!(done.success(), "{program} {arguments:?}");
        };
        fs::write(folder.join("a.c"), "int seen(void) { return 7; }\nint hidden(void) { return 8; }\n")
            .expect("write");
        run("cc", &["-fPIC", "-c", "a.c"]);
        run("ar", &["rcs", "liba.a", "a.o"]);
        folder.join("liba.a")
    }

    #[test]
    fn a_library_is_linked_once_and_again_when_its_parts_are_newer() {
        let folder = tempfile::tempdir().expect("folder");
        let archive = archive(folder.path());
        let script = folder.path().join("a.map");
        fs::write(&script, "v_1 { global: seen; local: *; };\n").expect("write");
        let drop_in = DropIn { archive: &archive, script: &script, soname: "liba.so.3", strip: false };
        let out = folder.path().join("out");
        let library = drop_in.link(&out).expect("linked");
        assert_eq!(fs::read_link(out.join("liba.so")).expect("link"), Path::new("liba.so.3"));
        let bytes = fs::read(&library).expect("library");
        let has = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
        assert!(has(b"\0v_1\0") && has(b"\0liba.so.3\0"));
        let first = fs::metadata(&library).and_then(|file| file.modified()).expect("time");
        drop_in.link(&out).expect("nothing to do");
        assert_eq!(fs::metadata(&library).and_then(|file| file.modified()).expect("time"), first);
        let later = first + std::time::Duration::from_secs(1);
        File::open(&script).and_then(|file| file.set_modified(later)).expect("touch");
        assert!(!drop_in.is_fresh(&library).expect("times"));
    }

    #[test]
    fn what_the_linker_says_is_the_error() {
        let folder = tempfile::tempdir().expect("folder");
        let archive = archive(folder.path());
        let script = folder.path().join("a.map");
        fs::write(&script, "this is no script\n").expect("write");
        let drop_in = DropIn { archive: &archive, script: &script, soname: "liba.so.3", strip: false };
        let error = drop_in.link(folder.path()).expect_err("no library").to_string();
        assert!(error.contains("liba.so.3") && error.contains("a.map"), "{error}");
        assert!(!folder.path().join("liba.so.3").exists());
    }
}
