//! The tree of files for archives, Debian's package and the wheel, laid out like `/usr`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use setup::run;

use crate::about::{About, LICENSE_FILES, NAME, workspace};
use crate::archive::gzip;
use crate::metadata::Metadata;
use crate::needs::{Needs, SystemNeeds, is_elf};
use crate::tree::{Entry, Tree};
use crate::{sbom, third_party};

/// The output folder of `cargo xtask package`.
#[derive(Debug)]
pub(crate) struct Inputs<'a>(pub(crate) &'a Path);

impl Inputs<'_> {
    /// The program.
    pub(crate) fn program(&self) -> std::path::PathBuf {
        self.0.join("bin").join(NAME)
    }

    /// The drop-in libraries.
    fn libraries(&self) -> std::path::PathBuf {
        self.0.join("lib")
    }

    /// Code objects, a file for each module.
    fn kernels(&self) -> std::path::PathBuf {
        self.0.join("kernels")
    }

    /// Code objects for registry packages, a folder for each package.
    pub(crate) fn prebuilt(&self) -> std::path::PathBuf {
        self.0.join("prebuilt")
    }
}

/// The contents of all packages except the crates.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Programs, libraries, kernels, pages.
    pub(crate) tree: Tree,
    /// Libraries that replace links, which wheels do not support.
    pub(crate) stubs: Tree,
    /// The bill of materials.
    pub(crate) sbom: Vec<u8>,
}

/// The completion folders of shells, by the program's name for the shell.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/ferrocm"),
    ("fish", "share/fish/vendor_completions.d/ferrocm.fish"),
    ("zsh", "share/zsh/site-functions/_ferrocm"),
];

/// The required files in the library folder.
const LIBRARIES: [&str; 8] = [
    "libamdhip64.so.7",
    "hiprtc/libhiprtc.so.7",
    "rocblas/librocblas.so.5",
    "rccl/librccl.so.1",
    "hsa/libhsa-runtime64.so.1",
    "hsa/librocm_smi64.so.7",
    "hsa/libamd_smi.so.26",
    "hsa/libferrocm-driver.so.1",
];

