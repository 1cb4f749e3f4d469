//! What programs see of a running model: requests go in, events come out.
//!
//! An [`Engine`] holds one model on one device and serves many requests at the same time. [`Engine::submit`]
//! returns at once, with the [`Events`] of the request. A program that loses interest drops them: the
//! request is cancelled then, and its memory is freed.

use std::time::Duration;

use tokio::sync::mpsc;

use crate::chat::ChatTemplate;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

/// What is asked of an engine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The prompt's tokens, with those that begin a text.
    pub prompt: Vec<u32>,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Generation ends after this number of tokens.
    pub max_tokens: usize,
    /// Generation ends before any of these texts. Their characters are not part of the result.
    pub stop: Vec<String>,
    /// Whether tokens that end a turn are generated like any other: generation ends only at
    /// [`max_tokens`](Self::max_tokens) or a stop sequence.
    pub ignore_end: bool,
    /// Log-probabilities of each token, and of this number of alternatives.
    pub logprobs: Option<usize>,
    /// What the text must be like.
    pub constraint: Option<Constraint>,
    /// Control tokens whose names are part of the result's text, for programs that read its structure. Those
    /// that end generation never are.
    pub visible: Vec<u32>,
}

impl Request {
    /// A request with [`Sampling::default`], up to 256 tokens, and nothing else.
    #[must_use]
    pub fn new(prompt: Vec<u32>) -> Self {
        Self {
            prompt,
            sampling: Sampling::default(),
            max_tokens: 256,
            stop: Vec::new(),
            ignore_end: false,
            logprobs: None,
            constraint: None,
            visible: Vec::new(),
        }
    }
}

/// How tokens are chosen. The filters apply in the order of the fields, to the probabilities at this
/// temperature; penalties apply before.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// Divides the logits. With 0, the most likely token is chosen.
    pub temperature: f32,
    /// Chooses among this number of the most likely tokens; 0 for all.
    pub top_k: usize,
    /// Chooses among the tokens whose information is closest to what is expected, up to this sum of
    /// probabilities; 1 for all.
    pub typical_p: f32,
    /// Chooses among the most likely tokens, up to this sum of probabilities; 1 for all.
    pub top_p: f32,
    /// Chooses among tokens that are at least this fraction as likely as the most likely one; 0 for all.
    pub min_p: f32,
    /// Divides positive logits of tokens that occurred, and multiplies negative ones; 1 for none.
    pub repeat_penalty: f32,
    /// Penalties look at this number of the last tokens; 0 for all of them.
    pub repeat_last: usize,
    /// Subtracted from logits of tokens that occurred.
    pub presence_penalty: f32,
    /// Subtracted from logits of tokens as often as they occurred.
    pub frequency_penalty: f32,
    /// Penalises tokens that would continue a repetition.
    pub dry: Option<Dry>,
    /// The same seed chooses the same tokens for the same logits.
    pub seed: u64,
}

impl Default for Sampling {
    /// Temperature 0.8, top-k 40, top-p 0.95, min-p 0.05, no penalties.
    fn default() -> Self {
        Self {
            temperature: 0.8,
            top_k: 40,
            typical_p: 1.0,
            top_p: 0.95,
            min_p: 0.05,
            repeat_penalty: 1.0,
            repeat_last: 64,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            dry: None,
            seed: 0,
        }
    }
}

impl Sampling {
    /// Always the most likely token.
    #[must_use]
    pub fn greedy() -> Self {
        Self { temperature: 0.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..Self::default() }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// [`Error::Setting`] names the one that is out of range.
    pub fn check(&self) -> Result<()> {
        let refuse = |name: &'static str, value: f32, range: &'static str| {
            Err(Error::Setting { name, problem: format!("is {value}, not {range}") })
        };
        let fractions = [("typical_p", self.typical_p), ("top_p", self.top_p), ("min_p", self.min_p)];
        for (name, value) in fractions {
            if !(0.0..=1.0).contains(&value) {
                return refuse(name, value, "from 0 to 1");
            }
        }
        if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            return refuse("temperature", self.temperature, "a number from 0");
        }
        if !(self.repeat_penalty > 0.0 && self.repeat_penalty.is_finite()) {
            return refuse("repeat_penalty", self.repeat_penalty, "a number above 0");
        }
        let penalties =
            [("presence_penalty", self.presence_penalty), ("frequency_penalty", self.frequency_penalty)];
        for (name, value) in penalties {
            if !value.is_finite() {
                return refuse(name, value, "a finite number");
            }
        }
        if let Some(dry) = &self.dry {
            for (name, value) in [("dry_multiplier", dry.multiplier), ("dry_base", dry.base)] {
                if !(value >= 0.0 && value.is_finite()) {
                    return refuse(name, value, "a number from 0");
                }
            }
        }
        Ok(())
    }
}

