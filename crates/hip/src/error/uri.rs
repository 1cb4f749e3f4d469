//! What is wrong with a device URI.

use std::fmt;

/// Why a text is not a device URI: names the bad part and says what would be right.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad device URI `{uri}`: `{part}` {problem}; {expected}")]
pub struct UriError {
    pub(crate) uri: String,
    pub(crate) part: String,
    pub(crate) problem: &'static str,
    pub(crate) expected: String,
}

/// As its text: it is what a program prints whose `main` returns it.
impl fmt::Debug for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl UriError {
    /// The whole text that was to be parsed.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The part of it that is wrong.
    pub fn part(&self) -> &str {
        &self.part
    }

    /// What would be right.
    pub fn expected(&self) -> &str {
        &self.expected
    }
}
