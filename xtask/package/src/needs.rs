//! System requirements of programs and shared libraries: libraries and symbol versions.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use object::elf::FileHeader64;
use object::endian::LittleEndian;
use object::read::elf::{Dyn, FileHeader, SectionHeader};

use crate::tree::Tree;

/// The newest glibc that a package may need: that of Debian 12, the oldest supported system.
pub(crate) const NEWEST_GLIBC: Version = Version([2, 36, 0]);

/// A symbol version, such as `GLIBC_2.34`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) [u32; 3]);

impl Version {
    /// Reads `2.34`.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = [0; 3];
        let mut numbers = text.split('.');
        for part in &mut parts {
            match numbers.next() {
                Some(number) => *part = number.parse().ok()?,
                None => break,
            }
        }
        numbers.next().is_none().then_some(Self(parts))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self([major, minor, patch]) = self;
        match patch {
            0 => write!(f, "{major}.{minor}"),
            _ => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

/// A system library, its Debian package, and the prefix of its symbol versions.
struct System {
    library: &'static str,
    package: &'static str,
    prefix: &'static str,
}

/// The libraries that a package may need: those of glibc, and the unwinder. The `manylinux` policies allow
/// all of them.
static SYSTEM: [System; 8] = [
    System { library: "ld-linux-x86-64.so.2", package: "libc6", prefix: "GLIBC_" },
    System { library: "libc.so.6", package: "libc6", prefix: "GLIBC_" },
    System { library: "libdl.so.2", package: "libc6", prefix: "GLIBC_" },
    System { library: "libm.so.6", package: "libc6", prefix: "GLIBC_" },
    System { library: "libpthread.so.0", package: "libc6", prefix: "GLIBC_" },
    System { library: "librt.so.1", package: "libc6", prefix: "GLIBC_" },
    System { library: "libutil.so.1", package: "libc6", prefix: "GLIBC_" },
    System { library: "libgcc_s.so.1", package: "libgcc-s1", prefix: "GCC_" },
];

/// The requirements of an ELF file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Its own name, if it is a library.
    pub(crate) soname: Option<String>,
    /// The libraries.
    pub(crate) libraries: BTreeSet<String>,
    /// The versions of symbols, by library.
    pub(crate) versions: BTreeMap<String, BTreeSet<String>>,
}

/// Whether these bytes are an ELF file.
pub(crate) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

impl Needs {
    /// Reads them from an x86-64 program or library.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self> {
        let endian = LittleEndian;
        let header = FileHeader64::<LittleEndian>::parse(bytes).context("no ELF file of 64 bits")?;
        if header.e_machine(endian) != object::elf::EM_X86_64 {
            bail!("an ELF file for another processor than x86-64");
        }
        let sections = header.sections(endian, bytes).context("sections")?;
        let mut needs = Needs::default();
        if let Some((dynamic, strings)) = sections.dynamic(endian, bytes).context("the dynamic section")? {
            let strings = sections.strings(endian, bytes, strings).context("names of libraries")?;
            let text = |entry: &object::elf::Dyn64<LittleEndian>| -> Result<String> {
                let name = entry.string(endian, strings).context("the name of a library")?;
                Ok(String::from_utf8_lossy(name).into_owned())
            };
            for entry in dynamic {
                match entry.tag32(endian) {
                    Some(object::elf::DT_NEEDED) => {
                        needs.libraries.insert(text(entry)?);
                    }
                    Some(object::elf::DT_SONAME) => needs.soname = Some(text(entry)?),
                    _ => {}
                }
            }
        }
        for section in sections.iter() {
            let Some((mut list, link)) = section.gnu_verneed(endian, bytes).context("versions of symbols")?
            else {
                continue;
            };
            let strings = sections.strings(endian, bytes, link).context("names of versions")?;
            while let Some((library, mut versions)) = list.next().context("versions of symbols")? {
                let library = library.file(endian, strings).context("the name of a library")?;
                let named = needs.versions.entry(String::from_utf8_lossy(library).into_owned()).or_default();
                while let Some(version) = versions.next().context("versions of symbols")? {
                    let name = version.name(endian, strings).context("the name of a version")?;
                    named.insert(String::from_utf8_lossy(name).into_owned());
                }
            }
        }
        Ok(needs)
    }
}

/// The system requirements of all programs and libraries of a package.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SystemNeeds {
    /// Debian packages with the oldest sufficient version, if symbols name one.
    pub(crate) packages: BTreeMap<&'static str, Option<Version>>,
    /// The oldest sufficient glibc.
    pub(crate) glibc: Option<Version>,
}

impl SystemNeeds {
    /// Reads all ELF files of a tree except GPU code.
    ///
    /// # Errors
    /// A library is neither in the system nor in the tree, or a glibc newer than [`NEWEST_GLIBC`] is needed.
    pub(crate) fn of(tree: &Tree) -> Result<Self> {
        let files = tree.iter().filter(|(_, entry)| is_elf(entry.bytes()));
        let mut all = Vec::new();
        for (path, entry) in files {
            all.push((path, Needs::of(entry.bytes()).with_context(|| format!("{path} cannot be read"))?));
        }
        let own: BTreeSet<&str> = all.iter().filter_map(|(_, needs)| needs.soname.as_deref()).collect();
        let mut found = SystemNeeds::default();
        for (path, needs) in &all {
            for library in needs.libraries.iter().filter(|library| !own.contains(library.as_str())) {
                let Some(system) = SYSTEM.iter().find(|system| system.library == *library) else {
                    bail!("{path} needs {library}, which is neither in the package nor on every system");
                };
                found.packages.entry(system.package).or_default();
            }
            for (library, version) in needs
                .versions
                .iter()
                .flat_map(|(library, versions)| versions.iter().map(move |one| (library, one)))
            {
                found.note(path, library, version, &own)?;
            }
        }
        Ok(found)
    }

