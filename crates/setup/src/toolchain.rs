//! `device_compiler`'s knowledge about this machine's toolchain, for programs that set it up.

use std::path::PathBuf;

use device_compiler::toolchain::{Attempt, NotFound, Search, Toolchain, cache_root};

/// The environment names no folder for the cache.
#[derive(Debug, thiserror::Error)]
#[error("no folder for the cache: set FERROCM_CACHE, XDG_CACHE_HOME or HOME")]
pub struct CacheError;

/// The cache folder, for everything that is kept between builds.
///
/// # Errors
/// [`CacheError`] if the environment names none.
pub fn cache_folder() -> Result<PathBuf, CacheError> {
    cache_root().ok_or(CacheError)
}

/// The private prefix, whether or not it exists.
pub fn prefix() -> Option<PathBuf> {
    cache_root().map(|root| root.join("toolchain/current"))
}

/// The result of a search for the toolchain.
#[derive(Debug)]
pub enum Found {
    /// A complete toolchain.
    Complete(Box<Toolchain>),
    /// A compiler that lacks headers or device libraries.
    CompilerOnly,
    /// No usable compiler.
    Nothing,
    /// A variable names an unusable part, so an installation would not be used.
    Bound(NotFound),
}

/// Searches for a toolchain according to the environment, and classifies what is missing.
pub fn find(search: &Search) -> Found {
    match search.find() {
        Ok(toolchain) => Found::Complete(Box::new(toolchain)),
        Err(error) => {
            // `setup` creates the prefix; the other places decide whether it is needed.
            let elsewhere = Search { prefix: None, ..search.clone() }.find();
            let attempts = elsewhere.err().map(|error| error.attempts).unwrap_or_default();
            classify(search, &attempts, error)
        }
    }
}

fn classify(search: &Search, attempts: &[Attempt], error: NotFound) -> Found {
    let lacks = |what: &str| attempts.iter().any(|attempt| attempt.what == what);
    // Parts are searched only for a usable compiler.
    let usable_compiler = lacks("HIP headers") || lacks("device libraries");
    if search.clang.is_some() && !usable_compiler || search.hip_path.is_some() && lacks("HIP headers") {
        return Found::Bound(error);
    }
    if usable_compiler { Found::CompilerOnly } else { Found::Nothing }
}

/// One line about a complete toolchain.
pub fn describe(toolchain: &Toolchain) -> String {
    format!("clang {} ({}), HIP {} headers", toolchain.version, toolchain.origin, toolchain.hip_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(what: &'static str) -> Attempt {
        Attempt { what, place: "/somewhere".to_owned(), reason: "not there".to_owned() }
    }

    fn search(clang: Option<&str>, hip_path: Option<&str>) -> Search {
        Search {
            clang: clang.map(Into::into),
            hip_path: hip_path.map(Into::into),
            rocm: Vec::new(),
            path: Vec::new(),
            system: Vec::new(),
            prefix: None,
            clang_args: Vec::new(),
            setup: None,
        }
    }

    fn classified(search: &Search, attempts: &[Attempt]) -> &'static str {
        match classify(
            search,
            attempts,
            NotFound { what: "device toolchain", attempts: attempts.to_vec(), remedy: String::new() },
        ) {
            Found::Complete(_) => "complete",
            Found::CompilerOnly => "compiler only",
            Found::Nothing => "nothing",
            Found::Bound(_) => "bound",
        }
    }

    #[test]
    fn gaps_are_told_apart() {
        let free = search(None, None);
        assert_eq!(classified(&free, &[attempt("ROCm"), attempt("clang")]), "nothing");
        assert_eq!(classified(&free, &[attempt("clang"), attempt("HIP headers")]), "compiler only");
        assert_eq!(classified(&free, &[attempt("device libraries")]), "compiler only");
    }

    #[test]
    fn what_a_variable_names_is_not_worked_around() {
        assert_eq!(classified(&search(Some("/x/clang"), None), &[attempt("clang")]), "bound");
        assert_eq!(classified(&search(Some("/x/clang"), None), &[attempt("HIP headers")]), "compiler only");
        assert_eq!(classified(&search(None, Some("/x")), &[attempt("HIP headers")]), "bound");
    }

    #[test]
    fn an_empty_machine_has_nothing() {
        assert!(matches!(find(&search(None, None)), Found::Nothing));
    }
}
