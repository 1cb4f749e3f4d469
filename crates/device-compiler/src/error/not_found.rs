//! The error for a missing compiler.

use std::fmt;

/// A place that was tried, and why it was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What was looked for.
    pub what: &'static str,
    /// Where.
    pub place: String,
    /// Why it was rejected.
    pub reason: String,
}

/// No complete toolchain was found, or no nvcc.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NotFound {
    /// What was looked for.
    pub what: &'static str,
    /// Every place that was tried, in order.
    pub attempts: Vec<Attempt>,
    /// What to do.
    pub remedy: String,
}

impl NotFound {
    /// Only the places, one per line.
    #[must_use]
    pub fn places(&self) -> String {
        let line = |Attempt { what, place, reason }: &Attempt| format!("  {what}: {place}: {reason}");
        self.attempts.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, remedy, .. } = self;
        write!(f, "no {what} was found; tried\n{}\nTo get one, {remedy}.", self.places())
    }
}
