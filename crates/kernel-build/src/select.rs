//! Patterns that select sources.

use crate::{Error, Glob};

/// A pattern for sources. With a `/`, it is matched against the path below the folder, otherwise against the
/// file's name, in any folder.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    glob: Glob,
    whole_path: bool,
    text: String,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        let below = text.strip_prefix("./").unwrap_or(text);
        if below.starts_with('/') || below.split('/').any(|part| part == "..") {
            let reason = "it leads out of the folder that source paths are relative to".to_owned();
            return Err(Error::Pattern { pattern: text.to_owned(), reason });
        }
        Ok(Self { glob: Glob::new(below)?, whole_path: below.contains('/'), text: text.to_owned() })
    }

    /// Whether it matches the source with this path below the folder.
    pub(crate) fn matches(&self, relative: &str) -> bool {
        let name = if self.whole_path { relative } else { relative.rsplit('/').next().unwrap_or(relative) };
        self.glob.matches(name)
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Fails if the pattern matches no source: it is misspelt, or its sources were removed.
    pub(crate) fn check<'a>(&self, sources: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
        if sources.into_iter().any(|relative| self.matches(relative)) {
            return Ok(());
        }
        let reason = "no source has a name of this form".to_owned();
        Err(Error::Pattern { pattern: self.text.clone(), reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, relative: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(relative)
    }

    #[test]
    fn a_pattern_without_a_slash_is_of_the_files_name() {
        assert!(matches("moe_*.cu", "moe/moe_gguf.cu"));
        assert!(matches("mmvq_gguf.cu", "mmvq_gguf.cu"));
        assert!(!matches("moe_*.cu", "moe/other.cu"));
        assert!(matches("moe/*.cu", "moe/other.cu") && !matches("moe/*.cu", "deep/moe/other.cu"));
        assert!(matches("**/*.cu", "a/b/c.cu") && matches("./a/{b,c}.cu", "a/c.cu"));
        assert!(!matches("a/*.cu", "a/b/c.cu"));
    }

    #[test]
    fn a_pattern_that_is_none_says_why() {
        let error = Pattern::new("a[").unwrap_err().to_string();
        assert!(error.starts_with("the pattern `a[`: "), "{error}");
    }

    #[test]
    fn a_pattern_that_leads_out_of_the_folder_is_an_error() {
        for text in ["../a.cu", "/kernels/a.cu", "deep/../../a.cu", "./../*.cu", ".."] {
            let error = Pattern::new(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("the pattern `{text}`: ")) && error.contains("out of the folder"),
                "{error}"
            );
        }
        assert!(matches("a..b.cu", "a..b.cu") && matches("..*", "..cu"));
    }
}