/// The penalty "don't repeat yourself": a token that would make a repetition of n tokens longer loses
/// `multiplier * base^(n - allowed)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dry {
    /// The penalty of a repetition that is as long as allowed.
    pub multiplier: f32,
    /// The factor for each further token.
    pub base: f32,
    /// Shorter repetitions are free.
    pub allowed: usize,
    /// Looks at this number of the last tokens; 0 for all.
    pub last: usize,
    /// Texts that repetitions do not reach across.
    pub breakers: Vec<String>,
}

impl Default for Dry {
    fn default() -> Self {
        let breakers = ["\n", ":", "\"", "*"].map(String::from).to_vec();
        Self { multiplier: 0.8, base: 1.75, allowed: 2, last: 0, breakers }
    }
}

/// What a text must be like.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// JSON that this schema describes.
    JsonSchema(serde_json::Value),
    /// A text of this grammar, in Lark's syntax.
    Lark(String),
    /// A text that this regular expression matches as a whole.
    Regex(String),
}

/// What a request yields, in order. [`Event::Finished`] or [`Event::Failed`] is the last one.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A part of the prompt was processed.
    Prompt {
        /// Tokens so far.
        tokens: usize,
        /// Of these, tokens whose keys and values an earlier request had left.
        reused: usize,
        /// The prompt's tokens.
        of: usize,
    },
    /// A token was generated.
    Token {
        /// The token.
        id: u32,
        /// The text that it completes; empty while a character is incomplete or a stop sequence may be
        /// coming.
        text: String,
        /// Its log-probability, if asked for.
        logprob: Option<TokenLogprob>,
    },
    /// The request is done.
    Finished {
        /// Text that was held back and is part of the result after all.
        text: String,
        /// Why it ended.
        reason: FinishReason,
        /// What it took.
        usage: Usage,
    },
    /// The request failed. Others go on.
    Failed(Error),
}

/// Log-probabilities at one position.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprob {
    /// Of the token that was chosen.
    pub logprob: f32,
    /// The most likely tokens, as many as were asked for, in order.
    pub top: Vec<(u32, f32)>,
}

/// Why generation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended its turn, or a constraint allows nothing more.
    Stop,
    /// This stop sequence came.
    StopSequence(String),
    /// The number of tokens asked for, or the context's length, was reached.
    Length,
    /// Nobody listens any more, or the engine is going away.
    Cancelled,
}

/// What a request took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Of these, tokens that did not have to be processed.
    pub reused_tokens: usize,
    /// Tokens that were generated, including the one that ended the turn.
    pub generated_tokens: usize,
    /// Tokens that were guessed before the model computed them ([`Speculation`](crate::Speculation)).
    pub drafted_tokens: usize,
    /// Of these, tokens that the model chose, too.
    pub accepted_tokens: usize,
    /// From the request's start to the first token's logits; waiting in the queue is not part of it.
    pub prompt_time: Duration,
    /// From then to the end.
    pub generate_time: Duration,
}

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pooling {
    /// As the model's file says; the mean if it does not.
    #[default]
    Model,
    /// The mean of all.
    Mean,
    /// The first token's.
    First,
    /// The last token's.
    Last,
}

/// A model, in words and numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelDescription {
    /// The model's name, from its file or the file's name.
    pub name: String,
    /// The architecture's name, such as `llama`.
    pub architecture: String,
    /// Tokens of a prompt and its result together, as this engine runs it.
    pub context: usize,
    /// The context that the model was trained with.
    pub trained_context: usize,
    /// The number of weights.
    pub parameters: u64,
    /// Bytes of weights on the device.
    pub bytes: u64,
    /// The type that most weights have, such as `Q4_K`.
    pub weights: String,
    /// The size of a token's vector, and of an embedding.
    pub width: usize,
    /// The number of tokens.
    pub vocabulary: usize,
    /// Whether it generates text.
    pub generates: bool,
    /// The device, in one line.
    pub device: String,
    /// What a user should know: a context that is shorter than asked for, devices that were skipped.
    pub notes: Vec<String>,
}

