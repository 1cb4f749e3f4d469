//! Static libraries of sources whose host code launches their kernels.
//!
//! Each source becomes one object file: its host code, and the code for all targets, NVIDIA's included, in an
//! offload bundle. The host code registers the bundle with the runtime before `main`. It refers to HIP's
//! functions by their C names.

mod archive;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use device_compiler::cache::Entry;
use device_compiler::limits::Limits;
use device_compiler::reads::Learning;
use device_compiler::{Diagnostic, diagnostics, facts, files, retries};

use crate::builder::Built;
use crate::compile::{Context, Plan, joined};
use crate::embed::{exit_with, tell_warnings};

use crate::{Build, Builder, Error, bundle, jobs};
use archive::{Member, Symbols};

/// Changes when the same inputs would give a different object file.
const SCHEMA: &str = "ferrocm host code 2";

/// The compiled host code of a source.
struct Object {
    bytes: Vec<u8>,
    diagnostics: Vec<Diagnostic>,
}

impl Builder {
    /// For sources that launch their own kernels (`<<<>>>` in `extern "C"` functions): builds, and writes all
    /// host code with the code objects of all targets to a static library, `libNAME.a`. Rust declares the
    /// functions `extern "C"` and calls them.
    ///
    /// In a build script, it tells Cargo the dependencies, and to link the library, with C++'s library if the
    /// sources need it. The crate must also link `hip-host`, which has HIP's functions for such code: `use
    /// hip_host as _;`.
    ///
    /// ```no_run
    /// let out = std::env::var("OUT_DIR")?;
    /// kernel_build::Builder::new("kernels").build_lib(format!("{out}/liblaunchers.a"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// With [`nvidia`](Self::nvidia), the library also has nvcc's code, and its host code, which AMD's
    /// compiler compiles, launches that on an NVIDIA GPU.
    ///
    /// Equal sources, targets and compilers give equal files, wherever they are, except for the source lines
    /// of [translated](Self::translate) sources. A file that would not change is not touched. Host code is
    /// for x86-64 Linux.
    ///
    /// # Errors
    /// As for [`build`](Self::build); [`Error::HostCode`] has the compiler's messages about host code.
    /// [`Error::Library`] says what is wrong with the path or Cargo's target, or which kernel, function or
    /// variable two sources define.
    pub fn build_lib(mut self, path: impl AsRef<Path>) -> Result<Build, Error> {
        let script = std::env::var_os("OUT_DIR").is_some();
        if script {
            self.tell_variables();
        }
        let path = std::path::absolute(&path).map_err(|e| Error::io("write", path.as_ref(), e))?;
        let bad = |reason: String| Error::Library { path: path.clone(), reason };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_prefix("lib").and_then(|name| name.strip_suffix(".a"));
        let name = name.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| bad("its file name must be `libNAME.a`".into()))?;
        if let Some(target) = std::env::var("TARGET").ok().filter(|target| script && !is_supported(target)) {
            return Err(bad(format!("host code is compiled for x86-64 Linux only, not for {target}")));
        }

        let link = self.link;
        if self.features.is_some() {
            return Err(bad(
                "host code is compiled by AMD's compiler, so its builder has no `features`".into()
            ));
        }
        self.whole_bundles = true;

        let (build, objects) = self.build_and(|builder, context, plans, built| match context {
            Some(context) => host_objects(builder, context, plans, built),
            None => Ok(Vec::new()),
        })?;
        let mut members = Vec::new();
        let mut told = Vec::new();
        for (module, object) in build.modules.iter().zip(objects) {
            let bad = |reason| Error::HostCode { source_file: module.source.clone(), text: reason };
            let symbols = Symbols::of(&object.bytes).map_err(bad)?;
            let name = format!("{}-{}.o", module.id, module.ident);
            members.push((Member { name, bytes: object.bytes }, symbols));
            told.extend(object.diagnostics);
        }
        if let Some((name, [first, second])) = defined_twice(&members) {
            let [first, second] = [first, second].map(|index| &build.modules[index].relative);
            return Err(bad(format!(
                "`{name}` is defined in {first} and in {second}; give one of them another name, make it `static`, or leave the \
                 source out"
            )));
        }
        let file = archive::write(&members).map_err(bad)?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder).map_err(|e| Error::io("make the folder", folder, e))?;
        files::write_atomically(&path, &file)?;
        if script {
            build.tell_dependencies();
            // The compiler repeats its warnings about a source's host code in every compilation.
            let known = build.warnings();
            tell_warnings(told.iter().filter(|warning| !known.contains(warning)));
        }
        if script && link {
            println!("cargo::rustc-link-search=native={}", folder.display());
            println!("cargo::rustc-link-lib=static={name}");
            if members.iter().any(|(_, symbols)| symbols.wanted.iter().any(|name| is_cxx(name))) {
                println!("cargo::rustc-link-lib=dylib=stdc++");
            }
        }
        Ok(build)
    }

    /// Like [`build_lib`](Self::build_lib), but an error is passed to Cargo, line by line, and ends the
    /// process with status 1.
    pub fn build_lib_or_exit(self, path: impl AsRef<Path>) -> Build {
        self.build_lib(path).unwrap_or_else(|error| exit_with(&error))
    }
}

