use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use code_object::TargetId;
use device_compiler::cache::Cache;
use device_compiler::cuda::Dialect;
use device_compiler::toolchain::{self, NotFound, Toolchain};
use device_compiler::{Error as CompilerError, facts};

use crate::compile::{Code, Context, Failed, Language, Plan, Prepared};
use crate::discover::{self, Source, Sources};
use crate::features::{self, Features};
use crate::inputs::Inputs;
use crate::nvidia::{self, Compiler, Nvidia};
use crate::select::Pattern;
use crate::{
    Build, BuiltBundle, BuiltImage, BuiltModule, BuiltObject, CompileFailure, CudaArch, Error, Target,
    Translate, bundle, jobs, nvcc, targets,
};

/// An event of a running build. Events come from several threads; those of one job are in order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Sources and targets are known.
    Planned {
        /// Sources times targets, including NVIDIA's architectures.
        jobs: usize,
    },
    /// A job begins.
    Started {
        /// The source's name.
        module: &'a str,
        /// The target.
        target: &'a Target,
    },
    /// A job is done.
    Finished {
        /// The source's name.
        module: &'a str,
        /// The target.
        target: &'a Target,
        /// The code was in the cache.
        cached: bool,
        /// How long it took.
        duration: Duration,
    },
    /// A job failed. The build continues with the others and then returns the error.
    Failed {
        /// The source's name.
        module: &'a str,
        /// The target.
        target: &'a Target,
    },
}

