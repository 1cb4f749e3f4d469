//! Tokenizers in `tokenizer.json` files.

use std::path::Path;

use tokenizers::{DecoderWrapper, ModelWrapper};

use super::bytes::Pieces;
use super::{Parts, Prefix, SpecialTokens, TokenKind, Tokenizer};
use crate::error::{Error, Result};

impl Tokenizer {
    /// The tokenizer of a `tokenizer.json` file, and of the `tokenizer_config.json` beside it, if there is
    /// one: its `bos_token`, `eos_token`, `add_bos_token` and `add_eos_token`.
    ///
    /// # Errors
    /// [`Error::Io`], and [`Error::Tokenizer`] with the reason.
    pub fn from_json(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
        let config = match std::fs::read(path.with_file_name("tokenizer_config.json")) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(Error::io("read", &path.with_file_name("tokenizer_config.json"), error));
            }
        };
        let parts = parts(&bytes, config.as_deref())
            .map_err(|problem| Error::Tokenizer { path: path.to_owned(), problem })?;
        Self::of_parts(path, parts)
    }

    /// The tokenizer of such a file's text.
    pub(crate) fn of_json(bytes: &[u8], path: &Path) -> Result<Self> {
        let parts =
            parts(bytes, None).map_err(|problem| Error::Tokenizer { path: path.to_owned(), problem })?;
        Self::of_parts(path, parts)
    }
}

fn parts(bytes: &[u8], config: Option<&[u8]>) -> Result<Parts, String> {
    let mut plain =
        tokenizers::Tokenizer::from_bytes(bytes).map_err(|error| format!("cannot be read: {error}"))?;
    let config: serde_json::Value = match config {
        Some(bytes) => serde_json::from_slice(bytes)
            .map_err(|error| format!("has a tokenizer_config.json that cannot be read: {error}"))?,
        None => serde_json::Value::Null,
    };
    let added = plain.get_added_tokens_decoder();
    let size = added.keys().map(|&id| id as usize + 1).max().unwrap_or(0).max(plain.get_vocab_size(true));
    if size > 1 << 24 {
        return Err(format!("has {size} tokens"));
    }
    let mut tokens = Vec::with_capacity(size);
    for id in 0..size as u32 {
        let kind = match added.get(&id) {
            Some(token) if token.special => TokenKind::Control,
            Some(_) => TokenKind::UserDefined,
            None => TokenKind::Text,
        };
        match plain.id_to_token(id) {
            Some(name) => tokens.push((name, kind)),
            None => tokens.push((String::new(), TokenKind::Unused)),
        }
    }
    plain.with_truncation(None).map_err(|error| error.to_string())?;
    plain.with_padding(None);
    // What is put around every text is what an empty text becomes.
    let around = plain
        .encode_fast("", true)
        .map_err(|error| format!("cannot encode a text: {error}"))?
        .get_ids()
        .to_vec();
    // The texts of special tokens are found here, not there.
    plain.set_encode_special_tokens(true);
    plain.with_post_processor(None::<tokenizers::PostProcessorWrapper>);
    let named = |name: &str| {
        let value = config.get(name)?;
        let text = value.as_str().or_else(|| value.get("content")?.as_str())?;
        plain.token_to_id(text)
    };
    let mut special = SpecialTokens {
        bos: named("bos_token"),
        eos: named("eos_token"),
        unknown: named("unk_token"),
        padding: named("pad_token"),
        stop: Vec::new(),
    };
    let flag = |name: &str| config.get(name).and_then(serde_json::Value::as_bool);
    let pieces = pieces(&plain)?;
    let (before, after) = match around[..] {
        [before, after] => (Some(before), Some(after)),
        [one] if special.eos == Some(one) && special.bos != Some(one) => (None, Some(one)),
        [one] => (Some(one), None),
        _ => (None, None),
    };
    special.bos = before.or(special.bos);
    // A text's separator is not what ends a generated text.
    special.eos = if pieces == Pieces::WordPiece { after.or(special.eos) } else { special.eos.or(after) };
    let add_bos = flag("add_bos_token").unwrap_or(before.is_some());
    let add_eos = flag("add_eos_token").unwrap_or(after.is_some());
    Ok(Parts { plain, pieces, tokens, special, add_bos, add_eos, prefix: Prefix::None })
}

/// How the vocabulary writes its tokens, by the decoder.
fn pieces(plain: &tokenizers::Tokenizer) -> Result<Pieces, String> {
    fn of(decoder: &DecoderWrapper) -> Option<Pieces> {
        match decoder {
            DecoderWrapper::ByteLevel(_) => Some(Pieces::ByteLevel),
            DecoderWrapper::WordPiece(_) => Some(Pieces::WordPiece),
            DecoderWrapper::Metaspace(_) | DecoderWrapper::ByteFallback(_) => Some(Pieces::SentencePiece),
            DecoderWrapper::Sequence(sequence) => sequence.get_decoders().iter().find_map(of),
            _ => None,
        }
    }
    match (plain.get_decoder().and_then(of), plain.get_model()) {
        (Some(pieces), _) => Ok(pieces),
        (None, ModelWrapper::WordPiece(_)) => Ok(Pieces::WordPiece),
        (None, _) => {
            Err("has a decoder that is not known; known are ByteLevel, ByteFallback, Metaspace, WordPiece"
                .into())
        }
    }
}
