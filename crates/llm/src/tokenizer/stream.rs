//! Decoding token by token.

use super::{Prefix, Tokenizer};

/// Decodes tokens as they come. A character whose bytes are in several tokens appears with the last of them.
#[derive(Debug)]
pub struct TokenStream<'t> {
    tokenizer: &'t Tokenizer,
    state: StreamState,
}

impl<'t> TokenStream<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer) -> Self {
        Self { tokenizer, state: StreamState::default() }
    }

    /// The text that this token completes; it may be empty. Bytes that cannot become characters are
    /// `U+FFFD`.
    pub fn push(&mut self, token: u32) -> String {
        self.state.push(self.tokenizer, token)
    }

    /// What is left when no more tokens come: incomplete characters, as `U+FFFD`.
    pub fn finish(mut self) -> String {
        self.state.take(true)
    }
}

/// What a [`TokenStream`] remembers, without its tokenizer.
#[derive(Debug, Default)]
pub(crate) struct StreamState {
    /// Bytes that are not yet a whole character.
    pending: Vec<u8>,
    has_begun: bool,
}

impl StreamState {
    /// As [`TokenStream::push`].
    pub(crate) fn push(&mut self, tokenizer: &Tokenizer, token: u32) -> String {
        let mut bytes = tokenizer.bytes(token);
        if !self.has_begun && !bytes.is_empty() {
            self.has_begun = true;
            if tokenizer.prefix == Prefix::Space {
                bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
            }
        }
        self.pending.extend_from_slice(bytes);
        self.take(false)
    }

    /// A stream that goes on after other text, whose first space is kept.
    pub(crate) fn within_text() -> Self {
        Self { has_begun: true, ..Self::default() }
    }

    /// As [`TokenStream::finish`].
    pub(crate) fn finish(&mut self) -> String {
        self.take(true)
    }

    fn take(&mut self, all: bool) -> String {
        let mut text = String::new();
        loop {
            let (valid, length) = match std::str::from_utf8(&self.pending) {
                Ok(_) => (self.pending.len(), Some(0)),
                Err(error) => (error.valid_up_to(), error.error_len()),
            };
            let rest = self.pending.split_off(valid);
            let complete = std::mem::replace(&mut self.pending, rest);
            text.push_str(&String::from_utf8(complete).unwrap_or_default());
            match length {
                Some(0) => return text,
                Some(bad) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.pending.drain(..bad);
                }
                None if all => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.pending.clear();
                    return text;
                }
                None => return text,
            }
        }
    }
}