/// A name that two members define, which linkers reject, and its places.
fn defined_twice(members: &[(Member, Symbols)]) -> Option<(String, [usize; 2])> {
    let mut known = HashMap::new();
    for (index, (_, symbols)) in members.iter().enumerate() {
        // A kernel has two symbols; only one is its name.
        for name in symbols.unique.iter().map(|name| String::from_utf8_lossy(name)) {
            if !name.contains("__device_stub__")
                && let Some(first) = known.insert(name.clone(), index)
            {
                return Some((name.into_owned(), [first, index]));
            }
        }
    }
    None
}

/// Whether host code can be compiled for a Cargo target.
fn is_supported(target: &str) -> bool {
    target.starts_with("x86_64-") && target.contains("-linux-")
}

/// Whether a symbol is one of C++'s library.
fn is_cxx(symbol: &[u8]) -> bool {
    [&b"_Z"[..], b"__cxa_", b"__gxx_"].iter().any(|prefix| symbol.starts_with(prefix))
}

/// The host code of every source, in order.
fn host_objects(
    builder: &Builder,
    context: &Context<'_>,
    plans: &[Plan<'_>],
    built: &[Built],
) -> Result<Vec<Object>, Error> {
    let object = |index: usize| host_object(context, &plans[index], &built[index]);
    jobs::run(builder.job_count(), plans.len(), object).into_iter().collect()
}

fn host_object(context: &Context<'_>, plan: &Plan<'_>, built: &Built) -> Result<Object, Error> {
    let source = plan.source;
    let prepared = context.prepare(plan)?;
    let fat = match &built.bundle {
        Some(bundle) => Cow::from(&bundle.bytes),
        None => Cow::from(bundle::plain(&built.objects, &built.images)),
    };
    let fat = &*fat;
    let mut key = blake3::Hasher::new();
    key.update(SCHEMA.as_bytes()).update(context.base.as_bytes()).update(prepared.hash.as_bytes());
    key.update(blake3::hash(fat).as_bytes());
    key.update(format!("{} {}", prepared.dialect, source.relative).as_bytes());
    plan.add_options(&mut key);
    let key = key.finalize().to_hex();
    let _turn = match context.cache.lookup_or_turn(&key, |path| context.hash(path)) {
        Ok((entry, bytes)) => return Ok(Object { bytes, diagnostics: entry.diagnostics }),
        Err(turn) => turn,
    };

    let work = context.cache.work_folder()?;
    let work = work.path();
    let (object, binary) = (work.join("out.o"), work.join("out.hipfb"));
    std::fs::write(&binary, fat).map_err(|e| Error::io("write", &binary, e))?;
    let input = prepared.input(source, work)?;
    let mut command = context.toolchain.command();
    command.args(["--offload-host-only", "-c", "-fPIC", "-fno-color-diagnostics"]);
    // Options for device code, such as fast mathematics, are not the caller's mistake.
    command.arg("-Wno-unused-command-line-argument");
    // This becomes part of a symbol's name, so it must differ between object files. The compiled text is
    // unsuitable: a translation contains the folder's name.
    let mut id = blake3::Hasher::new();
    id.update(source.relative.as_bytes()).update(context.hash(&source.path).unwrap_or_default().as_bytes());
    id.update(fat);
    command.arg(format!("-cuid={}", &id.finalize().to_hex()[..16]));
    command.args(context.names_of_folders());
    command.arg(joined("-ffile-prefix-map=", work, "=."));
    if let Some(first) = built.objects.first() {
        command.arg(format!("--offload-arch={}", first.target));
    }
    let options = options(context, plan);
    command.args(&options);
    command.args(context.header_options(plan, &prepared, work)?);
    command.arg(&input).env("TMPDIR", work);
    let options: Vec<&OsStr> = options.iter().map(OsString::as_os_str).collect();
    let learning = Learning::begin(&mut command, &options, work, Limits::NONE)?;
    for option in ["-fcuda-include-gpubinary".into(), binary.into_os_string()] {
        command.arg("-Xclang").arg(option);
    }
    command.arg("-o").arg(&object);
    let program = || context.toolchain.clang.clone();
    let run = |mut command: Command| command.output().map_err(|e| Error::program(program(), e));
    let output = retries::compile(&command, run, retries::messages)?;
    let text = diagnostics::without_counts(&String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        if text.contains("No space left on device") {
            return Err(Error::io("write", work, std::io::ErrorKind::StorageFull.into()));
        }
        if output.status.code().is_none() {
            return Err(Error::program(program(), output.status));
        }
        return Err(Error::HostCode { source_file: source.path.clone(), text });
    }
    let bytes = std::fs::read(&object).map_err(|e| Error::io("read", &object, e))?;
    let diagnostics = Diagnostic::read_all(&text);
    let text = prepared.text.as_deref().unwrap_or_default().as_bytes();
    // Host code yields no IR that would show the inline assembly.
    let reads = learning.end(text)?.filter(|reads| !reads.may_assemble_files());
    if let Some(inputs) = reads.and_then(|reads| context.inputs_of(&reads, work, &source.path)) {
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let entry = Entry { inputs, object: hash, diagnostics: diagnostics.clone(), ..Entry::default() };
        context.cache.store(&key, entry, &bytes)?;
    }
    Ok(Object { bytes, diagnostics })
}

/// The options of a source, without those for code objects only.
fn options(context: &Context<'_>, plan: &Plan<'_>) -> Vec<OsString> {
    let lines: Vec<OsString> = facts::SOURCE_LINES.iter().map(OsString::from).collect();
    let own = context.options.strip_prefix(lines.as_slice()).unwrap_or(context.options);
    own.iter().chain(&plan.options).cloned().collect()
}
