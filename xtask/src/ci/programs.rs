//! Compiles a folder of CUDA or HIP sources to a library, its code objects, and test programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use kernel_build::Builder;
use setup::run;

/// What to compile, and for which target.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Folder of the sources
    #[arg(long, value_name = "DIR")]
    sources: PathBuf,
    /// Folder of the test programs: each source in it has a `main`
    #[arg(long, value_name = "DIR")]
    tests: PathBuf,
    /// Target
    #[arg(long, value_name = "TARGET")]
    target: String,
    /// Folder of headers; may be repeated
    #[arg(long, value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Folder of libamdhip64.so
    #[arg(long, value_name = "DIR")]
    hip: PathBuf,
    /// Folder of static libraries of other components; may be repeated
    #[arg(long, value_name = "DIR")]
    link: Vec<PathBuf>,
    /// The library's name
    #[arg(long)]
    name: String,
    /// Folder for lib, code and bin
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Further options for the compiler, clang's or nvcc's
    #[arg(last = true)]
    flags: Vec<String>,
}

impl Options {
    fn builder(&self, builder: Builder) -> Builder {
        let builder = builder.targets([&self.target]).source_lines(true);
        let builder = self.include.iter().fold(builder, Builder::include);
        self.flags.iter().fold(builder, Builder::flag)
    }
}

/// Compiles and links everything.
pub(crate) fn programs(options: &Options) -> Result<()> {
    let library = options.out.join("lib").join(format!("lib{}.a", options.name));
    let build = options.builder(Builder::new(&options.sources)).build_lib(&library)?;
    for warning in build.warnings() {
        eprintln!("{warning}");
    }
    for (module, object) in build.objects() {
        let path = options.out.join("code").join(&module.relative).with_extension("hsaco");
        make_folder_of(&path)?;
        fs::write(&path, &object.bytes).with_context(|| path.display().to_string())?;
    }
    println!("{}", library.display());

    if !options.tests.is_dir() {
        println!("There is no folder {}: no test programs.", options.tests.display());
        return Ok(());
    }
    let work = tempfile::tempdir().context("a temporary folder")?;
    let mut sources = Vec::new();
    for entry in fs::read_dir(&options.tests).with_context(|| options.tests.display().to_string())? {
        let path = entry.with_context(|| options.tests.display().to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "cu") {
            sources.push(path);
        }
    }
    sources.sort();
    if sources.is_empty() {
        bail!("no .cu in {}: a component without tests has no such folder", options.tests.display());
    }
    let mut libraries = vec![library];
    for folder in &options.link {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry.with_context(|| folder.display().to_string())?.path();
            libraries
                .extend(path.extension().is_some_and(|extension| extension == "a").then_some(path.clone()));
        }
    }
    for source in sources {
        let name = source.file_stem().and_then(|name| name.to_str()).context("a test's name is not UTF-8")?;
        let own = work.path().join(format!("lib{name}.a"));
        options.builder(Builder::of_files([&source])).build_lib(&own)?;
        let program = options.out.join("bin").join(name);
        link(&program, &own, &libraries, &options.hip)?;
        println!("{}", program.display());
    }
    Ok(())
}

/// Links a test with the component's library, those of other components, and HIP.
fn link(program: &Path, own: &Path, libraries: &[PathBuf], hip: &Path) -> Result<()> {
    make_folder_of(program)?;
    let mut command = Command::new("cc");
    // Constructors register code objects with the runtime; nothing else refers to them.
    command.arg("-o").arg(program).arg("-Wl,--whole-archive").arg(own).args(libraries);
    command.arg("-Wl,--no-whole-archive").arg("-L").arg(hip).arg("-lamdhip64");
    // The HIP library's own dependencies are available at run time.
    command.args(["-Wl,--unresolved-symbols=ignore-in-shared-libs", "-lstdc++", "-lpthread", "-ldl", "-lm"]);
    run::run(&mut command)?;
    Ok(())
}

fn make_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().context("a path in a folder")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}
