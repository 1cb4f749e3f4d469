//! Rust code that embeds a build, and a build script's messages to Cargo.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use code_object::embedded::CudaKind;
use code_object::{Feature, TargetId};
use device_compiler::Diagnostic;
use device_compiler::files::write_atomically;

use crate::{Build, Builder, BuiltImage, BuiltModule, CudaArch, Error, nvidia, targets};

/// Variables that affect builds for AMD GPUs.
const VARIABLES: &[&str] = &[
    targets::VARIABLE,
    targets::VARIABLE_FOR,
    "FERROCM_KERNEL_LINES",
    "FERROCM_KERNEL_METRICS",
    "FERROCM_CLANG",
    "FERROCM_HIP_PATH",
    "FERROCM_CACHE",
    "ROCM_PATH",
    "HIP_PATH",
];

impl Builder {
    /// For build scripts: builds, writes the generated module to `OUT_DIR` and tells Cargo its dependencies.
    ///
    /// Nothing is written before everything has compiled. Returns the build. The crate includes the module
    /// with `include!(concat!(env!("OUT_DIR"), "/kernels.rs"));`.
    ///
    /// # Errors
    /// As for [`build`](Self::build); [`Error::NotABuildScript`] without `OUT_DIR`.
    pub fn embed(self) -> Result<Build, Error> {
        let out = std::env::var_os("OUT_DIR").ok_or(Error::NotABuildScript { name: "OUT_DIR" })?;
        let (types, output) = (self.types.clone(), self.output.clone());
        let build = self.build_and_tell()?;
        build.write_rust(Path::new(&out), &output, &types)?;
        Ok(build)
    }

    /// For build scripts that write the code in their own form: builds, and tells Cargo the dependencies and
    /// the warnings.
    ///
    /// # Errors
    /// As for [`build`](Self::build).
    pub fn build_and_tell(self) -> Result<Build, Error> {
        self.tell_variables();
        let build = self.build()?;
        build.tell_dependencies();
        Ok(build)
    }

    /// Tells Cargo the variables. This comes before anything can fail, so that a failed build script reruns
    /// when one of them changes.
    pub(crate) fn tell_variables(&self) {
        let nvidias = nvidia::variables().filter(|_| self.knows_nvidia());
        for name in VARIABLES.iter().copied().chain(nvidias) {
            println!("cargo::rerun-if-env-changed={name}");
        }
    }

    /// Like [`embed`](Self::embed), but an error is passed to Cargo, line by line, and ends the process with
    /// status 1.
    pub fn embed_or_exit(self) -> Build {
        self.embed().unwrap_or_else(|error| exit_with(&error))
    }
}

pub(crate) fn tell_warnings<'a>(warnings: impl IntoIterator<Item = &'a Diagnostic>) {
    for line in warnings.into_iter().flat_map(|warning| warning.text.lines()) {
        println!("cargo::warning={line}");
    }
}

/// The warning of a build without nvcc. Cargo does not notice that one is installed.
fn left_out(remedy: &str, package: Option<String>) -> String {
    let again = package.map(|name| format!(" Then run `cargo clean -p {name}`.")).unwrap_or_default();
    format!(
        "there is no code for NVIDIA GPUs in this build, because no nvcc was found. To get one, {remedy}.{again}"
    )
}

/// Ends a build script with an error.
pub(crate) fn exit_with(error: &Error) -> ! {
    for line in error.to_string().lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1)
}

impl Build {
    /// Tells Cargo what to watch, and the compiler's warnings.
    pub(crate) fn tell_dependencies(&self) {
        for path in self.dependencies() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        tell_warnings(self.warnings());
        for folder in &self.missing_includes {
            println!("cargo::warning=the folder of headers {} does not exist", folder.display());
        }
        if let Some(error) = &self.without_nvcc {
            println!("cargo::warning={}", left_out(&error.remedy, std::env::var("CARGO_PKG_NAME").ok()));
        }
    }

    /// The paths that a build script must watch: sources, folders of headers, paths added by the caller, and
    /// the compilers.
    #[must_use]
    pub fn dependencies(&self) -> Vec<PathBuf> {
        let mut paths = self.read.clone();
        let is_read = |dir: &&PathBuf| self.read.iter().any(|folder| dir.starts_with(folder));
        paths.extend(self.includes.iter().filter(|dir| !is_read(dir)).cloned());
        paths.extend(self.watched.iter().cloned());
        paths.extend(self.toolchain.iter().map(|toolchain| toolchain.clang.clone()));
        paths.extend(self.nvcc.iter().map(|nvcc| nvcc.path.clone()));
        paths
    }

