//! Places in the source of device code.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A place in the source, within a function.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct SourceFrame {
    /// The function's name, demangled.
    pub function: Option<String>,
    /// The file, by the name that the compiler was given. `kernel-build` uses names relative to the source
    /// folder.
    pub file: Option<String>,
    /// The line, from 1; none for instructions that belong to no line.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
}

impl fmt::Display for SourceFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file.as_deref().unwrap_or("an unknown file"))?;
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, ":{line}:{column}")?,
            (Some(line), None) => write!(f, ":{line}")?,
            (None, _) => f.write_str(", no line")?,
        }
        match &self.function {
            Some(function) => write!(f, " in {function}"),
            None => Ok(()),
        }
    }
}

/// Which lines of source an instruction comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SourceLines {
    /// The line, followed by the calls into which it was inlined, innermost first. Never empty.
    Found(Vec<SourceFrame>),
    /// The code object has no debug information.
    NoDebugInfo,
    /// The debug information does not cover the instruction.
    NotCovered,
    /// The debug information cannot be read, and why.
    Unreadable(String),
}

impl SourceLines {
    /// The innermost place, if known.
    pub fn frame(&self) -> Option<&SourceFrame> {
        match self {
            SourceLines::Found(frames) => frames.first(),
            _ => None,
        }
    }

    /// All places, innermost first; empty if nothing is known.
    pub fn frames(&self) -> &[SourceFrame] {
        match self {
            SourceLines::Found(frames) => frames,
            _ => &[],
        }
    }
}

impl fmt::Display for SourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceLines::Found(frames) => {
                for (depth, frame) in frames.iter().enumerate() {
                    if depth != 0 {
                        f.write_str("\n              inlined at ")?;
                    }
                    write!(f, "{frame}")?;
                }
                Ok(())
            }
            SourceLines::NoDebugInfo => {
                f.write_str("unknown: the code object has no debug information (-gline-tables-only adds it)")
            }
            SourceLines::NotCovered => f.write_str("unknown: the debug information does not cover the code"),
            SourceLines::Unreadable(why) => write!(f, "unknown: the debug information cannot be read: {why}"),
        }
    }
}

/// Demangles a C++ or Rust symbol. Other names are returned unchanged.
pub fn demangle(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let name = cpp_demangle::Symbol::new(symbol).ok();
    name.and_then(|name| name.demangle().ok()).unwrap_or_else(|| symbol.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangle("_Z5saxpyfPKfPf"), "saxpy(float, float const*, float*)");
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_str17h0123456789abcdefE"),
            "core::fmt::Write::write_str"
        );
        assert_eq!(demangle("saxpy"), "saxpy");
        assert_eq!(demangle("_Z"), "_Z");
    }
}
