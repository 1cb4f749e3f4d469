//! A request that runs.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::pages::SequencePages;
use super::progress::Progress;
use crate::engine::{Event, EventSender, FinishReason, Request, Usage};
use crate::error::{Error, Result};
use crate::generate::constraint::Grammar;
use crate::generate::sampler::{Choice, Sampler};
use crate::generate::stop::StopFinder;
use crate::tokenizer::{StreamState, Tokenizer};

/// A request, with all that belongs to it.
#[derive(Debug)]
pub(super) struct Sequence {
    /// Different whenever a sequence gets a place.
    pub(super) number: u64,
    /// The prompt's tokens, then the result's.
    pub(super) tokens: Vec<u32>,
    /// How many of them are computed.
    pub(super) progress: Progress,
    pub(super) pages: SequencePages,
    pub(super) sampler: Sampler,
    grammar: Option<Box<Grammar>>,
    prompt: usize,
    /// Tokens of the prompt that earlier requests had left in the cache.
    reused: usize,
    max_tokens: usize,
    /// Guesses, and those that were right.
    guesses: usize,
    right: usize,
    ignore_end: bool,
    stops: StopFinder,
    /// Control tokens that are shown by their names.
    visible: Vec<u32>,
    text: StreamState,
    events: EventSender,
    started: Option<Instant>,
    prompt_time: Duration,
}

impl Sequence {
    pub(super) fn new(
        request: Request,
        grammar: Option<Box<Grammar>>,
        events: EventSender,
        tokenizer: &Tokenizer,
    ) -> Self {
        let breakers = match &request.sampling.dry {
            Some(dry) => breakers(&dry.breakers, tokenizer),
            None => HashSet::new(),
        };
        Self {
            number: 0,
            prompt: request.prompt.len(),
            tokens: request.prompt,
            progress: Progress::default(),
            pages: SequencePages::default(),
            sampler: Sampler::new(request.sampling, breakers, request.logprobs),
            grammar,
            reused: 0,
            max_tokens: request.max_tokens,
            guesses: 0,
            right: 0,
            ignore_end: request.ignore_end,
            stops: StopFinder::new(&request.stop),
            visible: request.visible,
            text: StreamState::within_text(),
            events,
            started: None,
            prompt_time: Duration::ZERO,
        }
    }

    /// Whether the most likely token is chosen, and nothing else is asked for.
    pub(super) fn is_argmax(&self) -> bool {
        self.grammar.is_none() && self.sampler.is_argmax()
    }

    /// The settings for a device that draws tokens itself, if it can.
    pub(super) fn device_settings(&self) -> Option<backend::Sampling> {
        self.sampler.device_settings().filter(|_| self.grammar.is_none())
    }

    /// Whether a device that draws tokens needs nothing of this sequence for that, and the host nothing but
    /// the token.
    pub(super) fn is_drawn_by_device(&self) -> bool {
        self.device_settings().is_some() && !self.sampler.has_logprobs()
    }

    /// A token for these logits.
    pub(super) fn choose(&mut self, logits: &mut [f32]) -> Choice {
        match &self.grammar {
            None => self.sampler.choose(logits, &self.tokens, None),
            Some(grammar) => self.sampler.choose(logits, &self.tokens, Some(&|token| grammar.allows(token))),
        }
    }

