//! Errors of compilation at run time.

use std::fmt;

use device_compiler::Diagnostic;
use hip_sys::rtc::hiprtcResult;

/// The compiler refused a program.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileError {
    /// The program's name.
    pub name: String,
    /// The target.
    pub target: String,
    /// What `hiprtcCompileProgram` returned.
    pub code: hiprtcResult,
    /// The messages, one by one, each with its place in the source.
    pub diagnostics: Vec<Diagnostic>,
    /// Everything that the compiler printed.
    pub log: String,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "`{}` does not compile for {}:", self.name, self.target)?;
        match self.log.trim_end() {
            // For an unknown target, AMD's library gives no message.
            "" => write!(f, "the compiler returned {:?} without a message", self.code),
            log => f.write_str(log),
        }
    }
}

/// The same as `Display`: Rust prints an error that `main` returns with `Debug`.
impl fmt::Debug for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for CompileError {}

/// There is no run-time compiler: the reasons why none can be used.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unavailable {
    /// The vendor's library.
    pub library: String,
    /// The device compiler of this machine; empty for NVIDIA GPUs, for which it does not compile.
    pub clang: String,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no run-time compiler: {}", self.library.trim_end())?;
        if self.clang.is_empty() { Ok(()) } else { write!(f, "\nand {}", self.clang.trim_end()) }
    }
}

/// The same as `Display`: Rust prints an error that `main` returns with `Debug`.
impl fmt::Debug for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Unavailable {}
