//! Names of models on the hub.

use std::fmt;
use std::str::FromStr;

use super::HubError;

/// What names of the hub begin with.
const PREFIX: &str = "hf:";

/// Which of a repository's files a name means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    /// Whatever is usual.
    Usual,
    /// The GGUF file of this kind, such as `Q4_K_M`.
    Kind(String),
    /// This file.
    File(String),
}

/// A model on the hub: `hf:OWNER/NAME`, then `@REVISION` for a branch, a tag or a commit, then `:KIND` for
/// the GGUF file with these quantised weights, or `/FILE` for a file. Without both, it is the repository's
/// only GGUF file, else the Q4_K_M one, else the Q8_0 one; in a repository without GGUF files, the
/// safetensors files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HubName {
    /// The owner and the name.
    pub(super) repository: String,
    pub(super) revision: String,
    pub(super) wanted: Wanted,
}

impl HubName {
    /// Whether a text is meant to be a name of the hub.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// The owner and the name, such as `owner/name`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The branch, tag or commit.
    #[must_use]
    pub fn revision(&self) -> &str {
        &self.revision
    }

    pub(super) fn is_whole_repository(&self) -> bool {
        self.wanted == Wanted::Usual
    }
}

/// The branch that counts without another.
const MAIN: &str = "main";

impl FromStr for HubName {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let wrong = |problem| HubError::Name { name: text.to_owned(), problem };
        let rest = text.strip_prefix(PREFIX).ok_or_else(|| wrong("does not begin with hf:"))?;
        let (owner, rest) = rest.split_once('/').ok_or_else(|| wrong("has no owner and name"))?;
        let end = rest.find(['@', ':', '/']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        if !is_part(owner) || !is_part(name) {
            return Err(wrong("has no owner and name of letters, digits, `.`, `-` and `_`"));
        }
        let (revision, rest) = match rest.strip_prefix('@') {
            None => (MAIN, rest),
            Some(rest) => {
                // Requests for changes are revisions such as `refs/pr/1`.
                let parts = if rest.starts_with("refs/") { 3 } else { 1 };
                let slash = rest.match_indices('/').nth(parts - 1).map_or(rest.len(), |(at, _)| at);
                rest.split_at(slash.min(rest.find(':').unwrap_or(rest.len())))
            }
        };
        if !revision.split('/').all(is_part) {
            return Err(wrong("has a malformed revision"));
        }
        let wanted = match (rest.strip_prefix(':'), rest.strip_prefix('/')) {
            (Some(kind), _) if is_part(kind) => Wanted::Kind(kind.to_owned()),
            (Some(_), _) => return Err(wrong("has a malformed kind")),
            (None, Some(file)) if is_path(file) && file.ends_with(".gguf") => Wanted::File(file.to_owned()),
            (None, Some(_)) => return Err(wrong("has a file that is no GGUF file")),
            (None, None) => Wanted::Usual,
        };
        Ok(Self { repository: format!("{owner}/{name}"), revision: revision.to_owned(), wanted })
    }
}

/// Whether a text may be a part of a path: nothing that leads elsewhere, or that a URL would need escapes
/// for.
fn is_part(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte))
        && text != "."
        && text != ".."
}

/// Whether a server's path is one below a folder.
pub(super) fn is_path(text: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty() && part != "." && part != ".." && !part.chars().any(|c| c.is_control() || c == '\\')
    };
    text.split('/').all(is_plain)
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.repository)?;
        if self.revision != MAIN {
            write!(f, "@{}", self.revision)?;
        }
        match &self.wanted {
            Wanted::Usual => Ok(()),
            Wanted::Kind(kind) => write!(f, ":{kind}"),
            Wanted::File(file) => write!(f, "/{file}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_written_as_it_was_read() {
        for (text, repository, revision, wanted) in [
            ("hf:a/b", "a/b", "main", Wanted::Usual),
            ("hf:a/b-1.5_x:Q4_K_M", "a/b-1.5_x", "main", Wanted::Kind("Q4_K_M".into())),
            ("hf:a/b/c d/e.gguf", "a/b", "main", Wanted::File("c d/e.gguf".into())),
            ("hf:a/b@v1.0:q8_0", "a/b", "v1.0", Wanted::Kind("q8_0".into())),
            ("hf:a/b@v1/c/e.gguf", "a/b", "v1", Wanted::File("c/e.gguf".into())),
            ("hf:a/b@refs/pr/3/e.gguf", "a/b", "refs/pr/3", Wanted::File("e.gguf".into())),
            ("hf:a/b@refs/pr/3", "a/b", "refs/pr/3", Wanted::Usual),
        ] {
            let name: HubName = text.parse().expect(text);
            assert_eq!(
                (name.repository.as_str(), name.revision.as_str(), &name.wanted),
                (repository, revision, &wanted)
            );
            assert_eq!(name.to_string(), text);
        }
        let main: HubName = "hf:a/b@main:X".parse().expect("a name");
        assert_eq!(main.to_string(), "hf:a/b:X");
    }

    #[test]
    fn malformed_names_are_refused_with_the_right_form() {
        for text in [
            "hf:",
            "hf:a",
            "hf:/b",
            "hf:a/",
            "hf:a/..",
            "hf:../b",
            "hf:a/b:",
            "hf:a/b/",
            "hf:a/b@",
            "hf:a/b@../x",
            "hf:a/b/c.txt",
            "hf:a/b/../c.gguf",
            "hf:a/b//c.gguf",
            "hf:a/b:x/y",
            "hf:a b/c",
            "hf:a/b?c",
            "x:a/b",
            "hf:a/b@refs/../../x",
        ] {
            let error = HubName::from_str(text).expect_err(text).to_string();
            assert!(error.contains(text) && error.contains("hf:OWNER/NAME"), "{error}");
        }
    }
}