    /// Writes the code and a Rust file that embeds it to a folder; returns the Rust file's path.
    ///
    /// The file has one `pub static` [`Module`](code_object::embedded::Module) per source, named after it in
    /// upper case, `ALL` with all of them in the order of their ids, an enum `Id` with `ALL_IDS` for tables
    /// that have an entry per module, and `ids` with one module of kernel ids per source. `ptx` has the PTX
    /// as text, one per source, unless it is [compressed](crate::Nvidia::compress). `types` is the path of
    /// [`code_object::embedded`] for the generated code. Equal builds give equal files, and files that would
    /// not change are not touched.
    ///
    /// # Errors
    /// [`CompilerError::Io`](crate::CompilerError::Io) names the file.
    pub fn write_rust(&self, folder: &Path, name: &str, types: &str) -> Result<PathBuf, Error> {
        for module in &self.modules {
            match &module.bundle {
                Some(bundle) => write_atomically(&folder.join(bundle_name(module)), &bundle.bytes)?,
                None => {
                    for object in &module.objects {
                        write_atomically(&folder.join(file_name(module, &object.target)), &object.bytes)?;
                    }
                }
            }
        }
        self.write_images(folder)?;
        self.write_rust_file(folder, name, types)
    }

    /// Writes the code for NVIDIA GPUs.
    pub(crate) fn write_images(&self, folder: &Path) -> Result<(), Error> {
        for module in &self.modules {
            match &module.cuda_bundle {
                Some(bundle) => write_atomically(&folder.join(cuda_bundle_name(module)), &bundle.bytes)?,
                None => {
                    for image in &module.images {
                        write_atomically(&folder.join(image_name(module, image)), &image.bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the Rust file alone.
    pub(crate) fn write_rust_file(&self, folder: &Path, name: &str, types: &str) -> Result<PathBuf, Error> {
        let path = folder.join(name);
        write_atomically(&path, self.rust(types).as_bytes())?;
        Ok(path)
    }

    fn rust(&self, types: &str) -> String {
        let mut out = String::from("// Generated from device sources; changes are lost.\n\n");
        for module in &self.modules {
            module_item(&mut out, module, types);
        }
        let names: Vec<_> = self.modules.iter().map(|module| format!("&{}", upper(&module.ident))).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "/// All modules; a module's id is its position.\n{UNUSED}");
        let _ = writeln!(out, "pub static ALL: &[&{types}::Module] = &[{}];", names.join(", "));
        out.push_str(&self.module_ids(types));
        let _ = writeln!(
            out,
            "\n/// Kernel ids: positions in a module's list of kernels.\n{UNUSED}\npub mod ids {{"
        );
        for module in &self.modules {
            let _ = writeln!(
                out,
                "    /// Kernels of `{}`.\n    pub mod {} {{",
                module.relative,
                raw(&module.ident)
            );
            let mut taken = HashSet::new();
            for (id, kernel) in module.kernels.iter().enumerate() {
                let ident = distinct(&mut taken, upper(kernel));
                let _ = writeln!(out, "        /// `{kernel}`\n        pub const {ident}: usize = {id};");
            }
            out.push_str("    }\n");
        }
        out.push_str("}\n");
        if let Some(arch) = self.cuda_archs.first() {
            self.ptx_items(&mut out, arch);
        }
        out
    }

    /// The PTX of every source for an architecture, as far as files have it.
    fn ptx_items(&self, out: &mut String, arch: &CudaArch) {
        let is_it = |image: &&BuiltImage| image.arch == *arch && image.kind == CudaKind::Ptx;
        let plain = self.modules.iter().filter(|module| module.cuda_bundle.is_none());
        let found = plain.filter_map(|module| Some((module, module.images.iter().find(is_it)?)));
        let items: Vec<_> = found.collect();
        if items.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n/// PTX for {arch}.\n{UNUSED}\npub mod ptx {{");
        for (module, image) in items {
            let (name, file) = (upper(&module.ident), image_name(module, image));
            let _ = writeln!(
                out,
                "    /// `{}`\n    pub const {name}: &str = include_str!({file:?});",
                module.relative
            );
        }
        out.push_str("}\n");
    }

    /// The modules as an enum.
    fn module_ids(&self, types: &str) -> String {
        let mut taken = HashSet::new();
        let names: Vec<_> =
            self.modules.iter().map(|module| distinct(&mut taken, camel(&module.ident))).collect();
        let mut out = format!(
            "\n/// The modules, by name.\n{UNUSED}\n#[allow(non_camel_case_types, reason = \"generated\")]\n"
        );
        out.push_str("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]\npub enum Id {\n");
        for (module, name) in self.modules.iter().zip(&names) {
            let _ = writeln!(out, "    /// `{}`\n    {name},", module.relative);
        }
        let list: Vec<_> = names.iter().map(|name| format!("Id::{name}")).collect();
        let _ = writeln!(out, "}}\n\n/// All of them, in the order of [`ALL`].\n{UNUSED}");
        let _ = writeln!(out, "pub const ALL_IDS: [Id; {}] = [{}];", names.len(), list.join(", "));
        let _ = writeln!(out, "\n{UNUSED}\nimpl Id {{\n    /// Its position in [`ALL`].");
        let _ = writeln!(out, "    pub const fn index(self) -> usize {{\n        self as usize\n    }}\n");
        let _ = writeln!(out, "    /// The module.\n    pub fn module(self) -> &'static {types}::Module {{");
        let _ = writeln!(out, "        ALL[self.index()]\n    }}\n}}");
        out
    }
}

/// A name that is not in use yet.
fn distinct(taken: &mut HashSet<String>, mut ident: String) -> String {
    while !taken.insert(ident.clone()) {
        ident.push('_');
    }
    ident
}

/// `name` as an enum variant.
fn camel(name: &str) -> String {
    let mut start = true;
    let mut ident = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            ident.push(if start { c.to_ascii_uppercase() } else { c });
        }
        start = !c.is_ascii_alphanumeric();
    }
    if !ident.starts_with(|c: char| c.is_ascii_alphabetic()) || ident == "Self" {
        ident.insert(0, 'K');
    }
    ident
}

/// A program need not use everything that is generated.
const UNUSED: &str = r#"#[allow(dead_code, reason = "generated for every source and kernel")]"#;

fn module_item(out: &mut String, module: &BuiltModule, types: &str) {
    let _ = writeln!(out, "/// `{}`\n{UNUSED}", module.relative);
    let _ = write!(out, "pub static {}: {types}::Module = ", upper(&module.ident));
    let bundles = [
        (&module.bundle, "BUNDLE", "All code objects", bundle_name(module)),
        (&module.cuda_bundle, "CUDA", "All code for NVIDIA GPUs", cuda_bundle_name(module)),
    ];
    let mut end = ";\n\n";
    for (_, name, what, file) in bundles.iter().filter(|(bundle, ..)| bundle.is_some()) {
        if end.starts_with(';') {
            out.push_str("{\n");
            end = " };\n\n";
        }
        let _ = writeln!(
            out,
            "    // {what}.\n    static {name}: {types}::Aligned<[u8; include_bytes!({file:?}).len()]> =\n        \
             {types}::Aligned(*include_bytes!({file:?}));"
        );
    }
    let _ = writeln!(out, "{types}::Module {{");
    let _ = writeln!(out, "    id: {},", module.id);
    let _ = writeln!(out, "    name: {:?},\n    source: {:?},", module.name, module.relative);
    let _ = writeln!(out, "    kernels: &{:?},\n    code_objects: &[", module.kernels);
    for object in &module.objects {
        let target = &object.target;
        let file = match module.bundle {
            Some(_) => "&BUNDLE.0".to_owned(),
            None => aligned(&file_name(module, target), types),
        };
        let hash = &object.hash;
        let _ = writeln!(
            out,
            "        {types}::CodeObject {{ target: \"{target}\", bytes: {file}, hash: {hash:?} }},"
        );
    }
    out.push_str("    ],\n    cuda: &[\n");
    for image in &module.images {
        let BuiltImage { arch, kind, hash, .. } = image;
        let file = match module.cuda_bundle {
            Some(_) => "&CUDA.0".to_owned(),
            None => aligned(&image_name(module, image), types),
        };
        let _ = writeln!(
            out,
            "        {types}::CudaImage {{ arch: \"{arch}\", kind: {types}::CudaKind::{kind:?}, bytes: {file}, hash: {hash:?} }},"
        );
    }
    out.push_str("    ],\n}");
    out.push_str(end);
}

/// An expression for the content of a file.
fn aligned(file: &str, types: &str) -> String {
    format!(
        "{{\n            const FILE: &{types}::Aligned<[u8]> = &{types}::Aligned(*include_bytes!({file:?}));\n            &FILE.0\n        }}"
    )
}

fn bundle_name(module: &BuiltModule) -> String {
    format!("{}.hipfb", module.ident)
}

fn cuda_bundle_name(module: &BuiltModule) -> String {
    format!("{}.nvidia.hipfb", module.ident)
}

fn image_name(module: &BuiltModule, image: &BuiltImage) -> String {
    let extension = match image.kind {
        CudaKind::Ptx => "ptx",
        CudaKind::Cubin => "cubin",
    };
    format!("{}.{}.{extension}", module.ident, image.arch)
}

/// Target ids contain characters that cause trouble in file systems and make.
fn file_name(module: &BuiltModule, target: &TargetId) -> String {
    let mut name = format!("{}.{}", module.ident, target.processor);
    for (feature, state) in [("sramecc", target.sramecc), ("xnack", target.xnack)] {
        match state {
            Feature::Any => {}
            Feature::On => name.push_str(&format!("-{feature}-on")),
            Feature::Off => name.push_str(&format!("-{feature}-off")),
        }
    }
    name.push_str(".hsaco");
    name
}

fn upper(name: &str) -> String {
    let mut ident: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    if ident.starts_with(|c: char| c.is_ascii_digit()) || ident.chars().all(|c| c == '_') {
        ident.insert(0, 'K');
    }
    ident
}

/// Source names may be Rust keywords.
fn raw(ident: &str) -> String {
    const KEYWORDS: &[&str] = &[
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
        "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
        "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static",
        "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where",
        "while", "yield",
    ];
    match ident {
        _ if KEYWORDS.contains(&ident) => format!("r#{ident}"),
        _ => ident.to_owned(),
    }
}
