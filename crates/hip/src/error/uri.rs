//! Errors of device URIs.

use std::fmt;

/// Why a text is not a device URI: the bad part, and what would be valid.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad device URI `{uri}`: `{part}` {problem}; {expected}")]
pub struct UriError {
    pub(crate) uri: String,
    pub(crate) part: String,
    pub(crate) problem: &'static str,
    pub(crate) expected: String,
}

/// The same as `Display`: Rust prints an error that `main` returns with `Debug`.
impl fmt::Debug for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl UriError {
    /// The whole text.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The invalid part.
    pub fn part(&self) -> &str {
        &self.part
    }

    /// What would be valid.
    pub fn expected(&self) -> &str {
        &self.expected
    }
}
