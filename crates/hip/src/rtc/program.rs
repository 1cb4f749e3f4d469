//! Programs, and compiled code.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;

use device_compiler::cuda::{self, Dialect};

use super::Diagnostic;
use crate::device::Device;
use crate::error::Result;
use crate::module::Module;

/// The source of kernels, with the options for compiling it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    pub(super) source: String,
    pub(super) name: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) options: Vec<String>,
    pub(super) expressions: Vec<String>,
    dialect: Option<Dialect>,
}

impl Program {
    /// A program in CUDA C++, or in HIP C++ if it [includes a HIP header](device_compiler::cuda#dialects). It
    /// need not include the runtime header.
    pub fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            name: "program.hip".to_owned(),
            headers: Vec::new(),
            options: Vec::new(),
            expressions: Vec::new(),
            dialect: None,
        }
    }

    /// Sets the name of the source in messages. The default is `program.hip`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the dialect, CUDA or HIP, whatever the program [includes](device_compiler::cuda#dialects).
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Adds a header that the source includes as `#include "name"`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Adds a compiler option, such as `-DN=4`, `-O2` or `-ffast-math`. Pass the target to
    /// [`Compiler::compile`](super::Compiler::compile) instead.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Requests the mangled name of a C++ expression such as `fill<float>` or `&ns::table`, and instantiates
    /// templates for it (`hiprtcAddNameExpression`).
    #[must_use]
    #[doc(alias = "hiprtcAddNameExpression")]
    #[doc(alias = "nvrtcAddNameExpression")]
    pub fn expression(mut self, expression: impl Into<String>) -> Self {
        self.expressions.push(expression.into());
        self
    }

    /// The dialect that was set, else the one that the includes imply.
    pub(super) fn its_dialect(&self) -> Dialect {
        self.dialect.unwrap_or_else(|| {
            let options = self.options.iter().map(OsStr::new);
            cuda::dialect("", &self.source, options, |_, name| {
                let (name, text) = self.headers.iter().find(|(header, _)| header == name)?;
                Some((name.as_str(), text.clone()))
            })
        })
    }
}

/// Makes a program of a source text, for each type of text.
macro_rules! from_text {
    ($($text:ty),*) => {
        $(
            impl From<$text> for Program {
                fn from(source: $text) -> Self {
                    Self::new(source)
                }
            }
        )*
    };
}

from_text!(&str, String, &String, Box<str>, Cow<'_, str>);

impl From<&Program> for Program {
    fn from(program: &Program) -> Self {
        program.clone()
    }
}

/// Compiled code for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiled {
    /// The code object, an ELF file.
    pub code: Vec<u8>,
    /// Warnings and notes of the compiler, also for cached code.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether it came from the cache.
    pub cached: bool,
    pub(super) name: String,
    pub(super) names: BTreeMap<String, String>,
}

impl Compiled {
    /// The mangled name of a [name expression](Program::expression) of the program (`hiprtcGetLoweredName`).
    #[doc(alias = "hiprtcGetLoweredName")]
    #[doc(alias = "nvrtcGetLoweredName")]
    pub fn lowered_name(&self, expression: &str) -> Option<&str> {
        self.names.get(expression).map(String::as_str)
    }

    /// Everything that the compiler printed.
    #[doc(alias = "hiprtcGetProgramLog")]
    pub fn log(&self) -> String {
        self.diagnostics.iter().map(|diagnostic| diagnostic.text.as_str()).collect()
    }

    /// Loads the code.
    ///
    /// # Errors
    /// As [`Module::load`].
    pub fn load(&self, device: &Device) -> Result<Module> {
        Module::load_named(device, &self.name, &self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::Program;

    #[test]
    fn a_text_of_any_kind_is_a_program() {
        let text = String::from("__global__ void k() {}");
        let program = Program::new(text.as_str());
        assert_eq!(Program::from(&text), program);
        assert_eq!(Program::from(text.as_str()), program);
        assert_eq!(Program::from(std::borrow::Cow::from(text.as_str())), program);
        assert_eq!(Program::from(text.clone().into_boxed_str()), program);
        assert_eq!(Program::from(&program), program);
        assert_eq!(Program::from(text), program);
    }
}
