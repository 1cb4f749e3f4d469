//! Harmony, the format of GPT-OSS's conversations: messages with roles, channels and recipients between
//! control tokens.
//!
//! Prompts are made of pieces: control tokens, and texts in which the name of a control token is only
//! letters. Answers are read by [`Parser`]: the channel `analysis` is reasoning, `final` is for the user, and
//! messages to `functions.NAME` are calls.

mod parser;
mod render;
#[cfg(test)]
mod tests;
mod typescript;

use serde_json::Value;

use crate::engine::{Result, SpecialText, Tokenizer};

pub use parser::{Begun, Parser};
pub(crate) use render::{Effort, Opening, Today, one_call, render};

/// The control tokens that a model must have, and that are shown in the texts of answers. The latter two end
/// an answer.
const MARKERS: [&str; 7] = [START, MESSAGE, CHANNEL, CONSTRAIN, END, "<|return|>", CALL];
const START: &str = "<|start|>";
const MESSAGE: &str = "<|message|>";
const CHANNEL: &str = "<|channel|>";
const CONSTRAIN: &str = "<|constrain|>";
const END: &str = "<|end|>";
const CALL: &str = "<|call|>";

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A control token, by its name.
    Control(&'static str),
    /// Text, whatever is in it.
    Text(String),
}

/// Whether a model's vocabulary is that of Harmony.
pub(crate) fn is_spoken(tokenizer: &Tokenizer) -> bool {
    MARKERS.iter().all(|name| tokenizer.token(name).is_some())
}

/// The tokens whose names the texts of answers must have.
pub(crate) fn markers(tokenizer: &Tokenizer) -> Vec<u32> {
    MARKERS.iter().filter_map(|name| tokenizer.token(name)).collect()
}

/// The tokens of a prompt.
pub(crate) fn tokens(pieces: &[Piece], tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    let mut tokens = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Control(name) => tokens.extend(tokenizer.token(name)),
            Piece::Text(text) => tokens.extend(tokenizer.encode_part(text, SpecialText::Text)?),
        }
    }
    Ok(tokens)
}

/// A prompt's text.
pub(crate) fn text(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Control(name) => (*name).to_owned(),
        Piece::Text(text) => text.clone(),
    };
    pieces.iter().map(text).collect()
}

/// A field of a message that is a text.
fn field<'m>(message: &'m Value, name: &str) -> Option<&'m str> {
    message.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}