    /// Whether nobody listens any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.events.is_closed()
    }

    /// Tokens whose keys and values are not in the cache. One of them is computed with the next step.
    pub(super) fn left(&self) -> usize {
        self.tokens.len() - self.progress.computed
    }

    /// The sequence gets a place, and these pages of earlier ones.
    pub(super) fn start(&mut self, number: u64, pages: SequencePages, page: usize) {
        self.number = number;
        self.progress = Progress::at(pages.pages.len() * page);
        self.pages = pages;
        if self.started.is_none() {
            self.started = Some(Instant::now());
            self.reused = self.progress.computed;
        }
    }

    /// A part of the tokens was computed.
    pub(super) fn advance(&mut self, tokens: usize) {
        self.progress.computed += tokens;
        if self.tokens.len() == self.prompt {
            if self.left() == 0 {
                self.prompt_time = self.started.map(|started| started.elapsed()).unwrap_or_default();
            }
            self.events.send(Event::Prompt {
                tokens: self.progress.computed,
                reused: self.reused,
                of: self.prompt,
            });
        }
    }

    /// The result's next token; why the result ends with it, if it does.
    ///
    /// # Errors
    /// Those of a constraint.
    pub(super) fn push(
        &mut self,
        choice: Choice,
        tokenizer: &Tokenizer,
        context: usize,
    ) -> Result<Option<FinishReason>> {
        self.tokens.push(choice.token);
        if tokenizer.is_stop(choice.token) && !self.ignore_end {
            return Ok(Some(FinishReason::Stop));
        }
        // What the grammar does not allow is not chosen, so this fails only for grammars that get too large.
        let is_complete = match &mut self.grammar {
            None => false,
            Some(grammar) => grammar.push(choice.token)?,
        };
        let mut text = self.text.push(tokenizer, choice.token);
        if self.visible.contains(&choice.token) {
            text.push_str(&tokenizer.name(choice.token));
        }
        let found = self.stops.push(&text);
        self.events.send(Event::Token { id: choice.token, text: found.text, logprob: choice.logprob });
        Ok(match found.stop {
            Some(stop) => Some(FinishReason::StopSequence(stop)),
            None if is_complete => Some(FinishReason::Stop),
            None if self.is_full(0, context) => Some(FinishReason::Length),
            None => None,
        })
    }

    /// Whether the length ends the text, with so many more tokens.
    fn is_full(&self, more: usize, context: usize) -> bool {
        self.generated() + more >= self.max_tokens || self.tokens.len() + more >= context
    }

    /// Whether the text ends with the next token, whatever that is.
    pub(super) fn ends_with_next(&self, context: usize) -> bool {
        self.is_full(1, context)
    }

    /// How many tokens it is worth guessing, beside the next one.
    pub(super) fn guessable(&self, most: usize, context: usize) -> usize {
        match self.generated() {
            0 => 0,
            generated => most
                .min((self.max_tokens - generated).saturating_sub(1))
                .min(context.saturating_sub(self.tokens.len() + 1)),
        }
    }

    /// Some tokens were guessed, and some of them were right.
    pub(super) fn count_guesses(&mut self, guesses: usize, right: usize) {
        self.guesses += guesses;
        self.right += right;
    }

    /// Whether there are tokens of the result.
    pub(super) fn has_begun(&self) -> bool {
        self.generated() > 0
    }

    fn generated(&self) -> usize {
        self.tokens.len() - self.prompt
    }

    /// Tells the listener that this is the end.
    pub(super) fn finish(&mut self, reason: FinishReason) {
        let mut text = String::new();
        if !matches!(reason, FinishReason::StopSequence(_)) {
            let rest = self.text.finish();
            let found = self.stops.push(&rest);
            text = found.text + &self.stops.finish();
        }
        let total = self.started.map(|started| started.elapsed()).unwrap_or_default();
        let usage = Usage {
            prompt_tokens: self.prompt,
            reused_tokens: self.reused,
            generated_tokens: self.generated(),
            drafted_tokens: self.guesses,
            accepted_tokens: self.right,
            prompt_time: self.prompt_time,
            generate_time: total.saturating_sub(self.prompt_time),
        };
        self.events.send(Event::Finished { text, reason, usage });
    }

    pub(super) fn fail(&self, error: Error) {
        self.events.send(Event::Failed(error));
    }
}

/// Tokens with any of these texts in them.
fn breakers(texts: &[String], tokenizer: &Tokenizer) -> HashSet<u32> {
    let contains = |bytes: &[u8], text: &str| {
        !text.is_empty() && bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    let tokens = 0..tokenizer.len() as u32;
    tokens.filter(|&token| texts.iter().any(|text| contains(tokenizer.bytes(token), text))).collect()
}