    fn note(&mut self, path: &str, library: &str, name: &str, own: &BTreeSet<&str>) -> Result<()> {
        let Some(system) = SYSTEM.iter().find(|system| system.library == library) else {
            match own.contains(library) {
                true => return Ok(()),
                false => bail!("{path} needs {name} of {library}, which is not in the package"),
            }
        };
        // `GLIBC_ABI_DT_RELR` and the like stand for features of the loader; each came with a version of
        // glibc.
        let version = match name {
            "GLIBC_ABI_DT_RELR" => Some(Version([2, 36, 0])),
            _ => name.strip_prefix(system.prefix).and_then(Version::parse),
        };
        let version =
            version.with_context(|| format!("{path} needs {name} of {library}, which is not a version"))?;
        if system.package == "libc6" {
            if version > NEWEST_GLIBC {
                bail!(
                    "{path} needs {name} of {library}, but packages must run with glibc {NEWEST_GLIBC} (Debian 12): build them there"
                );
            }
            self.glibc = self.glibc.max(Some(version));
        }
        let oldest = self.packages.entry(system.package).or_default();
        *oldest = (*oldest).max(Some(version));
        Ok(())
    }

    /// The field `Depends` of a Debian package.
    pub(crate) fn depends(&self) -> String {
        let one = |(package, version): (&&str, &Option<Version>)| match version {
            Some(version) => format!("{package} (>= {version})"),
            None => (*package).to_owned(),
        };
        self.packages.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// The platform of a wheel.
    pub(crate) fn manylinux(&self) -> Result<String> {
        let Version([major, minor, _]) = self.glibc.context("nothing in the wheel needs glibc")?;
        Ok(format!("manylinux_{major}_{minor}_x86_64"))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::tree::Entry;

    fn compiled(folder: &std::path::Path, source: &str, more: &[&str]) -> Vec<u8> {
        let (file, out) = (folder.join("a.c"), folder.join("a.out"));
        std::fs::write(&file, source).expect("write");
        let done = Command::new("cc").arg(&file).arg("-o").arg(&out).args(more).status().expect("cc");
        assert!(done.success());
        std::fs::read(out).expect("read")
    }

    #[test]
    fn versions_are_those_that_readelf_shows() {
        let folder = tempfile::tempdir().expect("folder");
        let source = "#include <stdio.h>\n#include <math.h>\nint main(int n, char **a) { printf(\"%f\", pow(n, 0.5)); }\n";
        let needs = Needs::of(&compiled(folder.path(), source, &["-lm"])).expect("needs");
        let shown = Command::new("readelf")
            .args(["-V", "-W"])
            .arg(folder.path().join("a.out"))
            .output()
            .expect("readelf");
        let shown = String::from_utf8(shown.stdout).expect("UTF-8");
        let theirs: BTreeSet<String> = shown
            .lines()
            .filter_map(|line| line.split_once("Name: ")?.1.split_whitespace().next().map(str::to_owned))
            .filter(|name| name.starts_with("GLIBC_"))
            .collect();
        let ours: BTreeSet<String> = needs.versions.values().flatten().cloned().collect();
        assert_eq!(ours, theirs);
        assert!(!ours.is_empty() && needs.libraries.contains("libm.so.6") && needs.soname.is_none());
    }

    #[test]
    fn libraries_that_nobody_has_and_a_newer_glibc_are_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let library = compiled(
            folder.path(),
            "int f(void) { return 1; }\n",
            &["-shared", "-fPIC", "-Wl,-soname,libown.so.3"],
        );
        std::fs::write(folder.path().join("libown.so.3"), &library).expect("write");
        let own = folder.path().join("libown.so.3");
        let program = compiled(
            folder.path(),
            "int f(void);\nint main(void) { return f(); }\n",
            &[own.to_str().expect("UTF-8")],
        );
        let mut tree = Tree::default();
        tree.add("bin/program", Entry::program(program)).expect("added");
        let error = SystemNeeds::of(&tree).expect_err("libown is missing").to_string();
        assert!(error.contains("bin/program") && error.contains("libown.so.3"), "{error}");
        tree.add("lib/libown.so.3", Entry::program(library)).expect("added");
        let needs = SystemNeeds::of(&tree).expect("complete");
        assert!(needs.depends().starts_with("libc6 (>= 2."), "{}", needs.depends());

        let mut needs = SystemNeeds::default();
        let error = needs
            .note("bin/x", "libc.so.6", "GLIBC_2.38", &BTreeSet::new())
            .expect_err("too new")
            .to_string();
        assert!(error.contains("bin/x") && error.contains("GLIBC_2.38") && error.contains("2.36"), "{error}");
        assert!(needs.note("bin/x", "libc.so.6", "GLIBC_PRIVATE", &BTreeSet::new()).is_err());
        needs.note("bin/x", "libgcc_s.so.1", "GCC_4.2.0", &BTreeSet::new()).expect("known");
        needs.note("bin/x", "libc.so.6", "GLIBC_2.2.5", &BTreeSet::new()).expect("known");
        needs.note("bin/x", "libm.so.6", "GLIBC_2.29", &BTreeSet::new()).expect("known");
        assert_eq!(needs.depends(), "libc6 (>= 2.29), libgcc-s1 (>= 4.2)");
        assert_eq!(needs.manylinux().expect("platform"), "manylinux_2_29_x86_64");
    }
}
