use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use code_object::TargetId;

use crate::cache::Cache;
use crate::compile::{Code, Context, Failed, Language, Plan, Prepared};
use crate::cuda::Dialect;
use crate::discover::{self, Source};
use crate::select::Pattern;
use crate::toolchain::{self, Toolchain};
use crate::{Build, BuiltModule, BuiltObject, CompileFailure, Error, Translate, facts, jobs, nvcc, targets};

/// What a build tells while it runs. Events come from several threads, for one job in order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Sources and targets are known.
    Planned {
        /// Sources times targets.
        jobs: usize,
    },
    /// A job begins.
    Started {
        /// The source's name.
        module: &'a str,
        /// The target.
        target: &'a TargetId,
    },
    /// A job is done.
    Finished {
        /// The source's name.
        module: &'a str,
        /// The target.
        target: &'a TargetId,
        /// The code was in the cache.
        cached: bool,
        /// How long it took.
        duration: Duration,
    },
    /// A job failed; the build goes on with the others and then returns the error.
    Failed {
        /// The source's name.
        module: &'a str,
        /// The target.
        target: &'a TargetId,
    },
}

type Listener = Box<dyn Fn(Event<'_>) + Send + Sync>;

/// Compiles all device sources in a folder for several targets. See the [crate](crate) for an example.
#[must_use = "nothing is built before `build` or `embed` is called"]
pub struct Builder {
    folder: PathBuf,
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
    metrics: Option<bool>,
    listener: Option<Listener>,
    pub(crate) types: String,
    pub(crate) output: String,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("folder", &self.folder)
            .field("includes", &self.includes)
            .field("options", &self.options)
            .field("targets", &self.targets)
            .field("cache", &self.cache)
            .field("translate", &self.translate)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Will compile every `.cu` file in `folder` and below. Hidden files are left out, and so are folders that are hidden or behind
    /// links. A link to a file is that file under the link's name, wherever it is; what it includes is looked up beside the link.
    ///
    /// Each source is a module with names of its own, so that two may have kernels of the same name.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
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
            listener: None,
            types: "::hip::code_object::embedded".into(),
            output: "kernels.rs".into(),
        }
    }

    /// Adds a folder of headers, searched before the compiler's own.
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.push(folder.into());
        self
    }

    /// Compiles only the sources that this pattern means, and those of further calls: `*`, `?`, `[ab]`, `{a,b}` and `**`. A pattern
    /// with a `/` is compared with the path below the folder, one without with the file's name. One that means no source is an
    /// error of the build.
    pub fn source(mut self, pattern: impl Into<String>) -> Self {
        self.only.push(pattern.into());
        self
    }

    /// Leaves out the sources that this [pattern](Self::source) means.
    pub fn exclude(mut self, pattern: impl Into<String>) -> Self {
        self.excluded.push(pattern.into());
        self
    }

    /// Adds a compiler option. `-O3` comes first, so another level wins.
    ///
    /// nvcc's options are taken, too: what has an equivalent becomes it (`--use_fast_math`, `--std c++17`), and what is for NVIDIA's
    /// targets, assembler or host compiler is left out (`-arch=sm_80`, `-Xptxas -v`, `-Xcompiler -fPIC`).
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.options.push(flag.into());
        self
    }

    /// Adds an [option](Self::flag) for the sources that this [pattern](Self::source) means.
    pub fn flag_for(mut self, pattern: impl Into<String>, flag: impl Into<OsString>) -> Self {
        self.options_for.push((pattern.into(), flag.into()));
        self
    }

    /// Compiles the sources that this [pattern](Self::source) means for these targets instead of the build's. The last call that
    /// means a source counts.
    pub fn targets_for<S: AsRef<str>>(
        mut self,
        pattern: impl Into<String>,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        self.targets_for.push((pattern.into(), targets::parse("the caller's targets", names)));
        self
    }

    /// Has Cargo run the build script again when this file or folder changes, beside those of sources and headers.
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
    /// [`targets_from_env`](crate::targets_from_env). A bad name is an error of the build.
    pub fn targets<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.targets = Some(targets::parse("the caller's targets", names));
        self
    }

    /// Keeps compiled code in this folder instead of `kernels` in the [cache](crate::toolchain::cache_root).
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Compiles with this toolchain instead of the one that [`toolchain::find`] finds.
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Runs so many compilers at once instead of one per core (in a build script: what Cargo allows).
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = Some(jobs.max(1));
        self
    }

    /// Whether the sources are translated to HIP; not unless said otherwise.
    pub fn translate(mut self, translate: Translate) -> Self {
        self.translate = translate;
        self
    }

    /// Code object version to write, 5 unless said otherwise. Generic targets always get 6, which first has them.
    pub fn code_object_version(mut self, version: u8) -> Self {
        self.code_object_version = version;
        self
    }

    /// Takes every source as CUDA's or HIP's, whatever it [includes](crate::cuda#dialects).
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Whether every source includes the runtime header of its [dialect](crate::cuda#dialects) first, as nvcc does. On unless said
    /// otherwise.
    pub fn runtime_header(mut self, include: bool) -> Self {
        self.runtime_header = include;
        self
    }

    /// Whether code objects say which source lines their instructions come from, which fault reports of virtual GPUs and
    /// debuggers then tell. They do unless this, or else `FERROCM_KERNEL_LINES=0`, says otherwise: the instructions are the
    /// same either way, and the files smaller without. For all that a debugger wants, give [`flag`](Self::flag) `-g`.
    pub fn source_lines(mut self, on: bool) -> Self {
        self.source_lines = Some(on);
        self
    }

    /// Whether kernels count what they do: work-items, waves, cycles, and bytes by memory and kind of access, which `hip::Module::metrics`
    /// reads, on real and virtual devices alike. They do not unless this, or else `FERROCM_KERNEL_METRICS=1`, says otherwise.
    ///
    /// The counters are added after the optimiser has run, so that they count the accesses of the code as it is without them. They
    /// cost one atomic addition for each wave and block of code that accesses memory, so times of such kernels say little. What inline
    /// assembly and instructions on images access is not counted, nor what the code generator adds, such as spilled registers.
    pub fn metrics(mut self, on: bool) -> Self {
        self.metrics = Some(on);
        self
    }

    /// Calls `listener` with what happens.
    pub fn on_event(mut self, listener: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Path of the module with the types of generated code: `::hip::code_object::embedded` unless said otherwise, so that a crate
    /// depends on `hip` and no more. A crate without it names that of `code-object`: `::code_object::embedded`.
    pub fn types(mut self, path: impl Into<String>) -> Self {
        self.types = path.into();
        self
    }

    /// Name of the generated file: `kernels.rs` unless said otherwise.
    pub fn output(mut self, name: impl Into<String>) -> Self {
        self.output = name.into();
        self
    }

    /// Compiles everything that the cache does not have.
    ///
    /// All sources are tried, so one error tells about each that does not compile. What succeeded is in the cache.
    ///
    /// # Errors
    /// [`Error`] names the source, target, file or variable at fault.
    pub fn build(self) -> Result<Build, Error> {
        self.build_and(|_, _, _, _| Ok(())).map(|(build, ())| build)
    }

    /// Builds, and has `more` done with each source and its objects, which come in the same order.
    pub(crate) fn build_and<T>(
        mut self,
        more: impl FnOnce(&Self, &Context<'_>, &[Plan<'_>], &[Vec<BuiltObject>]) -> Result<T, Error>,
    ) -> Result<(Build, T), Error> {
        let folder = absolute(&self.folder)?;
        let includes = self.includes.iter().map(|dir| absolute(dir)).collect::<Result<Vec<_>, _>>()?;
        let targets = self.targets.take().unwrap_or_else(targets::targets_from_env)?;
        let patterns = |texts: &[String]| -> Result<Vec<Pattern>, Error> {
            texts.iter().map(|text| Pattern::new(text)).collect()
        };
        let sources = discover::sources(&folder, &patterns(&self.only)?, &patterns(&self.excluded)?)?;
        let toolchain = match self.toolchain.take() {
            Some(toolchain) => toolchain,
            None => toolchain::find()?,
        };
        let cache = Cache::open(&self.cache_folder())?;
        let mut options = nvcc::options(&self.options);
        if self.source_lines.unwrap_or_else(lines_from_env) {
            options.splice(0..0, facts::SOURCE_LINES.iter().map(OsString::from));
        }
        let context = Context::new(
            &toolchain,
            &cache,
            &folder,
            &includes,
            &options,
            Language {
                dialect: self.dialect,
                runtime_header: self.runtime_header,
                translate: self.translate,
            },
            Code {
                version: self.code_object_version,
                metrics: self.metrics.unwrap_or_else(metrics_from_env),
            },
        )?;
        let plans = self.plans(&sources, &targets)?;
        let objects = self.run(&context, &plans)?;
        let more = more(&self, &context, &plans, &objects)?;
        let mut all = targets;
        for target in plans.into_iter().flat_map(|plan| plan.targets) {
            if !all.contains(&target) {
                all.push(target);
            }
        }
        let watched = std::mem::take(&mut self.watched);
        let modules = modules(sources, objects);
        Ok((Build { modules, targets: all, folder, includes, watched, toolchain }, more))
    }

    /// What is to be done with each source.
    fn plans<'a>(&mut self, sources: &'a [Source], targets: &[TargetId]) -> Result<Vec<Plan<'a>>, Error> {
        let plan =
            |source| Plan { source, targets: targets.to_vec(), options: Vec::new(), shares_options: false };
        let mut plans: Vec<Plan<'a>> = sources.iter().map(plan).collect();
        for (text, named) in self.targets_for.drain(..) {
            let (pattern, named) = (Pattern::new(&text)?, named?);
            pattern.check(sources)?;
            for plan in plans.iter_mut().filter(|plan| pattern.matches(plan.source)) {
                plan.targets.clone_from(&named);
            }
        }
        for (text, option) in &self.options_for {
            let pattern = Pattern::new(text)?;
            pattern.check(sources)?;
            for plan in plans.iter_mut().filter(|plan| pattern.matches(plan.source)) {
                plan.options.push(option.clone());
            }
        }
        for plan in &mut plans {
            plan.options = nvcc::options(&plan.options);
        }
        for index in 0..plans.len() {
            let options = &plans[index].options;
            let same = plans.iter().filter(|plan| plan.options == *options).count();
            plans[index].shares_options = same > 1;
        }
        Ok(plans)
    }

    fn cache_folder(&self) -> PathBuf {
        self.cache
            .clone()
            .or_else(|| toolchain::cache_root().map(|root| root.join("kernels")))
            .or_else(|| std::env::var_os("OUT_DIR").map(|out| Path::new(&out).join("kernel-cache")))
            .unwrap_or_else(|| std::env::temp_dir().join("ferrocm-kernels"))
    }

    /// Compiles each source for its targets; one list of objects per source.
    fn run(&self, context: &Context<'_>, plans: &[Plan<'_>]) -> Result<Vec<Vec<BuiltObject>>, Error> {
        let tell = |event: Event<'_>| {
            if let Some(listener) = &self.listener {
                listener(event);
            }
        };
        let compilations: Vec<(usize, &TargetId)> = plans
            .iter()
            .enumerate()
            .flat_map(|(source, plan)| plan.targets.iter().map(move |target| (source, target)))
            .collect();
        let total = compilations.len();
        tell(Event::Planned { jobs: total });
        let prepared: Vec<OnceLock<Option<Prepared>>> = plans.iter().map(|_| OnceLock::new()).collect();
        let fatal = OnceLock::new();

        // Nothing means that the build cannot go on; the reason is in `fatal`.
        let job = |index: usize| -> Option<Result<BuiltObject, CompileFailure>> {
            if fatal.get().is_some() {
                return None;
            }
            let (source, target) = compilations[index];
            let (cell, plan) = (&prepared[source], &plans[source]);
            let module = plan.source.name.as_str();
            tell(Event::Started { module, target });
            let stop = |error: Error| {
                // The first reason counts.
                let _ = fatal.set(error);
            };
            let result = match cell.get_or_init(|| context.prepare(plan.source).map_err(stop).ok()) {
                Some(prepared) => context.compile(plan, prepared, target),
                None => return None,
            };
            match result {
                Ok(object) => {
                    let (cached, duration) = (object.cached, object.duration);
                    tell(Event::Finished { module, target, cached, duration });
                    Some(Ok(object))
                }
                Err(Failed::Source(failure)) => {
                    tell(Event::Failed { module, target });
                    Some(Err(failure))
                }
                Err(Failed::Build(error)) => {
                    tell(Event::Failed { module, target });
                    stop(error);
                    None
                }
            }
        };
        let results = jobs::run(self.job_count(), total, job);
        if let Some(error) = fatal.into_inner() {
            return Err(error);
        }
        let mut objects: Vec<Vec<BuiltObject>> = plans.iter().map(|_| Vec::new()).collect();
        let mut failures = Vec::new();
        for (index, result) in results.into_iter().enumerate() {
            match result {
                Some(Ok(object)) => objects[compilations[index].0].push(object),
                Some(Err(failure)) => failures.push(failure),
                None => {}
            }
        }
        if failures.is_empty() { Ok(objects) } else { Err(Error::Compile { failures }) }
    }

    pub(crate) fn job_count(&self) -> usize {
        let cargo = || std::env::var("NUM_JOBS").ok()?.parse().ok();
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.or_else(cargo).unwrap_or_else(cores).max(1)
    }
}

