//! Names of kernels and variables: clang compiles host code and nvcc the device code, and they mangle what
//! other files do not see in different ways.
//!
//! | | clang | nvcc |
//! |---|---|---|
//! | `static` function `f` | `_ZL1fv` | `_Z1fv` |
//! | in a namespace without a name | `_ZN12_GLOBAL__N_11fEv` | `_ZN30_GLOBAL__N__9ffd1b26_4_a_cu_go1fEv` |
//! | `static` variable `v` | `_ZL1v`, or with `.static.` and a hash behind it | `_ZL1v` or `v` |

use std::ffi::{CStr, CString};

/// What clang calls a namespace without a name.
const UNNAMED: &str = "_GLOBAL__N_";

/// The name that nvcc gives a kernel of this name, if that is another one: without the marks of functions
/// that other files do not see.
pub(crate) fn of_nvcc(name: &CStr) -> Option<CString> {
    let text = name.to_str().ok()?;
    let other: String = parts(text).into_iter().map(Part::written).collect();
    if other == text { None } else { CString::new(other).ok() }
}

/// A name in a form that is the same for both compilers.
pub(crate) fn comparable(name: &CStr) -> String {
    let text = name.to_string_lossy();
    parts(&text).into_iter().map(Part::neutral).collect()
}

/// The names to look a variable up by, the likeliest first.
pub(crate) fn of_variable(name: &CStr) -> Vec<CString> {
    let text = name.to_string_lossy();
    let (text, _) = text.split_once(".static.").unwrap_or((&text, ""));
    let mut names = vec![text];
    if let Some(rest) = text.strip_prefix("_ZL") {
        names.push(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    names.into_iter().filter_map(|name| CString::new(name).ok()).collect()
}

/// A part of a mangled name.
enum Part<'a> {
    /// An identifier, without its length.
    Identifier(&'a str),
    Other(&'a str),
}

impl Part<'_> {
    fn written(self) -> String {
        match self {
            Self::Identifier(name) => format!("{}{name}", name.len()),
            Self::Other(text) => text.to_owned(),
        }
    }

    fn neutral(self) -> String {
        match self {
            Self::Identifier(name) if name.starts_with(UNNAMED) => format!("<{UNNAMED}>"),
            other => other.written(),
        }
    }
}

/// The parts of a name up to its first argument, and the rest; without the marks before identifiers.
fn parts(name: &str) -> Vec<Part<'_>> {
    let (head, mut rest) = match (name.strip_prefix("_ZN"), name.strip_prefix("_Z")) {
        (Some(rest), _) => ("_ZN", rest),
        (None, Some(rest)) => ("_Z", rest),
        (None, None) => return vec![Part::Other(name)],
    };
    let mut parts = vec![Part::Other(head)];
    loop {
        let marked = rest.strip_prefix('L').unwrap_or(rest);
        let end = marked.find(|c: char| !c.is_ascii_digit()).unwrap_or(marked.len());
        let identifier = marked[..end].parse().ok().and_then(|length: usize| marked[end..].get(..length));
        let Some(identifier) = identifier.filter(|_| end > 0) else { break };
        parts.push(Part::Identifier(identifier));
        rest = &marked[end + identifier.len()..];
        if head == "_Z" {
            break;
        }
    }
    parts.push(Part::Other(rest));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c(text: &str) -> CString {
        CString::new(text).unwrap()
    }

    /// Kernels of a test file, by clang 22 and by nvcc 13.0.
    const BOTH: [(&str, &str); 5] = [
        ("_ZL4statPfm", "_Z4statPfm"),
        ("_ZL4tmplIL2ty0ELi3EEvPKfx", "_Z4tmplIL2ty0ELi3EEvPKfx"),
        ("_Z3pubIfEvPT_PKS0_", "_Z3pubIfEvPT_PKS0_"),
        ("_ZN12_GLOBAL__N_14anonEPf", "_ZN30_GLOBAL__N__9ffd1b26_4_a_cu_go4anonEPf"),
        ("_ZN12_GLOBAL__N_15anontILi2EEEvPf", "_ZN30_GLOBAL__N__9ffd1b26_4_a_cu_go5anontILi2EEEvPf"),
    ];

    #[test]
    fn both_compilers_mean_the_same_kernel() {
        for (at, (clang, nvcc)) in BOTH.into_iter().enumerate() {
            assert_eq!(comparable(&c(clang)), comparable(&c(nvcc)));
            for (_, other) in BOTH.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, both)| both)
            {
                assert_ne!(comparable(&c(clang)), comparable(&c(other)));
            }
        }
        assert_eq!(of_nvcc(&c("_ZL4statPfm")), Some(c("_Z4statPfm")));
        assert_eq!(of_nvcc(&c("_ZN2nsL4statEPfm")), Some(c("_ZN2ns4statEPfm")));
        for same in ["saxpy", "_Z3pubIfEvPT_PKS0_", "_Z", "_Z99f", "_ZN", "", "Lé", "_ZL"] {
            assert_eq!(of_nvcc(&c(same)), None, "{same}");
        }
    }

    #[test]
    fn a_variable_has_several_names() {
        assert_eq!(of_variable(&c("table")), [c("table")]);
        assert_eq!(of_variable(&c("_ZL5table.static.00ff")), [c("_ZL5table"), c("table")]);
    }
}
