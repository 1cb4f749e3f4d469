//! A run-time compiler, and how it compiles a program.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use code_object::TargetId;
use device_compiler::cache::{Cache, Dependencies, Entry, hash_of_file};
use device_compiler::cuda::{self, Dialect};
use device_compiler::limits::Limits;
use device_compiler::nvrtc::{self, Prepared};
use hip_sys::rtc::{Table, hiprtcProgram, hiprtcResult};

use super::{CompileError, Compiled, Diagnostic, Program, Unavailable};
use crate::call::dropped;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::module::Module;

/// Must change when the same program would give different results.
const SCHEMA: &str = "ferrocm hiprtc cache 4";
/// The default limit for the size of the cache's files, bytes.
const CACHE_LIMIT: u64 = 1 << 30;

/// Calls one function of the compiler's table and turns its status into a `Result` that names the function.
macro_rules! call {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let _shown = $crate::call::shown(false, stringify!($function));
        check(stringify!($function), ($table.$function)($($argument),*))
    }};
}

fn check(operation: &'static str, code: hiprtcResult) -> Result<()> {
    if code == hiprtcResult::HIPRTC_SUCCESS { Ok(()) } else { Err(Error::Rtc { operation, code }) }
}

/// A run-time compiler: AMD's library, the device compiler of this machine, or NVIDIA's NVRTC. See the
/// [module](super) for an example.
#[doc(alias = "hiprtc")]
#[doc(alias = "nvrtc")]
#[derive(Clone)]
pub struct Compiler {
    table: &'static Table,
    /// A text that differs for compilers that may give different results.
    identity: String,
    cache: Option<Cache>,
    cache_limit: u64,
    limits: Limits,
}

impl Compiler {
    /// Opens AMD's `libhiprtc` if it is installed, else the device compiler that `ferrocm setup`, ROCm or the
    /// distribution has installed. The cache is in its usual place. If the environment names no folder for
    /// it, or one that others may write to, there is no cache, and a warning says so.
    ///
    /// # Errors
    /// [`Error::CompilerUnavailable`] says why neither can be used, [`Error::CompileCache`] why the cache
    /// cannot be written, [`Error::CompileLimit`] which variable is not a valid limit.
    pub fn open() -> Result<Self> {
        Self::with_usual_cache(match Table::load() {
            Ok(table) => table,
            Err(library) => hiprtc_on_clang::table().map_err(|clang| {
                let (library, clang) = (library.to_string(), clang.to_string());
                Error::CompilerUnavailable(Box::new(Unavailable { library, clang }))
            })?,
        })
    }