fn metrics_from_env() -> bool {
    std::env::var("FERROCM_KERNEL_METRICS").is_ok_and(|value| matches!(value.trim(), "1" | "true" | "on"))
}

fn lines_from_env() -> bool {
    !std::env::var("FERROCM_KERNEL_LINES").is_ok_and(|value| matches!(value.trim(), "0" | "false" | "off"))
}

fn absolute(folder: &Path) -> Result<PathBuf, Error> {
    let found = std::fs::canonicalize(folder).map_err(|e| Error::io("find the folder", folder, e))?;
    if found.is_dir() {
        return Ok(found);
    }
    Err(Error::io("use as a folder", folder, std::io::ErrorKind::NotADirectory.into()))
}

fn modules(sources: Vec<Source>, objects: Vec<Vec<BuiltObject>>) -> Vec<BuiltModule> {
    let module = |(id, (source, objects)): (usize, (Source, Vec<BuiltObject>))| {
        let names = |object: &BuiltObject| -> Vec<String> {
            object.code_object.kernels().iter().map(|kernel| kernel.name.clone()).collect()
        };
        let mut kernels: Vec<String> = objects.iter().flat_map(names).collect();
        kernels.sort();
        kernels.dedup();
        let Source { path, relative, name, ident } = source;
        BuiltModule { id, name, ident, relative, source: path, kernels, objects }
    };
    sources.into_iter().zip(objects).enumerate().map(module).collect()
}
