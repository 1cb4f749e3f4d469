//! Programs that run in a sysroot: finds them there and starts them with its loader, over the drop-in
//! libraries.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::sysroot::{self, Sysroot};
use super::tree::LIBRARIES;
use crate::libraries::{First, ROCM_SMI};

/// A sysroot, its additions, and the libraries that precede its own.
#[derive(Debug, Clone)]
pub struct Place {
    /// The sysroot, whose loader is used.
    pub sysroot: Sysroot,
    /// Trees of further packages.
    pub beside: Vec<PathBuf>,
    /// Libraries that replace the sysroot's.
    pub first: First,
    /// Environment variables hidden from programs.
    pub without: &'static [&'static str],
}

/// Why a program cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no program of that name.
    #[error("there is no program \"{name}\": not in {}, and not in PATH{}", list(folders), programs(there))]
    NotFound {
        /// The requested name.
        name: String,
        /// The searched folders.
        folders: Vec<PathBuf>,
        /// What there is.
        there: Vec<String>,
    },
    /// The file is something else.
    #[error("{} is not a program: neither an ELF file nor a script that starts with #!", path.display())]
    NoProgram {
        /// The file.
        path: PathBuf,
    },
    /// The program is for another processor.
    #[error("{} is a program for another processor than x86-64", path.display())]
    OtherMachine {
        /// The program.
        path: PathBuf,
    },
    /// The script's interpreter is missing.
    #[error("{} is a script for {interpreter}, which is neither in the sysroot nor beside it", path.display())]
    NoInterpreter {
        /// The script.
        path: PathBuf,
        /// Its interpreter.
        interpreter: String,
    },
}

fn list(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn programs(names: &[String]) -> String {
    match names.is_empty() {
        true => "; --with fetches AMD's tools and test programs".to_owned(),
        false => format!("; there are {}", names.join(", ")),
    }
}

/// Where OpenCL's loader looks for implementations.
const VENDORS: &str = "etc/OpenCL/vendors";
/// Tells the preloaded library how to run programs.
const RUN_VARIABLE: &str = "FERROCM_ROCM_RUN";

/// What kind of file a program is.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Elf,
    OtherElf,
    Script(Vec<String>),
    Other,
}

impl Kind {
    fn of(path: &Path) -> Result<Kind, Error> {
        let error = |source| Error::Read { path: path.to_owned(), source };
        let mut start = Vec::new();
        File::open(path).map_err(error)?.take(256).read_to_end(&mut start).map_err(error)?;
        Ok(Kind::of_bytes(&start))
    }

    fn of_bytes(start: &[u8]) -> Kind {
        const X86_64: [u8; 2] = [62, 0];
        if let Some(header) = start.strip_prefix(b"\x7fELF") {
            let is_ours = header.first() == Some(&2) && header.get(14..16) == Some(&X86_64[..]);
            return if is_ours { Kind::Elf } else { Kind::OtherElf };
        }
        let Some(line) = start.strip_prefix(b"#!") else { return Kind::Other };
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut words =
            String::from_utf8_lossy(line).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        if words.first().is_some_and(|word| word.ends_with("/env")) {
            words.remove(0);
        }
        if words.is_empty() { Kind::Other } else { Kind::Script(words) }
    }
}

impl Place {
    fn trees(&self) -> impl Iterator<Item = &Path> {
        self.beside.iter().map(PathBuf::as_path).chain([self.sysroot.folder()])
    }

    /// The folders with programs: `usr/bin` of each tree, and every folder in `usr/libexec`, for tests.
    fn program_folders(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for tree in self.trees() {
            found.push(tree.join("usr/bin"));
            let mut open = vec![tree.join("usr/libexec")];
            while let Some(folder) = open.pop() {
                let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
                open.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
                found.push(folder);
            }
        }
        found.retain(|folder| folder.is_dir());
        found
    }

    /// The names of the programs beside the sysroot, sorted.
    pub fn programs(&self) -> Vec<String> {
        let ours = |folder: &PathBuf| !folder.starts_with(self.sysroot.folder());
        let folders = self.program_folders().into_iter().filter(ours);
        let files = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let is_program =
            |path: &PathBuf| path.is_file() && matches!(Kind::of(path), Ok(Kind::Elf | Kind::Script(_)));
        let named = |path: PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
        let mut names: Vec<String> =
            files.map(|entry| entry.path()).filter(is_program).filter_map(named).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The file of a program: a path is used directly; a name is searched for beside the sysroot, in it, and
    /// in `PATH`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn find(&self, name: &OsStr) -> Result<PathBuf, Error> {
        if Path::new(name).components().count() > 1 || name.as_encoded_bytes().contains(&b'/') {
            return Ok(PathBuf::from(name));
        }
        let folders = self.program_folders();
        let here = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
        let text = name.to_string_lossy();
        here.or_else(|| setup::run::find_program(&text)).ok_or_else(|| Error::NotFound {
            name: text.into_owned(),
            folders,
            there: self.programs(),
        })
    }