    /// Opens the compiler for a device: NVIDIA's NVRTC (`libnvrtc.so.13` or `.12`) if the device's driver
    /// loads NVIDIA's code, else that of [`open`](Self::open).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_for(device: &Device) -> Result<Self> {
        if device.table().ext.driver_code.is_some() { Self::nvrtc() } else { Self::open() }
    }

    /// Opens NVIDIA's NVRTC, which needs no GPU. It compiles CUDA, as NVIDIA defines it, for the targets
    /// `sm_80` and so on.
    ///
    /// # Errors
    /// [`Error::CompilerUnavailable`] says where it was looked for; else as [`open`](Self::open).
    #[doc(alias = "nvrtcCreateProgram")]
    pub fn nvrtc() -> Result<Self> {
        let unavailable = |library: String| {
            Error::CompilerUnavailable(Box::new(Unavailable { library, clang: String::new() }))
        };
        let nvrtc = cuda_sys::nvrtc::Table::load().map_err(|error| unavailable(error.to_string()))?;
        let table = hiprtc_on_nvrtc::table(nvrtc).map_err(|error| unavailable(error.to_string()))?;
        Self::with_usual_cache(table)
    }

    /// Makes a compiler whose cache is in its usual place.
    fn with_usual_cache(table: &'static Table) -> Result<Self> {
        let compiler = Self::with_table(table)?;
        match device_compiler::toolchain::cache_root() {
            Some(root) => match Cache::open(&root.join("rtc")) {
                Ok(cache) => Ok(Self { cache: Some(cache), ..compiler }),
                Err(error @ device_compiler::Error::NotPrivate { .. }) => {
                    tracing::warn!("compiling without a cache: {error}");
                    Ok(compiler)
                }
                Err(error) => Err(cache_error(error)),
            },
            None => Ok(compiler),
        }
    }

    /// Makes a compiler over any table, without a cache.
    ///
    /// # Errors
    /// [`Error::Rtc`] if the table cannot report its version, [`Error::CompileLimit`] if a variable is not a
    /// valid limit.
    pub fn with_table(table: &'static Table) -> Result<Self> {
        let limits = Limits::from_env().map_err(|bad| Error::CompileLimit { problem: bad.to_string() })?;
        let mut compiler =
            Self { table, identity: String::new(), cache: None, cache_limit: CACHE_LIMIT, limits };
        compiler.identity = compiler.identify()?;
        Ok(compiler)
    }

    /// Sets the folder of the cache, which must belong to the user and must not be writable by others.
    ///
    /// # Errors
    /// [`Error::CompileCache`] if the folder cannot be written, or others may write to it.
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Result<Self> {
        self.cache = Some(Cache::open(&folder.into()).map_err(cache_error)?);
        Ok(self)
    }

    /// Disables the cache.
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.cache = None;
        self
    }

    /// Limits the size of the cache's files, in bytes; the least recently used are removed. The default is 1
    /// GiB.
    #[must_use]
    pub fn cache_limit(mut self, bytes: u64) -> Self {
        self.cache_limit = bytes;
        self
    }

    /// Whether results are cached: there is a cache, and the compiler reports which files a compilation
    /// depends on. AMD's library does not, so it compiles each time.
    pub fn is_caching(&self) -> bool {
        self.cache.is_some() && self.table.ext.dependencies.is_some()
    }

    /// Limits how long each compiler process may run; `None` removes the limit. The default is
    /// `FERROCM_RTC_TIMEOUT`, or five minutes. A compiler that reaches the limit is stopped, and
    /// [`Error::Compile`] says so.
    ///
    /// This does not affect AMD's library, because it compiles inside this process and cannot be stopped.
    #[must_use]
    pub fn time_limit(mut self, time: Option<Duration>) -> Self {
        self.limits.time = time;
        self
    }

    /// Limits the memory of each compiler process, in bytes; `None` removes the limit. The default is
    /// `FERROCM_RTC_MEMORY`, or 2 GiB. Otherwise as [`time_limit`](Self::time_limit).
    #[must_use]
    pub fn memory_limit(mut self, bytes: Option<u64>) -> Self {
        self.limits.memory = bytes;
        self
    }

    /// Removes everything from the cache.
    ///
    /// # Errors
    /// [`Error::CompileCache`].
    pub fn clear_cache(&self) -> Result<()> {
        self.cache.as_ref().map_or(Ok(()), |cache| cache.clear().map_err(cache_error))
    }

    /// The version of hiprtc's functions (`hiprtcVersion`). AMD's libraries report 9.0 in every release.
    ///
    /// # Errors
    /// [`Error::Rtc`].
    #[doc(alias = "hiprtcVersion")]
    #[doc(alias = "nvrtcVersion")]
    pub fn version(&self) -> Result<(i32, i32)> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both results are places to write to.
        unsafe { call!(self.table, hiprtcVersion(&raw mut major, &raw mut minor))? };
        Ok((major, minor))
    }

    /// The function table behind it, for calls that this crate does not wrap.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// Compiles a program for a target, or takes the result from the cache.
    ///
    /// # Errors
    /// [`Error::Compile`] with the compiler's messages, [`Error::Unsupported`] for a target that the compiler
    /// does not know, [`Error::CompileCache`] if the result cannot be cached, else [`Error::Rtc`].
    #[doc(alias = "hiprtcCompileProgram")]
    #[doc(alias = "nvrtcCompileProgram")]
    pub fn compile(&self, program: &Program, target: &TargetId) -> Result<Compiled> {
        self.check_target(target)?;
        let cache = self.cache.as_ref().filter(|_| self.is_caching());
        let Some(cache) = cache else { return Ok(self.run(program, target)?.0) };
        let key = self.key(program, target);
        // Several processes of one program often compile the same kernels at the same time, so take turns.
        let _turn = match cache.lookup_or_turn(&key, hash_of_file) {
            Ok((entry, code)) => {
                let (diagnostics, names) = (entry.diagnostics, entry.names.into_iter().collect());
                return Ok(Compiled { code, diagnostics, cached: true, name: program.name.clone(), names });
            }
            Err(turn) => turn,
        };
        let (compiled, inputs) = self.run(program, target)?;
        let Some(inputs) = inputs else { return Ok(compiled) };
        let entry = Entry {
            inputs,
            object: blake3::hash(&compiled.code).to_hex().to_string(),
            diagnostics: compiled.diagnostics.clone(),
            names: compiled.names.clone().into_iter().collect(),
        };
        cache.store(&key, entry, &compiled.code).map_err(cache_error)?;
        cache.trim(self.cache_limit).map_err(cache_error)?;
        Ok(compiled)
    }

    /// A hash of everything that affects the result.
    fn key(&self, program: &Program, target: &TargetId) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        for text in [SCHEMA, &self.identity, &target.to_string(), &program.name, &program.source] {
            part(text.as_bytes());
        }
        match program.its_dialect() {
            Dialect::Cuda => part(cuda::identity().as_bytes()),
            Dialect::Hip => part(b""),
        }
        let headers: Vec<&String> = program.headers.iter().flat_map(|(name, text)| [name, text]).collect();
        let lists = [headers, program.options.iter().collect(), program.expressions.iter().collect()];
        for list in lists {
            part(&(list.len() as u64).to_le_bytes());
            list.into_iter().for_each(|text| part(text.as_bytes()));
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The compiler's own identity text, or else its file and version.
    fn identify(&self) -> Result<String> {
        let (major, minor) = self.version()?;
        let implementation = match (self.table.ext.compiler_identity, self.table.path()) {
            (Some(identity), _) => {
                let mut text = [0_u8; 256];
                // SAFETY: the buffer has that many bytes.
                let length = unsafe { identity(text.as_mut_ptr().cast::<c_char>(), text.len()) };
                String::from_utf8_lossy(&text[..length.min(text.len() - 1)]).into_owned()
            }
            (None, Some(path)) => {
                // A different build of the same version has another file or another time.
                let file = std::fs::metadata(path).ok();
                let file = file.map(|file| (file.len(), file.modified().ok()));
                format!("{} {:?} {file:?}", path.display(), self.table.version())
            }
            (None, None) => format!("{:?}", self.table.implementation()),
        };
        Ok(format!("{major}.{minor} {implementation}"))
    }

    /// AMD's libraries before 7 end the process for an unknown target.
    fn check_target(&self, target: &TargetId) -> Result<()> {
        let Some(version) = self.table.path().and(self.table.version()) else { return Ok(()) };
        if known_target((version.major, version.minor), &target.processor) {
            return Ok(());
        }
        Err(Error::Unsupported {
            what: format!("the target {target} in the run-time compiler of HIP {version}"),
            instead: "that compiler ends the process for unknown targets; install a newer one".to_owned(),
        })
    }

    /// Compiles; also returns the files that the result depends on, if the compiler reports them.
    fn run(&self, program: &Program, target: &TargetId) -> Result<(Compiled, Option<Dependencies>)> {
        let text = |text: &str| {
            let (operation, code) = ("hiprtcCreateProgram", hiprtcResult::HIPRTC_ERROR_INVALID_INPUT);
            CString::new(text).map_err(|_| Error::Rtc { operation, code })
        };
        let texts = |list: &[String]| list.iter().map(|item| text(item)).collect::<Result<Vec<_>>>();
        let pointers = |list: &[CString]| list.iter().map(|item| item.as_ptr()).collect::<Vec<_>>();
        let count = |list: &[CString]| c_int::try_from(list.len()).unwrap_or(c_int::MAX);

        // AMD's library refuses empty texts (HIPRTC_ERROR_INVALID_INPUT); an empty line means the same.
        let lines = |source: &str| text(if source.is_empty() { "\n" } else { source });

        // What compiles CUDA by itself takes programs as they are.
        let dialect = if self.table.ext.takes_cuda { Dialect::Hip } else { program.its_dialect() };
        let Prepared { source, headers: all } = match dialect {
            Dialect::Cuda => nvrtc::prepare("", &program.source, &program.headers, &program.options),
            Dialect::Hip => Prepared {
                source: program.source.clone(),
                headers: program.headers.iter().map(|(name, text)| (&**name, (&**text).into())).collect(),
            },
        };
        let source = lines(&source)?;
        let name = text(&program.name)?;
        let (mut names, mut headers) = (Vec::new(), Vec::new());
        for (name, header) in all {
            names.push(text(name)?);
            headers.push(lines(&header)?);
        }
        let expressions = texts(&program.expressions)?;
        let mut options = texts(&program.options)?;
        options.push(text(&format!("--gpu-architecture={target}"))?);
        if dialect == Dialect::Cuda {
            options.push(text(cuda::DIALECT_OPTION)?);
        }

        let mut handle = Handle { table: self.table, program: std::ptr::null_mut() };
        let (header_pointers, name_pointers) = (pointers(&headers), pointers(&names));
        let option_pointers = pointers(&options);
        // SAFETY: all texts outlive the calls, the arrays have the stated numbers of elements, and the first
        // call makes the program.
        let compiled = unsafe {
            call!(
                self.table,
                hiprtcCreateProgram(
                    &raw mut handle.program,
                    source.as_ptr(),
                    name.as_ptr(),
                    count(&headers),
                    header_pointers.as_ptr(),
                    name_pointers.as_ptr(),
                )
            )?;
            if let Some(set_limits) = self.table.ext.set_limits {
                let Limits { time, memory } = self.limits;
                // 0 would mean no limit.
                let milliseconds =
                    time.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1));
                let bytes = memory.map_or(0, |bytes| bytes.max(1));
                check("set_limits", set_limits(handle.program, milliseconds, bytes))?;
            }
            for expression in &expressions {
                call!(self.table, hiprtcAddNameExpression(handle.program, expression.as_ptr()))?;
            }
            call!(self.table, hiprtcCompileProgram(handle.program, count(&options), option_pointers.as_ptr()))
        };
        let log = handle.log()?;
        let diagnostics = Diagnostic::read_all(&log);
        if let Err(error) = compiled {
            let Error::Rtc { code, .. } = error else { return Err(error) };
            let (name, target) = (program.name.clone(), target.to_string());
            return Err(Error::Compile(Box::new(CompileError { name, target, code, diagnostics, log })));
        }
        let mut lowered = BTreeMap::new();
        for (expression, c_expression) in program.expressions.iter().zip(&expressions) {
            lowered.insert(expression.clone(), handle.lowered_name(c_expression)?);
        }
        let code = handle.code()?;
        let name = program.name.clone();
        let compiled = Compiled { code, diagnostics, cached: false, name, names: lowered };
        Ok((compiled, handle.dependencies()))
    }
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiler")
            .field("identity", &self.identity)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

