//! Text to tokens and back, as a model's file defines it.
//!
//! A [`Tokenizer`] is made from a GGUF file or from a `tokenizer.json`. Encoding of plain text is that of
//! Hugging Face's `tokenizers`. Which texts stand for special tokens is decided here, so that a user's text
//! cannot contain one unless the caller allows it.

mod bytes;
mod json;
mod metadata;
mod split;
mod stream;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{Error, Result};
use bytes::Pieces;

pub use split::{PreTokenizer, pre_tokenizers};
pub(crate) use stream::StreamState;
pub use stream::TokenStream;

/// The tokens with a meaning of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialTokens {
    /// Begins a text.
    pub bos: Option<u32>,
    /// Ends a text.
    pub eos: Option<u32>,
    /// Stands for what the vocabulary lacks.
    pub unknown: Option<u32>,
    /// Fills up batches.
    pub padding: Option<u32>,
    /// All tokens that end generation, such as those that end a turn; sorted.
    pub stop: Vec<u32>,
}

/// How a token is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A part of text.
    Text,
    /// Found in text before anything else, and a part of it.
    UserDefined,
    /// Controls the model; not a part of text.
    Control,
    /// Never produced: placeholders, and the token for what is unknown.
    Unused,
}

/// A model's tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    path: PathBuf,
    /// Encodes text without any special token.
    plain: tokenizers::Tokenizer,
    /// Each token's bytes in text.
    pieces: Vec<Vec<u8>>,
    kinds: Vec<TokenKind>,
    names: HashMap<String, u32>,
    /// Finds control tokens and user-defined ones in text, the longest first.
    all: Finder,
    /// Finds the user-defined ones only.
    user_defined: Finder,
    special: SpecialTokens,
    /// What encoding adds, if asked.
    add_bos: bool,
    add_eos: bool,
    /// A space that each piece of text is given at its front.
    prefix: Prefix,
}

/// A space before text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    None,
    /// Before the first text, and before text after a special token; decoding removes it from the front.
    Space,
}

/// Finds texts of special tokens.
#[derive(Debug)]
struct Finder {
    texts: Option<AhoCorasick>,
    ids: Vec<u32>,
}

impl Finder {
    fn new(tokens: impl Iterator<Item = (String, u32)>) -> Result<Self, String> {
        let (texts, ids): (Vec<_>, Vec<_>) = tokens.filter(|(text, _)| !text.is_empty()).unzip();
        let texts = if texts.is_empty() {
            None
        } else {
            let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts);
            Some(finder.map_err(|error| error.to_string())?)
        };
        Ok(Self { texts, ids })
    }

    /// The text's parts: text, or a token.
    fn parts<'t>(&self, text: &'t str) -> Vec<Part<'t>> {
        let mut parts = Vec::new();
        let mut end = 0;
        for found in self.texts.iter().flat_map(|texts| texts.find_iter(text)) {
            if found.start() > end {
                parts.push(Part::Text(&text[end..found.start()]));
            }
            parts.push(Part::Token(self.ids[found.pattern().as_usize()]));
            end = found.end();
        }
        if end < text.len() {
            parts.push(Part::Text(&text[end..]));
        }
        parts
    }
}

enum Part<'t> {
    Text(&'t str),
    Token(u32),
}

/// What a tokenizer is made from.
struct Parts {
    plain: tokenizers::Tokenizer,
    pieces: Pieces,
    /// Names and kinds of all tokens, by id.
    tokens: Vec<(String, TokenKind)>,
    special: SpecialTokens,
    add_bos: bool,
    add_eos: bool,
    prefix: Prefix,
}

impl Tokenizer {
    fn of_parts(path: &Path, parts: Parts) -> Result<Self> {
        let Parts { plain, pieces, tokens, mut special, add_bos, add_eos, prefix } = parts;
        let found = |kinds: &[TokenKind]| {
            let tokens = tokens.iter().enumerate().filter(|(_, (_, kind))| kinds.contains(kind));
            Finder::new(tokens.map(|(id, (text, _))| (text.clone(), id as u32)))
        };
        let finder =
            |kinds| found(kinds).map_err(|problem| Error::Tokenizer { path: path.to_owned(), problem });
        let all = finder(&[TokenKind::Control, TokenKind::UserDefined])?;
        let user_defined = finder(&[TokenKind::UserDefined])?;
        special.stop.extend(special.eos);
        for (id, (text, kind)) in tokens.iter().enumerate() {
            if *kind == TokenKind::Control && ENDS.contains(&text.as_str()) {
                special.stop.push(id as u32);
            }
        }
        // GPT-OSS ends each message with `<|end|>`, of which an answer has several.
        let has = |name: &str| tokens.iter().any(|(text, kind)| *kind == TokenKind::Control && text == name);
        if has(CHANNEL) && has("<|return|>") && has("<|call|>") {
            special.stop.retain(|&id| tokens.get(id as usize).is_none_or(|(text, _)| text != "<|end|>"));
        }
        special.stop.sort_unstable();
        special.stop.dedup();
        let bytes = |(text, kind): &(String, TokenKind)| match kind {
            TokenKind::Control | TokenKind::Unused => Vec::new(),
            TokenKind::UserDefined => text.clone().into_bytes(),
            TokenKind::Text => pieces.bytes(text),
        };
        let (pieces, kinds) =
            (tokens.iter().map(bytes).collect(), tokens.iter().map(|(_, kind)| *kind).collect());
        let mut names = HashMap::new();
        for (id, (text, _)) in tokens.into_iter().enumerate() {
            names.entry(text).or_insert(id as u32);
        }
        let path = path.to_owned();
        Ok(Self { path, plain, pieces, kinds, names, all, user_defined, special, add_bos, add_eos, prefix })
    }