    /// The folders in which the loader looks for libraries, in order.
    fn library_path(&self) -> OsString {
        let trees = [self.sysroot.folder()].into_iter().chain(self.beside.iter().map(PathBuf::as_path));
        let folders = trees.flat_map(|tree| {
            let own = tree.join(LIBRARIES);
            // Debian keeps the implementations of BLAS and LAPACK in folders of their own.
            ["blas", "lapack", "openblas-pthread"]
                .map(|folder| own.join(folder))
                .into_iter()
                .filter(|f| f.is_dir())
                .chain([own.clone()])
        });
        let mut path = OsString::new();
        for folder in self.first.folders.iter().cloned().chain(folders) {
            if !path.is_empty() {
                path.push(":");
            }
            path.push(folder);
        }
        path
    }

    /// A command that runs a program with the libraries of this place and none of the machine's.
    ///
    /// # Errors
    /// The file cannot be read, or it is not a program that can run here.
    pub fn command(&self, program: &Path) -> Result<Command, Error> {
        match Kind::of(program)? {
            Kind::Elf => Ok(self.loaded(program)),
            Kind::OtherElf => Err(Error::OtherMachine { path: program.to_owned() }),
            Kind::Other => Err(Error::NoProgram { path: program.to_owned() }),
            Kind::Script(words) => {
                let mut words = words.into_iter();
                let interpreter = words.next().unwrap_or_default();
                let name = Path::new(&interpreter).file_name().unwrap_or_default();
                let mut paths = self.trees().map(|tree| tree.join("usr/bin").join(name));
                let path = paths.find(|path| path.is_file()).ok_or_else(|| Error::NoInterpreter {
                    path: program.to_owned(),
                    interpreter: interpreter.clone(),
                })?;
                let mut command = self.loaded(&path);
                command.args(words).arg(program);
                Ok(command)
            }
        }
    }

