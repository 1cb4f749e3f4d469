//! Grammars that a text must follow, by `llguidance`.

use std::fmt;
use std::sync::Arc;

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{SimpleVob, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};
use llguidance::{Matcher, ParserFactory};

use crate::engine::Constraint;
use crate::error::{Error, Result};
use crate::tokenizer::{SpecialText, TokenKind, Tokenizer};

/// Makes grammars for one vocabulary.
pub(crate) struct Grammars {
    factory: ParserFactory,
}

/// A request's grammar, and how far its text has come.
pub(crate) struct Grammar {
    matcher: Matcher,
    allowed: SimpleVob,
    vocabulary: usize,
}

impl fmt::Debug for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grammar").field("is_stopped", &self.matcher.is_stopped()).finish_non_exhaustive()
    }
}

/// The vocabulary, as `llguidance` sees it.
struct Vocabulary {
    trie: TokTrie,
    tokenizer: Arc<Tokenizer>,
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let text = std::str::from_utf8(bytes).ok();
        let tokens = text.and_then(|text| self.tokenizer.encode_part(text, SpecialText::Text).ok());
        // Parts of characters have no tokens of their own order.
        tokens.unwrap_or_else(|| self.trie.greedy_tokenize(bytes))
    }
}

fn refused(error: impl fmt::Display) -> Error {
    Error::Constraint { problem: format!("cannot be used: {error}") }
}

impl Grammars {
    pub(crate) fn new(tokenizer: &Arc<Tokenizer>) -> Result<Self> {
        let end = tokenizer.special().eos.or_else(|| tokenizer.special().stop.first().copied());
        let end = end.ok_or_else(|| refused("the vocabulary has no token that ends a text"))?;
        let count = u32::try_from(tokenizer.len()).map_err(refused)?;
        let word = |token: u32| match tokenizer.kind(token) {
            // A byte that no text has marks a token that is not text.
            Some(TokenKind::Control) => {
                [&[TokTrie::SPECIAL_TOKEN_MARKER][..], tokenizer.name(token).as_bytes()].concat()
            }
            _ => tokenizer.bytes(token).to_vec(),
        };
        let words: Vec<Vec<u8>> = (0..count).map(word).collect();
        let trie = TokTrie::from(&TokRxInfo::new(count, end), &words);
        let environment: TokEnv = Arc::new(Vocabulary { trie, tokenizer: Arc::clone(tokenizer) });
        let mut factory = ParserFactory::new_simple(&environment).map_err(refused)?;
        factory.quiet();
        Ok(Self { factory })
    }

    pub(crate) fn compile(&self, constraint: &Constraint) -> Result<Grammar> {
        let grammar = match constraint {
            Constraint::JsonSchema(schema) => TopLevelGrammar::from_json_schema(schema.clone()),
            Constraint::Lark(text) => TopLevelGrammar::from_lark(text.clone()),
            Constraint::Regex(expression) => TopLevelGrammar::from_regex(expression),
        };
        let mut matcher = Matcher::new(self.factory.create_parser(grammar));
        if let Some(error) = matcher.get_error() {
            return Err(refused(error));
        }
        let allowed = matcher.compute_mask_or_eos().map_err(refused)?;
        let vocabulary = self.factory.tok_env().tok_trie().vocab_size();
        Ok(Grammar { matcher, allowed, vocabulary })
    }
}

impl Grammar {
    /// Whether the text may go on with this token.
    pub(crate) fn allows(&self, token: u32) -> bool {
        (token as usize) < self.vocabulary && self.allowed.is_allowed(token)
    }

    /// The text goes on with this token; whether it is complete.
    pub(crate) fn push(&mut self, token: u32) -> Result<bool> {
        self.matcher.consume_token(token).map_err(refused)?;
        if self.matcher.is_stopped() {
            return Ok(true);
        }
        self.allowed = self.matcher.compute_mask_or_eos().map_err(refused)?;
        Ok(self.matcher.is_stopped())
    }
}
