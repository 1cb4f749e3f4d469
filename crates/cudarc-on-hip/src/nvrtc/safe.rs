//! Compiling, and the compiled code.

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::path::PathBuf;

use super::result::{self, NvrtcError};
use super::sys;

/// Code to load: just compiled, or from elsewhere.
#[derive(Debug, Clone)]
pub struct Ptx(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// Just compiled: text with the terminating NUL.
    Image(Vec<c_char>),
    Source(String),
    File(PathBuf),
    Binary(Vec<u8>),
}

/// C chars as bytes.
fn bytes(text: &[c_char]) -> &[u8] {
    // SAFETY: both types are bytes.
    unsafe { std::slice::from_raw_parts(text.as_ptr().cast(), text.len()) }
}

impl Ptx {
    /// A file of code: text from [`to_src`](Self::to_src), a code object, or a bundle of them.
    pub fn from_file<P: Into<PathBuf>>(path: P) -> Self {
        Self(Kind::File(path.into()))
    }

    /// Code as text from [`to_src`](Self::to_src).
    pub fn from_src<S: Into<String>>(src: S) -> Self {
        Self(Kind::Source(src.into()))
    }

    /// A code object, or a bundle of them.
    pub fn from_binary(data: Vec<u8>) -> Self {
        Self(Kind::Binary(data))
    }

    /// The code as text.
    ///
    /// # Panics
    /// If it is a file that cannot be read as text, or [binary](Self::from_binary).
    pub fn to_src(&self) -> String {
        match &self.0 {
            Kind::Image(text) => {
                let text = CStr::from_bytes_until_nul(bytes(text)).expect("text that ends in NUL");
                text.to_str().expect("text in UTF-8").to_owned()
            }
            Kind::Source(text) => text.clone(),
            Kind::File(path) => std::fs::read_to_string(path).expect("a file of text"),
            Kind::Binary(_) => panic!("binary code is no text"),
        }
    }

    /// The text of just compiled code, with the terminating NUL; `None` for code from elsewhere.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Kind::Image(text) => Some(bytes(text)),
            _ => None,
        }
    }

    /// The code to load.
    pub(crate) fn into_bytes(self) -> std::io::Result<Vec<u8>> {
        match self.0 {
            Kind::Image(text) => Ok(bytes(&text).to_vec()),
            Kind::Source(text) => Ok(text.into_bytes()),
            Kind::File(path) => std::fs::read(path),
            Kind::Binary(code) => Ok(code),
        }
    }
}

impl<S: Into<String>> From<S> for Ptx {
    fn from(value: S) -> Self {
        Self::from_src(value)
    }
}

/// Compiles CUDA's C++ for the calling thread's device, or else the first one.
pub fn compile_ptx<S: AsRef<str>>(src: S) -> Result<Ptx, CompileError> {
    compile_ptx_with_opts(src, CompileOptions::default())
}

/// Compiles CUDA's C++ with [options](super#options-for-amds-gpus).
///
/// # Panics
/// If a text has a NUL.
pub fn compile_ptx_with_opts<S: AsRef<str>>(src: S, opts: CompileOptions) -> Result<Ptx, CompileError> {
    /// Destroys the program in every case.
    struct Program(sys::nvrtcProgram);
    impl Drop for Program {
        fn drop(&mut self) {
            // SAFETY: the program was made below, and is ended once.
            if let Err(error) = unsafe { result::destroy_program(self.0) } {
                tracing::error!(%error, "a program did not end");
            }
        }
    }
    let source = CString::new(src.as_ref()).expect("a source without NUL");
    let name = opts.name.as_deref().map(|name| CString::new(name).expect("a name without NUL"));
    let program =
        Program(result::create_program(&source, name.as_deref()).map_err(CompileError::CreationError)?);
    let options = opts.build();
    // SAFETY: the program was made just now.
    if let Err(nvrtc) = unsafe { result::compile_program(program.0, &options) } {
        // SAFETY: the program was made just now.
        let log = unsafe { result::get_program_log(program.0) }.map_err(CompileError::GetLogError)?;
        let log = CStr::from_bytes_until_nul(bytes(&log)).unwrap_or_default().to_owned();
        return Err(CompileError::CompileError { nvrtc, options, log });
    }
    // SAFETY: the program was compiled just now.
    let image = unsafe { result::get_ptx(program.0) }.map_err(CompileError::GetPtxError)?;
    Ok(Ptx(Kind::Image(image)))
}

/// Why there is no code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompileError {
    /// Of [`create_program`](result::create_program).
    CreationError(NvrtcError),
    /// Of [`compile_program`](result::compile_program).
    CompileError {
        /// The status.
        nvrtc: NvrtcError,
        /// NVRTC's options.
        options: Vec<String>,
        /// The compiler's messages, or why there are none.
        log: CString,
    },
    /// Of [`get_program_log`](result::get_program_log).
    GetLogError(NvrtcError),
    /// Of [`get_ptx`](result::get_ptx).
    GetPtxError(NvrtcError),
    /// Of [`destroy_program`](result::destroy_program).
    DestroyError(NvrtcError),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CompileError { nvrtc, options, log } => {
                write!(f, "{nvrtc} with {options:?}: {}", log.to_string_lossy())
            }
            other => fmt::Debug::fmt(other, f),
        }
    }
}

impl std::error::Error for CompileError {}

/// [Options](super#options-for-amds-gpus) of the compiler; unset options are not passed.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub struct CompileOptions {
    /// Whether numbers too small to be normal are zero.
    pub ftz: Option<bool>,
    /// Whether square roots are rounded correctly.
    pub prec_sqrt: Option<bool>,
    /// Whether divisions are rounded correctly.
    pub prec_div: Option<bool>,
    /// Whether products and sums may become one operation.
    pub fmad: Option<bool>,
    /// Options as NVRTC's documentation writes them.
    pub options: Vec<String>,
    /// Whether fast operations may be less exact.
    pub use_fast_math: Option<bool>,
    /// The maximum number of registers of a thread; has no effect here.
    pub maxrregcount: Option<usize>,
    /// Folders of headers.
    pub include_paths: Vec<String>,
    /// The architecture: one of AMD's targets, or for NVIDIA's GPUs one of NVIDIA's, which have no effect for
    /// AMD's.
    pub arch: Option<&'static str>,
    /// The name of the source in messages.
    pub name: Option<String>,
}

impl CompileOptions {
    /// The options as NVRTC options.
    pub(crate) fn build(self) -> Vec<String> {
        let mut options = Vec::new();
        let switches = [
            ("ftz", self.ftz),
            ("prec-sqrt", self.prec_sqrt),
            ("prec-div", self.prec_div),
            ("fmad", self.fmad),
        ];
        options.extend(switches.into_iter().filter_map(|(name, on)| Some(format!("--{name}={}", on?))));
        if self.use_fast_math == Some(true) {
            options.push("--use_fast_math".to_owned());
        }
        options.extend(self.maxrregcount.map(|count| format!("--maxrregcount={count}")));
        options.extend(self.include_paths.iter().map(|path| format!("--include-path={path}")));
        options.extend(self.arch.map(|arch| format!("--gpu-architecture={arch}")));
        options.extend(self.options);
        options
    }
}