    /// The number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The tokens with a meaning of their own.
    #[must_use]
    pub fn special(&self) -> &SpecialTokens {
        &self.special
    }

    /// Whether the token ends generation.
    #[must_use]
    pub fn is_stop(&self, token: u32) -> bool {
        self.special.stop.binary_search(&token).is_ok()
    }

    /// A token's kind; `None` if there is none of this number.
    #[must_use]
    pub fn kind(&self, token: u32) -> Option<TokenKind> {
        self.kinds.get(token as usize).copied()
    }

    /// A token by its name, such as `<|im_end|>`.
    #[must_use]
    pub fn token(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    /// A token's bytes in text: none for a control token. They may be a part of a character.
    #[must_use]
    pub fn bytes(&self, token: u32) -> &[u8] {
        self.pieces.get(token as usize).map_or(&[], Vec::as_slice)
    }

    /// A token's text for messages: its bytes, or the name of a control token.
    #[must_use]
    pub fn name(&self, token: u32) -> String {
        match self.kind(token) {
            Some(TokenKind::Control | TokenKind::Unused) => {
                let name = self.names.iter().find(|(_, id)| **id == token);
                name.map(|(name, _)| name.clone()).unwrap_or_default()
            }
            _ => String::from_utf8_lossy(self.bytes(token)).into_owned(),
        }
    }

    /// The tokens of a text, between those that the model wants around every text.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] if the vocabulary has no token for a part of the text.
    pub fn encode(&self, text: &str, names: SpecialText) -> Result<Vec<u32>> {
        let mut tokens: Vec<u32> = self.special.bos.filter(|_| self.add_bos).into_iter().collect();
        // A template may already begin with it.
        let body = self.encode_part(text, names)?;
        if tokens.is_empty() || body.first() != tokens.first() {
            tokens.extend(body);
        } else {
            tokens = body;
        }
        tokens.extend(self.special.eos.filter(|_| self.add_eos));
        Ok(tokens)
    }

    /// The tokens of a text, with nothing around them.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_part(&self, text: &str, names: SpecialText) -> Result<Vec<u32>> {
        let finder = match names {
            SpecialText::Tokens => &self.all,
            SpecialText::Text => &self.user_defined,
        };
        let mut tokens = Vec::new();
        let mut after_special = true;
        for part in finder.parts(text) {
            match part {
                Part::Token(token) => {
                    tokens.push(token);
                    after_special = true;
                }
                Part::Text(text) => {
                    let prefixed;
                    let text = if self.prefix == Prefix::Space && after_special {
                        prefixed = format!(" {text}");
                        prefixed.as_str()
                    } else {
                        text
                    };
                    tokens.extend_from_slice(self.encode_text(text)?.get_ids());
                    after_special = false;
                }
            }
        }
        Ok(tokens)
    }

    fn encode_text(&self, text: &str) -> Result<tokenizers::Encoding> {
        self.plain.encode_fast(text, false).map_err(|error| Error::Tokenizer {
            path: self.path.clone(),
            problem: format!("cannot encode a text: {error}"),
        })
    }

    /// The text of tokens. Bytes that are no characters become `U+FFFD`.
    #[must_use]
    pub fn decode(&self, tokens: &[u32]) -> String {
        let mut bytes: Vec<u8> = tokens.iter().flat_map(|&token| self.bytes(token)).copied().collect();
        if self.prefix == Prefix::Space && bytes.first() == Some(&b' ') {
            bytes.remove(0);
        }
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Decodes tokens one by one. Text appears once its characters are complete.
    #[must_use]
    pub fn stream(&self) -> TokenStream<'_> {
        TokenStream::new(self)
    }
}

/// What a text such as `<|im_end|>` inside of a text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialText {
    /// The control token of this name: for templates, whose author is trusted.
    Tokens,
    /// Its letters: for texts of users.
    Text,
}

/// A control token that only models have whose answers consist of several messages.
const CHANNEL: &str = "<|channel|>";

/// Control tokens that end a turn or a text, by their names in the models that have them.
const ENDS: [&str; 14] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<EOT>",
    "<|EOT|>",
    "<|end_of_text|>",
    "<｜end▁of▁sentence｜>",
    "<eos>",
    "</s>",
];

#[cfg(test)]
mod tests;