/// Whether the compiler of this release knows a processor. Only needed for compilers that otherwise end the
/// process; newer ones return an error.
fn known_target(release: (u32, u32), processor: &str) -> bool {
    const FROM_5_2: &[&str] = &[
        "gfx803", "gfx900", "gfx906", "gfx908", "gfx90a", "gfx1010", "gfx1011", "gfx1012", "gfx1030",
        "gfx1031", "gfx1032", "gfx1034",
    ];
    const FROM_5_7: &[&str] = &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx940"];
    const FROM_6_4: &[&str] = &["gfx941", "gfx942", "gfx1150", "gfx1151", "gfx1200", "gfx1201"];
    release >= (7, 0)
        || FROM_5_2.contains(&processor)
        || (release >= (5, 7) && FROM_5_7.contains(&processor))
        || (release >= (6, 4) && FROM_6_4.contains(&processor))
}

/// A program object of the compiler.
struct Handle {
    table: &'static Table,
    program: hiprtcProgram,
}

impl Handle {
    fn log(&self) -> Result<String> {
        let mut size = 0;
        // SAFETY: the program was made, and the result is a place to write to.
        unsafe { call!(self.table, hiprtcGetProgramLogSize(self.program, &raw mut size))? };
        let mut log = vec![0_u8; size + 1];
        // SAFETY: the buffer has the requested size.
        unsafe { call!(self.table, hiprtcGetProgramLog(self.program, log.as_mut_ptr().cast()))? };
        log.truncate(log.iter().position(|byte| *byte == 0).unwrap_or(log.len()));
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    fn code(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the program was compiled, and the result is a place to write to.
        unsafe { call!(self.table, hiprtcGetCodeSize(self.program, &raw mut size))? };
        let mut code = vec![0_u8; size];
        // SAFETY: the buffer has the requested size.
        unsafe { call!(self.table, hiprtcGetCode(self.program, code.as_mut_ptr().cast()))? };
        Ok(code)
    }

    /// The files that the code depends on, if the compiler reports them.
    fn dependencies(&self) -> Option<Dependencies> {
        let tell = self.table.ext.dependencies?;
        // SAFETY: nothing is written to a buffer of no size.
        let length = unsafe { tell(self.program, std::ptr::null_mut(), 0) };
        let mut text = vec![0_u8; length + 1];
        // SAFETY: the buffer has that many bytes.
        unsafe { tell(self.program, text.as_mut_ptr().cast(), text.len()) };
        text.pop();
        Dependencies::from_json(std::str::from_utf8(&text).ok()?)
    }

    fn lowered_name(&self, expression: &CStr) -> Result<String> {
        let mut name = std::ptr::null();
        // SAFETY: the program was compiled, the expression ends in NUL, and the result is a place to write
        // to.
        unsafe {
            call!(self.table, hiprtcGetLoweredName(self.program, expression.as_ptr(), &raw mut name))?;
        }
        // SAFETY: the name ends in NUL and lives as long as the program.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: the program was made and is destroyed once.
            dropped("program", unsafe { call!(self.table, hiprtcDestroyProgram(&raw mut self.program)) });
        }
    }
}