    fn loaded(&self, program: &Path) -> Command {
        let loader = self.sysroot.loader();
        let mut libraries = self.library_path();
        // A program of these trees may have its own libraries beside it.
        if let Some(folder) =
            program.parent().filter(|folder| self.trees().any(|tree| folder.starts_with(tree)))
        {
            libraries.push(":");
            libraries.push(folder);
        }
        let preloaded = [&self.first.driver].into_iter().chain(&self.first.preloaded);
        let preloaded: Vec<&OsStr> = preloaded.map(|library| library.as_os_str()).collect();
        let preloaded = preloaded.join(OsStr::new(":"));
        let options = [
            OsStr::new("--inhibit-cache"),
            "--preload".as_ref(),
            &preloaded,
            "--library-path".as_ref(),
            &libraries,
        ];
        let mut command = Command::new(&loader);
        command.args(options).arg("--argv0").arg(program).arg(program);
        // Child programs from these trees are run in the same way.
        let real = |tree: &Path| tree.canonicalize().unwrap_or_else(|_| tree.to_owned()).into_os_string();
        let trees: Vec<OsString> = self.trees().map(real).collect();
        let trees = trees.join(OsStr::new(":"));
        let run = [&[trees.as_os_str(), loader.as_os_str()][..], &options].concat();
        command.env(RUN_VARIABLE, run.join(OsStr::new("\n")));
        sysroot::forget_the_machine(&mut command);
        if let Some(tree) = self.trees().find(|tree| program.starts_with(tree))
            && program.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"python"))
        {
            // Python looks for its library beside its program, which here is the loader.
            command.env("PYTHONHOME", tree.join("usr"));
        }
        if let Some(vendors) = self.trees().map(|tree| tree.join(VENDORS)).find(|folder| folder.is_dir()) {
            command.env("OCL_ICD_VENDORS", vendors);
        }
        // rocm-smi does not use the loader to find its library.
        command.env("ROCM_SMI_LIB_PATH", self.first.driver.with_file_name(ROCM_SMI.soname));
        // Kernels cached in the user's folder were not compiled by this release.
        command.env("AMD_COMGR_CACHE", "0");
        for variable in self.without {
            command.env_remove(variable);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_from_other_files() {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(64, 0);
        assert_eq!(Kind::of_bytes(&elf), Kind::OtherElf);
        elf[18] = 62;
        assert_eq!(Kind::of_bytes(&elf), Kind::Elf);
        elf[4] = 1;
        assert_eq!(Kind::of_bytes(&elf), Kind::OtherElf);
        assert_eq!(Kind::of_bytes(b"\x7fELF"), Kind::OtherElf);
        let script = |text: &str| Kind::of_bytes(text.as_bytes());
        let words = |words: &[&str]| Kind::Script(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(script("#!/usr/bin/python3 -u\nimport os\n"), words(&["/usr/bin/python3", "-u"]));
        assert_eq!(script("#! /usr/bin/env python3\n"), words(&["python3"]));
        assert_eq!(script("#!\n"), Kind::Other);
        assert_eq!(script("plain text"), Kind::Other);
        assert_eq!(script(""), Kind::Other);
    }

    #[test]
    fn programs_are_found_and_started_by_the_loader_with_the_first_libraries_first() {
        let folder = tempfile::tempdir().expect("temp folder");
        let root = folder.path().join("7.2");
        let beside = folder.path().join("7.2-tools");
        let tests = beside.join("usr/libexec/rocm/a-tests");
        for folder in [&root.join("usr/bin"), &beside.join("usr/bin"), &tests] {
            fs::create_dir_all(folder).expect("folder");
        }
        let mut elf = b"\x7fELF\x02".to_vec();
        elf.resize(64, 0);
        elf[18] = 62;
        fs::write(tests.join("a-test"), &elf).expect("write");
        fs::write(root.join("usr/bin/python3"), &elf).expect("write");
        fs::write(beside.join("usr/bin/tool"), "#!/usr/bin/env python3\n").expect("write");
        fs::write(beside.join("usr/bin/other"), "#!/usr/bin/perl\n").expect("write");
        let first = First {
            folders: vec![PathBuf::from("/first")],
            driver: PathBuf::from("/first/driver.so"),
            preloaded: vec![PathBuf::from("/first/more.so")],
        };
        let sysroot = Sysroot::at(crate::rocm::fixtures::release("7.2"), &root);
        let place = Place { sysroot, beside: vec![beside.clone()], first, without: &["SOME"] };
        assert_eq!(place.programs(), ["a-test", "other", "tool"]);
        assert_eq!(place.find("a-test".as_ref()).expect("found"), tests.join("a-test"));
        assert_eq!(place.find("./a-test".as_ref()).expect("a path"), Path::new("./a-test"));
        let error = place.find("no-such-test".as_ref()).expect_err("none").to_string();
        assert!(
            error.contains("no program \"no-such-test\"") && error.ends_with("there are a-test, other, tool"),
            "{error}"
        );

        let text = |command: &Command| setup::run::describe(command);
        let command = text(&place.command(&tests.join("a-test")).expect("runs"));
        let (root_text, beside_text) = (root.display(), beside.display());
        let libraries = format!(
            "--library-path /first:{root_text}/{LIBRARIES}:{beside_text}/{LIBRARIES}:{} --argv0",
            tests.display()
        );
        assert!(command.contains(&libraries), "{command}");
        assert!(
            command
                .contains("ld-linux-x86-64.so.2 --inhibit-cache --preload /first/driver.so:/first/more.so "),
            "{command}"
        );
        fs::create_dir_all(beside.join(VENDORS)).expect("folder");
        let command = place.command(&beside.join("usr/bin/tool")).expect("runs");
        let script = text(&command);
        let variable = |name: &str| {
            let found = command.get_envs().find(|(key, _)| *key == name);
            found.and_then(|(_, value)| value).map(PathBuf::from)
        };
        assert!(command.get_envs().any(|(name, value)| name == "SOME" && value.is_none()));
        assert_eq!(variable("PYTHONHOME"), Some(root.join("usr")));
        assert_eq!(variable("OCL_ICD_VENDORS"), Some(beside.join(VENDORS)));
        assert!(
            script.ends_with(&format!("{root_text}/usr/bin/python3 {beside_text}/usr/bin/tool")),
            "{script}"
        );
        let error = place.command(&beside.join("usr/bin/other")).expect_err("no perl").to_string();
        assert!(error.contains("is a script for /usr/bin/perl"), "{error}");
        fs::write(root.join("text"), "text").expect("write");
        let error = place.command(&root.join("text")).expect_err("text").to_string();
        assert!(error.contains("is not a program"), "{error}");
        assert!(place.command(&root.join("absent")).is_err());
    }
}
