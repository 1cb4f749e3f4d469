//! Patterns for names.

use crate::Error;

/// A pattern for file names, paths and names of kernels: `?`, `*` (both anything but `/`), `**`, `[ab]`,
/// `[a-z]`, `[!ab]` and `{a,b}`. A backslash escapes the next character. `?` and brackets match one byte of
/// the name, that is, one ASCII character.
///
/// ```
/// let sources = kernel_build::Glob::new("moe/{topk,sort}_*.cu")?;
/// assert!(sources.matches("moe/topk_softmax.cu") && !sources.matches("moe/gemm.cu"));
/// assert!(kernel_build::Glob::new("moe/[ab.cu").is_err());
/// # Ok::<(), kernel_build::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: String,
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`Error::Pattern`] if a bracket is not closed, if brackets contain a character outside ASCII or a
    /// range that ends before it begins, or if there are more than ten braces.
    pub fn new(text: &str) -> Result<Self, Error> {
        let error = |reason| Error::Pattern { pattern: text.to_owned(), reason };
        // `fast_glob` would treat it as a negation at the start of a pattern.
        let pattern = if text.starts_with('!') { format!("\\{text}") } else { text.to_owned() };
        fast_glob::validate(&pattern).map_err(|e| error(e.to_string()))?;
        if let Some(reason) = wrong_class(&pattern) {
            return Err(error(reason));
        }
        Ok(Self { pattern })
    }

    /// Whether a name matches. Paths need not be UTF-8
    /// ([`OsStr::as_encoded_bytes`](std::ffi::OsStr::as_encoded_bytes)).
    pub fn matches(&self, name: impl AsRef<[u8]>) -> bool {
        fast_glob::glob_match(&self.pattern, name)
    }
}

/// What is wrong inside brackets.
fn wrong_class(pattern: &str) -> Option<String> {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '[' => {
                let class = class(&mut characters);
                if let Some((other, _)) = class.iter().find(|(character, _)| !character.is_ascii()) {
                    return Some(format!("`{other}` in brackets is not an ASCII character"));
                }
                let range = class.windows(3).find(|part| part[1] == ('-', false) && part[0].0 > part[2].0);
                if let Some(range) = range {
                    let range: String = range.iter().map(|(character, _)| character).collect();
                    return Some(format!("the range `{range}` ends before it begins"));
                }
            }
            _ => {}
        }
    }
    None
}

/// The characters up to the closing bracket, and whether each is escaped by a backslash.
fn class(characters: &mut std::str::Chars<'_>) -> Vec<(char, bool)> {
    let mut class = Vec::new();
    let mut behind = characters.clone();
    if matches!(behind.next(), Some('!' | '^')) {
        *characters = behind;
    }
    while let Some(character) = characters.next() {
        match character {
            ']' if !class.is_empty() => break,
            '\\' => class.extend(characters.next().map(|escaped| (escaped, true))),
            _ => class.push((character, false)),
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_shells() {
        let matches = |pattern: &str, name: &str| Glob::new(pattern).unwrap().matches(name);
        assert!(matches("*.cu", "a.cu") && !matches("*.cu", "a/b.cu") && !matches("*.cu", "a.cuh"));
        assert!(matches("**/*.cu", "b.cu") && matches("**/*.cu", "a/b/c.cu") && matches("a/**", "a/b/c.cu"));
        assert!(matches("?.cu", "a.cu") && matches("ä*.cu", "ä.cu") && !matches("?.cu", "/.cu"));
        assert!(matches("[!a-c].cu", "d.cu") && !matches("[!a-c].cu", "b.cu") && matches("[]a].cu", "].cu"));
        assert!(matches("{a,b{1,2}}.cu", "b2.cu") && !matches("{a,b{1,2}}.cu", "b.cu"));
        assert!(matches("\\*.cu", "*.cu") && !matches("\\*.cu", "a.cu"));
        assert!(matches("!a", "!a") && !matches("!a", "b"));
        assert!(matches("", "") && !matches("", "a") && matches("*", ""));
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for (text, reason) in [
            ("a[", "unclosed character class"),
            ("{a,b", "unclosed brace"),
            ("a\\", "trailing backslash"),
            ("[z-a]", "the range `z-a` ends before it begins"),
            ("[aä]", "`ä` in brackets is not an ASCII character"),
            ("x[!9-0]", "the range `9-0` ends before it begins"),
        ] {
            let error = Glob::new(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the pattern `{text}`: {reason}")), "{error}");
        }
        assert!(Glob::new("[a-a][-z][z-]\\[z-a][z\\-a][\\-A]").is_ok());
        assert!(Glob::new("[\\-]z-a]").is_ok() && Glob::new("[!-z]").is_ok());
    }
}