impl Stage {
    /// Collects the build output, and generates the derived files.
    pub(crate) fn new(inputs: &Inputs<'_>, about: &About) -> Result<Self> {
        let mut tree = Tree::default();
        tree.add(format!("bin/{NAME}"), Entry::program(read(&inputs.program())?))?;
        let mut built = Tree::default();
        built.add_folder("lib", &inputs.libraries())?;
        for (path, entry) in built.iter().filter(|(path, _)| !path.ends_with(".lock")) {
            let path = path.replacen("lib/", &format!("lib/{NAME}/"), 1);
            // Libraries are read, not run.
            let entry = match entry {
                Entry::File { bytes, .. } => Entry::data(bytes.clone()),
                Entry::Link(to) => Entry::Link(to.clone()),
            };
            tree.add(path, entry)?;
        }
        for library in LIBRARIES {
            let path = format!("lib/{NAME}/{library}");
            let entry = tree.get(&path).with_context(|| format!("{path} was not built"))?;
            let soname = Needs::of(entry.bytes()).with_context(|| path.clone())?.soname;
            if soname.as_deref() != path.rsplit('/').next() {
                bail!("{path} calls itself {soname:?}: programs would not find it");
            }
        }
        tree.add_folder(&format!("lib/{NAME}/kernels"), &inputs.kernels())?;
        add_pages(&mut tree, &inputs.program())?;
        let metadata = Metadata::of(workspace())?;
        let sbom = sbom::sbom(&metadata, &metadata.released()?, &about.subject())?;
        add_documents(&mut tree, &metadata, &sbom)?;
        // Checks that everything runs on the supported systems.
        SystemNeeds::of(&tree)?;
        let stubs = stubs(&tree)?;
        Ok(Self { tree, stubs, sbom })
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Manual pages and completions, written by the program itself.
fn add_pages(tree: &mut Tree, program: &Path) -> Result<()> {
    let folder = tempfile::tempdir().context("a temporary folder")?;
    run::run(Command::new(program).arg("man").arg(folder.path()))?;
    let mut pages = Tree::default();
    pages.add_folder("share/man/man1", folder.path())?;
    for (path, entry) in pages.iter() {
        tree.add(format!("{path}.gz"), Entry::data(gzip(entry.bytes(), 0)?))?;
    }
    for (shell, path) in COMPLETIONS {
        let text = run::capture(Command::new(program).args(["completions", shell]))?;
        tree.add(path, Entry::data(text))?;
    }
    Ok(())
}

/// The contents of `share/doc`.
fn add_documents(tree: &mut Tree, metadata: &Metadata, sbom: &[u8]) -> Result<()> {
    let folder = format!("share/doc/{NAME}");
    for file in LICENSE_FILES {
        tree.add(format!("{folder}/{file}"), Entry::data(read(&workspace().join(file))?))?;
    }
    let page = workspace().join("docs/use/ferrocm.md");
    tree.add(format!("{folder}/README.md"), Entry::data(read(&page)?))?;
    tree.add(format!("{folder}/third-party.txt"), Entry::data(third_party::third_party(metadata)?))?;
    tree.add(format!("{folder}/{}", sbom::file_name(NAME)), Entry::data(sbom))
}

/// For each link among the libraries, an empty library that depends on the link's target. A program that
/// loads `libamdhip64.so` thus gets `libamdhip64.so.7` and finds its functions.
fn stubs(tree: &Tree) -> Result<Tree> {
    let mut stubs = Tree::default();
    let folder = tempfile::tempdir().context("a temporary folder")?;
    for (path, entry) in tree.iter() {
        let Entry::Link(to) = entry else { continue };
        let target = path.rsplit_once('/').map_or_else(|| to.clone(), |(folder, _)| format!("{folder}/{to}"));
        let library =
            tree.get(&target).with_context(|| format!("{path} leads to {target}, which is missing"))?;
        if !is_elf(library.bytes()) {
            bail!("{path} does not lead to a library");
        }
        let (file, stub) = (folder.path().join(to), folder.path().join("stub.so"));
        fs::write(&file, library.bytes()).with_context(|| format!("cannot write {}", file.display()))?;
        let mut link = Command::new("cc");
        // Without the compiler's own files, and without names that differ between builds.
        link.args([
            "-shared",
            "-nostdlib",
            "-Wl,--no-as-needed",
            "-Wl,--build-id=none",
            "-Wl,-rpath,$ORIGIN",
            "-o",
        ]);
        run::run(link.arg(&stub).arg(&file).args(["-x", "c", "/dev/null"]))?;
        run::run(Command::new("strip").arg("--strip-unneeded").arg(&stub))?;
        stubs.add(path, Entry::data(read(&stub)?))?;
    }
    Ok(stubs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_loads_a_stub_finds_the_functions_of_the_library() {
        let folder = tempfile::tempdir().expect("folder");
        let path = |name: &str| folder.path().join(name);
        let cc = |arguments: &[&str]| {
            let done = Command::new("cc").args(arguments).current_dir(folder.path()).status().expect("cc");
            assert!(done.success(), "{arguments:?}");
        };
        fs::write(path("x.c"), "int seven(void) { return 7; }\n").expect("write");
        cc(&["-shared", "-fPIC", "-Wl,-soname,libx.so.7", "x.c", "-o", "libx.so.7"]);
        let mut tree = Tree::default();
        tree.add("lib/libx.so.7", Entry::data(fs::read(path("libx.so.7")).expect("read"))).expect("added");
        tree.add("lib/libx.so", Entry::Link("libx.so.7".to_owned())).expect("added");
        let made = stubs(&tree).expect("stubs");
        assert_eq!(made, stubs(&tree).expect("again"), "two stubs are equal");
        fs::write(path("libx.so"), made.get("lib/libx.so").expect("the stub").bytes()).expect("write");
        fs::write(
            path("main.c"),
            "#include <dlfcn.h>\nint main(void) { void *l = dlopen(\"libx.so\", 2); int (*f)(void) = l ? dlsym(l, \"seven\") : 0; return f ? f() : 1; }\n",
        )
        .expect("write");
        cc(&["main.c", "-o", "main", "-ldl"]);
        let ran = Command::new(path("main")).env("LD_LIBRARY_PATH", folder.path()).status().expect("runs");
        assert_eq!(ran.code(), Some(7));
        tree.add("lib/liby.so", Entry::Link("liby.so.1".to_owned())).expect("added");
        assert!(stubs(&tree).expect_err("leads nowhere").to_string().contains("liby.so.1"));
    }
}
