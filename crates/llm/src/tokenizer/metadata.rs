//! Tokenizers in GGUF files.

use std::path::Path;

use tokenizers::models::bpe::BPE;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::{BertNormalizer, Replace};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

use super::bytes::{Pieces, SPACE};
use super::{Parts, Prefix, SpecialTokens, TokenKind, Tokenizer, split};
use crate::error::{Error, Result};
use crate::gguf::{Metadata, MetadataError};

/// Tokens of a vocabulary.
const MOST_TOKENS: usize = 1 << 24;
/// The longest token whose parts are looked for, in bytes: a token of n characters has n - 1 ways to be made.
const LONGEST: usize = 1 << 12;

/// Why there is no tokenizer.
enum Problem {
    Metadata(MetadataError),
    Text(String),
}

impl From<MetadataError> for Problem {
    fn from(error: MetadataError) -> Self {
        Self::Metadata(error)
    }
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<tokenizers::Error> for Problem {
    fn from(error: tokenizers::Error) -> Self {
        Self::Text(format!("is inconsistent: {error}"))
    }
}

impl Tokenizer {
    /// The tokenizer of a GGUF file, from the values `tokenizer.ggml.*`. `path` is for errors.
    ///
    /// Models `llama` (SentencePiece's pairs), `gpt2` (bytes, with the pre-tokenizers of
    /// [`pre_tokenizers`](super::pre_tokenizers)) and `bert` (WordPiece) are known.
    ///
    /// # Errors
    /// [`Error::Metadata`] for a missing value, [`Error::Tokenizer`] for one that makes no sense or is not
    /// known.
    pub fn from_metadata(metadata: &Metadata, path: &Path) -> Result<Self> {
        let path = path.to_owned();
        match parts(metadata) {
            Ok(parts) => Self::of_parts(&path, parts),
            Err(Problem::Metadata(error)) => Err(Error::Metadata { path, error }),
            Err(Problem::Text(problem)) => Err(Error::Tokenizer { path, problem }),
        }
    }
}

fn key(name: &str) -> String {
    format!("tokenizer.ggml.{name}")
}

fn parts(metadata: &Metadata) -> Result<Parts, Problem> {
    let model = metadata.required(&key("model"), Metadata::str)?;
    let names = metadata.required(&key("tokens"), Metadata::strings)?;
    if names.is_empty() || names.len() > MOST_TOKENS {
        return Err(format!("has {} tokens", names.len()).into());
    }
    let kinds = metadata.u64s(&key("token_type"))?;
    if let Some(kinds) = &kinds
        && kinds.len() != names.len()
    {
        return Err(format!("has {} tokens and {} types of them", names.len(), kinds.len()).into());
    }
    let kind = |at: usize| match kinds.as_ref().map_or(1, |kinds| kinds[at]) {
        3 => TokenKind::Control,
        4 => TokenKind::UserDefined,
        2 | 5 => TokenKind::Unused,
        _ => TokenKind::Text,
    };
    let tokens: Vec<_> = names.iter().enumerate().map(|(at, name)| (name.clone(), kind(at))).collect();
    let known = |name: &str| -> Result<Option<u32>, Problem> {
        match metadata.u64(&key(name))? {
            Some(id) if id >= names.len() as u64 => {
                // Files without a padding token say 2^32 - 1.
                if id == u64::from(u32::MAX) {
                    Ok(None)
                } else {
                    Err(format!("has {} tokens, and {name} is {id}", names.len()).into())
                }
            }
            id => Ok(id.map(|id| id as u32)),
        }
    };
    let mut special = SpecialTokens {
        bos: known("bos_token_id")?,
        eos: known("eos_token_id")?,
        unknown: known("unknown_token_id")?,
        padding: known("padding_token_id")?,
        stop: Vec::new(),
    };
    special.stop.extend(known("eot_token_id")?);
    special.stop.extend(known("eom_token_id")?);
    let flag = |name: &str, otherwise| -> Result<bool, Problem> {
        Ok(metadata.bool(&key(name))?.unwrap_or(otherwise))
    };
    match model {
        "llama" => {
            let scores = metadata.required(&key("scores"), Metadata::f32s)?;
            if scores.len() != names.len() {
                return Err(format!("has {} tokens and {} scores", names.len(), scores.len()).into());
            }
            let has_prefix = flag("add_space_prefix", true)?;
            let unknown = special.unknown.map(|id| names[id as usize].clone());
            Ok(Parts {
                plain: sentence_piece(&tokens, scores, unknown)?,
                pieces: Pieces::SentencePiece,
                tokens,
                special,
                add_bos: flag("add_bos_token", true)?,
                add_eos: flag("add_eos_token", false)?,
                prefix: if has_prefix { Prefix::Space } else { Prefix::None },
            })
        }
        "gpt2" => {
            let name = metadata.str(&key("pre"))?.unwrap_or("gpt-2");
            let Some(pre) = split::named(if name == "default" { "gpt-2" } else { name }) else {
                let known: Vec<_> =
                    split::pre_tokenizers().iter().flat_map(|row| row.names).copied().collect();
                return Err(format!(
                    "splits text as `{name}`, which is not known; known are {}",
                    known.join(", ")
                )
                .into());
            };
            let merges = metadata.required(&key("merges"), Metadata::strings)?;
            Ok(Parts {
                plain: byte_level(&tokens, merges, pre)?,
                pieces: Pieces::ByteLevel,
                tokens,
                special,
                add_bos: flag("add_bos_token", pre.add_bos)?,
                add_eos: flag("add_eos_token", false)?,
                prefix: Prefix::None,
            })
        }
        "bert" => {
            // Files write `▁go` and `ing` for BERT's `go` and `##ing`.
            let tokens: Vec<_> = tokens
                .into_iter()
                .map(|(name, kind)| match (kind, name.strip_prefix(SPACE)) {
                    (TokenKind::Text | TokenKind::UserDefined, Some(word)) => {
                        (word.to_owned(), TokenKind::Text)
                    }
                    (TokenKind::Text | TokenKind::UserDefined, None) => {
                        (format!("##{name}"), TokenKind::Text)
                    }
                    _ => (name, kind),
                })
                .collect();
            let cls = known("cls_token_id")?.or(special.bos);
            let separator = known("seperator_token_id")?.or(special.eos);
            let unknown = special.unknown.map_or("[UNK]".to_owned(), |id| tokens[id as usize].0.clone());
            let plain = word_piece(&tokens, unknown)?;
            special.bos = cls;
            special.eos = separator;
            Ok(Parts {
                plain,
                pieces: Pieces::WordPiece,
                tokens,
                special,
                add_bos: flag("add_bos_token", true)?,
                add_eos: flag("add_eos_token", true)?,
                prefix: Prefix::None,
            })
        }
        other => {
            Err(format!("is of the kind `{other}`, which is not known; known are llama, gpt2, bert").into())
        }
    }
}

/// Tokens that text may become, by name.
type Vocabulary = Vec<(String, u32)>;

fn vocabulary(tokens: &[(String, TokenKind)]) -> Vocabulary {
    let mut taken = std::collections::HashSet::new();
    let tokens = tokens.iter().enumerate();
    tokens
        .filter(|(_, (name, _))| taken.insert(name.as_str()))
        .map(|(id, (name, _))| (name.clone(), id as u32))
        .collect()
}

/// SentencePiece's pairs: of all neighbours that make a token, the pair with the best score is merged first.
fn sentence_piece(
    tokens: &[(String, TokenKind)],
    scores: &[f32],
    unknown: Option<String>,
) -> Result<tokenizers::Tokenizer, Problem> {
    let vocabulary = vocabulary(tokens);
    let ids: std::collections::HashMap<&str, u32> =
        vocabulary.iter().map(|(name, id)| (name.as_str(), *id)).collect();
    let mut merges: Vec<(f32, u32, u32, u32)> = Vec::new();
    for (name, id) in &vocabulary {
        if tokens[*id as usize].1 != TokenKind::Text || name.len() > LONGEST {
            continue;
        }
        for (at, _) in name.char_indices().skip(1) {
            if let (Some(&left), Some(&right)) = (ids.get(&name[..at]), ids.get(&name[at..])) {
                merges.push((scores[*id as usize], *id, left, right));
            }
        }
    }
    // Of equal scores, the earlier token first.
    merges.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let name = |id: u32| tokens[id as usize].0.clone();
    let merges = merges.into_iter().map(|(_, _, left, right)| (name(left), name(right))).collect();
    let has_bytes = ids.contains_key("<0x00>");
    let vocabulary: ahash::AHashMap<String, u32> = vocabulary.into_iter().collect();
    let mut model =
        BPE::builder().vocab_and_merges(vocabulary, merges).fuse_unk(true).byte_fallback(has_bytes);
    if let Some(unknown) = unknown {
        model = model.unk_token(unknown);
    }
    let mut tokenizer = tokenizers::Tokenizer::new(model.build()?);
    tokenizer.with_normalizer(Some(Replace::new(" ", SPACE.to_string())?))?;
    Ok(tokenizer)
}

/// GPT-2's: bytes as characters, merged in the order of the list.
fn byte_level(
    tokens: &[(String, TokenKind)],
    merges: &[String],
    pre: &split::PreTokenizer,
) -> Result<tokenizers::Tokenizer, Problem> {
    let vocabulary: ahash::AHashMap<String, u32> = vocabulary(tokens).into_iter().collect();
    let mut pairs = Vec::new();
    for merge in merges {
        // A part may be a space only in vocabularies that do not write bytes as characters.
        let pair = merge.split_once(' ').filter(|(left, right)| !left.is_empty() && !right.is_empty());
        let Some((left, right)) = pair else {
            return Err(format!("has the merge `{merge}`, which is not two parts").into());
        };
        for part in [left, right] {
            if !vocabulary.contains_key(part) {
                return Err(format!("has the merge `{merge}`, and no token `{part}`").into());
            }
        }
        if !vocabulary.contains_key(&format!("{left}{right}")) {
            return Err(format!("has the merge `{merge}`, and no token of both").into());
        }
        pairs.push((left.to_owned(), right.to_owned()));
    }
    let model = BPE::builder().vocab_and_merges(vocabulary, pairs).ignore_merges(pre.whole_tokens).build()?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    let mut steps: Vec<PreTokenizerWrapper> = Vec::new();
    for pattern in pre.patterns {
        let pattern = SplitPattern::Regex((*pattern).to_owned());
        steps.push(Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?.into());
    }
    steps.push(ByteLevel::new(false, true, false).into());
    tokenizer.with_pre_tokenizer(Some(Sequence::new(steps)));
    Ok(tokenizer)
}

fn word_piece(tokens: &[(String, TokenKind)], unknown: String) -> Result<tokenizers::Tokenizer, Problem> {
    let vocabulary: ahash::AHashMap<String, u32> = vocabulary(tokens).into_iter().collect();
    if !vocabulary.contains_key(&unknown) {
        return Err(format!("has no token `{unknown}` for what is unknown").into());
    }
    let model = WordPiece::builder().vocab(vocabulary).unk_token(unknown).build()?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    tokenizer.with_normalizer(Some(BertNormalizer::new(true, true, None, true)))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    Ok(tokenizer)
}