type Listener = Box<dyn Fn(Event<'_>) + Send + Sync>;

/// Compiles all device sources in a folder for several targets. See the [crate](crate) for an example.
#[must_use = "nothing is built before `build` or `embed` is called"]
pub struct Builder {
    origin: Origin,
    includes: Vec<PathBuf>,
    options: Vec<OsString>,
    only: Vec<String>,
    excluded: Vec<String>,
    options_for: Vec<(String, OsString)>,
    targets_for: Vec<(String, Result<Vec<TargetId>, Error>)>,
    watched: Vec<PathBuf>,
    targets: Option<Result<Vec<TargetId>, Error>>,
    cache: Option<PathBuf>,
    toolchain: Option<Toolchain>,
    jobs: Option<usize>,
    translate: Translate,
    code_object_version: u8,
    dialect: Option<Dialect>,
    runtime_header: bool,
    source_lines: Option<bool>,
    pub(crate) metrics: Option<bool>,
    amd_options: Vec<OsString>,
    compress: bool,
    /// Bundles hold the code for NVIDIA GPUs, too.
    pub(crate) whole_bundles: bool,
    pub(crate) link: bool,
    nvidia: Option<Nvidia>,
    pub(crate) prebuilt_nvidia: Option<PathBuf>,
    pub(crate) features: Option<Features>,
    /// Variables decide whether NVIDIA's code is built.
    on_request: bool,
    listener: Option<Listener>,
    pub(crate) types: String,
    pub(crate) output: String,
}

/// Where sources are.
#[derive(Debug)]
enum Origin {
    Folder(PathBuf),
    Files(Vec<PathBuf>),
}

/// The results for a source.
#[derive(Default)]
pub(crate) struct Built {
    pub(crate) objects: Vec<BuiltObject>,
    pub(crate) bundle: Option<BuiltBundle>,
    pub(crate) images: Vec<BuiltImage>,
    pub(crate) cuda_bundle: Option<BuiltBundle>,
}

/// A compiler and a target for a source.
enum Job<'a> {
    Amd(&'a Context<'a>, &'a TargetId),
    Nvidia(&'a Compiler<'a>, &'a CudaArch),
}

/// The result of a job.
enum Done {
    Object(Box<BuiltObject>),
    Images(Vec<BuiltImage>),
}

impl Job<'_> {
    fn target(&self) -> Target {
        match self {
            Self::Amd(_, target) => Target::Amd((*target).clone()),
            Self::Nvidia(_, arch) => Target::Nvidia((*arch).clone()),
        }
    }

    /// The first job of the source that needs `prepared` fills it. `None` if that job failed.
    fn run(&self, plan: &Plan<'_>, prepared: &OnceLock<Option<Prepared>>) -> Option<Result<Done, Failed>> {
        match self {
            Self::Amd(context, target) => {
                let mut trouble = None;
                let prepared = prepared
                    .get_or_init(|| context.prepare(plan).map_err(|error| trouble = Some(error)).ok());
                match (prepared, trouble) {
                    (Some(prepared), _) => Some(
                        context.compile(plan, prepared, target).map(|object| Done::Object(Box::new(object))),
                    ),
                    (None, trouble) => trouble.map(|error| Err(error.into())),
                }
            }
            Self::Nvidia(compiler, arch) => Some(compiler.compile(plan, arch).map(Done::Images)),
        }
    }
}

impl Done {
    fn how(&self) -> (bool, Duration) {
        match self {
            Self::Object(object) => (object.cached, object.duration),
            Self::Images(images) => {
                let duration = images.iter().map(|image| image.duration).sum();
                (images.iter().all(|image| image.cached), duration)
            }
        }
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("origin", &self.origin)
            .field("includes", &self.includes)
            .field("options", &self.options)
            .field("targets", &self.targets)
            .field("cache", &self.cache)
            .field("translate", &self.translate)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Compiles every `.cu` file in `folder` and below. Hidden files, hidden folders and linked folders are
    /// left out. A link to a file counts as a file with the link's name and place; its includes are looked up
    /// beside the link.
    ///
    /// Each source is a separate module, so two may have kernels of the same name.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::from(Origin::Folder(folder.into()))
    }

    /// Compiles these files, wherever they are and whatever their extensions. In patterns and in the
    /// generated module, their names are relative to their innermost common folder.
    ///
    /// Cargo watches the files and the headers beside them. Add folders of headers with
    /// [`include`](Self::include), other files with [`watch`](Self::watch).
    pub fn of_files<P: Into<PathBuf>>(files: impl IntoIterator<Item = P>) -> Self {
        Self::from(Origin::Files(files.into_iter().map(Into::into).collect()))
    }

    fn from(origin: Origin) -> Self {
        Self {
            origin,
            includes: Vec::new(),
            options: vec!["-O3".into()],
            only: Vec::new(),
            excluded: Vec::new(),
            options_for: Vec::new(),
            targets_for: Vec::new(),
            watched: Vec::new(),
            targets: None,
            cache: None,
            toolchain: None,
            jobs: None,
            translate: Translate::default(),
            code_object_version: 5,
            dialect: None,
            runtime_header: true,
            source_lines: None,
            metrics: None,
            amd_options: Vec::new(),
            compress: false,
            whole_bundles: false,
            link: true,
            nvidia: None,
            prebuilt_nvidia: None,
            features: None,
            on_request: false,
            listener: None,
            types: "::hip::code_object::embedded".into(),
            output: "kernels.rs".into(),
        }
    }

    /// Adds a folder of headers, searched before the compiler's own. One that does not exist is a
    /// [warning](Build::missing_includes).
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.push(folder.into());
        self
    }

    /// Compiles only the sources that match this pattern, or that of another call. A pattern is a
    /// [`Glob`](crate::Glob). With a `/`, it is matched against the path below the folder, otherwise against
    /// the file's name. The build fails if it matches no source.
    pub fn source(mut self, pattern: impl Into<String>) -> Self {
        self.only.push(pattern.into());
        self
    }

    /// Leaves out the sources that match this [pattern](Self::source).
    pub fn exclude(mut self, pattern: impl Into<String>) -> Self {
        self.excluded.push(pattern.into());
        self
    }

    /// Adds a compiler option. `-O3` comes first, so another level wins.
    ///
    /// nvcc's options are accepted, too. They are translated if there is an equivalent (`--use_fast_math`,
    /// `--std c++17`), and left out if they are for NVIDIA's targets, assembler or host compiler
    /// (`-arch=sm_80`, `-Xptxas -v`, `-Xcompiler -fPIC`). `docs/generated/nvcc-options.md` lists all of them. An
    /// option that AMD's compiler cannot serve is an error.
    ///
    /// If nvcc [also compiles the sources](Self::nvidia), it gets the options unchanged, except those for the
    /// kind and place of its output (`--ptx`, `-c`, `-odir`). It rejects unknown options.
    /// [`flag_amd`](Self::flag_amd) and [`Nvidia::flag`] set options for one compiler only.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.options.push(flag.into());
        self
    }

    /// Adds an option for AMD's compiler only, after those of [`flag`](Self::flag).
    pub fn flag_amd(mut self, flag: impl Into<OsString>) -> Self {
        self.amd_options.push(flag.into());
        self
    }

    /// Adds an [option](Self::flag) for the sources that match this [pattern](Self::source).
    pub fn flag_for(mut self, pattern: impl Into<String>, flag: impl Into<OsString>) -> Self {
        self.options_for.push((pattern.into(), flag.into()));
        self
    }

    /// Compiles the sources that match this [pattern](Self::source) for these targets instead of the build's.
    /// `none` alone leaves out their device code. The last matching call counts.
    pub fn targets_for<S: AsRef<str>>(
        mut self,
        pattern: impl Into<String>,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        self.targets_for.push((pattern.into(), targets::parse_or_none("the caller's targets", names)));
        self
    }

    /// Makes Cargo rerun the build script when this file or folder changes, in addition to sources and
    /// headers.
    pub fn watch(mut self, path: impl Into<PathBuf>) -> Self {
        self.watched.push(path.into());
        self
    }

    /// Defines a macro, with a value or as 1.
    pub fn define(self, name: &str, value: Option<&str>) -> Self {
        let value = value.unwrap_or("1");
        self.flag(format!("-D{name}={value}"))
    }

    /// Compiles for these targets (`gfx1100`, `gfx90a:xnack-`, `gfx11-generic`) instead of those of
    /// [`targets_from_env`](crate::targets_from_env). The build fails for a bad name.
    pub fn targets<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.targets = Some(targets::parse("the caller's targets", names));
        self
    }

    /// Caches compiled code in this folder instead of `kernels` in the
    /// [cache](device_compiler::toolchain::cache_root).
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Compiles with this toolchain instead of the one that [`toolchain::find`] finds.
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Runs this many compilers at once instead of one per core (in a build script: as many as Cargo allows).
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = Some(jobs.max(1));
        self
    }

    /// Whether the sources are translated to HIP; off by default.
    pub fn translate(mut self, translate: Translate) -> Self {
        self.translate = translate;
        self
    }

    /// Code object version to write, 5 by default. Generic targets always get 6, the first version that
    /// supports them.
    pub fn code_object_version(mut self, version: u8) -> Self {
        self.code_object_version = version;
        self
    }

    /// Treats every source as CUDA or HIP, whatever it [includes](device_compiler::cuda#dialects).
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Whether every source first includes the runtime header of its
    /// [dialect](device_compiler::cuda#dialects), as with nvcc. On by default.
    pub fn runtime_header(mut self, include: bool) -> Self {
        self.runtime_header = include;
        self
    }

    /// Whether code objects contain source lines, for fault reports of virtual GPUs and for debuggers. On by
    /// default; without this call, `FERROCM_KERNEL_LINES=0` turns it off. The instructions are the same
    /// either way, and the files are smaller without. For full debug information, pass `-g` to
    /// [`flag`](Self::flag).
    pub fn source_lines(mut self, on: bool) -> Self {
        self.source_lines = Some(on);
        self
    }

    /// Whether kernels count what they do: work-items, waves, cycles, and bytes by memory and kind of access.
    /// `hip::Module::metrics` reads the counters, on real and virtual devices. Off by default; without this
    /// call, `FERROCM_KERNEL_METRICS=1` turns it on.
    ///
    /// The counters are added after the optimiser, so they count the accesses of the unmodified code. Each
    /// costs one atomic addition per wave and per block of code that accesses memory, so times of such
    /// kernels mean little. Accesses by inline assembly and image instructions are not counted, and neither
    /// are those of the code generator, such as spilled registers.
    pub fn metrics(mut self, on: bool) -> Self {
        self.metrics = Some(on);
        self
    }

    /// Whether the code objects of a source go into one compressed bundle, as with clang's
    /// `--offload-compress`. [`Nvidia::compress`] does so with the code for NVIDIA GPUs. Off by default. Code
    /// for many targets shrinks to a fifth or less; a module is unpacked when it is loaded.
    ///
    /// Code that loads the generated module through `hip` is the same for both forms;
    /// [`code_object::embedded`] describes the cost of loading. In a [library](Self::build_lib), HIP unpacks
    /// the bundle when a kernel is first launched; `hip-host` does this for AMD's HIP before 6.4.
    pub fn offload_compress(mut self, compress: bool) -> Self {
        self.compress = compress;
        self
    }

    /// Whether a [bundle](Self::offload_compress) also holds the source's code for NVIDIA GPUs, for programs
    /// that have only the bundle. Off by default; always so in a [library](Self::build_lib). AMD's libraries
    /// skip those entries, and `hip` on an NVIDIA GPU takes the one that fits best
    /// ([`code_object::bundle::cuda_code_for`]).
    pub fn bundle_nvidia(mut self, bundle: bool) -> Self {
        self.whole_bundles = bundle;
        self
    }

    /// Also compiles every source for NVIDIA GPUs, with nvcc; [`Nvidia`] selects the output. Sources, folders
    /// of headers, definitions, flags, patterns and cache are shared. HIP sources,
    /// [`translate`](Self::translate) and [`targets_for`](Self::targets_for) apply to AMD only.
    ///
    /// If `NVCC` is set, exactly that nvcc is used. Otherwise it is searched in `bin` of the folder in
    /// `CUDA_HOME`, `CUDA_PATH`, `CUDA_ROOT` or `CUDA_TOOLKIT_ROOT_DIR`, then on `PATH`, then in
    /// `/usr/local/cuda` and `/opt/cuda`, then where `ferrocm setup --cuda` installs it. nvcc needs a host
    /// compiler (gcc).
    ///
    /// ```no_run
    /// use kernel_build::{Builder, Nvidia};
    ///
    /// Builder::new("kernels").nvidia(Nvidia::ptx().archs(["sm_80"])).embed_or_exit();
    /// ```
    ///
    /// In the generated file, the code is in each module's [`cuda`](code_object::embedded::Module::cuda). PTX
    /// is also available as text, in one constant per source, as in other crates that call nvcc: `ptx::GEMM`
    /// is the PTX of `gemm.cu` for the first architecture.
    ///
    /// nvcc puts the source's path into the names of items in anonymous namespaces, so its code depends on
    /// the path, unlike AMD's.
    pub fn nvidia(mut self, nvidia: Nvidia) -> Self {
        self.nvidia = Some(nvidia);
        self
    }

    /// In a build script: as [`nvidia`](Self::nvidia), but only if this feature of the crate is on, or
    /// `FERROCM_CUDA_ARCHS` names architectures. For a crate whose code for AMD GPUs is always built.
    ///
    /// ```no_run
    /// use kernel_build::{Builder, Nvidia};
    ///
    /// let nvidia = Nvidia::ptx_and_cubin().default_archs(["sm_80", "sm_90a"]).if_nvcc_is_found();
    /// Builder::new("kernels").nvidia_on_request("nvidia", nvidia).embed_or_exit();
    /// ```
    pub fn nvidia_on_request(mut self, feature: &str, nvidia: Nvidia) -> Self {
        self.on_request = true;
        if features::is_on(feature) || nvidia::is_named() { self.nvidia(nvidia) } else { self }
    }

    /// As [`nvidia`](Self::nvidia), but only if `FERROCM_CUDA_ARCHS` names architectures. For build scripts
    /// of crates without a feature for it.
    pub fn nvidia_if_named(mut self, nvidia: Nvidia) -> Self {
        self.on_request = true;
        if nvidia::is_named() { self.nvidia(nvidia) } else { self }
    }

    /// In a build script: lets two features of the crate choose the GPUs to compile for. Only the compilers
    /// of the chosen GPUs are needed.
    ///
    /// | features that are on | what is built |
    /// |---|---|
    /// | `amd` | code objects for AMD GPUs |
    /// | `nvidia` | code for NVIDIA GPUs, as set by [`nvidia`](Self::nvidia), else PTX |
    /// | both | both |
    /// | neither | nothing: an error names the features |
    ///
    /// Without this call, AMD's code is built, and NVIDIA's if [`nvidia`](Self::nvidia) is called.
    ///
    /// ```no_run
    /// kernel_build::Builder::new("kernels").features("rocm", "cuda").embed_or_exit();
    /// ```
    pub fn features(mut self, amd: impl Into<String>, nvidia: impl Into<String>) -> Self {
        self.features = Some(Features { amd: amd.into(), nvidia: nvidia.into() });
        self
    }

    /// Whether [`build_lib`](Self::build_lib) tells Cargo to link the library. On by default; turn it off in
    /// scripts that do so themselves.
    pub fn link(mut self, link: bool) -> Self {
        self.link = link;
        self
    }

    /// Calls `listener` with each event.
    pub fn on_event(mut self, listener: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Path of the module with the types of generated code, by default `::hip::code_object::embedded`, so
    /// that a crate needs only `hip`. A crate without `hip` uses that of `code-object`:
    /// `::code_object::embedded`.
    pub fn types(mut self, path: impl Into<String>) -> Self {
        self.types = path.into();
        self
    }

    /// Name of the generated file, by default `kernels.rs`.
    pub fn output(mut self, name: impl Into<String>) -> Self {
        self.output = name.into();
        self
    }

    /// Compiles everything that is not in the cache.
    ///
    /// All sources are tried, so one error covers every source that does not compile. Successful results stay
    /// in the cache.
    ///
    /// # Errors
    /// [`Error`] names the source, target, file or variable at fault.
    pub fn build(self) -> Result<Build, Error> {
        self.build_and(|_, _, _, _| Ok(())).map(|(build, ())| build)
    }

    /// Whether something may be built for NVIDIA GPUs.
    pub(crate) fn knows_nvidia(&self) -> bool {
        self.nvidia.is_some() || self.features.is_some() || self.on_request
    }

    /// Whether code for NVIDIA GPUs is wanted, apart from features.
    pub(crate) fn asks_for_nvidia(&self) -> bool {
        self.nvidia.is_some()
    }

    /// Builds, and calls `more` with each source and its objects, in the same order.
    pub(crate) fn build_and<T>(
        mut self,
        more: impl FnOnce(&Self, Option<&Context<'_>>, &[Plan<'_>], &[Built]) -> Result<T, Error>,
    ) -> Result<(Build, T), Error> {
        let sources = match &self.origin {
            Origin::Folder(folder) => discover::in_folder(folder)?,
            Origin::Files(files) => discover::of_files(files)?,
        };
        let (there, missing_includes): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.includes).into_iter().partition(|folder| folder.exists());
        let includes = there.iter().map(|dir| discover::absolute(dir)).collect::<Result<Vec<_>, _>>()?;
        let [for_amd, for_nvidia] = match &self.features {
            Some(features) => features.in_env()?,
            None => [true, self.nvidia.is_some()],
        };
        let targets = self.targets.take().unwrap_or_else(targets::targets_from_env)?;
        let targets = if for_amd { targets } else { Vec::new() };
        let mut nvidia = for_nvidia.then(|| self.nvidia.take().unwrap_or_else(Nvidia::ptx));
        let archs = nvidia.as_mut().map(|nvidia| nvidia.chosen_archs(&self.options)).transpose()?;
        let mut archs = archs.unwrap_or_default();
        let patterns = |texts: &[String]| -> Result<Vec<Pattern>, Error> {
            texts.iter().map(|text| Pattern::new(text)).collect()
        };
        let sources = sources.select(&patterns(&self.only)?, &patterns(&self.excluded)?)?;
        let toolchain = for_amd.then(|| self.find_toolchain()).transpose()?;
        let (mut nvcc, mut without_nvcc) = (None, None);
        if let Some(nvidia) = &mut nvidia {
            let feature = self.features.as_ref().map(|features| features.nvidia.as_str());
            let search = device_compiler::nvcc::Search::from_env().or_only(nvidia.nvcc.take());
            match search.find(feature) {
                Ok(found) => nvcc = Some(found),
                Err(error) if nvidia.is_optional && search.named.is_none() => {
                    archs.clear();
                    without_nvcc = Some(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let cache = self.open_cache()?;
        let inputs = Inputs::new(&sources, &includes);
        let mut options = nvcc::options(&self.options)?;
        options.extend(self.amd_options.iter().cloned());
        if switch(self.source_lines, &variables::KERNEL_LINES)?.unwrap_or(true) {
            options.splice(0..0, facts::SOURCE_LINES.iter().map(OsString::from));
        }
        let language = Language {
            dialect: self.dialect,
            runtime_header: self.runtime_header,
            translate: self.translate,
        };
        let metrics = switch(self.metrics, &variables::KERNEL_METRICS)?.unwrap_or(false);
        let context = |toolchain| {
            let code = Code { version: self.code_object_version, metrics };
            Context::new(toolchain, &cache, &inputs, &options, language, code)
        };
        let context = toolchain.as_ref().map(context).transpose()?;
        let compiler = match (&nvcc, &nvidia) {
            (Some(nvcc), Some(Nvidia { kinds, options, .. })) => {
                let options = [&self.options[..], options];
                Some(Compiler::new(nvcc, &cache, &inputs, kinds, archs.clone(), options)?)
            }
            _ => None,
        };
        let mut plans = self.plans(&sources.list, &targets)?;
        if !for_amd {
            plans.iter_mut().for_each(|plan| plan.targets.clear());
        }
        let mut built = self.run(context.as_ref(), compiler.as_ref(), &plans)?;
        let compressed_images = compiler.is_some() && nvidia.as_ref().is_some_and(|nvidia| nvidia.compress);
        let compress = |index: usize| {
            let (Built { objects, images, .. }, source) = (&built[index], plans[index].source);
            let bundle = (self.compress && context.is_some()).then(|| {
                let images = if self.whole_bundles { &images[..] } else { &[] };
                bundle::compressed(&cache, source, objects, images)
            });
            let cuda_bundle = compressed_images.then(|| bundle::compressed(&cache, source, &[], images));
            Ok((bundle.transpose()?, cuda_bundle.transpose()?))
        };
        let bundles: Vec<Result<_, Error>> = jobs::run(self.job_count(), plans.len(), compress);
        for (built, bundles) in built.iter_mut().zip(bundles) {
            (built.bundle, built.cuda_bundle) = bundles?;
        }
        let more = more(&self, context.as_ref(), &plans, &built)?;
        let mut all = targets;
        for target in plans.into_iter().flat_map(|plan| plan.targets) {
            if !all.contains(&target) {
                all.push(target);
            }
        }
        let watched = std::mem::take(&mut self.watched);
        let read = sources.read()?;
        let Sources { folder, list, .. } = sources;
        let modules = modules(list, built);
        let build = Build {
            modules,
            targets: all,
            cuda_archs: archs,
            folder,
            read,
            includes,
            missing_includes,
            watched,
            toolchain,
            nvcc,
            without_nvcc,
        };
        Ok((build, more))
    }

    /// AMD's toolchain.
    fn find_toolchain(&mut self) -> Result<Toolchain, Error> {
        if let Some(toolchain) = self.toolchain.take() {
            return Ok(toolchain);
        }
        Ok(toolchain::find().map_err(|error| match &self.features {
            Some(Features { amd, .. }) => NotFound {
                remedy: format!("{}, or build without the feature `{amd}`", error.remedy),
                ..error
            },
            None => error,
        })?)
    }

    /// The plan for each source.
    fn plans<'a>(&mut self, sources: &'a [Source], targets: &[TargetId]) -> Result<Vec<Plan<'a>>, Error> {
        let plan = |source| Plan {
            source,
            targets: targets.to_vec(),
            options: Vec::new(),
            nvcc_options: Vec::new(),
            shares_options: false,
        };
        let mut plans: Vec<Plan<'a>> = sources.iter().map(plan).collect();
        for (text, named) in self.targets_for.drain(..) {
            let (pattern, named) = (Pattern::new(&text)?, named?);
            pattern.check(sources.iter().map(|source| source.relative.as_str()))?;
            for plan in plans.iter_mut().filter(|plan| pattern.matches(&plan.source.relative)) {
                plan.targets.clone_from(&named);
            }
        }
        // Every build script of a program reads the variable, so a pattern need not match a source of this
        // one.
        for (pattern, named) in targets::targets_for_from_env()? {
            for plan in plans.iter_mut().filter(|plan| pattern.matches(&plan.source.relative)) {
                plan.targets.clone_from(&named);
            }
        }
        for (text, option) in &self.options_for {
            let pattern = Pattern::new(text)?;
            pattern.check(sources.iter().map(|source| source.relative.as_str()))?;
            for plan in plans.iter_mut().filter(|plan| pattern.matches(&plan.source.relative)) {
                plan.options.push(option.clone());
            }
        }
        for plan in &mut plans {
            plan.nvcc_options = nvcc::for_nvcc(&plan.options);
            plan.options = nvcc::options(&plan.options)?;
        }
        for index in 0..plans.len() {
            let options = &plans[index].options;
            let same = plans.iter().filter(|plan| plan.options == *options).count();
            plans[index].shares_options = same > 1;
        }
        Ok(plans)
    }

    /// The cache that the caller names, else the usual one. If that is not private or cannot be determined, a
    /// cache of the build script's own, else one that is removed after the build.
    fn open_cache(&self) -> Result<Cache, CompilerError> {
        if let Some(folder) = &self.cache {
            return Cache::open(folder);
        }
        let out = std::env::var_os("OUT_DIR");
        if let Some(root) = toolchain::cache_root() {
            match Cache::open(&root.join("kernels")) {
                Err(error @ CompilerError::NotPrivate { .. }) if out.is_some() => {
                    println!("cargo::warning={error}")
                }
                opened => return opened,
            }
        }
        match out {
            Some(out) => Cache::open(&Path::new(&out).join("kernel-cache")),
            None => Cache::temporary(),
        }
    }

    /// Compiles each source for its targets.
    fn run(
        &self,
        context: Option<&Context<'_>>,
        compiler: Option<&Compiler<'_>>,
        plans: &[Plan<'_>],
    ) -> Result<Vec<Built>, Error> {
        let tell = |event: Event<'_>| {
            if let Some(listener) = &self.listener {
                listener(event);
            }
        };
        let mut planned: Vec<(usize, Job<'_>)> = Vec::new();
        for (source, plan) in plans.iter().enumerate() {
            let amd = context
                .iter()
                .flat_map(|&context| plan.targets.iter().map(move |target| Job::Amd(context, target)));
            let nvidia = compiler
                .iter()
                .flat_map(|&compiler| compiler.archs.iter().map(move |arch| Job::Nvidia(compiler, arch)));
            planned.extend(amd.chain(nvidia).map(|job| (source, job)));
        }
        let total = planned.len();
        tell(Event::Planned { jobs: total });
        let prepared: Vec<OnceLock<Option<Prepared>>> = plans.iter().map(|_| OnceLock::new()).collect();
        let fatal = OnceLock::new();

        // `None` means that the build cannot continue; the reason is in `fatal`.
        let job = |index: usize| -> Option<Result<Done, CompileFailure>> {
            if fatal.get().is_some() {
                return None;
            }
            let (source, job) = &planned[index];
            let plan = &plans[*source];
            let (module, target) = (plan.source.name.as_str(), &job.target());
            tell(Event::Started { module, target });
            match job.run(plan, &prepared[*source])? {
                Ok(done) => {
                    let (cached, duration) = done.how();
                    tell(Event::Finished { module, target, cached, duration });
                    Some(Ok(done))
                }
                Err(Failed::Source(failure)) => {
                    tell(Event::Failed { module, target });
                    Some(Err(failure))
                }
                Err(Failed::Build(error)) => {
                    tell(Event::Failed { module, target });
                    // The first reason counts.
                    let _ = fatal.set(error);
                    None
                }
            }
        };
        let results = jobs::run(self.job_count(), total, job);
        if let Some(error) = fatal.into_inner() {
            return Err(error);
        }
        let mut built: Vec<Built> = plans.iter().map(|_| Built::default()).collect();
        let mut failures = Vec::new();
        for ((source, _), result) in planned.iter().zip(results) {
            match result {
                Some(Ok(Done::Object(object))) => built[*source].objects.push(*object),
                Some(Ok(Done::Images(images))) => built[*source].images.extend(images),
                Some(Err(failure)) => failures.push(failure),
                None => {}
            }
        }
        if failures.is_empty() { Ok(built) } else { Err(Error::Compile { failures }) }
    }

    pub(crate) fn job_count(&self) -> usize {
        let cargo = || std::env::var("NUM_JOBS").ok()?.parse().ok();
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.or_else(cargo).unwrap_or_else(cores).max(1)
    }
}

/// The caller's choice, else that of a variable that turns something on or off.
pub(crate) fn switch(said: Option<bool>, variable: &variables::Variable) -> Result<Option<bool>, Error> {
    match said {
        None => Ok(variable.switch()?),
        said => Ok(said),
    }
}

fn modules(sources: Vec<Source>, built: Vec<Built>) -> Vec<BuiltModule> {
    let module = |(id, (source, built)): (usize, (Source, Built))| {
        let Built { objects, bundle, images, cuda_bundle } = built;
        let of_objects = objects.iter().flat_map(|object| object.code_object.kernels());
        let mut kernels: Vec<String> = of_objects.map(|kernel| kernel.name.clone()).collect();
        kernels.extend(images.iter().flat_map(|image| image.kernels.iter().cloned()));
        kernels.sort();
        kernels.dedup();
        let Source { path, relative, name, ident } = source;
        let source = path;
        BuiltModule { id, name, ident, relative, source, kernels, objects, bundle, images, cuda_bundle }
    };
    sources.into_iter().zip(built).enumerate().map(module).collect()
}