fn cache_error(error: device_compiler::Error) -> Error {
    Error::CompileCache { problem: error.to_string() }
}

impl Device {
    /// Compiles a program for this device, or takes it from the cache, and loads it. The compiler is that of
    /// [`Compiler::open_for`], opened once per process.
    ///
    /// # Errors
    /// As [`Compiler::open_for`], [`Compiler::compile`] and [`Module::load`].
    pub fn compile(&self, program: impl Into<Program>) -> Result<Module> {
        static COMPILERS: [OnceLock<Compiler>; 2] = [const { OnceLock::new() }; 2];
        let place = &COMPILERS[usize::from(self.table().ext.driver_code.is_some())];
        let compiler = match place.get() {
            Some(compiler) => compiler,
            None => {
                let compiler = Compiler::open_for(self)?;
                place.get_or_init(|| compiler)
            }
        };
        compiler.compile(&program.into(), self.target())?.load(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_would_end_the_process_are_known() {
        assert!(known_target((5, 2), "gfx90a") && !known_target((5, 2), "gfx1100"));
        assert!(known_target((5, 7), "gfx1100") && !known_target((5, 7), "gfx1201"));
        assert!(known_target((6, 4), "gfx942") && !known_target((6, 4), "gfx9999"));
        assert!(known_target((7, 2), "gfx9999"), "returns an error");
    }
}
