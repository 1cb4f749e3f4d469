//! What reads answers: which one depends on how the model writes.

use crate::harmony;
use crate::parser::{Parser, Part};

/// Reads one answer.
#[derive(Debug)]
pub(crate) enum Reader {
    /// Markers in text.
    Marked(Parser),
    /// Messages of Harmony.
    Harmony(harmony::Parser),
}

impl Reader {
    /// The parts that this text completes.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Part> {
        match self {
            Self::Marked(parser) => parser.push(text),
            Self::Harmony(parser) => parser.push(text),
        }
    }

    /// The remaining parts.
    pub(crate) fn finish(self) -> Vec<Part> {
        match self {
            Self::Marked(parser) => parser.finish(),
            Self::Harmony(parser) => parser.finish(),
        }
    }
}
