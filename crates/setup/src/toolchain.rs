//! What `device_compiler` knows about this machine's device toolchain, as programs that set it up need it.

use std::path::PathBuf;

use device_compiler::toolchain::{Attempt, NotFound, Search, Toolchain, cache_root};

/// The environment names no folder for the cache.
#[derive(Debug, thiserror::Error)]
#[error("no folder for the cache: set FERROCM_CACHE, XDG_CACHE_HOME or HOME")]
pub struct CacheError;

/// The folder of everything that is kept between builds.
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

/// What a search for the toolchain came to.
#[derive(Debug)]
pub enum Found {
    /// All of it.
    Complete(Box<Toolchain>),
    /// A compiler that lacks headers or device libraries.
    CompilerOnly,
    /// No compiler that would do.
    Nothing,
    /// A variable names a part that will not do; nothing that could be installed would be used.
    Bound(NotFound),
}

/// Looks for a toolchain where the environment says, and tells what kind of gap there is.
pub fn find(search: &Search) -> Found {
    match search.find() {
        Ok(toolchain) => Found::Complete(Box::new(toolchain)),
        Err(error) => {
            // The prefix is what `setup` makes: whether it is worth making is the other places' matter.
            let elsewhere = Search { prefix: None, ..search.clone() }.find();
            let attempts = elsewhere.err().map(|error| error.attempts).unwrap_or_default();
            classify(search, &attempts, error)
        }
    }
}

fn classify(search: &Search, attempts: &[Attempt], error: NotFound) -> Found {
    let lacks = |what: &str| attempts.iter().any(|attempt| attempt.what == what);
    // Parts are looked for only beside a compiler that would do.
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