/// How busy an engine is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineLoad {
    /// Requests that wait for a place.
    pub waiting: usize,
    /// Requests that run.
    pub running: usize,
    /// Requests that can run at the same time.
    pub places: usize,
    /// Tokens whose keys and values are kept, for running requests or for later ones.
    pub cached_tokens: usize,
    /// Tokens for whose keys and values there is memory.
    pub cache_tokens: usize,
}

/// One model on one device. Calls from several threads are served at the same time.
pub trait Engine: Send + Sync {
    /// What the model is.
    fn description(&self) -> &ModelDescription;

    /// The model's tokenizer.
    fn tokenizer(&self) -> &Tokenizer;

    /// The model's chat template, if its file has one.
    fn chat_template(&self) -> Option<&ChatTemplate>;

    /// How busy the engine is.
    fn load(&self) -> EngineLoad;

    /// Begins a request. Waits for nothing.
    ///
    /// # Errors
    /// [`Error::Busy`] if too many requests wait; [`Error::Prompt`] for one that is empty, too long, or has
    /// tokens that the model lacks; [`Error::Setting`], [`Error::Constraint`].
    fn submit(&self, request: Request) -> Result<Events>;

    /// One vector for each text, of [`ModelDescription::width`] numbers and length 1. Waits for the result.
    ///
    /// # Errors
    /// [`Error::Prompt`] names the text.
    fn embed(&self, inputs: &[Vec<u32>], pooling: Pooling) -> Result<Vec<Vec<f32>>>;
}

/// The events of one request. Dropping this cancels the request.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::UnboundedReceiver<Event>,
}

/// The other end of [`Events`].
#[derive(Clone, Debug)]
pub struct EventSender {
    sender: mpsc::UnboundedSender<Event>,
}

impl Events {
    /// Both ends. Events that nobody has taken yet wait in memory; a request has only as many as its tokens.
    #[must_use]
    pub fn channel() -> (EventSender, Self) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (EventSender { sender }, Self { receiver })
    }

    /// The next event; `None` after the last one. Waits.
    ///
    /// # Panics
    /// Inside of an asynchronous task; use [`next`](Self::next) there.
    pub fn blocking_next(&mut self) -> Option<Event> {
        self.receiver.blocking_recv()
    }

    /// The next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<Event> {
        self.receiver.recv().await
    }

    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.receiver.try_recv().ok()
    }
}

impl EventSender {
    /// Sends an event; whether anybody still listens.
    pub fn send(&self, event: Event) -> bool {
        self.sender.send(event).is_ok()
    }

    /// Whether nobody listens any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_named() {
        let refused = |change: fn(&mut Sampling)| {
            let mut sampling = Sampling::default();
            change(&mut sampling);
            sampling.check().expect_err("refused").to_string()
        };
        assert_eq!(refused(|s| s.top_p = 1.5), "top_p is 1.5, not from 0 to 1");
        assert_eq!(refused(|s| s.temperature = f32::NAN), "temperature is NaN, not a number from 0");
        assert_eq!(refused(|s| s.repeat_penalty = 0.0), "repeat_penalty is 0, not a number above 0");
        assert_eq!(
            refused(|s| s.presence_penalty = f32::INFINITY),
            "presence_penalty is inf, not a finite number"
        );
        let dry = Dry { base: -1.0, ..Dry::default() };
        let sampling = Sampling { dry: Some(dry), ..Sampling::default() };
        assert!(sampling.check().is_err());
        assert!(Sampling::default().check().is_ok() && Sampling::greedy().check().is_ok());
    }

    #[test]
    fn a_sender_knows_when_nobody_listens() {
        let (sender, mut events) = Events::channel();
        assert!(sender.send(Event::Failed(Error::Busy { waiting: 1 })));
        assert!(matches!(events.blocking_next(), Some(Event::Failed(Error::Busy { waiting: 1 }))));
        assert!(events.try_next().is_none() && !sender.is_closed());
        drop(events);
        assert!(sender.is_closed());
    }
}
